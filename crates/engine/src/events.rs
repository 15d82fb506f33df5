//! The event scheduler: runs events when they are due.
//!
//! ```text
//! EventQueue   which events will run, and when next; a function of definitions and clock alone
//! one thread   waits until the first one is due, or until something is said to have changed ([`session::event_scheduler`])
//! due          its definition follows (last time: disabled, dropped at the end), then a thread of its own runs it in a session of its own
//! ```
//!
//! An event that is still running when it is due again runs a second time beside that, as in MySQL. In a world without threads nothing runs by itself;
//! [`Scheduler::run_due`] does then what the thread does.
//!
//! Invariants:
//! 1. At most [`EVENTS_RUNNING_MAX`] events run at once; what is due meanwhile waits, and runs once however often it was due.
//! 2. When [`Scheduler::stop`] has returned no event begins any more; those in run were killed, and waited for up to [`EVENTS_STOP_WAIT`].

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};
use std::time::Duration;

use access::MetadataWait;
use catalog::{EventDefinition, EventId, EventSchedule, EventStatus, Events};
use env::threads::Thread;
use hashbrown::HashMap;
use parking_lot::{Condvar, Mutex};
use service::{ConnectionControl, Kill, Outcome};
use session::Server;
use session::backend::Definitions as _;
use session::core::Core;
use session::event_scheduler::SchedulerState;
use session::variables::definition::known;

use crate::backup_lock::ChangeUnderWay;
use crate::local::LocalBackend;

/// Events that run at once.
pub(crate) const EVENTS_RUNNING_MAX: usize = 64;
/// How long a server that ends waits for events that it has killed.
const EVENTS_STOP_WAIT: Duration = Duration::from_secs(10);
/// The longest wait without a look at the clock, which may be set.
const LOOK_MAX: Duration = Duration::from_secs(60);
/// Until what could not begin is tried again.
const REST: Duration = Duration::from_secs(1);
/// Connection numbers of events come from the end of all, so that they meet none of a client's.
const CONNECTION_FIRST: u64 = u32::MAX as u64 - 1;
/// How many there are of them.
const CONNECTIONS: u64 = 1 << 20;

/// Which events will run, and when next.
#[derive(Debug, Default)]
struct EventQueue {
    waiting: HashMap<EventId, (Arc<EventDefinition>, i64)>,
    /// When definitions were followed last.
    followed_micros: Option<i64>,
}

impl EventQueue {
    /// Follows the definitions: events begin to wait as of `now`, or of when they were made or changed if that was since the last time.
    fn follow(&mut self, events: &Events, now: i64) {
        self.waiting.retain(|id, (known, _)| {
            events
                .get(&known.schema, &known.name)
                .is_some_and(|event| event.id == *id && Arc::ptr_eq(event, known))
        });
        for event in events.iter().filter(|event| event.status == EventStatus::Enabled) {
            if !self.waiting.contains_key(&event.id)
                && let Some(next) = first_time(event, self.followed_micros, now)
            {
                self.waiting.insert(event.id, (Arc::clone(event), next));
            }
        }
        self.followed_micros = Some(now);
    }

    /// When the next one is due.
    fn next(&self) -> Option<i64> {
        self.waiting.values().map(|(_, next)| *next).min()
    }

    /// Those that are due, the earliest first, at most `room`; each waits for its next time, the first after `now`.
    fn take_due(&mut self, now: i64, room: usize) -> Vec<Due> {
        let mut due: Vec<(i64, EventId)> = self
            .waiting
            .iter()
            .filter(|(_, (_, next))| *next <= now)
            .map(|(id, (_, next))| (*next, *id))
            .collect();
        due.sort_unstable();
        due.truncate(room);
        let mut taken = Vec::with_capacity(due.len());
        for (_, id) in due {
            let Some((event, _)) = self.waiting.remove(&id) else { continue };
            let next = match event.schedule {
                EventSchedule::At(_) => None,
                EventSchedule::Every { .. } => event.next_micros(now),
            };
            if let Some(next) = next {
                self.waiting.insert(id, (Arc::clone(&event), next));
            }
            taken.push(Due { event, is_last: next.is_none() });
        }
        taken
    }
}

/// When an event that begins to wait runs first: a recurring one that starts in the second in which it was made has not yet.
fn first_time(event: &EventDefinition, followed: Option<i64>, now: i64) -> Option<i64> {
    let is_newer = followed.is_some_and(|followed| event.modified_micros > followed);
    let since = if is_newer { event.modified_micros.min(now) } else { now };
    let starts_now = match event.schedule {
        EventSchedule::Every { starts_micros, .. } => {
            starts_micros <= since
                && starts_micros >= since - since.rem_euclid(1_000_000)
                && event.executed.micros().is_none_or(|executed| executed < starts_micros)
        }
        EventSchedule::At(_) => false,
    };
    if starts_now { Some(since) } else { event.next_micros(since) }
}

/// An event that is due.
#[derive(Debug)]
struct Due {
    event: Arc<EventDefinition>,
    /// It does not run again.
    is_last: bool,
}

/// Events in run.
#[derive(Debug, Default)]
struct Running {
    controls: HashMap<u64, Arc<ConnectionControl>>,
    next_connection: u64,
    is_stopped: bool,
}

/// Runs events: what the thread and those of its executions share.
#[derive(Debug)]
pub(crate) struct EventRunner {
    server: Server<LocalBackend>,
    queue: Mutex<EventQueue>,
    running: Mutex<Running>,
    ended: Condvar,
}

impl EventRunner {
    fn core(&self) -> &Core {
        &self.server.core
    }

    /// Whether `event_scheduler` is on.
    fn is_on(&self) -> bool {
        self.core().globals().text(known::event_scheduler()).eq_ignore_ascii_case("ON")
    }

    /// Whether definitions may change now, for as long as the answer is held: nobody has locked the instance, or all tables for reading.
    fn change(&self) -> Option<ChangeUnderWay<'_>> {
        let at_once = MetadataWait { time: Duration::ZERO, killed: &|| false, may_requeue: false };
        let changing = AtomicBool::new(false);
        self.core().read_lock.enter(&changing, true, at_once).ok()?;
        self.core().read_lock.leave(&changing);
        self.server.backend.begin_change(at_once).ok()
    }

    /// Notes the beginning of an execution; the last one leaves the event disabled.
    fn begin(&self, due: &Due, now: i64) -> Outcome {
        self.server.backend.note_event_executed(&due.event, now - now.rem_euclid(1_000_000))?;
        if due.is_last {
            self.server.backend.change_events(|events, _| {
                if let Some(found) = events.by_id(due.event.id).map(Arc::clone) {
                    let mut event = EventDefinition::clone(&found);
                    event.status = EventStatus::Disabled;
                    events.insert(Arc::new(event));
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Runs an execution to its end.
    fn run(&self, due: &Due, control: &Arc<ConnectionControl>) {
        let is_dropped = due.is_last && !due.event.preserve;
        let began = catch_unwind(AssertUnwindSafe(|| {
            session::run_event(self.server.clone(), &due.event, is_dropped, Arc::clone(control))
        }));
        // What a panic has left of the session went with it, and is in the error log.
        if is_dropped && began.unwrap_or(false) {
            self.drop_ended(&due.event);
        }
    }

    /// Drops an event that has run for the last time, unless it has been changed meanwhile.
    fn drop_ended(&self, event: &EventDefinition) {
        let _under_way = loop {
            if let Some(change) = self.change() {
                break change;
            }
            let mut running = self.running.lock();
            if running.is_stopped {
                return;
            }
            self.ended.wait_for(&mut running, REST);
        };
        let dropped = self.server.backend.change_events(|events, _| {
            let found = events.by_id(event.id).map(Arc::clone);
            let ended = found
                .filter(|found| found.status == EventStatus::Disabled && found.schedule == event.schedule);
            Ok(ended.is_some_and(|found| events.remove(&found).is_some()))
        });
        if let Err(error) = dropped {
            self.write(event, &error.message);
        }
    }

    fn write(&self, event: &EventDefinition, message: &str) {
        let (user, host) = &event.definer;
        let text = format!("Event Scheduler: [{user}@{host}][{}.{}] {message}", event.schema, event.name);
        session::error_log::error(&self.core().env, &text);
    }

    /// How many more may run now.
    fn room(&self) -> usize {
        EVENTS_RUNNING_MAX.saturating_sub(self.running.lock().controls.len())
    }

    /// A control for an execution; `None` once stopped.
    fn enter(&self) -> Option<Arc<ConnectionControl>> {
        let mut running = self.running.lock();
        if running.is_stopped {
            return None;
        }
        let id = CONNECTION_FIRST - running.next_connection % CONNECTIONS;
        running.next_connection += 1;
        let control = Arc::new(ConnectionControl::new(id, None));
        running.controls.insert(id, Arc::clone(&control));
        Some(control)
    }

    fn leave(&self, control: &ConnectionControl) {
        self.running.lock().controls.remove(&control.connection_id);
        self.ended.notify_all();
        // There is room for the next.
        self.core().event_scheduler.notify();
    }

    /// Follows the definitions; answers what is due now, and when the next one is.
    fn take_due(&self, now: i64) -> (Vec<Due>, Option<i64>) {
        let room = self.room();
        let mut queue = self.queue.lock();
        queue.follow(&self.core().catalog().load().events, now);
        let due = queue.take_due(now, room);
        (due, queue.next())
    }
}

/// The thread. It ends with the server.
#[derive(Debug, Default)]
pub(crate) struct Scheduler {
    runner: Mutex<Option<Arc<EventRunner>>>,
    thread: Mutex<Option<Thread>>,
}

impl Scheduler {
    /// Starts the thread. In a world without threads no event runs by itself.
    pub(crate) fn start(&self, server: Server<LocalBackend>) {
        if server.core.globals().text(known::event_scheduler()).eq_ignore_ascii_case("DISABLED") {
            return;
        }
        let env = server.core.env.clone();
        let runner = Arc::new(EventRunner {
            server,
            queue: Mutex::default(),
            running: Mutex::default(),
            ended: Condvar::new(),
        });
        let weak = Arc::downgrade(&runner);
        let core = Arc::clone(&runner.server.core);
        *self.runner.lock() = Some(runner);
        match env.threads.spawn("events", Box::new(move || schedule(&core, &weak))) {
            Ok(thread) => *self.thread.lock() = Some(thread),
            Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {}
            Err(error) => {
                session::error_log::error(
                    &env,
                    &format!("Event Scheduler: no events run, no thread: {error}"),
                );
            }
        }
    }

    /// Runs what is due, one after the other in the caller's thread. Answers how many events ran.
    pub(crate) fn run_due(&self) -> usize {
        let Some(runner) = self.runner.lock().clone() else { return 0 };
        if !runner.is_on() {
            return 0;
        }
        let Some(_under_way) = runner.change() else { return 0 };
        let now = runner.core().env.clock.wall_micros();
        let mut count = 0;
        for due in runner.take_due(now).0 {
            let Some(control) = runner.enter() else { break };
            match runner.begin(&due, now) {
                Ok(()) => runner.run(&due, &control),
                Err(error) => runner.write(&due.event, &error.message),
            }
            runner.leave(&control);
            count += 1;
        }
        count
    }

    /// Ends the thread and the events in run.
    pub(crate) fn stop(&self) {
        let Some(runner) = self.runner.lock().take() else { return };
        runner.running.lock().is_stopped = true;
        runner.core().event_scheduler.notify();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there was reported by the panic hook.
            let _ended_well = thread.join();
        }
        let mut running = runner.running.lock();
        running.controls.values().for_each(|control| control.kill(Kill::Connection));
        let clock = &runner.server.core.env.clock;
        let end = clock.now().after(EVENTS_STOP_WAIT);
        while !running.controls.is_empty() {
            let left = end.since(clock.now());
            if left.is_zero() {
                break;
            }
            runner.ended.wait_for(&mut running, left);
        }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The thread's work, until the server is closed.
fn schedule(core: &Arc<Core>, runner: &Weak<EventRunner>) {
    let mut seen = 0;
    let mut wait = Duration::ZERO;
    loop {
        if !wait.is_zero() {
            seen = core.event_scheduler.wait(seen, wait);
        }
        wait = LOOK_MAX;
        let Some(runner) = runner.upgrade() else { return };
        if runner.running.lock().is_stopped {
            return;
        }
        let now = core.env.clock.wall_micros();
        if !runner.is_on() {
            *runner.queue.lock() = EventQueue::default();
            core.event_scheduler.show(SchedulerState::Off, now);
            continue;
        }
        let Some(under_way) = runner.change() else {
            wait = REST;
            continue;
        };
        let (all_due, next) = runner.take_due(now);
        all_due.into_iter().for_each(|due| start(&runner, due, now));
        drop(under_way);
        let state = if next.is_some() { SchedulerState::Waiting } else { SchedulerState::Empty };
        core.event_scheduler.show(state, now);
        if let Some(next) = next {
            let until = Duration::from_micros(u64::try_from(next - now).unwrap_or(0));
            // One that is due has no room: whoever ends says so.
            wait = if until.is_zero() { REST } else { until.min(LOOK_MAX) };
        }
    }
}

/// Begins an execution, in a thread of its own.
fn start(runner: &Arc<EventRunner>, due: Due, now: i64) {
    let Some(control) = runner.enter() else { return };
    if let Err(error) = runner.begin(&due, now) {
        runner.write(&due.event, &error.message);
        // What could not begin, for want of space say, is tried again at the next look at the clock.
        runner.running.lock().controls.remove(&control.connection_id);
        return;
    }
    let event = Arc::clone(&due.event);
    let own = Arc::clone(runner);
    let given = Arc::clone(&control);
    let work = move || {
        own.run(&due, &given);
        own.leave(&given);
    };
    if let Err(error) = runner.core().env.threads.spawn("event", Box::new(work)) {
        runner.write(&event, &format!("no thread: {error}"));
        runner.leave(&control);
    }
}
