//! A worker group: one poller, its connections, and the threads that take turns at it.
//!
//! ```text
//! thread with the core:   poll, then for each ready connection: read, execute, answer
//! before it waits:        the core goes to a parked thread of the group, which goes on polling
//! when it has waited:     it finishes its statement, gives the connection back, and parks
//! ```
//!
//! So a statement that does not wait costs no switch of threads, and one that waits costs others nothing. `env::blocking`
//! tells when: waits by `enter`, long computations by `tick`.
//!
//! Answers that wait for the log stay with their connection and wait in the core by position. The thread that has nothing
//! else to do flushes for all of them itself, if flushing is quick here; else the log's own thread does it and wakes the
//! poller.
//!
//! Invariants:
//! 1. There is one [`Core`] per group, and one thread at a time has it.
//! 2. A connection is in its slot, or with the thread that drives it, whose slot then says `Away`.
//! 3. A socket is polled for room exactly while its connection is in its slot with bytes unsent.
//! 4. Sockets are polled by edges: a connection put back after having been away from its core is driven once more, because
//!    an edge may have come meanwhile.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use env::blocking::BlockingHook;
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token, Waker};
use service::{ConnectionControl, ConnectionEvent, Kill};

use crate::Shared;
use crate::connection::{Connection, Next, Scratch};
use crate::io::Stream;

/// Events taken from the kernel by one call.
const EVENTS_PER_POLL: usize = 256;
/// How often timeouts are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// A computation that runs longer gives the core away at its next tick.
const TICK_HOLD_MAX: Duration = Duration::from_millis(1);
/// A flush of the log slower than this is left to the log's thread, unless every connection here waits for it.
const INLINE_SYNC_MAX: Duration = Duration::from_micros(400);
/// Rounds of commands after which answers that wait for the log no longer wait for a quiet moment.
const ROUNDS_WAITED_MAX: u32 = 2;
/// Threads of one group; a statement that would wait beyond them keeps the core, and the group waits with it.
const THREADS_PER_GROUP_MAX: usize = 4096;
/// Parked threads kept; more end after [`PARK_TIME_MAX`].
const PARKED_KEPT: usize = 2;
const PARK_TIME_MAX: Duration = Duration::from_secs(10);
/// Stack of a thread, bytes, reserved and not used up front.
const STACK_BYTES: usize = 8 << 20;

const WAKE: Token = Token(usize::MAX);
const FIRST_LISTENER: usize = usize::MAX - 16;

/// A socket that new clients come to.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn source(&mut self) -> &mut dyn Source {
        match self {
            Listener::Tcp(listener) => listener,
            Listener::Unix(listener) => listener,
        }
    }

    fn accept(&self) -> io::Result<(Stream, Option<std::net::SocketAddr>)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                // Without it a small answer may wait for the client's acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                Ok((Stream::Tcp(stream), Some(peer)))
            }
            Listener::Unix(listener) => Ok((Stream::Unix(listener.accept()?.0), None)),
        }
    }
}

enum Slot {
    Free,
    Here(Box<Connection>),
    Away(Arc<ConnectionControl>),
}

/// What polls: handed from thread to thread.
pub(crate) struct Core {
    poll: Poll,
    events: Events,
    slots: Vec<Slot>,
    free: Vec<usize>,
    ready: VecDeque<usize>,
    waiting: Vec<(u64, usize)>,
    listeners: Vec<Listener>,
    accept_again: bool,
    next_sweep: Instant,
    now: Instant,
    sync_time: Duration,
    sync_asked: Option<(u64, Instant)>,
    rounds_waited: u32,
    stopping_since: Option<Instant>,
}

#[derive(Default)]
struct Park {
    core: Option<Box<Core>>,
    parked: usize,
    threads: usize,
    stopped: bool,
}

/// What the threads of a group share, and others may touch.
pub(crate) struct Group {
    index: usize,
    shared: Arc<Shared>,
    waker: Waker,
    wake_pending: AtomicBool,
    park: Mutex<Park>,
    unparked: Condvar,
    ended: Condvar,
    arrivals: Mutex<Vec<(Stream, Option<std::net::SocketAddr>)>>,
    returned: Mutex<Vec<(usize, Box<Connection>, Next)>>,
    kicked: Mutex<Vec<usize>>,
    wants_durable: AtomicBool,
    pub(crate) connection_count: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    /// Makes a group; its first thread starts with [`Group::start`].
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        mut listeners: Vec<Listener>,
    ) -> io::Result<(Arc<Group>, Box<Core>)> {
        let poll = Poll::new()?;
        for (at, listener) in listeners.iter_mut().enumerate() {
            listener.source().register(poll.registry(), Token(FIRST_LISTENER + at), Interest::READABLE)?;
        }
        let group = Arc::new(Group {
            index,
            shared,
            waker: Waker::new(poll.registry(), WAKE)?,
            wake_pending: AtomicBool::new(false),
            park: Mutex::default(),
            unparked: Condvar::new(),
            ended: Condvar::new(),
            arrivals: Mutex::default(),
            returned: Mutex::default(),
            kicked: Mutex::default(),
            wants_durable: AtomicBool::new(false),
            connection_count: AtomicUsize::new(0),
        });
        let now = Instant::now();
        let core = Box::new(Core {
            poll,
            events: Events::with_capacity(EVENTS_PER_POLL),
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            waiting: Vec::new(),
            listeners,
            accept_again: false,
            next_sweep: now + SWEEP_INTERVAL,
            now,
            sync_time: Duration::ZERO,
            sync_asked: None,
            rounds_waited: 0,
            stopping_since: None,
        });
        Ok((group, core))
    }

    /// Starts the first thread.
    pub(crate) fn start(self: &Arc<Group>, core: Box<Core>) -> io::Result<()> {
        match self.hand_over(core) {
            None => Ok(()),
            Some(_) => Err(io::Error::other("no thread could be started")),
        }
    }

    /// Wakes the poller.
    pub(crate) fn wake(&self) {
        if !self.wake_pending.swap(true, Ordering::AcqRel) {
            let _ = self.waker.wake(); // Fails only if the counter is full, and then it is awake.
        }
    }

    /// The log moved: wakes the poller if anybody here waits for it.
    pub(crate) fn log_moved(&self) {
        if self.wants_durable.load(Ordering::Acquire) {
            self.wake();
        }
    }

    fn kick(&self, slot: usize) {
        lock(&self.kicked).push(slot);
        self.wake();
    }

    /// Waits until all threads of the group have ended, or `deadline`.
    pub(crate) fn join(&self, deadline: Instant) -> bool {
        let mut park = lock(&self.park);
        while park.threads > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            park = self.ended.wait_timeout(park, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Closes who was accepted and not yet greeted, because the server stops.
    pub(crate) fn drop_arrivals(&self) {
        for (stream, _) in lock(&self.arrivals).drain(..) {
            drop(stream);
            self.connection_count.fetch_sub(1, Ordering::Relaxed);
            self.shared.connection_closed();
            self.shared.service.note(ConnectionEvent::Closed);
        }
    }

    /// Gives the core to a parked thread, or a new one. Gives it back if there is neither.
    fn hand_over(self: &Arc<Group>, core: Box<Core>) -> Option<Box<Core>> {
        let mut park = lock(&self.park);
        debug_assert!(park.core.is_none(), "one core per group");
        if park.parked > 0 {
            park.core = Some(core);
            drop(park);
            self.unparked.notify_one();
            return None;
        }
        if park.threads >= THREADS_PER_GROUP_MAX {
            return Some(core);
        }
        let group = Arc::clone(self);
        park.threads += 1;
        park.core = Some(core);
        let name = format!("worker-{}.{}", self.index, park.threads);
        let spawned =
            std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || group.thread());
        match spawned {
            Ok(_detached) => None,
            Err(_) => {
                park.threads -= 1;
                park.core.take()
            }
        }
    }

    /// Waits for the core; `None` if this thread is no longer needed.
    fn wait_for_core(&self) -> Option<Box<Core>> {
        let mut park = lock(&self.park);
        park.parked += 1;
        loop {
            if let Some(core) = park.core.take() {
                park.parked -= 1;
                return Some(core);
            }
            if park.stopped {
                park.parked -= 1;
                return None;
            }
            let (guard, waited) =
                self.unparked.wait_timeout(park, PARK_TIME_MAX).unwrap_or_else(PoisonError::into_inner);
            park = guard;
            if waited.timed_out() && park.core.is_none() && park.parked > PARKED_KEPT {
                park.parked -= 1;
                return None;
            }
        }
    }

    fn thread(self: Arc<Group>) {
        let hook = Rc::new(Hook {
            group: Arc::clone(&self),
            core: RefCell::new(None),
            since: Cell::new(Instant::now()),
        });
        env::blocking::install(Some(Rc::clone(&hook) as Rc<dyn BlockingHook>));
        let mut scratch = Scratch::new();
        while let Some(core) = self.wait_for_core() {
            self.run(core, &hook, &mut scratch);
        }
        env::blocking::install(None);
        lock(&self.park).threads -= 1;
        self.ended.notify_all();
    }

    /// Polls and serves until the core is given away, or the server stops.
    fn run(self: &Arc<Group>, mut core: Box<Core>, hook: &Hook, scratch: &mut Scratch) {
        loop {
            while let Some(slot) = core.ready.pop_front() {
                let Some(mut connection) = core.check_out(slot) else { continue };
                let now = core.now;
                hook.since.set(now);
                hook.core.replace(Some(core));
                let next = connection.drive(scratch, &self.shared, now);
                match hook.core.take() {
                    Some(back) => {
                        core = back;
                        core.check_in(slot, connection, next, self);
                    }
                    None => {
                        // Somebody else polls now.
                        lock(&self.returned).push((slot, connection, next));
                        self.wake();
                        return;
                    }
                }
            }
            core = match self.before_poll(core, hook, scratch) {
                Some(core) => core,
                None => return,
            };
        }
    }

    /// Everything between two rounds of commands: answers that may leave now, new events, timeouts. `None` when the server
    /// has stopped.
    fn before_poll(
        self: &Arc<Group>,
        mut core: Box<Core>,
        hook: &Hook,
        scratch: &mut Scratch,
    ) -> Option<Box<Core>> {
        core.release(self, scratch);
        // Others may have sent something while the last round ran; only if not is there time to flush the log.
        let timeout = if !core.ready.is_empty() || !core.waiting.is_empty() {
            Duration::ZERO
        } else {
            core.next_sweep.saturating_duration_since(core.now)
        };
        core.poll(timeout, self, scratch);
        if core.waiting.is_empty() {
            core.rounds_waited = 0;
        } else if core.ready.is_empty() {
            core.flush_log(self, scratch);
        } else {
            // Never idle: the log's thread flushes beside us, once those who came with the first have had their turn.
            core.rounds_waited += 1;
            if core.rounds_waited >= ROUNDS_WAITED_MAX {
                core.ask_for_sync(self);
            }
        }
        if core.now >= core.next_sweep {
            core.sweep(self);
        }
        if self.shared.is_stopping() {
            return self.stop(core, hook);
        }
        Some(core)
    }

    /// One round of the server's end: closes whoever is idle, kills whoever takes too long.
    fn stop(self: &Arc<Group>, mut core: Box<Core>, hook: &Hook) -> Option<Box<Core>> {
        core.listeners.clear();
        let started = *core.stopping_since.get_or_insert(core.now);
        let is_late = core.now.saturating_duration_since(started) >= self.shared.stop_time();
        core.next_sweep = core.now + Duration::from_millis(50);
        self.drop_arrivals();
        let mut left = 0;
        for slot in 0..core.slots.len() {
            match &core.slots[slot] {
                Slot::Free => {}
                Slot::Away(control) => {
                    left += 1;
                    if is_late {
                        control.kill(Kill::Connection);
                    }
                }
                Slot::Here(_) => {
                    if core.ready.contains(&slot) || core.waiting.iter().any(|&(_, waits)| waits == slot) {
                        left += 1;
                        continue;
                    }
                    let Some(mut connection) = core.check_out(slot) else { continue };
                    hook.core.replace(Some(core));
                    connection.shut(&self.shared);
                    match hook.core.take() {
                        Some(back) => {
                            core = back;
                            core.check_in(slot, connection, Next::Closed, self);
                        }
                        None => {
                            lock(&self.returned).push((slot, connection, Next::Closed));
                            self.wake();
                            return None;
                        }
                    }
                }
            }
        }
        if left > 0 {
            return Some(core);
        }
        let mut park = lock(&self.park);
        park.stopped = true;
        drop(park);
        self.unparked.notify_all();
        None
    }
}

impl Core {
    fn check_out(&mut self, slot: usize) -> Option<Box<Connection>> {
        let place = self.slots.get_mut(slot)?;
        match std::mem::replace(place, Slot::Free) {
            Slot::Here(connection) => {
                *place = Slot::Away(Arc::clone(&connection.control));
                Some(connection)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    /// Polls for room in a socket only while something waits for it: a Unix socket says so whenever its client reads.
    fn watch(&self, slot: usize, connection: &mut Connection) -> io::Result<()> {
        let unsent = connection.io.has_unsent();
        if unsent != connection.io.watches_room {
            let interest = if unsent { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
            connection.io.stream.source().reregister(self.poll.registry(), Token(slot), interest)?;
            connection.io.watches_room = unsent;
        }
        Ok(())
    }

    fn check_in(&mut self, slot: usize, mut connection: Box<Connection>, mut next: Next, group: &Group) {
        if next != Next::Closed && self.watch(slot, &mut connection).is_err() {
            // Nobody would ever tell that it may go on.
            connection.shut(&group.shared);
            next = Next::Closed;
        }
        match next {
            Next::Closed => {
                debug_assert!(connection.is_closed());
                drop(connection); // Closes the socket, which takes it out of the poller.
                self.slots[slot] = Slot::Free;
                self.free.push(slot);
                group.connection_count.fetch_sub(1, Ordering::Relaxed);
                group.shared.connection_closed();
            }
            Next::Socket => {
                if connection.wants_drive() {
                    self.ready.push_back(slot);
                }
                self.slots[slot] = Slot::Here(connection);
            }
            Next::Durable(position) => {
                self.slots[slot] = Slot::Here(connection);
                self.waiting.push((position, slot));
            }
        }
    }

    /// Lets answers leave for which the log is durable.
    fn release(&mut self, group: &Group, scratch: &mut Scratch) {
        if self.waiting.is_empty() {
            return;
        }
        let shared = &group.shared;
        let durable = shared.service.durable_position();
        let failure = if self.waiting.iter().any(|&(position, _)| position > durable) {
            shared.service.log_failure()
        } else {
            None
        };
        let mut at = 0;
        while at < self.waiting.len() {
            let (position, slot) = self.waiting[at];
            let error = if position <= durable { None } else { failure.as_deref() };
            if position > durable && error.is_none() {
                at += 1;
                continue;
            }
            self.waiting.swap_remove(at);
            let Some(mut connection) = self.check_out(slot) else { continue };
            let next = connection.durable(error, scratch, shared);
            self.check_in(slot, connection, next, group);
        }
        if let Some((position, asked)) = self.sync_asked
            && position <= durable
        {
            self.note_sync_time(asked.elapsed());
            self.sync_asked = None;
        }
        if self.waiting.is_empty() {
            group.wants_durable.store(false, Ordering::Release);
        }
    }

    fn note_sync_time(&mut self, time: Duration) {
        self.sync_time = if self.sync_time.is_zero() { time } else { (self.sync_time * 7 + time) / 8 };
    }

    /// Nothing to do but to wait for the log: flushes it here, or asks for it and polls until it moved.
    fn flush_log(&mut self, group: &Group, scratch: &mut Scratch) {
        let service = &group.shared.service;
        let Some(last) = self.waiting.iter().map(|&(position, _)| position).max() else { return };
        let all_wait = self.waiting.len() >= group.connection_count.load(Ordering::Relaxed);
        if all_wait || self.sync_time <= INLINE_SYNC_MAX {
            let started = Instant::now();
            // A failure is found by `release`, which tells every client that waits.
            let _ = service.sync_inline(last);
            self.note_sync_time(started.elapsed());
        } else {
            self.ask_for_sync(group);
            if service.durable_position() < last && service.log_failure().is_none() {
                self.poll(self.next_sweep.saturating_duration_since(self.now), group, scratch);
            }
        }
        self.release(group, scratch);
    }

    /// Lets the log's thread flush for all who wait here, unless it is at it already.
    fn ask_for_sync(&mut self, group: &Group) {
        let Some(last) = self.waiting.iter().map(|&(position, _)| position).max() else { return };
        group.wants_durable.store(true, Ordering::Release);
        if self.sync_asked.is_none() {
            self.sync_asked = Some((last, Instant::now()));
            group.shared.service.request_sync(last);
        }
    }

    fn poll(&mut self, timeout: Duration, group: &Group, scratch: &mut Scratch) {
        // A sweep looks at the clock in milliseconds: round up, or the last millisecond is spent spinning.
        let timeout = if timeout.is_zero() { timeout } else { timeout + Duration::from_millis(1) };
        let timeout = if self.accept_again { timeout.min(Duration::from_millis(100)) } else { timeout };
        if let Err(error) = self.poll.poll(&mut self.events, Some(timeout))
            && error.kind() != io::ErrorKind::Interrupted
        {
            // Only a broken descriptor fails; spinning on it would help nobody.
            std::thread::sleep(Duration::from_millis(10));
        }
        self.now = Instant::now();
        let mut woken = false;
        let mut accept = std::mem::take(&mut self.accept_again);
        for event in &self.events {
            match event.token() {
                WAKE => woken = true,
                Token(token) if token >= FIRST_LISTENER => accept = true,
                Token(slot) => {
                    if event.is_read_closed()
                        && let Some(Slot::Here(connection)) = self.slots.get_mut(slot)
                    {
                        connection.expect_end();
                    }
                    self.ready.push_back(slot);
                }
            }
        }
        if woken {
            self.woken(group, scratch);
        }
        if accept {
            self.accept(group);
        }
    }

    fn woken(&mut self, group: &Group, scratch: &mut Scratch) {
        group.wake_pending.store(false, Ordering::Release);
        let returned = std::mem::take(&mut *lock(&group.returned));
        for (slot, mut connection, next) in returned {
            connection.expect_end();
            let drive = next == Next::Socket;
            self.check_in(slot, connection, next, group);
            if drive {
                self.ready.push_back(slot);
            }
        }
        let kicked = std::mem::take(&mut *lock(&group.kicked));
        let limits = group.shared.service.limits();
        for slot in kicked {
            self.sweep_slot(slot, &limits);
        }
        let arrivals = std::mem::take(&mut *lock(&group.arrivals));
        for (stream, peer) in arrivals {
            self.open(stream, peer, group, scratch);
        }
    }

    /// Takes in whoever came, and gives each to the group with the fewest connections.
    fn accept(&mut self, group: &Group) {
        let shared = &group.shared;
        let listeners = std::mem::take(&mut self.listeners);
        for listener in &listeners {
            loop {
                match listener.accept() {
                    Ok((stream, peer)) => {
                        shared.service.note(ConnectionEvent::Accepted);
                        // One more than the limit, for an administrator; whether it is one is known after its handshake.
                        if shared.connection_opened() > shared.service.limits().max_connections as usize + 1 {
                            shared.connection_closed();
                            shared.service.note(ConnectionEvent::RefusedTooMany);
                            shared.service.note(ConnectionEvent::Closed);
                            Connection::refuse(stream);
                            continue;
                        }
                        let Some(group) = shared.emptiest_group() else { return };
                        group.connection_count.fetch_add(1, Ordering::Relaxed);
                        lock(&group.arrivals).push((stream, peer));
                        group.wake();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        // Out of descriptors, or the client left already: try again soon.
                        self.accept_again = true;
                        break;
                    }
                }
            }
        }
        self.listeners = listeners;
    }

    fn open(
        &mut self,
        stream: Stream,
        peer: Option<std::net::SocketAddr>,
        group: &Group,
        scratch: &mut Scratch,
    ) {
        let shared = &group.shared;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        });
        let control = Arc::new(ConnectionControl::new(shared.next_connection_id(), peer));
        let mut connection =
            Box::new(Connection::open(stream, Arc::clone(&control), shared, scratch, self.now));
        let registered =
            connection.io.stream.source().register(self.poll.registry(), Token(slot), Interest::READABLE);
        if registered.is_err() {
            connection.shut(shared);
        }
        if let Some(group) = shared.group(group.index) {
            let group = Weak::clone(group);
            control.set_server_wake(Box::new(move || {
                if let Some(group) = group.upgrade() {
                    group.kick(slot);
                }
            }));
        }
        let next = if connection.is_closed() { Next::Closed } else { Next::Socket };
        self.check_in(slot, connection, next, group);
    }

    fn sweep(&mut self, group: &Group) {
        self.next_sweep = self.now + SWEEP_INTERVAL;
        let limits = group.shared.service.limits();
        for slot in 0..self.slots.len() {
            self.sweep_slot(slot, &limits);
        }
    }

    fn sweep_slot(&mut self, slot: usize, limits: &service::Limits) {
        let Some(Slot::Here(connection)) = self.slots.get_mut(slot) else { return };
        if connection.sweep(self.now, limits) {
            self.ready.push_back(slot);
        }
    }
}

/// What `env::blocking` calls on a thread of a group.
struct Hook {
    group: Arc<Group>,
    /// The core, while a connection is driven with it at hand.
    core: RefCell<Option<Box<Core>>>,
    since: Cell<Instant>,
}

impl Hook {
    fn give_away(&self) {
        if let Some(core) = self.core.take()
            && let Some(kept) = self.group.hand_over(core)
        {
            self.core.replace(Some(kept));
        }
    }
}

impl BlockingHook for Hook {
    fn enter(&self) {
        self.give_away();
    }

    fn leave(&self) {}

    fn tick(&self) {
        if self.core.borrow().is_some() && self.since.get().elapsed() > TICK_HOLD_MAX {
            self.give_away();
        }
    }
}
