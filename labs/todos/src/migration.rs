//! Schema migrations: applies each step once, however many processes start concurrently.
//!
//! Does not roll back, and does not create what switches control (see [`crate::store::prepare`]).

use tokio_postgres::Client;

/// The steps, in order. A released step never changes.
const STEPS: [&str; 2] =
    [include_str!("migrations/0001_todos.sql"), include_str!("migrations/0002_changed.sql")];

/// Advisory lock of all processes that migrate.
const LOCK: i64 = 7_206_083;

const MIGRATIONS_TABLE: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (\
                      version int PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";
const DONE: &str = "SELECT coalesce(max(version), 0) FROM schema_migrations";

/// Applies missing steps. Returns their number.
///
/// # Errors
/// PostgreSQL fails; then nothing is changed.
pub async fn migrate(client: &mut Client) -> Result<usize, tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction.batch_execute(MIGRATIONS_TABLE).await?;
    let row = transaction.query_one(DONE, &[]).await?;
    let done = usize::try_from(row.get::<_, i32>(0)).unwrap_or_default();
    for (version, step) in (1_i32..).zip(STEPS).skip(done) {
        transaction.batch_execute(step).await?;
        transaction.execute("INSERT INTO schema_migrations (version) VALUES ($1)", &[&version]).await?;
    }
    transaction.commit().await?;
    Ok(STEPS.len().saturating_sub(done))
}

/// Number of migrations that the database lacks. Changes nothing.
///
/// # Errors
/// PostgreSQL reports an error.
pub async fn missing(client: &Client) -> Result<usize, tokio_postgres::Error> {
    let has_table = client.query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[]).await?;
    let done = if has_table.get::<_, bool>(0) {
        usize::try_from(client.query_one(DONE, &[]).await?.get::<_, i32>(0)).unwrap_or_default()
    } else {
        0
    };
    Ok(STEPS.len().saturating_sub(done))
}
