//! Runs of transfers over several servers, whose commits the crate `coordinator` goes through, amid every fault: connections that end
//! while requests are under way, servers and front doors that end and start again, front doors that others take for dead, servers that
//! are set back to a backup.
//!
//! A seed chooses what happens next; nothing runs at the same time. After the faults the front doors sweep for a bounded number
//! of rounds, and then it must hold:
//! 1. A transfer is committed on all servers that it changed, or on none.
//! 2. One that was answered as committed is, one that was answered as rolled back is not.
//! 3. No branch is open or prepared, and no row of a decision or a branch is left.
//! 4. The sum of all accounts is what it was.
//!
//! And at every moment: a client is answered once, as committed only when that many servers have committed; branches of other fleets and
//! other clients are not touched. In a run without faults every outcome is known, and locks that a transaction has read under are held until
//! it has committed.
//!
//! A server that was set back does not count, and what hangs on it stays as it is: prepared, or committed where it was.

mod front_door;
mod server;
mod world;

use coordinator::{Answer, ClientAnswer, Outcome, ServerNumber, TransactionId, Work};
use server::{ACCOUNTS, FIRST_BALANCE};
use world::World;

const STEPS_MAX: u64 = 600;
/// Rounds of sweeps after the last fault: some to see a branch several times, then its end, the decision, the rows.
const ROUNDS_MAX: u32 = 16;

/// What runs of commits went through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Runs.
    pub runs: u64,
    /// Transfers that were begun.
    pub transfers: u64,
    /// Answered as committed.
    pub committed: u64,
    /// As rolled back.
    pub rolled_back: u64,
    /// As unknown.
    pub unknown: u64,
    /// Servers that ended.
    pub server_crashes: u64,
    /// Front doors that ended.
    pub door_crashes: u64,
    /// Servers that were set back.
    pub restores: u64,
    /// Steps by which somebody ended a branch that was left prepared.
    pub recovery_steps: u64,
    /// Answers that the front door is fenced.
    pub fenced: u64,
    /// Answers XAER_NOTA.
    pub unknown_branches: u64,
    /// Answers that a decision is there: to commit, to abort.
    pub found: [u64; 2],
}

impl Statistics {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Statistics) {
        self.runs += other.runs;
        self.transfers += other.transfers;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.unknown += other.unknown;
        self.server_crashes += other.server_crashes;
        self.door_crashes += other.door_crashes;
        self.restores += other.restores;
        self.recovery_steps += other.recovery_steps;
        self.fenced += other.fenced;
        self.unknown_branches += other.unknown_branches;
        for at in 0..2 {
            self.found[at] += other.found[at];
        }
    }

    fn count(&mut self, answer: Answer) {
        match answer {
            Answer::Fenced => self.fenced += 1,
            Answer::UnknownBranch => self.unknown_branches += 1,
            Answer::Exists(Outcome::Commit) => self.found[0] += 1,
            Answer::Exists(Outcome::Abort) => self.found[1] += 1,
            _ => {}
        }
    }
}

/// Makes one run.
///
/// # Errors
/// What did not hold.
pub fn run(seed: u64) -> Result<Statistics, String> {
    let mut world = World::new(seed);
    for _ in 0..world.rng.below(STEPS_MAX) {
        world.step();
    }
    world.calm();
    if world.is_without_faults()
        && let Some(id) = world.servers.iter().flat_map(server::Server::prepared).next()
    {
        return Err(format!("seed {seed}: without a fault {id} is left prepared"));
    }
    let mut rounds = 0;
    while let Some(left) = left_over(&world) {
        rounds += 1;
        if rounds > ROUNDS_MAX {
            return Err(format!("seed {seed}: after {ROUNDS_MAX} rounds of sweeps there is still {left}"));
        }
        world.sweep_all(rounds > ROUNDS_MAX / 2);
    }
    if let Some(what) = &world.violation {
        return Err(format!("seed {seed}: {what}"));
    }
    check(&world).map_err(|what| format!("seed {seed}: {what}"))?;
    Ok(world.statistics)
}

fn counts(world: &World, server: ServerNumber) -> bool {
    !world.servers[usize::from(server.0)].has_lost_rows
}

fn has_changed(changes: &[(usize, i64)]) -> bool {
    front_door::work_of(changes) == Work::MayHaveChanged
}

/// Whether what a transaction left waits for a server that does not count: its anchor, or a branch with changes.
fn hangs(world: &World, id: TransactionId) -> bool {
    let Some(truth) = world.truths.get(&id) else { return false };
    truth
        .transfer
        .branches
        .iter()
        .any(|(server, changes)| (*server == id.anchor || has_changed(changes)) && !counts(world, *server))
}

fn left_over(world: &World) -> Option<String> {
    if world.doors.iter().any(|door| door.is_up && !door.is_idle()) {
        return Some("a transaction without an answer".to_owned());
    }
    for (number, server) in world.servers.iter().enumerate().filter(|(_, server)| !server.has_lost_rows) {
        if server.has_open_branches() {
            return Some(format!("an open branch on server {number}"));
        }
        let durable = &server.durable;
        let prepared = server.prepared().map(|id| (id, "prepared branch"));
        let decisions = durable.decisions.keys().map(|id| (*id, "decision"));
        let rows = durable.branch_rows.iter().map(|id| (*id, "row of a branch"));
        for (id, what) in prepared.chain(decisions).chain(rows) {
            if !hangs(world, id) {
                return Some(format!("the {what} of {id} on server {number}"));
            }
        }
    }
    None
}

fn check(world: &World) -> Result<(), String> {
    for (id, truth) in &world.truths {
        let changed = truth.transfer.branches.iter().filter(|(_, changes)| has_changed(changes));
        let changed: Vec<ServerNumber> =
            changed.map(|(server, _)| *server).filter(|server| counts(world, *server)).collect();
        let on = |server: &&ServerNumber| &world.servers[usize::from(server.0)];
        let committed = changed.iter().filter(|server| on(server).durable.committed.contains(id)).count();
        let prepared = changed.iter().filter(|server| on(server).is_prepared(*id)).count();
        let neither = changed.len() - committed - prepared;
        if committed > 0 && neither > 0 {
            return Err(format!("{id} is committed on {committed} servers and not on {neither}"));
        }
        match truth.answer {
            Some(ClientAnswer::Committed { .. }) if neither > 0 => {
                return Err(format!("{id} was answered as committed and is not"));
            }
            Some(ClientAnswer::RolledBack) if committed > 0 => {
                return Err(format!("{id} was answered as rolled back and is committed"));
            }
            _ => {}
        }
    }
    if world.servers.iter().all(|server| !server.has_lost_rows) {
        let sum: i64 = world.servers.iter().flat_map(|server| server.durable.balances).sum();
        let expected = FIRST_BALANCE * (ACCOUNTS * world.servers.len()) as i64;
        if sum != expected {
            return Err(format!("the accounts hold {sum} instead of {expected}"));
        }
    }
    Ok(())
}
