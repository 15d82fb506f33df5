//! What a table's definition asks of each row: defaults, generated columns, CHECK constraints.
//!
//! Their expressions are kept as canonical text; they are parsed, bound and compiled when a plan is prepared.

use std::sync::Arc;

use catalog::{ColumnDefault, ColumnDefinition, IndexDefinition, TableEntry, TriggerEvent};
use plan::function::FunctionId;
use plan::{Expr, ExprKind};
use service::error::SqlError;
use types::convert::{Given, Origin};
use types::{Batch, Cell, Column, DataType, TypeKind};

use super::values::{Storing, Target};
use crate::error::coded;
use crate::expr::{EvalContext, Program, Scratch, SqlResult};
use crate::run::pad::{is_padded, pad, pads};

/// An expression that makes a value of a column.
#[derive(Debug)]
pub(super) struct Computed {
    /// Column of the table.
    pub(super) ordinal: usize,
    pub(super) program: Program,
    pub(super) data_type: DataType,
    /// Just a column of the input.
    is_column: bool,
    /// The column's name, or the function's.
    name: Arc<str>,
    /// Positions of the columns it reads of its input.
    reads: Box<[Option<u32>]>,
    /// The CHAR columns it reads of its input, which PAD_CHAR_TO_FULL_LENGTH pads: positions and types.
    chars: Box<[(usize, DataType)]>,
}

impl Computed {
    /// `name_of`: names of the input's columns.
    pub(super) fn new(
        ordinal: usize,
        expr: &Expr,
        name_of: &dyn Fn(usize) -> Arc<str>,
    ) -> SqlResult<Computed> {
        let name = match &expr.kind {
            ExprKind::Input(position) => name_of(*position as usize),
            ExprKind::Call { function: FunctionId::Cast, .. } if expr.data_type.kind == TypeKind::Json => {
                "cast_as_json".into()
            }
            ExprKind::Call { function, .. } => function.name().into(),
            ExprKind::Case { .. } => "case".into(),
            _ => "?".into(),
        };
        let is_column = matches!(expr.kind, ExprKind::Input(_));
        let program = Program::compile(std::slice::from_ref(expr))?;
        let mut chars = Vec::new();
        add_chars_read(expr, &mut chars);
        let mut reads = Vec::new();
        add_read(expr, &mut reads);
        Ok(Computed {
            ordinal,
            program,
            data_type: expr.data_type.clone(),
            is_column,
            name,
            reads: reads.into(),
            chars: chars.into(),
        })
    }

    /// It makes the values of a generated column. What an index over an expression holds does not depend on
    /// PAD_CHAR_TO_FULL_LENGTH; plans that pad do not use it.
    pub(super) fn for_column(&mut self, column: &ColumnDefinition) {
        if column.is_hidden() {
            self.chars = Box::default();
        }
    }

    /// What its value is before it is stored.
    #[inline]
    pub(super) fn given(&self) -> Given<'_> {
        let origin = if self.is_column { Origin::Column(&self.name) } else { Origin::Computed(&self.name) };
        Given { data_type: &self.data_type, origin }
    }

    /// The input with its CHAR values as this expression reads them.
    #[cold]
    fn padded(&self, input: &Batch) -> Batch {
        let mut padded = Batch::new(input.columns.iter().map(Column::physical));
        padded.extend_from(input);
        for (position, data_type) in &self.chars {
            pad(&mut padded.columns[*position], data_type);
        }
        padded
    }
}

/// What an execution keeps for a [`Computed`].
#[derive(Debug)]
pub(super) struct Running {
    scratch: Scratch,
    out: [Column; 1],
}

impl Running {
    pub(super) fn new(computed: &Computed) -> Running {
        Running { scratch: computed.program.scratch(), out: [Column::new(computed.data_type.physical())] }
    }

    /// The value for the only row of `input`.
    ///
    /// # Errors
    /// The client's.
    pub(super) fn eval(
        &mut self,
        computed: &Computed,
        input: &Batch,
        ctx: &mut EvalContext<'_>,
    ) -> SqlResult<Cell<'_>> {
        let warned = ctx.warnings.total();
        let padded;
        let input = if !computed.chars.is_empty() && pads(ctx.settings) {
            padded = computed.padded(input);
            &padded
        } else {
            input
        };
        computed.program.eval(&mut self.scratch, input, ctx, &mut self.out)?;
        if ctx.warnings.total() != warned {
            // A constant is computed once, but its warning belongs to every row.
            self.scratch.reset();
        }
        Ok(self.out[0].cell(0))
    }
}

/// Computes a generated column of the only row of `row`, which has it at `position`.
///
/// # Errors
/// The client's.
pub(super) fn put_generated(
    (rule, running): (&Computed, &mut Running),
    row: &mut Batch,
    position: usize,
    target: Target<'_>,
    storing: &Storing<'_>,
    ctx: &mut EvalContext<'_>,
) -> SqlResult<()> {
    let value = running.eval(rule, row, ctx).map_err(|error| generated_error(target, error))?;
    let out = &mut row.columns[position];
    storing
        .put(target, value, rule.given(), out, ctx.warnings)
        .map_err(|error| generated_error(target, error))
}

/// What the client sees of an error of a generated column's expression: of a functional key part it names the index.
#[cold]
fn generated_error(target: Target<'_>, error: Box<SqlError>) -> Box<SqlError> {
    let Target { definition, ordinal, row, .. } = target;
    let over = |index: &&IndexDefinition| index.parts.iter().any(|part| part.column == ordinal);
    let index =
        definition.columns[ordinal].is_hidden().then(|| definition.indexes.iter().find(over)).flatten();
    match (index, error.number) {
        (Some(index), 1265 | 1292 | 1406) => {
            coded(3751, &format!("Data truncated for functional index '{}' at row {row}", index.name))
        }
        (Some(index), 1264) => {
            coded(3752, &format!("Value is out of range for functional index '{}' at row {row}", index.name))
        }
        _ => error,
    }
}

/// The rules of one table, compiled.
#[derive(Debug)]
pub(super) struct Rules {
    /// `DEFAULT (expression)`, by ordinal; empty if no column has one.
    defaults: Vec<Option<Computed>>,
    /// Generated columns, in order.
    pub(super) generated: Vec<Computed>,
    /// Some default that is an expression reads a generated column.
    pub(super) defaults_read_generated: bool,
    /// Enforced CHECK constraints: their conditions.
    pub(super) checks: Vec<(Arc<str>, Computed)>,
}

/// Scratches for [`Rules`].
#[derive(Debug, Default)]
pub(super) struct RunningRules {
    defaults: Vec<Option<Running>>,
    pub(super) generated: Vec<Running>,
    pub(super) checks: Vec<Running>,
}

impl Rules {
    /// Compiles the rules. `position`: where the row's column of this ordinal stands in the input; `None`: it is not
    /// there. `default_wanted`: whether the default of this column may be asked for.
    ///
    /// # Errors
    /// 1235 for functions that do not run yet, or if a column is not there.
    pub(super) fn compile(
        entry: &Arc<TableEntry>,
        position: &dyn Fn(usize) -> Option<u32>,
        default_wanted: &dyn Fn(usize) -> bool,
    ) -> SqlResult<Rules> {
        let definition = &entry.definition;
        let compile = |ordinal: usize, text: &str| -> SqlResult<Computed> {
            let mut expr = bind(entry, text)?;
            place(&mut expr, position)?;
            let name_of = |wanted: usize| {
                let mut columns = definition.columns.iter().enumerate();
                let found = columns.find(|(ordinal, _)| position(*ordinal) == Some(wanted as u32));
                found.map_or_else(|| "?".into(), |(_, column)| column.name.clone())
            };
            Computed::new(ordinal, &expr, &name_of)
        };
        let mut rules = Rules {
            defaults: Vec::new(),
            generated: Vec::new(),
            defaults_read_generated: false,
            checks: Vec::new(),
        };
        for (ordinal, column) in definition.columns.iter().enumerate() {
            rules.defaults.push(match &column.default {
                ColumnDefault::Expression(text) if default_wanted(ordinal) => Some(compile(ordinal, text)?),
                _ => None,
            });
            if let Some(generated) = &column.generated {
                let mut made = compile(ordinal, &generated.expression)?;
                made.for_column(column);
                rules.generated.push(made);
            }
        }
        for check in definition.checks.iter().filter(|check| check.enforced) {
            rules.checks.push((check.name.clone(), compile(usize::MAX, &check.expression)?));
        }
        if rules.defaults.iter().all(Option::is_none) {
            rules.defaults.clear();
        }
        let read =
            |rule: &Computed| rules.generated.iter().any(|made| rule.reads.contains(&position(made.ordinal)));
        rules.defaults_read_generated = rules.defaults.iter().flatten().any(read);
        Ok(rules)
    }

    /// By generated column: whether its value may change when the columns at these positions of the row are written. As in 9.7 the
    /// others are not computed again.
    pub(super) fn affected(
        &self,
        entry: &TableEntry,
        mut written: Vec<u32>,
        position: &dyn Fn(usize) -> Option<u32>,
    ) -> Vec<bool> {
        // A trigger may write any column.
        let triggers = &entry.definition.triggers;
        if entry.source.row_trigger().is_some()
            || triggers.iter().any(|trigger| trigger.event == TriggerEvent::Update)
        {
            return vec![true; self.generated.len()];
        }
        let mut affected = Vec::with_capacity(self.generated.len());
        for made in &self.generated {
            let is_affected = made.reads.iter().flatten().any(|read| written.contains(read));
            if is_affected {
                written.extend(position(made.ordinal));
            }
            affected.push(is_affected);
        }
        affected
    }

    /// Whether a column's default is an expression.
    pub(super) fn has_default(&self, ordinal: usize) -> bool {
        matches!(self.defaults.get(ordinal), Some(Some(_)))
    }

    /// The expression that is a column's default, and what this execution keeps for it.
    #[inline]
    pub(super) fn default<'r>(
        &'r self,
        running: &'r mut RunningRules,
        ordinal: usize,
    ) -> Option<(&'r Computed, &'r mut Running)> {
        match (self.defaults.get(ordinal), running.defaults.get_mut(ordinal)) {
            (Some(Some(rule)), Some(Some(running))) => Some((rule, running)),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn running(&self) -> RunningRules {
        if self.defaults.is_empty() && self.generated.is_empty() && self.checks.is_empty() {
            return RunningRules::default();
        }
        RunningRules {
            defaults: self.defaults.iter().map(|rule| rule.as_ref().map(Running::new)).collect(),
            generated: self.generated.iter().map(Running::new).collect(),
            checks: self.checks.iter().map(|(_, rule)| Running::new(rule)).collect(),
        }
    }

    /// The name of the first CHECK constraint that the only row of `row` violates: whose condition is false. An unknown
    /// one holds.
    ///
    /// # Errors
    /// The client's, of an expression.
    pub(super) fn violated(
        &self,
        running: &mut RunningRules,
        row: &Batch,
        ctx: &mut EvalContext<'_>,
    ) -> SqlResult<Option<&Arc<str>>> {
        for ((name, check), running) in self.checks.iter().zip(&mut running.checks) {
            let truth = running.eval(check, row, ctx)?;
            if is_false(truth) {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }
}

/// Whether a condition is false, as a CHECK has it: an unknown one is not.
pub(super) fn is_false(truth: Cell<'_>) -> bool {
    match truth {
        Cell::Null => false,
        Cell::Int(value) => value == 0,
        Cell::Double(value) => value == 0.0,
        Cell::Decimal(value) => value.is_zero(),
        Cell::Bytes(text) => types::number::parse_double(text).value == 0.0,
    }
}

/// Makes `out` the constant default of a column, or its implicit one where MySQL has it without a word. An expression
/// is the caller's.
///
/// # Errors
/// 1364 in strict mode.
pub(super) fn put_default(
    storing: &Storing<'_>,
    target: Target<'_>,
    out: &mut Column,
    warnings: &mut crate::expr::Warnings,
) -> SqlResult<()> {
    let column = &target.definition.columns[target.ordinal];
    match &column.default {
        ColumnDefault::Literal { value, .. } => storing.put_stored(value, &column.data_type, out),
        ColumnDefault::CurrentTimestamp => storing.put_now(&column.data_type, out),
        ColumnDefault::None if has_no_default(target.definition, target.ordinal) => {
            storing.no_default(column, None, out, warnings)?;
        }
        // The first member.
        ColumnDefault::None
            if column.data_type.kind == TypeKind::Enum && !column.nullable && !column.auto_increment =>
        {
            out.clear();
            out.push_int(1);
        }
        ColumnDefault::None | ColumnDefault::Null | ColumnDefault::Expression(_) => {
            out.clear();
            out.push_null();
        }
    }
    Ok(())
}

/// A column that must be given a value. An ENUM has its first member for a default.
pub(super) fn has_no_default(definition: &catalog::TableDefinition, ordinal: usize) -> bool {
    let column = &definition.columns[ordinal];
    column.default == ColumnDefault::None
        && !column.nullable
        && !column.auto_increment
        && column.generated.is_none()
        && column.data_type.kind != TypeKind::Enum
}

/// Does an expression read a column of its input?
pub(super) fn reads_input(expr: &Expr) -> bool {
    if let ExprKind::Input(_) = expr.kind {
        return true;
    }
    let mut found = false;
    expr.each_child(&mut |child| found |= reads_input(child));
    found
}

/// Adds the positions that an expression reads of its input.
fn add_read(expr: &Expr, reads: &mut Vec<Option<u32>>) {
    if let ExprKind::Input(position) = expr.kind {
        reads.push(Some(position));
    }
    expr.each_child(&mut |child| add_read(child, reads));
}

/// Adds the CHAR columns that an expression reads of its input, with their types.
fn add_chars_read(expr: &Expr, chars: &mut Vec<(usize, DataType)>) {
    if let ExprKind::Input(position) = expr.kind
        && is_padded(&expr.data_type)
    {
        chars.push((position as usize, expr.data_type.clone()));
    }
    expr.each_child(&mut |child| add_chars_read(child, chars));
}

/// A stored expression over the columns of its table: column `i` is `Input(i)`.
pub(super) fn bind(entry: &Arc<TableEntry>, text: &str) -> SqlResult<Expr> {
    plan::bind::bind_stored(entry, text).map_err(|error| coded(error.number, &error.message))
}

/// A stored expression over the columns of a table that need not be there yet: column `i` is `Input(i)`.
///
/// # Errors
/// What is wrong with it.
pub fn bind_stored_expression(entry: &Arc<TableEntry>, text: &str) -> SqlResult<Expr> {
    bind(entry, text)
}

/// Moves the columns an expression reads to where the input has them.
pub(super) fn place(expr: &mut Expr, position: &dyn Fn(usize) -> Option<u32>) -> SqlResult<()> {
    if let ExprKind::Input(ordinal) = &mut expr.kind {
        let Some(found) = position(*ordinal as usize) else {
            return Err(coded(
                1235,
                "This version of MySQL doesn't yet support 'DEFAULT of a column whose expression reads other columns'",
            ));
        };
        *ordinal = found;
        return Ok(());
    }
    let mut result = Ok(());
    expr.each_child_mut(&mut |child| {
        if result.is_ok() {
            result = place(child, position);
        }
    });
    result
}
