//! Expressions.

use std::sync::Arc;

use syntax::ast::{
    self, AggregateFunc, BinaryOp, CastType, CompareOp, ExprKind as Ast, IsTest, JsonOn, Query, UnaryOp,
};
use types::data_type::FRACTION_DIGITS_MAX;
use types::{CollationId, DataType, TypeKind, Value};

use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{
    CallOption, Coercibility, Expr, ExprKind, JsonAnswer, JsonValueOption, Subquery, SubqueryKind,
};
use crate::function::{self, FunctionId, Typed};
use crate::logical::{AggregateCall, AggregateFunction, Logical, SortKey};

use super::chosen_dates;
use super::left_side::{LeftSide, StoredLeft, is_one_row, is_one_value, may_be_joined, may_be_materialized};

/// Bytes a value of BIT_AND, BIT_OR and BIT_XOR over byte strings may have.
const BIT_AGGREGATE_BYTES_MAX: u32 = 511;

/// Width of CAST to an integer: digits of any and a sign.
pub(super) const INTEGER_CAST_WIDTH: u32 = 21;

/// 1267 of a comparison that NOT turns round: it names the one that is left.
#[cold]
fn negated_error(mut error: Box<PlanError>, op: CompareOp) -> Box<PlanError> {
    let opposite = match op {
        CompareOp::Eq => "<>",
        CompareOp::Ne => "=",
        CompareOp::Lt => ">=",
        CompareOp::Le => ">",
        CompareOp::Gt => "<=",
        CompareOp::Ge => "<",
        CompareOp::NullSafeEq => return error,
    };
    let written = format!("for operation '{}'", compare_function(op).name());
    if error.number == 1267 && error.message.ends_with(&written) {
        let rest = error.message.len() - written.len();
        error.message.truncate(rest);
        error.message += &format!("for operation '{opposite}'");
    }
    error
}

fn has_document(args: &[Expr]) -> bool {
    args.iter().any(|arg| arg.data_type.kind == TypeKind::Json)
}

impl<'a> Binder<'a> {
    /// Makes a call.
    pub(crate) fn call(&self, function: FunctionId, mut args: Vec<Expr>) -> PlanResult<Expr> {
        if function == FunctionId::CurrentUser
            && let Some(definer) = self.definer_in_view()
        {
            let call = self.call_with(function, args, CallOption::None)?;
            let value = Value::string(definer, call.data_type.collation);
            return Ok(Expr { kind: ExprKind::Literal(value), ..call });
        }
        chosen_dates::check(function, &mut args);
        chosen_dates::keep_bounds(function, &mut args);
        self.call_with(function, args, CallOption::None)
    }

    pub(super) fn call_with(
        &self,
        function: FunctionId,
        mut args: Vec<Expr>,
        option: CallOption,
    ) -> PlanResult<Expr> {
        if self.has_open_parameters() {
            if takes_charset(function) {
                self.note_charsets(if function == FunctionId::If { &args[1..] } else { &args });
            }
            self.read_documents(function, &mut args);
            self.with_types(&mut args, |args| function::derive(function, args, &option, &self.types));
        }
        self.call_typed(function, args, option)
    }

    /// As above; parameters among the arguments stay what they are.
    fn call_typed(&self, function: FunctionId, args: Vec<Expr>, option: CallOption) -> PlanResult<Expr> {
        let (mut args, option) = match function::of_numbers(function, args, option, &self.types) {
            Ok(call) => return Ok(call),
            Err(parts) => parts,
        };
        self.document_values(function, &mut args);
        self.passed_values(function, &args);
        self.times_beside_texts(function, &mut args)?;
        if let Some(first) = args.first() {
            self.note_time(function, first);
        }
        if !matches!(option, CallOption::AsIs) {
            function::documents_beside_bigints(function, &mut args, |id| {
                self.columns[id.0 as usize].origin.is_some() || self.materialized_columns.contains(&id)
            });
        }
        if searches_pattern(function) {
            self.check_materialized_nulls(function, &args, &option)?;
        }
        self.fold_beside_bigints(function, &mut args);
        self.fold_beside_times(function, &mut args);
        if function == FunctionId::Strcmp {
            self.fold_beside_years(&mut args);
        }
        if !matches!(option, CallOption::AsIs) {
            self.fold_beside_decimals(function, &mut args);
        }
        function::build_any(function, args, option, &self.types)
    }

    /// STRCMP and NULLIF read a text beside a BIGINT column when the statement is planned, if it is known then.
    fn fold_beside_bigints(&self, function: FunctionId, args: &mut [Expr]) {
        let pairs: &[(usize, usize)] = match function {
            FunctionId::Strcmp => &[(0, 1), (1, 0)],
            FunctionId::NullIf => &[(1, 0)],
            _ => return,
        };
        for &(column, constant) in pairs {
            let is_bigint =
                args[column].as_column().is_some() && args[column].data_type.kind == TypeKind::BigInt;
            let of = &args[constant];
            if !is_bigint || of.as_literal().is_some() || !of.data_type.is_string() {
                continue;
            }
            if let Some(value @ Value::Bytes { .. }) = self.constant(of) {
                let data_type = of.data_type.clone();
                let coercibility = of.coercibility;
                args[constant] = Expr { data_type, coercibility, ..Expr::literal(value) };
            }
        }
    }

    /// STRCMP of a YEAR column compares texts where a constant is none or begins with no number: it reads it when the statement is planned.
    fn fold_beside_years(&self, args: &mut [Expr]) {
        for (column, constant) in [(0, 1), (1, 0)] {
            let of = &args[constant];
            let is_year = args[column].as_column().is_some() && args[column].data_type.kind == TypeKind::Year;
            let is_document = of.data_type.kind == TypeKind::Json;
            if !is_year || of.as_literal().is_some() || !(is_document || of.data_type.is_string()) {
                continue;
            }
            let text = match self.constant(of) {
                Some(Value::Json(document)) if types::json::string(&document).is_some() => {
                    let mut text = Vec::new();
                    types::json::print(&document, &mut text);
                    Value::Bytes { bytes: text, collation: CollationId::UTF8MB4_BIN }
                }
                Some(value @ Value::Bytes { .. }) if !is_document => value,
                _ => continue,
            };
            args[constant] = Expr { coercibility: of.coercibility, ..Expr::literal(text) };
        }
    }

    /// A constant text beside a DECIMAL that is none is compared with all its digits.
    fn fold_beside_decimals(&self, function: FunctionId, args: &mut [Expr]) {
        if !function.is_comparison_operator() && function != FunctionId::NullIf {
            return;
        }
        for (decimal, constant) in [(0, 1), (1, 0)] {
            let of = &args[constant];
            if args[decimal].data_type.kind != TypeKind::Decimal
                || args[decimal].is_constant()
                || !of.data_type.is_string()
                || of.data_type.is_hex_literal()
                || function == FunctionId::NullIf && constant == 0
            {
                continue;
            }
            let value = match of.as_literal() {
                Some(value) => Some(value.clone()),
                None => self.constant(of),
            };
            if let Some(Value::Bytes { bytes, collation }) = value
                && let bytes = collation.charset().readable(&bytes)
                && let parsed = types::Decimal::parse(&bytes)
                && !parsed.overflow
                && !parsed.rounded
                && parsed.consumed == bytes.len()
                && parsed.consumed > 0
            {
                args[constant] = Expr::literal(Value::Decimal(parsed.value));
            }
        }
    }

    /// What NULLIF gives beside a column of times or dates is made such a value when the statement is planned, if it is known then: a
    /// time too, which is left alone as a literal.
    fn fold_beside_times(&self, function: FunctionId, args: &mut [Expr]) {
        if function != FunctionId::NullIf || args[1].as_column().is_none() || args[0].as_literal().is_some() {
            return;
        }
        let column = &args[1].data_type;
        if column.kind == TypeKind::Time && args[0].data_type.kind == TypeKind::Time {
            // A literal is never NULL.
            if args[0].nullable && args[0].is_foldable_with(0) {
                let to = DataType::time(column.scale);
                args[0] = function::cast(std::mem::replace(&mut args[0], Expr::null()), to);
            }
        } else if matches!(column.kind, TypeKind::Time | TypeKind::Date)
            && let Some(value) = self.constant(&args[0]).filter(|value| !matches!(value, Value::Null))
        {
            let data_type = args[0].data_type.clone();
            let coercibility = args[0].coercibility;
            args[0] = Expr { data_type, coercibility, ..Expr::literal(value) };
        }
    }

    /// A text for a parameter that a function takes a document from is parsed as CAST does it. Other values keep their own types.
    fn read_documents(&self, function: FunctionId, args: &mut [Expr]) {
        let documents = documents_of(function).min(args.len());
        for arg in &mut args[..documents] {
            if let ExprKind::Param(ordinal) = arg.kind
                && function::is_untyped(arg, &self.types)
            {
                self.note_parameter(ordinal, Some(DataType::JSON));
                *arg = function::cast(std::mem::replace(arg, Expr::null()), DataType::JSON);
            }
        }
    }

    /// NULL is bytes as soon as a derived table stored_left it: a pattern of characters does not search it.
    ///
    /// # Errors
    /// 3995.
    fn check_materialized_nulls(
        &self,
        function: FunctionId,
        args: &[Expr],
        option: &CallOption,
    ) -> PlanResult<()> {
        let is_materialized_null = |arg: &Expr| {
            arg.data_type.kind == TypeKind::Null
                && arg.as_column().is_some_and(|id| self.materialized_columns.contains(&id))
        };
        if args.iter().any(is_materialized_null) {
            let mut kept = args.to_vec();
            for arg in kept.iter_mut().filter(|arg| is_materialized_null(arg)) {
                arg.data_type = DataType::varchar(0, CollationId::BINARY);
            }
            function::build(function, kept, option.clone(), &self.types)?;
        }
        Ok(())
    }

    /// Notes a parameter whose time of day a function reads.
    fn note_time(&self, function: FunctionId, arg: &Expr) {
        if let ExprKind::Param(ordinal) = arg.kind
            && self.types.fixes_parameters
            && function::reads_time(function)
        {
            self.time_parameters.borrow_mut().push(ordinal);
        }
    }

    /// What CAST and CONVERT make of a client's parameter, whatever value comes: the longest text of the collation. Of a text that is
    /// bound again they make bytes of all its characters.
    fn longest_text(&self, operand: &Expr, collation: CollationId) -> Option<DataType> {
        let is_parameter = self.types.fixes_parameters && matches!(operand.kind, ExprKind::Param(_));
        let is_again = self.types.binds_again && operand.data_type.is_string();
        (is_parameter && !(is_again && collation == CollationId::BINARY))
            .then(|| function::untyped(collation))
    }

    fn typed(&self, function: FunctionId, arg: Expr, data_type: DataType) -> PlanResult<Expr> {
        function::build_typed(function, vec![arg], data_type, CallOption::None, &self.types)
    }

    fn negate(&self, expr: Expr, negated: bool) -> PlanResult<Expr> {
        if negated { self.call(FunctionId::Not, vec![expr]) } else { Ok(expr) }
    }

    pub(crate) fn exprs(&mut self, exprs: &'a [ast::Expr<'a>]) -> PlanResult<Vec<Expr>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// A condition: joined by AND, split into its members.
    pub(crate) fn condition(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Vec<Expr>> {
        let mut conditions = Vec::new();
        self.is_conjunct = self.block().clause != "having clause";
        let bound = self.expr(expr)?;
        let mut bound = self.truth(bound)?;
        self.with_types(std::slice::from_mut(&mut bound), |bound| {
            bound.iter_mut().for_each(|bound| function::derive_condition(bound, &self.types));
        });
        crate::rewrite::conjuncts(bound, &mut conditions);
        if self.has_open_parameters() && self.block().clause != "having clause" {
            for condition in &mut conditions {
                function::years_of_parameters(condition, &self.types);
            }
        }
        // The number in a text is asked for, with a warning where there is none.
        for condition in &mut conditions {
            if condition.data_type.is_string() {
                let text = std::mem::replace(condition, Expr::null());
                *condition = self.call(FunctionId::IsTrue, vec![text])?;
            }
        }
        Ok(conditions)
    }

    /// A condition of WHERE.
    pub(crate) fn where_condition(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Vec<Expr>> {
        let mut conditions = self.condition(expr)?;
        conditions.iter_mut().try_for_each(|condition| self.find_zero_dates(condition))?;
        Ok(conditions)
    }

    /// `date IS NULL`, a condition of WHERE, finds zero dates in a column that is NOT NULL.
    fn find_zero_dates(&mut self, condition: &mut Expr) -> PlanResult<()> {
        let ExprKind::Call { function: FunctionId::IsNull | FunctionId::IsNullFunction, args, .. } =
            &condition.kind
        else {
            return Ok(());
        };
        let Some((id, (table, ordinal))) = args[0].as_column().and_then(|id| {
            let info = &self.columns[id.0 as usize];
            Some((id, info.origin?))
        }) else {
            return Ok(());
        };
        let column = &self.tables[table.0 as usize].entry.definition.columns[ordinal as usize];
        // A column of a derived table is none of its table's here.
        let is_direct = self.blocks.iter().any(|block| block.shows(table));
        if column.nullable
            || !matches!(column.data_type.kind, TypeKind::Date | TypeKind::DateTime)
            || !is_direct
        {
            return Ok(());
        }
        let zero = Expr::literal(Value::Int(0));
        let is_zero = self.call(FunctionId::Eq, vec![args[0].clone(), zero])?;
        *condition = if self.columns[id.0 as usize].nullable {
            self.call(FunctionId::Or, vec![condition.clone(), is_zero])?
        } else {
            is_zero
        };
        Ok(())
    }

    /// Whether MySQL knows that what is computed cannot be NULL, and does not compute it where that is asked. The row above the groups of ROLLUP
    /// may have NULL in place of a column.
    fn is_never_null(&self, operand: &Expr) -> bool {
        let is_computed = match &operand.kind {
            ExprKind::Call { .. } => true,
            ExprKind::Subquery(subquery) => matches!(subquery.kind, SubqueryKind::Exists),
            _ => false,
        };
        is_computed
            && !operand.may_be_null()
            && !self.blocks.iter().any(|block| block.has_rollup)
            && crate::rewrite::is_repeatable(operand)
    }

    /// An operand of which the truth is asked: JSON is compared with the JSON integer 0 (3986), unlike in IF and CASE.
    fn truth(&mut self, expr: Expr) -> PlanResult<Expr> {
        if expr.data_type.kind != TypeKind::Json {
            return Ok(expr);
        }
        self.warnings.push(*PlanError::new(
            3986,
            "Evaluating a JSON value in SQL boolean context does an implicit comparison against JSON integer 0; if this \
             is not what you want, consider converting JSON to a SQL numeric type with JSON_VALUE RETURNING",
        ));
        self.call(FunctionId::Ne, vec![Expr::literal(Value::Int(0)), expr])
    }

    /// An expression with one value.
    pub(crate) fn expr(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Expr> {
        self.depth += 1;
        if self.depth > super::EXPRESSION_DEPTH_MAX {
            self.depth -= 1;
            return Err(PlanError::new(
                1436,
                "Thread stack overrun:  the expression is nested too deeply.  Use 'mysqld --thread_stack=#' to \
                 specify a bigger stack.",
            ));
        }
        crate::progress::step();
        let bound = self.expr_here(expr);
        self.depth -= 1;
        bound
    }

    fn expr_here(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Expr> {
        let is_conjunct = std::mem::take(&mut self.is_conjunct);
        let is_negated = std::mem::take(&mut self.is_negated);
        match &expr.kind {
            Ast::Literal(literal) => self.literal(literal, expr.span.start),
            Ast::Column(name) => self.column(name),
            Ast::Param(ordinal) => {
                self.refuse_in_view()?;
                Ok(self.parameter(*ordinal))
            }
            Ast::UserVar(name) => {
                self.refuse_in_view()?;
                Ok(self.user_variable(name))
            }
            Ast::UserVarAssign { name, value } => {
                self.refuse_in_view()?;
                let value = self.expr(value)?;
                self.volatile = true;
                let (data_type, nullable) = (value.data_type.clone(), value.nullable);
                let name = utf8(name).to_lowercase().into();
                Ok(Expr::new(ExprKind::UserVarAssign { name, value: Box::new(value) }, data_type, nullable))
            }
            Ast::SysVar(variable) => {
                self.refuse_in_view()?;
                self.volatile = true;
                let name = utf8(variable.name.text).to_ascii_lowercase();
                let name = match variable.component {
                    Some(component) => format!("{}.{name}", utf8(component.text).to_ascii_lowercase()),
                    None => name,
                };
                let mut value = Expr::literal(self.session.system_variable(variable.scope, &name)?);
                if value.data_type.is_string() {
                    value.coercibility = Coercibility::SystemConstant;
                }
                Ok(value)
            }
            Ast::Unary { op, expr: operand } => self.unary(*op, operand, is_negated),
            Ast::Binary { op, left, right } => self.binary(*op, left, right, is_conjunct, is_negated),
            Ast::Compare { op, left, right } => self.compare(*op, left, right, is_conjunct, is_negated),
            Ast::Quantified { op, all, left, query } => {
                let left = self.left_of_subquery(left, query)?;
                if left.len() > 1 && *op == CompareOp::Ne && *all {
                    // NOT IN.
                    let found = self.quantified(CompareOp::Eq, false, LeftSide::Stored, left, query)?;
                    return self.negate(found, true);
                }
                let side = match op {
                    CompareOp::Eq if !*all && is_conjunct => LeftSide::Joined,
                    CompareOp::Eq | CompareOp::Ne => LeftSide::Stored,
                    _ => LeftSide::Bound,
                };
                self.quantified(*op, *all, side, left, query)
            }
            Ast::Is { expr, test, negated } => {
                let function = match test {
                    IsTest::Null | IsTest::Unknown => FunctionId::IsNull,
                    IsTest::True => FunctionId::IsTrue,
                    IsTest::False => FunctionId::IsFalse,
                };
                self.is_conjunct = is_conjunct && *test == IsTest::True && !*negated;
                let mut operand = self.expr(expr)?;
                if function != FunctionId::IsNull {
                    operand = self.truth(operand)?;
                }
                let is_false = function == FunctionId::IsNull && self.is_never_null(&operand);
                let mut call = self.call(function, vec![operand])?;
                if let (true, ExprKind::Call { option, .. }) = (is_false, &mut call.kind) {
                    *option = CallOption::NeverNull;
                }
                self.negate(call, *negated)
            }
            Ast::Like { expr, pattern, escape, negated } => {
                let mut args = vec![self.expr(expr)?, self.expr(pattern)?];
                if let Some(escape) = escape {
                    args.push(self.expr(escape)?);
                }
                let call = self.call(FunctionId::Like, args)?;
                self.negate(call, *negated)
            }
            Ast::Regexp { expr, pattern, negated } => {
                let args = vec![self.expr(expr)?, self.expr(pattern)?];
                let call = self.call(FunctionId::RegexpLike, args)?;
                self.negate(call, *negated)
            }
            Ast::Between { expr, low, high, negated } => {
                let args = vec![self.expr(expr)?, self.expr(low)?, self.expr(high)?];
                let has_document = has_document(&args);
                let call = self.call(FunctionId::Between, args)?;
                if has_document {
                    self.warn_of_documents("BETWEEN operator");
                }
                self.negate(call, *negated)
            }
            Ast::InList { expr, list, negated } => {
                self.in_list(expr, list, is_conjunct && !*negated, *negated)
            }
            Ast::InSubquery { expr, query, negated } => {
                if query.limit.is_some() {
                    return Err(PlanError::not_supported("LIMIT & IN/ALL/ANY/SOME subquery"));
                }
                let left = self.left_of_subquery(expr, query)?;
                let side = if is_conjunct && !*negated { LeftSide::Joined } else { LeftSide::Stored };
                let call = self.quantified(CompareOp::Eq, false, side, left, query)?;
                self.negate(call, *negated)
            }
            Ast::Exists(query) => {
                let (mut plan, columns, outer) = self.subquery(query)?;
                crate::rewrite::ignore_order_and_duplicates(&mut plan);
                let (kind, block) = (SubqueryKind::Exists, self.hinted_block_of(query));
                let subquery = Subquery { kind, plan, columns, outer, needed_if: Vec::new(), block };
                Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), DataType::BOOL, false))
            }
            Ast::Subquery(query) => {
                let (plan, columns, outer) = self.subquery(query)?;
                let [column] = columns[..] else { return Err(operand_columns(1)) };
                let Expr { mut data_type, coercibility, nullable, .. } = self.column_expr(column);
                let is_one_row = is_one_row(&plan);
                // The stored value of a subquery is a text, even if it is a literal of bytes.
                if data_type.is_hex_literal() && !is_one_row {
                    data_type.unsigned = false;
                }
                // What COALESCE and its like give of BIT values is bits again where a subquery stores it.
                if let Some(bits) = self.columns[column.0 as usize].bits.filter(|_| !is_one_row)
                    && data_type.is_integer()
                {
                    data_type = DataType::bit(bits);
                }
                let nullable = nullable || !is_one_row;
                let (kind, block) = (SubqueryKind::Scalar, self.hinted_block_of(query));
                let subquery = Subquery { kind, plan, columns, outer, needed_if: Vec::new(), block };
                let value = Expr::new(ExprKind::Subquery(Box::new(subquery)), data_type, nullable);
                Ok(Expr { coercibility, ..value })
            }
            Ast::Row(_) => Err(operand_columns(1)),
            Ast::Case(case) => self.case(case),
            Ast::Cast(cast) => {
                if cast.array {
                    return Err(PlanError::not_supported("CAST( .. AS .. ARRAY)"));
                }
                if cast.at_time_zone.is_some() {
                    return Err(PlanError::not_supported("AT TIME ZONE"));
                }
                self.warn_of_binary(expr.span.start, cast);
                let mut operand = self.expr(&cast.expr)?;
                let data_type = self.cast_type(&cast.to)?;
                if data_type.is_string() {
                    self.note_cast_charset(&operand, data_type.collation);
                }
                function::derive_cast(&mut operand, &data_type, &self.types);
                self.note_parameters(std::slice::from_ref(&operand));
                match data_type.kind {
                    TypeKind::Time => self.note_time(FunctionId::Cast, &operand),
                    TypeKind::Json => self.document_value(&mut operand),
                    _ if data_type.is_string() => self.chosen_values(std::iter::once(&operand)),
                    _ => {}
                }
                let option = match cast.to {
                    CastType::Binary(None) | CastType::Char { length: None, .. } => CallOption::Whole,
                    CastType::Binary(Some(_)) => CallOption::Filled,
                    CastType::Char { .. } if data_type.collation == CollationId::BINARY => CallOption::Filled,
                    _ if data_type.has_date() => CallOption::Checked,
                    _ => CallOption::None,
                };
                let longest = self.longest_text(&operand, data_type.collation);
                let longest = longest.filter(|_| option == CallOption::Whole);
                let args = vec![operand];
                let mut call = function::build_typed(FunctionId::Cast, args, data_type, option, &self.types)?;
                if let Some(longest) = longest {
                    call.data_type = longest;
                }
                Ok(call)
            }
            Ast::ConvertUsing { expr, charset } => {
                let operand = self.expr(expr)?;
                let collation = self.charset_collation(charset)?;
                self.note_cast_charset(&operand, collation);
                let data_type = DataType::varchar(operand.data_type.length, collation);
                let longest = self.longest_text(&operand, collation);
                let mut call = self.typed(FunctionId::ConvertUsing, operand, data_type)?;
                if let Some(longest) = longest {
                    call.data_type = longest;
                }
                Ok(call)
            }
            Ast::Collate { expr, collation } => self.collate(expr, collation),
            Ast::Function(call) => self.function(call),
            Ast::Aggregate(aggregate) => self.aggregate(aggregate),
            Ast::Window(call) => self.window_call(call),
            Ast::Grouping(args) => self.grouping(args),
            Ast::DateArith { date, interval, unit, subtract } => {
                let args = vec![self.expr(date)?, self.expr(interval)?];
                let function = if *subtract { FunctionId::DateSub } else { FunctionId::DateAdd };
                self.call_with(function, args, CallOption::Unit(*unit))
            }
            Ast::Extract { unit, expr } => {
                let operand = self.expr(expr)?;
                self.call_with(FunctionId::Extract, vec![operand], CallOption::Unit(*unit))
            }
            Ast::TimestampDiff { unit, from, to } => {
                let args = vec![self.expr(from)?, self.expr(to)?];
                self.call_with(FunctionId::TimestampDiff, args, CallOption::Unit(*unit))
            }
            Ast::Trim { side, remove, expr } => {
                let mut args = vec![self.expr(expr)?];
                if let Some(remove) = remove {
                    args.push(self.expr(remove)?);
                }
                let function = match side {
                    ast::TrimSide::Both => FunctionId::Trim,
                    ast::TrimSide::Leading => FunctionId::LTrim,
                    ast::TrimSide::Trailing => FunctionId::RTrim,
                };
                self.call(function, args)
            }
            Ast::Char { args, charset } => {
                let bound = self.exprs(args)?;
                let collation = match charset {
                    Some(name) => self.charset_collation(name)?,
                    None => CollationId::BINARY,
                };
                let data_type = DataType::varchar(4 * bound.len() as u32, collation);
                function::build_typed(FunctionId::Char, bound, data_type, CallOption::None, &self.types)
            }
            Ast::WeightString { expr, binary, length } => {
                let mut operand = self.expr(expr)?;
                // A text is cut and filled up by the function.
                if let (false, Some(length)) = (*binary, *length)
                    && operand.data_type.is_string()
                    && operand.data_type.collation != CollationId::BINARY
                {
                    let option = CallOption::Number(length.min(u64::from(u32::MAX)));
                    return self.call_with(FunctionId::WeightString, vec![operand], option);
                }
                if *binary || length.is_some() {
                    let collation = if *binary { CollationId::BINARY } else { operand.data_type.collation };
                    let chars = length.unwrap_or(u64::from(operand.data_type.length));
                    let data_type = DataType::char(chars.min(u64::from(u32::MAX)) as u32, collation);
                    operand = self.typed(FunctionId::Cast, operand, data_type)?;
                }
                self.call(FunctionId::WeightString, vec![operand])
            }
            Ast::GetFormat { kind, expr } => {
                let style = match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::DateTime => "DATETIME",
                };
                let operand = self.expr(expr)?;
                let option = CallOption::Text(style.as_bytes().into());
                self.call_with(FunctionId::GetFormat, vec![operand], option)
            }
            Ast::Match(_) => Err(PlanError::not_supported("FULLTEXT indexes")),
            Ast::JsonExtract { column, path, unquote } => {
                let path = Expr::literal(Value::string(*path, self.types.connection_collation));
                let args = vec![self.expr(column)?, path];
                let call = self.call(FunctionId::JsonExtract, args)?;
                if *unquote { self.call(FunctionId::JsonUnquote, vec![call]) } else { Ok(call) }
            }
            Ast::JsonValue(call) => self.json_value(call),
            Ast::MemberOf { value, array } => {
                let args = vec![self.expr(value)?, self.expr(array)?];
                self.call(FunctionId::MemberOf, args)
            }
            Ast::DefaultOf(name) => self.default_of(name),
            Ast::ValuesOf(name) => self.values_of(name),
            Ast::Default => {
                Err(PlanError::new(1064, "You have an error in your SQL syntax; DEFAULT is no value here"))
            }
        }
    }

    /// The operands of a row, or one.
    fn row(&mut self, expr: &'a ast::Expr<'a>) -> PlanResult<Vec<Expr>> {
        match &expr.kind {
            Ast::Row(parts) => self.exprs(parts),
            _ => Ok(vec![self.expr(expr)?]),
        }
    }

    pub(crate) fn user_variable(&mut self, name: &[u8]) -> Expr {
        self.volatile = true;
        let name: Arc<str> = utf8(name).to_lowercase().into();
        let data_type = self
            .session
            .user_variable(&name)
            .unwrap_or_else(|| DataType::text(TypeKind::MediumText, CollationId::BINARY));
        Expr::new(ExprKind::UserVar(name), data_type, true)
    }

    /// `-operand`. Of a constant that is a negative integer, or one above the largest BIGINT, MySQL makes a decimal.
    fn negative(&self, operand: Expr) -> PlanResult<Expr> {
        let is_decimal = operand.data_type.is_integer()
            && self.constant(&operand).is_some_and(|value| match value {
                Value::Int(value) => value < 0,
                // -(9223372036854775808) is a BIGINT as it is without parentheses.
                Value::UInt(value) => value > 1 << 63 || value == 1 << 63 && operand.as_literal().is_none(),
                _ => false,
            });
        let mut call = self.call(FunctionId::Neg, vec![operand])?;
        if is_decimal && call.data_type.is_integer() {
            let digits = call.data_type.length.saturating_sub(1).max(1);
            call.data_type = DataType::decimal(digits, 0);
        }
        Ok(call)
    }

    /// The value of a constant, where it is known now.
    pub(crate) fn constant(&self, expr: &Expr) -> Option<Value> {
        match expr.as_literal() {
            Some(value) => Some(value.clone()),
            None if expr.is_foldable() => self.session.constant(expr),
            None => match &expr.kind {
                ExprKind::Subquery(subquery) => super::constant_checks::value_without_table(subquery)
                    .and_then(|value| self.constant(value)),
                _ => None,
            },
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a ast::Expr<'a>, is_negated: bool) -> PlanResult<Expr> {
        if let (UnaryOp::Neg, Ast::Literal(ast::Literal::Number(kind, text))) = (op, &operand.kind)
            && self.literal_parameter(operand.span.start).is_none()
        {
            return super::literal::number_literal(*kind, text, true);
        }
        self.is_negated = op == UnaryOp::Not && !is_negated;
        let operand = self.expr(operand)?;
        match op {
            UnaryOp::Plus => Ok(operand),
            UnaryOp::Neg => self.negative(operand),
            UnaryOp::BitNot => self.call(FunctionId::BitNot, vec![operand]),
            UnaryOp::Not => {
                let operand = self.truth(operand)?;
                self.call(FunctionId::Not, vec![operand])
            }
        }
    }

    fn binary(
        &mut self,
        op: BinaryOp,
        left: &'a ast::Expr<'a>,
        right: &'a ast::Expr<'a>,
        is_conjunct: bool,
        is_negated: bool,
    ) -> PlanResult<Expr> {
        let function = match op {
            BinaryOp::Add => FunctionId::Add,
            BinaryOp::Sub => FunctionId::Sub,
            BinaryOp::Mul => FunctionId::Mul,
            BinaryOp::Div => FunctionId::Div,
            BinaryOp::IntDiv => FunctionId::IntDiv,
            BinaryOp::Mod => FunctionId::Mod,
            BinaryOp::BitOr => FunctionId::BitOr,
            BinaryOp::BitAnd => FunctionId::BitAnd,
            BinaryOp::BitXor => FunctionId::BitXor,
            BinaryOp::ShiftLeft => FunctionId::ShiftLeft,
            BinaryOp::ShiftRight => FunctionId::ShiftRight,
            BinaryOp::And => FunctionId::And,
            BinaryOp::Or => FunctionId::Or,
            BinaryOp::Xor => FunctionId::Xor,
            BinaryOp::Concat => FunctionId::Concat,
        };
        // A long chain of AND or OR leans to the left: walk it instead of descending, and make one n-ary call.
        if matches!(op, BinaryOp::And | BinaryOp::Or) {
            let mut operands = vec![right];
            let mut rest = left;
            while let Ast::Binary { op: inner, left, right } = &rest.kind
                && *inner == op
            {
                operands.push(right);
                rest = left;
            }
            operands.push(rest);
            let mut args = Vec::with_capacity(operands.len());
            for operand in operands.into_iter().rev() {
                self.is_conjunct = is_conjunct && op == BinaryOp::And;
                self.is_negated = is_negated;
                let bound = self.expr(operand)?;
                match bound.kind {
                    ExprKind::Call { function: inner, args: inner_args, .. } if inner == function => {
                        args.extend(inner_args);
                    }
                    _ => args.push(self.truth(bound)?),
                }
            }
            return self.call(function, args);
        }
        let mut args = vec![self.expr(left)?, self.expr(right)?];
        if function == FunctionId::Xor {
            args = args.into_iter().map(|arg| self.truth(arg)).collect::<PlanResult<_>>()?;
        }
        self.call(function, args)
    }

    fn compare(
        &mut self,
        op: CompareOp,
        left: &'a ast::Expr<'a>,
        right: &'a ast::Expr<'a>,
        is_conjunct: bool,
        is_negated: bool,
    ) -> PlanResult<Expr> {
        if matches!(left.kind, Ast::Row(_)) || matches!(right.kind, Ast::Row(_)) {
            let side = if is_conjunct { LeftSide::RowOfConjunct } else { LeftSide::Row };
            if let (Ast::Row(_), Ast::Subquery(query)) = (&left.kind, &right.kind) {
                let left = self.row(left)?;
                return self.quantified(op, false, side, left, query);
            }
            if let (Ast::Subquery(query), Ast::Row(_)) = (&left.kind, &right.kind) {
                let right = self.row(right)?;
                return self.quantified(swapped(op), false, side, right, query);
            }
            if !matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne) {
                self.unequal_rows += 1;
                let (left, right) = (self.row(left)?, self.row(right)?);
                let mut shared = Vec::new();
                let mut share = |row: Vec<Expr>| -> Vec<Expr> {
                    row.into_iter().map(|part| function::share(part, &mut shared)).collect()
                };
                let (left, right) = (share(left), share(right));
                return Ok(function::with_operands(shared, self.compare_rows(op, left, right)?));
            }
            let (left, right) = (self.row(left)?, self.row(right)?);
            return self.compare_rows(op, left, right);
        }
        let args = vec![self.expr(left)?, self.expr(right)?];
        self.note_wrong_text([(left, &args[0]), (right, &args[1])]);
        self.call(compare_function(op), args)
            .map_err(|error| if is_negated { negated_error(error, op) } else { error })
    }

    fn compare_rows(&self, op: CompareOp, left: Vec<Expr>, right: Vec<Expr>) -> PlanResult<Expr> {
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        let pairs = left.into_iter().zip(right);
        match op {
            CompareOp::Eq | CompareOp::NullSafeEq => {
                let parts = pairs
                    .map(|(left, right)| self.call(compare_function(op), vec![left, right]))
                    .collect::<PlanResult<Vec<_>>>()?;
                self.all_of(parts)
            }
            CompareOp::Ne => {
                let parts = pairs
                    .map(|(left, right)| self.call(FunctionId::Ne, vec![left, right]))
                    .collect::<PlanResult<Vec<_>>>()?;
                self.call(FunctionId::Or, parts)
            }
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {
                // (a, b) < (c, d) is a < c OR (a = c AND b < d).
                let strict = match op {
                    CompareOp::Lt | CompareOp::Le => FunctionId::Lt,
                    _ => FunctionId::Gt,
                };
                let mut result: Option<Expr> = None;
                for (left, right) in pairs.rev() {
                    result = Some(match result {
                        None => self.call(compare_function(op), vec![left, right])?,
                        Some(rest) => {
                            let before = self.call(strict, vec![left.clone(), right.clone()])?;
                            let equal = self.call(FunctionId::Eq, vec![left, right])?;
                            let tail = self.call(FunctionId::And, vec![equal, rest])?;
                            self.call(FunctionId::Or, vec![before, tail])?
                        }
                    });
                }
                result.ok_or_else(|| operand_columns(1))
            }
        }
    }

    /// As above with the row of a subquery, which no index finds: what comes after the first value that is not equal is not compared.
    fn compare_with_row(&self, op: CompareOp, left: Vec<Expr>, right: Vec<Expr>) -> PlanResult<Expr> {
        if left.len() != right.len() || matches!(op, CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne) {
            return self.compare_rows(op, left, right);
        }
        let mut result: Option<Expr> = None;
        for (left, right) in left.into_iter().zip(right).rev() {
            let function = match (op, &result) {
                (CompareOp::Le, Some(_)) => FunctionId::Lt,
                (CompareOp::Ge, Some(_)) => FunctionId::Gt,
                _ => compare_function(op),
            };
            let own = self.call(function, vec![left.clone(), right.clone()])?;
            result = Some(match result {
                None => own,
                Some(rest) => {
                    let nullable = own.nullable || rest.nullable;
                    let whens = vec![(self.call(FunctionId::Eq, vec![left, right])?, rest)];
                    let kind = ExprKind::Case { whens, otherwise: Some(Box::new(own)) };
                    Expr::new(kind, DataType::BOOL, nullable)
                }
            });
        }
        result.ok_or_else(|| operand_columns(1))
    }

    /// `(a, b) = (c, d)` where the right side is one of several: a text there that is no date equals none.
    fn listed_row(&self, left: Vec<Expr>, right: Vec<Expr>) -> PlanResult<Expr> {
        if left.len() != right.len() {
            return Err(operand_columns(left.len()));
        }
        let parts = left.into_iter().zip(right).map(|(left, right)| {
            let of = &right.data_type;
            if left.data_type.is_temporal() && of.is_string() {
                function::in_list(left, vec![right], &self.types)
            } else if left.data_type.kind == TypeKind::Time && of.has_date() {
                let right = self.time_among_choices(right)?;
                self.call(FunctionId::Eq, vec![left, right])
            } else {
                self.call(FunctionId::Eq, vec![left, right])
            }
        });
        self.all_of(parts.collect::<PlanResult<Vec<_>>>()?)
    }

    fn all_of(&self, mut parts: Vec<Expr>) -> PlanResult<Expr> {
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        self.call(FunctionId::And, parts)
    }

    fn in_list(
        &mut self,
        expr: &'a ast::Expr<'a>,
        list: &'a [ast::Expr<'a>],
        is_conjunct: bool,
        negated: bool,
    ) -> PlanResult<Expr> {
        if matches!(expr.kind, Ast::Row(_)) {
            let side = if is_conjunct { LeftSide::RowOfConjunct } else { LeftSide::Row };
            self.unequal_rows += 1;
            let mut left = self.row(expr)?;
            let mut shared = Vec::new();
            // A subquery is a plan of its own, which knows no operand of this one.
            if list.len() > 1 && !list.iter().any(|item| matches!(item.kind, Ast::Subquery(_))) {
                left = left.into_iter().map(|part| function::share(part, &mut shared)).collect();
            }
            let mut choices = Vec::with_capacity(list.len());
            for item in list {
                if let Ast::Subquery(query) = &item.kind {
                    let left = left.clone();
                    choices.push(self.quantified(CompareOp::Eq, false, side, left, query)?);
                    continue;
                }
                let (mut left, mut right) = (left.clone(), self.row(item)?);
                if list.len() > 1 {
                    for (left, right) in left.iter_mut().zip(&mut right) {
                        function::follow_left(left, right, &self.types)?;
                    }
                }
                choices.push(if list.len() > 1 {
                    self.listed_row(left, right)?
                } else {
                    // Unlike `=` of rows it makes no time of a date.
                    for (time, value) in left.iter_mut().zip(&right) {
                        if time.data_type.kind == TypeKind::Time && value.data_type.has_date() {
                            let of = std::mem::replace(time, Expr::null());
                            *time =
                                self.typed(FunctionId::Cast, of, DataType::datetime(FRACTION_DIGITS_MAX))?;
                        }
                    }
                    self.compare_rows(CompareOp::Eq, left, right)?
                });
            }
            let call =
                if choices.len() == 1 { choices.swap_remove(0) } else { self.call(FunctionId::Or, choices)? };
            return self.negate(function::with_operands(shared, call), negated);
        }
        let (written, written_list) = (expr, list);
        let expr = self.expr(expr)?;
        let mut list = self.exprs(list)?;
        let call = if list.len() == 1 {
            self.note_wrong_text([(written, &expr), (&written_list[0], &list[0])]);
            // NOT IN of one item is `<>`, as errors show.
            let function = if negated { FunctionId::Ne } else { FunctionId::Eq };
            return self.call(function, vec![expr, list.swap_remove(0)]);
        } else {
            let mut all = list;
            all.insert(0, expr);
            self.note_charsets(&all);
            self.with_types(&mut all, |all| function::derive_compared(all, &self.types));
            let expr = all.remove(0);
            function::in_list(expr, all, &self.types)?
        };
        self.negate(call, negated)
    }

    /// Binds a query that stands inside an expression.
    fn subquery(
        &mut self,
        query: &'a Query<'a>,
    ) -> PlanResult<(Logical, Vec<crate::ColumnId>, Vec<crate::ColumnId>)> {
        self.subqueries += 1;
        if self.subqueries > super::SUBQUERIES_MAX {
            return Err(PlanError::new(
                1436,
                "Thread stack overrun:  the statement has too many subqueries.  Use joins or several statements.",
            ));
        }
        self.subquery_depth += 1;
        let bound = self.query(query);
        self.subquery_depth -= 1;
        let bound = bound?;
        let columns = bound.output.iter().map(|column| column.id).collect();
        Ok((bound.plan, columns, bound.outer))
    }

    /// What stands left of IN (subquery), ANY or ALL. MySQL resolves the subquery before it.
    fn left_of_subquery(&mut self, left: &'a ast::Expr<'a>, query: &'a Query<'a>) -> PlanResult<Vec<Expr>> {
        let before = std::mem::replace(&mut self.block().is_left_of_subquery, true);
        let bound = self.row(left);
        self.block().is_left_of_subquery = before;
        bound.or_else(|error| {
            let missing_column = self.missing_column.take();
            self.subquery(query)?;
            self.missing_column = missing_column;
            Err(error)
        })
    }

    fn quantified(
        &mut self,
        op: CompareOp,
        all: bool,
        side: LeftSide,
        left: Vec<Expr>,
        query: &'a Query<'a>,
    ) -> PlanResult<Expr> {
        let clause = self.block().clause;
        let (mut plan, columns, outer) = self.subquery(query)?;
        let single = matches!(side, LeftSide::Row | LeftSide::RowOfConjunct);
        if !single {
            crate::rewrite::ignore_order_and_duplicates(&mut plan);
        }
        if columns.len() != left.len() {
            return Err(operand_columns(left.len()));
        }
        if !single && left.len() > 1 && op != CompareOp::Eq {
            return Err(operand_columns(1));
        }
        if single && op != CompareOp::Eq {
            let right = columns.iter().map(|column| self.column_expr(*column)).collect();
            let condition = vec![self.compare_with_row(op, left, right)?];
            let nullable = !is_one_row(&plan) || condition[0].nullable;
            let kind = SubqueryKind::Quantified { all, single, condition };
            let block = self.hinted_block_of(query);
            let subquery = Subquery { kind, plan, columns, outer, needed_if: Vec::new(), block };
            let answer = Expr::new(ExprKind::Subquery(Box::new(subquery)), DataType::BOOL, nullable);
            // `<=>` is never NULL: without a row it is false.
            return match op {
                CompareOp::NullSafeEq => self.call(FunctionId::IsTrue, vec![answer]),
                _ => Ok(answer),
            };
        }
        let mut condition = Vec::new();
        // 9.7 has no partial matches of rows among stored ones, so it stores none where they decide between 0 and NULL.
        let is_nullable = left.iter().any(|value| value.nullable)
            || columns.iter().any(|column| self.column_expr(*column).nullable);
        let stored_left = StoredLeft {
            side,
            is_one_row: is_one_row(&plan),
            is_one_value: is_one_value(&query.body, &plan),
            is_joined: may_be_joined(&query.body, &plan),
            is_materialized: matches!((op, all), (CompareOp::Eq, false) | (CompareOp::Ne, true))
                && outer.is_empty()
                && !(left.len() > 1 && clause == "field list" && is_nullable)
                && may_be_materialized(&query.body),
            is_row: left.len() > 1,
            is_outside_conditions: clause == "field list",
            is_joined_to: clause != "having clause",
            reads_outer: !outer.is_empty(),
        };
        for (mut left, right) in left.into_iter().zip(&columns) {
            let right = self.column_expr(*right);
            stored_left.store(&mut left, &right);
            let is_text = stored_left.keeps_parameter() && function::is_untyped(&left, &self.types);
            let (function, args) = (compare_function(op), vec![left, right]);
            condition.push(match side {
                _ if is_text => self.call_typed(function, args, CallOption::None)?,
                LeftSide::Joined if stored_left.is_joined && self.block().holds_errors => {
                    self.joined_equality(function, args)?
                }
                LeftSide::Row | LeftSide::RowOfConjunct | LeftSide::Joined => self.call(function, args)?,
                // What is stored is the date as it is.
                LeftSide::Stored | LeftSide::Bound => self.call_with(function, args, CallOption::None)?,
            });
        }
        let nullable = !single || !is_one_row(&plan) || condition.iter().any(|part| part.nullable);
        // A query without a table is its row.
        let is_row_of_conjunct = side == LeftSide::RowOfConjunct
            || side == LeftSide::Joined && op == CompareOp::Eq && is_one_row(&plan) && condition.len() > 1;
        if is_row_of_conjunct {
            let nested = condition.into_iter().rev().reduce(|rest, part| {
                let kind = ExprKind::Case {
                    whens: vec![(part, rest)],
                    otherwise: Some(Box::new(Expr::bool(false))),
                };
                Expr::new(kind, DataType::BOOL, true)
            });
            condition = nested.into_iter().collect();
        }
        let kind = SubqueryKind::Quantified { all, single, condition };
        let block = self.hinted_block_of(query);
        let subquery = Subquery { kind, plan, columns, outer, needed_if: Vec::new(), block };
        Ok(Expr::new(ExprKind::Subquery(Box::new(subquery)), DataType::BOOL, nullable))
    }

    /// A comparison with a column of a subquery that MySQL makes a join of once the whole block is bound: only then it asks for the collation,
    /// so that the block holds that error until then.
    fn joined_equality(&mut self, function: FunctionId, args: Vec<Expr>) -> PlanResult<Expr> {
        self.call(function, args).or_else(|error| {
            if !matches!(error.number, 1267 | 1270 | 1271) {
                return Err(error);
            }
            self.block().join_error.get_or_insert(error);
            Ok(Expr::bool(true))
        })
    }

    fn case(&mut self, case: &'a ast::Case<'a>) -> PlanResult<Expr> {
        let operand = case.operand.as_ref().map(|operand| self.expr(operand)).transpose()?;
        let mut shared = Vec::new();
        let mut compared: Vec<Expr> = operand.into_iter().collect();
        let has_operand = !compared.is_empty();
        let mut values = Vec::with_capacity(case.whens.len());
        for (when, then) in case.whens {
            compared.push(self.expr(when)?);
            values.push(self.expr(then)?);
        }
        if has_operand {
            self.note_charsets(&compared);
            self.with_types(&mut compared, |all| function::derive_compared(all, &self.types));
            let collation = function::case_collation(&mut compared, &self.types)?;
            // Unlike for `=` the operand need not have decided for it.
            if let (Some(_), [operand, ..]) = (collation, &mut compared[..])
                && operand.coercibility == Coercibility::NoCollation
            {
                operand.coercibility = Coercibility::Implicit;
            }
            let mut compared_with = compared.drain(..);
            if let Some(operand) = compared_with.next() {
                let operand = match compared_with.len() {
                    1 => operand,
                    _ => function::share(operand, &mut shared),
                };
                compared = compared_with
                    .map(|value| self.case_equal(operand.clone(), value, collation))
                    .collect::<PlanResult<Vec<_>>>()?;
            }
        }
        let otherwise = case.otherwise.as_ref().map(|otherwise| self.expr(otherwise)).transpose()?;
        let has_otherwise = otherwise.is_some();
        values.extend(otherwise);
        self.note_charsets(&values);
        self.with_types(&mut values, |values| function::derive_arms(values, &self.types));
        self.chosen_values(values.iter());
        let otherwise = if has_otherwise { values.pop() } else { None };
        let whens = compared.into_iter().zip(values).collect();
        Ok(function::with_operands(shared, function::case(whens, otherwise, &self.types)?))
    }

    /// `CASE operand WHEN value`: unlike `=`, it takes no notice of the signs of integers, compares documents as texts, and
    /// dates as texts where the operand is one; a text that is no date equals none.
    fn case_equal(&mut self, operand: Expr, value: Expr, collation: Option<CollationId>) -> PlanResult<Expr> {
        let (of, other) = (&operand.data_type, &value.data_type);
        if of.is_integer() && other.is_integer() && of.unsigned != other.unsigned {
            let signed = |expr: Expr| {
                if expr.data_type.unsigned { function::cast(expr, DataType::BIGINT) } else { expr }
            };
            return self.call(FunctionId::Eq, vec![signed(operand), signed(value)]);
        }
        let is_document = |data_type: &DataType| data_type.kind == TypeKind::Json;
        let compares_documents = is_document(of) && is_document(other);
        // Beside a number a document is a number.
        if is_document(of) && other.is_numeric() || of.is_numeric() && is_document(other) {
            let number = |expr: Expr| {
                if is_document(&expr.data_type) { function::cast(expr, DataType::DOUBLE) } else { expr }
            };
            return self.call_with(FunctionId::Eq, vec![number(operand), number(value)], CallOption::AsIs);
        }
        let is_textual = |data_type: &DataType| !data_type.is_numeric() && data_type.kind != TypeKind::Null;
        if !is_textual(of) || !is_textual(other) {
            return self.call_with(FunctionId::Eq, vec![operand, value], CallOption::AsIs);
        }
        let is_document = of.kind == TypeKind::Json || other.kind == TypeKind::Json;
        if !is_document && of.kind == TypeKind::Time && (other.has_date() || other.is_string()) {
            let value = self.time_among_choices(value)?;
            return self.call_with(FunctionId::Eq, vec![operand, value], CallOption::AsIs);
        }
        if !is_document && of.has_date() && !other.is_temporal() {
            return function::in_list(operand, vec![value], &self.types);
        }
        if !is_document && (of.is_temporal() || !other.is_temporal()) {
            let mut sides = vec![operand, value];
            chosen_dates::check(FunctionId::Eq, &mut sides);
            return self.call_with(FunctionId::Eq, sides, CallOption::AsIs);
        }
        let is_document_or_date =
            |expr: &Expr| expr.data_type.is_temporal() || expr.data_type.kind == TypeKind::Json;
        let mut sides = vec![operand, value];
        let documents = compares_documents.then_some(CollationId::UTF8MB4_BIN);
        if let Some(collation) = collation.or(documents) {
            for side in sides.iter_mut().filter(|side| is_document_or_date(side)) {
                let of = std::mem::replace(side, Expr::null());
                *side = self.typed(FunctionId::Cast, of, DataType::varchar(u32::MAX, collation))?;
            }
        }
        self.call(FunctionId::Eq, sides)
    }

    /// What a TIME is compared with where it is looked for among several values: the time of a DATE is read from its text.
    fn time_among_choices(&self, value: Expr) -> PlanResult<Expr> {
        let value = match value.data_type.kind {
            TypeKind::Date => {
                let text = DataType::varchar(u32::MAX, self.types.connection_collation);
                self.typed(FunctionId::Cast, value, text)?
            }
            _ => value,
        };
        self.typed(FunctionId::Cast, value, DataType::time(FRACTION_DIGITS_MAX))
    }

    fn cast_type(&self, to: &CastType<'_>) -> PlanResult<DataType> {
        let clip = |length: u64| length.min(u64::from(u32::MAX)) as u32;
        let fraction = |digits: Option<u64>| match digits {
            Some(digits) if digits > 6 => Err(PlanError::new(
                1426,
                format!("Too-big precision {digits} specified for 'CAST'. Maximum is 6."),
            )),
            digits => Ok(digits.unwrap_or(0) as u8),
        };
        Ok(match *to {
            CastType::Binary(Some(length)) => DataType::varchar(clip(length), CollationId::BINARY),
            CastType::Binary(None) => DataType::varchar(u32::MAX, CollationId::BINARY),
            CastType::Char { length, charset, binary } => {
                let mut collation = match charset {
                    Some(name) => self.charset_collation(name)?,
                    None => self.types.connection_collation,
                };
                if binary {
                    let name = format!("{}_bin", collation.charset().name());
                    collation = CollationId::from_name(&name).unwrap_or(collation);
                }
                DataType::varchar(length.map_or(u32::MAX, clip), collation)
            }
            CastType::Signed => DataType { length: INTEGER_CAST_WIDTH, ..DataType::BIGINT },
            CastType::Unsigned => DataType { length: INTEGER_CAST_WIDTH, ..DataType::BIGINT_UNSIGNED },
            CastType::Date => DataType::DATE,
            CastType::Year => DataType { zerofill: false, ..DataType::YEAR },
            CastType::Time(digits) => DataType::time(fraction(digits)?),
            CastType::DateTime(digits) => DataType::datetime(fraction(digits)?),
            CastType::Decimal { precision, scale } => {
                let (precision, scale) =
                    (precision.unwrap_or(10).max(scale.unwrap_or(0).min(1)), scale.unwrap_or(0));
                if precision > 65 {
                    let text = format!("Too-big precision {precision} specified for 'CAST'. Maximum is 65.");
                    return Err(PlanError::new(1426, text));
                }
                if scale > 30 {
                    let text = format!("Too big scale {scale} specified for column 'CAST'. Maximum is 30.");
                    return Err(PlanError::new(1425, text));
                }
                if precision < scale {
                    let text = "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column 'CAST').";
                    return Err(PlanError::new(1427, text));
                }
                DataType::decimal(if precision == 0 { 10 } else { precision as u32 }, scale as u8)
            }
            CastType::Json => DataType::JSON,
            CastType::Float(precision) => match precision.unwrap_or(0) {
                0..=24 => DataType { length: DataType::DOUBLE.length, ..DataType::FLOAT },
                25..=53 => DataType::DOUBLE,
                precision => {
                    let text = format!("Too-big precision {precision} specified for 'CAST'. Maximum is 53.");
                    return Err(PlanError::new(1426, text));
                }
            },
            CastType::Double => DataType::DOUBLE,
            CastType::Spatial(_) => return Err(PlanError::not_supported("spatial types")),
        })
    }

    fn collate(&mut self, expr: &'a ast::Expr<'a>, collation: &[u8]) -> PlanResult<Expr> {
        let operand = self.expr(expr)?;
        let name = utf8(collation);
        let Some(collation) = CollationId::from_name(&name) else {
            return Err(PlanError::new(1273, format!("Unknown collation: '{name}'")));
        };
        let charset = if operand.data_type.is_string() || operand.data_type.members.is_some() {
            operand.data_type.collation.charset()
        } else if function::is_column_of_bits(&operand) {
            types::charset::Charset::Binary
        } else {
            self.types.connection_collation.charset()
        };
        if charset != collation.charset() && operand.data_type.kind != TypeKind::Null {
            return Err(PlanError::new(
                1253,
                format!("COLLATION '{name}' is not valid for CHARACTER SET '{}'", charset.name()),
            ));
        }
        let data_type = DataType::varchar(operand.data_type.length, collation);
        let mut call = self.typed(FunctionId::Collate, operand, data_type)?;
        call.coercibility = Coercibility::Explicit;
        Ok(call)
    }

    fn function(&mut self, call: &'a ast::FunctionCall<'a>) -> PlanResult<Expr> {
        let name = call.name.name.text;
        if let Some(schema) = call.name.schema {
            return self.stored_function(&utf8(schema.text), call);
        }
        if name.eq_ignore_ascii_case(b"any_value") && call.args.len() == 1 {
            return self.any_value(&call.args[0]);
        }
        let Some(function) = function::lookup(name) else {
            return match self.session.database() {
                Some(database) => self.stored_function(database, call),
                None => Err(PlanError::new(1046, "No database selected")),
            };
        };
        if function == FunctionId::FoundRows {
            self.warn_deprecated("FOUND_ROWS()", "Consider using COUNT(*) instead.");
        }
        let mut args = self.exprs(call.args)?;
        for (arg, written) in args.iter_mut().zip(call.args) {
            if crate::rewrite::calls_functions(arg) {
                let text = self.text.get(written.span.start as usize..written.span.end as usize);
                Self::name_call(arg, &utf8(text.unwrap_or_default()).into());
            }
        }
        let is_extreme = matches!(function, FunctionId::Least | FunctionId::Greatest);
        let has_document = is_extreme && has_document(&args);
        let call = self.call(function, args)?;
        if has_document {
            self.warn_of_documents("LEAST and GREATEST operators");
        }
        Ok(call)
    }

    /// 1235 where documents are compared as other values are.
    fn warn_of_documents(&mut self, what: &str) {
        self.warnings.push(*PlanError::not_supported(&format!("comparison of JSON in the {what}")));
    }

    /// 1287, with what to use instead as a sentence of its own.
    pub(crate) fn warn_deprecated(&mut self, what: &str, instead: &str) {
        let text = format!("{what} is deprecated and will be removed in a future release. {instead}");
        self.warnings.push(*PlanError::new(super::DEPRECATED, text));
    }

    /// 1287 for `BINARY expr`; in a CTE for each reference, as it is bound.
    fn warn_of_binary(&mut self, start: u32, cast: &ast::Cast<'_>) {
        const OPERATOR: &[u8] = b"BINARY";
        let text = self.text.get(start as usize..).unwrap_or_default();
        // An expression in parentheses stands where the parentheses stand.
        let inner = text.iter().position(|byte| *byte != b'(' && !byte.is_ascii_whitespace());
        let word = text[inner.unwrap_or(0)..].get(..OPERATOR.len());
        let is_operator = word.is_some_and(|word| word.eq_ignore_ascii_case(OPERATOR));
        if matches!(cast.to, CastType::Binary(None)) && is_operator {
            self.warn_deprecated("'BINARY expr'", "Please use CAST instead");
        }
    }

    /// ANY_VALUE: its argument escapes ONLY_FULL_GROUP_BY.
    fn any_value(&mut self, arg: &'a ast::Expr<'a>) -> PlanResult<Expr> {
        let bound = self.expr(arg)?;
        let block = self.block();
        bound.each_column(&mut |id| block.free_columns.push(id));
        self.call(FunctionId::AnyValue, vec![bound])
    }

    fn aggregate(&mut self, aggregate: &'a ast::Aggregate<'a>) -> PlanResult<Expr> {
        if let Some(over) = aggregate.over {
            return self.window_aggregate(aggregate, over);
        }
        let innermost = self.blocks.len() - 1;
        if self.block().in_aggregate {
            return Err(invalid_aggregate());
        }
        let outer_counts: Vec<usize> = self.blocks.iter().map(|block| block.outer.len()).collect();
        self.block().in_aggregate = true;
        self.aggregate_nesting += 1;
        let bound = self.aggregate_args(aggregate);
        self.aggregate_nesting -= 1;
        self.block().in_aggregate = false;
        let (mut args, order_by) = bound?;
        if matches!(aggregate.func, AggregateFunc::Min | AggregateFunc::Max) {
            args.iter_mut().for_each(chosen_dates::check_extreme);
        }
        let home = self.aggregate_block(args.iter().chain(order_by.iter().map(|key| &key.expr)))?;
        if home != innermost {
            // What its argument reads is no concern of the blocks inside: these read its result.
            for (block, count) in self.blocks[home + 1..].iter_mut().zip(&outer_counts[home + 1..]) {
                block.outer.truncate(*count);
            }
        }
        let Typed { data_type, nullable, coercibility } =
            function::aggregate_type(aggregate.func, &mut args, &self.types)?;
        let call = AggregateCall {
            function: aggregate.func.into(),
            distinct: aggregate.distinct,
            args,
            order_by,
            separator: function::separator(aggregate.separator, data_type.collation),
            data_type: data_type.clone(),
            nullable,
        };
        let is_average = call.function == AggregateFunction::Avg && data_type.kind == TypeKind::Decimal;
        // What draws numbers, sets variables or calls functions does so for each aggregate.
        let is_same = call.args.iter().all(crate::rewrite::is_repeatable);
        let known = self.blocks[home].aggregates.iter().find(|(_, other)| is_same && *other == call);
        let known = known.map(|(id, _)| *id);
        let id = match known {
            Some(id) => id,
            None => {
                let name = aggregate_name(aggregate.func).into();
                let id = self.new_column(&name, data_type, nullable);
                self.columns[id.0 as usize].coercibility = Some(coercibility);
                self.blocks[home].aggregates.push((id, call));
                if is_average {
                    self.averages.push(id);
                }
                id
            }
        };
        self.add_outer(home, id);
        Ok(self.column_expr(id))
    }

    /// GROUPING: a value of each row of groups, as aggregates are; its arguments are looked for among the keys when these are known
    /// ([`super::group`]). What an aggregate sums up is no row of ROLLUP, so that it is 0 there.
    fn grouping(&mut self, args: &'a [ast::Expr<'a>]) -> PlanResult<Expr> {
        if args.len() > GROUPING_ARGS_MAX {
            let text = format!(
                "Too many arguments for function GROUPING: {}; maximum allowed is {GROUPING_ARGS_MAX}.",
                args.len()
            );
            return Err(PlanError::new(3601, text));
        }
        let args: Vec<Expr> = args.iter().map(|arg| self.expr(arg)).collect::<PlanResult<_>>()?;
        let data_type = DataType { length: GROUPING_LENGTH, ..DataType::BIGINT };
        let block = self.block();
        if block.in_aggregate {
            if args.iter().any(|arg| arg.reads_any(&block.outer)) {
                return Err(invalid_aggregate());
            }
            return Ok(Expr { data_type, nullable: true, ..Expr::int(0) });
        }
        if !block.aggregates_allowed {
            return Err(if block.clause == "group statement" {
                PlanError::new(1056, "Can't group on 'GROUPING function'")
            } else {
                invalid_aggregate()
            });
        }
        let call = AggregateCall {
            function: AggregateFunction::Grouping,
            distinct: false,
            args,
            order_by: Vec::new(),
            separator: (*b"").into(),
            data_type: data_type.clone(),
            nullable: true,
        };
        let aggregates = &self.block().aggregates;
        let known = aggregates.iter().find(|(_, other)| *other == call).map(|(id, _)| *id);
        let id = match known {
            Some(id) => id,
            None => {
                let id = self.new_column(&"grouping".into(), data_type, true);
                self.block().aggregates.push((id, call));
                id
            }
        };
        Ok(self.column_expr(id))
    }

    /// The block whose rows an aggregate sums up: the outermost one around it that takes aggregates here and does not lie
    /// outside of a column that the aggregate reads. Without such columns it is the innermost one, if that takes aggregates.
    fn aggregate_block<'e>(&self, args: impl Iterator<Item = &'e Expr>) -> PlanResult<usize> {
        let innermost = self.blocks.len() - 1;
        let parent = |depth: usize| self.enclosing(depth);
        let takes = |depth: usize| self.blocks[depth].aggregates_allowed;
        let mut deepest = None;
        for arg in args {
            arg.each_column(&mut |id| {
                let mut depth = innermost;
                while self.blocks[depth].outer.contains(&id) {
                    match parent(depth) {
                        Some(outer) => depth = outer,
                        None => break,
                    }
                }
                deepest = deepest.max(Some(depth));
            });
        }
        let mut home = takes(innermost).then_some(innermost);
        if deepest.is_some_and(|deepest| deepest < innermost) || home.is_none() {
            let mut next = parent(innermost).filter(|_| deepest != Some(innermost));
            while let Some(depth) = next.filter(|depth| deepest.is_none_or(|deepest| *depth >= deepest)) {
                if takes(depth) {
                    home = Some(depth);
                }
                next = parent(depth);
            }
        }
        match home {
            Some(home) if !self.blocks[home].in_aggregate => Ok(home),
            _ => Err(invalid_aggregate()),
        }
    }

    fn is_plainly_grouped(&self) -> bool {
        self.blocks.last().is_some_and(|block| block.is_plainly_grouped)
    }

    /// The argument as the aggregate computes with it: sums of texts and times are sums of doubles.
    fn aggregate_arg(&self, function: AggregateFunc, mut arg: Expr) -> PlanResult<Expr> {
        self.with_types(std::slice::from_mut(&mut arg), |args| {
            use AggregateFunc as A;
            let arg = &mut args[0];
            match function {
                A::Sum | A::Avg => function::derive_summed(arg, false, &self.types),
                A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => {
                    function::derive_summed(arg, true, &self.types);
                }
                A::Min | A::Max => function::derive_extreme(arg, &self.types),
                _ => {}
            }
        });
        if matches!(function, AggregateFunc::Min | AggregateFunc::Max) {
            self.chosen_values(std::iter::once(&arg));
        }
        let bits = matches!(function, AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor);
        if bits && arg.data_type.is_hex_literal() && arg.as_column().is_some() {
            // A derived table's column is no literal.
            arg.data_type.unsigned = false;
        }
        if bits && arg.data_type.kind == TypeKind::Null && arg.as_column().is_some() {
            // Such a column has the type BINARY(0).
            return self.typed(FunctionId::Cast, arg, DataType::varchar(0, CollationId::BINARY));
        }
        let data_type = &arg.data_type;
        let is_bytes = |data_type: &DataType| data_type.is_binary_string() && !data_type.is_hex_literal();
        match function {
            AggregateFunc::Sum | AggregateFunc::Avg if data_type.is_temporal() => {
                let number = function::summed_temporal(data_type);
                self.typed(FunctionId::Cast, arg, number)
            }
            AggregateFunc::Sum | AggregateFunc::Avg if data_type.is_hex_literal() => {
                let number = function::summed_bytes(data_type, arg.as_column().is_some());
                self.typed(FunctionId::Cast, arg, number)
            }
            AggregateFunc::Sum
            | AggregateFunc::Avg
            | AggregateFunc::StdPop
            | AggregateFunc::StdSamp
            | AggregateFunc::VarPop
            | AggregateFunc::VarSamp
                if !data_type.is_numeric() && data_type.kind != TypeKind::Null =>
            {
                self.typed(FunctionId::Cast, arg, DataType::DOUBLE)
            }
            // ENUM and SET are texts to MIN and MAX, ordered by their collation.
            AggregateFunc::Min | AggregateFunc::Max if data_type.members.is_some() => {
                let mut args = [arg];
                let Typed { data_type, .. } = function::aggregate_type(function, &mut args, &self.types)?;
                let [arg] = args;
                self.typed(FunctionId::Cast, arg, data_type)
            }
            // What is computed of BIT and YEAR values is a number in the table of groups, of FLOAT values a DOUBLE, and not where there
            // is none.
            AggregateFunc::Min | AggregateFunc::Max if arg.as_column().is_none() => {
                match function::bits_of(&arg) {
                    None if data_type.kind == TypeKind::Year && self.is_plainly_grouped() => {
                        self.typed(FunctionId::Cast, arg, DataType::BIGINT_UNSIGNED)
                    }
                    None if data_type.kind == TypeKind::Float && self.is_plainly_grouped() => {
                        self.typed(FunctionId::Cast, arg, DataType::DOUBLE)
                    }
                    Some(_) if self.is_plainly_grouped() => {
                        self.typed(FunctionId::Cast, arg, DataType::BIGINT_UNSIGNED)
                    }
                    Some(bits) => Ok(Expr { data_type: DataType::bit(bits), ..arg }),
                    None => Ok(arg),
                }
            }
            AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor if is_bytes(data_type) => {
                if data_type.length > BIT_AGGREGATE_BYTES_MAX {
                    return Err(PlanError::new(
                        3514,
                        format!(
                            "Aggregate bitwise functions cannot accept arguments longer than \
                             {BIT_AGGREGATE_BYTES_MAX} bytes; consider using the SUBSTRING() function"
                        ),
                    ));
                }
                Ok(arg)
            }
            AggregateFunc::BitAnd | AggregateFunc::BitOr | AggregateFunc::BitXor
                if !data_type.is_integer() =>
            {
                self.typed(FunctionId::Cast, arg, DataType::BIGINT_UNSIGNED)
            }
            _ => Ok(arg),
        }
    }

    pub(super) fn aggregate_args(
        &mut self,
        aggregate: &'a ast::Aggregate<'a>,
    ) -> PlanResult<(Vec<Expr>, Vec<SortKey>)> {
        let mut args = self.exprs(aggregate.args)?;
        // Different values are gathered in their order where no other is asked for; documents come as they come.
        let is_in_order = aggregate.distinct
            && aggregate.func == AggregateFunc::GroupConcat
            && aggregate.order_by.is_empty();
        let own_order = args
            .iter()
            .filter(|arg| is_in_order && arg.as_literal().is_none() && arg.data_type.kind != TypeKind::Json);
        let own_order = own_order.map(|arg| SortKey {
            expr: super::stored::sorted(arg.clone(), |_| None, &Logical::OneRow),
            descending: false,
        });
        let mut order_by: Vec<SortKey> = own_order.collect();
        for arg in &mut args {
            let bound = std::mem::replace(arg, Expr::null());
            *arg = self.aggregate_arg(aggregate.func, bound)?;
            match aggregate.func {
                // What IF and CASE choose has the scale of all.
                AggregateFunc::GroupConcat if matches!(arg.kind, ExprKind::Param(_)) => {
                    function::keep_own_scale(arg);
                }
                AggregateFunc::Min | AggregateFunc::Max => function::keep_all_digits(arg),
                AggregateFunc::JsonArrayAgg | AggregateFunc::JsonObjectAgg => {
                    self.document_value(arg);
                    function::keep_document_scale(arg);
                }
                _ => {}
            }
        }
        for item in aggregate.order_by {
            let mut expr = self.expr(&item.expr)?;
            if let Some(Value::Int(position)) = expr.as_literal() {
                match usize::try_from(*position - 1).ok().and_then(|position| args.get(position)) {
                    Some(arg) => expr = arg.clone(),
                    None => {
                        return Err(PlanError::new(
                            1054,
                            format!("Unknown column '{position}' in 'order clause'"),
                        ));
                    }
                }
            }
            let expr = super::stored::sorted(expr, |_| None, &Logical::OneRow);
            order_by.push(SortKey { expr, descending: item.desc == Some(true) });
        }
        Ok((args, order_by))
    }

    fn json_value(&mut self, call: &'a ast::JsonValue<'a>) -> PlanResult<Expr> {
        let doc = self.expr(&call.doc)?;
        super::documents::check_document(&doc, "json_value")?;
        let data_type = match &call.returning {
            Some(to @ CastType::Char { charset: None, .. }) => {
                DataType { collation: CollationId::UTF8MB4_0900_BIN, ..self.cast_type(to)? }
            }
            Some(to) => self.cast_type(to)?,
            None => DataType::varchar(512, CollationId::UTF8MB4_0900_BIN),
        };
        let answer = |binder: &mut Self, on: &Option<JsonOn<'a>>| -> PlanResult<JsonAnswer> {
            Ok(match on {
                None | Some(JsonOn::Null) => JsonAnswer::Null,
                Some(JsonOn::Error) => JsonAnswer::Error,
                Some(JsonOn::Default(expr)) => match binder.bind_default_literal(expr)? {
                    Some(value) => JsonAnswer::Default(value),
                    None => return Err(PlanError::not_supported("DEFAULT that is no literal in JSON_VALUE")),
                },
            })
        };
        let on_empty = answer(self, &call.on_empty)?;
        let on_error = answer(self, &call.on_error)?;
        let option = JsonValueOption { path: call.path.into(), on_empty, on_error };
        let option = CallOption::JsonValue(Box::new(option));
        function::build_typed(FunctionId::JsonValue, vec![doc], data_type, option, &self.types)
    }

    fn bind_default_literal(&mut self, expr: &ast::Expr<'_>) -> PlanResult<Option<Value>> {
        Ok(match &expr.kind {
            Ast::Literal(literal) => self.literal(literal, u32::MAX)?.as_literal().cloned(),
            _ => None,
        })
    }
}

/// Arguments of GROUPING: its value is an integer of as many bits.
const GROUPING_ARGS_MAX: usize = 64;
/// Digits that MySQL says its value has.
const GROUPING_LENGTH: u32 = 21;

fn invalid_aggregate() -> Box<PlanError> {
    PlanError::new(1111, "Invalid use of group function")
}

/// The operator for the sides the other way round.
fn swapped(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        CompareOp::Eq | CompareOp::NullSafeEq | CompareOp::Ne => op,
    }
}

/// 1241.
pub(crate) fn operand_columns(count: usize) -> Box<PlanError> {
    PlanError::new(1241, format!("Operand should contain {count} column(s)"))
}

fn compare_function(op: CompareOp) -> FunctionId {
    match op {
        CompareOp::Eq => FunctionId::Eq,
        CompareOp::NullSafeEq => FunctionId::NullSafeEq,
        CompareOp::Ne => FunctionId::Ne,
        CompareOp::Lt => FunctionId::Lt,
        CompareOp::Le => FunctionId::Le,
        CompareOp::Gt => FunctionId::Gt,
        CompareOp::Ge => FunctionId::Ge,
    }
}

/// An aggregate's name as EXPLAIN prints it.
#[must_use]
pub(crate) fn aggregate_name(function: AggregateFunc) -> &'static str {
    AggregateFunction::from(function).name()
}

/// Whether a parameter among the function's arguments takes the character set of another one.
fn takes_charset(function: FunctionId) -> bool {
    use FunctionId as F;
    matches!(
        function,
        F::Eq
            | F::NullSafeEq
            | F::Ne
            | F::Lt
            | F::Le
            | F::Gt
            | F::Ge
            | F::Between
            | F::NullIf
            | F::Strcmp
            | F::Like
            | F::If
            | F::IfNull
            | F::Coalesce
            | F::Greatest
            | F::Least
            | F::Field
    )
}

fn searches_pattern(function: FunctionId) -> bool {
    use FunctionId as F;
    matches!(function, F::RegexpLike | F::RegexpInstr | F::RegexpSubstr | F::RegexpReplace)
}

/// How many of its first arguments a function reads documents from, where they are parameters.
fn documents_of(function: FunctionId) -> usize {
    use FunctionId as F;
    match function {
        F::JsonValid
        | F::JsonType
        | F::JsonLength
        | F::JsonDepth
        | F::JsonExtract
        | F::JsonContains
        | F::JsonContainsPath
        | F::JsonKeys
        | F::JsonPretty
        | F::JsonStorageSize
        | F::JsonSet
        | F::JsonInsert
        | F::JsonReplace
        | F::JsonRemove
        | F::JsonArrayAppend
        | F::JsonArrayInsert
        | F::JsonSearch => 1,
        F::JsonMergePatch | F::JsonMergePreserve | F::JsonOverlaps => usize::MAX,
        _ => 0,
    }
}
