//! Errors of a fixture, with the next step for the user.
//!
//! Every error names the problem, the place and, if another program was involved, the end of its output. Does not
//! print. Texts have no full stop, so that the program can put them into its own form.

use std::io;
use std::path::{Path, PathBuf};

use crate::exit::Exit;

/// Why something could not be started, reset or taken down.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The declaration contradicts itself or cannot be used.
    #[error("`{at}` {what}")]
    Declaration {
        /// Dotted path of the entry, as `service.main.command`.
        at: String,
        /// What is wrong with it.
        what: String,
    },
    /// A text refers to something that is not declared.
    #[error("`{at}` refers to `{{{placeholder}}}`, which does not exist; known placeholders: {}", list(.known))]
    Placeholder {
        /// Dotted path of the text.
        at: String,
        /// What is between the braces.
        placeholder: String,
        /// The placeholders that do exist.
        known: Vec<String>,
    },
    /// A service that is started on a free port has no way to know it.
    #[error("`{at}` has no `{{port}}`, so the service cannot know on which port to listen")]
    NoPort {
        /// Dotted path of its command.
        at: String,
    },
    /// Services that depend on one another in a circle.
    #[error("these services wait for each other, so none of them can start: {}", .names.join(" -> "))]
    Cycle {
        /// The names, the first one again at the end.
        names: Vec<String>,
    },
    /// A program is not installed.
    #[error("{program} is not installed: knee looked on PATH and in {}", list(.looked))]
    ProgramMissing {
        /// What was looked for.
        program: String,
        /// Where, besides PATH.
        looked: Vec<String>,
        /// The line that installs it on this platform.
        install: String,
    },
    /// A program is older than the declaration allows.
    #[error("{program} {found} in {} is too old: at least {least} is required", .path.display())]
    Version {
        /// What was found.
        program: String,
        /// The newest version found.
        found: u32,
        /// The lowest accepted version.
        least: u32,
        /// Where it was found.
        path: PathBuf,
        /// The line that installs a newer one on this platform.
        install: String,
    },
    /// A program exists but cannot be run.
    #[error("`{}` cannot be run: {}", .program.display(), reason(.source))]
    Unrunnable {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// knee runs as root, PostgreSQL refuses root, and there is no unprivileged user.
    #[error("PostgreSQL does not run as root, and this machine has no user `postgres` or `nobody`")]
    NoUser,
    /// A file or folder cannot be used.
    #[error("cannot {doing} `{}`: {}", .path.display(), reason(.source))]
    Folder {
        /// The attempt, as "read".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file system is full.
    #[error("no space left for {what} in `{}`", .path.display())]
    DiskFull {
        /// What was being written.
        what: String,
        /// Where.
        path: PathBuf,
    },
    /// The port that a service wants is in use.
    #[error("{who} needs port {port}, which is in use")]
    PortTaken {
        /// The port.
        port: u16,
        /// Its user, as "service `main`".
        who: String,
    },
    /// A revision of the user's repository is unavailable.
    #[error("revision `{revision}` cannot be checked out: {reason}")]
    Revision {
        /// What was asked for.
        revision: String,
        /// What git said.
        reason: String,
    },
    /// A command that must succeed failed: a build, a seed, a helper of a database.
    #[error("{what} failed ({exit}){}", quoted(.last_lines))]
    CommandFailed {
        /// Which, as "the build of `main`".
        what: String,
        /// How it ended.
        exit: Exit,
        /// What it said last.
        last_lines: Vec<String>,
    },
    /// A process ended before it was ready, or while it was needed.
    #[error("{who} ended {} ({exit}){}", if *.at_start { "before it was ready" } else { "while it was needed" }, quoted(.last_lines))]
    Died {
        /// Which, as "service `main`".
        who: String,
        /// Whether it was never ready.
        at_start: bool,
        /// How it ended.
        exit: Exit,
        /// The log of its output, which exists while the fixture runs or logs are kept.
        log: PathBuf,
        /// What it said last.
        last_lines: Vec<String>,
    },
    /// A process runs but does not become ready.
    #[error("{who} was not ready after {within_s} s: {waited_for}{}", quoted(.last_lines))]
    NeverReady {
        /// Which, as "service `main`".
        who: String,
        /// How long was waited.
        within_s: f64,
        /// The last question, and its result.
        waited_for: String,
        /// What it said last.
        last_lines: Vec<String>,
    },
    /// Nothing answers at an address given by the user.
    #[error("{who} does not answer at {address}: {reason}")]
    Unreachable {
        /// Which, as "service `main`".
        who: String,
        /// The address as declared, without a password.
        address: String,
        /// What happened.
        reason: String,
    },
    /// A database refused a request of the fixture.
    #[error("{who}: cannot {doing}: {reason}")]
    Store {
        /// Which, as "PostgreSQL `main`".
        who: String,
        /// What was asked of it.
        doing: String,
        /// What it said.
        reason: String,
    },
    /// The supervisor is gone or does not answer.
    #[error("the supervisor process failed: {0}")]
    Supervisor(String),
    /// The program was asked to stop; everything started is taken down.
    #[error("stopped on request ({0})")]
    Interrupted(String),
}

impl Error {
    /// An error of the file system; a full disk has a kind of its own.
    pub(crate) fn folder(doing: &'static str, path: &Path, source: io::Error) -> Self {
        if is_full(&source) {
            return Self::DiskFull {
                what: format!("an attempt to {doing} this path"),
                path: path.to_owned(),
            };
        }
        Self::Folder { doing, path: path.to_owned(), source }
    }

    /// A mistake in the declaration.
    pub(crate) fn declared(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Declaration { at: at.into(), what: what.into() }
    }

    /// The last lines of the program that failed; empty where none was involved.
    pub fn last_lines(&self) -> &[String] {
        match self {
            Self::CommandFailed { last_lines, .. }
            | Self::Died { last_lines, .. }
            | Self::NeverReady { last_lines, .. } => last_lines,
            _ => &[],
        }
    }

    /// Dotted path of the entry of the declaration that is wrong, as `service.main.command`.
    pub fn at(&self) -> Option<&str> {
        match self {
            Self::Declaration { at, .. } | Self::Placeholder { at, .. } | Self::NoPort { at } => Some(at),
            _ => None,
        }
    }

    /// The error in one line, without the last lines of a program.
    pub fn summary(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }

    /// The next step for the user, without a full stop; empty when there is nothing to say.
    pub fn hint(&self) -> String {
        match self {
            Self::ProgramMissing { install, .. } | Self::Version { install, .. } => install.clone(),
            Self::NoUser => "run as a user other than root".to_owned(),
            Self::Placeholder { .. } => {
                "to write `{word}` as plain text, double its braces: `{{word}}`".to_owned()
            }
            Self::NoPort { .. } => {
                "write {port} where the command or `env` takes its port, or declare the service's `port`"
                    .to_owned()
            }
            Self::Folder { .. } => "check the owner and the permissions of the folder".to_owned(),
            Self::DiskFull { .. } => "free space there, or point TMPDIR at a larger disk".to_owned(),
            Self::PortTaken { port, .. } => {
                format!("`ss -ltnp 'sport = :{port}'` shows the process that uses it; with `{{port}}` the fixture picks a free port")
            }
            Self::Died { log, .. } if log.exists() => format!("see its whole output in {}", log.display()),
            Self::NeverReady { .. } => {
                "the service must listen on the port that `{port}` stands for; raise `ready.within_s` to wait longer"
                    .to_owned()
            }
            Self::Unreachable { .. } => "start it, or leave out `address` so that knee starts it".to_owned(),
            Self::Revision { .. } => "`git rev-parse REVISION` must work in the study's folder".to_owned(),
            _ => String::new(),
        }
    }
}

/// Why an operation of the system failed, without the number of the error.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

/// Whether a file system, or a user's share of it, is full.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether a program failed because a disk is full: its output says so, or its folder has no space left, in which case
/// its output might be lost as well.
pub(crate) fn is_full_disk(lines: &[String], place: &Path) -> bool {
    const LEFT_BYTES: u64 = 64 * 1024;
    let left = rustix::fs::statvfs(place).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    says_full(lines) || left.is_ok_and(|bytes| bytes < LEFT_BYTES)
}

/// Whether a text means that a disk is full.
pub(crate) fn says_full(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains("No space left on device") || line.contains("os error 28"))
}

/// A list of names, in words.
fn list(names: &[String]) -> String {
    if names.is_empty() { "no other place".to_owned() } else { names.join(", ") }
}

/// Last lines of a log as a paragraph of their own.
fn quoted(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str("\n  | ");
        text.push_str(line);
    }
    if text.is_empty() { "; it printed nothing".to_owned() } else { text }
}
