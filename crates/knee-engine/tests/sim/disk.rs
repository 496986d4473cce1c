//! A disk that is full, writes less than asked for, fails, and forgets what was not synced when the power is lost.
//!
//! Deterministic: what it does depends on its seed and on the calls alone.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Write};
use std::rc::Rc;

use knee_engine::journal::RecordFile;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// How a disk misbehaves.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Bytes that it can hold.
    pub room: Option<usize>,
    /// Whether a write can take less than it was given, or be interrupted.
    pub short_writes: bool,
    /// The number of the write, from 0, that fails with an error of the device; later ones succeed again.
    pub failing_write: Option<u64>,
    /// Whether syncing fails.
    pub failing_sync: bool,
    /// Whether a file cannot be cut.
    pub failing_cut: bool,
}

impl Faults {
    /// One disk in three has none.
    pub fn random(random: &mut SmallRng) -> Self {
        if random.random_range(0..3) == 0 {
            return Self::default();
        }
        Self {
            room: random.random::<bool>().then(|| random.random_range(0..12_000)),
            short_writes: random.random(),
            failing_write: (random.random_range(0..3) == 0).then(|| random.random_range(0..12)),
            failing_sync: random.random_range(0..5) == 0,
            failing_cut: random.random_range(0..8) == 0,
        }
    }
}

/// What is on the disk.
#[derive(Default)]
struct Content {
    /// As processes see it.
    bytes: Vec<u8>,
    /// What stays when the power is lost, whatever else does.
    synced: usize,
    writes: u64,
    /// Whether any call failed, other than by an interruption.
    failed: bool,
}

/// A file on such a disk. Clones are the same file.
#[derive(Clone)]
pub struct SimFile {
    content: Rc<RefCell<Content>>,
    faults: Faults,
    random: Rc<RefCell<SmallRng>>,
}

impl SimFile {
    pub fn new(faults: Faults, seed: u64) -> Self {
        let random = Rc::new(RefCell::new(SmallRng::seed_from_u64(seed)));
        Self { content: Rc::default(), faults, random }
    }

    /// What a process reads.
    pub fn bytes(&self) -> Vec<u8> {
        self.content.borrow().bytes.clone()
    }

    /// Whether any call failed.
    pub fn failed(&self) -> bool {
        self.content.borrow().failed
    }

    /// What is read after the power was lost now: everything that was synced and a part of the rest. Or whole sectors
    /// of the rest, then zeros where the file system had extended the file and not written the data.
    pub fn after_power_loss(&self) -> Vec<u8> {
        const SECTOR: usize = 512;
        let (content, mut random) = (self.content.borrow(), self.random.borrow_mut());
        let length = content.bytes.len();
        let kept = random.random_range(content.synced..=length);
        if random.random() {
            return content.bytes[..kept].to_vec();
        }
        let mut bytes = content.bytes[..content.synced.max(kept / SECTOR * SECTOR)].to_vec();
        bytes.resize(random.random_range(kept..=length), 0);
        bytes
    }

    fn fail<T>(&self, kind: ErrorKind) -> io::Result<T> {
        self.content.borrow_mut().failed = true;
        Err(kind.into())
    }
}

impl Write for SimFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut length = bytes.len();
        if self.faults.short_writes {
            let mut random = self.random.borrow_mut();
            if random.random_range(0..4) == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            length = random.random_range(1..=length);
        }
        let number = self.content.borrow().writes;
        self.content.borrow_mut().writes += 1;
        if self.faults.failing_write == Some(number) {
            return self.fail(ErrorKind::Other);
        }
        let used = self.content.borrow().bytes.len();
        let room = self.faults.room.map_or(usize::MAX, |room| room.saturating_sub(used));
        if room == 0 {
            return self.fail(ErrorKind::StorageFull);
        }
        let length = length.min(room);
        self.content.borrow_mut().bytes.extend(&bytes[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RecordFile for SimFile {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.faults.failing_cut {
            return self.fail(ErrorKind::Other);
        }
        let mut content = self.content.borrow_mut();
        content.bytes.truncate(length as usize);
        content.synced = content.synced.min(length as usize);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.faults.failing_sync {
            return self.fail(ErrorKind::Other);
        }
        let mut content = self.content.borrow_mut();
        content.synced = content.bytes.len();
        Ok(())
    }
}
