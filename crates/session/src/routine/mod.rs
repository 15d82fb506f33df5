//! Stored procedures as programs: what CREATE PROCEDURE keeps, compiled. How they run: `session::routine`.
//!
//! A body becomes a flat list of instructions ([`program`]): jumps for IF, CASE and loops, slots for variables.
//!
//! Invariant: every instruction of a program jumps inside it; the last one returns.
//!
//! Read next: [`program`], [`compile`].

pub(crate) mod compile;
pub(crate) mod program;

use std::sync::Arc;

use catalog::RoutineDefinition;
use service::SqlError;
use service::error::ER_INTERNAL_ERROR;
use syntax::ast::Statement;
use types::DataType;

use crate::errors::{not_supported, syntax_error};
use crate::variables::sql_mode::SqlModes;
use program::{Program, SlotType};

/// A routine ready to run.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) definition: Arc<RoutineDefinition>,
    pub(crate) program: Program,
}

/// Parameters of a routine: mode, name, type.
///
/// # Errors
/// A text that does not compile.
pub(crate) fn parameters_of(definition: &RoutineDefinition) -> Result<Vec<RoutineParameter>, Box<SqlError>> {
    let program = program_of(definition)?;
    let parameters = program.parameters.iter().zip(&program.variables);
    Ok(parameters
        .map(|(mode, variable)| {
            let data_type = match &variable.slot_type {
                SlotType::Declared(data_type) => data_type.clone(),
                SlotType::Of(_) => DataType::NULL,
            };
            RoutineParameter { mode: *mode, name: Arc::clone(&variable.name), data_type }
        })
        .collect())
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
