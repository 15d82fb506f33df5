//! A file becomes work, and a wrong one says where and why.

use super::*;

const SMALL: &str = r##"
id = "small"
claim = "inserting is slow"
[sizes]
columns = 2
[scale]
rows = [4, 2]
[[table]]
name = "t"
columns = [
  { name = "id", type = "INT AUTO_INCREMENT" },
  { name = "c#", type = "VARCHAR(20)", fill = { text = 5 }, repeat = "columns" },
]
keys = ["PRIMARY KEY (id)"]
rows = "rows"
[op]
[[op.statement]]
sql = "INSERT INTO t ({repeat columns: c#}) VALUES {repeat rows: (?, ?)}"
params = [{ text = 3, repeat = "columns" }]
[variants.one]
statement = [{ sql = "SELECT 1" }]
[load]
mode = "closed"
connections = 2
"##;

#[test]
fn a_file_becomes_work_of_each_size() {
    let scenario = Scenario::parse(SMALL).unwrap();
    assert_eq!(scenario.scale_values(), [Some(2), Some(4)]);
    assert_eq!(scenario.variants, ["op", "one"]);
    let work = scenario.work(Some(2), "op").unwrap();
    assert_eq!(
        work.tables[0].create_statement(),
        "CREATE TABLE `t` (`id` INT AUTO_INCREMENT, `c1` VARCHAR(20), `c2` VARCHAR(20), PRIMARY KEY (id)) \
         ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
    );
    let statement = &work.op.statements[0];
    assert_eq!(statement.sql, "INSERT INTO t (c1, c2) VALUES (?, ?), (?, ?)");
    assert_eq!((statement.placeholders.len(), statement.params.len(), work.tables[0].rows), (4, 2, 2));
    assert_eq!(scenario.work(Some(2), "one").unwrap().op.statements[0].sql, "SELECT 1");
}

#[test]
fn errors_name_line_key_and_what_was_expected() {
    let cases = [
        ("id = \"small\"", "id = \"Not An Id\"", 2, "id", "expected small letters"),
        ("claim = ", "clam = ", 3, "clam", "unknown field `clam`, expected one of"),
        ("rows = [4, 2]", "rows = [4, 4]", 6, "scale", "different numbers"),
        ("rows = [4, 2]", "rows = 7", 7, "scale.rows", "expected a sequence"),
        (
            "rows = \"rows\"",
            "rows = \"rowz\"",
            15,
            "table.rows",
            "unknown size 'rowz'; expected a number or one of: columns, rows",
        ),
        ("rows = \"rows\"", "rows = -1", 15, "table.rows", "-1 is not in 0..="),
        ("{ text = 5 }", "{ txt = 5 }", 12, "", "unknown field `txt`"),
        ("{ text = 5 }", "{ text = 5, digits = 5 }", 12, "", "exactly one of: serial"),
        ("(?, ?)", "(?)", 18, "op.statement.sql", "4 '?' and 2 params"),
        ("mode = \"closed\"", "mode = \"opened\"", 23, "load.mode", "`closed` or `open`"),
        ("mode = \"closed\"", "mode = \"open\"", 23, "load.mode", "needs rate"),
        ("connections = 2", "connections = 0", 24, "load.connections", "0 is not in 1..="),
        (
            "connections = 2",
            "connections = 2\n[axes]\ndriver = [\"odbc\"]",
            26,
            "axes.driver",
            "expected one of: native",
        ),
        (
            "connections = 2",
            "connections = 2\n[axes]\ndesign = \"half\"",
            26,
            "axes.design",
            "expected \"full\" or \"fractional\"",
        ),
        (
            "connections = 2",
            "connections = 2\n[axes]\ndesign = \"fractional\"\nresolution = 9",
            27,
            "axes.resolution",
            "resolution 9; expected 3, 4 or 5",
        ),
        (
            "connections = 2",
            "connections = 2\n[axes]\nresolution = 4",
            26,
            "axes.resolution",
            "goes with design",
        ),
        ("[variants.one]", "share = 0\n[variants.one]", 20, "op.statement", "1..=1000000"),
        (
            "[variants.one]",
            "share = 9\n[[op.statement]]\nsql = \"SELECT 1\"\n[variants.one]",
            22,
            "op.statement",
            "expected a share at each",
        ),
        ("[load]", "[load", 22, "load", ""),
        (
            "claim = ",
            "hold = [\"slow_log\"]\nclaim = ",
            3,
            "hold",
            "unknown variable 'slow_log'; expected one of: sql_mode",
        ),
    ];
    for (from, to, line, key, message) in cases {
        assert!(SMALL.contains(from), "{from}");
        let text = if to.contains("(?)") {
            // An odd number of places at the larger size only would pass: check that every size is tried.
            SMALL.replace("{repeat rows: (?, ?)}", "{repeat rows: (?)}").replace("[4, 2]", "[2, 3]")
        } else {
            SMALL.replacen(from, to, 1)
        };
        let error = Scenario::parse(&text).map(|_| ()).expect_err(to);
        let shown = error.to_string();
        assert!(!shown.contains('\n'), "{shown}");
        let message = if to.contains("(?)") { "3 '?' and 2 params" } else { message };
        assert!(error.message.contains(message), "{to}: {shown}");
        assert_eq!(error.line, line, "{to}: {shown}");
        if !key.is_empty() {
            assert!(error.key.starts_with(key), "{to}: {shown}");
        }
    }
}

#[test]
fn what_only_reads_is_told_by_its_text() {
    let cases = [
        ("SELECT 1", true),
        (" (select a\nfrom t)", true),
        ("SELECT a FROM t WHERE a = 1 FOR  UPDATE", false),
        ("SELECT a FROM t LOCK IN\nSHARE MODE", false),
        ("SELECT 1 INTO OUTFILE 'x'", false),
        ("WITH x AS (SELECT 1) DELETE FROM t", false),
        ("SELECTED", false),
        ("CALL p()", false),
        ("UPDATE t SET a = (SELECT 1)", false),
    ];
    for (sql, reads) in cases {
        assert_eq!(only_reads(sql), reads, "{sql}");
    }
    let work = |id: &str| Scenario::parse(shipped::named(id).unwrap()).unwrap().work(None, "op").unwrap();
    assert!(
        work("point-select").only_reads() && work("read-only").only_reads() && !work("insert").only_reads()
    );
    // Its operation is an INSERT, and a table is emptied before each block.
    assert!(!work("bulk-load").only_reads());
}

#[test]
fn those_that_come_along_can_be_read() {
    let mut ids = std::collections::BTreeSet::new();
    for (name, text) in shipped::ALL {
        let scenario = Scenario::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(scenario.id, *name);
        assert!(ids.insert(scenario.id));
    }
    assert!(ids.len() >= 14, "{}", ids.len());
}

#[test]
fn a_misspelt_key_is_named_itself_with_the_key_that_was_meant() {
    let cases = [
        ("claim = ", "clam = ", "clam", Some("claim")),
        ("{ text = 5 }", "{ txt = 5 }", "table.txt", Some("text")),
        ("mode = \"closed\"", "mdoe = \"closed\"", "load.mdoe", Some("mode")),
        ("connections = 2", "conections = 2", "load.conections", Some("connections")),
        ("[load]", "[laod]", "laod", Some("load")),
        ("connections = 2", "connections = 2\nblock_sm = 100", "load.block_sm", Some("block_ms")),
        ("connections = 2", "connections = 2\nfrobnicate = 100", "load.frobnicate", None),
        ("claim = ", "# clam is no key = 1\nclam = ", "clam", Some("claim")),
    ];
    for (from, to, key, meant) in cases {
        assert!(SMALL.contains(from), "{from}");
        let text = SMALL.replacen(from, to, 1);
        let error = Scenario::parse(&text).map(|_| ()).expect_err(to);
        assert_eq!(error.key, key, "{to}: {error}");
        let own = key.rsplit('.').next().unwrap();
        let line = text.lines().position(|line| line.contains(own) && !line.starts_with('#')).unwrap() + 1;
        assert_eq!(error.line, line, "{to}: {error}");
        match meant {
            Some(meant) => assert!(error.message.ends_with(&format!("did you mean `{meant}`?")), "{error}"),
            None => assert!(!error.message.contains("did you mean"), "{error}"),
        }
    }
}

#[test]
fn a_key_that_is_missing_is_named_itself() {
    let cases = [
        ("claim = \"inserting is slow\"\n", "claim"),
        ("[load]\nmode = \"closed\"\nconnections = 2\n", "load"),
        ("mode = \"closed\"\n", "load.mode"),
        ("rows = \"rows\"\n", "table.rows"),
    ];
    for (gone, key) in cases {
        let text = SMALL.replacen(gone, "", 1);
        let error = Scenario::parse(&text).map(|_| ()).expect_err(key);
        assert_eq!(error.key, key, "{error}");
        assert!(error.message.starts_with("missing"), "{error}");
    }
}

#[test]
fn data_is_estimated_rather_too_large() {
    let work = |id: &str| Scenario::parse(shipped::named(id).unwrap()).unwrap().work(None, "op").unwrap();
    let bytes = work("point-select").data_bytes();
    let rows: u64 = work("point-select").tables.iter().map(|table| table.rows).sum();
    assert!(bytes > rows * 100 && bytes < rows * 2_000, "{bytes} for {rows} rows");
}
