//! Queries made of queries: UNION and its like, VALUES, WITH RECURSIVE.
//!
//! All sides are cast to common types below the set operation, so that above it a column has one type and its rows
//! lie in memory alike whichever side they come from.

use std::sync::Arc;

use syntax::ast::{Ident, OrderItem, Query, SetOp, ValuesRows};
use types::data_type::{SCALE_NOT_FIXED, column_flag};
use types::{DataType, TypeKind};

use super::select::BoundQuery;
use super::set_members::{Member, Recursion};
use super::temporary::TemporaryColumn;
use super::{Binder, NamedColumns};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId, StoredDigits};
use crate::logical::{Logical, OutputColumn, OutputSource};

/// The types of the columns of a set operation, if more than two members decide on them.
type CommonTypes = [(DataType, Coercibility)];

impl<'a> Binder<'a> {
    /// Binds the members of a set operation.
    pub(super) fn bound_members(
        &mut self,
        members: &[Member<'a>],
        derived: bool,
    ) -> PlanResult<Vec<BoundQuery>> {
        let mut bound: Vec<BoundQuery> = Vec::with_capacity(members.len());
        for member in members {
            let next = self.nested(|binder| binder.member(member, bound.first(), derived))?;
            bound.push(next);
        }
        Ok(bound)
    }

    /// A member of a set operation; `first`: that which names the columns, if it is another.
    fn member(
        &mut self,
        member: &Member<'a>,
        first: Option<&BoundQuery>,
        derived: bool,
    ) -> PlanResult<BoundQuery> {
        let before = self.ctes.len();
        let outcome = self.member_within(member, first, derived);
        self.leave_with(before);
        outcome
    }

    fn member_within(
        &mut self,
        member: &Member<'a>,
        first: Option<&BoundQuery>,
        derived: bool,
    ) -> PlanResult<BoundQuery> {
        for with in &member.withs {
            self.enter_with(Some(with))?;
        }
        let bound = self.body(member.body, derived)?;
        for query in &member.ends {
            for locking in query.locking {
                self.lock_tables(locking)?;
            }
        }
        for query in &member.ends {
            self.ineffective_order(query.order_by, &first.unwrap_or(&bound).output, derived)?;
        }
        Ok(bound)
    }

    /// An ORDER BY that orders nothing: its columns and functions need not exist, but the tables of its subqueries.
    fn ineffective_order(
        &mut self,
        order_by: &'a [OrderItem<'a>],
        output: &[OutputColumn],
        derived: bool,
    ) -> PlanResult<()> {
        for item in order_by {
            let blocks = self.blocks.len();
            let ctes = self.ctes.len();
            let depth = self.view_depth;
            let last_block = self.last_block.take();
            self.blocks.push(Self::derived_block(derived));
            let missing_column = self.missing_column.take();
            let outcome = self.order_over_output(std::slice::from_ref(item), output);
            self.blocks.truncate(blocks);
            self.leave_with(ctes);
            self.view_depth = depth;
            self.last_block = last_block;
            if self.missing_table.borrow().is_some() {
                outcome?;
            }
            // Any other error is of a name or value that nothing asks for.
            self.missing_column = missing_column;
        }
        Ok(())
    }

    /// A set operation of several members: a UNION as a balanced tree, which gives the same rows; others one after the other.
    pub(super) fn set_operation(
        &mut self,
        op: SetOp,
        all: bool,
        members: Vec<BoundQuery>,
    ) -> PlanResult<BoundQuery> {
        let width = members.first().map_or(0, |member| member.output.len());
        let mut types = Vec::new();
        if members.len() > 2 && members.iter().all(|member| member.output.len() == width) {
            for position in 0..width {
                let column = |member: &BoundQuery| self.member_column(member.output[position].id);
                let columns: Vec<Expr> = members.iter().map(column).collect();
                let columns: Vec<&Expr> = columns.iter().collect();
                types.push(function::common_type(&columns, &self.types)?);
            }
        }
        let types = (!types.is_empty()).then_some(&types[..]);
        if op == SetOp::Union {
            return self.balanced(all, members, types);
        }
        let mut members = members.into_iter();
        let first = members.next().ok_or_else(|| PlanError::new(1105, "Unknown error"))?;
        members.try_fold(first, |left, right| self.set_op(op, all, left, right, types))
    }

    fn balanced(
        &mut self,
        all: bool,
        mut members: Vec<BoundQuery>,
        types: Option<&CommonTypes>,
    ) -> PlanResult<BoundQuery> {
        if members.len() > 2 {
            let right = members.split_off(members.len().div_ceil(2));
            let left = self.balanced(all, members, types)?;
            let right = self.balanced(all, right, types)?;
            return self.set_op(SetOp::Union, all, left, right, types);
        }
        let right = members.pop();
        match (members.pop(), right) {
            (Some(left), Some(right)) => self.set_op(SetOp::Union, all, left, right, types),
            (None, Some(only)) => Ok(only),
            _ => Err(PlanError::new(1105, "Unknown error")),
        }
    }

    /// UNION and its like of two: these types or common ones, names of the left side.
    fn set_op(
        &mut self,
        op: SetOp,
        all: bool,
        mut left: BoundQuery,
        mut right: BoundQuery,
        types: Option<&CommonTypes>,
    ) -> PlanResult<BoundQuery> {
        if left.output.len() != right.output.len() {
            return Err(PlanError::new(
                1222,
                "The used SELECT statements have a different number of columns",
            ));
        }
        let mut output = Vec::with_capacity(left.output.len());
        let mut casts: [Vec<(ColumnId, Expr)>; 2] = [Vec::new(), Vec::new()];
        let mut sides: [Vec<ColumnId>; 2] = [Vec::new(), Vec::new()];
        let pads = self.session.pads_chars();
        for (position, (left_column, right_column)) in left.output.iter().zip(&right.output).enumerate() {
            let mut exprs = [self.member_column(left_column.id), self.member_column(right_column.id)];
            let (data_type, coercibility) = match types.and_then(|types| types.get(position)) {
                Some(common) => common.clone(),
                None => function::common_type(&[&exprs[0], &exprs[1]], &self.types)?,
            };
            if data_type.is_string() {
                // Among texts what COALESCE and its like make of BIT values is a number.
                exprs = [self.column_expr(left_column.id), self.column_expr(right_column.id)];
            }
            let nullable = match op {
                SetOp::Union => exprs.iter().any(|expr| expr.nullable),
                SetOp::Except => exprs[0].nullable,
                SetOp::Intersect => exprs.iter().all(|expr| expr.nullable),
            };
            if data_type.kind == TypeKind::Decimal {
                for (member, expr) in [&mut left.plan, &mut right.plan].into_iter().zip(&exprs) {
                    if let Some(item) = expr.as_column().and_then(|id| item_of(member, id)) {
                        function::keep_all_digits(item);
                    }
                }
            }
            for (side, expr) in exprs.into_iter().enumerate() {
                let is_stored =
                    expr.as_column().is_some_and(|id| self.columns[id.0 as usize].origin.is_some());
                let fills = fills(&expr.data_type, &data_type, is_stored, pads);
                // The year of a date may be none that a YEAR holds.
                let is_year_of_date =
                    data_type.kind == TypeKind::Year && expr.data_type.kind == TypeKind::Year && !is_stored;
                if same_shape(&expr.data_type, &data_type) && !fills && !is_year_of_date {
                    sides[side].push(expr.as_column().unwrap_or(left_column.id));
                } else {
                    let mut expr = expr;
                    let member = if side == 0 { &mut left.plan } else { &mut right.plan };
                    let item = expr.as_column().and_then(|id| item_of(member, id));
                    let is_computed = item.as_ref().is_some_and(|item| {
                        matches!(item.kind, ExprKind::Call { .. } | ExprKind::Case { .. })
                    });
                    let digits = match item {
                        Some(item) if data_type.is_string() => function::keep_stored_scale(item),
                        _ => StoredDigits::OfType,
                    };
                    if data_type.is_string() {
                        function::convert_to_set(&mut expr, data_type.collation)?;
                    }
                    let mut cast = if is_year_of_date {
                        self.stored_year(expr, &data_type)?
                    } else if data_type.is_temporal() {
                        super::stored::in_set(expr, member, &data_type)
                    } else {
                        stored(expr, &data_type, is_computed)
                    };
                    let cut = match digits {
                        StoredDigits::OfType => None,
                        StoredDigits::SixOrNone => Some((FunctionId::RTrim, text(NO_FRACTION, &data_type))),
                        StoredDigits::None => Some((FunctionId::Left, Expr::int(DATETIME_CHARS))),
                        StoredDigits::Within(chars) => Some((FunctionId::Left, Expr::int(i64::from(chars)))),
                    };
                    if let Some((function, arg)) = cut {
                        let cut = self.call(function, vec![cast, arg])?;
                        cast = Expr { data_type: data_type.clone(), ..cut };
                    }
                    if fills && data_type.kind == TypeKind::Char {
                        let length = Expr::int(i64::from(data_type.length));
                        let filler = if data_type.is_binary_string() { b"\0" } else { b" " };
                        let args = vec![cast, length, text(filler, &data_type)];
                        let padded = self.call(FunctionId::Rpad, args)?;
                        cast = Expr { data_type: data_type.clone(), ..padded };
                    }
                    let id = self.new_column(&left_column.name, data_type.clone(), nullable);
                    casts[side].push((id, cast));
                    sides[side].push(id);
                }
            }
            let id = self.new_column(&left_column.name, data_type.clone(), nullable);
            self.columns[id.0 as usize].coercibility = Some(coercibility);
            let mut column = self.plain_output(id, left_column.name.clone(), data_type, nullable);
            // Texts of columns stay what they are.
            if matches!(column.data_type.kind, TypeKind::VarChar | TypeKind::Null) {
                super::temporary::store_text(&mut column.data_type);
            }
            if !nullable && column.data_type.has_date() && self.types.is_strict {
                // The zero date cannot be the default of a DATE or DATETIME that is not NULL.
                column.flags |= column_flag::NO_DEFAULT_VALUE;
            }
            output.push(OutputColumn { source: OutputSource::SetOperation, ..column });
        }
        let [left_casts, right_casts] = casts;
        let [left_columns, right_columns] = sides;
        let project = |input: Logical, items: Vec<(ColumnId, Expr)>| {
            if items.is_empty() { input } else { Logical::Project { input: Box::new(input), items } }
        };
        let mut outer = std::mem::take(&mut left.outer);
        for id in std::mem::take(&mut right.outer) {
            if !outer.contains(&id) {
                outer.push(id);
            }
        }
        let plan = Logical::SetOp {
            op,
            all,
            left: Box::new(project(left.plan, left_casts)),
            left_columns,
            right: Box::new(project(right.plan, right_casts)),
            right_columns,
            columns: output.iter().map(|column: &OutputColumn| column.id).collect(),
        };
        Ok(BoundQuery { plan, output, outer })
    }

    /// A year, or 0 where it is out of the range of the type YEAR.
    fn stored_year(&mut self, year: Expr, to: &DataType) -> PlanResult<Expr> {
        let is_early = self.call(FunctionId::Lt, vec![year.clone(), Expr::int(1901)])?;
        let is_late = self.call(FunctionId::Gt, vec![year.clone(), Expr::int(2155)])?;
        let is_none = self.call(FunctionId::Or, vec![is_early, is_late])?;
        let chosen = self.call(FunctionId::If, vec![is_none, Expr::int(0), year])?;
        Ok(Expr { data_type: to.clone(), ..chosen })
    }

    /// A column of a member of a set operation.
    fn member_column(&self, id: ColumnId) -> Expr {
        let column = self.column_expr(id);
        match self.columns[id.0 as usize].bits {
            Some(bits) => Expr { data_type: DataType::bit(bits), ..column },
            None => column,
        }
    }

    /// `VALUES ROW(..), ..` as a query.
    pub(super) fn values(&mut self, values: &'a ValuesRows<'a>, derived: bool) -> PlanResult<BoundQuery> {
        if let Some(row) = values.ragged_row {
            return Err(PlanError::new(
                1136,
                format!("Column count doesn't match value count at row {}", row + 1),
            ));
        }
        self.blocks.push(Self::derived_block(derived));
        let mut rows: Vec<Vec<Expr>> = Vec::new();
        let mut outcome = Ok(());
        'rows: for row in 0..values.row_count {
            let mut cells = Vec::new();
            for cell in values.row(row) {
                match self.values_cell(values, cell) {
                    Ok(Some(expr)) => cells.push(expr),
                    Ok(None) => {
                        outcome = Err(PlanError::new(
                            3943,
                            "A VALUES clause cannot use DEFAULT values, unless used as a source in an INSERT statement.",
                        ));
                        break 'rows;
                    }
                    Err(error) => {
                        outcome = Err(error);
                        break 'rows;
                    }
                }
            }
            rows.push(cells);
        }
        let block = self.blocks.pop();
        outcome?;
        let mut output = Vec::new();
        for position in 0..values.column_count as usize {
            let cells: Vec<&Expr> = rows.iter().map(|row| &row[position]).collect();
            let (data_type, coercibility) = function::common_type(&cells, &self.types)?;
            let nullable = cells.iter().any(|cell| cell.nullable);
            for row in &mut rows {
                if !same_shape(&row[position].data_type, &data_type) {
                    let cell = std::mem::replace(&mut row[position], Expr::null());
                    row[position] = function::build_typed(
                        FunctionId::Cast,
                        vec![cell],
                        data_type.clone(),
                        CallOption::None,
                        &self.types,
                    )?;
                }
            }
            let name: Arc<str> = format!("column_{position}").into();
            let id = self.new_column(&name, data_type.clone(), nullable);
            self.columns[id.0 as usize].coercibility = Some(coercibility);
            output.push(self.plain_output(id, name, data_type, nullable));
        }
        let columns = output.iter().map(|column| column.id).collect();
        let outer = block.map(|block| block.outer).unwrap_or_default();
        Ok(BoundQuery { plan: Logical::Values { columns, rows }, output, outer })
    }

    /// WITH RECURSIVE: a seed, then steps that read the rows of the step before.
    pub(crate) fn recursive_cte(
        &mut self,
        position: usize,
        query: &'a Query<'a>,
        names: &'a [Ident<'a>],
    ) -> PlanResult<(Logical, NamedColumns)> {
        let recursion = Recursion::of(query, self.ctes[position].name)?;
        let before = self.ctes.len();
        let outcome = self.recursion(position, recursion, names);
        self.leave_with(before);
        outcome
    }

    fn recursion(
        &mut self,
        position: usize,
        Recursion { seeds, steps, distinct, withs, limits }: Recursion<'a>,
        names: &'a [Ident<'a>],
    ) -> PlanResult<(Logical, NamedColumns)> {
        for with in withs {
            self.enter_with(Some(with))?;
        }
        let mut seed = match &seeds[..] {
            [only] => self.member(only, None, true)?,
            _ => {
                let bound = self.bound_members(&seeds, true)?;
                self.set_operation(SetOp::Union, !distinct, bound)?
            }
        };
        for column in &mut seed.output {
            // As the rows of a UNION are.
            column.source = OutputSource::SetOperation;
        }
        self.materialize_derived(&seed.plan, &seed.outer, &mut seed.output);
        let named = super::from::rename(&seed.output, names)?;
        let mut columns = Vec::new();
        for (column, (name, _)) in seed.output.iter().zip(&named) {
            let seed = &self.columns[column.id.0 as usize];
            let (data_type, coercibility) = (seed.data_type.clone(), seed.coercibility);
            let id = self.new_column(name, data_type, true);
            self.columns[id.0 as usize].coercibility = coercibility;
            self.materialized_columns.insert(id);
            let held = self.temporary_columns.get(&column.id).cloned();
            self.temporary_columns.extend(held.map(|held| (id, TemporaryColumn { flags: 0, ..held })));
            columns.push((name.clone(), id));
        }
        let recursion = self.recursion_count;
        self.recursion_count += 1;
        self.ctes[position].working = Some((recursion, columns.clone()));
        let name = super::utf8(self.ctes[position].name);
        let bound = steps.iter().map(|step| self.step(step, &columns, &name)).collect::<PlanResult<Vec<_>>>();
        self.ctes[position].working = None;
        let (step, step_columns) = self.all_of_steps(bound?, &columns);
        let mut plan = Logical::Recursive {
            recursion,
            seed_columns: seed.output.iter().map(|column| column.id).collect(),
            seed: Box::new(seed.plan),
            step: Box::new(step),
            step_columns,
            distinct,
            columns: columns.iter().map(|(_, id)| *id).collect(),
        };
        for limit in limits.into_iter().rev() {
            plan = self.limit(plan, Some(limit))?;
        }
        Ok((plan, columns))
    }

    /// A member that reads the rows of the step before. The seed's types hold; its rows are cast to them.
    fn step(
        &mut self,
        member: &Member<'a>,
        columns: &NamedColumns,
        name: &str,
    ) -> PlanResult<(Logical, Vec<ColumnId>)> {
        let mut step = self.member(member, None, true)?;
        if self.last_block.as_ref().is_some_and(|block| block.has_windows) {
            return Err(PlanError::new(
                3575,
                format!(
                    "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in \
                     recursive query block"
                ),
            ));
        }
        if step.output.len() != columns.len() {
            return Err(PlanError::new(
                1222,
                "The used SELECT statements have a different number of columns",
            ));
        }
        let mut items = Vec::new();
        let mut step_columns = Vec::new();
        for (column, (name, id)) in step.output.iter().zip(columns) {
            let wanted = self.columns[id.0 as usize].data_type.clone();
            if same_shape(&column.data_type, &wanted) {
                step_columns.push(column.id);
            } else {
                let args = vec![self.column_expr(column.id)];
                let cast = function::build_typed(
                    FunctionId::Cast,
                    args,
                    wanted.clone(),
                    CallOption::None,
                    &self.types,
                )?;
                let cast_id = self.new_column(name, wanted, true);
                items.push((cast_id, cast));
                step_columns.push(cast_id);
            }
        }
        if !items.is_empty() {
            step.plan = Logical::Project { input: Box::new(step.plan), items };
        }
        Ok((step.plan, step_columns))
    }

    /// The rows of all members of a step, one after the other.
    fn all_of_steps(
        &mut self,
        mut steps: Vec<(Logical, Vec<ColumnId>)>,
        columns: &NamedColumns,
    ) -> (Logical, Vec<ColumnId>) {
        while steps.len() > 1 {
            let mut pairs = Vec::with_capacity(steps.len().div_ceil(2));
            let mut rest = steps.into_iter();
            while let Some(left) = rest.next() {
                let Some(right) = rest.next() else {
                    pairs.push(left);
                    break;
                };
                let ids = columns.iter().map(|(name, id)| {
                    let data_type = self.columns[id.0 as usize].data_type.clone();
                    self.new_column(name, data_type, true)
                });
                let ids: Vec<ColumnId> = ids.collect();
                let both = Logical::SetOp {
                    op: SetOp::Union,
                    all: true,
                    left: Box::new(left.0),
                    left_columns: left.1,
                    right: Box::new(right.0),
                    right_columns: right.1,
                    columns: ids.clone(),
                };
                pairs.push((both, ids));
            }
            steps = pairs;
        }
        steps.pop().unwrap_or((Logical::OneRow, Vec::new()))
    }
}

/// A literal beside texts of this type.
fn text(bytes: &[u8], beside: &DataType) -> Expr {
    Expr::literal(types::Value::Bytes { bytes: bytes.into(), collation: beside.collation })
}

/// What a time without a fraction has more than MySQL stores of it.
const NO_FRACTION: &[u8] = b".000000";
/// Characters of a DATETIME without a fraction.
const DATETIME_CHARS: i64 = 19;

/// The expression that a member of a set operation computes a column by.
fn item_of(member: &mut Logical, column: ColumnId) -> Option<&mut Expr> {
    match member {
        Logical::Project { input, items } => match items.iter().position(|(id, _)| *id == column) {
            Some(position) => Some(&mut items[position].1),
            None => item_of(input, column),
        },
        Logical::Limit { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Distinct { input, .. } => item_of(input, column),
        _ => None,
    }
}

/// Where CHAR values are padded (`pads`), as those of BINARY always are: a value, unless a column's (`is_stored`) that is as long, is
/// filled up to the length of the set operation's, and in a TEXT it keeps its own.
fn fills(from: &DataType, to: &DataType, is_stored: bool, pads: bool) -> bool {
    if to.is_binary_string() {
        return to.kind == TypeKind::Char && !is_stored;
    }
    if !pads {
        return false;
    }
    match (from.kind, to.kind) {
        (TypeKind::Char, TypeKind::Char) => from.length != to.length || !is_stored,
        (TypeKind::Char, _) | (_, TypeKind::Char) => true,
        _ => false,
    }
}

/// A column's value as one of `to`, the type of the set operation's column. `is_computed`: its member computes it.
fn stored(expr: Expr, to: &DataType, is_computed: bool) -> Expr {
    // A longer text lies in a TEXT there.
    let is_char = match to.kind {
        TypeKind::Char => true,
        TypeKind::VarChar => to.length <= super::temporary::VARCHAR_CHARS_MAX,
        _ => false,
    };
    if !is_char {
        // BIT values that are computed are numbers in a TEXT, FLOAT values have the digits of a DOUBLE.
        let number = match expr.data_type.kind {
            TypeKind::Bit => Some(DataType::BIGINT_UNSIGNED),
            TypeKind::Float if expr.data_type.scale == SCALE_NOT_FIXED => Some(DataType::DOUBLE),
            _ => None,
        };
        let expr = match number.filter(|_| is_computed && to.is_string()) {
            Some(number) => function::cast(expr, number),
            None => expr,
        };
        return function::cast(expr, to.clone());
    }
    // MySQL fills the set operation's rows with the numbers that YEAR and FLOAT are.
    let expr = match expr.data_type.kind {
        TypeKind::Year => function::cast(expr, DataType::BIGINT_UNSIGNED),
        TypeKind::Float if expr.data_type.scale == SCALE_NOT_FIXED => function::cast(expr, DataType::DOUBLE),
        _ => expr,
    };
    let mut cast = function::cast(expr, to.clone());
    if let ExprKind::Call { function: FunctionId::Cast, option, .. } = &mut cast.kind {
        *option = CallOption::Stored;
    }
    cast
}

/// Values of both types lie in memory alike and compare alike.
pub(crate) fn same_shape(a: &DataType, b: &DataType) -> bool {
    if a.kind == TypeKind::Null || b.kind == TypeKind::Null {
        return a.kind == b.kind;
    }
    if a.physical() != b.physical() {
        return false;
    }
    match a.physical() {
        types::Physical::Int => {
            if a.is_temporal() || b.is_temporal() {
                a.is_temporal() && (a.kind == b.kind || (a.has_date() && b.has_date() && a.scale <= b.scale))
            } else if a.members.is_some() || b.members.is_some() || is_bit(a) || is_bit(b) {
                a == b
            } else {
                a.unsigned == b.unsigned
            }
        }
        types::Physical::Double => true,
        types::Physical::Decimal => a.scale == b.scale,
        // BINARY fills up with zero bytes.
        types::Physical::Bytes if b.kind == TypeKind::Char && b.is_binary_string() => {
            a.kind == b.kind && a.collation == b.collation && a.length == b.length
        }
        types::Physical::Bytes => {
            (a.kind == TypeKind::Json) == (b.kind == TypeKind::Json)
                && a.collation.charset() == b.collation.charset()
        }
    }
}

fn is_bit(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::Bit
}
