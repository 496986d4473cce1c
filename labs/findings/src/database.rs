//! Connections to PostgreSQL: a pool, and single ones.
//!
//! Does not know the tables.

use std::time::Duration;

use deadpool_postgres::{Client, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, NoTls, Row};

use crate::defect::Defect;
use crate::refusal::Refusal;

/// Longest wait for a connection of the pool.
const PATIENCE: Duration = Duration::from_secs(20);

/// Parameters of a statement.
pub type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// PostgreSQL.
pub struct Database {
    pool: Pool,
    config: Config,
}

impl Database {
    /// A pool of connections, which open when they are needed. The defect decides how many there are at most, and whether
    /// PostgreSQL compiles their statements.
    ///
    /// # Errors
    /// The address is not one of PostgreSQL.
    pub fn open(url: &str, defect: Defect) -> Result<Self, Refusal> {
        let mut config = config(url, "shop")?;
        if !defect.compiles() {
            config.options("-c jit=off");
        }
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(config.clone(), NoTls, recycling);
        let pool = Pool::builder(manager)
            .max_size(defect.pool_size())
            .wait_timeout(Some(PATIENCE))
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|error| Refusal::Postgres(error.to_string()))?;
        Ok(Self { pool, config })
    }

    /// A connection of the pool.
    ///
    /// # Errors
    /// None became free, or PostgreSQL refuses one.
    pub async fn client(&self) -> Result<Client, Refusal> {
        Ok(self.pool.get().await?)
    }

    /// Gives a connection back to the pool, which then closes all idle ones but so many.
    pub fn give_back(&self, client: Client, kept: usize) {
        drop(client);
        let mut idle = 0;
        // The status of the pool counts connections that open now as taken, and so too few idle ones.
        self.pool.retain(|_, _| {
            idle += 1;
            idle <= kept
        });
    }

    /// A connection of its own, which ends with its value.
    ///
    /// # Errors
    /// PostgreSQL refuses it.
    pub async fn connect(&self) -> Result<tokio_postgres::Client, Refusal> {
        let (client, connection) = self.config.connect(NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    /// Rows of a statement, which stays prepared.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn query(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, Refusal> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.query(&statement, params).await?)
    }

    /// The one row of a statement.
    ///
    /// # Errors
    /// PostgreSQL fails; there is none.
    pub async fn row(&self, sql: &str, params: Params<'_>) -> Result<Row, Refusal> {
        self.query(sql, params).await?.pop().ok_or(Refusal::Missing)
    }

    /// Number of rows that a statement changes.
    ///
    /// # Errors
    /// PostgreSQL fails.
    pub async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, Refusal> {
        let client = self.client().await?;
        let statement = client.prepare_cached(sql).await?;
        Ok(client.execute(&statement, params).await?)
    }
}

/// Settings of connections.
///
/// # Errors
/// The address is not one of PostgreSQL.
pub fn config(url: &str, name: &str) -> Result<Config, Refusal> {
    let mut config: Config = url.parse()?;
    config.application_name(name);
    Ok(config)
}
