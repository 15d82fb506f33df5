//! Foreign keys: rows that name a parent have one, whatever changes on either side.
//!
//! A plan resolves the keys that its change may touch once ([`ForeignKeys::new`]): tables, indexes, columns by ordinal. Then
//! each row costs one index probe per key concerned, and a table without keys nothing.
//!
//! ```text
//! child:  INSERT, UPDATE   its key's values -> bytes of the parent's index -> locked shared, newest version: there?
//! parent: UPDATE, DELETE   the old key -> bytes of the child's index -> RESTRICT: any row? CASCADE, SET NULL: each row
//! ```
//!
//! The order for one row is that of MySQL 9.7: children that restrict, children that follow (each with its own children
//! first), the row's own parents, then the row itself.
//!
//! Invariants:
//! 1. A check reads what is committed now, and waits for who has changed it and not yet committed; the snapshot has no say.
//! 2. Who changes a parent's key holds the parent's row and the entry of the index that children look it up by, both
//!    exclusively, before it looks for children. So no child can come in between: it locks that entry, shared.
//! 3. After an error all of the row's cascades are undone.
//! 4. A row that a cascade meets again while it is being worked on is left alone: cascades end.
//!
//! A column's value is looked up by its bytes. Where the two ends keep a type differently (DECIMALs of other scales, DATETIME
//! beside TIMESTAMP) nothing is found, as in MySQL.
//!
//! Read next: `link` (the resolved keys), `change` (what happens to a row).

mod change;
mod link;

pub use link::ForeignKeys;

/// Levels of rows that one change may touch by cascades, the statement's own row the first of them (MySQL's limit).
pub(crate) const CASCADE_DEPTH_MAX: usize = 15;
