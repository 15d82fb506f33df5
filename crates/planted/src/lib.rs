//! Bugs planted on purpose, to see tests catch them.
//!
//! A crate lists its bugs with [`bugs!`] in a module of its own, and asks `is(Plant::X)` where the bug would be. The bugs exist only
//! with the crate's feature `planted-bugs`, which nothing that is shipped turns on; without it `is` is `false` at compile time.
//!
//! Invariant: at most one bug of a crate is planted in a process.
//!
//! ```
//! planted::bugs! {
//!     /// A checkpoint does not sync its pages.
//!     SkipSync = "skip-sync",
//! }
//! assert!(!is(Plant::SkipSync));
//! ```

/// Makes the enum `Plant` of a crate's bugs, and `is`; with the feature `planted-bugs` also `ALL`, `named` and `plant`.
#[macro_export]
macro_rules! bugs {
    ($($(#[$about:meta])* $bug:ident = $name:literal,)+) => {
        /// A planted bug.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[allow(dead_code, unreachable_pub, reason = "without the feature only the names are used")]
        #[repr(u8)]
        pub enum Plant { $($(#[$about])* $bug),+ }

        #[cfg(feature = "planted-bugs")]
        mod with_bugs {
            use super::Plant;
            use std::sync::atomic::{AtomicU8, Ordering};

            /// The number of the planted bug, plus one; 0: none is planted.
            static PLANTED: AtomicU8 = AtomicU8::new(0);

            /// All bugs of the crate, with their names.
            pub const ALL: [(&str, Plant); [$($name),+].len()] = [$(($name, Plant::$bug)),+];

            /// The bug of this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Plant> {
                ALL.iter().find(|(known, _)| *known == name).map(|(_, bug)| *bug)
            }

            /// Plants a bug in this process, in place of the one before.
            pub fn plant(bug: Option<Plant>) {
                PLANTED.store(bug.map_or(0, |bug| bug as u8 + 1), Ordering::Relaxed);
            }

            /// Whether this bug is planted.
            #[must_use]
            pub fn is(bug: Plant) -> bool {
                PLANTED.load(Ordering::Relaxed) == bug as u8 + 1
            }
        }
        #[cfg(feature = "planted-bugs")]
        pub use with_bugs::{ALL, is, named, plant};

        /// Whether this bug is planted: the build has none.
        #[cfg(not(feature = "planted-bugs"))]
        #[inline(always)]
        #[must_use]
        #[allow(unreachable_pub, reason = "some crates show the module only with the feature")]
        pub const fn is(_bug: Plant) -> bool {
            false
        }
    };
}
