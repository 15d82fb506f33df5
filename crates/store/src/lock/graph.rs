//! The wait-for graph: an edge from each waiting transaction to those it waits for.

use crate::ids::TxnId;
use hashbrown::HashMap;
use smallvec::SmallVec;

#[derive(Debug, Default)]
pub(crate) struct Graph {
    edges: HashMap<TxnId, SmallVec<[TxnId; 4]>, foldhash::fast::FixedState>,
}

impl Graph {
    /// Enters that `waiter` waits for `holders`. If that closes a circle, nothing is entered and the holder through which
    /// the circle goes is returned.
    pub(crate) fn wait(&mut self, waiter: TxnId, holders: SmallVec<[TxnId; 4]>) -> Result<(), TxnId> {
        for &holder in &holders {
            if self.reaches(holder, waiter) {
                return Err(holder);
            }
        }
        self.edges.insert(waiter, holders);
        Ok(())
    }

    /// Removes all that `waiter` waits for.
    pub(crate) fn stop(&mut self, waiter: TxnId) {
        self.edges.remove(&waiter);
    }

    fn reaches(&self, from: TxnId, to: TxnId) -> bool {
        let mut seen: Vec<TxnId> = vec![from];
        let mut next = 0;
        while let Some(&txn) = seen.get(next) {
            if txn == to {
                return true;
            }
            next += 1;
            for &further in self.edges.get(&txn).into_iter().flatten() {
                if !seen.contains(&further) {
                    seen.push(further);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn only_the_last_edge_of_a_circle_is_refused() {
        let mut graph = Graph::default();
        assert_eq!(graph.wait(TxnId(1), smallvec![TxnId(2), TxnId(9)]), Ok(()));
        assert_eq!(graph.wait(TxnId(2), smallvec![TxnId(3)]), Ok(()));
        assert_eq!(graph.wait(TxnId(3), smallvec![TxnId(8), TxnId(1)]), Err(TxnId(1)));
        graph.stop(TxnId(2));
        assert_eq!(graph.wait(TxnId(3), smallvec![TxnId(1)]), Ok(()));
    }
}
