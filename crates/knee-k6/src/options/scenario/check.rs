//! Checks a scenario: returns its complete form, or all mistakes at once in k6's words.
//!
//! Does not know which functions a script exports; see the resolve module.

use super::form::{Executor, Form};
use super::spec::{ExecutorSpec, ScenarioSpec, StageSpec};
use crate::duration::SignedDuration;
use crate::options::stage::Stage;
use knee_core::unit::Nanos;

const MIN_DURATION: SignedDuration = SignedDuration::from_secs(1);
const GRACE: SignedDuration = SignedDuration::from_secs(30);
const MAX_DURATION: SignedDuration = SignedDuration::from_secs(600);

/// Errors found in a scenario.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn when(&mut self, is_wrong: bool, text: impl Into<String>) {
        if is_wrong {
            self.0.push(text.into());
        }
    }

    fn positive_vus(&mut self, vus: i64) -> u32 {
        self.when(vus <= 0, "the number of VUs must be more than 0");
        count(vus)
    }

    fn at_least_a_second(&mut self, what: &str, span: SignedDuration) -> Nanos {
        self.when(span < MIN_DURATION, format!("the {what} must be at least {MIN_DURATION}, but is {span}"));
        span.to_nanos()
    }

    fn duration(&mut self, span: Option<SignedDuration>) -> Nanos {
        let Some(span) = span else {
            self.when(true, "the duration is unspecified");
            return Nanos::ZERO;
        };
        self.at_least_a_second("duration", span)
    }

    fn time_unit(&mut self, span: Option<SignedDuration>) -> Nanos {
        let span = span.unwrap_or(SignedDuration::from_secs(1));
        self.when(span.0 <= 0, "the timeUnit must be more than 0");
        span.to_nanos()
    }

    /// VUs made beforehand and at most.
    fn arrival_vus(&mut self, pre_allocated: Option<i64>, max: Option<i64>) -> (u32, u32) {
        let Some(pre_allocated) = pre_allocated else {
            self.when(true, "the number of preAllocatedVUs isn't specified");
            return (0, 0);
        };
        self.when(pre_allocated < 0, "the number of preAllocatedVUs can't be negative");
        let max = max.unwrap_or(pre_allocated);
        self.when(max < pre_allocated, "maxVUs can't be less than preAllocatedVUs");
        (count(pre_allocated), count(max))
    }

    fn stages(&mut self, stages: Option<Vec<Stage>>) -> Vec<StageSpec> {
        let stages = stages.unwrap_or_default();
        self.when(stages.is_empty(), "at least one stage has to be specified");
        stages.into_iter().enumerate().map(|(index, stage)| self.stage(index + 1, stage)).collect()
    }

    fn stage(&mut self, number: usize, stage: Stage) -> StageSpec {
        match stage.duration {
            None => self.when(true, format!("stage {number} doesn't have a duration")),
            Some(span) => self.when(span.0 < 0, format!("the duration for stage {number} can't be negative")),
        }
        match stage.target {
            None => self.when(true, format!("stage {number} doesn't have a target")),
            Some(target) => self.when(target < 0, format!("the target for stage {number} can't be negative")),
        }
        StageSpec {
            duration: stage.duration.unwrap_or_default().to_nanos(),
            target: count(stage.target.unwrap_or_default()),
        }
    }
}

/// A number that was checked not to be negative.
fn count(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

impl Form {
    /// The complete scenario, or everything that is wrong with it.
    pub fn check(&self, name: &str) -> Result<ScenarioSpec, Vec<String>> {
        let mut faults = Faults::default();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        faults.when(
            name.is_empty() || !name.chars().all(is_word),
            "the scenario name should contain only numbers, latin letters, underscores, and dashes",
        );
        faults.when(self.exec.as_deref() == Some(""), "exec value cannot be empty");
        faults.when(self.start_time.is_some_and(|span| span.0 < 0), "the startTime can't be negative");
        faults.when(
            self.graceful_stop.is_some_and(|span| span.0 < 0),
            "the gracefulStop timeout can't be negative",
        );
        let executor = self.executor.check(&mut faults);
        if !faults.0.is_empty() {
            return Err(faults.0);
        }
        let default_grace = match executor {
            ExecutorSpec::ExternallyControlled { .. } => SignedDuration::ZERO,
            _ => GRACE,
        };
        Ok(ScenarioSpec {
            name: name.to_owned(),
            start_time: self.start_time.unwrap_or_default().to_nanos(),
            graceful_stop: self.graceful_stop.unwrap_or(default_grace).to_nanos(),
            exec: self.exec.clone().unwrap_or_else(|| "default".to_owned()),
            env: self.env.clone().unwrap_or_default(),
            tags: self.tags.clone().unwrap_or_default(),
            executor,
        })
    }
}

impl Executor {
    fn check(&self, faults: &mut Faults) -> ExecutorSpec {
        match self.clone() {
            Self::SharedIterations { vus, iterations, max_duration } => {
                let (vus, iterations) = (vus.unwrap_or(1), iterations.unwrap_or(1));
                let users = faults.positive_vus(vus);
                faults.when(
                    iterations < vus,
                    format!(
                        "the number of iterations ({iterations}) can't be less than the number of VUs ({vus})"
                    ),
                );
                let max_duration =
                    faults.at_least_a_second("maxDuration", max_duration.unwrap_or(MAX_DURATION));
                ExecutorSpec::SharedIterations {
                    vus: users,
                    iterations: iterations.max(0) as u64,
                    max_duration,
                }
            }
            Self::PerVuIterations { vus, iterations, max_duration } => {
                let vus = faults.positive_vus(vus.unwrap_or(1));
                let iterations = iterations.unwrap_or(1);
                faults.when(iterations <= 0, "the number of iterations must be more than 0");
                let max_duration =
                    faults.at_least_a_second("maxDuration", max_duration.unwrap_or(MAX_DURATION));
                ExecutorSpec::PerVuIterations { vus, iterations: iterations.max(0) as u64, max_duration }
            }
            Self::ConstantVus { vus, duration } => {
                let vus = faults.positive_vus(vus.unwrap_or(1));
                ExecutorSpec::ConstantVus { vus, duration: faults.duration(duration) }
            }
            Self::RampingVus { start_vus, stages, graceful_ramp_down } => {
                ramping_vus(faults, start_vus.unwrap_or(1), stages, graceful_ramp_down)
            }
            Self::ConstantArrivalRate { rate, time_unit, duration, pre_allocated_vus, max_vus } => {
                match rate {
                    None => faults.when(true, "the iteration rate isn't specified"),
                    Some(rate) => faults.when(rate <= 0, "the iteration rate must be more than 0"),
                }
                let time_unit = faults.time_unit(time_unit);
                let duration = faults.duration(duration);
                let (pre_allocated_vus, max_vus) = faults.arrival_vus(pre_allocated_vus, max_vus);
                let rate = count(rate.unwrap_or_default());
                ExecutorSpec::ConstantArrivalRate { rate, time_unit, duration, pre_allocated_vus, max_vus }
            }
            Self::RampingArrivalRate { start_rate, time_unit, stages, pre_allocated_vus, max_vus } => {
                let start_rate = start_rate.unwrap_or(0);
                faults.when(start_rate < 0, "the startRate value can't be negative");
                let time_unit = faults.time_unit(time_unit);
                let stages = faults.stages(stages);
                let (pre_allocated_vus, max_vus) = faults.arrival_vus(pre_allocated_vus, max_vus);
                let start_rate = count(start_rate);
                ExecutorSpec::RampingArrivalRate { start_rate, time_unit, stages, pre_allocated_vus, max_vus }
            }
            Self::ExternallyControlled { vus, duration, max_vus } => {
                externally_controlled(faults, vus.unwrap_or(1), duration, max_vus)
            }
        }
    }
}

fn ramping_vus(
    faults: &mut Faults,
    start_vus: i64,
    stages: Option<Vec<Stage>>,
    graceful_ramp_down: Option<SignedDuration>,
) -> ExecutorSpec {
    faults.when(start_vus < 0, "the number of start VUs can't be negative");
    let targets = || stages.iter().flatten().map(|stage| stage.target.unwrap_or(0));
    let has_none = start_vus == 0 && stages.is_some() && targets().all(|target| target == 0);
    faults.when(has_none, "either startVUs or one of the stages' target values must be greater than 0");
    let stages = faults.stages(stages);
    let graceful_ramp_down = graceful_ramp_down.unwrap_or(GRACE);
    faults.when(graceful_ramp_down.0 < 0, "the gracefulRampDown timeout can't be negative");
    ExecutorSpec::RampingVus {
        start_vus: count(start_vus),
        stages,
        graceful_ramp_down: graceful_ramp_down.to_nanos(),
    }
}

fn externally_controlled(
    faults: &mut Faults,
    vus: i64,
    duration: Option<SignedDuration>,
    max_vus: Option<i64>,
) -> ExecutorSpec {
    faults.when(vus < 0, "the number of VUs can't be negative");
    let max_vus = max_vus.unwrap_or(vus);
    faults.when(
        max_vus < vus,
        format!("the number of maxVUs ({max_vus}) can't be less than the number of VUs ({vus})"),
    );
    match duration {
        None => faults.when(true, "the duration must be specified, for infinite duration use 0"),
        Some(duration) => {
            faults.when(duration.0 < 0, "the duration can't be negative, for infinite duration use 0");
        }
    }
    ExecutorSpec::ExternallyControlled {
        vus: count(vus),
        max_vus: count(max_vus),
        duration: duration.unwrap_or_default().to_nanos(),
    }
}
