//! Profiles against the real drivers they imitate, at one pace: `invar lab run SCENARIO --driver-fidelity`.
//!
//! ```text
//! for each pair: a short closed loop of both -> an interval that both can keep
//! rounds: [profile, driver, driver again] of one pair, in an order drawn again each time; then those of the next
//! until each pair is settled, or the time is spent
//! ```
//!
//! The three arms of a pair follow each other at once, so that a machine's moods hit them alike. What is compared, and
//! when it counts as settled, is [`crate::load::fidelity`]'s.

use super::rounds::Round;
use super::runner::{Ran, Runner, Wanted};
use super::{MatrixError, Progress};
use crate::data::random::Random;
use crate::drivers::Real;
use crate::evidence::{Arm, FidelityWord};
use crate::host::awake::Awake;
use crate::host::cores::{self, Pinned};
use crate::load::fidelity;
use crate::matrix::cell::Cell;
use crate::scenario::Mode;

/// Length of the closed loop that finds a pair's pace.
const PILOT_MS: u64 = 300;
/// The interval is the slower one's median operation, longer by this,
const PACE_FACTOR: f64 = 2.0;
/// and by what a sleeping thread may wake too late.
const PACE_EXTRA_NS: f64 = 100_000.0;
/// Length of a block, at least and at most.
const BLOCK_MS: (u64, u64) = (150, 1_000);
/// Parameters of the pilot: away from those of the rounds.
const NUMBERS_FROM: u64 = 1 << 35;

/// Drivers of such a run: each profile named, or each there is, with the driver it imitates.
pub(super) fn drivers(named: &[String]) -> Result<Vec<String>, String> {
    let all: Vec<String> = Real::all().iter().map(|real| real.profile.to_owned()).collect();
    let mut drivers = Vec::new();
    for profile in if named.is_empty() { &all } else { named } {
        let profile = profile.strip_prefix("real-").unwrap_or(profile);
        if !all.iter().any(|known| known == profile) {
            return Err(format!("no real driver is like '{profile}'; expected one of: {}", all.join(", ")));
        }
        for driver in [profile.to_owned(), format!("real-{profile}")] {
            if !drivers.contains(&driver) {
                drivers.push(driver);
            }
        }
    }
    Ok(drivers)
}

/// Adds a second arm for each real driver.
pub(super) fn add_twins(cells: &mut Vec<Cell>) {
    let is_real = |cell: &&Cell| Real::named(&cell.arm.driver).is_some();
    let mut twins: Vec<Cell> = cells.iter().filter(is_real).cloned().collect();
    for twin in &mut twins {
        twin.arm.same_as = Some(twin.arm.name.clone());
        twin.arm.name.push_str(" (again)");
    }
    cells.append(&mut twins);
}

/// What the arms of a pair have in common.
fn pair_of(arm: &Arm) -> (String, Vec<(&String, &String)>) {
    let profile = arm.driver.strip_prefix("real-").unwrap_or(&arm.driver).to_owned();
    (profile, arm.levels.iter().filter(|(axis, _)| *axis != "driver").collect())
}

impl Runner<'_> {
    /// Measures until every pair is settled or the time is spent.
    pub(super) fn fidelity(&mut self, on_progress: &mut dyn FnMut(&Progress<'_>)) -> Result<(), MatrixError> {
        let mut pairs: Vec<Vec<usize>> = Vec::new();
        for arm in 0..self.cells.len() {
            let arms = &self.run.arms;
            match pairs.iter_mut().find(|pair| pair_of(&arms[pair[0]]) == pair_of(&arms[arm])) {
                Some(pair) => pair.push(arm),
                None => pairs.push(vec![arm]),
            }
        }
        let _pinned = self.keep_apart();
        let _awake = self.keep_awake();
        for pair in &pairs {
            self.find_pace(pair, on_progress)?;
        }
        // A pair that lacks one side has nothing to tell.
        pairs.retain(|pair| pair.len() == 3 && pair.iter().all(|&arm| !self.dropped[arm]));
        let (least, most) = self.request.rounds;
        let each =
            self.left_until(1.0).as_millis() as u64 * 2 / 3 / (3 * (pairs.len() * least).max(1)) as u64;
        for cell in &mut self.cells {
            cell.work.load.block_operations = None;
            cell.work.load.block_ms = each.clamp(BLOCK_MS.0, BLOCK_MS.1);
        }
        let mut random = Random::new(self.request.scenario.seed, 0xfa17);
        for turn in 0..most {
            let open: Vec<Vec<usize>> =
                pairs.iter().filter(|pair| turn < least || !self.is_settled(pair)).cloned().collect();
            for pair in &open {
                let until = if turn < 2 { None } else { Some(1.0) };
                if !self.one_round(pair, Round { pass: 0, until }, &mut random, on_progress)? {
                    return Ok(());
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Takes the servers off the clients' core, if that was allowed and can be; they are put back with what is returned.
    fn keep_apart(&mut self) -> Vec<Pinned> {
        if !self.request.allow_pin {
            return Vec::new();
        }
        let pids: Option<Vec<u32>> =
            self.test_servers.iter().map(|test_server| test_server.under_test.pid()).collect();
        let (Some(core), Some(pids)) = (cores::of_clients(), pids) else {
            self.warn(
                "client and server share their cores: there is one alone, or a server is elsewhere".into(),
            );
            return Vec::new();
        };
        let pinned: Result<Vec<Pinned>, std::io::Error> =
            pids.into_iter().map(|pid| Pinned::off(pid, core)).collect();
        match pinned {
            Ok(pinned) => {
                self.client_core = Some(core);
                pinned
            }
            Err(error) => {
                self.warn(format!("client and server share their cores: {error}"));
                Vec::new()
            }
        }
    }

    /// Keeps cores from sleeping until what is returned is dropped, where the client has a core of its own.
    fn keep_awake(&mut self) -> Option<Awake> {
        self.client_core?;
        match Awake::start() {
            Ok(awake) => {
                self.is_kept_awake = true;
                Some(awake)
            }
            Err(error) => {
                self.warn(format!("cores sleep between operations, which makes CPU vary: {error}"));
                None
            }
        }
    }

    fn is_settled(&self, pair: &[usize]) -> bool {
        let names: Vec<&str> = pair.iter().map(|&arm| self.run.arms[arm].name.as_str()).collect();
        let found = fidelity::compare(&self.run);
        found
            .iter()
            .any(|fidelity| names.contains(&fidelity.arm.as_str()) && fidelity.word() != FidelityWord::Unsure)
    }

    /// Runs both sides as fast as they go, and gives the pair an interval that both can keep.
    fn find_pace(
        &mut self,
        pair: &[usize],
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let mut slowest_ns: f64 = 0.0;
        for &arm in pair {
            let mut cell = self.cells[arm].clone();
            if cell.arm.same_as.is_some() {
                // It can what the first can.
                self.dropped[arm] = pair.iter().any(|&other| self.dropped[other]);
                continue;
            }
            on_progress(&Progress::Pass {
                what: &format!("pace of {}", cell.arm.name),
                left: self.left_until(1.0),
            });
            cell.work.load.mode = Mode::Closed;
            cell.work.load.block_operations = None;
            cell.work.load.block_ms = PILOT_MS;
            let wanted = Wanted { number: NUMBERS_FROM, with_row_hash: false };
            match self.measure(&cell, wanted, &mut |_, _| {})? {
                Ran::Block(block) => slowest_ns = slowest_ns.max(block.service.p50_ns as f64),
                Ran::Refused(why) => {
                    self.dropped[arm] = true;
                    self.warn(format!("arm {} left out: {why}", cell.arm.name));
                }
            }
        }
        // To whole microseconds: a figure people can read.
        let interval_us = ((slowest_ns * PACE_FACTOR + PACE_EXTRA_NS) / 1e3).ceil();
        for &arm in pair {
            self.cells[arm].work.load.mode = Mode::Paced { interval_ns: interval_us as u64 * 1_000 };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_profile_goes_with_its_driver() {
        let named = ["cj-8.3.0".to_owned(), "real-pymysql".to_owned(), "pymysql".to_owned()];
        assert_eq!(drivers(&named).unwrap(), ["cj-8.3.0", "real-cj-8.3.0", "pymysql", "real-pymysql"]);
        assert_eq!(drivers(&[]).unwrap().len(), 2 * Real::all().len());
        assert!(drivers(&["native".to_owned()]).unwrap_err().contains("no real driver is like 'native'"));
    }
}
