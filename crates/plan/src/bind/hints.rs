//! Optimizer hints: what they name, and what the planner makes of them.
//!
//! Blocks are noted while they are bound and hints are resolved behind the last one, since a hint may name a block that stands behind it.
//!
//! Invariants:
//! 1. A hint changes how rows are found and never which: what it cannot have is left out.
//! 2. A statement without hints notes nothing.

use std::sync::Arc;

use syntax::ast::{InsertSource, Span, Statement};
use syntax::hints::{Hint, HintKind, HintTable, Hints};

use super::Binder;
use super::scope::{ScopeColumns, ScopeTable};
use crate::error::PlanError;
use crate::expr::ColumnId;
use crate::logical::{JoinOrderHint, JoinOrderPlace, TableIndex};
use crate::progress;

/// Bytes of the text that the warning of a wrong hint shows.
const NEAR_BYTES_MAX: usize = 80;

/// A query block of a text with hints.
pub(super) struct HintedBlock {
    /// Where it stands in the text.
    start: u32,
    tables: Vec<HintedTable>,
    hints: Hints,
    /// QB_NAME.
    name: Option<String>,
}

impl HintedBlock {
    /// Whether QB_NAME gave it this name.
    fn is_named(&self, name: &str) -> bool {
        self.name.as_deref().is_some_and(|of| catalog::names_equal(of, name))
    }
}

/// A table of a block.
struct HintedTable {
    alias: Arc<str>,
    /// Its number, unless it is a derived table or a view.
    index: Option<TableIndex>,
    columns: Vec<ColumnId>,
}

/// Whether a statement may have hints that are looked at. Those of rows that are written out are not, and their text may be long.
pub(super) fn may_be_in(statement: &Statement<'_>, text: &[u8]) -> bool {
    if let Statement::Insert(insert) = statement
        && !matches!(insert.source, InsertSource::Query(_))
    {
        return false;
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

fn ignored(hint: &Hint) -> PlanError {
    let block = hint.block.as_ref().map_or_else(String::new, |block| format!("@`{block}` "));
    let table = |table: &HintTable| match &table.block {
        Some(block) => format!("`{}`@`{block}`", table.name),
        None => format!("`{}`", table.name),
    };
    let tables: Vec<String> = hint.tables.iter().map(table).collect();
    let names = || {
        let names: Vec<String> = hint.names.iter().map(|name| format!("`{name}`")).collect();
        names.join(",")
    };
    let inside = match hint.kind {
        HintKind::Index if hint.names.is_empty() => format!("{block}{} ", tables.join(",")),
        HintKind::Index => format!("{block}{}  {}", tables.join(","), names()),
        HintKind::Table => format!("{block}{} ", tables.join(",")),
        HintKind::FixedOrder => block,
        HintKind::JoinOrder => format!("{block} {}", tables.join(",")),
        HintKind::Strategy => format!("{block}{}", hint.names.join(", ")),
        HintKind::BlockName => names(),
        HintKind::Time | HintKind::ResourceGroup => hint.names.join(","),
        HintKind::Variable => hint.names.join("="),
    };
    let behind = if hint.kind == HintKind::Variable { " " } else { "" };
    *PlanError::new(
        3126,
        format!("Hint {}({inside}){behind} is ignored as conflicting/duplicated", hint.name),
    )
}

/// What a hint decides, if it is one of two opposites.
fn decides(hint: &Hint) -> &'static str {
    hint.name.strip_prefix("NO_").unwrap_or(hint.name)
}

/// Whether the indexes of a hint are for all purposes, or for one.
fn is_of_indexes(hint: &Hint) -> bool {
    matches!(decides(hint), "INDEX" | "JOIN_INDEX" | "GROUP_INDEX" | "ORDER_INDEX")
}

/// Whether `later` says again, or otherwise, what `earlier` of the same block says.
fn conflicts(earlier: &Hint, later: &Hint) -> bool {
    let same_block = earlier.block == later.block;
    match (earlier.kind, later.kind) {
        (HintKind::Index, HintKind::Index) => {
            let same_table = same_block && earlier.tables == later.tables;
            let same_index = earlier.names.is_empty()
                || later.names.is_empty()
                || earlier.names.iter().any(|name| later.names.contains(name));
            let (a, b) = (decides(earlier), decides(later));
            let of_indexes = is_of_indexes(earlier) && is_of_indexes(later);
            same_table
                && (a == b && (same_index || of_indexes) || of_indexes && (a == "INDEX" || b == "INDEX"))
        }
        (HintKind::Table, HintKind::Table) => {
            let same_tables = earlier.tables.is_empty() && later.tables.is_empty()
                || earlier.tables.iter().any(|table| later.tables.contains(table));
            same_block && same_tables && decides(earlier) == decides(later)
        }
        (HintKind::FixedOrder, HintKind::FixedOrder | HintKind::JoinOrder)
        | (HintKind::JoinOrder, HintKind::FixedOrder) => same_block,
        (HintKind::JoinOrder, HintKind::JoinOrder) => {
            same_block && earlier.name == later.name && later.name != "JOIN_ORDER"
        }
        (HintKind::Strategy, HintKind::Strategy) => same_block,
        (HintKind::BlockName, HintKind::BlockName)
        | (HintKind::Time, HintKind::Time)
        | (HintKind::ResourceGroup, HintKind::ResourceGroup) => true,
        (HintKind::Variable, HintKind::Variable) => {
            earlier.names.first().zip(later.names.first()).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
        }
        _ => false,
    }
}

fn is_again(earlier: &Hint, later: &Hint) -> bool {
    progress::step();
    conflicts(earlier, later)
}

impl Binder<'_> {
    /// Notes the block whose FROM was bound, with its hints. Whether they fix the order of its joins.
    #[cold]
    pub(super) fn note_hints(&mut self, start: u32, span: Option<Span>) -> bool {
        // Of views the text is another, and 9.7 ignores their hints.
        if self.in_view() {
            return false;
        }
        let mut hints = span.map(|span| syntax::hints::parse(self.text, span)).unwrap_or_default();
        if let Some(at) = hints.error {
            self.warn_of_text(at);
        }
        let mut kept: Vec<Hint> = Vec::new();
        for hint in std::mem::take(&mut hints.list) {
            let is_taken = hint.kind == HintKind::BlockName
                && hint
                    .names
                    .first()
                    .is_some_and(|name| self.hinted_blocks.iter().any(|block| block.is_named(name)));
            if is_taken || kept.iter().any(|earlier| is_again(earlier, &hint)) {
                self.warnings.push(ignored(&hint));
            } else {
                kept.push(hint);
            }
        }
        let name = kept.iter().find(|hint| hint.kind == HintKind::BlockName);
        let name = name.and_then(|hint| hint.names.first().cloned());
        let is_fixed = kept
            .iter()
            .any(|hint| hint.kind == HintKind::FixedOrder && (hint.block.is_none() || hint.block == name));
        hints.list = kept;
        let tables = self.block().tables.iter().map(hinted_table).collect();
        self.hinted_blocks.push(HintedBlock { start, tables, hints, name });
        is_fixed
    }

    fn warn_of_text(&mut self, at: usize) {
        // A hint that ends too early is wrong where the comment ends.
        let rest = self.text[at.min(self.text.len())..].trim_ascii_start();
        let rest = if rest.starts_with(b"*/") { &rest[..2] } else { rest };
        let line = 1 + self.text[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count();
        let near = String::from_utf8_lossy(&rest[..rest.len().min(NEAR_BYTES_MAX)]).into_owned();
        let text = format!("Optimizer hint syntax error near '{near}' at line {line}");
        self.warnings.push(*PlanError::new(1064, text));
    }

    /// Lets the hints count, and warns of names that mean nothing.
    pub(super) fn resolve_hints(&mut self) -> Vec<JoinOrderHint> {
        let mut orders = Vec::new();
        if self.hinted_blocks.is_empty() {
            return orders;
        }
        let mut blocks = std::mem::take(&mut self.hinted_blocks);
        blocks.sort_by_key(|block| block.start);
        for (own, block) in blocks.iter().enumerate() {
            for hint in &block.hints.list {
                let Some(at) = self.hinted_block(&blocks, hint.block.as_deref(), own, hint) else { continue };
                match hint.kind {
                    HintKind::Index => self.index_hint(&blocks, at, hint),
                    HintKind::Table => {
                        for table in &hint.tables {
                            self.hinted_table(&blocks, at, table, hint);
                        }
                    }
                    HintKind::JoinOrder => {
                        let mut tables = Vec::new();
                        for table in &hint.tables {
                            let found = self.hinted_table(&blocks, at, table, hint);
                            tables.extend(found.map(|table| table.columns.clone()));
                        }
                        // An unknown name makes 9.7 leave the hint out.
                        if tables.len() == hint.tables.len() && !tables.is_empty() {
                            let place = match hint.name {
                                "JOIN_PREFIX" => JoinOrderPlace::First,
                                "JOIN_SUFFIX" => JoinOrderPlace::Last,
                                _ => JoinOrderPlace::Anywhere,
                            };
                            let block =
                                blocks[at].tables.iter().flat_map(|table| table.columns.iter().copied());
                            orders.push(JoinOrderHint { place, tables, block: block.collect() });
                        }
                    }
                    _ => {}
                }
            }
        }
        orders
    }

    /// The block that a hint names; `own`: the one it stands in.
    fn hinted_block(
        &mut self,
        blocks: &[HintedBlock],
        name: Option<&str>,
        own: usize,
        hint: &Hint,
    ) -> Option<usize> {
        let Some(name) = name else { return Some(own) };
        progress::step();
        let named = blocks.iter().position(|block| block.is_named(name));
        let numbered = || {
            let number: usize = name.strip_prefix("select#")?.parse().ok()?;
            number.checked_sub(1).filter(|&at| at < blocks.len())
        };
        let found = named.or_else(numbered);
        if found.is_none() {
            let text = format!("Query block name `{name}` is not found for {} hint", hint.name);
            self.warnings.push(*PlanError::new(3127, text));
        }
        found
    }

    fn hinted_table<'b>(
        &mut self,
        blocks: &'b [HintedBlock],
        at: usize,
        table: &HintTable,
        hint: &Hint,
    ) -> Option<&'b HintedTable> {
        let at = self.hinted_block(blocks, table.block.as_deref(), at, hint)?;
        let found = blocks[at].tables.iter().find(|other| *other.alias == *table.name);
        if found.is_none() {
            let place = if hint.kind == HintKind::JoinOrder {
                match &table.block {
                    Some(block) => format!("`{}`@`{block}`", table.name),
                    None => format!("`{}`", table.name),
                }
            } else {
                shown_table(blocks, at, table)
            };
            self.unresolved(&place, hint);
            for index in &hint.names {
                self.unresolved(&format!("{place} `{index}`"), hint);
            }
        }
        found
    }

    fn unresolved(&mut self, what: &str, hint: &Hint) {
        let text = format!("Unresolved name {what} for {} hint", hint.name);
        self.warnings.push(*PlanError::new(3128, text));
    }

    fn index_hint(&mut self, blocks: &[HintedBlock], at: usize, hint: &Hint) {
        let Some(table) = hint.tables.first() else { return };
        let Some(found) = self.hinted_table(blocks, at, table, hint) else { return };
        let Some(index) = found.index else { return };
        let place = shown_table(blocks, at, table);
        let definition = Arc::clone(&self.tables[index.0 as usize].entry.definition);
        let mut named = Vec::new();
        for name in &hint.names {
            match definition.index_ordinal(name) {
                Some(ordinal) => named.push(ordinal),
                None => self.unresolved(&format!("{place} `{name}`"), hint),
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
            target.indexes_of_groups = Some(allowed);
        }
    }
}

/// `` `t`@`block` ``
fn shown_table(blocks: &[HintedBlock], at: usize, table: &HintTable) -> String {
    let block = match (&table.block, &blocks[at].name) {
        (Some(block), _) => block.clone(),
        (None, Some(name)) => name.clone(),
        (None, None) => format!("select#{}", at + 1),
    };
    format!("`{}`@`{block}`", table.name)
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
