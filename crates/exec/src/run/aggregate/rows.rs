//! The rows of groups with what is computed of them: keys, and the arguments of all aggregates.

use std::sync::Arc;

use plan::Expr;
use plan::physical::{Aggregate, Node, PhysicalPlan};
use types::{Column, DataType, Physical};

use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::programs::Programs;
use crate::row_buffer::columns;
use crate::run::Source;

pub(super) struct Rows<'p> {
    input: Source<'p>,
    key_program: Option<(Scratch, Arc<Program>)>,
    /// Those of the batch.
    pub(super) keys: Vec<Column>,
    arg_program: Option<(Scratch, Arc<Program>)>,
    /// Those of the batch, aggregate by aggregate, what orders them behind what they aggregate.
    pub(super) args: Vec<Column>,
    /// What is computed may be long.
    is_wide: bool,
}

impl<'p> Rows<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &[Expr],
        calls: &[Aggregate],
        programs: &mut Programs<'_>,
    ) -> SqlResult<Rows<'p>> {
        let input = Source::new(plan, input, programs)?;
        let mut compile = |exprs: &[Expr]| -> SqlResult<Option<(Scratch, Arc<Program>)>> {
            if exprs.is_empty() {
                return Ok(None);
            }
            let program = programs.take(exprs)?;
            Ok(Some((program.scratch(), program)))
        };
        let key_program = compile(keys)?;
        let args: Vec<Expr> = calls
            .iter()
            .flat_map(|call| call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr)))
            .cloned()
            .collect();
        let arg_program = compile(&args)?;
        let programs = [&key_program, &arg_program];
        let is_wide = programs.into_iter().flatten().any(|(_, program)| program.is_wide());
        Ok(Rows {
            input,
            keys: columns(keys.iter().map(|key| key.data_type.physical())),
            args: columns(args.iter().map(|arg| arg.data_type.physical())),
            key_program,
            arg_program,
            is_wide,
        })
    }

    /// Values of outer rows or parameters have changed.
    pub(super) fn reset(&mut self) {
        for (scratch, _) in self.key_program.iter_mut().chain(&mut self.arg_program) {
            scratch.reset();
        }
    }

    pub(super) fn start(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        if self.is_wide {
            self.input.limit_rows(1);
        }
        self.input.start(ctx)
    }

    /// The next batch; answers its rows.
    pub(super) fn next(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<Option<usize>> {
        if !self.input.next(ctx)? {
            return Ok(None);
        }
        let rows = self.input.batch.row_count;
        if let Some((scratch, program)) = &mut self.key_program {
            program.eval(scratch, &self.input.batch, &mut ctx.eval, &mut self.keys)?;
        }
        if let Some((scratch, program)) = &mut self.arg_program {
            program.eval(scratch, &self.input.batch, &mut ctx.eval, &mut self.args)?;
        }
        if self.is_wide {
            let keys = self.key_program.as_mut().map(|(scratch, _)| scratch.rows_next(rows, &self.keys));
            let args = self.arg_program.as_mut().map(|(scratch, _)| scratch.rows_next(rows, &self.args));
            self.input.limit_rows(keys.into_iter().chain(args).min().unwrap_or(1));
        }
        Ok(Some(rows))
    }
}

/// Shapes of the arguments of aggregates, in the order of [`Rows::args`].
pub(super) fn arg_shapes(calls: &[Aggregate]) -> impl Iterator<Item = Physical> {
    calls
        .iter()
        .flat_map(|call| call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr)))
        .map(|arg| arg.data_type.physical())
}

/// Types of keys.
pub(super) fn key_types(keys: &[Expr]) -> Vec<DataType> {
    keys.iter().map(|key| key.data_type.clone()).collect()
}
