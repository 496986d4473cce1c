//! Test fixture: the service as a process, and a client.

use std::io::BufReader;
use std::process::{ChildStdout, Command};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testbed::{Cluster, Listening, Running};
use todos::grpc::message::todos_client::TodosClient;
use tonic::transport::{Channel, Endpoint};

const PROGRAM: &str = env!("CARGO_BIN_EXE_todos");
/// Opens the second door.
pub const GRPC: [&str; 2] = ["--grpc-listen", "127.0.0.1:0"];
/// For tests that make statements wait.
pub const LONG_TIMEOUT: [&str; 2] = ["--store-timeout-ms", "60000"];

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
    pub body: String,
}

impl Response {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The id of a todo.
    pub fn id(&self) -> i64 {
        self.json()["id"].as_i64().unwrap_or_else(|| panic!("no todo: {self:?}"))
    }

    /// The code of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no refusal: {self:?}")).to_owned()
    }
}

/// The program `todos` with arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    program.args(arguments);
    program
}

/// Runs `todos`, which must succeed. Returns its stdout.
pub fn succeed(arguments: &[&str]) -> String {
    testbed::succeed(&mut command(arguments))
}

/// Runs `todos`, which must fail. Returns its stderr.
pub fn fail(arguments: &[&str]) -> String {
    testbed::fail(&mut command(arguments))
}

impl Service {
    /// Brings the schema of a cluster, which can be empty, up to date, and starts the service on it.
    pub async fn open(cluster: &Cluster, flags: &[&str]) -> Self {
        cluster.ready().await;
        let url = cluster.url();
        let mut program = command(&["serve", "--postgres", &url, "--listen", "127.0.0.1:0"]);
        program.args(["--log-level", "error"]).args(flags);
        // Reading its output blocks, and tests start several services concurrently.
        let starting = tokio::task::spawn_blocking(move || {
            succeed(&["migrate", "--postgres", &url]);
            Self::start(&mut program)
        });
        starting.await.unwrap()
    }

    fn start(program: &mut Command) -> Self {
        let Listening { process, url, output } = testbed::listen(program);
        Self { process, url, client: reqwest::Client::new(), _output: output }
    }

    /// Starts the service on a cluster, with reads from its replica.
    pub async fn open_with(cluster: &Cluster, replica: &Cluster, flags: &[&str]) -> Self {
        replica.ready().await;
        let url = replica.url();
        Self::open(cluster, &[&["--replica", &url, "--replica-reads", "on"], flags].concat()).await
    }

    /// A client of the second door, on a connection of its own.
    pub async fn calls(&self) -> TodosClient<Channel> {
        let address = self.get("/grpc").await;
        assert_eq!(address.status, 200, "{address:?}");
        TodosClient::new(
            Endpoint::from_shared(format!("http://{}", address.body)).unwrap().connect().await.unwrap(),
        )
    }

    /// Builds a request.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Response {
        send(self.request(Method::GET, path)).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        send(self.request(Method::DELETE, path)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Response {
        send(self.request(Method::PUT, path).json(body)).await
    }

    pub async fn post(&self, body: &Value) -> Response {
        send(self.request(Method::POST, "/todos/").json(body)).await
    }

    /// Creates a todo; panics on failure.
    pub async fn create(&self, name: &str) -> i64 {
        let response = self.post(&json!({"name": name})).await;
        assert_eq!(response.status, 200, "{response:?}");
        response.id()
    }

    /// Creates `count` todos concurrently.
    pub async fn create_many(&self, count: usize) {
        let names: Vec<String> = (0..count).map(|number| format!("todo {number}")).collect();
        futures_util::future::join_all(names.iter().map(|name| self.create(name))).await;
    }

    /// Ids of the list, in its order.
    pub async fn ids(&self) -> Vec<i64> {
        let response = self.get("/todos/").await;
        assert_eq!(response.status, 200, "{response:?}");
        response.json().as_array().unwrap().iter().map(|todo| todo["id"].as_i64().unwrap()).collect()
    }

    /// Value of a metric; 0 if it does not exist.
    pub async fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").await.body;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0, |value| value.parse().unwrap())
    }
}

/// Sends a request and reads the whole response.
pub async fn send(request: RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    Response { status: response.status().as_u16(), body: response.text().await.unwrap() }
}
