//! What becomes a value in a document; and parameters whose types come from further out than the function that reads them.

use types::{DataType, TypeKind};

use crate::error::{PlanError, PlanResult};
use crate::expr::{ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::{self, FunctionId};
use crate::logical::Logical;

use super::Binder;

/// The arguments of a function that become values in a document.
fn values_of(function: FunctionId, args: &mut [Expr]) -> impl Iterator<Item = &mut Expr> {
    use FunctionId as F;
    let (first, step) = match function {
        F::JsonArray => (0, 1),
        F::JsonObject => (1, 2),
        F::JsonArrayAppend | F::JsonArrayInsert | F::JsonInsert | F::JsonReplace | F::JsonSet => (2, 2),
        _ => (usize::MAX, 1),
    };
    args.iter_mut().skip(first).step_by(step)
}

/// A comparison, TRUE, FALSE: one digit.
fn is_truth(data_type: &DataType) -> bool {
    data_type.kind == TypeKind::BigInt && data_type.length == 1 && !data_type.unsigned
}

/// What chooses one of several values gives a number.
fn chooses(value: &Expr) -> bool {
    use FunctionId as F;
    match &value.kind {
        ExprKind::Case { .. } => true,
        ExprKind::Call { function, .. } => matches!(
            function,
            F::If | F::IfNull | F::Coalesce | F::NullIf | F::Greatest | F::Least | F::AnyValue
        ),
        _ => false,
    }
}

impl Binder<'_> {
    /// Makes the arguments of a function ready that become values in a document.
    pub(super) fn document_values(&self, function: FunctionId, args: &mut [Expr]) {
        for value in values_of(function, args) {
            self.document_value(value);
        }
    }

    /// A truth value is a number where it is chosen of several, or comes out of rows of a subquery or derived table, or of MIN or MAX. A parameter whose
    /// number a function passes on has its value's type.
    pub(super) fn document_value(&self, value: &mut Expr) {
        if is_truth(&value.data_type) && (chooses(value) || self.is_of_rows(value)) {
            *value = function::cast(std::mem::replace(value, Expr::null()), DataType::BIGINT);
        }
        if value.data_type.is_text_or_blob() && value.data_type.is_binary_string() {
            self.bytes_of_unknown_size(value);
        }
        // What COALESCE and its like make of BIT values is a text of bits.
        let is_number = value.data_type.is_integer() && value.data_type.kind != TypeKind::Bit;
        if is_number && chooses(value) && function::bits_of(value).is_some() {
            *value = function::cast(std::mem::replace(value, Expr::null()), DataType::JSON);
        }
        self.note_further_out(value, &DataType::JSON);
    }

    /// Only a column's bytes have the type of its size; what is chosen, an extreme and the value of a subquery are a BLOB.
    fn bytes_of_unknown_size(&self, value: &mut Expr) {
        let is_kept = match &value.kind {
            ExprKind::Column(id) => self.is_aggregate(*id),
            ExprKind::Subquery(_) => self.is_of_rows(value),
            _ => false,
        };
        let blob = DataType { kind: TypeKind::Text, ..value.data_type.clone() };
        if is_kept {
            let args = vec![std::mem::replace(value, Expr::null())];
            let kind = ExprKind::Call {
                function: FunctionId::AnyValue,
                args,
                option: crate::expr::CallOption::None,
            };
            *value = Expr::new(kind, blob, true);
        } else if chooses(value) {
            value.data_type = blob;
        }
    }

    /// Arguments that are passed on or made texts: parameters that are computed with alone have the types of their values there.
    pub(super) fn passed_values(&self, function: FunctionId, args: &[Expr]) {
        use FunctionId as F;
        match function {
            F::If => self.chosen_values(args.iter().skip(1)),
            F::IfNull | F::Coalesce | F::Greatest | F::Least | F::Concat | F::AnyValue => {
                self.chosen_values(args.iter());
            }
            F::NullIf => self.chosen_values(args.iter().take(1)),
            _ => {}
        }
    }

    /// Arms of which one is chosen: parameters that are computed with alone are texts there before they have values.
    pub(super) fn chosen_values<'e>(&self, arms: impl Iterator<Item = &'e Expr>) {
        let text = function::untyped(self.types.connection_collation);
        arms.for_each(|arm| self.note_further_out(arm, &text));
    }

    /// Notes this type, which comes from further out, of parameters that a function of numbers reads and nothing beside them.
    fn note_further_out(&self, value: &Expr, data_type: &DataType) {
        use FunctionId as F;
        let Some((F::Abs | F::Neg | F::Ceil | F::Floor | F::Add | F::Sub | F::Mul | F::Div, args)) =
            value.as_call()
        else {
            return;
        };
        let is_parameter = |arg: &Expr| matches!(arg.kind, ExprKind::Param(_));
        // A decimal beside it has made it one.
        let is_given = args.iter().any(|arg| arg.data_type.kind == TypeKind::Decimal);
        if !self.types.fixes_parameters || is_given || !args.iter().all(is_parameter) {
            return;
        }
        for arg in args {
            if let ExprKind::Param(ordinal) = arg.kind {
                self.note_parameter(ordinal, Some(data_type.clone()));
            }
        }
    }

    fn is_of_rows(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Column(id) => self.is_of_derived_table(*id) || self.is_aggregate(*id),
            ExprKind::Subquery(subquery) => match &**subquery {
                Subquery { kind: SubqueryKind::Scalar, plan, columns, .. } => match plan {
                    // MySQL takes a query without FROM for its value.
                    Logical::Project { input, items } if matches!(**input, Logical::OneRow) => {
                        items.iter().any(|(id, item)| columns.contains(id) && self.is_of_rows(item))
                    }
                    _ => true,
                },
                _ => false,
            },
            _ => false,
        }
    }

    fn is_aggregate(&self, id: ColumnId) -> bool {
        self.blocks.iter().any(|block| block.aggregates.iter().any(|(aggregate, _)| *aggregate == id))
    }

    fn is_of_derived_table(&self, id: ColumnId) -> bool {
        self.columns[id.0 as usize].origin.is_none() && self.derived_name(id).is_some()
    }
}

/// Refuses what cannot be the document of a function.
///
/// # Errors
/// 3146.
pub(super) fn check_document(document: &Expr, function_name: &str) -> PlanResult<()> {
    if function::may_be_document(&document.data_type) || matches!(document.kind, ExprKind::Param(_)) {
        return Ok(());
    }
    let text = format!(
        "Invalid data type for JSON data in argument 1 to function {function_name}; a JSON string or JSON type is required."
    );
    Err(PlanError::new(3146, text))
}
