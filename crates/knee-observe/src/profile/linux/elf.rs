//! The functions of an ELF file: which one is at an offset of the file.
//!
//! Reads the headers and one table of symbols, and of the names only those that are asked for: a program has a hundred
//! thousand of them. 64-bit files with the lowest byte first, as on all architectures for which this is built.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use super::readable::readable;

/// Most bytes of a file that is looked at, and of its table of symbols.
const FILE_MAX: u64 = 512 << 20;
const TABLE_MAX: u64 = 64 << 20;

/// Most bytes of a name.
const NAME_MAX: usize = 4_096;

/// How far a function without a size reaches at most.
const REACH: u64 = 4_096;

/// Bytes of the header of a file, of a segment, of a section, and of a symbol.
const FILE_HEADER: u64 = 64;
const SEGMENT: usize = 56;
const SECTION: usize = 64;
const SYMBOL: usize = 24;

/// Kinds of segments, sections and symbols.
const LOADED: u32 = 1;
const SYMBOLS: u32 = 2;
const DYNAMIC_SYMBOLS: u32 = 11;
const FUNCTION: u8 = 2;
const CHOSEN_FUNCTION: u8 = 10;

/// Why the functions of a file have no names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nameless {
    /// It is larger than [`FILE_MAX`], or its table than [`TABLE_MAX`].
    Large,
    /// It is no file that is understood here.
    Foreign,
    /// It has no table of symbols.
    Stripped,
}

impl Nameless {
    /// In words, behind the name of the file.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Large => "is too large",
            Self::Foreign => "cannot be read",
            Self::Stripped => "has no symbols of its own (stripped)",
        }
    }
}

/// A part of the file that is loaded into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    offset: u64,
    address: u64,
    bytes: u64,
}

/// A function: where it is in memory before relocation, how long it is, and where its name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Function {
    address: u64,
    bytes: u32,
    name: u32,
}

/// The functions of a file.
#[derive(Debug)]
pub(super) struct Elf {
    /// `None` if it was closed.
    file: Option<File>,
    /// Device and inode: another file can be in its place when it is opened again.
    identity: (u64, u64),
    segments: Vec<Segment>,
    /// By address, each address once.
    functions: Vec<Function>,
    /// Where the names are in the file, and how many bytes.
    names: (u64, u64),
    /// Whether there are only symbols for other files, and not those of all functions.
    stripped: bool,
    known: BTreeMap<u32, String>,
}

impl Elf {
    /// Reads the tables of a file.
    pub(super) fn read(file: File) -> Result<Self, Nameless> {
        let metadata = file.metadata().map_err(|_| Nameless::Foreign)?;
        if metadata.len() > FILE_MAX {
            return Err(Nameless::Large);
        }
        let header = read(&file, 0, FILE_HEADER).ok_or(Nameless::Foreign)?;
        if !header.starts_with(&[0x7f, b'E', b'L', b'F', 2, 1]) {
            return Err(Nameless::Foreign);
        }
        let segments = segments(&file, &header).ok_or(Nameless::Foreign)?;
        let sections = sections(&file, &header).ok_or(Nameless::Stripped)?;
        let find = |kind: u32| sections.iter().find(|section| section.kind == kind && section.bytes > 0);
        let whole = find(SYMBOLS);
        let table = whole.or_else(|| find(DYNAMIC_SYMBOLS)).ok_or(Nameless::Stripped)?;
        let names = sections.get(table.link as usize).ok_or(Nameless::Foreign)?;
        if table.bytes > TABLE_MAX {
            return Err(Nameless::Large);
        }
        let symbols = read(&file, table.offset, table.bytes).ok_or(Nameless::Foreign)?;
        let functions = functions(&symbols);
        if functions.is_empty() {
            return Err(Nameless::Stripped);
        }
        let (stripped, names) = (whole.is_none(), (names.offset, names.bytes));
        let identity = (metadata.dev(), metadata.ino());
        let known = BTreeMap::new();
        Ok(Self { file: Some(file), identity, segments, functions, names, stripped, known })
    }

    /// Whether it has a descriptor.
    pub(super) const fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Gives its descriptor back. From then on it is opened again for each name that is not known yet.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// How many functions it has.
    pub(super) fn count(&self) -> usize {
        self.functions.len()
    }

    /// Whether its own functions have no names, only those that it offers to other files.
    pub(super) const fn is_stripped(&self) -> bool {
        self.stripped
    }

    /// The readable name of the function at an offset of the file, which is opened again if it was closed.
    pub(super) fn function(&mut self, offset: u64, open: impl FnOnce() -> Option<File>) -> Option<String> {
        let address = self.segments.iter().find_map(|segment| segment.address_of(offset))?;
        let place = self.functions.partition_point(|one| one.address <= address).checked_sub(1)?;
        let function = *self.functions.get(place)?;
        let reach = if function.bytes == 0 { REACH } else { u64::from(function.bytes) };
        if address - function.address >= reach {
            return None;
        }
        if let Some(known) = self.known.get(&function.name) {
            return Some(known.clone());
        }
        let name = readable(&self.name(function.name, open)?);
        self.known.insert(function.name, name.clone());
        Some(name)
    }

    /// A name as the compiler wrote it.
    fn name(&self, place: u32, open: impl FnOnce() -> Option<File>) -> Option<String> {
        let opened = if self.file.is_none() { open().filter(|file| self.is_it(file)) } else { None };
        let file = self.file.as_ref().or(opened.as_ref())?;
        let (offset, bytes) = self.names;
        let left = bytes.checked_sub(u64::from(place))?;
        let mut name = vec![0; NAME_MAX.min(usize::try_from(left).ok()?)];
        file.read_exact_at(&mut name, offset.checked_add(u64::from(place))?).ok()?;
        let end = name.iter().position(|byte| *byte == 0)?;
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        (!name.is_empty()).then_some(name)
    }

    fn is_it(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|metadata| (metadata.dev(), metadata.ino()) == self.identity)
    }
}

impl Segment {
    /// The address in memory of an offset of the file, if this segment has it.
    const fn address_of(&self, offset: u64) -> Option<u64> {
        match offset.checked_sub(self.offset) {
            Some(inside) if inside < self.bytes => self.address.checked_add(inside),
            _ => None,
        }
    }
}

/// A section of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Section {
    kind: u32,
    offset: u64,
    bytes: u64,
    link: u32,
}

fn segments(file: &File, header: &[u8]) -> Option<Vec<Segment>> {
    let (offset, each, count) = (long(header, 32)?, short(header, 54)?, short(header, 56)?);
    if usize::from(each) != SEGMENT {
        return None;
    }
    let table = read(file, offset, u64::from(each) * u64::from(count))?;
    let segment = |entry: &[u8]| {
        let is_loaded = word(entry, 0)? == LOADED;
        let segment = Segment { offset: long(entry, 8)?, address: long(entry, 16)?, bytes: long(entry, 32)? };
        is_loaded.then_some(segment)
    };
    Some(table.chunks_exact(SEGMENT).filter_map(segment).collect())
}

fn sections(file: &File, header: &[u8]) -> Option<Vec<Section>> {
    let (offset, each, count) = (long(header, 40)?, short(header, 58)?, short(header, 60)?);
    if offset == 0 || usize::from(each) != SECTION {
        return None;
    }
    let table = read(file, offset, u64::from(each) * u64::from(count))?;
    let section = |entry: &[u8]| {
        let (offset, bytes) = (long(entry, 24)?, long(entry, 32)?);
        Some(Section { kind: word(entry, 4)?, offset, bytes, link: word(entry, 40)? })
    };
    Some(table.chunks_exact(SECTION).filter_map(section).collect())
}

/// The functions of a table of symbols, by address. Of several at one address, the longest is kept.
fn functions(table: &[u8]) -> Vec<Function> {
    let function = |entry: &[u8]| {
        let kind = entry.get(4)? & 0xf;
        let is_here = matches!(kind, FUNCTION | CHOSEN_FUNCTION) && short(entry, 6)? != 0;
        let bytes = u32::try_from(long(entry, 16)?).unwrap_or(u32::MAX);
        is_here.then_some(Function { address: long(entry, 8)?, bytes, name: word(entry, 0)? })
    };
    let mut functions: Vec<Function> = table.chunks_exact(SYMBOL).filter_map(function).collect();
    functions.sort_unstable_by_key(|one| (one.address, Reverse(one.bytes), one.name));
    functions.dedup_by_key(|one| one.address);
    functions
}

/// So many bytes of a file; `None` if it has not as many.
fn read(file: &File, offset: u64, count: u64) -> Option<Vec<u8>> {
    let end = offset.checked_add(count)?;
    // Checked first, so that a header that promises more takes no memory.
    if count > TABLE_MAX || end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(count).ok()?];
    file.read_exact_at(&mut bytes, offset).ok()?;
    Some(bytes)
}

fn short(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(place..place + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(place..place + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], place: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(place..place + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A file with one segment, which is loaded from the offset 0x1000 to the address 0x401000, and these functions:
    /// address, size, name.
    fn file(kind: u32, functions: &[(u64, u64, &str)]) -> File {
        let mut names = vec![0_u8];
        let mut symbols = vec![0_u8; SYMBOL];
        for (address, bytes, name) in functions {
            symbols.extend((names.len() as u32).to_le_bytes());
            symbols.extend([FUNCTION, 0, 1, 0]);
            symbols.extend(address.to_le_bytes());
            symbols.extend(bytes.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        let mut header = vec![0_u8; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        header[32..40].copy_from_slice(&64_u64.to_le_bytes());
        header[40..48].copy_from_slice(&120_u64.to_le_bytes());
        for (place, value) in [(54, SEGMENT), (56, 1), (58, SECTION), (60, 2)] {
            header[place..place + 2].copy_from_slice(&(value as u16).to_le_bytes());
        }
        let mut segment = vec![0_u8; SEGMENT];
        segment[..4].copy_from_slice(&LOADED.to_le_bytes());
        for (place, value) in [(8, 0x1000_u64), (16, 0x40_1000), (32, 0x800)] {
            segment[place..place + 8].copy_from_slice(&value.to_le_bytes());
        }
        let tables = 120 + 2 * SECTION as u64;
        let section = |kind: u32, offset: u64, bytes: usize| {
            let mut section = vec![0_u8; SECTION];
            section[4..8].copy_from_slice(&kind.to_le_bytes());
            section[24..32].copy_from_slice(&offset.to_le_bytes());
            section[32..40].copy_from_slice(&(bytes as u64).to_le_bytes());
            section[40..44].copy_from_slice(&1_u32.to_le_bytes());
            section
        };
        let sections =
            [section(kind, tables, symbols.len()), section(3, tables + symbols.len() as u64, names.len())];
        let mut file = tempfile::tempfile().unwrap();
        for part in [&header, &segment, &sections[0], &sections[1], &symbols, &names] {
            file.write_all(part).unwrap();
        }
        file
    }

    #[test]
    fn a_function_is_found_by_its_offset_in_the_file_wherever_the_segment_is_loaded() {
        let functions = [(0x40_1000, 0x10, "first"), (0x40_1010, 0, "endless"), (0x40_1100, 0x20, "last")];
        let mut elf = Elf::read(file(SYMBOLS, &functions)).unwrap();
        for (offset, name) in [
            (0x1000, Some("first")),
            (0x100f, Some("first")),
            (0x1050, Some("endless")),
            (0x1100, Some("last")),
            (0x1120, None),
            (0xfff, None),
            (0x1800, None),
        ] {
            assert_eq!(elf.function(offset, || None).as_deref(), name, "{offset:x}");
        }
        assert!(!elf.is_stripped());
        assert!(Elf::read(file(DYNAMIC_SYMBOLS, &functions)).unwrap().is_stripped());
    }

    #[test]
    fn of_two_names_of_one_address_the_longer_function_has_it() {
        let mut elf = Elf::read(file(SYMBOLS, &[(0x40_1000, 4, "label"), (0x40_1000, 64, "whole")])).unwrap();
        assert_eq!(elf.function(0x1020, || None).as_deref(), Some("whole"));
    }

    #[test]
    fn a_file_that_was_closed_is_opened_again_for_a_new_name_unless_another_one_has_taken_its_place() {
        let functions = [(0x40_1000, 0x10, "first"), (0x40_1010, 0x10, "second"), (0x40_1020, 0x10, "third")];
        let original = file(SYMBOLS, &functions);
        let again = original.try_clone().unwrap();
        let mut elf = Elf::read(original).unwrap();
        assert_eq!(elf.function(0x1000, || None).as_deref(), Some("first"));
        elf.close();
        assert!(!elf.is_open());
        assert_eq!(elf.function(0x1000, || None).as_deref(), Some("first"), "it is known");
        assert_eq!(elf.function(0x1010, || None), None);
        assert_eq!(elf.function(0x1010, || Some(file(SYMBOLS, &functions))), None, "another file");
        assert_eq!(elf.function(0x1020, || Some(again)).as_deref(), Some("third"));
    }

    #[test]
    fn a_file_without_symbols_and_a_file_that_lies_are_no_harm() {
        assert_eq!(Elf::read(file(SYMBOLS, &[])).unwrap_err(), Nameless::Stripped);
        assert_eq!(Elf::read(file(1, &[(1, 1, "x")])).unwrap_err(), Nameless::Stripped);
        let mut text = tempfile::tempfile().unwrap();
        text.write_all(b"#!/bin/sh\n").unwrap();
        assert_eq!(Elf::read(text).unwrap_err(), Nameless::Foreign);
        let mut cut = tempfile::tempfile().unwrap();
        let mut header = vec![0xff_u8; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        cut.write_all(&header).unwrap();
        assert_eq!(Elf::read(cut).unwrap_err(), Nameless::Foreign);
    }

    #[test]
    fn the_functions_of_this_program_are_found() {
        let own = File::open("/proc/self/exe").unwrap();
        let Ok(elf) = Elf::read(own) else {
            return println!("skipped: this program is built without symbols");
        };
        assert!(elf.functions.len() > 100 && elf.functions.is_sorted_by_key(|one| one.address));
    }
}
