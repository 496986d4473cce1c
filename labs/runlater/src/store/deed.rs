//! What a request changes, as one transaction; with an `Idempotency-Key` its answer is kept by the same one.
//!
//! Invariant: what was done and what was answered are kept together or not at all, so that whoever asks again, for whatever
//! reason, is answered the same and nothing is done twice. Does not know what is done.

use deadpool_postgres::{Client, Transaction};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::Store;
use crate::refusal::Refusal;

const KEEP: &str = "INSERT INTO idempotency_keys (organization_id, key, request, status_code, response_body) \
                    VALUES ($1, $2, $3, 0, '') ON CONFLICT DO NOTHING";
const KEPT: &str = "SELECT request, status_code, response_body FROM idempotency_keys \
                    WHERE organization_id = $1 AND key = $2";
const ANSWER: &str = "UPDATE idempotency_keys SET status_code = $3, response_body = $4 \
                      WHERE organization_id = $1 AND key = $2";

/// A key that makes a request one that is done once, however often it is sent.
#[derive(Debug, Clone)]
pub struct Once {
    /// The key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: Vec<u8>,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body; empty if there is none.
    pub body: String,
}

/// A request that is being done. Without [`Deed::end`] nothing of it is kept.
pub struct Deed<'a> {
    pub(super) transaction: Transaction<'a>,
    pub(super) organization: Uuid,
    key: Option<String>,
}

/// How a request begins.
pub enum Begun<'a> {
    /// It is to be done.
    New(Deed<'a>),
    /// It was done before, and answered so.
    Before(Answer),
}

impl Store {
    /// A connection for what a request changes.
    ///
    /// # Errors
    /// PostgreSQL fails; no connection is free.
    pub async fn connect(&self) -> Result<Client, Refusal> {
        self.get().await
    }
}

impl<'a> Deed<'a> {
    /// Begins what an organization asks for, unless the same was asked with the same key before. Waits for another
    /// request with this key that is under way.
    ///
    /// # Errors
    /// The key was used for another request; PostgreSQL fails.
    pub async fn begin(
        client: &'a mut Client,
        organization: Uuid,
        once: Option<Once>,
    ) -> Result<Begun<'a>, Refusal> {
        let transaction = client.transaction().await?;
        let Some(once) = once else {
            return Ok(Begun::New(Self { transaction, organization, key: None }));
        };
        let statement = transaction.prepare_cached(KEEP).await?;
        let values: [&(dyn ToSql + Sync); 3] = [&organization, &once.key, &once.request];
        if transaction.execute(&statement, &values).await? == 1 {
            return Ok(Begun::New(Self { transaction, organization, key: Some(once.key) }));
        }
        let statement = transaction.prepare_cached(KEPT).await?;
        let row = transaction.query_one(&statement, &[&organization, &once.key]).await?;
        if row.get::<_, Vec<u8>>(0) != once.request {
            return Err(Refusal::KeyReused);
        }
        let status = u16::try_from(row.get::<_, i32>(1)).unwrap_or_default();
        Ok(Begun::Before(Answer { status, body: row.get(2) }))
    }

    /// Whose it is.
    pub fn organization(&self) -> Uuid {
        self.organization
    }

    /// Keeps what was done, and the answer to it.
    ///
    /// # Errors
    /// PostgreSQL fails. Whether it was kept is not known then; whoever asks again with the same key is told.
    pub async fn end(self, answer: &Answer) -> Result<(), Refusal> {
        if let Some(key) = &self.key {
            let statement = self.transaction.prepare_cached(ANSWER).await?;
            let values: [&(dyn ToSql + Sync); 4] =
                [&self.organization, key, &i32::from(answer.status), &answer.body];
            self.transaction.execute(&statement, &values).await?;
        }
        Ok(self.transaction.commit().await?)
    }
}
