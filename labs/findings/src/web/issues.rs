//! Routes of the defects of the third list.
//!
//! Does not use the stores itself.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use super::{Done, JsonResult, Shared, Text, created};
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{baskets, gate, levels, members, partner};

/// The header in which a proxy says whose request it sends on.
const CLIENT: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_members()).merge(of_baskets()).merge(of_partners()).merge(of_gate())
}

fn of_members() -> Router<Arc<Shop>> {
    Router::new()
        .route("/signin", get(sign_in))
        .route("/mailboxes/{id}", get(mailbox))
        .route("/members/{id}", get(profile))
        .route("/invoices/{id}", get(invoice))
}

fn of_baskets() -> Router<Arc<Shop>> {
    Router::new()
        .route("/baskets", post(|State(shop): Shared| async move { created(baskets::sell(&shop).await) }))
        .route(
            "/bestsellers",
            get(|State(shop): Shared| async move { baskets::best_sellers(&shop).await.map(Json) }),
        )
        .route(
            "/purchases",
            post(|State(shop): Shared| async move { created(baskets::purchase(&shop).await) }),
        )
        .route("/parcels/{id}/shipping", get(shipping))
        .route("/points", post(add_point))
}

fn of_partners() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tariffs", get(|State(shop): Shared| async move { partner::tariffs(&shop).await.map(Json) }))
        .route("/ratings", get(|State(shop): Shared| async move { partner::ratings(&shop).await.map(Json) }))
}

fn of_gate() -> Router<Arc<Shop>> {
    Router::new()
        .route("/offers", get(offers))
        .route("/account", get(account))
        .route("/pages/{id}", get(page))
}

async fn sign_in(State(shop): Shared, Query(asked): Query<Text>) -> JsonResult {
    Ok(Json(members::sign_in(&shop, &asked.text).await?))
}

async fn mailbox(State(shop): Shared, Path(mailbox): Path<i32>) -> JsonResult {
    Ok(Json(members::mailbox(&shop, mailbox).await?))
}

async fn profile(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(members::profile(&shop, id).await?))
}

async fn invoice(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(members::invoice(&shop, id).await?))
}

async fn shipping(State(shop): Shared, Path(parcel): Path<i64>) -> JsonResult {
    Ok(Json(baskets::shipping(&shop, parcel).await?))
}

async fn add_point(State(shop): Shared) -> Done {
    levels::add_point(&shop).await.map(|_| StatusCode::CREATED)
}

async fn offers(State(shop): Shared, headers: HeaderMap) -> JsonResult {
    let client = headers.get(CLIENT).and_then(|client| client.to_str().ok());
    gate::admit(&shop, client.unwrap_or_default())?;
    Ok(Json(json!(["tea", "cups"])))
}

async fn account(State(shop): Shared, headers: HeaderMap) -> JsonResult {
    let sent = headers.get(header::AUTHORIZATION).and_then(|sent| sent.to_str().ok());
    let credentials = sent.and_then(|sent| sent.strip_prefix("Basic ")).ok_or(Refusal::Stranger)?;
    gate::authenticate(&shop, credentials)?;
    Ok(Json(json!({"orders": 3})))
}

async fn page(State(shop): Shared, Path(id): Path<u64>, uri: Uri) -> JsonResult {
    if gate::is_old(&shop, uri.path()) {
        return Err(Refusal::Missing);
    }
    Ok(Json(json!({"page": id})))
}
