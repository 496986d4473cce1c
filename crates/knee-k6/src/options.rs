//! k6's options: from what a script exports, variables, flags and a configuration file to the scenarios
//! that run.
//!
//! As lenient as k6. Does not evaluate a script, read the environment or open files: callers pass values in.

pub mod defaults;
pub mod describe;
pub mod exported;
pub mod layer;
pub mod plan;
pub mod resolve;
pub mod resolved;
pub mod scenario;
pub mod stage;

pub use defaults::{OPTIONAL_SYSTEM_TAGS, SYSTEM_TAGS, TREND_STATS};
pub use layer::{Layer, Source};
pub use resolve::{Layers, resolve};
pub use resolved::{HttpOptions, Options, RunOptions};
pub use scenario::{ExecutorSpec, ScenarioSpec, StageSpec};

pub use crate::read::{ConfigError, EXIT_CODE};

#[cfg(test)]
mod tests;
