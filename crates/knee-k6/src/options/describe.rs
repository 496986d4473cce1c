//! What k6 says before a run: how many scenarios and VUs, how long, and each executor in a line.
//!
//! Does not print.

use std::fmt::Write as _;

use knee_core::unit::Nanos;

use super::scenario::{ExecutorSpec, ScenarioSpec, StageSpec};
use crate::duration::SignedDuration;

/// `1 scenario, 3 max VUs, 10m30s max duration (incl. graceful stop)`.
pub fn headline(scenarios: &[ScenarioSpec]) -> String {
    let plural = if scenarios.len() == 1 { "" } else { "s" };
    format!(
        "{} scenario{plural}, {} max VUs, {} max duration (incl. graceful stop)",
        scenarios.len(),
        max_vus(scenarios),
        span(max_duration(scenarios))
    )
}

/// One line per scenario, in the order in which they start, then by name:
/// `default: 3 looping VUs for 10s (gracefulStop: 30s)`.
pub fn lines(scenarios: &[ScenarioSpec]) -> Vec<String> {
    let mut sorted: Vec<&ScenarioSpec> = scenarios.iter().collect();
    sorted.sort_by(|a, b| (a.start_time, &a.name).cmp(&(b.start_time, &b.name)));
    sorted.into_iter().map(|scenario| format!("{}: {}", scenario.name, describe(scenario))).collect()
}

/// Latest end of all scenarios.
pub fn max_duration(scenarios: &[ScenarioSpec]) -> Nanos {
    scenarios.iter().map(ScenarioSpec::end).max().unwrap_or(Nanos::ZERO)
}

/// The most VUs that are needed at any one time.
pub fn max_vus(scenarios: &[ScenarioSpec]) -> u64 {
    let moments = scenarios.iter().flat_map(moments);
    let needed = |at| scenarios.iter().map(|scenario| u64::from(needed(scenario, at))).sum();
    moments.map(needed).max().unwrap_or(0)
}

/// The times at which the need of a scenario can change its direction.
fn moments(scenario: &ScenarioSpec) -> Vec<Nanos> {
    let mut moments = vec![scenario.start_time, Nanos(scenario.end().0.saturating_sub(1))];
    if let ExecutorSpec::RampingVus { stages, .. } = &scenario.executor {
        let mut at = scenario.start_time;
        for stage in stages {
            at = at.saturating_add(stage.duration);
            moments.push(at);
        }
    }
    moments
}

/// VUs that a scenario needs at `at`, including those that are still allowed to finish.
fn needed(scenario: &ScenarioSpec, at: Nanos) -> u32 {
    if at < scenario.start_time || at >= scenario.end() {
        return 0;
    }
    let ExecutorSpec::RampingVus { start_vus, stages, graceful_ramp_down } = &scenario.executor else {
        return scenario.executor.max_vus();
    };
    let inside = at.since(scenario.start_time);
    let until = inside.0.saturating_sub(graceful_ramp_down.0);
    let mut peak = level(*start_vus, stages, inside).max(level(*start_vus, stages, Nanos(until)));
    let mut border = Nanos::ZERO;
    for stage in stages {
        border = border.saturating_add(stage.duration);
        if (Nanos(until)..=inside).contains(&border) {
            peak = peak.max(stage.target);
        }
    }
    peak
}

/// VUs of a ramp at a time since its start.
fn level(start: u32, stages: &[StageSpec], at: Nanos) -> u32 {
    let (mut from, mut begin) = (start, Nanos::ZERO);
    for stage in stages {
        let end = begin.saturating_add(stage.duration);
        if at < end {
            let share = at.since(begin).0 as f64 / stage.duration.0 as f64;
            return (f64::from(from) + (f64::from(stage.target) - f64::from(from)) * share).round() as u32;
        }
        (from, begin) = (stage.target, end);
    }
    from
}

fn span(nanos: Nanos) -> SignedDuration {
    SignedDuration(i64::try_from(nanos.0).unwrap_or(i64::MAX))
}

fn describe(scenario: &ScenarioSpec) -> String {
    let executor = &scenario.executor;
    let duration = span(executor.duration());
    match executor {
        ExecutorSpec::SharedIterations { vus, iterations, .. } => {
            let first = format!("maxDuration: {duration}");
            format!("{iterations} iterations shared among {vus} VUs{}", details(scenario, &[first]))
        }
        ExecutorSpec::PerVuIterations { vus, iterations, .. } => {
            let first = format!("maxDuration: {duration}");
            format!("{iterations} iterations for each of {vus} VUs{}", details(scenario, &[first]))
        }
        ExecutorSpec::ConstantVus { vus, .. } => {
            format!("{vus} looping VUs for {duration}{}", details(scenario, &[]))
        }
        ExecutorSpec::RampingVus { stages, graceful_ramp_down, .. } => {
            let first = format!("gracefulRampDown: {}", span(*graceful_ramp_down));
            let (peak, count) = (executor.max_vus(), stages.len());
            format!(
                "Up to {peak} looping VUs for {duration} over {count} stages{}",
                details(scenario, &[first])
            )
        }
        ExecutorSpec::ConstantArrivalRate { rate, time_unit, pre_allocated_vus, max_vus, .. } => {
            let pace = per_second(*rate, *time_unit);
            let first = vus_range(*pre_allocated_vus, *max_vus);
            format!("{pace} iterations/s for {duration}{}", details(scenario, &[first]))
        }
        ExecutorSpec::RampingArrivalRate { start_rate, time_unit, stages, pre_allocated_vus, max_vus } => {
            let peak = stages.iter().fold(*start_rate, |peak, stage| peak.max(stage.target));
            let pace = per_second(peak, *time_unit);
            let first = vus_range(*pre_allocated_vus, *max_vus);
            let count = stages.len();
            format!(
                "Up to {pace} iterations/s for {duration} over {count} stages{}",
                details(scenario, &[first])
            )
        }
        ExecutorSpec::ExternallyControlled { vus, max_vus, .. } => {
            format!("Externally controlled execution with {vus} VUs, {max_vus} max VUs, {duration} duration")
        }
    }
}

fn per_second(rate: u32, time_unit: Nanos) -> String {
    format!("{:.2}", f64::from(rate) / time_unit.as_secs_f64())
}

fn vus_range(pre_allocated: u32, max: u32) -> String {
    if pre_allocated == max { format!("maxVUs: {max}") } else { format!("maxVUs: {pre_allocated}-{max}") }
}

/// The details in brackets after the description of an executor.
fn details(scenario: &ScenarioSpec, first: &[String]) -> String {
    let mut text = String::from(" (");
    for detail in first {
        let _ = write!(text, "{detail}, ");
    }
    if scenario.exec != "default" {
        let _ = write!(text, "exec: {}, ", scenario.exec);
    }
    if scenario.start_time > Nanos::ZERO {
        let _ = write!(text, "startTime: {}, ", span(scenario.start_time));
    }
    let _ = write!(text, "gracefulStop: {})", span(scenario.graceful_stop));
    text
}
