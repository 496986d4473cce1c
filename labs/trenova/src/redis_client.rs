//! Redis client: a pool with a connection per command in progress, or one connection that pipelines all commands.
//!
//! Does not retry: a failed command may have been executed.

use std::time::Duration;

use deadpool::managed::{self, Object, Pool, PoolError, QueueMode, RecycleError};
use parking_lot::Mutex;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisError, ScriptInvocation};
use tokio::time::Instant;

use crate::config::ServeArgs;
use crate::config::switch::RedisLink;
use crate::metric::Metrics;

/// Least time between replacements of the shared connection.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// Why a command has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// It cannot be reached, timed out, or reports an error.
    #[error("{0}")]
    Redis(String),
    /// No connection was free in time.
    #[error("no connection was free in time")]
    Full,
}

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
        Self::Redis(error.to_string())
    }
}

/// Client for Redis.
pub struct RedisClient {
    transport: Transport,
    metrics: Metrics,
}

enum Transport {
    Pool(Pool<ConnectionFactory>),
    Shared(Box<Shared>),
}

impl RedisClient {
    /// Connects on the first command.
    ///
    /// # Errors
    /// The address is not a Redis address.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Fault> {
        let (client, timeout) = (Client::open(args.redis.as_str())?, args.redis_timeout());
        let transport = match args.switches.redis_link {
            RedisLink::Shared => {
                let config = ConnectionManagerConfig::new()
                    .set_number_of_retries(1)
                    .set_connection_timeout(Some(timeout))
                    .set_response_timeout(Some(timeout));
                Transport::Shared(Box::new(Shared::new(client, config)?))
            }
            RedisLink::Pool => {
                Transport::Pool(pool(client, args.switches.pool(args.switches.redis_pool), timeout)?)
            }
        };
        Ok(Self { transport, metrics })
    }

    /// Opens up to this many connections before the first command.
    pub async fn warm(&self, connections: u16) {
        let Transport::Pool(pool) = &self.transport else { return };
        let mut open = Vec::new();
        for _ in 0..connections {
            match pool.get().await {
                Ok(pooled) => open.push(pooled),
                Err(error) => {
                    tracing::warn!(%error, "no connections to Redis ahead of need");
                    return;
                }
            }
        }
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        match &self.transport {
            Transport::Pool(pool) => pool.status().size,
            Transport::Shared(_) => 1,
        }
    }

    /// Commands that wait for a connection. None does for the shared one.
    pub fn waiting(&self) -> usize {
        match &self.transport {
            Transport::Pool(pool) => pool.status().waiting,
            Transport::Shared(_) => 0,
        }
    }

    /// Sends a command.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn send<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Fault> {
        self.count(1);
        match &self.transport {
            Transport::Shared(shared) => shared.inspect(command.query_async(&mut shared.manager()).await),
            Transport::Pool(pool) => {
                let mut pooled = get(pool).await?;
                let result = command.query_async(&mut pooled.connection).await;
                pooled.inspect(result)
            }
        }
    }

    /// Sends several commands in one pipeline.
    ///
    /// # Errors
    /// Redis does not respond; any of the commands may have been executed.
    pub async fn send_all<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, Fault> {
        self.count(commands.len() as u64);
        match &self.transport {
            Transport::Shared(shared) => shared.inspect(commands.query_async(&mut shared.manager()).await),
            Transport::Pool(pool) => {
                let mut pooled = get(pool).await?;
                let result = commands.query_async(&mut pooled.connection).await;
                pooled.inspect(result)
            }
        }
    }

    /// Runs a script, and loads it first if Redis does not have it.
    ///
    /// # Errors
    /// Redis does not respond.
    pub async fn run_script<T: FromRedisValue>(&self, script: &ScriptInvocation<'_>) -> Result<T, Fault> {
        self.count(1);
        match &self.transport {
            Transport::Shared(shared) => shared.inspect(script.invoke_async(&mut shared.manager()).await),
            Transport::Pool(pool) => {
                let mut pooled = get(pool).await?;
                let result = script.invoke_async(&mut pooled.connection).await;
                pooled.inspect(result)
            }
        }
    }

    fn count(&self, commands: u64) {
        self.metrics.redis_round_trips.inc();
        self.metrics.redis_commands.inc_by(commands);
    }
}

/// The shared connection and when it was created.
struct Shared {
    client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<(ConnectionManager, Instant)>,
}

impl Shared {
    fn new(client: Client, config: ConnectionManagerConfig) -> Result<Self, RedisError> {
        let current = Mutex::new(connect_lazily(&client, &config)?);
        Ok(Self { client, config, current })
    }

    fn manager(&self) -> ConnectionManager {
        self.current.lock().0.clone()
    }

    /// The connection manager reconnects after network errors, but keeps any other connect error for ever, such as a rejected
    /// password. Such errors cannot be distinguished from others and are rare: each replaces the manager.
    fn inspect<T>(&self, result: Result<T, RedisError>) -> Result<T, Fault> {
        if result.as_ref().is_err_and(|error| !error.is_io_error()) {
            let mut current = self.current.lock();
            if current.1.elapsed() >= RECONNECT_INTERVAL {
                *current = connect_lazily(&self.client, &self.config)?;
            }
        }
        Ok(result?)
    }
}

/// Connects on the first command.
fn connect_lazily(
    client: &Client,
    config: &ConnectionManagerConfig,
) -> Result<(ConnectionManager, Instant), RedisError> {
    let manager = ConnectionManager::new_lazy_with_config(client.clone(), config.clone())?;
    Ok((manager, Instant::now()))
}

/// A pooled connection, and whether it is broken.
struct PooledConnection {
    connection: MultiplexedConnection,
    is_broken: bool,
}

impl PooledConnection {
    fn inspect<T>(&mut self, result: Result<T, RedisError>) -> Result<T, Fault> {
        // After a time-out, the late response would be read as the next command's.
        self.is_broken |= result.as_ref().is_err_and(|error| error.is_io_error() || error.is_timeout());
        Ok(result?)
    }
}

/// Opens connections for the pool.
struct ConnectionFactory {
    client: Client,
    config: AsyncConnectionConfig,
}

impl managed::Manager for ConnectionFactory {
    type Type = PooledConnection;
    type Error = RedisError;

    async fn create(&self) -> Result<PooledConnection, RedisError> {
        let connection = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
        Ok(PooledConnection { connection, is_broken: false })
    }

    async fn recycle(
        &self,
        pooled: &mut PooledConnection,
        _: &managed::Metrics,
    ) -> Result<(), RecycleError<RedisError>> {
        if pooled.is_broken { Err(RecycleError::message("broken")) } else { Ok(()) }
    }
}

fn pool(client: Client, size: u16, timeout: Duration) -> Result<Pool<ConnectionFactory>, Fault> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    Pool::builder(ConnectionFactory { client, config })
        .max_size(size.into())
        .wait_timeout(Some(timeout))
        .queue_mode(QueueMode::Lifo)
        .runtime(deadpool::Runtime::Tokio1)
        .build()
        .map_err(|error| Fault::Redis(error.to_string()))
}

async fn get(pool: &Pool<ConnectionFactory>) -> Result<Object<ConnectionFactory>, Fault> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => error.into(),
        PoolError::Timeout(_) => Fault::Full,
        error => Fault::Redis(error.to_string()),
    })
}
