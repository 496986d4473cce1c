//! A step as a point of the curve, and what the interval of a knee rests on.
//!
//! Does not calculate.

/// A step as a point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The level that was asked for.
    pub level: f64,
    /// Arrivals answered per second.
    pub throughput: f64,
    /// Mean response time in seconds; above zero.
    pub response: f64,
}

/// What the interval of a knee rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Each level was tried once on the way up: the knee lies between two tested levels, and noise is unknown.
    Ladder,
    /// Repeats of levels near the knee show so little noise that only the distance of tested levels limits it.
    Grid,
    /// Repeats of levels near the knee: a 95 % confidence interval, at least as wide as the distance of tested levels.
    Repeats,
}
