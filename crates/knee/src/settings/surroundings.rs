//! Inputs of the settings besides the command line: CPUs, terminals, name resolution.
//!
//! Does not read `K6_*` and other variables of a script.

use super::target;

/// Input from the machine and the environment, which was not typed.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// CPUs this process can use; 1 or more.
    pub cpus: u16,
    /// Whether stdout is a terminal.
    pub stdout_terminal: bool,
    /// Whether stderr is a terminal.
    pub stderr_terminal: bool,
    /// Whether `NO_COLOR` is set to something.
    pub no_color: bool,
    /// Finds the addresses of a name.
    pub resolve: target::Resolve,
}

impl Surroundings {
    /// The surroundings of this process.
    pub fn read() -> Self {
        use std::io::IsTerminal;
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            cpus: u16::try_from(cpus).unwrap_or(u16::MAX),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal: std::io::stderr().is_terminal(),
            no_color: std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()),
            resolve: target::resolve,
        }
    }
}
