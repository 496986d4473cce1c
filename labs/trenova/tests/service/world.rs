//! The service as a process, and clients for it.

use std::io::BufReader;
use std::process::{ChildStdout, Command};

use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testbed::{Cluster, Listening, Redis, Running};

const PROGRAM: &str = env!("CARGO_BIN_EXE_trenova");
pub const OPTIONS: &str = "/api/v1/workers/select-options";
/// For tests that lock a table: on a slow machine that can exceed the default statement time-out.
pub const LONG_TIMEOUT: [&str; 2] = ["--store-timeout-ms", "60000"];

/// PostgreSQL and Redis.
pub struct Stores {
    pub cluster: Cluster,
    pub redis: Redis,
}

impl Stores {
    /// Two tenants with two users and 30 workers each.
    pub async fn seeded() -> Self {
        let stores = Self::bare().await;
        succeed(&["seed", "--postgres", &stores.cluster.url(), "--tenants", "2", "--workers", "30"]);
        stores
    }

    /// Tables without data.
    pub async fn empty() -> Self {
        let stores = Self::bare().await;
        succeed(&["migrate", "--postgres", &stores.cluster.url()]);
        stores
    }

    /// Without tables.
    pub async fn bare() -> Self {
        let cluster =
            Cluster::start(&["max_connections=60", "fsync=off", "autovacuum=off", "log_statement=all"]);
        let redis = Redis::start().await;
        cluster.ready().await;
        Self { cluster, redis }
    }
}

/// A running service.
pub struct Service {
    pub process: Running,
    pub url: String,
    client: reqwest::Client,
    /// Keeps the pipe open, so that the program can write to it.
    _output: BufReader<ChildStdout>,
}

/// A response, read to its end.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl Response {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Error code of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no refusal: {self:?}")).to_owned()
    }

    /// Ids of the options of a page.
    pub fn ids(&self) -> Vec<String> {
        let page = self.json();
        let results = page["results"].as_array().unwrap_or_else(|| panic!("no options: {self:?}"));
        results.iter().map(|option| option["value"].as_str().unwrap().to_owned()).collect()
    }

    /// A numeric header.
    pub fn number(&self, header: &str) -> u64 {
        let value = self.headers.get(header).unwrap_or_else(|| panic!("no {header}: {self:?}"));
        value.to_str().unwrap().parse().unwrap()
    }
}

/// `trenova` with a clean environment.
pub fn command(arguments: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    program.args(arguments);
    program
}

/// Runs `trenova`, which must succeed; returns its stdout.
pub fn succeed(arguments: &[&str]) -> String {
    testbed::succeed(&mut command(arguments))
}

/// Runs `trenova`, which must fail; returns its stderr.
pub fn fail(arguments: &[&str]) -> String {
    testbed::fail(&mut command(arguments))
}

impl Service {
    /// Starts the service.
    pub fn open(stores: &Stores, flags: &[&str]) -> Self {
        Self::start(&mut Self::command(stores, &[&["--log-level", "off"], flags].concat()))
    }

    /// The command that starts the service.
    pub fn command(stores: &Stores, flags: &[&str]) -> Command {
        let (postgres, redis) = (stores.cluster.url(), stores.redis.url());
        let mut program =
            command(&["serve", "--postgres", &postgres, "--redis", &redis, "--listen", "127.0.0.1:0"]);
        program.args(flags);
        program
    }

    /// Starts the command and waits until it serves.
    pub fn start(command: &mut Command) -> Self {
        let Listening { process, url, output } = testbed::listen(command);
        Self { process, url, client: reqwest::Client::new(), _output: output }
    }

    /// A request, not sent yet.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// GET without a session.
    pub async fn get(&self, path: &str) -> Response {
        send(self.request(Method::GET, path)).await
    }

    /// Signs in user 1 of a tenant.
    pub async fn sign_in(&self, tenant: u32) -> Person<'_> {
        let answer = self.try_sign_in(&format!("user1@org{tenant}.example"), "password").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.headers["set-cookie"].to_str().unwrap();
        Person { service: self, session: cookie.split(['=', ';']).nth(1).unwrap().to_owned() }
    }

    /// Tries to sign in.
    pub async fn try_sign_in(&self, email: &str, password: &str) -> Response {
        let body = json!({"emailAddress": email, "password": password});
        send(self.request(Method::POST, "/api/v1/auth/login").json(&body)).await
    }

    /// A user with an existing session.
    pub fn person(&self, session: &str) -> Person<'_> {
        Person { service: self, session: session.to_owned() }
    }

    /// A metric's value; 0 if there is none with this name.
    pub async fn figure(&self, name: &str) -> u64 {
        let text = self.get("/metrics").await.body;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0, |value| value.parse().unwrap())
    }
}

/// A signed-in user.
pub struct Person<'a> {
    pub service: &'a Service,
    pub session: String,
}

impl Person<'_> {
    /// A request with the session cookie.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.service.request(method, path).header("cookie", format!("trenova_session={}", self.session))
    }

    pub async fn get(&self, path: &str) -> Response {
        send(self.request(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        send(self.request(Method::POST, path).json(body)).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        send(self.request(Method::DELETE, path)).await
    }

    /// The first page of options.
    pub async fn options(&self) -> Response {
        self.get(OPTIONS).await
    }

    /// The first page of options, which must succeed.
    pub async fn page(&self) -> Value {
        let answer = self.options().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Requests the first page `count` times in parallel.
    pub async fn many(&self, count: usize) -> Vec<Response> {
        futures_util::future::join_all((0..count).map(|_| self.options())).await
    }

    /// Creates a worker, which must succeed.
    pub async fn make(&self, first: &str, last: &str) -> String {
        let answer = self.post("/api/v1/workers", &json!({"firstName": first, "lastName": last})).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }
}

/// Sends a request and reads the whole response.
pub async fn send(request: RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().await.unwrap() }
}
