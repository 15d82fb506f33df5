//! What is asked of servers and clients, and what servers answer. Statements in the texts are those that a driver sends.

use crate::ids::ServerNumber;

/// What was decided.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// All branches commit.
    Commit,
    /// All branches roll back.
    Abort,
}

/// The connection that a request goes to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Link {
    /// The one on which the transaction's branch at that server was begun. When it has ended, the answer is [`Answer::Lost`].
    Own,
    /// Any other one.
    Other,
}

/// A request to a server, about one transaction. A driver may send several statements for it at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Request {
    /// `INSERT` of the branch's row, `XA END`, `XA PREPARE`.
    Prepare,
    /// `INSERT` of the decision to commit in the anchor's open transaction, after the row of the front door's incarnation was
    /// locked shared and found unchanged.
    InsertDecision {
        /// The servers whose branches prepare: those that must be proven to be committed before the decision is deleted.
        branches: Vec<ServerNumber>,
    },
    /// `COMMIT`; of a branch that is not prepared `XA END`, `XA COMMIT ... ONE PHASE`.
    Commit,
    /// `ROLLBACK`; of a branch that is not prepared `XA END`, `XA ROLLBACK`.
    RollBack,
    /// `XA COMMIT` of a prepared branch.
    CommitPrepared,
    /// `XA ROLLBACK` of a prepared branch.
    RollBackPrepared,
    /// A transaction of its own that inserts the decision to abort, under the key of the other decision, and commits. An open
    /// insertion of that key is waited for.
    InsertAbort {
        /// Only if the row of the front door's incarnation is unchanged: the transaction's client hangs on the answer.
        unless_fenced: bool,
    },
    /// A plain read of the decision.
    ReadDecision,
    /// A plain read of the branch's row.
    ReadBranch,
    /// `DELETE` of the decision.
    DeleteDecision,
    /// `DELETE` of the branch's row.
    DeleteBranch,
}

/// What a server answered to a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// An error: it is not done, and the branch may be open.
    Refused,
    /// The connection ended, or there was none: it is done, or not, or will be done later.
    Lost,
    /// [`Request::InsertDecision`], [`Request::InsertAbort`]: the key is there, with this decision.
    Exists(Outcome),
    /// The row of the front door has another incarnation: it may decide nothing any more.
    Fenced,
    /// [`Request::CommitPrepared`], [`Request::RollBackPrepared`]: `XAER_NOTA`. It proves nothing.
    UnknownBranch,
    /// [`Request::ReadBranch`], [`Request::ReadDecision`]: the row is there.
    Found,
    /// The row is not there.
    Absent,
}

/// What the client of a transaction is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ClientAnswer {
    /// It is committed.
    Committed {
        /// Branches that have not confirmed it: they keep their locks until recovery ends them. More than 0 is a warning.
        unconfirmed: usize,
    },
    /// It is rolled back, an error.
    RolledBack,
    /// Nobody can say now whether it is committed: an error with the transaction's id.
    Unknown,
}

/// What to do next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Send a request.
    Ask {
        /// To whom.
        server: ServerNumber,
        /// Over which connection.
        link: Link,
        /// What.
        request: Request,
    },
    /// The same after a pause: it has been asked before without an answer.
    AskAgain {
        /// To whom.
        server: ServerNumber,
        /// What. Over any connection but the transaction's own.
        request: Request,
    },
    /// Answer the client.
    AnswerClient(ClientAnswer),
}

impl Step {
    pub(crate) fn own(server: ServerNumber, request: Request) -> Step {
        Step::Ask { server, link: Link::Own, request }
    }

    pub(crate) fn other(server: ServerNumber, request: Request) -> Step {
        Step::Ask { server, link: Link::Other, request }
    }
}
