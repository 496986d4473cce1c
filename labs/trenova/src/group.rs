//! Work that waits is done together: whoever comes while a batch is under way is in the next one.
//!
//! Does not wait for a batch to fill up: alone, nobody waits for company. Does not know what the work is.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

/// Somebody's work, and where the answer goes.
struct Waiting<T, R>(T, oneshot::Sender<R>);

/// A queue, and the one task that works it off batch by batch until all handles are gone.
pub struct Group<T, R> {
    queue: mpsc::UnboundedSender<Waiting<T, R>>,
}

impl<T: Send + 'static, R: Send + 'static> Group<T, R> {
    /// Starts the task. `work` gets from 1 to `most` items and returns an answer for each, in their order.
    ///
    /// The queue has no bound of its own: an item is a request that waits, and those are bounded by connections.
    pub fn start<F>(most: usize, work: impl Fn(Vec<T>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(most);
            while waiting.recv_many(&mut batch, most).await > 0 {
                let (items, callers): (Vec<T>, Vec<oneshot::Sender<R>>) =
                    batch.drain(..).map(|Waiting(item, caller)| (item, caller)).unzip();
                for (answer, caller) in work(items).await.into_iter().zip(callers) {
                    // Somebody who left does not want it any more.
                    let _ = caller.send(answer);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the answer to one item; none if the task is gone, as it is while the service stops.
    pub async fn join(&self, item: T) -> Option<R> {
        let (caller, answered) = oneshot::channel();
        self.queue.send(Waiting(item, caller)).ok()?;
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
    async fn whoever_comes_during_a_batch_is_in_the_next_one_and_gets_the_answer_to_its_own_item() {
        let (gate, sizes) = (Arc::new(Semaphore::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (passes, seen) = (Arc::clone(&gate), Arc::clone(&sizes));
        let group = Arc::new(Group::start(4, move |items: Vec<u64>| {
            seen.lock().push(items.len());
            let passes = Arc::clone(&passes);
            async move {
                passes.acquire().await.unwrap().forget();
                items.iter().map(|item| item + 100).collect()
            }
        }));
        let join = |item| {
            let group = Arc::clone(&group);
            tokio::spawn(async move { group.join(item).await })
        };
        let first = join(0);
        while sizes.lock().is_empty() {
            tokio::task::yield_now().await;
        }
        let others: Vec<_> = (1..8).map(join).collect();
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
