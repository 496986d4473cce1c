//! Routes of the defects of the seventh list.
//!
//! Does not use the stores itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use serde_json::Value;

use super::{Done, JsonResult, Shared, created};
use crate::defect::Defect;
use crate::shop::Shop;
use crate::{parts, surveys, timelines, trips, yearbooks};

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_tables()).merge(of_stores()).merge(of_servers()).merge(of_memory())
}

fn of_tables() -> Router<Arc<Shop>> {
    Router::new()
        .route("/drivers/{driver}/trips", get(newest))
        .route("/fares", post(load))
        .route("/fares/{route}", get(fare))
        .route("/picks/{first}", get(picks))
        .route("/surveys/{id}", put(answer))
        .route("/boards/{first}", get(board))
}

fn of_stores() -> Router<Arc<Shop>> {
    Router::new()
        .route("/timelines/{member}", get(timeline))
        .route("/loans/{first}", get(lent))
        .route("/returns", post(tidy))
        .route("/returns/{book}", post(give_back))
}

fn of_servers() -> Router<Arc<Shop>> {
    Router::new()
        .route("/kits/{kit}", get(kit))
        .route("/stations/{number}", get(station))
        .route("/labels/{number}", post(print))
}

fn of_memory() -> Router<Arc<Shop>> {
    Router::new()
        .route("/carts", post(save))
        .route("/carts/{number}", put(add))
        .route("/yearbooks/{year}", get(yearbook).post(begin))
        .route("/yearbooks/pages/{number}", get(page))
        .route("/reviews/{product}", get(reviews))
}

async fn newest(State(shop): Shared, Path(driver): Path<i32>) -> JsonResult {
    Ok(Json(trips::newest(&shop, driver).await?))
}

async fn load(State(shop): Shared) -> StatusCode {
    trips::load(shop);
    StatusCode::ACCEPTED
}

async fn fare(State(shop): Shared, Path(route): Path<i32>) -> JsonResult {
    Ok(Json(trips::fare(&shop, route).await?))
}

async fn picks(State(shop): Shared, Path(first): Path<i32>) -> JsonResult {
    Ok(Json(trips::picks(&shop, first.into()).await?))
}

async fn answer(State(shop): Shared, Path(id): Path<i64>) -> Done {
    created(surveys::answer(&shop, id).await)
}

async fn board(State(shop): Shared, Path(first): Path<i32>) -> JsonResult {
    Ok(Json(surveys::board(&shop, first.into()).await?))
}

async fn timeline(State(shop): Shared, Path(member): Path<u16>) -> JsonResult {
    Ok(Json(timelines::timeline(&shop, member.into()).await?))
}

async fn lent(State(shop): Shared, Path(first): Path<i64>) -> JsonResult {
    Ok(Json(Arc::clone(&shop.loans).lent(first).await?))
}

async fn tidy(State(shop): Shared) -> StatusCode {
    Arc::clone(&shop.loans).tidy();
    StatusCode::ACCEPTED
}

async fn give_back(State(shop): Shared, Path(book): Path<i64>) -> Done {
    created(Arc::clone(&shop.loans).give_back(book).await)
}

async fn kit(State(shop): Shared, Path(kit): Path<u32>) -> JsonResult {
    Ok(Json(parts::kit(&shop, kit.into()).await?))
}

async fn station(State(shop): Shared, Path(number): Path<u64>) -> JsonResult {
    Ok(Json(parts::station(&shop, number).await?))
}

async fn print(State(shop): Shared, Path(number): Path<u64>) -> Done {
    created(parts::print(&shop, number).await)
}

async fn save(State(shop): Shared) -> StatusCode {
    Arc::clone(&shop.carts).save();
    StatusCode::ACCEPTED
}

async fn add(State(shop): Shared, Path(number): Path<usize>) -> JsonResult {
    Ok(Json(shop.carts.add(number).await?))
}

async fn yearbook(State(shop): Shared, Path(year): Path<u64>) -> JsonResult {
    Ok(Json(yearbooks::yearbook(&shop, year)?))
}

async fn begin(State(shop): Shared, Path(year): Path<u64>) -> StatusCode {
    yearbooks::begin(shop, year);
    StatusCode::ACCEPTED
}

async fn page(Path(number): Path<u32>) -> Json<Value> {
    Json(yearbooks::page(number.into()))
}

async fn reviews(State(shop): Shared, Path(product): Path<u32>) -> Json<Value> {
    Json(yearbooks::reviews(product.into(), shop.has(Defect::NestedAuthors)))
}
