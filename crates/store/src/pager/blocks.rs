//! Which blocks of the data file are free. Used by the checkpoint alone.
//!
//! Blocks 0 and 1 are the superblocks. A block is given out if neither the state now being written leads to it nor the one
//! that the last durable superblock leads to: so a crash at any moment finds that state whole, and a checkpoint that was
//! given up half way costs no space.

/// The first block that is not a superblock.
pub(crate) const FIRST_BLOCK: u32 = 2;
/// 64 TiB.
pub(crate) const BLOCKS_MAX: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(crate) struct Blocks {
    /// Bits of the blocks in use.
    used: Vec<u64>,
    /// Bits of the blocks that the last durable superblock leads to.
    kept: Vec<u64>,
    /// No free block lies in words before this one.
    first_word: usize,
    used_count: u32,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        let mut blocks = Blocks { used: vec![0], kept: vec![0], first_word: 0, used_count: 0 };
        for block in 0..FIRST_BLOCK {
            assert!(blocks.mark(block));
        }
        blocks
    }

    /// Says that a block is in use, when reading the map. False if it already was: two owners. To be followed by
    /// [`Blocks::keep`].
    pub(crate) fn mark(&mut self, block: u32) -> bool {
        let (word, bit) = (block as usize / 64, 1 << (block % 64));
        if word >= self.used.len() {
            self.used.resize(word + 1, 0);
            self.kept.resize(word + 1, 0);
        }
        let fresh = self.used[word] & bit == 0;
        self.used[word] |= bit;
        self.used_count += u32::from(fresh);
        fresh
    }

    /// A superblock that leads to what is in use now is durable: what only the one before led to is free.
    pub(crate) fn keep(&mut self) {
        self.kept.copy_from_slice(&self.used);
        self.first_word = 0;
    }

    /// The lowest free block, so that the file stays short and writes lie close together.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        let taken = |blocks: &Blocks, word: usize| blocks.used[word] | blocks.kept[word];
        while self.first_word < self.used.len() && taken(self, self.first_word) == u64::MAX {
            self.first_word += 1;
        }
        if self.first_word == self.used.len() {
            self.used.push(0);
            self.kept.push(0);
        }
        let bit = taken(self, self.first_word).trailing_ones();
        let block = u32::try_from(self.first_word * 64).ok()? + bit;
        if block > BLOCKS_MAX {
            return None;
        }
        self.used[self.first_word] |= 1 << bit;
        self.used_count += 1;
        Some(block)
    }

    pub(crate) fn free(&mut self, block: u32) {
        assert!(block >= FIRST_BLOCK);
        let (word, bit) = (block as usize / 64, 1u64 << (block % 64));
        assert!(self.used[word] & bit != 0, "block {block} freed twice");
        self.used[word] &= !bit;
        self.used_count -= 1;
        self.first_word = self.first_word.min(word);
    }

    /// Forgets that the last durable superblock leads to a block: a planted bug.
    pub(crate) fn drop_kept(&mut self, block: u32) {
        self.kept[block as usize / 64] &= !(1 << (block % 64));
    }

    /// How many blocks before `end` may be given out.
    pub(crate) fn free_before(&self, end: u32) -> u32 {
        let (words, rest) = (end as usize / 64, end % 64);
        let taken = |word: usize| match (self.used.get(word), self.kept.get(word)) {
            (Some(used), Some(kept)) => used | kept,
            _ => 0,
        };
        let whole: u32 = (0..words.min(self.used.len())).map(|word| taken(word).count_ones()).sum();
        let last = (taken(words) & ((1 << rest) - 1)).count_ones();
        end - whole - last
    }

    pub(crate) fn is_used(&self, block: u32) -> bool {
        self.used.get(block as usize / 64).is_some_and(|bits| bits >> (block % 64) & 1 == 1)
    }

    /// One past the last block in use.
    pub(crate) fn used_end(&self) -> u32 {
        let last = self.used.iter().rposition(|&bits| bits != 0).unwrap_or(0);
        last as u32 * 64 + (64 - self.used[last].leading_zeros())
    }

    /// How many blocks are in use, superblocks included.
    pub(crate) fn used_count(&self) -> u32 {
        self.used_count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_blocks_come_back_lowest_first() {
        let mut blocks = Blocks::new();
        let given: Vec<u32> = (0..200).map(|_| blocks.allocate().unwrap()).collect();
        assert_eq!(given, (2..202).collect::<Vec<u32>>());
        blocks.free(150);
        blocks.free(5);
        assert_eq!(blocks.allocate(), Some(5));
        assert_eq!(blocks.allocate(), Some(150));
        assert_eq!(blocks.allocate(), Some(202));
        assert!(!blocks.mark(202));
        assert_eq!((blocks.used_count(), blocks.free_before(203), blocks.free_before(300)), (203, 0, 97));
        assert_eq!((blocks.used_end(), blocks.is_used(202), blocks.is_used(203)), (203, true, false));
    }

    #[test]
    fn what_the_last_superblock_leads_to_is_not_given_out() {
        let mut blocks = Blocks::new();
        for _ in 0..10 {
            blocks.allocate().unwrap();
        }
        blocks.keep();
        blocks.free(4);
        blocks.free(7);
        assert_eq!((blocks.allocate(), blocks.free_before(13)), (Some(12), 0));
        // That one the superblock does not know.
        blocks.free(12);
        assert_eq!((blocks.free_before(13), blocks.allocate()), (1, Some(12)));
        blocks.keep();
        assert_eq!((blocks.free_before(13), blocks.allocate(), blocks.allocate()), (2, Some(4), Some(7)));
        assert_eq!(blocks.allocate(), Some(13));
    }
}
