//! Scenarios: an executor with its options, read from a script, validated, with k6's defaults.
//!
//! Does not run anything and does not know the engine; see the plan module for what the engine gets.

mod check;
mod form;
mod spec;

pub use form::Scenarios;
pub(super) use form::{Executor, Form};
pub use spec::{ExecutorSpec, ScenarioSpec, StageSpec};
