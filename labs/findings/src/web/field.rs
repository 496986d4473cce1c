//! Routes of the defects of the fourth list.
//!
//! Does not use the stores itself.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::json;

use super::{Done, JsonResult, Shared, Text, Work, bytes, created};
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{goods, imports, leaflets, tills, visitors};

/// How long a report reads all tills, and how long another server needs to check a member.
const REPORT_MS: u64 = 400;
const CHECK_MS: u64 = 8;
/// The header that names the session of a visitor.
const SESSION: HeaderName = HeaderName::from_static("x-session");

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_goods()).merge(of_tills()).merge(of_leaflets()).merge(of_visitors())
}

fn of_goods() -> Router<Arc<Shop>> {
    Router::new()
        .route("/goods", get(of_maker))
        .route("/categories/{id}", get(below))
        .route(
            "/imports",
            post(|State(shop): Shared| async move { created(imports::price_list(&shop).await) }),
        )
        .route("/audit", post(|State(shop): Shared| async move { created(imports::audit(&shop).await) }))
}

fn of_tills() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tills/{id}", get(till))
        .route("/deployments", post(deploy))
        .route("/cards/{member}", post(issue_card))
        .route("/vouchers/{code}", get(voucher))
        .route("/bookings/{day}", post(book))
}

fn of_leaflets() -> Router<Arc<Shop>> {
    Router::new()
        .route("/leaflets/{id}", put(change_leaflet))
        .route("/campaigns/{id}", get(campaign))
        .route("/tasks/{number}", put(put_back))
}

fn of_visitors() -> Router<Arc<Shop>> {
    Router::new()
        .route("/start", get(start))
        .route("/tickets/mine", get(mine))
        .route("/comments", get(|State(shop): Shared| async move { Json(visitors::comments(&shop)) }))
}

async fn of_maker(State(shop): Shared, Query(asked): Query<Text>) -> JsonResult {
    Ok(Json(goods::of_maker(&shop, &asked.text).await?))
}

async fn below(State(shop): Shared, Path(category): Path<i64>) -> JsonResult {
    Ok(Json(goods::below(&shop, category).await?))
}

async fn till(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(tills::till(&shop, id).await?))
}

async fn deploy(State(shop): Shared, Query(work): Query<Work>) -> StatusCode {
    tills::deploy(shop, Duration::from_millis(work.ms_or(REPORT_MS)));
    StatusCode::ACCEPTED
}

async fn issue_card(State(shop): Shared, Path(member): Path<i64>, Query(work): Query<Work>) -> Done {
    let check = Duration::from_millis(work.ms_or(CHECK_MS));
    created(tills::issue_card(&shop, member, check).await)
}

async fn voucher(State(shop): Shared, Path(code): Path<i64>) -> JsonResult {
    Ok(Json(tills::voucher(&shop, code).await?))
}

async fn book(State(shop): Shared, Path(day): Path<i64>) -> Done {
    created(Arc::clone(&shop.bookings).book(day).await.map(drop))
}

async fn change_leaflet(State(shop): Shared, Path(leaflet): Path<usize>) -> Done {
    created(leaflets::change(&shop, leaflet).await)
}

async fn campaign(State(shop): Shared, Path(number): Path<usize>, uri: Uri) -> Result<Response, Refusal> {
    bytes(leaflets::campaign(&shop, number, uri.query().unwrap_or_default()).await)
}

async fn put_back(State(shop): Shared, Path(number): Path<usize>) -> Done {
    created(leaflets::put_back(&shop, number).await)
}

/// The value of a header.
pub(super) fn sent(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

async fn start(State(shop): Shared, headers: HeaderMap) -> JsonResult {
    let session = sent(&headers, SESSION).ok_or(Refusal::Stranger)?;
    Ok(Json(visitors::part(&shop, session).await?))
}

async fn mine(State(shop): Shared, headers: HeaderMap) -> JsonResult {
    let token = sent(&headers, header::AUTHORIZATION).and_then(|sent| sent.strip_prefix("Bearer "));
    if !visitors::is_signed(&shop, token.ok_or(Refusal::Stranger)?).await? {
        return Err(Refusal::Stranger);
    }
    Ok(Json(json!({"tickets": 2})))
}
