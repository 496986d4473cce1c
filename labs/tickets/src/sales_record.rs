//! The record in PostgreSQL of sales from Redis: a sale is final once it is committed here.
//!
//! Does not talk to Redis; `counter_sales` keeps both stores consistent.
//!
//! A transaction that records or releases sales locks the epoch row in share mode; a rebuild of the counters locks it
//! exclusively. So a rebuild sees all sales of earlier epochs, and orders taken from counters of an earlier epoch can no
//! longer be recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{Pool, Transaction};

use crate::booking::{self, Booking};
use crate::key_table::{self, KeyState};
use crate::order::{Order, OrderRequest};
use crate::refusal::Refusal;

const LOCK_EPOCH: &str = "SELECT epoch FROM stock_epoch FOR SHARE";
const NEXT_EPOCH: &str = "UPDATE stock_epoch SET epoch = epoch + 1 RETURNING epoch";
const LEFT: &str = "SELECT ticket_id, stock - sold FROM counters";
// Sorted by ticket, so that transactions cannot deadlock.
const LOCK_STOCK: &str = "SELECT ticket_id, stock - sold FROM counters WHERE ticket_id = ANY($1::text[]) \
                    ORDER BY ticket_id FOR NO KEY UPDATE";
const ADD_SOLD: &str = "UPDATE counters SET sold = sold + more.count \
                     FROM unnest($1::text[], $2::int[]) AS more (ticket_id, count) \
                     WHERE counters.ticket_id = more.ticket_id";
const INSERT_SALES: &str = "INSERT INTO sales (ticket_id, count, order_id) \
                    SELECT * FROM unnest($1::text[], $2::int[], $3::text[])";
const RETURNED: &str =
    "SELECT ticket_id, sum(count)::int FROM sales WHERE order_id = ANY($1::text[]) GROUP BY 1";

/// Tickets taken from counters, to be recorded.
#[derive(Debug, Clone)]
pub struct Sale {
    /// The order that was taken.
    pub request: OrderRequest,
    /// The epoch of the counters.
    pub epoch: i64,
    /// Payment deadline, in seconds. None for an immediate sale.
    pub open_for: Option<u32>,
}

/// A recorded sale.
#[derive(Debug, Clone)]
pub enum Recorded {
    /// This sale, with its booking if it must be paid.
    Sold(Option<Booking>),
    /// The sale of an earlier request with the same key: this one sold nothing.
    AlreadySold,
}

/// Reason why a sale is not recorded.
#[derive(Debug, Clone)]
pub enum NotRecorded {
    /// The counters were rebuilt since and include the tickets again: the order must be taken again.
    Stale,
    /// Too few of this ticket are left, whatever its counter said.
    NotEnoughLeft(String),
    /// The key was used for another order.
    Reused,
    /// PostgreSQL failed; nothing is recorded.
    RolledBack(Arc<Refusal>),
    /// PostgreSQL failed during the commit: the sale may be recorded.
    Unknown(Arc<Refusal>),
}

type RecordResult = Result<Recorded, NotRecorded>;

/// The tables `counters` and `sales`.
#[derive(Clone)]
pub struct SalesRecord {
    pool: Pool,
}

impl SalesRecord {
    /// Records through a pool.
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Records sales in one transaction. Returns one result per sale, in the same order.
    pub async fn record_all(&self, sales: &[Sale]) -> Vec<RecordResult> {
        let rolled_back =
            |problem: Refusal| vec![Err(NotRecorded::RolledBack(Arc::new(problem))); sales.len()];
        let mut client = match self.pool.get().await {
            Ok(client) => client,
            Err(problem) => return rolled_back(problem.into()),
        };
        let transaction = match client.transaction().await {
            Ok(transaction) => transaction,
            Err(problem) => return rolled_back(problem.into()),
        };
        let results = match write(&transaction, sales).await {
            Ok(results) => results,
            Err(problem) => return rolled_back(problem),
        };
        let Err(problem) = transaction.commit().await else { return results };
        let problem = Arc::new(Refusal::from(problem));
        let uncertain = |result| match result {
            // The reason for a sale that was not written remains valid.
            Err(not_recorded) => Err(not_recorded),
            Ok(_) => Err(NotRecorded::Unknown(Arc::clone(&problem))),
        };
        results.into_iter().map(uncertain).collect()
    }

    /// Whether a request was sold before.
    ///
    /// # Errors
    /// Its key was used for another order; PostgreSQL fails.
    pub async fn was_sold(&self, request: &OrderRequest) -> Result<bool, Refusal> {
        match &request.idempotency {
            None => Ok(false),
            Some(idempotency) => key_table::was_sold(&self.pool, idempotency).await,
        }
    }

    /// Starts a new epoch. Returns its number and the remaining stock of each ticket.
    ///
    /// # Errors
    /// PostgreSQL fails; an epoch number may be skipped.
    pub async fn next_epoch(&self) -> Result<(i64, Vec<(String, i32)>), Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        let epoch = transaction.query_one(NEXT_EPOCH, &[]).await?.get(0);
        // A separate statement sees all sales that were recorded while the first one waited.
        let rows = transaction.query(LEFT, &[]).await?;
        transaction.commit().await?;
        Ok((epoch, rows.iter().map(|row| (row.get(0), row.get(1))).collect()))
    }
}

/// Reads the epoch and locks it until this transaction ends.
pub(crate) async fn lock_epoch(transaction: &Transaction<'_>) -> Result<i64, Refusal> {
    let epoch = transaction.prepare_cached(LOCK_EPOCH).await?;
    Ok(transaction.query_one(&epoch, &[]).await?.get(0))
}

/// Releases the sales of orders. Returns the count per ticket.
pub(crate) async fn release_sales(
    transaction: &Transaction<'_>,
    orders: &[String],
) -> Result<BTreeMap<String, i32>, Refusal> {
    let returned = transaction.prepare_cached(RETURNED).await?;
    let rows = transaction.query(&returned, &[&orders]).await?;
    let lines: BTreeMap<String, i32> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if !lines.is_empty() {
        let ids: Vec<&str> = lines.keys().map(String::as_str).collect();
        lock(transaction, &ids).await?;
        let back: Vec<(&str, i32)> = lines.iter().map(|(id, count)| (id.as_str(), -count)).collect();
        count(transaction, &back).await?;
    }
    Ok(lines)
}

async fn write(transaction: &Transaction<'_>, sales: &[Sale]) -> Result<Vec<RecordResult>, Refusal> {
    let epoch = lock_epoch(transaction).await?;
    // Keys of stale sales are not stored: those sales are repeated.
    let live: Vec<&Sale> = sales.iter().filter(|sale| sale.epoch == epoch).collect();
    let requests: Vec<_> = live.iter().map(|sale| sale.request.idempotency.as_deref()).collect();
    let key_states = key_table::insert_all(transaction, &requests).await?;
    let ids: HashSet<&str> =
        live.iter().flat_map(|sale| sale.request.order.lines()).map(|(id, _)| id).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let left = lock(transaction, &ids).await?;
    let decisions = decide(&live, &key_states, left);
    let refused: Vec<&str> = decisions
        .iter()
        .zip(&live)
        .filter(|(decision, _)| matches!(decision, Decision::NotEnoughLeft(_)))
        .filter_map(|(_, sale)| sale.request.idempotency.as_ref().map(|idempotency| idempotency.key.as_str()))
        .collect();
    key_table::delete_all(transaction, &refused).await?;
    let sold: Vec<&Sale> = live
        .iter()
        .zip(&decisions)
        .filter(|(_, decision)| **decision == Decision::Sell)
        .map(|(sale, _)| *sale)
        .collect();
    let mut bookings = sell(transaction, &sold).await?.into_iter();
    let mut decisions = decisions.into_iter();
    let result_of = |sale: &Sale| {
        if sale.epoch != epoch {
            return Err(NotRecorded::Stale);
        }
        match decisions.next() {
            Some(Decision::Sell) => Ok(Recorded::Sold(bookings.next().flatten())),
            Some(Decision::Repeat) => Ok(Recorded::AlreadySold),
            Some(Decision::Reused) => Err(NotRecorded::Reused),
            Some(Decision::NotEnoughLeft(id)) => Err(NotRecorded::NotEnoughLeft(id)),
            None => Err(NotRecorded::Stale),
        }
    };
    Ok(sales.iter().map(result_of).collect())
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Sell,
    Repeat,
    Reused,
    NotEnoughLeft(String),
}

/// Assigns the remaining stock in the order of the sales, each entirely or not at all.
fn decide(sales: &[&Sale], key_states: &[KeyState], mut left: HashMap<String, i32>) -> Vec<Decision> {
    let mut refused: HashMap<&str, String> = HashMap::new();
    let mut decisions = Vec::with_capacity(sales.len());
    for (sale, key_state) in sales.iter().zip(key_states) {
        let order = &sale.request.order;
        let key = sale.request.idempotency.as_ref().map(|idempotency| idempotency.key.as_str());
        let decision = match key_state {
            KeyState::Reused => Decision::Reused,
            KeyState::Repeated => match key.and_then(|key| refused.get(key)) {
                // The first request with this key was refused in this batch, so this one is too.
                Some(id) => Decision::NotEnoughLeft(id.clone()),
                None => Decision::Repeat,
            },
            KeyState::New => match take(&mut left, order) {
                Ok(()) => Decision::Sell,
                Err(id) => {
                    refused.extend(key.map(|key| (key, id.clone())));
                    Decision::NotEnoughLeft(id)
                }
            },
        };
        decisions.push(decision);
    }
    decisions
}

fn take(left: &mut HashMap<String, i32>, order: &Order) -> Result<(), String> {
    if let Some((id, _)) = order.lines().find(|(id, count)| left.get(*id).is_none_or(|left| left < count)) {
        return Err(id.to_owned());
    }
    for (id, count) in order.lines() {
        if let Some(left) = left.get_mut(id) {
            *left -= count;
        }
    }
    Ok(())
}

/// Records sales that have stock. Returns a booking for each that must be paid.
async fn sell(transaction: &Transaction<'_>, sales: &[&Sale]) -> Result<Vec<Option<Booking>>, Refusal> {
    if sales.is_empty() {
        return Ok(Vec::new());
    }
    let bookings = booking::open_all(transaction, sales).await?;
    let (mut ids, mut counts, mut orders) = (Vec::new(), Vec::new(), Vec::new());
    let mut sums: BTreeMap<&str, i32> = BTreeMap::new();
    for (sale, booking) in sales.iter().zip(&bookings) {
        for (id, count) in sale.request.order.lines() {
            ids.push(id);
            counts.push(count);
            orders.push(booking.as_ref().map(|booking| booking.id.as_str()));
            *sums.entry(id).or_default() += count;
        }
    }
    count(transaction, &sums.into_iter().collect::<Vec<_>>()).await?;
    let sell = transaction.prepare_cached(INSERT_SALES).await?;
    transaction.execute(&sell, &[&ids, &counts, &orders]).await?;
    Ok(bookings)
}

async fn lock(transaction: &Transaction<'_>, ids: &[&str]) -> Result<HashMap<String, i32>, Refusal> {
    let lock = transaction.prepare_cached(LOCK_STOCK).await?;
    let rows = transaction.query(&lock, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn count(transaction: &Transaction<'_>, more: &[(&str, i32)]) -> Result<(), Refusal> {
    let (ids, counts): (Vec<&str>, Vec<i32>) = more.iter().copied().unzip();
    let count = transaction.prepare_cached(ADD_SOLD).await?;
    transaction.execute(&count, &[&ids, &counts]).await?;
    Ok(())
}
