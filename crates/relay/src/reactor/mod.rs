//! A loop: one thread that polls its clients and connections and never waits for one of them.
//!
//! ```text
//! client's bytes    request   a command is whole, or long enough: what it may leave behind, what it needs
//!                   pool      a connection: its own, the one it had, an idle one, a new one, or a ticket
//!                   relay     settings and statements made again on it, the command, its answer
//! answer's end      pool      the connection is kept, reset or given on
//! ```
//!
//! Invariants:
//! 1. A connection has one owner at most, and bytes go only between the two.
//! 2. What a connection sends without an owner closes it.
//! 3. Nothing more is read from one side while the other has not taken what was read.
//! 4. Sockets are polled edge-triggered: whether one may have bytes is remembered until it was read empty.

mod pool;
mod relay;
mod request;
mod settle;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token, Waker};
use server::{Arrival, READ_BYTES};
use wire::StatusFlags;

use crate::client::{Client, Command, Phase, Pins};
use crate::entry::Entry;
use crate::scan::Effects;
use crate::settings::Profile;
use crate::shared::{Counters, Failure, Mailbox, Message, NOBODY, Shared, lock};
use crate::upstream::{KEY, Opened, Upstream};

const WAKE: Token = Token(usize::MAX);
const EVENTS_PER_POLL: usize = 256;
/// How often timeouts are looked at.
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// The same in a loop where nobody waits.
const IDLE_INTERVAL: Duration = Duration::from_millis(250);
/// What only the next command may ask for is kept so long when others wait.
const BRIEF_TIME: Duration = Duration::from_millis(200);
/// How long clients may go on after the stop.
const STOP_TIME: Duration = Duration::from_secs(5);

/// Slots that keep their numbers.
struct Slab<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
}

impl<T> Slab<T> {
    fn new() -> Slab<T> {
        Slab { slots: Vec::new(), free: Vec::new() }
    }

    fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        })
    }

    fn put(&mut self, slot: usize, value: T) {
        self.slots[slot] = Some(value);
    }

    fn get(&mut self, slot: usize) -> Option<&mut T> {
        self.slots.get_mut(slot)?.as_mut()
    }

    fn take(&mut self, slot: usize) -> Option<T> {
        let value = self.slots.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(value)
    }
}

/// A loop.
pub(crate) struct Reactor {
    index: usize,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    poll: Poll,
    clients: Slab<Box<Client>>,
    upstreams: Slab<Box<Upstream>>,
    /// Connections without an owner, the one given back first in front.
    idle: VecDeque<usize>,
    /// Clients that wait for a connection, by ticket.
    waiting: VecDeque<usize>,
    /// Clients whose command is over, or that go on after a moment.
    ready: VecDeque<usize>,
    retry: Vec<usize>,
    /// A connection may be free for somebody who waits.
    must_serve: bool,
    /// Connections that are being made for this loop.
    opening: usize,
    scratch: Box<[u8]>,
    out: Vec<u8>,
    now: Instant,
    next_sweep: Instant,
    stopping_since: Option<Instant>,
}

impl Reactor {
    pub(crate) fn poll() -> io::Result<(Poll, Waker)> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKE)?;
        Ok((poll, waker))
    }

    pub(crate) fn new(index: usize, shared: Arc<Shared>, mailbox: Arc<Mailbox>, poll: Poll) -> Reactor {
        let now = Instant::now();
        Reactor {
            index,
            shared,
            mailbox,
            poll,
            clients: Slab::new(),
            upstreams: Slab::new(),
            idle: VecDeque::new(),
            waiting: VecDeque::new(),
            ready: VecDeque::new(),
            retry: Vec::new(),
            must_serve: false,
            opening: 0,
            scratch: vec![0; READ_BYTES].into_boxed_slice(),
            out: Vec::new(),
            now,
            next_sweep: now,
            stopping_since: None,
        }
    }

    /// Serves until the front door stops and its clients are gone.
    pub(crate) fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_PER_POLL);
        loop {
            let timeout = self.next_sweep.saturating_duration_since(self.now) + Duration::from_millis(1);
            let has_work = !self.waiting.is_empty() || self.stopping_since.is_some();
            let timeout = if has_work { timeout } else { timeout.max(IDLE_INTERVAL) };
            let timeout = if self.retry.is_empty() { timeout } else { Duration::from_millis(1) };
            if let Err(error) = self.poll.poll(&mut events, Some(timeout))
                && error.kind() != io::ErrorKind::Interrupted
            {
                return; // The system took the poller away.
            }
            self.now = Instant::now();
            for event in &events {
                let token = event.token();
                if token == WAKE {
                    self.read_mail();
                    continue;
                }
                let slot = token.0 / 2;
                if token.0 % 2 == 0 {
                    let Some(client) = self.clients.get(slot) else { continue };
                    client.is_readable |= event.is_readable();
                    client.has_hung_up |= event.is_read_closed() || event.is_error();
                    self.client_event(slot);
                } else {
                    let Some(upstream) = self.upstreams.get(slot) else { continue };
                    upstream.is_readable |= event.is_readable() || event.is_read_closed() || event.is_error();
                    self.upstream_event(slot);
                }
                self.go_on();
            }
            self.go_on();
            for slot in std::mem::take(&mut self.retry) {
                if self
                    .clients
                    .get(slot)
                    .is_some_and(|client| client.phase == Phase::Running && client.upstream.is_none())
                {
                    self.acquire(slot);
                }
            }
            self.go_on();
            if self.now >= self.next_sweep {
                self.next_sweep = self.now + SWEEP_INTERVAL;
                self.sweep();
            }
            if self.stopping_since.is_some() && self.clients.slots.iter().all(Option::is_none) {
                return;
            }
        }
    }

    /// Goes on with clients whose commands are over and with those that wait, until nothing more can be done.
    ///
    /// Not where a command ends: one that ends another would stand upon it on the stack.
    fn go_on(&mut self) {
        loop {
            if std::mem::take(&mut self.must_serve) {
                self.serve();
            }
            match self.ready.pop_front() {
                Some(slot) => self.client_event(slot),
                None if self.must_serve => {}
                None => return,
            }
        }
    }

    fn read_mail(&mut self) {
        for message in self.mailbox.take() {
            match message {
                Message::Arrived(arrival) => self.arrived(arrival),
                Message::Opened(opened) => {
                    self.opening -= 1;
                    match opened {
                        Ok(opened) => self.opened(opened),
                        Err(failure) => self.not_opened(&failure),
                    }
                }
                Message::Given(upstream) => self.adopt(upstream),
                Message::Kill { slot, client, connection } => self.kill(slot, client, connection),
            }
        }
        self.must_serve = true;
        self.go_on();
    }

    fn arrived(&mut self, arrival: Box<Arrival>) {
        let Arrival { io, control, account, database, capabilities, collation, sequence, stay, .. } =
            *arrival;
        let slot = self.clients.reserve();
        let entry = Arc::new(Entry {
            id: control.connection_id,
            account: (account.user.clone(), account.host.clone()),
            mailbox: self.index,
            slot,
            insert_id: 0.into(),
        });
        lock(&self.shared.clients).insert(entry.id, Arc::clone(&entry));
        let names = self.shared.names(collation);
        let mut command = Command::new(0, Vec::new());
        command.sequence = sequence.wrapping_sub(1);
        let has_schema = database.is_some();
        let mut client = Box::new(Client {
            io,
            entry,
            account,
            capabilities,
            profile: Arc::new(Profile::new(names.clone(), database)),
            names,
            status: StatusFlags::AUTOCOMMIT,
            phase: Phase::Idle,
            upstream: None,
            before: None,
            pins: Pins::default(),
            statements: std::collections::HashMap::new(),
            statement_ids: 0,
            input: Vec::new(),
            command: Some(Box::new(command)),
            is_readable: true,
            has_hung_up: false,
            is_closing: false,
            lost: None,
            has_run: false,
            stuck_since: None,
            idle_since: self.now,
            _stay: stay,
        });
        self.mailbox.clients.fetch_add(1, Ordering::Relaxed);
        client.input = client.io.take_input();
        let registered = client.io.register(self.poll.registry(), Token(slot * 2));
        self.clients.put(slot, client);
        if registered.is_err() || self.stopping_since.is_some() {
            self.close_client(slot);
        } else if has_schema {
            // Whether it exists is the backend's to say.
            self.acquire(slot);
        } else {
            self.finish(slot);
        }
    }

    /// Ends a client: what runs for it, and its connection if that cannot be given on.
    fn close_client(&mut self, slot: usize) {
        let Some(mut client) = self.clients.take(slot) else { return };
        self.mailbox.clients.fetch_sub(1, Ordering::Relaxed);
        lock(&self.shared.clients).remove(&client.entry.id);
        self.waiting.retain(|waiting| *waiting != slot);
        self.publish_oldest();
        if let Some(at) = client.upstream.take() {
            let runs = client.phase == Phase::Running;
            let client_id = client.entry.id;
            if let Some(upstream) = self.upstreams.get(at) {
                upstream.owner = None;
                let thread = upstream.thread;
                lock(&self.shared.threads).retain(|_, of| *of != client_id);
                if runs {
                    // Nobody reads the answer: the statement ends with its connection.
                    self.send_kill(thread, true);
                    self.close_upstream(at);
                } else {
                    let unclean = client.pins.has(Pins::UNCLEAN);
                    self.give_back(at, unclean);
                }
            }
        }
        client.io.close();
        drop(client);
        self.must_serve = true;
    }

    /// A client's number, or its statement's, was given to KILL.
    fn kill(&mut self, slot: usize, id: u64, connection: bool) {
        let Some(client) = self.clients.get(slot).filter(|client| client.entry.id == id) else { return };
        Counters::add(&self.shared.counters.kills);
        match client.phase {
            Phase::Running if connection => self.close_client(slot),
            Phase::Running => {
                if let Some(at) = client.upstream
                    && let Some(upstream) = self.upstreams.get(at)
                {
                    // It may come when another client has the connection: no other gets it.
                    upstream.is_doomed = true;
                    let thread = upstream.thread;
                    self.send_kill(thread, false);
                }
            }
            _ if connection => self.close_client(slot),
            Phase::Waiting { .. } => {
                self.waiting.retain(|waiting| *waiting != slot);
                self.publish_oldest();
                self.fail(slot, &service::error::ER_QUERY_INTERRUPTED.bare());
            }
            Phase::Idle => {}
        }
    }

    fn sweep(&mut self) {
        self.end_waits();
        if self.shared.mailboxes().iter().any(|mailbox| mailbox.oldest.load(Ordering::SeqCst) != NOBODY) {
            self.break_brief_pins();
        }
        self.end_stuck();
        if self.shared.stopping.load(Ordering::SeqCst) {
            let since = *self.stopping_since.get_or_insert(self.now);
            let is_late = self.now.saturating_duration_since(since) > STOP_TIME;
            for slot in 0..self.clients.slots.len() {
                if self.clients.get(slot).is_some_and(|client| is_late || client.phase == Phase::Idle) {
                    self.close_client(slot);
                }
            }
        }
        self.must_serve = true;
        self.go_on();
    }

    /// Ends clients that have stopped to read: their connections are others'.
    fn end_stuck(&mut self) {
        for slot in 0..self.clients.slots.len() {
            let now = self.now;
            let Some(client) = self.clients.get(slot) else { continue };
            if !client.io.has_unsent() {
                client.stuck_since = None;
            } else {
                let since = *client.stuck_since.get_or_insert(now);
                if now.saturating_duration_since(since) >= self.shared.config.write_timeout {
                    self.close_client(slot);
                }
            }
        }
    }

    fn publish_oldest(&mut self) {
        let oldest = self.waiting.front().copied().and_then(|slot| self.ticket(slot)).unwrap_or(NOBODY);
        self.mailbox.oldest.store(oldest, Ordering::SeqCst);
    }

    fn ticket(&mut self, slot: usize) -> Option<u64> {
        match self.clients.get(slot)?.phase {
            Phase::Waiting { ticket, .. } => Some(ticket),
            _ => None,
        }
    }
}
