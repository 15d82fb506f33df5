//! One connection as bytes of both sides with times: which commands there are, and when each and its answer began and ended.
//!
//! It keeps of a packet its length and its first [`HEAD_BYTES`], which is enough to know commands and to see where answers
//! end; rows and parameters go by unread. Answers are matched to commands in order, so commands sent ahead (pipelining) are
//! distinguished. Where it loses its way, or cannot look in (TLS, compression), it goes on with bursts: bytes of the client up to
//! the next bytes of the server are a command, the server's bytes up to the client's next are its answer.
//!
//! Source: MySQL 9.7 manual of the client/server protocol, "Connection Phase", "Command Phase".

use std::collections::VecDeque;

use wire::codec::Reader;
use wire::{Capabilities, StatusFlags};

use super::phases::{LOGIN, Phases, Seen};

/// Bytes kept of each packet: the server's greeting with a long version, and the first word of a statement.
const HEAD_BYTES: usize = 128;
/// Commands in flight on one connection; beyond this the conversation is taken as not understood.
const IN_FLIGHT_MAX: usize = 4096;
/// The longest payload of one frame; such a frame goes on in the next.
const FRAME_BYTES_MAX: usize = 0xff_ffff;
/// Columns of a result set, as far as MySQL allows them and a little more.
const COLUMNS_MAX: u64 = 0xffff;

/// Bursts inside TLS.
pub const TLS: &str = "(inside TLS)";
/// Bursts inside compression.
pub const COMPRESSED: &str = "(compressed)";
/// Bursts of a conversation that was not understood.
pub(crate) const NOT_UNDERSTOOD: &str = "(not understood)";

/// Cuts one direction's bytes into packets.
#[derive(Debug)]
struct Frames {
    header: [u8; 4],
    header_bytes: usize,
    left: usize,
    is_continued: bool,
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    payload_bytes: u64,
    wire_bytes: u64,
    sequence: u8,
}

/// A packet that has passed whole.
#[derive(Clone, Copy, Debug)]
struct Passed {
    sequence: u8,
    payload_bytes: u64,
    wire_bytes: u64,
}

impl Frames {
    fn new() -> Frames {
        Frames {
            header: [0; 4],
            header_bytes: 0,
            left: 0,
            is_continued: false,
            head: [0; HEAD_BYTES],
            head_bytes: 0,
            payload_bytes: 0,
            wire_bytes: 0,
            sequence: 0,
        }
    }

    /// The next byte begins a packet.
    fn is_between_packets(&self) -> bool {
        self.wire_bytes == 0
    }

    fn head(&self) -> &[u8] {
        &self.head[..self.head_bytes]
    }

    /// Takes bytes up to the end of a packet, or all of them.
    fn next(&mut self, input: &mut &[u8]) -> Option<Passed> {
        loop {
            if self.header_bytes < 4 {
                let count = input.len().min(4 - self.header_bytes);
                self.header[self.header_bytes..self.header_bytes + count].copy_from_slice(&input[..count]);
                self.header_bytes += count;
                self.wire_bytes += count as u64;
                *input = &input[count..];
                if self.header_bytes < 4 {
                    return None;
                }
                if !self.is_continued {
                    (self.head_bytes, self.payload_bytes, self.sequence) = (0, 0, self.header[3]);
                }
                self.left = frame_bytes(self.header);
            }
            let count = input.len().min(self.left);
            let kept = count.min(HEAD_BYTES - self.head_bytes);
            self.head[self.head_bytes..self.head_bytes + kept].copy_from_slice(&input[..kept]);
            self.head_bytes += kept;
            self.left -= count;
            self.payload_bytes += count as u64;
            self.wire_bytes += count as u64;
            *input = &input[count..];
            if self.left > 0 {
                return None;
            }
            self.header_bytes = 0;
            self.is_continued = frame_bytes(self.header) == FRAME_BYTES_MAX;
            if !self.is_continued {
                let (sequence, payload_bytes) = (self.sequence, self.payload_bytes);
                return Some(Passed {
                    sequence,
                    payload_bytes,
                    wire_bytes: std::mem::take(&mut self.wire_bytes),
                });
            }
        }
    }
}

fn frame_bytes(header: [u8; 4]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// What of an answer is still to come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Expect {
    /// One packet, whatever it is.
    One,
    /// So many packets.
    Packets(u32),
    /// OK, an error, a request for a file, or the count of columns of a result set.
    Result,
    /// So many definitions of columns.
    Columns(u64),
    /// The end of the definitions, as it was before 5.7.5.
    ColumnsEnd,
    /// Rows and their end.
    Rows,
    /// The answer to PREPARE.
    Prepared,
    /// Definitions up to an end.
    FieldList,
    /// OK or an error after any number of packets: another login.
    Login,
    /// No end: a binary log.
    Endless,
}

/// An answer that no server sends.
struct Lost;

#[derive(Debug)]
struct InFlight {
    kind: &'static str,
    seen: Seen,
    expect: Expect,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Runner {
    /// The server speaks first.
    Greeting,
    /// The client's login.
    Login,
    /// Until the server's OK.
    Authentication,
    Commands,
    /// Bursts, under this name.
    Opaque(&'static str),
}

/// One connection through a tap.
#[derive(Debug)]
pub struct Conversation {
    runner: Runner,
    up: Frames,
    down: Frames,
    capabilities: Capabilities,
    server_capabilities: Capabilities,
    /// MariaDB's own: the definitions of columns are not sent again for a prepared statement.
    has_cached_metadata: bool,
    started_ns: u64,
    login_bytes: (u64, u64),
    up_began_ns: u64,
    down_began_ns: u64,
    pending: VecDeque<InFlight>,
    burst: Option<Seen>,
    /// When the last answer ended.
    idle_since_ns: u64,
}

impl Conversation {
    /// A connection that was just made.
    #[must_use]
    pub fn new(now_ns: u64) -> Conversation {
        Conversation {
            runner: Runner::Greeting,
            up: Frames::new(),
            down: Frames::new(),
            capabilities: Capabilities::NONE,
            server_capabilities: Capabilities::NONE,
            has_cached_metadata: false,
            started_ns: now_ns,
            login_bytes: (0, 0),
            up_began_ns: now_ns,
            down_began_ns: now_ns,
            pending: VecDeque::new(),
            burst: None,
            idle_since_ns: now_ns,
        }
    }

    /// Bytes came from the client.
    pub(crate) fn client_bytes(&mut self, mut bytes: &[u8], now_ns: u64, phases: &mut Phases) {
        while !bytes.is_empty() {
            if let Runner::Opaque(kind) = self.runner {
                self.client_burst(kind, bytes.len() as u64, now_ns, phases);
                return;
            }
            if self.up.is_between_packets() {
                self.up_began_ns = now_ns;
            }
            let Some(packet) = self.up.next(&mut bytes) else { return };
            match self.runner {
                // A client that speaks first speaks something else.
                Runner::Greeting => self.give_up(NOT_UNDERSTOOD),
                Runner::Login => self.login(packet),
                Runner::Authentication => self.login_bytes.0 += packet.wire_bytes,
                Runner::Commands => self.command(packet, now_ns, phases),
                Runner::Opaque(_) => {}
            }
        }
    }

    /// Bytes of the server went to the client.
    pub(crate) fn server_bytes(&mut self, mut bytes: &[u8], now_ns: u64, phases: &mut Phases) {
        while !bytes.is_empty() {
            if let Runner::Opaque(_) = self.runner {
                if let Some(burst) = &mut self.burst {
                    burst.first_out_ns.get_or_insert(now_ns);
                    burst.last_out_ns = now_ns;
                    burst.bytes_down += bytes.len() as u64;
                }
                return;
            }
            if self.down.is_between_packets() {
                self.down_began_ns = now_ns;
            }
            let Some(packet) = self.down.next(&mut bytes) else { return };
            match self.runner {
                Runner::Greeting => self.greeting(packet),
                // An error before the login: too many connections.
                Runner::Login => {}
                Runner::Authentication => self.authentication(packet, now_ns, phases),
                Runner::Commands => self.answer(packet, now_ns, phases),
                Runner::Opaque(_) => {}
            }
        }
    }

    /// The connection ended: a burst that has its answer is done.
    pub fn end(&mut self, phases: &mut Phases) {
        if let (Runner::Opaque(kind), Some(burst)) = (self.runner, self.burst.take())
            && burst.first_out_ns.is_some()
        {
            phases.add(kind, &burst);
        }
    }

    /// Bytes it holds beyond its own size.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.pending.capacity() * size_of::<InFlight>()
    }

    #[cold]
    fn give_up(&mut self, kind: &'static str) {
        self.runner = Runner::Opaque(kind);
        self.pending = VecDeque::new();
        self.burst = None;
    }

    fn client_burst(&mut self, kind: &'static str, bytes: u64, now_ns: u64, phases: &mut Phases) {
        if let Some(burst) = self.burst.take_if(|burst| burst.first_out_ns.is_some()) {
            self.idle_since_ns = burst.last_out_ns;
            phases.add(kind, &burst);
        }
        let idle_since_ns = self.idle_since_ns;
        let burst = self.burst.get_or_insert_with(|| Seen {
            idle_since_ns: Some(idle_since_ns),
            first_in_ns: now_ns,
            ..Seen::default()
        });
        (burst.last_in_ns, burst.last_out_ns) = (now_ns, now_ns);
        burst.bytes_up += bytes;
    }

    fn greeting(&mut self, packet: Passed) {
        self.login_bytes.1 += packet.wire_bytes;
        if self.down.head().first() == Some(&0xff) {
            return;
        }
        self.runner = Runner::Login;
        let mut reader = Reader::new(self.down.head());
        let low_and_high = (|| {
            reader.u8()?;
            reader.nul_bytes()?;
            reader.bytes(4 + 8 + 1)?;
            let low = reader.u16()?;
            reader.bytes(1 + 2)?;
            Ok::<_, wire::Malformed>((low, reader.u16()?))
        })();
        // A greeting longer than what is kept: the client's word alone counts then.
        self.server_capabilities = match low_and_high {
            Ok((low, high)) => Capabilities(u32::from(low) | u32::from(high) << 16),
            Err(_) => Capabilities(u32::MAX),
        };
    }

    fn login(&mut self, packet: Passed) {
        self.login_bytes.0 += packet.wire_bytes;
        let head = self.up.head();
        let &[a, b, c, d, ..] = head else { return self.give_up(NOT_UNDERSTOOD) };
        let client_flags = Capabilities(u32::from_le_bytes([a, b, c, d]));
        if client_flags.has(Capabilities::SSL) {
            return self.give_up(TLS);
        }
        if !client_flags.has(Capabilities::PROTOCOL_41) {
            return self.give_up(NOT_UNDERSTOOD);
        }
        // A client that does not set MySQL's first flag speaks MariaDB's dialect: more flags follow, 2^36 is of interest.
        const CACHE_METADATA: u8 = 1 << 4;
        let both = client_flags.0 & self.server_capabilities.0;
        self.has_cached_metadata = both & 1 == 0
            && client_flags.0 & 1 == 0
            && self.server_capabilities.0 & 1 == 0
            && head.get(28).is_some_and(|more| more & CACHE_METADATA != 0);
        self.capabilities = Capabilities(both);
        self.runner = Runner::Authentication;
    }

    fn authentication(&mut self, packet: Passed, now_ns: u64, phases: &mut Phases) {
        self.login_bytes.1 += packet.wire_bytes;
        if self.down.head().first() != Some(&0x00) {
            return;
        }
        let is_compressed = self.capabilities.has(Capabilities::COMPRESS)
            || self.capabilities.has(Capabilities::ZSTD_COMPRESSION_ALGORITHM);
        self.runner = if is_compressed { Runner::Opaque(COMPRESSED) } else { Runner::Commands };
        self.idle_since_ns = now_ns;
        phases.add(
            LOGIN,
            &Seen {
                idle_since_ns: None,
                first_in_ns: self.started_ns,
                last_in_ns: self.started_ns,
                first_out_ns: Some(now_ns),
                last_out_ns: now_ns,
                bytes_up: self.login_bytes.0,
                bytes_down: self.login_bytes.1,
            },
        );
    }

    fn command(&mut self, packet: Passed, now_ns: u64, phases: &mut Phases) {
        if packet.sequence != 0
            && let Some(first) = self.pending.front_mut()
        {
            // A file the server asked for, or a step of another login.
            first.seen.bytes_up += packet.wire_bytes;
            return;
        }
        let (kind, expect) = classify(self.up.head(), self.capabilities);
        let seen = Seen {
            idle_since_ns: self.pending.is_empty().then_some(self.idle_since_ns),
            first_in_ns: self.up_began_ns,
            last_in_ns: now_ns,
            first_out_ns: None,
            last_out_ns: now_ns,
            bytes_up: packet.wire_bytes,
            bytes_down: 0,
        };
        match expect {
            None => {
                phases.add(kind, &seen);
                self.idle_since_ns = now_ns;
            }
            Some(_) if self.pending.len() >= IN_FLIGHT_MAX => self.give_up(NOT_UNDERSTOOD),
            Some(expect) => self.pending.push_back(InFlight { kind, seen, expect }),
        }
    }

    fn answer(&mut self, packet: Passed, now_ns: u64, phases: &mut Phases) {
        // Nobody asked: an error before the server closes the connection.
        let Some(first) = self.pending.front_mut() else { return };
        first.seen.first_out_ns.get_or_insert(self.down_began_ns);
        first.seen.last_out_ns = now_ns;
        first.seen.bytes_down += packet.wire_bytes;
        let flags = (self.capabilities, self.has_cached_metadata);
        match step(&mut first.expect, self.down.head(), packet.payload_bytes, flags) {
            Ok(false) => {}
            Ok(true) => {
                phases.add(first.kind, &first.seen);
                self.idle_since_ns = now_ns;
                self.pending.pop_front();
            }
            Err(Lost) => self.give_up(NOT_UNDERSTOOD),
        }
    }
}

/// Name of a command, and what its answer begins with; `None` if it has none.
fn classify(head: &[u8], capabilities: Capabilities) -> (&'static str, Option<Expect>) {
    let one = Some(Expect::One);
    let result = Some(Expect::Result);
    match head.first() {
        Some(0x01) => ("COM_QUIT", None),
        Some(0x02) => ("COM_INIT_DB", one),
        Some(0x03) => (query_kind(head, capabilities), result),
        Some(0x04) => ("COM_FIELD_LIST", Some(Expect::FieldList)),
        Some(0x08) => ("COM_SHUTDOWN", one),
        Some(0x09) => ("COM_STATISTICS", one),
        Some(0x0a) => ("COM_PROCESS_INFO", result),
        Some(0x0c) => ("COM_PROCESS_KILL", one),
        Some(0x0d) => ("COM_DEBUG", one),
        Some(0x0e) => ("COM_PING", one),
        Some(0x11) => ("COM_CHANGE_USER", Some(Expect::Login)),
        Some(0x12 | 0x1e) => ("COM_BINLOG_DUMP", Some(Expect::Endless)),
        Some(0x15) => ("COM_REGISTER_REPLICA", one),
        Some(0x16) => ("COM_STMT_PREPARE", Some(Expect::Prepared)),
        Some(0x17) => ("COM_STMT_EXECUTE", result),
        Some(0x18) => ("COM_STMT_SEND_LONG_DATA", None),
        Some(0x19) => ("COM_STMT_CLOSE", None),
        Some(0x1a) => ("COM_STMT_RESET", one),
        Some(0x1b) => ("COM_SET_OPTION", one),
        Some(0x1c) => ("COM_STMT_FETCH", Some(Expect::Rows)),
        Some(0x1f) => ("COM_RESET_CONNECTION", one),
        Some(0xfa) => ("COM_STMT_BULK_EXECUTE", result),
        _ => ("(another command)", one),
    }
}

/// What drivers send on their own is distinguished from what the application asks.
fn query_kind(head: &[u8], capabilities: Capabilities) -> &'static str {
    let mut text = &head[1..];
    if capabilities.has(Capabilities::QUERY_ATTRIBUTES) {
        text = text.strip_prefix(&[0, 1]).unwrap_or(text);
    }
    let text = text.trim_ascii_start();
    let begins = |word: &str| {
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
            && !text.get(word.len()).is_some_and(u8::is_ascii_alphanumeric)
    };
    match () {
        () if begins("SET") => "COM_QUERY SET",
        () if begins("SHOW") => "COM_QUERY SHOW",
        () if text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case(b"SELECT @@")) => {
            "COM_QUERY SELECT @@"
        }
        () if ["BEGIN", "START", "COMMIT", "ROLLBACK"].iter().any(|word| begins(word)) => {
            "COM_QUERY transaction"
        }
        () => "COM_QUERY",
    }
}

/// Takes one packet of an answer; whether it was the last.
fn step(
    expect: &mut Expect,
    head: &[u8],
    payload_bytes: u64,
    (capabilities, has_cached_metadata): (Capabilities, bool),
) -> Result<bool, Lost> {
    let first = head.first().copied();
    let without_eof = capabilities.has(Capabilities::DEPRECATE_EOF);
    let is_end = first == Some(0xfe) && payload_bytes < if without_eof { FRAME_BYTES_MAX as u64 } else { 9 };
    let is_error = first == Some(0xff);
    if is_error {
        return Ok(!matches!(expect, Expect::Packets(more) if *more > 1));
    }
    match *expect {
        Expect::One => Ok(true),
        Expect::Endless => Ok(is_end),
        Expect::Login => Ok(first == Some(0)),
        Expect::FieldList => Ok(is_end),
        Expect::Packets(more) => {
            *expect = Expect::Packets(more.saturating_sub(1));
            Ok(more <= 1)
        }
        Expect::Prepared => {
            let mut reader = Reader::new(head);
            let counts = (|| {
                reader.bytes(5)?;
                Ok::<_, wire::Malformed>((reader.u16()?, reader.u16()?))
            })();
            let (columns, parameters) = counts.map_err(|_| Lost)?;
            let has_no_metadata =
                capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA) && head.get(12) == Some(&0);
            let of = |count: u16| match (count, without_eof) {
                (0, _) => 0,
                (count, true) => u32::from(count),
                (count, false) => u32::from(count) + 1,
            };
            let more = if has_no_metadata { 0 } else { of(columns) + of(parameters) };
            *expect = Expect::Packets(more);
            Ok(more == 0)
        }
        Expect::Result => result(expect, head, payload_bytes, capabilities, has_cached_metadata),
        Expect::Columns(more) => {
            *expect = match (more, without_eof) {
                (0 | 1, true) => Expect::Rows,
                (0 | 1, false) => Expect::ColumnsEnd,
                (more, _) => Expect::Columns(more - 1),
            };
            Ok(false)
        }
        Expect::ColumnsEnd if is_end => {
            let status = status(head, without_eof)?;
            *expect = Expect::Rows;
            Ok(status.has(StatusFlags::CURSOR_EXISTS))
        }
        Expect::ColumnsEnd => Err(Lost),
        Expect::Rows if is_end => {
            *expect = Expect::Result;
            Ok(!status(head, without_eof)?.has(StatusFlags::MORE_RESULTS_EXISTS))
        }
        Expect::Rows => Ok(false),
    }
}

/// The first packet of a result.
fn result(
    expect: &mut Expect,
    head: &[u8],
    payload_bytes: u64,
    capabilities: Capabilities,
    has_cached_metadata: bool,
) -> Result<bool, Lost> {
    const OK_BYTES_MIN: u64 = 7;
    const COUNT_BYTES_MAX: u64 = 10;
    let is_optional = capabilities.has(Capabilities::OPTIONAL_RESULTSET_METADATA);
    let without_eof = capabilities.has(Capabilities::DEPRECATE_EOF);
    let mut reader = Reader::new(head);
    let mut follows = true;
    match head.first() {
        // A count that says no definitions follow begins with 0 as OK does and is shorter.
        Some(0) if is_optional && payload_bytes < OK_BYTES_MIN => {
            follows = false;
            reader.u8().map_err(|_| Lost)?;
        }
        Some(0) => return Ok(!ok_status(head)?.has(StatusFlags::MORE_RESULTS_EXISTS)),
        Some(0xfb) => {
            *expect = Expect::One;
            return Ok(false);
        }
        Some(1) if is_optional && payload_bytes > 1 => {
            reader.u8().map_err(|_| Lost)?;
        }
        _ => {}
    }
    let count = reader.lenenc_int().map_err(|_| Lost)?;
    if count == 0 || count > COLUMNS_MAX || payload_bytes > COUNT_BYTES_MAX {
        return Err(Lost);
    }
    if has_cached_metadata && reader.u8().is_ok_and(|sent| sent == 0) {
        follows = false;
    }
    *expect = match (follows, without_eof) {
        (true, _) => Expect::Columns(count),
        (false, true) => Expect::Rows,
        (false, false) => Expect::ColumnsEnd,
    };
    Ok(false)
}

/// Status of the packet that ends rows or definitions.
fn status(head: &[u8], without_eof: bool) -> Result<StatusFlags, Lost> {
    if without_eof {
        return ok_status(head);
    }
    let mut reader = Reader::new(head);
    reader.bytes(3).map_err(|_| Lost)?;
    reader.u16().map(StatusFlags).map_err(|_| Lost)
}

/// Status of an OK packet, whatever its first byte.
fn ok_status(head: &[u8]) -> Result<StatusFlags, Lost> {
    let mut reader = Reader::new(head);
    let read = (|| {
        reader.u8()?;
        reader.lenenc_int()?;
        reader.lenenc_int()?;
        reader.u16()
    })();
    read.map(StatusFlags).map_err(|_| Lost)
}
