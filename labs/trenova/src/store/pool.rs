//! Connections to PostgreSQL: how many, how many of them idle, for how long, and how long one may be without an answer.
//!
//! Does not know what is asked over them.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Client, Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use tokio_postgres::NoTls;

use crate::config::ServeArgs;
use crate::metric::Metrics;
use crate::refusal::Refusal;

/// How often idle connections are looked at.
const ROUND: Duration = Duration::from_secs(1);

/// The pool of a process.
pub struct Database {
    pool: Pool,
    idle: Option<Arc<Idle>>,
    patience: Duration,
}

/// A connection that somebody uses; back in the pool afterwards if that wants it.
pub struct Held {
    client: Option<Client>,
    idle: Option<Arc<Idle>>,
    patience: Duration,
    /// Whether an answer is still missing.
    is_late: AtomicBool,
}

/// How many connections stay while nobody needs them, where not all may.
struct Idle {
    most: usize,
    closed: Counter,
    /// Who gives one back counts and closes in one step, or two would close for the same one.
    turn: Mutex<()>,
}

impl Database {
    /// Connects when the first connection is wanted.
    ///
    /// # Errors
    /// The address is no address of PostgreSQL.
    pub fn new(args: &ServeArgs, metrics: &Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        let timeout = args.store_timeout();
        let most = usize::from(switches.pool(switches.db_pool_max));
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(session(&args.store.postgres, timeout)?, NoTls, recycling);
        let life = Duration::from_secs(switches.db_pool_life.into());
        let pool = Pool::builder(manager)
            .max_size(most)
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
        let idle = usize::from(switches.share(switches.db_pool_idle));
        let idle = (idle < most).then(|| Arc::new(Idle::new(idle, metrics.db_closed.clone())));
        tokio::spawn(reap(
            pool.clone(),
            Duration::from_secs(switches.db_pool_idle_time.into()),
            idle.clone(),
        ));
        // PostgreSQL itself ends a statement at the time-out; only one that cannot is silent for longer.
        Ok(Self { pool, idle, patience: 2 * timeout })
    }

    /// A connection.
    ///
    /// # Errors
    /// None is to be had in time.
    pub async fn get(&self) -> Result<Held, Refusal> {
        let client = Some(self.pool.get().await?);
        Ok(Held { client, idle: self.idle.clone(), patience: self.patience, is_late: AtomicBool::new(false) })
    }

    /// Connections at this time.
    pub fn connections(&self) -> usize {
        self.pool.status().size
    }
}

impl Held {
    /// Waits for what is asked over it. When no answer comes it is closed afterwards, not put back.
    ///
    /// # Errors
    /// PostgreSQL fails, or is silent for longer than anything takes.
    pub async fn within<T, E: Into<Refusal>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Refusal> {
        let Ok(done) = tokio::time::timeout(self.patience, work).await else {
            self.is_late.store(true, Ordering::Relaxed);
            return Err(Refusal::Postgres(format!("no answer within {:?}", self.patience)));
        };
        done.map_err(Into::into)
    }
}

impl Idle {
    fn new(most: usize, closed: Counter) -> Self {
        Self { most, closed, turn: Mutex::new(()) }
    }

    /// Puts a connection back, and closes one if enough were there.
    fn take(&self, client: Client) {
        let Some(pool) = Client::pool(&client) else { return };
        let _turn = self.turn.lock();
        drop(client);
        self.trim(&pool);
    }

    /// Closes those beyond as many as stay, the longest unused first.
    fn trim(&self, pool: &Pool) {
        let mut more = pool.status().available.saturating_sub(self.most);
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

impl Deref for Held {
    type Target = Client;

    #[allow(clippy::expect_used, reason = "the client is there until drop")]
    fn deref(&self) -> &Client {
        self.client.as_ref().expect("taken in drop alone")
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.is_late.load(Ordering::Relaxed) {
            drop(Client::take(client));
        } else if let Some(idle) = &self.idle {
            idle.take(client);
        }
    }
}

/// Closes connections that nobody needed for so long, and those that are too many.
async fn reap(pool: Pool, idle_time: Duration, idle: Option<Arc<Idle>>) {
    while !pool.is_closed() {
        tokio::time::sleep(ROUND).await;
        pool.retain(|_, used| used.last_used() < idle_time);
        if let Some(idle) = &idle {
            // Whoever waited for one in vain gives none back.
            let _turn = idle.turn.lock();
            idle.trim(&pool);
        }
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
