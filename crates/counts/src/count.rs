//! Runs operations where Valgrind counts them.

use std::hint::black_box;

/// The function [`measured`] as Valgrind's `--toggle-collect` and `--dump-after` name it.
pub(crate) const MEASURED: &str = "counts::count::measured";

/// Takes operations one by one; prints the name of each, in the order in which Valgrind writes their counts.
pub(crate) struct Counter {
    only: Option<String>,
}

impl Counter {
    /// Of the operations whose name holds `only`, or of all.
    pub(crate) fn new(only: Option<String>) -> Counter {
        Counter { only }
    }

    /// Whether operations of this layer may be wanted: what only they need is not prepared otherwise.
    pub(crate) fn wants(&self, layer: &str) -> bool {
        self.only.as_ref().is_none_or(|only| {
            !only.contains('.') || only.split('.').next().is_some_and(|part| layer.ends_with(part))
        })
    }

    /// Counts `operation`, which gets a number that is new for each call: 0 to `times` to settle (caches, buffers, pages),
    /// then as many again for the count.
    pub(crate) fn count<R>(&mut self, name: &str, times: u32, mut operation: impl FnMut(u32) -> R) {
        if self.only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            return;
        }
        let mut operation = |number| {
            black_box(operation(black_box(number)));
        };
        for number in 0..times {
            operation(number);
        }
        measured(&mut operation, times);
        println!("{name} {times}");
    }
}

/// What is counted; nothing else is.
#[inline(never)]
fn measured(operation: &mut dyn FnMut(u32), times: u32) {
    for number in times..2 * times {
        operation(number);
    }
}

/// Numbers that look random, the same in each run. Not `env::random::Rng`: these instructions are part of the stored counts.
pub(crate) struct Sequence(pub(crate) u64);

impl Sequence {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
