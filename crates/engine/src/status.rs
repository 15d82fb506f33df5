//! Status counters: what SHOW STATUS counts, under MySQL's names.

use std::cell::Cell;

use metrics::{Counter, Gauge};

/// Kinds of statements that have a `Com_` counter.
macro_rules! statement_kinds {
    ($($name:ident $text:literal),* $(,)?) => {
        /// A kind of statement, for `Com_...`.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        #[allow(missing_docs, reason = "MySQL's own words")]
        pub enum StatementKind { $($name),* }

        impl StatementKind {
            /// All kinds with the name of their counter.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$name, $text)),*];
        }
    };
}

statement_kinds! {
    AlterDb "Com_alter_db",
    AlterProcedure "Com_alter_procedure",
    AlterTable "Com_alter_table",
    AlterUser "Com_alter_user",
    Analyze "Com_analyze",
    Begin "Com_begin",
    ChangeDb "Com_change_db",
    CallProcedure "Com_call_procedure",
    Check "Com_check",
    Commit "Com_commit",
    CreateDb "Com_create_db",
    CreateIndex "Com_create_index",
    CreateProcedure "Com_create_procedure",
    CreateTable "Com_create_table",
    CreateUser "Com_create_user",
    DeallocSql "Com_dealloc_sql",
    Delete "Com_delete",
    DeleteMulti "Com_delete_multi",
    Do "Com_do",
    DropDb "Com_drop_db",
    DropIndex "Com_drop_index",
    DropProcedure "Com_drop_procedure",
    DropTable "Com_drop_table",
    DropUser "Com_drop_user",
    ExecuteSql "Com_execute_sql",
    ExplainOther "Com_explain_other",
    Flush "Com_flush",
    GetDiagnostics "Com_get_diagnostics",
    Grant "Com_grant",
    Insert "Com_insert",
    InsertSelect "Com_insert_select",
    Kill "Com_kill",
    Load "Com_load",
    LockTables "Com_lock_tables",
    Optimize "Com_optimize",
    PrepareSql "Com_prepare_sql",
    ReleaseSavepoint "Com_release_savepoint",
    RenameTable "Com_rename_table",
    Replace "Com_replace",
    ReplaceSelect "Com_replace_select",
    Resignal "Com_resignal",
    Revoke "Com_revoke",
    Rollback "Com_rollback",
    RollbackToSavepoint "Com_rollback_to_savepoint",
    Savepoint "Com_savepoint",
    Select "Com_select",
    SetOption "Com_set_option",
    Show "Com_show",
    Signal "Com_signal",
    Truncate "Com_truncate",
    UnlockTables "Com_unlock_tables",
    Update "Com_update",
    UpdateMulti "Com_update_multi",
}

/// Number of statement kinds.
pub const STATEMENT_KIND_COUNT: usize = StatementKind::ALL.len();

/// The server's counters.
#[derive(Debug)]
pub struct Counters {
    /// Statements of clients (`Questions`).
    pub questions: Counter,
    /// Statements in all (`Queries`).
    pub queries: Counter,
    /// Slower than `long_query_time`.
    pub slow_queries: Counter,
    /// Bytes from clients.
    pub bytes_received: Counter,
    /// Bytes to clients.
    pub bytes_sent: Counter,
    /// Connection attempts.
    pub connections: Counter,
    /// Handshakes that failed.
    pub aborted_connects: Counter,
    /// Answers to logins that were delayed (`Connection_control_delay_generated`).
    pub connection_control_delay_generated: Counter,
    /// Sessions that ended without a word.
    pub aborted_clients: Counter,
    /// Threads started for clients' statements (`Threads_created`).
    pub threads_created: Counter,
    /// Statements that waited until fewer others computed (`Statements_queued`).
    pub statements_queued: Counter,
    /// Statements that used more than `connection_memory_status_limit`.
    pub memory_status_hits: Counter,
    /// Statements during which all used more than `global_connection_memory_status_limit`.
    pub global_memory_status_hits: Counter,
    /// Statements taken back to wait without a thread (`Statements_taken_back`).
    pub statements_taken_back: Counter,
    /// Refused for `max_connections`.
    pub connection_errors_max_connections: Counter,
    /// The most at one time.
    pub max_used_connections: Gauge,
    /// COM_STMT_PREPARE.
    pub com_stmt_prepare: Counter,
    /// COM_STMT_EXECUTE.
    pub com_stmt_execute: Counter,
    /// COM_STMT_CLOSE.
    pub com_stmt_close: Counter,
    /// COM_STMT_RESET.
    pub com_stmt_reset: Counter,
    /// COM_STMT_SEND_LONG_DATA.
    pub com_stmt_send_long_data: Counter,
    /// COM_STMT_FETCH.
    pub com_stmt_fetch: Counter,
    /// Prepared statements that are open.
    pub prepared_statement_count: Gauge,
    /// Statements whose plan was found (`Plan_cache_hits`).
    pub plan_cache_hits: Counter,
    /// Statements that were planned anew (`Plan_cache_misses`).
    pub plan_cache_misses: Counter,
    /// Statements of clients whose text was parsed; the others had a plan or a tree from before (`Statements_parsed`).
    pub statements_parsed: Counter,
    /// Operators other than sorts that went to disk.
    pub created_tmp_disk_tables: Counter,
    /// Temporary files, at most one a statement.
    pub created_tmp_files: Counter,
    /// Passes in which sorted runs were merged.
    pub sort_merge_passes: Counter,
    /// Packed bytes written to temporary files (`Spill_bytes_written`).
    pub spill_bytes_written: Counter,
    kinds: [Counter; STATEMENT_KIND_COUNT],
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            questions: Counter::new(),
            queries: Counter::new(),
            slow_queries: Counter::new(),
            bytes_received: Counter::new(),
            bytes_sent: Counter::new(),
            connections: Counter::new(),
            aborted_connects: Counter::new(),
            connection_control_delay_generated: Counter::new(),
            aborted_clients: Counter::new(),
            threads_created: Counter::new(),
            statements_queued: Counter::new(),
            memory_status_hits: Counter::new(),
            global_memory_status_hits: Counter::new(),
            statements_taken_back: Counter::new(),
            connection_errors_max_connections: Counter::new(),
            max_used_connections: Gauge::new(),
            com_stmt_prepare: Counter::new(),
            com_stmt_execute: Counter::new(),
            com_stmt_close: Counter::new(),
            com_stmt_reset: Counter::new(),
            com_stmt_send_long_data: Counter::new(),
            com_stmt_fetch: Counter::new(),
            prepared_statement_count: Gauge::new(),
            plan_cache_hits: Counter::new(),
            plan_cache_misses: Counter::new(),
            statements_parsed: Counter::new(),
            created_tmp_disk_tables: Counter::new(),
            created_tmp_files: Counter::new(),
            sort_merge_passes: Counter::new(),
            spill_bytes_written: Counter::new(),
            kinds: [const { Counter::new() }; STATEMENT_KIND_COUNT],
        }
    }
}

impl Counters {
    /// Counts what a statement put on disk.
    pub fn add_spilled(&self, spilled: &exec::SpillCounts) {
        if spilled.files > 0 {
            self.created_tmp_disk_tables.add(spilled.disk_tables);
            self.created_tmp_files.add(spilled.files);
            self.sort_merge_passes.add(spilled.sort_merge_passes);
            self.spill_bytes_written.add(spilled.bytes);
        }
    }

    /// Counts a statement of a kind.
    pub fn count(&self, kind: StatementKind) {
        self.kinds[kind as usize].increment();
    }

    /// Every counter by its name, unsorted.
    #[must_use]
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        let mut all = vec![
            ("Aborted_clients", self.aborted_clients.get()),
            ("Aborted_connects", self.aborted_connects.get()),
            ("Bytes_received", self.bytes_received.get()),
            ("Bytes_sent", self.bytes_sent.get()),
            ("Connection_control_delay_generated", self.connection_control_delay_generated.get()),
            ("Com_stmt_close", self.com_stmt_close.get()),
            ("Com_stmt_execute", self.com_stmt_execute.get()),
            ("Com_stmt_fetch", self.com_stmt_fetch.get()),
            ("Com_stmt_prepare", self.com_stmt_prepare.get()),
            ("Com_stmt_reset", self.com_stmt_reset.get()),
            ("Com_stmt_send_long_data", self.com_stmt_send_long_data.get()),
            ("Connection_errors_max_connections", self.connection_errors_max_connections.get()),
            ("Connections", self.connections.get()),
            ("Count_hit_query_past_connection_memory_status_limit", self.memory_status_hits.get()),
            (
                "Count_hit_query_past_global_connection_memory_status_limit",
                self.global_memory_status_hits.get(),
            ),
            ("Created_tmp_disk_tables", self.created_tmp_disk_tables.get()),
            ("Created_tmp_files", self.created_tmp_files.get()),
            ("Max_used_connections", self.max_used_connections.get()),
            ("Plan_cache_hits", self.plan_cache_hits.get()),
            ("Plan_cache_misses", self.plan_cache_misses.get()),
            ("Prepared_stmt_count", self.prepared_statement_count.get()),
            ("Queries", self.queries.get()),
            ("Questions", self.questions.get()),
            ("Slow_queries", self.slow_queries.get()),
            ("Sort_merge_passes", self.sort_merge_passes.get()),
            ("Spill_bytes_written", self.spill_bytes_written.get()),
            ("Statements_parsed", self.statements_parsed.get()),
            ("Statements_queued", self.statements_queued.get()),
            ("Statements_taken_back", self.statements_taken_back.get()),
            ("Threads_created", self.threads_created.get()),
        ];
        all.extend(StatementKind::ALL.iter().map(|(kind, name)| (*name, self.kinds[*kind as usize].get())));
        all
    }
}

/// A number that one session counts by itself.
#[derive(Debug, Default)]
pub struct SessionCount(Cell<u64>);

impl SessionCount {
    /// Adds one.
    #[inline]
    pub fn increment(&self) {
        self.add(1);
    }

    fn add(&self, count: u64) {
        self.0.set(self.0.get() + count);
    }
}

/// What one session has counted since it began or since FLUSH STATUS. All of it is counted for the server, too.
#[derive(Debug)]
pub struct SessionCounters {
    /// Statements (`Questions`).
    pub questions: SessionCount,
    /// Slower than `long_query_time`.
    pub slow_queries: SessionCount,
    /// COM_STMT_PREPARE.
    pub com_stmt_prepare: SessionCount,
    /// COM_STMT_EXECUTE.
    pub com_stmt_execute: SessionCount,
    /// COM_STMT_CLOSE.
    pub com_stmt_close: SessionCount,
    /// COM_STMT_RESET.
    pub com_stmt_reset: SessionCount,
    /// COM_STMT_SEND_LONG_DATA.
    pub com_stmt_send_long_data: SessionCount,
    /// COM_STMT_FETCH.
    pub com_stmt_fetch: SessionCount,
    created_tmp_disk_tables: SessionCount,
    sort_merge_passes: SessionCount,
    kinds: [SessionCount; STATEMENT_KIND_COUNT],
}

impl Default for SessionCounters {
    fn default() -> Self {
        Self {
            questions: SessionCount::default(),
            slow_queries: SessionCount::default(),
            com_stmt_prepare: SessionCount::default(),
            com_stmt_execute: SessionCount::default(),
            com_stmt_close: SessionCount::default(),
            com_stmt_reset: SessionCount::default(),
            com_stmt_send_long_data: SessionCount::default(),
            com_stmt_fetch: SessionCount::default(),
            created_tmp_disk_tables: SessionCount::default(),
            sort_merge_passes: SessionCount::default(),
            kinds: [const { SessionCount(Cell::new(0)) }; STATEMENT_KIND_COUNT],
        }
    }
}

impl SessionCounters {
    /// Counts a statement of a kind.
    #[inline]
    pub fn count(&self, kind: StatementKind) {
        self.kinds[kind as usize].increment();
    }

    /// Counts what a statement put on disk.
    pub fn add_spilled(&self, spilled: &exec::SpillCounts) {
        if spilled.files > 0 {
            self.created_tmp_disk_tables.add(spilled.disk_tables);
            self.sort_merge_passes.add(spilled.sort_merge_passes);
        }
    }

    /// Every counter by its name, unsorted. `Created_tmp_files` is the server's alone.
    #[must_use]
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        let others = [
            ("Com_stmt_close", &self.com_stmt_close),
            ("Com_stmt_execute", &self.com_stmt_execute),
            ("Com_stmt_fetch", &self.com_stmt_fetch),
            ("Com_stmt_prepare", &self.com_stmt_prepare),
            ("Com_stmt_reset", &self.com_stmt_reset),
            ("Com_stmt_send_long_data", &self.com_stmt_send_long_data),
            ("Created_tmp_disk_tables", &self.created_tmp_disk_tables),
            ("Questions", &self.questions),
            ("Slow_queries", &self.slow_queries),
            ("Sort_merge_passes", &self.sort_merge_passes),
        ];
        let kinds = StatementKind::ALL.iter().map(|(kind, name)| (*name, &self.kinds[*kind as usize]));
        others.into_iter().chain(kinds).map(|(name, count)| (name, count.0.get())).collect()
    }
}

/// What statements use of memory, and panics.
pub fn add_memory_status(all: &mut Vec<(&'static str, String)>) {
    let (now, most) = env::memory::total_bytes();
    all.push(("Global_connection_memory", now.to_string()));
    all.push(("Panics", crate::panics::count().to_string()));
    all.push(("Statement_memory_bytes", now.to_string()));
    all.push(("Statement_memory_bytes_max", most.to_string()));
}

/// The store's counters under InnoDB's names, where it has one.
pub fn add_store_status(status: &store::Status, all: &mut Vec<(&'static str, String)>) {
    let page_bytes = store::PAGE_BYTES as u64;
    let rows = [
        ("Innodb_buffer_pool_pages_data", status.frame_count.min(status.page_count)),
        ("Innodb_buffer_pool_pages_dirty", status.dirty_page_count),
        ("Innodb_buffer_pool_pages_total", status.frame_count),
        ("Innodb_buffer_pool_read_ahead", status.pages_read_ahead),
        ("Innodb_buffer_pool_reads", status.pages_read),
        ("Innodb_data_reads", status.pages_read),
        ("Innodb_data_writes", status.pages_written),
        ("Innodb_deadlocks", status.deadlocks),
        ("Innodb_history_list_length", status.unpurged_transactions),
        ("Innodb_log_writes", status.log_writes),
        ("Innodb_os_log_fsyncs", status.log_syncs),
        ("Innodb_os_log_written", status.log_bytes_written),
        ("Innodb_page_size", page_bytes),
        ("Innodb_pages_read", status.pages_read),
        ("Innodb_pages_written", status.pages_written),
        ("Innodb_redo_log_capacity_resized", status.log_capacity_bytes),
        ("Innodb_redo_log_checkpoint_lsn", status.log_checkpoint_position),
        ("Innodb_redo_log_current_lsn", status.log_end),
        ("Innodb_redo_log_flushed_to_disk_lsn", status.log_durable),
        ("Innodb_redo_log_logical_size", status.log_end - status.log_checkpoint_position),
        ("Innodb_redo_log_physical_size", status.log_file_bytes),
        ("Innodb_row_lock_current_waits", status.lock_waiters),
        ("Innodb_row_lock_time", status.lock_wait_micros / 1_000),
        (
            "Innodb_row_lock_time_avg",
            (status.lock_wait_micros / 1_000).checked_div(status.lock_waits).unwrap_or(0),
        ),
        ("Innodb_row_lock_time_max", status.longest_lock_wait_micros / 1_000),
        ("Innodb_row_lock_time_outs", status.lock_timeouts),
        ("Innodb_row_lock_waits", status.lock_waits),
        ("Innodb_rows_deleted", status.records_deleted),
        ("Innodb_rows_inserted", status.records_inserted),
        ("Innodb_rows_updated", status.records_updated),
        ("Large_value_bytes_read", table::LARGE_VALUE_BYTES_READ.get()),
        ("Large_value_bytes_streamed", table::LARGE_VALUE_BYTES_STREAMED.get()),
        ("Large_values_read", table::LARGE_VALUES_READ.get()),
        ("Store_checkpoint_running", status.checkpoint_runs),
        ("Store_checkpoint_time_us", status.checkpoint_micros),
        ("Store_checkpoints", status.checkpoints),
        ("Store_commits", status.commits),
        ("Store_data_file_bytes", status.file_blocks * page_bytes),
        ("Store_data_file_bytes_used", status.used_blocks * page_bytes),
        ("Store_disk_full", status.is_full),
        ("Store_log_delay_time_us", status.log_delay_micros),
        ("Store_log_delays", status.log_delays),
        ("Store_log_parts", status.log_parts),
        ("Store_oldest_snapshot_age_s", status.oldest_snapshot_age_ms / 1000),
        ("Store_pages_evicted", status.pages_evicted),
        ("Store_purge_cpu_us", status.purge_cpu_micros),
        ("Store_tombstones_purged", status.tombstones_purged),
        ("Store_transaction_log_memory_peak", status.txn_log_memory_peak),
        ("Store_undo_bytes_in_file", status.undo_bytes_in_file),
        ("Store_undo_bytes_in_memory", status.undo_bytes_in_memory),
        ("Store_undo_segments_filed", status.undo_segments_filed),
        ("Store_unpurged_transactions", status.unpurged_transactions),
        ("Store_versions_merged", status.versions_merged),
    ];
    all.extend(rows.into_iter().map(|(name, number)| (name, number.to_string())));
}
