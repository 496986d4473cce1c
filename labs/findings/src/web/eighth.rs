//! Routes of the defects of the eighth list.
//!
//! Does not use the stores itself.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use serde_json::json;

use super::{Done, ETAG, JsonResult, Shared, created};
use crate::defect::Defect;
use crate::recordings::LENGTH;
use crate::shop::Shop;
use crate::{notices, playlists, quotas, tallies, timetables};

/// The routes.
pub(super) fn routes() -> Router<Arc<Shop>> {
    Router::new().merge(of_tables()).merge(of_stores()).merge(of_servers()).merge(of_memory())
}

fn of_tables() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tenants/{tenant}/notices", get(unseen))
        .route("/branches/{branch}/takings", get(takings))
        .route("/branches/{branch}/complaints", get(complaints))
        .route("/playlists/{playlist}", put(reorder))
}

fn of_stores() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tallies/{first}", post(count))
        .route("/codes/{code}", post(redeem))
        .route("/albums/{album}", delete(remove))
        .route("/stocktakings/{shelf}", post(take_stock))
}

fn of_servers() -> Router<Arc<Shop>> {
    Router::new()
        .route("/quotas/{member}", get(quota))
        .route("/contacts/{member}", get(contacts))
        .route("/hints/{word}", get(hint))
}

fn of_memory() -> Router<Arc<Shop>> {
    Router::new()
        .route("/phrases/{number}", get(phrase))
        .route("/timetables", post(export))
        .route("/timetables/{line}", get(line).put(change))
        .route("/recordings/{number}", get(recording))
}

async fn unseen(State(shop): Shared, Path(tenant): Path<i32>) -> JsonResult {
    Ok(Json(notices::unseen(&shop, tenant).await?))
}

async fn takings(State(shop): Shared, Path(branch): Path<i32>) -> JsonResult {
    Ok(Json(notices::takings(&shop, branch).await?))
}

async fn complaints(State(shop): Shared, Path(branch): Path<i32>) -> JsonResult {
    Ok(Json(playlists::complaints(&shop, branch).await?))
}

async fn reorder(State(shop): Shared, Path(playlist): Path<i32>) -> Done {
    created(playlists::reorder(&shop, playlist).await)
}

async fn count(State(shop): Shared, Path(first): Path<u16>) -> Done {
    created(tallies::count(&shop, first.into()).await)
}

async fn redeem(State(shop): Shared, Path(code): Path<u32>) -> JsonResult {
    let replicas = tallies::redeem(&shop, code).await?;
    Ok(Json(json!({"code": code, "replicas": replicas})))
}

async fn remove(State(shop): Shared, Path(album): Path<i64>) -> Done {
    shop.albums.delete(album).await.map(|()| StatusCode::NO_CONTENT)
}

async fn take_stock(State(shop): Shared, Path(shelf): Path<i64>) -> Done {
    created(shop.albums.take_stock(shelf).await)
}

async fn quota(State(shop): Shared, Path(member): Path<u32>) -> JsonResult {
    Ok(Json(quotas::quota(&shop, member.into()).await?))
}

async fn contacts(State(shop): Shared, Path(member): Path<u32>) -> JsonResult {
    Ok(Json(quotas::contacts(&shop, member.into()).await?))
}

async fn hint(State(shop): Shared, Path(word): Path<u64>) -> JsonResult {
    Ok(Json(shop.hints.hint(word).await?))
}

async fn phrase(State(shop): Shared, Path(number): Path<u32>) -> JsonResult {
    Ok(Json(shop.phrases.phrase(number)?))
}

async fn export(State(shop): Shared) -> StatusCode {
    timetables::export(shop);
    StatusCode::ACCEPTED
}

async fn line(State(shop): Shared, Path(line): Path<usize>) -> JsonResult {
    Ok(Json(shop.timetables.line(line).await?))
}

async fn change(State(shop): Shared, Path(line): Path<usize>) -> Done {
    created(shop.timetables.change(line, fastrand::u32(..)).await)
}

/// A part of a recording, if one is asked for. The defect sends all of it.
async fn recording(State(shop): Shared, headers: HeaderMap) -> Response {
    let asked = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let asked = asked.filter(|_| !shop.has(Defect::IgnoredRange));
    let shared = [(header::CONTENT_TYPE, "audio/ogg"), (header::ETAG, ETAG)];
    let Some(places) = asked.and_then(|range| shop.recordings.places(range)) else {
        return (shared, shop.recordings.whole()).into_response();
    };
    let range = format!("bytes {}-{}/{LENGTH}", places.start(), places.end());
    let part = shop.recordings.part(&places);
    (StatusCode::PARTIAL_CONTENT, shared, [(header::CONTENT_RANGE, range)], part).into_response()
}
