//! A large column that is asked only for its length, its beginning, how it compares with a known text, or whether it is
//! NULL gives that part.
//!
//! `LENGTH(c)`, `c IS NULL`, `COUNT(c)`, `LEFT(c, n)`, `c LIKE 'abc%'` and their like over a column of a table become expressions over a
//! *part* of the column, a further column that the table's scan gives. What is above the scan does not know the
//! difference; a column of which only parts are left is not read at all.
//!
//! Invariants:
//! 1. An expression that is replaced has the value, the type and the name that it had.
//! 2. A part is used only where the column itself could be: the walk knows which columns of tables a node sees. Groups,
//!    DISTINCT, unions and recursion give other columns; what stands above them stays as it is.
//!
//! Read next: `references`, which runs behind it.

use crate::expr::{CallOption, ColumnId, Expr, ExprKind, Subquery, SubqueryKind};
use crate::function::FunctionId;
use crate::logical::{
    AggregateFunction, Bound, ColumnInfo, JoinKind, Logical, PartKind, SortKey, TableIndex, TablePart,
    TextPredicate, TextPredicateKind,
};
use crate::rewrite::free_columns;
use crate::text::{column_name, expr_text};
use types::{CollationId, DataType, TypeKind, Value};

/// Most texts of an IN list that a part looks for: longer lists are looked up in a set.
const PREDICATE_TEXTS_MAX: usize = 16;

/// A column that a node sees and that is a large column of a table.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) id: ColumnId,
    pub(super) table: TableIndex,
    pub(super) ordinal: usize,
}

/// Runs the pass over a tree and the trees of its subqueries.
pub(super) fn run(bound: &mut Bound, tree: &mut Logical) {
    Parts { bound }.tree(tree, &[]);
}

/// Whether there is anything to do for the pass.
pub(super) fn has_large_columns(bound: &Bound) -> bool {
    bound.tables.iter().any(|table| {
        let mut columns = table.entry.definition.columns.iter();
        table.entry.source.as_virtual().is_none() && columns.any(|column| can_be_large(&column.data_type))
    })
}

/// Values too large to carry through a sort for rows that may be thrown away.
pub(crate) fn can_be_large(data_type: &DataType) -> bool {
    data_type.is_text_or_blob()
        || data_type.kind == TypeKind::Json
        || (data_type.is_string() && data_type.length > 512)
}

pub(super) struct Parts<'b> {
    pub(super) bound: &'b mut Bound,
}

impl Parts<'_> {
    /// Replaces in a tree, which may read `outer` of enclosing queries. Answers which large columns it shows.
    fn tree(&mut self, tree: &mut Logical, outer: &[Seen]) -> Vec<Seen> {
        if let Logical::Scan { table } = tree {
            return self.large_columns(*table);
        }
        let mut seen = Vec::new();
        let mut of_first = None;
        tree.each_input_mut(&mut |input| {
            seen.extend(self.tree(input, outer));
            of_first = of_first.or(Some(seen.len()));
        });
        let scope = [&seen, outer].concat();
        if scope.is_empty() && !matches!(tree, Logical::Apply { .. }) {
            return seen;
        }
        tree.each_expr_mut(&mut |expr| self.expr(expr, &scope));
        match tree {
            Logical::Sort { keys, .. } => {
                self.order(keys, &seen);
                seen
            }
            Logical::Filter { .. }
            | Logical::Window { .. }
            | Logical::Limit { .. }
            | Logical::Lateral { .. } => seen,
            Logical::Project { items, .. } => {
                // A column that only gets another name is the same column.
                for (id, expr) in items {
                    let same = expr.as_column().and_then(|column| find(&seen, column));
                    seen.extend(same.map(|same| Seen { id: *id, ..same }));
                }
                seen
            }
            Logical::Join { kind, .. } => {
                if matches!(kind, JoinKind::Semi | JoinKind::Anti) {
                    seen.truncate(of_first.unwrap_or(0));
                }
                seen
            }
            Logical::Apply { subquery, .. } => {
                self.tree(&mut subquery.plan, &scope);
                self.reads_outside(subquery, &scope);
                seen
            }
            Logical::Aggregate { calls, .. } => {
                // COUNT asks only whether a value is there.
                for (_, call) in calls {
                    if call.function != AggregateFunction::Count || call.distinct {
                        continue;
                    }
                    for arg in &mut call.args {
                        if let Some(column) = arg.as_column().and_then(|id| find(&scope, id)) {
                            arg.kind = ExprKind::Column(self.nullness(column));
                        }
                    }
                }
                Vec::new()
            }
            Logical::OneRow
            | Logical::Empty { .. }
            | Logical::Scan { .. }
            | Logical::Values { .. }
            | Logical::WorkingTable { .. }
            | Logical::Recursive { .. }
            | Logical::Distinct { .. }
            | Logical::JsonTable { .. }
            | Logical::SetOp { .. } => Vec::new(),
        }
    }

    /// An order goes by what lies in the rows, and by more of the values where that does not decide.
    fn order(&mut self, keys: &mut [SortKey], scope: &[Seen]) {
        for key in keys {
            let Some(column) = key.expr.as_column().and_then(|id| find(scope, id)) else { continue };
            let stored = self.stored(column);
            if stored.is_string() && !self.is_key(column) && key.expr.data_type == stored {
                key.expr.kind = ExprKind::Column(self.part(column, PartKind::Reference, stored));
            }
        }
    }

    /// Whether the column is in an index: that is found by the column itself.
    fn is_key(&self, column: Seen) -> bool {
        let table = &self.bound.tables[column.table.0 as usize].entry.definition;
        table.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == column.ordinal))
    }

    fn large_columns(&self, table: TableIndex) -> Vec<Seen> {
        let bound = &self.bound.tables[table.0 as usize];
        if bound.entry.source.as_virtual().is_some() {
            return Vec::new();
        }
        let columns = bound.entry.definition.columns.iter().enumerate();
        columns
            .filter(|(_, column)| can_be_large(&column.data_type))
            .map(|(ordinal, _)| Seen { id: bound.column(ordinal), table, ordinal })
            .collect()
    }

    /// A subquery's tree was changed: which columns of the queries around it it reads now.
    fn reads_outside(&self, subquery: &mut Subquery, scope: &[Seen]) {
        let mut free = Vec::new();
        free_columns(&subquery.plan, &self.bound.tables, &mut free);
        if let SubqueryKind::Quantified { condition, .. } = &subquery.kind {
            for part in condition {
                part.each_column(&mut |id| free.push(id));
            }
        }
        subquery.outer.retain(|&id| find(scope, id).is_none() || free.contains(&id));
        for id in free {
            let is_part =
                || self.bound.tables.iter().any(|table| table.parts.iter().any(|part| part.id == id));
            if !subquery.outer.contains(&id) && !subquery.columns.contains(&id) && is_part() {
                subquery.outer.push(id);
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr, scope: &[Seen]) {
        if let Some((column, predicate)) = self.text_predicate(expr, scope) {
            let part = self.predicate_part(column, predicate, expr);
            expr.kind = ExprKind::Column(part);
            return;
        }
        let ExprKind::Call { function, args, .. } = &mut expr.kind else {
            return expr.each_child_mut(&mut |child| self.expr(child, scope));
        };
        let column = args.first().and_then(Expr::as_column).and_then(|id| find(scope, id));
        let Some(column) = column else {
            return expr.each_child_mut(&mut |child| self.expr(child, scope));
        };
        let stored = self.stored(column);
        let width = args[0].data_type.collation.charset().max_bytes_per_char() as u32;
        // A JSON document is stored in another form than its text.
        let is_text = stored.kind != TypeKind::Json;
        let numbers_known = args[1..].iter().all(is_number);
        let instead = match function {
            FunctionId::IsNull | FunctionId::IsNullFunction => {
                args[0].kind = ExprKind::Column(self.nullness(column));
                return;
            }
            FunctionId::Length if is_text => PartKind::Length { times: 1 },
            FunctionId::BitLength if is_text => PartKind::Length { times: 8 },
            FunctionId::CharLength if is_text && width == 1 => PartKind::Length { times: 1 },
            FunctionId::Left if is_text && numbers_known && width == 1 => {
                PartKind::Substring { position: None, count: Some(args[1].clone()) }
            }
            FunctionId::Substring if is_text && numbers_known && width == 1 => {
                PartKind::Substring { position: Some(args[1].clone()), count: args.get(2).cloned() }
            }
            FunctionId::Left if is_text && numbers_known => {
                let kind = PartKind::Start { position: None, count: args[1].clone(), width };
                args[0].kind = ExprKind::Column(self.part(column, kind, stored));
                return;
            }
            FunctionId::Substring if is_text && numbers_known && args.len() == 3 => {
                let kind = PartKind::Start { position: Some(args[1].clone()), count: args[2].clone(), width };
                args[0].kind = ExprKind::Column(self.part(column, kind, stored));
                return;
            }
            _ => return expr.each_child_mut(&mut |child| self.expr(child, scope)),
        };
        expr.kind = ExprKind::Column(self.part(column, instead, expr.data_type.clone()));
    }

    /// The predicate that an expression is, and its column. Indexes are found by the comparison itself: it stays where there
    /// might be one.
    fn text_predicate(&self, expr: &Expr, scope: &[Seen]) -> Option<(Seen, TextPredicate)> {
        let (kind, column, texts): (TextPredicateKind, &Expr, &[Expr]) = match &expr.kind {
            ExprKind::Call { function, args, .. } => match (predicate_kind(*function)?, &args[..]) {
                (kind @ TextPredicateKind::Between, [column, texts @ ..]) => (kind, column, texts),
                (kind, [column, _]) if column.as_column().is_some() => (kind, column, &args[1..]),
                (TextPredicateKind::Like, _) => return None,
                (kind, [_, column]) => (swapped(kind), column, &args[..1]),
                _ => return None,
            },
            ExprKind::InList { expr, list } if list.len() <= PREDICATE_TEXTS_MAX => {
                (TextPredicateKind::In, expr, list)
            }
            _ => return None,
        };
        let seen = find(scope, column.as_column()?)?;
        let table = &self.bound.tables[seen.table.0 as usize].entry.definition;
        let collation = column.data_type.collation;
        let is_comparable = |text: &Expr| {
            let known = is_known_text(text);
            let own = text.data_type.collation;
            known == Some(true)
                || known == Some(false) && (own == collation || collation == CollationId::BINARY)
        };
        let is_text = table.columns[seen.ordinal].data_type.is_string()
            && table.columns[seen.ordinal].data_type.collation.charset() == collation.charset();
        if !is_text || self.is_key(seen) || !texts.iter().all(is_comparable) {
            return None;
        }
        Some((seen, TextPredicate { kind, collation, texts: texts.to_vec() }))
    }

    /// The number of the part that a predicate is, named as the expression it replaces.
    fn predicate_part(&mut self, column: Seen, predicate: TextPredicate, expr: &Expr) -> ColumnId {
        let bound = &*self.bound;
        let name = |column: crate::text::Column| match column {
            crate::text::Column::Id(id) => {
                column_name(id, &bound.columns, |table: TableIndex| &bound.tables[table.0 as usize].alias)
            }
            crate::text::Column::Param(_) => "?".into(),
            crate::text::Column::Input(_) | crate::text::Column::Outer(_) => String::new(),
        };
        let called = expr_text(expr, &name);
        let id = self.part(column, PartKind::Predicate(predicate), expr.data_type.clone());
        self.bound.columns[id.0 as usize].name = called.into();
        id
    }

    fn stored(&self, column: Seen) -> DataType {
        let table = &self.bound.tables[column.table.0 as usize];
        table.entry.definition.columns[column.ordinal].data_type.clone()
    }

    fn nullness(&mut self, column: Seen) -> ColumnId {
        let stored = self.stored(column);
        self.part(column, PartKind::Nullness, stored)
    }

    /// The number of a part, which is the same wherever the statement asks for it.
    pub(super) fn part(&mut self, column: Seen, kind: PartKind, data_type: DataType) -> ColumnId {
        let table = &mut self.bound.tables[column.table.0 as usize];
        let mut known = table.parts.iter();
        if let Some(part) = known.find(|part| part.column == column.ordinal && part.kind == kind) {
            return part.id;
        }
        let id = ColumnId(self.bound.columns.len() as u32);
        let name = &table.entry.definition.columns[column.ordinal].name;
        // What stands for a whole expression is called as that is, what stands for the column as the column.
        let called = match &kind {
            PartKind::Nullness | PartKind::Start { .. } | PartKind::Reference => None,
            PartKind::Predicate(_) => Some("predicate"),
            PartKind::Length { times: 1 } => Some("length"),
            PartKind::Length { .. } => Some("bit_length"),
            PartKind::Substring { .. } => Some("substring"),
        };
        self.bound.columns.push(ColumnInfo {
            name: called.map_or_else(|| name.clone(), |by| format!("{by}({}.{name})", table.alias).into()),
            data_type: data_type.clone(),
            nullable: true,
            origin: called.is_none().then_some((column.table, column.ordinal as u32)),
            coercibility: None,
            bits: None,
            is_reference: kind == PartKind::Reference,
        });
        table.parts.push(TablePart { id, column: column.ordinal, kind, data_type });
        id
    }
}

/// Which predicate a function is of its first argument.
fn predicate_kind(function: FunctionId) -> Option<TextPredicateKind> {
    Some(match function {
        FunctionId::Eq => TextPredicateKind::Eq,
        FunctionId::Ne => TextPredicateKind::Ne,
        FunctionId::Lt => TextPredicateKind::Lt,
        FunctionId::Le => TextPredicateKind::Le,
        FunctionId::Gt => TextPredicateKind::Gt,
        FunctionId::Ge => TextPredicateKind::Ge,
        FunctionId::Between => TextPredicateKind::Between,
        FunctionId::Like => TextPredicateKind::Like,
        _ => return None,
    })
}

/// The same comparison, read from the other side.
fn swapped(kind: TextPredicateKind) -> TextPredicateKind {
    match kind {
        TextPredicateKind::Lt => TextPredicateKind::Gt,
        TextPredicateKind::Le => TextPredicateKind::Ge,
        TextPredicateKind::Gt => TextPredicateKind::Lt,
        TextPredicateKind::Ge => TextPredicateKind::Le,
        kind => kind,
    }
}

/// Whether an expression is a text that is known when the statement starts, costs nothing to compute and is no error: `Some(true)` is
/// NULL. Bytes that are no characters are an error of the rows that are compared with them.
fn is_known_text(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Literal(Value::Null) => Some(true),
        ExprKind::Literal(_) | ExprKind::Param(_) if expr.data_type.is_string() => Some(false),
        ExprKind::Call { function: FunctionId::ConvertUsing, args, option: CallOption::Lossless }
            if args[0].data_type.is_binary_string() =>
        {
            None
        }
        ExprKind::Call { function: FunctionId::ConvertUsing | FunctionId::Collate, args, .. } => {
            is_known_text(&args[0])
        }
        _ => None,
    }
}

fn find(seen: &[Seen], id: ColumnId) -> Option<Seen> {
    seen.iter().copied().find(|seen| seen.id == id)
}

/// A whole number that is known when the statement starts, and costs nothing to compute twice.
fn is_number(expr: &Expr) -> bool {
    let is_whole = expr.data_type.is_integer() && expr.data_type.kind != TypeKind::Bit;
    is_whole
        && match &expr.kind {
            ExprKind::Literal(_) | ExprKind::Param(_) => true,
            ExprKind::Call { function: FunctionId::Neg, args, .. } => {
                matches!(args[0].kind, ExprKind::Literal(_) | ExprKind::Param(_)) && is_number(&args[0])
            }
            _ => false,
        }
}
