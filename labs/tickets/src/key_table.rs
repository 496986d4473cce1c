//! Idempotency keys in PostgreSQL: stored in the transaction of the sale, so that a key exists exactly if its order does.
//!
//! Does not commit.

use std::collections::{HashMap, HashSet};

use deadpool_postgres::{Pool, Transaction};

use crate::idempotency::IdempotencyKey;
use crate::refusal::Refusal;

// Waits for the end of another transaction with the same key. Sorted by key, so that two transactions with the same keys cannot
// deadlock. A key that occurs twice is returned once.
const INSERT: &str = "INSERT INTO idempotency_keys (key, request) \
                    SELECT key, request FROM unnest($1::text[], $2::text[]) AS wanted (key, request) ORDER BY key \
                    ON CONFLICT DO NOTHING RETURNING key";
const SELECT: &str = "SELECT key, request FROM idempotency_keys WHERE key = ANY($1::text[])";
const DELETE: &str = "DELETE FROM idempotency_keys WHERE key = ANY($1::text[])";
const DELETE_EXPIRED: &str =
    "DELETE FROM idempotency_keys WHERE made_at < now() - $1::bigint * interval '1 second'";

/// State of a key when its request arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyState {
    /// The request has no key, or an unused one, which this transaction stores.
    New,
    /// This order was sold before, or is sold by an earlier request of the same batch unless that one is refused.
    Repeated,
    /// The key was used for another order.
    Reused,
}

/// Stores the keys of all requests. Returns the state of each, in the order of the requests.
///
/// # Errors
/// PostgreSQL fails.
pub async fn insert_all(
    transaction: &Transaction<'_>,
    requests: &[Option<&IdempotencyKey>],
) -> Result<Vec<KeyState>, Refusal> {
    let keyed: Vec<&IdempotencyKey> = requests.iter().copied().flatten().collect();
    if keyed.is_empty() {
        return Ok(vec![KeyState::New; requests.len()]);
    }
    let keys: Vec<&str> = keyed.iter().map(|idempotency| idempotency.key.as_str()).collect();
    let bodies: Vec<&str> = keyed.iter().map(|idempotency| idempotency.request.as_str()).collect();
    let insert = transaction.prepare_cached(INSERT).await?;
    let rows = transaction.query(&insert, &[&keys, &bodies]).await?;
    let mut new_keys: HashSet<&str> = rows.iter().map(|row| row.get(0)).collect();
    if new_keys.len() == keyed.len() {
        return Ok(vec![KeyState::New; requests.len()]);
    }
    let existing = transaction.prepare_cached(SELECT).await?;
    let rows = transaction.query(&existing, &[&keys]).await?;
    let existing: HashMap<&str, &str> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    requests
        .iter()
        .map(|idempotency| match idempotency {
            None => Ok(KeyState::New),
            Some(idempotency) => match existing.get(idempotency.key.as_str()) {
                Some(text) if *text != idempotency.request => Ok(KeyState::Reused),
                Some(_) if new_keys.remove(idempotency.key.as_str()) => Ok(KeyState::New),
                Some(_) => Ok(KeyState::Repeated),
                // Deleted as expired between the two statements.
                None => Err(Refusal::Postgres("an idempotency key grew too old just now".to_owned())),
            },
        })
        .collect()
}

/// Whether an earlier transaction sold the request. If not, this one stores its key.
///
/// # Errors
/// The key was used for another order; PostgreSQL fails.
pub async fn is_repeated(
    transaction: &Transaction<'_>,
    idempotency: Option<&IdempotencyKey>,
) -> Result<bool, Refusal> {
    if idempotency.is_none() {
        return Ok(false);
    }
    match insert_all(transaction, &[idempotency]).await?[..] {
        [KeyState::New] => Ok(false),
        [KeyState::Reused] => Err(Refusal::KeyReused),
        _ => Ok(true),
    }
}

/// Whether a request was sold before. Stores nothing.
///
/// # Errors
/// The key was used for another order; PostgreSQL fails.
pub async fn was_sold(pool: &Pool, idempotency: &IdempotencyKey) -> Result<bool, Refusal> {
    let client = pool.get().await?;
    let existing = client.prepare_cached(SELECT).await?;
    match client.query_opt(&existing, &[&[idempotency.key.as_str()].as_slice()]).await? {
        None => Ok(false),
        Some(row) if row.get::<_, &str>(1) == idempotency.request => Ok(true),
        Some(_) => Err(Refusal::KeyReused),
    }
}

/// Deletes keys that this transaction stored for orders it refuses, so that clients can repeat them.
///
/// # Errors
/// PostgreSQL fails.
pub async fn delete_all(transaction: &Transaction<'_>, keys: &[&str]) -> Result<(), Refusal> {
    if !keys.is_empty() {
        let statement = transaction.prepare_cached(DELETE).await?;
        transaction.execute(&statement, &[&keys]).await?;
    }
    Ok(())
}

/// Deletes keys older than `key_age` seconds. Returns their number.
///
/// # Errors
/// PostgreSQL fails.
pub async fn delete_expired(pool: &Pool, key_age: u32) -> Result<u64, Refusal> {
    Ok(pool.get().await?.execute(DELETE_EXPIRED, &[&i64::from(key_age)]).await?)
}
