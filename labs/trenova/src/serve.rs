//! One serving process: from a listening socket to the last answer.
//!
//! Does not start other processes; [`crate::process`] does. Does not start the stores; PostgreSQL has to be there.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tower::ServiceExt as _;

use crate::config::{ServeArgs, shown};
use crate::metric::Metrics;
use crate::office::Office;
use crate::refusal::said;
use crate::socket::{Places, Socket};
use crate::store::prepare;
use crate::web::{self, Peer};

/// Most connections that wait to be accepted; the system may have a lower limit (`net.core.somaxconn`).
const BACKLOG: i32 = 16_384;
/// How long the head of a request may take to arrive.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long after a connection could not be accepted the next one is tried.
const AGAIN: Duration = Duration::from_millis(50);

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
    /// The address of Redis is none.
    #[error("{0}")]
    Redis(String),
    /// The system denies something that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
    /// A process of several ended again and again.
    #[error("process {0} keeps ending before it is ready")]
    Process(u16),
}

/// Binds the address, so that a taken port is found before anything else is done.
///
/// # Errors
/// The port is taken, or not ours to take.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Problem> {
    let bound = || -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        // Load tools connect all their users at a time: the queue is as long as the system lets it be.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bound().map_err(|source| Problem::Listen { address, source })
}

/// Brings the database to what the switches say.
///
/// # Errors
/// PostgreSQL is not there, or says no.
pub async fn prepare(args: &ServeArgs) -> Result<(), Problem> {
    prepare::prepare(args).await.map_err(|error| {
        Problem::Postgres(format!("PostgreSQL at {}: {}", shown(&args.store.postgres), said(&error)))
    })
}

/// Threads to serve with. One alone needs no way to hand work to others.
///
/// # Errors
/// The system gives none.
pub fn runtime(threads: u16) -> io::Result<Runtime> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads.into());
    }
    builder.enable_all().build()
}

/// Serves until `stop`, then finishes what is open. `ready` is called when requests are taken.
///
/// # Errors
/// An address of a store is none, or the system says no.
pub async fn run(
    args: &ServeArgs,
    listener: TcpListener,
    ready: impl FnOnce(),
    stop: impl Future<Output = ()>,
) -> Result<(), Problem> {
    allow_connections();
    let metrics = Metrics::default();
    let office = Office::open(args, metrics.clone()).await.map_err(|refusal| match refusal {
        crate::refusal::Refusal::Session(_) => {
            Problem::Redis(format!("Redis at {}: {refusal}", shown(&args.redis)))
        }
        _ => Problem::Postgres(format!("{refusal}, at {}", shown(&args.store.postgres))),
    })?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    ready();
    tracing::info!(switches = ?args.switches, "serving");
    let door = Door {
        router: web::router(Arc::clone(&office), args),
        builder: builder(args),
        graceful: GracefulShutdown::new(),
        places: Places::new(args.switches.server_concurrency, metrics.clone()),
        http_buffers: args.switches.http_buffers,
        is_one_of_several: args.switches.prefork > 1,
        metrics,
    };
    door.accept(&listener, stop).await;
    drop(listener);
    tracing::info!("stopping");
    if tokio::time::timeout(Duration::from_secs(args.grace), door.graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open after the grace period");
    }
    office.pass.finish().await;
    tracing::info!("stopped");
    Ok(())
}

fn builder(args: &ServeArgs) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_header_size(args.switches.http_buffers as usize);
    builder
}

/// Where callers come in.
struct Door {
    router: Router,
    builder: http1::Builder,
    graceful: GracefulShutdown,
    places: Places,
    http_buffers: u32,
    is_one_of_several: bool,
    metrics: Metrics,
}

impl Door {
    async fn accept(&self, listener: &tokio::net::TcpListener, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.next(listener) => accepted,
                () = &mut stop => return,
            };
            match accepted {
                Ok((stream, address)) => self.welcome(stream, address),
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    async fn next(&self, listener: &tokio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        if self.is_one_of_several {
            self.places.defer().await;
        }
        listener.accept().await
    }

    fn welcome(&self, stream: TcpStream, address: SocketAddr) {
        let Some(place) = self.places.take() else {
            self.places.turn_away(stream);
            return;
        };
        // Answers are written in one piece; waiting for more of them only delays the last.
        let _ = stream.set_nodelay(true);
        let socket = Socket::new(stream, self.http_buffers, self.metrics.clone(), place);
        let (router, peer) = (self.router.clone(), Peer(address.ip().to_string().into()));
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            let answer = router.clone().oneshot(request);
            async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
        });
        let connection = self.builder.serve_connection(TokioIo::new(socket), service);
        let connection = self.graceful.watch(connection);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
}

/// As many open files as this user may have; the usual limit of 1,024 is one for programs, not for services.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(problem) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%problem, limit = ?limit.current, "the limit of open files stays");
    }
}

/// Waits for SIGTERM or Ctrl-C.
///
/// # Errors
/// The system does not deliver signals.
pub fn signals() -> io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
