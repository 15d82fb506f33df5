//! Indexes built while others read and write the table.
//!
//! ```text
//! alone          trees are made and committed; the catalog gets a table that says what is built (plans are made anew)
//! beside others  parts of the rows are read, sorted, written; what writers note is settled (`table::IndexBuild`)
//! alone          the last notes are settled; then the caller commits the definition that names the trees
//! ```
//!
//! Until that last commit no definition on disk names the trees: after a crash they belong to nobody, and opening drops them. A
//! build that fails drops them itself.

use std::sync::Arc;

use catalog::{TableDefinition, TableEntry, TreeNumber};
use service::error as e;
use service::error::SqlError;
use table::{BuildPosition, IndexBuild, IndexBuildError, Others, Table};

use super::instant::same_form;
use super::locks::AlterLocks;
use crate::ddl::definitions::Definitions;
use crate::ddl::{Context, Result};

/// Notes are settled between two parts when they take so many bytes.
const NOTE_BYTES_BETWEEN_PARTS: usize = 1 << 20;
/// Few enough notes to settle them while nobody else gets to the table.
const NOTE_BYTES_AT_END: usize = 16 << 10;
/// Rounds of settling before the end, if writers are as fast as they.
const ROUNDS_MAX: usize = 16;

/// Whether the indexes `new` of `table` can be built from the columns of `old` as they are.
pub(super) fn can_build(
    old: &TableDefinition,
    table: &TableDefinition,
    new: &[usize],
    mapping: &[Option<usize>],
) -> bool {
    new.iter().flat_map(|&index| &table.indexes[index].parts).all(|part| {
        mapping[part.column]
            .is_some_and(|origin| same_form(&old.columns[origin], &table.columns[part.column]))
    })
}

/// Indexes that are built, or were. Dropping it takes them back.
pub(super) struct OnlineBuild<'a> {
    definitions: &'a Definitions,
    /// The table as the catalog has it meanwhile.
    entry: Arc<TableEntry>,
    source: Arc<Table>,
    build: Arc<IndexBuild>,
    /// Per new index: its ordinal in the new definition, its tree.
    trees: Vec<(usize, TreeNumber)>,
    kept: bool,
}

impl<'a> OnlineBuild<'a> {
    /// Builds the indexes `new` of `table`; nobody else uses the table before and after.
    ///
    /// # Errors
    /// 1062, 1205, 1317, 1799; nothing is left of the indexes then.
    pub(super) fn run(
        context: &Context<'a>,
        locks: &mut AlterLocks,
        others: Others,
        entry: &Arc<TableEntry>,
        table: &TableDefinition,
        new: &[usize],
        mapping: &[Option<usize>],
    ) -> Result<Self> {
        let this = Self::begin(context.definitions, entry, table, new, mapping)?;
        locks.let_in(others);
        this.fill(context)?;
        locks.be_alone(context.patience)?;
        this.build.settle(&this.source, false).map_err(|error| this.error(error))?;
        this.build.close();
        Ok(this)
    }

    fn begin(
        definitions: &'a Definitions,
        entry: &Arc<TableEntry>,
        table: &TableDefinition,
        new: &[usize],
        mapping: &[Option<usize>],
    ) -> Result<Self> {
        let mut change = definitions.begin();
        let mut building = (*entry.definition).clone();
        let first = building.indexes.len();
        let mut trees = Vec::new();
        for &ordinal in new {
            let mut index = table.indexes[ordinal].clone();
            index.tree = change.create_tree()?;
            for part in &mut index.parts {
                part.column = mapping[part.column].unwrap_or(part.column);
            }
            trees.push((ordinal, index.tree));
            building.indexes.push(index);
        }
        let (build, entry, source) = change.publish_building(entry, Arc::new(building), first)?;
        Ok(Self { definitions, entry, source, build, trees, kept: false })
    }

    /// Reads the rows, and settles what is noted until little is left.
    fn fill(&self, context: &Context<'_>) -> Result<()> {
        let alive = || match (context.patience.killed)() {
            true => Err(e::ER_QUERY_INTERRUPTED.bare()),
            false => Ok(()),
        };
        let mut position = BuildPosition::default();
        let mut more = true;
        while more {
            alive()?;
            more = self.build.read_part(&self.source, &mut position).map_err(|error| self.error(error))?;
            if self.build.note_bytes() > NOTE_BYTES_BETWEEN_PARTS {
                self.build.settle(&self.source, true).map_err(|error| self.error(error))?;
            }
        }
        for _ in 0..ROUNDS_MAX {
            alive()?;
            if self.build.note_bytes() <= NOTE_BYTES_AT_END {
                break;
            }
            self.build.settle(&self.source, true).map_err(|error| self.error(error))?;
        }
        Ok(())
    }

    #[cold]
    fn error(&self, error: IndexBuildError) -> Box<SqlError> {
        match error {
            IndexBuildError::Write(error) => exec::write_error(error),
            IndexBuildError::TooManyChanges => {
                e::ER_INNODB_ONLINE_LOG_TOO_BIG.with(&[&self.build.first_name()])
            }
        }
    }

    /// The trees, by ordinal of their index.
    pub(super) fn trees(&self) -> &[(usize, TreeNumber)] {
        &self.trees
    }

    /// A definition that names the trees is being committed.
    pub(super) fn keep(mut self) {
        self.kept = true;
    }

    fn take_back(&self) -> Result<()> {
        let mut change = self.definitions.begin();
        let trees: Vec<u64> = self.trees.iter().map(|(_, tree)| tree.0).collect();
        change.drop_trees(&trees)?;
        change.put_altered(Arc::new((*self.entry.definition).clone()), &self.entry)?;
        change.commit().map(|_| ())
    }
}

impl Drop for OnlineBuild<'_> {
    fn drop(&mut self) {
        self.build.close();
        if !self.kept {
            // If not even this can be done the store has stopped; the next opening drops trees that nobody names.
            let _stopped = self.take_back();
        }
    }
}
