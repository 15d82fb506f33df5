//! Where an answer of the backend ends: frames are counted, first bytes are read, rows are passed on unseen.
//!
//! Invariants:
//! 1. What comes out does not depend on how the bytes are cut into pieces.
//! 2. Of a row or a column definition one byte is read at most; nothing is kept but a packet that has to be read whole.
//! 3. Bytes that are no answer are an error, never passed on as one.

use wire::codec::{Reader, put_lenenc_bytes, put_lenenc_int};
use wire::message::{EOF_HEADER, LOCAL_FILE_HEADER, OK_HEADER, ReceivedError, ReceivedOk, decode_eof};
use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, HEADER_BYTES};
use wire::{Capabilities, StatusFlags};

const ERR_HEADER: u8 = 0xff;
/// A packet that has to be read whole is no longer than this.
const READ_BYTES_MAX: usize = 1 << 20;
/// An EOF packet is shorter.
const EOF_BYTES_MAX: usize = 9;

/// How a command is answered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// Results: each OK, or columns and rows.
    Results,
    /// What COM_STMT_PREPARE gives.
    Prepared,
    /// Rows without columns before: COM_STMT_FETCH, COM_FIELD_LIST.
    Rows,
    /// One packet with a text.
    Text,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    First,
    /// Definitions left, and whether an EOF follows.
    Columns(u64),
    ColumnsEnd,
    Rows,
    PreparedFirst,
    /// Parameters and columns left.
    Definitions(u64, u64),
    DefinitionsEnd(u64),
    Text,
    Done,
}

/// What an answer said beside its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    /// The status of the last packet that had one.
    pub(crate) status: Option<StatusFlags>,
    /// An OK packet gave a number by AUTO_INCREMENT.
    pub(crate) insert_id: bool,
    pub(crate) warnings: u16,
    /// The number of the error that ended it.
    pub(crate) error: Option<u16>,
    /// The error's packet, without header.
    pub(crate) error_packet: Vec<u8>,
    /// Session tracking: the schema now.
    pub(crate) schema: Option<Vec<u8>>,
    /// Session tracking: something in the session changed.
    pub(crate) state_changed: bool,
    /// COM_STMT_PREPARE: number of the statement, and how many parameters it has.
    pub(crate) prepared: Option<(u32, u16)>,
    /// The backend waits for a file of the client.
    pub(crate) wants_file: bool,
}

/// The backend's answer does not hold together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Unintelligible;

/// An answer under way.
#[derive(Debug)]
pub(crate) struct Answer {
    state: State,
    upstream: Capabilities,
    client: Capabilities,
    /// The number that the client knows a prepared statement by.
    statement: u32,
    /// Bytes of a frame that are passed on unseen.
    skip: usize,
    /// The frame that is passed on, or was, is continued by the next.
    is_continued: bool,
    /// A packet that has come in part.
    carry: Vec<u8>,
    /// The number of the last frame that came out.
    sequence: Option<u8>,
    pub(crate) said: Said,
}

impl Answer {
    /// Of a connection with `upstream`, for a client with `client`.
    pub(crate) fn new(form: Form, upstream: Capabilities, client: Capabilities) -> Answer {
        let state = match form {
            Form::Results => State::First,
            Form::Prepared => State::PreparedFirst,
            Form::Rows => State::Rows,
            Form::Text => State::Text,
        };
        Answer {
            state,
            upstream,
            client,
            statement: 0,
            skip: 0,
            is_continued: false,
            carry: Vec::new(),
            sequence: None,
            said: Said::default(),
        }
    }

    /// The number that the client is to know the statement by that is prepared.
    pub(crate) fn with_statement(mut self, statement: u32) -> Answer {
        self.statement = statement;
        self
    }

    /// Whether all of it has come.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done && self.skip == 0 && !self.is_continued
    }

    /// The number of the last frame that came out; `None` if none did.
    pub(crate) fn sequence(&self) -> Option<u8> {
        self.sequence
    }

    /// Whether what came out ends inside of a packet.
    pub(crate) fn is_amid_packet(&self) -> bool {
        self.skip > 0 || self.is_continued
    }

    /// The client's file was sent or refused: the backend answers.
    pub(crate) fn file_is_sent(&mut self) {
        self.said.wants_file = false;
    }

    /// Takes bytes and appends what the client gets. What comes behind the answer's end is an error.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Unintelligible> {
        while !bytes.is_empty() {
            if self.skip > 0 {
                let take = self.skip.min(bytes.len());
                out.extend_from_slice(&bytes[..take]);
                bytes = &bytes[take..];
                self.skip -= take;
                continue;
            }
            if self.is_done() || self.said.wants_file {
                return Err(Unintelligible);
            }
            if self.carry.is_empty() {
                match self.wanted(bytes)? {
                    Wanted::Bytes(wanted) if bytes.len() < wanted => {
                        self.carry.extend_from_slice(bytes);
                        return Ok(());
                    }
                    Wanted::Bytes(wanted) => {
                        self.packet(&bytes[..wanted], out)?;
                        bytes = &bytes[wanted..];
                    }
                    Wanted::Pass => {
                        self.pass(bytes, out);
                        bytes = &bytes[HEADER_BYTES..];
                    }
                }
                continue;
            }
            // One byte more at least, then what that says is wanted.
            let mut carry = std::mem::take(&mut self.carry);
            match self.wanted(&carry)? {
                Wanted::Bytes(wanted) if carry.len() < wanted => {
                    let take = (wanted - carry.len()).min(bytes.len());
                    carry.extend_from_slice(&bytes[..take]);
                    bytes = &bytes[take..];
                }
                _ => {}
            }
            match self.wanted(&carry)? {
                Wanted::Bytes(wanted) if carry.len() < wanted => self.carry = carry,
                Wanted::Bytes(_) => self.packet(&carry, out)?,
                Wanted::Pass => {
                    self.pass(&carry, out);
                    let behind = carry.len() - HEADER_BYTES;
                    debug_assert!(behind <= self.skip);
                    out.extend_from_slice(&carry[HEADER_BYTES..]);
                    self.skip -= behind;
                }
            }
        }
        Ok(())
    }

    /// What has to be there of the frame at the front of `bytes`, header included.
    fn wanted(&self, bytes: &[u8]) -> Result<Wanted, Unintelligible> {
        let Some(&[a, b, c, _]) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(Wanted::Bytes(HEADER_BYTES));
        };
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        if self.is_continued {
            return Ok(Wanted::Pass);
        }
        let whole = || {
            if length > READ_BYTES_MAX || length == 0 {
                Err(Unintelligible)
            } else {
                Ok(Wanted::Bytes(HEADER_BYTES + length))
            }
        };
        match self.state {
            State::Columns(_) | State::Definitions(..) | State::Text => Ok(Wanted::Pass),
            State::First | State::PreparedFirst | State::ColumnsEnd | State::DefinitionsEnd(_) => whole(),
            State::Rows => {
                if length == 0 {
                    return Ok(Wanted::Pass);
                }
                let Some(&first) = bytes.get(HEADER_BYTES) else {
                    return Ok(Wanted::Bytes(HEADER_BYTES + 1));
                };
                let is_end = first == EOF_HEADER
                    && if self.upstream.has(Capabilities::DEPRECATE_EOF) {
                        length < FRAME_PAYLOAD_BYTES_MAX
                    } else {
                        length < EOF_BYTES_MAX
                    };
                if is_end || first == ERR_HEADER { whole() } else { Ok(Wanted::Pass) }
            }
            State::Done => Err(Unintelligible),
        }
    }

    /// Passes the frame on whose header is at the front of `bytes`.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&bytes[..HEADER_BYTES]);
        self.sequence = Some(bytes[3]);
        let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        self.skip = length;
        self.is_continued = length == FRAME_PAYLOAD_BYTES_MAX;
        if self.is_continued {
            return;
        }
        let has_ends = !self.upstream.has(Capabilities::DEPRECATE_EOF);
        self.state = match self.state {
            State::Columns(1) if has_ends => State::ColumnsEnd,
            State::Columns(1) => State::Rows,
            State::Columns(left) => State::Columns(left - 1),
            State::Definitions(1, columns) if has_ends => State::DefinitionsEnd(columns),
            State::Definitions(0, 1) if has_ends => State::DefinitionsEnd(0),
            State::Definitions(0, 1) => State::Done,
            State::Definitions(0, columns) => State::Definitions(0, columns - 1),
            State::Definitions(1, 0) => State::Done,
            State::Definitions(parameters, columns) => State::Definitions(parameters - 1, columns),
            State::Text => State::Done,
            state => state,
        };
    }

    /// Reads a whole packet.
    fn packet(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), Unintelligible> {
        let payload = &packet[HEADER_BYTES..];
        self.sequence = Some(packet[3]);
        let first = payload[0];
        if first == ERR_HEADER {
            let error = ReceivedError::decode(payload).map_err(|_| Unintelligible)?;
            self.said.error = Some(error.number);
            self.said.error_packet = payload.to_vec();
            self.state = State::Done;
            out.extend_from_slice(packet);
            return Ok(());
        }
        match (self.state, first) {
            (State::First, OK_HEADER) => self.ok(packet, out),
            (State::First, EOF_HEADER) if payload.len() < EOF_BYTES_MAX => self.eof(packet, out, State::Done),
            (State::First, LOCAL_FILE_HEADER) => {
                self.said.wants_file = true;
                out.extend_from_slice(packet);
                Ok(())
            }
            (State::First, _) => {
                let count = Reader::new(payload).lenenc_int().map_err(|_| Unintelligible)?;
                self.state = if count == 0 { State::Rows } else { State::Columns(count) };
                out.extend_from_slice(packet);
                Ok(())
            }
            (State::ColumnsEnd, EOF_HEADER) => self.eof(packet, out, State::Rows),
            (State::Rows, EOF_HEADER) if self.upstream.has(Capabilities::DEPRECATE_EOF) => {
                self.ok(packet, out)
            }
            (State::Rows, EOF_HEADER) => self.eof(packet, out, State::Done),
            (State::DefinitionsEnd(columns), EOF_HEADER) => {
                let next = if columns == 0 { State::Done } else { State::Definitions(0, columns) };
                self.state = next;
                out.extend_from_slice(packet);
                Ok(())
            }
            (State::PreparedFirst, OK_HEADER) => {
                let mut reader = Reader::new(&payload[1..]);
                let mut read = || Some((reader.u32().ok()?, reader.u16().ok()?, reader.u16().ok()?));
                let (id, columns, parameters) = read().ok_or(Unintelligible)?;
                self.said.prepared = Some((id, parameters));
                out.extend_from_slice(&packet[..=HEADER_BYTES]);
                out.extend_from_slice(&self.statement.to_le_bytes());
                out.extend_from_slice(&payload[5..]);
                self.state = if parameters == 0 && columns == 0 {
                    State::Done
                } else {
                    State::Definitions(parameters.into(), columns.into())
                };
                Ok(())
            }
            _ => Err(Unintelligible),
        }
    }

    fn eof(&mut self, packet: &[u8], out: &mut Vec<u8>, next: State) -> Result<(), Unintelligible> {
        let (warnings, status) = decode_eof(&packet[HEADER_BYTES..]).map_err(|_| Unintelligible)?;
        self.said.status = Some(status);
        self.said.warnings = warnings;
        out.extend_from_slice(packet);
        self.state = match next {
            // A cursor's rows come when they are asked for.
            State::Rows if status.has(StatusFlags::CURSOR_EXISTS) => State::Done,
            State::Rows => State::Rows,
            _ if status.has(StatusFlags::MORE_RESULTS_EXISTS) => State::First,
            next => next,
        };
        Ok(())
    }

    fn ok(&mut self, packet: &[u8], out: &mut Vec<u8>) -> Result<(), Unintelligible> {
        let payload = &packet[HEADER_BYTES..];
        let ok = ReceivedOk::decode(payload, self.upstream).map_err(|_| Unintelligible)?;
        self.said.status = Some(ok.status);
        self.said.warnings = ok.warnings;
        self.said.insert_id |= ok.last_insert_id != 0;
        self.state = if ok.status.has(StatusFlags::MORE_RESULTS_EXISTS) { State::First } else { State::Done };
        if ok.state_changes.is_empty()
            && (ok.info.is_empty()
                || self.upstream.has(Capabilities::SESSION_TRACK)
                    == self.client.has(Capabilities::SESSION_TRACK))
        {
            out.extend_from_slice(packet);
            return Ok(());
        }
        let passed = self.changes(ok.state_changes)?;
        let track = self.client.has(Capabilities::SESSION_TRACK);
        let changed = track && !passed.is_empty();
        let status = ok.status.set(StatusFlags::SESSION_STATE_CHANGED, changed);
        let start = out.len();
        out.extend_from_slice(&packet[..=HEADER_BYTES]);
        put_lenenc_int(out, ok.affected_rows);
        put_lenenc_int(out, ok.last_insert_id);
        out.extend_from_slice(&status.0.to_le_bytes());
        out.extend_from_slice(&ok.warnings.to_le_bytes());
        if changed || !ok.info.is_empty() {
            put_lenenc_bytes(out, ok.info);
        }
        if changed {
            put_lenenc_bytes(out, &passed);
        }
        let length = (out.len() - start - HEADER_BYTES) as u32;
        out[start..start + 3].copy_from_slice(&length.to_le_bytes()[..3]);
        Ok(())
    }

    /// Reads what session tracking says; returns what the client is to read of it.
    fn changes(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Unintelligible> {
        let mut passed = Vec::new();
        let mut reader = Reader::new(bytes);
        while !reader.is_empty() {
            let kind = reader.u8().map_err(|_| Unintelligible)?;
            let body = reader.lenenc_bytes().map_err(|_| Unintelligible)?;
            match kind {
                1 => {
                    let name = Reader::new(body).lenenc_bytes().map_err(|_| Unintelligible)?;
                    self.said.schema = Some(name.to_vec());
                }
                // Asked for by the relay and not by the client.
                2 => {
                    self.said.state_changed = true;
                    continue;
                }
                _ => {}
            }
            passed.push(kind);
            put_lenenc_bytes(&mut passed, body);
        }
        Ok(passed)
    }
}

/// What is needed of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    /// Its first bytes: their number, header included. They are read.
    Bytes(usize),
    /// Its header: the rest is passed on.
    Pass,
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::packet::PacketBuffer;

    const NEW: Capabilities = Capabilities(Capabilities::DEPRECATE_EOF.0 | Capabilities::SESSION_TRACK.0);

    fn frames(payloads: &[&[u8]]) -> Vec<u8> {
        let mut buffer = PacketBuffer::new();
        buffer.set_sequence(1);
        payloads.iter().for_each(|payload| buffer.put(payload));
        buffer.take()
    }

    /// Feeds an answer cut at each byte; returns what came out and what it said.
    fn fed(form: Form, upstream: Capabilities, client: Capabilities, bytes: &[u8]) -> (Vec<u8>, Said) {
        let mut first: Option<Vec<u8>> = None;
        let mut said = Said::default();
        for at in 0..bytes.len() {
            let mut answer = Answer::new(form, upstream, client).with_statement(77);
            let mut out = Vec::new();
            answer.feed(&bytes[..at], &mut out).expect("an answer");
            assert!(!answer.is_done(), "done at {at} of {}", bytes.len());
            answer.feed(&bytes[at..], &mut out).expect("an answer");
            assert!(answer.is_done(), "cut at {at}");
            assert_eq!(first.get_or_insert_with(|| out.clone()), &out, "cut at {at}");
            said = answer.said;
        }
        let mut answer = Answer::new(form, upstream, client).with_statement(77);
        let mut out = Vec::new();
        bytes.iter().for_each(|byte| answer.feed(&[*byte], &mut out).expect("an answer"));
        assert!(answer.is_done());
        assert_eq!(Some(&out), first.as_ref());
        assert_eq!(answer.feed(&[0], &mut out), Err(Unintelligible), "nothing may follow");
        (out, said)
    }

    #[test]
    fn answers_end_where_they_end() {
        let ok = [0, 1, 0, 2, 0, 0, 0];
        let more = [0, 1, 0, 10, 0, 0, 0];
        let eof = [0xfe, 0, 0, 2, 0];
        let end = [0xfe, 0, 0, 2, 0, 0, 0];
        let column = b"\x03def\xfe".as_slice();
        for (form, upstream, payloads) in [
            (Form::Results, NEW, vec![&ok[..]]),
            (Form::Results, NEW, vec![&more, &ok]),
            (Form::Results, NEW, vec![&[2], column, column, b"\x01a\x00", b"", b"\xfb\xfb", &end]),
            (Form::Results, NEW, vec![&[1], column, b"\x01a", &[0xff, 1, 2, b'#', 0, 0, 0, 0, 0]]),
            (Form::Results, Capabilities::NONE, vec![&[1], column, &eof, b"\x01a", &eof]),
            (Form::Results, Capabilities::NONE, vec![&[1], column, &[0xfe, 0, 0, 0x42, 0]]),
            (
                Form::Results,
                Capabilities::NONE,
                vec![&[1], column, &eof, b"\x01a", &[0xfe, 0, 0, 10, 0], &ok],
            ),
            (Form::Rows, NEW, vec![b"\x00\x00a", &end]),
            (Form::Text, NEW, vec![b"Uptime: 1"]),
        ] {
            let bytes = frames(&payloads);
            let (out, _) = fed(form, upstream, upstream, &bytes);
            assert_eq!(out, bytes);
        }
        let prepared = [0, 5, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0];
        for (upstream, payloads) in [
            (NEW, vec![&prepared[..], column, column, column]),
            (Capabilities::NONE, vec![&prepared, column, column, &eof, column, &eof]),
            (NEW, vec![&[0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]]),
        ] {
            let bytes = frames(&payloads);
            let (out, said) = fed(Form::Prepared, upstream, upstream, &bytes);
            assert_eq!(out[5..9], 77_u32.to_le_bytes());
            assert_eq!((&out[..5], &out[9..]), (&bytes[..5], &bytes[9..]));
            assert_eq!(said.prepared.expect("prepared").0, 5);
        }
    }

    #[test]
    fn session_tracking_reaches_those_who_asked() {
        let mut ok = vec![0, 1, 0, 2, 0x40, 0, 0];
        put_lenenc_bytes(&mut ok, b"info");
        put_lenenc_bytes(&mut ok, b"\x01\x03\x02db\x02\x02\x011");
        let bytes = frames(&[&ok]);
        let (out, said) = fed(Form::Results, NEW, NEW, &bytes);
        assert_eq!(&out[4..], b"\x00\x01\x00\x02\x40\x00\x00\x04info\x05\x01\x03\x02db");
        assert_eq!((said.schema.as_deref(), said.state_changed), (Some(&b"db"[..]), true));
        let (out, _) = fed(Form::Results, NEW, Capabilities::DEPRECATE_EOF, &bytes);
        assert_eq!(&out[4..], b"\x00\x01\x00\x02\x00\x00\x00\x04info");
        assert_eq!(out[0], 12);
    }

    #[test]
    fn rows_of_several_frames_pass() {
        let mut payload = vec![0xfe];
        payload.extend_from_slice(&(FRAME_PAYLOAD_BYTES_MAX as u64 + 9).to_le_bytes());
        payload.resize(FRAME_PAYLOAD_BYTES_MAX + 18, 0xff);
        let bytes = frames(&[&[1], b"\x03def", &payload, &[0xfe, 0, 0, 2, 0, 0, 0]]);
        let mut answer = Answer::new(Form::Results, NEW, NEW);
        let mut out = Vec::new();
        bytes.chunks(65_521).for_each(|piece| answer.feed(piece, &mut out).expect("an answer"));
        assert!(answer.is_done() && out == bytes);
    }
}
