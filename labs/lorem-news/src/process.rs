//! Several processes on one port: started, watched, stopped together.
//!
//! The first process listens and serves nothing; the others inherit its socket, as the published service's did. One
//! socket per process with `SO_REUSEPORT` would be the alternative: the kernel then deals connections out by a hash, so
//! twenty of them never spread evenly over ten processes, and a second service could take the same port unnoticed.
//! [`crate::accept`] sees to it that the inherited socket does spread them.
//!
//! Each worker has a line to the first process. It says when it is ready, and ends when the line does, so none of them
//! outlives the first one, however that one ended.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Line;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use crate::config::ServeArgs;
use crate::serve::{self, Problem};

/// How often a worker may end before it was ready.
const FALSE_STARTS_MAX: u32 = 3;

/// Serves with as many processes as the switches say, until a signal.
///
/// # Errors
/// The address or the database cannot be used, or a worker cannot be started.
pub fn serve(args: &ServeArgs) -> Result<(), Problem> {
    let listener = serve::bind(args.listen)?;
    serve::prepare(args)?;
    let address = listener.local_addr()?;
    let announce = move || {
        // Whoever started us without reading this does not need it.
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

/// Serves as one of several, on the socket and the line that the first process left at our standard input and output.
///
/// # Errors
/// It was not started by `serve`, or the database cannot be opened.
pub fn work(args: &ServeArgs) -> Result<(), Problem> {
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut line = Line::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut own = line.try_clone()?;
    let (asked, stop) = tokio::sync::oneshot::channel::<()>();
    std::thread::Builder::new().name("line".into()).spawn(move || {
        // Nothing is ever sent to a worker: a read ends when the first process hangs up or is gone.
        let _ = io::Read::read(&mut own, &mut [0]);
        let _ = asked.send(());
    })?;
    let ready = move || {
        let _ = line.write_all(b"r");
    };
    ignore_signals()?;
    serve::run(args, listener, ready, async {
        let _ = stop.await;
    })
}

/// Waits for a signal on a thread of its own, before the runtime of the service exists.
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

/// Ctrl-C in a terminal reaches workers too; they wait for the first process to hang up.
fn ignore_signals() -> io::Result<()> {
    let (asked, ignored) = tokio::sync::oneshot::channel();
    drop(ignored);
    spawn_signals(asked)
}

/// A worker, from its start to its end.
struct Worker {
    child: Child,
    line: UnixStream,
}

fn start(listener: &TcpListener) -> io::Result<Worker> {
    let (ours, theirs) = Line::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .args(std::env::args_os().skip(2))
        .stdin(Stdio::from(OwnedFd::from(listener.try_clone()?)))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .kill_on_drop(true)
        .spawn()?;
    Ok(Worker { child, line: UnixStream::from_std(ours)? })
}

/// What the first process hears.
enum Heard {
    Ready(usize, Box<Worker>),
    Ended(usize, bool),
}

async fn until_ready(n: usize, mut worker: Worker) -> Heard {
    if let Ok(1) = worker.line.read(&mut [0]).await {
        return Heard::Ready(n, Box::new(worker));
    }
    let _ = worker.child.wait().await;
    Heard::Ended(n, false)
}

async fn until_ended(n: usize, mut worker: Worker, mut stop: tokio::sync::watch::Receiver<bool>) -> Heard {
    let ended = tokio::select! {
        status = worker.child.wait() => Some(status),
        // An error says that the first process is ending, which is the same.
        () = async { drop(stop.wait_for(|stop| *stop).await) } => None,
    };
    if let Some(status) = ended {
        tracing::error!(worker = n, ?status, "a worker ended");
    } else {
        drop(worker.line);
        let _ = worker.child.wait().await;
    }
    Heard::Ended(n, true)
}

async fn supervise(args: &ServeArgs, listener: &TcpListener, announce: impl FnOnce()) -> Result<(), Problem> {
    let mut signals = std::pin::pin!(serve::signals()?);
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let mut heard = JoinSet::new();
    for n in 0..args.switches.processes.into() {
        heard.spawn(until_ready(n, start(listener)?));
    }
    let (mut announce, mut waiting, mut false_starts) = (Some(announce), args.switches.processes, 0);
    loop {
        tokio::select! {
            () = &mut signals => break,
            Some(Ok(what)) = heard.join_next() => match what {
                Heard::Ready(n, worker) => {
                    heard.spawn(until_ended(n, *worker, stopping.clone()));
                    waiting = waiting.saturating_sub(1);
                    if waiting == 0 && let Some(announce) = announce.take() {
                        announce();
                    }
                }
                Heard::Ended(n, was_ready) => {
                    false_starts += u32::from(!was_ready);
                    if false_starts >= FALSE_STARTS_MAX {
                        return Err(Problem::Process(n));
                    }
                    tracing::warn!(worker = n, "starting a worker anew");
                    heard.spawn(until_ready(n, start(listener)?));
                }
            },
        }
    }
    let _ = stop.send(true);
    // Workers keep their own grace period; what is left after it is killed as the set is dropped.
    let patience = Duration::from_secs(args.grace + 3);
    let all = async { while heard.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_err() {
        tracing::warn!("a worker did not stop and is killed");
    }
    Ok(())
}
