//! The pool of PostgreSQL connections: size, idle limit, lifetimes and time-out.
//!
//! Does not know the statements.

use std::future::poll_fn;
use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime,
};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;
use tokio_postgres::NoTls;

use crate::config::ServeArgs;
use crate::metric::Metrics;
use crate::refusal::Refusal;

/// Interval between checks for idle connections.
const REAP_INTERVAL: Duration = Duration::from_secs(1);

/// The pool of a process.
pub struct Database {
    pool: Pool,
    idle: Option<Arc<IdleLimit>>,
    response_timeout: Duration,
    wait_seconds: Histogram,
}

/// A connection in use; returned to the pool or closed on drop.
pub struct PooledClient {
    client: Option<Client>,
    idle: Option<Arc<IdleLimit>>,
    response_timeout: Duration,
    /// Whether a statement got no response.
    is_unanswered: AtomicBool,
}

/// Limit of idle connections, below the size of the pool.
struct IdleLimit {
    max: usize,
    closed: Counter,
    /// Held from count to close: two returns must not both close for the same excess connection.
    trim_lock: Mutex<()>,
}

impl Database {
    /// Connects on first use.
    ///
    /// # Errors
    /// The address is not a PostgreSQL address.
    pub fn new(args: &ServeArgs, metrics: &Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        let timeout = args.store_timeout();
        let max = usize::from(switches.pool(switches.db_pool_max));
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(session(&args.store.postgres, timeout)?, NoTls, recycling);
        let max_life = Duration::from_secs(switches.db_pool_life.into());
        let pool = Pool::builder(manager)
            .max_size(max)
            .wait_timeout(Some(timeout))
            .create_timeout(Some(timeout))
            // Last in, first out: the last used is the warmest, and unused ones reach their idle time-out.
            .queue_mode(deadpool::managed::QueueMode::Lifo)
            .pre_recycle(Hook::sync_fn(move |_, used| {
                if used.age() < max_life {
                    Ok(())
                } else {
                    Err(HookError::message("it has lived long enough"))
                }
            }))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Refusal::Postgres(error.to_string()))?;
        let idle = usize::from(switches.share(switches.db_pool_idle));
        let idle = (idle < max).then(|| Arc::new(IdleLimit::new(idle, metrics.db_closed.clone())));
        tokio::spawn(reap(
            pool.clone(),
            Duration::from_secs(switches.db_pool_idle_time.into()),
            idle.clone(),
        ));
        // PostgreSQL cancels a statement at the time-out; only an unreachable server is silent for longer.
        Ok(Self { pool, idle, response_timeout: 2 * timeout, wait_seconds: metrics.db_wait_seconds.clone() })
    }

    /// A connection.
    ///
    /// # Errors
    /// No connection was free in time.
    pub async fn get(&self) -> Result<PooledClient, Refusal> {
        let client = Some(self.pooled().await?);
        Ok(PooledClient {
            client,
            idle: self.idle.clone(),
            response_timeout: self.response_timeout,
            is_unanswered: AtomicBool::new(false),
        })
    }

    /// A connection of the pool, or a new one. A request that has one at once looks at no clock.
    async fn pooled(&self) -> Result<Client, PoolError> {
        let mut getting = pin!(self.pool.get());
        let begun = poll_fn(|context| Poll::Ready(getting.as_mut().poll(context))).await;
        if let Poll::Ready(pooled) = begun {
            return pooled;
        }
        let started = Instant::now();
        let pooled = getting.await;
        self.wait_seconds.observe(started.elapsed().as_secs_f64());
        pooled
    }

    /// Open connections.
    pub fn connections(&self) -> usize {
        self.pool.status().size
    }

    /// Requests that wait for a connection.
    pub fn waiting(&self) -> usize {
        self.pool.status().waiting
    }
}

impl PooledClient {
    /// Waits for a statement. A connection without a response is closed on drop, not returned to the pool.
    ///
    /// # Errors
    /// PostgreSQL fails, or does not respond in time.
    pub async fn with_timeout<T, E: Into<Refusal>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Refusal> {
        let Ok(done) = tokio::time::timeout(self.response_timeout, work).await else {
            self.is_unanswered.store(true, Ordering::Relaxed);
            return Err(Refusal::Postgres(format!("no answer within {:?}", self.response_timeout)));
        };
        done.map_err(Into::into)
    }
}

impl IdleLimit {
    fn new(max: usize, closed: Counter) -> Self {
        Self { max, closed, trim_lock: Mutex::new(()) }
    }

    /// Returns a connection to the pool and closes the excess.
    fn put_back(&self, client: Client) {
        let Some(pool) = Client::pool(&client) else { return };
        let _trim_lock = self.trim_lock.lock();
        drop(client);
        self.trim(&pool);
    }

    /// Closes idle connections beyond the limit, longest unused first.
    fn trim(&self, pool: &Pool) {
        let mut more = pool.status().available.saturating_sub(self.max);
        if more > 0 {
            let trimmed = pool.retain(|_, _| {
                let stays = more == 0;
                more = more.saturating_sub(1);
                stays
            });
            self.closed.inc_by(trimmed.removed.len() as u64);
        }
    }
}

impl Deref for PooledClient {
    type Target = Client;

    #[allow(clippy::expect_used, reason = "the client is there until drop")]
    fn deref(&self) -> &Client {
        self.client.as_ref().expect("taken in drop alone")
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.is_unanswered.load(Ordering::Relaxed) {
            drop(Client::take(client));
        } else if let Some(idle) = &self.idle {
            idle.put_back(client);
        }
    }
}

/// Closes connections idle for `idle_time` and those beyond the limit.
async fn reap(pool: Pool, idle_time: Duration, idle: Option<Arc<IdleLimit>>) {
    while !pool.is_closed() {
        tokio::time::sleep(REAP_INTERVAL).await;
        pool.retain(|_, used| used.last_used() < idle_time);
        if let Some(idle) = &idle {
            // A request that timed out while waiting returns no connection, so trim here, too.
            let _trim_lock = idle.trim_lock.lock();
            idle.trim(&pool);
        }
    }
}

/// Configuration of a PostgreSQL session.
fn session(url: &str, timeout: Duration) -> Result<tokio_postgres::Config, Refusal> {
    let mut config: tokio_postgres::Config = url.parse()?;
    config.connect_timeout(timeout).application_name("trenova");
    let given = config.get_options().unwrap_or_default();
    let options = format!("{given} -c statement_timeout={}", timeout.as_millis());
    config.options(options.trim());
    Ok(config)
}
