//! What is known about normalized statements of statements, the least recently used going first.
//!
//! Both a session and all sessions together remember normalized statements (`conversation::digest_lookup`, [`super::shared`]): under a key, which is a
//! hash, and a plan with the normalized statement's bytes, so that it never runs for another text with the same hash. A normalized statement without a plan is
//! remembered by its hash alone: whoever is taken for it is planned each time, no more.
//!
//! Invariant: `bytes` is the sum of what the entries are taken to need, and neither it nor their number exceeds its limit, but for
//! one entry that is larger by itself.

use std::sync::Arc;

use hashbrown::HashMap;

/// Most normalized statements in one place.
pub(crate) const ENTRIES_MAX: usize = 256;
/// Most bytes they may take.
pub(crate) const BYTES_MAX: usize = 4 << 20;
/// What a plan is taken to need, and what it needs more for each byte of a normalized statement (columns, literals).
const PLAN_BYTES: usize = 8 << 10;
const PLAN_BYTES_PER_NORMALIZED_BYTE: usize = 4;

/// What is known about a normalized statement.
#[derive(Debug)]
struct Entry<P> {
    plan: Option<Planned<P>>,
    bytes: usize,
    used: u64,
}

/// A normalized statement and its plan.
#[derive(Debug)]
pub(crate) struct Planned<P> {
    pub(crate) normalized: Arc<[u8]>,
    pub(crate) plan: P,
}

/// DigestCache, and the plans of those that have one to keep.
#[derive(Debug)]
pub(crate) struct DigestCache<P> {
    entries: HashMap<u64, Entry<P>, foldhash::fast::FixedState>,
    bytes: usize,
    clock: u64,
}

impl<P> Default for DigestCache<P> {
    fn default() -> Self {
        Self { entries: HashMap::default(), bytes: 0, clock: 0 }
    }
}

impl<P> DigestCache<P> {
    /// What is known about a normalized statement: its plan, or that it has none to keep.
    pub(crate) fn find(&mut self, key: u64, normalized: &[u8]) -> Option<Option<&mut Planned<P>>> {
        self.clock += 1;
        let is_it =
            |entry: &&mut Entry<P>| entry.plan.as_ref().is_none_or(|known| *known.normalized == *normalized);
        let entry = self.entries.get_mut(&key).filter(is_it)?;
        entry.used = self.clock;
        Some(entry.plan.as_mut())
    }

    /// Remembers that a normalized statement has no plan to keep.
    pub(crate) fn put_without_plan(&mut self, key: u64) {
        self.put_entry(key, 0);
    }

    /// Remembers a normalized statement and its plan, which lies where the answer says now.
    pub(crate) fn put(&mut self, key: u64, normalized: Arc<[u8]>, plan: P) -> &mut P {
        self.put_several(key, normalized, plan, 1)
    }

    /// Like [`DigestCache::put`], for a `plan` that consists of `plan_count` plans.
    pub(crate) fn put_several(
        &mut self,
        key: u64,
        normalized: Arc<[u8]>,
        plan: P,
        plan_count: usize,
    ) -> &mut P {
        let plan_bytes = PLAN_BYTES + PLAN_BYTES_PER_NORMALIZED_BYTE * normalized.len();
        let bytes = plan_bytes * plan_count + normalized.len();
        &mut self.put_entry(key, bytes).insert(Planned { normalized, plan }).plan
    }

    fn put_entry(&mut self, key: u64, plan_bytes: usize) -> &mut Option<Planned<P>> {
        self.remove(key);
        self.clock += 1;
        let bytes = size_of::<Entry<P>>() + plan_bytes;
        while !self.entries.is_empty()
            && (self.entries.len() >= ENTRIES_MAX || self.bytes + bytes > BYTES_MAX)
        {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(&key, _)| key);
            self.remove(oldest.unwrap_or_default());
        }
        self.bytes += bytes;
        let entry = Entry { plan: None, bytes, used: self.clock };
        &mut self.entries.entry(key).insert(entry).into_mut().plan
    }

    /// Forgets those whose plan `keeps` refuses.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&P) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|_, entry| {
            let stays = entry.plan.as_ref().is_none_or(|known| keeps(&known.plan));
            *bytes -= if stays { 0 } else { entry.bytes };
            stays
        });
    }

    fn remove(&mut self, key: u64) {
        if let Some(entry) = self.entries.remove(&key) {
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> Arc<[u8]> {
        bytes.into()
    }

    #[test]
    fn the_least_recently_used_template_goes() {
        let mut digest_cache = DigestCache::default();
        for key in 0..ENTRIES_MAX as u64 {
            digest_cache.put(key, text(&key.to_le_bytes()), "plan");
        }
        let finds = |digest_cache: &mut DigestCache<&str>, key: u64, text: &[u8]| {
            digest_cache.find(key, text).is_some()
        };
        assert!(finds(&mut digest_cache, 0, &0u64.to_le_bytes()));
        digest_cache.put(9999, text(b"new"), "plan");
        assert_eq!(digest_cache.entries.len(), ENTRIES_MAX);
        assert!(finds(&mut digest_cache, 0, &0u64.to_le_bytes()), "it was used since");
        assert!(!finds(&mut digest_cache, 1, &1u64.to_le_bytes()));
        assert!(finds(&mut digest_cache, 9999, b"new"));
        assert!(!finds(&mut digest_cache, 9999, b"old"), "the same hash is not the same text");
        digest_cache.put_without_plan(9999);
        assert!(digest_cache.find(9999, b"new").is_some_and(|plan| plan.is_none()));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut digest_cache = DigestCache::default();
        let long = text(&vec![7u8; BYTES_MAX / 20]);
        for key in 0..20 {
            digest_cache.put(key, Arc::clone(&long), "plan");
            assert!(digest_cache.bytes <= BYTES_MAX);
        }
        assert_eq!(digest_cache.entries.len(), 3);
        let before = digest_cache.bytes;
        assert_eq!(*digest_cache.put(18, text(b"short"), "other"), "other");
        assert!(digest_cache.bytes < before);
        digest_cache.put_without_plan(1);
        digest_cache.retain(|plan| *plan == "other");
        assert!(digest_cache.find(18, b"short").is_some() && digest_cache.find(1, b"any").is_some());
        assert!(digest_cache.find(19, &long).is_none());
        for key in 0..20 {
            digest_cache.remove(key);
        }
        assert_eq!(digest_cache.bytes, 0);
    }
}
