//! Results that MySQL describes as columns of a temporary table.
//!
//! Where it collects the rows of a query block in a temporary table (GROUP BY, DISTINCT and ORDER BY that no index and
//! no sort of one table can give; derived tables that are not merged), a column of the result is one of that table:
//! without the keys of its base table, an expression without the flags of one. Whether it needs the table
//! follows from the statement as long as the joined tables are read in the order of FROM; of other join orders the
//! description may differ.

use std::collections::HashMap;
use std::sync::Arc;

use types::data_type::{SCALE_NOT_FIXED, VARCHAR_BYTES_MAX, column_flag as flag};
use types::{CollationId, DataType, TypeKind, Value};

use super::Binder;
use super::scope::{ScopeColumns, ScopeTable};
use crate::expr::{ColumnId, Expr, ExprKind, SubqueryKind};
use crate::function::{self, FunctionId, text_chars};
use crate::logical::{
    AggregateCall, AggregateFunction, BoundTable, JoinKind, Logical, OutputColumn, OutputSource, SortKey,
};
use crate::rewrite::is_repeatable;

/// Integers with fewer digits and sign are INT in a temporary table, others BIGINT.
const INT_DIGITS: u32 = 10;
/// Longer texts are BLOB or TEXT in a temporary table.
pub(super) const VARCHAR_CHARS_MAX: u32 = 512;

/// The description of a column of a temporary table, beside the type that expressions compute with.
#[derive(Clone, Debug)]
pub(super) struct TemporaryColumn {
    pub(super) data_type: DataType,
    pub(super) flags: u16,
    pub(super) source: OutputSource,
}

/// What a query block does with the rows of its FROM.
pub(super) struct Steps<'s> {
    /// FROM and WHERE.
    pub(super) rows: &'s Logical,
    /// WHERE.
    pub(super) conditions: &'s [Expr],
    pub(super) having: &'s [Expr],
    pub(super) keys: &'s [(ColumnId, Expr)],
    pub(super) rollup: bool,
    pub(super) distinct: bool,
    /// SQL_BUFFER_RESULT.
    pub(super) is_buffered: bool,
    /// SQL_BIG_RESULT: groups come of sorted rows, if a sort of the first table is enough.
    pub(super) is_big: bool,
    /// Windows: their rows are kept.
    pub(super) has_windows: bool,
    /// LIMIT 0.
    pub(super) gives_no_row: bool,
    pub(super) sort: &'s [SortKey],
    /// Items that are no plain columns.
    pub(super) items: &'s [(ColumnId, Expr)],
    /// Columns of derived tables that are merged into the block are followed to what computes them.
    pub(super) follows_merged: bool,
    /// Where the items stand, if they are many.
    pub(super) positions: Positions,
}

/// Items by their columns: a look through a long list for each column would take time by the square of its length.
pub(super) struct Positions(Option<HashMap<ColumnId, usize>>);

impl Positions {
    /// A shorter list is looked through.
    const ITEMS_MIN: usize = 64;

    pub(super) fn of(items: &[(ColumnId, Expr)]) -> Positions {
        let is_long = items.len() >= Self::ITEMS_MIN;
        Positions(is_long.then(|| items.iter().enumerate().map(|(at, (id, _))| (*id, at)).collect()))
    }

    fn find<'i>(&self, items: &'i [(ColumnId, Expr)], id: ColumnId) -> Option<&'i Expr> {
        match &self.0 {
            Some(positions) => positions.get(&id).map(|&at| &items[at].1),
            None => find(items, id),
        }
    }
}

/// Leaves the flags that a column of a temporary table has from that of a base table.
fn without_keys(flags: u16) -> u16 {
    const KEYS: u16 =
        flag::PRIMARY_KEY | flag::UNIQUE_KEY | flag::MULTIPLE_KEY | flag::PART_KEY | flag::AUTO_INCREMENT;
    flags & !KEYS
}

/// Turns the type of a computed value into that of a column. CREATE TABLE ... SELECT makes a column of the type before that.
pub(super) fn store_computed(column: &mut OutputColumn) {
    let data_type = &mut column.data_type;
    column.created_type.get_or_insert_with(|| data_type.clone());
    let whole = |length: u32| if length < INT_DIGITS { TypeKind::Int } else { TypeKind::BigInt };
    match data_type.kind {
        TypeKind::Null => *data_type = DataType::varchar(0, CollationId::BINARY),
        TypeKind::Year => {
            data_type.kind = whole(data_type.length);
            data_type.zerofill = false;
        }
        // CURTIME() is shorter than a column.
        TypeKind::Time => data_type.length = DataType::time(data_type.scale).length,
        _ if data_type.integer_bytes().is_some() => data_type.kind = whole(data_type.length),
        _ => store_text(data_type),
    }
}

/// The type of a column that holds a computed text.
pub(super) fn store_text(data_type: &mut DataType) {
    if data_type.kind == TypeKind::Null {
        *data_type = DataType::varchar(0, CollationId::BINARY);
    }
    if !data_type.is_string() {
        return;
    }
    let (chars, collation) = (text_chars(data_type), data_type.collation);
    *data_type = if chars <= VARCHAR_CHARS_MAX {
        DataType::varchar(chars, collation)
    } else {
        let char_bytes = match chars {
            // A parameter among numbers is of one byte per character.
            VARCHAR_BYTES_MAX if data_type.kind == TypeKind::VarChar => 1,
            _ => collation.charset().max_bytes_per_char() as u32,
        };
        let length = chars.saturating_mul(char_bytes);
        let is_in = |kind: &TypeKind| length <= DataType::text(*kind, collation).length;
        let kinds = [TypeKind::Text, TypeKind::MediumText];
        let kind = kinds.into_iter().find(is_in).unwrap_or(TypeKind::LongText);
        DataType { length, ..DataType::text(kind, collation) }
    };
}

/// Where MySQL gives the rows of a query block from.
#[derive(Clone, Copy, Eq, PartialEq)]
enum ResultSource {
    /// From where they are computed; the keys of ROLLUP are values that are NULL in the rows above the groups.
    RolledUp,
    /// From a temporary table of groups: what is computed from finished groups is computed behind it.
    Groups,
    /// From a temporary table of rows that are sorted, then grouped: aggregates are computed behind it.
    Rows,
    /// From a temporary table of groups that are finished, averages included: what is computed from aggregates is computed behind it.
    Finished,
    /// From a temporary table.
    Table,
}

impl Binder<'_> {
    /// How MySQL gives each of the block's output columns to the client.
    pub(super) fn describe(&self, steps: &Steps<'_>, output: &mut [OutputColumn]) {
        let source = match self.table_of(steps, output) {
            None if steps.rollup => ResultSource::RolledUp,
            None => return,
            Some(source) => source,
        };
        for column in output {
            let item = steps.item(column.id).filter(|_| !self.materialized_columns.contains(&column.id));
            let is_key = |id: ColumnId| steps.keys.iter().any(|(key, _)| *key == id);
            let is_key_item =
                steps.rollup && item.is_some_and(|item| steps.keys.iter().any(|(_, key)| key == item));
            if steps.rollup {
                let reads_key = |item: &Expr| item.any(&mut |node| node.as_column().is_some_and(is_key));
                let is_group = !self.holds_aggregate(column.id, item);
                column.nullable |= is_key_item || is_group && item.is_some_and(reads_key);
                if is_key(column.id) {
                    column.data_type = self.columns[column.id.0 as usize].data_type.clone();
                    make_computed(column);
                }
            }
            let is_stored = match source {
                ResultSource::RolledUp => {
                    if is_key(column.id) {
                        column.data_type = match column.data_type.kind {
                            TypeKind::Year => DataType::COMPUTED_YEAR,
                            _ => function::computed(&column.data_type),
                        };
                    }
                    false
                }
                ResultSource::Groups => !self.is_finished_behind(column.id, item),
                ResultSource::Rows => !self.holds_aggregate(column.id, item),
                ResultSource::Finished => {
                    item.is_none_or(|item| !self.holds_aggregate(column.id, Some(item)))
                }
                ResultSource::Table => true,
            };
            // Constants are not stored, unless the rows above the groups have NULL in their place.
            let is_fixed = item.is_some_and(|item| self.is_fixed_value(steps, item))
                && !is_padded(steps.rows, column.id);
            if is_stored && (is_key_item || !is_fixed) {
                self.store_column(column, self.blocks.last().map_or(&[][..], |block| &block.aggregates));
                let windows = self.blocks.last().map_or(&[][..], |block| &block.windows);
                if windows.iter().any(|window| window.makes(column.id)) {
                    // CREATE TABLE ... SELECT makes a column of what is stored.
                    column.created_type = Some(column.data_type.clone());
                }
            }
        }
    }

    /// Of a table whose columns an aggregate query in the select list reads for each row, MySQL says that all columns may be NULL.
    pub(super) fn describe_nulled(&mut self, items: &[(ColumnId, Expr)], output: &mut [OutputColumn]) {
        let mut read = Vec::new();
        items.iter().for_each(|(_, item)| read_by_aggregates(item, &mut read));
        if read.is_empty() {
            return;
        }
        let reads = |item: &Expr| {
            let mut own = Vec::new();
            read_by_aggregates(item, &mut own);
            !own.is_empty()
        };
        let readers: Vec<ColumnId> =
            items.iter().filter(|(_, item)| reads(item)).map(|(id, _)| *id).collect();
        let first_reader = output.iter().position(|column| readers.contains(&column.id));
        let tables = self.blocks.last().map_or(&[][..], |block| &block.tables);
        for column in output.iter_mut().filter(|column| !column.source.is_computed()) {
            // A table that is merged into this query is none of its own.
            let is_own = |table: &ScopeTable| {
                matches!(table.columns, ScopeColumns::Base { .. })
                    || self.materialized_columns.contains(&column.id)
            };
            let is_of_one = |table: &&ScopeTable| table.holds(column.id) && is_own(table);
            let table = tables.iter().find(is_of_one);
            column.nullable |= table.is_some_and(|table| read.iter().any(|id| table.holds(*id)));
        }
        self.describe_computed_of_nulled(items, output);
        // So does a set operation say of those that stand behind such a query.
        for column in
            output.iter().skip(first_reader.unwrap_or(output.len())).filter(|column| column.nullable)
        {
            self.columns[column.id.0 as usize].nullable = true;
        }
    }

    /// What is computed from columns of such a table may be NULL, too, in and behind the item that reads it.
    fn describe_computed_of_nulled(&self, items: &[(ColumnId, Expr)], output: &mut [OutputColumn]) {
        let tables = self.blocks.last().map_or(&[][..], |block| &block.tables);
        let mut nulled: Vec<&ScopeTable> = Vec::new();
        for column in output.iter_mut().filter(|column| column.source.is_computed()) {
            let Some(item) = find(items, column.id) else { continue };
            let mut read = Vec::new();
            read_by_aggregates(item, &mut read);
            nulled.extend(tables.iter().filter(|table| {
                let is_own = matches!(table.columns, ScopeColumns::Base { .. })
                    || read.iter().any(|id| self.materialized_columns.contains(id));
                is_own && read.iter().any(|id| table.holds(*id))
            }));
            if !nulled.is_empty() && !column.nullable {
                column.nullable = may_be_null(item, &|id| nulled.iter().any(|table| table.holds(id)));
            }
        }
    }

    /// Computed from a group when all its rows are there: an expression over aggregates, an average.
    fn is_finished_behind(&self, id: ColumnId, item: Option<&Expr>) -> bool {
        use AggregateFunction as F;
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let aggregate =
            |id: ColumnId| aggregates.iter().find(|(other, _)| *other == id).map(|(_, call)| call);
        match item {
            Some(item) => item.any(&mut |node| node.as_column().is_some_and(|id| aggregate(id).is_some())),
            None => aggregate(id).is_some_and(|call| {
                matches!(
                    call.function,
                    F::Avg
                        | F::BitAnd
                        | F::BitOr
                        | F::BitXor
                        | F::StdPop
                        | F::StdSamp
                        | F::VarPop
                        | F::VarSamp
                )
            }),
        }
    }

    /// An aggregate or an expression over one.
    fn holds_aggregate(&self, id: ColumnId, item: Option<&Expr>) -> bool {
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let is_one = |id: ColumnId| aggregates.iter().any(|(other, _)| *other == id);
        is_one(id) || item.is_some_and(|item| item.any(&mut |node| node.as_column().is_some_and(is_one)))
    }

    /// Turns a column of a result into one of a temporary table. `aggregates`: those of the query block that gives it.
    fn store_column(&self, column: &mut OutputColumn, aggregates: &[(ColumnId, AggregateCall)]) {
        column.flags = without_keys(column.flags);
        if column.data_type.kind == TypeKind::Bit {
            // MySQL stores bits as texts.
            column.flags = 0;
        }
        if !column.source.is_computed() {
            if column.source == OutputSource::SetOperation {
                column.source = OutputSource::Column;
            }
            return;
        }
        column.source = OutputSource::TemporaryTable;
        let data_type = &mut column.data_type;
        let Some((_, call)) = aggregates.iter().find(|(id, _)| *id == column.id) else {
            return store_computed(column);
        };
        match call.function {
            AggregateFunction::Min | AggregateFunction::Max => {
                let argument =
                    call.args.first().map(text_of_member).filter(|argument| self.is_field(argument));
                if let Some(id) = argument.and_then(Expr::as_column) {
                    column.source = OutputSource::Column;
                    column.flags = self.flags_of_field(id);
                    match self.type_of_field(id) {
                        of if of.kind == TypeKind::Enum => column.flags |= flag::ENUM,
                        of if of.kind == TypeKind::Set => column.flags |= flag::SET,
                        of => *data_type = of,
                    }
                } else if data_type.integer_bytes().is_some() || data_type.kind == TypeKind::Year {
                    data_type.kind = TypeKind::BigInt;
                    data_type.zerofill = false;
                    // A number of years or bits is as long as these.
                    if let Some(of) = call.args.first().and_then(super::passed_on::converted) {
                        match (function::bits_of(of), of.data_type.kind) {
                            (Some(bits), _) => data_type.length = bits,
                            (None, TypeKind::Year) => data_type.length = of.data_type.length,
                            _ => {}
                        }
                    }
                } else if data_type.kind == TypeKind::Float {
                    // Only the column of a table is stored as a FLOAT.
                    *data_type = DataType::DOUBLE;
                } else {
                    store_computed(column);
                }
            }
            AggregateFunction::GroupConcat => {
                if data_type.is_text_or_blob() {
                    data_type.length /= data_type.collation.charset().max_bytes_per_char() as u32;
                }
                store_text(data_type);
            }
            _ => store_computed(column),
        }
    }

    /// The column of a table beside or around a query that a column of the query is.
    fn outer_field(&self, plan: &Logical, outer: &[ColumnId], id: ColumnId) -> Option<ColumnId> {
        if outer.is_empty() {
            return None;
        }
        let of = find(items_of(plan)?, id)?.as_column().filter(|of| outer.contains(of))?;
        let is_held = self.temporary_columns.contains_key(&of);
        (is_held || self.columns[of.0 as usize].origin.is_some()).then_some(of)
    }

    fn flags_of_field(&self, id: ColumnId) -> u16 {
        match (self.columns[id.0 as usize].origin, self.temporary_columns.get(&id)) {
            (_, Some(held)) => held.flags,
            (Some((table, ordinal)), None) => {
                let definition = &self.tables[table.0 as usize].entry.definition;
                without_keys(super::select::column_flags(definition, ordinal as usize))
            }
            (None, None) => 0,
        }
    }

    fn type_of_field(&self, id: ColumnId) -> DataType {
        match self.temporary_columns.get(&id) {
            Some(held) => held.data_type.clone(),
            None => self.columns[id.0 as usize].data_type.clone(),
        }
    }

    /// The columns of a derived table that MySQL keeps in a temporary table.
    /// `outer`: the columns of tables beside and around it that it reads.
    pub(super) fn materialize_derived(
        &mut self,
        plan: &Logical,
        outer: &[ColumnId],
        output: &mut [OutputColumn],
    ) {
        if !self.averages.is_empty() {
            self.averages.retain(|id| output.iter().all(|column| column.id != *id));
        }
        for column in output {
            match self.outer_field(plan, outer, column.id) {
                Some(of) => {
                    column.data_type = self.type_of_field(of);
                    column.flags = self.flags_of_field(of);
                    column.source = OutputSource::Column;
                }
                None => self.store_column(column, aggregates_of(plan)),
            }
            let held = TemporaryColumn {
                data_type: column.data_type.clone(),
                flags: column.flags,
                source: column.source,
            };
            // Of a text or integer MySQL says the length of the value, but computes with as much as the type holds.
            let computed_with = match &held.data_type {
                of if of.is_text_or_blob() => DataType::text(of.kind, of.collation),
                of if of.integer_bytes().is_some() && of.kind != TypeKind::Year => {
                    let whole = DataType::integer(of.kind, of.unsigned);
                    DataType { zerofill: of.zerofill, length: whole.length.max(of.length), ..whole }
                }
                of => of.clone(),
            };
            let data_type = &mut self.columns[column.id.0 as usize].data_type;
            // A YEAR that is computed compares as a number. The values stay what they are: NULL does not become a text.
            if computed_with.kind != TypeKind::Year && computed_with.physical() == data_type.physical() {
                *data_type = computed_with;
            }
            // But what is computed from it has no fixed number of digits.
            if data_type.kind == TypeKind::Null {
                data_type.scale = SCALE_NOT_FIXED;
            }
            self.materialized_columns.insert(column.id);
            self.temporary_columns.insert(column.id, held);
        }
    }

    /// The temporary table that the block needs, if it needs one.
    fn table_of(&self, steps: &Steps<'_>, output: &[OutputColumn]) -> Option<ResultSource> {
        let is_plain = steps.keys.is_empty() && steps.sort.is_empty() && !steps.rollup && !steps.distinct;
        if is_plain && !steps.is_buffered && !steps.has_windows {
            return None;
        }
        let mut leaves =
            Leaves::of(steps.rows, steps.conditions, &self.tables, &|part| self.is_never_true(part));
        let mut fixed = fixed_columns(steps.conditions);
        // A column of a derived table that is merged is the one that it is made of.
        for id in &mut fixed {
            while let Some(of) = self.merged(steps, *id).and_then(Expr::as_column) {
                *id = of;
            }
        }
        // MySQL reads the row of a table whose unique key is fixed before it plans the rest.
        leaves.nodes.retain(|(leaf, is_inner)| {
            let is_one_row = match leaf {
                Logical::Scan { .. } => self.is_one_row(leaf, &fixed),
                // The inner side of an outer join depends on the other.
                derived => !is_inner && has_one_row(derived),
            };
            if is_one_row {
                fixed.extend(leaf.output(&self.tables));
            }
            !is_one_row
        });
        leaves.find_buffers(&self.tables);
        leaves.nulls.iter().for_each(|leaf| fixed.extend(leaf.output(&self.tables)));
        let is_never_true = |condition: &Expr| self.is_never_true(condition);
        if steps.gives_no_row
            || !steps.has_windows && steps.having.iter().any(is_never_true)
            || self.has_no_row(steps.rows)
        {
            return None;
        }
        if steps.has_windows {
            // The rows of windows are kept, but not one that stands for all.
            let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
            let is_one_row = match steps.keys {
                [] => leaves.nodes.is_empty() || !aggregates.is_empty(),
                _ => !steps.rollup && self.unfixed_keys(steps, &fixed).is_empty(),
            };
            return (!is_one_row).then_some(ResultSource::Table);
        }
        let Some(&(first, _)) = leaves.nodes.first() else {
            // The rows above the one group.
            let is_ordered = !steps.sort.is_empty() || steps.distinct;
            return (steps.rollup && is_ordered).then_some(ResultSource::Finished);
        };
        let source = self.table_of_leaves(steps, output, &leaves, first, &fixed);
        let is_grouped = !steps.keys.is_empty();
        let has_aggregates = self.blocks.last().is_some_and(|block| !block.aggregates.is_empty());
        match source {
            // SQL_BUFFER_RESULT: the rows of the result are stored, unless there is one.
            None | Some(ResultSource::Rows) if steps.is_buffered && is_grouped => {
                Some(ResultSource::Finished)
            }
            None if steps.is_buffered && !has_aggregates => Some(ResultSource::Table),
            source => source,
        }
    }

    /// Whether an expression is the same in all rows, where these columns are.
    fn is_fixed(&self, steps: &Steps<'_>, expr: &Expr, fixed: &[ColumnId]) -> bool {
        expr.is_constant()
            || expr.as_column().is_some_and(|id| fixed.contains(&id))
            || self.is_fixed_below(steps, expr, fixed, &mut 0)
    }

    /// The keys of GROUP BY that are not the same in all rows.
    fn unfixed_keys(&self, steps: &Steps<'_>, fixed: &[ColumnId]) -> Vec<Expr> {
        let keys = steps.keys.iter().map(|(_, key)| match key.as_column() {
            Some(id) => self.output_expr(steps, id),
            None => key.clone(),
        });
        keys.filter(|key| !self.is_fixed(steps, key, fixed)).collect()
    }

    /// The table that groups, DISTINCT and ORDER BY need of rows of these tables, `first` being read first.
    fn table_of_leaves(
        &self,
        steps: &Steps<'_>,
        output: &[OutputColumn],
        leaves: &Leaves<'_>,
        first: &Logical,
        fixed: &[ColumnId],
    ) -> Option<ResultSource> {
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let is_fixed = |expr: &Expr| self.is_fixed(steps, expr, fixed);
        let mut groups = self.unfixed_keys(steps, fixed);
        let is_grouped = !steps.keys.is_empty();
        let is_sorted = steps.rollup || aggregates.iter().any(|(_, call)| needs_sorted_rows(call));
        let mut is_distinct = false;
        if steps.distinct && (is_grouped || aggregates.is_empty()) {
            let items: Vec<Expr> = output.iter().map(|column| self.output_expr(steps, column.id)).collect();
            let items: Vec<Expr> = items.into_iter().filter(|item| !is_fixed(item)).collect();
            if is_grouped {
                // Nothing if the items distinguish the groups.
                let is_apart = !steps.rollup && groups.iter().all(|key| items.contains(key));
                if !items.is_empty() && !is_apart {
                    return Some(self.table_of_distinct_groups(steps, output, leaves, first, &groups));
                }
            } else if !items.is_empty() && leaves.nodes.len() > 1 {
                return Some(ResultSource::Table);
            } else {
                // Of one table it is a GROUP BY of all items, and nothing if they hold a unique key.
                is_distinct = !items.is_empty() && !self.holds_unique_key(first, &items);
                if is_distinct {
                    groups = items;
                }
            }
        }
        let sort: Vec<Expr> = steps
            .sort
            .iter()
            .map(|key| {
                key.expr.as_column().map_or_else(|| key.expr.clone(), |id| self.output_expr(steps, id))
            })
            .filter(|key| !is_fixed(key))
            .collect();
        let sort_is_free = match groups.is_empty() {
            true => sort.is_empty(),
            false if is_distinct => sort.iter().all(|key| groups.contains(key)),
            false if steps.rollup => sort.is_empty(),
            false => groups.starts_with(&sort),
        };
        if is_grouped && groups.is_empty() && !steps.rollup {
            // One group has no order.
            return None;
        }
        if groups.is_empty() {
            let needed = !sort_is_free && !self.sorts_first(leaves, first, &sort);
            return needed.then_some(if is_grouped { ResultSource::Finished } else { ResultSource::Table });
        }
        let is_simple = self.gives_groups(leaves, first, &groups, is_sorted || steps.is_big);
        match (is_simple, sort_is_free) {
            (true, true) => None,
            (false, _) if !is_distinct && !is_sorted => Some(ResultSource::Groups),
            (false, true) if !is_distinct && !steps.rollup => Some(ResultSource::Rows),
            _ if is_grouped => Some(ResultSource::Finished),
            _ => Some(ResultSource::Table),
        }
    }

    /// The table of DISTINCT over groups that its items do not distinguish. Where it would hold columns and aggregates alone, the rows of
    /// the table of groups are made distinct as they are.
    fn table_of_distinct_groups(
        &self,
        steps: &Steps<'_>,
        output: &[OutputColumn],
        leaves: &Leaves<'_>,
        first: &Logical,
        groups: &[Expr],
    ) -> ResultSource {
        let aggregates = self.blocks.last().map_or(&[][..], |block| &block.aggregates);
        let is_sorted = aggregates.iter().any(|(_, call)| needs_sorted_rows(call));
        let is_computed = |column: &OutputColumn| {
            let item = steps.item(column.id).filter(|_| !self.materialized_columns.contains(&column.id));
            item.is_some() && self.holds_aggregate(column.id, item)
        };
        if steps.rollup {
            return ResultSource::Table;
        }
        match (is_sorted, output.iter().any(is_computed)) {
            (true, _) if !self.gives_groups(leaves, first, groups, is_sorted) => ResultSource::Finished,
            (false, false) => ResultSource::Groups,
            _ => ResultSource::Table,
        }
    }

    /// The rows come group by group: in the order of an index, or of a sort of the first table's rows.
    fn gives_groups(&self, leaves: &Leaves<'_>, first: &Logical, groups: &[Expr], is_sorted: bool) -> bool {
        let by_index = !leaves.is_buffered && self.is_index_order(first, groups);
        by_index || is_sorted && self.sorts_first(leaves, first, groups)
    }

    /// What computes a column of a derived table that is merged into the block.
    fn merged<'s>(&self, steps: &Steps<'s>, id: ColumnId) -> Option<&'s Expr> {
        let is_followed = steps.follows_merged && !self.materialized_columns.contains(&id);
        if is_followed { merged_item(steps.rows, id) } else { None }
    }

    /// As [`Expr::is_constant`], of columns of derived tables too that a constant computes, unless an outer join adds NULL to their rows.
    fn is_fixed_value(&self, steps: &Steps<'_>, item: &Expr) -> bool {
        if is_fixed_value(item) {
            return true;
        }
        self.is_fixed_below(steps, item, &[], &mut 0)
    }

    fn is_fixed_below(&self, steps: &Steps<'_>, item: &Expr, fixed: &[ColumnId], nodes: &mut usize) -> bool {
        /// Nodes of the largest expression that is followed.
        const NODES_MAX: usize = 256;
        *nodes += 1;
        match &item.kind {
            _ if *nodes > NODES_MAX => false,
            ExprKind::Column(id) if fixed.contains(id) => true,
            ExprKind::Column(id) => {
                self.merged(steps, *id).is_some_and(|of| self.is_fixed_below(steps, of, fixed, nodes))
                    && !is_padded(steps.rows, *id)
            }
            ExprKind::UserVar(_) | ExprKind::UserVarAssign { .. } | ExprKind::Subquery(_) => false,
            ExprKind::Call { function: FunctionId::IsNull, args, .. }
                if self.is_field(&args[0]) && !args[0].nullable =>
            {
                true
            }
            ExprKind::Call { function, .. } if !function.is_deterministic() => false,
            _ => {
                let mut is_fixed = true;
                item.each_child(&mut |child| {
                    is_fixed = is_fixed && self.is_fixed_below(steps, child, fixed, nodes);
                });
                is_fixed
            }
        }
    }

    /// What an output column or key stands for below the projection.
    fn output_expr(&self, steps: &Steps<'_>, id: ColumnId) -> Expr {
        let item = if self.materialized_columns.contains(&id) { None } else { steps.item(id) };
        item.cloned().unwrap_or_else(|| self.column_expr(id))
    }

    /// A sort of the first table's rows gives this order.
    fn sorts_first(&self, leaves: &Leaves<'_>, first: &Logical, keys: &[Expr]) -> bool {
        let columns = first.output(&self.tables);
        !leaves.is_buffered
            && keys.iter().all(|key| {
                let mut is_own = true;
                key.each_column(&mut |id| is_own &= columns.contains(&id));
                is_own && is_repeatable(key)
            })
    }

    fn scanned(&self, leaf: &Logical) -> Option<&BoundTable> {
        match leaf {
            Logical::Scan { table } => self.tables.get(table.0 as usize),
            _ => None,
        }
    }

    fn is_index_order(&self, leaf: &Logical, keys: &[Expr]) -> bool {
        let Some(table) = self.scanned(leaf) else { return false };
        let indexes = table.entry.definition.indexes.iter().enumerate();
        let is_allowed = |ordinal: usize| {
            table.indexes_of_groups.as_ref().is_none_or(|allowed| allowed.contains(&ordinal))
        };
        indexes.filter(|(ordinal, index)| index.visible && is_allowed(*ordinal)).any(|(_, index)| {
            keys.len() <= index.parts.len()
                && keys.iter().zip(&index.parts).all(|(key, part)| {
                    part.prefix_length.is_none() && key.as_column() == Some(table.column(part.column))
                })
        })
    }

    /// At most one row of the table has these values.
    fn is_one_row(&self, leaf: &Logical, fixed: &[ColumnId]) -> bool {
        let Some(table) = self.scanned(leaf) else { return false };
        table.entry.definition.indexes.iter().filter(|index| index.visible && index.is_unique()).any(
            |index| {
                index
                    .parts
                    .iter()
                    .all(|part| part.prefix_length.is_none() && fixed.contains(&table.column(part.column)))
            },
        )
    }

    fn holds_unique_key(&self, leaf: &Logical, items: &[Expr]) -> bool {
        let Some(table) = self.scanned(leaf) else { return false };
        let definition = &table.entry.definition;
        definition.indexes.iter().filter(|index| index.is_unique()).any(|index| {
            index.parts.iter().all(|part| {
                part.prefix_length.is_none()
                    && !definition.columns[part.column].nullable
                    && items.iter().any(|item| item.as_column() == Some(table.column(part.column)))
            })
        })
    }
}

impl Steps<'_> {
    /// What a column computes: an item of the block or of a derived table that is merged into it.
    pub(super) fn item(&self, id: ColumnId) -> Option<&Expr> {
        self.positions.find(self.items, id).or_else(|| merged_item(self.rows, id))
    }
}

/// The column of ENUM or SET whose text MIN and MAX compare; otherwise the argument itself.
fn text_of_member(argument: &Expr) -> &Expr {
    match argument.as_call() {
        Some((FunctionId::Cast, [of])) if matches!(of.data_type.kind, TypeKind::Enum | TypeKind::Set) => of,
        _ => argument,
    }
}

/// Gathers the columns of outer queries that the subqueries in `item` read below their aggregates or beside them.
fn read_by_aggregates(item: &Expr, out: &mut Vec<ColumnId>) {
    let _ = item.any(&mut |node| {
        if let ExprKind::Subquery(subquery) = &node.kind
            && !subquery.outer.is_empty()
            && !aggregates_of(&subquery.plan).is_empty()
        {
            let mut read = Vec::new();
            read_beside_aggregates(&subquery.plan, &mut read);
            out.extend(read.into_iter().filter(|id| subquery.outer.contains(id)));
        }
        false
    });
}

/// Whether a value may be NULL where these columns may.
fn may_be_null(expr: &Expr, is_nulled: &dyn Fn(ColumnId) -> bool) -> bool {
    use FunctionId as F;
    crate::progress::step();
    let may = |expr: &Expr| may_be_null(expr, is_nulled);
    match &expr.kind {
        _ if expr.nullable => true,
        ExprKind::Column(id) => is_nulled(*id),
        ExprKind::Call { function, args, .. } => match function {
            F::IsNull
            | F::IsNullFunction
            | F::IsTrue
            | F::IsFalse
            | F::NullSafeEq
            | F::Interval
            | F::Field => false,
            F::IfNull | F::Coalesce => args.iter().all(may),
            F::If => args[1..].iter().any(may),
            // What has no NULL of an argument that may be one never has.
            _ => !args.iter().any(|arg| arg.nullable) && args.iter().any(may),
        },
        ExprKind::Case { whens, otherwise } => {
            whens.iter().map(|(_, then)| then).chain(otherwise.as_deref()).any(may)
        }
        ExprKind::InList { expr, list } => may(expr) || list.iter().any(may),
        _ => false,
    }
}

/// The columns that the query block of `plan` reads, but not in HAVING and in what it aggregates.
fn read_beside_aggregates(plan: &Logical, out: &mut Vec<ColumnId>) {
    match plan {
        Logical::Filter { input, .. } | Logical::Sort { input, .. } | Logical::Limit { input, .. } => {
            read_beside_aggregates(input, out);
        }
        Logical::Project { input, items } => {
            items.iter().for_each(|(_, item)| read_columns(item, out));
            read_beside_aggregates(input, out);
        }
        Logical::Distinct { input, .. } => read_beside_aggregates(input, out),
        Logical::Aggregate { input, .. } => read_by_block(input, out),
        _ => {}
    }
}

/// The columns that WHERE and ON of a query block read; of queries in FROM those that aggregate.
fn read_by_block(plan: &Logical, out: &mut Vec<ColumnId>) {
    match plan {
        Logical::Filter { conditions, .. } | Logical::Join { conditions, .. } => {
            conditions.iter().for_each(|condition| read_columns(condition, out));
            plan.each_input(&mut |input| read_by_block(input, out));
        }
        derived if !aggregates_of(derived).is_empty() => read_beside_aggregates(derived, out),
        _ => {}
    }
}

fn read_columns(expr: &Expr, out: &mut Vec<ColumnId>) {
    read_by_aggregates(expr, out);
    let _ = expr.any(&mut |node| {
        out.extend(node.as_column());
        false
    });
}

/// The aggregates of the query block that this is the plan of.
pub(super) fn aggregates_of(plan: &Logical) -> &[(ColumnId, AggregateCall)] {
    match plan {
        Logical::Limit { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input, .. } => aggregates_of(input),
        Logical::Aggregate { calls, .. } => calls,
        _ => &[],
    }
}

/// The select list of the query block that this is the plan of.
fn items_of(plan: &Logical) -> Option<&[(ColumnId, Expr)]> {
    match plan {
        Logical::Limit { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Distinct { input, .. } => items_of(input),
        Logical::Project { items, .. } => Some(items),
        _ => None,
    }
}

/// A key of ROLLUP is a value, not the column that it may be.
fn make_computed(column: &mut OutputColumn) {
    let nowhere: Arc<str> = "".into();
    column.table = nowhere.clone();
    column.original_table = nowhere.clone();
    column.original_name = nowhere.clone();
    column.schema = nowhere;
    column.source = OutputSource::Value;
    column.flags = 0;
}

/// What MySQL computes once: a constant, or a subquery that reads nothing of the row.
fn is_fixed_value(item: &Expr) -> bool {
    match &item.kind {
        ExprKind::Subquery(subquery) => {
            matches!(subquery.kind, SubqueryKind::Scalar | SubqueryKind::Exists) && subquery.outer.is_empty()
        }
        _ => item.is_constant(),
    }
}

fn find(items: &[(ColumnId, Expr)], id: ColumnId) -> Option<&Expr> {
    items.iter().find(|(item, _)| *item == id).map(|(_, expr)| expr)
}

/// Whether a query in FROM has at most one row, whatever its tables hold: MySQL computes it before it plans the rest.
fn has_one_row(plan: &Logical) -> bool {
    match plan {
        Logical::OneRow | Logical::Empty { .. } => true,
        Logical::Values { rows, .. } => rows.len() <= 1,
        Logical::Limit { input, count, .. } => {
            let is_one =
                |count: &Expr| matches!(count.as_literal(), Some(Value::Int(0 | 1) | Value::UInt(0 | 1)));
            count.as_ref().is_some_and(is_one) || has_one_row(input)
        }
        Logical::Project { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Window { input, .. }
        | Logical::Sort { input, .. }
        | Logical::Distinct { input, .. } => has_one_row(input),
        Logical::Aggregate { keys, rollup, .. } => keys.is_empty() && !rollup,
        _ => false,
    }
}

/// Whether derived tables are merged into a FROM, with so few columns that these are worth to be followed.
pub(super) fn follows_merged(rows: &Logical) -> bool {
    const COLUMNS_MAX: usize = 1024;
    fn count(rows: &Logical) -> usize {
        match rows {
            Logical::Join { left, right, .. } => count(left) + count(right),
            Logical::Filter { input, .. } | Logical::Sort { input, .. } => count(input),
            Logical::Project { input, items } => items.len() + count(input),
            _ => 0,
        }
    }
    (1..=COLUMNS_MAX).contains(&count(rows))
}

/// What a column computes inside of FROM.
pub(super) fn merged_item(rows: &Logical, id: ColumnId) -> Option<&Expr> {
    match rows {
        Logical::Join { left, right, .. } => merged_item(left, id).or_else(|| merged_item(right, id)),
        Logical::Filter { input, .. } | Logical::Sort { input, .. } => merged_item(input, id),
        Logical::Project { input, items } => find(items, id).or_else(|| merged_item(input, id)),
        _ => None,
    }
}

/// Whether the column is computed in a derived table whose rows an outer join adds NULL to.
fn is_padded(rows: &Logical, id: ColumnId) -> bool {
    match rows {
        Logical::Join { kind, left, right, .. } => {
            is_padded(left, id)
                || is_padded(right, id)
                || *kind == JoinKind::Left && merged_item(right, id).is_some()
        }
        Logical::Filter { input, .. } | Logical::Sort { input, .. } => is_padded(input, id),
        _ => false,
    }
}

/// The tables of a FROM, in the order of their reading.
struct Leaves<'t> {
    /// Each with whether it is on the inner side of an outer join.
    nodes: Vec<(&'t Logical, bool)>,
    /// Columns of `a = b`.
    equalities: Vec<ColumnId>,
    /// Inner sides of outer joins whose rows never have a partner.
    nulls: Vec<&'t Logical>,
    /// Some table after the first has no index for its rows to be found by: all rows are joined at once, in no order.
    is_buffered: bool,
}

impl<'t> Leaves<'t> {
    fn of(
        rows: &'t Logical,
        conditions: &[Expr],
        tables: &[BoundTable],
        is_never_true: &dyn Fn(&Expr) -> bool,
    ) -> Leaves<'t> {
        let mut leaves = Leaves {
            nodes: Vec::new(),
            equalities: Vec::new(),
            nulls: Vec::new(),
            is_buffered: conditions.iter().any(|condition| is_semijoin(condition, tables)),
        };
        conditions.iter().for_each(|condition| equal_columns(condition, &mut leaves.equalities));
        leaves.collect(rows, false, tables, is_never_true);
        leaves
    }

    /// Notes whether a table after the first has no index for its rows to be found by.
    fn find_buffers(&mut self, tables: &[BoundTable]) {
        for (leaf, _) in self.nodes.iter().skip(1) {
            let is_key = |id: ColumnId| match leaf {
                Logical::Scan { table } => starts_index(&tables[table.0 as usize], id),
                // MySQL makes an index of it.
                other => other.output(tables).contains(&id),
            };
            self.is_buffered |= !self.equalities.iter().any(|id| is_key(*id));
        }
    }

    fn note_conditions(&mut self, conditions: &[Expr], tables: &[BoundTable]) {
        conditions.iter().for_each(|condition| equal_columns(condition, &mut self.equalities));
        self.is_buffered |= conditions.iter().any(|condition| is_semijoin(condition, tables));
    }

    fn collect(
        &mut self,
        rows: &'t Logical,
        is_inner: bool,
        tables: &[BoundTable],
        is_never_true: &dyn Fn(&Expr) -> bool,
    ) {
        match rows {
            Logical::OneRow => {}
            // A row of NULLs, whatever the table holds.
            Logical::Join { kind: JoinKind::Left, left, right, conditions }
                if conditions.iter().any(is_never_true) =>
            {
                self.nulls.push(right);
                self.collect(left, is_inner, tables, is_never_true);
            }
            Logical::Join { kind, left, right, conditions } => {
                self.note_conditions(conditions, tables);
                self.collect(left, is_inner, tables, is_never_true);
                self.collect(right, is_inner || *kind == JoinKind::Left, tables, is_never_true);
            }
            Logical::Filter { input, conditions } if is_merged(input) => {
                self.note_conditions(conditions, tables);
                self.collect(input, is_inner, tables, is_never_true);
            }
            Logical::Project { input, .. } | Logical::Sort { input, .. } if is_merged(input) => {
                self.collect(input, is_inner, tables, is_never_true);
            }
            leaf => self.nodes.push((leaf, is_inner)),
        }
    }
}

/// Whether the tables of a query in FROM are joined to those around it.
fn is_merged(input: &Logical) -> bool {
    match input {
        Logical::Scan { .. } | Logical::Join { .. } => true,
        Logical::Project { input, .. } | Logical::Filter { input, .. } | Logical::Sort { input, .. } => {
            is_merged(input)
        }
        _ => false,
    }
}

/// A subquery that MySQL joins, without an index for its rows to be found by.
fn is_semijoin(condition: &Expr, tables: &[BoundTable]) -> bool {
    let ExprKind::Subquery(subquery) = &condition.kind else { return false };
    match (&subquery.kind, &subquery.plan) {
        (SubqueryKind::Exists, _) => true,
        (SubqueryKind::Quantified { all: false, single: false, .. }, Logical::Scan { table }) => {
            !subquery.columns.iter().any(|id| starts_index(&tables[table.0 as usize], *id))
        }
        (SubqueryKind::Quantified { all, single, .. }, _) => !all && !single,
        _ => false,
    }
}

fn starts_index(table: &BoundTable, id: ColumnId) -> bool {
    let is_first = |index: &catalog::IndexDefinition| {
        index.parts.first().is_some_and(|part| table.column(part.column) == id)
    };
    table.entry.definition.indexes.iter().any(is_first)
}

/// Columns of `a = b`.
fn equal_columns(condition: &Expr, out: &mut Vec<ColumnId>) {
    if let Some((FunctionId::Eq | FunctionId::NullSafeEq, sides)) = condition.as_call() {
        out.extend(sides.iter().filter_map(Expr::as_column));
    }
}

/// Columns that WHERE makes equal to constants.
fn fixed_columns(conditions: &[Expr]) -> Vec<ColumnId> {
    let fixed = |condition: &Expr| match condition.as_call() {
        Some((FunctionId::Eq, [left, right])) if right.is_constant() => left.as_column(),
        Some((FunctionId::Eq, [left, right])) if left.is_constant() => right.as_column(),
        _ => None,
    };
    conditions.iter().filter_map(fixed).collect()
}

/// Aggregates that MySQL does not compute row by row in a temporary table.
fn needs_sorted_rows(call: &AggregateCall) -> bool {
    use AggregateFunction as F;
    call.distinct || matches!(call.function, F::GroupConcat | F::JsonArrayAgg | F::JsonObjectAgg)
}
