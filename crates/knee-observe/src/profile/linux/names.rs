//! Finds the name of the function at an address, and the file that it is in.
//!
//! Symbol tables are read once per file. What can be executed in a process is read again at each reading, for processes
//! that were sampled. Files of containers are read through the root of the process.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;

use crate::text::label;

use super::budget;
use super::compiled::Compiled;
use super::elf::{Elf, Nameless};
use super::events::Spot;
use super::kernel::Kernel;
use super::parse::{self, Mapping};

/// Most bytes of `/proc/PID/maps` that are read.
const MAPS_MAX: u64 = 16 << 20;

/// Most files whose functions are known, and how many functions all of them have before no more files are read: 64 MB.
const FILES_MAX: usize = 128;
const FUNCTIONS_MAX: usize = 4_000_000;

/// Most files whose lack of names is reported.
const REPORTED_MAX: usize = 3;

/// What is missing if there is no map of compiled functions.
const WITHOUT_MAP: &str = "functions that a runtime compiled: there is no /tmp/perf-PID.map of its user \
                           (`node --perf-basic-prof`, `jcmd PID Compiler.perfmap`)";

/// Most processes whose files are read before the load.
const BEFORE_MAX: usize = 16;

/// A file of the machine: device and inode.
type FileId = (String, u64);

/// What runs at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) function: String,
    pub(super) module: String,
}

/// What can be executed in a process.
#[derive(Debug)]
struct Program {
    mappings: Vec<Mapping>,
    /// The file of the program itself, whose functions are named without it.
    own: Option<String>,
    compiled: Compiled,
    /// Whether it was read for this reading.
    fresh: bool,
}

/// All names.
#[derive(Debug, Default)]
pub(super) struct Names {
    kernel: Kernel,
    programs: BTreeMap<u32, Program>,
    files: BTreeMap<FileId, Result<Elf, &'static str>>,
    /// Files that were sampled and whose functions have no names, and why.
    nameless: BTreeMap<String, &'static str>,
    /// Whether code was sampled that a runtime has compiled, without a map that names it.
    is_without_map: bool,
}

impl Names {
    /// Reads what takes long: before the load. The functions of the kernel only if they can appear.
    pub(super) fn read(pids: &[u32], in_kernel: bool) -> Self {
        let kernel = if in_kernel { Kernel::read() } else { Kernel::default() };
        let mut names = Self { kernel, ..Self::default() };
        for pid in pids.iter().take(BEFORE_MAX) {
            for mapping in names.program(*pid).mappings.clone() {
                names.table(*pid, &mapping);
            }
        }
        names
    }

    /// Begins another reading: what processes have loaded since is seen.
    pub(super) fn begin(&mut self, pids: &BTreeSet<u32>) {
        self.programs.retain(|pid, _| pids.contains(pid));
        self.programs.values_mut().for_each(|program| program.fresh = false);
    }

    /// What runs at a place.
    pub(super) fn of(&mut self, spot: Spot) -> Named {
        if spot.in_kernel {
            return named(self.kernel.function(spot.address), "kernel", false);
        }
        let address = spot.address;
        let program = self.program(spot.pid);
        let is_there = |mapping: &&Mapping| mapping.start <= address && address < mapping.end;
        let mapping = program.mappings.iter().find(is_there).cloned();
        let is_own = mapping.as_ref().is_some_and(|mapping| program.own.as_ref() == Some(&mapping.path));
        if let Some(function) = program.compiled.function(address) {
            return Named { function: function.to_owned(), module: "compiled".to_owned() };
        }
        let has_map = program.compiled.is_there();
        let Some(mapping) = mapping else {
            return Named { function: "unknown".to_owned(), module: "unknown".to_owned() };
        };
        self.is_without_map |= !has_map && is_compiled(&mapping);
        let module = file_name(&mapping.path);
        let offset = (address - mapping.start).saturating_add(mapping.offset);
        let table = self.table(spot.pid, &mapping);
        let function = table.and_then(|elf| elf.function(offset, || open(spot.pid, &mapping)));
        if function.is_none() {
            self.note_nameless(&mapping.file, &module);
        }
        named(function.as_deref(), &module, is_own)
    }

    /// What has no names, in words.
    pub(super) fn without(&self, in_kernel: bool) -> Vec<String> {
        let mut without = Vec::new();
        if in_kernel && self.kernel.is_empty() {
            without.push("functions of the kernel: /proc/kallsyms hides their addresses".to_owned());
        }
        if self.is_without_map {
            without.push(WITHOUT_MAP.to_owned());
        }
        let files = self.nameless.iter().take(REPORTED_MAX);
        without.extend(files.map(|(module, why)| format!("functions of {module}: the file {why}")));
        without
    }

    /// What a process can execute, read if it was not read yet.
    fn program(&mut self, pid: u32) -> &Program {
        let program = self.programs.entry(pid).or_insert_with(|| Program::of(pid));
        if !program.fresh {
            program.read(pid);
        }
        program
    }

    /// The functions of a file, read if it was not read yet; `None` if it has none.
    fn table(&mut self, pid: u32, mapping: &Mapping) -> Option<&mut Elf> {
        if mapping.file.1 == 0 {
            return None;
        }
        if !self.files.contains_key(&mapping.file) {
            let functions: usize = self.files.values().flatten().map(Elf::count).sum();
            if self.files.len() == FILES_MAX || functions >= FUNCTIONS_MAX {
                return None;
            }
            let file = open(pid, mapping).ok_or("cannot be opened");
            let mut read = file.and_then(|file| Elf::read(file).map_err(Nameless::words));
            // Of a process that ends, only the files that stay open can give names to its last samples.
            let held = self.files.values().flatten().filter(|elf| elf.is_open()).count();
            if let Ok(elf) = &mut read
                && held >= budget::FILES_MAX
            {
                elf.close();
            }
            self.files.insert(mapping.file.clone(), read);
        }
        self.files.get_mut(&mapping.file)?.as_mut().ok()
    }

    /// Notes why a function of a file has no name, if that is known.
    fn note_nameless(&mut self, file: &FileId, module: &str) {
        let why = match self.files.get(file) {
            Some(Err(why)) => *why,
            Some(Ok(elf)) if elf.is_stripped() => Nameless::Stripped.words(),
            _ => return,
        };
        self.nameless.insert(module.to_owned(), why);
    }
}

impl Program {
    fn of(pid: u32) -> Self {
        let status = parse::status(&text(&format!("/proc/{pid}/status")));
        Self { mappings: Vec::new(), own: None, compiled: Compiled::of(pid, status), fresh: false }
    }

    fn read(&mut self, pid: u32) {
        let own = fs::read_link(format!("/proc/{pid}/exe")).ok();
        self.own = own.and_then(|path| path.to_str().map(str::to_owned)).or_else(|| self.own.take());
        let maps = text(&format!("/proc/{pid}/maps"));
        // Of a process that has ended, what was known stays.
        if !maps.is_empty() {
            self.mappings = parse::mappings(&maps);
        }
        self.compiled.read();
        self.fresh = true;
    }
}

/// A function with the name of its file, unless it is the program's own.
fn named(function: Option<&str>, module: &str, is_own: bool) -> Named {
    let function = match function {
        Some(function) if is_own => label(function),
        Some(function) => label(&format!("{} ({module})", shortened(function, module))),
        None => format!("{module}+unknown"),
    };
    Named { function, module: module.to_owned() }
}

/// A name that leaves room for the name of its file.
fn shortened<'n>(function: &'n str, module: &str) -> &'n str {
    let room = 240_usize.saturating_sub(module.len());
    let end = (0..=room.min(function.len())).rev().find(|end| function.is_char_boundary(*end));
    &function[..end.unwrap_or(0)]
}

/// Whether the code at a mapping has no file, as what a runtime compiles. What the kernel puts there has a name.
fn is_compiled(mapping: &Mapping) -> bool {
    mapping.file.1 == 0 && (mapping.path.is_empty() || mapping.path.starts_with("[anon"))
}

/// The name of a file without its folder; `anonymous` for memory without a file.
fn file_name(path: &str) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default().trim_matches(['[', ']']);
    if name.is_empty() { "anonymous".to_owned() } else { label(name) }
}

/// The file of a mapping. The kernel has a link to it, which only root can follow; the path is that within the root of the
/// process, unless the file was deleted.
fn open(pid: u32, mapping: &Mapping) -> Option<File> {
    let link = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let path = format!("/proc/{pid}/root{}", mapping.path);
    let is_there = mapping.path.starts_with('/') && !mapping.path.ends_with(" (deleted)");
    let paths = [Some(link), is_there.then_some(path)];
    paths.into_iter().flatten().find_map(|path| regular(&path))
}

/// A regular file; a pipe or a device does not stop the observer.
fn regular(path: &str) -> Option<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// The text of a file of `/proc`; empty if it cannot be read.
fn text(path: &str) -> String {
    let mut bytes = Vec::new();
    let Ok(file) = File::open(path) else { return String::new() };
    match file.take(MAPS_MAX).read_to_end(&mut bytes) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;
    use std::path::Path;

    use super::*;

    #[test]
    fn functions_of_libraries_and_of_the_kernel_are_named_with_their_file() {
        for (function, module, is_own, shown) in [
            (Some("shop::render"), "shop", true, "shop::render"),
            (Some("memcpy"), "libc.so.6", false, "memcpy (libc.so.6)"),
            (Some("tcp_sendmsg"), "kernel", false, "tcp_sendmsg (kernel)"),
            (None, "libc.so.6", false, "libc.so.6+unknown"),
            (None, "shop", true, "shop+unknown"),
        ] {
            assert_eq!(named(function, module, is_own).function, shown);
        }
        let long = named(Some(&"x".repeat(1_000)), "libfoo.so", false);
        assert!(long.function.ends_with("x (libfoo.so)"), "{}", long.function);
    }

    #[test]
    fn a_file_is_named_without_its_folder_and_cannot_steer_a_terminal() {
        for (path, name) in [
            ("/usr/lib/libc.so.6", "libc.so.6"),
            ("/opt/shop (deleted)", "shop"),
            ("[vdso]", "vdso"),
            ("", "anonymous"),
            ("/tmp/a\u{1b}[2J", "a\\u{1b}[2J"),
        ] {
            assert_eq!(file_name(path), name);
        }
    }

    #[test]
    fn a_place_in_no_file_is_counted_as_unknown() {
        let mut names = Names::default();
        let spot = Spot { pid: std::process::id(), in_kernel: false, address: 1 };
        assert_eq!(names.of(spot), Named { function: "unknown".into(), module: "unknown".into() });
        assert_eq!(names.of(Spot { in_kernel: true, ..spot }).function, "kernel+unknown");
    }

    /// A process that is none, with code without a file at 0x1000 and the code of the kernel at 0x9000.
    fn runtime(map: &Path) -> (Names, Spot) {
        let mapping = |start: u64, path: &str| Mapping {
            start,
            end: start + 0x1000,
            offset: 0,
            file: ("00:00".to_owned(), 0),
            path: path.to_owned(),
        };
        let user = fs::metadata(map).ok().map(|metadata| metadata.uid());
        let mut compiled = Compiled::at(map.to_owned(), user);
        compiled.read();
        let mappings = vec![mapping(0x1000, ""), mapping(0x9000, "[vdso]")];
        let program = Program { mappings, own: None, compiled, fresh: true };
        let pid = 5_000_000;
        let names = Names { programs: BTreeMap::from([(pid, program)]), ..Names::default() };
        (names, Spot { pid, in_kernel: false, address: 0x1010 })
    }

    #[test]
    fn code_that_a_runtime_compiled_has_the_name_that_its_map_gives() {
        let folder = tempfile::tempdir().unwrap();
        let map = folder.path().join("perf-7.map");
        fs::write(&map, "1000 100 JS:*render /app/a b.js:3\n").unwrap();
        let (mut names, spot) = runtime(&map);
        let render = Named { function: "JS:*render /app/a b.js:3".into(), module: "compiled".into() };
        assert_eq!(names.of(spot), render);
        assert_eq!(names.of(Spot { address: 0x1200, ..spot }).function, "anonymous+unknown");
        assert!(names.without(false).is_empty(), "{:?}", names.without(false));
    }

    #[test]
    fn it_is_said_that_compiled_code_has_no_map_and_how_there_is_one() {
        let (mut names, spot) = runtime(Path::new("/none/perf-7.map"));
        names.of(Spot { address: 0x9010, ..spot });
        assert!(names.without(false).is_empty(), "the kernel's own code has none");
        assert_eq!(names.of(spot).function, "anonymous+unknown");
        assert_eq!(names.without(false), [WITHOUT_MAP]);
    }
}
