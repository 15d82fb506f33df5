//! What a session shares with others: the server's parts, the connection's switch, its entry in the process list.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use access::MetadataWait;
use service::{ConnectionControl, SqlError};

use super::process::SessionProcess;
use super::session_variables::SessionVariables;
use crate::backend::Backend;
use crate::core::Core;
use crate::deadlines::Deadline;
use crate::plans::shared::SharedPlans;
use crate::processes::ProcessEntry;

/// What a session shares with others.
pub(super) struct Shared<B: Backend> {
    pub(super) core: Arc<Core>,
    pub(super) backend: Arc<B>,
    pub(super) plans: Arc<SharedPlans<B>>,
    pub(super) control: Arc<ConnectionControl>,
    pub(super) process: SessionProcess,
}

impl<B: Backend> Shared<B> {
    /// The time of a statement begins.
    ///
    /// # Errors
    /// As [`crate::deadlines::Deadlines::begin`].
    pub(super) fn begin_deadline(&self, limit: Duration) -> Result<Box<Deadline>, Box<SqlError>> {
        self.core.deadlines.begin(&self.core.env, &self.control, limit).map(Box::new)
    }

    /// Runs `run` with how long this session waits for metadata locks: `lock_wait_timeout`, or until it is killed.
    #[inline]
    pub(super) fn with_lock_wait<R>(
        &self,
        variables: &SessionVariables,
        may_requeue: bool,
        run: impl FnOnce(MetadataWait<'_>) -> R,
    ) -> R {
        let control = &self.control;
        run(MetadataWait { time: variables.lock_wait(), killed: &|| control.is_killed(), may_requeue })
    }

    /// Whether a read may do without metadata locks. To be asked after the read's snapshot is taken: then no change that was
    /// made under a lock is in the snapshot unless this says so.
    #[inline]
    pub(super) fn reads_unlocked(&self) -> bool {
        self.core.table_locks.load(Ordering::SeqCst) == 0
    }

    /// The statement has ended: it changes nothing any longer.
    #[inline]
    pub(super) fn leave_change(&self) {
        leave_change(&self.core, &self.process);
    }
}

/// As [`Shared::leave_change`].
#[inline]
pub(super) fn leave_change(core: &Core, process: &ProcessEntry) {
    if process.changing.statement.load(Ordering::Relaxed) {
        core.read_lock.leave(&process.changing.statement);
    }
}
