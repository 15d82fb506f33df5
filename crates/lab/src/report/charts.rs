//! Which charts a run gives, from its evidence alone.

use super::arms_to_draw;
use super::svg::{Axis, Bar, Join, Series, bars, chart};
use crate::analysis::metric_name;
use crate::evidence::{Metric, Run};
use crate::format::{digits, nanoseconds, value};
use crate::verdict::sum;

/// Arms in one chart at most; more lines than colours cannot be distinguished.
const ARMS_DRAWN: usize = 8;

const TIME_AXIS: Axis<'static> = Axis { label: "since the run began, s", is_log: false, format: digits };

fn latency_axis(label: &str, is_log: bool) -> Axis<'_> {
    Axis { label, is_log, format: nanoseconds }
}

/// Median (lines) and 99th percentile (broken lines) of each block.
#[must_use]
pub(crate) fn latency_over_time(run: &Run) -> String {
    let mut series = Vec::new();
    for (colour, arm) in arms_to_draw(run, ARMS_DRAWN).into_iter().enumerate() {
        let mut blocks: Vec<_> = run.valid_blocks(arm).filter(|block| block.latency.count > 0).collect();
        blocks.sort_by_key(|block| block.started_ns);
        let points = |of: &dyn Fn(&crate::evidence::Block) -> u64| {
            blocks.iter().map(|block| (block.started_ns as f64 / 1e9, of(block) as f64)).collect()
        };
        let name = run.arms[arm].name.clone();
        let median = points(&|block| block.latency.p50_ns);
        series.push(Series { name: format!("{name}: median"), points: median, colour, join: Join::Dots });
        if colour < 2 {
            let tail = points(&|block| block.latency.p99_ns);
            series.push(Series { name: format!("{name}: 99 %"), points: tail, colour, join: Join::Broken });
        }
    }
    chart("Latency over time, a point a block", TIME_AXIS, latency_axis("latency", true), &series)
}

/// Which share of operations is faster than what.
#[must_use]
pub(crate) fn distribution(run: &Run) -> String {
    let mut series = Vec::new();
    for (colour, arm) in arms_to_draw(run, ARMS_DRAWN).into_iter().enumerate() {
        let mut buckets: std::collections::BTreeMap<u64, u64> = std::collections::BTreeMap::new();
        for (upper, count) in run.valid_blocks(arm).flat_map(|block| &block.latency.buckets) {
            *buckets.entry(*upper).or_default() += count;
        }
        let all: u64 = buckets.values().sum();
        let mut below = 0;
        let points: Vec<(f64, f64)> = buckets
            .into_iter()
            .map(|(upper, count)| {
                below += count;
                (upper as f64, 100.0 * below as f64 / all.max(1) as f64)
            })
            .collect();
        if !points.is_empty() {
            series.push(Series { name: run.arms[arm].name.clone(), points, colour, join: Join::Steps });
        }
    }
    let share = Axis { label: "share of operations, %", is_log: false, format: digits };
    chart("Distribution of latency", latency_axis("latency at most", true), share, &series)
}

/// Cost over size with the fitted exponents.
#[must_use]
pub fn growth(run: &Run) -> String {
    let has_cpu = run.growth.iter().any(|growth| growth.metric == Metric::ServerCpu);
    let metric = if has_cpu { Metric::ServerCpu } else { Metric::LatencyP50 };
    let series: Vec<Series> = run
        .growth
        .iter()
        .filter(|growth| growth.metric == metric)
        .take(ARMS_DRAWN)
        .enumerate()
        .map(|(colour, growth)| Series {
            name: format!(
                "{}: exponent {:.2} ({:.2} to {:.2})",
                growth.group, growth.exponent, growth.exponent_low, growth.exponent_high
            ),
            points: growth.points.clone(),
            colour,
            join: Join::Dots,
        })
        .collect();
    let size = run.scenario.scale_name.as_deref().unwrap_or("size");
    let x = Axis { label: size, is_log: true, format: digits };
    chart("Growth with size", x, latency_axis(metric_name(metric), true), &series)
}

/// Phases of the protocol, one bar an arm.
#[must_use]
pub(crate) fn phases(run: &Run) -> String {
    let rows: Vec<Bar> = arms_to_draw(run, ARMS_DRAWN)
        .into_iter()
        .filter_map(|arm| {
            let parts: Vec<(String, f64, usize)> = run
                .phases
                .iter()
                .filter(|phase| phase.arm == arm)
                .flat_map(|phase| {
                    let named = |name: &str, ns: f64, colour| {
                        (format!("{} {name}", phase.command), ns * phase.per_op, colour)
                    };
                    [
                        named("think", phase.think_ns, 7),
                        named("upload", phase.upload_ns, 5),
                        named("server", phase.server_ns, 1),
                        named("download", phase.download_ns, 2),
                    ]
                })
                .collect();
            let total: f64 = parts.iter().map(|part| part.1).sum();
            (!parts.is_empty()).then(|| Bar {
                label: run.arms[arm].name.clone(),
                from: 0.0,
                parts,
                interval: None,
                value: nanoseconds(total),
            })
        })
        .collect();
    bars("Phases of the protocol, per operation", &rows)
}

/// The sum rule as a waterfall: each layer begins where the one before ended.
#[must_use]
pub(crate) fn waterfall(run: &Run) -> String {
    let Some(sum) = &run.sum else { return String::new() };
    let added = sum::added_ns(sum);
    // Shares are of all that was added; what a layer saves has none.
    let share = |delta_ns: f64| {
        let is_share = sum::is_divisible(sum) && delta_ns > 0.0 && added.is_finite();
        if is_share { format!(" ({:.0} %)", 100.0 * delta_ns / added) } else { String::new() }
    };
    let mut rows = Vec::new();
    let mut at = 0.0;
    for (index, part) in sum.parts.iter().enumerate() {
        rows.push(Bar {
            label: sum::part_name(&part.name).to_owned(),
            from: at,
            parts: vec![(String::new(), part.delta_ns, index)],
            interval: (part.low_ns != part.high_ns).then_some((at + part.low_ns, at + part.high_ns)),
            value: nanoseconds(part.delta_ns) + &share(part.delta_ns),
        });
        at += part.delta_ns;
    }
    rows.push(Bar {
        label: "not seen".to_owned(),
        from: at,
        parts: vec![(String::new(), sum.residual_ns, 7)],
        interval: None,
        value: nanoseconds(sum.residual_ns) + &share(sum.residual_ns),
    });
    rows.push(Bar {
        label: "wall time".to_owned(),
        from: 0.0,
        parts: vec![(String::new(), sum.total.delta_ns, 1)],
        interval: Some((sum.total.low_ns, sum.total.high_ns)),
        value: nanoseconds(sum.total.delta_ns),
    });
    let of = if sum::is_divisible(sum) {
        format!(", shares of the {} added", nanoseconds(added))
    } else {
        ", within the noise".to_owned()
    };
    bars(&format!("Where the difference lies, per operation{of}"), &rows)
}

/// Each intervention: before, with it, and with it reverted.
#[must_use]
pub(crate) fn interventions(run: &Run) -> Vec<String> {
    run.interventions
        .iter()
        .map(|change| {
            let bar = |label: &str, of: f64, colour| Bar {
                label: label.to_owned(),
                from: 0.0,
                parts: vec![(String::new(), of, colour)],
                interval: None,
                value: value(change.metric, of),
            };
            let rows = [
                bar("before", change.before, 1),
                bar("with the change", change.during, 2),
                bar("reverted", change.after, 1),
            ];
            bars(&format!("{}: {:.0} % of the gap went", change.what, change.recovered * 100.0), &rows)
        })
        .collect()
}
