//! Numbers that IF and CASE give go to the client as the value chosen, unless a temporary table of MySQL's would hold them: a decimal
//! with its own scale, see [`crate::function::keep_own_scale`], and among decimals and bits a BIT as its bytes read as latin1, a YEAR with four digits and a
//! parameter as the text that the client has sent. Such a table holds no constants.

use types::{CollationId, DataType, TypeKind};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind};
use crate::function::{FunctionId, cast, keep_own_scale};
use crate::logical::{Bound, ColumnInfo, Logical};

/// Bytes of a BIT, and characters of the longest number beside one.
const TEXT_BYTES: u32 = 128;

/// Over the tree of a query whose rows the client gets.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical) {
    match tree {
        Logical::Limit { input, .. } | Logical::Filter { input, .. } => run(bound, input),
        Logical::Distinct { input, .. } => constants(input),
        Logical::Sort { input, keys } => match &mut **input {
            // Rows of one table are sorted by themselves, with what is shown computed afterwards.
            Logical::Project { input: rows, items } if !keys.is_empty() && is_one_table(rows) => {
                keep_own(bound, items, &|_| true);
            }
            _ => constants(input),
        },
        Logical::Project { input, items } => {
            let aggregated = aggregates(input);
            keep_own(bound, items, &|item| match &aggregated {
                None => true,
                Some(aggregates) => item.is_constant() || item.reads_any(aggregates),
            });
        }
        _ => {}
    }
}

fn keep_own(bound: &mut Bound, items: &mut Vec<(ColumnId, Expr)>, is_shown: &dyn Fn(&Expr) -> bool) {
    items.iter_mut().filter(|(_, item)| is_shown(item)).for_each(|(_, item)| keep_own_scale(item));
    for at in 0..items.len() {
        let (id, item) = &items[at];
        let has_parameters = bound.has_client_parameters;
        let is_text_sent = matches!(item.data_type.kind, TypeKind::Decimal | TypeKind::Bit);
        // What is computed twice must be the same.
        let is_same =
            !item.any(&mut |node| node.as_call().is_some_and(|(function, _)| !function.is_deterministic()));
        if !(is_text_sent && is_same && is_shown(item) && chooses_other_texts(item, has_parameters)) {
            continue;
        }
        let Some(column) = bound.output.iter_mut().find(|column| column.id == *id) else { continue };
        let mut text = item.clone();
        arms_as_texts(&mut text);
        let text = cast(text, self::text());
        let id = ColumnId(bound.columns.len() as u32);
        column.text = Some(id);
        bound.columns.push(ColumnInfo {
            name: column.name.clone(),
            data_type: text.data_type.clone(),
            nullable: true,
            origin: None,
            coercibility: None,
            bits: None,
            is_reference: false,
        });
        items.push((id, text));
    }
}

/// IF or CASE that may choose a value whose text is not the number's.
fn chooses_other_texts(expr: &Expr, has_parameters: bool) -> bool {
    let has_other = |arm: &Expr| has_other_text(arm, has_parameters);
    match &expr.kind {
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).any(has_other)
        }
        ExprKind::Call { function: FunctionId::If, args, .. } => args[1..].iter().any(has_other),
        _ => false,
    }
}

/// The arms that have another text as that: parameters as they are sent, the bytes of a BIT as latin1.
fn arms_as_texts(expr: &mut Expr) {
    match &mut expr.kind {
        ExprKind::Case { whens, otherwise } => {
            whens.iter_mut().map(|(_, then)| then).chain(otherwise.as_deref_mut()).for_each(arm_as_text);
        }
        ExprKind::Call { function: FunctionId::If, args, .. } => {
            args[1..].iter_mut().for_each(arm_as_text);
        }
        _ => {}
    }
}

fn arm_as_text(arm: &mut Expr) {
    if let ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } = &mut arm.kind
        && matches!(args[0].kind, ExprKind::Param(_) | ExprKind::Column(_))
        && (matches!(args[0].kind, ExprKind::Param(_)) || args[0].data_type.kind == TypeKind::Bit)
    {
        *arm = args.swap_remove(0);
    }
    match &arm.kind {
        ExprKind::Param(_) => arm.data_type = text(),
        ExprKind::Column(_) if arm.data_type.kind == TypeKind::Bit => {
            let bits = std::mem::replace(arm, Expr::null());
            let bytes = cast(bits, DataType::varchar(TEXT_BYTES, CollationId::BINARY));
            let latin1 = DataType::varchar(TEXT_BYTES, CollationId::LATIN1_SWEDISH_CI);
            let characters = call(FunctionId::Cast, bytes, CallOption::Characters, latin1);
            *arm = call(FunctionId::ConvertUsing, characters, CallOption::None, text());
        }
        _ => arms_as_texts(arm),
    }
}

fn call(function: FunctionId, arg: Expr, option: CallOption, data_type: DataType) -> Expr {
    Expr::new(ExprKind::Call { function, args: vec![arg], option }, data_type, true)
}

fn text() -> DataType {
    DataType::varchar(TEXT_BYTES, CollationId::UTF8MB4_BIN)
}

fn has_other_text(arm: &Expr, has_parameters: bool) -> bool {
    match &arm.kind {
        ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } => {
            has_other_text(&args[0], has_parameters)
        }
        ExprKind::Case { .. } | ExprKind::Call { function: FunctionId::If, .. } => {
            chooses_other_texts(arm, has_parameters)
        }
        ExprKind::Param(_) => has_parameters,
        ExprKind::Column(_) => match arm.data_type.kind {
            TypeKind::Bit => true,
            TypeKind::Year => arm.data_type.zerofill,
            _ => false,
        },
        _ => false,
    }
}

/// Constants of rows that are sorted or made different.
fn constants(tree: &mut Logical) {
    match tree {
        Logical::Limit { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input, .. } => constants(input),
        Logical::Project { items, .. } => {
            let constants = items.iter_mut().filter(|(_, item)| item.is_constant());
            constants.for_each(|(_, item)| keep_own_scale(item));
        }
        _ => {}
    }
}

fn is_one_table(rows: &Logical) -> bool {
    match rows {
        Logical::Scan { .. } | Logical::OneRow => true,
        Logical::Filter { input, .. } => is_one_table(input),
        _ => false,
    }
}

/// The results of the aggregation or of the windows below a projection, if there are some. Rows with windows go through a temporary table
/// before.
fn aggregates(rows: &Logical) -> Option<Vec<ColumnId>> {
    match rows {
        Logical::Window { calls, .. } => Some(calls.iter().map(|(id, _)| *id).collect()),
        Logical::Aggregate { calls, .. } => Some(calls.iter().map(|(id, _)| *id).collect()),
        Logical::Filter { input, .. } => aggregates(input),
        _ => None,
    }
}
