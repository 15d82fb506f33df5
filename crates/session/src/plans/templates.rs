//! What is known about templates of statements, the least recently used going first.
//!
//! Both a session and all sessions together remember templates (`conversation::recognise`, [`super::shared`]): under a key, which is a
//! hash, and a plan with the template's bytes, so that it never runs for another text with the same hash. A template without a plan is
//! remembered by its hash alone: whoever is taken for it is planned each time, no more.
//!
//! Invariant: `bytes` is the sum of what the entries are taken to need, and neither it nor their number exceeds its limit, but for
//! one entry that is larger by itself.

use std::sync::Arc;

use hashbrown::HashMap;

/// Most templates in one place.
pub(crate) const ENTRIES_MAX: usize = 256;
/// Most bytes they may take.
pub(crate) const BYTES_MAX: usize = 4 << 20;
/// What a plan is taken to need, and what it needs more for each byte of a template (columns, literals).
const PLAN_BYTES: usize = 8 << 10;
const PLAN_BYTES_PER_TEMPLATE_BYTE: usize = 4;

/// What is known about a template.
#[derive(Debug)]
struct Entry<P> {
    plan: Option<Planned<P>>,
    bytes: usize,
    used: u64,
}

/// A template and its plan.
#[derive(Debug)]
pub(crate) struct Planned<P> {
    pub(crate) template: Arc<[u8]>,
    pub(crate) plan: P,
}

/// Templates, and the plans of those that have one to keep.
#[derive(Debug)]
pub(crate) struct Templates<P> {
    entries: HashMap<u64, Entry<P>, foldhash::fast::FixedState>,
    bytes: usize,
    clock: u64,
}

impl<P> Default for Templates<P> {
    fn default() -> Self {
        Self { entries: HashMap::default(), bytes: 0, clock: 0 }
    }
}

impl<P> Templates<P> {
    /// What is known about a template: its plan, or that it has none to keep.
    pub(crate) fn find(&mut self, key: u64, template: &[u8]) -> Option<Option<&mut Planned<P>>> {
        self.clock += 1;
        let is_it =
            |entry: &&mut Entry<P>| entry.plan.as_ref().is_none_or(|known| *known.template == *template);
        let entry = self.entries.get_mut(&key).filter(is_it)?;
        entry.used = self.clock;
        Some(entry.plan.as_mut())
    }

    /// Remembers that a template has no plan to keep.
    pub(crate) fn put_without_plan(&mut self, key: u64) {
        self.put_entry(key, 0);
    }

    /// Remembers a template and its plan, which lies where the answer says now.
    pub(crate) fn put(&mut self, key: u64, template: Arc<[u8]>, plan: P) -> &mut P {
        self.put_several(key, template, plan, 1)
    }

    /// Like [`Templates::put`], for a `plan` that consists of `plan_count` plans.
    pub(crate) fn put_several(
        &mut self,
        key: u64,
        template: Arc<[u8]>,
        plan: P,
        plan_count: usize,
    ) -> &mut P {
        let plan_bytes = PLAN_BYTES + PLAN_BYTES_PER_TEMPLATE_BYTE * template.len();
        let bytes = plan_bytes * plan_count + template.len();
        &mut self.put_entry(key, bytes).insert(Planned { template, plan }).plan
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
        let mut templates = Templates::default();
        for key in 0..ENTRIES_MAX as u64 {
            templates.put(key, text(&key.to_le_bytes()), "plan");
        }
        let finds =
            |templates: &mut Templates<&str>, key: u64, text: &[u8]| templates.find(key, text).is_some();
        assert!(finds(&mut templates, 0, &0u64.to_le_bytes()));
        templates.put(9999, text(b"new"), "plan");
        assert_eq!(templates.entries.len(), ENTRIES_MAX);
        assert!(finds(&mut templates, 0, &0u64.to_le_bytes()), "it was used since");
        assert!(!finds(&mut templates, 1, &1u64.to_le_bytes()));
        assert!(finds(&mut templates, 9999, b"new"));
        assert!(!finds(&mut templates, 9999, b"old"), "the same hash is not the same text");
        templates.put_without_plan(9999);
        assert!(templates.find(9999, b"new").is_some_and(|plan| plan.is_none()));
    }

    #[test]
    fn bytes_are_bounded_and_given_back() {
        let mut templates = Templates::default();
        let long = text(&vec![7u8; BYTES_MAX / 20]);
        for key in 0..20 {
            templates.put(key, Arc::clone(&long), "plan");
            assert!(templates.bytes <= BYTES_MAX);
        }
        assert_eq!(templates.entries.len(), 3);
        let before = templates.bytes;
        assert_eq!(*templates.put(18, text(b"short"), "other"), "other");
        assert!(templates.bytes < before);
        templates.put_without_plan(1);
        templates.retain(|plan| *plan == "other");
        assert!(templates.find(18, b"short").is_some() && templates.find(1, b"any").is_some());
        assert!(templates.find(19, &long).is_none());
        for key in 0..20 {
            templates.remove(key);
        }
        assert_eq!(templates.bytes, 0);
    }
}
