//! The compiled expressions of a plan, in the order in which its operators are built.

use std::sync::Arc;

use crate::expr::{Program, SqlResult};

/// The programs of a plan while its operators are built.
pub(crate) struct Programs<'p> {
    known: &'p [Arc<Program>],
    next: usize,
    compiled: Vec<Arc<Program>>,
}

impl<'p> Programs<'p> {
    /// Gives the programs of the list in its order. Where there is none yet, each is compiled.
    pub(crate) fn new(known: &'p [Arc<Program>]) -> Programs<'p> {
        Programs { known, next: 0, compiled: Vec::new() }
    }

    /// Those that were compiled, in order.
    pub(crate) fn into_compiled(self) -> Vec<Arc<Program>> {
        self.compiled
    }

    /// The program of these expressions: the next of the list, or compiled now if this is the first build.
    pub(crate) fn take(&mut self, exprs: &[plan::Expr]) -> SqlResult<Arc<Program>> {
        if let Some(program) = self.known.get(self.next) {
            self.next += 1;
            return Ok(Arc::clone(program));
        }
        let program = Arc::new(Program::compile(exprs)?);
        self.compiled.push(Arc::clone(&program));
        Ok(program)
    }
}
