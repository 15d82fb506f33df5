//! The reactor of a worker group: it owns the poller, drives the sockets, and decides when the log is flushed.
//!
//! One thread at a time has it (see the module above), so nothing in here is shared and nothing locks but the mailboxes
//! of the group.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use service::{ConnectionControl, ConnectionEvent, Kill};

use super::deadlines::Deadlines;
use super::{Group, Listener, lock};
use crate::connection::{Connection, Next, Scratch};
use crate::io::Stream;
use crate::placement::{COMMITTERS, LOAD_INTERVAL, Move};

/// Events taken from the kernel by one call.
const EVENTS_PER_POLL: usize = 256;
/// How often timeouts are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Connections that are looked at between two polls: ten thousand at once, none of them in a cache, hold up commands for milliseconds.
const CHECKS_PER_POLL: usize = 256;
/// A flush of the log slower than this is left to the log's thread, unless every connection here waits for it.
const INLINE_SYNC_MAX: Duration = Duration::from_micros(400);

const WAKE: Token = Token(usize::MAX);
const FIRST_LISTENER: usize = usize::MAX - 16;

pub(super) enum Slot {
    Free,
    Here(Box<Connection>),
    Away(Arc<ConnectionControl>),
}

/// A connection whose client has closed its side while a command of it may be running.
struct Disconnected {
    slot: usize,
    control: Arc<ConnectionControl>,
}

/// What polls: handed from thread to thread.
pub(crate) struct Reactor {
    poll: Poll,
    events: Events,
    pub(super) slots: Vec<Slot>,
    free: Vec<usize>,
    ready: VecDeque<usize>,
    /// Likewise, of connections inside a transaction: they go first.
    ready_first: VecDeque<usize>,
    /// Connections whose command was requeued, in the order of arrival; those inside a transaction by themselves.
    requeued: [VecDeque<usize>; 2],
    /// Likewise, of connections in a wait queue ([`super::wait_queues`]).
    wait_queues: HashMap<u64, VecDeque<usize>>,
    pub(super) waiting: Vec<(u64, usize)>,
    pub(super) listeners: Vec<Listener>,
    accept_again: bool,
    pub(super) next_sweep: Instant,
    /// How far the sweep has come, if one is under way.
    swept: Option<usize>,
    deadlines: Deadlines,
    /// Whose commands end at the next sweep if they still run.
    disconnected: Vec<Disconnected>,
    /// The slot of the connection that is driven now.
    driven: usize,
    /// Whether its client has closed its side: it enters the list only if it outlasts its time with the reactor.
    has_hung_up: bool,
    pub(super) now: Instant,
    sync_time: Duration,
    /// When the load was last noted, by which thread, and its CPU time then.
    load_noted: (Instant, Option<ThreadId>, Duration),
    sync_asked: Option<(u64, Instant)>,
    /// Since when answers gather for a flush, and how many there were after the last round.
    gathering: Option<(Instant, usize)>,
    pub(super) stopping_since: Option<Instant>,
}

impl Reactor {
    /// A poller of `listeners` and no connections yet.
    pub(super) fn new(mut listeners: Vec<Listener>) -> io::Result<Reactor> {
        let poll = Poll::new()?;
        for (at, listener) in listeners.iter_mut().enumerate() {
            listener.source().register(poll.registry(), Token(FIRST_LISTENER + at), Interest::READABLE)?;
        }
        let now = Instant::now();
        Ok(Reactor {
            poll,
            events: Events::with_capacity(EVENTS_PER_POLL),
            slots: Vec::new(),
            free: Vec::new(),
            ready: VecDeque::new(),
            ready_first: VecDeque::new(),
            requeued: Default::default(),
            wait_queues: HashMap::new(),
            waiting: Vec::new(),
            listeners,
            accept_again: false,
            next_sweep: now + SWEEP_INTERVAL,
            swept: None,
            deadlines: Deadlines::new(now),
            disconnected: Vec::new(),
            driven: 0,
            has_hung_up: false,
            now,
            sync_time: Duration::ZERO,
            load_noted: (now, None, Duration::ZERO),
            sync_asked: None,
            gathering: None,
            stopping_since: None,
        })
    }

    /// What wakes this poller; there can be only one.
    pub(super) fn waker(&self) -> io::Result<Waker> {
        Waker::new(self.poll.registry(), WAKE)
    }

    /// The next connection to drive, and whether it is inside a transaction.
    pub(super) fn next_ready(&mut self) -> Option<(usize, bool)> {
        match self.ready_first.pop_front() {
            Some(slot) => Some((slot, true)),
            None => self.ready.pop_front().map(|slot| (slot, false)),
        }
    }

    /// Whether a connection is to be driven.
    pub(super) fn is_ready(&self, slot: usize) -> bool {
        self.ready.contains(&slot) || self.ready_first.contains(&slot)
    }

    fn nobody_is_ready(&self) -> bool {
        self.ready.is_empty() && self.ready_first.is_empty()
    }

    /// Lets commands that were requeued run again, as many as may wait now: they came before all that is ready.
    fn run_requeued(&mut self, group: &Group) {
        if self.wait_queues.is_empty() && self.requeued.iter().all(VecDeque::is_empty) {
            return;
        }
        let mut left = group.waiters_left();
        self.refill_wait_queues(group, &mut left);
        while left > 0 {
            let next = self.requeued[0].pop_front().or_else(|| self.requeued[1].pop_front());
            let Some(slot) = next else { break };
            left -= usize::from(self.end_of_queue(slot));
        }
        group.requeued.store(self.requeued.iter().map(VecDeque::len).sum(), Ordering::SeqCst);
    }

    fn refill_wait_queues(&mut self, group: &Group, left: &mut usize) {
        let mut wait_queues = std::mem::take(&mut self.wait_queues);
        wait_queues.retain(|&wait_queue, queue| {
            let queued = queue.len();
            let mut admissible = group.wait_queues.admissible_count(wait_queue);
            while admissible > 0
                && *left > 0
                && let Some(slot) = queue.pop_front()
            {
                if self.end_of_queue(slot) {
                    admissible -= 1;
                    *left -= 1;
                }
            }
            if queue.len() != queued {
                group.wait_queues.set_queued(wait_queue, queue.len());
            }
            !queue.is_empty()
        });
        self.wait_queues = wait_queues;
    }

    /// A connection leaves a queue of requeued commands; whether it is driven now. It may have been driven since,
    /// because it was killed or its timeout expired, or it may be gone.
    fn end_of_queue(&mut self, slot: usize) -> bool {
        let Slot::Here(connection) = &mut self.slots[slot] else { return false };
        let goes_on = connection.end_of_queue();
        if goes_on {
            self.ready_first.push_back(slot);
        }
        goes_on
    }

    /// Everything between two rounds of commands: answers that may leave now, new events, the log, timeouts.
    pub(super) fn poll_round(&mut self, group: &Group, scratch: &mut Scratch) {
        self.release(group, scratch);
        self.run_requeued(group);
        // Others may have sent something while the last round ran; only if not is there time to flush the log.
        let timeout = if !self.nobody_is_ready() || !self.waiting.is_empty() || self.swept.is_some() {
            Duration::ZERO
        } else {
            self.next_sweep.saturating_duration_since(self.now)
        };
        self.poll(timeout, group, scratch);
        if self.waiting.is_empty() {
            self.gathering = None;
        } else if self.nobody_is_ready() {
            self.flush_log(group, scratch);
        } else if !self.gathers() {
            // Never idle: the log's thread flushes beside us.
            self.ask_for_sync(group);
        }
        self.note_load(group);
        if self.swept.is_some() || self.now >= self.next_sweep {
            self.sweep(group);
        }
    }

    pub(super) fn check_out(&mut self, slot: usize) -> Option<Box<Connection>> {
        let place = self.slots.get_mut(slot)?;
        match std::mem::replace(place, Slot::Free) {
            Slot::Here(connection) => {
                *place = Slot::Away(Arc::clone(&connection.control));
                self.driven = slot;
                self.has_hung_up = connection.has_hung_up();
                Some(connection)
            }
            other => {
                *place = other;
                None
            }
        }
    }

    /// The connection that is driven continues without the reactor, which is about to be handed over. Returns its
    /// control.
    pub(super) fn leave_running(&mut self) -> Option<Arc<ConnectionControl>> {
        let slot = self.driven;
        let Some(Slot::Away(control)) = self.slots.get(slot) else { return None };
        let control = Arc::clone(control);
        if std::mem::take(&mut self.has_hung_up) {
            self.disconnected.push(Disconnected { slot, control: Arc::clone(&control) });
        }
        Some(control)
    }

    /// Whether the command of the connection that is driven has been asked to end.
    pub(super) fn is_cancelled(&self) -> bool {
        matches!(self.slots.get(self.driven), Some(Slot::Away(control)) if control.is_killed())
    }

    /// Nobody will read what is computed for clients that are gone: ends their commands.
    fn end_hung_up(&mut self) {
        for Disconnected { slot, control } in std::mem::take(&mut self.disconnected) {
            let still_runs = match self.slots.get(slot) {
                Some(Slot::Away(running)) => Arc::ptr_eq(running, &control),
                Some(Slot::Here(connection)) => {
                    connection.is_requeued() && Arc::ptr_eq(&connection.control, &control)
                }
                _ => false,
            };
            if still_runs {
                control.kill(Kill::Connection);
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

    pub(super) fn check_in(
        &mut self,
        slot: usize,
        mut connection: Box<Connection>,
        mut next: Next,
        group: &Group,
    ) {
        if next != Next::Closed && self.watch(slot, &mut connection).is_err() {
            // No later event would let it continue.
            connection.shut(&group.shared);
            next = Next::Closed;
        }
        self.deadlines.set(slot, self.now, connection.seconds_to_deadline(self.now));
        match next {
            Next::Closed => {
                debug_assert!(connection.is_closed());
                drop(connection); // Closes the socket, which takes it out of the poller.
                self.empty(slot);
                group.connection_count.fetch_sub(1, Ordering::Relaxed);
                group.shared.connection_closed();
            }
            Next::Leaves => {
                if connection.io.stream.source().deregister(self.poll.registry()).is_err() {
                    connection.shut(&group.shared);
                    group.shared.connection_closed();
                } else {
                    connection.leave(&group.shared);
                }
                self.empty(slot);
                group.connection_count.fetch_sub(1, Ordering::Relaxed);
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
            Next::Requeued => {
                if connection.joins_queue() {
                    self.queue(slot, &connection, group);
                }
                self.slots[slot] = Slot::Here(connection);
            }
        }
    }

    /// A connection whose command was requeued waits to be retried.
    fn queue(&mut self, slot: usize, connection: &Connection, group: &Group) {
        if let Some(wait_queue) = connection.wait_queue() {
            let queue = self.wait_queues.entry(wait_queue).or_default();
            queue.push_back(slot);
            group.wait_queues.set_queued(wait_queue, queue.len());
        } else {
            self.requeued[usize::from(!connection.is_urgent())].push_back(slot);
            group.requeued.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Lets answers leave for which the log is durable.
    fn release(&mut self, group: &Group, scratch: &mut Scratch) {
        if self.waiting.is_empty() {
            return;
        }
        let shared = &group.shared;
        let durable = shared.service.durable_position();
        let failure = if self.positions().any(|position| position > durable) {
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
            match self.destination(&mut connection, next, group) {
                Some(to) => self.give(slot, connection, group, &to),
                None => self.check_in(slot, connection, next, group),
            }
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

    /// What the answers wait for.
    fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.waiting.iter().map(|&(position, _)| position)
    }

    fn note_sync_time(&mut self, time: Duration) {
        self.sync_time = if self.sync_time.is_zero() { time } else { (self.sync_time * 7 + time) / 8 };
    }

    /// Whether answers that wait for the log should wait for more to share their flush with: as long as each round of
    /// commands brings more of them, and no longer than flushes take.
    fn gathers(&mut self) -> bool {
        let waiting = self.waiting.len();
        let Some((since, before)) = self.gathering else {
            self.gathering = Some((self.now, waiting));
            return true;
        };
        self.gathering = Some((since, waiting));
        waiting > before && self.now.saturating_duration_since(since) < self.sync_time
    }

    /// Nothing to do but to wait for the log: flushes it here, or leaves that to others and polls until it moved.
    fn flush_log(&mut self, group: &Group, scratch: &mut Scratch) {
        let service = &group.shared.service;
        let Some(last) = self.positions().max() else { return };
        let all_wait = self.waiting.len() >= group.connection_count.load(Ordering::Relaxed);
        self.gathering = None;
        let mut is_done = false;
        if all_wait || self.sync_time <= INLINE_SYNC_MAX {
            let started = Instant::now();
            // A failure is found by `release`, which tells every client that waits.
            is_done = service.try_sync_inline(last).unwrap_or(true);
            if is_done {
                self.note_sync_time(started.elapsed());
            } else {
                // Another thread is at it. Asked again, now that its end would wake us.
                group.wants_durable.store(true, Ordering::SeqCst);
                is_done = service.try_sync_inline(last).unwrap_or(true);
            }
        } else {
            self.ask_for_sync(group);
        }
        // If some of them are durable already, the flush that was requested may have been theirs: then request one
        // again first.
        let first = self.positions().min().unwrap_or(last);
        if !is_done && service.durable_position() < first && service.log_failure().is_none() {
            self.poll(self.next_sweep.saturating_duration_since(self.now), group, scratch);
        }
        self.release(group, scratch);
    }

    /// Lets the log's thread flush for all who wait here, unless it is at it already.
    fn ask_for_sync(&mut self, group: &Group) {
        let Some(last) = self.positions().max() else { return };
        group.wants_durable.store(true, Ordering::SeqCst);
        if self.sync_asked.is_none() {
            self.sync_asked = Some((last, Instant::now()));
            group.shared.service.request_sync(last);
        }
    }

    /// Reports to the placement what this group uses of a CPU.
    fn note_load(&mut self, group: &Group) {
        let wall = self.now.saturating_duration_since(self.load_noted.0);
        if wall < LOAD_INTERVAL || !group.shared.placement.asks_load_of(group.index) {
            return;
        }
        let (_, thread, before) = self.load_noted;
        let cpu = thread_cpu_time();
        let this_thread = std::thread::current().id();
        // A period in which the reactor changed threads measures nothing.
        if thread == Some(this_thread) {
            let count = group.connection_count.load(Ordering::Relaxed);
            group.shared.placement.note_load(cpu.saturating_sub(before), wall, count);
        }
        self.load_noted = (self.now, Some(this_thread), cpu);
    }

    /// The group that a connection should move to, whose commit was just answered.
    fn destination(&self, connection: &mut Connection, next: Next, group: &Group) -> Option<Arc<Group>> {
        if next != Next::Socket || connection.io.has_unsent() || group.shared.is_stopping() {
            return None;
        }
        match group.shared.placement.after_commit(group.index, &mut connection.commit_heuristic, self.now) {
            Move::Stay => None,
            Move::ToCommitters => group.shared.group(COMMITTERS)?.upgrade(),
            Move::ToEmptiest => group.shared.emptiest_group(Some(group.index)),
        }
    }

    /// Gives a connection to another group; it is registered there when that one wakes.
    fn give(&mut self, slot: usize, mut connection: Box<Connection>, from: &Group, to: &Group) {
        if connection.io.stream.source().deregister(self.poll.registry()).is_err() {
            // Then it stays: still registered, or as good as closed, which the next command shows.
            self.check_in(slot, connection, Next::Socket, from);
            return;
        }
        self.empty(slot);
        from.connection_count.fetch_sub(1, Ordering::Relaxed);
        to.connection_count.fetch_add(1, Ordering::Relaxed);
        lock(&to.moved).push(connection);
        to.wake();
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
        if !self.events.is_empty() {
            group.shared.watchdog.note_commands();
        }
        let mut woken = false;
        let mut accept = std::mem::take(&mut self.accept_again);
        for event in &self.events {
            match event.token() {
                WAKE => woken = true,
                Token(token) if token >= FIRST_LISTENER => accept = true,
                Token(slot) => {
                    let mut is_urgent = false;
                    match self.slots.get_mut(slot) {
                        Some(Slot::Here(connection)) => {
                            if event.is_read_closed() {
                                connection.note_disconnect();
                                if connection.is_requeued() {
                                    let control = Arc::clone(&connection.control);
                                    self.disconnected.push(Disconnected { slot, control });
                                }
                            }
                            is_urgent = connection.is_urgent();
                        }
                        Some(Slot::Away(control)) if event.is_read_closed() => {
                            self.disconnected.push(Disconnected { slot, control: Arc::clone(control) });
                        }
                        _ => {}
                    }
                    if is_urgent {
                        self.ready_first.push_back(slot);
                    } else {
                        self.ready.push_back(slot);
                    }
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
        let woken = std::mem::take(&mut *lock(&group.woken));
        let limits = group.shared.service.limits();
        for slot in woken {
            self.sweep_slot(slot, &limits);
        }
        let moved = std::mem::take(&mut *lock(&group.moved));
        for connection in moved {
            self.adopt(connection, group);
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
                        // With one place left, for an administrator, it is known only after the handshake who may have it.
                        if shared.is_full() {
                            shared.service.note(ConnectionEvent::RefusedTooMany);
                            shared.service.note(ConnectionEvent::Closed);
                            Connection::refuse(stream);
                            continue;
                        }
                        let Some(group) = shared.emptiest_group(None) else { return };
                        shared.connection_opened();
                        group.connection_count.fetch_add(1, Ordering::Relaxed);
                        lock(&group.arrivals).push((stream, peer));
                        group.wake();
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => {
                        // Out of descriptors, or the client left already: try again soon.
                        shared.unauthenticated.close_oldest();
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
        let slot = self.free_slot();
        let control = Arc::new(ConnectionControl::new(shared.next_connection_id(), peer));
        let mut connection =
            Box::new(Connection::open(stream, Arc::clone(&control), shared, scratch, self.now));
        let registered =
            connection.io.stream.source().register(self.poll.registry(), Token(slot), Interest::READABLE);
        if registered.is_err() {
            connection.shut(shared);
        }
        let location = Arc::clone(&connection.location);
        location.set(group.as_waker(), slot);
        control.set_server_wake(Box::new(move || location.wake_connection()));
        let next = if connection.is_closed() { Next::Closed } else { Next::Socket };
        self.check_in(slot, connection, next, group);
        if next != Next::Closed {
            shared.unauthenticated.add(&control);
        }
    }

    /// Takes in a connection that another group gave.
    fn adopt(&mut self, mut connection: Box<Connection>, group: &Group) {
        let slot = self.free_slot();
        connection.location.set(group.as_waker(), slot);
        connection.io.watches_room = false;
        let source = connection.io.stream.source();
        if source.register(self.poll.registry(), Token(slot), Interest::READABLE).is_err() {
            connection.shut(&group.shared);
        }
        let next = if connection.is_closed() { Next::Closed } else { Next::Socket };
        self.check_in(slot, connection, next, group);
        // A kill that came while the connection moved went to the old location.
        self.sweep_slot(slot, &group.shared.service.limits());
    }

    fn free_slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Free);
            self.slots.len() - 1
        })
    }

    fn empty(&mut self, slot: usize) {
        self.slots[slot] = Slot::Free;
        self.free.push(slot);
        self.deadlines.clear(slot);
    }

    fn sweep(&mut self, group: &Group) {
        let limits = group.shared.service.limits();
        let from = self.swept.unwrap_or_else(|| {
            self.next_sweep = self.now + SWEEP_INTERVAL;
            group.apply_limits(&limits);
            self.end_hung_up();
            0
        });
        let mut left = from..self.slots.len();
        for _ in 0..CHECKS_PER_POLL {
            let Some(slot) = self.deadlines.first_due(left.clone(), self.now) else {
                self.swept = None;
                return;
            };
            self.sweep_slot(slot, &limits);
            left.start = slot + 1;
        }
        self.swept = Some(left.start);
    }

    fn sweep_slot(&mut self, slot: usize, limits: &service::Limits) {
        let Some(Slot::Here(connection)) = self.slots.get_mut(slot) else { return };
        if connection.sweep(self.now, limits) {
            self.ready.push_back(slot);
        }
        if let Some(at) = connection.delayed_until() {
            self.next_sweep = self.next_sweep.min(at.max(self.now));
        }
        self.deadlines.set(slot, self.now, connection.seconds_to_deadline(self.now));
    }
}

/// CPU time of the calling thread.
fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}
