//! A private PostgreSQL with the seeded rows, and a private Redis, for one test.

use std::process::Command;

use testbed::{Cluster, Filled, Redis, succeed};

use crate::fixture::PROGRAM;

/// Little of the log of changes is kept: each cluster is a copy, log included.
const SETTINGS: [&str; 7] = [
    "fsync=off",
    "autovacuum=off",
    "max_connections=150",
    "max_wal_size=32MB",
    "min_wal_size=32MB",
    "log_statement=all",
    "log_connections=on",
];

/// Both stores. The rows are in the database `seeded`, of which each service gets a copy.
pub struct Stores {
    pub cluster: Cluster,
    pub redis: Redis,
}

impl Stores {
    /// Starts both. PostgreSQL is seeded.
    pub async fn seeded() -> Self {
        static FILLED: Filled = Filled::new();
        let cluster = Cluster::filled(&FILLED, &SETTINGS, async |cluster| {
            cluster.execute("CREATE DATABASE seeded").await;
            let url = cluster.url_of("seeded");
            succeed(Command::new(PROGRAM).args(["seed", "--postgres", &url]));
        });
        let (cluster, redis) = (cluster.await, Redis::start().await);
        Self { cluster, redis }
    }

    /// Makes a database with the seeded rows. Since version 15 PostgreSQL would write every page to its log, which takes
    /// longer than to copy the files.
    pub async fn copy_seeded(&self, database: &str) {
        let server = self.cluster.connect_to("postgres").await;
        let version = server.query_one("SELECT current_setting('server_version_num')::int", &[]).await;
        let version: i32 = version.unwrap().get(0);
        let strategy = if version >= 150_000 { " STRATEGY file_copy" } else { "" };
        server.batch_execute(&format!("CREATE DATABASE {database} TEMPLATE seeded{strategy}")).await.unwrap();
    }

    /// Executes statements in a database.
    pub async fn execute(&self, database: &str, sql: &str) {
        self.cluster.connect_to(database).await.batch_execute(sql).await.unwrap();
    }

    /// What a service logged in PostgreSQL so far: one line per statement or connection.
    pub fn log(&self, database: &str) -> Vec<String> {
        let log = self.cluster.log();
        let of_service = |line: &&str| {
            line.starts_with(&format!("shop@{database}: "))
                || line.starts_with(&format!("shop-listener@{database}: "))
                || (line.contains("connection authorized") && line.contains(&format!("database={database} ")))
        };
        log.lines().filter(of_service).map(String::from).collect()
    }

    /// Calls of a command of Redis since the last reset of its statistics.
    pub async fn redis_calls(&self, command: &str) -> u64 {
        let text: String = self.redis.command(&["INFO", "commandstats"]).await;
        figure(&text, &format!("cmdstat_{command}:calls="))
    }

    /// A figure of `INFO stats`.
    pub async fn redis_figure(&self, name: &str) -> u64 {
        let text: String = self.redis.command(&["INFO", "stats"]).await;
        figure(&text, &format!("{name}:"))
    }
}

/// The number behind a prefix; 0 if there is none.
fn figure(text: &str, prefix: &str) -> u64 {
    let rest = text.lines().find_map(|line| line.strip_prefix(prefix)).unwrap_or_default();
    rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse().unwrap_or_default()
}
