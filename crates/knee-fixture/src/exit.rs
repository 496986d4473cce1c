//! How a process ended, as data to be sent and shown.
//!
//! Does not wait for one; `registry` does.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It ended by itself, with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
}

impl Exit {
    /// Whether it ended successfully.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match name(*signal) {
                Some(name) => write!(f, "signal {signal}, {name}"),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

/// Names of the signals whose numbers are the same on all platforms.
fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_named_by_its_code_or_its_signal() {
        assert_eq!(Exit::Code(3).to_string(), "exit code 3");
        assert_eq!(Exit::Signal(9).to_string(), "signal 9, SIGKILL");
        assert_eq!(Exit::Signal(40).to_string(), "signal 40");
        assert!(Exit::Code(0).is_success() && !Exit::Signal(0).is_success());
    }
}
