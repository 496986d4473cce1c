//! All that requests are served with, put together in the way of the switches.
//!
//! Does not take HTTP apart; [`crate::web`] does.

use std::sync::Arc;

use crate::account::Accounts;
use crate::config::ServeArgs;
use crate::link::Link;
use crate::metric::Metrics;
use crate::options::Options;
use crate::pass::Pass;
use crate::refusal::Refusal;
use crate::store::Store;

/// What the routes work with.
pub struct Office {
    /// Who may pass.
    pub pass: Pass,
    /// Who may sign in.
    pub accounts: Accounts,
    /// Options of drop-downs.
    pub options: Options,
    /// Workers.
    pub store: Arc<Store>,
    /// Largest body, in bytes.
    pub body_limit: usize,
    /// The figures.
    pub metrics: Metrics,
    link: Arc<Link>,
}

impl Office {
    /// Opens it, in a runtime. Neither store has to be there yet.
    ///
    /// # Errors
    /// An address is none.
    pub async fn open(args: &ServeArgs, metrics: Metrics) -> Result<Arc<Self>, Refusal> {
        let switches = &args.switches;
        let link = Link::new(args, metrics.clone()).map_err(|fault| Refusal::Session(fault.to_string()))?;
        let link = Arc::new(link);
        link.warm(switches.share(switches.redis_pool_idle.min(switches.redis_pool))).await;
        let store = Arc::new(Store::new(args, metrics.clone())?);
        Ok(Arc::new(Self {
            pass: Pass::start(Arc::clone(&link), args, metrics.clone()),
            accounts: Accounts::new(Arc::clone(&store), Arc::clone(&link), args),
            options: Options::start(Arc::clone(&store), switches, metrics.clone()),
            store,
            body_limit: args.body_limit,
            metrics,
            link,
        }))
    }

    /// Whether requests can be served.
    ///
    /// # Errors
    /// A store that they need does not answer.
    pub async fn ready(&self) -> Result<(), Refusal> {
        self.store.ping().await?;
        self.pass.ping().await
    }

    /// The figures of this process.
    pub fn figures(&self) -> String {
        self.metrics.db_connections.set(self.store.connections() as i64);
        self.metrics.redis_connections.set(self.link.connections() as i64);
        self.metrics.text()
    }
}
