//! The record in PostgreSQL of what Redis sold: a sale is done when it is committed here, and not before.
//!
//! Does not talk to Redis. How both stay together is the work of `till`.
//!
//! A transaction that records or releases sales holds the row of the epoch in share mode; the rebuild of the counters takes
//! it for itself. So what a rebuild reads as sold is all that was sold in earlier epochs, and what was taken from counters of
//! an earlier epoch can no longer be recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use deadpool_postgres::{Pool, Transaction};

use crate::booking::{self, Booking};
use crate::key::{self, Standing};
use crate::order::{Order, Wanted};
use crate::refusal::Refusal;

const EPOCH: &str = "SELECT epoch FROM stock_epoch FOR SHARE";
const NEXT_EPOCH: &str = "UPDATE stock_epoch SET epoch = epoch + 1 RETURNING epoch";
const LEFT: &str = "SELECT ticket_id, stock - sold FROM counters";
// In order of ticket: transactions wait for each other instead of dead-locking.
const LOCK: &str = "SELECT ticket_id, stock - sold FROM counters WHERE ticket_id = ANY($1::text[]) \
                    ORDER BY ticket_id FOR NO KEY UPDATE";
const COUNT: &str = "UPDATE counters SET sold = sold + more.count \
                     FROM unnest($1::text[], $2::int[]) AS more (ticket_id, count) \
                     WHERE counters.ticket_id = more.ticket_id";
const SELL: &str = "INSERT INTO sales (ticket_id, count, order_id) \
                    SELECT * FROM unnest($1::text[], $2::int[], $3::text[])";
const RETURNED: &str =
    "SELECT ticket_id, sum(count)::int FROM sales WHERE order_id = ANY($1::text[]) GROUP BY 1";

/// Tickets taken from a counter, to be recorded.
#[derive(Debug, Clone)]
pub struct Sale {
    /// What was taken.
    pub wanted: Wanted,
    /// The epoch of the counters it was taken from.
    pub epoch: i64,
    /// Seconds in which it has to be paid; none for a sale that is final at once.
    pub open_for: Option<u32>,
}

/// What is on record.
#[derive(Debug, Clone)]
pub enum Kept {
    /// This sale, with its order when it has to be paid.
    Sold(Option<Booking>),
    /// An earlier request with the same key: this one sold nothing.
    Before,
}

/// Why a sale is not on record.
#[derive(Debug, Clone)]
pub enum Unsold {
    /// The counters were rebuilt since: what was taken is back, and has to be taken again.
    Stale,
    /// Not so many are left of this ticket, whatever its counter said.
    Short(String),
    /// The key was used for another order.
    Reused,
    /// PostgreSQL failed, and nothing is on record.
    Undone(Arc<Refusal>),
    /// PostgreSQL failed while it committed: whether it is on record is not known.
    Unknown(Arc<Refusal>),
}

type Entry = Result<Kept, Unsold>;

/// The tables `counters` and `sales`.
#[derive(Clone)]
pub struct Ledger {
    pool: Pool,
}

impl Ledger {
    /// Records through a pool.
    pub fn new(pool: Pool) -> Self {
        Self { pool }
    }

    /// Records sales in one transaction; says of each, in their order, what became of it.
    pub async fn keep_all(&self, sales: &[Sale]) -> Vec<Entry> {
        let undone = |problem: Refusal| vec![Err(Unsold::Undone(Arc::new(problem))); sales.len()];
        let mut client = match self.pool.get().await {
            Ok(client) => client,
            Err(problem) => return undone(problem.into()),
        };
        let transaction = match client.transaction().await {
            Ok(transaction) => transaction,
            Err(problem) => return undone(problem.into()),
        };
        let entries = match write(&transaction, sales).await {
            Ok(entries) => entries,
            Err(problem) => return undone(problem),
        };
        let Err(problem) = transaction.commit().await else { return entries };
        let problem = Arc::new(Refusal::from(problem));
        let lost = |entry| match entry {
            // What was not written may be told all the same.
            Err(unsold) => Err(unsold),
            Ok(_) => Err(Unsold::Unknown(Arc::clone(&problem))),
        };
        entries.into_iter().map(lost).collect()
    }

    /// Whether a request was sold before.
    ///
    /// # Errors
    /// Its key was used for another order; PostgreSQL fails.
    pub async fn was_sold(&self, wanted: &Wanted) -> Result<bool, Refusal> {
        match &wanted.once {
            None => Ok(false),
            Some(once) => key::was_sold(&self.pool, once).await,
        }
    }

    /// Begins a new epoch: its number, and what is left of each ticket at its start.
    ///
    /// # Errors
    /// PostgreSQL fails; a number may have been passed over.
    pub async fn next_epoch(&self) -> Result<(i64, Vec<(String, i32)>), Refusal> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        let epoch = transaction.query_one(NEXT_EPOCH, &[]).await?.get(0);
        // A statement of its own sees all that was recorded while the first one waited.
        let rows = transaction.query(LEFT, &[]).await?;
        transaction.commit().await?;
        Ok((epoch, rows.iter().map(|row| (row.get(0), row.get(1))).collect()))
    }
}

/// The epoch, which stays the same until this transaction ends.
pub(crate) async fn hold_epoch(transaction: &Transaction<'_>) -> Result<i64, Refusal> {
    let epoch = transaction.prepare_cached(EPOCH).await?;
    Ok(transaction.query_one(&epoch, &[]).await?.get(0))
}

/// Takes released orders off the books; says what they held of each ticket.
pub(crate) async fn take_back(
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

async fn write(transaction: &Transaction<'_>, sales: &[Sale]) -> Result<Vec<Entry>, Refusal> {
    let epoch = hold_epoch(transaction).await?;
    // Keys of stale sales are not touched: they come again.
    let live: Vec<&Sale> = sales.iter().filter(|sale| sale.epoch == epoch).collect();
    let requests: Vec<_> = live.iter().map(|sale| sale.wanted.once.as_deref()).collect();
    let standings = key::keep_all(transaction, &requests).await?;
    let ids: HashSet<&str> =
        live.iter().flat_map(|sale| sale.wanted.order.lines()).map(|(id, _)| id).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    let left = lock(transaction, &ids).await?;
    let verdicts = judge(&live, &standings, left);
    let refused: Vec<&str> = verdicts
        .iter()
        .zip(&live)
        .filter(|(verdict, _)| matches!(verdict, Verdict::Short(_)))
        .filter_map(|(_, sale)| sale.wanted.once.as_ref().map(|once| once.key.as_str()))
        .collect();
    key::drop_all(transaction, &refused).await?;
    let sold: Vec<&Sale> = live
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| **verdict == Verdict::Sell)
        .map(|(sale, _)| *sale)
        .collect();
    let mut bookings = sell(transaction, &sold).await?.into_iter();
    let mut verdicts = verdicts.into_iter();
    let entry = |sale: &Sale| {
        if sale.epoch != epoch {
            return Err(Unsold::Stale);
        }
        match verdicts.next() {
            Some(Verdict::Sell) => Ok(Kept::Sold(bookings.next().flatten())),
            Some(Verdict::Repeat) => Ok(Kept::Before),
            Some(Verdict::Reused) => Err(Unsold::Reused),
            Some(Verdict::Short(id)) => Err(Unsold::Short(id)),
            None => Err(Unsold::Stale),
        }
    };
    Ok(sales.iter().map(entry).collect())
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Sell,
    Repeat,
    Reused,
    Short(String),
}

/// Who gets what is left, in the order of the sales, each all or none.
fn judge(sales: &[&Sale], standings: &[Standing], mut left: HashMap<String, i32>) -> Vec<Verdict> {
    let mut refused: HashMap<&str, String> = HashMap::new();
    let mut verdicts = Vec::with_capacity(sales.len());
    for (sale, standing) in sales.iter().zip(standings) {
        let order = &sale.wanted.order;
        let key = sale.wanted.once.as_ref().map(|once| once.key.as_str());
        let verdict = match standing {
            Standing::Reused => Verdict::Reused,
            Standing::Repeated => match key.and_then(|key| refused.get(key)) {
                // The first of both was refused just now, so the second one is.
                Some(id) => Verdict::Short(id.clone()),
                None => Verdict::Repeat,
            },
            Standing::New => match take(&mut left, order) {
                Ok(()) => Verdict::Sell,
                Err(id) => {
                    refused.extend(key.map(|key| (key, id.clone())));
                    Verdict::Short(id)
                }
            },
        };
        verdicts.push(verdict);
    }
    verdicts
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

/// Writes down sales that there is stock for; gives each its order, if it is to have one.
async fn sell(transaction: &Transaction<'_>, sales: &[&Sale]) -> Result<Vec<Option<Booking>>, Refusal> {
    if sales.is_empty() {
        return Ok(Vec::new());
    }
    let bookings = booking::open_all(transaction, sales).await?;
    let (mut ids, mut counts, mut orders) = (Vec::new(), Vec::new(), Vec::new());
    let mut sums: BTreeMap<&str, i32> = BTreeMap::new();
    for (sale, booking) in sales.iter().zip(&bookings) {
        for (id, count) in sale.wanted.order.lines() {
            ids.push(id);
            counts.push(count);
            orders.push(booking.as_ref().map(|booking| booking.id.as_str()));
            *sums.entry(id).or_default() += count;
        }
    }
    count(transaction, &sums.into_iter().collect::<Vec<_>>()).await?;
    let sell = transaction.prepare_cached(SELL).await?;
    transaction.execute(&sell, &[&ids, &counts, &orders]).await?;
    Ok(bookings)
}

async fn lock(transaction: &Transaction<'_>, ids: &[&str]) -> Result<HashMap<String, i32>, Refusal> {
    let lock = transaction.prepare_cached(LOCK).await?;
    let rows = transaction.query(&lock, &[&ids]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn count(transaction: &Transaction<'_>, more: &[(&str, i32)]) -> Result<(), Refusal> {
    let (ids, counts): (Vec<&str>, Vec<i32>) = more.iter().copied().unzip();
    let count = transaction.prepare_cached(COUNT).await?;
    transaction.execute(&count, &[&ids, &counts]).await?;
    Ok(())
}
