//! The lab against a real server: what it finds out, and global variables that come back after every kind of end.

mod harness;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use client::{Connection, Options};
use harness::Server;
use lab::evidence::Flavour;
use lab::server::UnderTest;
use lab::server::journal::{self, GlobalChanges, Outcome, Value};
use lab::server::status::{Footprint, Snapshot};

fn describe(options: &Options) -> UnderTest {
    let mut connection = Connection::connect(options).unwrap();
    UnderTest::describe("it", options, &mut connection).unwrap()
}

fn global(options: &Options, name: &str) -> String {
    let mut connection = Connection::connect(options).unwrap();
    lab::server::ask_one(&mut connection, &format!("SELECT @@GLOBAL.{name}")).unwrap().unwrap()
}

#[test]
fn a_server_is_described_with_its_process() {
    let server = Server::start(&["--skip-ssl"]);
    let found = describe(&server.options());
    assert_eq!(found.flavour, Flavour::Invar);
    let process = found.process.as_ref().expect("it runs here");
    assert_eq!(process.binary.file_name().unwrap(), "invar");
    assert!(found.variables.contains_key("sql_mode"), "{:?}", found.variables);
    assert_eq!(found.identity, describe(&server.options()).identity);

    // The Unix socket leads to the same process.
    let mut options = server.options();
    options.address = client::Address::Unix(server.socket());
    assert_eq!(describe(&options).pid(), found.pid());

    let mut connection = server.root();
    let refused = lab::server::equalise::prepare_session(&found, &mut connection).unwrap();
    assert_eq!(refused, [], "a session is made alike");
    server.stop();
}

#[test]
fn counters_per_operation_leave_out_what_reading_them_costs() {
    let server = Server::start(&["--skip-ssl"]);
    let mut connection = server.root();
    let footprint = Footprint::measure(&mut connection).unwrap();
    let before = Snapshot::take(&mut connection).unwrap();
    for _ in 0..50 {
        connection.run(b"SELECT 1").unwrap();
    }
    let delta = Snapshot::take(&mut connection).unwrap().since(&before).unwrap();
    let per = delta.per_operation(50, &footprint);
    assert_eq!(per.get("Com_select"), Some(&1.0), "{per:?}");
    assert_eq!(per.get("Com_show_status"), None, "the reading itself is no operation: {per:?}");
    server.stop();
}

#[test]
fn variables_come_back_at_the_end_and_by_drop_but_not_over_others() {
    let server = Server::start(&["--skip-ssl"]);
    let options = server.options();
    let folder = tempfile::tempdir().unwrap();
    let it = describe(&options);
    let before = global(&options, "long_query_time");

    let (mut changes, recovered) = GlobalChanges::open(folder.path(), &it).unwrap();
    assert_eq!(recovered, []);
    changes.set("long_query_time", &Value::from("3")).unwrap();
    changes.set("max_connections", &Value::from("77")).unwrap();
    assert!(changes.set("no_such_variable", &Value::from("1")).is_err());
    assert!(changes.set("x; DROP", &Value::from("1")).is_err());
    assert_eq!(global(&options, "max_connections"), "77");
    let journal = changes.journal_path().unwrap().to_owned();
    assert!(!std::fs::read_to_string(&journal).unwrap().contains("password"));
    // Somebody else sets one of them.
    server.root().run(b"SET GLOBAL max_connections = 78").unwrap();
    let outcomes = changes.put_back().unwrap();
    assert!(
        matches!(&outcomes[..], [
        (first, Outcome::SetByOthers(Value::Number(now))),
        (second, Outcome::PutBack(_)),
    ] if first == "max_connections" && now == "78" && second == "long_query_time"),
        "{outcomes:?}"
    );
    assert_eq!(global(&options, "long_query_time"), before);
    assert!(!journal.exists(), "all is settled");

    let (mut changes, _) = GlobalChanges::open(folder.path(), &it).unwrap();
    changes.set("long_query_time", &Value::from("4")).unwrap();
    drop(changes);
    assert_eq!(global(&options, "long_query_time"), before, "an error drops the changes");

    let (mut changes, _) = GlobalChanges::open(folder.path(), &it).unwrap();
    changes.set("long_query_time", &Value::from("5")).unwrap();
    assert_eq!(changes.put_back().unwrap().len(), 1);
    server.stop();
}

/// Run as a child by the test below; alone it does nothing.
#[test]
#[ignore = "a part of another test"]
fn child_that_changes_variables_and_waits() {
    let Ok(url) = std::env::var("INVAR_TEST_URL") else { return };
    let options = Options::from_url(&url).unwrap();
    let folder = std::env::var("INVAR_TEST_FOLDER").unwrap();
    let (mut changes, _) = GlobalChanges::open(folder.as_ref(), &describe(&options)).unwrap();
    changes.set("long_query_time", &Value::from("6")).unwrap();
    changes.set("slow_query_log", &Value::from("ON")).unwrap();
    println!("\nCHANGED");
    std::thread::sleep(harness::ANSWER_TIME_MAX);
}

#[test]
fn after_kill_9_the_next_start_puts_variables_back() {
    let server = Server::start(&["--skip-ssl"]);
    let options = server.options();
    let folder = tempfile::tempdir().unwrap();
    let before = (global(&options, "long_query_time"), global(&options, "slow_query_log"));
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_changes_variables_and_waits", "--ignored", "--nocapture"])
        .env("INVAR_TEST_URL", format!("mysql://root@127.0.0.1:{}", server.port()))
        .env("INVAR_TEST_FOLDER", folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "CHANGED"), "the child came so far");
    assert_eq!(global(&options, "long_query_time").parse(), Ok(6.0));

    let it = describe(&options);
    let mut connection = server.root();
    let early = journal::recover(folder.path(), &it, &mut connection).unwrap();
    assert_eq!(early, [], "its owner lives: hands off");

    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    // Another server at the same folder is none of its business.
    let other = UnderTest { identity: "another".to_owned(), ..it.clone() };
    assert_eq!(journal::recover(folder.path(), &other, &mut connection).unwrap(), []);
    assert_eq!(journal::abandoned(folder.path()).unwrap().len(), 1);

    let (changes, recovered) = GlobalChanges::open(folder.path(), &it).unwrap();
    drop(changes);
    let names: Vec<_> = recovered.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["slow_query_log", "long_query_time"], "last change first");
    assert!(recovered.iter().all(|(_, outcome)| matches!(outcome, Outcome::PutBack(_))), "{recovered:?}");
    assert_eq!((global(&options, "long_query_time"), global(&options, "slow_query_log")), before);
    assert!(journal::abandoned(folder.path()).unwrap().is_empty(), "nothing is left to do");
    server.stop();
}
