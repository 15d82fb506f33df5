//! The standing comparison: one fixed set of work on one server and its rivals, a row of figures for each run, and the history
//! of such rows.
//!
//! The set is what users meet: the five sysbench-like loads with 1 and 16 connections, the five incidents, one load over ever
//! more connections. Each is a run of the matrix, so servers take turns within rounds and the noise is measured along. The
//! first server is the one judged: ratios are its figure over a rival's, so below 1 is better.
//!
//! Rows of different machines or sets are never drawn in one line: [`row::Row::machine`] and [`row::Row::set`] distinguish them.
//!
//! Read next: [`row`] (what is kept), [`page`] (how the history looks).

pub mod page;
pub mod row;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use client::Options;

use crate::bench::row::{Figure, Ratio, Row, ServerRow};
use crate::evidence::{Comparison, JudgementWord, Metric, Run};
use crate::matrix::cell::Choice;
use crate::matrix::{self, MatrixError, Progress, Request};
use crate::scenario::{Protocol, Scenario, VARIANT_DEFAULT, shipped};
use crate::{analysis, interrupt};

/// Rounds of each part at least, time permitting, and at most: from eight on its later half can confirm the whole.
const ROUNDS: (usize, usize) = (8, 20);
/// Of the time left, this share goes to blocks: loading data and connecting takes the rest.
const SHARE_MEASURED: f64 = 0.75;
/// No part gets less time for its blocks.
const PART_SECONDS_LEAST: f64 = 1.0;
/// Figures that are compared.
const METRICS: [Metric; 2] = [Metric::ServerCpu, Metric::LatencyP50];

/// A part of the set: a scenario and which of its arms.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// A shipped scenario's id.
    pub scenario: &'static str,
    protocols: &'static [Protocol],
    connections: &'static [u32],
    scale: &'static [u64],
}

const fn sysbench_like(scenario: &'static str, protocols: &'static [Protocol]) -> Part {
    Part { scenario, protocols, connections: &[1, 16], scale: &[] }
}

const fn incident(scenario: &'static str, scale: &'static [u64]) -> Part {
    Part { scenario, protocols: &[], connections: &[], scale }
}

/// The set, within the 151 connections a server allows by default. A changed set begins a new history: its hash is in every row.
pub const SET: &[Part] = &[
    sysbench_like("point-select", &[Protocol::Prepared, Protocol::Text]),
    sysbench_like("read-only", &[]),
    sysbench_like("read-write", &[]),
    sysbench_like("insert", &[]),
    sysbench_like("update-index", &[]),
    Part {
        scenario: "incident-1-prepared-bulk-insert",
        protocols: &[Protocol::Prepared],
        connections: &[],
        scale: &[500],
    },
    incident("incident-2-single-client-decay", &[100]),
    incident("incident-3-order-by-blob", &[512]),
    incident("incident-4-orm-wide-select", &[200]),
    incident("incident-5-idle-connections", &[100]),
    incident("connections", &[1, 8, 64, 128]),
];

impl Part {
    /// Arms of one server.
    fn arms(&self) -> usize {
        self.protocols.len().max(1) * self.connections.len().max(1) * self.scale.len().max(1)
    }

    fn choice(&self) -> Choice {
        Choice {
            protocols: self.protocols.to_vec(),
            connections: self.connections.to_vec(),
            scale: self.scale.to_vec(),
            variants: vec![VARIANT_DEFAULT.to_owned()],
            drivers: vec!["native".to_owned()],
        }
    }
}

/// What is to be compared.
#[derive(Debug)]
pub struct BenchRequest {
    /// Names and addresses; the first is judged.
    pub servers: Vec<(String, Options)>,
    /// Only these parts, by scenario; empty for all.
    pub only: Vec<String>,
    /// For all of it, loading included.
    pub time_budget: Duration,
    /// Schema for the data.
    pub schema: String,
    /// Which source the judged server was built from.
    pub commit: String,
    /// All connections inside TLS.
    pub with_tls: bool,
}

/// Runs the set. What could not be run is named in [`Row::incomplete`].
///
/// # Errors
/// Bad use, or nothing at all could be measured.
pub fn run(
    request: &BenchRequest,
    on_progress: &mut dyn FnMut(&str, &Progress<'_>),
) -> Result<Row, MatrixError> {
    let names: Vec<&str> = SET.iter().map(|part| part.scenario).collect();
    if let Some(unknown) = request.only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(MatrixError::Use(format!("'{unknown}' is no part of the set: {}", names.join(", "))));
    }
    let parts: Vec<&Part> = SET
        .iter()
        .filter(|part| request.only.is_empty() || request.only.iter().any(|one| one == part.scenario))
        .collect();
    let started = Instant::now();
    let mut row = Row::new();
    row.started_unix_ms =
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64);
    row.commit.clone_from(&request.commit);
    row.set = set_hash(&parts);
    let mut first_error = None;
    for (index, part) in parts.iter().enumerate() {
        if interrupt::requested() {
            row.incomplete.push("interrupted".to_owned());
            break;
        }
        // The twin of the first arm is one more.
        let weight = |part: &&Part| (part.arms() * request.servers.len() + 1) as f64;
        let left = request.time_budget.saturating_sub(started.elapsed()).as_secs_f64() * SHARE_MEASURED;
        let share = left * weight(part) / parts[index..].iter().map(weight).sum::<f64>();
        let part_request = Request {
            scenario: scenario(part.scenario)?,
            servers: request.servers.clone(),
            choice: part.choice(),
            schema: request.schema.clone(),
            allow_global: false,
            keep_data: false,
            with_twin: true,
            only_timing: true,
            fidelity: false,
            allow_pin: false,
            accepted: Vec::new(),
            with_tls: request.with_tls,
            time_budget: Duration::from_secs_f64(share.max(PART_SECONDS_LEAST)),
            rounds: ROUNDS,
            command: "invar lab bench".to_owned(),
        };
        match matrix::run(&part_request, &mut |progress| on_progress(part.scenario, progress)) {
            Ok(run) => add(&mut row, &run, request),
            Err(error @ MatrixError::Use(_)) => return Err(error),
            Err(error) => {
                row.incomplete.push(format!("{}: {error}", part.scenario));
                first_error.get_or_insert(error);
            }
        }
    }
    row.duration_s = started.elapsed().as_secs_f64();
    match first_error {
        Some(error) if row.figures.is_empty() => Err(error),
        _ => Ok(row),
    }
}

fn scenario(id: &str) -> Result<Scenario, MatrixError> {
    let text = shipped::named(id).ok_or_else(|| MatrixError::Use(format!("no scenario '{id}'")))?;
    Scenario::parse(text).map_err(|error| MatrixError::Use(format!("{id}: {error}")))
}

/// A hash over what is run: the scenarios' texts and which of their arms.
fn set_hash(parts: &[&Part]) -> String {
    let mut hash = row::Hash::new();
    for part in parts {
        hash.add(shipped::named(part.scenario).unwrap_or_default());
        hash.add(&format!("{part:?}"));
    }
    hash.text()
}

/// What an arm is called in the history: the scenario and what of it was chosen.
fn what(run: &Run, arm: usize) -> String {
    let arm = &run.arms[arm];
    let mut name = run.scenario.id.clone();
    let scale = run.scenario.scale_name.as_deref().unwrap_or("");
    // A scale by connections is one axis under two names.
    let scale = Some(scale).filter(|scale| *scale != "connections");
    for axis in ["protocol", "connections"].into_iter().chain(scale) {
        if let Some(level) = arm.levels.get(axis) {
            name.push('/');
            name.push_str(level);
        }
    }
    name
}

fn add(row: &mut Row, run: &Run, request: &BenchRequest) {
    if row.servers.is_empty() {
        row.machine.clone_from(&run.machine.key);
        row.load_average = run.machine.load_average;
        row.servers = run.servers.iter().map(ServerRow::of).collect();
        row.differing = run.equalised.iter().filter(|setting| !setting.is_equal).cloned().collect();
    }
    if let Some(why) = &run.incomplete {
        row.incomplete.push(format!("{}: {why}", run.scenario.id));
    }
    for warning in &run.warnings {
        if !row.warnings.contains(warning) {
            row.warnings.push(warning.clone());
        }
    }
    for (arm, it) in run.arms.iter().enumerate().filter(|(_, arm)| arm.same_as.is_none()) {
        let of = |metric| analysis::middle(run, arm, metric);
        let rates: Vec<f64> = run.valid_blocks(arm).map(|block| block.qps).collect();
        row.figures.push(Figure {
            what: what(run, arm),
            server: it.server.clone(),
            cpu_us: of(Metric::ServerCpu).map(in_us),
            p50_us: of(Metric::LatencyP50).map(in_us),
            p99_us: of(Metric::LatencyP99).map(in_us),
            operations_per_s: crate::stats::summary::median(&rates),
            blocks: rates.len() as u64,
            blocks_invalid: run
                .blocks
                .iter()
                .filter(|block| block.arm == arm && block.invalid.is_some())
                .count() as u64,
        });
    }
    let judged = request.servers.first().map(|(name, _)| name.as_str());
    row.ratios.extend(
        run.comparisons
            .iter()
            .filter(|found| METRICS.contains(&found.metric) && found.count_name.is_none())
            .filter(|found| Some(run.arms[found.base].server.as_str()) == judged)
            .filter(|found| Some(run.arms[found.arm].server.as_str()) != judged)
            .filter_map(|found| ratio(run, found)),
    );
}

/// A comparison the other way round: the judged server is the base of the matrix, and here is what is judged.
fn ratio(run: &Run, found: &Comparison) -> Option<Ratio> {
    (found.ratio > 0.0 && found.ci_low > 0.0).then(|| Ratio {
        what: what(run, found.arm),
        rival: run.arms[found.arm].server.clone(),
        metric: found.metric,
        ratio: 1.0 / found.ratio,
        low: 1.0 / found.ci_high,
        high: 1.0 / found.ci_low,
        word: match found.judgement {
            JudgementWord::Slower => JudgementWord::Faster,
            JudgementWord::Faster => JudgementWord::Slower,
            word => word,
        },
    })
}

fn in_us(ns: f64) -> f64 {
    ns / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Arm;

    #[test]
    fn every_part_has_its_arms() {
        for part in SET {
            let scenario = scenario(part.scenario).unwrap();
            let servers = ["a".to_owned(), "b".to_owned()];
            let cells = matrix::cell::cells(&scenario, &servers, &part.choice(), false).unwrap();
            assert_eq!(cells.len(), 2 * part.arms(), "{}", part.scenario);
        }
        let all: Vec<&Part> = SET.iter().collect();
        assert_eq!(set_hash(&all), set_hash(&all));
        assert_ne!(set_hash(&all), set_hash(&all[1..]));
    }

    #[test]
    fn what_was_measured_has_one_name_for_all_servers() {
        let mut run = Run::new();
        let arm = |levels: &[(&str, &str)]| Arm {
            levels: levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect(),
            ..Arm::default()
        };
        run.scenario.id = "point-select".into();
        run.arms =
            vec![arm(&[("server", "a"), ("protocol", "text"), ("connections", "16"), ("variant", "op")])];
        assert_eq!(what(&run, 0), "point-select/text/16");
        run.scenario.id = "connections".into();
        run.scenario.scale_name = Some("connections".into());
        run.arms = vec![arm(&[("server", "a"), ("connections", "64")])];
        assert_eq!(what(&run, 0), "connections/64");
    }

    #[test]
    fn ratios_are_the_judged_server_over_its_rival() {
        let mut run = Run::new();
        run.scenario.id = "scan".into();
        for server in ["ours", "theirs"] {
            run.arms.push(Arm { server: server.into(), ..Arm::default() });
        }
        let found = Comparison {
            base: 0,
            arm: 1,
            ratio: 4.0,
            ci_low: 2.0,
            ci_high: 5.0,
            judgement: JudgementWord::Slower,
            ..Comparison::default()
        };
        let got = ratio(&run, &found).unwrap();
        assert_eq!((got.ratio, got.low, got.high, got.word), (0.25, 0.2, 0.5, JudgementWord::Faster));
        assert_eq!(got.rival, "theirs");
        assert!(ratio(&run, &Comparison { ratio: 0.0, ..found }).is_none());
    }
}
