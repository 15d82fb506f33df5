//! A service of a few words for tests and measurements: no tables, every way of answering.
//!
//! | statement | answer |
//! | --- | --- |
//! | `SELECT n`, `SELECT @@anything` | one row with n, or with a value that clients accept |
//! | `ECHO text` | one row with the text |
//! | `ROWS n bytes` | n rows of this many bytes |
//! | `SLEEP ms` | OK after waiting, unless killed |
//! | `SPIN ms` | OK after computing |
//! | `COMPUTE ms` | OK after computing, unless killed, without a word that it takes long |
//! | `HOLD`, `RELEASE` | OK when the one lock there is was free, and is taken; OK, and it is given back |
//! | `PASS` | OK when the lock was free once; requeued if it must not wait |
//! | `COMMIT` | OK once the log is durable |
//! | `LOAD name` | the number of bytes in the client's file |
//! | `KILL n`, `SET ..`, `PANIC`, `ERROR` | OK, OK, a broken session, 1146 |
//!
//! Prepared statements answer one row with their parameters. Several statements are separated by `;`.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "shared by tests and an example, each using a part"
)]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use service::error::{
    ER_LOCK_WAIT_TIMEOUT, ER_NO_SUCH_TABLE, ER_NO_SUCH_THREAD, ER_PARSE_ERROR, ER_UNKNOWN_STMT_HANDLER,
};
use service::{
    Account, AuthPlugin, ChangeUserRequest, ClientHost, CommandOutcome, ConnectRequest, ConnectionControl,
    ConnectionEvent, DurableListener, ExecuteRequest, Kill, Limits, OkSummary, Outcome, Reply, RowFormat,
    Service, Session, SetOption, SqlError, StatusFlags,
};
use wire::flags::{ColumnFlags, ColumnType};
use wire::parameter::{ParameterType, ParameterValue, Parameters};
use wire::{ColumnDefinition, EncodedColumns, auth, row};

pub struct Echo {
    pub limits: Mutex<Limits>,
    pub idle_timeout_s: AtomicU64,
    pub events: Mutex<Vec<ConnectionEvent>>,
    controls: Mutex<HashMap<u64, Arc<ConnectionControl>>>,
    appended: AtomicU64,
    durable: AtomicU64,
    pub syncs: AtomicUsize,
    pub requested_syncs: AtomicUsize,
    pub sync_time: Duration,
    asked: Mutex<u64>,
    asked_more: Condvar,
    listeners: Mutex<Vec<DurableListener>>,
    /// Who has the one lock; who waits for it.
    held: Mutex<bool>,
    released: Condvar,
    pub held_waiters: AtomicUsize,
    /// How long a statement may be requeued, in milliseconds.
    pub requeue_ms: AtomicU64,
    one_column: EncodedColumns,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn column(name: &[u8]) -> ColumnDefinition<'_> {
    ColumnDefinition {
        schema: b"",
        table: b"",
        org_table: b"",
        name,
        org_name: b"",
        collation: 255,
        length: 1024,
        column_type: ColumnType::VarString,
        flags: ColumnFlags::NONE,
        decimals: 31,
    }
}

impl Echo {
    pub fn new(sync_time: Duration) -> Arc<Echo> {
        let echo = Arc::new(Echo {
            limits: Mutex::new(Limits::default()),
            idle_timeout_s: AtomicU64::new(28_800),
            events: Mutex::default(),
            controls: Mutex::default(),
            appended: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            syncs: AtomicUsize::new(0),
            requested_syncs: AtomicUsize::new(0),
            sync_time,
            asked: Mutex::new(0),
            asked_more: Condvar::new(),
            listeners: Mutex::default(),
            held: Mutex::new(false),
            released: Condvar::new(),
            held_waiters: AtomicUsize::new(0),
            requeue_ms: AtomicU64::new(60_000),
            one_column: EncodedColumns::new([column(b"value")].into_iter()),
        });
        let flusher = Arc::downgrade(&echo);
        std::thread::spawn(move || {
            loop {
                let Some(echo) = flusher.upgrade() else { return };
                let asked = lock(&echo.asked);
                let asked = echo
                    .asked_more
                    .wait_timeout(asked, Duration::from_millis(100))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
                let position = *asked;
                drop(asked);
                if position > echo.durable.load(Ordering::SeqCst) {
                    let _ = echo.sync_inline(position);
                    for listener in lock(&echo.listeners).iter() {
                        listener();
                    }
                }
            }
        });
        echo
    }

    pub fn count(&self, event: ConnectionEvent) -> usize {
        lock(&self.events).iter().filter(|&&seen| seen == event).count()
    }
}

pub fn accounts() -> Vec<(&'static str, AuthPlugin, &'static str, bool, bool)> {
    vec![
        ("root", AuthPlugin::CachingSha2, "", false, false),
        ("sha", AuthPlugin::CachingSha2, "secret", false, false),
        ("native", AuthPlugin::Native, "secret", false, false),
        ("locked", AuthPlugin::Native, "secret", false, true),
        ("tls", AuthPlugin::CachingSha2, "secret", true, false),
    ]
}

/// The service as the server sees it: the trait is implemented for a handle so that sessions can hold it too.
pub struct Handle(pub Arc<Echo>);

impl Service for Handle {
    fn server_version(&self) -> String {
        "9.7.0-echo".to_owned()
    }

    fn find_account(&self, user: &str, _host: &ClientHost) -> Option<Account> {
        let (user, plugin, password, require_tls, locked) =
            accounts().into_iter().find(|row| row.0 == user)?;
        let stored = match plugin {
            AuthPlugin::Native => auth::native_stored(password.as_bytes()).into_bytes(),
            AuthPlugin::CachingSha2 => auth::sha2_stored(password.as_bytes(), b"12345678901234567890"),
        };
        Some(Account {
            user: user.to_owned(),
            host: "%".to_owned(),
            plugin,
            stored,
            second_stored: Vec::new(),
            password: service::PasswordExpiry::Valid,
            require_tls,
            locked,
            connection_admin: user == "root",
        })
    }

    fn connect(&self, request: ConnectRequest) -> Result<Box<dyn Session>, Box<SqlError>> {
        lock(&self.0.controls).insert(request.control.connection_id, Arc::clone(&request.control));
        Ok(Box::new(EchoSession {
            echo: Arc::clone(&self.0),
            control: request.control,
            user: request.user,
            statements: HashMap::new(),
            holds: false,
        }))
    }

    fn limits(&self) -> Limits {
        *lock(&self.0.limits)
    }

    fn note(&self, event: ConnectionEvent) {
        if !matches!(event, ConnectionEvent::Traffic { .. }) {
            lock(&self.0.events).push(event);
        }
    }

    fn durable_position(&self) -> u64 {
        self.0.durable.load(Ordering::SeqCst)
    }

    fn sync_inline(&self, position: u64) -> Outcome {
        self.0.sync_inline(position)
    }

    fn try_sync_inline(&self, position: u64) -> Result<bool, Box<SqlError>> {
        self.0.sync_inline(position).map(|()| true)
    }

    fn request_sync(&self, position: u64) {
        self.0.requested_syncs.fetch_add(1, Ordering::SeqCst);
        let mut asked = lock(&self.0.asked);
        *asked = position.max(*asked);
        drop(asked);
        self.0.asked_more.notify_all();
    }

    fn on_durable(&self, listener: DurableListener) {
        lock(&self.0.listeners).push(listener);
    }

    fn log_failure(&self) -> Option<Box<SqlError>> {
        None
    }
}

impl Echo {
    fn sync_inline(&self, position: u64) -> Outcome {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if !self.sync_time.is_zero() {
            std::thread::sleep(self.sync_time);
        }
        self.durable.fetch_max(position, Ordering::SeqCst);
        Ok(())
    }
}

struct EchoSession {
    echo: Arc<Echo>,
    control: Arc<ConnectionControl>,
    user: String,
    statements: HashMap<u32, Prepared>,
    holds: bool,
}

#[derive(Default)]
struct Prepared {
    parameter_count: usize,
    types: Vec<ParameterType>,
    long_data: HashMap<u16, Vec<u8>>,
    cursor: Option<u32>,
}

impl Drop for EchoSession {
    fn drop(&mut self) {
        lock(&self.echo.controls).remove(&self.control.connection_id);
    }
}

const STATUS: StatusFlags = StatusFlags::AUTOCOMMIT;

fn ok(reply: &mut Reply<'_>) -> Outcome {
    reply.ok(&OkSummary { status: STATUS, ..OkSummary::default() })
}

impl EchoSession {
    fn one_row(&self, value: &[u8], reply: &mut Reply<'_>) -> Outcome {
        reply.columns(&self.echo.one_column, STATUS, 0)?;
        put_row(value, reply)?;
        reply.end_rows(STATUS, 0)
    }

    fn statement(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
        let text = String::from_utf8_lossy(sql);
        let mut text = text.trim();
        if text.starts_with("/*") {
            text = text.split_once("*/").map_or("", |(_, rest)| rest.trim());
        }
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let number = |at: usize| rest.split(' ').nth(at).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        match word.to_ascii_uppercase().as_str() {
            // The mysql 9 shell asks this and counts on an error.
            "SELECT" if rest == "$$" => {
                Err(ER_PARSE_ERROR.with(&[&"You have an error in your SQL syntax", &text, &1]))
            }
            "SELECT" if text.contains("@@") => variables(rest, reply),
            "SELECT" if rest.eq_ignore_ascii_case("user()") => self.one_row(self.user.as_bytes(), reply),
            "SELECT" => self.one_row(rest.as_bytes(), reply),
            "ECHO" => self.one_row(&sql[5..], reply),
            "ROWS" => {
                reply.columns(&self.echo.one_column, STATUS, 0)?;
                let value = vec![b'x'; number(1) as usize];
                for _ in 0..number(0) {
                    self.control.check()?;
                    put_row(&value, reply)?;
                }
                reply.end_rows(STATUS, 0)
            }
            "SLEEP" => {
                let waiter = Arc::new((Mutex::new(false), Condvar::new()));
                let woken = Arc::clone(&waiter);
                self.control.set_waiter(Some(Box::new(move || {
                    *lock(&woken.0) = true;
                    woken.1.notify_all();
                })));
                env::blocking::around(|| {
                    let killed = lock(&waiter.0);
                    let wait =
                        waiter
                            .1
                            .wait_timeout_while(killed, Duration::from_millis(number(0)), |killed| !*killed);
                    drop(wait);
                });
                self.control.set_waiter(None);
                self.control.check()?;
                ok(reply)
            }
            "SPIN" => {
                let end = Instant::now() + Duration::from_millis(number(0));
                while Instant::now() < end {
                    for _ in 0..1000 {
                        std::hint::spin_loop();
                    }
                    env::blocking::tick();
                }
                ok(reply)
            }
            "COMPUTE" => {
                let end = Instant::now() + Duration::from_millis(number(0));
                while Instant::now() < end {
                    self.control.check()?;
                    std::hint::spin_loop();
                }
                ok(reply)
            }
            "HOLD" | "PASS" => {
                self.wait_for_lock()?;
                if word == "HOLD" {
                    *lock(&self.echo.held) = true;
                    self.holds = true;
                }
                ok(reply)
            }
            "RELEASE" => {
                *lock(&self.echo.held) = false;
                self.holds = false;
                self.echo.released.notify_all();
                ok(reply)
            }
            "COMMIT" => {
                let position = self.echo.appended.fetch_add(1, Ordering::SeqCst) + 1;
                reply.wait_for(position);
                ok(reply)
            }
            "LOAD" => {
                reply.request_local_file(rest.as_bytes())?;
                let mut bytes = 0;
                let mut chunk = Vec::new();
                while reply.read_local_chunk(&mut chunk)? {
                    bytes += chunk.len() as u64;
                }
                reply.ok(&OkSummary {
                    affected_rows: bytes,
                    status: STATUS,
                    info: "loaded",
                    ..OkSummary::default()
                })
            }
            "KILL" => self.kill(number(0), reply),
            "SET" | "USE" | "BEGIN" | "ROLLBACK" => ok(reply),
            "PANIC" => panic!("a broken session"),
            "ERROR" => Err(ER_NO_SUCH_TABLE.with(&[&"test", &"t"])),
            _ => Err(ER_PARSE_ERROR.with(&[&"You have an error in your SQL syntax", &text, &1])),
        }
    }

    /// Waits until nobody has the lock, killed, or refused its wait.
    fn wait_for_lock(&mut self) -> Outcome {
        /// A waiter looks so often whether it was killed.
        const LOOK: Duration = Duration::from_millis(20);
        self.control.check()?;
        if !*lock(&self.echo.held) {
            return Ok(());
        }
        let wait = env::blocking::WaitForOthers { may_requeue: true, wait_queue: None };
        let guard = env::blocking::try_enter(wait).map_err(|refused| match refused {
            env::blocking::Refused::NoThread => SqlError::refused_wait(),
            env::blocking::Refused::TimeOver => ER_LOCK_WAIT_TIMEOUT.bare(),
        })?;
        self.echo.held_waiters.fetch_add(1, Ordering::SeqCst);
        let mut held = lock(&self.echo.held);
        while *held && !self.control.is_killed() {
            held = self.echo.released.wait_timeout(held, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        drop(held);
        self.echo.held_waiters.fetch_sub(1, Ordering::SeqCst);
        drop(guard);
        self.control.check()
    }

    fn run(&mut self, request: ExecuteRequest<'_>, reply: &mut Reply<'_>) -> Outcome {
        let Some(statement) = self.statements.get_mut(&request.statement_id) else {
            return Err(ER_UNKNOWN_STMT_HANDLER.with(&[&request.statement_id, &"mysql_stmt_precheck"]));
        };
        let malformed = |_| service::error::ER_MALFORMED_PACKET.bare();
        let mut parameters = Parameters::read(
            request.parameters,
            request.flags,
            request.query_attributes,
            statement.parameter_count,
            &mut statement.types,
        )
        .map_err(malformed)?;
        let mut text = String::new();
        for index in 0..statement.parameter_count {
            let long = statement.long_data.get(&(index as u16));
            match parameters.next_value(long.is_some()).map_err(malformed)? {
                ParameterValue::Bytes(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                ParameterValue::LongData => {
                    text.push_str(&String::from_utf8_lossy(long.map_or(&[][..], Vec::as_slice)));
                }
                value => text.push_str(&format!("{value:?}")),
            }
            text.push('|');
        }
        if request.flags & 1 != 0 {
            statement.cursor = Some(5);
            return reply.columns_with_cursor(&self.echo.one_column, STATUS, 0);
        }
        self.one_row(text.as_bytes(), reply)
    }

    fn kill(&mut self, id: u64, reply: &mut Reply<'_>) -> Outcome {
        let control = lock(&self.echo.controls).get(&id).cloned();
        match control {
            Some(control) => {
                control.kill(Kill::Connection);
                self.control.check()?;
                ok(reply)
            }
            None => Err(ER_NO_SUCH_THREAD.with(&[&id])),
        }
    }
}

/// `SELECT @@a AS x, @@b ...`: what drivers ask when they connect, in values they accept.
fn variables(list: &str, reply: &mut Reply<'_>) -> Outcome {
    let list = list.split(" limit ").next().unwrap_or(list);
    let mut names = Vec::new();
    let mut values = Vec::new();
    for item in list.split(',') {
        let mut words = item.split_whitespace();
        let variable = words.next().unwrap_or("");
        names.push(words.last().unwrap_or(variable));
        values.push(match variable.rsplit(['.', '@']).next().unwrap_or("") {
            "time_zone" | "system_time_zone" => "UTC",
            "character_set_client"
            | "character_set_connection"
            | "character_set_results"
            | "character_set_server" => "utf8mb4",
            "collation_connection" | "collation_server" => "utf8mb4_0900_ai_ci",
            "transaction_isolation" | "tx_isolation" => "REPEATABLE-READ",
            "sql_mode" | "init_connect" | "version_comment" | "license" => "",
            "max_allowed_packet" => "67108864",
            "net_write_timeout" | "wait_timeout" | "interactive_timeout" => "28800",
            "auto_increment_increment" => "1",
            _ => "0",
        });
    }
    reply.columns(&EncodedColumns::new(names.iter().map(|name| column(name.as_bytes()))), STATUS, 0)?;
    let payload = reply.begin_row();
    for value in values {
        row::put_text_bytes(payload, value.as_bytes());
    }
    reply.end_row()?;
    reply.end_rows(STATUS, 0)
}

fn put_row(value: &[u8], reply: &mut Reply<'_>) -> Outcome {
    match reply.row_format() {
        RowFormat::Text => row::put_text_bytes(reply.begin_row(), value),
        RowFormat::Binary => {
            let out = reply.begin_row();
            row::begin_binary(out, 1);
            row::put_binary_bytes(out, value);
        }
    }
    reply.end_row()
}

impl Session for EchoSession {
    fn may_hold_locks(&self) -> bool {
        self.holds
    }

    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> CommandOutcome {
        let mut statements = sql.split(|&byte| byte == b';').peekable();
        while let Some(statement) = statements.next() {
            let more = statements.peek().is_some_and(|rest| !rest.trim_ascii().is_empty());
            reply.more_results(more);
            match self.statement(statement, reply) {
                Ok(()) => {}
                Err(error) if error.is_refused_wait() => {
                    let within = Duration::from_millis(self.echo.requeue_ms.load(Ordering::SeqCst));
                    return CommandOutcome::Requeue(within);
                }
                Err(error) => return CommandOutcome::Failed(error),
            }
            if !more {
                break;
            }
        }
        CommandOutcome::Done(())
    }

    fn prepare(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome {
        let id = self.statements.len() as u32 + 1;
        let parameter_count = sql.iter().filter(|&&byte| byte == b'?').count();
        self.statements.insert(id, Prepared { parameter_count, ..Prepared::default() });
        let parameters = EncodedColumns::new((0..parameter_count).map(|_| column(b"?")));
        reply.prepared(id, &parameters, &self.echo.one_column, STATUS, 0)
    }

    fn execute(&mut self, request: ExecuteRequest<'_>, reply: &mut Reply<'_>) -> CommandOutcome {
        self.run(request, reply).into()
    }

    fn send_long_data(&mut self, statement_id: u32, parameter: u16, data: &[u8]) {
        if let Some(statement) = self.statements.get_mut(&statement_id) {
            statement.long_data.entry(parameter).or_default().extend_from_slice(data);
        }
    }

    fn fetch(&mut self, statement_id: u32, row_count: u32, reply: &mut Reply<'_>) -> Outcome {
        let Some(left) =
            self.statements.get_mut(&statement_id).and_then(|statement| statement.cursor.as_mut())
        else {
            return Err(ER_UNKNOWN_STMT_HANDLER.with(&[&statement_id, &"mysqld_stmt_fetch"]));
        };
        let rows = row_count.min(*left);
        *left -= rows;
        let last = *left == 0;
        for _ in 0..rows {
            put_row(b"fetched", reply)?;
        }
        let status = if last { StatusFlags::LAST_ROW_SENT } else { StatusFlags::CURSOR_EXISTS };
        reply.end_rows(STATUS | status, 0)
    }

    fn reset_statement(&mut self, statement_id: u32, reply: &mut Reply<'_>) -> Outcome {
        if let Some(statement) = self.statements.get_mut(&statement_id) {
            statement.long_data.clear();
        }
        ok(reply)
    }

    fn close_statement(&mut self, statement_id: u32) {
        self.statements.remove(&statement_id);
    }

    fn init_db(&mut self, _database: &[u8], reply: &mut Reply<'_>) -> Outcome {
        ok(reply)
    }

    fn field_list(&mut self, _table: &[u8], _wildcard: &[u8], reply: &mut Reply<'_>) -> Outcome {
        reply
            .field_list(&EncodedColumns::with_defaults([(column(b"c"), Some(&b"7"[..]))].into_iter()), STATUS)
    }

    fn statistics(&mut self, reply: &mut Reply<'_>) -> Outcome {
        reply.raw(b"Uptime: 1");
        Ok(())
    }

    fn set_option(&mut self, _option: SetOption, reply: &mut Reply<'_>) -> Outcome {
        reply.end_rows(STATUS, 0)
    }

    fn change_user(&mut self, request: ChangeUserRequest, reply: &mut Reply<'_>) -> Outcome {
        self.user = request.user;
        self.statements.clear();
        ok(reply)
    }

    fn reset_connection(&mut self, reply: &mut Reply<'_>) -> Outcome {
        self.statements.clear();
        ok(reply)
    }

    fn process_kill(&mut self, connection_id: u32, reply: &mut Reply<'_>) -> Outcome {
        self.kill(u64::from(connection_id), reply)
    }

    fn ping(&mut self, reply: &mut Reply<'_>) -> Outcome {
        ok(reply)
    }

    fn idle_timeout_s(&self) -> u64 {
        self.echo.idle_timeout_s.load(Ordering::SeqCst)
    }

    fn max_allowed_packet(&self) -> u32 {
        lock(&self.echo.limits).max_allowed_packet
    }
}
