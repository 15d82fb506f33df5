//! What a table's definition asks of each row: defaults, generated columns, CHECK constraints.
//!
//! Their expressions are kept as canonical text; they are parsed, bound and compiled when a plan is prepared.

use std::sync::Arc;

use catalog::{Catalog, ColumnDefault, TableEntry};
use plan::error::{PlanError, PlanResult};
use plan::function::{FunctionId, TypeContext};
use plan::{Expr, ExprKind};
use syntax::SqlMode;
use types::convert::{Given, Origin};
use types::{Batch, Cell, CollationId, Column, DataType, TypeKind, Value};

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
        Ok(Computed {
            ordinal,
            program,
            data_type: expr.data_type.clone(),
            is_column,
            name,
            chars: chars.into(),
        })
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

/// The rules of one table, compiled.
#[derive(Debug)]
pub(super) struct Rules {
    /// `DEFAULT (expression)`, by ordinal; empty if no column has one.
    defaults: Vec<Option<Computed>>,
    /// Generated columns, in order.
    pub(super) generated: Vec<Computed>,
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
        let mut rules = Rules { defaults: Vec::new(), generated: Vec::new(), checks: Vec::new() };
        for (ordinal, column) in definition.columns.iter().enumerate() {
            rules.defaults.push(match &column.default {
                ColumnDefault::Expression(text) if default_wanted(ordinal) => Some(compile(ordinal, text)?),
                _ => None,
            });
            if let Some(generated) = &column.generated {
                rules.generated.push(compile(ordinal, &generated.expression)?);
            }
        }
        for check in definition.checks.iter().filter(|check| check.enforced) {
            rules.checks.push((check.name.clone(), compile(usize::MAX, &check.expression)?));
        }
        if rules.defaults.iter().all(Option::is_none) {
            rules.defaults.clear();
        }
        Ok(rules)
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
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse_expr(text.as_bytes(), &arena, SqlMode::default())
        .map_err(|error| coded(error.number, &error.message))?;
    let session = StoredText { collation: entry.definition.collation };
    plan::bind::bind_over_table(&parsed, text.as_bytes(), entry, &Catalog::new(), &session)
        .map_err(|error| coded(error.number, &error.message))
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

/// Stored expressions depend on no session: their text says everything.
struct StoredText {
    collation: CollationId,
}

impl plan::bind::Session for StoredText {
    fn database(&self) -> Option<&str> {
        None
    }

    fn connection_collation(&self) -> CollationId {
        self.collation
    }

    fn only_full_group_by(&self) -> bool {
        true
    }

    fn type_context(&self) -> TypeContext {
        TypeContext { connection_collation: self.collation, ..TypeContext::default() }
    }

    fn system_variable(&self, _scope: syntax::ast::VarScope, name: &str) -> PlanResult<Value> {
        Err(PlanError::new(3772, format!("Default value expression cannot refer to variable '{name}'")))
    }

    fn user_variable(&self, _name: &str) -> Option<DataType> {
        None
    }
}
