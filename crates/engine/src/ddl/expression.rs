//! The canonical text of a DEFAULT or CHECK expression, as SHOW CREATE prints it: independent of the session's sql_mode
//! and character set, so that it reads back the same for everybody.

use plan::function::Stability;
use service::error as e;
use service::error::SqlError;
use syntax::ast::{
    BinaryOp, CastType, CompareOp, Expr, ExprKind, IntervalUnit, IsTest, Literal, TemporalKind, TrimSide,
    UnaryOp,
};

use super::{Result, Settings, text_of};
use session::backend::DefinitionSession;

/// An expression in canonical form.
pub(super) struct Canonical {
    pub(super) text: String,
    /// The columns it names.
    pub(super) columns: Vec<String>,
    /// What it holds that no CHECK may.
    pub(super) unfit: Option<Unfit>,
}

/// Why an expression cannot be a CHECK.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Unfit {
    /// Its value is no truth value.
    NotBoolean,
    /// A function whose value depends on more than its arguments, or a stored one.
    Function(String),
    /// A subquery.
    Subquery,
    /// A user or system variable.
    Variable,
    /// A cast to an array.
    Array,
}

impl Unfit {
    /// The error for the constraint `name`.
    pub(super) fn error(&self, name: &str) -> Box<SqlError> {
        match self {
            Unfit::NotBoolean => e::ER_NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT.with(&[&name]),
            Unfit::Function(function) => {
                e::ER_CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED.with(&[&name, function])
            }
            Unfit::Subquery => e::ER_CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED.with(&[&name]),
            Unfit::Variable => e::ER_CHECK_CONSTRAINT_VARIABLES.with(&[&name]),
            Unfit::Array => e::ER_NOT_SUPPORTED_YET.with(&[&"CAST-ing data to array of char/binary BLOBs"]),
        }
    }
}

/// As [`canonical`], of a generated column or a functional key part: what it must not hold is found, too.
pub(super) fn canonical_generated(expr: &Expr<'_>, settings: &Settings<'_>) -> Result<Canonical> {
    let mut made = print(expr, settings, true)?;
    // In a CHECK it may stand.
    if made.unfit.is_none() && made.text.contains("sysdate(") {
        made.unfit = Some(Unfit::Function("sysdate".to_owned()));
    }
    Ok(made)
}

/// The canonical text of an expression and what it names.
pub(super) fn canonical(expr: &Expr<'_>, settings: &Settings<'_>) -> Result<Canonical> {
    print(expr, settings, false)
}

/// As [`canonical`], of a CHECK: what it must not hold is found, too.
pub(super) fn canonical_check(expr: &Expr<'_>, settings: &Settings<'_>) -> Result<Canonical> {
    let mut made = print(expr, settings, true)?;
    if !is_boolean(expr) {
        made.unfit = Some(Unfit::NotBoolean);
    }
    Ok(made)
}

fn print(expr: &Expr<'_>, settings: &Settings<'_>, is_check: bool) -> Result<Canonical> {
    let mut printer = Printer { settings, out: String::new(), columns: Vec::new(), is_check, unfit: None };
    printer.expr(expr)?;
    Ok(Canonical { text: printer.out, columns: printer.columns, unfit: printer.unfit })
}

/// Whether the expression gives a truth value by its form: a CHECK must.
fn is_boolean(expr: &Expr<'_>) -> bool {
    match &expr.kind {
        ExprKind::Compare { .. }
        | ExprKind::Is { .. }
        | ExprKind::Like { .. }
        | ExprKind::Regexp { .. }
        | ExprKind::Between { .. }
        | ExprKind::InList { .. }
        | ExprKind::InSubquery { .. }
        | ExprKind::Quantified { .. }
        | ExprKind::Exists(_)
        | ExprKind::MemberOf { .. }
        | ExprKind::Literal(Literal::True | Literal::False)
        | ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, .. }
        | ExprKind::Unary { op: UnaryOp::Not, .. } => true,
        ExprKind::Function(call) if call.name.schema.is_none() => {
            let name = call.name.name.text.to_ascii_lowercase();
            matches!(
                &name[..],
                b"isnull"
                    | b"regexp_like"
                    | b"strcmp"
                    | b"json_contains"
                    | b"json_contains_path"
                    | b"json_overlaps"
                    | b"json_schema_valid"
                    | b"json_valid"
                    | b"is_ipv4"
                    | b"is_ipv4_compat"
                    | b"is_ipv4_mapped"
                    | b"is_ipv6"
                    | b"is_uuid"
            )
        }
        _ => false,
    }
}

/// What keeps a function called `name` out of a CHECK.
fn unfit_function(name: &str) -> Option<Unfit> {
    let shown = match name {
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        "schema" => "database",
        "session_user" | "system_user" => "user",
        "json_merge" => "json_merge_preserve",
        "icu_version" => "icu_version()",
        "version" => "version()",
        "md5" | "sha" | "sha1" => return Some(Unfit::Function(format!("`{name}`"))),
        _ => name,
    };
    match plan::function::lookup(name.as_bytes()) {
        _ if name == "sysdate" => None,
        // They ask the session for a language, a default or a zone, which MySQL lets them.
        _ if [
            "dayname",
            "monthname",
            "date_format",
            "week",
            "yearweek",
            "str_to_date",
            "from_unixtime",
            "format",
        ]
        .contains(&name) =>
        {
            None
        }
        _ if name == "name_const" => Some(Unfit::Subquery),
        _ if name.starts_with("statement_digest") => Some(Unfit::Function(name.to_owned())),
        _ if matches!(name, "json_merge" | "load_file") => Some(Unfit::Function(shown.to_owned())),
        Some(function) if function.stability() == Stability::Pure => None,
        Some(_) => Some(Unfit::Function(shown.to_owned())),
        None => Some(Unfit::Function(format!("`{name}`"))),
    }
}

/// The stored function that a canonical text calls: a name that no native function has.
pub(super) fn stored_function_of(text: &str, settings: &Settings<'_>) -> Result<Option<String>> {
    let arena = bumpalo::Bump::new();
    let Ok(expr) = syntax::parse_expr(text.as_bytes(), &arena, syntax::SqlMode::default()) else {
        return Ok(None);
    };
    let session = DefinitionSession { text: text.as_bytes(), ..settings.session };
    let made = print(&expr, &Settings { session, ..*settings }, true)?;
    Ok(match made.unfit {
        Some(Unfit::Function(name)) => {
            let own = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
            own.filter(|own| plan::function::lookup(own.as_bytes()).is_none()).map(|_| name.clone())
        }
        _ => None,
    })
}

/// The columns that a canonical text names.
pub(super) fn columns_of_text(text: &str, settings: &Settings<'_>) -> Result<Vec<String>> {
    let arena = bumpalo::Bump::new();
    match syntax::parse_expr(text.as_bytes(), &arena, syntax::SqlMode::default()) {
        Ok(expr) => canonical(
            &expr,
            &Settings {
                session: DefinitionSession { text: text.as_bytes(), ..settings.session },
                ..*settings
            },
        )
        .map(|made| made.columns),
        Err(_) => Ok(Vec::new()),
    }
}

struct Printer<'a> {
    settings: &'a Settings<'a>,
    out: String,
    columns: Vec<String>,
    is_check: bool,
    /// The first thing that no CHECK may hold.
    unfit: Option<Unfit>,
}

impl Printer<'_> {
    fn list(&mut self, exprs: &[Expr<'_>]) -> Result<()> {
        for (ordinal, expr) in exprs.iter().enumerate() {
            if ordinal > 0 {
                self.out.push(',');
            }
            self.expr(expr)?;
        }
        Ok(())
    }

    /// Operands with words between them, in parentheses.
    fn infix(&mut self, left: &Expr<'_>, operator: &str, right: &Expr<'_>) -> Result<()> {
        self.out.push('(');
        self.expr(left)?;
        self.out.push_str(operator);
        self.expr(right)?;
        self.out.push(')');
        Ok(())
    }

    /// An operand with words behind it, in parentheses.
    fn infix_end(&mut self, operand: &Expr<'_>, words: &str) -> Result<()> {
        self.out.push('(');
        self.expr(operand)?;
        self.out.push_str(words);
        self.out.push(')');
        Ok(())
    }

    /// AND and OR of more than two conditions stand in one pair of parentheses.
    fn chain(&mut self, expr: &Expr<'_>, op: BinaryOp, word: &str) -> Result<()> {
        match expr.kind {
            ExprKind::Binary { op: inner, left, right } if inner == op => {
                self.chain(left, op, word)?;
                self.out.push_str(word);
                self.chain(right, op, word)
            }
            _ => self.condition(expr),
        }
    }

    /// An expression where a truth value is wanted: a bare column or number is compared with 0.
    fn condition(&mut self, expr: &Expr<'_>) -> Result<()> {
        if matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(Literal::Number(..))) {
            self.out.push_str("(0 <> ");
            self.expr(expr)?;
            self.out.push(')');
            return Ok(());
        }
        self.expr(expr)
    }

    fn expr(&mut self, expr: &Expr<'_>) -> Result<()> {
        match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Column(column) => {
                let name = text_of(column.name.text)?;
                self.columns.push(name.to_owned());
                let mut quoted = Vec::new();
                catalog::append_identifier(&mut quoted, name);
                self.out.push_str(&String::from_utf8_lossy(&quoted));
                Ok(())
            }
            ExprKind::Unary { op, expr } => self.unary(*op, expr),
            ExprKind::Binary { op: BinaryOp::And, .. } => {
                self.out.push('(');
                self.chain(expr, BinaryOp::And, " and ")?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Binary { op: BinaryOp::Or, .. } => {
                self.out.push('(');
                self.chain(expr, BinaryOp::Or, " or ")?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Binary { op: BinaryOp::Xor, left, right } => {
                self.out.push('(');
                self.condition(left)?;
                self.out.push_str(" xor ");
                self.condition(right)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Binary { op: BinaryOp::Concat, left, right } => {
                self.out.push_str("concat(");
                self.expr(left)?;
                self.out.push(',');
                self.expr(right)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Binary { op, left, right } => self.infix(left, binary_word(*op), right),
            // Rows are equal when each pair is.
            ExprKind::Compare {
                op: CompareOp::Eq,
                left: Expr { kind: ExprKind::Row(left), .. },
                right: Expr { kind: ExprKind::Row(right), .. },
            } if left.len() == right.len() => {
                self.out.push('(');
                for (position, (left, right)) in left.iter().zip(*right).enumerate() {
                    if position > 0 {
                        self.out.push_str(" and ");
                    }
                    self.infix(left, compare_word(CompareOp::Eq), right)?;
                }
                self.out.push(')');
                Ok(())
            }
            ExprKind::Compare { op, left, right } => self.infix(left, compare_word(*op), right),
            ExprKind::Is { expr, test, negated } => {
                self.out.push('(');
                match test {
                    IsTest::True | IsTest::False => self.condition(expr)?,
                    IsTest::Null | IsTest::Unknown => self.expr(expr)?,
                }
                self.out.push_str(if *negated { " is not " } else { " is " });
                self.out.push_str(match test {
                    IsTest::Null => "null",
                    IsTest::Unknown => "unknown",
                    IsTest::True => "true",
                    IsTest::False => "false",
                });
                self.out.push(')');
                Ok(())
            }
            ExprKind::Like { expr, pattern, escape, negated } => {
                if *negated {
                    self.out.push_str("(not(");
                }
                self.out.push('(');
                self.expr(expr)?;
                self.out.push_str(" like ");
                self.expr(pattern)?;
                if let Some(escape) = escape {
                    self.out.push_str(" escape ");
                    self.expr(escape)?;
                }
                self.out.push(')');
                if *negated {
                    self.out.push_str("))");
                }
                Ok(())
            }
            ExprKind::Regexp { expr, pattern, negated } => {
                if *negated {
                    self.out.push_str("(not(");
                }
                self.out.push_str("regexp_like(");
                self.expr(expr)?;
                self.out.push(',');
                self.expr(pattern)?;
                self.out.push(')');
                if *negated {
                    self.out.push_str("))");
                }
                Ok(())
            }
            ExprKind::Between { expr, low, high, negated } => {
                self.out.push('(');
                self.expr(expr)?;
                self.out.push_str(if *negated { " not between " } else { " between " });
                self.expr(low)?;
                self.out.push_str(" and ");
                self.expr(high)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::InList { expr, list: [only], negated } => {
                self.infix(expr, if *negated { " <> " } else { " = " }, only)
            }
            ExprKind::InList { expr, list, negated } => {
                self.out.push('(');
                self.expr(expr)?;
                self.out.push_str(if *negated { " not in (" } else { " in (" });
                self.list(list)?;
                self.out.push_str("))");
                Ok(())
            }
            ExprKind::Case(case) => {
                self.out.push_str("(case");
                if let Some(operand) = &case.operand {
                    self.out.push(' ');
                    self.expr(operand)?;
                }
                for (when, then) in case.whens {
                    self.out.push_str(" when ");
                    self.expr(when)?;
                    self.out.push_str(" then ");
                    self.expr(then)?;
                }
                if let Some(otherwise) = &case.otherwise {
                    self.out.push_str(" else ");
                    self.expr(otherwise)?;
                }
                self.out.push_str(" end)");
                Ok(())
            }
            ExprKind::Cast(cast) => {
                self.out.push_str("cast(");
                self.expr(&cast.expr)?;
                self.out.push_str(" as ");
                self.cast_type(&cast.to);
                if cast.array {
                    if !self.is_check {
                        return Err(e::ER_NOT_SUPPORTED_YET
                            .with(&[&"CAST to an array outside of a functional index"]));
                    }
                    self.unfit.get_or_insert(Unfit::Array);
                    self.out.push_str(" array");
                }
                self.out.push(')');
                Ok(())
            }
            ExprKind::ConvertUsing { expr, charset } => {
                self.out.push_str("convert(");
                self.expr(expr)?;
                self.out.push_str(" using ");
                self.out.push_str(&text_of(charset)?.to_ascii_lowercase());
                self.out.push(')');
                Ok(())
            }
            ExprKind::Collate { expr, collation } => {
                self.out.push('(');
                self.expr(expr)?;
                self.out.push_str(" collate ");
                self.out.push_str(&text_of(collation)?.to_ascii_lowercase());
                self.out.push(')');
                Ok(())
            }
            ExprKind::Function(call) if call.name.schema.is_none() => {
                let name = text_of(call.name.name.text)?.to_ascii_lowercase();
                if let Some(unfit) = unfit_function(&name) {
                    self.unfit.get_or_insert(unfit);
                }
                if self.other_form(&name, call.args)? {
                    return Ok(());
                }
                self.out.push_str(match name.as_str() {
                    "substring" | "mid" => "substr",
                    "ceil" => "ceiling",
                    "power" => "pow",
                    "octet_length" => "length",
                    "char_length" | "character_length" => "char_length",
                    "ucase" => "upper",
                    "lcase" => "lower",
                    "current_timestamp" => "now",
                    other => other,
                });
                self.out.push('(');
                self.list(call.args)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::DateArith { date, interval, unit, subtract } => {
                self.out.push('(');
                self.expr(date)?;
                self.out.push_str(if *subtract { " - interval " } else { " + interval " });
                self.expr(interval)?;
                self.out.push(' ');
                self.out.push_str(unit_word(*unit));
                self.out.push(')');
                Ok(())
            }
            ExprKind::JsonExtract { column, path, unquote } => {
                if *unquote {
                    self.out.push_str("json_unquote(");
                }
                self.out.push_str("json_extract(");
                self.expr(column)?;
                self.out.push(',');
                self.string(path, None)?;
                self.out.push_str(if *unquote { "))" } else { ")" });
                Ok(())
            }
            ExprKind::Exists(_)
            | ExprKind::Subquery(_)
            | ExprKind::InSubquery { .. }
            | ExprKind::Quantified { .. } => {
                if self.is_check {
                    self.unfit.get_or_insert(Unfit::Subquery);
                    return Ok(());
                }
                Err(e::ER_NOT_SUPPORTED_YET.with(&[&"subqueries in this context"]))
            }
            ExprKind::Extract { unit, expr } => {
                self.out.push_str("extract(");
                self.out.push_str(unit_word(*unit));
                self.out.push_str(" from ");
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                self.out.push_str("timestampdiff(");
                self.out.push_str(&unit_word(*unit).to_ascii_uppercase());
                self.out.push(',');
                self.expr(from)?;
                self.out.push(',');
                self.expr(to)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::MemberOf { value, array } => {
                self.expr(value)?;
                self.out.push_str(" member of (");
                self.expr(array)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Row(exprs) => {
                self.out.push('(');
                self.list(exprs)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::DefaultOf(column) => {
                self.out.push_str("default(");
                self.expr(&Expr { kind: ExprKind::Column(column), ..*expr })?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Trim { side, remove, expr } => {
                self.out.push_str("trim(");
                self.out.push_str(match side {
                    TrimSide::Leading => "leading ",
                    TrimSide::Trailing => "trailing ",
                    TrimSide::Both if remove.is_some() => "both ",
                    TrimSide::Both => "",
                });
                if let Some(remove) = remove {
                    self.expr(remove)?;
                    self.out.push_str(" from ");
                }
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::Char { args, charset } => {
                self.out.push_str("char(");
                self.list(args)?;
                if let Some(charset) = charset {
                    self.out.push_str(" using ");
                    self.out.push_str(&text_of(charset)?.to_ascii_lowercase());
                }
                self.out.push(')');
                Ok(())
            }
            ExprKind::WeightString { expr, binary, length } => {
                self.out.push_str("weight_string(");
                self.expr(expr)?;
                if let Some(length) = length {
                    let kind = if *binary { "binary" } else { "char" };
                    self.out.push_str(&format!(" as {kind}({length})"));
                }
                self.out.push(')');
                Ok(())
            }
            ExprKind::GetFormat { kind, expr } => {
                self.out.push_str(match kind {
                    TemporalKind::Date => "get_format(DATE, ",
                    TemporalKind::Time => "get_format(TIME, ",
                    TemporalKind::DateTime => "get_format(DATETIME, ",
                });
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            ExprKind::JsonValue(value) => {
                if value.on_empty.is_some() || value.on_error.is_some() {
                    // Only what it reads is of interest.
                    let end = self.out.len();
                    self.expr(&value.doc)?;
                    self.out.truncate(end);
                    let text = self.settings.source_text(expr)?;
                    self.out.push_str(&text);
                    return Ok(());
                }
                self.out.push_str("json_value(");
                self.expr(&value.doc)?;
                self.out.push_str(", ");
                self.string(value.path, None)?;
                self.out.push_str(" returning ");
                match &value.returning {
                    Some(to) => self.cast_type(to),
                    None => self.out.push_str("char(512)"),
                }
                self.out.push(')');
                Ok(())
            }
            // Rarer forms keep the text they were written with.
            _ => {
                match &expr.kind {
                    ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } | ExprKind::SysVar(_) => {
                        self.unfit.get_or_insert(Unfit::Variable);
                    }
                    ExprKind::ValuesOf(_) => {
                        self.unfit.get_or_insert(Unfit::Function("values".to_owned()));
                    }
                    ExprKind::Match { .. } => {
                        self.unfit.get_or_insert(Unfit::Function("match".to_owned()));
                    }
                    _ => {}
                }
                let text = self.settings.source_text(expr)?;
                self.out.push_str(&text);
                Ok(())
            }
        }
    }

    /// A function that MySQL keeps as another one; false if `name` is none.
    fn other_form(&mut self, name: &str, args: &[Expr<'_>]) -> Result<bool> {
        let mut around = |before: &str, arg: &Expr<'_>, after: &str| {
            self.out.push_str(before);
            self.expr(arg)?;
            self.out.push_str(after);
            Ok(true)
        };
        match (name, args) {
            ("date", [arg]) => around("cast(", arg, " as date)"),
            ("time", [arg]) => around("cast(", arg, " as time)"),
            ("timestamp", [arg]) => around("cast(", arg, " as datetime)"),
            ("isnull", [arg]) => around("(", arg, " is null)"),
            ("bin", [arg]) => around("conv(", arg, ",10,2)"),
            ("oct", [arg]) => around("conv(", arg, ",10,8)"),
            ("round", [arg]) => around("round(", arg, ",0)"),
            ("week", [arg]) => around("week(", arg, ",0)"),
            ("yearweek", [arg]) => around("yearweek(", arg, ",0)"),
            ("mod", [left, right]) => self.infix(left, " % ", right).map(|()| true),
            ("instr", [text, part]) => {
                around("locate(", part, ",")?;
                around("", text, ")")
            }
            ("datediff", [left, right]) => {
                around("(to_days(", left, ") - ")?;
                around("to_days(", right, "))")
            }
            _ => Ok(false),
        }
    }

    fn unary(&mut self, op: UnaryOp, expr: &Expr<'_>) -> Result<()> {
        let inverse = |op: CompareOp| {
            Some(match op {
                CompareOp::Eq => " <> ",
                CompareOp::Ne => " = ",
                CompareOp::Lt => " >= ",
                CompareOp::Le => " > ",
                CompareOp::Gt => " <= ",
                CompareOp::Ge => " < ",
                CompareOp::NullSafeEq => return None,
            })
        };
        match (op, &expr.kind) {
            (UnaryOp::Plus, _) => self.expr(expr),
            // NOT of a comparison is the opposite comparison.
            (UnaryOp::Not, ExprKind::Compare { op, left, right }) if inverse(*op).is_some() => {
                self.infix(left, inverse(*op).unwrap_or(" = "), right)
            }
            (UnaryOp::Not, ExprKind::Is { expr: inner, test: IsTest::Null, negated }) => {
                self.infix_end(inner, if *negated { " is null" } else { " is not null" })
            }
            (UnaryOp::Not, ExprKind::Column(_)) => {
                self.out.push_str("(0 = ");
                self.expr(expr)?;
                self.out.push(')');
                Ok(())
            }
            _ => {
                self.out.push_str(match op {
                    UnaryOp::Neg => "-(",
                    UnaryOp::BitNot => "~(",
                    _ => "(not(",
                });
                self.expr(expr)?;
                self.out.push_str(if op == UnaryOp::Not { "))" } else { ")" });
                Ok(())
            }
        }
    }

    fn literal(&mut self, literal: &Literal<'_>) -> Result<()> {
        match literal {
            Literal::Null => self.out.push_str("NULL"),
            Literal::True => self.out.push_str("true"),
            Literal::False => self.out.push_str("false"),
            Literal::Number(_, text) => self.out.push_str(text_of(text)?),
            Literal::String { value, charset } => self.string(value, *charset)?,
            Literal::Bytes { value, charset, bits } => {
                if let Some(charset) = charset {
                    self.out.push('_');
                    self.out.push_str(&text_of(charset)?.to_ascii_lowercase());
                    self.out.push(' ');
                }
                self.out.push_str("0x");
                let _ = bits;
                for byte in *value {
                    self.out.push_str(&format!("{byte:02X}"));
                }
            }
            Literal::Temporal { kind, value } => {
                self.out.push_str(match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::DateTime => "TIMESTAMP",
                });
                self.out.push('\'');
                self.out.push_str(text_of(value)?);
                self.out.push('\'');
            }
        }
        Ok(())
    }

    /// A string with its character set, so that it means the same under any connection.
    fn string(&mut self, value: &[u8], charset: Option<&[u8]>) -> Result<()> {
        self.out.push('_');
        match charset {
            Some(charset) => self.out.push_str(&text_of(charset)?.to_ascii_lowercase()),
            None => self.out.push_str(self.settings.session.literal_charset.name()),
        }
        self.out.push('\'');
        for character in text_of(value)?.chars() {
            match character {
                '\'' => self.out.push_str("\\'"),
                '\\' => self.out.push_str("\\\\"),
                '\0' => self.out.push_str("\\0"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                other => self.out.push(other),
            }
        }
        self.out.push('\'');
        Ok(())
    }

    fn cast_type(&mut self, to: &CastType<'_>) {
        let digits = |name: &str, count: &Option<u64>| match count {
            Some(count) => format!("{name}({count})"),
            None => name.to_owned(),
        };
        let text = match to {
            CastType::Binary(length) => digits("char", length) + " charset binary",
            CastType::Char { length, charset, binary } => {
                let charset = match charset {
                    Some(charset) => String::from_utf8_lossy(charset).to_ascii_lowercase(),
                    None => self.settings.session.literal_charset.name().to_owned(),
                };
                let binary = if *binary { " binary" } else { "" };
                format!("{} charset {charset}{binary}", digits("char", length))
            }
            CastType::Signed => "signed".to_owned(),
            CastType::Unsigned => "unsigned".to_owned(),
            CastType::Date => "date".to_owned(),
            CastType::Year => "year".to_owned(),
            CastType::Time(count) => digits("time", count),
            CastType::DateTime(count) => digits("datetime", count),
            CastType::Decimal { precision, scale } => {
                format!("decimal({},{})", precision.unwrap_or(10), scale.unwrap_or(0))
            }
            CastType::Json => "json".to_owned(),
            CastType::Float(_) => "float".to_owned(),
            CastType::Double => "double".to_owned(),
            CastType::Spatial(name) => name.to_ascii_lowercase(),
        };
        self.out.push_str(&text);
    }
}

fn binary_word(op: BinaryOp) -> &'static str {
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
        BinaryOp::Or | BinaryOp::Concat => " or ",
        BinaryOp::Xor => " xor ",
    }
}

fn compare_word(op: CompareOp) -> &'static str {
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

fn unit_word(unit: IntervalUnit) -> &'static str {
    match unit {
        IntervalUnit::Microsecond => "microsecond",
        IntervalUnit::Second => "second",
        IntervalUnit::Minute => "minute",
        IntervalUnit::Hour => "hour",
        IntervalUnit::Day => "day",
        IntervalUnit::Week => "week",
        IntervalUnit::Month => "month",
        IntervalUnit::Quarter => "quarter",
        IntervalUnit::Year => "year",
        IntervalUnit::SecondMicrosecond => "second_microsecond",
        IntervalUnit::MinuteMicrosecond => "minute_microsecond",
        IntervalUnit::MinuteSecond => "minute_second",
        IntervalUnit::HourMicrosecond => "hour_microsecond",
        IntervalUnit::HourSecond => "hour_second",
        IntervalUnit::HourMinute => "hour_minute",
        IntervalUnit::DayMicrosecond => "day_microsecond",
        IntervalUnit::DaySecond => "day_second",
        IntervalUnit::DayMinute => "day_minute",
        IntervalUnit::DayHour => "day_hour",
        IntervalUnit::YearMonth => "year_month",
    }
}
