//! Expressions as defaults for rows that no statement writes: those that a definition gives new columns.

use std::sync::Arc;

use catalog::{ColumnDefault, TableDefinition, TableEntry};
use plan::{Expr, ExprKind, FunctionId};
use service::error::{ER_BINLOG_UNSAFE_SYSTEM_FUNCTION, ER_NOT_SUPPORTED_YET};
use types::Batch;

use super::rules::{Computed, Running, bind, put_generated};
use super::values::{Storing, Target};
use crate::expr::{EvalContext, EvalSettings, NoSession, SqlResult, Warnings};

/// Expressions that make values of columns of a table, compiled.
#[derive(Debug)]
pub struct RowDefaults {
    entry: Arc<TableEntry>,
    /// Each with whether it is a generated column.
    computed: Vec<(Computed, Running, bool)>,
    /// What is computed under for columns whose values nobody sees yet.
    lenient: Option<EvalSettings>,
}

impl RowDefaults {
    /// The defaults of those columns that are `wanted`, then the expressions of those generated columns that are.
    ///
    /// # Errors
    /// 1674, 1235: an expression that says something else each time, or that asks the session; one that cannot be computed.
    pub fn compile(
        entry: &Arc<TableEntry>,
        wanted: &dyn Fn(usize) -> bool,
        generated_wanted: &dyn Fn(usize) -> bool,
    ) -> SqlResult<RowDefaults> {
        let mut computed = Vec::new();
        let name_of = |ordinal: usize| entry.definition.columns[ordinal].name.clone();
        for (ordinal, column) in entry.definition.columns.iter().enumerate() {
            if let ColumnDefault::Expression(text) = &column.default
                && wanted(ordinal)
            {
                let expr = bind(entry, text)?;
                check_functions(&expr)?;
                let rule = Computed::new(ordinal, &expr, &name_of)?;
                let running = Running::new(&rule);
                computed.push((rule, running, false));
            }
        }
        for (ordinal, column) in entry.definition.columns.iter().enumerate() {
            if let Some(generated) = &column.generated
                && generated_wanted(ordinal)
            {
                let mut rule = Computed::new(ordinal, &bind(entry, &generated.expression)?, &name_of)?;
                rule.for_column(column);
                let running = Running::new(&rule);
                computed.push((rule, running, true));
            }
        }
        Ok(RowDefaults { entry: Arc::clone(entry), computed, lenient: None })
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
        let mut unseen = Warnings::default();
        for (rule, running, is_generated) in &mut self.computed {
            let ordinal = rule.ordinal;
            if *is_generated && definition.columns[ordinal].is_virtual() && !is_indexed(definition, ordinal) {
                // MySQL computes it for nobody yet: what does not fit is neither an error nor a warning.
                let lenient = self
                    .lenient
                    .get_or_insert_with(|| EvalSettings { strict_dml: false, ..settings.clone() });
                let storing = Storing::new(lenient, true, true);
                put_one(&storing, definition, (rule, running), row, number, lenient, &mut unseen)?;
                continue;
            }
            put_one(&storing, definition, (rule, running), row, number, settings, warnings)?;
        }
        Ok(())
    }
}

fn is_indexed(definition: &TableDefinition, ordinal: usize) -> bool {
    definition.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == ordinal))
}

/// Puts the value of one column.
fn put_one(
    storing: &Storing<'_>,
    definition: &TableDefinition,
    (rule, running): (&Computed, &mut Running),
    row: &mut Batch,
    number: u64,
    settings: &EvalSettings,
    warnings: &mut Warnings,
) -> SqlResult<()> {
    let ordinal = rule.ordinal;
    let mut ctx = EvalContext {
        settings,
        params: &[],
        outer: Vec::new(),
        session: &mut NoSession,
        warnings,
        snapshot: None,
        transaction: None,
    };
    let target = Target { definition, ordinal, row: number, null_allowed: false };
    row.columns[ordinal].clear();
    row.columns[ordinal].push_null();
    put_generated((rule, running), row, ordinal, target, storing, &mut ctx)
}

/// MySQL computes nothing for rows that are there that a replica would not compute alike; and no session is here to be asked.
fn check_functions(expr: &Expr) -> SqlResult<()> {
    use FunctionId as F;
    let calls = |wanted: &dyn Fn(FunctionId) -> bool| {
        expr.any(&mut |node| matches!(&node.kind, ExprKind::Call { function, .. } if wanted(*function)))
    };
    if calls(&|function| !function.is_deterministic() || matches!(function, F::User | F::CurrentUser)) {
        return Err(ER_BINLOG_UNSAFE_SYSTEM_FUNCTION.bare());
    }
    let asks = |function: FunctionId| {
        matches!(function, F::ConnectionId | F::CurrentRole | F::Database | F::FoundRows | F::RowCount)
            || function == F::PsCurrentThreadId
    };
    if calls(&asks) {
        return Err(ER_NOT_SUPPORTED_YET.with(&[&"ADD COLUMN with a default that asks the session"]));
    }
    Ok(())
}
