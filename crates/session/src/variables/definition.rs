//! The table of system variables, read once from `system_variables.tsv`.

use std::sync::OnceLock;

use hashbrown::HashMap;

use super::values::Setting;

const TABLE: &str = include_str!("system_variables.tsv");

/// Where a variable may be set and read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    /// One value for the server.
    Global,
    /// A global value that new sessions start from, and one a session.
    Both,
    /// Only a value a session (`timestamp`, `last_insert_id`).
    Session,
}

/// Whether `SET` may change it while the server runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    /// `SET` works.
    Dynamic,
    /// Given at start or computed; `SET` answers 1238.
    ReadOnly,
    /// `SET GLOBAL` works; a session keeps what it began with, and `SET` answers 1621.
    GlobalOnly,
}

/// What values a variable takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// ON or OFF.
    Boolean,
    /// A whole number. `signed` when its least value is below zero.
    Integer {
        /// The least value allowed.
        least: i128,
        /// The greatest value allowed.
        greatest: i128,
        /// Values are rounded down to a multiple of this one.
        multiple_of: i128,
    },
    /// A number with decimals (`long_query_time`), in the unit the manual names.
    Decimal {
        /// The least value allowed.
        least: f64,
        /// The greatest value allowed.
        greatest: f64,
    },
    /// One of the names.
    Enumeration(Vec<&'static str>),
    /// Any of the names, joined by commas.
    Set(Vec<&'static str>),
    /// Text.
    Text,
    /// The name of a character set.
    CharacterSet,
    /// The name of a collation.
    Collation,
    /// The name of a locale.
    Locale,
    /// The name of a storage engine.
    Engine,
}

impl Kind {
    /// Whether an option's value is its text, even where that looks like a number.
    #[must_use]
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text)
    }

    /// Whether an option's value may be a name or a number.
    #[must_use]
    pub fn is_named(&self) -> bool {
        matches!(
            self,
            Self::Enumeration(_)
                | Self::Set(_)
                | Self::CharacterSet
                | Self::Collation
                | Self::Locale
                | Self::Engine
        )
    }
}

/// What `SET` of a variable warns of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Deprecation {
    /// 1287: the variable will be removed.
    Variable,
    /// 1287 when it is switched off.
    Off,
    /// 1681: it will be made read-only.
    Updating,
    /// 4166 with this text when it is switched off, 1681 when it is switched on.
    OffWithNote(&'static str),
}

/// One system variable.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its name, lower case.
    pub name: &'static str,
    /// Where it lives.
    pub scope: Scope,
    /// What it takes.
    pub kind: Kind,
    /// Whether it can be set.
    pub access: Access,
    /// Whether PERSIST and PERSIST_ONLY may keep its value.
    pub is_persistable: bool,
    /// Whether it takes NULL.
    pub is_nullable: bool,
    /// The value at start.
    pub default: Setting,
    /// What setting it warns of.
    pub deprecation: Option<Deprecation>,
    /// The present name of a variable that has two, which share their value.
    pub present_name: Option<&'static str>,
}

/// Position of a variable in [`definitions`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct VariableId(pub(super) u16);

impl VariableId {
    /// The position as an index.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The variable of another name that has the same value.
    #[must_use]
    pub fn twin(self) -> Option<Self> {
        table().twins.get(&self).copied()
    }

    /// What the variable is.
    #[must_use]
    pub fn definition(self) -> &'static Definition {
        &definitions()[self.index()]
    }
}

struct Table {
    definitions: Vec<Definition>,
    by_name: HashMap<&'static str, VariableId>,
    /// Of each variable the other one that has its value.
    twins: HashMap<VariableId, VariableId>,
}

fn parse_kind(
    text: &str,
    least: &'static str,
    greatest: &'static str,
    multiple: &str,
    names: &'static str,
) -> Kind {
    let names = || names.split(',').collect::<Vec<_>>();
    match text {
        "bool" => Kind::Boolean,
        "int" => Kind::Integer {
            least: least.parse().unwrap_or(i128::from(i64::MIN)),
            greatest: greatest.parse().unwrap_or(i128::from(u64::MAX)),
            multiple_of: multiple.parse().unwrap_or(1),
        },
        "num" => Kind::Decimal {
            least: least.parse().unwrap_or(0.0),
            greatest: greatest.parse().unwrap_or(f64::MAX),
        },
        "enum" => Kind::Enumeration(names()),
        "set" => Kind::Set(names()),
        "charset" => Kind::CharacterSet,
        "collation" => Kind::Collation,
        "locale" => Kind::Locale,
        "engine" => Kind::Engine,
        "str" => Kind::Text,
        other => panic!("system_variables.tsv: no type {other}"),
    }
}

fn parse_deprecation(text: &'static str) -> Option<Deprecation> {
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    match (number, rest) {
        ("1287", "off") => Some(Deprecation::Off),
        ("1287", _) => Some(Deprecation::Variable),
        ("1681", "updating") => Some(Deprecation::Updating),
        ("4166", text) => Some(Deprecation::OffWithNote(text)),
        _ => None,
    }
}

fn parse_line(line: &'static str) -> Definition {
    let fields: Vec<&'static str> = line.split('\t').collect();
    let [name, scope, kind, access, least, greatest, multiple, names, default, warning, present_name] =
        fields[..]
    else {
        panic!("system_variables.tsv: eleven fields wanted: {line}");
    };
    let is_nullable = kind.ends_with('?');
    let kind = parse_kind(kind.trim_end_matches('?'), least, greatest, multiple, names);
    let default = match kind {
        _ if default == "\\N" => Setting::Null,
        Kind::Boolean => Setting::Boolean(matches!(default, "ON" | "YES" | "1")),
        Kind::Integer { .. } => Setting::Integer(default.parse().unwrap_or(0)),
        Kind::Decimal { .. } => Setting::Decimal(default.parse().unwrap_or(0.0)),
        _ => Setting::text(default),
    };
    Definition {
        name,
        scope: match scope {
            "G" => Scope::Global,
            "S" => Scope::Session,
            _ => Scope::Both,
        },
        kind,
        is_persistable: !access.ends_with('-'),
        access: match access.trim_end_matches('-') {
            "ro" => Access::ReadOnly,
            "go" => Access::GlobalOnly,
            _ => Access::Dynamic,
        },
        is_nullable,
        default,
        deprecation: parse_deprecation(warning),
        present_name: Some(present_name).filter(|name| !name.is_empty()),
    }
}

fn table() -> &'static Table {
    static READ: OnceLock<Table> = OnceLock::new();
    READ.get_or_init(|| {
        let definitions: Vec<Definition> =
            TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).map(parse_line).collect();
        let by_name: HashMap<_, _> = definitions
            .iter()
            .enumerate()
            .map(|(index, definition)| {
                (definition.name, VariableId(u16::try_from(index).expect("a few hundred")))
            })
            .collect();
        let twins = definitions
            .iter()
            .filter_map(|definition| {
                Some((*by_name.get(definition.name)?, *by_name.get(definition.present_name?)?))
            })
            .flat_map(|(old, present)| [(old, present), (present, old)])
            .collect();
        Table { definitions, by_name, twins }
    })
}

/// All variables in order of name.
#[must_use]
pub fn definitions() -> &'static [Definition] {
    &table().definitions
}

/// All positions in order of name.
pub fn ids() -> impl Iterator<Item = VariableId> {
    (0..definitions().len()).map(|index| VariableId(u16::try_from(index).expect("a few hundred")))
}

/// Finds a variable by name, any case.
#[must_use]
pub fn by_name(name: &[u8]) -> Option<VariableId> {
    let name = std::str::from_utf8(name).ok()?.to_ascii_lowercase();
    table().by_name.get(name.as_str()).copied()
}

/// Variables that steer the server, found once by name.
pub mod known {
    use std::sync::OnceLock;

    use super::{VariableId, by_name};

    macro_rules! known {
        ($($name:ident),* $(,)?) => {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                #[must_use]
                pub fn $name() -> VariableId {
                    static FOUND: OnceLock<VariableId> = OnceLock::new();
                    *FOUND.get_or_init(|| by_name(stringify!($name).as_bytes()).expect("a variable the table holds"))
                }
            )*
            #[test]
            fn every_known_variable_is_in_the_table() {
                $( let _ = $name(); )*
            }
        };
    }
    known!(
        auto_increment_increment,
        auto_increment_offset,
        autocommit,
        bind_address,
        character_set_client,
        character_set_connection,
        character_set_database,
        character_set_results,
        character_set_server,
        collation_connection,
        collation_database,
        collation_server,
        completion_type,
        connect_timeout,
        default_table_encryption,
        connection_control_failed_connections_threshold,
        connection_control_max_connection_delay,
        connection_control_min_connection_delay,
        connection_memory_limit,
        connection_memory_status_limit,
        cte_max_recursion_depth,
        datadir,
        default_password_lifetime,
        default_week_format,
        disconnect_on_expired_password,
        generated_random_password_length,
        password_history,
        password_require_current,
        password_reuse_interval,
        div_precision_increment,
        eq_range_index_dive_limit,
        event_scheduler,
        explain_format,
        explain_json_format_version,
        foreign_key_checks,
        global_connection_memory_limit,
        global_connection_memory_status_limit,
        global_connection_memory_tracking,
        global_statement_memory_limit,
        general_log,
        general_log_file,
        group_concat_max_len,
        gtid_executed,
        gtid_purged,
        histogram_generation_max_mem_size,
        hostname,
        identity,
        init_connect,
        innodb_buffer_pool_size,
        innodb_flush_log_at_trx_commit,
        innodb_lock_wait_timeout,
        innodb_stats_auto_recalc,
        innodb_stats_persistent_sample_pages,
        innodb_online_alter_log_max_size,
        innodb_redo_log_capacity,
        innodb_snapshot_isolation,
        innodb_thread_concurrency,
        insert_id,
        interactive_timeout,
        join_buffer_size,
        last_insert_id,
        lc_time_names,
        local_infile,
        lock_wait_timeout,
        log_error,
        log_statement_max_bytes,
        long_query_time,
        max_allowed_packet,
        max_connections,
        max_error_count,
        max_execution_time,
        max_heap_table_size,
        max_join_size,
        max_long_data_size,
        max_prepared_stmt_count,
        max_sort_length,
        max_sp_recursion_depth,
        automatic_sp_privileges,
        net_buffer_length,
        net_read_timeout,
        net_write_timeout,
        end_markers_in_json,
        optimizer_feedback,
        optimizer_switch,
        optimizer_trace,
        optimizer_trace_features,
        optimizer_trace_limit,
        optimizer_trace_max_mem_size,
        optimizer_trace_offset,
        pid_file,
        port,
        pseudo_thread_id,
        rand_seed1,
        rand_seed2,
        read_only,
        restrict_fk_on_non_standard_key,
        secure_file_priv,
        select_into_buffer_size,
        select_into_disk_sync,
        server_id,
        server_uuid,
        slow_query_log,
        slow_query_log_file,
        socket,
        sort_buffer_size,
        sql_mode,
        sql_notes,
        sql_quote_show_create,
        sql_big_selects,
        sql_safe_updates,
        sql_select_limit,
        sql_auto_is_null,
        statement_memory_limit,
        system_time_zone,
        thread_cache_size,
        time_zone,
        timestamp,
        tmp_table_size,
        transaction_isolation,
        transaction_read_only,
        unique_checks,
        version,
        version_comment,
        wait_timeout,
        warning_count,
        error_count,
        default_storage_engine,
        sql_log_off,
        min_examined_row_limit,
        log_output,
        require_secure_transport,
        tmpdir,
        default_collation_for_utf8mb4,
        xa_detach_on_prepare,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_defaults_pass_their_own_checks() {
        let all = definitions();
        assert!(all.len() > 600);
        assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name));
        for definition in all {
            if let (Kind::Enumeration(names), Setting::Text(text)) = (&definition.kind, &definition.default) {
                assert!(
                    names.contains(&&**text),
                    "{}: default {text} is not among {names:?}",
                    definition.name
                );
            }
            if let (Kind::Integer { least, greatest, multiple_of }, Setting::Integer(number)) =
                (&definition.kind, &definition.default)
            {
                assert!(
                    number % multiple_of == 0 && (least..=greatest).contains(&number),
                    "{}: default {number}",
                    definition.name
                );
            }
            assert!(
                definition.present_name.is_none_or(|name| by_name(name.as_bytes()).is_some()),
                "{}",
                definition.name
            );
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert_eq!(by_name(b"SQL_Mode"), by_name(b"sql_mode"));
        assert_eq!(by_name(b"nonsense"), None);
    }
}
