//! The schema, brought up to date step by step, once, however many processes start at a time.
//!
//! Does not go back, and does not make what a switch decides (see [`crate::store::prepare`]).

use tokio_postgres::Client;

/// The steps, in order. A step that was released is never changed.
const STEPS: [&str; 2] =
    [include_str!("migrations/0001_runlater.sql"), include_str!("migrations/0002_notices.sql")];

/// The advisory lock of whoever changes the schema: any number, as long as every process takes the same one.
pub const LOCK: i64 = 7_206_084;

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (\
                      version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";

/// Applies the steps that are missing and says how many they were.
///
/// # Errors
/// PostgreSQL says no; nothing is changed then.
pub async fn migrate(client: &mut Client) -> Result<usize, tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction.batch_execute(LEDGER).await?;
    let row = transaction.query_one("SELECT coalesce(max(version), 0) FROM schema_migrations", &[]).await?;
    let done = usize::try_from(row.get::<_, i32>(0)).unwrap_or_default();
    for (version, step) in (1_i32..).zip(STEPS).skip(done) {
        transaction.batch_execute(step).await?;
        transaction.execute("INSERT INTO schema_migrations (version) VALUES ($1)", &[&version]).await?;
    }
    transaction.commit().await?;
    Ok(STEPS.len().saturating_sub(done))
}
