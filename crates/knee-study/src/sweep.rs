//! Finds capacity, knee and breaking point of a service by steps of load.
//!
//! A [`Sweep`] returns its next step, takes the measurement of that step, and in the end concludes. Does not
//! run a step, does not know the time (it adds up the reported duration of each step), and does not lay out
//! a report.
//!
//! ```text
//! probe ─► climb ─► bisect ─► confirm ─► breaking point ─► repeat ─► surge ─► descend ─► recheck ─► done
//!            │ nothing fails                                  │ near the knee    ▲          │ only where it
//!            └────────────────────────────────────────────────┴─► done           │          │ can be reset
//! ```

pub mod bound;

pub mod conclusion;

pub mod cost;

pub mod course;

pub mod knee;

mod limit;

pub mod measured;

pub mod resource;

pub mod rule;

pub mod saturating;

pub mod search;

pub mod shedding;

pub mod slo;

mod step;

pub mod tried;

pub mod usl;

pub use conclusion::Report;
pub use course::Sweep;
pub use measured::StepResult;
pub use slo::Slo;
pub use step::{FinishedStep, Purpose, Step, StepLoad};

use serde::Serialize;

/// The unit of load levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum LoadKind {
    /// Requests that arrive by a Poisson process, whether or not earlier ones were answered; the level is a rate.
    Requests,
    /// Iterations of a script per second, which arrive the same way.
    Iterations,
    /// Connections, each of which waits for its response before it sends again.
    Connections,
}

impl LoadKind {
    /// Whether arrivals do not wait for responses.
    pub const fn is_open(self) -> bool {
        !matches!(self, Self::Connections)
    }
}

/// The levels that are tried on the way up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Ladder {
    /// Short closed loads first estimate what the service can do; the ladder begins well below.
    Auto,
    /// Levels from `from` to `to`, each `factor` times the one before.
    Geometric {
        /// First level; above zero.
        from: f64,
        /// Last level, if the user set one; the load never goes above it.
        to: Option<f64>,
        /// Above 1.
        factor: f64,
    },
    /// These levels, ascending.
    List(Vec<f64>),
}

/// Settings of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The unit of its levels.
    pub kind: LoadKind,
    /// The levels on the way up. [`Ladder::Auto`] can be capped by `ceiling`.
    pub ladder: Ladder,
    /// No step goes above this level, whatever the ladder says.
    pub ceiling: Option<f64>,
    /// Seconds that a step measures; above zero.
    pub seconds: f64,
    /// Limits on response time; a step must meet all of them to pass.
    pub slos: Vec<Slo>,
    /// Largest share of requests, 0 to 1, that can fail.
    pub errors_max: f64,
    /// The bracket around the capacity is halved until its upper end is at most `1 + precision`
    /// times its lower end; above zero.
    pub precision: f64,
    /// Most requests in flight, and most connections of a probe.
    pub in_flight_max: u32,
    /// Connections of the first probe, and the first level of an automatic ladder of connections; 1 or more. Machines that
    /// make the load together need one each.
    #[serde(skip_serializing_if = "is_one")]
    pub connections_min: u32,
    /// Whether the service can be reset. It is then reset before each step, except on the way down: that shows whether it
    /// recovers by itself.
    pub resets: bool,
    /// Seconds after which no new step begins; `None` for no limit.
    pub seconds_max: Option<f64>,
    /// Seed of all arrivals; each step has one of its own made from it.
    pub seed: u64,
}

/// Serde passes a reference.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
const fn is_one(number: &u32) -> bool {
    *number == 1
}

/// A range, in the unit of the sweep's levels unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRange {
    /// Lower end.
    pub low: f64,
    /// Upper end, not below the lower.
    pub high: f64,
}

impl LevelRange {
    /// The middle of the two.
    pub fn middle(self) -> f64 {
        self.low.midpoint(self.high)
    }

    /// Whether the two have a point in common.
    pub fn overlaps(self, other: Self) -> bool {
        self.low <= other.high && other.low <= self.high
    }
}
