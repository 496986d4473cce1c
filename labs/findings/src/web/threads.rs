//! Routes of the defects of the fifth list.
//!
//! Does not use the stores itself.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::field::sent;
use super::{Done, JsonResult, Shared, Work, bytes, created};
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{bills, brochures, couriers, letters, logins, sheets, wishes};

/// How long another server needs for a backfill.
const BACKFILL_MS: u64 = 500;

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new()
        .merge(of_tables())
        .merge(of_sheets())
        .merge(of_files())
        .merge(of_visitors())
        .merge(of_couriers())
}

fn of_tables() -> Router<Arc<Shop>> {
    Router::new()
        .route("/members/{id}/letters", get(own_letters))
        .route("/letters/{page}", get(page))
        .route("/draws", get(|State(shop): Shared| async move { letters::draw(&shop).await.map(Json) }))
        .route("/bills/{member}", post(write_bill))
        .route("/wallets/{id}", post(take))
        .route("/backfills", post(backfill))
}

fn of_sheets() -> Router<Arc<Shop>> {
    Router::new()
        .route("/sheets/{number}", get(sheet).put(change_sheet))
        .route("/alerts", get(|State(shop): Shared| async move { bytes(sheets::alerts(&shop).await) }))
}

fn of_files() -> Router<Arc<Shop>> {
    Router::new().route("/ranks/{member}", post(add_point)).route("/preferences/{member}", put(prefer))
}

fn of_visitors() -> Router<Arc<Shop>> {
    Router::new()
        .route("/wishes/{member}", get(wish_list))
        .route("/login", get(login))
        .route("/brochures/{number}", get(brochure))
}

fn of_couriers() -> Router<Arc<Shop>> {
    Router::new()
        .route("/couriers", get(|State(shop): Shared| async move { couriers::offers(&shop).await.map(Json) }))
        .route("/places/{parcel}", get(place))
}

async fn own_letters(State(shop): Shared, Path(member): Path<i64>) -> JsonResult {
    Ok(Json(letters::own(&shop, member).await?))
}

async fn page(State(shop): Shared, Path(page): Path<u32>) -> JsonResult {
    Ok(Json(letters::page(&shop, page).await?))
}

async fn write_bill(State(shop): Shared, Path(member): Path<i64>) -> Done {
    created(bills::write(&shop, member).await)
}

async fn take(State(shop): Shared, Path(wallet): Path<i64>) -> Done {
    created(bills::take(&shop, wallet).await)
}

async fn backfill(State(shop): Shared, Query(work): Query<Work>) -> StatusCode {
    bills::backfill(shop, Duration::from_millis(work.ms_or(BACKFILL_MS)));
    StatusCode::ACCEPTED
}

async fn sheet(State(shop): Shared, Path(number): Path<i64>) -> Result<Response, Refusal> {
    bytes(sheets::sheet(&shop, number).await)
}

async fn change_sheet(State(shop): Shared, Path(number): Path<i64>) -> Done {
    created(sheets::change(&shop, number).await)
}

async fn add_point(State(shop): Shared, Path(member): Path<i64>) -> Done {
    created(Arc::clone(&shop.ranks).add(member).await.map(drop))
}

async fn prefer(State(shop): Shared, Path(member): Path<u32>) -> Done {
    created(Arc::clone(&shop.preferences).change(member).await)
}

async fn wish_list(State(shop): Shared, Path(member): Path<u64>) -> Json<Value> {
    Json(wishes::list(&shop, member))
}

async fn login(State(shop): Shared, headers: HeaderMap) -> Result<Response, Refusal> {
    let cookie = logins::begin(&shop, sent(&headers, header::COOKIE).unwrap_or_default())?;
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({"to": "/account"}))).into_response())
}

/// A brochure; compressed for a client that accepts brotli.
async fn brochure(
    State(shop): Shared,
    Path(number): Path<usize>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let text = brochures::text(number);
    let is_accepted = sent(&headers, header::ACCEPT_ENCODING).is_some_and(|names| names.contains("br"));
    if !is_accepted {
        return bytes(Ok(text.into_bytes()));
    }
    let body = brochures::compressed(&text, shop.defect)?;
    let names = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_ENCODING, "br")];
    Ok((names, body).into_response())
}

async fn place(State(shop): Shared, Path(parcel): Path<u64>) -> JsonResult {
    Ok(Json(couriers::place(&shop, parcel).await?))
}
