//! The back office: accounts, mails, reports, shelves and a feed, in PostgreSQL.
//!
//! Does not parse HTTP.

use std::future::pending;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::Row;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Placements per batch.
pub const BATCH: i64 = 400;

const ENTRY: &str = "INSERT INTO entries (account, amount) VALUES ($1, 1)";
/// Locks the row against changes, and against entries that refer to it.
const LOCK_KEY: &str = "SELECT balance FROM accounts WHERE id = $1 FOR UPDATE";
/// Locks the row against changes. Entries can refer to it, because its key does not change.
const LOCK: &str = "SELECT balance FROM accounts WHERE id = $1 FOR NO KEY UPDATE";
const CLOSE: &str = "UPDATE accounts SET balance = balance + 1 WHERE id = $1";

const TAKE: &str = "WITH taken AS (DELETE FROM mails WHERE id = \
                    (SELECT id FROM mails ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING body) \
                    INSERT INTO mails (body) SELECT body FROM taken RETURNING id";

const TITLES: &str = "SELECT id, title, state FROM reports WHERE id > $1 ORDER BY id LIMIT 20";
const TITLES_OF_JSON: &str =
    "SELECT id, data->>'title', data->>'state' FROM reports WHERE id > $1 ORDER BY id LIMIT 20";

const PLACE: &str = "INSERT INTO placements (shelf, label) \
                     SELECT $1::bigint, 'item ' || n FROM generate_series(1, $2::bigint) n";

const POST: &str =
    "INSERT INTO feed (text) SELECT repeat('what is new, in words ', 8) || n FROM generate_series(1, 8) n";
const ALL: &str = "SELECT id, text FROM feed ORDER BY id DESC";
const NEWEST: &str = "SELECT id, text FROM feed ORDER BY id DESC LIMIT 20";

/// Adds an entry to an account.
///
/// # Errors
/// PostgreSQL fails; there is no such account.
pub async fn add_entry(shop: &Shop, account: i64) -> Result<(), Refusal> {
    shop.database.execute(ENTRY, &[&account]).await.map(drop)
}

/// Closes an account for the day: a transaction that locks its row while another server is asked.
///
/// # Errors
/// PostgreSQL fails; there is no such account.
pub async fn close(shop: &Shop, account: i64, work: Duration) -> Result<(), Refusal> {
    let mut client = shop.database.client().await?;
    let lock = if shop.has(Defect::ParentLock) { LOCK_KEY } else { LOCK };
    let lock = client.prepare_cached(lock).await?;
    let ask = client.prepare_cached("SELECT ask_elsewhere($1)").await?;
    let close = client.prepare_cached(CLOSE).await?;
    let transaction = client.transaction().await?;
    transaction.query_opt(&lock, &[&account]).await?.ok_or(Refusal::Missing)?;
    transaction.query_one(&ask, &[&work.as_secs_f64()]).await?;
    transaction.execute(&close, &[&account]).await?;
    Ok(transaction.commit().await?)
}

/// Takes the oldest mail, and puts it back at the end of the queue.
///
/// # Errors
/// PostgreSQL fails; there is no mail.
pub async fn take_mail(shop: &Shop) -> Result<(), Refusal> {
    shop.database.row(TAKE, &[]).await.map(drop)
}

/// Opens a transaction that never ends, as of a forgotten report: no vacuum removes rows that it can see.
///
/// # Errors
/// PostgreSQL fails.
pub async fn forget_transaction(shop: &Shop) -> Result<(), Refusal> {
    let client = shop.database.connect().await?;
    client.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM mails").await?;
    tokio::spawn(async move {
        pending::<()>().await;
        // The connection ends with its client.
        drop(client);
    });
    Ok(())
}

/// Titles and states of reports. With the defect, both are read out of the JSON of each.
///
/// # Errors
/// PostgreSQL fails.
pub async fn reports(shop: &Shop, after: i64) -> Result<Value, Refusal> {
    let sql = if shop.has(Defect::JsonColumn) { TITLES_OF_JSON } else { TITLES };
    let rows = shop.database.query(sql, &[&after]).await?;
    let one = |row: &Row| json!([row.get::<_, i64>(0), row.get::<_, &str>(1), row.get::<_, &str>(2)]);
    Ok(rows.iter().map(one).collect())
}

/// Places a batch of items on a shelf. A trigger counts them.
///
/// # Errors
/// PostgreSQL fails.
pub async fn place(shop: &Shop, shelf: i64) -> Result<(), Refusal> {
    shop.database.execute(PLACE, &[&shelf, &BATCH]).await.map(drop)
}

/// Writes eight texts to the feed.
///
/// # Errors
/// PostgreSQL fails.
pub async fn post(shop: &Shop) -> Result<(), Refusal> {
    shop.database.execute(POST, &[]).await.map(drop)
}

/// The newest texts of the feed; all of them with the defect.
///
/// # Errors
/// PostgreSQL fails.
pub async fn feed(shop: &Shop) -> Result<Value, Refusal> {
    let rows = shop.database.query(if shop.has(Defect::GrowingFeed) { ALL } else { NEWEST }, &[]).await?;
    Ok(rows.iter().map(|row| json!({"id": row.get::<_, i64>(0), "text": row.get::<_, &str>(1)})).collect())
}
