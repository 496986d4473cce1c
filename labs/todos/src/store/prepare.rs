//! Prepares the database for the switches: rows, index, trigger.
//!
//! Waits until the replica has them. The schema must be there; `migrate` makes it. Rows, index and trigger belong to
//! `serve`, because studies compare processes with different switches on copies of the same data. They are not made
//! concurrently: a start waits for them. Does not serve requests.

use std::time::Duration;

use tokio_postgres::{Client, NoTls};

use crate::config::{ServeArgs, Switches};
use crate::migration;
use crate::seed;

/// Advisory lock of all processes that prepare; differs from the one of migrations.
const LOCK: i64 = 7_206_093;

/// Name of the index on `created_at`, as published.
pub const INDEX: &str = "idx_todomodel_created_at";
/// Name of the trigger that sends notifications of changes.
pub const TRIGGER: &str = "todos_changed";

/// Number of migrations that the database lacks. Changes nothing.
///
/// # Errors
/// PostgreSQL cannot be reached or reports an error.
pub async fn missing_steps(url: &str) -> Result<usize, tokio_postgres::Error> {
    migration::missing(&connect(url).await?).await
}

/// Prepares the database for the switches.
///
/// # Errors
/// PostgreSQL fails.
pub async fn prepare(args: &ServeArgs) -> Result<(), tokio_postgres::Error> {
    let primary = connect(&args.store.postgres).await?;
    lock(&primary).await?;
    if let Some(rows) = args.switches.rows.number() {
        seed::adjust_rows(&primary, rows).await?;
    }
    primary.batch_execute(&schema_sql(&args.switches)).await?;
    primary.execute("SELECT pg_advisory_unlock($1)", &[&LOCK]).await?;
    if let Some(replica) = args.replica.as_ref().filter(|_| args.switches.replica_reads.is_on()) {
        wait_for_replica(&primary, &connect(replica).await?).await?;
    }
    Ok(())
}

/// Takes the lock for changes of rows, index and trigger, until it is released or the connection ends. Without it, two processes
/// would each add the missing rows, and could deadlock on index and trigger.
///
/// # Errors
/// PostgreSQL fails.
pub async fn lock(client: &Client) -> Result<(), tokio_postgres::Error> {
    client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await.map(drop)
}

fn schema_sql(switches: &Switches) -> String {
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

/// Opens a connection outside the pools, without the timeouts of requests.
///
/// # Errors
/// PostgreSQL does not respond or refuses the connection.
pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits until the replica has replayed all that the primary has written so far.
async fn wait_for_replica(primary: &Client, replica: &Client) -> Result<(), tokio_postgres::Error> {
    let written: String = primary.query_one("SELECT pg_current_wal_lsn()::text", &[]).await?.get(0);
    let caught_up = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{written}'::pg_lsn, true)");
    while !replica.query_one(&caught_up, &[]).await?.get::<_, bool>(0) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
