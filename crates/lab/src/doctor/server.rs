//! What one server lets us see: its process, its functions' names, its counters, its sessions.

use client::{Connection, Error, Options, Tls};

use super::{Check, ServerReport, State};
use crate::evidence::Flavour;
use crate::host::elf::Elf;
use crate::host::process::Sample;
use crate::server::describe::url_without_password;
use crate::server::{UnderTest, ask, ask_if_allowed, journal};

use State::{Limited, Missing, Ready};

pub(super) fn examine(url: &str, with_tls: bool) -> ServerReport {
    let mut options = match Options::from_url(url) {
        Ok(options) => options,
        Err(error) => {
            return ServerReport {
                url: "server".to_owned(),
                error: Some(error.to_string()),
                ..ServerReport::default()
            };
        }
    };
    if with_tls {
        options.tls = Tls::Required(client::unverified_tls());
    }
    let mut report = ServerReport { url: url_without_password(&options), ..ServerReport::default() };
    if let Err(error) = fill(&options, &mut report) {
        report.error = Some(remedy(&error));
    }
    report
}

/// The error, with what to do about it.
fn remedy(error: &Error) -> String {
    let hint = match error {
        Error::Io(_) | Error::TimedOut => "is the server running, and the address right?",
        _ => match error.number() {
            Some(1045) => "user or password is wrong, or the account may not come from this host",
            Some(1044 | 1049) => "leave the database out of the address",
            Some(1040) => "all connections are taken: max_connections",
            Some(1130) => "no account may come from this host",
            Some(3159) => "the server demands TLS: --tls, here and in a run",
            _ => return error.to_string(),
        },
    };
    format!("{error}: {hint}")
}

fn fill(options: &Options, report: &mut ServerReport) -> Result<(), Error> {
    let mut connection = Connection::connect(options)?;
    let server = UnderTest::describe("server", options, &mut connection)?;
    let maker = match server.flavour {
        Flavour::Mysql => "MySQL",
        Flavour::Percona => "Percona Server",
        Flavour::Mariadb => "MariaDB",
        Flavour::Invar => "Invar",
        Flavour::Other => "another server of MySQL's protocol,",
    };
    report.what = format!("{maker} {} {}", server.version, server.version_comment).trim().to_owned();
    report.checks.push(process(&server));
    if let Ok(process) = &server.process {
        report.checks.push(functions(&process.binary));
    }
    report.checks.push(status(&mut connection)?);
    report.checks.push(sessions(&mut connection)?);
    report.checks.push(performance_schema(&mut connection)?);
    report.checks.push(engine_status(&mut connection)?);
    report.checks.push(global_variables(&mut connection, server.flavour)?);
    report.checks.push(own_schema(&mut connection)?);
    connection.quit();
    Ok(())
}

fn process(server: &UnderTest) -> Check {
    let check = |state, found: String| {
        Check::new(
            "process",
            state,
            found,
            "the server's CPU per operation, run-queue time, faults, memory; stacks and call counts",
            "no CPU time, stacks or call counts of the server: wall time and counters only",
            "run the lab on the server's machine as root or as the server's user",
        )
    };
    let process = match &server.process {
        Ok(process) => process,
        Err(why) => return check(Missing, why.clone()),
    };
    let where_it_is = format!("{} ({}), {}", process.pid, process.how, process.binary.display());
    match Sample::take(process.pid) {
        Ok(sample) if sample.threads.is_some() && sample.disk_read_bytes.is_some() => {
            check(Ready, where_it_is)
        }
        Ok(_) => check(Limited, format!("{where_it_is}; not all of its files in /proc are open to us")),
        Err(error) => check(Missing, format!("{where_it_is}: {error}")),
    }
}

fn functions(binary: &std::path::Path) -> Check {
    let check = |state, found: String| {
        Check::new(
            "function names",
            state,
            found,
            "stacks and probes by the names of functions",
            "functions without a name are called after their neighbours (~name+2); they cannot be probed",
            "install the build's debug symbols, or use one that is not stripped",
        )
    };
    let elf = match Elf::open(binary) {
        Ok(elf) => elf,
        Err(error) => return check(Missing, format!("{}: {error}", binary.display())),
    };
    let (named, all) = elf.counts();
    let mut found = format!("{named} of {all} functions");
    if let Some(file) = &elf.debug_file {
        found += &format!(", with {}", file.display());
    } else if let Some(link) = &elf.debug_link {
        found += &format!("; stripped, its debug file {link} is not here");
    }
    let state = match (named, elf.has_all_names) {
        (0, _) => Missing,
        (_, true) => Ready,
        (_, false) => Limited,
    };
    check(state, found)
}

/// Rows as text.
type Rows = Vec<Vec<Option<String>>>;

/// Asks, and says whether the server answered, refused, or does not know.
fn tried(connection: &mut Connection, sql: &str) -> Result<Result<Rows, String>, Error> {
    match ask(connection, sql) {
        Ok(rows) => Ok(Ok(rows)),
        Err(Error::Server(error)) => Ok(Err(error.to_string())),
        Err(error) => Err(error),
    }
}

fn status(connection: &mut Connection) -> Result<Check, Error> {
    let (state, found) = match tried(connection, "SHOW GLOBAL STATUS")? {
        Ok(rows) if rows.len() > 50 => (Ready, format!("{} status values", rows.len())),
        Ok(rows) => (Limited, format!("only {} status values", rows.len())),
        Err(why) => (Missing, why),
    };
    Ok(Check::new(
        "status counters",
        state,
        found,
        "rows read, sorts, temporary tables, syncs per operation",
        "counts inside the server are unknown",
        "5.7 with show_compatibility_56=OFF needs SELECT on performance_schema.global_status",
    ))
}

fn sessions(connection: &mut Connection) -> Result<Check, Error> {
    let right = ask_if_allowed(
        connection,
        "SELECT COUNT(*) FROM information_schema.user_privileges \
         WHERE REPLACE(grantee, '''', '') = CURRENT_USER() AND privilege_type IN ('PROCESS', 'SUPER')",
    )?;
    let (state, found) = match (right.as_deref(), tried(connection, "SHOW PROCESSLIST")?) {
        (_, Err(why)) => (Missing, why),
        (Some("0"), Ok(rows)) => {
            (Limited, format!("{} sessions seen; no PROCESS privilege, so our own only", rows.len()))
        }
        (_, Ok(rows)) => (Ready, format!("{} sessions seen", rows.len())),
    };
    Ok(Check::new(
        "process list",
        state,
        found,
        "who else uses the server while it is measured",
        "others who use the server while it is measured stay unseen",
        "GRANT PROCESS ON *.* TO the lab's account",
    ))
}

fn performance_schema(connection: &mut Connection) -> Result<Check, Error> {
    let on = ask_if_allowed(connection, "SELECT @@performance_schema")?;
    let threads = tried(connection, "SELECT COUNT(THREAD_OS_ID) FROM performance_schema.threads")?;
    let digests =
        tried(connection, "SELECT COUNT(*) FROM performance_schema.events_statements_summary_by_digest")?;
    let count =
        |rows: &[Vec<Option<String>>]| rows.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
    let (state, found) = match (on.as_deref(), &threads, &digests) {
        (Some("0"), ..) => (Missing, "off".to_owned()),
        (_, Ok(threads), Ok(digests)) => (
            Ready,
            format!("{} threads with their number in the kernel, {} digests", count(threads), count(digests)),
        ),
        (_, Err(why), Err(_)) => (Missing, why.clone()),
        (_, Err(why), _) | (_, _, Err(why)) => (Limited, why.clone()),
    };
    Ok(Check::new(
        "performance_schema",
        state,
        found,
        "which kernel thread serves which session; time and rows by digest",
        "threads cannot be distinguished by session; no figures by digest",
        "start the server with performance_schema=ON; GRANT SELECT ON performance_schema.* TO the lab's account",
    ))
}

fn engine_status(connection: &mut Connection) -> Result<Check, Error> {
    let (state, found) = match tried(connection, "SHOW ENGINE INNODB STATUS")? {
        Ok(rows) => {
            let text = rows.first().and_then(|row| row.last().cloned().flatten()).unwrap_or_default();
            match text.lines().find(|line| line.starts_with("History list length")) {
                Some(line) => (Ready, line.to_ascii_lowercase()),
                None => (Limited, "no history list length in it".to_owned()),
            }
        }
        Err(why) => (Missing, why),
    };
    Ok(Check::new(
        "engine status",
        state,
        found,
        "old versions waiting for purge: blocks start from a like state",
        "a block may start while purge still works on the one before",
        "GRANT PROCESS ON *.* TO the lab's account",
    ))
}

fn global_variables(connection: &mut Connection, flavour: Flavour) -> Result<Check, Error> {
    let (state, found) = match journal::may_set_global(connection, flavour)? {
        Some(true) => (Ready, "may be set, with --allow-global".to_owned()),
        Some(false) => (Missing, "the account may not set them".to_owned()),
        None => (Limited, "the account's rights cannot be read".to_owned()),
    };
    Ok(Check::new(
        "global variables",
        state,
        found,
        "logs and syncs made alike; a suspected setting toggled to confirm a cause (put back afterwards)",
        "differences in global settings are named, not removed; such a cause stays unconfirmed",
        "GRANT SYSTEM_VARIABLES_ADMIN (before 8.0, and on MariaDB: SUPER) ON *.* TO the lab's account",
    ))
}

fn own_schema(connection: &mut Connection) -> Result<Check, Error> {
    let right = ask_if_allowed(
        connection,
        "SELECT COUNT(*) FROM information_schema.user_privileges \
         WHERE REPLACE(grantee, '''', '') = CURRENT_USER() AND privilege_type = 'CREATE'",
    )?;
    let (state, found) = match right.as_deref() {
        Some("0") => (Limited, "no CREATE on *.*: name a schema where the account has all rights".to_owned()),
        Some(_) => (Ready, "the account may create a schema for the lab".to_owned()),
        None => (Limited, "the account's rights cannot be read".to_owned()),
    };
    Ok(Check::new(
        "schema of its own",
        state,
        found,
        "scenarios with generated data",
        "scenarios run in a schema you name only",
        "CREATE DATABASE invar_lab; GRANT ALL ON invar_lab.* TO the lab's account",
    ))
}
