//! One thread that moves the log into the file, so that no request waits for the disk: the switch `checkpoint`.
//!
//! Does not hold commits up: they go on into the log meanwhile. That is why the log cannot start anew while they do;
//! when it has grown long, the next commit does the little that is left and lets it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::{Access, Failure, Opening, Store};
use crate::counter::Counters;

/// Pages by which the log has grown when it is worth moving them; SQLite's own measure.
const PAGES: i32 = 1_000;
/// Pages at which a commit waits for the disk: 32 MB. Readers search a longer log for longer.
const PAGES_MAX: i32 = 8_000;

/// Wakes the thread. It ends when the last of these is dropped.
#[derive(Debug, Clone)]
pub struct Checkpointer {
    wake: SyncSender<()>,
    /// How long the log was when the thread was woken last.
    woken_at: Arc<AtomicI32>,
}

impl Checkpointer {
    /// Starts the thread on a connection of its own.
    ///
    /// # Errors
    /// The connection cannot be opened, or the system has no thread to give.
    pub fn start(opening: &Opening, counters: Arc<Counters>) -> Result<(Self, JoinHandle<()>), Failure> {
        let store = Store::open(opening, Access::Write)?;
        // Room for one: a thread that is busy has to look again once, however often it was woken meanwhile.
        let (wake, woken) = mpsc::sync_channel(1);
        let work = move || {
            while woken.recv().is_ok() {
                match store.conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
                    Ok(()) => counters.checkpoints.one(),
                    Err(error) => tracing::warn!(%error, "the log could not be moved into the file"),
                }
            }
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(work);
        Ok((Self { wake, woken_at: Arc::default() }, thread.map_err(|_| Failure::Stopped)?))
    }

    /// Takes a connection's checkpoints over.
    ///
    /// # Errors
    /// SQLite does not take the hook.
    pub fn watch(&self, conn: &mut Connection) -> rusqlite::Result<()> {
        let Self { wake, woken_at } = self.clone();
        conn.wal_hook(Some(move |log: &mut rusqlite::hooks::Wal, pages| {
            let more = pages - woken_at.load(Ordering::Relaxed);
            // Shorter than it was: it has started anew.
            if !(0..PAGES).contains(&more) {
                woken_at.store(pages, Ordering::Relaxed);
                // Full: the thread has been woken already.
                let _ = wake.try_send(());
            }
            if pages >= PAGES_MAX {
                // The commit is done; that its log could not be moved is tried again by the next.
                let _ = log.checkpoint();
            }
            Ok(())
        }))
    }
}
