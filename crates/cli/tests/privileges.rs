//! The privilege matrix: every kind of statement by accounts that hold one privilege each, compared with a MySQL 9.7's answers.
//!
//! `privileges/accounts.txt` names the accounts, `privileges/fixture.sql` makes what they work on, once for each account, and
//! `privileges/matrix.txt` holds the statements with the answers of MySQL 9.7 and who got them. `privileges/differences.txt` names the
//! statements that Invar answers otherwise, each with its reason and Invar's answers. `INVAR_ORACLE=mysql://...` compares the
//! stored answers with a MySQL 9.7 (which is to be used by nobody else meanwhile), and writes them with `INVAR_REWRITE=1`;
//! without an oracle `INVAR_REWRITE=1` writes `differences.txt`. `INVAR_ACCOUNT=NAME` tries one account only and writes nothing.

mod harness;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use client::{Connection, Error, Options};

/// What Invar answers of things that it does not have: a statement, a system table, a system variable.
const MISSING: [&str; 4] = ["ERROR 1235 ", "ERROR 1109 ", "ERROR 1146 ", "ERROR 1193 "];

/// An account and what root runs to make it.
struct Account {
    name: String,
    grants: Vec<String>,
}

/// A statement, how its effects are undone, and the answers with the names of the accounts that got them.
#[derive(Clone, Default)]
struct Trial {
    /// Comments and blank lines above it.
    head: String,
    sql: String,
    undo: Vec<String>,
    then: Vec<String>,
    except: Vec<String>,
    unsupported: bool,
    /// Answer to the names of accounts; `*` are all others.
    answers: BTreeMap<String, Vec<String>>,
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/privileges").join(name)
}

fn read(name: &str) -> String {
    let path = file(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn statements(text: &str) -> Vec<String> {
    text.split(';').map(str::trim).filter(|sql| !sql.is_empty()).map(str::to_owned).collect()
}

fn accounts() -> Vec<Account> {
    let text = read("accounts.txt");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let accounts = lines.map(|line| {
        let (name, grants) = line.split_once(':').unwrap_or_else(|| panic!("no colon: {line}"));
        Account { name: name.to_owned(), grants: statements(grants) }
    });
    let only = std::env::var("INVAR_ACCOUNT").ok();
    accounts.filter(|account| only.as_ref().is_none_or(|only| *only == account.name)).collect()
}

fn fixture() -> Vec<String> {
    let text = read("fixture.sql");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    statements(&lines.join("\n"))
}

/// Trials of a file, and what stands below the last.
fn parse(text: &str) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    let mut head = String::new();
    for line in text.lines() {
        let names = |list: &str| list.split(" | ").map(str::to_owned).collect::<Vec<_>>();
        if line.is_empty() || line.starts_with('#') {
            let _ = writeln!(head, "{line}");
        } else if let Some(sql) = line.strip_prefix("> ") {
            trials.push(Trial { head: std::mem::take(&mut head), sql: sql.to_owned(), ..Trial::default() });
        } else {
            let trial = trials.last_mut().unwrap_or_else(|| panic!("no statement above: {line}"));
            if let Some(undo) = line.strip_prefix("undo: ") {
                trial.undo = statements(undo);
            } else if let Some(then) = line.strip_prefix("then: ") {
                trial.then = statements(then);
            } else if let Some(except) = line.strip_prefix("except: ") {
                trial.except = names(except);
            } else if line == "unsupported" {
                trial.unsupported = true;
            } else {
                let (answer, who) = line.trim().rsplit_once(" <- ").unwrap_or_else(|| panic!("odd: {line}"));
                trial.answers.insert(answer.to_owned(), names(who));
            }
        }
    }
    trials
}

fn print(trials: &[Trial]) -> String {
    let mut text = String::new();
    for trial in trials {
        let _ = writeln!(text, "{}> {}", trial.head, trial.sql);
        if trial.unsupported {
            text.push_str("unsupported\n");
        }
        for (word, list, separator) in
            [("undo", &trial.undo, "; "), ("then", &trial.then, "; "), ("except", &trial.except, " | ")]
        {
            if !list.is_empty() {
                let _ = writeln!(text, "{word}: {}", list.join(separator));
            }
        }
        for (answer, who) in &trial.answers {
            let _ = writeln!(text, "    {answer} <- {}", who.join(" | "));
        }
    }
    text
}

/// Answers by account as answers with accounts, the most frequent one for `*`.
fn gathered(by_account: &[(String, String)]) -> BTreeMap<String, Vec<String>> {
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (account, answer) in by_account {
        answers.entry(answer.clone()).or_default().push(account.clone());
    }
    let most = answers.values().map(Vec::len).max().unwrap_or_default();
    if let Some(who) = answers.values_mut().find(|who| who.len() == most) {
        *who = vec!["*".to_owned()];
    }
    answers
}

/// What an account is answered, of gathered answers.
fn answer_of<'a>(answers: &'a BTreeMap<String, Vec<String>>, account: &str) -> Option<&'a str> {
    let named = |name: &str| answers.iter().find(|(_, who)| who.iter().any(|who| who == name));
    named(account).or_else(|| named("*")).map(|(answer, _)| answer.as_str())
}

fn open(options: &Options, user: &str, password: &str) -> Connection {
    let mut options = options.clone();
    options.user = user.to_owned();
    options.password = password.as_bytes().to_vec();
    options.local_files = true;
    Connection::connect(&options).unwrap_or_else(|error| panic!("{user}: {error}"))
}

/// Ends a connection and waits until the server lists it no more: a busy one sees that it is closed later than the next statement.
fn end(root: &mut Connection, ended: Connection) {
    let sql =
        format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {}", ended.connection_id());
    ended.quit();
    for _ in 0..1000 {
        if answer(root, &sql).expect("the process list") == "rows [0]" {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("the server still lists a connection that has ended");
}

fn must(connection: &mut Connection, sql: &str) {
    connection.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The answer on one line: `ok`, rows, or the error.
fn answer(connection: &mut Connection, sql: &str) -> Result<String, Error> {
    let mut text = String::from("ok");
    let mut answer = connection.query(sql.as_bytes())?;
    while answer.next_result()? {
        if !answer.has_rows() {
            continue;
        }
        text.clear();
        text.push_str("rows");
        // Estimates, dates, hashes and the like differ between servers.
        let hidden = ["EXPLAIN", "Cardinality", "File", "Position", "Executed_Gtid_Set", "Status", "Name"];
        let columns: Vec<String> =
            answer.columns().iter().map(|column| String::from_utf8_lossy(column.name).into_owned()).collect();
        let is_plan = sql.starts_with("EXPLAIN")
            && sql.contains(' ')
            && columns.first().is_some_and(|name| name == "id" || name == "EXPLAIN");
        while let Some(row) = answer.next_row()? {
            let shown = row.columns();
            let cells: Vec<String> = row
                .cells()
                .zip(shown.iter())
                .map(|(cell, column)| {
                    let mut bytes = Vec::new();
                    let name = String::from_utf8_lossy(column.name);
                    if is_plan || hidden.contains(&&*name) {
                        return "...".to_owned();
                    }
                    if !cell.write_text(&column, &mut bytes) {
                        return "NULL".to_owned();
                    }
                    String::from_utf8_lossy(&bytes).replace('\n', " ")
                })
                .collect();
            let _ = write!(text, " [{}]", cells.join(", "));
        }
    }
    Ok(text)
}

/// Names of hosts, users and connections differ between servers and runs.
fn comparable(text: &str, administrator: &str, connections: &[(&str, u32)]) -> String {
    let mut text = text.replace("@'localhost'", "@'client'").replace("@'127.0.0.1'", "@'client'");
    text = text.replace(&format!("`{administrator}`@`localhost`"), "`administrator`@`client`");
    text = text.replace(&format!("`{administrator}`@`127.0.0.1`"), "`administrator`@`client`");
    text = text.replace(&format!("`{administrator}`@`%`"), "`administrator`@`client`");
    if let Some((before, rest)) = text.split_once(" AS '$A$")
        && let Some(after) = rest.find("' REQUIRE")
    {
        text = format!("{before} AS '...{}", &rest[after..]);
    }
    for (name, id) in connections {
        text = text.replace(&format!("thread {id}"), &format!("thread {name}"));
    }
    text
}

/// Runs all trials as all accounts on one server: answers by trial, each with the account's name.
fn run(options: &Options, trials: &[Trial]) -> Vec<Vec<(String, String)>> {
    let administrator = options.user.clone();
    let mut root = Connection::connect(options).expect("the administrator is let in");
    let mut answers: Vec<Vec<(String, String)>> = vec![Vec::new(); trials.len()];
    let fixture = fixture();
    for account in accounts() {
        for sql in fixture.iter().chain(&account.grants) {
            must(&mut root, sql);
        }
        let plain = open(options, "pm_plain", "plain");
        let idle = Connection::connect(options).expect("the administrator is let in");
        let mut session = open(options, "m", "");
        for (trial, answers) in trials.iter().zip(&mut answers) {
            if trial.except.contains(&account.name) {
                continue;
            }
            if session.is_broken() {
                end(&mut root, session);
                session = open(options, "m", "");
            }
            session.set_local_file(Some(Box::new(|_| Ok(Box::new(&b"9\t9\tn\n"[..])))));
            let connections = [
                ("{plain}", plain.connection_id()),
                ("{root}", idle.connection_id()),
                ("{own}", session.connection_id()),
            ];
            let mut sql = trial.sql.clone();
            for (name, id) in connections {
                sql = sql.replace(name, &id.to_string());
            }
            let answer = match answer(&mut session, &sql) {
                Ok(answer) => {
                    for undo in &trial.undo {
                        must_undo(&mut root, undo, &account.name, &trial.sql);
                    }
                    answer
                }
                Err(error) => error.to_string(),
            };
            for then in &trial.then {
                let _ = session.run(then.as_bytes()); // The statement may have failed, and this with it.
            }
            if trial.sql.starts_with("USE ") || trial.sql.starts_with("SET ROLE ") {
                // A session without a current database and with its default roles again.
                end(&mut root, session);
                session = open(options, "m", "");
            }
            answers.push((account.name.clone(), comparable(&answer, &administrator, &connections)));
        }
        for ended in [session, plain, idle] {
            end(&mut root, ended);
        }
    }
    for sql in fixture.iter().filter(|sql| sql.starts_with("DROP")) {
        must(&mut root, sql);
    }
    answers
}

fn must_undo(root: &mut Connection, sql: &str, account: &str, after: &str) {
    let done = root.run(sql.as_bytes());
    // What cannot be done cannot have to be undone.
    if let Err(error) = done
        && error.number() != Some(1235)
    {
        panic!("undoing {after} of {account}: {sql}: {error}");
    }
}

/// Lines that say which account is answered `ours` instead of `theirs`.
fn compare(trial: &Trial, ours: &[(String, String)], wrong: &mut String) {
    let mut lines: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (account, answer) in ours {
        let stored = answer_of(&trial.answers, account).unwrap_or("(nothing)");
        if stored != answer {
            lines.entry((answer.clone(), stored.to_owned())).or_default().push(account.clone());
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(wrong, "> {}", trial.sql);
    }
    for ((answer, stored), who) in lines {
        let _ = writeln!(wrong, "    is     {answer}\n    not    {stored}\n    for    {}", who.join(" | "));
    }
}

#[test]
fn privilege_matrix() {
    let mut trials = parse(&read("matrix.txt"));
    let mut differences = parse(&read("differences.txt"));
    let rewrite = script::is_rewriting();
    let mut wrong = String::new();

    if let Some(oracle) = harness::oracle("INVAR_ORACLE") {
        // Nothing here writes a binary log, for whose sake 9.7 refuses triggers and functions of accounts without SUPER (1419).
        let mut root = Connection::connect(&oracle).expect("the administrator is let in");
        must(&mut root, "SET GLOBAL log_bin_trust_function_creators = 1");
        let answers = run(&oracle, &trials);
        must(&mut root, "SET GLOBAL log_bin_trust_function_creators = DEFAULT");
        for (trial, answers) in trials.iter_mut().zip(&answers) {
            if rewrite {
                trial.answers = gathered(answers);
            } else {
                compare(trial, answers, &mut wrong);
            }
        }
        if rewrite {
            std::fs::write(file("matrix.txt"), print(&trials)).expect("the folder takes files");
        }
        assert!(wrong.is_empty(), "the oracle does not answer what is stored:\n{wrong}");
    }

    let server = harness::Server::start(&["--skip-ssl", "--local-infile=1"]);
    let ours = run(&server.options(), &trials);
    let mut written = Vec::new();
    for (trial, ours) in trials.iter().zip(&ours) {
        if trial.unsupported {
            // The account is refused as by MySQL, or told that there is no such thing.
            let missing = |answer: &str| MISSING.iter().any(|number| answer.starts_with(number));
            let others: Vec<_> = ours.iter().filter(|(_, answer)| !missing(answer)).cloned().collect();
            compare(trial, &others, &mut wrong);
            continue;
        }
        let mut differs = String::new();
        compare(trial, ours, &mut differs);
        let known = differences.iter_mut().find(|known| known.sql == trial.sql);
        if differs.is_empty() {
            if known.is_some() && !rewrite {
                let _ = writeln!(
                    wrong,
                    "> {}\n    equals MySQL's answers and still stands in differences.txt",
                    trial.sql
                );
            }
            continue;
        }
        if rewrite {
            let head = known.map_or_else(|| "# REASON\n".to_owned(), |known| known.head.clone());
            let (sql, answers) = (trial.sql.clone(), gathered(ours));
            written.push(Trial { head, sql, answers, ..Trial::default() });
        } else if let Some(known) = known {
            compare(known, ours, &mut wrong);
        } else {
            wrong.push_str(&differs);
        }
    }
    if rewrite && std::env::var_os("INVAR_ACCOUNT").is_none() {
        std::fs::write(file("differences.txt"), print(&written)).expect("the folder takes files");
    }
    assert!(wrong.is_empty(), "other answers than MySQL's:\n{wrong}");
}
