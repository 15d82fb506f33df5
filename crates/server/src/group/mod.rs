//! A worker group: one poller, its connections, and the threads that take turns with it.
//!
//! ```text
//! thread with the reactor:   poll, then for each ready connection: read, execute, answer
//! before it waits:           the reactor goes to a parked thread of the group, which continues polling
//! after it has waited:       it finishes its statement, returns the connection, and parks
//! ```
//!
//! So a statement that does not wait costs no thread switch, and one that waits delays no other. `env::blocking`
//! announces both: waits by `enter`, long computations by `tick` and `pause`. The watchdog takes the reactor from a
//! command that computes for long without announcing it ([`driving`]). Of the statements that compute without the
//! reactor only a few run at once ([`run_slots`]).
//!
//! A statement that waits for other statements (a lock) occupies a thread. A group has at most [`WAITERS_PER_GROUP`] of
//! these, and a few for one lock ([`wait_queues`]). The next one is refused its wait: its session rolls it back, and
//! its command is requeued in the reactor without a thread, to be executed again when fewer wait. The holder of the
//! lock sends commands like any other client, and they have precedence; so a COMMIT or a KILL always gets through.
//!
//! Answers that wait for the log stay with their connection and wait in the reactor by position. A thread that has
//! nothing else to do flushes for all of them itself, if flushing is fast here; else the log's own thread does it and
//! wakes the poller. A flush costs as much for sixteen commits as for one, so connections that commit gather in one
//! group ([`crate::placement`]), and a group flushes when it has no more commands or they bring no more commits.
//!
//! Invariants:
//! 1. There is one [`Reactor`] per group, and one thread at a time has it.
//! 2. A connection is in its slot, or with the thread that drives it, whose slot then says `Away`.
//! 3. A socket is polled for writability exactly while its connection is in its slot with bytes unsent.
//! 4. Sockets are polled edge-triggered: a connection put back after having been away from its reactor is driven once
//!    more, because an edge may have come meanwhile.
//! 5. A thread with the reactor holds no run slot. A thread without it that computes holds one, or gets one at its next
//!    `tick` or `pause`.

mod deadlines;
mod driving;
mod reactor;
mod run_slots;
mod wait_queues;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use env::blocking::{BlockingHook, Refused, WaitForOthers};
use mio::Waker;
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use service::{ConnectionEvent, Kill};

use self::driving::Driving;
pub(crate) use self::driving::Seen;
use self::reactor::{Reactor, Slot};
use self::run_slots::{Permit, RUN_SLOTS_PER_GROUP, RunSlots, STALL_TIME_MAX, TIME_SLICE};
use self::wait_queues::WaitQueues;
use crate::Shared;
use crate::connection::{Connection, Next, Scratch};
use crate::io::Stream;
use crate::location::{WakeConnection, lock};

/// A computation that runs longer hands the reactor over at its next tick.
const TICK_HOLD_MAX: Duration = Duration::from_millis(1);
/// Threads of one group. Beyond them, a statement that would wait for the machine keeps the reactor, and the group
/// waits with it: for a disk, or for the slow clients of four thousand statements.
const THREADS_PER_GROUP_MAX: usize = 4096;
/// Statements of one group that wait for others at once, each with a thread, when [`crate::Config`] does not say.
pub(crate) const WAITERS_PER_GROUP: usize = 1024;
const PARK_TIME_MAX: Duration = Duration::from_secs(10);
/// Stack of a thread, bytes, reserved and not used up front.
const STACK_BYTES: usize = 32 << 20;

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

#[derive(Default)]
struct Park {
    reactor: Option<Box<Reactor>>,
    /// Threads that wait for the reactor. The last one to come is woken first: its stack is warm, and those at the
    /// bottom end after a while.
    parked: Vec<Arc<Condvar>>,
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
    ended: Condvar,
    run_slots: RunSlots,
    /// Statements that wait for others, each with a thread.
    waiters: AtomicUsize,
    /// Commands that were requeued and wait until fewer statements wait.
    requeued: AtomicUsize,
    /// The waiters by what they wait for, those who hold nothing.
    wait_queues: WaitQueues,
    /// The system has refused a thread: none is asked for until somebody parks or the next sweep.
    no_thread: AtomicBool,
    /// Parked threads kept; more end after [`PARK_TIME_MAX`].
    parked_kept: AtomicUsize,
    arrivals: Mutex<Vec<(Stream, Option<std::net::SocketAddr>)>>,
    #[allow(clippy::vec_box, reason = "a connection is moved from slot to slot in the box it has")]
    moved: Mutex<Vec<Box<Connection>>>,
    returned: Mutex<Vec<(usize, Box<Connection>, Next)>>,
    woken: Mutex<Vec<usize>>,
    wants_durable: AtomicBool,
    /// Shared with the thread that has the reactor, or had it last.
    driving: Mutex<Arc<Driving>>,
    pub(crate) connection_count: AtomicUsize,
}

/// Lets the calling thread finish before others that it wakes, and others before it when they wake it: a worker woken
/// by one request then finds the next ones too. Its share of the processor and an idle CPU's quick start stay as they
/// are (measured with 16 clients on two cores: 13.4 us of CPU a point select against 15.6; with 1 to 4 the same).
fn run_in_batches() -> io::Result<()> {
    #[allow(unsafe_code, reason = "sched_setscheduler(2) has no safe wrapper among the crates in use")]
    // SAFETY: the parameter outlives the call, and 0 names the calling thread.
    let result = unsafe {
        let parameter: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameter)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl WakeConnection for Group {
    fn wake_connection(&self, slot: usize) {
        lock(&self.woken).push(slot);
        self.wake();
    }
}

impl Group {
    /// Makes a group; its first thread starts with [`Group::start`].
    pub(crate) fn new(
        index: usize,
        shared: Arc<Shared>,
        listeners: Vec<Listener>,
    ) -> io::Result<(Arc<Group>, Box<Reactor>)> {
        let reactor = Box::new(Reactor::new(listeners)?);
        let group = Arc::new(Group {
            index,
            shared,
            waker: reactor.waker()?,
            wake_pending: AtomicBool::new(false),
            park: Mutex::default(),
            ended: Condvar::new(),
            run_slots: RunSlots::new(RUN_SLOTS_PER_GROUP, STALL_TIME_MAX),
            waiters: AtomicUsize::new(0),
            requeued: AtomicUsize::new(0),
            wait_queues: WaitQueues::default(),
            no_thread: AtomicBool::new(false),
            parked_kept: AtomicUsize::new(2),
            arrivals: Mutex::default(),
            moved: Mutex::default(),
            returned: Mutex::default(),
            woken: Mutex::default(),
            wants_durable: AtomicBool::new(false),
            driving: Mutex::default(),
            connection_count: AtomicUsize::new(0),
        });
        Ok((group, reactor))
    }

    /// Starts the first thread.
    pub(crate) fn start(self: &Arc<Group>, reactor: Box<Reactor>) -> io::Result<()> {
        match self.hand_over(reactor) {
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

    /// This group, for [`crate::location::Location`].
    fn as_waker(&self) -> Option<Weak<dyn WakeConnection>> {
        self.shared.group(self.index).map(|group| Weak::clone(group) as Weak<dyn WakeConnection>)
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

    /// The watchdog's look, after what it has `seen` at the last one: see [`Driving::watch`].
    pub(crate) fn watch(self: &Arc<Group>, seen: Option<Seen>) -> Seen {
        let driving = Arc::clone(&lock(&self.driving));
        driving.watch(seen, self)
    }

    /// Takes over what variables say of threads.
    fn apply_limits(&self, limits: &service::Limits) {
        let groups = self.shared.group_count();
        self.run_slots.set_max(match limits.thread_concurrency as usize {
            0 => RUN_SLOTS_PER_GROUP,
            all => all.div_ceil(groups),
        });
        self.parked_kept.store((limits.thread_cache_size as usize / groups).max(1), Ordering::Relaxed);
        self.no_thread.store(false, Ordering::Relaxed);
    }

    /// How many more statements may wait for others.
    fn waiters_left(&self) -> usize {
        if self.no_thread.load(Ordering::Relaxed) {
            return 0;
        }
        self.shared.waiters_max.saturating_sub(self.waiters.load(Ordering::SeqCst))
    }

    /// Hands the reactor to a parked thread, or a new one. Returns the reactor if there is neither.
    fn hand_over(self: &Arc<Group>, reactor: Box<Reactor>) -> Option<Box<Reactor>> {
        let mut park = lock(&self.park);
        debug_assert!(park.reactor.is_none(), "one reactor per group");
        if let Some(thread) = park.parked.pop() {
            park.reactor = Some(reactor);
            drop(park);
            thread.notify_one();
            return None;
        }
        if park.threads >= THREADS_PER_GROUP_MAX {
            self.no_thread.store(true, Ordering::Relaxed);
            return Some(reactor);
        }
        let group = Arc::clone(self);
        park.threads += 1;
        park.reactor = Some(reactor);
        let name = format!("worker-{}.{}", self.index, park.threads);
        let spawned =
            std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(move || group.thread());
        match spawned {
            Ok(_detached) => {
                drop(park);
                self.shared.service.note(ConnectionEvent::ThreadStarted);
                None
            }
            Err(_) => {
                park.threads -= 1;
                self.no_thread.store(true, Ordering::Relaxed);
                park.reactor.take()
            }
        }
    }

    /// Waits for the reactor; `None` if this thread is no longer needed.
    fn wait_for_reactor(&self, unparked: &Arc<Condvar>) -> Option<Box<Reactor>> {
        let is_own = |parked: &Arc<Condvar>| Arc::ptr_eq(parked, unparked);
        let mut park = lock(&self.park);
        self.no_thread.store(false, Ordering::Relaxed);
        loop {
            if let Some(reactor) = park.reactor.take() {
                // Not called, if it wakes by itself just when there is one: then who was called waits again.
                park.parked.retain(|parked| !is_own(parked));
                return Some(reactor);
            }
            if park.stopped {
                return None;
            }
            if !park.parked.iter().any(is_own) {
                park.parked.push(Arc::clone(unparked));
            }
            let (guard, waited) =
                unparked.wait_timeout(park, PARK_TIME_MAX).unwrap_or_else(PoisonError::into_inner);
            park = guard;
            let kept = self.parked_kept.load(Ordering::Relaxed);
            if waited.timed_out() && park.reactor.is_none() && park.parked.len() > kept {
                park.parked.retain(|parked| !is_own(parked));
                return None;
            }
        }
    }

    fn thread(self: Arc<Group>) {
        env::stack::set_size(STACK_BYTES);
        let _ = run_in_batches(); // Refused at worst: then it works as any thread.
        let hook = Rc::new(Hook::new(Arc::clone(&self)));
        env::blocking::install(Some(Rc::clone(&hook) as Rc<dyn BlockingHook>));
        let mut scratch = Scratch::new();
        let unparked = Arc::default();
        while let Some(reactor) = self.wait_for_reactor(&unparked) {
            *lock(&self.driving) = Arc::clone(&hook.driving);
            self.run(reactor, &hook, &mut scratch);
        }
        env::blocking::install(None);
        env::memory::end_thread();
        lock(&self.park).threads -= 1;
        self.ended.notify_all();
    }

    /// Polls and serves until the reactor is handed over, or the server stops.
    fn run(self: &Arc<Group>, mut reactor: Box<Reactor>, hook: &Hook, scratch: &mut Scratch) {
        loop {
            while let Some((slot, is_urgent)) = reactor.next_ready() {
                let Some(mut connection) = reactor.check_out(slot) else { continue };
                let now = reactor.now;
                hook.begin(reactor, is_urgent, &connection);
                let next = connection.drive(scratch, &self.shared, now);
                connection.set_wait_queue(hook.wait_queue.take());
                connection.commit_heuristic.note(matches!(next, Next::Durable(_)));
                match hook.end() {
                    Some(back) => {
                        reactor = back;
                        reactor.check_in(slot, connection, next, self);
                    }
                    None => {
                        // Somebody else polls now.
                        lock(&self.returned).push((slot, connection, next));
                        self.wake();
                        return;
                    }
                }
            }
            reactor = match self.before_poll(reactor, hook, scratch) {
                Some(reactor) => reactor,
                None => return,
            };
        }
    }

    /// Everything between two rounds of commands: answers that may leave now, new events, timeouts. `None` when the server
    /// has stopped.
    fn before_poll(
        self: &Arc<Group>,
        mut reactor: Box<Reactor>,
        hook: &Hook,
        scratch: &mut Scratch,
    ) -> Option<Box<Reactor>> {
        reactor.poll_round(self, scratch);
        if self.shared.is_stopping() {
            return self.stop(reactor, hook);
        }
        Some(reactor)
    }

    /// One round of the server's end: closes whoever is idle, kills whoever takes too long.
    fn stop(self: &Arc<Group>, mut reactor: Box<Reactor>, hook: &Hook) -> Option<Box<Reactor>> {
        reactor.listeners.clear();
        let started = *reactor.stopping_since.get_or_insert(reactor.now);
        let is_late = reactor.now.saturating_duration_since(started) >= self.shared.stop_time();
        reactor.next_sweep = reactor.now + Duration::from_millis(50);
        self.drop_arrivals();
        let mut left = 0;
        for slot in 0..reactor.slots.len() {
            match &reactor.slots[slot] {
                Slot::Free => {}
                Slot::Away(control) => {
                    left += 1;
                    if is_late {
                        control.kill(Kill::Connection);
                    }
                }
                Slot::Here(_) => {
                    if reactor.is_ready(slot) || reactor.waiting.iter().any(|&(_, waits)| waits == slot) {
                        left += 1;
                        continue;
                    }
                    let Some(mut connection) = reactor.check_out(slot) else { continue };
                    hook.begin(reactor, true, &connection);
                    connection.shut(&self.shared);
                    match hook.end() {
                        Some(back) => {
                            reactor = back;
                            reactor.check_in(slot, connection, Next::Closed, self);
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
            return Some(reactor);
        }
        let mut park = lock(&self.park);
        park.stopped = true;
        let parked = std::mem::take(&mut park.parked);
        drop(park);
        for thread in parked {
            thread.notify_one();
        }
        None
    }
}

/// What a thread waits for, if it has announced a wait.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wait {
    /// Nothing.
    No,
    /// The machine.
    Machine,
    /// Others.
    Others,
}

/// What `env::blocking` calls on a thread of a group.
struct Hook {
    group: Arc<Group>,
    driving: Arc<Driving>,
    has_slot: Cell<bool>,
    /// Since when the thread has had the reactor or a run slot.
    since: Cell<Instant>,
    wait: Cell<Wait>,
    /// The command is of a connection inside a transaction.
    is_urgent: Cell<bool>,
    /// The command has waited for others as long as it may.
    is_late: Cell<bool>,
    /// The command was requeued before.
    is_requeued: Cell<bool>,
    /// Among whom the command waits, or was refused its wait.
    wait_queue: Cell<Option<u64>>,
    permit: Arc<Permit>,
}

impl Hook {
    fn new(group: Arc<Group>) -> Hook {
        Hook {
            group,
            driving: Arc::new(Driving::new()),
            has_slot: Cell::new(false),
            since: Cell::new(Instant::now()),
            wait: Cell::new(Wait::No),
            is_urgent: Cell::new(false),
            is_late: Cell::new(false),
            is_requeued: Cell::new(false),
            wait_queue: Cell::new(None),
            permit: Arc::default(),
        }
    }

    /// The thread begins to drive a connection, and has the reactor.
    fn begin(&self, reactor: Box<Reactor>, is_urgent: bool, connection: &Connection) {
        self.since.set(reactor.now);
        self.is_urgent.set(is_urgent);
        self.is_late.set(connection.is_late(reactor.now));
        self.is_requeued.set(connection.is_requeued());
        self.driving.begin(reactor);
    }

    /// The thread has driven the connection; returns the reactor, if it was not handed over.
    fn end(&self) -> Option<Box<Reactor>> {
        if self.has_slot.replace(false) {
            self.group.run_slots.release();
        }
        self.driving.end()
    }

    /// Hands the reactor over, if it is here and another thread can take it.
    fn hand_over_reactor(&self) {
        self.driving.hand_over_reactor(&self.group);
    }

    /// Continues without the reactor.
    fn take_slot(&self, waits: bool, is_urgent: bool) {
        if waits {
            if self.group.run_slots.acquire(&self.permit, is_urgent) {
                self.group.shared.service.note(ConnectionEvent::StatementQueued);
            }
        } else {
            self.group.run_slots.acquire_at_once();
        }
        self.has_slot.set(true);
        self.since.set(Instant::now());
    }

    fn has_reactor(&self) -> bool {
        self.driving.has_reactor()
    }

    /// Whether a long computation is without the reactor and has no run slot yet. With the reactor, it hands it over
    /// after some time.
    fn wants_slot(&self) -> bool {
        if self.has_slot.get() {
            return false;
        }
        if self.since.get().elapsed() > TICK_HOLD_MAX {
            self.hand_over_reactor();
        }
        !self.has_reactor()
    }
}

impl BlockingHook for Hook {
    fn enter(&self) {
        self.hand_over_reactor();
        if self.has_slot.replace(false) {
            self.group.run_slots.release();
        }
        self.wait.set(Wait::Machine);
    }

    fn try_enter(&self, wait: WaitForOthers) -> Result<(), Refused> {
        if self.is_late.get() {
            return Err(Refused::TimeOver);
        }
        let group = &self.group;
        // A statement that must wait with a thread is in no wait queue.
        let wait_queue = wait.wait_queue.filter(|_| wait.may_requeue);
        self.wait_queue.set(None);
        if let Some(full) =
            wait_queue.filter(|&wait_queue| !group.wait_queues.may_enter(wait_queue, self.is_requeued.get()))
        {
            self.wait_queue.set(Some(full));
            return Err(Refused::NoThread);
        }
        // A statement without the reactor has its thread already, and keeps it if it cannot be requeued.
        let has_reactor = self.has_reactor();
        if (has_reactor || wait.may_requeue) && group.waiters_left() == 0 {
            return Err(Refused::NoThread);
        }
        if has_reactor {
            self.hand_over_reactor();
            if self.has_reactor() {
                return Err(Refused::NoThread);
            }
        } else if self.has_slot.replace(false) {
            group.run_slots.release();
        }
        group.waiters.fetch_add(1, Ordering::SeqCst);
        if let Some(wait_queue) = wait_queue {
            group.wait_queues.enter(wait_queue);
        }
        self.wait_queue.set(wait_queue);
        self.wait.set(Wait::Others);
        Ok(())
    }

    fn leave(&self) {
        let wait = self.wait.replace(Wait::No);
        if wait == Wait::Others {
            self.group.waiters.fetch_sub(1, Ordering::SeqCst);
            let has_room =
                self.wait_queue.take().is_some_and(|wait_queue| self.group.wait_queues.leave(wait_queue));
            if has_room || self.group.requeued.load(Ordering::SeqCst) > 0 {
                self.group.wake();
            }
        }
        if !self.has_reactor() {
            // What it was given others wait for, so it goes before those who hold nothing.
            self.take_slot(wait == Wait::Others, true);
        }
    }

    fn tick(&self) {
        if self.wants_slot() {
            self.take_slot(false, false);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.driving.is_cancelled()
    }

    fn pause(&self) {
        if self.wants_slot() {
            self.take_slot(true, self.is_urgent.get());
        } else if self.has_slot.get()
            && self.group.run_slots.has_waiters()
            && self.since.get().elapsed() > TIME_SLICE
        {
            self.group.run_slots.release();
            self.take_slot(true, self.is_urgent.get());
        }
    }
}
