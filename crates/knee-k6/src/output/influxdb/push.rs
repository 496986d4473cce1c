//! Writes points at each interval, on threads of its own.
//!
//! Never waits for the server while the load runs. A server that is slow gets its points later; if too many wait, further
//! ones are left out and counted. A write that fails is not repeated, as in k6, and its points are counted too.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::{io, thread};

use knee_engine::secret::in_text;

use super::super::batch::Batch;
use super::super::columns::Columns;
use super::super::endpoint::{Push, Say};
use super::super::sums::Pace;
use super::config::Config;
use super::line::Lines;
use super::wire::{Body, Wire};
use crate::metric::Registry;

/// Bytes at which points are written before their interval is over. InfluxDB takes up to 25 MB at once.
const BODY_MAX: usize = 4 << 20;

/// Collects points and writes them.
pub struct Pusher {
    lines: Lines,
    pending: Body,
    body_max: usize,
    pace: Pace,
    bodies: SyncSender<Body>,
    dropped: u64,
    refused: u64,
    thread: JoinHandle<Sent>,
}

/// What became of the writes.
#[derive(Default)]
struct Sent {
    whole: u64,
    failed: u64,
    points_lost: u64,
    first_error: Option<String>,
}

impl Pusher {
    /// Begins to write.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start(config: &Config, metrics: Arc<Registry>, say: Say) -> io::Result<Self> {
        Self::start_with(config, metrics, say, BODY_MAX)
    }

    /// Begins to write bodies of `body_max` bytes or little more.
    pub(super) fn start_with(
        config: &Config,
        metrics: Arc<Registry>,
        say: Say,
        body_max: usize,
    ) -> io::Result<Self> {
        // As many can wait as are under way.
        let (bodies, inbox) = sync_channel(config.writes);
        let target = config.clone();
        let thread =
            Builder::new().name("influxdb".to_owned()).spawn(move || write_all(&target, inbox, &say))?;
        Ok(Self {
            lines: Lines::new(metrics, config.fields.clone(), config.precision),
            pending: Body::default(),
            body_max,
            pace: Pace::start(config.interval),
            bodies,
            dropped: 0,
            refused: 0,
            thread,
        })
    }

    /// Hands over what is pending; whether the writers had room for it.
    fn hand_over(&mut self) -> bool {
        use std::sync::mpsc::TrySendError::{Disconnected, Full};
        if self.pending.bytes.is_empty() {
            return true;
        }
        match self.bodies.try_send(std::mem::take(&mut self.pending)) {
            Ok(()) => true,
            Err(Full(body) | Disconnected(body)) => {
                self.pending = body;
                false
            }
        }
    }
}

impl Push for Pusher {
    fn add(&mut self, batch: &Batch) {
        if self.pending.bytes.len() >= self.body_max && !self.hand_over() {
            self.dropped += batch.len() as u64;
        } else {
            self.refused += self.lines.add(&mut self.pending, batch);
        }
        self.tick();
    }

    fn add_columns(&mut self, columns: &Columns) {
        if self.pending.bytes.len() >= self.body_max && !self.hand_over() {
            self.dropped += columns.len();
        } else {
            self.refused += self.lines.add_columns(&mut self.pending, columns);
        }
        self.tick();
    }

    fn tick(&mut self) {
        if self.pace.is_over() {
            self.hand_over();
        }
    }

    fn finish(self: Box<Self>) -> Option<String> {
        if !self.pending.bytes.is_empty() {
            // The receiver is gone only if its thread has panicked.
            let _ = self.bodies.send(self.pending);
        }
        drop(self.bodies);
        let sent = self.thread.join().unwrap_or_default();
        warning(&sent, self.dropped, self.refused)
    }
}

fn warning(sent: &Sent, dropped: u64, refused: u64) -> Option<String> {
    let mut parts = Vec::new();
    if sent.failed > 0 {
        parts.push(format!(
            "{} of {} writes to InfluxDB failed, and {} samples are missing there; the first one failed with: {}",
            sent.failed,
            sent.failed + sent.whole,
            sent.points_lost,
            sent.first_error.as_deref().unwrap_or_default()
        ));
    }
    if dropped > 0 {
        parts.push(format!("{dropped} samples were not sent to InfluxDB, because it was too slow"));
    }
    if refused > 0 {
        parts.push(format!(
            "{refused} samples were not sent to InfluxDB, which cannot hold their values or their tags"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Writes until there is no more.
fn write_all(config: &Config, inbox: Receiver<Body>, say: &Say) -> Sent {
    let wire = Wire::new(config);
    wire.create(&config.database);
    let (inbox, sent) = (Mutex::new(inbox), Mutex::new(Sent::default()));
    let work = || write_each(&wire, &config.server.name(), &inbox, &sent, say);
    thread::scope(|scope| {
        for _ in 1..config.writes {
            // With fewer threads, points are written later.
            let _ = Builder::new().name("influxdb".to_owned()).spawn_scoped(scope, work);
        }
        work();
    });
    sent.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// One writer.
fn write_each(wire: &Wire, name: &str, inbox: &Mutex<Receiver<Body>>, sent: &Mutex<Sent>, say: &Say) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(body) = next else { return };
        let result = wire.write(&body);
        let mut sent = sent.lock().unwrap_or_else(PoisonError::into_inner);
        let Err(error) = result else {
            sent.whole += 1;
            continue;
        };
        if sent.failed == 0 {
            // InfluxDB 2 says this.
            let hint =
                if error.contains("unauthorized access") { " (this output is for InfluxDB 1)" } else { "" };
            say(&format!(
                "cannot write samples to {}: {error}{hint}; the load goes on without the samples of this write",
                in_text(name)
            ));
        }
        sent.failed += 1;
        sent.points_lost += body.points();
        sent.first_error.get_or_insert(error);
    }
}
