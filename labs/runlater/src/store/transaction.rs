//! The transaction of a request; with an `Idempotency-Key` it also stores the response.
//!
//! Invariant: the change and the response are committed together, so that a repeated request gets the same response and
//! nothing is done twice. Does not know what the request changes.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Store;
use crate::refusal::Refusal;

const RESERVE_KEY: &str = "INSERT INTO idempotency_keys (organization_id, key, request, status_code, response_body) \
                    VALUES ($1, $2, $3, 0, '') ON CONFLICT DO NOTHING";
const READ_KEY: &str = "SELECT request, status_code, response_body FROM idempotency_keys \
                    WHERE organization_id = $1 AND key = $2";
const SAVE_RESPONSE: &str = "UPDATE idempotency_keys SET status_code = $3, response_body = $4 \
                      WHERE organization_id = $1 AND key = $2";

/// An idempotency key: the request is executed once, however often it is sent.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: Vec<u8>,
}

/// A response that can be stored and replayed.
#[derive(Debug, Clone)]
pub struct StoredResponse {
    /// The status.
    pub status: u16,
    /// The body; empty if there is none.
    pub body: String,
}

/// A request in progress. Without [`RequestTransaction::end`] it is rolled back.
pub struct RequestTransaction<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) organization: Uuid,
    key: Option<String>,
}

/// How a request starts.
pub enum Started<'a> {
    /// It is new.
    New(RequestTransaction<'a>),
    /// It was done before; the stored response.
    Replayed(StoredResponse),
}

impl Store {
    /// A connection for a request's transaction.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn connect(&self) -> Result<Client, Refusal> {
        self.get().await
    }
}

impl<'a> RequestTransaction<'a> {
    /// Starts a request, unless it was done before with the same key. Waits for another
    /// request in progress with this key.
    ///
    /// # Errors
    /// The key was used for another request; PostgreSQL fails.
    pub async fn begin(
        client: &'a mut Client,
        organization: Uuid,
        idempotency: Option<IdempotencyKey>,
    ) -> Result<Started<'a>, Refusal> {
        let transaction = client.transaction().await?;
        let Some(idempotency) = idempotency else {
            return Ok(Started::New(Self { transaction, organization, key: None }));
        };
        let statement = transaction.prepare_cached(RESERVE_KEY).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&organization, &idempotency.key, &idempotency.request];
        if transaction.execute(&statement, &values).await? == 1 {
            return Ok(Started::New(Self { transaction, organization, key: Some(idempotency.key) }));
        }
        let statement = transaction.prepare_cached(READ_KEY).await?;
        let row = transaction.query_one(&statement, &[&organization, &idempotency.key]).await?;
        if row.get::<_, Vec<u8>>(0) != idempotency.request {
            return Err(Refusal::KeyReused);
        }
        let status = u16::try_from(row.get::<_, i32>(1)).unwrap_or_default();
        Ok(Started::Replayed(StoredResponse { status, body: row.get(2) }))
    }

    /// Organization.
    pub fn organization(&self) -> Uuid {
        self.organization
    }

    /// Commits the changes and the response.
    ///
    /// # Errors
    /// PostgreSQL fails; the request may be committed. Repeating it with the same key tells.
    pub async fn end(self, response: &StoredResponse) -> Result<(), Refusal> {
        if let Some(key) = &self.key {
            let statement = self.transaction.prepare_cached(SAVE_RESPONSE).await?;
            let values: [&(dyn ToSql + Sync); 4] =
                [&self.organization, key, &i32::from(response.status), &response.body];
            self.transaction.execute(&statement, &values).await?;
        }
        Ok(self.transaction.commit().await?)
    }
}
