//! Changes: the slow arm, the slow arm with one thing changed, the slow arm as it was, in turns.
//!
//! What is tried comes from the known causes that fit, from the scenario's `[[intervention]]`s, and from the other levels of
//! its axes. In each round the slow arm runs before and after the change, and the fast arm runs as it is and with the same
//! change: a change that makes everything cheaper (fewer columns, say) takes the difference away only where the difference
//! lies in what it saves.

use std::fmt::Write as _;

use super::cell::{Cell, word};
use super::probes::TIME_SUFFIX;
use super::runner::{Ran, Runner, Wanted};
use super::{BLOCK_MS_MIN, MatrixError, Progress};
use crate::drivers::Sender;
use crate::evidence::{Intervention, Metric, SchemaPart};
use crate::knowledge::{self, matching};
use crate::scenario::{Op, Protocol, VARIANT_DEFAULT};
use crate::stats::summary::median;
use crate::verdict;
use crate::verdict::finding::Finding;

/// Changes tried, at most.
const CHANGES_MAX: usize = 6;
/// Rounds of each, at least (time permitting) and at most.
const ROUNDS: (u64, u64) = (3, 5);
/// Blocks of a round: slow, slow changed, fast changed, fast; the slow arm of the next round is the way back.
const BLOCKS_OF_A_ROUND: u64 = 4;
/// A block measured by time, milliseconds, at most.
const BLOCK_MS_MAX: u64 = 1_500;
/// Parameters of these blocks: away from those of the rounds.
const NUMBERS_FROM: u64 = 3 << 32;

/// What is changed. Empty: nothing.
#[derive(Clone, Debug, Default, PartialEq)]
struct Edit {
    op: Option<Op>,
    protocol: Option<Protocol>,
    driver: Option<&'static str>,
    connections: Option<u32>,
    idle_connections: Option<u32>,
    session: Vec<(String, String)>,
    global: Vec<(String, String)>,
    /// SQL before a block with the change, and after it.
    apply: Vec<String>,
    undo: Vec<String>,
    /// The fast arm has it already, by its schema: only the slow one is changed.
    only_slow: bool,
}

/// Something to try.
#[derive(Clone, Debug, PartialEq)]
struct Change {
    what: String,
    edit: Edit,
    /// Share of the gap that must go; 0: the rule of the verdict.
    needed: f64,
}

impl Edit {
    /// The cell with the change; `None` if it is so already.
    fn of(&self, cell: &Cell) -> Option<Cell> {
        let mut changed = cell.clone();
        let load = &mut changed.work.load;
        if let Some(op) = &self.op {
            changed.work.op = op.clone();
        }
        if let Some(protocol) = self.protocol {
            changed.work.op.protocol = protocol;
        }
        changed.sender = self.driver.and_then(Sender::named).unwrap_or(changed.sender);
        load.connections = self.connections.unwrap_or(load.connections);
        load.idle_connections = self.idle_connections.unwrap_or(load.idle_connections);
        for (name, value) in &self.session {
            changed.session.retain(|sql| !sql.starts_with(&format!("SET SESSION {name} ")));
            changed.session.push(format!("SET SESSION {name} = {value}"));
        }
        for (name, value) in &self.global {
            changed.global.retain(|(other, _)| other != name);
            changed.global.push((name.clone(), value.clone()));
        }
        changed.global.sort();
        let mut plain = cell.global.clone();
        plain.sort();
        let is_same = changed.work == cell.work
            && changed.sender.name() == cell.sender.name()
            && changed.session == cell.session
            && changed.global == plain
            && self.apply.is_empty();
        (!is_same).then_some(changed)
    }
}

/// Reads what an entry of the knowledge base says of how a change is made: `axis=level, ...` or `SET GLOBAL a = b, ...`. Other
/// texts are for people.
fn edit_of_words(words: &str, op_of: &dyn Fn(&str) -> Option<Op>) -> Option<Edit> {
    let mut edit = Edit::default();
    if let Some(settings) = words.strip_prefix("SET GLOBAL ") {
        for setting in settings.split(',') {
            let setting = setting.trim().trim_start_matches("GLOBAL ");
            let (name, value) = setting.split_once('=')?;
            edit.global.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        return Some(edit);
    }
    for part in words.split(',') {
        let (axis, level) = part.trim().split_once('=')?;
        match axis {
            "use_server_prep" | "protocol" => {
                edit.protocol = Some(match level {
                    "true" | "prepared" => Protocol::Prepared,
                    "false" | "text" => Protocol::Text,
                    _ => return None,
                });
            }
            "variant" => edit.op = Some(op_of(level)?),
            "driver" => edit.driver = Some(Sender::named(level)?.name()),
            "connections" => edit.connections = Some(level.parse().ok()?),
            "idle_connections" => edit.idle_connections = Some(level.parse().ok()?),
            _ => return None,
        }
    }
    Some(edit)
}

/// The values of one change: slow arm by round and once more at the end, changed, fast, fast changed.
#[derive(Clone, Debug, Default)]
struct Values {
    slow: Vec<f64>,
    changed: Vec<f64>,
    fast: Vec<f64>,
    fast_changed: Vec<f64>,
}

/// What a change did; `None` where too little was measured.
fn judged(change: &Change, arm: usize, metric: Metric, values: &Values) -> Option<Intervention> {
    let [before_all @ .., _] = values.slow.as_slice() else { return None };
    let (before, during) = (median(before_all)?, median(&values.changed)?);
    let (after, fast) = (median(values.slow.get(1..)?)?, median(&values.fast)?);
    let fast_during = median(&values.fast_changed);
    let gap = (before + after) / 2.0 - fast;
    if gap <= 0.0 {
        return None;
    }
    let went = (before - during) / gap;
    let stayed = fast_during.map_or(0.0, |fast_during| (during - fast_during) / gap);
    let mut found = Intervention {
        what: change.what.clone(),
        arm,
        metric,
        before,
        during,
        after,
        recovered: went.min(1.0 - stayed).clamp(0.0, 1.0),
        needed: change.needed,
        fast: Some(fast),
        fast_during,
        rounds: values.changed.len() as u64,
        is_confirmed: false,
    };
    // With few rounds: no overlap at all, whatever the middles say.
    let most_changed = values.changed.iter().copied().fold(0.0, f64::max);
    let least_slow = values.slow.iter().copied().fold(f64::INFINITY, f64::min);
    found.is_confirmed = values.changed.len() >= 2 && most_changed < least_slow && verdict::is_proof(&found);
    Some(found)
}

impl Runner<'_> {
    /// What to try on the slow arm, the most telling first.
    fn changes(&mut self, found: &Finding) -> Vec<Change> {
        let scenario = &self.request.scenario;
        let slow = &self.cells[found.pair.slow];
        let scale = slow.arm.scale;
        let op_of = |variant: &str| {
            let is_there = scenario.variants.iter().any(|one| one == variant);
            is_there.then(|| scenario.work(scale, variant).ok()).flatten().map(|work| work.op)
        };
        let mut changes: Vec<Change> = Vec::new();
        changes.extend(self.run.schema_differences.iter().filter_map(|difference| {
            let is_of_slow = difference.server.as_ref() == Some(&slow.arm.server);
            let sql =
                difference.remedy.as_ref().filter(|_| is_of_slow && difference.part == SchemaPart::Index)?;
            // An index that is invisible is made so again; a primary key is nothing to be taken away again.
            let (table, index) = sql.strip_prefix("ALTER TABLE ")?.split_once(' ')?;
            let undo = if let Some(index) = index.strip_suffix(" VISIBLE") {
                format!("ALTER TABLE {table} {index} INVISIBLE")
            } else {
                let name = index.split_once("INDEX ")?.1.split(' ').next()?;
                format!("ALTER TABLE {table} DROP INDEX {name}")
            };
            let edit =
                Edit { apply: vec![sql.clone()], undo: vec![undo], only_slow: true, ..Edit::default() };
            Some(Change { what: sql.clone(), edit, needed: 0.0 })
        }));
        let entries = knowledge::entries().unwrap_or_default();
        for fit in matching(&entries, &self.run, found.pair) {
            let verbs = verdict::sentence::verbs(&self.run, found.pair.slow);
            for fix in fit.entry.interventions.iter().filter(|fix| fix.concerns(&verbs)) {
                let Some(edit) = fix.apply.as_deref().and_then(|words| edit_of_words(words, &op_of)) else {
                    continue;
                };
                changes.push(Change { what: fix.what.clone(), edit, needed: fix.recovers_least });
            }
        }
        for proposed in scenario.interventions(scale) {
            let driver = proposed.driver.as_deref().and_then(Sender::named).map(Sender::name);
            let edit = Edit {
                op: proposed.op.or_else(|| proposed.variant.as_deref().and_then(op_of)),
                protocol: proposed.protocol,
                driver,
                connections: proposed.connections,
                idle_connections: proposed.idle_connections,
                session: proposed.session,
                global: proposed.global,
                apply: proposed.apply,
                undo: proposed.undo,
                only_slow: false,
            };
            changes.push(Change { what: proposed.what, edit, needed: 0.0 });
        }
        let level = |axis: &str| slow.arm.levels.get(axis).map(String::as_str);
        let mut other = |what: String, edit: Edit| changes.push(Change { what, edit, needed: 0.0 });
        for variant in scenario.variants.iter().filter(|one| level("variant") != Some(one.as_str())) {
            if let Some(op) = op_of(variant) {
                let what = if variant == VARIANT_DEFAULT { "the scenario's own statement" } else { variant };
                other(format!("another statement: {what}"), Edit { op: Some(op), ..Edit::default() });
            }
        }
        for &protocol in scenario.axes.protocol.iter().filter(|&&one| level("protocol") != Some(word(one))) {
            let edit = Edit { protocol: Some(protocol), ..Edit::default() };
            other(format!("protocol {}", word(protocol)), edit);
        }
        for (name, values) in &scenario.axes.global {
            for value in values.iter().filter(|&one| level(&format!("global.{name}")) != Some(one)) {
                let global = vec![(name.clone(), value.clone())];
                other(format!("SET GLOBAL {name} = {value}"), Edit { global, ..Edit::default() });
            }
        }
        for (name, values) in &scenario.axes.session {
            for value in values.iter().filter(|&one| level(&format!("session.{name}")) != Some(one)) {
                let session = vec![(name.clone(), value.clone())];
                other(format!("SET SESSION {name} = {value}"), Edit { session, ..Edit::default() });
            }
        }
        if slow.work.load.idle_connections > 0 {
            let edit = Edit { idle_connections: Some(0), ..Edit::default() };
            other(format!("{} idle connections closed", slow.work.load.idle_connections), edit);
        }
        for &connections in &scenario.axes.connections {
            let edit = Edit { connections: Some(connections), ..Edit::default() };
            other(format!("{connections} connections"), edit);
        }
        for name in &scenario.axes.driver {
            if let Some(sender) = Sender::named(name) {
                let edit = Edit { driver: Some(sender.name()), ..Edit::default() };
                other(format!("driver {name}"), edit);
            }
        }
        let slow = slow.clone();
        let mut kept: Vec<Change> = Vec::new();
        let mut unset = Vec::new();
        for change in changes {
            if change.edit.of(&slow).is_none() || kept.iter().any(|other| other.edit == change.edit) {
                continue;
            }
            if !change.edit.global.is_empty() && !self.request.allow_global {
                unset.push(change.what);
                continue;
            }
            kept.push(change);
        }
        if !unset.is_empty() {
            self.warn(format!("not tried without --allow-global: {}", unset.join("; ")));
        }
        kept.truncate(CHANGES_MAX);
        kept
    }

    /// Tries changes on the slow arm of a finding, until `share` of the time is spent.
    pub(super) fn interventions(
        &mut self,
        found: &Finding,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let changes = self.changes(found);
        let count = changes.len();
        for (index, change) in changes.into_iter().enumerate() {
            let left = self.left_until(share);
            // The first is tried whatever it takes: without one nothing is ever confirmed.
            if index > 0 && left.is_zero() {
                self.warn(format!("{index} of {count} changes were tried: the time was spent"));
                break;
            }
            let each = left.as_millis() as u64 / (count - index) as u64;
            let block_ms = each * 2 / 3 / (ROUNDS.0 * BLOCKS_OF_A_ROUND + 1);
            let block_ms = block_ms.clamp(2 * BLOCK_MS_MIN, BLOCK_MS_MAX);
            let until = self.measuring.elapsed() + std::time::Duration::from_millis(each);
            let mut values = Values::default();
            for round in 0..ROUNDS.1 {
                if round >= ROUNDS.0 && self.measuring.elapsed() >= until {
                    break;
                }
                let mut what = String::new();
                let _ = write!(what, "trying '{}', round {}", change.what, round + 1);
                on_progress(&Progress::Pass { what: &what, left: self.left_until(1.0) });
                if let Err(why) = self.try_once(found, &change, round, block_ms, &mut values)? {
                    self.warn(format!("'{}' could not be tried: {why}", change.what));
                    values = Values::default();
                    break;
                }
            }
            if values.changed.is_empty() {
                continue;
            }
            // The way back of the last round.
            let slow = self.shortened(found.pair.slow, block_ms);
            if let Ok(Some(value)) = self.value_of(&slow, None, NUMBERS_FROM + ROUNDS.1, found.metric)? {
                values.slow.push(value);
            }
            self.run.interventions.extend(judged(&change, found.pair.slow, found.metric, &values));
        }
        Ok(())
    }

    /// Tries what a known cause proposes against the growth of a call's time: the time of a call is what is judged.
    pub(super) fn call_time_interventions(
        &mut self,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let entries = knowledge::entries().unwrap_or_default();
        let Some(found) = verdict::growth_of_calls(&self.run, &entries) else { return Ok(()) };
        let arm = found.pair.slow;
        let function = found.count_name.trim_end_matches(TIME_SUFFIX).to_owned();
        let cell = self.cells[arm].clone();
        for fix in &found.entry.interventions {
            let edit = fix.apply.as_deref().and_then(|words| edit_of_words(words, &|_| None));
            let Some((edit, changed)) = edit.and_then(|edit| Some((edit.clone(), edit.of(&cell)?))) else {
                continue;
            };
            let change = Change { what: fix.what.clone(), edit, needed: fix.recovers_least };
            let mut values = Values::default();
            for round in 0..ROUNDS.0 {
                if round >= 2 && self.left_until(share).is_zero() {
                    break;
                }
                let what = format!("trying '{}', round {}: time of {function}", change.what, round + 1);
                on_progress(&Progress::Pass { what: &what, left: self.left_until(1.0) });
                match (self.call_time(&cell, &function)?, self.call_time(&changed, &function)?) {
                    (Ok(slow), Ok(during)) => {
                        values.slow.push(slow);
                        values.changed.push(during);
                        // All of the time is the gap: there is no arm without the function.
                        values.fast.push(0.0);
                    }
                    (Err(why), _) | (_, Err(why)) => {
                        self.warn(format!("'{}' could not be tried: {why}", change.what));
                        break;
                    }
                }
            }
            if let Ok(slow) = self.call_time(&cell, &function)? {
                values.slow.push(slow);
            }
            if let Some(mut tried) = judged(&change, arm, Metric::Count, &values) {
                tried.what = format!("{} (median time of {function}, ns)", tried.what);
                self.run.interventions.push(tried);
            }
        }
        Ok(())
    }

    /// The cell of an arm with blocks of this length.
    fn shortened(&self, arm: usize, block_ms: u64) -> Cell {
        let mut cell = self.cells[arm].clone();
        let load = &mut cell.work.load;
        load.block_operations = None;
        load.block_ms = block_ms;
        cell
    }

    /// One round of a change. The inner error is why it cannot be tried.
    fn try_once(
        &mut self,
        found: &Finding,
        change: &Change,
        round: u64,
        block_ms: u64,
        values: &mut Values,
    ) -> Result<Result<(), String>, MatrixError> {
        let slow = self.shortened(found.pair.slow, block_ms);
        let fast = self.shortened(found.pair.fast, block_ms);
        let Some(changed) = change.edit.of(&slow) else { return Ok(Ok(())) };
        let number = NUMBERS_FROM + round;
        let metric = found.metric;
        match self.value_of(&slow, None, number, metric)? {
            Ok(value) => values.slow.extend(value),
            Err(why) => return Ok(Err(why)),
        }
        match self.value_of(&changed, Some(&change.edit), number, metric)? {
            Ok(value) => values.changed.extend(value),
            Err(why) => return Ok(Err(why)),
        }
        let as_is = match self.value_of(&fast, None, number, metric)? {
            Ok(value) => value,
            Err(why) => return Ok(Err(why)),
        };
        values.fast.extend(as_is);
        match change.edit.of(&fast).filter(|_| !change.edit.only_slow) {
            // The fast arm is so already: then the two should meet.
            None => values.fast_changed.extend(as_is),
            Some(changed) => {
                if let Ok(value) = self.value_of(&changed, Some(&change.edit), number, metric)? {
                    values.fast_changed.extend(value);
                }
            }
        }
        Ok(Ok(()))
    }

    /// A metric of one block; `None` if the block says nothing. The inner error is why the server refused.
    fn value_of(
        &mut self,
        cell: &Cell,
        edit: Option<&Edit>,
        number: u64,
        metric: Metric,
    ) -> Result<Result<Option<f64>, String>, MatrixError> {
        let (apply, undo) = edit.map_or((&[][..], &[][..]), |edit| (&edit.apply, &edit.undo));
        if let Err(error) = self.run_sql(cell, apply) {
            // What was done before the one that failed is reverted; what was not done cannot be.
            let _ = self.run_sql(cell, undo);
            return if self.test_servers[cell.server].admin.is_broken() {
                Err(error)
            } else {
                Ok(Err(error.to_string()))
            };
        }
        let ran = self.measure(cell, Wanted { number, with_row_hash: false }, &mut |_, _| {});
        self.run_sql(cell, undo)?;
        Ok(match ran? {
            Ran::Block(block) if block.invalid.is_none() => Ok(block.value(metric, None)),
            Ran::Block(_) => Ok(None),
            Ran::Refused(why) => Err(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(needed: f64) -> Change {
        Change { what: "x".into(), edit: Edit::default(), needed }
    }

    fn values(slow: &[f64], changed: &[f64], fast_changed: &[f64]) -> Values {
        Values {
            slow: slow.to_vec(),
            changed: changed.to_vec(),
            fast: vec![1e6; changed.len()],
            fast_changed: fast_changed.to_vec(),
        }
    }

    #[test]
    fn a_change_is_confirmed_by_its_values_and_its_way_back() {
        let judge = |values: &Values, needed| judged(&change(needed), 1, Metric::ServerCpu, values).unwrap();
        let good = judge(&values(&[9e6, 10e6, 9.5e6], &[1.2e6, 1.1e6], &[]), 0.0);
        assert!(good.is_confirmed && good.recovered > 0.9, "{good:?}");
        // It made everything cheaper; what is between the two stayed.
        let cheaper = judge(&values(&[9e6, 9e6, 9e6], &[5e6, 5e6], &[0.2e6, 0.2e6]), 0.0);
        assert!(!cheaper.is_confirmed && cheaper.recovered < 0.5, "{cheaper:?}");
        // Overlap, or less than was demanded.
        assert!(!judge(&values(&[9e6, 1e6, 9e6], &[1.2e6, 3e6], &[]), 0.0).is_confirmed);
        assert!(!judge(&values(&[9e6, 9e6, 9e6], &[4e6, 4e6], &[]), 0.9).is_confirmed);
        assert!(judge(&values(&[9e6, 9e6, 9e6], &[7e6, 7e6], &[]), 0.2).is_confirmed);
        // It did not come back.
        assert!(!judge(&values(&[9e6, 2e6, 2e6], &[1.2e6, 1.2e6], &[]), 0.0).is_confirmed);
        // Without a gap there is nothing to take away.
        let none = values(&[1e6, 1e6], &[1e6], &[]);
        assert_eq!(judged(&change(0.0), 1, Metric::ServerCpu, &none), None);
    }

    #[test]
    fn words_of_the_knowledge_base_are_changes_or_for_people() {
        let none = |_: &str| None;
        let edit = edit_of_words("SET GLOBAL slow_query_log = OFF, GLOBAL general_log = OFF", &none).unwrap();
        let pair = |name: &str| (name.to_owned(), "OFF".to_owned());
        assert_eq!(edit.global, [pair("slow_query_log"), pair("general_log")]);
        let edit = edit_of_words("use_server_prep=false, idle_connections=0", &none).unwrap();
        assert_eq!((edit.protocol, edit.idle_connections), (Some(Protocol::Text), Some(0)));
        assert_eq!(edit_of_words("variant=star", &none), None);
        assert_eq!(edit_of_words("ALTER TABLE t ADD INDEX (k)", &none), None);
        assert_eq!(edit_of_words("SELECT t.* FROM t WHERE id=1", &none), None);
    }
}
