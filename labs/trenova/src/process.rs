//! Serves with one process, or with several that inherit the first one's listening socket.
//!
//! The first of several processes only supervises. Each other one has a control stream to it: it writes a byte when ready,
//! and stops at the end of the stream, so that none outlives the supervisor. `SO_REUSEPORT` is not used: few
//! connections would spread unevenly. [`crate::socket::ConnectionLimit::defer`] spreads them over one socket.

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::{ServeArgs, WorkerArgs};
use crate::serve::{self, Problem};

/// Failed starts in a row, over all processes, before the supervisor gives up.
const MAX_START_FAILURES: u32 = 3;
/// Extra time to stop, beyond a process's own grace period.
const EXTRA_GRACE: Duration = Duration::from_secs(3);

/// Serves until a signal, with the number of processes that the switches ask for.
///
/// # Errors
/// The address or the database cannot be used, or a process cannot be started.
pub fn serve(args: &ServeArgs) -> Result<(), Problem> {
    let listener = serve::bind(args.listen)?;
    let address = listener.local_addr()?;
    let announce = move || {
        // Stdout may be closed; the line is only for scripts that read it.
        let _ = writeln!(io::stdout(), "listening on http://{address}");
        let _ = io::stdout().flush();
    };
    let alone = args.switches.prefork == 1;
    let runtime = serve::runtime(if alone { args.threads } else { 1 })?;
    let served = runtime.block_on(async {
        let mut stop = std::pin::pin!(serve::signals()?);
        tokio::select! {
            prepared = serve::prepare(args) => prepared?,
            () = &mut stop => return Ok(()),
        }
        if alone {
            serve::run(args, listener, announce, stop).await
        } else {
            supervise(args, listener, announce, stop).await
        }
    });
    runtime.shutdown_background();
    served
}

/// Serves as one of several, on the socket and control stream inherited as stdin and stdout.
///
/// # Errors
/// Not started by `serve`, or a store's address is malformed.
pub fn serve_as_worker(args: &WorkerArgs) -> Result<(), Problem> {
    let args = args.own();
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    // A second descriptor at stdin would keep the socket open and accept connections after the stop.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?).map_err(io::Error::from)?;
    let control = StdUnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
    control.set_nonblocking(true)?;
    let mut own = control.try_clone()?;
    let runtime = serve::runtime(args.threads)?;
    let served = runtime.block_on(async {
        let mut control = UnixStream::from_std(control)?;
        let ready = move || {
            // A failed write means that the supervisor is gone; the end of the stream stops this process.
            let _ = own.write_all(b"r");
        };
        // Ctrl-C in a terminal reaches all processes; these wait for the supervisor.
        let _signals = serve::signals()?;
        let stop = async move {
            // Nothing is ever sent: the read ends when the supervisor closes the stream or exits.
            let _ = control.read(&mut [0]).await;
        };
        serve::run(&args, listener, ready, stop).await
    });
    runtime.shutdown_background();
    served
}

/// A server process, as seen by the supervisor.
struct ServerProcess {
    child: Child,
    control: UnixStream,
}

/// What happened to a server process.
enum WorkerEvent {
    /// It accepts requests.
    Ready(u16, Box<ServerProcess>),
    /// It exited; whether it had been ready.
    Exited(u16, bool),
}

impl ServerProcess {
    fn start(listener: &TcpListener, number: u16) -> io::Result<Self> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1).map(as_worker))
            .args(["--process", &number.to_string()])
            .stdin(Stdio::from(OwnedFd::from(listener.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, control: UnixStream::from_std(ours)? })
    }

    async fn until_ready(mut self, number: u16, mut stopping: watch::Receiver<bool>) -> WorkerEvent {
        let mut byte = [0];
        let heard = tokio::select! {
            heard = self.control.read(&mut byte) => heard.unwrap_or(0),
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => 0,
        };
        if heard == 1 {
            return WorkerEvent::Ready(number, Box::new(self));
        }
        drop(self.control);
        let _ = self.child.wait().await;
        WorkerEvent::Exited(number, false)
    }

    async fn until_exited(mut self, number: u16, mut stopping: watch::Receiver<bool>) -> WorkerEvent {
        let status = tokio::select! {
            status = self.child.wait() => Some(status),
            // An error means that the supervisor is ending: stop as well.
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => None,
        };
        if let Some(status) = status {
            tracing::error!(process = number, ?status, "a process ended");
        } else {
            drop(self.control);
            let _ = self.child.wait().await;
        }
        WorkerEvent::Exited(number, true)
    }
}

/// Failed starts since a process was last ready.
#[derive(Debug, Default)]
struct StartFailures(u32);

impl StartFailures {
    fn ready(&mut self) {
        self.0 = 0;
    }

    /// Records an exit; true if there were too many failed starts to try again.
    fn exited(&mut self, was_ready: bool) -> bool {
        self.0 += u32::from(!was_ready);
        self.0 >= MAX_START_FAILURES
    }
}

/// Replaces the command in the command line. Flags can precede it.
fn as_worker(argument: std::ffi::OsString) -> std::ffi::OsString {
    if argument == "serve" { "worker".into() } else { argument }
}

async fn supervise(
    args: &ServeArgs,
    listener: TcpListener,
    announce: impl FnOnce(),
    mut stop: impl Future<Output = ()> + Unpin,
) -> Result<(), Problem> {
    let (stop_workers, stopping) = watch::channel(false);
    let mut heard = JoinSet::new();
    for number in 0..args.switches.prefork {
        heard.spawn(ServerProcess::start(&listener, number)?.until_ready(number, stopping.clone()));
    }
    let (mut announce, mut waiting) = (Some(announce), args.switches.prefork);
    let mut start_failures = StartFailures::default();
    loop {
        let event = tokio::select! {
            () = &mut stop => break,
            Some(Ok(event)) = heard.join_next() => event,
        };
        match event {
            WorkerEvent::Ready(number, worker) => {
                start_failures.ready();
                heard.spawn(worker.until_exited(number, stopping.clone()));
                waiting = waiting.saturating_sub(1);
                if waiting == 0
                    && let Some(announce) = announce.take()
                {
                    announce();
                }
            }
            WorkerEvent::Exited(number, was_ready) => {
                if start_failures.exited(was_ready) {
                    return Err(Problem::Process(number));
                }
                tracing::warn!(process = number, "another one is started");
                heard.spawn(ServerProcess::start(&listener, number)?.until_ready(number, stopping.clone()));
            }
        }
    }
    // Connections are refused once all processes have closed the socket.
    drop(listener);
    let _ = stop_workers.send(true);
    // Each has its own grace period; dropping the set kills the rest.
    let stop_timeout = Duration::from_secs(args.grace) + EXTRA_GRACE;
    let all = async { while heard.join_next().await.is_some() {} };
    if tokio::time::timeout(stop_timeout, all).await.is_err() {
        tracing::warn!("a process did not stop and is killed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_failures_are_counted_since_the_last_process_was_ready() {
        let mut failures = StartFailures::default();
        assert!(!failures.exited(false) && !failures.exited(false));
        failures.ready();
        assert!(!failures.exited(true), "it had been ready");
        assert!(
            !failures.exited(false) && !failures.exited(false),
            "a service that runs for months may have some"
        );
        assert!(failures.exited(false), "but not one after the other");
    }
}
