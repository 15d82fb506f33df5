//! What a run found out, as plain data: every step writes here and the report reads nothing else.
//!
//! It is JSON on disk. A field that may be missing has a default, so an older file stays readable; a change that would
//! mislead an older reader raises [`SCHEMA_VERSION`].
//!
//! Times are nanoseconds (`_ns`) unless a name says otherwise. "Per operation" means: per business operation of the
//! scenario (one INSERT of 500 rows is one), counted by the client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version of this form of data.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// One run of the lab.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Run {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of the program.
    pub invar_version: String,
    /// When it began, milliseconds since 1970 UTC.
    pub started_unix_ms: u64,
    /// How long it took, seconds.
    pub duration_s: f64,
    /// What it was given for measuring, seconds; 0 in files of older versions.
    pub time_budget_s: f64,
    /// What of that it used.
    pub measured_s: f64,
    /// The command lines that made it, passwords blotted out.
    pub commands: Vec<String>,
    /// Where the client ran.
    pub machine: Machine,
    /// What was run.
    pub scenario: ScenarioRecord,
    /// Against what.
    pub servers: Vec<Server>,
    /// Settings that must be alike in every arm, and whether they are.
    pub equalised: Vec<Setting>,
    /// The cells of the matrix. Index 0 is what the others are compared with, unless a comparison says otherwise.
    pub arms: Vec<Arm>,
    /// What was measured, in the order it was.
    pub blocks: Vec<Block>,
    /// How much the same thing differs from itself.
    pub noise: Vec<NoiseFloor>,
    /// Arms against arms.
    pub comparisons: Vec<Comparison>,
    /// How cost grows with size.
    pub growth: Vec<Growth>,
    /// What counts are proportional to.
    pub counts: Vec<CountRelation>,
    /// Where CPU time went.
    pub stacks: Vec<StackProfile>,
    /// Where wall time went, by phases of the protocol.
    pub phases: Vec<PhaseTimes>,
    /// What lies between client and server, and what the servers say of their own time.
    pub paths: Vec<PathTimes>,
    /// The difference of the pair that the verdict is about, layer by layer.
    pub sum: Option<SumRule>,
    /// What was changed to see whether the difference goes.
    pub interventions: Vec<Intervention>,
    /// Profiles held against the drivers they imitate.
    #[serde(alias = "faith")]
    pub fidelity: Vec<Fidelity>,
    /// What each layer has to do with the difference, from the client down.
    #[serde(alias = "ladder")]
    pub layers: Vec<LayerFinding>,
    /// Tables, indexes, statistics and plans that the servers do not have alike.
    pub schema_differences: Vec<SchemaDifference>,
    /// The conclusion, if one was drawn.
    pub verdict: Option<Verdict>,
    /// What the scenario is known to show, and whether it was seen.
    pub expected: Vec<Expected>,
    /// What a reader should know before believing the numbers.
    pub warnings: Vec<String>,
    /// Why the run ended early; what is here was measured before.
    pub incomplete: Option<String>,
}

/// The machine of the client, enough to know whether two runs may be compared.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Machine {
    /// CPU model.
    pub cpu: String,
    /// Logical cores.
    pub cores: u32,
    /// Kernel release.
    pub kernel: String,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Hypervisor, if one is seen.
    pub virtualisation: Option<String>,
    /// One minute load average when the run began.
    pub load_average: Option<f64>,
    /// Hash over what makes numbers comparable: CPU model, cores, kernel, governor, virtualisation.
    pub key: String,
}

/// The scenario of a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ScenarioRecord {
    /// Its `id`.
    pub id: String,
    /// Its `claim`: what is said to be slow.
    pub claim: String,
    /// The file, as run.
    pub text: String,
    /// Seed of data, parameters and order.
    pub seed: u64,
    /// Name of the size that grows, such as `rows`; absent if none does.
    pub scale_name: Option<String>,
}

/// Who makes a server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavour {
    /// Oracle MySQL, or a build that says no other name.
    Mysql,
    /// Percona Server.
    Percona,
    /// MariaDB.
    Mariadb,
    /// Our own.
    Invar,
    /// Another that speaks the protocol.
    #[default]
    Other,
}

/// A server under test.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Server {
    /// What the user calls it.
    pub name: String,
    /// Where it is; without the password.
    pub url: String,
    /// Who makes it.
    pub flavour: Flavour,
    /// `@@version`.
    pub version: String,
    /// `@@version_comment`.
    pub version_comment: String,
    /// Compiler, machine and build id where they are known.
    pub build: BTreeMap<String, String>,
    /// Process number, if it runs on this machine.
    pub pid: Option<u32>,
    /// System variables that may matter, as they were while measuring.
    pub variables: BTreeMap<String, String>,
}

/// One setting that should not differ between arms.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Setting {
    /// Such as `tls`, `charset`, `sql_mode`, `row_format`, `innodb_buffer_pool_size`.
    pub name: String,
    /// Value by server name.
    pub values: BTreeMap<String, String>,
    /// All alike while measuring.
    pub is_equal: bool,
    /// The lab itself set it.
    pub was_set: bool,
    /// Why it could not be made equal, if it is not.
    pub reason: Option<String>,
    /// A difference here explains slowness by itself (a pool eight times smaller): no verdict may be drawn.
    pub is_confound: bool,
    /// It would forbid a verdict, and the user wants the servers compared as they are set.
    pub is_accepted: bool,
}

/// One cell of the matrix.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Arm {
    /// Short name, unique: `new`, `new/cj-8.0.33/prep=on/rows=500`.
    pub name: String,
    /// Name of its server.
    pub server: String,
    /// Driver profile.
    pub driver: String,
    /// Axis to value, as text: `server`, `driver`, options, `rows`, `connections`.
    pub levels: BTreeMap<String, String>,
    /// The size this arm ran, in units of [`ScenarioRecord::scale_name`].
    pub scale: Option<u64>,
    /// Connections that issue operations.
    pub connections: u32,
    /// Idle connections kept open beside them.
    pub idle_connections: u32,
    /// The same as another arm on purpose, to measure the noise: its name.
    pub same_as: Option<String>,
}

/// Latencies in short. Nanoseconds; zeros if `count` is 0.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct LatencySummary {
    /// How many.
    pub count: u64,
    /// Least.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// 50th percentile.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Most.
    pub max_ns: u64,
    /// The distribution: (upper bound in ns, how many are in this bucket), ascending, empty buckets left out; buckets are a
    /// twentieth of a decade wide.
    pub buckets: Vec<(u64, u64)>,
}

/// One measured stretch of one arm.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Block {
    /// Index of the arm.
    pub arm: usize,
    /// Round it belongs to: each round runs every arm once, in an order drawn again each time.
    pub round: u32,
    /// Place within its round.
    pub position: u32,
    /// 0 for the first run, 1 for the second one that has to agree before a difference is said.
    pub pass: u32,
    /// Since the run began.
    pub started_ns: u64,
    /// How long operations were issued and awaited.
    pub duration_ns: u64,
    /// Operations completed.
    pub operations: u64,
    /// Statements (commands that were answered) of these.
    pub statements: u64,
    /// Operations per second.
    pub qps: f64,
    /// From intended start to completion; in a closed loop the same as service.
    pub latency: LatencySummary,
    /// Open loop only: the 99th percentile of latency among the operations that were to begin in each second of the block, at most 600
    /// seconds. Where the whole block's is far above most of these, something held everybody up for a moment.
    pub latency_p99_by_second_ns: Vec<u64>,
    /// From sending to completion.
    pub service: LatencySummary,
    /// Server CPU per operation, user and system, all threads, ended ones included. Absent for a server elsewhere.
    pub server_cpu_ns_per_op: Option<f64>,
    /// Time the server's threads waited for a core, per operation.
    pub server_run_queue_ns_per_op: Option<f64>,
    /// Status counters that moved, per operation.
    pub status_per_op: BTreeMap<String, f64>,
    /// CPU of the client per operation.
    pub client_cpu_ns_per_op: f64,
    /// CPU of the client's threads as a share of the wall time of its busiest thread, 0..=1.
    pub client_busy: f64,
    /// How late operations were begun, 99th percentile. Open loop only.
    pub lag_p99_ns: u64,
    /// Arrivals given up because too many were in flight, or, in a paced loop, starts that the operation before still took.
    pub skips: u64,
    /// The nanoseconds from the planned beginning of one operation to the next; 0 unless the loop was paced.
    pub interval_ns: u64,
    /// Of the cores' time, what the hypervisor kept. Absent where the kernel does not say.
    pub steal_share: Option<f64>,
    /// Of the cores' time, what neither client nor server used and was not idle. Absent for a server elsewhere.
    pub others_share: Option<f64>,
    /// Bytes sent per operation.
    pub bytes_up_per_op: f64,
    /// Bytes received per operation.
    pub bytes_down_per_op: f64,
    /// Rows received per operation.
    pub rows_per_op: f64,
    /// Errors by MySQL's number (0: the connection).
    pub errors: BTreeMap<u16, u64>,
    /// Text of the first error of each number.
    pub error_texts: BTreeMap<u16, String>,
    /// Why this block says nothing about the server, if it does not.
    pub invalid: Option<String>,
    /// The scenario's `compare_results`: a hash over the rows of the first 1, 2, 4 ... operations, by how many they are, for a
    /// comparison between arms.
    pub result_hashes: BTreeMap<u64, String>,
    /// The same over the first 32 operations alone, as earlier versions wrote it.
    pub result_hash: Option<String>,
}

impl Block {
    /// Rows read from the engine for an operation, by the handler's counters; 0 where it was not counted.
    #[must_use]
    pub(crate) fn rows_read_per_op(&self) -> f64 {
        self.status_per_op
            .iter()
            .filter(|(name, _)| name.starts_with("Handler_read_"))
            .map(|(_, count)| count)
            // A sum of nothing is -0 by itself.
            .fold(0.0, |sum, count| sum + count)
    }
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Server CPU per operation.
    ServerCpu,
    /// Run-queue time per operation.
    RunQueue,
    /// Median latency.
    #[default]
    LatencyP50,
    /// 99th percentile of latency.
    LatencyP99,
    /// Time per operation: the inverse of throughput.
    TimePerOperation,
    /// A count of [`Block::status_per_op`] or of a probe; its name stands beside.
    Count,
}

/// How much one arm differs from itself, measured by arms that are the same.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct NoiseFloor {
    /// Of what.
    pub metric: Metric,
    /// The 99 % band of ratios of the same against itself, below.
    pub ratio_low: f64,
    /// Above.
    pub ratio_high: f64,
    /// Pairs it stands on.
    pub pairs: u64,
}

/// What is said of one comparison.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgementWord {
    /// No effect worth a word can hide here.
    NoDifference,
    /// The arm is slower, twice seen.
    Slower,
    /// The arm is faster, twice seen.
    Faster,
    /// Seen once, and not again or not looked for again.
    Unconfirmed,
    /// Different, but by less than matters: under 5 % or a few microseconds.
    Small,
    /// Different by no more than the same arm differs from itself.
    WithinNoise,
    /// The interval is too wide to say anything.
    #[default]
    TooNoisy,
}

/// One arm against another.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Comparison {
    /// Index of the arm compared with.
    pub base: usize,
    /// Index of the arm judged.
    pub arm: usize,
    /// What.
    pub metric: Metric,
    /// Name of the count, if it is one.
    pub count_name: Option<String>,
    /// Median of the base.
    pub base_value: f64,
    /// Median of the arm.
    pub arm_value: f64,
    /// Arm over base: above 1 is slower, or more.
    pub ratio: f64,
    /// 95 % interval, low end.
    pub ci_low: f64,
    /// High end.
    pub ci_high: f64,
    /// Mann-Whitney, two-sided, corrected for how many were asked at once.
    pub p_value: Option<f64>,
    /// Cliff's delta, -1..=1.
    pub cliff_delta: Option<f64>,
    /// Blocks of the base and of the arm it stands on.
    pub blocks: (u64, u64),
    /// Beyond the noise floor, by every rule of `stats`.
    pub is_significant: bool,
    /// What is said of it.
    pub judgement: JudgementWord,
    /// The largest effect the interval leaves room for, as a share: what "no difference" may hide.
    pub hidden: f64,
    /// Each rule and whether it held, in words.
    pub rules: Vec<(String, bool)>,
}

/// How cost grows with size in one group of arms that differ in size alone.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Growth {
    /// The group: the arm's name without its size.
    pub group: String,
    /// Of what.
    pub metric: Metric,
    /// Name of the count, if it is one.
    pub count_name: Option<String>,
    /// Size and cost per operation, ascending.
    pub points: Vec<(f64, f64)>,
    /// Exponent of the fit cost = a * size^exponent.
    pub exponent: f64,
    /// 95 % interval, low end.
    pub exponent_low: f64,
    /// High end.
    pub exponent_high: f64,
}

/// What a count is proportional to in one arm.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct CountRelation {
    /// Name of the counter or function.
    pub name: String,
    /// `status`, `uprobe`, `protocol`.
    pub source: String,
    /// Index of the arm.
    pub arm: usize,
    /// Per operation. Of a name that ends in `_ns`: the median time of one call.
    pub per_op: f64,
    /// Such as `1`, `rows sent`, `rows examined`, `parameters`, `columns`, `connections`, `bytes`.
    pub follows: Option<String>,
    /// Count over that quantity.
    pub factor: Option<f64>,
}

/// CPU samples of one arm.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct StackProfile {
    /// Index of the arm.
    pub arm: usize,
    /// `perf`, `bpftrace` and how.
    pub source: String,
    /// Samples.
    pub samples: u64,
    /// Operations while sampling.
    pub operations: u64,
    /// CPU time per operation in the pass that was not sampled, to scale by.
    pub cpu_ns_per_op: Option<f64>,
    /// Folded stacks, outermost first, frames divided by `;`, with their samples.
    pub folded: Vec<(String, u64)>,
}

/// Wall time of one kind of command in one arm, as a tap saw it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PhaseTimes {
    /// Index of the arm.
    pub arm: usize,
    /// `COM_STMT_EXECUTE` and so on.
    pub command: String,
    /// How many per operation.
    pub per_op: f64,
    /// From the end of the answer before to the first byte of this command: the client thinks.
    pub think_ns: f64,
    /// From the command's first byte to its last.
    pub upload_ns: f64,
    /// From its last byte to the answer's first.
    pub server_ns: f64,
    /// From the answer's first byte to its last.
    pub download_ns: f64,
    /// Bytes of the command.
    pub bytes_up: f64,
    /// Bytes of the answer.
    pub bytes_down: f64,
}

/// The way to one arm's server, and the server's own account of its time while a tap watched.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct PathTimes {
    /// Index of the arm.
    pub arm: usize,
    /// Round trip of COM_PING, median: what a command costs that asks for nothing.
    pub ping_ns: f64,
    /// Wall time of statements by the server's own clock (performance_schema), per operation.
    pub statement_ns: Option<f64>,
    /// Of these waiting for locks, by the same.
    pub lock_ns: Option<f64>,
    /// Syncs of files and the like, by the same; all threads of the server.
    pub sync_ns: Option<f64>,
    /// Time that a CPU quota kept the server from running, per operation.
    pub throttled_ns: Option<f64>,
    /// The program that holds the server's listening socket and is not the server.
    pub forwarder: Option<String>,
}

/// Something that was changed to see whether the difference goes.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Intervention {
    /// In words: `SET GLOBAL slow_query_log = OFF on old`.
    pub what: String,
    /// Index of the arm it was done to.
    pub arm: usize,
    /// Metric it is judged by.
    pub metric: Metric,
    /// Before.
    pub before: f64,
    /// With the change.
    pub during: f64,
    /// After it was reverted.
    pub after: f64,
    /// Share of the gap that went, 0..=1: the less of what the slow arm gained, and of what the two arms came closer, where
    /// the fast arm ran with the same change.
    pub recovered: f64,
    /// Share of the difference that the proposal says must go; 0: half.
    pub needed: f64,
    /// The fast arm meanwhile.
    pub fast: Option<f64>,
    /// The fast arm with the same change.
    pub fast_during: Option<f64>,
    /// Rounds it stands on.
    pub rounds: u64,
    /// The slowdown went with the change and came back without, in every round.
    pub is_confirmed: bool,
}

/// Something that the scenario is known to show.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Expected {
    /// Such as `cause mysql-bug-115555`.
    pub what: String,
    /// What there was.
    pub found: String,
    /// It is as expected.
    pub holds: bool,
}

/// What is said of a figure of a profile.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FidelityWord {
    /// Within the tolerance, and the interval too.
    Alike,
    /// Outside of the tolerance, and the interval too.
    Unlike,
    /// The interval lies across the tolerance's end: too much noise, or too few rounds.
    #[default]
    Unsure,
}

/// One figure of a profile and of its driver, per operation.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FidelityFigure {
    /// Such as `server CPU, us`, `Bytes_received`, `Com_stmt_close`.
    pub name: String,
    /// Of the profile, median.
    pub profile: f64,
    /// Of the real driver, median.
    pub real: f64,
    /// Profile over driver: the median over rounds where there is an interval.
    pub ratio: f64,
    /// 95 % interval, low end, widened to the noise where that is more. The ratio itself for what is counted and not timed.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// The driver against itself, half of the 95 % interval of that ratio, twice: over the odd and over the even rounds. Zero for
    /// what is counted.
    pub noise: (f64, f64),
    /// Rounds the interval stands on; 0 for what is counted.
    pub rounds: u64,
    /// What is said of it.
    pub word: FidelityWord,
}

/// A profile beside the driver it imitates.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Fidelity {
    /// Name of the profile's arm.
    pub arm: String,
    /// The profile.
    pub profile: String,
    /// Both began an operation at this interval, in nanoseconds; 0: they did not keep one pace, so CPU is not compared.
    pub interval_ns: u64,
    /// Blocks left out of the comparison of CPU because the hypervisor kept the cores.
    pub blocks_left_out: u64,
    /// All that was compared.
    pub figures: Vec<FidelityFigure>,
}

/// One step of exclusion.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct LayerFinding {
    /// Layer: `app`, `driver`, `proxy`, `network`, `server-sql`, `engine`, `kernel`, `client`.
    pub layer: String,
    /// What became of it.
    pub outcome: LayerOutcome,
    /// On what that stands.
    pub evidence: String,
    /// Its share of the added wall time, 0..=1, where one was measured. Shares of all layers add up to at most 1.
    pub share: Option<f64>,
}

/// What became of a layer.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerOutcome {
    /// It is not here.
    Excluded,
    /// It is here.
    Blamed,
    /// It takes part.
    Contributes,
    /// Nothing was measured that could tell.
    #[default]
    NotMeasured,
}

/// The difference in wall time per operation between two arms, as a sum over layers and a rest.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SumRule {
    /// Index of the faster arm.
    pub fast_arm: usize,
    /// Index of the slower one.
    pub slow_arm: usize,
    /// Wall time per operation of the slower arm less that of the faster, with its 95 % interval.
    pub total: SumPart,
    /// What each layer adds.
    pub parts: Vec<SumPart>,
    /// `total` less the sum of `parts`.
    pub residual_ns: f64,
    /// The size of `residual_ns` as a share of all that was added (parts above 0 and the rest), 0..=1.
    pub residual_share: f64,
}

/// One layer's share of a difference.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SumPart {
    /// Such as `server-cpu`, `run-queue`, `off-cpu`, `network`, `app`, `client`.
    pub name: String,
    /// Nanoseconds per operation.
    pub delta_ns: f64,
    /// 95 % interval, low end.
    pub low_ns: f64,
    /// High end.
    pub high_ns: f64,
}

/// What kind of thing the servers do not have alike.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaPart {
    /// A column, or its type.
    Column,
    /// An index.
    Index,
    /// The optimizer's estimate of a table's rows.
    Statistics,
    /// The plan of a statement, by EXPLAIN.
    #[default]
    Plan,
}

/// Something of the tables under load, or of how statements use them, that two servers do not have alike.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SchemaDifference {
    /// What kind.
    pub part: SchemaPart,
    /// The table; of a plan: the statement.
    pub of: String,
    /// What differs: `index k (k)`, `estimated rows`, `plan`.
    pub what: String,
    /// What each server has of it.
    pub values: BTreeMap<String, String>,
    /// The server that should be changed, where one is known to be wrong: it lacks the index, or its estimate is far off.
    pub server: Option<String>,
    /// SQL that makes it alike there.
    pub remedy: Option<String>,
}

/// What the run says of the scenario's claim.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimOutcome {
    /// An arm is slower than what it is compared with.
    Confirmed,
    /// Nothing is slower, or what is judged is faster.
    Refuted,
    /// The run cannot tell.
    #[default]
    Undecided,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// The cause is known, and an intervention took it away and brought it back.
    Confirmed,
    /// The mechanism is found; nothing was changed.
    Explained,
    /// Only the layer is known.
    Located,
    /// A difference that no known cause explains.
    Novel,
    /// None.
    NoDifference,
    /// The noise is larger than what is looked for, or the arms cannot be compared.
    #[default]
    Inconclusive,
    /// A difference for certain, and no layer is blamed for it.
    Unlocated,
}

/// The conclusion.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Verdict {
    /// Kind.
    pub kind: VerdictKind,
    /// Entry of the knowledge base.
    pub cause: Option<String>,
    /// Such as `server-sql`, with a part after a colon.
    pub layer: Option<String>,
    /// For people, one sentence: by how much, why, what to do.
    pub summary: String,
    /// What is said of the scenario's claim.
    pub claim: ClaimOutcome,
    /// And why, in words.
    pub claim_reason: String,
    /// What it stands on, a line each.
    pub evidence: Vec<String>,
    /// What to do.
    pub advice: Vec<String>,
    /// 0..=1.
    pub confidence: f64,
    /// Index of the faster arm of the pair it is about.
    pub fast_arm: Option<usize>,
    /// Index of the slower one.
    pub slow_arm: Option<usize>,
    /// What the pair is compared by.
    pub metric: Metric,
    /// Slower over faster, in that metric.
    pub ratio: Option<f64>,
    /// An arm answered other rows than another.
    pub has_result_mismatch: bool,
}

impl Run {
    /// A run that has nothing yet.
    #[must_use]
    pub fn new() -> Run {
        Run {
            schema_version: SCHEMA_VERSION,
            invar_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Run::default()
        }
    }

    /// The run as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Maps have text or number keys and there is no fallible Serialize here, so this cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads [`to_json`](Self::to_json).
    ///
    /// # Errors
    /// What is wrong with it, in words: no JSON, another thing, or a schema of a later version.
    pub fn from_json(text: &str) -> Result<Run, String> {
        let run: Run = serde_json::from_str(text).map_err(|error| format!("no run of the lab: {error}"))?;
        match run.schema_version {
            1..=SCHEMA_VERSION => Ok(run),
            0 => Err("no run of the lab: schema_version is missing".to_owned()),
            newer => {
                Err(format!("written by a later version (schema {newer}, this one reads {SCHEMA_VERSION})"))
            }
        }
    }

    /// The valid blocks of an arm.
    pub fn valid_blocks(&self, arm: usize) -> impl Iterator<Item = &Block> {
        self.blocks.iter().filter(move |block| block.arm == arm && block.invalid.is_none())
    }
}

impl Block {
    /// What `metric` is for this block; absent if it was not measured.
    #[must_use]
    pub fn value(&self, metric: Metric, count_name: Option<&str>) -> Option<f64> {
        match metric {
            Metric::ServerCpu => self.server_cpu_ns_per_op,
            Metric::RunQueue => self.server_run_queue_ns_per_op,
            Metric::LatencyP50 => (self.latency.count > 0).then_some(self.latency.p50_ns as f64),
            Metric::LatencyP99 => (self.latency.count > 0).then_some(self.latency.p99_ns as f64),
            Metric::TimePerOperation => {
                (self.operations > 0).then(|| self.duration_ns as f64 / self.operations as f64)
            }
            Metric::Count => self.status_per_op.get(count_name?).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_survives_json_and_missing_fields_have_defaults() {
        let mut run = Run::new();
        run.arms.push(Arm { name: "old".into(), connections: 1, ..Arm::default() });
        run.blocks.push(Block {
            operations: 3,
            duration_ns: 30,
            errors: BTreeMap::from([(1062, 2)]),
            ..Block::default()
        });
        run.verdict = Some(Verdict { kind: VerdictKind::NoDifference, ..Verdict::default() });
        let back = Run::from_json(&run.to_json()).unwrap();
        assert_eq!(back, run);
        assert_eq!(back.valid_blocks(0).next().unwrap().value(Metric::TimePerOperation, None), Some(10.0));
        assert!(run.to_json().contains("\"no-difference\""));
        assert_eq!(Run::from_json("{\"schema_version\": 1}").unwrap().arms, vec![]);
        assert!(Run::from_json("{}").unwrap_err().contains("schema_version"));
        assert!(Run::from_json("{\"schema_version\": 99}").unwrap_err().contains("later version"));
    }
}
