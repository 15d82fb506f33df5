//! Data folders of each format that was ever released are checked, opened and read by today's program.

mod harness;

use std::process::Command;

use harness::Server;

/// What the fixtures hold (`first.sql`, then `second.sql` from the log), whatever their format.
const KNOWN: [(&str, &str); 12] = [
    ("SELECT count(*), sum(code), max(id) FROM kept.parent", "500|183659|512"),
    ("SELECT name, code FROM kept.parent WHERE id IN (7, 8, 512)", "renamed|7;last|100000"),
    ("SELECT id FROM kept.parent FORCE INDEX (name) WHERE name = 'name 12' LIMIT 3", "493;456;419"),
    ("SELECT count(*), sum(length(data)), max(left(data, 2)) FROM kept.child", "99|1579900|zz"),
    ("SELECT a, b FROM kept.hidden WHERE b = 'name 36'", "36|name 36"),
    ("SELECT count(*) FROM kept.hidden", "50"),
    ("SELECT * FROM kept.changed", "1|added;2|added;3|later"),
    (
        "SELECT tiny, big, dec1, f, d, da, dt, ti, y FROM kept.types WHERE id = 1",
        "-128|18446744073709551615|-12345.67890|1.5|-2.25|2026-01-31|2026-01-31 12:34:56.789|-12:34:56.78|2026",
    ),
    (
        "SELECT c, v, hex(bi), e, s, b + 0, j, length(t) FROM kept.types WHERE id = 1",
        "char|Grün|00FF10|b|x,z|257|{\"a\": [1, 2.5, null, \"x\"]}|50",
    ),
    ("SELECT unix_timestamp(ts) FROM kept.types WHERE id = 1", "1769862896.123456"),
    (
        "SELECT coalesce(tiny, big, dec1, f, d, da, dt, ts, ti, y, c, v, bi, e, s, b, j, t, 'all null') FROM kept.types WHERE id = -2",
        "all null",
    ),
    ("CALL kept.greet('you')", "Hello you"),
];

#[test]
fn folders_of_every_format_open_and_hold_what_was_written() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats");
    let mut archives: Vec<_> = std::fs::read_dir(fixtures)
        .expect("the folder of fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "xz"))
        .collect();
    archives.sort();
    assert!(!archives.is_empty());
    for archive in archives {
        let folder = std::sync::Arc::new(tempfile::tempdir().expect("a folder"));
        let unpacked = Command::new("tar").arg("-C").arg(folder.path()).arg("-xJf").arg(&archive).status();
        assert!(unpacked.expect("tar runs").success());
        let data = folder.path().join("data");
        let check = || {
            let checked =
                Command::new(env!("CARGO_BIN_EXE_invar")).arg("check").arg(&data).output().expect("it runs");
            assert!(
                checked.status.success(),
                "{}: {}",
                archive.display(),
                String::from_utf8_lossy(&checked.stdout)
            );
        };
        check();
        let server = Server::start_in(std::sync::Arc::clone(&folder), &["--skip-ssl"]);
        let mut root = server.root();
        for (sql, expected) in KNOWN {
            let mut answer = root.query(sql.as_bytes()).unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(answer.next_result().unwrap_or_else(|error| panic!("{sql}: {error}")));
            let mut rows = Vec::new();
            while let Some(row) = answer.next_row().expect("a row") {
                let cells = row
                    .cells()
                    .map(|cell| String::from_utf8_lossy(cell.as_bytes().unwrap_or(b"NULL")).into_owned());
                rows.push(cells.collect::<Vec<_>>().join("|"));
            }
            answer.finish().expect("the rest of the answer");
            assert_eq!(rows.join(";"), expected, "{}: {sql}", archive.display());
        }
        // Orphans of a hidden ALTER and the like are gone; what was read can be written.
        root.run(b"UPDATE kept.child SET data = concat(data, 'x') WHERE id < 50").expect("it writes");
        server.stop();
        check();
    }
}
