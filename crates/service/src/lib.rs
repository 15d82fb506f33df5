//! What a client connection may ask of the server that answers, and the one table of MySQL error numbers.
//!
//! `server` owns sockets and speaks the protocol; a backend (`engine` over local tables, `shard` over a fleet)
//! implements [`Service`] once and [`Session`] per connection. A session is called by one thread at a time, though not
//! always by the same; it writes its answer to a [`Reply`] or returns an error, which the server sends.
//!
//! Durability: a statement that committed calls [`Reply::wait_for`] with its log position and returns at once. The server
//! keeps the reply until [`Service::durable_position`] has passed it, and goes on with other connections meanwhile.

mod control;
pub mod error;
mod reply;

use std::borrow::Cow;
use std::sync::Arc;

pub use control::{ConnectionControl, Kill, Transport};
pub use error::{Code, Diagnostic, Level, SqlError};
pub use reply::{CommandOutcome, Discard, Link, OkSummary, Outcome, OuterReply, Reply, RowFormat};
pub use wire::flags::{Capabilities, StatusFlags};

/// How an account proves who it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AuthPlugin {
    /// `caching_sha2_password`: stored as `$A$`, rounds / 1000, `$`, 20 bytes of salt + 43 of hash.
    CachingSha2,
    /// `mysql_native_password`: stored as `*` + 40 hexadecimal digits.
    Native,
}

impl AuthPlugin {
    /// MySQL's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::CachingSha2 => "caching_sha2_password",
            AuthPlugin::Native => "mysql_native_password",
        }
    }

    /// The plugin of this name, if we have it.
    #[must_use]
    pub fn by_name(name: &[u8]) -> Option<AuthPlugin> {
        match name {
            b"caching_sha2_password" => Some(AuthPlugin::CachingSha2),
            b"mysql_native_password" => Some(AuthPlugin::Native),
            _ => None,
        }
    }
}

/// Whether the password of an account has expired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PasswordExpiry {
    /// It has not.
    Valid,
    /// The client may only change it.
    Expired {
        /// A client that does not say that it can do that is refused with 1862 (`disconnect_on_expired_password`).
        disconnects: bool,
    },
}

impl PasswordExpiry {
    /// Whether it has.
    #[must_use]
    pub fn is_expired(self) -> bool {
        matches!(self, Self::Expired { .. })
    }
}

/// What the server must know of an account to let a client log in.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its user name; empty for the anonymous account.
    pub user: String,
    /// Its host pattern.
    pub host: String,
    /// How it proves itself.
    pub plugin: AuthPlugin,
    /// What is stored of the password; empty for none.
    pub stored: Vec<u8>,
    /// What is stored of the second password; empty for none.
    pub second_stored: Vec<u8>,
    /// Whether the password must be changed.
    pub password: PasswordExpiry,
    /// REQUIRE SSL: refused on a transport without TLS.
    pub require_tls: bool,
    /// ACCOUNT LOCK: refused with 3118.
    pub locked: bool,
    /// May come in when `max_connections` are there (CONNECTION_ADMIN or SUPER).
    pub connection_admin: bool,
}

/// Where a client comes from, for account lookup and messages.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClientHost {
    /// As in USER(): `localhost` on a Unix socket and from a loopback address, else the address.
    pub name: String,
    /// The address as text; `None` on a Unix socket.
    pub address: Option<String>,
}

/// What a client with a proven identity asks for when it connects.
#[derive(Debug)]
pub struct ConnectRequest {
    /// CONNECTION_ID() and the way to be killed.
    pub control: Arc<ConnectionControl>,
    /// The account it proved to be.
    pub account: Account,
    /// The user name as the client gave it.
    pub user: String,
    /// Where it comes from.
    pub host: ClientHost,
    /// Default database, if it named one.
    pub database: Option<Vec<u8>>,
    /// Name-value pairs about the client (`_client_name`, `program_name`, ...).
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// What both sides can do.
    pub capabilities: Capabilities,
    /// Collation number the client asked for; it sets the three `character_set_*` variables.
    pub collation: u16,
    /// How it came in.
    pub transport: Transport,
    /// TLS version and cipher, for the status variables.
    pub tls: Option<TlsDetails>,
}

/// What `Ssl_version` and `Ssl_cipher` show.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TlsDetails {
    /// Such as `TLSv1.3`.
    pub version: &'static str,
    /// Such as `TLS_AES_256_GCM_SHA384`.
    pub cipher: String,
}

/// What a client with a newly proven identity asks for by COM_CHANGE_USER.
#[derive(Debug)]
pub struct ChangeUserRequest {
    /// The account it proved to be.
    pub account: Account,
    /// The user name as the client gave it.
    pub user: String,
    /// Default database, if it named one.
    pub database: Option<Vec<u8>>,
    /// Name-value pairs about the client.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// Collation number the client asked for; `None` keeps the session's.
    pub collation: Option<u16>,
}

/// Global limits, read again whenever one is needed, so that SET GLOBAL takes effect at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// `max_connections`; one more is let in for an account with `connection_admin`.
    pub max_connections: u32,
    /// `connect_timeout`: seconds for the whole handshake.
    pub connect_timeout_s: u32,
    /// `max_allowed_packet` of new sessions, bytes.
    pub max_allowed_packet: u32,
    /// `net_read_timeout`: seconds to wait for the rest of a packet.
    pub net_read_timeout_s: u32,
    /// `net_write_timeout`: seconds to wait for a client that takes nothing.
    pub net_write_timeout_s: u32,
    /// `require_secure_transport`.
    pub require_secure_transport: bool,
    /// `innodb_thread_concurrency`: statements that may compute at once; 0 leaves it to the server.
    pub thread_concurrency: u32,
    /// `thread_cache_size`: threads kept for statements to come.
    pub thread_cache_size: u32,
    /// `connection_control_failed_connections_threshold`: consecutive failed logins of an account until answers are delayed; 0: never.
    pub failed_connections_threshold: u32,
    /// `connection_control_min_connection_delay`, milliseconds.
    pub min_connection_delay_ms: u32,
    /// `connection_control_max_connection_delay`, milliseconds.
    pub max_connection_delay_ms: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_connections: 151,
            connect_timeout_s: 10,
            max_allowed_packet: 64 << 20,
            net_read_timeout_s: 30,
            net_write_timeout_s: 60,
            require_secure_transport: false,
            thread_concurrency: 0,
            thread_cache_size: 9,
            failed_connections_threshold: 0,
            min_connection_delay_ms: 1000,
            max_connection_delay_ms: 2_147_483_647,
        }
    }
}

/// Something that happened to a connection outside any session, for status counters and the error log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConnectionEvent {
    /// A connection attempt of any kind.
    Accepted,
    /// Refused: too many connections.
    RefusedTooMany,
    /// The handshake failed or was cut (`Aborted_connects`).
    AbortedConnect,
    /// The answer to a login is delayed, as others before it failed (`Connection_control_delay_generated`).
    LoginDelayed,
    /// A session ended without COM_QUIT, or by a timeout (`Aborted_clients`).
    AbortedClient,
    /// A connection is gone, whatever it was.
    Closed,
    /// A thread was started for the statements of clients (`Threads_created`).
    ThreadStarted,
    /// A statement had to wait until fewer others computed (`Statements_queued`).
    StatementQueued,
    /// A statement that would have waited for a lock was requeued, as too many waited (`Statements_requeued`).
    StatementRequeued,
    /// Bytes came in and went out on a connection that has no session.
    Traffic {
        /// `Bytes_received`.
        received_bytes: u64,
        /// `Bytes_sent`.
        sent_bytes: u64,
    },
}

/// A listener notified when the durable log position has moved.
pub type DurableListener = Box<dyn Fn() + Send + Sync>;

/// Whoever answers: one per server.
pub trait Service: Send + Sync + 'static {
    /// The version string of the handshake, such as `9.7.0-invar`.
    fn server_version(&self) -> String;

    /// The account that `user` from `host` is checked against, the most specific one, or `None`.
    fn find_account(&self, user: &str, host: &ClientHost) -> Option<Account>;

    /// Told of each attempt to prove to be `account`, with the right or a wrong password.
    ///
    /// # Errors
    /// 3955 if the account is blocked for too many wrong passwords in a row: even the right one is refused.
    fn login_attempt(&self, account: &Account, user: &str, host: &ClientHost, right: bool) -> Outcome {
        let _ = (account, user, host, right);
        Ok(())
    }

    /// The plugin named in the handshake, before the account is known.
    fn default_auth_plugin(&self) -> AuthPlugin {
        AuthPlugin::CachingSha2
    }

    /// A client was refused that gave this reason's user and password.
    fn login_denied(&self, _control: &ConnectionControl, _error: &SqlError) {}

    /// Starts a session for a client with a proven identity.
    ///
    /// # Errors
    /// Such as 1049 for an unknown database or 1044 for one without rights: sent, and the connection closed.
    fn connect(&self, request: ConnectRequest) -> Result<Box<dyn Session>, Box<SqlError>>;

    /// The limits now.
    fn limits(&self) -> Limits;

    /// Told about connections; must be quick.
    fn note(&self, event: ConnectionEvent);

    /// The log is durable up to here.
    fn durable_position(&self) -> u64;

    /// Makes the log durable up to `position` on this thread, which blocks. For a worker with nothing else to do.
    ///
    /// # Errors
    /// The log has failed; the reply must not be sent as it is.
    fn sync_inline(&self, position: u64) -> Outcome;

    /// As [`sync_inline`](Self::sync_inline), but never waits for another thread that is at it: `false` then, and listeners
    /// hear when it is done.
    ///
    /// # Errors
    /// As for [`sync_inline`](Self::sync_inline).
    fn try_sync_inline(&self, position: u64) -> Result<bool, Box<SqlError>>;

    /// Asks for the log to become durable up to `position` soon; listeners are notified.
    fn request_sync(&self, position: u64);

    /// Adds a listener that is called after each move of [`durable_position`](Self::durable_position), and once the log has
    /// failed. Called on the thread that flushes: it must only wake a waiting thread.
    fn on_durable(&self, listener: DurableListener);

    /// The error to send instead of replies that wait for a position that can no longer become durable.
    fn log_failure(&self) -> Option<Box<SqlError>>;
}

/// What a client may send with COM_STMT_EXECUTE before its parameters.
#[derive(Clone, Copy, Debug)]
pub struct ExecuteRequest<'a> {
    /// Number given by [`Reply::prepared`].
    pub statement_id: u32,
    /// Flags: 0 none, 1 read-only cursor, 2 for update, 4 scrollable, 8 parameter count is sent.
    pub flags: u8,
    /// Always 1.
    pub iteration_count: u32,
    /// The rest of the packet as sent: NULL bitmap, new-types flag, types, values; empty if the statement has no parameter.
    /// Read it with `wire::parameter`.
    pub parameters: &'a [u8],
    /// The client has QUERY_ATTRIBUTES: `parameters` may start with a count, and types carry names.
    pub query_attributes: bool,
}

/// Which rows or options a COM_SET_OPTION turns on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SetOption {
    /// Several statements in one query.
    MultiStatementsOn,
    /// One statement per query.
    MultiStatementsOff,
}

/// One conversation. Called by one thread at a time. Every method but [`send_long_data`](Self::send_long_data) and
/// [`close_statement`](Self::close_statement) answers exactly once: through `reply`, or by the error it returns. A command that ends with
/// [`CommandOutcome::Requeue`] answers when it is given again.
pub trait Session: Send {
    /// The message of an error as this session's client reads it.
    fn error_text<'e>(&self, error: &'e SqlError) -> Cow<'e, [u8]> {
        Cow::Borrowed(error.message.as_bytes())
    }

    /// Bytes came in and went out on the connection since the call before. Called before each command and at the end.
    fn note_traffic(&mut self, _received_bytes: u64, _sent_bytes: u64) {}

    /// COM_QUERY: one or more statements as text, in `character_set_client`.
    fn query(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> CommandOutcome;

    /// Attributes of the query that follows, by name and value; called only if there are any.
    fn query_attributes(&mut self, _attributes: &[(&[u8], wire::parameter::ParameterValue<'_>)]) {}

    /// COM_STMT_PREPARE; answered by [`Reply::prepared`].
    fn prepare(&mut self, sql: &[u8], reply: &mut Reply<'_>) -> Outcome;

    /// COM_STMT_EXECUTE.
    fn execute(&mut self, request: ExecuteRequest<'_>, reply: &mut Reply<'_>) -> CommandOutcome;

    /// COM_STMT_SEND_LONG_DATA: a piece of a parameter's value. Never answered; an error shows at the next execute.
    fn send_long_data(&mut self, statement_id: u32, parameter: u16, data: &[u8]);

    /// COM_STMT_FETCH: the next `row_count` rows of a cursor.
    fn fetch(&mut self, statement_id: u32, row_count: u32, reply: &mut Reply<'_>) -> Outcome;

    /// COM_STMT_RESET: drops long data and closes the cursor.
    fn reset_statement(&mut self, statement_id: u32, reply: &mut Reply<'_>) -> Outcome;

    /// COM_STMT_CLOSE. Never answered.
    fn close_statement(&mut self, statement_id: u32);

    /// COM_INIT_DB.
    fn init_db(&mut self, database: &[u8], reply: &mut Reply<'_>) -> Outcome;

    /// COM_FIELD_LIST.
    fn field_list(&mut self, table: &[u8], wildcard: &[u8], reply: &mut Reply<'_>) -> Outcome;

    /// COM_STATISTICS; answered by [`Reply::raw`].
    fn statistics(&mut self, reply: &mut Reply<'_>) -> Outcome;

    /// COM_SET_OPTION; answered by an EOF through [`Reply::end_rows`].
    fn set_option(&mut self, option: SetOption, reply: &mut Reply<'_>) -> Outcome;

    /// COM_CHANGE_USER after the new user was authenticated; the session starts again.
    fn change_user(&mut self, request: ChangeUserRequest, reply: &mut Reply<'_>) -> Outcome;

    /// COM_RESET_CONNECTION.
    fn reset_connection(&mut self, reply: &mut Reply<'_>) -> Outcome;

    /// COM_PROCESS_KILL.
    fn process_kill(&mut self, connection_id: u32, reply: &mut Reply<'_>) -> Outcome;

    /// COM_PING.
    fn ping(&mut self, reply: &mut Reply<'_>) -> Outcome;

    /// COM_DEBUG, COM_REFRESH and other commands of administrators; the default answers 1047.
    ///
    /// # Errors
    /// 1047, unless implemented.
    fn other(&mut self, _command: u8, _payload: &[u8], _reply: &mut Reply<'_>) -> Outcome {
        Err(error::ER_UNKNOWN_COM_ERROR.bare())
    }

    /// The command just given to it panicked: puts the session in order, with its transaction rolled back, and writes down what happened.
    /// If that panics as well, the session is not used any more.
    fn recover(&mut self) {}

    /// Whether others may wait for what this session holds from one command to the next; asked when a command has arrived.
    fn may_hold_locks(&self) -> bool {
        false
    }

    /// State of the session, for the OK packet that ends a handshake.
    fn status(&self) -> StatusFlags {
        StatusFlags::AUTOCOMMIT
    }

    /// `wait_timeout` or `interactive_timeout` of this session, seconds; asked after each round of commands.
    fn idle_timeout_s(&self) -> u64;

    /// Bytes of the client's packets that are in memory, whole or in part; called only where they are many. They count towards the
    /// limits of the connection until the next call.
    ///
    /// # Errors
    /// A limit of the connection is reached: it has to be closed.
    fn hold_input(&mut self, _bytes: u64) -> Outcome {
        Ok(())
    }

    /// The session's `max_allowed_packet`, bytes; asked for packets over 4 MB.
    fn max_allowed_packet(&self) -> u32;
}
