//! Reasons to refuse a request, and the response for each.
//!
//! Does not decide whether a request is refused; the stores and the order do.

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::{idempotency, order};

/// Reason to refuse a request.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The body is not an order.
    #[error(transparent)]
    Order(#[from] order::Problem),
    /// The body is larger than allowed.
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    /// The body did not arrive.
    #[error("the body could not be read: {0}")]
    Body(String),
    /// The body did not arrive in time.
    #[error("the body did not arrive in time")]
    BodyTimeout,
    /// No route has this path.
    #[error("there is nothing here; /openapi.json says what there is")]
    NoPath,
    /// The path does not support this method.
    #[error("this path does not take this method; /openapi.json says which it takes")]
    Method,
    /// The idempotency key is malformed.
    #[error("an Idempotency-Key has from 1 to {} visible ASCII characters", idempotency::MAX_LENGTH)]
    BadKey,
    /// The idempotency key was used for another order.
    #[error("this Idempotency-Key was used for another order")]
    KeyReused,
    /// There is no order with this id.
    #[error("there is no such order")]
    NoOrder,
    /// The order is in a final state, or its payment deadline has passed.
    #[error("too late: the order is {0}")]
    Closed(String),
    /// No such ticket is on sale.
    #[error("there is no ticket {0}")]
    Unknown(String),
    /// Fewer tickets are left than ordered; none was taken.
    #[error("not enough of ticket {0} is left")]
    NotEnoughLeft(String),
    /// Redis has no counter for a ticket that is on sale.
    #[error("Redis has no counter for ticket {0}")]
    NoCounter(String),
    /// PostgreSQL failed, or no connection was free in time.
    #[error("PostgreSQL: {0}")]
    Postgres(String),
    /// The counters were rebuilt during every attempt to take the order.
    #[error("the counters in Redis do not come to rest")]
    RebuiltTooOften,
    /// The service is stopping.
    #[error("the service stops")]
    Stopping,
    /// The reason that all requests of a batch share.
    #[error(transparent)]
    Shared(#[from] Arc<Refusal>),
    /// Redis failed or did not respond in time. Tickets may have been taken.
    #[error("Redis: {0}")]
    Redis(#[from] redis::RedisError),
}

impl Refusal {
    /// Status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Order(_) | Self::Body(_) | Self::BadKey => StatusCode::BAD_REQUEST,
            Self::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Unknown(_) | Self::NoOrder | Self::NoPath => StatusCode::NOT_FOUND,
            Self::NotEnoughLeft(_) | Self::Closed(_) => StatusCode::CONFLICT,
            Self::NoCounter(_)
            | Self::Postgres(_)
            | Self::Redis(_)
            | Self::RebuiltTooOften
            | Self::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Self::Shared(refusal) => refusal.status(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Order(order::Problem::Json(_)) => "bad_json",
            Self::Order(order::Problem::Empty) => "empty_order",
            Self::Order(order::Problem::Lines { .. }) => "too_many_lines",
            Self::Order(order::Problem::Count { .. }) => "bad_count",
            Self::TooLarge(_) => "too_large",
            Self::Body(_) => "bad_body",
            Self::BodyTimeout => "too_slow",
            Self::NoPath => "unknown_path",
            Self::Method => "bad_method",
            Self::BadKey => "bad_key",
            Self::KeyReused => "key_reused",
            Self::Unknown(_) => "unknown_ticket",
            Self::NotEnoughLeft(_) => "not_enough_left",
            Self::NoOrder => "unknown_order",
            Self::Closed(_) => "order_closed",
            Self::NoCounter(_)
            | Self::Postgres(_)
            | Self::Redis(_)
            | Self::RebuiltTooOften
            | Self::Stopping => "store_unavailable",
            Self::Shared(refusal) => refusal.code(),
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
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            error => Self::Postgres(error.to_string()),
        }
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
            tracing::error!(reason = %self, "a store failed");
            "a store is not available, try again".to_owned()
        } else {
            tracing::debug!(reason = %self, "refused");
            self.to_string()
        };
        let body = Json(json!({"error": {"code": self.code(), "message": message}}));
        let mut response = (status, body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
