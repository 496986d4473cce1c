//! Copies of records that grow while they are read: a reader waits for what has not arrived yet.
//!
//! Reading ends where a copy is closed. What arrives after that is in the file, and a second reading sees it. Does not
//! know what the bytes mean.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::name::AgentId;

#[derive(Debug)]
struct Copied {
    file: File,
    path: PathBuf,
    length: u64,
    closed: bool,
    /// Whether it changed in a way that who read it has not seen.
    stale: bool,
}

#[derive(Debug, Default)]
struct Shared {
    copies: Mutex<BTreeMap<AgentId, Copied>>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<AgentId, Copied>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The copies of a run. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Copies(Arc<Shared>);

impl Copies {
    /// Begins the copy of an agent's record in a new file, or an empty one.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(&self, agent: &AgentId, path: &Path) -> io::Result<()> {
        let file = File::create(path)?;
        let copied = Copied { file, path: path.to_owned(), length: 0, closed: false, stale: false };
        self.0.lock().insert(agent.clone(), copied);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Appends to a copy.
    ///
    /// # Errors
    /// Those of the file.
    pub fn append(&self, agent: &AgentId, bytes: &[u8]) -> io::Result<()> {
        let mut copies = self.0.lock();
        if let Some(copied) = copies.get_mut(agent) {
            copied.file.write_all(bytes)?;
            copied.length += bytes.len() as u64;
            copied.stale |= copied.closed;
        }
        self.0.changed.notify_all();
        Ok(())
    }

    /// Empties a copy. Who reads it sees its end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn restart(&self, agent: &AgentId) -> io::Result<()> {
        let mut copies = self.0.lock();
        if let Some(copied) = copies.get_mut(agent) {
            copied.file = File::create(&copied.path)?;
            (copied.length, copied.closed, copied.stale) = (0, true, true);
        }
        self.0.changed.notify_all();
        Ok(())
    }

    /// Nothing more is expected.
    pub fn close(&self, agent: &AgentId) {
        if let Some(copied) = self.0.lock().get_mut(agent) {
            copied.closed = true;
        }
        self.0.changed.notify_all();
    }

    /// Nothing more is expected of any.
    pub fn close_all(&self) {
        self.0.lock().values_mut().for_each(|copied| copied.closed = true);
        self.0.changed.notify_all();
    }

    /// Whether a reader missed something: a copy grew after it was closed, or was begun again.
    pub fn is_stale(&self) -> bool {
        self.0.lock().values().any(|copied| copied.stale)
    }

    /// The file of a copy.
    pub fn path(&self, agent: &AgentId) -> Option<PathBuf> {
        self.0.lock().get(agent).map(|copied| copied.path.clone())
    }

    /// The files of all copies.
    pub fn files(&self) -> Vec<PathBuf> {
        self.0.lock().values().map(|copied| copied.path.clone()).collect()
    }

    /// Readers of all copies that have a first byte, after each has one or is closed.
    ///
    /// # Errors
    /// If a file cannot be opened.
    pub fn readers(&self) -> io::Result<Vec<Growing>> {
        let mut copies = self.0.lock();
        while copies.values().any(|copied| copied.length == 0 && !copied.closed) {
            copies = self.0.changed.wait(copies).unwrap_or_else(PoisonError::into_inner);
        }
        let with_bytes = copies.iter().filter(|(_, copied)| copied.length > 0);
        let reader = |(agent, copied): (&AgentId, &Copied)| {
            let file = File::open(&copied.path)?;
            Ok(Growing { shared: self.0.clone(), agent: agent.clone(), file, read: 0 })
        };
        with_bytes.map(reader).collect()
    }
}

/// Reads a copy while it grows.
#[derive(Debug)]
pub struct Growing {
    shared: Arc<Shared>,
    agent: AgentId,
    file: File,
    read: u64,
}

impl Read for Growing {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut copies = self.shared.lock();
        let known = loop {
            match copies.get(&self.agent) {
                Some(own) if own.length > self.read => break own.length,
                Some(own) if !own.closed => {}
                _ => return Ok(0),
            }
            copies = self.shared.changed.wait(copies).unwrap_or_else(PoisonError::into_inner);
        };
        drop(copies);
        let most = usize::try_from(known - self.read).map_or(into.len(), |most| most.min(into.len()));
        let count = self.file.read(&mut into[..most])?;
        self.read += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_waits_for_what_has_not_arrived_and_ends_where_the_copy_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (copies, agent) = (Copies::default(), "a".parse::<AgentId>().unwrap());
        copies.begin(&agent, &folder.path().join("a.knee")).unwrap();
        let reading = std::thread::spawn({
            let copies = copies.clone();
            move || {
                let mut text = String::new();
                copies.readers().unwrap().remove(0).read_to_string(&mut text).unwrap();
                text
            }
        });
        for word in ["one ", "two ", "three"] {
            copies.append(&agent, word.as_bytes()).unwrap();
            std::thread::yield_now();
        }
        assert!(!copies.is_stale());
        copies.close(&agent);
        assert_eq!(reading.join().unwrap(), "one two three");
        copies.append(&agent, b" four").unwrap();
        assert!(copies.is_stale(), "what came after the end was not read");
    }

    #[test]
    fn an_agent_that_sent_nothing_has_no_reader() {
        let folder = tempfile::tempdir().unwrap();
        let copies = Copies::default();
        for name in ["a", "b"] {
            let agent: AgentId = name.parse().unwrap();
            copies.begin(&agent, &folder.path().join(name)).unwrap();
        }
        copies.append(&"b".parse().unwrap(), b"x").unwrap();
        copies.close(&"a".parse().unwrap());
        assert_eq!(copies.readers().unwrap().len(), 1);
    }
}
