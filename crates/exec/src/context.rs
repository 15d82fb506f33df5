//! What an execution has at hand: expression context, transaction, snapshot, limits.

mod materialized_rows;

use std::any::Any;
use std::sync::Arc;

use access::{LargeReader, LockWait, Reading, Transaction, Version, Writing};
use catalog::{AccountId, Catalog};

use crate::error::{coded, internal};
use crate::expr::{EvalContext, Firing, SqlResult, StatementGround};
use crate::long_data::LongParameter;
use crate::spill::SpillFile;
use crate::status_counts::StatusCounts;

pub(crate) use materialized_rows::{MaterializedCursor, MaterializedRows};

/// Bytes of memory an operator may use before it goes to disk or gives up.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// `sort_buffer_size`.
    pub sort_bytes: usize,
    /// `max_sort_length`: the bytes of weights of a padded text that an order looks at.
    pub sort_value_bytes: usize,
    /// `join_buffer_size`, for the build side of a hash join or a nested loop.
    pub join_bytes: usize,
    /// `tmp_table_size`: groups, distinct rows, the two sides of EXCEPT and INTERSECT, materialized rows.
    pub temporary_bytes: usize,
    /// `group_concat_max_len`.
    pub group_concat_bytes: usize,
    /// `cte_max_recursion_depth`.
    pub recursion_depth_max: u64,
}

impl Default for MemoryLimits {
    fn default() -> MemoryLimits {
        MemoryLimits {
            sort_bytes: 256 << 10,
            sort_value_bytes: 1024,
            join_bytes: 256 << 10,
            temporary_bytes: 16 << 20,
            group_concat_bytes: 1024,
            recursion_depth_max: 1000,
        }
    }
}

/// What a statement put on disk.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SpillCounts {
    /// Sorted runs written, not counting those that merging made.
    pub sort_runs: u64,
    /// Passes in which runs were merged (`Sort_merge_passes`).
    pub sort_merge_passes: u64,
    /// Operators other than sorts that went to disk (`Created_tmp_disk_tables`).
    pub disk_tables: u64,
    /// Temporary files made: 0 or 1 (`Created_tmp_files`).
    pub files: u64,
    /// Packed bytes written.
    pub bytes: u64,
}

/// Everything an execution reads and changes beside its plan.
pub struct ExecContext<'a> {
    /// Settings, parameters, session, warnings, and through what rows are read and written.
    pub eval: EvalContext<'a>,
    /// Read what others have not committed (READ UNCOMMITTED).
    pub read_uncommitted: bool,
    /// Reads that ask for no lock take a shared one: in a SERIALIZABLE transaction, and in what a change reads beside its own
    /// table.
    pub lock_reads: bool,
    /// Rows that a LIMIT above wants, so that a locking scan locks no more at a time.
    pub(crate) rows_wanted: usize,
    /// How long to wait for a row lock (`innodb_lock_wait_timeout`).
    pub lock_wait: LockWait,
    /// The session's counters of rows, sorts and ways of reading.
    pub status: &'a StatusCounts,
    /// The definitions the statement was bound with.
    pub catalog: &'a Arc<Catalog>,
    /// For virtual tables.
    pub connection_id: u64,
    /// For virtual tables.
    pub account: Option<AccountId>,
    /// For virtual tables: the engine's session.
    pub engine_session: &'a dyn Any,
    /// Limits of the session.
    pub limits: MemoryLimits,
    /// Where what does not fit into memory goes; `None`: it must fit, or the statement fails with 1114.
    pub spill: Option<Arc<dyn env::disk::Folder>>,
    /// What went there.
    pub spilled: SpillCounts,
    /// The operator that runs now went to disk (for `node_counters`).
    pub(crate) node_spilled: bool,
    /// The statement's temporary file, once there is one.
    pub(crate) spill_file: Option<Arc<SpillFile>>,
    /// How changes treat values.
    pub change: ChangeSettings,
    /// Rows read from tables so far (`Rows_examined` of the slow log).
    pub rows_examined: u64,
    /// Rows that a LIMIT of SQL_CALC_FOUND_ROWS has read in all.
    pub(crate) rows_found: Option<u64>,
    /// Batches so far: the first owes nobody anything.
    batches: u32,
    /// Parameters whose values lie on disk. Only a plan that takes them as they are ([`crate::Prepared::long_columns`]) may run
    /// with any.
    pub long_values: Vec<LongParameter>,
    /// Rows of the last step of each recursive CTE.
    pub(crate) working: Vec<Arc<MaterializedRows>>,
    /// Rows and calls per plan node, if they are counted ([`ExecContext::count_nodes`]).
    pub node_counters: Vec<NodeCounter>,
    /// And how long each takes.
    pub(crate) times_nodes: bool,
}

/// What was counted of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeCounter {
    /// Times it was started.
    pub loops: u64,
    /// How often it was read to its end.
    pub ends: u64,
    /// Rows it gave, over all loops.
    pub rows: u64,
    /// Microseconds spent in it and below.
    pub micros: u64,
    /// Those of them until the first row, over all loops.
    pub first_micros: u64,
    /// Rows of tables that it and those below read.
    pub examined: u64,
    /// [`NodeCounter::micros`] when the loop began whose first row has not come yet.
    pub(crate) waits_since: Option<u64>,
    /// Some of its rows were spilled to disk.
    pub spilled: bool,
}

impl NodeCounter {
    /// The rows that it gave each time it was started, if it was always read to its end.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "an average")]
    pub fn rows_a_loop(&self) -> Option<f64> {
        (self.loops > 0 && self.ends == self.loops).then(|| self.rows as f64 / self.loops as f64)
    }
}

/// How INSERT, UPDATE and DELETE treat values.
#[derive(Clone, Copy, Debug)]
pub struct ChangeSettings {
    /// NO_AUTO_VALUE_ON_ZERO.
    pub no_auto_value_on_zero: bool,
    /// `auto_increment_increment`.
    pub auto_increment_increment: u64,
    /// `auto_increment_offset`.
    pub auto_increment_offset: u64,
    /// SET INSERT_ID: the number the next row gets.
    pub insert_id: Option<u64>,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// The client counts rows found instead of rows changed (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
    /// The row comes from a file.
    pub file_line: Option<FileLine>,
}

/// A line of a file as the one row of an INSERT (LOAD DATA). Fields it lacks give their columns what an empty row holds:
/// NULL where that is the default, else the type's zero, a TIMESTAMP NOT NULL the statement's moment; each is warned of
/// (1261), or refused in strict mode.
#[derive(Clone, Copy, Debug)]
pub struct FileLine {
    /// Its number from 1: the row that warnings name.
    pub number: u64,
    /// How many parameters the line has fields for; the others are missing.
    pub given: usize,
}

impl Default for ChangeSettings {
    fn default() -> ChangeSettings {
        ChangeSettings {
            no_auto_value_on_zero: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            insert_id: None,
            foreign_key_checks: true,
            found_rows: false,
            file_line: None,
        }
    }
}

impl<'a> ExecContext<'a> {
    /// A context without a backend, for plans over virtual tables or none; set what else is needed.
    // Inlined, so that it is made where it stays.
    #[inline]
    pub fn new(
        eval: EvalContext<'a>,
        catalog: &'a Arc<Catalog>,
        engine_session: &'a dyn Any,
        status: &'a StatusCounts,
    ) -> ExecContext<'a> {
        ExecContext {
            eval,
            read_uncommitted: false,
            lock_reads: false,
            rows_wanted: usize::MAX,
            lock_wait: LockWait::Timeout(std::time::Duration::from_secs(50)),
            status,
            catalog,
            connection_id: 0,
            account: None,
            engine_session,
            limits: MemoryLimits::default(),
            spill: None,
            spilled: SpillCounts::default(),
            node_spilled: false,
            spill_file: None,
            change: ChangeSettings::default(),
            rows_examined: 0,
            rows_found: None,
            batches: 0,
            long_values: Vec::new(),
            working: Vec::new(),
            node_counters: Vec::new(),
            times_nodes: false,
        }
    }

    /// Has the rows of the plan's nodes counted, and with `timed` how long they take (EXPLAIN ANALYZE).
    pub fn count_nodes(&mut self, node_count: u32, timed: bool) {
        self.node_counters = vec![NodeCounter::default(); node_count as usize];
        self.times_nodes = timed;
    }

    /// Which version of rows consistent reads see.
    #[inline]
    fn version(&self) -> Version {
        match (self.read_uncommitted, self.lock_reads) {
            (true, _) => Version::Uncommitted,
            // What is locked is read as it is now.
            (false, true) => Version::Newest,
            (false, false) => Version::Snapshot,
        }
    }

    /// How consistent reads read.
    #[inline]
    pub(crate) fn reading(&self) -> Reading<'a> {
        Reading { version: self.version(), zone: &self.eval.settings.time_zone }
    }

    /// How changes write.
    #[inline]
    pub(crate) fn writing(&self) -> Writing<'a> {
        Writing { zone: &self.eval.settings.time_zone, wait: self.lock_wait, version: self.version() }
    }

    /// Through which rows are read, locked and written.
    ///
    /// # Errors
    /// 1105 without one.
    #[inline]
    pub(crate) fn transaction(&mut self) -> SqlResult<&mut (dyn Transaction + 'a)> {
        match &mut self.eval.transaction {
            Some(transaction) => Ok(&mut **transaction),
            None => Err(internal("a statement on tables without a transaction")),
        }
    }

    /// Runs triggers.
    ///
    /// # Errors
    /// Theirs; 1105 without a transaction.
    #[cold]
    pub(crate) fn fire(&mut self, firing: Firing<'_>) -> SqlResult<()> {
        let (Some(rows), Some(snapshot)) = (self.eval.transaction.as_deref_mut(), self.eval.snapshot) else {
            return Err(internal("a trigger without a transaction"));
        };
        self.eval.session.fire(firing, StatementGround { rows, snapshot })
    }

    /// What reads large values of rows that consistent reads have given.
    ///
    /// # Errors
    /// 1105 if there is no snapshot.
    pub(crate) fn large_reader(&self) -> SqlResult<LargeReader<'a>> {
        let Some(snapshot) = self.eval.snapshot else { return Err(internal("a read without a snapshot")) };
        let own = self.eval.transaction.as_ref().map_or(0, |transaction| transaction.number());
        Ok(LargeReader { snapshot, version: self.version(), own })
    }

    /// The statement's temporary file, made at the first call; blocks are counted into `spilled` when it is closed.
    ///
    /// # Errors
    /// 1114 without a folder for it; what the system says.
    pub(crate) fn spill_file(&mut self) -> SqlResult<Arc<SpillFile>> {
        if let Some(file) = &self.spill_file {
            return Ok(Arc::clone(file));
        }
        let Some(folder) = &self.spill else {
            return Err(coded(1114, "The table '(temporary)' is full"));
        };
        let file = SpillFile::create(folder)?;
        self.spilled.files += 1;
        self.spill_file = Some(Arc::clone(&file));
        Ok(file)
    }

    /// An operator that is no sort goes to disk at a level of parting: the first counts.
    pub(crate) fn count_disk_table(&mut self, level: u32) {
        self.spilled.disk_tables += u64::from(level == 0);
        self.node_spilled = true;
    }

    /// A sorted run goes to disk.
    pub(crate) fn count_sort_run(&mut self) {
        self.spilled.sort_runs += 1;
        self.node_spilled = true;
    }

    /// What the statement has put on disk so far.
    #[must_use]
    pub fn spill_counts(&self) -> SpillCounts {
        let bytes = self.spill_file.as_ref().map_or(0, |file| file.written_bytes());
        SpillCounts { bytes, ..self.spilled }
    }

    /// Once a batch: KILL and time limits. A statement that has come to its second batch may be a long one and lets the thread's
    /// owner serve others in between; one batch, all that most statements need, does without asking the clock.
    pub(crate) fn check(&mut self) -> SqlResult<()> {
        if self.batches > 0 {
            env::blocking::pause();
        }
        self.batches = self.batches.wrapping_add(1);
        self.eval.session.check_killed()
    }
}
