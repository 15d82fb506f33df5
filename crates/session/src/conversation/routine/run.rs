//! The loop that runs routines, one instruction after the other.

use std::sync::Arc;

use service::error as e;
use service::{Outcome, Reply, SqlError};
use types::Value;

use super::OpenCursor;
use super::condition;
use crate::backend::Backend;
use crate::conversation::Session;
use crate::conversation::attempt::{Attempt, until_planned};
use crate::routine::Routine;
use crate::routine::program::{Argument, CursorId, DiagnoseItems, Instruction, Slot};

/// Instructions between two looks at whether others wait for this thread.
const TICK_INSTRUCTIONS: u32 = 64;

impl<B: Backend> Session<B> {
    /// Runs the innermost frame, and those it calls, until frames are `base` again.
    pub(super) fn run_frames(&mut self, base: usize, reply: &mut Reply<'_>) -> Outcome {
        let mut count = 0u32;
        while self.routines.frames.len() > base {
            count = count.wrapping_add(1);
            if count.is_multiple_of(TICK_INSTRUCTIONS) {
                env::blocking::tick();
            }
            if let Err(error) = until_planned(|| self.step(base, reply)).without_requeue() {
                self.handle_error(base, error, reply)?;
            }
        }
        Ok(())
    }

    /// One instruction.
    fn step(&mut self, base: usize, reply: &mut Reply<'_>) -> Attempt<()> {
        crate::limits::check_interrupted(&self.control)?;
        let frame = self.frame()?;
        let at = frame.at;
        let routine = Arc::clone(&frame.routine);
        let program = &routine.program;
        let next = match &program.instructions[at] {
            Instruction::Run(statement) => {
                self.run_embedded(program, *statement, reply)?;
                at + 1
            }
            Instruction::Assign { slot, value, .. } => {
                self.diagnostics.clear();
                let value = self.compute(program, *value, true)?;
                self.assign_slot(*slot, value)?;
                at + 1
            }
            Instruction::Clear { first, end } => {
                self.frame()?.slots[*first..*end].fill(Value::Null);
                at + 1
            }
            Instruction::Jump(to) => {
                self.frame()?.at = *to;
                return Ok(());
            }
            Instruction::JumpUnless { condition, to, .. } => {
                let value = self.compute(program, *condition, false)?;
                // Conditions are planned as IS TRUE.
                if value == Value::Int(1) { at + 1 } else { *to }
            }
            Instruction::CaseNotFound => return Err(e::ER_SP_CASE_NOT_FOUND.bare().into()),
            Instruction::Open(cursor) => {
                self.diagnostics.clear();
                self.open_cursor(&routine, *cursor)?;
                at + 1
            }
            Instruction::Close(cursor) => {
                let open = self.frame()?.cursors[*cursor].take();
                open.ok_or_else(|| e::ER_SP_CURSOR_NOT_OPEN.bare())?;
                at + 1
            }
            Instruction::Fetch { cursor, into } => {
                self.fetch(*cursor, into)?;
                at + 1
            }
            Instruction::CloseAll { first, end } => {
                self.frame()?.cursors[*first..*end].iter_mut().for_each(|cursor| *cursor = None);
                at + 1
            }
            Instruction::Call { name, arguments } => {
                return self.call_from_routine(&routine, name, arguments);
            }
            Instruction::Signal(raise) => {
                let mut items = Vec::with_capacity(raise.items.len());
                for (item, value) in &raise.items {
                    items.push((*item, self.compute(program, *value, false)?));
                }
                condition::raise(self, raise.again, raise.state, items)?;
                at + 1
            }
            Instruction::Diagnose(diagnose) => {
                match &diagnose.what {
                    DiagnoseItems::Statement(items) => {
                        condition::statement_information(self, diagnose.stacked, items)?;
                    }
                    DiagnoseItems::Condition(number, items) => {
                        let number = self.compute(program, *number, false)?;
                        condition::condition_information(self, diagnose.stacked, &number, items)?;
                    }
                }
                // What it reads is not raised again.
                self.frame()?.at = at + 1;
                return Ok(());
            }
            Instruction::HandlerEnd => {
                if self.diagnostics.are_inherited() {
                    self.diagnostics.clear();
                }
                let frame = self.frame()?;
                frame.at = frame.handlers.pop().map_or(at + 1, |handler| handler.resume);
                return Ok(());
            }
            Instruction::Return => return Ok(self.return_from_frame(base)?),
        };
        Ok(self.go_on(next)?)
    }

    /// After an instruction that went well: to the handler of its warnings, or to the next one.
    pub(super) fn go_on(&mut self, next: usize) -> Outcome {
        if !self.handle_warnings(next) {
            self.frame()?.at = next;
        }
        Ok(())
    }

    fn open_cursor(&mut self, routine: &Routine, cursor: CursorId) -> Attempt<()> {
        if self.frame()?.cursors[cursor].is_some() {
            return Err(e::ER_SP_CURSOR_ALREADY_OPEN.bare().into());
        }
        let statement = routine.program.cursors[cursor].statement;
        let (types, rows) = self.cursor_rows(&routine.program, statement)?;
        self.frame()?.cursors[cursor] =
            Some(OpenCursor { column_count: types.len(), rows: rows.into_iter() });
        Ok(())
    }

    fn fetch(&mut self, cursor: CursorId, into: &[Slot]) -> Outcome {
        self.diagnostics.clear();
        let Some(open) = &mut self.frame()?.cursors[cursor] else {
            return Err(e::ER_SP_CURSOR_NOT_OPEN.bare());
        };
        if open.column_count != into.len() {
            return Err(e::ER_SP_WRONG_NO_OF_FETCH_ARGS.bare());
        }
        let row = open.rows.next().ok_or_else(|| e::ER_SP_FETCH_NO_DATA.bare())?;
        into.iter().zip(row).try_for_each(|(slot, value)| self.assign_slot(*slot, value))
    }

    /// CALL inside a routine: the arguments, then a frame on top.
    fn call_from_routine(
        &mut self,
        routine: &Routine,
        name: &(Option<Box<str>>, Box<str>),
        arguments: &[Argument],
    ) -> Attempt<()> {
        self.diagnostics.clear();
        self.account.renew(&self.core);
        let callee = self.find_procedure(name.0.as_deref(), &name.1, arguments.len())?;
        let mut values = Vec::with_capacity(arguments.len());
        let mut results = Vec::with_capacity(arguments.len());
        for (position, argument) in arguments.iter().enumerate() {
            let mode = callee.program.parameters[position];
            let goes_out = mode != syntax::ast::ParameterMode::In;
            if goes_out && argument.target.is_none() {
                return Err(not_a_variable(position, &callee).into());
            }
            values.push(match mode {
                syntax::ast::ParameterMode::Out => Value::Null,
                _ => self.compute(&routine.program, argument.value, false)?,
            });
            results.push(argument.target.clone().filter(|_| goes_out));
        }
        Ok(self.push_frame(callee, values, results)?)
    }
}

/// 1414
#[cold]
pub(super) fn not_a_variable(position: usize, callee: &Routine) -> Box<SqlError> {
    let definition = &callee.definition;
    let name = format!("{}.{}", definition.schema, definition.name);
    e::ER_SP_NOT_VAR_ARG.with(&[&(position + 1), &name])
}
