//! Stacks and call counts of a real server on this machine, named by `INVAR_LAB_SERVER`; left out loudly without one.

use std::time::Duration;

use client::{Connection, Options};
use lab::host::elf::Elf;
use lab::host::probes::{Caps, Counting, resolve};
use lab::host::process::Sample;
use lab::host::stacks::diff::{Side, functions, tree};
use lab::host::stacks::flame::{Unit, flame_graph};
use lab::host::stacks::folded::STATEMENT_ANCHORS;
use lab::host::stacks::record::{Recording, Unwind};
use lab::host::tool::Tools;
use lab::server::UnderTest;

/// The test harness would keep what `eprintln` says of a test that passes.
fn left_out(why: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("LEFT OUT: {why}\n").as_bytes()).unwrap();
}

/// `INVAR_LAB_SQL` is run, and the function `INVAR_LAB_FUNCTION` counted; the picture goes to `INVAR_LAB_SVG`.
#[test]
fn a_server_is_counted_and_profiled() {
    let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let url = variable("INVAR_LAB_SERVER", "");
    if url.is_empty() {
        left_out(
            "stacks and counts: INVAR_LAB_SERVER is not set (mysql://user:password@host:port of a server here)",
        );
        return;
    }
    let sql = variable("INVAR_LAB_SQL", "SELECT COUNT(*) FROM information_schema.columns");
    let function = variable("INVAR_LAB_FUNCTION", "dispatch_command");
    let options = Options::from_url(&url).unwrap();
    let mut connection = Connection::connect(&options).unwrap();
    let server = UnderTest::describe("it", &options, &mut connection).unwrap();
    let process = server.process.expect("a server on this machine");
    let tools = Tools::default();

    const OPERATIONS: u64 = 20;
    let before = Sample::take(process.pid).unwrap();
    for _ in 0..OPERATIONS {
        connection.run(sql.as_bytes()).unwrap();
    }
    let usage = Sample::take(process.pid).unwrap().since(&before).unwrap();
    let cpu_ns_per_operation = usage.cpu_ns as f64 / OPERATIONS as f64;
    println!(
        "{}: CPU {:.2} ms/op, run queue {:?} ns",
        server.version,
        cpu_ns_per_operation / 1e6,
        usage.run_queue_ns
    );

    let elf = Elf::open(&process.binary).unwrap();
    let targets = resolve(&elf, &[&function]);
    println!("{function}: {:?}", targets[0].symbols);
    match Counting::start(&tools, process.pid, &process.binary, &targets, Caps::default()) {
        Ok(counting) => {
            connection.run(sql.as_bytes()).unwrap();
            println!("one operation: {:?}", counting.finish().unwrap());
        }
        Err(why) => println!("not counted: {why}"),
    }

    let recording = Recording::start(&tools, process.pid, 997, Unwind::FramePointers).unwrap();
    let start = std::time::Instant::now();
    while start.elapsed() < Duration::from_secs(2) {
        connection.run(sql.as_bytes()).unwrap();
    }
    let profile = recording.finish().unwrap();
    assert!(profile.samples() > 0, "a busy server gives samples");
    let profile = profile.anchored(STATEMENT_ANCHORS);
    println!("{} samples, {} lost", profile.samples(), profile.lost);
    let side = Side { profile: &profile, cpu_ns_per_operation };
    for one in functions(side, side).iter().filter(|one| one.name.contains(&function)).take(3) {
        println!("{}: {:.2} ms/op with all it calls", one.name, one.all_after_ns / 1e6);
    }
    if let Ok(path) = std::env::var("INVAR_LAB_SVG") {
        let title = format!("{} {sql}", server.version);
        std::fs::write(path, flame_graph(&title, &tree(side), Unit::NanosecondsPerOperation)).unwrap();
    }
}
