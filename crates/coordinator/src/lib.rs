//! Commit of transactions over several servers, as state machines without input and output.
//!
//! The machines say what to ask which server ([`Step`]) and receive what it answered ([`Answer`]); who owns them sends, waits and
//! keeps the time. So the whole protocol runs in the simulator (`sim --workload commits`), and one machine serves every driver.
//!
//! A transaction has a branch on each server that it used. The first of them is its **anchor**: a local transaction of that server
//! (`START TRANSACTION`), in which the decision is written as a row. The others are XA transactions. [`Commit`] goes through it:
//!
//! 1. Each branch that may have changed rows inserts a row of its own with the transaction's id, and prepares; the anchor inserts the
//!    decision, not yet committed. Branches that only read end here; those that hold locks say that they are still there.
//! 2. When all have answered, the anchor commits: that is the moment of the commit.
//! 3. The branches commit, those with locks end, then the client is answered.
//!
//! What goes wrong after the first step is ended by any front door ([`Recovery`], [`Cleanup`]), which finds what is left in
//! XA RECOVER and in the rows of decisions.
//!
//! Invariants:
//! 1. Nobody acts on a branch because no decision is there: whoever wants to know it inserts the opposite one under the same key
//!    ([`Request::InsertAbort`]) and so waits for an open one. Then nobody can decide otherwise.
//! 2. That a server does not know a branch (`XAER_NOTA`) proves nothing: the connection that prepared it may own it still. Only the
//!    row that the branch inserted, when it is visible, proves its commit.
//! 3. A decision is deleted when all branches are proven to be committed, and by its front door alone unless that is fenced
//!    ([`DecisionRow::may_be_deleted`]): who is in doubt about a commit of its own could otherwise insert the opposite one.
//! 4. No decision is right or wrong by a clock. Time is used to be patient, and to give up and answer that the outcome is unknown.
//! 5. A server whose heartbeat number is lower than one seen before has lost rows ([`Heartbeats`]): nothing is asked of it.
//!
//! ```
//! use coordinator::{Answer, ClientAnswer, Commit, FrontDoor, Participant, ServerNumber, Step, TransactionId, Work};
//!
//! let (anchor, other) = (ServerNumber(1), ServerNumber(2));
//! let id = TransactionId { front_door: FrontDoor { number: 1, incarnation: 1 }, sequence: 7, anchor };
//! let changed = |server| Participant { server, work: Work::MayHaveChanged };
//! let (mut commit, asked) = Commit::new(id, &[changed(anchor), changed(other)]);
//! assert_eq!(asked.len(), 2); // The decision at the anchor, PREPARE at the other.
//! commit.answered(anchor, Answer::Done);
//! commit.answered(other, Answer::Done); // Asks the anchor to commit.
//! commit.answered(anchor, Answer::Done); // Asks the other one to.
//! let end = commit.answered(other, Answer::Done);
//! assert_eq!(end, [Step::AnswerClient(ClientAnswer::Committed { unconfirmed: 0 })]);
//! ```

mod cleanup;
mod commit;
mod heartbeats;
mod ids;
#[cfg(not(feature = "planted-bugs"))]
mod planted;
#[cfg(feature = "planted-bugs")]
pub mod planted;
mod protocol;
mod recovery;

pub use cleanup::{Cleanup, DecisionRow};
pub use commit::{Commit, Participant, Work};
pub use heartbeats::Heartbeats;
pub use ids::{Fleet, FrontDoor, ServerNumber, TransactionId, XID_FORMAT, Xid};
pub use protocol::{Answer, ClientAnswer, Link, Outcome, Request, Step};
pub use recovery::{Recovery, Sightings};
