//! The commit of one transaction, by the front door that began it.
//!
//! ```text
//!     at most one branch has changes             two or more
//!                     |                               |
//!        [Checking] branches with locks          [Preparing] -- refused, lost, Fenced, Exists ---+
//!                     |                               | all are ready                            |
//!         [Alone] its COMMIT                     [Deciding] the anchor's COMMIT                  |
//!           |      |      |                           |   | lost    | refused                    |
//!        Done  Refused  Lost                          |   |      [Clearing] its ROLLBACK         |
//!           |      |      |                           |   +---------+                            |
//!   Committed RolledBack Unknown                      | [InDoubt] inserts the abort -- inserted -+
//!                                                     |   |       \-- Fenced: Unknown            |
//!                                                     |   | the commit exists                    |
//!                                                [Committing] the branches              [RollingBack]
//!                                                     |                                          |
//!                                                 Committed                                 RolledBack
//! ```
//!
//! [`Commit::give_up`] ends each of them early.
//!
//! Invariants:
//! 1. Each server has at most one request without an answer.
//! 2. RolledBack is answered only if the anchor's COMMIT was never sent, or the decision to abort is in the table; Committed only if the
//!    anchor has committed.
//! 3. A branch whose connection is lost is left to recovery.

use crate::ids::{ServerNumber, TransactionId};
use crate::planted::{self, Plant};
use crate::protocol::{Answer, ClientAnswer, Outcome, Request, Step};

/// What a branch has done, at most. Who does not know takes the most: a function or a trigger may have changed rows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Work {
    /// It has read, without locks: it ends at once, and if it is lost nothing is.
    Reads,
    /// It holds locks on rows that it has read: they stay until the others have committed.
    Locks,
    /// It may have changed rows.
    MayHaveChanged,
}

/// A server on which the transaction has a branch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Participant {
    /// Which.
    pub server: ServerNumber,
    /// What its branch has done.
    pub work: Work,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It has ended, or nothing can be asked of it any more.
    Ended,
    /// A request without an answer: the branch ends with it.
    Ending,
    /// It has changes, and waits for its COMMIT until the others have been checked.
    Open,
    /// The check of a branch with locks, without an answer.
    Checking,
    /// It holds locks, and is there.
    Locking,
    /// PREPARE, or of the anchor the insertion of the decision, without an answer.
    Preparing,
    /// The branch is prepared, the anchor's decision inserted.
    Ready,
    /// XA COMMIT without an answer.
    Committing,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// At most one branch has changes. Those with locks are asked whether they are there.
    Checking,
    /// That one was asked to commit.
    Alone,
    Preparing,
    /// COMMIT was sent to the anchor.
    Deciding,
    /// The anchor refused COMMIT: what is open there is rolled back, so that the key of the decision is free.
    Clearing,
    InDoubt,
    Committing,
    RollingBack,
    /// The client is answered.
    Ended,
}

/// The commit of a transaction.
#[derive(Clone, Debug)]
pub struct Commit {
    id: TransactionId,
    phase: Phase,
    participants: Vec<(ServerNumber, State)>,
    /// The one branch with changes, of at most one.
    writer: Option<ServerNumber>,
    /// Of it: what its COMMIT came to.
    outcome: ClientAnswer,
    /// Branches that were asked to commit and have not confirmed it.
    unconfirmed: usize,
}

impl Commit {
    /// Begins to commit, with the first steps. The participants are the servers on which the transaction has a branch, each once, among
    /// them its anchor.
    ///
    /// # Panics
    /// If the anchor is not among them, or a server is twice: that would decide without a decision.
    #[must_use]
    pub fn new(id: TransactionId, participants: &[Participant]) -> (Commit, Vec<Step>) {
        let times = |server| participants.iter().filter(|participant| participant.server == server).count();
        assert!(
            times(id.anchor) == 1 && participants.iter().all(|participant| times(participant.server) == 1),
            "{id}: the participants are {participants:?}"
        );
        let mut changed = participants.iter().filter(|participant| participant.work == Work::MayHaveChanged);
        let (first, second) = (changed.next(), changed.next());
        let is_alone = second.is_none();
        let branches: Vec<ServerNumber> = participants
            .iter()
            .filter(|participant| participant.work == Work::MayHaveChanged && participant.server != id.anchor)
            .map(|participant| participant.server)
            .collect();
        let mut commit = Commit {
            id,
            phase: if is_alone { Phase::Checking } else { Phase::Preparing },
            participants: Vec::with_capacity(participants.len()),
            writer: if is_alone { first.map(|participant| participant.server) } else { None },
            outcome: ClientAnswer::Committed { unconfirmed: 0 },
            unconfirmed: 0,
        };
        let mut steps = Vec::with_capacity(participants.len());
        for &Participant { server, work } in participants {
            let (state, request) = match work {
                _ if !is_alone && server == id.anchor => {
                    (State::Preparing, Some(Request::InsertDecision { branches: branches.clone() }))
                }
                Work::MayHaveChanged if is_alone => (State::Open, None),
                Work::MayHaveChanged => (State::Preparing, Some(Request::Prepare)),
                // With no changes anywhere nothing hangs on the locks.
                Work::Locks if is_alone && first.is_none() => (State::Ending, Some(Request::RollBack)),
                Work::Locks if !planted::is(Plant::ReleaseLocksEarly) => {
                    (State::Checking, Some(Request::Check))
                }
                Work::Locks | Work::Reads => (State::Ending, Some(Request::RollBack)),
            };
            commit.participants.push((server, state));
            steps.extend(request.map(|request| Step::own(server, request)));
        }
        commit.commit_alone_if_all_are_there(&mut steps);
        (commit, steps)
    }

    /// The transaction.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        self.id
    }

    /// True when the client has been answered: what is left is for recovery.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.phase == Phase::Ended
    }

    /// Takes a server's answer and says what to do next.
    pub fn answered(&mut self, server: ServerNumber, answer: Answer) -> Vec<Step> {
        let mut steps = Vec::new();
        match self.phase {
            Phase::Checking | Phase::Alone => self.alone(server, answer, &mut steps),
            Phase::Preparing => self.preparing(server, answer, &mut steps),
            Phase::Deciding if server == self.id.anchor => self.decided(answer, &mut steps),
            Phase::Clearing if server == self.id.anchor => self.ask_in_doubt(&mut steps),
            Phase::InDoubt if server == self.id.anchor => self.in_doubt(answer, &mut steps),
            Phase::Committing => self.committing(server, answer, &mut steps),
            Phase::RollingBack => self.rolling_back(server, answer, &mut steps),
            // Of a branch that only read.
            Phase::Deciding | Phase::Clearing | Phase::InDoubt => self.set(server, State::Ended),
            Phase::Ended => {}
        }
        self.end_if_nothing_is_awaited(&mut steps);
        steps
    }

    /// The client waits no longer. It is answered what is known; what is not decided yet is rolled back first, and this may be called
    /// once more when that takes long.
    pub fn give_up(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let answer = match self.phase {
            Phase::Checking | Phase::Preparing => {
                self.roll_back(&mut steps);
                self.end_if_nothing_is_awaited(&mut steps);
                return steps;
            }
            Phase::Alone if self.writer.is_some_and(|writer| self.is_in(writer, State::Ending)) => {
                ClientAnswer::Unknown
            }
            Phase::Alone => self.outcome,
            Phase::Deciding | Phase::Clearing | Phase::InDoubt => ClientAnswer::Unknown,
            Phase::Committing => ClientAnswer::Committed { unconfirmed: self.unconfirmed },
            Phase::RollingBack => ClientAnswer::RolledBack,
            Phase::Ended => return steps,
        };
        self.phase = Phase::Ended;
        steps.push(Step::AnswerClient(answer));
        steps
    }

    fn state(&mut self, server: ServerNumber) -> Option<&mut State> {
        self.participants
            .iter_mut()
            .find(|participant| participant.0 == server)
            .map(|participant| &mut participant.1)
    }

    fn set(&mut self, server: ServerNumber, to: State) {
        if let Some(state) = self.state(server) {
            *state = to;
        }
    }

    fn is_in(&self, server: ServerNumber, state: State) -> bool {
        self.participants.contains(&(server, state))
    }

    fn any_in(&self, states: &[State]) -> bool {
        self.participants.iter().any(|participant| states.contains(&participant.1))
    }

    fn end_if_nothing_is_awaited(&mut self, steps: &mut Vec<Step>) {
        let answer = match self.phase {
            Phase::Committing => ClientAnswer::Committed { unconfirmed: self.unconfirmed },
            Phase::RollingBack => ClientAnswer::RolledBack,
            Phase::Alone => self.outcome,
            _ => return,
        };
        let is_early = self.phase == Phase::Committing && planted::is(Plant::AnswerEarly);
        let awaited = [State::Ending, State::Checking, State::Preparing, State::Committing];
        if is_early || !self.any_in(&awaited) {
            self.phase = Phase::Ended;
            steps.push(Step::AnswerClient(answer));
        }
    }

    /// When the others have been checked the one with changes commits; with none nothing is left to do.
    fn commit_alone_if_all_are_there(&mut self, steps: &mut Vec<Step>) {
        if self.phase != Phase::Checking || self.any_in(&[State::Checking]) {
            return;
        }
        self.phase = Phase::Alone;
        if let Some(writer) = self.writer {
            self.set(writer, State::Ending);
            steps.push(Step::own(writer, Request::Commit));
        }
    }

    fn alone(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        if self.is_in(server, State::Checking) {
            if answer == Answer::Done {
                self.set(server, State::Locking);
                return self.commit_alone_if_all_are_there(steps);
            }
            self.end_unready(server, answer, steps);
            return self.roll_back(steps);
        }
        let is_first = self.writer == Some(server) && self.phase == Phase::Alone && !self.has_failed();
        self.set(server, State::Ended);
        if !is_first {
            return;
        }
        match answer {
            Answer::Done => {}
            Answer::Refused => {
                self.outcome = ClientAnswer::RolledBack;
                self.set(server, State::Ending);
                steps.push(Step::own(server, Request::RollBack));
            }
            // As with one server and no front door.
            _ => self.outcome = ClientAnswer::Unknown,
        }
        self.release_locks(steps);
    }

    fn has_failed(&self) -> bool {
        self.outcome != ClientAnswer::Committed { unconfirmed: 0 }
    }

    /// Ends the branches that only hold locks.
    fn release_locks(&mut self, steps: &mut Vec<Step>) {
        for (server, state) in &mut self.participants {
            if *state == State::Locking {
                *state = State::Ending;
                steps.push(Step::own(*server, Request::RollBack));
            }
        }
    }

    /// A branch that could not do its first step.
    fn end_unready(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        if answer == Answer::Lost {
            return self.set(server, State::Ended);
        }
        self.set(server, State::Ending);
        steps.push(Step::own(server, Request::RollBack));
    }

    fn preparing(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        let ready = match self.state(server) {
            Some(State::Preparing) => State::Ready,
            Some(State::Checking) => State::Locking,
            Some(state) => {
                *state = State::Ended; // It only read.
                return;
            }
            None => return,
        };
        if answer != Answer::Done {
            self.end_unready(server, answer, steps);
            return self.roll_back(steps);
        }
        self.set(server, ready);
        let is_early = planted::is(Plant::DecideEarly) && self.is_in(self.id.anchor, State::Ready);
        if is_early || !self.any_in(&[State::Preparing, State::Checking]) {
            self.phase = Phase::Deciding;
            self.set(self.id.anchor, State::Ending);
            steps.push(Step::own(self.id.anchor, Request::Commit));
        }
    }

    /// Rolls back what is ready or open; what has not answered follows with its answer.
    fn roll_back(&mut self, steps: &mut Vec<Step>) {
        self.phase = Phase::RollingBack;
        for (server, state) in &mut self.participants {
            let request = match state {
                State::Ready if *server != self.id.anchor => Request::RollBackPrepared,
                State::Ready | State::Open | State::Locking => Request::RollBack,
                _ => continue,
            };
            *state = State::Ending;
            steps.push(Step::own(*server, request));
        }
    }

    fn rolling_back(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        let Some(state) = self.state(server) else { return };
        let was = std::mem::replace(state, State::Ended);
        if !matches!(was, State::Preparing | State::Checking) || answer == Answer::Lost {
            return;
        }
        *state = State::Ending;
        let is_prepared = was == State::Preparing && answer == Answer::Done && server != self.id.anchor;
        let request = if is_prepared { Request::RollBackPrepared } else { Request::RollBack };
        steps.push(Step::own(server, request));
    }

    fn decided(&mut self, answer: Answer, steps: &mut Vec<Step>) {
        match answer {
            Answer::Done => self.commit_branches(steps),
            Answer::Lost if planted::is(Plant::TakeLostForAbort) => {
                self.set(self.id.anchor, State::Ended);
                self.roll_back(steps);
            }
            Answer::Lost => self.ask_in_doubt(steps),
            _ => {
                self.phase = Phase::Clearing;
                steps.push(Step::own(self.id.anchor, Request::RollBack));
            }
        }
    }

    fn insert_abort() -> Request {
        Request::InsertAbort { unless_fenced: !planted::is(Plant::IgnoreFence) }
    }

    fn ask_in_doubt(&mut self, steps: &mut Vec<Step>) {
        self.phase = Phase::InDoubt;
        steps.push(Step::other(self.id.anchor, Self::insert_abort()));
    }

    fn in_doubt(&mut self, answer: Answer, steps: &mut Vec<Step>) {
        match answer {
            Answer::Exists(Outcome::Commit) => self.commit_branches(steps),
            Answer::Done | Answer::Exists(Outcome::Abort) => {
                self.set(self.id.anchor, State::Ended);
                self.roll_back(steps);
            }
            Answer::Fenced => {
                self.phase = Phase::Ended;
                steps.push(Step::AnswerClient(ClientAnswer::Unknown));
            }
            _ => steps.push(Step::AskAgain { server: self.id.anchor, request: Self::insert_abort() }),
        }
    }

    fn commit_branches(&mut self, steps: &mut Vec<Step>) {
        self.phase = Phase::Committing;
        self.set(self.id.anchor, State::Ended);
        for (server, state) in &mut self.participants {
            if *state == State::Ready {
                *state = State::Committing;
                self.unconfirmed += 1;
                steps.push(Step::own(*server, Request::CommitPrepared));
            }
        }
        self.release_locks_when_all_have_committed(steps);
    }

    /// Whoever gets the locks must not read a server that has not committed yet.
    fn release_locks_when_all_have_committed(&mut self, steps: &mut Vec<Step>) {
        if !self.any_in(&[State::Committing]) {
            self.release_locks(steps);
        }
    }

    fn committing(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        let Some(state) = self.state(server) else { return };
        if std::mem::replace(state, State::Ended) == State::Committing && answer == Answer::Done {
            self.unconfirmed -= 1;
        }
        self.release_locks_when_all_have_committed(steps);
    }
}
