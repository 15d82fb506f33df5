//! The stored procedures of a session: those in run, and the programs and plans of those it has run. What runs them: [`super::routine`].
//!
//! Invariants:
//! 1. A frame's slots are as many as the program's variables, also while a statement runs.
//! 2. The plans of a program are in its frame while one runs, else beside the program.

use std::sync::Arc;

use catalog::{RoutineDefinition, RoutineId, TableDefinition, TriggerDefinition};
use exec::ValueMemory;
use hashbrown::HashMap;
use service::SqlError;
use service::error::ER_INTERNAL_ERROR;
use types::{Column, DataType, Value};

use super::current_account::ReplacedAccount;
use super::diagnostics::Diagnostics;
use super::firings::Firings;
use super::into_file::FileTarget;
use crate::backend::Backend;
use crate::plans::PlanHandle;
use crate::routine::program::{ScopeId, SlotType, Target};
use crate::routine::{ProgramKey, Routine, plan_type, trigger_key};
use crate::variables::Setting;

/// Programs a session keeps (`stored_program_cache` has the same default).
const KEPT_MAX: usize = 256;
/// CALLs that text run by EXECUTE may nest: these do recurse.
const DYNAMIC_CALLS_MAX: u32 = 16;

/// Where the rows of a routine's SELECT ... INTO go.
#[derive(Debug)]
pub(super) enum RoutineInto {
    /// The values of its one row, to variables.
    Targets(Box<[Target]>),
    /// All of them, into a file.
    File(FileTarget),
}

/// The plan of a statement or expression of a routine.
#[derive(Debug)]
pub(super) struct Planned<B: Backend> {
    pub(super) plan: PlanHandle<B>,
    /// Of SELECT ... INTO.
    pub(super) into: Option<RoutineInto>,
    /// Of an expression that reads no table and calls no stored function.
    pub(super) memory: Option<ValueMemory>,
}

/// Plans by statement of the program; made as they are needed.
pub(super) type Plans<B> = Vec<Option<Planned<B>>>;

/// A cursor that was opened.
#[derive(Debug)]
pub(super) struct OpenCursor {
    pub(super) column_count: usize,
    pub(super) rows: std::vec::IntoIter<Vec<Value>>,
}

/// A handler in run.
#[derive(Debug)]
pub(super) struct ActiveHandler {
    /// Where its end goes on.
    pub(super) resume: usize,
    /// The conditions it was called for: STACKED DIAGNOSTICS.
    pub(super) stacked: Diagnostics,
    /// Which of them.
    pub(super) position: usize,
}

/// What a frame found in the session and will put back.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) database: Option<Arc<str>>,
    pub(super) account: ReplacedAccount,
    /// The settings that it changed; `None`: they are those of the routine.
    pub(super) settings: Option<[Setting; 4]>,
    /// The state of the variables in which the routine began.
    pub(super) generation: u64,
}

/// A routine in run.
#[derive(Debug)]
pub(super) struct Frame<B: Backend> {
    pub(super) routine: Arc<Routine>,
    pub(super) slots: Vec<Value>,
    pub(super) plans: Plans<B>,
    pub(super) cursors: Vec<Option<OpenCursor>>,
    /// The instruction in run.
    pub(super) at: usize,
    pub(super) handlers: Vec<ActiveHandler>,
    /// Where the values of OUT and INOUT parameters go, by parameter.
    pub(super) results: Vec<Option<Target>>,
    /// What messages about a function's value call it.
    pub(super) value_name: Option<Arc<str>>,
    /// Names the statement in run sees; `None` for text that EXECUTE runs.
    pub(super) scope: Option<ScopeId>,
    pub(super) saved: Saved,
}

/// A program, and the plans of its statements while it does not run.
#[derive(Debug)]
struct Kept<B: Backend> {
    routine: Arc<Routine>,
    plans: Plans<B>,
    /// The state of the session's variables ([`SessionVariables::generation`]) in which its settings were those of the routine.
    fits_at: Option<u64>,
}

/// What a session knows of routines: those in run, and the programs and plans of those it ran.
#[derive(Debug)]
pub(super) struct Routines<B: Backend> {
    frames: Vec<Frame<B>>,
    kept: HashMap<ProgramKey, Kept<B>>,
    /// Triggers of statements in run.
    firing: Firings,
    dynamic_calls: u32,
    /// The expression in run is for a variable: what would be a warning in a SELECT is an error in strict mode.
    assigning: bool,
    /// Values of OUT parameters whose CALL answers with a row.
    row: Vec<Value>,
    /// User variables of the EXECUTE that runs, where OUT parameters may go.
    using: Vec<Vec<u8>>,
    /// The value of the function that has just returned.
    returned: Option<Column>,
}

impl<B: Backend> Default for Routines<B> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            kept: HashMap::new(),
            firing: Firings::default(),
            dynamic_calls: 0,
            assigning: false,
            row: Vec::new(),
            using: Vec::new(),
            returned: None,
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
    pub(crate) fn variable(&self, name: &[u8]) -> Option<(u32, DataType)> {
        let frame = self.frames.last()?;
        let slot = frame.routine.program.find(frame.scope?, &String::from_utf8_lossy(name))?;
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

    /// The slot and type of a column of NEW or OLD, if a trigger's own statement is under way.
    pub(crate) fn row_variable(&self, is_new: bool, column: &str) -> Option<(u32, DataType)> {
        let frame = self.frames.last()?;
        frame.scope?;
        let program = &frame.routine.program;
        let row = &program.row_slots[program.find_row_slot(is_new, column)?];
        match &program.variables[row.slot].slot_type {
            SlotType::Declared(data_type) => Some((u32::try_from(row.slot).ok()?, plan_type(data_type))),
            SlotType::Of(_) => None,
        }
    }

    /// The word for the innermost of the triggers and functions in run.
    pub(super) fn inside_word(&self) -> &'static str {
        let word = |frame: &Frame<B>| match frame.routine.trigger {
            Some(_) => Some("trigger"),
            None => frame.routine.program.returns.as_ref().map(|_| "function"),
        };
        self.frames.iter().rev().find_map(word).unwrap_or("trigger")
    }

    /// Whether a function is in run, called by a statement that has not ended.
    pub(super) fn calls_function(&self, id: RoutineId) -> bool {
        let is_it = |frame: &Frame<B>| frame.routine.trigger.is_none() && frame.routine.definition.id == id;
        self.frames.iter().any(is_it)
    }

    /// The function in run returns this.
    pub(super) fn set_returned(&mut self, value: Column) {
        self.returned = Some(value);
    }

    /// The value of the function that has just returned.
    pub(super) fn take_returned(&mut self) -> Option<Column> {
        self.returned.take()
    }

    /// What is known of triggers in run.
    pub(super) fn firing(&mut self) -> &mut Firings {
        &mut self.firing
    }

    /// The program of a trigger of this table, if the session has it.
    pub(super) fn trigger_program(
        &self,
        table: &Arc<TableDefinition>,
        trigger: &Arc<TriggerDefinition>,
    ) -> Option<Arc<Routine>> {
        let Kept { routine, .. } = self.kept.get(&trigger_key(trigger))?;
        let of = routine.trigger.as_ref()?;
        Arc::ptr_eq(&of.table, table).then(|| Arc::clone(routine))
    }

    /// The innermost frame.
    ///
    /// # Errors
    /// 1815: none is there.
    pub(super) fn frame(&mut self) -> Result<&mut Frame<B>, Box<SqlError>> {
        self.frames.last_mut().ok_or_else(|| ER_INTERNAL_ERROR.with(&[&"a routine without a frame"]))
    }

    /// Values of the variables, if a routine's own statement is under way.
    pub(crate) fn slots(&self) -> Option<&[Value]> {
        let frame = self.frames.last()?;
        frame.scope.map(|_| &*frame.slots)
    }

    /// The frames, the innermost last.
    pub(super) fn frames(&self) -> &[Frame<B>] {
        &self.frames
    }

    /// One of them.
    pub(super) fn frame_at(&mut self, index: usize) -> &mut Frame<B> {
        &mut self.frames[index]
    }

    /// How many run, one within the other.
    pub(super) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// A routine begins.
    pub(super) fn push(&mut self, frame: Frame<B>) {
        self.frames.push(frame);
    }

    /// The innermost one ends: its plans are kept for its next run.
    pub(super) fn pop(&mut self) -> Option<Frame<B>> {
        let mut frame = self.frames.pop()?;
        if let Some(kept) = self.kept.get_mut(&frame.routine.key())
            && Arc::ptr_eq(&kept.routine, &frame.routine)
        {
            kept.plans = std::mem::take(&mut frame.plans);
            if frame.saved.settings.is_none() {
                kept.fits_at = Some(frame.saved.generation);
            }
        }
        Some(frame)
    }

    /// The program of a definition, if the session has it.
    pub(super) fn program(&self, definition: &Arc<RoutineDefinition>) -> Option<Arc<Routine>> {
        let Kept { routine, .. } = self.kept.get(&ProgramKey::Routine(definition.id))?;
        Arc::ptr_eq(&routine.definition, definition).then(|| Arc::clone(routine))
    }

    /// Keeps a program for its next run.
    pub(super) fn keep_program(&mut self, routine: &Arc<Routine>) {
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
        let plans = routine.program.statements.iter().map(|_| None).collect();
        self.kept.insert(routine.key(), Kept { routine: Arc::clone(routine), plans, fits_at: None });
    }

    /// The plans of a program for a frame: those that are kept, unless another frame of it has them. And when the session's settings were those of
    /// the routine, as far as is known.
    pub(super) fn take_plans(&mut self, routine: &Arc<Routine>) -> (Plans<B>, Option<u64>) {
        let new = || routine.program.statements.iter().map(|_| None).collect();
        match self.kept.get_mut(&routine.key()) {
            Some(kept) if Arc::ptr_eq(&kept.routine, routine) && !kept.plans.is_empty() => {
                (std::mem::take(&mut kept.plans), kept.fits_at)
            }
            _ => (new(), None),
        }
    }

    /// A CALL that is no instruction of a routine begins. Answers the row of the one around it, for [`Routines::end_call`]; none: too many
    /// are nested.
    pub(super) fn begin_call(&mut self) -> Option<Vec<Value>> {
        if self.dynamic_calls == DYNAMIC_CALLS_MAX {
            return None;
        }
        self.dynamic_calls += 1;
        Some(std::mem::take(&mut self.row))
    }

    /// It ends: answers the row of its OUT parameters.
    pub(super) fn end_call(&mut self, outer_row: Vec<Value>) -> Vec<Value> {
        self.dynamic_calls -= 1;
        std::mem::replace(&mut self.row, outer_row)
    }

    /// The value of an OUT parameter, for the row of the CALL.
    pub(super) fn push_to_row(&mut self, value: Value) {
        self.row.push(value);
    }

    /// The expression that runs next is for a variable, or is not.
    pub(super) fn set_assigning(&mut self, assigning: bool) {
        self.assigning = assigning;
    }

    /// The user variables of the EXECUTE that runs.
    pub(super) fn take_using(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.using)
    }
}
