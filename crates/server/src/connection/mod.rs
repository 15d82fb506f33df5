//! One client from its greeting to its end: bytes in, commands to the session, answers out.
//!
//! [`Connection::drive`] is called by whichever thread has the connection, when its socket may have something. It reads,
//! executes and answers until there is nothing more to do without waiting, and says what the connection waits for.
//!
//! Invariants:
//! 1. One thread has a connection at a time; nothing in it is locked.
//! 2. A connection that waits for its client's next command holds no buffer: input and output are the thread's.
//! 3. No command is executed while an earlier answer waits for the log or for the socket.

mod command;
mod handshake;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use service::error::{
    ER_CAPACITY_EXCEEDED, ER_CLIENT_INTERACTION_TIMEOUT, ER_CON_COUNT_ERROR, ER_INTERNAL_ERROR,
    ER_NET_PACKET_TOO_LARGE, ER_NET_PACKETS_OUT_OF_ORDER,
};
use service::{
    Account, Capabilities, ClientHost, ConnectionControl, ConnectionEvent, Kill, Limits, Session, SqlError,
    StatusFlags,
};
use wire::handshake::{CHALLENGE_BYTES, Greeting, HANDSHAKE_BYTES_MAX};
use wire::message;
use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, Incoming, PacketBuffer, PacketError, PacketReader, next_packet};

use crate::Shared;
use crate::authenticate::{Exchange, Step, new_challenge};
use crate::handover::{Arrival, Handover, Stay};
use crate::io::{Io, READ_BYTES, Received, Stream};
use crate::location::Location;
use crate::password_checks::Check;
use crate::placement::CommitHeuristic;
use handshake::SessionStart;

/// What we can do, before TLS and zlib are known to be there.
const CAPABILITIES: Capabilities = Capabilities(
    Capabilities::LONG_PASSWORD.0
        | Capabilities::FOUND_ROWS.0
        | Capabilities::LONG_FLAG.0
        | Capabilities::CONNECT_WITH_DB.0
        | Capabilities::NO_SCHEMA.0
        | Capabilities::COMPRESS.0
        | Capabilities::ODBC.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::IGNORE_SPACE.0
        | Capabilities::PROTOCOL_41.0
        | Capabilities::INTERACTIVE.0
        | Capabilities::IGNORE_SIGPIPE.0
        | Capabilities::TRANSACTIONS.0
        | Capabilities::RESERVED.0
        | Capabilities::SECURE_CONNECTION.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::MULTI_RESULTS.0
        | Capabilities::PS_MULTI_RESULTS.0
        | Capabilities::PLUGIN_AUTH.0
        | Capabilities::CONNECT_ATTRS.0
        | Capabilities::PLUGIN_AUTH_LENENC_CLIENT_DATA.0
        | Capabilities::CAN_HANDLE_EXPIRED_PASSWORDS.0
        | Capabilities::SESSION_TRACK.0
        | Capabilities::DEPRECATE_EOF.0
        | Capabilities::QUERY_ATTRIBUTES.0
        | Capabilities::REMEMBER_OPTIONS.0,
);

/// utf8mb4_0900_ai_ci, low byte: the collation of the greeting.
const GREETING_COLLATION: u8 = 255;
/// A thread keeps an output buffer up to this size for its next connection.
const OUTPUT_KEPT_BYTES_MAX: usize = 256 * 1024;
/// A packet's length is believed, and room made for all of it, when so much of it is there.
const ROOM_PER_BYTE_ARRIVED: usize = 8;
/// Reads from one socket before others have their turn.
const READS_PER_DRIVE: usize = 16;
/// Input up to this size is not charged to anybody, and always taken.
const INPUT_BYTES_UNCHARGED: usize = 1 << 20;
/// Packets up to this size are taken without asking the session for its limit.
const PACKET_BYTES_UNASKED: usize = 16 * 1024;

/// What a thread lends to the connection it drives.
#[derive(Debug)]
pub(crate) struct Scratch {
    input: Box<[u8]>,
    output: Vec<u8>,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { input: vec![0; READ_BYTES].into_boxed_slice(), output: Vec::with_capacity(READ_BYTES) }
    }
}

/// What a connection waits for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    /// Its socket.
    Socket,
    /// The log, up to this position.
    Durable(u64),
    /// Its command was requeued, as too many statements wait for others: until fewer do.
    Requeued,
    /// Nothing: it has ended.
    Closed,
    /// Nothing here: it has logged in, and somebody else serves it.
    Leaves,
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    /// The client said so, or we did and told it why.
    Orderly,
    /// The client is gone or unintelligible.
    Aborted,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> End {
        End::Aborted
    }
}

/// Which of our timeouts has expired.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum TimedOut {
    No,
    /// In a handshake or a packet.
    Partial,
    /// Between commands.
    Idle,
}

/// How a command ended that has not ended the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ran {
    /// It is answered, or needs no answer.
    Answered,
    /// It is to be executed again, for so long in all.
    Requeued(Duration),
}

/// A command that was requeued and is to be executed again.
#[derive(Debug)]
struct Requeued {
    payload: Box<[u8]>,
    sequence: u8,
    /// Its lock wait timeout, counted from the first try.
    until: Instant,
    /// It is its turn, or it has to end.
    is_due: bool,
    /// It is in its group's queue.
    is_queued: bool,
    /// Among whom it waits, if it was refused a place with those who wait for the same.
    wait_queue: Option<u64>,
}

/// What a login waits for beside its client.
#[derive(Debug)]
enum Pending {
    /// The check of the password.
    Check(Check),
    /// Others failed to log in as the same account: the time when the step that ends the login is taken.
    Delay { until: Instant, step: Step },
}

impl Pending {
    fn is_due(&self, now: Instant) -> bool {
        match self {
            Pending::Check(check) => check.is_done(),
            Pending::Delay { until, .. } => now >= *until,
        }
    }
}

#[derive(Debug)]
enum Phase {
    /// Waiting for the first packet.
    Greeted,
    /// The client proves itself, for a new session.
    Connecting { exchange: Box<Exchange>, start: Box<SessionStart> },
    /// The client authenticates again, for COM_CHANGE_USER.
    ChangingUser { exchange: Box<Exchange>, start: Box<SessionStart> },
    /// Waiting for a command.
    Commands,
}

/// What a client that leaves has said of itself.
struct Leaving {
    account: Account,
    user: String,
    database: Option<Vec<u8>>,
    collation: u16,
    sequence: u8,
}

/// One client.
pub(crate) struct Connection {
    pub(crate) io: Io,
    pub(crate) control: Arc<ConnectionControl>,
    pub(crate) location: Arc<Location>,
    pub(crate) commit_heuristic: CommitHeuristic,
    output: PacketBuffer,
    session: Option<Box<dyn Session>>,
    phase: Phase,
    host: ClientHost,
    capabilities: Capabilities,
    challenge: [u8; CHALLENGE_BYTES],
    long_packet: Option<Box<PacketReader>>,
    next_handshake_sequence: u8,
    /// Who it is, once it has logged in and somebody else is to serve it.
    leaving: Option<Box<Leaving>>,
    wait_position: u64,
    requeued: Option<Box<Requeued>>,
    /// What its login waits for.
    pending: Option<Box<Pending>>,
    /// It has logged in, and takes one of the `max_connections`.
    has_place: bool,
    closing: bool,
    drained: bool,
    /// What lies in the input begins with a packet that is whole when the input has this many bytes; 0: look.
    input_wanted: usize,
    read_to_end: bool,
    /// The client has closed its side.
    has_hung_up: bool,
    /// The part of a long packet that is here.
    held: env::memory::MemoryCharge,
    timed_out: TimedOut,
    opened: Instant,
    active: Instant,
    ended: bool,
}

impl Connection {
    /// Greets a client that was just accepted.
    pub(crate) fn open(
        stream: Stream,
        control: Arc<ConnectionControl>,
        shared: &Shared,
        scratch: &mut Scratch,
        now: Instant,
    ) -> Connection {
        let host = match control.peer {
            None => ClientHost { name: "localhost".to_owned(), address: None },
            Some(peer) => {
                let address = peer.ip().to_canonical().to_string();
                // Names of other hosts are not looked up (`skip_name_resolve`); a loopback address is this host.
                let name = if peer.ip().to_canonical().is_loopback() {
                    "localhost".to_owned()
                } else {
                    address.clone()
                };
                ClientHost { name, address: Some(address) }
            }
        };
        let mut connection = Connection {
            io: Io::new(stream),
            control,
            location: Arc::default(),
            commit_heuristic: CommitHeuristic::default(),
            output: PacketBuffer::new(),
            session: None,
            phase: Phase::Greeted,
            host,
            capabilities: CAPABILITIES.set(Capabilities::SSL, shared.tls.is_some()),
            challenge: new_challenge(),
            long_packet: None,
            next_handshake_sequence: 1,
            leaving: None,
            wait_position: 0,
            requeued: None,
            pending: None,
            has_place: false,
            closing: false,
            drained: false,
            input_wanted: 0,
            read_to_end: false,
            has_hung_up: false,
            held: env::memory::MemoryCharge::default(),
            timed_out: TimedOut::No,
            opened: now,
            active: now,
            ended: false,
        };
        let handover = shared.handover.as_deref();
        if let Some(handover) = handover {
            connection.capabilities = handover.offered(connection.capabilities);
        }
        let version = handover.map_or_else(|| shared.service.server_version(), Handover::server_version);
        let greeting = Greeting {
            server_version: version.as_bytes(),
            connection_id: connection.control.connection_id as u32,
            challenge: connection.challenge,
            capabilities: connection.capabilities,
            collation: GREETING_COLLATION,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: shared.service.default_auth_plugin().name().as_bytes(),
        };
        connection.borrow_output(scratch);
        greeting.encode(connection.output.begin());
        connection.output.end();
        if connection.flush(scratch).is_err() {
            connection.end(End::Aborted, shared);
        }
        connection
    }

    /// Refuses a client that was just accepted: too many connections. It gets no greeting.
    pub(crate) fn refuse(stream: Stream) {
        let mut packets = PacketBuffer::new();
        let error = ER_CON_COUNT_ERROR.bare();
        message::encode_error(error.number, None, error.message.as_bytes(), packets.begin());
        packets.end();
        let _ = Io::new(stream).send(packets.frames()); // It is closed either way.
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.ended
    }

    /// Reads, executes and answers until nothing more can be done without waiting.
    pub(crate) fn drive(&mut self, scratch: &mut Scratch, shared: &Shared, now: Instant) -> Next {
        self.active = now;
        if let Err(end) = self.run(scratch, shared) {
            self.end(end, shared);
        }
        self.next()
    }

    fn next(&self) -> Next {
        if self.ended {
            Next::Closed
        } else if self.leaving.is_some() {
            Next::Leaves
        } else if self.wait_position != 0 {
            Next::Durable(self.wait_position)
        } else if self.requeued.is_some() {
            Next::Requeued
        } else {
            Next::Socket
        }
    }

    fn is_stalled(&self) -> bool {
        self.wait_position != 0
            || self.closing
            || self.io.has_unsent()
            || self.requeued.is_some()
            || self.pending.is_some()
            || self.leaving.is_some()
    }

    /// Whether others may wait for what its session holds: its commands go first.
    pub(crate) fn is_urgent(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.may_hold_locks())
    }

    /// Its command was requeued: whether it is to be put into the queue of those.
    pub(crate) fn joins_queue(&mut self) -> bool {
        self.requeued.as_mut().is_some_and(|requeued| !std::mem::replace(&mut requeued.is_queued, true))
    }

    /// It is out of that queue: whether it is to be driven, to be executed again.
    pub(crate) fn end_of_queue(&mut self) -> bool {
        self.requeued.as_mut().is_some_and(|requeued| {
            requeued.is_queued = false;
            !std::mem::replace(&mut requeued.is_due, true)
        })
    }

    /// Whether its command was requeued and has waited as long as it may: then it must not wait again.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.requeued.as_ref().is_some_and(|requeued| now >= requeued.until)
    }

    /// Whether its command was requeued and is still to be executed again.
    pub(crate) fn is_requeued(&self) -> bool {
        self.requeued.is_some()
    }

    /// Its command, if it was requeued, waits for room among these.
    pub(crate) fn set_wait_queue(&mut self, wait_queue: Option<u64>) {
        if let Some(requeued) = &mut self.requeued {
            requeued.wait_queue = wait_queue;
        }
    }

    /// Among whom its requeued command waits; `None`: among all.
    pub(crate) fn wait_queue(&self) -> Option<u64> {
        self.requeued.as_ref().and_then(|requeued| requeued.wait_queue)
    }

    /// Executes again what was requeued, if that is due.
    fn run_requeued(&mut self, scratch: &mut Scratch, shared: &Shared) -> Result<(), End> {
        let Some(requeued) = self.requeued.take() else { return Ok(()) };
        if !requeued.is_due {
            self.requeued = Some(requeued);
            return Ok(());
        }
        self.output.set_sequence(requeued.sequence.wrapping_add(1));
        if let Ran::Requeued(_) = self.command(&requeued.payload, true, scratch, shared)? {
            self.requeued = Some(Box::new(Requeued { is_due: false, ..*requeued }));
        }
        Ok(())
    }

    fn run(&mut self, scratch: &mut Scratch, shared: &Shared) -> Result<(), End> {
        if self.wait_position != 0 {
            // The event that led here is gone; what it told of is read when the answer has left.
            self.drained = false;
            return Ok(());
        }
        if self.control.kill_state() == Kill::Connection && !self.closing {
            return Err(if self.session.is_some() { End::Orderly } else { End::Aborted });
        }
        match self.timed_out {
            TimedOut::No => {}
            TimedOut::Partial => return Err(End::Aborted),
            TimedOut::Idle => {
                self.output.set_sequence(0);
                self.put_error(&ER_CLIENT_INTERACTION_TIMEOUT.bare(), scratch);
                let _ = self.flush(scratch); // It is closed either way.
                return Err(End::Aborted);
            }
        }
        if self.io.has_unsent() && !self.io.flush()? {
            return Ok(());
        }
        self.drained = false;
        if self.pending.is_some() {
            self.resume_login(scratch, shared)?;
        }
        if self.requeued.is_some() {
            self.run_requeued(scratch, shared)?;
            let _ = self.charge_input(); // No more than before: nothing is refused.
        }
        // A client that never stops sending yields to others after some reads; its other bytes are read later.
        for _ in 0..READS_PER_DRIVE {
            if self.has_packet() && !self.is_stalled() {
                let input = std::mem::take(&mut self.io.input);
                let used = self.consume(&input, scratch, shared)?;
                self.keep_rest(input, used);
                if self.held.bytes() > 0 {
                    let _ = self.charge_input(); // Less than before: nothing is refused.
                }
            }
            if self.closing {
                return if self.io.has_unsent() { Ok(()) } else { Err(End::Orderly) };
            }
            // A short read emptied the socket: what comes later makes a new event (see `expect_end` for the exception).
            if self.is_stalled() || self.drained {
                return Ok(());
            }
            // The buffer is out of the scratch while what lies in it is executed.
            let mut buffer = std::mem::take(&mut scratch.input);
            let received = self.receive(&mut buffer, scratch, shared);
            scratch.input = buffer;
            let received = received?;
            if let Err(error) = self.charge_input() {
                self.output.set_sequence(1);
                self.put_error(&error, scratch);
                let _ = self.flush(scratch); // It is closed either way.
                return Err(End::Orderly);
            }
            if !received {
                return Ok(());
            }
        }
        if self.closing && !self.io.has_unsent() { Err(End::Orderly) } else { Ok(()) }
    }

    /// Charges what is here of a long packet, also of one whose command waits to be executed once more. An error if its connection, or all
    /// statements together, have no room for it.
    fn charge_input(&mut self) -> Result<(), Box<SqlError>> {
        let long = self.long_packet.as_ref().map_or(0, |reader| reader.payload().len());
        let requeued = self.requeued.as_ref().map_or(0, |requeued| requeued.payload.len());
        let bytes = self.io.input.capacity() + long + requeued;
        let bytes = if bytes < INPUT_BYTES_UNCHARGED { 0 } else { bytes as u64 };
        let before = self.held.bytes();
        if bytes == before {
            return Ok(());
        }
        self.held.set(bytes);
        let of_connection = self.session.as_mut().map_or(Ok(()), |session| session.hold_input(bytes));
        if bytes < before {
            return Ok(());
        }
        of_connection?;
        if env::memory::has_room() { Ok(()) } else { Err(packet_without_room()) }
    }

    /// Reads once. From a plain socket, with nothing left over, commands are executed where they lie; otherwise what came is
    /// added to the input. `false` if nothing was there.
    fn receive(&mut self, buffer: &mut [u8], scratch: &mut Scratch, shared: &Shared) -> Result<bool, End> {
        match self.io.receive(buffer)? {
            Received::InScratch { bytes, drained } => {
                self.drained = drained && !self.read_to_end;
                if self.io.input.is_empty() {
                    let used = self.consume(&buffer[..bytes], scratch, shared)?;
                    if used < bytes {
                        self.io.input.splice(0..0, buffer[used..bytes].iter().copied());
                    }
                } else {
                    self.make_room(bytes);
                    self.io.input.extend_from_slice(&buffer[..bytes]);
                }
                Ok(true)
            }
            Received::InInput { drained } => {
                self.drained = drained && !self.read_to_end;
                Ok(true)
            }
            Received::Nothing => {
                self.drained = true;
                self.read_to_end = false;
                Ok(false)
            }
            Received::Closed => Err(End::Aborted),
        }
    }

    /// Whether the input may begin with a whole packet.
    fn has_packet(&self) -> bool {
        !self.io.input.is_empty() && self.io.input.len() >= self.input_wanted
    }

    /// Makes room in the input for `bytes` more, and, once a good part of a long packet is there, for all of it.
    fn make_room(&mut self, bytes: usize) {
        let input = &mut self.io.input;
        if input.len() + bytes > input.capacity()
            && self.input_wanted.saturating_sub(bytes) > input.len()
            && self.input_wanted / ROOM_PER_BYTE_ARRIVED <= input.len()
        {
            input.reserve_exact(self.input_wanted - input.len());
        }
    }

    /// Keeps what was not used of the input, in front of what came since; gives the memory up when nothing is left.
    fn keep_rest(&mut self, mut input: Vec<u8>, used: usize) {
        if used < input.len() {
            input.drain(..used);
            input.append(&mut self.io.input);
            self.io.input = input;
        }
    }

    /// The most bytes a packet may have now.
    fn packet_bytes_max(&self, shared: &Shared) -> usize {
        match &self.session {
            Some(session) => session.max_allowed_packet().max(1024) as usize,
            None => HANDSHAKE_BYTES_MAX.min(shared.service.limits().max_allowed_packet.max(1024) as usize),
        }
    }

    /// Executes the whole packets at the front of `bytes` and says how many bytes they took.
    fn consume(&mut self, bytes: &[u8], scratch: &mut Scratch, shared: &Shared) -> Result<usize, End> {
        let mut at = 0;
        self.input_wanted = 0;
        while at < bytes.len() && !self.is_stalled() {
            let rest = &bytes[at..];
            if let Some(mut reader) = self.long_packet.take() {
                let (used, whole) = match reader.feed(rest, self.packet_bytes_max(shared)) {
                    Ok(fed) => fed,
                    Err(error) => return self.packet_error(error, scratch).map(|()| bytes.len()),
                };
                at += used;
                if whole {
                    let sequence = reader.next_sequence().wrapping_sub(1);
                    let payload = reader.take_payload();
                    self.packet(&payload, sequence, 0, &bytes[at..], scratch, shared)?;
                } else {
                    self.long_packet = Some(reader);
                }
                continue;
            }
            match next_packet(rest) {
                Incoming::Packet { payload, sequence, consumed } => {
                    if payload.len() > PACKET_BYTES_UNASKED && payload.len() > self.packet_bytes_max(shared) {
                        let error = PacketError::TooLarge { bytes: payload.len(), bytes_max: 0 };
                        return self.packet_error(error, scratch).map(|()| bytes.len());
                    }
                    at += consumed;
                    let was_plain = self.io.is_plain();
                    self.packet(payload, sequence, sequence, &bytes[at..], scratch, shared)?;
                    if was_plain && !self.io.is_plain() && self.io.tls().is_some() {
                        return Ok(bytes.len()); // The rest belonged to TLS.
                    }
                }
                Incoming::Partial { bytes_wanted } => {
                    if bytes_wanted > PACKET_BYTES_UNASKED && bytes_wanted > self.packet_bytes_max(shared) + 4
                    {
                        let error = PacketError::TooLarge { bytes: bytes_wanted, bytes_max: 0 };
                        return self.packet_error(error, scratch).map(|()| bytes.len());
                    }
                    self.input_wanted = bytes_wanted;
                    break;
                }
                Incoming::Continued => {
                    if FRAME_PAYLOAD_BYTES_MAX > self.packet_bytes_max(shared) {
                        let error = PacketError::TooLarge { bytes: FRAME_PAYLOAD_BYTES_MAX, bytes_max: 0 };
                        return self.packet_error(error, scratch).map(|()| bytes.len());
                    }
                    self.long_packet = Some(Box::new(PacketReader::new(0)));
                }
            }
        }
        Ok(at)
    }

    /// Says why the bytes cannot be understood, and ends: nobody knows where the next packet starts.
    fn packet_error(&mut self, error: PacketError, scratch: &mut Scratch) -> Result<(), End> {
        let (error, sequence) = match error {
            PacketError::TooLarge { .. } => (ER_NET_PACKET_TOO_LARGE.bare(), 1),
            PacketError::OutOfOrder { .. } => (ER_NET_PACKETS_OUT_OF_ORDER.bare(), 0),
        };
        self.output.set_sequence(sequence);
        self.put_error(&error, scratch);
        self.closing = true;
        self.flush(scratch)
    }

    fn put_error(&mut self, error: &SqlError, scratch: &mut Scratch) {
        self.borrow_output(scratch);
        message::encode_error(
            error.number,
            Some(&error.state),
            error.message.as_bytes(),
            self.output.begin(),
        );
        self.output.end();
    }

    fn borrow_output(&mut self, scratch: &mut Scratch) {
        if self.output.is_empty() {
            self.output.give(std::mem::take(&mut scratch.output));
        }
    }

    /// Sends the output as far as the socket takes it and gives its memory back to the thread.
    fn flush(&mut self, scratch: &mut Scratch) -> Result<(), End> {
        if self.output.is_empty() {
            return Ok(());
        }
        let sent = self.io.send(self.output.frames());
        self.keep_output(scratch);
        sent?;
        Ok(())
    }

    /// Forgets the output and gives its memory back to the thread.
    fn keep_output(&mut self, scratch: &mut Scratch) {
        let buffer = self.output.take();
        if scratch.output.capacity() == 0 && buffer.capacity() <= OUTPUT_KEPT_BYTES_MAX {
            scratch.output = buffer;
        }
    }

    /// One whole packet. `first` is the number of its first frame, `sequence` of its last; `rest` is what came behind it.
    fn packet(
        &mut self,
        payload: &[u8],
        sequence: u8,
        first: u8,
        rest: &[u8],
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Result<(), End> {
        let due = match self.phase {
            Phase::Commands => 0,
            _ => self.next_handshake_sequence,
        };
        if first != due {
            return self.packet_error(PacketError::OutOfOrder { expected: due, found: first }, scratch);
        }
        self.output.set_sequence(sequence.wrapping_add(1));
        match std::mem::replace(&mut self.phase, Phase::Commands) {
            Phase::Commands => {
                if let Ran::Requeued(within) = self.command(payload, false, scratch, shared)? {
                    let until = self.active + within;
                    let payload = payload.into();
                    let requeued = Requeued {
                        payload,
                        sequence,
                        until,
                        is_due: false,
                        is_queued: false,
                        wait_queue: None,
                    };
                    self.requeued = Some(Box::new(requeued));
                }
                Ok(())
            }
            Phase::Greeted => self.first_packet(payload, rest, scratch, shared),
            Phase::Connecting { mut exchange, start } => {
                self.borrow_output(scratch);
                let step = exchange.packet(&shared.authority, payload, &mut self.output);
                self.connecting(exchange, start, step, scratch, shared)
            }
            Phase::ChangingUser { mut exchange, start } => {
                self.borrow_output(scratch);
                let step = exchange.packet(&shared.authority, payload, &mut self.output);
                self.changing_user(exchange, start, step, scratch, shared)
            }
        }
    }

    /// The log is durable up to the position this connection waits for, or has failed (`error`).
    pub(crate) fn durable(
        &mut self,
        error: Option<&SqlError>,
        scratch: &mut Scratch,
        shared: &Shared,
    ) -> Next {
        self.wait_position = 0;
        if let Some(error) = error {
            // What was answered may be lost with the log. Nothing of it has left.
            let _ = self.output.take();
            self.output.set_sequence(1);
            self.put_error(error, scratch);
            self.closing = true;
        }
        if let Err(end) = self.flush(scratch) {
            self.end(end, shared);
        } else if self.closing && !self.io.has_unsent() {
            self.end(End::Orderly, shared);
        }
        self.next()
    }

    /// The client may have closed behind what it sent, which no further event would tell: a short read is then not the end.
    pub(crate) fn expect_end(&mut self) {
        self.read_to_end = true;
        self.drained = false;
    }

    /// The client has closed its side: nobody may be left who reads answers.
    pub(crate) fn note_disconnect(&mut self) {
        self.has_hung_up = true;
        self.expect_end();
    }

    pub(crate) fn has_hung_up(&self) -> bool {
        self.has_hung_up
    }

    /// Whether there may be input that no event will announce: received and not executed, or not yet read.
    pub(crate) fn wants_drive(&self) -> bool {
        // A check that was done before this thread gave the connection back has woken nobody.
        let is_checked = || matches!(self.pending.as_deref(), Some(Pending::Check(check)) if check.is_done());
        !self.ended && (is_checked() || (!self.is_stalled() && (!self.drained || self.has_packet())))
    }

    /// Checks for timeouts and kills of a connection that nobody drives. `true` if it must end: drive it then, as what
    /// its session does at its end may take time.
    pub(crate) fn sweep(&mut self, now: Instant, limits: &Limits) -> bool {
        if self.wait_position != 0 {
            return false;
        }
        if self.control.kill_state() == Kill::Connection {
            return true;
        }
        match &self.pending {
            Some(pending) if pending.is_due(now) => return true,
            // The delay is ours: no timeout of the client's.
            Some(pending) if matches!(**pending, Pending::Delay { .. }) => return false,
            _ => {}
        }
        if let Some(requeued) = &mut self.requeued {
            // Whoever is killed, or has waited long enough, gets that as the error of its own statement.
            requeued.is_due |= self.control.is_killed() || now >= requeued.until;
            return requeued.is_due;
        }
        let idle = now.saturating_duration_since(self.active);
        let seconds = |s: u32| Duration::from_secs(u64::from(s));
        let is_late = match &self.session {
            None => now.saturating_duration_since(self.opened) >= seconds(limits.connect_timeout_s),
            Some(_) if self.io.has_unsent() => idle >= seconds(limits.net_write_timeout_s),
            Some(_) if self.is_amid_packet() => idle >= seconds(limits.net_read_timeout_s),
            Some(session) => {
                let is_idle = idle.as_secs() >= session.idle_timeout_s().max(1);
                self.timed_out = if is_idle { TimedOut::Idle } else { TimedOut::No };
                return is_idle;
            }
        };
        if is_late {
            self.timed_out = TimedOut::Partial;
        }
        is_late
    }

    /// Whether a part of a packet has come.
    fn is_amid_packet(&self) -> bool {
        !self.io.input.is_empty() || self.long_packet.is_some() || self.io.is_amid_frame()
    }

    /// When the answer to its login may leave, if that is delayed.
    pub(crate) fn delayed_until(&self) -> Option<Instant> {
        match self.pending.as_deref() {
            Some(Pending::Delay { until, .. }) => Some(*until),
            _ => None,
        }
    }

    /// How many seconds from `now` [`Connection::sweep`] can find nothing, if nothing happens meanwhile. Only a
    /// connection that is idle between two commands has such a deadline: the other times are short, or others' to
    /// change.
    pub(crate) fn seconds_to_deadline(&self, now: Instant) -> u64 {
        match &self.session {
            Some(session)
                if !self.is_stalled()
                    && !self.is_amid_packet()
                    // The wake-up may have come while the answer waited for the log.
                    && self.control.kill_state() != Kill::Connection =>
            {
                let idle = now.saturating_duration_since(self.active);
                session.idle_timeout_s().saturating_sub(idle.as_secs())
            }
            _ => 0,
        }
    }

    /// Gives a client that has logged in to whoever serves it; its socket is in no poller.
    pub(crate) fn leave(mut self: Box<Self>, shared: &Arc<Shared>) {
        let (Some(leaving), Some(handover)) = (self.leaving.take(), &shared.handover) else { return };
        let Leaving { account, user, database, collation, sequence } = *leaving;
        let Connection { mut io, control, host, capabilities, .. } = *self;
        io.watches_room = false;
        let stay = Stay::new(shared);
        let arrival =
            Arrival { io, control, account, user, host, database, capabilities, collation, sequence, stay };
        handover.take(Box::new(arrival));
    }

    /// Ends the session and the conversation; what the session does at its end may take time.
    pub(crate) fn shut(&mut self, shared: &Shared) {
        self.end(End::Orderly, shared);
    }

    fn end(&mut self, end: End, shared: &Shared) {
        if self.ended {
            return;
        }
        self.ended = true;
        if end == End::Aborted {
            let event = if self.session.is_some() {
                ConnectionEvent::AbortedClient
            } else {
                ConnectionEvent::AbortedConnect
            };
            shared.service.note(event);
        }
        self.io.close();
        let (received_bytes, sent_bytes) = self.io.take_traffic();
        match self.session.take() {
            Some(mut session) => {
                session.note_traffic(received_bytes, sent_bytes);
                // A session that breaks while it ends must not take the worker with it.
                let _ = catch_unwind(AssertUnwindSafe(|| drop(session)));
            }
            None => shared.service.note(ConnectionEvent::Traffic { received_bytes, sent_bytes }),
        }
        self.pending = None;
        if std::mem::take(&mut self.has_place) {
            shared.leave_place();
        } else {
            shared.unauthenticated.remove(self.control.connection_id);
        }
        shared.service.note(ConnectionEvent::Closed);
    }
}

/// A long packet came when all statements and packets had as much memory as they may have.
#[cold]
fn packet_without_room() -> Box<SqlError> {
    let most = env::memory::all_statements_max();
    ER_CAPACITY_EXCEEDED.with(&[&most, &"global_statement_memory_limit", &"Packet refused."])
}

#[cold]
fn broken_session() -> Box<SqlError> {
    ER_INTERNAL_ERROR.with(&[&"the statement failed; the error log says where"])
}
