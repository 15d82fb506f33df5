//! Which queries are the members of a set operation, and which of them WITH RECURSIVE repeats.
//!
//! 1. Parentheses around a set operation of the same kind only group: its members are those of the operation around it. An ORDER BY
//!    in them orders nothing and its names need not exist; FOR UPDATE in them is of the last member; WITH in them is of each. Not so
//!    with LIMIT, or where what WITH, ORDER BY or FOR UPDATE is of is in parentheses itself.
//! 2. A chain is as long as a statement is: nothing here calls itself for a side of it.

use syntax::ast::{Limit, Query, QueryBody, SetOp, With};

use super::select::body_references;
use super::utf8;
use crate::error::{PlanError, PlanResult};

/// A member of a set operation.
pub(super) struct Member<'a> {
    pub(super) body: &'a QueryBody<'a>,
    /// WITH of the parentheses around it that are part of the operation, the outermost first.
    pub(super) withs: Vec<&'a With<'a>>,
    /// The queries in parentheses that are part of the operation around them and end with this member, the innermost first.
    pub(super) ends: Vec<&'a Query<'a>>,
}

impl<'a> Member<'a> {
    fn of(body: &'a QueryBody<'a>) -> Member<'a> {
        Member { body, withs: Vec::new(), ends: Vec::new() }
    }

    /// The sides of the set operation that this member is, without the parentheses `of` around it.
    fn sides(
        mut self,
        of: &Unwrapped<'a>,
        left: &'a QueryBody<'a>,
        right: &'a QueryBody<'a>,
    ) -> (Member<'a>, Member<'a>) {
        self.withs.extend(of.clauses_of.and_then(|query| query.with));
        let left = Member { body: left, withs: self.withs.clone(), ends: Vec::new() };
        let ends = of.clauses_of.into_iter().chain(self.ends).collect();
        (left, Member { body: right, withs: self.withs, ends })
    }
}

/// The members of one set operation, in order: MySQL takes a chain of one operation for one, and a UNION in parentheses within a
/// UNION, but not UNION DISTINCT within UNION ALL. Their columns get one type for all.
pub(super) fn members<'a>(
    op: SetOp,
    all: bool,
    left: &'a QueryBody<'a>,
    right: &'a QueryBody<'a>,
) -> Vec<Member<'a>> {
    let mut found = Vec::with_capacity(2);
    let mut pending = vec![(Member::of(right), op == SetOp::Union), (Member::of(left), true)];
    while let Some((member, may_be_one)) = pending.pop() {
        let unwrapped = Unwrapped::of(member.body);
        match unwrapped.body {
            QueryBody::SetOp { op: inner, all: inner_all, left, right }
                if may_be_one && *inner == op && (*inner_all == all || op == SetOp::Union && *inner_all) =>
            {
                let (left, right) = member.sides(&unwrapped, left, right);
                pending.push((right, op == SetOp::Union));
                pending.push((left, true));
            }
            _ => found.push(member),
        }
    }
    found
}

/// A set operation without the parentheses that do no more than to group.
struct Unwrapped<'a> {
    body: &'a QueryBody<'a>,
    /// The query whose WITH, ORDER BY or FOR UPDATE is the set operation's.
    clauses_of: Option<&'a Query<'a>>,
}

impl<'a> Unwrapped<'a> {
    fn of(body: &'a QueryBody<'a>) -> Unwrapped<'a> {
        let mut unwrapped = Unwrapped { body, clauses_of: None };
        while let QueryBody::Nested(query) = unwrapped.body
            && query.limit.is_none()
        {
            if query.with.is_some() || !query.order_by.is_empty() || !query.locking.is_empty() {
                if !matches!(query.body, QueryBody::SetOp { .. }) {
                    break;
                }
                unwrapped.clauses_of = Some(query);
            }
            unwrapped.body = &query.body;
        }
        unwrapped
    }
}

/// The members of a recursive UNION.
pub(super) struct Recursion<'a> {
    /// Those that do not name the table itself.
    pub(super) seeds: Vec<Member<'a>>,
    /// Those that do.
    pub(super) steps: Vec<Member<'a>>,
    /// All of its rows differ.
    pub(super) distinct: bool,
    /// WITH of the query and of the parentheses around the UNION, the outermost first.
    pub(super) withs: Vec<&'a With<'a>>,
    /// LIMIT of them, the outermost first.
    pub(super) limits: Vec<&'a Limit<'a>>,
}

/// Where a query stands in a recursive UNION.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Left,
    Right { all: bool },
}

impl<'a> Recursion<'a> {
    /// The members of the CTE `name`, whose query this is.
    pub(super) fn of(mut query: &'a Query<'a>, name: &[u8]) -> PlanResult<Recursion<'a>> {
        let mut withs = Vec::new();
        let mut limits = Vec::new();
        let mut is_ordered = false;
        let (all, left, right) = loop {
            withs.extend(query.with);
            limits.extend(&query.limit);
            is_ordered |= !query.order_by.is_empty();
            match &query.body {
                QueryBody::Nested(inner) => query = inner,
                QueryBody::SetOp { op: SetOp::Union, all, left, right } => break (*all, *left, *right),
                _ => {
                    return Err(PlanError::new(
                        3573,
                        format!("Recursive Common Table Expression '{}' should contain a UNION", utf8(name)),
                    ));
                }
            }
        };
        if is_ordered {
            return Err(PlanError::not_supported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let mut seeds = Vec::new();
        let mut steps = Vec::new();
        let mut pending = vec![(Member::of(right), Place::Right { all }), (Member::of(left), Place::Left)];
        let mut outcome = Ok(());
        while let Some((member, place)) = pending.pop() {
            let unwrapped = Unwrapped::of(member.body);
            let body = unwrapped.body;
            if let QueryBody::SetOp { op: SetOp::Union, all: inner_all, left, right } = body {
                let is_apart = place == (Place::Right { all: true })
                    && has_distinct(body)
                    && body_references(body, name);
                if !is_apart && (*inner_all || !all) {
                    let (left, right) = member.sides(&unwrapped, left, right);
                    pending.push((right, Place::Right { all: *inner_all }));
                    pending.push((left, Place::Left));
                    continue;
                }
            }
            if !body_references(body, name) {
                if !steps.is_empty() && outcome.is_ok() {
                    outcome = Err(no_seed_first(name));
                }
                seeds.push(member);
                continue;
            }
            let follows_step = !steps.is_empty();
            check_step(body, place, follows_step, name)?;
            if seeds.is_empty() {
                outcome = Err(no_seed_first(name));
            }
            steps.push(member);
        }
        outcome?;
        if steps.is_empty() {
            return Err(no_seed_first(name));
        }
        Ok(Recursion { seeds, steps, distinct: !all, withs, limits })
    }
}

/// What MySQL refuses of a member that names the table itself.
fn check_step(mut body: &QueryBody<'_>, place: Place, follows_step: bool, name: &[u8]) -> PlanResult<()> {
    let mut is_ordered_or_limited = false;
    let mut is_apart = false;
    loop {
        match body {
            QueryBody::Nested(query) => {
                is_ordered_or_limited |= !query.order_by.is_empty() || query.limit.is_some();
                is_apart = true;
                body = &query.body;
            }
            QueryBody::SetOp { op: SetOp::Union, left, .. } => {
                if is_apart || place != Place::Left {
                    return Err(PlanError::not_supported(
                        "right nested recursive query blocks, in Common Table Expression",
                    ));
                }
                return Err(match first_member_references(left, name) {
                    true => no_seed_first(name),
                    false => PlanError::not_supported(
                        "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
                    ),
                });
            }
            QueryBody::SetOp { left, .. } if follows_step && !first_member_references(left, name) => {
                return Err(no_seed_first(name));
            }
            QueryBody::SetOp { .. } => {
                let text = "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";
                return Err(PlanError::new(4114, text));
            }
            QueryBody::Select(select) if is_ordered_or_limited || select.options.distinct => {
                return Err(PlanError::not_supported(
                    "ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression",
                ));
            }
            QueryBody::Select(_) | QueryBody::Values(_) | QueryBody::Table(_) => return Ok(()),
        }
    }
}

/// Whether a chain of UNIONs has a UNION DISTINCT.
fn has_distinct(mut body: &QueryBody<'_>) -> bool {
    while let QueryBody::SetOp { op: SetOp::Union, all, left, .. } = body {
        if !all {
            return true;
        }
        body = Unwrapped::of(left).body;
    }
    false
}

/// Whether the first member of a set operation names the table.
fn first_member_references(mut body: &QueryBody<'_>, name: &[u8]) -> bool {
    loop {
        body = match body {
            QueryBody::SetOp { left, .. } => left,
            QueryBody::Nested(query) => &query.body,
            _ => return body_references(body, name),
        };
    }
}

#[cold]
fn no_seed_first(name: &[u8]) -> Box<PlanError> {
    PlanError::new(
        3574,
        format!(
            "Recursive Common Table Expression '{}' should have one or more non-recursive query blocks \
             followed by one or more recursive ones",
            utf8(name)
        ),
    )
}
