//! The sum rule: the difference in wall time must be the sum of the differences of its layers, and a rest.
//!
//! Wall time of an operation = client + think + upload + server + download, and the server's part = on a core + waiting for
//! a core + waiting for something else. The last is known only where a tap saw the server's part; without one it is in the
//! rest, together with network and proxy. A rest above a fifth of the difference means that something was not seen.

use crate::evidence::{Block, PhaseTimes, Run, SumPart, SumRule};
use crate::knowledge::signature::Pair;
use crate::stats::seeded::Seeded;
use crate::stats::summary::{median, quantile_of_sorted, sorted};

const RESAMPLES: usize = 2_000;

/// Middle and 95 % interval of the differences within rounds.
fn part(run: &Run, pair: Pair, name: &str, of: &dyn Fn(&Block) -> Option<f64>, seed: u64) -> Option<SumPart> {
    let differences: Vec<f64> = run
        .valid_blocks(pair.fast)
        .filter_map(|fast| {
            let slow = run
                .valid_blocks(pair.slow)
                .find(|slow| (slow.pass, slow.round) == (fast.pass, fast.round))?;
            Some(of(slow)? - of(fast)?)
        })
        .collect();
    let delta_ns = median(&differences)?;
    let mut chance = Seeded::new(seed);
    let mut drawn = vec![0.0; differences.len()];
    let medians: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            for slot in &mut drawn {
                *slot = differences[chance.below(differences.len())];
            }
            median(&drawn)
        })
        .collect();
    let medians = sorted(&medians);
    Some(SumPart {
        name: name.to_owned(),
        delta_ns,
        low_ns: quantile_of_sorted(&medians, 0.025)?,
        high_ns: quantile_of_sorted(&medians, 0.975)?,
    })
}

/// A part that was measured once for each arm, without an interval of its own.
fn fixed(name: &str, delta_ns: f64) -> SumPart {
    SumPart { name: name.to_owned(), delta_ns, low_ns: delta_ns, high_ns: delta_ns }
}

/// Sums something over the commands of one operation of an arm; `None` without a tap.
fn over_phases(run: &Run, arm: usize, of: &dyn Fn(&PhaseTimes) -> f64) -> Option<f64> {
    let mut phases = run.phases.iter().filter(|phase| phase.arm == arm).peekable();
    phases.peek()?;
    Some(phases.map(|phase| phase.per_op * of(phase)).sum())
}

/// Splits the difference of a pair. `None` if wall times of both were not measured in the same rounds.
#[must_use]
pub fn of(run: &Run, pair: Pair, seed: u64) -> Option<SumRule> {
    let wall = |block: &Block| (block.service.count > 0).then_some(block.service.mean_ns);
    let total = part(run, pair, "wall", &wall, seed)?;
    let mut parts = Vec::new();
    let cpu = part(run, pair, "server-cpu", &|block| block.server_cpu_ns_per_op, seed);
    let queue = part(run, pair, "run-queue", &|block| block.server_run_queue_ns_per_op, seed);
    let between = |of: &dyn Fn(&PhaseTimes) -> f64| {
        Some(over_phases(run, pair.slow, of)? - over_phases(run, pair.fast, of)?)
    };
    if let Some(server) = between(&|phase| phase.server_ns)
        && let (Some(cpu), Some(queue)) = (&cpu, &queue)
    {
        parts.push(fixed("off-cpu", server - cpu.delta_ns - queue.delta_ns));
    } else if let Some(server) = between(&|phase| phase.server_ns)
        && cpu.is_none()
    {
        parts.push(fixed("server", server));
    }
    parts.extend(cpu);
    parts.extend(queue);
    parts.extend(between(&|phase| phase.upload_ns + phase.download_ns).map(|delta| fixed("network", delta)));
    parts.extend(between(&|phase| phase.think_ns).map(|delta| fixed("app", delta)));
    parts.extend(part(run, pair, "client", &|block| Some(block.client_cpu_ns_per_op), seed));
    let residual_ns = total.delta_ns - parts.iter().map(|part| part.delta_ns).sum::<f64>();
    let residual_share = if total.delta_ns == 0.0 { 0.0 } else { residual_ns.abs() / total.delta_ns.abs() };
    Some(SumRule { fast_arm: pair.fast, slow_arm: pair.slow, total, parts, residual_ns, residual_share })
}

/// A layer's share of the difference; `None` if it was not measured.
#[must_use]
pub fn share(sum: &SumRule, name: &str) -> Option<f64> {
    let part = sum.parts.iter().find(|part| part.name == name)?;
    (sum.total.delta_ns > 0.0).then(|| part.delta_ns / sum.total.delta_ns)
}

/// In one line.
#[must_use]
pub fn in_words(sum: &SumRule) -> String {
    use crate::report::words::nanoseconds;
    let parts: Vec<String> =
        sum.parts.iter().map(|part| format!("{} {}", part.name, nanoseconds(part.delta_ns))).collect();
    format!(
        "{} more wall time = {}, rest {} ({:.0} %)",
        nanoseconds(sum.total.delta_ns),
        parts.join(" + "),
        nanoseconds(sum.residual_ns),
        sum.residual_share * 100.0
    )
}
