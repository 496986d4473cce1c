//! The tables, and every statement on them: who waits for a connection, and what goes over it.
//!
//! Decides nothing about tasks. One file for each kind of statement.

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
pub mod deed;
pub mod house;
pub mod key;
pub mod list;
pub mod notice;
pub mod prepare;
pub mod recur;
pub mod result;

/// Connections for what waits together, and for the house: batches of tasks, claims and results, signs of life.
const OWN: usize = 8;
/// Plans for batches are made once, when tables may still be empty: they have to be right for full ones.
const SURE_PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off \
                          -c enable_mergejoin=off -c enable_bitmapscan=off";

/// The tables.
pub struct Store {
    /// For requests and for workers that work alone.
    requests: Pool,
    own: Pool,
    pool_error: switch::PoolError,
    list: list::Sql,
    claim: claim::Sql,
    result: result::Sql,
    /// When the backlog was last counted, and what it was.
    backlog: tokio::sync::Mutex<Option<(tokio::time::Instant, Backlog)>>,
    metrics: Metrics,
}

impl Store {
    /// Connects when the first connection is wanted.
    ///
    /// # Errors
    /// The address is no address of PostgreSQL.
    pub fn new(args: &ServeArgs, metrics: Metrics) -> Result<Self, Refusal> {
        let switches = &args.switches;
        // Without the index on ids nothing but a look at all rows finds a task.
        let plans = if switches.tasks_pk_index == Presence::Present { SURE_PLANS } else { "" };
        let wait = millis(switches.db_pool_wait_ms);
        Ok(Self {
            requests: pool(args, switches.db_pool.into(), wait, "")?,
            own: pool(args, OWN, args.store_timeout(), plans)?,
            pool_error: switches.pool_error,
            list: list::Sql::of(switches),
            claim: claim::Sql::of(switches),
            result: result::Sql::of(switches),
            backlog: tokio::sync::Mutex::default(),
            metrics,
        })
    }

    /// A connection for a request, which does not wait for long.
    async fn get(&self) -> Result<Client, Refusal> {
        self.requests.get().await.map_err(|error| match error {
            PoolError::Timeout(_) => Refusal::Busy(self.pool_error),
            error => error.into(),
        })
    }

    /// A connection for a worker: nobody else does its work, so it waits.
    async fn get_at_last(&self) -> Result<Client, Refusal> {
        loop {
            match self.requests.get().await {
                Err(PoolError::Timeout(deadpool_postgres::TimeoutType::Wait)) => {}
                other => return Ok(other?),
            }
        }
    }

    /// A connection for what waits together.
    async fn get_own(&self) -> Result<Client, Refusal> {
        Ok(self.own.get().await?)
    }

    /// Whether PostgreSQL answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Refusal> {
        self.own.get().await?.simple_query("SELECT 1").await?;
        Ok(())
    }
}

async fn kept(client: &Client, sql: &str) -> Result<Statement, Refusal> {
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

/// How sessions are opened.
fn session(args: &ServeArgs, plans: &str) -> Result<tokio_postgres::Config, Refusal> {
    let timeout = args.store_timeout();
    let mut config: tokio_postgres::Config = args.store.postgres.parse()?;
    config.connect_timeout(timeout).application_name("runlater");
    let given = config.get_options().unwrap_or_default();
    // Compiling a statement takes longer than any of these takes to run.
    let options =
        format!("{given} -c timezone=UTC -c jit=off -c statement_timeout={} {plans}", timeout.as_millis());
    config.options(options.trim());
    Ok(config)
}
