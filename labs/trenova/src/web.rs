//! The routes: HTTP taken apart, answers and refusals put together.
//!
//! Does not know how anything is kept.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, Extension, MatchedPath, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use serde_json::json;
use tokio::time::Instant;
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutError};

use crate::config::ServeArgs;
use crate::metric;
use crate::office::Office;
use crate::options::Ask;
use crate::pass::{Caller, Passed};
use crate::refusal::Refusal;
use crate::worker::{Draft, SignIn};

pub mod head;

const PAGE: &str = include_str!("page.html");
/// What the routes take and give, for programs.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Headers of an answer.
const ROOM: usize = 12;
/// How long parts of a body may be apart.
const BODY_PATIENCE: Duration = Duration::from_secs(10);

/// Where a connection comes from.
#[derive(Debug, Clone)]
pub struct Peer(pub Arc<str>);

type Shared = State<Arc<Office>>;
type Whence = Extension<Peer>;
type Arrived = Result<Bytes, BytesRejection>;
type Named = Result<Path<String>, PathRejection>;
type Answer = Result<Response, Refusal>;

/// All routes.
pub fn router(office: Arc<Office>, args: &ServeArgs) -> Router {
    let limit = DefaultBodyLimit::max(office.body_limit);
    let cookie = head::Cookie::new(args);
    let with_bodies = Router::new()
        .route("/api/v1/auth/login", post(sign_in))
        .route("/api/v1/auth/logout", post(sign_out))
        .route("/api/v1/workers", post(create))
        .route_layer(RequestBodyTimeoutLayer::new(BODY_PATIENCE));
    Router::new()
        .route("/", get(page))
        .route("/api/v1/auth/me", get(me))
        .route("/api/v1/workers/select-options", get(options))
        .route("/api/v1/workers/select-options/", get(options))
        .route("/api/v1/workers/{id}", get(show).delete(delete))
        .route("/health", get(|| async { "ok" }))
        .route("/ready", get(ready))
        .route("/metrics", get(figures))
        .route("/openapi.json", get(|| async { json(Bytes::from_static(OPENAPI.as_bytes())) }))
        .merge(with_bodies)
        .fallback(|| async { Refusal::NoPath })
        .method_not_allowed_fallback(|| async { Refusal::Method })
        .layer(middleware::from_fn_with_state(Arc::clone(&office), count))
        .layer(limit)
        .layer(Extension(cookie))
        .with_state(office)
}

async fn page() -> Response {
    let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, PAGE).into_response()
}

async fn ready(State(office): Shared) -> Answer {
    office.ready().await?;
    Ok("ready".into_response())
}

async fn figures(State(office): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], office.figures()).into_response()
}

/// The route that the story is about. It takes the request whole: extracting the headers would copy all of them.
async fn options(State(office): Shared, Extension(peer): Whence, request: Request) -> Answer {
    let (session, uri) = (head::session(request.headers()), request.uri().clone());
    drop(request);
    let caller = Caller { session, ip: peer.0, route: "GET:/api/v1/workers/select-options" };
    let passed = office.pass.pass(&caller).await?;
    let ask = Ask::read(passed.session.tenant(), uri.query().unwrap_or_default())?;
    let body = office.options.answer(ask).await?;
    Ok(head::counted(json(body), passed.counted))
}

async fn show(State(office): Shared, peer: Whence, headers: HeaderMap, id: Named) -> Answer {
    let passed = office.enter("GET:/api/v1/workers/{id}", &peer, &headers).await?;
    let worker = office.store.worker(&passed.session.tenant(), &head::id(id)?).await?;
    Ok(head::counted(json(text(&worker)), passed.counted))
}

async fn create(State(office): Shared, peer: Whence, headers: HeaderMap, body: Arrived) -> Answer {
    let passed = office.enter("POST:/api/v1/workers", &peer, &headers).await?;
    let draft = Draft::read(&office.body(&headers, body)?)?;
    let tenant = passed.writer()?;
    // Done to its end even if nobody waits any more: what it did has to be told to the answers in memory.
    let of = Arc::clone(&office);
    let made = tokio::spawn(async move {
        let made = of.store.create(&tenant, &draft).await;
        of.options.changed(&tenant);
        made
    });
    let worker = made.await.map_err(|_| Refusal::Stopping)??;
    let mut response = json(text(&worker));
    *response.status_mut() = StatusCode::CREATED;
    Ok(head::counted(response, passed.counted))
}

async fn delete(State(office): Shared, peer: Whence, headers: HeaderMap, id: Named) -> Answer {
    let passed = office.enter("DELETE:/api/v1/workers/{id}", &peer, &headers).await?;
    let (tenant, id) = (passed.writer()?, head::id(id)?);
    let of = Arc::clone(&office);
    let gone = tokio::spawn(async move {
        let gone = of.store.delete(&tenant, &id).await;
        of.options.changed(&tenant);
        gone
    });
    gone.await.map_err(|_| Refusal::Stopping)??;
    Ok(head::counted(StatusCode::NO_CONTENT.into_response(), passed.counted))
}

async fn sign_in(
    State(office): Shared,
    Extension(Peer(ip)): Whence,
    Extension(cookie): Extension<head::Cookie>,
    headers: HeaderMap,
    body: Arrived,
) -> Answer {
    let caller = Caller { session: None, ip: Arc::clone(&ip), route: "POST:/api/v1/auth/login" };
    let counted = office.pass.admit(&caller).await?;
    let with = SignIn::read(&office.body(&headers, body)?)?;
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (id, session, user) = office.accounts.sign_in(with, &ip, agent).await?;
    let body = json!({
        "user": {"id": user.id, "name": user.name},
        "organizationId": &*session.organization_id,
        "businessUnitId": &*session.business_unit_id,
        "expiresAt": session.expires_at,
    });
    let mut response = json(body.to_string().into());
    response.headers_mut().insert(header::SET_COOKIE, cookie.begin(id));
    Ok(head::counted(response, counted))
}

async fn sign_out(
    State(office): Shared,
    peer: Whence,
    Extension(cookie): Extension<head::Cookie>,
    headers: HeaderMap,
) -> Answer {
    let passed = office.enter("POST:/api/v1/auth/logout", &peer, &headers).await?;
    if let Some(id) = head::session(&headers) {
        let ended = office.accounts.sign_out(id, &passed.session).await;
        // Also where Redis gave no answer: it may have ended it.
        office.pass.forget(id);
        ended?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie.end());
    Ok(head::counted(response, passed.counted))
}

async fn me(State(office): Shared, peer: Whence, headers: HeaderMap) -> Answer {
    let passed = office.enter("GET:/api/v1/auth/me", &peer, &headers).await?;
    let session = &passed.session;
    let body = json!({
        "userId": &*session.user_id,
        "organizationId": &*session.organization_id,
        "businessUnitId": &*session.business_unit_id,
        "lastAccessedAt": session.last_accessed_at,
        "expiresAt": session.expires_at,
    });
    Ok(head::counted(json(body.to_string().into()), passed.counted))
}

impl Office {
    /// Lets a request in, if it may.
    async fn enter(&self, route: &'static str, peer: &Peer, headers: &HeaderMap) -> Result<Passed, Refusal> {
        let caller = Caller { session: head::session(headers), ip: Arc::clone(&peer.0), route };
        self.pass.pass(&caller).await
    }

    fn body(&self, headers: &HeaderMap, body: Arrived) -> Result<Bytes, Refusal> {
        head::is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ if is_slow(&rejection) => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

/// Whether parts of a body were too far apart. The framework wraps what the layer says of it, and calls it a bad request.
fn is_slow(rejection: &BytesRejection) -> bool {
    let first: &(dyn Error + 'static) = rejection;
    std::iter::successors(Some(first), |&error| error.source()).any(<dyn Error>::is::<TimeoutError>)
}

fn text(worker: &crate::worker::Worker) -> Bytes {
    // Text, numbers and truth values always become JSON.
    serde_json::to_vec(worker).unwrap_or_default().into()
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    // With what every answer has, they need room once.
    *response.headers_mut() = HeaderMap::with_capacity(ROOM);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Counts and logs what was answered, after how long, and adds what every answer has.
async fn count(State(office): Shared, request: Request, next: Next) -> Response {
    let method = head::known(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", |path| head::route(path.as_str()));
    let begun = Instant::now();
    let mut response = next.run(request).await;
    let (time, status) = (begun.elapsed(), response.status().as_u16());
    let metrics = &office.metrics;
    metrics.requests.get_or_create(&metric::Request { route, method, status }).inc();
    metrics.seconds.get_or_create(&metric::Route { route, method }).observe(time.as_secs_f64());
    tracing::debug!(method, route, status, micros = time.as_micros() as u64, "answered");
    head::secure(response.headers_mut());
    response
}

#[cfg(test)]
mod tests {
    use axum::body;
    use axum::http::Request;
    use clap::Parser;
    use futures_util::{StreamExt as _, stream};
    use serde_json::Value;
    use tower::ServiceExt as _;

    use super::*;
    use crate::config::{Cli, Command};
    use crate::metric::Metrics;

    /// The routes, with stores that nobody has started.
    async fn routes() -> Router {
        let Command::Serve(args) = Cli::parse_from(["trenova", "serve", "--rate-limit", "off"]).command
        else {
            panic!("it serves");
        };
        router(Office::open(&args, Metrics::default()).await.unwrap(), &args)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_coming_is_refused_as_too_slow() {
        let begun = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"emailAddress\":"))]);
        let request = Request::post("/api/v1/auth/login")
            .header(header::CONTENT_TYPE, "application/json")
            .extension(Peer("127.0.0.1".into()))
            .body(Body::from_stream(begun.chain(stream::pending())))
            .unwrap();
        let response = routes().await.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_TIMEOUT);
        let text = body::to_bytes(response.into_body(), 1000).await.unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap()["error"]["code"], "too_slow");
    }
}
