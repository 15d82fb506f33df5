//! What is known of tables is found again by itself when a tenth of a table has changed (`innodb_stats_auto_recalc`).
//!
//! One thread looks at all tables now and then: two numbers of each, without a lock. A table that changed enough is sampled as ANALYZE TABLE does, and the
//! thread then rests for a hundred times the processor time that took: rows that change all the time cost others at most a hundredth of a core. A table sampled
//! for the first time, as after a bulk load, is worth a twentieth, because plans without statistics are worse than plans with old ones.

use std::sync::{Arc, Weak};
use std::time::Duration;

use access::MetadataMode;
use catalog::TableEntry;
use env::Env;
use env::threads::Thread;
use parking_lot::{Condvar, Mutex};
use session::core::Core;
use session::variables::definition::known;
use table::{CheckEnd, HistogramEnd, Table};

use crate::local::LocalBackend;
use crate::metadata::lock_of;

/// How often tables are looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// How urgent a change may be, in times of what is enough to look at a table.
const CHANGE_MOST: f64 = 4.0;
/// Until the next look after one that failed.
const REST_AFTER_ERROR: Duration = Duration::from_secs(30);
/// How many times the processor time of a first sample of a table is rest.
const REST_FACTOR_FIRST: u32 = 20;
/// The same of a table that has statistics.
const REST_FACTOR_AGAIN: u32 = 100;

/// The thread. It ends with the server.
#[derive(Debug, Default)]
pub(crate) struct Recalculation {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Mutex<Option<Thread>>,
}

impl Recalculation {
    /// Starts the thread. In a world without threads nothing happens by itself.
    pub(crate) fn start(&self, env: &Env, core: &Arc<Core>, backend: &Arc<LocalBackend>) {
        let ended = Arc::clone(&self.ended);
        let (core, backend) = (Arc::downgrade(core), Arc::downgrade(backend));
        let own = env.clone();
        let work = move || run(&own, &ended, &core, &backend);
        match env.threads.spawn("statistics", Box::new(work)) {
            Ok(thread) => *self.thread.lock() = Some(thread),
            Err(error) => session::error_log::warning(
                env,
                &format!("statistics are not found again by themselves: no thread: {error}"),
            ),
        }
    }

    /// Ends the thread and waits for it.
    pub(crate) fn stop(&self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.lock().take() {
            // A panic there was reported by the panic hook.
            let _ended_well = thread.join();
        }
    }
}

impl Drop for Recalculation {
    fn drop(&mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
    }
}

/// The server is being closed.
#[derive(Debug)]
struct Closed;

fn run(env: &Env, ended: &(Mutex<bool>, Condvar), core: &Weak<Core>, backend: &Weak<LocalBackend>) {
    let mut rest = INTERVAL;
    loop {
        let mut is_ended = ended.0.lock();
        if !*is_ended {
            ended.1.wait_for(&mut is_ended, rest);
        }
        if *is_ended {
            return;
        }
        drop(is_ended);
        let (Some(core), Some(backend)) = (core.upgrade(), backend.upgrade()) else { return };
        rest = INTERVAL;
        let globals = core.globals();
        if !globals.boolean(known::innodb_stats_auto_recalc()) {
            continue;
        }
        let sample_pages = globals.unsigned(known::innodb_stats_persistent_sample_pages());
        drop(globals);
        let Some(entry) = changed_table(&core) else { continue };
        let rest_factor = match Table::of(&entry.source) {
            Some(table) if table.has_collected() => REST_FACTOR_AGAIN,
            _ => REST_FACTOR_FIRST,
        };
        let before = env.threads.own_cpu_time();
        let now = env.clock.wall_micros();
        let go_on = &mut || if *ended.0.lock() { Err(Closed) } else { Ok(()) };
        let Some(lock) = lock_of(&entry).filter(|lock| lock.try_lock(MetadataMode::Read)) else { continue };
        let outcome = backend.find_again(&entry, sample_pages, now, go_on);
        lock.unlock(MetadataMode::Read);
        match outcome {
            Ok(()) => {}
            Err(HistogramEnd::Check(CheckEnd::Asked(Closed))) => return,
            // A full disk, say: the table stays changed, and is looked at later.
            Err(error) => {
                let (schema, table) = (&entry.definition.schema, &entry.definition.name);
                let text = format!("statistics of {schema}.{table} are not found again now: {error:?}");
                session::error_log::warning(env, &text);
                rest = REST_AFTER_ERROR;
                continue;
            }
        }
        let took = env.threads.own_cpu_time().saturating_sub(before);
        rest = (took * rest_factor).max(INTERVAL);
    }
}

/// The table whose rows changed most since it was looked at, of those that changed enough.
fn changed_table(core: &Core) -> Option<Arc<TableEntry>> {
    let catalog = core.catalog().load();
    let mut most: Option<(f64, Arc<TableEntry>)> = None;
    for schema in catalog.schemas_sorted() {
        for entry in schema.tables_sorted() {
            let Some(table) = Table::of(&entry.source) else { continue };
            // What is known of none is due as well; a table of a few rows that changes all the time keeps no other one waiting.
            let change = table.change().min(CHANGE_MOST);
            if change >= 1.0 && most.as_ref().is_none_or(|(of, _)| *of < change) {
                most = Some((change, Arc::clone(entry)));
            }
        }
    }
    most.map(|(_, entry)| entry)
}
