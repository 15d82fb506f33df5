//! Foreign keys resolved: which index of which table answers which columns.

use std::fmt::Write as _;
use std::sync::Arc;

use access::{Error, ForeignKeyViolation, TimestampZone};
use catalog::{Edge, ForeignKeyAction, ForeignKeyGraph, Reference, TableDefinition, TableId};
use types::{Cell, DataType, Physical};

use crate::codec::field::Field;
use crate::error::WriteError;
use crate::table::Table;

/// The foreign keys that one statement's changes may touch.
#[derive(Debug)]
pub struct ForeignKeys {
    pub(super) nodes: Vec<Node>,
}

/// A table among them.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) table: Arc<Table>,
    /// Its own keys, by name.
    pub(super) parents: Vec<Parent>,
    /// The keys that refer to it.
    pub(super) children: Vec<Child>,
}

/// A key of a table, seen from the child.
#[derive(Debug)]
pub(super) struct Parent {
    reference: Reference,
    /// The child's columns.
    pub(super) columns: Vec<usize>,
    /// `None`: nothing can be found, as long as the parent is missing.
    pub(super) target: Option<Target>,
    /// Columns of the parent if it is the child itself.
    pub(super) own_columns: Option<Vec<usize>>,
}

/// A key that refers to a table, seen from the parent.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) reference: Reference,
    /// Node of the child.
    pub(super) node: usize,
    /// The parent's columns.
    pub(super) columns: Vec<usize>,
    /// The child's, in the same order.
    pub(super) child_columns: Vec<usize>,
    /// Where the child's rows are found.
    pub(super) target: Target,
    /// The parent's secondary index by which children look it up.
    pub(super) locked_index: Option<usize>,
    pub(super) on_delete: Action,
    pub(super) on_update: Action,
}

/// What a change of the parent does to the child.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// RESTRICT, NO ACTION; SET DEFAULT too, which MySQL does not carry out.
    Restrict,
    Cascade,
    SetNull,
}

/// An index in which values of the other side are looked up.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) table: Arc<Table>,
    pub(super) index: usize,
    /// The values are the whole key of a unique index.
    pub(super) exact: bool,
    /// How each value of the key converts to the other table's column.
    conversions: Vec<KeyConversion>,
}

/// Whether a value of one side can be a value of the other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum KeyConversion {
    /// Both store it in the same bytes.
    Same,
    /// Integers of another width: those that fit.
    Fitting {
        width: u8,
        signed: bool,
    },
    Never,
}

impl KeyConversion {
    fn between(from: &DataType, to: &DataType) -> Self {
        let (from, to) = (Field::of(from), Field::of(to));
        match (from, to) {
            _ if from == to => Self::Same,
            (Field::Int { signed: one, shift: 0, .. }, Field::Int { width, signed, shift: 0 })
                if one == signed =>
            {
                Self::Fitting { width, signed }
            }
            _ => Self::Never,
        }
    }

    fn admits(self, cell: Cell<'_>) -> bool {
        match (self, cell) {
            (Self::Same, _) => true,
            (Self::Fitting { width, signed }, Cell::Int(value)) => {
                let unused = 64 - 8 * u32::from(width);
                if signed {
                    value << unused >> unused == value
                } else {
                    (value as u64) << unused >> unused == value as u64
                }
            }
            _ => false,
        }
    }
}

impl Target {
    fn new(
        table: &Arc<Table>,
        index: usize,
        exact: bool,
        from: (&TableDefinition, &[usize]),
        columns: &[usize],
    ) -> Self {
        let types = |table: &TableDefinition, column: usize| table.columns[column].data_type.clone();
        let conversions = from
            .1
            .iter()
            .zip(columns)
            .map(|(&one, &two)| KeyConversion::between(&types(from.0, one), &types(table.definition(), two)))
            .collect();
        Self { table: Arc::clone(table), index, exact, conversions }
    }

    /// Makes `key` the bytes with which keys of the index begin that hold these values, none NULL. False: there are none.
    pub(super) fn write_key<'a>(
        &self,
        cells: impl Iterator<Item = Cell<'a>>,
        zone: &dyn TimestampZone,
        key: &mut Vec<u8>,
    ) -> bool {
        key.clear();
        let codec = self.table.key_codec(self.index);
        for (number, (cell, conversion)) in cells.zip(&self.conversions).enumerate() {
            if !conversion.admits(cell) {
                return false;
            }
            codec.write_part(number, cell, zone, key);
        }
        true
    }
}

impl ForeignKeys {
    /// Resolves the keys of a plan; `None` if one of the tables is not kept here.
    #[must_use]
    pub fn new(graph: &ForeignKeyGraph) -> Option<Arc<Self>> {
        let tables: Vec<Arc<Table>> =
            graph.nodes.iter().map(|node| Table::of(&node.table.source)).collect::<Option<_>>()?;
        let nodes = graph
            .nodes
            .iter()
            .zip(&tables)
            .map(|(node, table)| Node {
                table: Arc::clone(table),
                parents: node.parents.iter().map(|&edge| parent(&graph.edges[edge], &tables)).collect(),
                children: node
                    .children
                    .iter()
                    .filter_map(|&edge| child(&graph.edges[edge], &tables))
                    .collect(),
            })
            .collect();
        Some(Arc::new(Self { nodes }))
    }

    /// The number by which calls name a table; `None` if no key concerns it.
    #[must_use]
    pub fn node_of(&self, table: TableId) -> Option<usize> {
        self.nodes.iter().position(|node| node.table.definition.id == table)
    }

    /// Whether other rows may refer to rows of the table.
    #[must_use]
    pub fn has_children(&self, node: usize) -> bool {
        !self.nodes[node].children.is_empty()
    }
}

fn parent(edge: &Edge, tables: &[Arc<Table>]) -> Parent {
    let reference = edge.reference.clone();
    let columns = reference.definition().columns.clone();
    let parent_columns = reference.parent_columns().unwrap_or_default();
    let child = tables[edge.child].definition();
    let target = edge.parent.zip(reference.parent_index()).map(|(parent, index)| {
        let parent = &tables[parent];
        let exact = catalog::unique_index(parent.definition(), &parent_columns) == Some(index);
        Target::new(parent, index, exact, (child, &columns), &parent_columns)
    });
    let own_columns = (edge.parent == Some(edge.child)).then_some(parent_columns);
    Parent { reference, columns, target, own_columns }
}

/// `None`: no value of this parent can stand in the child.
fn child(edge: &Edge, tables: &[Arc<Table>]) -> Option<Child> {
    let reference = edge.reference.clone();
    let parent = edge.parent?;
    let columns = reference.parent_columns()?;
    let child_columns = reference.definition().columns.clone();
    let table = &tables[edge.child];
    let index = reference.child_index()?;
    let target = Target::new(table, index, false, (tables[parent].definition(), &columns), &child_columns);
    let locked_index =
        reference.parent_index().filter(|&index| tables[parent].definition().clustered != Some(index));
    let nullable = child_columns.iter().all(|&column| table.definition().columns[column].nullable);
    let action = |action: ForeignKeyAction| match action {
        ForeignKeyAction::Cascade => Action::Cascade,
        ForeignKeyAction::SetNull if nullable => Action::SetNull,
        _ => Action::Restrict,
    };
    let key = reference.definition();
    let on_delete = action(key.on_delete);
    // A change that comes back to the table it began in would not end: MySQL restricts it.
    let on_update = if edge.child == parent { Action::Restrict } else { action(key.on_update) };
    Some(Child {
        node: edge.child,
        columns,
        child_columns,
        target,
        locked_index,
        on_delete,
        on_update,
        reference,
    })
}

/// The constraint as MySQL's errors print it.
#[cold]
fn constraint_text(reference: &Reference) -> String {
    let (table, key) = (&reference.child.definition, reference.definition());
    let mut text = format!("`{}`.`{}`, CONSTRAINT `{}` FOREIGN KEY (", table.schema, table.name, key.name);
    let list = |text: &mut String, names: &mut dyn Iterator<Item = &str>| {
        for (number, name) in names.enumerate() {
            let _ = write!(text, "{}`{name}`", if number > 0 { ", " } else { "" });
        }
    };
    list(&mut text, &mut key.columns.iter().map(|&column| &*table.columns[column].name));
    text.push_str(") REFERENCES ");
    if key.parent_schema != table.schema {
        let _ = write!(text, "`{}`.", key.parent_schema);
    }
    let _ = write!(text, "`{}` (", key.parent_table);
    list(&mut text, &mut key.parent_columns.iter().map(|name| &**name));
    text.push(')');
    for (event, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        let action = match action {
            ForeignKeyAction::NoAction | ForeignKeyAction::SetDefault => continue,
            ForeignKeyAction::Restrict => "RESTRICT",
            ForeignKeyAction::Cascade => "CASCADE",
            ForeignKeyAction::SetNull => "SET NULL",
        };
        let _ = write!(text, " ON {event} {action}");
    }
    text
}

impl Parent {
    #[cold]
    pub(super) fn violated(&self) -> WriteError {
        let constraint = constraint_text(&self.reference);
        let key = self.reference.definition();
        let parent = Some((key.parent_schema.to_string(), key.parent_table.to_string()));
        Error::ForeignKey(Box::new(ForeignKeyViolation::NoParent { constraint, parent })).into()
    }

    /// Which of the child's foreign keys it is.
    pub(super) fn key(&self) -> usize {
        self.reference.key
    }
}

impl Child {
    #[cold]
    pub(super) fn violated(&self) -> WriteError {
        let constraint = constraint_text(&self.reference);
        let table = &self.reference.child.definition;
        let child = Some((table.schema.to_string(), table.name.to_string()));
        Error::ForeignKey(Box::new(ForeignKeyViolation::HasChildren { constraint, child })).into()
    }

    /// Whether a value of the parent can be put into the child's column `number` of the key.
    pub(super) fn can_hold(&self, number: usize, cell: Cell<'_>) -> bool {
        if cell == Cell::Null {
            let column = self.child_columns[number];
            return self.target.table.definition().columns[column].nullable;
        }
        let data_type = &self.target.table.definition().columns[self.child_columns[number]].data_type;
        if !self.target.conversions[number].admits(cell) {
            return false;
        }
        match (data_type.physical(), cell) {
            (Physical::Bytes, Cell::Bytes(bytes)) => {
                let charset = data_type.collation.charset();
                charset.prefix_bytes(bytes, data_type.length as usize) >= bytes.len()
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::CollationId;

    #[test]
    fn integers_go_over_where_they_fit() {
        let small = DataType { kind: types::TypeKind::TinyInt, ..DataType::BIGINT };
        let conversion = KeyConversion::between(&DataType::BIGINT, &small);
        assert_eq!(conversion, KeyConversion::Fitting { width: 1, signed: true });
        assert!(conversion.admits(Cell::Int(-128)) && conversion.admits(Cell::Int(127)));
        assert!(!conversion.admits(Cell::Int(128)) && !conversion.admits(Cell::Int(-129)));
        assert_eq!(
            KeyConversion::between(&DataType::BIGINT, &DataType::BIGINT_UNSIGNED),
            KeyConversion::Never
        );
        assert_eq!(KeyConversion::between(&DataType::BIGINT, &DataType::BIGINT), KeyConversion::Same);
    }

    #[test]
    fn what_is_kept_differently_never_meets() {
        let decimal = DataType::decimal(10, 2);
        assert_eq!(KeyConversion::between(&decimal, &DataType::decimal(12, 3)), KeyConversion::Never);
        assert_eq!(KeyConversion::between(&decimal, &decimal.clone()), KeyConversion::Same);
        let text = |collation| DataType::varchar(10, collation);
        let (ai, binary) = (text(CollationId::UTF8MB4_0900_AI_CI), text(CollationId::BINARY));
        assert_eq!(
            KeyConversion::between(&ai, &DataType::varchar(20, CollationId::UTF8MB4_0900_AI_CI)),
            KeyConversion::Same
        );
        assert_eq!(KeyConversion::between(&ai, &binary), KeyConversion::Never);
        assert!(!KeyConversion::Never.admits(Cell::Int(1)) && KeyConversion::Same.admits(Cell::Int(1)));
    }
}
