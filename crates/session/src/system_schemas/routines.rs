//! ROUTINES and PARAMETERS.

use catalog::{RoutineDefinition, RoutineKind, VirtualContext, VirtualScan};
use syntax::ast::ParameterMode;

use super::columns::type_cells;
use super::rows::{Cell, Rows};
use super::tables::wanted;
use crate::privilege;
use crate::session_context::SessionContext;
use crate::variables::sql_mode::SqlModes;

/// Calls `each` for every routine the reader may see, with whether its text may be seen.
fn each_routine(
    context: &VirtualContext<'_>,
    schema_wanted: Option<&str>,
    name_wanted: Option<&str>,
    mut each: impl FnMut(&RoutineDefinition, bool),
) {
    let account = SessionContext::of(context).account.as_deref();
    for routine in context.catalog.routines.sorted() {
        let other = |wanted: Option<&str>, name: &str| {
            wanted.is_some_and(|wanted| !catalog::names_equal(wanted, name))
        };
        if other(schema_wanted, &routine.schema)
            || other(name_wanted, &routine.name)
            || account.is_some_and(|account| !privilege::sees_routine(account, routine))
        {
            continue;
        }
        each(routine, account.is_none_or(|account| privilege::sees_routine_body(account, routine)));
    }
}

/// ROUTINES.
pub fn routines(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_routine(context, wanted(scan, 2), wanted(scan, 3), |routine, body_seen| {
        let (user, host) = &routine.definer;
        rows.push(&[
            Cell::Text(&routine.name),
            Cell::Text("def"),
            Cell::Text(&routine.schema),
            Cell::Text(&routine.name),
            Cell::Text(routine.kind.word()),
            // A procedure has no value, and functions are not there yet.
            Cell::Text(""),
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Null,
            Cell::Text("SQL"),
            if body_seen { Cell::Text(&routine.body) } else { Cell::Null },
            Cell::Null,
            Cell::Text("SQL"),
            Cell::Text("SQL"),
            Cell::yes_no(routine.deterministic),
            Cell::Text(routine.data_access.words()),
            Cell::Null,
            Cell::Text(if routine.invoker { "INVOKER" } else { "DEFINER" }),
            Cell::Micros(routine.created_micros),
            Cell::Micros(routine.modified_micros),
            Cell::Text(&SqlModes(routine.sql_mode).names()),
            Cell::Text(&routine.comment),
            Cell::Text(&format!("{user}@{host}")),
            Cell::Text(routine.client_charset.name()),
            Cell::Text(routine.connection_collation.name()),
            Cell::Text(routine.database_collation.name()),
        ]);
    });
}

/// PARAMETERS.
pub fn parameters(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_routine(context, wanted(scan, 1), wanted(scan, 2), |routine, _| {
        // A text that compiled once and does not any more shows no parameters.
        let Ok(parameters) = crate::routine::parameters_of(routine) else { return };
        for (position, parameter) in parameters.iter().enumerate() {
            let mut full = Vec::new();
            parameter.data_type.print_sql(&mut full);
            let full = String::from_utf8_lossy(&full);
            let name = full.split(['(', ' ']).next().unwrap_or(&full);
            let [characters, octets, precision, scale, fraction, charset, collation] =
                type_cells(&parameter.data_type);
            let mode = match (routine.kind, parameter.mode) {
                (RoutineKind::Function, _) => Cell::Null,
                (_, ParameterMode::In) => Cell::Text("IN"),
                (_, ParameterMode::Out) => Cell::Text("OUT"),
                (_, ParameterMode::InOut) => Cell::Text("INOUT"),
            };
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&routine.schema),
                Cell::Text(&routine.name),
                Cell::UInt(position as u64 + 1),
                mode,
                Cell::Text(&parameter.name),
                Cell::Text(name),
                characters,
                octets,
                precision,
                scale,
                fraction,
                charset,
                collation,
                Cell::Text(&full),
                Cell::Text(routine.kind.word()),
            ]);
        }
    });
}
