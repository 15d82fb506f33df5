//! OVER: window functions, the windows they name, frames; what may stand where.
//!
//! A function becomes a column that a [`Logical::Window`] makes above the block's groups and HAVING, below its select list. Windows that have the
//! same partitions and order share that node.
//!
//! Invariants:
//! 1. Partitions, orders and arguments read what the block's rows or groups have, never the value of another window function.
//! 2. Of windows of which one's keys begin the other's, the longer stands below the other: its order serves both.

use std::sync::Arc;

use catalog::names_equal;
use syntax::ast::{self, FrameUnit, Ident, IntervalUnit, OrderItem, Over};
use types::{DataType, Value};

use super::first_error::HeldError;
use super::scope::AliasRule;
use super::select::position_of;
use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, ColumnId, Expr, ExprKind};
use crate::function::{self, FunctionId, Typed};
use crate::logical::{Frame, FrameBound, Logical, SortKey, WindowCall, WindowFunction};

/// The windows that a WINDOW clause names.
pub(super) type WindowClause<'a> = &'a [(Ident<'a>, ast::WindowSpec<'a>)];

/// Most windows one query block may have (MySQL's limit).
const WINDOWS_MAX: usize = 127;

/// What messages call a window that is written in place.
const UNNAMED: &str = "<unnamed window>";

/// A window of a query block with its functions.
#[derive(Clone)]
pub(crate) struct BoundWindow {
    /// Its name in the WINDOW clause.
    name: Option<Arc<str>>,
    pub(crate) partition: Vec<Expr>,
    pub(crate) order: Vec<SortKey>,
    frame: Frame,
    pub(crate) calls: Vec<(ColumnId, WindowCall)>,
}

impl BoundWindow {
    pub(crate) fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or(UNNAMED)
    }

    /// Whether it has the same partitions and the same order.
    fn has_rows_of(&self, other: &BoundWindow) -> bool {
        self.partition == other.partition && self.order == other.order
    }

    /// Whether one of its functions makes this column.
    pub(crate) fn makes(&self, id: ColumnId) -> bool {
        self.calls.iter().any(|(other, _)| *other == id)
    }

    /// What its rows are sorted by.
    fn keys(&self) -> Vec<SortKey> {
        let partition = self.partition.iter().map(|expr| SortKey { expr: expr.clone(), descending: false });
        partition.chain(self.order.iter().cloned()).collect()
    }

    /// Its own expressions and those of its functions.
    pub(crate) fn each_expr(&self, visit: &mut dyn FnMut(&Expr)) {
        self.partition.iter().for_each(&mut *visit);
        self.order.iter().for_each(|key| visit(&key.expr));
        self.calls.iter().flat_map(|(_, call)| call.exprs()).for_each(visit);
    }
}

/// 3594.
pub(super) fn alias_of_window(name: &str) -> Box<PlanError> {
    PlanError::new(
        3594,
        format!(
            "You cannot use the alias '{name}' of an expression containing a window function in this context.'"
        ),
    )
}

/// 1210.
fn wrong_arguments(function: WindowFunction) -> Box<PlanError> {
    PlanError::new(1210, format!("Incorrect arguments to {}", function.name()))
}

/// 3586.
fn bad_bound(window: &str) -> Box<PlanError> {
    PlanError::new(
        3586,
        format!("Window '{window}': frame start or end is negative, NULL or of non-integral type"),
    )
}

/// Whether a number known now may be a count of rows that is at least `least`; a number that is known later may.
fn may_be_count(expr: &Expr, least: i64) -> bool {
    match expr.as_literal() {
        Some(Value::Int(value)) => *value >= least,
        Some(_) => false,
        None => true,
    }
}

impl<'a> Binder<'a> {
    /// A function that needs OVER.
    pub(super) fn window_call(&mut self, call: &'a ast::WindowCall<'a>) -> PlanResult<Expr> {
        let function = WindowFunction::from(call.func);
        self.require_window_place(function.name())?;
        if call.ignore_nulls {
            return Err(PlanError::not_supported("IGNORE NULLS"));
        }
        if call.from_last {
            return Err(PlanError::not_supported("FROM LAST"));
        }
        self.require_declared(function, call.args)?;
        let mut args = self.window_args(|binder| binder.exprs(call.args))?;
        self.check_numbers(function, call.args, &mut args)?;
        let typed = self.window_type(function, &mut args)?;
        if matches!(function, WindowFunction::Lag | WindowFunction::Lead) && args.len() == 1 {
            args.push(Expr::literal(Value::Int(1)));
        }
        self.add_window_call(function, args, typed, call.over)
    }

    /// An aggregate with OVER.
    pub(super) fn window_aggregate(
        &mut self,
        aggregate: &'a ast::Aggregate<'a>,
        over: &'a Over<'a>,
    ) -> PlanResult<Expr> {
        use ast::AggregateFunc as A;
        let name = super::expr::aggregate_name(aggregate.func);
        self.require_window_place(name)?;
        if aggregate.distinct {
            return Err(PlanError::not_supported("<window function>(DISTINCT ..)"));
        }
        if aggregate.func == A::GroupConcat {
            return Err(PlanError::not_supported("group_concat as window function"));
        }
        let (mut args, _) = self.window_args(|binder| binder.aggregate_args(aggregate))?;
        let mut typed = function::aggregate_type(aggregate.func, &mut args, &self.types)?;
        if matches!(aggregate.func, A::BitAnd | A::BitOr | A::BitXor) && typed.data_type.is_string() {
            // MySQL keeps a byte more.
            typed.data_type.length += 1;
        }
        self.add_window_call(WindowFunction::Aggregate(aggregate.func.into()), args, typed, over)
    }

    /// Refuses a window function where none may stand.
    ///
    /// # Errors
    /// 3593, 3595.
    fn require_window_place(&mut self, name: &str) -> PlanResult<()> {
        if let Some(window) = &self.window_specification
            && self.specification_depth == self.blocks.len()
        {
            let text =
                format!("You cannot nest a window function in the specification of window '{window}'.");
            return Err(PlanError::new(3595, text));
        }
        let block = self.block();
        if block.windows_allowed && !block.in_aggregate {
            return Ok(());
        }
        Err(PlanError::new(3593, format!("You cannot use the window function '{name}' in this context.'")))
    }

    /// Binds arguments, which hold no window function.
    fn window_args<R>(&mut self, bind: impl FnOnce(&mut Self) -> PlanResult<R>) -> PlanResult<R> {
        self.block().windows_allowed = false;
        let bound = bind(self);
        self.block().windows_allowed = true;
        bound
    }

    /// A name that stands for a number is a variable's.
    ///
    /// # Errors
    /// 1327.
    fn require_declared(&mut self, function: WindowFunction, args: &[ast::Expr<'_>]) -> PlanResult<()> {
        let number = match function {
            WindowFunction::Ntile => args.first(),
            WindowFunction::Lag | WindowFunction::Lead => args.get(1),
            _ => None,
        };
        match number.map(|number| &number.kind) {
            Some(ast::ExprKind::Column(column)) if self.local_variable(column.name.text).is_none() => {
                Err(PlanError::new(1327, format!("Undeclared variable: {}", utf8(column.name.text))))
            }
            _ => Ok(()),
        }
    }

    /// The number of buckets, of rows, or of the row in the frame.
    fn check_numbers(
        &mut self,
        function: WindowFunction,
        written: &[ast::Expr<'_>],
        args: &mut [Expr],
    ) -> PlanResult<()> {
        let (at, least) = match function {
            WindowFunction::Ntile => (0, 1),
            WindowFunction::NthValue => (1, 1),
            WindowFunction::Lag | WindowFunction::Lead => (1, 0),
            _ => return Ok(()),
        };
        let Some(number) = args.get_mut(at) else { return Ok(()) };
        self.with_types(std::slice::from_mut(number), |args| {
            args.iter_mut().for_each(|arg| function::derive_count(arg, &self.types));
        });
        self.note_count(&written[at], number);
        let is_known =
            !number.any(&mut |node| matches!(node.kind, ExprKind::Column(_) | ExprKind::Subquery(_)));
        if !is_known || !may_be_count(number, least) {
            return Err(wrong_arguments(function));
        }
        Ok(())
    }

    /// Notes a parameter that is a number of rows.
    fn note_count(&mut self, written: &ast::Expr<'_>, count: &Expr) {
        if let (ast::ExprKind::Param(_), ExprKind::Param(ordinal)) = (&written.kind, &count.kind) {
            self.limit_parameters.push(*ordinal);
            self.count_parameters.push(*ordinal);
        }
    }

    /// Members of ENUM and SET are texts to window functions.
    fn texts_of_members(&self, values: &mut [Expr]) -> PlanResult<()> {
        for value in values.iter_mut().filter(|value| value.data_type.members.is_some()) {
            let to = DataType::char(value.data_type.length, value.data_type.collation);
            let member = std::mem::replace(value, Expr::null());
            *value =
                function::build_typed(FunctionId::Cast, vec![member], to, CallOption::None, &self.types)?;
        }
        Ok(())
    }

    fn window_type(&self, function: WindowFunction, args: &mut Vec<Expr>) -> PlanResult<Typed> {
        use WindowFunction as W;
        let number =
            |data_type: DataType| Typed { data_type, nullable: false, coercibility: Coercibility::Numeric };
        Ok(match function {
            W::RowNumber | W::Rank | W::DenseRank | W::Ntile => {
                number(DataType { length: super::expr::INTEGER_CAST_WIDTH, ..DataType::BIGINT_UNSIGNED })
            }
            W::PercentRank | W::CumeDist => number(DataType::DOUBLE),
            W::Lag | W::Lead => {
                let count = (args.len() > 1).then(|| args.remove(1));
                self.texts_of_members(args)?;
                let typed = function::one_type(args, function.name(), &self.types)?;
                let nullable = typed.nullable || args.len() == 1;
                args.splice(1..1, count);
                Typed { nullable, ..typed }
            }
            W::FirstValue | W::LastValue | W::NthValue => {
                self.texts_of_members(&mut args[..1])?;
                let typed = function::one_type(&mut args[..1], function.name(), &self.types)?;
                Typed { nullable: true, ..typed }
            }
            W::Aggregate(_) => number(DataType::NULL),
        })
    }

    /// The column of a function over a window.
    fn add_window_call(
        &mut self,
        function: WindowFunction,
        args: Vec<Expr>,
        typed: Typed,
        over: &'a Over<'a>,
    ) -> PlanResult<Expr> {
        let at = self.window(over)?;
        let window = &self.block().windows[at];
        let frame = if function.has_frame() { window.frame.clone() } else { Frame::whole() };
        let call = WindowCall {
            function,
            args,
            frame,
            window: window.shown_name().into(),
            data_type: typed.data_type.clone(),
            nullable: typed.nullable,
        };
        let is_repeatable = call.exprs().all(crate::rewrite::is_repeatable);
        if let Some((id, _)) = window.calls.iter().find(|(_, other)| is_repeatable && *other == call) {
            let id = *id;
            return Ok(self.column_expr(id));
        }
        let id = self.new_column(&function.name().into(), typed.data_type, typed.nullable);
        self.columns[id.0 as usize].coercibility = Some(typed.coercibility);
        self.block().windows[at].calls.push((id, call));
        Ok(self.column_expr(id))
    }

    /// The WINDOW clause of the block that is bound.
    fn window_clause(&self) -> WindowClause<'a> {
        let depth = self.blocks.len();
        self.window_clauses.iter().rev().find(|(of, _)| *of == depth).map_or(&[][..], |(_, clause)| clause)
    }

    /// Takes the WINDOW clause of a block that begins.
    pub(super) fn enter_windows(&mut self, clause: WindowClause<'a>) {
        let depth = self.blocks.len();
        self.window_clauses.retain(|(of, _)| *of < depth);
        self.window_clauses.push((depth, clause));
        self.block().written_windows = clause.len();
    }

    /// Binds the windows of the WINDOW clause that no function uses, for their errors.
    ///
    /// # Errors
    /// 4086 too many windows; those of a window.
    pub(super) fn bind_unused_windows(&mut self) -> PlanResult<()> {
        let written = self.block().written_windows;
        if written > WINDOWS_MAX {
            return Err(PlanError::new(
                4086,
                format!(
                    "Too many windows in SELECT: {written}. Maximum allowed is {WINDOWS_MAX}. Use named windows to share \
                     windows between window functions."
                ),
            ));
        }
        for (position, (name, _)) in self.window_clause().iter().enumerate() {
            let written = utf8(name.text);
            let is_it = |(other, _): &(Ident<'_>, _)| names_equal(&utf8(other.text), &written);
            if self.window_clause()[..position].iter().any(is_it) {
                let (_, held) = self.hold(|_| -> PlanResult<()> {
                    Err(PlanError::new(3591, format!("Window '{written}' is defined twice.")))
                })?;
                self.hold_window(position, held);
            }
            self.named_window(name)?;
        }
        Ok(())
    }

    /// Holds what is wrong with a window, if with none before it in the WINDOW clause.
    fn hold_window(&mut self, position: usize, held: Option<HeldError>) {
        let window_error = &mut self.block().window_error;
        if let Some(held) = held
            && window_error.as_ref().is_none_or(|(other, _)| position < *other)
        {
            *window_error = Some((position, held));
        }
    }

    /// What is wrong with the block's windows.
    pub(super) fn release_windows(&mut self) -> PlanResult<()> {
        let held = self.block().window_error.take();
        self.release(held.map(|(_, held)| held))
    }

    /// The position of a window among those of the block.
    fn window(&mut self, over: &'a Over<'a>) -> PlanResult<usize> {
        match over {
            Over::Name(name) => self.named_window(name),
            Over::Spec(spec) => {
                self.block().written_windows += 1;
                let window = self.held_window(None, spec)?;
                let windows = &mut self.block().windows;
                let is_same = |other: &BoundWindow| {
                    other.name.is_none()
                        && other.partition == window.partition
                        && other.order == window.order
                        && other.frame == window.frame
                        && window.partition.iter().all(crate::rewrite::is_repeatable)
                        && window.order.iter().all(|key| crate::rewrite::is_repeatable(&key.expr))
                };
                Ok(windows.iter().position(is_same).unwrap_or_else(|| {
                    windows.push(window);
                    windows.len() - 1
                }))
            }
        }
    }

    fn named_window(&mut self, name: &Ident<'_>) -> PlanResult<usize> {
        let name = utf8(name.text);
        let is_it = |window: &BoundWindow| window.name.as_ref().is_some_and(|own| names_equal(own, &name));
        if let Some(at) = self.block().windows.iter().position(is_it) {
            return Ok(at);
        }
        let (name, spec) = self.find_named_window(&name)?;
        let window = self.held_window(Some(name), spec)?;
        let windows = &mut self.block().windows;
        windows.push(window);
        Ok(windows.len() - 1)
    }

    fn find_named_window(&self, name: &str) -> PlanResult<(Arc<str>, &'a ast::WindowSpec<'a>)> {
        let found = self.window_clause().iter().find(|(other, _)| names_equal(&utf8(other.text), name));
        match found {
            Some((name, spec)) => Ok((utf8(name.text).into(), spec)),
            None => Err(PlanError::new(3579, format!("Window name '{name}' is not defined."))),
        }
    }

    /// A window whose errors are held.
    fn held_window(
        &mut self,
        name: Option<Arc<str>>,
        spec: &'a ast::WindowSpec<'a>,
    ) -> PlanResult<BoundWindow> {
        let clause = self.window_clause();
        let position = clause.iter().position(|(_, other)| std::ptr::eq(other, spec)).unwrap_or(clause.len());
        let (window, held) = self.hold(|binder| binder.bind_window(name.clone(), spec))?;
        self.hold_window(position, held);
        Ok(window.unwrap_or_else(|| BoundWindow {
            name,
            partition: Vec::new(),
            order: Vec::new(),
            frame: Frame::whole(),
            calls: Vec::new(),
        }))
    }

    fn bind_window(
        &mut self,
        name: Option<Arc<str>>,
        spec: &'a ast::WindowSpec<'a>,
    ) -> PlanResult<BoundWindow> {
        let shown: Arc<str> = name.clone().unwrap_or_else(|| UNNAMED.into());
        let (mut partition_by, mut order_by) = (spec.partition_by, spec.order_by);
        let mut heir = spec;
        let mut seen = 0;
        while let Some(base) = &heir.base {
            let (base_name, base) = self.find_named_window(&utf8(base.text))?;
            seen += 1;
            if seen > self.window_clause().len() || name.as_ref() == Some(&base_name) {
                let text = "There is a circularity in the window dependency graph.";
                return Err(PlanError::new(3580, text));
            }
            if !heir.partition_by.is_empty() {
                let text = "A window which depends on another cannot define partitioning.";
                return Err(PlanError::new(3581, text));
            }
            if base.frame.is_some() {
                let text = format!(
                    "Window '{base_name}' has a frame definition, so cannot be referenced by another window."
                );
                return Err(PlanError::new(3582, text));
            }
            if !order_by.is_empty() && !base.order_by.is_empty() {
                let text = format!(
                    "Window '{shown}' cannot inherit '{base_name}' since both contain an ORDER BY clause."
                );
                return Err(PlanError::new(3583, text));
            }
            if order_by.is_empty() {
                order_by = base.order_by;
            }
            partition_by = base.partition_by;
            heir = base;
        }
        let block = self.block();
        let outer = (block.clause, block.alias_rule, block.windows_allowed);
        block.alias_rule = AliasRule::Never;
        let before = self.window_specification.replace(shown.clone());
        let depth = std::mem::replace(&mut self.specification_depth, self.blocks.len());
        let bound = self.bind_keys(&shown, partition_by, order_by);
        self.window_specification = before;
        self.specification_depth = depth;
        let block = self.block();
        (block.clause, block.alias_rule, block.windows_allowed) = outer;
        let (partition, order) = bound?;
        for expr in partition.iter().chain(order.iter().map(|key| &key.expr)) {
            self.refuse_outer(expr)?;
        }
        let frame = self.window_args(|binder| binder.frame(&shown, spec.frame, &order));
        self.block().windows_allowed = outer.2;
        let mut window = BoundWindow { name, partition, order, frame: frame?, calls: Vec::new() };
        window.partition.retain(|expr| !expr.is_constant());
        window.order.retain(|key| !key.expr.is_constant());
        Ok(window)
    }

    fn bind_keys(
        &mut self,
        window: &str,
        partition_by: &'a [ast::Expr<'a>],
        order_by: &'a [OrderItem<'a>],
    ) -> PlanResult<(Vec<Expr>, Vec<SortKey>)> {
        let key = |binder: &mut Self, expr: &'a ast::Expr<'a>| {
            if position_of(expr).is_some() {
                let text = format!(
                    "Window '{window}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, \
                     use expression."
                );
                return Err(PlanError::new(3592, text));
            }
            let bound = binder.expr(expr)?;
            Ok(super::stored::sorted(bound, |_| None, &Logical::OneRow))
        };
        let mut partition = Vec::new();
        self.block().clause = "window partition by";
        for expr in partition_by {
            partition.push(key(self, expr)?);
        }
        let mut order = Vec::new();
        self.block().clause = "window order by";
        for item in order_by {
            order.push(SortKey { expr: key(self, &item.expr)?, descending: item.desc == Some(true) });
        }
        Ok((partition, order))
    }

    /// # Errors
    /// 6432.
    fn refuse_outer(&mut self, expr: &Expr) -> PlanResult<()> {
        let mut outer = None;
        let block = self.block();
        expr.each_column(&mut |id| {
            if block.outer.contains(&id) {
                outer = outer.or(Some(id));
            }
        });
        match outer {
            Some(id) => Err(PlanError::new(
                6432,
                format!(
                    "Outer reference {} in window's ORDER BY or PARTITION BY clause not allowed.",
                    self.full_name(id)
                ),
            )),
            None => Ok(()),
        }
    }

    fn frame(
        &mut self,
        window: &str,
        frame: Option<&'a ast::Frame<'a>>,
        order: &[SortKey],
    ) -> PlanResult<Frame> {
        use ast::FrameBound as B;
        let Some(frame) = frame else {
            let end = if order.is_empty() { FrameBound::Unbounded } else { FrameBound::CurrentRow };
            return Ok(Frame { end, ..Frame::whole() });
        };
        if frame.unit == FrameUnit::Groups {
            return Err(PlanError::not_supported("GROUPS"));
        }
        if frame.exclusion {
            return Err(PlanError::not_supported("EXCLUDE"));
        }
        let (start, end) = (&frame.start, frame.end.as_ref().unwrap_or(&B::CurrentRow));
        if matches!(start, B::UnboundedFollowing) {
            let text = format!("Window '{window}': frame start cannot be UNBOUNDED FOLLOWING.");
            return Err(PlanError::new(3584, text));
        }
        if matches!(end, B::UnboundedPreceding) {
            let text = format!("Window '{window}': frame end cannot be UNBOUNDED PRECEDING.");
            return Err(PlanError::new(3585, text));
        }
        let is_turned = matches!(
            (start, end),
            (B::CurrentRow, B::Preceding(..)) | (B::Following(..), B::CurrentRow | B::Preceding(..))
        );
        if is_turned {
            return Err(bad_bound(window));
        }
        let is_limit = |bound: &B<'_>| matches!(bound, B::Preceding(..) | B::Following(..));
        let is_by_key = frame.unit == FrameUnit::Range && (is_limit(start) || is_limit(end));
        let key = if is_by_key { Some(Self::range_key(window, order)?) } else { None };
        let descending = is_by_key && order.first().is_some_and(|key| key.descending);
        Ok(Frame {
            counts_rows: frame.unit == FrameUnit::Rows,
            start: self.frame_bound(window, start, key.as_ref(), descending)?,
            end: self.frame_bound(window, end, key.as_ref(), descending)?,
            key,
            descending,
        })
    }

    /// The key by which RANGE looks for the rows of a frame.
    fn range_key(window: &str, order: &[SortKey]) -> PlanResult<Expr> {
        match order {
            [SortKey { expr, .. }]
                if (expr.data_type.is_numeric() || expr.data_type.is_temporal())
                    && crate::rewrite::is_repeatable(expr) =>
            {
                Ok(expr.clone())
            }
            _ => Err(PlanError::new(
                3587,
                format!(
                    "Window '{window}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one deterministic ORDER BY \
                     expression, of numeric or temporal type"
                ),
            )),
        }
    }

    fn frame_bound(
        &mut self,
        window: &str,
        bound: &'a ast::FrameBound<'a>,
        key: Option<&Expr>,
        descending: bool,
    ) -> PlanResult<FrameBound> {
        use ast::FrameBound as B;
        let (amount, unit, following) = match bound {
            B::UnboundedPreceding | B::UnboundedFollowing => return Ok(FrameBound::Unbounded),
            B::CurrentRow => return Ok(FrameBound::CurrentRow),
            B::Preceding(amount, unit) => (amount, *unit, false),
            B::Following(amount, unit) => (amount, *unit, true),
        };
        let Some(key) = key else {
            if unit.is_some() {
                let text = format!("Window '{window}': INTERVAL can only be used with RANGE frames.");
                return Err(PlanError::new(3596, text));
            }
            return self.row_bound(window, amount, following);
        };
        self.range_bound(window, (amount, unit), key, following == descending)
    }

    fn row_bound(
        &mut self,
        window: &str,
        amount: &'a ast::Expr<'a>,
        following: bool,
    ) -> PlanResult<FrameBound> {
        let mut count = self.expr(amount)?;
        self.with_types(std::slice::from_mut(&mut count), |args| {
            args.iter_mut().for_each(|arg| function::derive_count(arg, &self.types));
        });
        self.note_count(amount, &count);
        let is_large = matches!(count.as_literal(), Some(Value::UInt(_)));
        if !is_large && !may_be_count(&count, 0) {
            return Err(bad_bound(window));
        }
        Ok(FrameBound::Rows { count, following })
    }

    /// `subtracts`: the limit is below the key.
    fn range_bound(
        &mut self,
        window: &str,
        (amount, unit): (&'a ast::Expr<'a>, Option<IntervalUnit>),
        key: &Expr,
        subtracts: bool,
    ) -> PlanResult<FrameBound> {
        let is_temporal = key.data_type.is_temporal();
        if is_temporal && unit.is_none() {
            return Err(PlanError::new(
                3588,
                format!(
                    "Window '{window}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound \
                     value allowed."
                ),
            ));
        }
        if !is_temporal && unit.is_some() {
            return Err(PlanError::new(
                3589,
                format!(
                    "Window '{window}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not \
                     allowed."
                ),
            ));
        }
        let amount = self.expr(amount)?;
        if amount.any(&mut |node| matches!(node.kind, ExprKind::Column(_) | ExprKind::Subquery(_))) {
            let text = format!("Window '{window}' has a non-constant frame bound.");
            return Err(PlanError::new(3590, text));
        }
        if self.constant(&amount).is_some_and(|value| is_negative_or_null(&value)) {
            return Err(bad_bound(window));
        }
        let (function, option) = match (unit, subtracts) {
            (Some(unit), true) => (FunctionId::DateSub, CallOption::Unit(unit)),
            (Some(unit), false) => (FunctionId::DateAdd, CallOption::Unit(unit)),
            (None, true) => (FunctionId::Sub, CallOption::None),
            (None, false) => (FunctionId::Add, CallOption::None),
        };
        let limit = self.call_with(function, vec![key.clone(), amount], option)?;
        let distance = limit.as_call().and_then(|(_, args)| args.get(1).cloned()).unwrap_or_else(Expr::null);
        Ok(FrameBound::Range { distance, limit })
    }

    /// Refuses window functions in what groups are selected by.
    ///
    /// # Errors
    /// 3594.
    pub(super) fn refuse_windows_in_having(
        &mut self,
        having: &[Expr],
        items: &[(ColumnId, Expr)],
    ) -> PlanResult<()> {
        let made = self.window_columns();
        if made.is_empty() {
            return Ok(());
        }
        let mut found = None;
        for condition in having {
            condition.each_column(&mut |id| {
                let item = items.iter().find(|(item, _)| *item == id);
                if made.contains(&id) || item.is_some_and(|(_, item)| item.reads_any(&made)) {
                    found = found.or(Some(id));
                }
            });
        }
        let Some(id) = found else { return Ok(()) };
        let is_it = |alias: &&super::scope::Alias| alias.shown.as_column() == Some(id);
        let name = self.block().aliases.iter().find(is_it).map(|alias| alias.name.clone());
        let name = name.unwrap_or_else(|| "".into());
        Err(alias_of_window(&name))
    }

    /// The columns that the block's window functions make.
    pub(super) fn window_columns(&mut self) -> Vec<ColumnId> {
        self.block().windows.iter().flat_map(|window| window.calls.iter().map(|(id, _)| *id)).collect()
    }

    /// Puts windows on top of `tree`, the first below the others.
    pub(super) fn window_nodes(mut tree: Logical, windows: Vec<BoundWindow>) -> Logical {
        let mut left: Vec<(Vec<SortKey>, BoundWindow)> = windows
            .into_iter()
            .filter(|window| !window.calls.is_empty())
            .map(|window| (window.keys(), window))
            .collect();
        while let Some((first, _)) = left.first() {
            let longest = left.iter().map(|(keys, _)| keys).filter(|keys| keys.starts_with(first));
            let longest = longest.max_by_key(|keys| keys.len()).unwrap_or(first).clone();
            let (mut together, others): (Vec<_>, Vec<_>) =
                left.into_iter().partition(|(keys, _)| longest.starts_with(keys));
            left = others;
            together.sort_by_key(|(keys, _)| std::cmp::Reverse(keys.len()));
            let mut nodes: Vec<BoundWindow> = Vec::new();
            for (_, window) in together {
                match nodes.iter_mut().find(|node| node.has_rows_of(&window)) {
                    Some(node) => node.calls.extend(window.calls),
                    None => nodes.push(window),
                }
            }
            for BoundWindow { partition, order, calls, .. } in nodes {
                tree = Logical::Window { input: Box::new(tree), partition, order, calls };
            }
        }
        tree
    }
}

/// Whether a distance is none.
fn is_negative_or_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Int(value) => *value < 0,
        Value::Double(value) => *value < 0.0,
        Value::Decimal(value) => value.is_negative(),
        Value::Bytes { bytes, .. } => bytes.trim_ascii_start().starts_with(b"-"),
        _ => false,
    }
}
