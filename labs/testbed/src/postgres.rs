//! A PostgreSQL of its own for a test, which can be stopped, killed, frozen, started again and copied by a replica.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::copy::{Filled, Original, folder, program};
use crate::{PAUSE, Running, TIMEOUT, children, free_port, signal, succeed, wait};

/// How many ports are tried: each of them can be taken between the look and the start.
const PORTS: usize = 3;

/// A cluster of PostgreSQL in a temporary folder. Ends with the test.
pub struct Cluster {
    port: u16,
    process: Running,
    folder: TempDir,
    settings: Vec<String>,
    /// What it is a copy of; a replica has none.
    _original: Option<Arc<Original>>,
}

/// Processes that do nothing until this is dropped.
pub struct Frozen(Vec<u32>);

impl Cluster {
    /// An empty cluster with settings, each `NAME=VALUE`. Blocks until it takes connections.
    pub fn start(settings: &[&str]) -> Self {
        Self::copy_of(Original::empty(), settings)
    }

    /// A cluster with settings and what `fill` puts into it, which it does once in a process: the others are copies.
    pub async fn filled(filled: &Filled, settings: &[&str], fill: impl AsyncFnOnce(&Self)) -> Self {
        let original = filled.get(async || {
            let mut first = Self::start(settings);
            fill(&first).await;
            first.stop();
            Original::copy_of(first.folder.path())
        });
        Self::copy_of(original.await, settings)
    }

    fn copy_of(original: Arc<Original>, settings: &[&str]) -> Self {
        let folder = folder();
        original.copy_to(folder.path());
        Self::serve(folder, settings, Some(original))
    }

    /// A replica, whose name in `synchronous_standby_names` is `standby`.
    #[must_use]
    pub fn replica(&self, settings: &[&str]) -> Self {
        let folder = folder();
        let from = format!("host=127.0.0.1 port={} user=postgres application_name=standby", self.port);
        let how = ["--checkpoint=fast", "--no-sync", "--write-recovery-conf", "--wal-method=stream", "-d"];
        succeed(program("pg_basebackup").args(how).arg(from).arg("-D").arg(folder.path().join("data")));
        Self::serve(folder, settings, None)
    }

    fn serve(folder: TempDir, settings: &[&str], original: Option<Arc<Original>>) -> Self {
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        for _ in 0..PORTS {
            let port = free_port();
            if let Some(process) = start(folder.path(), port, &settings) {
                return Self { port, process, folder, settings, _original: original };
            }
        }
        panic!("PostgreSQL does not start: {}", log(folder.path()));
    }

    /// Its address, with the database `postgres`.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The address of a database.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// What it has logged since the first start. Each line begins with `APPLICATION@DATABASE: `.
    pub fn log(&self) -> String {
        log(self.folder.path())
    }

    /// Statements that an application executed since the start, one a line. Needs the setting `log_statement=all`.
    pub fn statements(&self, application: &str) -> Vec<String> {
        let log = self.log();
        let of_application = log.lines().filter(|line| {
            line.strip_prefix(application).is_some_and(|rest| rest.starts_with('@'))
                && (line.contains("execute ") || line.contains("statement:"))
        });
        of_application.map(String::from).collect()
    }

    /// Ends it with a checkpoint, and its clients with it.
    fn stop(&mut self) {
        signal(self.process.id(), "INT");
        let _ = self.process.0.wait();
    }

    /// Ends it at once: no checkpoint, no word to clients or replicas, and none of its processes stays.
    pub fn stop_immediately(&mut self) {
        signal(self.process.id(), "QUIT");
        let _ = self.process.0.wait();
    }

    /// Sends SIGKILL to it and to its children, which would otherwise run on for a while.
    pub fn kill(&mut self) {
        let children = children(self.process.id());
        self.process.kill();
        for child in children {
            let _ =
                Command::new("kill").args(["-s", "KILL", &child.to_string()]).stderr(Stdio::null()).status();
        }
    }

    /// Starts it again on its data and its port, and waits until it takes connections. Tries until all processes of the last start
    /// have ended.
    pub fn restart(&mut self) {
        let end = Instant::now() + TIMEOUT;
        self.process = loop {
            if let Some(process) = start(self.folder.path(), self.port, &self.settings) {
                break process;
            }
            assert!(Instant::now() < end, "PostgreSQL does not start again: {}", self.log());
            sleep(Duration::from_millis(100));
        };
    }

    /// Stops all its processes with SIGSTOP: connections stay open, and nothing comes back.
    pub fn freeze(&self) -> Frozen {
        let first = self.process.id();
        // Stopped first, the parent starts no more children.
        signal(first, "STOP");
        let frozen = Frozen([children(first), vec![first]].concat());
        for process in &frozen.0 {
            signal(*process, "STOP");
        }
        frozen
    }

    /// Makes a replica a primary.
    pub fn promote(&self) {
        succeed(program("pg_ctl").args(["promote", "--wait", "-D"]).arg(self.folder.path().join("data")));
    }

    /// A connection to the database `postgres`, as soon as there is one left.
    pub async fn connect(&self) -> Client {
        self.connect_to("postgres").await
    }

    /// A connection to a database, as soon as there is one left.
    pub async fn connect_to(&self, database: &str) -> Client {
        let url = self.url_of(database);
        let trying = async {
            loop {
                if let Ok(made) = tokio_postgres::connect(&url, NoTls).await {
                    return made;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let (client, connection) = tokio::time::timeout(TIMEOUT, trying).await.expect("a connection");
        tokio::spawn(connection);
        client
    }

    /// Waits until it has a connection left.
    pub async fn ready(&self) {
        wait("PostgreSQL", async || tokio_postgres::connect(&self.url(), NoTls).await.is_ok()).await;
    }

    /// The one number that a query returns.
    pub async fn number(&self, sql: &str) -> i64 {
        let row = self.connect().await.query_one(sql, &[]).await;
        row.unwrap_or_else(|error| panic!("{sql}: {error}")).get(0)
    }

    /// Executes statements.
    pub async fn execute(&self, sql: &str) {
        let done = self.connect().await.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // A kill would leave its children running.
        if matches!(self.process.0.try_wait(), Ok(None)) {
            self.stop_immediately();
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let processes = self.0.iter().map(u32::to_string);
        let _ = Command::new("kill").args(["-s", "CONT"]).args(processes).status();
    }
}

/// Starts it, and waits until it takes connections; nothing if it ends before.
fn start(folder: &Path, port: u16, settings: &[String]) -> Option<Running> {
    let log = OpenOptions::new().create(true).append(true).open(folder.join("log")).expect("a log");
    let mut postgres = program("postgres");
    postgres.arg("-D").arg(folder.join("data"));
    let own = [&format!("port={port}"), "listen_addresses=127.0.0.1", "unix_socket_directories="];
    let settings = settings.iter().map(String::as_str);
    for setting in own.into_iter().chain(["log_line_prefix=%a@%d: "]).chain(settings) {
        postgres.args(["-c", setting]);
    }
    let mut process = Running(postgres.stderr(log).spawn().expect("postgres"));
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end && matches!(process.0.try_wait(), Ok(None)) {
        if is_ready(folder, process.id()) {
            return Some(process);
        }
        sleep(PAUSE);
    }
    None
}

/// Whether this process has written that it takes connections: a port that answers can be that of another one.
fn is_ready(folder: &Path, process: u32) -> bool {
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines();
    let is_own = lines.next().is_some_and(|line| line.trim() == process.to_string());
    // The eighth line of the file is the state.
    is_own && lines.nth(6).is_some_and(|state| matches!(state.trim(), "ready" | "standby"))
}

fn log(folder: &Path) -> String {
    fs::read_to_string(folder.join("log")).expect("a log")
}
