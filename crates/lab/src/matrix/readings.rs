//! What the server showed at the ends of a block: its process and its counters.

use std::time::Instant;

use client::{Connection, Error};

use crate::evidence::Block;
use crate::host;
use crate::host::machine::Crowding;
use crate::load::Moment;
use crate::server::status::{Footprint, Snapshot};

/// What the server showed at the ends of a block.
#[derive(Default)]
pub(super) struct Readings {
    pid: Option<u32>,
    status: Vec<Result<Snapshot, Error>>,
    process: Vec<std::io::Result<host::process::Sample>>,
    crowding: Vec<(Instant, Crowding)>,
}

impl Readings {
    pub(super) fn of(pid: Option<u32>) -> Readings {
        Readings { pid, ..Readings::default() }
    }

    /// The process is read innermost, so that reading the counters is not in its CPU, nor in what others used.
    pub(super) fn read(&mut self, moment: Moment, admin: &mut Connection) {
        match moment {
            Moment::Begins => {
                self.status.push(Snapshot::take(admin));
                self.crowding.push((Instant::now(), Crowding::read()));
                self.process.extend(self.pid.map(host::process::Sample::take));
            }
            Moment::Ended => {
                self.process.extend(self.pid.map(host::process::Sample::take));
                self.crowding.push((Instant::now(), Crowding::read()));
                self.status.push(Snapshot::take(admin));
            }
        }
    }

    pub(super) fn fill(mut self, block: &mut Block, footprint: &Footprint) -> Result<(), String> {
        let operations = block.operations.max(1);
        let mut server_cpu_ns = None;
        if let (Some(after), Some(before)) = (self.process.pop(), self.process.pop()) {
            let (after, before) =
                (after.map_err(|error| error.to_string())?, before.map_err(|error| error.to_string())?);
            let usage = after.since(&before).map_err(|error| error.to_string())?;
            server_cpu_ns = Some(usage.cpu_ns as f64);
            block.server_cpu_ns_per_op = Some(usage.cpu_ns as f64 / operations as f64);
            block.server_run_queue_ns_per_op = usage.run_queue_ns.map(|ns| ns as f64 / operations as f64);
        }
        if let (Some((ended, after)), Some((began, before))) = (self.crowding.pop(), self.crowding.pop()) {
            let elapsed = ended.duration_since(began);
            let share = after.since(&before, u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX));
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let all_ns = elapsed.as_nanos() as f64 * cores as f64;
            // Without a difference in ticks the kernel has reported nothing.
            if after.cpu_ticks > before.cpu_ticks && all_ns > 0.0 {
                block.steal_share = Some(share.steal);
                let client_cpu_ns = block.client_cpu_ns_per_op * operations as f64;
                block.others_share = server_cpu_ns
                    .map(|ns| (share.busy - share.steal - (ns + client_cpu_ns) / all_ns).clamp(0.0, 1.0));
            }
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
