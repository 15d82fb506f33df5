//! What the server showed at the ends of a block: its process and its counters.

use client::{Connection, Error};

use crate::evidence::Block;
use crate::host;
use crate::load::Moment;
use crate::server::status::{Footprint, Snapshot};

/// What the server showed at the ends of a block.
#[derive(Default)]
pub(super) struct Readings {
    pid: Option<u32>,
    status: Vec<Result<Snapshot, Error>>,
    process: Vec<std::io::Result<host::process::Sample>>,
}

impl Readings {
    pub(super) fn of(pid: Option<u32>) -> Readings {
        Readings { pid, ..Readings::default() }
    }

    /// The process is read innermost, so that reading the counters is not in its CPU.
    pub(super) fn read(&mut self, moment: Moment, admin: &mut Connection) {
        match moment {
            Moment::Begins => {
                self.status.push(Snapshot::take(admin));
                self.process.extend(self.pid.map(host::process::Sample::take));
            }
            Moment::Ended => {
                self.process.extend(self.pid.map(host::process::Sample::take));
                self.status.push(Snapshot::take(admin));
            }
        }
    }

    pub(super) fn fill(mut self, block: &mut Block, footprint: &Footprint) -> Result<(), String> {
        let operations = block.operations.max(1);
        if let (Some(after), Some(before)) = (self.process.pop(), self.process.pop()) {
            let (after, before) =
                (after.map_err(|error| error.to_string())?, before.map_err(|error| error.to_string())?);
            let usage = after.since(&before).map_err(|error| error.to_string())?;
            block.server_cpu_ns_per_op = Some(usage.cpu_ns as f64 / operations as f64);
            block.server_run_queue_ns_per_op = usage.run_queue_ns.map(|ns| ns as f64 / operations as f64);
        }
        if let (Some(after), Some(before)) = (self.status.pop(), self.status.pop()) {
            let (after, before) =
                (after.map_err(|error| error.to_string())?, before.map_err(|error| error.to_string())?);
            let delta = after.since(&before).map_err(|error| error.to_string())?;
            block.status_per_op = delta.per_operation(operations, footprint);
        }
        Ok(())
    }
}
