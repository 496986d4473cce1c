//! Scenarios that are complete and valid.
//!
//! Plain data; does not know the engine, see the plan module for what the engine gets.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

/// A scenario, complete and valid.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioSpec {
    /// Its name.
    pub name: String,
    /// Start time, on the run's clock.
    pub start_time: Nanos,
    /// Grace period for iterations after its end.
    pub graceful_stop: Nanos,
    /// The exported function that is an iteration.
    pub exec: String,
    /// Variables added to `__ENV`.
    pub env: BTreeMap<String, String>,
    /// Tags of its samples.
    pub tags: BTreeMap<String, String>,
    /// The executor: when iterations start, and how many.
    pub executor: ExecutorSpec,
}

/// The executor: when iterations start, and how many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExecutorSpec {
    /// A number of iterations that all VUs share: each free VU takes the next.
    SharedIterations {
        /// VUs; 1 or more.
        vus: u32,
        /// Iterations of all VUs together; at least `vus`.
        iterations: u64,
        /// The scenario ends here at the latest.
        max_duration: Nanos,
    },
    /// A number of iterations for every VU.
    PerVuIterations {
        /// VUs; 1 or more.
        vus: u32,
        /// Iterations of each; 1 or more.
        iterations: u64,
        /// The scenario ends here at the latest.
        max_duration: Nanos,
    },
    /// VUs that iterate until time is up.
    ConstantVus {
        /// VUs; 1 or more.
        vus: u32,
        /// Duration.
        duration: Nanos,
    },
    /// A number of VUs that changes over time.
    RampingVus {
        /// VUs at the start.
        start_vus: u32,
        /// Changes of their number; one or more.
        stages: Vec<StageSpec>,
        /// Grace period for the iteration of a VU that is removed.
        graceful_ramp_down: Nanos,
    },
    /// Iterations start at an even pace.
    ConstantArrivalRate {
        /// Iterations per `time_unit`; 1 or more.
        rate: u32,
        /// The time that `rate` is meant for; above zero.
        time_unit: Nanos,
        /// Duration.
        duration: Nanos,
        /// VUs made beforehand.
        pre_allocated_vus: u32,
        /// Most VUs; at least `pre_allocated_vus`.
        max_vus: u32,
    },
    /// Iterations start at a pace that changes over time.
    RampingArrivalRate {
        /// Iterations per `time_unit` at the start.
        start_rate: u32,
        /// The time that rates are meant for; above zero.
        time_unit: Nanos,
        /// Changes of the rate; one or more.
        stages: Vec<StageSpec>,
        /// VUs made beforehand.
        pre_allocated_vus: u32,
        /// Most VUs; at least `pre_allocated_vus`.
        max_vus: u32,
    },
    /// VUs whose number k6 lets its users change during the run; here it stays constant.
    ExternallyControlled {
        /// VUs.
        vus: u32,
        /// Most VUs.
        max_vus: u32,
        /// Duration; zero means no end.
        duration: Nanos,
    },
}

/// A stage, valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSpec {
    /// Duration; zero is a jump.
    pub duration: Nanos,
    /// VUs, or iterations per time unit, at its end.
    pub target: u32,
}

impl ExecutorSpec {
    /// k6's name of the executor.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SharedIterations { .. } => "shared-iterations",
            Self::PerVuIterations { .. } => "per-vu-iterations",
            Self::ConstantVus { .. } => "constant-vus",
            Self::RampingVus { .. } => "ramping-vus",
            Self::ConstantArrivalRate { .. } => "constant-arrival-rate",
            Self::RampingArrivalRate { .. } => "ramping-arrival-rate",
            Self::ExternallyControlled { .. } => "externally-controlled",
        }
    }

    /// Whether its arrivals do not wait for iterations (an open model).
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::ConstantArrivalRate { .. } | Self::RampingArrivalRate { .. })
    }

    /// Time in which iterations start, from the start of the scenario.
    pub fn duration(&self) -> Nanos {
        match self {
            Self::SharedIterations { max_duration, .. } | Self::PerVuIterations { max_duration, .. } => {
                *max_duration
            }
            Self::ConstantVus { duration, .. }
            | Self::ConstantArrivalRate { duration, .. }
            | Self::ExternallyControlled { duration, .. } => *duration,
            Self::RampingVus { stages, .. } | Self::RampingArrivalRate { stages, .. } => {
                stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.duration))
            }
        }
    }

    /// The most VUs it can have.
    pub fn max_vus(&self) -> u32 {
        match self {
            Self::SharedIterations { vus, .. }
            | Self::PerVuIterations { vus, .. }
            | Self::ConstantVus { vus, .. } => *vus,
            Self::RampingVus { start_vus, stages, .. } => {
                stages.iter().fold(*start_vus, |peak, stage| peak.max(stage.target))
            }
            Self::ConstantArrivalRate { max_vus, .. }
            | Self::RampingArrivalRate { max_vus, .. }
            | Self::ExternallyControlled { max_vus, .. } => *max_vus,
        }
    }
}

impl ScenarioSpec {
    /// Latest end of the last iteration, on the run's clock.
    pub fn end(&self) -> Nanos {
        self.start_time.saturating_add(self.executor.duration()).saturating_add(self.graceful_stop)
    }
}
