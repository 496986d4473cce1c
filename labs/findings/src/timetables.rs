//! The timetable of deliveries, in memory, which many read, some change, and another server gets now and then.
//!
//! Does not use the stores, and does not parse HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Lines of the timetable, and minutes of a day.
const LINES: u32 = 1000;
const MINUTES: u32 = 1440;
/// How long another server takes for the whole timetable.
const EXPORT: Duration = Duration::from_millis(300);

/// The timetable.
pub struct Timetables {
    /// The minute of each line. Readers share the lock, and wait behind a writer who waits.
    minutes: RwLock<Vec<u32>>,
    /// Exports that have ended.
    exported: AtomicUsize,
}

impl Default for Timetables {
    fn default() -> Self {
        let minutes = (0..LINES).map(|line| line * 7919 % MINUTES).collect();
        Self { minutes: RwLock::new(minutes), exported: AtomicUsize::new(0) }
    }
}

impl Timetables {
    /// The minute of a line.
    ///
    /// # Errors
    /// There is no such line.
    pub async fn line(&self, line: usize) -> Result<Value, Refusal> {
        let minute = self.minutes.read().await.get(line).copied().ok_or(Refusal::Missing)?;
        Ok(json!({"line": line, "minute": minute}))
    }

    /// Gives a line another minute.
    ///
    /// # Errors
    /// There is no such line.
    pub async fn change(&self, line: usize, minute: u32) -> Result<(), Refusal> {
        let mut minutes = self.minutes.write().await;
        *minutes.get_mut(line).ok_or(Refusal::Missing)? = minute % MINUTES;
        Ok(())
    }

    /// Sends the timetable to another server. A healthy shop sends a copy; the defect holds the lock of the readers
    /// until the server has answered, so that a change waits, and all readers who begin behind it.
    async fn export(&self, keeps_lock: bool, calls: &Calls) -> Result<(), Refusal> {
        let minutes = self.minutes.read().await;
        let copy = Value::from(minutes.as_slice());
        let kept = keeps_lock.then_some(minutes);
        let sent = calls.tell("timetables", 1, EXPORT, &copy).await;
        self.exported.fetch_add(1, Ordering::Relaxed);
        drop(kept);
        sent.map(drop)
    }
}

/// Begins to send the timetable to another server. No request waits for the end, unless it waits for the lock.
pub fn export(shop: Arc<Shop>) {
    tokio::spawn(async move {
        // What fails is left to the next time.
        let _ = shop.timetables.export(shop.has(Defect::QueuedWriter), &shop.calls).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_waits_for_an_export_and_readers_behind_it_only_with_the_defect() {
        let calls = Calls::in_thread();
        for (keeps_lock, waits) in [(false, false), (true, true)] {
            let timetables = Timetables::default();
            let changing = async {
                timetables.change(7, 3).await.unwrap();
                timetables.exported.load(Ordering::Relaxed)
            };
            let reading = async {
                assert_eq!(timetables.line(8).await.unwrap()["minute"], 8 * 7919 % MINUTES);
                timetables.exported.load(Ordering::Relaxed)
            };
            // They begin in this order.
            let (sent, changed, read) =
                tokio::join!(timetables.export(keeps_lock, &calls), changing, reading);
            sent.unwrap();
            assert_eq!(timetables.line(7).await.unwrap()["minute"], 3, "{keeps_lock}");
            let ended = usize::from(waits);
            assert_eq!((changed, read), (ended, ended), "{keeps_lock}");
        }
    }
}
