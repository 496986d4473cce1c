//! Sells from the counters in Redis, and with `record` keeps in PostgreSQL what was sold before the buyer is told.
//!
//! Does not trust Redis. PostgreSQL is the truth, the counters are a fast guess at it:
//!
//! ```text
//! take from counter ──► record, commit ──► "Success"
//!        │ no answer          │ failed before the commit: given back
//!        ▼                    │ failed in the commit: nobody knows
//!      drift ◄────────────────┘
//!        └──► rebuild: a new epoch, and all counters set from what is on record
//! ```
//!
//! A sale is recorded only in the epoch whose counters it was taken from, and only if stock is left on record. So whoever is
//! killed at whatever moment, nothing is sold twice, and what was acknowledged is on record. What was taken and never
//! recorded is missing from the counter until the next rebuild: at the next start, or a second later when this process knows.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use crate::booking::Booking;
use crate::config::{Record, RedisScript};
use crate::counter::{Counters, Refused};
use crate::group::Group;
use crate::ledger::{Kept, Ledger, Sale, Unsold};
use crate::order::Wanted;
use crate::refusal::Refusal;

/// Most sales of one transaction: their buyers wait for one commit, and their locks for its end.
const MOST: usize = 1000;

/// How often an order is taken again because the counters were rebuilt meanwhile.
const ATTEMPTS: usize = 4;

/// Requests with a key take turns in so many lanes, by key: of two with the same one, the second sees what came of the first.
const LANES: usize = 1024;

/// The counters, and the record of what was sold from them.
pub struct Till {
    counters: Counters,
    ledger: Ledger,
    record: Record,
    grouped: Option<Group<Sale, Result<Kept, Unsold>>>,
    has_drift: AtomicBool,
    rebuilding: Mutex<()>,
    lanes: Vec<Mutex<()>>,
    hasher: RandomState,
}

impl Till {
    /// Opens the till; with `record`, the counters are rebuilt from what is on record.
    ///
    /// # Errors
    /// A store does not do its part of the rebuild.
    pub async fn open(counters: Counters, ledger: Ledger, record: Record) -> Result<Self, Refusal> {
        let grouped = (record == Record::Grouped).then(|| {
            let ledger = ledger.clone();
            Group::start(MOST, move |sales: Vec<Sale>| {
                let ledger = ledger.clone();
                async move { ledger.keep_all(&sales).await }
            })
        });
        let till = Self {
            counters,
            ledger,
            record,
            grouped,
            has_drift: AtomicBool::new(false),
            rebuilding: Mutex::new(()),
            lanes: (0..LANES).map(|_| Mutex::new(())).collect(),
            hasher: RandomState::new(),
        };
        if record != Record::None {
            till.rebuild(0).await?;
        }
        Ok(till)
    }

    /// Sells an order for good.
    ///
    /// # Errors
    /// Not enough is left; the key was used for another order; a store fails, and then it may have been sold.
    pub async fn sell(&self, script: RedisScript, wanted: &Wanted) -> Result<(), Refusal> {
        if self.record == Record::None {
            return match self.counters.take(script, wanted).await {
                Ok(_) => Ok(()),
                Err(Refused::Tell(refusal) | Refused::Unknown(refusal)) => Err(refusal.into()),
                Err(Refused::Stale(_)) => Err(Refusal::Restless),
            };
        }
        self.sell_on_record(script, wanted, None).await.map(|_| ())
    }

    /// Holds tickets for an order that has to be paid in so many seconds; none if the same request opened it before.
    ///
    /// # Errors
    /// As of `sell`.
    pub async fn hold(
        &self,
        script: RedisScript,
        wanted: &Wanted,
        seconds: u32,
    ) -> Result<Option<Booking>, Refusal> {
        match self.sell_on_record(script, wanted, Some(seconds)).await? {
            Kept::Sold(booking) => Ok(booking),
            Kept::Before => Ok(None),
        }
    }

    /// Gives tickets back to counters of that epoch, after they were taken off the books.
    pub async fn give_back<'a>(&self, epoch: i64, lines: impl Iterator<Item = (&'a str, i64)>) {
        let loose = Loose(self);
        match self.counters.give_back(epoch, lines).await {
            Ok(()) => loose.settle(),
            Err(problem) => tracing::warn!(reason = %problem, "tickets are not back in Redis yet"),
        }
    }

    /// For the time in which record and counters differ: see [`Loose`].
    pub fn loose(&self) -> Loose<'_> {
        Loose(self)
    }

    /// Rebuilds the counters if they may be wrong; says whether they were.
    ///
    /// # Errors
    /// A store fails; they still may be wrong.
    pub async fn correct(&self) -> Result<bool, Refusal> {
        if self.record == Record::None || !self.has_drift.load(Ordering::Acquire) {
            return Ok(false);
        }
        self.rebuild(self.counters.epoch()).await.map(|()| true)
    }

    /// Whether Redis answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Refusal> {
        Ok(self.counters.ping().await?)
    }

    async fn sell_on_record(
        &self,
        script: RedisScript,
        wanted: &Wanted,
        open_for: Option<u32>,
    ) -> Result<Kept, Refusal> {
        let _turn = match &wanted.once {
            Some(once) => Some(self.lane(&once.key).lock().await),
            None => None,
        };
        if self.ledger.was_sold(wanted).await? {
            return Ok(Kept::Before);
        }
        // Redis does not get to know the key: it is on record, with the sale or not at all.
        let keyless = Wanted { order: Arc::clone(&wanted.order), once: None };
        for _ in 0..ATTEMPTS {
            let seen = self.counters.epoch();
            let epoch = match self.take(script, &keyless).await {
                Ok(epoch) => epoch,
                Err(Refused::Stale(there)) => {
                    self.follow(seen, there).await?;
                    continue;
                }
                Err(Refused::Tell(refusal) | Refused::Unknown(refusal)) => return Err(refusal.into()),
            };
            match self.enter(Sale { wanted: wanted.clone(), epoch, open_for }).await {
                Err(Unsold::Stale) => self.follow(epoch, 0).await?,
                Ok(kept) => return Ok(kept),
                Err(Unsold::Short(id)) => return Err(Refusal::Short(id)),
                Err(Unsold::Reused) => return Err(Refusal::KeyReused),
                Err(Unsold::Undone(refusal) | Unsold::Unknown(refusal)) => return Err(refusal.into()),
            }
        }
        Err(Refusal::Restless)
    }

    async fn take(&self, script: RedisScript, wanted: &Wanted) -> Result<i64, Refused> {
        // A buyer who leaves now may leave tickets behind that nobody has.
        let loose = Loose(self);
        let taken = self.counters.take(script, wanted).await;
        match &taken {
            Err(Refused::Unknown(_)) => {}
            // A counter that Redis threw away comes back with a rebuild.
            Err(Refused::Tell(refusal)) if matches!(**refusal, Refusal::NoCounter(_)) => {}
            _ => loose.settle(),
        }
        taken
    }

    /// Records what was taken. What is certainly not on record goes back to its counter.
    async fn enter(&self, sale: Sale) -> Result<Kept, Unsold> {
        let loose = Loose(self);
        let (epoch, order) = (sale.epoch, Arc::clone(&sale.wanted.order));
        let entry = match &self.grouped {
            None => self.ledger.keep_all(&[sale]).await.pop(),
            Some(group) => group.join(sale).await,
        };
        let entry = entry.unwrap_or_else(|| Err(Unsold::Unknown(Arc::new(Refusal::Stopping))));
        match &entry {
            // In the last one the counters are of another epoch, and have what was taken back.
            Ok(Kept::Sold(_)) | Err(Unsold::Stale) => loose.settle(),
            Ok(Kept::Before) | Err(Unsold::Reused | Unsold::Undone(_)) => {
                loose.settle();
                self.give_back(epoch, order.lines().map(|(id, count)| (id, count.into()))).await;
            }
            // The counter promised more than there is, or nobody knows: a rebuild will tell.
            Err(Unsold::Short(_) | Unsold::Unknown(_)) => {}
        }
        entry
    }

    /// Goes on with the counters that Redis has, if another process rebuilt them, or else rebuilds them.
    async fn follow(&self, seen: i64, there: i64) -> Result<(), Refusal> {
        if there > seen {
            self.counters.adopt(there);
            return Ok(());
        }
        self.rebuild(seen).await
    }

    /// Sets the counters to what the record says is left, unless that was done since `seen` was the epoch.
    async fn rebuild(&self, seen: i64) -> Result<(), Refusal> {
        let _one_at_a_time = self.rebuilding.lock().await;
        if self.counters.epoch() != seen {
            return Ok(());
        }
        // First: what happens from here on may not be seen by this rebuild.
        self.has_drift.store(false, Ordering::Release);
        let loose = Loose(self);
        let (epoch, left) = self.ledger.next_epoch().await?;
        self.counters.stock(epoch, &left).await?;
        loose.settle();
        tracing::info!(epoch, "counters rebuilt from the record");
        Ok(())
    }

    fn lane(&self, key: &str) -> &Mutex<()> {
        let lane = self.hasher.hash_one(key) % self.lanes.len() as u64;
        &self.lanes[lane as usize]
    }
}

/// Something under way between Redis and PostgreSQL. Dropped before it is settled, by an error or because the buyer hung up
/// and the request was given up, it says that counters may be wrong.
pub struct Loose<'a>(&'a Till);

impl Loose<'_> {
    /// Both say the same again.
    pub fn settle(self) {
        std::mem::forget(self);
    }
}

impl Drop for Loose<'_> {
    fn drop(&mut self) {
        self.0.has_drift.store(true, Ordering::Release);
    }
}
