//! Fills both stores with unsold tickets.
//!
//! Does not create the index on units: that is a switch of `serve`.

use std::time::Duration;

use tokio_postgres::Client;

use crate::config::{SeedArgs, without_credentials};
use crate::counter;
use crate::migration;
use crate::refusal;

const TIMEOUT: Duration = Duration::from_secs(10);

const DROP: &str = "DROP TABLE IF EXISTS \
    sales, counters, stock_epoch, ticket_units, orders, tickets, idempotency_keys, tickets_migrations";

/// Reason why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Tickets of an earlier seed exist.
    #[error("{0} holds tickets already")]
    Exists(String),
    /// PostgreSQL failed.
    #[error("PostgreSQL at {address}: {reason}")]
    Postgres {
        /// Address without credentials.
        address: String,
        /// Cause.
        reason: String,
    },
    /// Redis failed.
    #[error("Redis at {address}: {source}")]
    Redis {
        /// Address without credentials.
        address: String,
        /// Cause.
        source: redis::RedisError,
    },
}

/// Creates schema, tickets and units in PostgreSQL, then the counters in Redis.
///
/// # Errors
/// Tickets exist and `--replace` is not given; a store fails.
pub async fn fill(args: &SeedArgs) -> Result<(), Problem> {
    rows(args).await?;
    counters(args)
        .await
        .map_err(|source| Problem::Redis { address: without_credentials(&args.stores.redis), source })
}

/// Ids of the given number of tickets: a, b, c ...
pub fn ids(tickets: u8) -> impl Iterator<Item = String> {
    ('a'..='z').take(tickets.into()).map(String::from)
}

async fn rows(args: &SeedArgs) -> Result<(), Problem> {
    let address = || without_credentials(&args.stores.postgres);
    let problem = |error| Problem::Postgres { address: address(), reason: refusal::error_text(&error) };
    let mut client = migration::connect(&args.stores.postgres).await.map_err(problem)?;
    if !args.replace && has_tickets(&client).await.map_err(problem)? {
        return Err(Problem::Exists(address()));
    }
    write(&mut client, args).await.map_err(problem)?;
    sell(&client, args).await.map_err(problem)?;
    // VACUUM cannot run in a transaction. Query plans need current statistics.
    client.batch_execute("VACUUM (ANALYZE) tickets, ticket_units, counters").await.map_err(problem)
}

/// Whether there are tables with tickets in them; tables that `migrate` made are empty.
async fn has_tickets(client: &Client) -> Result<bool, tokio_postgres::Error> {
    let tables = client.query_one("SELECT to_regclass('tickets') IS NOT NULL", &[]).await?;
    Ok(tables.get(0) && client.query_one("SELECT EXISTS (SELECT FROM tickets)", &[]).await?.get(0))
}

async fn write(client: &mut Client, args: &SeedArgs) -> Result<(), tokio_postgres::Error> {
    let transaction = client.transaction().await?;
    // Hides notices about tables that do not exist.
    transaction.batch_execute("SET LOCAL client_min_messages = warning").await?;
    if args.replace {
        transaction.batch_execute(DROP).await?;
    }
    migration::apply(&transaction).await?;
    for id in ids(args.tickets) {
        let name = format!("Ticket {id}");
        transaction
            .execute("INSERT INTO tickets (id, name, stock) VALUES ($1, $2, $3)", &[&id, &name, &args.stock])
            .await?;
        transaction
            .execute("INSERT INTO counters (ticket_id, stock) VALUES ($1, $2)", &[&id, &args.stock])
            .await?;
        transaction
            .execute(
                "INSERT INTO ticket_units (ticket_id) SELECT $1 FROM generate_series(1, $2::int)",
                &[&id, &args.units_per_ticket],
            )
            .await?;
    }
    transaction.commit().await
}

/// Sells the first units of each ticket by updates, which leave the table as a sale does: free units between sold ones.
async fn sell(client: &Client, args: &SeedArgs) -> Result<(), tokio_postgres::Error> {
    const FIRST: &str = "UPDATE ticket_units SET reserved = true WHERE id IN \
        (SELECT id FROM ticket_units WHERE ticket_id = $1 ORDER BY id LIMIT $2)";
    if args.units_sold == 0 {
        return Ok(());
    }
    for id in ids(args.tickets) {
        client.execute(FIRST, &[&id, &i64::from(args.units_sold)]).await?;
    }
    Ok(())
}

async fn counters(args: &SeedArgs) -> redis::RedisResult<()> {
    let mut redis = counter::connect(&args.stores.redis, TIMEOUT).await?;
    let mut pipe = redis::pipe();
    pipe.del(counter::EPOCH).ignore();
    for id in ids(26) {
        pipe.del(counter::key(&id)).ignore();
    }
    for id in ids(args.tickets) {
        pipe.set(counter::key(&id), args.stock).ignore();
    }
    pipe.query_async(&mut redis).await
}
