//! Which blocks of the data file are free. Used by the checkpoint alone.
//!
//! Blocks 0 and 1 are the superblocks. A block is given out once and freed only when no superblock that could be read after
//! a crash leads to it.

/// The first block that is not a superblock.
pub(crate) const FIRST_BLOCK: u32 = 2;
/// 64 TiB.
pub(crate) const BLOCKS_MAX: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(crate) struct Blocks {
    used: Vec<u64>,
    /// No free block lies in words before this one.
    first_word: usize,
    used_count: u32,
}

impl Blocks {
    pub(crate) fn new() -> Blocks {
        let mut blocks = Blocks { used: vec![0], first_word: 0, used_count: 0 };
        for block in 0..FIRST_BLOCK {
            assert!(blocks.mark(block));
        }
        blocks
    }

    /// Says that a block is in use, when reading the map. False if it already was: two owners.
    pub(crate) fn mark(&mut self, block: u32) -> bool {
        let (word, bit) = (block as usize / 64, 1 << (block % 64));
        if word >= self.used.len() {
            self.used.resize(word + 1, 0);
        }
        let fresh = self.used[word] & bit == 0;
        self.used[word] |= bit;
        self.used_count += u32::from(fresh);
        fresh
    }

    /// The lowest free block, so that the file stays short and writes lie close together.
    pub(crate) fn allocate(&mut self) -> Option<u32> {
        while self.first_word < self.used.len() && self.used[self.first_word] == u64::MAX {
            self.first_word += 1;
        }
        if self.first_word == self.used.len() {
            self.used.push(0);
        }
        let word = &mut self.used[self.first_word];
        let bit = word.trailing_ones();
        let block = u32::try_from(self.first_word * 64).ok()? + bit;
        if block > BLOCKS_MAX {
            return None;
        }
        *word |= 1 << bit;
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

    /// How many blocks are in use, superblocks included.
    #[cfg(test)]
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
        assert_eq!(blocks.used_count(), 203);
    }
}
