//! The routes: parses HTTP requests and builds responses.
//!
//! Does not access stores directly.

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

use crate::admission::{Admitted, RequestIdentity};
use crate::app::App;
use crate::config::ServeArgs;
use crate::metric;
use crate::options::PageRequest;
use crate::refusal::Refusal;
use crate::worker::{Draft, SignIn};

pub mod head;

const PAGE: &str = include_str!("page.html");
/// `OpenAPI` document of the routes.
pub const OPENAPI: &str = include_str!("openapi.json");

/// Most headers of a response.
const HEADER_CAPACITY: usize = 12;
/// Time-out between parts of a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Client address of a connection.
#[derive(Debug, Clone)]
pub struct Peer(pub Arc<str>);

type AppState = State<Arc<App>>;
type PeerExtension = Extension<Peer>;
type BodyResult = Result<Bytes, BytesRejection>;
type IdResult = Result<Path<String>, PathRejection>;
type HandlerResult = Result<Response, Refusal>;

/// All routes.
pub fn router(app: Arc<App>, args: &ServeArgs) -> Router {
    let limit = DefaultBodyLimit::max(app.body_limit);
    let cookie = head::Cookie::new(args);
    let with_bodies = Router::new()
        .route("/api/v1/auth/login", post(sign_in))
        .route("/api/v1/auth/logout", post(sign_out))
        .route("/api/v1/workers", post(create))
        .route_layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT));
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
        .layer(middleware::from_fn_with_state(Arc::clone(&app), record_request))
        .layer(limit)
        .layer(Extension(cookie))
        .with_state(app)
}

async fn page() -> Response {
    let policy = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                  base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, policy)];
    (headers, PAGE).into_response()
}

async fn ready(State(app): AppState) -> HandlerResult {
    app.ready().await?;
    Ok("ready".into_response())
}

async fn figures(State(app): AppState) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], app.figures()).into_response()
}

/// The measured route. Takes the whole request: extracting the headers would copy them.
async fn options(State(app): AppState, Extension(peer): PeerExtension, request: Request) -> HandlerResult {
    let (session, uri) = (head::session(request.headers()), request.uri().clone());
    drop(request);
    let identity = RequestIdentity { session, ip: peer.0, route: "GET:/api/v1/workers/select-options" };
    let admitted = app.admission.admit(&identity).await?;
    let request = PageRequest::read(admitted.session.tenant(), uri.query().unwrap_or_default())?;
    let body = app.options.answer(request).await?;
    Ok(head::with_limit_headers(json(body), admitted.window))
}

async fn show(State(app): AppState, peer: PeerExtension, headers: HeaderMap, id: IdResult) -> HandlerResult {
    let admitted = app.enter("GET:/api/v1/workers/{id}", &peer, &headers).await?;
    let worker = app.store.worker(&admitted.session.tenant(), &head::id(id)?).await?;
    Ok(head::with_limit_headers(json(text(&worker)), admitted.window))
}

async fn create(
    State(app): AppState,
    peer: PeerExtension,
    headers: HeaderMap,
    body: BodyResult,
) -> HandlerResult {
    let admitted = app.enter("POST:/api/v1/workers", &peer, &headers).await?;
    let draft = Draft::read(&app.body(&headers, body)?)?;
    let tenant = admitted.writer()?;
    // Runs in a task so that it completes even if the client disconnects: the cache must learn of the change.
    let of = Arc::clone(&app);
    let created = tokio::spawn(async move {
        let created = of.store.create(&tenant, &draft).await;
        of.options.changed(&tenant);
        created
    });
    let worker = created.await.map_err(|_| Refusal::Stopping)??;
    let mut response = json(text(&worker));
    *response.status_mut() = StatusCode::CREATED;
    Ok(head::with_limit_headers(response, admitted.window))
}

async fn delete(
    State(app): AppState,
    peer: PeerExtension,
    headers: HeaderMap,
    id: IdResult,
) -> HandlerResult {
    let admitted = app.enter("DELETE:/api/v1/workers/{id}", &peer, &headers).await?;
    let (tenant, id) = (admitted.writer()?, head::id(id)?);
    let of = Arc::clone(&app);
    let deleted = tokio::spawn(async move {
        let deleted = of.store.delete(&tenant, &id).await;
        of.options.changed(&tenant);
        deleted
    });
    deleted.await.map_err(|_| Refusal::Stopping)??;
    Ok(head::with_limit_headers(StatusCode::NO_CONTENT.into_response(), admitted.window))
}

async fn sign_in(
    State(app): AppState,
    Extension(Peer(ip)): PeerExtension,
    Extension(cookie): Extension<head::Cookie>,
    headers: HeaderMap,
    body: BodyResult,
) -> HandlerResult {
    let identity = RequestIdentity { session: None, ip: Arc::clone(&ip), route: "POST:/api/v1/auth/login" };
    let window = app.admission.admit_anonymous(&identity).await?;
    let with = SignIn::read(&app.body(&headers, body)?)?;
    let agent = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let (id, session, user) = app.accounts.sign_in(with, &ip, agent).await?;
    let body = json!({
        "user": {"id": user.id, "name": user.name},
        "organizationId": &*session.organization_id,
        "businessUnitId": &*session.business_unit_id,
        "expiresAt": session.expires_at,
    });
    let mut response = json(body.to_string().into());
    response.headers_mut().insert(header::SET_COOKIE, cookie.begin(id));
    Ok(head::with_limit_headers(response, window))
}

async fn sign_out(
    State(app): AppState,
    peer: PeerExtension,
    Extension(cookie): Extension<head::Cookie>,
    headers: HeaderMap,
) -> HandlerResult {
    let admitted = app.enter("POST:/api/v1/auth/logout", &peer, &headers).await?;
    if let Some(id) = head::session(&headers) {
        let ended = app.accounts.sign_out(id, &admitted.session).await;
        // Also if Redis did not respond: the session may have ended.
        app.admission.forget(id);
        ended?;
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie.end());
    Ok(head::with_limit_headers(response, admitted.window))
}

async fn me(State(app): AppState, peer: PeerExtension, headers: HeaderMap) -> HandlerResult {
    let admitted = app.enter("GET:/api/v1/auth/me", &peer, &headers).await?;
    let session = &admitted.session;
    let body = json!({
        "userId": &*session.user_id,
        "organizationId": &*session.organization_id,
        "businessUnitId": &*session.business_unit_id,
        "lastAccessedAt": session.last_accessed_at,
        "expiresAt": session.expires_at,
    });
    Ok(head::with_limit_headers(json(body.to_string().into()), admitted.window))
}

impl App {
    /// Checks the session and the rate limit of a request.
    async fn enter(
        &self,
        route: &'static str,
        peer: &Peer,
        headers: &HeaderMap,
    ) -> Result<Admitted, Refusal> {
        let identity = RequestIdentity { session: head::session(headers), ip: Arc::clone(&peer.0), route };
        self.admission.admit(&identity).await
    }

    fn body(&self, headers: &HeaderMap, body: BodyResult) -> Result<Bytes, Refusal> {
        head::is_json(headers)?;
        body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLarge(self.body_limit),
            _ if is_slow(&rejection) => Refusal::Slow,
            _ => Refusal::Bad(format!("the body did not arrive: {}", rejection.body_text())),
        })
    }
}

/// Whether the body timed out. The framework wraps the layer's error and reports a bad request.
fn is_slow(rejection: &BytesRejection) -> bool {
    let first: &(dyn Error + 'static) = rejection;
    std::iter::successors(Some(first), |&error| error.source()).any(<dyn Error>::is::<TimeoutError>)
}

fn text(worker: &crate::worker::Worker) -> Bytes {
    // Text, numbers and booleans always serialize.
    serde_json::to_vec(worker).unwrap_or_default().into()
}

fn json(body: Bytes) -> Response {
    let mut response = Response::new(Body::from(body));
    // Capacity for the headers added later, so that the map is allocated once.
    *response.headers_mut() = HeaderMap::with_capacity(HEADER_CAPACITY);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Counts and logs a response with its duration, and adds the common headers.
async fn record_request(State(app): AppState, request: Request, next: Next) -> Response {
    let method = head::known(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("none", |path| head::route(path.as_str()));
    let begun = Instant::now();
    let mut response = next.run(request).await;
    let (time, status) = (begun.elapsed(), response.status().as_u16());
    let metrics = &app.metrics;
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

    /// The routes, with stores that are not running.
    async fn routes() -> Router {
        let Command::Serve(args) = Cli::parse_from(["trenova", "serve", "--rate-limit", "off"]).command
        else {
            panic!("it serves");
        };
        router(App::open(&args, Metrics::default()).await.unwrap(), &args)
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stalls_is_refused_as_too_slow() {
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
