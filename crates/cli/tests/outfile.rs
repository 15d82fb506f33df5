//! SELECT ... INTO OUTFILE and INTO DUMPFILE: the bytes of the files, and that LOAD DATA reads what was written.
//!
//! `outfile/statements.test` is a script (crate `script`) whose statements name `$FILE`, a file of the block; what a client is answered is
//! printed with the warnings, and then the file if there is one. `INVAR_ORACLE=mysql://...` compares the same with MySQL 9.7, which has to
//! be on this machine; `INVAR_REWRITE=1` writes the file again.

mod harness;

use std::fmt::Write as _;
use std::path::Path;

use client::Connection;
use harness::Server;

/// More spaces in a row are shown by their number.
const SPACES_MAX: usize = 40;
/// Random tables that are written and read again.
const ROUND_TRIPS: u64 = 60;

fn must(connection: &mut Connection, sql: &str) {
    connection.run(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

/// The rows of a query, values as text.
fn rows(connection: &mut Connection, sql: &str) -> Vec<Vec<Option<Vec<u8>>>> {
    let mut answer = connection.query(sql.as_bytes()).expect(sql);
    let mut all = Vec::new();
    while answer.next_result().expect(sql) {
        let columns = answer.columns().len();
        while let Some(row) = answer.next_row().expect(sql) {
            all.push((0..columns).map(|at| row.cell(at).as_bytes().map(<[u8]>::to_vec)).collect());
        }
    }
    all
}

/// Bytes as a line of the script shows them.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for run in bytes.chunk_by(|a, b| a == b) {
        match run {
            [b' ', ..] if run.len() > SPACES_MAX => {
                let _ = write!(text, "{{{} spaces}}", run.len());
            }
            _ => text.extend(run.iter().flat_map(|byte| std::ascii::escape_default(*byte)).map(char::from)),
        }
    }
    text
}

/// Runs one statement, and prints what is answered.
fn answer(connection: &mut Connection, sql: &str, output: &mut String) {
    match connection.query(sql.as_bytes()) {
        Err(error) => {
            let _ = writeln!(output, "{error}");
            return;
        }
        Ok(mut answer) => loop {
            match answer.next_result() {
                Ok(false) => break,
                Err(error) => {
                    let _ = writeln!(output, "{error}");
                    return;
                }
                Ok(true) if answer.has_rows() => loop {
                    match answer.next_row() {
                        Ok(Some(row)) => {
                            let _ = writeln!(output, "{}", shown(row.cell(0).as_bytes().unwrap_or(b"NULL")));
                        }
                        Ok(None) => break,
                        Err(error) => {
                            let _ = writeln!(output, "{error}");
                            return;
                        }
                    }
                },
                Ok(true) => {
                    let _ = writeln!(output, "ok, {} rows", answer.summary().affected_rows);
                }
            }
        },
    }
    for row in rows(connection, "SHOW WARNINGS") {
        let line: Vec<String> =
            row.iter().flatten().map(|cell| String::from_utf8_lossy(cell).into()).collect();
        let _ = writeln!(output, "{}", line.join(" "));
    }
}

/// Runs all blocks. Files are in a folder of their own.
fn run(options: &client::Options, blocks: &[script::Block]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    // Another account may run the server.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .expect("ours");
    let mut connection = Connection::connect(options).expect("the server answers");
    must(&mut connection, "DROP DATABASE IF EXISTS golden_outfile");
    must(&mut connection, "CREATE DATABASE golden_outfile");
    must(&mut connection, "USE golden_outfile");
    must(&mut connection, "SET NAMES utf8mb4");
    let outputs = blocks.iter().enumerate().map(|(number, block)| {
        let path = folder.path().join(number.to_string());
        let path = path.to_str().expect("a path of text");
        let mut output = String::new();
        for command in &block.commands {
            answer(&mut connection, &command.text.replace("$FILE", path), &mut output);
        }
        if let Ok(bytes) = std::fs::read(path) {
            let _ = writeln!(output, "file: {}", shown(&bytes));
        }
        let folder = folder.path().to_str().expect("a path of text");
        output.replace(path, "$FILE").replace(folder, "$FOLDER").trim_end().to_owned()
    });
    let outputs = outputs.collect();
    must(&mut connection, "DROP DATABASE golden_outfile");
    outputs
}

#[test]
fn files_hold_what_mysql_writes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outfile/statements.test");
    let text = std::fs::read_to_string(&path).expect("the script");
    let (mut blocks, tail) = script::parse(&text).expect("a script");
    let mut wrong = String::new();
    let mut compare = |whose: &str, outputs: &[String], blocks: &[script::Block]| {
        for (block, output) in blocks.iter().zip(outputs) {
            if block.output != *output {
                let sql = &block.commands[0].text;
                let _ = writeln!(
                    wrong,
                    "line {}: {sql}\n{whose}:\n{output}\nstored:\n{}\n",
                    block.line, block.output
                );
            }
        }
    };
    if let Some(oracle) = harness::oracle("INVAR_ORACLE") {
        let outputs = run(&oracle, &blocks);
        if script::is_rewriting() {
            for (block, output) in blocks.iter_mut().zip(&outputs) {
                block.output.clone_from(output);
            }
            std::fs::write(&path, script::print(&blocks, &tail)).expect("the folder takes files");
        }
        compare("oracle", &outputs, &blocks);
    }
    let server = Server::start(&["--skip-ssl"]);
    compare("Invar", &run(&server.options(), &blocks), &blocks);
    assert!(wrong.is_empty(), "{wrong}");
}

/// A generator of its own: the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).expect("below the bound")
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }
}

/// Clauses between which no field can be mistaken: 9.7 warns of others (1475).
fn format_of(random: &mut Random) -> String {
    let end = random.pick(&["\\t", ",", ";", "||", "ab", "\\\\"]);
    let quote = random.pick(&["", "\"", "'", "x", "\\n"]);
    let optionally = if quote.is_empty() || random.below(2) == 0 { "" } else { "OPTIONALLY " };
    let escape = random.pick(&["\\\\", "#", "!", "$"]);
    let start = random.pick(&["", "", ">>", "row "]);
    let line = random.pick(&["\\n", "\\r\\n", "|", "END", "\\0"]);
    // What ends a field, encloses or escapes it and ends a line begins differently.
    let firsts: Vec<&str> = [end, quote, escape, line].into_iter().filter(|text| !text.is_empty()).collect();
    let first =
        |text: &str| text.bytes().take(if text.starts_with('\\') { 2 } else { 1 }).collect::<Vec<u8>>();
    if firsts
        .iter()
        .enumerate()
        .any(|(at, text)| firsts[..at].iter().any(|other| first(text) == first(other)))
    {
        return format_of(random);
    }
    format!(
        "FIELDS TERMINATED BY '{end}' {optionally}ENCLOSED BY '{}' ESCAPED BY '{escape}' \
         LINES STARTING BY '{start}' TERMINATED BY '{line}'",
        quote.replace('\'', "''")
    )
}

#[test]
fn load_data_reads_what_was_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(&["--skip-ssl"]);
    let mut connection = Connection::connect(&server.options()).expect("root is let in");
    must(&mut connection, "CREATE DATABASE d");
    must(&mut connection, "USE d");
    must(&mut connection, "SET NAMES utf8mb4");
    let columns = "(k INT PRIMARY KEY, a VARCHAR(60), b BLOB, c DECIMAL(8,3), d DATETIME(3), e DOUBLE, j JSON, \
                   m ENUM('one','t,wo'), l TEXT CHARACTER SET latin1, t BIT(11), y YEAR)";
    must(&mut connection, &format!("CREATE TABLE t {columns}"));
    must(&mut connection, &format!("CREATE TABLE u {columns}"));
    let pieces = [
        "a", "b", ",", ";", "|", "\\", "\"", "'", "\n", "\r", "\t", "\0", "x", "#", "END", "row ", ">", "N",
        "NULL", "é", "!", "0", " ", "€",
    ];
    for seed in 0..ROUND_TRIPS {
        let mut random = Random(seed);
        must(&mut connection, "DELETE FROM t");
        must(&mut connection, "DELETE FROM u");
        for key in 0..20 {
            let mut text = || {
                let mut text = String::new();
                for _ in 0..random.below(8) {
                    text.push_str(random.pick(&pieces));
                }
                let hex: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
                match random.below(8) {
                    0 => "NULL".to_owned(),
                    _ => format!("CONVERT(X'{hex}' USING utf8mb4)"),
                }
            };
            let (a, b, l) = (text(), text(), text());
            must(
                &mut connection,
                &format!(
                    "INSERT INTO t VALUES ({key}, {a}, {b}, {key} * -1.125, '2024-02-29 01:02:03.5' + INTERVAL {key} HOUR, \
                     {key} / 7e0, JSON_OBJECT('k', {a}), 1 + {key} % 2, REPLACE(REPLACE({l}, '€', ''), 'é', 'e'), {key} * 90, \
                     IF({key} = 3, NULL, 2000 + {key}))"
                ),
            );
        }
        let path = folder.path().join(seed.to_string());
        let path = path.to_str().expect("a path of text");
        let charset = random.pick(&["binary", "utf8mb4"]);
        let format = format_of(&mut random);
        let written = format!(
            "SELECT k, a, HEX(b), c, d, e, j, m, l, t + 0, y FROM t INTO OUTFILE '{path}' CHARACTER SET utf8mb4 {format}"
        );
        let (write, read) = match charset {
            // Bytes go as they are; LOAD DATA takes them for `binary` too.
            "binary" => (
                format!("SELECT k, b, c FROM t INTO OUTFILE '{path}' {format}"),
                format!("LOAD DATA INFILE '{path}' INTO TABLE u CHARACTER SET binary {format} (k, b, c)"),
            ),
            _ => (
                written,
                format!(
                    "LOAD DATA INFILE '{path}' INTO TABLE u CHARACTER SET utf8mb4 {format} \
                     (k, a, @b, c, d, e, j, m, l, @t, y) SET b = UNHEX(@b), t = @t + 0"
                ),
            ),
        };
        must(&mut connection, &write);
        must(&mut connection, &read);
        let compared = if charset == "binary" { "k, b, c" } else { "*" };
        let sql = |table: &str| format!("SELECT {compared} FROM {table} ORDER BY k");
        let (before, after) = (rows(&mut connection, &sql("t")), rows(&mut connection, &sql("u")));
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "seed {seed}: {write}");
        }
        assert_eq!(before.len(), after.len(), "seed {seed}: {write}");
    }
}

#[test]
fn files_lie_where_the_server_may_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (folder.path().join("in"), folder.path().join("out"));
    for made in [&inside, &outside] {
        std::fs::create_dir(made).expect("a folder");
    }
    std::os::unix::fs::symlink(&outside, inside.join("link")).expect("a link");
    std::os::unix::fs::symlink(&inside, folder.path().join("way")).expect("a link");
    std::os::unix::fs::symlink(outside.join("new"), inside.join("dangling")).expect("a link");
    std::fs::write(outside.join("secret"), "1\n").expect("a file");
    std::os::unix::fs::symlink(outside.join("secret"), inside.join("secret")).expect("a link");
    let server = Server::start(&["--skip-ssl", &format!("--secure-file-priv={}", inside.display())]);
    let mut connection = Connection::connect(&server.options()).expect("root is let in");
    let number = |connection: &mut Connection, sql: &str| {
        connection.run(sql.as_bytes()).err().and_then(|error| error.number())
    };
    let mut write =
        |path: &Path| number(&mut connection, &format!("SELECT 1 INTO OUTFILE '{}'", path.display()));
    assert_eq!(write(&inside.join("a")), None);
    assert_eq!(write(&inside.join("a")), Some(1086));
    assert_eq!(write(&folder.path().join("way/b")), None);
    assert_eq!(write(&outside.join("a")), Some(1290));
    assert_eq!(write(&inside.join("link/a")), Some(1290));
    assert_eq!(write(&inside.join("../out/a")), Some(1290));
    assert_eq!(write(&inside.join("missing/a")), Some(1290));
    assert_eq!(write(&inside.join("dangling")), Some(1086));
    assert_eq!(write(Path::new("relative")), Some(1290));
    // A named pipe has no other end here: nothing waits for it.
    let pipe = inside.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    assert_eq!(write(&pipe), Some(1086));
    assert!(!outside.join("new").exists() && !outside.join("a").exists());
    must(&mut connection, "CREATE DATABASE d");
    must(&mut connection, "CREATE TABLE d.t (a INT)");
    let load = |path: &Path| format!("LOAD DATA INFILE '{}' INTO TABLE d.t", path.display());
    assert_eq!(number(&mut connection, &load(&inside.join("secret"))), Some(1290));
    assert_eq!(number(&mut connection, &load(&inside.join("link/secret"))), Some(1290));
    assert_eq!(number(&mut connection, &load(&pipe)), Some(29));
    assert_eq!(number(&mut connection, &load(&folder.path().join("way/a"))), None);
    drop(connection);

    // Without secure_file_priv everything but the data folder.
    let server = Server::start(&["--skip-ssl"]);
    let mut connection = Connection::connect(&server.options()).expect("root is let in");
    let mut write = |path: &str| number(&mut connection, &format!("SELECT 1 INTO DUMPFILE '{path}'"));
    assert_eq!(write("name"), Some(1));
    assert_eq!(write(outside.join("b").to_str().expect("text")), None);
    assert_eq!(std::fs::read(outside.join("b")).expect("a file"), b"1");
}
