//! What ALTER TABLE keeps others from meanwhile.
//!
//! A statement that concerns one table begins with its metadata lock exclusive; while it builds or copies it lets others in, and for
//! the end the lock is exclusive again. One that concerns several tables holds their locks exclusively from beginning to end: waiting
//! for one while another is held could be a deadlock.

use std::sync::Arc;

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use table::{MetadataLock, Others};

use crate::ddl::tables::lock_all;
use crate::ddl::{Context, Result};
use crate::metadata::{MetadataLocks, lock_error, lock_of};

/// The locks of a statement. Dropping them gives them back.
pub(super) enum AlterLocks {
    /// One table, whose lock can be exclusive or let others in.
    One(ExclusiveHolder),
    /// All alone to the end; or nobody else sees the table, or LOCK TABLES has it.
    Alone { _locks: MetadataLocks },
}

/// The holder of a table's metadata lock, exclusive or upgradable.
pub(super) struct ExclusiveHolder {
    lock: Arc<MetadataLock>,
    /// `None`: it is alone.
    others: Option<Others>,
}

impl AlterLocks {
    /// Takes the locks of `tables`, of which the first is altered.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn take(tables: &[Arc<TableEntry>], context: &Context<'_>) -> Result<Self> {
        if let [table] = tables
            && let Some(lock) = lock_of(table).filter(|lock| !context.locked_tables.holds(lock))
        {
            lock.lock(MetadataMode::Upgradable, context.session.lock_wait).map_err(lock_error)?;
            let mut holder = ExclusiveHolder { lock: Arc::clone(lock), others: Some(Others::Write) };
            holder.be_alone(context.session.lock_wait)?;
            return Ok(Self::One(holder));
        }
        Ok(Self::Alone { _locks: lock_all(tables, context)? })
    }

    /// Lets others in again, if that is possible.
    pub(super) fn let_in(&mut self, others: Others) {
        if let Self::One(holder) = self
            && holder.others.is_none()
        {
            holder.lock.downgrade(others);
            holder.others = Some(others);
        }
    }

    /// Waits until nobody else uses the table.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn be_alone(&mut self, lock_wait: MetadataWait<'_>) -> Result<()> {
        match self {
            Self::One(holder) => holder.be_alone(lock_wait),
            Self::Alone { .. } => Ok(()),
        }
    }
}

impl ExclusiveHolder {
    fn be_alone(&mut self, lock_wait: MetadataWait<'_>) -> Result<()> {
        if let Some(others) = self.others {
            let gone_up = self.lock.upgrade(others, lock_wait);
            self.others = if gone_up.is_ok() { None } else { Some(Others::Write) };
            gone_up.map_err(lock_error)?;
        }
        Ok(())
    }
}

impl Drop for ExclusiveHolder {
    fn drop(&mut self) {
        match self.others {
            None => self.lock.downgrade(Others::Write),
            Some(Others::Read) => self.lock.unlock(MetadataMode::ReadOnly),
            Some(Others::Write) => {}
        }
        self.lock.unlock(MetadataMode::Upgradable);
    }
}
