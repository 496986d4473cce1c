//! What an agent keeps of its runs: a folder each, with job, record and log, until newer ones take their place.
//!
//! Does not write the record nor the log; the process that makes the part does.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::name::{Incarnation, RunId};

/// The folder of the runs, within that of the agent.
const RUNS: &str = "runs";
/// Folders of runs that are kept.
const KEPT_RUNS: usize = 20;
/// Bytes of a record in an answer: with its base64, it fits into the 1 MiB of a message.
const PIECE: u64 = 512 << 10;
/// Bytes of a log that are read into a buffer, and buffers at a time: more than a script can write meanwhile.
const READ: usize = 64 << 10;
const BUFFERS: usize = 256;
/// Lines that are taken from a log at a time.
const LINES: usize = 40;

/// The folder of a run of this process.
#[derive(Clone, Debug)]
pub(super) struct RunFolder(PathBuf);

impl RunFolder {
    pub(super) fn of(agent: &Path, run: &RunId, incarnation: &Incarnation) -> Self {
        Self(agent.join(RUNS).join(format!("{run}-{incarnation}")))
    }

    /// Makes it, such that only its owner can look into it.
    pub(super) fn create(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    pub(super) fn job(&self) -> PathBuf {
        self.0.join("job")
    }

    pub(super) fn record(&self) -> PathBuf {
        self.0.join("record.knee")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

/// A piece of a kept record.
pub(super) struct RecordPiece {
    /// Bytes of the whole record.
    pub of: u64,
    /// What begins where it was asked for; nothing at the end.
    pub bytes: Vec<u8>,
}

/// A piece of the newest record of a run that began in any process of the agent; `None` if it keeps none.
pub(super) fn record_piece(agent: &Path, run: &RunId, from: u64) -> Option<RecordPiece> {
    let prefix = format!("{run}-");
    // Names of runs can have a hyphen, and one can begin like another; those of processes are digits alone.
    let is_digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_of_run = |name: &str| name.strip_prefix(&prefix).is_some_and(is_digits);
    let entries = fs::read_dir(agent.join(RUNS)).ok()?.filter_map(Result::ok);
    let folders = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_of_run));
    let records = folders.map(|folder| RunFolder(folder.path()).record());
    let dated = records.filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)));
    let mut file = File::open(dated.max()?.1).ok()?;
    let of = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(PIECE).read_to_end(&mut bytes).ok()?;
    Some(RecordPiece { of, bytes })
}

/// Reads a log while it grows.
#[derive(Debug, Default)]
pub(super) struct LogReader {
    at: u64,
    /// A line that has no end yet.
    begun: Vec<u8>,
}

impl LogReader {
    /// The first lines that were finished since the last call, and how many more there were in what was read. A line
    /// longer than the buffer is cut into several.
    pub(super) fn read(&mut self, log: &Path) -> (Vec<String>, u64) {
        let (mut lines, mut more) = (Vec::new(), 0);
        for _ in 0..BUFFERS {
            let whole = self.next_lines(log);
            if whole.is_empty() {
                break;
            }
            if lines.len() < LINES {
                let mut all = String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect::<Vec<_>>();
                let fits = LINES - lines.len();
                more += all.len().saturating_sub(fits) as u64;
                all.truncate(fits);
                lines.append(&mut all);
            } else {
                more += memchr::memchr_iter(b'\n', &whole).count().max(1) as u64;
            }
        }
        (lines, more)
    }

    /// Whole lines of the next buffer; nothing if no line has ended.
    fn next_lines(&mut self, log: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = File::open(log).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.at))?;
            file.take(READ as u64).read_to_end(&mut bytes)
        });
        // Without a log, nothing was written.
        self.at += read.unwrap_or_default() as u64;
        self.begun.append(&mut bytes);
        let whole = match memchr::memrchr(b'\n', &self.begun) {
            Some(end) => end + 1,
            None if self.begun.len() >= READ => self.begun.len(),
            None => return Vec::new(),
        };
        let rest = self.begun.split_off(whole);
        std::mem::replace(&mut self.begun, rest)
    }
}

/// Removes the oldest folders of runs.
pub(super) fn prune(agent: &Path) {
    let Ok(entries) = fs::read_dir(agent.join(RUNS)) else { return };
    let mut runs: Vec<_> = entries
        .filter_map(Result::ok)
        // Nothing that something else put there.
        .filter(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.path().join("log").exists()
        })
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    runs.sort();
    let old = runs.len().saturating_sub(KEPT_RUNS);
    for (_, path) in runs.into_iter().take(old) {
        // What cannot be removed is tried again after the next run.
        let _ = fs::remove_dir_all(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_piece_by_piece_and_only_that_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let (run, longer): (RunId, RunId) = ("load".parse().unwrap(), "load-2".parse().unwrap());
        let record: Vec<u8> = (0..PIECE + 10).map(|place| place as u8).collect();
        for (name, bytes) in [(&longer, &b"another"[..]), (&run, &record[..])] {
            let own = RunFolder::of(folder.path(), name, &Incarnation::random());
            own.create().unwrap();
            fs::write(own.record(), bytes).unwrap();
        }
        let first = record_piece(folder.path(), &run, 0).unwrap();
        assert_eq!((first.of, first.bytes.len() as u64), (PIECE + 10, PIECE));
        let second = record_piece(folder.path(), &run, PIECE).unwrap();
        assert_eq!([first.bytes, second.bytes].concat(), record);
        assert!(record_piece(folder.path(), &run, u64::MAX).is_none_or(|piece| piece.bytes.is_empty()));
        assert!(record_piece(folder.path(), &"loa".parse().unwrap(), 0).is_none());
    }

    #[test]
    fn lines_of_a_growing_log_are_read_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut reader = LogReader::default();
        let lines = |reader: &mut LogReader| reader.read(&log).0;
        assert!(lines(&mut reader).is_empty(), "there is none yet");
        let mut text = "one\ntw".to_owned();
        fs::write(&log, &text).unwrap();
        assert_eq!(lines(&mut reader), ["one"]);
        assert!(lines(&mut reader).is_empty());
        text.push_str("o\nthree\n");
        fs::write(&log, &text).unwrap();
        assert_eq!(lines(&mut reader), ["two", "three"]);
        text.push_str(&"x".repeat(3 * READ));
        fs::write(&log, &text).unwrap();
        assert_eq!(lines(&mut reader).concat().len(), 3 * READ, "a line without an end is no reason to wait");
        text.push_str(&"\n".repeat(100_000));
        fs::write(&log, &text).unwrap();
        let (shown, more) = reader.read(&log);
        assert_eq!(
            (shown.len(), shown.len() as u64 + more),
            (LINES, 100_000),
            "each line is shown or counted"
        );
    }
}
