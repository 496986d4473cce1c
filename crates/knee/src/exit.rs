//! Exit codes: the one list of the numbers that `knee` ends with.
//!
//! Does not exit; `main` returns one of these. The page `docs/reference/exit-codes.md` has the
//! same list with what to do about each, and a test keeps the two in step.

use std::process::ExitCode;

/// How the program ended. k6's numbers where the meanings match; the others of its range (97 to 110)
/// stay free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Exit {
    /// The run took place and its result is valid or suspect; errors of the target are data.
    Ok = 0,
    /// A fault of this program or machine, such as a full disk.
    Failure = 1,
    /// A threshold was crossed.
    Threshold = 99,
    /// `setup` exceeded its time limit.
    SetupTimeout = 100,
    /// `teardown` exceeded its time limit.
    TeardownTimeout = 101,
    /// Bad input, found before any load.
    Configuration = 104,
    /// The run was ended early by a signal or a key; the result covers what was measured until then.
    Interrupted = 105,
    /// A script raised an exception that ends the run.
    Script = 107,
    /// A script aborted the run.
    Abort = 108,
    /// A script marked the test as failed and let it continue.
    MarkedFailed = 110,
    /// The run took place, but its result is invalid.
    Invalid = 120,
    /// The second side of a comparison is slower by more than the margin.
    Slower = 121,
}

impl Exit {
    /// Every code, ascending.
    pub const ALL: [Self; 12] = [
        Self::Ok,
        Self::Failure,
        Self::Threshold,
        Self::SetupTimeout,
        Self::TeardownTimeout,
        Self::Configuration,
        Self::Interrupted,
        Self::Script,
        Self::Abort,
        Self::MarkedFailed,
        Self::Invalid,
        Self::Slower,
    ];

    /// The number.
    pub const fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that k6 uses (`errext/exitcodes`), with what they mean there.
    const TAKEN_BY_K6: [(u8, &str); 13] = [
        (97, "CloudTestRunFailed"),
        (98, "CloudFailedToGetProgress"),
        (99, "ThresholdsHaveFailed"),
        (100, "SetupTimeout"),
        (101, "TeardownTimeout"),
        (102, "GenericTimeout"),
        (103, "ScriptStoppedFromRESTAPI"),
        (104, "InvalidConfig"),
        (105, "ExternalAbort"),
        (106, "CannotStartRESTAPI"),
        (107, "ScriptException"),
        (108, "ScriptAborted"),
        (110, "MarkedAsFailed"),
    ];

    #[test]
    fn numbers_of_our_own_stay_clear_of_those_of_k6() {
        for own in [Exit::Invalid, Exit::Slower] {
            assert!(TAKEN_BY_K6.iter().all(|(code, _)| *code != own.code()));
        }
    }

    #[test]
    fn the_reference_page_lists_exactly_the_codes_there_are() {
        let page = include_str!("../../../docs/reference/exit-codes.md");
        let listed: Vec<u8> = page
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
            .collect();
        assert_eq!(listed, Exit::ALL.map(Exit::code));
    }
}
