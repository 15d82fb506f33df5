//! The answer to one command, written straight into the connection's outgoing buffer.
//!
//! ```text
//! rows     columns, { begin_row .. end_row }, end_rows        text after query, binary after execute
//! changes  ok
//! failure  the session returns the error; the server writes it, after whatever was sent before
//! ```
//!
//! Rows are encoded by the operator that has them, with the functions of [`wire::row`] into [`Reply::begin_row`]'s vector: no call
//! through a table and no allocation per row. When the buffer is over [`BUFFER_BYTES_HIGH`] it is sent, and the statement
//! waits until the client has taken it.
//!
//! Invariants:
//! 1. Nothing leaves for the client before the log is durable up to the position given to [`Reply::wait_for`].
//! 2. Each result ends once, by `ok`, `end_rows` or an error; another follows only if the flag of
//!    [`Reply::more_results`] was set when it ended.
//!
//! ```
//! use service::{Discard, OkSummary, Reply, RowFormat};
//! let (mut packets, mut link) = (wire::PacketBuffer::new(), Discard);
//! let mut reply = Reply::new(&mut packets, &mut link, service::Capabilities(0), RowFormat::Text);
//! reply.ok(&OkSummary { affected_rows: 3, ..OkSummary::default() }).unwrap();
//! assert!(!packets.is_empty(), "an OK packet is ready for the client");
//! ```

use std::time::Duration;

use wire::flags::{Capabilities, StatusFlags};
use wire::message::{self, EOF_HEADER, LOCAL_FILE_HEADER, OK_HEADER, OkPacket};
use wire::packet::PacketBuffer;
use wire::{EncodedColumns, SessionStateChange};

use crate::error::SqlError;

/// Bytes in the outgoing buffer above which a result is sent while it is being made.
pub(crate) const BUFFER_BYTES_HIGH: usize = 64 * 1024;

/// What the session's methods return: an error goes to the client as it is.
pub type Outcome = Result<(), Box<SqlError>>;

/// How a command, or a part of one, ended that may be requeued.
#[derive(Debug)]
#[must_use]
pub enum CommandOutcome<T = ()> {
    /// It ran. What a client gets of it stands in the reply.
    Done(T),
    /// It would have had to wait for others, and too many do. It was rolled back, has left no trace but the locks of its transaction, and
    /// nothing of its answer has left: the caller runs it again when fewer statements wait, for this long in all.
    Requeue(Duration),
    /// It failed, and what it did was rolled back. The error goes to the client as it is.
    Failed(Box<SqlError>),
}

impl<T> CommandOutcome<T> {
    /// For a caller that cannot run the command again: a command that would be requeued has failed.
    ///
    /// # Errors
    /// The command's; 1135 for one that would be requeued.
    #[inline]
    pub fn without_requeue(self) -> Result<T, Box<SqlError>> {
        match self {
            CommandOutcome::Done(done) => Ok(done),
            CommandOutcome::Requeue(_) => Err(SqlError::refused_wait()),
            CommandOutcome::Failed(error) => Err(error),
        }
    }
}

impl<T> From<Result<T, Box<SqlError>>> for CommandOutcome<T> {
    #[inline]
    fn from(result: Result<T, Box<SqlError>>) -> CommandOutcome<T> {
        match result {
            Ok(done) => CommandOutcome::Done(done),
            Err(error) => CommandOutcome::Failed(error),
        }
    }
}

/// The way to the client, as far as a reply needs it. The server's is a socket; tests use [`Discard`] or their own.
pub trait Link {
    /// Sends all whole packets of `packets` and clears them, after the log is durable up to `position`. May block, and says
    /// so to `env::blocking`.
    ///
    /// # Errors
    /// The client is gone or too slow (1158 to 1161).
    fn send(&mut self, packets: &mut PacketBuffer, position: u64) -> Outcome;

    /// Receives the next packet from the client, the answer to what was sent, into `payload` (replaced). May block.
    ///
    /// # Errors
    /// The client is gone, too slow, or sent what is no packet.
    fn receive(&mut self, packets: &mut PacketBuffer, payload: &mut Vec<u8>) -> Outcome;
}

/// A link that keeps everything in the buffer and has no client, for tests.
#[derive(Debug, Default)]
pub struct Discard;

impl Link for Discard {
    fn send(&mut self, _packets: &mut PacketBuffer, _position: u64) -> Outcome {
        Ok(())
    }

    fn receive(&mut self, _packets: &mut PacketBuffer, _payload: &mut Vec<u8>) -> Outcome {
        Err(crate::error::ER_NET_READ_ERROR.bare())
    }
}

/// How the rows of this answer are encoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RowFormat {
    /// Values as text, the answer to COM_QUERY.
    Text,
    /// Values in binary, the answer to COM_STMT_EXECUTE and COM_STMT_FETCH.
    Binary,
}

/// What an OK packet says about a statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct OkSummary<'a> {
    /// Rows changed, or found if the client asked for FOUND_ROWS.
    pub affected_rows: u64,
    /// The first number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// State of the session.
    pub status: StatusFlags,
    /// Warnings raised, at most 65,535.
    pub warnings: u16,
    /// Text for people, such as `Rows matched: 1  Changed: 1  Warnings: 0`.
    pub info: &'a str,
    /// Session state that changed, if the client tracks it.
    pub state_changes: &'a [SessionStateChange<'a>],
}

/// The answer to one command. See the module.
pub struct Reply<'a> {
    packets: &'a mut PacketBuffer,
    link: &'a mut dyn Link,
    capabilities: Capabilities,
    format: RowFormat,
    more_results: StatusFlags,
    position: u64,
    finished_count: u32,
    local_file_open: bool,
    /// Name of the stored procedure whose statements answer; `None` outside of one.
    procedure: Option<Box<str>>,
    /// A result with rows was begun and not ended.
    rows_open: bool,
    /// Frames of the row begun last have left.
    row_under_way: bool,
    /// Something has left.
    has_sent: bool,
    /// A row whose beginning has left will never end: nothing the client could read can follow.
    is_cut: bool,
    /// The command was requeued.
    is_requeued: bool,
}

/// What a reply was before a stored procedure began to answer: see [`Reply::begin_procedure`].
#[derive(Debug)]
pub struct OuterReply {
    more_results: StatusFlags,
    procedure: Option<Box<str>>,
}

impl std::fmt::Debug for Reply<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply")
            .field("packets", &self.packets)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

impl<'a> Reply<'a> {
    /// Answers into `packets`, whose next sequence number is set.
    pub fn new(
        packets: &'a mut PacketBuffer,
        link: &'a mut dyn Link,
        capabilities: Capabilities,
        format: RowFormat,
    ) -> Reply<'a> {
        Reply {
            packets,
            link,
            capabilities,
            format,
            more_results: StatusFlags::NONE,
            position: 0,
            finished_count: 0,
            local_file_open: false,
            procedure: None,
            rows_open: false,
            row_under_way: false,
            has_sent: false,
            is_cut: false,
            is_requeued: false,
        }
    }

    /// The answer to a command that was requeued ([`CommandOutcome::Requeue`]).
    #[must_use]
    pub fn of_requeued(self, is_requeued: bool) -> Reply<'a> {
        Reply { is_requeued, ..self }
    }

    /// Whether the statement was given to the session before, and requeued: it is counted and logged already. Of a command with several
    /// statements that is the first.
    #[inline]
    #[must_use]
    pub fn is_requeued(&self) -> bool {
        self.is_requeued && self.finished_count == 0
    }

    /// From here on the statements of a stored procedure answer: results with rows are sent, each said to be followed by
    /// another, and [`ok`](Self::ok) sends nothing, for the procedure answers once for all of them.
    pub fn begin_procedure(&mut self, name: &str) -> OuterReply {
        let outer = OuterReply { more_results: self.more_results, procedure: self.procedure.take() };
        self.more_results = StatusFlags::MORE_RESULTS_EXISTS;
        self.procedure = Some(name.into());
        outer
    }

    /// The procedure has ended; what follows is its own answer.
    pub fn end_procedure(&mut self, outer: OuterReply) {
        self.more_results = outer.more_results;
        self.procedure = outer.procedure;
    }

    /// Ends a result that was begun by a statement that failed, if there is one, when a handler deals with the failure.
    ///
    /// # Errors
    /// The client is gone.
    pub fn end_partial_rows(&mut self, status: StatusFlags, warnings: u16) -> Outcome {
        self.packets.abandon();
        self.is_cut |= self.row_under_way;
        if self.is_cut {
            return Err(crate::error::ER_NET_ERROR_ON_WRITE.bare());
        }
        if self.rows_open { self.end_rows(status, warnings) } else { Ok(()) }
    }

    /// 1312 if the client cannot take several results.
    #[cold]
    fn require_several_results(&self) -> Outcome {
        match &self.procedure {
            Some(name) if !self.capabilities.has(Capabilities::MULTI_RESULTS) => {
                Err(crate::error::ER_SP_BADSELECT.with(&[name]))
            }
            _ => Ok(()),
        }
    }

    /// What both sides can do.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// How rows must be encoded.
    #[inline]
    #[must_use]
    pub fn row_format(&self) -> RowFormat {
        self.format
    }

    /// Whether the results ended from now on say that another one follows.
    pub fn more_results(&mut self, more: bool) {
        self.more_results = if more { StatusFlags::MORE_RESULTS_EXISTS } else { StatusFlags::NONE };
    }

    /// Nothing leaves before the log is durable up to `position`; of several the largest counts.
    #[inline]
    pub fn wait_for(&mut self, position: u64) {
        self.position = self.position.max(position);
    }

    /// Starts a result with rows.
    ///
    /// # Errors
    /// The client is gone.
    #[inline]
    pub fn columns(&mut self, columns: &EncodedColumns, status: StatusFlags, warnings: u16) -> Outcome {
        if self.procedure.is_some() {
            self.require_several_results()?;
        }
        self.rows_open = true;
        columns.put_with_count(self.packets);
        if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            let status = status | self.more_results;
            message::encode_eof(warnings, status, self.packets.begin());
            self.packets.end();
        }
        self.send_if_full()
    }

    /// Starts a result whose rows stay behind a cursor until COM_STMT_FETCH, and ends the answer. `status` without
    /// CURSOR_EXISTS, which is added here.
    ///
    /// # Errors
    /// The client is gone.
    pub fn columns_with_cursor(
        &mut self,
        columns: &EncodedColumns,
        status: StatusFlags,
        warnings: u16,
    ) -> Outcome {
        columns.put_with_count(self.packets);
        self.end_rows(status | StatusFlags::CURSOR_EXISTS, warnings)
    }

    /// Starts a row: append its values to the vector (with the functions of [`wire::row`], by [`Reply::row_format`]), then
    /// [`end_row`](Self::end_row).
    #[inline]
    pub fn begin_row(&mut self) -> &mut Vec<u8> {
        self.packets.begin()
    }

    /// The row begun last, to append more to.
    ///
    /// # Panics
    /// If no row is begun.
    #[inline]
    pub fn row(&mut self) -> &mut Vec<u8> {
        self.packets.payload()
    }

    /// Between the pieces of a long row: sends what fills frames, so that a row of any length takes the memory of a frame
    /// and a piece. Once something was sent the row must be ended, or the connection is lost.
    ///
    /// # Errors
    /// The client is gone.
    #[inline]
    pub fn continue_row(&mut self) -> Outcome {
        if !self.packets.end_full_frames() {
            return Ok(());
        }
        self.row_under_way = true;
        self.send()
    }

    /// Ends the row begun last; sends when enough is waiting.
    ///
    /// # Errors
    /// The client is gone.
    #[inline]
    pub fn end_row(&mut self) -> Outcome {
        self.packets.end();
        self.row_under_way = false;
        if self.packets.len() >= BUFFER_BYTES_HIGH { self.send() } else { Ok(()) }
    }

    /// Ends a result with rows.
    ///
    /// # Errors
    /// The client is gone.
    pub fn end_rows(&mut self, status: StatusFlags, warnings: u16) -> Outcome {
        self.end_rows_with(&OkSummary { status, warnings, ..OkSummary::default() })
    }

    /// Ends a result with rows, and reports changed session state.
    ///
    /// # Errors
    /// The client is gone.
    #[inline]
    pub fn end_rows_with(&mut self, summary: &OkSummary<'_>) -> Outcome {
        // MySQL counts no warnings at the results of a stored procedure's statements.
        let warnings = if self.procedure.is_some() { 0 } else { summary.warnings };
        let summary = &OkSummary { warnings, ..*summary };
        if self.capabilities.has(Capabilities::DEPRECATE_EOF) {
            self.put_ok(EOF_HEADER, summary);
        } else {
            let status = summary.status | self.more_results;
            message::encode_eof(summary.warnings, status, self.packets.begin());
            self.packets.end();
        }
        self.rows_open = false;
        self.finished_count += 1;
        self.send_if_full()
    }

    /// Answers a statement without rows.
    ///
    /// # Errors
    /// The client is gone.
    #[inline]
    pub fn ok(&mut self, summary: &OkSummary<'_>) -> Outcome {
        if self.procedure.is_some() {
            return Ok(());
        }
        self.put_ok(OK_HEADER, summary);
        self.finished_count += 1;
        self.send_if_full()
    }

    #[inline]
    fn put_ok(&mut self, header: u8, summary: &OkSummary<'_>) {
        let packet = OkPacket {
            affected_rows: summary.affected_rows,
            last_insert_id: summary.last_insert_id,
            status: summary.status | self.more_results,
            warnings: summary.warnings,
            info: summary.info.as_bytes(),
            state_changes: summary.state_changes,
        };
        packet.encode(header, self.capabilities, self.packets.begin());
        self.packets.end();
    }

    /// Answers COM_STMT_PREPARE. `parameters` are one definition per `?`; `columns` is empty for a statement without rows.
    ///
    /// # Errors
    /// The client is gone.
    pub fn prepared(
        &mut self,
        statement_id: u32,
        parameters: &EncodedColumns,
        columns: &EncodedColumns,
        status: StatusFlags,
        warnings: u16,
    ) -> Outcome {
        let payload = self.packets.begin();
        payload.push(OK_HEADER);
        payload.extend_from_slice(&statement_id.to_le_bytes());
        payload.extend_from_slice(&(columns.count().min(0xffff) as u16).to_le_bytes());
        payload.extend_from_slice(&(parameters.count().min(0xffff) as u16).to_le_bytes());
        payload.push(0);
        payload.extend_from_slice(&warnings.to_le_bytes());
        self.packets.end();
        for definitions in [parameters, columns] {
            if definitions.count() > 0 {
                definitions.put_definitions(self.packets);
                if !self.capabilities.has(Capabilities::DEPRECATE_EOF) {
                    message::encode_eof(0, status, self.packets.begin());
                    self.packets.end();
                }
                self.send_if_full()?;
            }
        }
        self.finished_count += 1;
        Ok(())
    }

    /// Answers COM_FIELD_LIST with definitions made by [`EncodedColumns::with_defaults`].
    ///
    /// # Errors
    /// The client is gone.
    pub fn field_list(&mut self, columns: &EncodedColumns, status: StatusFlags) -> Outcome {
        columns.put_definitions(self.packets);
        self.end_rows(status, 0)
    }

    /// Answers with one packet as it is, for COM_STATISTICS.
    pub fn raw(&mut self, payload: &[u8]) {
        self.packets.put(payload);
        self.finished_count += 1;
    }

    /// Asks the client for the contents of its file `name`; then call [`read_local_chunk`](Self::read_local_chunk) until it
    /// says that there is no more. If the session gives up before, the server reads and drops the rest.
    ///
    /// # Errors
    /// The client cannot (`LOCAL_FILES` missing: 3948), or is gone.
    ///
    /// # Panics
    /// If the client is still sending a file.
    pub fn request_local_file(&mut self, name: &[u8]) -> Outcome {
        assert!(!self.local_file_open, "a client sends one file at a time");
        if !self.capabilities.has(Capabilities::LOCAL_FILES) {
            return Err(crate::error::ER_CLIENT_LOCAL_FILES_DISABLED.bare());
        }
        let payload = self.packets.begin();
        payload.push(LOCAL_FILE_HEADER);
        payload.extend_from_slice(name);
        self.packets.end();
        self.send()?;
        self.local_file_open = true;
        Ok(())
    }

    /// Replaces `chunk` by the next piece of the local file; `false` at its end. May block.
    ///
    /// # Errors
    /// The client is gone.
    pub fn read_local_chunk(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Box<SqlError>> {
        if !self.local_file_open {
            return Ok(false);
        }
        let received = self.link.receive(self.packets, chunk);
        if received.is_err() || chunk.is_empty() {
            self.local_file_open = false;
        }
        received?;
        Ok(!chunk.is_empty())
    }

    /// Reads and drops what is left of a local file that the session did not finish. For the server.
    ///
    /// # Errors
    /// The client is gone.
    pub fn finish_local_file(&mut self) -> Outcome {
        let mut chunk = Vec::new();
        while self.read_local_chunk(&mut chunk)? {}
        Ok(())
    }

    /// Sends what is waiting now, for a result that is made slowly and wanted early.
    ///
    /// # Errors
    /// The client is gone.
    pub fn send(&mut self) -> Outcome {
        self.has_sent = true;
        self.link.send(self.packets, self.position)
    }

    /// Whether nothing of this answer was sent to the client yet, and no statement of several has ended.
    #[must_use]
    pub fn is_untouched(&self) -> bool {
        !self.has_sent && self.finished_count == 0 && !self.local_file_open
    }

    #[inline]
    fn send_if_full(&mut self) -> Outcome {
        if self.packets.len() >= BUFFER_BYTES_HIGH { self.send() } else { Ok(()) }
    }

    /// The log position that must be durable before what is in the buffer may leave; 0 for none. For the server.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How many results were ended. For the server: a command that must be answered and was not is a broken session.
    #[must_use]
    pub fn finished_count(&self) -> u32 {
        self.finished_count
    }

    /// Whether a row was begun, sent in part and never ended: the connection cannot go on. For the server.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Appends an error, in place of a row that was begun. For the server, which writes what a session returns.
    pub fn error(&mut self, error: &SqlError) {
        self.error_with_text(error, error.message.as_bytes());
    }

    /// As [`Reply::error`], with the message in the character set of the client's results.
    pub fn error_with_text(&mut self, error: &SqlError, text: &[u8]) {
        self.packets.abandon();
        self.is_cut |= self.row_under_way;
        message::encode_error(error.number, Some(&error.state), text, self.packets.begin());
        self.packets.end();
        self.finished_count += 1;
    }
}

#[cfg(test)]
mod tests {
    use wire::flags::Capabilities;
    use wire::packet::{FRAME_PAYLOAD_BYTES_MAX, PacketBuffer};

    use super::{Link, Outcome, Reply, RowFormat};

    /// Takes everything.
    struct Taker(usize);

    impl Link for Taker {
        fn send(&mut self, packets: &mut PacketBuffer, _position: u64) -> Outcome {
            self.0 += packets.frames().len();
            packets.clear_frames();
            Ok(())
        }

        fn receive(&mut self, _packets: &mut PacketBuffer, _payload: &mut Vec<u8>) -> Outcome {
            Err(crate::error::ER_NET_READ_ERROR.bare())
        }
    }

    /// An error replaces a row, unless the client has a part of the row already: then nothing can follow.
    #[test]
    fn a_row_that_was_sent_in_part_must_end() {
        for (length, ends, is_cut) in [
            (FRAME_PAYLOAD_BYTES_MAX - 1, false, false),
            (FRAME_PAYLOAD_BYTES_MAX, true, false),
            (FRAME_PAYLOAD_BYTES_MAX, false, true),
        ] {
            let (mut packets, mut link) = (PacketBuffer::new(), Taker(0));
            let capabilities = Capabilities::PROTOCOL_41;
            let mut reply = Reply::new(&mut packets, &mut link, capabilities, RowFormat::Text);
            reply.begin_row().resize(length + 4, 0);
            reply.continue_row().expect("it is taken");
            reply.row().push(0);
            if ends {
                reply.end_row().expect("it is taken");
            }
            reply.error(&crate::error::ER_UNKNOWN_ERROR.bare());
            assert_eq!(reply.is_cut(), is_cut, "{length}, {ends}");
            assert_eq!(link.0 > 0, length == FRAME_PAYLOAD_BYTES_MAX);
        }
    }
}
