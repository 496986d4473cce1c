//! Reasons to refuse a request, and the response for each: over HTTP and over gRPC.
//!
//! Does not decide whether a request is refused; the routes and the store do.

use std::error::Error;
use std::iter::successors;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tonic::{Code, Status};
use tower_http::timeout::TimeoutError;

/// Reason to refuse a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The body is invalid.
    #[error("{0}")]
    BadBody(String),
    /// The id is not a number.
    #[error("an id is a whole number")]
    BadId,
    /// The query is invalid.
    #[error("the query can only have changes, a whole number from 1 to 4294967295")]
    BadQuery,
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
    /// As many clients read the changes as are allowed.
    #[error("there are too many readers of the changes, try again later")]
    TooManyReaders,
    /// The service is stopping.
    #[error("the service is stopping")]
    Stopping,
}

impl Refusal {
    /// PostgreSQL did not respond in time.
    pub fn timed_out() -> Self {
        Self::Postgres("no answer in time".to_owned())
    }

    /// The refusal of a body that did not arrive in time. None if the body failed for another reason: the error of a
    /// body does not say which, but one of its causes does.
    pub fn of_body(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut causes = successors(Some(error), |&cause| cause.source());
        causes.any(<dyn Error>::is::<TimeoutError>).then_some(Self::BodyTimeout)
    }

    /// HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_) | Self::BadId | Self::BadQuery => StatusCode::BAD_REQUEST,
            Self::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::NoTodo | Self::NoPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping | Self::TooManyReaders => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// Status of the call over gRPC. What only a request over HTTP can be refused for has one too: so none is forgotten.
    pub fn grpc_code(&self) -> Code {
        match self {
            Self::BadBody(_) | Self::BadId | Self::BadQuery | Self::ContentType(_) => Code::InvalidArgument,
            Self::TooLarge(_) => Code::OutOfRange,
            Self::BodyTimeout => Code::DeadlineExceeded,
            Self::NoTodo => Code::NotFound,
            Self::NoPath | Self::Method => Code::Unimplemented,
            Self::TooManyReaders => Code::ResourceExhausted,
            Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping => Code::Unavailable,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::BadBody(_) => "bad_body",
            Self::BadId => "bad_id",
            Self::BadQuery => "bad_query",
            Self::ContentType(_) => "bad_content_type",
            Self::TooLarge(_) => "too_large",
            Self::BodyTimeout => "too_slow",
            Self::NoTodo => "unknown_todo",
            Self::NoPath => "unknown_path",
            Self::Method => "bad_method",
            Self::TooManyReaders => "too_many_readers",
            Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping => "store_unavailable",
        }
    }

    /// What clients are told; logs the refusal. Errors of the store are logged in full, and not shown.
    fn message(&self) -> String {
        if matches!(self, Self::Postgres(_) | Self::NotStarted(_) | Self::Stopping) {
            tracing::error!(reason = %self, "a request failed");
            "the store is not available, try again".to_owned()
        } else {
            tracing::debug!(reason = %self, "refused");
            self.to_string()
        }
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.grpc_code(), refusal.message())
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
    let cause = error.source().map(|cause| format!(": {cause}"));
    format!("{error}{}", cause.unwrap_or_default())
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = json!({"error": {"code": self.code(), "message": self.message()}}).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
