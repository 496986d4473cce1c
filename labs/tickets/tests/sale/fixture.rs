//! Test fixture: stores, the service and a client, for one test each.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testbed::free_port;
use tokio::task::JoinSet;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tickets");
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed when dropped.
pub struct ChildProcess(pub Child);

impl ChildProcess {
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A private Redis and a private PostgreSQL, filled by `tickets seed`.
pub struct Stores {
    pub postgres: String,
    pub redis: String,
    redis_port: u16,
    redis_process: ChildProcess,
    cluster: Cluster,
    folder: TempDir,
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
        let folder = TempDir::new().unwrap();
        let cluster = Cluster::start(settings);
        let redis_port = free_port();
        let redis_process = start_redis(folder.path(), redis_port);
        let redis = format!("redis://127.0.0.1:{redis_port}/0");
        let postgres = format!("postgres://postgres@127.0.0.1:{}/postgres", cluster.port);
        let stores = Self { postgres, redis, redis_port, redis_process, cluster, folder };
        stores.connect().await;
        wait("Redis", async || stores.ask_redis::<String>(&["PING"]).await.is_ok()).await;
        stores
    }

    /// Runs `tickets seed`; panics if it fails.
    pub fn seed(&self, flags: &[&str]) {
        let output = self.command("seed", flags).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// `tickets` with the addresses of the stores.
    pub fn command(&self, command: &str, flags: &[&str]) -> Command {
        let mut program = Command::new(PROGRAM);
        program.args([command, "--postgres", &self.postgres, "--redis", &self.redis]).args(flags);
        program
    }

    /// One number from PostgreSQL.
    pub async fn number(&self, sql: &str) -> i64 {
        let client = self.connect().await;
        client.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Opens a connection as soon as PostgreSQL has one left.
    pub async fn connect(&self) -> tokio_postgres::Client {
        let trying = async {
            loop {
                if let Ok(made) = tokio_postgres::connect(&self.postgres, tokio_postgres::NoTls).await {
                    return made;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (client, connection) = tokio::time::timeout(TIMEOUT, trying).await.expect("no connection");
        tokio::spawn(connection);
        client
    }

    /// Prepared statements that PostgreSQL executed since it started, one line each.
    pub fn statements(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.cluster.folder.path().join("log")).unwrap();
        log.lines().filter(|line| line.contains(" execute ")).map(ToOwned::to_owned).collect()
    }

    /// Value of a ticket's counter.
    pub async fn counter(&self, id: &str) -> i64 {
        self.ask_redis(&["GET", &format!("ticket:{id}")]).await.unwrap()
    }

    /// Sends one command to Redis.
    pub async fn ask_redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let client = redis::Client::open(self.redis.as_str())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    }

    /// Kills Redis; its data is lost.
    pub fn kill_redis(&mut self) {
        self.redis_process.kill();
    }

    /// Starts Redis again, empty, on the same port.
    pub async fn restart_redis(&mut self) {
        self.redis_process = start_redis(self.folder.path(), self.redis_port);
        wait("Redis", async || self.ask_redis::<String>(&["PING"]).await.is_ok()).await;
    }
}

impl Stores {
    /// Kills PostgreSQL and its child processes.
    pub fn kill_postgres(&mut self) {
        let parent = self.cluster.process.0.id();
        let children = Command::new("pgrep").args(["-P", &parent.to_string()]).output().unwrap().stdout;
        self.cluster.process.kill();
        // Child processes with a client would run on until they notice.
        for child in String::from_utf8(children).unwrap().lines() {
            let _ = Command::new("kill").args(["-s", "KILL", child]).stderr(Stdio::null()).status();
        }
    }

    /// Starts PostgreSQL again on its data.
    pub async fn restart_postgres(&mut self) {
        // A new PostgreSQL refuses to start until all killed processes have ended.
        wait("PostgreSQL", async || {
            tokio_postgres::connect(&self.postgres, tokio_postgres::NoTls).await.is_err()
        })
        .await;
        loop {
            self.cluster.process = self.cluster.serve();
            let trying = async {
                while self.cluster.process.0.try_wait().unwrap().is_none() {
                    if tokio_postgres::connect(&self.postgres, tokio_postgres::NoTls).await.is_ok() {
                        return true;
                    }
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                false
            };
            if tokio::time::timeout(TIMEOUT, trying).await.expect("PostgreSQL does not start") {
                return;
            }
        }
    }
}

fn start_redis(folder: &Path, port: u16) -> ChildProcess {
    let child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is needed; install it: apt-get install redis-server (or: brew install redis)");
    ChildProcess(child)
}

/// A cluster of PostgreSQL in a folder of its own.
struct Cluster {
    port: u16,
    process: ChildProcess,
    folder: TempDir,
    settings: Vec<String>,
}

impl Cluster {
    fn start(settings: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        if is_root() {
            // PostgreSQL does not run as root.
            let status = Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap();
            assert!(status.success(), "tests as root need the user postgres");
        }
        let made = postgres_program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let port = free_port();
        let process = serve(folder.path(), port, &settings);
        Self { port, process, folder, settings }
    }

    fn serve(&self) -> ChildProcess {
        serve(self.folder.path(), self.port, &self.settings)
    }
}

fn serve(folder: &Path, port: u16, settings: &[String]) -> ChildProcess {
    let log = File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let mut program = postgres_program("postgres");
    program
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1"])
        .args(["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=20"])
        .args(["-c", "autovacuum=off"]);
    for setting in settings {
        program.args(["-c", setting]);
    }
    ChildProcess(program.stderr(log).spawn().unwrap())
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Immediate shutdown: the children end with their parent, which a kill does not promise.
        if self.process.0.try_wait().unwrap().is_none() {
            signal(self.process.0.id(), "QUIT");
            let _ = self.process.0.wait();
        }
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

/// A program of PostgreSQL, as a user it agrees to run as.
fn postgres_program(name: &str) -> Command {
    let path = find_postgres(name).unwrap_or_else(|| {
        panic!("{name} is needed; install it: apt-get install postgresql (or: brew install postgresql)")
    });
    if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
        // That user may not have access to the current folder.
        command.current_dir("/");
        command
    } else {
        Command::new(path)
    }
}

/// Searches PATH, then the folders of Debian and Homebrew.
fn find_postgres(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for base in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("bin")));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Waits until a condition holds.
pub async fn wait(what: &str, condition: impl AsyncFn() -> bool) {
    let trying = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(TIMEOUT, trying).await.is_ok(), "{what}: waited for {TIMEOUT:?}");
}

/// Sends a signal by name to one process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// A running service.
pub struct Service {
    pub process: ChildProcess,
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
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let process = ChildProcess(child);
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening on ").expect("the address is printed").to_owned();
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

async fn response(request: reqwest::RequestBuilder) -> Response {
    let response = request.send().await.unwrap();
    Response { status: response.status().as_u16(), body: response.text().await.unwrap() }
}

/// The body of an order.
pub fn body(lines: &[(&str, i64)]) -> String {
    let lines: Vec<_> =
        lines.iter().map(|(id, count)| serde_json::json!({"id": id, "count": count})).collect();
    serde_json::json!({ "tickets": lines }).to_string()
}
