//! Running stored procedures.
//!
//! ```text
//! CREATE      definition   parse, compile (all of MySQL's errors), keep the text in the dictionary
//! CALL        call         arguments -> a frame; compile the text unless this session has the program
//! run         run          a loop over the instructions of the innermost frame
//! failure     handler      which handler, of this frame or one further out; else the CALL fails
//! ```
//!
//! Each statement or expression of a program ([`crate::routine`]) is planned when it first runs in a session, and the plan is kept beside
//! the program until the catalog changes. A variable is a parameter of those plans, so that a changed value needs no new plan.
//!
//! A CALL inside a routine pushes a frame; it does not recurse. Between two instructions KILL and timeouts are looked at.
//! A routine runs each statement as the client would have: its own transaction with autocommit, its own savepoint else.
//!
//! Invariants:
//! 1. A frame's slots are as many as the program's variables, also while a statement runs.
//! 2. Whatever a frame changed of the session (database, account, `sql_mode`, character sets) is put back when it goes.
//!
//! Read next: [`crate::routine::program`], `call`, `run`, `handler`.

mod call;
pub(super) mod condition;
pub(super) mod definition;
mod handler;
mod run;
mod statement;

use std::sync::Arc;

use catalog::RoutineId;
use hashbrown::HashMap;
use types::{DataType, Value};

use super::diagnostics::Diagnostics;
use crate::backend::Backend;
use crate::plans::HeldPlan;
use crate::privilege::SessionAccount;
use crate::routine::program::{ScopeId, SlotType, Target};
use crate::routine::{Routine, plan_type};
use crate::variables::Setting;

pub(super) use condition::ConditionDetails;
pub(super) use definition::{show_create_routine, show_routine_status};

/// Frames one CALL may nest, however large `max_sp_recursion_depth` is.
const FRAMES_MAX: usize = 512;
/// CALLs that text run by EXECUTE may nest: these do recurse.
const DYNAMIC_CALLS_MAX: u32 = 16;

/// The plan of a statement or expression of a routine.
#[derive(Debug)]
struct Planned<B: Backend> {
    plan: HeldPlan<B>,
    /// Of SELECT ... INTO.
    into: Option<Box<[Target]>>,
}

/// Plans by statement of the program; made as they are needed.
type Plans<B> = Vec<Option<Planned<B>>>;

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
struct Frame<B: Backend> {
    routine: Arc<Routine>,
    slots: Vec<Value>,
    plans: Plans<B>,
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
#[derive(Debug)]
pub(crate) struct Routines<B: Backend> {
    frames: Vec<Frame<B>>,
    kept: HashMap<RoutineId, (Arc<Routine>, Plans<B>)>,
    dynamic_calls: u32,
    /// The expression in run is for a variable: what would be a warning in a SELECT is an error in strict mode.
    assigning: bool,
    /// Values of OUT parameters whose CALL answers with a row.
    row: Vec<Value>,
    /// User variables of the EXECUTE that runs, where OUT parameters may go.
    using: Vec<Vec<u8>>,
}

impl<B: Backend> Default for Routines<B> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            kept: HashMap::new(),
            dynamic_calls: 0,
            assigning: false,
            row: Vec::new(),
            using: Vec::new(),
        }
    }
}

impl<B: Backend> Routines<B> {
    /// Whether the expression in run is for a variable.
    #[inline]
    pub(super) fn is_assigning(&self) -> bool {
        self.assigning
    }

    /// EXECUTE ... USING these user variables begins: OUT parameters of a CALL go there.
    pub(super) fn set_using(&mut self, using: Vec<Vec<u8>>) {
        self.using = using;
    }

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
