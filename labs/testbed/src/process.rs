//! Programs as processes that end with the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A process that is killed when dropped.
pub struct Running(pub Child);

impl Running {
    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends SIGKILL and waits for the end.
    pub fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A service that has said where it listens.
pub struct Listening {
    /// The process.
    pub process: Running,
    /// What it printed after `listening on`.
    pub url: String,
    /// The rest of its output. It must be kept, so that the program can write to it.
    pub output: BufReader<ChildStdout>,
}

/// Starts a service and waits for its first line, `listening on URL`. Blocks until then.
///
/// # Panics
///
/// When the program does not start, or when its first line is another one.
pub fn listen(program: &mut Command) -> Listening {
    let mut child =
        program.stdout(Stdio::piped()).spawn().unwrap_or_else(|error| panic!("{program:?}: {error}"));
    let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
    let process = Running(child);
    let mut line = String::new();
    output.read_line(&mut line).expect("its output is text");
    let url = line.trim().strip_prefix("listening on ");
    let url = url.unwrap_or_else(|| panic!("{program:?} printed {line:?} instead of its address")).to_owned();
    Listening { process, url, output }
}

/// Runs a command that is to succeed, and returns its stdout.
///
/// # Panics
///
/// When it fails; with its stderr.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("its output is text")
}

/// Runs a command that is to fail, and returns its stderr.
///
/// # Panics
///
/// When it succeeds.
pub fn fail(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(!output.status.success(), "{command:?} succeeded");
    String::from_utf8(output.stderr).expect("its errors are text")
}

/// Sends a signal, for example `TERM`, to one process.
///
/// # Panics
///
/// When there is no such process.
pub fn signal(process: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &process.to_string()]).status().expect("kill");
    assert!(sent.success(), "process {process} is not there for the signal {name}");
}

/// The child processes of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let listed = Command::new("pgrep").args(["-P", &parent.to_string()]).output().expect("pgrep").stdout;
    let listed = String::from_utf8(listed).expect("numbers");
    listed.lines().map(|line| line.parse().expect("a number")).collect()
}
