//! The value of an expression of numbers and texts that reads no row, without a column for it: most of what stored programs compute.
//!
//! Programs step through single values, a million times over. A batch of one row would cost a column for each node, and each execution a
//! context. Here the nodes that a [`super::Program`] was compiled to give their values one by one, as long as nothing can be said of it: an
//! overflow, a division by zero, a parameter of another class give no value, and who asks evaluates the program as ever, which says what
//! is wrong.
//!
//! Invariants:
//! 1. Nothing is changed, warned of or refused here, so that evaluating again cannot be noticed.
//! 2. A value is the one that [`super::Program::eval`] gives.

use types::convert::cell_value;
use types::data_type::DECIMAL_SCALE_MAX;
use types::{Cell, DataType, Decimal, Physical, TypeKind, Value};

use super::arith::{ArithClass, ArithOp};
use super::compare::{CompareOp, How};
use super::convert::Target;
use super::program::{Node, and3};

/// Items of an IN that are compared one by one.
const ITEMS_MAX: usize = 16;

/// A value.
#[derive(Clone, Copy)]
enum Single<'a> {
    Null,
    Int(i64),
    Double(f64),
    Decimal(Decimal),
    Bytes(&'a [u8]),
}

impl<'a> Single<'a> {
    fn of(cell: Cell<'a>) -> Single<'a> {
        match cell {
            Cell::Null => Single::Null,
            Cell::Int(value) => Single::Int(value),
            Cell::Double(value) => Single::Double(value),
            Cell::Decimal(value) => Single::Decimal(*value),
            Cell::Bytes(bytes) => Single::Bytes(bytes),
        }
    }

    /// A parameter's value, if it is of the class that the program was compiled for.
    fn of_parameter(value: &'a Value, data_type: &DataType) -> Option<Single<'a>> {
        let physical = data_type.physical();
        Some(match value {
            _ if data_type.kind == TypeKind::Null => return None,
            Value::Null => Single::Null,
            Value::Int(value) if physical == Physical::Int && !data_type.is_temporal() => Single::Int(*value),
            Value::UInt(value) if physical == Physical::Int && !data_type.is_temporal() => {
                Single::Int(value.cast_signed())
            }
            Value::Double(value) if physical == Physical::Double => Single::Double(*value),
            Value::Decimal(value)
                if physical == Physical::Decimal
                    && (data_type.scale > DECIMAL_SCALE_MAX || value.scale() >= data_type.scale) =>
            {
                Single::Decimal(*value)
            }
            Value::Bytes { bytes, collation }
                if data_type.is_string() && collation.charset() == data_type.collation.charset() =>
            {
                Single::Bytes(bytes)
            }
            Value::Date(value) | Value::DateTime(value) if data_type.has_date() => Single::Int(value.pack()),
            Value::Time(value) if data_type.kind == TypeKind::Time => Single::Int(value.micros),
            _ => return None,
        })
    }

    fn into_value(self, data_type: &DataType) -> Value {
        match self {
            Single::Null => Value::Null,
            Single::Int(value) => cell_value(Cell::Int(value), data_type),
            Single::Double(value) => Value::Double(value),
            Single::Decimal(value) => Value::Decimal(value),
            Single::Bytes(bytes) => cell_value(Cell::Bytes(bytes), data_type),
        }
    }

    /// Its truth; `None` in it: NULL.
    fn truth(self) -> Option<Option<bool>> {
        match self {
            Single::Null => Some(None),
            Single::Int(value) => Some(Some(value != 0)),
            Single::Double(value) => Some(Some(value != 0.0)),
            Single::Decimal(value) => Some(Some(!value.is_zero())),
            // The number of a text is another matter.
            Single::Bytes(_) => None,
        }
    }

    fn of_truth(truth: Option<bool>) -> Single<'a> {
        truth.map_or(Single::Null, |truth| Single::Int(i64::from(truth)))
    }
}

impl How {
    /// How two values compare that are not NULL; `None`: they are of other classes.
    fn compare_single(self, a: Single<'_>, b: Single<'_>) -> Option<std::cmp::Ordering> {
        Some(match (self, a, b) {
            (How::Int { left_unsigned, right_unsigned }, Single::Int(a), Single::Int(b)) => {
                super::compare::compare_ints(a, left_unsigned, b, right_unsigned)
            }
            (How::Double, Single::Double(a), Single::Double(b)) => {
                a.partial_cmp(&b).unwrap_or(std::cmp::Ordering::Equal)
            }
            (How::Decimal, Single::Decimal(a), Single::Decimal(b)) => a.cmp(&b),
            (How::Text(collation), Single::Bytes(a), Single::Bytes(b)) => collation.compare(a, b),
            _ => return None,
        })
    }
}

impl Node {
    /// Whether [`Node::single`] may give it a value.
    pub(super) fn is_single(&self) -> bool {
        match self {
            Node::Const(_) | Node::Param { .. } => true,
            Node::Once { node, .. } | Node::Not(node) | Node::IsNull(node) | Node::Is { node, .. } => {
                node.is_single()
            }
            Node::Truth(node) => node.is_single(),
            Node::Arith(arith) => {
                let has_value = match arith.class {
                    ArithClass::Int { .. } => true,
                    ArithClass::Double | ArithClass::Decimal { .. } => arith.op != ArithOp::IntDiv,
                    ArithClass::OwnScales { .. } => false,
                };
                has_value && arith.left.is_single() && arith.right.is_single()
            }
            Node::Compare(compare) => {
                compare.how != How::Json && compare.left.is_single() && compare.right.is_single()
            }
            Node::Between { low, high } => {
                [low, high].iter().all(|c| c.how != How::Json && c.left.is_single() && c.right.is_single())
            }
            Node::In { value, items, .. } => {
                items.len() <= ITEMS_MAX
                    && value.is_single()
                    && items.iter().all(|(how, item)| *how != How::Json && item.is_single())
            }
            Node::And(nodes) | Node::Or(nodes) | Node::Coalesce { items: nodes, .. } => {
                nodes.iter().all(Node::is_single)
            }
            Node::Case { whens, otherwise, .. } => {
                whens.iter().all(|(when, then)| when.is_single() && then.is_single())
                    && otherwise.as_ref().is_none_or(|otherwise| otherwise.is_single())
            }
            Node::Convert { node, from, to } => {
                from.is_integer() && matches!(to, Target::Double | Target::Decimal) && node.is_single()
            }
            _ => false,
        }
    }

    /// The value of the node, as evaluating it would give it; `None`: that must be evaluated.
    fn single<'a>(&'a self, parameters: &'a [Value]) -> Option<Single<'a>> {
        Some(match self {
            Node::Const(column) => Single::of(column.cell(0)),
            Node::Param { index, data_type, .. } => {
                return Single::of_parameter(parameters.get(*index)?, data_type);
            }
            Node::Once { node, .. } => return node.single(parameters),
            Node::Arith(arith) => {
                let (left, right) = (arith.left.single(parameters)?, arith.right.single(parameters)?);
                match (arith.class, left, right) {
                    (_, Single::Null, _) | (_, _, Single::Null) => Single::Null,
                    (ArithClass::Int { .. }, Single::Int(left), Single::Int(right)) => {
                        Single::Int(arith.integer(left, right)?)
                    }
                    (ArithClass::Double, Single::Double(left), Single::Double(right)) => {
                        Single::Double(arith.double(left, right)?)
                    }
                    (ArithClass::Decimal { scale, .. }, Single::Decimal(left), Single::Decimal(right)) => {
                        Single::Decimal(arith.decimal(&left, &right, scale)?)
                    }
                    _ => return None,
                }
            }
            Node::Compare(compare) => {
                let (left, right) = (compare.left.single(parameters)?, compare.right.single(parameters)?);
                let is_safe = compare.op == CompareOp::NullSafeEq;
                match (left, right) {
                    (Single::Null, Single::Null) if is_safe => Single::Int(1),
                    (Single::Null, _) | (_, Single::Null) if is_safe => Single::Int(0),
                    (Single::Null, _) | (_, Single::Null) => Single::Null,
                    _ => Single::Int(i64::from(compare.op.holds(compare.how.compare_single(left, right)?))),
                }
            }
            Node::Between { low, high } => {
                let mut truths = [None; 2];
                for (truth, comparison) in truths.iter_mut().zip([low, high]) {
                    let sides = (comparison.left.single(parameters)?, comparison.right.single(parameters)?);
                    *truth = match sides {
                        (Single::Null, _) | (_, Single::Null) => None,
                        (left, right) => {
                            Some(comparison.op.holds(comparison.how.compare_single(left, right)?))
                        }
                    };
                }
                Single::of_truth(and3(truths[0], truths[1]))
            }
            Node::In { value, items, .. } => {
                let value = value.single(parameters)?;
                if matches!(value, Single::Null) {
                    return Some(Single::Null);
                }
                let mut found = Some(false);
                for (how, item) in items {
                    match item.single(parameters)? {
                        Single::Null => found = None,
                        item if how.compare_single(value, item)?.is_eq() => return Some(Single::Int(1)),
                        _ => {}
                    }
                }
                Single::of_truth(found)
            }
            Node::And(nodes) => return decided(nodes, false, parameters),
            Node::Or(nodes) => return decided(nodes, true, parameters),
            Node::Not(node) => Single::of_truth(node.single(parameters)?.truth()?.map(|truth| !truth)),
            Node::IsNull(node) => Single::Int(i64::from(matches!(node.single(parameters)?, Single::Null))),
            Node::Is { node, wanted } => {
                Single::Int(i64::from(node.single(parameters)?.truth()? == Some(*wanted)))
            }
            Node::Truth(node) => Single::of_truth(node.single(parameters)?.truth()?),
            Node::Case { whens, otherwise, .. } => {
                for (when, then) in whens {
                    if when.single(parameters)?.truth()? == Some(true) {
                        return then.single(parameters);
                    }
                }
                return otherwise
                    .as_ref()
                    .map_or(Some(Single::Null), |otherwise| otherwise.single(parameters));
            }
            Node::Coalesce { items, .. } => {
                for item in items {
                    let value = item.single(parameters)?;
                    if !matches!(value, Single::Null) {
                        return Some(value);
                    }
                }
                Single::Null
            }
            Node::Convert { node, from, to } => match (node.single(parameters)?, to) {
                (Single::Null, _) => Single::Null,
                (Single::Int(value), Target::Double) if from.unsigned => {
                    Single::Double(value.cast_unsigned() as f64)
                }
                (Single::Int(value), Target::Double) => Single::Double(value as f64),
                (Single::Int(value), Target::Decimal) if from.unsigned => {
                    Single::Decimal(Decimal::from_u64(value.cast_unsigned()))
                }
                (Single::Int(value), Target::Decimal) => Single::Decimal(Decimal::from_i64(value)),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The value of the only expression of a program; `None`: it must be evaluated.
    pub(super) fn single_value(&self, parameters: &[Value], data_type: &DataType) -> Option<Value> {
        Some(self.single(parameters)?.into_value(data_type))
    }
}

/// AND (`decides` false) and OR (`decides` true).
fn decided<'a>(nodes: &'a [Node], decides: bool, parameters: &'a [Value]) -> Option<Single<'a>> {
    let mut found = Some(!decides);
    for node in nodes {
        match node.single(parameters)?.truth()? {
            Some(truth) if truth == decides => return Some(Single::Int(i64::from(decides))),
            Some(_) => {}
            None => found = None,
        }
    }
    Some(Single::of_truth(found))
}
