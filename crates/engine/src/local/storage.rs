//! What the server asks of the local store: to follow global variables, and its state.

use catalog::Catalog;
use service::SqlError;

use super::LocalBackend;
use crate::{lock_schemas, store_error};
use session::core::{Core, Storage};
use session::variables::Variables;
use session::variables::definition::known;

/// How long the store's log may be, for a value of `innodb_redo_log_capacity`. MySQL's default, which is little, means the store's own.
fn log_capacity(bytes: u64) -> u64 {
    const MYSQL_DEFAULT_BYTES: u64 = 100 << 20;
    if bytes == MYSQL_DEFAULT_BYTES { store::LOG_CAPACITY_BYTES } else { bytes }
}

impl Storage for LocalBackend {
    fn follow(&self, globals: &Variables) {
        self.definitions
            .set_change_log_bytes_max(globals.unsigned(known::innodb_online_alter_log_max_size()));
        self.store.set_log_capacity(log_capacity(globals.unsigned(known::innodb_redo_log_capacity())));
        self.store.set_flush_policy(match globals.integer(known::innodb_flush_log_at_trx_commit()) {
            0 => store::wal::FlushPolicy::Lazy,
            2 => store::wal::FlushPolicy::WriteAtCommit,
            _ => store::wal::FlushPolicy::AtCommit,
        });
    }

    fn add_status(&self, all: &mut Vec<(&'static str, String)>) {
        add_store_status(&self.store.status(), all);
    }

    fn describe_transactions(&self, core: &Core, catalog: &Catalog) -> Result<String, Box<SqlError>> {
        lock_schemas::status_text(&self.store, core, catalog).map_err(store_error)
    }
}

/// The store's counters under InnoDB's names, where it has one.
fn add_store_status(status: &store::Status, all: &mut Vec<(&'static str, String)>) {
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
