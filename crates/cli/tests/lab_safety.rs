//! `invar lab run` that ends badly: whatever happens to it, the server is left as it was, and what was measured is kept.

mod harness;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use client::{Connection, Options};
use harness::Server;
use lab::evidence::Run;

/// Two values of a global variable; the schema holds one small table.
const SCENARIO: &str = r#"
id = "tiny"
claim = "reading a row is slow"
[[table]]
name = "t"
columns = [{ name = "id", type = "INT NOT NULL", fill = { serial = 1 } }]
keys = ["PRIMARY KEY (id)"]
rows = 10
[op]
[[op.statement]]
sql = "SELECT id FROM t WHERE id = ?"
params = [{ uniform = [1, 10] }]
[axes.global]
long_query_time = ["3", "4"]
[load]
mode = "closed"
block_ms = 100
"#;
const LONG_QUERY_TIME: f64 = 10.0;

fn lab(words: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_invar"));
    command.arg("lab").args(words).env("INVAR_LAB_STATE", folder.join("state")).env("TMPDIR", folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn option(server: &Server) -> String {
    format!("--server=it=mysql://root@127.0.0.1:{}", server.port())
}

fn scenario(folder: &Path) -> String {
    let path = folder.join("tiny.toml");
    std::fs::write(&path, SCENARIO).expect("the scenario is written");
    path.to_string_lossy().into_owned()
}

/// A run that is over in seconds.
fn short_run(server: &Server, folder: &Path) -> Command {
    let (scenario, server) = (scenario(folder), option(server));
    let words =
        ["run", "--schema=invar_lab", &scenario, &server, "--time-budget=1", "--rounds=2,2", "--quiet"];
    lab(&words, folder)
}

fn ask(options: &Options, sql: &str) -> Option<String> {
    let mut connection = Connection::connect(options).expect("the server is there");
    lab::server::ask_one(&mut connection, sql).expect("it answers")
}

fn long_query_time(options: &Options) -> f64 {
    ask(options, "SELECT @@GLOBAL.long_query_time").and_then(|text| text.parse().ok()).expect("a number")
}

fn has_schema(options: &Options) -> bool {
    ask(options, "SHOW DATABASES LIKE 'invar\\_lab%'").is_some()
}

/// Starts a run that changes a global variable and waits until it is in its third round.
fn in_the_midst(server: &Server, folder: &Path, json: &str) -> Child {
    let words = [
        "run",
        "--schema=invar_lab",
        &scenario(folder),
        &option(server),
        "--allow-global",
        "--time-budget=60",
        "--rounds=50",
    ];
    let mut child = lab(&words, folder).args(["--json", json]).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(lines.by_ref().any(|line| line.is_ok_and(|line| line.starts_with("round 2"))), "it measures");
    // Nobody may close the pipe it writes to.
    std::thread::spawn(move || lines.for_each(drop));
    assert_ne!(long_query_time(&server.options()), LONG_QUERY_TIME, "the run has set it");
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill is there");
    assert!(sent.success());
}

fn run_of(path: &Path) -> Run {
    Run::from_json(&std::fs::read_to_string(path).expect("the evidence is there")).expect("it is a run")
}

fn failed(status: ExitStatus) -> bool {
    status.code() == Some(2)
}

#[test]
fn ctrl_c_keeps_the_evidence_and_puts_variables_back() {
    let server = Server::start(&["--skip-ssl"]);
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let mut child = in_the_midst(&server, folder.path(), &json.to_string_lossy());
    signal(&child, "-INT");
    assert!(failed(child.wait().expect("it ends")));
    let run = run_of(&json);
    assert!(run.incomplete.is_some_and(|why| why.contains("interrupted")) && run.blocks.len() >= 4);
    assert_eq!(long_query_time(&server.options()), LONG_QUERY_TIME);
    assert!(!has_schema(&server.options()), "the data is gone");
    assert_eq!(lab::server::journal::abandoned(&folder.path().join("state")).expect("it is read").len(), 0);
    server.stop();
}

#[test]
fn after_kill_9_restore_puts_variables_back_and_the_next_run_takes_the_data_away() {
    let server = Server::start(&["--skip-ssl"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = in_the_midst(&server, folder.path(), "/dev/null");
    child.kill().expect("it is killed");
    child.wait().expect("it ends");
    assert_ne!(long_query_time(&server.options()), LONG_QUERY_TIME, "nobody could put it back");
    assert!(has_schema(&server.options()));

    let url = format!("mysql://root@127.0.0.1:{}", server.port());
    let doctor = lab(&["doctor"], folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&doctor.stdout);
    assert!(said.contains("restore"), "the doctor names what was left: {said}");
    let restored = lab(&["restore", "--server", &url], folder.path()).output().expect("it runs");
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert_eq!(long_query_time(&server.options()), LONG_QUERY_TIME);
    let again = lab(&["restore", "--server", &url], folder.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&again.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("no variable was left changed"), "{said}");
    assert!(said.contains("schema invar_lab was left behind by a run"), "{said}");

    let out = short_run(&server, folder.path()).output().expect("it runs");
    assert!(!failed(out.status), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(!has_schema(&server.options()), "the marked schema of the dead run is gone too");
    let after = lab(&["restore", "--server", &url], folder.path()).output().expect("it runs");
    assert!(!String::from_utf8_lossy(&after.stdout).contains("left behind"), "{after:?}");
    server.stop();
}

#[test]
fn a_full_disk_loses_neither_report_nor_evidence() {
    let server = Server::start(&["--skip-ssl"]);
    let folder = tempfile::tempdir().expect("a folder");
    let out = short_run(&server, folder.path()).arg("--json=/dev/full").output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(failed(out.status) && said.lines().count() == 1, "{said}");
    assert!(said.contains("/dev/full: No space left on device"), "{said}");
    assert!(String::from_utf8_lossy(&out.stdout).contains("Verdict"), "the report was shown");
    let kept = said.split("kept in ").nth(1).and_then(|rest| rest.split(" instead").next()).expect("a place");
    assert!(run_of(Path::new(kept)).blocks.len() >= 2);
    assert!(!has_schema(&server.options()));

    // A place that takes nothing is known before anything is measured.
    let nowhere = folder.path().join("none").join("run.json");
    let began = short_run(&server, folder.path()).arg("--html").arg(&nowhere).output().expect("it runs");
    assert!(failed(began.status) && began.stdout.is_empty(), "nothing was run");
    assert!(String::from_utf8_lossy(&began.stderr).contains("No such file or directory"));
    server.stop();
}

#[test]
fn a_user_who_may_not_is_told_what_and_nothing_is_left() {
    let server = Server::start(&["--skip-ssl"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut root = server.root();
    for sql in ["CREATE USER reader IDENTIFIED BY ''", "GRANT SELECT ON *.* TO reader"] {
        root.run(sql.as_bytes()).expect("root may");
    }
    let reader = format!("--server=it=mysql://reader@127.0.0.1:{}", server.port());
    let refused = |words: &[&str], want: &str| {
        let out = lab(words, folder.path()).output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(failed(out.status) && said.lines().count() == 1 && said.contains(want), "{said}");
        assert!(said.contains("server it (mysql://reader@"), "{said}");
    };
    let path = scenario(folder.path());
    refused(&["run", "--schema=invar_lab", &path, &reader, "--quiet"], "denied");
    assert!(!has_schema(&server.options()));
    // One who may make the schema, but not set variables.
    root.run(b"GRANT ALL ON `invar_lab%`.* TO reader").expect("root may");
    refused_or_kept(&path, &reader, folder.path());
    assert_eq!(long_query_time(&server.options()), LONG_QUERY_TIME);
    assert!(!has_schema(&server.options()));
    server.stop();
}

/// SET GLOBAL is refused: the run ends early, names the statement and leaves nothing.
fn refused_or_kept(path: &str, reader: &str, folder: &Path) {
    let words = [
        "run",
        "--schema=invar_lab",
        path,
        reader,
        "--allow-global",
        "--quiet",
        "--time-budget=1",
        "--rounds=2,2",
    ];
    let out = lab(&words, folder).output().expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(failed(out.status), "{said}");
    assert!(said.contains("SET GLOBAL long_query_time") && said.contains("denied"), "{said}");
}
