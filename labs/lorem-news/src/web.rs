//! HTTP: routes, cookies, forms and status codes.
//!
//! Does not execute requests; [`crate::action`] does, on a thread of [`crate::engine`].

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::FormRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Form, Path, Query, Request, State};
use axum::http::header::{self, HeaderMap, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::middleware::{self, Next};
use axum::routing::{get, post};
use serde::Deserialize;
use tower_http::timeout::TimeoutLayer;

use crate::accept::Peer;
use crate::action::{AccountForm, Action, Benchmark, Call, PostForm, Reply, SessionChange, Visitor};
use crate::config::{LogLevel, ServeArgs};
use crate::engine::Engine;
use crate::page;

pub mod token;

use token::Signer;

const SESSION_COOKIE: &str = "session_token";
const FORM_COOKIE: &str = "form_seed";
/// Lifetime of a session cookie, in seconds: twenty years.
const PERMANENT: u32 = 20 * 365 * 24 * 3600;
/// Styles are inline; pages load nothing else and cannot be framed by other sites.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Shared state of the routes.
#[derive(Debug)]
pub struct AppState {
    /// Executes requests.
    pub engine: Engine,
    /// Signs cookies.
    pub signer: Signer,
    /// Whether cookies are for HTTPS only.
    pub secure_cookies: bool,
    /// Whether the benchmark routes are on.
    pub benchmarking: bool,
}

type App = State<Arc<AppState>>;
type PeerInfo = ConnectInfo<Peer>;

/// All routes.
pub fn router(state: Arc<AppState>, args: &ServeArgs) -> Router {
    let timeout = Duration::from_secs(args.request_timeout);
    let routes = Router::new()
        .route("/", get(newest))
        .route("/posts", get(newest).post(create_post))
        .route(
            "/posts/new",
            get(|app: App, from: PeerInfo, headers: HeaderMap| plain(app, from, headers, Action::NewPost)),
        )
        .route("/posts/{id}", get(show_post).post(update_post))
        .route("/posts/{id}/edit", get(edit_post))
        .route("/posts/{id}/delete", post(delete_post))
        .route("/posts/{id}/comments", post(create_comment))
        .route("/comments/{id}", post(update_comment))
        .route("/comments/{id}/edit", get(edit_comment))
        .route("/comments/{id}/delete", post(delete_comment))
        .route("/users/{id}", get(show_user))
        .route(
            "/sign_in",
            get(|app: App, from: PeerInfo, headers: HeaderMap| plain(app, from, headers, Action::SignInForm))
                .post(sign_in),
        )
        .route(
            "/sign_up",
            get(|app: App, from: PeerInfo, headers: HeaderMap| plain(app, from, headers, Action::SignUpForm))
                .post(sign_up),
        )
        .route("/sign_out", post(sign_out))
        .route("/benchmarking/{action}", post(benchmark))
        .route("/health", get(|| async { "alive\n" }))
        .route(
            "/ready",
            get(|app: App, from: PeerInfo, headers: HeaderMap| plain(app, from, headers, Action::Ready)),
        )
        .route(
            "/metrics",
            get(|State(state): App| async move { state.engine.counters().text(std::process::id()) }),
        )
        .fallback(|| async { html(404, page::error("Not found", "There is no such page.")) })
        .layer(DefaultBodyLimit::max(args.body_limit))
        .layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, timeout))
        .with_state(state);
    // Both added only where they are asked for: every layer has a cost per request.
    let routes = match args.fail_every {
        0 => routes,
        every => {
            let errors = PlannedErrors { every: every.into(), pages: AtomicU64::new(0) };
            routes.layer(middleware::from_fn_with_state(Arc::new(errors), fail_some))
        }
    };
    if args.log_level == LogLevel::Debug { routes.layer(middleware::from_fn(log_requests)) } else { routes }
}

/// Errors in place of every n-th page.
#[derive(Debug)]
struct PlannedErrors {
    every: u64,
    pages: AtomicU64,
}

/// Makes the page in an ordinary way, so that an error takes as long, and replaces it if it is the next one to fail.
async fn fail_some(State(errors): State<Arc<PlannedErrors>>, request: Request, next: Next) -> Response<Body> {
    let is_page = !matches!(request.uri().path(), "/health" | "/ready" | "/metrics");
    let response = next.run(request).await;
    if is_page && (errors.pages.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(errors.every) {
        return html(500, page::error("An error", "This error was asked for."));
    }
    response
}

/// Logs each request. Paths contain nothing private; forms are not logged.
async fn log_requests(request: Request, next: Next) -> Response<Body> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let response = next.run(request).await;
    tracing::debug!(%method, path, status = response.status().as_u16(), "answered");
    response
}

#[derive(Debug, Deserialize)]
struct Page {
    before: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct PostFields {
    #[serde(default)]
    token: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
}

#[derive(Debug, Deserialize)]
struct CommentFields {
    #[serde(default)]
    token: String,
    #[serde(default)]
    body: String,
}

#[derive(Debug, Deserialize)]
struct AccountFields {
    #[serde(default)]
    token: String,
    #[serde(default)]
    screen_name: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    about: String,
}

#[derive(Debug, Deserialize)]
struct NoFields {
    #[serde(default)]
    token: String,
}

type FormResult<T> = Result<Form<T>, FormRejection>;

async fn newest(app: App, from: PeerInfo, headers: HeaderMap, Query(page): Query<Page>) -> Response<Body> {
    plain(app, from, headers, Action::List { before: page.before.unwrap_or(i64::MAX) }).await
}

async fn show_post(app: App, from: PeerInfo, headers: HeaderMap, Path(id): Path<i64>) -> Response<Body> {
    plain(app, from, headers, Action::Show(id)).await
}

async fn show_user(app: App, from: PeerInfo, headers: HeaderMap, Path(id): Path<i64>) -> Response<Body> {
    plain(app, from, headers, Action::User(id)).await
}

async fn edit_post(app: App, from: PeerInfo, headers: HeaderMap, Path(id): Path<i64>) -> Response<Body> {
    plain(app, from, headers, Action::EditPost(id)).await
}

async fn edit_comment(app: App, from: PeerInfo, headers: HeaderMap, Path(id): Path<i64>) -> Response<Body> {
    plain(app, from, headers, Action::EditComment(id)).await
}

async fn create_post(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    sent: FormResult<PostFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |PostFields { token, title, description }| {
        (token, Action::CreatePost(PostForm { title, description }))
    })
    .await
}

async fn update_post(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    Path(id): Path<i64>,
    sent: FormResult<PostFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |PostFields { token, title, description }| {
        (token, Action::UpdatePost(id, PostForm { title, description }))
    })
    .await
}

async fn delete_post(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    Path(id): Path<i64>,
    sent: FormResult<NoFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| (fields.token, Action::DeletePost(id))).await
}

async fn create_comment(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    Path(post): Path<i64>,
    sent: FormResult<CommentFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| (fields.token, Action::CreateComment(post, fields.body))).await
}

async fn update_comment(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    Path(id): Path<i64>,
    sent: FormResult<CommentFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| (fields.token, Action::UpdateComment(id, fields.body))).await
}

async fn delete_comment(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    Path(id): Path<i64>,
    sent: FormResult<NoFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| (fields.token, Action::DeleteComment(id))).await
}

async fn sign_in(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    sent: FormResult<AccountFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| {
        let (token, account) = account(fields);
        (token, Action::SignIn(account))
    })
    .await
}

async fn sign_up(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    sent: FormResult<AccountFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| {
        let (token, account) = account(fields);
        (token, Action::SignUp(account))
    })
    .await
}

async fn sign_out(
    app: App,
    from: PeerInfo,
    headers: HeaderMap,
    sent: FormResult<NoFields>,
) -> Response<Body> {
    form(app, from, headers, sent, |fields| (fields.token, Action::SignOut)).await
}

fn account(fields: AccountFields) -> (String, AccountForm) {
    let AccountFields { token, screen_name, password, about } = fields;
    (token, AccountForm { screen_name, password, about })
}

async fn benchmark(app: App, from: PeerInfo, headers: HeaderMap, Path(name): Path<String>) -> Response<Body> {
    if !app.benchmarking {
        let text = "The benchmark routes are off. Start the service with --benchmarking on";
        return html(404, page::error("Not found", text));
    }
    let Some(which) = Benchmark::named(&name) else {
        return html(404, page::error("Not found", "There is no benchmark of this name."));
    };
    let described = if which == Benchmark::PostShow { String::new() } else { as_text(&headers) };
    plain(app, from, headers, Action::Benchmark(which, described)).await
}

/// Headers as the text of a post.
fn as_text(headers: &HeaderMap) -> String {
    let mut text = String::with_capacity(256);
    for (name, value) in headers {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name}: {}", String::from_utf8_lossy(value.as_bytes()));
    }
    text
}

/// Responds to a request without a form.
async fn plain(State(state): App, from: PeerInfo, headers: HeaderMap, action: Action) -> Response<Body> {
    let cookies = Cookies::of(&state.signer, &headers);
    respond(&state, cookies, from, &headers, action).await
}

/// Responds to a form, if its token is valid.
async fn form<T>(
    State(state): App,
    from: PeerInfo,
    headers: HeaderMap,
    sent: FormResult<T>,
    read: impl FnOnce(T) -> (String, Action),
) -> Response<Body> {
    let (token, action) = match sent {
        Ok(Form(fields)) => read(fields),
        Err(rejection) => {
            let text = escaped(&rejection.body_text());
            return html(rejection.status().as_u16(), page::error("The form was not understood", &text));
        }
    };
    let cookies = Cookies::of(&state.signer, &headers);
    if cookies.fresh || !state.signer.form_fits(&cookies.seed, &token) {
        let text = "The form is too old, or came from another site. Go back, reload the page, and try again.";
        return html(403, page::error("Not accepted", text));
    }
    respond(&state, cookies, from, &headers, action).await
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The cookies of a request.
#[derive(Debug)]
struct Cookies {
    session: Option<i64>,
    /// The seed of the form token: the session cookie, or a separate one.
    seed: String,
    /// Whether the browser does not have the seed yet.
    fresh: bool,
}

impl Cookies {
    fn of(signer: &Signer, headers: &HeaderMap) -> Self {
        let find = |name| {
            headers
                .get_all(header::COOKIE)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .find_map(|text| token::cookie(text, name))
        };
        if let Some(cookie) = find(SESSION_COOKIE)
            && let Some(session) = signer.session_of(cookie)
        {
            return Self { session: Some(session), seed: cookie.to_owned(), fresh: false };
        }
        match find(FORM_COOKIE) {
            Some(seed) if seed.len() >= 32 => Self { session: None, seed: seed.to_owned(), fresh: false },
            _ => Self { session: None, seed: String::new(), fresh: true },
        }
    }
}

async fn respond(
    state: &AppState,
    mut cookies: Cookies,
    ConnectInfo(from): PeerInfo,
    headers: &HeaderMap,
    action: Action,
) -> Response<Body> {
    let gives_form =
        matches!(action, Action::SignInForm | Action::SignUpForm | Action::SignIn(_) | Action::SignUp(_));
    if gives_form && cookies.fresh {
        cookies.seed = uuid::Uuid::new_v4().simple().to_string();
    }
    let agent = headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let visitor = Visitor {
        session: cookies.session,
        token: if cookies.seed.is_empty() { String::new() } else { state.signer.form_token(&cookies.seed) },
        user_agent: agent.chars().take(255).collect(),
        address: from.address.ip().to_string(),
    };
    let reply = state.engine.run(Call { action, visitor }).await;
    let counters = state.engine.counters();
    if reply.status < 500 {
        counters.answered.increment();
    } else {
        counters.failed.increment();
    }
    if let Some(failure) = &reply.failure {
        tracing::warn!(status = reply.status, failure, "a request failed");
    }
    let mut response = html_of(state, reply);
    if gives_form && cookies.fresh {
        let seed = token::set_cookie(FORM_COOKIE, &cookies.seed, 24 * 3600, state.secure_cookies);
        add_cookie(&mut response, &seed);
    }
    response
}

fn html_of(state: &AppState, reply: Reply) -> Response<Body> {
    let mut response = html(reply.status, reply.body);
    if let Some(location) = reply.location.and_then(|to| HeaderValue::from_str(&to).ok()) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    let (value, seconds) = match reply.session {
        SessionChange::Keep => return response,
        SessionChange::Set(session) => (state.signer.session_cookie(session), PERMANENT),
        SessionChange::Clear => (String::new(), 0),
    };
    add_cookie(&mut response, &token::set_cookie(SESSION_COOKIE, &value, seconds, state.secure_cookies));
    response
}

fn add_cookie(response: &mut Response<Body>, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().append(header::SET_COOKIE, value);
    }
}

fn html(status: u16, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
