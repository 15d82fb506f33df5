//! Whether a tree is one: fences meet, levels fall by one, every node is well-formed.
//!
//! The walk holds one latch at a time, and none while it reads or makes space, so splits and merges continue beside it.
//! Both change a parent and its children under latches that they hold together: a child that does not fit what its
//! parent said means damage only if the parent still says it. If not, the walk continues in the parent's new content
//! from the key it had come to.

use crate::btree::node;
use crate::btree::tree::Root;
use crate::error::StoreError;
use crate::ids::PageId;
use crate::pager::frame::Body;

/// Returns a copy of a page, whatever it takes to get it, or nothing if there is no such page. A walk that started
/// again at each page that is not in the pool would not end.
pub(crate) type Copies<'c> = &'c dyn Fn(PageId) -> Result<Option<Box<Body>>, StoreError>;

impl Root {
    /// Walks the whole tree. Returns the number of leaves and records, tombstones included; beside writers about as many.
    pub(crate) fn check(self, copies: Copies<'_>) -> Result<(u64, u64), StoreError> {
        let level = || match copies(self.page)? {
            Some(root) => Ok(node::level(&root)),
            None => Err(self.damaged(self.page, "the page is missing")),
        };
        loop {
            let was = level()?;
            match self.check_node(copies, self.page, was, &[], None) {
                Err(StoreError::Corrupt { .. }) if level()? != was => {}
                outcome => return outcome,
            }
        }
    }

    fn damaged(self, page: PageId, why: &str) -> StoreError {
        StoreError::corrupt(format!("tree {} page {page}", self.tree), why)
    }

    fn check_node(
        self,
        copies: Copies<'_>,
        page: PageId,
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<(u64, u64), StoreError> {
        let damaged = |why: &str| self.damaged(page, why);
        let mut total = (0, 0);
        let mut from = lower.to_vec();
        'again: loop {
            let body = copies(page)?.ok_or_else(|| damaged("the page is missing"))?;
            node::check(&body).map_err(damaged)?;
            if node::level(&body) != level || node::tree_id(&body) != self.tree {
                return Err(damaged("wrong level or tree"));
            }
            if node::lower_fence(&body) != lower || node::upper_fence(&body) != upper {
                return Err(damaged("fences do not meet"));
            }
            let count = node::count(&body);
            if level == 0 {
                return Ok((1, count as u64));
            }
            let first = (1..count).take_while(|&index| node::key(&body, index) <= from).count();
            for index in first..count {
                let child_lower = if index == 0 { lower.to_vec() } else { node::key(&body, index) };
                let child_upper = match index + 1 {
                    next if next < count => Some(node::key(&body, next)),
                    _ => upper.map(<[u8]>::to_vec),
                };
                let child = node::child(&body, index);
                match self.check_node(copies, child, level - 1, &child_lower, child_upper.as_deref()) {
                    Ok(found) => total = (total.0 + found.0, total.1 + found.1),
                    // The page is no longer what it was.
                    Err(StoreError::Corrupt { .. }) if copies(page)?.as_ref() != Some(&body) => {
                        from = child_lower;
                        continue 'again;
                    }
                    Err(error) => return Err(error),
                }
            }
            return Ok(total);
        }
    }
}
