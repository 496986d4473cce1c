//! Why a request is refused, and the response to it.
//!
//! Does not decide when to refuse; the routes and the store do.

use std::collections::BTreeMap;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::config::switch::PoolError;

/// Errors by field.
pub type Wrong = BTreeMap<&'static str, Vec<String>>;

/// Why a request is refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The request is malformed.
    #[error("{0}")]
    Bad(String),
    /// The delay is invalid.
    #[error("a delay is a number of seconds from 1, or one with a unit: 30s, 5m, 2h, 1d; a year at most")]
    BadDelay,
    /// The time is invalid.
    #[error("run_at is a time like 2030-01-31T12:00:00Z, within a year")]
    BadRunAt,
    /// Fields are invalid.
    #[error("the request has wrong fields")]
    Invalid(Wrong),
    /// Unsupported content type or encoding.
    #[error("{0}")]
    Kind(&'static str),
    /// The body is larger than allowed.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive in time.
    #[error("the request did not arrive in time")]
    Slow,
    /// The key is missing or wrong.
    #[error("a valid API key is needed: Authorization: Bearer ID.SECRET")]
    Unauthorized,
    /// Over the rate limit; seconds until the window ends.
    #[error("too many requests, try again in {0} s")]
    RateLimit(u64),
    /// There is no task with this id.
    #[error("there is no such task")]
    NoTask,
    /// Unknown path.
    #[error("there is nothing here; /openapi.json says what there is")]
    NoPath,
    /// The path does not take this method.
    #[error("this path does not take this method; /openapi.json says which it takes")]
    Method,
    /// The idempotency key was used for another request.
    #[error("this Idempotency-Key was used for another request")]
    KeyReused,
    /// No connection was free in time.
    #[error("no connection was free in time")]
    Busy(PoolError),
    /// PostgreSQL failed. Unless the error is lasting, a write may have been done.
    #[error("PostgreSQL: {reason}")]
    Postgres {
        /// PostgreSQL's message.
        reason: String,
        /// Whether a retry would fail in the same way.
        lasting: bool,
    },
    /// The service stopped before the request was served.
    #[error("the service is stopping")]
    Stopping,
}

impl Refusal {
    /// A refusal for one invalid field.
    pub fn field(name: &'static str, what: &str) -> Self {
        Self::Invalid(BTreeMap::from([(name, vec![what.to_owned()])]))
    }

    /// Status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) | Self::BadDelay | Self::BadRunAt => StatusCode::BAD_REQUEST,
            Self::Invalid(_) | Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Kind(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::RateLimit(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NoTask | Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Busy(PoolError::Internal) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Busy(PoolError::Unavailable) | Self::Postgres { .. } | Self::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Bad(_) => "bad_request",
            Self::BadDelay => "invalid_delay",
            Self::BadRunAt => "invalid_run_at",
            Self::Invalid(_) => "validation_error",
            Self::Kind(_) => "bad_content_type",
            Self::TooLarge(_) => "too_large",
            Self::Slow => "too_slow",
            Self::Unauthorized => "unauthorized",
            Self::RateLimit(_) => "rate_limited",
            Self::NoTask | Self::NoPath => "not_found",
            Self::Method => "bad_method",
            Self::KeyReused => "idempotency_key_reused",
            Self::Busy(PoolError::Internal) => "internal_error",
            Self::Busy(PoolError::Unavailable) | Self::Postgres { .. } | Self::Stopping => {
                "service_unavailable"
            }
        }
    }

    /// Seconds for `Retry-After`, if a retry can help.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimit(seconds) => Some(*seconds),
            Self::Busy(PoolError::Unavailable) | Self::Postgres { .. } | Self::Stopping => Some(5),
            _ => None,
        }
    }

    /// Whether a retry would be refused again.
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::Busy(_) | Self::Stopping | Self::Postgres { lasting: false, .. })
    }
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        // SQLSTATE classes 22 and 23: invalid data and violated constraints.
        let lasting = error.code().is_some_and(|code| matches!(code.code().get(..2), Some("22" | "23")));
        Self::Postgres { reason: postgres_message(&error), lasting }
    }
}

impl From<deadpool_postgres::PoolError> for Refusal {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            error => Self::Postgres { reason: error.to_string(), lasting: false },
        }
    }
}

/// PostgreSQL's message; the error's own text has only its kind.
pub fn postgres_message(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        // Details of store errors go to the log, not to clients.
        let message = if status.is_server_error() {
            tracing::error!(reason = %self, "a request failed");
            "the service cannot do this now, try again".to_owned()
        } else {
            tracing::debug!(reason = %self, "refused");
            self.to_string()
        };
        let mut error = json!({"code": self.code(), "message": message});
        if let Self::Invalid(wrong) = &self {
            error["details"] = json!(wrong);
        }
        let body = json!({"error": error}).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
