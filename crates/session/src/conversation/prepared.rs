//! What a session keeps of its prepared statements, of the binary protocol and of SQL's PREPARE.
//!
//! A statement keeps its text, the places of its `?` and, once run, its plan. A plan depends on the catalog's version, on
//! settings that change binding, and on the types of its parameters; when one differs it is made again. Long data beyond
//! `exec::LONG_DATA_MEMORY_BYTES` lies on disk.
//!
//! Limits: `max_prepared_stmt_count` statements a server (1461); long data as [`LongDataLimits`] has it.
//!
//! Invariants:
//! 1. Every statement that is kept is counted in `prepared_statement_count` of the server.
//! 2. `bytes` is the sum of what the statements by number take; one that runs is counted again when it comes back, if
//!    [`PreparedStatements::note_change`] was called.

use std::sync::Arc;

use env::memory::MemoryCharge;
use exec::LongData;
use hashbrown::HashMap;
use service::error::{ER_MAX_PREPARED_STMT_COUNT_REACHED, ER_UNKNOWN_ERROR, ER_UNKNOWN_STMT_HANDLER};
use service::{Outcome, Reply, SqlError};
use syntax::ast::Statement;
use types::charset::Charset;
use wire::parameter::ParameterType;

use super::cursor::Cursor;
use super::statement_ids::ByNumber;
use crate::backend::Backend;
use crate::core::Core;
use crate::plans::PlanHandle;
use crate::variables::Variables;
use crate::variables::definition::known;

/// Long data of all parameters of a statement is at most this many times that of one.
pub(crate) const LONG_DATA_BYTES_MAX_FACTOR: u64 = 2;

/// One prepared statement.
#[derive(Debug)]
pub struct PreparedStatement<B: Backend> {
    /// Its text, UTF-8.
    pub(super) text: Box<[u8]>,
    /// Offsets of the `?` in the text.
    pub(super) places: Box<[u32]>,
    pub(super) types: Vec<ParameterType>,
    pub(super) long_data: HashMap<u16, LongData>,
    /// Long data was sent that is too long, or could not be kept; the next execute says so.
    pub(super) long_data_error: Option<Box<SqlError>>,
    pub(super) kept: CachedExecution<B>,
    /// Rows that wait for COM_STMT_FETCH.
    pub(super) cursor: Option<Box<Cursor>>,
    /// The text and its places.
    held: MemoryCharge,
    /// What [`PreparedStatements::bytes`] counts of it.
    counted_bytes: u64,
    /// Long data in memory.
    long_data_held: MemoryCharge,
}

impl<B: Backend> PreparedStatement<B> {
    /// Its text, its plan where no other session has it, and the rows of its cursor.
    #[inline]
    fn held_bytes(&self) -> u64 {
        let plan = if let CachedExecution::Plan(plan) = &self.kept { plan.held_bytes() } else { 0 };
        self.held.bytes()
            + plan
            + self.long_data_held.bytes()
            + self.cursor.as_ref().map_or(0, |cursor| cursor.held_bytes())
    }

    /// One that has not run, with its `?` at `places`.
    pub(super) fn new(text: &[u8], places: Vec<u32>) -> Self {
        let mut held = MemoryCharge::default();
        held.set((text.len() + places.len() * size_of::<u32>() + size_of::<Self>()) as u64);
        Self {
            held,
            counted_bytes: 0,
            long_data_held: MemoryCharge::default(),
            text: text.into(),
            places: places.into(),
            types: Vec::new(),
            long_data: HashMap::new(),
            long_data_error: None,
            kept: CachedExecution::Nothing,
            cursor: None,
        }
    }

    /// Recomputes the memory it holds; returns the change in bytes.
    fn count(&mut self) -> i64 {
        let now = self.held_bytes();
        let before = std::mem::replace(&mut self.counted_bytes, now);
        now.cast_signed() - before.cast_signed()
    }
}

/// What a statement keeps of a run for the next.
#[derive(Debug, Default)]
pub(super) enum CachedExecution<B: Backend> {
    #[default]
    Nothing,
    /// A plan, which may have to be made again.
    Plan(PlanHandle<B>),
    /// A tree that needs neither a plan nor its text, whatever the settings: BEGIN, COMMIT, ROLLBACK.
    Tree(Statement<'static>),
}

/// How much may come of a parameter before its statement runs.
#[derive(Clone, Copy, Debug)]
pub struct LongDataLimits {
    /// `max_allowed_packet`: what every statement takes.
    pub packet_bytes_max: u64,
    /// `max_long_data_size`, where that is more: what is taken by those that pass it on to a table in pieces.
    pub streamed_bytes_max: u64,
}

impl LongDataLimits {
    fn of_parameter(self) -> u64 {
        self.packet_bytes_max.max(self.streamed_bytes_max)
    }

    fn of_statement(self) -> u64 {
        self.of_parameter().saturating_mul(LONG_DATA_BYTES_MAX_FACTOR)
    }
}

/// Refuses one more statement where the server has as many as it may.
///
/// # Errors
/// 1461.
pub(super) fn require_room(core: &Core) -> Outcome {
    let max = core.globals().unsigned(known::max_prepared_stmt_count());
    if core.counters.prepared_statement_count.get() >= max {
        return Err(ER_MAX_PREPARED_STMT_COUNT_REACHED.with(&[&max]));
    }
    Ok(())
}

/// All prepared statements of a session.
#[derive(Debug)]
pub struct PreparedStatements<B: Backend> {
    /// A statement is away, and its place empty, while it runs.
    by_id: ByNumber<Option<Box<PreparedStatement<B>>>>,
    named: HashMap<String, (Arc<[u8]>, u32)>,
    /// The texts of those.
    named_held: MemoryCharge,
    /// What those of `by_id` take, as far as [`Held`]s count it.
    bytes: u64,
    /// The statement that is away holds something else than before.
    needs_recount: bool,
}

impl<B: Backend> Default for PreparedStatements<B> {
    fn default() -> Self {
        Self {
            by_id: ByNumber::default(),
            named: HashMap::default(),
            named_held: MemoryCharge::default(),
            bytes: 0,
            needs_recount: false,
        }
    }
}

impl<B: Backend> PreparedStatements<B> {
    /// Keeps a statement; returns its number.
    pub(super) fn add(&mut self, statement: PreparedStatement<B>, core: &Core) -> u32 {
        let mut statement = Box::new(statement);
        self.count(&mut statement);
        core.counters.prepared_statement_count.increment();
        self.by_id.insert(Some(statement))
    }

    /// The statement that is away holds something else than before.
    #[inline]
    pub(super) fn note_change(&mut self) {
        self.needs_recount = true;
    }

    /// PREPARE: keeps a text and its number of parameters under a name that is free.
    pub(super) fn add_named(&mut self, name: &str, text: &[u8], parameter_count: u32, core: &Core) {
        self.named_held.change(text.len() as i64);
        self.named.insert(name.to_lowercase(), (text.into(), parameter_count));
        core.counters.prepared_statement_count.increment();
    }

    /// DEALLOCATE PREPARE; whether there was such a statement.
    pub(super) fn forget_named(&mut self, name: &str, core: &Core) -> bool {
        let Some((text, _)) = self.named.remove(&name.to_lowercase()) else { return false };
        self.named_held.change(-(text.len() as i64));
        core.counters.prepared_statement_count.decrement();
        true
    }

    /// The text and the number of parameters of a statement that has a name.
    pub(super) fn find_named(&self, name: &str) -> Option<(Arc<[u8]>, u32)> {
        self.named.get(&name.to_lowercase()).cloned()
    }

    /// Sends at most `row_count` rows of a statement's cursor; whether there are more. Without more the cursor is closed.
    ///
    /// # Errors
    /// 1243, 1421; the client is gone.
    pub(super) fn fetch(
        &mut self,
        id: u32,
        row_count: u32,
        results: Option<Charset>,
        reply: &mut Reply<'_>,
    ) -> Result<bool, Box<SqlError>> {
        let statement = self.find(id, "mysqld_stmt_fetch")?;
        let Some(cursor) = statement.cursor.as_mut() else {
            return Err(service::error::ER_STMT_HAS_NO_OPEN_CURSOR.with(&[&id]));
        };
        if cursor.send(row_count, results, reply)? {
            return Ok(true);
        }
        statement.cursor = None;
        let change = statement.count();
        self.bytes = self.bytes.wrapping_add_signed(change);
        Ok(false)
    }

    /// Forgets all.
    pub fn clear(&mut self, core: &Core) {
        self.bytes = 0;
        for _ in 0..self.by_id.clear() {
            core.counters.prepared_statement_count.decrement();
        }
        self.named_held = MemoryCharge::default();
        for _ in self.named.drain() {
            core.counters.prepared_statement_count.decrement();
        }
    }

    /// What they take that [`Held`]s count.
    #[inline]
    pub(super) fn held_bytes(&self) -> u64 {
        self.named_held.bytes() + self.bytes
    }

    /// Forgets one; unknown numbers are ignored, as the protocol wants.
    pub fn close(&mut self, id: u32, core: &Core) {
        if let Some(removed) = self.by_id.remove(id) {
            self.bytes -= removed.map_or(0, |statement| statement.counted_bytes);
            core.counters.prepared_statement_count.decrement();
        }
    }

    /// Forgets long data and the cursor of one.
    ///
    /// # Errors
    /// 1243.
    pub fn reset(&mut self, id: u32) -> Outcome {
        let statement = self.find(id, "mysqld_stmt_reset")?;
        statement.long_data.clear();
        statement.long_data_held.set(0);
        statement.long_data_error = None;
        statement.cursor = None;
        let bytes = statement.count();
        self.bytes = self.bytes.wrapping_add_signed(bytes);
        Ok(())
    }

    /// Adds a piece to a parameter's value; `folder` is for what is too long for memory.
    pub(crate) fn add_long_data(
        &mut self,
        id: u32,
        parameter: u16,
        data: &[u8],
        limits: LongDataLimits,
        folder: Option<&Arc<dyn env::disk::Folder>>,
    ) {
        let Some(Some(statement)) = self.by_id.get_mut(id) else { return };
        let held: u64 = statement.long_data.values().map(LongData::byte_count).sum();
        let of_parameter = statement.long_data.get(&parameter).map_or(0, LongData::byte_count);
        let new = data.len() as u64;
        // Without a folder it all stays in memory.
        let most = if folder.is_some() { limits.of_parameter() } else { limits.packet_bytes_max };
        if usize::from(parameter) >= statement.places.len()
            || held + new > limits.of_statement()
            || of_parameter + new > most
        {
            statement.long_data_error = Some(long_data_too_long());
            return;
        }
        if !env::memory::has_room() {
            statement.long_data_error = Some(long_data_without_room());
            return;
        }
        let value = statement.long_data.entry(parameter).or_default();
        if let Err(error) = value.push(data, folder, limits.packet_bytes_max as usize) {
            statement.long_data_error = Some(error);
        }
        let in_memory = statement.long_data.values().filter(|long| long.on_disk().is_none());
        statement.long_data_held.set(in_memory.map(LongData::byte_count).sum());
        let change = statement.count();
        self.bytes = self.bytes.wrapping_add_signed(change);
    }

    fn find(&mut self, id: u32, command: &str) -> Result<&mut PreparedStatement<B>, Box<SqlError>> {
        match self.by_id.get_mut(id) {
            Some(Some(statement)) => Ok(statement),
            _ => Err(unknown(&id.to_string(), command)),
        }
    }

    /// Counts what a statement takes, which has changed.
    #[cold]
    fn count(&mut self, statement: &mut PreparedStatement<B>) {
        self.needs_recount = false;
        self.bytes = self.bytes.wrapping_add_signed(statement.count());
    }

    /// Recomputes the sum: a statement that panicked is no longer held.
    pub(super) fn count_all(&mut self) {
        self.needs_recount = false;
        self.bytes = self.by_id.values().flatten().map(|statement| statement.counted_bytes).sum();
    }

    /// Takes a statement out to run it. One that breaks while it runs stays away: its state is not to be trusted.
    pub(super) fn take(
        &mut self,
        id: u32,
        command: &str,
    ) -> Result<Box<PreparedStatement<B>>, Box<SqlError>> {
        self.by_id.get_mut(id).and_then(Option::take).ok_or_else(|| unknown(&id.to_string(), command))
    }

    #[inline(always)] // Once on the way of each execution.
    pub(super) fn put_back(&mut self, id: u32, mut statement: Box<PreparedStatement<B>>) {
        if statement.long_data_held.bytes() > 0 && statement.long_data.is_empty() {
            statement.long_data_held.set(0); // An execution uses it up.
            self.needs_recount = true;
        }
        if self.needs_recount {
            self.count(&mut statement);
        }
        if let Some(place) = self.by_id.get_mut(id) {
            *place = Some(statement);
        }
    }
}

#[cold]
fn long_data_without_room() -> Box<SqlError> {
    let most = env::memory::all_statements_max();
    service::error::ER_CAPACITY_EXCEEDED.with(&[
        &most,
        &"global_statement_memory_limit",
        &"Statement aborted.",
    ])
}

#[cold]
pub(super) fn unknown(id: &str, command: &str) -> Box<SqlError> {
    ER_UNKNOWN_STMT_HANDLER.with(&[&id, &command])
}

#[cold]
pub(super) fn long_data_too_long() -> Box<SqlError> {
    ER_UNKNOWN_ERROR.saying(
        "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
         'max_allowed_packet' bytes",
    )
}

/// What bounds long data of this session.
pub(super) fn long_data_limits(variables: &Variables, core: &Core) -> LongDataLimits {
    LongDataLimits {
        packet_bytes_max: variables.unsigned(known::max_allowed_packet()),
        streamed_bytes_max: core.globals().unsigned(known::max_long_data_size()),
    }
}
