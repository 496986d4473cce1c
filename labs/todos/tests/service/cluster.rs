//! Test fixture: a PostgreSQL cluster and its replica, for one test each.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use tempfile::TempDir;
use testbed::free_port;

/// Timeout of every wait.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed when dropped.
pub struct ChildProcess(pub Child);

impl ChildProcess {
    /// Sends SIGKILL.
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

/// A cluster of PostgreSQL in a folder of its own.
pub struct Cluster {
    pub port: u16,
    process: ChildProcess,
    folder: TempDir,
}

impl Cluster {
    /// An empty cluster whose commits wait for the disk, as in production.
    pub fn start() -> Self {
        let folder = folder();
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data")));
        Self::serve(folder, &["-c", "max_connections=60"])
    }

    /// An empty cluster whose commits wait for the replica `standby`.
    pub fn start_synchronous() -> Self {
        let folder = folder();
        run(program("initdb")
            .args(["--auth=trust", "--username=postgres", "--no-sync", "--encoding=UTF8", "--locale=C", "-D"])
            .arg(folder.path().join("data")));
        Self::serve(folder, &["-c", "max_connections=60", "-c", "synchronous_standby_names=standby"])
    }

    /// A replica named `standby`.
    pub fn replica(&self) -> Self {
        let folder = folder();
        let from = format!("host=127.0.0.1 port={} user=postgres application_name=standby", self.port);
        run(program("pg_basebackup")
            .args([
                "--checkpoint=fast",
                "--no-sync",
                "--write-recovery-conf",
                "--wal-method=stream",
                "-d",
                &from,
            ])
            .arg("-D")
            .arg(folder.path().join("data")));
        Self::serve(folder, &["-c", "max_connections=60", "-c", "hot_standby=on"])
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
        Self { port, process: ChildProcess(child), folder }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// Statements that services executed since the cluster started, one line each.
    pub fn statements(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        let of_service = log.lines().filter(|line| line.starts_with("todos: "));
        of_service
            .filter(|line| line.contains("execute ") || line.contains("statement:"))
            .map(String::from)
            .collect()
    }

    /// Immediate shutdown: without a checkpoint or a message to the replica.
    pub fn stop_immediately(&mut self) {
        signal(self.process.0.id(), "QUIT");
        let _ = self.process.0.wait();
    }

    /// Makes a replica a primary.
    pub fn promote(&self) {
        run(program("pg_ctl").args(["promote", "--wait", "-D"]).arg(self.folder.path().join("data")));
    }

    /// Opens a connection as soon as PostgreSQL accepts one.
    pub async fn connect(&self) -> tokio_postgres::Client {
        let trying = async {
            loop {
                if let Ok(created) = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await {
                    return created;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (client, connection) = tokio::time::timeout(TIMEOUT, trying).await.expect("no connection");
        tokio::spawn(connection);
        client
    }

    /// Number that a query returns.
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
        // Immediate shutdown: the children end with their parent, which a kill does not promise.
        if matches!(self.process.0.try_wait(), Ok(None)) {
            self.stop_immediately();
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
    assert!(tokio::time::timeout(TIMEOUT, trying).await.is_ok(), "{what}: waited for {TIMEOUT:?}");
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

/// A program of PostgreSQL, as a user it agrees to run as.
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
