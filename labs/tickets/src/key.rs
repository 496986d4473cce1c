//! Idempotency keys in PostgreSQL: kept in the transaction that sells, so that a key is there exactly if its order is.
//!
//! Does not commit.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Pool, Transaction};

use crate::once::Once;
use crate::refusal::Refusal;

// Waits while another transaction with the same key is not decided. In order of key: two transactions with the same keys
// wait for each other instead of dead-locking. A key that comes twice is returned once.
const KEEP: &str = "INSERT INTO idempotency_keys (key, request) \
                    SELECT key, request FROM unnest($1::text[], $2::text[]) AS wanted (key, request) ORDER BY key \
                    ON CONFLICT DO NOTHING RETURNING key";
const KEPT: &str = "SELECT key, request FROM idempotency_keys WHERE key = ANY($1::text[])";
const DROP: &str = "DELETE FROM idempotency_keys WHERE key = ANY($1::text[])";
const FORGET: &str = "DELETE FROM idempotency_keys WHERE made_at < now() - $1::bigint * interval '1 second'";

/// What a key says about its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no key, or it was not used before and this transaction keeps it.
    New,
    /// This order was sold before, or by an earlier request of the same batch, if that one is sold.
    Repeated,
    /// The key was used for another order.
    Reused,
}

/// Keeps the keys of all requests; says in their order what became of each.
///
/// # Errors
/// PostgreSQL fails.
pub async fn keep_all(
    transaction: &Transaction<'_>,
    requests: &[Option<&Once>],
) -> Result<Vec<Standing>, Refusal> {
    let keyed: Vec<&Once> = requests.iter().copied().flatten().collect();
    if keyed.is_empty() {
        return Ok(vec![Standing::New; requests.len()]);
    }
    let keys: Vec<&str> = keyed.iter().map(|once| once.key.as_str()).collect();
    let texts: Vec<&str> = keyed.iter().map(|once| once.request.as_str()).collect();
    let keep = transaction.prepare_cached(KEEP).await?;
    let rows = transaction.query(&keep, &[&keys, &texts]).await?;
    let mut fresh: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    if fresh.len() == keyed.len() {
        return Ok(vec![Standing::New; requests.len()]);
    }
    let kept = transaction.prepare_cached(KEPT).await?;
    let rows = transaction.query(&kept, &[&keys]).await?;
    let kept: HashMap<&str, &str> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    requests
        .iter()
        .map(|once| match once {
            None => Ok(Standing::New),
            Some(once) => match kept.get(once.key.as_str()) {
                Some(text) if *text != once.request => Ok(Standing::Reused),
                Some(_) if fresh.remove(once.key.as_str()) => Ok(Standing::New),
                Some(_) => Ok(Standing::Repeated),
                // Forgotten between the two statements.
                None => Err(Refusal::Postgres("an idempotency key grew too old just now".to_owned())),
            },
        })
        .collect()
}

/// Whether the request was sold by an earlier transaction. If not, this one keeps its key.
///
/// # Errors
/// The key was used for another order; PostgreSQL fails.
pub async fn is_done(transaction: &Transaction<'_>, once: Option<&Once>) -> Result<bool, Refusal> {
    if once.is_none() {
        return Ok(false);
    }
    match keep_all(transaction, &[once]).await?[..] {
        [Standing::New] => Ok(false),
        [Standing::Reused] => Err(Refusal::KeyReused),
        _ => Ok(true),
    }
}

/// Whether a request was sold before, without keeping anything.
///
/// # Errors
/// The key was used for another order; PostgreSQL fails.
pub async fn was_sold(pool: &Pool, once: &Once) -> Result<bool, Refusal> {
    let client = pool.get().await?;
    let kept = client.prepare_cached(KEPT).await?;
    match client.query_opt(&kept, &[&[once.key.as_str()].as_slice()]).await? {
        None => Ok(false),
        Some(row) if row.get::<_, &str>(1) == once.request => Ok(true),
        Some(_) => Err(Refusal::KeyReused),
    }
}

/// Takes back keys that this transaction kept for orders that it refuses: they may be tried again.
///
/// # Errors
/// PostgreSQL fails.
pub async fn drop_all(transaction: &Transaction<'_>, keys: &[&str]) -> Result<(), Refusal> {
    if !keys.is_empty() {
        let statement = transaction.prepare_cached(DROP).await?;
        transaction.execute(&statement, &[&keys]).await?;
    }
    Ok(())
}

/// Forgets keys that are older than so many seconds.
///
/// # Errors
/// PostgreSQL fails.
pub async fn forget(pool: &Pool, key_age: u32) -> Result<u64, Refusal> {
    Ok(pool.get().await?.execute(FORGET, &[&i64::from(key_age)]).await?)
}
