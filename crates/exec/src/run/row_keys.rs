//! By what groups, DISTINCT, set operations and hash joins distinguish rows, where some values may be large and stored out of line:
//! as little of these is read as distinguishes them, and a piece at a time.
//!
//! Without such values a row's key is the bytes of its values ([`append_key`]). With them it is a *prefix key*: the key as far as a
//! few bytes of each value say it, and behind it, for each value that has more, the value or where it lies. A
//! [`PrefixKeyTable`] looks at the first part alone until two rows share it; then it puts both one level down, where the
//! values take part with more of their keys ([`DEPTHS`]), and so on until they differ or are known to be equal.
//!
//! Invariants:
//! 1. What takes part of a value is always the first bytes of its sort key, as many as the depth says, never the text's: texts
//!    of different lengths, and letters of different forms, may be equal.
//! 2. A key that ends is no beginning of another, so that rows with the same bytes at a depth have the same values left open.

use access::MaybeLarge;
use sha2::{Digest, Sha256};
use types::collation::KeyPieces;
use types::vector::{BytesColumn, Cell};
use types::{Column, DataType};

use super::partition::KeyTable;
use crate::context::ExecContext;
use crate::error::internal;
use crate::expr::SqlResult;
use crate::key::{append_key, append_mixed_integer_key};
use crate::output::{LargeTables, LargeValue};

/// Bytes of a value's key that take part: those that the text in the row has nearly always (32 bytes, of which a character
/// may be cut, or weigh less than it is long), then three quarters of what is read at once.
const DEPTHS: [(u64, u64); 4] = [(24, 64), (1536, 2 << 10), (48 << 10, 64 << 10), (u64::MAX, 256 << 10)];

/// Keys longer than this are known by their digest.
const DIGESTED_BYTES: usize = 256;

/// A value of a row, inline or out of line.
#[derive(Clone, Copy)]
enum Value<'a> {
    Inline(&'a [u8]),
    OutOfLine(LargeValue<'a>, &'a [u8]),
}

impl<'a> Value<'a> {
    fn read<'c: 'a>(cell: &'a [u8], tables: &'a LargeTables, ctx: &ExecContext<'c>) -> SqlResult<Value<'a>> {
        Ok(match MaybeLarge::read(cell) {
            MaybeLarge::Inline(bytes) => Value::Inline(bytes),
            MaybeLarge::OutOfLine(place) => {
                Value::OutOfLine(tables.value(place, ctx.large_reader()?)?, place.prefix)
            }
        })
    }

    fn len(&self) -> u64 {
        match self {
            Value::Inline(bytes) => bytes.len() as u64,
            Value::OutOfLine(value, _) => value.len(),
        }
    }
}

/// A value's sort key, piece by piece.
struct KeyReader<'a> {
    value: Value<'a>,
    types: &'a DataType,
    keys: KeyPieces,
    pass: usize,
    offset: u64,
    ended: bool,
    /// The value counts as read.
    counted: bool,
    piece: Vec<u8>,
}

impl<'a> KeyReader<'a> {
    fn new(value: Value<'a>, types: &'a DataType) -> KeyReader<'a> {
        let keys = KeyPieces::new(types.collation, 0);
        KeyReader { value, types, keys, pass: 0, offset: 0, ended: false, counted: false, piece: Vec::new() }
    }

    /// Appends more of the key, what the next `bytes` of the value give (perhaps nothing); false: it had ended.
    fn next(&mut self, bytes: u64, out: &mut Vec<u8>) -> SqlResult<bool> {
        if self.ended {
            return Ok(false);
        }
        let length = self.value.len();
        let mut end = self.offset.saturating_add(bytes).min(length);
        let piece = match self.value {
            Value::Inline(all) => all.get(self.offset as usize..end as usize).unwrap_or(&[]),
            // The row's own bytes come first: they cost nothing.
            Value::OutOfLine(_, prefix) if self.offset == 0 && bytes <= DEPTHS[0].1 => {
                end = prefix.len() as u64;
                prefix
            }
            Value::OutOfLine(value, _) => {
                if !std::mem::replace(&mut self.counted, true) && self.offset > 0 {
                    access::LARGE_VALUES_READ.increment();
                }
                self.piece.clear();
                value.read_piece(self.offset, end - self.offset, &mut self.piece)?;
                &self.piece
            }
        };
        self.offset = end;
        self.keys.push(piece, end == length, out);
        if end == length {
            self.pass += 1;
            self.offset = 0;
            self.ended = self.pass == self.types.collation.key_passes();
            if !self.ended {
                self.keys = KeyPieces::new(self.types.collation, self.pass);
            }
        }
        Ok(true)
    }
}

/// Gives the key of a value to `take`, as much of it as `depth` says. Answers whether that is all of it.
fn key_to_depth(
    value: Value<'_>,
    data_type: &DataType,
    depth: usize,
    take: &mut dyn FnMut(&[u8]),
) -> SqlResult<bool> {
    let (most, piece_bytes) = DEPTHS[depth];
    let mut key = Vec::new();
    if let Value::Inline(bytes) = value
        && bytes.len() as u64 <= piece_bytes
        && data_type.collation.key_passes() == 1
    {
        data_type.collation.sort_key(bytes, &mut key);
        let room = usize::try_from(most).unwrap_or(usize::MAX);
        take(&key[..key.len().min(room)]);
        return Ok(key.len() <= room);
    }
    let mut reader = KeyReader::new(value, data_type);
    let mut given = 0;
    let mut bytes = piece_bytes;
    while reader.next(bytes, &mut key)? {
        let room = usize::try_from(most - given).unwrap_or(usize::MAX);
        if key.len() > room || (key.len() == room && !reader.ended) {
            take(&key[..room]);
            return Ok(false);
        }
        take(&key);
        given += key.len() as u64;
        key.clear();
        // Of a value whose beginning in the row is not enough a piece is read.
        bytes = piece_bytes.max(DEPTHS[1].1);
    }
    Ok(true)
}

/// Appends the key of a value as far as depth 0 says; as [`key_to_depth`], in the usual cases from bytes that are here.
fn append_first(value: Value<'_>, data_type: &DataType, out: &mut Vec<u8>) -> SqlResult<bool> {
    let (most, piece_bytes) = DEPTHS[0];
    let collation = data_type.collation;
    let before = out.len();
    let all = before + most as usize;
    let start = match value {
        Value::Inline(bytes) if bytes.len() as u64 <= piece_bytes => {
            if collation.key_passes() == 1 {
                collation.sort_key(bytes, out);
                let closed = out.len() <= all;
                out.truncate(all);
                return Ok(closed);
            }
            &[]
        }
        Value::Inline(bytes) => &bytes[..piece_bytes as usize],
        Value::OutOfLine(_, prefix) => prefix,
    };
    // More follows, so that the key is longer than this.
    collation.sort_key_of_start(start, out);
    if out.len() >= all {
        out.truncate(all);
        return Ok(false);
    }
    out.truncate(before);
    key_to_depth(value, data_type, 0, &mut |key| out.extend_from_slice(key))
}

/// Orders two values by as much of them as it takes.
pub(super) fn compare_large(
    a: &[u8],
    b: &[u8],
    data_type: &DataType,
    tables: &LargeTables,
    ctx: &ExecContext<'_>,
) -> SqlResult<std::cmp::Ordering> {
    if a == b {
        return Ok(std::cmp::Ordering::Equal);
    }
    let (a, b) = (Value::read(a, tables, ctx)?, Value::read(b, tables, ctx)?);
    if let (Value::Inline(a), Value::Inline(b)) = (a, b) {
        return Ok(data_type.collation.compare(a, b));
    }
    let (mut a, mut b) = (KeyReader::new(a, data_type), KeyReader::new(b, data_type));
    let (mut key_a, mut key_b) = (Vec::new(), Vec::new());
    let mut pieces = DEPTHS.iter().map(|(_, bytes)| *bytes);
    let mut bytes = 0;
    loop {
        bytes = pieces.next().unwrap_or(bytes);
        // Who is behind catches up.
        let (lag_a, lag_b) = (key_a.len() <= key_b.len(), key_b.len() <= key_a.len());
        let more_a = lag_a && a.next(bytes, &mut key_a)?;
        let more_b = lag_b && b.next(bytes, &mut key_b)?;
        let common = key_a.len().min(key_b.len());
        let order = key_a[..common].cmp(&key_b[..common]);
        if order.is_ne() {
            return Ok(order);
        }
        key_a.drain(..common);
        key_b.drain(..common);
        if !more_a && !more_b {
            // No key is the beginning of another.
            return Ok(key_a.len().cmp(&key_b.len()));
        }
    }
}

/// What a column's values add to keys.
struct KeyColumn {
    data_type: DataType,
    is_reference: bool,
    /// Integers that are compared with integers of the other signedness.
    is_mixed: bool,
}

/// Keys of rows with these columns.
#[derive(Default)]
pub(crate) struct RowKeys {
    columns: Vec<KeyColumn>,
    any_reference: bool,
    tables: LargeTables,
}

/// Bytes before the first part of a prefix key: how long it is, and the mark of depth 0.
const PREFIX_KEY_HEADER_BYTES: usize = 5;

impl RowKeys {
    /// `columns`: types, and whether the cells may be references.
    pub(crate) fn new(
        columns: impl IntoIterator<Item = (DataType, bool)>,
        plan: &plan::physical::PhysicalPlan,
    ) -> SqlResult<RowKeys> {
        let columns: Vec<KeyColumn> = columns
            .into_iter()
            .map(|(data_type, is_reference)| KeyColumn { data_type, is_reference, is_mixed: false })
            .collect();
        let any_reference = columns.iter().any(|column| column.is_reference);
        let tables = if any_reference { LargeTables::of(plan)? } else { LargeTables::default() };
        Ok(RowKeys { columns, any_reference, tables })
    }

    /// Says which columns are integers that are compared with integers of the other signedness.
    pub(super) fn set_mixed(&mut self, mixed: &[bool]) {
        for (column, is_mixed) in self.columns.iter_mut().zip(mixed) {
            column.is_mixed = *is_mixed;
        }
    }

    /// Whether keys are prefix keys.
    #[inline]
    pub(crate) fn are_prefix_keys(&self) -> bool {
        self.any_reference
    }

    /// Where those of a plan are.
    pub(crate) fn tables(&self) -> &LargeTables {
        &self.tables
    }

    /// Appends `head` and the key of row `row` of `columns`; `out` is empty.
    #[inline]
    pub(crate) fn append(
        &self,
        head: &[u8],
        columns: &[Column],
        row: usize,
        ctx: &ExecContext<'_>,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        if self.any_reference {
            return self.append_prefix_key(head, columns, row, ctx, out);
        }
        out.extend_from_slice(head);
        for (column, of) in columns.iter().zip(&self.columns) {
            append_key(column.cell(row), &of.data_type, false, out);
        }
        Ok(())
    }

    #[inline(never)]
    fn append_prefix_key(
        &self,
        head: &[u8],
        columns: &[Column],
        row: usize,
        ctx: &ExecContext<'_>,
        out: &mut Vec<u8>,
    ) -> SqlResult<()> {
        out.extend_from_slice(&[0; PREFIX_KEY_HEADER_BYTES]);
        out.extend_from_slice(head);
        let mut open: Vec<usize> = Vec::new();
        for (number, (column, of)) in columns.iter().zip(&self.columns).enumerate() {
            if of.is_mixed {
                append_mixed_integer_key(column.cell(row), of.data_type.unsigned, out);
                continue;
            }
            let (true, Cell::Bytes(bytes)) = (of.is_reference, column.cell(row)) else {
                append_key(column.cell(row), &of.data_type, false, out);
                continue;
            };
            out.push(1);
            let value = Value::read(bytes, &self.tables, ctx)?;
            if of.data_type.collation.tells_all_bytes() {
                out.extend_from_slice(&value.len().to_be_bytes());
            }
            if !append_first(value, &of.data_type, out)? {
                open.push(number);
            }
        }
        let first = ((out.len() - PREFIX_KEY_HEADER_BYTES) as u32).to_le_bytes();
        out[..first.len()].copy_from_slice(&first);
        for number in open {
            let Cell::Bytes(bytes) = columns[number].cell(row) else { continue };
            out.extend_from_slice(&(number as u32).to_le_bytes());
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// The key of a prefix key at a depth; answers whether nothing of it is open.
    fn prefix_key_to_depth(
        &self,
        prefix_key: &[u8],
        depth: usize,
        ctx: &ExecContext<'_>,
        out: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        let (first, mut rest) = split_prefix_key(prefix_key)?;
        let mut raw = first[1..].to_vec();
        let mut digest: Option<Sha256> = None;
        let mut closed = true;
        let mut take = |bytes: &[u8]| match &mut digest {
            Some(digest) => digest.update(bytes),
            None if raw.len() + bytes.len() <= DIGESTED_BYTES => raw.extend_from_slice(bytes),
            None => {
                let mut begun = Sha256::new();
                begun.update(&raw);
                begun.update(bytes);
                digest = Some(begun);
            }
        };
        while !rest.is_empty() {
            let (number, cell, behind) = open_value(rest)?;
            rest = behind;
            let Some(of) = self.columns.get(number) else { return Err(internal("a prefix key's column")) };
            let value = Value::read(cell, &self.tables, ctx)?;
            closed &= key_to_depth(value, &of.data_type, depth, &mut take)?;
        }
        out.clear();
        match digest {
            Some(digest) => {
                out.push(0x80 | depth as u8);
                out.extend_from_slice(&digest.finalize());
            }
            None => {
                out.push(depth as u8);
                out.extend_from_slice(&raw);
            }
        }
        Ok(closed)
    }
}

/// The first part of a prefix key, with its mark, and the open values.
fn split_prefix_key(prefix_key: &[u8]) -> SqlResult<(&[u8], &[u8])> {
    let split = prefix_key.split_first_chunk::<4>().and_then(|(length, rest)| {
        rest.split_at_checked(u32::from_le_bytes(*length) as usize + PREFIX_KEY_HEADER_BYTES - length.len())
    });
    split.ok_or_else(|| internal("a prefix key without its key"))
}

/// The next open value of a prefix key: column, cell, and what is behind it.
fn open_value(prefix_key: &[u8]) -> SqlResult<(usize, &[u8], &[u8])> {
    let found = prefix_key.split_first_chunk::<4>().and_then(|(number, rest)| {
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (cell, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some((u32::from_le_bytes(*number) as usize, cell, rest))
    });
    found.ok_or_else(|| internal("a prefix key without its value"))
}

/// Different keys, numbered in the order they came: plain ones, or prefix keys.
pub(super) struct RowTable {
    /// Keys, where they are no prefix keys: who looks for many goes straight to them.
    pub(super) plain: KeyTable,
    prefix_keys: Option<Box<PrefixKeyTable>>,
}

/// What a table knows of a key.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// Its number.
    Known(u32),
    /// It was not there and has this number now.
    New(u32),
    /// It is not there.
    Absent,
}

impl RowTable {
    /// For keys that [`RowKeys::append`] makes.
    pub(super) fn new(keys: &RowKeys) -> RowTable {
        RowTable { plain: KeyTable::default(), prefix_keys: keys.are_prefix_keys().then(Box::default) }
    }

    /// The hash by which rows part: of equal rows the same.
    #[inline]
    pub(super) fn hash(&self, key: &[u8]) -> u64 {
        if self.prefix_keys.is_some() { self.plain.hash(first_part(key)) } else { self.plain.hash(key) }
    }

    /// Looks for a key with this hash. If it is not there it is added, unless the table has `bytes_max` already; `None`: never.
    #[inline]
    pub(super) fn find_or_insert(
        &mut self,
        hash: u64,
        key: &[u8],
        bytes_max: Option<usize>,
        keys: &RowKeys,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<Found> {
        if self.prefix_keys.is_some() {
            return self.find_or_insert_prefix_key(key, bytes_max, keys, ctx);
        }
        Ok(match self.plain.find(hash, key) {
            Some(number) => Found::Known(number),
            None if self.has_room(bytes_max) => Found::New(self.plain.insert(hash, key)),
            None => Found::Absent,
        })
    }

    #[inline(never)]
    fn find_or_insert_prefix_key(
        &mut self,
        key: &[u8],
        bytes_max: Option<usize>,
        keys: &RowKeys,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<Found> {
        let insert = self.has_room(bytes_max);
        match &mut self.prefix_keys {
            Some(prefix_keys) => prefix_keys.find_or_insert(key, insert, keys, ctx),
            None => Ok(Found::Absent),
        }
    }

    #[inline]
    fn has_room(&self, bytes_max: Option<usize>) -> bool {
        bytes_max.is_some_and(|most| most == usize::MAX || self.len() == 0 || self.bytes() < most)
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.prefix_keys.as_ref().map_or(self.plain.len(), |prefix_keys| prefix_keys.count as usize)
    }

    /// The keys, if they are plain.
    pub(super) fn keys(&self) -> &BytesColumn {
        self.plain.keys()
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        self.plain.bytes() + self.prefix_keys.as_ref().map_or(0, |prefix_keys| prefix_keys.bytes())
    }

    /// No keys; memory stays only if it is little.
    pub(super) fn clear(&mut self) {
        self.plain.clear();
        if let Some(prefix_keys) = &mut self.prefix_keys {
            **prefix_keys = PrefixKeyTable::default();
        }
    }
}

/// The part of a prefix key that all equal rows share; what a hash goes by.
fn first_part(prefix_key: &[u8]) -> &[u8] {
    split_prefix_key(prefix_key).map_or(&[], |(first, _)| first)
}

/// The bytes of `head` of a key, see [`RowKeys::append`].
pub(super) fn head_of(key: &[u8], are_prefix_keys: bool) -> &[u8] {
    if are_prefix_keys { key.get(PREFIX_KEY_HEADER_BYTES..).unwrap_or(&[]) } else { key }
}

/// A node under which there are several keys.
const SPLIT: u32 = u32::MAX;

/// Different prefix keys.
#[derive(Default)]
pub(super) struct PrefixKeyTable {
    /// Keys of some depth, the depth first.
    nodes: KeyTable,
    /// By node: the only prefix key that has this key, or [`SPLIT`].
    members: Vec<u32>,
    /// By number: the prefix key if it has open values, else nothing.
    prefix_keys: BytesColumn,
    count: u32,
}

impl PrefixKeyTable {
    fn find_or_insert(
        &mut self,
        prefix_key: &[u8],
        insert: bool,
        keys: &RowKeys,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<Found> {
        let (first, open) = split_prefix_key(prefix_key)?;
        let mut closed = open.is_empty();
        let mut key = first.to_vec();
        let mut other_key = Vec::new();
        for depth in 0..DEPTHS.len() {
            if depth > 0 {
                closed = keys.prefix_key_to_depth(prefix_key, depth, ctx, &mut key)?;
            }
            let hash = self.nodes.hash(&key);
            let Some(node) = self.nodes.find(hash, &key) else {
                if !insert {
                    return Ok(Found::Absent);
                }
                let number = self.count;
                self.count += 1;
                self.nodes.insert(hash, &key);
                self.members.push(number);
                self.prefix_keys.push(if closed { &[] } else { prefix_key });
                return Ok(Found::New(number));
            };
            let member = self.members[node as usize];
            if closed {
                return Ok(Found::Known(member));
            }
            if member != SPLIT {
                if self.prefix_keys.get(member as usize) == prefix_key {
                    // The same values, in the same place.
                    return Ok(Found::Known(member));
                }
                // Two with the same key, both open: what is known already goes one level down.
                keys.prefix_key_to_depth(
                    self.prefix_keys.get(member as usize),
                    depth + 1,
                    ctx,
                    &mut other_key,
                )?;
                let hash = self.nodes.hash(&other_key);
                self.nodes.insert(hash, &other_key);
                self.members.push(member);
                self.members[node as usize] = SPLIT;
            }
        }
        Err(internal("a key that has no end"))
    }

    fn bytes(&self) -> usize {
        self.nodes.bytes() + self.prefix_keys.memory_bytes() + self.members.capacity() * size_of::<u32>()
    }
}
