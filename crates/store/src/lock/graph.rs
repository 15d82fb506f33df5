//! The wait-for graph: an edge from each waiting transaction to each transaction it waits for.
//!
//! In a record's queue the first waiter waits for the conflicting holders, and every other one for the waiter before
//! it, since it cannot be granted earlier. So a queue of n waiters has about n edges, and a transaction for which none
//! waits cannot close a cycle. Most newcomers to a long queue are such.
//!
//! A cycle may therefore lead through waiters that merely stand in a queue. Without such a waiter, the one behind it
//! would wait for the one before it (unless that one shares the lock and it does not). Rolling it back would resolve
//! nothing, so it is never the victim.
//!
//! A scan that yields to writers (`WaitInfo::yields`) waits for them like any other, but does not need to: a cycle
//! through it is not a deadlock. The scan is woken and continues.
//!
//! Invariants:
//! 1. `waited_for` counts the edges that lead to a transaction and has no zeros.
//! 2. The graph has no cycle while its mutex is free.

use super::waiting::{WaitOutcome, Waiting};
use crate::ids::TxnId;
use crate::planted::{self, Plant};
use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;
use std::sync::Arc;

/// The transactions that a waiter waits for.
pub(crate) type WaitsFor = SmallVec<[TxnId; 4]>;

#[derive(Debug)]
struct Node {
    waits_for: WaitsFor,
    waiting: Arc<Waiting>,
}

/// A cycle that was broken.
#[derive(Clone, Debug)]
pub(crate) struct DeadlockCycle {
    /// The transactions in it, each waiting for the next one, the last for the first.
    pub(crate) members: Vec<Arc<Waiting>>,
    /// The descriptions of their owners then.
    pub(crate) descriptions: Vec<Vec<u8>>,
    /// The victim.
    pub(crate) victim: TxnId,
}

#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: HashMap<TxnId, Node, foldhash::fast::FixedState>,
    waited_for: HashMap<TxnId, u32, foldhash::fast::FixedState>,
    last_cycle: Option<DeadlockCycle>,
}

impl Graph {
    /// Enters that a transaction waits for `holders`. Each cycle that closes is broken: a transaction in it that yields
    /// continues; if none does, the one that changed the least is the victim, the newcomer if no other changed less. If
    /// the newcomer is the victim, nothing is entered and the transactions that it would have waited for are returned.
    pub(crate) fn wait(
        &mut self,
        waiting: &Arc<Waiting>,
        holders: WaitsFor,
        describe: &dyn Fn(u64) -> Vec<u8>,
    ) -> Result<(), TxnId> {
        let own = waiting.info.txn;
        while let Some(path) = self.path(&holders, own) {
            let mut members = vec![Arc::clone(waiting)];
            members.extend(path.iter().map(|txn| Arc::clone(&self.nodes[txn].waiting)));
            if let Some(goes_on) = members.iter().find(|member| member.info.yields) {
                if goes_on.info.txn == own {
                    return Err(path[0]);
                }
                self.remove(goes_on.info.txn);
                goes_on.finish(WaitOutcome::Granted);
                continue;
            }
            let victim = victim_of(&members).map_or(own, |member| member.info.txn);
            let descriptions = members.iter().map(|member| describe(member.info.owner)).collect();
            self.last_cycle = Some(DeadlockCycle { members, descriptions, victim });
            if victim == own {
                return Err(path[0]);
            }
            if let Some(node) = self.remove(victim) {
                node.waiting.finish(WaitOutcome::Victim);
            }
        }
        for &holder in &holders {
            *self.waited_for.entry(holder).or_insert(0) += 1;
        }
        self.nodes.insert(own, Node { waits_for: holders, waiting: Arc::clone(waiting) });
        Ok(())
    }

    /// Enters again what a waiter waits for, after a transaction has left the queue that may still run or wait
    /// elsewhere.
    pub(crate) fn renew(&mut self, waiter: TxnId, holders: WaitsFor) {
        if let Some(node) = self.remove(waiter)
            && self.wait(&node.waiting, holders, &|_| Vec::new()).is_err()
        {
            node.waiting.finish(if node.waiting.info.yields {
                WaitOutcome::Granted
            } else {
                WaitOutcome::Victim
            });
        }
    }

    /// Adds an edge from a waiter to a transaction that does not wait itself now.
    pub(crate) fn waits_also(&mut self, waiter: TxnId, holder: TxnId) {
        if let Some(node) = self.nodes.get_mut(&waiter)
            && !node.waits_for.contains(&holder)
        {
            node.waits_for.push(holder);
            *self.waited_for.entry(holder).or_insert(0) += 1;
        }
    }

    /// Removes all edges from `waiter`.
    pub(crate) fn stop(&mut self, waiter: TxnId) {
        self.remove(waiter);
    }

    /// The last cycle that was broken.
    pub(crate) fn last_cycle(&self) -> Option<&DeadlockCycle> {
        self.last_cycle.as_ref()
    }

    fn remove(&mut self, waiter: TxnId) -> Option<Node> {
        let node = self.nodes.remove(&waiter)?;
        for holder in &node.waits_for {
            if let Some(count) = self.waited_for.get_mut(holder) {
                *count -= 1;
                if *count == 0 {
                    self.waited_for.remove(holder);
                }
            }
        }
        Some(node)
    }

    /// A shortest path from one of `from` to `to`: the transactions on it, all of them waiting, without `to`.
    fn path(&self, from: &[TxnId], to: TxnId) -> Option<Vec<TxnId>> {
        if !self.waited_for.contains_key(&to) || planted::is(Plant::MissDeadlock) {
            return None;
        }
        // Each with the index of the node it was reached from.
        let mut reached: Vec<(TxnId, usize)> = from.iter().map(|&txn| (txn, usize::MAX)).collect();
        let mut seen: HashSet<TxnId, foldhash::fast::FixedState> = from.iter().copied().collect();
        let mut next = 0;
        while let Some(&(txn, _)) = reached.get(next) {
            let node = self.nodes.get(&txn);
            for &further in node.map_or(&[][..], |node| &node.waits_for) {
                if further == to {
                    let mut path = Vec::new();
                    let mut at = next;
                    while at != usize::MAX {
                        path.push(reached[at].0);
                        at = reached[at].1;
                    }
                    path.reverse();
                    return Some(path);
                }
                if seen.insert(further) {
                    reached.push((further, next));
                }
            }
            next += 1;
        }
        None
    }
}

/// The victim whose rollback breaks the cycle at the least cost: of several that changed equally little one that holds
/// no lock, and of these the first one, which is also the choice of `min_by_key`.
fn victim_of(cycle: &[Arc<Waiting>]) -> Option<&Arc<Waiting>> {
    let behind = cycle.iter().cycle().skip(cycle.len() - 1);
    let helps =
        |(member, behind): &(&Arc<Waiting>, &Arc<Waiting>)| !behind.info.is_only_queued_behind(&member.info);
    cycle
        .iter()
        .zip(behind)
        .filter(helps)
        .map(|(member, _)| member)
        .min_by_key(|member| (member.info.weight, !member.info.holds_nothing))
}

#[cfg(test)]
mod tests {
    use super::super::waiting::{LockMode, WaitInfo};
    use super::*;
    use smallvec::smallvec;

    fn waiting(txn: u64, weight: u64) -> Arc<Waiting> {
        at(txn, weight, &txn.to_le_bytes())
    }

    /// Waits for the record at `key`.
    fn at(txn: u64, weight: u64, key: &[u8]) -> Arc<Waiting> {
        Waiting::new(WaitInfo { txn: TxnId(txn), weight, key: key.into(), ..WaitInfo::default() })
    }

    fn nothing(_owner: u64) -> Vec<u8> {
        Vec::new()
    }

    #[test]
    fn the_newcomer_is_the_victim_if_all_changed_as_much() {
        let mut graph = Graph::default();
        let wait = |graph: &mut Graph, txn, holders| graph.wait(&waiting(txn, 5), holders, &nothing);
        assert_eq!(wait(&mut graph, 1, smallvec![TxnId(2), TxnId(9)]), Ok(()));
        assert_eq!(wait(&mut graph, 2, smallvec![TxnId(3)]), Ok(()));
        assert!(graph.last_cycle().is_none());
        assert_eq!(wait(&mut graph, 3, smallvec![TxnId(8), TxnId(1)]), Err(TxnId(1)));
        let cycle = graph.last_cycle().expect("it closed");
        let members: Vec<u64> = cycle.members.iter().map(|member| member.info.txn.0).collect();
        assert_eq!((members, cycle.victim), (vec![3, 1, 2], TxnId(3)));
        graph.stop(TxnId(2));
        assert_eq!(wait(&mut graph, 3, smallvec![TxnId(1)]), Ok(()));
        for txn in 1..4 {
            graph.stop(TxnId(txn));
        }
        assert!(graph.nodes.is_empty() && graph.waited_for.is_empty(), "{graph:?}");
    }

    #[test]
    fn the_transaction_with_the_fewest_changes_is_the_victim() {
        let mut graph = Graph::default();
        let small = waiting(2, 1);
        assert_eq!(graph.wait(&waiting(1, 7), smallvec![TxnId(2)], &nothing), Ok(()));
        assert_eq!(graph.wait(&small, smallvec![TxnId(3)], &nothing), Ok(()));
        assert_eq!(graph.wait(&waiting(3, 7), smallvec![TxnId(1)], &nothing), Ok(()));
        assert_eq!(graph.last_cycle().map(|cycle| cycle.victim), Some(TxnId(2)));
        assert_eq!(small.outcome(), WaitOutcome::Victim);
    }

    #[test]
    fn a_transaction_without_locks_is_the_first_victim() {
        let mut graph = Graph::default();
        let empty =
            Waiting::new(WaitInfo { holds_nothing: true, for_range: true, ..waiting(2, 0).info.clone() });
        assert_eq!(graph.wait(&waiting(1, 0), smallvec![TxnId(2)], &nothing), Ok(()));
        assert_eq!(graph.wait(&empty, smallvec![TxnId(3)], &nothing), Ok(()));
        assert_eq!(graph.wait(&waiting(3, 0), smallvec![TxnId(1)], &nothing), Ok(()));
        assert_eq!(empty.outcome(), WaitOutcome::Victim);
    }

    #[test]
    fn an_edge_entered_later_counts() {
        let mut graph = Graph::default();
        assert_eq!(graph.wait(&waiting(1, 0), smallvec![TxnId(2)], &nothing), Ok(()));
        graph.waits_also(TxnId(1), TxnId(3));
        assert_eq!(graph.wait(&waiting(3, 0), smallvec![TxnId(1)], &nothing), Err(TxnId(1)));
    }

    #[test]
    fn a_transaction_that_is_no_longer_waited_for_closes_no_cycle() {
        let mut graph = Graph::default();
        assert_eq!(graph.wait(&waiting(1, 0), smallvec![TxnId(2), TxnId(3)], &nothing), Ok(()));
        graph.renew(TxnId(1), smallvec![TxnId(3)]);
        assert_eq!(graph.wait(&waiting(2, 0), smallvec![TxnId(1)], &nothing), Ok(()));
    }

    #[test]
    fn a_cycle_behind_a_waiter_that_left_is_found() {
        // Three waits for three things: 3 gives up, and then 4 waits for 2 and so for 1.
        let mut graph = Graph::default();
        let last = waiting(4, 1);
        assert_eq!(graph.wait(&waiting(2, 9), smallvec![TxnId(1)], &nothing), Ok(()));
        assert_eq!(graph.wait(&waiting(3, 0), smallvec![TxnId(2)], &nothing), Ok(()));
        assert_eq!(graph.wait(&last, smallvec![TxnId(3)], &nothing), Ok(()));
        assert_eq!(graph.wait(&waiting(1, 9), smallvec![TxnId(4)], &nothing), Ok(()));
        assert_eq!(
            (graph.last_cycle().map(|cycle| cycle.victim), last.outcome()),
            (Some(TxnId(3)), WaitOutcome::Pending)
        );
        graph.renew(TxnId(4), smallvec![TxnId(2)]);
        assert_eq!(last.outcome(), WaitOutcome::Victim);
    }

    #[test]
    fn a_waiter_that_only_queues_is_never_the_victim() {
        // 1 holds A; 2, 3 and 4 wait for it one behind the other; 4 holds B, and 1 wants it.
        let mut graph = Graph::default();
        let queue = [at(2, 0, b"A"), at(3, 0, b"A"), at(4, 5, b"A")];
        for (waiting, before) in queue.iter().zip(1..) {
            assert_eq!(graph.wait(waiting, smallvec![TxnId(before)], &nothing), Ok(()));
        }
        assert_eq!(graph.wait(&at(1, 9, b"B"), smallvec![TxnId(4)], &nothing), Ok(()));
        assert_eq!(graph.last_cycle().map(|cycle| cycle.victim), Some(TxnId(4)));
        assert_eq!(
            queue.map(|waiting| waiting.outcome()),
            [WaitOutcome::Pending, WaitOutcome::Pending, WaitOutcome::Victim]
        );
    }

    #[test]
    fn a_waiter_that_blocks_a_reader_may_be_the_victim() {
        // 1 shares A; 2 wants it alone; 3 would share it but stands behind 2, and has B, which 1 wants.
        let mut graph = Graph::default();
        let alone = at(2, 0, b"A");
        let info = WaitInfo { mode: LockMode::Shared, ..at(3, 5, b"A").info.clone() };
        assert_eq!(graph.wait(&alone, smallvec![TxnId(1)], &nothing), Ok(()));
        assert_eq!(graph.wait(&Waiting::new(info), smallvec![TxnId(2)], &nothing), Ok(()));
        assert_eq!(graph.wait(&at(1, 9, b"B"), smallvec![TxnId(3)], &nothing), Ok(()));
        assert_eq!(alone.outcome(), WaitOutcome::Victim);
    }

    #[test]
    fn two_that_share_a_lock_and_both_want_it_exclusively_are_a_deadlock() {
        let mut graph = Graph::default();
        let wants = |txn, weight| {
            let info = WaitInfo { txn: TxnId(txn), weight, has_lock: true, ..WaitInfo::default() };
            Waiting::new(info)
        };
        let first = wants(1, 0);
        assert_eq!(graph.wait(&first, smallvec![TxnId(2)], &nothing), Ok(()));
        assert_eq!(graph.wait(&wants(2, 3), smallvec![TxnId(1)], &nothing), Ok(()));
        assert_eq!(first.outcome(), WaitOutcome::Victim);
    }
}
