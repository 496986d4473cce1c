//! What a node does beside requests and calls: recurring tasks, forgetting, and listening to other nodes.
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
use crate::crew::Crew;
use crate::refusal::said;
use crate::store::Store;
use crate::store::house::Looked;

/// How often others are told at the most.
const TELL_EVERY: Duration = Duration::from_millis(20);
const CHANNEL: &str = "runlater_due";
const AGAIN: Duration = Duration::from_millis(500);
/// Executions of recurring tasks are written at least this long before they are due.
const AHEAD_MIN: Duration = Duration::from_secs(10);
/// How long a round of the scheduler may take.
const MARGIN: Duration = Duration::from_secs(5);

/// Those who want to know that there is a new task.
pub struct Bell {
    wake: Wake,
    crew: Option<Arc<Crew>>,
    scheduler: Notify,
    store: Arc<Store>,
    told_at: Mutex<Option<Instant>>,
}

impl Bell {
    /// Wakes in the way of the switch.
    pub fn new(wake: Wake, crew: Option<Arc<Crew>>, store: Arc<Store>) -> Self {
        Self { wake, crew, scheduler: Notify::new(), store, told_at: Mutex::default() }
    }

    /// There is a new execution, maybe in a queue.
    pub fn ring(self: &Arc<Self>, is_in_lane: bool) {
        if let Some(crew) = &self.crew {
            crew.tell(is_in_lane);
        }
        if self.wake == Wake::Notify {
            let now = Instant::now();
            let mut told_at = self.told_at.lock();
            // Who comes within the distance is told of by whoever told last: it waits that long before it tells.
            if told_at.is_none_or(|at| now >= at + TELL_EVERY) {
                *told_at = Some(now);
                let bell = Arc::clone(self);
                tokio::spawn(async move {
                    tokio::time::sleep(TELL_EVERY).await;
                    if let Err(problem) = bell.store.notify(CHANNEL).await {
                        tracing::warn!(reason = %problem, "other nodes find new work by themselves");
                    }
                });
            }
        }
    }

    /// There is a new recurring task.
    pub fn ring_scheduler(&self) {
        self.scheduler.notify_one();
    }

    /// Wakes the workers of this node when another one tells, until the process ends.
    pub async fn listen(self: Arc<Self>, url: String) {
        loop {
            if let Err(error) = self.hear(&url).await {
                tracing::warn!(reason = said(&error), "nobody tells of tasks that other nodes took");
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn hear(&self, url: &str) -> Result<(), tokio_postgres::Error> {
        let (client, mut connection) = tokio_postgres::connect(url, NoTls).await?;
        let (tell, mut told) = mpsc::unbounded_channel();
        let driving = tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(_)) => drop(tell.send(Ok(()))),
                    Ok(_) => {}
                    Err(error) => return drop(tell.send(Err(error))),
                }
            }
        });
        let listened = client.batch_execute(&format!("LISTEN {CHANNEL}")).await;
        if listened.is_ok() {
            while let Some(told) = told.recv().await {
                told?;
                if let Some(crew) = &self.crew {
                    crew.tell(true);
                }
            }
        }
        driving.abort();
        listened
    }
}

/// Writes the executions of recurring tasks before they are due, until the process ends.
pub async fn schedule(bell: Arc<Bell>, store: Arc<Store>, every: Duration) {
    // What is due before the next round has ended is written in this one.
    let ahead = AHEAD_MIN.max(every + MARGIN);
    loop {
        let now = Timestamp::now();
        match store.schedule(now, now.saturating_add(ahead).unwrap_or(now)).await {
            Ok(Some(round)) => {
                if round.executions > 0 {
                    tracing::debug!(executions = round.executions, "recurring tasks are scheduled");
                    bell.ring(true);
                }
                if round.is_full {
                    continue;
                }
            }
            Ok(None) => {}
            Err(problem) => {
                tracing::warn!(reason = %problem, "recurring tasks are scheduled later");
                tokio::time::sleep(AGAIN.min(every)).await;
                continue;
            }
        }
        let _ = timeout(every, bell.scheduler.notified()).await;
    }
}

/// Forgets what is old, until the process ends.
pub async fn clean(store: Arc<Store>, args: ServeArgs) {
    let (mut executions, mut tasks) = (Looked::nothing(), Looked::nothing());
    loop {
        if args.switches.rescue == Rescue::Age5min {
            match store.fail_old().await {
                Ok(0) => {}
                Ok(executions) => tracing::warn!(executions, "failed: they ran for more than 5 minutes"),
                Err(problem) => tracing::warn!(reason = %problem, "old executions fail later"),
            }
        }
        // Each by itself: one that fails leaves the others to be done.
        for forgotten in [
            store.forget_executions(&mut executions).await,
            store.forget_tasks(&mut tasks).await,
            store.forget_keys().await,
        ] {
            match forgotten {
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
