//! Computed values that MySQL describes by the type of what they are made of rather than by what they need.
//!
//! A function that makes a text gives VARCHAR, MEDIUMTEXT or LONGTEXT, whichever its length needs. What only passes values on (MIN, CASE,
//! COALESCE and their like) gives the type of what it gets: of a column of any TEXT type that is TEXT, however long. LEAST and GREATEST of
//! documents alone give a VARCHAR that is as long as a document. MIN and MAX give years and members of what computes years and members.
//!
//! Such a type is for the description only: CREATE TABLE ... SELECT, set operations and functions around see the usual one.

use std::cell::Cell;

use types::{CollationId, DataType, TypeKind};

use super::Binder;
use super::temporary::{Steps, aggregates_of, merged_item};
use crate::expr::{CallOption, ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::FunctionId as F;
use crate::logical::{AggregateCall, AggregateFunction, Logical, OutputColumn};

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
            if !matches!(column.data_type.kind, TypeKind::MediumText | TypeKind::LongText) {
                continue;
            }
            let item = |id: ColumnId| steps.item(id).filter(|_| !self.kept_columns.contains(&id));
            let described = self.described_column(
                column.id,
                &Makers { item: &item, aggregates, budget: &Cell::new(NODES_MAX) },
            );
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
                let is_field = of.origin.is_some() || self.kept_columns.contains(&id);
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
            ExprKind::Call { function: F::Least | F::Greatest, args, .. }
                if args.iter().all(|arg| uncast(arg).data_type.kind == TypeKind::Json) =>
            {
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

    /// What a subquery gives.
    fn described_in(&self, plan: &Logical, id: ColumnId, budget: &Cell<u32>) -> Described {
        let item = |id: ColumnId| item_of_block(plan, id).filter(|_| !self.kept_columns.contains(&id));
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
