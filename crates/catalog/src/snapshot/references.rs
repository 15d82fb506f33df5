//! Which table refers to which by a FOREIGN KEY, in both directions, and what a change of a table may reach that way.
//!
//! Definitions name their parents; [`References`] finds the tables behind the names once per snapshot, so that neither
//! planning a statement nor running it looks a name up. Names mean base tables: a temporary table hides none of them.

use std::sync::Arc;

use hashbrown::HashMap;

use super::{Catalog, TableEntry};
use crate::definition::{ForeignKey, ForeignKeyAction, TableDefinition, TableId, TableKind};
use crate::name::names_equal;

/// A foreign key with the tables at its ends.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The table that has the constraint.
    pub child: Arc<TableEntry>,
    /// Which of its foreign keys.
    pub key: usize,
    /// The table referred to; `None` while there is none (it was dropped, or never made, without checks).
    pub parent: Option<Arc<TableEntry>>,
}

impl Reference {
    /// The constraint.
    #[must_use]
    pub fn definition(&self) -> &ForeignKey {
        &self.child.definition.foreign_keys[self.key]
    }

    /// The index by which the child's rows are found: one that begins with the key's columns, whole, in their order.
    #[must_use]
    pub fn child_index(&self) -> Option<usize> {
        leading_index(&self.child.definition, &self.definition().columns)
    }

    /// The parent's columns; `None` if it lacks one.
    #[must_use]
    pub fn parent_columns(&self) -> Option<Vec<usize>> {
        let parent = &self.parent.as_ref()?.definition;
        self.definition().parent_columns.iter().map(|name| parent.column_ordinal(name)).collect()
    }

    /// The index by which the parent's row is found: a unique one over just the columns if there is one, else one that
    /// begins with them.
    #[must_use]
    pub fn parent_index(&self) -> Option<usize> {
        let parent = &self.parent.as_ref()?.definition;
        let columns = self.parent_columns()?;
        unique_index(parent, &columns).or_else(|| leading_index(parent, &columns))
    }

    fn same(&self, other: &Self) -> bool {
        let parent = |one: &Self| one.parent.as_ref().map(|entry| Arc::as_ptr(&entry.definition));
        self.key == other.key
            && Arc::ptr_eq(&self.child.definition, &other.child.definition)
            && parent(self) == parent(other)
    }
}

/// The unique index of `table` over exactly these columns, whole, in this order.
#[must_use]
pub fn unique_index(table: &TableDefinition, columns: &[usize]) -> Option<usize> {
    table.indexes.iter().position(|index| {
        index.is_unique()
            && index.parts.len() == columns.len()
            && index
                .parts
                .iter()
                .zip(columns)
                .all(|(part, &column)| part.column == column && part.prefix_length.is_none())
    })
}

/// The first index of `table` that begins with these columns, whole, in this order.
#[must_use]
pub fn leading_index(table: &TableDefinition, columns: &[usize]) -> Option<usize> {
    table.indexes.iter().position(|index| {
        index.parts.len() >= columns.len()
            && index
                .parts
                .iter()
                .zip(columns)
                .all(|(part, &column)| part.column == column && part.prefix_length.is_none())
    })
}

/// All foreign keys of one snapshot.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// By number of the child and of the key.
    all: Vec<Reference>,
    /// Positions in `all` by child: by the constraint's name, the order in which MySQL checks them.
    of_child: HashMap<TableId, Vec<u32>, foldhash::fast::FixedState>,
    /// Positions in `all` by parent: by age of the child.
    of_parent: HashMap<TableId, Vec<u32>, foldhash::fast::FixedState>,
}

impl References {
    /// Of the tables of `catalog`.
    pub(crate) fn of(catalog: &Catalog) -> Self {
        let mut this = Self::default();
        let mut children: Vec<&Arc<TableEntry>> =
            catalog.base_tables().filter(|entry| !entry.definition.foreign_keys.is_empty()).collect();
        children.sort_unstable_by_key(|entry| entry.definition.id);
        for child in children {
            for (key, definition) in child.definition.foreign_keys.iter().enumerate() {
                let position = this.all.len() as u32;
                let parent = catalog
                    .table(&definition.parent_schema, &definition.parent_table)
                    .filter(|parent| parent.definition.kind == TableKind::Base)
                    .cloned();
                this.of_child.entry(child.definition.id).or_default().push(position);
                if let Some(parent) = &parent {
                    this.of_parent.entry(parent.definition.id).or_default().push(position);
                }
                this.all.push(Reference { child: Arc::clone(child), key, parent });
            }
        }
        for positions in this.of_child.values_mut() {
            positions.sort_by_key(|&position| {
                crate::name::fold_name(&this.all[position as usize].definition().name)
            });
        }
        this
    }

    /// Whether the same definitions refer to the same definitions.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.all.len() == other.all.len() && self.all.iter().zip(&other.all).all(|(one, two)| one.same(two))
    }

    /// The foreign keys of a table.
    pub(crate) fn of_child(&self, table: TableId) -> impl Iterator<Item = &Reference> {
        self.of_child.get(&table).into_iter().flatten().map(|&position| &self.all[position as usize])
    }

    /// The foreign keys that refer to a table, its own included.
    pub fn of_parent(&self, table: TableId) -> impl Iterator<Item = &Reference> {
        self.of_parent.get(&table).into_iter().flatten().map(|&position| &self.all[position as usize])
    }

    /// The foreign keys that name the table `schema.name`, whether it exists or not.
    pub fn naming<'a>(&'a self, schema: &'a str, name: &'a str) -> impl Iterator<Item = &'a Reference> {
        self.all.iter().filter(move |reference| {
            let key = reference.definition();
            *key.parent_schema == *schema && *key.parent_table == *name
        })
    }

    /// The constraint called `name` of a table in `schema`: names are unique there.
    #[must_use]
    pub fn named(&self, schema: &str, name: &str) -> Option<&Reference> {
        self.all.iter().find(|reference| {
            *reference.child.definition.schema == *schema && names_equal(&reference.definition().name, name)
        })
    }

    /// What changing rows of these tables may reach; `None` if no foreign key is concerned.
    #[must_use]
    pub fn graph(&self, changed: &[&Arc<TableEntry>]) -> Option<Arc<ForeignKeyGraph>> {
        if self.all.is_empty() {
            return None;
        }
        let mut graph = ForeignKeyGraph::default();
        for entry in changed {
            let id = entry.definition.id;
            let concerned = self.of_child.contains_key(&id) || self.of_parent.contains_key(&id);
            if entry.definition.kind == TableKind::Base && concerned {
                graph.add(entry, true);
            }
        }
        let mut next = 0;
        // Nodes become written later than they were added: go on until nothing is new.
        while let Some(node) = graph.nodes.iter().position(|node| node.written && !node.linked) {
            graph.nodes[node].linked = true;
            let id = graph.nodes[node].table.definition.id;
            for reference in self.of_child(id) {
                let parent = reference.parent.as_ref().map(|parent| graph.add(parent, false));
                graph.edges.push(Edge { reference: reference.clone(), child: node, parent });
                let edge = graph.edges.len() - 1;
                graph.nodes[node].parents.push(edge);
            }
            for reference in self.of_parent(id) {
                let key = reference.definition();
                let acts = |action| matches!(action, ForeignKeyAction::Cascade | ForeignKeyAction::SetNull);
                let child = graph.add(&reference.child, acts(key.on_delete) || acts(key.on_update));
                graph.edges.push(Edge { reference: reference.clone(), child, parent: Some(node) });
                let edge = graph.edges.len() - 1;
                graph.nodes[node].children.push(edge);
            }
            next += 1;
            debug_assert!(next <= graph.nodes.len());
        }
        (!graph.nodes.is_empty()).then(|| Arc::new(graph))
    }
}

/// The tables that a change may reach through foreign keys.
#[derive(Clone, Debug, Default)]
pub struct ForeignKeyGraph {
    /// The tables, each once.
    pub nodes: Vec<Node>,
    /// The keys between them; one between two written tables is there twice, once for each of its ends.
    pub edges: Vec<Edge>,
}

/// A table of a [`ForeignKeyGraph`].
#[derive(Clone, Debug)]
pub struct Node {
    /// The table.
    pub table: Arc<TableEntry>,
    /// Rows of it may change; else they are only looked at.
    pub written: bool,
    /// Of a written table: the edges of its own keys.
    pub parents: Vec<usize>,
    /// Of a written table: the edges of the keys that refer to it.
    pub children: Vec<usize>,
    linked: bool,
}

/// A foreign key of a [`ForeignKeyGraph`].
#[derive(Clone, Debug)]
pub struct Edge {
    /// The key.
    pub reference: Reference,
    /// The node that has the constraint.
    pub child: usize,
    /// The node referred to, if the table exists.
    pub parent: Option<usize>,
}

impl ForeignKeyGraph {
    /// The node of a table.
    #[must_use]
    pub fn node_of(&self, table: TableId) -> Option<usize> {
        self.nodes.iter().position(|node| node.table.definition.id == table)
    }

    fn add(&mut self, entry: &Arc<TableEntry>, written: bool) -> usize {
        match self.node_of(entry.definition.id) {
            Some(node) => {
                self.nodes[node].written |= written;
                node
            }
            None => {
                self.nodes.push(Node {
                    table: Arc::clone(entry),
                    written,
                    parents: Vec::new(),
                    children: Vec::new(),
                    linked: false,
                });
                self.nodes.len() - 1
            }
        }
    }
}
