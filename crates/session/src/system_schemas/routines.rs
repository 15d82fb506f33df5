//! ROUTINES and PARAMETERS.

use catalog::{RoutineDefinition, RoutineKind, VirtualContext, VirtualScan};
use syntax::ast::ParameterMode;
use types::{DataType, TypeKind};

use super::columns::type_cells;
use super::rows::{Cell, Rows};
use super::tables::wanted;
use crate::privilege;
use crate::routine::{RoutineSignature, signature_of};
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

/// A type as these tables show it.
struct ShownType {
    /// Its name alone.
    name: String,
    /// All of it.
    full: String,
    cells: [Cell<'static>; 7],
}

impl ShownType {
    fn of(data_type: Option<&DataType>) -> ShownType {
        let Some(data_type) = data_type else {
            return ShownType { name: String::new(), full: String::new(), cells: [const { Cell::Null }; 7] };
        };
        let mut full = Vec::new();
        data_type.print_sql(&mut full);
        let full = String::from_utf8_lossy(&full).into_owned();
        let name = full.split(['(', ' ']).next().unwrap_or(&full).to_owned();
        let mut cells = type_cells(data_type);
        // Numbers that say no scale have 0 here, those of columns NULL.
        if matches!(data_type.kind, TypeKind::Bit | TypeKind::Float | TypeKind::Double)
            && matches!(cells[3], Cell::Null)
        {
            cells[3] = Cell::UInt(0);
        }
        ShownType { name, full, cells }
    }
}

/// ROUTINES.
pub fn routines(context: &VirtualContext<'_>, scan: &VirtualScan<'_>, rows: &mut Rows<'_>) {
    each_routine(context, wanted(scan, 2), wanted(scan, 3), |routine, body_seen| {
        let (user, host) = &routine.definer;
        // A procedure has no value, and a text that does not compile any more shows none.
        let returns = match routine.kind {
            RoutineKind::Procedure => None,
            RoutineKind::Function => signature_of(routine).unwrap_or_default().returns,
        };
        let returns = ShownType::of(returns.as_ref());
        let [characters, octets, precision, scale, fraction, charset, collation] = returns.cells;
        rows.push(&[
            Cell::Text(&routine.name),
            Cell::Text("def"),
            Cell::Text(&routine.schema),
            Cell::Text(&routine.name),
            Cell::Text(routine.kind.word()),
            Cell::Text(&returns.name),
            characters,
            octets,
            precision,
            scale,
            fraction,
            charset,
            collation,
            if routine.kind == RoutineKind::Function { Cell::Text(&returns.full) } else { Cell::Null },
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
        let Ok(RoutineSignature { parameters, returns }) = signature_of(routine) else { return };
        let value = returns.iter().map(|data_type| (0, Cell::Null, Cell::Null, data_type));
        let named = parameters.iter().enumerate().map(|(position, parameter)| {
            let mode = match parameter.mode {
                ParameterMode::In => Cell::Text("IN"),
                ParameterMode::Out => Cell::Text("OUT"),
                ParameterMode::InOut => Cell::Text("INOUT"),
            };
            (position as u64 + 1, mode, Cell::Text(&parameter.name), &parameter.data_type)
        });
        for (position, mode, parameter, data_type) in value.chain(named) {
            let shown = ShownType::of(Some(data_type));
            let [characters, octets, precision, scale, fraction, charset, collation] = shown.cells;
            rows.push(&[
                Cell::Text("def"),
                Cell::Text(&routine.schema),
                Cell::Text(&routine.name),
                Cell::UInt(position),
                mode,
                parameter,
                Cell::Text(&shown.name),
                characters,
                octets,
                precision,
                scale,
                fraction,
                charset,
                collation,
                Cell::Text(&shown.full),
                Cell::Text(routine.kind.word()),
            ]);
        }
    });
}
