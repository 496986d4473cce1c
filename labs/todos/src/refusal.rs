//! Why a request is not served, and what the caller is told.
//!
//! Does not decide when; the routes and the store do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not served.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The body is not what the route takes.
    #[error("{0}")]
    Bad(String),
    /// The id is no number.
    #[error("an id is a whole number")]
    BadId,
    /// The body is of another kind, or in another encoding.
    #[error("{0}")]
    Kind(&'static str),
    /// The body is larger than allowed.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive in time.
    #[error("the request did not arrive in time")]
    Slow,
    /// There is no todo with this id.
    #[error("there is no such todo")]
    NoTodo,
    /// There is nothing at this path.
    #[error("there is nothing here; /openapi.json says what there is")]
    NoPath,
    /// The path does not take this method.
    #[error("this path does not take this method; /openapi.json says which it takes")]
    Method,
    /// PostgreSQL failed, or did not answer in time. Whether something was written is not known.
    #[error("PostgreSQL: {0}")]
    Postgres(String),
    /// A connection, or a thread to wait for it, was not to be had in time. Nothing was begun.
    #[error("nothing was begun: {0}")]
    NotBegun(String),
    /// What served the request came to an end before it.
    #[error("the service is stopping")]
    Stopping,
}

impl Refusal {
    /// PostgreSQL did not answer in time.
    pub fn late() -> Self {
        Self::Postgres("no answer in time".to_owned())
    }

    /// The status it is answered with.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) | Self::BadId => StatusCode::BAD_REQUEST,
            Self::Kind(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::NoTodo | Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Postgres(_) | Self::NotBegun(_) | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Bad(_) => "bad_body",
            Self::BadId => "bad_id",
            Self::Kind(_) => "bad_content_type",
            Self::TooLarge(_) => "too_large",
            Self::Slow => "too_slow",
            Self::NoTodo => "unknown_todo",
            Self::NoPath => "unknown_path",
            Self::Method => "bad_method",
            Self::Postgres(_) | Self::NotBegun(_) | Self::Stopping => "store_unavailable",
        }
    }
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(said(&error))
    }
}

impl From<deadpool_postgres::PoolError> for Refusal {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::NotBegun(match error {
            deadpool_postgres::PoolError::Backend(error) => said(&error),
            error => error.to_string(),
        })
    }
}

/// What PostgreSQL says; the error by itself names only where it came from.
pub fn said(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        // What a store says about itself is for the log, not for callers.
        let message = if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::error!(reason = %self, "a request failed");
            "the store is not available, try again".to_owned()
        } else {
            tracing::debug!(reason = %self, "refused");
            self.to_string()
        };
        let body = json!({"error": {"code": self.code(), "message": message}}).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
