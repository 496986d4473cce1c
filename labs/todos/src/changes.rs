//! Changes: each todo that this process creates, for readers who wait for them.
//!
//! Invariant: a reader gets every change once and in the order of all readers, or learns that it gets no more. One queue
//! that all readers share bounds the memory: a reader that is further behind than the queue is long is dropped. Does not
//! know of todos that other processes create.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};

use crate::encode::Encoded;
use crate::metric::Metrics;
use crate::refusal::Refusal;

/// A new todo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Number of the change since the process started, from 1.
    pub sequence: u64,
    /// The todo.
    pub todo: Encoded,
}

/// Reason why a reader gets no more changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// The reader was further behind than the queue is long.
    #[error("the reader is too slow: changes were dropped")]
    TooSlow,
    /// The service stops.
    #[error("the service is stopping")]
    Stopping,
}

/// The changes of this process.
pub struct Changes {
    state: Mutex<State>,
    places: Arc<Semaphore>,
    metrics: Metrics,
}

struct State {
    sequence: u64,
    /// None after the stop.
    sender: Option<broadcast::Sender<Change>>,
}

impl Changes {
    /// Changes for at most `max_readers`, who can be `queue` changes behind, rounded up to a power of two.
    pub fn new(queue: u16, max_readers: u16, metrics: Metrics) -> Self {
        let (sender, _) = broadcast::channel(usize::from(queue).max(1));
        let places = Arc::new(Semaphore::new(max_readers.into()));
        Self { state: Mutex::new(State { sequence: 0, sender: Some(sender) }), places, metrics }
    }

    /// Passes new todos on, in their order. Never waits: who does not read in time is dropped.
    pub fn publish(&self, todos: &[Encoded]) {
        let mut state = self.state.lock();
        for todo in todos {
            state.sequence += 1;
            let change = Change { sequence: state.sequence, todo: todo.clone() };
            if let Some(sender) = &state.sender {
                // Without a reader there is nobody to send to.
                let _ = sender.send(change);
            }
        }
    }

    /// Begins to read the changes from now on.
    ///
    /// # Errors
    /// There are as many readers as allowed; the service stops.
    pub fn subscribe(&self) -> Result<Reader, Refusal> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refusal::TooManyReaders)?;
        let state = self.state.lock();
        let receiver = state.sender.as_ref().ok_or(Refusal::Stopping)?.subscribe();
        self.metrics.readers.inc();
        Ok(Reader { receiver, metrics: self.metrics.clone(), _place: place })
    }

    /// Ends all streams after the changes so far, and refuses new readers.
    pub fn close(&self) {
        self.state.lock().sender = None;
    }
}

/// A reader of the changes.
pub struct Reader {
    receiver: broadcast::Receiver<Change>,
    metrics: Metrics,
    _place: OwnedSemaphorePermit,
}

impl Reader {
    /// Waits for the next change.
    ///
    /// # Errors
    /// The reader is too slow, or the service stops. There are no further changes then.
    pub async fn next(&mut self) -> Result<Change, End> {
        self.receiver.recv().await.map_err(|error| match error {
            RecvError::Lagged(_) => {
                self.metrics.slow_readers.inc();
                End::TooSlow
            }
            RecvError::Closed => End::Stopping,
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.metrics.readers.dec();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;

    use super::*;

    /// A text that is counted while it is in memory.
    struct Counted(Arc<AtomicUsize>);

    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            b"todo"
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn todo(number: u64) -> Encoded {
        Encoded { json: number.to_string().into(), ..Encoded::default() }
    }

    fn changes(queue: u16, readers: u16) -> Changes {
        Changes::new(queue, readers, Metrics::default())
    }

    #[tokio::test]
    async fn each_reader_gets_what_was_created_since_it_came_and_the_end() {
        let changes = changes(8, 2);
        let mut early = changes.subscribe().unwrap();
        changes.publish(&[todo(1), todo(2)]);
        let mut late = changes.subscribe().unwrap();
        changes.publish(&[todo(3)]);
        changes.close();
        for sequence in 1..=3 {
            assert_eq!(early.next().await, Ok(Change { sequence, todo: todo(sequence) }));
        }
        assert_eq!(late.next().await, Ok(Change { sequence: 3, todo: todo(3) }));
        assert_eq!((early.next().await, late.next().await), (Err(End::Stopping), Err(End::Stopping)));
        drop((early, late));
        assert!(matches!(changes.subscribe(), Err(Refusal::Stopping)));
    }

    #[tokio::test]
    async fn a_reader_further_behind_than_the_queue_is_dropped_and_others_are_not() {
        let changes = changes(4, 2);
        let (mut slow, mut quick) = (changes.subscribe().unwrap(), changes.subscribe().unwrap());
        for sequence in 1..=5 {
            changes.publish(&[todo(sequence)]);
            assert_eq!(quick.next().await.map(|change| change.sequence), Ok(sequence));
        }
        assert_eq!(slow.next().await, Err(End::TooSlow));
        assert_eq!(changes.metrics.slow_readers.get(), 1);
    }

    #[tokio::test]
    async fn a_reader_as_far_behind_as_the_queue_is_long_gets_everything() {
        let changes = changes(4, 1);
        let mut reader = changes.subscribe().unwrap();
        changes.publish(&[todo(1), todo(2), todo(3), todo(4)]);
        for sequence in 1..=4 {
            assert_eq!(reader.next().await.map(|change| change.sequence), Ok(sequence));
        }
    }

    #[test]
    fn memory_holds_one_queue_however_many_readers_never_read() {
        let (changes, in_memory) = (changes(8, 100), Arc::new(AtomicUsize::new(0)));
        let readers: Vec<Reader> = (0..100).map(|_| changes.subscribe().unwrap()).collect();
        for _ in 0..10_000 {
            in_memory.fetch_add(1, Ordering::SeqCst);
            let json = Bytes::from_owner(Counted(Arc::clone(&in_memory)));
            changes.publish(&[Encoded { json, ..Encoded::default() }]);
            assert!(in_memory.load(Ordering::SeqCst) <= 8);
        }
        drop(readers);
        assert_eq!(in_memory.load(Ordering::SeqCst), 0, "without readers nothing is kept");
    }

    #[test]
    fn a_reader_too_many_is_refused_until_another_one_leaves() {
        let changes = changes(4, 1);
        let reader = changes.subscribe().unwrap();
        assert!(matches!(changes.subscribe(), Err(Refusal::TooManyReaders)));
        assert_eq!(changes.metrics.readers.get(), 1);
        drop(reader);
        assert!(changes.subscribe().is_ok());
        assert_eq!(changes.metrics.readers.get(), 0);
    }
}
