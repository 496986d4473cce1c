//! Several worker processes on one port: starts, supervises and stops them.
//!
//! The supervisor listens and serves no requests; workers inherit its socket, as in the published service. The alternative is one
//! socket per process with `SO_REUSEPORT`: the kernel then distributes connections by a hash, so twenty of them never spread evenly
//! over ten processes, and a second service could take the same port unnoticed. [`crate::accept`] spreads the connections of the
//! inherited socket.
//!
//! Each worker has a control socket to the supervisor. It reports there when it is ready, and stops when the socket closes, so no
//! worker outlives the supervisor, however that one ended.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as ControlSocket;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::config::ServeArgs;
use crate::serve::{self, Problem};

/// Maximum number of workers that end before they are ready.
const FALSE_STARTS_MAX: u32 = 3;

/// Serves with the number of processes of the switches, until a signal.
///
/// # Errors
/// The address or the database cannot be used, or a worker cannot be started.
pub fn serve(args: &ServeArgs) -> Result<(), Problem> {
    let listener = serve::bind(args.listen)?;
    serve::prepare(args)?;
    let address = listener.local_addr()?;
    let announce = move || {
        // A parent that does not read stdout does not need this line.
        let _ = writeln!(io::stdout(), "listening on http://{address}");
        let _ = io::stdout().flush();
    };
    if args.switches.processes == 1 {
        let (asked, stop) = tokio::sync::oneshot::channel::<()>();
        spawn_signals(asked)?;
        return serve::run(args, listener, announce, async {
            let _ = stop.await;
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(supervise(args, &listener, announce))
}

/// Serves as one of several workers. The listening socket is at stdin, the control socket at stdout.
///
/// # Errors
/// The process was not started by `serve`, or the database cannot be opened.
pub fn run_worker(args: &ServeArgs) -> Result<(), Problem> {
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut control = ControlSocket::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut control_reader = control.try_clone()?;
    let (asked, stop) = tokio::sync::oneshot::channel::<()>();
    std::thread::Builder::new().name("line".into()).spawn(move || {
        // The supervisor never sends: a read returns when it closes the socket or has ended.
        let _ = io::Read::read(&mut control_reader, &mut [0]);
        let _ = asked.send(());
    })?;
    let ready = move || {
        let _ = control.write_all(b"r");
    };
    ignore_signals()?;
    serve::run(args, listener, ready, async {
        let _ = stop.await;
    })
}

/// Waits for a signal on a separate thread, before the runtime of the service exists.
fn spawn_signals(asked: tokio::sync::oneshot::Sender<()>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let signals = {
        let _inside = runtime.enter();
        serve::signals()?
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(signals);
        let _ = asked.send(());
    })?;
    Ok(())
}

/// Ctrl-C in a terminal reaches workers too; they wait for the supervisor to close the control socket instead.
fn ignore_signals() -> io::Result<()> {
    let (asked, ignored) = tokio::sync::oneshot::channel();
    drop(ignored);
    spawn_signals(asked)
}

/// A worker process and its control socket.
struct Worker {
    child: Child,
    control: UnixStream,
}

fn start(listener: &TcpListener) -> io::Result<Worker> {
    let (ours, theirs) = ControlSocket::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .args(std::env::args_os().skip(2))
        .stdin(Stdio::from(OwnedFd::from(listener.try_clone()?)))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .kill_on_drop(true)
        .spawn()?;
    Ok(Worker { child, control: UnixStream::from_std(ours)? })
}

/// An event of a worker.
enum WorkerEvent {
    Ready(usize, Box<Worker>),
    Ended(usize, bool),
}

async fn until_ready(n: usize, mut worker: Worker) -> WorkerEvent {
    if let Ok(1) = worker.control.read(&mut [0]).await {
        return WorkerEvent::Ready(n, Box::new(worker));
    }
    let _ = worker.child.wait().await;
    WorkerEvent::Ended(n, false)
}

async fn until_ended(
    n: usize,
    mut worker: Worker,
    mut stop: tokio::sync::watch::Receiver<bool>,
) -> WorkerEvent {
    let ended = tokio::select! {
        status = worker.child.wait() => Some(status),
        // An error means that the supervisor is ending, which is the same.
        () = async { drop(stop.wait_for(|stop| *stop).await) } => None,
    };
    if let Some(status) = ended {
        tracing::error!(worker = n, ?status, "a worker ended");
    } else {
        drop(worker.control);
        let _ = worker.child.wait().await;
    }
    WorkerEvent::Ended(n, true)
}

async fn supervise(args: &ServeArgs, listener: &TcpListener, announce: impl FnOnce()) -> Result<(), Problem> {
    let mut signals = std::pin::pin!(serve::signals()?);
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let mut worker_events = JoinSet::new();
    for n in 0..args.switches.processes.into() {
        worker_events.spawn(until_ready(n, start(listener)?));
    }
    let (mut announce, mut waiting, mut false_starts) = (Some(announce), args.switches.processes, 0);
    loop {
        tokio::select! {
            () = &mut signals => break,
            Some(Ok(event)) = worker_events.join_next() => match event {
                WorkerEvent::Ready(n, worker) => {
                    worker_events.spawn(until_ended(n, *worker, stopping.clone()));
                    waiting = waiting.saturating_sub(1);
                    if waiting == 0 && let Some(announce) = announce.take() {
                        announce();
                    }
                }
                WorkerEvent::Ended(n, was_ready) => {
                    false_starts += u32::from(!was_ready);
                    if false_starts >= FALSE_STARTS_MAX {
                        return Err(Problem::Process(n));
                    }
                    tracing::warn!(worker = n, "starting a worker anew");
                    worker_events.spawn(until_ready(n, start(listener)?));
                }
            },
        }
    }
    let _ = stop.send(true);
    // Workers have their own grace period; the rest are killed when the set is dropped.
    let timeout = Duration::from_secs(args.grace + 3);
    let all = async { while worker_events.join_next().await.is_some() {} };
    if tokio::time::timeout(timeout, all).await.is_err() {
        tracing::warn!("a worker did not stop and is killed");
    }
    Ok(())
}
