//! Why a column did not get the value given, and what MySQL says to it.

use super::show::{to_utf8, write_text};
use crate::data_type::DataType;
use crate::temporal::DateTime;
use crate::temporal::parse::DateMode;
use crate::temporal::zone::TimeZone;
use crate::vector::Cell;

/// What storing depends on.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions<'a> {
    /// Which dates the mode accepts.
    pub date_mode: DateMode,
    /// TIME_TRUNCATE_FRACTIONAL: fractions are cut, not rounded.
    pub truncate_fraction: bool,
    /// The session's time zone: a TIMESTAMP's range is checked in UTC.
    pub time_zone: &'a TimeZone,
    /// The statement's moment: a TIME stored into a date has the date of that moment.
    pub now_utc_micros: i64,
}

impl StoreOptions<'_> {
    /// The date of the statement's moment in the session's zone. Few values need it: it is computed where it is asked for.
    pub(super) fn today(&self) -> DateTime {
        self.time_zone.from_utc(self.now_utc_micros).date_part()
    }
}

/// What gives a value that is stored, with its name for messages. MySQL copies columns where it evaluates expressions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Origin<'a> {
    /// A column.
    Column(&'a str),
    /// An expression; the name of its function.
    Computed(&'a str),
}

/// What a value is before it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// Its type.
    pub data_type: &'a DataType,
    /// What gave it.
    pub origin: Origin<'a>,
}

/// Why a column did not get the value given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Issue {
    pub(super) kind: IssueKind,
    /// The value given, for messages that show it.
    pub(super) shown: Vec<u8>,
}

/// Kinds of issues.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum IssueKind {
    /// 1264.
    OutOfRange,
    /// 1265.
    Truncated,
    /// A note in every mode: 1265.
    Note,
    /// 1366: no number at all, or bytes that are no characters. `partly`: lenient modes only note 1265.
    Incorrect { what: &'static str, partly: bool },
    /// 1292 in strict mode; 1265, or 1264 for what is out of range, else.
    Temporal { what: &'static str, out_of_range: bool },
    /// A note: 1292 in strict mode, 1265 else.
    TemporalNote { what: &'static str },
    /// 1406 in strict mode, 1265 else.
    TooLong,
    /// BIT: 1406 in strict mode, 1264 else.
    TooManyBits,
    /// 1292 of a text that is no whole number.
    TruncatedInteger,
    /// 1292 of a DECIMAL that no BIGINT holds.
    TruncatedDecimal,
    /// 3156: a JSON value that is no whole value of this type; the value shown is the name of what gave it.
    JsonValue { to: &'static str },
    /// 3155: a JSON number that the type does not hold; likewise.
    JsonRange { to: &'static str },
    /// 3140 in every mode.
    Json { message: &'static str, position: usize },
    /// 3157 in every mode.
    JsonDepth,
    /// 3144 in every mode.
    JsonCharset,
    /// 1317 in every mode: the statement has to end, and its session knows why.
    Stopped,
}

/// How serious a report is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "the levels of SHOW WARNINGS")]
pub enum Severity {
    Note,
    Warning,
    Error,
}

/// What MySQL says to an issue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Report {
    /// How serious.
    pub severity: Severity,
    /// MySQL's number.
    pub number: u16,
    /// MySQL's text.
    pub message: String,
}

impl Issue {
    #[cold]
    pub(super) fn new(kind: IssueKind) -> Option<Issue> {
        Some(Issue { kind, shown: Vec::new() })
    }

    /// An issue of a JSON value that `origin` gives.
    #[cold]
    pub(super) fn json(kind: IssueKind, origin: Origin<'_>) -> Option<Issue> {
        let (Origin::Column(name) | Origin::Computed(name)) = origin;
        Some(Issue { kind, shown: name.as_bytes().to_vec() })
    }

    #[cold]
    pub(super) fn showing(kind: IssueKind, cell: Cell<'_>, from: &DataType) -> Option<Issue> {
        let mut shown = Vec::new();
        write_text(cell, from, &mut shown);
        if from.is_binary_string() {
            shown = shown
                .iter()
                .flat_map(|&byte| match byte {
                    0x20..0x7f => vec![byte],
                    _ => format!("\\x{byte:02X}").into_bytes(),
                })
                .collect();
        } else if from.is_string() {
            shown = to_utf8(shown, from.collation.charset());
        }
        Some(Issue { kind, shown })
    }

    /// More bits than a column has: strict mode says so even where IGNORE makes a warning of the error.
    #[must_use]
    pub fn is_of_bits(&self) -> bool {
        matches!(self.kind, IssueKind::TooManyBits)
    }

    /// What to tell the client. `strict`: strict mode and no IGNORE. `row` counts from 1.
    #[cold]
    #[must_use]
    pub fn report(&self, strict: bool, table: &str, column: &str, row: u64) -> Report {
        let level = if strict { Severity::Error } else { Severity::Warning };
        // Messages hold the characters of utf8mb3 only.
        let text = String::from_utf8_lossy(&self.shown);
        let mut shown: String = text.chars().map(|char| if char > '\u{FFFF}' { '?' } else { char }).collect();
        if shown.len() > 128 {
            let mut end = 128;
            while !shown.is_char_boundary(end) {
                end -= 1;
            }
            shown.truncate(end);
        }
        let at = format!("for column '{column}' at row {row}");
        let truncated = || format!("Data truncated {at}");
        let out_of_range = || format!("Out of range value {at}");
        let too_long = || format!("Data too long {at}");
        let incorrect = |what: &str| format!("Incorrect {what} value: '{shown}' {at}");
        let (severity, number, message) = match &self.kind {
            IssueKind::OutOfRange => (level, 1264, out_of_range()),
            IssueKind::Truncated => (level, 1265, truncated()),
            IssueKind::Note => (Severity::Note, 1265, truncated()),
            IssueKind::Incorrect { partly: true, .. } if !strict => (Severity::Note, 1265, truncated()),
            IssueKind::Incorrect { what, .. } => (level, 1366, incorrect(what)),
            IssueKind::Temporal { what, .. } if strict => (level, 1292, incorrect(what)),
            IssueKind::Temporal { out_of_range: true, .. } => (level, 1264, out_of_range()),
            IssueKind::Temporal { .. } => (level, 1265, truncated()),
            IssueKind::TemporalNote { what } if strict => (Severity::Note, 1292, incorrect(what)),
            IssueKind::TemporalNote { .. } => (Severity::Note, 1265, truncated()),
            IssueKind::TooLong if strict => (level, 1406, too_long()),
            IssueKind::TooLong => (level, 1265, truncated()),
            IssueKind::TooManyBits if strict => (level, 1406, too_long()),
            IssueKind::TooManyBits => (level, 1264, out_of_range()),
            IssueKind::TruncatedInteger => {
                (level, 1292, format!("Truncated incorrect INTEGER value: '{shown}'"))
            }
            IssueKind::TruncatedDecimal => {
                (level, 1292, format!("Truncated incorrect DECIMAL value: '{shown}'"))
            }
            IssueKind::JsonValue { to } => {
                (level, 3156, format!("Invalid JSON value for CAST to {to} from column {shown} at row {row}"))
            }
            IssueKind::JsonRange { to } => {
                let text =
                    format!("Out of range JSON value for CAST to {to} from column {shown} at row {row}");
                (level, 3155, text)
            }
            IssueKind::Json { message, position } => (
                Severity::Error,
                3140,
                format!(
                    "Invalid JSON text: \"{message}\" at position {position} in value for column '{table}.{column}'."
                ),
            ),
            IssueKind::Stopped => (Severity::Error, 1317, "Query execution was interrupted".to_owned()),
            IssueKind::JsonDepth => {
                (Severity::Error, 3157, "The JSON document exceeds the maximum depth.".to_owned())
            }
            IssueKind::JsonCharset => (
                Severity::Error,
                3144,
                "Cannot create a JSON value from a string with CHARACTER SET 'binary'.".to_owned(),
            ),
        };
        Report { severity, number, message }
    }
}
