//! Status counters: what SHOW STATUS counts, under MySQL's names.

use metrics::{Counter, Gauge};

metrics::counter_kinds! {
    /// A kind of statement, for `Com_...`.
    StatementKind {
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
}

/// The server's counters, beside those that its sessions count ([`session_counts`](crate::session_counts)).
#[derive(Debug)]
pub struct Counters {
    /// Statements in all (`Queries`).
    pub queries: Counter,
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
    /// Statements requeued to wait without a thread (`Statements_requeued`).
    pub statements_requeued: Counter,
    /// Refused for `max_connections`.
    pub connection_errors_max_connections: Counter,
    /// The most at one time.
    pub max_used_connections: Gauge,
    /// Prepared statements that are open.
    pub prepared_statement_count: Gauge,
    /// Statements whose plan was found (`Plan_cache_hits`).
    pub plan_cache_hits: Counter,
    /// Statements that were planned anew (`Plan_cache_misses`).
    pub plan_cache_misses: Counter,
    /// Statements of clients whose text was parsed; the others had a plan or a tree from before (`Statements_parsed`).
    pub statements_parsed: Counter,
    /// Temporary files, at most one a statement.
    pub created_tmp_files: Counter,
    /// Packed bytes written to temporary files (`Spill_bytes_written`).
    pub spill_bytes_written: Counter,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            queries: Counter::new(),
            connections: Counter::new(),
            aborted_connects: Counter::new(),
            connection_control_delay_generated: Counter::new(),
            aborted_clients: Counter::new(),
            threads_created: Counter::new(),
            statements_queued: Counter::new(),
            memory_status_hits: Counter::new(),
            global_memory_status_hits: Counter::new(),
            statements_requeued: Counter::new(),
            connection_errors_max_connections: Counter::new(),
            max_used_connections: Gauge::new(),
            prepared_statement_count: Gauge::new(),
            plan_cache_hits: Counter::new(),
            plan_cache_misses: Counter::new(),
            statements_parsed: Counter::new(),
            created_tmp_files: Counter::new(),
            spill_bytes_written: Counter::new(),
        }
    }
}

impl Counters {
    /// Counts what a statement put on disk.
    pub fn add_spilled(&self, spilled: &exec::SpillCounts) {
        if spilled.files > 0 {
            self.created_tmp_files.add(spilled.files);
            self.spill_bytes_written.add(spilled.bytes);
        }
    }

    /// Every counter by its name, unsorted.
    #[must_use]
    pub fn all(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("Aborted_clients", self.aborted_clients.get()),
            ("Aborted_connects", self.aborted_connects.get()),
            ("Connection_control_delay_generated", self.connection_control_delay_generated.get()),
            ("Connection_errors_max_connections", self.connection_errors_max_connections.get()),
            ("Connections", self.connections.get()),
            ("Count_hit_query_past_connection_memory_status_limit", self.memory_status_hits.get()),
            (
                "Count_hit_query_past_global_connection_memory_status_limit",
                self.global_memory_status_hits.get(),
            ),
            ("Created_tmp_files", self.created_tmp_files.get()),
            ("Max_used_connections", self.max_used_connections.get()),
            ("Plan_cache_hits", self.plan_cache_hits.get()),
            ("Plan_cache_misses", self.plan_cache_misses.get()),
            ("Prepared_stmt_count", self.prepared_statement_count.get()),
            ("Queries", self.queries.get()),
            ("Spill_bytes_written", self.spill_bytes_written.get()),
            ("Statements_parsed", self.statements_parsed.get()),
            ("Statements_queued", self.statements_queued.get()),
            ("Statements_requeued", self.statements_requeued.get()),
            ("Threads_created", self.threads_created.get()),
        ]
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
        ("Store_undo_segments_spilled", status.undo_segments_spilled),
        ("Store_unpurged_transactions", status.unpurged_transactions),
        ("Store_versions_merged", status.versions_merged),
    ];
    all.extend(rows.into_iter().map(|(name, number)| (name, number.to_string())));
}
