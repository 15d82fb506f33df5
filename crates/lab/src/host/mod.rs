//! What this machine can say about a server that runs on it.
//!
//! | module | gives |
//! | --- | --- |
//! | `process` | CPU, run-queue time, faults, memory of a process and its threads |
//! | `machine` | what the machine is; pressure and stolen time |
//! | `cores` | which cores threads may run on |
//! | `awake` | cores that do not sleep |
//! | `locate` | the process behind an address |
//! | `stacks` | sampled stacks, their difference, flame graphs |
//! | `probes` | how often functions are called |
//! | `tool` | outside programs, with a time limit |
//! | `doctor` | which of all this works here |
//! | `elf` | names of functions in a program file |
//!
//! Nothing here is needed: a server elsewhere is measured through its protocol alone, and each missing figure is `None` with
//! its reason.

pub mod awake;
pub mod cores;
pub mod elf;
pub mod locate;
pub mod machine;
pub mod probes;
pub mod process;
pub mod stacks;
pub(crate) mod sys;
pub mod tool;
