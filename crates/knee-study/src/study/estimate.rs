//! An estimate with the ends of its confidence interval.
//!
//! Does not calculate it.

use serde::{Deserialize, Serialize};

/// A change with its interval. For shares the difference; otherwise `to / from - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Point estimate.
    pub estimate: f64,
    /// Lower end; `None` if nothing bounds it.
    pub low: Option<f64>,
    /// Upper end; `None` if nothing bounds it.
    pub high: Option<f64>,
}
