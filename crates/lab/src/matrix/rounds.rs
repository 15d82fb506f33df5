//! Timing: every arm in every round, in an order drawn again each time; then the few that differed once more.
//!
//! The first pass is judged by itself. What it finds must be found again by a second pass over the arms concerned, in
//! rounds with parameters of their own: `Block::pass` is 1 there.

use std::collections::BTreeSet;
use std::time::Duration;

use super::runner::{Ran, Runner, Wanted};
use super::{BLOCK_MS_MIN, MatrixError, Progress};
use crate::analysis;
use crate::data::random::Random;
use crate::evidence::{Block, JudgementWord, Metric};
use crate::stats::ratio::{self, TwoArms};
use crate::stats::stop::{SequentialRule, Stop};
use crate::verdict::finding;

/// Bootstrap draws for the question whether to go on; the report draws more.
const RESAMPLES_TO_STOP: usize = 500;
/// Rounds of the confirming pass, at least and at most; with fewer than five no rank test says anything.
const CONFIRMING_ROUNDS: (u32, u32) = (5, 12);
/// Pairs that are looked at again, the largest first.
const CONFIRMED_PAIRS_MAX: usize = 6;

/// Which pass a round belongs to, and which share of the time ends it; `None`: it is finished whatever it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) pass: u32,
    pub(super) until: Option<f64>,
}

impl Runner<'_> {
    /// The first pass, until all is narrow enough or `share` of the time is spent.
    pub(super) fn rounds(
        &mut self,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let rule = SequentialRule {
            rounds_least: self.request.rounds.0,
            rounds_most: self.request.rounds.1,
            seconds_most: self.request.time_budget.mul_f64(share).as_secs_f64(),
            ..SequentialRule::default()
        };
        let mut random = Random::new(self.request.scenario.seed, 0x04de4 + u64::from(self.round));
        // A later call goes on where an earlier one stopped: what is asked for at most holds for all of them.
        while (self.round as usize) < self.request.rounds.1 {
            let arms: Vec<usize> = (0..self.cells.len()).filter(|&arm| !self.dropped[arm]).collect();
            if arms.is_empty() {
                return Err(MatrixError::Use("no arm can run; see the warnings".to_owned()));
            }
            // The first rounds are finished whatever they take: without two there is nothing to compare.
            let until = if self.round < 2 { None } else { Some(share) };
            if !self.one_round(&arms, Round { pass: 0, until }, &mut random, on_progress)? {
                return Ok(());
            }
            let so_far = self.so_far();
            // With nothing to compare there is nothing to wait for but the least.
            if so_far.is_empty() && self.round as usize >= self.request.rounds.0 {
                return Ok(());
            }
            match rule.look(&so_far, self.measuring.elapsed().as_secs_f64()) {
                Stop::No => {}
                Stop::NarrowEnough | Stop::Spent => return Ok(()),
            }
        }
        Ok(())
    }

    /// The second look at what the first pass found; nothing if it found nothing.
    pub(super) fn confirm(
        &mut self,
        share: f64,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(), MatrixError> {
        let mut found: Vec<(f64, usize, usize)> = self
            .run
            .comparisons
            .iter()
            .filter(|found| finding::MAIN.contains(&found.metric))
            .filter(|found| found.is_significant || found.judgement == JudgementWord::Unconfirmed)
            .map(|found| (found.ratio.ln().abs(), found.base, found.arm))
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (_, base, arm) in found {
            if !pairs.contains(&(base, arm)) && pairs.len() < CONFIRMED_PAIRS_MAX {
                pairs.push((base, arm));
            }
        }
        let arms: BTreeSet<usize> = pairs.iter().flat_map(|&(base, arm)| [base, arm]).collect();
        let arms: Vec<usize> = arms.into_iter().filter(|&arm| !self.dropped[arm]).collect();
        if arms.is_empty() {
            return Ok(());
        }
        on_progress(&Progress::Step("a second look at what differed"));
        let mut random = Random::new(self.request.scenario.seed, 0x2_04de4);
        for round in 0..CONFIRMING_ROUNDS.1 {
            // Half of the arms in time is no second look: the least is finished.
            let until = if round < CONFIRMING_ROUNDS.0 { None } else { Some(share) };
            if until.is_some() && self.left_until(share).is_zero() {
                break;
            }
            if !self.one_round(&arms, Round { pass: 1, until }, &mut random, on_progress)? {
                break;
            }
        }
        Ok(())
    }

    /// One round; false if it was cut short because the time is spent.
    pub(super) fn one_round(
        &mut self,
        arms: &[usize],
        Round { pass, until }: Round,
        random: &mut Random,
        on_progress: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<bool, MatrixError> {
        let round = self.round;
        self.round += 1;
        let mut order = arms.to_vec();
        random.shuffle(&mut order);
        for (position, arm) in order.into_iter().enumerate() {
            if until.is_some_and(|share| self.left_until(share).is_zero()) {
                return Ok(false);
            }
            let cell = self.cells[arm].clone();
            let wanted =
                Wanted { number: u64::from(round), with_row_hash: round == 0 && self.hashes_rows(&cell) };
            match self.measure(&cell, wanted, &mut |_, _| {})? {
                Ran::Block(block) => {
                    let mut block = *block;
                    (block.arm, block.round, block.position, block.pass) =
                        (arm, round, position as u32, pass);
                    let left = self.left_until(1.0);
                    on_progress(&Progress::Block { round, arm: &cell.arm.name, block: &block, left });
                    self.run.blocks.push(block);
                }
                // Others may run.
                Ran::Refused(why) => {
                    self.dropped[arm] = true;
                    self.warn(format!("arm {} left out: {why}", cell.arm.name));
                }
            }
        }
        Ok(true)
    }

    /// Makes blocks that are measured by time short enough for the rounds wanted within `time`.
    pub(super) fn fit_blocks(&mut self, time: Duration) {
        let arms = self.cells.len().max(1) as u64;
        let rounds = self.request.rounds.0.max(1) as u64;
        // Connecting and warming up take time too: two thirds of it are for what is measured.
        let fair = (time.as_millis() as u64) * 2 / 3 / (arms * rounds);
        for cell in &mut self.cells {
            if cell.work.load.block_operations.is_none() {
                cell.work.load.block_ms = cell.work.load.block_ms.min(fair).max(BLOCK_MS_MIN);
            }
        }
    }

    /// The comparisons that decide whether to go on: each arm with its base, by the best metric both have.
    fn so_far(&self) -> Vec<Option<ratio::Comparison>> {
        let values = |arm: usize, metric: Metric| -> Vec<ratio::Block> {
            let of = |block: &Block| ratio::Block::new(&[block.value(metric, None)?]);
            self.run.valid_blocks(arm).filter_map(of).collect()
        };
        let mut found = Vec::new();
        for arm in 0..self.cells.len() {
            let Some(base) = analysis::base_of(&self.run, arm).filter(|_| !self.dropped[arm]) else {
                continue;
            };
            let compared = [Metric::ServerCpu, Metric::TimePerOperation].into_iter().find_map(|metric| {
                let (base, other) = (values(base, metric), values(arm, metric));
                ratio::compare(TwoArms { base: &base, other: &other }, RESAMPLES_TO_STOP, 1)
            });
            found.push(compared);
        }
        found
    }
}
