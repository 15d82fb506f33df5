//! Layer attribution: from the client down to the kernel, what each layer's evidence says of a difference.
//!
//! Invariants:
//! 1. Shares of layers are parts of one sum ([`super::sum`]): each is at most 1, and so are all together.
//! 2. At most one layer is blamed; SQL layer and engine count as one where nothing distinguishes them.

use super::finding::Finding;
use super::sentence::has_plan;
use super::sum::{self, share};
use crate::evidence::{Arm, Block, Flavour, LayerFinding, LayerOutcome, Metric, Run};
use crate::format::nanoseconds;
use crate::format::own;
use crate::knowledge::signature::{Pair, has_names, rows_read, share_of_added_cpu};
use crate::stats::summary::median;

/// Share of the difference from which a layer is blamed.
const BLAMED_LEAST: f64 = 0.5;
/// Share up to which it is excluded.
const EXCLUDED_MOST: f64 = 0.2;
/// Counts per operation that differ by less are alike.
const ALIKE: f64 = 0.05;

/// What is said of all layers, and which one is blamed.
pub struct Blame {
    /// From client to kernel.
    pub findings: Vec<LayerFinding>,
    /// The highest layer that is blamed.
    pub layer: Option<String>,
    /// What was divided is the added CPU of the server, not the added wall time.
    pub is_of_cpu: bool,
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

fn layer(name: &str, outcome: LayerOutcome, evidence: String) -> LayerFinding {
    LayerFinding { layer: name.to_owned(), outcome, evidence, share: None }
}

fn middle(run: &Run, arm: usize, of: &dyn Fn(&Block) -> f64) -> f64 {
    median(&run.valid_blocks(arm).map(of).collect::<Vec<_>>()).unwrap_or(0.0)
}

fn alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= ALIKE * one.abs().max(other.abs())
}

fn outcome_of(share: f64) -> LayerOutcome {
    if share >= BLAMED_LEAST {
        LayerOutcome::Blamed
    } else if share <= EXCLUDED_MOST {
        LayerOutcome::Excluded
    } else {
        LayerOutcome::Contributes
    }
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

struct AttributionInputs<'a> {
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
    /// What shares are of; `None` where there is no such sum.
    added_ns: Option<f64>,
    /// Wall time is too noisy to be divided: what is divided is the added CPU of the server.
    is_of_cpu: bool,
}

impl AttributionInputs<'_> {
    fn part(&self, name: &str) -> Option<f64> {
        share(self.run.sum.as_ref().filter(|sum| !self.is_of_cpu && sum::is_divisible(sum))?, name)
    }

    /// A share with its base, in words.
    fn of_added(&self, share: f64) -> String {
        let Some(added) = self.added_ns else { return "wall time is too noisy to be divided".to_owned() };
        let what = if self.is_of_cpu { "of server CPU added" } else { "added" };
        format!(
            "{} of the {} {what} ({:.0} %)",
            nanoseconds(share * added),
            nanoseconds(added),
            share * 100.0
        )
    }

    /// Appended to the name of the CPU share where it includes time in the run queue.
    fn with_queue(&self) -> &'static str {
        if self.part(sum::QUEUE_OF_CPU).is_some_and(|share| share > 0.0) {
            ", and waiting for a core with it"
        } else {
            ""
        }
    }

    /// A layer judged by its share of what was added.
    fn by_share(&self, name: &str, share: f64, what: &str) -> LayerFinding {
        let said = format!("{what}: {}", self.of_added(share));
        self.shared(name, outcome_of(share), share, said)
    }

    /// A layer with a share; where wall time cannot be divided there is none to be printed.
    fn shared(&self, name: &str, outcome: LayerOutcome, share: f64, evidence: String) -> LayerFinding {
        let share = self.added_ns.map(|_| share.clamp(0.0, 1.0));
        LayerFinding { share, ..layer(name, outcome, evidence) }
    }

    /// The share of the wait in the server that a time per operation, summed over all its threads, can account for, with
    /// both in words.
    fn of_waits(&self, summed_ns: f64) -> Option<(f64, String)> {
        let added = self.added_ns.filter(|_| !self.is_of_cpu)?;
        let others = self.cpu.unwrap_or(0.0) + self.queue.unwrap_or(0.0);
        let waits = self.off_cpu.unwrap_or(1.0 - others).clamp(0.0, 1.0);
        let share = (summed_ns / added).clamp(0.0, waits);
        let over = if summed_ns > 1.01 * share * added {
            format!("; summed over all threads it is {}", nanoseconds(summed_ns))
        } else {
            String::new()
        };
        Some((share, self.of_added(share) + &over))
    }
}

/// What is known of a pair; of the added CPU alone where that is what is to be divided.
fn inputs<'a>(run: &'a Run, found: &Finding, is_of_cpu: bool) -> AttributionInputs<'a> {
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
    let mut inputs = AttributionInputs {
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
        added_ns: run.sum.as_ref().filter(|sum| sum::is_divisible(sum)).map(sum::added_ns),
        is_of_cpu,
    };
    let with_queue = |cpu: f64| cpu + inputs.part(sum::QUEUE_OF_CPU).unwrap_or(0.0);
    inputs.cpu = inputs.part("server-cpu").map(with_queue);
    if is_of_cpu {
        inputs.cpu = Some(1.0);
        inputs.added_ns = Some(found.fast_value * (found.ratio - 1.0));
    }
    inputs.queue = inputs.part("run-queue");
    inputs.network = inputs.part("network");
    inputs.think = inputs.part("app");
    inputs.off_cpu = inputs.part("off-cpu");
    inputs.throttled = inputs.part("throttled");
    inputs.proxy = inputs.part("proxy");
    inputs.round_trips = inputs.part("round-trips");
    inputs
}

/// Says of each layer what the evidence says, and which one is blamed.
///
/// Wall time is divided where it grew beyond its noise. Where that leaves no layer to blame and CPU of the server is what differs
/// for certain, the added CPU is divided: it is the server's, whatever the wall time does.
#[must_use]
pub fn attribute(run: &Run, found: &Finding) -> Blame {
    let is_divisible = run.sum.as_ref().is_some_and(sum::is_divisible);
    let is_cpu_certain = found.metric == Metric::ServerCpu;
    if is_divisible || !is_cpu_certain {
        let blame = attribute_to(&inputs(run, found, false), found);
        if blame.layer.is_some() || !is_cpu_certain {
            return blame;
        }
    }
    attribute_to(&inputs(run, found, true), found)
}

fn attribute_to(inputs: &AttributionInputs<'_>, found: &Finding) -> Blame {
    let mut findings =
        vec![client(inputs), app(inputs), driver(inputs, found), proxy(inputs), network(inputs)];
    let (sql, engine, part) = server(inputs);
    findings.extend([sql, engine, kernel(inputs)]);
    let blamed: Vec<usize> =
        (0..findings.len()).filter(|&at| findings[at].outcome == LayerOutcome::Blamed).collect();
    let name = |at: usize| findings[at].layer.clone();
    let layer = match blamed.as_slice() {
        [] => None,
        // SQL layer and engine stand together where no stack distinguishes them.
        &[one, other] if name(one) == "server-sql" && name(other) == "engine" => Some("server".to_owned()),
        // The cause is above: a plan makes the engine work, a statement makes the plan.
        &[one, ..] => Some(name(one)),
    };
    if layer.as_deref() != Some("server") {
        for &at in blamed.iter().skip(1) {
            findings[at].outcome = LayerOutcome::Contributes;
        }
    }
    let layer = layer.map(|layer| match part {
        Some(part) if layer == "server-sql" || layer == "engine" => format!("{layer}:{part}"),
        _ => layer,
    });
    Blame { findings, layer, is_of_cpu: inputs.is_of_cpu }
}

fn client(inputs: &AttributionInputs<'_>) -> LayerFinding {
    let busy = [inputs.pair.fast, inputs.pair.slow]
        .map(|arm| middle(inputs.run, arm, &|block| block.client_busy))
        .into_iter()
        .fold(0.0, f64::max);
    let lag = inputs.run.valid_blocks(inputs.pair.slow).map(|block| block.lag_p99_ns).max().unwrap_or(0);
    let skips: u64 = inputs.run.valid_blocks(inputs.pair.slow).map(|block| block.skips).sum();
    let mut said = format!("busy {:.0} % of one core", busy * 100.0);
    if lag > 0 || skips > 0 {
        let lag = nanoseconds(lag as f64);
        said += &format!(", 99 % of operations begun within {lag} of their time, {skips} skipped");
    }
    if inputs.run.valid_blocks(inputs.pair.slow).next().is_none() {
        return layer("client", LayerOutcome::NotMeasured, "no valid blocks recorded".to_owned());
    }
    if let Some(share) = inputs.part("client")
        && share > EXCLUDED_MOST
    {
        return inputs.by_share("client", share, &format!("its own CPU ({said})"));
    }
    // A client that is the limit makes blocks invalid and the run does not come here.
    layer("client", if busy < 0.9 { LayerOutcome::Excluded } else { LayerOutcome::Contributes }, said)
}

const TEXT_AXES: &[&str] = &["variant", "text", "select", "sql", "statement"];

fn app(inputs: &AttributionInputs<'_>) -> LayerFinding {
    let text = TEXT_AXES.iter().find(|axis| inputs.slow.levels.get(**axis) != inputs.fast.levels.get(**axis));
    if let Some(axis) = text {
        let level = inputs.slow.levels.get(*axis).map_or("", String::as_str);
        return layer("app", LayerOutcome::Blamed, format!("the two differ in {axis}; slow with {level}"));
    }
    if let Some(think) = inputs.think
        && think > EXCLUDED_MOST
    {
        return inputs.by_share("app", think, "think time between commands");
    }
    let same_driver = inputs.slow.driver == inputs.fast.driver;
    if inputs.run.valid_blocks(inputs.pair.slow).next().is_none() {
        return layer("app", LayerOutcome::NotMeasured, "no blocks recorded".to_owned());
    }
    let (is, was) = inputs.commands;
    if let Some(share) = inputs.round_trips
        && share > EXCLUDED_MOST
        && same_driver
    {
        return inputs.by_share("app", share, &format!("{is:.1} commands per operation instead of {was:.1}"));
    }
    if !inputs.commands_alike && same_driver && inputs.round_trips.is_none() {
        return layer(
            "app",
            LayerOutcome::Blamed,
            format!("{is:.1} commands per operation instead of {was:.1}, by the same driver"),
        );
    }
    if inputs.commands_alike && inputs.bytes_alike {
        let think = inputs.think.map_or("", |_| ", the same think time");
        return layer(
            "app",
            LayerOutcome::Excluded,
            format!("the same commands and bytes{think} in both arms"),
        );
    }
    layer("app", LayerOutcome::NotMeasured, "commands or bytes differ with the driver".to_owned())
}

fn driver(inputs: &AttributionInputs<'_>, found: &Finding) -> LayerFinding {
    let depends = |axis: &str, how: &str| {
        found.conditions.iter().find(|said| said.starts_with(how) && said.contains(&format!(" {axis} ")))
    };
    if inputs.slow.driver != inputs.fast.driver {
        return layer(
            "driver",
            LayerOutcome::Blamed,
            format!(
                "the two differ in driver: slow with {}, not with {}",
                inputs.slow.driver, inputs.fast.driver
            ),
        );
    }
    if let Some(said) = depends("driver", "it does not depend") {
        return layer("driver", LayerOutcome::Excluded, said.clone());
    }
    if let Some(said) = depends("driver", "only where").or_else(|| depends("driver", "it varies")) {
        return layer("driver", LayerOutcome::Contributes, said.clone());
    }
    if inputs.run.valid_blocks(inputs.pair.slow).next().is_some()
        && inputs.commands_alike
        && inputs.bytes_alike
    {
        let said = format!("{} sends the same commands and bytes to both", inputs.slow.driver);
        return layer("driver", LayerOutcome::Excluded, said);
    }
    layer("driver", LayerOutcome::NotMeasured, "one driver only, and what it sends differs".to_owned())
}

fn proxy(inputs: &AttributionInputs<'_>) -> LayerFinding {
    let of = |arm: &Arm| arm.levels.get("proxy").cloned().unwrap_or_else(|| "none".to_owned());
    let (slow, fast) = (of(inputs.slow), of(inputs.fast));
    if let Some(share) = inputs.proxy
        && (share > EXCLUDED_MOST || slow == fast)
    {
        let who = sum::forwarder(inputs.run, inputs.pair)
            .map_or_else(String::new, |name| format!("; {name} holds the server's socket"));
        let what = format!(
            "statements wait between the tap and the server's own clock, beyond what a ping waits{who}"
        );
        return inputs.by_share("proxy", share, &what);
    }
    if inputs.run.arms.iter().all(|arm| of(arm) == "none") {
        return layer(
            "proxy",
            LayerOutcome::Excluded,
            "no proxy in any arm, as far as the run was told".to_owned(),
        );
    }
    if slow != fast {
        if inputs.cpu.is_some_and(|cpu| cpu >= 1.0 - EXCLUDED_MOST) {
            let said = "the server itself spends the added time, with or without the proxy".to_owned();
            return layer("proxy", LayerOutcome::Excluded, said);
        }
        return layer(
            "proxy",
            LayerOutcome::Blamed,
            format!("slow through {slow}, not with {fast}; the server's CPU is alike"),
        );
    }
    layer("proxy", LayerOutcome::NotMeasured, format!("{slow} in both arms: only a direct arm could tell"))
}

fn network(inputs: &AttributionInputs<'_>) -> LayerFinding {
    if let Some(network) = inputs.network {
        let ping = sum::ping_delta(inputs.run, inputs.pair).map_or_else(String::new, |delta| {
            format!(", and pings that take {} more", nanoseconds(delta.max(0.0)))
        });
        return inputs.by_share("network", network, &format!("upload and download{ping}"));
    }
    if let Some(cpu) = inputs.cpu
        && cpu + inputs.queue.unwrap_or(0.0) >= 1.0 - EXCLUDED_MOST
    {
        let said = if inputs.is_of_cpu {
            "what differs for certain is CPU of the server"
        } else {
            "the server's own time accounts for the difference"
        };
        return layer("network", LayerOutcome::Excluded, said.to_owned());
    }
    layer("network", LayerOutcome::NotMeasured, "no tap between client and server".to_owned())
}

/// The two findings of the server, and the part of it where one is known.
fn server(inputs: &AttributionInputs<'_>) -> (LayerFinding, LayerFinding, Option<&'static str>) {
    let run = inputs.run;
    let read = |arm: usize| rows_read(run, arm).unwrap_or(0.0);
    let (is, was) = (read(inputs.pair.slow), read(inputs.pair.fast));
    let lock_ns = counter(run, inputs.pair, "Innodb_row_lock_time").map_or(0.0, |delta_ms| delta_ms * 1e6);
    if let Some((share, said)) = inputs.of_waits(lock_ns).filter(|(share, _)| *share >= BLAMED_LEAST) {
        let sql =
            layer("server-sql", LayerOutcome::Excluded, "the time is spent waiting for locks".to_owned());
        let said = format!("waits for row locks: {said}");
        return (sql, inputs.shared("engine", LayerOutcome::Blamed, share, said), Some("row-lock"));
    }
    if inputs.cpu.is_none() && inputs.off_cpu.is_none() {
        let said = "the server's CPU was not measured (another machine?)".to_owned();
        return (
            layer("server-sql", LayerOutcome::NotMeasured, said.clone()),
            layer("engine", LayerOutcome::NotMeasured, said),
            None,
        );
    }
    let cpu = inputs.cpu.unwrap_or(0.0);
    let cpu_is = || match inputs.added_ns.filter(|_| !inputs.is_of_cpu) {
        Some(_) => format!("CPU of the server{}: {}", inputs.with_queue(), inputs.of_added(cpu)),
        None if run.sum.as_ref().is_some_and(sum::is_divisible) => {
            "CPU of the server grew for certain, and no layer has half of the added wall time".to_owned()
        }
        None => "CPU of the server grew, and wall time is too noisy to be divided".to_owned(),
    };
    let sync_ns = sum::own_delta(run, inputs.pair, &|path| path.sync_ns)
        .filter(|_| inputs.off_cpu.is_some())
        .unwrap_or(0.0);
    let sync = inputs.of_waits(sync_ns).filter(|(share, _)| *share >= BLAMED_LEAST);
    if let Some((share, said)) = sync.filter(|_| cpu < BLAMED_LEAST) {
        let said = format!("syncs of files: {said}");
        let sql = inputs.shared("server-sql", outcome_of(cpu), cpu, cpu_is());
        return (sql, inputs.shared("engine", LayerOutcome::Blamed, share, said), Some("sync"));
    }
    let syncs = ["Innodb_os_log_fsyncs", "Innodb_data_fsyncs"]
        .iter()
        .filter_map(|name| counter(run, inputs.pair, name))
        .fold(0.0, f64::max);
    // Without a tap a sync is what may be waited for where neither CPU nor a core is.
    let others = cpu + inputs.queue.unwrap_or(0.0);
    let may_wait = inputs.off_cpu.unwrap_or(1.0 - others) >= BLAMED_LEAST;
    if cpu < BLAMED_LEAST && syncs >= 0.5 && may_wait {
        let said = format!("{syncs:.1} more syncs of files per operation, and little more CPU");
        let sql = inputs.shared("server-sql", outcome_of(cpu), cpu, cpu_is());
        return (sql, layer("engine", LayerOutcome::Blamed, said), Some("sync"));
    }
    if cpu < BLAMED_LEAST {
        let said = cpu_is();
        let outcome = outcome_of(cpu);
        let engine = match inputs.off_cpu {
            Some(off) if off > EXCLUDED_MOST => inputs.by_share(
                "engine",
                off,
                "the server waits off its cores, for no lock and no sync it counts",
            ),
            // Without a tap a wait in the server looks as a wait before it.
            None => {
                let said = "not distinguished from what is before it: no tap measured waits".to_owned();
                layer("engine", LayerOutcome::NotMeasured, said)
            }
            Some(off) => inputs.by_share("engine", off, "waits in the server"),
        };
        return (inputs.shared("server-sql", outcome, cpu, said), engine, None);
    }
    if is > 1.5 * was && is - was >= 10.0 && has_plan(run, inputs.pair.slow) {
        let said = format!("{is:.0} rows examined per operation instead of {was:.0}: another plan");
        let engine = layer("engine", LayerOutcome::Contributes, "it reads what the plan asks for".to_owned());
        let said = format!("{said}; {}", cpu_is());
        return (inputs.shared("server-sql", LayerOutcome::Blamed, cpu, said), engine, Some("plan"));
    }
    if let Some((part, said)) = spilled(inputs) {
        let engine = layer("engine", LayerOutcome::Contributes, "it may hold what spills".to_owned());
        return (inputs.shared("server-sql", LayerOutcome::Blamed, cpu, said), engine, Some(part));
    }
    let plan = if is > 0.0 && alike(is, was) { "; rows examined are alike" } else { "" };
    let split =
        share_of_added_cpu(run, inputs.pair, &is_in_engine).filter(|_| separates_engine_from_sql(inputs));
    match split {
        Some(engine) => {
            let with = inputs.with_queue();
            let mut sql = inputs.by_share(
                "server-sql",
                cpu * (1.0 - engine),
                &format!("CPU above the handler interface{with}"),
            );
            let mut engine =
                inputs.by_share("engine", cpu * engine, &format!("CPU below the handler interface{with}"));
            // Neither half is most of the difference, and both together are.
            if sql.outcome != LayerOutcome::Blamed && engine.outcome != LayerOutcome::Blamed {
                (sql.outcome, engine.outcome) = (LayerOutcome::Blamed, LayerOutcome::Blamed);
            }
            (sql, engine, None)
        }
        None => {
            let changed = variables_of(inputs, &|_| true);
            let changed = if changed.is_empty() {
                String::new()
            } else {
                format!("; settings differ: {}", changed.join(", "))
            };
            let said = format!("{}{plan}{changed}", cpu_is());
            (
                inputs.shared("server-sql", LayerOutcome::Blamed, cpu, said),
                layer(
                    "engine",
                    LayerOutcome::Blamed,
                    "not distinguished from the SQL layer: no stacks with known names".to_owned(),
                ),
                None,
            )
        }
    }
}

/// Whether stacks tell the SQL layer from the engine: their functions have names, and it is known which are the engine's.
fn separates_engine_from_sql(inputs: &AttributionInputs<'_>) -> bool {
    let is_known = |name: &str| {
        let server = inputs.run.servers.iter().find(|server| server.name == name);
        server.is_none_or(|server| server.flavour != Flavour::Invar)
    };
    has_names(inputs.run, inputs.pair) && is_known(&inputs.slow.server) && is_known(&inputs.fast.server)
}

/// Variables that differ between the two servers, with both values.
fn variables_of(inputs: &AttributionInputs<'_>, is_wanted: &dyn Fn(&str) -> bool) -> Vec<String> {
    let (slow, fast) = (&inputs.slow.server, &inputs.fast.server);
    let differing =
        inputs.run.equalised.iter().filter(|setting| !setting.is_equal && is_wanted(&setting.name));
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
fn spilled(inputs: &AttributionInputs<'_>) -> Option<(&'static str, String)> {
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
        let more = counter(inputs.run, inputs.pair, name).filter(|more| *more >= 0.5)?;
        let why = variables_of(inputs, &|variable| variables.contains(&variable));
        let why = if why.is_empty() { String::new() } else { format!("; {}", why.join(", ")) };
        Some((part, format!("{more:.1} more {what} per operation{why}")))
    })
}

fn kernel(inputs: &AttributionInputs<'_>) -> LayerFinding {
    if let Some(throttled) = inputs.throttled
        && throttled > EXCLUDED_MOST
    {
        let all = throttled + inputs.queue.unwrap_or(0.0);
        return inputs.by_share("kernel", all, "a CPU quota holds the server back, and waiting for a core");
    }
    match inputs.queue {
        Some(queue) => {
            let with_cpu =
                inputs.part(sum::QUEUE_OF_CPU).zip(inputs.added_ns).map_or(0.0, |(one, all)| one * all);
            let beside = if with_cpu > 0.0 {
                format!("; {} of waiting goes with the server's added CPU", nanoseconds(with_cpu))
            } else {
                String::new()
            };
            let mut said = inputs.by_share("kernel", queue, "more waiting for a core than its CPU explains");
            said.evidence += &beside;
            said
        }
        None if inputs.cpu.is_some_and(|cpu| cpu >= 1.0 - EXCLUDED_MOST) => layer(
            "kernel",
            LayerOutcome::Excluded,
            "CPU of the server accounts for the difference".to_owned(),
        ),
        None => layer("kernel", LayerOutcome::NotMeasured, "no run-queue time of the server".to_owned()),
    }
}
