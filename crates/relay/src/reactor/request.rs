//! A client's bytes: where a command begins and ends, what is answered here, and what it may leave behind.

use super::{Arc, Counters, Effects, Ordering, Phase, Pins, Reactor};
use crate::client::{Command, Frames};
use crate::scan::{Scanner, effects};
use crate::settings;
use crate::shared::{Message, lock};
use server::Received;
use service::error::{
    ER_KILL_DENIED_ERROR, ER_MALFORMED_PACKET, ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER,
    ER_NO_SUCH_THREAD, ER_NOT_SUPPORTED_YET, ER_QUERY_INTERRUPTED, ER_QUERY_ON_FOREIGN_DATA_SOURCE,
    ER_UNKNOWN_COM_ERROR, ER_UNKNOWN_STMT_HANDLER,
};
use wire::command::byte;
use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, HEADER_BYTES, PacketBuffer};
use wire::{OkPacket, StatusFlags, message};

/// A command longer than this passes in pieces.
const WHOLE_BYTES_MAX: usize = 256 * 1024;
/// Prepared statements of one client that are not closed.
const STATEMENTS_MAX: usize = 16_382;
/// An idle client keeps an input buffer up to this size.
const INPUT_KEPT_BYTES_MAX: usize = 4096;

impl Reactor {
    /// A client's socket has bytes, takes some, or its last command is over.
    pub(super) fn client_event(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        if client.io.has_unsent() {
            client.stuck_since = None;
            match client.io.flush() {
                Ok(true) => {}
                Ok(false) => return,
                Err(_) => {
                    self.close_client(slot);
                    return;
                }
            }
            // It takes bytes again: what its connection has comes now.
            if client.phase == Phase::Running
                && let Some(at) = client.upstream
            {
                self.read_upstream(at);
            }
        }
        let Some(client) = self.clients.get(slot) else { return };
        if client.is_closing && client.command.is_none() {
            if !client.io.has_unsent() {
                self.close_client(slot);
            }
            return;
        }
        match client.phase {
            Phase::Running => {
                if client.command.as_ref().is_some_and(|command| {
                    command.is_sent && (command.rest.is_some() || command.file.is_some())
                }) {
                    self.pump(slot);
                } else if client.has_hung_up {
                    self.close_client(slot);
                }
            }
            Phase::Waiting { .. } => {
                if client.has_hung_up {
                    self.close_client(slot);
                }
            }
            Phase::Idle => self.read_commands(slot),
        }
    }

    /// Reads commands until one is under way, or nothing more is there.
    fn read_commands(&mut self, slot: usize) {
        loop {
            let most = self.packet_bytes_max();
            let Some(client) = self.clients.get(slot) else { return };
            if client.phase != Phase::Idle
                || client.io.has_unsent()
                || client.command.is_some()
                || client.is_closing
            {
                return;
            }
            match take_command(&mut client.input, most) {
                Ok(Some(command)) => {
                    self.command(slot, command);
                    continue;
                }
                Ok(None) => {}
                Err(error) => {
                    client.is_closing = true;
                    self.fail(slot, &error);
                    return;
                }
            }
            if !client.is_readable {
                if client.input.is_empty() && client.input.capacity() > INPUT_KEPT_BYTES_MAX {
                    client.input = Vec::new();
                }
                if client.has_hung_up {
                    self.close_client(slot);
                }
                return;
            }
            match client.io.receive(&mut self.scratch) {
                Ok(Received::InScratch { bytes, drained }) => {
                    client.is_readable = !drained || client.has_hung_up;
                    client.input.extend_from_slice(&self.scratch[..bytes]);
                }
                Ok(Received::InInput { drained }) => {
                    client.is_readable = !drained || client.has_hung_up;
                    let mut bytes = client.io.take_input();
                    if client.input.is_empty() {
                        client.input = bytes;
                    } else {
                        client.input.append(&mut bytes);
                    }
                }
                Ok(Received::Nothing) => client.is_readable = false,
                Ok(Received::Closed) | Err(_) => {
                    self.close_client(slot);
                    return;
                }
            }
        }
    }

    fn packet_bytes_max(&self) -> usize {
        self.shared.config.packet_bytes_max
    }

    /// A command has come, whole or its beginning.
    fn command(&mut self, slot: usize, mut command: Box<Command>) {
        Counters::add(&self.shared.counters.commands);
        let Some(client) = self.clients.get(slot) else { return };
        let no_backslash = client.status.has(StatusFlags::NO_BACKSLASH_ESCAPES);
        if let Some(lost) = client.lost.take()
            && command.byte != byte::QUIT
        {
            client.is_closing = true;
            client.command = Some(command);
            self.fail(slot, &ER_QUERY_ON_FOREIGN_DATA_SOURCE.with(&[&lost]));
            return;
        }
        let payload = command.packet.get(HEADER_BYTES + 1..).unwrap_or_default();
        match command.byte {
            byte::QUIT => {
                self.close_client(slot);
                return;
            }
            byte::QUERY => {
                if command.rest.is_some() {
                    command.scanner = Some(Scanner::new(no_backslash));
                } else {
                    command.effects = effects(payload, no_backslash);
                    let found = command.effects;
                    let one = !found.has(Effects::SEVERAL);
                    if found.has(Effects::SET) {
                        command.changes = settings::changes(payload).filter(|_| one);
                        command.text = payload[..payload.len().min(64)].to_vec();
                    } else if found.has(Effects::USE) {
                        command.schema = settings::used_schema(payload).filter(|_| one);
                    } else if found.has(Effects::KILL)
                        && let Some((id, connection)) = settings::killed(payload)
                    {
                        self.kill_statement(slot, command, id, connection);
                        return;
                    } else if found.has(Effects::SHOW) && is_show_relay_status(payload) {
                        client.command = Some(command);
                        self.show_status(slot);
                        return;
                    }
                }
            }
            byte::INIT_DB => command.schema = Some(payload.to_vec()),
            byte::PING if client.upstream.is_none() => {
                client.command = Some(command);
                self.reply_ok(slot);
                return;
            }
            byte::PING | byte::STATISTICS | byte::FIELD_LIST | byte::SET_OPTION => {}
            byte::PROCESS_KILL => {
                let id = payload.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
                let Some(id) = id else {
                    client.command = Some(command);
                    self.fail(slot, &ER_MALFORMED_PACKET.bare());
                    return;
                };
                self.kill_statement(slot, command, id.into(), true);
                return;
            }
            byte::RESET_CONNECTION if client.upstream.is_none() => {
                client.statements.clear();
                client.entry.insert_id.store(0, Ordering::SeqCst);
                client.before = None;
                client.has_run = false;
                let schema = client.profile.schema.clone();
                client.profile = Arc::new(settings::Profile::new(client.names.clone(), schema));
                client.status = StatusFlags::AUTOCOMMIT;
                client.command = Some(command);
                self.reply_ok(slot);
                return;
            }
            byte::RESET_CONNECTION => {}
            byte::STMT_PREPARE => {
                if client.statements.len() >= STATEMENTS_MAX {
                    client.command = Some(command);
                    let error = service::error::ER_MAX_PREPARED_STMT_COUNT_REACHED.with(&[&STATEMENTS_MAX]);
                    self.fail(slot, &error);
                    return;
                }
                command.prepared_effects = effects(payload, no_backslash);
                let digest = self.shared.digest(payload, &client.profile, false);
                let is_open =
                    client.statements.values().any(|statement| Arc::ptr_eq(&statement.digest, &digest));
                let digest =
                    if is_open { self.shared.digest(payload, &client.profile, true) } else { digest };
                command.digest = Some(digest);
            }
            byte::STMT_EXECUTE
            | byte::STMT_FETCH
            | byte::STMT_SEND_LONG_DATA
            | byte::STMT_CLOSE
            | byte::STMT_RESET => {
                let id = payload.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes));
                let known = id.and_then(|id| client.statements.get(&id).map(|statement| (id, statement)));
                let Some((id, statement)) = known else {
                    client.command = Some(command);
                    self.unknown_statement(slot, id);
                    return;
                };
                let is_busy = statement.has_cursor || statement.has_long_data;
                command.statement = Some(id);
                match command.byte {
                    byte::STMT_EXECUTE => command.effects = statement.effects,
                    byte::STMT_CLOSE if !is_busy => {
                        client.statements.remove(&id);
                        return;
                    }
                    byte::STMT_RESET if !is_busy => {
                        client.command = Some(command);
                        self.reply_ok(slot);
                        return;
                    }
                    byte::STMT_FETCH if !statement.has_cursor && client.upstream.is_none() => {
                        client.command = Some(command);
                        self.unknown_statement(slot, Some(id));
                        return;
                    }
                    _ => {}
                }
            }
            byte::CHANGE_USER => {
                client.command = Some(command);
                self.fail(slot, &ER_NOT_SUPPORTED_YET.with(&[&"COM_CHANGE_USER at a relay"]));
                return;
            }
            _ => {
                client.command = Some(command);
                self.fail(slot, &ER_UNKNOWN_COM_ERROR.bare());
                return;
            }
        }
        let Some(client) = self.clients.get(slot) else { return };
        if let Some(frames) = &mut command.rest {
            // What is here is counted and read; the rest as it passes.
            let mut first = true;
            let scanner = &mut command.scanner;
            frames.feed(&command.packet, |text| {
                if let Some(scanner) = scanner {
                    scanner.feed(if std::mem::take(&mut first) { &text[1..] } else { text });
                }
            });
        }
        // They were about the command before; the connection stays.
        client.pins.set(Pins::BRIEF, false);
        client.command = Some(command);
        self.acquire(slot);
    }

    fn unknown_statement(&mut self, slot: usize, id: Option<u32>) {
        let Some(client) = self.clients.get(slot) else { return };
        let command = client.command.as_ref().map_or(0, |command| command.byte);
        // These are never answered.
        if matches!(command, byte::STMT_CLOSE | byte::STMT_SEND_LONG_DATA) {
            let is_partial = client.command.as_ref().is_some_and(|command| command.rest.is_some());
            client.command = None;
            client.is_closing |= is_partial;
            return;
        }
        let name = match command {
            byte::STMT_FETCH => "mysqld_stmt_fetch",
            byte::STMT_RESET => "mysqld_stmt_reset",
            _ => "mysqld_stmt_execute",
        };
        self.fail(slot, &ER_UNKNOWN_STMT_HANDLER.with(&[&id.unwrap_or_default(), &name]));
    }

    pub(super) fn reply_ok(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        let mut buffer = PacketBuffer::new();
        buffer.set_sequence(1);
        let ok = OkPacket { status: client.status, ..OkPacket::default() };
        ok.encode(message::OK_HEADER, client.capabilities, buffer.begin());
        buffer.end();
        self.reply(slot, buffer.frames());
    }

    /// KILL of a client by the number that it has here, or by its connection's if it asked for that.
    fn kill_statement(&mut self, slot: usize, command: Box<Command>, id: u64, connection: bool) {
        let Some(client) = self.clients.get(slot) else { return };
        client.command = Some(command);
        let found = {
            let clients = lock(&self.shared.clients);
            let by_thread = || lock(&self.shared.threads).get(&id).copied();
            clients.get(&id).cloned().or_else(|| clients.get(&by_thread()?).cloned())
        };
        let Some(entry) = found else {
            self.fail(slot, &ER_NO_SUCH_THREAD.with(&[&id]));
            return;
        };
        let Some(client) = self.clients.get(slot) else { return };
        if entry.account != client.entry.account && !client.account.connection_admin {
            self.fail(slot, &ER_KILL_DENIED_ERROR.with(&[&id]));
            return;
        }
        if entry.id == client.entry.id {
            client.is_closing = connection;
            self.fail(slot, &ER_QUERY_INTERRUPTED.bare());
            return;
        }
        if let Some(mailbox) = self.shared.mailboxes().get(entry.mailbox) {
            mailbox.send(Message::Kill { slot: entry.slot, client: entry.id, connection });
        }
        self.reply_ok(slot);
    }

    /// SHOW RELAY STATUS: counters, and what there is now.
    fn show_status(&mut self, slot: usize) {
        let shared = Arc::clone(&self.shared);
        let mut rows = shared.counters.list();
        let sum = |of: fn(&crate::shared::Mailbox) -> usize| {
            shared.mailboxes().iter().map(|mailbox| of(mailbox) as u64).sum::<u64>()
        };
        rows.push(("Relay_clients", sum(|mailbox| mailbox.clients.load(Ordering::Relaxed))));
        rows.push(("Relay_backend_connections", shared.open.load(Ordering::SeqCst) as u64));
        rows.push(("Relay_backend_connections_idle", sum(|mailbox| mailbox.idle.load(Ordering::SeqCst))));
        rows.sort_unstable();
        let Some(client) = self.clients.get(slot) else { return };
        let frames = crate::status::table(&rows, client.capabilities, client.status);
        self.reply(slot, &frames);
    }
}

/// The command at the front of the input, if it is whole or long enough to begin with.
fn take_command(input: &mut Vec<u8>, most: usize) -> Result<Option<Box<Command>>, Box<service::SqlError>> {
    let Some(&[a, b, c, sequence]) = input.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
    if sequence != 0 {
        return Err(ER_NET_PACKETS_OUT_OF_ORDER.bare());
    }
    let length = u32::from_le_bytes([a, b, c, 0]) as usize;
    if length > most {
        return Err(ER_NET_PACKET_TOO_LARGE.bare());
    }
    if length == 0 {
        return Err(ER_MALFORMED_PACKET.bare());
    }
    let whole = HEADER_BYTES + length;
    let Some(&byte) = input.get(HEADER_BYTES) else { return Ok(None) };
    if length < FRAME_PAYLOAD_BYTES_MAX && input.len() >= whole {
        let packet = if input.len() == whole {
            std::mem::take(input)
        } else {
            let rest = input.split_off(whole);
            std::mem::replace(input, rest)
        };
        return Ok(Some(Box::new(Command::new(byte, packet))));
    }
    let may_pass = matches!(byte, byte::QUERY | byte::STMT_EXECUTE | byte::STMT_SEND_LONG_DATA);
    if !may_pass && length == FRAME_PAYLOAD_BYTES_MAX {
        return Err(ER_NET_PACKET_TOO_LARGE.bare());
    }
    if !may_pass || input.len() < WHOLE_BYTES_MAX {
        return Ok(None);
    }
    // No more than this frame: behind it may be a header.
    let packet = if input.len() > whole {
        let rest = input.split_off(whole);
        std::mem::replace(input, rest)
    } else {
        std::mem::take(input)
    };
    let mut command = Command::new(byte, packet);
    command.rest = Some(Frames::default());
    Ok(Some(Box::new(command)))
}

fn is_show_relay_status(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default().trim().trim_end_matches(';');
    let mut words = text.split_ascii_whitespace();
    ["show", "relay", "status"].iter().all(|word| words.next().is_some_and(|w| w.eq_ignore_ascii_case(word)))
        && words.next().is_none()
}
