//! Recording: perf samples one process while the caller lets it work, then names every frame.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::folded::Profile;
use super::name::demangled;
use super::script::{Frame, Line, parse_line};
use crate::host::elf::Elf;
use crate::host::tool::{Running, Scratch, ToolError, Tools};

/// A recording ends by itself after this time.
const RECORDING_LIMIT: Duration = Duration::from_secs(600);
/// A recording's file ends at this size.
const FILE_BYTES_LIMIT: &str = "512M";
/// How long perf may take to attach to all threads.
const ATTACH_LIMIT: Duration = Duration::from_secs(20);
/// How long naming may take.
const SCRIPT_LIMIT: Duration = Duration::from_secs(300);

/// How perf walks the stack.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unwind {
    /// By frame pointers: cheap; needs a build that has them, as MySQL's are.
    #[default]
    FramePointers,
    /// By copying 16 KB of stack with each sample and the tables for exceptions: for builds without frame pointers.
    Dwarf,
}

/// A recording under way.
#[derive(Debug)]
pub struct Recording {
    tools: Tools,
    perf: Running,
    scratch: Scratch,
    pid: u32,
}

impl Recording {
    /// Begins to sample a process `hertz` times a second of its CPU time. Returns when perf is attached.
    ///
    /// # Errors
    /// perf is not there, may not, or does not attach in time.
    pub fn start(tools: &Tools, pid: u32, hertz: u32, unwind: Unwind) -> Result<Recording, ToolError> {
        let io = |error| ToolError::Io("perf".to_owned(), error);
        let scratch = Scratch::new().map_err(io)?;
        let file = scratch.path().join("perf.data");
        let (file, pid_text, hertz) = (file.to_string_lossy(), pid.to_string(), hertz.to_string());
        let size = format!("--max-size={FILE_BYTES_LIMIT}");
        let limit = RECORDING_LIMIT.as_secs().to_string();
        let unwind = match unwind {
            Unwind::FramePointers => "fp",
            Unwind::Dwarf => "dwarf,16384",
        };
        let words = [
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            &hertz,
            "--call-graph",
            unwind,
            &size,
            "-p",
            &pid_text,
            "-o",
            &file,
            "--",
            "sleep",
            &limit,
        ];
        let perf = tools.start("perf", &words)?;
        let mut recording = Recording { tools: tools.clone(), perf, scratch, pid };
        recording.wait_until_attached()?;
        Ok(recording)
    }

    /// perf says nothing when it is ready; its open event descriptors do.
    fn wait_until_attached(&mut self) -> Result<(), ToolError> {
        let start = Instant::now();
        let folder = format!("/proc/{}/fd", self.perf.pid());
        let file = self.scratch.path().join("perf.data");
        loop {
            let is_event = |entry: fs::DirEntry| {
                fs::read_link(entry.path())
                    .is_ok_and(|target| target.to_string_lossy().contains("perf_event"))
            };
            let has_events = fs::read_dir(&folder).is_ok_and(|entries| entries.flatten().any(is_event));
            // The head of the file is written after all threads are attached; the events count from when its child, which
            // keeps the time, becomes `sleep`.
            if has_events
                && file.metadata().is_ok_and(|data| data.len() > 0)
                && keeps_time(self.perf.pid()).unwrap_or(true)
            {
                return Ok(());
            }
            if self.perf.has_ended()? || start.elapsed() > ATTACH_LIMIT {
                return Err(ToolError::Failed {
                    program: "perf".to_owned(),
                    status: "did not attach".to_owned(),
                    words: "is the process there, and may we look into it?".to_owned(),
                });
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends it and returns the profile: thread name outermost, then frames. Call it while the process still runs: where its
    /// files lie in memory is read then.
    ///
    /// # Errors
    /// perf fails, or its file cannot be read.
    pub fn finish(self) -> Result<Profile, ToolError> {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        self.perf.stop()?;
        let file = self.scratch.path().join("perf.data");
        let file = file.to_string_lossy();
        let mut folding = Folding::new(Namer::new(&maps, self.pid));
        let words =
            ["script", "-i", &file, "--no-demangle", "--no-inline", "-F", "comm,pid,tid,time,ip,sym,dso"];
        self.tools.lines("perf", &words, SCRIPT_LIMIT, |line| folding.line(line))?;
        let mut profile = folding.finish();
        let words = self.tools.run("perf", &["report", "-i", &file, "--stats"], SCRIPT_LIMIT);
        profile.lost = words.map_or(0, |words| lost_samples(&words.output));
        Ok(profile)
    }
}

/// Whether perf's child is `sleep` already; `None` if this kernel does not tell children.
fn keeps_time(perf: u32) -> Option<bool> {
    let children = fs::read_to_string(format!("/proc/{perf}/task/{perf}/children")).ok()?;
    let is_sleep = |child: &str| {
        fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.trim_end() == "sleep")
    };
    Some(children.split_ascii_whitespace().any(is_sleep))
}

/// `LOST_SAMPLES events: 5` or `LOST events: 5` of `perf report --stats`.
fn lost_samples(text: &str) -> u64 {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with("LOST"));
    lines
        .filter_map(|line| line.split_once(':')?.1.split_ascii_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// Puts `perf script` lines together into stacks.
struct Folding {
    namer: Namer,
    profile: Profile,
    thread: String,
    frames: Vec<String>,
}

impl Folding {
    fn new(namer: Namer) -> Folding {
        Folding { namer, profile: Profile::default(), thread: String::new(), frames: Vec::new() }
    }

    fn line(&mut self, line: &str) {
        match parse_line(line) {
            Line::Head(thread) => {
                self.end();
                self.thread = thread.replace(';', ":");
            }
            Line::Frame(frame) => self.frames.push(self.namer.name(frame)),
            Line::End => self.end(),
            Line::Other => {}
        }
    }

    fn end(&mut self) {
        if self.thread.is_empty() {
            return;
        }
        self.frames.push(std::mem::take(&mut self.thread));
        self.frames.reverse();
        self.profile.add(std::mem::take(&mut self.frames), 1);
    }

    fn finish(mut self) -> Profile {
        self.end();
        self.profile
    }
}

/// A stretch of memory with code of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    file: String,
}

fn parse_maps(text: &str) -> Vec<Mapping> {
    text.lines()
        .filter_map(|line| {
            let mut fields = line.splitn(6, ' ');
            let (start, end) = fields.next()?.split_once('-')?;
            fields.next()?.contains('x').then_some(())?;
            let hex = |text| u64::from_str_radix(text, 16).ok();
            Some(Mapping {
                start: hex(start)?,
                end: hex(end)?,
                offset: hex(fields.next()?)?,
                file: fields.nth(2)?.trim().to_owned(),
            })
        })
        .collect()
}

/// Gives frames their names.
///
/// A frame that perf cannot name gets `~neighbour+n`, see [`crate::host::elf`]; in a file that cannot be read, `[file]`.
/// Frames of the kernel end with `_[k]`.
struct Namer {
    mappings: Vec<Mapping>,
    root: PathBuf,
    files: HashMap<String, Option<Elf>>,
    plain: HashMap<String, String>,
}

impl Namer {
    fn new(maps: &str, pid: u32) -> Namer {
        let root = PathBuf::from(format!("/proc/{pid}/root"));
        Namer { mappings: parse_maps(maps), root, files: HashMap::new(), plain: HashMap::new() }
    }

    fn name(&mut self, frame: Frame<'_>) -> String {
        let is_kernel = frame.file.starts_with("[kernel")
            || frame.file.starts_with("[guest")
            || frame.file.ends_with(".ko");
        match frame.name {
            Some(name) if is_kernel => format!("{name}_[k]"),
            Some(name) => self.demangled(name),
            None if is_kernel => "[kernel]".to_owned(),
            None => self.near(frame),
        }
    }

    fn demangled(&mut self, name: &str) -> String {
        if let Some(plain) = self.plain.get(name) {
            return plain.clone();
        }
        let plain = demangled(name);
        self.plain.insert(name.to_owned(), plain.clone());
        plain
    }

    fn near(&mut self, frame: Frame<'_>) -> String {
        let file_name =
            Path::new(frame.file).file_name().map_or(frame.file.into(), |name| name.to_string_lossy());
        let otherwise = || match frame.file {
            "" | "[unknown]" => "[unknown]".to_owned(),
            _ => format!("[{}]", file_name.trim_matches(['[', ']'])),
        };
        // Addresses in memory become offsets in the file; what lies in no mapping is an offset already.
        let in_memory = self.mappings.iter().find(|map| (map.start..map.end).contains(&frame.address));
        let offset = in_memory.map_or(frame.address, |map| frame.address - map.start + map.offset);
        let root = &self.root;
        let elf = self.files.entry(frame.file.to_owned()).or_insert_with(|| {
            let inside = root.join(frame.file.trim_start_matches('/'));
            frame
                .file
                .starts_with('/')
                .then(|| Elf::open(&inside).or_else(|_| Elf::open(Path::new(frame.file))).ok())?
        });
        let Some(elf) = elf else { return otherwise() };
        let Some(address) = elf.address_of_offset(offset) else { return otherwise() };
        if let Some(name) = elf.name_of(address) {
            return demangled(name);
        }
        match elf.near(address) {
            Some((name, 0)) => format!("~{}", demangled(name)),
            Some((name, count)) => format!("~{}+{count}", demangled(name)),
            None => otherwise(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_stacks_with_the_thread_outermost() {
        let text = "connection 1/2 3.4: \n\t  10 _Z16dispatch_commandP3THDPK8COM_DATA19enum_server_command (/x/mysqld)\n\
                    \t 20 [unknown] (/x/gone)\n\n\
                    worker 1/3 3.5:\n\t ffff do_syscall_64 ([kernel.kallsyms])\n\t 30 [unknown] ([unknown])\n";
        let mut folding = Folding::new(Namer::new("", 1));
        text.lines().for_each(|line| folding.line(line));
        let expected = "connection;[gone];dispatch_command 1\nworker;[unknown];do_syscall_64_[k] 1\n";
        assert_eq!(folding.finish().text(), expected);
    }

    #[test]
    fn mappings_and_losses_are_read() {
        let maps = "7f00-7f10 r--p 00000000 fe:00 1                          /x/my sqld\n\
                    7f10-7f20 r-xp 00001000 fe:00 1                          /x/my sqld\n\
                    7f30-7f40 r-xp 00000000 00:00 0 \n";
        let mapping = Mapping { start: 0x7f10, end: 0x7f20, offset: 0x1000, file: "/x/my sqld".into() };
        assert_eq!(parse_maps(maps).first(), Some(&mapping));
        assert_eq!(
            lost_samples("Aggregated stats:\n   SAMPLE events: 90\n   LOST_SAMPLES events: 7  (0.1%)\n"),
            7
        );
    }

    /// On a machine with perf and the right to use it; said loudly where not.
    #[test]
    fn a_busy_process_of_our_own_is_sampled() {
        let tools = Tools::default();
        let busy = tools.start("sh", &["-c", "while :; do :; done"]).unwrap();
        match Recording::start(&tools, busy.pid(), 997, Unwind::FramePointers) {
            Ok(recording) => {
                thread::sleep(Duration::from_millis(400));
                let profile = recording.finish().unwrap();
                assert!(profile.samples() > 0, "{}", profile.text());
                assert!(profile.iter().all(|(frames, _)| frames[0] == "sh"), "{}", profile.text());
            }
            Err(why) => crate::left_out(&format!("perf on a process of our own: {why}")),
        }
        drop(busy);
    }
}
