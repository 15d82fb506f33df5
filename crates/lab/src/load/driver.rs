//! One thread of the client: its connections, in a closed or an open loop.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};

use crate::data::random::Random;
use crate::load::connection::{LoadConnection, OperationCounts, Progress};
use crate::load::histogram::{BySecond, Latencies};
use crate::load::plan::Plan;
use crate::load::schedule::Schedule;
use crate::load::{LoadError, SILENCE_MAX};
use crate::scenario::{Arrivals, Mode};

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
const TIMER: Token = Token(usize::MAX);

/// What a thread of the client does in one measured stretch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) mode: Mode,
    /// No operation begins after this.
    pub(crate) duration: Duration,
    /// Nor after this many, of all connections of the thread together.
    pub(crate) operations_max: u64,
    /// Seed of the schedule.
    pub(crate) seed: u64,
}

/// What a thread saw.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) operations: u64,
    pub(crate) latency: Latencies,
    /// As `latency`, where each operation has a time when it is due.
    pub(crate) by_second: BySecond,
    pub(crate) service: Latencies,
    pub(crate) lag: Latencies,
    pub(crate) arrivals: u64,
    pub(crate) skips: u64,
    pub(crate) counts: OperationCounts,
    /// CPU of this thread.
    pub(crate) cpu_ns: u64,
    /// How long it was ready to run and had no core; 0 where the kernel does not say.
    pub(crate) run_queue_ns: u64,
    /// From the first operation to the end of the last.
    pub(crate) wall_ns: u64,
    /// CPU of the busiest thread, and `serial` numbers used, where a real driver's process counts them.
    pub(crate) busiest_ns: u64,
    pub(crate) serials: u64,
}

/// A thread's connections.
#[derive(Debug)]
pub(crate) struct Driver<'a> {
    pub(crate) connections: Vec<LoadConnection>,
    pub(crate) plan: &'a Plan,
    /// Numbers of `serial` parameters.
    pub(crate) serial: &'a AtomicU64,
}

/// CPU time of this thread, nanoseconds.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long this thread was ready to run and had no core, nanoseconds (`/proc/PID/schedstat`, second number).
fn thread_run_queue_ns() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split(' ').nth(1)?.parse().ok()
}

impl Driver<'_> {
    /// Runs a stretch. Server errors are counted; what breaks a connection ends it.
    pub(crate) fn run(&mut self, task: Task) -> Result<Seen, LoadError> {
        let run_queue_before = thread_run_queue_ns();
        let cpu_before = thread_cpu_ns();
        let mut run = Run {
            driver: self,
            task,
            origin: Instant::now(),
            seen: Seen::default(),
            end_ns: u64::try_from(task.duration.as_nanos()).unwrap_or(u64::MAX),
            issued: 0,
        };
        match task.mode {
            Mode::Closed if run.driver.connections.len() == 1 => run.one_by_one()?,
            // Where it is paced each connection has a thread of its own.
            Mode::Paced { interval_ns } => run.paced(interval_ns.max(1))?,
            Mode::Closed => run.closed()?,
            Mode::Open { rate_per_s, arrivals, in_flight_max } => {
                run.open(rate_per_s, arrivals, in_flight_max as usize)?;
            }
        }
        let wall_ns = run.now_ns();
        let mut seen = run.seen;
        seen.wall_ns = wall_ns;
        seen.cpu_ns = thread_cpu_ns() - cpu_before;
        seen.run_queue_ns = thread_run_queue_ns()
            .zip(run_queue_before)
            .map_or(0, |(after, before)| after.saturating_sub(before));
        Ok(seen)
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

struct Run<'d, 'a> {
    driver: &'d mut Driver<'a>,
    task: Task,
    origin: Instant,
    seen: Seen,
    end_ns: u64,
    issued: u64,
}

impl Run<'_, '_> {
    #[inline]
    fn now_ns(&self) -> u64 {
        ns(self.origin.elapsed())
    }

    #[inline]
    fn may_begin(&self, now_ns: u64) -> bool {
        now_ns < self.end_ns && self.issued < self.task.operations_max
    }

    #[inline]
    fn begin(&mut self, index: usize, intended_ns: u64, now_ns: u64) -> Result<(), LoadError> {
        self.issued += 1;
        let Driver { connections, plan, serial } = &mut *self.driver;
        connections[index].begin(plan, serial, &mut self.seen.counts, intended_ns, now_ns)
    }

    #[inline]
    fn receive(&mut self, index: usize) -> Result<Progress, LoadError> {
        let Driver { connections, plan, serial } = &mut *self.driver;
        connections[index].receive(plan, serial, &mut self.seen.counts)
    }

    /// A single connection waits for its server alone: a read that blocks costs less than asking first.
    fn one_by_one(&mut self) -> Result<(), LoadError> {
        self.driver.connections[0].set_blocking(true).map_err(|error| LoadError::lost(&error.to_string()))?;
        let mut now = self.now_ns();
        while self.may_begin(now) {
            self.begin(0, now, now)?;
            let progress = self.receive(0)?;
            let done = self.now_ns();
            if progress == Progress::Done {
                self.seen.operations += 1;
                self.seen.service.record(done - now);
            }
            now = done;
        }
        self.seen.latency = self.seen.service.clone();
        Ok(())
    }

    /// As one by one, but an operation begins at the next multiple of the interval that is not past.
    fn paced(&mut self, interval_ns: u64) -> Result<(), LoadError> {
        self.driver.connections[0].set_blocking(true).map_err(|error| LoadError::lost(&error.to_string()))?;
        let mut due = interval_ns;
        while self.may_begin(due) {
            self.seen.arrivals += 1;
            let mut now = self.now_ns();
            // Real drivers' clients sleep too: the core is as idle as theirs.
            while now < due {
                std::thread::sleep(Duration::from_nanos(due - now));
                now = self.now_ns();
            }
            self.seen.lag.record(now - due);
            self.begin(0, now, now)?;
            let progress = self.receive(0)?;
            let done = self.now_ns();
            if progress == Progress::Done {
                self.seen.operations += 1;
                self.seen.service.record(done - now);
            }
            let missed = done.saturating_sub(due) / interval_ns;
            self.seen.skips += missed;
            due += (missed + 1) * interval_ns;
        }
        self.seen.latency = self.seen.service.clone();
        Ok(())
    }

    /// Watches all connections. The stretch begins when they are: with ten thousand of them that takes as long as many operations.
    fn poll(&mut self) -> Result<Poll, LoadError> {
        let result = (|| {
            let poll = Poll::new()?;
            for (index, connection) in self.driver.connections.iter_mut().enumerate() {
                connection.set_blocking(false)?;
                // Whether it can be written is asked only while something waits to be: on a Unix socket every command the
                // server takes up would be an event else.
                connection.is_watched_for_room = false;
                let fd = connection.fd();
                poll.registry().register(&mut SourceFd(&fd), Token(index), Interest::READABLE)?;
            }
            Ok(poll)
        })();
        self.origin = Instant::now();
        result.map_err(|error: std::io::Error| LoadError::Local(format!("epoll: {error}")))
    }

    /// After something was sent: lets the kernel tell when there is room for what it did not take.
    #[inline]
    fn watch(&mut self, poll: &Poll, index: usize) -> Result<(), LoadError> {
        let connection = &mut self.driver.connections[index];
        let is_needed = connection.has_unsent();
        if is_needed == connection.is_watched_for_room {
            return Ok(());
        }
        connection.is_watched_for_room = is_needed;
        let interest = if is_needed { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        poll.registry()
            .reregister(&mut SourceFd(&connection.fd()), Token(index), interest)
            .map_err(|error| LoadError::Local(format!("epoll: {error}")))
    }

    fn wait(poll: &mut Poll, events: &mut Events) -> Result<(), LoadError> {
        match poll.poll(events, Some(SILENCE_MAX)) {
            Ok(()) if events.is_empty() => Err(LoadError::Silent),
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(LoadError::Local(format!("epoll: {error}"))),
        }
    }

    /// Sends and receives what a socket is ready for; how and when its operation ended, if it did.
    fn ended(&mut self, poll: &Poll, event: &Event) -> Result<Option<(Progress, u64)>, LoadError> {
        let index = event.token().0;
        if self.driver.connections[index].has_unsent() {
            self.driver.connections[index].flush()?;
            self.watch(poll, index)?;
        }
        if !event.is_readable() || !self.driver.connections[index].is_busy {
            return Ok(None);
        }
        let progress = self.receive(index)?;
        self.watch(poll, index)?;
        Ok((progress != Progress::Waiting).then(|| (progress, self.now_ns())))
    }

    fn closed(&mut self) -> Result<(), LoadError> {
        let mut poll = self.poll()?;
        let mut events = Events::with_capacity(EVENTS);
        let mut active = 0;
        for index in 0..self.driver.connections.len() {
            let now = self.now_ns();
            if self.may_begin(now) {
                self.begin(index, now, now)?;
                self.watch(&poll, index)?;
                active += 1;
            }
        }
        while active > 0 {
            Self::wait(&mut poll, &mut events)?;
            for event in &events {
                let index = event.token().0;
                let Some((progress, now)) = self.ended(&poll, event)? else { continue };
                if progress == Progress::Done {
                    self.seen.operations += 1;
                    self.seen.service.record(now - self.driver.connections[index].sent_ns);
                }
                if self.may_begin(now) {
                    self.begin(index, now, now)?;
                    self.watch(&poll, index)?;
                } else {
                    active -= 1;
                }
            }
        }
        self.seen.latency = self.seen.service.clone();
        Ok(())
    }

    fn open(&mut self, rate_per_s: f64, arrivals: Arrivals, in_flight_max: usize) -> Result<(), LoadError> {
        let timer_failed = |error: rustix::io::Errno| LoadError::Local(format!("timer: {error}"));
        let mut poll = self.poll()?;
        let mut events = Events::with_capacity(EVENTS);
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)
            .map_err(timer_failed)?;
        poll.registry()
            .register(&mut SourceFd(&timer.as_raw_fd()), TIMER, Interest::READABLE)
            .map_err(|error| LoadError::Local(format!("epoll: {error}")))?;
        let random = Random::new(self.task.seed, 0x0be7);
        let mut schedule = Schedule::new(arrivals, rate_per_s, self.end_ns, random)
            .take(usize::try_from(self.task.operations_max).unwrap_or(usize::MAX));
        let mut due = schedule.next();
        // The one that has been idle for longest is next: else the last few would do all the work, and the others sleep.
        let mut free: VecDeque<usize> = (0..self.driver.connections.len()).collect();
        let mut waiting: VecDeque<u64> = VecDeque::new();
        let all = free.len();
        loop {
            let now = self.now_ns();
            while let Some(intended) = due.filter(|&intended| intended <= now) {
                self.seen.arrivals += 1;
                self.seen.lag.record(now - intended);
                if let Some(index) = free.pop_front() {
                    self.begin(index, intended, self.now_ns())?;
                    self.watch(&poll, index)?;
                } else if all + waiting.len() < in_flight_max.max(all) {
                    waiting.push_back(intended);
                } else {
                    self.seen.skips += 1;
                }
                due = schedule.next();
            }
            if let Some(intended) = due {
                let now = self.now_ns();
                if intended <= now {
                    continue;
                }
                let wait = Duration::from_nanos(intended - now);
                let value =
                    Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
                let never = Timespec { tv_sec: 0, tv_nsec: 0 };
                timerfd_settime(
                    &timer,
                    TimerfdTimerFlags::empty(),
                    &Itimerspec { it_interval: never, it_value: value },
                )
                .map_err(timer_failed)?;
            } else if free.len() == all {
                return Ok(());
            }
            Self::wait(&mut poll, &mut events)?;
            for event in &events {
                if event.token() == TIMER {
                    continue;
                }
                let index = event.token().0;
                let Some((progress, now)) = self.ended(&poll, event)? else { continue };
                if progress == Progress::Done {
                    let connection = &self.driver.connections[index];
                    self.seen.operations += 1;
                    self.seen.latency.record(now - connection.intended_ns);
                    self.seen.by_second.record(connection.intended_ns, now - connection.intended_ns);
                    self.seen.service.record(now - connection.sent_ns);
                }
                match waiting.pop_front() {
                    Some(intended) => {
                        self.begin(index, intended, now)?;
                        self.watch(&poll, index)?;
                    }
                    None => free.push_back(index),
                }
            }
        }
    }
}
