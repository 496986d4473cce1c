//! Batches queued work: items that arrive while a batch is processed form the next batch.
//!
//! Does not wait for a batch to fill up: a single item is processed at once. Does not know what the work is.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::metric::Batches;

struct Queued<T, R> {
    item: T,
    reply: oneshot::Sender<R>,
}

/// A queue and the task that processes it in batches until all handles are dropped.
pub struct Batcher<T, R> {
    queue: mpsc::UnboundedSender<Queued<T, R>>,
}

impl<T: Send + Sync + 'static, R: Send + 'static> Batcher<T, R> {
    /// Starts the task. `work` gets 1 to `max_batch` items and returns one result per item, in the same order. `counts`
    /// counts the batches.
    ///
    /// The queue is unbounded: each item is a waiting request, and connections bound those.
    pub fn start<W, F>(max_batch: usize, counts: Arc<Batches>, work: W) -> Self
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut queued) = mpsc::unbounded_channel::<Queued<T, R>>();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(max_batch);
            while queued.recv_many(&mut batch, max_batch).await > 0 {
                let (items, replies): (Vec<_>, Vec<_>) =
                    batch.drain(..).map(|Queued { item, reply }| (item, reply)).unzip();
                counts.add(items.len());
                let results = work(items).await;
                debug_assert_eq!(results.len(), replies.len(), "a result for each item");
                for (result, reply) in results.into_iter().zip(replies) {
                    // A failed send means that the request was cancelled; its item was processed all the same.
                    let _ = reply.send(result);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the result of one item. None if the task has ended, as when the service stops.
    pub async fn submit(&self, item: T) -> Option<R> {
        let (reply, received) = oneshot::channel();
        self.queue.send(Queued { item, reply }).ok()?;
        received.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[tokio::test]
    async fn items_that_arrive_during_a_batch_form_the_next_one_up_to_its_maximum() {
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let (seen, gate_of_batch) = (Arc::clone(&sizes), Arc::clone(&gate));
        let batcher = Arc::new(Batcher::start(3, Arc::default(), move |items: Vec<u32>| {
            seen.lock().unwrap().push(items.len());
            let gate = Arc::clone(&gate_of_batch);
            async move {
                gate.acquire().await.unwrap().forget();
                items.into_iter().map(|item| item * 2).collect()
            }
        }));
        let buyers: Vec<_> = (0..6)
            .map(|item| {
                let batcher = Arc::clone(&batcher);
                tokio::spawn(async move { batcher.submit(item).await })
            })
            .collect();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(10);
        for (item, buyer) in (0..).zip(buyers) {
            assert_eq!(buyer.await.unwrap(), Some(item * 2), "each gets its own result");
        }
        let sizes = sizes.lock().unwrap();
        assert_eq!(sizes.iter().sum::<usize>(), 6);
        assert!(sizes.contains(&3) && sizes.iter().all(|size| *size <= 3), "{sizes:?}");
    }
}
