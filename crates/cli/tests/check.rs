//! Damage from outside: `invar check` names it, the server starts all the same, and only statements that need it fail.

mod harness;

use std::path::Path;
use std::process::{Command, Output};

use client::Connection;
use harness::Server;

const BLOCK_BYTES: usize = 16 * 1024;
/// Where a page of a tree says which tree it belongs to: behind the block's header of 32 bytes.
const TREE_AT: usize = 32 + 24;

fn invar_check(data: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_invar")).arg("check").arg(data).output().expect("it runs")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn number(connection: &mut Connection, sql: &str) -> Result<u16, client::Error> {
    connection.run(sql.as_bytes()).map(|_| 0).or_else(|error| error.number().ok_or(error))
}

fn rows(connection: &mut Connection, sql: &str) -> Vec<String> {
    let mut answer = connection.query(sql.as_bytes()).expect("it answers");
    assert!(answer.next_result().expect("a result"));
    let mut lines = Vec::new();
    while let Some(row) = answer.next_row().expect("a row") {
        let cells =
            row.cells().map(|cell| String::from_utf8_lossy(cell.as_bytes().unwrap_or(b"NULL")).into_owned());
        lines.push(cells.collect::<Vec<_>>().join("|"));
    }
    lines
}

/// Flips a bit in each block that holds `mark`, of the tree of the highest or lowest number.
fn damage(data: &Path, mark: &[u8], last_tree: bool) {
    let path = data.join("data");
    let mut bytes = std::fs::read(&path).expect("the data file");
    let tree_of = |block: &[u8]| u64::from_le_bytes(block[TREE_AT..TREE_AT + 8].try_into().expect("8 bytes"));
    let holds = |block: &[u8]| block.windows(mark.len()).any(|window| window == mark);
    let trees: Vec<u64> = bytes.chunks(BLOCK_BYTES).filter(|block| holds(block)).map(tree_of).collect();
    let wanted = if last_tree { trees.iter().max() } else { trees.iter().min() };
    let wanted = *wanted.expect("the table is in the file");
    for block in bytes.chunks_mut(BLOCK_BYTES) {
        if holds(block) && tree_of(block) == wanted {
            block[9_999] ^= 4;
        }
    }
    std::fs::write(&path, bytes).expect("written");
}

#[test]
fn damage_is_named_and_other_tables_stay_usable() {
    let folder = std::sync::Arc::new(tempfile::tempdir().expect("a folder"));
    let data = folder.path().join("data");
    assert_eq!(invar_check(&data).status.code(), Some(2), "there is no such folder");

    let server = Server::start_in(std::sync::Arc::clone(&folder), &["--skip-ssl"]);
    let mut root = server.root();
    let values = |text: &str| {
        let rows: Vec<String> = (0..400).map(|id| format!("({id}, concat('{text}', {id}))")).collect();
        rows.join(",")
    };
    let statements = [
        "CREATE DATABASE shop".to_owned(),
        "CREATE TABLE shop.victim (id INT PRIMARY KEY, pad VARCHAR(500))".to_owned(),
        "CREATE TABLE shop.hidden (id INT, pad VARCHAR(500))".to_owned(),
        "CREATE TABLE shop.keyed (id INT PRIMARY KEY, k VARCHAR(200) COLLATE utf8mb4_bin, KEY k (k))"
            .to_owned(),
        "CREATE TABLE shop.other (id INT PRIMARY KEY, pad VARCHAR(500), KEY pad (pad), big LONGTEXT)"
            .to_owned(),
        format!("INSERT INTO shop.victim VALUES {}", values(&"V".repeat(300))),
        format!("INSERT INTO shop.hidden VALUES {}", values(&"H".repeat(300))),
        format!("INSERT INTO shop.keyed VALUES {}", values(&"K".repeat(150))),
        format!("INSERT INTO shop.other (id, pad) VALUES {}", values("o")),
        "UPDATE shop.other SET big = repeat('b', 50000) WHERE id < 20".to_owned(),
    ];
    for statement in statements {
        root.run(statement.as_bytes()).expect("it runs");
    }
    for options in ["", " QUICK", " FAST", " MEDIUM", " EXTENDED", " CHANGED", " FOR UPGRADE"] {
        assert_eq!(
            rows(&mut root, &format!("CHECK TABLE shop.other{options}")),
            ["shop.other|check|status|OK"]
        );
    }
    let used = invar_check(&data);
    assert_eq!(used.status.code(), Some(2), "{}", text(&used));
    assert!(text(&used).contains("a server is using"), "{}", text(&used));
    server.stop();

    let before = std::fs::read(data.join("data")).expect("the data file");
    let sound = invar_check(&data);
    assert_eq!(sound.status.code(), Some(0), "{}", text(&sound));
    assert_eq!(std::fs::read(data.join("data")).expect("the data file"), before, "checking changes nothing");

    damage(&data, &b"V".repeat(100), false);
    damage(&data, &b"H".repeat(100), false);
    damage(&data, &b"K".repeat(100), true);
    let found = invar_check(&data);
    let said = text(&found);
    assert_eq!(found.status.code(), Some(1), "{said}");
    for part in
        ["(shop.victim, rows): checksum", "(shop.hidden, rows): checksum", "(shop.keyed, index k): checksum"]
    {
        let line =
            said.lines().find(|line| line.contains(part)).unwrap_or_else(|| panic!("no {part} in {said}"));
        assert!(line.starts_with("damaged: file data, block "), "{line}");
    }
    assert!(!said.contains("shop.other, "), "{said}");

    let log = folder.path().join("error.log");
    let server = Server::start_in(
        std::sync::Arc::clone(&folder),
        &["--skip-ssl", &format!("--log-error={}", log.display())],
    );
    let mut root = server.root();
    let answers = [
        (1877, "SELECT max(pad) FROM shop.victim"),
        (1877, "SELECT pad FROM shop.victim WHERE id = 200"),
        (1877, "UPDATE shop.victim SET pad = 'x' WHERE id = 200"),
        (1877, "INSERT INTO shop.hidden VALUES (1000, 'x')"),
        (1712, "SELECT count(*) FROM shop.keyed FORCE INDEX (k) WHERE k > ''"),
        (0, "SELECT max(k) FROM shop.keyed IGNORE INDEX (k)"),
        (0, "SELECT sum(length(big)), max(pad) FROM shop.other"),
        (0, "UPDATE shop.other SET pad = 'changed'"),
        (0, "INSERT INTO shop.other (id, pad) VALUES (1000, 'x')"),
        (0, "CREATE TABLE shop.fresh AS SELECT * FROM shop.other"),
    ];
    for (expected, sql) in answers {
        assert_eq!(number(&mut root, sql).expect("it answers"), expected, "{sql}");
    }
    let told = rows(&mut root, "CHECK TABLE shop.victim, shop.keyed, shop.other");
    assert!(told[0].starts_with("shop.victim|check|Warning|rows: data file, block "), "{told:?}");
    assert!(told.contains(&"shop.victim|check|error|Corrupt".to_owned()), "{told:?}");
    assert!(told.iter().any(|line| line.starts_with("shop.keyed|check|Warning|index k: ")), "{told:?}");
    assert_eq!(told.last().map(String::as_str), Some("shop.other|check|status|OK"));
    let logged = std::fs::read_to_string(&log).expect("the error log");
    assert!(logged.contains("table shop.victim, tree") && logged.contains("checksum"), "{logged}");
    // The repair: the index is built again from the rows, damaged tables are dropped.
    for sql in [
        "ALTER TABLE shop.keyed DROP INDEX k, ADD INDEX k (k)",
        "DROP TABLE shop.victim",
        "DROP TABLE shop.hidden",
    ] {
        assert_eq!(number(&mut root, sql).expect("it answers"), 0, "{sql}");
    }
    assert_eq!(rows(&mut root, "SELECT count(*) FROM shop.keyed FORCE INDEX (k) WHERE k > ''"), ["400"]);
    server.stop();
    let repaired = invar_check(&data);
    assert_eq!(repaired.status.code(), Some(0), "{}", text(&repaired));
}
