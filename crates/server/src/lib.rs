//! Sockets: who may come in, who is served by which thread, and how everything ends.
//!
//! ```no_run
//! # fn service() -> std::sync::Arc<dyn service::Service> { unimplemented!() }
//! let listeners = server::Listeners::bind(&["127.0.0.1:3306".parse().unwrap()], None)?;
//! let server = server::Server::start(listeners, server::Config::default(), service())?;
//! println!("ready on {:?}", server.tcp_addresses());
//! assert!(server.stop(std::time::Duration::from_secs(10)));
//! # Ok::<(), server::StartError>(())
//! ```
//!
//! The protocol is in `wire`, what statements mean is behind [`service::Service`]. Here are the worker groups ([`group`]),
//! the state of each connection ([`connection`]), its socket with TLS and compression ([`io`]), proof of identity
//! ([`authenticate`]), keys and certificates ([`secrets`]).

mod authenticate;
mod connection;
mod group;
mod handover;
mod io;
mod link;
mod location;
mod logins;
mod password_checks;
mod placement;
mod secrets;
mod watchdog;

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use service::Service;

pub use handover::{Arrival, Handover, Stay};
pub use io::{Io, READ_BYTES, Received};
pub use secrets::{TlsFiles, make_tls_files};

use authenticate::{Authority, PasswordCache};
use group::{Group, Listener, WAITERS_PER_GROUP};
use logins::{FailedLogins, Unauthenticated};
use password_checks::PasswordChecks;
use placement::Placement;
use secrets::RsaKeys;
use watchdog::Watchdog;

/// Connections that may wait to be accepted (`back_log`).
const BACK_LOG: i32 = 4096;
/// Connections get the rest of this after the server has begun to stop and their statements were killed.
const KILL_TIME: Duration = Duration::from_secs(5);

/// How a server serves.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Worker groups; 0 for one per CPU.
    pub worker_groups: usize,
    /// Statements of one group that may wait for others' locks at once, each with a thread; 0 for 1,024. Those beyond are taken
    /// back and wait without one.
    pub worker_waiters: usize,
    /// Certificate and key for TLS; without them the server does not offer it.
    pub tls: Option<TlsFiles>,
    /// Where the RSA key for passwords lies; without it one is made for each run, when first needed.
    pub key_folder: Option<PathBuf>,
    /// Who serves the clients once they have logged in; the service's sessions if absent.
    pub handover: Option<Arc<dyn Handover>>,
    /// The number of the first connection; 0 for 8, as lower ones are for threads of the server itself in MySQL.
    pub first_connection_id: u64,
}

/// The number of the first connection if [`Config`] does not say.
const FIRST_CONNECTION_ID: u64 = 8;

/// Why a server did not start.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on: taken, or not ours.
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        error: std::io::Error,
    },
    /// The Unix socket cannot be made.
    Socket {
        /// Its path.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Another server listens on the Unix socket.
    SocketTaken {
        /// Its path.
        path: PathBuf,
    },
    /// Certificate or key cannot be used.
    Tls(std::io::Error),
    /// The system has no poller or no thread to give.
    System(std::io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Bind { address, error } => write!(f, "cannot listen on {address}: {error}"),
            StartError::Socket { path, error } => {
                write!(f, "cannot make the socket {}: {error}", path.display())
            }
            StartError::SocketTaken { path } => {
                write!(f, "another server listens on the socket {}", path.display())
            }
            StartError::Tls(error) => write!(f, "cannot use the TLS certificate: {error}"),
            StartError::System(error) => write!(f, "cannot start worker threads: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

/// What all groups and connections share.
pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) authority: Authority,
    pub(crate) tls: Option<Arc<rustls::ServerConfig>>,
    pub(crate) handover: Option<Arc<dyn Handover>>,
    /// Held by the server; weak here, as each group holds this.
    groups: OnceLock<Vec<Weak<Group>>>,
    pub(crate) placement: Placement,
    pub(crate) watchdog: Arc<Watchdog>,
    group_count: usize,
    /// Statements of one group that may wait for others at once.
    pub(crate) waiters_max: usize,
    /// Everybody who came in and is still here.
    connections: AtomicUsize,
    /// Those of them who have logged in: each takes one of the `max_connections`.
    logged_in: AtomicUsize,
    pub(crate) unauthenticated: Unauthenticated,
    pub(crate) failed_logins: FailedLogins,
    pub(crate) checks: Arc<PasswordChecks>,
    connection_ids: AtomicU64,
    stopping: AtomicBool,
    stop_time: Mutex<Duration>,
}

impl Shared {
    pub(crate) fn connection_count(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn connection_opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether nobody can come in, not even an administrator, for whom one connection more is reserved.
    pub(crate) fn is_full(&self) -> bool {
        self.logged_in.load(Ordering::Relaxed) > self.service.limits().max_connections as usize
    }

    /// Takes a place for a session: one of `max_connections`, or the one more for an administrator. False if there is none.
    pub(crate) fn take_place(&self, is_administrator: bool) -> bool {
        let places = self.service.limits().max_connections as usize + usize::from(is_administrator);
        let take = |taken: usize| (taken < places).then_some(taken + 1);
        self.logged_in.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Gives back what [`Shared::take_place`] took.
    pub(crate) fn leave_place(&self) {
        self.logged_in.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn next_connection_id(&self) -> u64 {
        self.connection_ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    pub(crate) fn stop_time(&self) -> Duration {
        *self.stop_time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn group_count(&self) -> usize {
        self.group_count
    }

    pub(crate) fn group(&self, index: usize) -> Option<&Weak<Group>> {
        self.groups.get()?.get(index)
    }

    /// The group with the fewest connections but for `except`; `None` when there is none or the server is gone.
    pub(crate) fn emptiest_group(&self, except: Option<usize>) -> Option<Arc<Group>> {
        let groups = self.groups.get()?.iter().enumerate().filter(|&(index, _)| Some(index) != except);
        let groups = groups.filter_map(|(_, group)| group.upgrade());
        groups.min_by_key(|group| group.connection_count.load(Ordering::Relaxed))
    }
}

/// A running server.
pub struct Server {
    shared: Arc<Shared>,
    groups: Vec<Arc<Group>>,
    tcp_addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("tcp_addresses", &self.tcp_addresses)
            .field("socket", &self.socket)
            .finish_non_exhaustive()
    }
}

/// Sockets that are listened on, by nobody yet: taken before anything else is touched, so that a taken port stops a start early.
#[derive(Debug)]
pub struct Listeners {
    listeners: Vec<Listener>,
    tcp_addresses: Vec<SocketAddr>,
    socket: Option<PathBuf>,
}

impl Listeners {
    /// Listens on TCP addresses (port 0 lets the kernel choose) and, if given, on a Unix socket.
    ///
    /// # Errors
    /// An address or socket is taken or not allowed.
    pub fn bind(addresses: &[SocketAddr], socket: Option<PathBuf>) -> Result<Listeners, StartError> {
        let mut listeners = Vec::new();
        let mut tcp_addresses = Vec::new();
        for &address in addresses {
            let bind_error = |error| StartError::Bind { address, error };
            let listener = TcpListener::bind(address).map_err(bind_error)?;
            prepare_listener(&listener).map_err(bind_error)?;
            listener.set_nonblocking(true).map_err(bind_error)?;
            tcp_addresses.push(listener.local_addr().map_err(bind_error)?);
            listeners.push(Listener::Tcp(mio::net::TcpListener::from_std(listener)));
        }
        let mut bound = Listeners { listeners, tcp_addresses, socket: None };
        if let Some(path) = socket {
            bound.bind_socket(path)?;
        }
        Ok(bound)
    }

    /// Listens on a Unix socket too, for a path in a folder that is made only later.
    ///
    /// # Errors
    /// Another server listens there, or the path cannot be made.
    pub fn bind_socket(&mut self, path: PathBuf) -> Result<(), StartError> {
        let socket_error = |error| StartError::Socket { path: path.clone(), error };
        if UnixStream::connect(&path).is_ok() {
            return Err(StartError::SocketTaken { path });
        }
        match std::fs::remove_file(&path) {
            Ok(()) => {} // Left behind by a server that was killed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(socket_error(error)),
        }
        let listener = UnixListener::bind(&path).map_err(socket_error)?;
        prepare_listener(&listener).map_err(socket_error)?;
        listener.set_nonblocking(true).map_err(socket_error)?;
        // Everybody may connect, and must then prove who they are.
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(&path, everybody).map_err(socket_error)?;
        self.listeners.push(Listener::Unix(mio::net::UnixListener::from_std(listener)));
        self.socket = Some(path);
        Ok(())
    }

    /// The TCP addresses, with the ports that the kernel chose.
    #[must_use]
    pub fn tcp_addresses(&self) -> &[SocketAddr] {
        &self.tcp_addresses
    }
}

impl Server {
    /// Serves whoever comes to `listeners` until told to stop.
    ///
    /// # Errors
    /// The certificate cannot be used, or no thread can be started.
    pub fn start(
        listeners: Listeners,
        config: Config,
        service: Arc<dyn Service>,
    ) -> Result<Server, StartError> {
        let Listeners { mut listeners, tcp_addresses, socket } = listeners;
        let tls = match &config.tls {
            Some(files) => Some(secrets::tls_config(files).map_err(StartError::Tls)?),
            None => None,
        };
        let group_count = match config.worker_groups {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            count => count,
        };
        let rsa = Arc::new(RsaKeys::new(config.key_folder));
        let checks = PasswordChecks::start(&rsa).map_err(StartError::System)?;
        let shared = Arc::new(Shared {
            authority: Authority {
                service: Arc::clone(&service),
                passwords: Arc::new(PasswordCache::default()),
            },
            service,
            tls,
            handover: config.handover,
            groups: OnceLock::new(),
            placement: Placement::new(group_count),
            watchdog: Arc::default(),
            group_count,
            waiters_max: if config.worker_waiters == 0 { WAITERS_PER_GROUP } else { config.worker_waiters },
            connections: AtomicUsize::new(0),
            logged_in: AtomicUsize::new(0),
            unauthenticated: Unauthenticated::default(),
            failed_logins: FailedLogins::default(),
            checks,
            connection_ids: AtomicU64::new(match config.first_connection_id {
                0 => FIRST_CONNECTION_ID,
                id => id,
            }),
            stopping: AtomicBool::new(false),
            stop_time: Mutex::new(Duration::ZERO),
        });
        let mut cores = Vec::new();
        let mut groups = Vec::new();
        for index in 0..group_count {
            let (group, reactor) = Group::new(index, Arc::clone(&shared), std::mem::take(&mut listeners))
                .map_err(StartError::System)?;
            let listener = Arc::downgrade(&group);
            shared.service.on_durable(Box::new(move || {
                if let Some(group) = listener.upgrade() {
                    group.log_moved();
                }
            }));
            groups.push(group);
            cores.push(reactor);
        }
        let weak = groups.iter().map(Arc::downgrade).collect();
        shared.groups.set(weak).unwrap_or_else(|_| unreachable!("set once"));
        Watchdog::start(&shared).map_err(StartError::System)?;
        for (group, reactor) in groups.iter().zip(cores) {
            group.start(reactor).map_err(StartError::System)?;
        }
        Ok(Server { shared, groups, tcp_addresses, socket })
    }

    /// The TCP addresses listened on, with the ports that the kernel chose.
    #[must_use]
    pub fn tcp_addresses(&self) -> &[SocketAddr] {
        &self.tcp_addresses
    }

    /// Connections now, those in their handshake included.
    #[must_use]
    pub fn connection_count(&self) -> usize {
        self.shared.connection_count()
    }

    /// Connections of each worker group now.
    #[must_use]
    pub fn connections_per_group(&self) -> Vec<usize> {
        self.groups.iter().map(|group| group.connection_count.load(Ordering::Relaxed)).collect()
    }

    /// Stops accepting, closes idle connections, gives running statements `time`, then kills them. Returns when all
    /// sessions have ended; `false` if one did not even after it was killed.
    #[must_use = "a session that did not end still uses the service"]
    pub fn stop(&self, time: Duration) -> bool {
        *self.shared.stop_time.lock().unwrap_or_else(PoisonError::into_inner) = time;
        self.shared.stopping.store(true, Ordering::SeqCst);
        for group in &self.groups {
            group.wake();
        }
        self.shared.checks.stop();
        let deadline = Instant::now() + time + KILL_TIME;
        let ended = self.groups.iter().all(|group| group.join(deadline));
        self.shared.watchdog.stop();
        for group in &self.groups {
            group.drop_arrivals(); // A group may have ended just before another gave it somebody new.
        }
        if let Some(path) = &self.socket {
            let _ = std::fs::remove_file(path); // The next start replaces a leftover one.
        }
        ended
    }
}

/// Lets more clients wait to be accepted than the standard library's 128.
fn prepare_listener(listener: &impl AsRawFd) -> std::io::Result<()> {
    #[allow(
        unsafe_code,
        reason = "listen(2) with another backlog has no safe wrapper among the crates in use"
    )]
    // SAFETY: the descriptor is a listening socket for the length of the call; listening again only changes the backlog.
    let result = unsafe { libc::listen(listener.as_raw_fd(), BACK_LOG) };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}
