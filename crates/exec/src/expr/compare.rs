//! Comparing values: operators, BETWEEN, IN.

use super::context::SqlResult;
use super::program::{Node, Run, prepare_nulls, push_tri};
use super::vector::{Operand, Rows, View};
use std::cmp::Ordering;
use types::json;
use types::{Batch, CollationId, ColumnData, Physical};

/// In which class two values compare; both operands are of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum How {
    /// Integers, packed temporals, times.
    Int {
        left_unsigned: bool,
        right_unsigned: bool,
    },
    Double,
    Decimal,
    Text(CollationId),
    Json,
}

impl How {
    /// Comparing may raise an error or a warning (it never does; converting may).
    pub(super) fn can_fail(self) -> bool {
        false
    }

    #[inline]
    pub(super) fn compare(self, a: View<'_>, i: usize, b: View<'_>, j: usize) -> Ordering {
        match self {
            How::Int { left_unsigned, right_unsigned } => {
                compare_ints(a.int(i), left_unsigned, b.int(j), right_unsigned)
            }
            How::Double => a.double(i).partial_cmp(&b.double(j)).unwrap_or(Ordering::Equal),
            How::Decimal => a.decimal(i).cmp(b.decimal(j)),
            How::Text(collation) => collation.compare(a.bytes(i), b.bytes(j)),
            How::Json => json::compare(a.bytes(i), b.bytes(j)),
        }
    }
}

#[inline]
pub(super) fn compare_ints(a: i64, a_unsigned: bool, b: i64, b_unsigned: bool) -> Ordering {
    match (a_unsigned, b_unsigned) {
        (false, false) => a.cmp(&b),
        (true, true) => (a as u64).cmp(&(b as u64)),
        (true, false) => {
            if b < 0 {
                Ordering::Greater
            } else {
                (a as u64).cmp(&(b as u64))
            }
        }
        (false, true) => {
            if a < 0 {
                Ordering::Less
            } else {
                (a as u64).cmp(&(b as u64))
            }
        }
    }
}

/// The comparison operators.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum CompareOp {
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    #[inline]
    pub(super) fn holds(self, ordering: Ordering) -> bool {
        match self {
            CompareOp::Eq | CompareOp::NullSafeEq => ordering.is_eq(),
            CompareOp::Ne => ordering.is_ne(),
            CompareOp::Lt => ordering.is_lt(),
            CompareOp::Le => ordering.is_le(),
            CompareOp::Gt => ordering.is_gt(),
            CompareOp::Ge => ordering.is_ge(),
        }
    }
}

/// `left op right`.
#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) op: CompareOp,
    pub(super) how: How,
    pub(super) left: Node,
    pub(super) right: Node,
    /// The right side is evaluated even if the left one is NULL: an item of a list.
    pub(super) is_listed: bool,
}

impl Comparison {
    pub(super) fn eval<'b>(
        &'b self,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        let left = self.left.eval(input, run, rows)?;
        let right = match self.op {
            // Whether NULL equals it is asked of the value.
            CompareOp::NullSafeEq => self.right.eval(input, run, rows)?,
            _ if self.is_listed => self.right.eval(input, run, rows)?,
            _ => self.right.eval_beside(&left, input, run, rows)?,
        };
        let mut out = run.scratch.pool.take(Physical::Int);
        let constant = left.is_constant() && right.is_constant() && rows.len() > 0;
        let count = if constant { 1 } else { rows.len() };
        let (a, b) = (left.view(), right.view());
        if self.op == CompareOp::NullSafeEq {
            for i in 0..count {
                let equal = match (a.is_null(i), b.is_null(i)) {
                    (true, true) => true,
                    (false, false) => self.how.compare(a, i, b, i).is_eq(),
                    _ => false,
                };
                out.push_int(i64::from(equal));
            }
        } else {
            prepare_nulls(&[a, b], count, &mut out);
            let op = self.op;
            if let ColumnData::Int(data) = &mut out.data {
                match self.how {
                    // The common loops, free of branches on the class.
                    How::Int { left_unsigned: false, right_unsigned: false } => match op {
                        CompareOp::Eq => data.extend((0..count).map(|i| i64::from(a.int(i) == b.int(i)))),
                        CompareOp::Ne => data.extend((0..count).map(|i| i64::from(a.int(i) != b.int(i)))),
                        CompareOp::Lt => data.extend((0..count).map(|i| i64::from(a.int(i) < b.int(i)))),
                        CompareOp::Le => data.extend((0..count).map(|i| i64::from(a.int(i) <= b.int(i)))),
                        CompareOp::Gt => data.extend((0..count).map(|i| i64::from(a.int(i) > b.int(i)))),
                        _ => data.extend((0..count).map(|i| i64::from(a.int(i) >= b.int(i)))),
                    },
                    How::Text(collation) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                        let wanted = op == CompareOp::Eq;
                        data.extend(
                            (0..count).map(|i| i64::from(collation.equal(a.bytes(i), b.bytes(i)) == wanted)),
                        );
                    }
                    how => data.extend((0..count).map(|i| {
                        let null = a.is_null(i) || b.is_null(i);
                        i64::from(!null && op.holds(how.compare(a, i, b, i)))
                    })),
                }
            }
        }
        run.scratch.pool.release(left);
        run.scratch.pool.release(right);
        Ok(if constant { Operand::owned_constant(out) } else { Operand::owned(out) })
    }
}

/// A TIME column beside a constant text: compared as times if the text is wholly a time, otherwise as texts.
#[derive(Debug)]
pub(super) struct TimeComparison {
    /// The text as a time, NULL if it is none.
    pub(super) time: Node,
    pub(super) as_times: Comparison,
    pub(super) as_texts: Comparison,
}

impl TimeComparison {
    pub(super) fn eval<'b>(
        &'b self,
        input: &'b Batch,
        run: &mut Run<'_, '_>,
        rows: Rows<'_>,
    ) -> SqlResult<Operand<'b>> {
        if rows.len() == 0 {
            return self.as_times.eval(input, run, rows);
        }
        let time = self.time.eval(input, run, Rows::Some(&[0]))?;
        let is_time = !time.view().is_null(0);
        run.scratch.pool.release(time);
        if is_time { self.as_times.eval(input, run, rows) } else { self.as_texts.eval(input, run, rows) }
    }
}

/// A list of constants made ready for look-up.
enum Set {
    Ints(hashbrown::HashSet<i64, foldhash::fast::FixedState>, bool),
    Texts { table: hashbrown::HashTable<Vec<u8>>, collation: CollationId, has_null: bool },
}

/// IN: true at the first equal item, else NULL if the value or an item is NULL, else false. With a slot, the items are
/// constants of one class and are looked up in a set.
pub(super) fn eval_in<'b>(
    value: &'b Node,
    items: &'b [(How, Node)],
    slot: Option<usize>,
    input: &'b Batch,
    run: &mut Run<'_, '_>,
    rows: Rows<'_>,
) -> SqlResult<Operand<'b>> {
    let operand = value.eval(input, run, rows)?;
    let count = rows.len();
    let mut out = run.scratch.pool.take(Physical::Int);
    if let Some(slot) = slot {
        let mut state = run.scratch.slots[slot].state.take();
        if state.is_none() {
            state = Some(Box::new(build_set(items, input, run)?));
        }
        {
            let view = operand.view();
            match state.as_ref().and_then(|state| state.downcast_ref::<Set>()) {
                Some(Set::Ints(set, has_null)) => {
                    for i in 0..count {
                        push_member(&mut out, view.is_null(i), *has_null, || set.contains(&view.int(i)));
                    }
                }
                Some(Set::Texts { table, collation, has_null }) => {
                    for i in 0..count {
                        push_member(&mut out, view.is_null(i), *has_null, || {
                            let text = view.bytes(i);
                            table.find(collation.hash(text, 0), |item| collation.equal(item, text)).is_some()
                        });
                    }
                }
                None => return Err(crate::error::internal("a set of another kind")),
            }
        }
        run.scratch.slots[slot].state = state;
    } else {
        let view = operand.view();
        let start = |i| if view.is_null(i) { None } else { Some(false) };
        let mut results: Vec<Option<bool>> = (0..count).map(start).collect();
        // An item is not computed for the rows that one before it equals.
        let mut open: Vec<u32> = Vec::new();
        let mut input_rows: Vec<u32> = Vec::new();
        for (how, item) in items {
            run.check_progress(items.len(), count)?;
            let is_whole = item.is_harmless() || !results.contains(&Some(true));
            let listed = if is_whole {
                item.eval(input, run, rows)?
            } else {
                open.clear();
                open.extend((0..count as u32).filter(|&i| results[i as usize] != Some(true)));
                if open.is_empty() {
                    break;
                }
                input_rows.clear();
                input_rows.extend(open.iter().map(|&i| rows.input_row(i as usize)));
                item.eval(input, run, Rows::Some(&input_rows))?
            };
            let item = listed.view();
            let positions = if is_whole { count } else { open.len() };
            for at in 0..positions {
                let i = if is_whole { at } else { open.get(at).map_or(at, |&i| i as usize) };
                if view.is_null(i) || results[i] == Some(true) {
                    continue;
                }
                if item.is_null(at) {
                    results[i] = None;
                } else if how.compare(view, i, item, at).is_eq() {
                    results[i] = Some(true);
                }
            }
            run.scratch.pool.release(listed);
        }
        for result in results {
            push_tri(&mut out, result);
        }
    }
    run.scratch.pool.release(operand);
    Ok(Operand::owned(out))
}

fn push_member(out: &mut types::Column, null: bool, has_null: bool, contains: impl FnOnce() -> bool) {
    if null {
        out.push_null();
    } else if contains() {
        out.push_int(1);
    } else if has_null {
        out.push_null();
    } else {
        out.push_int(0);
    }
}

fn build_set(items: &[(How, Node)], input: &Batch, run: &mut Run<'_, '_>) -> SqlResult<Set> {
    let mut has_null = false;
    let mut ints = hashbrown::HashSet::with_hasher(foldhash::fast::FixedState::default());
    let mut table: hashbrown::HashTable<Vec<u8>> = hashbrown::HashTable::new();
    let mut text_collation = None;
    for (how, item) in items {
        let operand = item.eval(input, run, Rows::Some(&[0]))?;
        let view = operand.view();
        if view.is_null(0) {
            has_null = true;
        } else if let How::Text(collation) = how {
            text_collation = Some(*collation);
            let text = view.bytes(0);
            let hash = collation.hash(text, 0);
            if table.find(hash, |other| collation.equal(other, text)).is_none() {
                table.insert_unique(hash, text.to_vec(), |other| collation.hash(other, 0));
            }
        } else {
            ints.insert(view.int(0));
        }
    }
    Ok(match (text_collation, items.first()) {
        (Some(collation), _) => Set::Texts { table, collation, has_null },
        (None, Some((How::Text(collation), _))) => Set::Texts { table, collation: *collation, has_null },
        _ => Set::Ints(ints, has_null),
    })
}
