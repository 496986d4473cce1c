//! The running node: from a free port to the last answer and the last result.
//!
//! Does not start PostgreSQL; it has to be there.

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
use crate::clerk::Clerk;
use crate::config::switch::Wake;
use crate::config::{Role, ServeArgs, millis, shown};
use crate::crew::Crew;
use crate::event::Events;
use crate::house::{self, Bell};
use crate::key::Keys;
use crate::limit::Limits;
use crate::metric::Metrics;
use crate::refusal::said;
use crate::store::Store;
use crate::store::prepare::prepare;
use crate::web::{self, Office};

/// Most connections that wait to be accepted; the system may have a lower limit (`net.core.somaxconn`).
const BACKLOG: u32 = 16_384;

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
    /// Nobody can be called.
    #[error(transparent)]
    Call(#[from] call::Problem),
    /// The system denies something that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
}

/// Serves until SIGTERM or Ctrl-C, then finishes requests and calls.
///
/// # Errors
/// The port is taken, or PostgreSQL cannot be used.
pub async fn run(args: &ServeArgs) -> Result<(), Problem> {
    let listen = |source| Problem::Listen { address: args.listen, source };
    let listener = listener(args.listen).map_err(listen)?;
    allow_connections();
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let prepared = tokio::select! {
        prepared = prepare(args) => prepared,
        _ = term.recv() => return Ok(()),
        _ = int.recv() => return Ok(()),
    };
    prepared.map_err(|error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", shown(&args.store.postgres), said(&error)))
    })?;
    let stop = CancellationToken::new();
    let (office, crew) = open(args, stop.clone())?;
    let address = listener.local_addr()?;
    writeln!(io::stdout(), "listening on http://{address}")?;
    tracing::info!(%address, switches = ?args.switches, "serving");
    let (asked, crew_told) = (stop.clone(), crew.clone());
    tokio::spawn(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        tracing::info!("stopping");
        if let Some(crew) = crew_told {
            crew.stop();
        }
        asked.cancel();
    });
    serve(listener, office, &stop, crew, Duration::from_secs(args.grace)).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Answers until the stop; then requests and calls share the grace period.
async fn serve(
    listener: TcpListener,
    office: Arc<Office>,
    stop: &CancellationToken,
    crew: Option<Arc<Crew>>,
    grace: Duration,
) -> io::Result<()> {
    let listener = listener.tap_io(|tcp| {
        // Answers are written in one piece; waiting for more of them only delays the last.
        let _ = tcp.set_nodelay(true);
    });
    let routes = web::router(office).into_make_service_with_connect_info::<SocketAddr>();
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
    if let Some(crew) = crew {
        crew.stop();
        crew.finish(until.saturating_duration_since(Instant::now())).await;
    }
    served.map_err(io::Error::other)?
}

/// Many clients may connect at a time: the queue is as long as the system lets it be.
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

fn open(args: &ServeArgs, stop: CancellationToken) -> Result<(Arc<Office>, Option<Arc<Crew>>), Problem> {
    let (metrics, events, switches) = (Metrics::default(), Events::default(), &args.switches);
    let store = Store::new(args, metrics.clone())
        .map_err(|problem| Problem::Postgres(format!("{problem}, at {}", shown(&args.store.postgres))))?;
    let store = Arc::new(store);
    let crew = match args.role {
        Role::Api => None,
        Role::All | Role::Worker => {
            let crew = Crew::new(args, Arc::clone(&store), metrics.clone(), events.clone())?;
            Some(Arc::new(crew))
        }
    };
    let bell = Arc::new(Bell::new(switches.wake, crew.clone(), Arc::clone(&store)));
    if let Some(crew) = &crew {
        crew.start();
        if switches.wake == Wake::Notify {
            tokio::spawn(Arc::clone(&bell).listen(args.store.postgres.clone()));
        }
    }
    let every = millis(args.scheduler_ms);
    tokio::spawn(house::schedule(Arc::clone(&bell), Arc::clone(&store), every));
    tokio::spawn(house::clean(Arc::clone(&store), args.clone()));
    let office = Office {
        clerk: Clerk::new(&store, switches, metrics.clone(), events.clone()),
        keys: Keys::new(Arc::clone(&store), switches),
        limits: Limits::new(switches.rate_limit_minute, switches.rate_limit_hour),
        store,
        bell,
        events,
        body_limit: args.body_limit,
        metrics,
        stop,
        has_api: args.role != Role::Worker,
    };
    Ok((Arc::new(office), crew))
}
