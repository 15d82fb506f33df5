//! Whether the files of a store are what was written: every block that the newest superblock leads to, every tree, and the
//! log behind it. Only reads.
//!
//! 1. Both superblocks; the chains that list the map's blocks and what is to be undone; the map.
//! 2. The tree of trees, then each tree it names, from its root: each page's checksum, order, level and fences.
//! 3. Pages that the map knows and no tree leads to: lost space. If there was damage above they may lie below it, so their
//!    checksums count.
//! 4. The log from the checkpoint on.
//!
//! Damage is collected, each with its place, and the walk goes on beside it. Memory: two bits for each block and page, a
//! bounded part of the map, one page for each level of a tree.

use super::undo_image::UndoImage;
use super::{META_ROOT, io, read_chain, read_piece};
use crate::btree::node;
use crate::error::{OpenError, StoreError};
use crate::ids::{PageId, TreeId};
use crate::pager::blocks::FIRST_BLOCK;
use crate::pager::frame::{BODY_BYTES, Body, PAGE_BYTES};
use crate::pager::image::{self, Block, Kind};
use crate::store::DATA;
use crate::store::checkpoint::{MAP_PAGES, zero_block};
use crate::store::meta_root;
use crate::store::superblock::{FORMAT, Found, Superblock, WRITTEN_BYTES};
use crate::wal::{LogError, Lsn, Replay};
use env::Env;
use env::disk::{File, FileOptions};
use hashbrown::HashMap;
use std::io::ErrorKind;
use std::path::Path;

/// Damages that are reported; more are counted.
pub(crate) const DAMAGES_REPORTED_MAX: usize = 1_000;
/// Blocks of the map in memory, 16 KiB each.
const MAP_BLOCKS_KEPT: usize = 256;

/// One thing that is not as it was written.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Damage {
    /// The file, in the data folder.
    pub file: String,
    /// The block of the data file, of [`crate::PAGE_BYTES`] bytes each, from 0.
    pub block: Option<u32>,
    /// The page.
    pub page: Option<PageId>,
    /// The tree that leads to it.
    pub tree: Option<TreeId>,
    /// What is wrong.
    pub why: String,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct FileReport {
    /// The first damages, at most [`DAMAGES_REPORTED_MAX`].
    pub damages: Vec<Damage>,
    /// All of them.
    pub damage_count: u64,
    /// Which checkpoint was looked at.
    pub checkpoint: u64,
    /// Blocks of the data file.
    pub blocks: u64,
    /// Of them, those in use.
    pub used_blocks: u64,
    /// Trees, dropped ones that are not freed yet included.
    pub trees: u64,
    /// Pages of trees.
    pub pages: u64,
    /// Records, tombstones included.
    pub records: u64,
    /// Pages that no tree leads to: lost space.
    pub lost_pages: u64,
    /// Commits in the log behind the checkpoint.
    pub commits: u64,
}

/// One bit each.
#[derive(Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// False if it was set before.
    fn set(&mut self, index: u64) -> bool {
        let (word, bit) = (usize::try_from(index / 64).unwrap_or(usize::MAX), 1 << (index % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & bit == 0;
        self.0[word] |= bit;
        fresh
    }

    fn has(&self, index: u64) -> bool {
        usize::try_from(index / 64)
            .is_ok_and(|word| self.0.get(word).is_some_and(|bits| bits >> (index % 64) & 1 == 1))
    }
}

struct Checker<'f> {
    file: &'f dyn File,
    report: FileReport,
    superblock: Superblock,
    map_blocks: Vec<u32>,
    /// Parts of the map, by number; `None` where a part cannot be read.
    map: HashMap<usize, Option<Vec<u32>>>,
    used: Bits,
    visited: Bits,
    /// Roots of trees, from the tree of trees.
    roots: Vec<(TreeId, PageId, bool)>,
}

/// What a node's parent says of it.
#[derive(Clone, Copy)]
struct Expected<'k> {
    level: u8,
    lower: &'k [u8],
    upper: Option<&'k [u8]>,
}

/// Checks the files in the folder `path`. Lock it first, or what is read may change meanwhile.
///
/// # Errors
/// There is no store in the folder, it has a newer format, or the system refuses to read.
pub fn check_files(env: &Env, path: &Path) -> Result<FileReport, OpenError> {
    let folder = env.disk.folder(path, false).map_err(io(format!("opening {}", path.display())))?;
    let file = folder
        .open(DATA, FileOptions::read_only())
        .map_err(io(format!("opening the data file in {}", path.display())))?;
    let mut checker = Checker {
        file: &*file,
        report: FileReport::default(),
        superblock: Superblock::default(),
        map_blocks: Vec::new(),
        map: HashMap::new(),
        used: Bits::default(),
        visited: Bits::default(),
        roots: Vec::new(),
    };
    checker.report.blocks = file.len().map_err(io("the data file's length"))?.div_ceil(PAGE_BYTES as u64);
    if checker.superblocks()? && checker.chains() {
        checker.trees();
        checker.pages_without_tree();
        checker.log(env, &folder);
    }
    Ok(checker.report)
}

impl Checker<'_> {
    fn damaged(&mut self, damage: Damage) {
        self.report.damage_count += 1;
        if self.report.damages.len() < DAMAGES_REPORTED_MAX {
            self.report.damages.push(damage);
        }
    }

    fn block_damaged(&mut self, block: Option<u32>, why: impl Into<String>) {
        self.damaged(Damage { file: DATA.to_owned(), block, page: None, tree: None, why: why.into() });
    }

    /// False if none can be used.
    fn superblocks(&mut self) -> Result<bool, OpenError> {
        let mut newest: Option<Superblock> = None;
        for block in 0..FIRST_BLOCK {
            let mut bytes = [0; WRITTEN_BYTES];
            match self.file.read_at(u64::from(block) * PAGE_BYTES as u64, &mut bytes) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => continue,
                Err(error) => {
                    self.block_damaged(Some(block), format!("superblock: {error}"));
                    continue;
                }
            }
            self.used.set(u64::from(block));
            match Superblock::decode(&bytes) {
                // One sector is never torn, so what is neither whole nor empty was damaged later.
                Found::Torn if bytes.iter().all(|&byte| byte == 0) => {}
                Found::Torn => self.block_damaged(Some(block), "superblock: checksum"),
                Found::Newer(found) => return Err(OpenError::NewerFormat { found, supported: FORMAT }),
                Found::Whole(superblock) => {
                    if newest.is_none_or(|newest| newest.checkpoint < superblock.checkpoint) {
                        newest = Some(superblock);
                    }
                }
            }
        }
        self.report.used_blocks = u64::from(FIRST_BLOCK);
        let Some(newest) = newest else {
            self.block_damaged(None, "neither superblock is whole: nothing can be found");
            return Ok(false);
        };
        self.superblock = newest;
        self.report.checkpoint = newest.checkpoint;
        Ok(true)
    }

    /// Notes that a block is used: once, and inside the file.
    fn owned(&mut self, block: u32, page: Option<PageId>, tree: Option<TreeId>) {
        let twice = !self.used.set(u64::from(block));
        let outside = u64::from(block) >= self.report.blocks;
        if twice || outside {
            let why = if twice { "the block is used twice" } else { "the block lies behind the file's end" };
            self.damaged(Damage {
                file: DATA.to_owned(),
                block: Some(block),
                page,
                tree,
                why: why.to_owned(),
            });
        } else {
            self.report.used_blocks += 1;
        }
    }

    /// The list of the map's blocks and what is to be undone. False if the map cannot be found.
    fn chains(&mut self) -> bool {
        let superblock = self.superblock;
        match UndoImage::open(self.file, &superblock) {
            Ok(image) => {
                let UndoImage { head_blocks, list, .. } = image;
                if !head_blocks.is_empty() {
                    self.chain_to_undo(&head_blocks, superblock.undo_bytes);
                }
                for chain in &list.chains {
                    self.chain_to_undo(&chain.blocks, chain.bytes);
                }
            }
            Err(damage) => {
                let block = damage.block.unwrap_or(superblock.undo_head);
                self.block_damaged(Some(block), damage.error.to_string());
            }
        }
        match read_chain(self.file, Kind::Directory, superblock.map_head) {
            Ok((bytes, blocks)) => {
                blocks.iter().for_each(|&block| self.owned(block, None, None));
                self.map_blocks = bytes
                    .chunks_exact(4)
                    .map(|four| u32::from_le_bytes(four.try_into().expect("4 bytes")))
                    .collect();
            }
            Err(error) => {
                self.block_damaged(Some(superblock.map_head), format!("{error}: no page can be found"));
                return false;
            }
        }
        for part in 0..self.map_blocks.len() {
            self.owned(self.map_blocks[part], None, None);
        }
        if (self.map_blocks.len() * MAP_PAGES) as u64 <= superblock.page_end.saturating_sub(1) {
            self.block_damaged(Some(superblock.map_head), "the page map is too short");
        }
        true
    }

    /// One chain of what is to be undone.
    fn chain_to_undo(&mut self, blocks: &[u32], expected_bytes: u64) {
        let (mut bytes, mut block) = (0, zero_block());
        for &number in blocks {
            self.owned(number, None, None);
            match read_piece(self.file, Kind::Undo, number, &mut block) {
                Ok((piece, _)) => bytes += piece.len() as u64,
                Err(error) => self.block_damaged(Some(number), error.to_string()),
            }
        }
        if bytes != expected_bytes {
            self.block_damaged(blocks.first().copied(), "what is to be undone has a wrong length");
        }
    }

    fn read_block(&self, number: u32, block: &mut Block) -> Result<(), String> {
        self.file
            .read_at(u64::from(number) * PAGE_BYTES as u64, &mut block[..])
            .map_err(|error| error.to_string())
    }

    /// Where a page is: `None` if that cannot be known, 0 if nowhere.
    fn block_of(&mut self, page: PageId) -> Option<u32> {
        let part = usize::try_from(page.0).ok()? / MAP_PAGES;
        if page.0 == 0 || page.0 >= self.superblock.page_end || part >= self.map_blocks.len() {
            return Some(0);
        }
        if !self.map.contains_key(&part) {
            if self.map.len() >= MAP_BLOCKS_KEPT {
                // What could not be read stays, so that it is reported once; of the others any may go.
                self.map.retain(|_, entries| entries.is_none());
            }
            let number = self.map_blocks[part];
            let mut block = zero_block();
            let read = self.read_block(number, &mut block).and_then(|()| {
                let body = image::check(&block, Kind::Map, u64::from(number)).map_err(why)?;
                let entries = body[..BODY_BYTES / 4 * 4].chunks_exact(4);
                Ok(entries.map(|four| u32::from_le_bytes(four.try_into().expect("4 bytes"))).collect())
            });
            if let Err(error) = &read {
                let (first, last) = (part * MAP_PAGES, (part + 1) * MAP_PAGES - 1);
                self.block_damaged(Some(number), format!("map of pages {first} to {last}: {error}"));
            }
            self.map.insert(part, read.ok());
        }
        let entries = self.map.get(&part)?.as_ref()?;
        entries.get(page.0 as usize % MAP_PAGES).copied()
    }

    fn trees(&mut self) {
        self.walk(TreeId::META, META_ROOT, None, false);
        let mut roots = std::mem::take(&mut self.roots);
        roots.sort_unstable();
        for (tree, root, dropped) in roots {
            if dropped && self.block_of(root) == Some(0) {
                continue; // Freed already.
            }
            self.walk(tree, root, None, dropped);
        }
    }

    /// Checks a page of a tree and what is below it. `expected` is `None` for a root. `is_cut`: behind what is below it, more may
    /// have been.
    fn walk(&mut self, tree: TreeId, page: PageId, expected: Option<Expected<'_>>, is_cut: bool) {
        if expected.is_none() {
            self.report.trees += 1;
        }
        let Some(block) = self.block_of(page) else { return };
        let at = |block: u32, why: String| Damage {
            file: DATA.to_owned(),
            block: (block != 0).then_some(block),
            page: Some(page),
            tree: Some(tree),
            why,
        };
        if block == 0 {
            return self.damaged(at(0, "the page is missing".to_owned()));
        }
        if !self.visited.set(page.0) {
            return self.damaged(at(block, "the page is reached twice".to_owned()));
        }
        self.owned(block, Some(page), Some(tree));
        let body = match self.page(block, page) {
            Ok(body) => body,
            Err(why) => return self.damaged(at(block, why)),
        };
        self.report.pages += 1;
        let level = node::level(&body);
        let wrong = node::check(&body).err().or_else(|| {
            if node::tree_id(&body) != tree {
                return Some("it belongs to another tree");
            }
            let (lower, upper) =
                expected.map_or((&[][..], None), |expected| (expected.lower, expected.upper));
            if expected.is_some_and(|expected| expected.level != level) {
                return Some("it has a wrong level");
            }
            // A dropped tree is freed from its end on: the last child there is may end before its node does.
            let ends = node::upper_fence(&body) == upper || (is_cut && expected.is_some());
            let meet = node::lower_fence(&body) == lower && ends;
            (!meet).then_some("its fences do not meet those above")
        });
        if let Some(why) = wrong {
            return self.damaged(at(block, why.to_owned()));
        }
        let count = node::count(&body);
        if level == 0 {
            self.report.records += count as u64;
            if tree == TreeId::META {
                self.note_roots(&body, &at, block);
            }
            return;
        }
        for index in 0..count {
            let lower = if index == 0 { node::lower_fence(&body).to_vec() } else { node::key(&body, index) };
            let upper = match index + 1 {
                next if next < count => Some(node::key(&body, next)),
                _ => node::upper_fence(&body).map(<[u8]>::to_vec),
            };
            let expected = Expected { level: level - 1, lower: &lower, upper: upper.as_deref() };
            self.walk(tree, node::child(&body, index), Some(expected), is_cut && index + 1 == count);
        }
    }

    fn note_roots(&mut self, body: &Body, at: &dyn Fn(u32, String) -> Damage, block: u32) {
        for index in 0..node::count(body) {
            let Some(value) = node::value(body, index) else { continue };
            match meta_root(&node::key(body, index), value) {
                Ok((root, dropped)) => self.roots.push((root.tree, root.page, dropped)),
                Err(error) => self.damaged(at(block, error.to_string())),
            }
        }
    }

    fn page(&self, block_number: u32, page: PageId) -> Result<Box<Body>, String> {
        let mut block = zero_block();
        self.read_block(block_number, &mut block)?;
        let body = image::check(&block, Kind::Page, page.0).map_err(why)?;
        if image::checkpoint_of(&block) > self.superblock.checkpoint {
            return Err("it was written by a later checkpoint".to_owned());
        }
        Ok(Box::new(*body))
    }

    /// Pages that the map knows and no tree led to.
    fn pages_without_tree(&mut self) {
        let had_damage = self.report.damage_count > 0;
        for number in 1..self.superblock.page_end {
            let page = PageId(number);
            if self.visited.has(number) {
                continue;
            }
            let Some(block @ 1..) = self.block_of(page) else { continue };
            self.owned(block, Some(page), None);
            if !had_damage {
                self.report.lost_pages += 1; // Nobody needs it, whatever it holds.
            } else if let Err(why) = self.page(block, page) {
                self.damaged(Damage {
                    file: DATA.to_owned(),
                    block: Some(block),
                    page: Some(page),
                    tree: None,
                    why,
                });
            }
        }
    }

    fn log(&mut self, env: &Env, folder: &std::sync::Arc<dyn env::disk::Folder>) {
        let after = Lsn(self.superblock.position.0);
        let mut replay = match Replay::open(env, std::sync::Arc::clone(folder), after) {
            Ok(replay) => replay,
            Err(error) => return self.log_damaged(None, &error),
        };
        loop {
            match next_whole_commit(&mut replay) {
                Ok(true) => self.report.commits += 1,
                Ok(false) => return,
                Err(error) => return self.log_damaged(replay.file_name(&error), &error),
            }
        }
    }

    fn log_damaged(&mut self, file: Option<String>, error: &LogError) {
        let file = file.unwrap_or_else(|| "log".to_owned());
        self.damaged(Damage { file, block: None, page: None, tree: None, why: error.to_string() });
    }
}

/// Reads the next commit, a part at a time. False at the log's end.
fn next_whole_commit(replay: &mut Replay) -> Result<bool, LogError> {
    let Some(commit) = replay.next_commit()? else { return Ok(false) };
    for part in 0..commit.part_count() {
        replay.read(&commit, part)?;
    }
    Ok(true)
}

fn why(error: StoreError) -> String {
    match error {
        StoreError::Corrupt { why, .. } => why.to_string(),
        error => error.to_string(),
    }
}
