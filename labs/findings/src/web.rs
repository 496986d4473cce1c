//! HTTP routes: parses requests, returns what the modules of the shop return.
//!
//! Does not use the stores itself.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::stream::{StreamExt as _, iter};
use serde::Deserialize;
use serde_json::Value;

use crate::defect::Defect;
use crate::refusal::Refusal;
use crate::shop::Shop;
use crate::{jobs, menus, news, notes, partner, sales};

mod eighth;
mod field;
mod incidents;
mod issues;
mod late;
mod ninth;
mod seventh;
mod sixth;
mod threads;

type Shared = State<Arc<Shop>>;
type JsonResult = Result<Json<Value>, Refusal>;
type Done = Result<StatusCode, Refusal>;

/// The validator of the front page.
const ETAG: &str = "\"1\"";
/// How long a job runs, and the longest time that a request can ask for.
const JOB_MS: u64 = 15;
const WORK_MAX: u64 = 5000;
/// What a client sends along with a view: its headers and where it came from.
const DETAILS: &str = "accept-language=en; referer=http://127.0.0.1/; width=1920; height=1080; ";

/// All routes.
pub fn router(shop: Arc<Shop>) -> Router {
    Router::new()
        .route("/health", get(|| async { "ok" }))
        .route("/metrics", get(metrics))
        .merge(of_jobs())
        .merge(of_news())
        .merge(of_menus())
        .merge(of_notes())
        .merge(of_sales())
        .merge(incidents::routes())
        .merge(issues::routes())
        .merge(field::routes())
        .merge(late::routes())
        .merge(threads::routes())
        .merge(sixth::routes())
        .merge(seventh::routes())
        .merge(eighth::routes())
        .merge(ninth::routes())
        .layer(middleware::from_fn_with_state(Arc::clone(&shop), close_if_asked))
        .with_state(shop)
}

fn of_jobs() -> Router<Arc<Shop>> {
    Router::new()
        .route("/jobs/claim", post(claim))
        .route(
            "/jobs/batch",
            post(|State(shop): Shared| async move { created(jobs::add_batch(&shop).await) }),
        )
        .route(
            "/jobs/announce",
            post(|State(shop): Shared| async move { created(jobs::announce(&shop).await) }),
        )
        .route(
            "/cases/next",
            get(|State(shop): Shared| async move { jobs::next_cases(&shop).await.map(Json) }),
        )
        .route("/delivery", get(delivery))
        .route("/stock", get(|State(shop): Shared| async move { jobs::stock_summary(&shop).await.map(Json) }))
        .route("/stock/{sku}", get(item).put(touch))
}

fn of_news() -> Router<Arc<Shop>> {
    Router::new()
        .route("/front", get(front))
        .route("/sections/{section}", get(section))
        .route("/articles", get(page))
        .route("/articles/authors", get(with_authors))
        .route("/articles/search", get(search_articles))
        .route("/views/{article}", post(view))
        .route("/events/{article}", post(event))
}

fn of_menus() -> Router<Arc<Shop>> {
    Router::new()
        .route("/options/{tenant}", get(options))
        .route("/options/search", get(search_options))
        .route("/top", get(|State(shop): Shared| async move { bytes(menus::top(&shop).await) }))
        .route("/sessions/{user}", get(sessions))
        .route("/prices/{from}", get(prices))
        .route("/catalog/{page}", get(catalog))
        .route("/thumbnails/{number}", get(thumbnail))
        .route("/export", get(|State(shop): Shared| async move { Json(menus::export(&shop)) }))
}

fn of_notes() -> Router<Arc<Shop>> {
    Router::new()
        .route("/notes/{id}", get(note))
        .route("/notes/{id}/text", get(note_text))
        .route("/lists/{id}", delete(delete_list))
        .route("/documents/{id}", put(change_document))
}

fn of_sales() -> Router<Arc<Shop>> {
    Router::new()
        .route("/tickets", post(|State(shop): Shared| async move { created(sales::buy(&shop).await) }))
        .route(
            "/reservations",
            post(|State(shop): Shared| async move { created(sales::reserve(&shop).await) }),
        )
        .route("/payments/{order}", post(pay))
        .route("/orders", post(|State(shop): Shared| async move { created(sales::order(&shop).await) }))
        .route(
            "/checkouts",
            post(|State(shop): Shared| async move { created(sales::check_out(&shop).await) }),
        )
}

/// What the connections to SQLite did, in the text format of Prometheus.
async fn metrics(State(shop): Shared) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], shop.watch.page()).into_response()
}

/// With one defect, every response asks the client to close its connection; with another, requests pause.
async fn close_if_asked(State(shop): Shared, request: axum::extract::Request, next: Next) -> Response {
    partner::wait_for_pause(&shop).await;
    let mut response = next.run(request).await;
    if shop.has(Defect::NoKeepAlive) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn created(result: Result<(), Refusal>) -> Done {
    result.map(|()| StatusCode::CREATED)
}

fn bytes(result: Result<Vec<u8>, Refusal>) -> Result<Response, Refusal> {
    Ok(([(header::CONTENT_TYPE, "application/json")], result?).into_response())
}

#[derive(Deserialize)]
struct Work {
    /// How long it takes.
    ms: Option<u64>,
}

impl Work {
    /// Its time in milliseconds, or this one.
    fn ms_or(&self, usual: u64) -> u64 {
        self.ms.unwrap_or(usual).min(WORK_MAX)
    }
}

async fn claim(State(shop): Shared, Query(work): Query<Work>) -> Result<Response, Refusal> {
    let work = Duration::from_millis(work.ms_or(JOB_MS));
    Ok(match jobs::claim(&shop, work).await? {
        Some(id) => Json(Value::from(id)).into_response(),
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

async fn delivery(State(shop): Shared) -> JsonResult {
    Ok(Json(jobs::delivery_days(&shop).await?.into()))
}

async fn item(State(shop): Shared, Path(sku): Path<i64>) -> JsonResult {
    Ok(Json(jobs::item(&shop, sku).await?))
}

async fn touch(State(shop): Shared, Path(sku): Path<i64>) -> Done {
    created(jobs::touch(&shop, sku).await)
}

/// The front page; without a body for a client that has it.
async fn front(State(shop): Shared, headers: HeaderMap) -> Response {
    if shop.has(Defect::NoValidators) {
        return shop.front.clone().into_response();
    }
    if headers.get(header::IF_NONE_MATCH).is_some_and(|validator| validator == ETAG) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, ETAG)]).into_response();
    }
    ([(header::ETAG, ETAG)], shop.front.clone()).into_response()
}

async fn section(State(shop): Shared, Path(section): Path<i32>) -> JsonResult {
    Ok(Json(news::section(&shop, section).await?))
}

#[derive(Deserialize)]
struct Page {
    page: i64,
    before: i64,
}

async fn page(State(shop): Shared, Query(asked): Query<Page>) -> JsonResult {
    Ok(Json(news::page(&shop, asked.page, asked.before).await?))
}

async fn with_authors(State(shop): Shared, Query(asked): Query<Page>) -> JsonResult {
    Ok(Json(news::with_authors(&shop, asked.before).await?))
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct After {
    after: i64,
}

async fn search_articles(State(shop): Shared, Query(asked): Query<Text>) -> JsonResult {
    Ok(Json(news::search(&shop, &asked.text).await?))
}

async fn view(State(shop): Shared, Path(article): Path<i64>) -> Done {
    created(shop.views.add(article, None).await)
}

async fn event(State(shop): Shared, Path(article): Path<i64>) -> Done {
    created(shop.views.add(article, Some(DETAILS.repeat(60))).await)
}

async fn options(State(shop): Shared, Path(tenant): Path<i32>) -> Result<Response, Refusal> {
    bytes(menus::options(&shop, tenant).await)
}

async fn search_options(State(shop): Shared, Query(asked): Query<Text>) -> JsonResult {
    Ok(Json(menus::search(&shop, &asked.text).await?))
}

async fn sessions(State(shop): Shared, Path(user): Path<usize>) -> JsonResult {
    Ok(Json(menus::sessions(&shop, user).await?.into()))
}

async fn prices(State(shop): Shared, Path(from): Path<usize>) -> JsonResult {
    Ok(Json(menus::prices(&shop, from).await?.into()))
}

async fn catalog(State(shop): Shared, Path(page): Path<usize>) -> Result<Response, Refusal> {
    bytes(menus::catalog(&shop, page).await)
}

async fn thumbnail(State(shop): Shared, Path(number): Path<usize>) -> Result<Response, Refusal> {
    bytes(menus::thumbnail(&shop, number).await)
}

async fn note(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(notes::note(&shop, id).await?))
}

/// A note in two pieces, as from a template whose head is sent first: two small writes.
async fn note_text(State(shop): Shared, Path(id): Path<i64>) -> Result<Response, Refusal> {
    let note = notes::note(&shop, id).await?;
    let pieces = [format!("note {id}\n\n"), note.to_string()].map(Bytes::from);
    let pieces = iter(pieces).then(|piece| async move {
        // The server writes what it has while the next piece is not ready.
        tokio::task::yield_now().await;
        Ok::<_, Infallible>(piece)
    });
    Ok(Body::from_stream(pieces).into_response())
}

async fn delete_list(State(shop): Shared, Path(id): Path<i64>) -> Done {
    notes::delete_list(&shop, id).await.map(|()| StatusCode::NO_CONTENT)
}

async fn change_document(State(shop): Shared, Path(id): Path<i64>) -> JsonResult {
    Ok(Json(notes::change_document(&shop, id).await?))
}

async fn pay(State(shop): Shared, Path(order): Path<u64>) -> Done {
    created(sales::pay(&shop, order).await)
}
