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
    /// Whether this front door may delete the decision: it is one of its own, which its coordinator has ended, or its front
    /// door is fenced here and cannot ask for it any more.
    #[must_use]
    pub fn may_be_forgotten(&self, by: FrontDoor, is_active: bool) -> bool {
        let owner = self.id.front_door;
        (owner == by && !is_active)
            || owner.incarnation < self.incarnation
            || planted::is(Plant::DeleteOfOthers)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Branch {
    /// It was asked whether its row is visible.
    Reading,
    /// The row is not visible: XA COMMIT was sent.
    Committing,
    Committed,
    Unproven,
    /// The row's deletion was sent.
    Deleting,
    Deleted,
}

/// The deletion of one decision, or of the row of a branch whose decision is gone.
#[derive(Clone, Debug)]
pub struct Cleanup {
    id: TransactionId,
    branches: Vec<(ServerNumber, Branch)>,
}

impl Cleanup {
    /// Begins to delete a decision, with the first steps.
    #[must_use]
    pub fn of_decision(row: &DecisionRow) -> (Cleanup, Vec<Step>) {
        let is_early = planted::is(Plant::DeleteEarly);
        let first = if is_early { Branch::Committed } else { Branch::Reading };
        let branches = match row.outcome {
            Outcome::Commit => row.branches.iter().map(|&server| (server, first)).collect(),
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
        let cleanup = Cleanup { id, branches: vec![(server, Branch::Committed)] };
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
                return self.delete_rows();
            }
            (Request::ReadBranch, Answer::Found) => self.set(server, Branch::Committed),
            (Request::ReadBranch, Answer::Absent) => {
                self.set(server, Branch::Committing);
                return vec![Step::other(server, Request::CommitPrepared)];
            }
            (Request::CommitPrepared, Answer::Done) => self.set(server, Branch::Committed),
            (Request::CommitPrepared, Answer::UnknownBranch) if planted::is(Plant::TrustUnknownBranch) => {
                self.set(server, Branch::Committed);
            }
            (Request::DeleteBranch, Answer::Done) => {
                self.set(server, Branch::Deleted);
                return Vec::new();
            }
            (Request::DeleteBranch | Request::DeleteDecision | Request::ReadDecision, _) => {
                return Vec::new();
            }
            _ => self.set(server, Branch::Unproven),
        }
        let all_committed = self.branches.iter().all(|branch| branch.1 == Branch::Committed);
        if all_committed { vec![Step::other(self.id.anchor, Request::DeleteDecision)] } else { Vec::new() }
    }

    fn set(&mut self, server: ServerNumber, to: Branch) {
        if let Some(branch) = self.branches.iter_mut().find(|branch| branch.0 == server) {
            branch.1 = to;
        }
    }

    fn delete_rows(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (server, branch) in &mut self.branches {
            *branch = Branch::Deleting;
            steps.push(Step::other(*server, Request::DeleteBranch));
        }
        steps
    }
}
