//! Stored procedures: what CREATE PROCEDURE keeps, the program it is compiled to, and the running of it.
//!
//! ```text
//! CREATE      definition   parse, compile (all of MySQL's errors), keep the text in the dictionary
//! CALL        call         arguments -> a frame; compile the text unless this session has the program
//! run         run          a loop over the instructions of the innermost frame
//! failure     handler      which handler, of this frame or one further out; else the CALL fails
//! ```
//!
//! A body becomes a flat list of instructions ([`program`]): jumps for IF, CASE and loops, slots for variables. Each
//! statement or expression in it is planned when it first runs in a session, and the plan is kept beside the program
//! until the catalog changes. A variable is a parameter of those plans, so that a changed value needs no new plan.
//!
//! A CALL inside a routine pushes a frame; it does not recurse. Between two instructions KILL and timeouts are looked at.
//! A routine runs each statement as the client would have: its own transaction with autocommit, its own savepoint else.
//!
//! Invariants:
//! 1. Every instruction of a program jumps inside it; the last one returns.
//! 2. A frame's slots are as many as the program's variables, also while a statement runs.
//! 3. Whatever a frame changed of the session (database, account, sql_mode, character sets) is put back when it goes.
//!
//! Read next: [`program`], `compile`, `run`, `handler`.

mod call;
mod compile;
mod condition;
mod definition;
mod handler;
mod program;
mod run;
mod statement;

use std::sync::Arc;

use catalog::{RoutineDefinition, RoutineId};
use hashbrown::HashMap;
use service::SqlError;
use types::{DataType, Value};

use crate::privilege::SessionAccount;
use crate::session::diagnostics::Diagnostics;
use crate::session::plans::HeldPlan;
use crate::variables::Setting;
use program::{Program, ScopeId, SlotType, Target};

pub(crate) use condition::ConditionDetails;

/// Frames one CALL may nest, however large `max_sp_recursion_depth` is.
const FRAMES_MAX: usize = 512;
/// CALLs that text run by EXECUTE may nest: these do recurse.
const DYNAMIC_CALLS_MAX: u32 = 16;

/// A routine ready to run.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) definition: Arc<RoutineDefinition>,
    pub(crate) program: Program,
}

/// The plan of a statement or expression of a routine.
#[derive(Debug)]
struct Planned {
    plan: HeldPlan,
    /// Of SELECT ... INTO.
    into: Option<Box<[Target]>>,
}

/// Plans by statement of the program; made as they are needed.
type Plans = Vec<Option<Planned>>;

/// A cursor that was opened.
#[derive(Debug)]
struct OpenCursor {
    column_count: usize,
    rows: std::vec::IntoIter<Vec<Value>>,
}

/// A handler in run.
#[derive(Debug)]
struct ActiveHandler {
    /// Where its end goes on.
    resume: usize,
    /// The conditions it was called for: STACKED DIAGNOSTICS.
    stacked: Diagnostics,
    /// Which of them.
    position: usize,
}

/// What a frame found in the session and will put back.
#[derive(Debug)]
struct Saved {
    database: Option<Arc<str>>,
    account: Arc<SessionAccount>,
    settings: [Setting; 4],
}

/// A routine in run.
#[derive(Debug)]
struct Frame {
    routine: Arc<Routine>,
    slots: Vec<Value>,
    plans: Plans,
    cursors: Vec<Option<OpenCursor>>,
    /// The instruction in run.
    at: usize,
    handlers: Vec<ActiveHandler>,
    /// Where the values of OUT and INOUT parameters go, by parameter.
    results: Vec<Option<Target>>,
    /// Names the statement in run sees; `None` for text that EXECUTE runs.
    scope: Option<ScopeId>,
    saved: Saved,
}

/// What a session knows of routines: those in run, and the programs and plans of those it ran.
#[derive(Debug, Default)]
pub(crate) struct Routines {
    frames: Vec<Frame>,
    kept: HashMap<RoutineId, (Arc<Routine>, Plans)>,
    dynamic_calls: u32,
    /// The expression in run is for a variable: what would be a warning in a SELECT is an error in strict mode.
    pub(crate) assigning: bool,
    /// Values of OUT parameters whose CALL answers with a row.
    row: Vec<Value>,
    /// User variables of the EXECUTE that runs, where OUT parameters may go.
    pub(crate) using: Vec<Vec<u8>>,
}

impl Routines {
    /// Whether a routine is under way.
    pub(crate) fn are_running(&self) -> bool {
        !self.frames.is_empty()
    }

    /// The slot and type of the variable `name`, if a routine's own statement is under way.
    pub(crate) fn variable(&self, name: &str) -> Option<(u32, DataType)> {
        let frame = self.frames.last()?;
        let slot = frame.routine.program.find(frame.scope?, name)?;
        let variable = &frame.routine.program.variables[slot];
        let data_type = match &variable.slot_type {
            SlotType::Declared(data_type) => plan_type(data_type),
            // The operand of CASE has the type its expression has.
            SlotType::Of(statement) => {
                frame.plans[*statement].as_ref()?.plan.output_types().next().map(plan_type)?
            }
        };
        Some((u32::try_from(slot).ok()?, data_type))
    }

    /// Values of the variables, if a routine's own statement is under way.
    pub(crate) fn slots(&self) -> Option<&[Value]> {
        let frame = self.frames.last()?;
        frame.scope.map(|_| &*frame.slots)
    }
}

/// Parameters of a routine: mode, name, type.
///
/// # Errors
/// A text that does not compile.
pub(crate) fn parameters_of(definition: &RoutineDefinition) -> Result<Vec<RoutineParameter>, Box<SqlError>> {
    let program = call::program_of(definition)?;
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
fn plan_type(data_type: &DataType) -> DataType {
    if data_type.members.is_some() {
        return DataType::varchar(data_type.length, data_type.collation);
    }
    data_type.clone()
}
