//! What a session knows of the triggers that its statements fire and of the functions that they call: which tables are in use, which are locked, and who may run what. What runs
//! them: [`super::triggers`].

use std::sync::Arc;

use ::access::MetadataMode;
use catalog::{Accounts, RoutineDefinition, TableDefinition, TableEntry, TableId, TableKind, TriggerEvent};
use hashbrown::HashMap;
use plan::PhysicalPlan;

use crate::privilege::SessionAccount;
use crate::routine::Routine;

/// A table, and how it is locked.
pub(super) type Wanted = (Arc<TableEntry>, MetadataMode);

/// What the triggers of a definition use, and as of which version of the catalog.
pub(super) type Used = (Arc<TableDefinition>, u64, Arc<[Wanted]>);

/// What a function uses, and as of which version of the catalog.
pub(super) type UsedByFunction = (Arc<RoutineDefinition>, u64, Arc<[Wanted]>);

/// The account of a program, and as of which accounts.
pub(super) type Definer = (Arc<Routine>, Arc<Accounts>, Arc<SessionAccount>);

/// What a session knows of triggers and functions in run.
#[derive(Debug, Default)]
pub(super) struct Firings {
    /// Tables of the statements that run them, outermost first.
    used: Vec<TableId>,
    /// Tables whose metadata locks the outermost statement took.
    pub(super) locked: Vec<Arc<[Wanted]>>,
    /// The locks of what the triggers of a definition use: for these events, as of this version of the catalog.
    pub(super) kept: HashMap<(usize, &'static [TriggerEvent]), Used>,
    /// The locks of what a function uses, as of this version of the catalog, by where its definition lies.
    pub(super) functions: HashMap<usize, UsedByFunction>,
    /// Statements in run that fire triggers or call functions.
    depth: usize,
    /// Definers found to be allowed what their trigger does, as of these accounts.
    definers: HashMap<usize, Definer>,
}

/// Definers that a session remembers.
const DEFINERS_MAX: usize = 64;

impl Firings {
    /// Whether a statement in run uses the table.
    pub(super) fn is_used(&self, table: TableId) -> bool {
        self.used.contains(&table)
    }

    /// Whether a statement that may fire triggers or call functions is in run.
    pub(super) fn are_any(&self) -> bool {
        self.depth > 0
    }

    /// Whether the statement in run has what it needs to use the table.
    pub(super) fn has_lock(&self, table: &Arc<TableDefinition>) -> bool {
        table.kind != TableKind::Base && table.kind != TableKind::View
            || self.locked.iter().flat_map(|list| &**list).any(|(entry, _)| entry.definition.id == table.id)
    }

    /// The account of a program, if it was found to be allowed what the program does, as accounts are now.
    pub(super) fn definer_of(
        &self,
        routine: &Arc<Routine>,
        accounts: &Arc<Accounts>,
    ) -> Option<Arc<SessionAccount>> {
        let (_, seen, account) = self.definers.get(&Arc::as_ptr(routine).addr())?;
        Arc::ptr_eq(seen, accounts).then(|| Arc::clone(account))
    }

    /// Remembers the account of a program, which may do what the program does.
    pub(super) fn keep_definer(
        &mut self,
        routine: &Arc<Routine>,
        accounts: &Arc<Accounts>,
        account: &Arc<SessionAccount>,
    ) {
        if self.definers.len() >= DEFINERS_MAX {
            self.definers.clear();
        }
        let definer = (Arc::clone(routine), Arc::clone(accounts), Arc::clone(account));
        self.definers.insert(Arc::as_ptr(routine).addr(), definer);
    }

    /// A statement begins that may fire triggers or call functions. Answers a mark for [`Firings::leave`].
    pub(super) fn enter(&mut self, plan: &PhysicalPlan) -> usize {
        self.depth += 1;
        let mark = self.used.len();
        self.used.extend(plan.tables.iter().map(|table| table.entry.definition.id));
        mark
    }

    /// It ends.
    pub(super) fn leave(&mut self, mark: usize) {
        self.depth -= 1;
        self.used.truncate(mark);
    }
}
