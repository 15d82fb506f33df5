//! Computed values that MySQL describes by the type of what they are made of rather than by what they need.
//!
//! A function that makes a text gives VARCHAR, MEDIUMTEXT or LONGTEXT, whichever its length needs. What only passes values on (MIN, CASE,
//! COALESCE and their like) gives the type of what it gets: of a column of any TEXT type that is TEXT, however long. LEAST and GREATEST of
//! documents alone give a VARCHAR that is as long as a document. MIN and MAX give years and members of what computes years and members.
//!
//! Such a type is for the description only: CREATE TABLE ... SELECT, set operations and functions around see the usual one.

use std::cell::Cell;

use types::data_type::DECIMAL_PRECISION_MAX;
use types::{CollationId, DataType, TypeKind, Value};

use super::Binder;
use super::temporary::{Steps, aggregates_of, merged_item, store_computed};
use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId as F;
use crate::logical::{AggregateCall, AggregateFunction, Created, Logical, OutputColumn};

/// Nodes of expressions that are followed for a column.
const NODES_MAX: u32 = 1024;

/// Characters of the longest text of a document.
const DOCUMENT_CHARS_MAX: u32 = u32::MAX / 4;

/// What computes the columns that an expression names.
struct Makers<'m> {
    item: &'m dyn Fn(ColumnId) -> Option<&'m Expr>,
    aggregates: &'m [(ColumnId, AggregateCall)],
    /// Nodes of expressions that may still be followed: a column may be named again and again.
    budget: &'m Cell<u32>,
}

/// What a text is described as; of several that are passed on, as the last of them.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
enum Described {
    /// By its length.
    Short,
    /// LEAST or GREATEST of documents.
    Documents,
    /// TEXT: a column.
    Text,
    /// A function makes it.
    MediumText,
    /// As above.
    LongText,
}

impl Binder<'_> {
    /// Notes the types of the block's computed values that differ from those that are computed with.
    pub(super) fn describe_passed_on(&self, steps: &Steps<'_>, output: &mut [OutputColumn]) {
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        for column in output.iter_mut().filter(|column| column.source.is_computed()) {
            if let Some((_, call)) = aggregates.iter().find(|(id, _)| *id == column.id)
                && let Some(of) = extreme_of(call)
            {
                column.described_type = Some(of);
                continue;
            }
            let item = |id: ColumnId| steps.item(id).filter(|_| !self.materialized_columns.contains(&id));
            let makers = Makers { item: &item, aggregates, budget: &Cell::new(NODES_MAX) };
            let of = self.compared_of_column(column.id, &makers).or_else(|| match column.data_type.kind {
                TypeKind::Char => self.chosen_member(column.id, &makers),
                TypeKind::Decimal => self.sum_of_column(column.id, &makers),
                _ => None,
            });
            if of.is_some() {
                column.described_type = of;
                continue;
            }
            if !matches!(column.data_type.kind, TypeKind::MediumText | TypeKind::LongText) {
                continue;
            }
            let makers = Makers { item: &item, aggregates, budget: &Cell::new(NODES_MAX) };
            let described = self.described_column(column.id, &makers);
            let of = &column.data_type;
            let text = |kind: TypeKind| {
                (kind != of.kind)
                    .then(|| DataType { length: of.length, ..DataType::text(kind, of.collation) })
            };
            column.described_type = match described {
                Described::Short => None,
                Described::Documents => Some(DataType::varchar(DOCUMENT_CHARS_MAX, CollationId::UTF8MB4_BIN)),
                Described::Text => text(TypeKind::Text),
                Described::MediumText => text(TypeKind::MediumText),
                Described::LongText => text(TypeKind::LongText),
            };
        }
    }

    /// CREATE TABLE ... SELECT makes of an integer that a merged derived table computes what it makes of one that is kept.
    pub(super) fn create_merged(&self, rows: &Logical, output: &mut [OutputColumn]) {
        for column in output.iter_mut() {
            let is_integer = column.data_type.is_integer() && column.data_type.kind != TypeKind::Bit;
            if !is_integer || column.created != Created::Column || column.created_type.is_some() {
                continue;
            }
            let computed =
                |id: ColumnId| merged_item(rows, id).filter(|_| !self.materialized_columns.contains(&id));
            let mut item = computed(column.id);
            while let Some(ExprKind::Column(id)) = item.map(|item| &item.kind) {
                item = computed(*id);
            }
            if item.is_some() {
                let mut kept = column.clone();
                store_computed(&mut kept);
                column.created_type = Some(kept.data_type);
            }
        }
    }

    /// The type of a literal of bytes that MIN, MAX and NULLIF compare, and of members that NULLIF computes, where the column gives them.
    fn compared_of_column(&self, id: ColumnId, makers: &Makers<'_>) -> Option<DataType> {
        if let Some((_, call)) = makers.aggregates.iter().find(|(aggregate, _)| *aggregate == id) {
            let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
            return self.bytes_of(call.args.first().filter(|_| is_extreme)?, makers);
        }
        let item = (makers.item)(id)?;
        match &item.kind {
            ExprKind::Call { function: F::NullIf, args, .. } => {
                let first = uncast(&args[0]);
                let is_members = matches!(first.data_type.kind, TypeKind::Enum | TypeKind::Set);
                let is_computed = is_members && first.as_column().is_none();
                if is_computed { Some(first.data_type.clone()) } else { self.bytes_of(item, makers) }
            }
            ExprKind::Column(_) | ExprKind::Subquery(_) => {
                self.bytes_of(item, makers).filter(|_| !item.data_type.is_hex_literal())
            }
            _ => None,
        }
    }

    /// The type of the literal of bytes that an expression is or compares.
    fn bytes_of(&self, expr: &Expr, makers: &Makers<'_>) -> Option<DataType> {
        crate::progress::step();
        makers.budget.set(makers.budget.get().checked_sub(1)?);
        match &expr.kind {
            // Beside a text it is compared as one, but it is described as bytes.
            _ if expr.data_type.is_hex_literal() => {
                Some(DataType { collation: CollationId::BINARY, ..expr.data_type.clone() })
            }
            ExprKind::Column(id) => match (makers.item)(*id) {
                Some(item) => self.bytes_of(item, makers),
                None => {
                    let (_, call) = makers.aggregates.iter().find(|(aggregate, _)| aggregate == id)?;
                    let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
                    self.bytes_of(call.args.first().filter(|_| is_extreme)?, makers)
                }
            },
            ExprKind::Call { function: F::NullIf, args, .. } => self.bytes_of(&args[0], makers),
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                let [id] = subquery.columns[..] else { return None };
                let plan = &subquery.plan;
                let item = |id: ColumnId| {
                    item_of_block(plan, id).filter(|_| !self.materialized_columns.contains(&id))
                };
                let inner = Makers { item: &item, aggregates: aggregates_of(plan), budget: makers.budget };
                match item(id) {
                    Some(of) => self.bytes_of(of, &inner),
                    None => self.compared_of_column(id, &inner),
                }
            }
            _ => None,
        }
    }

    /// What a choice among values that MIN and MAX give of members is described as: as members where nothing but NULL is beside one
    /// such value, otherwise as a VARCHAR.
    fn chosen_member(&self, id: ColumnId, makers: &Makers<'_>) -> Option<DataType> {
        let item = match &(makers.item)(id)?.kind {
            ExprKind::Call { function: F::NullIf, args, .. } => uncast(&args[0]),
            _ => (makers.item)(id)?,
        };
        let arms = arms_of(item)?;
        if let [arm] = arms[..] {
            return self.member_of(arm, makers);
        }
        let has_members = arms.iter().any(|arm| self.member_of(arm, makers).is_some());
        has_members.then(|| DataType { kind: TypeKind::VarChar, ..item.data_type.clone() })
    }

    /// The type of the members of which an expression gives one.
    fn member_of(&self, expr: &Expr, makers: &Makers<'_>) -> Option<DataType> {
        crate::progress::step();
        makers.budget.set(makers.budget.get().checked_sub(1)?);
        if let ExprKind::Column(id) = &expr.kind {
            let Some((_, call)) = makers.aggregates.iter().find(|(aggregate, _)| aggregate == id) else {
                return self.member_of((makers.item)(*id)?, makers);
            };
            let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
            let argument = call.args.first().filter(|_| is_extreme)?;
            let of = converted(argument).unwrap_or(argument);
            return matches!(of.data_type.kind, TypeKind::Enum | TypeKind::Set).then(|| of.data_type.clone());
        }
        match arms_of(expr)?[..] {
            [arm] => self.member_of(arm, makers),
            _ => None,
        }
    }

    /// A sum of decimals whose digits are more than a DECIMAL has says so, until it is kept or chosen.
    fn sum_of_column(&self, id: ColumnId, makers: &Makers<'_>) -> Option<DataType> {
        let digits = match makers.aggregates.iter().find(|(aggregate, _)| *aggregate == id) {
            Some((_, call)) => self.digits_of_extreme(call, makers)?,
            None => self.digits_of((makers.item)(id)?, makers)?,
        };
        let of = &self.columns[id.0 as usize].data_type;
        Some(DataType { length: digits, ..of.clone() })
    }

    fn digits_of_extreme(&self, call: &AggregateCall, makers: &Makers<'_>) -> Option<u32> {
        let is_extreme = matches!(call.function, AggregateFunction::Min | AggregateFunction::Max);
        self.digits_of(call.args.first().filter(|_| is_extreme)?, makers)
    }

    /// The digits of such a sum.
    fn digits_of(&self, expr: &Expr, makers: &Makers<'_>) -> Option<u32> {
        crate::progress::step();
        makers.budget.set(makers.budget.get().checked_sub(1)?);
        match &expr.kind {
            ExprKind::Call { function: F::Add | F::Sub, args, .. }
                if expr.data_type.kind == TypeKind::Decimal =>
            {
                let digits = crate::function::digits_of_sum(args);
                (digits > DECIMAL_PRECISION_MAX).then_some(digits)
            }
            ExprKind::Call { function: F::Neg | F::Abs, args, .. } => self.digits_of(&args[0], makers),
            ExprKind::Column(id) => match makers.aggregates.iter().find(|(aggregate, _)| aggregate == id) {
                Some((_, call)) => self.digits_of_extreme(call, makers),
                None => self.digits_of((makers.item)(*id)?, makers),
            },
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                let [id] = subquery.columns[..] else { return None };
                let plan = &subquery.plan;
                let item = |id: ColumnId| {
                    item_of_block(plan, id).filter(|_| !self.materialized_columns.contains(&id))
                };
                let inner = Makers { item: &item, aggregates: aggregates_of(plan), budget: makers.budget };
                self.digits_of(&self.column_expr(id), &inner)
            }
            _ => None,
        }
    }

    fn described_column(&self, id: ColumnId, makers: &Makers<'_>) -> Described {
        let aggregate = makers.aggregates.iter().find(|(aggregate, _)| *aggregate == id);
        match (aggregate, (makers.item)(id)) {
            (Some((_, call)), _) => match (call.function, call.args.first()) {
                (AggregateFunction::Min | AggregateFunction::Max, Some(argument)) => {
                    self.described(argument, makers)
                }
                _ => made(&call.data_type),
            },
            (None, Some(item)) => self.described(item, makers),
            (None, None) => {
                let of = &self.columns[id.0 as usize];
                let is_field = of.origin.is_some() || self.materialized_columns.contains(&id);
                if is_field && of.data_type.is_text_or_blob() { Described::Text } else { made(&of.data_type) }
            }
        }
    }

    fn described(&self, expr: &Expr, makers: &Makers<'_>) -> Described {
        crate::progress::step();
        let Some(left) = makers.budget.get().checked_sub(1) else { return made(&expr.data_type) };
        makers.budget.set(left);
        match &expr.kind {
            ExprKind::Column(id) => self.described_column(*id, makers),
            ExprKind::UserVarAssign { value, .. } => self.described(value, makers),
            ExprKind::Call { function: F::Least | F::Greatest, args, .. } if self.are_documents(args) => {
                Described::Documents
            }
            ExprKind::Call { function: F::If, args, .. } => {
                self.described_arms(&mut args[1..].iter(), expr, makers)
            }
            ExprKind::Call { function: F::IfNull | F::Coalesce | F::Least | F::Greatest, args, .. } => {
                self.described_arms(&mut args.iter(), expr, makers)
            }
            ExprKind::Call { function: F::NullIf | F::AnyValue, args, .. } => {
                self.described(&args[0], makers)
            }
            ExprKind::Case { whens, otherwise } => {
                let mut arms = whens.iter().map(|(_, then)| then).chain(otherwise.as_deref());
                self.described_arms(&mut arms, expr, makers)
            }
            ExprKind::Subquery(subquery) if matches!(subquery.kind, SubqueryKind::Scalar) => {
                let [id] = subquery.columns[..] else { return made(&expr.data_type) };
                self.described_in(&subquery.plan, id, makers.budget)
            }
            _ => made(&expr.data_type),
        }
    }

    /// Documents, and parameters that become such beside them.
    fn are_documents(&self, args: &[Expr]) -> bool {
        let is_document = |arg: &Expr| uncast(arg).data_type.kind == TypeKind::Json;
        let is_free = self.types.fixes_parameters && !self.types.binds_again;
        let is_parameter = |arg: &Expr| is_free && matches!(uncast(arg).kind, ExprKind::Param(_));
        args.iter().any(is_document) && args.iter().all(|arg| is_document(arg) || is_parameter(arg))
    }

    /// What a subquery gives.
    fn described_in(&self, plan: &Logical, id: ColumnId, budget: &Cell<u32>) -> Described {
        let item =
            |id: ColumnId| item_of_block(plan, id).filter(|_| !self.materialized_columns.contains(&id));
        self.described_column(id, &Makers { item: &item, aggregates: aggregates_of(plan), budget })
    }

    /// A document beside a text is a LONGTEXT.
    fn described_arms(
        &self,
        arms: &mut dyn Iterator<Item = &Expr>,
        whole: &Expr,
        makers: &Makers<'_>,
    ) -> Described {
        let mut described = Described::Short;
        for arm in arms {
            described = described.max(match uncast(arm).data_type.kind {
                TypeKind::Json => Described::LongText,
                _ => self.described(uncast(arm), makers),
            });
        }
        match described {
            Described::Short | Described::Documents => made(&whole.data_type),
            described => described,
        }
    }
}

/// The values of which an expression gives one, but for NULL; nothing of what chooses none.
fn arms_of(expr: &Expr) -> Option<Vec<&Expr>> {
    let arms: Vec<&Expr> = match &expr.kind {
        ExprKind::Call { function: F::If, args, .. } => args[1..].iter().collect(),
        ExprKind::Call { function: F::IfNull | F::Coalesce | F::Least | F::Greatest, args, .. } => {
            args.iter().collect()
        }
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).collect()
        }
        _ => return None,
    };
    let is_null = |arm: &&Expr| arm.as_literal().is_some_and(Value::is_null);
    Some(arms.into_iter().map(uncast).filter(|arm| !is_null(arm)).collect())
}

/// What a column computes in the query block that is at the top of `plan`.
fn item_of_block(plan: &Logical, id: ColumnId) -> Option<&Expr> {
    match plan {
        Logical::Limit { input, .. } | Logical::Distinct { input, .. } | Logical::Aggregate { input, .. } => {
            item_of_block(input, id)
        }
        Logical::Sort { input, .. } | Logical::Filter { input, .. } => item_of_block(input, id),
        Logical::Project { input, items } => {
            let item = items.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr);
            item.or_else(|| item_of_block(input, id))
        }
        _ => merged_item(plan, id),
    }
}

/// A text that a function makes.
fn made(data_type: &DataType) -> Described {
    match data_type.kind {
        TypeKind::TinyText | TypeKind::Text => Described::Text,
        TypeKind::MediumText => Described::MediumText,
        TypeKind::LongText => Described::LongText,
        _ => Described::Short,
    }
}

/// The type of what MIN or MAX compares, where it is computed and converted for that.
fn extreme_of(call: &AggregateCall) -> Option<DataType> {
    if !matches!(call.function, AggregateFunction::Min | AggregateFunction::Max) {
        return None;
    }
    let inner = converted(call.args.first()?)?;
    match inner.data_type.kind {
        TypeKind::Enum | TypeKind::Set if inner.as_column().is_none() => Some(inner.data_type.clone()),
        TypeKind::Year => Some(DataType::COMPUTED_YEAR),
        _ => None,
    }
}

/// What MIN or MAX converts before it compares.
pub(super) fn converted(argument: &Expr) -> Option<&Expr> {
    let is_own = match argument.data_type.kind {
        TypeKind::BigInt => argument.data_type == DataType::BIGINT_UNSIGNED,
        _ => argument.data_type.is_string(),
    };
    match &argument.kind {
        ExprKind::Call { function: F::Cast, args, option: CallOption::None } if is_own => args.first(),
        _ => None,
    }
}

/// What is converted to the common type of arms.
fn uncast(arm: &Expr) -> &Expr {
    match &arm.kind {
        ExprKind::Call { function: F::Cast | F::Collate, args, option: CallOption::Common }
        | ExprKind::Call { function: F::ConvertUsing, args, option: CallOption::Lossless } => &args[0],
        ExprKind::Call { function: F::Cast, args, option: CallOption::None }
            if args[0].data_type.kind == TypeKind::Json =>
        {
            &args[0]
        }
        _ => arm,
    }
}
