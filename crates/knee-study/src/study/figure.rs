//! A measured value, exact or a lower bound.
//!
//! Does not know its metric.

use serde::{Deserialize, Serialize};

/// A figure, or a lower bound of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// In the metric's unit: nanoseconds, per second, a share, a number, bytes.
    pub value: f64,
    /// Whether the figure is a lower bound: requests were given up before they ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Self { value, at_least: false }
    }
}
