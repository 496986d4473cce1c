//! A failed command: the problem to print and the exit code.
//!
//! Does not print and does not exit; `main` does.

use std::fmt;

use knee_driver::{Error, Kind};

use crate::exit::Exit;
use crate::problem::Problem;

/// What failed, with the exit code.
pub type Failed = (Problem, Exit);

/// A failed load, as the driver returns it.
#[derive(Debug)]
struct LoadFailed(Problem, Exit);

impl fmt::Display for LoadFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for LoadFailed {}

/// The request of the user cannot be met.
pub fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

/// Something failed on this machine.
pub fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}

/// A load that the driver asked for failed.
pub fn load_failed((problem, exit): Failed) -> Error {
    Error::load(LoadFailed(problem, exit))
}

/// What the driver reports.
pub fn driver_failed(error: Error) -> Failed {
    let exit = match error.kind() {
        Kind::Input => Exit::Configuration,
        Kind::Machine => Exit::Failure,
        Kind::Interrupted => Exit::Interrupted,
        Kind::Unusable => Exit::Invalid,
    };
    let problem = Problem::new(error.to_string(), error.hint());
    let Error::Load(source) = error else { return (problem, exit) };
    source.downcast::<LoadFailed>().map_or((problem, exit), |source| (source.0, source.1))
}
