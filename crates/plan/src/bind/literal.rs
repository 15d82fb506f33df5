//! Constants of the text.

use std::borrow::Cow;
use std::fmt::Write as _;

use syntax::ast::{Literal, NumberKind, TemporalKind};
use types::charset::Charset;
use types::temporal::parse::{DateMode, parse_datetime, parse_time};
use types::{CollationId, DataType, Decimal, TypeKind, Value};

use super::{Binder, utf8};
use crate::error::{PlanError, PlanResult};
use crate::expr::{CallOption, Coercibility, Expr, ExprKind};
use crate::function::{self, FunctionId};

/// So much of a wrong literal is shown.
const WRONG_TEXT_CHARS_SHOWN: usize = 128;

impl Binder<'_> {
    pub(crate) fn literal(&mut self, literal: &Literal<'_>, start: u32) -> PlanResult<Expr> {
        if let Some(ordinal) = self.literal_parameter(start) {
            self.literals_are_parameters = true;
            return Ok(self.parameter(ordinal));
        }
        Ok(match *literal {
            Literal::Null => Expr::null(),
            Literal::True => Expr::bool(true),
            Literal::False => Expr::bool(false),
            Literal::Number(kind, text) => number_literal(kind, text, false)?,
            Literal::String { value, charset } => Expr::literal(match charset {
                Some(name) => {
                    let sent = self.as_sent(value);
                    let (collation, sent) = self.introduced(name, &sent)?;
                    Value::string(&*sent, collation)
                }
                None => Value::string_literal(value, self.types.connection_collation),
            }),
            Literal::Bytes { value, charset, .. } => {
                let (collation, value) = match charset {
                    Some(name) => self.introduced(name, value)?,
                    None => (CollationId::BINARY, Cow::Borrowed(value)),
                };
                let mut literal = Expr::literal(Value::string(&*value, collation));
                // A number where one is wanted; see `DataType::is_hex_literal`.
                literal.data_type.unsigned = collation == CollationId::BINARY && charset.is_none();
                literal
            }
            // `{d '...'}` is only a text then.
            Literal::Temporal { kind, value }
                if self.text.get(start as usize) == Some(&b'{')
                    && !is_temporal(kind, value, self.session.date_mode()) =>
            {
                Expr::literal(Value::string_literal(value, self.types.connection_collation))
            }
            Literal::Temporal { kind, value } => {
                if !is_temporal(kind, value, self.session.date_mode()) {
                    return Err(wrong_temporal(kind, value));
                }
                let data_type = match kind {
                    TemporalKind::Date => DataType::DATE,
                    TemporalKind::Time => DataType::time(fraction_digits(value)),
                    TemporalKind::DateTime => DataType::datetime(fraction_digits(value)),
                };
                let text = Expr::literal(Value::string_literal(value, self.types.connection_collation));
                let value = function::build_typed(
                    FunctionId::Cast,
                    vec![text],
                    data_type,
                    CallOption::None,
                    &self.types,
                )?;
                // Checked above.
                Expr { nullable: false, ..value }
            }
        })
    }

    /// The bytes of a literal as the client sent them: the text is UTF-8 here, whatever the client's character set.
    fn as_sent<'t>(&mut self, value: &'t [u8]) -> Cow<'t, [u8]> {
        if value.is_ascii() {
            return Cow::Borrowed(value);
        }
        // Another character set of the client would give other bytes.
        self.volatile = true;
        let client = self.session.client_charset();
        if !client.needs_conversion() {
            return Cow::Borrowed(value);
        }
        let mut sent = Vec::with_capacity(value.len());
        // Every character came from that set.
        let _ = types::charset::convert_lossy(Charset::Utf8mb4, value, client, &mut sent);
        Cow::Owned(sent)
    }

    /// The collation of a literal behind `_charset`, and its bytes, which must be characters of that set.
    fn introduced<'t>(&self, name: &[u8], value: &'t [u8]) -> PlanResult<(CollationId, Cow<'t, [u8]>)> {
        let collation = self.charset_collation(name)?;
        let value = collation.charset().whole_units(value);
        if let Err(bad) = collation.charset().validate(&value) {
            /// MySQL shows this many of the bytes from the first bad one on.
            const BAD_BYTES_SHOWN: usize = 3;
            let mut shown = String::new();
            for byte in value[bad.position..].iter().take(BAD_BYTES_SHOWN) {
                let _ = write!(shown, "{byte:02X}");
            }
            let name = collation.charset().name();
            return Err(PlanError::new(1300, format!("Invalid {name} character string: '{shown}'")));
        }
        Ok((collation, value))
    }

    /// The default collation of a character set.
    pub(crate) fn charset_collation(&self, name: &[u8]) -> PlanResult<CollationId> {
        let name = utf8(name);
        match Charset::from_name(&name) {
            Some(charset) => Ok(charset.default_collation()),
            None => Err(PlanError::new(1115, format!("Unknown character set: '{name}'"))),
        }
    }

    /// The variable of a stored program with this name: a parameter that holds its collation as a column does.
    pub(crate) fn local_variable(&mut self, name: &[u8]) -> Option<Expr> {
        if self.in_view() {
            return None;
        }
        let (ordinal, data_type) = self.session.local_variable(name)?;
        Some(self.variable(ordinal, data_type))
    }

    /// The column of NEW or OLD with this name, in a trigger.
    pub(crate) fn row_variable(&mut self, row: &[u8], column: &[u8]) -> Option<Expr> {
        let is_new = row.eq_ignore_ascii_case(b"NEW");
        if self.in_view() || !is_new && !row.eq_ignore_ascii_case(b"OLD") {
            return None;
        }
        let (ordinal, data_type) = self.session.row_variable(is_new, &utf8(column))?;
        Some(self.variable(ordinal, data_type))
    }

    fn variable(&mut self, ordinal: u32, data_type: DataType) -> Expr {
        self.names_variable = true;
        self.note_parameter(ordinal, Some(data_type.clone()));
        let mut expr = Expr::new(ExprKind::Param(ordinal), data_type, true);
        if expr.coercibility == Coercibility::Literal {
            expr.coercibility = Coercibility::Implicit;
        }
        expr
    }

    pub(crate) fn parameter(&mut self, ordinal: u32) -> Expr {
        let known = self.session.parameter_type(ordinal);
        let data_type = known.unwrap_or_else(|| function::untyped(self.types.connection_collation));
        self.note_parameter(ordinal, Some(data_type.clone()));
        let mut expr = Expr::new(ExprKind::Param(ordinal), data_type, true);
        // A number or date that has its own type converts as such.
        if expr.data_type.is_string() {
            expr.coercibility = Coercibility::Literal;
        }
        expr
    }

    /// Notes the type of a parameter; `None`: any value will do.
    pub(crate) fn note_parameter(&self, ordinal: u32, data_type: Option<DataType>) {
        let position = ordinal as usize;
        let mut types = self.parameters.borrow_mut();
        if types.len() <= position {
            types.resize(position + 1, None);
        }
        types[position] = data_type;
    }

    /// Whether some operand may have a parameter whose type comes from what stands beside it.
    pub(crate) fn has_open_parameters(&self) -> bool {
        self.types.fixes_parameters && !self.parameters.borrow().is_empty()
    }

    /// Notes the parameters among operands that take the character set of another one.
    pub(crate) fn note_charsets(&self, operands: &[Expr]) {
        if let Some(collation) = function::charset_beside(operands, &self.types) {
            for operand in operands {
                self.note_charset(operand, collation);
            }
        }
    }

    /// Notes a parameter that goes into a column.
    pub(crate) fn note_stored(&self, value: &Expr, column: &DataType) {
        if let Some(collation) = function::charset_of(column, &self.types) {
            self.note_charset(value, collation);
        }
    }

    /// Notes a parameter that CAST or CONVERT USING makes characters of.
    pub(crate) fn note_cast_charset(&self, operand: &Expr, collation: CollationId) {
        if collation != CollationId::BINARY {
            self.note_charset(operand, collation);
        }
    }

    fn note_charset(&self, operand: &Expr, collation: CollationId) {
        if let ExprKind::Param(ordinal) = operand.kind
            && function::is_untyped(operand, &self.types)
        {
            self.text_parameters.borrow_mut().push((ordinal, collation));
        }
    }

    /// Notes the types that parameters have got from their context.
    pub(crate) fn note_parameters(&self, exprs: &[Expr]) {
        if !self.types.fixes_parameters {
            return;
        }
        for expr in exprs {
            if let ExprKind::Param(ordinal) = expr.kind {
                self.note_parameter(ordinal, Some(expr.data_type.clone()));
            }
        }
    }

    /// Lets `derive` give types to the parameters among operands, and notes them, those of calls that get another type, too.
    pub(crate) fn with_types(&self, exprs: &mut [Expr], derive: impl FnOnce(&mut [Expr])) {
        if !self.has_open_parameters() {
            return;
        }
        let before: smallvec::SmallVec<[DataType; 4]> =
            exprs.iter().map(|expr| expr.data_type.clone()).collect();
        derive(exprs);
        for (expr, before) in exprs.iter().zip(before) {
            if matches!(expr.kind, ExprKind::Param(_)) || expr.data_type != before {
                function::each_parameter(expr, &mut |ordinal, data_type| {
                    self.note_parameter(ordinal, Some(data_type.clone()));
                });
            }
        }
    }
}

/// Whether a text is all of such a literal, by `sql_mode`'s rules for dates.
fn is_temporal(kind: TemporalKind, text: &[u8], mode: DateMode) -> bool {
    match kind {
        TemporalKind::Time => {
            parse_time(text).is_ok_and(|time| !time.truncated && !time.out_of_range && !time.from_datetime)
        }
        TemporalKind::Date | TemporalKind::DateTime => {
            let has_time = kind == TemporalKind::DateTime;
            parse_datetime(text, mode).is_ok_and(|value| !value.truncated && value.has_time == has_time)
        }
    }
}

/// 1525.
#[cold]
fn wrong_temporal(kind: TemporalKind, text: &[u8]) -> Box<PlanError> {
    let name = match kind {
        TemporalKind::Date => "DATE",
        TemporalKind::Time => "TIME",
        TemporalKind::DateTime => "DATETIME",
    };
    wrong_value(name, text)
}

/// 1525 of a value of the type that is named.
#[cold]
pub(super) fn wrong_value(name: &str, text: &[u8]) -> Box<PlanError> {
    let shown: String = String::from_utf8_lossy(text).chars().take(WRONG_TEXT_CHARS_SHOWN).collect();
    PlanError::new(1525, format!("Incorrect {name} value: '{shown}'"))
}

/// Digits after the point of a temporal text.
fn fraction_digits(text: &[u8]) -> u8 {
    let digits = text.rsplit(|&byte| byte == b'.').next().filter(|tail| tail.len() < text.len());
    digits.map_or(0, |tail| tail.iter().take_while(|byte| byte.is_ascii_digit()).count().min(6) as u8)
}

/// A number as written: leading zeros count in its width.
pub(crate) fn number_literal(kind: NumberKind, text: &[u8], negative: bool) -> PlanResult<Expr> {
    let mut literal = Expr::literal(number(kind, text, negative)?);
    let has_zero_first = text.len() > 1 && text[0] == b'0';
    let data_type = &mut literal.data_type;
    match data_type.kind {
        TypeKind::BigInt if has_zero_first => {
            data_type.length = text.len() as u32 + u32::from(!data_type.unsigned);
        }
        // `0.5` has a digit before the point, `.5` has none.
        TypeKind::Decimal if has_zero_first && data_type.length == u32::from(data_type.scale) => {
            *data_type = DataType::decimal(data_type.length + 1, data_type.scale);
        }
        TypeKind::Double if !negative => data_type.length = text.len() as u32,
        _ => {}
    }
    Ok(literal)
}

/// The value of a number as written.
pub(crate) fn number(kind: NumberKind, text: &[u8], negative: bool) -> PlanResult<Value> {
    let digits = std::str::from_utf8(text).unwrap_or("0");
    let wrong = || PlanError::new(1367, format!("Illegal double '{digits}' value found during parsing"));
    Ok(match kind {
        NumberKind::Integer => match digits.parse::<u64>() {
            Ok(value) if !negative && value <= i64::MAX as u64 => Value::Int(value as i64),
            Ok(value) if negative && value <= i64::MAX as u64 + 1 => {
                Value::Int((value as i64).wrapping_neg())
            }
            Ok(value) if !negative => Value::UInt(value),
            _ => decimal(text, negative),
        },
        NumberKind::Decimal => decimal(text, negative),
        NumberKind::Float => {
            let value = digits.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong)?;
            Value::Double(if negative { -value } else { value })
        }
    })
}

fn decimal(text: &[u8], negative: bool) -> Value {
    let value = Decimal::parse(text).value;
    Value::Decimal(if negative { value.neg() } else { value })
}
