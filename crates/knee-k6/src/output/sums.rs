//! What outputs of sums have in common: numbers for sets of tags, intervals, and a thread that sends messages.
//!
//! Never waits for the endpoint while the load runs: if two messages wait, the next one is left out and counted. Its
//! figures are not lost, because a later message has the sums of the whole run. A message of what has changed must then
//! have all of it: see [`Sender::has_missed`]. Does not know what a message is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::secret::in_text;
use rustc_hash::FxHashMap;

use super::batch::{Batch, Samples};
use super::endpoint::Say;

/// Most series of an output; k6 warns at as many. Samples of further ones are counted as lost.
pub const SERIES_MAX: usize = 100_000;
/// Lists of tags of a batch that are recognized by their place, without being compared.
const LISTS_MET: usize = 16;
/// Messages that can wait for the endpoint.
const WAITING_MAX: usize = 2;

/// A set of tags, by its number.
pub type TagSet = u32;
type Tags = Box<[(String, String)]>;

/// The sets of tags that were met.
#[derive(Default)]
pub struct TagSets {
    numbers: FxHashMap<Tags, TagSet>,
    sets: Vec<Tags>,
}

impl TagSets {
    /// Calls `take` for the samples of each moment, with the number of their tags; `None` if there are too many sets.
    pub fn each(&mut self, batch: &Batch, mut take: impl FnMut(Option<TagSet>, &Samples<'_>)) {
        // A batch has few lists of tags, and many moments with each; equal lists of other batches have other places.
        let mut met: Vec<(*const (String, String), Option<TagSet>)> = Vec::new();
        for samples in batch.moments() {
            let pairs = samples.tags.pairs();
            let known = met.iter().rev().take(LISTS_MET).find(|(place, _)| *place == pairs.as_ptr());
            let tags = if let Some((_, tags)) = known {
                *tags
            } else {
                let tags = self.number(pairs);
                met.push((pairs.as_ptr(), tags));
                tags
            };
            take(tags, &samples);
        }
    }

    /// The number of these tags; `None` if there are too many sets.
    pub fn number(&mut self, pairs: &[(String, String)]) -> Option<TagSet> {
        if let Some(number) = self.numbers.get(pairs) {
            return Some(*number);
        }
        if self.sets.len() >= SERIES_MAX {
            return None;
        }
        let number = self.sets.len() as TagSet;
        self.sets.push(pairs.into());
        self.numbers.insert(pairs.into(), number);
        Some(number)
    }

    /// The tags of a set that have a name and a value, sorted by name.
    pub fn filled(&self, set: TagSet) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.sets.get(set as usize).map_or(&[][..], |tags| tags);
        let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        pairs.filter(|(name, value)| !name.is_empty() && !value.is_empty())
    }
}

/// Says when the next interval is over.
pub struct Pace {
    clock: MonotonicClock,
    interval: Nanos,
    next: Nanos,
}

impl Pace {
    /// Intervals of this length, of which the first one begins now.
    pub fn start(interval: std::time::Duration) -> Self {
        let clock = MonotonicClock::start();
        let interval = Nanos::from_secs_f64(interval.as_secs_f64());
        Self { next: clock.now().saturating_add(interval), clock, interval }
    }

    /// Whether an interval is over. True once for each, and once for several that are over together.
    pub fn is_over(&mut self) -> bool {
        let now = self.clock.now();
        if now < self.next {
            return false;
        }
        while self.next <= now {
            self.next = self.next.saturating_add(self.interval);
        }
        true
    }
}

/// Sends messages.
pub struct Sender<M> {
    receiver: &'static str,
    messages: SyncSender<M>,
    left_out: u64,
    /// Whether a message was left out or refused that none of those after it makes up for.
    missed: Arc<AtomicBool>,
    thread: JoinHandle<Sent>,
}

/// What became of the messages.
#[derive(Default)]
struct Sent {
    whole: u64,
    failed: u64,
    first_error: Option<String>,
}

impl<M: Send + 'static> Sender<M> {
    /// Begins to send to the endpoint at `url`, which users know as `receiver`. `connect` runs on the new thread and makes
    /// what sends a message.
    ///
    /// # Errors
    /// The system starts no thread.
    pub fn start<S: FnMut(&M) -> Result<(), String>>(
        receiver: &'static str,
        url: String,
        say: Say,
        connect: impl FnOnce() -> S + Send + 'static,
    ) -> io::Result<Self> {
        let (messages, inbox) = sync_channel(WAITING_MAX);
        let missed: Arc<AtomicBool> = Arc::default();
        let failed = missed.clone();
        let thread = Builder::new()
            .name(receiver.to_lowercase())
            .spawn(move || send_each(&url, &inbox, (&say, &failed), connect()))?;
        Ok(Self { receiver, messages, left_out: 0, missed, thread })
    }

    /// Hands a message over, or counts it as left out if the endpoint is too slow.
    pub fn offer(&mut self, message: M) {
        if let Err(TrySendError::Full(_)) = self.messages.try_send(message) {
            self.left_out += 1;
            self.missed.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a message was left out or refused since the last call.
    pub fn has_missed(&self) -> bool {
        self.missed.swap(false, Ordering::Relaxed)
    }

    /// Sends the last messages, and waits until they are sent or their time is over. Returns a warning for the user, if
    /// there is one; `lost` samples had too many different tags.
    pub fn finish(self, rest: impl IntoIterator<Item = M>, lost: u64) -> Option<String> {
        for message in rest {
            // The receiver is gone only if its thread has panicked.
            let _ = self.messages.send(message);
        }
        drop(self.messages);
        let sent = self.thread.join().unwrap_or_default();
        warning(self.receiver, &sent, self.left_out, lost)
    }
}

fn warning(receiver: &str, sent: &Sent, left_out: u64, lost: u64) -> Option<String> {
    let mut parts = Vec::new();
    if sent.failed > 0 {
        let all = sent.failed + sent.whole;
        let error = sent.first_error.as_deref().unwrap_or_default();
        parts.push(format!(
            "{} of {all} pushes to {receiver} failed, the first one with: {error}",
            sent.failed
        ));
    }
    if left_out > 0 {
        parts.push(format!(
            "{left_out} pushes to {receiver} were left out, because the endpoint was too slow"
        ));
    }
    if lost > 0 {
        parts.push(format!(
            "{lost} samples were not sent to {receiver}, because they have too many different tags"
        ));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Sends messages until there are no more.
fn send_each<M>(
    url: &str,
    inbox: &Receiver<M>,
    (say, missed): (&Say, &AtomicBool),
    mut export: impl FnMut(&M) -> Result<(), String>,
) -> Sent {
    let mut sent = Sent::default();
    while let Ok(message) = inbox.recv() {
        let result = export(&message);
        drop(message);
        let Err(error) = result else {
            sent.whole += 1;
            continue;
        };
        if sent.failed == 0 {
            say(&format!(
                "cannot send series to {}: {error}; the load goes on, and the next push has the same sums",
                in_text(url)
            ));
        }
        missed.store(true, Ordering::Relaxed);
        sent.failed += 1;
        sent.first_error.get_or_insert(error);
    }
    sent
}
