//! The running node, from binding the port to the last response and result.
//!
//! Does not start PostgreSQL, which must be running.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::call;
use crate::config::switch::Wake;
use crate::config::{Role, ServeArgs, millis, shown};
use crate::event::Events;
use crate::executor::Executor;
use crate::key::Keys;
use crate::limit::Limits;
use crate::maintenance::{self, WorkNotifier};
use crate::metric::Metrics;
use crate::refusal::postgres_message;
use crate::store::{Store, prepare};
use crate::task_writer::TaskWriter;
use crate::web::{self, App};

/// Accept backlog; the system may have a lower limit (`net.core.somaxconn`).
const BACKLOG: u32 = 16_384;

/// Why the service cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Address.
        address: SocketAddr,
        /// Reason.
        source: io::Error,
    },
    /// PostgreSQL cannot be reached or reports an error.
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
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Call(#[from] call::Problem),
    /// The system denies a resource that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes requests and calls.
///
/// # Errors
/// The port is taken, the schema is not up to date, or PostgreSQL cannot be used.
pub async fn run(args: &ServeArgs) -> Result<(), Problem> {
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = listener(args.listen).map_err(listen)?;
    allow_connections();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        prepared = prepare_database(args) => prepared?,
        _ = term.recv() => return Ok(()),
        _ = int.recv() => return Ok(()),
    }
    let stop = CancellationToken::new();
    let (app, executor) = open(args, stop.clone())?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, switches = ?args.switches, "serving");
    let (asked, stopping_executor) = (stop.clone(), executor.clone());
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
        if let Some(executor) = stopping_executor {
            executor.stop();
        }
        asked.cancel();
    });
    serve(listener, app, &stop, executor, Duration::from_secs(args.grace)).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Checks the schema, and applies the indexes that the switches ask for.
async fn prepare_database(args: &ServeArgs) -> Result<(), Problem> {
    let address = || shown(&args.store.postgres);
    let failure = |error: tokio_postgres::Error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", address(), postgres_message(&error)))
    };
    let steps = prepare::missing_steps(&args.store.postgres).await.map_err(failure)?;
    if steps > 0 {
        return Err(Problem::Schema { address: address(), steps });
    }
    prepare::prepare(args).await.map_err(failure)
}

/// Serves until the stop; then requests and calls share the grace period.
async fn serve(
    listener: TcpListener,
    app: Arc<App>,
    stop: &CancellationToken,
    executor: Option<Arc<Executor>>,
    grace: Duration,
) -> io::Result<()> {
    let listener = listener.tap_io(|tcp| {
        // Responses are written in one piece; Nagle's algorithm would only delay them.
        let _ = tcp.set_nodelay(true);
    });
    let routes = web::router(app).into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, routes).with_graceful_shutdown(stop.clone().cancelled_owned());
    let mut serving = tokio::spawn(serving.into_future());
    let ended = tokio::select! {
        () = stop.cancelled() => None,
        served = &mut serving => Some(served),
    };
    let until = Instant::now() + grace;
    let served = match ended {
        Some(served) => served,
        None => tokio::time::timeout_at(until, serving).await.unwrap_or_else(|_| {
            tracing::warn!("requests were still open after the grace period");
            Ok(Ok(()))
        }),
    };
    if let Some(executor) = executor {
        executor.stop();
        executor.finish(until.saturating_duration_since(Instant::now())).await;
    }
    served.map_err(io::Error::other)?
}

/// Many clients can connect at once: the backlog is as long as the system allows.
fn listener(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A restart need not wait for connections of the last run to close.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Raises the open-file limit to its maximum: the usual 1,024 is too low for a server.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(problem) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%problem, limit = ?limit.current, "the limit of open files stays");
    }
}

fn open(args: &ServeArgs, stop: CancellationToken) -> Result<(Arc<App>, Option<Arc<Executor>>), Problem> {
    let (metrics, events, switches) = (Metrics::default(), Events::default(), &args.switches);
    let store = Store::new(args, metrics.clone())
        .map_err(|problem| Problem::Postgres(format!("{problem}, at {}", shown(&args.store.postgres))))?;
    let store = Arc::new(store);
    let executor = match args.role {
        Role::Api => None,
        Role::All | Role::Worker => {
            let executor = Executor::new(args, Arc::clone(&store), metrics.clone(), events.clone())?;
            Some(Arc::new(executor))
        }
    };
    let notifier = Arc::new(WorkNotifier::new(switches.wake, executor.clone(), Arc::clone(&store)));
    if let Some(executor) = &executor {
        executor.start();
        if switches.wake == Wake::Notify {
            tokio::spawn(Arc::clone(&notifier).listen(args.store.postgres.clone()));
        }
    }
    let every = millis(args.scheduler_ms);
    tokio::spawn(maintenance::schedule(Arc::clone(&notifier), Arc::clone(&store), every));
    tokio::spawn(maintenance::clean(Arc::clone(&store), args.clone()));
    let app = App {
        task_writer: TaskWriter::new(&store, switches, metrics.clone(), events.clone()),
        keys: Keys::new(Arc::clone(&store), switches),
        limits: Limits::new(switches.rate_limit_minute, switches.rate_limit_hour),
        store,
        notifier,
        events,
        body_limit: args.body_limit,
        metrics,
        stop,
        has_api: args.role != Role::Worker,
    };
    Ok((Arc::new(app), executor))
}
