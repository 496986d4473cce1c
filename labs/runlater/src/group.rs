//! Work that waits is done together: whoever comes while a batch is under way is in the next one.
//!
//! Batches keep a distance, so that many who come one by one make few batches; alone, nobody waits for company. Does not
//! know what the work is.

use std::future::Future;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};

struct Waiting<T, R> {
    item: T,
    answer: oneshot::Sender<R>,
}

/// A queue, and the one task that works it off batch by batch until all handles are gone.
pub struct Group<T, R> {
    queue: mpsc::UnboundedSender<Waiting<T, R>>,
}

impl<T: Send + Sync + 'static, R: Send + 'static> Group<T, R> {
    /// Starts the task. `work` gets from 1 to `most` items and returns an answer for each, in their order. Batches begin
    /// at least `gap` after each other.
    ///
    /// The queue has no bound of its own: an item is a request or a worker that waits, and those are bounded.
    pub fn start<W, F>(most: usize, gap: Duration, work: W) -> Self
    where
        W: Fn(Vec<T>) -> F + Send + 'static,
        F: Future<Output = Vec<R>> + Send,
    {
        let (queue, mut waiting) = mpsc::unbounded_channel::<Waiting<T, R>>();
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(most);
            let mut earliest = Instant::now();
            while waiting.recv_many(&mut batch, most).await > 0 {
                if Instant::now() < earliest {
                    sleep_until(earliest).await;
                    while batch.len() < most
                        && let Ok(next) = waiting.try_recv()
                    {
                        batch.push(next);
                    }
                }
                earliest = Instant::now() + gap;
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

    use futures_util::future::join_all;

    use super::*;

    /// Sizes of the batches, and when each began, in milliseconds of simulated time.
    type Seen = Arc<Mutex<Vec<(usize, u128)>>>;

    fn group(most: usize, gap: u64, takes: u64) -> (Group<u32, u32>, Seen) {
        let seen = Seen::default();
        let (note, begun) = (Arc::clone(&seen), Instant::now());
        let group = Group::start(most, Duration::from_millis(gap), move |items: Vec<u32>| {
            note.lock().unwrap().push((items.len(), begun.elapsed().as_millis()));
            async move {
                tokio::time::sleep(Duration::from_millis(takes)).await;
                items.into_iter().map(|item| item * 2).collect()
            }
        });
        (group, seen)
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_come_while_a_batch_is_under_way_are_in_the_next_one_up_to_its_size() {
        let (group, seen) = group(3, 0, 10);
        let answers = join_all((0..7).map(|item| group.join(item))).await;
        assert_eq!(
            answers,
            (0..7).map(|item| Some(item * 2)).collect::<Vec<_>>(),
            "each gets its own answer"
        );
        assert_eq!(*seen.lock().unwrap(), [(3, 0), (3, 10), (1, 20)]);
    }

    #[tokio::test(start_paused = true)]
    async fn alone_nobody_waits_and_many_wait_for_the_distance_between_batches() {
        let (group, seen) = group(100, 20, 0);
        let at = async |millis: u64, item: u32| {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            group.join(item).await
        };
        join_all([(0, 1), (5, 2), (10, 3), (90, 4)].map(|(millis, item)| at(millis, item))).await;
        assert_eq!(*seen.lock().unwrap(), [(1, 0), (2, 20), (1, 90)]);
    }
}
