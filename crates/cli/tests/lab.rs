//! `invar lab run` as a user starts it: two servers of our own, a tiny scenario, and what it leaves behind.

mod harness;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use harness::Server;
use lab::evidence::Run;

const SCENARIO: &str = r#"
id = "tiny"
claim = "reading a row is slow"
compare_results = true
[[table]]
name = "t"
columns = [
  { name = "id", type = "INT NOT NULL", fill = { serial = 1 } },
  { name = "v", type = "VARCHAR(20)", fill = { text = 8, null_share = 0.1 } },
]
keys = ["PRIMARY KEY (id)"]
rows = 100
[op]
transaction = true
[[op.statement]]
sql = "SELECT v FROM t WHERE id = ?"
params = [{ uniform = [1, 100] }]
[[op.statement]]
sql = "UPDATE t SET v = v WHERE id BETWEEN ? AND ?"
params = [{ uniform = [1, 90] }, { previous_plus = 5 }]
[axes]
protocol = ["prepared", "text"]
[load]
mode = "closed"
connections = 3
block_ms = 100
"#;

fn lab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_invar"));
    command
        .args(["lab", "run", "--schema=invar_lab"])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn option(name: &str, server: &Server) -> String {
    format!("--server={name}=mysql://root@127.0.0.1:{}", server.port())
}

fn evidence(path: &Path) -> Run {
    Run::from_json(&std::fs::read_to_string(path).expect("the run wrote its evidence")).expect("it is a run")
}

#[test]
fn two_servers_are_compared_and_left_as_they_were() {
    let (one, two) = (Server::start(&["--skip-ssl"]), Server::start(&["--skip-ssl"]));
    let folder = tempfile::tempdir().expect("a folder");
    let (scenario, json) = (folder.path().join("tiny.toml"), folder.path().join("run.json"));
    std::fs::write(&scenario, SCENARIO).expect("the scenario is written");
    let out = lab(&[
        &scenario.to_string_lossy(),
        &option("one", &one),
        &option("two", &two),
        "--time-budget=1.5",
        "--rounds=2,2",
        "--json",
        &json.to_string_lossy(),
    ])
    .output()
    .expect("it runs");
    let said = String::from_utf8_lossy(&out.stdout);
    // Two rounds settle nothing: any word but a failure is fine.
    assert!(
        matches!(out.status.code(), Some(0 | 1 | 3)),
        "{:?} {said} {}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(said.contains("one/prepared") && said.contains("two/text"), "{said}");
    let run = evidence(&json);
    assert_eq!((run.arms.len(), run.servers.len(), run.incomplete.clone()), (5, 2, None));
    for (arm, twin) in run.arms.iter().enumerate().map(|(index, arm)| (index, arm.same_as.is_some())) {
        let blocks: Vec<_> = run.blocks.iter().filter(|block| block.arm == arm).collect();
        assert_eq!(blocks.len(), 2, "arm {arm}, twin: {twin}");
        for block in blocks {
            assert!(block.operations > 0 && block.errors.is_empty(), "{block:?}");
            assert_eq!(block.statements, block.operations * 4, "BEGIN, two statements, COMMIT");
            assert_eq!(block.rows_per_op, 1.0);
            assert!(block.server_cpu_ns_per_op.is_some_and(|ns| ns > 0.0), "{block:?}");
            assert_eq!(block.latency.count, block.operations);
        }
    }
    assert_eq!(run.servers[0].flavour, lab::evidence::Flavour::Invar);
    assert!(run.verdict.is_some_and(|verdict| !verdict.has_result_mismatch));
    for server in [one, two] {
        let mut root = server.root();
        let mut answer = root.query(b"SHOW DATABASES LIKE 'invar\\_lab%'").expect("it is asked");
        assert!(answer.next_result().expect("it answers"));
        assert!(answer.next_row().expect("it answers").is_none(), "the lab's schema is gone");
    }
}

#[test]
fn what_goes_wrong_is_one_line_and_keeps_the_evidence() {
    let folder = tempfile::tempdir().expect("a folder");
    let json = folder.path().join("run.json");
    let one_line = |words: &[&str], want: &str| {
        let out = lab(words).arg("--quiet").output().expect("it runs");
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains(want), "{said}");
    };
    let server = Server::start(&["--skip-ssl"]);
    let good = option("good", &server);
    one_line(
        &["join", "--server=a=mysql://root@127.0.0.1:1"],
        "server a (mysql://root@127.0.0.1:1): cannot connect",
    );
    one_line(
        &["join", &format!("--server=a=mysql://root:wrong@127.0.0.1:{}", server.port())],
        "Access denied",
    );
    let bad = folder.path().join("bad.toml");
    std::fs::write(&bad, SCENARIO.replace("rows = 100", "rows = \"many\"")).expect("it is written");
    one_line(&[&bad.to_string_lossy(), &good], "line 12, key table.rows: unknown size 'many'");
    server.root().run(b"CREATE DATABASE mine").expect("root may");
    server.root().run(b"CREATE TABLE mine.t (a INT)").expect("root may");
    one_line(&["join", &good, "--schema=mine"], "schema mine exists and is not the lab's");

    // The server is killed between two blocks or in one: what was measured stays.
    let mut child = lab(&[
        "point-select",
        &good,
        "--no-twin",
        "--time-budget=60",
        "--rounds=50",
        "--json",
        &json.to_string_lossy(),
    ])
    .spawn()
    .expect("it runs");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    assert!(lines.by_ref().any(|line| line.is_ok_and(|line| line.starts_with("round 2"))), "it measures");
    drop(server);
    let last = lines.map_while(Result::ok).last().unwrap_or_default();
    assert_eq!(child.wait().expect("it ends").code(), Some(2), "{last}");
    assert!(last.contains("the run ended early"), "{last}");
    let run = evidence(&json);
    assert!(run.incomplete.is_some_and(|why| why.contains("server good")) && run.blocks.len() >= 2);
}

#[test]
fn a_bench_appends_to_its_history_and_draws_it() {
    let (one, two) = (Server::start(&["--skip-ssl"]), Server::start(&["--skip-ssl"]));
    let folder = tempfile::tempdir().expect("a folder");
    let (history, page) = (folder.path().join("history.jsonl"), folder.path().join("history.html"));
    let bench = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_invar"));
        command
            .args(["lab", "bench", "--schema=invar_lab", "--quiet", "--commit=abc", "--history"])
            .arg(&history)
            .arg("--page")
            .arg(&page);
        command.args(more).output().expect("it runs")
    };
    for run in 1..=2 {
        let out =
            bench(&[&option("ours", &one), &option("theirs", &two), "--only=insert", "--time-budget=1.5"]);
        let said = String::from_utf8_lossy(&out.stdout);
        // One of two alike may come out slower by chance in a run this short.
        assert!(matches!(out.status.code(), Some(0 | 1)), "{said}{}", String::from_utf8_lossy(&out.stderr));
        assert!(said.contains("insert/1 ") && said.contains("insert/16 "), "{said}");
        let (rows, bad) = lab::bench::row::read(&history).expect("the history is there");
        assert_eq!((rows.len(), bad.len()), (run, 0));
        let row = &rows[run - 1];
        assert_eq!((row.commit.as_str(), row.figures.len(), row.incomplete.len()), ("abc", 4, 0));
        assert!(row.figures.iter().all(|figure| figure.cpu_us.is_some_and(|us| us > 0.0)), "{row:?}");
        assert_eq!(
            (row.set.as_str(), row.machine.as_str()),
            (rows[0].set.as_str(), rows[0].machine.as_str())
        );
        assert_eq!(row.servers[0].configuration, rows[0].servers[0].configuration);
    }
    let drawn = std::fs::read_to_string(&page).expect("the page is there");
    assert!(drawn.contains("2 runs drawn") && drawn.contains("insert/16"), "{drawn}");
    std::fs::remove_file(&page).expect("it is there");
    assert!(bench(&[]).status.success() && page.exists(), "drawn again without a run");
}
