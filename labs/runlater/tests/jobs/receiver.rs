//! Targets of the service under test: the stub as a process, and receivers that record messages.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use serde_json::Value;

use crate::world::spawn;
use testbed::Listening;

/// The stub.
pub struct Stub {
    pub url: String,
    /// Killed when dropped.
    _process: Listening,
}

impl Stub {
    /// Starts it without a delay, with these flags.
    pub fn start(flags: &[&str]) -> Self {
        let fixed = ["target", "--listen", "127.0.0.1:0", "--delay", "0ms", "--log-level", "error"];
        let process = spawn(&[&fixed[..], flags].concat());
        Self { url: process.url.clone(), _process: process }
    }

    /// Its counts.
    pub async fn counts(&self) -> Value {
        reqwest::get(format!("{}/counts", self.url)).await.unwrap().json().await.unwrap()
    }

    /// One of its counts.
    pub async fn count(&self, name: &str) -> u64 {
        self.counts().await[name].as_u64().unwrap_or_else(|| panic!("no count of {name}"))
    }
}

/// A received message.
#[derive(Debug, Clone)]
pub struct Message {
    pub headers: HeaderMap,
    pub body: String,
}

/// Records all messages; responds with the given statuses, then with 200.
#[derive(Clone)]
pub struct Receiver {
    pub url: String,
    caught: Arc<Mutex<Vec<Message>>>,
}

type Inbox = (Arc<Mutex<Vec<Message>>>, Arc<Mutex<Vec<u16>>>);

impl Receiver {
    pub async fn start(statuses: &[u16]) -> Self {
        let caught = Arc::new(Mutex::new(Vec::new()));
        let inbox: Inbox =
            (Arc::clone(&caught), Arc::new(Mutex::new(statuses.iter().rev().copied().collect())));
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = axum::Router::new().fallback(catch).with_state(inbox);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, caught }
    }

    pub fn caught(&self) -> Vec<Message> {
        self.caught.lock().unwrap().clone()
    }
}

async fn catch(State((caught, statuses)): State<Inbox>, request: Request) -> StatusCode {
    let headers = request.headers().clone();
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    caught.lock().unwrap().push(Message { headers, body: String::from_utf8(body.to_vec()).unwrap() });
    let status = statuses.lock().unwrap().pop().unwrap_or(200);
    StatusCode::from_u16(status).unwrap()
}

/// Counts calls per execution, and responds after a short delay.
#[derive(Clone)]
pub struct Counter {
    pub url: String,
    calls: Arc<Mutex<HashMap<String, u64>>>,
}

impl Counter {
    pub async fn start(delay: Duration) -> Self {
        let calls = Arc::new(Mutex::new(HashMap::new()));
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let book = Arc::clone(&calls);
        let answer = move |headers: HeaderMap| {
            let id = headers["x-runlater-execution-id"].to_str().unwrap().to_owned();
            *book.lock().unwrap().entry(id).or_default() += 1;
            tokio::time::sleep(delay)
        };
        let router = axum::Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, calls }
    }

    /// Calls per execution.
    pub fn calls(&self) -> HashMap<String, u64> {
        self.calls.lock().unwrap().clone()
    }
}
