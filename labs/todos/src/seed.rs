//! Fills the table with todos of the published size.
//!
//! Does not make the index on `created_at`: that is a switch of `serve`.

use tokio_postgres::Client;

use crate::config::{SeedArgs, shown};
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

/// Why nothing was filled in.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Todos are there.
    #[error("{0} holds todos already")]
    Exists(String),
    /// PostgreSQL says no.
    #[error("PostgreSQL at {address}: {reason}")]
    Postgres {
        /// Where.
        address: String,
        /// Why.
        reason: String,
    },
}

/// Makes the schema and the todos.
///
/// # Errors
/// There are todos and they are not to be replaced; PostgreSQL does not do as asked.
pub async fn fill(args: &SeedArgs) -> Result<(), Problem> {
    let address = || shown(&args.store.postgres);
    let problem = |error: tokio_postgres::Error| Problem::Postgres {
        address: address(),
        reason: refusal::said(&error),
    };
    let mut client = connect(&args.store.postgres).await.map_err(problem)?;
    migration::migrate(&mut client).await.map_err(problem)?;
    lock(&client).await.map_err(problem)?;
    if args.replace {
        client.batch_execute("TRUNCATE todos RESTART IDENTITY").await.map_err(problem)?;
    } else if count(&client).await.map_err(problem)? > 0 {
        return Err(Problem::Exists(address()));
    }
    bring_to(&client, args.rows).await.map_err(problem)
}

/// Makes new todos or deletes the oldest until there are so many.
///
/// # Errors
/// PostgreSQL says no.
pub async fn bring_to(client: &Client, rows: u32) -> Result<(), tokio_postgres::Error> {
    let missing = i64::from(rows) - count(client).await?;
    if missing > 0 {
        client.execute(INSERT, &[&missing]).await?;
    } else if missing < 0 {
        client.execute(DELETE_OLDEST, &[&-missing]).await?;
    }
    // Plans start from what is true.
    client.batch_execute("VACUUM (ANALYZE) todos").await
}

async fn count(client: &Client) -> Result<i64, tokio_postgres::Error> {
    Ok(client.query_one("SELECT count(*) FROM todos", &[]).await?.get(0))
}
