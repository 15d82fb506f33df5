//! Holds each profile to what was recorded of its driver: the same commands in the same order, byte for byte but for numbers of
//! statements. The recordings are written by `lab/shims/record.py`, whose operations are built here again.

use wire::PacketBuffer;
use wire::packet::one_packet;

use crate::data::fill::{Fill, FillKind, Source};
use crate::drivers::Protocol;
use crate::drivers::profile::Profile;
use crate::load::plan::{Form, Plan, Step};
use crate::scenario::{Batch, Op, Statement};

/// The server the recordings were made with.
const SERVER: &str = "9.7.4";

macro_rules! recordings {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("golden/", $name, ".txt")))),*] };
}

const RECORDINGS: &[(&str, &str)] = recordings!(
    "cj-5.1.49" "cj-5.1.49-cached" "cj-8.0.22" "cj-8.0.22-cached" "cj-8.0.33" "cj-8.0.33-cached" "cj-8.3.0"
    "cj-8.3.0-cached" "cj-5.1.49-rewrite" "cj-8.0.22-rewrite" "cj-8.0.33-rewrite" "cj-8.3.0-rewrite" "mariadb-java" "go-sql-driver" "pymysql" "mysql2"
);

fn statement(sql: &str, kinds: &[FillKind]) -> Statement {
    let is_null = |kind: &FillKind| matches!(kind, FillKind::Text(0));
    Statement {
        sql: sql.to_owned(),
        placeholders: sql.char_indices().filter(|(_, char)| *char == '?').map(|(at, _)| at).collect(),
        params: kinds
            .iter()
            .map(|kind| Fill { kind: kind.clone(), null_share: f64::from(u8::from(is_null(kind))) })
            .collect(),
        repeat: 1,
        share: None,
        batch: None,
    }
}

/// The operations of `record.py`.
fn operation(name: &str, protocol: Protocol) -> Op {
    let int = |value| FillKind::Uniform(value, value);
    let text = |value: &str| FillKind::Constant(value.to_owned());
    let select = "SELECT t FROM golden WHERE id = ? AND t <> ?";
    let statements = match name {
        "select" => {
            vec![statement(select, &[int(5), text("it's")]), statement(select, &[int(-70_000), text("b\\c")])]
        }
        "write" => vec![
            statement(
                "INSERT INTO golden (id, a, t, d) VALUES (?, ?, ?, ?)",
                &[FillKind::Serial(100), FillKind::Text(0), text("abc"), FillKind::Decimal(125, 125, 2)],
            ),
            statement("DELETE FROM golden WHERE id = ?", &[int(1)]),
            statement("DELETE FROM golden WHERE id > 0", &[]),
        ],
        other => {
            let rows: u32 = other.strip_prefix("batch").unwrap().parse().unwrap();
            let mut insert = statement(
                "INSERT INTO golden (id, a, t, d) VALUES (?, ?, ?, ?)",
                &[
                    FillKind::Serial(100 * i64::from(rows)),
                    FillKind::Text(0),
                    text("it's"),
                    FillKind::Decimal(125, 125, 2),
                ],
            );
            let values = insert.sql.rfind('(').unwrap()..insert.sql.len();
            insert.batch = Some(Batch { rows, values });
            vec![insert, statement("DELETE FROM golden", &[])]
        }
    };
    Op { transaction: name == "write", protocol, statements }
}

/// The commands of the second operation, as the recording has them.
fn commands(profile: &Profile, op: &Op) -> Vec<String> {
    let mut plan = Plan::new(op, profile);
    plan.fit(SERVER);
    let mut serial = 0;
    let mut source = Source::new(0, 0);
    // What was prepared in the operation before knows its types.
    let mut is_first = false;
    plan.steps
        .iter()
        .map(|&step| {
            let mut out = PacketBuffer::new();
            let form = Form { id: 0, is_first, with_attributes: profile.login.query_attributes };
            match step {
                Step::Prepare(_) => is_first = true,
                Step::Execute(_) => is_first = false,
                Step::Fixed(_) | Step::Text(_) | Step::Reset(_) | Step::Close(_) => {}
            }
            let next = || {
                serial += 1;
                serial
            };
            plan.put(step, form, &mut source, next, &mut out);
            let payload = one_packet(out.frames()).unwrap().0;
            let text = |from: usize| String::from_utf8(payload[from..].to_vec()).unwrap();
            match step {
                Step::Fixed(_) | Step::Text(_) if form.with_attributes => {
                    assert_eq!(payload[..3], [3, 0, 1]);
                    format!("query\t{}", text(3))
                }
                Step::Fixed(_) | Step::Text(_) => format!("query\t{}", text(1)),
                Step::Prepare(_) => format!("prepare\t{}", text(1)),
                Step::Execute(_) => {
                    let hex: String = payload[5..].iter().map(|byte| format!("{byte:02x}")).collect();
                    format!("execute\tbytes={hex}")
                }
                Step::Reset(_) => "reset".to_owned(),
                Step::Close(_) => "close".to_owned(),
            }
        })
        .collect()
}

/// A line of a recording without the number of a statement and what only helps to read it.
fn short(line: &str) -> String {
    let fields: Vec<&str> = line.split('\t').collect();
    match fields[0] {
        "execute" => format!("execute\t{}", fields.last().unwrap()),
        "reset" | "close" => fields[0].to_owned(),
        _ => line.replace("\\\\", "\\"),
    }
}

#[test]
fn each_profile_sends_what_its_driver_sent() {
    for (name, recording) in RECORDINGS {
        let profile = Profile::named(name).unwrap();
        let sections: Vec<&str> = recording.split("\nmode\t").collect();
        for section in &sections[1..] {
            let (head, rest) = section.split_once('\n').unwrap_or((section, ""));
            let mut words = head.split('\t');
            let protocol = match words.next().unwrap() {
                "auto" => Protocol::Auto,
                "text" => Protocol::Text,
                _ => Protocol::Prepared,
            };
            let operation = operation(words.next().unwrap(), protocol);
            if words.next() == Some("not possible") {
                assert_eq!(profile.prepare, crate::drivers::profile::Prepare::Never, "{name}");
                continue;
            }
            let second = rest.rsplit("operation\n").next().unwrap();
            let recorded: Vec<String> = second.lines().map(short).collect();
            assert_eq!(commands(profile, &operation), recorded, "{name} {head}");
        }
    }
}

#[test]
fn each_profile_logs_in_as_its_driver_did() {
    for (name, recording) in RECORDINGS {
        let profile = Profile::named(name).unwrap();
        let head = recording.split("\nmode\t").next().unwrap();
        let login = head.lines().find_map(|line| line.strip_prefix("login\t")).unwrap();
        let flags: Vec<&str> = login.split(['\t', ' ']).collect();
        let mut options = client::Options::from_url("mysql://u@h").unwrap();
        profile.put_login(&mut options);
        for (flag, is_set) in [
            ("FOUND_ROWS", options.found_rows),
            ("MULTI_STATEMENTS", options.multi_statements),
            ("DEPRECATE_EOF", options.deprecate_eof),
            ("SESSION_TRACK", options.session_track),
            ("QUERY_ATTRIBUTES", options.query_attributes),
        ] {
            assert_eq!(flags.contains(&flag), is_set, "{name} {flag}");
        }
        let recorded: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("query\t")).collect();
        assert_eq!(profile.connect(SERVER), recorded, "{name}");
    }
}

#[test]
fn what_depends_on_the_server_follows_its_version() {
    let profile = Profile::named("cj-8.3.0").unwrap();
    // As recorded from 5.6.24, 5.7.29, MariaDB 10.11.
    for (version, isolation, has_cache) in [
        ("5.6.24", "@@tx_isolation AS", true),
        ("5.7.29", "@@transaction_isolation AS", true),
        ("5.5.5-10.11.18-MariaDB", "@@tx_isolation AS", true),
        ("8.0.36-log", "@@transaction_isolation AS", false),
    ] {
        let first = profile.connect(version).swap_remove(0);
        assert!(first.contains(isolation) && !first.contains('{'), "{version}: {first}");
        assert_eq!(first.contains("query_cache_size"), has_cache, "{version}");
    }
}
