//! The ladder of exclusion: from the client down to the kernel, what each layer's evidence says of a difference.

use super::finding::Finding;
use super::sum::{self, share};
use crate::evidence::{Arm, Block, Metric, Run, Rung, RungOutcome};
use crate::knowledge::signature::{Pair, rows_read, share_of_added_cpu};
use crate::report::words::nanoseconds;
use crate::report::words::own;
use crate::stats::summary::median;

/// Share of the difference from which a layer is blamed.
const BLAMED_LEAST: f64 = 0.5;
/// Share up to which it is excluded.
const EXCLUDED_MOST: f64 = 0.2;
/// Counts per operation that differ by less are alike.
const ALIKE: f64 = 0.05;

/// All rungs, and the layer that is blamed, if one is.
pub struct Blame {
    /// From client to kernel.
    pub rungs: Vec<Rung>,
    /// The lowest layer that is blamed.
    pub layer: Option<String>,
}

/// Functions below the handler interface, by the beginnings of their names.
const ENGINE_FRAMES: &[&str] = &[
    "handler::ha_",
    "ha_innobase::",
    "row_",
    "btr_",
    "buf_",
    "mtr_",
    "trx_",
    "lock_",
    "page_",
    "rec_",
    "MVCC::",
    "log_",
    "fil_",
    "fsp_",
    "ibuf_",
    "dict_",
    "srv_",
    "ha_maria::",
    "os_",
];

fn is_in_engine(stack: &str) -> bool {
    // The kernel has names of its own that begin alike (`lock_hrtimer_base_[k]`).
    let is_own = |frame: &str| !frame.ends_with("_[k]");
    stack.split(';').any(|frame| is_own(frame) && ENGINE_FRAMES.iter().any(|start| frame.starts_with(start)))
}

fn rung(layer: &str, outcome: RungOutcome, evidence: String) -> Rung {
    Rung { layer: layer.to_owned(), outcome, evidence }
}

fn middle(run: &Run, arm: usize, of: &dyn Fn(&Block) -> f64) -> f64 {
    median(&run.valid_blocks(arm).map(of).collect::<Vec<_>>()).unwrap_or(0.0)
}

fn alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= ALIKE * one.abs().max(other.abs())
}

fn by_share(layer: &str, share: f64, what: &str) -> Rung {
    let said = format!("{what}: {:.0} % of the difference", share * 100.0);
    let outcome = if share >= BLAMED_LEAST {
        RungOutcome::Blamed
    } else if share <= EXCLUDED_MOST {
        RungOutcome::Excluded
    } else {
        RungOutcome::Contributes
    };
    rung(layer, outcome, said)
}

/// A status counter's difference between the arms, per operation. A counter that did not move is not among a block's: it is
/// missing in both arms or it is 0.
fn counter(run: &Run, pair: Pair, name: &str) -> Option<f64> {
    let of = |arm: usize| {
        let counted = |block: &&Block| !block.status_per_op.is_empty();
        let values: Vec<f64> = run
            .valid_blocks(arm)
            .filter(counted)
            .map(|block| block.status_per_op.get(name).copied().unwrap_or(0.0))
            .collect();
        median(&values)
    };
    Some(of(pair.slow)? - of(pair.fast)?)
}

struct Facts<'a> {
    run: &'a Run,
    pair: Pair,
    slow: &'a Arm,
    fast: &'a Arm,
    /// Share of the wall difference that is CPU of the server; 1 where CPU itself is what is compared and wall is silent.
    cpu: Option<f64>,
    queue: Option<f64>,
    network: Option<f64>,
    think: Option<f64>,
    off_cpu: Option<f64>,
    throttled: Option<f64>,
    proxy: Option<f64>,
    round_trips: Option<f64>,
    /// Commands of an operation, slow and fast.
    commands: (f64, f64),
    commands_alike: bool,
    bytes_alike: bool,
}

impl Facts<'_> {
    fn part(&self, name: &str) -> Option<f64> {
        let sum = self.run.sum.as_ref().filter(|sum| sum.total.low_ns > 0.0)?;
        share(sum, name)
    }
}

fn facts<'a>(run: &'a Run, found: &Finding) -> Facts<'a> {
    let pair = found.pair;
    let commands = |arm| {
        // A tap sees what real drivers send, and they do not say.
        sum::commands_per_op(run, arm).unwrap_or_else(|| {
            middle(run, arm, &|block| {
                if block.operations == 0 { 0.0 } else { block.statements as f64 / block.operations as f64 }
            })
        })
    };
    let up = |arm| middle(run, arm, &|block| block.bytes_up_per_op);
    let mut facts = Facts {
        run,
        pair,
        slow: &run.arms[pair.slow],
        fast: &run.arms[pair.fast],
        cpu: None,
        queue: None,
        network: None,
        think: None,
        off_cpu: None,
        throttled: None,
        proxy: None,
        round_trips: None,
        commands: (commands(pair.slow), commands(pair.fast)),
        commands_alike: alike(commands(pair.slow), commands(pair.fast)),
        bytes_alike: alike(up(pair.slow), up(pair.fast)),
    };
    facts.cpu = facts.part("server-cpu").or((found.metric == Metric::ServerCpu).then_some(1.0));
    facts.queue = facts.part("run-queue");
    // On a crowded machine a server that works more waits more: that much of the queue is its work's, not the kernel's.
    if let (Some(cpu), Some(queue)) = (facts.cpu, facts.queue) {
        let follows = queue_of_work(run, pair).clamp(0.0, queue.max(0.0));
        facts.queue = Some(queue - follows);
        facts.cpu = Some(cpu + follows);
    }
    facts.network = facts.part("network");
    facts.think = facts.part("app");
    facts.off_cpu = facts.part("off-cpu");
    facts.throttled = facts.part("throttled");
    facts.proxy = facts.part("proxy");
    facts.round_trips = facts.part("round-trips");
    facts
}

/// The share of the difference that the run queue grew by because CPU did: as much a nanosecond of CPU as in the fast arm.
fn queue_of_work(run: &Run, pair: Pair) -> f64 {
    let of = |arm, metric| {
        let values: Vec<f64> = run.valid_blocks(arm).filter_map(|block| block.value(metric, None)).collect();
        median(&values).unwrap_or(0.0)
    };
    let (is, was) = (of(pair.slow, Metric::ServerCpu), of(pair.fast, Metric::ServerCpu));
    let total = run.sum.as_ref().map_or(0.0, |sum| sum.total.delta_ns);
    if was <= 0.0 || total <= 0.0 { 0.0 } else { of(pair.fast, Metric::RunQueue) * (is / was - 1.0) / total }
}

/// Climbs: fills a rung for each layer and says which one is blamed.
#[must_use]
pub fn climb(run: &Run, found: &Finding) -> Blame {
    let facts = facts(run, found);
    let mut rungs = vec![client(&facts), app(&facts), driver(&facts, found), proxy(&facts), network(&facts)];
    let (sql, engine, part) = server(&facts);
    rungs.extend([sql, engine, kernel(&facts)]);
    let blamed: Vec<&Rung> = rungs.iter().filter(|rung| rung.outcome == RungOutcome::Blamed).collect();
    let layer = match blamed.as_slice() {
        [] => None,
        [one] => Some(one.layer.clone()),
        // SQL layer and engine stand together where no stack tells them apart.
        [one, other] if one.layer == "server-sql" && other.layer == "engine" => Some("server".to_owned()),
        // The cause is above: a plan makes the engine work, a statement makes the plan.
        [one, ..] => Some(one.layer.clone()),
    };
    let layer = layer.map(|layer| match part {
        Some(part) if layer == "server-sql" || layer == "engine" => format!("{layer}:{part}"),
        _ => layer,
    });
    Blame { rungs, layer }
}

fn client(facts: &Facts<'_>) -> Rung {
    let busy = [facts.pair.fast, facts.pair.slow]
        .map(|arm| middle(facts.run, arm, &|block| block.client_busy))
        .into_iter()
        .fold(0.0, f64::max);
    let lag = facts.run.valid_blocks(facts.pair.slow).map(|block| block.lag_p99_ns).max().unwrap_or(0);
    let skips: u64 = facts.run.valid_blocks(facts.pair.slow).map(|block| block.skips).sum();
    let said = format!(
        "busy {:.0} % of one core, 99 % of operations begun within {} of their time, {skips} skipped",
        busy * 100.0,
        nanoseconds(lag as f64)
    );
    if facts.run.valid_blocks(facts.pair.slow).next().is_none() {
        return rung("client", RungOutcome::NotMeasured, "no valid blocks recorded".to_owned());
    }
    // A client that is the limit makes blocks invalid and the run does not come here.
    rung("client", if busy < 0.9 { RungOutcome::Excluded } else { RungOutcome::Contributes }, said)
}

const TEXT_AXES: &[&str] = &["variant", "text", "select", "sql", "statement"];

fn app(facts: &Facts<'_>) -> Rung {
    let text = TEXT_AXES.iter().find(|axis| facts.slow.levels.get(**axis) != facts.fast.levels.get(**axis));
    if let Some(axis) = text {
        let level = facts.slow.levels.get(*axis).map_or("", String::as_str);
        return rung("app", RungOutcome::Blamed, format!("the two differ in {axis}; slow with {level}"));
    }
    if let Some(think) = facts.think
        && think > EXCLUDED_MOST
    {
        return by_share("app", think, "think time between commands");
    }
    let same_driver = facts.slow.driver == facts.fast.driver;
    if facts.run.valid_blocks(facts.pair.slow).next().is_none() {
        return rung("app", RungOutcome::NotMeasured, "no blocks recorded".to_owned());
    }
    let (is, was) = facts.commands;
    if let Some(share) = facts.round_trips
        && share > EXCLUDED_MOST
        && same_driver
    {
        return by_share("app", share, &format!("{is:.1} commands per operation instead of {was:.1}"));
    }
    if !facts.commands_alike && same_driver && facts.round_trips.is_none() {
        return rung(
            "app",
            RungOutcome::Blamed,
            format!("{is:.1} commands per operation instead of {was:.1}, by the same driver"),
        );
    }
    if facts.commands_alike && facts.bytes_alike {
        let think = facts.think.map_or("", |_| ", the same think time");
        return rung(
            "app",
            RungOutcome::Excluded,
            format!("the same commands and bytes{think} in both arms"),
        );
    }
    rung("app", RungOutcome::NotMeasured, "commands or bytes differ with the driver".to_owned())
}

fn driver(facts: &Facts<'_>, found: &Finding) -> Rung {
    let depends = |axis: &str, how: &str| {
        found.conditions.iter().find(|said| said.starts_with(how) && said.contains(&format!(" {axis} ")))
    };
    if facts.slow.driver != facts.fast.driver {
        return rung(
            "driver",
            RungOutcome::Blamed,
            format!(
                "the two differ in driver: slow with {}, not with {}",
                facts.slow.driver, facts.fast.driver
            ),
        );
    }
    if let Some(said) = depends("driver", "it does not depend") {
        return rung("driver", RungOutcome::Excluded, said.clone());
    }
    if let Some(said) = depends("driver", "only where").or_else(|| depends("driver", "it varies")) {
        return rung("driver", RungOutcome::Contributes, said.clone());
    }
    if facts.run.valid_blocks(facts.pair.slow).next().is_some() && facts.commands_alike && facts.bytes_alike {
        let said = format!("{} sends the same commands and bytes to both", facts.slow.driver);
        return rung("driver", RungOutcome::Excluded, said);
    }
    rung("driver", RungOutcome::NotMeasured, "one driver only, and what it sends differs".to_owned())
}

fn proxy(facts: &Facts<'_>) -> Rung {
    let of = |arm: &Arm| arm.levels.get("proxy").cloned().unwrap_or_else(|| "none".to_owned());
    let (slow, fast) = (of(facts.slow), of(facts.fast));
    if let Some(share) = facts.proxy
        && (share > EXCLUDED_MOST || slow == fast)
    {
        let who = sum::forwarder(facts.run, facts.pair)
            .map_or_else(String::new, |name| format!("; {name} holds the server's socket"));
        let what = format!(
            "statements wait between the tap and the server's own clock, beyond what a ping waits{who}"
        );
        return by_share("proxy", share, &what);
    }
    if facts.run.arms.iter().all(|arm| of(arm) == "none") {
        return rung(
            "proxy",
            RungOutcome::Excluded,
            "no proxy in any arm, as far as the run was told".to_owned(),
        );
    }
    if slow != fast {
        if facts.cpu.is_some_and(|cpu| cpu >= 1.0 - EXCLUDED_MOST) {
            let said = "the server itself spends the added time, with or without the proxy".to_owned();
            return rung("proxy", RungOutcome::Excluded, said);
        }
        return rung(
            "proxy",
            RungOutcome::Blamed,
            format!("slow through {slow}, not with {fast}; the server's CPU is alike"),
        );
    }
    rung("proxy", RungOutcome::NotMeasured, format!("{slow} in both arms: only a direct arm could tell"))
}

fn network(facts: &Facts<'_>) -> Rung {
    if let Some(network) = facts.network {
        let ping = sum::ping_delta(facts.run, facts.pair).map_or_else(String::new, |delta| {
            format!(", and pings that take {} more", nanoseconds(delta.max(0.0)))
        });
        return by_share("network", network, &format!("upload and download{ping}"));
    }
    if let Some(cpu) = facts.cpu
        && cpu + facts.queue.unwrap_or(0.0) >= 1.0 - EXCLUDED_MOST
    {
        let said = "the server's own time accounts for the difference".to_owned();
        return rung("network", RungOutcome::Excluded, said);
    }
    rung("network", RungOutcome::NotMeasured, "no tap between client and server".to_owned())
}

/// The two rungs of the server, and the part of it where one is known.
fn server(facts: &Facts<'_>) -> (Rung, Rung, Option<&'static str>) {
    let run = facts.run;
    let read = |arm: usize| rows_read(run, arm).unwrap_or(0.0);
    let (is, was) = (read(facts.pair.slow), read(facts.pair.fast));
    let nanos = |name: &str, unit_ns: f64| counter(run, facts.pair, name).map(|delta| delta * unit_ns);
    let total = run.sum.as_ref().map_or(0.0, |sum| sum.total.delta_ns);
    let lock = nanos("Innodb_row_lock_time", 1e6).unwrap_or(0.0);
    if total > 0.0 && lock >= BLAMED_LEAST * total {
        let said =
            format!("waits for row locks: {} of {} per operation", nanoseconds(lock), nanoseconds(total));
        let sql = rung("server-sql", RungOutcome::Excluded, "the time is spent waiting for locks".to_owned());
        return (sql, rung("engine", RungOutcome::Blamed, said), Some("row-lock"));
    }
    if facts.cpu.is_none() && facts.off_cpu.is_none() {
        let said = "the server's CPU was not measured (another machine?)".to_owned();
        return (
            rung("server-sql", RungOutcome::NotMeasured, said.clone()),
            rung("engine", RungOutcome::NotMeasured, said),
            None,
        );
    }
    let cpu = facts.cpu.unwrap_or(0.0);
    let sync = sum::own_delta(run, facts.pair, &|path| path.sync_ns).unwrap_or(0.0);
    if total > 0.0 && sync >= BLAMED_LEAST * total && cpu < BLAMED_LEAST {
        let said = format!("syncs of files: {} of {} per operation", nanoseconds(sync), nanoseconds(total));
        let sql = rung("server-sql", RungOutcome::Excluded, "its CPU does not account for it".to_owned());
        return (sql, rung("engine", RungOutcome::Blamed, said), Some("sync"));
    }
    let syncs = ["Innodb_os_log_fsyncs", "Innodb_data_fsyncs"]
        .iter()
        .filter_map(|name| counter(run, facts.pair, name))
        .fold(0.0, f64::max);
    if cpu < BLAMED_LEAST && syncs >= 0.5 {
        let said = format!("{syncs:.1} more syncs per operation, and little more CPU");
        let sql = rung("server-sql", RungOutcome::Excluded, "its CPU does not account for it".to_owned());
        return (sql, rung("engine", RungOutcome::Blamed, said), Some("sync"));
    }
    if cpu < BLAMED_LEAST {
        let said = format!("server CPU: {:.0} % of the difference", cpu * 100.0);
        let outcome = if cpu <= EXCLUDED_MOST { RungOutcome::Excluded } else { RungOutcome::Contributes };
        let engine = match facts.off_cpu {
            Some(off) if off > EXCLUDED_MOST => {
                by_share("engine", off, "the server waits off its cores, for no lock and no sync it counts")
            }
            // Without a tap a wait in the server looks as a wait before it.
            None => {
                rung("engine", RungOutcome::NotMeasured, format!("{said}; waits off the cores need the tap"))
            }
            Some(_) => rung("engine", outcome, said.clone()),
        };
        return (rung("server-sql", outcome, said), engine, None);
    }
    if is > 1.5 * was && is - was >= 10.0 {
        let said = format!("{is:.0} rows examined per operation instead of {was:.0}: another plan");
        let engine = rung("engine", RungOutcome::Contributes, "it reads what the plan asks for".to_owned());
        return (rung("server-sql", RungOutcome::Blamed, said), engine, Some("plan"));
    }
    if let Some((part, said)) = spilled(facts) {
        let engine = rung("engine", RungOutcome::Contributes, "it may hold what spills".to_owned());
        return (rung("server-sql", RungOutcome::Blamed, said), engine, Some(part));
    }
    let plan = if is > 0.0 && alike(is, was) { "; rows examined are alike" } else { "" };
    match share_of_added_cpu(run, facts.pair, &is_in_engine) {
        Some(engine) => {
            let sql = by_share("server-sql", cpu * (1.0 - engine), "server CPU above the handler interface");
            (sql, by_share("engine", cpu * engine, "server CPU below the handler interface"), None)
        }
        None => {
            let changed = variables_of(facts, &|_| true);
            let changed = if changed.is_empty() {
                String::new()
            } else {
                format!("; variables differ: {}", changed.join(", "))
            };
            let said = format!(
                "server CPU: {:.0} % of the difference{plan}; no stacks tell which half{changed}",
                cpu * 100.0
            );
            (
                rung("server-sql", RungOutcome::Blamed, said.clone()),
                rung("engine", RungOutcome::Blamed, said),
                None,
            )
        }
    }
}

/// Variables that differ between the two servers, with both values.
fn variables_of(facts: &Facts<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (slow, fast) = (&facts.slow.server, &facts.fast.server);
    let differing =
        facts.run.equalised.iter().filter(|setting| !setting.is_equal && is_wanted(&setting.name));
    differing
        .filter_map(|setting| {
            let (is, was) = (setting.values.get(slow)?, setting.values.get(fast)?);
            let values = [is.as_str(), was.as_str()];
            (is != was)
                .then(|| format!("{} = {} instead of {}", setting.name, own(is, &values), own(was, &values)))
        })
        .collect()
}

/// Work of the SQL layer that no longer fits into memory, by its counters, with the variables that say how much may.
fn spilled(facts: &Facts<'_>) -> Option<(&'static str, String)> {
    const KINDS: [(&str, &str, &str, &[&str]); 3] = [
        ("Sort_merge_passes", "sort", "merge passes of sorts", &["sort_buffer_size", "max_sort_length"]),
        (
            "Count_hit_tmp_table_size",
            "temporary-table",
            "temporary tables beyond their memory",
            &["tmp_table_size", "temptable_max_ram"],
        ),
        (
            "Created_tmp_disk_tables",
            "temporary-table",
            "temporary tables on disk",
            &[
                "tmp_table_size",
                "max_heap_table_size",
                "internal_tmp_mem_storage_engine",
                "temptable_max_ram",
            ],
        ),
    ];
    KINDS.into_iter().find_map(|(name, part, what, variables)| {
        let more = counter(facts.run, facts.pair, name).filter(|more| *more >= 0.5)?;
        let why = variables_of(facts, &|variable| variables.contains(&variable));
        let why = if why.is_empty() { String::new() } else { format!("; {}", why.join(", ")) };
        Some((part, format!("{more:.1} more {what} per operation{why}")))
    })
}

fn kernel(facts: &Facts<'_>) -> Rung {
    if let Some(throttled) = facts.throttled
        && throttled > EXCLUDED_MOST
    {
        let all = throttled + facts.queue.unwrap_or(0.0).max(0.0);
        return by_share("kernel", all, "a CPU quota holds the server back, and waiting for a core");
    }
    match facts.queue {
        Some(queue) => by_share("kernel", queue, "waiting for a core"),
        None if facts.cpu.is_some_and(|cpu| cpu >= 1.0 - EXCLUDED_MOST) => {
            rung("kernel", RungOutcome::Excluded, "CPU of the server accounts for the difference".to_owned())
        }
        None => rung("kernel", RungOutcome::NotMeasured, "no run-queue time of the server".to_owned()),
    }
}
