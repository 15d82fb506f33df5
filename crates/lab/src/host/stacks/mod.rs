//! Where a server's CPU time goes: sampled stacks, folded, compared, drawn.
//!
//! ```text
//! perf record -> perf script -> samples -> folded profile -> difference of two -> SVG
//!   (record)       (script)      (name)       (folded)          (diff)          (flame)
//! ```
//!
//! Sampling is by the CPU clock, which every machine has; hardware counters are not needed. A profile is a shape, not a
//! measurement: it is taken in a pass of its own, and its shares are multiplied by the CPU time per operation that was
//! measured without it.
//!
//! Invariants:
//! 1. No sample is lost silently: those perf lost are counted in [`Profile::lost`](folded::Profile::lost).
//! 2. A stack that is in one profile only is kept in the difference, with 0 on the other side.
//! 3. Pictures are complete in themselves: no script, no font, nothing fetched.

pub mod diff;
pub mod flame;
pub mod folded;
mod name;
pub mod record;
mod script;

pub(crate) use name::demangled;
