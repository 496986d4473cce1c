//! HTTP routes: parses requests, returns "Success", an order or a refusal.
//!
//! Does not know how a store keeps its stock.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use crate::booking::{Booking, Bookings};
use crate::catalogue::Catalogue;
use crate::config::RedisScript;
use crate::counter_sales::CounterSales;
use crate::idempotency::{Header, IdempotencyKey};
use crate::metric::Metrics;
use crate::order::{Limits, Order, OrderRequest};
use crate::refusal::Refusal;
use crate::unit::Units;

const PAGE: &str = include_str!("page.html");
/// `OpenAPI` document of the routes.
pub const OPENAPI: &str = include_str!("openapi.json");

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
    /// Time in which a body must arrive.
    pub body_timeout: Duration,
    /// The metrics.
    pub metrics: Metrics,
}

type Shared = State<Arc<AppState>>;
type Answer = Result<&'static str, Refusal>;
type Id = Result<Path<String>, PathRejection>;

/// All routes.
pub fn router(state: Arc<AppState>) -> Router {
    let limit = DefaultBodyLimit::max(state.body_limit);
    Router::new()
        .route("/", get(page))
        .route("/simple-redis-decrement", post(simple))
        .route("/complex-redis-decrement", post(checked))
        .route("/redis-decrement", post(chosen))
        .route("/pg-reserve-ticket", post(reserve))
        .route("/pg-decrement-ticket", post(decrement))
        .route("/orders", post(open))
        .route("/orders/{id}", get(show).delete(cancel))
        .route("/orders/{id}/pay", post(pay))
        .route("/tickets", get(tickets))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| async { ([(header::CONTENT_TYPE, "application/json")], OPENAPI) }))
        .fallback(|| async { Refusal::NoPath })
        .method_not_allowed_fallback(|| async { Refusal::Method })
        .layer(limit)
        .with_state(state)
}

async fn simple(State(state): Shared, header: Header, body: OrderBody) -> Answer {
    state.metrics.simple.counted(state.count_down(RedisScript::Simple, &header, body).await)
}

async fn checked(State(state): Shared, header: Header, body: OrderBody) -> Answer {
    state.metrics.checked.counted(state.count_down(RedisScript::Checked, &header, body).await)
}

async fn chosen(State(state): Shared, header: Header, body: OrderBody) -> Answer {
    state.metrics.chosen.counted(state.count_down(state.redis_script, &header, body).await)
}

async fn reserve(State(state): Shared, header: Header, body: OrderBody) -> Answer {
    state.metrics.reserve.counted(state.reserve(&header, body).await)
}

async fn decrement(State(state): Shared, header: Header, body: OrderBody) -> Answer {
    state.metrics.decrement.counted(state.decrement(&header, body).await)
}

async fn open(
    State(state): Shared,
    header: Header,
    body: OrderBody,
) -> Result<(StatusCode, Json<Booking>), Refusal> {
    let opened = state.metrics.open.counted(state.open(&header, body).await)?;
    Ok((StatusCode::CREATED, Json(opened)))
}

async fn show(State(state): Shared, id: Id) -> Result<Json<Booking>, Refusal> {
    let shown = async { state.bookings.show(&order_id(id)?).await };
    state.metrics.show.counted(shown.await).map(Json)
}

async fn pay(State(state): Shared, id: Id) -> Result<Json<Booking>, Refusal> {
    let paid = async { state.bookings.pay(&order_id(id)?).await };
    state.metrics.pay.counted(paid.await).map(Json)
}

async fn cancel(State(state): Shared, id: Id) -> Result<Json<Booking>, Refusal> {
    let cancelled = async { state.bookings.cancel(&order_id(id)?).await };
    state.metrics.cancel.counted(cancelled.await).map(Json)
}

/// The id of an order. What cannot be one, in a text of PostgreSQL, is the id of no order.
fn order_id(id: Id) -> Result<String, Refusal> {
    let Path(id) = id.map_err(|_| Refusal::NoOrder)?;
    if id.contains('\0') { Err(Refusal::NoOrder) } else { Ok(id) }
}

/// A page for people.
async fn page() -> Response {
    let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, PAGE).into_response()
}

/// Ids of the tickets on sale.
async fn tickets(State(state): Shared) -> Response {
    Json(json!({"tickets": state.catalogue.ids()})).into_response()
}

async fn metrics(State(state): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.metrics.text(state.units.connections())).into_response()
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

/// The body of an order, or why there is none.
struct OrderBody(Result<Bytes, Refusal>);

impl FromRequest<Arc<AppState>> for OrderBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &Arc<AppState>) -> Result<Self, Infallible> {
        let mut reading = pin!(Bytes::from_request(request, state));
        // Most bodies arrive with their head: they need no timer, and no look at the clock.
        let begun = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
        let in_time = match begun {
            Poll::Ready(read) => Ok(read),
            Poll::Pending => tokio::time::timeout(state.body_timeout, reading).await,
        };
        let Ok(read) = in_time else { return Ok(Self(Err(Refusal::BodyTimeout))) };
        Ok(Self(read.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Refusal::TooLarge(state.body_limit)
            } else {
                Refusal::Body(rejection.body_text())
            }
        })))
    }
}

impl AppState {
    async fn count_down(&self, script: RedisScript, header: &Header, body: OrderBody) -> Answer {
        let request = self.request(header, "counters", body)?;
        self.counter_sales.sell(script, &request).await?;
        Ok("Success")
    }

    async fn reserve(&self, header: &Header, body: OrderBody) -> Answer {
        let request = self.request(header, "units", body)?;
        self.units.reserve(&request).await?;
        Ok("Success")
    }

    async fn decrement(&self, header: &Header, body: OrderBody) -> Answer {
        let request = self.request(header, "row", body)?;
        self.units.decrement(&request).await?;
        Ok("Success")
    }

    async fn open(&self, header: &Header, body: OrderBody) -> Result<Booking, Refusal> {
        let request = self.request(header, "orders", body)?;
        self.bookings.open(&request).await
    }

    fn request(&self, header: &Header, route: &str, body: OrderBody) -> Result<OrderRequest, Refusal> {
        let order = Order::read(&body.0?, self.limits)?;
        self.catalogue.check(&order)?;
        let idempotency = IdempotencyKey::read(header, route, &order)?;
        Ok(OrderRequest { order: Arc::new(order), idempotency })
    }
}
