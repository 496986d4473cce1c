//! A Redis of its own for a test.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use redis::{AsyncConnectionConfig, FromRedisValue, RedisResult};
use tempfile::TempDir;

use crate::{Running, free_port, wait};

/// A Redis that keeps its port when it is started again.
pub struct Redis {
    port: u16,
    process: Running,
    folder: TempDir,
}

impl Redis {
    /// Starts it empty, and waits until it answers.
    pub async fn start() -> Self {
        let (folder, port) = (TempDir::new().expect("a folder"), free_port());
        let redis = Self { port, process: serve(folder.path(), port), folder };
        redis.wait().await;
        redis
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Starts it again, with the data that it had saved.
    pub async fn restart(&mut self) {
        self.process = serve(self.folder.path(), self.port);
        self.wait().await;
    }

    async fn wait(&self) {
        wait("Redis", async || self.try_command::<String>(&["PING"]).await.is_ok()).await;
    }

    /// Sends a command, which must succeed.
    pub async fn command<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_command(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    async fn try_command<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let client = redis::Client::open(self.url())?;
        // The client's own limits are shorter than the pauses of a machine whose CPUs are full.
        let patience = Some(Duration::from_secs(20));
        let config =
            AsyncConnectionConfig::new().set_connection_timeout(patience).set_response_timeout(patience);
        let mut connection = client.get_multiplexed_async_connection_with_config(&config).await?;
        let mut command = redis::Cmd::new();
        command.arg(words);
        command.query_async(&mut connection).await
    }
}

fn serve(folder: &Path, port: u16) -> Running {
    let child = Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"])
        .arg(folder)
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is needed; install it: apt-get install redis-server (or: brew install redis)");
    Running(child)
}
