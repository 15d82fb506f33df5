//! Real drivers against a real server: `INVAR_LAB_SERVER=mysql://user:password@host:port` turns this on.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use client::{Connection, Options};
use lab::drivers::Sender;
use lab::evidence::Block;
use lab::load::shim::Shims;
use lab::load::{Fleet, LoadError, Moment, Spec};
use lab::scenario::{Mode, Protocol, Scenario, VARIANT_DEFAULT, Work};

fn work(scenario: &str) -> Work {
    let text = lab::scenario::shipped::named(scenario).unwrap();
    let mut work = Scenario::parse(text).unwrap().work(None, VARIANT_DEFAULT).unwrap();
    work.load.block_operations = Some(6);
    // Long enough on a busy machine.
    work.load.block_ms = 100_000;
    work.load.warmup_operations = 1;
    work.load.connections = 2;
    work
}

struct Place {
    schema: String,
    admin: Connection,
    options: Options,
}

impl Place {
    fn open(name: &str) -> Option<Place> {
        let url = std::env::var("INVAR_LAB_SERVER").ok()?;
        let mut options = Options::from_url(&url).unwrap();
        let mut admin = Connection::connect(&options).unwrap();
        let schema = format!("invar_lab_drivers_{name}");
        options.database = None;
        empty(&mut admin, &schema);
        options.database = Some(schema.clone());
        Some(Place { schema, admin, options })
    }

    fn run(&self, work: &Work, sender: Sender, shims: &Shims) -> Result<Block, LoadError> {
        let serial = AtomicU64::new(0);
        let spec = Spec {
            options: &self.options,
            work,
            sender,
            shims,
            session: &[],
            seed: 1,
            block: 1,
            serial: &serial,
            with_row_hash: false,
            client_core: None,
        };
        let mut moments = Vec::new();
        let block = Fleet::open(spec)?.run(&mut |moment| moments.push(moment))?;
        assert_eq!(moments, [Moment::Begins, Moment::Ended]);
        Ok(block)
    }
}

fn empty(admin: &mut Connection, schema: &str) {
    for sql in ["DROP DATABASE IF EXISTS", "CREATE DATABASE", "USE"] {
        admin.run(format!("{sql} {schema}").as_bytes()).unwrap();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.admin.run(format!("DROP DATABASE {}", self.schema).as_bytes());
    }
}

/// The test harness would keep what `eprintln` says of a test that passes.
fn left_out(why: &str) {
    std::io::Write::write_all(&mut std::io::stderr(), format!("LEFT OUT: {why}\n").as_bytes()).unwrap();
}

#[test]
fn every_driver_that_is_there_does_the_work_asked_for() {
    let Some(mut place) = Place::open("all") else {
        left_out("drivers on a server: INVAR_LAB_SERVER is not set");
        return;
    };
    let shims = Shims::new();
    let mut missing: BTreeMap<&str, String> = BTreeMap::new();
    for scenario in ["read-write", "insert"] {
        let mut work = work(scenario);
        empty(&mut place.admin, &place.schema);
        lab::scenario::load_data::load(&mut place.admin, &work, 1, &mut |_, _| {}).unwrap();
        for name in Sender::names() {
            let sender = Sender::named(name).unwrap();
            for protocol in [Protocol::Auto, Protocol::Text, Protocol::Prepared] {
                work.op.protocol = protocol;
                for mode in [
                    Mode::Closed,
                    Mode::Open {
                        rate_per_s: 500.0,
                        arrivals: lab::scenario::Arrivals::Constant,
                        in_flight_max: 64,
                    },
                ] {
                    work.load.mode = mode;
                    // Two transactions that delete and insert one key wait for each other.
                    work.load.connections = if scenario == "insert" { 2 } else { 1 };
                    let block = match place.run(&work, sender, &shims) {
                        Ok(block) => block,
                        Err(LoadError::Driver { driver, why }) => {
                            missing.insert(driver, why);
                            continue;
                        }
                        Err(error) => panic!("{name} {protocol:?}: {error}"),
                    };
                    eprintln!("{name} {scenario} {protocol:?}: median {} us", block.service.p50_ns / 1000);
                    let what = format!("{name} {scenario} {protocol:?} {mode:?}: {block:?}");
                    assert_eq!(block.operations, 6, "{what}");
                    assert!(block.errors.is_empty(), "{what}");
                    assert!(block.service.p50_ns > 0 && block.latency.count == 6, "{what}");
                    assert!(block.client_cpu_ns_per_op > 0.0, "{what}");
                    if scenario == "read-write" {
                        assert!(block.rows_per_op > 200.0, "{what}");
                    }
                }
            }
        }
    }
    for (driver, why) in missing {
        left_out(&format!("driver {driver}: {why}"));
    }
}

#[test]
fn our_client_goes_through_tls_and_compression_with_answers_of_any_length() {
    let Some(mut place) = Place::open("wrapped") else {
        left_out("drivers on a server: INVAR_LAB_SERVER is not set");
        return;
    };
    let shims = Shims::new();
    // Answers of one row, and of a hundred rows: longer than what is read at once.
    let mut work = work("read-write");
    lab::scenario::load_data::load(&mut place.admin, &work, 1, &mut |_, _| {}).unwrap();
    work.op.statements.truncate(3);
    work.op.statements[1].repeat = 5;
    work.op.transaction = false;
    let plain = place.options.clone();
    let mut bytes_down = Vec::new();
    for (has_tls, compress) in [(false, false), (true, false), (false, true), (true, true)] {
        place.options = plain.clone();
        place.options.compress = compress;
        if has_tls {
            place.options.tls = client::Tls::Required(client::unverified_tls());
        }
        for name in ["native", "cj-8.3.0"] {
            for connections in [1, 4] {
                work.load.connections = connections;
                work.op.protocol = Protocol::Prepared;
                let sender = Sender::named(name).unwrap();
                let block = place.run(&work, sender, &shims).unwrap();
                let what = format!("{name} {connections} tls={has_tls} compress={compress}: {block:?}");
                assert!(block.operations == 6 && block.errors.is_empty(), "{what}");
                // Less than 511 where a range reaches over the last row.
                assert!((450.0..=511.0).contains(&block.rows_per_op), "{what}");
                bytes_down.push(block.bytes_down_per_op);
            }
        }
    }
    assert!(bytes_down.iter().all(|&bytes| bytes > 10_000.0), "{bytes_down:?}");
}
