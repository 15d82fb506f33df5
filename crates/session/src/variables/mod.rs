//! System variables: what `SET`, `SHOW VARIABLES` and `@@name` see.
//!
//! The table of all variables is data (`system_variables.tsv`): names, scopes, ranges and defaults as MySQL 9.7
//! answers with them. A variable that changes how Invar works has a constant here ([`id`]) and is read through it;
//! the others are accepted, checked and shown, so that clients which set them go on (`docs/status.md` lists them).
//!
//! Invariants:
//! 1. A stored value has passed its variable's check: type, range, allowed names.
//! 2. A session starts with a copy of the globals (one shared block; the first own `SET` copies it).
//!
//! Read next: [`definition`] (the table), [`values`] (what a scope holds), [`assign`] (from an expression's value to a
//! stored one, with MySQL's errors), [`settings`] (what a session derives from its values).

pub mod assign;
pub mod definition;
pub(crate) mod flag_list;
pub mod gtid;
pub mod isolation;
pub mod optimizer_switch;
pub mod settings;
pub mod sql_mode;
pub mod values;

pub use definition::{Access, Definition, Kind, Scope, VariableId, by_name, definitions};
pub use values::{Setting, Variables};
