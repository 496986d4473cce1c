//! Who waits while PostgreSQL works: nobody, a thread for each request, or the one thread that serves all.
//!
//! Does not know what the work is.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::config::Handler;
use crate::metric::Metrics;
use crate::refusal::Refusal;

/// As published: a pool of 25 and 5 more.
const SEATS: usize = 30;

/// The way work is waited for.
pub struct Desk {
    handler: Handler,
    seats: Arc<Semaphore>,
    /// Where connections live while threads wait for them.
    driver: Handle,
    patience: Duration,
    metrics: Metrics,
}

impl Desk {
    /// Waits in the way of the switch, `patience` long at the most.
    pub fn new(handler: Handler, driver: Handle, patience: Duration, metrics: Metrics) -> Self {
        Self { handler, seats: Arc::new(Semaphore::new(SEATS)), driver, patience, metrics }
    }

    /// Has the work done.
    ///
    /// # Errors
    /// Those of the work; it takes too long, and whether it will be done is not known.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let end = Instant::now() + self.patience;
        let work = async move { timeout_at(end, work).await.unwrap_or_else(|_| Err(Refusal::late())) };
        match self.handler {
            Handler::Async => work.await,
            Handler::Threadpool => self.on_a_thread(end, work).await,
            Handler::AsyncBlocking => self.here(work),
        }
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        end: Instant,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Ok(seat) = timeout_at(end, Arc::clone(&self.seats).acquire_owned()).await else {
            return Err(Refusal::NotBegun("no thread was free in time".to_owned()));
        };
        let seat = seat.map_err(|_| Refusal::Stopping)?;
        let (driver, waiting) = (self.driver.clone(), self.metrics.waiting_threads.clone());
        let thread = tokio::task::spawn_blocking(move || {
            let _seat = seat;
            waiting.inc();
            let done = driver.block_on(work);
            waiting.dec();
            done
        });
        thread.await.map_err(|_| Refusal::Stopping)?
    }

    /// Keeps the thread that serves all requests: no other one is read, worked on or answered until this is done.
    fn here<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (done, is_done) = mpsc::sync_channel(1);
        self.driver.spawn(async move {
            let _ = done.send(work.await);
        });
        self.metrics.waiting_threads.inc();
        let result = is_done.recv().map_err(|_| Refusal::Stopping);
        self.metrics.waiting_threads.dec();
        result?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn who_gets_no_thread_in_time_is_refused_and_nothing_is_begun() {
        let patience = Duration::from_millis(50);
        let desk = Desk::new(Handler::Threadpool, Handle::current(), patience, Metrics::default());
        let taken = desk.seats.acquire_many(SEATS as u32).await.unwrap();
        let refused = desk.run(async { Ok(()) });
        let refused =
            tokio::time::timeout(Duration::from_secs(60), refused).await.expect("it waits for ever");
        assert!(matches!(refused, Err(Refusal::NotBegun(_))), "{refused:?}");
        drop(taken);
    }
}
