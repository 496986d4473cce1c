//! Routes of the defects of the ninth list.
//!
//! Does not use the stores itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};

use super::{JsonResult, Shared, bytes};
use crate::almanacs::{self, Almanac};
use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{arrivals, polls, recipes, registers, vendors};

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_tables()).merge(of_stores()).merge(of_servers()).merge(of_memory())
}

fn of_tables() -> Router<Arc<Shop>> {
    Router::new()
        .route("/registers/{book}", get(register))
        .route("/permits/{district}", post(issue))
        .route("/recipes/{tag}", get(tagged))
        .route("/passbooks/{account}", get(passbook))
        .route("/polls/{poll}", get(top))
}

fn of_stores() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tenants/{tenant}/board", get(board))
        .route("/currencies/{number}", get(currency))
        .route("/streets/{beginning}", get(streets))
}

fn of_servers() -> Router<Arc<Shop>> {
    Router::new()
        .route("/vendors/{number}", get(vendor))
        .route("/samples/{number}", get(sample))
        .route("/appraisals", post(appraise))
        .route("/checks/{number}", get(check))
}

fn of_memory() -> Router<Arc<Shop>> {
    Router::new()
        .route("/almanacs/{year}", get(almanac))
        .route("/enquiries/{number}", post(enquire))
        .route("/arrivals/{number}", get(arrive))
}

async fn register(State(shop): Shared, Path(book): Path<i32>) -> JsonResult {
    Ok(Json(registers::register(&shop, book).await?))
}

async fn issue(State(shop): Shared, Path(district): Path<i32>) -> JsonResult {
    Ok(Json(registers::issue(&shop, district).await?))
}

async fn tagged(State(shop): Shared, Path(tag): Path<String>) -> JsonResult {
    Ok(Json(recipes::tagged(&shop, &tag).await?))
}

async fn passbook(State(shop): Shared, Path(account): Path<i32>) -> JsonResult {
    Ok(Json(recipes::passbook(&shop, account).await?))
}

async fn top(State(shop): Shared, Path(poll): Path<i32>) -> JsonResult {
    Ok(Json(polls::top(&shop, poll).await?))
}

async fn board(State(shop): Shared, Path(tenant): Path<i32>) -> Result<Response, Refusal> {
    bytes(polls::board(&shop, tenant).await)
}

async fn currency(State(shop): Shared, Path(number): Path<u32>) -> Result<Response, Refusal> {
    bytes(polls::currency(&shop, number.into()).await)
}

async fn streets(State(shop): Shared, Path(beginning): Path<u32>) -> JsonResult {
    Ok(Json(shop.streets.that_begin(beginning).await?))
}

async fn vendor(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(vendors::vendor(&shop, number.into()).await?))
}

async fn sample(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(vendors::sample(&shop, number.into()).await?))
}

async fn appraise(State(shop): Shared) -> StatusCode {
    vendors::appraise(&shop);
    StatusCode::ACCEPTED
}

async fn check(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(vendors::check(&shop, number.into()).await?))
}

/// An almanac; without a body for a client that has it.
async fn almanac(State(shop): Shared, Path(year): Path<u32>, headers: HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    let Almanac { validator, text } = almanacs::almanac(year, known, shop.has(Defect::LateValidator));
    let validator = [(header::ETAG, validator)];
    match text {
        Some(text) => (validator, text).into_response(),
        None => (StatusCode::NOT_MODIFIED, validator).into_response(),
    }
}

async fn enquire(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(almanacs::enquire(&shop, number.into()).await?))
}

async fn arrive(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(arrivals::arrive(&shop, number)))
}
