//! A row as bytes, with every column reachable in constant time.
//!
//! ```text
//! u16 header | null bitmap | fixed columns | u16 end offset per variable column | variable data | [external bitmap]
//! ```
//!
//! The header holds the version of the layout (14 bits), whether an external bitmap follows, and whether the row is
//! *spilled*: then a 24-byte reference follows the header and the rest stands among the large values. Fixed columns lie
//! at constant offsets (a NULL takes its place too), in the forms of [`super::field`]. End offsets count from the start
//! of the variable data. A variable value marked in the external bitmap is a 24-byte [`LargeReference`] and the value's
//! first bytes.
//!
//! Columns that stand at a constant place of the record's key are read from there and not repeated in the row; a
//! secondary entry's covered columns are read from its key, from the row locator, or from a body of this same format.
//!
//! Rows hold their columns in the order of `stored_order`, which no instant change alters, and each version of the layout
//! knows the form that a column had then. So an instant change costs a reader nothing: it takes the layout that the row
//! names, where every column that it asks for has its constant place.
//!
//! Invariants:
//! 1. Layout version `v` holds the columns with `since_version <= v`, and those dropped after `v`; a later column is answered
//!    from its instant default without touching the row.
//! 2. End offsets ascend; a NULL variable column is empty.

use access::{MaybeLarge, OutOfLine, Part, PartKind, PredicateResult, TimestampZone};
use catalog::{ColumnDefinition, DroppedColumn, StoredValue};
use types::{Cell, Column, Decimal};

use super::field::{Field, load};
pub use access::{LargeReference, PREFIX_BYTES, REFERENCE_BYTES};

/// Header bits for the version.
const VERSION_MASK: u16 = (1 << 14) - 1;
/// Header bit: an external bitmap ends the row.
const HAS_EXTERNAL: u16 = 1 << 14;
/// Header bit: only a reference to the row follows.
const SPILLED: u16 = 1 << 15;
/// Bytes of the header.
const HEADER_BYTES: usize = 2;
/// Most versions of a layout; the next instant change rebuilds the table. Each open table keeps them all.
pub const VERSIONS_MAX: u32 = 1_023;
const _: () = assert!(VERSIONS_MAX <= VERSION_MASK as u32);
/// Stands for a dropped column where a table ordinal is meant.
const DROPPED: u32 = u32::MAX;

/// A variable value as a row holds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BytesRef<'a> {
    /// The value itself.
    Inline(&'a [u8]),
    /// The value stands among the large values; its first bytes are here.
    External {
        /// Where.
        reference: LargeReference,
        /// Up to [`PREFIX_BYTES`] first bytes.
        prefix: &'a [u8],
    },
}

impl BytesRef<'_> {
    /// Bytes of the whole value.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::External { reference, .. } => reference.length,
        }
    }

    /// Whether the value is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Where a column's bytes are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// Not here: answered from the instant default.
    Missing,
    /// In the key at this offset, all bits inverted if DESC.
    Key { offset: u32, inverted: bool, null_marker: bool },
    /// In the locator (the key of the row that a secondary entry belongs to).
    Locator { offset: u32, inverted: bool },
    /// In the body at this offset.
    Fixed { offset: u32 },
    /// Variable column of this number.
    Variable { ordinal: u32 },
}

/// One column's place and form.
#[derive(Clone, Debug)]
struct Slot {
    field: Field,
    place: Place,
    /// Bytes of the fixed-width form, 0 without one.
    width: u8,
    /// Bit in the null bitmap.
    null_bit: Option<u32>,
    /// For `Place::Missing`.
    instant_default: StoredValue,
}

fn width_of(field: Field) -> u8 {
    field.width().map_or(0, |width| width as u8)
}

/// Where a column can be found without the body.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KeyPlace {
    /// Offset of the value, behind a null marker if there is one.
    pub offset: usize,
    /// The bytes are inverted (DESC).
    pub inverted: bool,
    /// A null marker stands before the value.
    pub null_marker: bool,
    /// In the locator rather than in the key itself.
    pub in_locator: bool,
}

/// The layout of one version of a table's rows, or of the bodies of an index's entries.
#[derive(Clone, Debug)]
pub struct Layout {
    version: u16,
    /// By table ordinal.
    slots: Vec<Slot>,
    /// Table ordinals of the fixed-width columns, in body order.
    fixed: Vec<u32>,
    /// Table ordinals of the variable columns, in body order; [`DROPPED`] for a dropped one.
    variable: Vec<u32>,
    fixed_start: usize,
    /// Where the end offsets begin.
    ends_start: usize,
    /// Where the variable data begins.
    data_start: usize,
}

impl Layout {
    /// The layout of `columns` (all of the table's). `place` says which columns need not be in the body, and
    /// `included` which belong to it at all.
    pub fn new(
        columns: &[ColumnDefinition],
        version: u32,
        place: impl Fn(usize) -> Option<KeyPlace>,
        included: impl Fn(usize) -> bool,
    ) -> Self {
        Self::with_dropped(columns, &[], version, place, included)
    }

    /// As [`Layout::new`], of rows that also hold the columns which were dropped since.
    pub(crate) fn with_dropped(
        columns: &[ColumnDefinition],
        dropped: &[DroppedColumn],
        version: u32,
        place: impl Fn(usize) -> Option<KeyPlace>,
        included: impl Fn(usize) -> bool,
    ) -> Self {
        let in_body = |ordinal: usize, column: &ColumnDefinition| {
            included(ordinal) && column.since_version <= version && place(ordinal).is_none()
        };
        // What lies in the body, in its order: a column and its ordinal.
        let mut stored: Vec<(u32, &ColumnDefinition)> = columns
            .iter()
            .enumerate()
            .filter(|&(ordinal, column)| in_body(ordinal, column))
            .map(|(ordinal, column)| (ordinal as u32, column))
            .collect();
        let still_there = |dropped: &&DroppedColumn| {
            (dropped.column.since_version..=dropped.until_version).contains(&version)
        };
        stored.extend(dropped.iter().filter(still_there).map(|dropped| (DROPPED, &dropped.column)));
        stored.sort_by_key(|(ordinal, column)| (column.stored_order, *ordinal));

        let mut slots: Vec<Slot> = columns
            .iter()
            .enumerate()
            .map(|(ordinal, column)| {
                let at = match place(ordinal).filter(|_| included(ordinal)) {
                    Some(KeyPlace { offset, inverted, in_locator: true, .. }) => {
                        Place::Locator { offset: offset as u32, inverted }
                    }
                    Some(KeyPlace { offset, inverted, null_marker, .. }) => {
                        Place::Key { offset: offset as u32, inverted, null_marker }
                    }
                    None => Place::Missing,
                };
                let missing = at == Place::Missing && !in_body(ordinal, column);
                let instant_default =
                    if missing { column.instant_default.clone() } else { StoredValue::Null };
                let field = Field::of(&column.data_type);
                Slot { field, place: at, width: width_of(field), null_bit: None, instant_default }
            })
            .collect();
        let null_count = stored.iter().filter(|(_, column)| column.form_in(version).1).count();
        let fixed_start = HEADER_BYTES + null_count.div_ceil(8);
        let (mut offset, mut null_bit) = (fixed_start, 0);
        let (mut fixed, mut variable) = (Vec::new(), Vec::new());
        for (ordinal, column) in stored {
            let (data_type, nullable) = column.form_in(version);
            let field = Field::of(data_type);
            let place = if let Some(width) = field.width() {
                offset += width;
                fixed.push(ordinal);
                Place::Fixed { offset: (offset - width) as u32 }
            } else {
                variable.push(ordinal);
                Place::Variable { ordinal: variable.len() as u32 - 1 }
            };
            if let Some(slot) = slots.get_mut(ordinal as usize) {
                slot.field = field;
                slot.width = width_of(field);
                slot.place = place;
                slot.null_bit = nullable.then_some(null_bit);
            }
            null_bit += u32::from(nullable);
        }
        let ends_start = offset;
        let data_start = ends_start + 2 * variable.len();
        Self { version: version as u16, slots, fixed, variable, fixed_start, ends_start, data_start }
    }

    /// Whether the body holds nothing: then it is not written at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data_start == HEADER_BYTES
    }

    /// Bytes before the variable data.
    #[must_use]
    pub fn data_start(&self) -> usize {
        self.data_start
    }

    /// Table ordinals of the variable columns, in body order.
    #[must_use]
    pub fn variable_columns(&self) -> &[u32] {
        &self.variable
    }

    /// Whether column `ordinal` can be read from a record of this layout.
    #[must_use]
    pub fn has(&self, ordinal: usize) -> bool {
        self.slots[ordinal].place != Place::Missing
    }

    /// Whether column `ordinal` stands in the body (and not in the key).
    #[must_use]
    pub fn in_body(&self, ordinal: usize) -> bool {
        matches!(self.slots[ordinal].place, Place::Fixed { .. } | Place::Variable { .. })
    }

    /// Appends the body: `cell(ordinal)` gives the columns, `variable(number)` the variable ones as they are to stand
    /// in the row. `version_bits` is this layout's version.
    pub fn write<'a>(
        &self,
        cell: impl Fn(usize) -> Cell<'a>,
        variable: impl Fn(usize) -> BytesRef<'a>,
        zone: &dyn TimestampZone,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.resize(start + self.fixed_start, 0);
        for &ordinal in &self.fixed {
            let slot = &self.slots[ordinal as usize];
            let value = cell(ordinal as usize);
            slot.field.write_fixed(value, zone, out);
            if matches!(value, Cell::Null) {
                self.mark_null(slot, &mut out[start..]);
            }
        }
        self.write_variable(start, |ordinal| matches!(cell(ordinal), Cell::Null), variable, out);
    }

    /// Appends the body of `old` (same layout, not spilled) with the columns changed that `changed` gives a cell for.
    /// What is not changed is copied as it is, so that a TIMESTAMP keeps its instant whatever the zone.
    pub fn write_changed<'a>(
        &self,
        old: &RowView<'a>,
        changed: impl Fn(usize) -> Option<Cell<'a>>,
        variable: impl Fn(usize) -> BytesRef<'a>,
        zone: &dyn TimestampZone,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(&old.body[..self.ends_start]);
        let mut scratch = Vec::new();
        for (ordinal, slot) in self.slots.iter().enumerate() {
            let (true, Some(value)) = (self.in_body(ordinal), changed(ordinal)) else { continue };
            if let Some(bit) = slot.null_bit {
                out[start + HEADER_BYTES + (bit / 8) as usize] &= !(1 << (bit % 8));
            }
            if value == Cell::Null {
                self.mark_null(slot, &mut out[start..]);
            }
            if let Place::Fixed { offset } = slot.place {
                scratch.clear();
                slot.field.write_fixed(value, zone, &mut scratch);
                let at = start + offset as usize;
                out[at..at + scratch.len()].copy_from_slice(&scratch);
            }
        }
        self.write_variable(
            start,
            |ordinal| match changed(ordinal) {
                Some(value) => value == Cell::Null,
                None => old.is_null(ordinal),
            },
            variable,
            out,
        );
    }

    fn mark_null(&self, slot: &Slot, body: &mut [u8]) {
        if let Some(bit) = slot.null_bit {
            body[HEADER_BYTES + (bit / 8) as usize] |= 1 << (bit % 8);
        }
    }

    /// Appends end offsets, variable data and external bitmap to a body whose first part starts at `start`, and sets
    /// its header.
    fn write_variable<'a>(
        &self,
        start: usize,
        is_null: impl Fn(usize) -> bool,
        variable: impl Fn(usize) -> BytesRef<'a>,
        out: &mut Vec<u8>,
    ) {
        let ends = out.len();
        out.resize(ends + 2 * self.variable.len(), 0);
        let data = out.len();
        let mut external = false;
        for (number, &ordinal) in self.variable.iter().enumerate() {
            let ordinal = ordinal as usize;
            if is_null(ordinal) {
                self.mark_null(&self.slots[ordinal], &mut out[start..]);
            } else {
                match variable(number) {
                    BytesRef::Inline(bytes) => out.extend_from_slice(bytes),
                    BytesRef::External { reference, prefix } => {
                        reference.write(out);
                        out.extend_from_slice(prefix);
                        external = true;
                    }
                }
            }
            let end = (out.len() - data) as u16;
            out[ends + 2 * number..ends + 2 * number + 2].copy_from_slice(&end.to_le_bytes());
        }
        let mut header = self.version;
        if external {
            header |= HAS_EXTERNAL;
            let bitmap = out.len();
            out.resize(bitmap + self.variable.len().div_ceil(8), 0);
            for (number, &ordinal) in self.variable.iter().enumerate() {
                if !is_null(ordinal as usize) && matches!(variable(number), BytesRef::External { .. }) {
                    out[bitmap + number / 8] |= 1 << (number % 8);
                }
            }
        }
        out[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
    }
}

impl Layout {
    /// Whether a body of this layout, not spilled, can be read: everything lies inside it.
    ///
    /// # Errors
    /// What does not.
    pub fn check(&self, body: &[u8]) -> Result<(), &'static str> {
        if body.len() < self.data_start && !self.is_empty() {
            return Err("it is too short");
        }
        if header_of(body) & SPILLED != 0 {
            return Err("it leads to another part that leads on");
        }
        let external = header_of(body) & HAS_EXTERNAL != 0;
        let bitmap_bytes = if external { self.variable.len().div_ceil(8) } else { 0 };
        let Some(data_bytes) = body.len().checked_sub(self.data_start + bitmap_bytes) else {
            return Err("it is too short for what stands outside of it");
        };
        let mut start = 0;
        for number in 0..self.variable.len() {
            let at = self.ends_start + 2 * number;
            let end = usize::from(u16::from_le_bytes([body[at], body[at + 1]]));
            if end < start || end > data_bytes {
                return Err("a value's end lies elsewhere");
            }
            let is_external = external && {
                let bit = body[body.len() - bitmap_bytes + number / 8];
                bit >> (number % 8) & 1 == 1
            };
            if is_external && !(REFERENCE_BYTES..=REFERENCE_BYTES + PREFIX_BYTES).contains(&(end - start)) {
                return Err("a reference to a large value has a wrong length");
            }
            start = end;
        }
        Ok(())
    }
}

/// The layout version of a row's bytes.
#[must_use]
pub fn version_of(body: &[u8]) -> u32 {
    u32::from(header_of(body) & VERSION_MASK)
}

/// Whether two bodies are the same but for the version that they name.
pub(crate) fn says_the_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len()
        && header_of(one) & !VERSION_MASK == header_of(other) & !VERSION_MASK
        && one.get(HEADER_BYTES..) == other.get(HEADER_BYTES..)
}

/// The reference of a spilled row, or `None` if the row is whole.
#[must_use]
pub fn spilled_reference(body: &[u8]) -> Option<LargeReference> {
    if header_of(body) & SPILLED == 0 {
        return None;
    }
    LargeReference::read(&body[HEADER_BYTES..])
}

/// Appends a spilled row of layout `version`.
pub(crate) fn write_spilled(version: u32, reference: LargeReference, out: &mut Vec<u8>) {
    out.extend_from_slice(&(version as u16 | SPILLED).to_le_bytes());
    reference.write(out);
}

fn header_of(body: &[u8]) -> u16 {
    match *body {
        [low, high, ..] => u16::from_le_bytes([low, high]),
        _ => 0,
    }
}

/// A column of a record as a number, see [`RowView::ordered_bits`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OrderedBits {
    /// NULL.
    Null,
    /// A value.
    Bits(u64),
}

/// A row or an index entry as it lies in the store, with its layout. Not spilled.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    layout: &'a Layout,
    key: &'a [u8],
    locator: &'a [u8],
    body: &'a [u8],
}

impl<'a> RowView<'a> {
    /// A record with its layout. A body shorter than its layout (which no writer makes) reads as all NULL and zero.
    #[must_use]
    pub fn new(layout: &'a Layout, key: &'a [u8], locator: &'a [u8], body: &'a [u8]) -> Self {
        debug_assert!(
            body.len() >= layout.data_start || layout.is_empty() || spilled_reference(body).is_some()
        );
        Self { layout, key, locator, body }
    }

    /// The row's locator: the key of its record in the tree of rows.
    #[must_use]
    pub fn locator(&self) -> &'a [u8] {
        self.locator
    }

    /// The body's bytes.
    #[must_use]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Whether column `ordinal` is NULL.
    #[inline]
    #[must_use]
    pub fn is_null(&self, ordinal: usize) -> bool {
        let slot = &self.layout.slots[ordinal];
        if let Some(bit) = slot.null_bit {
            return self
                .body
                .get(HEADER_BYTES + (bit / 8) as usize)
                .is_none_or(|byte| byte >> (bit % 8) & 1 == 1);
        }
        match slot.place {
            Place::Key { offset, inverted, null_marker: true } => {
                let marker = self.key.get(offset as usize - 1).copied().unwrap_or(0);
                (if inverted { !marker } else { marker }) == 0
            }
            Place::Missing => slot.instant_default == StoredValue::Null,
            _ => false,
        }
    }

    /// An integer, or a packed temporal (a TIMESTAMP in `zone`). The column is not NULL.
    #[inline]
    #[must_use]
    pub fn int(&self, ordinal: usize, zone: &dyn TimestampZone) -> i64 {
        let slot = &self.layout.slots[ordinal];
        match slot.place {
            Place::Fixed { offset } => slot.field.read_int(self.fixed(offset, slot.field), zone),
            Place::Missing => {
                match slot.instant_default {
                    StoredValue::Int(micros) if matches!(slot.field, Field::Timestamp { .. }) => {
                        if micros == 0 { 0 } else { zone.local(micros).pack() }
                    }
                    StoredValue::Int(value) => value,
                    _ => 0,
                }
            }
            _ => self.with_key_bytes(slot, |bytes| slot.field.read_int(bytes, zone)),
        }
    }

    /// A FLOAT or DOUBLE. The column is not NULL.
    #[inline]
    #[must_use]
    pub fn double(&self, ordinal: usize) -> f64 {
        let slot = &self.layout.slots[ordinal];
        match slot.place {
            Place::Fixed { offset } => slot.field.read_double(self.fixed(offset, slot.field)),
            Place::Missing => match slot.instant_default {
                StoredValue::Double(value) => value,
                _ => 0.0,
            },
            _ => self.with_key_bytes(slot, |bytes| slot.field.read_double(bytes)),
        }
    }

    /// A DECIMAL. The column is not NULL.
    #[inline]
    #[must_use]
    pub fn decimal(&self, ordinal: usize) -> Decimal {
        let slot = &self.layout.slots[ordinal];
        match slot.place {
            Place::Fixed { offset } => slot.field.read_decimal(self.fixed(offset, slot.field)),
            Place::Missing => match slot.instant_default {
                StoredValue::Decimal(value) => value,
                _ => Decimal::ZERO,
            },
            _ => self.with_key_bytes(slot, |bytes| slot.field.read_decimal(bytes)),
        }
    }

    /// A string or JSON document. The column is not NULL.
    #[inline]
    #[must_use]
    pub fn bytes(&self, ordinal: usize) -> BytesRef<'a> {
        let slot = &self.layout.slots[ordinal];
        match slot.place {
            Place::Variable { ordinal } => self.variable(ordinal as usize),
            Place::Missing => match &slot.instant_default {
                StoredValue::Bytes(bytes) => BytesRef::Inline(bytes),
                _ => BytesRef::Inline(&[]),
            },
            // Strings are never read from keys.
            _ => BytesRef::Inline(&[]),
        }
    }

    /// Variable column `number` of the body.
    #[inline]
    #[must_use]
    pub fn variable(&self, number: usize) -> BytesRef<'a> {
        let end = |number: usize| {
            let at = self.layout.ends_start + 2 * number;
            self.body.get(at..at + 2).map_or(0, |bytes| usize::from(u16::from_le_bytes([bytes[0], bytes[1]])))
        };
        let from = if number == 0 { 0 } else { end(number - 1) };
        let data = self.layout.data_start;
        let bytes = self.body.get(data + from..data + end(number)).unwrap_or(&[]);
        if self.is_external(number)
            && let Some(reference) = LargeReference::read(bytes)
        {
            return BytesRef::External { reference, prefix: &bytes[REFERENCE_BYTES..] };
        }
        BytesRef::Inline(bytes)
    }

    /// Whether any value stands among the large values.
    #[inline]
    #[must_use]
    pub(crate) fn has_external(&self) -> bool {
        header_of(self.body) & HAS_EXTERNAL != 0
    }

    fn is_external(&self, number: usize) -> bool {
        if !self.has_external() {
            return false;
        }
        let bitmap = self.body.len() - self.layout.variable.len().div_ceil(8);
        self.body[bitmap + number / 8] >> (number % 8) & 1 == 1
    }

    /// Whether column `ordinal` stands among the large values.
    #[inline]
    #[must_use]
    pub fn column_is_external(&self, ordinal: usize) -> bool {
        match self.layout.slots[ordinal].place {
            Place::Variable { ordinal } => self.is_external(ordinal as usize),
            _ => false,
        }
    }

    /// Appends column `ordinal` to a vector of its shape. An external value appends only its prefix: callers look at
    /// [`RowView::column_is_external`] first.
    #[inline]
    pub fn push_to(&self, ordinal: usize, zone: &dyn TimestampZone, column: &mut Column) {
        if self.is_null(ordinal) {
            column.push_null();
            return;
        }
        let slot = &self.layout.slots[ordinal];
        if let Field::Bytes { .. } = slot.field {
            match self.bytes(ordinal) {
                BytesRef::Inline(bytes) => column.push_bytes(bytes),
                BytesRef::External { prefix, .. } => column.push_bytes(prefix),
            }
            return;
        }
        // Most columns of most rows are numbers of at most 8 bytes as they are, read with what follows them.
        let (source, offset) = match slot.place {
            Place::Fixed { offset } => (self.body, offset),
            Place::Key { offset, inverted: false, .. } => (self.key, offset),
            Place::Locator { offset, inverted: false } => (self.locator, offset),
            _ => return self.push_computed(ordinal, zone, column),
        };
        if !matches!(slot.width, 1..=8) {
            return self.push_computed(ordinal, zone, column);
        }
        let unused = 64 - 8 * u32::from(slot.width);
        let rest = source.get(offset as usize..).unwrap_or(&[]);
        let bits = match rest.split_first_chunk() {
            Some((bytes, _)) => u64::from_be_bytes(*bytes) >> unused,
            None => load(rest.get(..slot.width.into()).unwrap_or(&[])),
        };
        match slot.field {
            Field::Int { signed: true, shift, .. } => {
                column.push_int(((bits << unused ^ 1 << 63) as i64 >> unused) << shift);
            }
            Field::Int { signed: false, shift, .. } => column.push_int((bits << shift) as i64),
            Field::Float | Field::Double => column.push_double(slot.field.double_of(bits)),
            Field::Decimal { scale, .. } => {
                column.push_decimal(Decimal::from_ordered_bits(bits, slot.width.into(), scale));
            }
            _ => self.push_computed(ordinal, zone, column),
        }
    }

    /// As [`RowView::push_to`], of what is not simply there.
    #[inline(never)]
    fn push_computed(&self, ordinal: usize, zone: &dyn TimestampZone, column: &mut Column) {
        match self.layout.slots[ordinal].field {
            Field::Int { .. } | Field::Timestamp { .. } => column.push_int(self.int(ordinal, zone)),
            Field::Float | Field::Double => column.push_double(self.double(ordinal)),
            Field::Decimal { .. } => column.push_decimal(self.decimal(ordinal)),
            Field::Bytes { .. } => {}
        }
    }

    /// Appends a part of a column, if the row has all of it; else answers where the rest of it lies.
    pub fn push_part(&self, part: &Part, column: &mut Column) -> Option<LargeReference> {
        if matches!(part.kind, PartKind::Null) || self.is_null(part.column) {
            column.push_null();
            return None;
        }
        let value = self.bytes(part.column);
        if let PartKind::Length { times } = part.kind {
            column.push_int(value.len().cast_signed() * i64::from(times));
            return None;
        }
        if let PartKind::Whole { out_of_line } = part.kind {
            match value {
                BytesRef::Inline(bytes) => column.push_bytes_with(|out| {
                    out.push(MaybeLarge::INLINE);
                    out.extend_from_slice(bytes);
                }),
                BytesRef::External { reference, prefix } => match out_of_line {
                    Some(table) => {
                        column.push_bytes_with(|out| OutOfLine { table, reference, prefix }.write(out));
                    }
                    None => return Some(reference),
                },
            }
            return None;
        }
        if let PartKind::Predicate(predicate) = &part.kind {
            match value {
                BytesRef::Inline(bytes) => predicate.evaluate(bytes, bytes.len() as u64).push_to(column),
                BytesRef::External { reference, prefix } => {
                    match predicate.evaluate(prefix, reference.length) {
                        PredicateResult::More => return Some(reference),
                        result => result.push_to(column),
                    }
                }
            }
            return None;
        }
        let (offset, count) = part.kind.range(value.len());
        let here = match value {
            BytesRef::Inline(bytes) => bytes,
            BytesRef::External { prefix, .. } => prefix,
        };
        match (here.get(offset as usize..(offset + count) as usize), value) {
            (Some(bytes), _) => column.push_bytes(bytes),
            (None, BytesRef::External { reference, .. }) => {
                return Some(LargeReference {
                    offset: reference.offset + offset,
                    length: count,
                    ..reference
                });
            }
            // Not reached: the range lies inside the value.
            (None, BytesRef::Inline(_)) => column.push_bytes(&[]),
        }
        None
    }

    /// Whether a part of a column needs bytes that the row does not have.
    #[must_use]
    pub(crate) fn part_is_external(&self, part: &Part) -> bool {
        if !self.column_is_external(part.column) || self.is_null(part.column) {
            return false;
        }
        match self.bytes(part.column) {
            BytesRef::Inline(_) => false,
            BytesRef::External { reference, prefix } => match &part.kind {
                PartKind::Whole { out_of_line } => out_of_line.is_none(),
                PartKind::Predicate(predicate) => {
                    predicate.evaluate(prefix, reference.length) == PredicateResult::More
                }
                kind => {
                    let (offset, count) = kind.range(reference.length);
                    offset + count > prefix.len() as u64
                }
            },
        }
    }

    fn fixed(&self, offset: u32, field: Field) -> &'a [u8] {
        let offset = offset as usize;
        self.body.get(offset..offset + field.width().unwrap_or(0)).unwrap_or(&[0; 8])
    }

    /// The bytes of a column as a number that orders its values: NULL, a value of at most 8 bytes in this form, or `None` if that
    /// is not what the record holds.
    #[inline]
    pub(crate) fn ordered_bits(&self, ordinal: usize, field: Field) -> Option<OrderedBits> {
        let slot = &self.layout.slots[ordinal];
        if slot.field != field {
            return None;
        }
        if self.is_null(ordinal) {
            return Some(OrderedBits::Null);
        }
        Some(OrderedBits::Bits(match slot.place {
            Place::Fixed { offset } => {
                match self.body.get(offset as usize..).and_then(<[u8]>::split_first_chunk) {
                    Some((bytes, _)) => {
                        u64::from_be_bytes(*bytes) >> (64 - 8 * u32::from(slot.width.clamp(1, 8)))
                    }
                    None => load(self.fixed(offset, field)),
                }
            }
            Place::Key { .. } | Place::Locator { .. } => self.with_key_bytes(slot, load),
            Place::Missing | Place::Variable { .. } => return None,
        }))
    }

    fn with_key_bytes<R>(&self, slot: &Slot, read: impl FnOnce(&[u8]) -> R) -> R {
        let (source, offset, inverted) = match slot.place {
            Place::Key { offset, inverted, .. } => (self.key, offset, inverted),
            Place::Locator { offset, inverted } => (self.locator, offset, inverted),
            _ => (self.body, 0, false),
        };
        let width = slot.field.width().unwrap_or(0);
        let bytes = source.get(offset as usize..offset as usize + width).unwrap_or(&[0; 8]);
        if !inverted {
            return read(bytes);
        }
        let mut plain = [0_u8; 32];
        for (to, from) in plain.iter_mut().zip(bytes) {
            *to = !from;
        }
        read(&plain[..width])
    }
}
