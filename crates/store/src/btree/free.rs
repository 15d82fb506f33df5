//! Freeing a tree that nobody reads any more: from its end, a bounded part at a time.
//!
//! What a part leaves is a tree that names only pages that exist: the last node of each level may lack its end, and with it the keys
//! up to its upper fence. Nothing else tells it from a whole one. The root goes last, with the tree.

use crate::btree::node;
use crate::btree::tree::Root;
use crate::error::StoreError;
use crate::ids::PageId;
use crate::pager::PageMiss;
use crate::pager::frame::ExclusiveGuard;
use crate::pager::pool::Pool;
use crate::planted::{self, Plant};

/// What may be behind a page's number.
enum Found<'p> {
    Node(ExclusiveGuard<'p>),
    /// It cannot be read. What is below it cannot be found: its space is lost, the tree goes all the same.
    Damaged,
    /// It is not the tree's.
    Nothing,
}

impl Root {
    fn find_node<'p>(
        self,
        pool: &'p Pool,
        page: PageId,
        path: &[ExclusiveGuard<'_>],
    ) -> Result<Found<'p>, PageMiss> {
        if path.iter().any(|above| above.page_id() == page.0) {
            return Ok(Found::Nothing); // A damaged node leads back into the path, whose latches are held.
        }
        match pool.exclusive(page) {
            Ok(node) if node::tree_id(node.body()) == self.tree => Ok(Found::Node(node)),
            Ok(_) | Err(PageMiss::Gone) => Ok(Found::Nothing),
            Err(PageMiss::Store(StoreError::Corrupt { .. } | StoreError::Read { .. })) => Ok(Found::Damaged),
            Err(miss) => Err(miss),
        }
    }

    /// Gives the root another page, so that who still has the number of the old one finds the tree gone and not a part
    /// of it. A root without nodes below stays. In a critical section only.
    pub(crate) fn move_root(self, pool: &Pool) -> Result<Root, PageMiss> {
        match self.find_node(pool, self.page, &[])? {
            Found::Node(root) if node::level(root.body()) > 0 => {
                let (page, mut copy) = pool.allocate()?;
                pool.modify(&mut copy).copy_from_slice(root.body());
                pool.free(root);
                Ok(Root { page, ..self })
            }
            _ => Ok(self),
        }
    }

    /// Frees up to `leaves_max` of the tree's last leaves, and the nodes that have no children left then. True if
    /// nothing is left. In a critical section only, where no other thread reads the tree.
    ///
    /// A page miss is returned before anything is changed.
    pub(crate) fn free_some(self, pool: &Pool, leaves_max: u32) -> Result<bool, PageMiss> {
        let root = match self.find_node(pool, self.page, &[])? {
            Found::Node(root) => root,
            Found::Damaged => return pool.free_unread(self.page).map(|()| true),
            Found::Nothing => return Ok(true), // It was freed before a crash.
        };
        let mut path = vec![root];
        loop {
            let node = path.last().expect("the root at least").body();
            let (level, count) = (node::level(node), node::count(node));
            if level == 0 || count == 0 {
                // The root is a leaf, or a damaged node leads nowhere.
                free_last(pool, &mut path);
                return Ok(path.is_empty());
            }
            if level == 1 {
                break;
            }
            let child = node::child(node, count - 1);
            match self.find_node(pool, child, &path)? {
                Found::Node(next) if node::level(next.body()) == level - 1 => {
                    path.push(next);
                    continue;
                }
                Found::Damaged => pool.free_unread(child)?,
                Found::Node(_) | Found::Nothing => {}
            }
            remove_last_child(pool, &mut path);
            return Ok(path.is_empty());
        }
        for freed in 0..leaves_max.max(1) {
            let node = path.last().expect("the root at least").body();
            let child = node::child(node, node::count(node) - 1);
            let leads_back = path.iter().any(|above| above.page_id() == child.0);
            let gone = if leads_back { Ok(()) } else { pool.free_unread(child) };
            match gone {
                Ok(()) | Err(PageMiss::Gone) => {}
                Err(miss) if freed == 0 => return Err(miss),
                Err(_) => return Ok(false), // The next part begins with this leaf, and returns the error.
            }
            if planted::is(Plant::KeepFreed) && freed > 0 && node::count(node) % 3 == 2 {
                return Ok(false);
            }
            if remove_last_child(pool, &mut path) {
                return Ok(path.is_empty());
            }
        }
        Ok(false)
    }
}

/// Takes the last child out of a path's last node. True if that was its only one: then the node is freed, too, and so on up.
fn remove_last_child(pool: &Pool, path: &mut Vec<ExclusiveGuard<'_>>) -> bool {
    let body = pool.modify(path.last_mut().expect("a path has nodes"));
    node::remove(body, node::count(body) - 1);
    let is_empty = node::count(body) == 0;
    if is_empty {
        free_last(pool, path);
    }
    is_empty
}

fn free_last(pool: &Pool, path: &mut Vec<ExclusiveGuard<'_>>) {
    if let Some(node) = path.pop() {
        pool.free(node);
    }
    if !path.is_empty() {
        remove_last_child(pool, path);
    }
}
