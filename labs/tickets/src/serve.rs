//! The running service: from a free port to the last answer.
//!
//! Does not start the stores; they have to be there.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::booking::Bookings;
use crate::catalogue::Catalogue;
use crate::config::{OrderStock, Record, ServeArgs, shown};
use crate::counter::{self, Counters};
use crate::key;
use crate::ledger::Ledger;
use crate::refusal::{self, Refusal};
use crate::till::Till;
use crate::unit::{self, Units};
use crate::web::{self, BoxOffice};

/// How old the list of tickets may become, and how long an idempotency key may outlive its age.
const ROUND: Duration = Duration::from_secs(5);

/// Most connections that wait to be accepted; the system may have a lower limit (`net.core.somaxconn`).
const BACKLOG: u32 = 16_384;

/// How often unpaid orders are looked for, and counters that may be wrong.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

/// Why the service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nothing can listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// PostgreSQL cannot be reached, or holds no tickets.
    #[error("{0}")]
    Postgres(String),
    /// Redis cannot be reached.
    #[error("Redis at {address}: {source}")]
    Redis {
        /// Where.
        address: String,
        /// Why.
        source: redis::RedisError,
    },
    /// The switches do not go together.
    #[error("order-stock counters needs sales on record: a rebuild of the counters forgets all others")]
    Switches,
    /// The counters could not be rebuilt from the record.
    #[error("the counters in Redis could not be made from the record: {0}")]
    Stock(Refusal),
    /// The system denies something that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes what is open.
///
/// # Errors
/// The port is taken, or a store cannot be used.
pub async fn run(args: &ServeArgs) -> Result<(), Problem> {
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = listener(args.listen).map_err(listen)?;
    allow_connections();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let (office, pool) = open(args).await?;
    let releasing = tokio::spawn(release(Arc::clone(&office)));
    let keeping = tokio::spawn(keep_house(Arc::clone(&office), pool, args.key_age));
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, switches = ?args.switches, "serving");
    let listener = listener.tap_io(|tcp| {
        // Answers are written in one piece; waiting for more of them only delays the last.
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
    let serving = axum::serve(listener, web::router(office)).with_graceful_shutdown(stop);
    let grace = Duration::from_secs(args.grace);
    let too_late = async move {
        let _ = is_asked.await;
        tokio::time::sleep(grace).await;
    };
    tokio::select! {
        served = serving.into_future() => served?,
        () = too_late => tracing::warn!("requests were still open after the grace period"),
    }
    keeping.abort();
    releasing.abort();
    tracing::info!("stopped");
    Ok(())
}

/// At the start of a sale everybody connects at a time: the queue is as long as the system lets it be.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // So that a restart does not wait for connections of the last run.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// As many open files as this user may have; the usual limit of 1,024 is one for programs, not for services.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(problem) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%problem, limit = ?limit.current, "the limit of open files stays");
    }
}

async fn open(args: &ServeArgs) -> Result<(Arc<BoxOffice>, deadpool_postgres::Pool), Problem> {
    let (switches, stores) = (&args.switches, &args.stores);
    if switches.order_stock == OrderStock::Counters && switches.record == Record::None {
        return Err(Problem::Switches);
    }
    let postgres = |problem: Refusal| Problem::Postgres(format!("{problem}, at {}", shown(&stores.postgres)));
    unit::set_index(&stores.postgres, switches.unit_index).await.map_err(|error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", shown(&stores.postgres), refusal::said(&error)))
    })?;
    let pool = unit::pool(&stores.postgres, switches.pool_max, args.store_timeout()).map_err(postgres)?;
    let catalogue = Catalogue::default();
    catalogue.refresh(&pool).await.map_err(postgres)?;
    let redis = |source| Problem::Redis { address: shown(&stores.redis), source };
    let connection = counter::connect(&stores.redis, args.store_timeout()).await.map_err(redis)?;
    let counters = Counters::load(connection, switches.redis_call, args.key_age).await.map_err(redis)?;
    let till = Till::open(counters, Ledger::new(pool.clone()), switches.record).await;
    let till = Arc::new(till.map_err(Problem::Stock)?);
    let office = BoxOffice {
        till: Arc::clone(&till),
        units: Units::new(pool.clone(), switches),
        bookings: Bookings::new(pool.clone(), till, switches.order_stock, args.order_age),
        catalogue,
        redis_script: switches.redis_script,
        limits: args.limits(),
        body_limit: args.body_limit,
    };
    Ok((Arc::new(office), pool))
}

/// What was not paid in time goes back on sale, and counters that may be wrong are set right, about a second later.
async fn release(office: Arc<BoxOffice>) {
    loop {
        tokio::time::sleep(SETTLE_EVERY).await;
        match office.bookings.expire().await {
            Ok(0) => {}
            Ok(tickets) => tracing::info!(tickets, "unpaid tickets are on sale again"),
            Err(problem) => tracing::warn!(reason = %problem, "unpaid tickets are not on sale yet"),
        }
        if let Err(problem) = office.till.correct().await {
            tracing::warn!(reason = %problem, "counters may still be wrong");
        }
    }
}

/// New tickets come on sale without a restart, and old idempotency keys are forgotten.
async fn keep_house(office: Arc<BoxOffice>, pool: deadpool_postgres::Pool, key_age: u32) {
    loop {
        tokio::time::sleep(ROUND).await;
        if let Err(problem) = office.catalogue.refresh(&pool).await {
            tracing::warn!(reason = %problem, "the list of tickets is not fresh");
        }
        match key::forget(&pool, key_age).await {
            Ok(0) => {}
            Ok(keys) => tracing::debug!(keys, "idempotency keys forgotten"),
            Err(problem) => tracing::warn!(reason = %problem, "old idempotency keys are still there"),
        }
    }
}
