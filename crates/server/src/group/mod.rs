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
//! poller. A flush costs as much for sixteen commits as for one, so who commits gathers in one group ([`crate::placement`]), and
//! a group flushes when it has no more commands or they bring no more commits.
//!
//! Invariants:
//! 1. There is one [`Core`] per group, and one thread at a time has it.
//! 2. A connection is in its slot, or with the thread that drives it, whose slot then says `Away`.
//! 3. A socket is polled for room exactly while its connection is in its slot with bytes unsent.
//! 4. Sockets are polled by edges: a connection put back after having been away from its core is driven once more, because
//!    an edge may have come meanwhile.

mod core;

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use env::blocking::BlockingHook;
use mio::Waker;
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use service::{ConnectionEvent, Kill};

use self::core::{Core, Slot};
use crate::Shared;
use crate::connection::{Connection, Next, Scratch};
use crate::io::Stream;

/// A computation that runs longer gives the core away at its next tick.
const TICK_HOLD_MAX: Duration = Duration::from_millis(1);
/// Threads of one group; a statement that would wait beyond them keeps the core, and the group waits with it.
const THREADS_PER_GROUP_MAX: usize = 4096;
/// Parked threads kept; more end after [`PARK_TIME_MAX`].
const PARKED_KEPT: usize = 2;
const PARK_TIME_MAX: Duration = Duration::from_secs(10);
/// Stack of a thread, bytes, reserved and not used up front.
const STACK_BYTES: usize = 8 << 20;

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

/// Where a connection lives now, for those who want to wake it.
#[derive(Default)]
pub(crate) struct Home(Mutex<Option<(Weak<Group>, usize)>>);

impl Home {
    fn set(&self, group: &Group, slot: usize) {
        *lock(&self.0) = group.shared.group(group.index).map(|group| (Weak::clone(group), slot));
    }

    fn kick(&self) {
        let home = lock(&self.0).clone();
        if let Some((group, slot)) = home
            && let Some(group) = group.upgrade()
        {
            group.kick(slot);
        }
    }
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
    #[allow(clippy::vec_box, reason = "a connection is moved from slot to slot in the box it has")]
    moved: Mutex<Vec<Box<Connection>>>,
    returned: Mutex<Vec<(usize, Box<Connection>, Next)>>,
    kicked: Mutex<Vec<usize>>,
    wants_durable: AtomicBool,
    pub(crate) connection_count: AtomicUsize,
}

/// Lets the calling thread finish before others that it wakes, and others before it when they wake it: a worker woken by one
/// request then finds the next ones too. Its share of the processor and an idle core's quick start stay as they are
/// (measured with 16 clients on two cores: 13.4 us of CPU a point select against 15.6; with 1 to 4 the same).
fn run_in_batches() -> io::Result<()> {
    #[allow(unsafe_code, reason = "sched_setscheduler(2) has no safe wrapper among the crates in use")]
    // SAFETY: the parameter outlives the call, and 0 names the calling thread.
    let result = unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameter)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    /// Makes a group; its first thread starts with [`Group::start`].
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        listeners: Vec<Listener>,
    ) -> io::Result<(Arc<Group>, Box<Core>)> {
        let core = Box::new(Core::new(listeners)?);
        let group = Arc::new(Group {
            index,
            shared,
            waker: core.waker()?,
            wake_pending: AtomicBool::new(false),
            park: Mutex::default(),
            unparked: Condvar::new(),
            ended: Condvar::new(),
            arrivals: Mutex::default(),
            moved: Mutex::default(),
            returned: Mutex::default(),
            kicked: Mutex::default(),
            wants_durable: AtomicBool::new(false),
            connection_count: AtomicUsize::new(0),
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
        if self.wants_durable.load(Ordering::SeqCst) {
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

    /// Closes who was accepted and not yet greeted, or moved here too late, because the server stops.
    pub(crate) fn drop_arrivals(&self) {
        let moved = std::mem::take(&mut *lock(&self.moved));
        for mut connection in moved {
            connection.shut(&self.shared);
            self.connection_count.fetch_sub(1, Ordering::Relaxed);
            self.shared.connection_closed();
        }
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
        let _ = run_in_batches(); // Refused at worst: then it works as any thread.
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
                connection.habits.note(matches!(next, Next::Durable(_)));
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
        core.turn(self, scratch);
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
