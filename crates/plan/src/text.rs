//! The text form of expressions, for EXPLAIN and for the printed logical tree.

mod print;

use std::fmt::Write as _;
use std::sync::Arc;

use types::Value;

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{ColumnInfo, Frame, FrameBound, TableIndex};

/// What an expression names: a column in one of three ways, or a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    /// By its number.
    Id(ColumnId),
    /// By its position in the operator's input.
    Input(u32),
    /// By a slot of the outer row.
    Outer(u32),
    /// A parameter.
    Param(u32),
}

/// `alias.name` of a table's column, else the column's own name, else `#number`.
pub(crate) fn column_name<'a>(
    id: ColumnId,
    columns: &[ColumnInfo],
    alias: impl Fn(TableIndex) -> &'a Arc<str>,
) -> String {
    match columns.get(id.0 as usize) {
        Some(info) => match info.origin {
            Some((table, _)) => format!("{}.{}", alias(table), info.name),
            None if info.name.is_empty() => format!("#{}", id.0),
            None => info.name.to_string(),
        },
        None => "row id".into(),
    }
}

/// An expression; `name` says what its columns are called. A subquery shows only what is asked of its rows.
pub(crate) fn expr_text(expr: &Expr, name: &dyn Fn(Column) -> String) -> String {
    match &expr.kind {
        ExprKind::Literal(value) => literal(value),
        ExprKind::Column(id) => name(Column::Id(*id)),
        ExprKind::Input(position) => name(Column::Input(*position)),
        ExprKind::Outer(slot) => name(Column::Outer(*slot)),
        ExprKind::Param(ordinal) => name(Column::Param(*ordinal)),
        ExprKind::UserVar(variable) => format!("@{variable}"),
        ExprKind::UserVarAssign { name: variable, value } => {
            format!("(@{variable}:={})", expr_text(value, name))
        }
        ExprKind::Case { whens, otherwise } => {
            let mut text = "(case".to_string();
            for (when, then) in whens {
                let _ = write!(text, " when {} then {}", expr_text(when, name), expr_text(then, name));
            }
            if let Some(otherwise) = otherwise {
                let _ = write!(text, " else {}", expr_text(otherwise, name));
            }
            text.push_str(" end)");
            text
        }
        ExprKind::InList { expr, list } => {
            let list: Vec<String> = list.iter().map(|item| expr_text(item, name)).collect();
            format!("({} in ({}))", expr_text(expr, name), list.join(","))
        }
        ExprKind::Subquery(subquery) => asked(&subquery.kind, name),
        ExprKind::Call { args, option: CallOption::Function(call), .. } => {
            let texts: Vec<String> = args.iter().map(|arg| expr_text(arg, name)).collect();
            format!("{}({})", call.function.definition.name, texts.join(","))
        }
        ExprKind::Call { function, args, .. } => call(*function, args, name),
    }
}

/// A frame as it is written, nothing for a default one.
pub(crate) fn frame_text(frame: &Frame, expr: &dyn Fn(&Expr) -> String) -> String {
    let is_default = matches!(frame.start, FrameBound::Unbounded)
        && (matches!(frame.end, FrameBound::Unbounded)
            || !frame.counts_rows && matches!(frame.end, FrameBound::CurrentRow));
    if is_default {
        return String::new();
    }
    let side = |following: bool| if following { "FOLLOWING" } else { "PRECEDING" };
    let bound = |bound: &FrameBound, is_end: bool| match bound {
        FrameBound::Unbounded => format!("UNBOUNDED {}", side(is_end)),
        FrameBound::CurrentRow => "CURRENT ROW".into(),
        FrameBound::Rows { count, following } => format!("{} {}", expr(count), side(*following)),
        FrameBound::Range { limit, .. } => {
            let (moves_up, amount, unit) = match &limit.kind {
                ExprKind::Call { function, args, option } => (
                    matches!(function, FunctionId::Add | FunctionId::DateAdd),
                    args.get(1).map(expr).unwrap_or_default(),
                    match option {
                        CallOption::Unit(unit) => Some(unit.name()),
                        _ => None,
                    },
                ),
                _ => (true, String::new(), None),
            };
            let side = side(moves_up != frame.descending);
            match unit {
                Some(unit) => format!("INTERVAL {amount} {unit} {side}"),
                None => format!("{amount} {side}"),
            }
        }
    };
    let unit = if frame.counts_rows { "ROWS" } else { "RANGE" };
    format!("{unit} BETWEEN {} AND {}", bound(&frame.start, false), bound(&frame.end, true))
}

/// What is asked of a subquery's rows.
pub(crate) fn asked(kind: &SubqueryKind, name: &dyn Fn(Column) -> String) -> String {
    match kind {
        SubqueryKind::Scalar => "value(subquery)".into(),
        SubqueryKind::Exists => "exists(subquery)".into(),
        SubqueryKind::Quantified { all, single, condition } => {
            let parts: Vec<String> = condition.iter().map(|part| expr_text(part, name)).collect();
            let what = if *single {
                "row"
            } else if *all {
                "all"
            } else {
                "any"
            };
            format!("{what}(subquery: {})", parts.join(" and "))
        }
    }
}

fn call(function: FunctionId, args: &[Expr], name: &dyn Fn(Column) -> String) -> String {
    use FunctionId as F;
    let texts: Vec<String> = args.iter().map(|arg| expr_text(arg, name)).collect();
    match (function, &texts[..]) {
        (F::And | F::Or, parts) => format!("({})", parts.join(&format!(" {} ", function.name().trim_end()))),
        (F::Not, [only]) => match args[0].as_call() {
            Some((F::IsNull, [inner])) => format!("({} is not null)", expr_text(inner, name)),
            _ => format!("(not({only}))"),
        },
        (F::IsNull, [only]) => format!("({only} is null)"),
        (F::Neg, [only]) => format!("-({only})"),
        (F::Between, [value, low, high]) => format!("({value} between {low} and {high})"),
        (F::Like, [text, pattern]) => format!("({text} like {pattern})"),
        (
            F::Add
            | F::Sub
            | F::Mul
            | F::Div
            | F::IntDiv
            | F::Mod
            | F::BitOr
            | F::BitAnd
            | F::BitXor
            | F::ShiftLeft
            | F::ShiftRight
            | F::Xor
            | F::Eq
            | F::NullSafeEq
            | F::Ne
            | F::Lt
            | F::Le
            | F::Gt
            | F::Ge,
            [left, right],
        ) => format!("({left} {} {right})", function.name().trim_end()),
        (F::Cast, [only]) => only.clone(),
        (F::WithOperand, [_, reader]) => reader.clone(),
        (F::Operand, _) => "operand".into(),
        _ => format!("{}({})", function.name().trim_end(), texts.join(",")),
    }
}

pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".into(),
        Value::Bytes { bytes, .. } => format!("'{}'", String::from_utf8_lossy(bytes)),
        Value::Json(_) => "json".into(),
        value => {
            let (data_type, column) = types::convert::value_column(value);
            let mut text = Vec::new();
            types::convert::write_text(column.cell(0), &data_type, &mut text);
            let text = String::from_utf8_lossy(&text).into_owned();
            if data_type.is_temporal() { format!("'{text}'") } else { text }
        }
    }
}
