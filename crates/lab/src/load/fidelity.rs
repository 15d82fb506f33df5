//! Whether a profile is like the driver it imitates: both as arms of one run, on the same server, compared by what the server
//! saw of them.
//!
//! A profile is fidelity if the server's CPU, bytes each way and commands by kind, per operation, lie within `TOLERANCE` of its
//! driver's. Commands and bytes are counted: their medians are compared as they are. CPU is measured, and depends on more than
//! on what is sent: on how long a client thinks between operations (a core that sleeps is dearer to wake, caches go cold, threads in
//! the background share their cost among fewer operations) and on other load of the machine. So it is compared only
//!
//! 1. where both kept one pace ([`Mode::Paced`](crate::scenario::Mode::Paced)),
//! 2. within rounds, by blocks that the hypervisor let run (`STEAL_MAX`); time spent ready and waiting for a core is no CPU,
//! 3. with the driver's second arm beside it, which says how much the same differs from itself: the interval of the ratio is
//!    never narrower than that.
//!
//! Alike is said where the whole interval lies within the tolerance, unlike where none of it does, and between the two that it
//! cannot be decided. `invar lab run SCENARIO --driver-fidelity --driver cj-8.3.0` is such a run; what differs becomes a warning of it.

use crate::drivers::Real;
use crate::evidence::{Arm, Block, Fidelity, FidelityFigure, FidelityWord, Run};
use crate::stats::bootstrap::median_interval;
use crate::stats::summary::median;

/// How far a profile may be from its driver, either way.
const TOLERANCE: f64 = 0.1;
/// Counts per operation that differ by less than this are the same: a ping in a thousand operations does not count.
const COUNT_MIN: f64 = 0.02;
/// Blocks of each side, at least.
const BLOCKS_MIN: usize = 2;
/// Rounds with a block of each arm, before anything is said of CPU.
const ROUNDS_MIN: usize = 5;
/// Of the cores' time, what the hypervisor may keep in a block whose CPU is compared.
const STEAL_MAX: f64 = 0.1;
/// Name of the figure that is measured.
const CPU: &str = "server CPU, us";
/// What the server counts of a client's commands; not all of them are `Questions`.
const COUNTERS: &[&str] = &[
    "Bytes_received",
    "Bytes_sent",
    "Questions",
    "Com_stmt_prepare",
    "Com_stmt_execute",
    "Com_stmt_reset",
    "Com_stmt_close",
    "Com_stmt_fetch",
    "Com_set_option",
    "Com_commit",
];

impl FidelityFigure {
    fn counted(name: &str, profile: f64, real: f64) -> FidelityFigure {
        let distance = (profile - real).abs();
        let is_alike = distance <= COUNT_MIN || distance <= TOLERANCE * real;
        let ratio = if real > 0.0 { profile / real } else { 0.0 };
        let word = if is_alike { FidelityWord::Alike } else { FidelityWord::Unlike };
        let name = name.to_owned();
        FidelityFigure {
            name,
            profile,
            real,
            ratio,
            low: ratio,
            high: ratio,
            word,
            ..FidelityFigure::default()
        }
    }

    /// In words, as in `server CPU, us 112.9 against 99.8`.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut words = format!("{} {:.1} against {:.1}", self.name, self.profile, self.real);
        if self.name == CPU && self.high == 0.0 {
            words.push_str(&format!(" (x{:.3}; {} rounds are too few)", self.ratio, self.rounds));
        } else if self.name == CPU {
            let percent = |share: f64| 100.0 * share;
            words.push_str(&format!(
                " (x{:.3}, {:.3} to {:.3}; the driver against itself {:.1} % and {:.1} %; {} rounds)",
                self.ratio,
                self.low,
                self.high,
                percent(self.noise.0),
                percent(self.noise.1),
                self.rounds
            ));
        }
        words
    }
}

impl Fidelity {
    /// What is said of all figures together.
    #[must_use]
    pub fn word(&self) -> FidelityWord {
        let has = |word| self.figures.iter().any(|figure| figure.word == word);
        if has(FidelityWord::Unlike) {
            FidelityWord::Unlike
        } else if has(FidelityWord::Unsure) {
            FidelityWord::Unsure
        } else {
            FidelityWord::Alike
        }
    }

    /// What is not alike, in words; absent if all is.
    #[must_use]
    pub(crate) fn complaint(&self) -> Option<String> {
        let of = |word: FidelityWord| -> Vec<String> {
            self.figures.iter().filter(|figure| figure.word == word).map(FidelityFigure::describe).collect()
        };
        let (profile, arm) = (&self.profile, &self.arm);
        match self.word() {
            FidelityWord::Alike => None,
            FidelityWord::Unlike => Some(format!(
                "profile {profile} is unfaithful in arm {arm}: per operation, profile against real driver: {}",
                of(FidelityWord::Unlike).join(", ")
            )),
            FidelityWord::Unsure => Some(format!(
                "whether profile {profile} is fidelity in arm {arm} cannot be told: {}; {} blocks left out because \
                 the hypervisor kept the cores",
                of(FidelityWord::Unsure).join(", "),
                self.blocks_left_out
            )),
        }
    }
}

/// Every pair of a profile and its driver among the arms of a run.
#[must_use]
pub fn compare(run: &Run) -> Vec<Fidelity> {
    let mut found = Vec::new();
    for (real_index, real_arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.same_as.is_none()) {
        let Some(real) = Real::named(&real_arm.driver) else { continue };
        let pair = run.arms.iter().position(|arm| {
            arm.driver == real.profile && arm.same_as.is_none() && others(arm).eq(others(real_arm))
        });
        let Some(index) = pair else { continue };
        if run.valid_blocks(index).count() < BLOCKS_MIN || run.valid_blocks(real_index).count() < BLOCKS_MIN {
            continue;
        }
        let twin = run.arms.iter().position(|arm| arm.same_as.as_ref() == Some(&real_arm.name));
        let mut fidelity = Fidelity {
            arm: run.arms[index].name.clone(),
            profile: real.profile.to_owned(),
            ..Fidelity::default()
        };
        compare_cpu(run, [Some(index), Some(real_index), twin], &mut fidelity);
        for name in COUNTERS {
            // A counter that did not move is not there.
            let of = |block: &Block| {
                let is_known = !block.status_per_op.is_empty();
                is_known.then(|| block.status_per_op.get(*name).copied().unwrap_or_default())
            };
            let middle = |arm| median(&run.valid_blocks(arm).filter_map(of).collect::<Vec<f64>>());
            if let (Some(profile), Some(real)) = (middle(index), middle(real_index)) {
                fidelity.figures.push(FidelityFigure::counted(name, profile, real));
            }
        }
        found.push(fidelity);
    }
    found
}

/// What an arm is besides its driver.
fn others(arm: &Arm) -> impl Iterator<Item = (&String, &String)> {
    arm.levels.iter().filter(|(axis, _)| *axis != "driver")
}

fn is_ours(block: &Block) -> bool {
    block.steal_share.is_none_or(|share| share <= STEAL_MAX)
}

/// Profile, driver and the driver's second arm: adds the figure of CPU where they kept one pace.
fn compare_cpu(run: &Run, arms: [Option<usize>; 3], fidelity: &mut Fidelity) {
    let [Some(profile), Some(real), twin] = arms else { return };
    let is_of_us = |block: &&Block| arms.contains(&Some(block.arm)) && block.invalid.is_none();
    let mut paces = run.blocks.iter().filter(is_of_us).map(|block| block.interval_ns);
    let Some(pace) = paces.next().filter(|&pace| pace > 0) else { return };
    if !paces.all(|other| other == pace)
        || run.blocks.iter().all(|block| block.server_cpu_ns_per_op.is_none())
    {
        return;
    }
    fidelity.interval_ns = pace;
    fidelity.blocks_left_out =
        run.blocks.iter().filter(is_of_us).filter(|block| !is_ours(block)).count() as u64;
    let of = |arm: usize, round: u32| {
        run.valid_blocks(arm)
            .find(|block| block.round == round && is_ours(block))
            .and_then(|block| block.server_cpu_ns_per_op)
            .filter(|&cpu| cpu > 0.0)
    };
    // Of each round: the profile's, the driver's, and the driver's again.
    let rounds: Vec<[f64; 3]> = run
        .valid_blocks(profile)
        .filter_map(|block| {
            Some([of(profile, block.round)?, of(real, block.round)?, of(twin?, block.round)?])
        })
        .collect();
    let middle = |place: &dyn Fn(&[f64; 3]) -> f64| {
        median(&rounds.iter().map(place).collect::<Vec<f64>>()).unwrap_or_default() / 1e3
    };
    let mut figure = FidelityFigure {
        name: CPU.to_owned(),
        profile: middle(&|[profile, ..]| *profile),
        real: middle(&|[_, real, again]| (real + again) / 2.0),
        rounds: rounds.len() as u64,
        ..FidelityFigure::default()
    };
    let ratios: Vec<f64> =
        rounds.iter().map(|[profile, real, again]| profile / ((real + again) / 2.0)).collect();
    figure.ratio = median(&ratios).unwrap_or_default();
    if rounds.len() >= ROUNDS_MIN {
        let against_itself: Vec<f64> = rounds.iter().map(|[_, real, again]| real / again).collect();
        let half =
            |parity: usize| -> Vec<f64> { against_itself.iter().skip(parity).step_by(2).copied().collect() };
        let (low, high) = interval(&ratios);
        let noise = distance_from_one(&against_itself);
        figure.low = low.min(figure.ratio * (1.0 - noise)).max(0.0);
        figure.high = high.max(figure.ratio * (1.0 + noise));
        figure.noise = (distance_from_one(&half(0)), distance_from_one(&half(1)));
        let within = 1.0 - TOLERANCE..=1.0 + TOLERANCE;
        figure.word = if within.contains(&figure.low) && within.contains(&figure.high) {
            FidelityWord::Alike
        } else if figure.high < *within.start() || figure.low > *within.end() {
            FidelityWord::Unlike
        } else {
            FidelityWord::Unsure
        };
    }
    fidelity.figures.push(figure);
}

/// The 95 % interval of the median, from one seed; 1 without values.
fn interval(values: &[f64]) -> (f64, f64) {
    median_interval(values, 1).unwrap_or((1.0, 1.0))
}

/// How far from 1 the interval of these ratios reaches.
fn distance_from_one(ratios: &[f64]) -> f64 {
    let (low, high) = interval(ratios);
    (1.0 - low).abs().max((high - 1.0).abs())
}

/// Only the server sees a real driver's bytes: takes them from its counters.
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

    fn block(arm: usize, round: u32, cpu_us: f64, bytes: f64) -> Block {
        Block {
            arm,
            round,
            operations: 10,
            interval_ns: 1_000_000,
            server_cpu_ns_per_op: Some(cpu_us * 1e3),
            status_per_op: BTreeMap::from([
                ("Bytes_received".to_owned(), bytes),
                ("Com_stmt_prepare".to_owned(), 1.01),
            ]),
            ..Block::default()
        }
    }

    /// Ten rounds: the profile's CPU against the driver's 100 us, which differs from itself by up to `noise_us`.
    fn run(cpu_us: f64, noise_us: f64, profile_bytes: f64) -> Run {
        let mut run = Run::new();
        run.arms = vec![
            arm("cj-8.3.0", "text"),
            arm("cj-8.3.0", "prepared"),
            arm("real-cj-8.3.0", "prepared"),
            arm("real-cj-8.0.33", "prepared"),
            arm("real-cj-8.3.0", "prepared"),
        ];
        run.arms[4].same_as = Some(run.arms[2].name.clone());
        run.arms[4].name.push_str(" (again)");
        for round in 0..10 {
            let noise_us = noise_us * (f64::from(round % 5) - 2.0) / 2.0;
            run.blocks.push(block(0, round, 5.0 * cpu_us, 1.0));
            run.blocks.push(block(1, round, cpu_us, profile_bytes));
            run.blocks.push(block(2, round, 100.0 + noise_us, 100.0));
            run.blocks.push(block(4, round, 100.0 - noise_us, 100.0));
        }
        run
    }

    #[test]
    fn a_profile_is_held_against_its_own_driver_with_all_else_alike() {
        let found = compare(&run(104.0, 1.0, 109.0));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].arm.as_str(), found[0].profile.as_str()), ("a/cj-8.3.0/prepared", "cj-8.3.0"));
        let cpu = &found[0].figures[0];
        assert_eq!((cpu.profile, cpu.real, cpu.rounds), (104.0, 100.0, 10));
        assert!((cpu.ratio - 1.04).abs() < 1e-9 && cpu.high < 1.1, "{cpu:?}");
        assert!(cpu.noise.0 > 0.0 && cpu.noise.1 > 0.0, "{cpu:?}");
        assert_eq!((found[0].word(), found[0].complaint()), (FidelityWord::Alike, None));
    }

    #[test]
    fn what_is_not_alike_is_named_with_both_figures() {
        let found = compare(&run(104.0, 1.0, 89.0));
        assert_eq!(found[0].word(), FidelityWord::Unlike);
        let complaint = found[0].complaint().unwrap();
        assert!(complaint.contains("Bytes_received 89.0 against 100.0"), "{complaint}");
        assert!(!complaint.contains("CPU"), "{complaint}");
        let complaint = compare(&run(120.0, 1.0, 100.0))[0].complaint().unwrap();
        assert!(complaint.contains("CPU, us 120.0 against 100.0 (x1.200"), "{complaint}");
        let mut one_block = run(100.0, 1.0, 89.0);
        one_block.blocks.truncate(4);
        assert!(compare(&one_block).is_empty());
    }

    #[test]
    fn noise_makes_it_unsure_and_never_alike_or_unlike() {
        for cpu_us in [100.0, 115.0] {
            let found = compare(&run(cpu_us, 12.0, 100.0));
            assert_eq!(found[0].word(), FidelityWord::Unsure, "{found:?}");
            assert!(found[0].complaint().unwrap().contains("cannot be told"));
        }
        // A difference beyond noise and tolerance together is one.
        assert_eq!(compare(&run(200.0, 12.0, 100.0))[0].word(), FidelityWord::Unlike);
    }

    #[test]
    fn blocks_that_the_hypervisor_disturbed_do_not_count() {
        let mut disturbed = run(100.0, 1.0, 100.0);
        for block in disturbed.blocks.iter_mut().filter(|block| block.arm == 1 && block.round < 3) {
            block.server_cpu_ns_per_op = Some(300e3);
            block.steal_share = Some(0.6);
        }
        let found = compare(&disturbed);
        assert_eq!((found[0].word(), found[0].figures[0].rounds), (FidelityWord::Alike, 7));
        assert_eq!(found[0].blocks_left_out, 3);
        for block in &mut disturbed.blocks {
            block.steal_share = Some(0.2);
        }
        assert_eq!(compare(&disturbed)[0].word(), FidelityWord::Unsure);
    }

    #[test]
    fn without_one_pace_cpu_is_not_compared() {
        let mut closed = run(300.0, 1.0, 100.0);
        for block in &mut closed.blocks {
            block.interval_ns = 0;
        }
        let found = compare(&closed);
        assert_eq!((found[0].interval_ns, found[0].word()), (0, FidelityWord::Alike));
        assert!(found[0].figures.iter().all(|figure| figure.name != CPU));
        let mut without_twin = run(100.0, 1.0, 100.0);
        without_twin.arms.truncate(4);
        without_twin.blocks.retain(|block| block.arm < 4);
        assert_eq!(compare(&without_twin)[0].word(), FidelityWord::Unsure);
    }
}
