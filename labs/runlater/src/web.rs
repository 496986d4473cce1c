//! The routes: HTTP taken apart, tasks and refusals put into answers.
//!
//! Does not know how tasks are kept, nor how they are executed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::BytesRejection;
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
use tower_http::timeout::RequestBodyTimeoutLayer;
use uuid::Uuid;

use crate::clerk::{Clerk, Once, request_digest};
use crate::draft::{Change, Draft};
use crate::event::{Event, Events};
use crate::house::Bell;
use crate::key::Keys;
use crate::limit::Limits;
use crate::metric::{self, Metrics};
use crate::refusal::Refusal;
use crate::store::Store;
use crate::store::create::Promise;
use crate::store::list::Queue;
use crate::task::Task;

mod notices;
mod query;
mod stats;
mod watch;

const PAGE: &str = include_str!("page.html");
/// What the routes take and give, for programs.
pub const OPENAPI: &str = include_str!("openapi.json");

/// How long parts of a body may be apart.
const BODY_PATIENCE: Duration = Duration::from_secs(10);
/// Tasks of a page.
const PAGE_MAX: i64 = 100;
const PAGE_LENGTH: i64 = 50;

/// What the routes work with.
pub struct Office {
    /// The tables.
    pub store: Arc<Store>,
    /// Who writes new tasks.
    pub clerk: Clerk,
    /// The keys.
    pub keys: Keys,
    /// How many requests a client may make.
    pub limits: Limits,
    /// Those who want to know of new tasks.
    pub bell: Arc<Bell>,
    /// What happens.
    pub events: Events,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// The figures.
    pub metrics: Metrics,
    /// The node stops.
    pub stop: CancellationToken,
    /// Whether this node answers requests of callers.
    pub has_api: bool,
}

type Shared = State<Arc<Office>>;
type Arrived = Result<Bytes, BytesRejection>;
type Answer = Result<Response, Refusal>;

#[derive(Serialize)]
struct One<T> {
    data: T,
}

#[derive(Serialize)]
struct Made<T> {
    data: T,
    message: &'static str,
}

#[derive(Serialize)]
struct Many<'a> {
    data: &'a [Task],
    has_more: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<i64>,
    limit: i64,
    offset: i64,
}

/// All routes of a node.
pub fn router(office: Arc<Office>) -> Router {
    let limit = DefaultBodyLimit::max(office.body_limit);
    let mut router = Router::new();
    if office.has_api {
        router = router
            .route("/", get(page))
            .route("/api/v1/tasks", get(list).post(create))
            .route("/api/v1/tasks/{id}", get(show).put(change).patch(change).delete(delete))
            .route("/api/v1/tasks/{id}/trigger", post(trigger))
            .route("/api/v1/tasks/{id}/executions", get(executions))
            .route("/api/v1/notifications", get(notices::wishes).put(notices::wish).patch(notices::wish))
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
        .layer(middleware::from_fn_with_state(Arc::clone(&office), count))
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyTimeoutLayer::new(BODY_PATIENCE))
        .layer(limit)
        .with_state(office)
}

async fn page() -> Response {
    let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, PAGE).into_response()
}

async fn health(State(office): Shared, ConnectInfo(client): ConnectInfo<SocketAddr>) -> Answer {
    office.limits.pass(client.ip(), seconds(Timestamp::now()))?;
    Ok("ok".into_response())
}

async fn ready(State(office): Shared) -> Answer {
    office.store.ping().await?;
    Ok("ready".into_response())
}

async fn list(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let mut asked = query::Asked::read(query.as_deref(), &["queue", "limit", "offset"])?;
    let limit = asked.number("limit", 1..=PAGE_MAX, PAGE_LENGTH);
    let offset = asked.number("offset", 0..=i64::from(i32::MAX), 0);
    let queue = match asked.text("queue", 255) {
        None => Queue::Any,
        Some(name) if name == "none" => Queue::None,
        Some(name) => Queue::Named(name),
    };
    asked.finish()?;
    let page = office.store.list(organization, &queue, limit, offset).await?;
    encode(&Many { data: &page.tasks, has_more: page.has_more, total: page.total, limit, offset })
}

async fn create(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    body: Arrived,
) -> Answer {
    let now = Timestamp::now();
    let organization = office.admit(client, &headers, now).await?;
    let body = office.body(&headers, body)?;
    let once = once(&headers, "POST", "/api/v1/tasks", &body)?;
    let draft = Draft::read(&body, now)?;
    let is_cron = matches!(draft.when, crate::draft::When::Cron(..));
    if is_cron {
        let creating = office.create_cron(organization, draft, now);
        return office.idempotent(organization, once, creating).await;
    }
    let (task, answer) = office.clerk.create(organization, draft, once, now).await?;
    office.bell.ring(task.queue.is_some());
    Ok(answered(answer.status, answer.body))
}

async fn show(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    encode(&One { data: office.store.show(organization, number(&id)?).await? })
}

async fn change(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    method: Method,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Arrived,
) -> Answer {
    let now = Timestamp::now();
    let organization = office.admit(client, &headers, now).await?;
    let body = office.body(&headers, body)?;
    let once = once(&headers, method.as_str(), &id, &body)?;
    let id = number(&id)?;
    let change = Change::read(&body, now)?;
    let changing = async {
        let task = office.store.change(organization, id, &change, now).await?;
        office.events.tell(organization, || Event::Task { task_id: id, change: "updated" });
        office.bell.ring(true);
        office.bell.ring_scheduler();
        Ok((200, text(&One { data: task })?))
    };
    office.idempotent(organization, once, changing).await
}

async fn delete(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let once = once(&headers, "DELETE", &id, b"")?;
    let id = number(&id)?;
    let deleting = async {
        office.store.delete(organization, id).await?;
        office.events.tell(organization, || Event::Task { task_id: id, change: "deleted" });
        Ok((204, String::new()))
    };
    office.idempotent(organization, once, deleting).await
}

async fn trigger(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Answer {
    let now = Timestamp::now();
    let organization = office.admit(client, &headers, now).await?;
    let once = once(&headers, "POST trigger", &id, b"")?;
    let id = number(&id)?;
    let triggering = async {
        let at = office.clerk.soon(now);
        let execution = office.store.trigger(organization, id, at).await?;
        office.bell.ring(true);
        let data = json!({"execution_id": execution, "status": "pending",
                          "scheduled_for": crate::stamp::Stamp(at)});
        Ok((202, text(&json!({"data": data, "message": "the task will be executed once more"}))?))
    };
    office.idempotent(organization, once, triggering).await
}

async fn executions(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let id = number(&id)?;
    let mut asked = query::Asked::read(query.as_deref(), &["limit"])?;
    let limit = asked.number("limit", 1..=PAGE_MAX, PAGE_LENGTH);
    asked.finish()?;
    encode(&One { data: office.store.executions(organization, id, limit).await? })
}

impl Office {
    /// Whose request it is, if the client may make one more.
    async fn admit(&self, client: SocketAddr, headers: &HeaderMap, now: Timestamp) -> Result<Uuid, Refusal> {
        self.limits.pass(client.ip(), seconds(now))?;
        self.keys.prove(headers, now).await
    }

    async fn create_cron(
        &self,
        organization: Uuid,
        draft: Draft,
        now: Timestamp,
    ) -> Result<(u16, String), Refusal> {
        let (task, _) = self.clerk.create(organization, draft, None, now).await?;
        self.bell.ring_scheduler();
        let data = self.store.show(organization, task.id).await?;
        Ok((201, text(&Made { data, message: "the task is written and will be executed again and again" })?))
    }

    /// Does something unless the same request was answered before: then the answer is the same.
    async fn idempotent(
        &self,
        organization: Uuid,
        once: Option<Once>,
        doing: impl Future<Output = Result<(u16, String), Refusal>>,
    ) -> Answer {
        let Some(once) = once else {
            let (status, body) = doing.await?;
            return Ok(answered(status, body));
        };
        if let Some(before) = self.store.promised(organization, &once.key).await? {
            if before.request != once.request {
                return Err(Refusal::KeyReused);
            }
            return Ok(answered(before.status, before.body));
        }
        let (status, body) = doing.await?;
        let promise = Promise { key: once.key, request: once.request, status, body };
        self.store.promise(organization, &promise).await?;
        Ok(answered(status, promise.body))
    }

    fn body(&self, headers: &HeaderMap, body: Arrived) -> Result<Bytes, Refusal> {
        is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            StatusCode::REQUEST_TIMEOUT => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

fn seconds(now: Timestamp) -> u64 {
    now.as_second().unsigned_abs()
}

/// The `Idempotency-Key` of a request, if it has one.
fn once(headers: &HeaderMap, method: &str, path: &str, body: &[u8]) -> Result<Option<Once>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let is_key =
        |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(is_key);
    let key =
        key.ok_or_else(|| Refusal::Bad("an Idempotency-Key has 1 to 255 visible characters".to_owned()))?;
    Ok(Some(Once { key: key.to_owned(), request: request_digest(method, path, body) }))
}

/// An id from a path. What is no id is the id of nothing.
fn number(id: &str) -> Result<Uuid, Refusal> {
    Uuid::try_parse(id).map_err(|_| Refusal::NoTask)
}

fn text(value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| Refusal::Bad(error.to_string()))
}

fn encode(value: &impl Serialize) -> Answer {
    // Most answers are pages of tasks.
    let mut bytes = Vec::with_capacity(32 * 1024);
    serde_json::to_writer(&mut bytes, value).map_err(|error| Refusal::Bad(error.to_string()))?;
    Ok(json(bytes.into()))
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn answered(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let mut response = json(body.into());
    *response.status_mut() = status;
    response
}

/// Whether a body is said to be JSON in UTF-8, as it is.
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

/// Counts and logs what was answered, after how long.
async fn count(State(office): Shared, path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let method = known(request.method());
    let begun = Instant::now();
    let response = next.run(request).await;
    let (time, status) = (begun.elapsed(), response.status().as_u16());
    let route = path.as_ref().map_or("none", MatchedPath::as_str);
    let metrics = &office.metrics;
    metrics.requests.get_or_create(&metric::Request { route: route.to_owned(), method, status }).inc();
    let timed = metric::Route { route: route.to_owned(), method };
    metrics.seconds.get_or_create(&timed).observe(time.as_secs_f64());
    tracing::debug!(method, route, status, micros = time.as_micros() as u64, "answered");
    response
}

/// Names that may become labels: a caller can make up as many methods as it likes.
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
