//! A server to try `knee` on, as a child process, so that its CPU is not counted as the generator's.
//!
//! Does not decide what is answered or how long that takes; [`server`] does. Does not measure.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

pub mod server;

use knee_core::unit::Nanos;
use server::Service;

use crate::problem::reason;

/// The hidden command of this program that is the child: `knee demo-server HOST:PORT WORKERS NANOSECONDS`.
pub const COMMAND: &str = "demo-server";

/// A demo server in a process of its own. Dropping it ends the process.
#[derive(Debug)]
pub struct Demo {
    child: Child,
    address: SocketAddr,
}

impl Demo {
    /// Starts this program again as `service` on `listen` (port 0 picks a free port) and returns when it accepts
    /// connections.
    pub fn spawn(listen: SocketAddr, service: &Service) -> io::Result<Self> {
        let words = [
            COMMAND.to_owned(),
            listen.to_string(),
            service.workers.to_string(),
            service.service_time.as_nanos().to_string(),
        ];
        Self::spawn_program(Command::new(std::env::current_exe()?).args(words))
    }

    /// Starts `program`, which must behave as [`run_child`] does.
    fn spawn_program(program: &mut Command) -> io::Result<Self> {
        #[cfg(unix)]
        // Ctrl-C reaches the whole group of the terminal. Outside of it the server goes on to answer
        // what is in flight while the run ends.
        std::os::unix::process::CommandExt::process_group(program, 0);
        let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        match announced(&mut child) {
            Ok(address) => Ok(Self { child, address }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Ends a child, unless it has ended already.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Prefix of the reason why a child cannot listen.
const UNABLE: &str = "unable: ";

/// The address that a child writes to its standard output as soon as it listens.
fn announced(child: &mut Child) -> io::Result<SocketAddr> {
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    if let Some(reason) = line.strip_prefix(UNABLE) {
        return Err(io::Error::other(reason.trim()));
    }
    let silent = || io::Error::other("the demo server ended before it listened");
    line.trim().parse().map_err(|_| silent())
}

/// Parses the words after [`COMMAND`]; `None` if [`Demo::spawn`] did not start the program.
pub fn child(words: &[String]) -> Option<(SocketAddr, Service)> {
    let [command, listen, workers, nanos] = words else { return None };
    let workers = workers.parse().ok().filter(|workers| *workers > 0)?;
    let service = Service { workers, service_time: Nanos(nanos.parse().ok()?), ..Service::default() };
    (command == COMMAND).then_some((listen.parse().ok()?, service))
}

/// Runs the child: listens on `listen`, writes the address to standard output, and serves until standard input ends.
/// Standard input ends whenever the parent is gone, for any reason. If the child cannot listen, it writes the reason
/// instead, for the parent to report.
pub fn run_child(listen: SocketAddr, service: &Service) -> io::Result<()> {
    let mut stdout = io::stdout();
    let listener = match TcpListener::bind(listen) {
        Ok(listener) => listener,
        Err(error) => return writeln!(stdout, "{UNABLE}{}", reason(&error)),
    };
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    server::serve(listener, service, || {
        // An error means that the other end is closed, as the end does.
        let _ = io::stdin().read_to_end(&mut Vec::new());
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        command
    }

    #[test]
    fn the_address_is_the_one_that_the_child_announces() {
        let demo = Demo::spawn_program(&mut shell("echo 127.0.0.1:4711; cat")).unwrap();
        assert_eq!(demo.address(), SocketAddr::from(([127, 0, 0, 1], 4711)));
    }

    #[test]
    fn a_child_serves_as_its_parent_asked() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let (listen, service) = child(&words("demo-server 127.0.0.1:0 12 4000000")).unwrap();
        assert_eq!(listen.port(), 0);
        assert_eq!(service, Service { workers: 12, service_time: Nanos::from_millis(4), seed: 1 });
        for other in ["demo", "http://127.0.0.1/ 127.0.0.1:0 12 1", "demo-server 127.0.0.1:0 0 1"] {
            assert_eq!(child(&words(other)), None, "{other}");
        }
    }

    #[test]
    fn a_child_that_dies_before_it_listens_is_an_error() {
        let error = Demo::spawn_program(&mut shell("exit 1")).unwrap_err();
        assert_eq!(error.to_string(), "the demo server ended before it listened");
    }

    #[test]
    fn a_child_that_cannot_listen_says_why() {
        let error = Demo::spawn_program(&mut shell("echo unable: address already in use")).unwrap_err();
        assert_eq!(error.to_string(), "address already in use");
    }

    #[test]
    fn a_child_that_announces_something_else_is_an_error_and_is_not_left_behind() {
        assert!(Demo::spawn_program(&mut shell("echo hello; cat")).is_err());
    }
}
