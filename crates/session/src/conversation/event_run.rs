//! One execution of an event: a session of its own, of the event's definer, which ends with it.
//!
//! The body runs as a procedure's does. A transaction that it leaves open is rolled back, unless the event is dropped then: DROP EVENT
//! commits, as in MySQL. Rows go nowhere. What fails, and what the body leaves of warnings, goes to the error log, as in MySQL.
//!
//! Invariant: the session is gone when the execution has ended, however it did.

use std::sync::Arc;

use catalog::{EventDefinition, Privileges};
use service::error as e;
use service::{
    Account, AuthPlugin, Capabilities, ClientHost, ConnectRequest, ConnectionControl, Discard, Level,
    Outcome, Reply, RowFormat, Transport,
};
use types::Value;
use types::collation::CollationId;
use wire::PacketBuffer;

use super::ground::Ground;
use super::routine::{call, run};
use super::statement;
use super::{Server, Session};
use crate::backend::Backend;
use crate::error_log;
use crate::privilege;
use crate::processes::Activity;
use crate::routine::event_routine;
use crate::variables::Setting;
use crate::variables::definition::known;

/// `USER()` in an event.
const USER: &str = "event_scheduler";

/// Runs an event once, and writes to the error log what is wrong with it. `is_dropped`: the caller drops it then. `control` ends it.
/// Answers whether it began: not without its definer or the EVENT privilege of that.
pub fn run_event<B: Backend>(
    server: Server<B>,
    event: &EventDefinition,
    is_dropped: bool,
    control: Arc<ConnectionControl>,
) -> bool {
    let (user, host) = &event.definer;
    let env = server.core.env.clone();
    let name = format!("[{}.{}]", event.schema, event.name);
    let write = |level: Level, message: &str| {
        let text = format!("Event Scheduler: [{user}@{host}]{name} {message}");
        match level {
            Level::Error => error_log::error(&env, &text),
            Level::Warning => error_log::warning(&env, &text),
            Level::Note => error_log::note(&env, &text),
        }
    };
    let refuse = |why: &str, message: &str| {
        error_log::error(&env, &format!("Event Scheduler: [{user}@{host}].{name} execution failed, {why}"));
        write(Level::Error, message);
        false
    };
    if server.core.catalog().load().accounts.find(user, host).is_none() {
        return refuse("failed to authenticate the user.", &e::ER_NO_SUCH_USER.with(&[user, host]).message);
    }
    let mut session = match Session::start(server, request(user, host, control)) {
        Ok(session) => session,
        Err(error) => return refuse("no session.", &error.message),
    };
    if !privilege::on_schema(&session.account, &event.schema).contains(Privileges::EVENT) {
        let denied = privilege::schema_denied(&session.account, &event.schema);
        return refuse("user no longer has EVENT privilege.", &denied.message);
    }
    let ran = session.run_event(event, is_dropped);
    let mut left: Vec<(Level, String)> =
        session.diagnostics.kept().iter().map(|one| (one.level, one.message.clone())).collect();
    if let Err(error) = ran
        && !left.iter().any(|(level, message)| *level == Level::Error && *message == error.message)
    {
        left.push((Level::Error, error.message.clone()));
    }
    left.iter().for_each(|(level, message)| write(*level, message));
    true
}

/// A connection of nobody.
fn request(user: &str, host: &str, control: Arc<ConnectionControl>) -> ConnectRequest {
    ConnectRequest {
        control,
        account: Account {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: AuthPlugin::CachingSha2,
            stored: Vec::new(),
            second_stored: Vec::new(),
            password: service::PasswordExpiry::Valid,
            require_tls: false,
            locked: false,
            connection_admin: false,
        },
        user: USER.to_owned(),
        host: ClientHost { name: "localhost".to_owned(), address: None },
        database: None,
        attributes: Vec::new(),
        capabilities: Capabilities(0),
        collation: CollationId::UTF8MB4_0900_AI_CI.id(),
        transport: Transport::Unix,
        tls: None,
    }
}

impl<B: Backend> Session<B> {
    /// Runs the body of an event; `commits`: what it leaves open is committed.
    fn run_event(&mut self, event: &EventDefinition, commits: bool) -> Outcome {
        {
            let mut identity = self.shared.process.identity.lock();
            identity.user = event.definer.0.to_string();
            identity.host = event.definer.1.to_string();
        }
        self.variables.set([(known::time_zone(), Setting::text(&event.time_zone))]);
        let clock = statement::begin_statement(self, Activity::Connect, event.body.as_bytes(), false);
        let ran = self.run_body(event);
        call::pop_frames(self);
        let committed = if commits { self.tables.commit(&self.shared, &self.variables) } else { Ok(()) };
        statement::end_statement(self, &clock, &event.body.as_bytes());
        ran.and(committed)
    }

    fn run_body(&mut self, event: &EventDefinition) -> Outcome {
        let routine = Arc::new(event_routine(event)?);
        let slots = vec![Value::Null; routine.program.variables.len()];
        let account = Arc::clone(&self.account);
        self.routines.keep_program(&routine);
        call::enter_frame(self, routine, account, slots, Vec::new());
        let (mut packets, mut link) = (PacketBuffer::new(), Discard);
        let mut reply = Reply::new(&mut packets, &mut link, Capabilities(0), RowFormat::Text);
        run::run_frames(self, 0, &mut reply, &mut Ground::Own)
    }
}
