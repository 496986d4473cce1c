//! The application state that request handlers share, built from the switches.
//!
//! Does not parse HTTP; [`crate::web`] does.

use std::sync::Arc;

use crate::account::Accounts;
use crate::admission::Admission;
use crate::config::ServeArgs;
use crate::metric::Metrics;
use crate::options::Options;
use crate::redis_client::RedisClient;
use crate::refusal::Refusal;
use crate::store::Store;

/// State shared by all request handlers.
pub struct App {
    /// Checks sessions and the rate limit.
    pub admission: Admission,
    /// Signs users in and out.
    pub accounts: Accounts,
    /// Reads pages of drop-down options.
    pub options: Options,
    /// Tables of workers and users.
    pub store: Arc<Store>,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// Counters of this process.
    pub metrics: Metrics,
    redis: Arc<RedisClient>,
}

impl App {
    /// Opens it inside a runtime. Neither store must be running yet.
    ///
    /// # Errors
    /// A store's address is malformed.
    pub async fn open(args: &ServeArgs, metrics: Metrics) -> Result<Arc<Self>, Refusal> {
        let switches = &args.switches;
        let redis =
            RedisClient::new(args, metrics.clone()).map_err(|fault| Refusal::Session(fault.to_string()))?;
        let redis = Arc::new(redis);
        redis.warm(switches.share(switches.redis_pool_idle.min(switches.redis_pool))).await;
        let store = Arc::new(Store::new(args, metrics.clone())?);
        Ok(Arc::new(Self {
            admission: Admission::start(Arc::clone(&redis), args, metrics.clone()),
            accounts: Accounts::new(Arc::clone(&store), Arc::clone(&redis), args),
            options: Options::start(Arc::clone(&store), switches, metrics.clone()),
            store,
            body_limit: args.body_limit,
            metrics,
            redis,
        }))
    }

    /// Readiness: whether requests can be served.
    ///
    /// # Errors
    /// A store that requests need does not respond.
    pub async fn ready(&self) -> Result<(), Refusal> {
        self.store.ping().await?;
        self.admission.ping().await
    }

    /// Metrics of this process, in `OpenMetrics` text.
    pub fn figures(&self) -> String {
        self.metrics.db_connections.set(self.store.connections() as i64);
        self.metrics.db_waiting.set(self.store.waiting() as i64);
        self.metrics.redis_connections.set(self.redis.connections() as i64);
        self.metrics.redis_waiting.set(self.redis.waiting() as i64);
        self.metrics.text()
    }
}
