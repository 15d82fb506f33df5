//! What a session derives from its variables, once per change instead of once per statement.

use std::sync::Arc;

use syntax::ast::Completion;
use types::charset::Charset;
use types::collation::CollationId;
use types::locale::LocaleId;
use types::temporal::zone::TimeZone;

use super::definition::known;
use super::isolation::Isolation;
use super::optimizer_switch::OptimizerSwitch;
use super::sql_mode::SqlModes;
use super::{Setting, Variables};

/// Which diagnostics of a statement are kept and counted.
#[derive(Clone, Copy, Debug)]
pub struct DiagnosticRules {
    /// `max_error_count`.
    pub kept_max: usize,
    /// `sql_notes`.
    pub has_notes: bool,
}

/// Settings that statements look at.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `sql_mode`.
    pub sql_mode: SqlModes,
    /// `autocommit`.
    pub autocommit: bool,
    /// `completion_type`: what COMMIT and ROLLBACK do besides where they do not say it.
    pub completion: Completion,
    /// `transaction_isolation`.
    pub isolation: Isolation,
    /// `transaction_read_only`.
    pub read_only: bool,
    /// `character_set_client`.
    pub client_charset: Charset,
    /// `collation_connection`.
    pub connection_collation: CollationId,
    /// `optimizer_switch`.
    pub optimizer_switch: OptimizerSwitch,
    /// `optimizer_feedback`: rows of joins are counted, and used where their statement is planned again.
    pub optimizer_feedback: bool,
    /// `div_precision_increment`.
    pub div_precision_increment: u8,
    /// `lc_time_names`.
    pub locale: LocaleId,
    /// `group_concat_max_len`, or as much of it as a length can say.
    pub group_concat_bytes: u32,
    /// `max_allowed_packet`, which a session keeps.
    pub packet_bytes_max: u32,
    /// The four above as one number: lengths and scales of results, and whether texts may be NULL, depend on them.
    pub shapes: u64,
    /// `character_set_results`; `None` when it is NULL.
    pub results_charset: Option<Charset>,
    /// `time_zone`; SYSTEM is resolved.
    pub time_zone: Arc<TimeZone>,
    /// `long_query_time` in microseconds.
    pub long_query_micros: u64,
    /// `min_examined_row_limit`.
    pub min_examined_rows: u64,
    /// `innodb_snapshot_isolation`: in a REPEATABLE READ transaction the first updater of a row wins.
    pub snapshot_isolation: bool,
    /// `foreign_key_checks`.
    pub foreign_key_checks: bool,
    /// `innodb_lock_wait_timeout` in milliseconds.
    pub lock_wait_timeout_ms: u64,
    /// `statement_memory_limit` and `connection_memory_limit`.
    pub memory_limits: env::memory::Limits,
    /// `global_connection_memory_tracking`: the session obeys `global_connection_memory_limit`.
    pub tracks_global_memory: bool,
    /// There is a limit of memory that some accounts have and others have not.
    pub limits_connections: bool,
    /// `connection_memory_status_limit` or its global sibling is set.
    pub counts_memory: bool,
    /// `max_execution_time` in milliseconds, 0 for none.
    pub max_execution_ms: u64,
    /// `sql_safe_updates`.
    pub safe_updates: bool,
    /// `sql_select_limit`.
    pub select_limit: u64,
    /// `max_join_size`, or `u64::MAX` with `sql_big_selects`.
    pub join_size_max: u64,
    /// `max_error_count` and `sql_notes`.
    pub diagnostics: DiagnosticRules,
    /// `sql_log_off`: this session stays out of the general log.
    pub log_off: bool,
}

impl Settings {
    /// Reads them from the variables of a session.
    #[must_use]
    pub fn derive(variables: &Variables) -> Self {
        let charset = |id| Charset::from_name(variables.text(id)).unwrap_or(Charset::Utf8mb4);
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clipped to the range of u64"
        )]
        let micros = |seconds: f64| (seconds * 1e6) as u64;
        let locale = LocaleId::from_name(variables.text(known::lc_time_names())).unwrap_or_default();
        let div_precision_increment =
            u8::try_from(variables.unsigned(known::div_precision_increment())).unwrap_or(u8::MAX);
        let group_concat_bytes =
            u32::try_from(variables.unsigned(known::group_concat_max_len())).unwrap_or(u32::MAX);
        let packet_bytes_max =
            u32::try_from(variables.unsigned(known::max_allowed_packet())).unwrap_or(u32::MAX);
        Self {
            // A stored value passed its check, so it parses.
            sql_mode: SqlModes::parse(variables.text(known::sql_mode())).unwrap_or_default(),
            autocommit: variables.boolean(known::autocommit()),
            completion: completion(variables.text(known::completion_type())),
            isolation: Isolation::from_name(variables.text(known::transaction_isolation())),
            read_only: variables.boolean(known::transaction_read_only()),
            client_charset: charset(known::character_set_client()),
            connection_collation: CollationId::from_name(variables.text(known::collation_connection()))
                .unwrap_or(CollationId::UTF8MB4_0900_AI_CI),
            optimizer_feedback: variables.boolean(known::optimizer_feedback()),
            optimizer_switch: OptimizerSwitch::of(variables.get(known::optimizer_switch())),
            locale,
            div_precision_increment,
            group_concat_bytes,
            packet_bytes_max,
            shapes: shapes(locale, div_precision_increment, group_concat_bytes, packet_bytes_max),
            results_charset: match variables.get(known::character_set_results()) {
                Setting::Null => None,
                _ => Some(charset(known::character_set_results())),
            },
            time_zone: Arc::new(
                TimeZone::parse(variables.text(known::time_zone())).unwrap_or_else(TimeZone::system),
            ),
            long_query_micros: micros(variables.decimal(known::long_query_time())),
            min_examined_rows: variables.unsigned(known::min_examined_row_limit()),
            snapshot_isolation: variables.boolean(known::innodb_snapshot_isolation()),
            foreign_key_checks: variables.boolean(known::foreign_key_checks()),
            lock_wait_timeout_ms: variables.unsigned(known::innodb_lock_wait_timeout()).saturating_mul(1000),
            memory_limits: env::memory::Limits {
                statement: match variables.unsigned(known::statement_memory_limit()) {
                    0 => env::memory::UNLIMITED,
                    bytes => bytes,
                },
                connection: variables.unsigned(known::connection_memory_limit()),
                all_connections: env::memory::UNLIMITED,
            },
            tracks_global_memory: variables.boolean(known::global_connection_memory_tracking()),
            limits_connections: variables.unsigned(known::connection_memory_limit())
                != env::memory::UNLIMITED
                || variables.boolean(known::global_connection_memory_tracking()),
            counts_memory: [
                known::connection_memory_status_limit(),
                known::global_connection_memory_status_limit(),
            ]
            .iter()
            .any(|&id| variables.unsigned(id) != env::memory::UNLIMITED),
            max_execution_ms: variables.unsigned(known::max_execution_time()),
            safe_updates: variables.boolean(known::sql_safe_updates()),
            select_limit: variables.unsigned(known::sql_select_limit()),
            join_size_max: match variables.boolean(known::sql_big_selects()) {
                true => u64::MAX,
                false => variables.unsigned(known::max_join_size()),
            },
            diagnostics: DiagnosticRules {
                kept_max: usize::try_from(variables.unsigned(known::max_error_count())).unwrap_or(usize::MAX),
                has_notes: variables.boolean(known::sql_notes()),
            },
            log_off: variables.boolean(known::sql_log_off()),
        }
    }
}

/// The value of `completion_type`.
fn completion(name: &str) -> Completion {
    Completion { chain: Some(name == "CHAIN"), release: Some(name == "RELEASE") }
}

/// The settings that results are described by, as one number.
fn shapes(
    locale: LocaleId,
    div_precision_increment: u8,
    group_concat_bytes: u32,
    packet_bytes_max: u32,
) -> u64 {
    /// `max_allowed_packet` is a multiple of it.
    const PACKET_UNIT_BYTES: u32 = 1024;
    // 32 bits, 5 (at most 30), 7 (a hundred locales) and 20 (at most 1 GB).
    let packet = u64::from((packet_bytes_max / PACKET_UNIT_BYTES).saturating_sub(1));
    packet << 44
        | u64::from(locale.number()) << 37
        | u64::from(div_precision_increment) << 32
        | u64::from(group_concat_bytes)
}
