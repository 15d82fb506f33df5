//! Running stored procedures.
//!
//! ```text
//! CREATE      definition   parse, compile (all of MySQL's errors), keep the text in the dictionary
//! CALL        call         arguments -> a frame; compile the text unless this session has the program
//! run         run          a loop over the instructions of the innermost frame
//! failure     handler      which handler, of this frame or one further out; else the CALL fails
//! ```
//!
//! Each statement or expression of a program ([`crate::routine`]) is planned when it first runs in a session, and the plan is kept beside
//! the program until the catalog changes. A variable is a parameter of those plans, so that a changed value needs no new plan.
//!
//! A CALL inside a routine pushes a frame; it does not recurse. Between two instructions KILL and timeouts are looked at.
//! A routine runs each statement as the client would have: its own transaction with autocommit, its own savepoint else.
//!
//! Invariant: whatever a frame changed of the session (database, account, `sql_mode`, character sets) is put back when it goes.
//!
//! Read next: [`super::routines`] (what is kept), [`crate::routine::program`], `call`, `run`, `handler`.

pub(super) mod call;
pub(super) mod condition;
pub(super) mod definition;
mod handler;
pub(super) mod run;
pub(super) mod statement;

pub(super) use call::{pop_frames, pop_frames_to};
pub(super) use definition::{
    define_program, definer, require_definer, show_create_routine, show_routine_status,
};

/// Frames one CALL may nest, however large `max_sp_recursion_depth` is.
pub(super) const FRAMES_MAX: usize = 512;
