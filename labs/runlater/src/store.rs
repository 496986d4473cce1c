//! The tables, their statements and the connection pools.
//!
//! Decides nothing about tasks. One file per kind of statement.

use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime};
use tokio_postgres::{NoTls, Statement};

use crate::config::switch::{self, Presence};
use crate::config::{ServeArgs, millis};
use crate::metric::{Backlog, Metrics};
use crate::refusal::Refusal;

pub mod change;
pub mod claim;
pub mod create;
pub mod key;
pub mod list;
pub mod maintenance;
pub mod notification;
pub mod prepare;
pub mod recur;
pub mod result;
pub mod transaction;

/// Connections for background work: batches of tasks, claims and results, heartbeats, maintenance.
const BACKGROUND_CONNECTIONS: usize = 8;
/// Batch statements are planned once, maybe on empty tables: force plans that suit full ones.
const FORCED_PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off \
                          -c enable_mergejoin=off -c enable_bitmapscan=off";

/// The tables.
pub struct Store {
    /// For requests and single-job workers.
    requests: Pool,
    background: Pool,
    pool_error: switch::PoolError,
    list: list::Sql,
    claim: claim::Sql,
    result: result::Sql,
    /// The last count of the backlog and its time.
    backlog: tokio::sync::Mutex<Option<(tokio::time::Instant, Backlog)>>,
    metrics: Metrics,
}

impl Store {
    /// Connects on first use.
    ///
    /// # Errors
    /// The address is not a PostgreSQL address.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        // Without the index on ids only a sequential scan finds a task.
        let plans = if switches.tasks_pk_index == Presence::Present { FORCED_PLANS } else { "" };
        let wait = millis(switches.db_pool_wait_ms);
        Ok(Self {
            requests: pool(args, switches.db_pool.into(), wait, "")?,
            background: pool(args, BACKGROUND_CONNECTIONS, args.store_timeout(), plans)?,
            pool_error: switches.pool_error,
            list: list::Sql::of(switches),
            claim: claim::Sql::of(switches),
            result: result::Sql::of(switches),
            backlog: tokio::sync::Mutex::default(),
            metrics,
        })
    }

    /// A connection for a request, with a short wait.
    async fn get(&self) -> Result<Client, Refusal> {
        self.requests.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => Refusal::Busy(self.pool_error),
            error => error.into(),
        })
    }

    /// A connection for a worker, which waits as long as it takes.
    async fn get_for_worker(&self) -> Result<Client, Refusal> {
        loop {
            match self.requests.get().await {
                Err(PoolError::Timeout(deadpool_postgres::TimeoutType::Wait)) => {}
                other => return Ok(other?),
            }
        }
    }

    /// A connection for batches and maintenance.
    async fn get_background(&self) -> Result<Client, Refusal> {
        Ok(self.background.get().await?)
    }

    /// Checks that PostgreSQL responds.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Refusal> {
        self.background.get().await?.simple_query("SELECT 1").await?;
        Ok(())
    }
}

async fn prepared(client: &Client, sql: &str) -> Result<Statement, Refusal> {
    Ok(client.prepare_cached(sql).await?)
}

fn pool(args: &ServeArgs, most: usize, wait: Duration, plans: &str) -> Result<Pool, Refusal> {
    let config = session(args, plans)?;
    let manager =
        Manager::from_config(config, NoTls, ManagerConfig { recycling_method: RecyclingMethod::Fast });
    Pool::builder(manager)
        .max_size(most)
        .wait_timeout(Some(wait))
        .create_timeout(Some(args.store_timeout()))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| Refusal::Postgres { reason: error.to_string(), lasting: false })
}

/// Configuration of a PostgreSQL session.
fn session(args: &ServeArgs, plans: &str) -> Result<tokio_postgres::Config, Refusal> {
    let timeout = args.store_timeout();
    let mut config: tokio_postgres::Config = args.store.postgres.parse()?;
    config.connect_timeout(timeout).application_name("runlater");
    let given = config.get_options().unwrap_or_default();
    // No JIT: compiling takes longer than running any of these statements.
    let options =
        format!("{given} -c timezone=UTC -c jit=off -c statement_timeout={} {plans}", timeout.as_millis());
    config.options(options.trim());
    Ok(config)
}
