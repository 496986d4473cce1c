//! Why records cannot be merged.

use std::fmt;
use std::io;

use super::super::format::ReadError;
use crate::share::ShareError;

/// Which of the given records, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub usize);

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "record {}", self.0 + 1)
    }
}

/// Why records cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is none.
    #[error("there is no record to merge")]
    None,
    /// One cannot be read.
    #[error("{place}: {error}")]
    Read {
        /// Which one.
        place: Place,
        /// Why.
        error: ReadError,
    },
    /// One is of a whole load, or was itself merged.
    #[error("{place} is not that of a part of a load")]
    NotAPart {
        /// Which one.
        place: Place,
    },
    /// The rate of one was changed during its run: together they are no plan.
    #[error("{place} was steered by hand, and the others were not in the same way")]
    Steered {
        /// Which one.
        place: Place,
    },
    /// What one says of its part cannot be understood.
    #[error("{place} has a part that is none: {error}")]
    Share {
        /// Which one.
        place: Place,
        /// Why.
        error: ShareError,
    },
    /// Two are of different loads.
    #[error("{one} and {other} are parts of different loads: {what} differs")]
    Different {
        /// The first.
        one: Place,
        /// The other.
        other: Place,
        /// What differs.
        what: &'static str,
    },
    /// Two are of the same part.
    #[error("{one} and {other} are both of the part {segment}")]
    Twice {
        /// The first.
        one: Place,
        /// The other.
        other: Place,
        /// The part.
        segment: String,
    },
    /// The merged record cannot be written.
    #[error("cannot write the merged record: {0}")]
    Write(#[from] io::Error),
}
