//! What the switches want of the database before the first request: schema, rows, index, trigger.
//!
//! Waits for the replica to have it, too. Serves nobody.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use crate::config::{ServeArgs, Switches};
use crate::migration;
use crate::seed;

/// Any number but that of migrations, as long as every process takes the same one.
const LOCK: i64 = 7_206_093;

/// Name of the index on `created_at`, as published.
pub const INDEX: &str = "idx_todomodel_created_at";
/// Name of the trigger that tells of changes.
pub const TRIGGER: &str = "todos_changed";

/// Brings the database to what the switches say.
///
/// # Errors
/// PostgreSQL says no.
pub async fn prepare(args: &ServeArgs) -> Result<(), tokio_postgres::Error> {
    let mut primary = connect(&args.store.postgres).await?;
    let steps = migration::migrate(&mut primary).await?;
    tracing::info!(steps, "the schema is up to date");
    lock(&primary).await?;
    if let Some(rows) = args.switches.rows.number() {
        seed::bring_to(&primary, rows).await?;
    }
    primary.batch_execute(&wanted(&args.switches)).await?;
    primary.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await?;
    if let Some(replica) = args.replica.as_ref().filter(|_| args.switches.replica_reads.is_on()) {
        catch_up(&primary, &connect(replica).await?).await?;
    }
    Ok(())
}

/// Waits until nobody else makes rows, index or trigger; until it is released, or the connection ends. Two who count the
/// rows at a time would each make what is missing, and two who make index and trigger can wait for each other.
///
/// # Errors
/// PostgreSQL says no.
pub async fn lock(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await.map(drop)
}

fn wanted(switches: &Switches) -> String {
    let index = if switches.created_index.is_on() {
        format!("CREATE INDEX IF NOT EXISTS {INDEX} ON todos (created_at DESC);")
    } else {
        format!("DROP INDEX IF EXISTS {INDEX};")
    };
    let trigger = if switches.list_cache.is_on() {
        format!(
            "CREATE OR REPLACE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON todos \
             FOR EACH STATEMENT EXECUTE FUNCTION todos_changed();"
        )
    } else {
        format!("DROP TRIGGER IF EXISTS {TRIGGER} ON todos;")
    };
    index + &trigger
}

/// A connection outside of the pools, for what takes longer than a request may.
///
/// # Errors
/// PostgreSQL is not there, or says no.
pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits until the replica shows what the primary has written so far.
async fn catch_up(primary: &Client, replica: &Client) -> Result<(), tokio_postgres::Error> {
    let written: String = primary.query_one("SELECT pg_current_wal_lsn()::text", &[]).await?.get(0);
    let shown = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{written}'::pg_lsn, true)");
    while !replica.query_one(&shown, &[]).await?.get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
