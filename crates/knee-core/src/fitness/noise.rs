//! What disturbs threads on a machine, as it was measured.
//!
//! Does not measure (`knee_engine::host::noise` does) and does not judge.

use crate::unit::Nanos;

/// Pauses of one thread that wanted to run all the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// The CPU that it was placed on, if that was possible.
    pub cpu: Option<usize>,
    /// Duration of the measurement.
    pub measured: Nanos,
    /// Sum of its pauses.
    pub paused: Nanos,
    /// Longest pause.
    pub longest: Nanos,
}

/// From this lateness on, a late wake-up counts: the rule `lag` ignores less.
pub const LATE: Nanos = Nanos::from_millis(1);

/// Wake-ups of threads that slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// Number of wake-ups.
    pub count: u64,
    /// Wake-ups that were later than [`LATE`].
    pub late: u64,
    /// Largest lateness.
    pub latest: Nanos,
}

impl Wakes {
    /// Records a wake-up that was `late`.
    pub fn note(&mut self, late: Nanos) {
        self.count += 1;
        self.late += u64::from(late > LATE);
        self.latest = self.latest.max(late);
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            late: self.late + other.late,
            latest: self.latest.max(other.latest),
        }
    }
}
