//! The routes: parses HTTP requests and builds responses.
//!
//! Does not know how tasks are stored or executed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutError};
use uuid::Uuid;

use crate::draft::{Change, Draft};
use crate::event::{Event, Events};
use crate::key::Keys;
use crate::limit::Limits;
use crate::maintenance::WorkNotifier;
use crate::metric::{self, Metrics};
use crate::refusal::Refusal;
use crate::store::Store;
use crate::store::create::NewTask;
use crate::store::list::Queue;
use crate::store::transaction::{self, IdempotencyKey, RequestTransaction, Started};
use crate::task::Task;
use crate::task_writer::{TaskWriter, request_digest};

mod notifications;
mod query;
mod stats;
mod watch;

const PAGE: &str = include_str!("page.html");
/// `OpenAPI` document of the routes.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Time-out between parts of a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Most tasks per page.
const PAGE_MAX: i64 = 100;
const PAGE_LENGTH: i64 = 50;

/// State shared by all request handlers.
pub struct App {
    /// The tables.
    pub store: Arc<Store>,
    /// Writes new tasks.
    pub task_writer: TaskWriter,
    /// API keys.
    pub keys: Keys,
    /// Rate limits per client.
    pub limits: Limits,
    /// Wakes workers for new tasks.
    pub notifier: Arc<WorkNotifier>,
    /// Events for clients that watch.
    pub events: Events,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// Metrics of this process.
    pub metrics: Metrics,
    /// Cancelled when the node stops.
    pub stop: CancellationToken,
    /// Whether this node serves the API.
    pub has_api: bool,
}

type AppState = State<Arc<App>>;
type BodyResult = Result<Bytes, BytesRejection>;
type IdResult = Result<Path<String>, PathRejection>;
type HandlerResult = Result<Response, Refusal>;

#[derive(Serialize)]
struct ItemBody<T> {
    data: T,
}

#[derive(Serialize)]
struct ListBody<'a> {
    data: &'a [Task],
    has_more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    limit: i64,
    offset: i64,
}

/// All routes of a node.
pub fn router(app: Arc<App>) -> Router {
    let limit = DefaultBodyLimit::max(app.body_limit);
    let mut router = Router::new();
    if app.has_api {
        router = router
            .route("/", get(page))
            .route("/api/v1/tasks", get(list).post(create))
            .route("/api/v1/tasks/{id}", get(show).put(change).patch(change).delete(delete))
            .route("/api/v1/tasks/{id}/trigger", post(trigger))
            .route("/api/v1/tasks/{id}/executions", get(executions))
            .route(
                "/api/v1/notifications",
                get(notifications::show).put(notifications::change).patch(notifications::change),
            )
            .route("/api/v1/events", get(watch::events))
            .route("/openapi.json", get(|| async { json(Bytes::from_static(OPENAPI.as_bytes())) }));
    }
    router
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(stats::figures))
        .route("/stats", get(stats::stats))
        .fallback(|| async { Refusal::NoPath })
        .method_not_allowed_fallback(|| async { Refusal::Method })
        .layer(middleware::from_fn_with_state(Arc::clone(&app), record_request))
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(limit)
        .with_state(app)
}

async fn page() -> Response {
    let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, PAGE).into_response()
}

async fn health(State(app): AppState, ConnectInfo(client): ConnectInfo<SocketAddr>) -> HandlerResult {
    app.limits.check(client.ip(), seconds(Timestamp::now()))?;
    Ok("ok".into_response())
}

async fn ready(State(app): AppState) -> HandlerResult {
    app.store.ping().await?;
    Ok("ready".into_response())
}

async fn list(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    let mut query = query::Query::read(query.as_deref(), &["queue", "limit", "offset"])?;
    let limit = query.number("limit", 1..=PAGE_MAX, PAGE_LENGTH);
    let offset = query.number("offset", 0..=i64::from(i32::MAX), 0);
    let queue = match query.text("queue", 255) {
        None => Queue::Any,
        Some(name) if name == "none" => Queue::None,
        Some(name) => Queue::Named(name),
    };
    query.finish()?;
    let page = app.store.list(organization, &queue, limit, offset).await?;
    encode(&ListBody { data: &page.tasks, has_more: page.has_more, total: page.total, limit, offset })
}

async fn create(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: BodyResult,
) -> HandlerResult {
    let now = Timestamp::now();
    let organization = app.admit(client, &headers, now).await?;
    let body = app.body(&headers, body)?;
    let idempotency_key = idempotency_key(&headers, "POST", "/api/v1/tasks", &body)?;
    let draft = match reject_early(Draft::read(&body, now), idempotency_key.as_ref())? {
        Ok(draft) if idempotency_key.is_none() && app.task_writer.is_batched(&draft) => {
            let (task, response) = app.task_writer.create(organization, draft, now).await?;
            app.notify(&task);
            return Ok(respond(response));
        }
        draft => draft,
    };
    let mut client = app.store.connect().await?;
    let transaction = match RequestTransaction::begin(&mut client, organization, idempotency_key).await? {
        Started::New(transaction) => transaction,
        Started::Replayed(response) => return Ok(respond(response)),
    };
    let (task, response) = app.task_writer.write(&transaction, draft?, now).await?;
    transaction.end(&response).await?;
    app.task_writer.record_written(&task);
    app.notify(&task);
    Ok(respond(response))
}

async fn show(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: IdResult,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    encode(&ItemBody { data: app.store.show(organization, number(&text(id)?)?).await? })
}

async fn change(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    method: Method,
    id: IdResult,
    headers: HeaderMap,
    body: BodyResult,
) -> HandlerResult {
    let now = Timestamp::now();
    let organization = app.admit(client, &headers, now).await?;
    let body = app.body(&headers, body)?;
    let id = text(id)?;
    let idempotency_key = idempotency_key(&headers, method.as_str(), &id, &body)?;
    let id = number(&id)?;
    let change = reject_early(Change::read(&body, now), idempotency_key.as_ref())?;
    let mut client = app.store.connect().await?;
    let transaction = match RequestTransaction::begin(&mut client, organization, idempotency_key).await? {
        Started::New(transaction) => transaction,
        Started::Replayed(response) => return Ok(respond(response)),
    };
    let task = transaction.change(id, &change?, now).await?;
    let response = response(200, &ItemBody { data: task })?;
    transaction.end(&response).await?;
    app.events.publish(organization, || Event::Task { task_id: id, change: "updated" });
    app.notifier.notify_workers(true);
    app.notifier.notify_scheduler();
    Ok(respond(response))
}

async fn delete(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: IdResult,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    let id = text(id)?;
    let idempotency_key = idempotency_key(&headers, "DELETE", &id, b"")?;
    let id = number(&id)?;
    let mut client = app.store.connect().await?;
    let transaction = match RequestTransaction::begin(&mut client, organization, idempotency_key).await? {
        Started::New(transaction) => transaction,
        Started::Replayed(response) => return Ok(respond(response)),
    };
    transaction.delete(id).await?;
    let response = transaction::StoredResponse { status: 204, body: String::new() };
    transaction.end(&response).await?;
    app.events.publish(organization, || Event::Task { task_id: id, change: "deleted" });
    Ok(respond(response))
}

async fn trigger(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: IdResult,
    headers: HeaderMap,
) -> HandlerResult {
    let now = Timestamp::now();
    let organization = app.admit(client, &headers, now).await?;
    let id = text(id)?;
    let idempotency_key = idempotency_key(&headers, "POST trigger", &id, b"")?;
    let id = number(&id)?;
    let mut client = app.store.connect().await?;
    let transaction = match RequestTransaction::begin(&mut client, organization, idempotency_key).await? {
        Started::New(transaction) => transaction,
        Started::Replayed(response) => return Ok(respond(response)),
    };
    let at = app.task_writer.soon(now);
    let execution = transaction.trigger(id, at).await?;
    let data =
        json!({"execution_id": execution, "status": "pending", "scheduled_for": crate::stamp::Stamp(at)});
    let response = response(202, &json!({"data": data, "message": "the task will be executed once more"}))?;
    transaction.end(&response).await?;
    app.notifier.notify_workers(true);
    Ok(respond(response))
}

async fn executions(
    State(app): AppState,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: IdResult,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> HandlerResult {
    let organization = app.admit(client, &headers, Timestamp::now()).await?;
    let id = number(&text(id)?)?;
    let mut query = query::Query::read(query.as_deref(), &["limit"])?;
    let limit = query.number("limit", 1..=PAGE_MAX, PAGE_LENGTH);
    query.finish()?;
    encode(&ItemBody { data: app.store.executions(organization, id, limit).await? })
}

impl App {
    /// Checks the rate limit and the key; returns the organization.
    async fn admit(&self, client: SocketAddr, headers: &HeaderMap, now: Timestamp) -> Result<Uuid, Refusal> {
        self.limits.check(client.ip(), seconds(now))?;
        self.keys.authenticate(headers, now).await
    }

    /// Notifies workers or the scheduler of a new task.
    fn notify(&self, task: &NewTask) {
        if task.cron.is_some() {
            self.notifier.notify_scheduler();
        } else {
            self.notifier.notify_workers(task.queue.is_some());
        }
    }

    fn body(&self, headers: &HeaderMap, body: BodyResult) -> Result<Bytes, Refusal> {
        is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ if is_late(&rejection) => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

/// Whether the body timed out: axum reports only that it did not arrive.
fn is_late(rejection: &BytesRejection) -> bool {
    let mut cause = std::error::Error::source(rejection);
    while let Some(error) = cause {
        if error.is::<TimeoutError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn seconds(now: Timestamp) -> u64 {
    now.as_second().unsigned_abs()
}

/// The `Idempotency-Key` of a request, if it has one.
fn idempotency_key(
    headers: &HeaderMap,
    method: &str,
    path: &str,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let is_key =
        |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(is_key);
    let key =
        key.ok_or_else(|| Refusal::Bad("an Idempotency-Key has 1 to 255 visible characters".to_owned()))?;
    Ok(Some(IdempotencyKey { key: key.to_owned(), request: request_digest(method, path, body) }))
}

/// Refuses a malformed request at once, unless it has an idempotency key: a replayed request must get its first response
/// even if its due time has passed since.
fn reject_early<T>(
    read: Result<T, Refusal>,
    idempotency_key: Option<&IdempotencyKey>,
) -> Result<Result<T, Refusal>, Refusal> {
    match read {
        Err(refusal) if idempotency_key.is_none() => Err(refusal),
        read => Ok(read),
    }
}

/// The id part of a path. Malformed text is reported as unknown.
fn text(id: IdResult) -> Result<String, Refusal> {
    id.map(|Path(id)| id).map_err(|_| Refusal::NoTask)
}

/// An id from a path. A malformed id is reported as unknown.
fn number(id: &str) -> Result<Uuid, Refusal> {
    Uuid::try_parse(id).map_err(|_| Refusal::NoTask)
}

fn response(status: u16, body: &impl Serialize) -> Result<transaction::StoredResponse, Refusal> {
    let body = serde_json::to_string(body).map_err(|error| Refusal::Bad(error.to_string()))?;
    Ok(transaction::StoredResponse { status, body })
}

fn encode(value: &impl Serialize) -> HandlerResult {
    // Most responses are pages of tasks.
    let mut bytes = Vec::with_capacity(32 * 1024);
    serde_json::to_writer(&mut bytes, value).map_err(|error| Refusal::Bad(error.to_string()))?;
    Ok(json(bytes.into()))
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn respond(response: transaction::StoredResponse) -> Response {
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::OK);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let mut response = json(response.body.into());
    *response.status_mut() = status;
    response
}

/// Checks that the content type is JSON in UTF-8.
fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let not_json = Refusal::Kind("the content-type has to be application/json");
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(Refusal::Kind("a body may have no content-encoding"));
    }
    let Some(Ok(kind)) = headers.get(header::CONTENT_TYPE).map(HeaderValue::to_str) else {
        return Err(not_json);
    };
    let mut parts = kind.split(';').map(str::trim);
    if !parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(not_json);
    }
    let is_utf8 = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.eq_ignore_ascii_case("charset") => {
            value.trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    if parts.all(is_utf8) { Ok(()) } else { Err(Refusal::Kind("the charset has to be utf-8")) }
}

/// Counts and logs a response with its duration.
async fn record_request(
    State(app): AppState,
    path: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let method = known(request.method());
    let begun = Instant::now();
    let response = next.run(request).await;
    let (time, status) = (begun.elapsed(), response.status().as_u16());
    let route = path.as_ref().map_or("none", MatchedPath::as_str);
    let metrics = &app.metrics;
    metrics.requests.get_or_create(&metric::Request { route: route.to_owned(), method, status }).inc();
    let timed = metric::Route { route: route.to_owned(), method };
    metrics.seconds.get_or_create(&timed).observe(time.as_secs_f64());
    tracing::debug!(method, route, status, micros = time.as_micros() as u64, "answered");
    response
}

/// Method name as a label. Clients can send any method, so unknown ones become `other`.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}
