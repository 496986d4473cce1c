//! Sales from the counters in Redis. With `record`, each sale is committed in PostgreSQL before the client gets its response.
//!
//! Does not rely on Redis for correctness. PostgreSQL is authoritative; the counters are a fast approximation:
//!
//! ```text
//! take from counter ──► record, commit ──► "Success"
//!        │ no response        │ failed before the commit: given back
//!        ▼                    │ failed during the commit: outcome unknown
//!      drift ◄────────────────┘
//!        └──► rebuild: a new epoch, and all counters set from the sales record
//! ```
//!
//! A sale is recorded only in the epoch whose counters it was taken from, and only if the record has stock left. So no ticket is
//! sold twice and no acknowledged sale is lost, whichever process is killed, at any moment. Tickets that were taken but never
//! recorded are missing from the counter until the next rebuild: at the next start, or a second after this process detects it.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::batcher::Batcher;
use crate::booking::Booking;
use crate::config::{Record, RedisScript};
use crate::counter::{Counters, NotTaken};
use crate::metric::Metrics;
use crate::order::OrderRequest;
use crate::refusal::Refusal;
use crate::sales_record::{NotRecorded, Recorded, Sale, SalesRecord};

/// Maximum number of sales per transaction. All of them wait for its commit, and it holds their row locks until then.
const MAX_BATCH: usize = 1000;

/// Attempts to take an order whose counters are rebuilt meanwhile.
const ATTEMPTS: usize = 4;

/// Number of locks that requests with a key share, by hash: the second of two requests with the same key sees the result of
/// the first.
const KEY_LOCKS: usize = 1024;

/// The counters and the record of sales from them.
pub struct CounterSales {
    counters: Counters,
    sales_record: SalesRecord,
    record: Record,
    grouped: Option<Batcher<Sale, Result<Recorded, NotRecorded>>>,
    has_drift: AtomicBool,
    rebuilding: Mutex<()>,
    rebuilds: Arc<AtomicU64>,
    key_locks: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl CounterSales {
    /// Starts sales; with `record`, rebuilds the counters from the sales record first.
    ///
    /// # Errors
    /// A store fails during the rebuild.
    pub async fn open(
        counters: Counters,
        sales_record: SalesRecord,
        record: Record,
        metrics: &Metrics,
    ) -> Result<Self, Refusal> {
        let grouped = (record == Record::Grouped).then(|| {
            let sales_record = sales_record.clone();
            Batcher::start(MAX_BATCH, Arc::clone(&metrics.record_batches), move |sales: Vec<Sale>| {
                let sales_record = sales_record.clone();
                async move { sales_record.record_all(&sales).await }
            })
        });
        let counter_sales = Self {
            counters,
            sales_record,
            record,
            grouped,
            has_drift: AtomicBool::new(false),
            rebuilding: Mutex::new(()),
            rebuilds: Arc::clone(&metrics.rebuilds),
            key_locks: (0..KEY_LOCKS).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::new(),
        };
        if record != Record::None {
            counter_sales.rebuild(0).await?;
        }
        Ok(counter_sales)
    }

    /// Sells an order without a payment deadline.
    ///
    /// # Errors
    /// Not enough tickets are left; the key was used for another order; a store fails, and the order may have been sold.
    pub async fn sell(&self, script: RedisScript, request: &OrderRequest) -> Result<(), Refusal> {
        if self.record == Record::None {
            return match self.counters.take(script, request).await {
                Ok(_) => Ok(()),
                Err(NotTaken::Refused(refusal) | NotTaken::Unknown(refusal)) => Err(refusal.into()),
                Err(NotTaken::Stale(_)) => Err(Refusal::RebuiltTooOften),
            };
        }
        self.sell_on_record(script, request, None).await.map(|_| ())
    }

    /// Holds tickets for an order that must be paid within `seconds`. None if an earlier request with its key opened it.
    ///
    /// # Errors
    /// Those of [`Self::sell`].
    pub async fn hold(
        &self,
        script: RedisScript,
        request: &OrderRequest,
        seconds: u32,
    ) -> Result<Option<Booking>, Refusal> {
        match self.sell_on_record(script, request, Some(seconds)).await? {
            Recorded::Sold(booking) => Ok(booking),
            Recorded::AlreadySold => Ok(None),
        }
    }

    /// Adds tickets back to counters of that epoch, after their release was committed.
    pub async fn give_back<'a>(&self, epoch: i64, lines: impl Iterator<Item = (&'a str, i64)>) {
        let drift_guard = DriftGuard(self);
        match self.counters.give_back(epoch, lines).await {
            Ok(()) => drift_guard.disarm(),
            Err(problem) => tracing::warn!(reason = %problem, "tickets are not back in Redis yet"),
        }
    }

    /// A guard for the time in which record and counters differ.
    pub fn drift_guard(&self) -> DriftGuard<'_> {
        DriftGuard(self)
    }

    /// Rebuilds the counters if they may be wrong; returns whether it did.
    ///
    /// # Errors
    /// A store fails; the counters may still be wrong.
    pub async fn rebuild_if_drifted(&self) -> Result<bool, Refusal> {
        if self.record == Record::None || !self.has_drift.load(Ordering::Acquire) {
            return Ok(false);
        }
        self.rebuild(self.counters.epoch()).await.map(|()| true)
    }

    /// Checks that Redis responds.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn ping(&self) -> Result<(), Refusal> {
        Ok(self.counters.ping().await?)
    }

    async fn sell_on_record(
        &self,
        script: RedisScript,
        request: &OrderRequest,
        open_for: Option<u32>,
    ) -> Result<Recorded, Refusal> {
        let _key_guard = match &request.idempotency {
            Some(idempotency) => Some(self.key_lock(&idempotency.key).lock().await),
            None => None,
        };
        if self.sales_record.was_sold(request).await? {
            return Ok(Recorded::AlreadySold);
        }
        // Redis does not store the key: PostgreSQL does, atomically with the sale.
        let keyless = OrderRequest { order: Arc::clone(&request.order), idempotency: None };
        for _ in 0..ATTEMPTS {
            let seen = self.counters.epoch();
            let epoch = match self.take(script, &keyless).await {
                Ok(epoch) => epoch,
                Err(NotTaken::Stale(there)) => {
                    self.refresh_epoch(seen, there).await?;
                    continue;
                }
                Err(NotTaken::Refused(refusal) | NotTaken::Unknown(refusal)) => return Err(refusal.into()),
            };
            match self.record_sale(Sale { request: request.clone(), epoch, open_for }).await {
                Err(NotRecorded::Stale) => self.refresh_epoch(epoch, 0).await?,
                Ok(kept) => return Ok(kept),
                Err(NotRecorded::NotEnoughLeft(id)) => return Err(Refusal::NotEnoughLeft(id)),
                Err(NotRecorded::Reused) => return Err(Refusal::KeyReused),
                Err(NotRecorded::RolledBack(refusal) | NotRecorded::Unknown(refusal)) => {
                    return Err(refusal.into());
                }
            }
        }
        Err(Refusal::RebuiltTooOften)
    }

    async fn take(&self, script: RedisScript, request: &OrderRequest) -> Result<i64, NotTaken> {
        // If the request is cancelled now, taken tickets may belong to no order.
        let drift_guard = DriftGuard(self);
        let taken = self.counters.take(script, request).await;
        match &taken {
            Err(NotTaken::Unknown(_)) => {}
            // A rebuild restores a counter that Redis evicted.
            Err(NotTaken::Refused(refusal)) if matches!(**refusal, Refusal::NoCounter(_)) => {}
            _ => drift_guard.disarm(),
        }
        taken
    }

    /// Records a taken order. Returns its tickets to the counters if it is certainly not recorded.
    async fn record_sale(&self, sale: Sale) -> Result<Recorded, NotRecorded> {
        let drift_guard = DriftGuard(self);
        let (epoch, order) = (sale.epoch, Arc::clone(&sale.request.order));
        let result = match &self.grouped {
            None => self.sales_record.record_all(&[sale]).await.pop(),
            Some(batcher) => batcher.submit(sale).await,
        };
        let result = result.unwrap_or_else(|| Err(NotRecorded::Unknown(Arc::new(Refusal::Stopping))));
        match &result {
            // Stale: the rebuilt counters include the tickets again.
            Ok(Recorded::Sold(_)) | Err(NotRecorded::Stale) => drift_guard.disarm(),
            Ok(Recorded::AlreadySold) | Err(NotRecorded::Reused | NotRecorded::RolledBack(_)) => {
                drift_guard.disarm();
                self.give_back(epoch, order.lines().map(|(id, count)| (id, count.into()))).await;
            }
            // The counter was too high, or the outcome is unknown: a rebuild corrects both.
            Err(NotRecorded::NotEnoughLeft(_) | NotRecorded::Unknown(_)) => {}
        }
        result
    }

    /// Adopts the counters that another process rebuilt, or else rebuilds them.
    async fn refresh_epoch(&self, seen: i64, there: i64) -> Result<(), Refusal> {
        if there > seen {
            self.counters.adopt(there);
            return Ok(());
        }
        self.rebuild(seen).await
    }

    /// Sets the counters from the sales record, unless they were rebuilt since `seen` was the epoch.
    async fn rebuild(&self, seen: i64) -> Result<(), Refusal> {
        let _one_at_a_time = self.rebuilding.lock().await;
        if self.counters.epoch() != seen {
            return Ok(());
        }
        // Before the record is read: this rebuild may miss any later drift.
        self.has_drift.store(false, Ordering::Release);
        let drift_guard = DriftGuard(self);
        let (epoch, left) = self.sales_record.next_epoch().await?;
        self.counters.set_all(epoch, &left).await?;
        drift_guard.disarm();
        self.rebuilds.fetch_add(1, Ordering::Relaxed);
        tracing::info!(epoch, "counters rebuilt from the record");
        Ok(())
    }

    fn key_lock(&self, key: &str) -> &Mutex<()> {
        let index = self.hasher.hash_one(key) % self.key_locks.len() as u64;
        &self.key_locks[index as usize]
    }
}

/// Guards a change to both Redis and PostgreSQL. If it is dropped armed, after an error or because the request was cancelled, it
/// marks the counters as possibly wrong.
pub struct DriftGuard<'a>(&'a CounterSales);

impl DriftGuard<'_> {
    /// Both stores agree again.
    pub fn disarm(self) {
        std::mem::forget(self);
    }
}

impl Drop for DriftGuard<'_> {
    fn drop(&mut self) {
        self.0.has_drift.store(true, Ordering::Release);
    }
}
