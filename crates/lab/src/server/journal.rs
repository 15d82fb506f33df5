//! Global variables, changed for a measurement and put back whatever happens.
//!
//! A global variable is a setting of a running server that others use. So each change is first written into a file, synced,
//! and only then made; the file goes when all are back. Whoever finds such a file without a living owner (its lock is
//! free) puts the variables back before doing anything else with that server: after an error, a Ctrl-C, a `kill -9` or
//! a power cut of the client, the next start repairs what was left.
//!
//! One file for each run and server, a JSON object a line:
//!
//! ```text
//! {"opened":{"form":1,"identity":"server_uuid=...","url":"mysql://root@127.0.0.1:3306","pid":4711}}
//! {"about_to":{"name":"slow_query_log","before":{"number":"0"},"at_unix_ms":1795250797574}}
//! {"made":{"name":"slow_query_log","is":{"number":"1"}}}
//! {"refused":{"name":"log_output"}}
//! ```
//!
//! Invariants:
//! 1. No SET GLOBAL is sent before the value it replaces is on disk.
//! 2. A variable whose value is no longer the one that we set was changed by others since: it is left alone, and
//!    reported.
//! 3. A restarted server has lost our changes (nothing is ever persisted): nothing is put back.
//! 4. The file holds no password: putting back takes a connection the user opens.
//! 5. A file stays until every variable in it is back, left alone for a reason, or lost by a restart of the server.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use client::{Connection, Error, Options};
use serde::{Deserialize, Serialize};

use super::ask_if_allowed;
use super::describe::{UnderTest, url_without_password};
use crate::evidence::Flavour;

/// The form of the file.
const FORM: u32 = 1;
/// Files of this ending in the folder are ours.
const ENDING: &str = "journal";
/// A server that says it started this much after a change, by whole seconds, did start after it.
const UPTIME_STEP_MS: u64 = 2000;

/// A value of a variable, as it is written in SET.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// Digits, written as they are.
    Number(String),
    /// Text, written in quotes.
    Text(String),
    /// NULL: can only be put back as DEFAULT.
    Null,
}

impl Value {
    fn sql(&self) -> String {
        match self {
            Value::Number(digits) => digits.clone(),
            // The session's sql_mode is empty, so a backslash escapes.
            Value::Text(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            Value::Null => "DEFAULT".to_owned(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(text) | Value::Text(text) => f.write_str(text),
            Value::Null => f.write_str("NULL"),
        }
    }
}

impl From<&str> for Value {
    /// What a user writes: digits are a number, all else is text.
    fn from(text: &str) -> Value {
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Number(text.to_owned()),
            _ => Value::Text(text.to_owned()),
        }
    }
}

/// Why a change could not be made or put back.
#[derive(Debug)]
pub enum JournalError {
    /// The journal could not be written; nothing was changed.
    File(PathBuf, io::Error),
    /// The server refused, or the connection failed.
    Server(Error),
    /// No such name for a variable; nothing was sent.
    Name(String),
    /// The program is ending; nothing is changed any more.
    Ending,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::File(path, error) => write!(f, "the journal {}: {error}", path.display()),
            JournalError::Server(error) => error.fmt(f),
            JournalError::Name(name) => write!(f, "'{name}' is no name of a variable"),
            JournalError::Ending => f.write_str("the program is ending: no variable is changed any more"),
        }
    }
}

impl std::error::Error for JournalError {}

impl From<Error> for JournalError {
    fn from(error: Error) -> JournalError {
        JournalError::Server(error)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Opened { form: u32, identity: String, url: String, pid: u32 },
    AboutTo { name: String, before: Value, at_unix_ms: u64 },
    Made { name: String, is: Value },
    Refused { name: String },
}

/// One variable to put back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// Name.
    pub name: String,
    /// What it was before the first change.
    pub before: Value,
    /// What the last change made of it; `None` if we died before we knew.
    pub made: Option<Value>,
    /// When the last change was about to be made, milliseconds since 1970.
    pub at_unix_ms: u64,
}

/// What a journal says: whose server, and what to put back, last change first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Contents {
    /// Which server.
    pub identity: String,
    /// Where it was, for people.
    pub url: String,
    /// Who wrote it.
    pub pid: u32,
    /// What to put back, in this order.
    pub changes: Vec<Change>,
}

/// Reads a journal. A last line that was cut is left out: what it announces was never sent.
fn parse(text: &str) -> Contents {
    let mut contents = Contents::default();
    let mut pending = Vec::new();
    for line in text.lines().map_while(|line| serde_json::from_str::<Line>(line).ok()) {
        let find =
            |changes: &mut Vec<Change>, name: &str| changes.iter().position(|change| change.name == name);
        match line {
            Line::Opened { identity, url, pid, .. } => {
                (contents.identity, contents.url, contents.pid) = (identity, url, pid);
            }
            Line::AboutTo { name, before, at_unix_ms } => {
                pending.push(name.clone());
                match find(&mut contents.changes, &name) {
                    // Changed again: what it was before us stays what it was.
                    Some(index) => contents.changes[index].at_unix_ms = at_unix_ms,
                    None => contents.changes.push(Change { name, before, made: None, at_unix_ms }),
                }
            }
            Line::Made { name, is } => {
                pending.retain(|one| *one != name);
                if let Some(index) = find(&mut contents.changes, &name) {
                    contents.changes[index].made = Some(is);
                }
            }
            Line::Refused { name } => {
                // A first change that was refused leaves nothing; after a later one the earlier still holds.
                pending.retain(|one| *one != name);
                if let Some(index) = find(&mut contents.changes, &name)
                    && contents.changes[index].made.is_none()
                {
                    contents.changes.remove(index);
                }
            }
        }
    }
    // We died between sending and writing what came of it.
    for change in contents.changes.iter_mut().filter(|change| pending.contains(&change.name)) {
        change.made = None;
    }
    contents.changes.reverse();
    contents
}

/// What became of one variable when it was to be put back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// It has its old value again.
    PutBack(Value),
    /// It had its old value already: the change was never made.
    WasSo(Value),
    /// Another client has set it to another value since; it was left alone.
    SetByOthers(Value),
    /// The server was restarted since and reads its own settings.
    Restarted,
    /// The server refused.
    Refused(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::PutBack(value) => write!(f, "put back to {value}"),
            Outcome::WasSo(value) => write!(f, "was {value} already"),
            Outcome::SetByOthers(value) => write!(f, "left alone: somebody else set it to {value} since"),
            Outcome::Restarted => write!(f, "lost: the server was restarted since"),
            Outcome::Refused(why) => write!(f, "NOT put back: {why}"),
        }
    }
}

/// Name and outcome of every variable of a journal.
pub type Outcomes = Vec<(String, Outcome)>;

/// The default folder of journals: `$INVAR_LAB_STATE`, else `$XDG_STATE_HOME/invar/lab`, else
/// `~/.local/state/invar/lab`. Not a temporary folder: a journal must outlive the machine's next start.
#[must_use]
pub fn default_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("INVAR_LAB_STATE")
        .or_else(|| variable("XDG_STATE_HOME").map(|folder| folder.join("invar/lab")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".local/state/invar/lab")))
        .unwrap_or_else(|| PathBuf::from("/var/tmp/invar-lab"))
}

/// Journals whose server may still be changed and that [`put_back_all`] takes care of: file, and how to connect.
static OPEN: Mutex<Vec<(PathBuf, Options)>> = Mutex::new(Vec::new());
static IS_ENDING: AtomicBool = AtomicBool::new(false);

fn open_journals() -> std::sync::MutexGuard<'static, Vec<(PathBuf, Options)>> {
    OPEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Changes of global variables of one server. Dropping it puts them back, as far as that goes; [`GlobalChanges::put_back`]
/// also says how it went.
#[derive(Debug)]
pub struct GlobalChanges {
    folder: PathBuf,
    identity: String,
    options: Options,
    connection: Connection,
    journal: Option<(PathBuf, File)>,
}

impl GlobalChanges {
    /// Opens a session of its own. First puts back what an earlier run that died left changed on this server, and returns
    /// it. No file is made before the first change.
    ///
    /// # Errors
    /// No connection, or the folder cannot be read.
    pub fn open(folder: &Path, server: &UnderTest) -> Result<(GlobalChanges, Outcomes), JournalError> {
        let mut connection = connect(&server.options)?;
        let recovered = recover(folder, server, &mut connection)?;
        let changes = GlobalChanges {
            folder: folder.to_owned(),
            identity: server.identity.clone(),
            options: server.options.clone(),
            connection,
            journal: None,
        };
        Ok((changes, recovered))
    }

    /// Sets a global variable; returns the value it then has, which the server may have rounded.
    ///
    /// # Errors
    /// The journal cannot be written (nothing was changed), or the server refuses.
    pub fn set(&mut self, name: &str, value: &Value) -> Result<Value, JournalError> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
        if name.is_empty() || !name.chars().all(is_letter) {
            return Err(JournalError::Name(name.to_owned()));
        }
        let before = read(&mut self.connection, name)?;
        self.write(&Line::AboutTo { name: name.to_owned(), before, at_unix_ms: unix_ms() })?;
        // After it is written, so that either this or `put_back_all`, which reads the file last, sees the other.
        if IS_ENDING.load(Ordering::SeqCst) {
            return Err(JournalError::Ending);
        }
        if let Err(error) = self.connection.run(format!("SET GLOBAL {name} = {}", value.sql()).as_bytes()) {
            if matches!(error, Error::Server(_)) {
                self.write(&Line::Refused { name: name.to_owned() })?;
            }
            return Err(error.into());
        }
        let is = read(&mut self.connection, name)?;
        self.write(&Line::Made { name: name.to_owned(), is: is.clone() })?;
        Ok(is)
    }

    /// The journal, once there was a change.
    #[must_use]
    pub fn journal_path(&self) -> Option<&Path> {
        self.journal.as_ref().map(|(path, _)| path.as_path())
    }

    /// Puts all back and removes the journal. On a broken connection it makes a new one.
    ///
    /// # Errors
    /// The server does not answer: the journal stays for the next start.
    pub fn put_back(&mut self) -> Result<Outcomes, JournalError> {
        let Some((path, _)) = &self.journal else { return Ok(Vec::new()) };
        let path = path.clone();
        let contents =
            parse(&fs::read_to_string(&path).map_err(|error| JournalError::File(path.clone(), error))?);
        if self.connection.is_broken() {
            self.connection = connect(&self.options)?;
        }
        let outcomes = match undo(&mut self.connection, &contents) {
            // The server may have cut a connection that was idle for long, which shows only when it is used.
            Err(error) if !matches!(error, Error::Server(_)) => {
                self.connection = connect(&self.options)?;
                undo(&mut self.connection, &contents)?
            }
            done => done?,
        };
        if is_settled(&outcomes) {
            remove_journal(&path)?;
            self.journal = None;
        }
        Ok(outcomes)
    }

    fn write(&mut self, line: &Line) -> Result<(), JournalError> {
        if self.journal.is_none() {
            self.journal = Some(self.create()?);
        }
        let Some((path, file)) = &mut self.journal else { return Ok(()) };
        append(file, line).map_err(|error| JournalError::File(path.clone(), error))
    }

    fn create(&self) -> Result<(PathBuf, File), JournalError> {
        let pid = std::process::id();
        let path = self.folder.join(format!("variables-{pid}-{}.{ENDING}", unix_ns()));
        let create = || {
            fs::create_dir_all(&self.folder)?;
            let mut file = OpenOptions::new().create_new(true).append(true).open(&path)?;
            // Held as long as the file is open, and released by the kernel when the process dies.
            file.lock()?;
            append(
                &mut file,
                &Line::Opened {
                    form: FORM,
                    identity: self.identity.clone(),
                    url: url_without_password(&self.options),
                    pid,
                },
            )?;
            File::open(&self.folder)?.sync_all()?;
            Ok(file)
        };
        let file = create().map_err(|error| JournalError::File(path.clone(), error))?;
        open_journals().push((path.clone(), self.options.clone()));
        Ok((path, file))
    }
}

impl Drop for GlobalChanges {
    fn drop(&mut self) {
        // There is no caller to return an error to; the journal stays, and the next start says what it finds.
        let _ = self.put_back();
    }
}

/// Puts back what every open journal of this process holds, over new connections, and lets nothing be changed afterwards:
/// for a program that must end now, from any thread. Returns journal and outcomes, or why not.
pub fn put_back_all() -> Vec<(PathBuf, Result<Outcomes, JournalError>)> {
    IS_ENDING.store(true, Ordering::SeqCst);
    let open = open_journals().clone();
    open.into_iter()
        .map(|(path, options)| {
            let put_back = || {
                let text =
                    fs::read_to_string(&path).map_err(|error| JournalError::File(path.clone(), error))?;
                let outcomes = undo(&mut connect(&options)?, &parse(&text))?;
                if is_settled(&outcomes) {
                    remove_journal(&path)?;
                }
                Ok(outcomes)
            };
            let outcomes = put_back();
            (path, outcomes)
        })
        .collect()
}

/// Journals in a folder that no living process holds.
///
/// # Errors
/// The folder is there and cannot be read.
pub fn abandoned(folder: &Path) -> Result<Vec<(PathBuf, Contents)>, JournalError> {
    let fail = |error| JournalError::File(folder.to_owned(), error);
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(fail)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(fail)?.path();
        if path.extension().is_none_or(|ending| ending != ENDING) {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue }; // Its owner has just finished with it.
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(JournalError::File(path, error)),
        }
        let text = fs::read_to_string(&path).map_err(|error| JournalError::File(path.clone(), error))?;
        found.push((path, parse(&text)));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Puts back what runs that died left changed on this server. Their journals go; those of other servers stay.
///
/// # Errors
/// The folder cannot be read, or the connection fails.
pub fn recover(
    folder: &Path,
    server: &UnderTest,
    connection: &mut Connection,
) -> Result<Outcomes, JournalError> {
    let mut all = Vec::new();
    for (path, contents) in abandoned(folder)? {
        // One without its first line was never used: no change was sent before it was on disk.
        if contents.identity.is_empty() {
            remove_journal(&path)?;
        }
        if contents.identity != server.identity {
            continue;
        }
        let outcomes = undo(connection, &contents)?;
        if is_settled(&outcomes) {
            remove_journal(&path)?;
        }
        all.extend(outcomes);
    }
    Ok(all)
}

fn undo(connection: &mut Connection, contents: &Contents) -> Result<Outcomes, Error> {
    let uptime_s = super::ask(connection, "SHOW GLOBAL STATUS LIKE 'Uptime'")?;
    let uptime_s = uptime_s.first().and_then(|row| row.get(1)?.as_deref()?.parse::<u64>().ok());
    let started_unix_ms = uptime_s.map(|seconds| unix_ms().saturating_sub(seconds * 1000));
    let mut outcomes = Vec::new();
    for change in &contents.changes {
        let is_restarted =
            started_unix_ms.is_some_and(|started| started > change.at_unix_ms + UPTIME_STEP_MS);
        let outcome = if is_restarted {
            Outcome::Restarted
        } else {
            match put_back_one(connection, change) {
                Err(Error::Server(error)) => Outcome::Refused(error.to_string()),
                outcome => outcome?,
            }
        };
        outcomes.push((change.name.clone(), outcome));
    }
    Ok(outcomes)
}

fn put_back_one(connection: &mut Connection, change: &Change) -> Result<Outcome, Error> {
    let now = read(connection, &change.name)?;
    if now == change.before {
        return Ok(Outcome::WasSo(now));
    }
    // Without knowing what was made of it, ours and theirs cannot be distinguished; ours is far more likely.
    if change.made.as_ref().is_some_and(|made| *made != now) {
        return Ok(Outcome::SetByOthers(now));
    }
    connection.run(format!("SET GLOBAL {} = {}", change.name, change.before.sql()).as_bytes())?;
    let now = read(connection, &change.name)?;
    if now == change.before || change.before == Value::Null {
        return Ok(Outcome::PutBack(now));
    }
    Ok(Outcome::Refused(format!("it was {}, and setting it made it {now}", change.before)))
}

fn is_settled(outcomes: &Outcomes) -> bool {
    !outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Refused(_)))
}

fn remove_journal(path: &Path) -> Result<(), JournalError> {
    open_journals().retain(|(open, _)| open != path);
    match fs::remove_file(path) {
        // Two that put back at once do the same.
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(JournalError::File(path.to_owned(), error))
        }
        _ => Ok(()),
    }
}

/// A session that reads and writes values as they are.
fn connect(options: &Options) -> Result<Connection, Error> {
    let mut connection = Connection::connect(options)?;
    connection.run(b"SET SESSION sql_mode = ''")?;
    Ok(connection)
}

/// A global variable, as a number if the server says that it is one.
pub(crate) fn read(connection: &mut Connection, name: &str) -> Result<Value, Error> {
    let mut answer = connection.query(format!("SELECT @@GLOBAL.{name}").as_bytes())?;
    let mut value = Value::Null;
    while answer.next_result()? {
        let is_text = answer.columns().iter().next().is_some_and(|column| {
            use client::ColumnType as Type;
            !matches!(
                column.column_type,
                Type::Tiny
                    | Type::Short
                    | Type::Int24
                    | Type::Long
                    | Type::LongLong
                    | Type::Float
                    | Type::Double
                    | Type::NewDecimal
            )
        });
        while let Some(row) = answer.next_row()? {
            value = match row.cells().next().and_then(client::Cell::as_bytes) {
                None => Value::Null,
                Some(text) if is_text => Value::Text(String::from_utf8_lossy(text).into_owned()),
                Some(text) => Value::Number(String::from_utf8_lossy(text).into_owned()),
            };
        }
    }
    Ok(value)
}

fn append(file: &mut File, line: &Line) -> io::Result<()> {
    let mut text = serde_json::to_string(line).map_err(io::Error::other)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

fn unix_ns() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
}

fn unix_ms() -> u64 {
    (unix_ns() / 1_000_000) as u64
}

/// Whether a server's account may set global variables, by its grants; `None` if they cannot be read.
///
/// # Errors
/// The connection's.
pub(crate) fn may_set_global(connection: &mut Connection, flavour: Flavour) -> Result<Option<bool>, Error> {
    let sql = "SELECT GROUP_CONCAT(privilege_type) FROM information_schema.user_privileges \
               WHERE REPLACE(grantee, '''', '') = CURRENT_USER()";
    let right = match flavour {
        Flavour::Mariadb => ["SUPER", "ADMIN"],
        _ => ["SUPER", "SYSTEM_VARIABLES_ADMIN"],
    };
    let rights = ask_if_allowed(connection, sql)?;
    Ok(rights.map(|rights| rights.split(',').any(|one| right.contains(&one))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPENED: &str =
        r#"{"opened":{"form":1,"identity":"server_uuid=a","url":"mysql://root@h:1","pid":7}}"#;

    #[test]
    fn a_journal_says_what_to_put_back_last_change_first() {
        let text = [
            OPENED,
            r#"{"about_to":{"name":"a","before":{"number":"0"},"at_unix_ms":10}}"#,
            r#"{"made":{"name":"a","is":{"number":"1"}}}"#,
            r#"{"about_to":{"name":"b","before":{"text":"x"},"at_unix_ms":11}}"#,
            r#"{"refused":{"name":"b"}}"#,
            r#"{"about_to":{"name":"c","before":{"text":"it's"},"at_unix_ms":12}}"#,
            r#"{"made":{"name":"c","is":{"text":"y"}}}"#,
            r#"{"about_to":{"name":"c","before":{"text":"y"},"at_unix_ms":12}}"#,
            r#"{"refused":{"name":"c"}}"#,
            r#"{"about_to":{"name":"a","before":{"number":"1"},"at_unix_ms":13}}"#,
            r#"{"made":{"name":"a","is":{"num"#,
        ]
        .join("\n");
        let contents = parse(&text);
        assert_eq!((contents.identity.as_str(), contents.pid), ("server_uuid=a", 7));
        let names: Vec<_> = contents.changes.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, ["c", "a"], "the refused one changed nothing");
        let a = &contents.changes[1];
        assert_eq!(
            (&a.before, &a.made),
            (&Value::Number("0".into()), &None),
            "the first before, an unknown now"
        );
        let made = contents.changes[0].made.as_ref();
        assert_eq!(made, Some(&Value::Text("y".into())), "a second change was refused: the first holds");
        assert_eq!(parse("").changes, []);
    }

    #[test]
    fn values_are_written_as_the_server_reads_them() {
        assert_eq!(Value::from("0.5").sql(), "0.5");
        assert_eq!(Value::from("ON").sql(), "'ON'");
        assert_eq!(Value::Text("it's a \\ here".into()).sql(), "'it''s a \\\\ here'");
        assert_eq!(Value::from("inf").sql(), "'inf'", "no number of SQL");
        assert_eq!(Value::Null.sql(), "DEFAULT");
    }

    #[test]
    fn a_journal_with_a_living_owner_is_not_abandoned() {
        let folder = std::env::temp_dir().join(format!("invar-lab-journal-{}", unix_ns()));
        assert!(abandoned(&folder).unwrap().is_empty(), "no folder, no journals");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("variables-7-1.journal");
        fs::write(&path, format!("{OPENED}\n")).unwrap();
        let owner = File::open(&path).unwrap();
        owner.lock().unwrap();
        assert!(abandoned(&folder).unwrap().is_empty());
        drop(owner);
        assert_eq!(abandoned(&folder).unwrap().len(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
