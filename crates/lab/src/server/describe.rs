//! What a server is: product, version, process and settings.

use std::collections::BTreeMap;

use client::{Connection, Error, Options};

use super::{ask_if_allowed, ask_one, variables};
use crate::evidence::{self, Flavour};
use crate::host::locate::{self, Located};

/// A server under test. Holds no connection: a description stays true while connections come and go.
#[derive(Clone, Debug)]
pub struct UnderTest {
    /// What the user calls it.
    pub name: String,
    /// How to connect; with the password, so never printed.
    pub options: Options,
    /// Who makes it.
    pub flavour: Flavour,
    /// `@@version`, such as `9.7.4-2` or `11.8.3-MariaDB`.
    pub version: String,
    /// `@@version_comment`.
    pub version_comment: String,
    /// `@@version_compile_machine`, `@@version_compile_os` and the like, where it has them.
    pub build: BTreeMap<String, String>,
    /// Its process, if it runs here; otherwise why that is not known.
    pub process: Result<Located, String>,
    /// The variables of [`variables::THAT_MATTER`] that it has.
    pub variables: BTreeMap<String, String>,
    /// What tells it from any other server, for the journal of variables.
    pub identity: String,
}

impl UnderTest {
    /// Asks a server what it is. Changes nothing.
    ///
    /// # Errors
    /// The connection's. A question the server refuses leaves its field empty.
    pub fn describe(name: &str, options: &Options, connection: &mut Connection) -> Result<UnderTest, Error> {
        let version = ask_one(connection, "SELECT VERSION()")?.unwrap_or_default();
        let comment = ask_if_allowed(connection, "SELECT @@version_comment")?.unwrap_or_default();
        let mut build = BTreeMap::new();
        for what in ["version_compile_machine", "version_compile_os", "version_source_revision"] {
            if let Some(value) = ask_if_allowed(connection, &format!("SELECT @@{what}"))? {
                build.insert(what.to_owned(), value);
            }
        }
        let pid_file = ask_if_allowed(connection, "SELECT @@pid_file")?;
        Ok(UnderTest {
            name: name.to_owned(),
            options: options.clone(),
            flavour: flavour(&version, &comment),
            version,
            version_comment: comment,
            build,
            process: locate::locate(&options.address, pid_file.as_deref()),
            variables: variables::read(connection)?,
            identity: identity(connection, options)?,
        })
    }

    /// Version as numbers, such as (9, 7, 4); zeros where it has none.
    #[must_use]
    pub(crate) fn version_numbers(&self) -> (u32, u32, u32) {
        let mut numbers =
            self.version.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        (next(), next(), next())
    }

    /// Number of its process, if it runs here.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().ok().map(|process| process.pid)
    }

    /// The record of it for the evidence.
    #[must_use]
    pub fn record(&self) -> evidence::Server {
        evidence::Server {
            name: self.name.clone(),
            url: url_without_password(&self.options),
            flavour: self.flavour,
            version: self.version.clone(),
            version_comment: self.version_comment.clone(),
            build: self.build.clone(),
            pid: self.pid(),
            variables: self.variables.clone(),
        }
    }
}

/// Who makes a server, by what it says of itself.
#[must_use]
pub fn flavour(version: &str, comment: &str) -> Flavour {
    let says = |word: &str| {
        version.to_ascii_lowercase().contains(word) || comment.to_ascii_lowercase().contains(word)
    };
    // Those that only speak MySQL's protocol say `5.7.x` or `8.0.x` too: they are asked for first.
    let others =
        ["tidb", "proxysql", "shardingsphere", "vitess", "oceanbase", "doris", "starrocks", "singlestore"];
    if says("mariadb") {
        Flavour::Mariadb
    } else if says("invar") {
        Flavour::Invar
    } else if says("percona") {
        Flavour::Percona
    } else if others.iter().any(|name| says(name))
        || !version.starts_with(|letter: char| letter.is_ascii_digit())
    {
        Flavour::Other
    } else {
        Flavour::Mysql
    }
}

/// What stays the same while a server runs and after it was restarted, and is another one for its neighbour.
fn identity(connection: &mut Connection, options: &Options) -> Result<String, Error> {
    let mut parts = Vec::new();
    for what in ["server_uuid", "server_uid", "hostname", "port", "datadir"] {
        if let Some(value) = ask_if_allowed(connection, &format!("SELECT @@GLOBAL.{what}"))? {
            parts.push(format!("{what}={value}"));
        }
    }
    if parts.is_empty() {
        parts.push(url_without_password(options));
    }
    Ok(parts.join(" "))
}

/// Where and as whom, fit for print.
#[must_use]
pub fn url_without_password(options: &Options) -> String {
    let place = match &options.address {
        client::Address::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        client::Address::Tcp { host, port } => format!("{host}:{port}"),
        client::Address::Unix(path) => path.display().to_string().replace('/', "%2F"),
    };
    format!("mysql://{}@{place}", options.user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flavours_are_distinguished() {
        for (version, comment, expected) in [
            ("9.7.4-2", "(Debian)", Flavour::Mysql),
            ("5.6.24", "MySQL Community Server (GPL)", Flavour::Mysql),
            ("11.8.3-MariaDB-1+b1", "Debian -- ", Flavour::Mariadb),
            ("8.0.36-28", "Percona Server (GPL), Release 28", Flavour::Percona),
            ("8.4.0", "Invar", Flavour::Invar),
            ("8.0.11-TiDB-v8.1.0", "TiDB Server", Flavour::Other),
            ("5.5.30", "(ProxySQL)", Flavour::Other),
            ("", "", Flavour::Other),
        ] {
            assert_eq!(flavour(version, comment), expected, "{version} {comment}");
        }
    }

    #[test]
    fn a_url_is_printed_without_its_password() {
        let print = |url| url_without_password(&Options::from_url(url).unwrap());
        assert_eq!(print("mysql://peer:secret@127.0.0.1:23097/x"), "mysql://peer@127.0.0.1:23097");
        assert_eq!(print("mysql://root:secret@%2Ftmp%2Fsock"), "mysql://root@%2Ftmp%2Fsock");
    }
}
