//! Why a request is refused, and the response to it.
//!
//! Does not decide when to refuse; the routes and the stores do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::web::head;

/// Why a request is refused.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The body is malformed.
    #[error("{0}")]
    Bad(String),
    /// The path or the query string is malformed.
    #[error("{0}")]
    BadQuery(String),
    /// Unsupported content type or encoding.
    #[error("{0}")]
    Kind(&'static str),
    /// The body is larger than allowed.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive in time.
    #[error("the request did not arrive in time")]
    Slow,
    /// No valid session.
    #[error("sign in first: {0}")]
    SignIn(&'static str),
    /// Unknown user or wrong password.
    #[error("e-mail address and password do not go together")]
    Password,
    /// An operator has blocked the user or the address.
    #[error("this user or address is blocked")]
    Blocked,
    /// The rate limit of the window is exceeded.
    #[error("more requests than the {limit} of a window; the next one begins at {reset_ms} ms since 1970")]
    Limited {
        /// Requests per window.
        limit: u32,
        /// When the next window begins, in milliseconds since 1970.
        reset_ms: u64,
        /// Seconds until then.
        retry_after: u64,
    },
    /// The tenant has no worker with this id.
    #[error("there is no such worker")]
    NoWorker,
    /// Unknown path.
    #[error("there is nothing here; /openapi.json says what there is")]
    NoPath,
    /// The path does not take this method.
    #[error("this path does not take this method; /openapi.json says which it takes")]
    Method,
    /// Redis failed during the session check.
    #[error("sessions in Redis: {0}")]
    Session(String),
    /// Redis failed during the rate-limit check.
    #[error("the rate limit in Redis: {0}")]
    Limiter(String),
    /// PostgreSQL failed, or no connection was free in time. A write may have been done.
    #[error("PostgreSQL: {0}")]
    Postgres(String),
    /// The service stopped before the request was served.
    #[error("the service is stopping")]
    Stopping,
}

impl Refusal {
    /// Status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Bad(_) | Self::BadQuery(_) => StatusCode::BAD_REQUEST,
            Self::SignIn(_) | Self::Password => StatusCode::UNAUTHORIZED,
            Self::Blocked => StatusCode::FORBIDDEN,
            Self::Limited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Kind(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::NoWorker | Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Session(_) | Self::Limiter(_) | Self::Postgres(_) | Self::Stopping => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Bad(_) => "bad_body",
            Self::BadQuery(_) => "bad_query",
            Self::SignIn(_) => "not_signed_in",
            Self::Password => "bad_password",
            Self::Blocked => "blocked",
            Self::Limited { .. } => "rate_limited",
            Self::Kind(_) => "bad_content_type",
            Self::TooLarge(_) => "too_large",
            Self::Slow => "too_slow",
            Self::NoWorker => "unknown_worker",
            Self::NoPath => "unknown_path",
            Self::Method => "bad_method",
            Self::Session(_) => "sessions_unavailable",
            Self::Limiter(_) => "rate_limit_unavailable",
            Self::Postgres(_) | Self::Stopping => "store_unavailable",
        }
    }

    /// Message for the client. Details of store errors go to the log only.
    fn public_message(&self) -> String {
        match self {
            Self::Session(_) => "sessions cannot be checked at this time, try again".to_owned(),
            Self::Limiter(_) => "requests cannot be counted at this time, try again".to_owned(),
            Self::Postgres(_) | Self::Stopping => "the store is not available, try again".to_owned(),
            _ => self.to_string(),
        }
    }

    /// Seconds for `Retry-After`, if a retry can help.
    fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Limited { retry_after, .. } => Some(*retry_after),
            _ if self.status() == StatusCode::SERVICE_UNAVAILABLE => Some(1),
            _ => None,
        }
    }
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(postgres_message(&error))
    }
}

impl From<deadpool_postgres::PoolError> for Refusal {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            error => Self::Postgres(error.to_string()),
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
        if status == StatusCode::SERVICE_UNAVAILABLE {
            tracing::error!(reason = %self, "a request failed");
        } else {
            tracing::debug!(reason = %self, "refused");
        }
        let body = json!({"error": {"code": self.code(), "message": self.public_message()}}).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if let Self::Limited { limit, reset_ms, .. } = self {
            head::limit_headers(response.headers_mut(), limit, 0, reset_ms);
        }
        if let Some(seconds) = self.retry_after() {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
