//! Batches waiting work: items that arrive during a batch form the next one.
//!
//! Batches start at least `gap` apart, so that steady arrivals form few batches; a lone item does not wait. Does not
//! know what the work is.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

struct Pending<T, R> {
    item: T,
    reply: oneshot::Sender<R>,
}

/// A queue, processed batch by batch by one task until all handles are dropped.
pub struct Batcher<T, R> {
    queue: mpsc::UnboundedSender<Pending<T, R>>,
}

impl<T: Send + Sync + 'static, R: Send + 'static> Batcher<T, R> {
    /// Starts the task. `work` gets 1 to `max_batch` items and returns one result per item, in order. Batches start
    /// at least `gap` apart.
    ///
    /// The queue is unbounded: each item is a waiting request or worker, and those are bounded.
    pub fn start<W, F>(max_batch: usize, gap: Duration, work: W) -> Self
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel::<Pending<T, R>>();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(max_batch);
            let mut earliest = Instant::now();
            while waiting.recv_many(&mut batch, max_batch).await > 0 {
                if Instant::now() < earliest {
                    sleep_until(earliest).await;
                    while batch.len() < max_batch
                        && let Ok(next) = waiting.try_recv()
                    {
                        batch.push(next);
                    }
                }
                earliest = Instant::now() + gap;
                let (items, replies): (Vec<_>, Vec<_>) =
                    batch.drain(..).map(|Pending { item, reply }| (item, reply)).unzip();
                let results = work(items).await;
                debug_assert_eq!(results.len(), replies.len(), "an answer for each item");
                for (result, reply) in results.into_iter().zip(replies) {
                    // The receiver is gone if the request was cancelled; the work is done all the same.
                    let _ = reply.send(result);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the result of one item; `None` if the task has ended because the service stops.
    pub async fn submit(&self, item: T) -> Option<R> {
        let (reply, answered) = oneshot::channel();
        self.queue.send(Pending { item, reply }).ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::future::join_all;

    use super::*;

    /// Size and start of each batch, in ms of simulated time.
    type Seen = Arc<Mutex<Vec<(usize, u128)>>>;

    fn batcher(max_batch: usize, gap: u64, takes: u64) -> (Batcher<u32, u32>, Seen) {
        let seen = Seen::default();
        let (note, begun) = (Arc::clone(&seen), Instant::now());
        let batcher = Batcher::start(max_batch, Duration::from_millis(gap), move |items: Vec<u32>| {
            note.lock().unwrap().push((items.len(), begun.elapsed().as_millis()));
            async move {
                tokio::time::sleep(Duration::from_millis(takes)).await;
                items.into_iter().map(|item| item * 2).collect()
            }
        });
        (batcher, seen)
    }

    #[tokio::test(start_paused = true)]
    async fn items_that_arrive_during_a_batch_form_the_next_up_to_its_size() {
        let (batcher, seen) = batcher(3, 0, 10);
        let replies = join_all((0..7).map(|item| batcher.submit(item))).await;
        assert_eq!(
            replies,
            (0..7).map(|item| Some(item * 2)).collect::<Vec<_>>(),
            "each gets its own answer"
        );
        assert_eq!(*seen.lock().unwrap(), [(3, 0), (3, 10), (1, 20)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lone_item_does_not_wait_and_steady_arrivals_wait_for_the_gap() {
        let (batcher, seen) = batcher(100, 20, 0);
        let at = async |millis: u64, item: u32| {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            batcher.submit(item).await
        };
        join_all([(0, 1), (5, 2), (10, 3), (90, 4)].map(|(millis, item)| at(millis, item))).await;
        assert_eq!(*seen.lock().unwrap(), [(1, 0), (2, 20), (1, 90)]);
    }
}
