//! The service as a process with a database of its own, and a client.

use std::fs::{self, File};
use std::io::BufReader;
use std::net::SocketAddr;
use std::process::{ChildStdout, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::{Method, RequestBuilder};
use serde_json::Value;
use tempfile::TempDir;
use testbed::{Cluster, Listening, Running};

use crate::stores::Stores;

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_findings");

/// A running service.
pub struct Service<'a> {
    pub stores: &'a Stores,
    /// Its database, a copy of the seeded one.
    pub database: String,
    url: String,
    process: Running,
    folder: TempDir,
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
}

impl<'a> Service<'a> {
    /// A healthy service.
    pub async fn healthy(stores: &'a Stores) -> Self {
        Self::with(stores, "none").await
    }

    /// A service with a defect.
    pub async fn with(stores: &'a Stores, defect: &str) -> Self {
        Self::start(stores, defect, None).await
    }

    /// A service with a defect that knows a replica of PostgreSQL, too. The replica has its database.
    pub async fn with_replica(stores: &'a Stores, defect: &str, replica: &Cluster) -> Self {
        Self::start(stores, defect, Some(replica)).await
    }

    async fn start(stores: &'a Stores, defect: &str, replica: Option<&Cluster>) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let database = format!("shop{}", COUNT.fetch_add(1, Ordering::Relaxed));
        stores.copy_seeded(&database).await;
        let folder = TempDir::new().unwrap();
        let mut program = Command::new(PROGRAM);
        program.args(["serve", "--listen", "127.0.0.1:0", "--defect", defect]);
        program.args([
            "--postgres",
            &stores.cluster.url_of(&database),
            "--redis",
            &stores.redis.url(),
            "--views",
        ]);
        program.arg(folder.path().join("views.sqlite3"));
        if let Some(replica) = replica {
            // Waits until the database can be opened there.
            replica.connect_to(&database).await;
            program.args(["--replica", &replica.url_of(&database)]);
        }
        program.stderr(File::create(folder.path().join("log")).unwrap());
        // Reading its output blocks.
        let started = tokio::task::spawn_blocking(move || testbed::listen(&mut program)).await;
        let started = started.unwrap_or_else(|error| {
            let said = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
            panic!("{defect} does not start: {error}\n{said}")
        });
        let Listening { process, url, output } = started;
        let client = reqwest::Client::new();
        Self { stores, database, url, process, folder, client, _output: output }
    }

    /// Sends a request without a body, and reads the whole response.
    pub async fn send(&self, method: Method, path: &str) -> Response {
        send(self.request(method, path)).await
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path).await
    }

    pub async fn post(&self, path: &str) -> Response {
        self.send(Method::POST, path).await
    }

    /// Builds a request.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Sends requests at the same time.
    pub async fn post_many(&self, path: &str, count: usize) {
        let responses = (0..count).map(|_| self.post(path));
        for response in futures_util::future::join_all(responses).await {
            assert!(response.status < 300, "{response:?}");
        }
    }

    /// The number that a query returns.
    pub async fn number(&self, sql: &str) -> i64 {
        self.stores.cluster.connect_to(&self.database).await.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// The plan of a statement; `value` stands for its parameter.
    pub async fn plan(&self, sql: &str, value: &str) -> String {
        let explain = format!("EXPLAIN {}", sql.replace("$1", value));
        let rows = self.stores.cluster.connect_to(&self.database).await.query(&explain, &[]).await.unwrap();
        rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
    }

    /// Sessions of the service that a condition selects.
    pub async fn sessions(&self, condition: &str) -> i64 {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {condition}"
        );
        self.number(&sql).await
    }

    /// Lines that PostgreSQL logged of the service and that contain a text.
    pub fn logged(&self, text: &str) -> usize {
        self.stores.log(&self.database).iter().filter(|line| line.contains(text)).count()
    }

    /// Lines that the service wrote to its own log.
    pub fn lines(&self) -> usize {
        fs::read_to_string(self.folder.path().join("log")).unwrap().lines().count()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.url.trim_start_matches("http://").parse().unwrap()
    }

    /// Sends a signal to its process.
    pub fn signal(&self, name: &str) {
        testbed::signal(self.process.id(), name);
    }

    /// Its threads with this name.
    pub fn threads(&self, name: &str) -> usize {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.id())).unwrap();
        let names = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("comm")).unwrap());
        names.filter(|comm| comm.trim() == name).count()
    }
}

/// Sends a request and reads the whole response.
pub async fn send(request: RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().await.unwrap() }
}
