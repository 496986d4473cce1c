//! The routes: an order in, "Success" or a refusal out.
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
use crate::once::{Header, Once};
use crate::order::{Limits, Order, Wanted};
use crate::refusal::Refusal;
use crate::till::Till;
use crate::unit::Units;

/// What the routes work with.
pub struct BoxOffice {
    /// Stock in Redis.
    pub till: Arc<Till>,
    /// Stock in PostgreSQL.
    pub units: Units,
    /// Orders that have to be paid.
    pub bookings: Bookings,
    /// What is on sale.
    pub catalogue: Catalogue,
    /// What /redis-decrement runs.
    pub redis_script: RedisScript,
    /// How large an order may be.
    pub limits: Limits,
    /// Largest body, in bytes.
    pub body_limit: usize,
}

type Shared = State<Arc<BoxOffice>>;
type Body = Result<Bytes, BytesRejection>;

/// All routes.
pub fn router(office: Arc<BoxOffice>) -> Router {
    let limit = DefaultBodyLimit::max(office.body_limit);
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
        .with_state(office)
}

async fn simple(State(office): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&office, RedisScript::Simple, &header, body).await
}

async fn checked(State(office): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&office, RedisScript::Checked, &header, body).await
}

async fn chosen(State(office): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    count_down(&office, office.redis_script, &header, body).await
}

async fn count_down(
    office: &BoxOffice,
    script: RedisScript,
    header: &Header,
    body: Body,
) -> Result<&'static str, Refusal> {
    let wanted = office.wanted(header, "counters", body)?;
    office.till.sell(script, &wanted).await?;
    Ok("Success")
}

async fn reserve(State(office): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    let wanted = office.wanted(&header, "units", body)?;
    office.units.reserve(&wanted).await?;
    Ok("Success")
}

async fn decrement(State(office): Shared, header: Header, body: Body) -> Result<&'static str, Refusal> {
    let wanted = office.wanted(&header, "row", body)?;
    office.units.decrement(&wanted).await?;
    Ok("Success")
}

async fn open(
    State(office): Shared,
    header: Header,
    body: Body,
) -> Result<(StatusCode, Json<Booking>), Refusal> {
    let wanted = office.wanted(&header, "orders", body)?;
    Ok((StatusCode::CREATED, Json(office.bookings.open(&wanted).await?)))
}

async fn show(State(office): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(office.bookings.show(&id).await?))
}

async fn pay(State(office): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(office.bookings.pay(&id).await?))
}

async fn cancel(State(office): Shared, Path(id): Path<String>) -> Result<Json<Booking>, Refusal> {
    Ok(Json(office.bookings.cancel(&id).await?))
}

/// Whether both stores answer; a balancer sends no buyers here while one does not.
async fn ready(State(office): Shared) -> Response {
    let (postgres, redis) = tokio::join!(office.units.ping(), office.till.ping());
    let problem = match (postgres, redis) {
        (Ok(()), Ok(())) => return "ready".into_response(),
        (Err(problem), _) | (_, Err(problem)) => problem,
    };
    tracing::warn!(reason = %problem, "not ready");
    let store = if matches!(problem, Refusal::Redis(_)) { "Redis" } else { "PostgreSQL" };
    (StatusCode::SERVICE_UNAVAILABLE, format!("{store} does not answer")).into_response()
}

impl BoxOffice {
    fn wanted(&self, header: &Header, route: &str, body: Body) -> Result<Wanted, Refusal> {
        let order = self.order(body)?;
        let once = Once::read(header, route, &order)?;
        Ok(Wanted { order: Arc::new(order), once })
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
