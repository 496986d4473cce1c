//! Understands the header of a SQLite file, the index of its WAL, and `/proc/locks`.
//!
//! Pure. Sources: <https://www.sqlite.org/fileformat2.html>, <https://www.sqlite.org/walformat.html>, and
//! `os_unix.c` of SQLite for the bytes that are locked.

/// The header of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) is_wal: bool,
    pub(super) page_size: u32,
    /// Transactions that changed the database; stands still while it has a WAL.
    pub(super) changes: u32,
}

/// Reads the first 100 bytes of a database.
pub(super) fn header(bytes: &[u8]) -> Option<Header> {
    let rest = bytes.strip_prefix(b"SQLite format 3\0")?;
    let [high, low, write_version, ..] = rest else { return None };
    // The size 65,536 does not fit and is written as 1.
    let size = u32::from(u16::from_be_bytes([*high, *low]));
    let changes = u32::from_be_bytes(*bytes.get(24..)?.first_chunk()?);
    let page_size = if size == 1 { 65_536 } else { size };
    Some(Header { is_wal: *write_version == 2, page_size, changes })
}

/// The index of a WAL (`-shm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Index {
    /// Frames in the WAL that are valid.
    pub(super) frames: u32,
    /// Of these, how many are in the database already.
    pub(super) backfilled: u32,
    /// Transactions that were written into the WAL.
    pub(super) changes: u32,
    marks: [u32; READERS],
}

/// Readers that can have different views at the same time.
const READERS: usize = 5;

/// Reads the first 136 bytes of a `-shm` file. Numbers are in the byte order of the machine.
pub(super) fn index(bytes: &[u8]) -> Option<Index> {
    let number = |place: usize| Some(u32::from_ne_bytes(*bytes.get(place..)?.first_chunk()?));
    let is_initialized = *bytes.get(12)? != 0;
    let (changes, frames, backfilled) = (number(8)?, number(16)?, number(96)?);
    let mut marks = [0; READERS];
    for (place, mark) in marks.iter_mut().enumerate() {
        *mark = number(100 + 4 * place)?;
    }
    is_initialized.then_some(Index { frames, backfilled, changes, marks })
}

impl Index {
    /// The smallest mark of a reader that is active; `None` if none is. Readers of mark 0 ignore the WAL.
    pub(super) fn oldest_reader(&self, locks: &Locks) -> Option<u32> {
        let used = self.marks.iter().zip(locks.readers).skip(1).filter(|(_, used)| *used);
        used.map(|(mark, _)| *mark).min()
    }
}

/// A file as `/proc/locks` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) inode: u64,
}

/// Which locks are held at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a lock that is held or not")]
pub(super) struct Locks {
    write: bool,
    checkpoint: bool,
    readers: [bool; READERS],
    exclusive: bool,
    reserved: bool,
    shared: bool,
    waiting: bool,
}

/// Bytes of `-shm` that are locked.
const WRITE: u64 = 120;
const CHECKPOINT: u64 = 121;
const FIRST_READER: u64 = 123;

/// Bytes of the database that are locked.
const PENDING: u64 = 0x4000_0000;
const RESERVED: u64 = PENDING + 1;
const SHARED: u64 = PENDING + 2;

/// Reads `/proc/locks`: lines such as `1: POSIX  ADVISORY  WRITE 1234 08:02:131456 120 120`, with `->` for a process
/// that waits. `files` are the database and its `-shm`.
pub(super) fn locks(text: &str, files: [Option<FileId>; 2]) -> Locks {
    let mut locks = Locks::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().skip(1).collect();
        let (waits, words) = match words.split_first() {
            Some((&"->", rest)) => (true, rest),
            _ => (false, words.as_slice()),
        };
        let &[_, _, mode, _, file, first, last] = words else { continue };
        let Some((file, first)) = file_id(file).zip(first.parse::<u64>().ok()) else { continue };
        let last = last.parse::<u64>().unwrap_or(u64::MAX);
        let [database, shm] = files.map(|known| known == Some(file));
        if !database && !shm {
            continue;
        }
        if waits {
            locks.waiting = true;
        } else if shm {
            locks.add_index(mode == "WRITE", first, last);
        } else {
            locks.add_database(mode == "WRITE", first, last);
        }
    }
    locks
}

impl Locks {
    fn add_index(&mut self, exclusive: bool, first: u64, last: u64) {
        let covers = |byte: u64| first <= byte && byte <= last;
        self.write |= exclusive && covers(WRITE);
        self.checkpoint |= exclusive && covers(CHECKPOINT);
        for (place, reader) in self.readers.iter_mut().enumerate() {
            *reader |= !exclusive && covers(FIRST_READER + place as u64);
        }
    }

    fn add_database(&mut self, exclusive: bool, first: u64, last: u64) {
        let covers = |byte: u64| first <= byte && byte <= last;
        self.exclusive |= exclusive && (covers(PENDING) || covers(SHARED));
        self.reserved |= exclusive && covers(RESERVED);
        self.shared |= !exclusive && covers(SHARED);
    }
}

/// `08:02:131456`: device in hexadecimal digits, inode in decimal ones.
fn file_id(text: &str) -> Option<FileId> {
    let mut parts = text.split(':');
    let device = |part: &str| u32::from_str_radix(part, 16).ok();
    let (major, minor) = (device(parts.next()?)?, device(parts.next()?)?);
    Some(FileId { major, minor, inode: parts.next()?.parse().ok()? })
}

/// In how many looks each lock was held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held([f64; 7]);

impl Held {
    /// Counts one look.
    pub(super) fn add(&mut self, locks: &Locks) {
        let reads = locks.readers.contains(&true);
        let held = [
            locks.write,
            locks.checkpoint,
            reads,
            locks.exclusive,
            locks.reserved,
            locks.shared,
            locks.waiting,
        ];
        for (count, held) in self.0.iter_mut().zip(held) {
            *count += f64::from(u8::from(held));
        }
    }

    /// The locks by the names of reports.
    pub(super) fn by_name(&self) -> [(&'static str, f64); 6] {
        let [write, checkpoint, read, exclusive, reserved, shared, _] = self.0;
        [
            ("write", write),
            ("checkpoint", checkpoint),
            ("read", read),
            ("exclusive", exclusive),
            ("reserved", reserved),
            ("shared", shared),
        ]
    }

    /// Looks in which a process waited for a lock.
    pub(super) const fn waiting(&self) -> f64 {
        self.0[6]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_how_changes_are_kept() {
        let mut bytes = b"SQLite format 3\0\x10\0\x02\x02".to_vec();
        bytes.resize(100, 0);
        assert_eq!(header(&bytes), Some(Header { is_wal: true, page_size: 4096, changes: 0 }));
        bytes[16..19].copy_from_slice(&[0, 1, 1]);
        bytes[24..28].copy_from_slice(&[0, 0, 1, 2]);
        assert_eq!(header(&bytes), Some(Header { is_wal: false, page_size: 65_536, changes: 258 }));
        assert_eq!(header(b"SQLite format 3\0"), None);
        assert_eq!(header(b"PK\x03\x04"), None);
    }

    #[test]
    fn the_index_of_a_wal_has_its_frames_and_readers() {
        let mut bytes = vec![0_u8; 136];
        bytes[12] = 1;
        let mut put =
            |place: usize, number: u32| bytes[place..place + 4].copy_from_slice(&number.to_ne_bytes());
        put(8, 77);
        put(16, 500);
        put(96, 120);
        for (place, mark) in [0, 120, 480, u32::MAX, u32::MAX].into_iter().enumerate() {
            put(100 + 4 * place, mark);
        }
        let index = index(&bytes).unwrap();
        assert_eq!((index.frames, index.backfilled, index.changes), (500, 120, 77));
        let mut locks = Locks::default();
        assert_eq!(index.oldest_reader(&locks), None);
        locks.readers = [true, false, true, false, false];
        assert_eq!(index.oldest_reader(&locks), Some(480));
        assert_eq!(super::index(&bytes[..100]), None);
        assert_eq!(super::index(&[0; 136]), None, "not initialized");
    }

    #[test]
    fn locks_are_found_by_file_and_byte() {
        let text = "1: POSIX  ADVISORY  WRITE 70 08:02:42 120 120\n2: POSIX  ADVISORY  READ 70 08:02:42 124 124\n\
                    2: -> POSIX  ADVISORY  WRITE 71 08:02:42 120 120\n\
                    3: POSIX  ADVISORY  READ 70 08:02:41 1073741826 1073742335\n\
                    4: FLOCK  ADVISORY  WRITE 9 08:02:99 0 EOF\n5: POSIX  ADVISORY  WRITE 9 08:03:41 0 EOF\nbroken\n";
        let file = |inode: u64| Some(FileId { major: 8, minor: 2, inode });
        let found = locks(text, [file(41), file(42)]);
        let readers = [false, true, false, false, false];
        assert_eq!(found, Locks { write: true, readers, shared: true, waiting: true, ..Locks::default() });
        let mut held = Held::default();
        held.add(&found);
        held.add(&Locks::default());
        assert_eq!(held.by_name()[0], ("write", 1.0));
        assert!((held.waiting() - 1.0).abs() < 1e-9);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_fail(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), text in "[ -~\n]{0,200}") {
            let _ = (header(&bytes), index(&bytes), locks(&text, [None, None]));
        }
    }
}
