//! Deletion of decisions that nobody will ask for, and of the rows of their branches.

use crate::ids::{FrontDoor, ServerNumber, TransactionId};
use crate::planted::{self, Plant};
use crate::protocol::{Answer, Outcome, Request, Step};

/// A row of the table of decisions.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DecisionRow {
    /// Of which transaction.
    pub id: TransactionId,
    /// What was decided.
    pub outcome: Outcome,
    /// Of a commit: the servers with prepared branches.
    pub branches: Vec<ServerNumber>,
    /// The incarnation that the front door's row has on the same server.
    pub incarnation: u32,
}

impl DecisionRow {
    /// Whether this front door may delete the decision: it is one of its own, whose commit has ended, or its front door is fenced
    /// here and cannot ask for it any more. Whether the commit is active is to be looked up after this row has arrived.
    #[must_use]
    pub fn may_be_deleted(&self, by: FrontDoor, is_active: bool) -> bool {
        let owner = self.id.front_door;
        (owner == by && !is_active)
            || owner.incarnation < self.incarnation
            || planted::is(Plant::DeleteOfOthers)
    }
}

/// The deletion of one decision, or of the row of a branch whose decision is gone.
#[derive(Clone, Debug)]
pub struct Cleanup {
    id: TransactionId,
    /// Of each branch whether its commit is proven.
    branches: Vec<(ServerNumber, bool)>,
}

impl Cleanup {
    /// Begins to delete a decision, with the first steps.
    #[must_use]
    pub fn of_decision(row: &DecisionRow) -> (Cleanup, Vec<Step>) {
        let is_early = planted::is(Plant::DeleteEarly);
        let branches = match row.outcome {
            Outcome::Commit => row.branches.iter().map(|&server| (server, is_early)).collect(),
            Outcome::Abort => Vec::new(),
        };
        let cleanup = Cleanup { id: row.id, branches };
        let mut steps: Vec<Step> = Vec::new();
        if !is_early {
            let reads = cleanup.branches.iter().map(|&(server, _)| Step::other(server, Request::ReadBranch));
            steps.extend(reads);
        }
        if steps.is_empty() {
            steps.push(Step::other(row.id.anchor, Request::DeleteDecision));
        }
        (cleanup, steps)
    }

    /// Begins to delete the visible row of a branch, if its decision is gone: since the row is visible the decision was there, so
    /// that its absence needs no lock here.
    #[must_use]
    pub fn of_branch(id: TransactionId, server: ServerNumber) -> (Cleanup, Step) {
        let cleanup = Cleanup { id, branches: vec![(server, true)] };
        (cleanup, Step::other(id.anchor, Request::ReadDecision))
    }

    /// The transaction.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// Takes an answer to a step. When nothing is awaited this attempt has ended: what is still there is found again.
    pub fn answered(&mut self, server: ServerNumber, request: &Request, answer: Answer) -> Vec<Step> {
        match (request, answer) {
            (Request::DeleteDecision, Answer::Done) | (Request::ReadDecision, Answer::Absent) => {
                let delete = |branch: &(ServerNumber, bool)| Step::other(branch.0, Request::DeleteBranch);
                return self.branches.iter().map(delete).collect();
            }
            (Request::ReadBranch, Answer::Absent) => {
                return vec![Step::other(server, Request::CommitPrepared)];
            }
            (Request::ReadBranch, Answer::Found) | (Request::CommitPrepared, Answer::Done) => {}
            (Request::CommitPrepared, Answer::UnknownBranch) if planted::is(Plant::TrustUnknownBranch) => {}
            _ => return Vec::new(),
        }
        if let Some(branch) = self.branches.iter_mut().find(|branch| branch.0 == server) {
            branch.1 = true;
        }
        let all_are_proven = self.branches.iter().all(|branch| branch.1);
        if all_are_proven { vec![Step::other(self.id.anchor, Request::DeleteDecision)] } else { Vec::new() }
    }
}
