//! k6's metrics: their names, their samples, and the filters of sub-metrics by tags.
//!
//! These are k6's definitions, kept for k6's view of a run; the record has its own. Does not read a clock,
//! does not print, and does not share anything between workers: each has a [`Meter`], and meters merge.

pub mod catalog;
pub mod check;
mod exchange;
pub mod key;
pub mod meter;
pub mod registry;
pub mod tag;

pub use knee_core::metric::{Contains, Counter, Gauge, Kind, Rate, Sink, Trend};

pub use catalog::{BuiltIn, Catalog, DeclareError, Metric, MetricId};
pub use check::{Check, Group, GroupId, Groups};
pub use key::{Key, KeyError};
pub use meter::Meter;
pub use registry::Registry;
pub use tag::{TagSet, Tags};
