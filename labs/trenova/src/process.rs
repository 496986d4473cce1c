//! One process that serves, or several on one socket that the first one listens on and they inherit.
//!
//! The first of several serves nobody. Each of the others has a line to it: over that it says that it is ready, and when the
//! line ends it stops, so that none outlives the first one, however that ended. A socket each (`SO_REUSEPORT`) is not used: few
//! connections would spread unevenly. How they spread over one socket: [`crate::socket::Places::defer`].

use std::io::{self, Write as _};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream as Line;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::{ServeArgs, WorkerArgs};
use crate::serve::{self, Problem};

/// How many processes may end before they were ready, without one that was in between.
const FALSE_STARTS: u32 = 3;
/// How much longer than its own grace period a process may take to stop.
const MORE_GRACE: Duration = Duration::from_secs(3);

/// Serves with as many processes as the switches say, until a signal.
///
/// # Errors
/// The address or the database cannot be used, or a process cannot be started.
pub fn serve(args: &ServeArgs) -> Result<(), Problem> {
    let listener = serve::bind(args.listen)?;
    let address = listener.local_addr()?;
    let announce = move || {
        // Whoever started us without reading this does not need it.
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

/// Serves as one of several, on the socket and the line that the first process left at standard input and output.
///
/// # Errors
/// It was not started by `serve`, or an address of a store is none.
pub fn work(args: &WorkerArgs) -> Result<(), Problem> {
    let args = args.own();
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    // As long as it is the standard input, too, it would take callers whom nobody serves any more.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?).map_err(io::Error::from)?;
    let line = Line::from(io::stdout().as_fd().try_clone_to_owned()?);
    line.set_nonblocking(true)?;
    let mut own = line.try_clone()?;
    let runtime = serve::runtime(args.threads)?;
    let served = runtime.block_on(async {
        let mut line = UnixStream::from_std(line)?;
        let ready = move || {
            // If nobody hears it, nobody is there any more, and the line's end tells us.
            let _ = own.write_all(b"r");
        };
        // Ctrl-C in a terminal reaches all processes; these wait for the first one.
        let _signals = serve::signals()?;
        let stop = async move {
            // Nothing is ever sent: a read ends when the first process hangs up or is gone.
            let _ = line.read(&mut [0]).await;
        };
        serve::run(&args, listener, ready, stop).await
    });
    runtime.shutdown_background();
    served
}

/// One of several processes, as the first one sees it.
struct Worker {
    child: Child,
    line: UnixStream,
}

/// What the first process hears.
enum Heard {
    /// It takes requests.
    Ready(u16, Box<Worker>),
    /// It is gone; whether it had been ready.
    Gone(u16, bool),
}

impl Worker {
    fn start(listener: &TcpListener, number: u16) -> io::Result<Self> {
        let (ours, theirs) = Line::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(std::env::current_exe()?)
            .args(std::env::args_os().skip(1).map(as_worker))
            .args(["--process", &number.to_string()])
            .stdin(Stdio::from(OwnedFd::from(listener.try_clone()?)))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self { child, line: UnixStream::from_std(ours)? })
    }

    async fn until_ready(mut self, number: u16, mut stopping: watch::Receiver<bool>) -> Heard {
        let mut byte = [0];
        let heard = tokio::select! {
            heard = self.line.read(&mut byte) => heard.unwrap_or(0),
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => 0,
        };
        if heard == 1 {
            return Heard::Ready(number, Box::new(self));
        }
        drop(self.line);
        let _ = self.child.wait().await;
        Heard::Gone(number, false)
    }

    async fn until_gone(mut self, number: u16, mut stopping: watch::Receiver<bool>) -> Heard {
        let status = tokio::select! {
            status = self.child.wait() => Some(status),
            // An error says that the first process is ending, which is the same.
            () = async { drop(stopping.wait_for(|stop| *stop).await) } => None,
        };
        if let Some(status) = status {
            tracing::error!(process = number, ?status, "a process ended");
        } else {
            drop(self.line);
            let _ = self.child.wait().await;
        }
        Heard::Gone(number, true)
    }
}

/// Processes that ended before they were ready, since one was.
#[derive(Debug, Default)]
struct FalseStarts(u32);

impl FalseStarts {
    fn ready(&mut self) {
        self.0 = 0;
    }

    /// Whether there have been too many to start another one.
    fn gone(&mut self, was_ready: bool) -> bool {
        self.0 += u32::from(!was_ready);
        self.0 >= FALSE_STARTS
    }
}

/// The same command line, for a worker. Flags may stand before the command.
fn as_worker(argument: std::ffi::OsString) -> std::ffi::OsString {
    if argument == "serve" { "worker".into() } else { argument }
}

async fn supervise(
    args: &ServeArgs,
    listener: TcpListener,
    announce: impl FnOnce(),
    mut stop: impl Future<Output = ()> + Unpin,
) -> Result<(), Problem> {
    let (tell, stopping) = watch::channel(false);
    let mut heard = JoinSet::new();
    for number in 0..args.switches.prefork {
        heard.spawn(Worker::start(&listener, number)?.until_ready(number, stopping.clone()));
    }
    let (mut announce, mut waiting) = (Some(announce), args.switches.prefork);
    let mut false_starts = FalseStarts::default();
    loop {
        let what = tokio::select! {
            () = &mut stop => break,
            Some(Ok(what)) = heard.join_next() => what,
        };
        match what {
            Heard::Ready(number, worker) => {
                false_starts.ready();
                heard.spawn(worker.until_gone(number, stopping.clone()));
                waiting = waiting.saturating_sub(1);
                if waiting == 0
                    && let Some(announce) = announce.take()
                {
                    announce();
                }
            }
            Heard::Gone(number, was_ready) => {
                if false_starts.gone(was_ready) {
                    return Err(Problem::Process(number));
                }
                tracing::warn!(process = number, "another one is started");
                heard.spawn(Worker::start(&listener, number)?.until_ready(number, stopping.clone()));
            }
        }
    }
    // New callers are refused as soon as all have let go of the socket.
    drop(listener);
    let _ = tell.send(true);
    // Each has its own grace period; what is left after it is killed as the set is dropped.
    let patience = Duration::from_secs(args.grace) + MORE_GRACE;
    let all = async { while heard.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_err() {
        tracing::warn!("a process did not stop and is killed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_starts_are_counted_from_the_last_process_that_was_ready() {
        let mut starts = FalseStarts::default();
        assert!(!starts.gone(false) && !starts.gone(false));
        starts.ready();
        assert!(!starts.gone(true), "it had been ready");
        assert!(!starts.gone(false) && !starts.gone(false), "a service that runs for months may have some");
        assert!(starts.gone(false), "but not one after the other");
    }
}
