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
    /// By SET GLOBAL on some servers, where the user allows it; on others only by starting them otherwise.
    GlobalOrStart,
    /// By a clause of CREATE TABLE; always done.
    Table,
    /// Only by starting the server otherwise, or not at all.
    Start,
}

/// When a difference explains slowness by itself, so that no verdict may be drawn over it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confound {
    /// It does not.
    Never,
    /// For what changes data: nothing of it is on the way of a statement that only reads.
    OfWrites,
    /// As [`Confound::OfWrites`], where all servers write a binary log.
    OfBinlog,
    /// Where more redo is written than half of the smallest value: known once it has run.
    OfMuchRedo,
    /// Where the scenario's data does not fit into the smallest value.
    OfDataBeyondIt,
    /// Where the scenario has tables.
    OfTables,
    /// Where a server answers from its query cache.
    OfQueryCache,
    /// Always.
    Always,
}

/// What a scenario does, as far as it decides which settings matter.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Demand {
    /// Nothing that is run changes data.
    pub only_reads: bool,
    /// Bytes of its tables with their indexes, rather too many than too few; 0: it has none.
    pub data_bytes: u64,
    /// Bytes of redo that were written to a server, once it has run.
    pub redo_bytes: u64,
}

impl Confound {
    /// Whether a difference matters, and if it does not, why not.
    fn matters(
        self,
        name: &str,
        servers: &[(&str, &BTreeMap<String, String>)],
        demand: Demand,
    ) -> Result<(), String> {
        let values = |name: &str| servers.iter().filter_map(|(_, all)| all.get(name)).collect::<Vec<_>>();
        let least = || values(name).iter().filter_map(|value| value.parse::<u64>().ok()).min().unwrap_or(0);
        let unless = |does_not: bool, why: String| if does_not { Err(why) } else { Ok(()) };
        let reads = "what is run only reads".to_owned();
        match self {
            Confound::Never => Err(String::new()),
            Confound::OfWrites => unless(demand.only_reads, reads),
            Confound::OfBinlog if demand.only_reads => Err(reads),
            Confound::OfBinlog => {
                let all_log = values("log_bin").iter().all(|value| canonical(value) == "1");
                unless(!all_log, "not every server writes a binary log".to_owned())
            }
            Confound::OfMuchRedo => {
                let written = demand.redo_bytes;
                unless(written <= least() / 2, format!("only {} of redo were written", bytes(written)))
            }
            Confound::OfDataBeyondIt => {
                let data = demand.data_bytes;
                let fits = if data == 0 {
                    "the scenario has no tables".to_owned()
                } else {
                    format!("the scenario's data, about {}, fits into the smallest", bytes(data))
                };
                // A pool holds more than pages of data.
                unless(data <= least() / 4 * 3, fits)
            }
            Confound::OfTables => unless(demand.data_bytes == 0, "the scenario has no tables".to_owned()),
            Confound::OfQueryCache => {
                let is_on = values("query_cache_type").iter().any(|value| canonical(value) != "0");
                unless(!is_on, "the query cache is off".to_owned())
            }
            Confound::Always => Ok(()),
        }
    }
}

/// A number of bytes for people.
fn bytes(count: u64) -> String {
    match count {
        0..1024 => format!("{count} bytes"),
        1024..1_048_576 => format!("{} KiB", count >> 10),
        _ => format!("{} MiB", count >> 20),
    }
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
    /// What a difference means for a verdict.
    pub confound: Confound,
}

const fn variable(name: &'static str, reach: Reach, confound: Confound, why: &'static str) -> Variable {
    Variable { name, why, reach, confound }
}

/// The variables that matter, by what they touch.
pub(crate) const THAT_MATTER: &[Variable] = {
    use Confound::{Always, Never, OfBinlog, OfDataBeyondIt, OfMuchRedo, OfQueryCache, OfTables, OfWrites};
    use Reach::{Global, GlobalOrStart, Session, Start, Table};
    &[
        // What a statement means.
        variable("sql_mode", Session, Never, "strictness and checks run for every row"),
        variable(
            "character_set_server",
            Table,
            Never,
            "bytes of a character; utf8mb4 compares slower than latin1",
        ),
        variable("collation_server", Table, Never, "UCA 9.0 collations compare slower than older ones"),
        variable("character_set_client", Session, Never, "text is converted if it is not the column's"),
        variable(
            "time_zone",
            Session,
            Never,
            "a named zone converts each TIMESTAMP under a lock on some versions",
        ),
        variable("transaction_isolation", Session, Never, "locks taken, views made"),
        variable("autocommit", Session, Never, "a commit and perhaps a sync for each statement"),
        variable("optimizer_switch", Session, Never, "which plans there are; grows with each version"),
        // Durability: each of these is a sync or a write for each commit.
        variable("innodb_flush_log_at_trx_commit", Global, OfWrites, "1 syncs the redo log for each commit"),
        variable("sync_binlog", Global, OfBinlog, "1 syncs the binary log for each group of commits"),
        variable("log_bin", Start, OfWrites, "writing the binary log: on by default since 8.0, off before"),
        variable(
            "binlog_format",
            Session,
            Never,
            "STATEMENT needs the statement's text, ROW the rows' images",
        ),
        variable("binlog_row_image", Session, Never, "how much of a row is logged"),
        variable("innodb_doublewrite", Start, OfWrites, "each page is written twice"),
        variable(
            "innodb_flush_method",
            Start,
            Never,
            "O_DIRECT passes by the page cache: the default since 8.4",
        ),
        variable("innodb_flush_neighbors", Global, Never, "more pages written with each page"),
        variable("innodb_io_capacity", Global, Never, "how fast pages are flushed"),
        variable("innodb_use_fdatasync", Global, Never, "cheaper syncs"),
        // Memory.
        variable("innodb_buffer_pool_size", GlobalOrStart, OfDataBeyondIt, "what fits in memory"),
        variable("innodb_buffer_pool_instances", Start, Never, "how many mutexes pages share"),
        variable("innodb_buffer_pool_chunk_size", Start, Never, "rounds the pool's size"),
        variable(
            "innodb_adaptive_hash_index",
            Global,
            Never,
            "shortens point reads, costs a latch; off by default since 8.4",
        ),
        variable(
            "innodb_change_buffering",
            Global,
            Never,
            "puts off secondary index writes; none by default since 8.4",
        ),
        variable("innodb_log_file_size", Start, OfMuchRedo, "how often checkpoints press"),
        variable("innodb_redo_log_capacity", Start, OfMuchRedo, "how often checkpoints press"),
        variable("innodb_log_buffer_size", Global, Never, "a transaction larger than it waits"),
        variable("innodb_page_size", Start, OfTables, "rows on a page"),
        variable("sort_buffer_size", Session, Never, "a sort larger than it goes to disk"),
        variable("join_buffer_size", Session, Never, "joins without an index, hash joins"),
        variable("tmp_table_size", Session, Never, "temporary tables larger than it go to disk"),
        variable("max_heap_table_size", Session, Never, "the same for MEMORY"),
        variable("internal_tmp_mem_storage_engine", Session, Never, "TempTable or MEMORY"),
        variable("table_open_cache", Global, Never, "tables closed and opened again"),
        variable("thread_cache_size", Global, Never, "threads started for connections"),
        variable(
            "query_cache_type",
            Start,
            OfQueryCache,
            "answers without running the statement; gone in 8.0",
        ),
        variable("query_cache_size", Global, OfQueryCache, "the same"),
        // Format of rows.
        variable(
            "innodb_default_row_format",
            Table,
            Never,
            "DYNAMIC since 5.7.9, COMPACT before: where long values lie",
        ),
        variable("innodb_file_format", Global, Never, "5.6: Antelope has no DYNAMIC"),
        variable("innodb_file_per_table", Global, Never, "where a table's pages lie"),
        // What watches.
        variable(
            "slow_query_log",
            Global,
            Never,
            "a statement's text is built for it; incident: prepared INSERT on 5.7",
        ),
        variable("general_log", Global, Never, "each statement's text is written"),
        variable("long_query_time", Global, Never, "which statements the slow log takes"),
        variable("log_output", Global, Never, "FILE, or a table with its own locks"),
        variable("log_slow_extra", Global, Never, "more to write for each slow statement"),
        variable("performance_schema", Start, Never, "instruments cost some CPU for each wait"),
        variable("userstat", Global, Never, "counts for each user and table"),
        variable("audit_log_policy", Start, Never, "each statement is written"),
        // Concurrency.
        variable("innodb_thread_concurrency", Global, Never, "threads wait to enter InnoDB"),
        variable("innodb_spin_wait_delay", Global, Never, "CPU spent waiting"),
        variable("innodb_sync_spin_loops", Global, Never, "CPU spent waiting"),
        variable("innodb_purge_threads", Start, Never, "who removes old versions"),
        variable("innodb_deadlock_detect", Global, Never, "walks the waiters at each wait"),
        variable("innodb_autoinc_lock_mode", Start, Never, "2 since 8.0, 1 before: a lock for each INSERT"),
        variable(
            "innodb_stats_persistent_sample_pages",
            Global,
            Never,
            "how good the optimizer's numbers are",
        ),
        variable(
            "innodb_stats_on_metadata",
            Global,
            Never,
            "statistics collected again for metadata queries",
        ),
        variable("thread_handling", Start, Always, "a thread for each connection, or a pool"),
        variable("max_connections", Global, Never, "how many may come"),
        variable("skip_name_resolve", Start, Never, "a DNS question for each connection"),
        variable("eq_range_index_dive_limit", Session, Never, "long IN lists are estimated, not looked up"),
        variable("range_optimizer_max_mem_size", Session, Never, "a longer IN list becomes a full scan"),
        variable("max_allowed_packet", Global, Never, "the longest statement"),
        variable("net_buffer_length", Session, Never, "writes for each result"),
        variable("require_secure_transport", Global, Never, "TLS for all"),
        variable("version_compile_machine", Start, Never, "what it was built for"),
        variable("version_compile_zlib", Start, Never, "which zlib"),
        variable("innodb_checksum_algorithm", Start, Never, "crc32 or the slow innodb"),
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
/// names the lab was allowed to set and did; `demand` decides which differences matter.
///
/// A variable that some do not have at all is reported too, unless its absence means what the others have: a 5.7 without
/// `innodb_redo_log_capacity` has `innodb_log_file_size` instead, and says so in `reason`.
#[must_use]
pub fn compare(
    servers: &[(&str, &BTreeMap<String, String>)],
    set_globally: &[&str],
    demand: Demand,
) -> Vec<Setting> {
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
                Reach::Global | Reach::GlobalOrStart => !missing && set_globally.contains(&variable.name),
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
                Reach::GlobalOrStart => {
                    "set when the server starts; newer ones take it by --allow-global, too"
                }
                Reach::Start => "can only be set when the server starts",
            };
            format!("{how}; {}", variable.why)
        });
        // One that is absent somewhere is no difference of values: it cannot be weighed.
        let is_comparable = !is_equal && is_choice && distinct.len() > 1;
        let matters = variable.confound.matters(variable.name, servers, demand);
        let reason = match (&matters, reason) {
            (Err(why), Some(reason)) if is_comparable && !why.is_empty() => Some(format!("{reason}; {why}")),
            (_, reason) => reason,
        };
        settings.push(Setting {
            name: variable.name.to_owned(),
            values,
            is_equal,
            was_set,
            reason,
            is_confound: is_comparable && matters.is_ok(),
            is_accepted: false,
        });
    }
    settings
}

/// Which of the settings that differ turn out to matter once it is known how much was written. Returns their names.
pub(crate) fn weigh_again(
    settings: &mut [Setting],
    servers: &[(&str, &BTreeMap<String, String>)],
    demand: Demand,
) -> Vec<String> {
    let mut found = Vec::new();
    for setting in settings.iter_mut().filter(|one| !one.is_equal && !one.is_confound && !one.is_accepted) {
        let Some(variable) = known(&setting.name) else { continue };
        let is_there = setting.values.len() == servers.len() && has_other_values(setting);
        let by_amount = matches!(variable.confound, Confound::OfMuchRedo | Confound::OfDataBeyondIt);
        if by_amount && is_there && variable.confound.matters(variable.name, servers, demand).is_ok() {
            setting.is_confound = true;
            setting.reason = Some(variable.why.to_owned());
            found.push(setting.name.clone());
        }
    }
    found
}

/// Whether the values that are there are not all the same.
pub(crate) fn has_other_values(setting: &Setting) -> bool {
    let mut values = setting.values.values().map(|value| canonical(value));
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// How to make alike what differs and forbids a verdict, in words.
#[must_use]
pub fn remedy(setting: &Setting) -> String {
    let name = setting.name.as_str();
    let reach = known(name).map_or(Reach::Start, |variable| variable.reach);
    let start = || {
        let is_on = |value: &str| canonical(value) == "1";
        // What most have is what the others shall be set to; the smaller one where there is no most.
        let mut values: Vec<&String> = setting.values.values().collect();
        values.sort_by_key(|value| (value.len(), (*value).clone()));
        let common = |value: &String| values.iter().filter(|other| ***other == *value).count();
        let Some(wanted) = values.iter().rev().max_by_key(|value| common(value)) else {
            return String::new();
        };
        let option = match name {
            "log_bin" => "--skip-log-bin".to_owned(),
            name => format!("--{}={wanted}", name.replace('_', "-")),
        };
        let others: Vec<&str> = setting
            .values
            .iter()
            .filter(|(_, value)| if name == "log_bin" { is_on(value) } else { value != wanted })
            .map(|(server, _)| server.as_str())
            .collect();
        format!("start {} with {option}", others.join(" and "))
    };
    match reach {
        Reach::Global => {
            "run with --allow-global, which gives all servers the first one's value and puts theirs back"
                .to_owned()
        }
        Reach::GlobalOrStart => {
            format!("{}, or run with --allow-global where the server can change it", start())
        }
        Reach::Session | Reach::Table | Reach::Start => start(),
    }
}

/// Whether a server could be set to this value. What cannot be set is a property of the server itself: that is what is compared, and
/// no confound.
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
        let writing = Demand { data_bytes: 1 << 30, redo_bytes: 1 << 30, ..Demand::default() };
        let settings = compare(&servers, &[], writing);
        let find =
            |settings: &[Setting], name: &str| settings.iter().find(|one| one.name == name).unwrap().clone();
        let mode = find(&settings, "sql_mode");
        assert!(mode.is_equal && mode.was_set && mode.reason.is_none(), "{mode:?}");
        assert!(find(&settings, "autocommit").is_equal, "ON is 1");
        let pool = find(&settings, "innodb_buffer_pool_size");
        assert!(!pool.is_equal && pool.is_confound, "{pool:?}");
        assert!(pool.reason.clone().unwrap().contains("when the server starts"));
        assert_eq!(
            remedy(&pool),
            "start old with --innodb-buffer-pool-size=134217728, or run with --allow-global where the server can change it"
        );
        let binlog = find(&settings, "log_bin");
        assert!(binlog.is_confound && remedy(&binlog) == "start new with --skip-log-bin", "{binlog:?}");
        // Nothing of the binary log is on the way of a read; the buffer pool is.
        let reading = compare(&servers, &[], Demand { only_reads: true, ..writing });
        assert!(
            !find(&reading, "log_bin").is_confound && find(&reading, "innodb_buffer_pool_size").is_confound
        );
        assert!(find(&reading, "log_bin").reason.unwrap().ends_with("what is run only reads"));
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
        let handling = |other| find(&compare(&[("a", &each), ("b", other)], &[], writing), "thread_handling");
        assert!(handling(&pool).is_confound, "either could be started like the other");
        let built = handling(&own);
        assert!(!built.is_equal && !built.is_confound && built.reason.unwrap().contains("is built"));

        let allowed = compare(&servers, &["slow_query_log"], writing);
        let log = find(&allowed, "slow_query_log");
        assert!(log.is_equal && log.was_set);
    }

    #[test]
    fn a_setting_forbids_a_verdict_only_where_it_can_matter() {
        let one = variables(&[
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_log_file_size", "50331648"),
            ("innodb_page_size", "16384"),
            ("log_bin", "OFF"),
            ("sync_binlog", "1"),
            ("query_cache_type", "OFF"),
            ("query_cache_size", "1048576"),
        ]);
        let other = variables(&[
            ("innodb_buffer_pool_size", "2147483648"),
            ("innodb_log_file_size", "104857600"),
            ("innodb_page_size", "8192"),
            ("log_bin", "ON"),
            ("sync_binlog", "0"),
            ("query_cache_type", "OFF"),
            ("query_cache_size", "0"),
        ]);
        let servers = [("one", &one), ("other", &other)];
        let confounds = |demand| -> Vec<String> {
            let all = compare(&servers, &[], demand).into_iter().filter(|one| one.is_confound);
            all.map(|setting| setting.name).collect()
        };
        let reads = Demand { only_reads: true, data_bytes: 20 << 20, redo_bytes: 0 };
        assert_eq!(confounds(reads), ["innodb_page_size"], "the data fits");
        assert_eq!(confounds(Demand { data_bytes: 0, ..reads }), [] as [String; 0], "no tables at all");
        let large = Demand { data_bytes: 200 << 20, ..reads };
        assert_eq!(confounds(large), ["innodb_buffer_pool_size", "innodb_page_size"]);
        let writes = Demand { only_reads: false, ..reads };
        assert_eq!(confounds(writes), ["log_bin", "innodb_page_size"]);
        let mut settings = compare(&servers, &[], writes);
        let pool = settings.iter().find(|setting| setting.name == "innodb_buffer_pool_size").unwrap();
        assert!(pool.reason.as_ref().unwrap().ends_with("about 20 MiB, fits into the smallest"), "{pool:?}");
        assert_eq!(weigh_again(&mut settings, &servers, writes), [] as [String; 0]);
        let much = Demand { data_bytes: 300 << 20, redo_bytes: 300 << 20, ..writes };
        let found = weigh_again(&mut settings, &servers, much);
        assert_eq!(found, ["innodb_buffer_pool_size", "innodb_log_file_size"]);
        assert!(
            settings
                .iter()
                .filter(|setting| found.contains(&setting.name))
                .all(|setting| setting.is_confound)
        );
    }
}
