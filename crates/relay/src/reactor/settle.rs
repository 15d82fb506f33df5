//! What a command leaves behind in its session, and so why its client keeps the connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use wire::StatusFlags;
use wire::command::byte;

use crate::answer::Said;
use crate::client::{Client, Command, Pins, Statement};
use crate::entry::UNSAVED;
use crate::scan::Effects;
use crate::settings::Profile;
use crate::upstream::Upstream;

/// What a command leaves behind in the session.
pub(super) fn settle(client: &mut Client, upstream: &mut Upstream, command: &Command, said: &Said) {
    let (effects, failed) = (command.effects, said.error.is_some());
    let mut pins = client.pins;
    pins.set(Pins::BRIEF, false);
    if let Some(status) = said.status {
        client.status = status;
        pins.set(Pins::TRANSACTION, status.has(StatusFlags::IN_TRANS));
    }
    // An error says nothing of the transaction, and a failed statement may have begun one.
    if failed
        && client.profile.is_autocommit_off()
        && matches!(command.byte, byte::QUERY | byte::STMT_EXECUTE)
    {
        pins.set(Pins::TRANSACTION, true);
    }
    let mut knows_change = false;
    if command.byte == byte::INIT_DB || effects.has(Effects::USE) {
        knows_change = true;
    }
    let schema = said.schema.clone().or_else(|| command.schema.clone().filter(|_| !failed));
    if let Some(schema) = schema {
        let mut profile = (*client.profile).clone();
        profile.schema = (!schema.is_empty()).then_some(schema);
        client.profile = Arc::new(profile);
        upstream.profile = Arc::clone(&client.profile);
        knows_change = true;
    } else if effects.has(Effects::USE) && !failed {
        pins.set(Pins::SESSION, true);
    }
    if effects.has(Effects::SET) {
        match &command.changes {
            Some(changes) if !failed => {
                let mut profile = (*client.profile).clone();
                profile.apply(changes);
                client.profile = Arc::new(profile);
                upstream.profile = Arc::clone(&client.profile);
                knows_change = true;
            }
            // Some of it may hold.
            Some(_) => upstream.is_unknown = true,
            None if is_set_transaction(&command.text) => pins.set(Pins::NEXT_TRANSACTION, true),
            None => pins.set(Pins::SESSION, true),
        }
    } else if effects.has(Effects::ENDS) {
        pins.set(Pins::NEXT_TRANSACTION, false);
    }
    if said.status.is_some_and(|status| status.has(StatusFlags::IN_TRANS)) {
        pins.set(Pins::NEXT_TRANSACTION, false);
    }
    if effects.has(Effects::SEVERAL) && effects.has(Effects(Effects::SET.0 | Effects::USE.0)) {
        pins.set(Pins::SESSION, true);
    }
    if effects.has(Effects::SESSION)
        || (said.state_changed && !knows_change && command.byte != byte::STMT_PREPARE)
    {
        pins.set(Pins::SESSION, true);
    }
    if command.byte == byte::SET_OPTION || client.profile.is_multi_byte_unsafe() {
        pins.set(Pins::SESSION, true);
    }
    client.is_closing |= effects.has(Effects::RELEASES) && !failed;
    if effects.has(Effects::LOCK_TABLES) {
        pins.set(Pins::LOCK_TABLES, true);
    } else if effects.has(Effects::UNLOCK_TABLES) && !failed {
        pins.set(Pins::LOCK_TABLES, false);
    }
    if said.insert_id || effects.has(Effects::INSERT_ID) {
        client.entry.insert_id.store(UNSAVED, Ordering::SeqCst);
        upstream.insert_id_of = Some(Arc::clone(&client.entry));
    }
    pins.set(Pins::WARNINGS, said.warnings > 0 || failed);
    pins.set(Pins::FOUND_ROWS, effects.has(Effects::FOUND_ROWS));
    match command.byte {
        byte::STMT_PREPARE => {
            if let (Some((id, parameters)), Some(number)) = (said.prepared, command.statement) {
                prepared(client, upstream, command, number, id, parameters);
            }
        }
        byte::STMT_EXECUTE
        | byte::STMT_FETCH
        | byte::STMT_RESET
        | byte::STMT_SEND_LONG_DATA
        | byte::STMT_CLOSE => {
            if let Some(id) = command.statement {
                settle_statement(client, upstream, command.byte, id, said);
            }
            pins.set(Pins::CURSOR, client.statements.values().any(|statement| statement.has_cursor));
            pins.set(Pins::LONG_DATA, client.statements.values().any(|statement| statement.has_long_data));
        }
        byte::RESET_CONNECTION if !failed => {
            pins = Pins::default();
            client.statements.clear();
            client.entry.insert_id.store(0, Ordering::SeqCst);
            upstream.handles.clear();
            upstream.to_close.clear();
            upstream.insert_id_of = None;
            upstream.insert_id = 0;
            upstream.is_unknown = false;
            upstream.needs_base = true;
            let schema = client.profile.schema.clone();
            client.profile = Arc::new(Profile::new(client.names.clone(), schema.clone()));
            upstream.profile = Arc::new(Profile::bare(schema));
            client.status = StatusFlags::AUTOCOMMIT;
        }
        _ => {}
    }
    client.pins = pins;
}

fn prepared(
    client: &mut Client,
    upstream: &mut Upstream,
    command: &Command,
    number: u32,
    id: u32,
    parameters: u16,
) {
    let Some(digest) = &command.digest else { return };
    let close = upstream.handles.put(digest.id, id);
    upstream.to_close.extend(close);
    let statement = Statement {
        digest: Arc::clone(digest),
        parameters,
        effects: command.prepared_effects,
        types: Vec::new(),
        has_cursor: false,
        has_long_data: false,
    };
    client.statements.insert(number, statement);
}

fn settle_statement(client: &mut Client, upstream: &mut Upstream, command: u8, id: u32, said: &Said) {
    if command == byte::STMT_CLOSE {
        if let Some(statement) = client.statements.remove(&id) {
            // It was closed in the backend, too.
            upstream.handles.remove(statement.digest.id);
        }
        return;
    }
    let Some(statement) = client.statements.get_mut(&id) else { return };
    let status = said.status.unwrap_or(StatusFlags::NONE);
    match command {
        byte::STMT_EXECUTE => {
            statement.has_long_data = false;
            statement.has_cursor =
                status.has(StatusFlags::CURSOR_EXISTS) && !status.has(StatusFlags::LAST_ROW_SENT);
        }
        byte::STMT_FETCH if status.has(StatusFlags::LAST_ROW_SENT) || said.error.is_some() => {
            statement.has_cursor = false;
        }
        byte::STMT_RESET => {
            statement.has_cursor = false;
            statement.has_long_data = false;
        }
        byte::STMT_SEND_LONG_DATA => statement.has_long_data = true,
        _ => {}
    }
    if let Some(handle) = upstream.handles.get(statement.digest.id) {
        handle.is_busy = statement.has_cursor || statement.has_long_data;
    }
}

/// `SET TRANSACTION ...`, which is about the next transaction.
fn is_set_transaction(text: &[u8]) -> bool {
    let mut words = text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"set"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case(b"transaction"))
}
