//! What exists: schemas, tables, routines, accounts and persisted variables, as immutable snapshots.
//!
//! A statement takes the current [`Catalog`] once (one atomic load through [`CatalogHandle`]) and sees the same
//! definitions until it ends, whatever DDL does meanwhile. DDL builds a new snapshot that shares every unchanged
//! part with the old one and publishes it when its store transaction commits. A plan remembers the
//! [`Catalog::version`] it was made for.
//!
//! The crate also holds the traits by which queries reach tables ([`TableSource`], [`TableStatistics`],
//! [`VirtualTable`]), so that the planner needs to know neither rows nor bytes, and the text of SHOW CREATE
//! ([`show_create_table`]), which is a pure function of a definition.
//!
//! Invariants:
//! 1. A published snapshot never changes; everything in it is shared by `Arc`.
//! 2. `Catalog::version` grows with each published snapshot.
//! 3. A table's column and index ordinals are positions in its definition and are stable within one definition.
//! 4. Names keep the case they were created with; schema and table names compare byte by byte (as MySQL with
//!    `lower_case_table_names = 0`), column, index and constraint names ignore case.
//!
//! ```
//! use catalog::{Catalog, CatalogHandle};
//! let handle = CatalogHandle::new(Catalog::new());
//! let seen = handle.load();
//! let mut next = Catalog::clone(&seen);
//! next.version += 1;
//! handle.publish(next);
//! assert_eq!(handle.version(), seen.version + 1, "a statement that has begun keeps what it has seen");
//! ```

mod account;
mod definition;
mod event;
mod name;
mod routine;
mod show_create;
mod snapshot;
mod trigger;
mod view;

pub use access::{
    CollectedStatistics, ColumnStatistics, KeyBound, KeyBytes, KeyBytesRange, KeyRange, TableStatistics,
};
pub use account::{
    Account, AccountId, AccountTls, Accounts, AuthPlugin, ColumnPrivileges, EarlierPassword, PasswordLocking,
    PasswordPolicy, Privileges, ResourceLimits, RoutinePrivileges, SchemaPrivileges, TablePrivileges,
};
pub use definition::{
    CheckConstraint, ColumnDefault, ColumnDefinition, DroppedColumn, EarlierForm, ForeignKey,
    ForeignKeyAction, GeneratedColumn, GeneratedKind, IndexAlgorithm, IndexDefinition, IndexKind, IndexPart,
    RowFormatOption, SchemaId, StoredValue, TableDefinition, TableId, TableKind, TableOptions, TreeNumber,
};
pub use event::{
    EventDefinition, EventId, EventInterval, EventSchedule, EventStatus, EventUnit, Events, LastExecuted,
};
pub use name::{NameMap, fold_name, names_equal};
pub use routine::{DataAccess, RoutineDefinition, RoutineId, RoutineKind, Routines};
pub use show_create::{
    append_identifier, append_string, escaped_expression, show_create_event, show_create_routine,
    show_create_schema, show_create_table, show_create_trigger, with_padded_defaults,
};
pub use snapshot::{
    Catalog, CatalogHandle, Edge, ForeignKeyGraph, LockWait, Node, Reference, References, Schema, TableEntry,
    TableSource, VirtualContext, VirtualError, VirtualScan, VirtualTable, leading_index, unique_index,
};
pub use trigger::{TriggerDefinition, TriggerEvent, TriggerTiming, fired};
pub use view::{CheckOption, ViewAlgorithm, ViewDefinition};
