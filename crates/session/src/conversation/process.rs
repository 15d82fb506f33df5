//! The session's own entry in the process list.

use std::ops::Deref;
use std::sync::Arc;

use crate::processes::{Activity, ProcessEntry};

/// The entry, and what the session knows that it shows.
#[derive(Debug)]
pub(crate) struct SessionProcess {
    entry: Arc<ProcessEntry>,
    /// The prepared statement whose text the entry shows; 0: another text.
    shown_statement: u32,
}

impl SessionProcess {
    pub(super) fn new(entry: Arc<ProcessEntry>) -> Self {
        Self { entry, shown_statement: 0 }
    }

    /// The entry, for who needs the session beside it.
    pub(super) fn entry(&self) -> Arc<ProcessEntry> {
        Arc::clone(&self.entry)
    }

    /// As after a login: the next statement writes its text. Identity and counters are their owners' to change.
    pub(super) fn reset(&mut self) {
        self.shown_statement = 0;
    }

    /// A statement from text starts.
    #[inline]
    pub(super) fn begin_text(&mut self, activity: Activity, wall_micros: i64, text: &[u8]) {
        self.shown_statement = 0;
        self.entry.begin(activity, wall_micros, text);
    }

    /// A prepared statement starts. Its text is written only if the entry shows another.
    #[inline]
    pub(super) fn begin_prepared(&mut self, id: u32, wall_micros: i64, text: &[u8]) {
        if self.shown_statement == id {
            self.entry.begin_again(Activity::Execute, wall_micros);
        } else {
            self.shown_statement = id;
            self.entry.begin(Activity::Execute, wall_micros, text);
        }
    }
}

impl Deref for SessionProcess {
    type Target = ProcessEntry;

    #[inline]
    fn deref(&self) -> &ProcessEntry {
        &self.entry
    }
}
