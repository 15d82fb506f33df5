//! A shim's process and the lines to and from it.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// How long a toolchain may take to start a shim, compiling included.
const START_MAX: Duration = Duration::from_secs(120);
/// Lines read ahead.
const LINES_AHEAD: usize = 1024;
/// Of what a shim said about its failure this much is shown.
const WORDS_BYTES_MAX: u64 = 400;

/// A running shim. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    lines: Receiver<io::Result<String>>,
    errors: std::fs::File,
    /// Driver and version, as it said.
    pub(crate) driver: String,
    /// It has run operations before.
    pub(crate) is_warm: bool,
}

impl Process {
    /// Starts `command`, whose input and output are piped, and waits for its greeting.
    pub(crate) fn start(mut command: Command) -> Result<Process, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let errors = unnamed_file().map_err(|error| format!("a file for {program}'s errors: {error}"))?;
        let sink = errors.try_clone().map_err(|error| error.to_string())?;
        // In a group of its own: a Ctrl-C reaches us first, and we end it.
        let mut child =
            command.stderr(sink).process_group(0).spawn().map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => format!("{program} is not installed"),
                _ => format!("{program}: {error}"),
            })?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{program}: no pipes"));
        };
        let (sender, lines) = sync_channel(LINES_AHEAD);
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = BufWriter::new(input);
        let mut process = Process { child, input, lines, errors, driver: String::new(), is_warm: false };
        let hello = process.receive(START_MAX)?;
        match &hello[..] {
            [word, driver, version] if word == "hello" => process.driver = format!("{driver} {version}"),
            other => return Err(format!("{program} said {other:?} and not hello")),
        }
        Ok(process)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says a line; it goes out with [`flush`](Self::flush).
    pub(crate) fn tell(&mut self, fields: &[&str]) -> Result<(), String> {
        let mut line = String::new();
        for (place, field) in fields.iter().enumerate() {
            if place > 0 {
                line.push('\t');
            }
            escape(field, &mut line);
        }
        line.push('\n');
        self.input.write_all(line.as_bytes()).map_err(|_| self.last_words())
    }

    pub(crate) fn flush(&mut self) -> Result<(), String> {
        self.input.flush().map_err(|_| self.last_words())
    }

    /// The next line, as fields.
    pub(crate) fn receive(&mut self, limit: Duration) -> Result<Vec<String>, String> {
        match self.lines.recv_timeout(limit) {
            Ok(Ok(line)) => Ok(line.split('\t').map(unescape).collect()),
            Ok(Err(error)) => Err(format!("cannot read what the shim says: {error}")),
            Err(RecvTimeoutError::Timeout) => Err(format!("the shim said nothing for {} s", limit.as_secs())),
            Err(RecvTimeoutError::Disconnected) => Err(self.last_words()),
        }
    }

    /// What it wrote to its errors before it ended.
    #[cold]
    fn last_words(&mut self) -> String {
        let mut words = String::new();
        let end = self.errors.seek(SeekFrom::End(0)).unwrap_or_default();
        let from = self.errors.seek(SeekFrom::Start(end.saturating_sub(WORDS_BYTES_MAX)));
        if from.is_ok() && (&self.errors).take(WORDS_BYTES_MAX).read_to_string(&mut words).is_ok() {
            let line =
                words.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
            return format!("the shim ended: {line}");
        }
        "the shim ended".to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is to be reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file without a name, removed when the process ends.
fn unnamed_file() -> io::Result<std::fs::File> {
    let path = std::env::temp_dir().join(format!(
        "invar-lab-shim-{}-{}",
        std::process::id(),
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos())
    ));
    let file = std::fs::File::options().read(true).append(true).create_new(true).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

fn escape(field: &str, out: &mut String) {
    for char in field.chars() {
        match char {
            '\\' => out.push_str("\\\\"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            char => out.push(char),
        }
    }
}

fn unescape(field: &str) -> String {
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(char) = chars.next() {
        out.push(match char {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some(char) => char,
                None => '\\',
            },
            char => char,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    #[test]
    fn fields_come_through_whatever_is_in_them() {
        // The greeting, then whatever comes in.
        let mut process = Process::start(shell("printf 'hello\\tcat\\t1\\n'; exec cat")).unwrap();
        assert_eq!(process.driver, "cat 1");
        let fields = ["values", "a\tb\nc\r\\d", "", "it's é"];
        process.tell(&fields).unwrap();
        process.flush().unwrap();
        assert_eq!(process.receive(START_MAX).unwrap(), fields);
        let why = process.receive(Duration::from_millis(1)).unwrap_err();
        assert!(why.contains("said nothing"), "{why}");
    }

    #[test]
    fn a_shim_that_ends_leaves_its_last_words() {
        let why = Process::start(shell("echo no driver here >&2; exit 1")).unwrap_err();
        assert_eq!(why, "the shim ended: no driver here");
        let why = Process::start(shell("echo good day")).unwrap_err();
        assert!(why.contains("not hello"), "{why}");
        let mut missing = Command::new("no-such-toolchain");
        missing.stdin(Stdio::piped()).stdout(Stdio::piped());
        assert_eq!(Process::start(missing).unwrap_err(), "no-such-toolchain is not installed");
    }
}
