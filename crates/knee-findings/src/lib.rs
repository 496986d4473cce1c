//! What limits the service under load: rules that turn the evidence of a run into findings.
//!
//! [`examine()`] applies every rule of [`RULES`] to a run and to what observers saw beside it. The result depends on this
//! evidence alone: no I/O, no clock, no settings. Does not read a source (`knee-observe` does), does not print
//! (`knee-report` does), and does not say whether the figures can be trusted: that is the validity of the run.

pub mod bound;

pub mod breakdown;

mod calls;
mod commands;
mod database_cpu;

pub mod definition;

pub mod evidence;

mod examine;

mod figure;

pub mod finding;

mod histogram;

mod hypothetical;

mod lack;

mod level;

pub mod levels;
mod load_level;
mod neighbours;

mod parts;

mod plan;

mod profile;

mod proposals;

mod query;

pub mod remedy;

mod rhythm;

mod rules;

mod same;

mod share;

mod sqlite;

mod statement;

mod trend;

mod watched;

#[cfg(test)]
mod observed;

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;

pub use bound::{Bound, bounds};
pub use breakdown::{Breakdown, Part, PartKind};
pub use definition::Rule;
pub use evidence::Evidence;
pub use examine::{examine, is_only_errors};
pub use finding::{
    Confidence, Finding, Gain, Limit, NotRun, Remedy, Report, Signal, Subject, SubjectKind, Unit,
};
pub use levels::add_levels;
pub use load_level::Level;
pub use proposals::proposals;
pub use remedy::{CHANGES, Change};
pub use rules::RULES;
