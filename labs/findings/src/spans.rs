//! Deals, of which each part is a span for a collector of traces.
//!
//! Does not use the stores, and does not parse HTTP.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use crate::calls::Calls;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// How long the server that finds deals takes, and how many there are.
const FIND: Duration = Duration::from_millis(5);
const DEALS: u64 = 200;
/// Parts of a request.
const PARTS: [&str; 4] = ["session", "prices", "deal", "request"];
/// How long the collector takes for a call, however many spans there are, and spans per call of a healthy shop.
const COLLECTOR: Duration = Duration::from_millis(2);
const BATCH: usize = 64;

/// What exports spans.
#[derive(Default)]
pub struct Spans {
    /// Spans that have ended and are not exported yet.
    ended: std::sync::Mutex<Vec<&'static str>>,
    /// Held during a call of the collector: the exporter makes one at a time.
    exporter: tokio::sync::Mutex<()>,
    /// Calls of the collector, and spans that it has.
    calls: AtomicUsize,
    sent: AtomicUsize,
}

/// A deal.
///
/// # Errors
/// The server that finds deals fails.
pub async fn deal(shop: &Shop) -> Result<Value, Refusal> {
    let found = shop.calls.ask("deals", fastrand::u64(..DEALS), FIND).await?;
    for part in PARTS {
        shop.spans.end(&shop.calls, part, shop.has(Defect::InlineSpans)).await;
    }
    Ok(json!({"deal": "two cups for one", "number": found["of"]}))
}

impl Spans {
    /// Notes that a part has ended. A healthy shop exports spans by the batch, for which no request waits; with the
    /// defect, the request exports each of its own.
    async fn end(self: &Arc<Self>, calls: &Arc<Calls>, part: &'static str, is_inline: bool) {
        if is_inline {
            return self.export(calls, &[part]).await;
        }
        if let Some(batch) = self.batch_with(part) {
            let (spans, calls) = (Arc::clone(self), Arc::clone(calls));
            tokio::spawn(async move { spans.export(&calls, &batch).await });
        }
    }

    /// All spans that have ended, if they are enough for a batch.
    fn batch_with(&self, part: &'static str) -> Option<Vec<&'static str>> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push(part);
        (ended.len() >= BATCH).then(|| mem::take(&mut *ended))
    }

    /// Sends spans to the collector. Those that it does not take are lost.
    async fn export(&self, calls: &Calls, spans: &[&str]) {
        let _one = self.exporter.lock().await;
        let one = |name: &&str| json!({"name": name, "trace": fastrand::u64(..), "status": "ok"});
        let spans: Vec<Value> = spans.iter().map(one).collect();
        let count = spans.len();
        if calls.tell("spans", 1, COLLECTOR, &spans.into()).await.is_ok() {
            self.calls.fetch_add(1, Ordering::Relaxed);
            self.sent.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test]
    async fn each_part_of_a_request_calls_the_collector_only_with_the_defect() {
        let collector = Calls::in_thread();
        for (is_inline, calls) in [(false, 1), (true, BATCH)] {
            let spans = Arc::new(Spans::default());
            for _ in 0..BATCH / PARTS.len() {
                for part in PARTS {
                    spans.end(&collector, part, is_inline).await;
                }
            }
            // A batch is exported beside the requests.
            for _ in 0..100 {
                if spans.sent.load(Ordering::Relaxed) == BATCH {
                    break;
                }
                sleep(COLLECTOR).await;
            }
            let counts = [&spans.sent, &spans.calls].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(counts, [BATCH, calls], "{is_inline}");
        }
    }
}
