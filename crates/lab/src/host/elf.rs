//! The names in a program file: symbols, where functions begin, and where its debug file is.
//!
//! Servers come stripped: only the names other files may call are left (`.dynsym`). But every function's beginning is known,
//! because stack unwinding for exceptions needs it: `.eh_frame_hdr` is a sorted table of them. So an address of a function
//! without a name still has a function, and is called after the nearest name before it: `~do_command+2` is the second nameless
//! function behind `do_command`. That is the same in every run of one build.
//!
//! 64-bit little-endian ELF only. Offsets and sizes in the file are checked before they are used; a broken file is an error.
//! Source: System V ABI, "Object Files"; LSB Core, ".eh_frame_hdr".

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A section longer than this is not read.
const SECTION_BYTES_MAX: u64 = 1 << 30;

/// One named function or object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Symbol<'a> {
    /// As the linker knows it: mangled.
    pub name: &'a str,
    /// Address in the file's own numbering.
    pub address: u64,
    /// Bytes; 0 if not told.
    pub size: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    address: u64,
    size: u64,
    name_start: u32,
    name_end: u32,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    offset: u64,
    address: u64,
    size: u64,
}

/// A program file or library.
#[derive(Debug, Default)]
pub struct Elf {
    loads: Vec<Load>,
    /// Functions by address.
    entries: Vec<Entry>,
    names: Vec<u8>,
    /// Beginnings of functions, ascending.
    starts: Vec<u64>,
    /// Whether it has `.symtab`: names of all functions, not only of exported ones.
    pub has_all_names: bool,
    /// Whether it has DWARF: lines and inlined functions.
    pub has_debug_info: bool,
    /// Build id, as hex digits.
    pub build_id: Option<String>,
    /// File with the names that were stripped, if it says one.
    pub debug_link: Option<String>,
    /// The debug file that was found and read too.
    pub debug_file: Option<PathBuf>,
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

struct Section {
    name: u32,
    kind: u32,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
}

struct Input {
    file: File,
    len: u64,
}

impl Input {
    fn bytes(&self, offset: u64, size: u64) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(size).filter(|end| *end <= self.len);
        if end.is_none() || size > SECTION_BYTES_MAX {
            return Err(bad("a part of it lies outside of the file"));
        }
        let mut bytes = vec![0; size as usize];
        self.file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn text_at(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(&rest[..end]).ok()
}

impl Elf {
    /// Reads a file, and its debug file where one is installed.
    ///
    /// # Errors
    /// It cannot be read, or is no ELF file of 64 bits.
    pub fn open(path: &Path) -> io::Result<Elf> {
        let mut elf = Elf::default();
        elf.add_file(path, true)?;
        if let Some(debug) = elf.find_debug_file(path) {
            // Only names are taken from it; one that is broken adds none.
            if elf.add_file(&debug, false).is_ok() {
                elf.debug_file = Some(debug);
            }
        }
        elf.entries.sort_by_key(|entry| (entry.address, std::cmp::Reverse(entry.size)));
        elf.entries.dedup_by_key(|entry| (entry.address, entry.name_end - entry.name_start));
        let starts: Vec<u64> = elf.entries.iter().map(|entry| entry.address).collect();
        elf.starts.extend(starts);
        elf.starts.sort_unstable();
        elf.starts.dedup();
        Ok(elf)
    }

    fn add_file(&mut self, path: &Path, is_main: bool) -> io::Result<()> {
        const SYMBOL_TABLE: u32 = 2;
        const DYNAMIC_SYMBOLS: u32 = 11;
        const NOTE: u32 = 7;
        let file = File::open(path)?;
        let input = Input { len: file.metadata()?.len(), file };
        let head = input.bytes(0, 64)?;
        if head[..6] != [0x7f, b'E', b'L', b'F', 2, 1] {
            return Err(bad("no ELF file of 64 bits, little-endian"));
        }
        let field16 = |at| u64::from(u16_at(&head, at).unwrap_or(0));
        let field64 = |at| u64_at(&head, at).unwrap_or(0);
        if is_main {
            let (size, count) = (field16(54), field16(56));
            let table = input.bytes(field64(32), size * count)?;
            self.loads = table.chunks_exact((size as usize).max(56)).filter_map(load).collect();
        }
        let (size, count) = (field16(58).max(64), field16(60));
        let table = input.bytes(field64(40), size * count)?;
        let sections: Vec<Section> = table.chunks_exact(size as usize).filter_map(section).collect();
        let names = sections.get(field16(62) as usize).map(|names| input.bytes(names.offset, names.size));
        let names = names.unwrap_or_else(|| Ok(Vec::new()))?;
        for one in &sections {
            let name = text_at(&names, one.name as usize).unwrap_or_default();
            if matches!(one.kind, SYMBOL_TABLE | DYNAMIC_SYMBOLS) {
                self.has_all_names |= one.kind == SYMBOL_TABLE;
                if let Some(strings) = sections.get(one.link as usize) {
                    let strings = input.bytes(strings.offset, strings.size)?;
                    self.add_symbols(&input.bytes(one.offset, one.size)?, &strings);
                }
            } else if name == ".debug_info" {
                self.has_debug_info = true;
            } else if is_main && name == ".eh_frame_hdr" {
                self.starts = function_starts(&input.bytes(one.offset, one.size)?, one.address);
            } else if is_main && name == ".gnu_debuglink" {
                self.debug_link = text_at(&input.bytes(one.offset, one.size)?, 0).map(str::to_owned);
            } else if is_main && one.kind == NOTE && name == ".note.gnu.build-id" {
                let note = input.bytes(one.offset, one.size)?;
                let id = note.get(16..).unwrap_or_default();
                self.build_id = Some(id.iter().map(|byte| format!("{byte:02x}")).collect());
            }
        }
        Ok(())
    }

    fn add_symbols(&mut self, table: &[u8], strings: &[u8]) {
        const FUNCTION: u8 = 2;
        const INDIRECT_FUNCTION: u8 = 10;
        for entry in table.chunks_exact(24) {
            let kind = entry[4] & 0xf;
            let (Some(name), Some(section), Some(address), Some(size)) =
                (u32_at(entry, 0), u16_at(entry, 6), u64_at(entry, 8), u64_at(entry, 16))
            else {
                continue;
            };
            // Section 0: known by name only, lies in another file.
            if !matches!(kind, FUNCTION | INDIRECT_FUNCTION) || section == 0 || address == 0 {
                continue;
            }
            let Some(name) = text_at(strings, name as usize).filter(|name| !name.is_empty()) else {
                continue;
            };
            let start = self.names.len();
            self.names.extend_from_slice(name.as_bytes());
            let (Ok(name_start), Ok(name_end)) = (u32::try_from(start), u32::try_from(self.names.len()))
            else {
                return;
            };
            self.entries.push(Entry { address, size, name_start, name_end });
        }
    }

    fn find_debug_file(&self, path: &Path) -> Option<PathBuf> {
        let mut places = Vec::new();
        if let Some(id) = self.build_id.as_deref().filter(|id| id.len() > 2) {
            places.push(PathBuf::from(format!("/usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..])));
        }
        if let (Some(link), Some(folder)) = (&self.debug_link, path.parent()) {
            places.push(folder.join(link));
            places.push(folder.join(".debug").join(link));
            places.push(
                Path::new("/usr/lib/debug").join(folder.strip_prefix("/").unwrap_or(folder)).join(link),
            );
        }
        places.into_iter().find(|place| place != path && place.is_file())
    }

    fn symbol(&self, entry: &Entry) -> Symbol<'_> {
        let name = &self.names[entry.name_start as usize..entry.name_end as usize];
        // Only valid text was put in.
        Symbol {
            name: std::str::from_utf8(name).unwrap_or_default(),
            address: entry.address,
            size: entry.size,
        }
    }

    /// All functions with a name, by address.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.entries.iter().map(|entry| self.symbol(entry))
    }

    /// How many functions have a name, and how many there are.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let mut named: Vec<u64> = self.entries.iter().map(|entry| entry.address).collect();
        named.dedup();
        (named.len(), self.starts.len())
    }

    /// The address in the file's own numbering of a byte of the file; `None` if it is not loaded.
    #[must_use]
    pub fn address_of_offset(&self, offset: u64) -> Option<u64> {
        let load =
            self.loads.iter().find(|load| offset >= load.offset && offset - load.offset < load.size)?;
        Some(offset - load.offset + load.address)
    }

    /// The name of the function an address lies in, if it has one.
    #[must_use]
    pub fn name_of(&self, address: u64) -> Option<&str> {
        let symbol = self.before(address)?;
        let is_inside = address - symbol.address < symbol.size
            || (symbol.size == 0 && self.start_of(address) == Some(symbol.address));
        is_inside.then_some(symbol.name)
    }

    /// The nearest name before an address, and how many functions without a name lie between, this one included. 0 if the
    /// beginnings are not known: then all addresses up to the next name are one.
    #[must_use]
    pub fn near(&self, address: u64) -> Option<(&str, usize)> {
        let symbol = self.before(address)?;
        let from = self.starts.partition_point(|start| *start <= symbol.address);
        let to = self.starts.partition_point(|start| *start <= address);
        Some((symbol.name, to - from))
    }

    fn before(&self, address: u64) -> Option<Symbol<'_>> {
        let after = self.entries.partition_point(|entry| entry.address <= address);
        let last = self.entries.get(after.checked_sub(1)?)?;
        // Of several at one address the longest stands first.
        let first = self.entries.partition_point(|entry| entry.address < last.address);
        self.entries.get(first).map(|entry| self.symbol(entry))
    }

    fn start_of(&self, address: u64) -> Option<u64> {
        let after = self.starts.partition_point(|start| *start <= address);
        self.starts.get(after.checked_sub(1)?).copied()
    }
}

fn load(entry: &[u8]) -> Option<Load> {
    const LOAD: u32 = 1;
    (u32_at(entry, 0)? == LOAD).then_some(())?;
    Some(Load { offset: u64_at(entry, 8)?, address: u64_at(entry, 16)?, size: u64_at(entry, 32)? })
}

fn section(entry: &[u8]) -> Option<Section> {
    const WITHOUT_BYTES: u32 = 8;
    let kind = u32_at(entry, 4)?;
    Some(Section {
        name: u32_at(entry, 0)?,
        kind,
        address: u64_at(entry, 16)?,
        offset: u64_at(entry, 24)?,
        size: if kind == WITHOUT_BYTES { 0 } else { u64_at(entry, 32)? },
        link: u32_at(entry, 40)?,
    })
}

/// The first column of `.eh_frame_hdr`'s table, if it is in the one form that linkers write: counts of 4 bytes, entries of 4
/// bytes relative to the section. Another form gives no beginnings.
fn function_starts(section: &[u8], section_address: u64) -> Vec<u64> {
    const VERSION: u8 = 1;
    const UDATA4: u8 = 0x03;
    const DATAREL_SDATA4: u8 = 0x3b;
    let (Some(&[version, frame, count, table]), Some(entries)) =
        (section.first_chunk::<4>(), u32_at(section, 8))
    else {
        return Vec::new();
    };
    // The pointer to the frames must have 4 bytes, so that the count stands where we look.
    if version != VERSION || frame & 0x0f != 0x0b || count != UDATA4 || table != DATAREL_SDATA4 {
        return Vec::new();
    }
    let rows = section.get(12..).unwrap_or_default().chunks_exact(8).take(entries as usize);
    let mut starts: Vec<u64> = rows
        .filter_map(|row| Some(section_address.wrapping_add_signed(i64::from(u32_at(row, 0)? as i32))))
        .collect();
    starts.sort_unstable();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_program_is_read() {
        let elf = Elf::open(&std::env::current_exe().unwrap()).unwrap();
        let this = elf
            .symbols()
            .find(|symbol| symbol.name.contains("the_own_program_is_read"))
            .expect("we are in it");
        assert_eq!(elf.name_of(this.address), elf.name_of(this.address + this.size - 1));
        assert!(elf.has_all_names && elf.has_debug_info);
        let (named, all) = elf.counts();
        assert!(named > 100 && all >= named, "{named} of {all}");
        let offset_zero = elf.address_of_offset(0).expect("the head is loaded");
        assert!(offset_zero < this.address);
    }

    #[test]
    fn nameless_functions_are_counted_from_the_name_before_them() {
        let mut elf =
            Elf { names: b"alphabeta".to_vec(), starts: vec![100, 150, 180, 300], ..Elf::default() };
        elf.entries = vec![
            Entry { address: 100, size: 40, name_start: 0, name_end: 5 },
            Entry { address: 300, size: 10, name_start: 5, name_end: 9 },
        ];
        assert_eq!(elf.name_of(139), Some("alpha"));
        assert_eq!(elf.name_of(150), None);
        assert_eq!(elf.near(155), Some(("alpha", 1)));
        assert_eq!(elf.near(299), Some(("alpha", 2)));
        assert_eq!(elf.near(305), Some(("beta", 0)));
        assert_eq!(elf.near(50), None);
    }

    #[test]
    fn a_table_of_beginnings_is_read_in_its_usual_form_only() {
        let mut section = vec![1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0];
        section.extend((-0x100i32).to_le_bytes());
        section.extend(0i32.to_le_bytes());
        section.extend(0x40i32.to_le_bytes());
        section.extend(0i32.to_le_bytes());
        assert_eq!(function_starts(&section, 0x1000), [0xf00, 0x1040]);
        section[3] = 0x1b;
        assert_eq!(function_starts(&section, 0x1000), [] as [u64; 0]);
        assert_eq!(function_starts(&[1, 2], 0), [] as [u64; 0]);
    }

    #[test]
    fn broken_files_are_errors() {
        let scratch = crate::host::tool::Scratch::new().unwrap();
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let mut far = whole[..64].to_vec();
        far[40..48].copy_from_slice(&u64::MAX.to_le_bytes()); // Sections far outside.
        for (name, bytes) in
            [("empty", &b""[..]), ("text", &[b'x'; 100]), ("cut", &whole[..64]), ("far", &far)]
        {
            let path = scratch.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert!(Elf::open(&path).is_err(), "{name}");
        }
    }
}
