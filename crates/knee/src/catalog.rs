//! What is saved, as a list that does not read every file each time: entries by name, size and time of change.
//!
//! The list is a cache. If it is missing, damaged or of another version, it is made again from the files. Does not
//! change what is saved.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::UNIX_EPOCH;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use knee_core::record::run::read;
use knee_core::unit::Nanos;
use knee_driver::private_file;
use knee_report::history::Entry;
use knee_report::kept::{FILE_BYTES_MAX, Summary};
use serde::{Deserialize, Serialize};

use crate::problem::{Problem, on_one_line, reason};
use crate::store::{self, Store};

/// The version of the list; another one is not read. It rises when entries get other content.
const VERSION: u32 = 1;

/// So many files take some seconds to read.
const MANY: usize = 500;

/// Most bytes of the list.
const BYTES_MAX: u64 = 256 << 20;

/// The files in the store.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Runs and results, newest first.
    pub entries: Vec<Entry>,
    /// Files that are neither, or that cannot be read, each with the reason.
    pub skipped: Vec<(String, String)>,
    /// How many files were read for it.
    pub read: usize,
}

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    bytes: u64,
    changed: u128,
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Self { bytes: metadata.len(), changed: since.map_or(0, |since| since.as_nanos()) }
    }
}

/// What is known of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    state: State,
    found: Result<Entry, String>,
}

/// The list as it is stored.
#[derive(Default, Serialize, Deserialize)]
struct Index {
    version: u32,
    /// By the name of the file.
    files: BTreeMap<String, Known>,
}

impl Catalog {
    /// What is in the store now. Reads the files that are new or changed, says so if they are many, and stores the list
    /// for the next time.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read. A list that cannot be written is no error: it is only slower.
    pub fn of(store: &Store, narrate: fn(&str)) -> Result<Self, Problem> {
        let mut catalog = Self::default();
        let mut before = load(&store.index()).files;
        let stored = before.len();
        let (mut files, mut unread) = (BTreeMap::new(), Vec::new());
        for path in store.files()? {
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
                continue;
            };
            match state(store, &path) {
                Err(reason) => catalog.skipped.push((name, reason)),
                Ok(state) => match before.remove(&name).filter(|known| known.state == state) {
                    Some(known) => drop(files.insert(name, known)),
                    None => unread.push((name, path, state)),
                },
            }
        }
        catalog.read = unread.len();
        if catalog.read > MANY {
            narrate(&format!("reading {} files that are not in the list yet", catalog.read));
        }
        for (name, path, state) in unread {
            if File::open(&path).is_ok_and(|file| store::is_in_progress(&file)) {
                catalog.skipped.push((name, "its run is in progress".to_owned()));
            } else {
                files.insert(name, Known { state, found: entry(&path) });
            }
        }
        let index = Index { version: VERSION, files };
        if catalog.read > 0 || index.files.len() != stored {
            save(&store.index(), &index);
        }
        for (name, known) in index.files {
            match known.found {
                Ok(entry) => catalog.entries.push(entry),
                Err(reason) => catalog.skipped.push((name, reason)),
            }
        }
        // As `last` counts: by name.
        catalog.entries.sort_by(|one, other| other.record.cmp(&one.record));
        catalog.skipped.sort();
        Ok(catalog)
    }

    /// What to say about the files that were skipped, at most ten of them by name.
    pub fn notes(&self) -> Vec<String> {
        const NAMED_MAX: usize = 10;
        let named = self.skipped.iter().take(NAMED_MAX);
        let mut notes: Vec<String> = named
            .map(|(file, reason)| format!("note: skipped `{}`: {}", on_one_line(file), on_one_line(reason)))
            .collect();
        let more = self.skipped.len().saturating_sub(NAMED_MAX);
        if more > 0 {
            notes.push(format!("note: skipped {more} more"));
        }
        notes
    }
}

/// The state of a file that belongs into the list; else why it does not.
fn state(store: &Store, path: &Path) -> Result<State, String> {
    match fs::metadata(path) {
        Ok(_) if !store.holds(path) => Err("a link that leads out of the folder".to_owned()),
        Ok(metadata) if !metadata.is_file() => Err("not a file".to_owned()),
        Ok(_) if !store::is_record(path) && !store::is_result(path) => {
            Err("not a saved run or result".to_owned())
        }
        Ok(metadata) => Ok(State::of(&metadata)),
        Err(error) => Err(reason(&error)),
    }
}

/// The stored list; an empty one if there is none that can be read.
fn load(path: &Path) -> Index {
    let mut bytes = Vec::new();
    let Ok(file) = File::open(path) else { return Index::default() };
    if file.take(BYTES_MAX).read_to_end(&mut bytes).is_err() {
        return Index::default();
    }
    rmp_serde::from_slice(&bytes).ok().filter(|index: &Index| index.version == VERSION).unwrap_or_default()
}

/// Stores the list in one step: another process reads the old one or the new one.
fn save(path: &Path, index: &Index) {
    let Ok(bytes) = rmp_serde::to_vec(index) else { return };
    let fresh = path.with_extension(format!("index-{}", std::process::id()));
    if private_file::write(&fresh, &bytes).and_then(|()| fs::rename(&fresh, path)).is_err() {
        // Without a list, the next command reads all files again.
        let _ = fs::remove_file(&fresh);
    }
}

/// Reads a file. The reason why that failed is one line.
fn entry(path: &Path) -> Result<Entry, String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = store::label(&stem);
    let file = File::open(path).map_err(|error| reason(&error))?;
    if store::is_record(path) {
        let reading = read(BufReader::new(file)).map_err(|error| error.to_string())?;
        return Ok(Entry::of_run(&stem, name, &reading.run));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| reason(&error))?;
    let summary = Summary::unpack(&bytes).map_err(|error| error.to_string())?;
    Ok(Entry::of_result(&stem, name, time_of_name(&stem), &summary))
}

/// The time in a name: `20261121T101530.123Z-sweep-a`. A name without one has the time 0.
fn time_of_name(stem: &str) -> Nanos {
    let time = stem.split_once('-').and_then(|(time, _)| DateTime::strptime("%Y%m%dT%H%M%S%.fZ", time).ok());
    let time = time.and_then(|time| time.to_zoned(TimeZone::UTC).ok());
    Nanos(time.map_or(0, |time| u64::try_from(time.timestamp().as_nanosecond()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::io::Write;

    use knee_core::validity::Validity;
    use knee_report::kept::{KeptResult, Printed, ResultKind};

    use super::*;

    const STARTED: Nanos = Nanos(1_795_256_130_123_000_000);

    fn store() -> (tempfile::TempDir, Store) {
        let home = tempfile::tempdir().unwrap();
        let path: OsString = home.path().as_os_str().to_owned();
        let store = Store::of(|name| (name == "KNEE_HOME").then(|| path.clone())).unwrap();
        (home, store)
    }

    fn result(answer: &str) -> Vec<u8> {
        let summary = Summary {
            kind: ResultKind::Sweep,
            title: "http://a/".into(),
            load: String::new(),
            answer: answer.into(),
            validity: Some(Validity::Valid),
        };
        KeptResult { summary, printed: Printed::default() }.pack()
    }

    /// A record as knee-core keeps it for its own tests.
    const RECORD: &[u8] = include_bytes!("../../knee-core/tests/fixtures/v2.knee");

    #[test]
    fn a_file_is_read_once_and_again_when_it_changes() {
        let (_home, store) = store();
        let path = store.keep(STARTED, "sweep-a", &result("one")).unwrap();
        fs::write(store.folder().join("20261121T101529.000Z-shop.knee"), RECORD).unwrap();
        let first = Catalog::of(&store, |_| {}).unwrap();
        let told: Vec<(&str, &str, &str)> = first
            .entries
            .iter()
            .map(|one| (one.name.as_str(), one.kind.as_str(), one.answer.as_str()))
            .collect();
        assert_eq!(told[0], ("sweep-a", "sweep", "one"));
        assert_eq!((told[1].0, told[1].1), ("shop", "run"));
        assert_eq!((first.read, first.entries[0].at), (2, STARTED));
        let second = Catalog::of(&store, |_| {}).unwrap();
        assert_eq!((second.read, &second.entries), (0, &first.entries));
        fs::write(&path, result("another")).unwrap();
        let third = Catalog::of(&store, |_| {}).unwrap();
        assert_eq!((third.read, third.entries[0].answer.as_str()), (1, "another"));
        fs::remove_file(&path).unwrap();
        assert_eq!(Catalog::of(&store, |_| {}).unwrap().entries.len(), 1);
    }

    #[test]
    fn a_run_in_progress_is_named_and_is_listed_when_its_record_is_complete() {
        let (_home, store) = store();
        let mut record = store.create(STARTED, "shop").unwrap();
        record.file.write_all(&RECORD[..RECORD.len() / 2]).unwrap();
        let during = Catalog::of(&store, |_| {}).unwrap();
        assert_eq!(during.entries, []);
        assert_eq!(during.skipped[0].1, "its run is in progress");
        record.file.write_all(&RECORD[RECORD.len() / 2..]).unwrap();
        drop(record);
        let after = Catalog::of(&store, |_| {}).unwrap();
        assert_eq!((after.entries.len(), after.skipped), (1, Vec::new()));
    }

    #[test]
    fn what_is_broken_or_foreign_is_named_and_the_rest_is_listed() {
        let (_home, store) = store();
        store.keep(STARTED, "sweep-a", &result("one")).unwrap();
        for (name, bytes) in
            [("cut.result", &result("one")[..30]), ("noise.knee", b"noise"), ("notes.txt", b"my notes")]
        {
            fs::write(store.folder().join(name), bytes).unwrap();
        }
        fs::create_dir(store.folder().join("folder.knee")).unwrap();
        for _ in 0..2 {
            let catalog = Catalog::of(&store, |_| {}).unwrap();
            assert_eq!(catalog.entries.len(), 1);
            let named: Vec<&str> = catalog.skipped.iter().map(|(file, _)| file.as_str()).collect();
            assert_eq!(named, ["cut.result", "folder.knee", "noise.knee", "notes.txt"]);
            assert!(
                catalog.notes()[0].starts_with("note: skipped `cut.result`: the saved result is cut off")
            );
        }
    }

    #[test]
    fn a_link_is_listed_only_if_it_stays_in_the_folder() {
        let (home, store) = store();
        let saved = store.keep(STARTED, "sweep-a", &result("one")).unwrap();
        let elsewhere = home.path().join("elsewhere.result");
        fs::write(&elsewhere, result("not for everyone")).unwrap();
        for (name, to) in [("b.result", &saved), ("c.result", &elsewhere)] {
            std::os::unix::fs::symlink(to, store.folder().join(name)).unwrap();
        }
        let catalog = Catalog::of(&store, |_| {}).unwrap();
        let answers: Vec<&str> = catalog.entries.iter().map(|entry| entry.answer.as_str()).collect();
        assert_eq!(answers, ["one", "one"]);
        assert_eq!(catalog.notes(), ["note: skipped `c.result`: a link that leads out of the folder"]);
    }

    #[test]
    fn a_damaged_list_is_made_again() {
        let (_home, store) = store();
        store.keep(STARTED, "sweep-a", &result("one")).unwrap();
        Catalog::of(&store, |_| {}).unwrap();
        let whole = fs::read(store.index()).unwrap();
        for broken in [&b""[..], b"\xff\xff\xff\xff", &whole[..whole.len() / 2]] {
            fs::write(store.index(), broken).unwrap();
            let catalog = Catalog::of(&store, |_| {}).unwrap();
            assert_eq!((catalog.entries.len(), catalog.read), (1, 1));
        }
        assert_eq!(Catalog::of(&store, |_| {}).unwrap().read, 0);
    }

    #[test]
    fn without_a_saved_run_the_list_is_empty() {
        let (_home, store) = store();
        assert_eq!(Catalog::of(&store, |_| {}).unwrap().entries.len(), 0);
    }
}
