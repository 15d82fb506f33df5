//! The commit of one transaction, by the front door that began it.
//!
//! ```text
//!            one branch changed rows                two or more
//!                     |                                  |
//!                  [Alone] -- Lost --> Unknown       [Preparing] -- any refused, lost --+
//!                     |                                  | all prepared                 |
//!         Committed or RolledBack                    [Deciding] the anchor's COMMIT     |
//!                                                    |   | lost                         |
//!                                                    |   [InDoubt] inserts the abort ---+ inserted
//!                                                    |   | the commit exists            |
//!                                                [Committing]                      [RollingBack]
//!                                                    |                                  |
//!                                                Committed                         RolledBack
//! ```
//!
//! Invariants:
//! 1. Each server has at most one request without an answer.
//! 2. RolledBack is answered only if the anchor's COMMIT was never sent, or the decision to abort is in the table; Committed only if the
//!    anchor has committed.
//! 3. A branch whose connection is lost is left to recovery.

use crate::ids::{ServerNumber, TransactionId};
use crate::planted::{self, Plant};
use crate::protocol::{Answer, ClientAnswer, Outcome, Request, Step};

/// A server on which the transaction has a branch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Participant {
    /// Which.
    pub server: ServerNumber,
    /// Whether the branch changed rows. The others only end.
    pub has_changes: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It answered that it has ended, or nothing can be asked of it any more.
    Ended,
    /// A request without an answer: the branch ends with it.
    Ending,
    /// PREPARE, or of the anchor the insertion of the decision, without an answer.
    Preparing,
    /// The branch is prepared, the anchor's decision inserted.
    Ready,
    /// XA COMMIT without an answer.
    Committing,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// At most one branch changed rows: this one.
    Alone(Option<ServerNumber>),
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
    /// Branches that were asked to commit and have not confirmed it.
    unconfirmed: usize,
    /// What the client is answered when nothing is awaited.
    answer: ClientAnswer,
}

impl Commit {
    /// Begins to commit, with the first steps. The participants are the servers on which the transaction has a branch, among them its
    /// anchor.
    #[must_use]
    pub fn new(id: TransactionId, participants: &[Participant]) -> (Commit, Vec<Step>) {
        debug_assert!(participants.iter().any(|participant| participant.server == id.anchor));
        let mut changed = participants.iter().filter(|participant| participant.has_changes);
        let (first, second) = (changed.next(), changed.next());
        let mut commit = Commit {
            id,
            phase: if second.is_some() {
                Phase::Preparing
            } else {
                Phase::Alone(first.map(|participant| participant.server))
            },
            participants: Vec::with_capacity(participants.len()),
            unconfirmed: 0,
            answer: ClientAnswer::Committed { unconfirmed: 0 },
        };
        let others = |participant: &&Participant| participant.has_changes && participant.server != id.anchor;
        let branches: Vec<ServerNumber> =
            participants.iter().filter(others).map(|participant| participant.server).collect();
        let mut steps = Vec::with_capacity(participants.len());
        for &Participant { server, has_changes } in participants {
            let (state, request) = match commit.phase {
                Phase::Preparing if server == id.anchor => {
                    (State::Preparing, Request::InsertDecision { branches: branches.clone() })
                }
                Phase::Preparing if has_changes => (State::Preparing, Request::Prepare),
                Phase::Alone(_) if has_changes => (State::Ending, Request::Commit),
                _ => (State::Ending, Request::RollBack),
            };
            commit.participants.push((server, state));
            steps.push(Step::own(server, request));
        }
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
            Phase::Alone(writer) => self.alone(writer, server, answer, &mut steps),
            Phase::Preparing => self.preparing(server, answer, &mut steps),
            Phase::Deciding if server == self.id.anchor => self.decided(answer, &mut steps),
            Phase::Clearing if server == self.id.anchor => self.ask_in_doubt(&mut steps),
            Phase::InDoubt if server == self.id.anchor => self.in_doubt(answer, &mut steps),
            Phase::Committing => self.committing(server, answer),
            Phase::RollingBack => self.rolling_back(server, answer, &mut steps),
            // Of a branch that only read.
            Phase::Deciding | Phase::Clearing | Phase::InDoubt => self.set(server, State::Ended),
            Phase::Ended => {}
        }
        self.end_if_nothing_is_awaited(&mut steps);
        steps
    }

    /// The client waits no longer: while the outcome is in doubt it is answered that nobody knows. Otherwise nothing happens: the
    /// servers' answers come soon, or their connections end.
    pub fn give_up(&mut self) -> Vec<Step> {
        if !matches!(self.phase, Phase::Clearing | Phase::InDoubt) {
            return Vec::new();
        }
        self.phase = Phase::Ended;
        vec![Step::AnswerClient(ClientAnswer::Unknown)]
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

    fn is_awaited(state: State) -> bool {
        matches!(state, State::Ending | State::Preparing | State::Committing)
    }

    fn end_if_nothing_is_awaited(&mut self, steps: &mut Vec<Step>) {
        let may_end = matches!(self.phase, Phase::Alone(_) | Phase::Committing | Phase::RollingBack);
        if !may_end || self.participants.iter().any(|participant| Self::is_awaited(participant.1)) {
            return;
        }
        let answer = match self.phase {
            Phase::Committing => ClientAnswer::Committed { unconfirmed: self.unconfirmed },
            Phase::RollingBack => ClientAnswer::RolledBack,
            _ => self.answer,
        };
        self.phase = Phase::Ended;
        steps.push(Step::AnswerClient(answer));
    }

    fn alone(
        &mut self,
        writer: Option<ServerNumber>,
        server: ServerNumber,
        answer: Answer,
        steps: &mut Vec<Step>,
    ) {
        if writer != Some(server) || answer == Answer::Done || self.answer == ClientAnswer::RolledBack {
            return self.set(server, State::Ended);
        }
        if answer == Answer::Refused {
            self.answer = ClientAnswer::RolledBack;
            steps.push(Step::own(server, Request::RollBack));
        } else {
            self.answer = ClientAnswer::Unknown; // As with one server and no front door.
            self.set(server, State::Ended);
        }
    }

    fn preparing(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        let Some(state) = self.state(server) else { return };
        let was = std::mem::replace(state, State::Ended);
        if was != State::Preparing {
            return; // It only read.
        }
        match answer {
            Answer::Done => self.set(server, State::Ready),
            Answer::Lost => self.roll_back(steps),
            _ => {
                self.set(server, State::Ending);
                steps.push(Step::own(server, Request::RollBack));
                self.roll_back(steps);
            }
        }
        let waits = |participant: &(ServerNumber, State)| participant.1 == State::Preparing;
        let enough = planted::is(Plant::DecideEarly) && self.state(self.id.anchor) == Some(&mut State::Ready);
        if self.phase == Phase::Preparing && (enough || !self.participants.iter().any(waits)) {
            self.phase = Phase::Deciding;
            self.set(self.id.anchor, State::Ending);
            steps.push(Step::own(self.id.anchor, Request::Commit));
        }
    }

    /// Rolls back what is ready; what has not answered follows with its answer.
    fn roll_back(&mut self, steps: &mut Vec<Step>) {
        self.phase = Phase::RollingBack;
        for (server, state) in &mut self.participants {
            if *state == State::Ready {
                *state = State::Ending;
                let request =
                    if *server == self.id.anchor { Request::RollBack } else { Request::RollBackPrepared };
                steps.push(Step::own(*server, request));
            }
        }
    }

    fn rolling_back(&mut self, server: ServerNumber, answer: Answer, steps: &mut Vec<Step>) {
        let Some(state) = self.state(server) else { return };
        if *state != State::Preparing || answer == Answer::Lost {
            *state = State::Ended;
            return;
        }
        *state = State::Ending;
        let is_prepared = answer == Answer::Done && server != self.id.anchor;
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
    }

    fn committing(&mut self, server: ServerNumber, answer: Answer) {
        let Some(state) = self.state(server) else { return };
        if std::mem::replace(state, State::Ended) == State::Committing && answer == Answer::Done {
            self.unconfirmed -= 1;
        }
    }
}
