//! Segment files: how they are made, named, recognised and used again.
//!
//! A file gets its number by a rename, after its header was synced, and the folder is synced before the first record goes
//! in. So every file with a number has a whole header, or somebody damaged it.

use super::record::{u32_at, u64_at};
use super::{
    BLOCK_BYTES, LOG_FORMAT_VERSION, LogError, Lsn, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SPARE_SEGMENTS_MAX,
    io_failed,
};
use env::disk::{File, FileOptions, Folder};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"INVARLOG";
const PREFIX: &str = "log.";
const SPARE_PREFIX: &str = "log.spare.";
/// A spare being made. It gets a spare's name when all of it has its place on the disk.
const HALF_MADE: &str = "log.half";
/// Zeros are written in pieces of this size.
const FILL_BYTES: usize = 1 << 20;

/// What a segment's header says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Segment {
    pub(crate) number: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) previous_end: u64,
    pub(crate) salt: u64,
}

impl Segment {
    /// The segment that follows this one, for records whose chain stands at `previous_end`.
    pub(crate) fn next(&self, segment_bytes: u64, previous_end: u64, salt_seed: u64) -> Segment {
        let number = self.number + 1;
        Segment {
            number,
            start: self.end,
            end: self.end + segment_bytes - BLOCK_BYTES as u64,
            previous_end,
            salt: salt_for(salt_seed, number),
        }
    }

    pub(crate) fn first(segment_bytes: u64, salt_seed: u64) -> Segment {
        let before = Segment { number: 0, start: 0, end: Lsn::FIRST.0, previous_end: 0, salt: 0 };
        before.next(segment_bytes, Lsn::FIRST.0, salt_seed)
    }

    pub(crate) fn name(&self) -> String {
        name_of(self.number)
    }

    /// Where in the file a position stands.
    pub(crate) fn offset_of(&self, position: u64) -> u64 {
        debug_assert!((self.start..=self.end).contains(&position));
        position - self.start + BLOCK_BYTES as u64
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.end - self.start + BLOCK_BYTES as u64
    }

    fn encode(&self) -> Vec<u8> {
        let mut block = vec![0; BLOCK_BYTES];
        block[..8].copy_from_slice(MAGIC);
        block[8..12].copy_from_slice(&LOG_FORMAT_VERSION.to_le_bytes());
        block[16..24].copy_from_slice(&self.number.to_le_bytes());
        block[24..32].copy_from_slice(&self.start.to_le_bytes());
        block[32..40].copy_from_slice(&self.end.to_le_bytes());
        block[40..48].copy_from_slice(&self.previous_end.to_le_bytes());
        block[48..56].copy_from_slice(&self.salt.to_le_bytes());
        let crc = crc32c::crc32c(&block[16..64]);
        block[12..16].copy_from_slice(&crc.to_le_bytes());
        block
    }

    fn decode(block: &[u8; BLOCK_BYTES]) -> Result<Segment, LogError> {
        let segment = Segment {
            number: u64_at(block, 16),
            start: u64_at(block, 24),
            end: u64_at(block, 32),
            previous_end: u64_at(block, 40),
            salt: u64_at(block, 48),
        };
        if &block[..8] != MAGIC {
            return Err(LogError::Corrupt {
                position: segment.start,
                what: "a segment file does not begin as one",
            });
        }
        let version = u32_at(block, 8);
        if version > LOG_FORMAT_VERSION {
            return Err(LogError::NewerFormat { found: version, known: LOG_FORMAT_VERSION });
        }
        if u32_at(block, 12) != crc32c::crc32c(&block[16..64]) {
            return Err(LogError::Corrupt {
                position: segment.start,
                what: "a segment header fails its checksum",
            });
        }
        let aligned = segment.start.is_multiple_of(BLOCK_BYTES as u64)
            && segment.end.is_multiple_of(BLOCK_BYTES as u64);
        let sane = aligned
            && segment.number > 0
            && segment.number < u64::MAX / 2
            && segment.start >= Lsn::FIRST.0
            && segment.end > segment.start
            && segment.end < u64::MAX / 4
            && segment.previous_end <= segment.start;
        if !sane {
            return Err(LogError::Corrupt {
                position: segment.start,
                what: "a segment header contradicts itself",
            });
        }
        Ok(segment)
    }
}

pub(crate) fn name_of(number: u64) -> String {
    format!("{PREFIX}{number:08}")
}

/// Whole blocks, within the limits.
pub(crate) fn clamp_segment_bytes(wanted: u64) -> u64 {
    wanted.clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX).next_multiple_of(BLOCK_BYTES as u64)
}

/// A salt that no other use of a segment file has: random per opening, mixed with the number (SplitMix64's finisher).
fn salt_for(seed: u64, number: u64) -> u64 {
    let mut z = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The segment and spare files of a folder.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Segment numbers, rising.
    pub(crate) numbers: Vec<u64>,
    /// Names of spares.
    pub(crate) spares: Vec<String>,
}

pub(crate) fn list(folder: &dyn Folder) -> Result<Listing, LogError> {
    let names =
        folder.list().map_err(|error| io_failed(format!("listing {}", folder.path().display()), error))?;
    let mut listing = Listing::default();
    for name in names {
        if name.starts_with(SPARE_PREFIX) {
            listing.spares.push(name);
        } else if let Some(number) = name.strip_prefix(PREFIX).and_then(|digits| digits.parse().ok()) {
            listing.numbers.push(number);
        }
    }
    listing.numbers.sort_unstable();
    Ok(listing)
}

/// Opens a numbered segment and checks its header.
pub(crate) fn open(folder: &dyn Folder, number: u64) -> Result<(Segment, Arc<dyn File>), LogError> {
    let name = name_of(number);
    let file = folder
        .open(&name, FileOptions::existing())
        .map_err(|error| io_failed(format!("opening {name}"), error))?;
    let file_bytes = file.len().map_err(|error| io_failed(format!("measuring {name}"), error))?;
    if file_bytes < BLOCK_BYTES as u64 {
        return Err(LogError::Corrupt { position: 0, what: "a segment file is shorter than its header" });
    }
    let mut block = [0; BLOCK_BYTES];
    file.read_at(0, &mut block).map_err(|error| io_failed(format!("reading {name}"), error))?;
    let segment = Segment::decode(&block)?;
    if segment.number != number {
        return Err(LogError::Corrupt {
            position: segment.start,
            what: "a segment file has another's number",
        });
    }
    if file_bytes < segment.file_bytes() {
        return Err(LogError::Corrupt { position: segment.start, what: "a segment file is too short" });
    }
    Ok((segment, file))
}

/// Makes a segment file ready for records, from a spare of its length. Durable when it returns. Needs no space on the
/// disk.
///
/// Errors carry the step that failed; the caller decides whether that stops the log.
pub(crate) fn create(folder: &dyn Folder, segment: &Segment, spare: &str) -> Result<Arc<dyn File>, LogError> {
    let name = segment.name();
    let step = |doing: &str, result: std::io::Result<()>| {
        result.map_err(|error| io_failed(format!("{doing} {name}"), error))
    };
    let file = folder
        .open(spare, FileOptions::existing())
        .map_err(|error| io_failed(format!("opening {spare} for {name}"), error))?;
    step("writing the header of", file.write_at(0, &segment.encode()))?;
    step("syncing", file.sync())?;
    step("naming", folder.rename(spare, &name))?;
    step("syncing the folder of", folder.sync())?;
    Ok(file)
}

/// Makes a zero-filled file under a spare name nobody has. Zeros are really written, so that a later sync has data to write
/// and no metadata: on ext4 that halves its cost. Of a file that could not be finished nothing stays. One at a time.
pub(crate) fn make_spare(folder: &dyn Folder, file_bytes: u64) -> Result<String, LogError> {
    let made = fill(folder, file_bytes).and_then(|()| {
        let names = folder
            .list()
            .map_err(|error| io_failed(format!("listing {}", folder.path().display()), error))?;
        let free = |name: &String| !names.contains(name);
        let name = (0..).map(|number| format!("{SPARE_PREFIX}new{number}")).find(free);
        let name = name.expect("a folder has fewer files than there are numbers");
        folder.rename(HALF_MADE, &name).map_err(|error| io_failed(format!("naming {name}"), error))?;
        Ok(name)
    });
    if made.is_err() {
        // The error that counts is the one that made this necessary.
        let _kept = folder.remove(HALF_MADE);
    }
    made
}

fn fill(folder: &dyn Folder, file_bytes: u64) -> Result<(), LogError> {
    let file = folder
        .open(HALF_MADE, FileOptions::create())
        .map_err(|error| io_failed(format!("making {HALF_MADE}"), error))?;
    let step = |doing: &str, result: std::io::Result<()>| {
        result.map_err(|error| io_failed(format!("{doing} a segment of the log"), error))
    };
    step("emptying", file.set_len(0))?; // It may have been left half made, of any length.
    step("reserving space for", file.allocate(0, file_bytes))?;
    let zeros = vec![0; FILL_BYTES.min(usize::try_from(file_bytes).unwrap_or(FILL_BYTES))];
    let mut at = 0;
    while at < file_bytes {
        let piece = zeros.len().min(usize::try_from(file_bytes - at).unwrap_or(zeros.len()));
        step("filling", file.write_at(at, &zeros[..piece]))?;
        at += piece as u64;
    }
    step("syncing", file.sync())
}

/// Removes spares from a time when segments had another length. Answers the others.
fn usable_spares(folder: &dyn Folder, spares: Vec<String>, file_bytes: u64) -> Result<Vec<String>, LogError> {
    let mut usable = Vec::new();
    for spare in spares {
        let len = folder.open(&spare, FileOptions::existing()).and_then(|file| file.len());
        match len.map_err(|error| io_failed(format!("measuring {spare}"), error))? == file_bytes {
            true => usable.push(spare),
            false => remove(folder, &spare)?,
        }
    }
    Ok(usable)
}

/// As [`usable_spares`], and makes one if there is none.
pub(crate) fn ready_spares(
    folder: &dyn Folder,
    spares: Vec<String>,
    file_bytes: u64,
) -> Result<Vec<String>, LogError> {
    let mut ready = usable_spares(folder, spares, file_bytes)?;
    if ready.is_empty() {
        ready.push(make_spare(folder, file_bytes)?);
    }
    Ok(ready)
}

/// Turns a segment into a spare. Durable after the folder's next sync.
pub(crate) fn retire(folder: &dyn Folder, segment: &Segment) -> Result<String, LogError> {
    let spare = format!("{SPARE_PREFIX}{:08}", segment.number);
    let name = segment.name();
    folder.rename(&name, &spare).map_err(|error| io_failed(format!("retiring {name}"), error))?;
    Ok(spare)
}

/// Turns segments that nobody reads again, oldest first, into spares of `file_bytes` each as long as there are few, and removes the others. Answers
/// the new spares; durable when it returns.
pub(crate) fn recycle(
    folder: &dyn Folder,
    segments: &[Segment],
    spare_count: usize,
    file_bytes: u64,
) -> Result<Vec<String>, LogError> {
    let mut spares = Vec::new();
    // In this order, so that a crash leaves a row without gaps.
    for segment in segments {
        if spare_count + spares.len() < SPARE_SEGMENTS_MAX && segment.file_bytes() == file_bytes {
            spares.push(retire(folder, segment)?);
        } else {
            remove(folder, &segment.name())?;
        }
    }
    // Before a spare gets a new header its old name must be gone for good.
    folder.sync().map_err(|error| io_failed("syncing the folder of the log".to_owned(), error))?;
    Ok(spares)
}

/// Removes a segment or spare file. Durable after the folder's next sync.
pub(crate) fn remove(folder: &dyn Folder, name: &str) -> Result<(), LogError> {
    folder.remove(name).map_err(|error| io_failed(format!("removing {name}"), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::simulated::SimWorld;
    use std::path::Path;

    #[test]
    fn a_header_comes_back_and_damage_is_told() {
        let folder = SimWorld::new(1).env().disk.folder(Path::new("/"), true).unwrap();
        let segment = Segment::first(SEGMENT_BYTES_MIN, 5).next(SEGMENT_BYTES_MIN, 7000, 6);
        let spare = make_spare(&*folder, SEGMENT_BYTES_MIN).unwrap();
        let file = create(&*folder, &segment, &spare).unwrap();
        assert_eq!(file.len().unwrap(), SEGMENT_BYTES_MIN);
        assert_eq!(open(&*folder, 2).unwrap().0, segment);
        assert_eq!(list(&*folder).unwrap().numbers, [2]);
        assert!(list(&*folder).unwrap().spares.is_empty());
        for (offset, newer) in [(0, false), (8, true), (13, false), (20, false), (50, false)] {
            let mut byte = [0];
            file.read_at(offset, &mut byte).unwrap();
            file.write_at(offset, &[byte[0] + 1]).unwrap();
            let error = open(&*folder, 2).unwrap_err();
            assert_eq!(matches!(error, LogError::NewerFormat { found: 3, known: 2 }), newer, "{error}");
            assert_eq!(matches!(error, LogError::Corrupt { .. }), !newer, "{error}");
            file.write_at(offset, &byte).unwrap();
        }
        let spare = retire(&*folder, &segment).unwrap();
        assert_eq!(list(&*folder).unwrap().spares, [spare]);
    }
}

#[cfg(test)]
mod documented {
    use super::super::record::{HEADER_BYTES, Header, Kind, Link};
    use super::{MAGIC, Segment};
    use crate::formats::{fields, number};

    #[test]
    fn files_are_as_documented() {
        let documented = fields("log.md", "Segment header");
        let segment = Segment { number: 5, start: 8_192, end: 81_920, previous_end: 8_000, salt: 99 };
        let block = segment.encode();
        assert_eq!(&block[..8], MAGIC);
        let names = ["version", "number", "start", "end", "previous end", "salt"];
        for (name, expected) in names.into_iter().zip([2, 5, 8_192, 81_920, 8_000, 99]) {
            assert_eq!(number(&block, &documented, name), expected, "{name}");
        }
        let documented = fields("log.md", "Record");
        let header = Header {
            kind: Kind::Part,
            payload_crc: 11,
            payload_bytes: 12,
            start: 13,
            previous_end: 14,
            previous: Link { part: 15, kept: 17 },
            durable: 16,
        };
        let bytes = header.encode(99);
        let names = [
            "kind",
            "checksum of the payload",
            "payload bytes",
            "start",
            "previous end",
            "previous part",
            "durable",
            "kept",
        ];
        for (name, expected) in names.into_iter().zip([2, 11, 12, 13, 14, 15, 16, 17]) {
            assert_eq!(number(&bytes, &documented, name), expected, "{name}");
        }
        assert_eq!(documented.iter().map(|field| field.1).sum::<usize>(), HEADER_BYTES);
    }
}
