//! Keys and their organizations.
//!
//! Does not know what a secret is; [`crate::key`] does.

use jiff::Timestamp;
use uuid::Uuid;

use super::{Store, prepared};
use crate::refusal::Refusal;

/// A stored key.
#[derive(Debug, Clone)]
pub struct KeyRow {
    /// Its id in the table.
    pub id: Uuid,
    /// SHA-256 of the secret, in hex.
    pub hash: String,
    /// Organization.
    pub organization: Uuid,
    /// Last recorded use.
    pub last_used_at: Option<Timestamp>,
}

impl Store {
    /// A key by its public part: first the key, then its organization, as published.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn key(&self, key_id: &str) -> Result<Option<KeyRow>, Refusal> {
        let client = self.get().await?;
        self.metrics.key_lookups.inc();
        let sql = "SELECT id, key_hash, organization_id, last_used_at FROM api_keys WHERE key_id = $1";
        let Some(row) = client.query_opt(&prepared(&client, sql).await?, &[&key_id]).await? else {
            return Ok(None);
        };
        let organization: Uuid = row.get(2);
        let sql = "SELECT id FROM organizations WHERE id = $1";
        if client.query_opt(&prepared(&client, sql).await?, &[&organization]).await?.is_none() {
            return Ok(None);
        }
        Ok(Some(KeyRow { id: row.get(0), hash: row.get(1), organization, last_used_at: row.get(3) }))
    }

    /// Records the use of a key.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn touch(&self, key: Uuid, now: Timestamp) -> Result<(), Refusal> {
        let client = self.get().await?;
        let sql = "UPDATE api_keys SET last_used_at = $2 WHERE id = $1";
        client.execute(&prepared(&client, sql).await?, &[&key, &now]).await?;
        self.metrics.key_touches.inc();
        Ok(())
    }
}
