//! Creates the tables and their rows.
//!
//! Knows no switch: every variant begins with the same rows.

use tokio_postgres::NoTls;

use crate::database::config;
use crate::refusal::Refusal;

/// Fills an empty database.
///
/// # Errors
/// PostgreSQL does not answer, or has these tables.
pub async fn fill(url: &str) -> Result<(), Refusal> {
    let (client, connection) = config(url, "seed")?.connect(NoTls).await?;
    tokio::spawn(connection);
    for step in [include_str!("schema.sql"), include_str!("rows.sql"), include_str!("indexes.sql")] {
        client.batch_execute(step).await?;
    }
    client.batch_execute("VACUUM ANALYZE").await?;
    Ok(())
}
