//! Background work of a node: schedules recurring tasks, deletes old rows, and exchanges wake-ups with other nodes.
//!
//! Does not decide what is due or old; the store does.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, timeout};
use tokio_postgres::{AsyncMessage, NoTls};

use crate::config::switch::{Rescue, Wake};
use crate::config::{ServeArgs, millis};
use crate::executor::Executor;
use crate::refusal::postgres_message;
use crate::store::Store;
use crate::store::maintenance::ScanPosition;

/// Least time between notifications of other nodes.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(20);
const CHANNEL: &str = "runlater_due";
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// Executions of recurring tasks are written at least this long before they are due.
const AHEAD_MIN: Duration = Duration::from_secs(10);
/// Longest expected round of the scheduler.
const MAX_ROUND_TIME: Duration = Duration::from_secs(5);

/// Wakes workers, the scheduler and other nodes for new tasks.
pub struct WorkNotifier {
    wake: Wake,
    executor: Option<Arc<Executor>>,
    scheduler: Notify,
    store: Arc<Store>,
    notified_at: Mutex<Option<Instant>>,
}

impl WorkNotifier {
    /// Configured by the switch.
    pub fn new(wake: Wake, executor: Option<Arc<Executor>>, store: Arc<Store>) -> Self {
        Self { wake, executor, scheduler: Notify::new(), store, notified_at: Mutex::default() }
    }

    /// Wakes workers for a new execution; `is_queued` if it is in a queue.
    pub fn notify_workers(self: &Arc<Self>, is_queued: bool) {
        if let Some(executor) = &self.executor {
            executor.task_added(is_queued);
        }
        if self.wake == Wake::Notify {
            let now = Instant::now();
            let mut notified_at = self.notified_at.lock();
            // A notification is sent after the interval, so it covers all tasks that came within it.
            if notified_at.is_none_or(|at| now >= at + NOTIFY_INTERVAL) {
                *notified_at = Some(now);
                let notifier = Arc::clone(self);
                tokio::spawn(async move {
                    tokio::time::sleep(NOTIFY_INTERVAL).await;
                    if let Err(problem) = notifier.store.notify(CHANNEL).await {
                        tracing::warn!(reason = %problem, "other nodes find new work by themselves");
                    }
                });
            }
        }
    }

    /// Wakes the scheduler for a new recurring task.
    pub fn notify_scheduler(&self) {
        self.scheduler.notify_one();
    }

    /// Wakes this node's workers on notifications from other nodes, until the process ends.
    pub async fn listen(self: Arc<Self>, url: String) {
        loop {
            if let Err(error) = self.listen_once(&url).await {
                tracing::warn!(
                    reason = postgres_message(&error),
                    "nobody tells of tasks that other nodes took"
                );
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn listen_once(&self, url: &str) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
        let (sender, mut messages) = mpsc::unbounded_channel();
        let driving = tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(_)) => drop(sender.send(Ok(()))),
                    Ok(_) => {}
                    Err(error) => return drop(sender.send(Err(error))),
                }
            }
        });
        let listened = client.batch_execute(&format!("LISTEN {CHANNEL}")).await;
        if listened.is_ok() {
            while let Some(message) = messages.recv().await {
                message?;
                if let Some(executor) = &self.executor {
                    executor.task_added(true);
                }
            }
        }
        driving.abort();
        listened
    }
}

/// Writes the executions of recurring tasks before they are due, until the process ends.
pub async fn schedule(notifier: Arc<WorkNotifier>, store: Arc<Store>, every: Duration) {
    // Covers everything that is due before the end of the next round.
    let ahead = AHEAD_MIN.max(every + MAX_ROUND_TIME);
    loop {
        let now = Timestamp::now();
        match store.schedule(now, now.saturating_add(ahead).unwrap_or(now)).await {
            Ok(Some(round)) => {
                if round.executions > 0 {
                    tracing::debug!(executions = round.executions, "recurring tasks are scheduled");
                    notifier.notify_workers(true);
                }
                if round.is_full {
                    continue;
                }
            }
            Ok(None) => {}
            Err(problem) => {
                tracing::warn!(reason = %problem, "recurring tasks are scheduled later");
                tokio::time::sleep(RETRY_DELAY.min(every)).await;
                continue;
            }
        }
        let _ = timeout(every, notifier.scheduler.notified()).await;
    }
}

/// Deletes old rows, until the process ends.
pub async fn clean(store: Arc<Store>, args: ServeArgs) {
    let (mut executions, mut tasks) = (ScanPosition::start(), ScanPosition::start());
    loop {
        if args.switches.rescue == Rescue::Age5min {
            match store.fail_old().await {
                Ok(0) => {}
                Ok(executions) => tracing::warn!(executions, "failed: they ran for more than 5 minutes"),
                Err(problem) => tracing::warn!(reason = %problem, "old executions fail later"),
            }
        }
        // One by one: a failure does not affect the others.
        for deleted in [
            store.delete_old_executions(&mut executions).await,
            store.delete_old_tasks(&mut tasks).await,
            store.delete_old_keys().await,
        ] {
            match deleted {
                Ok(0) => {}
                Ok(rows) => tracing::info!(rows, "forgotten"),
                Err(problem) => tracing::warn!(reason = %problem, "old rows are still there"),
            }
        }
        if let Err(problem) = store.begin_month().await {
            tracing::warn!(reason = %problem, "the month begins later");
        }
        tokio::time::sleep(millis(args.cleaner_ms)).await;
    }
}
