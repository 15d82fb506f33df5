//! The lab: reproduce, compare, locate and name a slowdown on any servers that speak MySQL's protocol.
//!
//! A claim ("this is slower than it was") becomes a scenario: data, one operation, how it is loaded. The scenario is run
//! against the arms of a matrix in randomised, interleaved blocks; statistics say whether the arms differ beyond the noise;
//! measures by layer say where; known causes say why; an intervention proves it. Each step takes finished values and adds
//! its own to one [`evidence::Run`], so a run can be kept, read again and drawn later.
//!
//! ```text
//! scenario -> data -> matrix -> load -> evidence -> stats -> verdict -> report
//!                        |                  ^
//!                        +-> server, host --+        knowledge -> verdict
//! ```
//!
//! Invariants:
//! 1. Nothing is changed outside the schema named in the run; global variables only where that was allowed, and they are
//!    put back.
//! 2. A number without its noise is not reported as a difference.
//! 3. A client that could not keep up makes a run invalid, never a server slow.
//! 4. The same scenario file and seed make the same bytes of data and the same schedule of operations.
//! 5. Evidence gathered before a failure is kept.
//!
//! Read next: [`evidence`] (the seam between all stages), [`scenario`], [`data`], [`load`].
//!
//! ```
//! let text = lab::scenario::shipped::named("point-select").unwrap();
//! let scenario = lab::scenario::Scenario::parse(text).unwrap();
//! assert_eq!(scenario.claim, "reading one row by its primary key is slow");
//! ```

pub mod analysis;
pub mod bench;
pub mod data;
pub mod doctor;
pub mod drivers;
pub mod evidence;
pub mod format;
pub mod host;
pub mod interrupt;
pub mod knowledge;
pub mod load;
pub mod matrix;
pub mod report;
pub mod scenario;
pub mod server;
pub mod stats;
pub mod tap;
pub mod verdict;

/// Says what a test left out and why, where `./test` and its reader see it: the test harness keeps what `eprintln` says of a
/// test that passes.
#[cfg(test)]
pub(crate) fn left_out(why: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("LEFT OUT: {why}\n").as_bytes()).unwrap();
}
