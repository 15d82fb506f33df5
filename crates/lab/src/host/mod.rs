//! What this machine can say about a server that runs on it.
//!
//! | module | gives |
//! | --- | --- |
//! | `process` | CPU, run-queue time, faults, memory of a process and its threads |
//! | `machine` | what the machine is; pressure and stolen time |
//! | `locate` | the process behind an address |
//!
//! Nothing here is needed: a server elsewhere is measured through its protocol alone, and each missing figure is `None` with
//! its reason.

pub mod locate;
pub mod machine;
pub mod process;
mod sys;
