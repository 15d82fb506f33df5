//! Optimizer hints: what they name, and what the planner makes of them.
//!
//! Blocks are noted while they are bound and hints are read behind the last one, in three steps whose warnings come in this order, as in
//! MySQL: the text of all hints; what they name of blocks and which of them say the same again, block by block from the innermost outwards
//! (so that a hint names blocks inside its own, and not those around it); the tables and indexes of each block.
//!
//! Invariants:
//! 1. A hint changes how rows are found and never which: what it cannot have is left out.
//! 2. A statement without hints notes nothing.

use std::collections::HashSet;
use std::sync::Arc;

use syntax::ast::{InsertSource, Query, QueryBody, Span, Statement};
use syntax::hints::{Hint, HintKind, HintTable, Hints};

use super::Binder;
use super::scope::{ScopeColumns, ScopeTable};
use crate::error::PlanError;
use crate::expr::ColumnId;
use crate::logical::{JoinOrderHint, JoinOrderPlace, NO_BLOCK, PlanHints, SubqueryHint, TableIndex};
use crate::progress;

/// Bytes of the text that the warning of a wrong hint shows.
const NEAR_BYTES_MAX: usize = 80;

/// Resource groups that there are.
const RESOURCE_GROUPS: &[&str] = &["USR_default", "SYS_default"];

/// The text of a change of rows, which its subqueries are parts of.
pub(super) const WHOLE: Span = Span { start: 0, end: u32::MAX };

/// A query block of a text with hints.
pub(super) struct HintedBlock {
    /// Where it stands in the text, behind the references to the CTEs that it is part of: blocks are numbered in this order.
    place: Vec<u32>,
    /// Where its text ends.
    end: u32,
    tables: Vec<HintedTable>,
    hints: Hints,
    /// QB_NAME.
    name: Option<String>,
    /// It is, or is the first of, the queries of a SELECT statement.
    is_top: bool,
}

impl HintedBlock {
    /// Whether QB_NAME gave it this name.
    fn is_named(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|of| catalog::names_equal(of, name))
    }

    fn start(&self) -> u32 {
        self.place.last().copied().unwrap_or(NO_BLOCK)
    }
}

/// A table of a block.
struct HintedTable {
    alias: Arc<str>,
    /// Its number, unless it is a derived table or a view.
    index: Option<TableIndex>,
    columns: Vec<ColumnId>,
}

/// A hint that counts for a block.
struct Counted<'h> {
    hint: &'h Hint,
    /// Those of its tables, or of its indexes, that it counts for: an earlier hint says it of the others.
    parts: Vec<usize>,
}

/// Whether a statement may have hints that are looked at. Text that is rows written out may be long.
pub(super) fn may_be_in(statement: &Statement<'_>, text: &[u8]) -> bool {
    if let Statement::Insert(insert) = statement
        && !matches!(insert.source, InsertSource::Query(_))
    {
        return insert.hints.is_some();
    }
    // What stands between two looks is shorter than the beginning of a hint.
    let mut at = 2;
    while let Some(&byte) = text.get(at) {
        at += match byte {
            b'+' if text[at - 2..at] == *b"/*" => return true,
            b'*' => 1,
            b'/' => 2,
            _ => 3,
        };
    }
    false
}

/// `` `name` ``
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

fn quoted_list(names: &[String], between: &str) -> String {
    names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(between)
}

/// `` `t`@`block` ``, as it is written.
fn written_table(table: &HintTable) -> String {
    match &table.block {
        Some(block) => format!("{}@{}", quoted(&table.name), quoted(block)),
        None => quoted(&table.name),
    }
}

/// What a hint says, as MySQL prints it. `part`: of this table or index alone.
fn shown(hint: &Hint, part: Option<usize>) -> String {
    let block = hint.block.as_ref().map_or_else(String::new, |block| format!("@{}", quoted(block)));
    let tables = || hint.tables.iter().map(written_table).collect::<Vec<_>>().join(",");
    let inside = match (hint.kind, part) {
        (HintKind::Index, Some(part)) if is_of_keys(hint) => {
            format!("{} {} ", tables(), hint.names.get(part).map_or_else(String::new, |name| quoted(name)))
        }
        (HintKind::Index, _) if hint.names.is_empty() => format!("{} ", tables()),
        (HintKind::Index, _) => format!("{}  {}", tables(), quoted_list(&hint.names, ", ")),
        (HintKind::Table, Some(part)) => {
            format!("{} ", hint.tables.get(part).map_or_else(String::new, written_table))
        }
        (HintKind::Table | HintKind::FixedOrder, _) => format!("{block} "),
        (HintKind::JoinOrder, _) => format!("{block} {}", tables()),
        (HintKind::Strategy, _) if hint.names.is_empty() => format!("{block} "),
        (HintKind::Strategy, _) => format!("{block}  {}", hint.names.join(", ")),
        (HintKind::BlockName, _) => quoted_list(&hint.names, ","),
        (HintKind::Time | HintKind::ResourceGroup, _) => hint.names.join(","),
        (HintKind::Variable, _) => {
            let value = hint.value.as_ref().map_or("", |value| value.text());
            format!("{}={value}", hint.names.join(","))
        }
    };
    format!("{}({inside})", hint.name)
}

fn ignored(hint: &Hint, part: Option<usize>) -> PlanError {
    let behind = if hint.kind == HintKind::Variable { " " } else { "" };
    let text = format!("Hint {}{behind} is ignored as conflicting/duplicated", shown(hint, part));
    *PlanError::new(3126, text)
}

/// What a hint decides, if it is one of two opposites.
fn decides(hint: &Hint) -> &'static str {
    hint.name.strip_prefix("NO_").unwrap_or(hint.name)
}

/// Whether each index that a hint names is about itself, and not all of them together.
fn is_of_keys(hint: &Hint) -> bool {
    matches!(decides(hint), "MRR" | "ICP" | "RANGE_OPTIMIZATION")
}

/// The tables or indexes of a hint that count each by itself; none: it counts as a whole.
fn parts_of(hint: &Hint) -> Vec<Option<usize>> {
    let count = match hint.kind {
        HintKind::Table => hint.tables.len(),
        HintKind::Index if is_of_keys(hint) => hint.names.len(),
        _ => 0,
    };
    if count == 0 { vec![None] } else { (0..count).map(Some).collect() }
}

/// Whether `later` says again, or otherwise, what `earlier` of the same block says. `part`: of this part of it.
fn conflicts(earlier: &Counted<'_>, later: &Hint, part: Option<usize>) -> bool {
    let first = earlier.hint;
    match (first.kind, later.kind) {
        (HintKind::Index, HintKind::Index) => {
            let (a, b) = (decides(first), decides(later));
            let same_table = first.tables.first().map(|table| &table.name)
                == later.tables.first().map(|table| &table.name);
            if !same_table {
                return false;
            }
            if is_of_keys(first) {
                let counts = |name: &String| earlier.parts.iter().any(|&at| first.names[at] == *name);
                let says_it = |at: usize| first.names.is_empty() || counts(&later.names[at]);
                return a == b && part.map_or(first.names.is_empty(), says_it);
            }
            let is_of_indexes = |of| matches!(of, "INDEX" | "JOIN_INDEX" | "GROUP_INDEX" | "ORDER_INDEX");
            let overlaps =
                later.names.is_empty() || first.names.iter().any(|name| later.names.contains(name));
            let is_for_all = a == "INDEX" || b == "INDEX";
            a == b || is_of_indexes(a) && is_of_indexes(b) && is_for_all && overlaps
        }
        (HintKind::Table, HintKind::Table) => {
            let name = part.map(|at| &later.tables[at].name);
            let counts = |name: &String| earlier.parts.iter().any(|&at| first.tables[at].name == *name);
            let says_it = match name {
                Some(name) => first.tables.is_empty() || counts(name),
                None => first.tables.is_empty(),
            };
            says_it && decides(first) == decides(later)
        }
        (HintKind::FixedOrder, HintKind::FixedOrder | HintKind::JoinOrder)
        | (HintKind::JoinOrder, HintKind::FixedOrder)
        | (HintKind::Strategy, HintKind::Strategy)
        | (HintKind::BlockName, HintKind::BlockName)
        | (HintKind::Time, HintKind::Time) => true,
        (HintKind::JoinOrder, HintKind::JoinOrder) => first.name == later.name && later.name != "JOIN_ORDER",
        _ => false,
    }
}

impl Binder<'_> {
    /// Notes the block whose FROM was bound, with its hints. `text`: its own. Whether they fix the order of its joins.
    #[cold]
    pub(super) fn note_hints(&mut self, text: Span, span: Option<Span>) -> bool {
        // Of views the text is another, and their hints are not kept.
        if self.in_view() {
            return false;
        }
        let hints = span.map(|span| syntax::hints::parse(self.text, span)).unwrap_or_default();
        let own_name = hints.list.iter().find(|hint| hint.kind == HintKind::BlockName);
        let own_name = own_name.and_then(|hint| hint.names.first().cloned());
        let is_own = |hint: &&Hint| hint.block.is_none() || hint.block == own_name;
        let first_order = hints
            .list
            .iter()
            .filter(is_own)
            .find(|hint| matches!(hint.kind, HintKind::FixedOrder | HintKind::JoinOrder));
        let is_fixed = first_order.is_some_and(|hint| hint.kind == HintKind::FixedOrder);
        let tables = self.block().tables.iter().map(hinted_table).collect();
        let place = self.hinted_references.iter().copied().chain([text.start]).collect();
        let is_top = self.blocks.len() == 1
            && !self.is_change
            && self.hinted_references.is_empty()
            && !self.hinted_blocks.iter().any(|block| block.is_top);
        self.hinted_blocks.push(HintedBlock { place, end: text.end, tables, hints, name: None, is_top });
        is_fixed
    }

    /// Adds the hints behind INSERT to those of its first query, behind which MySQL reads them; `table`: rows are written out, which go there.
    #[cold]
    pub(super) fn note_hints_of_insert(&mut self, span: Option<Span>, table: Option<TableIndex>) {
        let Some(span) = span else { return };
        let hints = syntax::hints::parse(self.text, span);
        let first = self.hinted_blocks.iter_mut().min_by(|a, b| a.place.cmp(&b.place));
        match (table, first) {
            (None, Some(first)) => {
                let Hints { list, too_long, error } = hints;
                first.hints.list.extend(list);
                first.hints.too_long.extend(too_long);
                first.hints.error = first.hints.error.or(error);
            }
            (Some(index), _) => {
                let bound = &self.tables[index.0 as usize];
                let columns = (0..bound.width()).map(|ordinal| bound.column(ordinal)).collect();
                let table = HintedTable { alias: Arc::clone(&bound.alias), index: Some(index), columns };
                let (place, tables, end) = (vec![0], vec![table], u32::MAX);
                self.hinted_blocks.push(HintedBlock { place, end, tables, hints, name: None, is_top: false });
            }
            (None, None) => {}
        }
    }

    /// By what hints name the block of a subquery: where its SELECT begins.
    pub(super) fn hinted_block_of(&self, query: &Query<'_>) -> u32 {
        if !self.may_have_hints || self.in_view() {
            return NO_BLOCK;
        }
        match query.body {
            QueryBody::Select(select) => select.span.start,
            QueryBody::Nested(query) => self.hinted_block_of(query),
            QueryBody::Values(_) | QueryBody::Table(_) | QueryBody::SetOp { .. } => NO_BLOCK,
        }
    }

    fn warn_of_text(&self, what: &str, at: usize) -> PlanError {
        // A hint that ends too early is wrong where the comment ends.
        let rest = self.text[at.min(self.text.len())..].trim_ascii_start();
        let rest = if rest.starts_with(b"*/") { &rest[..2] } else { rest };
        let line = 1 + self.text[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count();
        let near = String::from_utf8_lossy(&rest[..rest.len().min(NEAR_BYTES_MAX)]).into_owned();
        *PlanError::new(1064, format!("{what} near '{near}' at line {line}"))
    }

    /// Lets the hints count, and warns of what is wrong with them.
    pub(super) fn resolve_hints(&mut self) -> PlanHints {
        let mut found = PlanHints::default();
        if self.hinted_blocks.is_empty() {
            return found;
        }
        let mut blocks = std::mem::take(&mut self.hinted_blocks);
        blocks.sort_by(|a, b| a.place.cmp(&b.place));
        let mut warnings = Vec::new();
        let mut in_text: Vec<&HintedBlock> = blocks.iter().collect();
        in_text.sort_by_key(|block| block.start());
        in_text.dedup_by_key(|block| block.start());
        for block in in_text {
            let too_long = block.hints.too_long.iter().map(|&at| ("Unsupported MAX_EXECUTION_TIME", at));
            let wrong = block.hints.error.map(|at| ("Optimizer hint syntax error", at));
            warnings.extend(too_long.chain(wrong).map(|(what, at)| self.warn_of_text(what, at)));
        }
        let lists: Vec<Vec<Hint>> =
            blocks.iter_mut().map(|block| std::mem::take(&mut block.hints.list)).collect();
        let counted = name_blocks(&mut blocks, &lists, &mut warnings);
        // Before what binding itself warns of.
        self.warnings.splice(0..0, warnings);
        self.resolve_tables(&blocks, &counted, &mut found);
        // The session sets them for each execution, and plans under them.
        let is_variable = |counted: &Counted<'_>| counted.hint.kind == HintKind::Variable;
        self.volatile |= counted.iter().flatten().any(is_variable);
        found
    }

    fn resolve_tables(
        &mut self,
        blocks: &[HintedBlock],
        counted: &[Vec<Counted<'_>>],
        found: &mut PlanHints,
    ) {
        for (at, counted) in counted.iter().enumerate() {
            for Counted { hint, parts } in counted {
                progress::step();
                match hint.kind {
                    HintKind::Index => self.index_hint(blocks, at, hint, parts),
                    HintKind::Table if hint.tables.is_empty() => {
                        blocks[at].tables.iter().for_each(|table| table_hint(hint, table, found));
                    }
                    HintKind::Table => {
                        for &part in parts {
                            if let Some(table) = self.hinted_table(blocks, at, &hint.tables[part], hint) {
                                table_hint(hint, table, found);
                            }
                        }
                    }
                    HintKind::Strategy => {
                        found.subqueries.extend(subquery_hint(hint).map(|hint| (blocks[at].start(), hint)));
                    }
                    _ => {}
                }
            }
        }
        for (at, counted) in counted.iter().enumerate() {
            counted.iter().for_each(|counted| self.join_order_hint(blocks, at, counted.hint, found));
        }
    }

    fn join_order_hint(&mut self, blocks: &[HintedBlock], at: usize, hint: &Hint, found: &mut PlanHints) {
        let block = || blocks[at].tables.iter().flat_map(|table| table.columns.iter().copied()).collect();
        match hint.kind {
            HintKind::JoinOrder => {
                let mut tables = Vec::new();
                for table in &hint.tables {
                    let of = match &table.block {
                        // It was found when the hint was named.
                        Some(name) => block_named(blocks, name).unwrap_or(at),
                        None => at,
                    };
                    let joined = blocks[of].tables.iter().find(|other| *other.alias == *table.name);
                    match joined.filter(|table| self.is_joined(table)) {
                        Some(table) => tables.push(table.columns.clone()),
                        None => self.unresolved(&written_table(table), hint),
                    }
                }
                // An unknown name makes 9.7 leave the hint out.
                if tables.len() == hint.tables.len() && !tables.is_empty() {
                    let place = match hint.name {
                        "JOIN_PREFIX" => JoinOrderPlace::First,
                        "JOIN_SUFFIX" => JoinOrderPlace::Last,
                        _ => JoinOrderPlace::Anywhere,
                    };
                    found.join_orders.push(JoinOrderHint { place, tables, block: block() });
                }
            }
            HintKind::FixedOrder => {
                let tables = blocks[at].tables.iter().map(|table| table.columns.clone()).collect();
                found.join_orders.push(JoinOrderHint {
                    place: JoinOrderPlace::First,
                    tables,
                    block: block(),
                });
            }
            _ => {}
        }
    }

    /// Whether it is a table of its block's joins: the tables of a derived table that is merged are that instead of it.
    fn is_joined(&self, table: &HintedTable) -> bool {
        table.index.is_some() || table.columns.iter().any(|id| self.materialized_columns.contains(id))
    }

    fn hinted_table<'b>(
        &mut self,
        blocks: &'b [HintedBlock],
        at: usize,
        table: &HintTable,
        hint: &Hint,
    ) -> Option<&'b HintedTable> {
        let found = blocks[at].tables.iter().find(|other| *other.alias == *table.name);
        if found.is_none() {
            let place = shown_table(blocks, at, table);
            self.unresolved(&place, hint);
            for index in &hint.names {
                self.unresolved(&format!("{place} {}", quoted(index)), hint);
            }
        }
        found
    }

    fn unresolved(&mut self, what: &str, hint: &Hint) {
        let text = format!("Unresolved name {what} for {} hint", hint.name);
        self.warnings.push(*PlanError::new(3128, text));
    }

    fn index_hint(&mut self, blocks: &[HintedBlock], at: usize, hint: &Hint, parts: &[usize]) {
        let Some(table) = hint.tables.first() else { return };
        let Some(found) = self.hinted_table(blocks, at, table, hint) else { return };
        let place = shown_table(blocks, at, table);
        let named_parts =
            hint.names.iter().enumerate().filter(|(at, _)| !is_of_keys(hint) || parts.contains(at));
        let Some(index) = found.index else {
            // It has no indexes yet that could be named.
            named_parts.for_each(|(_, name)| self.unresolved(&format!("{place} {}", quoted(name)), hint));
            return;
        };
        let definition = Arc::clone(&self.tables[index.0 as usize].entry.definition);
        let mut named = Vec::new();
        for (_, name) in named_parts {
            match definition.index_ordinal(name) {
                Some(ordinal) => named.push(ordinal),
                None => self.unresolved(&format!("{place} {}", quoted(name)), hint),
            }
        }
        if named.is_empty() && !hint.names.is_empty() {
            return;
        }
        let all: Vec<usize> =
            (0..definition.indexes.len()).filter(|&index| definition.indexes[index].visible).collect();
        let is_no = hint.name.starts_with("NO_");
        let allowed: Vec<usize> = match (is_no, named.is_empty()) {
            (false, true) => all,
            (false, false) => named,
            (true, true) => Vec::new(),
            (true, false) => all.into_iter().filter(|index| !named.contains(index)).collect(),
        };
        let target = &mut self.tables[index.0 as usize];
        let purpose = decides(hint);
        if matches!(purpose, "INDEX" | "JOIN_INDEX") {
            // USE, FORCE and IGNORE INDEX of the table do not count beside it.
            target.force_index = !is_no;
            target.allowed_indexes = Some(allowed.clone());
        }
        if matches!(purpose, "INDEX" | "GROUP_INDEX") {
            target.indexes_of_groups = Some(allowed.clone());
        }
        match purpose {
            "ORDER_INDEX" => target.hints.get_or_insert_default().order_indexes = Some(allowed),
            // Those that it does not name may be read in ranges.
            "RANGE_OPTIMIZATION" => {
                let without = (0..definition.indexes.len()).filter(|index| !allowed.contains(index));
                target.hints.get_or_insert_default().without_ranges.extend(without);
            }
            "ICP" => target.hints.get_or_insert_default().reads_first = true,
            _ => {}
        }
    }
}

/// What a hint about a table asks of joins and of derived tables.
fn table_hint(hint: &Hint, table: &HintedTable, found: &mut PlanHints) {
    match hint.name {
        "BNL" => found.hash_keys.push((table.columns.clone(), true)),
        "NO_BNL" => found.hash_keys.push((table.columns.clone(), false)),
        "NO_DERIVED_CONDITION_PUSHDOWN" if table.index.is_none() => found.closed.extend(&table.columns),
        _ => {}
    }
}

/// What SEMIJOIN, NO_SEMIJOIN and SUBQUERY ask of a subquery. Of NO_SEMIJOIN with strategies the others are left.
fn subquery_hint(hint: &Hint) -> Option<SubqueryHint> {
    let joins = match hint.name {
        "SEMIJOIN" => Some(true),
        "NO_SEMIJOIN" if !hint.names.is_empty() => return None,
        _ => Some(false),
    };
    let keeps_set = match hint.name {
        "SUBQUERY" => hint.names.first().map(|strategy| strategy == "MATERIALIZATION"),
        _ => None,
    };
    Some(SubqueryHint { joins, keeps_set })
}

/// The block of this name, or of this number.
fn block_named(blocks: &[HintedBlock], name: &str) -> Option<usize> {
    let numbered = || {
        let number: usize = name.strip_prefix("select#")?.parse().ok()?;
        number.checked_sub(1).filter(|&at| at < blocks.len())
    };
    blocks.iter().position(|block| block.is_named(name)).or_else(numbered)
}

/// Gives blocks their names and finds those that hints are about, from the innermost block outwards: which hints count.
fn name_blocks<'h>(
    blocks: &mut [HintedBlock],
    lists: &'h [Vec<Hint>],
    warnings: &mut Vec<PlanError>,
) -> Vec<Vec<Counted<'h>>> {
    let mut counted: Vec<Vec<Counted<'h>>> = blocks.iter().map(|_| Vec::new()).collect();
    let mut variables: HashSet<String> = HashSet::new();
    let mut order: Vec<usize> = (0..blocks.len()).collect();
    // Where a CTE is referenced twice its first copy is named first.
    order.sort_by_key(|&at| (blocks[at].end, at));
    for own in order {
        let mut groups = Vec::new();
        for hint in &lists[own] {
            let Some((block, of_tables)) = blocks_of(hint, own, blocks, warnings) else { continue };
            match hint.kind {
                HintKind::BlockName => {
                    let name = hint.names.first().map_or("", String::as_str);
                    if blocks[own].name.is_some() || block_named(blocks, name).is_some() {
                        warnings.push(ignored(hint, None));
                    } else {
                        blocks[own].name = Some(name.to_owned());
                    }
                    continue;
                }
                HintKind::Time if !blocks[own].is_top => {
                    let text =
                        "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
                    warnings.push(*PlanError::new(3125, text));
                    continue;
                }
                HintKind::ResourceGroup => {
                    groups.extend(hint.names.first());
                    continue;
                }
                HintKind::Variable => {
                    let name = hint.names.first().map_or("", String::as_str);
                    progress::step();
                    if !variables.insert(name.to_ascii_lowercase()) {
                        warnings.push(ignored(hint, None));
                    } else {
                        counted[own].push(Counted { hint, parts: Vec::new() });
                    }
                    continue;
                }
                HintKind::Index if hint.name == "INDEX_MERGE" && hint.names.len() == 1 => {
                    let text = format!("Invalid number of arguments for hint {}", shown(hint, None));
                    warnings.push(*PlanError::new(3614, text));
                    continue;
                }
                _ => {}
            }
            let mut new: Vec<(usize, Vec<usize>)> = Vec::new();
            for part in parts_of(hint) {
                let of_table = match hint.kind {
                    HintKind::Table => part.and_then(|at| of_tables.get(at)),
                    HintKind::Index => of_tables.first(),
                    _ => None,
                };
                let block = of_table.copied().unwrap_or(block);
                let is_said = |earlier: &Counted<'_>| {
                    progress::step();
                    conflicts(earlier, hint, part)
                };
                if counted[block].iter().any(is_said) {
                    warnings.push(ignored(hint, part));
                    continue;
                }
                match new.iter_mut().find(|(of, _)| *of == block) {
                    Some((_, parts)) => parts.extend(part),
                    None => new.push((block, part.into_iter().collect())),
                }
            }
            for (block, parts) in new {
                counted[block].push(Counted { hint, parts });
            }
        }
        if let Some(group) = groups.last().filter(|_| own == 0)
            && !RESOURCE_GROUPS.iter().any(|known| known.eq_ignore_ascii_case(group))
        {
            let text = format!("Resource Group '{group}' does not exist.");
            warnings.push(*PlanError::new(3651, text));
        }
    }
    counted
}

/// The block that a hint is about, and those of its tables. None: one is not known.
fn blocks_of(
    hint: &Hint,
    own: usize,
    blocks: &[HintedBlock],
    warnings: &mut Vec<PlanError>,
) -> Option<(usize, Vec<usize>)> {
    let mut named = |name: &String| {
        progress::step();
        let found = block_named(blocks, name);
        if found.is_none() {
            let text = format!("Query block name {} is not found for {} hint", quoted(name), hint.name);
            warnings.push(*PlanError::new(3127, text));
        }
        found
    };
    let block = hint.block.as_ref().map_or(Some(own), &mut named)?;
    let mut of_tables = Vec::with_capacity(hint.tables.len());
    for table in &hint.tables {
        of_tables.push(table.block.as_ref().map_or(Some(block), &mut named)?);
    }
    Some((block, of_tables))
}

/// `` `t`@`block` ``
fn shown_table(blocks: &[HintedBlock], at: usize, table: &HintTable) -> String {
    let block = match &blocks[at].name {
        Some(name) => name.clone(),
        None => format!("select#{}", at + 1),
    };
    format!("{}@{}", quoted(&table.name), quoted(&block))
}

fn hinted_table(table: &ScopeTable) -> HintedTable {
    let (index, columns) = match &table.columns {
        ScopeColumns::Base { first, definition, table } => {
            let columns = (0..definition.columns.len() as u32).map(|ordinal| ColumnId(first.0 + ordinal));
            (Some(*table), columns.collect())
        }
        ScopeColumns::Derived { columns, .. } => (None, columns.iter().map(|(_, id)| *id).collect()),
    };
    HintedTable { alias: Arc::clone(&table.alias), index, columns }
}
