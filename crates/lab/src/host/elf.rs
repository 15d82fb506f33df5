//! The names in a program file: symbols, where functions begin, and where its debug file is.
//!
//! Servers come stripped: only the names other files may call are left (`.dynsym`). But every function's beginning is known,
//! because stack unwinding for exceptions needs it: `.eh_frame_hdr` is a sorted table of them. So an address of a function
//! without a name still has a function, and is called after the nearest name before it: `~do_command+2` is the second nameless
//! function behind `do_command`. That is the same in every run of one build.
//!
//! 64-bit little-endian ELF only; crate `object` reads it. A broken file is an error.
//! Source of the form of `.eh_frame_hdr`: LSB Core.

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// One named function or object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Symbol<'a> {
    /// As the linker knows it: mangled.
    pub name: &'a str,
    /// Address in the file's own numbering.
    pub address: u64,
    /// Bytes; 0 if not given.
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

type Reader<'f> = ElfFile64<'f, LittleEndian, &'f ReadCache<File>>;

fn bad(error: object::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
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
        // Only what is asked for is read.
        let cache = ReadCache::new(File::open(path)?);
        let file = Reader::parse(&cache).map_err(bad)?;
        if is_main {
            for segment in file.segments() {
                let (offset, size) = segment.file_range();
                self.loads.push(Load { offset, address: segment.address(), size });
            }
            if let Some(section) = file.section_by_name(".eh_frame_hdr") {
                self.starts = function_starts(section.data().map_err(bad)?, section.address());
            }
            let link = file.gnu_debuglink().map_err(bad)?;
            self.debug_link = link.and_then(|(name, _)| String::from_utf8(name.to_vec()).ok());
            let id = file.build_id().map_err(bad)?;
            self.build_id = id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        self.has_all_names |= file.symbol_table().is_some();
        self.has_debug_info |= file.section_by_name(".debug_info").is_some();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            // One without a section is known by name only and lies in another file.
            if symbol.kind() != SymbolKind::Text || symbol.is_undefined() || symbol.address() == 0 {
                continue;
            }
            if let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) {
                self.add_symbol(name, symbol.address(), symbol.size());
            }
        }
        Ok(())
    }

    fn add_symbol(&mut self, name: &str, address: u64, size: u64) {
        let start = self.names.len();
        self.names.extend_from_slice(name.as_bytes());
        if let (Ok(name_start), Ok(name_end)) = (u32::try_from(start), u32::try_from(self.names.len())) {
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
    pub(crate) fn address_of_offset(&self, offset: u64) -> Option<u64> {
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
