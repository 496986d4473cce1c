//! k6's metrics: their names, their samples, and the filters of sub-metrics by tags.
//!
//! These are k6's definitions, kept for k6's view of a run; the record has its own. Does not read a clock,
//! does not print, and does not share anything between workers: each has a [`Meter`], and meters merge.

pub mod catalog;
pub mod check;
pub mod key;
pub mod kind;
pub mod meter;
pub mod registry;
pub mod sink;
pub mod tag;
pub mod trend;

pub use catalog::{BuiltIn, Catalog, DeclareError, Metric, MetricId};
pub use check::{Check, Group, GroupId, Groups};
pub use key::{Key, KeyError};
pub use kind::{Contains, Kind};
pub use meter::Meter;
pub use registry::Registry;
pub use sink::{Counter, Gauge, Rate, Sink};
pub use tag::{TagSet, Tags};
pub use trend::Trend;
