//! Work that waits is done together: whoever comes while a batch is under way is in the next one.
//!
//! Does not wait for a batch to fill up: alone, nobody waits for company. Does not know what the work is.

use std::future::Future;

use tokio::sync::{mpsc, oneshot};

struct Waiting<T, R> {
    item: T,
    answer: oneshot::Sender<R>,
}

/// A queue, and the one task that works it off batch by batch until all handles are gone.
pub struct Group<T, R> {
    queue: mpsc::UnboundedSender<Waiting<T, R>>,
}

impl<T: Send + Sync + 'static, R: Send + 'static> Group<T, R> {
    /// Starts the task. `work` gets from 1 to `most` items and returns an answer for each, in their order.
    ///
    /// The queue has no bound of its own: an item is a request that waits, and those are bounded by connections.
    pub fn start<W, F>(most: usize, work: W) -> Self
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel::<Waiting<T, R>>();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(most);
            while waiting.recv_many(&mut batch, most).await > 0 {
                let (items, answers): (Vec<_>, Vec<_>) =
                    batch.drain(..).map(|Waiting { item, answer }| (item, answer)).unzip();
                let results = work(items).await;
                debug_assert_eq!(results.len(), answers.len(), "an answer for each item");
                for (result, answer) in results.into_iter().zip(answers) {
                    // Whoever left has taken its answer's place in the books all the same.
                    let _ = answer.send(result);
                }
            }
        });
        Self { queue }
    }

    /// Waits for the answer to one item; none if the task is gone, as it is while the service stops.
    pub async fn join(&self, item: T) -> Option<R> {
        let (answer, answered) = oneshot::channel();
        self.queue.send(Waiting { item, answer }).ok()?;
        answered.await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[tokio::test]
    async fn those_who_come_while_a_batch_is_under_way_are_in_the_next_one_up_to_its_size() {
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let batches = Arc::new(Mutex::new(Vec::new()));
        let (seen, passes) = (Arc::clone(&batches), Arc::clone(&gate));
        let group = Arc::new(Group::start(3, move |items: Vec<u32>| {
            seen.lock().unwrap().push(items.len());
            let passes = Arc::clone(&passes);
            async move {
                passes.acquire().await.unwrap().forget();
                items.into_iter().map(|item| item * 2).collect()
            }
        }));
        let buyers: Vec<_> = (0..6)
            .map(|item| {
                let group = Arc::clone(&group);
                tokio::spawn(async move { group.join(item).await })
            })
            .collect();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        gate.add_permits(10);
        for (item, buyer) in (0..).zip(buyers) {
            assert_eq!(buyer.await.unwrap(), Some(item * 2), "each gets its own answer");
        }
        let batches = batches.lock().unwrap();
        assert_eq!(batches.iter().sum::<usize>(), 6);
        assert!(batches.contains(&3) && batches.iter().all(|size| *size <= 3), "{batches:?}");
    }
}
