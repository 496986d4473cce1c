//! How the simulated servers behave, and what they answer. Both versions of HTTP share it.

use knee_core::outcome::Fault;

/// A way in which a server treats a request badly, or slowly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Answers and closes the connection without notice.
    ClosesAfter,
    /// Closes before it answers.
    ClosesBefore,
    /// Closes in the middle of its answer.
    Cuts,
    /// Resets in the middle of its answer.
    Resets,
    /// Never answers.
    Hangs,
    /// Answers after any time limit.
    Late,
    /// Pauses within its answer.
    Pauses,
    /// Answers with a status of 500.
    Fails,
    /// Sends its answer twice.
    Repeats,
    /// Sends what is no answer.
    Babbles,
    /// Over HTTP/2: refuses the stream, resets it, or takes no more requests on the connection.
    Refuses,
    ResetsStream,
    GoesAway,
}

impl Behaviour {
    /// The faults that it can cause.
    pub const fn faults(self) -> &'static [Fault] {
        match self {
            // A request on the way meets the end of its connection; what cannot be sent twice fails.
            Self::ClosesAfter | Self::ClosesBefore => &[Fault::ClosedEarly, Fault::Reset],
            Self::Cuts => &[Fault::ShortHead, Fault::ShortBody, Fault::ClosedEarly, Fault::Reset],
            Self::Resets => &[Fault::Reset],
            Self::Hangs | Self::Late | Self::Pauses => &[Fault::RequestTimeout],
            Self::Fails => &[],
            Self::Repeats => &[Fault::Unsolicited, Fault::ClosedEarly, Fault::Reset],
            Self::Babbles => &[Fault::MalformedHead, Fault::ClosedEarly, Fault::Reset],
            Self::Refuses => &[Fault::H2Refused],
            Self::ResetsStream => &[Fault::H2Reset],
            // The connection ends with the last of its requests, and perhaps before the notice was read.
            Self::GoesAway => &[Fault::H2Goaway, Fault::ClosedEarly, Fault::Reset],
        }
    }
}

/// The number of different requests. The path of each is its number.
pub const PATHS: usize = 6;

/// The body of the answer to a path: no other path has the same.
pub fn body_of(path: usize) -> Vec<u8> {
    let text = format!("this is the answer to {path}; ");
    text.bytes().cycle().take([0, 1, 40, 900, 3_000, 9_000][path] + path).collect()
}
