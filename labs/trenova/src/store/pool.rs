//! Connections to PostgreSQL: how many, how many of them idle, and for how long.
//!
//! Does not know what is asked over them.

use std::ops::Deref;
use std::time::Duration;

use deadpool_postgres::{Client, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::NoTls;

use crate::config::ServeArgs;
use crate::metric::Metrics;
use crate::refusal::Refusal;

/// How often idle connections are looked at.
const ROUND: Duration = Duration::from_secs(1);

/// The pool of a process.
pub struct Database {
    pool: Pool,
    idle_most: usize,
    metrics: Metrics,
}

/// A connection that somebody uses; back in the pool afterwards if that wants it.
pub struct Held {
    client: Option<Client>,
    /// The pool, if it may have enough connections already.
    closing: Option<(Pool, usize, Metrics)>,
}

impl Database {
    /// Connects when the first connection is wanted.
    ///
    /// # Errors
    /// The address is no address of PostgreSQL.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        let timeout = args.store_timeout();
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(session(&args.store.postgres, timeout)?, NoTls, recycling);
        let life = Duration::from_secs(switches.db_pool_life.into());
        let pool = Pool::builder(manager)
            .max_size(switches.share(switches.db_pool_max).into())
            .wait_timeout(Some(timeout))
            .create_timeout(Some(timeout))
            // The one used last is the warmest, and the others may grow old enough to go.
            .queue_mode(deadpool::managed::QueueMode::Lifo)
            .pre_recycle(Hook::sync_fn(move |_, used| {
                if used.age() < life { Ok(()) } else { Err(HookError::message("it has lived long enough")) }
            }))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Refusal::Postgres(error.to_string()))?;
        tokio::spawn(reap(pool.clone(), Duration::from_secs(switches.db_pool_idle_time.into())));
        Ok(Self { pool, idle_most: switches.share(switches.db_pool_idle).into(), metrics })
    }

    /// A connection.
    ///
    /// # Errors
    /// None is to be had in time.
    pub async fn get(&self) -> Result<Held, Refusal> {
        let client = self.pool.get().await?;
        let may_close = self.idle_most < self.pool.status().max_size;
        let closing = may_close.then(|| (self.pool.clone(), self.idle_most, self.metrics.clone()));
        Ok(Held { client: Some(client), closing })
    }

    /// Connections at this time.
    pub fn connections(&self) -> usize {
        self.pool.status().size
    }
}

impl Deref for Held {
    type Target = Client;

    #[allow(clippy::expect_used, reason = "the client is there until drop")]
    fn deref(&self) -> &Client {
        self.client.as_ref().expect("taken in drop alone")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (Some(client), Some((pool, idle_most, metrics))) = (self.client.take(), self.closing.take())
        else {
            return;
        };
        let status = pool.status();
        if status.waiting == 0 && status.available >= idle_most {
            metrics.db_closed.inc();
            drop(Client::take(client));
        }
    }
}

/// Closes connections that nobody needed for so long.
async fn reap(pool: Pool, idle_time: Duration) {
    while !pool.is_closed() {
        tokio::time::sleep(ROUND).await;
        pool.retain(|_, used| used.last_used() < idle_time);
    }
}

/// How sessions of PostgreSQL are opened.
fn session(url: &str, timeout: Duration) -> Result<tokio_postgres::Config, Refusal> {
    let mut config: tokio_postgres::Config = url.parse()?;
    config.connect_timeout(timeout).application_name("trenova");
    let given = config.get_options().unwrap_or_default();
    let options = format!("{given} -c statement_timeout={}", timeout.as_millis());
    config.options(options.trim());
    Ok(config)
}
