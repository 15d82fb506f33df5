//! Leaves of a tree drawn at random, each as likely as any other, for statistics.
//!
//! A descent that takes any child of each node alike comes to a leaf the more often, the fewer children the nodes above it have. So it is
//! taken with a probability that grows with the product of these numbers, its *weight* (Olken, Rotem 1989), against the heaviest that was met: no
//! numbers are kept in nodes. The mean weight of descents is the number of leaves.

use std::sync::Arc;

use env::random::Rng;

use crate::btree::node;
use crate::error::StoreError;
use crate::pager::PageMiss;
use crate::pager::frame::SharedGuard;
use crate::store::Store;
use crate::trees::{Tree, TreeState};

/// Descents before the first leaf is taken: they find how heavy leaves are.
const PILOT_DESCENTS: u32 = 64;
/// A descent that writers changed the nodes of begins again so often at most.
const RESTARTS_MAX: u32 = 100;

/// Draws leaves of one tree.
#[derive(Debug)]
pub struct LeafDraw {
    store: Store,
    tree: Arc<TreeState>,
    random: Rng,
    heaviest: f64,
    weights: f64,
    descents: u32,
}

impl Store {
    /// Begins to draw leaves of a tree; the same seed draws the same leaves of the same tree.
    #[must_use]
    pub fn draw_leaves(&self, tree: &Tree, seed: u64) -> LeafDraw {
        LeafDraw {
            store: self.clone(),
            tree: Arc::clone(&tree.state),
            random: Rng::new(seed),
            heaviest: 1.0,
            weights: 0.0,
            descents: 0,
        }
    }
}

impl LeafDraw {
    /// One descent. If its leaf is taken, and wanted, gives `record` the keys and newest values, committed or not, of `run_max` neighbouring records
    /// that are not deleted, from a random one on; of all records if there are no more. Answers whether it was. `wants` is asked with the leaf's number; it and
    /// `record` run while the leaf is latched.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn draw(
        &mut self,
        run_max: usize,
        wants: &mut dyn FnMut(u64) -> bool,
        record: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<bool, StoreError> {
        self.leaf_count()?;
        let (chance, mut random) = (share(&mut self.random), self.random.fork());
        let Some(guard) = self.descend(chance)? else { return Ok(false) };
        let body = guard.body();
        let (leaf, record_count) = (hash(node::lower_fence(body)), node::count(body));
        if !wants(leaf) {
            return Ok(false);
        }
        let first = if record_count > run_max { random.index(record_count - run_max + 1) } else { 0 };
        let mut key = node::prefix(body).to_vec();
        let prefix_len = key.len();
        for index in first..record_count.min(first.saturating_add(run_max)) {
            let (_, suffix, value) = node::record(body, index);
            let Some(value) = value else { continue };
            key.truncate(prefix_len);
            key.extend_from_slice(suffix);
            record(&key, value);
        }
        Ok(true)
    }

    /// About how many leaves the tree has.
    ///
    /// # Errors
    /// Reading a page failed; the tree is gone.
    pub fn leaf_count(&mut self) -> Result<f64, StoreError> {
        while self.descents < PILOT_DESCENTS {
            self.descend(f64::INFINITY)?;
        }
        Ok((self.weights / f64::from(self.descents)).max(1.0))
    }

    /// Goes down to a leaf, and latches it if its share of the heaviest weight is above `chance`.
    fn descend(&mut self, chance: f64) -> Result<Option<SharedGuard<'_>>, StoreError> {
        let LeafDraw { store, tree, random, heaviest, weights, descents } = self;
        let inner = &*store.inner;
        if tree.is_dropped() {
            return Err(StoreError::TreeGone(tree.id()));
        }
        // The same way again after a page was read: otherwise pages in memory would be likelier.
        let (way, mut weight, mut restarts) = (random.fork(), 1.0, 0);
        let guard = inner.with_tree(tree, || {
            loop {
                let mut random = way.clone();
                let mut takes = |own: f64| {
                    weight = own;
                    chance * heaviest.max(own) < own
                };
                match tree.root.chosen_leaf(&inner.pool, &mut |count| random.index(count), &mut takes) {
                    Err(PageMiss::Gone) if restarts < RESTARTS_MAX => restarts += 1,
                    Err(PageMiss::Gone) => return Ok(None),
                    other => return other,
                }
            }
        })?;
        *heaviest = heaviest.max(weight);
        *weights += weight;
        *descents = descents.saturating_add(1);
        Ok(guard)
    }
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// From 0 up to, not including, 1.
fn share(random: &mut Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::TreeId;
    use crate::lock::LockWait;
    use crate::store::Options;
    use std::path::Path;

    fn store() -> Store {
        let world = env::simulated::SimWorld::new(1);
        let options = Options { background_threads: false, ..Options::default() };
        Store::open(world.env(), Path::new("/data"), options).unwrap()
    }

    /// Keys at one end of the tree lie a hundred to a leaf, those at the other end two to a leaf; some ranges are dense with nodes.
    fn skewed(store: &Store) -> Tree {
        let tree = store.tree(TreeId::DICTIONARY).unwrap();
        let mut txn = store.begin();
        for number in 0..60_000_u32 {
            let value = if number < 20_000 { 3 } else { 40 };
            let key = [
                &number.wrapping_mul(if number < 40_000 { 1 } else { 2_654_435_761 }).to_be_bytes()[..],
                &number.to_be_bytes(),
            ]
            .concat();
            txn.put(&tree, &key, &vec![7; value], LockWait::Nowait).unwrap();
        }
        txn.commit().unwrap();
        let mut txn = store.begin();
        for number in 0..1_500_u32 {
            let key = [&[0xff; 4][..], &number.to_be_bytes()].concat();
            txn.put(&tree, &key, &vec![7; 3_000], LockWait::Nowait).unwrap();
        }
        txn.commit().unwrap();
        tree
    }

    /// Each leaf is as likely as any other, however full the nodes above it: the chi-square statistic of the numbers of draws is near the
    /// number of leaves.
    #[test]
    fn leaves_of_a_skewed_tree_are_drawn_alike() {
        let store = store();
        let tree = skewed(&store);
        let leaves = store.check_tree(&tree).unwrap().0;
        let mut draw = store.draw_leaves(&tree, 5);
        let mut drawn = std::collections::HashMap::new();
        let (mut taken, mut descents) = (0_u32, 0);
        while taken < 20 * leaves as u32 {
            descents += 1;
            let mut leaf = 0;
            let wants = &mut |drawn| {
                leaf = drawn;
                true
            };
            if draw.draw(1, wants, &mut |_, _| {}).unwrap() {
                taken += 1;
                *drawn.entry(leaf).or_insert(0_u32) += 1;
            }
        }
        assert_eq!(drawn.len() as u64, leaves, "every leaf is drawn");
        let expected = f64::from(taken) / leaves as f64;
        let chi: f64 = drawn.values().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
        let freedom = leaves as f64 - 1.0;
        println!("{leaves} leaves, {descents} descents, chi-square {chi:.0}");
        assert!((chi - freedom).abs() < 6.0 * (2.0 * freedom).sqrt(), "chi-square {chi} of {freedom}");
        assert!(descents < 8 * taken, "{descents} descents for {taken} leaves");
        let found = draw.leaf_count().unwrap();
        assert!((found / leaves as f64 - 1.0).abs() < 0.1, "{found} leaves of {leaves}");
    }

    #[test]
    fn runs_hold_neighbours_and_all_of_a_small_leaf() {
        let store = store();
        let tree = store.tree(TreeId::DICTIONARY).unwrap();
        let mut draw = store.draw_leaves(&tree, 1);
        assert!(draw.draw(9, &mut |_| true, &mut |_, _| panic!("no record")).unwrap());
        let mut txn = store.begin();
        for number in 0..50_u32 {
            txn.put(&tree, &number.to_be_bytes(), b"v", LockWait::Nowait).unwrap();
        }
        txn.commit().unwrap();
        let mut begins = std::collections::HashSet::new();
        for _ in 0..400 {
            let mut keys = Vec::new();
            draw.draw(10, &mut |_| true, &mut |key, _| {
                keys.push(u32::from_be_bytes(key.try_into().unwrap()));
            })
            .unwrap();
            assert_eq!(keys.len(), 10);
            assert!(keys.windows(2).all(|pair| pair[0] + 1 == pair[1]));
            begins.insert(keys[0]);
        }
        assert_eq!(begins.len(), 41);
        assert_eq!(draw.leaf_count().unwrap(), 1.0);
    }
}
