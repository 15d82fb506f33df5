//! Options as MySQL's server takes them, from the command line and from `my.cnf`.
//!
//! | written | means |
//! | --- | --- |
//! | `--name=value`, `--name value` | the value; the second only for options that must have one |
//! | `--name`, `--enable-name` | ON |
//! | `--skip-name`, `--disable-name` | OFF |
//! | `--loose-name...` | as without, but an unknown name is passed over in silence |
//! | `name=value`, `name` in a file | as with `--` |
//!
//! An unknown name on the command line is an error. In a file it is passed over with a warning: files come from other versions
//! and other servers, and a server that starts with one setting less is of more use than none.
//!
//! `-` and `_` are the same in names. What is given later wins, and the command line comes after the file. A file is read only
//! if `--defaults-file` names it: a `my.cnf` of another server on the same host must not choose our data folder.

use std::path::{Path, PathBuf};

/// Files that include each other deeper than this are refused.
const INCLUDE_DEPTH_MAX: usize = 10;
/// Sections of a file that are for us.
const SECTIONS: [&str; 3] = ["mysqld", "server", "invar"];

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    /// ON or OFF; never takes the next word of the command line.
    Flag,
    /// Must have a value.
    Value,
}

/// One option as given. Names have `_` for `-`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Given {
    pub(crate) name: String,
    /// `ON` or `OFF` for a flag without a value.
    pub(crate) value: String,
    /// An unknown name is passed over in silence.
    pub(crate) is_loose: bool,
    /// Given in a file: an unknown name is passed over with a warning.
    pub(crate) is_of_file: bool,
    /// For messages: `command line`, or file and line.
    pub(crate) source: String,
}

/// What the command line and its file say.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Read {
    /// The options that there are, in order.
    pub(crate) given: Vec<Given>,
    /// A line of text for each that is passed over.
    pub(crate) ignored: Vec<String>,
}

/// Reads the args behind `invar serve`. `kind` says which names there are.
///
/// # Errors
/// A word that is no option, an option without its value, or a file that cannot be read: one line of text.
pub(crate) fn read(args: &[String], kind: impl Fn(&str) -> Option<Kind>) -> Result<Read, String> {
    let mut line = Vec::new();
    let mut file = None;
    let mut args = args.iter().peekable();
    while let Some(word) = args.next() {
        let long = match word.as_str() {
            "-P" => "--port",
            "-h" => "--datadir",
            word => word,
        };
        let Some(body) = long.strip_prefix("--").filter(|body| !body.is_empty()) else {
            return Err(format!("unexpected argument '{word}'"));
        };
        let mut given = one(body, "command line");
        if !body.contains('=')
            && kind(&given.name) == Some(Kind::Value)
            && given.value == "ON"
            && !body.starts_with("enable")
        {
            match args.next() {
                Some(value) => given.value.clone_from(value),
                None => return Err(format!("option '{word}' needs a value")),
            }
        }
        if given.name == "defaults_file" {
            file = Some(PathBuf::from(&given.value));
        } else {
            line.push(given);
        }
    }
    let mut all = Vec::new();
    if let Some(path) = file {
        read_file(&path, 0, &mut all)?;
    }
    all.extend(line);
    let mut read = Read::default();
    for given in all {
        let unknown = || format!("unknown option '{}' ({})", given.name.replace('_', "-"), given.source);
        match kind(&given.name) {
            Some(_) => read.given.push(given),
            None if given.is_loose => {}
            None if given.is_of_file => read.ignored.push(unknown()),
            None => return Err(unknown()),
        }
    }
    Ok(read)
}

/// Takes one `name`, `name=value`, with its prefixes.
fn one(body: &str, source: &str) -> Given {
    let (name, value) = match body.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (body, None),
    };
    let mut name = name.trim().replace('-', "_").to_ascii_lowercase();
    let mut is_loose = false;
    if let Some(rest) = name.strip_prefix("loose_") {
        (name, is_loose) = (rest.to_owned(), true);
    }
    let mut default = "ON";
    for (prefix, means) in [("skip_", "OFF"), ("disable_", "OFF"), ("enable_", "ON")] {
        // Some names start so by themselves, and these count as they are.
        if let Some(rest) = name.strip_prefix(prefix)
            && !matches!(
                rest,
                "networking" | "name_resolve" | "grant_tables" | "show_database" | "external_locking"
            )
        {
            (name, default) = (rest.to_owned(), means);
            break;
        }
    }
    Given {
        name,
        value: value.unwrap_or_else(|| default.to_owned()),
        is_loose,
        is_of_file: false,
        source: source.to_owned(),
    }
}

fn read_file(path: &Path, depth: usize, all: &mut Vec<Given>) -> Result<(), String> {
    if depth > INCLUDE_DEPTH_MAX {
        return Err(format!("{}: too many files include each other", path.display()));
    }
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut is_ours = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let at = || format!("{}:{}", path.display(), number + 1);
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            let Some(name) = section.split(']').next().filter(|_| section.contains(']')) else {
                return Err(format!("{}: a section without ']'", at()));
            };
            is_ours = SECTIONS.contains(&name.trim());
        } else if let Some(include) = line.strip_prefix("!includedir") {
            let folder = relative(path, include.trim());
            let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
                .map_err(|error| format!("{}: cannot read {}: {error}", at(), folder.display()))?
                .filter_map(|entry| entry.ok().map(|entry| entry.path()))
                .filter(|path| path.extension().is_some_and(|extension| extension == "cnf"))
                .collect();
            files.sort();
            for file in files {
                read_file(&file, depth + 1, all)?;
            }
        } else if let Some(include) = line.strip_prefix("!include") {
            read_file(&relative(path, include.trim()), depth + 1, all)?;
        } else if is_ours {
            let mut given = one(line.split_once('=').map_or_else(|| uncommented(line), |_| line), &at());
            given.is_of_file = true;
            if line.contains('=') {
                given.value = file_value(&given.value);
            }
            all.push(given);
        }
    }
    Ok(())
}

fn relative(file: &Path, other: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).join(other)
}

fn uncommented(line: &str) -> &str {
    line.split(" #").next().unwrap_or(line).trim_end()
}

/// A value in a file: without the comment behind it and the quotes around it, escapes replaced.
fn file_value(text: &str) -> String {
    let text = text.trim();
    let inner = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => match text[1..].find(quote) {
            Some(end) => &text[1..=end],
            None => text,
        },
        _ => uncommented(text),
    };
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('s') => out.push(' '),
            Some(c @ ('\\' | '"' | '\'')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

/// The last value given for any of these names.
pub(crate) fn last<'a>(given: &'a [Given], names: &[&str]) -> Option<&'a str> {
    given.iter().rev().find(|one| names.contains(&one.name.as_str())).map(|one| one.value.as_str())
}

/// What `text` says about a flag.
///
/// # Errors
/// If it says neither.
pub(crate) fn flag(name: &str, text: &str) -> Result<bool, String> {
    match text.to_ascii_uppercase().as_str() {
        "ON" | "1" | "TRUE" | "YES" | "" => Ok(true),
        "OFF" | "0" | "FALSE" | "NO" => Ok(false),
        _ => Err(format!("option '{}' is ON or OFF, not '{text}'", name.replace('_', "-"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<Kind> {
        match name {
            "port" | "datadir" | "socket" | "sql_mode" | "defaults_file" | "init_connect" => {
                Some(Kind::Value)
            }
            "general_log" | "skip_networking" | "ssl" => Some(Kind::Flag),
            _ => None,
        }
    }

    fn args(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    fn pairs(given: &[Given]) -> Vec<(&str, &str)> {
        given.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect()
    }

    #[test]
    fn the_command_line_is_read_as_mysql_reads_it() {
        let given = read(
            &args("--port 3307 --datadir=/d --general-log --skip-ssl --loose-nothing=1 -P 4 --skip-networking --sql_mode="),
            kind,
        )
        .expect("valid")
        .given;
        assert_eq!(
            pairs(&given),
            [
                ("port", "3307"),
                ("datadir", "/d"),
                ("general_log", "ON"),
                ("ssl", "OFF"),
                ("port", "4"),
                ("skip_networking", "ON"),
                ("sql_mode", "")
            ]
        );
        assert_eq!(last(&given, &["port"]), Some("4"));
        for (text, error) in [
            ("--prot=1", "unknown option 'prot' (command line)"),
            ("--port", "option '--port' needs a value"),
            ("start", "unexpected argument 'start'"),
            (
                "--defaults-file=/no/such/file",
                "cannot read /no/such/file: No such file or directory (os error 2)",
            ),
        ] {
            assert_eq!(read(&args(text), kind), Err(error.to_owned()));
        }
        assert_eq!(flag("ssl", "off"), Ok(false));
        assert_eq!(flag("ssl", "maybe"), Err("option 'ssl' is ON or OFF, not 'maybe'".to_owned()));
    }

    #[test]
    fn a_file_gives_its_sections_for_us_and_the_command_line_wins() {
        let folder = tempfile::tempdir().expect("a folder");
        let main = folder.path().join("my.cnf");
        std::fs::write(
            &main,
            "# comment\n[client]\nport=1\n[mysqld]\nport = 2 # not 3\nskip-ssl\nsocket='/a b'\ninit_connect=\"x#y\\n\"\n!include more.cnf\n",
        )
        .expect("written");
        std::fs::write(folder.path().join("more.cnf"), "[server]\ngeneral-log=1\nloose_other=7\n")
            .expect("written");
        let line = format!("--port=9 --defaults-file={}", main.display());
        let given = read(&args(&line), kind).expect("valid").given;
        assert_eq!(
            pairs(&given),
            [
                ("port", "2"),
                ("ssl", "OFF"),
                ("socket", "/a b"),
                ("init_connect", "x#y\n"),
                ("general_log", "1"),
                ("port", "9")
            ]
        );
        std::fs::write(&main, "[mysqld]\nnonsense=1\n").expect("written");
        let passed = read(&args(&line), kind).expect("an unknown name in a file is no error");
        assert_eq!(passed.ignored, [format!("unknown option 'nonsense' ({}:2)", main.display())]);
        assert_eq!(pairs(&passed.given), [("port", "9")]);
        std::fs::write(&main, "!include my.cnf\n").expect("written");
        assert!(read(&args(&line), kind).unwrap_err().ends_with("include each other"));
    }
}
