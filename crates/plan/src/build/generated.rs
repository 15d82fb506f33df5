//! Expressions that are columns: a generated column or a functional key part with an index answers for its expression.
//!
//! The expression must be the same, operand by operand, with the same types: `b + a` is not `a + b`. Nothing is put in its place: a
//! condition over it narrows the index, and is met by each row that is read unless the range says exactly the same.

use std::cell::OnceCell;

use types::{DataType, TypeKind};

use super::Builder;
use crate::bind::bind_stored;
use crate::expr::{Expr, ExprKind};
use crate::logical::BoundTable;
use crate::rewrite::replace_inputs;

/// The indexed generated columns of a table of the statement: ordinals, and their expressions in a form that is compared.
pub(super) type IndexedExpressions = OnceCell<Vec<(usize, Expr)>>;

impl Builder<'_> {
    /// The indexed generated column that is made by this expression, and whether it holds the very values of it.
    pub(super) fn generated_ordinal(&self, bound: &BoundTable, expr: &Expr) -> Option<(usize, bool)> {
        let definition = &bound.entry.definition;
        if matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Param(_) | ExprKind::Column(_))
            || definition.columns.iter().all(|column| column.generated.is_none())
        {
            return None;
        }
        let position = self.bound.tables.iter().position(|table| table.first_column == bound.first_column)?;
        let made = self.expressions[position].get_or_init(|| indexed(bound));
        if made.is_empty() {
            return None;
        }
        let wanted = comparable_form(expr);
        let (ordinal, _) = made.iter().find(|(_, made)| *made == wanted)?;
        if self.pads_chars && definition.columns[*ordinal].is_hidden() {
            return None;
        }
        let holds = answers(&expr.data_type, &definition.columns[*ordinal].data_type)?;
        Some((*ordinal, holds))
    }
}

fn indexed(bound: &BoundTable) -> Vec<(usize, Expr)> {
    let definition = &bound.entry.definition;
    let mut made = Vec::new();
    for (ordinal, column) in definition.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let has_index =
            definition.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == ordinal));
        if !has_index {
            continue;
        }
        // What cannot be bound narrows nothing.
        let Ok(mut expr) = bind_stored(&bound.entry, &generated.expression) else { continue };
        replace_inputs(&mut expr, &|input| ExprKind::Column(bound.column(input as usize)));
        made.push((ordinal, comparable_form(&expr)));
    }
    made
}

/// Whether a table's column can be NULL, and how strongly a collation holds, is another matter in each statement.
fn comparable_form(expr: &Expr) -> Expr {
    fn neutral(expr: &mut Expr) {
        expr.nullable = true;
        expr.coercibility = crate::expr::Coercibility::Implicit;
        expr.each_child_mut(&mut |child| neutral(child));
    }
    let mut form = expr.clone();
    neutral(&mut form);
    form
}

/// Whether a column of type `stored` answers for values of type `given` as MySQL has it: `None`, no; true, they are the very same.
fn answers(given: &DataType, stored: &DataType) -> Option<bool> {
    if given.is_string() && stored.is_string() {
        let is_same = given.collation == stored.collation;
        return is_same.then_some(
            !stored.is_text_or_blob() && stored.length >= given.length && stored.kind == TypeKind::VarChar,
        );
    }
    let is_int = |data_type: &DataType| data_type.is_integer() && data_type.kind != TypeKind::Bit;
    if is_int(given) && is_int(stored) {
        let holds = given.unsigned == stored.unsigned && stored.integer_bytes() >= given.integer_bytes();
        return Some(holds);
    }
    if given.kind != stored.kind {
        return None;
    }
    match given.kind {
        TypeKind::Decimal => (given.scale <= stored.scale)
            .then_some(given.unsigned == stored.unsigned && given.length <= stored.length),
        TypeKind::Double => Some(given.unsigned == stored.unsigned),
        TypeKind::Date => Some(true),
        TypeKind::Time | TypeKind::DateTime => {
            (given.scale <= stored.scale).then_some(given.scale == stored.scale)
        }
        _ => None,
    }
}
