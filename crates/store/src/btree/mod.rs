//! Ordered bytes in pages: a B+tree with records only in leaves.
//!
//! Read next: `node` (a page's layout), `inner` (finding the child, also while somebody writes), `tree` (descents, splits,
//! merges), `free` (the end of a tree), `check` (whether a tree is one).

mod check;
mod free;
pub(crate) mod inner;
pub(crate) mod node;
pub(crate) mod tree;

/// Where to go in a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seek<'k> {
    /// The leaf in whose range the key lies.
    At(&'k [u8]),
    /// The leaf with the largest keys below this one.
    Before(&'k [u8]),
    /// The rightmost leaf.
    Last,
}
