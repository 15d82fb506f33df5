//! One client, as a loop has it: its settings, what keeps it on a connection, its command under way.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use server::{Io, Stay};
use service::Account;
use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, HEADER_BYTES};
use wire::{Capabilities, StatusFlags};

use crate::answer::Answer;
use crate::entry::{Digest, Entry};
use crate::scan::{Effects, Scanner};
use crate::settings::{Change, Profile};

/// Why a client keeps its connection, a bit each.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pins(u16);

impl Pins {
    pub(crate) const TRANSACTION: Pins = Pins(1);
    /// Temporary tables, variables, GET_LOCK, PREPARE and the like: until the session ends.
    pub(crate) const SESSION: Pins = Pins(1 << 1);
    pub(crate) const LOCK_TABLES: Pins = Pins(1 << 2);
    /// SET TRANSACTION: until the next one.
    pub(crate) const NEXT_TRANSACTION: Pins = Pins(1 << 3);
    pub(crate) const CURSOR: Pins = Pins(1 << 4);
    pub(crate) const LONG_DATA: Pins = Pins(1 << 5);
    /// The next command may ask for them.
    pub(crate) const WARNINGS: Pins = Pins(1 << 6);
    pub(crate) const FOUND_ROWS: Pins = Pins(1 << 7);
    /// It has asked for what the statement before left when that was lost: it is kept.
    pub(crate) const PREVIOUS: Pins = Pins(1 << 8);
    /// Those that end with the next command, and before if others wait for long.
    pub(crate) const BRIEF: Pins = Pins(Pins::WARNINGS.0 | Pins::FOUND_ROWS.0);
    /// Those for which the connection has to be reset before another client gets it.
    pub(crate) const UNCLEAN: Pins = Pins(
        Pins::TRANSACTION.0
            | Pins::SESSION.0
            | Pins::LOCK_TABLES.0
            | Pins::NEXT_TRANSACTION.0
            | Pins::CURSOR.0
            | Pins::LONG_DATA.0,
    );

    pub(crate) fn set(&mut self, pins: Pins, on: bool) {
        self.0 = if on { self.0 | pins.0 } else { self.0 & !pins.0 };
    }

    pub(crate) fn has(self, pins: Pins) -> bool {
        self.0 & pins.0 != 0
    }

    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A prepared statement as the client knows it.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) digest: Arc<Digest>,
    pub(crate) parameters: u16,
    pub(crate) effects: Effects,
    /// Types of its parameters, as the client sent them last.
    pub(crate) types: Vec<u8>,
    pub(crate) has_cursor: bool,
    pub(crate) has_long_data: bool,
}

/// What is asked of the connection before the client's command.
#[derive(Debug)]
pub(crate) enum Step {
    Query(String),
    Schema(Vec<u8>),
    Reset,
    Prepare(Arc<Digest>),
    /// Reads LAST_INSERT_ID() for the client that had the connection before.
    SaveInsertId(Arc<Entry>),
}

/// Counts frames of a packet that passes in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    header: [u8; HEADER_BYTES],
    header_bytes: usize,
    left: usize,
    is_last: bool,
    is_done: bool,
    /// The packet's payload was empty: the end of a file.
    pub(crate) is_empty: bool,
    begun: bool,
}

impl Frames {
    /// Takes bytes of the packet; returns how many are its own. `see` gets its payload.
    pub(crate) fn feed(&mut self, bytes: &[u8], mut see: impl FnMut(&[u8])) -> usize {
        let mut at = 0;
        while at < bytes.len() && !self.is_done {
            if self.header_bytes < HEADER_BYTES {
                self.header[self.header_bytes] = bytes[at];
                self.header_bytes += 1;
                at += 1;
                if self.header_bytes == HEADER_BYTES {
                    let [a, b, c, _] = self.header;
                    self.left = u32::from_le_bytes([a, b, c, 0]) as usize;
                    self.is_last = self.left < FRAME_PAYLOAD_BYTES_MAX;
                    self.is_empty = self.left == 0 && !self.begun;
                    self.begun = true;
                    self.end_frame();
                }
                continue;
            }
            let take = self.left.min(bytes.len() - at);
            see(&bytes[at..at + take]);
            at += take;
            self.left -= take;
            self.end_frame();
        }
        at
    }

    fn end_frame(&mut self) {
        if self.left == 0 {
            self.is_done = self.is_last;
            if !self.is_done {
                self.header_bytes = 0;
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The number of the last frame.
    pub(crate) fn sequence(&self) -> u8 {
        self.header[3]
    }
}

/// A command under way.
#[derive(Debug)]
pub(crate) struct Command {
    /// Its first byte; 0 for the login.
    pub(crate) byte: u8,
    /// What has come of it and was not sent.
    pub(crate) packet: Vec<u8>,
    /// Set while a part of it is still to come.
    pub(crate) rest: Option<Frames>,
    pub(crate) scanner: Option<Scanner>,
    pub(crate) effects: Effects,
    pub(crate) changes: Option<Vec<Change>>,
    /// The schema that it selects.
    pub(crate) schema: Option<Vec<u8>>,
    /// The client's number of the statement that it is about.
    pub(crate) statement: Option<u32>,
    /// The beginning of a SET.
    pub(crate) text: Vec<u8>,
    pub(crate) steps: VecDeque<Step>,
    /// A step's answer, or the command's.
    pub(crate) answer: Option<Answer>,
    pub(crate) step: Option<Step>,
    /// What has come of the step's answer.
    pub(crate) step_out: Vec<u8>,
    /// COM_STMT_PREPARE: the text, and what its execution may leave behind.
    pub(crate) digest: Option<Arc<Digest>>,
    pub(crate) prepared_effects: Effects,
    /// It was sent, at least in part.
    pub(crate) is_sent: bool,
    /// A local file that passes.
    pub(crate) file: Option<Frames>,
    /// The number of the client's last packet.
    pub(crate) sequence: u8,
    pub(crate) retried: bool,
}

impl Command {
    pub(crate) fn new(byte: u8, packet: Vec<u8>) -> Command {
        Command {
            byte,
            packet,
            rest: None,
            scanner: None,
            effects: Effects::default(),
            changes: None,
            schema: None,
            statement: None,
            text: Vec::new(),
            steps: VecDeque::new(),
            answer: None,
            step: None,
            step_out: Vec::new(),
            digest: None,
            prepared_effects: Effects::default(),
            is_sent: false,
            file: None,
            sequence: 0,
            retried: false,
        }
    }
}

/// What a client does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Phase {
    /// Nothing: its next command is waited for.
    Idle,
    /// It waits for a connection.
    Waiting { ticket: u64, until: Instant },
    /// Its command has a connection.
    Running,
}

/// A client.
pub(crate) struct Client {
    pub(crate) io: Io,
    pub(crate) entry: Arc<Entry>,
    pub(crate) account: Account,
    pub(crate) capabilities: Capabilities,
    /// Its settings when it came.
    pub(crate) names: String,
    pub(crate) profile: Arc<Profile>,
    pub(crate) status: StatusFlags,
    pub(crate) phase: Phase,
    pub(crate) upstream: Option<usize>,
    /// The connection that it had last, and may have again if nobody else had it.
    pub(crate) before: Option<usize>,
    pub(crate) pins: Pins,
    pub(crate) statements: HashMap<u32, Statement>,
    pub(crate) statement_ids: u32,
    pub(crate) input: Vec<u8>,
    pub(crate) command: Option<Box<Command>>,
    pub(crate) is_readable: bool,
    pub(crate) has_hung_up: bool,
    /// It gets what is unsent and nothing more.
    pub(crate) is_closing: bool,
    /// Its connection was lost while it kept it: said at its next command.
    pub(crate) lost: Option<String>,
    /// What it ran before is on a connection.
    pub(crate) has_run: bool,
    /// Since when it takes nothing of what it is sent, as the last looks saw it.
    pub(crate) stuck_since: Option<Instant>,
    /// When it became idle with pins that others may break.
    pub(crate) idle_since: Instant,
    /// Its place among `max_connections`.
    pub(crate) _stay: Stay,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_end_with_a_short_frame() {
        let mut bytes = vec![0xff, 0xff, 0xff, 0];
        bytes.resize(FRAME_PAYLOAD_BYTES_MAX + 4, 1);
        bytes.extend_from_slice(&[2, 0, 0, 1, 7, 8, 99]);
        for piece in [1 << 20, 65_537, bytes.len()] {
            let mut frames = Frames::default();
            let (mut seen, mut used) = (0, 0);
            for piece in bytes.chunks(piece) {
                used += frames.feed(piece, |payload| seen += payload.len());
            }
            assert!(frames.is_done() && !frames.is_empty);
            assert_eq!((seen, used, frames.sequence()), (FRAME_PAYLOAD_BYTES_MAX + 2, bytes.len() - 1, 1));
        }
        let mut frames = Frames::default();
        assert_eq!(frames.feed(&[0, 0, 0, 3, 1], |_| ()), 4);
        assert!(frames.is_done() && frames.is_empty);
    }
}
