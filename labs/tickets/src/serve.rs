//! The service from startup to shutdown.
//!
//! Does not start the stores; they must be running.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::serve::ListenerExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::booking::Bookings;
use crate::catalogue::Catalogue;
use crate::config::{OrderStock, Record, ServeArgs, without_credentials};
use crate::counter::{self, Counters};
use crate::counter_sales::CounterSales;
use crate::key_table;
use crate::metric::Metrics;
use crate::migration;
use crate::refusal::{self, Refusal};
use crate::sales_record::SalesRecord;
use crate::unit::{self, Units};
use crate::web::{self, AppState};

/// How often the list of tickets is reloaded and expired idempotency keys are deleted.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of connections waiting to be accepted; the system limit may be lower (`net.core.somaxconn`).
const BACKLOG: u32 = 16_384;

/// How often expired orders are released and drifted counters are rebuilt.
const RELEASE_INTERVAL: Duration = Duration::from_secs(1);

/// Reason why the service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Cause.
        source: io::Error,
    },
    /// PostgreSQL cannot be reached, or fails.
    #[error("{0}")]
    Postgres(String),
    /// The tables are missing, or of an earlier version.
    #[error("PostgreSQL at {address} lacks {steps} of the steps that make the tables")]
    Schema {
        /// Address without credentials.
        address: String,
        /// Number of steps.
        steps: usize,
    },
    /// Redis cannot be reached.
    #[error("Redis at {address}: {source}")]
    Redis {
        /// Address.
        address: String,
        /// Cause.
        source: redis::RedisError,
    },
    /// The switches exclude each other.
    #[error("order-stock counters needs sales on record: a rebuild of the counters forgets all others")]
    Switches,
    /// The counters could not be rebuilt from the sales record.
    #[error("the counters in Redis could not be made from the record: {0}")]
    Stock(Refusal),
    /// A system call failed.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes open requests.
///
/// # Errors
/// The port is taken, or a store cannot be used.
pub async fn run(args: &ServeArgs) -> Result<(), Problem> {
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = listener(args.listen).map_err(listen)?;
    allow_connections();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (state, pool) = open(args).await?;
    let releasing = tokio::spawn(release(Arc::clone(&state)));
    let maintaining = tokio::spawn(run_maintenance(Arc::clone(&state), pool, args.key_age));
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, switches = ?args.switches, "serving");
    let listener = listener.tap_io(|tcp| {
        // Responses are written in one piece; Nagle's algorithm would only delay them.
        let _ = tcp.set_nodelay(true);
    });
    let (asked, is_asked) = oneshot::channel();
    let stop = async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
        let _ = asked.send(());
    };
    let serving = axum::serve(listener, web::router(state)).with_graceful_shutdown(stop);
    let grace = Duration::from_secs(args.grace);
    let too_late = async move {
        let _ = is_asked.await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        served = serving.into_future() => served?,
        () = too_late => tracing::warn!("requests were still open after the grace period"),
    }
    maintaining.abort();
    releasing.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Binds with the longest accept queue the system allows: at the start of a sale all clients connect at once.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Without it, a restart would wait for connections of the last run.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Raises the limit of open files to the maximum; the usual 1,024 is too low for a service.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(problem) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%problem, limit = ?limit.current, "the limit of open files stays");
    }
}

async fn open(args: &ServeArgs) -> Result<(Arc<AppState>, deadpool_postgres::Pool), Problem> {
    let (switches, stores) = (&args.switches, &args.stores);
    if switches.order_stock == OrderStock::Counters && switches.record == Record::None {
        return Err(Problem::Switches);
    }
    let address = || without_credentials(&stores.postgres);
    let postgres = |problem: Refusal| Problem::Postgres(format!("{problem}, at {}", address()));
    let failure = |error: tokio_postgres::Error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", address(), refusal::error_text(&error)))
    };
    let steps = missing_steps(&stores.postgres).await.map_err(failure)?;
    if steps > 0 {
        return Err(Problem::Schema { address: address(), steps });
    }
    unit::set_index(&stores.postgres, switches.unit_index).await.map_err(failure)?;
    let metrics = Metrics::default();
    let pool = unit::pool(&stores.postgres, switches.pool_max, args.store_timeout()).map_err(postgres)?;
    let catalogue = Catalogue::default();
    catalogue.refresh(&pool).await.map_err(postgres)?;
    let redis = |source| Problem::Redis { address: without_credentials(&stores.redis), source };
    let connection = counter::connect(&stores.redis, args.store_timeout()).await.map_err(redis)?;
    let counters = Counters::load(connection, switches.redis_call, args.key_age, &metrics).await;
    let record = SalesRecord::new(pool.clone());
    let counter_sales = CounterSales::open(counters.map_err(redis)?, record, switches.record, &metrics).await;
    let counter_sales = Arc::new(counter_sales.map_err(Problem::Stock)?);
    let state = AppState {
        counter_sales: Arc::clone(&counter_sales),
        units: Units::new(pool.clone(), switches, &metrics),
        bookings: Bookings::new(pool.clone(), counter_sales, switches.order_stock, args.order_age),
        catalogue,
        redis_script: switches.redis_script,
        limits: args.limits(),
        body_limit: args.body_limit,
        body_timeout: args.body_timeout(),
        metrics,
    };
    Ok((Arc::new(state), pool))
}

/// Steps of the schema that the database lacks. `serve` makes no tables, because other nodes can share them; it changes
/// the index of its switch only.
async fn missing_steps(url: &str) -> Result<usize, tokio_postgres::Error> {
    migration::missing(&migration::connect(url).await?).await
}

/// Releases expired orders and rebuilds drifted counters, every [`RELEASE_INTERVAL`].
async fn release(state: Arc<AppState>) {
    loop {
        tokio::time::sleep(RELEASE_INTERVAL).await;
        match state.bookings.expire().await {
            Ok(0) => {}
            Ok(tickets) => {
                state.metrics.expired.fetch_add(tickets, Ordering::Relaxed);
                tracing::info!(tickets, "unpaid tickets are on sale again");
            }
            Err(problem) => tracing::warn!(reason = %problem, "unpaid tickets are not on sale yet"),
        }
        if let Err(problem) = state.counter_sales.rebuild_if_drifted().await {
            tracing::warn!(reason = %problem, "counters may still be wrong");
        }
    }
}

/// Reloads the list of tickets and deletes expired idempotency keys, every [`MAINTENANCE_INTERVAL`].
async fn run_maintenance(state: Arc<AppState>, pool: deadpool_postgres::Pool, key_age: u32) {
    loop {
        tokio::time::sleep(MAINTENANCE_INTERVAL).await;
        if let Err(problem) = state.catalogue.refresh(&pool).await {
            tracing::warn!(reason = %problem, "the list of tickets is not fresh");
        }
        match key_table::delete_expired(&pool, key_age).await {
            Ok(0) => {}
            Ok(keys) => tracing::debug!(keys, "idempotency keys forgotten"),
            Err(problem) => tracing::warn!(reason = %problem, "old idempotency keys are still there"),
        }
    }
}
