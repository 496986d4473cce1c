//! The scenarios as the engine's plan knows them.
//!
//! Does not choose workers or time limits of requests; the command does.

use knee_core::plan::{Executor, Overflow, Scenario, Stop, Terms};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::unit::Nanos;

use super::scenario::{ExecutorSpec, ScenarioSpec, StageSpec};

impl From<&ScenarioSpec> for Scenario {
    fn from(spec: &ScenarioSpec) -> Self {
        let terms = Terms { start: spec.start_time, grace: Some(spec.graceful_stop), ..Terms::default() };
        let (executor, stop, terms) = translate(&spec.executor, terms);
        Self { name: spec.name.clone(), executor, stop, terms }
    }
}

fn translate(executor: &ExecutorSpec, terms: Terms) -> (Executor, Stop, Terms) {
    let end = Stop::At(executor.duration());
    match executor {
        ExecutorSpec::SharedIterations { vus, iterations, max_duration } => {
            let terms = Terms { max_duration: Some(*max_duration), ..terms };
            (closed(*vus), Stop::Requests(*iterations), terms)
        }
        ExecutorSpec::PerVuIterations { vus, iterations, max_duration } => {
            let turns_per_user = Some(*iterations);
            let terms = Terms { max_duration: Some(*max_duration), turns_per_user, ..terms };
            (closed(*vus), Stop::Requests(iterations.saturating_mul(u64::from(*vus))), terms)
        }
        ExecutorSpec::ConstantVus { vus, .. } => (closed(*vus), end, terms),
        ExecutorSpec::RampingVus { start_vus, stages, graceful_ramp_down } => {
            let users = curve(f64::from(*start_vus), stages, 1.0);
            (Executor::Closed { vus: users }, end, Terms { ramp_down: Some(*graceful_ramp_down), ..terms })
        }
        ExecutorSpec::ConstantArrivalRate { rate, time_unit, max_vus, .. } => {
            let rate = Curve::constant(f64::from(*rate) * per_second(*time_unit));
            (open(rate, *max_vus), end, Terms { overflow: Overflow::Drop, ..terms })
        }
        ExecutorSpec::RampingArrivalRate { start_rate, time_unit, stages, max_vus, .. } => {
            let scale = per_second(*time_unit);
            let rate = curve(f64::from(*start_rate) * scale, stages, scale);
            (open(rate, *max_vus), end, Terms { overflow: Overflow::Drop, ..terms })
        }
        ExecutorSpec::ExternallyControlled { vus, duration, .. } => {
            // Zero means "for ever" there.
            let end = if *duration == Nanos::ZERO { Nanos::MAX } else { *duration };
            (closed(*vus), Stop::At(end), terms)
        }
    }
}

const fn closed(vus: u32) -> Executor {
    Executor::Closed { vus: Curve::constant(vus as f64) }
}

const fn open(rate: Curve, users_max: u32) -> Executor {
    Executor::Open { rate, arrivals: Arrivals::Uniform, users_max }
}

/// Rate per second of one per `time_unit`.
fn per_second(time_unit: Nanos) -> f64 {
    1.0 / time_unit.as_secs_f64()
}

fn curve(start: f64, stages: &[StageSpec], scale: f64) -> Curve {
    let stage =
        |stage: &StageSpec| Stage { duration: stage.duration, target: f64::from(stage.target) * scale };
    Curve { start, stages: stages.iter().map(stage).collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::resolve::{Layers, resolve};
    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "callers write their JSON in place")]
    fn planned(form: serde_json::Value) -> Scenario {
        let layers = Layers { script: json!({"scenarios": {"a": form}}), ..Layers::default() };
        Scenario::from(&resolve(layers, |_| true).unwrap().scenarios[0])
    }

    #[test]
    fn iterations_for_each_user_are_bounded_for_each_and_in_sum() {
        let scenario =
            planned(json!({"executor": "per-vu-iterations", "vus": 3, "iterations": 4, "startTime": "2s"}));
        assert_eq!(scenario.stop, Stop::Requests(12));
        assert_eq!(scenario.terms.turns_per_user, Some(4));
        assert_eq!(scenario.terms.max_duration, Some(Nanos::from_secs(600)));
        assert_eq!(
            (scenario.terms.start, scenario.terms.grace),
            (Nanos::from_secs(2), Some(Nanos::from_secs(30)))
        );
    }

    #[test]
    fn a_rate_per_minute_becomes_one_per_second_and_drops_what_finds_no_free_vu() {
        let scenario = planned(json!({"executor": "constant-arrival-rate", "rate": 90, "timeUnit": "1m",
            "duration": "10s", "preAllocatedVUs": 2, "maxVUs": 7}));
        let Executor::Open { rate, users_max, .. } = &scenario.executor else { panic!("{scenario:?}") };
        assert!((rate.start - 1.5).abs() < 1e-12);
        assert_eq!((*users_max, scenario.terms.overflow), (7, Overflow::Drop));
        assert_eq!(scenario.stop, Stop::At(Nanos::from_secs(10)));
    }

    #[test]
    fn a_ramp_keeps_its_stages_and_how_long_users_can_finish() {
        let scenario = planned(json!({"executor": "ramping-vus", "startVUs": 2, "gracefulRampDown": "5s",
            "stages": [{"duration": "10s", "target": 8}, {"duration": "0s", "target": 1}]}));
        let Executor::Closed { vus: users } = &scenario.executor else { panic!("{scenario:?}") };
        assert_eq!((users.start, users.stages.len(), users.stages[1].target), (2.0, 2, 1.0));
        assert_eq!(scenario.terms.ramp_down, Some(Nanos::from_secs(5)));
        assert_eq!(scenario.stop, Stop::At(Nanos::from_secs(10)));
    }
}
