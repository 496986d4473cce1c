//! One figure about a set of times, as every report shows it.
//!
//! [`knee_core::estimate`] decides what a sample supports; this type only gives quantiles, extremes and means the same
//! form.

use knee_core::estimate::Quantile;
use knee_core::unit::Nanos;

/// One figure about a set of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The figure.
    Exactly(Nanos),
    /// A lower bound, because some of its times are lower bounds.
    AtLeast(Nanos),
    /// The sample is too small for it.
    TooFew {
        /// The smallest sample that would do.
        needed: u64,
    },
    /// There was nothing to measure.
    Nothing,
}

impl Reading {
    /// A figure that is a lower bound if `bounded`; nothing if there is none.
    pub fn new(nanos: Option<Nanos>, bounded: bool) -> Self {
        match nanos {
            None => Self::Nothing,
            Some(nanos) if bounded => Self::AtLeast(nanos),
            Some(nanos) => Self::Exactly(nanos),
        }
    }

    /// The time, if there is one.
    pub const fn time(self) -> Option<Nanos> {
        match self {
            Self::Exactly(nanos) | Self::AtLeast(nanos) => Some(nanos),
            Self::TooFew { .. } | Self::Nothing => None,
        }
    }

    /// The number in nanoseconds, if there is one.
    pub fn nanos(self) -> Option<f64> {
        self.time().map(|nanos| nanos.0 as f64)
    }

    /// Whether the number is only a lower bound.
    pub const fn is_lower_bound(self) -> bool {
        matches!(self, Self::AtLeast(_))
    }
}

impl From<Quantile> for Reading {
    fn from(quantile: Quantile) -> Self {
        match quantile {
            Quantile::Value(nanos) => Self::Exactly(nanos),
            Quantile::AtLeast(nanos) => Self::AtLeast(nanos),
            Quantile::TooFew { n: 0, .. } => Self::Nothing,
            Quantile::TooFew { needed, .. } => Self::TooFew { needed },
        }
    }
}
