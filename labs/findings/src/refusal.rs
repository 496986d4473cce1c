//! Reasons why the service cannot answer, and the response for each.
//!
//! Does not retry.

use std::io;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

/// Reason why a request, or the start of the service, fails.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// PostgreSQL failed.
    #[error("PostgreSQL: {0}")]
    Postgres(String),
    /// Redis failed.
    #[error("Redis: {0}")]
    Redis(#[from] redis::RedisError),
    /// SQLite failed, or its writer ended.
    #[error("SQLite: {0}")]
    Sqlite(String),
    /// A system call failed.
    #[error("the system: {0}")]
    System(#[from] io::Error),
    /// Another server failed, or answered with an error.
    #[error("another server: {0}")]
    Server(String),
    /// The client has sent more requests than its limit.
    #[error("too many requests")]
    Limited,
    /// The client gave no password, or a wrong one.
    #[error("name and password are needed")]
    Stranger,
    /// The cookies of the request are longer than the limit.
    #[error("the cookies are too long")]
    LongCookies,
    /// Other requests were in the way, again and again.
    #[error("too many others at the same time")]
    Busy,
    /// There is no such thing.
    #[error("there is nothing with this number")]
    Missing,
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        // `Display` alone names only the kind of the error.
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        Self::Postgres(format!("{error}{}", cause.unwrap_or_default()))
    }
}

impl From<deadpool_postgres::PoolError> for Refusal {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::Postgres(error.to_string())
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = match self {
            Self::Missing => StatusCode::NOT_FOUND,
            Self::Limited => StatusCode::TOO_MANY_REQUESTS,
            Self::Stranger => StatusCode::UNAUTHORIZED,
            Self::LongCookies => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        (status, self.to_string()).into_response()
    }
}
