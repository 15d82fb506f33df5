//! The AUTO_INCREMENT counter: numbers are handed out from memory and never again, also after a crash.
//!
//! The store holds a *watermark* above every number handed out. A number at the watermark first moves the watermark, in
//! a transaction of its own that waits for nobody: its commit stands in the log before the commit of the row that uses
//! the number, so whenever that row survives a crash the watermark does too. A clean shutdown writes the exact value.
//!
//! A watermark that cannot be read fails who wants a number, or brings one, until the server is started again; nobody else.

use std::sync::atomic::{AtomicU64, Ordering};

use access::{Error, take_of_series};
use catalog::{TableDefinition, TableKind};
use parking_lot::Mutex;
use store::{Store, StoreError, TreeId};
use types::{DataType, TypeKind};

use crate::error::WriteError;

/// The tree of watermarks: table number (8 bytes, big-endian) to number (8 bytes, little-endian).
pub(crate) const COUNTERS_TREE: TreeId = TreeId(2);
/// How far ahead of the numbers in use the watermark is kept, at most.
const AHEAD_MAX: u64 = 4096;
/// How far ahead it is kept at first.
const AHEAD_MIN: u64 = 16;

/// The counter of one table.
#[derive(Debug)]
pub struct AutoIncrement {
    key: [u8; 8],
    /// The number the next row gets.
    next: AtomicU64,
    /// Numbers below it may be handed out. `u64::MAX` for a temporary table, which needs no watermark.
    watermark: AtomicU64,
    /// Largest value of the column.
    limit: u64,
    /// Held while the watermark moves; how far it moved last.
    moving: Mutex<u64>,
    /// Why the watermark could not be read.
    unreadable: Option<StoreError>,
}

/// The largest value an AUTO_INCREMENT column of this type can take.
#[must_use]
pub fn auto_increment_limit(data_type: &DataType) -> u64 {
    let bits = match data_type.kind {
        TypeKind::TinyInt => 8,
        TypeKind::SmallInt => 16,
        TypeKind::MediumInt => 24,
        TypeKind::Int => 32,
        TypeKind::Float => return 1 << 24,
        TypeKind::Double => return 1 << 53,
        _ => 64,
    };
    let all = u64::MAX >> (64 - bits);
    if data_type.unsigned { all } else { all >> 1 }
}

impl AutoIncrement {
    pub(crate) fn open(store: &Store, table: &TableDefinition) -> Result<Self, StoreError> {
        let key = table.id.0.to_be_bytes();
        let limit = table
            .auto_increment_column()
            .map_or(u64::MAX, |ordinal| auto_increment_limit(&table.columns[ordinal].data_type));
        let (mut next, mut unreadable) = (1, None);
        if table.kind == TableKind::Base && table.auto_increment_column().is_some() {
            let tree = store.tree(COUNTERS_TREE)?;
            let view = store.read_view();
            let read = |value: &[u8]| value.try_into().ok().map(u64::from_le_bytes);
            match store.get(&tree, &key, view.reader(), read) {
                Ok(stored) => next = stored.flatten().unwrap_or(1).max(1),
                Err(error @ (StoreError::Corrupt { .. } | StoreError::Read { .. })) => {
                    unreadable = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        let watermark = if table.kind == TableKind::Base { next } else { u64::MAX };
        Ok(Self {
            key,
            next: AtomicU64::new(next),
            watermark: AtomicU64::new(watermark),
            limit,
            moving: Mutex::new(AHEAD_MIN),
            unreadable,
        })
    }

    fn require_readable(&self) -> Result<(), WriteError> {
        self.unreadable.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    /// The number the next row would get.
    #[must_use]
    pub fn peek(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// Hands out `count` numbers in a row; answers the first. Numbers that end up unused are lost, as with
    /// `innodb_autoinc_lock_mode = 2`.
    ///
    /// # Errors
    /// `AutoIncrementExhausted` when the column's type has no such number; the store's.
    pub fn reserve(&self, store: &Store, count: u64) -> Result<u64, WriteError> {
        self.require_readable()?;
        let first = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (next <= self.limit).then(|| next.saturating_add(count).min(self.limit.saturating_add(1)))
        });
        let first = match first {
            Ok(first) => first,
            // As MySQL: the largest number again, which a row has already; only 64 bits run out with an error.
            Err(_) if self.limit < u64::MAX => return Ok(self.limit),
            Err(_) => return Err(Error::NumbersExhausted.into()),
        };
        if first.checked_add(count.saturating_sub(1)).is_none_or(|last| last > self.limit) {
            return Err(Error::NumbersExhausted.into());
        }
        self.raise_watermark(store, first.saturating_add(count))?;
        Ok(first)
    }

    /// Hands out `count` numbers of the series `offset`, `offset + increment`, `offset + 2 * increment`, ...; answers the
    /// first ([`take_of_series`]).
    ///
    /// # Errors
    /// `AutoIncrementExhausted` when the type has not as many numbers left, or its largest is that of 64 bits; the store's.
    pub(crate) fn reserve_series(
        &self,
        store: &Store,
        count: u64,
        increment: u64,
        offset: u64,
    ) -> Result<u64, WriteError> {
        self.require_readable()?;
        let mut reserved = (0, 0);
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                reserved = take_of_series(next, count, increment, offset, self.limit)?;
                Some(reserved.1)
            })
            .map_err(|_| Error::NumbersExhausted)?;
        self.raise_watermark(store, reserved.1)?;
        Ok(reserved.0)
    }

    /// Makes sure that no number up to `value`, which a row holds now, is handed out.
    ///
    /// # Errors
    /// The store's.
    pub fn observe(&self, store: &Store, value: u64) -> Result<(), WriteError> {
        self.require_readable()?;
        if value > self.limit || value < self.next.load(Ordering::Relaxed) {
            return Ok(());
        }
        let next = value.saturating_add(1);
        self.next.fetch_max(next, Ordering::Relaxed);
        self.raise_watermark(store, next)
    }

    /// Sets the counter to `next` (ALTER TABLE ... AUTO_INCREMENT=, TRUNCATE), as part of no transaction.
    ///
    /// # Errors
    /// The store's.
    pub fn set(&self, store: &Store, next: u64) -> Result<(), WriteError> {
        self.require_readable()?;
        let _moving = self.moving.lock();
        let next = next.max(1);
        self.next.store(next, Ordering::Relaxed);
        if self.watermark.load(Ordering::Relaxed) != u64::MAX {
            self.write(store, next)?;
            self.watermark.store(next, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes the exact value, so that the next start goes on without a gap (clean shutdown).
    ///
    /// # Errors
    /// The store's.
    pub fn save(&self, store: &Store) -> Result<(), WriteError> {
        let watermark = self.watermark.load(Ordering::Relaxed);
        if watermark == u64::MAX || watermark == self.peek() {
            return Ok(());
        }
        self.set(store, self.peek())
    }

    fn raise_watermark(&self, store: &Store, end: u64) -> Result<(), WriteError> {
        if end <= self.watermark.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut ahead = self.moving.lock();
        if end <= self.watermark.load(Ordering::Acquire) {
            return Ok(());
        }
        let watermark = end.saturating_add(*ahead).min(u64::MAX - 1);
        *ahead = (*ahead * 2).min(AHEAD_MAX);
        self.write(store, watermark)?;
        self.watermark.store(watermark, Ordering::Release);
        Ok(())
    }

    fn write(&self, store: &Store, watermark: u64) -> Result<(), WriteError> {
        let tree = store.tree(COUNTERS_TREE)?;
        let mut transaction = store.begin();
        transaction
            .put(&tree, &self.key, &watermark.to_le_bytes(), crate::WAIT_INTERNAL)
            .map_err(crate::error::from_store)?;
        transaction.commit()?;
        Ok(())
    }
}
