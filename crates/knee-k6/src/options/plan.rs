//! The scenarios as the engine's plan knows them.
//!
//! Does not choose workers or time limits of requests; the command does.

use knee_core::plan::{Executor, Overflow, Scenario, Stop, Terms};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::unit::Nanos;

use super::resolved::Options;
use super::scenario::{ExecutorSpec, ScenarioSpec, StageSpec};

impl Options {
    /// The scenarios as this machine does them.
    pub fn planned(&self) -> Vec<Scenario> {
        let shared = |scenario: Scenario| match &self.share {
            Some(share) => scenario.shared(share),
            None => scenario,
        };
        self.scenarios.iter().map(|spec| shared(spec.into())).collect()
    }
}

impl From<&ScenarioSpec> for Scenario {
    fn from(spec: &ScenarioSpec) -> Self {
        let terms = Terms { start: spec.start_time, grace: Some(spec.graceful_stop), ..Terms::default() };
        let (executor, stop, terms) = translate(&spec.executor, terms);
        Self { name: spec.name.clone(), executor, stop, terms, part: None }
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
        ExecutorSpec::ConstantArrivalRate { rate, time_unit, duration, pre_allocated_vus, max_vus } => {
            let arrivals =
                Arrivals::Numbered { first: 0, count: constant_count(*rate, *time_unit, *duration) };
            let rate = Curve::constant(f64::from(*rate) * per_second(*time_unit));
            let executor = Executor::Open { rate, arrivals, users_max: *max_vus };
            (executor, end, dropping(*pre_allocated_vus, terms))
        }
        ExecutorSpec::RampingArrivalRate { start_rate, time_unit, stages, pre_allocated_vus, max_vus } => {
            let scale = per_second(*time_unit);
            let rate = curve(f64::from(*start_rate) * scale, stages, scale);
            let arrivals =
                Arrivals::Numbered { first: 1, count: ramping_count(*start_rate, *time_unit, stages) };
            let executor = Executor::Open { rate, arrivals, users_max: *max_vus };
            (executor, end, dropping(*pre_allocated_vus, terms))
        }
        ExecutorSpec::ExternallyControlled { vus, duration, .. } => {
            // Zero means "for ever" there.
            let end = if *duration == Nanos::ZERO { Nanos::MAX } else { *duration };
            (closed(*vus), Stop::At(end), terms)
        }
    }
}

/// Arrivals that find no VU are dropped; `first` VUs exist when the scenario begins.
const fn dropping(first: u32, terms: Terms) -> Terms {
    Terms { overflow: Overflow::Drop, users_made_first: Some(first), ..terms }
}

const fn closed(vus: u32) -> Executor {
    Executor::Closed { vus: Curve::constant(vus as f64) }
}

/// Arrivals of a constant rate: one at the start and one after each gap, the end included. The gap is a whole number of
/// nanoseconds, as in k6.
fn constant_count(rate: u32, time_unit: Nanos, duration: Nanos) -> u64 {
    match time_unit.0.checked_div(u64::from(rate)) {
        None => 0,
        Some(gap) => duration.0 / gap.max(1) + 1,
    }
}

/// Arrivals of a ramping rate: one whenever the area under the rate reaches a whole number. The sum is computed like
/// k6's, term by term and in nanoseconds, because its rounding decides whether there is an arrival at the very end.
fn ramping_count(start_rate: u32, time_unit: Nanos, stages: &[StageSpec]) -> u64 {
    let unit = time_unit.0 as f64;
    let per_nano = |rate: u32| f64::from(rate) / unit;
    let mut from = per_nano(start_rate);
    let mut area = 0.0;
    for stage in stages {
        let (to, span) = (per_nano(stage.target), stage.duration.0 as f64);
        area += if (from - to).abs() > 0.0 { span * ((to - from) / 2.0 + from) } else { span * to };
        from = to;
    }
    area as u64
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
        assert_eq!(scenario.terms.users_made_first, Some(2));
        assert_eq!(scenario.stop, Stop::At(Nanos::from_secs(10)));
    }

    fn arrivals(form: serde_json::Value) -> Arrivals {
        match planned(form).executor {
            Executor::Open { arrivals, .. } => arrivals,
            closed @ Executor::Closed { .. } => panic!("{closed:?}"),
        }
    }

    #[test]
    fn a_constant_rate_has_one_arrival_at_the_start_and_one_at_the_end() {
        for (rate, time_unit, duration, count) in
            [(5, "1s", "2s", 11), (3, "1s", "2s", 7), (90, "1m", "10s", 16), (4, "1s", "1900ms", 8)]
        {
            let form = json!({"executor": "constant-arrival-rate", "rate": rate, "timeUnit": time_unit,
                "duration": duration, "preAllocatedVUs": 2});
            assert_eq!(arrivals(form), Arrivals::Numbered { first: 0, count }, "{rate} per {time_unit}");
        }
    }

    #[test]
    fn a_ramping_rate_has_an_arrival_wherever_the_area_under_it_is_whole() {
        let ramp = |start: u32, stages: serde_json::Value| {
            arrivals(json!({"executor": "ramping-arrival-rate", "startRate": start, "stages": stages,
                "preAllocatedVUs": 2}))
        };
        let flat = ramp(4, json!([{"duration": "1900ms", "target": 4}]));
        assert_eq!(flat, Arrivals::Numbered { first: 1, count: 7 });
        let up_and_down = ramp(0, json!([{"duration": "2s", "target": 8}, {"duration": "2s", "target": 0}]));
        assert_eq!(up_and_down, Arrivals::Numbered { first: 1, count: 16 });
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
