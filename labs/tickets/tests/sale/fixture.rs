//! Test fixture: stores, the service and a client, for one test each.

use std::io::BufReader;
use std::process::{ChildStdout, Command};

use testbed::{Cluster, Listening, Redis, Running};
use tokio::task::JoinSet;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tickets");

/// A private Redis and a private PostgreSQL, filled by `tickets seed`.
pub struct Stores {
    pub cluster: Cluster,
    pub redis: Redis,
}

impl Stores {
    /// Starts both and fills them.
    pub async fn seeded(stock: u32, units: u32) -> Self {
        let stores = Self::empty().await;
        let (stock, units) = (stock.to_string(), units.to_string());
        stores.seed(&["--tickets", "3", "--stock", &stock, "--units-per-ticket", &units]);
        stores
    }

    /// Starts both, with a log of all statements.
    pub async fn empty() -> Self {
        Self::start(&["log_statement=all"]).await
    }

    /// Starts both, with settings of PostgreSQL.
    pub async fn start(settings: &[&str]) -> Self {
        let own = ["fsync=off", "max_connections=20", "autovacuum=off"];
        let cluster = Cluster::start(&[&own, settings].concat());
        let redis = Redis::start().await;
        cluster.ready().await;
        Self { cluster, redis }
    }

    /// Runs `tickets seed`, which must succeed.
    pub fn seed(&self, flags: &[&str]) {
        testbed::succeed(&mut self.command("seed", flags));
    }

    /// `tickets` with the addresses of the stores.
    pub fn command(&self, command: &str, flags: &[&str]) -> Command {
        let mut program = Command::new(PROGRAM);
        program.args([command, "--postgres", &self.cluster.url(), "--redis", &self.redis.url()]).args(flags);
        program
    }

    /// Prepared statements that PostgreSQL executed since it started, one line each.
    pub fn statements(&self) -> Vec<String> {
        let log = self.cluster.log();
        log.lines().filter(|line| line.contains(" execute ")).map(ToOwned::to_owned).collect()
    }

    /// Value of a ticket's counter.
    pub async fn counter(&self, id: &str) -> i64 {
        self.redis.command(&["GET", &format!("ticket:{id}")]).await
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

impl Service {
    /// Starts the service.
    pub fn open(stores: &Stores, flags: &[&str]) -> Self {
        Self::start(Self::command(stores, flags))
    }

    /// Starts the service with a soft limit of open files.
    pub fn open_with_files(stores: &Stores, files: u32) -> Self {
        let program = Self::command(stores, &[]);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -Sn {files} && exec \"$0\" \"$@\"")]);
        shell.arg(program.get_program()).args(program.get_args());
        Self::start(shell)
    }

    fn command(stores: &Stores, flags: &[&str]) -> Command {
        let mut command = stores.command("serve", &["--listen", "127.0.0.1:0", "--log-level", "error"]);
        command.args(flags);
        command
    }

    fn start(mut command: Command) -> Self {
        let Listening { process, url, output } = testbed::listen(&mut command);
        Self { process, url, client: reqwest::Client::new(), _output: output }
    }

    /// Sends an order.
    pub async fn order(&self, route: &str, lines: &[(&str, i64)]) -> Response {
        self.post(route, body(lines)).await
    }

    /// Sends any body.
    pub async fn post(&self, route: &str, body: String) -> Response {
        response(self.client.post(format!("{}/{route}", self.url)).body(body)).await
    }

    /// Sends an order with an idempotency key.
    pub async fn order_with_key(&self, route: &str, key: &str, lines: &[(&str, i64)]) -> Response {
        let request = self.client.post(format!("{}/{route}", self.url)).header("Idempotency-Key", key);
        response(request.body(body(lines))).await
    }

    pub async fn delete(&self, route: &str) -> Response {
        response(self.client.delete(format!("{}/{route}", self.url))).await
    }

    pub async fn get(&self, route: &str) -> Response {
        response(self.client.get(format!("{}/{route}", self.url))).await
    }

    /// A request to a path, not sent yet.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Sends many orders concurrently.
    pub async fn send_concurrently(&self, route: &str, orders: Vec<String>) -> Counts {
        let request = self.client.post(format!("{}/{route}", self.url));
        send_concurrently(&request, orders).await
    }

    /// Sends many orders with one idempotency key concurrently.
    pub async fn send_concurrently_with_key(&self, route: &str, key: &str, orders: Vec<String>) -> Counts {
        let request = self.client.post(format!("{}/{route}", self.url)).header("Idempotency-Key", key);
        send_concurrently(&request, orders).await
    }
}

async fn send_concurrently(request: &reqwest::RequestBuilder, orders: Vec<String>) -> Counts {
    let mut buyers = JoinSet::new();
    for body in orders {
        buyers.spawn(response(request.try_clone().unwrap().body(body)));
    }
    let mut counts = Counts::default();
    for Response { status, body } in buyers.join_all().await {
        match status {
            200 => counts.sold += 1,
            409 => counts.refused += 1,
            _ => {
                println!("{status} {body}");
                counts.failed += 1;
            }
        }
    }
    counts
}

/// Numbers of orders by result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub sold: i64,
    pub refused: i64,
    pub failed: i64,
}

/// A response, read to its end.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub body: String,
}

impl Response {
    /// A text field of the JSON body.
    pub fn field(&self, name: &str) -> String {
        let json: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        json[name].as_str().unwrap().to_owned()
    }

    /// The code of a refusal.
    pub fn code(&self) -> String {
        let json: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        json["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// Sends a request and reads the whole response.
pub async fn response(request: reqwest::RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    Response { status: response.status().as_u16(), body: response.text().await.unwrap() }
}

/// The body of an order.
pub fn body(lines: &[(&str, i64)]) -> String {
    let lines: Vec<_> =
        lines.iter().map(|(id, count)| serde_json::json!({"id": id, "count": count})).collect();
    serde_json::json!({ "tickets": lines }).to_string()
}
