//! Trees back to text, in MySQL's canonical form: what `SHOW CREATE TABLE` shows for default, generated and check
//! expressions, and `EXPLAIN` for queries.
//!
//! The form as 9.7 writes it: every operator in parentheses, names in backticks, words and functions in lower case,
//! strings with an introducer, `x -> 'p'` as `json_extract`, a number where a truth value is wanted as `(0 <> x)`.
//! Parsing a printed statement and printing it again gives the same text.

mod json_table;
mod view;

use crate::ast::*;

pub use view::{QueryNames, ResolvedColumn, ShownItem, ViewPrint, print_view_query};

/// Appends `expr` in canonical form. `charset` is the introducer of strings that have none (`utf8mb4`).
pub fn print_expr(expr: &Expr<'_>, charset: &str, out: &mut Vec<u8>) {
    Printer { out, charset, view: None, is_subquery: false, is_exists: false }.expr(expr);
}

/// Appends `query` in canonical form.
pub fn print_query(query: &Query<'_>, charset: &str, out: &mut Vec<u8>) {
    Printer { out, charset, view: None, is_subquery: false, is_exists: false }.query(query);
}

/// Appends a name in backticks.
pub(crate) fn print_name(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'`');
    for c in name {
        out.push(*c);
        if *c == b'`' {
            out.push(b'`');
        }
    }
    out.push(b'`');
}

/// Appends a string in quotes, escaped as MySQL escapes in canonical text.
pub(crate) fn print_string(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for c in text {
        match c {
            b'\'' => out.extend_from_slice(b"\\'"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0 => out.extend_from_slice(b"\\0"),
            26 => out.extend_from_slice(b"\\Z"),
            c => out.push(*c),
        }
    }
    out.push(b'\'');
}

struct Printer<'o> {
    out: &'o mut Vec<u8>,
    charset: &'o str,
    /// What is printed is the query of a view.
    view: Option<&'o ViewPrint<'o>>,
    /// The query that is printed next is part of an expression.
    is_subquery: bool,
    /// It is the query of EXISTS, which looks at no column.
    is_exists: bool,
}

impl Printer<'_> {
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    fn raw(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    fn lower(&mut self, text: &[u8]) {
        self.out.extend(text.iter().map(u8::to_ascii_lowercase));
    }

    fn number(&mut self, number: u64) {
        self.put(&number.to_string());
    }

    fn name(&mut self, name: &[u8]) {
        print_name(name, self.out);
    }

    fn object(&mut self, name: &ObjectName<'_>) {
        if let Some(schema) = name.schema {
            self.name(schema.text);
            self.put(".");
        }
        self.name(name.name.text);
    }

    fn column(&mut self, column: &ColumnRef<'_>) {
        if self.view_column(column) {
            return;
        }
        for part in [column.schema, column.table].into_iter().flatten() {
            self.name(part.text);
            self.put(".");
        }
        self.name(column.name.text);
    }

    fn string(&mut self, text: &[u8], charset: Option<&[u8]>) {
        match charset {
            Some(charset) => {
                self.put("_");
                self.lower(charset);
            }
            // The view keeps the character set of all its literals.
            None if self.view.is_some() => {}
            None => {
                self.put("_");
                self.put(self.charset);
            }
        }
        print_string(text, self.out);
    }

    fn join<X>(&mut self, items: &[X], separator: &str, mut print: impl FnMut(&mut Self, &X)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(separator);
            }
            print(self, item);
        }
    }

    fn list(&mut self, items: &[Expr<'_>]) {
        self.join(items, ",", Self::expr);
    }

    /// `(left op right)`.
    fn infix(&mut self, left: &Expr<'_>, op: &str, right: &Expr<'_>) {
        self.put("(");
        self.operand(left);
        self.put(op);
        self.operand(right);
        self.put(")");
    }

    /// An operand. IN with a subquery and its like are printed without parentheses, with which alone the text of a view can be read again.
    fn operand(&mut self, expr: &Expr<'_>) {
        let is_bare = match expr.kind {
            ExprKind::InSubquery { .. } | ExprKind::Quantified { .. } => true,
            ExprKind::Unary { op: UnaryOp::Not, expr } => matches!(expr.kind, ExprKind::InSubquery { .. }),
            ExprKind::Unary { op: UnaryOp::Plus, expr } => return self.operand(expr),
            _ => false,
        } && self.view.is_some();
        if is_bare {
            self.put("(");
        }
        self.expr(expr);
        if is_bare {
            self.put(")");
        }
    }

    /// An operand that must be a truth value.
    fn truth(&mut self, expr: &Expr<'_>) {
        if is_truth(expr) {
            self.expr(expr);
        } else {
            self.put("(0 <> ");
            self.expr(expr);
            self.put(")");
        }
    }

    /// `AND` and `OR` chains are one flat list.
    fn chain(&mut self, op: BinaryOp, expr: &Expr<'_>, first: &mut bool) {
        if let ExprKind::Binary { op: inner, left, right } = expr.kind
            && inner == op
        {
            self.chain(op, left, first);
            self.chain(op, right, first);
            return;
        }
        if let ExprKind::Unary { op: UnaryOp::Not, expr: negated } = expr.kind
            && let ExprKind::Binary { op: inner @ (BinaryOp::And | BinaryOp::Or), .. } = negated.kind
            && inner != op
        {
            return self.negated_chain(inner, negated, first);
        }
        if op == BinaryOp::And
            && let ExprKind::Compare { op: CompareOp::Eq, left, right } = expr.kind
            && let (ExprKind::Row(left), ExprKind::Row(right)) = (left.kind, right.kind)
            && left.len() == right.len()
        {
            for (left, right) in left.iter().zip(right) {
                if !std::mem::take(first) {
                    self.put(" and ");
                }
                if !self.row_equality(left, right) {
                    self.infix(left, " = ", right);
                }
            }
            return;
        }
        if !std::mem::take(first) {
            self.put(if op == BinaryOp::And { " and " } else { " or " });
        }
        self.truth(expr);
    }

    /// What NOT makes of such a chain.
    fn negated_chain(&mut self, op: BinaryOp, expr: &Expr<'_>, first: &mut bool) {
        if let ExprKind::Binary { op: inner, left, right } = expr.kind
            && inner == op
        {
            self.negated_chain(op, left, first);
            self.negated_chain(op, right, first);
            return;
        }
        if !std::mem::take(first) {
            self.put(if op == BinaryOp::And { " or " } else { " and " });
        }
        self.not(expr);
    }

    fn not(&mut self, expr: &Expr<'_>) {
        match expr.kind {
            ExprKind::Compare { op, left, right } if op != CompareOp::NullSafeEq => {
                let op = match op {
                    CompareOp::Eq => CompareOp::Ne,
                    CompareOp::Ne => CompareOp::Eq,
                    CompareOp::Lt => CompareOp::Ge,
                    CompareOp::Ge => CompareOp::Lt,
                    CompareOp::Gt => CompareOp::Le,
                    CompareOp::Le | CompareOp::NullSafeEq => CompareOp::Gt,
                };
                self.infix(left, compare(op), right);
            }
            ExprKind::Unary { op: UnaryOp::Not, expr } => self.truth(expr),
            // By De Morgan's laws.
            ExprKind::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), .. } => {
                self.put("(");
                self.negated_chain(op, expr, &mut true);
                self.put(")");
            }
            ExprKind::Is { expr: of, test, negated } => {
                self.expr(&Expr { kind: ExprKind::Is { expr: of, test, negated: !negated }, ..*expr });
            }
            ExprKind::InList { expr: of, list, negated } => {
                self.expr(&Expr { kind: ExprKind::InList { expr: of, list, negated: !negated }, ..*expr });
            }
            ExprKind::Between { expr: of, low, high, negated } => {
                let kind = ExprKind::Between { expr: of, low, high, negated: !negated };
                self.expr(&Expr { kind, ..*expr });
            }
            ExprKind::InSubquery { expr: of, query, negated } => {
                let kind = ExprKind::InSubquery { expr: of, query, negated: !negated };
                self.expr(&Expr { kind, ..*expr });
            }
            ExprKind::Exists(_) => {
                self.put("(not ");
                self.expr(expr);
                self.put(")");
            }
            _ if is_truth(expr) => {
                self.put("(not(");
                self.expr(expr);
                self.put("))");
            }
            _ => {
                self.put("(0 = ");
                self.expr(expr);
                self.put(")");
            }
        }
    }

    fn in_subquery(&mut self, expr: &Expr<'_>, query: &Query<'_>, negated: bool) {
        self.operand(expr);
        // IS FALSE has no NULL: the text of a view must give what the query gave.
        let is_kept = self.view.is_some();
        self.put(if negated && is_kept { " not in (" } else { " in (" });
        self.subquery(query);
        self.put(if negated && !is_kept { ") is false" } else { ")" });
    }

    fn subquery(&mut self, query: &Query<'_>) {
        let around = std::mem::replace(&mut self.is_subquery, true);
        self.query(query);
        self.is_subquery = around;
    }

    /// Rows are compared column by column; answers whether both are rows.
    fn row_equality(&mut self, left: &Expr<'_>, right: &Expr<'_>) -> bool {
        let (ExprKind::Row(left), ExprKind::Row(right)) = (left.kind, right.kind) else { return false };
        if left.len() != right.len() {
            return false;
        }
        self.put("(");
        for (index, (left, right)) in left.iter().zip(right).enumerate() {
            if index > 0 {
                self.put(" and ");
            }
            if !self.row_equality(left, right) {
                self.infix(left, " = ", right);
            }
        }
        self.put(")");
        true
    }

    fn call(&mut self, name: &str, args: &[&Expr<'_>]) {
        self.put(name);
        self.put("(");
        self.join(args, ",", |p, arg| p.expr(arg));
        self.put(")");
    }

    fn negate(&mut self, negated: bool, print: impl FnOnce(&mut Self)) {
        if negated {
            self.put("(not(");
        }
        print(self);
        if negated {
            self.put("))");
        }
    }

    fn expr(&mut self, expr: &Expr<'_>) {
        match expr.kind {
            ExprKind::Literal(literal) => self.literal(&literal),
            ExprKind::Column(column) => self.column(column),
            ExprKind::Param(_) => self.put("?"),
            ExprKind::UserVar(name) => {
                self.put("@");
                self.name(name);
            }
            ExprKind::UserVarAssign { name, value } => {
                self.put("(@");
                self.name(name);
                self.put(":=");
                self.expr(value);
                self.put(")");
            }
            ExprKind::SysVar(var) => {
                self.put(match var.scope {
                    VarScope::Global => "@@global.",
                    VarScope::Session => "@@session.",
                    _ => "@@",
                });
                if let Some(component) = var.component {
                    self.name(component.text);
                    self.put(".");
                }
                self.name(var.name.text);
            }
            ExprKind::Unary { op, expr } => match op {
                UnaryOp::Not => self.not(expr),
                UnaryOp::Plus => self.expr(expr),
                UnaryOp::Neg => self.call("-", &[expr]),
                UnaryOp::BitNot => self.call("~", &[expr]),
            },
            ExprKind::Binary { op, left, right } => match op {
                BinaryOp::And | BinaryOp::Or => {
                    self.put("(");
                    self.chain(op, expr, &mut true);
                    self.put(")");
                }
                BinaryOp::Xor => {
                    self.put("(");
                    self.truth(left);
                    self.put(" xor ");
                    self.truth(right);
                    self.put(")");
                }
                BinaryOp::Concat => self.call("concat", &[left, right]),
                _ => self.infix(left, binary(op), right),
            },
            ExprKind::Compare { op: CompareOp::Eq, left, right } if self.row_equality(left, right) => {}
            ExprKind::Compare { op, left, right } => self.infix(left, compare(op), right),
            ExprKind::Quantified { op: CompareOp::Eq, all: false, left, query } => {
                self.in_subquery(left, query, false);
            }
            ExprKind::Quantified { op: CompareOp::Ne, all: true, left, query } => {
                self.in_subquery(left, query, true);
            }
            ExprKind::Quantified { op, all, left, query } => {
                self.operand(left);
                self.put(compare(op));
                self.put(if all { "all (" } else { "any (" });
                self.subquery(query);
                self.put(")");
            }
            ExprKind::Is {
                expr: &Expr { kind: ExprKind::InSubquery { expr, query, negated: false }, .. },
                test: IsTest::False,
                negated: false,
            } => self.in_subquery(expr, query, true),
            ExprKind::Is { expr, test, negated } => {
                self.put("(");
                match test {
                    IsTest::Null | IsTest::Unknown => self.expr(expr),
                    _ => self.truth(expr),
                }
                self.put(if negated { " is not " } else { " is " });
                self.put(match test {
                    IsTest::True => "true)",
                    IsTest::False => "false)",
                    IsTest::Null | IsTest::Unknown => "null)",
                });
            }
            ExprKind::Like { expr, pattern, escape, negated } => self.negate(negated, |p| {
                p.put("(");
                p.operand(expr);
                p.put(" like ");
                p.operand(pattern);
                if let Some(escape) = escape {
                    p.put(" escape ");
                    p.expr(escape);
                }
                p.put(")");
            }),
            ExprKind::Regexp { expr, pattern, negated } => {
                self.negate(negated, |p| p.call("regexp_like", &[expr, pattern]));
            }
            ExprKind::Between { expr, low, high, negated } => {
                self.put("(");
                self.operand(expr);
                self.put(if negated { " not between " } else { " between " });
                self.operand(low);
                self.put(" and ");
                self.operand(high);
                self.put(")");
            }
            ExprKind::InList { expr, list: [single], negated } => {
                self.infix(expr, if negated { " <> " } else { " = " }, single);
            }
            ExprKind::InList { expr, list, negated } => {
                self.put("(");
                self.operand(expr);
                self.put(if negated { " not in (" } else { " in (" });
                self.list(list);
                self.put("))");
            }
            ExprKind::InSubquery { expr, query, negated } => self.in_subquery(expr, query, negated),
            ExprKind::Exists(query) => {
                self.put("exists(");
                self.is_exists = true;
                self.subquery(query);
                self.put(")");
            }
            ExprKind::Subquery(query) => {
                self.put("(");
                self.subquery(query);
                self.put(")");
            }
            ExprKind::Row(items) => {
                self.put("(");
                self.list(items);
                self.put(")");
            }
            _ => self.special(expr),
        }
    }

    /// The kinds that are written like calls.
    fn special(&mut self, expr: &Expr<'_>) {
        match expr.kind {
            ExprKind::Case(case) => {
                self.put("(case");
                if let Some(operand) = &case.operand {
                    self.put(" ");
                    self.expr(operand);
                }
                for (when, then) in case.whens {
                    self.put(" when ");
                    self.expr(when);
                    self.put(" then ");
                    self.expr(then);
                }
                if let Some(otherwise) = &case.otherwise {
                    self.put(" else ");
                    self.expr(otherwise);
                }
                self.put(" end)");
            }
            ExprKind::Cast(cast) => {
                self.put("cast(");
                self.expr(&cast.expr);
                if let Some(zone) = cast.at_time_zone {
                    self.put(" at time zone ");
                    print_string(zone, self.out);
                }
                self.put(" as ");
                self.cast_type(&cast.to);
                self.put(if cast.array { " array)" } else { ")" });
            }
            ExprKind::ConvertUsing { expr, charset } => {
                self.put("convert(");
                self.expr(expr);
                self.put(" using ");
                self.lower(charset);
                self.put(")");
            }
            ExprKind::Collate { expr, collation } => {
                self.put("(");
                self.expr(expr);
                self.put(" collate ");
                self.lower(collation);
                self.put(")");
            }
            ExprKind::Function(call) => self.function(call),
            ExprKind::Aggregate(call) => self.aggregate(call),
            ExprKind::Window(call) => self.window_call(call),
            ExprKind::Grouping(args) => {
                self.put("grouping(");
                self.list(args);
                self.put(")");
            }
            ExprKind::DateArith { date, interval, unit, subtract } => {
                self.put("(");
                self.expr(date);
                self.put(if subtract { " - interval " } else { " + interval " });
                self.expr(interval);
                self.put(" ");
                self.lower(unit.name().as_bytes());
                self.put(")");
            }
            ExprKind::Extract { unit, expr } => {
                self.put("extract(");
                self.lower(unit.name().as_bytes());
                self.put(" from ");
                self.expr(expr);
                self.put(")");
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                self.put("timestampdiff(");
                self.put(unit.name());
                self.put(",");
                self.expr(from);
                self.put(",");
                self.expr(to);
                self.put(")");
            }
            ExprKind::Trim { side, remove, expr } => {
                self.put("trim(");
                match side {
                    TrimSide::Leading => self.put("leading "),
                    TrimSide::Trailing => self.put("trailing "),
                    TrimSide::Both if remove.is_some() => self.put("both "),
                    TrimSide::Both => {}
                }
                if let Some(remove) = remove {
                    self.expr(remove);
                    self.put(" from ");
                } else if side != TrimSide::Both {
                    self.put("from ");
                }
                self.expr(expr);
                self.put(")");
            }
            ExprKind::Char { args, charset } => {
                self.put("char(");
                self.list(args);
                if let Some(charset) = charset {
                    self.put(" using ");
                    self.lower(charset);
                }
                self.put(")");
            }
            ExprKind::WeightString { expr, binary, length } => {
                self.put("weight_string(");
                self.expr(expr);
                if let Some(length) = length {
                    self.put(if binary { " as binary(" } else { " as char(" });
                    self.number(length);
                    self.put(")");
                }
                self.put(")");
            }
            ExprKind::GetFormat { kind, expr } => {
                self.put("get_format(");
                self.put(match kind {
                    TemporalKind::Date => "DATE, ",
                    TemporalKind::Time => "TIME, ",
                    TemporalKind::DateTime => "DATETIME, ",
                });
                self.expr(expr);
                self.put(")");
            }
            ExprKind::Match(search) => {
                self.put("(match ");
                self.join(search.columns, ",", Self::column);
                self.put(" against (");
                self.expr(&search.against);
                self.put(match search.mode {
                    MatchMode::Natural => "",
                    MatchMode::NaturalExpansion => " with query expansion",
                    MatchMode::Boolean => " in boolean mode",
                });
                self.put("))");
            }
            ExprKind::JsonExtract { column, path, unquote } => {
                self.put(if unquote { "json_unquote(json_extract(" } else { "json_extract(" });
                self.expr(column);
                self.put(",");
                self.string(path, None);
                self.put(if unquote { "))" } else { ")" });
            }
            ExprKind::JsonValue(value) => {
                self.put("json_value(");
                self.expr(&value.doc);
                self.put(", ");
                self.string(value.path, None);
                if let Some(returning) = &value.returning {
                    self.put(" returning ");
                    self.cast_type(returning);
                }
                self.json_on(value.on_empty.as_ref(), " on empty");
                self.json_on(value.on_error.as_ref(), " on error");
                self.put(")");
            }
            ExprKind::MemberOf { value, array } => {
                // MySQL writes no parentheses around it; with an operator beside it that could not be read again.
                self.put("(");
                self.expr(value);
                self.put(" member of (");
                self.expr(array);
                self.put("))");
            }
            ExprKind::DefaultOf(column) => {
                self.put("default(");
                self.column(column);
                self.put(")");
            }
            ExprKind::ValuesOf(column) => {
                self.put("values(");
                self.column(column);
                self.put(")");
            }
            ExprKind::Default => self.put("default"),
            _ => {}
        }
    }

    fn json_on(&mut self, on: Option<&JsonOn<'_>>, what: &str) {
        let Some(on) = on else { return };
        match on {
            JsonOn::Null => self.put(" null"),
            JsonOn::Error => self.put(" error"),
            JsonOn::Default(value) => {
                self.put(" default ");
                // A sign may stand before a number here, but no parentheses.
                if let ExprKind::Unary { op: UnaryOp::Neg, expr } = value.kind {
                    self.put("-");
                    self.expr(expr);
                } else {
                    self.expr(value);
                }
            }
        }
        self.put(what);
    }

    fn literal(&mut self, literal: &Literal<'_>) {
        match *literal {
            Literal::Null => self.put("NULL"),
            Literal::True => self.put("true"),
            Literal::False => self.put("false"),
            Literal::Number(_, text) => self.raw(text),
            Literal::String { value, charset } => self.string(value, charset),
            Literal::Bytes { value, charset, .. } => {
                if let Some(charset) = charset {
                    self.put("_");
                    self.lower(charset);
                    self.put(" ");
                }
                if value.is_empty() {
                    self.put("x''");
                    return;
                }
                self.put("0x");
                for byte in value {
                    self.put(&format!("{byte:02X}"));
                }
            }
            Literal::Temporal { kind, value } => {
                self.put(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::DateTime => "TIMESTAMP",
                });
                print_string(value, self.out);
            }
        }
    }

    fn cast_type(&mut self, to: &CastType<'_>) {
        let sized = |p: &mut Self, length: Option<u64>| {
            if let Some(length) = length {
                p.put("(");
                p.number(length);
                p.put(")");
            }
        };
        match *to {
            CastType::Binary(length) => {
                self.put("char");
                sized(self, length);
                self.put(" charset binary");
            }
            CastType::Char { length, charset, binary } => {
                self.put("char");
                sized(self, length);
                self.put(" charset ");
                match charset {
                    Some(charset) => self.lower(charset),
                    None => self.put(self.charset),
                }
                if binary {
                    self.put(" binary");
                }
            }
            CastType::Signed => self.put("signed"),
            CastType::Unsigned => self.put("unsigned"),
            CastType::Date => self.put("date"),
            CastType::Year => self.put("year"),
            CastType::Time(digits) => {
                self.put("time");
                sized(self, digits.filter(|d| *d > 0));
            }
            CastType::DateTime(digits) => {
                self.put("datetime");
                sized(self, digits.filter(|d| *d > 0));
            }
            CastType::Decimal { precision, scale } => {
                self.put("decimal(");
                self.number(precision.unwrap_or(10));
                self.put(",");
                self.number(scale.unwrap_or(0));
                self.put(")");
            }
            CastType::Json => self.put("json"),
            CastType::Float(Some(precision)) if precision > 24 => self.put("double"),
            CastType::Float(_) => self.put("float"),
            CastType::Double => self.put("double"),
            CastType::Spatial(name) => self.lower(name.as_bytes()),
        }
    }

    fn function(&mut self, call: &FunctionCall<'_>) {
        let name = call.name.name;
        if self.stored_function_name(&call.name) {
            // Its name is there.
        } else if call.name.schema.is_some() {
            self.object(&call.name);
        } else if name.is("MOD")
            && let [left, right] = call.args
        {
            return self.infix(left, " % ", right);
        } else if name.is("DATE")
            && let [of] = call.args
        {
            self.put("cast(");
            self.expr(of);
            return self.put(" as date)");
        } else if name.is("SUBSTRING") || name.is("MID") {
            self.put("substr");
        } else if name.is("LCASE") {
            self.put("lower");
        } else if name.is("UCASE") {
            self.put("upper");
        } else if name.text.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_') {
            self.lower(name.text);
        } else {
            self.name(name.text);
        }
        self.put("(");
        for (index, arg) in call.args.iter().enumerate() {
            if index > 0 {
                self.put(",");
            }
            self.expr(arg);
            if let Some(Some(alias)) = call.arg_aliases.get(index) {
                self.put(" AS ");
                self.name(alias.text);
            }
        }
        self.put(")");
    }

    fn aggregate(&mut self, call: &Aggregate<'_>) {
        use AggregateFunc as A;
        self.put(match call.func {
            A::CountStar | A::Count => "count(",
            A::Sum => "sum(",
            A::Avg => "avg(",
            A::Min => "min(",
            A::Max => "max(",
            A::BitAnd => "bit_and(",
            A::BitOr => "bit_or(",
            A::BitXor => "bit_xor(",
            A::StdPop => "std(",
            A::StdSamp => "stddev_samp(",
            A::VarPop => "variance(",
            A::VarSamp => "var_samp(",
            A::GroupConcat => "group_concat(",
            A::JsonArrayAgg => "json_arrayagg(",
            A::JsonObjectAgg => "json_objectagg(",
            A::StCollect => "st_collect(",
        });
        if call.func == A::CountStar {
            self.put("0");
        }
        if call.distinct {
            self.put("distinct ");
        }
        self.list(call.args);
        if !call.order_by.is_empty() {
            self.put(" order by ");
            self.join(call.order_by, ",", |p, item| {
                p.expr(&item.expr);
                p.put(if item.desc == Some(true) { " DESC" } else { " ASC" });
            });
        }
        if call.func == A::GroupConcat {
            self.put(" separator ");
            print_string(call.separator, self.out);
        }
        self.put(")");
        if let Some(over) = call.over {
            self.over(over);
        }
    }

    fn window_call(&mut self, call: &WindowCall<'_>) {
        use WindowFunc as W;
        self.put(match call.func {
            W::RowNumber => "row_number(",
            W::Rank => "rank(",
            W::DenseRank => "dense_rank(",
            W::CumeDist => "cume_dist(",
            W::PercentRank => "percent_rank(",
            W::Ntile => "ntile(",
            W::Lead => "lead(",
            W::Lag => "lag(",
            W::FirstValue => "first_value(",
            W::LastValue => "last_value(",
            W::NthValue => "nth_value(",
        });
        self.list(call.args);
        self.put(")");
        if call.from_last {
            self.put(" from last");
        }
        if call.ignore_nulls {
            self.put(" ignore nulls");
        }
        self.over(call.over);
    }

    fn over(&mut self, over: &Over<'_>) {
        self.put(" OVER ");
        match over {
            Over::Name(name) => self.name(name.text),
            Over::Spec(spec) => self.window(spec),
        }
    }

    /// A window, with the blanks that MySQL writes behind each clause and behind the whole.
    fn window(&mut self, spec: &WindowSpec<'_>) {
        self.put("(");
        if let Some(base) = spec.base {
            self.name(base.text);
            self.put(" ");
        }
        if !spec.partition_by.is_empty() {
            self.put("PARTITION BY ");
            self.list(spec.partition_by);
            self.put(" ");
        }
        if !spec.order_by.is_empty() {
            self.put("ORDER BY ");
            self.order_items(spec.order_by);
            self.put(" ");
        }
        if let Some(frame) = spec.frame {
            self.put(match frame.unit {
                FrameUnit::Rows => "ROWS BETWEEN ",
                FrameUnit::Range => "RANGE BETWEEN ",
                FrameUnit::Groups => "GROUPS BETWEEN ",
            });
            self.bound(&frame.start);
            self.put(" AND ");
            self.bound(&frame.end.unwrap_or(FrameBound::CurrentRow));
        }
        self.put(") ");
    }

    fn bound(&mut self, bound: &FrameBound<'_>) {
        match bound {
            FrameBound::UnboundedPreceding => self.put("UNBOUNDED PRECEDING"),
            FrameBound::UnboundedFollowing => self.put("UNBOUNDED FOLLOWING"),
            FrameBound::CurrentRow => self.put("CURRENT ROW"),
            FrameBound::Preceding(amount, unit) => {
                self.amount(amount, *unit);
                self.put(" PRECEDING");
            }
            FrameBound::Following(amount, unit) => {
                self.amount(amount, *unit);
                self.put(" FOLLOWING");
            }
        }
    }

    fn amount(&mut self, amount: &Expr<'_>, unit: Option<IntervalUnit>) {
        match unit {
            Some(unit) => {
                self.put("INTERVAL ");
                self.expr(amount);
                self.put(" ");
                self.put(&unit.name().to_ascii_lowercase());
                self.put(" ");
            }
            None => self.expr(amount),
        }
    }

    // Queries.

    fn order_items(&mut self, items: &[OrderItem<'_>]) {
        self.join(items, ",", |p, item| {
            p.expr(&item.expr);
            if item.desc == Some(true) {
                p.put(" desc");
            }
        });
    }

    fn order_by(&mut self, items: &[OrderItem<'_>]) {
        if !items.is_empty() {
            self.put(" order by ");
            self.order_items(items);
        }
    }

    fn query(&mut self, query: &Query<'_>) {
        if let Some(with) = query.with {
            self.put(if with.recursive { "with recursive " } else { "with " });
            self.join(with.ctes, ",", |p, cte| {
                p.name(cte.name.text);
                p.names(cte.columns);
                p.put(" as (");
                p.query(cte.query);
                p.put(")");
            });
            self.put(" ");
        }
        if self.view.is_some() {
            self.view_body(query);
        } else {
            self.body(&query.body);
            self.order_by(query.order_by);
        }
        if let Some(limit) = &query.limit {
            self.put(" limit ");
            if let Some(offset) = &limit.offset {
                self.expr(offset);
                self.put(",");
            }
            self.expr(&limit.count);
        }
        for locking in if self.view.is_none() { query.locking } else { &[] } {
            self.put(if locking.exclusive { " for update" } else { " for share" });
            if !locking.tables.is_empty() {
                self.put(" of ");
                self.join(locking.tables, ",", Self::object);
            }
            self.put(match locking.wait {
                LockWait::Wait => "",
                LockWait::NoWait => " nowait",
                LockWait::SkipLocked => " skip locked",
            });
        }
    }

    fn names(&mut self, names: &[Ident<'_>]) {
        if !names.is_empty() {
            self.put(" (");
            self.join(names, ",", |p, name| p.name(name.text));
            self.put(")");
        }
    }

    fn body(&mut self, body: &QueryBody<'_>) {
        // A chain of set operations leans to the left: gather it, then print from its first member.
        let mut chain = Vec::new();
        let mut first = body;
        while let QueryBody::SetOp { op, all, left, right } = first {
            chain.push((*op, *all, *right));
            first = left;
        }
        self.member(first);
        for (op, all, right) in chain.into_iter().rev() {
            self.put(match op {
                SetOp::Union => " union ",
                SetOp::Except => " except ",
                SetOp::Intersect => " intersect ",
            });
            if all {
                self.put("all ");
            }
            if matches!(right, QueryBody::SetOp { .. }) {
                self.put("(");
                self.body(right);
                self.put(")");
            } else {
                self.member(right);
            }
        }
    }

    fn member(&mut self, body: &QueryBody<'_>) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Table(name) => {
                self.put("table ");
                self.object(name);
            }
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
            // A VALUES list's literals stand in the text alone; it is named by its size.
            QueryBody::Values(rows) => {
                self.put(&format!("values /* {} x {} */", rows.row_count, rows.column_count));
            }
            QueryBody::SetOp { .. } => self.body(body),
        }
    }

    fn select(&mut self, select: &Select<'_>) {
        let is_subquery = std::mem::take(&mut self.is_subquery);
        let is_exists = std::mem::take(&mut self.is_exists);
        if let Some(number) = self.view.and_then(|view| view.select_number.as_ref()) {
            number.set(number.get() + 1);
            let number = number.get();
            self.put(&format!("/* select#{number} */ "));
        }
        self.put("select ");
        for (set, word) in [
            (select.options.distinct, "distinct "),
            (select.options.straight_join, "straight_join "),
            (select.options.high_priority, "high_priority "),
            (select.options.small_result, "sql_small_result "),
            (select.options.big_result, "sql_big_result "),
            (select.options.buffer_result, "sql_buffer_result "),
            (select.options.calc_found_rows, "sql_calc_found_rows "),
        ] {
            if set {
                self.put(word);
            }
        }
        self.join(select.items, ",", |p, item| match item {
            SelectItem::Star(_) if is_exists && p.view.is_some() => p.put("1"),
            _ if p.view_item(item, is_subquery) => {}
            SelectItem::Star(_) => p.put("*"),
            SelectItem::TableStar(name, _) => {
                p.object(name);
                p.put(".*");
            }
            SelectItem::Expr { expr, alias, .. } => {
                p.expr(expr);
                if let Some(alias) = alias {
                    p.put(" AS ");
                    p.name(alias.text);
                }
            }
        });
        if !select.from.is_empty() {
            self.put(" from ");
            self.tables(select.from);
        }
        if let Some(condition) = select.where_ {
            self.put(" where ");
            self.expr(condition);
        }
        if !select.group_by.is_empty() {
            self.put(if select.grouping == GroupingKind::Cube { " group by cube (" } else { " group by " });
            self.keys(select.group_by, select);
            self.put(match select.grouping {
                GroupingKind::Plain => "",
                GroupingKind::Rollup => " with rollup",
                GroupingKind::Cube => ")",
            });
        }
        if let Some(condition) = select.having {
            self.put(" having ");
            self.expr(condition);
        }
        if !select.windows.is_empty() {
            self.put(" window ");
            self.join(select.windows, ",", |p, (name, spec)| {
                p.name(name.text);
                p.put(" AS ");
                p.window(spec);
            });
        }
        if let Some(condition) = select.qualify {
            self.put(" qualify ");
            self.expr(condition);
        }
    }

    fn table(&mut self, table: &TableRef<'_>) {
        match table {
            TableRef::Table(factor) => {
                self.table_name(&factor.name);
                if !factor.partitions.is_empty() {
                    self.put(" PARTITION");
                    self.names(factor.partitions);
                }
                self.alias(factor.alias);
                for hint in factor.index_hints {
                    self.put(match hint.kind {
                        IndexHintKind::Use => " USE INDEX",
                        IndexHintKind::Force => " FORCE INDEX",
                        IndexHintKind::Ignore => " IGNORE INDEX",
                    });
                    self.put(match hint.scope {
                        IndexHintScope::All => "",
                        IndexHintScope::Join => " FOR JOIN",
                        IndexHintScope::OrderBy => " FOR ORDER BY",
                        IndexHintScope::GroupBy => " FOR GROUP BY",
                    });
                    self.put(" (");
                    self.join(hint.indexes, ",", |p, name| match name.is("PRIMARY") {
                        true => p.put("PRIMARY"),
                        false => p.name(name.text),
                    });
                    self.put(")");
                }
            }
            TableRef::Derived { lateral, query, alias, columns } => {
                self.put(if *lateral { "lateral (" } else { "(" });
                self.query(query);
                self.put(")");
                self.alias(*alias);
                self.names(columns);
            }
            TableRef::JsonTable(table) => self.json_table(table),
            TableRef::Join(join) if self.view.is_some() => self.view_join(join),
            TableRef::Join(join) => {
                self.put("(");
                self.table(&join.left);
                if join.natural {
                    self.put(" natural");
                }
                self.put(match join.kind {
                    JoinKind::Inner => " join ",
                    JoinKind::Straight => " straight_join ",
                    JoinKind::Left => " left join ",
                    JoinKind::Right => " right join ",
                });
                self.table(&join.right);
                match join.condition {
                    JoinCondition::None => {}
                    JoinCondition::On(condition) => {
                        self.put(" on(");
                        self.expr(condition);
                        self.put(")");
                    }
                    JoinCondition::Using(columns) => {
                        self.put(" using");
                        self.names(columns);
                    }
                }
                self.put(")");
            }
            TableRef::List(tables) if self.view.is_some() => self.tables(tables),
            TableRef::List(tables) => {
                self.put("(");
                self.join(tables, ",", Self::table);
                self.put(")");
            }
        }
    }

    fn alias(&mut self, alias: Option<Ident<'_>>) {
        if let Some(alias) = alias {
            self.put(" ");
            self.name(alias.text);
        }
    }
}

/// Its value is 0, 1 or NULL by its form.
fn is_truth(expr: &Expr<'_>) -> bool {
    match expr.kind {
        ExprKind::Literal(literal) => matches!(literal, Literal::True | Literal::False | Literal::Null),
        ExprKind::Unary { op, .. } => op == UnaryOp::Not,
        ExprKind::Binary { op, .. } => matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor),
        ExprKind::Compare { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Is { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. }
        | ExprKind::Between { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSubquery { .. }
        | ExprKind::MemberOf { .. }
        | ExprKind::Exists(_) => true,
        ExprKind::Function(call) => call.name.schema.is_none() && call.name.name.is("REGEXP_LIKE"),
        _ => false,
    }
}

fn compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Eq => " = ",
        CompareOp::NullSafeEq => " <=> ",
        CompareOp::Ne => " <> ",
        CompareOp::Lt => " < ",
        CompareOp::Le => " <= ",
        CompareOp::Gt => " > ",
        CompareOp::Ge => " >= ",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => " + ",
        BinaryOp::Sub => " - ",
        BinaryOp::Mul => " * ",
        BinaryOp::Div => " / ",
        BinaryOp::IntDiv => " DIV ",
        BinaryOp::Mod => " % ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::BitXor => " ^ ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
        BinaryOp::And => " and ",
        BinaryOp::Or => " or ",
        BinaryOp::Xor => " xor ",
        BinaryOp::Concat => " || ",
    }
}
