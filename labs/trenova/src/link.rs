//! Ways to Redis: a connection for each command that is under way, or one that pipelines them all.
//!
//! Does not repeat a command that failed: whether it was done is not known.

use std::time::Duration;

use deadpool::managed::{self, Object, Pool, PoolError, QueueMode, RecycleError};
use parking_lot::Mutex;
use redis::aio::{ConnectionManager, ConnectionManagerConfig, MultiplexedConnection};
use redis::{AsyncConnectionConfig, Client, Cmd, FromRedisValue, Pipeline, RedisError, ScriptInvocation};
use tokio::time::Instant;

use crate::config::ServeArgs;
use crate::config::switch::RedisLink;
use crate::metric::Metrics;

/// How often the one connection may be made anew from the beginning.
const ANEW: Duration = Duration::from_secs(1);

/// Why Redis gave no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    /// It cannot be reached, did not answer in time, or says no.
    #[error("{0}")]
    Redis(String),
    /// All connections were taken for too long.
    #[error("no connection was free in time")]
    Full,
}

impl From<RedisError> for Fault {
    fn from(error: RedisError) -> Self {
        Self::Redis(error.to_string())
    }
}

/// The way to Redis.
pub struct Link {
    way: Way,
    metrics: Metrics,
}

enum Way {
    Pool(Pool<Opener>),
    Shared(Box<Shared>),
}

impl Link {
    /// Connects when the first command comes.
    ///
    /// # Errors
    /// The address is no address of Redis.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Fault> {
        let (client, timeout) = (Client::open(args.redis.as_str())?, args.redis_timeout());
        let way = match args.switches.redis_link {
            RedisLink::Shared => {
                let config = ConnectionManagerConfig::new()
                    .set_number_of_retries(1)
                    .set_connection_timeout(Some(timeout))
                    .set_response_timeout(Some(timeout));
                Way::Shared(Box::new(Shared::new(client, config)?))
            }
            RedisLink::Pool => {
                Way::Pool(pool(client, args.switches.pool(args.switches.redis_pool), timeout)?)
            }
        };
        Ok(Self { way, metrics })
    }

    /// Opens connections ahead of the first command, as many as it can.
    pub async fn warm(&self, connections: u16) {
        let Way::Pool(pool) = &self.way else { return };
        let mut open = Vec::new();
        for _ in 0..connections {
            match pool.get().await {
                Ok(line) => open.push(line),
                Err(error) => {
                    tracing::warn!(%error, "no connections to Redis ahead of need");
                    return;
                }
            }
        }
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        match &self.way {
            Way::Pool(pool) => pool.status().size,
            Way::Shared(_) => 1,
        }
    }

    /// Sends a command.
    ///
    /// # Errors
    /// Redis gives no answer.
    pub async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T, Fault> {
        self.count(1);
        match &self.way {
            Way::Shared(shared) => shared.noted(command.query_async(&mut shared.manager()).await),
            Way::Pool(pool) => {
                let mut line = get(pool).await?;
                let result = command.query_async(&mut line.connection).await;
                line.noted(result)
            }
        }
    }

    /// Sends several commands in one piece.
    ///
    /// # Errors
    /// Redis gives no answer: which of them were done is not known.
    pub async fn ask_all<T: FromRedisValue>(&self, commands: &Pipeline) -> Result<T, Fault> {
        self.count(commands.len() as u64);
        match &self.way {
            Way::Shared(shared) => shared.noted(commands.query_async(&mut shared.manager()).await),
            Way::Pool(pool) => {
                let mut line = get(pool).await?;
                let result = commands.query_async(&mut line.connection).await;
                line.noted(result)
            }
        }
    }

    /// Calls a script, which is loaded again if Redis has lost it.
    ///
    /// # Errors
    /// Redis gives no answer.
    pub async fn call<T: FromRedisValue>(&self, call: &ScriptInvocation<'_>) -> Result<T, Fault> {
        self.count(1);
        match &self.way {
            Way::Shared(shared) => shared.noted(call.invoke_async(&mut shared.manager()).await),
            Way::Pool(pool) => {
                let mut line = get(pool).await?;
                let result = call.invoke_async(&mut line.connection).await;
                line.noted(result)
            }
        }
    }

    fn count(&self, commands: u64) {
        self.metrics.redis_round_trips.inc();
        self.metrics.redis_commands.inc_by(commands);
    }
}

/// One connection for all, and since when it is this one.
struct Shared {
    client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<(ConnectionManager, Instant)>,
}

impl Shared {
    fn new(client: Client, config: ConnectionManagerConfig) -> Result<Self, RedisError> {
        let current = Mutex::new(lazy(&client, &config)?);
        Ok(Self { client, config, current })
    }

    fn manager(&self) -> ConnectionManager {
        self.current.lock().0.clone()
    }

    /// A manager connects again after an error of the network, and keeps for ever what else its connecting ended with: a password
    /// that Redis did not take. Its other errors look the same, and are rare enough for a new one.
    fn noted<T>(&self, result: Result<T, RedisError>) -> Result<T, Fault> {
        if result.as_ref().is_err_and(|error| !error.is_io_error()) {
            let mut current = self.current.lock();
            if current.1.elapsed() >= ANEW {
                *current = lazy(&self.client, &self.config)?;
            }
        }
        Ok(result?)
    }
}

/// Connects when the first command comes.
fn lazy(
    client: &Client,
    config: &ConnectionManagerConfig,
) -> Result<(ConnectionManager, Instant), RedisError> {
    let manager = ConnectionManager::new_lazy_with_config(client.clone(), config.clone())?;
    Ok((manager, Instant::now()))
}

/// A connection, and whether it may go back into the pool.
struct Line {
    connection: MultiplexedConnection,
    is_broken: bool,
}

impl Line {
    fn noted<T>(&mut self, result: Result<T, RedisError>) -> Result<T, Fault> {
        // After a time-out an answer to somebody else's command may still be on its way.
        self.is_broken |= result.as_ref().is_err_and(|error| error.is_io_error() || error.is_timeout());
        Ok(result?)
    }
}

/// Opens connections for the pool.
struct Opener {
    client: Client,
    config: AsyncConnectionConfig,
}

impl managed::Manager for Opener {
    type Type = Line;
    type Error = RedisError;

    async fn create(&self) -> Result<Line, RedisError> {
        let connection = self.client.get_multiplexed_async_connection_with_config(&self.config).await?;
        Ok(Line { connection, is_broken: false })
    }

    async fn recycle(&self, line: &mut Line, _: &managed::Metrics) -> Result<(), RecycleError<RedisError>> {
        if line.is_broken { Err(RecycleError::message("broken")) } else { Ok(()) }
    }
}

fn pool(client: Client, size: u16, timeout: Duration) -> Result<Pool<Opener>, Fault> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(timeout))
        .set_response_timeout(Some(timeout));
    Pool::builder(Opener { client, config })
        .max_size(size.into())
        .wait_timeout(Some(timeout))
        .queue_mode(QueueMode::Lifo)
        .runtime(deadpool::Runtime::Tokio1)
        .build()
        .map_err(|error| Fault::Redis(error.to_string()))
}

async fn get(pool: &Pool<Opener>) -> Result<Object<Opener>, Fault> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) => error.into(),
        PoolError::Timeout(_) => Fault::Full,
        error => Fault::Redis(error.to_string()),
    })
}
