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

/// A request to a server, about one transaction. A driver may send several statements for it at once, if those after a failed one do
/// not run: PREPARE of a branch whose row was not inserted would leave a decision that is never deleted.
///
/// Each branch begins with `START TRANSACTION` or `XA START`, of the anchor then `SAVEPOINT`. A server may have ended the anchor's
/// transaction by itself (error 1213, a definition, a routine that commits): a statement after that would commit alone. So each request
/// to the open anchor is led by `RELEASE SAVEPOINT` and `SAVEPOINT`, whose error 1305 is [`Answer::Refused`].
///
/// Requests over [`Link::Other`] run at READ COMMITTED, so that they lock no gaps, and with a short `innodb_lock_wait_timeout`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Request {
    /// Nothing, of a branch that holds locks: whether it is still there.
    Check,
    /// `INSERT` of the branch's row, `XA END`, `XA PREPARE`.
    Prepare,
    /// `INSERT` of the decision to commit in the anchor's open transaction, after the row of the front door's incarnation was
    /// read `LOCK IN SHARE MODE` and found unchanged.
    InsertDecision {
        /// The servers whose branches prepare: those that must be proven to be committed before the decision is deleted.
        branches: Vec<ServerNumber>,
    },
    /// Anchor: `COMMIT`. XA branch that is not prepared: `XA END`, `XA COMMIT ... ONE PHASE`.
    Commit,
    /// Anchor: `ROLLBACK`. XA branch that is not prepared: `XA END` and, even if that fails, `XA ROLLBACK`.
    RollBack,
    /// `XA COMMIT` of a prepared branch.
    CommitPrepared,
    /// `XA ROLLBACK` of a prepared branch.
    RollBackPrepared,
    /// A transaction of its own that inserts the decision to abort, under the key of the other decision, and commits. An open
    /// insertion of that key is waited for.
    InsertAbort {
        /// Only if the row of the front door's incarnation is unchanged, read `LOCK IN SHARE MODE` in the same transaction: the client
        /// of the transaction is answered by it.
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

/// What a server answered to a request. Each request has exactly one answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer {
    /// It is done.
    Done,
    /// An error that says that it is not done; the branch may be open or gone. Of COMMIT and XA COMMIT that is so of few errors (1205,
    /// 1213, 1290, 1402, 1613, 1614, 3101): any other one is [`Answer::Lost`].
    Refused,
    /// The connection ended, or there was none: it is done, or not, or will be done later.
    Lost,
    /// [`Request::InsertDecision`], [`Request::InsertAbort`], [`Request::ReadDecision`]: the row is there, with this decision.
    Exists(Outcome),
    /// The row of the front door has another incarnation: it may decide nothing any more.
    Fenced,
    /// [`Request::CommitPrepared`], [`Request::RollBackPrepared`]: `XAER_NOTA`. It proves nothing.
    UnknownBranch,
    /// [`Request::ReadBranch`]: the row is there.
    Found,
    /// [`Request::ReadBranch`], [`Request::ReadDecision`]: the row is not there.
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
