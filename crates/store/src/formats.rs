//! The tables of `docs/internals` against the bytes that are written.

use crate::btree::node::{self, Version};
use crate::ids::{Csn, PageId, TreeId, TxnId};
use crate::pager::frame::{BODY_BYTES, FRAME_HEADER_BYTES, PAGE_BYTES};
use crate::pager::image::{self, Block, Kind};
use crate::store::checkpoint::{CHAIN_BYTES, MAP_PAGES};
use crate::store::superblock::{FORMAT, Superblock};

fn text_of(file: &str) -> &'static str {
    match file {
        "data-file.md" => include_str!("../../../docs/internals/data-file.md"),
        "log.md" => include_str!("../../../docs/internals/log.md"),
        _ => panic!("{file} is not compared"),
    }
}

/// The rows of the table below a heading: offset, bytes, field.
pub(crate) fn fields(file: &str, heading: &str) -> Vec<(usize, usize, String)> {
    let section = text_of(file).split(&format!("\n## {heading}\n")).nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows: Vec<_> = section
        .lines()
        .filter_map(|line| {
            let mut cells = line.trim_matches('|').split('|').map(str::trim);
            let (offset, bytes) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
            Some((offset, bytes, cells.next()?.to_owned()))
        })
        .collect();
    for pair in rows.windows(2) {
        assert_eq!(pair[0].0 + pair[0].1, pair[1].0, "{file}, {heading}: {pair:?}");
    }
    rows
}

/// What stands in the field whose description begins with `name`, as a number.
pub(crate) fn number(bytes: &[u8], fields: &[(usize, usize, String)], name: &str) -> u64 {
    let found = fields.iter().find(|field| field.2.starts_with(name));
    let (offset, len, _) = found.unwrap_or_else(|| panic!("no field {name}"));
    let mut eight = [0; 8];
    eight[..*len].copy_from_slice(&bytes[*offset..offset + len]);
    u64::from_le_bytes(eight)
}

fn says(file: &str, text: &str) {
    assert!(text_of(file).contains(text), "{file} does not say {text:?}");
}

#[test]
fn the_superblock_is_as_documented() {
    let fields = fields("data-file.md", "Superblock");
    let superblock = Superblock {
        checkpoint: 101,
        position: Csn(102),
        next_txn: TxnId(103),
        next_tree: TreeId(104),
        page_end: 105,
        map_head: 106,
        undo_head: 107,
        undo_bytes: 108,
        is_amid_commit: true,
    };
    let bytes = superblock.encode();
    assert_eq!(&bytes[..8], b"INVARDB\0");
    says("data-file.md", &format!("format: {FORMAT} if recovery"));
    let names = [
        "checkpoint",
        "log position",
        "next transaction",
        "next tree",
        "page end",
        "map head",
        "undo head",
        "undo bytes",
    ];
    for (name, expected) in names.into_iter().zip(101..) {
        assert_eq!(number(&bytes, &fields, name), expected, "{name}");
    }
    assert_eq!(number(&bytes, &fields, "format"), u64::from(FORMAT));
    assert_eq!(number(&bytes, &fields, "checksum"), u64::from(crc32c::crc32c(&bytes[16..72])));
}

#[test]
fn a_block_is_as_documented() {
    let fields = fields("data-file.md", "Block header");
    let mut block: Box<Block> = vec![9; PAGE_BYTES].try_into().unwrap();
    image::seal(&mut block, Kind::Undo, 77, 88);
    assert_eq!(number(&block[..], &fields, "number"), 77);
    assert_eq!(number(&block[..], &fields, "checkpoint"), 88);
    assert_eq!(number(&block[..], &fields, "kind"), 4);
    assert_eq!(number(&block[..], &fields, "magic"), 0x4956);
    assert_eq!(number(&block[..], &fields, "checksum"), u64::from(crc32c::crc32c(&block[4..])));
    assert_eq!(fields.iter().map(|field| field.1).sum::<usize>(), FRAME_HEADER_BYTES);
    assert_eq!((MAP_PAGES, CHAIN_BYTES), (4_088, 16_344));
    says("data-file.md", "for the 4,088 pages from `4088 * n`");
    says("data-file.md", "(up to 16,344)");
}

#[test]
fn a_page_is_as_documented() {
    let fields = fields("data-file.md", "Page");
    let mut body = Box::new([0; BODY_BYTES]);
    node::init(&mut body, 0, TreeId(55), b"prefix-a", Some(b"prefix-z"));
    let version = Version { trx_id: 0x11, undo: 0x22 };
    assert!(node::leaf_insert(&mut body, 0, b"prefix-abc", version, Some(b"value")));
    let at = |name: &str| number(&body[..], &fields, name) as usize;
    assert_eq!((at("count"), at("tree"), at("kind"), at("level"), at("prefix length")), (1, 55, 1, 0, 7));
    assert_eq!(&body[at("lower fence at")..][..at("lower fence length")], b"prefix-a");
    assert_eq!(&body[at("upper fence at")..][..at("upper fence length")], b"prefix-z");
    let slot = &body[32..40];
    let cell = usize::from(u16::from_le_bytes([slot[4], slot[5]]));
    assert_eq!((cell, u16::from_le_bytes([slot[6], slot[7]])), (at("heap start"), 3));
    assert_eq!(slot[..4], u32::from_be_bytes(*b"abc\0").to_le_bytes());
    assert_eq!(body[cell..cell + 26], *b"\x11\0\0\0\0\0\0\0\x22\0\0\0\0\0\0\0\x05\0abcvalue");

    node::init_inner(&mut body, 3, TreeId(55), b"", None, PageId(66));
    let at = |name: &str| number(&body[..], &fields, name) as usize;
    assert_eq!((at("kind"), at("level"), at("upper fence at")), (2, 3, 0));
    let cell = at("heap start");
    assert_eq!((cell % 8, body[cell]), (0, 66));
}
