//! One serving process, from the listening socket to the last response.
//!
//! Does not start other processes; [`crate::process`] does. Does not start the stores; PostgreSQL must be running.

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

use crate::app::App;
use crate::config::{ServeArgs, shown};
use crate::metric::Metrics;
use crate::refusal::postgres_message;
use crate::socket::{ConnectionLimit, Socket};
use crate::store::prepare;
use crate::web::{self, Peer};

/// Accept backlog; the system may have a lower limit (`net.core.somaxconn`).
const BACKLOG: i32 = 16_384;
/// Time-out for the headers of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay after a failed accept.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

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
    /// The address of Redis is malformed.
    #[error("{0}")]
    Redis(String),
    /// The system denies a resource that the service needs.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
    /// A server process ended repeatedly before it was ready.
    #[error("process {0} keeps ending before it is ready")]
    Process(u16),
}

/// Binds the address first, so that a taken port is reported before any other work.
///
/// # Errors
/// The port is taken or not permitted.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Problem> {
    let bound = || -> io::Result<TcpListener> {
        let listener = TcpListener::bind(address)?;
        // Load generators open all connections at once: the backlog is as long as the system allows.
        rustix::net::listen(&listener, BACKLOG)?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bound().map_err(|source| Problem::Listen { address, source })
}

/// Checks the schema, and applies the rows and indexes that the switches ask for.
///
/// # Errors
/// The schema is not up to date, or PostgreSQL cannot be reached or reports an error.
pub async fn prepare(args: &ServeArgs) -> Result<(), Problem> {
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

/// A runtime with this many threads. A single thread needs no work stealing.
///
/// # Errors
/// The system cannot create it.
pub fn runtime(threads: u16) -> io::Result<Runtime> {
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if threads > 1 {
        builder.worker_threads(threads.into());
    }
    builder.enable_all().build()
}

/// Serves until `stop`, then finishes open requests. Calls `ready` once it accepts requests.
///
/// # Errors
/// A store's address is malformed, or the system denies a resource.
pub async fn run(
    args: &ServeArgs,
    listener: TcpListener,
    ready: impl FnOnce(),
    stop: impl Future<Output = ()>,
) -> Result<(), Problem> {
    allow_connections();
    let metrics = Metrics::default();
    let app = App::open(args, metrics.clone()).await.map_err(|refusal| match refusal {
        crate::refusal::Refusal::Session(_) => {
            Problem::Redis(format!("Redis at {}: {refusal}", shown(&args.redis)))
        }
        _ => Problem::Postgres(format!("{refusal}, at {}", shown(&args.store.postgres))),
    })?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    ready();
    tracing::info!(switches = ?args.switches, "serving");
    let acceptor = Acceptor {
        router: web::router(Arc::clone(&app), args),
        builder: builder(args),
        graceful: GracefulShutdown::new(),
        connection_limit: ConnectionLimit::new(args.switches.server_concurrency, metrics.clone()),
        http_buffers: args.switches.http_buffers,
        is_one_of_several: args.switches.prefork > 1,
        metrics,
    };
    acceptor.accept(&listener, stop).await;
    drop(listener);
    tracing::info!("stopping");
    if tokio::time::timeout(Duration::from_secs(args.grace), acceptor.graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open after the grace period");
    }
    app.admission.finish().await;
    tracing::info!("stopped");
    Ok(())
}

fn builder(args: &ServeArgs) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_header_size(args.switches.http_buffers as usize);
    builder
}

/// Accepts connections and serves each in a task.
struct Acceptor {
    router: Router,
    builder: http1::Builder,
    graceful: GracefulShutdown,
    connection_limit: ConnectionLimit,
    http_buffers: u32,
    is_one_of_several: bool,
    metrics: Metrics,
}

impl Acceptor {
    async fn accept(&self, listener: &tokio::net::TcpListener, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = self.next(listener) => accepted,
                () = &mut stop => return,
            };
            match accepted {
                Ok((stream, address)) => self.spawn_connection(stream, address),
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            }
        }
    }

    async fn next(&self, listener: &tokio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
        if self.is_one_of_several {
            self.connection_limit.defer().await;
        }
        listener.accept().await
    }

    fn spawn_connection(&self, stream: TcpStream, address: SocketAddr) {
        let Some(slot) = self.connection_limit.take() else {
            self.connection_limit.reject(stream);
            return;
        };
        // Responses are written in one piece; Nagle's algorithm would only delay them.
        let _ = stream.set_nodelay(true);
        let socket = Socket::new(stream, self.http_buffers, self.metrics.clone(), slot);
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

/// Raises the open-file limit to its maximum: the usual 1,024 is too low for a server.
fn allow_connections() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(problem) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%problem, limit = ?limit.current, "the limit of open files stays");
    }
}

/// Waits for SIGTERM or Ctrl-C.
///
/// # Errors
/// The system cannot install signal handlers.
pub fn signals() -> io::Result<impl Future<Output = ()>> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}
