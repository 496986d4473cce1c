//! HTTP routes: parses requests, returns todos and refusals as responses.
//!
//! Does not know how todos are stored.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use tokio::time::Instant;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::changes::Changes;
use crate::encode::Format;
use crate::executor::RequestExecutor;
use crate::metric::{self, Metrics};
use crate::refusal::Refusal;
use crate::todo::{Change, Draft};
use crate::todo_service::TodoService;

mod changes;

const PAGE: &str = include_str!("page.html");
/// `OpenAPI` document of the routes.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Maximum time between two parts of a body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Shared state of the routes, and of the calls over gRPC.
pub struct AppState {
    /// Operations on todos.
    pub todo_service: TodoService,
    /// Runs these operations.
    pub executor: RequestExecutor,
    /// The new todos, for those who read them as they come.
    pub changes: Arc<Changes>,
    /// Time between two comments that keep a stream of events alive.
    pub heartbeat: Duration,
    /// Address of gRPC, if it is served.
    pub grpc: Option<SocketAddr>,
    /// Maximum body size, in bytes.
    pub body_limit: usize,
    /// The metrics.
    pub metrics: Metrics,
}

type Shared = State<Arc<AppState>>;
type BodyResult = Result<Bytes, BytesRejection>;
type PathResult = Result<Path<String>, PathRejection>;
type RouteResult = Result<Response, Refusal>;

/// All routes.
pub fn router(state: Arc<AppState>) -> Router {
    let limit = DefaultBodyLimit::max(state.body_limit);
    Router::new()
        .route("/", get(root))
        .route("/todos/", get(list).post(create))
        .route("/todos/changes", get(changes::changes))
        .route("/todos/{id}", get(show).put(set).delete(delete))
        .route("/grpc", get(grpc_address))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| async { json(Bytes::from_static(OPENAPI.as_bytes())) }))
        .fallback(|| async { Refusal::NoPath })
        .method_not_allowed_fallback(|| async { Refusal::Method })
        .layer(middleware::from_fn_with_state(Arc::clone(&state), count))
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(limit)
        .with_state(state)
}

/// For browsers the page; for other clients, as published, whether the store responds.
async fn root(State(state): Shared, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        let headers =
            [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
        return (headers, PAGE).into_response();
    }
    match state.executor.run(state.todo_service.clone().ping()).await {
        Ok(()) => "OK".into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn ready(State(state): Shared) -> RouteResult {
    state.executor.run(state.todo_service.clone().ping()).await?;
    Ok("ready".into_response())
}

/// Where gRPC is, for clients that know only this address: a load test finds the second door through the first one.
async fn grpc_address(State(state): Shared) -> RouteResult {
    Ok(state.grpc.ok_or(Refusal::NoPath)?.to_string().into_response())
}

async fn list(State(state): Shared) -> RouteResult {
    if let Some(cached) = state.todo_service.cached_list(Format::Json) {
        return Ok(json(cached));
    }
    Ok(json(state.executor.run(state.todo_service.clone().list(Format::Json)).await?))
}

async fn show(State(state): Shared, id: PathResult) -> RouteResult {
    let id = number(id)?;
    Ok(json(state.executor.run(state.todo_service.clone().show(id, Format::Json)).await?))
}

async fn create(State(state): Shared, headers: HeaderMap, body: BodyResult) -> RouteResult {
    let draft = Draft::read(&state.body(&headers, body)?)?;
    Ok(json(state.executor.run(state.todo_service.clone().create(draft)).await?.json))
}

async fn set(State(state): Shared, id: PathResult, headers: HeaderMap, body: BodyResult) -> RouteResult {
    let id = number(id)?;
    let change = Change::read(&state.body(&headers, body)?)?;
    Ok(json(state.executor.run(state.todo_service.clone().set(id, change.done, Format::Json)).await?))
}

async fn delete(State(state): Shared, id: PathResult) -> RouteResult {
    let id = number(id)?;
    state.executor.run(state.todo_service.clone().delete(id)).await?;
    Ok(json(Bytes::from_static(b"\"OK\"")))
}

async fn metrics(State(state): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.todo_service.metrics_text()).into_response()
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Parses an id from a path. A number outside the range of ids is an unknown todo; anything else is a bad id.
fn number(id: PathResult) -> Result<i32, Refusal> {
    let Path(id) = id.map_err(|_| Refusal::BadId)?;
    let digits = id.strip_prefix('-').unwrap_or(&id);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::BadId);
    }
    id.parse().map_err(|_| Refusal::NoTodo)
}

impl AppState {
    fn body(&self, headers: &HeaderMap, body: BodyResult) -> Result<Bytes, Refusal> {
        is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ => Refusal::of_body(&rejection).unwrap_or_else(|| {
                Refusal::BadBody(format!("the body did not arrive: {}", rejection.body_text()))
            }),
        })
    }
}

/// Checks that the headers declare a body of JSON in UTF-8.
fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let not_json = Refusal::ContentType("the content-type has to be application/json");
    if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
        return Err(Refusal::ContentType("a body may have no content-encoding"));
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
    if parts.all(is_utf8) { Ok(()) } else { Err(Refusal::ContentType("the charset has to be utf-8")) }
}

/// Counts and logs each response with its duration.
async fn count(State(state): Shared, path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let method = method_label(request.method());
    let start = Instant::now();
    let response = next.run(request).await;
    let (time, status) = (start.elapsed(), response.status().as_u16());
    let route = path.as_ref().map_or("none", MatchedPath::as_str);
    let metrics = &state.metrics;
    metrics.requests.get_or_create(&metric::RequestLabels::new(route, method, status)).inc();
    metrics.seconds.get_or_create(&metric::RouteLabels::new(route, method)).observe(time.as_secs_f64());
    tracing::debug!(method, route, status, micros = time.as_micros() as u64, "answered");
    response
}

/// Label of a method. Clients can invent methods, so unknown ones share a label.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}
