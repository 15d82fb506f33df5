//! What ALTER TABLE keeps others from meanwhile.
//!
//! A statement that concerns one table begins as the one who defines it, and alone; while it builds or copies it lets others
//! back in, and for the end it is alone again. One that concerns several tables has them alone from beginning to end: waiting
//! for one while another is held could go round in a circle.

use std::sync::Arc;

use access::{MetadataMode, MetadataWait};
use catalog::TableEntry;
use table::{MetadataLock, Others};

use crate::ddl::tables::lock_all;
use crate::ddl::{Context, Result};
use crate::metadata::{MetadataLocks, lock_error, lock_of};

/// The locks of a statement. Dropping them gives them back.
pub(super) enum AlterLocks {
    /// One table, by its definer.
    One(Definer),
    /// All alone to the end; or nobody else sees the table, or LOCK TABLES has it.
    Alone { _locks: MetadataLocks },
}

/// The one who defines a table.
pub(super) struct Definer {
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
            let mut definer = Definer { lock: Arc::clone(lock), others: Some(Others::Write) };
            definer.be_alone(context.session.lock_wait)?;
            return Ok(Self::One(definer));
        }
        Ok(Self::Alone { _locks: lock_all(tables, context)? })
    }

    /// Lets others in again, if that is possible.
    pub(super) fn let_in(&mut self, others: Others) {
        if let Self::One(definer) = self
            && definer.others.is_none()
        {
            definer.lock.downgrade(others);
            definer.others = Some(others);
        }
    }

    /// Waits until nobody else uses the table.
    ///
    /// # Errors
    /// 1205, 1317.
    pub(super) fn be_alone(&mut self, lock_wait: MetadataWait<'_>) -> Result<()> {
        match self {
            Self::One(definer) => definer.be_alone(lock_wait),
            Self::Alone { .. } => Ok(()),
        }
    }
}

impl Definer {
    fn be_alone(&mut self, lock_wait: MetadataWait<'_>) -> Result<()> {
        if let Some(others) = self.others {
            let gone_up = self.lock.upgrade(others, lock_wait);
            self.others = if gone_up.is_ok() { None } else { Some(Others::Write) };
            gone_up.map_err(lock_error)?;
        }
        Ok(())
    }
}

impl Drop for Definer {
    fn drop(&mut self) {
        match self.others {
            None => self.lock.downgrade(Others::Write),
            Some(Others::Read) => self.lock.unlock(MetadataMode::ReadOnly),
            Some(Others::Write) => {}
        }
        self.lock.unlock(MetadataMode::Upgradable);
    }
}
