//! Batches waiting work: items that arrive during a batch form the next one.
//!
//! Does not wait for a batch to fill up. Does not know what the work is.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

/// An item and the channel for its result.
struct Pending<T, R>(T, oneshot::Sender<R>);

/// A queue, processed batch by batch by one task until all handles are dropped.
pub struct Batcher<T, R> {
    queue: mpsc::UnboundedSender<Pending<T, R>>,
}

impl<T: Send + 'static, R: Send + 'static> Batcher<T, R> {
    /// Starts the task. `work` gets 1 to `max_batch` items and returns one result per item, in order.
    ///
    /// The queue is unbounded: each item is a waiting request, and open connections bound those.
    pub fn start<F>(max_batch: usize, work: impl Fn(Vec<T>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(max_batch);
            while waiting.recv_many(&mut batch, max_batch).await > 0 {
                let (items, replies): (Vec<T>, Vec<oneshot::Sender<R>>) =
                    batch.drain(..).map(|Pending(item, reply)| (item, reply)).unzip();
                for (answer, reply) in work(items).await.into_iter().zip(replies) {
                    // The receiver is gone if the request was cancelled.
                    let _ = reply.send(answer);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the result of one item; `None` if the task has ended because the service stops.
    pub async fn submit(&self, item: T) -> Option<R> {
        let (reply, answered) = oneshot::channel();
        self.queue.send(Pending(item, reply)).ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn items_that_arrive_during_a_batch_form_the_next_and_each_gets_its_own_result() {
        let (gate, sizes) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (passes, seen) = (Arc::clone(&gate), Arc::clone(&sizes));
        let batcher = Arc::new(Batcher::start(4, move |items: Vec<u64>| {
            seen.lock().push(items.len());
            let passes = Arc::clone(&passes);
            async move {
                passes.acquire().await.unwrap().forget();
                items.iter().map(|item| item + 100).collect()
            }
        }));
        let submit = |item| {
            let batcher = Arc::clone(&batcher);
            tokio::spawn(async move { batcher.submit(item).await })
        };
        let first = submit(0);
        while sizes.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (1..8).map(submit).collect();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(10);
        assert_eq!(first.await.unwrap(), Some(100));
        for (item, other) in (1..).zip(others) {
            assert_eq!(other.await.unwrap(), Some(item + 100));
        }
        assert_eq!(*sizes.lock(), [1, 4, 3]);
    }
}
