//! `knee` as a process: a command line, a home of its own, what came out of it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Longest that a process can take before it counts as hanging: many times what any takes on a busy machine.
const LIMIT: Duration = Duration::from_secs(240);

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_knee");

/// A folder in which `knee` runs and keeps its records, and one for temporary files; gone with this.
pub struct Home(TempDir, TempDir);

impl Home {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file, and the folders above it; returns its name.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Every file below it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut folders = vec![self.0.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { folders.push(path) } else { files.push(path) }
            }
        }
        files
    }

    /// `knee` with this command line; words are separated by blanks.
    pub fn knee(&self, line: &str) -> Knee {
        Knee::at(self, Command::new(BINARY)).args(line)
    }

    /// A shell script in which `$KNEE` is the binary.
    pub fn shell(&self, script: &str) -> Knee {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).env("KNEE", BINARY);
        Knee::at(self, command)
    }

    /// What `knee report RECORD --format json` says.
    pub fn report(&self, record: &str) -> Value {
        let finished = self.knee("report --format json").arg(record).run();
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        serde_json::from_str(&finished.stdout).unwrap()
    }
}

/// A command about to be run.
pub struct Knee(Command);

impl Knee {
    fn at(home: &Home, mut command: Command) -> Self {
        command
            .current_dir(home.0.path())
            .env("KNEE_HOME", home.0.path())
            // Where loads notice each other: those of other tests are none of its business.
            .env("TMPDIR", home.1.path())
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self(command)
    }

    pub fn args(mut self, line: &str) -> Self {
        self.0.args(line.split_whitespace());
        self
    }

    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.0.arg(arg);
        self
    }

    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    /// Starts it in another folder.
    pub fn folder(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub fn stdout(mut self, stdout: impl Into<Stdio>) -> Self {
        self.0.stdout(stdout);
        self
    }

    pub fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.0.stdin(stdin);
        self
    }

    pub fn stderr(mut self, stderr: impl Into<Stdio>) -> Self {
        self.0.stderr(stderr);
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let mut child = self.0.spawn().unwrap();
        let stdout = child.stdout.take().map(|mut stdout| {
            thread::spawn(move || {
                let mut text = String::new();
                // A killed process can leave half a character.
                let _ = stdout.read_to_string(&mut text);
                text
            })
        });
        let (sender, lines) = mpsc::channel();
        if let Some(stderr) = child.stderr.take() {
            thread::spawn(move || {
                for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                    // A test that has seen enough does not listen any more.
                    let _ = sender.send(line);
                }
            });
        }
        Running { child, stdout, lines, told: Vec::new() }
    }

    /// Runs it to its end.
    pub fn run(self) -> Finished {
        self.start().finish()
    }
}

/// A process under way.
pub struct Running {
    child: Child,
    stdout: Option<thread::JoinHandle<String>>,
    lines: Receiver<String>,
    told: Vec<String>,
}

impl Running {
    /// Waits for a line on stderr that contains `text`.
    pub fn wait_for(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(LIMIT);
            let line = line.unwrap_or_else(|_| panic!("no `{text}` in:\n{}", self.told.join("\n")));
            self.told.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends a signal, unless the process is gone already.
    pub fn send(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Whether it has ended; waits for that up to `span`.
    pub fn ends_within(&mut self, span: Duration) -> bool {
        let pause = Duration::from_millis(10);
        (0..span.as_millis() / pause.as_millis()).any(|_| {
            let ended = self.child.try_wait().unwrap().is_some();
            if !ended {
                thread::sleep(pause);
            }
            ended
        })
    }

    /// Waits for its end; a process that hangs is killed and fails the test.
    pub fn finish(self) -> Finished {
        self.finish_within(LIMIT)
    }

    /// The same for a process that takes longer.
    pub fn finish_within(mut self, limit: Duration) -> Finished {
        if !self.ends_within(limit) {
            self.child.kill().unwrap();
            panic!("it hangs; reported so far:\n{}", self.told.join("\n"));
        }
        let status: ExitStatus = self.child.wait().unwrap();
        let stdout = self.stdout.take().map(|stdout| stdout.join().unwrap()).unwrap_or_default();
        self.told.extend(self.lines.iter());
        Finished { code: status.code(), stdout, stderr: self.told.join("\n") }
    }
}

impl Drop for Running {
    /// A process that a test has not waited for ends with the test.
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            // It can have ended just now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What came out of a process.
#[derive(Debug)]
pub struct Finished {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Fails unless the exit code is the one that the record `last` calls for; returns that as JSON.
    pub fn ended_as_it_says(&self, home: &Home) -> Value {
        let run = home.report("last");
        self.ended_as(&run);
        run
    }

    /// Fails unless the exit code is the one that `run` calls for.
    pub fn ended_as(&self, run: &Value) {
        let reasons = run["warnings"].as_array().unwrap();
        let debug_build = reasons.iter().any(|reason| reason["code"] == "debug_build");
        assert_eq!(debug_build, cfg!(debug_assertions), "{reasons:?}");
        let code = match (run["validity"].as_str(), run["ending"].as_str()) {
            (Some("invalid"), _) => 120,
            (_, Some("completed")) => 0,
            _ => 105,
        };
        assert_eq!(self.code, Some(code), "{}\n{run:#}", self.stderr);
    }

    /// Fails unless nothing was done because of what is wrong with the command line.
    pub fn refused(&self, error: &str, hint: &str) {
        assert_eq!(self.stderr, format!("error: {error}\n\nhint: {hint}"));
        assert_eq!((self.code, self.stdout.as_str()), (Some(104), ""));
    }
}

/// The number at a JSON pointer.
pub fn number(json: &Value, pointer: &str) -> u64 {
    json.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {json:#}"))
}

/// The only record in a home.
pub fn record(home: &Home) -> PathBuf {
    let mut records = home.files();
    records.retain(|path| path.extension() == Some(OsStr::new("knee")));
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

/// A path as an argument of a command line without blanks.
pub fn word(path: &Path) -> String {
    let word = path.display().to_string();
    assert!(!word.contains(char::is_whitespace), "{word}");
    word
}
