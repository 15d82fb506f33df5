//! Numbers that IF and CASE give go to the client as the value chosen, unless a temporary table of MySQL's would hold them, as their description
//! tells ([`crate::logical::OutputSource`]; what is computed of aggregates behind windows is not held, but described as if it were): a decimal
//! with its own scale, see [`crate::function::keep_own_scale`], and among decimals and bits a BIT as its bytes read as latin1, a YEAR with four digits and a
//! parameter as the text that the client has sent. Such a table holds no constants.

use std::collections::HashSet;

use types::{CollationId, DataType, TypeKind};

use crate::expr::{CallOption, ColumnId, Expr, ExprKind};
use crate::function::{FunctionId, bits_as_characters, cast, keep_own_scale};
use crate::logical::{Bound, ColumnInfo, Logical};

/// Bytes of a BIT, and characters of the longest number beside one.
const TEXT_BYTES: u32 = 128;

/// Over the tree of a query whose rows the client gets.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical) {
    run_block(bound, tree, false);
}

/// `is_distinct`: its rows are made distinct.
fn run_block(bound: &mut Bound, tree: &mut Logical, is_distinct: bool) {
    match tree {
        Logical::Limit { input, .. } | Logical::Filter { input, .. } => run_block(bound, input, is_distinct),
        Logical::Distinct { input, .. } => run_block(bound, input, true),
        // Rows that were cut off before are those of another block.
        Logical::Sort { input, .. } if matches!(**input, Logical::Limit { .. }) => constants(input),
        Logical::Sort { input, .. } => run_block(bound, input, is_distinct),
        // A column has its own scale and text.
        Logical::Project { items, .. } if items.iter().all(|(_, item)| item.as_column().is_some()) => {}
        Logical::Project { input, items } => {
            if let Some(aggregates) = below_windows(input) {
                keep_own(bound, items, is_distinct, &|_, item| {
                    item.is_constant() || !is_distinct && item.reads_any(&aggregates)
                });
                return;
            }
            let computed = bound.output.iter().filter(|column| column.source.is_computed());
            let computed: HashSet<ColumnId> = computed.map(|column| column.id).collect();
            keep_own(bound, items, is_distinct, &|id, item| item.is_constant() || computed.contains(&id));
        }
        _ => {}
    }
}

fn keep_own(
    bound: &mut Bound,
    items: &mut Vec<(ColumnId, Expr)>,
    is_distinct: bool,
    is_shown: &dyn Fn(ColumnId, &Expr) -> bool,
) {
    items.iter_mut().filter(|(id, item)| is_shown(*id, item)).for_each(|(_, item)| keep_own_scale(item));
    // Rows that are made distinct have no columns beside those that are compared.
    if is_distinct {
        return;
    }
    for at in 0..items.len() {
        let (id, item) = &items[at];
        let has_parameters = bound.has_client_parameters;
        let is_text_sent = matches!(item.data_type.kind, TypeKind::Decimal | TypeKind::Bit);
        if !(is_text_sent && is_shown(*id, item) && chooses_other_texts(item, has_parameters)) {
            continue;
        }
        // What is computed twice must be the same.
        if item.any(&mut |node| node.as_call().is_some_and(|(function, _)| !function.is_deterministic())) {
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
        // A BIT column that NULLIF gives keeps its type, and is sent as its bytes.
        ExprKind::Call { function: FunctionId::NullIf, args, .. } => {
            expr.data_type.kind != TypeKind::Bit && has_other(&args[0])
        }
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
        // The number is compared, not its text.
        ExprKind::Call { function: FunctionId::NullIf, args, .. } => {
            let mut value = args[0].clone();
            arm_as_text(&mut value);
            let value = if value.data_type.is_string() { value } else { cast(value, text()) };
            let equals = ExprKind::Call {
                function: FunctionId::Eq,
                args: std::mem::take(args),
                option: CallOption::None,
            };
            let whens = vec![(Expr::new(equals, DataType::BOOL, true), Expr::null())];
            let kind = ExprKind::Case { whens, otherwise: Some(Box::new(value)) };
            *expr = Expr::new(kind, text(), true);
        }
        _ => {}
    }
}

fn arm_as_text(arm: &mut Expr) {
    if let ExprKind::Call { function: FunctionId::Cast, args, option: CallOption::Common } = &mut arm.kind
        && match args[0].kind {
            ExprKind::Param(_) => true,
            ExprKind::Column(_) => args[0].data_type.kind == TypeKind::Bit,
            _ => false,
        }
    {
        *arm = args.swap_remove(0);
    }
    match &arm.kind {
        ExprKind::Param(_) => arm.data_type = text(),
        ExprKind::Column(_) if arm.data_type.kind == TypeKind::Bit => {
            let bits = std::mem::replace(arm, Expr::null());
            *arm = call(FunctionId::ConvertUsing, bits_as_characters(bits), CallOption::None, text());
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
        ExprKind::Case { .. } | ExprKind::Call { function: FunctionId::If | FunctionId::NullIf, .. } => {
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
    let constants = tree.result_items().iter_mut().filter(|(_, item)| item.is_constant());
    constants.for_each(|(_, item)| keep_own_scale(item));
}

/// The aggregates of the groups that windows below a projection are over; `None` without windows.
fn below_windows(rows: &Logical) -> Option<Vec<ColumnId>> {
    match rows {
        Logical::Window { input, .. } => Some(calls_of(input)),
        Logical::Filter { input, .. } => below_windows(input),
        _ => None,
    }
}

fn calls_of(rows: &Logical) -> Vec<ColumnId> {
    match rows {
        Logical::Aggregate { calls, .. } => calls.iter().map(|(id, _)| *id).collect(),
        Logical::Window { input, .. } | Logical::Filter { input, .. } | Logical::Project { input, .. } => {
            calls_of(input)
        }
        _ => Vec::new(),
    }
}
