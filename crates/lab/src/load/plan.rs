//! The commands of one operation, laid out once so that sending them is copying and filling in values.

use std::ops::Range;
use std::time::Duration;

use wire::command::byte;
use wire::parameter::PARAMETER_COUNT_AVAILABLE;
use wire::{ColumnType, PacketBuffer};

use crate::data::fill::{Fill, FillKind, Source, Value};
use crate::drivers::Protocol;
use crate::drivers::profile::{self, Batches, Prepare, Profile, Think, Values};
use crate::scenario::{Batch, Op, Statement};

/// A count of 0 in one set, before the text of a query where both sides agreed on attributes.
const NO_ATTRIBUTES: &[u8] = &[0, 1];

/// One command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// COM_QUERY of a text that never changes.
    Fixed(usize),
    /// COM_QUERY with values in the text.
    Text(usize),
    /// COM_STMT_PREPARE.
    Prepare(usize),
    /// COM_STMT_EXECUTE.
    Execute(usize),
    /// COM_STMT_RESET.
    Reset(usize),
    /// COM_STMT_CLOSE; not answered.
    Close(usize),
}

/// A statement and where its values go.
#[derive(Clone, Debug)]
pub(crate) struct PlanStatement {
    pub(crate) sql: Vec<u8>,
    /// The text between the values: one more than there are values.
    pieces: Vec<Range<usize>>,
    params: Vec<Fill>,
}

impl PlanStatement {
    fn new(sql: String, placeholders: &[usize], params: &[Fill]) -> PlanStatement {
        let mut pieces = Vec::with_capacity(placeholders.len() + 1);
        let mut from = 0;
        for &at in placeholders {
            pieces.push(from..at);
            from = at + 1;
        }
        pieces.push(from..sql.len());
        PlanStatement { sql: sql.into_bytes(), pieces, params: params.to_vec() }
    }
}

/// The statement with as many rows of values as the batch has.
fn rewritten(statement: &Statement, batch: &Batch) -> PlanStatement {
    let Batch { rows, values } = batch;
    let row = &statement.sql[values.clone()];
    let mut sql = statement.sql[..values.start].to_owned();
    let mut placeholders = Vec::new();
    for each in 0..*rows {
        if each > 0 {
            sql.push(',');
        }
        let moved = sql.len();
        placeholders.extend(statement.placeholders.iter().map(|at| at - values.start + moved));
        sql.push_str(row);
    }
    sql.push_str(&statement.sql[values.end..]);
    PlanStatement::new(sql, &placeholders, &statement.params)
}

/// The commands of one operation.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Where an operation is one of several statements: the sum of the shares up to each, and its steps.
    choices: Vec<(u64, Range<usize>)>,
    pub(crate) statements: Vec<PlanStatement>,
    /// What the driver asks before a batch, and at which statement: it depends on the server.
    asks: Vec<(usize, &'static str)>,
    /// Statements that are prepared when a connection is made.
    pub(crate) prepared_at_start: Vec<usize>,
    pub(crate) is_transaction: bool,
    values: Values,
    think: Think,
}

/// What a command's bytes depend on besides the plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Of the prepared statement.
    pub(crate) id: u32,
    /// Its types were not sent yet.
    pub(crate) is_first: bool,
    /// Client and server agreed on QUERY_ATTRIBUTES.
    pub(crate) with_attributes: bool,
}

impl Plan {
    /// What `profile` sends for `op`.
    pub(crate) fn new(op: &Op, profile: &Profile) -> Plan {
        let mut plan = Plan {
            steps: Vec::new(),
            choices: Vec::new(),
            statements: Vec::new(),
            asks: Vec::new(),
            prepared_at_start: Vec::new(),
            is_transaction: op.transaction,
            values: profile.values,
            think: profile.think,
        };
        if op.transaction {
            plan.fix(profile.begin);
        }
        for statement in &op.statements {
            let index = plan.statements.len();
            plan.statements.push(PlanStatement::new(
                statement.sql.clone(),
                &statement.placeholders,
                &statement.params,
            ));
            let has_params = !statement.params.is_empty();
            let is_prepared = match op.protocol {
                Protocol::Text => false,
                Protocol::Prepared => true,
                // Every driver sends a statement without parameters as text by default.
                Protocol::Auto => has_params && profile.auto == Protocol::Prepared,
            };
            if is_prepared && matches!(profile.prepare, Prepare::Once | Prepare::OnceWithReset) {
                plan.prepared_at_start.push(index);
            }
            let first_step = plan.steps.len();
            for _ in 0..statement.repeat {
                if let Some(batch) = &statement.batch {
                    plan.batch(statement, batch, index, is_prepared, profile);
                    continue;
                }
                match (is_prepared, profile.prepare) {
                    (true, Prepare::Once) => plan.steps.push(Step::Execute(index)),
                    (true, Prepare::EachCall) => {
                        plan.steps.extend([Step::Prepare(index), Step::Execute(index), Step::Close(index)]);
                    }
                    (true, Prepare::OnceWithReset) => {
                        plan.steps.extend([Step::Reset(index), Step::Execute(index)]);
                    }
                    (false, _) | (true, Prepare::Never) => {
                        plan.steps.push(if has_params { Step::Text(index) } else { Step::Fixed(index) });
                    }
                }
            }
            if let Some(share) = statement.share {
                let before = plan.choices.last().map_or(0, |(sum, _)| *sum);
                plan.choices.push((before + u64::from(share), first_step..plan.steps.len()));
            }
        }
        if op.transaction {
            plan.fix(profile.commit);
        }
        plan
    }

    /// The steps of one batch of statement number `index`.
    fn batch(
        &mut self,
        statement: &Statement,
        batch: &Batch,
        index: usize,
        is_prepared: bool,
        profile: &Profile,
    ) {
        let rows = batch.rows as usize;
        match profile.batches {
            Batches::Rewritten(asks) => {
                if is_prepared {
                    self.steps.push(Step::Prepare(index));
                }
                self.ask(asks);
                let whole = self.statements.len();
                self.statements.push(rewritten(statement, batch));
                if is_prepared {
                    self.steps.extend([
                        Step::Prepare(whole),
                        Step::Execute(whole),
                        Step::Close(whole),
                        Step::Close(index),
                    ]);
                } else {
                    self.steps.push(Step::Text(whole));
                }
            }
            // Who is asked for what it was never seen to do is refused before.
            Batches::Rows(_) | Batches::Unknown => {
                let asks = match profile.batches {
                    Batches::Rows(asks) => asks,
                    _ => None,
                };
                if !is_prepared {
                    if let Some(asks) = asks {
                        self.ask(asks);
                    }
                    self.steps.extend(std::iter::repeat_n(Step::Text(index), rows));
                    return;
                }
                let each_call = profile.prepare == Prepare::EachCall;
                if each_call {
                    self.steps.push(Step::Prepare(index));
                }
                for asks in asks.into_iter().chain(asks) {
                    self.ask(asks);
                }
                self.steps.extend(std::iter::repeat_n(Step::Execute(index), rows));
                if each_call {
                    self.steps.push(Step::Close(index));
                }
            }
        }
    }

    fn ask(&mut self, asks: &'static str) {
        self.asks.push((self.statements.len(), asks));
        self.fix(&[asks]);
    }

    /// Fills in what depends on the server.
    pub(crate) fn fit(&mut self, version: &str) {
        for (index, asks) in &self.asks {
            self.statements[*index].sql = profile::for_server(asks, version).into_bytes();
        }
    }

    /// The steps of the next operation.
    #[inline]
    pub(crate) fn next_steps(&self, source: &mut Source) -> Range<usize> {
        let Some((sum, _)) = self.choices.last() else { return 0..self.steps.len() };
        let drawn = source.below(*sum);
        let found = self.choices.partition_point(|(upto, _)| *upto <= drawn);
        self.choices[found].1.clone()
    }

    fn fix(&mut self, commands: &[&str]) {
        for sql in commands {
            self.steps.push(Step::Fixed(self.statements.len()));
            self.statements.push(PlanStatement {
                sql: sql.as_bytes().to_vec(),
                pieces: Vec::new(),
                params: Vec::new(),
            });
        }
    }

    /// How long the driver thinks before a command that follows another of the same operation.
    #[inline]
    pub(crate) fn think(&self, step: usize) -> Duration {
        let us = match self.steps.get(step) {
            Some(Step::Execute(_)) => self.think.execute_us,
            Some(Step::Close(_)) => self.think.close_us,
            _ => 0,
        };
        Duration::from_micros(u64::from(us))
    }

    /// Appends one command as a packet.
    #[inline]
    pub(crate) fn put(
        &self,
        step: Step,
        Form { id, is_first, with_attributes }: Form,
        source: &mut Source,
        mut serial: impl FnMut() -> u64,
        out: &mut PacketBuffer,
    ) {
        let payload = out.begin();
        match step {
            Step::Fixed(index) => {
                payload.push(byte::QUERY);
                if with_attributes {
                    payload.extend_from_slice(NO_ATTRIBUTES);
                }
                payload.extend_from_slice(&self.statements[index].sql);
            }
            Step::Prepare(index) => {
                payload.push(byte::STMT_PREPARE);
                payload.extend_from_slice(&self.statements[index].sql);
            }
            Step::Close(_) => {
                payload.push(byte::STMT_CLOSE);
                payload.extend_from_slice(&id.to_le_bytes());
            }
            Step::Reset(_) => {
                payload.push(byte::STMT_RESET);
                payload.extend_from_slice(&id.to_le_bytes());
            }
            Step::Text(index) => {
                payload.push(byte::QUERY);
                if with_attributes {
                    payload.extend_from_slice(NO_ATTRIBUTES);
                }
                let statement = &self.statements[index];
                let mut fills = statement.params.iter().cycle();
                for (place, piece) in statement.pieces.iter().enumerate() {
                    if place > 0
                        && let Some(fill) = fills.next()
                    {
                        put_text(source.next(fill, &mut serial), &self.values, payload);
                    }
                    payload.extend_from_slice(&statement.sql[piece.clone()]);
                }
            }
            Step::Execute(index) => {
                let statement = &self.statements[index];
                let count = statement.pieces.len().saturating_sub(1);
                payload.push(byte::STMT_EXECUTE);
                payload.extend_from_slice(&id.to_le_bytes());
                // No cursor; once.
                let flags = if with_attributes { PARAMETER_COUNT_AVAILABLE } else { 0 };
                payload.extend_from_slice(&[flags, 1, 0, 0, 0]);
                if with_attributes {
                    wire::codec::put_lenenc_int(payload, count as u64);
                } else if count == 0 && self.values.has_empty_mark {
                    payload.push(0);
                }
                if count > 0 {
                    let fills = || statement.params.iter().cycle().take(count);
                    let bitmap = payload.len();
                    payload.resize(bitmap + count.div_ceil(8), 0);
                    let with_types = is_first || self.values.types_each_time;
                    payload.push(u8::from(with_types));
                    let type_bytes = if with_attributes { 3 } else { 2 };
                    let types = payload.len();
                    if with_types {
                        for fill in fills() {
                            // Without attributes a parameter has no name, and the byte of its length is not there either.
                            let told = [column_type(fill, &self.values) as u8, 0, 0];
                            payload.extend_from_slice(&told[..type_bytes]);
                        }
                    }
                    for (place, fill) in fills().enumerate() {
                        match source.next(fill, &mut serial) {
                            Value::Null => {
                                payload[bitmap + place / 8] |= 1 << (place % 8);
                                if let (true, Some(null)) = (with_types, self.values.null_type) {
                                    payload[types + place * type_bytes] = null as u8;
                                }
                            }
                            Value::Int(value) => payload.extend_from_slice(&value.to_le_bytes()),
                            Value::Bare(text) | Value::Text(text) => {
                                wire::codec::put_lenenc_bytes(payload, text);
                            }
                        }
                    }
                }
            }
        }
        out.end();
    }
}

/// Appends a value the way a driver writes it into a statement.
#[inline]
fn put_text(value: Value<'_>, values: &Values, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(values.null.as_bytes()),
        Value::Bare(text) if values.decimal_is_text => Value::Text(text).put_literal(out),
        Value::Text(text) if values.is_quote_escaped && text.contains(&b'\'') => {
            out.push(b'\'');
            for &byte in text {
                match byte {
                    b'\'' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                    0 => out.extend_from_slice(b"\\0"),
                    byte => out.push(byte),
                }
            }
            out.push(b'\'');
        }
        value => value.put_literal(out),
    }
}

fn column_type(fill: &Fill, values: &Values) -> ColumnType {
    match fill.kind {
        FillKind::Serial(_) | FillKind::Uniform(..) | FillKind::PreviousPlus(_) => ColumnType::LongLong,
        FillKind::Decimal(..) if !values.decimal_is_text => ColumnType::NewDecimal,
        FillKind::Decimal(..)
        | FillKind::Digits(_)
        | FillKind::Text(_)
        | FillKind::DateTime(_)
        | FillKind::Pick(_)
        | FillKind::Constant(_) => values.text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Statement;
    use wire::command::Command;
    use wire::packet::one_packet;

    fn op(protocol: Protocol) -> Op {
        let fill = |kind| Fill { kind, null_share: 0.0 };
        Op {
            transaction: true,
            protocol,
            statements: vec![Statement {
                sql: "INSERT INTO t VALUES (?, ?), (?, ?)".into(),
                placeholders: vec![22, 25, 30, 33],
                params: vec![fill(FillKind::Serial(0)), fill(FillKind::Constant("x'".into()))],
                repeat: 2,
                share: None,
                batch: None,
            }],
        }
    }

    fn payload(plan: &Plan, step: Step, is_first: bool) -> Vec<u8> {
        let mut out = PacketBuffer::new();
        let mut serial = 6;
        plan.put(
            step,
            Form { id: 9, is_first, with_attributes: false },
            &mut Source::new(0, 0),
            || {
                serial += 1;
                serial
            },
            &mut out,
        );
        one_packet(out.frames()).unwrap().0.to_vec()
    }

    #[test]
    fn text_has_its_values_in_place() {
        let plan = Plan::new(&op(Protocol::Text), Profile::native());
        assert_eq!(plan.steps, [Step::Fixed(0), Step::Text(1), Step::Text(1), Step::Fixed(2)]);
        assert_eq!(payload(&plan, Step::Fixed(0), true), b"\x03BEGIN");
        assert_eq!(payload(&plan, Step::Text(1), true), b"\x03INSERT INTO t VALUES (7, 'x'''), (8, 'x''')");
    }

    #[test]
    fn an_execution_is_what_the_codec_reads() {
        let plan = Plan::new(&op(Protocol::Auto), Profile::native());
        assert_eq!(plan.prepared_at_start, [1]);
        let mut types = Vec::new();
        for is_first in [true, false] {
            let payload = payload(&plan, Step::Execute(1), is_first);
            let Ok(Command::Execute { statement_id: 9, flags: 0, iteration_count: 1, parameters }) =
                Command::decode(&payload)
            else {
                panic!("{payload:?}")
            };
            let mut read = wire::parameter::Parameters::read(parameters, 0, false, 4, &mut types).unwrap();
            for want in [7, 8] {
                assert_eq!(read.next_value(false).unwrap(), wire::parameter::ParameterValue::Int(want));
                assert_eq!(read.next_value(false).unwrap(), wire::parameter::ParameterValue::Bytes(b"x'"));
            }
        }
    }

    #[test]
    fn an_operation_is_one_of_the_statements_that_have_shares() {
        let mut op = op(Protocol::Text);
        op.transaction = false;
        op.statements[0].share = Some(3);
        let mut rare = op.statements[0].clone();
        (rare.share, rare.repeat) = (Some(1), 1);
        op.statements.push(rare);
        let plan = Plan::new(&op, Profile::native());
        let mut source = Source::new(1, 1);
        let mut often = 0;
        for _ in 0..4_000 {
            match plan.next_steps(&mut source) {
                Range { start: 0, end: 2 } => often += 1,
                rare => assert_eq!(rare, 2..3),
            }
        }
        assert!((2_800..3_200).contains(&often), "{often} of 4000");
    }

    #[test]
    fn a_driver_that_prepares_for_each_call_closes_too() {
        let profile = Profile { prepare: Prepare::EachCall, ..*Profile::native() };
        let plan = Plan::new(&op(Protocol::Prepared), &profile);
        assert_eq!(plan.steps[1..4], [Step::Prepare(1), Step::Execute(1), Step::Close(1)]);
        assert!(plan.prepared_at_start.is_empty());
    }
}
