//! Which servers have lost rows: restored from an older backup, or a replica that was promoted behind its source.

use crate::ids::ServerNumber;
use crate::planted;
use std::collections::BTreeMap;

/// The highest heartbeat numbers that any front door has seen.
///
/// Each server keeps a number that front doors count up. It is read at each login, before anything is asked. What was
/// committed after the last count and lost is not noticed: that needs replication that loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Heartbeats {
    seen: BTreeMap<ServerNumber, u64>,
}

impl Heartbeats {
    /// A number that was read from a server or written to it. False: the server has lost rows and is not to be used.
    #[must_use]
    pub fn accept(&mut self, server: ServerNumber, number: u64) -> bool {
        let seen = self.seen.entry(server).or_default();
        let is_current = number >= *seen;
        *seen = number.max(*seen);
        is_current || planted::is(planted::Plant::TrustOldRows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_goes_back_stays_refused() {
        let mut heartbeats = Heartbeats::default();
        let (one, two) = (ServerNumber(1), ServerNumber(2));
        assert!(heartbeats.accept(one, 5) && heartbeats.accept(one, 5) && heartbeats.accept(two, 1));
        assert!(!heartbeats.accept(one, 4) && !heartbeats.accept(one, 4));
        assert!(heartbeats.accept(two, 2));
    }
}
