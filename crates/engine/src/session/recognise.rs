//! Plans of statements that came as text.
//!
//! ```text
//! text -> digest (one lexer pass) -> template found: literals to values -> run the plan
//!                                 -> not found: parse, bind with the literals as parameters, keep the plan, run it
//! ```
//!
//! Texts that differ only in literals share one plan, whose parameters the literals are. Sharing must not be seen, so a
//! plan is shared only if every literal stands where its value decides nothing about the plan: compared with a column
//! of its own kind, in `LIMIT`, as a value to store. Every other statement is remembered as one that is planned each
//! time. The literals become exactly the values that binding makes of them, and [`LocalSession::plan_is_current`] makes
//! the plan anew when their classes, the catalog, the default database, the SQL mode or the collation changed.
//!
//! The cache belongs to a session: no lock, and nothing of one client is seen by another.

use catalog::TableKind;
use hashbrown::HashMap;
use service::{Outcome, Reply, SqlError};
use syntax::ast::{
    Assignment, BinaryOp, Cell, CellKind, Expr, ExprKind, InsertSource, JoinCondition, Literal, NumberKind,
    QueryBody, Statement, TableRef, ValuesRows,
};
use syntax::{DigestScratch, Digested};
use types::collation::CollationId;
use types::{TypeKind, Value, ValueRef};

use super::plans::CachedPlan;
use super::prepared::recycle;
use super::{LocalSession, MEMORY_KEPT_BYTES_MAX};
use crate::variables::definition::known;
use crate::variables::sql_mode::SqlModes;

/// Most templates one session remembers.
const ENTRIES_MAX: usize = 256;
/// Most bytes they may take, plans counted as by [`Entry::bytes`].
const BYTES_MAX: usize = 4 << 20;
/// What a plan is taken to need, and what it needs more for each byte of a template (columns, literals).
const PLAN_BYTES: usize = 8 << 10;
const PLAN_BYTES_PER_TEMPLATE_BYTE: usize = 4;
/// Longest template that is remembered: a list of as many columns as a table may have, each with an alias of its own.
const TEMPLATE_BYTES_MAX: usize = 512 << 10;
/// Most literals of a statement that is remembered: two for each column of the widest row.
const LITERALS_MAX: usize = 8192;
/// Several rows with more literals are planned each time: a bulk INSERT gains nothing.
const ROWS_LITERALS_MAX: usize = 128;
/// A larger template, or one of more literals, is kept when it comes for the second time: lists (`IN`) of ever other lengths are as
/// many templates, and would push out what comes again.
const KEPT_AT_ONCE_BYTES_MAX: usize = 16 << 10;
const KEPT_AT_ONCE_LITERALS_MAX: usize = 128;
/// How many of those a session knows to have come.
const CAME_MAX: usize = 16;

/// What is known about a template.
#[derive(Debug)]
struct Entry {
    template: Box<[u8]>,
    /// `None`: planned each time.
    plan: Option<CachedPlan>,
    used: u64,
}

impl Entry {
    fn bytes(&self) -> usize {
        let plan = PLAN_BYTES + PLAN_BYTES_PER_TEMPLATE_BYTE * self.template.len();
        self.template.len() + size_of::<Self>() + if self.plan.is_some() { plan } else { 0 }
    }
}

/// The templates of a session, the least recently used goes first.
#[derive(Debug, Default)]
struct Templates {
    entries: HashMap<u64, Entry, foldhash::fast::FixedState>,
    bytes: usize,
    clock: u64,
    /// Keys of large templates that came and were not kept; the oldest is overwritten.
    came: [u64; CAME_MAX],
    came_next: usize,
}

impl Templates {
    /// What is known about a template; one with the same hash and another text is not it.
    fn find(&mut self, key: u64, template: &[u8]) -> Option<&mut Entry> {
        self.clock += 1;
        let entry = self.entries.get_mut(&key).filter(|entry| *entry.template == *template)?;
        entry.used = self.clock;
        Some(entry)
    }

    /// Whether a template that is not remembered should be: a small one at once, a large one if it came before.
    fn is_worth_keeping(&mut self, key: u64, digested: &Digested<'_>) -> bool {
        if digested.literals.len() <= KEPT_AT_ONCE_LITERALS_MAX
            && digested.template.len() <= KEPT_AT_ONCE_BYTES_MAX
        {
            return true;
        }
        if self.came.contains(&key) {
            return true;
        }
        self.came[self.came_next] = key;
        self.came_next = (self.came_next + 1) % CAME_MAX;
        false
    }

    fn put(&mut self, key: u64, template: &[u8], plan: Option<CachedPlan>) {
        self.remove(key);
        self.clock += 1;
        let entry = Entry { template: template.into(), plan, used: self.clock };
        let bytes = entry.bytes();
        while !self.entries.is_empty()
            && (self.entries.len() >= ENTRIES_MAX || self.bytes + bytes > BYTES_MAX)
        {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(&key, _)| key);
            self.remove(oldest.unwrap_or_default());
        }
        self.bytes += bytes;
        self.entries.insert(key, entry);
    }

    fn remove(&mut self, key: u64) -> Option<Entry> {
        let entry = self.entries.remove(&key)?;
        self.bytes -= entry.bytes();
        Some(entry)
    }
}

/// The plans of a session's texts, and memory to use again.
#[derive(Default)]
pub(crate) struct PlanCache {
    scratch: DigestScratch,
    unescaped: UnescapedTexts,
    /// Empty between statements.
    values: Vec<ValueRef<'static>>,
    templates: Templates,
}

/// What looking a text up came to.
pub(crate) enum Recognised {
    /// It ran; where the next statement begins, if there is one.
    Ran(Option<usize>),
    /// It is to be parsed and planned, and its plan kept under this key.
    Keep(u64),
    /// It is to be parsed.
    Parse,
}

/// What a literal is, as far as the column it is compared with must fit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LiteralKind {
    Integer,
    Decimal,
    Float,
    Text,
}

impl LiteralKind {
    /// Whether comparing a column of this type with such a literal compares their values as they are.
    fn fits(self, kind: TypeKind) -> bool {
        use TypeKind as K;
        match self {
            Self::Integer => matches!(
                kind,
                K::TinyInt | K::SmallInt | K::MediumInt | K::Int | K::BigInt | K::Decimal | K::Double
            ),
            Self::Decimal => matches!(kind, K::Decimal | K::Double),
            Self::Float => kind == K::Double,
            Self::Text => {
                matches!(kind, K::Char | K::VarChar | K::TinyText | K::Text | K::MediumText | K::LongText)
            }
        }
    }
}

/// The places of literals in a statement that a shared plan allows.
struct Places<'a, 'd> {
    digested: &'d Digested<'d>,
    /// Literals found in such places.
    count: usize,
    /// Columns that literals are compared with.
    compared: Vec<(&'a [u8], LiteralKind)>,
}

impl<'a> Places<'a, '_> {
    /// The kind of a literal that is a parameter.
    fn literal(&self, expr: &Expr<'_>) -> Option<LiteralKind> {
        let kind = match expr.kind {
            ExprKind::Literal(Literal::Number(NumberKind::Integer, _)) => LiteralKind::Integer,
            ExprKind::Literal(Literal::Number(NumberKind::Decimal, _)) => LiteralKind::Decimal,
            ExprKind::Literal(Literal::Number(NumberKind::Float, _)) => LiteralKind::Float,
            ExprKind::Literal(Literal::String { charset: None, .. }) => LiteralKind::Text,
            _ => return None,
        };
        self.digested.find(expr.span.start).map(|_| kind)
    }

    fn pair(&mut self, column: &Expr<'a>, literal: &Expr<'a>) {
        if let (ExprKind::Column(column), Some(kind)) = (column.kind, self.literal(literal)) {
            self.count += 1;
            self.compared.push((column.name.text, kind));
        }
    }

    /// A condition. What is not mentioned here leaves its literals uncounted, and the statement unshared.
    fn condition(&mut self, expr: &Expr<'a>) {
        match expr.kind {
            ExprKind::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.condition(left);
                self.condition(right);
            }
            ExprKind::Compare { left, right, .. } => {
                self.pair(left, right);
                self.pair(right, left);
            }
            ExprKind::Between { expr, low, high, .. } => {
                self.pair(expr, low);
                self.pair(expr, high);
            }
            ExprKind::InList { expr, list, .. } => {
                for item in list {
                    self.pair(expr, item);
                }
            }
            _ => {}
        }
    }

    fn limit(&mut self, expr: &Expr<'a>) {
        if self.literal(expr) == Some(LiteralKind::Integer) {
            self.count += 1;
        }
    }

    fn assignments(&mut self, assignments: &[Assignment<'a>]) {
        for assignment in assignments {
            match assignment.value.kind {
                ExprKind::Binary { op: BinaryOp::Add | BinaryOp::Sub, left, right } => {
                    if self.literal(right) == Some(LiteralKind::Integer) {
                        self.pair(left, right);
                    }
                }
                _ => self.count += usize::from(self.literal(&assignment.value).is_some()),
            }
        }
    }

    fn tables(&mut self, tables: &[TableRef<'a>]) {
        for table in tables {
            match table {
                TableRef::Join(join) => {
                    // Joins lean to the left as deep as the parser allows.
                    self.tables(&[join.left, join.right]);
                    if let JoinCondition::On(condition) = join.condition {
                        self.condition(condition);
                    }
                }
                TableRef::List(list) => self.tables(list),
                TableRef::Table(_) | TableRef::Derived { .. } | TableRef::JsonTable(_) => {}
            }
        }
    }

    /// Values to store. A negative number outside rows of literals has its sign in the template.
    fn values(&mut self, values: &ValuesRows<'_>) {
        let rows = self.digested.rows.is_some();
        for cell in values.cells {
            let fits = match cell.kind {
                CellKind::Null
                | CellKind::True
                | CellKind::False
                | CellKind::Integer
                | CellKind::Decimal
                | CellKind::Float
                | CellKind::String
                | CellKind::StringEscaped => true,
                CellKind::NegInteger | CellKind::NegDecimal | CellKind::NegFloat => rows,
                CellKind::Default | CellKind::Hex | CellKind::Param | CellKind::Expr => false,
            };
            self.count += usize::from(fits && self.digested.find_cell(cell.start).is_some());
        }
    }

    fn statement(&mut self, statement: &Statement<'a>) -> bool {
        match statement {
            Statement::Query(query) => {
                let QueryBody::Select(select) = query.body else { return false };
                if query.with.is_some() || query.into.is_some() || select.from.is_empty() {
                    return false;
                }
                self.tables(select.from);
                select.where_.iter().for_each(|condition| self.condition(condition));
                if let Some(limit) = &query.limit {
                    self.limit(&limit.count);
                    limit.offset.iter().for_each(|offset| self.limit(offset));
                }
            }
            Statement::Insert(insert) => {
                let InsertSource::Values(values) = insert.source else { return false };
                if values.ragged_row.is_some() {
                    return false;
                }
                self.values(values);
                self.assignments(insert.on_duplicate);
            }
            Statement::Update(update) => {
                if update.with.is_some() {
                    return false;
                }
                self.tables(update.tables);
                self.assignments(update.assignments);
                update.where_.iter().for_each(|condition| self.condition(condition));
                update.limit.iter().for_each(|limit| self.limit(limit));
            }
            Statement::Delete(delete) => {
                if delete.with.is_some() {
                    return false;
                }
                self.tables(delete.from);
                delete.where_.iter().for_each(|condition| self.condition(condition));
                delete.limit.iter().for_each(|limit| self.limit(limit));
            }
            _ => return false,
        }
        self.count == self.digested.literals.len()
    }
}

/// Whether the columns that literals are compared with are of the literals' kinds, in whichever table they are.
fn columns_fit(plan: &CachedPlan, compared: &[(&[u8], LiteralKind)]) -> bool {
    let plan = plan.prepared.plan();
    if plan.volatile || plan.tables.is_empty() {
        return false;
    }
    let tables = || plan.tables.iter().map(|table| &table.entry.definition);
    tables().all(|table| table.kind == TableKind::Base)
        && compared.iter().all(|(name, literal)| {
            let mut known = false;
            let columns = tables().flat_map(|table| &table.columns);
            columns.filter(|column| column.name.as_bytes().eq_ignore_ascii_case(name)).all(|column| {
                known = true;
                literal.fits(column.data_type.kind)
            }) && known
        })
}

/// The texts of a statement's escaped literals, in order, without their escapes.
#[derive(Default)]
struct UnescapedTexts {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

impl UnescapedTexts {
    fn read(&mut self, cells: &[Cell], sql: &[u8], backslash: bool) -> Option<Unescaped<'_>> {
        self.bytes.clear();
        self.lengths.clear();
        for cell in cells.iter().filter(|cell| cell.kind == CellKind::StringEscaped) {
            let text = sql.get(cell.start as usize..(cell.start + cell.len) as usize)?;
            let quote = *sql.get((cell.start as usize).checked_sub(1)?)?;
            let before = self.bytes.len();
            syntax::unescape(text, quote, backslash, &mut self.bytes);
            self.lengths.push(self.bytes.len() - before);
        }
        Some(Unescaped { rest: &self.bytes, lengths: self.lengths.iter() })
    }
}

/// Gives them out.
struct Unescaped<'a> {
    rest: &'a [u8],
    lengths: std::slice::Iter<'a, usize>,
}

impl<'a> Unescaped<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let (text, rest) = self.rest.split_at_checked(*self.lengths.next()?)?;
        self.rest = rest;
        Some(text)
    }
}

/// The value binding makes of a literal; `None` for what is no value (DEFAULT) or depends on its place (hexadecimals).
fn value_of<'a>(
    cell: &Cell,
    sql: &'a [u8],
    unescaped: &mut Unescaped<'a>,
    collation: CollationId,
) -> Option<ValueRef<'a>> {
    let text = sql.get(cell.start as usize..(cell.start + cell.len) as usize)?;
    let number = |kind, negative| match plan::bind::number_value(kind, text, negative).ok()? {
        Value::Int(value) => Some(ValueRef::Int(value)),
        Value::UInt(value) => Some(ValueRef::UInt(value)),
        Value::Double(value) => Some(ValueRef::Double(value)),
        Value::Decimal(value) => Some(ValueRef::Decimal(value)),
        _ => None,
    };
    match cell.kind {
        CellKind::Null => Some(ValueRef::Null),
        CellKind::True => Some(ValueRef::Int(1)),
        CellKind::False => Some(ValueRef::Int(0)),
        CellKind::Integer => number(NumberKind::Integer, false),
        CellKind::Decimal => number(NumberKind::Decimal, false),
        CellKind::Float => number(NumberKind::Float, false),
        CellKind::NegInteger => number(NumberKind::Integer, true),
        CellKind::NegDecimal => number(NumberKind::Decimal, true),
        CellKind::NegFloat => number(NumberKind::Float, true),
        // Text that another character set writes otherwise is no slice of the statement.
        CellKind::String | CellKind::StringEscaped
            if collation.charset().needs_conversion() && !text.is_ascii() =>
        {
            None
        }
        CellKind::String => Some(ValueRef::Bytes { bytes: text, collation }),
        CellKind::StringEscaped => Some(ValueRef::Bytes { bytes: unescaped.next()?, collation }),
        CellKind::Default | CellKind::Hex | CellKind::Param | CellKind::Expr => None,
    }
}

impl LocalSession {
    /// Runs the first statement of `sql` if its plan is known.
    pub(super) fn run_recognised(
        &mut self,
        sql: &[u8],
        reply: &mut Reply<'_>,
    ) -> Result<Recognised, Box<SqlError>> {
        // The cache leaves the session while its memory is in use.
        let Some(mut cache) = self.plan_cache.take() else { return Ok(Recognised::Parse) };
        let recognised = self.recognise(sql, &mut cache, reply);
        cache.scratch.keep_at_most(MEMORY_KEPT_BYTES_MAX);
        if cache.unescaped.bytes.capacity() > MEMORY_KEPT_BYTES_MAX {
            cache.unescaped = UnescapedTexts::default();
        }
        self.plan_cache = Some(cache);
        recognised
    }

    fn recognise(
        &mut self,
        sql: &[u8],
        cache: &mut PlanCache,
        reply: &mut Reply<'_>,
    ) -> Result<Recognised, Box<SqlError>> {
        let PlanCache { scratch, unescaped, values: kept, templates } = cache;
        let Some(digested) = syntax::digest(sql, self.settings.sql_mode.for_syntax(), scratch) else {
            return Ok(Recognised::Parse);
        };
        let several_rows = digested.rows.is_some_and(|rows| rows.row_count > 1);
        if digested.param_count > 0
            || digested.literals.len() > if several_rows { ROWS_LITERALS_MAX } else { LITERALS_MAX }
            || digested.template.len() > TEMPLATE_BYTES_MAX
            || digested.more && !self.multi_statements
        {
            return Ok(Recognised::Parse);
        }
        let key = self.key_of(&digested);
        let Some(entry) = templates.find(key, digested.template) else {
            let keep = templates.is_worth_keeping(key, &digested);
            return Ok(if keep { Recognised::Keep(key) } else { Recognised::Parse });
        };
        let mut values = recycle(std::mem::take(kept));
        if entry.plan.is_none() || !self.take_values(sql, &digested, unescaped, &mut values) {
            return Ok(Recognised::Parse);
        }
        let Some(plan) = entry.plan.as_mut().filter(|plan| self.plan_is_current(plan, &values)) else {
            return Ok(Recognised::Keep(key));
        };
        self.core.counters.plan_cache_hits.increment();
        self.diagnostics.clear();
        self.reload_account();
        reply.more_results(digested.more);
        let outcome = self.run_cached(plan, &values, false, reply);
        *kept = recycle(values);
        outcome?;
        Ok(Recognised::Ran(digested.more.then_some(digested.end)))
    }

    /// What a template is kept under: with its hash all that its plan depends on and that is not compared later.
    fn key_of(&self, digested: &Digested<'_>) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        let mut hasher = foldhash::fast::FixedState::default().build_hasher();
        hasher.write_u64(digested.hash);
        hasher.write_u32(digested.rows.map_or(0, |rows| rows.row_count));
        hasher.write_u64(self.variables.unsigned(known::div_precision_increment()));
        hasher.finish()
    }

    /// Appends the values of the literals; false if one has none.
    fn take_values<'v>(
        &self,
        sql: &'v [u8],
        digested: &Digested<'_>,
        unescaped: &'v mut UnescapedTexts,
        values: &mut Vec<ValueRef<'v>>,
    ) -> bool {
        let backslash = !self.settings.sql_mode.has(SqlModes::NO_BACKSLASH_ESCAPES);
        let collation = self.settings.connection_collation;
        let Some(mut unescaped) = unescaped.read(digested.literals, sql, backslash) else { return false };
        let literals = digested.literals.iter();
        values.extend(literals.map_while(|cell| value_of(cell, sql, &mut unescaped, collation)));
        values.len() == digested.literals.len()
    }

    /// Plans a parsed statement so that others share its plan, runs it and keeps the plan under `key`; false if nothing
    /// ran, because it cannot be shared.
    pub(super) fn run_shared(
        &mut self,
        statement: &Statement<'_>,
        sql: &[u8],
        key: u64,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let Some(mut cache) = self.plan_cache.take() else { return Ok(false) };
        let outcome = self.share(statement, sql, key, &mut cache, reply);
        self.plan_cache = Some(cache);
        outcome
    }

    fn share(
        &mut self,
        statement: &Statement<'_>,
        sql: &[u8],
        key: u64,
        cache: &mut PlanCache,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let PlanCache { scratch, unescaped, templates, .. } = cache;
        let Some(digested) = syntax::digest(sql, self.settings.sql_mode.for_syntax(), scratch) else {
            return Ok(false);
        };
        self.core.counters.plan_cache_misses.increment();
        let mut places = Places { digested: &digested, count: 0, compared: Vec::new() };
        let mut plan = None;
        let mut values = Vec::new();
        if places.statement(statement) && self.take_values(sql, &digested, unescaped, &mut values) {
            // A statement in error is planned again without parameters: its error must be the same as ever.
            plan = self
                .plan_shared(statement, sql, &values, &digested)
                .ok()
                .filter(|plan| columns_fit(plan, &places.compared));
        }
        let Some(mut plan) = plan else {
            templates.put(key, digested.template, None);
            return Ok(false);
        };
        self.diagnostics.clear();
        self.reload_account();
        let outcome: Outcome = self.run_cached(&mut plan, &values, false, reply).map(|_| ());
        templates.put(key, digested.template, Some(plan));
        outcome.map(|()| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_template_goes() {
        let mut templates = Templates::default();
        for key in 0..ENTRIES_MAX as u64 {
            templates.put(key, &key.to_le_bytes(), None);
        }
        assert!(templates.find(0, &0u64.to_le_bytes()).is_some());
        templates.put(9999, b"new", None);
        assert_eq!(templates.entries.len(), ENTRIES_MAX);
        assert!(templates.find(0, &0u64.to_le_bytes()).is_some(), "it was used since");
        assert!(templates.find(1, &1u64.to_le_bytes()).is_none());
        assert!(templates.find(9999, b"new").is_some());
        assert!(templates.find(9999, b"old").is_none(), "the same hash is not the same text");
    }

    #[test]
    fn a_large_template_is_kept_when_it_comes_again() {
        let mut templates = Templates::default();
        let mut scratch = DigestScratch::default();
        let mut keeps = |key: u64, sql: String| {
            let digested = syntax::digest(sql.as_bytes(), syntax::SqlMode::default(), &mut scratch).unwrap();
            templates.is_worth_keeping(key, &digested)
        };
        let list = |count: usize| format!("SELECT a FROM t WHERE id IN (1{})", ", 1".repeat(count - 1));
        assert!(keeps(1, list(KEPT_AT_ONCE_LITERALS_MAX)));
        for key in 0..3 * CAME_MAX as u64 {
            assert!(!keeps(100 + key, list(KEPT_AT_ONCE_LITERALS_MAX + 1)), "the first time");
        }
        assert!(keeps(100 + 3 * CAME_MAX as u64 - 1, list(KEPT_AT_ONCE_LITERALS_MAX + 1)));
        assert!(!keeps(100, list(KEPT_AT_ONCE_LITERALS_MAX + 1)), "that was long ago");
        let wide: String =
            (0..400).map(|n| format!("e.column_number_{n} AS entity_column_number_{n}_0_, ")).collect();
        let wide = format!("SELECT {wide} 1 FROM t e");
        assert!(!keeps(2, wide.clone()));
        assert!(keeps(2, wide));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut templates = Templates::default();
        let long = vec![7u8; BYTES_MAX / 4];
        for key in 0..20 {
            templates.put(key, &long, None);
            assert!(templates.bytes <= BYTES_MAX);
        }
        assert_eq!(templates.entries.len(), 3);
        templates.put(19, b"short", None);
        assert!(templates.bytes < BYTES_MAX / 4 * 3);
        for key in 0..20 {
            templates.remove(key);
        }
        assert_eq!(templates.bytes, 0);
    }

    #[test]
    fn literals_become_what_binding_makes_of_them() {
        let sql =
            br"INSERT INTO t VALUES (1, -2, 18446744073709551615, -1.50, 2e3, 'a''b\n', 'x', NULL, TRUE)";
        let mut scratch = DigestScratch::default();
        let digested = syntax::digest(sql, syntax::SqlMode::default(), &mut scratch).unwrap();
        let collation = CollationId::UTF8MB4_0900_AI_CI;
        let mut texts = UnescapedTexts::default();
        let mut unescaped = texts.read(digested.literals, sql, true).unwrap();
        let literals = digested.literals.iter();
        let values: Vec<ValueRef<'_>> =
            literals.map(|cell| value_of(cell, sql, &mut unescaped, collation).unwrap()).collect();
        assert_eq!(
            format!("{values:?}"),
            format!(
                "{:?}",
                [
                    ValueRef::Int(1),
                    ValueRef::Int(-2),
                    ValueRef::UInt(u64::MAX),
                    ValueRef::Decimal(types::Decimal::parse(b"-1.50").value),
                    ValueRef::Double(2000.0),
                    ValueRef::Bytes { bytes: b"a'b\n", collation },
                    ValueRef::Bytes { bytes: b"x", collation },
                    ValueRef::Null,
                    ValueRef::Int(1),
                ]
            )
        );
    }

    /// Whether a statement's literals all stand where a shared plan allows them.
    fn is_shared(sql: &str) -> bool {
        let mut scratch = DigestScratch::default();
        let digested = syntax::digest(sql.as_bytes(), syntax::SqlMode::default(), &mut scratch).unwrap();
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, syntax::SqlMode::default()).unwrap();
        Places { digested: &digested, count: 0, compared: Vec::new() }.statement(&parsed.statement)
    }

    #[test]
    fn only_values_are_shared() {
        for sql in [
            "SELECT a FROM t WHERE id = 5",
            "SELECT a, 1 FROM t WHERE id BETWEEN 1 AND 9 AND c IN ('a', 'b') ORDER BY 1 LIMIT 3, 4",
            "SELECT t.a FROM t JOIN u ON t.a = u.a AND u.b > 3 WHERE 7 < t.id",
            "INSERT INTO t VALUES (1, -2, NULL), (3, 4, 'x')",
            "INSERT INTO t (a, b) VALUES (1, NOW()) ON DUPLICATE KEY UPDATE a = a + 1, b = 'x'",
            "UPDATE t SET k = k + 1, c = 'x' WHERE id = 1 LIMIT 1",
            "DELETE FROM t WHERE id = 1",
        ] {
            assert!(is_shared(sql), "{sql}");
        }
        for sql in [
            "SELECT a FROM t WHERE id = -5",
            "SELECT a FROM t WHERE id + 1 = 5",
            "SELECT a FROM t WHERE c LIKE 'a%'",
            "SELECT a FROM t WHERE LEFT(c, 2) = 'ab'",
            "SELECT a FROM t WHERE id IN (SELECT b FROM u WHERE c = 3)",
            "SELECT a FROM t GROUP BY a HAVING COUNT(*) > 2",
            "INSERT INTO t VALUES (DEFAULT, 1)",
            "INSERT INTO t VALUES (0x41, 1)",
            "INSERT INTO t VALUES (-1, NOW())",
            "INSERT INTO t SELECT a FROM u WHERE b = 3",
            "UPDATE t SET k = k / 3",
            "SELECT 1",
        ] {
            assert!(!is_shared(sql), "{sql}");
        }
    }
}
