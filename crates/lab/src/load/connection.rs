//! One connection under load: sends the commands of an operation one after the other and reads their answers as they come,
//! without ever waiting itself unless its socket does.
//!
//! ```text
//! Free --begin--> Busy(step 0) --answer--> Busy(step 1) ... --last answer--> Free      (an operation was done)
//!                      |  error of the server: close what is open, ROLLBACK
//!                      +-----------------------------------------------------> Free    (it failed)
//! ```
//!
//! The login and the first PREPAREs are done by `client`, whose stream this takes over.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use wire::client::{Event, ResultReader};
use wire::packet::{Incoming, PacketReader, next_packet};
use wire::{Capabilities, PacketBuffer};

use crate::data::fill::Source;
use crate::load::carrier::Carrier;
use crate::load::plan::{Form, Plan, Step};
use crate::load::{LoadError, SILENCE_MAX};

/// Room for answers to begin with.
const INPUT_BYTES: usize = 16 * 1024;
/// Room is doubled up to this where answers are long.
const INPUT_BYTES_MAX: usize = 1 << 20;
/// Longest packet taken.
const PACKET_BYTES_MAX: usize = 1 << 30;

/// What became of the operation in flight.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    /// It is not done.
    Waiting,
    /// It is done.
    Done,
    /// The server refused a part of it.
    Failed,
}

/// What happened on connections, added up.
#[derive(Clone, Debug, Default)]
pub(crate) struct OperationCounts {
    pub(crate) statements: u64,
    pub(crate) rows: u64,
    pub(crate) bytes_up: u64,
    pub(crate) bytes_down: u64,
    pub(crate) errors: BTreeMap<u16, u64>,
    pub(crate) error_texts: BTreeMap<u16, String>,
}

impl OperationCounts {
    #[cold]
    pub(crate) fn error(&mut self, number: u16, text: &str) {
        *self.errors.entry(number).or_default() += 1;
        self.error_texts.entry(number).or_insert_with(|| text.to_owned());
    }

    pub(crate) fn add(&mut self, other: OperationCounts) {
        self.statements += other.statements;
        self.rows += other.rows;
        self.bytes_up += other.bytes_up;
        self.bytes_down += other.bytes_down;
        for (number, count) in other.errors {
            *self.errors.entry(number).or_default() += count;
        }
        for (number, text) in other.error_texts {
            self.error_texts.entry(number).or_insert(text);
        }
    }
}

/// A hash over the rows of the first operations (FNV-1a), noted after 1, 2, 4 ... of them: an arm that ended fewer is compared
/// with another one by those that both ended.
#[derive(Debug)]
pub(crate) struct RowHash {
    hash: u64,
    operations: u32,
    operations_max: u32,
    by_operations: Vec<(u32, u64)>,
}

impl RowHash {
    pub(crate) fn new(operations_max: u32) -> RowHash {
        RowHash { hash: 0xcbf2_9ce4_8422_2325, operations: 0, operations_max, by_operations: Vec::new() }
    }

    /// Number of operations and hash over their rows.
    pub(crate) fn by_operations(&self) -> &[(u32, u64)] {
        &self.by_operations
    }

    fn is_full(&self) -> bool {
        self.operations >= self.operations_max
    }

    fn end_operation(&mut self) {
        if self.is_full() {
            return;
        }
        self.operations += 1;
        if self.operations.is_power_of_two() {
            self.by_operations.push((self.operations, self.hash));
        }
    }

    fn add(&mut self, row: &[u8]) {
        for &byte in row {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A connection under load.
#[derive(Debug)]
pub(crate) struct LoadConnection {
    stream: Carrier,
    fd: RawFd,
    is_blocking: bool,
    capabilities: Capabilities,
    with_attributes: bool,
    input: Vec<u8>,
    start: usize,
    end: usize,
    long: Option<PacketReader>,
    output: PacketBuffer,
    written: usize,
    reader: ResultReader,
    ids: Vec<u32>,
    is_typed: Vec<bool>,
    step: usize,
    /// Where the steps of the operation in flight end.
    end_step: usize,
    /// Number of the statement prepared last.
    prepared: u32,
    has_failed: bool,
    pub(crate) source: Source,
    pub(crate) is_busy: bool,
    /// The driver's event queue was asked to tell when it can be written.
    pub(crate) is_watched_for_room: bool,
    /// When the operation in flight was meant to begin.
    pub(crate) intended_ns: u64,
    /// When it did.
    pub(crate) sent_ns: u64,
    pub(crate) row_hash: Option<RowHash>,
}

/// Takes time as a driver does that computes: without giving the core away.
#[inline]
fn keep_busy(time: Duration) {
    if time.is_zero() {
        return;
    }
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

impl LoadConnection {
    /// Prepares what `plan` prepares once, then takes the stream over.
    pub(crate) fn new(
        mut connection: client::Connection,
        plan: &Plan,
        source: Source,
    ) -> Result<LoadConnection, LoadError> {
        let mut ids = vec![0; plan.statements.len()];
        for &index in &plan.prepared_at_start {
            let sql = &plan.statements[index].sql;
            let statement = connection.prepare(sql).map_err(|error| LoadError::statement(sql, error))?;
            ids[index] = statement.id();
        }
        let capabilities = connection.capabilities();
        let stream = connection.into_stream().map_err(LoadError::Connect)?;
        let stream = Carrier::new(stream, capabilities.has(Capabilities::COMPRESS));
        let fd = stream.fd().ok_or_else(|| LoadError::lost("the connection broke after login"))?;
        Ok(LoadConnection {
            stream,
            fd,
            is_blocking: true,
            capabilities,
            with_attributes: capabilities.has(Capabilities::QUERY_ATTRIBUTES),
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            long: None,
            output: PacketBuffer::new(),
            written: 0,
            reader: ResultReader::query(capabilities),
            is_typed: vec![false; ids.len()],
            ids,
            step: 0,
            end_step: 0,
            prepared: 0,
            has_failed: false,
            source,
            is_busy: false,
            is_watched_for_room: false,
            intended_ns: 0,
            sent_ns: 0,
            row_hash: None,
        })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.fd
    }

    /// Something waits for the socket to have room.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.written < self.output.len() || self.stream.has_unsent()
    }

    /// Whether reads wait (with a limit) or not at all.
    pub(crate) fn set_blocking(&mut self, is_blocking: bool) -> std::io::Result<()> {
        self.is_blocking = is_blocking;
        self.stream.set_blocking(is_blocking.then_some(SILENCE_MAX))
    }

    /// Sends the first command of an operation.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        plan: &Plan,
        serial: &AtomicU64,
        counts: &mut OperationCounts,
        intended_ns: u64,
        now_ns: u64,
    ) -> Result<(), LoadError> {
        debug_assert!(!self.is_busy);
        self.is_busy = true;
        self.has_failed = false;
        self.intended_ns = intended_ns;
        self.sent_ns = now_ns;
        let steps = plan.next_steps(&mut self.source);
        (self.step, self.end_step) = (steps.start, steps.end);
        self.send(plan, serial, counts).map(|_| ())
    }

    /// Sends the commands from `step` on up to one that is answered; `false` if none of them is.
    #[inline]
    fn send(
        &mut self,
        plan: &Plan,
        serial: &AtomicU64,
        counts: &mut OperationCounts,
    ) -> Result<bool, LoadError> {
        let mut is_answered = false;
        while !is_answered && self.step < self.end_step {
            let step = plan.steps[self.step];
            self.put(plan, step, serial);
            is_answered = !matches!(step, Step::Close(_));
            if !is_answered {
                self.step += 1;
            }
        }
        counts.bytes_up += self.output.len() as u64;
        self.flush()?;
        Ok(is_answered)
    }

    #[inline]
    fn put(&mut self, plan: &Plan, step: Step, serial: &AtomicU64) {
        let (Step::Fixed(index)
        | Step::Text(index)
        | Step::Prepare(index)
        | Step::Execute(index)
        | Step::Reset(index)
        | Step::Close(index)) = step;
        let is_first = !self.is_typed[index];
        self.output.set_sequence(0);
        let next = || serial.fetch_add(1, Ordering::Relaxed);
        let form = Form { id: self.ids[index], is_first, with_attributes: self.with_attributes };
        plan.put(step, form, &mut self.source, next, &mut self.output);
        match step {
            Step::Execute(_) => self.is_typed[index] = true,
            Step::Prepare(_) => self.is_typed[index] = false,
            Step::Fixed(_) | Step::Text(_) | Step::Reset(_) | Step::Close(_) => {}
        }
        self.reader = match step {
            Step::Prepare(_) => ResultReader::prepare(self.capabilities),
            _ => ResultReader::query(self.capabilities),
        };
    }

    /// Writes what the socket takes; the rest waits until it can be written.
    #[inline]
    pub(crate) fn flush(&mut self) -> Result<(), LoadError> {
        while self.written < self.output.len() {
            match self.stream.write(&self.output.frames()[self.written..]) {
                Ok(0) => return Err(LoadError::lost("the server takes nothing more")),
                Ok(bytes) => self.written += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_blocking => return Ok(()),
                Err(error) => return Err(LoadError::lost(&error.to_string())),
            }
        }
        self.output.clear_frames();
        self.written = 0;
        if self.stream.is_plain() {
            return Ok(());
        }
        match self.stream.flush() {
            Err(error) if error.kind() == ErrorKind::WouldBlock && !self.is_blocking => Ok(()),
            done => done.map_err(|error| LoadError::lost(&error.to_string())),
        }
    }

    /// Reads what is there, and sends what follows from it.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        plan: &Plan,
        serial: &AtomicU64,
        counts: &mut OperationCounts,
    ) -> Result<Progress, LoadError> {
        loop {
            if self.start == self.end {
                (self.start, self.end) = (0, 0);
            } else if self.end == self.input.len() {
                self.make_room();
            }
            let room = self.input.len() - self.end;
            let bytes = match self.stream.read(&mut self.input[self.end..]) {
                Ok(0) => return Err(LoadError::lost("the server closed the connection")),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.is_blocking {
                        return Err(LoadError::Silent);
                    }
                    return Ok(Progress::Waiting);
                }
                Err(error) => return Err(LoadError::lost(&error.to_string())),
            };
            self.end += bytes;
            counts.bytes_down += bytes as u64;
            while self.start < self.end && self.is_busy {
                if !self.read_packet(counts)? {
                    break;
                }
                if self.reader.is_done() {
                    counts.statements += 1;
                    if self.is_finished(plan, serial, counts)? {
                        self.is_busy = false;
                        if let Some(hash) = &mut self.row_hash {
                            hash.end_operation();
                        }
                        return Ok(if self.has_failed { Progress::Failed } else { Progress::Done });
                    }
                }
            }
            // A read that left room emptied the socket: what comes later raises a new event.
            if bytes < room && !self.is_blocking && self.stream.is_plain() {
                return Ok(Progress::Waiting);
            }
        }
    }

    #[cold]
    fn make_room(&mut self) {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            let more = self.input.len().min(INPUT_BYTES_MAX);
            self.input.resize(self.input.len() + more, 0);
        }
    }

    /// Reads one packet of the answer; `false` if it is not whole.
    #[inline]
    fn read_packet(&mut self, counts: &mut OperationCounts) -> Result<bool, LoadError> {
        let long;
        let payload = match &mut self.long {
            None => match next_packet(&self.input[self.start..self.end]) {
                Incoming::Partial { .. } => return Ok(false),
                Incoming::Packet { payload, consumed, .. } => {
                    self.start += consumed;
                    payload
                }
                Incoming::Continued => {
                    let sequence = self.input.get(self.start + 3).copied().unwrap_or_default();
                    self.long = Some(PacketReader::new(sequence));
                    return self.read_packet(counts);
                }
            },
            Some(reader) => {
                let (used, is_whole) = reader
                    .feed(&self.input[self.start..self.end], PACKET_BYTES_MAX)
                    .map_err(|_| LoadError::lost("packets out of order or too long"))?;
                self.start += used;
                if !is_whole {
                    return Ok(false);
                }
                long = reader.take_payload();
                self.long = None;
                &long
            }
        };
        match self.reader.read(payload).map_err(|malformed| LoadError::lost(malformed.what))? {
            Event::Row(row) => {
                counts.rows += 1;
                if let Some(hash) = self.row_hash.as_mut().filter(|hash| !hash.is_full()) {
                    hash.add(row);
                }
            }
            Event::Prepared { statement_id, .. } => {
                // `step` is the PREPARE that is answered; `is_finished` stores the number.
                self.prepared = statement_id;
            }
            Event::Error(error) => {
                self.has_failed = true;
                counts.error(error.number, &String::from_utf8_lossy(error.message));
            }
            Event::LocalFile(_) => return Err(LoadError::lost("the server asks for a file")),
            Event::Ok(_) | Event::Columns(_) | Event::Column(_) | Event::ColumnsEnd | Event::End { .. } => {}
        }
        Ok(true)
    }

    /// After an answer: goes on with the operation, or says that it is over.
    #[inline]
    fn is_finished(
        &mut self,
        plan: &Plan,
        serial: &AtomicU64,
        counts: &mut OperationCounts,
    ) -> Result<bool, LoadError> {
        if self.has_failed {
            return self.give_up(plan, serial, counts);
        }
        if let Some(&Step::Prepare(index)) = plan.steps.get(self.step) {
            self.ids[index] = self.prepared;
        }
        self.step += 1;
        if self.step >= self.end_step {
            return Ok(true);
        }
        // Only a thread with a single connection can pause without delaying other connections.
        if self.is_blocking {
            keep_busy(plan.think(self.step));
        }
        Ok(!self.send(plan, serial, counts)?)
    }

    /// Closes the statement the operation would have closed next and rolls back; then it is over.
    #[cold]
    fn give_up(
        &mut self,
        plan: &Plan,
        serial: &AtomicU64,
        counts: &mut OperationCounts,
    ) -> Result<bool, LoadError> {
        if self.step >= self.end_step {
            return Ok(true); // That was the answer to ROLLBACK.
        }
        let (done, left) = (&plan.steps[..self.step], &plan.steps[self.step + 1..self.end_step]);
        for (place, &step) in left.iter().enumerate() {
            // Prepared before and not closed since; each once.
            if let Step::Close(index) = step
                && done.iter().filter(|&&one| one == Step::Prepare(index)).count()
                    > done.iter().filter(|&&one| one == step).count()
                && !left[..place].contains(&step)
            {
                self.put(plan, step, serial);
            }
        }
        self.step = self.end_step;
        if plan.is_transaction {
            self.output.set_sequence(0);
            let rollback: &[u8] = if self.with_attributes { b"\x03\0\x01ROLLBACK" } else { b"\x03ROLLBACK" };
            self.output.put(rollback);
            self.reader = ResultReader::query(self.capabilities);
        }
        counts.bytes_up += self.output.len() as u64;
        self.flush()?;
        Ok(!plan.is_transaction)
    }
}
