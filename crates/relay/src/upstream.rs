//! One connection to the backend, as a loop has it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use server::Io;
use wire::Capabilities;

use crate::answer::Answer;
use crate::entry::Entry;
use crate::settings::Profile;

/// Prepared statements that one connection keeps.
const HANDLES_MAX: usize = 128;

/// What clients must have in common to share connections.
pub(crate) const KEY: Capabilities = Capabilities(
    Capabilities::FOUND_ROWS.0
        | Capabilities::LOCAL_FILES.0
        | Capabilities::MULTI_STATEMENTS.0
        | Capabilities::DEPRECATE_EOF.0,
);

/// A connection that was just made.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) io: Io,
    pub(crate) key: Capabilities,
    pub(crate) capabilities: Capabilities,
    pub(crate) thread: u32,
    /// The backend says when a statement changed its session.
    pub(crate) tracks: bool,
}

/// A prepared statement of a connection.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) id: u32,
    used: u64,
    /// Client and statement whose parameter types it was executed with last.
    pub(crate) types_of: Option<(u64, u32)>,
    /// It has a cursor or long data.
    pub(crate) is_busy: bool,
}

/// Prepared statements by digest; the one used least recently makes room.
#[derive(Debug, Default)]
pub(crate) struct Handles {
    by_digest: HashMap<u64, Handle>,
    clock: u64,
}

impl Handles {
    pub(crate) fn get(&mut self, digest: u64) -> Option<&mut Handle> {
        self.clock += 1;
        let handle = self.by_digest.get_mut(&digest)?;
        handle.used = self.clock;
        Some(handle)
    }

    /// Keeps a statement; returns the number of one to be closed.
    pub(crate) fn put(&mut self, digest: u64, id: u32) -> Option<u32> {
        self.clock += 1;
        let handle = Handle { id, used: self.clock, types_of: None, is_busy: false };
        if let Some(before) = self.by_digest.insert(digest, handle) {
            return Some(before.id);
        }
        if self.by_digest.len() <= HANDLES_MAX {
            return None;
        }
        let idle = self.by_digest.iter().filter(|(at, handle)| !handle.is_busy && **at != digest);
        let oldest = idle.min_by_key(|(_, handle)| handle.used).map(|(at, _)| *at)?;
        self.by_digest.remove(&oldest).map(|handle| handle.id)
    }

    pub(crate) fn remove(&mut self, digest: u64) -> Option<u32> {
        self.by_digest.remove(&digest).map(|handle| handle.id)
    }

    pub(crate) fn clear(&mut self) {
        self.by_digest.clear();
    }
}

/// What a connection is asked between two clients.
#[derive(Debug)]
pub(crate) struct Cleaning {
    pub(crate) answer: Answer,
    pub(crate) out: Vec<u8>,
    /// LAST_INSERT_ID() is read for this client; else it is reset.
    pub(crate) saves: Option<Arc<Entry>>,
}

/// A connection to the backend.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) io: Io,
    pub(crate) key: Capabilities,
    pub(crate) capabilities: Capabilities,
    /// Its number in the backend.
    pub(crate) thread: u32,
    pub(crate) tracks: bool,
    pub(crate) profile: Arc<Profile>,
    /// The profile may not be what the session has.
    pub(crate) is_unknown: bool,
    /// It was reset: what each connection has is to be set again.
    pub(crate) needs_base: bool,
    /// The slot of the client that has it.
    pub(crate) owner: Option<usize>,
    /// The client that had it last.
    pub(crate) last_client: u64,
    /// LAST_INSERT_ID() of the session, if no client's is.
    pub(crate) insert_id: u64,
    /// The client whose LAST_INSERT_ID() only this connection knows.
    pub(crate) insert_id_of: Option<Arc<Entry>>,
    pub(crate) handles: Handles,
    /// Statements to be closed with the next command.
    pub(crate) to_close: Vec<u32>,
    /// What is asked of it between two clients.
    pub(crate) cleaning: Option<Cleaning>,
    /// A KILL may still come: not for another client.
    pub(crate) is_doomed: bool,
    pub(crate) idle_since: Instant,
    pub(crate) is_readable: bool,
}

impl Upstream {
    pub(crate) fn new(opened: Opened) -> Upstream {
        Upstream {
            io: opened.io,
            key: opened.key,
            capabilities: opened.capabilities,
            thread: opened.thread,
            tracks: opened.tracks,
            profile: Arc::default(),
            is_unknown: false,
            needs_base: false,
            owner: None,
            last_client: 0,
            insert_id: 0,
            insert_id_of: None,
            handles: Handles::default(),
            to_close: Vec::new(),
            cleaning: None,
            is_doomed: false,
            idle_since: Instant::now(),
            is_readable: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_used_least_recently_makes_room() {
        let mut handles = Handles::default();
        for at in 0..HANDLES_MAX as u64 {
            assert_eq!(handles.put(at, at as u32), None);
        }
        handles.get(0).expect("kept").is_busy = true;
        assert!(handles.get(1).is_some());
        assert_eq!(handles.put(1000, 1000), Some(2));
        assert_eq!(handles.put(1000, 1001), Some(1000));
        assert_eq!(handles.put(1001, 1002), Some(3));
        assert_eq!((handles.remove(1000), handles.remove(1000)), (Some(1001), None));
    }
}
