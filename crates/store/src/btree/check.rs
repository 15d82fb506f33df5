//! Whether a tree is one: fences meet, levels fall by one, every node is well-formed.
//!
//! The walk holds one latch at a time, so splits and merges go on beside it. Both change a parent and its children under
//! latches that they hold together: a child that does not fit what its parent said means damage only if the parent
//! still says it. If not, the walk goes on in the parent's new content from the key it had come to.

use crate::btree::node;
use crate::btree::tree::Root;
use crate::error::StoreError;
use crate::ids::PageId;
use crate::pager::Fault;
use crate::pager::frame::{Body, SharedGuard};
use crate::pager::pool::Pool;

impl Root {
    /// Walks the whole tree. Returns the number of leaves and records, tombstones included; beside writers about so many.
    pub(crate) fn check(self, pool: &Pool) -> Result<(u64, u64), Fault> {
        loop {
            let level = self.level(pool)?;
            match self.check_node(pool, self.page, level, &[], None) {
                Err(Fault::Store(StoreError::Corrupt { .. })) if self.level(pool)? != level => {}
                outcome => return outcome,
            }
        }
    }

    fn check_node(
        self,
        pool: &Pool,
        page: PageId,
        level: u8,
        lower: &[u8],
        upper: Option<&[u8]>,
    ) -> Result<(u64, u64), Fault> {
        let damaged = |why: &str| StoreError::corrupt(format!("tree {} page {page}", self.tree), why);
        let mut total = (0, 0);
        let mut from = lower.to_vec();
        'again: loop {
            let body = match shared(pool, page) {
                Err(Fault::Gone) => return Err(damaged("the page is missing").into()),
                guard => Box::new(*guard?.body()),
            };
            node::check(&body).map_err(damaged)?;
            if node::level(&body) != level || node::tree_id(&body) != self.tree {
                return Err(damaged("wrong level or tree").into());
            }
            if node::lower_fence(&body) != lower || node::upper_fence(&body) != upper {
                return Err(damaged("fences do not meet").into());
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
                match self.check_node(pool, child, level - 1, &child_lower, child_upper.as_deref()) {
                    Ok(found) => total = (total.0 + found.0, total.1 + found.1),
                    Err(Fault::Store(StoreError::Corrupt { .. })) if changed(pool, page, &body)? => {
                        from = child_lower;
                        continue 'again;
                    }
                    Err(fault) => return Err(fault),
                }
            }
            return Ok(total);
        }
    }
}

/// Latches a page, read if need be: no latch is held by who asks, and a walk that began anew at each such page would not end.
fn shared(pool: &Pool, page: PageId) -> Result<SharedGuard<'_>, Fault> {
    loop {
        match pool.shared(page) {
            Err(Fault::Absent(page, wanted)) => env::blocking::around(|| pool.fetch(page, wanted))?,
            outcome => return outcome,
        }
    }
}

/// Whether the page is no longer what it was.
fn changed(pool: &Pool, page: PageId, was: &Body) -> Result<bool, Fault> {
    match shared(pool, page) {
        Err(Fault::Gone) => Ok(true),
        guard => Ok(guard?.body() != was),
    }
}
