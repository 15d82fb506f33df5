//! From blocks to comparisons: fills the noise floor, the comparisons, growth and count relations of a run.
//!
//! Which arms are compared: an arm with the arm of the first server that has the same level on every other axis. Where no
//! such arm exists (one server, varied options), with the first arm of the same size. Twins (`same_as`) give the floor.
//!
//! The second look: blocks of pass 1 are the second run. Where none was made, the later half of the rounds stands in for
//! it, if there are at least eight: it must agree by itself.

use std::collections::{BTreeMap, BTreeSet};

use crate::evidence::{Comparison, CountRelation, Growth, JudgementWord, Metric, NoiseFloor, Run};
use crate::stats::growth::{AtSize, exponent};
use crate::stats::judge::{Judgement, Rules, Suspicion, finds, hidden, judge, machine_suspect};
use crate::stats::ratio::{Block, TwoArms, compare};
use crate::stats::relation::{Observation, follows, name_of};
use crate::stats::{floor, ratio, summary};

/// What times are compared by, in the order in which they are believed: CPU survives noise, wall time does not.
pub const TIMES: [Metric; 4] =
    [Metric::ServerCpu, Metric::LatencyP50, Metric::TimePerOperation, Metric::LatencyP99];

/// Resamples behind each interval; fewer where hundreds of runs are simulated in an unoptimised build.
const RESAMPLES: usize = if cfg!(test) { 1_000 } else { ratio::RESAMPLES };
/// Rounds from which the later half can stand in for a second run.
const ROUNDS_TO_HALVE: usize = 8;
/// Counts compared at most; the largest changes first.
const COUNTS_KEPT: usize = 40;

/// What is worth a word in a metric.
#[must_use]
pub fn rules(metric: Metric) -> Rules {
    match metric {
        Metric::ServerCpu | Metric::RunQueue => Rules::CPU_NS,
        Metric::LatencyP50 | Metric::LatencyP99 | Metric::TimePerOperation => Rules::WALL_NS,
        Metric::Count => Rules::COUNT,
    }
}

/// A metric in words.
#[must_use]
pub(crate) fn metric_name(metric: Metric) -> &'static str {
    match metric {
        Metric::ServerCpu => "server CPU per operation",
        Metric::RunQueue => "run-queue time per operation",
        Metric::LatencyP50 => "median latency",
        Metric::LatencyP99 => "99th percentile of latency",
        Metric::TimePerOperation => "time per operation",
        Metric::Count => "count per operation",
    }
}

/// The arm an arm is compared with.
#[must_use]
pub(crate) fn base_of(run: &Run, arm: usize) -> Option<usize> {
    let this = run.arms.get(arm)?;
    let first = run.servers.first().map(|server| server.name.as_str());
    let others = |levels: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        levels.iter().filter(|(axis, _)| *axis != "server").map(|(a, b)| (a.clone(), b.clone())).collect()
    };
    let candidates = || {
        run.arms
            .iter()
            .enumerate()
            .filter(|(index, other)| *index != arm && other.same_as.is_none() && other.scale == this.scale)
    };
    let own = others(&this.levels);
    if first.is_some_and(|first| first != this.server) {
        let twin = candidates().find(|(_, other)| {
            Some(other.server.as_str()) == first
                && others(&other.levels) == own
                && other.driver == this.driver
                && (other.connections, other.idle_connections) == (this.connections, this.idle_connections)
        });
        if let Some((index, _)) = twin {
            return Some(index);
        }
    }
    // The first of the same size on the same server; else the first of the same size.
    let (index, _) =
        candidates().find(|(_, other)| other.server == this.server).or_else(|| candidates().next())?;
    (index < arm).then_some(index)
}

/// Values of one metric by round, as (round, value); `pass` alone, or every pass.
fn values(run: &Run, arm: usize, metric: Metric, count: Option<&str>, pass: Option<u32>) -> Vec<(u32, f64)> {
    let mut found: Vec<(u32, u32, f64)> = run
        .valid_blocks(arm)
        .filter(|block| pass.is_none_or(|pass| block.pass == pass))
        .filter_map(|block| block.value(metric, count).map(|value| (block.pass, block.round, value)))
        .collect();
    found.sort_by_key(|found| (found.0, found.1));
    found.into_iter().map(|(_, round, value)| (round, value)).collect()
}

/// Blocks of two arms paired by round; a round that one of them lacks is left out.
fn paired(base: &[(u32, f64)], other: &[(u32, f64)]) -> (Vec<Block>, Vec<Block>) {
    let by_round: BTreeMap<u32, f64> = other.iter().copied().collect();
    base.iter()
        .filter_map(|(round, value)| Some((Block::new(&[*value])?, Block::new(&[*by_round.get(round)?])?)))
        .unzip()
}

fn median_of(run: &Run, arm: usize, metric: Metric, count: Option<&str>) -> Option<f64> {
    summary::median(
        &values(run, arm, metric, count, None).iter().map(|(_, value)| *value).collect::<Vec<_>>(),
    )
}

/// The middle of a metric over the valid blocks of an arm.
#[must_use]
pub fn middle(run: &Run, arm: usize, metric: Metric) -> Option<f64> {
    median_of(run, arm, metric, None)
}

fn noise(run: &Run, seed: u64) -> Vec<NoiseFloor> {
    let twins: Vec<(usize, usize)> = run
        .arms
        .iter()
        .enumerate()
        .filter_map(|(index, arm)| {
            let name = arm.same_as.as_deref()?;
            Some((run.arms.iter().position(|other| other.name == name)?, index))
        })
        .collect();
    TIMES
        .into_iter()
        .filter_map(|metric| {
            let floors: Vec<floor::NoiseFloor> = twins
                .iter()
                .filter_map(|(one, other)| {
                    let (base, other) = paired(
                        &values(run, *one, metric, None, None),
                        &values(run, *other, metric, None, None),
                    );
                    floor::NoiseFloor::measure(TwoArms { base: &base, other: &other }, RESAMPLES, seed)
                })
                .collect();
            let widest = floor::NoiseFloor::widest(&floors)?;
            Some(NoiseFloor {
                metric,
                ratio_low: widest.low,
                ratio_high: widest.high,
                pairs: widest.rounds as u64,
            })
        })
        .collect()
}

fn floor_for(run: &Run, metric: Metric) -> floor::NoiseFloor {
    run.noise.iter().find(|noise| noise.metric == metric).map_or(floor::NoiseFloor::SILENT, |noise| {
        floor::NoiseFloor {
            low: noise.ratio_low,
            high: noise.ratio_high,
            seen: 1.0,
            rounds: noise.pairs as usize,
        }
    })
}

/// First run and second run of one pair.
struct Pair {
    base: usize,
    arm: usize,
    all: ratio::Comparison,
    again: Option<ratio::Comparison>,
}

fn measure(
    run: &Run,
    base: usize,
    arm: usize,
    metric: Metric,
    count: Option<&str>,
    seed: u64,
) -> Option<Pair> {
    let blocks =
        |pass| paired(&values(run, base, metric, count, pass), &values(run, arm, metric, count, pass));
    let both = |(base, other): &(Vec<Block>, Vec<Block>)| compare(TwoArms { base, other }, RESAMPLES, seed);
    let second = blocks(Some(1));
    if second.0.len() >= 2 {
        return Some(Pair { base, arm, all: both(&blocks(Some(0)))?, again: both(&second) });
    }
    let all = blocks(None);
    let half = all.0.len() / 2;
    let again = (all.0.len() >= ROUNDS_TO_HALVE)
        .then(|| compare(TwoArms { base: &all.0[half..], other: &all.1[half..] }, RESAMPLES, seed))
        .flatten();
    Some(Pair { base, arm, all: both(&all)?, again })
}

fn comparison(
    pair: &Pair,
    metric: Metric,
    count: Option<&str>,
    p: f64,
    floor: &floor::NoiseFloor,
) -> Comparison {
    let rules = rules(metric);
    let first = &pair.all;
    let said = judge(first, p, pair.again.as_ref(), floor, &rules);
    let (judgement, hidden_share) = match said {
        Judgement::NoDifference { hidden } => (JudgementWord::NoDifference, hidden),
        Judgement::Small { hidden } => (JudgementWord::Small, hidden),
        Judgement::WithinNoise { hidden } => (JudgementWord::WithinNoise, hidden),
        Judgement::TooNoisy { hidden } => (JudgementWord::TooNoisy, hidden),
        Judgement::Slower => (JudgementWord::Slower, hidden(first)),
        Judgement::Faster => (JudgementWord::Faster, hidden(first)),
        Judgement::Unconfirmed { .. } => (JudgementWord::Unconfirmed, hidden(first)),
    };
    let effect = first.ratio.ln().abs().exp() - 1.0;
    let agrees = pair.again.is_some_and(|again| {
        finds(&again, again.p, floor, &rules) && (again.ratio > 1.0) == (first.ratio > 1.0)
    });
    Comparison {
        base: pair.base,
        arm: pair.arm,
        metric,
        count_name: count.map(str::to_owned),
        base_value: first.base_median,
        arm_value: first.other_median,
        ratio: first.ratio,
        ci_low: first.low,
        ci_high: first.high,
        p_value: Some(p),
        cliff_delta: Some(first.delta),
        blocks: (first.rounds as u64, first.rounds as u64),
        is_significant: matches!(judgement, JudgementWord::Slower | JudgementWord::Faster),
        judgement,
        hidden: hidden_share,
        rules: vec![
            ("the 95 % interval excludes 1".to_owned(), first.excludes_one()),
            (format!("at least {:.0} % apart", rules.effect_least * 100.0), effect >= rules.effect_least),
            (
                "apart by enough units to matter".to_owned(),
                (first.other_median - first.base_median).abs() >= rules.absolute_least,
            ),
            (
                format!("outside the noise floor {:.3} to {:.3}", floor.low, floor.high),
                floor.is_below(first.ratio),
            ),
            (format!("chance {p:.4} (Holm) is below {:.2}", rules.level), p <= rules.level),
            ("a second run agrees".to_owned(), agrees),
        ],
    }
}

/// Every arm with the one it is compared with.
fn pairs(run: &Run) -> Vec<(usize, usize)> {
    (0..run.arms.len())
        .filter(|arm| run.arms[*arm].same_as.is_none())
        .filter_map(|arm| Some((base_of(run, arm)?, arm)))
        .collect()
}

fn times(run: &Run, seed: u64) -> Vec<Comparison> {
    let pairs = pairs(run);
    let mut out = Vec::new();
    for metric in TIMES {
        let measured: Vec<Pair> =
            pairs.iter().filter_map(|(base, arm)| measure(run, *base, *arm, metric, None, seed)).collect();
        let corrected = crate::stats::rank::holm(&measured.iter().map(|pair| pair.all.p).collect::<Vec<_>>());
        let floor = floor_for(run, metric);
        for (pair, p) in measured.iter().zip(corrected) {
            out.push(comparison(pair, metric, None, p, &floor));
        }
    }
    out
}

fn changed_counts(run: &Run, seed: u64) -> Vec<Comparison> {
    let mut counts: Vec<Comparison> = Vec::new();
    for (base, arm) in &pairs(run) {
        let names: BTreeSet<&String> = run
            .valid_blocks(*base)
            .chain(run.valid_blocks(*arm))
            .flat_map(|block| block.status_per_op.keys())
            .collect();
        for name in names {
            let (Some(was), Some(is)) = (
                median_of(run, *base, Metric::Count, Some(name)),
                median_of(run, *arm, Metric::Count, Some(name)),
            ) else {
                continue;
            };
            // Less than one in a hundred operations is the server's own housekeeping.
            if (is - was).abs() < 0.01 || ((is / was).ln().abs() < 0.05 && was > 0.0) {
                continue;
            }
            if let Some(pair) = measure(run, *base, *arm, Metric::Count, Some(name), seed) {
                let floor = floor::NoiseFloor::SILENT;
                counts.push(comparison(&pair, Metric::Count, Some(name), pair.all.p, &floor));
            }
        }
    }
    counts.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    counts.truncate(COUNTS_KEPT);
    counts
}

/// Arms that differ in size alone, by what they share.
fn groups(run: &Run) -> BTreeMap<String, Vec<usize>> {
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, arm) in run.arms.iter().enumerate().filter(|(_, arm)| arm.same_as.is_none()) {
        if arm.scale.is_some() {
            groups.entry(group_of(run, index)).or_default().push(index);
        }
    }
    groups
}

/// An arm's name without its size.
#[must_use]
pub(crate) fn group_of(run: &Run, arm: usize) -> String {
    let Some(this) = run.arms.get(arm) else { return String::new() };
    let scale_name = run.scenario.scale_name.as_deref().unwrap_or("");
    let levels: Vec<String> = this
        .levels
        .iter()
        .filter(|(axis, _)| !["server", "driver", "scale", scale_name].contains(&axis.as_str()))
        .map(|(axis, level)| format!("{axis}={level}"))
        .collect();
    let mut parts = vec![this.server.clone()];
    if !this.driver.is_empty() {
        parts.push(this.driver.clone());
    }
    parts.extend(levels);
    parts.join("/")
}

fn growths(run: &Run, seed: u64) -> Vec<Growth> {
    let mut out = Vec::new();
    for (group, arms) in groups(run) {
        for metric in [Metric::ServerCpu, Metric::LatencyP50] {
            let cells: Vec<AtSize> = arms
                .iter()
                .filter_map(|arm| {
                    let costs = values(run, *arm, metric, None, None).iter().map(|(_, cost)| *cost).collect();
                    Some(AtSize { size: run.arms[*arm].scale? as f64, costs })
                })
                .collect();
            if let Some(found) = exponent(&cells, RESAMPLES / 10, seed) {
                let mut points: Vec<(f64, f64)> = cells
                    .iter()
                    .filter_map(|cell| Some((cell.size, summary::median(&cell.costs)?)))
                    .collect();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                out.push(Growth {
                    group: group.clone(),
                    metric,
                    count_name: None,
                    points,
                    exponent: found.exponent,
                    exponent_low: found.low,
                    exponent_high: found.high,
                });
            }
        }
        out.extend(call_time_growths(run, &group, &arms, seed));
    }
    out
}

/// How the median time of a call grows, for each function whose calls were timed.
fn call_time_growths(run: &Run, group: &str, arms: &[usize], seed: u64) -> Vec<Growth> {
    let is_time = |count: &&CountRelation| count.source == "uprobe" && count.name.ends_with("_ns");
    let of_group = || run.counts.iter().filter(is_time).filter(|count| arms.contains(&count.arm));
    let names: BTreeSet<&str> = of_group().map(|count| count.name.as_str()).collect();
    let growth = |name: &str| {
        let mut points: Vec<(f64, f64)> = of_group()
            .filter(|count| count.name == name)
            .filter_map(|count| Some((run.arms[count.arm].scale? as f64, count.per_op)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let cells: Vec<AtSize> =
            points.iter().map(|&(size, cost)| AtSize { size, costs: vec![cost] }).collect();
        let found = exponent(&cells, RESAMPLES / 10, seed)?;
        Some(Growth {
            group: group.to_owned(),
            metric: Metric::Count,
            count_name: Some(name.to_owned()),
            points,
            exponent: found.exponent,
            exponent_low: found.low,
            exponent_high: found.high,
        })
    };
    names.into_iter().filter_map(growth).collect()
}

/// What an operation of an arm consists of: what a count may follow.
fn quantities(run: &Run, arm: usize) -> BTreeMap<String, f64> {
    let this = &run.arms[arm];
    let middle = |of: &dyn Fn(&crate::evidence::Block) -> f64| {
        summary::median(&run.valid_blocks(arm).map(of).collect::<Vec<_>>())
    };
    let mut of: BTreeMap<String, f64> = BTreeMap::new();
    let mut put = |name: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            of.insert(name.to_owned(), value);
        }
    };
    put("rows sent", middle(&|block| block.rows_per_op));
    let is_counted = run.valid_blocks(arm).any(|block| block.rows_read_per_op() > 0.0);
    put("rows examined", is_counted.then(|| middle(&crate::evidence::Block::rows_read_per_op)).flatten());
    put("connections", Some(f64::from(this.connections + this.idle_connections)));
    put("bytes", middle(&|block| block.bytes_up_per_op + block.bytes_down_per_op));
    for (axis, level) in &this.levels {
        let name = match axis.as_str() {
            "params" => "parameters",
            "scale" | "server" | "driver" | "connections" => continue,
            other => other,
        };
        put(name, level.parse().ok());
    }
    if let (Some(scale), Some(name)) = (this.scale, run.scenario.scale_name.as_deref()) {
        put(name, Some(scale as f64));
    }
    of
}

fn count_relations(run: &Run) -> Vec<CountRelation> {
    let mut counts: Vec<CountRelation> =
        run.counts.iter().filter(|count| count.source != "status").cloned().collect();
    for (_, arms) in groups(run) {
        let names: BTreeSet<String> = arms
            .iter()
            .flat_map(|arm| run.valid_blocks(*arm).flat_map(|block| block.status_per_op.keys().cloned()))
            .collect();
        for name in names {
            for arm in &arms {
                let per_op = median_of(run, *arm, Metric::Count, Some(&name)).unwrap_or(0.0);
                counts.push(CountRelation {
                    name: name.clone(),
                    source: "status".to_owned(),
                    arm: *arm,
                    per_op,
                    ..CountRelation::default()
                });
            }
        }
    }
    for (_, arms) in groups(run) {
        let names: BTreeSet<(String, String)> = counts
            .iter()
            .filter(|count| arms.contains(&count.arm))
            .map(|count| (count.source.clone(), count.name.clone()))
            .collect();
        for (source, name) in names {
            let of_this = |count: &&mut CountRelation| {
                arms.contains(&count.arm) && count.source == source && count.name == name
            };
            let cells: Vec<Observation> = counts
                .iter_mut()
                .filter(of_this)
                .map(|count| Observation { count: count.per_op, of: quantities(run, count.arm) })
                .collect();
            let Some(found) = follows(&cells) else { continue };
            let mut words = vec![found.name()];
            words.extend(found.or.iter().map(|other| name_of(other)));
            for count in counts.iter_mut().filter(of_this) {
                count.follows = Some(words.join(" or "));
                count.factor = Some(found.factor);
            }
        }
    }
    // Silent counters and those of one arm alone say nothing.
    counts.retain(|count| count.source != "status" || (count.follows.is_some() && count.per_op >= 0.01));
    counts
}

/// Fills the noise floor and the comparisons of times alone: enough to see whether there is anything to look into.
pub(crate) fn compare_times(run: &mut Run, seed: u64) {
    run.noise = noise(run, seed);
    run.comparisons = times(run, seed);
}

/// Fills `noise`, `comparisons`, `growth` and `counts` of a run from its blocks, and warns where the machine is suspect.
///
/// The same run and seed give the same answer. Counts of other sources than status counters must stand in `run.counts`
/// already; they get what they follow.
pub(crate) fn analyse(run: &mut Run, seed: u64) {
    compare_times(run, seed);
    run.comparisons.extend(changed_counts(run, seed));
    run.growth = growths(run, seed);
    run.counts = count_relations(run);
    let ratios: Vec<f64> = run
        .comparisons
        .iter()
        .filter(|found| found.metric == Metric::LatencyP50)
        .map(|found| found.ratio)
        .collect();
    let said = match machine_suspect(&ratios, None) {
        Some(Suspicion::OneSidedCrowd { same_way, of, middle }) => format!(
            "suspect the machine: {same_way} of {of} comparisons point the same way, by about {:+.0} %",
            (middle - 1.0) * 100.0
        ),
        Some(Suspicion::UnequalTwins { seen }) => {
            format!("suspect the machine: the same arm against itself gave a ratio of {seen:.2}")
        }
        None => return,
    };
    if !run.warnings.contains(&said) {
        run.warnings.push(said);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::evidence::{Arm, Block, LatencySummary, Server};
    use crate::stats::seeded::Seeded;

    /// A made run: two servers and a twin of the first, `rounds` rounds; the cost of an arm comes from `cost`.
    pub(crate) fn made(rounds: u32, sizes: &[u64], seed: u64, cost: impl Fn(&str, u64) -> f64) -> Run {
        let mut run = Run::new();
        run.scenario.scale_name = Some("rows".to_owned());
        for name in ["old", "new"] {
            run.servers.push(Server {
                name: name.to_owned(),
                url: format!("mysql://root@127.0.0.1/{name}"),
                ..Server::default()
            });
        }
        for size in sizes {
            for (server, twin) in [("old", false), ("new", false), ("old", true)] {
                let name = format!("{server}/rows={size}");
                run.arms.push(Arm {
                    name: if twin { format!("{name}/again") } else { name.clone() },
                    server: server.to_owned(),
                    driver: "native".to_owned(),
                    levels: BTreeMap::from([
                        ("server".to_owned(), server.to_owned()),
                        ("rows".to_owned(), size.to_string()),
                    ]),
                    scale: Some(*size),
                    connections: 1,
                    same_as: twin.then_some(name),
                    ..Arm::default()
                });
            }
        }
        let mut chance = Seeded::new(seed);
        let mut now = 0;
        for round in 0..rounds {
            let mut order: Vec<usize> = (0..run.arms.len()).collect();
            chance.shuffle(&mut order);
            for (position, arm) in order.into_iter().enumerate() {
                let size = run.arms[arm].scale.unwrap_or(1);
                let cpu = cost(&run.arms[arm].server, size) * (0.02 * chance.normal()).exp();
                let wall = (cpu + 80_000.0) * (0.04 * chance.normal()).exp();
                let latency = LatencySummary {
                    count: 100,
                    p50_ns: wall as u64,
                    mean_ns: wall,
                    p99_ns: (wall * 1.8) as u64,
                    ..LatencySummary::default()
                };
                run.blocks.push(Block {
                    arm,
                    round,
                    position: u32::try_from(position).unwrap(),
                    started_ns: now,
                    duration_ns: (wall * 100.0) as u64,
                    operations: 100,
                    statements: 100,
                    latency: latency.clone(),
                    service: latency,
                    server_cpu_ns_per_op: Some(cpu),
                    server_run_queue_ns_per_op: Some(2_000.0),
                    status_per_op: BTreeMap::from([("Handler_read_next".to_owned(), size as f64)]),
                    client_cpu_ns_per_op: 4_000.0,
                    client_busy: 0.3,
                    bytes_up_per_op: 40.0,
                    bytes_down_per_op: 100.0,
                    rows_per_op: 1.0,
                    result_hash: Some("same".to_owned()),
                    ..Block::default()
                });
                now += (wall * 100.0) as u64;
            }
        }
        run
    }

    #[test]
    fn alike_arms_are_said_to_be_alike_and_a_slow_one_is_named() {
        let mut alike = made(12, &[100], 1, |_, size| size as f64 * 1e4);
        analyse(&mut alike, 7);
        assert!(alike.comparisons.iter().all(|found| !found.is_significant), "{:?}", alike.comparisons);
        assert_eq!(alike.noise.len(), 4);
        let mut slow =
            made(12, &[100], 1, |server, size| size as f64 * if server == "new" { 1.3e4 } else { 1e4 });
        analyse(&mut slow, 7);
        let cpu = &slow.comparisons[0];
        assert_eq!((cpu.metric, cpu.base, cpu.arm), (Metric::ServerCpu, 0, 1));
        assert_eq!(cpu.judgement, JudgementWord::Slower, "{cpu:?}");
        assert!(cpu.ci_low < 1.3 && 1.3 < cpu.ci_high && cpu.rules.iter().all(|(_, held)| *held));
        let again = slow.clone();
        analyse(&mut slow, 7);
        assert_eq!(slow, again, "asked twice, the same answer");
    }

    #[test]
    fn growth_and_what_a_count_follows_are_found_over_sizes() {
        let mut run = made(8, &[100, 200, 400, 800], 1, |server, size| {
            let size = size as f64;
            if server == "old" { size * size * 50.0 } else { size * 1e4 }
        });
        analyse(&mut run, 7);
        let of = |group: &str| run.growth.iter().find(|growth| growth.group.starts_with(group)).unwrap();
        assert!((of("old").exponent - 2.0).abs() < 0.1 && (of("new").exponent - 1.0).abs() < 0.1);
        let count = run.counts.iter().find(|count| count.name == "Handler_read_next").unwrap();
        // The only thing read is what is examined, and as many as the scenario's rows: both are named.
        assert!(count.follows.as_deref().unwrap().contains("rows examined"), "{count:?}");
    }

    #[test]
    fn two_hundred_runs_against_itself_raise_no_alarm() {
        let mut alarms = 0;
        for seed in 0..200 {
            let mut run = made(10, &[100], 500 + seed, |_, _| 1e6);
            alarms += u32::from(finds_latency(&mut run, seed));
        }
        assert!(alarms <= 2, "{alarms} of 200");
    }

    fn finds_latency(run: &mut Run, seed: u64) -> bool {
        run.noise = noise(run, seed);
        let pair = measure(run, 0, 1, Metric::LatencyP50, None, seed).unwrap();
        comparison(&pair, Metric::LatencyP50, None, pair.all.p, &floor_for(run, Metric::LatencyP50))
            .is_significant
    }
}
