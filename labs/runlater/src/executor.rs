//! Executes due tasks: claims executions, calls their targets and writes the results.
//!
//! [`dispatch`] and [`worker`] find work, [`lease`] keeps the node's lease. Does not handle API
//! requests.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Notify, RwLock, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::batcher::Batcher;
use crate::buffer::Buffer;
use crate::call::WebhookClient;
use crate::config::switch::{ClaimQuery, StoreResult, Wake, WorkerRefetch};
use crate::config::{ServeArgs, Switches, millis};
use crate::event::Events;
use crate::metric::Metrics;
use crate::store::Store;
use crate::store::claim::Claimed;
use crate::store::result::Record;

mod callback;
mod dispatch;
mod execute;
mod lease;
mod notification;
mod results;
mod worker;

/// Time-out of each shutdown step after the grace period.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Memory for callbacks in progress, in KiB. An unresponsive receiver holds its share for most of a minute.
const CALLBACK_BUDGET_KIB: usize = 256 * 1024;
/// Most results per statement.
const RESULTS_MAX: usize = 500;

/// State shared by all workers.
pub struct Executor {
    store: Arc<Store>,
    webhook_client: WebhookClient,
    switches: Switches,
    metrics: Metrics,
    events: Events,
    buffer: Buffer,
    results: Option<Batcher<Record, bool>>,
    /// Unique id of this node.
    node: i64,
    retry_unit: Duration,
    callback_wait: Duration,
    lease: Duration,
    poll: Duration,
    heartbeat_interval: Duration,
    /// Claims that this node holds, until their results are written.
    held_claims: Mutex<HashSet<(Uuid, i32)>>,
    /// Shared while claiming, exclusive while reconciling unknown claims.
    claiming: RwLock<()>,
    /// Set after a failed claim, which may have taken executions.
    may_hold_unknown: AtomicBool,
    /// Time of the last heartbeat.
    last_heartbeat: Mutex<Instant>,
    /// Whether this node has left; locked during heartbeats, so that none follows.
    has_left: tokio::sync::Mutex<bool>,
    /// Target number of workers.
    target: AtomicUsize,
    /// Wakes workers: there may be work.
    wake: Notify,
    /// Set if overdue work may exist: the next claim scans from the beginning.
    scan_all: AtomicBool,
    /// Set if queues may have work.
    queues_may_have_work: AtomicBool,
    /// Whether the next single-job worker looks into queues first.
    is_queues_turn: AtomicBool,
    /// Cancelled on stop: no new work starts.
    stop: CancellationToken,
    /// Memory left for callbacks, in KiB.
    callback_budget: Semaphore,
    /// Cancelled after the grace period: work in progress is abandoned.
    abandon: CancellationToken,
    tasks: TaskTracker,
}

impl Executor {
    /// Creates the executor without starting it.
    ///
    /// # Errors
    /// The certificates cannot be used.
    pub fn new(
        args: &ServeArgs,
        store: Arc<Store>,
        metrics: Metrics,
        events: Events,
    ) -> Result<Self, crate::call::Problem> {
        let switches = args.switches.clone();
        let webhook_client =
            WebhookClient::new(switches.http_client, args.private_targets(), args.ca.as_deref())?;
        let results = (switches.store_result == StoreResult::Group).then(|| {
            let (store, gap) = (Arc::clone(&store), millis(switches.batch_gap_ms));
            Batcher::start(RESULTS_MAX, gap, move |records| {
                let store = Arc::clone(&store);
                async move { results::write(&store, records).await }
            })
        });
        // The first 64 bits of a version 7 UUID are mostly time; the last 64 are random.
        let node =
            i64::from_be_bytes(Uuid::now_v7().into_bytes()[8..].try_into().unwrap_or_default()) & i64::MAX;
        Ok(Self {
            store,
            webhook_client,
            metrics,
            events,
            buffer: Buffer::default(),
            results,
            node,
            retry_unit: millis(args.retry_unit_ms),
            callback_wait: millis(args.callback_wait_ms),
            lease: millis(args.lease_ms),
            poll: millis(args.poll_ms),
            heartbeat_interval: millis(args.beat_ms),
            held_claims: Mutex::default(),
            claiming: RwLock::default(),
            may_hold_unknown: AtomicBool::new(false),
            last_heartbeat: Mutex::new(Instant::now()),
            has_left: tokio::sync::Mutex::new(false),
            target: AtomicUsize::new(switches.max_workers as usize),
            switches,
            wake: Notify::new(),
            scan_all: AtomicBool::new(true),
            queues_may_have_work: AtomicBool::new(true),
            is_queues_turn: AtomicBool::new(false),
            callback_budget: Semaphore::new(CALLBACK_BUDGET_KIB),
            stop: CancellationToken::new(),
            abandon: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts heartbeats and workers.
    pub fn start(self: &Arc<Self>) {
        tokio::spawn(Arc::clone(self).run_heartbeat());
        tokio::spawn(Arc::clone(self).flush());
        if self.switches.claim_query == ClaimQuery::Batch {
            self.tasks.spawn(Arc::clone(self).dispatch());
        } else {
            self.tasks.spawn(Arc::clone(self).manage_workers());
        }
    }

    /// Stops claiming.
    pub fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
    }

    /// Waits up to `grace` for work in progress, then abandons it to other nodes.
    pub async fn finish(&self, grace: Duration) {
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!("calls were still under way after the grace period");
            self.abandon.cancel();
            // Without PostgreSQL results cannot be written: do not wait for ever.
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, self.tasks.wait()).await;
        }
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.buffer.flush(&self.store)).await.is_err() {
            tracing::warn!("what was to be written in rounds could not be written");
        }
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.leave()).await.is_err() {
            tracing::warn!("others will find out that this node is gone");
        }
    }

    async fn leave(&self) {
        *self.has_left.lock().await = true;
        match self.store.leave(self.node).await {
            Ok(0) => {}
            Ok(executions) => tracing::warn!(executions, "given back for others to execute"),
            Err(problem) => tracing::warn!(reason = %problem, "others will find out that this node is gone"),
        }
    }

    /// Reports a new execution; `is_queued` if it is in a queue.
    pub fn task_added(&self, is_queued: bool) {
        if is_queued {
            self.queues_may_have_work.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        if self.switches.wake == Wake::Poll {
            return;
        }
        self.wake_workers();
    }

    fn wake_workers(&self) {
        if self.switches.claim_query == ClaimQuery::Batch {
            // Stored if nothing waits now: the next wait ends at once.
            self.wake.notify_one();
        } else {
            self.wake.notify_waiters();
        }
    }

    fn refetches(&self) -> bool {
        self.switches.worker_refetch == WorkerRefetch::Refetch
    }

    /// Adds claims to those that this node holds.
    fn track(&self, claimed: &[Claimed]) {
        self.held_claims.lock().extend(claimed.iter().map(|claimed| claimed.job.claimed()));
    }

    /// Records the start lag of a call that starts now.
    fn record_start(&self, due: Timestamp) {
        self.metrics.observe_start(due, Timestamp::now());
    }
}
