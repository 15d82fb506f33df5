//! The variables that make two servers incomparable, or explain a difference between them.

use std::collections::BTreeMap;

use client::{Connection, Error};

use super::ask;
use crate::evidence::Setting;

/// How a variable can be made alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// By a statement in each session; always done.
    Session,
    /// By SET GLOBAL, where the user allows it.
    Global,
    /// By a clause of CREATE TABLE; always done.
    Table,
    /// Only by starting the server otherwise, or not at all.
    Start,
}

/// A variable that matters.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Name.
    pub name: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// How it can be made alike.
    pub reach: Reach,
    /// A difference explains slowness by itself: no verdict may be drawn over it.
    pub is_confound: bool,
}

const fn variable(name: &'static str, reach: Reach, is_confound: bool, why: &'static str) -> Variable {
    Variable { name, why, reach, is_confound }
}

/// The variables that matter, by what they touch.
pub const THAT_MATTER: &[Variable] = {
    use Reach::{Global, Session, Start, Table};
    &[
        // What a statement means.
        variable("sql_mode", Session, false, "strictness and checks run for every row"),
        variable(
            "character_set_server",
            Table,
            false,
            "bytes of a character; utf8mb4 compares slower than latin1",
        ),
        variable("collation_server", Table, false, "UCA 9.0 collations compare slower than older ones"),
        variable("character_set_client", Session, false, "text is converted if it is not the column's"),
        variable(
            "time_zone",
            Session,
            false,
            "a named zone converts each TIMESTAMP under a lock on some versions",
        ),
        variable("transaction_isolation", Session, false, "locks taken, views made"),
        variable("autocommit", Session, false, "a commit and perhaps a sync for each statement"),
        variable("optimizer_switch", Session, false, "which plans there are; grows with each version"),
        // Durability: each of these is a sync or a write for each commit.
        variable("innodb_flush_log_at_trx_commit", Global, true, "1 syncs the redo log for each commit"),
        variable("sync_binlog", Global, true, "1 syncs the binary log for each group of commits"),
        variable("log_bin", Start, true, "writing the binary log: on by default since 8.0, off before"),
        variable(
            "binlog_format",
            Session,
            false,
            "STATEMENT needs the statement's text, ROW the rows' images",
        ),
        variable("binlog_row_image", Session, false, "how much of a row is logged"),
        variable("innodb_doublewrite", Start, true, "each page is written twice"),
        variable(
            "innodb_flush_method",
            Start,
            false,
            "O_DIRECT passes by the page cache: the default since 8.4",
        ),
        variable("innodb_flush_neighbors", Global, false, "more pages written with each page"),
        variable("innodb_io_capacity", Global, false, "how fast pages are flushed"),
        variable("innodb_use_fdatasync", Global, false, "cheaper syncs"),
        // Memory.
        variable("innodb_buffer_pool_size", Start, true, "what fits in memory"),
        variable("innodb_buffer_pool_instances", Start, false, "how many mutexes pages share"),
        variable("innodb_buffer_pool_chunk_size", Start, false, "rounds the pool's size"),
        variable(
            "innodb_adaptive_hash_index",
            Global,
            false,
            "shortens point reads, costs a latch; off by default since 8.4",
        ),
        variable(
            "innodb_change_buffering",
            Global,
            false,
            "puts off secondary index writes; none by default since 8.4",
        ),
        variable("innodb_log_file_size", Start, true, "how often checkpoints press"),
        variable("innodb_redo_log_capacity", Start, true, "how often checkpoints press"),
        variable("innodb_log_buffer_size", Global, false, "a transaction larger than it waits"),
        variable("innodb_page_size", Start, true, "rows on a page"),
        variable("sort_buffer_size", Session, false, "a sort larger than it goes to disk"),
        variable("join_buffer_size", Session, false, "joins without an index, hash joins"),
        variable("tmp_table_size", Session, false, "temporary tables larger than it go to disk"),
        variable("max_heap_table_size", Session, false, "the same for MEMORY"),
        variable("internal_tmp_mem_storage_engine", Session, false, "TempTable or MEMORY"),
        variable("table_open_cache", Global, false, "tables closed and opened again"),
        variable("thread_cache_size", Global, false, "threads started for connections"),
        variable("query_cache_type", Start, true, "answers without running the statement; gone in 8.0"),
        variable("query_cache_size", Global, true, "the same"),
        // Format of rows.
        variable(
            "innodb_default_row_format",
            Table,
            false,
            "DYNAMIC since 5.7.9, COMPACT before: where long values lie",
        ),
        variable("innodb_file_format", Global, false, "5.6: Antelope has no DYNAMIC"),
        variable("innodb_file_per_table", Global, false, "where a table's pages lie"),
        // What watches.
        variable(
            "slow_query_log",
            Global,
            false,
            "a statement's text is built for it; incident: prepared INSERT on 5.7",
        ),
        variable("general_log", Global, false, "each statement's text is written"),
        variable("long_query_time", Global, false, "which statements the slow log takes"),
        variable("log_output", Global, false, "FILE, or a table with its own locks"),
        variable("log_slow_extra", Global, false, "more to write for each slow statement"),
        variable("performance_schema", Start, false, "instruments cost some CPU for each wait"),
        variable("userstat", Global, false, "counts for each user and table"),
        variable("audit_log_policy", Start, false, "each statement is written"),
        // Concurrency.
        variable("innodb_thread_concurrency", Global, false, "threads wait to enter InnoDB"),
        variable("innodb_spin_wait_delay", Global, false, "CPU spent waiting"),
        variable("innodb_sync_spin_loops", Global, false, "CPU spent waiting"),
        variable("innodb_purge_threads", Start, false, "who removes old versions"),
        variable("innodb_deadlock_detect", Global, false, "walks the waiters at each wait"),
        variable("innodb_autoinc_lock_mode", Start, false, "2 since 8.0, 1 before: a lock for each INSERT"),
        variable(
            "innodb_stats_persistent_sample_pages",
            Global,
            false,
            "how good the optimizer's numbers are",
        ),
        variable("innodb_stats_on_metadata", Global, false, "statistics taken anew for metadata queries"),
        variable("thread_handling", Start, true, "a thread for each connection, or a pool"),
        variable("max_connections", Global, false, "how many may come"),
        variable("skip_name_resolve", Start, false, "a DNS question for each connection"),
        variable("eq_range_index_dive_limit", Session, false, "long IN lists are estimated, not looked up"),
        variable("range_optimizer_max_mem_size", Session, false, "a longer IN list becomes a full scan"),
        variable("max_allowed_packet", Global, false, "the longest statement"),
        variable("net_buffer_length", Session, false, "writes for each result"),
        variable("require_secure_transport", Global, false, "TLS for all"),
        variable("version_compile_machine", Start, false, "what it was built for"),
        variable("version_compile_zlib", Start, false, "which zlib"),
        variable("innodb_checksum_algorithm", Start, false, "crc32 or the slow innodb"),
    ]
};

/// Old names of variables whose name changed: (new, old).
const OLD_NAMES: [(&str, &str); 1] = [("transaction_isolation", "tx_isolation")];

/// The known variable of that name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Variable> {
    THAT_MATTER.iter().find(|variable| variable.name == name)
}

/// Reads those of [`THAT_MATTER`] that the server has, by their new names.
///
/// # Errors
/// The server's or the connection's.
pub fn read(connection: &mut Connection) -> Result<BTreeMap<String, String>, Error> {
    let mut all: BTreeMap<String, String> = ask(connection, "SHOW GLOBAL VARIABLES")?
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??.to_ascii_lowercase(), cells.next().flatten().unwrap_or_default()))
        })
        .collect();
    for (new, old) in OLD_NAMES {
        if !all.contains_key(new)
            && let Some(value) = all.remove(old)
        {
            all.insert(new.to_owned(), value);
        }
    }
    all.retain(|name, _| known(name).is_some());
    Ok(all)
}

/// Which variables differ between servers, and what is done about each. `servers` is name and variables; `set_globally` the
/// names the lab was allowed to set and did.
///
/// A variable that some do not have at all is told too, unless its absence means what the others have: a 5.7 without
/// `innodb_redo_log_capacity` has `innodb_log_file_size` instead, and says so in `reason`.
#[must_use]
pub fn compare(servers: &[(&str, &BTreeMap<String, String>)], set_globally: &[&str]) -> Vec<Setting> {
    let mut settings = Vec::new();
    for variable in THAT_MATTER {
        let values: BTreeMap<String, String> = servers
            .iter()
            .filter_map(|(name, all)| Some(((*name).to_owned(), all.get(variable.name)?.clone())))
            .collect();
        if values.is_empty() {
            continue;
        }
        let mut distinct: Vec<String> = values.values().map(|value| canonical(value)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let missing = values.len() < servers.len();
        let is_same = distinct.len() == 1 && !missing;
        let was_set = !is_same
            && match variable.reach {
                Reach::Session => crate::server::equalise::SESSION_VARIABLES.contains(&variable.name),
                Reach::Table => true,
                Reach::Global => !missing && set_globally.contains(&variable.name),
                Reach::Start => false,
            };
        let is_equal = is_same || was_set;
        let is_choice = values.values().all(|value| is_choice(variable.name, value));
        let reason = (!is_equal).then(|| {
            let how = match variable.reach {
                _ if missing => "not every server has it",
                _ if !is_choice => "no setting, but how one of them is built",
                Reach::Session => "set for sessions by the server itself",
                Reach::Table => "set for tables",
                Reach::Global => "global: allow it with --allow-global",
                Reach::Start => "can only be set when the server starts",
            };
            format!("{how}; {}", variable.why)
        });
        settings.push(Setting {
            name: variable.name.to_owned(),
            values,
            is_equal,
            was_set,
            reason,
            // One that is absent somewhere is no difference of values: it cannot be weighed.
            is_confound: !is_equal && variable.is_confound && is_choice && distinct.len() > 1,
        });
    }
    settings
}

/// Whether a server could be told to take this value. What it cannot, it says of itself: that is what is compared, not a confound.
fn is_choice(name: &str, value: &str) -> bool {
    const THREAD_HANDLINGS: [&str; 4] =
        ["ONE-THREAD-PER-CONNECTION", "POOL-OF-THREADS", "NO-THREADS", "LOADED-DYNAMICALLY"];
    name != "thread_handling" || THREAD_HANDLINGS.contains(&canonical(value).as_str())
}

/// ON and 1, OFF and 0 mean the same.
pub(crate) fn canonical(value: &str) -> String {
    match value.to_ascii_uppercase().as_str() {
        "ON" | "TRUE" | "YES" => "1".to_owned(),
        "OFF" | "FALSE" | "NO" => "0".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn names_are_written_once() {
        let mut names: Vec<_> = THAT_MATTER.iter().map(|variable| variable.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn differences_are_told_with_what_is_done_about_them() {
        let old = variables(&[
            ("sql_mode", "NO_ENGINE_SUBSTITUTION"),
            ("innodb_buffer_pool_size", "2147483648"),
            ("log_bin", "OFF"),
            ("slow_query_log", "ON"),
            ("innodb_file_format", "Antelope"),
            ("autocommit", "1"),
        ]);
        let new = variables(&[
            ("sql_mode", "STRICT_TRANS_TABLES"),
            ("innodb_buffer_pool_size", "134217728"),
            ("log_bin", "ON"),
            ("slow_query_log", "OFF"),
            ("autocommit", "ON"),
        ]);
        let servers = [("old", &old), ("new", &new)];
        let settings = compare(&servers, &[]);
        let find =
            |settings: &[Setting], name: &str| settings.iter().find(|one| one.name == name).unwrap().clone();
        let mode = find(&settings, "sql_mode");
        assert!(mode.is_equal && mode.was_set && mode.reason.is_none(), "{mode:?}");
        assert!(find(&settings, "autocommit").is_equal, "ON is 1");
        let pool = find(&settings, "innodb_buffer_pool_size");
        assert!(!pool.is_equal && pool.is_confound, "{pool:?}");
        assert!(pool.reason.unwrap().contains("when the server starts"));
        let log = find(&settings, "slow_query_log");
        assert!(!log.is_equal && !log.is_confound && log.reason.unwrap().contains("--allow-global"));
        let format = find(&settings, "innodb_file_format");
        assert!(
            !format.is_equal && !format.is_confound && format.reason.unwrap().contains("not every server")
        );

        let threads = |value: &str| variables(&[("thread_handling", value)]);
        let (each, pool, own) = (
            threads("one-thread-per-connection"),
            threads("pool-of-threads"),
            threads("one-worker-group-per-core"),
        );
        let handling = |other| find(&compare(&[("a", &each), ("b", other)], &[]), "thread_handling");
        assert!(handling(&pool).is_confound, "either could be started like the other");
        let built = handling(&own);
        assert!(!built.is_equal && !built.is_confound && built.reason.unwrap().contains("is built"));

        let allowed = compare(&servers, &["slow_query_log"]);
        let log = find(&allowed, "slow_query_log");
        assert!(log.is_equal && log.was_set);
    }
}
