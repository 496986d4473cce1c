//! The service from startup to shutdown.
//!
//! Does not start PostgreSQL; it must be running.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cache::Cache;
use crate::changes::Changes;
use crate::config::{ServeArgs, without_credentials};
use crate::encode::Encoder;
use crate::executor::RequestExecutor;
use crate::grpc;
use crate::metric::Metrics;
use crate::refusal::error_text;
use crate::stall::StallListener;
use crate::store::{Store, notifications, prepare};
use crate::todo_service::{Parts, TodoService};
use crate::web::{self, AppState};

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
    /// PostgreSQL cannot be reached, or failed.
    #[error("{0}")]
    Postgres(String),
    /// The tables are missing, or of an earlier version.
    #[error("PostgreSQL at {address} lacks {steps} of the migrations")]
    Schema {
        /// Address without credentials.
        address: String,
        /// Number of migrations.
        steps: usize,
    },
    /// Reads should go to a replica, and none is given.
    #[error("reads cannot go to a replica without its address")]
    NoReplica,
    /// gRPC cannot be served.
    #[error(transparent)]
    Grpc(#[from] grpc::Problem),
    /// A system call failed.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes open requests. `driver` is the runtime of the connections.
///
/// # Errors
/// A port is taken, the schema is not up to date, or PostgreSQL cannot be used.
pub async fn run(args: &ServeArgs, driver: Handle) -> Result<(), Problem> {
    if args.switches.replica_reads.is_on() && args.replica.is_none() {
        return Err(Problem::NoReplica);
    }
    let listener = listen(args.listen).await?;
    let grpc_listener = match args.grpc_listen {
        Some(address) => Some(listen(address).await?),
        None => None,
    };
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        prepared = prepare_database(args) => prepared?,
        _ = term.recv() => return Ok(()),
        _ = int.recv() => return Ok(()),
    }
    let grpc_address = grpc_listener.as_ref().map(TcpListener::local_addr).transpose()?;
    let state = build_state(args, &driver, grpc_address)?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, grpc = ?grpc_address, switches = ?args.switches, "serving");
    let stop = CancellationToken::new();
    let stopping =
        stop_when_asked(term, int, stop.clone(), Arc::clone(&state), Duration::from_secs(args.grace));
    let stall_limit = Duration::from_millis(args.stall_timeout_ms.into());
    let listener = StallListener::new(listener, stall_limit);
    let http = axum::serve(listener, web::router(Arc::clone(&state)))
        .with_graceful_shutdown(stop.clone().cancelled_owned());
    let http = async { http.await.map_err(Problem::System) };
    let grpc = async {
        let Some(listener) = grpc_listener else { return Ok(()) };
        let listener = StallListener::new(listener, stall_limit);
        grpc::serve(listener, state, stop.cancelled_owned()).await.map_err(Problem::Grpc)
    };
    tokio::select! {
        served = async { tokio::try_join!(http, grpc) } => drop(served?),
        () = stopping => tracing::warn!("requests were still open after the grace period"),
    }
    tracing::info!("stopped");
    Ok(())
}

/// Checks the schema, and prepares the database for the switches.
async fn prepare_database(args: &ServeArgs) -> Result<(), Problem> {
    let address = || without_credentials(&args.store.postgres);
    let failure = |error: tokio_postgres::Error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", address(), error_text(&error)))
    };
    let steps = prepare::missing_steps(&args.store.postgres).await.map_err(failure)?;
    if steps > 0 {
        return Err(Problem::Schema { address: address(), steps });
    }
    prepare::prepare(args).await.map_err(failure)
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Problem> {
    TcpListener::bind(address).await.map_err(|source| Problem::Listen { address, source })
}

/// Waits for a signal, stops both doors, and ends when the grace period does. Streams of changes end at once: they
/// would not end by themselves.
async fn stop_when_asked(
    mut term: Signal,
    mut int: Signal,
    stop: CancellationToken,
    state: Arc<AppState>,
    grace: Duration,
) {
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
    tracing::info!("stopping");
    stop.cancel();
    state.changes.close();
    drop(state);
    tokio::time::sleep(grace).await;
}

fn build_state(
    args: &ServeArgs,
    driver: &Handle,
    grpc: Option<SocketAddr>,
) -> Result<Arc<AppState>, Problem> {
    let metrics = Metrics::default();
    let node = node();
    let store = Store::new(args, &node, metrics.clone()).map_err(|problem| {
        Problem::Postgres(format!("{problem}, at {}", without_credentials(&args.store.postgres)))
    })?;
    let cache = args.switches.list_cache.is_on().then(|| {
        let cache = Arc::new(Cache::new(args.switches.list_limit.number()));
        driver.spawn(notifications::follow_changes(args.store.postgres.clone(), node, Arc::clone(&cache)));
        cache
    });
    let encoder = Encoder::new(&args.switches, grpc.is_some(), metrics.clone());
    let changes = Arc::new(Changes::new(args.change_queue, args.change_readers, metrics.clone()));
    let parts = Parts { store, cache, encoder, changes: Arc::clone(&changes) };
    let todo_service = TodoService::new(parts, &args.switches, driver, metrics.clone());
    let executor =
        RequestExecutor::new(args.switches.handler, driver.clone(), args.request_timeout(), metrics.clone());
    let heartbeat = Duration::from_millis(args.heartbeat_ms.into());
    let body_limit = args.body_limit;
    Ok(Arc::new(AppState { todo_service, executor, changes, heartbeat, grpc, body_limit, metrics }))
}

/// Identifies this process to others that listen for changes. The process id is not unique over containers, so a random number
/// is added: the standard hasher is seeded by the system.
fn node() -> String {
    let process = std::process::id();
    format!("todos-{process}-{:016x}", RandomState::new().hash_one(process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_differ_even_with_the_same_process_id() {
        let (one, other) = (node(), node());
        assert_ne!(one, other);
        // It is one of several PostgreSQL options, which spaces and backslashes would end.
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{one}");
    }
}
