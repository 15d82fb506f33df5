//! GROUP BY: a hash table from key bytes to group numbers, and per aggregate a column of states.

use std::sync::Arc;

use hashbrown::{HashSet, HashTable};
use plan::Expr;
use plan::logical::AggregateFunction;
use plan::physical::{Aggregate, Node, PhysicalPlan};
use types::json::Json;
use types::vector::{BATCH_ROWS_MAX, BytesColumn};
use types::{Batch, Cell, Column, DataType, Decimal, Physical, TypeKind};

use super::kept::columns;
use super::{Operator, Source};
use crate::context::ExecContext;
use crate::expr::{Program, Scratch, SqlResult};
use crate::key::append_key;
use crate::prepare::Programs;

pub(super) struct GroupBy<'p> {
    input: Source<'p>,
    calls: &'p [Aggregate],
    key_program: Option<(Scratch, Arc<Program>)>,
    key_types: Vec<DataType>,
    keys: Vec<Column>,
    arg_program: Option<(Scratch, Arc<Program>)>,
    args: Vec<Column>,
    rollup: bool,

    table: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
    key_bytes: BytesColumn,
    /// Key values of each group; for ROLLUP, where the key is a sum, NULL.
    key_values: Vec<Column>,
    states: Vec<State>,
    group_count: usize,
    order: Vec<u32>,
    done: bool,
    next: usize,
}

impl<'p> GroupBy<'p> {
    pub(super) fn new(
        plan: &'p PhysicalPlan,
        input: &'p Node,
        keys: &'p [Expr],
        calls: &'p [Aggregate],
        rollup: bool,
        programs: &mut Programs<'_>,
    ) -> SqlResult<GroupBy<'p>> {
        let input = Source::new(plan, input, programs)?;
        let mut compile = |exprs: &[Expr]| -> SqlResult<Option<(Scratch, Arc<Program>)>> {
            if exprs.is_empty() {
                return Ok(None);
            }
            let program = programs.take(exprs)?;
            Ok(Some((program.scratch(), program)))
        };
        let key_program = compile(keys)?;
        let args: Vec<Expr> = calls
            .iter()
            .flat_map(|call| call.args.iter().chain(call.order_by.iter().map(|(expr, _)| expr)))
            .cloned()
            .collect();
        let arg_program = compile(&args)?;
        let key_types: Vec<DataType> = keys.iter().map(|key| key.data_type.clone()).collect();
        Ok(GroupBy {
            input,
            calls,
            key_program,
            keys: columns(key_types.iter().map(DataType::physical)),
            key_values: columns(key_types.iter().map(DataType::physical)),
            key_types,
            arg_program,
            args: columns(args.iter().map(|arg| arg.data_type.physical())),
            rollup,
            table: HashTable::new(),
            hasher: foldhash::fast::FixedState::default(),
            key_bytes: BytesColumn::default(),
            states: Vec::new(),
            group_count: 0,
            order: Vec::new(),
            done: false,
            next: 0,
        })
    }

    /// The group of the first `part_count` keys of row `row`, the other keys NULL (ROLLUP).
    fn group(&mut self, row: usize, part_count: usize, key: &mut Vec<u8>) -> u32 {
        use std::hash::BuildHasher;
        key.clear();
        if self.rollup {
            key.push(part_count as u8);
        }
        for (column, data_type) in self.keys.iter().zip(&self.key_types).take(part_count) {
            append_key(column.cell(row), data_type, false, key);
        }
        let hash = self.hasher.hash_one(&key[..]);
        let (key_bytes, hasher) = (&self.key_bytes, &self.hasher);
        if let Some(&group) = self.table.find(hash, |&group| key_bytes.get(group as usize) == &key[..]) {
            return group;
        }
        let group = self.group_count as u32;
        self.group_count += 1;
        self.table.insert_unique(hash, group, |&group| hasher.hash_one(key_bytes.get(group as usize)));
        self.key_bytes.push(key);
        for (number, (target, column)) in self.key_values.iter_mut().zip(&self.keys).enumerate() {
            if number < part_count {
                target.push_cell(column.cell(row));
            } else {
                target.push_null();
            }
        }
        group
    }

    fn fill(&mut self, ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.states = self.calls.iter().map(State::new).collect();
        self.input.start(ctx)?;
        let key_count = self.key_types.len();
        let mut key = Vec::new();
        let mut groups: Vec<u32> = Vec::new();
        while self.input.next(ctx)? {
            let rows = self.input.batch.row_count;
            if let Some((scratch, program)) = &mut self.key_program {
                program.eval(scratch, &self.input.batch, &mut ctx.eval, &mut self.keys)?;
            }
            if let Some((scratch, program)) = &mut self.arg_program {
                program.eval(scratch, &self.input.batch, &mut ctx.eval, &mut self.args)?;
            }
            let levels = if self.rollup { 0..=key_count } else { key_count..=key_count };
            for level in levels {
                groups.clear();
                if key_count == 0 && !self.rollup {
                    self.group_count = 1;
                    groups.resize(rows, 0);
                } else {
                    for row in 0..rows {
                        let group = self.group(row, level, &mut key);
                        groups.push(group);
                    }
                }
                let mut start = 0;
                for (state, call) in self.states.iter_mut().zip(self.calls) {
                    let width = call.args.len() + call.order_by.len();
                    state.resize(self.group_count);
                    state.update(call, &groups, &self.args[start..start + width], ctx)?;
                    start += width;
                }
            }
            ctx.check()?;
        }
        // Without GROUP BY there is a row even over nothing; with ROLLUP only over something.
        if key_count == 0 {
            self.group_count = 1;
        }
        for state in &mut self.states {
            state.resize(self.group_count);
        }
        self.order = (0..self.group_count as u32).collect();
        if self.rollup {
            self.order_rollup();
        }
        Ok(())
    }

    /// Groups by their keys, each sum after what it sums.
    fn order_rollup(&mut self) {
        let mut sort_keys = BytesColumn::default();
        let mut key = Vec::new();
        for group in 0..self.group_count {
            key.clear();
            let level = usize::from(self.key_bytes.get(group)[0]);
            for (number, (column, data_type)) in self.key_values.iter().zip(&self.key_types).enumerate() {
                if number < level {
                    append_key(column.cell(group), data_type, false, &mut key);
                } else {
                    key.push(0xff);
                }
            }
            sort_keys.push(&key);
        }
        self.order.sort_by(|&a, &b| sort_keys.get(a as usize).cmp(sort_keys.get(b as usize)));
    }
}

impl Operator for GroupBy<'_> {
    fn start(&mut self, _ctx: &mut ExecContext<'_>) -> SqlResult<()> {
        self.done = false;
        self.next = 0;
        self.group_count = 0;
        self.table.clear();
        self.key_bytes.clear();
        self.key_values.iter_mut().for_each(Column::clear);
        self.states.clear();
        for (scratch, _) in self.key_program.iter_mut().chain(&mut self.arg_program) {
            scratch.reset();
        }
        Ok(())
    }

    fn next(&mut self, ctx: &mut ExecContext<'_>, out: &mut Batch) -> SqlResult<bool> {
        if !std::mem::replace(&mut self.done, true) {
            self.fill(ctx)?;
        }
        let end = (self.next + BATCH_ROWS_MAX).min(self.order.len());
        let width = self.key_types.len();
        for &group in &self.order[self.next..end] {
            let group = group as usize;
            for (target, column) in out.columns.iter_mut().zip(&self.key_values) {
                target.push_cell(column.cell(group));
            }
            for ((state, call), target) in
                self.states.iter_mut().zip(self.calls).zip(&mut out.columns[width..])
            {
                state.give(call, group, target, ctx)?;
            }
            out.row_count += 1;
        }
        self.next = end;
        Ok(out.row_count > 0)
    }
}

/// One value kept by itself.
#[derive(Clone, Debug, Default)]
enum Held {
    #[default]
    Nothing,
    Null,
    Int(i64),
    Double(f64),
    Decimal(Decimal),
    Bytes(Vec<u8>),
}

impl Held {
    fn set(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Held::Bytes(bytes), Cell::Bytes(new)) => {
                bytes.clear();
                bytes.extend_from_slice(new);
            }
            (held, cell) => {
                *held = match cell {
                    Cell::Null => Held::Null,
                    Cell::Int(value) => Held::Int(value),
                    Cell::Double(value) => Held::Double(value),
                    Cell::Decimal(value) => Held::Decimal(*value),
                    Cell::Bytes(value) => Held::Bytes(value.to_vec()),
                };
            }
        }
    }

    fn cell(&self) -> Cell<'_> {
        match self {
            Held::Nothing | Held::Null => Cell::Null,
            Held::Int(value) => Cell::Int(*value),
            Held::Double(value) => Cell::Double(*value),
            Held::Decimal(value) => Cell::Decimal(value),
            Held::Bytes(value) => Cell::Bytes(value),
        }
    }
}

/// Members of a JSON object in the making.
type Members = Vec<(Vec<u8>, Json)>;

/// A pending part of GROUP_CONCAT with its order.
type Part = (Vec<u8>, Vec<u8>);

enum Kind {
    Count(Vec<i64>),
    /// Sum of integers, and how many.
    Integers(Vec<(i128, u64)>),
    Decimals(Vec<(Decimal, u64)>),
    Doubles(Vec<(f64, u64)>),
    Extreme(Vec<Held>),
    First(Vec<Held>),
    Bits(Vec<u64>),
    /// Welford: count, mean, sum of squared distances.
    Variance(Vec<(u64, f64, f64)>),
    Concat(Vec<Option<Vec<Part>>>),
    JsonArray(Vec<Option<Vec<Json>>>),
    JsonObject(Vec<Option<Members>>),
}

/// The states of one aggregate, by group.
struct State {
    kind: Kind,
    /// DISTINCT: group and key of what was seen.
    seen: Option<HashSet<Box<[u8]>, foldhash::fast::FixedState>>,
    key: Vec<u8>,
}

impl State {
    fn new(call: &Aggregate) -> State {
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
            A::BitAnd | A::BitOr | A::BitXor => Kind::Bits(Vec::new()),
            A::StdPop | A::StdSamp | A::VarPop | A::VarSamp => Kind::Variance(Vec::new()),
            A::GroupConcat => Kind::Concat(Vec::new()),
            A::JsonArrayAgg => Kind::JsonArray(Vec::new()),
            A::JsonObjectAgg => Kind::JsonObject(Vec::new()),
        };
        // MIN and MAX of different values are MIN and MAX of all.
        let distinct = call.distinct && !matches!(kind, Kind::Extreme(_));
        State { kind, seen: distinct.then(HashSet::default), key: Vec::new() }
    }

    fn resize(&mut self, groups: usize) {
        match &mut self.kind {
            Kind::Count(states) => states.resize(groups, 0),
            Kind::Integers(states) => states.resize(groups, (0, 0)),
            Kind::Decimals(states) => states.resize(groups, (Decimal::ZERO, 0)),
            Kind::Doubles(states) => states.resize(groups, (0.0, 0)),
            Kind::Extreme(states) | Kind::First(states) => states.resize(groups, Held::Nothing),
            // BIT_AND over nothing has all bits.
            Kind::Bits(states) => states.resize(groups, 0),
            Kind::Variance(states) => states.resize(groups, (0, 0.0, 0.0)),
            Kind::Concat(states) => states.resize(groups, None),
            Kind::JsonArray(states) => states.resize(groups, None),
            Kind::JsonObject(states) => states.resize(groups, None),
        }
    }

    /// Whether the row counts: arguments that are NULL do not, nor those seen before under DISTINCT.
    fn counts(&mut self, call: &Aggregate, group: u32, args: &[Column], row: usize) -> bool {
        use AggregateFunction as A;
        let width = call.args.len();
        let keeps_null =
            matches!(call.function, A::AnyValue | A::JsonArrayAgg | A::JsonObjectAgg | A::CountStar);
        if !keeps_null && args[..width].iter().any(|arg| arg.is_null(row)) {
            return false;
        }
        let Some(seen) = &mut self.seen else { return true };
        self.key.clear();
        self.key.extend_from_slice(&group.to_be_bytes());
        for (arg, expr) in args[..width].iter().zip(&call.args) {
            append_key(arg.cell(row), &expr.data_type, false, &mut self.key);
        }
        if seen.contains(&self.key[..]) {
            return false;
        }
        seen.insert(self.key.clone().into_boxed_slice());
        true
    }

    fn update(
        &mut self,
        call: &Aggregate,
        groups: &[u32],
        args: &[Column],
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        use AggregateFunction as A;
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
                _ => {}
            }
        }
        for (row, &group) in groups.iter().enumerate() {
            if !self.counts(call, group, args, row) {
                continue;
            }
            let at = group as usize;
            match &mut self.kind {
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
                    let (sum, count) = &mut states[at];
                    let value = &args[0].decimals()[row];
                    *sum = sum
                        .add(value)
                        .unwrap_or_else(|| Decimal::limit(65, value.scale(), sum.is_negative()));
                    *count += 1;
                }
                Kind::Doubles(states) => {
                    states[at].0 += number(&args[0], row, &call.args[0].data_type);
                    states[at].1 += 1;
                }
                Kind::Extreme(states) => {
                    let cell = args[0].cell(row);
                    let held = &mut states[at];
                    let better = match &*held {
                        Held::Nothing => true,
                        held => {
                            let order = compare(cell, held.cell(), &call.args[0].data_type);
                            if call.function == A::Min { order.is_lt() } else { order.is_gt() }
                        }
                    };
                    if better {
                        held.set(cell);
                    }
                }
                Kind::First(states) => {
                    if matches!(states[at], Held::Nothing) {
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
                Kind::Variance(states) => {
                    let value = number(&args[0], row, &call.args[0].data_type);
                    let (count, mean, squares) = &mut states[at];
                    *count += 1;
                    let distance = value - *mean;
                    *mean += distance / *count as f64;
                    *squares += distance * (value - *mean);
                }
                Kind::Concat(states) => {
                    let width = call.args.len();
                    let mut text = Vec::new();
                    for (arg, expr) in args[..width].iter().zip(&call.args) {
                        types::convert::write_text(arg.cell(row), &expr.data_type, &mut text);
                    }
                    let mut order = Vec::new();
                    for (arg, (expr, descending)) in args[width..].iter().zip(&call.order_by) {
                        append_key(arg.cell(row), &expr.data_type, *descending, &mut order);
                    }
                    states[at].get_or_insert_default().push((order, text));
                }
                Kind::JsonArray(states) => {
                    let value = types::convert::json_value(args[0].cell(row), &call.args[0].data_type);
                    states[at].get_or_insert_default().push(value);
                }
                Kind::JsonObject(states) => {
                    if args[0].is_null(row) {
                        return Err(crate::context::coded(
                            3158,
                            "JSON documents may not contain NULL member names.",
                        ));
                    }
                    let mut name = Vec::new();
                    types::convert::write_text(args[0].cell(row), &call.args[0].data_type, &mut name);
                    let value = types::convert::json_value(args[1].cell(row), &call.args[1].data_type);
                    states[at].get_or_insert_default().push((name, value));
                }
            }
        }
        let _ = ctx;
        Ok(())
    }

    /// Appends the result of a group to `out`.
    fn give(
        &mut self,
        call: &Aggregate,
        group: usize,
        out: &mut Column,
        ctx: &mut ExecContext<'_>,
    ) -> SqlResult<()> {
        use AggregateFunction as A;
        match &mut self.kind {
            Kind::Count(states) => out.push_int(states[group]),
            Kind::Integers(states) => {
                let (sum, count) = states[group];
                give_sum(call, Decimal::from_i128(sum), count, out);
            }
            Kind::Decimals(states) => {
                let (sum, count) = states[group];
                give_sum(call, sum, count, out);
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
            Kind::Variance(states) => {
                let (count, _, squares) = states[group];
                let divisor = match call.function {
                    A::StdSamp | A::VarSamp => count.saturating_sub(1),
                    _ => count,
                };
                if divisor == 0 {
                    out.push_null();
                } else {
                    let variance = squares / divisor as f64;
                    let root = matches!(call.function, A::StdPop | A::StdSamp);
                    out.push_double(if root { variance.sqrt() } else { variance });
                }
            }
            Kind::Concat(states) => match &mut states[group] {
                None => out.push_null(),
                Some(parts) => {
                    if !call.order_by.is_empty() {
                        parts.sort_by(|(a, _), (b, _)| a.cmp(b));
                    }
                    let limit = ctx.limits.group_concat_bytes;
                    let mut text = Vec::new();
                    for (number, (_, part)) in parts.iter().enumerate() {
                        if number > 0 {
                            text.extend_from_slice(&call.separator);
                        }
                        text.extend_from_slice(part);
                        if text.len() > limit {
                            let charset = call.data_type.collation.charset();
                            let mut end = limit;
                            while end > 0 && charset.validate(&text[..end]).is_err() {
                                end -= 1;
                            }
                            text.truncate(end);
                            let row = number + 1;
                            ctx.eval
                                .warn(service::error::ER_CUT_VALUE_GROUP_CONCAT, &[&row, &"group_concat()"]);
                            break;
                        }
                    }
                    out.push_bytes(&text);
                }
            },
            Kind::JsonArray(states) => match states[group].take() {
                None => out.push_null(),
                Some(items) => push_json(&Json::Array(items), out),
            },
            Kind::JsonObject(states) => match states[group].take() {
                None => out.push_null(),
                Some(members) => push_json(&Json::object(members), out),
            },
        }
        Ok(())
    }
}

fn push_json(value: &Json, out: &mut Column) {
    let mut document = Vec::new();
    value.encode(&mut document);
    out.push_bytes(&document);
}

fn give_sum(call: &Aggregate, sum: Decimal, count: u64, out: &mut Column) {
    if count == 0 {
        out.push_null();
        return;
    }
    let value = if call.function == AggregateFunction::Avg {
        let scale = call.args[0].data_type.scale;
        let scale = if call.args[0].data_type.kind == TypeKind::Decimal { scale } else { 0 };
        let increment = call.data_type.scale.saturating_sub(scale);
        sum.div(&Decimal::from_u64(count), increment).unwrap_or(Decimal::ZERO)
    } else {
        sum
    };
    match call.data_type.physical() {
        Physical::Double => out.push_double(value.to_f64()),
        Physical::Int => out.push_int(value.to_i64().unwrap_or_else(|clipped| clipped.0)),
        _ => out.push_decimal(value.round(call.data_type.scale)),
    }
}

/// A value as a double.
fn number(column: &Column, row: usize, data_type: &DataType) -> f64 {
    match column.cell(row) {
        Cell::Null => 0.0,
        Cell::Int(value) if data_type.unsigned => value as u64 as f64,
        Cell::Int(value) => value as f64,
        Cell::Double(value) => value,
        Cell::Decimal(value) => value.to_f64(),
        Cell::Bytes(text) => types::number::parse_double(text).value,
    }
}

fn compare(a: Cell<'_>, b: Cell<'_>, data_type: &DataType) -> std::cmp::Ordering {
    match (a, b) {
        (Cell::Int(a), Cell::Int(b)) if data_type.unsigned => (a as u64).cmp(&(b as u64)),
        (Cell::Int(a), Cell::Int(b)) => a.cmp(&b),
        (Cell::Double(a), Cell::Double(b)) => a.total_cmp(&b),
        (Cell::Decimal(a), Cell::Decimal(b)) => a.cmp(b),
        (Cell::Bytes(a), Cell::Bytes(b)) if data_type.kind == TypeKind::Json => types::json::compare(a, b),
        (Cell::Bytes(a), Cell::Bytes(b)) => data_type.collation.compare(a, b),
        _ => std::cmp::Ordering::Equal,
    }
}
