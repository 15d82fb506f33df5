//! Outside programs (perf, bpftrace, java ...), each with a time limit and a limit on what it may say.
//!
//! A program is started in a process group of its own, so that whatever it starts ends with it, and so that a Ctrl-C at the
//! terminal reaches us first and not it.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::sys;

/// What is kept of a program's words, bytes.
const OUTPUT_BYTES_KEPT: u64 = 4 << 20;
/// How often a program is asked whether it has ended.
const POLL: Duration = Duration::from_millis(5);
/// How long a program that was asked to stop may take before it is killed.
const STOP_GRACE: Duration = Duration::from_secs(60);

/// Why a program gave no answer.
#[derive(Debug)]
pub enum ToolError {
    /// There is no such program.
    Missing(String),
    /// It ran and failed; its last words.
    Failed {
        /// Its name.
        program: String,
        /// How it ended.
        status: String,
        /// What it said.
        words: String,
    },
    /// It took longer than it may and was killed.
    TimedOut(String, Duration),
    /// It could not be started or read.
    Io(String, io::Error),
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ToolError::Missing(program) => write!(f, "{program} is not installed"),
            ToolError::Failed { program, status, words } => {
                write!(f, "{program}: {status}: {}", words.trim())
            }
            ToolError::TimedOut(program, limit) => {
                write!(f, "{program} took longer than {} s", limit.as_secs())
            }
            ToolError::Io(program, error) => write!(f, "{program}: {error}"),
        }
    }
}

impl std::error::Error for ToolError {}

/// What a program said.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ToolOutput {
    /// To its output.
    pub output: String,
    /// To its error output.
    pub errors: String,
}

impl ToolOutput {
    /// The first line that is not empty, of either.
    #[must_use]
    pub fn first_line(&self) -> &str {
        let lines = self.output.lines().chain(self.errors.lines());
        lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    }
}

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub struct Tools {
    path: OsString,
}

impl Default for Tools {
    /// As the shell would, and in the folders of system tools, which are not in every user's path.
    fn default() -> Tools {
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin");
        Tools { path }
    }
}

impl Tools {
    /// Only in these folders, divided by colons.
    #[cfg(test)]
    pub(crate) fn in_path(path: &std::ffi::OsStr) -> Tools {
        Tools { path: path.to_owned() }
    }

    /// The file of a program.
    #[must_use]
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        use std::os::unix::fs::PermissionsExt;
        std::env::split_paths(&self.path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(program))
            .find(|file| {
                file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
            })
    }

    fn command(&self, program: &str) -> Result<Command, ToolError> {
        let file = self.find(program).ok_or_else(|| ToolError::Missing(program.to_owned()))?;
        let mut command = Command::new(file);
        command.process_group(0).stdin(Stdio::null()).env("LC_ALL", "C");
        sys::heed_interrupts(&mut command);
        Ok(command)
    }

    /// Runs a program to its end.
    ///
    /// # Errors
    /// As [`ToolError`] lists.
    pub fn run(&self, program: &str, words: &[&str], limit: Duration) -> Result<ToolOutput, ToolError> {
        let mut running = self.start(program, words)?;
        let status = running.wait(limit)?;
        running.finish(status)
    }

    /// Starts a program; the caller stops it or waits for it. Dropping it kills it.
    ///
    /// # Errors
    /// It is not there or cannot be started.
    pub fn start(&self, program: &str, words: &[&str]) -> Result<Running, ToolError> {
        let fail = |error| ToolError::Io(program.to_owned(), error);
        let mut command = self.command(program)?;
        let mut child =
            command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fail)?;
        let output = child.stdout.take().map(Reading::begin);
        let errors = child.stderr.take().map(Reading::begin);
        Ok(Running { program: program.to_owned(), child, output, errors, has_ended: false })
    }

    /// Runs a program to its end and hands on its output line by line, however much it is.
    ///
    /// # Errors
    /// As [`ToolError`] lists; lines before the failure were handed on.
    pub fn lines(
        &self,
        program: &str,
        words: &[&str],
        limit: Duration,
        mut take: impl FnMut(&str),
    ) -> Result<(), ToolError> {
        let fail = |error| ToolError::Io(program.to_owned(), error);
        let mut command = self.command(program)?;
        let mut child =
            command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(fail)?;
        let output = child.stdout.take();
        let errors = child.stderr.take().map(Reading::begin);
        let mut running =
            Running { program: program.to_owned(), child, output: None, errors, has_ended: false };
        let start = Instant::now();
        if let Some(output) = output {
            let mut line = Vec::new();
            let mut reader = BufReader::with_capacity(1 << 16, output);
            // A program that says nothing for long ends by its own limit in `wait`; one that talks is checked by line.
            while reader.read_until(b'\n', &mut line).map_err(fail)? > 0 {
                take(String::from_utf8_lossy(&line).trim_end_matches('\n'));
                line.clear();
                if start.elapsed() > limit {
                    return Err(ToolError::TimedOut(program.to_owned(), limit));
                }
            }
        }
        let status = running.wait(limit.saturating_sub(start.elapsed()))?;
        running.finish(status).map(|_| ())
    }
}

/// Reads a pipe to its end on a thread, so that a full pipe blocks no process; keeps the beginning.
#[derive(Debug)]
struct Reading(mpsc::Receiver<String>);

impl Reading {
    fn begin(pipe: impl Read + Send + 'static) -> Reading {
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut kept = Vec::new();
            let mut pipe = pipe;
            // A failing pipe ends as a closed one does: what was read so far is the answer.
            let _ = pipe.by_ref().take(OUTPUT_BYTES_KEPT).read_to_end(&mut kept);
            let _ = io::copy(&mut pipe, &mut io::sink());
            let _ = sender.send(String::from_utf8_lossy(&kept).into_owned());
        });
        Reading(receiver)
    }
}

/// A program that runs.
#[derive(Debug)]
pub struct Running {
    program: String,
    child: Child,
    output: Option<Reading>,
    errors: Option<Reading>,
    has_ended: bool,
}

impl Running {
    /// Its process number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended by itself.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn has_ended(&mut self) -> Result<bool, ToolError> {
        let status = self.child.try_wait().map_err(|error| ToolError::Io(self.program.clone(), error))?;
        self.has_ended |= status.is_some();
        Ok(self.has_ended)
    }

    fn wait(&mut self, limit: Duration) -> Result<ExitStatus, ToolError> {
        let start = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    self.has_ended = true;
                    return Ok(status);
                }
                Ok(None) if start.elapsed() >= limit => {
                    return Err(ToolError::TimedOut(self.program.clone(), limit));
                }
                Ok(None) => thread::sleep(POLL),
                Err(error) => return Err(ToolError::Io(self.program.clone(), error)),
            }
        }
    }

    /// Asks it to stop, as Ctrl-C does, and returns what it said. That it says it was interrupted is no failure.
    ///
    /// # Errors
    /// It does not stop and was killed.
    pub fn stop(mut self) -> Result<ToolOutput, ToolError> {
        if !self.has_ended()? {
            sys::signal_group(self.pid(), libc::SIGINT);
        }
        self.wait(STOP_GRACE)?;
        Ok(self.take_output())
    }

    fn take_output(&mut self) -> ToolOutput {
        let text = |reading: &mut Option<Reading>| {
            // The pipe closes with the last process of the group; one that left the group may hold it longer.
            reading
                .take()
                .and_then(|reading| reading.0.recv_timeout(Duration::from_secs(2)).ok())
                .unwrap_or_default()
        };
        ToolOutput { output: text(&mut self.output), errors: text(&mut self.errors) }
    }

    fn finish(mut self, status: ExitStatus) -> Result<ToolOutput, ToolError> {
        let words = self.take_output();
        if status.success() {
            return Ok(words);
        }
        let all = if words.errors.trim().is_empty() { words.output } else { words.errors };
        let tail = all.trim().lines().rev().take(4).collect::<Vec<_>>();
        let words = tail.into_iter().rev().collect::<Vec<_>>().join("; ");
        Err(ToolError::Failed { program: self.program.clone(), status: status.to_string(), words })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            sys::signal_group(self.child.id(), libc::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// A folder below the temporary one that goes with its owner.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it, readable by its owner only: samples show memory addresses of a server.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new() -> io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt;
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("invar-lab-{}-{number}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Scratch(folder))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // It lies in the temporary folder: the system's broom comes too.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    #[test]
    fn a_program_answers_fails_is_missing_or_takes_too_long() {
        let tools = Tools::default();
        assert_eq!(tools.run("echo", &["a", "b"], LONG).unwrap().first_line(), "a b");
        let error = tools.run("sh", &["-c", "echo why >&2; exit 3"], LONG).unwrap_err();
        assert!(matches!(&error, ToolError::Failed { words, .. } if words == "why"), "{error}");
        assert!(matches!(tools.run("no-such-program", &[], LONG), Err(ToolError::Missing(_))));
        // What it started ends with it: the pipe would stay open for as long as the inner sleep.
        let error =
            tools.run("sh", &["-c", "sleep 1000 & sleep 1000"], Duration::from_millis(50)).unwrap_err();
        assert!(matches!(error, ToolError::TimedOut(..)), "{error}");
        let nowhere = Tools::in_path(std::ffi::OsStr::new("/nonexistent"));
        assert!(matches!(nowhere.run("echo", &[], LONG), Err(ToolError::Missing(_))));
    }

    #[test]
    fn a_running_program_is_stopped_and_heard() {
        let mut seen = Vec::new();
        Tools::default()
            .lines("sh", &["-c", "echo 1; echo 2"], LONG, |line| seen.push(line.to_owned()))
            .unwrap();
        assert_eq!(seen, ["1", "2"]);
        // Also when we ignore or block interrupts: a shell cannot trap what was ignored when it began.
        sys::shut_out_interrupts();
        let script = "trap 'echo stopped; exit 1' INT; echo ready >&2; while :; do sleep 0.01; done";
        let running = Tools::default().start("sh", &["-c", script]).unwrap();
        thread::sleep(Duration::from_millis(200)); // The trap must stand; if not, the text is missing and the test fails.
        assert_eq!(running.stop().unwrap().output.trim(), "stopped");
    }

    #[test]
    fn a_scratch_folder_goes_with_its_owner() {
        let scratch = Scratch::new().unwrap();
        let path = scratch.path().to_owned();
        assert!(path.is_dir());
        drop(scratch);
        assert!(!path.exists());
    }
}
