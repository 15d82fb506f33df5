//! Expressions as defaults for rows that no statement writes: those that a definition gives new columns.

use std::sync::Arc;

use catalog::{ColumnDefault, TableEntry};
use types::{Batch, Column};

use super::rules::{Computed, Running, bind};
use super::values::{Storing, Target};
use crate::expr::{EvalContext, EvalSettings, NoSession, SqlResult, Warnings};

/// Expressions that make values of columns of a table, compiled.
#[derive(Debug)]
pub struct RowDefaults {
    entry: Arc<TableEntry>,
    computed: Vec<(Computed, Running)>,
}

impl RowDefaults {
    /// The expressions of those columns that are `wanted`.
    ///
    /// # Errors
    /// An expression that cannot be computed.
    pub fn compile(entry: &Arc<TableEntry>, wanted: &dyn Fn(usize) -> bool) -> SqlResult<RowDefaults> {
        let mut computed = Vec::new();
        for (ordinal, column) in entry.definition.columns.iter().enumerate() {
            if let ColumnDefault::Expression(text) = &column.default
                && wanted(ordinal)
            {
                let rule = Computed::new(ordinal, &bind(entry, text)?)?;
                let running = Running::new(&rule);
                computed.push((rule, running));
            }
        }
        Ok(RowDefaults { entry: Arc::clone(entry), computed })
    }

    /// Whether there is nothing to compute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.computed.is_empty()
    }

    /// Computes the values of the only row of `row`, one after the other: all columns by ordinal, TIMESTAMPs in the zone of
    /// `settings`. `number`: of the row, for messages.
    ///
    /// # Errors
    /// The client's.
    pub fn put(
        &mut self,
        row: &mut Batch,
        number: u64,
        settings: &EvalSettings,
        warnings: &mut Warnings,
    ) -> SqlResult<()> {
        let storing = Storing::new(settings, false, true);
        let definition = &self.entry.definition;
        for (rule, running) in &mut self.computed {
            let ordinal = rule.ordinal;
            let mut out = Column::new(definition.columns[ordinal].data_type.physical());
            let mut ctx = EvalContext {
                settings,
                params: &[],
                outer: Vec::new(),
                session: &mut NoSession,
                warnings: &mut *warnings,
            };
            let value = running.eval(rule, row, &mut ctx)?;
            let target = Target { definition, ordinal, row: number, null_allowed: false };
            storing.put(target, value, &rule.data_type, &mut out, warnings)?;
            row.columns[ordinal] = out;
        }
        Ok(())
    }
}
