//! Plans of statements that came as text.
//!
//! ```text
//! text -> digest (one lexer pass) -> normalized statement found: literals to values -> run the plan
//!                                 -> not found: parse, bind with the literals as parameters, keep the plan, run it
//! ```
//!
//! Texts that differ only in literals share one plan, whose parameters the literals are. Sharing must not be seen, so a
//! plan is shared only if every literal stands where its value decides nothing about the plan: compared with a column
//! of its own kind, in `LIMIT`, as a value to store. Every other statement is remembered as one that is planned each
//! time. The literals become exactly the values that binding makes of them, and [`plan_fit::is_current`] has
//! the plan made again when their classes, or anything else it was made for, changed.
//!
//! What a session knows of its texts is its own: no lock. What it does not know it asks [`crate::plans::shared`] once.

use std::sync::Arc;

use catalog::TableKind;
use plan::PhysicalPlan;
use service::Reply;
use syntax::ast::{
    Assignment, BinaryOp, Cell, CellKind, Expr, ExprKind, InsertSource, JoinCondition, Literal, NumberKind,
    QueryBody, Span, Statement, TableRef, ValuesRows,
};
use syntax::{DigestScratch, Digested};
use types::collation::CollationId;
use types::{TypeKind, Value, ValueRef};

use super::Session;
use super::attempt::Attempt;
use super::memory::{self, TextMemory};
use super::plan_fit;
use super::run;
use super::unescaped::{Unescaped, UnescapedTexts};
use crate::backend::Backend;
use crate::plans::PlanHandle;
use crate::plans::digest_cache::DigestCache;
use crate::plans::shared::{Known, NORMALIZED_BYTES_MAX};
use crate::variables::settings::Settings;
use crate::variables::sql_mode::SqlModes;

/// Most literals of a statement that is remembered: two for each column of the widest row.
const LITERALS_MAX: usize = 8192;
/// Several rows with more literals are planned each time: a bulk INSERT gains nothing.
const ROWS_LITERALS_MAX: usize = 128;
/// What a session knows of its texts.
pub(crate) type SessionDigestCache<B> = DigestCache<PlanHandle<B>>;

/// What looking a text up came to.
pub(crate) enum DigestLookup {
    /// It ran; where the next statement begins, if there is one.
    Ran(Option<usize>),
    /// It is to be parsed and planned, and its plan kept.
    Keep,
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

    /// Values to store. A negative number outside rows of literals has its sign in the normalized statement.
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
fn columns_fit(plan: &PhysicalPlan, compared: &[(&[u8], LiteralKind)]) -> bool {
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

/// Whether a text is one whose plan may be kept.
#[inline]
fn is_remembered(digested: &Digested<'_>) -> bool {
    let several_rows = digested.rows.is_some_and(|rows| rows.row_count > 1);
    digested.param_count == 0
        && digested.literals.len() <= if several_rows { ROWS_LITERALS_MAX } else { LITERALS_MAX }
        && digested.normalized.len() <= NORMALIZED_BYTES_MAX
}

/// The value binding makes of a literal; `None` for what is no value (DEFAULT) or depends on its place (hexadecimals).
#[inline]
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
            if collation.charset().needs_conversion() && !collation.charset().is_ascii_text(text) =>
        {
            None
        }
        CellKind::String => Some(ValueRef::Bytes { bytes: text, collation }),
        CellKind::StringEscaped => Some(ValueRef::Bytes { bytes: unescaped.next()?, collation }),
        CellKind::Default | CellKind::Hex | CellKind::Param | CellKind::Expr => None,
    }
}

/// Runs the first statement of `sql` if its plan is known.
pub(super) fn run_by_digest<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<DigestLookup> {
    // They leave the session while a plan of theirs runs.
    let Some(mut digest_cache) = session.digest_cache.take() else { return Ok(DigestLookup::Parse) };
    let looked_up = memory::lend(|memory| look_up(session, sql, memory, &mut digest_cache, reply));
    session.digest_cache = Some(digest_cache);
    looked_up
}

fn look_up<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    memory: &mut TextMemory,
    digest_cache: &mut SessionDigestCache<B>,
    reply: &mut Reply<'_>,
) -> Attempt<DigestLookup> {
    let TextMemory { digest, unescaped } = memory;
    let Some(digested) = syntax::digest(sql, session.variables.settings().sql_mode.for_syntax(), digest)
    else {
        return Ok(DigestLookup::Parse);
    };
    if !is_remembered(&digested) || digested.more && !session.client.may_send_several() {
        return Ok(DigestLookup::Parse);
    }
    let key = plan_fit::key_of(session.variables.settings(), &digested);
    let found = match digest_cache.find(key, digested.normalized) {
        Some(None) => return Ok(DigestLookup::Parse),
        found => found.flatten(),
    };
    let mut values = memory::take_values();
    if !take_values(session.variables.settings(), sql, &digested, unescaped, &mut values) {
        memory::keep_values(values);
        return Ok(if found.is_some() { DigestLookup::Parse } else { DigestLookup::Keep });
    }
    let plan = match found {
        Some(known) if plan_fit::is_current(session, &known.plan, &values) => &mut known.plan,
        _ => match session.planner().find_shared(key, &digested, &values) {
            Known::Plan(normalized, plan) => digest_cache.put(key, normalized, PlanHandle::new(plan)),
            other => {
                memory::keep_values(values);
                let keeps = matches!(other, Known::Keep);
                return Ok(if keeps { DigestLookup::Keep } else { DigestLookup::Parse });
            }
        },
    };
    session.shared.core.counters.plan_cache_hits.increment();
    session.diagnostics.clear();
    session.account.renew(&session.shared.core);
    reply.more_results(digested.more);
    let outcome = run::run_cached(session, plan, &values, false, reply);
    memory::keep_values(values);
    outcome?;
    Ok(DigestLookup::Ran(digested.more.then_some(digested.end)))
}

/// Appends the values of the literals; false if one has none.
#[inline]
fn take_values<'v>(
    settings: &Settings,
    sql: &'v [u8],
    digested: &Digested<'_>,
    unescaped: &'v mut UnescapedTexts,
    values: &mut Vec<ValueRef<'v>>,
) -> bool {
    let backslash = !settings.sql_mode.has(SqlModes::NO_BACKSLASH_ESCAPES);
    let collation = settings.connection_collation;
    let Some(mut unescaped) = unescaped.read(digested.literals, sql, backslash) else { return false };
    let literals = digested.literals.iter();
    values.extend(literals.map_while(|cell| value_of(cell, sql, &mut unescaped, collation)));
    values.len() == digested.literals.len()
}

/// The plan that a statement of EXPLAIN would run by, if it has one that others share, and the values of its literals: the
/// one that is kept for them, or that would be made and kept now. `span`: its text within `sql`.
pub(super) fn plan_as_shared<B: Backend>(
    session: &mut Session<B>,
    sql: &[u8],
    span: Span,
) -> Option<(PlanHandle<B>, Vec<Value>)> {
    let mode = session.variables.settings().sql_mode.for_syntax();
    let text = sql.get(span.start as usize..span.end as usize)?;
    let mut scratch = DigestScratch::default();
    let digested = syntax::digest(text, mode, &mut scratch)?;
    let (mut unescaped, mut values) = (UnescapedTexts::default(), Vec::new());
    if !is_remembered(&digested)
        || !take_values(session.variables.settings(), text, &digested, &mut unescaped, &mut values)
    {
        return None;
    }
    let key = plan_fit::key_of(session.variables.settings(), &digested);
    let digest_cache = session.digest_cache.as_mut();
    let own = match digest_cache.and_then(|digest_cache| digest_cache.find(key, digested.normalized)) {
        Some(None) => return None,
        Some(Some(known)) => Some(Arc::clone(known.plan.shared())),
        None => None,
    };
    let plan = match own.filter(|plan| plan_fit::is_current(session, plan, &values)) {
        Some(plan) => PlanHandle::new(plan),
        None => match session.planner().find_shared(key, &digested, &values) {
            Known::Plan(_, plan) => PlanHandle::new(plan),
            Known::Keep => plan_to_share(session, text, &values, &digested)?,
            Known::Rare => return None,
        },
    };
    let values = values.iter().map(|value| value.to_value()).collect();
    Some((plan, values))
}

/// The values of a text's literals, as far as a plan that others share takes them as parameters.
pub(super) fn literals_of<B: Backend>(session: &Session<B>, text: &[u8]) -> Option<Vec<Value>> {
    let settings = session.variables.settings();
    let mut scratch = DigestScratch::default();
    let digested = syntax::digest(text, settings.sql_mode.for_syntax(), &mut scratch)?;
    let (mut unescaped, mut values) = (UnescapedTexts::default(), Vec::new());
    let found = take_values(settings, text, &digested, &mut unescaped, &mut values);
    found.then(|| values.iter().map(|value| value.to_value()).collect())
}

/// The plan that a text would get whose plan is kept for others, if it can be.
fn plan_to_share<B: Backend>(
    session: &mut Session<B>,
    text: &[u8],
    values: &[ValueRef<'_>],
    digested: &Digested<'_>,
) -> Option<PlanHandle<B>> {
    // Literals have their places in the statement's own text.
    let arena = bumpalo::Bump::new();
    let parsed = syntax::parse(text, &arena, session.variables.settings().sql_mode.for_syntax()).ok()?;
    let mut places = Places { digested, count: 0, compared: Vec::new() };
    if !places.statement(&parsed.statement) {
        return None;
    }
    let plan = session.planner().plan_shared(&parsed.statement, text, values, digested).ok()?;
    if !columns_fit(plan.physical(), &places.compared) {
        session.running.keep_deadline_of(plan);
        return None;
    }
    Some(plan)
}

/// Plans a parsed statement so that others share its plan, runs it and keeps the plan; false if nothing ran, because it
/// cannot be shared.
pub(super) fn run_shared<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    sql: &[u8],
    reply: &mut Reply<'_>,
) -> Attempt<bool> {
    let Some(mut digest_cache) = session.digest_cache.take() else { return Ok(false) };
    let outcome = memory::lend(|memory| share(session, statement, sql, memory, &mut digest_cache, reply));
    session.digest_cache = Some(digest_cache);
    outcome
}

fn share<B: Backend>(
    session: &mut Session<B>,
    statement: &Statement<'_>,
    sql: &[u8],
    memory: &mut TextMemory,
    digest_cache: &mut SessionDigestCache<B>,
    reply: &mut Reply<'_>,
) -> Attempt<bool> {
    let TextMemory { digest, unescaped } = memory;
    let Some(digested) = syntax::digest(sql, session.variables.settings().sql_mode.for_syntax(), digest)
    else {
        return Ok(false);
    };
    session.shared.core.counters.plan_cache_misses.increment();
    let key = plan_fit::key_of(session.variables.settings(), &digested);
    let mut places = Places { digested: &digested, count: 0, compared: Vec::new() };
    let mut plan = None;
    let mut values = Vec::new();
    if places.statement(statement)
        && take_values(session.variables.settings(), sql, &digested, unescaped, &mut values)
    {
        // A statement in error is planned again without parameters: its error must be the same as ever.
        plan = session.planner().plan_shared(statement, sql, &values, &digested).ok();
        if let Some(rejected) = plan.take_if(|plan| !columns_fit(plan.physical(), &places.compared)) {
            // Planned again it has the time that is left.
            session.running.keep_deadline_of(rejected);
        }
    }
    let Some(plan) = plan else {
        digest_cache.put_without_plan(key);
        return Ok(false);
    };
    let normalized: Arc<[u8]> = digested.normalized.into();
    session.planner().offer(
        session.plan_fit().digest_key(key, &values),
        Arc::clone(&normalized),
        &values,
        &plan,
    );
    session.diagnostics.clear();
    session.account.renew(&session.shared.core);
    let plan = digest_cache.put(key, normalized, plan);
    run::run_cached(session, plan, &values, false, reply).map(|_| true)
}

#[cfg(test)]
mod tests {
    use super::*;

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
