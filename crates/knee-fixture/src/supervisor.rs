//! The supervisor: a separate process that starts everything a fixture needs, and ends all of it when the program is
//! gone.
//!
//! A program that is killed cannot clean up. So another process must be the parent of everything that the program
//! starts. The supervisor is this program started once more as `PROGRAM __supervisor`. It reads requests as lines of
//! JSON from its standard input and answers on its standard output; when the input ends, which happens however the
//! program ended, it takes everything down and ends. It has its own session, so neither Ctrl-C nor a closed terminal
//! reaches it. Does not wait, does not time, does not decide.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::registry::{Handle, Launch, ProcessRegistry, StopSignal};

/// The hidden command of the supervisor.
pub const COMMAND: &str = "__supervisor";

/// Becomes the supervisor if the arguments (with the program's own name first) ask for it, and then returns the exit
/// code of the process. Otherwise does nothing. A program that gives a fixture [`Program`] calls this before anything
/// else, and before it starts a thread.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    if args.into_iter().nth(1).as_deref() != Some(OsStr::new(COMMAND)) {
        return None;
    }
    Some(serve(io::stdin().lock(), io::stdout().lock()).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

/// A program that is a supervisor when it is started with these arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Program {
    /// This very program, whose `main` must call [`main`].
    pub fn this() -> io::Result<Self> {
        Ok(Self { path: std::env::current_exe()?, args: vec![COMMAND.into()] })
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Request {
    Root(PathBuf),
    Launch(Box<Launch>),
    Poll(u64),
    Terminate(u64, StopSignal),
    Remember(u64),
    Kill(u64),
}

#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Root(PathBuf),
    Started(Handle),
    Exit(Option<Exit>),
    Done,
    /// What the system said, and its number for it.
    Failed(String, Option<i32>),
}

/// Answers requests until their input ends.
fn serve(requests: impl BufRead, mut answers: impl Write) -> io::Result<()> {
    // Fails only for the head of a group, which is out of reach of the terminal already.
    let _ = rustix::process::setsid();
    let mut registry = ProcessRegistry::adopting()?;
    for line in requests.lines() {
        let Ok(line) = line else { break };
        let answer = match serde_json::from_str(&line) {
            Ok(request) => obey(&mut registry, request),
            Err(error) => Answer::Failed(error.to_string(), None),
        };
        let told = serde_json::to_vec(&answer).map(|mut text| {
            text.push(b'\n');
            answers.write_all(&text).and_then(|()| answers.flush())
        });
        if !matches!(told, Ok(Ok(()))) {
            break;
        }
    }
    registry.end();
    Ok(())
}

fn obey(registry: &mut ProcessRegistry, request: Request) -> Answer {
    let done = match request {
        Request::Root(parent) => registry.root(&parent).map(Answer::Root),
        Request::Launch(launch) => registry.launch(&launch).map(Answer::Started),
        Request::Poll(id) => registry.poll(id).map(Answer::Exit),
        Request::Terminate(id, stop_signal) => {
            registry.terminate(id, stop_signal);
            Ok(Answer::Done)
        }
        Request::Remember(id) => {
            registry.remember(id);
            Ok(Answer::Done)
        }
        Request::Kill(id) => {
            registry.kill(id);
            Ok(Answer::Done)
        }
    };
    done.unwrap_or_else(|error| Answer::Failed(error.to_string(), error.raw_os_error()))
}

/// The program's connection to a supervisor.
pub(crate) struct Supervisor {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Supervisor {
    pub(crate) fn start(program: &Program) -> io::Result<Self> {
        let mut command = Command::new(&program.path);
        command.args(&program.args).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let (requests, answers) = (process.stdin.take(), process.stdout.take());
        let answers = answers.ok_or_else(|| io::Error::other("the supervisor has no output"))?;
        Ok(Self { process, requests, answers: BufReader::new(answers) })
    }

    pub(crate) fn root(&mut self, parent: &Path) -> io::Result<PathBuf> {
        match self.call(&Request::Root(parent.to_owned()))? {
            Answer::Root(path) => Ok(path),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn launch(&mut self, launch: &Launch) -> io::Result<Handle> {
        match self.call(&Request::Launch(Box::new(launch.clone())))? {
            Answer::Started(handle) => Ok(handle),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn poll(&mut self, id: u64) -> io::Result<Option<Exit>> {
        match self.call(&Request::Poll(id))? {
            Answer::Exit(exit) => Ok(exit),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn terminate(&mut self, id: u64, stop_signal: StopSignal) -> io::Result<()> {
        self.call(&Request::Terminate(id, stop_signal)).map(drop)
    }

    pub(crate) fn remember(&mut self, id: u64) -> io::Result<()> {
        self.call(&Request::Remember(id)).map(drop)
    }

    pub(crate) fn kill(&mut self, id: u64) -> io::Result<()> {
        self.call(&Request::Kill(id)).map(drop)
    }

    /// Lets the supervisor take everything down and waits until it has.
    pub(crate) fn end(&mut self) {
        drop(self.requests.take());
        let _ = self.process.wait();
    }

    fn call(&mut self, request: &Request) -> io::Result<Answer> {
        let requests = self.requests.as_mut().ok_or_else(gone)?;
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        requests.write_all(&line).map_err(|_| gone())?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            return Err(gone());
        }
        match serde_json::from_str(&answer)? {
            Answer::Failed(_, Some(number)) => Err(io::Error::from_raw_os_error(number)),
            Answer::Failed(text, None) => Err(io::Error::other(text)),
            answer => Ok(answer),
        }
    }
}

/// The error when the supervisor was killed.
fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the supervisor is gone")
}

fn unexpected(answer: &Answer) -> io::Error {
    io::Error::other(format!("the supervisor sent an unexpected answer: {answer:?}"))
}
