//! The allocator of the server: mimalloc. Small allocations of many threads are most of what a server does; it was made for that.
//!
//! Invariant: a block of mimalloc is aligned to a word, so that only larger alignments are asked for. The functions for any alignment cost
//! twice the instructions.

use std::alloc::{GlobalAlloc, Layout};

/// Alignment of every block, in bytes.
const WORD_BYTES: usize = size_of::<usize>();

/// mimalloc.
#[derive(Debug, Default)]
pub struct Mimalloc;

#[allow(unsafe_code, reason = "an allocator is unsafe by its trait, and mimalloc is written in C")]
// SAFETY: mimalloc gives blocks of at least the size and the alignment that it is asked for, and of a word's alignment at least; blocks of all
// its functions are freed and resized by the same ones.
unsafe impl GlobalAlloc for Mimalloc {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two may be asked for.
        unsafe {
            match layout.align() <= WORD_BYTES {
                true => libmimalloc_sys::mi_malloc(layout.size()),
                false => libmimalloc_sys::mi_malloc_aligned(layout.size(), layout.align()),
            }
            .cast()
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match layout.align() <= WORD_BYTES {
                true => libmimalloc_sys::mi_zalloc(layout.size()),
                false => libmimalloc_sys::mi_zalloc_aligned(layout.size(), layout.align()),
            }
            .cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller's block is one of mimalloc's.
        unsafe { libmimalloc_sys::mi_free(memory.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's block is one of mimalloc's, and is not used any more.
        unsafe {
            match layout.align() <= WORD_BYTES {
                true => libmimalloc_sys::mi_realloc(memory.cast(), size),
                false => libmimalloc_sys::mi_realloc_aligned(memory.cast(), size, layout.align()),
            }
            .cast()
        }
    }
}

/// Returns the memory that the calling thread's part of the allocator keeps to the system.
pub fn collect() {
    #[allow(unsafe_code, reason = "a C function")]
    // SAFETY: it may be called on any thread at any time; true: all that is free, at once.
    unsafe {
        libmimalloc_sys::mi_collect(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_alignment_that_is_asked_for() {
        let mut blocks = Vec::new();
        for size in (1..200).chain([1000, 4096, 5000, 70_000, 3 << 20]) {
            for align in [1, 2, 4, 8, 16, 64] {
                let layout = Layout::from_size_align(size, align).unwrap();
                let larger = Layout::from_size_align(2 * size + 1, align).unwrap();
                #[allow(unsafe_code, reason = "an allocator is unsafe by its trait")]
                // SAFETY: blocks are written within their size, and freed once by the layout that they have last.
                unsafe {
                    let block = Mimalloc.alloc(layout);
                    assert!(!block.is_null() && block.addr().is_multiple_of(align), "{layout:?}");
                    block.write_bytes(7, size);
                    let block = Mimalloc.realloc(block, layout, larger.size());
                    assert!(!block.is_null() && block.addr().is_multiple_of(align), "{larger:?}");
                    assert!((0..size).all(|at| *block.add(at) == 7), "{larger:?}");
                    blocks.push((block, larger));
                    let zeros = Mimalloc.alloc_zeroed(layout);
                    assert!(!zeros.is_null() && zeros.addr().is_multiple_of(align), "{layout:?}");
                    assert!((0..size).all(|at| *zeros.add(at) == 0), "{layout:?}");
                    blocks.push((zeros, layout));
                }
            }
        }
        for (block, layout) in blocks {
            #[allow(unsafe_code, reason = "as above")]
            // SAFETY: as above.
            unsafe {
                Mimalloc.dealloc(block, layout);
            }
        }
    }
}
