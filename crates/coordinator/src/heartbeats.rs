//! Which servers have lost rows: restored from an older backup, or a replica that was promoted behind its source.

use crate::ids::ServerNumber;
use crate::planted;
use std::collections::{BTreeMap, BTreeSet};

/// The highest heartbeat numbers that any front door has read or written, and the servers that fell behind theirs.
///
/// Each server keeps a number that front doors count up. It is read at each login, before anything is asked. The highest numbers and
/// the servers that fell behind are kept on the home servers of the fleet: a front door that starts reads them first, and one that has
/// counted writes there before it counts again. What was committed after the last count and lost is not noticed: that needs
/// replication that loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    highest: BTreeMap<ServerNumber, u64>,
    behind: BTreeSet<ServerNumber>,
}

impl Heartbeats {
    /// The highest number that is known of a server: to be taken before the server's own is asked for, since another front door may count
    /// up while the answer is under way.
    #[must_use]
    pub fn highest(&self, server: ServerNumber) -> u64 {
        self.highest.get(&server).copied().unwrap_or(0)
    }

    /// A number that a server answered, with the highest that was known before it was asked. False: it has lost rows, and is not to be
    /// used until somebody has looked after it, whatever number it shows later.
    #[must_use]
    pub fn accept(&mut self, server: ServerNumber, known_before: u64, number: u64) -> bool {
        if number < known_before {
            self.behind.insert(server);
        }
        let highest = self.highest.entry(server).or_default();
        *highest = number.max(*highest);
        !self.behind.contains(&server) || planted::is(planted::Plant::TrustOldRows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_goes_back_stays_refused_even_when_it_is_counted_up_again() {
        let mut heartbeats = Heartbeats::default();
        let (one, two) = (ServerNumber(1), ServerNumber(2));
        assert!(heartbeats.accept(one, 0, 5) && heartbeats.accept(one, 5, 5) && heartbeats.accept(two, 0, 1));
        assert!(
            !heartbeats.accept(one, 5, 4) && !heartbeats.accept(one, 4, 4) && !heartbeats.accept(one, 5, 6)
        );
        assert!(heartbeats.accept(two, 1, 2));
    }

    #[test]
    fn an_answer_that_another_front_doors_count_overtakes_is_no_loss() {
        let mut heartbeats = Heartbeats::default();
        let one = ServerNumber(1);
        let known = heartbeats.highest(one);
        assert!(heartbeats.accept(one, 0, 42));
        assert!(heartbeats.accept(one, known, 41));
        assert_eq!(heartbeats.highest(one), 42);
    }
}
