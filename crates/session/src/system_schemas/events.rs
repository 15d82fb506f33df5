//! EVENTS.

use catalog::{EventDefinition, EventSchedule, Privileges, VirtualContext, VirtualScan};
use types::temporal::zone::TimeZone;

use super::rows::{Cell, Rows};
use super::tables::wanted;
use crate::privilege;
use crate::session_context::SessionContext;
use crate::variables::sql_mode::SqlModes;

/// A schedule as tables and SHOW show it.
pub(crate) struct ShownSchedule {
    pub(crate) kind: &'static str,
    pub(crate) at: Cell<'static>,
    pub(crate) interval: Option<String>,
    pub(crate) unit: Option<&'static str>,
    pub(crate) starts: Cell<'static>,
    pub(crate) ends: Cell<'static>,
}

impl ShownSchedule {
    pub(crate) fn of(event: &EventDefinition) -> ShownSchedule {
        match event.schedule {
            EventSchedule::At(at) => ShownSchedule {
                kind: "ONE TIME",
                at: local(event, at),
                interval: None,
                unit: None,
                starts: Cell::Null,
                ends: Cell::Null,
            },
            EventSchedule::Every { interval, starts_micros, ends_micros } => ShownSchedule {
                kind: "RECURRING",
                at: Cell::Null,
                interval: Some(interval.shown()),
                unit: Some(interval.unit.name()),
                starts: local(event, starts_micros),
                ends: ends_micros.map_or(Cell::Null, |ends| local(event, ends)),
            },
        }
    }
}

/// A moment as the event's own time zone shows it.
fn local(event: &EventDefinition, micros: i64) -> Cell<'static> {
    Cell::Micros(TimeZone::UTC.to_utc(event.zone().from_utc(micros)))
}

/// EVENTS: those of schemas on which the reader has the privilege.
pub(crate) fn events(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let account = SessionContext::of(context).account.as_deref();
    let (schema_wanted, name_wanted) = (wanted(scan, 1), wanted(scan, 2));
    for event in context.catalog.events.sorted() {
        let other = |wanted: Option<&str>, name: &str| {
            wanted.is_some_and(|wanted| !catalog::names_equal(wanted, name))
        };
        if other(schema_wanted, &event.schema)
            || other(name_wanted, &event.name)
            || account.is_some_and(|account| {
                !privilege::on_schema(account, &event.schema).contains(Privileges::EVENT)
            })
        {
            continue;
        }
        let shown = ShownSchedule::of(event);
        rows.push(&[
            Cell::Text("def"),
            Cell::Text(&event.schema),
            Cell::Text(&event.name),
            Cell::Text(&format!("{}@{}", event.definer.0, event.definer.1)),
            Cell::Text(&event.time_zone),
            Cell::Text("SQL"),
            Cell::Text(&event.body),
            Cell::Text(shown.kind),
            shown.at,
            Cell::text_or_null(shown.interval.as_deref()),
            Cell::text_or_null(shown.unit),
            Cell::Text(&SqlModes(event.sql_mode).names()),
            shown.starts,
            shown.ends,
            Cell::Text(event.status.word()),
            Cell::Text(if event.preserve { "PRESERVE" } else { "NOT PRESERVE" }),
            Cell::Micros(event.created_micros),
            Cell::Micros(event.modified_micros),
            event.executed.micros().map_or(Cell::Null, |micros| local(event, micros)),
            Cell::Text(&event.comment),
            Cell::UInt(u64::from(event.originator)),
            Cell::Text(event.client_charset.name()),
            Cell::Text(event.connection_collation.name()),
            Cell::Text(event.database_collation.name()),
        ]);
    }
}
