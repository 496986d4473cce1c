//! Fills the table with todos of the published size.
//!
//! Does not create the index on `created_at`: that is a switch of `serve`.

use tokio_postgres::Client;

use crate::config::{SeedArgs, without_credentials};
use crate::migration;
use crate::refusal;
use crate::store::prepare::{connect, lock};

/// 14 characters, so that a todo with an id of four digits takes 136 bytes of JSON, as published.
const INSERT: &str = "INSERT INTO todos (name, description, done, created_at) \
                      SELECT 'United todo', 'to be done one', false, \
                             (now() AT TIME ZONE 'UTC') - make_interval(secs => ($1::bigint - n) * 0.01) \
                      FROM generate_series(1, $1::bigint) n";
const DELETE_OLDEST: &str =
    "DELETE FROM todos WHERE id IN (SELECT id FROM todos ORDER BY created_at, id LIMIT $1)";

/// Reason why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Todos exist.
    #[error("{0} holds todos already")]
    Exists(String),
    /// PostgreSQL failed.
    #[error("PostgreSQL at {address}: {reason}")]
    Postgres {
        /// Address without credentials.
        address: String,
        /// Cause.
        reason: String,
    },
}

/// Creates the schema and the todos.
///
/// # Errors
/// Todos exist and `--replace` is not given; PostgreSQL fails.
pub async fn fill(args: &SeedArgs) -> Result<(), Problem> {
    let address = || without_credentials(&args.store.postgres);
    let problem = |error: tokio_postgres::Error| Problem::Postgres {
        address: address(),
        reason: refusal::error_text(&error),
    };
    let mut client = connect(&args.store.postgres).await.map_err(problem)?;
    migration::migrate(&mut client).await.map_err(problem)?;
    lock(&client).await.map_err(problem)?;
    if args.replace {
        client.batch_execute("TRUNCATE todos RESTART IDENTITY").await.map_err(problem)?;
    } else if count(&client).await.map_err(problem)? > 0 {
        return Err(Problem::Exists(address()));
    }
    adjust_rows(&client, args.rows).await.map_err(problem)
}

/// Creates todos or deletes the oldest until there are `rows`.
///
/// # Errors
/// PostgreSQL fails.
pub async fn adjust_rows(client: &Client, rows: u32) -> Result<(), tokio_postgres::Error> {
    let missing = i64::from(rows) - count(client).await?;
    if missing > 0 {
        client.execute(INSERT, &[&missing]).await?;
    } else if missing < 0 {
        client.execute(DELETE_OLDEST, &[&-missing]).await?;
    }
    // Query plans need current statistics.
    client.batch_execute("VACUUM (ANALYZE) todos").await
}

async fn count(client: &Client) -> Result<i64, tokio_postgres::Error> {
    Ok(client.query_one("SELECT count(*) FROM todos", &[]).await?.get(0))
}
