//! Routes of the entries of the first list that were seeded last: todos with a replica, and orders at the bank.
//!
//! Does not use the stores itself.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

use super::{After, Done, JsonResult, Shared, Work, created};
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{bank, todos};

/// How long a payment takes at the bank.
const PAYMENT_MS: u64 = 6;

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new()
        .route("/members/{id}/todos", get(newest).post(add))
        .route("/members/{id}/todos/{todo}", get(one))
        .route("/amounts", get(amounts))
        .route("/sales", post(sell))
}

async fn newest(State(shop): Shared, Path(member): Path<i64>) -> JsonResult {
    Ok(Json(todos::newest(&shop, member).await?))
}

async fn add(State(shop): Shared, Path(member): Path<i64>) -> Result<(StatusCode, Json<Value>), Refusal> {
    let id = todos::add(&shop, member).await?;
    Ok((StatusCode::CREATED, Json(json!({"id": id}))))
}

async fn one(State(shop): Shared, Path((member, id)): Path<(i64, i64)>) -> JsonResult {
    Ok(Json(todos::one(&shop, member, id).await?))
}

async fn amounts(State(shop): Shared, Query(asked): Query<After>) -> JsonResult {
    Ok(Json(todos::amounts(&shop, asked.after).await?))
}

async fn sell(State(shop): Shared, Query(work): Query<Work>) -> Done {
    created(bank::sell(&shop, Duration::from_millis(work.ms_or(PAYMENT_MS))).await)
}
