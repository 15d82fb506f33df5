//! A worker group: one poller, its connections, and the threads that take turns at it.
//!
//! ```text
//! thread with the core:   poll, then for each ready connection: read, execute, answer
//! before it waits:        the core goes to a parked thread of the group, which goes on polling
//! when it has waited:     it finishes its statement, gives the connection back, and parks
//! ```
//!
//! So a statement that does not wait costs no switch of threads, and one that waits costs others nothing. `env::blocking`
//! tells when: waits by `enter`, long computations by `tick` and `pause`. From a command that computes for long and tells nothing, the watchdog
//! takes the core ([`driving`]). Of those that compute beside the core only a few run at once ([`turns`]).
//!
//! A statement that waits for others (a lock) holds a thread. Of these there may be [`WAITERS_PER_GROUP`], and a few for one lock
//! ([`crowds`]): the next one is refused its wait, its session takes it back, and its command waits in the core without a thread, to be
//! executed once more when fewer wait. What its lock's holder sends is a command like any other, and goes first; so a COMMIT and a KILL always get through.
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
//! 5. A thread with the core has no turn; one without, that computes, has one, or gets one at its next `tick` or `pause`.

mod core;
mod crowds;
mod driving;
mod looks;
mod turns;

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use env::blocking::{BlockingHook, Refused, WaitForOthers};
use mio::Waker;
use mio::event::Source;
use mio::net::{TcpListener, UnixListener};
use service::{ConnectionEvent, Kill};

use self::core::{Core, Slot};
use self::crowds::Crowds;
use self::driving::Driving;
pub(crate) use self::driving::Seen;
use self::turns::{STALL_TIME_MAX, Seat, TURN_TIME, TURNS_PER_GROUP, Turns};
use crate::Shared;
use crate::connection::{Connection, Next, Scratch};
use crate::io::Stream;

/// A computation that runs longer gives the core away at its next tick.
const TICK_HOLD_MAX: Duration = Duration::from_millis(1);
/// Threads of one group. A statement that would wait for the machine beyond them keeps the core, and the group waits with it: for
/// a disk, or for the slow clients of four thousand statements.
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

/// Where a connection lives now, for those who want to wake it.
#[derive(Default)]
pub(crate) struct Home(Mutex<Option<(Weak<Group>, usize)>>);

impl Home {
    fn set(&self, group: &Group, slot: usize) {
        *lock(&self.0) = group.shared.group(group.index).map(|group| (Weak::clone(group), slot));
    }

    pub(crate) fn kick(&self) {
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
    /// Who waits for the core. The last to come is the first to go: its stack is warm, and those at the bottom end after a while.
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
    turns: Turns,
    /// Statements that wait for others, each with a thread.
    waiters: AtomicUsize,
    /// Commands that were taken back and wait for room among all waiters.
    requeued: AtomicUsize,
    /// The waiters by what they wait for, those who hold nothing.
    crowds: Crowds,
    /// The system has refused a thread: none is asked for until somebody parks or the next sweep.
    no_thread: AtomicBool,
    /// Parked threads kept; more end after [`PARK_TIME_MAX`].
    parked_kept: AtomicUsize,
    arrivals: Mutex<Vec<(Stream, Option<std::net::SocketAddr>)>>,
    #[allow(clippy::vec_box, reason = "a connection is moved from slot to slot in the box it has")]
    moved: Mutex<Vec<Box<Connection>>>,
    returned: Mutex<Vec<(usize, Box<Connection>, Next)>>,
    kicked: Mutex<Vec<usize>>,
    wants_durable: AtomicBool,
    /// Of the thread that has the core, or had it last.
    driving: Mutex<Arc<Driving>>,
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

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
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
            ended: Condvar::new(),
            turns: Turns::new(TURNS_PER_GROUP, STALL_TIME_MAX),
            waiters: AtomicUsize::new(0),
            requeued: AtomicUsize::new(0),
            crowds: Crowds::default(),
            no_thread: AtomicBool::new(false),
            parked_kept: AtomicUsize::new(2),
            arrivals: Mutex::default(),
            moved: Mutex::default(),
            returned: Mutex::default(),
            kicked: Mutex::default(),
            wants_durable: AtomicBool::new(false),
            driving: Mutex::default(),
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

    /// The watchdog's look, after what it has `seen` at the last one: see [`Driving::watch`].
    pub(crate) fn watch(self: &Arc<Group>, seen: Option<Seen>) -> Seen {
        let driving = Arc::clone(&lock(&self.driving));
        driving.watch(seen, self)
    }

    /// Takes over what variables say of threads.
    fn obey(&self, limits: &service::Limits) {
        let groups = self.shared.group_count();
        self.turns.set_max(match limits.thread_concurrency as usize {
            0 => TURNS_PER_GROUP,
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

    /// Gives the core to a parked thread, or a new one. Gives it back if there is neither.
    fn hand_over(self: &Arc<Group>, core: Box<Core>) -> Option<Box<Core>> {
        let mut park = lock(&self.park);
        debug_assert!(park.core.is_none(), "one core per group");
        if let Some(thread) = park.parked.pop() {
            park.core = Some(core);
            drop(park);
            thread.notify_one();
            return None;
        }
        if park.threads >= THREADS_PER_GROUP_MAX {
            self.no_thread.store(true, Ordering::Relaxed);
            return Some(core);
        }
        let group = Arc::clone(self);
        park.threads += 1;
        park.core = Some(core);
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
                park.core.take()
            }
        }
    }

    /// Waits for the core; `None` if this thread is no longer needed.
    fn wait_for_core(&self, unparked: &Arc<Condvar>) -> Option<Box<Core>> {
        let is_own = |parked: &Arc<Condvar>| Arc::ptr_eq(parked, unparked);
        let mut park = lock(&self.park);
        self.no_thread.store(false, Ordering::Relaxed);
        loop {
            if let Some(core) = park.core.take() {
                // Not called, if it wakes by itself just when there is one: then who was called waits again.
                park.parked.retain(|parked| !is_own(parked));
                return Some(core);
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
            if waited.timed_out() && park.core.is_none() && park.parked.len() > kept {
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
        while let Some(core) = self.wait_for_core(&unparked) {
            *lock(&self.driving) = Arc::clone(&hook.driving);
            self.run(core, &hook, &mut scratch);
        }
        env::blocking::install(None);
        env::memory::end_thread();
        lock(&self.park).threads -= 1;
        self.ended.notify_all();
    }

    /// Polls and serves until the core is given away, or the server stops.
    fn run(self: &Arc<Group>, mut core: Box<Core>, hook: &Hook, scratch: &mut Scratch) {
        loop {
            while let Some((slot, is_urgent)) = core.next_ready() {
                let Some(mut connection) = core.check_out(slot) else { continue };
                let now = core.now;
                hook.begin(core, is_urgent, &connection);
                let next = connection.drive(scratch, &self.shared, now);
                connection.wait_among(hook.crowd.take());
                connection.habits.note(matches!(next, Next::Durable(_)));
                match hook.end() {
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
                    if core.is_ready(slot) || core.waiting.iter().any(|&(_, waits)| waits == slot) {
                        left += 1;
                        continue;
                    }
                    let Some(mut connection) = core.check_out(slot) else { continue };
                    hook.begin(core, true, &connection);
                    connection.shut(&self.shared);
                    match hook.end() {
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
        let parked = std::mem::take(&mut park.parked);
        drop(park);
        for thread in parked {
            thread.notify_one();
        }
        None
    }
}

/// What a thread waits for, that has told of a wait.
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
    has_turn: Cell<bool>,
    /// Since when it has the core or a turn.
    since: Cell<Instant>,
    wait: Cell<Wait>,
    /// The command is of a connection inside a transaction.
    is_urgent: Cell<bool>,
    /// The command has waited for others as long as it may.
    is_late: Cell<bool>,
    /// The command was requeued before.
    is_requeued: Cell<bool>,
    /// Among whom the command waits, or was refused its wait.
    crowd: Cell<Option<u64>>,
    seat: Arc<Seat>,
}

impl Hook {
    fn new(group: Arc<Group>) -> Hook {
        Hook {
            group,
            driving: Arc::new(Driving::new()),
            has_turn: Cell::new(false),
            since: Cell::new(Instant::now()),
            wait: Cell::new(Wait::No),
            is_urgent: Cell::new(false),
            is_late: Cell::new(false),
            is_requeued: Cell::new(false),
            crowd: Cell::new(None),
            seat: Arc::default(),
        }
    }

    /// A connection is driven, the core at hand.
    fn begin(&self, core: Box<Core>, is_urgent: bool, connection: &Connection) {
        self.since.set(core.now);
        self.is_urgent.set(is_urgent);
        self.is_late.set(connection.is_late(core.now));
        self.is_requeued.set(connection.is_requeued());
        self.driving.begin(core);
    }

    /// That is over; the core, if it was not given away.
    fn end(&self) -> Option<Box<Core>> {
        if self.has_turn.replace(false) {
            self.group.turns.give_back();
        }
        self.driving.end()
    }

    /// Gives the core away, if it is here and somebody can take it.
    fn give_away(&self) {
        self.driving.give_away(&self.group);
    }

    /// Goes on beside the core.
    fn take_turn(&self, waits: bool, is_urgent: bool) {
        if waits {
            if self.group.turns.take(&self.seat, is_urgent) {
                self.group.shared.service.note(ConnectionEvent::StatementQueued);
            }
        } else {
            self.group.turns.take_at_once();
        }
        self.has_turn.set(true);
        self.since.set(Instant::now());
    }

    fn has_core(&self) -> bool {
        self.driving.has_core()
    }

    /// Whether a long computation is without the core and has no turn yet: it gives the core away when it has had it for long.
    fn wants_turn(&self) -> bool {
        if self.has_turn.get() {
            return false;
        }
        if self.since.get().elapsed() > TICK_HOLD_MAX {
            self.give_away();
        }
        !self.has_core()
    }
}

impl BlockingHook for Hook {
    fn enter(&self) {
        self.give_away();
        if self.has_turn.replace(false) {
            self.group.turns.give_back();
        }
        self.wait.set(Wait::Machine);
    }

    fn try_enter(&self, wait: WaitForOthers) -> Result<(), Refused> {
        if self.is_late.get() {
            return Err(Refused::TimeOver);
        }
        let group = &self.group;
        // What must wait with a thread is in no crowd.
        let crowd = wait.crowd.filter(|_| wait.may_requeue);
        self.crowd.set(None);
        if let Some(full) = crowd.filter(|&crowd| !group.crowds.may_enter(crowd, self.is_requeued.get())) {
            self.crowd.set(Some(full));
            return Err(Refused::NoThread);
        }
        // Who is beside the core has its thread already, and keeps it if it cannot be requeued.
        let has_core = self.has_core();
        if (has_core || wait.may_requeue) && group.waiters_left() == 0 {
            return Err(Refused::NoThread);
        }
        if has_core {
            self.give_away();
            if self.has_core() {
                return Err(Refused::NoThread);
            }
        } else if self.has_turn.replace(false) {
            group.turns.give_back();
        }
        group.waiters.fetch_add(1, Ordering::SeqCst);
        if let Some(crowd) = crowd {
            group.crowds.enter(crowd);
        }
        self.crowd.set(crowd);
        self.wait.set(Wait::Others);
        Ok(())
    }

    fn leave(&self) {
        let wait = self.wait.replace(Wait::No);
        if wait == Wait::Others {
            self.group.waiters.fetch_sub(1, Ordering::SeqCst);
            let has_room = self.crowd.take().is_some_and(|crowd| self.group.crowds.leave(crowd));
            if has_room || self.group.requeued.load(Ordering::SeqCst) > 0 {
                self.group.wake();
            }
        }
        if !self.has_core() {
            // What it was given others wait for, so it goes before those who hold nothing.
            self.take_turn(wait == Wait::Others, true);
        }
    }

    fn tick(&self) {
        if self.wants_turn() {
            self.take_turn(false, false);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.driving.is_cancelled()
    }

    fn pause(&self) {
        if self.wants_turn() {
            self.take_turn(true, self.is_urgent.get());
        } else if self.has_turn.get()
            && self.group.turns.is_awaited()
            && self.since.get().elapsed() > TURN_TIME
        {
            self.group.turns.give_back();
            self.take_turn(true, self.is_urgent.get());
        }
    }
}
