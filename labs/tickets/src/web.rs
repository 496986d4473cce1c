//! HTTP routes: parses requests, returns "Success", an order or a refusal.
//!
//! Does not know how a store keeps its stock.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};

use crate::booking::{Booking, Bookings};
use crate::catalogue::Catalogue;
use crate::config::RedisScript;
use crate::counter_sales::CounterSales;
use crate::idempotency::{Header, IdempotencyKey};
use crate::order::{Limits, Order, OrderRequest};
use crate::refusal::Refusal;
use crate::unit::Units;

/// Shared state of the routes.
pub struct AppState {
    /// Stock in Redis.
    pub counter_sales: Arc<CounterSales>,
    /// Stock in PostgreSQL.
    pub units: Units,
    /// Orders with a payment deadline.
    pub bookings: Bookings,
    /// Tickets on sale.
    pub catalogue: Catalogue,
    /// Script of /redis-decrement.
    pub redis_script: RedisScript,
    /// Size limits of an order.
    pub limits: Limits,
    /// Maximum body size, in bytes.
    pub body_limit: usize,
}

type Shared = State<Arc<AppState>>;
type Body = Result<Bytes, BytesRejection>;

/// All routes.
pub fn router(state: Arc<AppState>) -> Router {
    let limit = DefaultBodyLimit::max(state.body_limit);
    Router::new()
        .route("/simple-redis-decrement", post(simple))
        .route("/complex-redis-decrement", post(checked))
        .route("/redis-decrement", post(chosen))
        .route("/pg-reserve-ticket", post(reserve))
        .route("/pg-decrement-ticket", post(decrement))
        .route("/orders", post(open))
        .route("/orders/{id}", get(show).delete(cancel))
        .route("/orders/{id}/pay", post(pay))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .layer(limit)
        .with_state(state)
}

async fn simple(State(state): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&state, RedisScript::Simple, &header, body).await
}

async fn checked(State(state): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&state, RedisScript::Checked, &header, body).await
}

async fn chosen(State(state): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&state, state.redis_script, &header, body).await
}

async fn count_down(
    state: &AppState,
    script: RedisScript,
    header: &Header,
    body: Body,
) -> Result<&'static str, Refusal> {
    let request = state.request(header, "counters", body)?;
    state.counter_sales.sell(script, &request).await?;
    Ok("Success")
}

async fn reserve(State(state): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    let request = state.request(&header, "units", body)?;
    state.units.reserve(&request).await?;
    Ok("Success")
}

async fn decrement(State(state): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    let request = state.request(&header, "row", body)?;
    state.units.decrement(&request).await?;
    Ok("Success")
}

async fn open(
    State(state): Shared,
    header: Header,
    body: Body,
) -> Result<(StatusCode, Json<Booking>), Refusal> {
    let request = state.request(&header, "orders", body)?;
    Ok((StatusCode::CREATED, Json(state.bookings.open(&request).await?)))
}

async fn show(State(state): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(state.bookings.show(&id).await?))
}

async fn pay(State(state): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(state.bookings.pay(&id).await?))
}

async fn cancel(State(state): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(state.bookings.cancel(&id).await?))
}

/// Readiness: whether both stores respond. A load balancer sends no requests here while one does not.
async fn ready(State(state): Shared) -> Response {
    let (postgres, redis) = tokio::join!(state.units.ping(), state.counter_sales.ping());
    let problem = match (postgres, redis) {
        (Ok(()), Ok(())) => return "ready".into_response(),
        (Err(problem), _) | (_, Err(problem)) => problem,
    };
    tracing::warn!(reason = %problem, "not ready");
    let store = if matches!(problem, Refusal::Redis(_)) { "Redis" } else { "PostgreSQL" };
    (StatusCode::SERVICE_UNAVAILABLE, format!("{store} does not answer")).into_response()
}

impl AppState {
    fn request(&self, header: &Header, route: &str, body: Body) -> Result<OrderRequest, Refusal> {
        let order = self.order(body)?;
        let idempotency = IdempotencyKey::read(header, route, &order)?;
        Ok(OrderRequest { order: Arc::new(order), idempotency })
    }

    fn order(&self, body: Body) -> Result<Order, Refusal> {
        let body = body.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Refusal::TooLarge(self.body_limit)
            } else {
                Refusal::Body(rejection.body_text())
            }
        })?;
        let order = Order::read(&body, self.limits)?;
        self.catalogue.check(&order)?;
        Ok(order)
    }
}
