//! Stored procedures, functions, triggers and events as programs: what their CREATE keeps, compiled. How they run: `session::routine`.
//!
//! A body becomes a flat list of instructions ([`program`]): jumps for IF, CASE and loops, slots for variables.
//!
//! Invariant: every instruction of a program jumps inside it; the last one returns.
//!
//! Read next: [`program`], [`compile`].

pub(crate) mod compile;
pub(crate) mod in_function;
pub(crate) mod program;
mod row_names;

use std::sync::Arc;

use catalog::{
    DataAccess, EventDefinition, RoutineDefinition, RoutineId, RoutineKind, TableDefinition,
    TriggerDefinition,
};
use service::SqlError;
use service::error::ER_INTERNAL_ERROR;
use syntax::ast::Statement;
use types::charset::Charset;
use types::{CollationId, DataType};

use crate::errors::{not_supported, syntax_error};
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;
use crate::variables::{Setting, VariableId};
use program::{Program, SlotType};

/// A routine ready to run, or a trigger: `definition` is then what a procedure with its body would be.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) definition: Arc<RoutineDefinition>,
    pub(crate) program: Program,
    /// `sql_mode` and the character sets under which it runs, in the order of [`switched_variables`].
    pub(crate) settings: [Setting; 4],
    pub(crate) trigger: Option<TriggerOf>,
}

/// The variables under which a routine is read and run as it was made.
pub(crate) fn switched_variables() -> [VariableId; 4] {
    [
        known::sql_mode(),
        known::character_set_client(),
        known::character_set_connection(),
        known::collation_connection(),
    ]
}

/// A trigger and the table it was compiled for.
#[derive(Debug)]
pub(crate) struct TriggerOf {
    pub(crate) trigger: Arc<TriggerDefinition>,
    pub(crate) table: Arc<TableDefinition>,
}

/// What a session keeps a program by.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum ProgramKey {
    Routine(RoutineId),
    /// Where the definition lies, which the program holds.
    Trigger(usize),
}

impl Routine {
    /// A routine with its program.
    pub(crate) fn new(
        definition: Arc<RoutineDefinition>,
        program: Program,
        trigger: Option<TriggerOf>,
    ) -> Routine {
        let settings = [
            Setting::text(&SqlModes(definition.sql_mode).names()),
            Setting::text(definition.client_charset.name()),
            Setting::text(definition.connection_collation.charset().name()),
            Setting::text(definition.connection_collation.name()),
        ];
        Routine { definition, program, settings, trigger }
    }

    /// By what a session keeps it.
    pub(crate) fn key(&self) -> ProgramKey {
        match &self.trigger {
            Some(of) => trigger_key(&of.trigger),
            None => ProgramKey::Routine(self.definition.id),
        }
    }
}

/// By what a session keeps the program of a trigger.
pub(crate) fn trigger_key(trigger: &Arc<TriggerDefinition>) -> ProgramKey {
    ProgramKey::Trigger(Arc::as_ptr(trigger).addr())
}

/// The procedure that a trigger or an event is run as, but for the settings that it was made under.
fn procedure_of(
    schema: &Arc<str>,
    name: &Arc<str>,
    body: &Arc<str>,
    definer: &(Arc<str>, Arc<str>),
) -> RoutineDefinition {
    RoutineDefinition {
        id: RoutineId(0),
        kind: RoutineKind::Procedure,
        schema: Arc::clone(schema),
        name: Arc::clone(name),
        parameters: "".into(),
        returns: "".into(),
        body: Arc::clone(body),
        definer: definer.clone(),
        invoker: false,
        deterministic: false,
        data_access: DataAccess::default(),
        comment: "".into(),
        sql_mode: 0,
        client_charset: Charset::Utf8mb4,
        connection_collation: CollationId::UTF8MB4_0900_AI_CI,
        database_collation: CollationId::UTF8MB4_0900_AI_CI,
        created_micros: 0,
        modified_micros: 0,
    }
}

/// Compiles a trigger for its table as it is now.
///
/// # Errors
/// As CREATE TRIGGER: the table may have lost a column since.
pub(crate) fn trigger_routine(
    table: &Arc<TableDefinition>,
    trigger: &Arc<TriggerDefinition>,
) -> Result<Routine, Box<SqlError>> {
    let arena = bumpalo::Bump::new();
    let text = catalog::show_create_trigger(trigger, &table.name);
    let mode = SqlModes(trigger.sql_mode);
    let parsed =
        syntax::parse(text.as_bytes(), &arena, mode.for_syntax()).map_err(|error| syntax_error(&error))?;
    let Statement::CreateTrigger(create) = parsed.statement else {
        return Err(ER_INTERNAL_ERROR.with(&[&"a trigger that creates none"]));
    };
    let settings = compile::Settings {
        text: text.as_bytes(),
        collation: trigger.database_collation,
        strict: mode.is_strict(),
    };
    let place = compile::TriggerPlace { table, event: trigger.event, timing: trigger.timing };
    let program = compile::compile_trigger(create.body, &place, mode, &settings, &mut Vec::new())?;
    let definition = RoutineDefinition {
        sql_mode: trigger.sql_mode,
        client_charset: trigger.client_charset,
        connection_collation: trigger.connection_collation,
        database_collation: trigger.database_collation,
        created_micros: trigger.created_micros,
        modified_micros: trigger.created_micros,
        ..procedure_of(&table.schema, &trigger.name, &trigger.body, &trigger.definer)
    };
    let trigger = Some(TriggerOf { trigger: Arc::clone(trigger), table: Arc::clone(table) });
    Ok(Routine::new(Arc::new(definition), program, trigger))
}

/// Compiles an event: what a procedure with its body would be.
///
/// # Errors
/// As CREATE EVENT.
pub(crate) fn event_routine(event: &EventDefinition) -> Result<Routine, Box<SqlError>> {
    let arena = bumpalo::Bump::new();
    let text = catalog::show_create_event(event);
    let mode = SqlModes(event.sql_mode);
    let parsed =
        syntax::parse(text.as_bytes(), &arena, mode.for_syntax()).map_err(|error| syntax_error(&error))?;
    let Statement::CreateEvent(create) = parsed.statement else {
        return Err(ER_INTERNAL_ERROR.with(&[&"an event that creates none"]));
    };
    let Some(body) = create.clauses.body else {
        return Err(ER_INTERNAL_ERROR.with(&[&"an event without a body"]));
    };
    let settings = compile::Settings {
        text: text.as_bytes(),
        collation: event.database_collation,
        strict: mode.is_strict(),
    };
    let program = compile::compile_event(body, &settings, &mut Vec::new())?;
    let definition = RoutineDefinition {
        sql_mode: event.sql_mode,
        client_charset: event.client_charset,
        connection_collation: event.connection_collation,
        database_collation: event.database_collation,
        created_micros: event.created_micros,
        modified_micros: event.modified_micros,
        ..procedure_of(&event.schema, &event.name, &event.body, &event.definer)
    };
    Ok(Routine::new(Arc::new(definition), program, None))
}

/// What a routine takes and gives.
///
/// # Errors
/// A text that does not compile.
pub(crate) fn signature_of(definition: &RoutineDefinition) -> Result<RoutineSignature, Box<SqlError>> {
    let program = program_of(definition)?;
    let parameters = program.parameters.iter().zip(&program.variables);
    let parameters = parameters
        .map(|(mode, variable)| {
            let data_type = match &variable.slot_type {
                SlotType::Declared(data_type) => data_type.clone(),
                SlotType::Of(_) => DataType::NULL,
            };
            RoutineParameter { mode: *mode, name: Arc::clone(&variable.name), data_type }
        })
        .collect();
    Ok(RoutineSignature { parameters, returns: program.returns })
}

/// Parameters and value of a routine, for `information_schema`.
#[derive(Debug, Default)]
pub(crate) struct RoutineSignature {
    pub(crate) parameters: Vec<RoutineParameter>,
    /// The type of a function's value.
    pub(crate) returns: Option<DataType>,
}

/// A parameter, for `information_schema`.
#[derive(Debug)]
pub(crate) struct RoutineParameter {
    pub(crate) mode: syntax::ast::ParameterMode,
    pub(crate) name: Arc<str>,
    pub(crate) data_type: DataType,
}

/// The type under which statements see a variable: its text for ENUM and SET, whose numbers only columns have.
pub(crate) fn plan_type(data_type: &DataType) -> DataType {
    if data_type.members.is_some() {
        return DataType::varchar(data_type.length, data_type.collation);
    }
    data_type.clone()
}

/// Reads and compiles a routine's text.
///
/// # Errors
/// As CREATE, under the `sql_mode` it was created under.
pub(crate) fn program_of(definition: &RoutineDefinition) -> Result<Program, Box<SqlError>> {
    let arena = bumpalo::Bump::new();
    let text = catalog::show_create_routine(definition);
    let mode = SqlModes(definition.sql_mode);
    let parsed =
        syntax::parse(text.as_bytes(), &arena, mode.for_syntax()).map_err(|error| syntax_error(&error))?;
    let Statement::CreateRoutine(create) = parsed.statement else {
        return Err(ER_INTERNAL_ERROR.with(&[&"a routine that creates none"]));
    };
    let Some(body) = create.body else { return Err(not_supported("LANGUAGE")) };
    let settings = compile::Settings {
        text: text.as_bytes(),
        collation: definition.database_collation,
        strict: mode.is_strict(),
    };
    compile::compile(create, body, &settings, &mut Vec::new())
}
