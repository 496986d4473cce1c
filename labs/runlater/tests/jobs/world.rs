//! The service as a process, its clients and its targets.

use std::io::BufReader;
use std::process::{ChildStdout, Command};

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use testbed::{Cluster, Listening, Running};

const PROGRAM: &str = env!("CARGO_BIN_EXE_runlater");
/// The key that the tests seed.
pub const KEY: &str = "pk_live_aaaaaaaaaaaaaaaaaaaaaaaa.sk_live_bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

/// A running node.
pub struct Node {
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
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Response {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The field `data`.
    pub fn data(&self) -> Value {
        self.json()["data"].clone()
    }

    /// Error code of a refusal.
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no refusal: {self:?}")).to_owned()
    }
}

/// `runlater` with arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut program = Command::new(PROGRAM);
    program.args(arguments);
    program
}

/// Runs `runlater`, which must succeed; returns its stdout.
pub fn succeed(arguments: &[&str]) -> String {
    testbed::succeed(&mut command(arguments))
}

/// Runs `runlater`, which must fail; returns its stderr.
pub fn fail(arguments: &[&str]) -> String {
    testbed::fail(&mut command(arguments))
}

/// Seeds one organization with [`KEY`] and tasks that have run.
pub async fn seed(cluster: &Cluster, tasks: u32) {
    cluster.ready().await;
    succeed(&[
        "seed",
        "--postgres",
        &cluster.url(),
        "--key",
        KEY,
        "--tasks",
        &tasks.to_string(),
        "--replace",
    ]);
}

/// Starts a command that prints its address.
pub fn spawn(arguments: &[&str]) -> Listening {
    testbed::listen(&mut command(arguments))
}

impl Node {
    /// Seeds a cluster with the organization and its key, and serves from it.
    pub async fn seeded(cluster: &Cluster, flags: &[&str]) -> Self {
        seed(cluster, 0).await;
        Self::open(cluster, flags).await
    }

    /// Brings the schema of a cluster up to date, and serves from it without seeding.
    pub async fn open(cluster: &Cluster, flags: &[&str]) -> Self {
        cluster.ready().await;
        let url = cluster.url();
        succeed(&["migrate", "--postgres", &url]);
        let fixed = ["serve", "--postgres", &url, "--listen", "127.0.0.1:0", "--log-level", "error"];
        // The targets of the tests are on this machine.
        let limits = ["--rate-limit-minute", "0", "--rate-limit-hour", "0", "--private-targets", "allow"];
        let Listening { process, url, output } = spawn(&[&fixed[..], &limits, flags].concat());
        Self { process, url, client: reqwest::Client::new(), _output: output }
    }

    /// A request with the key, not sent yet.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(KEY)
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

    pub async fn post(&self, path: &str, body: &Value) -> Response {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// Creates a task, which must succeed; returns its `data`.
    pub async fn create(&self, task: &Value) -> Value {
        let answer = self.post("/api/v1/tasks", task).await;
        assert!(answer.status == 202 || answer.status == 201, "{answer:?}");
        answer.data()
    }

    /// Creates an immediate task that calls `url`; returns its id.
    pub async fn call(&self, url: &str) -> String {
        let data = self.create(&json!({"url": url, "retry_attempts": 1})).await;
        data["task_id"].as_str().unwrap().to_owned()
    }

    /// The executions of a task, newest first.
    pub async fn executions(&self, task: &str) -> Vec<Value> {
        let answer = self.get(&format!("/api/v1/tasks/{task}/executions")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.data().as_array().unwrap().clone()
    }

    /// A metric's value; 0 if there is none with this name.
    pub async fn figure(&self, name: &str) -> u64 {
        let text = self.get("/metrics").await.body;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned));
        line.map_or(0, |value| value.parse().unwrap())
    }
}

/// Sends a request and reads the whole response.
pub async fn send(request: RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().await.unwrap() }
}
