//! Status counters: what SHOW STATUS counts, under MySQL's names.

use metrics::{Counter, Gauge};

metrics::counter_kinds! {
    /// A kind of statement, for `Com_...`.
    StatementKind {
        AlterDb "Com_alter_db",
        AlterEvent "Com_alter_event",
        AlterFunction "Com_alter_function",
        AlterProcedure "Com_alter_procedure",
        AlterTable "Com_alter_table",
        AlterUser "Com_alter_user",
        Analyze "Com_analyze",
        Begin "Com_begin",
        ChangeDb "Com_change_db",
        CallProcedure "Com_call_procedure",
        Check "Com_check",
        Checksum "Com_checksum",
        Commit "Com_commit",
        CreateDb "Com_create_db",
        CreateEvent "Com_create_event",
        CreateFunction "Com_create_function",
        CreateIndex "Com_create_index",
        CreateProcedure "Com_create_procedure",
        CreateTrigger "Com_create_trigger",
        CreateView "Com_create_view",
        CreateTable "Com_create_table",
        CreateUser "Com_create_user",
        DeallocSql "Com_dealloc_sql",
        Delete "Com_delete",
        DeleteMulti "Com_delete_multi",
        Do "Com_do",
        DropDb "Com_drop_db",
        DropEvent "Com_drop_event",
        DropFunction "Com_drop_function",
        DropIndex "Com_drop_index",
        DropProcedure "Com_drop_procedure",
        DropTrigger "Com_drop_trigger",
        DropView "Com_drop_view",
        DropTable "Com_drop_table",
        DropUser "Com_drop_user",
        ExecuteSql "Com_execute_sql",
        ExplainOther "Com_explain_other",
        Flush "Com_flush",
        GetDiagnostics "Com_get_diagnostics",
        Grant "Com_grant",
        Help "Com_help",
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
        Restart "Com_restart",
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
        XaCommit "Com_xa_commit",
        XaEnd "Com_xa_end",
        XaPrepare "Com_xa_prepare",
        XaRecover "Com_xa_recover",
        XaRollback "Com_xa_rollback",
        XaStart "Com_xa_start",
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
    /// Statements that were planned (`Plan_cache_misses`).
    pub plan_cache_misses: Counter,
    /// Plans whose estimates a run has shown to be wrong by 100 times (`Plans_misestimated`).
    pub plans_misestimated: Counter,
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
            plans_misestimated: Counter::new(),
            statements_parsed: Counter::new(),
            created_tmp_files: Counter::new(),
            spill_bytes_written: Counter::new(),
        }
    }
}

impl Counters {
    /// Counts what a statement put on disk.
    pub(crate) fn add_spilled(&self, spilled: &exec::SpillCounts) {
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
            ("Plans_misestimated", self.plans_misestimated.get()),
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
pub(crate) fn add_memory_status(all: &mut Vec<(&'static str, String)>) {
    let (now, most) = env::memory::total_bytes();
    all.push(("Global_connection_memory", now.to_string()));
    all.push(("Panics", crate::panics::count().to_string()));
    all.push(("Statement_memory_bytes", now.to_string()));
    all.push(("Statement_memory_bytes_max", most.to_string()));
}
