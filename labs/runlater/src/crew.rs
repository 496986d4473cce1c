//! Workers: they claim what is due, call, and hand over the result.
//!
//! How they find work and when they rest is in [`dispatch`] and [`worker`]; whether they live, in [`life`]. Does not know
//! of requests.

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

use crate::buffer::Buffer;
use crate::call::Caller;
use crate::config::switch::{ClaimQuery, StoreResult, Wake, WorkerRefetch};
use crate::config::{ServeArgs, Switches, millis};
use crate::event::Events;
use crate::group::Group;
use crate::metric::Metrics;
use crate::store::Store;
use crate::store::claim::Claimed;
use crate::store::result::Record;

mod callback;
mod dispatch;
mod keep;
mod life;
mod notice;
mod perform;
mod worker;

/// How long a node that gives up still waits for its own workers.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Most KiB of results of which somebody is being told. Those who do not answer keep theirs for most of a minute.
const TELLING_KIB: usize = 256 * 1024;
/// Most results of one statement.
const RESULTS_MAX: usize = 500;

/// All that workers share.
pub struct Crew {
    store: Arc<Store>,
    caller: Caller,
    switches: Switches,
    metrics: Metrics,
    events: Events,
    buffer: Buffer,
    results: Option<Group<Record, bool>>,
    /// Who this node is to others: a number that no other one has.
    node: i64,
    retry_unit: Duration,
    callback_wait: Duration,
    lease: Duration,
    poll: Duration,
    beat: Duration,
    /// Claims of executions that this node has, up to the moment their results are written.
    in_hand: Mutex<HashSet<(Uuid, i32)>>,
    /// Held by claims, and alone by whoever looks for claims that nobody knows of.
    claiming: RwLock<()>,
    /// A claim failed: whether it took something is not known.
    is_unsure: AtomicBool,
    /// When the last sign of life was given.
    alive_at: Mutex<Instant>,
    /// Whether this node has left; held while a sign of life is given, so that none comes afterwards.
    is_gone: tokio::sync::Mutex<bool>,
    /// How many workers there may be at this time.
    target: AtomicUsize,
    /// There may be work.
    wake: Notify,
    /// There may be work from long ago.
    sweep: AtomicBool,
    /// There may be work in queues.
    lanes: AtomicBool,
    /// A worker that looks for one job looks in queues first.
    is_lanes_turn: AtomicBool,
    /// Nothing new is begun.
    stop: CancellationToken,
    /// Room for what somebody is to be told, in KiB.
    telling: Semaphore,
    /// What is under way is given up.
    abandon: CancellationToken,
    tasks: TaskTracker,
}

impl Crew {
    /// Workers that wait to be started.
    ///
    /// # Errors
    /// Certificates cannot be used.
    pub fn new(
        args: &ServeArgs,
        store: Arc<Store>,
        metrics: Metrics,
        events: Events,
    ) -> Result<Self, crate::call::Problem> {
        let switches = args.switches.clone();
        let caller = Caller::new(switches.http_client, args.private_targets, args.ca.as_deref())?;
        let results = (switches.store_result == StoreResult::Group).then(|| {
            let (store, gap) = (Arc::clone(&store), millis(switches.batch_gap_ms));
            Group::start(RESULTS_MAX, gap, move |records| {
                let store = Arc::clone(&store);
                async move { keep::write(&store, records).await }
            })
        });
        // The first 64 bits of a version 7 are time and few random bits; the last ones are random.
        let node =
            i64::from_be_bytes(Uuid::now_v7().into_bytes()[8..].try_into().unwrap_or_default()) & i64::MAX;
        Ok(Self {
            store,
            caller,
            metrics,
            events,
            buffer: Buffer::default(),
            results,
            node,
            retry_unit: millis(args.retry_unit_ms),
            callback_wait: millis(args.callback_wait_ms),
            lease: millis(args.lease_ms),
            poll: millis(args.poll_ms),
            beat: millis(args.beat_ms),
            in_hand: Mutex::default(),
            claiming: RwLock::default(),
            is_unsure: AtomicBool::new(false),
            alive_at: Mutex::new(Instant::now()),
            is_gone: tokio::sync::Mutex::new(false),
            target: AtomicUsize::new(switches.max_workers as usize),
            switches,
            wake: Notify::new(),
            sweep: AtomicBool::new(true),
            lanes: AtomicBool::new(true),
            is_lanes_turn: AtomicBool::new(false),
            telling: Semaphore::new(TELLING_KIB),
            stop: CancellationToken::new(),
            abandon: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Begins to work.
    pub fn start(self: &Arc<Self>) {
        tokio::spawn(Arc::clone(self).live());
        tokio::spawn(Arc::clone(self).flush());
        if self.switches.claim_query == ClaimQuery::Batch {
            self.tasks.spawn(Arc::clone(self).dispatch());
        } else {
            self.tasks.spawn(Arc::clone(self).hire());
        }
    }

    /// Begins nothing new.
    pub fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
    }

    /// Waits until what is under way is done, for so long; then gives it up, for others to do.
    pub async fn finish(&self, grace: Duration) {
        if tokio::time::timeout(grace, self.tasks.wait()).await.is_err() {
            tracing::warn!("calls were still under way after the grace period");
            self.abandon.cancel();
            // Without PostgreSQL results cannot be written, and nobody waits for it for ever.
            let _ = tokio::time::timeout(LAST_WAIT, self.tasks.wait()).await;
        }
        if tokio::time::timeout(LAST_WAIT, self.buffer.flush(&self.store)).await.is_err() {
            tracing::warn!("what was to be written in rounds could not be written");
        }
        if tokio::time::timeout(LAST_WAIT, self.leave()).await.is_err() {
            tracing::warn!("others will find out that this node is gone");
        }
    }

    async fn leave(&self) {
        *self.is_gone.lock().await = true;
        match self.store.leave(self.node).await {
            Ok(0) => {}
            Ok(executions) => tracing::warn!(executions, "given back for others to execute"),
            Err(problem) => tracing::warn!(reason = %problem, "others will find out that this node is gone"),
        }
    }

    /// There is a new task, maybe in a queue.
    pub fn tell(&self, is_in_lane: bool) {
        if is_in_lane {
            self.lanes.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        if self.switches.wake == Wake::Poll {
            return;
        }
        self.rouse();
    }

    fn rouse(&self) {
        if self.switches.claim_query == ClaimQuery::Batch {
            // Remembered if nobody waits now: the next look comes at once.
            self.wake.notify_one();
        } else {
            self.wake.notify_waiters();
        }
    }

    fn refetches(&self) -> bool {
        self.switches.worker_refetch == WorkerRefetch::Refetch
    }

    /// Takes what is claimed into hand.
    fn hold(&self, claimed: &[Claimed]) {
        self.in_hand.lock().extend(claimed.iter().map(|claimed| claimed.job.claimed()));
    }

    /// How long after due a call begins now.
    fn begins(&self, due: Timestamp) {
        self.metrics.starts(due, Timestamp::now());
    }
}
