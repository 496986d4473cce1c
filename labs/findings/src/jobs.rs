//! Jobs, support cases, the outbox and the stock: what a scheduler does with PostgreSQL.
//!
//! Does not parse HTTP.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::poll_fn;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::database::config;
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;

/// Jobs per batch.
pub const BATCH: i64 = 20;

/// Connections that listen for new jobs: one, or one per worker with the defect.
const LISTENERS: usize = 24;

const DUE: &str =
    "SELECT id FROM jobs WHERE state = 'ready' AND run_at <= now() ORDER BY run_at LIMIT 1 FOR UPDATE";
const DUE_SKIPPING: &str = "SELECT id FROM jobs WHERE state = 'ready' AND run_at <= now() ORDER BY run_at LIMIT 1 \
                            FOR UPDATE SKIP LOCKED";
const START: &str = "UPDATE jobs SET state = 'running' WHERE id = $1";
const FINISH: &str = "UPDATE jobs SET state = 'ready', run_at = now() WHERE id = $1";

/// The first open cases, the most urgent first.
pub const NEXT_CASES: &str = "SELECT id, priority, subject FROM cases WHERE state = 'open' \
                              ORDER BY priority DESC, opened_at LIMIT 20";

const INSERT_BATCH: &str =
    "INSERT INTO outbox (body) SELECT 'mail ' || n FROM generate_series(1, $1::bigint) n";
const INSERT_ONE: &str = "INSERT INTO outbox (body) VALUES ('mail')";
const ANNOUNCE: &str = "WITH new AS (INSERT INTO outbox (body) VALUES ('mail') RETURNING id) \
                        SELECT pg_notify('outbox', id::text) FROM new";
const NEWEST: &str = "SELECT id, body FROM outbox ORDER BY id DESC LIMIT 1";

const SUMMARY: &str = "SELECT state, count(*) FROM stock GROUP BY state";
const TOUCH: &str = "UPDATE stock SET touched = clock_timestamp() WHERE sku = $1";
const ITEM: &str = "SELECT sku, state, label FROM stock WHERE sku = $1";

/// The statement that finds a due job.
pub fn due(defect: Defect) -> &'static str {
    if defect == Defect::NoSkipLocked { DUE } else { DUE_SKIPPING }
}

/// Claims the job that is due, runs it for this time, and makes it due again. `None` if none is due.
///
/// # Errors
/// PostgreSQL fails.
pub async fn claim(shop: &Shop, work: Duration) -> Result<Option<i64>, Refusal> {
    let mut client = shop.database.client().await?;
    let find = client.prepare_cached(due(shop.defect)).await?;
    let start = client.prepare_cached(START).await?;
    let transaction = client.transaction().await?;
    let Some(row) = transaction.query_opt(&find, &[]).await? else { return Ok(None) };
    let id: i64 = row.get(0);
    transaction.execute(&start, &[&id]).await?;
    if shop.has(Defect::OpenTransaction) {
        tokio::time::sleep(work).await;
        transaction.execute(FINISH, &[&id]).await?;
        transaction.commit().await?;
        return Ok(Some(id));
    }
    transaction.commit().await?;
    drop(client);
    tokio::time::sleep(work).await;
    shop.database.execute(FINISH, &[&id]).await?;
    Ok(Some(id))
}

/// The first open cases.
///
/// # Errors
/// PostgreSQL fails.
pub async fn next_cases(shop: &Shop) -> Result<Value, Refusal> {
    let rows = shop.database.query(NEXT_CASES, &[]).await?;
    let one = |row: &tokio_postgres::Row| json!({"id": row.get::<_, i64>(0), "priority": row.get::<_, i32>(1), "subject": row.get::<_, &str>(2)});
    Ok(rows.iter().map(one).collect())
}

/// Writes a batch of jobs.
///
/// # Errors
/// PostgreSQL fails.
pub async fn add_batch(shop: &Shop) -> Result<(), Refusal> {
    if shop.has(Defect::CommitPerJob) {
        for _ in 0..BATCH {
            shop.database.execute(INSERT_ONE, &[]).await?;
        }
        return Ok(());
    }
    shop.database.execute(INSERT_BATCH, &[&BATCH]).await.map(drop)
}

/// Writes a job and notifies listeners.
///
/// # Errors
/// PostgreSQL fails.
pub async fn announce(shop: &Shop) -> Result<(), Refusal> {
    shop.database.query(ANNOUNCE, &[]).await.map(drop)
}

/// Starts the listeners. Each asks for the newest job when it is notified.
///
/// # Errors
/// PostgreSQL refuses a connection.
pub async fn start_listeners(url: &str, defect: Defect) -> Result<(), Refusal> {
    for _ in 0..if defect == Defect::NotifyStorm { LISTENERS } else { 1 } {
        listen(url).await?;
    }
    Ok(())
}

async fn listen(url: &str) -> Result<(), Refusal> {
    let (client, mut connection) = config(url, "shop-listener")?.connect(NoTls).await?;
    let (sender, mut notified) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let mut messages = poll_fn(move |context| connection.poll_message(context));
        while let Some(Ok(message)) = messages.next().await {
            if matches!(message, AsyncMessage::Notification(_)) && sender.send(()).is_err() {
                break;
            }
        }
    });
    client.batch_execute("LISTEN outbox").await?;
    let newest = client.prepare(NEWEST).await?;
    tokio::spawn(async move {
        while notified.recv().await.is_some() {
            // A listener that misses a job finds it with the next one.
            let _ = client.query(&newest, &[]).await;
        }
    });
    Ok(())
}

/// A statement that waits for another server.
///
/// # Errors
/// PostgreSQL fails, or no connection became free in time.
pub async fn delivery_days(shop: &Shop) -> Result<i32, Refusal> {
    Ok(shop.database.row("SELECT ask_elsewhere(0.02)", &[]).await?.get(0))
}

/// Number of articles by state.
///
/// # Errors
/// PostgreSQL fails.
pub async fn stock_summary(shop: &Shop) -> Result<Value, Refusal> {
    let rows = shop.database.query(SUMMARY, &[]).await?;
    Ok(rows.iter().map(|row| json!([row.get::<_, &str>(0), row.get::<_, i64>(1)])).collect())
}

/// Notes that an article was touched.
///
/// # Errors
/// PostgreSQL fails; there is no such article.
pub async fn touch(shop: &Shop, sku: i64) -> Result<(), Refusal> {
    if shop.database.execute(TOUCH, &[&sku]).await? == 0 { Err(Refusal::Missing) } else { Ok(()) }
}

/// An article of the stock.
///
/// # Errors
/// PostgreSQL fails; there is no such article.
pub async fn item(shop: &Shop, sku: i64) -> Result<Value, Refusal> {
    let row = if shop.has(Defect::StatementChurn) {
        // A trace id in a comment makes each text unique, so that no prepared statement is used twice.
        let text = format!("{ITEM} /* trace {:016x} */", fastrand::u64(..));
        shop.database.client().await?.query_opt(text.as_str(), &[&sku]).await?.ok_or(Refusal::Missing)?
    } else {
        shop.database.row(ITEM, &[&sku]).await?
    };
    Ok(json!({"sku": sku, "state": row.get::<_, &str>(1), "label": row.get::<_, &str>(2)}))
}
