//! Watches the SQLite connections of a service.
//!
//! Installs two callbacks on each: a busy handler and a trace. Does not open connections and serves no page.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use crate::clock;
use crate::connections::{Recorder, Shared};
use crate::page;
use crate::trace::Trace;
use crate::wait::Wait;

/// Counts what SQLite connections do. Copies share their counts.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    shared: Arc<Shared>,
}

impl Watch {
    /// A watch of no connection yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts what this connection does from now on, until it closes.
    ///
    /// Replaces the busy handler of the connection, and so its `busy_timeout`: a statement that finds a lock held tries
    /// again after the pauses that SQLite has (1, 2, 5 ... 100 ms), for `wait_max` at most. What replaces the busy
    /// handler later, such as `PRAGMA busy_timeout`, ends the counting of waits. Replaces the trace callback
    /// (`trace_v2`) too. Other hooks stay as they are.
    ///
    /// # Errors
    /// SQLite has no memory for a callback.
    pub fn connection(&self, connection: &mut Connection, wait_max: Duration) -> rusqlite::Result<()> {
        let recorder = Arc::new(Recorder::new(&self.shared));
        let mut trace = Trace::new(Arc::clone(&recorder));
        let mut wait = Wait::new(wait_max, clock::now());
        connection.busy_handler(Some(move |before: i32| pause(&recorder, &mut wait, before)))?;
        connection.trace_v2(
            TraceEventCodes::SQLITE_TRACE_PROFILE,
            Some(move |event: TraceEvent<'_>| {
                if let TraceEvent::Profile(statement, took) = event {
                    trace.ended(&statement, took);
                }
            }),
        )
    }

    /// All counts as a page in the text format of Prometheus (content type `text/plain; version=0.0.4`).
    ///
    /// Statements stand on it without their literals and parameters. What they have in double quotes is a name in SQL
    /// and stays: put no text in them, although SQLite allows it.
    pub fn page(&self) -> String {
        page::of(&self.shared.sum())
    }
}

/// Waits until a lock is tried again; false if it has taken too long.
fn pause(recorder: &Recorder, wait: &mut Wait, before: i32) -> bool {
    let begun = clock::now();
    let Some(length) = wait.pause(usize::try_from(before).unwrap_or_default(), begun) else {
        recorder.counts().add_timeout(before == 0);
        return false;
    };
    thread::sleep(length);
    let slept = clock::now().saturating_duration_since(begun);
    recorder.counts().add_pause(before == 0, slept);
    true
}
