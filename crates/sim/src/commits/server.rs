//! A server of the simulated fleet: accounts, XA transactions, the tables that the commit of distributed transactions needs, and the
//! locks that matter to it. What is committed or prepared is durable at once; a crash loses the rest.

use coordinator::{
    Answer, DecisionRow, Fleet, FrontDoor, Outcome, Request, ServerNumber, TransactionId, XID_FORMAT,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ACCOUNTS: usize = 4;
pub(super) const FIRST_BALANCE: i64 = 1_000;
pub(super) const FLEET: Fleet = Fleet(0xabc);

/// Number of a connection in the world.
pub(super) type ConnectionId = usize;

/// What a front door sends.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Begin(TransactionId),
    Write {
        account: usize,
        delta: i64,
    },
    Protocol(TransactionId, Request),
    ListPrepared,
    ListDecisions,
    ListBranches,
    /// From now on this incarnation may decide, and none before it.
    Fence(FrontDoor),
    CountHeartbeat,
}

/// What a server answers.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Protocol(Answer),
    Done,
    Refused,
    /// An error with which the server has rolled the transaction back.
    RolledBack,
    Lost,
    /// `formatID`, `gtrid` and `bqual` of each.
    Prepared(Vec<(u32, String, String)>),
    Decisions(Vec<DecisionRow>),
    Branches(Vec<TransactionId>),
    Heartbeat(u64),
}

#[derive(Clone, Debug)]
struct Branch {
    id: TransactionId,
    changes: Vec<(usize, i64)>,
    /// The decision that this transaction has inserted: its key is locked.
    decision: Option<Vec<ServerNumber>>,
    has_branch_row: bool,
    /// The front door whose row is locked shared.
    locks_front_door: Option<u16>,
    /// The connection that owns it.
    owner: Option<ConnectionId>,
}

/// What survives a crash.
#[derive(Clone, Debug)]
pub(super) struct Durable {
    pub(super) balances: [i64; ACCOUNTS],
    pub(super) decisions: BTreeMap<TransactionId, (Outcome, Vec<ServerNumber>)>,
    pub(super) branch_rows: BTreeSet<TransactionId>,
    front_doors: BTreeMap<u16, u32>,
    pub(super) heartbeat: u64,
    prepared: Vec<Branch>,
    /// Transactions whose changes were committed here: what is true, which nobody may look at before the end.
    pub(super) committed: BTreeSet<TransactionId>,
}

#[derive(Debug)]
pub(super) struct Server {
    number: ServerNumber,
    pub(super) is_up: bool,
    /// It was set back to an older state: it does not count any more.
    pub(super) has_lost_rows: bool,
    pub(super) durable: Durable,
    active: Vec<Branch>,
    /// `xa_detach_on_prepare`.
    detaches: bool,
}

impl Server {
    pub(super) fn new(number: ServerNumber, detaches: bool) -> Server {
        Server {
            number,
            is_up: true,
            has_lost_rows: false,
            durable: Durable {
                balances: [FIRST_BALANCE; ACCOUNTS],
                decisions: BTreeMap::new(),
                branch_rows: BTreeSet::new(),
                front_doors: BTreeMap::new(),
                heartbeat: 0,
                prepared: Vec::new(),
                committed: BTreeSet::new(),
            },
            active: Vec::new(),
            detaches,
        }
    }

    pub(super) fn crash(&mut self) {
        self.is_up = false;
        self.active.clear();
        for branch in &mut self.durable.prepared {
            branch.owner = None;
        }
    }

    /// As a restore from a backup does.
    pub(super) fn restore(&mut self, older: Durable) {
        self.crash();
        self.durable = older;
        self.is_up = true;
        self.has_lost_rows = true;
        self.crash();
        self.is_up = true;
    }

    pub(super) fn close(&mut self, connection: ConnectionId) {
        self.active.retain(|branch| branch.owner != Some(connection));
        for branch in &mut self.durable.prepared {
            if branch.owner == Some(connection) {
                branch.owner = None;
            }
        }
    }

    /// A deadlock, or another reason by which a server ends a transaction itself.
    pub(super) fn roll_back(&mut self, connection: ConnectionId) {
        self.active.retain(|branch| branch.owner != Some(connection));
    }

    pub(super) fn is_active(&self, id: TransactionId) -> bool {
        self.active.iter().any(|branch| branch.id == id)
    }

    pub(super) fn is_prepared(&self, id: TransactionId) -> bool {
        self.durable.prepared.iter().any(|branch| branch.id == id)
    }

    pub(super) fn has_open_branches(&self) -> bool {
        !self.active.is_empty()
    }

    pub(super) fn prepared(&self) -> impl Iterator<Item = TransactionId> {
        self.durable.prepared.iter().map(|branch| branch.id)
    }

    fn commit(&mut self, branch: Branch) {
        for (account, delta) in branch.changes {
            self.durable.balances[account] += delta;
        }
        if let Some(branches) = branch.decision {
            self.durable.decisions.insert(branch.id, (Outcome::Commit, branches));
        }
        if branch.has_branch_row {
            self.durable.branch_rows.insert(branch.id);
        }
        self.durable.committed.insert(branch.id);
    }

    fn take_active(&mut self, connection: ConnectionId) -> Option<Branch> {
        let at = self.active.iter().position(|branch| branch.owner == Some(connection))?;
        Some(self.active.swap_remove(at))
    }

    /// A prepared branch, if this connection may end it.
    fn take_prepared(&mut self, id: TransactionId, connection: ConnectionId) -> Option<Branch> {
        let may = |branch: &Branch| branch.id == id && branch.owner.is_none_or(|owner| owner == connection);
        let at = self.durable.prepared.iter().position(may)?;
        Some(self.durable.prepared.swap_remove(at))
    }

    /// Executes a message. `None`: it waits for a lock.
    pub(super) fn execute(&mut self, connection: ConnectionId, message: &Message) -> Option<Reply> {
        Some(match message {
            Message::Begin(id) => {
                self.active.push(Branch {
                    id: *id,
                    changes: Vec::new(),
                    decision: None,
                    has_branch_row: false,
                    locks_front_door: None,
                    owner: Some(connection),
                });
                Reply::Done
            }
            Message::Write { account, delta } => self.write(connection, *account, *delta),
            Message::Protocol(id, request) => Reply::Protocol(self.answer(connection, *id, request)?),
            Message::ListPrepared => {
                let bqual = TransactionId::branch(self.number);
                let ours = self.durable.prepared.iter();
                let ours = ours.map(|branch| (XID_FORMAT, branch.id.global(FLEET), bqual.clone()));
                // Of a client of its own, of another fleet, of a branch on another server of the same machine.
                let foreign = [
                    (1, "abc.1.1.1.1", "0"),
                    (XID_FORMAT, "abd.1.1.1.1", "0"),
                    (XID_FORMAT, "abc.1.1.1.1", "9"),
                ];
                let foreign = foreign.into_iter().map(|xid| (xid.0, xid.1.to_owned(), xid.2.to_owned()));
                Reply::Prepared(foreign.chain(ours).collect())
            }
            Message::ListDecisions => Reply::Decisions(self.decisions()),
            Message::ListBranches => Reply::Branches(self.durable.branch_rows.iter().copied().collect()),
            Message::Fence(door) => {
                if self.active.iter().any(|branch| branch.locks_front_door == Some(door.number)) {
                    return None;
                }
                let incarnation = self.durable.front_doors.entry(door.number).or_default();
                *incarnation = door.incarnation.max(*incarnation);
                Reply::Done
            }
            Message::CountHeartbeat => {
                self.durable.heartbeat += 1;
                Reply::Heartbeat(self.durable.heartbeat)
            }
        })
    }

    fn decisions(&self) -> Vec<DecisionRow> {
        let row = |(id, (outcome, branches)): (&TransactionId, &(Outcome, Vec<ServerNumber>))| DecisionRow {
            id: *id,
            outcome: *outcome,
            branches: branches.clone(),
            incarnation: self.durable.front_doors.get(&id.front_door.number).copied().unwrap_or(0),
        };
        self.durable.decisions.iter().map(row).collect()
    }

    fn write(&mut self, connection: ConnectionId, account: usize, delta: i64) -> Reply {
        let holds = |branch: &Branch| {
            branch.owner != Some(connection) && branch.changes.iter().any(|change| change.0 == account)
        };
        if self.active.iter().chain(&self.durable.prepared).any(holds) {
            return Reply::Refused;
        }
        match self.active.iter_mut().find(|branch| branch.owner == Some(connection)) {
            Some(branch) => {
                branch.changes.push((account, delta));
                Reply::Done
            }
            None => Reply::Refused,
        }
    }

    fn may_decide(&self, door: FrontDoor) -> bool {
        self.durable.front_doors.get(&door.number) == Some(&door.incarnation)
    }

    fn answer(&mut self, connection: ConnectionId, id: TransactionId, request: &Request) -> Option<Answer> {
        Some(match request {
            Request::Check => {
                let is_there = self.active.iter().any(|branch| branch.owner == Some(connection));
                if is_there { Answer::Done } else { Answer::Refused }
            }
            Request::Prepare => match self.take_active(connection) {
                Some(mut branch) => {
                    branch.has_branch_row = true;
                    branch.owner = (!self.detaches).then_some(connection);
                    self.durable.prepared.push(branch);
                    Answer::Done
                }
                None => Answer::Refused,
            },
            Request::InsertDecision { branches } => {
                if !self.may_decide(id.front_door) {
                    return Some(Answer::Fenced);
                }
                if let Some((outcome, _)) = self.durable.decisions.get(&id) {
                    return Some(Answer::Exists(*outcome));
                }
                match self.active.iter_mut().find(|branch| branch.owner == Some(connection)) {
                    Some(branch) => {
                        branch.locks_front_door = Some(id.front_door.number);
                        branch.decision = Some(branches.clone());
                        Answer::Done
                    }
                    None => Answer::Refused,
                }
            }
            Request::Commit => match self.take_active(connection) {
                Some(branch) => {
                    self.commit(branch);
                    Answer::Done
                }
                None => Answer::Refused,
            },
            Request::RollBack => {
                self.take_active(connection);
                Answer::Done
            }
            Request::CommitPrepared => match self.take_prepared(id, connection) {
                Some(branch) => {
                    self.commit(branch);
                    Answer::Done
                }
                None => Answer::UnknownBranch,
            },
            Request::RollBackPrepared => match self.take_prepared(id, connection) {
                Some(_) => Answer::Done,
                None => Answer::UnknownBranch,
            },
            Request::InsertAbort { unless_fenced } => {
                if *unless_fenced && !self.may_decide(id.front_door) {
                    return Some(Answer::Fenced);
                }
                if self.active.iter().any(|branch| branch.id == id && branch.decision.is_some()) {
                    return None;
                }
                match self.durable.decisions.get(&id) {
                    Some((outcome, _)) => Answer::Exists(*outcome),
                    None => {
                        self.durable.decisions.insert(id, (Outcome::Abort, Vec::new()));
                        Answer::Done
                    }
                }
            }
            Request::ReadDecision => match self.durable.decisions.get(&id) {
                Some((outcome, _)) => Answer::Exists(*outcome),
                None => Answer::Absent,
            },
            Request::ReadBranch if self.durable.branch_rows.contains(&id) => Answer::Found,
            Request::ReadBranch => Answer::Absent,
            Request::DeleteDecision => {
                self.durable.decisions.remove(&id);
                Answer::Done
            }
            Request::DeleteBranch => {
                self.durable.branch_rows.remove(&id);
                Answer::Done
            }
        })
    }
}
