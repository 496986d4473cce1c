//! Who waits while PostgreSQL works: nobody, a thread for each request, or the one thread that serves all.
//!
//! Does not know what the work is.

use std::future::Future;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

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
        let patience = self.patience;
        let work = async move {
            let late = |_| Err(Refusal::Postgres("no answer in time".to_owned()));
            tokio::time::timeout(patience, work).await.unwrap_or_else(late)
        };
        match self.handler {
            Handler::Async => work.await,
            Handler::Threadpool => self.on_a_thread(work).await,
            Handler::AsyncBlocking => self.here(work),
        }
    }

    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let seat = Arc::clone(&self.seats).acquire_owned().await.map_err(|_| Refusal::Stopping)?;
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
