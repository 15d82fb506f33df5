//! Plans that all sessions share.
//!
//! A session that gets a text for the first time, or prepares it, looks here before it plans it, so ten thousand connections of one
//! application plan a statement once, hold one plan, and run it from the same memory. A session asks here once for each: it holds what
//! it found ([`PlanHandle`](super::PlanHandle)), so what runs all the time takes no lock and counts no reference. Where the classes of
//! its literals change (NULL and a value in turns) it asks again: each has a plan, and a session holds one of them.
//!
//! A plan says nothing of the session it was made by: what it does depend on is in its key and compared again by whoever finds it
//! (`Session::would_make`). Who may run it is asked of each session's own account.
//!
//! A plan that is not the best for all values of its parameters says for which it is ([`plan::physical::Guard`]): a normalized statement has up to
//! [`VARIANTS_MAX`] plans, the oldest of which goes. One that is planned ever again for other values gets a plan for all values.
//!
//! Invariant: a plan here was made for the catalog without anybody's temporary tables.

use std::sync::Arc;

use parking_lot::Mutex;

use super::CachedPlan;
use super::digest_cache::DigestCache;
use super::feedback::CountedStatements;
use crate::backend::Backend;

/// Parts in which the plans lie, each with a lock and limits of its own: [`digest_cache::ENTRIES_MAX`](super::digest_cache::ENTRIES_MAX),
/// [`digest_cache::BYTES_MAX`](super::digest_cache::BYTES_MAX).
const PARTS: usize = 16;
/// Longest normalized statement or text that is kept: a list of as many columns as a table may have, each with an alias of its own.
pub(crate) const NORMALIZED_BYTES_MAX: usize = 512 << 10;
/// A larger normalized statement, or one of more values, is kept when it comes for the second time: lists (`IN`) of ever other lengths are as
/// many normalized statements, and would push out what comes again.
const KEPT_AT_ONCE_BYTES_MAX: usize = 16 << 10;
const KEPT_AT_ONCE_VALUES_MAX: usize = 128;
/// Most plans of one normalized statement.
const VARIANTS_MAX: usize = 4;
/// A normalized statement that was planned more often, for tables of about the same sizes, gets one plan for all values.
const PLANNED_MAX: u32 = 16;
/// How many of those a part knows to have come.
const CAME_MAX: usize = 16;

#[derive(Debug)]
struct Part<B: Backend> {
    digest_cache: DigestCache<Variants<B>>,
    /// The newest catalog that one of them was made for.
    catalog_version: u64,
    newcomers: Newcomers,
}

impl<B: Backend> Default for Part<B> {
    fn default() -> Self {
        Self { digest_cache: DigestCache::default(), catalog_version: 0, newcomers: Newcomers::default() }
    }
}

/// Large normalized statements that came and were not kept.
#[derive(Debug, Default)]
struct Newcomers {
    /// Their keys; the oldest is overwritten.
    came: [u64; CAME_MAX],
    next: usize,
}

impl Newcomers {
    /// Whether a normalized statement that is not remembered should be: a small one at once, a large one if it came before.
    fn is_worth_keeping(&mut self, key: u64, normalized: &[u8], value_count: usize) -> bool {
        if normalized.len() > NORMALIZED_BYTES_MAX {
            return false;
        }
        if value_count <= KEPT_AT_ONCE_VALUES_MAX && normalized.len() <= KEPT_AT_ONCE_BYTES_MAX {
            return true;
        }
        if self.came.contains(&key) {
            return true;
        }
        self.came[self.next] = key;
        self.next = (self.next + 1) % CAME_MAX;
        false
    }
}

/// The plans of one normalized statement, each for other numbers of rows in its ranges.
#[derive(Debug)]
struct Variants<B: Backend> {
    /// The oldest first.
    plans: Vec<Arc<CachedPlan<B>>>,
    /// How often it was planned since the sizes of its tables moved.
    planned: u32,
}

impl<B: Backend> Variants<B> {
    /// Takes over what still holds of the plans that were there before this one.
    fn follow(&mut self, before: &Variants<B>) {
        let guards = &self.plans[0].physical().guards;
        let holding = || before.plans.iter().filter(|other| other.physical().sizes_hold());
        if holding().next().is_some() {
            self.planned = before.planned.saturating_add(1);
        }
        if guards.is_empty() {
            return; // It is for all values.
        }
        let others: Vec<_> = holding()
            .filter(|other| other.has_guards() && other.physical().guards != *guards)
            .cloned()
            .collect();
        let dropped = others.len().saturating_sub(VARIANTS_MAX - 1);
        self.plans.splice(0..0, others.into_iter().skip(dropped));
    }
}

/// What lies here for a normalized statement: plans, one of which may be for the values at hand.
pub(crate) type Found<B> = Known<Vec<Arc<CachedPlan<B>>>>;

/// The plan for the values at hand.
pub(crate) type KnownPlan<B> = Known<Arc<CachedPlan<B>>>;

/// What is known about a normalized statement.
pub(crate) enum Known<P> {
    /// A plan; the normalized statement as others hold it.
    Plan(Arc<[u8]>, P),
    /// Nothing, and its plan is to be kept.
    Keep,
    /// Nothing, and it may never come again.
    Rare,
}

/// The plans of all sessions' texts.
#[derive(Debug)]
pub struct SharedPlans<B: Backend> {
    parts: [Mutex<Part<B>>; PARTS],
    /// What runs have said of them.
    pub(crate) counted: CountedStatements,
}

impl<B: Backend> Default for SharedPlans<B> {
    fn default() -> Self {
        Self { parts: std::array::from_fn(|_| Mutex::default()), counted: CountedStatements::default() }
    }
}

impl<B: Backend> SharedPlans<B> {
    fn part(&self, key: u64) -> &Mutex<Part<B>> {
        &self.parts[(key >> 32) as usize % PARTS]
    }

    /// What is known about a normalized statement with `value_count` literals, or a text that is prepared with as many parameters.
    pub(crate) fn find(&self, key: u64, normalized: &[u8], value_count: usize) -> Found<B> {
        let mut part = self.part(key).lock();
        if let Some(Some(known)) = part.digest_cache.find(key, normalized) {
            return Known::Plan(Arc::clone(&known.normalized), known.plan.plans.clone());
        }
        if part.newcomers.is_worth_keeping(key, normalized, value_count) { Known::Keep } else { Known::Rare }
    }

    /// Whether the plans of a normalized statement come and go, so that its next one is to be for all values.
    pub(crate) fn is_restless(&self, key: u64, normalized: &[u8]) -> bool {
        let mut part = self.part(key).lock();
        part.digest_cache.find(key, normalized).flatten().is_some_and(|known| {
            known.plan.planned > PLANNED_MAX
                && known.plan.plans.iter().any(|plan| plan.physical().sizes_hold())
        })
    }

    /// Keeps the plan of a normalized statement, or of a text that was prepared, beside those for other numbers of rows. Plans for an older catalog go
    /// when the first for a newer one comes.
    pub(crate) fn put(&self, key: u64, normalized: Arc<[u8]>, plan: Arc<CachedPlan<B>>) {
        let mut part = self.part(key).lock();
        let version = plan.catalog_version();
        if version < part.catalog_version {
            return;
        }
        if version > part.catalog_version {
            part.catalog_version = version;
            part.digest_cache
                .retain(|others| others.plans.iter().all(|other| other.catalog_version() >= version));
        }
        let mut variants = Variants { plans: vec![plan], planned: 1 };
        if let Some(Some(known)) = part.digest_cache.find(key, &normalized) {
            variants.follow(&known.plan);
        }
        let plan_count = variants.plans.len();
        part.digest_cache.put_several(key, normalized, variants, plan_count);
    }
}

#[cfg(test)]
mod tests {
    use syntax::DigestScratch;

    use super::*;

    #[test]
    fn a_large_statement_is_kept_when_it_comes_again() {
        let mut newcomers = Newcomers::default();
        let mut scratch = DigestScratch::default();
        let mut keeps = |key: u64, sql: String| {
            let digested = syntax::digest(sql.as_bytes(), syntax::SqlMode::default(), &mut scratch).unwrap();
            newcomers.is_worth_keeping(key, digested.normalized, digested.literals.len())
        };
        let list = |count: usize| format!("SELECT a FROM t WHERE id IN (1{})", ", 1".repeat(count - 1));
        assert!(keeps(1, list(KEPT_AT_ONCE_VALUES_MAX)));
        for key in 0..3 * CAME_MAX as u64 {
            assert!(!keeps(100 + key, list(KEPT_AT_ONCE_VALUES_MAX + 1)), "the first time");
        }
        assert!(keeps(100 + 3 * CAME_MAX as u64 - 1, list(KEPT_AT_ONCE_VALUES_MAX + 1)));
        assert!(!keeps(100, list(KEPT_AT_ONCE_VALUES_MAX + 1)), "that was long ago");
        let wide: String =
            (0..400).map(|n| format!("e.column_number_{n} AS entity_column_number_{n}_0_, ")).collect();
        let wide = format!("SELECT {wide} 1 FROM t e");
        assert!(!keeps(2, wide.clone()));
        assert!(keeps(2, wide));
    }
}
