//! Whether a profile is like the driver it imitates: both as arms of one run, on the same server, compared by what the server
//! saw of them.
//!
//! A profile is faithful if medians of the server's CPU, of bytes each way and of commands by kind, per operation, lie within
//! [`TOLERANCE`]. `invar lab run SCENARIO --driver cj-8.3.0,real-cj-8.3.0` is such a run; what differs becomes a warning of it.

use crate::evidence::{Arm, Block, Run};
use crate::load::shim::Real;

/// How far a profile may be from its driver, either way.
const TOLERANCE: f64 = 0.1;
/// Counts per operation that differ by less than this are the same: a ping in a thousand operations is no habit.
const COUNT_MIN: f64 = 0.02;
/// Blocks of each side, at least.
const BLOCKS_MIN: usize = 2;
/// What the server counts of a client's commands; not all of them are `Questions`.
const COUNTERS: &[&str] = &[
    "Bytes_received",
    "Bytes_sent",
    "Questions",
    "Com_stmt_prepare",
    "Com_stmt_execute",
    "Com_stmt_reset",
    "Com_stmt_close",
    "Com_set_option",
    "Com_commit",
];

/// One figure of a profile and of its driver, per operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What.
    pub name: &'static str,
    /// Of the profile, median.
    pub profile: f64,
    /// Of the real driver, median.
    pub real: f64,
}

impl Figure {
    /// Within the tolerance.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        let distance = (self.profile - self.real).abs();
        distance <= COUNT_MIN || distance <= TOLERANCE * self.real
    }
}

/// A profile beside its driver.
#[derive(Clone, Debug, PartialEq)]
pub struct Faith {
    /// Name of the profile's arm.
    pub arm: String,
    /// The profile.
    pub profile: &'static str,
    /// All that was measured of both.
    pub figures: Vec<Figure>,
}

impl Faith {
    /// Whether nothing lies outside the tolerance.
    #[must_use]
    pub fn is_faithful(&self) -> bool {
        self.figures.iter().all(Figure::is_alike)
    }

    /// What is not alike, in words; absent if all is.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        let list: Vec<String> = self
            .figures
            .iter()
            .filter(|figure| !figure.is_alike())
            .map(|figure| format!("{} {:.1} against {:.1}", figure.name, figure.profile, figure.real))
            .collect();
        (!list.is_empty()).then(|| {
            format!(
                "profile {} is unfaithful in arm {}: per operation, profile against real driver: {}",
                self.profile,
                self.arm,
                list.join(", ")
            )
        })
    }
}

/// Every pair of a profile and its driver among the arms of a run.
#[must_use]
pub fn compare(run: &Run) -> Vec<Faith> {
    let mut found = Vec::new();
    for (real_index, real_arm) in run.arms.iter().enumerate() {
        let Some(real) = Real::named(&real_arm.driver) else { continue };
        let pair = run.arms.iter().position(|arm| {
            arm.driver == real.profile && arm.same_as.is_none() && others(arm).eq(others(real_arm))
        });
        let Some(index) = pair else { continue };
        if run.valid_blocks(index).count() < BLOCKS_MIN || run.valid_blocks(real_index).count() < BLOCKS_MIN {
            continue;
        }
        let mut figures = Vec::new();
        let mut put = |name, of: &dyn Fn(&Block) -> Option<f64>| {
            let median = |arm| {
                let mut values: Vec<f64> = run.valid_blocks(arm).filter_map(of).collect();
                values.sort_by(f64::total_cmp);
                values.get(values.len() / 2).copied()
            };
            if let (Some(profile), Some(real)) = (median(index), median(real_index)) {
                figures.push(Figure { name, profile, real });
            }
        };
        put("server CPU, us", &|block| block.server_cpu_ns_per_op.map(|ns| ns / 1e3));
        for name in COUNTERS {
            // A counter that did not move is not there.
            put(name, &|block| {
                let is_known = !block.status_per_op.is_empty();
                is_known.then(|| block.status_per_op.get(*name).copied().unwrap_or_default())
            });
        }
        found.push(Faith { arm: run.arms[index].name.clone(), profile: real.profile, figures });
    }
    found
}

/// What an arm is besides its driver.
fn others(arm: &Arm) -> impl Iterator<Item = (&String, &String)> {
    arm.levels.iter().filter(|(axis, _)| *axis != "driver")
}

/// A real driver's bytes are seen by nobody but the server: takes them from its counters.
pub(crate) fn fill_bytes(block: &mut Block) {
    let of = |name: &str| block.status_per_op.get(name).copied().unwrap_or_default();
    (block.bytes_up_per_op, block.bytes_down_per_op) = (of("Bytes_received"), of("Bytes_sent"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn arm(driver: &str, protocol: &str) -> Arm {
        let levels = [("server", "a"), ("driver", driver), ("protocol", protocol)];
        Arm {
            name: format!("a/{driver}/{protocol}"),
            server: "a".to_owned(),
            driver: driver.to_owned(),
            levels: levels.iter().map(|(axis, level)| ((*axis).to_owned(), (*level).to_owned())).collect(),
            ..Arm::default()
        }
    }

    fn block(arm: usize, cpu_us: f64, bytes: f64) -> Block {
        Block {
            arm,
            operations: 10,
            server_cpu_ns_per_op: Some(cpu_us * 1e3),
            status_per_op: BTreeMap::from([
                ("Bytes_received".to_owned(), bytes),
                ("Com_stmt_prepare".to_owned(), 1.01),
            ]),
            ..Block::default()
        }
    }

    fn run(profile_bytes: f64) -> Run {
        let mut run = Run::new();
        run.arms = vec![
            arm("cj-8.3.0", "text"),
            arm("cj-8.3.0", "prepared"),
            arm("real-cj-8.3.0", "prepared"),
            arm("real-cj-8.0.33", "prepared"),
        ];
        for cpu_us in [95.0, 105.0, 104.0] {
            run.blocks.push(block(0, 5.0 * cpu_us, 1.0));
            run.blocks.push(block(1, cpu_us, profile_bytes));
            run.blocks.push(block(2, 100.0, 100.0));
        }
        run
    }

    #[test]
    fn a_profile_is_held_against_its_own_driver_with_all_else_alike() {
        let found = compare(&run(109.0));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].arm.as_str(), found[0].profile), ("a/cj-8.3.0/prepared", "cj-8.3.0"));
        let cpu = &found[0].figures[0];
        assert_eq!((cpu.profile, cpu.real), (104.0, 100.0));
        assert!(found[0].is_faithful(), "{found:?}");
        assert_eq!(found[0].complaint(), None);
    }

    #[test]
    fn what_is_not_alike_is_named_with_both_figures() {
        let found = compare(&run(89.0));
        assert!(!found[0].is_faithful());
        let complaint = found[0].complaint().unwrap();
        assert!(complaint.contains("Bytes_received 89.0 against 100.0"), "{complaint}");
        assert!(!complaint.contains("CPU"), "{complaint}");
        let mut one_block = run(89.0);
        one_block.blocks.truncate(3);
        assert!(compare(&one_block).is_empty());
    }
}
