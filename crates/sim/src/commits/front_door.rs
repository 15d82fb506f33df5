//! A front door of the simulated fleet: it begins transfers, owns the machines of their commits, and ends what it finds left over.
//! Everything that decides is in the crate `coordinator`; this is the driver.

use super::server::{ConnectionId, FLEET, Message, Reply};
use super::world::World;
use coordinator::{
    Answer, Cleanup, ClientAnswer, Commit, FrontDoor, Link, Participant, Recovery, Request, ServerNumber,
    Sightings, Step, TransactionId, Work, Xid,
};
use std::collections::{BTreeMap, BTreeSet};

/// Number of a front door in the world.
pub(super) type DoorId = usize;

/// What a front door awaits over a connection.
#[derive(Clone, Debug)]
pub(super) enum Awaited {
    /// BEGIN or a change of a transaction.
    Work(TransactionId),
    Commit(TransactionId, ServerNumber),
    Recovery(Recovery),
    Cleanup(usize, ServerNumber, Request),
    Prepared(ServerNumber),
    Decisions,
    Branches(ServerNumber),
    /// With the highest number that was known before.
    Heartbeat(ServerNumber, u64),
    Nothing,
}

/// A transfer: what it does on each server, the anchor first.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) id: TransactionId,
    pub(super) branches: Vec<(ServerNumber, Vec<(usize, i64)>)>,
}

/// What a branch with these changes does.
pub(super) fn work_of(changes: &[(usize, i64)]) -> Work {
    if changes.is_empty() {
        Work::Reads
    } else if changes.iter().all(|change| change.1 == 0) {
        Work::Locks
    } else {
        Work::MayHaveChanged
    }
}

#[derive(Debug)]
enum Stage {
    /// Which message of which branch comes next: 0 is BEGIN.
    Working(usize, usize),
    Committing(Commit),
}

#[derive(Debug)]
struct Running {
    transfer: Transfer,
    links: BTreeMap<ServerNumber, ConnectionId>,
    stage: Stage,
}

#[derive(Debug)]
pub(super) struct Door {
    pub(super) identity: FrontDoor,
    pub(super) is_up: bool,
    pub(super) next_sequence: u64,
    running: BTreeMap<TransactionId, Running>,
    sightings: Sightings,
    cleanups: Vec<Cleanup>,
    /// Rows of branches that were seen once without a decision of an active transaction.
    seen_rows: BTreeSet<(ServerNumber, TransactionId)>,
    /// What is asked again after a pause.
    pub(super) paused: Vec<(TransactionId, ServerNumber, Request)>,
}

impl Door {
    pub(super) fn new(identity: FrontDoor) -> Door {
        Door {
            identity,
            is_up: true,
            next_sequence: 1,
            running: BTreeMap::new(),
            sightings: Sightings::default(),
            cleanups: Vec::new(),
            seen_rows: BTreeSet::new(),
            paused: Vec::new(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.paused.is_empty()
    }
}

/// Begins a transfer.
pub(super) fn begin(world: &mut World, door: DoorId, transfer: Transfer) {
    let (id, first) = (transfer.id, transfer.branches[0].0);
    let running = Running { transfer, links: BTreeMap::new(), stage: Stage::Working(0, 0) };
    world.doors[door].running.insert(id, running);
    send_own(world, door, id, first, Message::Begin(id), Awaited::Work(id));
}

/// Over the transaction's own connection, which BEGIN opens.
fn send_own(
    world: &mut World,
    door: DoorId,
    id: TransactionId,
    server: ServerNumber,
    message: Message,
    awaited: Awaited,
) {
    let Some(running) = world.doors[door].running.get(&id) else { return };
    let link = match running.links.get(&server) {
        Some(&link) => Some(link),
        None if matches!(message, Message::Begin(_)) => {
            let link = world.open(door, server, false);
            if let (Some(link), Some(running)) = (link, world.doors[door].running.get_mut(&id)) {
                running.links.insert(server, link);
            }
            link
        }
        None => None,
    };
    world.send(door, link, message, awaited);
}

/// Over a connection for this message alone.
pub(super) fn send_other(
    world: &mut World,
    door: DoorId,
    server: ServerNumber,
    message: Message,
    awaited: Awaited,
) {
    let link = world.open(door, server, true);
    world.send(door, link, message, awaited);
}

/// Looks for what is left over on a server, after it carried the incarnations there that the home servers know: a server that was
/// down when one began does not know it.
pub(super) fn sweep(world: &mut World, door: DoorId, server: ServerNumber) {
    for identity in world.identities() {
        send_other(world, door, server, Message::Fence(identity), Awaited::Nothing);
    }
    for (message, awaited) in [
        (Message::ListPrepared, Awaited::Prepared(server)),
        (Message::ListDecisions, Awaited::Decisions),
        (Message::ListBranches, Awaited::Branches(server)),
    ] {
        send_other(world, door, server, message, awaited);
    }
}

/// Gives up what is in doubt.
pub(super) fn give_up(world: &mut World, door: DoorId) {
    let ids: Vec<TransactionId> = world.doors[door].running.keys().copied().collect();
    for id in ids {
        if let Some(Running { stage: Stage::Committing(commit), .. }) = world.doors[door].running.get_mut(&id)
        {
            let steps = commit.give_up();
            perform(world, door, id, steps);
        }
    }
}

/// Asks again what was paused.
pub(super) fn ask_again(world: &mut World, door: DoorId) {
    for (id, server, request) in std::mem::take(&mut world.doors[door].paused) {
        if world.doors[door].running.contains_key(&id) {
            let awaited = Awaited::Commit(id, server);
            send_other(world, door, server, Message::Protocol(id, request), awaited);
        }
    }
}

fn answer_of(reply: &Reply) -> Answer {
    match reply {
        Reply::Protocol(answer) => *answer,
        Reply::Refused => Answer::Refused,
        _ => Answer::Lost,
    }
}

/// A reply, or the end of the connection over which it was awaited.
pub(super) fn take(world: &mut World, door: DoorId, awaited: Awaited, reply: Reply) {
    match awaited {
        Awaited::Work(id) => continue_work(world, door, id, &reply),
        Awaited::Commit(id, server) => {
            let answer = answer_of(&reply);
            world.statistics.count(answer);
            if answer == Answer::Fenced && id.front_door == world.doors[door].identity {
                world.register(door);
            }
            if let Some(Running { stage: Stage::Committing(commit), .. }) =
                world.doors[door].running.get_mut(&id)
            {
                let steps = commit.answered(server, answer);
                perform(world, door, id, steps);
            }
        }
        Awaited::Recovery(mut recovery) => {
            let answer = answer_of(&reply);
            world.statistics.count(answer);
            if let Some(step) = recovery.answered(answer) {
                recover(world, door, recovery, step);
            }
        }
        Awaited::Cleanup(at, server, request) => {
            let steps = world.doors[door].cleanups[at].answered(server, &request, answer_of(&reply));
            clean(world, door, at, steps);
        }
        Awaited::Prepared(server) => take_prepared(world, door, server, &reply),
        Awaited::Decisions => take_decisions(world, door, reply),
        Awaited::Branches(server) => take_branches(world, door, server, reply),
        Awaited::Heartbeat(server, known) => {
            if let Reply::Heartbeat(number) = reply {
                let _ = world.heartbeats.accept(server, known, number);
            }
        }
        Awaited::Nothing => {}
    }
}

fn continue_work(world: &mut World, door: DoorId, id: TransactionId, reply: &Reply) {
    if !world.doors[door].running.contains_key(&id) {
        return;
    }
    // A client may go on after an error by which the server has rolled its transaction back.
    let goes_on = matches!(reply, Reply::RolledBack) && world.rng.chance(500);
    if !matches!(reply, Reply::Done) && !goes_on {
        // The statement failed: the client rolls back, which needs no answer.
        let running = world.doors[door].running.remove(&id).expect("it was there");
        for link in running.links.into_values() {
            world.close(link);
        }
        world.client_answered(id, ClientAnswer::RolledBack);
        return;
    }
    let Some(running) = world.doors[door].running.get_mut(&id) else { return };
    let Stage::Working(branch, message) = &mut running.stage else { return };
    if *message == running.transfer.branches[*branch].1.len() {
        (*branch, *message) = (*branch + 1, 0);
    } else {
        *message += 1;
    }
    if let Some((server, changes)) = running.transfer.branches.get(*branch) {
        let next = match message.checked_sub(1) {
            None => Message::Begin(id),
            Some(at) => Message::Write { account: changes[at].0, delta: changes[at].1 },
        };
        let server = *server;
        return send_own(world, door, id, server, next, Awaited::Work(id));
    }
    let branches = running.transfer.branches.iter();
    let participants: Vec<Participant> =
        branches.map(|(server, changes)| Participant { server: *server, work: work_of(changes) }).collect();
    let (commit, steps) = Commit::new(id, &participants);
    running.stage = Stage::Committing(commit);
    perform(world, door, id, steps);
}

fn perform(world: &mut World, door: DoorId, id: TransactionId, steps: Vec<Step>) {
    for step in steps {
        match step {
            Step::Ask { server, link, request } => {
                let (message, awaited) = (Message::Protocol(id, request), Awaited::Commit(id, server));
                match link {
                    Link::Own => send_own(world, door, id, server, message, awaited),
                    Link::Other => send_other(world, door, server, message, awaited),
                }
            }
            Step::AskAgain { server, request } => world.doors[door].paused.push((id, server, request)),
            Step::AnswerClient(answer) => {
                world.client_answered(id, answer);
                if let Some(running) = world.doors[door].running.remove(&id) {
                    for link in running.links.into_values() {
                        world.close(link);
                    }
                }
            }
        }
    }
}

fn recover(world: &mut World, door: DoorId, recovery: Recovery, step: Step) {
    if let Step::Ask { server, request, .. } = step {
        world.statistics.recovery_steps += 1;
        let message = Message::Protocol(recovery.id(), request);
        send_other(world, door, server, message, Awaited::Recovery(recovery));
    }
}

fn clean(world: &mut World, door: DoorId, at: usize, steps: Vec<Step>) {
    let id = world.doors[door].cleanups[at].id();
    for step in steps {
        if let Step::Ask { server, request, .. } = step {
            let awaited = Awaited::Cleanup(at, server, request.clone());
            send_other(world, door, server, Message::Protocol(id, request), awaited);
        }
    }
}

fn take_prepared(world: &mut World, door: DoorId, server: ServerNumber, reply: &Reply) {
    let Reply::Prepared(listed) = reply else { return };
    let is_active = |id: &TransactionId| world.doors[door].running.contains_key(id);
    let ids: Vec<TransactionId> = listed
        .iter()
        .filter_map(|(format, global, branch)| {
            let xid = Xid { format: *format, global: global.as_bytes(), branch: branch.as_bytes() };
            TransactionId::parse(FLEET, server, xid)
        })
        .filter(|id| !is_active(id))
        .collect();
    for id in world.doors[door].sightings.seen(server, &ids) {
        let (recovery, step) = Recovery::new(id, server);
        recover(world, door, recovery, step);
    }
}

fn start_cleanup(world: &mut World, door: DoorId, cleanup: Cleanup, steps: Vec<Step>) {
    world.doors[door].cleanups.push(cleanup);
    let at = world.doors[door].cleanups.len() - 1;
    clean(world, door, at, steps);
}

fn take_decisions(world: &mut World, door: DoorId, reply: Reply) {
    let Reply::Decisions(rows) = reply else { return };
    for row in rows {
        let this = &world.doors[door];
        if row.may_be_deleted(this.identity, this.running.contains_key(&row.id)) {
            let (cleanup, steps) = Cleanup::of_decision(&row);
            start_cleanup(world, door, cleanup, steps);
        }
    }
}

fn take_branches(world: &mut World, door: DoorId, server: ServerNumber, reply: Reply) {
    let Reply::Branches(ids) = reply else { return };
    world.doors[door].seen_rows.retain(|(at, id)| *at != server || ids.contains(id));
    for id in ids {
        let is_active = world.doors[door].running.contains_key(&id);
        if !is_active && !world.doors[door].seen_rows.insert((server, id)) {
            let (cleanup, step) = Cleanup::of_branch(id, server);
            start_cleanup(world, door, cleanup, vec![step]);
        }
    }
}

/// The process ends: its connections close, and nothing that it knew is kept.
pub(super) fn crash(world: &mut World, door: DoorId) {
    let this = &mut world.doors[door];
    this.is_up = false;
    this.running.clear();
    this.paused.clear();
    this.cleanups.clear();
    this.seen_rows.clear();
    this.sightings = Sightings::default();
    world.close_all_of(door);
}
