//! A private PostgreSQL and Redis for one test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use tempfile::TempDir;
use testbed::free_port;

/// Time-out of every wait in the tests.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed when dropped.
pub struct Running(pub Child);

impl Running {
    /// Sends SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A PostgreSQL cluster in a temporary folder.
pub struct Cluster {
    pub port: u16,
    process: Running,
    folder: TempDir,
}

impl Cluster {
    /// Starts it empty.
    pub fn start() -> Self {
        let folder = folder();
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data")));
        Self::serve(folder, &["-c", "max_connections=60", "-c", "fsync=off"])
    }

    fn serve(folder: TempDir, flags: &[&str]) -> Self {
        let port = free_port();
        let child = program("postgres")
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories=", "-c", "autovacuum=off", "-c", "log_statement=all"])
            .args(["-c", "log_line_prefix=%a: "])
            .args(flags)
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        Self { port, process: Running(child), folder }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Statements executed since the start, one per line.
    pub fn statements(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        let of_service = log.lines().filter(|line| line.starts_with("trenova: "));
        of_service
            .filter(|line| line.contains("execute ") || line.contains("statement:"))
            .map(String::from)
            .collect()
    }

    /// Kills it.
    pub fn die(&mut self) {
        signal(self.process.0.id(), "QUIT");
        let _ = self.process.0.wait();
    }

    /// Stops all its processes with SIGSTOP. Connections stay open without responses.
    pub fn freeze(&self) -> Frozen {
        let first = self.process.0.id();
        // Stopped first, the parent starts no more processes.
        signal(first, "STOP");
        let frozen = Frozen([children(first), vec![first]].concat());
        for process in &frozen.0 {
            signal(*process, "STOP");
        }
        frozen
    }

    /// Connects, once PostgreSQL accepts connections.
    pub async fn connect(&self) -> tokio_postgres::Client {
        let trying = async {
            loop {
                if let Ok(made) = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await {
                    return made;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (client, connection) = tokio::time::timeout(TEST_TIMEOUT, trying).await.expect("no connection");
        tokio::spawn(connection);
        client
    }

    /// Result of a query for one number.
    pub async fn number(&self, sql: &str) -> i64 {
        self.connect().await.query_one(sql, &[]).await.unwrap().get(0)
    }

    /// Executes statements.
    pub async fn execute(&self, sql: &str) {
        self.connect().await.batch_execute(sql).await.unwrap();
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Immediate shutdown: unlike a kill it also ends the children.
        if matches!(self.process.0.try_wait(), Ok(None)) {
            self.die();
        }
    }
}

/// Stopped processes, continued on drop.
pub struct Frozen(Vec<u32>);

impl Drop for Frozen {
    fn drop(&mut self) {
        let processes = self.0.iter().map(u32::to_string);
        let _ = Command::new("kill").args(["-s", "CONT"]).args(processes).status();
    }
}

/// Child processes of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let listed = Command::new("pgrep").args(["-P", &parent.to_string()]).output().unwrap().stdout;
    String::from_utf8(listed).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

/// Sends a signal by name to one process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Waits until a condition holds.
pub async fn wait(what: &str, condition: impl AsyncFn() -> bool) {
    let trying = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(tokio::time::timeout(TEST_TIMEOUT, trying).await.is_ok(), "{what}: waited for {TEST_TIMEOUT:?}");
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    if is_root() {
        // PostgreSQL does not run as root.
        let status = Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap();
        assert!(status.success(), "tests as root need the user postgres");
    }
    folder
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// A PostgreSQL program, run as `postgres` if the test runs as root.
fn program(name: &str) -> Command {
    let path = find(name).unwrap_or_else(|| {
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
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for base in ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"] {
        let entries = std::fs::read_dir(Path::new(base)).into_iter().flatten().flatten();
        folders.extend(entries.map(|entry| entry.path().join("bin")));
    }
    folders.into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A Redis that keeps its port over restarts.
pub struct Redis {
    port: u16,
    process: Running,
    folder: TempDir,
}

impl Redis {
    /// Starts it empty.
    pub async fn start() -> Self {
        let (folder, port) = (TempDir::new().unwrap(), free_port());
        let redis = Self { port, process: serve_redis(folder.path(), port), folder };
        redis.wait().await;
        redis
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, with the data it had saved.
    pub async fn restart(&mut self) {
        self.process = serve_redis(self.folder.path(), self.port);
        self.wait().await;
    }

    async fn wait(&self) {
        wait("Redis", async || self.try_command::<String>(&["PING"]).await.is_ok()).await;
    }

    /// Sends a command, which must succeed.
    pub async fn command<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_command(words).await.unwrap()
    }

    async fn try_command<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let client = redis::Client::open(self.url())?;
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    }
}

fn serve_redis(folder: &Path, port: u16) -> Running {
    let child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(folder)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("redis-server is needed; install it: apt-get install redis-server (or: brew install redis)");
    Running(child)
}
