//! One serving process from startup to shutdown.
//!
//! Does not start other processes; [`crate::process`] does.

use std::future::Future;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::accept::{Peer, SharedListener};
use crate::config::{Dispatch, ServeArgs};
use crate::counter::Counters;
use crate::engine::Engine;
use crate::store::{self, Failure, StoreOptions};
use crate::web::token::Signer;
use crate::web::{self, AppState};

/// Minimum length of the key that signs cookies, in bytes.
const KEY_BYTES: usize = 32;

/// Reason why the board cannot be served.
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
    /// The data folder cannot be used.
    #[error("{path}: {source}")]
    Folder {
        /// Path.
        path: String,
        /// Cause.
        source: io::Error,
    },
    /// The database cannot be used.
    #[error("{path}: {source}")]
    Store {
        /// The file.
        path: String,
        /// Cause.
        source: Failure,
    },
    /// A system call failed.
    #[error("the system says no: {0}")]
    System(#[from] io::Error),
    /// A worker repeatedly ended before it was ready.
    #[error("process {0} keeps ending before it is ready")]
    Process(usize),
}

/// Binds the address first, so that a port in use is reported at once.
///
/// # Errors
/// The port is in use or privileged.
pub fn bind(address: SocketAddr) -> Result<TcpListener, Problem> {
    let problem = |source| Problem::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(problem)?;
    listener.set_nonblocking(true).map_err(problem)?;
    Ok(listener)
}

/// Creates folder, schema and key if they are missing.
///
/// # Errors
/// The folder cannot be written, or the file is not a board.
pub fn prepare(args: &ServeArgs) -> Result<(), Problem> {
    std::fs::create_dir_all(&args.data).map_err(|source| folder(&args.data, source))?;
    let options = StoreOptions::new(&args.data, &args.switches, Arc::new(Counters::default()));
    store::prepare(&options).map_err(|source| of_store(&options.path, source))?;
    key(&args.data).map(drop)
}

/// Serves until `stop`, then finishes open requests. Calls `ready` when it accepts requests.
///
/// # Errors
/// The database cannot be opened, or a thread cannot be started.
pub fn run(
    args: &ServeArgs,
    listener: TcpListener,
    ready: impl FnOnce(),
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Problem> {
    let switches = &args.switches;
    let engine = Engine::start(&args.data, switches)
        .map_err(|source| of_store(&store::database_path(&args.data), source))?;
    // If requests have their own threads, one thread suffices for the sockets.
    let threads = if switches.dispatch == Dispatch::Inline { switches.threads.into() } else { 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let signer = Signer::new(&key(&args.data)?).map_err(io::Error::other)?;
    let state = Arc::new(AppState {
        engine,
        signer,
        secure_cookies: args.secure_cookies.is_on(),
        benchmarking: args.benchmarking.is_on(),
    });
    let router = web::router(Arc::clone(&state), args);
    let grace = Duration::from_secs(args.grace);
    let is_single = switches.processes == 1;
    runtime.block_on(async move {
        let listener = SharedListener::new(tokio::net::TcpListener::from_std(listener)?, is_single);
        ready();
        tracing::info!("serving");
        let (asked, is_asked) = tokio::sync::oneshot::channel();
        let stopping = async move {
            stop.await;
            tracing::info!("stopping");
            let _ = asked.send(());
        };
        let service = router.into_make_service_with_connect_info::<Peer>();
        let serving = axum::serve(listener, service).with_graceful_shutdown(stopping).into_future();
        let too_late = async move {
            let _ = is_asked.await;
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            served = serving => served,
            () = too_late => {
                tracing::warn!("requests were still open after the grace period");
                Ok(())
            }
        }
    })?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    if let Some(state) = Arc::into_inner(state) {
        state.engine.close();
    }
    tracing::info!("stopped");
    Ok(())
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

/// The key that signs cookies: stored beside the database, so that sessions outlive the process.
fn key(data: &Path) -> Result<Vec<u8>, Problem> {
    let path = data.join("key");
    match std::fs::read(&path) {
        Ok(key) if key.len() >= KEY_BYTES => return Ok(key),
        Ok(_) => {
            return Err(folder(&path, io::Error::new(io::ErrorKind::InvalidData, "the key is too short")));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(folder(&path, error)),
        Err(_) => {}
    }
    let key = [
        *uuid::Uuid::new_v4().as_bytes(),
        *uuid::Uuid::new_v4().as_bytes(),
        *uuid::Uuid::new_v4().as_bytes(),
    ]
    .concat();
    write_private(&path, &key).map_err(|source| folder(&path, source))?;
    Ok(key)
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}

fn folder(path: &Path, source: io::Error) -> Problem {
    Problem::Folder { path: path.display().to_string(), source }
}

fn of_store(path: &Path, source: Failure) -> Problem {
    Problem::Store { path: path.display().to_string(), source }
}
