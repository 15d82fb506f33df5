//! What can be said about two sets of noisy numbers, and how sure one may be.
//!
//! Everything here is pure and seeded: the same numbers and the same seed give the same answer on every machine.
//!
//! The unit of evidence is a **block**: a few seconds, or some hundred operations, of one arm. Blocks of the arms
//! alternate in an order drawn first; the blocks that stand together form a **round**. A machine that drifts,
//! drifts under all blocks of a round alike, so whatever can be computed within a round is.
//!
//! | question | answer |
//! | --- | --- |
//! | how much slower, and how sure? | [`ratio::compare`]: ratio of medians, two-level bootstrap (rounds, then samples), BCa interval |
//! | how sure is one median? | [`bootstrap::median_interval`] |
//! | could chance do it? | [`rank::signed_rank`] within rounds, [`rank::mann_whitney`] without; [`rank::cliffs_delta`] for size |
//! | over many comparisons? | [`rank::holm`] |
//! | what does this machine show with no difference at all? | [`floor::NoiseFloor`]: the 99 % band of A against A |
//! | is it a difference, then? | [`judge::judge`]: interval, floor, smallest effect worth a word, chance, and a second run |
//! | is it the machine? | [`judge::machine_suspect`]: many findings that all point one way |
//! | how does it grow? | [`growth::exponent`]: slope in log-log over at least four sizes |
//! | what does a count follow? | [`relation::follows`]: rows sent, rows examined, parameters, columns, ... |
//! | when may we stop measuring? | [`stop::SequentialRule`] |
//!
//! Invariants:
//! 1. No function panics on any finite, infinite or missing number; what cannot be answered is `None`.
//! 2. Exchanging the two arms turns a ratio into its inverse and leaves every probability as it was.
//!
//! Sources: Efron, Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 14 (BCa); Mann, Whitney (1947);
//! Wilcoxon (1945); Cliff (1993); Holm (1979). Kalibera, Jones, "Rigorous Benchmarking in Reasonable Time" (2013) for
//! resampling at the levels at which a measurement repeats.

pub mod bootstrap;
pub mod floor;
pub mod growth;
pub mod judge;
pub mod rank;
pub mod ratio;
pub mod relation;
pub mod seeded;
pub mod stop;
pub mod summary;
