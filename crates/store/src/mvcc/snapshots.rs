//! The snapshots in use, so that the oldest is known: one published word each, in groups of a cache line per thread.
//!
//! A reader publishes a commit number no newer than the one it will use, then reads the newest commit number, uses that and
//! says so. Whoever looks for the oldest reads the newest commit number first and the words after it. So either it sees the reader's
//! word, or its own bound is not above the number the reader ends up with: what it throws away, that reader never needs.
//!
//! There is no list and no lock: a reader claims any free word of its thread's group by one compare-and-swap, and gives it
//! back by one store. The search for the oldest looks at the words ever used at once, not at connections.

use crate::ids::Csn;
use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::thread_number::thread_number;
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;

const GROUP_WORDS: usize = 8;
/// Groups in the first chunk; each further chunk has twice as many as all before.
const FIRST_GROUPS: usize = 64;
const CHUNKS: usize = 18;
const FREE: u64 = u64::MAX;
/// The number in a word may yet grow: its reader has not said which it uses.
const EARLY: u64 = 1 << 63;

type Group = CachePadded<[AtomicU64; GROUP_WORDS]>;

#[derive(Debug)]
pub(crate) struct Snapshots {
    chunks: [OnceLock<Box<[Group]>>; CHUNKS],
    /// One past the last group ever used.
    used_groups: AtomicU32,
}

/// A claimed word.
#[derive(Debug)]
pub(crate) struct Place {
    group: u32,
    word: u32,
}

fn fresh_group() -> Group {
    CachePadded::new([const { AtomicU64::new(FREE) }; GROUP_WORDS])
}

impl Snapshots {
    pub(crate) fn new() -> Snapshots {
        let snapshots =
            Snapshots { chunks: [const { OnceLock::new() }; CHUNKS], used_groups: AtomicU32::new(0) };
        snapshots.chunks[0].get_or_init(|| std::iter::repeat_with(fresh_group).take(FIRST_GROUPS).collect());
        snapshots
    }

    /// Chunk and place in it of a group: chunk 0 has groups 0..64, chunk 1 64..128, chunk 2 128..256, ...
    fn locate(group: usize) -> (usize, usize) {
        if group < FIRST_GROUPS {
            return (0, group);
        }
        let chunk = (group / FIRST_GROUPS).ilog2() as usize + 1;
        (chunk, group - (FIRST_GROUPS << (chunk - 1)))
    }

    fn group(&self, group: usize) -> Option<&Group> {
        let (chunk, index) = Snapshots::locate(group);
        self.chunks.get(chunk)?.get().map(|chunk| &chunk[index])
    }

    fn group_or_grow(&self, group: usize) -> &Group {
        let (chunk, index) = Snapshots::locate(group);
        let chunk = self.chunks[chunk].get_or_init(|| {
            let groups = FIRST_GROUPS << (chunk - 1);
            std::iter::repeat_with(fresh_group).take(groups).collect()
        });
        &chunk[index]
    }

    /// Publishes a snapshot at (or before) the newest commit; returns it and the place to give back.
    #[inline]
    pub(crate) fn publish(&self, newest: &AtomicU64) -> (Csn, Place) {
        let home = thread_number() % FIRST_GROUPS;
        let mut group = home;
        loop {
            let words = self.group_or_grow(group);
            for (word, place) in words.iter().enumerate() {
                let early = newest.load(Ordering::Relaxed);
                if place.load(Ordering::Relaxed) == FREE
                    && place
                        .compare_exchange(FREE, early | EARLY, Ordering::SeqCst, Ordering::Relaxed)
                        .is_ok()
                {
                    if self.used_groups.load(Ordering::SeqCst) <= group as u32 {
                        self.used_groups.fetch_max(group as u32 + 1, Ordering::SeqCst);
                    }
                    let snapshot = newest.load(Ordering::SeqCst);
                    place.store(snapshot, Ordering::Release);
                    return (Csn(snapshot), Place { group: group as u32, word: word as u32 });
                }
            }
            // This thread has many snapshots open (transactions that wait for their clients): go on behind the homes.
            group = if group < FIRST_GROUPS { FIRST_GROUPS + home } else { group + FIRST_GROUPS };
        }
    }

    #[inline]
    pub(crate) fn give_back(&self, place: &Place) {
        let words = self.group(place.group as usize).expect("claimed before");
        words[place.word as usize].store(FREE, Ordering::Release);
    }

    /// Every snapshot in use or yet to come is at this commit number or later.
    pub(crate) fn oldest(&self, newest: &AtomicU64) -> Csn {
        let mut oldest = newest.load(Ordering::SeqCst);
        for group in 0..self.used_groups.load(Ordering::SeqCst) as usize {
            if let Some(words) = self.group(group) {
                for word in words.iter() {
                    // A free word is above all numbers without its highest bit, too.
                    oldest = oldest.min(word.load(Ordering::SeqCst) & !EARLY);
                }
            }
        }
        Csn(oldest)
    }

    /// Whether any snapshot, now or later, may be at `from` or later and before `to`, which is a commit that has happened. May
    /// say so wrongly.
    pub(crate) fn any_between(&self, from: Csn, to: Csn, newest: &AtomicU64) -> bool {
        if from >= to {
            return false;
        }
        // Whoever publishes behind this look at its word reads the newest commit after it: that is `to` or later.
        if newest.load(Ordering::SeqCst) < to.0 {
            return true;
        }
        let may_be = |word: u64| {
            let number = word & !EARLY;
            word != FREE && number < to.0 && (number >= from.0 || word & EARLY != 0)
        };
        (0..self.used_groups.load(Ordering::SeqCst) as usize)
            .filter_map(|group| self.group(group))
            .any(|words| words.iter().any(|word| may_be(word.load(Ordering::SeqCst))))
    }

    /// How many words a search for the oldest looks at.
    pub(crate) fn used_words(&self) -> usize {
        self.used_groups.load(Ordering::Relaxed) as usize * GROUP_WORDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_between_snapshots_are_found() {
        let snapshots = Snapshots::new();
        let newest = AtomicU64::new(100);
        let (_, old) = snapshots.publish(&newest);
        newest.store(200, Ordering::SeqCst);
        let (_, new) = snapshots.publish(&newest);
        newest.store(300, Ordering::SeqCst);
        let any = |from, to| snapshots.any_between(Csn(from), Csn(to), &newest);
        assert!(any(50, 101) && any(100, 101) && any(150, 300) && any(200, 201) && any(0, 300));
        assert!(!any(50, 100) && !any(101, 200) && !any(201, 300) && !any(150, 150));
        assert!(any(250, 301), "a commit that is yet to come");
        snapshots.group(new.group as usize).unwrap()[new.word as usize].store(150 | EARLY, Ordering::SeqCst);
        assert!(any(201, 300) && !any(101, 150), "its reader may use a later one");
        snapshots.give_back(&new);
        assert!(!any(101, 300));
        snapshots.give_back(&old);
        assert!(!any(0, 300));
    }

    #[test]
    fn the_oldest_of_many_is_found_and_places_come_back() {
        let snapshots = Snapshots::new();
        let newest = AtomicU64::new(5_000);
        assert_eq!(snapshots.oldest(&newest), Csn(5_000));
        let mut places = Vec::new();
        for number in 0..3_000 {
            newest.store(5_000 + number, Ordering::SeqCst);
            places.push(snapshots.publish(&newest).1);
        }
        assert_eq!(snapshots.oldest(&newest), Csn(5_000));
        for (number, place) in places.drain(..).enumerate() {
            snapshots.give_back(&place);
            let left = 5_000 + number as u64 + 1;
            if number % 100 == 0 {
                assert_eq!(snapshots.oldest(&newest), Csn(left));
            }
        }
        let before = snapshots.used_words();
        for _ in 0..1_000 {
            let (_, place) = snapshots.publish(&newest);
            snapshots.give_back(&place);
        }
        assert_eq!(snapshots.used_words(), before);
    }
}
