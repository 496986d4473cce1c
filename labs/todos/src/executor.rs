//! How requests wait for PostgreSQL: asynchronously, on a thread per request, or on the one thread that serves all.
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

/// Maximum number of waiting threads. As published: a pool of 25 and an overflow of 5.
const MAX_THREADS: usize = 30;

/// Runs the work of requests as the switch `handler` says.
pub struct RequestExecutor {
    handler: Handler,
    permits: Arc<Semaphore>,
    /// The runtime of the connections.
    driver: Handle,
    request_timeout: Duration,
    metrics: Metrics,
}

impl RequestExecutor {
    /// An executor that waits at most `request_timeout` per request.
    pub fn new(handler: Handler, driver: Handle, request_timeout: Duration, metrics: Metrics) -> Self {
        Self { handler, permits: Arc::new(Semaphore::new(MAX_THREADS)), driver, request_timeout, metrics }
    }

    /// Runs `work`.
    ///
    /// # Errors
    /// Those of the work; a timeout, after which PostgreSQL may still execute it.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let end = Instant::now() + self.request_timeout;
        let work = async move { timeout_at(end, work).await.unwrap_or_else(|_| Err(Refusal::timed_out())) };
        match self.handler {
            Handler::Async => work.await,
            Handler::Threadpool => self.run_on_thread(end, work).await,
            Handler::AsyncBlocking => self.run_on_serving_thread(work),
        }
    }

    async fn run_on_thread<T: Send + 'static>(
        &self,
        end: Instant,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let Ok(permit) = timeout_at(end, Arc::clone(&self.permits).acquire_owned()).await else {
            return Err(Refusal::NotStarted("no thread was free in time".to_owned()));
        };
        let permit = permit.map_err(|_| Refusal::Stopping)?;
        let (driver, waiting) = (self.driver.clone(), self.metrics.waiting_threads.clone());
        let thread = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            waiting.inc();
            let result = driver.block_on(work);
            waiting.dec();
            result
        });
        thread.await.map_err(|_| Refusal::Stopping)?
    }

    /// Blocks the thread that serves all requests until the work is done.
    fn run_on_serving_thread<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let (result_sender, result_receiver) = mpsc::sync_channel(1);
        self.driver.spawn(async move {
            let _ = result_sender.send(work.await);
        });
        self.metrics.waiting_threads.inc();
        let result = result_receiver.recv().map_err(|_| Refusal::Stopping);
        self.metrics.waiting_threads.dec();
        result?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_that_gets_no_thread_in_time_is_refused_and_not_started() {
        let request_timeout = Duration::from_millis(50);
        let executor =
            RequestExecutor::new(Handler::Threadpool, Handle::current(), request_timeout, Metrics::default());
        let all_permits = executor.permits.acquire_many(MAX_THREADS as u32).await.unwrap();
        let refused = executor.run(async { Ok(()) });
        let refused =
            tokio::time::timeout(Duration::from_secs(60), refused).await.expect("it waits for ever");
        assert!(matches!(refused, Err(Refusal::NotStarted(_))), "{refused:?}");
        drop(all_permits);
    }
}
