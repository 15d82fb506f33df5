//! Raw page memory: the arena of frames and the latch on each. The only unsafe code of the store.
//!
//! A frame is 16 KiB: a 32-byte header of atomics that exists only in memory (its place on disk holds checksum and page
//! number), then the body. Header and the body's own first 32 bytes share a cache line, so looking at a page's latch brings
//! in what a search needs next.
//!
//! ```text
//! 0      8        16            24          28      32                                   16384
//! | latch | page id | dirty epoch | referenced | spare | body: node header, slots -> ... <- cells |
//! ```
//!
//! The latch word: the low 16 bits count shared holders, all ones = exclusive; the upper 48 bits are a version that grows
//! when an exclusive holder leaves.
//!
//! Invariants:
//! 1. A `&mut` to a body exists only inside an [`ExclusiveGuard`], a `&` only inside a guard: the latch word makes them
//!    exclude each other. Only the functions that took the latch make a guard, and only its drop leaves it.
//! 2. An optimistic reader ([`Racy`]) may read while a holder writes. It loads by relaxed atomics, keeps inside the frame
//!    whatever it reads, and uses nothing before [`Arena::validate`] said that no exclusive holder came in between. The
//!    writer's own stores are plain, so this race is outside Rust's memory model, as a seqlock is; the compiler cannot see
//!    both sides, the hardware's loads of one word are whole, and the version check discards the rest. Whoever loads a byte
//!    that an exclusive holder stored sees its latch when it validates: the holder's release fence stands between the latch
//!    and its stores, the reader's acquire fence between its loads and the latch.
//! 3. Frames are never unmapped before the arena is dropped, and guards borrow the arena.
//! 4. A page left half changed is seen by nobody: a panic that passes an exclusive guard ends the process, as a power cut
//!    would, before a checkpoint can write the page; the log brings the store back at the next start.
//!
//! `cargo +nightly miri test -p store --lib pager::frame` looks for undefined behaviour in all but the race of invariant 2.
#![allow(unsafe_code, reason = "owns the memory of all pages; the protocol above is what makes it sound")]

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::sync::{interleave, relax};

/// A page in memory and in the file.
pub const PAGE_BYTES: usize = 16 * 1024;
/// The part before the body: latch and bookkeeping in memory, checksum and page number in the file.
pub(crate) const FRAME_HEADER_BYTES: usize = 32;
/// What a node may fill.
pub(crate) const BODY_BYTES: usize = PAGE_BYTES - FRAME_HEADER_BYTES;

/// A page's bytes without the frame header.
pub(crate) type Body = [u8; BODY_BYTES];

const HOLDERS_MASK: u64 = 0xFFFF;
const EXCLUSIVE: u64 = 0xFFFF;
const VERSION_ONE: u64 = 0x1_0000;
/// The interpreter that looks for undefined behaviour knows no more than this.
const MAP_FLAGS: libc::c_int =
    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
const HUGE_PAGE_BYTES: usize = 2 * 1024 * 1024;
const HUGE_POOL_BYTES_MIN: usize = 32 * HUGE_PAGE_BYTES;

/// All frames of a pool.
#[derive(Debug)]
pub(crate) struct Arena {
    base: *mut u8,
    map_base: *mut libc::c_void,
    map_bytes: usize,
    frame_count: u32,
}

// SAFETY: the mapping belongs to no thread, and what it holds is integers, reached only through atomics and the latch
// protocol above.
unsafe impl Send for Arena {}
// SAFETY: as for `Send`.
unsafe impl Sync for Arena {}

#[repr(C)]
struct Header {
    latch: AtomicU64,
    page_id: AtomicU64,
    dirty_epoch: AtomicU64,
    referenced: AtomicU32,
    spare: AtomicU32,
}
const _: () = assert!(size_of::<Header>() == FRAME_HEADER_BYTES);

impl Arena {
    /// Reserves memory for `frame_count` frames; the system gives it when it is first touched.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn new(frame_count: u32) -> std::io::Result<Arena> {
        let bytes = frame_count as usize * PAGE_BYTES;
        let map_bytes = bytes + HUGE_PAGE_BYTES;
        // SAFETY: a fresh private anonymous mapping; nothing else is touched.
        let map_base = unsafe {
            libc::mmap(std::ptr::null_mut(), map_bytes, libc::PROT_READ | libc::PROT_WRITE, MAP_FLAGS, -1, 0)
        };
        if map_base == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        let start = map_base.cast::<u8>();
        let skipped = start.align_offset(HUGE_PAGE_BYTES);
        assert!(skipped + bytes <= map_bytes, "the frames lie inside the mapping");
        // SAFETY: inside the mapping, by the assert.
        let base = unsafe { start.add(skipped) };
        // Only advice: without huge pages everything works, 5 to 25 % slower. A small pool would spend more on clearing them.
        if bytes >= HUGE_POOL_BYTES_MIN {
            // SAFETY: the range lies inside the mapping made above.
            unsafe { libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        Ok(Arena { base, map_base, map_bytes, frame_count })
    }

    pub(crate) fn frame_count(&self) -> u32 {
        self.frame_count
    }

    fn frame(&self, frame: u32) -> *mut u8 {
        assert!(frame < self.frame_count);
        // SAFETY: `frame_count` frames lie in the mapping from `base` on, by the assert of `new`; this is one, by that above.
        unsafe { self.base.add(frame as usize * PAGE_BYTES) }
    }

    fn header(&self, frame: u32) -> &Header {
        // SAFETY: the mapping lives as long as `self`; frames begin at multiples of their length from an aligned base; zeros
        // are a valid `Header`; all its fields are atomics, and no body reaches into it.
        unsafe { &*self.frame(frame).cast::<Header>() }
    }

    /// The page in this frame, 0 for none. Meaningful only under a latch or when validated.
    pub(crate) fn page_id(&self, frame: u32) -> u64 {
        self.header(frame).page_id.load(Ordering::Relaxed)
    }

    /// The epoch since which the page differs from its block, 0 if it does not.
    pub(crate) fn dirty_epoch(&self, frame: u32) -> u64 {
        self.header(frame).dirty_epoch.load(Ordering::Relaxed)
    }

    /// Says that the page was used lately.
    pub(crate) fn touch(&self, frame: u32) {
        let referenced = &self.header(frame).referenced;
        if referenced.load(Ordering::Relaxed) == 0 {
            referenced.store(1, Ordering::Relaxed);
        }
    }

    /// Whether it was used since [`Arena::take_referenced`].
    pub(crate) fn is_referenced(&self, frame: u32) -> bool {
        self.header(frame).referenced.load(Ordering::Relaxed) != 0
    }

    /// Whether it was used since the last call.
    pub(crate) fn take_referenced(&self, frame: u32) -> bool {
        let referenced = &self.header(frame).referenced;
        if referenced.load(Ordering::Relaxed) == 0 {
            return false;
        }
        referenced.store(0, Ordering::Relaxed);
        true
    }

    /// Waits until nobody holds the frame exclusively and gives the version to validate against.
    pub(crate) fn optimistic(&self, frame: u32) -> u64 {
        let latch = &self.header(frame).latch;
        let mut wait = Wait::default();
        loop {
            let word = latch.load(Ordering::Acquire);
            if word & HOLDERS_MASK != EXCLUSIVE {
                return word & !HOLDERS_MASK;
            }
            wait.once();
        }
    }

    /// Whether everything read since `version` was handed out was whole.
    pub(crate) fn validate(&self, frame: u32, version: u64) -> bool {
        fence(Ordering::Acquire);
        let word = self.header(frame).latch.load(Ordering::Relaxed);
        word & !HOLDERS_MASK == version && word & HOLDERS_MASK != EXCLUSIVE
    }

    /// The frame's body for optimistic reading.
    pub(crate) fn racy(&self, frame: u32) -> Racy<'_> {
        // SAFETY: `FRAME_HEADER_BYTES` into a frame is inside the mapping.
        Racy { body: unsafe { self.frame(frame).add(FRAME_HEADER_BYTES) }, arena: std::marker::PhantomData }
    }

    /// Asks the processor to fetch the frame's first line.
    pub(crate) fn prefetch(&self, frame: u32) {
        prefetch(self.frame(frame));
    }

    /// Latches for reading; waits for an exclusive holder.
    pub(crate) fn shared(&self, frame: u32) -> SharedGuard<'_> {
        let latch = &self.header(frame).latch;
        let mut wait = Wait::default();
        loop {
            let word = latch.load(Ordering::Relaxed);
            if word & HOLDERS_MASK < EXCLUSIVE - 1
                && latch.compare_exchange_weak(word, word + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return SharedGuard { arena: self, frame };
            }
            wait.once();
        }
    }

    /// Latches for writing; waits for all holders.
    pub(crate) fn exclusive(&self, frame: u32) -> ExclusiveGuard<'_> {
        let mut wait = Wait::default();
        loop {
            if let Some(guard) = self.try_exclusive(frame) {
                return guard;
            }
            wait.once();
        }
    }

    /// Latches for writing if nobody holds the frame.
    pub(crate) fn try_exclusive(&self, frame: u32) -> Option<ExclusiveGuard<'_>> {
        let latch = &self.header(frame).latch;
        let word = latch.load(Ordering::Relaxed);
        if word & HOLDERS_MASK != 0 {
            return None;
        }
        latch
            .compare_exchange(word, word | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed)
            .ok()
            .map(|_| ExclusiveGuard::new(self, frame))
    }

    /// Latches for writing if nothing changed since `version` was handed out; waits for shared holders.
    pub(crate) fn upgrade(&self, frame: u32, version: u64) -> Option<ExclusiveGuard<'_>> {
        let latch = &self.header(frame).latch;
        let mut wait = Wait::default();
        loop {
            match latch.compare_exchange(version, version | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(ExclusiveGuard::new(self, frame)),
                Err(word) if word & !HOLDERS_MASK != version || word & HOLDERS_MASK == EXCLUSIVE => {
                    return None;
                }
                Err(_) => wait.once(), // Readers only: they leave soon.
            }
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`; guards borrow the arena, so nobody reads it any more.
        unsafe { libc::munmap(self.map_base, self.map_bytes) };
    }
}

fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch is a hint and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[derive(Default)]
struct Wait {
    spins: u32,
}

impl Wait {
    #[cold]
    fn once(&mut self) {
        self.spins += 1;
        relax(self.spins);
    }
}

/// A latch held for reading.
#[derive(Debug)]
pub(crate) struct SharedGuard<'p> {
    arena: &'p Arena,
    frame: u32,
}

impl SharedGuard<'_> {
    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    pub(crate) fn body(&self) -> &Body {
        // SAFETY: invariant 1: a shared holder excludes every `&mut` for as long as the borrow of `self` lasts. A `Body` is
        // bytes, of any value and alignment, and ends where the frame does.
        unsafe { &*self.arena.frame(self.frame).add(FRAME_HEADER_BYTES).cast::<Body>() }
    }

    /// Says that the page now equals its block, unless it was changed in another epoch. Writers are excluded by the latch.
    pub(crate) fn clean(&self, epoch: u64) -> bool {
        let dirty = &self.arena.header(self.frame).dirty_epoch;
        dirty.compare_exchange(epoch, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

impl Drop for SharedGuard<'_> {
    fn drop(&mut self) {
        self.arena.header(self.frame).latch.fetch_sub(1, Ordering::Release);
    }
}

/// A latch held for writing.
#[derive(Debug)]
pub(crate) struct ExclusiveGuard<'p> {
    arena: &'p Arena,
    frame: u32,
    /// Whether a panic was under way when the latch was taken: a transaction rolls back while its thread unwinds.
    taken_in_panic: bool,
}

impl<'p> ExclusiveGuard<'p> {
    /// The caller has just taken the latch.
    fn new(arena: &'p Arena, frame: u32) -> Self {
        // An optimistic reader that loads what is stored from here on must see the latch when it validates. Taking the latch
        // orders only what was loaded before (`Acquire`); where stores may pass it, this keeps them behind. Free on x86.
        fence(Ordering::Release);
        ExclusiveGuard { arena, frame, taken_in_panic: std::thread::panicking() }
    }

    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    pub(crate) fn body(&self) -> &Body {
        // SAFETY: invariant 1: the exclusive holder is alone; a `Body` as in `SharedGuard::body`.
        unsafe { &*self.arena.frame(self.frame).add(FRAME_HEADER_BYTES).cast::<Body>() }
    }

    /// The body to write to. Only the pool calls this, after it has kept the old epoch's content.
    pub(crate) fn body_mut(&mut self) -> &mut Body {
        interleave(); // A reader may look between any two changes.
        // SAFETY: invariant 1: the exclusive holder is alone, and `self` is borrowed mutably; a `Body` as in
        // `SharedGuard::body`. Optimistic readers hold no reference (invariant 2).
        unsafe { &mut *self.arena.frame(self.frame).add(FRAME_HEADER_BYTES).cast::<Body>() }
    }

    pub(crate) fn page_id(&self) -> u64 {
        self.arena.page_id(self.frame)
    }

    pub(crate) fn set_page_id(&mut self, page_id: u64) {
        self.arena.header(self.frame).page_id.store(page_id, Ordering::Relaxed);
    }

    pub(crate) fn dirty_epoch(&self) -> u64 {
        self.arena.dirty_epoch(self.frame)
    }

    pub(crate) fn set_dirty_epoch(&mut self, epoch: u64) {
        self.arena.header(self.frame).dirty_epoch.store(epoch, Ordering::Relaxed);
    }
}

impl Drop for ExclusiveGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() && !self.taken_in_panic {
            stop_with_page_half_changed(); // invariant 4
        }
        let latch = &self.arena.header(self.frame).latch;
        let word = latch.load(Ordering::Relaxed);
        latch.store((word & !HOLDERS_MASK).wrapping_add(VERSION_ONE), Ordering::Release);
    }
}

#[cold]
fn stop_with_page_half_changed() -> ! {
    eprintln!(
        "invar: a panic left a page half changed; the process ends here, and the log restores the page at the next start"
    );
    std::process::abort()
}

/// A body that may change while it is read: every load is atomic and stays inside; nothing read counts until validated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Racy<'p> {
    body: *const u8,
    arena: std::marker::PhantomData<&'p Arena>,
}

impl Racy<'_> {
    /// The aligned 16-bit word at `offset`, or the nearest that fits.
    pub(crate) fn load_u16(self, offset: usize) -> u16 {
        let offset = offset.min(BODY_BYTES - 2) & !1;
        // SAFETY: inside the body by `min`, aligned by the mask and the body's own alignment of 32, in a mapping that `'p`
        // keeps. A holder may store meanwhile: invariant 2.
        u16::from_le(unsafe {
            (*self.body.add(offset).cast::<crate::sync::atomic::AtomicU16>()).load(Ordering::Relaxed)
        })
    }

    /// The aligned 32-bit word at `offset`, or the nearest that fits.
    pub(crate) fn load_u32(self, offset: usize) -> u32 {
        let offset = offset.min(BODY_BYTES - 4) & !3;
        // SAFETY: as in `load_u16`.
        u32::from_le(unsafe { (*self.body.add(offset).cast::<AtomicU32>()).load(Ordering::Relaxed) })
    }

    /// The aligned 64-bit word at `offset`, or the nearest that fits.
    pub(crate) fn load_u64(self, offset: usize) -> u64 {
        let offset = offset.min(BODY_BYTES - 8) & !7;
        // SAFETY: as in `load_u16`.
        u64::from_le(unsafe { (*self.body.add(offset).cast::<AtomicU64>()).load(Ordering::Relaxed) })
    }

    /// Asks the processor to fetch the line at `offset`.
    pub(crate) fn prefetch(self, offset: usize) {
        // SAFETY: inside the body by `min`.
        prefetch(unsafe { self.body.add(offset.min(BODY_BYTES - 1)) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_of_an_exclusive_holder() {
        let arena = Arena::new(2).unwrap();
        let version = arena.optimistic(1);
        assert!(arena.validate(1, version));
        drop(arena.shared(1));
        assert!(arena.validate(1, version));
        let guard = arena.exclusive(1);
        assert!(!arena.validate(1, version));
        assert!(arena.try_exclusive(1).is_none());
        drop(guard);
        assert!(!arena.validate(1, version));
        assert!(arena.upgrade(1, version).is_none());
        let version = arena.optimistic(1);
        assert!(arena.upgrade(1, version).is_some());
    }

    /// The test runs itself again as a process of its own, which must end by SIGABRT.
    #[test]
    #[cfg_attr(miri, ignore = "starts a process")]
    fn a_panic_that_leaves_a_page_half_changed_ends_the_process() {
        const CHILD: &str = "INVAR_STORE_PANIC_CHILD";
        struct RollBack<'a>(&'a Arena);
        impl Drop for RollBack<'_> {
            fn drop(&mut self) {
                drop(self.0.exclusive(0)); // taken while the thread unwinds: its change is whole
            }
        }
        let arena = Arena::new(1).unwrap();
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _roll_back = RollBack(&arena);
            panic!("outside of the store");
        }));
        assert!(unwound.is_err());
        if std::env::var_os(CHILD).is_some() {
            let _guard = arena.exclusive(0);
            panic!("within the store");
        }
        let name = "pager::frame::tests::a_panic_that_leaves_a_page_half_changed_ends_the_process";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&child.status);
        assert_eq!(signal, Some(libc::SIGABRT), "{}", String::from_utf8_lossy(&child.stderr));
    }

    #[test]
    fn exclusive_holders_never_overlap() {
        const ROUNDS: u64 = if cfg!(miri) { 25 } else { 10_000 };
        let arena = Arena::new(1).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let mut guard = arena.exclusive(0);
                        let body = guard.body_mut();
                        let count = u64::from_le_bytes(body[..8].try_into().unwrap()) + 1;
                        body[..8].copy_from_slice(&count.to_le_bytes());
                        body[8..16].copy_from_slice(&count.to_le_bytes());
                        drop(guard);
                        let guard = arena.shared(0);
                        assert_eq!(guard.body()[..8], guard.body()[8..16]);
                    }
                });
            }
        });
        assert_eq!(arena.racy(0).load_u64(0), 4 * ROUNDS);
    }
}
