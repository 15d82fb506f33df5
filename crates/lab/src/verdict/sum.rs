//! The sum rule: the difference in wall time must be the sum of the differences of its layers, and a rest.
//!
//! Wall time of an operation = client + think + upload + server + download, and the server's part as a tap sees it = on a
//! core, waiting for a core, waiting for something else in the server, the way there and back. Without a tap, waits and ways
//! are in the rest. With one, the server's own clock of its statements (`performance_schema`) tells waits inside the server from
//! the way; and on the way COM_PING tells a slow link, where a ping is as slow, from a proxy, which works on statements.
//! A rest above a fifth of the difference means that something was not seen.
//!
//! Two limits keep the parts on the way that the client waits for:
//! - The process of a server also works beside its statements (page cleaners, purge). One statement runs on one thread, so of
//!   CPU and run queue no more than the wall time of an operation can be on its way ([`on_the_way`]).
//! - Taps watch in a pass of their own. They say where time goes; how much it is, the timed blocks say. Where the taps saw more, their
//!   times are made smaller to match, and where they saw hardly any of the difference, or parts that cancel each other, they are
//!   left out.
//!
//! Shares: some layers may take less time in the slower arm. So the base of every share is all that was added: the parts above
//! 0 and the rest, if that is above 0. Then no share is above 1 and all of them together are 1.

use crate::evidence::{Block, PathTimes, PhaseTimes, Run, SumPart, SumRule};
use crate::knowledge::signature::Pair;
use crate::stats::bootstrap::median_interval;
use crate::stats::summary::median;

/// Middle and 95 % interval of the differences within rounds.
fn part(run: &Run, pair: Pair, name: &str, of: &dyn Fn(&Block) -> Option<f64>, seed: u64) -> Option<SumPart> {
    let differences: Vec<f64> = run
        .valid_blocks(pair.fast)
        .filter_map(|fast| {
            let slow = run
                .valid_blocks(pair.slow)
                .find(|slow| (slow.pass, slow.round) == (fast.pass, fast.round))?;
            Some(of(slow)? - of(fast)?)
        })
        .collect();
    let delta_ns = median(&differences)?;
    let (low_ns, high_ns) = median_interval(&differences, seed)?;
    Some(SumPart { name: name.to_owned(), delta_ns, low_ns, high_ns })
}

/// A part that was measured once for each arm, without an interval of its own.
fn fixed(name: &str, delta_ns: f64) -> SumPart {
    SumPart { name: name.to_owned(), delta_ns, low_ns: delta_ns, high_ns: delta_ns }
}

/// Commands of an operation in numbers that differ by less are the same commands.
const COMMANDS_ALIKE: f64 = 0.02;
/// Share of the difference that taps must see for what they saw to tell where it lies.
const SEEN_BY_TAPS_LEAST: f64 = 0.2;
/// Share of the difference that parts seen by taps may take away from it. Where the same commands take so much less in one layer
/// and more in another, the taps saw the machine's noise: waking up moves time between client and server.
const TAKEN_AWAY_BY_TAPS_MOST: f64 = 0.25;
/// Share of the server's work from which what it did beside the statements is worth a sentence.
const BESIDE_LEAST: f64 = 0.1;

/// The server's CPU and run queue of a block, per operation, as far as a client can have waited for them.
fn on_the_way(block: &Block) -> Option<(f64, f64)> {
    let cpu = block.server_cpu_ns_per_op?;
    let queue = block.server_run_queue_ns_per_op.unwrap_or(0.0);
    let (busy, wall) = (cpu + queue, block.service.mean_ns);
    let share = if busy > wall && block.service.count > 0 { (wall / busy).max(0.0) } else { 1.0 };
    Some((cpu * share, queue * share))
}

/// What the slower arm's server did beside its statements, where that is much of its work.
#[must_use]
pub(crate) fn beside_in_words(run: &Run, arm: usize) -> Option<String> {
    let (mut all, mut beside) = (Vec::new(), Vec::new());
    for block in run.valid_blocks(arm) {
        let (cpu, queue) = on_the_way(block)?;
        let busy = block.server_cpu_ns_per_op? + block.server_run_queue_ns_per_op.unwrap_or(0.0);
        all.push(busy);
        beside.push(busy - cpu - queue);
    }
    let (all, beside) = (median(&all)?, median(&beside)?);
    (beside >= BESIDE_LEAST * all && beside > 0.0).then(|| {
        format!(
            "{} of the {} that {}'s server worked or waited for a core per operation were beside its statements \
             (background threads): no client waits for them",
            crate::format::nanoseconds(beside),
            crate::format::nanoseconds(all),
            run.arms[arm].server
        )
    })
}

/// Two arms as taps before their servers saw them: what one adds to an operation, nanoseconds.
struct Tapped {
    /// Commands that the other does not send, whole.
    round_trips: f64,
    /// Of these the server's part.
    round_trips_server: f64,
    think: f64,
    server: f64,
    transfer: f64,
    /// Commands of an operation of the slower arm.
    commands: f64,
    /// What all times of the taps' pass are multiplied by.
    scale: f64,
}

impl Tapped {
    /// Makes what the taps saw match what was timed; `None` where they did not see the difference.
    fn scaled(self, timed_ns: f64) -> Option<Tapped> {
        let seen = self.round_trips + self.think + self.server + self.transfer;
        if timed_ns <= 0.0 {
            return Some(self);
        }
        if seen < SEEN_BY_TAPS_LEAST * timed_ns {
            return None;
        }
        let scale = (timed_ns / seen).min(1.0);
        Some(Tapped {
            round_trips: self.round_trips * scale,
            round_trips_server: self.round_trips_server * scale,
            think: self.think * scale,
            server: self.server * scale,
            transfer: self.transfer * scale,
            scale,
            ..self
        })
    }
}

/// The phases of one kind of command in one arm; zeros where the arm does not send it.
fn phase_of(run: &Run, arm: usize, command: &str) -> PhaseTimes {
    let found = run.phases.iter().find(|phase| phase.arm == arm && phase.command == command);
    found.cloned().unwrap_or_default()
}

/// How many commands an operation of an arm sends; `None` without a tap.
#[must_use]
pub(crate) fn commands_per_op(run: &Run, arm: usize) -> Option<f64> {
    let mut phases = run.phases.iter().filter(|phase| phase.arm == arm).peekable();
    phases.peek()?;
    Some(phases.map(|phase| phase.per_op).sum())
}

fn tapped(run: &Run, pair: Pair) -> Option<Tapped> {
    let (slow, fast) = (commands_per_op(run, pair.slow)?, commands_per_op(run, pair.fast)?);
    let are_alike = (slow - fast).abs() <= COMMANDS_ALIKE * slow.max(fast);
    let mut kinds: Vec<&str> = run
        .phases
        .iter()
        .filter(|phase| phase.arm == pair.slow || phase.arm == pair.fast)
        .map(|phase| phase.command.as_str())
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let mut sum = Tapped {
        round_trips: 0.0,
        round_trips_server: 0.0,
        think: 0.0,
        server: 0.0,
        transfer: 0.0,
        commands: slow,
        scale: 1.0,
    };
    for kind in kinds {
        let (is, was) = (phase_of(run, pair.slow, kind), phase_of(run, pair.fast, kind));
        let (mut slow_count, mut fast_count) = (is.per_op, was.per_op);
        if !are_alike {
            let more = slow_count - fast_count;
            let one = if more > 0.0 { &is } else { &was };
            let whole = one.think_ns + one.upload_ns + one.server_ns + one.download_ns;
            sum.round_trips += more * whole;
            sum.round_trips_server += more * one.server_ns;
            slow_count = slow_count.min(fast_count);
            fast_count = slow_count;
        }
        let added = |of: &dyn Fn(&PhaseTimes) -> f64| slow_count * of(&is) - fast_count * of(&was);
        sum.think += added(&|phase| phase.think_ns);
        sum.server += added(&|phase| phase.server_ns);
        sum.transfer += added(&|phase| phase.upload_ns + phase.download_ns);
    }
    Some(sum)
}

fn path_of(run: &Run, arm: usize) -> Option<&PathTimes> {
    run.paths.iter().find(|path| path.arm == arm)
}

/// What the slower arm's ping takes more, nanoseconds.
#[must_use]
pub(crate) fn ping_delta(run: &Run, pair: Pair) -> Option<f64> {
    Some(path_of(run, pair.slow)?.ping_ns - path_of(run, pair.fast)?.ping_ns)
}

/// Whether taps saw the difference, so that what they saw is part of the sum.
#[must_use]
pub(crate) fn is_seen_by_taps(sum: &SumRule) -> bool {
    sum.parts.iter().any(|part| part.name == "app")
}

/// What the slower server's own account has more of something, nanoseconds per operation.
#[must_use]
pub(crate) fn own_delta(run: &Run, pair: Pair, of: &dyn Fn(&PathTimes) -> Option<f64>) -> Option<f64> {
    Some(of(path_of(run, pair.slow)?)? - of(path_of(run, pair.fast)?)?)
}

/// The program between the lab and the slower arm's server, if one is seen.
#[must_use]
pub(crate) fn forwarder(run: &Run, pair: Pair) -> Option<&str> {
    path_of(run, pair.slow)?.forwarder.as_deref()
}

/// Splits what taps saw. `busy_ns` is what the server's process was on its cores or waiting for one, in addition.
fn tapped_parts(run: &Run, pair: Pair, sum: &Tapped, busy_ns: f64, client_ns: f64) -> Vec<SumPart> {
    // Work for added commands is reported by `server-cpu` already.
    let busy_extra = busy_ns.clamp(0.0, sum.round_trips_server.max(0.0));
    let busy = busy_ns - busy_extra;
    // A server that sends while it works is on its cores during the download.
    let mut wait = sum.server - busy;
    let mut transfer = sum.transfer;
    if wait < 0.0 && transfer > 0.0 {
        let worked = transfer.min(-wait);
        transfer -= worked;
        wait += worked;
    }
    let own_scaled =
        |of: &dyn Fn(&PathTimes) -> Option<f64>| own_delta(run, pair, of).map(|delta| delta * sum.scale);
    let throttled = own_scaled(&|path| path.throttled_ns).unwrap_or(0.0).clamp(0.0, wait.max(0.0));
    wait -= throttled;
    let ping = ping_delta(run, pair).unwrap_or(0.0) * sum.commands * sum.scale;
    let own = own_scaled(&|path| path.statement_ns);
    let (link, proxy, off_cpu) = match own {
        Some(own) if wait > 0.0 => {
            let inside = (own - busy_ns - throttled).clamp(0.0, wait);
            let link = ping.clamp(0.0, wait - inside);
            (link, wait - inside - link, inside)
        }
        // The server has no clock of its own. What a ping does not explain is the server's where nothing stands between.
        None if wait > 0.0 => {
            let link = ping.clamp(0.0, wait);
            match forwarder(run, pair) {
                Some(_) => (link, wait - link, 0.0),
                None => (link, 0.0, wait - link),
            }
        }
        _ => (0.0, 0.0, wait),
    };
    let mut parts = vec![fixed("off-cpu", off_cpu)];
    if throttled > 0.0 {
        parts.push(fixed("throttled", throttled));
    }
    parts.push(fixed("network", link + transfer));
    parts.push(fixed("proxy", proxy));
    // The client's own work is a part of what the tap takes for thinking.
    parts.push(fixed("app", sum.think - client_ns.clamp(0.0, sum.think.max(0.0))));
    if sum.round_trips != 0.0 {
        parts.push(fixed("round-trips", sum.round_trips - busy_extra));
    }
    parts
}

/// Splits the difference of a pair. `None` if wall times of both were not measured in the same rounds.
#[must_use]
pub fn of(run: &Run, pair: Pair, seed: u64) -> Option<SumRule> {
    let wall = |block: &Block| (block.service.count > 0).then_some(block.service.mean_ns);
    let total = part(run, pair, "wall", &wall, seed)?;
    let mut parts = Vec::new();
    let cpu = part(run, pair, "server-cpu", &|block| Some(on_the_way(block)?.0), seed);
    let queue_of = |block: &Block| block.server_run_queue_ns_per_op.and_then(|_| Some(on_the_way(block)?.1));
    let queue = part(run, pair, "run-queue", &queue_of, seed);
    let client = part(run, pair, "client", &|block| Some(block.client_cpu_ns_per_op), seed);
    if let Some(sum) = tapped(run, pair).and_then(|sum| sum.scaled(total.delta_ns)) {
        let delta = |part: &Option<SumPart>| part.as_ref().map_or(0.0, |part| part.delta_ns);
        parts = tapped_parts(run, pair, &sum, delta(&cpu) + delta(&queue), delta(&client));
        let taken_ns: f64 = parts.iter().map(|part| (-part.delta_ns).max(0.0)).sum();
        if sum.round_trips == 0.0 && taken_ns > TAKEN_AWAY_BY_TAPS_MOST * total.delta_ns.abs() {
            parts.clear();
        }
        if cpu.is_none() && own_delta(run, pair, &|path| path.statement_ns).is_none() {
            // Neither the kernel's clock nor the server's: on a core or off it is not known.
            for part in parts.iter_mut().filter(|part| part.name == "off-cpu") {
                "server".clone_into(&mut part.name);
            }
        }
    }
    let follows =
        cpu.as_ref().zip(queue.as_ref()).map_or(0.0, |(_, queue)| queue_of_cpu(run, pair, queue.delta_ns));
    parts.extend(cpu);
    if follows > 0.0 {
        parts.push(fixed(QUEUE_OF_CPU, follows));
    }
    parts.extend(queue.map(|queue| SumPart {
        delta_ns: queue.delta_ns - follows,
        low_ns: queue.low_ns - follows,
        high_ns: queue.high_ns - follows,
        ..queue
    }));
    parts.extend(client);
    let residual_ns = total.delta_ns - parts.iter().map(|part| part.delta_ns).sum::<f64>();
    let mut sum =
        SumRule { fast_arm: pair.fast, slow_arm: pair.slow, total, parts, residual_ns, residual_share: 0.0 };
    sum.residual_share = residual_share(&sum);
    Some(sum)
}

/// The part of the run queue that grew because CPU did.
pub(crate) const QUEUE_OF_CPU: &str = "queue-of-cpu";

/// On a crowded machine a server that works more waits more: as much for a nanosecond of CPU as in the fast arm. That much of
/// what the run queue grew by is its work's, not the kernel's.
fn queue_of_cpu(run: &Run, pair: Pair, grown_ns: f64) -> f64 {
    let of = |arm, pick: &dyn Fn((f64, f64)) -> f64| {
        let values: Vec<f64> =
            run.valid_blocks(arm).filter_map(|block| on_the_way(block).map(pick)).collect();
        median(&values).unwrap_or(0.0)
    };
    let (cpu, queue) = (|both: (f64, f64)| both.0, |both: (f64, f64)| both.1);
    let (is, was) = (of(pair.slow, &cpu), of(pair.fast, &cpu));
    let follows = if was > 0.0 { of(pair.fast, &queue) * (is / was - 1.0) } else { 0.0 };
    follows.clamp(0.0, grown_ns.max(0.0))
}

/// All that the slower arm adds, nanoseconds: the base of every share.
#[must_use]
pub(crate) fn added_ns(sum: &SumRule) -> f64 {
    sum.parts.iter().map(|part| part.delta_ns.max(0.0)).sum::<f64>() + sum.residual_ns.max(0.0)
}

/// What was not seen, as a share of all that was added; 1 where layers take more away than they add.
#[must_use]
pub(crate) fn residual_share(sum: &SumRule) -> f64 {
    let added = added_ns(sum);
    if sum.residual_ns == 0.0 {
        0.0
    } else if added > 0.0 {
        (sum.residual_ns.abs() / added).min(1.0)
    } else {
        1.0
    }
}

/// Whether wall time grew beyond its noise, so that it can be divided among layers.
#[must_use]
pub(crate) fn is_divisible(sum: &SumRule) -> bool {
    sum.total.low_ns > 0.0 && sum.total.delta_ns > 0.0
}

/// A layer's share of what was added, 0..=1; `None` if it was not measured.
#[must_use]
pub fn share(sum: &SumRule, name: &str) -> Option<f64> {
    let part = sum.parts.iter().find(|part| part.name == name)?;
    let added = added_ns(sum);
    (added > 0.0 && added.is_finite()).then(|| (part.delta_ns.max(0.0) / added).min(1.0))
}

/// A part's name for people.
#[must_use]
pub(crate) fn part_name(name: &str) -> &str {
    match name {
        "server-cpu" => "CPU of the server",
        QUEUE_OF_CPU => "waiting for a core with that CPU",
        "run-queue" => "more waiting for a core",
        "off-cpu" => "waits in the server",
        "throttled" => "held back by a CPU quota",
        "app" => "think time of the client",
        "round-trips" => "added commands",
        "client" => "CPU of the client",
        other => other,
    }
}

/// The two largest parts with their shares; `None` where wall time cannot be divided.
#[must_use]
pub(crate) fn largest_in_words(sum: &SumRule) -> Option<String> {
    let added = Some(added_ns(sum)).filter(|added| is_divisible(sum) && added.is_finite())?;
    let rest = ("not seen", sum.residual_ns);
    let mut parts: Vec<(&str, f64)> =
        sum.parts.iter().map(|part| (part_name(&part.name), part.delta_ns)).chain([rest]).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let largest: Vec<String> = parts
        .iter()
        .take(2)
        .filter(|(_, delta_ns)| *delta_ns > 0.0)
        .map(|(name, delta_ns)| format!("{name} ({:.0} %)", (100.0 * delta_ns / added).min(100.0)))
        .collect();
    Some(format!("{} of the {} added", largest.join(" and "), crate::format::nanoseconds(added)))
}

/// In one line.
#[must_use]
pub(crate) fn in_words(run: &Run, sum: &SumRule) -> String {
    use crate::format::nanoseconds;
    let total = format!(
        "wall time of an operation: {} more on {} ({} to {})",
        nanoseconds(sum.total.delta_ns),
        run.arms.get(sum.slow_arm).map_or("the slower arm", |arm| arm.name.as_str()),
        nanoseconds(sum.total.low_ns),
        nanoseconds(sum.total.high_ns)
    );
    if !is_divisible(sum) {
        return format!("{total}: within the noise, so it is not divided among layers");
    }
    let parts: Vec<String> = sum
        .parts
        .iter()
        .map(|part| format!("{} {}", part_name(&part.name), nanoseconds(part.delta_ns)))
        .collect();
    format!(
        "{total} = {}, not seen {} ({:.0} % of the {} added)",
        parts.join(" + "),
        nanoseconds(sum.residual_ns),
        residual_share(sum) * 100.0,
        nanoseconds(added_ns(sum))
    )
}
