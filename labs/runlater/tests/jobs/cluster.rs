//! A private PostgreSQL for one test.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
    flags: Vec<String>,
}

fn launch(folder: &Path, port: u16, flags: &[String]) -> Running {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
    let child = program("postgres")
        .arg("-D")
        .arg(folder.join("data"))
        .args(["-c", &format!("port={port}"), "-c", "listen_addresses=127.0.0.1"])
        .args(["-c", "unix_socket_directories=", "-c", "log_line_prefix=%a: "])
        .args(flags)
        .stderr(log)
        .spawn()
        .unwrap();
    Running(child)
}

impl Cluster {
    /// Starts it empty, with durable commits as in production.
    pub fn start() -> Self {
        Self::serve(&["-c", "max_connections=200", "-c", "autovacuum=off", "-c", "log_statement=all"])
    }

    /// Starts it without a statement log, for trials of many jobs.
    pub fn start_quiet() -> Self {
        Self::serve(&["-c", "max_connections=200"])
    }

    fn serve(flags: &[&str]) -> Self {
        let folder = folder();
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data")));
        let port = free_port();
        let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let process = launch(folder.path(), port, &flags);
        Self { port, process, folder, flags }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Statements executed since the start, one per line.
    pub fn statements(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        let of_service = log.lines().filter(|line| line.starts_with("runlater: "));
        of_service
            .filter(|line| line.contains("execute ") || line.contains("statement:"))
            .map(String::from)
            .collect()
    }

    /// Kills it: no checkpoint, no message to clients.
    pub fn die(&mut self) {
        signal(self.process.0.id(), "QUIT");
        let _ = self.process.0.wait();
    }

    /// Sends SIGKILL to it and to its backends, which would otherwise run on for a while.
    pub fn kill(&mut self) {
        let parent = self.process.0.id().to_string();
        let children = Command::new("pgrep").args(["-P", &parent]).output().unwrap().stdout;
        self.process.kill();
        for child in String::from_utf8(children).unwrap().lines() {
            let _ = Command::new("kill").args(["-s", "KILL", child]).stderr(Stdio::null()).status();
        }
    }

    /// Starts it again, on the same port. Retries while processes of the last one are still ending.
    pub fn restart(&mut self) {
        let address = ("127.0.0.1", self.port);
        let until = tokio::time::Instant::now() + TEST_TIMEOUT;
        loop {
            self.process = launch(self.folder.path(), self.port, &self.flags);
            while matches!(self.process.0.try_wait(), Ok(None)) {
                if TcpStream::connect(address).is_ok() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(tokio::time::Instant::now() < until, "PostgreSQL does not start again");
            std::thread::sleep(Duration::from_millis(100));
        }
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
