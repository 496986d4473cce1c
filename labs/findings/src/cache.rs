//! Redis: one connection that all requests share, and single ones.
//!
//! Does not know what the values mean.

use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline};

use crate::refusal::Refusal;

/// Keys per pipeline when many are written.
const CHUNK: usize = 500;

/// Longest wait for a connection and for an answer. The client's own limits are shorter than the pauses of a machine whose
/// CPUs are full.
const PATIENCE: Duration = Duration::from_secs(20);

/// Redis.
#[derive(Clone)]
pub struct Cache {
    client: Client,
    shared: ConnectionManager,
}

impl Cache {
    /// Opens the shared connection.
    ///
    /// # Errors
    /// Redis does not answer.
    pub async fn open(url: &str) -> Result<Self, Refusal> {
        let client = Client::open(url)?;
        let config = ConnectionManagerConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        let shared = ConnectionManager::new_with_config(client.clone(), config).await?;
        Ok(Self { client, shared })
    }

    /// A connection of its own.
    ///
    /// # Errors
    /// Redis does not answer.
    pub async fn connect(&self) -> Result<MultiplexedConnection, Refusal> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(PATIENCE))
            .set_response_timeout(Some(PATIENCE));
        Ok(self.client.get_multiplexed_async_connection_with_config(&config).await?)
    }

    /// The shared connection, for scripts.
    pub fn shared(&self) -> ConnectionManager {
        self.shared.clone()
    }

    /// Sends a command.
    ///
    /// # Errors
    /// Redis fails.
    pub async fn send<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Refusal> {
        Ok(command.query_async(&mut self.shared()).await?)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// Redis fails.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Refusal> {
        self.send(redis::cmd("GET").arg(key)).await
    }

    /// Sets keys in pipelines.
    ///
    /// # Errors
    /// Redis fails.
    pub async fn fill(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<(), Refusal> {
        for chunk in pairs.chunks(CHUNK) {
            let mut pipeline = Pipeline::new();
            for (key, value) in chunk {
                pipeline.cmd("SET").arg(key).arg(value.as_slice()).ignore();
            }
            let () = pipeline.query_async(&mut self.shared()).await?;
        }
        Ok(())
    }
}
