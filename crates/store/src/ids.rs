//! The numbers everything is named by, each its own type so that two cannot be swapped.

use std::fmt;

macro_rules! number {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

number! {
    /// A page's number, dense from 1; 0 names no page. It does not say where the page lies in the file: the map does.
    PageId
}
number! {
    /// A tree's number, never used twice in the life of a store.
    TreeId
}
number! {
    /// A writing transaction's number, dense and growing; 0 names none. It is the transaction id on the versions it
    /// writes.
    TxnId
}
number! {
    /// A commit's number: the position of its record in the log, in bytes. Later commits have larger numbers. A snapshot is
    /// the number of the last commit it sees.
    Csn
}

/// What to wait for until a commit survives any crash: the position of its record in the log.
pub type CommitPosition = Csn;

impl TreeId {
    /// The tree of trees: from a tree's number to its root page. Only the store writes it.
    pub(crate) const META: TreeId = TreeId(0);
    /// The first of the trees that always exist; the layer above keeps its dictionary here.
    pub const DICTIONARY: TreeId = TreeId(1);
    /// Trees from 1 up to, not including, this number exist from the first opening on.
    pub const FIRST_FREE: TreeId = TreeId(16);
}
