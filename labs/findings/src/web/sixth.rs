//! Routes of the defects of the sixth list.
//!
//! Does not use the stores itself.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::stream::{StreamExt as _, iter};
use serde::Deserialize;
use serde_json::json;

use super::{Done, JsonResult, Shared, Work, created};
use crate::shop::Shop;
use crate::{clients, favourites, ledgers, receipts, refunds, signups, spans};

/// How long another server needs to allow an exchange.
const EXCHANGE_MS: u64 = 100;

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_lists()).merge(of_receipts()).merge(of_stores()).merge(of_servers())
}

fn of_lists() -> Router<Arc<Shop>> {
    Router::new()
        .route("/refunds", get(|State(shop): Shared| async move { refunds::open(&shop).await.map(Json) }))
        .route("/scans", get(page))
        .route(
            "/readings",
            get(|State(shop): Shared| async move { refunds::readings(&shop).await.map(Json) }),
        )
}

fn of_receipts() -> Router<Arc<Shop>> {
    Router::new()
        .route("/receipts", post(|State(shop): Shared| async move { created(receipts::issue(&shop).await) }))
        .route("/releases", post(release))
        .route("/supplies/{supplier}", post(take_over))
        .route("/exchanges/{member}", post(exchange))
        .route("/signups/{member}", post(sign_up))
}

fn of_stores() -> Router<Arc<Shop>> {
    Router::new()
        .route("/favourites", post(renew))
        .route("/favourites/{number}", get(favourite))
        .route("/atlas", get(export))
        .route("/atlas/{place}", get(place))
}

fn of_servers() -> Router<Arc<Shop>> {
    Router::new()
        .route("/opinions/{product}", get(opinions))
        .route("/insurances/{product}", get(insurance))
        .route("/exhibits/{number}", get(exhibit))
        .route("/deals", get(|State(shop): Shared| async move { spans::deal(&shop).await.map(Json) }))
        .route("/ledgers/{account}", get(ledger))
}

/// The last scan of the page before.
#[derive(Deserialize)]
struct Scan {
    minute: i32,
    id: i64,
}

async fn page(State(shop): Shared, Query(last): Query<Scan>) -> JsonResult {
    Ok(Json(refunds::scans(&shop, last.minute, last.id).await?))
}

async fn release(State(shop): Shared) -> StatusCode {
    receipts::release(shop);
    StatusCode::ACCEPTED
}

async fn take_over(State(shop): Shared, Path(supplier): Path<i32>) -> JsonResult {
    let written = receipts::take_over(&shop, supplier).await?;
    Ok(Json(json!({"written": written})))
}

async fn exchange(State(shop): Shared, Path(member): Path<i64>, Query(work): Query<Work>) -> Done {
    let check = Duration::from_millis(work.ms_or(EXCHANGE_MS));
    created(receipts::exchange(&shop, member, check).await)
}

async fn sign_up(State(shop): Shared, Path(member): Path<i64>) -> Done {
    created(signups::sign_up(&shop, member).await)
}

async fn renew(State(shop): Shared) -> StatusCode {
    favourites::renew(shop);
    StatusCode::ACCEPTED
}

async fn favourite(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(favourites::worth(&shop, number).await?))
}

async fn export(State(shop): Shared) -> JsonResult {
    let sent = Arc::clone(&shop.atlas).export(Arc::clone(&shop.calls)).await?;
    Ok(Json(json!({"sent": sent})))
}

async fn place(State(shop): Shared, Path(place): Path<i64>) -> JsonResult {
    let text = Arc::clone(&shop.atlas).place(place).await?;
    Ok(Json(json!({"place": place, "text": text})))
}

async fn opinions(State(shop): Shared, Path(product): Path<u32>) -> JsonResult {
    Ok(Json(clients::opinions(&shop, product).await?))
}

async fn insurance(State(shop): Shared, Path(product): Path<u32>) -> JsonResult {
    Ok(Json(clients::insurance(&shop, product).await?))
}

async fn exhibit(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(clients::exhibit(&shop, number).await?))
}

/// A ledger, written piece by piece.
async fn ledger(State(shop): Shared, Path(account): Path<u64>) -> Response {
    let pieces = iter(ledgers::pieces(account, shop.defect)).then(|piece| async move {
        // The server writes what it has while the next piece is not ready.
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(Bytes::from(piece))
    });
    ([(header::CONTENT_TYPE, "text/csv")], Body::from_stream(pieces)).into_response()
}
