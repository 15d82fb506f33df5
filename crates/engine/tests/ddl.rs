//! DDL against what a real MySQL 9.7 said (`ddl/*.expected`, written by `ddl/refresh.py`), and DDL over crashes.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use catalog::show_create_table;
use engine::ddl::{self, Context, Definitions, Outcome};
use env::simulated::SimWorld;
use service::error::{Diagnostic, Level, SqlError};
use session::backend::DefinitionSession;
use session::temporary::TemporaryTables;
use store::{LockWait, Options, Store};
use syntax::SqlMode;
use syntax::ast::Statement;
use table::{Table, Utc, WriteContext};
use types::charset::Charset;
use types::temporal::zone::TimeZone;
use types::{Cell, CollationId};

/// 9.7's default sql_mode without ONLY_FULL_GROUP_BY.
const STRICT: u64 = 1 << 21 | 1 << 23 | 1 << 24;

/// One session without a server.
struct Session {
    store: Store,
    definitions: Definitions,
    temporary: TemporaryTables,
    database: Option<String>,
    sql_mode: u64,
    warnings: Vec<Diagnostic>,
}

impl Session {
    fn open(world: &SimWorld) -> Self {
        let options =
            Options { background_threads: false, buffer_pool_bytes: 16 << 20, ..Options::default() };
        let store = Store::open(world.env(), Path::new("/data"), options).unwrap();
        let definitions = Definitions::open(&store, Vec::new()).unwrap();
        Self {
            store,
            definitions,
            temporary: TemporaryTables::default(),
            database: None,
            sql_mode: STRICT,
            warnings: Vec::new(),
        }
    }

    fn run(&mut self, sql: &str) -> Result<Outcome, Box<SqlError>> {
        let arena = bumpalo::Bump::new();
        let parsed = syntax::parse(sql.as_bytes(), &arena, SqlMode::default())
            .map_err(|error| SqlError::new(error.number, *b"42000", error.message.clone()))?;
        self.warnings.clear();
        let mut context = Context {
            definitions: &self.definitions,
            session: DefinitionSession {
                database: self.database.as_deref(),
                sql_mode: self.sql_mode,
                text: sql.as_bytes(),
                zone: &TimeZone::UTC,
                server_collation: CollationId::UTF8MB4_0900_AI_CI,
                literal_charset: Charset::Utf8mb4,
                foreign_key_checks: true,
                restrict_foreign_keys: true,
                lock_wait: access::MetadataWait::up_to(Duration::from_millis(20)),
                now_micros: 1_700_000_000_123_456,
            },
            locked_tables: &engine::metadata::MetadataLocks::default(),
            temporary: &mut self.temporary,
            warnings: &mut self.warnings,
        };
        match parsed.statement {
            Statement::CreateTable(statement) => {
                ddl::create_table(&mut context, statement, &[]).map(|done| done.0)
            }
            Statement::AlterTable(statement) => ddl::alter_table(&mut context, statement),
            Statement::CreateIndex(statement) => ddl::create_index(&mut context, statement),
            Statement::DropIndex(statement) => ddl::drop_index(&mut context, statement),
            Statement::DropTable(statement) => ddl::drop_tables(&mut context, statement),
            Statement::Truncate(name) => ddl::truncate_table(&mut context, &name),
            Statement::RenameTable(pairs) => ddl::rename_tables(&mut context, pairs),
            Statement::CreateDatabase(statement) => ddl::create_schema(&mut context, statement),
            Statement::AlterDatabase(statement) => ddl::alter_schema(&mut context, statement),
            Statement::DropDatabase { if_exists, name } => ddl::drop_schema(&mut context, &name, if_exists),
            other => panic!("not DDL: {other:?}"),
        }
    }

    fn show(&mut self, schema: &str, name: &str) -> Option<String> {
        let catalog = self.temporary.overlay(&self.definitions.catalog().load());
        let entry = catalog.table(schema, name)?;
        let text = show_create_table(&entry.definition, entry.source.auto_increment_next());
        Some(String::from_utf8_lossy(&text).into_owned())
    }

    fn insert(&self, schema: &str, name: &str, cells: &[Cell<'_>]) {
        let catalog = self.definitions.catalog().load();
        let table = Table::of(&catalog.table(schema, name).unwrap().source).unwrap();
        let mut transaction = self.store.begin();
        let context = WriteContext { zone: &Utc, wait: LockWait::Nowait, reader: None };
        table.insert(&mut transaction, cells, context).unwrap();
        let position = transaction.commit().unwrap().unwrap();
        self.store.sync_to(position).unwrap();
    }

    /// The rows of a table, printed.
    fn rows(&self, schema: &str, name: &str) -> String {
        let catalog = self.definitions.catalog().load();
        let table = Table::of(&catalog.table(schema, name).unwrap().source).unwrap();
        let columns = &table.definition().columns;
        let mut batch = types::Batch::new(columns.iter().map(|column| column.data_type.physical()));
        let view = self.store.read_view();
        let mut scan = table.scan(table::ScanRequest {
            index: None,
            ranges: vec![table::KeyBytesRange::ALL],
            reverse: false,
            columns: (0..columns.len()).collect(),
            parts: Vec::new(),
        });
        let mut out = Vec::new();
        while scan.next_batch(view.reader(), &Utc, &mut batch, None).unwrap() {
            for row in 0..batch.row_count {
                for (column, definition) in batch.columns.iter().zip(columns) {
                    table::print_cell(column.cell(row), &definition.data_type, &mut out);
                    out.push(b' ');
                }
                out.push(b'\n');
            }
        }
        String::from_utf8(out).unwrap()
    }
}

fn outcome(session: &mut Session, sql: &str) -> String {
    let mut out = String::new();
    let result = session.run(sql);
    for warning in &session.warnings {
        let level = match warning.level {
            Level::Note => "Note",
            Level::Warning => "Warning",
            Level::Error => "Error",
        };
        writeln!(out, "{level} (Code {}): {}", warning.number, warning.message).unwrap();
    }
    match result {
        Ok(_) => out.push_str(&session.show("ddl_expected", "t").unwrap_or_else(|| "no table".into())),
        Err(error) => {
            let state = String::from_utf8_lossy(&error.state).into_owned();
            write!(out, "ERROR {} ({state}): {}", error.number, error.message).unwrap();
        }
    }
    out
}

/// What differs from MySQL on purpose, or waits: the statement and why.
const KNOWN: &[(&str, &str)] = &[
    ("(a point)", "spatial types"),
    ("geometry", "spatial types"),
    ("spatial", "spatial types"),
    ("fulltext", "full-text indexes"),
    ("partition by", "partitions"),
    ("key((a + 1))", "functional indexes"),
    ("b int as (a + 1)", "generated columns"),
    ("column_format", "column formats are not kept"),
    ("h float unsigned zerofill", "the tree does not tell a written UNSIGNED from that of ZEROFILL"),
    ("modify a bigint, algorithm=instant", "integers get wider in an instant here"),
    ("b char(3) ascii", "the tree does not tell ASCII from CHARACTER SET latin1"),
];

/// Runs every line of a file of expectations; answers how many were met and shows the others.
fn compare(expected: &str) -> (usize, String) {
    let mut session = Session::open(&SimWorld::new(1));
    let (mut same, mut differing) = (0, String::new());
    for block in expected.split("\n\n") {
        let Some((line, wanted)) = block.trim_start().split_once('\n') else { continue };
        let line = line.strip_prefix("> ").unwrap();
        session.database = None;
        session.temporary.drop_all();
        session.definitions.drop_temporary(&session.temporary.take_dropped()).unwrap();
        let _ = session.run("drop database if exists ddl_expected");
        session.run("create database ddl_expected").unwrap();
        session.database = Some("ddl_expected".into());
        let mut statements: Vec<&str> = line.split(";;").collect();
        let last = statements.pop().unwrap().trim();
        for setup in statements {
            if let Err(error) = session.run(setup.trim()) {
                assert!(KNOWN.iter().any(|(part, _)| line.contains(part)), "{setup}: {error}");
            }
        }
        let got = outcome(&mut session, last);
        if got == wanted.trim_end() {
            same += 1;
        } else if !KNOWN.iter().any(|(part, _)| line.contains(part)) {
            writeln!(differing, "> {line}\n--- MySQL\n{}\n--- Invar\n{got}\n", wanted.trim_end()).unwrap();
        }
    }
    (same, differing)
}

#[test]
fn create_table_answers_as_mysql_does() {
    let (same, differing) = compare(include_str!("ddl/create_table.expected"));
    assert!(differing.is_empty(), "{differing}");
    assert!(same >= 150, "{same}");
}

#[test]
fn alter_table_answers_as_mysql_does() {
    let (same, differing) = compare(include_str!("ddl/alter_table.expected"));
    assert!(differing.is_empty(), "{differing}");
    assert!(same >= 90, "{same}");
}

fn started(world: &SimWorld) -> Session {
    let mut session = Session::open(world);
    session.run("create database d").unwrap();
    session.database = Some("d".into());
    session
}

/// An added column answers old rows from its default without touching them; rows of both layouts live side by side; a
/// later rebuild writes all of them in the newest layout.
#[test]
fn columns_are_added_in_an_instant_and_rebuilt_later() {
    let mut session = started(&SimWorld::new(2));
    session.run("create table t (id int primary key, name varchar(20), key (name))").unwrap();
    session.insert("d", "t", &[Cell::Int(2), Cell::Bytes(b"two")]);
    session.insert("d", "t", &[Cell::Int(1), Cell::Null]);
    let done = session.run("alter table t add size int not null default 7, add note varchar(9)").unwrap();
    assert_eq!((done.affected_rows, done.info.as_str()), (0, "Records: 0  Duplicates: 0  Warnings: 0"));
    session.insert("d", "t", &[Cell::Int(3), Cell::Bytes(b"three"), Cell::Int(9), Cell::Bytes(b"n")]);
    assert_eq!(session.rows("d", "t"), "1 NULL 7 NULL \n2 two 7 NULL \n3 three 9 n \n");
    let done = session.run(
        "alter table t modify size varchar(5) first, drop note, add primary key (name, id), drop primary key",
    );
    assert_eq!(
        done.unwrap_err().number,
        1265,
        "the NULL name cannot be in a primary key; MySQL copies for the type"
    );
    let done =
        session.run("alter table t modify size varchar(5) first, drop note, add index (size)").unwrap();
    assert_eq!((done.affected_rows, done.info.as_str()), (3, "Records: 3  Duplicates: 0  Warnings: 0"));
    assert_eq!(session.rows("d", "t"), "7 1 NULL \n7 2 two \n9 3 three \n");
    let error = session.run("alter table t add unique (size)").unwrap_err();
    assert_eq!((error.number, error.message.as_str()), (1062, "Duplicate entry '7' for key 't.size_2'"));
    session.run("create unique index name2 on t (name)").unwrap();
    session.run("truncate t").unwrap();
    assert_eq!(session.rows("d", "t"), "");
}

/// Columns come and go, move and widen in an instant; a row written under any of the layouts says the same as if all had been
/// rebuilt, also after a restart, and after it was changed.
#[test]
fn rows_of_many_layouts_live_side_by_side() {
    let world = SimWorld::new(7);
    let mut session = started(&world);
    session.run("create table t (id int primary key, a smallint not null, b varchar(9), key (b))").unwrap();
    let mut expected = String::new();
    for number in 0..64_i64 {
        session.insert("d", "t", &[Cell::Int(number), Cell::Int(number), Cell::Bytes(b"b")]);
        let place = if number % 2 == 0 { "first" } else { "after a" };
        session
            .run(&format!(
                "alter table t add c{number} int unsigned default {number} {place}, algorithm=instant"
            ))
            .unwrap();
        session.run(&format!("alter table t modify c{number} bigint after b, algorithm=instant")).unwrap();
        session.run(&format!("alter table t drop c{number}, algorithm=instant")).unwrap();
        writeln!(expected, "{number} {number} b ").unwrap();
    }
    session.run("alter table t modify a int null, algorithm=instant").unwrap();
    session.insert("d", "t", &[Cell::Int(64), Cell::Null, Cell::Null]);
    expected.push_str("64 NULL NULL \n");
    let position =
        session.run("alter table t add z int default 26 after id, algorithm=instant").unwrap().position;
    assert!(session.definitions.catalog().load().table("d", "t").unwrap().definition.row_version > 128);
    session.store.sync_to(position.unwrap()).unwrap();
    drop(session);
    let mut session = Session::open(&world.crash());
    session.database = Some("d".into());
    session.run("alter table t drop z, algorithm=instant").unwrap();
    assert_eq!(session.rows("d", "t"), expected);
    session.run("alter table t force").unwrap();
    assert_eq!(session.rows("d", "t"), expected);
    let definition = session.definitions.catalog().load().table("d", "t").unwrap().definition.clone();
    assert_eq!((definition.row_version, definition.dropped_columns.len()), (0, 0));
}

/// What does not fit the new type is an error with the row's number in strict mode, a warning else.
#[test]
fn conversions_of_a_rebuild_are_checked() {
    let mut session = started(&SimWorld::new(3));
    session.run("create table t (a int, b varchar(10))").unwrap();
    session.insert("d", "t", &[Cell::Int(1), Cell::Bytes(b"12")]);
    session.insert("d", "t", &[Cell::Int(300), Cell::Bytes(b"x")]);
    let error = session.run("alter table t modify a tinyint").unwrap_err();
    assert_eq!((error.number, error.message.as_str()), (1264, "Out of range value for column 'a' at row 2"));
    assert_eq!(session.rows("d", "t"), "1 12 \n300 x \n");
    session.sql_mode = 0;
    let done = session.run("alter table t modify a tinyint, modify b int").unwrap();
    assert_eq!((done.affected_rows, done.info.as_str()), (2, "Records: 2  Duplicates: 0  Warnings: 2"));
    assert_eq!(session.rows("d", "t"), "1 12 \n127 0 \n");
    session.run("alter table t add id int auto_increment primary key first").unwrap();
    assert_eq!(session.rows("d", "t"), "1 1 12 \n2 127 0 \n");
    assert!(session.show("d", "t").unwrap().contains("AUTO_INCREMENT=3"));
}

/// DDL waits for a transaction that uses the table, and gives up after the timeout.
#[test]
fn ddl_waits_for_users_of_the_table() {
    let mut session = started(&SimWorld::new(4));
    session.run("create table t (a int)").unwrap();
    let entry = std::sync::Arc::clone(session.definitions.catalog().load().table("d", "t").unwrap());
    let mut locks = engine::metadata::MetadataLocks::default();
    let now = access::MetadataWait::up_to(Duration::ZERO);
    locks.lock(&entry, access::MetadataMode::Read, now).unwrap();
    locks.lock(&entry, access::MetadataMode::Write, now).unwrap();
    for sql in
        ["alter table t add b int", "drop table t", "truncate t", "rename table t to s", "drop database d"]
    {
        assert_eq!(session.run(sql).unwrap_err().number, 1205, "{sql}");
    }
    locks.release_all();
    session.run("alter table t add b int").unwrap();
    session.run("drop table t").unwrap();
}

/// After a crash at any point of a run of statements the definitions are those before or after the statement that was
/// under way, tables open, and no tree is lost or left over.
#[test]
fn definitions_survive_crashes() {
    let statements = [
        "create table a (id int primary key, x int, y varchar(3000), key (x))",
        "create table b (id int, foreign key (id) references a (id))",
        "alter table a add z int default 4, add index (z)",
        "alter table a modify x bigint first",
        "rename table b to c",
        "drop index x on a",
        "truncate c",
        "drop table c",
        "create table wide (a varchar(10) default 'x')",
        "alter table wide convert to character set latin1",
        "drop database d",
        "create database d",
    ];
    for crash_after in 0..=statements.len() {
        let world = SimWorld::new(crash_after as u64 + 10);
        let mut session = started(&world);
        let mut position = None;
        for statement in &statements[..crash_after] {
            position = session.run(statement).unwrap().position.or(position);
        }
        let texts = |session: &mut Session| -> Vec<Option<String>> {
            ["a", "b", "c", "wide"].iter().map(|name| session.show("d", name)).collect()
        };
        let before = texts(&mut session);
        if let Some(position) = position {
            session.store.sync_to(position).unwrap();
        }
        if let Some(next) = statements.get(crash_after) {
            session.run(next).unwrap(); // Not durable.
        }
        let after = texts(&mut session);
        drop(session);
        let world = world.crash();
        let mut session = Session::open(&world);
        let found = texts(&mut session);
        assert!(found == before || found == after, "{crash_after}: {found:?}");
        session.store.check().unwrap();
        let catalog = session.definitions.catalog().load();
        let owned: Vec<u64> = catalog
            .base_tables()
            .flat_map(|entry| {
                let indexes = entry.definition.indexes.iter().map(|index| index.tree.0);
                let others = [entry.definition.rows_tree.0, entry.definition.large_values_tree.0];
                indexes.chain(others).collect::<Vec<_>>()
            })
            .collect();
        let mut transaction = session.store.begin();
        for tree in session.store.tree_ids() {
            if tree.0 >= store::TreeId::FIRST_FREE.0 && !owned.contains(&tree.0) {
                // Listed still, because its pages are not free yet, but dropped.
                let again = transaction.drop_tree(tree, LockWait::Nowait);
                assert!(
                    matches!(again, Err(store::WriteError::Store(store::StoreError::TreeGone(_)))),
                    "{crash_after}: tree {tree} belongs to nobody"
                );
            }
        }
        for tree in owned.iter().filter(|&&tree| tree != 0) {
            session.store.tree(store::TreeId(*tree)).unwrap();
        }
    }
}

#[test]
fn a_session_has_a_bounded_number_of_temporary_tables() {
    let world = SimWorld::new(11);
    let mut session = started(&world);
    let mut created = 0;
    let refused = loop {
        match session.run(&format!("CREATE TEMPORARY TABLE small{created} (a INT)")) {
            Ok(_) => created += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((created, refused.number), (4096, 1005));
    assert_eq!(refused.message, "Can't create table 'small4096' (errno: 24 - Too many open files)");
    session.run("DROP TEMPORARY TABLE small7").unwrap();
    session.run("CREATE TEMPORARY TABLE small7 (a INT)").unwrap();
}
