//! Rows in order although some of their keys are open: rows that the beginnings of large values do not distinguish are
//! sorted once more, with longer beginnings.
//!
//! Whole keys end themselves, so that a key that begins with an open one lies in one run with it: that run is undecided,
//! and nothing else is. It goes to a sorter of its own, one depth further down; at the last depth no key is open.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

use types::vector::{BytesColumn, batch_rows_max};
use types::{Batch, Physical};

use super::sort_keys::SortKeys;
use super::sorter::Sorter;
use crate::context::ExecContext;
use crate::expr::SqlResult;

/// Sorted rows, the rows of undecided runs put between the others when they are reached.
pub(super) struct Refine {
    shapes: Arc<[Physical]>,
    /// The sorter of all rows, above it those of runs under way, each in a run of the one below.
    stages: Vec<Stage>,
}

struct Stage {
    sorter: Sorter,
    depth: usize,
    batch: Batch,
    keys: BytesColumn,
    next: usize,
}

impl Stage {
    fn new(sorter: Sorter, depth: usize, shapes: &[Physical]) -> Stage {
        Stage { sorter, depth, batch: Batch::new(shapes.iter().copied()), keys: BytesColumn::new(), next: 0 }
    }

    /// Whether there is a next row: then it is row `next` of `batch`.
    fn has_row(&mut self, keys: &mut SortKeys, ctx: &mut ExecContext<'_>) -> SqlResult<bool> {
        if self.next < self.batch.row_count {
            return Ok(true);
        }
        self.next = 0;
        self.batch.clear();
        self.keys.clear();
        if !self.sorter.next_with_keys(&mut self.batch, &mut self.keys)? {
            return Ok(false);
        }
        keys.evaluate(&self.batch, ctx)?;
        Ok(true)
    }

    fn take_row(&mut self, out: &mut Batch) {
        for (source, target) in self.batch.columns.iter().zip(&mut out.columns) {
            target.push_cell(source.cell(self.next));
        }
        out.row_count += 1;
        self.next += 1;
    }
}

impl Refine {
    /// The rows of a finished sorter whose keys have depth 0.
    pub(super) fn new(sorter: Sorter, shapes: &[Physical]) -> Refine {
        Refine { shapes: shapes.into(), stages: vec![Stage::new(sorter, 0, shapes)] }
    }

    /// Appends the next rows, up to `rows_max`; false if there were none.
    pub(super) fn next(
        &mut self,
        rows_max: usize,
        keys: &mut SortKeys,
        ctx: &mut ExecContext<'_>,
        out: &mut Batch,
    ) -> SqlResult<bool> {
        while out.row_count < rows_max.min(batch_rows_max()) && !out.is_full() {
            let Some(mut stage) = self.stages.pop() else { break };
            if !stage.has_row(keys, ctx)? {
                // The rows of the stage below are the ones whose values the keys must show again.
                if let Some(below) = self.stages.last() {
                    keys.evaluate(&below.batch, ctx)?;
                }
                continue;
            }
            let inner = if keys.is_open(stage.next, stage.depth, ctx) {
                self.undecided(&mut stage, keys, ctx, out)?
            } else {
                stage.take_row(out);
                None
            };
            self.stages.push(stage);
            self.stages.extend(inner);
        }
        Ok(out.row_count > 0)
    }

    /// The run that begins with the stage's next row, whose key is open. A run of one row goes to `out`.
    fn undecided(
        &self,
        stage: &mut Stage,
        keys: &mut SortKeys,
        ctx: &mut ExecContext<'_>,
        out: &mut Batch,
    ) -> SqlResult<Option<Stage>> {
        let limit = ctx.limits.sort_bytes;
        let depth = stage.depth + 1;
        let stem = stage.keys.get(stage.next).to_vec();
        let mut run = Batch::new(self.shapes.iter().copied());
        let mut sorter = Sorter::new(&self.shapes);
        stage.take_row(&mut run);
        let mut key = Vec::new();
        let mut is_single = true;
        loop {
            let more = stage.has_row(keys, ctx)? && stage.keys.get(stage.next).starts_with(&stem);
            if !more && is_single {
                for (source, target) in run.columns.iter().zip(&mut out.columns) {
                    target.push_cell(source.cell(0));
                }
                out.row_count += 1;
                return Ok(None);
            }
            is_single = false;
            if more {
                stage.take_row(&mut run);
            }
            if run.is_full() || run.row_count >= batch_rows_max() || !more {
                keys.evaluate(&run, ctx)?;
                for row in 0..run.row_count {
                    key.clear();
                    keys.append_to_depth(row, depth, ctx, &mut key)?;
                    sorter.push_key(&key);
                }
                sorter.push_rows(&run, limit, ctx)?;
                run.clear();
                ctx.check()?;
                // The keys show the stage's rows again.
                keys.evaluate(&stage.batch, ctx)?;
            }
            if !more {
                sorter.finish(limit, ctx)?;
                return Ok(Some(Stage::new(sorter, depth, &self.shapes)));
            }
        }
    }
}

/// Tells which rows cannot be among the first ones: the keys of the best so far, open ones counted as the greatest that they
/// may become.
pub(super) struct Least {
    wanted: usize,
    bytes: usize,
    heap: BinaryHeap<Upper>,
}

/// A key, and whether it is open.
struct Upper {
    key: Vec<u8>,
    open: bool,
}

impl PartialEq for Upper {
    fn eq(&self, other: &Upper) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Upper {}

impl PartialOrd for Upper {
    fn partial_cmp(&self, other: &Upper) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Upper {
    fn cmp(&self, other: &Upper) -> Ordering {
        let common = self.key.len().min(other.key.len());
        self.key[..common].cmp(&other.key[..common]).then_with(|| {
            // The one that begins the other is open: it may become greater than all that begin so.
            other.key.len().cmp(&self.key.len()).then(self.open.cmp(&other.open))
        })
    }
}

impl Least {
    /// For the first `wanted` rows.
    pub(super) fn new(wanted: usize) -> Least {
        Least { wanted, bytes: 0, heap: BinaryHeap::new() }
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes + self.heap.capacity() * size_of::<Upper>()
    }

    /// Whether a row with this key may be among the first ones.
    pub(super) fn admits(&mut self, key: &[u8], open: bool) -> bool {
        if self.heap.len() < self.wanted {
            self.bytes += key.len();
            self.heap.push(Upper { key: key.to_vec(), open });
            return true;
        }
        let Some(mut worst) = self.heap.peek_mut() else { return false };
        let common = key.len().min(worst.key.len());
        match key[..common].cmp(&worst.key[..common]) {
            Ordering::Greater => return false,
            // Equal keys: who came first stays.
            Ordering::Equal if !open && !worst.open => return false,
            _ => {}
        }
        let new = Upper { key: key.to_vec(), open };
        if new < *worst {
            self.bytes = self.bytes + new.key.len() - worst.key.len();
            *worst = new;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::Least;

    /// An open key stands for all that begin with it.
    #[test]
    fn rows_that_may_be_among_the_first_are_admitted() {
        let mut least = Least::new(1);
        assert!(least.admits(b"m", true));
        assert!(!least.admits(b"n1", false));
        // Behind the open key or before it: not known.
        assert!(least.admits(b"mz", false));
        // Now the worst that the first row may be is "mz".
        assert!(least.admits(b"mb", true));
        assert!(least.admits(b"mb1", true));
        assert!(!least.admits(b"mz", false) && !least.admits(b"mc", true));
        assert!(least.admits(b"ma", false));
        assert!(!least.admits(b"ma", false) && !least.admits(b"mb1", true));
        assert!(least.admits(b"m", true), "it may begin with \"m\" and go on with anything");
        assert!(!Least::new(0).admits(b"a", false));
    }
}
