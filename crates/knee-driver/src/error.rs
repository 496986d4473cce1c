//! Errors that end a trial, a study or a sweep, with the next step for the user.
//!
//! Does not print and does not choose an exit code: [`Error::kind`] says what kind of failure it is.

use std::io;
use std::path::{Path, PathBuf};

use knee_core::outcome::Outcome;
use knee_core::record::Run;
use knee_study::study::Refusal;

/// A failure of a study, a comparison, a calibration or a sweep.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The fixture could not be started, reset or stopped.
    #[error(transparent)]
    Fixture(#[from] knee_fixture::Error),
    /// The study refuses its options, or saved trials of another study.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The caller's load source failed, with its own error.
    #[error("{0}")]
    Load(Box<dyn std::error::Error + Send + Sync>),
    /// A trial names something that the study does not have.
    #[error("the study has no {0} of this trial")]
    Missing(&'static str),
    /// A signal or a key ended the trial.
    #[error("the trial was interrupted")]
    Interrupted,
    /// Every response was an error status, so that there is nothing to measure.
    #[error("every response of {what} was {status} ({count} of {count})")]
    NoSuccess {
        /// The trial or step, as "the first trial of `list`".
        what: String,
        /// The most frequent status.
        status: u16,
        /// Responses.
        count: u64,
    },
    /// Another study holds a lock.
    #[error("{}: `{}` is locked", .holder, .path.display())]
    Locked {
        /// The holder, as "another `knee study` runs this study".
        holder: String,
        /// The file.
        path: PathBuf,
    },
    /// The saved trials ran while the CPUs were divided otherwise, or before a division was recorded.
    #[error("the saved trials ran on another division of the CPUs")]
    OtherDivision,
    /// Saved trials cannot be read.
    #[error("no trials are saved, `{}`: {}", .path.display(), reason(.source))]
    NotSaved {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Saved trials belong to another study or to other options.
    #[error("the saved trials belong to {of}: `{}`", .path.display())]
    Unrelated {
        /// What they belong to, as "other options".
        of: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Saved trials are incomplete or changed.
    #[error("the saved trials are damaged: `{}`", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// A result cannot be saved.
    #[error("`{}` cannot be written: {}", .path.display(), reason(.source))]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The user's command that resets the service failed.
    #[error("the reset before step {step} failed, `{command}`: {reason}")]
    Reset {
        /// The command.
        command: String,
        /// The step before which it was run.
        step: usize,
        /// How it ended.
        reason: String,
    },
    /// A process whose CPU time is asked for does not exist.
    #[error("there is no process {0} on this machine")]
    NoProcess(u32),
    /// This system does not report the CPU time of other processes.
    #[error("this system does not report the CPU time of a process")]
    NoCpuTime,
    /// The system refused something else, such as a thread.
    #[error("{0}")]
    System(io::Error),
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for cannot be done.
    Input,
    /// This machine or a program on it failed.
    Machine,
    /// Interrupted by the user.
    Interrupted,
    /// It ran, but measured nothing usable.
    Unusable,
}

impl Error {
    /// The failure of a load source.
    pub fn load(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Load(Box::new(error))
    }

    pub(crate) fn unwritable(path: &Path, source: io::Error) -> Self {
        Self::Unwritable { path: path.to_owned(), source }
    }

    /// An error if `run` got responses and each was an error status. `what` names the run in the error.
    pub(crate) fn if_no_success(run: &Run, what: &str) -> Result<(), Self> {
        let mut all = run.warm_up.all();
        all.merge(&run.measured.all());
        let count: u64 = all.status.iter().map(|(_, count)| count).sum();
        let failed = |status: &u16| *status >= 400;
        match all.status.iter().max_by_key(|(_, count)| *count) {
            Some((status, _))
                if all.count(Outcome::Ok) == 0 && all.status.iter().all(|(status, _)| failed(status)) =>
            {
                Err(Self::NoSuccess { what: what.to_owned(), status: *status, count })
            }
            _ => Ok(()),
        }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Fixture(knee_fixture::Error::Interrupted(_)) | Self::Interrupted => Kind::Interrupted,
            Self::Fixture(
                knee_fixture::Error::Declaration { .. }
                | knee_fixture::Error::Placeholder { .. }
                | knee_fixture::Error::NoPort { .. }
                | knee_fixture::Error::Cycle { .. },
            )
            | Self::Refused(_)
            | Self::Locked { .. }
            | Self::NotSaved { .. }
            | Self::Unrelated { .. }
            | Self::OtherDivision
            | Self::Damaged { .. }
            | Self::NoProcess(_)
            | Self::NoCpuTime => Kind::Input,
            Self::NoSuccess { .. } => Kind::Unusable,
            Self::Fixture(_)
            | Self::Load(_)
            | Self::Missing(_)
            | Self::Reset { .. }
            | Self::Unwritable { .. }
            | Self::System(_) => Kind::Machine,
        }
    }

    /// The next step for the user; empty when there is nothing to say.
    pub fn hint(&self) -> String {
        match self {
            Self::Fixture(error) => return error.hint(),
            Self::Refused(Refusal::OtherStudy(_)) | Self::Unrelated { .. } => {
                "leave out --resume and --report-only to start again"
            }
            Self::Refused(Refusal::UnknownEndpoint { .. }) => {
                "correct `endpoint` in the study.toml, or leave out the claim"
            }
            Self::Refused(Refusal::MarginWithinNoise { .. }) => "ask for more blocks, or a wider margin",
            Self::NoSuccess { .. } => "check the path (`--path` of `knee compare`), the method and the host that the service expects",
            Self::OtherDivision => {
                "start again without --resume, or continue on a machine with as many CPUs as before"
            }
            Self::Locked { .. } => "wait until it has ended, or stop it",
            Self::NotSaved { .. } => "run the study first, without --resume and --report-only",
            Self::Damaged { .. } => {
                "restore the file from the repository, or remove it and run the study again"
            }
            Self::Unwritable { .. } => "check the folder, its permissions and the space left",
            Self::Reset { .. } => "run the command by hand: it must end, with exit code 0",
            Self::NoProcess(_) => "give the process of the service, as `pgrep` or `ss -ltnp` shows it",
            Self::NoCpuTime => "leave out `--pid`; it works on Linux",
            _ => "",
        }
        .to_owned()
    }
}

/// Why an operation of the system failed, without the number of the error.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}
