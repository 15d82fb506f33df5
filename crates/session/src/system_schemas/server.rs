//! What the server tells of itself: character sets, engines, connections, variables, counters.

use catalog::{VirtualContext, VirtualScan};
use types::charset::Charset;
use types::collation::{CollationId, CollationInfo};

use super::rows::{Cell, Rows};
use crate::processes::Attributes;
use crate::session_context::{Process, SessionContext};
use crate::variables::definition::known;

/// CHARACTER_SETS.
pub(crate) fn character_sets(_context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for charset in Charset::ALL {
        rows.push(&[
            Cell::Text(charset.name()),
            Cell::Text(charset.default_collation().name()),
            Cell::Text(charset.description()),
            Cell::UInt(charset.max_bytes_per_char() as u64),
        ]);
    }
}

/// COLLATIONS.
pub fn collations(_context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for info in CollationId::all() {
        rows.push(&collation_cells(info));
    }
}

/// A row of COLLATIONS and of SHOW COLLATION.
pub(crate) fn collation_cells(info: &CollationInfo) -> [Cell<'_>; 7] {
    [
        Cell::Text(info.name),
        Cell::Text(info.charset.name()),
        Cell::UInt(u64::from(info.id.id())),
        Cell::Text(if info.is_default() { "Yes" } else { "" }),
        Cell::Text("Yes"),
        Cell::UInt(u64::from(info.sort_length)),
        Cell::Text(info.padding.name()),
    ]
}

/// COLLATION_CHARACTER_SET_APPLICABILITY.
pub(crate) fn collation_character_set_applicability(
    _context: &VirtualContext<'_>,
    _scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    for info in CollationId::all() {
        rows.push(&[Cell::Text(info.name), Cell::Text(info.charset.name())]);
    }
}

/// ENGINES: one, under the name that tools look for.
pub(crate) fn engines(_context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    rows.push(&[
        Cell::Text("InnoDB"),
        Cell::Text("DEFAULT"),
        Cell::Text("Supports transactions, row-level locking, and foreign keys"),
        Cell::Text("YES"),
        Cell::Text("NO"),
        Cell::Text("YES"),
    ]);
}

/// OPTIMIZER_TRACE: of the statements of the session that asks.
pub(crate) fn optimizer_trace(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    let session = SessionContext::of(context);
    let limit = session.variables.unsigned(known::optimizer_trace_limit());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    for trace in session.traces.iter().take(limit) {
        rows.push(&[
            Cell::Bytes(&trace.query),
            Cell::Bytes(&trace.trace),
            Cell::UInt(trace.missing),
            Cell::UInt(u64::from(trace.is_hidden)),
        ]);
    }
}

fn process_cells(process: &Process) -> [Cell<'_>; 8] {
    [
        Cell::UInt(process.connection_id),
        Cell::Text(&process.user),
        Cell::Text(&process.host),
        Cell::text_or_null(process.database.as_deref()),
        Cell::Text(process.command),
        Cell::UInt(process.seconds),
        Cell::Text(process.state),
        process.statement.as_deref().map_or(Cell::Null, Cell::Bytes),
    ]
}

/// PROCESSLIST.
pub(crate) fn processlist(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for process in SessionContext::of(context).processes() {
        rows.push(&process_cells(&process));
    }
}

/// performance_schema.processlist: the same and the engine it runs on.
pub(crate) fn performance_schema_processlist(
    context: &VirtualContext<'_>,
    _scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    for process in SessionContext::of(context).processes() {
        let mut cells = [Cell::Text("PRIMARY"); 9];
        cells[..8].copy_from_slice(&process_cells(&process));
        rows.push(&cells);
    }
}

/// performance_schema.session_connect_attrs.
pub(crate) fn session_connect_attrs(
    context: &VirtualContext<'_>,
    _scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    attributes(&SessionContext::of(context).connection_attributes(false), rows);
}

/// performance_schema.session_account_connect_attrs.
pub(crate) fn session_account_connect_attrs(
    context: &VirtualContext<'_>,
    _scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    attributes(&SessionContext::of(context).connection_attributes(true), rows);
}

fn attributes(connections: &[(u64, Attributes)], rows: &mut Rows<'_>) {
    for (connection_id, attributes) in connections {
        for (position, (name, value)) in attributes.iter().enumerate() {
            let cells = [
                Cell::UInt(*connection_id),
                Cell::Text(name),
                Cell::Text(value),
                Cell::UInt(position as u64),
            ];
            rows.push(&cells);
        }
    }
}

/// performance_schema.global_variables.
pub fn global_variables(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for (name, value) in SessionContext::of(context).shown_variables(true) {
        rows.push(&[Cell::Text(name), Cell::Text(&value)]);
    }
}

/// performance_schema.persisted_variables.
pub(crate) fn persisted_variables(
    context: &VirtualContext<'_>,
    _scan: &VirtualScan<'_>,
    rows: &mut Rows<'_>,
) {
    let mut all: Vec<_> = context.catalog.persisted_variables.iter().collect();
    all.sort_unstable();
    for (name, value) in all {
        rows.push(&[Cell::Text(name), Cell::Text(value)]);
    }
}

/// performance_schema.session_variables.
pub(crate) fn session_variables(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for (name, value) in SessionContext::of(context).shown_variables(false) {
        rows.push(&[Cell::Text(name), Cell::Text(&value)]);
    }
}

/// performance_schema.global_status.
pub(crate) fn global_status(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for (name, value) in SessionContext::of(context).status(true) {
        rows.push(&[Cell::Text(name), Cell::Text(&value)]);
    }
}

/// performance_schema.session_status.
pub(crate) fn session_status(context: &VirtualContext<'_>, _scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    for (name, value) in SessionContext::of(context).status(false) {
        rows.push(&[Cell::Text(name), Cell::Text(&value)]);
    }
}
