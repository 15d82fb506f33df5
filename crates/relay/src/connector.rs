//! What has to wait for the backend beside the loops: logins, and KILL over a connection of its own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use client::{Connection, Options, Stream};
use server::Io;
use wire::Capabilities;

use crate::shared::{Counters, Failure, Job, Known, Message, Shared, lock};
use crate::upstream::Opened;

/// Threads that log in.
const LOGIN_THREADS: usize = 4;
/// What every connection has, and has again after a reset, where the backend knows it.
pub(crate) const BASE: &str = "SET SESSION session_track_state_change=1, SESSION net_write_timeout=3600";

/// Queues for [`start`].
pub(crate) struct Queues {
    pub(crate) jobs: Sender<Job>,
    pub(crate) kills: Sender<Job>,
    pub(crate) receivers: Receivers,
}

/// The other ends of [`Queues`]: logins, kills.
pub(crate) type Receivers = (Receiver<Job>, Receiver<Job>);

pub(crate) fn queues() -> Queues {
    let (jobs, jobs_out) = channel();
    let (kills, kills_out) = channel();
    Queues { jobs, kills, receivers: (jobs_out, kills_out) }
}

/// Starts the threads. They end when nobody can ask them any more.
pub(crate) fn start(shared: &Arc<Shared>, receivers: Receivers) -> std::io::Result<()> {
    let jobs = Arc::new(Mutex::new(receivers.0));
    let kills = Arc::new(Mutex::new(receivers.1));
    let queues = std::iter::repeat_n(jobs, LOGIN_THREADS).chain([kills]);
    for (at, queue) in queues.enumerate() {
        let shared = Arc::downgrade(shared);
        std::thread::Builder::new().name(format!("connector-{at}")).spawn(move || {
            loop {
                let job = lock(&queue).recv_timeout(Duration::from_secs(1));
                let Some(shared) = shared.upgrade() else { return };
                match job {
                    Ok(job) => work(&shared, job),
                    Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                    Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
                }
            }
        })?;
    }
    Ok(())
}

fn work(shared: &Arc<Shared>, job: Job) {
    match job {
        Job::Open { key, mailbox } => {
            let opened = open(shared, key).map_err(|error| {
                Counters::add(&shared.counters.failed);
                Failure(format!("{}: {error}", shared.config.name))
            });
            if opened.is_ok() {
                Counters::add(&shared.counters.opened);
            }
            if let Some(mailbox) = shared.mailboxes().get(mailbox) {
                mailbox.send(Message::Opened(opened));
            }
        }
        Job::Kill { thread, connection } => {
            // The statement ends by itself otherwise; there is nobody to tell.
            if let Ok(mut killer) = Connection::connect(&shared.config.backend) {
                let kind = if connection { "CONNECTION" } else { "QUERY" };
                let _ = killer.run(format!("KILL {kind} {thread}").as_bytes());
                killer.quit();
            }
        }
    }
}

/// Asks the backend what it is.
pub(crate) fn probe(shared: &Shared) -> Result<(), client::Error> {
    let mut connection = Connection::connect(&shared.config.backend)?;
    let mut collations = std::collections::HashMap::new();
    let sql = b"SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID IS NOT NULL";
    let mut answer = connection.query(sql)?;
    while answer.next_result()? {
        while let Some(row) = answer.next_row()? {
            let text = |at| row.cell(at).as_bytes().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            if let (Some(id), Some(name), Some(set)) = (row.cell(0).as_i64(), text(1), text(2))
                && let Ok(id) = u16::try_from(id)
            {
                collations.insert(id, format!("{set} COLLATE {name}"));
            }
        }
    }
    let known = Known {
        version: connection.server_version().to_owned(),
        capabilities: connection.capabilities(),
        collations,
    };
    connection.quit();
    *shared.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    Ok(())
}

fn open(shared: &Shared, key: Capabilities) -> Result<Opened, client::Error> {
    if shared.known().is_none() {
        probe(shared)?;
    }
    let mut options: Options = shared.config.backend.clone();
    options.database = None;
    options.session_track = true;
    options.query_attributes = false;
    options.deprecate_eof = key.has(Capabilities::DEPRECATE_EOF);
    options.found_rows = key.has(Capabilities::FOUND_ROWS);
    options.multi_statements = key.has(Capabilities::MULTI_STATEMENTS);
    options.local_files = key.has(Capabilities::LOCAL_FILES);
    let mut connection = Connection::connect(&options)?;
    let (capabilities, thread) = (connection.capabilities(), connection.connection_id());
    if capabilities.has(Capabilities::DEPRECATE_EOF) != options.deprecate_eof {
        return Err(client::Error::Option("the server has no DEPRECATE_EOF".into()));
    }
    let tracks = match connection.run(BASE.as_bytes()) {
        Ok(_) => true,
        Err(client::Error::Server(_)) => false,
        Err(error) => return Err(error),
    };
    let stream = connection.into_stream()?;
    let io = match stream {
        Stream::Tcp(stream) => {
            stream.set_nodelay(true)?;
            Io::of_tcp(stream)?
        }
        Stream::Unix(stream) => Io::of_unix(stream)?,
        Stream::Tls(_) | Stream::None => return Err(client::Error::Broken),
    };
    Ok(Opened { io, key, capabilities, thread, tracks })
}
