//! Status counters before and after, and what one operation did to them.
//!
//! A count does not depend on how busy the machine is: it is the evidence that survives noise. Counters differ between
//! flavours and versions, so they go by name, and one that a server does not have is missing, not 0.
//!
//! Invariants:
//! 1. A value that went down is never subtracted: it wrapped at 32 or 64 bits, was reset, or is a level and no counter.
//! 2. What reading the counters itself adds to them is measured and taken off ([`Footprint`]).
//! 3. If the server was restarted in between, there is no difference at all.

use std::collections::BTreeMap;

use client::{Connection, Error};

use super::ask;

/// Status values that go up and down by nature: the present state of something, a mean, a maximum.
const LEVELS: &[&str] = &[
    "acl_cache_items_count",
    "global_connection_memory",
    "innodb_history_list_length",
    "innodb_max_trx_id",
    "innodb_num_open_files",
    "innodb_page_size",
    "key_blocks_not_flushed",
    "key_blocks_unused",
    "key_blocks_used",
    "memory_used",
    "not_flushed_delayed_rows",
    "ongoing_anonymous_transaction_count",
    "open_files",
    "open_streams",
    "open_table_definitions",
    "open_tables",
    "prepared_stmt_count",
    "threads_cached",
    "threads_connected",
    "threads_running",
    "uptime",
    "uptime_since_flush_status",
];
const LEVEL_BEGINNINGS: &[&str] = &[
    "innodb_buffer_pool_bytes_",
    "innodb_buffer_pool_pages_",
    "innodb_mem_",
    "innodb_redo_log_",
    "innodb_undo_tablespaces_",
    "innodb_lsn_",
    "innodb_checkpoint_",
    "max_used_connections",
    "qcache_free_",
    "qcache_queries_in_cache",
    "qcache_total_blocks",
    "ssl_",
    "last_query_",
    "wsrep_",
];
const LEVEL_ENDINGS: &[&str] =
    &["_avg", "_max", "_current_waits", "_status_code", "_timestamp", "_longest_seen"];
/// Counters, though their name begins as that of levels does.
const NO_LEVELS: &[&str] = &["innodb_buffer_pool_pages_flushed", "ssl_accepts", "ssl_finished_accepts"];

/// Whether a status value is the present state of something, not a count that only grows.
#[must_use]
pub(crate) fn is_level(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.as_str();
    !NO_LEVELS.contains(&name)
        && (LEVELS.contains(&name)
            || name.contains("_pending_")
            || LEVEL_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || LEVEL_ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

/// All status values of a server at one moment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Snapshot {
    values: BTreeMap<String, u64>,
}

impl Snapshot {
    /// Asks for all of them; those that are no integer are left out.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn take(connection: &mut Connection) -> Result<Snapshot, Error> {
        let rows = ask(connection, "SHOW GLOBAL STATUS")?;
        Ok(Snapshot::of(rows.into_iter().filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next()??))
        })))
    }

    /// From names and values as SHOW STATUS writes them.
    pub fn of(rows: impl IntoIterator<Item = (String, String)>) -> Snapshot {
        Snapshot {
            values: rows.into_iter().filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect(),
        }
    }

    /// One value; `None` if the server does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.values.get(name).copied()
    }

    /// What happened since `earlier`.
    ///
    /// # Errors
    /// The server was restarted in between: its counters began at 0.
    pub fn since(&self, earlier: &Snapshot) -> Result<Delta, CountersReset> {
        if let (Some(now), Some(then)) = (self.get("Uptime"), earlier.get("Uptime"))
            && now < then
        {
            return Err(CountersReset);
        }
        let mut delta = Delta::default();
        for (name, &now) in &self.values {
            match earlier.get(name) {
                Some(then) => {
                    delta.changes.insert(name.clone(), change(name, then, now));
                }
                // MySQL makes some rows with their first use: before it the count was 0.
                None if !is_level(name) => {
                    delta.changes.insert(name.clone(), Change::Counted(now));
                }
                None => {}
            }
        }
        delta.vanished =
            earlier.values.keys().filter(|name| !self.values.contains_key(*name)).cloned().collect();
        Ok(delta)
    }
}

/// A server's counters were reset between two snapshots.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CountersReset;

impl std::fmt::Display for CountersReset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the server was restarted between two readings of its status")
    }
}

impl std::error::Error for CountersReset {}

/// What became of one status value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Change {
    /// It counted that many; a wrap at 32 bits is already undone.
    Counted(u64),
    /// A level: before and after.
    Level(u64, u64),
    /// It went down: FLUSH STATUS, or something that is no counter. What was counted is not known.
    Reset,
}

fn change(name: &str, then: u64, now: u64) -> Change {
    /// A counter of 32 bits wraps from the upper half to the lower; a reset hardly does both.
    const HALF: u64 = 1 << 31;
    if is_level(name) {
        Change::Level(then, now)
    } else if now >= then {
        Change::Counted(now - then)
    } else if (HALF..HALF * 2).contains(&then) && now < HALF {
        Change::Counted(now + HALF * 2 - then)
    } else if then > u64::MAX / 4 * 3 && now < u64::MAX / 4 {
        Change::Counted(now.wrapping_sub(then))
    } else {
        Change::Reset
    }
}

/// What happened to all status values between two snapshots.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Delta {
    /// By name.
    pub changes: BTreeMap<String, Change>,
    /// Names that were there before and are not now: a plugin was taken out.
    pub vanished: Vec<String>,
}

impl Delta {
    /// Counts per operation, the reading's own share taken off; levels, resets and zeros are left out.
    #[must_use]
    pub fn per_operation(&self, operation_count: u64, footprint: &Footprint) -> BTreeMap<String, f64> {
        if operation_count == 0 {
            return BTreeMap::new();
        }
        let counted = |change: &Change| match change {
            Change::Counted(count) => Some(*count),
            Change::Level(..) | Change::Reset => None,
        };
        self.changes
            .iter()
            .filter_map(|(name, change)| {
                let own = footprint.0.get(name).copied().unwrap_or(0);
                let count = counted(change)?.saturating_sub(own);
                (count > 0).then(|| (name.clone(), count as f64 / operation_count as f64))
            })
            .collect()
    }
}

/// What one reading of the status adds to the counters.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Footprint(BTreeMap<String, u64>);

impl Footprint {
    /// Measures it: reads the status a few times in a row and takes the least each counter moved. On a server that others
    /// use this is an upper bound of the least, which is still right for counters they leave alone.
    ///
    /// # Errors
    /// The server's or the connection's.
    pub fn measure(connection: &mut Connection) -> Result<Footprint, Error> {
        const PAIRS: usize = 3;
        let mut least: Option<BTreeMap<String, u64>> = None;
        let mut before = Snapshot::take(connection)?;
        for _ in 0..PAIRS {
            let after = Snapshot::take(connection)?;
            let moved: BTreeMap<String, u64> = match after.since(&before) {
                Ok(delta) => delta
                    .changes
                    .into_iter()
                    .filter_map(|(name, change)| match change {
                        Change::Counted(count @ 1..) => Some((name, count)),
                        _ => None,
                    })
                    .collect(),
                Err(CountersReset) => BTreeMap::new(),
            };
            least = Some(match least {
                None => moved,
                Some(least) => least
                    .into_iter()
                    .filter_map(|(name, count)| Some((count.min(*moved.get(&name)?), name)))
                    .map(|(count, name)| (name, count))
                    .collect(),
            });
            before = after;
        }
        Ok(Footprint(least.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(pairs: &[(&str, &str)]) -> Snapshot {
        Snapshot::of(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
    }

    #[test]
    fn counters_are_divided_among_operations_without_the_readings_share() {
        let before = snapshot(&[
            ("Uptime", "10"),
            ("Questions", "100"),
            ("Handler_read_key", "5"),
            ("Ssl_cipher", "AES"),
        ]);
        let after = snapshot(&[
            ("Uptime", "12"),
            ("Questions", "301"),
            ("Handler_read_key", "5"),
            ("Com_stmt_prepare", "100"),
            ("Ssl_cipher", "AES"),
        ]);
        let delta = after.since(&before).unwrap();
        let footprint = Footprint([("Questions".to_owned(), 1)].into());
        let per = delta.per_operation(100, &footprint);
        assert_eq!(per.len(), 2, "{per:?}");
        assert!((per["Questions"] - 2.0).abs() < 1e-9);
        assert!((per["Com_stmt_prepare"] - 1.0).abs() < 1e-9, "made with its first use");
        assert!(delta.per_operation(0, &footprint).is_empty());
    }

    #[test]
    fn what_went_down_is_never_subtracted() {
        let then = u64::from(u32::MAX) - 9;
        assert_eq!(change("Bytes_sent", then, 90), Change::Counted(100), "32 bits");
        assert_eq!(change("Bytes_sent", u64::MAX - 9, 90), Change::Counted(100), "64 bits");
        assert_eq!(change("Bytes_sent", 5000, 90), Change::Reset, "FLUSH STATUS");
        assert_eq!(change("Threads_connected", 5, 3), Change::Level(5, 3));
        assert_eq!(change("Innodb_data_pending_reads", 5, 3), Change::Level(5, 3));
        let earlier = snapshot(&[("Uptime", "500")]);
        assert_eq!(snapshot(&[("Uptime", "3")]).since(&earlier), Err(CountersReset));
    }

    #[test]
    fn counters_and_levels_are_distinguished() {
        for level in ["Uptime", "Open_tables", "Innodb_buffer_pool_pages_dirty", "Innodb_row_lock_time_avg"] {
            assert!(is_level(level), "{level}");
        }
        for counter in
            ["Opened_tables", "Innodb_buffer_pool_pages_flushed", "Innodb_row_lock_time", "Queries"]
        {
            assert!(!is_level(counter), "{counter}");
        }
    }
}
