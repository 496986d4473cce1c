//! Routes of the defects that come from incidents.
//!
//! Does not use the stores itself.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};

use super::{After, Done, JsonResult, Shared, Text, Work, bytes, created};
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{levels, office, parcels, partner};

/// How long another server needs to close an account.
const CLOSING_MS: u64 = 60;

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_parcels()).merge(of_office()).merge(of_levels()).merge(of_partners())
}

fn of_parcels() -> Router<Arc<Shop>> {
    Router::new()
        .route("/customers/{id}/parcels", get(waiting))
        .route("/parcels", get(found))
        .route("/parcels/{id}", get(parcel))
        .route("/routes/{route}", get(route))
}

fn of_office() -> Router<Arc<Shop>> {
    Router::new()
        .route("/accounts/{id}/entries", post(add_entry))
        .route("/accounts/{id}/closing", post(close))
        .route("/mails", post(|State(shop): Shared| async move { created(office::take_mail(&shop).await) }))
        .route("/reports", get(reports))
        .route("/shelves/{id}", post(place))
        .route(
            "/feed",
            get(feed).post(|State(shop): Shared| async move { created(office::post(&shop).await) }),
        )
}

fn of_levels() -> Router<Arc<Shop>> {
    Router::new()
        .route("/levels/{item}", get(level))
        .route("/prices", get(total))
        .route("/quotes", post(quote))
        .route("/visits/{article}", post(visit))
}

fn of_partners() -> Router<Arc<Shop>> {
    Router::new()
        .route("/rates", get(|State(shop): Shared| async move { partner::rates(&shop).await.map(Json) }))
        .route(
            "/overview",
            get(|State(shop): Shared| async move { partner::overview(&shop).await.map(Json) }),
        )
}

async fn waiting(State(shop): Shared, Path(customer): Path<i64>) -> JsonResult {
    Ok(Json(parcels::waiting(&shop, customer).await?))
}

async fn parcel(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(parcels::parcel(&shop, id).await?))
}

async fn found(State(shop): Shared, Query(asked): Query<Text>) -> JsonResult {
    Ok(Json(parcels::found(&shop, &asked.text).await?))
}

async fn route(State(shop): Shared, Path(route): Path<i32>) -> JsonResult {
    Ok(Json(parcels::route(&shop, route).await?))
}

async fn add_entry(State(shop): Shared, Path(account): Path<i64>) -> Done {
    created(office::add_entry(&shop, account).await)
}

async fn close(State(shop): Shared, Path(account): Path<i64>, Query(work): Query<Work>) -> Done {
    let work = Duration::from_millis(work.ms_or(CLOSING_MS));
    created(office::close(&shop, account, work).await)
}

async fn reports(State(shop): Shared, Query(asked): Query<After>) -> JsonResult {
    Ok(Json(office::reports(&shop, asked.after).await?))
}

async fn place(State(shop): Shared, Path(shelf): Path<i64>) -> Done {
    created(office::place(&shop, shelf).await)
}

async fn feed(State(shop): Shared) -> JsonResult {
    Ok(Json(office::feed(&shop).await?))
}

async fn level(State(shop): Shared, Path(item): Path<usize>) -> Result<Response, Refusal> {
    bytes(levels::level(&shop, item).await)
}

async fn total(State(shop): Shared) -> JsonResult {
    Ok(Json(levels::total(&shop).await?.into()))
}

async fn quote(State(shop): Shared) -> Result<(StatusCode, String), Refusal> {
    Ok((StatusCode::CREATED, levels::quote(&shop).await?))
}

async fn visit(State(shop): Shared, Path(article): Path<i64>) -> Done {
    created(shop.views.visit(article, &shop.calls).await)
}
