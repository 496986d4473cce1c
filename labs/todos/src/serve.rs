//! The running service: from a free port to the last answer.
//!
//! Does not start PostgreSQL; it has to be there.

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

use crate::book::Book;
use crate::cache::Cache;
use crate::config::{ServeArgs, shown};
use crate::desk::Desk;
use crate::metric::Metrics;
use crate::refusal::said;
use crate::store::prepare::prepare;
use crate::store::{Store, watch};
use crate::web::{self, Office};

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
    /// PostgreSQL cannot be reached, or does not do as asked.
    #[error("{0}")]
    Postgres(String),
    /// Reads are to go to a replica, and there is none.
    #[error("reads cannot go to a replica without its address")]
    NoReplica,
    /// The system denies something that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes what is open. `driver` is where connections live.
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
        Problem::Postgres(format!("PostgreSQL at {}: {}", shown(&args.store.postgres), said(&error)))
    })?;
    let office = open(args, &driver)?;
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
    tracing::info!("stopped");
    Ok(())
}

fn open(args: &ServeArgs, driver: &Handle) -> Result<Arc<Office>, Problem> {
    let metrics = Metrics::default();
    let node = node();
    let store = Store::new(args, &node, metrics.clone())
        .map_err(|problem| Problem::Postgres(format!("{problem}, at {}", shown(&args.store.postgres))))?;
    let cache = args.switches.list_cache.is_on().then(|| {
        let cache = Arc::new(Cache::new(args.switches.list_limit.number()));
        driver.spawn(watch::watch(args.store.postgres.clone(), node, Arc::clone(&cache)));
        cache
    });
    let book = Book::new(store, cache, &args.switches, driver, metrics.clone());
    let desk = Desk::new(args.switches.handler, driver.clone(), args.patience(), metrics.clone());
    Ok(Arc::new(Office { book, desk, body_limit: args.body_limit, metrics }))
}

/// Who this process is to others that watch the table. In containers each may be process 1, so that is not enough: the
/// standard hasher begins with what the system has of random bits.
fn node() -> String {
    let process = std::process::id();
    format!("todos-{process}-{:016x}", RandomState::new().hash_one(process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_nodes_are_told_apart_even_if_both_are_the_same_process_to_their_systems() {
        let (one, other) = (node(), node());
        assert_ne!(one, other);
        // It is handed to PostgreSQL among other options, which spaces and backslashes would end.
        assert!(one.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{one}");
    }
}
