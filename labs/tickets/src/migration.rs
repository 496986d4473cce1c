//! Schema migrations: applies each step once, however many processes start at a time.
//!
//! Does not roll back, and does not create the index of units: that is a switch of `serve`.

use tokio_postgres::{Client, NoTls, Transaction};

/// The steps, in order. A released step never changes.
const STEPS: [&str; 1] = [include_str!("migrations/0001_sale.sql")];

/// Advisory lock of all processes that migrate; no other lab takes it.
const LOCK: i64 = 7_206_094;

/// The name is its own: other programs on the same database can have a `schema_migrations`, whose steps are not these.
/// Also takes over tables that `seed` made before there were migrations: they are those of the first step.
const CREATE_MIGRATIONS: &str = "\
    CREATE TABLE IF NOT EXISTS tickets_migrations (
        version int PRIMARY KEY,
        applied_at timestamptz NOT NULL DEFAULT now()
    );
    INSERT INTO tickets_migrations (version)
    SELECT 1 WHERE to_regclass('stock_epoch') IS NOT NULL AND NOT EXISTS (SELECT FROM tickets_migrations)";
const DONE: &str = "SELECT coalesce(max(version), 0) FROM tickets_migrations";

/// Opens a connection outside the pool, without the time limits of requests.
///
/// # Errors
/// PostgreSQL does not respond or refuses the connection.
pub async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Applies missing steps. Returns their number.
///
/// # Errors
/// PostgreSQL fails; then nothing is changed.
pub async fn migrate(client: &mut Client) -> Result<usize, tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    // Hides the notice that the table of migrations exists.
    transaction.batch_execute("SET LOCAL client_min_messages = warning").await?;
    let applied = apply(&transaction).await?;
    transaction.commit().await?;
    Ok(applied)
}

/// Applies missing steps as a part of a transaction. Returns their number.
///
/// # Errors
/// PostgreSQL fails.
pub async fn apply(transaction: &Transaction<'_>) -> Result<usize, tokio_postgres::Error> {
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    transaction.batch_execute(CREATE_MIGRATIONS).await?;
    let row = transaction.query_one(DONE, &[]).await?;
    let done = usize::try_from(row.get::<_, i32>(0)).unwrap_or_default();
    for (version, step) in (1_i32..).zip(STEPS).skip(done) {
        transaction.batch_execute(step).await?;
        transaction.execute("INSERT INTO tickets_migrations (version) VALUES ($1)", &[&version]).await?;
    }
    Ok(STEPS.len().saturating_sub(done))
}

/// Number of steps that the database lacks. Changes nothing.
///
/// # Errors
/// PostgreSQL fails.
pub async fn missing(client: &Client) -> Result<usize, tokio_postgres::Error> {
    let tables =
        "SELECT to_regclass('tickets_migrations') IS NOT NULL, to_regclass('stock_epoch') IS NOT NULL";
    let row = client.query_one(tables, &[]).await?;
    let (has_migrations, has_tables) = (row.get::<_, bool>(0), row.get::<_, bool>(1));
    let done = if has_migrations {
        usize::try_from(client.query_one(DONE, &[]).await?.get::<_, i32>(0)).unwrap_or_default()
    } else {
        usize::from(has_tables)
    };
    Ok(STEPS.len().saturating_sub(done))
}
