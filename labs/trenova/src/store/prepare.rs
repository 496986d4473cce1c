//! Prepares the database for the switches before the first request: rows, index.
//!
//! The schema must be there; `migrate` makes it. Index and rows belong to `serve`, because studies compare processes with
//! different switches on copies of the same data. They are not made concurrently: a start waits for them. Serves no
//! requests.

use tokio_postgres::{Client, NoTls};

use crate::config::ServeArgs;
use crate::config::switch::WorkersIndex;
use crate::migration;
use crate::seed;

/// Advisory lock: any number but that of migrations, the same in every process.
const LOCK: i64 = 7_206_092;
/// Name of the published index.
pub const TENANT: &str = "workers_tenant";
/// Name of the index with the newest first.
pub const NEWEST: &str = "workers_tenant_newest";

/// Number of migrations that the database lacks. Changes nothing.
///
/// # Errors
/// PostgreSQL cannot be reached or reports an error.
pub async fn missing_steps(url: &str) -> Result<usize, tokio_postgres::Error> {
    migration::missing(&connect(url).await?).await
}

/// Applies the rows and indexes that the switches ask for.
///
/// # Errors
/// PostgreSQL reports an error.
pub async fn prepare(args: &ServeArgs) -> Result<(), tokio_postgres::Error> {
    let client = connect(&args.store.postgres).await?;
    // Several processes can start at a time; the lock ends with the connection.
    client.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await?;
    if let Some(rows) = args.switches.rows.0 {
        seed::set_worker_count(&client, rows).await?;
    }
    client.batch_execute(&index(args.switches.workers_index)).await
}

fn index(wanted: WorkersIndex) -> String {
    let tenant = match wanted {
        WorkersIndex::Tenant => {
            format!("CREATE INDEX IF NOT EXISTS {TENANT} ON workers (organization_id, business_unit_id);")
        }
        _ => format!("DROP INDEX IF EXISTS {TENANT};"),
    };
    let newest = match wanted {
        WorkersIndex::Newest => {
            format!(
                "CREATE INDEX IF NOT EXISTS {NEWEST} ON workers (organization_id, business_unit_id, created_at DESC);"
            )
        }
        _ => format!("DROP INDEX IF EXISTS {NEWEST};"),
    };
    tenant + &newest
}

/// A connection outside the pool, for statements without the request time-out.
///
/// # Errors
/// PostgreSQL cannot be reached or reports an error.
pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
