//! Stored procedures against what a real MySQL 9.7 answered (`routines/*.expected`, written by `routines/refresh.py`),
//! and procedures over a restart.

mod root;

use std::fmt::Write as _;
use std::path::PathBuf;

use engine::engine::{Engine, StartOptions};
use env::Env;
use service::{Capabilities, Discard, ExecuteRequest, Reply, RowFormat, Session};
use wire::client::{Event, ResultReader, text_row};
use wire::packet::{Incoming, PacketBuffer, next_packet};

const CAPABILITIES: Capabilities = Capabilities::PROTOCOL_41
    .with(Capabilities::MULTI_RESULTS)
    .with(Capabilities::PS_MULTI_RESULTS)
    .with(Capabilities::TRANSACTIONS)
    .with(Capabilities::DEPRECATE_EOF);

/// A data folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("invar-routines-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path); // Of a test that was killed.
        Folder(path)
    }

    fn open(&self) -> Engine {
        let options = StartOptions { data_folder: self.0.clone(), ..StartOptions::default() };
        Engine::open(&Env::real(), &options).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0); // What stays lies among temporary files.
    }
}

/// Calls `ask` with a reply and answers its payloads, an error's at the end included.
fn packets(format: RowFormat, ask: impl FnOnce(&mut Reply<'_>) -> service::Outcome) -> Vec<Vec<u8>> {
    let mut buffer = PacketBuffer::new();
    let mut link = Discard;
    let mut reply = Reply::new(&mut buffer, &mut link, CAPABILITIES, format);
    if let Err(error) = ask(&mut reply) {
        reply.error(&error);
    }
    let mut frames = buffer.frames();
    let mut payloads = Vec::new();
    while let Incoming::Packet { payload, consumed, .. } = next_packet(frames) {
        payloads.push(payload.to_vec());
        frames = &frames[consumed..];
    }
    payloads
}

/// Runs a statement and prints its results as `refresh.py` does; answers whether there is a warning or an error.
fn run(session: &mut dyn Session, sql: &str, out: &mut String) -> bool {
    let mut reader = ResultReader::query(CAPABILITIES);
    let mut columns: Vec<String> = Vec::new();
    let mut rows = 0;
    let mut warned = false;
    for payload in packets(RowFormat::Text, |reply| session.query(sql.as_bytes(), reply).without_requeue()) {
        match reader.read(&payload).unwrap() {
            Event::Ok(ok) => {
                writeln!(out, "OK, {} affected, {} warnings", ok.affected_rows, ok.warnings).unwrap();
                warned = ok.warnings > 0;
            }
            Event::Error(error) => {
                writeln!(out, "ERROR {}: {}", error.number, String::from_utf8_lossy(error.message)).unwrap();
                warned = true;
            }
            Event::Columns(_) => {
                columns.clear();
                rows = 0;
            }
            Event::Column(column) => columns.push(String::from_utf8_lossy(column.name).into_owned()),
            Event::Row(row) => {
                if rows == 0 {
                    writeln!(out, "{}", columns.join("|")).unwrap();
                }
                rows += 1;
                let mut cells = Vec::new();
                text_row(row, |cell| {
                    cells.push(cell.map_or("NULL".into(), |cell| String::from_utf8_lossy(cell).into_owned()));
                })
                .unwrap();
                writeln!(out, "{}", cells.join("|")).unwrap();
            }
            Event::End { warnings, .. } => {
                if rows == 0 {
                    writeln!(out, "{}", columns.join("|")).unwrap();
                }
                writeln!(out, "({rows} rows, {warnings} warnings)").unwrap();
                warned = warnings > 0;
            }
            other => panic!("{other:?}"),
        }
    }
    warned
}

fn show_warnings(session: &mut dyn Session, out: &mut String) {
    let mut reader = ResultReader::query(CAPABILITIES);
    for payload in packets(RowFormat::Text, |reply| session.query(b"show warnings", reply).without_requeue())
    {
        if let Event::Row(row) = reader.read(&payload).unwrap() {
            let mut cells = Vec::new();
            text_row(row, |cell| cells.push(String::from_utf8_lossy(cell.unwrap_or_default()).into_owned()))
                .unwrap();
            writeln!(out, "{} {}: {}", cells[0], cells[1], cells[2]).unwrap();
        }
    }
}

/// Runs `routines/NAME.sql` and compares with `routines/NAME.expected`.
fn compare(name: &str) {
    let scripts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/routines");
    let script = std::fs::read_to_string(scripts.join(format!("{name}.sql"))).unwrap();
    let expected = std::fs::read_to_string(scripts.join(format!("{name}.expected"))).unwrap();
    let folder = Folder::new(name);
    let engine = folder.open();
    let mut session = root::connect(&engine, CAPABILITIES);
    run(&mut *session, "create database routines_expected", &mut String::new());
    run(&mut *session, "use routines_expected", &mut String::new());
    let mut out = String::new();
    for statement in script.split("\n\n").map(|statement| statement.trim_matches('\n')) {
        if statement.is_empty() {
            continue;
        }
        for line in statement.lines() {
            writeln!(out, "> {line}").unwrap();
        }
        if run(&mut *session, statement, &mut out) {
            show_warnings(&mut *session, &mut out);
        }
        out.push('\n');
    }
    let differing: Vec<(&str, &str)> = expected
        .trim_end()
        .split("\n\n")
        .zip(out.trim_end().split("\n\n"))
        .filter(|(theirs, ours)| theirs != ours)
        .collect();
    for (theirs, ours) in &differing {
        eprintln!("MySQL:\n{theirs}\nhere:\n{ours}\n");
    }
    assert!(differing.is_empty(), "{} statements of {name} differ", differing.len());
    assert_eq!(expected.trim_end().len(), out.trim_end().len());
}

#[test]
fn what_cannot_be_created_is_refused_as_in_mysql() {
    compare("refused");
}

#[test]
fn bodies_run_as_in_mysql() {
    compare("language");
}

#[test]
fn conditions_find_their_handlers_as_in_mysql() {
    compare("conditions");
}

/// A procedure is there after a restart, with its comment; a dropped one is not.
#[test]
fn procedures_survive_a_restart() {
    let folder = Folder::new("restart");
    {
        let engine = folder.open();
        let mut session = root::connect(&engine, CAPABILITIES);
        for sql in [
            "create database d",
            "use d",
            "create procedure kept(n int) comment 'x' begin declare i int default 0; \
             while i < n do set i = i + 1; end while; select i; end",
            "create procedure gone() select 1",
            "drop procedure gone",
        ] {
            let mut out = String::new();
            run(&mut *session, sql, &mut out);
            assert!(out.starts_with("OK"), "{sql}: {out}");
        }
    }
    let engine = folder.open();
    let mut session = root::connect(&engine, CAPABILITIES);
    let mut out = String::new();
    run(&mut *session, "call d.kept(1000)", &mut out);
    run(&mut *session, "call d.gone()", &mut out);
    let expected = "i\n1000\n(1 rows, 0 warnings)\nOK, 0 affected, 0 warnings\n\
                    ERROR 1305: PROCEDURE d.gone does not exist\n";
    assert_eq!(out, expected);
}

/// OUT parameters of a binary CALL come as a row of their own, marked so.
#[test]
fn out_parameters_of_a_prepared_call_are_a_result() {
    let folder = Folder::new("out");
    let engine = folder.open();
    let mut session = root::connect(&engine, CAPABILITIES);
    for sql in [
        "create database d",
        "use d",
        "create procedure p(in a int, inout b int, out c varchar(9)) begin set b = a + b; set c = 'out'; end",
    ] {
        let mut out = String::new();
        run(&mut *session, sql, &mut out);
        assert!(out.starts_with("OK"), "{sql}: {out}");
    }
    let prepared = packets(RowFormat::Binary, |reply| session.prepare(b"call p(?, ?, ?)", reply));
    let statement_id = u32::from_le_bytes(prepared[0][1..5].try_into().unwrap());
    // No NULL but the last, types follow: LONGLONG twice, then NULL.
    let mut parameters = vec![0b100, 1, 8, 0, 8, 0, 6, 0];
    parameters.extend_from_slice(&5i64.to_le_bytes());
    parameters.extend_from_slice(&7i64.to_le_bytes());
    let request = ExecuteRequest {
        statement_id,
        flags: 0,
        iteration_count: 1,
        parameters: &parameters,
        query_attributes: false,
    };
    let answer = packets(RowFormat::Binary, |reply| session.execute(request, reply).without_requeue());
    let mut reader = ResultReader::query(CAPABILITIES);
    let mut seen = Vec::new();
    for payload in &answer {
        match reader.read(payload).unwrap() {
            Event::Column(column) => seen.push(String::from_utf8_lossy(column.name).into_owned()),
            // A binary row: header, NULL bitmap, an INT, a string.
            Event::Row(row) => {
                assert_eq!(row, [&[0, 0], &12i32.to_le_bytes()[..], &[3], b"out"].concat());
                seen.push("row".into());
            }
            Event::End { status, .. } => {
                assert!(status.has(service::StatusFlags::PS_OUT_PARAMS));
                assert!(status.has(service::StatusFlags::MORE_RESULTS_EXISTS));
            }
            Event::Ok(_) => seen.push("ok".into()),
            Event::Columns(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, ["b", "c", "row", "ok"]);
}
