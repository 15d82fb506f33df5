//! What the store should hold: plain maps, one state per commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::rc::Rc;

use store::{ReadView, ScanRange, Store, StoreError, Tree};

/// A tree's number, as the store names it.
pub type TreeNumber = u64;
/// A tree's records.
pub type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// What the store has of a tree in a snapshot.
///
/// # Errors
/// The store's.
pub fn stored_rows(store: &Store, tree: &Tree, view: &ReadView) -> Result<Rows, StoreError> {
    let mut scan = store.scan(tree, &ScanRange::all());
    let mut rows = Rows::new();
    let mut has_more = true;
    while has_more {
        has_more = scan.next_batch(view.reader(), |key, value| {
            rows.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })?;
    }
    Ok(rows)
}

/// Everything committed at one point.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct State {
    /// Trees that exist. Shared between states that do not differ in them.
    pub trees: BTreeMap<TreeNumber, Rc<Rows>>,
}

impl State {
    /// A record's value.
    #[must_use]
    pub fn get(&self, tree: TreeNumber, key: &[u8]) -> Option<&Vec<u8>> {
        self.trees.get(&tree)?.get(key)
    }

    /// This state with a transaction's changes.
    #[must_use]
    pub fn with(&self, changes: &Changes) -> State {
        let mut next = self.clone();
        for tree in &changes.created {
            next.trees.insert(*tree, Rc::default());
        }
        for ((tree, key), value) in &changes.rows {
            let Some(rows) = next.trees.get_mut(tree) else { continue };
            let rows = Rc::make_mut(rows);
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        for tree in &changes.dropped {
            next.trees.remove(tree);
        }
        next
    }

    /// In a few words, how `other` differs; empty if it does not.
    #[must_use]
    pub fn difference(&self, other: &State) -> String {
        let mut lines = Vec::new();
        let numbers: BTreeSet<_> = self.trees.keys().chain(other.trees.keys()).collect();
        for tree in numbers {
            match (self.trees.get(tree), other.trees.get(tree)) {
                (Some(_), None) => lines.push(format!("tree {tree} is missing")),
                (None, Some(rows)) => {
                    lines.push(format!("tree {tree} is too many, with {} records", rows.len()));
                }
                (Some(mine), Some(theirs)) => {
                    let keys: BTreeSet<_> = mine.keys().chain(theirs.keys()).collect();
                    for key in keys {
                        let (expected, found) = (mine.get(key), theirs.get(key));
                        if expected != found {
                            let (expected, found) = (short(expected), short(found));
                            lines.push(format!("tree {tree} key {}: {expected} is {found}", hex(key)));
                        }
                    }
                }
                (None, None) => {}
            }
        }
        let count = lines.len();
        lines.truncate(6);
        if count > lines.len() {
            lines.push(format!("and {} more", count - lines.len()));
        }
        lines.join("; ")
    }
}

fn short(value: Option<&Vec<u8>>) -> String {
    value.map_or_else(
        || "nothing".to_owned(),
        |value| format!("{} bytes {}", value.len(), hex(&value[..value.len().min(9)])),
    )
}

fn hex(bytes: &[u8]) -> String {
    let mut text: String = bytes.iter().take(24).map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > 24 {
        text.push_str("..");
    }
    text
}

/// A transaction's changes, newest only.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// New value, or none for a deletion.
    pub rows: BTreeMap<(TreeNumber, Vec<u8>), Option<Vec<u8>>>,
    /// Trees made.
    pub created: Vec<TreeNumber>,
    /// Trees dropped.
    pub dropped: Vec<TreeNumber>,
}

impl Changes {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.created.is_empty() && self.dropped.is_empty()
    }

    /// What the transaction itself sees over `state`.
    #[must_use]
    pub fn get<'a>(&'a self, state: &'a State, tree: TreeNumber, key: &[u8]) -> Option<&'a Vec<u8>> {
        match self.rows.get(&(tree, key.to_vec())) {
            Some(own) => own.as_ref(),
            None => state.get(tree, key),
        }
    }

    /// A tree as the transaction itself sees it over `state`.
    #[must_use]
    pub fn rows_over(&self, state: &State, tree: TreeNumber) -> Rows {
        let mut rows = state.trees.get(&tree).map(|rows| (**rows).clone()).unwrap_or_default();
        for ((of, key), value) in &self.rows {
            if *of == tree {
                match value {
                    Some(value) => rows.insert(key.clone(), value.clone()),
                    None => rows.remove(key),
                };
            }
        }
        rows
    }
}

/// All states since the last one known to be durable, oldest first.
#[derive(Debug, Default)]
pub struct History {
    states: Vec<(u64, Rc<State>)>,
}

impl History {
    /// A history that begins with an empty store.
    #[must_use]
    pub fn new() -> History {
        History { states: vec![(0, Rc::default())] }
    }

    /// A history that begins with this.
    #[must_use]
    pub fn of(state: State) -> History {
        History { states: vec![(0, Rc::new(state))] }
    }

    /// The newest state.
    #[must_use]
    pub fn newest(&self) -> Rc<State> {
        self.states.last().map(|(_, state)| Rc::clone(state)).unwrap_or_default()
    }

    /// How many states may still be the one that survives.
    #[must_use]
    pub fn candidate_count(&self) -> usize {
        self.states.len()
    }

    /// Position of the newest commit at or before `position`.
    #[must_use]
    pub fn newest_at(&self, position: u64) -> u64 {
        self.states.iter().rfind(|(at, _)| *at <= position).map_or(0, |(at, _)| *at)
    }

    /// Adds a commit at a log position.
    pub fn commit(&mut self, position: u64, changes: &Changes) {
        let next = self.newest().with(changes);
        self.states.push((position, Rc::new(next)));
    }

    /// Everything up to `position` is durable: older states cannot come back.
    pub fn durable(&mut self, position: u64) {
        let keep = self.states.iter().rposition(|(at, _)| *at <= position).unwrap_or(0);
        self.states.drain(..keep);
    }

    /// Whether one of the states that may survive agrees with `found`, the trees that `found` does not have left out.
    #[must_use]
    pub fn may_be(&self, found: &State) -> bool {
        let agrees =
            |state: &State| found.trees.iter().all(|(tree, rows)| state.trees.get(tree) == Some(rows));
        self.states.iter().any(|(_, state)| agrees(state))
    }

    /// Finds the state that survived, and makes it the only one. Answers its position.
    ///
    /// # Errors
    /// What is wrong, if it is none of the possible ones.
    pub fn survived(&mut self, found: &State) -> Result<u64, String> {
        match self.states.iter().rposition(|(_, state)| **state == *found) {
            Some(index) => {
                let survivor = self.states.swap_remove(index);
                let position = survivor.0;
                self.states = vec![survivor];
                Ok(position)
            }
            None => {
                // Tell the difference to the nearest candidate.
                let best = self
                    .states
                    .iter()
                    .map(|(at, state)| (*at, state.difference(found)))
                    .min_by_key(|(_, text)| text.len());
                let (at, text) = best.unwrap_or_default();
                Err(format!(
                    "none of {} possible states survived; nearest is that of position {at}: {text}",
                    self.states.len()
                ))
            }
        }
    }
}
