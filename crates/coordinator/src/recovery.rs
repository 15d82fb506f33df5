//! The end of a prepared branch that its own coordinator has not ended.

use crate::ids::{ServerNumber, TransactionId};
use crate::planted::{self, Plant};
use crate::protocol::{Answer, Outcome, Request, Step};
use std::collections::BTreeMap;

/// Which prepared branches to end: those that stand in several XA RECOVER of a server one after the other. That is patience only:
/// ending a branch that its coordinator is about to commit aborts the transaction, and harms nothing else.
#[derive(Clone, Debug, Default)]
pub struct Sightings {
    times: BTreeMap<(ServerNumber, TransactionId), u32>,
}

impl Sightings {
    const ENOUGH: u32 = 2;

    /// Takes the branches that XA RECOVER of a server shows; returns those whose turn has come. The transactions that this front door
    /// coordinates now are to be left out by the caller.
    pub fn seen(&mut self, server: ServerNumber, listed: &[TransactionId]) -> Vec<TransactionId> {
        self.times.retain(|(at, id), _| *at != server || listed.contains(id));
        let mut due = Vec::new();
        for &id in listed {
            let times = self.times.entry((server, id)).or_default();
            *times += 1;
            if *times >= Self::ENOUGH {
                due.push(id);
            }
        }
        due
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// The anchor was asked for the decision.
    Asking,
    /// The branch was asked to end.
    Ending,
    Ended,
}

/// The end of one branch. Any front door may do it, and several at a time.
#[derive(Clone, Debug)]
pub struct Recovery {
    id: TransactionId,
    server: ServerNumber,
    state: State,
}

impl Recovery {
    /// Begins, with the first step.
    #[must_use]
    pub fn new(id: TransactionId, server: ServerNumber) -> (Recovery, Step) {
        let request = if planted::is(Plant::SelectAbsence) {
            Request::ReadDecision
        } else {
            Request::InsertAbort { unless_fenced: false }
        };
        (Recovery { id, server, state: State::Asking }, Step::other(id.anchor, request))
    }

    /// The transaction.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Takes the answer to the last step. `None`: this attempt has ended. A branch that is still there is found again.
    pub fn answered(&mut self, answer: Answer) -> Option<Step> {
        if self.state != State::Asking {
            self.state = State::Ended;
            return None;
        }
        let request = match answer {
            Answer::Done | Answer::Absent | Answer::Exists(Outcome::Abort) => Request::RollBackPrepared,
            Answer::Exists(Outcome::Commit) => Request::CommitPrepared,
            Answer::Refused | Answer::Lost | Answer::Fenced | Answer::UnknownBranch | Answer::Found => {
                self.state = State::Ended;
                return None;
            }
        };
        self.state = State::Ending;
        Some(Step::other(self.server, request))
    }
}
