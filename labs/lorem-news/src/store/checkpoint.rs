//! Background checkpoints of the WAL, so that no request waits for the disk: the switch `checkpoint`.
//!
//! Does not block commits, which continue to append to the log. So the log cannot restart while they do; when it has grown long,
//! the next commit checkpoints the rest, and the log restarts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::{Access, Failure, Store, StoreOptions};
use crate::counter::Counters;

/// Growth of the log, in pages, that starts a checkpoint; SQLite's default.
const PAGES: i32 = 1_000;
/// Length of the log, in pages (32 MB), at which a commit checkpoints it. A longer log slows down readers.
const PAGES_MAX: i32 = 8_000;

/// A handle that wakes the checkpoint thread, which ends when the last handle is dropped.
#[derive(Debug, Clone)]
pub struct Checkpointer {
    wake: SyncSender<()>,
    /// Length of the log, in pages, at the last wake-up.
    woken_at: Arc<AtomicI32>,
}

impl Checkpointer {
    /// Starts the thread on a connection of its own.
    ///
    /// # Errors
    /// The connection cannot be opened, or the system cannot start a thread.
    pub fn start(options: &StoreOptions, counters: Arc<Counters>) -> Result<(Self, JoinHandle<()>), Failure> {
        let store = Store::open(options, Access::Write)?;
        // Capacity 1: a busy thread must check again once, however often it was woken meanwhile.
        let (wake, woken) = mpsc::sync_channel(1);
        let work = move || {
            while woken.recv().is_ok() {
                match store.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
                    Ok(()) => counters.checkpoints.increment(),
                    Err(error) => tracing::warn!(%error, "the log could not be moved into the file"),
                }
            }
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(work);
        Ok((Self { wake, woken_at: Arc::default() }, thread.map_err(|_| Failure::Stopped)?))
    }

    /// Replaces the automatic checkpoints of a connection.
    ///
    /// # Errors
    /// SQLite rejects the hook.
    pub fn install_hook(&self, conn: &mut Connection) -> rusqlite::Result<()> {
        let Self { wake, woken_at } = self.clone();
        conn.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, pages| {
            let more = pages - woken_at.load(Ordering::Relaxed);
            // A negative value means that the log has restarted.
            if !(0..PAGES).contains(&more) {
                woken_at.store(pages, Ordering::Relaxed);
                // A full channel means that the thread is woken already.
                let _ = wake.try_send(());
            }
            if pages >= PAGES_MAX {
                // The commit is done; the next one retries a failed checkpoint.
                let _ = log.checkpoint();
            }
            Ok(())
        }))
    }
}
