//! A private PostgreSQL with the seeded rows, and a private Redis, for one test.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use testbed::free_port;
use tokio_postgres::NoTls;

/// Time limit of every wait.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed when dropped.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Both stores. The rows are in the database `seeded`, of which each service gets a copy.
pub struct Stores {
    postgres: Running,
    postgres_port: u16,
    postgres_folder: TempDir,
    redis_port: u16,
    _redis: Running,
    _redis_folder: TempDir,
}

impl Stores {
    /// Starts both and seeds PostgreSQL.
    pub async fn seeded() -> Self {
        let folder = folder();
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data")));
        let postgres_port = free_port();
        let postgres = program("postgres")
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-c", &format!("port={postgres_port}"), "-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "autovacuum=off"])
            .args(["-c", "max_connections=150", "-c", "log_statement=all", "-c", "log_connections=on"])
            .args(["-c", "log_line_prefix=%a@%d: "])
            .stderr(File::create(folder.path().join("log")).unwrap())
            .spawn()
            .unwrap();
        let (redis_folder, redis_port) = (TempDir::new().unwrap(), free_port());
        let redis = Command::new("redis-server")
            .args(["--port", &redis_port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
            .arg(redis_folder.path())
            .stdout(Stdio::null())
            .spawn()
            .expect(
                "redis-server is needed; install it: apt-get install redis-server (or: brew install redis)",
            );
        let stores = Self {
            postgres: Running(postgres),
            postgres_port,
            postgres_folder: folder,
            redis_port,
            _redis: Running(redis),
            _redis_folder: redis_folder,
        };
        wait("PostgreSQL", async || tokio_postgres::connect(&stores.url("postgres"), NoTls).await.is_ok())
            .await;
        wait("Redis", async || stores.try_redis::<String>(&["PING"]).await.is_ok()).await;
        stores.execute("postgres", "CREATE DATABASE seeded").await;
        let url = stores.url("seeded");
        tokio::task::spawn_blocking(move || {
            run(Command::new(crate::fixture::PROGRAM).args(["seed", "--postgres", &url]));
        })
        .await
        .unwrap();
        stores
    }

    /// Address of a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.postgres_port)
    }

    /// Address of Redis.
    pub fn redis_url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.redis_port)
    }

    /// A session of the test.
    pub async fn connect(&self, database: &str) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// Executes statements.
    pub async fn execute(&self, database: &str, sql: &str) {
        self.connect(database).await.batch_execute(sql).await.unwrap();
    }

    /// What a service logged in PostgreSQL so far: one line per statement or connection.
    pub fn log(&self, database: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.postgres_folder.path().join("log")).unwrap();
        let of_service = |line: &&str| {
            line.starts_with(&format!("shop@{database}: "))
                || line.starts_with(&format!("shop-listener@{database}: "))
                || (line.contains("connection authorized") && line.contains(&format!("database={database} ")))
        };
        log.lines().filter(of_service).map(String::from).collect()
    }

    /// Sends a command to Redis, which must succeed.
    pub async fn redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_redis(words).await.unwrap()
    }

    async fn try_redis<T: redis::FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut connection =
            redis::Client::open(self.redis_url())?.get_multiplexed_async_connection().await?;
        let mut command = redis::Cmd::new();
        command.arg(words);
        command.query_async(&mut connection).await
    }

    /// Calls of a command of Redis since the last reset of its statistics.
    pub async fn redis_calls(&self, command: &str) -> u64 {
        let text: String = self.redis(&["INFO", "commandstats"]).await;
        figure(&text, &format!("cmdstat_{command}:calls="))
    }

    /// A figure of `INFO stats`.
    pub async fn redis_figure(&self, name: &str) -> u64 {
        let text: String = self.redis(&["INFO", "stats"]).await;
        figure(&text, &format!("{name}:"))
    }
}

impl Drop for Stores {
    fn drop(&mut self) {
        // Immediate shutdown: unlike a kill it also ends the children.
        let _ = Command::new("kill").args(["-s", "QUIT", &self.postgres.0.id().to_string()]).status();
        let _ = self.postgres.0.wait();
    }
}

/// The number behind a prefix; 0 if there is none.
fn figure(text: &str, prefix: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(prefix)).unwrap_or_default();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse().unwrap_or_default()
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

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
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

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// A program of PostgreSQL, as a user it agrees to run as.
fn program(name: &str) -> Command {
    let path = find(name).unwrap_or_else(|| {
        panic!("{name} is needed; install it: apt-get install postgresql (or: brew install postgresql)")
    });
    if !is_root() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(path);
    // That user may not have access to the current folder.
    command.current_dir("/");
    command
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
