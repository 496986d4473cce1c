//! Reasons to refuse a request, and the response for each.
//!
//! Does not decide whether a request is refused; the routes and the store do.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Reason to refuse a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The body is invalid.
    #[error("{0}")]
    BadBody(String),
    /// The id is not a number.
    #[error("an id is a whole number")]
    BadId,
    /// The content type or encoding is not supported.
    #[error("{0}")]
    ContentType(&'static str),
    /// The body is larger than allowed.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive in time.
    #[error("the request did not arrive in time")]
    BodyTimeout,
    /// There is no todo with this id.
    #[error("there is no such todo")]
    NoTodo,
    /// No route has this path.
    #[error("there is nothing here; /openapi.json says what there is")]
    NoPath,
    /// The path does not support this method.
    #[error("this path does not take this method; /openapi.json says which it takes")]
    Method,
    /// PostgreSQL failed or did not respond in time. A write may have been executed.
    #[error("PostgreSQL: {0}")]
    Postgres(String),
    /// No connection or thread was free in time. Nothing was started.
    #[error("nothing was begun: {0}")]
    NotStarted(String),
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
}

impl Refusal {
    /// PostgreSQL did not respond in time.
    pub fn timed_out() -> Self {
        Self::Postgres("no answer in time".to_owned())
    }

    /// HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_) | Self::BadId => StatusCode::BAD_REQUEST,
            Self::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::NoTodo | Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::BadBody(_) => "bad_body",
            Self::BadId => "bad_id",
            Self::ContentType(_) => "bad_content_type",
            Self::TooLarge(_) => "too_large",
            Self::BodyTimeout => "too_slow",
            Self::NoTodo => "unknown_todo",
            Self::NoPath => "unknown_path",
            Self::Method => "bad_method",
            Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping => "store_unavailable",
        }
    }
}

impl From<tokio_postgres::Error> for Refusal {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error_text(&error))
    }
}

impl From<deadpool_postgres::PoolError> for Refusal {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        Self::NotStarted(match error {
            deadpool_postgres::PoolError::Backend(error) => error_text(&error),
            error => error.to_string(),
        })
    }
}

/// Error text with its cause; `Display` alone names only the kind of error.
pub fn error_text(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        // Store errors are logged, not shown to clients.
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
