//! k6's metrics: what they are called, what they have seen, and how sub-metrics filter by tags.
//!
//! These are k6's definitions, kept for k6's view of a run; the record has its own. Does not read a clock,
//! does not print, and does not share anything between workers: each has a [`Meter`], and meters merge.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub mod catalog;
pub mod check;
pub mod key;
pub mod meter;
pub mod registry;
pub mod sink;
pub mod trend;

pub use catalog::{BuiltIn, Catalog, DeclareError, Metric, MetricId};
pub use check::{Check, Group, GroupId, Groups};
pub use key::{Key, KeyError};
pub use meter::Meter;
pub use registry::Registry;
pub use sink::{Counter, Gauge, Rate, Sink};
pub use trend::Trend;

/// What a metric does with its samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Adds them up.
    Counter,
    /// Keeps the last, the smallest and the largest.
    Gauge,
    /// Keeps the share of those that are not zero.
    Rate,
    /// Keeps their distribution.
    Trend,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Rate => "rate",
            Self::Trend => "trend",
        })
    }
}

/// What a metric's values mean, which decides how they are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contains {
    /// Plain numbers.
    Default,
    /// Milliseconds.
    Time,
    /// Bytes.
    Data,
}

impl fmt::Display for Contains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::Time => "time",
            Self::Data => "data",
        })
    }
}

/// The tags of a sample, however its maker keeps them.
pub trait Tags {
    /// The value of the tag `name`.
    fn tag(&self, name: &str) -> Option<&str>;
}

/// No tags at all.
impl Tags for () {
    fn tag(&self, _name: &str) -> Option<&str> {
        None
    }
}

/// A set of tags that is cheap to clone; outputs and tests use it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagSet(BTreeMap<Arc<str>, Arc<str>>);

impl TagSet {
    /// Sets one tag, replacing its former value.
    pub fn set(&mut self, name: impl Into<Arc<str>>, value: impl Into<Arc<str>>) {
        self.0.insert(name.into(), value.into());
    }

    /// Name and value of every tag, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }
}

impl Tags for TagSet {
    fn tag(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }
}

impl<N: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(N, V)> for TagSet {
    fn from_iter<T: IntoIterator<Item = (N, V)>>(pairs: T) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}
