//! The service from startup to shutdown.
//!
//! Does not start PostgreSQL; it must be running.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::cache::Cache;
use crate::config::{ServeArgs, without_credentials};
use crate::executor::RequestExecutor;
use crate::metric::Metrics;
use crate::refusal::error_text;
use crate::store::prepare::prepare;
use crate::store::{Store, notifications};
use crate::todo_service::TodoService;
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
    /// Reads should go to a replica, and none is given.
    #[error("reads cannot go to a replica without its address")]
    NoReplica,
    /// A system call failed.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes open requests. `driver` is the runtime of the connections.
///
/// # Errors
/// The port is taken, or PostgreSQL cannot be used.
pub async fn run(args: &ServeArgs, driver: Handle) -> Result<(), Problem> {
    if args.switches.replica_reads.is_on() && args.replica.is_none() {
        return Err(Problem::NoReplica);
    }
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = TcpListener::bind(args.listen).await.map_err(listen)?;
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let prepared = tokio::select! {
        prepared = prepare(args) => prepared,
        _ = term.recv() => return Ok(()),
        _ = int.recv() => return Ok(()),
    };
    prepared.map_err(|error| {
        Problem::Postgres(format!(
            "PostgreSQL at {}: {}",
            without_credentials(&args.store.postgres),
            error_text(&error)
        ))
    })?;
    let state = build_state(args, &driver)?;
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
    tracing::info!("stopped");
    Ok(())
}

fn build_state(args: &ServeArgs, driver: &Handle) -> Result<Arc<AppState>, Problem> {
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
    let todo_service = TodoService::new(store, cache, &args.switches, driver, metrics.clone());
    let executor =
        RequestExecutor::new(args.switches.handler, driver.clone(), args.request_timeout(), metrics.clone());
    Ok(Arc::new(AppState { todo_service, executor, body_limit: args.body_limit, metrics }))
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
