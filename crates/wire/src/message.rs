//! OK, ERR and EOF packets, and the session state that an OK packet may report.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "OK_Packet", "ERR_Packet", "EOF_Packet".

use crate::codec::{LENENC_BYTE_END, Malformed, Reader, malformed, put_lenenc_bytes, put_lenenc_int};
use crate::flags::{Capabilities, StatusFlags};

/// First byte of an OK packet.
pub const OK_HEADER: u8 = 0x00;
/// First byte of an EOF packet, and of the OK packet that ends a result under DEPRECATE_EOF.
pub const EOF_HEADER: u8 = 0xfe;
/// First byte of an ERR packet.
pub(crate) const ERR_HEADER: u8 = 0xff;
/// First byte of a request for a local file.
pub const LOCAL_FILE_HEADER: u8 = 0xfb;
/// An EOF packet is shorter than this; a longer packet with its first byte is a row.
pub(crate) const EOF_PACKET_BYTES_MAX: usize = 9;

/// A change of session state that the client asked to be notified of.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SessionStateChange<'a> {
    /// A system variable has a new value.
    SystemVariable {
        /// Its name.
        name: &'a [u8],
        /// Its value as text.
        value: &'a [u8],
    },
    /// The default database changed.
    Schema(&'a [u8]),
    /// Something in the session changed (`session_track_state_change`).
    StateChanged(bool),
    /// Statements that open the transaction again elsewhere (`session_track_transaction_info=CHARACTERISTICS`).
    TransactionCharacteristics(&'a [u8]),
    /// State of the transaction, eight characters (`session_track_transaction_info=STATE`).
    TransactionState(&'a [u8]),
    /// GTIDs.
    Gtids(&'a [u8]),
}

impl SessionStateChange<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let kind = match self {
            SessionStateChange::SystemVariable { name, value } => {
                put_lenenc_bytes(&mut body, name);
                put_lenenc_bytes(&mut body, value);
                0
            }
            SessionStateChange::Schema(name) => {
                put_lenenc_bytes(&mut body, name);
                1
            }
            SessionStateChange::StateChanged(changed) => {
                put_lenenc_bytes(&mut body, if *changed { b"1" } else { b"0" });
                2
            }
            SessionStateChange::Gtids(gtids) => {
                body.push(0);
                put_lenenc_bytes(&mut body, gtids);
                3
            }
            SessionStateChange::TransactionCharacteristics(text) => {
                put_lenenc_bytes(&mut body, text);
                4
            }
            SessionStateChange::TransactionState(text) => {
                put_lenenc_bytes(&mut body, text);
                5
            }
        };
        out.push(kind);
        put_lenenc_bytes(out, &body);
    }
}

/// What an OK packet says.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkPacket<'a> {
    /// Rows changed, or found with FOUND_ROWS.
    pub affected_rows: u64,
    /// The first number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: StatusFlags,
    /// Warnings raised by the statement.
    pub warnings: u16,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a [u8],
    /// Changed session state; sent only to a client with SESSION_TRACK.
    pub state_changes: &'a [SessionStateChange<'a>],
}

impl OkPacket<'_> {
    /// Appends the payload; `header` is [`OK_HEADER`] or, at the end of a result under DEPRECATE_EOF, [`EOF_HEADER`].
    #[inline]
    pub fn encode(&self, header: u8, capabilities: Capabilities, out: &mut Vec<u8>) {
        let is_plain = self.info.is_empty() && self.state_changes.is_empty();
        if is_plain && self.affected_rows < LENENC_BYTE_END && self.last_insert_id < LENENC_BYTE_END {
            // What most statements answer: all lengths are known, one copy.
            let status = self.status.without(StatusFlags::SESSION_STATE_CHANGED);
            let ([s0, s1], [w0, w1]) = (status.0.to_le_bytes(), self.warnings.to_le_bytes());
            let (rows, id) = (self.affected_rows as u8, self.last_insert_id as u8);
            out.extend_from_slice(&[header, rows, id, s0, s1, w0, w1]);
        } else {
            self.encode_any(header, capabilities, out);
        }
    }

    fn encode_any(&self, header: u8, capabilities: Capabilities, out: &mut Vec<u8>) {
        out.push(header);
        put_lenenc_int(out, self.affected_rows);
        put_lenenc_int(out, self.last_insert_id);
        let track = capabilities.has(Capabilities::SESSION_TRACK);
        let changed = track && !self.state_changes.is_empty();
        let status = self.status.set(StatusFlags::SESSION_STATE_CHANGED, changed);
        out.extend_from_slice(&status.0.to_le_bytes());
        out.extend_from_slice(&self.warnings.to_le_bytes());
        if track {
            // An empty info with nothing behind it is left out.
            if changed || !self.info.is_empty() {
                put_lenenc_bytes(out, self.info);
            }
            if changed {
                let mut changes = Vec::new();
                for change in self.state_changes {
                    change.encode(&mut changes);
                }
                put_lenenc_bytes(out, &changes);
            }
        } else if !self.info.is_empty() {
            put_lenenc_bytes(out, self.info);
        }
    }
}

/// An OK packet as a client reads it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct ReceivedOk<'a> {
    /// Rows changed.
    pub affected_rows: u64,
    /// The first number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: StatusFlags,
    /// Warnings raised by the statement.
    pub warnings: u16,
    /// Text for people.
    pub info: &'a [u8],
    /// Changed session state, still encoded.
    pub state_changes: &'a [u8],
}

impl<'a> ReceivedOk<'a> {
    /// Reads the payload, whose first byte is known to be right.
    ///
    /// # Errors
    /// If it is cut.
    pub fn decode(payload: &'a [u8], capabilities: Capabilities) -> Result<ReceivedOk<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        reader.u8()?;
        let affected_rows = reader.lenenc_int()?;
        let last_insert_id = reader.lenenc_int()?;
        let status = StatusFlags(reader.u16()?);
        let warnings = reader.u16()?;
        let mut info: &[u8] = &[];
        let mut state_changes: &[u8] = &[];
        if capabilities.has(Capabilities::SESSION_TRACK) {
            if !reader.is_empty() {
                info = reader.lenenc_bytes()?;
            }
            if status.has(StatusFlags::SESSION_STATE_CHANGED) {
                state_changes = reader.lenenc_bytes()?;
            }
        } else if !reader.is_empty() {
            info = reader.lenenc_bytes()?;
        }
        Ok(ReceivedOk { affected_rows, last_insert_id, status, warnings, info, state_changes })
    }
}

/// Appends an EOF payload, for clients without DEPRECATE_EOF.
pub fn encode_eof(warnings: u16, status: StatusFlags, out: &mut Vec<u8>) {
    out.push(EOF_HEADER);
    out.extend_from_slice(&warnings.to_le_bytes());
    out.extend_from_slice(&status.0.to_le_bytes());
}

/// Reads an EOF payload: warnings and status.
///
/// # Errors
/// If it is cut.
pub fn decode_eof(payload: &[u8]) -> Result<(u16, StatusFlags), Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    Ok((reader.u16()?, StatusFlags(reader.u16()?)))
}

/// Bytes of a message after which it is cut, as MySQL's own buffer does.
pub(crate) const ERROR_MESSAGE_BYTES_MAX: usize = 511;

/// Appends an ERR payload. Before the handshake is over the client knows no SQLSTATE: `state` is then `None`.
pub fn encode_error(number: u16, state: Option<&[u8; 5]>, message: &[u8], out: &mut Vec<u8>) {
    out.push(ERR_HEADER);
    out.extend_from_slice(&number.to_le_bytes());
    if let Some(state) = state {
        out.push(b'#');
        out.extend_from_slice(state);
    }
    let mut end = message.len().min(ERROR_MESSAGE_BYTES_MAX);
    while end > 0 && end < message.len() && message[end] & 0xc0 == 0x80 {
        end -= 1; // Never in the middle of a UTF-8 character.
    }
    out.extend_from_slice(&message[..end]);
}

/// An ERR packet as a client reads it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ReceivedError<'a> {
    /// MySQL's number.
    pub number: u16,
    /// SQLSTATE, absent before the handshake is over.
    pub state: Option<[u8; 5]>,
    /// Text.
    pub message: &'a [u8],
}

impl<'a> ReceivedError<'a> {
    /// Reads the payload, whose first byte is known to be right.
    ///
    /// # Errors
    /// If it is cut.
    pub fn decode(payload: &'a [u8]) -> Result<ReceivedError<'a>, Malformed> {
        let mut reader = Reader::new(payload);
        if reader.u8()? != ERR_HEADER {
            return malformed("ERR packet");
        }
        let number = reader.u16()?;
        let state = if reader.peek() == Some(b'#') {
            reader.u8()?;
            reader.bytes(5)?.try_into().ok()
        } else {
            None
        };
        Ok(ReceivedError { number, state, message: reader.take_rest() })
    }
}
