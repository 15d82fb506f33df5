//! Memory of statements: what a thread has allocated since its command began, and the limits on that.
//!
//! A statement runs on one thread from beginning to end, so what it allocates is what its thread allocates: trees of the parser and the
//! planner, batches, hash tables, values of functions, answers not sent yet. The process's allocator is a [`Counting`] one, which adds up
//! in a thread-local; every [`STEP_BYTES`] the sum goes to the total of all statements and is compared with the limits. An allocation
//! cannot be refused. A statement beyond a limit is marked ([`exceeded`]), and ends at its next check: with every batch, every few hundred
//! steps of the parser and the planner, and before a large value is made ([`may_take`]).
//!
//! What a session keeps from one command to the next (user variables, prepared statements, cursors) is given to a [`MemoryCharge`], which counts
//! towards the connection and the server until it is dropped. All else that a command leaves behind (caches, undo, logs) has limits of its
//! own and is charged to the command only while it runs.
//!
//! Invariants:
//! 1. A command's charge is given back when its [`CommandGuard`] is dropped: the total is that of running commands and of every `MemoryCharge`.
//! 2. Where nobody has begun a command (background threads, tools, tests), nothing is charged and nothing is refused.
//! 3. A small allocation costs a few instructions and no shared memory.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// So much a thread allocates or frees before anybody looks at the limits.
pub const STEP_BYTES: usize = 64 << 10;
/// A session that has less is never ended for what all statements have together: small ones go on beside large ones.
pub(crate) const STATEMENT_BYTES_SPARED: u64 = 256 << 10;
/// What the allocator needs beside what it is asked for (size classes, what was freed and is not back at the system yet), as a part of it.
const OVERHEAD_PART: u64 = 8;
/// Minimum size of a block that is mapped by itself, in bytes.
pub(crate) const MAPPED_BYTES_MIN: usize = 1 << 20;
/// A page of memory is no smaller, so that mapped blocks are aligned to it.
const PAGE_BYTES: usize = 4096;
/// What a thread may keep of freed memory from one command to the next, by what its commands have had of small blocks.
const FREED_KEPT_BYTES_MAX: i64 = 16 << 20;
/// All threads together may keep this part of the limit of all statements.
const KEPT_PART: u64 = 32;
/// No limit.
pub const UNLIMITED: u64 = u64::MAX;

/// Which limit a statement has reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// That of one statement.
    Statement,
    /// That of all statements together.
    AllStatements,
    /// That of its connection (`connection_memory_limit`).
    Connection,
    /// That of all connections together (`global_connection_memory_limit`).
    AllConnections,
}

/// A limit that was reached.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Exceeded {
    /// Which.
    pub limit: Limit,
    /// Its bytes.
    pub limit_bytes: u64,
    /// What was used or asked for.
    pub used_bytes: u64,
}

/// The limits of a command; [`UNLIMITED`] where there is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// For the statement itself.
    pub statement: u64,
    /// For the statement and what its session holds.
    pub connection: u64,
    /// For all of them together, as far as it applies to this connection.
    pub all_connections: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Limits =
        Limits { statement: UNLIMITED, connection: UNLIMITED, all_connections: UNLIMITED };
}

/// Bytes of all running commands, in steps, and of every [`MemoryCharge`].
static TOTAL: AtomicI64 = AtomicI64::new(0);
/// The most that `TOTAL` has been.
static TOTAL_MAX: AtomicI64 = AtomicI64::new(0);
/// The limit on `TOTAL`.
static ALL_STATEMENTS_MAX: AtomicU64 = AtomicU64::new(UNLIMITED);

/// What threads may have kept of freed memory.
static KEPT: AtomicI64 = AtomicI64::new(0);
/// Gives what the calling thread's allocator keeps back to the system.
static RETURN_FREED: OnceLock<fn()> = OnceLock::new();

/// What a thread knows of the command that it runs.
struct Thread {
    /// Not charged yet.
    pending: Cell<i64>,
    /// Charged to the command, and to `TOTAL`.
    charged: Cell<i64>,
    /// In `TOTAL` for what [`may_take`] allowed and is not allocated yet.
    promised: Cell<i64>,
    is_running: Cell<bool>,
    /// What the session of the command holds.
    held: Cell<i64>,
    limits: Cell<Limits>,
    exceeded: Cell<Option<Exceeded>>,
    /// The most that was charged.
    most: Cell<i64>,
    /// Mapped blocks of the command.
    mapped: Cell<i64>,
    /// Counted in `KEPT` for this thread.
    kept: Cell<i64>,
}

thread_local! {
    static THREAD: Thread = const {
        Thread {
            pending: Cell::new(0),
            charged: Cell::new(0),
            promised: Cell::new(0),
            is_running: Cell::new(false),
            held: Cell::new(0),
            limits: Cell::new(Limits::NONE),
            exceeded: Cell::new(None),
            most: Cell::new(0),
            mapped: Cell::new(0),
            kept: Cell::new(0),
        }
    };
}

#[inline]
fn note(bytes: i64) {
    THREAD.with(|thread| {
        let pending = thread.pending.get().wrapping_add(bytes);
        thread.pending.set(pending);
        if pending.unsigned_abs() >= STEP_BYTES as u64 {
            thread.charge();
        }
    });
}

impl Thread {
    /// Charges what is pending and looks at the limits. Called by the allocator: it allocates nothing.
    #[cold]
    #[inline(never)]
    fn charge(&self) {
        let bytes = self.pending.replace(0);
        if !self.is_running.get() {
            return;
        }
        let charged = self.charged.get() + bytes;
        self.charged.set(charged);
        let kept_promise = bytes.clamp(0, self.promised.get());
        self.promised.set(self.promised.get() - kept_promise);
        let new = bytes - kept_promise;
        let total = TOTAL.fetch_add(new, Ordering::Relaxed) + new;
        if bytes > 0 {
            if charged > self.most.get() {
                self.most.set(charged);
            }
            let small = charged - self.mapped.get();
            if small > self.kept.get() {
                KEPT.fetch_add(small - self.kept.replace(small), Ordering::Relaxed);
            }
            if total > TOTAL_MAX.load(Ordering::Relaxed) {
                TOTAL_MAX.fetch_max(total, Ordering::Relaxed);
            }
            if self.exceeded.get().is_none() {
                self.exceeded.set(self.limit_reached(charged, total));
            }
        }
    }

    /// Gives freed memory back to the system, if there may be much.
    #[cold]
    fn return_freed(&self) {
        let all = u64::try_from(KEPT.load(Ordering::Relaxed)).unwrap_or(0);
        let is_much = self.kept.get() > FREED_KEPT_BYTES_MAX
            || all > ALL_STATEMENTS_MAX.load(Ordering::Relaxed) / KEPT_PART;
        if is_much && let Some(return_freed) = RETURN_FREED.get() {
            return_freed();
            KEPT.fetch_sub(self.kept.replace(0), Ordering::Relaxed);
        }
    }

    fn limit_reached(&self, charged: i64, total: i64) -> Option<Exceeded> {
        let bytes = |count: i64| u64::try_from(count).unwrap_or(0);
        let (own, session, all) = (bytes(charged), bytes(charged + self.held.get()), bytes(total));
        let limits = self.limits.get();
        let reached = |limit, limit_bytes, used_bytes| Some(Exceeded { limit, limit_bytes, used_bytes });
        if own > limits.statement {
            return reached(Limit::Statement, limits.statement, own);
        }
        if session > limits.connection {
            return reached(Limit::Connection, limits.connection, session);
        }
        if session <= STATEMENT_BYTES_SPARED {
            return None;
        }
        if all > limits.all_connections {
            return reached(Limit::AllConnections, limits.all_connections, all);
        }
        let most = ALL_STATEMENTS_MAX.load(Ordering::Relaxed);
        let all = all + all / OVERHEAD_PART;
        if all > most { reached(Limit::AllStatements, most, all) } else { None }
    }
}

/// An allocator that counts what each thread allocates.
#[derive(Debug, Default)]
pub struct Counting<A>(pub A);

/// Whether a block is mapped by itself: its layout says so when it is made and when it is freed.
#[inline]
fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MAPPED_BYTES_MIN && layout.align() <= PAGE_BYTES
}

#[cold]
fn note_mapped(bytes: i64) {
    THREAD.with(|thread| thread.mapped.set(thread.mapped.get() + bytes));
    note(bytes);
}

/// Maps a block of zeros; null if the system has none.
#[cold]
fn map(size: usize) -> *mut u8 {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    #[allow(unsafe_code, reason = "memory is mapped by a system call")]
    // SAFETY: the system chooses a place where nothing is.
    let mapped = unsafe {
        mmap_anonymous(std::ptr::null_mut(), size, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
    };
    match mapped {
        Ok(memory) => {
            note_mapped(size as i64);
            memory.cast()
        }
        Err(_) => std::ptr::null_mut(),
    }
}

#[allow(
    unsafe_code,
    reason = "an allocator is unsafe by its trait; what is not mapped goes to the one inside as it is"
)]
// SAFETY: a block comes from and goes to the inner allocator, or is mapped and unmapped, as its layout says; counting neither allocates nor
// unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counting<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        note(layout.size() as i64);
        // SAFETY: the caller's promises are the inner allocator's.
        unsafe { self.0.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            return map(layout.size());
        }
        note(layout.size() as i64);
        // SAFETY: as above.
        unsafe { self.0.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        if is_mapped(layout) {
            note_mapped(-(layout.size() as i64));
            // SAFETY: a block of this layout was mapped with this size. Unmapping fails only for addresses that were not.
            let _ = unsafe { rustix::mm::munmap(memory.cast(), layout.size()) };
            return;
        }
        note(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { self.0.dealloc(memory, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size is valid for the alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_mapped(layout), is_mapped(new_layout)) {
            (false, false) => {
                note(size as i64 - layout.size() as i64);
                // SAFETY: the caller's promises are the inner allocator's.
                unsafe { self.0.realloc(memory, layout, size) }
            }
            (true, true) => {
                let flags = rustix::mm::MremapFlags::MAYMOVE;
                // SAFETY: a block of this layout was mapped with this size, and the caller uses the old address no more.
                match unsafe { rustix::mm::mremap(memory.cast(), layout.size(), size, flags) } {
                    Ok(moved) => {
                        note_mapped(size as i64 - layout.size() as i64);
                        moved.cast()
                    }
                    Err(_) => std::ptr::null_mut(),
                }
            }
            _ => {
                // SAFETY: a layout that the caller may ask for.
                let new = unsafe { self.alloc(new_layout) };
                if !new.is_null() {
                    // SAFETY: both blocks are at least this long, and do not overlap. The old one has been given up by the caller.
                    unsafe {
                        std::ptr::copy_nonoverlapping(memory, new, layout.size().min(size));
                        self.dealloc(memory, layout);
                    }
                }
                new
            }
        }
    }
}

/// What gives the memory that the calling thread's allocator keeps back to the system. Called at the end of a command on a thread that may
/// keep much, or when all threads may.
pub fn set_return_freed(return_freed: fn()) {
    let _ = RETURN_FREED.set(return_freed); // The process has one allocator, and says it once.
}

/// From [`begin_command`] until dropped, the thread's allocations are charged.
#[derive(Debug)]
pub struct CommandGuard {
    is_outermost: bool,
    not_send: PhantomData<*const ()>,
}

/// A command begins on this thread, with no limit but that of all statements until [`set_limits`]. Inside another command nothing happens.
#[inline]
#[must_use = "the command ends when the guard is dropped"]
pub fn begin_command() -> CommandGuard {
    let is_outermost = THREAD.with(|thread| {
        let is_outermost = !thread.is_running.replace(true);
        if is_outermost {
            thread.pending.set(0);
            thread.charged.set(0);
            thread.most.set(0);
            thread.mapped.set(0);
            thread.limits.set(Limits::NONE);
            thread.held.set(0);
        }
        is_outermost
    });
    CommandGuard { is_outermost, not_send: PhantomData }
}

impl Drop for CommandGuard {
    #[inline]
    fn drop(&mut self) {
        if !self.is_outermost {
            return;
        }
        THREAD.with(|thread| {
            thread.is_running.set(false);
            let charged = thread.charged.get() + thread.promised.replace(0);
            if charged != 0 {
                TOTAL.fetch_sub(charged, Ordering::Relaxed);
            }
            thread.exceeded.set(None);
            if thread.kept.get() > 0 {
                thread.return_freed();
            }
        });
    }
}

/// The calling thread ends: its allocator gives back what it keeps.
pub fn end_thread() {
    THREAD.with(|thread| KEPT.fetch_sub(thread.kept.replace(0), Ordering::Relaxed));
}

/// The limits of the command that runs, and what its session holds.
#[inline]
pub fn set_limits(limits: Limits, held_bytes: u64) {
    THREAD.with(|thread| {
        thread.limits.set(limits);
        thread.held.set(held_bytes as i64);
    });
}

/// The limit of all statements together.
pub fn set_all_statements_max(bytes: u64) {
    ALL_STATEMENTS_MAX.store(bytes, Ordering::Relaxed);
}

/// The limit of all statements together.
#[must_use]
pub fn all_statements_max() -> u64 {
    ALL_STATEMENTS_MAX.load(Ordering::Relaxed)
}

/// The limit that the running command has reached, if any.
#[inline]
#[must_use]
pub fn exceeded() -> Option<Exceeded> {
    THREAD.with(|thread| thread.exceeded.get())
}

/// Whether the running command may allocate `bytes` more; if not, it is marked as over its limit. To be asked before a large value is made.
/// They count for all statements from now on, so that of several who ask at once not each gets what is left; what is not allocated is
/// given back when the next value is asked for.
#[must_use]
pub fn may_take(bytes: usize) -> bool {
    THREAD.with(|thread| {
        if !thread.is_running.get() {
            return true;
        }
        let before = thread.promised.replace(0);
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 4);
        let pending = thread.pending.get();
        let own = thread.charged.get() + pending + bytes;
        // What is refused never stands in the total: others are judged by it.
        let mut reached = thread.exceeded.get();
        let added = TOTAL.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |total| {
            let after = total - before + bytes;
            reached = thread.exceeded.get().or_else(|| thread.limit_reached(own, after + pending));
            reached.is_none().then_some(after)
        });
        thread.exceeded.set(reached);
        if added.is_ok() {
            thread.promised.set(bytes);
        } else {
            TOTAL.fetch_sub(before, Ordering::Relaxed);
        }
        added.is_ok()
    })
}

/// Whether the running command may allocate `bytes` more. Nothing is promised: to be asked by what can do without.
#[must_use]
pub fn would_fit(bytes: usize) -> bool {
    THREAD.with(|thread| {
        if !thread.is_running.get() {
            return true;
        }
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 4);
        let more = thread.pending.get() + bytes;
        let all = TOTAL.load(Ordering::Relaxed) + more;
        thread.limit_reached(thread.charged.get() + more, all).is_none()
    })
}

/// Whether all that is charged is within the limit of all statements: asked before a session or connection keeps more.
#[must_use]
pub fn has_room() -> bool {
    let all = u64::try_from(TOTAL.load(Ordering::Relaxed)).unwrap_or(0);
    all + all / OVERHEAD_PART <= ALL_STATEMENTS_MAX.load(Ordering::Relaxed)
}

/// The limit of its connection that a session reaches with what it holds while no command of it runs.
#[must_use]
pub fn held_beyond(limits: &Limits, held_bytes: u64) -> Option<Exceeded> {
    let reached = |limit, limit_bytes, used_bytes| Some(Exceeded { limit, limit_bytes, used_bytes });
    if held_bytes > limits.connection {
        return reached(Limit::Connection, limits.connection, held_bytes);
    }
    let all = u64::try_from(TOTAL.load(Ordering::Relaxed)).unwrap_or(0);
    if held_bytes > STATEMENT_BYTES_SPARED && all > limits.all_connections {
        return reached(Limit::AllConnections, limits.all_connections, all);
    }
    None
}

/// Forgets that a limit was reached: the statement has ended with its error, and what it had is freed. What follows in the same command is
/// charged as before.
pub fn forget_exceeded() {
    THREAD.with(|thread| thread.exceeded.set(None));
}

/// What the running command has allocated and not freed, and the most of it so far.
#[must_use]
pub fn command_bytes() -> (u64, u64) {
    THREAD.with(|thread| {
        let now = thread.charged.get() + thread.pending.get();
        (u64::try_from(now).unwrap_or(0), u64::try_from(now.max(thread.most.get())).unwrap_or(0))
    })
}

/// What all running commands and sessions have, and the most that was.
#[must_use]
pub fn total_bytes() -> (u64, u64) {
    let bytes = |count: &AtomicI64| u64::try_from(count.load(Ordering::Relaxed)).unwrap_or(0);
    (bytes(&TOTAL), bytes(&TOTAL_MAX))
}

/// Memory of the machine, or of the control group that the process is in, if that is less.
#[must_use]
pub fn machine_bytes() -> Option<u64> {
    let number = |path: &str, name: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()
    };
    let all = number("/proc/meminfo", "MemTotal:")? * 1024;
    let group = number("/sys/fs/cgroup/memory.max", "")
        .or_else(|| number("/sys/fs/cgroup/memory/memory.limit_in_bytes", ""));
    Some(group.map_or(all, |group| group.min(all)))
}

/// Memory that a session is charged for from one command to the next. Dropping it releases the charge.
#[derive(Debug, Default)]
pub struct MemoryCharge {
    bytes: i64,
    /// Of these, what is in the total.
    reported: i64,
}

impl MemoryCharge {
    /// Adds to the charge, or takes from it. The command that allocates is charged as well until it ends.
    #[inline]
    pub fn change(&mut self, bytes: i64) {
        self.bytes += bytes;
        if (self.bytes - self.reported).unsigned_abs() >= STEP_BYTES as u64 {
            self.report();
        }
    }

    /// Sets the charge.
    pub fn set(&mut self, bytes: u64) {
        self.change(bytes as i64 - self.bytes);
    }

    #[cold]
    fn report(&mut self) {
        TOTAL.fetch_add(self.bytes - self.reported, Ordering::Relaxed);
        self.reported = self.bytes;
    }

    /// Bytes charged.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.bytes).unwrap_or(0)
    }
}

impl Drop for MemoryCharge {
    fn drop(&mut self) {
        if self.reported != 0 {
            TOTAL.fetch_sub(self.reported, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests of this process have no counting allocator, so only these calls count.
    fn take(bytes: usize) {
        note(bytes as i64);
    }

    #[test]
    fn a_command_is_charged_until_it_ends_and_marked_at_its_limit() {
        take(10 * STEP_BYTES); // Nobody's.
        assert_eq!(exceeded(), None);
        {
            let _command = begin_command();
            set_limits(Limits { statement: 1 << 20, ..Limits::NONE }, 0);
            take(1 << 20);
            assert_eq!(exceeded(), None);
            assert!(may_take(0));
            let inner = begin_command();
            take(STEP_BYTES);
            drop(inner); // Of the outer one.
            let reached = exceeded().expect("above the limit");
            assert_eq!((reached.limit, reached.limit_bytes), (Limit::Statement, 1 << 20));
            assert!(!may_take(0));
            assert_eq!(command_bytes().0, (1 << 20) + STEP_BYTES as u64);
        }
        assert_eq!(exceeded(), None);
        let _command = begin_command();
        assert_eq!(command_bytes(), (0, 0));
        set_limits(Limits { statement: 1 << 20, ..Limits::NONE }, 0);
        assert!(!may_take(2 << 20), "asked before it is taken");
        forget_exceeded();
        assert!(may_take(1 << 10));
    }

    #[test]
    #[allow(unsafe_code, reason = "an allocator is called")]
    fn blocks_keep_their_bytes_when_they_grow_and_shrink_across_the_size_that_is_mapped() {
        let allocator = Counting(std::alloc::System);
        let mut layout = Layout::from_size_align(1000, 8).unwrap();
        // SAFETY: each call has the layout of the block as it is.
        unsafe {
            let mut block = allocator.alloc(layout);
            for at in 0..1000 {
                block.add(at).write((at % 251) as u8);
            }
            for size in [
                MAPPED_BYTES_MIN - 1,
                MAPPED_BYTES_MIN,
                100 * MAPPED_BYTES_MIN,
                3 * MAPPED_BYTES_MIN + 5,
                1000,
            ] {
                block = allocator.realloc(block, layout, size);
                layout = Layout::from_size_align(size, 8).unwrap();
                assert!((0..1000).all(|at| *block.add(at) == (at % 251) as u8), "{size}");
                block.add(size - 1).write(if size == 1000 { (999 % 251) as u8 } else { 7 });
            }
            allocator.dealloc(block, layout);
            let zeros = Layout::from_size_align(MAPPED_BYTES_MIN * 2, 16).unwrap();
            let block = allocator.alloc_zeroed(zeros);
            assert!((0..zeros.size()).all(|at| *block.add(at) == 0));
            allocator.dealloc(block, zeros);
            let aligned = Layout::from_size_align(MAPPED_BYTES_MIN, 1 << 16).unwrap();
            let block = allocator.alloc(aligned);
            assert_eq!(block.addr() % (1 << 16), 0);
            allocator.dealloc(block, aligned);
        }
    }

    #[test]
    fn what_a_session_holds_counts_for_its_connection() {
        let mut held = MemoryCharge::default();
        held.change(900 << 10);
        let _command = begin_command();
        set_limits(Limits { connection: 1 << 20, ..Limits::NONE }, held.bytes());
        take(100 << 10);
        assert_eq!(exceeded(), None);
        take(100 << 10);
        assert_eq!(exceeded().map(|reached| reached.limit), Some(Limit::Connection));
    }
}
