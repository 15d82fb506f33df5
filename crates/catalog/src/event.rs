//! Events: programs that the server runs by itself at times, as their CREATE left them.
//!
//! An event keeps its source, as a routine does, and its schedule as moments. Names compare without case; schemas byte by byte.
//!
//! Invariant: a recurring event has a positive interval.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use hashbrown::HashMap;
use types::CollationId;
use types::charset::Charset;
use types::temporal::DateTime;
use types::temporal::calendar::Interval;
use types::temporal::zone::TimeZone;

use crate::name::fold_name;

/// An event's number, unique for the life of a data folder; ALTER keeps it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct EventId(pub u64);

/// The unit of an interval: those of INTERVAL without microseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum EventUnit {
    Year,
    Quarter,
    Month,
    Day,
    Hour,
    Minute,
    Week,
    Second,
    YearMonth,
    DayHour,
    DayMinute,
    DaySecond,
    HourMinute,
    HourSecond,
    MinuteSecond,
}

impl EventUnit {
    /// All.
    pub const ALL: [EventUnit; 15] = [
        EventUnit::Year,
        EventUnit::Quarter,
        EventUnit::Month,
        EventUnit::Day,
        EventUnit::Hour,
        EventUnit::Minute,
        EventUnit::Week,
        EventUnit::Second,
        EventUnit::YearMonth,
        EventUnit::DayHour,
        EventUnit::DayMinute,
        EventUnit::DaySecond,
        EventUnit::HourMinute,
        EventUnit::HourSecond,
        EventUnit::MinuteSecond,
    ];

    /// MySQL's word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            EventUnit::Year => "YEAR",
            EventUnit::Quarter => "QUARTER",
            EventUnit::Month => "MONTH",
            EventUnit::Day => "DAY",
            EventUnit::Hour => "HOUR",
            EventUnit::Minute => "MINUTE",
            EventUnit::Week => "WEEK",
            EventUnit::Second => "SECOND",
            EventUnit::YearMonth => "YEAR_MONTH",
            EventUnit::DayHour => "DAY_HOUR",
            EventUnit::DayMinute => "DAY_MINUTE",
            EventUnit::DaySecond => "DAY_SECOND",
            EventUnit::HourMinute => "HOUR_MINUTE",
            EventUnit::HourSecond => "HOUR_SECOND",
            EventUnit::MinuteSecond => "MINUTE_SECOND",
        }
    }

    /// The units that a value of it is written in, greatest first: how many of the next one make one, the last one 1. Simple units have one.
    #[must_use]
    pub const fn parts(self) -> &'static [i64] {
        match self {
            EventUnit::YearMonth => &[12, 1],
            EventUnit::DayHour => &[24, 1],
            EventUnit::DayMinute => &[24, 60, 1],
            EventUnit::DaySecond => &[24, 60, 60, 1],
            EventUnit::HourMinute | EventUnit::MinuteSecond => &[60, 1],
            EventUnit::HourSecond => &[60, 60, 1],
            _ => &[1],
        }
    }

    /// `count` of its smallest unit.
    #[must_use]
    pub fn interval(self, count: i64) -> Interval {
        let seconds =
            |each: i128| Interval { micros: i128::from(count) * each * 1_000_000, ..Interval::default() };
        match self {
            EventUnit::Year => Interval { months: count.saturating_mul(12), ..Interval::default() },
            EventUnit::Quarter => Interval { months: count.saturating_mul(3), ..Interval::default() },
            EventUnit::Month | EventUnit::YearMonth => Interval { months: count, ..Interval::default() },
            EventUnit::Week => Interval { days: count.saturating_mul(7), ..Interval::default() },
            EventUnit::Day => Interval { days: count, ..Interval::default() },
            EventUnit::Hour | EventUnit::DayHour => seconds(3600),
            EventUnit::Minute | EventUnit::DayMinute | EventUnit::HourMinute => seconds(60),
            EventUnit::Second | EventUnit::DaySecond | EventUnit::HourSecond | EventUnit::MinuteSecond => {
                seconds(1)
            }
        }
    }
}

/// How often a recurring event runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct EventInterval {
    /// How many of the unit, of a compound one how many of its smallest part.
    pub count: i64,
    /// Of what.
    pub unit: EventUnit,
}

impl EventInterval {
    /// As `information_schema` shows it: `1`, and `'1:30'` of a compound unit.
    #[must_use]
    pub fn shown(&self) -> String {
        let separator = |position: usize| match (self.unit, position) {
            (EventUnit::YearMonth, _) => '-',
            (EventUnit::DayHour | EventUnit::DayMinute | EventUnit::DaySecond, 0) => ' ',
            _ => ':',
        };
        let parts = self.unit.parts();
        let mut left = self.count;
        let mut shown = String::new();
        for position in 0..parts.len() {
            let one: i64 = parts[position..].iter().product();
            if position > 0 {
                shown.push(separator(position - 1));
            }
            shown += &(left / one).to_string();
            left %= one;
        }
        if parts.len() > 1 { format!("'{shown}'") } else { shown }
    }
}

/// When an event runs: moments are microseconds since 1970, UTC.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EventSchedule {
    /// Once.
    At(i64),
    /// Again and again.
    Every {
        /// From one time to the next.
        interval: EventInterval,
        /// The first time.
        starts_micros: i64,
        /// No time after it.
        ends_micros: Option<i64>,
    },
}

/// Whether an event runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[allow(missing_docs, reason = "MySQL's own words")]
pub enum EventStatus {
    Enabled,
    Disabled,
    ReplicaSideDisabled,
}

impl EventStatus {
    /// As `information_schema` shows it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            EventStatus::Enabled => "ENABLED",
            EventStatus::Disabled => "DISABLED",
            EventStatus::ReplicaSideDisabled => "REPLICA_SIDE_DISABLED",
        }
    }
}

/// When an event last began to run: the one thing of a definition that changes without a new snapshot, because no plan depends on it. Definitions
/// of one event share it.
#[derive(Clone, Debug, Default)]
pub struct LastExecuted(Arc<AtomicI64>);

impl LastExecuted {
    /// As it was stored.
    #[must_use]
    pub fn at(micros: Option<i64>) -> LastExecuted {
        LastExecuted(Arc::new(AtomicI64::new(micros.unwrap_or(0))))
    }

    /// The moment; `None`: never.
    #[must_use]
    pub fn micros(&self) -> Option<i64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|micros| *micros != 0)
    }

    /// It begins to run.
    pub fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::Relaxed);
    }
}

impl PartialEq for LastExecuted {
    fn eq(&self, other: &LastExecuted) -> bool {
        self.micros() == other.micros()
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventDefinition {
    /// Number.
    pub id: EventId,
    /// Its schema.
    pub schema: Arc<str>,
    /// Name as written.
    pub name: Arc<str>,
    /// User and host of the account it runs as.
    pub definer: (Arc<str>, Arc<str>),
    /// When it runs.
    pub schedule: EventSchedule,
    /// ON COMPLETION PRESERVE: it stays when it has run for the last time.
    pub preserve: bool,
    /// Whether it runs.
    pub status: EventStatus,
    /// COMMENT.
    pub comment: Arc<str>,
    /// The body as written, UTF-8.
    pub body: Arc<str>,
    /// `time_zone` when it was made or its schedule changed: of its schedule, and it runs under it.
    pub time_zone: Arc<str>,
    /// `sql_mode` when it was made, MySQL's bits: it is read and run under it.
    pub sql_mode: u64,
    /// `character_set_client` when it was made.
    pub client_charset: Charset,
    /// `collation_connection` when it was made: of its string literals.
    pub connection_collation: CollationId,
    /// The schema's collation when it was made: of its variables.
    pub database_collation: CollationId,
    /// `server_id` of the server that made it.
    pub originator: u32,
    /// Microseconds since 1970, UTC.
    pub created_micros: i64,
    /// When ALTER last changed it, as `created_micros`.
    pub modified_micros: i64,
    /// When it last began to run.
    pub executed: LastExecuted,
}

impl EventDefinition {
    /// The time zone of its schedule; the system's if its name is none any more.
    #[must_use]
    pub fn zone(&self) -> TimeZone {
        zone_of(&self.time_zone)
    }

    /// Whether it is its name.
    #[must_use]
    pub fn is_named(&self, schema: &str, name: &str) -> bool {
        *self.schema == *schema && crate::names_equal(&self.name, name)
    }

    /// When it runs next: the first moment of its schedule after `now`. Of an event that runs once its moment, whenever that is, unless
    /// it has run.
    #[must_use]
    pub fn next_micros(&self, now: i64) -> Option<i64> {
        if let EventSchedule::At(at) = self.schedule
            && self.executed.micros().is_some_and(|executed| executed >= at)
        {
            return None;
        }
        next_of(&self.schedule, &self.zone(), now)
    }
}

/// A time zone by its name; `SYSTEM` and what is no zone any more are the system's.
#[must_use]
pub(crate) fn zone_of(name: &str) -> TimeZone {
    let named = if name.eq_ignore_ascii_case("SYSTEM") { None } else { TimeZone::parse(name) };
    named.unwrap_or_else(TimeZone::system)
}

/// As [`EventDefinition::next_micros`].
#[must_use]
pub(crate) fn next_of(schedule: &EventSchedule, zone: &TimeZone, now: i64) -> Option<i64> {
    let (interval, starts, ends) = match *schedule {
        EventSchedule::At(at) => return Some(at),
        EventSchedule::Every { interval, starts_micros, ends_micros } => {
            (interval, starts_micros, ends_micros)
        }
    };
    let next = if starts > now { starts } else { repeated(interval, zone, starts, now)? };
    (ends.is_none_or(|ends| next <= ends)).then_some(next)
}

/// The first repetition after `now`. Hours and less are exact; days and more are those of the calendar in the zone.
fn repeated(interval: EventInterval, zone: &TimeZone, starts: i64, now: i64) -> Option<i64> {
    let one = interval.unit.interval(interval.count);
    if one.months == 0 && one.days == 0 {
        let step = one.micros.max(1);
        let times = i128::from(now - starts) / step + 1;
        return i64::try_from(i128::from(starts) + times * step).ok();
    }
    let first = zone.from_utc(starts);
    let today = zone.from_utc(now);
    let at = |times: i64| -> Option<i64> {
        let count = interval.count.checked_mul(times)?;
        first.checked_add(interval.unit.interval(count)).map(|local| zone.to_utc(local))
    };
    let passed = if one.months > 0 {
        let months = |date: DateTime| i64::from(date.year) * 12 + i64::from(date.month);
        (months(today) - months(first)) / one.months
    } else {
        (today.day_number() - first.day_number()) / one.days.max(1)
    };
    // The count of what has passed is right but for the part of a day or month.
    ((passed - 1).max(1)..=passed + 2).filter_map(at).find(|moment| *moment > now)
}

type Key = (Box<str>, Box<str>);

/// All events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    by_name: HashMap<Key, Arc<EventDefinition>, foldhash::fast::FixedState>,
}

fn key(schema: &str, name: &str) -> Key {
    (schema.into(), fold_name(name).into())
}

impl Events {
    /// The event `schema.name`.
    #[must_use]
    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<EventDefinition>> {
        self.by_name.get(&key(schema, name))
    }

    /// The event of a number.
    #[must_use]
    pub fn by_id(&self, id: EventId) -> Option<&Arc<EventDefinition>> {
        self.by_name.values().find(|event| event.id == id)
    }

    /// Adds or replaces an event under its own name.
    pub fn insert(&mut self, event: Arc<EventDefinition>) {
        self.by_name.insert(key(&event.schema, &event.name), event);
    }

    /// Removes an event.
    pub fn remove(&mut self, event: &EventDefinition) -> Option<Arc<EventDefinition>> {
        self.by_name.remove(&key(&event.schema, &event.name))
    }

    /// Every event, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<EventDefinition>> + Clone {
        self.by_name.values()
    }

    /// Whether an event names this account as its definer.
    #[must_use]
    pub fn have_definer(&self, user: &str, host: &str) -> bool {
        self.by_name
            .values()
            .any(|event| *event.definer.0 == *user && event.definer.1.eq_ignore_ascii_case(host))
    }

    /// Every event, by schema and name.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Arc<EventDefinition>> {
        let mut events: Vec<_> = self.by_name.values().collect();
        events.sort_unstable_by(|left, right| {
            (&left.schema, fold_name(&left.name)).cmp(&(&right.schema, fold_name(&right.name)))
        });
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(count: i64, unit: EventUnit, starts: &str) -> EventSchedule {
        let starts_micros = moment(starts);
        EventSchedule::Every { interval: EventInterval { count, unit }, starts_micros, ends_micros: None }
    }

    fn moment(text: &str) -> i64 {
        let parsed = types::temporal::parse::parse_datetime(text.as_bytes(), Default::default()).unwrap();
        TimeZone::UTC.to_utc(parsed.value)
    }

    fn next(schedule: &EventSchedule, now: &str) -> i64 {
        next_of(schedule, &TimeZone::UTC, moment(now)).unwrap()
    }

    #[test]
    fn repetitions_are_those_of_the_calendar() {
        let daily = every(1, EventUnit::Day, "2024-01-31 10:00:00");
        assert_eq!(next(&daily, "2024-01-30 00:00:00"), moment("2024-01-31 10:00:00"));
        assert_eq!(next(&daily, "2024-01-31 10:00:00"), moment("2024-02-01 10:00:00"));
        assert_eq!(next(&daily, "2024-03-10 09:59:59"), moment("2024-03-10 10:00:00"));
        assert_eq!(next(&daily, "2024-03-10 10:00:00"), moment("2024-03-11 10:00:00"));
        let monthly = every(1, EventUnit::Month, "2024-01-31 10:00:00");
        assert_eq!(next(&monthly, "2024-02-10 00:00:00"), moment("2024-02-29 10:00:00"));
        assert_eq!(next(&monthly, "2024-02-29 10:00:00"), moment("2024-03-31 10:00:00"));
        let yearly = every(18, EventUnit::YearMonth, "2024-01-31 10:00:00");
        assert_eq!(next(&yearly, "2024-02-01 00:00:00"), moment("2025-07-31 10:00:00"));
        let often = every(90, EventUnit::MinuteSecond, "2024-01-01 00:00:00");
        assert_eq!(next(&often, "2024-01-01 00:03:00"), moment("2024-01-01 00:04:30"));
    }

    #[test]
    fn compound_intervals_are_shown_by_their_parts() {
        let shown = |count, unit| EventInterval { count, unit }.shown();
        assert_eq!(shown(5, EventUnit::Week), "5");
        assert_eq!(shown(90, EventUnit::MinuteSecond), "'1:30'");
        assert_eq!(shown(18, EventUnit::YearMonth), "'1-6'");
        assert_eq!(shown(90_061, EventUnit::DaySecond), "'1 1:1:1'");
    }
}
