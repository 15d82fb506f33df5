//! The world of a run: servers, front doors, connections whose messages come late or never, and what happens next.

use super::Statistics;
use super::front_door::{self, Awaited, Door, DoorId, Transfer};
use super::server::{ACCOUNTS, ConnectionId, Durable, Message, Reply, Server};
use coordinator::{ClientAnswer, FrontDoor, Heartbeats, Request, ServerNumber, TransactionId, Work};
use env::random::Rng;
use std::collections::{BTreeMap, VecDeque};

/// A connection. Each end learns at a time of its own that the other has closed.
#[derive(Debug)]
struct Connection {
    door: DoorId,
    server: usize,
    to_server: VecDeque<Message>,
    reply: Option<Reply>,
    awaited: Option<Awaited>,
    /// For one message alone.
    is_single: bool,
    door_holds: bool,
    server_holds: bool,
}

/// What is true of a transfer.
#[derive(Debug)]
pub(super) struct Truth {
    pub(super) transfer: Transfer,
    pub(super) answer: Option<ClientAnswer>,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) servers: Vec<Server>,
    pub(super) doors: Vec<Door>,
    /// All there were, by number.
    connections: Vec<Connection>,
    /// Those that an end holds still.
    held: Vec<ConnectionId>,
    /// How often faults come, in thousandths of what is most.
    faults_per_thousand: u64,
    /// On the home servers, which do not fail here: numbers of incarnations, the highest heartbeats.
    incarnations: Vec<u32>,
    pub(super) heartbeats: Heartbeats,
    backups: Vec<(usize, Durable)>,
    pub(super) truths: BTreeMap<TransactionId, Truth>,
    /// Replies that come at once: nothing could be sent.
    lost: VecDeque<(DoorId, Awaited)>,
    pub(super) statistics: Statistics,
    has_faults: bool,
    /// The first thing that must never be and was.
    pub(super) violation: Option<String>,
    transfers_left: u32,
}

const TRANSFERS_MAX: u64 = 8;

impl World {
    pub(super) fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let servers: Vec<Server> = (0..2 + rng.index(3))
            .map(|number| Server::new(ServerNumber(number as u16), rng.chance(500)))
            .collect();
        let doors = 1 + rng.index(3);
        let faults_per_thousand = [0, 30, 100, 300, 1000][rng.index(5)];
        let transfers_left = 1 + rng.below(TRANSFERS_MAX) as u32;
        let mut world = World {
            rng,
            doors: Vec::new(),
            connections: Vec::new(),
            held: Vec::new(),
            faults_per_thousand,
            incarnations: vec![0; doors],
            heartbeats: Heartbeats::default(),
            servers,
            backups: Vec::new(),
            truths: BTreeMap::new(),
            lost: VecDeque::new(),
            statistics: Statistics { runs: 1, ..Statistics::default() },
            has_faults: true,
            violation: None,
            transfers_left,
        };
        for door in 0..doors {
            let identity = world.next_identity(door);
            world.doors.push(Door::new(identity));
            world.register(door);
            world.settle();
        }
        world
    }

    fn next_identity(&mut self, door: DoorId) -> FrontDoor {
        self.incarnations[door] += 1;
        FrontDoor { number: door as u16, incarnation: self.incarnations[door] }
    }

    /// The newest incarnation of each front door.
    pub(super) fn identities(&self) -> Vec<FrontDoor> {
        let identity =
            |(number, &incarnation): (usize, &u32)| FrontDoor { number: number as u16, incarnation };
        self.incarnations.iter().enumerate().map(identity).collect()
    }

    /// A front door takes a new incarnation and writes it to all servers.
    pub(super) fn register(&mut self, door: DoorId) {
        self.doors[door].identity = self.next_identity(door);
        self.doors[door].next_sequence = 1;
        let identity = self.doors[door].identity;
        for server in 0..self.servers.len() {
            let server = ServerNumber(server as u16);
            front_door::send_other(self, door, server, Message::Fence(identity), Awaited::Nothing);
        }
    }

    /// Opens a connection. None: the server is down or has lost rows.
    pub(super) fn open(
        &mut self,
        door: DoorId,
        server: ServerNumber,
        is_single: bool,
    ) -> Option<ConnectionId> {
        let at = usize::from(server.0);
        let (known, heartbeat) = (self.heartbeats.highest(server), self.servers[at].durable.heartbeat);
        if !self.servers[at].is_up || !self.heartbeats.accept(server, known, heartbeat) {
            return None;
        }
        let link = self.connections.len();
        self.connections.push(Connection {
            door,
            server: at,
            to_server: VecDeque::new(),
            reply: None,
            awaited: None,
            is_single,
            door_holds: true,
            server_holds: true,
        });
        self.held.push(link);
        Some(link)
    }

    pub(super) fn send(
        &mut self,
        door: DoorId,
        link: Option<ConnectionId>,
        message: Message,
        awaited: Awaited,
    ) {
        match link.and_then(|link| self.connections.get_mut(link)).filter(|link| link.door_holds) {
            Some(connection) => {
                debug_assert!(connection.awaited.is_none(), "one request at a time");
                connection.to_server.push_back(message);
                connection.awaited = Some(awaited);
            }
            None => self.lost.push_back((door, awaited)),
        }
    }

    /// A front door closes a connection, or learns that it is closed.
    pub(super) fn close(&mut self, link: ConnectionId) {
        let connection = &mut self.connections[link];
        if !connection.door_holds {
            return;
        }
        connection.door_holds = false;
        connection.reply = None;
        if let Some(awaited) = connection.awaited.take() {
            self.lost.push_back((connection.door, awaited));
        }
    }

    pub(super) fn close_all_of(&mut self, door: DoorId) {
        for &link in &self.held {
            let connection = &mut self.connections[link];
            if connection.door != door {
                continue;
            }
            connection.door_holds = false;
            connection.reply = None;
            connection.awaited = None;
        }
        self.lost.retain(|lost| lost.0 != door);
    }

    /// The server learns that the connection is closed: what it has not executed by now it never executes.
    fn notice(&mut self, link: ConnectionId) {
        let connection = &mut self.connections[link];
        connection.server_holds = false;
        connection.to_server.clear();
        self.servers[connection.server].close(link);
    }

    fn close_all_at(&mut self, server: usize) {
        for &link in &self.held {
            let connection = &mut self.connections[link];
            if connection.server != server {
                continue;
            }
            connection.server_holds = false;
            connection.to_server.clear();
        }
    }

    /// Nothing fails, and no other front door takes a slow one for dead.
    pub(super) fn is_without_faults(&self) -> bool {
        self.faults_per_thousand == 0 && self.doors.len() == 1
    }

    fn must_hold(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.violation.is_none() {
            self.violation = Some(what());
        }
    }

    pub(super) fn client_answered(&mut self, id: TransactionId, answer: ClientAnswer) {
        match answer {
            ClientAnswer::Committed { .. } => self.statistics.committed += 1,
            ClientAnswer::RolledBack => self.statistics.rolled_back += 1,
            ClientAnswer::Unknown => self.statistics.unknown += 1,
        }
        let Some(truth) = self.truths.get_mut(&id) else { return };
        let is_first = truth.answer.replace(answer).is_none();
        let lacks = |(server, changes): &&(ServerNumber, Vec<(usize, i64)>)| {
            let server = &self.servers[usize::from(server.0)];
            front_door::work_of(changes) == Work::MayHaveChanged
                && !server.has_lost_rows
                && !server.durable.committed.contains(&id)
        };
        let missing = truth.transfer.branches.iter().filter(lacks).count();
        self.must_hold(is_first, || format!("the client of {id} is answered twice"));
        if let ClientAnswer::Committed { unconfirmed } = answer {
            self.must_hold(missing <= unconfirmed, || {
                format!(
                    "{id} is answered as committed when {missing} servers have not, {unconfirmed} unconfirmed"
                )
            });
        }
        let is_smooth =
            matches!(answer, ClientAnswer::RolledBack | ClientAnswer::Committed { unconfirmed: 0 });
        let is_without_faults = self.is_without_faults();
        self.must_hold(is_smooth || !is_without_faults, || format!("without a fault {id} is {answer:?}"));
    }

    /// What must hold when a server executes a request.
    fn check_request(&mut self, server: usize, id: TransactionId, request: &Request) {
        let Some(truth) = self.truths.get(&id) else {
            return self.must_hold(false, || format!("{id} is somebody else's"));
        };
        let server = &self.servers[server];
        let commits = matches!(request, Request::Commit | Request::CommitPrepared)
            && (server.is_active(id) || server.is_prepared(id));
        if !commits || !self.is_without_faults() {
            return;
        }
        let mut locks =
            truth.transfer.branches.iter().filter(|(_, changes)| front_door::work_of(changes) == Work::Locks);
        let holds = locks
            .all(|(server, _)| *server == id.anchor || self.servers[usize::from(server.0)].is_active(id));
        self.must_hold(holds, || format!("locks of {id} are released before its commit"));
    }

    /// Lets something happen at a connection. False: nothing could.
    fn move_on(&mut self, link: ConnectionId) -> bool {
        let connection = &mut self.connections[link];
        if connection.server_holds
            && let Some(message) = connection.to_server.front()
        {
            let message = message.clone();
            if let Message::Protocol(id, request) = &message {
                let server = connection.server;
                self.check_request(server, *id, request);
            }
            let refuses = self.has_faults && self.rng.chance(self.faults_per_thousand / 50);
            let rolls_back = refuses && self.rng.chance(500);
            let connection = &mut self.connections[link];
            let server = &mut self.servers[connection.server];
            if rolls_back {
                server.roll_back(link);
            }
            let reply = match message {
                Message::Write { .. } if rolls_back => Some(Reply::RolledBack),
                _ if refuses => Some(Reply::Refused),
                _ => server.execute(link, &message),
            };
            let Some(reply) = reply else {
                // A lock wait that times out.
                if self.rng.chance(100) {
                    connection.to_server.pop_front();
                    connection.reply = connection.door_holds.then_some(Reply::Refused);
                    return true;
                }
                return false;
            };
            connection.to_server.pop_front();
            connection.reply = connection.door_holds.then_some(reply);
            return true;
        }
        if connection.door_holds
            && let Some(reply) = connection.reply.take()
        {
            let door = connection.door;
            if connection.is_single {
                (connection.door_holds, connection.server_holds) = (false, false);
            }
            if let Some(awaited) = connection.awaited.take() {
                front_door::take(self, door, awaited, reply);
            }
            return true;
        }
        if connection.door_holds && !connection.server_holds {
            self.close(link);
            return true;
        }
        if connection.server_holds && !connection.door_holds {
            // A server may take long to learn it: what the connection owns stays as it is.
            if self.has_faults && !self.rng.chance(100) {
                return false;
            }
            self.notice(link);
            return true;
        }
        false
    }

    fn deliver_lost(&mut self) {
        while let Some((door, awaited)) = self.lost.pop_front() {
            front_door::take(self, door, awaited, Reply::Lost);
        }
    }

    fn random_live_door(&mut self) -> Option<DoorId> {
        let door = self.rng.index(self.doors.len());
        self.doors[door].is_up.then_some(door)
    }

    fn random_server(&mut self) -> usize {
        self.rng.index(self.servers.len())
    }

    /// A connection that an end holds, if one was found.
    fn random_connection(&mut self) -> Option<ConnectionId> {
        while !self.held.is_empty() {
            let at = self.rng.index(self.held.len());
            let link = self.held[at];
            if self.connections[link].door_holds || self.connections[link].server_holds {
                return Some(link);
            }
            self.held.swap_remove(at);
        }
        None
    }

    /// One step of a run with faults.
    pub(super) fn step(&mut self) {
        self.deliver_lost();
        match self.rng.below(1000) {
            0..60 => self.begin_transfer(),
            60..90 => {
                if let Some(door) = self.random_live_door() {
                    let server = ServerNumber(self.random_server() as u16);
                    front_door::sweep(self, door, server);
                }
            }
            90..100 => {
                if let Some(door) = self.random_live_door() {
                    front_door::ask_again(self, door);
                }
            }
            100..115 => self.count_heartbeat(),
            115..200 if self.rng.chance(self.faults_per_thousand) => self.fault(),
            _ => {
                if let Some(link) = self.random_connection() {
                    self.move_on(link);
                }
            }
        }
        self.deliver_lost();
    }

    fn fault(&mut self) {
        match self.rng.below(100) {
            0..50 => {
                if let Some(link) = self.random_connection() {
                    self.close(link);
                }
            }
            50..65 => self.fail_or_restart_server(),
            65..75 => self.fail_or_restart_door(),
            75..86 => self.fence_somebody(),
            86..89 => {
                if let Some(door) = self.random_live_door() {
                    front_door::give_up(self, door);
                }
            }
            _ => self.back_up_or_restore(),
        }
    }

    fn begin_transfer(&mut self) {
        let Some(door) = self.random_live_door() else { return };
        if self.transfers_left == 0 {
            return;
        }
        self.transfers_left -= 1;
        let mut servers: Vec<usize> = (0..self.servers.len()).collect();
        for at in (1..servers.len()).rev() {
            servers.swap(at, self.rng.index(at + 1));
        }
        let most = self.servers.len().min(3);
        servers.truncate(if self.rng.chance(100) { 1 } else { 2 + self.rng.index(most - 1) });
        let amount = 1 + self.rng.below(50) as i64;
        let mut branches: Vec<(ServerNumber, Vec<(usize, i64)>)> =
            servers.iter().map(|&server| (ServerNumber(server as u16), Vec::new())).collect();
        let first = self.rng.index(branches.len());
        let others = match self.rng.below(10) {
            0 => 0, // From one account to another on the same server.
            1..6 => 1,
            _ => branches.len() - 1,
        };
        let mut change = |branch: usize, delta: i64| {
            let account = self.rng.index(ACCOUNTS);
            let at = branch % branches.len();
            branches[at].1.push((account, delta));
        };
        for other in first + 1..=first + others {
            change(other, amount);
            change(first, -amount);
        }
        if others == 0 {
            change(first, amount);
            change(first, -amount);
        }
        for (_, changes) in &mut branches {
            if changes.is_empty() && self.rng.chance(500) {
                changes.push((self.rng.index(ACCOUNTS), 0));
            }
        }
        let this = &mut self.doors[door];
        let id =
            TransactionId { front_door: this.identity, sequence: this.next_sequence, anchor: branches[0].0 };
        this.next_sequence += 1;
        let transfer = Transfer { id, branches };
        self.statistics.transfers += 1;
        self.truths.insert(id, Truth { transfer: transfer.clone(), answer: None });
        front_door::begin(self, door, transfer);
    }

    fn count_heartbeat(&mut self) {
        if let Some(door) = self.random_live_door() {
            let server = ServerNumber(self.random_server() as u16);
            let awaited = Awaited::Heartbeat(server, self.heartbeats.highest(server));
            front_door::send_other(self, door, server, Message::CountHeartbeat, awaited);
        }
    }

    fn fail_or_restart_server(&mut self) {
        let server = self.random_server();
        if self.servers[server].is_up {
            self.statistics.server_crashes += 1;
            self.servers[server].crash();
            self.close_all_at(server);
        } else {
            self.servers[server].is_up = true;
        }
    }

    fn fail_or_restart_door(&mut self) {
        let door = self.rng.index(self.doors.len());
        if self.doors[door].is_up {
            self.statistics.door_crashes += 1;
            front_door::crash(self, door);
        } else {
            self.restart_door(door);
        }
    }

    fn restart_door(&mut self, door: DoorId) {
        self.doors[door].is_up = true;
        self.register(door);
    }

    /// A front door is taken for dead: sweeps carry that to the servers.
    fn fence_somebody(&mut self) {
        let door = self.rng.index(self.doors.len());
        self.next_identity(door);
    }

    fn back_up_or_restore(&mut self) {
        // A loss that no count lies before is not noticed: such a restore must not happen.
        let heartbeats = &self.heartbeats;
        let is_noticed = |backup: &(usize, Durable)| {
            backup.1.heartbeat < heartbeats.highest(ServerNumber(backup.0 as u16))
        };
        let at = self.backups.iter().rposition(is_noticed).filter(|_| self.rng.chance(500));
        let Some(at) = at else {
            let server = self.random_server();
            return self.backups.push((server, self.servers[server].durable.clone()));
        };
        let (server, older) = self.backups.swap_remove(at);
        self.statistics.restores += 1;
        self.servers[server].restore(older);
        self.close_all_at(server);
    }

    /// Everything that can happen without a fault or a new transfer.
    pub(super) fn settle(&mut self) {
        loop {
            self.deliver_lost();
            let mut has_moved = false;
            for link in self.held.clone() {
                has_moved |= self.move_on(link);
            }
            let connections = &self.connections;
            self.held.retain(|&link| connections[link].door_holds || connections[link].server_holds);
            self.deliver_lost();
            if !has_moved {
                return;
            }
        }
    }

    /// Ends all faults. Servers start again; of the front doors at least one, and the dead ones are fenced.
    pub(super) fn calm(&mut self) {
        self.has_faults = false;
        self.transfers_left = 0;
        for server in &mut self.servers {
            server.is_up = true;
        }
        for door in 0..self.doors.len() {
            let all_dead = self.doors.iter().all(|door| !door.is_up);
            if !self.doors[door].is_up && (all_dead || self.rng.chance(500)) {
                self.restart_door(door);
            }
        }
        for door in 0..self.doors.len() {
            if !self.doors[door].is_up {
                self.next_identity(door);
            }
        }
        self.settle();
    }

    /// Each front door sweeps each server once.
    pub(super) fn sweep_all(&mut self, gives_up: bool) {
        for door in 0..self.doors.len() {
            if !self.doors[door].is_up {
                continue;
            }
            front_door::ask_again(self, door);
            if gives_up {
                front_door::give_up(self, door);
            }
            for server in 0..self.servers.len() {
                front_door::sweep(self, door, ServerNumber(server as u16));
            }
            self.settle();
        }
    }
}
