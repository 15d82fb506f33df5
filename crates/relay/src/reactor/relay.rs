//! A command with its connection: what has to be made again there first, the command itself, its answer, and what it leaves behind.

use super::settle::settle;
use super::{Arc, Counters, Effects, Phase, Pins, Reactor};
use crate::answer::{Answer, Form};
use crate::client::{Client, Frames, Statement, Step};
use crate::connector::BASE;
use crate::entry::{LOST, SAVING, UNSAVED};
use crate::settings::Profile;
use crate::shared::lock;
use crate::upstream::Upstream;
use server::Received;
use service::SqlError;
use service::error::{ER_NOT_SUPPORTED_YET, ER_QUERY_ON_FOREIGN_DATA_SOURCE};
use std::sync::atomic::Ordering;
use wire::command::byte;
use wire::packet::{HEADER_BYTES, PacketBuffer};
use wire::{Capabilities, OkPacket, StatusFlags, message};

/// The schema is not there.
const ER_BAD_DB_NUMBER: u16 = 1049;

/// Packs one command.
fn packed(command: u8, payload: &[u8]) -> Vec<u8> {
    let mut buffer = PacketBuffer::new();
    let out = buffer.begin();
    out.push(command);
    out.extend_from_slice(payload);
    buffer.end();
    buffer.take()
}

/// Asks for LAST_INSERT_ID().
pub(super) fn insert_id_query() -> Vec<u8> {
    packed(byte::QUERY, b"SELECT LAST_INSERT_ID()")
}

/// How a command is answered; `None` if it is not.
fn form(command: u8) -> Option<Form> {
    match command {
        byte::STMT_PREPARE => Some(Form::Prepared),
        byte::STMT_FETCH | byte::FIELD_LIST => Some(Form::Rows),
        byte::STATISTICS => Some(Form::Text),
        byte::STMT_SEND_LONG_DATA | byte::STMT_CLOSE => None,
        _ => Some(Form::Results),
    }
}

/// What a connection needs before a client's command can run on it.
fn settings(client: &Client, upstream: &mut Upstream, profile: &Arc<Profile>, steps: &mut Vec<Step>) -> bool {
    if Arc::ptr_eq(&upstream.profile, profile) {
        return false;
    }
    if *upstream.profile == **profile {
        upstream.profile = Arc::clone(profile);
        return false;
    }
    let mut now = Arc::clone(&upstream.profile);
    if profile.needs_reset(&now) {
        steps.push(Step::Reset);
        now = Arc::new(Profile::bare(now.schema.clone()));
        if upstream.tracks {
            steps.push(Step::Query(BASE.to_owned()));
        }
    } else if std::mem::take(&mut upstream.needs_base) && upstream.tracks {
        steps.push(Step::Query(BASE.to_owned()));
    }
    steps.extend(profile.statements(&now).into_iter().map(Step::Query));
    if profile.schema != now.schema
        && let Some(schema) = &profile.schema
    {
        steps.push(Step::Schema(schema.clone()));
    }
    let _ = client;
    upstream.profile = Arc::clone(profile);
    !steps.is_empty()
}

impl Reactor {
    /// A command has a connection: what comes before it is sent, or the command.
    pub(super) fn begin(&mut self, slot: usize) {
        if self.refuse_lost(slot) {
            return;
        }
        let Some(client) = self.clients.get(slot) else { return };
        let Some(at) = client.upstream else { return };
        let Some(upstream) = self.upstreams.get(at) else { return };
        let Some(mut command) = client.command.take() else { return };
        let is_same = upstream.last_client == client.entry.id;
        let mut steps = Vec::new();
        let asks_insert_id =
            command.effects.has(Effects(Effects::INSERT_ID.0 | Effects::INSERTS.0)) && !is_same;
        if asks_insert_id && client.entry.insert_id.load(Ordering::SeqCst) == SAVING {
            // Whoever has the connection that knows it is reading it: a moment later.
            client.command = Some(command);
            client.upstream = None;
            upstream.owner = None;
            self.give_back(at, false);
            self.retry.push(slot);
            return;
        }
        if !is_same
            && let Some(entry) = upstream.insert_id_of.take()
            && entry.id != client.entry.id
        {
            entry.insert_id.store(SAVING, Ordering::SeqCst);
            steps.push(Step::SaveInsertId(entry));
        }
        if command.effects.has(Effects::READS_PREVIOUS) && !is_same && upstream.last_client != 0 {
            // It has run nothing yet, and must not see what others ran.
            steps.push(Step::Reset);
            upstream.needs_base = true;
            upstream.profile = Arc::new(Profile::bare(upstream.profile.schema.clone()));
        }
        // A text that was prepared is prepared again under the settings that it had then.
        let digest =
            command.statement.and_then(|id| client.statements.get(&id)).map(|s| Arc::clone(&s.digest));
        let mut prepared = 0;
        if let Some(digest) = digest
            && command.byte != byte::STMT_CLOSE
            && upstream.handles.get(digest.id).is_none()
        {
            settings(client, upstream, &digest.key.profile, &mut steps);
            steps.push(Step::Prepare(Arc::clone(&digest)));
            prepared = 1;
        }
        let profile = Arc::clone(&client.profile);
        let mut own = Vec::new();
        if settings(client, upstream, &profile, &mut own) {
            Counters::add(&self.shared.counters.settings);
        }
        // A reset in the middle would lose what was just prepared.
        if prepared == 1 && own.iter().any(|step| matches!(step, Step::Reset)) {
            let prepare = steps.pop();
            steps.append(&mut own);
            steps.extend(prepare);
        } else {
            steps.append(&mut own);
        }
        if asks_insert_id {
            let saved = client.entry.insert_id.load(Ordering::SeqCst);
            let is_known = !matches!(saved, UNSAVED | LOST);
            if !is_known && command.effects.has(Effects::INSERT_ID) {
                let id = client.entry.id;
                for step in steps {
                    if let Step::SaveInsertId(entry) = step {
                        entry.insert_id.store(LOST, Ordering::SeqCst);
                    }
                }
                // Its settings were not made.
                upstream.is_unknown = true;
                upstream.last_client = id;
                client.command = Some(command);
                self.fail(
                    slot,
                    &ER_NOT_SUPPORTED_YET.with(&[&"LAST_INSERT_ID() of a connection that was closed"]),
                );
                return;
            }
            let saved = if is_known { saved } else { 0 };
            let is_there = upstream.insert_id == saved
                && !steps.iter().any(|step| matches!(step, Step::SaveInsertId(_) | Step::Reset));
            if !is_there {
                steps.push(Step::Query(format!("SET SESSION last_insert_id={saved}")));
                upstream.insert_id = saved;
            }
        }
        for _ in 0..prepared {
            Counters::add(&self.shared.counters.prepared);
        }
        upstream.last_client = client.entry.id;
        command.steps = steps.into();
        client.command = Some(command);
        self.step(slot);
    }

    /// Sends what comes next before a command, or the command.
    fn step(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        let Some(at) = client.upstream else { return };
        let Some(upstream) = self.upstreams.get(at) else { return };
        let Some(command) = &mut client.command else { return };
        let Some(step) = command.steps.pop_front() else {
            self.forward(slot);
            return;
        };
        let capabilities = upstream.capabilities;
        let (packet, form) = match &step {
            Step::Query(text) => (packed(byte::QUERY, text.as_bytes()), Form::Results),
            Step::Schema(name) => (packed(byte::INIT_DB, name), Form::Results),
            Step::Reset => {
                Counters::add(&self.shared.counters.resets);
                upstream.handles.clear();
                upstream.to_close.clear();
                upstream.insert_id = 0;
                (packed(byte::RESET_CONNECTION, b""), Form::Results)
            }
            Step::Prepare(digest) => (packed(byte::STMT_PREPARE, &digest.key.text), Form::Prepared),
            Step::SaveInsertId(_) => (insert_id_query(), Form::Results),
        };
        command.step = Some(step);
        command.answer = Some(Answer::new(form, capabilities, capabilities));
        if upstream.io.send(&packet).is_err() {
            self.upstream_lost(at, "connection lost");
        }
    }

    /// Sends a client's command, as far as it has come.
    fn forward(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        let Some(at) = client.upstream else { return };
        let Some(upstream) = self.upstreams.get(at) else { return };
        let Some(command) = &mut client.command else { return };
        if command.byte == 0 {
            self.finish(slot);
            return;
        }
        // A reset in between has taken the statement with it.
        if let Some(statement) = command.statement.and_then(|id| client.statements.get(&id))
            && !matches!(command.byte, byte::STMT_PREPARE | byte::STMT_CLOSE)
            && upstream.handles.get(statement.digest.id).is_none()
        {
            command.steps.push_back(Step::Prepare(Arc::clone(&statement.digest)));
            self.step(slot);
            return;
        }
        let mut packet = std::mem::take(&mut command.packet);
        if !upstream.to_close.is_empty() {
            let mut closes = Vec::new();
            for id in upstream.to_close.drain(..) {
                closes.extend(packed(byte::STMT_CLOSE, &id.to_le_bytes()));
            }
            if upstream.io.send(&closes).is_err() {
                self.upstream_lost(at, "connection lost");
                return;
            }
        }
        let mut form = form(command.byte);
        if let Some(id) = command.statement
            && command.byte != byte::STMT_PREPARE
            && let Some(statement) = client.statements.get_mut(&id)
            && let Some(handle) = upstream.handles.get(statement.digest.id)
        {
            packet[5..9].copy_from_slice(&handle.id.to_le_bytes());
            let mine = Some((client.entry.id, id));
            if command.byte == byte::STMT_EXECUTE {
                bind_types(&mut packet, statement, handle.types_of == mine);
                handle.types_of = mine;
            }
        }
        let mut answer =
            form.take().map(|form| Answer::new(form, upstream.capabilities, client.capabilities));
        if command.byte == byte::STMT_PREPARE {
            client.statement_ids = client.statement_ids.wrapping_add(1).max(1);
            command.statement = Some(client.statement_ids);
            answer = answer.map(|answer| answer.with_statement(client.statement_ids));
        }
        command.answer = answer;
        command.is_sent = true;
        let has_answer = command.answer.is_some();
        let is_whole = command.rest.is_none();
        let sent = upstream.io.send(&packet);
        if packet.capacity() > 0 && client.input.capacity() == 0 && packet.capacity() <= 4096 {
            packet.clear();
            client.input = packet;
        }
        if sent.is_err() {
            self.upstream_lost(at, "connection lost");
        } else if !is_whole {
            self.pump(slot);
        } else if !has_answer {
            self.finish(slot);
        }
    }

    /// Passes on what comes of a command, or of a local file, behind what was sent.
    pub(super) fn pump(&mut self, slot: usize) {
        loop {
            let Some(client) = self.clients.get(slot) else { return };
            let Some(at) = client.upstream else { return };
            let Some(upstream) = self.upstreams.get(at) else { return };
            let Some(command) = &mut client.command else { return };
            if upstream.io.has_unsent() || (command.rest.is_none() && command.file.is_none()) {
                return;
            }
            let mut bytes = std::mem::take(&mut client.input);
            if bytes.is_empty() {
                if !client.is_readable {
                    return;
                }
                match client.io.receive(&mut self.scratch) {
                    Ok(Received::InScratch { bytes: count, drained }) => {
                        client.is_readable = !drained;
                        bytes.extend_from_slice(&self.scratch[..count]);
                    }
                    Ok(Received::InInput { drained }) => {
                        client.is_readable = !drained;
                        bytes = client.io.take_input();
                    }
                    Ok(Received::Nothing) => {
                        client.is_readable = false;
                        return;
                    }
                    Ok(Received::Closed) | Err(_) => {
                        self.close_client(slot);
                        return;
                    }
                }
                if bytes.is_empty() {
                    continue;
                }
            }
            let scanner = &mut command.scanner;
            let frames = command.rest.as_mut().or(command.file.as_mut());
            let Some(frames) = frames else { return };
            let used = frames.feed(&bytes, |text| {
                if let Some(scanner) = scanner {
                    scanner.feed(text);
                }
            });
            let (is_done, is_empty, sequence) = (frames.is_done(), frames.is_empty, frames.sequence());
            let sent = upstream.io.send(&bytes[..used]);
            bytes.drain(..used);
            client.input = bytes;
            if is_done {
                command.sequence = sequence;
                if command.rest.take().is_some() {
                    if let Some(scanner) = command.scanner.take() {
                        command.effects = scanner.finish();
                    }
                } else if is_empty {
                    command.file = None;
                    if let Some(answer) = &mut command.answer {
                        answer.file_is_sent();
                    }
                } else {
                    command.file = Some(Frames::default());
                }
            }
            if sent.is_err() {
                self.upstream_lost(at, "connection lost");
                return;
            }
            let Some(client) = self.clients.get(slot) else { return };
            if client.command.as_ref().is_some_and(|c| c.rest.is_none() && c.answer.is_none()) {
                self.finish(slot);
                return;
            }
        }
    }

    /// A connection has bytes, or takes some.
    pub(super) fn upstream_event(&mut self, at: usize) {
        let Some(upstream) = self.upstreams.get(at) else { return };
        if upstream.io.has_unsent() && upstream.io.flush().is_err() {
            self.upstream_lost(at, "connection lost");
            return;
        }
        if let Some(slot) = self.upstreams.get(at).and_then(|upstream| upstream.owner) {
            self.pump(slot);
        }
        self.read_upstream(at);
    }

    /// Reads a connection as long as its client takes what comes.
    pub(super) fn read_upstream(&mut self, at: usize) {
        loop {
            let Some(upstream) = self.upstreams.get(at) else { return };
            if !upstream.is_readable {
                return;
            }
            let owner = upstream.owner;
            if let Some(client) = owner.and_then(|slot| self.clients.get(slot))
                && client.io.has_unsent()
            {
                return;
            }
            let Some(upstream) = self.upstreams.get(at) else { return };
            let count = match upstream.io.receive(&mut self.scratch) {
                Ok(Received::InScratch { bytes, drained }) => {
                    upstream.is_readable = !drained;
                    bytes
                }
                Ok(Received::Nothing) => {
                    upstream.is_readable = false;
                    return;
                }
                Ok(Received::InInput { .. } | Received::Closed) | Err(_) => {
                    self.upstream_lost(at, "the connection was closed");
                    return;
                }
            };
            match owner {
                Some(slot) => self.answered(slot, at, count),
                None => self.cleaned(at, count),
            }
        }
    }

    /// A connection without an owner has sent something: the answer to its reset, or its end.
    fn cleaned(&mut self, at: usize, count: usize) {
        let Some(upstream) = self.upstreams.get(at) else { return };
        let Some(mut cleaning) = upstream.cleaning.take() else {
            self.close_upstream(at); // ERR before the backend closes it.
            return;
        };
        let fed = cleaning.answer.feed(&self.scratch[..count], &mut cleaning.out);
        if fed.is_err() || cleaning.answer.said.error.is_some() {
            if let Some(entry) = cleaning.saves {
                entry.insert_id.store(LOST, Ordering::SeqCst);
            }
            self.close_upstream(at);
            return;
        }
        if !cleaning.answer.is_done() {
            upstream.cleaning = Some(cleaning);
            return;
        }
        self.must_serve = true;
        if let Some(entry) = cleaning.saves {
            let saved = only_number(&cleaning.out, upstream.capabilities).unwrap_or(LOST);
            entry.insert_id.store(saved, Ordering::SeqCst);
            upstream.insert_id = saved;
        } else {
            upstream.is_unknown = false;
            upstream.needs_base = true;
            upstream.insert_id = 0;
            let schema = upstream.profile.schema.clone();
            upstream.profile = Arc::new(Profile::bare(schema));
        }
    }

    /// Bytes of an answer.
    fn answered(&mut self, slot: usize, at: usize, count: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        let Some(command) = &mut client.command else {
            // What comes between two commands is the backend's farewell.
            self.upstream_lost(at, "the connection was closed");
            return;
        };
        let Some(answer) = &mut command.answer else {
            self.upstream_lost(at, "an answer to nothing");
            return;
        };
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let fed = answer.feed(&self.scratch[..count], &mut out);
        let is_step = command.step.is_some();
        let is_done = answer.is_done();
        let wants_file = answer.said.wants_file;
        if fed.is_err() {
            self.out = out;
            self.upstream_lost(at, "an answer that does not hold together");
            return;
        }
        if is_step {
            if is_done {
                self.step_done(slot, &out);
                out.clear();
            } else if let Some(client) = self.clients.get(slot)
                && let Some(command) = &mut client.command
            {
                command.step_out.extend_from_slice(&out);
            }
            self.out = out;
            return;
        }
        let sent = if out.is_empty() { Ok(true) } else { client.io.send(&out) };
        self.out = out;
        if sent.is_err() {
            self.close_client(slot);
            return;
        }
        if is_done {
            self.finish(slot);
        } else if wants_file
            && let Some(client) = self.clients.get(slot)
            && let Some(command) = &mut client.command
        {
            if command.file.is_none() {
                command.file = Some(Frames::default());
            }
            self.pump(slot);
        }
    }

    /// What comes before a command was answered.
    fn step_done(&mut self, slot: usize, last: &[u8]) {
        let Some(client) = self.clients.get(slot) else { return };
        let Some(at) = client.upstream else { return };
        let Some(command) = &mut client.command else { return };
        let (Some(step), Some(answer)) = (command.step.take(), command.answer.take()) else { return };
        let mut bytes = std::mem::take(&mut command.step_out);
        bytes.extend_from_slice(last);
        let Some(upstream) = self.upstreams.get(at) else { return };
        if answer.said.error.is_some() {
            for step in std::iter::once(&step).chain(&command.steps) {
                if let Step::SaveInsertId(entry) = step {
                    entry.insert_id.store(LOST, Ordering::SeqCst);
                }
            }
            // Its settings are not what they were to be: the next one begins with a reset.
            upstream.is_unknown = true;
            if matches!(step, Step::Schema(_))
                && answer.said.error == Some(ER_BAD_DB_NUMBER)
                && command.byte != 0
            {
                // The schema is gone: as in MySQL the session has none.
                let mut profile = (*client.profile).clone();
                profile.schema = None;
                client.profile = Arc::new(profile);
                client.upstream = None;
                upstream.owner = None;
                self.close_upstream(at);
                self.acquire(slot);
                return;
            }
            let sequence = command.sequence.wrapping_add(1);
            let mut buffer = PacketBuffer::new();
            buffer.set_sequence(sequence);
            buffer.put(&answer.said.error_packet);
            let is_login = command.byte == 0;
            client.is_closing |= is_login;
            self.reply(slot, buffer.frames());
            return;
        }
        match step {
            Step::Prepare(digest) => {
                if let Some((id, _)) = answer.said.prepared {
                    let close = upstream.handles.put(digest.id, id);
                    upstream.to_close.extend(close);
                }
            }
            Step::SaveInsertId(entry) => {
                let id = only_number(&bytes, upstream.capabilities).unwrap_or(LOST);
                entry.insert_id.store(id, Ordering::SeqCst);
                if !command
                    .steps
                    .iter()
                    .any(|step| matches!(step, Step::Query(text) if text.contains("last_insert_id")))
                {
                    upstream.insert_id = id;
                }
            }
            Step::Query(_) | Step::Schema(_) | Step::Reset => {}
        }
        self.step(slot);
    }

    /// A command was answered, here or by the backend: what it left behind, and whether the client keeps the connection.
    pub(super) fn finish(&mut self, slot: usize) {
        let Some(client) = self.clients.get(slot) else { return };
        let Some(mut command) = client.command.take() else { return };
        let is_incomplete = command.rest.is_some() || command.file.is_some();
        if let Some(at) = client.upstream
            && let Some(upstream) = self.upstreams.get(at)
            && command.is_sent
        {
            let said = command.answer.take().map(|answer| answer.said).unwrap_or_default();
            client.has_run = true;
            let before = client.pins;
            settle(client, upstream, &command, &said);
            if command.effects.has(Effects::CONNECTION_ID) {
                lock(&self.shared.threads).insert(upstream.thread.into(), client.entry.id);
            }
            self.shared.counters.count_pins(before, client.pins);
            if command.byte == byte::RESET_CONNECTION {
                let id = client.entry.id;
                lock(&self.shared.threads).retain(|_, of| *of != id);
            }
        }
        client.phase = Phase::Idle;
        if command.byte == 0 {
            let sequence = command.sequence.wrapping_add(1);
            let mut buffer = PacketBuffer::new();
            buffer.set_sequence(sequence);
            let ok = OkPacket { status: StatusFlags::AUTOCOMMIT, ..OkPacket::default() };
            ok.encode(message::OK_HEADER, client.capabilities, buffer.begin());
            buffer.end();
            let sent = client.io.send(buffer.frames());
            if client.capabilities.has(Capabilities::COMPRESS) {
                client.io.start_zlib();
            }
            if sent.is_err() {
                self.close_client(slot);
                return;
            }
        }
        if is_incomplete {
            // The backend gave up before all of the command was there: nobody knows where the next one begins.
            let Some(client) = self.clients.get(slot) else { return };
            client.is_closing = true;
            if let Some(at) = client.upstream.take() {
                self.close_upstream(at);
            }
        }
        self.release(slot);
        self.ready.push_back(slot);
    }

    /// Answers a command by frames made here.
    pub(super) fn reply(&mut self, slot: usize, frames: &[u8]) {
        let Some(client) = self.clients.get(slot) else { return };
        client.command = None;
        client.phase = Phase::Idle;
        if client.io.send(frames).is_err() {
            self.close_client(slot);
            return;
        }
        self.release(slot);
        self.ready.push_back(slot);
    }

    /// Answers a command with an error made here; a login ends with it.
    pub(super) fn fail(&mut self, slot: usize, error: &SqlError) {
        let Some(client) = self.clients.get(slot) else { return };
        let sequence = client.command.as_ref().map_or(1, |command| command.sequence.wrapping_add(1));
        client.is_closing |=
            client.command.as_ref().is_some_and(|command| command.byte == 0 || command.rest.is_some());
        let mut buffer = PacketBuffer::new();
        buffer.set_sequence(sequence);
        message::encode_error(error.number, Some(&error.state), error.message.as_bytes(), buffer.begin());
        buffer.end();
        self.reply(slot, buffer.frames());
    }

    /// A connection is gone: its client hears so, in the middle of an answer or at its next command.
    pub(super) fn upstream_lost(&mut self, at: usize, why: &str) {
        let Some(upstream) = self.upstreams.get(at) else { return };
        let owner = upstream.owner.take();
        Counters::add(&self.shared.counters.lost);
        self.close_upstream(at);
        let Some(slot) = owner else {
            self.must_serve = true;
            return;
        };
        let name = self.shared.config.name.clone();
        let Some(client) = self.clients.get(slot) else { return };
        client.upstream = None;
        client.before = None;
        let had_pins = client.pins.has(Pins::UNCLEAN);
        let Some(command) = &mut client.command else {
            // It kept the connection between two commands.
            if had_pins {
                client.lost = Some(format!("{name}: {why}"));
            }
            client.pins = Pins::default();
            self.must_serve = true;
            return;
        };
        if !had_pins && !command.is_sent && !command.retried {
            // Nothing of the command has left: another connection serves as well.
            for step in command.step.iter().chain(&command.steps) {
                if let Step::SaveInsertId(entry) = step {
                    entry.insert_id.store(LOST, Ordering::SeqCst);
                }
            }
            command.retried = true;
            command.step = None;
            command.answer = None;
            command.steps.clear();
            command.step_out.clear();
            client.pins = Pins::default();
            self.acquire(slot);
            return;
        }
        client.pins = Pins::default();
        client.is_closing |= had_pins || command.rest.is_some() || command.file.is_some();
        let answered = command.answer.as_ref().filter(|_| command.step.is_none());
        if answered.is_some_and(Answer::is_amid_packet) {
            // Not even an error can be said inside of a packet.
            self.close_client(slot);
            return;
        }
        if let Some(sequence) = answered.and_then(Answer::sequence) {
            command.sequence = sequence;
        }
        // An answer that is not due can be no error either.
        if command.answer.is_none() && command.is_sent {
            client.lost = Some(format!("{name}: {why}"));
            client.is_closing = false;
            client.command = None;
            client.phase = Phase::Idle;
            self.ready.push_back(slot);
            return;
        }
        self.fail(slot, &ER_QUERY_ON_FOREIGN_DATA_SOURCE.with(&[&format!("{name}: {why}")]));
    }
}

/// Gives a COM_STMT_EXECUTE the types of its parameters, if its client sent them before and the connection does not know them.
fn bind_types(packet: &mut Vec<u8>, statement: &mut Statement, knows_types: bool) {
    let count = usize::from(statement.parameters);
    let flag = HEADER_BYTES + 10 + count.div_ceil(8);
    if count == 0 || packet.len() <= flag {
        return;
    }
    if packet[flag] == 1 {
        if let Some(types) = packet.get(flag + 1..flag + 1 + 2 * count)
            && statement.types != types
        {
            statement.types = types.to_vec();
        }
    } else if !knows_types && statement.types.len() == 2 * count {
        let length =
            u32::from_le_bytes([packet[0], packet[1], packet[2], 0]) + 2 * u32::from(statement.parameters);
        // A first frame that is full stays as it is: the backend then says that types are missing.
        if length < 0xff_ffff {
            packet[..3].copy_from_slice(&length.to_le_bytes()[..3]);
            packet[flag] = 1;
            packet.splice(flag + 1..flag + 1, statement.types.iter().copied());
        }
    }
}

/// The number in a result of one row and one column.
fn only_number(answer: &[u8], capabilities: Capabilities) -> Option<u64> {
    let skipped = if capabilities.has(Capabilities::DEPRECATE_EOF) { 2 } else { 3 };
    let mut rest = answer;
    for _ in 0..skipped {
        let (_, _, used) = wire::packet::one_packet(rest).ok()?;
        rest = &rest[used..];
    }
    let (row, _, _) = wire::packet::one_packet(rest).ok()?;
    let text = wire::codec::Reader::new(row).lenenc_bytes().ok()?;
    std::str::from_utf8(text).ok()?.parse().ok()
}
