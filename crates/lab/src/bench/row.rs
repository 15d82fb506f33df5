//! A row of the history: a JSON object on one line of a file that only grows.
//!
//! A field that may be missing has a default, so rows of older versions stay readable.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::evidence::{Flavour, JudgementWord, Metric, Server, Setting};

/// Version of the form.
pub(crate) const SCHEMA_VERSION: u32 = 1;
/// A history longer than this is not read: it is none.
const HISTORY_BYTES_MAX: u64 = 1 << 30;

/// One run of the set.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Row {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Seconds it took.
    pub duration_s: f64,
    /// Source the judged server was built from.
    pub commit: String,
    /// Hash over what was run.
    pub set: String,
    /// The machine: rows of different keys are not to be compared.
    pub machine: String,
    /// One-minute load average at the start.
    pub load_average: Option<f64>,
    /// The servers; the first is judged.
    pub servers: Vec<ServerRow>,
    /// Settings that differ between the servers: what a ratio may owe to them and not to the servers.
    pub differing: Vec<Setting>,
    /// Medians.
    pub figures: Vec<Figure>,
    /// The judged server over each rival.
    pub ratios: Vec<Ratio>,
    /// Parts that were not measured to their end, and why.
    pub incomplete: Vec<String>,
    /// What the runs warned of.
    pub warnings: Vec<String>,
}

/// A server of a row.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct ServerRow {
    /// Name given on the command line.
    pub name: String,
    /// What it is.
    pub flavour: Flavour,
    /// As it says.
    pub version: String,
    /// Hash over its variables that matter.
    pub configuration: String,
}

/// Medians over the valid blocks of one server in one part.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Figure {
    /// Scenario and what of it: `point-select/prepared/16`.
    pub what: String,
    /// The server's name.
    pub server: String,
    /// CPU of its process per operation, microseconds; absent if it is not on this machine.
    pub cpu_us: Option<f64>,
    /// Median latency, microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile.
    pub p99_us: Option<f64>,
    /// Operations a second.
    pub operations_per_s: Option<f64>,
    /// Valid blocks.
    pub blocks: u64,
    /// Others.
    pub blocks_invalid: u64,
}

/// The judged server's figure over a rival's; below 1 is better.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Ratio {
    /// As in [`Figure`].
    pub what: String,
    /// The rival's name.
    pub rival: String,
    /// Of what.
    pub metric: Metric,
    /// Ratio of medians within rounds.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What may be said: `slower` is the judged server slower than its rival.
    pub word: JudgementWord,
}

impl Row {
    /// An empty one of this version.
    #[must_use]
    pub fn new() -> Row {
        Row { schema_version: SCHEMA_VERSION, ..Row::default() }
    }

    /// Whether the judged server is slower than a rival in anything.
    #[must_use]
    pub fn is_slower_somewhere(&self) -> bool {
        self.ratios.iter().any(|ratio| ratio.word == JudgementWord::Slower)
    }

    /// The figure of a server in a part.
    #[must_use]
    pub fn figure(&self, what: &str, server: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.what == what && figure.server == server)
    }

    /// The comparison with a rival in a part.
    #[must_use]
    pub fn ratio(&self, what: &str, rival: &str, metric: Metric) -> Option<&Ratio> {
        self.ratios.iter().find(|ratio| ratio.what == what && ratio.rival == rival && ratio.metric == metric)
    }
}

impl ServerRow {
    pub(super) fn of(server: &Server) -> ServerRow {
        let mut hash = Hash::new();
        for (name, value) in &server.variables {
            hash.add(name);
            hash.add(value);
        }
        ServerRow {
            name: server.name.clone(),
            flavour: server.flavour,
            version: server.version.clone(),
            configuration: hash.text(),
        }
    }
}

/// FNV-1a over texts, each closed by a byte that is in none.
pub(super) struct Hash(u64);

impl Hash {
    pub(super) fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

/// Appends a row as one line, and sees it on the disk. A line that a crash cut short before is closed first.
///
/// # Errors
/// Of the file; the row is then not there, or cut short and skipped by the next [`read`].
pub fn append(path: &Path, row: &Row) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
    let mut line = String::new();
    if file.metadata()?.is_file() && !ends_a_line(&mut file)? {
        line.push('\n');
    }
    line.push_str(&serde_json::to_string(row)?);
    line.push('\n');
    file.write_all(line.as_bytes())?;
    match file.sync_all() {
        // A pipe or a device has no disk to reach.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The rows of a file, oldest first, and the numbers of lines that are no rows.
///
/// # Errors
/// Of the file, or it is far too long to be one.
pub fn read(path: &Path) -> io::Result<(Vec<Row>, Vec<usize>)> {
    let mut text = String::new();
    let length = File::open(path)?.take(HISTORY_BYTES_MAX).read_to_string(&mut text)?;
    if length as u64 == HISTORY_BYTES_MAX {
        return Err(io::Error::other("longer than any history"));
    }
    let (mut rows, mut bad) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Row>(line) {
            // A JSON array would be read as the fields in order.
            Ok(row)
                if line.trim_start().starts_with('{')
                    && (1..=SCHEMA_VERSION).contains(&row.schema_version) =>
            {
                rows.push(row);
            }
            _ => bad.push(index + 1),
        }
    }
    Ok((rows, bad))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_grows_by_a_line_and_survives_one_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        let row = Row {
            commit: "abc".into(),
            figures: vec![Figure {
                what: "scan".into(),
                server: "a".into(),
                cpu_us: Some(1.5),
                ..Figure::default()
            }],
            ..Row::new()
        };
        append(&path, &row).unwrap();
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], &whole[..whole.len() / 2]].concat()).unwrap();
        append(&path, &Row { commit: "def".into(), ..Row::new() }).unwrap();
        let (rows, bad) = read(&path).unwrap();
        assert_eq!((rows.len(), bad), (2, vec![2]));
        assert_eq!((&rows[0], rows[1].commit.as_str()), (&row, "def"));
        assert_eq!(rows[0].figure("scan", "a").unwrap().cpu_us, Some(1.5));
    }

    #[test]
    fn a_row_of_a_later_version_is_not_guessed_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history.jsonl");
        std::fs::write(&path, "{\"schema_version\": 99}\n{}\n[1]\n\n{\"schema_version\": 1}\n").unwrap();
        let (rows, bad) = read(&path).unwrap();
        assert_eq!((rows.len(), bad), (1, vec![1, 2, 3]));
    }

    #[test]
    fn configurations_that_differ_have_other_hashes() {
        let server = |value: &str| Server {
            variables: [("sync_binlog".to_owned(), value.to_owned())].into(),
            ..Server::default()
        };
        assert_ne!(ServerRow::of(&server("0")).configuration, ServerRow::of(&server("1")).configuration);
        assert_eq!(ServerRow::of(&server("1")).configuration, ServerRow::of(&server("1")).configuration);
    }
}
