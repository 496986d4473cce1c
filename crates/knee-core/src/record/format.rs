//! Bytes to record and back: an append-only journal of frames.
//!
//! Does not open, name or sync files, and does not sum a record up; see [`super::run`]. The
//! layout is described byte by byte in `docs/reference/record-format.md`.
//!
//! ```text
//! magic (8) version (u32) │ length (u32) crc (u32) kind (u8) payload │ length crc kind payload │ …
//! ```

use serde::{Deserialize, Serialize};

use crate::amendment::Amendment;
use crate::metric::Metrics;
use crate::observation::Batch;
use crate::unit::Nanos;

mod error;
mod frames;
mod msgpack;
mod reader;
mod stored;
mod summed;
mod unfit;
mod window;
mod writer;

pub use error::ReadError;
#[cfg(test)]
pub(crate) use msgpack::Values;
pub use reader::{Reader, Skipped};
pub use stored::{ENDPOINTS_MAX, Period, StoredInterval};
pub use summed::{POINTS_OF_FRAME, Summed};
pub use unfit::Unfit;
pub use writer::Writer;

/// The kind of frames with metrics of scripts.
pub const METRICS: u8 = kind::METRICS;

/// The first bytes of every record. The first byte has its high bit set, and a line end follows the name, so a
/// transfer as text damages them visibly.
pub const MAGIC: [u8; 8] = *b"\x89KNEE\r\n\x1a";

/// The version of the format that is written. Every version up to it is read.
pub const VERSION: u32 = 2;

/// Most bytes of a frame (kind and payload), and most bytes its payload can unpack to. Enough for an interval with
/// about 6,000 busy endpoints. What a reader keeps of all frames together has a limit of its own; see
/// [`MEMORY_MAX`](super::run::MEMORY_MAX).
pub const FRAME_BYTES_MAX: usize = 64 << 20;

/// What kind of frame this is, as written.
mod kind {
    pub(super) const HEAD: u8 = 1;
    pub(super) const INTERVAL: u8 = 2;
    pub(super) const NOTE: u8 = 3;
    pub(super) const TAIL: u8 = 4;
    pub(super) const METRICS: u8 = 5;
    pub(super) const LATENESS: u8 = 6;
    pub(super) const CONTRIBUTION: u8 = 7;
    pub(super) const OBSERVATIONS: u8 = 9;

    /// From this kind on, a frame changes what the others mean: a reader that does not know it refuses the record. All
    /// other kinds only add something, and a reader that does not know them passes over them. Since version 2.
    pub(super) const REQUIRED: u8 = 128;

    /// The record has one interval for the whole run. It is of a required kind, because a reader that passed over it
    /// would show a run of one interval.
    pub(super) const SUMMED: u8 = 128;

    /// The plan of the head was changed during the run. Required: a reader that passed over it would show the plan as it
    /// was.
    pub(super) const AMENDMENT: u8 = 129;

    /// What a kind holds that is reserved, and that this version does not write or that is laid out otherwise here.
    pub(super) const fn reserved(kind: u8) -> Option<&'static str> {
        Some(match kind {
            METRICS => "metrics of scripts",
            LATENESS => "clock offsets",
            CONTRIBUTION => "what single machines contributed",
            8 => "shares of agents",
            OBSERVATIONS => "observations",
            _ => return None,
        })
    }
}

/// How the last note of a record begins whose writer could not go on; the reason follows.
pub const GAVE_UP: &str = "the record ends here, the run did not: ";

/// A line of text that belongs to a moment of the run, such as a warning of the tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, on the run's clock.
    pub at: Nanos,
    /// One line.
    pub text: String,
}

/// One frame after the head.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// What one interval measured.
    Interval(Box<StoredInterval>),
    /// Points of a run that has one interval.
    Summed(Box<Summed>),
    /// A line of text.
    Note(Note),
    /// A change of the plan.
    Amendment(Amendment),
    /// What observers read beside the run.
    Observations(Box<Batch>),
    /// What scripts counted since the frame before.
    Metrics(Box<Metrics>),
    /// When the part of an agent began, on the clock of its controller.
    Lateness(super::Lateness),
    /// What one of several machines contributed.
    Contribution(Box<super::Contribution>),
    /// What is known after the last request; nothing follows it.
    Tail(Box<super::Tail>),
}

#[cfg(test)]
mod tests;
