//! From bound expressions to nodes: every decision that depends on types falls here.

use super::arith::{Arith, ArithClass, ArithOp};
use super::compare::{CompareOp, Comparison, How, TimeComparison};
use super::context::SqlResult;
use super::convert::Target;
use super::kernels;
use super::program::{Kernel, Node, RowCall};
use super::shared::SharedOperands;
use crate::error::internal;
use plan::expr::{CallOption, Expr, ExprKind};
use plan::function::{FunctionId, Stability};
use types::data_type::{DECIMAL_PRECISION_MAX, FRACTION_DIGITS_MAX};
use types::temporal::parse::DateMode;
use types::{CollationId, Column, DataType, Physical, TypeKind, Value};

/// The number of constant bounds from which INTERVAL() evaluates all of them once and searches them by halves.
const BOUNDS_SEARCHED: usize = 8;

/// Compiles the expressions of one program; hands out slots for state.
#[derive(Debug, Default)]
pub(super) struct Compiler {
    slots: usize,
    /// Constants are computed for their errors: a bad text beside a date is one.
    checks_constants: bool,
    /// Operands that are read several times.
    shared: SharedOperands,
    /// Compiles a constant that is computed as a whole, each time that its warnings count: no part of it is kept.
    is_in_constant: bool,
}

/// What an argument of a function kernel must be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Class {
    /// As it comes.
    Any,
    Int,
    Double,
    Decimal,
    /// Text in the character set of the result, or of the first text argument if the result is no text.
    Text,
    /// Bytes as they are; numbers as ASCII.
    Bytes,
    /// UTF-8 text.
    Utf8,
    /// UTF-8 text of a path or a member's name: no bytes.
    JsonText,
    DateTime,
    /// As `DateTime`, but the zero date for what is none.
    DateTimeOrZero,
    /// A date: a time counts from the day that it is now, and warnings name a date.
    Date,
    /// A date of which parts may be missing: numbers of a day alone are read too.
    DateParts,
    /// A date of which parts may be missing.
    ZeroDate,
    /// Of the result's own temporal type, NULL where the session's mode has no such dates.
    Checked,
    Time,
    /// A document, or text that is parsed as one.
    Document,
    /// Any value as JSON; text becomes a JSON string.
    JsonValue,
    /// Of the result's own type.
    Result,
}

/// How a function is computed row by row.
#[derive(Clone, Copy)]
pub(super) struct ScalarKernel {
    pub(super) kernel: Kernel,
    /// Classes of the arguments; the last one goes for all that follow.
    pub(super) classes: &'static [Class],
    /// NULL in, NULL out.
    pub(super) null_propagates: bool,
}

fn is_text(data_type: &DataType) -> bool {
    data_type.is_string() || data_type.members.is_some()
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_))
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Input(_) | ExprKind::Outer(_))
}

/// A value as the rows of a set operation hold it.
fn is_stored(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call { function: FunctionId::Cast, option: CallOption::Stored, .. })
}

/// What a check converts: a constant, and what is made of parameters or known only when the statement runs, if the planner has wrapped it for
/// that.
fn is_checked(expr: &Expr) -> bool {
    let is_wrapped =
        matches!(expr.kind, ExprKind::Call { function: FunctionId::Cast, option: CallOption::Whole, .. });
    let is_late = |node: &Expr| match &node.kind {
        ExprKind::Param(_) => true,
        ExprKind::Call { function, args, .. } => function.is_known_late(args),
        _ => false,
    };
    !is_stored(expr) && (is_wrapped || !expr.any(&mut |node| is_late(node)))
}

/// The same in the whole statement: literals, parameters and what is computed from them.
fn is_fixed(expr: &Expr) -> bool {
    expr.is_constant() && !expr.any(&mut |node| matches!(node.kind, ExprKind::Outer(_)))
}

/// How a DOUBLE becomes the integer that is asked of it: what a function computes must be in the range of BIGINT, what a column holds is cut to
/// it.
fn integer_of(expr: &Expr, target: &Target) -> Option<Target> {
    let asks_integer = match target {
        Target::Int => true,
        Target::Cast(to) => to.kind == TypeKind::BigInt || to.kind == TypeKind::Year,
        _ => false,
    };
    if !asks_integer {
        return None;
    }
    match (&expr.kind, expr.data_type.kind) {
        (ExprKind::Call { .. }, TypeKind::Double | TypeKind::Float) => {
            Some(Target::IntInRange(show(expr).into()))
        }
        (ExprKind::Input(_) | ExprKind::Outer(_), TypeKind::Double) => Some(Target::IntOfColumn),
        _ => None,
    }
}

/// A DECIMAL that is zero without digits after the point where an operator gives zero: in a document.
fn has_bare_zero(expr: &Expr) -> bool {
    use FunctionId as F;
    let ExprKind::Call { function, args, .. } = &expr.kind else { return false };
    expr.data_type.kind == TypeKind::Decimal
        && match function {
            F::Sub | F::Mul | F::Div | F::Mod => true,
            F::Neg | F::Abs | F::IfNull | F::Coalesce => has_bare_zero(&args[0]),
            _ => false,
        }
}

/// The number that COALESCE and its like make of BIT values.
fn is_number_of_bits(expr: &Expr) -> bool {
    expr.data_type.is_integer()
        && expr.data_type.kind != TypeKind::Bit
        && matches!(expr.kind, ExprKind::Call { .. })
        && plan::function::bits_of(expr).is_some()
}

/// Gives one of its arguments.
fn chooses(expr: &Expr) -> bool {
    use FunctionId as F;
    match &expr.kind {
        ExprKind::Case { .. } => true,
        ExprKind::Call { function: F::WithOperand, args, .. } => args.last().is_some_and(chooses),
        ExprKind::Call { function, .. } => matches!(
            function,
            F::AnyValue | F::Coalesce | F::Greatest | F::If | F::IfNull | F::Least | F::NullIf
        ),
        _ => false,
    }
}

/// A value without its conversion to the type of all that CASE or IF may give.
fn own(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } => own(&args[0]),
        // Another character set is one of the texts, too.
        ExprKind::Call { function: FunctionId::ConvertUsing, args, option: CallOption::Lossless }
        | ExprKind::Call { function: FunctionId::Collate, args, option: CallOption::Common } => own(&args[0]),
        _ => value,
    }
}

/// A year that is converted to a text among texts, or the value itself.
fn before_text(value: &Expr) -> &Expr {
    match &value.kind {
        ExprKind::Call { function: FunctionId::Cast | FunctionId::ConvertUsing, args, .. }
            if before_text(&args[0]).data_type.kind == TypeKind::Year =>
        {
            before_text(&args[0])
        }
        _ => value,
    }
}

/// A member of ENUM or SET that COALESCE, IFNULL or ANY_VALUE alone gives: it is its text, also where a number is wanted.
fn passes_on_text(expr: &Expr) -> bool {
    use FunctionId as F;
    expr.data_type.members.is_some()
        && matches!(expr.kind, ExprKind::Call { function: F::Coalesce | F::IfNull | F::AnyValue, .. })
}

/// A document that COALESCE, IFNULL or ANY_VALUE gives: it is its text where a number, date or time is wanted.
fn passes_on_text_of_document(expr: &Expr) -> bool {
    use FunctionId as F;
    expr.data_type.kind == TypeKind::Json
        && matches!(expr.kind, ExprKind::Call { function: F::Coalesce | F::IfNull | F::AnyValue, .. })
}

/// A text in which MySQL reads a number without a warning: COALESCE and its like choose it, unlike CASE, IF and functions of texts.
fn is_quiet_text(expr: &Expr) -> bool {
    use FunctionId as F;
    let ExprKind::Call { function, option, .. } = &expr.kind else { return false };
    let chooses = matches!(function, F::Coalesce | F::IfNull | F::Greatest | F::Least | F::AnyValue);
    expr.data_type.is_string() && (chooses || matches!(option, CallOption::Quiet))
}

/// A number, date or time, which JSON_VALID() does not ask for its value; but assignments are made.
fn is_known_invalid(arg: &Expr) -> bool {
    let of = &arg.data_type;
    !of.is_string()
        && !matches!(of.kind, TypeKind::Json | TypeKind::Null)
        && !arg.any(&mut |node| match &node.kind {
            ExprKind::UserVarAssign { .. } => true,
            ExprKind::Call { function, .. } => !function.is_deterministic(),
            _ => false,
        })
}

/// A number with digits after its point.
fn is_fractional(data_type: &DataType) -> bool {
    matches!(data_type.kind, TypeKind::Float | TypeKind::Double | TypeKind::Decimal)
}

/// Text in which MySQL reads every kind of number without a warning, but for CAST to an integer.
fn is_found_by_regexp(expr: &Expr) -> bool {
    use FunctionId as F;
    matches!(expr.kind, ExprKind::Call { function: F::RegexpReplace | F::RegexpSubstr, .. })
}

/// The text of a date or time that DATE_ADD and its like give of a text. Where it becomes a number it is the one that the date or time
/// is, but CAST to an integer reads the text.
fn is_text_of_temporal(expr: &Expr) -> bool {
    use FunctionId as F;
    expr.data_type.is_string()
        && matches!(
            expr.kind,
            ExprKind::Call { function: F::DateAdd | F::DateSub | F::AddTime | F::SubTime, .. }
        )
}

/// A TIME that DATE_ADD and its like give: its text has no fraction that is zero, and else six digits, whatever the digits of the TIME.
fn is_added_time(expr: &Expr) -> bool {
    use FunctionId as F;
    expr.data_type.kind == TypeKind::Time
        && expr.data_type.scale > 0
        && matches!(
            expr.kind,
            ExprKind::Call { function: F::DateAdd | F::DateSub | F::AddTime | F::SubTime, .. }
        )
}

/// The type that a value is converted from: years that COALESCE and its like give are numbers, and a FLOAT has the digits of a DOUBLE.
fn given_type(expr: &Expr) -> DataType {
    use FunctionId as F;
    let of = &expr.data_type;
    match (&expr.kind, of.kind) {
        (
            ExprKind::Call {
                function: F::Coalesce | F::IfNull | F::Greatest | F::Least | F::AnyValue, ..
            },
            TypeKind::Year | TypeKind::Float,
        ) => match of.kind {
            TypeKind::Year => DataType::BIGINT,
            _ => DataType { kind: TypeKind::Double, ..of.clone() },
        },
        _ => of.clone(),
    }
}

/// The number may be a date; what is no literal may be anything. 0 is compared as a number: it equals the zero date, whatever the
/// session's mode says of it.
fn may_be_date(number: &Expr) -> bool {
    let whole = match number.as_literal() {
        Some(Value::Int(value)) => *value,
        Some(Value::UInt(value)) => i64::try_from(*value).unwrap_or(i64::MAX),
        Some(Value::Decimal(value)) => value.to_f64() as i64,
        Some(Value::Double(value)) => *value as i64,
        _ => return true,
    };
    whole != 0 && types::temporal::parse::datetime_from_number(whole, DateMode::default()).is_ok()
}

/// A number that is written and may be a date.
fn is_date_number(item: &Expr) -> bool {
    item.data_type.is_numeric() && is_literal(item) && may_be_date(item)
}

/// Whether MySQL computes the items beside a NULL: constants of which it makes a list to search, all numbers or all texts and dates,
/// no documents.
fn is_prepared_list(list: &[Expr]) -> bool {
    let is_known = |item: &Expr| match &item.kind {
        _ if item.data_type.kind == TypeKind::Json => false,
        ExprKind::UserVarAssign { value, .. } => is_fixed(value),
        _ => is_fixed(item),
    };
    let mut classes = list.iter().filter(|item| item.data_type.kind != TypeKind::Null).map(|item| {
        let of_item = &item.data_type;
        is_text(of_item) || of_item.is_temporal()
    });
    let first = classes.next();
    list.iter().all(is_known) && classes.all(|class| Some(class) == first)
}

/// The class two values are compared in, before anything is compiled.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum CompareClass {
    Int,
    Double,
    Decimal,
    Text(CollationId),
    DateTime,
    Time,
    Json,
}

fn compare_class(a: &Expr, b: &Expr) -> CompareClass {
    use TypeKind as K;
    let (x, y) = (&a.data_type, &b.data_type);
    if x.kind == K::Json || y.kind == K::Json {
        return CompareClass::Json;
    }
    if x.kind == K::Null || y.kind == K::Null {
        // The result is NULL whatever the class, or <=> asks for NULL only; any class that both have will do.
        let other = if x.kind == K::Null { y } else { x };
        return match other.physical() {
            Physical::Double => CompareClass::Double,
            Physical::Decimal => CompareClass::Decimal,
            Physical::Bytes => CompareClass::Text(other.collation),
            Physical::Int if other.is_temporal() => {
                if other.kind == K::Time {
                    CompareClass::Time
                } else {
                    CompareClass::DateTime
                }
            }
            Physical::Int => CompareClass::Int,
        };
    }
    if is_text(x) && is_text(y) {
        return CompareClass::Text(if x.is_string() { x.collation } else { y.collation });
    }
    let temporal = |t: &DataType| t.is_temporal();
    if temporal(x) && temporal(y) {
        // A constant beside a TIME column is converted to TIME.
        let is_time = |t: &Expr, other: &Expr| {
            t.data_type.kind == K::Time
                && (other.data_type.kind == K::Time || is_column(t) && is_fixed(other))
        };
        return if is_time(a, b) || is_time(b, a) { CompareClass::Time } else { CompareClass::DateTime };
    }
    for (t, t_expr, other, other_expr) in [(x, a, y, b), (y, b, x, a)] {
        if t.kind == K::Time && is_text(other) {
            // A constant beside a TIME column is a time; otherwise the time is a text.
            let is_time = is_column(t_expr) && is_fixed(other_expr);
            return if is_time { CompareClass::Time } else { CompareClass::Text(other.collation) };
        }
        if t.has_date() && (is_text(other) || other.kind == K::Year) {
            return CompareClass::DateTime;
        }
        // A constant number beside a column of dates is a date, if it can be one.
        let is_kept = is_column(t_expr) && is_literal(other_expr);
        if t.has_date() && other.is_numeric() && is_kept && may_be_date(other_expr) {
            return CompareClass::DateTime;
        }
    }
    let number = |t: &DataType| -> Option<CompareClass> {
        match t.kind {
            K::Decimal => Some(CompareClass::Decimal),
            K::Float | K::Double => Some(CompareClass::Double),
            K::Date => Some(CompareClass::Int),
            K::Time | K::DateTime | K::Timestamp if t.scale > 0 => Some(CompareClass::Decimal),
            K::Time | K::DateTime | K::Timestamp => Some(CompareClass::Int),
            K::Enum | K::Set => Some(CompareClass::Int),
            _ if t.is_integer() || t.is_hex_literal() => Some(CompareClass::Int),
            _ => None,
        }
    };
    // An integer beside a constant text that is an integer: compared exactly.
    for (t, other) in [(x, b), (y, a)] {
        if t.is_integer()
            && let ExprKind::Literal(Value::Bytes { bytes, .. }) = &other.kind
            && bytes.len() <= 18
            && !bytes.is_empty()
            && bytes
                .iter()
                .enumerate()
                .all(|(i, byte)| byte.is_ascii_digit() || (i == 0 && *byte == b'-' && bytes.len() > 1))
        {
            return CompareClass::Int;
        }
    }
    match (number(x), number(y)) {
        (Some(CompareClass::Int), Some(CompareClass::Int)) => CompareClass::Int,
        (Some(CompareClass::Double), _) | (_, Some(CompareClass::Double)) | (None, _) | (_, None) => {
            CompareClass::Double
        }
        _ => CompareClass::Decimal,
    }
}

/// Whether a TIME is compared as a DATETIME with each of several operands: one of them has a date, and none is a number or document. A
/// single operand that is a constant becomes a time instead ([`compare_class`]).
fn is_time_among_dates(value: &Expr, operands: &[Expr]) -> bool {
    let is_date_or_text = |of: &DataType| of.is_temporal() || is_text(of) || of.kind == TypeKind::Null;
    value.data_type.kind == TypeKind::Time
        && operands.iter().any(|operand| operand.data_type.has_date())
        && operands.iter().all(|operand| is_date_or_text(&operand.data_type))
}

/// As [`compare_class`], of an item of a list of several classes: a text beside a date compares as text, and what may be a time
/// beside a time as such.
fn class_in_mixed_list(value: &Expr, item: &Expr) -> CompareClass {
    let (of_value, of_item) = (&value.data_type, &item.data_type);
    if is_text(of_value) && of_item.has_date() {
        return CompareClass::Text(of_value.collation);
    }
    if of_value.kind == TypeKind::Time && (is_text(of_item) || of_item.has_date()) {
        return CompareClass::Time;
    }
    compare_class(value, item)
}

impl Compiler {
    pub(super) fn of_checks() -> Compiler {
        Compiler { checks_constants: true, ..Compiler::default() }
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slots
    }

    /// Compiles what reads each of `operands` several times: what is the same in it is compiled once. `is_once`: the operand's value is that of
    /// one evaluation, also where the next one would give another.
    fn with_shared(
        &mut self,
        operands: &[&Expr],
        is_once: bool,
        compile: impl FnOnce(&mut Self) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        if operands.iter().all(|operand| is_literal(operand) || is_column(operand)) {
            return compile(self);
        }
        self.sharing(operands, is_once, compile)
    }

    fn sharing(
        &mut self,
        operands: &[&Expr],
        is_once: bool,
        compile: impl FnOnce(&mut Self) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        let is_outermost = self.shared.enter(operands, is_once);
        let node = compile(self);
        if !is_outermost {
            return node;
        }
        self.shared.close();
        Ok(Node::Sharing(Box::new(node?)))
    }

    /// Compiles what reads an operand by its number.
    fn with_operand(
        &mut self,
        args: &[Expr],
        option: &CallOption,
        reader: impl FnOnce(&mut Self, &Expr) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        let ([operand, expr], CallOption::Number(number)) = (args, option) else {
            return Err(internal("an operand without what reads it"));
        };
        self.sharing(&[operand], true, |this| {
            let value = this.compile(operand)?;
            let before = this.shared.name(*number, value);
            let node = reader(this, expr);
            this.shared.unname(*number, before);
            node
        })
    }

    /// `expr`, converted to `target`, if that is what [`Compiler::with_shared`] knows as an operand: compiled at most once.
    fn shared_as(
        &mut self,
        expr: &Expr,
        target: Option<&Target>,
        compile: impl FnOnce(&mut Self) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        if !self.shared.holds(expr) {
            return compile(self);
        }
        if let Some(shared) = self.shared.find(expr, target) {
            return Ok(Node::Shared(shared));
        }
        let is_constant = expr.is_constant();
        let is_in_constant = self.is_in_constant;
        self.is_in_constant |= is_constant;
        let node = compile(self);
        self.is_in_constant = is_in_constant;
        let (node, slot) = (node?, self.slot());
        Ok(Node::Shared(self.shared.keep(expr, target, (node, is_constant), slot)))
    }

    /// The comparison that decides NULLIF of `args`, compiled at most once.
    fn shared_comparison(
        &mut self,
        args: &[Expr],
        compile: impl FnOnce(&mut Self) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        if !self.shared.is_open() {
            return compile(self);
        }
        if let Some(shared) = self.shared.find_comparison(args) {
            return Ok(Node::Shared(shared));
        }
        let (node, slot) = (compile(self)?, self.slot());
        Ok(Node::Shared(self.shared.keep_comparison(args, node, slot)))
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Compiles an expression; its result has the physical type of its own data type.
    pub(super) fn compile(&mut self, expr: &Expr) -> SqlResult<Node> {
        self.shared_as(expr, None, |this| this.compile_alone(expr))
    }

    fn compile_alone(&mut self, expr: &Expr) -> SqlResult<Node> {
        let node = self.compile_node(expr)?;
        // What is constant is computed once, except what is no work.
        if !matches!(
            node,
            Node::Const(_) | Node::Param { .. } | Node::Once { .. } | Node::Outer(_) | Node::Input(_)
        ) && expr.is_constant()
        {
            return Ok(self.once(node));
        }
        Ok(node)
    }

    /// A constant, computed once.
    fn once(&mut self, node: Node) -> Node {
        match self.is_in_constant {
            true => node,
            false => Node::Once { slot: self.slot(), node: Box::new(node) },
        }
    }

    fn compile_node(&mut self, expr: &Expr) -> SqlResult<Node> {
        Ok(match &expr.kind {
            ExprKind::Literal(value) => {
                let mut warnings = super::Warnings::new(0);
                let settings = super::EvalSettings::default();
                let mut session = super::NoSession;
                let mut ctx = super::EvalContext {
                    settings: &settings,
                    params: &[],
                    outer: Vec::new(),
                    session: &mut session,
                    warnings: &mut warnings,
                    snapshot: None,
                    transaction: None,
                };
                Node::Const(super::convert::value_column(value.into(), &expr.data_type, &mut ctx)?)
            }
            ExprKind::Input(index) => Node::Input(*index as usize),
            ExprKind::Outer(index) => Node::Outer(*index as usize),
            ExprKind::Param(index) => {
                let data_type = match expr.data_type.kind {
                    // Among years it is the number that comes, not the year that a column makes of it.
                    TypeKind::Year => DataType::BIGINT,
                    _ => expr.data_type.clone(),
                };
                Node::Param { index: *index as usize, data_type, slot: self.slot() }
            }
            ExprKind::UserVar(name) => {
                Node::UserVariable { name: name.clone(), data_type: expr.data_type.clone() }
            }
            ExprKind::UserVarAssign { name, value } => Node::SetUserVariable {
                name: name.clone(),
                data_type: value.data_type.clone(),
                node: Box::new(self.compile(value)?),
            },
            ExprKind::Case { whens, otherwise } => {
                let mut compiled = Vec::with_capacity(whens.len());
                for (when, then) in whens {
                    compiled.push((self.truth(when)?, self.compile(then)?));
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(Box::new(self.compile(otherwise)?)),
                    None => None,
                };
                Node::Case { whens: compiled, otherwise, physical: expr.data_type.physical() }
            }
            ExprKind::InList { expr: value, list } => self.in_list(value, list)?,
            ExprKind::Call { function, args, option } => self.call(*function, args, option, expr)?,
            ExprKind::Column(_) | ExprKind::Subquery(_) => {
                return Err(internal("a column or subquery is left in a physical expression"));
            }
        })
    }

    /// Compiles with a conversion to `target`, where one is needed.
    pub(super) fn converted(&mut self, expr: &Expr, target: Target) -> SqlResult<Node> {
        if !self.shared.holds(expr) {
            return self.converted_alone(expr, target);
        }
        self.shared_as(expr, Some(&target.clone()), |this| this.converted_alone(expr, target))
    }

    fn converted_alone(&mut self, expr: &Expr, target: Target) -> SqlResult<Node> {
        if expr.data_type.kind == TypeKind::Null && matches!(expr.kind, ExprKind::Literal(_)) {
            let mut column = Column::new(target.physical());
            column.push_null();
            return Ok(Node::Const(column));
        }
        let is_document = passes_on_text_of_document(expr) && (target.is_number() || target.is_temporal());
        if is_document || passes_on_text(expr) && target.is_number() {
            let of = match is_document {
                true => DataType::varchar(0, CollationId::UTF8MB4_BIN),
                false => DataType::char(expr.data_type.length, expr.data_type.collation),
            };
            let to = Target::Text(of.collation);
            let node = Box::new(self.compile(expr)?);
            let text = Node::Convert { node, from: expr.data_type.clone(), to };
            let to = match target {
                Target::Int | Target::Double => Target::Quiet(Box::new(target)),
                target => target,
            };
            return Ok(Node::Convert { node: Box::new(text), from: of, to });
        }
        if target.is_identity(&expr.data_type) {
            return self.compile(expr);
        }
        if target.is_text() && is_added_time(expr) {
            let of = DataType::varchar(expr.data_type.length, CollationId::UTF8MB4_GENERAL_CI);
            let node = Box::new(self.compile(expr)?);
            let text = Node::Convert { node, from: expr.data_type.clone(), to: Target::ShortTime };
            // The type that several values have in common has room for the digits of the TIME, and the text is not cut to them.
            let to = match target {
                Target::Cast(to) if to.length == expr.data_type.length => Target::Text(to.collation),
                target => target,
            };
            return Ok(Node::Convert { node: Box::new(text), from: of, to });
        }
        if let Some(asked) = target.asked_of_chosen(&expr.data_type)
            && let Some(node) = self.chosen(expr, &asked)?
        {
            let node = match asked {
                // A date or time has the fraction digits of all.
                Target::Decimal if expr.data_type.is_temporal() => {
                    let scale = expr.data_type.scale;
                    let to = DataType::decimal(DECIMAL_PRECISION_MAX, scale);
                    Node::Convert {
                        node: Box::new(node),
                        from: DataType::decimal(to.length, 0),
                        to: Target::Cast(to),
                    }
                }
                _ => node,
            };
            return Ok(if expr.is_constant() { self.once(node) } else { node });
        }
        let is_column = matches!(expr.kind, ExprKind::Input(_) | ExprKind::Outer(_));
        let is_text_column = (is_column || is_stored(expr)) && expr.data_type.is_text_or_blob();
        let target = match target {
            Target::Int | Target::Double | Target::Decimal if is_text_column => {
                Target::Quiet(Box::new(target))
            }
            target if target.reads_digits() && is_text_of_temporal(expr) => Target::Digits(Box::new(target)),
            Target::Int | Target::Double if is_quiet_text(expr) => Target::Quiet(Box::new(target)),
            Target::Int | Target::Double | Target::Decimal if is_found_by_regexp(expr) => {
                Target::Quiet(Box::new(target))
            }
            Target::Cast(to) if is_found_by_regexp(expr) && is_fractional(&to) => Target::CastQuietly(to),
            Target::Cast(to) if is_text_column && matches!(to.kind, TypeKind::Double | TypeKind::Float) => {
                Target::CastQuietly(to)
            }
            target => target,
        };
        let target = match target {
            target if target.is_document() && has_bare_zero(expr) => Target::JsonResult,
            target if target.is_document() && is_number_of_bits(expr) => Target::JsonBits,
            target => target,
        };
        let constant = expr.is_constant();
        let node = match self.compile(expr)? {
            // One constant is enough: the converted one.
            Node::Once { node, .. } => *node,
            node => node,
        };
        let converted = match integer_of(expr, &target) {
            Some(to) => {
                let whole = Node::Convert { node: Box::new(node), from: given_type(expr), to };
                match target {
                    Target::Int => whole,
                    to => Node::Convert { node: Box::new(whole), from: DataType::BIGINT, to },
                }
            }
            None => {
                let from = match expr.data_type.kind {
                    // Only a column's bytes have the type of its size in a document.
                    TypeKind::TinyText | TypeKind::MediumText | TypeKind::LongText
                        if chooses(expr) && target.is_document() =>
                    {
                        DataType { kind: TypeKind::Text, ..expr.data_type.clone() }
                    }
                    // Only a year that a column has is the first day of that year.
                    TypeKind::Year if target.is_temporal() && !expr.data_type.zerofill => DataType::BIGINT,
                    _ => given_type(expr),
                };
                Node::Convert { node: Box::new(node), from, to: target }
            }
        };
        Ok(if constant { self.once(converted) } else { converted })
    }

    /// CASE, IF and NULLIF with each value that they may give converted by itself, not to the type of all of them first.
    fn chosen(&mut self, expr: &Expr, target: &Target) -> SqlResult<Option<Node>> {
        let physical = target.physical();
        // A document has the number that all of them are, not the bytes of a BIT.
        let target = match target {
            Target::JsonValue if expr.data_type.is_numeric() && expr.data_type.kind != TypeKind::Bit => {
                &Target::JsonNumber
            }
            target => target,
        };
        Ok(Some(match &expr.kind {
            ExprKind::Case { whens, otherwise } => {
                let mut compiled = Vec::with_capacity(whens.len());
                for (when, then) in whens {
                    compiled.push((self.truth(when)?, self.converted(own(then), target.clone())?));
                }
                let otherwise = match otherwise {
                    Some(otherwise) => Some(Box::new(self.converted(own(otherwise), target.clone())?)),
                    None => None,
                };
                Node::Case { whens: compiled, otherwise, physical }
            }
            ExprKind::Call { function: FunctionId::If, args, .. } => Node::Case {
                whens: vec![(self.truth(&args[0])?, self.converted(own(&args[1]), target.clone())?)],
                otherwise: Some(Box::new(self.converted(own(&args[2]), target.clone())?)),
                physical,
            },
            // COALESCE passes over the dates that the session's mode refuses.
            ExprKind::Call { function: FunctionId::Coalesce | FunctionId::IfNull, args, .. }
                if expr.data_type.has_date() && matches!(target, Target::Checked(_)) =>
            {
                let items =
                    args.iter().map(|arg| self.converted(arg, target.clone())).collect::<SqlResult<_>>()?;
                Node::Coalesce { items, physical }
            }
            ExprKind::Call { function: FunctionId::NullIf, args, .. } => {
                self.null_if(args, physical, |this| this.converted(own(&args[0]), target.clone()))?
            }
            // Where texts and years are compared as texts, the number is the least or greatest of their numbers.
            ExprKind::Call { function: FunctionId::Least | FunctionId::Greatest, args, option }
                if expr.data_type.is_string()
                    && (target.reads_digits() && !matches!(target, Target::Int))
                    && args.iter().any(|arg| before_text(arg).data_type.kind == TypeKind::Year) =>
            {
                let number = |arg: &Expr| plan::function::cast(before_text(arg).clone(), DataType::DOUBLE);
                let args = args.iter().map(number).collect();
                let ExprKind::Call { function, .. } = expr.kind else { return Ok(None) };
                let kind = ExprKind::Call { function, args, option: option.clone() };
                let number = Expr { kind, data_type: DataType::DOUBLE, ..expr.clone() };
                self.over_temporary(|this| this.converted(&number, target.clone()))?
            }
            ExprKind::Call { function: FunctionId::WithOperand, args, option } => {
                self.with_operand(args, option, |this, reader| this.converted(own(reader), target.clone()))?
            }
            _ => return Ok(None),
        }))
    }

    /// Compiles an expression that is gone when this returns, and its operands with it: they are not known by their addresses behind it.
    fn over_temporary(&mut self, compile: impl FnOnce(&mut Self) -> SqlResult<Node>) -> SqlResult<Node> {
        let names = self.shared.only_named();
        let shared = std::mem::replace(&mut self.shared, names);
        let node = compile(self);
        self.shared = shared;
        node
    }

    /// NULLIF: its first operand is compared, and its value is the answer.
    fn null_if(
        &mut self,
        args: &[Expr],
        physical: Physical,
        value: impl FnOnce(&mut Self) -> SqlResult<Node>,
    ) -> SqlResult<Node> {
        self.with_shared(&[&args[0], own(&args[0])], false, |this| {
            let equal =
                this.shared_comparison(args, |this| this.compared(CompareOp::Eq, &args[0], &args[1]))?;
            let mut null = Column::new(physical);
            null.push_null();
            let whens = vec![(equal, Node::Const(null))];
            Ok(Node::Case { whens, otherwise: Some(Box::new(value(this)?)), physical })
        })
    }

    /// Compiles as a truth value: an integer 0, 1 or NULL.
    fn truth(&mut self, expr: &Expr) -> SqlResult<Node> {
        if yields_truth(expr) {
            return self.compile(expr);
        }
        let node = match expr.data_type.physical() {
            Physical::Bytes => self.converted(expr, Target::Double)?,
            _ => self.compile(expr)?,
        };
        Ok(Node::Truth(Box::new(node)))
    }

    /// One of several constants in a list beside dates (`target` says how it is converted), or a side as elsewhere.
    fn side_of_dates(
        &mut self,
        expr: &Expr,
        other: &Expr,
        class: CompareClass,
        target: fn(&'static str) -> Target,
    ) -> SqlResult<Node> {
        let is_beside_time = other.data_type.kind == TypeKind::Time && is_text(&expr.data_type);
        let is_prepared = is_beside_time || is_fixed(expr) && other.data_type.has_date();
        if class != CompareClass::DateTime || !is_prepared {
            return self.side(expr, other, class);
        }
        self.converted(expr, target(if other.data_type.kind == TypeKind::Date { "date" } else { "datetime" }))
    }

    /// A side of BETWEEN: what is no date gives a warning, even if it is a constant.
    fn side_in_range(&mut self, expr: &Expr, other: &Expr, class: CompareClass) -> SqlResult<Node> {
        if class != CompareClass::DateTime || !is_fixed(expr) {
            return self.side(expr, other, class);
        }
        let name = if other.data_type.kind == TypeKind::Date { "date" } else { "datetime" };
        self.converted(expr, Target::Bound(name))
    }

    /// The number of a constant that bounds a range of a column of dates or times among numbers: MySQL makes what the column would keep of
    /// it, if it can. That of a DATETIME then is the packed one, larger than the digits of any.
    fn number_beside_date(&mut self, bound: &Expr, column: &Expr) -> SqlResult<Option<Node>> {
        let of = &column.data_type;
        let is_column = matches!(column.kind, ExprKind::Input(_) | ExprKind::Outer(_));
        let is_kept = is_text(&bound.data_type)
            || bound.data_type.is_numeric()
            || bound.data_type.kind == TypeKind::Date && of.kind != TypeKind::Date;
        // What a subquery gives is a constant, too.
        if !is_column || !bound.is_constant() || !is_kept {
            return Ok(None);
        }
        let (target, from) = match of.kind {
            TypeKind::Date => (Target::Cast(of.clone()), of.clone()),
            TypeKind::DateTime | TypeKind::Timestamp => {
                (Target::Cast(DataType::datetime(of.scale)), DataType::BIGINT)
            }
            TypeKind::Time if is_text(&bound.data_type) => (Target::WholeTime(of.scale), of.clone()),
            _ => return Ok(None),
        };
        let node = self.with_shared(&[bound], false, |this| {
            let kept = Box::new(this.converted(bound, target)?);
            let number = Node::Convert { node: kept, from, to: Target::Double };
            let items = vec![number, this.converted(bound, Target::Double)?];
            Ok(Node::Coalesce { items, physical: Physical::Double })
        })?;
        Ok(Some(self.once(node)))
    }

    fn side(&mut self, expr: &Expr, other: &Expr, class: CompareClass) -> SqlResult<Node> {
        if class == CompareClass::DateTime
            && !matches!(expr.kind, ExprKind::Param(_))
            && expr.is_checked_beside(&other.data_type)
        {
            return self.converted(expr, Target::Checked(DataType::datetime(FRACTION_DIGITS_MAX)));
        }
        self.unchecked_side(expr, other, class)
    }

    fn unchecked_side(&mut self, expr: &Expr, other: &Expr, class: CompareClass) -> SqlResult<Node> {
        let constant = is_fixed(expr);
        let (other_name, small_name) = match other.data_type.kind {
            TypeKind::Date => ("DATE", "date"),
            TypeKind::Timestamp => ("TIMESTAMP", "datetime"),
            _ => ("DATETIME", "datetime"),
        };
        self.converted(
            expr,
            match class {
                CompareClass::Int => Target::Int,
                CompareClass::Double => Target::Double,
                CompareClass::Decimal => Target::Decimal,
                // A client may send bytes that are no characters.
                CompareClass::Text(collation)
                    if matches!(expr.kind, ExprKind::Param(_)) && collation.ends_at_malformed() =>
                {
                    Target::WellFormed(collation)
                }
                CompareClass::Text(collation) => Target::Text(collation),
                // What a set operation holds is a value of its rows, wherever it is compared.
                CompareClass::DateTime if self.checks_constants && constant && is_checked(expr) => {
                    Target::ComparedDate(other_name)
                }
                // What is wrong with constants the checks have told, as far as it is an error.
                CompareClass::DateTime if matches!(expr.kind, ExprKind::Param(_)) => {
                    Target::Bound(small_name)
                }
                CompareClass::DateTime
                    if is_text(&expr.data_type) || expr.data_type.kind == TypeKind::Year =>
                {
                    Target::ComparedText(small_name)
                }
                CompareClass::DateTime => Target::DateTime,
                CompareClass::Time if constant && is_text(&expr.data_type) => {
                    Target::ComparedTime { scale: other.data_type.scale }
                }
                CompareClass::Time => Target::Time,
                CompareClass::Json => Target::JsonValue,
            },
        )
    }

    fn how(class: CompareClass, left: &Expr, right: &Expr) -> How {
        match class {
            CompareClass::Int => How::Int {
                left_unsigned: left.data_type.unsigned
                    && (left.data_type.physical() == Physical::Int || left.data_type.is_hex_literal()),
                right_unsigned: right.data_type.unsigned
                    && (right.data_type.physical() == Physical::Int || right.data_type.is_hex_literal()),
            },
            CompareClass::DateTime | CompareClass::Time => {
                How::Int { left_unsigned: false, right_unsigned: false }
            }
            CompareClass::Double => How::Double,
            CompareClass::Decimal => How::Decimal,
            CompareClass::Text(collation) => How::Text(collation),
            CompareClass::Json => How::Json,
        }
    }

    /// `left op right`.
    fn compared(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> SqlResult<Node> {
        let class = compare_class(left, right);
        // The planner has asked both to be checked, for joins to find what conditions find.
        if class == CompareClass::DateTime && left.data_type.has_date() && right.data_type.has_date() {
            return Ok(Node::Compare(Box::new(Comparison {
                op,
                how: Self::how(class, left, right),
                left: self.unchecked_side(left, right, class)?,
                right: self.unchecked_side(right, left, class)?,
                is_listed: false,
            })));
        }
        for (column, text) in [(left, right), (right, left)] {
            if class != CompareClass::Time || !is_text(&text.data_type) {
                continue;
            }
            let digits = column.data_type.scale;
            let mut as_times = self.comparison_in(class, op, left, right)?;
            let side = if std::ptr::eq(text, right) { &mut as_times.right } else { &mut as_times.left };
            *side = self.converted(text, Target::WholeTime(digits))?;
            let as_texts = CompareClass::Text(text.data_type.collation);
            return Ok(Node::CompareTime(Box::new(TimeComparison {
                time: self.converted(text, Target::WholeTime(digits))?,
                as_times,
                as_texts: self.comparison_in(as_texts, op, left, right)?,
            })));
        }
        Ok(Node::Compare(Box::new(self.comparison_in(class, op, left, right)?)))
    }

    /// A text and a DATE that are no constants are compared as dates, without the time of day in the text.
    fn compared_days(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> SqlResult<Option<Node>> {
        let is_day = |date: &Expr, text: &Expr| {
            date.data_type.kind == TypeKind::Date
                && is_text(&text.data_type)
                && !is_fixed(date)
                && !is_fixed(text)
                && !is_stored(text)
        };
        if !is_day(left, right) && !is_day(right, left) {
            return Ok(None);
        }
        let class = CompareClass::DateTime;
        let (left_node, right_node) = if is_day(left, right) {
            (self.side(left, right, class)?, self.converted(right, Target::ComparedDay)?)
        } else {
            (self.converted(left, Target::ComparedDay)?, self.side(right, left, class)?)
        };
        let how = Self::how(class, left, right);
        let comparison = Comparison { op, how, left: left_node, right: right_node, is_listed: false };
        Ok(Some(Node::Compare(Box::new(comparison))))
    }

    fn comparison_in(
        &mut self,
        class: CompareClass,
        op: CompareOp,
        left: &Expr,
        right: &Expr,
    ) -> SqlResult<Comparison> {
        Ok(Comparison {
            op,
            how: Self::how(class, left, right),
            left: self.side(left, right, class)?,
            right: self.side(right, left, class)?,
            is_listed: false,
        })
    }

    /// FIELD whose arguments are compared as DOUBLE: those behind the first that equals are not computed, nor any for NULL.
    fn field_of_numbers(&mut self, args: &[Expr]) -> SqlResult<Node> {
        let number = |at: usize| Node::Const(int_column(Some(at as i64)));
        let is_null = Node::IsNull(Box::new(self.converted(&args[0], Target::Double)?));
        let mut whens = vec![(is_null, number(0))];
        for (at, arg) in args.iter().enumerate().skip(1) {
            let comparison = Comparison {
                op: CompareOp::Eq,
                how: How::Double,
                left: self.converted(&args[0], Target::Double)?,
                right: self.converted(arg, Target::Double)?,
                is_listed: false,
            };
            whens.push((Node::Compare(Box::new(comparison)), number(at)));
        }
        Ok(Node::Case { whens, otherwise: Some(Box::new(number(0))), physical: Physical::Int })
    }

    fn in_list(&mut self, value: &Expr, list: &[Expr]) -> SqlResult<Node> {
        let is_bare_null = value.data_type.kind == TypeKind::Null;
        if list.len() > 1 && is_bare_null && value.as_literal().is_some_and(Value::is_null) {
            let null = Node::Const(int_column(None));
            if !is_prepared_list(list) {
                // No item is computed.
                return Ok(null);
            }
            let how = How::Int { left_unsigned: false, right_unsigned: false };
            let items =
                list.iter().map(|item| Ok((how, self.compile(item)?))).collect::<SqlResult<Vec<_>>>()?;
            return Ok(Node::In { value: Box::new(null), items, slot: None });
        }
        let mut classes: Vec<CompareClass> = list.iter().map(|item| compare_class(value, item)).collect();
        // They are prepared as dates, whatever is looked for.
        let are_dates = value.data_type.has_date() && list.iter().all(is_date_number);
        if list.len() > 1 && (are_dates || is_time_among_dates(value, list)) {
            classes.fill(CompareClass::DateTime);
        }
        let first = classes[0];
        let uniform = list
            .iter()
            .zip(&classes)
            .all(|(item, class)| *class == first || item.data_type.kind == TypeKind::Null);
        let is_text_beside_time = value.data_type.kind == TypeKind::Time && is_text(&list[0].data_type);
        if !uniform || list.len() == 1 && is_text_beside_time {
            return self.with_shared(&[value], true, |this| this.in_mixed_list(value, list));
        }
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            let side = self.side_of_dates(item, value, first, Target::Listed)?;
            items.push((Self::how(first, value, item), side));
        }
        // What a row of an outer query gives is computed in order, as the items of a row are.
        let is_outer = |item: &Expr| item.any(&mut |node| matches!(node.kind, ExprKind::Outer(_)));
        let constant = list.iter().all(|item| item.is_constant() && !is_outer(item)) && list.len() > 2;
        let signs_agree = items.iter().all(|(how, _)| match how {
            How::Int { left_unsigned, right_unsigned } => {
                left_unsigned == right_unsigned
                    || list
                        .iter()
                        .all(|item| matches!(item.as_literal(), Some(Value::Int(0..) | Value::Null)))
            }
            _ => true,
        });
        let hashable = matches!(
            first,
            CompareClass::Int | CompareClass::DateTime | CompareClass::Time | CompareClass::Text(_)
        );
        let slot = if constant && signs_agree && hashable { Some(self.slot()) } else { None };
        let value = Box::new(self.side(value, &list[0], first)?);
        Ok(Node::In { value, items, slot })
    }

    /// IN with each item in its own class: a chain of comparisons.
    fn in_mixed_list(&mut self, value: &Expr, list: &[Expr]) -> SqlResult<Node> {
        let mut any = Vec::with_capacity(list.len());
        for item in list {
            let class = class_in_mixed_list(value, item);
            let right = match class {
                // A text that is no time equals none.
                CompareClass::Time if is_text(&item.data_type) => self.converted(item, Target::ListedTime)?,
                // The time of a DATE is read from its text.
                CompareClass::Time if item.data_type.kind == TypeKind::Date => {
                    let node = Box::new(self.converted(item, Target::Text(CollationId::UTF8MB4_BIN))?);
                    let from = DataType::varchar(0, CollationId::UTF8MB4_BIN);
                    Node::Convert { node, from, to: Target::Time }
                }
                _ => self.side(item, value, class)?,
            };
            any.push(Node::Compare(Box::new(Comparison {
                op: CompareOp::Eq,
                how: Self::how(class, value, item),
                left: self.side(value, item, class)?,
                right,
                is_listed: true,
            })));
        }
        Ok(Node::Or(any))
    }

    fn arith(
        &mut self,
        op: ArithOp,
        args: &[Expr],
        option: &CallOption,
        result: &DataType,
        text: String,
    ) -> SqlResult<Node> {
        let class_of = |data_type: &DataType| match data_type.kind {
            TypeKind::Decimal => 1,
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp if data_type.scale > 0 => 1,
            TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Date => 0,
            TypeKind::Enum | TypeKind::Set => 2,
            _ if data_type.is_integer() || data_type.is_hex_literal() => 0,
            _ => 2,
        };
        let widest = args.iter().map(|arg| class_of(&arg.data_type)).max().unwrap_or(0);
        let (class, target) = match (op, result.physical(), widest) {
            (ArithOp::IntDiv, _, 0) | (_, Physical::Int, _) if op != ArithOp::IntDiv || widest == 0 => (
                ArithClass::Int {
                    left_unsigned: args[0].data_type.unsigned,
                    right_unsigned: args[1].data_type.unsigned,
                    unsigned: result.unsigned,
                },
                Target::Int,
            ),
            // DIV of anything but integers divides decimals.
            (ArithOp::IntDiv, ..) => {
                (ArithClass::Decimal { scale: 0, unsigned: result.unsigned }, Target::Decimal)
            }
            (ArithOp::Div, Physical::Decimal, _) if matches!(option, CallOption::Number(_)) => {
                let more_digits = if let CallOption::Number(more) = option { *more as u8 } else { 0 };
                (ArithClass::OwnScales { scale: result.scale, more_digits }, Target::Decimal)
            }
            (_, Physical::Decimal, _) => {
                (ArithClass::Decimal { scale: result.scale, unsigned: result.unsigned }, Target::Decimal)
            }
            _ => (ArithClass::Double, Target::Double),
        };
        let left = self.converted(&args[0], target.clone())?;
        let right = self.converted(&args[1], target)?;
        Ok(Node::Arith(Box::new(Arith { op, class, left, right, text })))
    }

    fn call(
        &mut self,
        function: FunctionId,
        args: &[Expr],
        option: &CallOption,
        expr: &Expr,
    ) -> SqlResult<Node> {
        use FunctionId as F;
        let result = &expr.data_type;
        let arith_op = match function {
            F::Add => Some(ArithOp::Add),
            F::Sub => Some(ArithOp::Sub),
            F::Mul => Some(ArithOp::Mul),
            F::Div => Some(ArithOp::Div),
            F::IntDiv => Some(ArithOp::IntDiv),
            F::Mod => Some(ArithOp::Mod),
            F::BitOr if !result.is_string() => Some(ArithOp::BitOr),
            F::BitAnd if !result.is_string() => Some(ArithOp::BitAnd),
            F::BitXor if !result.is_string() => Some(ArithOp::BitXor),
            F::ShiftLeft if !result.is_string() => Some(ArithOp::ShiftLeft),
            F::ShiftRight if !result.is_string() => Some(ArithOp::ShiftRight),
            _ => None,
        };
        if let Some(op) = arith_op {
            return self.arith(op, args, option, result, show(expr));
        }
        let compare_op = match function {
            F::Eq => Some(CompareOp::Eq),
            F::NullSafeEq => Some(CompareOp::NullSafeEq),
            F::Ne => Some(CompareOp::Ne),
            F::Lt => Some(CompareOp::Lt),
            F::Le => Some(CompareOp::Le),
            F::Gt => Some(CompareOp::Gt),
            F::Ge => Some(CompareOp::Ge),
            _ => None,
        };
        if let Some(op) = compare_op {
            if !matches!(option, CallOption::AsIs)
                && let Some(days) = self.compared_days(op, &args[0], &args[1])?
            {
                return Ok(days);
            }
            return self.compared(op, &args[0], &args[1]);
        }
        Ok(match function {
            F::And | F::Or => {
                let nodes = args.iter().map(|arg| self.truth(arg)).collect::<SqlResult<Vec<Node>>>()?;
                if function == F::And { Node::And(nodes) } else { Node::Or(nodes) }
            }
            F::Xor => Node::Xor(Box::new(self.truth(&args[0])?), Box::new(self.truth(&args[1])?)),
            F::Not => Node::Not(Box::new(self.truth(&args[0])?)),
            F::IsNull | F::IsNullFunction
                if matches!(option, CallOption::NeverNull) || is_never_null(&args[0]) =>
            {
                Node::Const(int_column(Some(0)))
            }
            F::IsNull | F::IsNullFunction => Node::IsNull(Box::new(self.compile(&args[0])?)),
            F::IsTrue | F::IsFalse => {
                Node::Is { node: Box::new(self.truth(&args[0])?), wanted: function == F::IsTrue }
            }
            F::Between => self.with_shared(&[&args[0]], true, |this| this.between(args))?,
            F::If => Node::Case {
                whens: vec![(self.truth(&args[0])?, self.compile(&args[1])?)],
                otherwise: Some(Box::new(self.compile(&args[2])?)),
                physical: result.physical(),
            },
            F::Field if is_field_of_numbers(args) => {
                self.sharing(&[&args[0]], true, |this| this.field_of_numbers(args))?
            }
            F::IfNull | F::Coalesce => {
                let items = args.iter().map(|arg| self.compile(arg)).collect::<SqlResult<Vec<Node>>>()?;
                Node::Coalesce { items, physical: result.physical() }
            }
            F::Interval => {
                let is_early = args[0].is_constant()
                    || args.len() > BOUNDS_SEARCHED && args[1..].iter().all(Expr::is_constant);
                let are_searched = args.len() > BOUNDS_SEARCHED && args[1..].iter().all(is_fixed);
                // Whole numbers and decimals are compared exactly, all else as DOUBLE.
                let is_exact =
                    |arg: &Expr| arg.data_type.is_integer() || arg.data_type.kind == TypeKind::Decimal;
                let is_exact_value = is_exact(&args[0]);
                let target = |arg: &Expr| {
                    if is_exact_value && is_exact(arg) { Target::Decimal } else { Target::Double }
                };
                let value = Box::new(self.converted(&args[0], target(&args[0]))?);
                let bound = |bound: &Expr| self.converted(bound, target(bound));
                let bounds = args[1..].iter().map(bound).collect::<SqlResult<Vec<Node>>>()?;
                Node::Interval { value, bounds, is_early, are_searched }
            }
            F::WithOperand => self.with_operand(args, option, Self::compile)?,
            F::Operand => {
                let CallOption::Number(number) = option else {
                    return Err(internal("an operand without a number"));
                };
                let shared = self.shared.named(*number).ok_or_else(|| internal("no such operand"))?;
                Node::Shared(shared)
            }
            F::NullIf => self.null_if(args, result.physical(), |this| {
                if is_text(&args[0].data_type) && result.is_string() {
                    this.converted(&args[0], Target::Text(result.collation))
                } else {
                    this.compile(&args[0])
                }
            })?,
            F::AnyValue => self.compile(&args[0])?,
            // What is neither text nor document is not looked at.
            F::JsonValid if is_known_invalid(&args[0]) => self.compile(&Expr::bool(false))?,
            F::NameConst => self.compile(&args[1])?,
            // Properties of the expression, which is not computed.
            F::Charset | F::Collation | F::Coercibility if let Some(arg) = args.first() => {
                let kind = ExprKind::Literal(kernels::property(function, arg));
                let Expr { nullable, coercibility, .. } = *expr;
                self.compile(&Expr { kind, data_type: result.clone(), nullable, coercibility })?
            }
            F::Cast if matches!(option, CallOption::Stored) => {
                self.converted(&args[0], Target::Stored(result.clone()))?
            }
            F::Cast if matches!(option, CallOption::Checked) => {
                self.converted(&args[0], checked(&args[0], result))?
            }
            F::Cast if matches!(option, CallOption::Whole) => {
                self.converted(&args[0], Target::Characters(result.collation))?
            }
            F::Cast if matches!(option, CallOption::Characters) => {
                self.converted(&args[0], Target::ValidCharacters(result.collation))?
            }
            F::Cast if matches!(option, CallOption::BesideYear) => {
                self.converted(&args[0], Target::BesideYear)?
            }
            F::Cast if matches!(option, CallOption::BesideBigInt) => {
                self.converted(&args[0], Target::BesideBigInt { unsigned: result.unsigned })?
            }
            F::Cast if matches!(option, CallOption::Quiet) => self.compile(&args[0])?,
            F::Cast if matches!(option, CallOption::Filled) => {
                let filled = DataType::char(result.length, result.collation);
                self.converted(&args[0], Target::Cast(filled))?
            }
            // A value among FLOAT ones is as exact as it was; only its text is a FLOAT's.
            F::Cast if matches!(option, CallOption::Common) && result.kind == TypeKind::Float => {
                self.converted(&args[0], Target::Double)?
            }
            // A DECIMAL is longer than its type says: the zero before the point is not counted.
            F::Cast
                if matches!(option, CallOption::Common)
                    && result.is_string()
                    && args[0].data_type.kind == TypeKind::Decimal =>
            {
                self.converted(&args[0], Target::Text(result.collation))?
            }
            F::Cast => self.converted(&args[0], Target::Cast(result.clone()))?,
            F::ConvertUsing if matches!(option, CallOption::Lossless) => {
                let target = match args[0].kind {
                    ExprKind::Param(_) => Target::ParameterText(result.collation),
                    _ => Target::Lossless(result.collation),
                };
                self.converted(&args[0], target)?
            }
            F::ConvertUsing => self.converted(&args[0], Target::Characters(result.collation))?,
            F::Collate => self.converted(&args[0], Target::Text(result.collation))?,
            _ => {
                let scalar_kernel = kernels::scalar_kernel(function, args, option, result)
                    .ok_or_else(|| service::error::ER_NOT_SUPPORTED_YET.with(&[&function.name()]))?;
                return self.row_call(function, scalar_kernel, args, option, result);
            }
        })
    }

    fn between(&mut self, args: &[Expr]) -> SqlResult<Node> {
        // One class for all three, the widest.
        let (low, high) = (compare_class(&args[0], &args[1]), compare_class(&args[0], &args[2]));
        let class = match (args[1].data_type.kind, args[2].data_type.kind) {
            _ if is_time_among_dates(&args[0], &args[1..]) => CompareClass::DateTime,
            // NULL decides nothing.
            (TypeKind::Null, _) => high,
            (_, TypeKind::Null) => low,
            _ => between_class(low, high),
        };
        let class = match class {
            CompareClass::Json => between_documents(args),
            // A number is a date if it is a constant and the column's range is looked for; else all three are numbers.
            CompareClass::DateTime | CompareClass::Time if has_numbers(args) => CompareClass::Double,
            class => class,
        };
        let comparison = |this: &mut Self, op, bound: &Expr| -> SqlResult<Comparison> {
            let right = match class {
                CompareClass::Double => this.number_beside_date(bound, &args[0])?,
                _ => None,
            };
            Ok(Comparison {
                op,
                how: Self::how(class, &args[0], bound),
                left: this.side_in_range(&args[0], bound, class)?,
                right: match right {
                    Some(number) => number,
                    None => this.side_in_range(bound, &args[0], class)?,
                },
                is_listed: false,
            })
        };
        let low = comparison(self, CompareOp::Ge, &args[1])?;
        let mut high = comparison(self, CompareOp::Le, &args[2])?;
        // A constant becomes a number once.
        if class == CompareClass::Double
            && let (Node::Once { slot, .. }, Node::Once { slot: again, .. }) = (&low.left, &mut high.left)
        {
            *again = *slot;
        }
        Ok(Node::Between { low: Box::new(low), high: Box::new(high) })
    }

    /// COALESCE of dates without those that are zero; `None`: it is something else.
    fn dates_passed_over(&mut self, expr: &Expr) -> SqlResult<Option<Node>> {
        let ExprKind::Call { function: FunctionId::Coalesce | FunctionId::IfNull, args, .. } = &expr.kind
        else {
            return Ok(None);
        };
        if !expr.data_type.has_date() {
            return Ok(None);
        }
        let mut items = Vec::with_capacity(args.len());
        for arg in args {
            items.push(match self.dates_passed_over(arg)? {
                Some(dates) => dates,
                None => {
                    let node = Box::new(self.compile(arg)?);
                    Node::Convert { node, from: arg.data_type.clone(), to: Target::DateUnlessZero }
                }
            });
        }
        Ok(Some(Node::Coalesce { items, physical: Physical::Int }))
    }

    fn row_call(
        &mut self,
        function: FunctionId,
        scalar_kernel: ScalarKernel,
        args: &[Expr],
        option: &CallOption,
        result: &DataType,
    ) -> SqlResult<Node> {
        if let Some((args, in_utf8)) = over_utf8(function, &scalar_kernel, args, result) {
            let call =
                self.over_temporary(|this| this.row_call(function, scalar_kernel, &args, option, &in_utf8))?;
            return Ok(match in_utf8.collation == result.collation {
                true => call,
                false => {
                    Node::Convert { node: Box::new(call), from: in_utf8, to: Target::Text(result.collation) }
                }
            });
        }
        let text_collation = if result.is_string() && result.collation != CollationId::BINARY {
            result.collation
        } else {
            args.iter()
                .map(|arg| &arg.data_type)
                .find(|data_type| is_text(data_type))
                .map_or(CollationId::UTF8MB4_0900_AI_CI, |data_type| data_type.collation)
        };
        let mut nodes = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            let class =
                scalar_kernel.classes.get(i).or(scalar_kernel.classes.last()).copied().unwrap_or(Class::Any);
            let target = match class {
                Class::Any => None,
                Class::Int => Some(Target::Int),
                Class::Double => Some(Target::Double),
                Class::Decimal => Some(Target::Decimal),
                Class::Text => Some(Target::Text(text_collation)),
                Class::Bytes => Some(Target::Text(CollationId::BINARY)),
                Class::Utf8 => Some(Target::Text(CollationId::UTF8MB4_BIN)),
                Class::JsonText => Some(Target::JsonText),
                Class::DateTime => Some(Target::DateTime),
                Class::DateTimeOrZero => Some(Target::DateTimeOrZero),
                Class::Date => Some(Target::Date),
                Class::DateParts => Some(Target::DateParts { days: true }),
                Class::ZeroDate => Some(Target::DateParts { days: false }),
                Class::Checked => Some(checked(arg, result)),
                Class::Time => Some(Target::Time),
                Class::Document => {
                    // A length at a path is that of what JSON_EXTRACT finds there.
                    let is_of_part = function == FunctionId::JsonLength && args.len() == 2;
                    let function = if is_of_part { FunctionId::JsonExtract } else { function };
                    Some(Target::JsonDocument { argument: i + 1, function: function.name() })
                }
                Class::JsonValue => Some(Target::JsonValue),
                Class::Result => Some(Target::Cast(result.clone())),
            };
            let passed_over = match refuses_zero_dates(function, args.len()) {
                true => self.dates_passed_over(arg)?,
                false => None,
            };
            nodes.push(match target {
                _ if let Some(dates) = passed_over => dates,
                None => self.compile(arg)?,
                Some(target) => self.converted(arg, target)?,
            });
        }
        let call = RowCall {
            kernel: scalar_kernel.kernel,
            args: nodes,
            types: args.iter().map(|arg| arg.data_type.clone()).collect(),
            result: result.clone(),
            option: option.clone(),
            null_propagates: scalar_kernel.null_propagates,
            stops_at_null: stops_at_null(function),
            name: function.name(),
            shown: shown_in_overflow(function, args, option, result).map(Into::into),
            slot: self.slot(),
        };
        // A call without arguments gives one row a row; what changes within a statement must be called for each.
        debug_assert!(function.stability() != Stability::Volatile || !call.name.is_empty());
        Ok(Node::Call(Box::new(call)))
    }
}

/// The arguments and the result of a call over texts in whose character set ASCII characters are not their bytes, in UTF-8: most
/// kernels read and write ASCII. `None`: there are none, or the function does not look at characters.
fn over_utf8(
    function: FunctionId,
    kernel: &ScalarKernel,
    args: &[Expr],
    result: &DataType,
) -> Option<(Vec<Expr>, DataType)> {
    use FunctionId as F;
    let twin = |data_type: &DataType| {
        let is_text = data_type.is_string() || data_type.members.is_some();
        is_text.then(|| data_type.collation.in_utf8()).flatten()
    };
    if twin(result).is_none() && args.iter().all(|arg| twin(&arg.data_type).is_none()) {
        return None;
    }
    let takes_bytes = kernel.classes.iter().any(|class| matches!(class, Class::Bytes));
    let is_own = match function {
        F::FromBase64 | F::Unhex => false,
        F::Ascii
        | F::BitLength
        | F::Char
        | F::CharLength
        | F::Concat
        | F::ConcatWs
        | F::Crc32
        | F::Elt
        | F::Field
        | F::Greatest
        | F::Insert
        | F::Instr
        | F::Least
        | F::Left
        | F::Length
        | F::Like
        | F::Locate
        | F::Lower
        | F::Lpad
        | F::Ord
        | F::Repeat
        | F::Reverse
        | F::Right
        | F::Rpad
        | F::Strcmp
        | F::Substring
        | F::Upper
        | F::WeightString => true,
        _ => takes_bytes,
    };
    if is_own {
        // What bytes are written as is ASCII.
        let collation = twin(result).filter(|_| takes_bytes)?;
        return Some((args.to_vec(), DataType { collation, ..result.clone() }));
    }
    let brought = |arg: &Expr| match twin(&arg.data_type) {
        None => arg.clone(),
        Some(collation) => Expr {
            kind: ExprKind::Call {
                function: F::ConvertUsing,
                args: vec![arg.clone()],
                option: CallOption::Common,
            },
            data_type: DataType::varchar(arg.data_type.length, collation),
            nullable: arg.nullable,
            coercibility: arg.coercibility,
        },
    };
    let collation = twin(result).unwrap_or(result.collation);
    Some((args.iter().map(brought).collect(), DataType { collation, ..result.clone() }))
}

/// Whether arguments of FIELD, some of which are texts or documents, are compared as numbers.
fn is_field_of_numbers(args: &[Expr]) -> bool {
    let may_fail = |arg: &Expr| is_text(&arg.data_type) || arg.data_type.kind == TypeKind::Json;
    let is_of_texts = |arg: &Expr| is_text(&arg.data_type) || arg.data_type.kind == TypeKind::Null;
    args.iter().any(may_fail) && !args.iter().all(is_of_texts)
}

/// Functions that ask their arguments for dates that are not zero: COALESCE passes over the others.
fn refuses_zero_dates(function: FunctionId, count: usize) -> bool {
    use FunctionId as F;
    match function {
        F::Timestamp => count == 2,
        F::AddTime
        | F::DateAdd
        | F::DateDiff
        | F::DateSub
        | F::DayName
        | F::DayOfWeek
        | F::DayOfYear
        | F::SubTime
        | F::TimestampDiff
        | F::ToDays
        | F::ToSeconds
        | F::Week
        | F::Weekday
        | F::WeekOfYear
        | F::YearWeek => true,
        _ => false,
    }
}

/// The call as error 6527 shows it, where it may give that.
fn shown_in_overflow(
    function: FunctionId,
    args: &[Expr],
    option: &CallOption,
    result: &DataType,
) -> Option<String> {
    use FunctionId as F;
    match function {
        F::DateAdd | F::DateSub if result.kind == TypeKind::Date => {
            let unit = match option {
                CallOption::Unit(unit) => unit.name().to_ascii_lowercase(),
                _ => "day".to_owned(),
            };
            let sign = if function == F::DateAdd { '+' } else { '-' };
            Some(format!("({} {sign} interval {} {unit})", show(&args[0]), show(&args[1])))
        }
        F::FromDays => Some(show_call(function, args)),
        _ => adds_times(function, result).then(|| show_call(function, args)),
    }
}

/// Functions that add to a time, or a time to a date.
fn adds_times(function: FunctionId, result: &DataType) -> bool {
    use FunctionId as F;
    matches!(function, F::AddTime | F::SubTime | F::Timestamp)
        || matches!(function, F::DateAdd | F::DateSub) && result.kind == TypeKind::Time
}

/// Whether the expression gives no NULL, whatever its operands are. IS NULL does not compute it then.
fn is_never_null(expr: &Expr) -> bool {
    use FunctionId as F;
    match &expr.kind {
        ExprKind::Literal(value) => !value.is_null(),
        ExprKind::Param(_) => !expr.nullable,
        ExprKind::InList { expr, list } => is_never_null(expr) && list.iter().all(is_never_null),
        ExprKind::Case { whens, otherwise: Some(otherwise) } => {
            is_never_null(otherwise) && whens.iter().all(|(_, then)| is_never_null(then))
        }
        ExprKind::Call { function, args, .. } => match function {
            F::NullSafeEq | F::IsTrue | F::IsFalse | F::IsNull | F::IsNullFunction | F::Interval => true,
            F::Not | F::And | F::Or | F::Xor => args.iter().all(is_never_null),
            F::Add | F::Sub | F::Mul | F::Neg | F::Abs => args.iter().all(is_never_null),
            F::Eq | F::Ne | F::Lt | F::Le | F::Gt | F::Ge | F::Between => args.iter().all(is_never_null),
            F::Greatest | F::Least if !expr.data_type.is_temporal() => args.iter().all(is_never_null),
            F::Cast if expr.data_type.is_numeric() && expr.data_type.kind != TypeKind::Year => {
                args.iter().all(is_never_null)
            }
            F::If => args[1..].iter().all(is_never_null),
            F::IfNull | F::Coalesce => args.iter().any(is_never_null),
            _ => false,
        },
        _ => false,
    }
}

/// A constant truth value.
fn int_column(value: Option<i64>) -> Column {
    let mut column = Column::new(Physical::Int);
    match value {
        Some(value) => column.push_int(value),
        None => column.push_null(),
    }
    column
}

/// The function does not compute its later arguments for a row where an earlier one is NULL. Most functions compute all.
fn stops_at_null(function: FunctionId) -> bool {
    use FunctionId as F;
    let of_numbers =
        matches!(function, F::Greatest | F::Least | F::Pow | F::Round | F::Truncate | F::Atan | F::Atan2);
    of_numbers || matches!(function, F::JsonContains | F::JsonOverlaps | F::JsonMergePreserve | F::MemberOf)
}

/// How a date is checked for what the session's mode refuses; the time that a parameter holds is taken as it was sent.
fn checked(arg: &Expr, result: &DataType) -> Target {
    match (&arg.kind, arg.data_type.kind) {
        _ if result.kind == TypeKind::Time => Target::WholeTime(result.scale),
        (ExprKind::Param(_), TypeKind::DateTime) => Target::Cast(result.clone()),
        (ExprKind::Param(_), _) => Target::CheckedParameter(result.clone()),
        _ => Target::Checked(result.clone()),
    }
}

/// Operands of BETWEEN among dates that are numbers: not the same for all rows, or not the bounds of a column.
fn has_numbers(args: &[Expr]) -> bool {
    let is_bound_of_column = |arg: &Expr| is_fixed(arg) && is_column(&args[0]) && !is_beyond_dates(arg);
    args.iter().any(|arg| arg.data_type.is_numeric() && !is_bound_of_column(arg))
}

/// A number that is written and larger than that of any date.
fn is_beyond_dates(number: &Expr) -> bool {
    const LARGEST: f64 = 99_991_231_235_959.999_999;
    match number.as_literal() {
        Some(Value::Double(value)) => *value > LARGEST,
        Some(Value::Decimal(value)) => value.to_f64() > LARGEST,
        _ => false,
    }
}

fn between_class(a: CompareClass, b: CompareClass) -> CompareClass {
    use CompareClass as C;
    if a == b {
        return a;
    }
    match (a, b) {
        (C::Json, _) | (_, C::Json) => C::Json,
        (C::DateTime, _) | (_, C::DateTime) => C::DateTime,
        // Beside a text that is no constant a time is a text.
        (C::Time, C::Text(of)) | (C::Text(of), C::Time) => C::Text(of),
        (C::Time, _) | (_, C::Time) => C::Time,
        (C::Double, _) | (_, C::Double) => C::Double,
        (C::Text(_), C::Int | C::Decimal) | (C::Int | C::Decimal, C::Text(_)) => C::Double,
        (C::Decimal, _) | (_, C::Decimal) => C::Decimal,
        _ => a,
    }
}

/// BETWEEN with a document among its operands, which is a text there, or a number beside one.
fn between_documents(args: &[Expr]) -> CompareClass {
    if args.iter().any(|arg| arg.data_type.is_temporal()) {
        CompareClass::Json
    } else if args.iter().any(|arg| arg.data_type.is_numeric()) {
        CompareClass::Double
    } else {
        CompareClass::Text(CollationId::UTF8MB4_BIN)
    }
}

/// The expression yields 0, 1 or NULL as an integer.
fn yields_truth(expr: &Expr) -> bool {
    use FunctionId as F;
    matches!(expr.kind, ExprKind::InList { .. })
        || matches!(
            &expr.kind,
            ExprKind::Call {
                function: F::Eq
                    | F::NullSafeEq
                    | F::Ne
                    | F::Lt
                    | F::Le
                    | F::Gt
                    | F::Ge
                    | F::And
                    | F::Or
                    | F::Xor
                    | F::Not
                    | F::IsNull
                    | F::IsNullFunction
                    | F::IsTrue
                    | F::IsFalse
                    | F::Between
                    | F::Like
                    | F::RegexpLike,
                ..
            }
        )
}

fn show_call(function: FunctionId, args: &[Expr]) -> String {
    let args: Vec<String> = args.iter().map(show).collect();
    format!("{}({})", function.name(), args.join(","))
}

/// The expression as error 1690 shows it.
fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Literal(value) => match value {
            Value::Null => "NULL".to_owned(),
            Value::Int(value) => value.to_string(),
            Value::UInt(value) => value.to_string(),
            Value::Decimal(value) => value.to_string(),
            Value::Double(value) => {
                let mut out = Vec::new();
                types::number::write_double(*value, &mut out);
                String::from_utf8_lossy(&out).into_owned()
            }
            Value::Bytes { bytes, .. } => format!("'{}'", String::from_utf8_lossy(bytes)),
            _ => "?".to_owned(),
        },
        ExprKind::Param(_) => "?".to_owned(),
        ExprKind::Call { function, args, .. }
            if args.len() == 2 && !function.name().starts_with(char::is_alphabetic) =>
        {
            format!("({} {} {})", show(&args[0]), function.name(), show(&args[1]))
        }
        ExprKind::Call { function: FunctionId::IntDiv, args, .. } => {
            format!("({} DIV {})", show(&args[0]), show(&args[1]))
        }
        ExprKind::Call { function: FunctionId::Neg, args, .. } => {
            format!("-({})", args.first().map(show).unwrap_or_default())
        }
        ExprKind::Call { function: FunctionId::Cast, args, .. } => {
            let mut name = Vec::new();
            expr.data_type.print_sql(&mut name);
            let to = match expr.data_type.kind {
                TypeKind::BigInt if expr.data_type.unsigned => "unsigned".to_owned(),
                TypeKind::BigInt => "signed".to_owned(),
                _ => String::from_utf8_lossy(&name).into_owned(),
            };
            format!("cast({} as {to})", args.first().map(show).unwrap_or_default())
        }
        ExprKind::Call { function, args, .. } => show_call(*function, args),
        _ => "<expression>".to_owned(),
    }
}
