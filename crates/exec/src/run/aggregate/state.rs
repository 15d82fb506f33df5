//! States of aggregates, by group: what they have seen so far, how a row changes it, and what it comes to.
//!
//! States of fixed size lie in a vector by group; strings, the parts of GROUP_CONCAT and JSON values are counted in bytes.
//! GROUP_CONCAT keeps no more than its longest result needs, a JSON aggregate fails above `max_allowed_packet`, and what
//! DISTINCT has not seen for lack of memory waits on disk for the end of the input ([`State::finish_spilled`]).

use plan::Expr;
use plan::logical::AggregateFunction;
use plan::physical::{Aggregate, Node, PhysicalPlan};
use types::charset::Charset;
use types::json::Json;
use types::vector::BytesColumn;
use types::{Batch, Cell, CollationId, Column, DataType, Decimal, Physical, Value};

use super::values::{
    OwnedCell, Variance, add_decimal, add_to_variance, check_packet, combine_bytes, compare, emit_sum,
    give_variance, number, push_json,
};
use crate::context::ExecContext;
use crate::error::{coded, internal};
use crate::expr::SqlResult;
use crate::key::append_key;
use crate::run::row_keys::{compare_large, head_of};
use crate::run::{DistinctKeys, RowKeys};

/// A member of a JSON object in the making.
type Member = (Vec<u8>, Json);

/// A pending part of GROUP_CONCAT with its order.
type ConcatPart = (Vec<u8>, Vec<u8>);

/// Bytes a part takes beside its own.
const CONCAT_PART_BYTES: usize = size_of::<ConcatPart>() + 16;
/// Bytes a JSON value takes beside its text.
const JSON_BYTES: usize = size_of::<Json>() + 16;
/// Fewest bytes a JSON value has in the result.
const JSON_TEXT_BYTES_MIN: usize = 3;

/// The GROUP_CONCAT of one group.
#[derive(Clone, Debug, Default)]
struct GroupConcat {
    /// Without an order: the result so far.
    text: Vec<u8>,
    /// With an order: the parts, none behind the place where the result is cut.
    parts: Vec<ConcatPart>,
    /// Bytes of the parts' texts and separators.
    part_bytes: usize,
    /// Rows in `text`.
    row_count: u64,
    /// `text` is longer than the result may be.
    is_cut: bool,
}

impl GroupConcat {
    /// Appends a text where it comes. At most one byte more than `limit` is kept: it shows that the result is cut.
    fn push_text(&mut self, text: &[u8], separator: &[u8], limit: usize) {
        if self.is_cut {
            return;
        }
        if self.row_count > 0 {
            self.text.extend_from_slice(separator);
        }
        self.row_count += 1;
        let room = (limit + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(&text[..text.len().min(room)]);
        self.is_cut = self.text.len() > limit;
    }

    /// Adds a part with its place in the order.
    fn push_part(&mut self, order: Vec<u8>, mut text: Vec<u8>, separator: &[u8], limit: usize) {
        text.truncate(limit + 1);
        text.shrink_to_fit();
        self.part_bytes += text.len() + separator.len();
        self.parts.push((order, text));
        if self.part_bytes > 2 * limit + 4096 {
            self.trim(separator, limit);
        }
    }

    /// Drops the parts behind the cut.
    fn trim(&mut self, separator: &[u8], limit: usize) {
        self.parts.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut bytes = 0;
        let mut count = 0;
        for (_, text) in &self.parts {
            bytes += text.len() + separator.len();
            count += 1;
            if bytes - separator.len() > limit {
                break;
            }
        }
        self.parts.truncate(count);
        self.part_bytes = bytes;
    }

    fn bytes(&self) -> usize {
        let orders = self.parts.first().map_or(0, |(order, _)| order.len());
        self.text.capacity()
            + self.part_bytes
            + self.parts.capacity() * CONCAT_PART_BYTES
            + self.parts.len() * orders
    }
}

/// JSON values of one group, and the fewest bytes they have as text.
type Items<T> = (Vec<T>, usize);

enum Kind {
    Count(Vec<i64>),
    /// Sum of integers, and how many.
    Integers(Vec<(i128, u64)>),
    Decimals(Vec<(Decimal, u64)>),
    Doubles(Vec<(f64, u64)>),
    Extreme(Vec<OwnedCell>),
    First(Vec<OwnedCell>),
    Bits(Vec<u64>),
    /// Bits of byte strings; nothing before the first.
    ByteBits(Vec<Option<Vec<u8>>>),
    /// Welford: count, mean, sum of squared distances.
    Variance(Vec<Variance>),
    Concat(Vec<Option<GroupConcat>>),
    JsonArray(Vec<Option<Items<Json>>>),
    JsonObject(Vec<Option<Items<Member>>>),
    /// GROUPING, known with the groups themselves: no row changes it.
    Grouping(Vec<i64>),
}

/// What the states of an aggregate have in common, over all passes.
pub(super) struct Shared {
    /// Keys of the arguments.
    keys: RowKeys,
    /// The first argument's values may be references to values stored out of line.
    is_reference: bool,
}

impl Shared {
    /// For an aggregate over the rows of `input`.
    pub(super) fn new(plan: &PhysicalPlan, input: &Node, call: &Aggregate) -> SqlResult<Shared> {
        let args = call.args.iter().map(|arg| (arg.data_type.clone(), plan.is_reference(input, arg)));
        let is_reference = call.args.first().is_some_and(|arg| plan.is_reference(input, arg));
        Ok(Shared { keys: RowKeys::new(args, plan)?, is_reference })
    }
}

/// The states of one aggregate, by group.
pub(super) struct State {
    kind: Kind,
    /// DISTINCT: keys of what was seen, each behind its group's number (big-endian).
    seen: Option<DistinctKeys>,
    key: Vec<u8>,
    /// Rows counted so far: the order of arrival of DISTINCT parts.
    arrival: u64,
    /// Bytes of strings, parts and JSON values.
    heap_bytes: usize,
    /// Rows come from the spilled ones.
    settling: bool,
}

impl State {
    pub(super) fn new(call: &Aggregate, shared: &Shared) -> State {
        use AggregateFunction as A;
        let kind = match call.function {
            A::CountStar | A::Count => Kind::Count(Vec::new()),
            A::Sum | A::Avg => match call.args[0].data_type.physical() {
                Physical::Int => Kind::Integers(Vec::new()),
                Physical::Decimal => Kind::Decimals(Vec::new()),
                _ => Kind::Doubles(Vec::new()),
            },
            A::Min | A::Max => Kind::Extreme(Vec::new()),
            A::AnyValue => Kind::First(Vec::new()),
            A::BitAnd | A::BitOr | A::BitXor if call.data_type.is_string() => Kind::ByteBits(Vec::new()),
            A::BitAnd | A::BitOr | A::BitXor => Kind::Bits(Vec::new()),
            A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => Kind::Variance(Vec::new()),
            A::GroupConcat => Kind::Concat(Vec::new()),
            A::JsonArrayAgg => Kind::JsonArray(Vec::new()),
            A::JsonObjectAgg => Kind::JsonObject(Vec::new()),
            A::Grouping => Kind::Grouping(Vec::new()),
        };
        // MIN and MAX of different values are MIN and MAX of all.
        let distinct = call.distinct && !matches!(kind, Kind::Extreme(_));
        let shapes = call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr));
        // The last column of a spilled row is its arrival.
        let shapes = shapes.map(|expr| expr.data_type.physical()).chain([Physical::Int]);
        let seen = distinct.then(|| DistinctKeys::new(shapes, &shared.keys));
        State { kind, seen, key: Vec::new(), arrival: 0, heap_bytes: 0, settling: false }
    }

    /// Bytes of memory it takes.
    pub(super) fn bytes(&self) -> usize {
        let states = match &self.kind {
            Kind::Count(states) | Kind::Grouping(states) => states.capacity() * size_of::<i64>(),
            Kind::Integers(states) => states.capacity() * size_of::<(i128, u64)>(),
            Kind::Decimals(states) => states.capacity() * size_of::<(Decimal, u64)>(),
            Kind::Doubles(states) => states.capacity() * size_of::<(f64, u64)>(),
            Kind::Extreme(states) | Kind::First(states) => states.capacity() * size_of::<OwnedCell>(),
            Kind::Bits(states) => states.capacity() * size_of::<u64>(),
            Kind::ByteBits(states) => states.capacity() * size_of::<Option<Vec<u8>>>(),
            Kind::Variance(states) => states.capacity() * size_of::<(u64, f64, f64)>(),
            Kind::Concat(states) => states.capacity() * size_of::<Option<GroupConcat>>(),
            Kind::JsonArray(states) => states.capacity() * size_of::<Option<Items<Json>>>(),
            Kind::JsonObject(states) => states.capacity() * size_of::<Option<Items<Member>>>(),
        };
        states + self.heap_bytes + self.seen.as_ref().map_or(0, DistinctKeys::bytes)
    }

    /// Makes room for this many groups.
    pub(super) fn resize(&mut self, groups: usize) {
        match &mut self.kind {
            Kind::Count(states) | Kind::Grouping(states) => states.resize(groups, 0),
            Kind::Integers(states) => states.resize(groups, (0, 0)),
            Kind::Decimals(states) => states.resize(groups, (Decimal::ZERO, 0)),
            Kind::Doubles(states) => states.resize(groups, (0.0, 0)),
            Kind::Extreme(states) | Kind::First(states) => states.resize(groups, OwnedCell::Nothing),
            // BIT_AND over nothing has all bits.
            Kind::Bits(states) => states.resize(groups, 0),
            Kind::ByteBits(states) => states.resize(groups, None),
            Kind::Variance(states) => states.resize(groups, (0, 0.0, 0.0)),
            Kind::Concat(states) => states.resize(groups, None),
            Kind::JsonArray(states) => states.resize(groups, None),
            Kind::JsonObject(states) => states.resize(groups, None),
        }
    }

    /// Forgets the first `groups` groups: they were given, and what comes is of the others. Nothing is DISTINCT.
    pub(super) fn drop_groups(&mut self, groups: usize) {
        fn drop_first<T>(states: &mut Vec<T>, groups: usize) {
            states.drain(..groups.min(states.len()));
        }
        match &mut self.kind {
            Kind::Count(states) | Kind::Grouping(states) => drop_first(states, groups),
            Kind::Integers(states) => drop_first(states, groups),
            Kind::Decimals(states) => drop_first(states, groups),
            Kind::Doubles(states) => drop_first(states, groups),
            Kind::Extreme(states) | Kind::First(states) => drop_first(states, groups),
            Kind::Bits(states) => drop_first(states, groups),
            Kind::ByteBits(states) => drop_first(states, groups),
            Kind::Variance(states) => drop_first(states, groups),
            Kind::Concat(states) => drop_first(states, groups),
            Kind::JsonArray(states) => drop_first(states, groups),
            Kind::JsonObject(states) => drop_first(states, groups),
        }
    }

    /// Whether the row counts: arguments that are NULL do not, nor those seen before under DISTINCT. `limit`: bytes of
    /// memory for what was seen, if rows may be spilled.
    fn counts(
        &mut self,
        (call, shared): (&Aggregate, &Shared),
        group: u32,
        args: &[Column],
        row: usize,
        limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<bool> {
        use AggregateFunction as A;
        let width = call.args.len();
        let keeps_null =
            matches!(call.function, A::AnyValue | A::JsonArrayAgg | A::JsonObjectAgg | A::CountStar);
        if !keeps_null && args[..width].iter().any(|arg| arg.is_null(row)) {
            return Ok(false);
        }
        self.arrival += 1;
        let Some(seen) = &mut self.seen else { return Ok(true) };
        self.key.clear();
        shared.keys.append(&group.to_be_bytes(), &args[..width], row, ctx, &mut self.key)?;
        #[allow(clippy::cast_possible_wrap, reason = "rows are fewer than 2^63")]
        let arrival = Cell::Int(self.arrival as i64);
        let cells = args.iter().map(|arg| arg.cell(row)).chain([arrival]);
        seen.is_new(&self.key, cells, &shared.keys, limit, ctx)
    }

    /// GROUPING of a group of ROLLUP by its first `level` keys; nothing for other aggregates.
    pub(super) fn set_level(&mut self, call: &Aggregate, group: usize, level: usize) {
        let Kind::Grouping(states) = &mut self.kind else { return };
        let is_summed = |arg: &Expr| match arg.as_literal() {
            Some(Value::Int(key)) => i64::from(usize::try_from(*key).is_ok_and(|key| key >= level)),
            _ => 0,
        };
        states[group] = call.args.iter().fold(0, |bits, arg| bits << 1 | is_summed(arg));
    }

    /// Rows of `args`, each of its group. `seen_limit`: bytes of memory for what DISTINCT has seen.
    pub(super) fn update(
        &mut self,
        (call, shared): (&Aggregate, &Shared),
        groups: &[u32],
        args: &[Column],
        seen_limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        // The common cases without DISTINCT and NULL go straight through the column.
        if self.seen.is_none() {
            match &mut self.kind {
                Kind::Count(states) if args.is_empty() || !args[0].nulls.any() && args.len() == 1 => {
                    for &group in groups {
                        states[group as usize] += 1;
                    }
                    return Ok(());
                }
                Kind::Integers(states) if !args[0].nulls.any() => {
                    let unsigned = call.args[0].data_type.unsigned;
                    for (&group, &value) in groups.iter().zip(args[0].ints()) {
                        let state = &mut states[group as usize];
                        state.0 += if unsigned { i128::from(value as u64) } else { i128::from(value) };
                        state.1 += 1;
                    }
                    return Ok(());
                }
                Kind::Decimals(states) if !args[0].nulls.any() => {
                    for (&group, value) in groups.iter().zip(args[0].decimals()) {
                        add_decimal(&mut states[group as usize], value);
                    }
                    return Ok(());
                }
                Kind::Doubles(states) if !args[0].nulls.any() && args[0].physical() == Physical::Double => {
                    for (&group, value) in groups.iter().zip(args[0].doubles()) {
                        let (sum, count) = &mut states[group as usize];
                        *sum += value;
                        *count += 1;
                    }
                    return Ok(());
                }
                Kind::Grouping(_) => return Ok(()),
                _ => {}
            }
        }
        for (row, &group) in groups.iter().enumerate() {
            if self.counts((call, shared), group, args, row, seen_limit, ctx)? {
                self.apply((call, shared), group as usize, args, row, self.arrival, ctx)?;
            }
        }
        Ok(())
    }

    /// The input has ended: reads the spilled rows of DISTINCT.
    pub(super) fn finish_spilled(
        &mut self,
        (call, shared): (&Aggregate, &Shared),
        seen_limit: usize,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        let Some(mut seen) = self.seen.take() else { return Ok(()) };
        self.settling = true;
        let width = call.args.len() + call.order_by.len();
        let mut batch = Batch::new(seen.shapes());
        let mut keys = BytesColumn::new();
        while seen.next_spilled(&mut batch, &mut keys)? {
            for (row, key) in keys.iter().enumerate() {
                let cells = batch.columns.iter().map(|column| column.cell(row));
                if seen.is_new(key, cells, &shared.keys, seen_limit, ctx)? {
                    let group = u32::from_be_bytes(first(head_of(key, shared.keys.are_prefix_keys()))?);
                    let (args, arrival) = batch.columns.split_at(width);
                    let arrival = arrival[0].ints()[row] as u64;
                    self.apply((call, shared), group as usize, args, row, arrival, ctx)?;
                }
            }
            batch.clear();
            keys.clear();
            ctx.check()?;
        }
        self.settling = false;
        self.seen = Some(seen);
        Ok(())
    }

    /// A row that counts.
    fn apply(
        &mut self,
        (call, shared): (&Aggregate, &Shared),
        at: usize,
        args: &[Column],
        row: usize,
        arrival: u64,
        ctx: &ExecContext<'_>,
    ) -> SqlResult<()> {
        use AggregateFunction as A;
        match &mut self.kind {
            Kind::Grouping(_) => {}
            Kind::Count(states) => states[at] += 1,
            Kind::Integers(states) => {
                let value = args[0].ints()[row];
                let value = if call.args[0].data_type.unsigned {
                    i128::from(value as u64)
                } else {
                    i128::from(value)
                };
                states[at].0 += value;
                states[at].1 += 1;
            }
            Kind::Decimals(states) => {
                add_decimal(&mut states[at], &args[0].decimals()[row]);
            }
            Kind::Doubles(states) => {
                states[at].0 += number(&args[0], row, &call.args[0].data_type);
                states[at].1 += 1;
            }
            Kind::Extreme(states) => {
                let cell = args[0].cell(row);
                let cell_slot = &mut states[at];
                let better = match &*cell_slot {
                    OwnedCell::Nothing => true,
                    cell_slot => {
                        let data_type = &call.args[0].data_type;
                        let order = match (cell, cell_slot.cell()) {
                            (Cell::Bytes(a), Cell::Bytes(b)) if shared.is_reference => {
                                compare_large(a, b, data_type, shared.keys.tables(), ctx)?
                            }
                            (a, b) => compare(a, b, data_type),
                        };
                        if call.function == A::Min { order.is_lt() } else { order.is_gt() }
                    }
                };
                if better {
                    self.heap_bytes = self.heap_bytes + cell_bytes(cell) - cell_bytes(cell_slot.cell());
                    cell_slot.set(cell);
                }
            }
            Kind::First(states) => {
                if matches!(states[at], OwnedCell::Nothing) {
                    self.heap_bytes += cell_bytes(args[0].cell(row));
                    states[at].set(args[0].cell(row));
                }
            }
            Kind::Bits(states) => {
                let value = match args[0].cell(row) {
                    Cell::Int(value) => value as u64,
                    _ => number(&args[0], row, &call.args[0].data_type) as u64,
                };
                match call.function {
                    // Kept inverted, so that the start value is 0 for all three.
                    A::BitAnd => states[at] |= !value,
                    A::BitOr => states[at] |= value,
                    _ => states[at] ^= value,
                }
            }
            Kind::ByteBits(states) => {
                let Cell::Bytes(bytes) = args[0].cell(row) else { return Err(internal("bits of no bytes")) };
                match &mut states[at] {
                    None => {
                        self.heap_bytes += bytes.len();
                        states[at] = Some(bytes.to_vec());
                    }
                    Some(bits) => combine_bytes(call.function, bits, bytes)?,
                }
            }
            Kind::Variance(states) => {
                let value = number(&args[0], row, &call.args[0].data_type);
                add_to_variance(&mut states[at], value);
            }
            Kind::Concat(states) => {
                let width = call.args.len();
                let limit = concat_bytes_max(ctx);
                let mut text = Vec::new();
                for (arg, expr) in args[..width].iter().zip(&call.args) {
                    push_part_text(arg.cell(row), &expr.data_type, call.data_type.collation, &mut text);
                }
                let parts = states[at].get_or_insert_default();
                let before = parts.bytes();
                if call.order_by.is_empty() && self.seen.is_none() && !self.settling {
                    parts.push_text(&text, &call.separator, limit);
                } else {
                    let mut order = Vec::new();
                    for (arg, (expr, descending)) in args[width..].iter().zip(&call.order_by) {
                        append_key(arg.cell(row), &expr.data_type, *descending, &mut order);
                    }
                    order.extend_from_slice(&arrival.to_be_bytes());
                    parts.push_part(order, text, &call.separator, limit);
                }
                self.heap_bytes = self.heap_bytes + parts.bytes() - before;
            }
            Kind::JsonArray(states) => {
                let value = types::convert::json_value(args[0].cell(row), &call.args[0].data_type);
                let (items, bytes) = states[at].get_or_insert_default();
                items.push(value);
                let added = cell_bytes(args[0].cell(row));
                *bytes += added + JSON_TEXT_BYTES_MIN;
                check_packet(*bytes, "json_arrayagg", ctx)?;
                self.heap_bytes += added + JSON_BYTES;
            }
            Kind::JsonObject(states) => {
                if args[0].is_null(row) {
                    return Err(coded(3158, "JSON documents may not contain NULL member names."));
                }
                let mut name = Vec::new();
                types::convert::write_text(args[0].cell(row), &call.args[0].data_type, &mut name);
                let value = types::convert::json_value(args[1].cell(row), &call.args[1].data_type);
                self.heap_bytes += name.len() + cell_bytes(args[1].cell(row)) + JSON_BYTES;
                // A later member replaces an earlier one: only the member that stays counts against the limit.
                let (members, bytes) = states[at].get_or_insert_default();
                members.push((name, value));
                *bytes += 1;
                if bytes.is_power_of_two() && *bytes >= 1024 {
                    let all = std::mem::take(members);
                    if let Json::Object(all) = Json::object(all) {
                        *members = all;
                    }
                    let text = members.iter().map(|(name, _)| name.len() + JSON_TEXT_BYTES_MIN).sum();
                    check_packet(text, "json_objectagg", ctx)?;
                }
            }
        }
        Ok(())
    }

    /// Appends the result of a group to `out`.
    pub(super) fn emit(
        &mut self,
        call: &Aggregate,
        group: usize,
        out: &mut Column,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        use AggregateFunction as A;
        match &mut self.kind {
            Kind::Count(states) | Kind::Grouping(states) => out.push_int(states[group]),
            Kind::Integers(states) => {
                let (sum, count) = states[group];
                emit_sum(call, Decimal::from_i128(sum), count, out);
            }
            Kind::Decimals(states) => {
                let (sum, count) = states[group];
                emit_sum(call, sum, count, out);
            }
            Kind::Doubles(states) => match states[group] {
                (_, 0) => out.push_null(),
                (sum, count) if call.function == A::Avg => out.push_double(sum / count as f64),
                (sum, _) => out.push_double(sum),
            },
            Kind::Extreme(states) | Kind::First(states) => out.push_cell(states[group].cell()),
            Kind::Bits(states) => {
                let bits = states[group];
                out.push_int(if call.function == A::BitAnd { !bits } else { bits } as i64);
            }
            Kind::ByteBits(states) => match &states[group] {
                Some(bytes) => out.push_bytes(bytes),
                // Over no rows: what changes nothing, as long as the longest value.
                None => {
                    let neutral = if call.function == A::BitAnd { 0xFF } else { 0 };
                    out.push_bytes(&vec![neutral; call.data_type.length as usize]);
                }
            },
            Kind::Variance(states) => give_variance(call.function, states[group], out),
            Kind::Concat(states) => match states[group].take() {
                None => out.push_null(),
                Some(mut all) => {
                    let limit = concat_bytes_max(ctx);
                    if !all.parts.is_empty() {
                        all.parts.sort_by(|(a, _), (b, _)| a.cmp(b));
                        for (_, part) in std::mem::take(&mut all.parts) {
                            all.push_text(&part, &call.separator, limit);
                        }
                    }
                    if all.is_cut {
                        let charset = call.data_type.collation.charset();
                        let mut end = limit;
                        while end > 0 && charset.validate(&all.text[..end]).is_err() {
                            end -= 1;
                        }
                        all.text.truncate(end);
                        let row = all.row_count;
                        ctx.eval.warn(service::error::ER_CUT_VALUE_GROUP_CONCAT, &[&row, &"group_concat()"]);
                    }
                    out.push_bytes(&all.text);
                }
            },
            Kind::JsonArray(states) => match states[group].take() {
                None => out.push_null(),
                Some((items, _)) => push_json(&Json::Array(items), out),
            },
            Kind::JsonObject(states) => match states[group].take() {
                None => out.push_null(),
                Some((members, _)) => push_json(&Json::object(members), out),
            },
        }
        Ok(())
    }
}

/// `group_concat_max_len`, but no more than a packet holds.
fn concat_bytes_max(ctx: &ExecContext<'_>) -> usize {
    ctx.limits.group_concat_bytes.min(ctx.eval.settings.max_allowed_packet)
}

/// Bytes of a string; nothing for what lies in the state itself.
/// Appends a part of what GROUP_CONCAT gives. Texts are in the character set of the result, others are written in ASCII.
fn push_part_text(cell: Cell<'_>, data_type: &DataType, result: CollationId, out: &mut Vec<u8>) {
    let charset = result.charset();
    if charset.extends_ascii() || data_type.is_string() {
        return types::convert::write_text(cell, data_type, out);
    }
    let own = if data_type.members.is_some() { data_type.collation.charset() } else { Charset::Utf8mb4 };
    let mut text = Vec::new();
    types::convert::write_text(cell, data_type, &mut text);
    types::charset::convert_lossy(own, &text, charset, out);
}

fn cell_bytes(cell: Cell<'_>) -> usize {
    if let Cell::Bytes(bytes) = cell { bytes.len() } else { 0 }
}

/// The group of a key of what was seen.
fn first(key: &[u8]) -> SqlResult<[u8; 4]> {
    key.first_chunk().copied().ok_or_else(|| internal("a key without its group"))
}
