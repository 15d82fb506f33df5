//! What others know of a client, and of a text that was prepared.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::settings::Profile;

/// An insert id that only a connection knows.
pub(crate) const UNSAVED: u64 = u64::MAX;
/// It is being read from its connection.
pub(crate) const SAVING: u64 = u64::MAX - 1;
/// Its connection is gone.
pub(crate) const LOST: u64 = u64::MAX - 2;

/// A client as others find it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    /// Account, by user and host.
    pub(crate) account: (String, String),
    pub(crate) mailbox: usize,
    pub(crate) slot: usize,
    /// LAST_INSERT_ID() of its session, or [`UNSAVED`], [`SAVING`], [`LOST`].
    pub(crate) insert_id: AtomicU64,
}

/// A text that was prepared, and the settings it was prepared under.
#[derive(Debug, Eq, Hash, PartialEq)]
pub(crate) struct DigestKey {
    pub(crate) text: Arc<[u8]>,
    pub(crate) profile: Arc<Profile>,
}

/// A number for each [`DigestKey`] in use.
#[derive(Debug)]
pub(crate) struct Digest {
    pub(crate) id: u64,
    pub(crate) key: Arc<DigestKey>,
}
