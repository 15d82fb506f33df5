//! What an execution has at hand: expression context, transaction, snapshot, limits.

use std::any::Any;
use std::sync::Arc;

use catalog::{AccountId, Catalog};
use service::error::{Code, SqlError};
use store::{LockWait, ReadView, Reader, StoreError, Transaction};
use table::WriteError;

use crate::expr::{EvalContext, SqlResult};

/// Bytes of memory an operator may use before it goes to disk or gives up.
#[derive(Clone, Copy, Debug)]
pub struct MemoryLimits {
    /// `sort_buffer_size`.
    pub sort_bytes: usize,
    /// `join_buffer_size`, for a hash join's kept side.
    pub join_bytes: usize,
    /// `tmp_table_size`: groups, distinct rows, kept rows.
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
            join_bytes: 256 << 10,
            temporary_bytes: 16 << 20,
            group_concat_bytes: 1024,
            recursion_depth_max: 1000,
        }
    }
}

/// Everything an execution reads and changes beside its plan.
pub struct ExecContext<'a> {
    /// Settings, parameters, session, warnings.
    pub eval: EvalContext<'a>,
    /// The snapshot consistent reads see; `None` only for plans that read no table of the store.
    pub view: Option<&'a ReadView>,
    /// The transaction that locks and writes; `None` for plans that do neither.
    pub transaction: Option<&'a mut Transaction>,
    /// Read what others have not committed (READ UNCOMMITTED).
    pub read_uncommitted: bool,
    /// How long to wait for a row lock (`innodb_lock_wait_timeout`).
    pub lock_wait: LockWait,
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
    /// Where what does not fit into memory goes; `None`: it must fit.
    pub spill: Option<Arc<dyn env::disk::Folder>>,
    /// How changes treat values.
    pub change: ChangeSettings,
    /// Rows read from tables so far (`Rows_examined` of the slow log).
    pub rows_examined: u64,
    /// Rows of the last step of each recursive CTE.
    pub(crate) working: Vec<Vec<types::Batch>>,
    /// Rows and calls per plan node, if EXPLAIN ANALYZE wants them.
    pub node_counters: Vec<NodeCounter>,
}

/// What EXPLAIN ANALYZE shows of a node.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeCounter {
    /// Times it was started.
    pub loops: u64,
    /// Rows it gave, over all loops.
    pub rows: u64,
    /// Microseconds spent in it and below.
    pub micros: u64,
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
    /// The client counts rows found instead of rows changed (CLIENT_FOUND_ROWS).
    pub found_rows: bool,
}

impl Default for ChangeSettings {
    fn default() -> ChangeSettings {
        ChangeSettings {
            no_auto_value_on_zero: false,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            insert_id: None,
            found_rows: false,
        }
    }
}

impl<'a> ExecContext<'a> {
    /// A context without store, for plans over virtual tables or none; set what else is needed.
    pub fn new(
        eval: EvalContext<'a>,
        catalog: &'a Arc<Catalog>,
        engine_session: &'a dyn Any,
    ) -> ExecContext<'a> {
        ExecContext {
            eval,
            view: None,
            transaction: None,
            read_uncommitted: false,
            lock_wait: LockWait::Timeout(std::time::Duration::from_secs(50)),
            catalog,
            connection_id: 0,
            account: None,
            engine_session,
            limits: MemoryLimits::default(),
            spill: None,
            change: ChangeSettings::default(),
            rows_examined: 0,
            working: Vec::new(),
            node_counters: Vec::new(),
        }
    }

    /// What consistent reads see: the snapshot and the transaction's own changes.
    ///
    /// # Errors
    /// 1105 if the plan reads the store and there is no snapshot.
    pub(crate) fn reader(&self) -> SqlResult<Reader<'a>> {
        let Some(view) = self.view else { return Err(internal("a read without a snapshot")) };
        Ok(match &self.transaction {
            _ if self.read_uncommitted => view.reader_uncommitted(),
            Some(transaction) => transaction.reader(view),
            None => view.reader(),
        })
    }

    /// Once a batch: KILL and time limits.
    pub(crate) fn check(&mut self) -> SqlResult<()> {
        self.eval.session.check_killed()
    }
}

/// A broken expectation of the executor's own: fails the statement.
#[cold]
pub(crate) fn internal(what: &str) -> Box<SqlError> {
    service::error::ER_UNKNOWN_ERROR.saying(format!("internal error: {what}"))
}

/// What the client sees when the store fails.
#[cold]
pub(crate) fn store_error(error: &StoreError) -> Box<SqlError> {
    match error {
        StoreError::TreeGone(_) => coded(1412, "Table definition has changed, please retry transaction"),
        other => coded(1030, &format!("Got error 168 - '{other}' from storage engine")),
    }
}

/// What the client sees when a row cannot be written or locked.
#[cold]
pub(crate) fn write_error(error: &WriteError) -> Box<SqlError> {
    let number = match error {
        WriteError::DuplicateKey(duplicate) => {
            return coded(1062, &duplicate_text(&duplicate.value, &duplicate.key));
        }
        WriteError::Deadlock => 1213,
        WriteError::LockWaitTimeout => 1205,
        WriteError::Locked => 3572,
        WriteError::Interrupted => 1317,
        WriteError::KeyTooLong { .. } => 1071,
        WriteError::AutoIncrementExhausted => 1467,
        WriteError::Store(error) => return store_error(error),
        #[allow(unreachable_patterns, reason = "the enum may grow")]
        _ => 1105,
    };
    coded(number, &error.to_string())
}

/// 1062's text; the value is cut to 64 characters as MySQL does.
pub(crate) fn duplicate_text(value: &str, key: &str) -> String {
    let cut: String = value.chars().take(64).collect();
    format!("Duplicate entry '{cut}' for key '{key}'")
}

/// An error by number with its own text.
#[cold]
pub(crate) fn coded(number: u16, message: &str) -> Box<SqlError> {
    match Code::by_number(number) {
        Some(code) => code.saying(message),
        None => service::error::ER_UNKNOWN_ERROR.saying(message),
    }
}
