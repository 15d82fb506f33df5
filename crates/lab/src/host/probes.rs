//! How often a server calls a function: uprobes through bpftrace, by the function's name as it stands in source.
//!
//! A count does not depend on how busy the machine is: 32768 calls for one row asked for is an explanation by itself. But each
//! hit costs about 3.5 us, so counting is a pass of its own, never one that is timed, and it ends by itself after a number of
//! hits or seconds. Where it is not possible there is a reason instead ([`NotCounted`]).
//!
//! Names differ from build to build: parameters change, so mangled names do, and compilers make clones. A pattern is
//! therefore matched against the names of one build ([`resolve`]):
//!
//! | pattern | matches |
//! | --- | --- |
//! | `filesort` | the function `filesort`, with any parameters, in any namespace or class |
//! | `String::mem_realloc` | that member, in any namespace |
//! | `row_sel_*` | all functions whose name begins so |
//! | `btr_copy` | also `btr_copy_func`, as InnoDB calls the function behind a macro of the plain name |

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::elf::Elf;
use super::stacks::demangled;
use super::tool::{Running, Scratch, ToolError, Tools};

/// More probes than this are not set: each costs time to set and to remove.
const PROBES_LIMIT: usize = 64;
/// How long bpftrace may take to set them.
const ATTACH_LIMIT: Duration = Duration::from_secs(30);
/// For so long the number of its probes must not grow before they count as all set.
const ATTACH_QUIET: Duration = Duration::from_millis(300);
/// The resolution of call times, nanoseconds, and up to where: bpftrace keeps at most 1,000 buckets.
const TIME_STEP_NS: u64 = 200;
const TIME_TOP_NS: u64 = 100_000;
/// What cannot be distinguished from nothing, nanoseconds.
const TIME_LEAST_NS: f64 = TIME_STEP_NS as f64 / 2.0;
/// Calls from which the probes' own time is taken.
const FLOOR_CALLS: u64 = 2_000;
/// Timing that seems to take longer is not believed: something else was in the way.
const FLOOR_NS_MAX: f64 = 4_000.0;

/// Why nothing was counted: a sentence for people.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NotCounted(pub String);

impl fmt::Display for NotCounted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotCounted {}

impl From<ToolError> for NotCounted {
    fn from(error: ToolError) -> NotCounted {
        NotCounted(error.to_string())
    }
}

/// A pattern and the mangled names of one build that it stands for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// As the user wrote it.
    pub pattern: String,
    /// Mangled names; none if this build has no such function, or made it part of its callers.
    pub symbols: Vec<String>,
    /// The time between entry and return is taken too; a call costs twice as much then.
    #[serde(default)]
    pub is_timed: bool,
}

/// Finds the functions of one build. Parts that compilers moved out (`.cold`) are left out: they are entered from inside.
#[must_use]
pub fn resolve(elf: &Elf, patterns: &[&str]) -> Vec<Target> {
    let mut targets: Vec<Target> = patterns
        .iter()
        .map(|pattern| Target { pattern: (*pattern).to_owned(), symbols: Vec::new(), is_timed: false })
        .collect();
    // To demangle 80,000 names takes a second; the last word of a pattern stands in the mangled name as it is.
    let words: Vec<&str> = patterns.iter().map(|pattern| last_word(pattern)).collect();
    for symbol in elf.symbols().filter(|symbol| !symbol.name.contains(".cold")) {
        let mut plain = None;
        for (target, word) in targets.iter_mut().zip(&words) {
            if symbol.name.contains(word)
                && matches(&target.pattern, plain.get_or_insert_with(|| demangled(symbol.name)))
            {
                target.symbols.push(symbol.name.to_owned());
            }
        }
    }
    for target in &mut targets {
        target.symbols.sort_unstable();
        target.symbols.dedup();
    }
    targets
}

/// The longest stretch of letters without a star behind the last `::`.
fn last_word(pattern: &str) -> &str {
    let last = pattern.rsplit("::").next().unwrap_or(pattern);
    last.split('*').max_by_key(|part| part.len()).unwrap_or(last)
}

fn matches(pattern: &str, name: &str) -> bool {
    // InnoDB puts a macro of the plain name before a function `name_func`, from one version on or another.
    let name = name.strip_suffix("_func").filter(|_| !pattern.ends_with("_func")).unwrap_or(name);
    // In any namespace: compare with every end of the name that begins at a `::`.
    let ends = std::iter::once(name).chain(name.match_indices("::").map(|(at, _)| &name[at + 2..]));
    ends.into_iter().any(|end| glob(pattern, end))
}

/// `*` stands for any letters.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return text.ends_with(part);
        }
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// When counting ends by itself.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Caps {
    /// After about this many calls, of all functions together. The server was slowed by 3.5 us for each.
    pub hits: u64,
    /// After this many seconds.
    pub seconds: u64,
}

impl Default for Caps {
    fn default() -> Caps {
        Caps { hits: 2_000_000, seconds: 60 }
    }
}

/// What ended counting.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The caller: the counts are whole.
    ByCaller,
    /// The cap on hits: the counts are of a part.
    HitCap,
    /// The cap on time: the counts are of a part.
    TimeCap,
}

/// How often each pattern's functions were called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Pattern and calls, in the order asked for; `None` where this build has no such function.
    pub calls: Vec<(String, Option<u64>)>,
    /// In the same order, the median time of the calls that returned, nanoseconds; `None` where it was not asked for or no
    /// call returned. Not the mean: on a machine with few cores a call that is preempted in its middle takes as long as
    /// hundreds of others. Where half of the calls took longer than the histogram resolves, it is their mean.
    #[serde(default)]
    pub ns: Vec<Option<f64>>,
    /// Why it ended.
    pub ended: Ended,
}

/// Counting under way.
#[derive(Debug)]
pub struct Counting {
    bpftrace: Running,
    targets: Vec<Target>,
    _scratch: Scratch,
}

impl Counting {
    /// Sets the probes on one process and returns when they count.
    ///
    /// # Errors
    /// The reason why not: no bpftrace, no right, no such functions in this build.
    pub fn start(
        tools: &Tools,
        pid: u32,
        binary: &Path,
        targets: &[Target],
        caps: Caps,
    ) -> Result<Counting, NotCounted> {
        let why = |error: std::io::Error| NotCounted(error.to_string());
        let probe_count: usize =
            targets.iter().map(|target| target.symbols.len() * (1 + usize::from(target.is_timed))).sum();
        if probe_count == 0 {
            let names: Vec<_> = targets.iter().map(|target| target.pattern.as_str()).collect();
            return Err(NotCounted(format!("this build exports none of {}", names.join(", "))));
        }
        if probe_count > PROBES_LIMIT {
            return Err(NotCounted(format!(
                "{probe_count} functions match; at most {PROBES_LIMIT} are counted at once"
            )));
        }
        let scratch = Scratch::new().map_err(why)?;
        // bpftrace's language has no way to write every path: a link has a plain one. Probes go by the file, not its name.
        let link = scratch.path().join("server");
        std::os::unix::fs::symlink(binary, &link).map_err(why)?;
        let script = script(&link.to_string_lossy(), pid, targets, caps);
        let file = scratch.path().join("count.bt");
        fs::write(&file, script).map_err(why)?;
        let bpftrace = tools.start("bpftrace", &["-q", "-f", "json", &file.to_string_lossy()])?;
        let mut counting = Counting { bpftrace, targets: targets.to_vec(), _scratch: scratch };
        counting.wait_until_set(probe_count)?;
        Ok(counting)
    }

    /// bpftrace does not say when all probes are set; each has an open descriptor.
    fn wait_until_set(&mut self, probe_count: usize) -> Result<(), NotCounted> {
        let start = Instant::now();
        let folder = format!("/proc/{}/fd", self.bpftrace.pid());
        let (mut seen, mut since) = (0, Instant::now());
        loop {
            let is_probe = |entry: &fs::DirEntry| {
                fs::read_link(entry.path())
                    .is_ok_and(|target| target.to_string_lossy().contains("perf_event"))
            };
            let count = fs::read_dir(&folder).map_or(0, |entries| entries.flatten().filter(is_probe).count());
            if count != seen {
                (seen, since) = (count, Instant::now());
            }
            if count >= probe_count && since.elapsed() >= ATTACH_QUIET {
                return Ok(());
            }
            if self.bpftrace.has_ended().map_err(NotCounted::from)? {
                return Err(NotCounted(
                    "bpftrace could not set its probes; `invar lab doctor` says more".to_owned(),
                ));
            }
            if start.elapsed() > ATTACH_LIMIT {
                return Err(NotCounted(format!(
                    "bpftrace set {seen} of {probe_count} probes in {} s",
                    ATTACH_LIMIT.as_secs()
                )));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Takes the probes away and returns the counts.
    ///
    /// # Errors
    /// bpftrace did not end, or said nothing that can be read.
    pub fn finish(self) -> Result<Counts, NotCounted> {
        let words = self.bpftrace.stop()?;
        parse_counts(&words.output, &self.targets)
            .ok_or_else(|| NotCounted(format!("bpftrace gave no counts: {}", words.first_line())))
    }
}

/// What is timed to learn what timing takes. It calls another twice, so that it begins as most functions do, by saving a
/// register: the kernel does that itself, while other first instructions cost it a single step of several microseconds.
#[inline(never)]
fn does_nothing_but_be_timed(token: u64) -> u64 {
    let same: fn(u64) -> u64 = std::hint::black_box(|token| token);
    same(token) ^ same(!token)
}

/// What probes add to the time of a call, nanoseconds: the median time of a function of this process that does nothing. Taken
/// once in a process's life; `None` if it cannot be (a build without names, no bpftrace).
#[must_use]
pub(crate) fn timed_floor_ns(tools: &Tools) -> Option<f64> {
    static FLOOR: OnceLock<Option<f64>> = OnceLock::new();
    *FLOOR.get_or_init(|| {
        let binary = std::env::current_exe().ok()?;
        let mut targets = resolve(&Elf::open(&binary).ok()?, &["does_nothing_but_be_timed"]);
        targets.iter_mut().for_each(|target| target.is_timed = true);
        let counting = Counting::start(tools, std::process::id(), &binary, &targets, Caps::default()).ok()?;
        for token in 0..FLOOR_CALLS {
            std::hint::black_box(does_nothing_but_be_timed(token));
        }
        counting.finish().ok()?.ns.first().copied().flatten().filter(|floor| *floor <= FLOOR_NS_MAX)
    })
}

impl Counts {
    /// Takes what probes add, as [`timed_floor_ns`] tells it, from the time of every call.
    pub(crate) fn take_floor(&mut self, floor_ns: f64) {
        for ns in self.ns.iter_mut().flatten() {
            *ns = (*ns - floor_ns).max(TIME_LEAST_NS);
        }
    }
}

/// The program. The process is named in each probe: the file may be that of other servers too.
fn script(binary: &str, pid: u32, targets: &[Target], caps: Caps) -> String {
    use std::fmt::Write;
    let Caps { hits, seconds } = caps;
    let mut script = String::from("BEGIN { @hits = (uint64)0; }\n");
    for (index, target) in targets.iter().enumerate().filter(|(_, target)| !target.symbols.is_empty()) {
        let probes: Vec<String> =
            target.symbols.iter().map(|symbol| format!("uprobe:{binary}:\"{symbol}\"")).collect();
        // Not of a call within a call: the outermost has the time of all.
        let entered = if target.is_timed {
            format!(" if (@start{index}[tid] == 0) {{ @start{index}[tid] = nsecs; }}")
        } else {
            String::new()
        };
        let _ = writeln!(
            script,
            "{} /pid == {pid}/ {{{entered} @calls[{index}] = count(); @hits++; if (@hits == (uint64){hits}) {{ printf(\"hit cap\\n\"); exit(); }} }}",
            probes.join(",\n")
        );
        if target.is_timed {
            let returns: Vec<String> =
                target.symbols.iter().map(|symbol| format!("uretprobe:{binary}:\"{symbol}\"")).collect();
            let _ = writeln!(
                script,
                "{} /pid == {pid} && @start{index}[tid] != 0/ {{ $ns = nsecs - @start{index}[tid]; @ns[{index}] = avg($ns); \
                 @times[{index}] = lhist($ns, 0, {TIME_TOP_NS}, {TIME_STEP_NS}); delete(@start{index}[tid]); }}",
                returns.join(",\n")
            );
        }
    }
    let _ = writeln!(script, "interval:s:{seconds} {{ printf(\"time cap\\n\"); exit(); }}");
    script
}

/// Reads what bpftrace prints at its end with `-f json`: one object a line.
fn parse_counts(text: &str, targets: &[Target]) -> Option<Counts> {
    let objects = || text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    // The map of hits is there even if nothing was called: it tells an end from a failure.
    objects().find(|object| object["data"].get("@hits").is_some())?;
    let said = |word: &str| {
        objects().any(|object| object["data"].as_str().is_some_and(|text| text.starts_with(word)))
    };
    let ended = if said("hit cap") {
        Ended::HitCap
    } else if said("time cap") {
        Ended::TimeCap
    } else {
        Ended::ByCaller
    };
    let counts = objects().find_map(|object| object["data"].get("@calls").cloned());
    let calls = targets.iter().enumerate().map(|(index, target)| {
        let count = counts.as_ref().and_then(|counts| counts.get(index.to_string())?.as_u64()).unwrap_or(0);
        (target.pattern.clone(), (!target.symbols.is_empty()).then_some(count))
    });
    let map = |name: &str| objects().find_map(|object| object["data"].get(name).cloned());
    let (means, times) = (map("@ns"), map("@times"));
    let ns = (0..targets.len()).map(|index| {
        let of = |map: &Option<serde_json::Value>| map.as_ref()?.get(index.to_string()).cloned();
        of(&times).and_then(|buckets| middle_of(&buckets)).or_else(|| of(&means)?.as_f64())
    });
    Some(Counts { calls: calls.collect(), ns: ns.collect(), ended })
}

/// The median of a histogram as bpftrace writes it, within its bucket by proportion; `None` if it lies in the open bucket at
/// the top.
fn middle_of(buckets: &serde_json::Value) -> Option<f64> {
    let buckets: Vec<(f64, Option<f64>, u64)> = buckets
        .as_array()?
        .iter()
        .filter_map(|bucket| {
            // The one below zero has no least value, the one at the top no greatest.
            let least = bucket.get("min").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
            Some((
                least,
                bucket.get("max").and_then(serde_json::Value::as_f64),
                bucket.get("count")?.as_u64()?,
            ))
        })
        .collect();
    let half = buckets.iter().map(|(_, _, count)| count).sum::<u64>() as f64 / 2.0;
    let mut below = 0.0;
    for (least, most, count) in buckets {
        let count = count as f64;
        if count > 0.0 && below + count >= half {
            return Some(least + (most? + 1.0 - least) * (half - below) / count);
        }
        below += count;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_in_any_namespace() {
        assert!(matches("filesort", "filesort") && matches("filesort", "ns::filesort"));
        assert!(!matches("filesort", "filesort_free") && !matches("sort", "filesort"));
        assert!(matches("String::mem_realloc", "String::mem_realloc"));
        assert!(!matches("String::mem_realloc", "MyString::mem_realloc"));
        assert!(matches("row_sel_*", "row_sel_get_clust_rec") && matches("*_mvcc", "row_search_mvcc"));
        assert!(matches("btr_copy", "lob::btr_copy_func") && !matches("btr_copy", "btr_copy_prefix_func"));
        assert!(matches("a*b*c", "a1b2c") && !matches("a*b*c", "a1c2b"));
        assert_eq!((last_word("String::mem_realloc"), last_word("row_sel_*")), ("mem_realloc", "row_sel_"));
    }

    fn targets() -> Vec<Target> {
        let target = |pattern: &str, symbols: &[&str]| Target {
            pattern: pattern.to_owned(),
            symbols: symbols.iter().map(|symbol| (*symbol).to_owned()).collect(),
            is_timed: pattern == "x::y",
        };
        vec![
            target("filesort", &["_Z8filesortP3THD"]),
            target("gone", &[]),
            target("x::y", &["_ZN1x1yEv", "_ZN1x1yEi"]),
        ]
    }

    #[test]
    fn the_program_names_its_process_and_its_caps() {
        let script = script("/tmp/s/server", 42, &targets(), Caps { hits: 1000, seconds: 5 });
        assert!(
            script.contains(
                "uprobe:/tmp/s/server:\"_ZN1x1yEv\",\nuprobe:/tmp/s/server:\"_ZN1x1yEi\" /pid == 42/"
            ),
            "{script}"
        );
        assert!(script.contains("@calls[2] = count()") && !script.contains("@calls[1]"), "{script}");
        assert!(
            script.contains("uretprobe:/tmp/s/server:\"_ZN1x1yEv\"")
                && script.contains("@times[2] = lhist($ns, 0, 100000, 200)"),
            "{script}"
        );
        assert!(!script.contains("@start0"), "{script}");
        assert!(script.contains("(uint64)1000") && script.contains("interval:s:5"), "{script}");
    }

    #[test]
    fn counts_are_read_with_what_ended_them() {
        let text = "{\"type\": \"attached_probes\", \"data\": {\"probes\": 4}}\n\
                    {\"type\": \"printf\", \"data\": \"hit cap\\n\"}\n\
                    {\"type\": \"map\", \"data\": {\"@calls\": {\"0\": 3, \"2\": 997}}}\n\
                    {\"type\": \"stats\", \"data\": {\"@ns\": {\"2\": 4000}}}\n\
                    {\"type\": \"hist\", \"data\": {\"@times\": {\"2\": [{\"min\": 200, \"max\": 399, \"count\": 10}, \
                    {\"min\": 400, \"max\": 599, \"count\": 40}, {\"min\": 100000, \"count\": 10}]}}}\n\
                    {\"type\": \"map\", \"data\": {\"@hits\": 1000}}\n";
        let counts = parse_counts(text, &targets()).unwrap();
        let expected =
            [("filesort".to_owned(), Some(3)), ("gone".to_owned(), None), ("x::y".to_owned(), Some(997))];
        assert_eq!((counts.calls.as_slice(), counts.ended), (&expected[..], Ended::HitCap));
        assert_eq!(
            counts.ns,
            [None, None, Some(500.0)],
            "half of 60 calls are reached in the middle of 400 to 600"
        );
        let beyond = text.replace("\"count\": 10}]", "\"count\": 100}]");
        assert_eq!(
            parse_counts(&beyond, &targets()).unwrap().ns[2],
            Some(4000.0),
            "the mean where the top is open"
        );
        let nothing_called =
            parse_counts("{\"type\": \"map\", \"data\": {\"@hits\": 0}}\n", &targets()).unwrap();
        assert_eq!((nothing_called.calls[0].1, nothing_called.ended), (Some(0), Ended::ByCaller));
        assert_eq!(parse_counts("Attaching failed\n", &targets()), None);
    }

    #[test]
    fn names_of_the_own_program_are_resolved() {
        let elf = Elf::open(&std::env::current_exe().unwrap()).unwrap();
        let found = resolve(&elf, &["rt::lang_start_internal", "no_such_function_anywhere"]);
        assert!(!found[0].symbols.is_empty(), "{found:?}");
        assert!(found[1].symbols.is_empty());
        let pid = std::process::id();
        let none = Counting::start(&Tools::default(), pid, Path::new("/x"), &found[1..], Caps::default());
        assert!(none.unwrap_err().0.contains("exports none of no_such_function_anywhere"));
        // Called once, so that it is there.
        assert_eq!(does_nothing_but_be_timed(7), u64::MAX);
        let timed = resolve(&elf, &["does_nothing_but_be_timed"]);
        assert_eq!(timed[0].symbols.len(), 1, "timing could not be told from what is timed: {timed:?}");
    }

    #[test]
    fn times_are_given_without_what_the_probe_takes() {
        let mut counts = Counts {
            calls: Vec::new(),
            ns: vec![None, Some(2_400.0), Some(10_400.0)],
            ended: Ended::ByCaller,
        };
        counts.take_floor(2_350.0);
        assert_eq!(counts.ns, [None, Some(100.0), Some(8_050.0)]);
    }
}
