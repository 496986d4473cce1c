//! The routes: HTTP taken apart, todos and refusals put into answers.
//!
//! Does not know how todos are kept.

use std::error::Error;
use std::iter::successors;
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
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutError};

use crate::book::Book;
use crate::desk::Desk;
use crate::metric::{self, Metrics};
use crate::refusal::Refusal;
use crate::todo::{Change, Draft};

const PAGE: &str = include_str!("page.html");
/// What the routes take and give, for programs.
pub const OPENAPI: &str = include_str!("openapi.json");

/// How long parts of a body may be apart.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// What the routes work with.
pub struct Office {
    /// The todos.
    pub book: Book,
    /// Who waits for them.
    pub desk: Desk,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// The figures.
    pub metrics: Metrics,
}

type Shared = State<Arc<Office>>;
type Arrived = Result<Bytes, BytesRejection>;
type Named = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Refusal>;

/// All routes.
pub fn router(office: Arc<Office>) -> Router {
    let limit = DefaultBodyLimit::max(office.body_limit);
    Router::new()
        .route("/", get(root))
        .route("/todos/", get(list).post(create))
        .route("/todos/{id}", get(show).put(set).delete(delete))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/metrics", get(figures))
        .route("/openapi.json", get(|| async { json(Bytes::from_static(OPENAPI.as_bytes())) }))
        .fallback(|| async { Refusal::NoPath })
        .method_not_allowed_fallback(|| async { Refusal::Method })
        .layer(middleware::from_fn_with_state(Arc::clone(&office), count))
        .layer(CatchPanicLayer::new())
        .layer(RequestBodyTimeoutLayer::new(BODY_PATIENCE))
        .layer(limit)
        .with_state(office)
}

/// For people the page; for programs, as published, whether the store answers.
async fn root(State(office): Shared, headers: HeaderMap) -> Response {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    if accepts.is_some_and(|accepts| accepts.contains("text/html")) {
        let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
        let headers =
            [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
        return (headers, PAGE).into_response();
    }
    match office.desk.run(office.book.clone().ping()).await {
        Ok(()) => "OK".into_response(),
        Err(problem) => problem.into_response(),
    }
}

async fn ready(State(office): Shared) -> Answer {
    office.desk.run(office.book.clone().ping()).await?;
    Ok("ready".into_response())
}

async fn list(State(office): Shared) -> Answer {
    if let Some(kept) = office.book.kept() {
        return Ok(json(kept));
    }
    Ok(json(office.desk.run(office.book.clone().list()).await?))
}

async fn show(State(office): Shared, id: Named) -> Answer {
    let id = number(id)?;
    Ok(json(office.desk.run(office.book.clone().show(id)).await?))
}

async fn create(State(office): Shared, headers: HeaderMap, body: Arrived) -> Answer {
    let draft = Draft::read(&office.body(&headers, body)?)?;
    Ok(json(office.desk.run(office.book.clone().create(draft)).await?))
}

async fn set(State(office): Shared, id: Named, headers: HeaderMap, body: Arrived) -> Answer {
    let id = number(id)?;
    let change = Change::read(&office.body(&headers, body)?)?;
    Ok(json(office.desk.run(office.book.clone().set(id, change.done)).await?))
}

async fn delete(State(office): Shared, id: Named) -> Answer {
    let id = number(id)?;
    office.desk.run(office.book.clone().delete(id)).await?;
    Ok(json(Bytes::from_static(b"\"OK\"")))
}

async fn figures(State(office): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], office.book.figures()).into_response()
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An id from a path. What is a number, but no id that can be, is the id of nothing; what is not even text is no number.
fn number(id: Named) -> Result<i32, Refusal> {
    let Path(id) = id.map_err(|_| Refusal::BadId)?;
    let digits = id.strip_prefix('-').unwrap_or(&id);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Refusal::BadId);
    }
    id.parse().map_err(|_| Refusal::NoTodo)
}

impl Office {
    fn body(&self, headers: &HeaderMap, body: Arrived) -> Result<Bytes, Refusal> {
        is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ if is_late(&rejection) => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

/// Whether a body is refused because nothing of it came for too long. The status does not say it, one of the causes does.
fn is_late(rejection: &BytesRejection) -> bool {
    let mut causes = successors(rejection.source(), |&cause| cause.source());
    causes.any(<dyn Error>::is::<TimeoutError>)
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
        Method::DELETE => "DELETE",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}
