//! The routes: HTTP taken apart, tasks and refusals put into answers.
//!
//! Does not know how tasks are kept, nor how they are executed.

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

use crate::clerk::{Clerk, request_digest};
use crate::draft::{Change, Draft};
use crate::event::{Event, Events};
use crate::house::Bell;
use crate::key::Keys;
use crate::limit::Limits;
use crate::metric::{self, Metrics};
use crate::refusal::Refusal;
use crate::store::Store;
use crate::store::create::NewTask;
use crate::store::deed::{self, Begun, Deed, Once};
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
type Asked = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Refusal>;

#[derive(Serialize)]
struct One<T> {
    data: T,
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
    let draft = match early(Draft::read(&body, now), once.as_ref())? {
        Ok(draft) if once.is_none() && office.clerk.is_grouped(&draft) => {
            let (task, answer) = office.clerk.create(organization, draft, now).await?;
            office.ring(&task);
            return Ok(answered(answer));
        }
        draft => draft,
    };
    let mut client = office.store.connect().await?;
    let deed = match Deed::begin(&mut client, organization, once).await? {
        Begun::New(deed) => deed,
        Begun::Before(answer) => return Ok(answered(answer)),
    };
    let (task, answer) = office.clerk.write(&deed, draft?, now).await?;
    deed.end(&answer).await?;
    office.clerk.wrote(&task);
    office.ring(&task);
    Ok(answered(answer))
}

async fn show(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: Asked,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    encode(&One { data: office.store.show(organization, number(&text(id)?)?).await? })
}

async fn change(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    method: Method,
    id: Asked,
    headers: HeaderMap,
    body: Arrived,
) -> Answer {
    let now = Timestamp::now();
    let organization = office.admit(client, &headers, now).await?;
    let body = office.body(&headers, body)?;
    let id = text(id)?;
    let once = once(&headers, method.as_str(), &id, &body)?;
    let id = number(&id)?;
    let change = early(Change::read(&body, now), once.as_ref())?;
    let mut client = office.store.connect().await?;
    let deed = match Deed::begin(&mut client, organization, once).await? {
        Begun::New(deed) => deed,
        Begun::Before(answer) => return Ok(answered(answer)),
    };
    let task = deed.change(id, &change?, now).await?;
    let answer = answer(200, &One { data: task })?;
    deed.end(&answer).await?;
    office.events.tell(organization, || Event::Task { task_id: id, change: "updated" });
    office.bell.ring(true);
    office.bell.ring_scheduler();
    Ok(answered(answer))
}

async fn delete(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: Asked,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let id = text(id)?;
    let once = once(&headers, "DELETE", &id, b"")?;
    let id = number(&id)?;
    let mut client = office.store.connect().await?;
    let deed = match Deed::begin(&mut client, organization, once).await? {
        Begun::New(deed) => deed,
        Begun::Before(answer) => return Ok(answered(answer)),
    };
    deed.delete(id).await?;
    let answer = deed::Answer { status: 204, body: String::new() };
    deed.end(&answer).await?;
    office.events.tell(organization, || Event::Task { task_id: id, change: "deleted" });
    Ok(answered(answer))
}

async fn trigger(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: Asked,
    headers: HeaderMap,
) -> Answer {
    let now = Timestamp::now();
    let organization = office.admit(client, &headers, now).await?;
    let id = text(id)?;
    let once = once(&headers, "POST trigger", &id, b"")?;
    let id = number(&id)?;
    let mut client = office.store.connect().await?;
    let deed = match Deed::begin(&mut client, organization, once).await? {
        Begun::New(deed) => deed,
        Begun::Before(answer) => return Ok(answered(answer)),
    };
    let at = office.clerk.soon(now);
    let execution = deed.trigger(id, at).await?;
    let data =
        json!({"execution_id": execution, "status": "pending", "scheduled_for": crate::stamp::Stamp(at)});
    let answer = answer(202, &json!({"data": data, "message": "the task will be executed once more"}))?;
    deed.end(&answer).await?;
    office.bell.ring(true);
    Ok(answered(answer))
}

async fn executions(
    State(office): Shared,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    id: Asked,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let organization = office.admit(client, &headers, Timestamp::now()).await?;
    let id = number(&text(id)?)?;
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

    /// Tells those who execute that there is a new task.
    fn ring(&self, task: &NewTask) {
        if task.cron.is_some() {
            self.bell.ring_scheduler();
        } else {
            self.bell.ring(task.queue.is_some());
        }
    }

    fn body(&self, headers: &HeaderMap, body: Arrived) -> Result<Bytes, Refusal> {
        is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ if is_late(&rejection) => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

/// Whether a body did not arrive because its parts were too far apart: axum says only that it did not.
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
fn once(headers: &HeaderMap, method: &str, path: &str, body: &[u8]) -> Result<Option<Once>, Refusal> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let is_key =
        |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(is_key);
    let key =
        key.ok_or_else(|| Refusal::Bad("an Idempotency-Key has 1 to 255 visible characters".to_owned()))?;
    Ok(Some(Once { key: key.to_owned(), request: request_digest(method, path, body) }))
}

/// What a request asks for, as it was read. What is wrong is refused at once, unless it has a key: what was right when it
/// was answered is answered the same, though its time may have passed since.
fn early<T>(read: Result<T, Refusal>, once: Option<&Once>) -> Result<Result<T, Refusal>, Refusal> {
    match read {
        Err(refusal) if once.is_none() => Err(refusal),
        read => Ok(read),
    }
}

/// The part of a path that is to be an id. What is no text is the id of nothing.
fn text(id: Asked) -> Result<String, Refusal> {
    id.map(|Path(id)| id).map_err(|_| Refusal::NoTask)
}

/// An id from a path. What is no id is the id of nothing.
fn number(id: &str) -> Result<Uuid, Refusal> {
    Uuid::try_parse(id).map_err(|_| Refusal::NoTask)
}

fn answer(status: u16, body: &impl Serialize) -> Result<deed::Answer, Refusal> {
    let body = serde_json::to_string(body).map_err(|error| Refusal::Bad(error.to_string()))?;
    Ok(deed::Answer { status, body })
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

fn answered(answer: deed::Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    if status == StatusCode::NO_CONTENT {
        return status.into_response();
    }
    let mut response = json(answer.body.into());
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
