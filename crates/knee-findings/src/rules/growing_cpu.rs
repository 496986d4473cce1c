//! A service whose computing per response grows over the run: a list in memory to which something adds without end.
//!
//! Needs a process of the service. Responses that grow themselves are `growing_responses`.

use knee_core::observation::SourceKind;
use knee_core::record::Point;

use crate::definition::{Checked, Draft, Rule};
use crate::evidence::{Evidence, answered};
use crate::figure::{percent, seconds};
use crate::finding::{Remedy, Signal, Subject, SubjectKind, Unit};
use crate::lack::Lack;
use crate::rhythm::median;
use crate::trend::{FIGURES_MIN, Trend, trend};
use crate::watched::Watched;

pub(super) const RULE: Rule = Rule {
    code: "growing_cpu",
    finds: "a service that computes more for each response the longer it runs",
    needs: "a process of the service, and 8 whole intervals of 10 responses each",
    limits: "the CPU time per response grows by 50 % over the run, and the median response time grows by 50 %, each with a Mann-Kendall score of 2.58 (1 % by chance); the process takes 50 ms of CPU time per interval. Both, or nothing; nothing if the throughput grows or falls by 10 %",
    source: "The slope is Theil and Sen's; Mann and Kendall's test needs no distribution. Neighbours on the same core slow a process by up to a half. Linux counts CPU time in ticks of 10 ms, so that 50 ms are known to a fifth.",
    cause: "Each request, or a timer, adds to something that every request walks: routes, middleware, listeners, a cache without a limit, a list that is searched from its beginning.",
    remedy: "Find what grows with a profile or a heap dump at the beginning and at the end of the load. Replace it instead of adding to it, limit it, or search it by key.",
    explains: &["cpu_per_request"],
    check,
};

const RESPONSES_MIN: u64 = 10;
const GROWTH: f64 = 0.5;
const SCORE: f64 = 2.58;
/// Seconds of CPU time per interval.
const CPU_MIN: f64 = 0.05;
/// Change of the throughput with which requests wait for each other more, or with which the CPU time of timers and of
/// background work counts for fewer responses.
const OTHER: f64 = 0.1;

fn check(evidence: &Evidence<'_>) -> Checked {
    let processes = evidence.needed(SourceKind::Process)?;
    let mut points = evidence.steady();
    points.retain(|point| answered(point) >= RESPONSES_MIN);
    if points.len() < FIGURES_MIN {
        return Err(Lack::of(format!("{FIGURES_MIN} whole intervals of {RESPONSES_MIN} responses each")));
    }
    let paces: Vec<f64> = points.iter().filter_map(|point| point.per_second(answered(point))).collect();
    let changed = trend(&paces).filter(|trend| trend.score.abs() >= SCORE).map(|trend| trend.growth);
    if changed.is_some_and(|changed| changed.abs() >= OTHER) {
        return Ok(Vec::new());
    }
    Ok(processes.iter().filter_map(|process| growing(process, &points)).collect())
}

fn growing(process: &Watched<'_>, points: &[&Point]) -> Option<Draft> {
    let used = |point: &&Point| {
        let rise = |name: &str| process.within(name, point.from, point.to);
        Some(rise("process.cpu.user")? + rise("process.cpu.system")?)
    };
    let used = points.iter().map(used).collect::<Option<Vec<f64>>>()?;
    median(&used).filter(|median| *median >= CPU_MIN)?;
    let each: Vec<f64> = used.iter().zip(points).map(|(used, point)| used / answered(point) as f64).collect();
    let (first, last) = (median(each.get(..each.len() / 4)?)?, median(each.get(each.len() * 3 / 4..)?)?);
    let median_of = |point: &&Point| point.response.map_or(0.0, |times| times[0].as_secs_f64());
    let times: Vec<f64> = points.iter().map(median_of).collect();
    let signals = [
        Signal::at_least(
            "growth of the CPU time per response",
            Unit::Share,
            growth(&each),
            GROWTH,
            "/proc/PID/stat",
        )?,
        Signal::at_least(
            "growth of the median response time",
            Unit::Share,
            growth(&times),
            GROWTH,
            "the run: response time",
        )?,
    ];
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "{} computes longer and longer: {} per response at the beginning of the run, {} at its end (a growth of {})",
            process.source.name,
            seconds(first),
            seconds(last),
            percent(signals[0].figure)
        ),
        signals: signals.into(),
        remedy: Remedy::advice(
            "find what grows with a profile at the beginning and at the end of the load, and replace it instead of adding to it",
        ),
        gain: None,
    })
}

/// The growth of a figure, if it has a trend.
fn growth(figures: &[f64]) -> Option<f64> {
    trend(figures).filter(|trend| trend.score >= SCORE).map(|trend: Trend| trend.growth)
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::testing::Scene;

    /// 100 responses per second for 12 s; a response takes this long in this second, and the process computes for most of
    /// it.
    fn service(rate: fn(u64) -> u64, time: fn(u64) -> f64, cpu: fn(u64) -> f64) -> Scene {
        let mut scene = Scene::sized(12, rate, Curve::constant(10.0), move |sample, second, dice| {
            sample.wait = time(second) * (0.9 + 0.2 * dice.share());
        });
        let process = scene.process("shop (pid 7)");
        scene.stepped(process, "process.cpu.user", "", move |second| rate(second) as f64 * cpu(second));
        scene
    }

    const STEADY: fn(u64) -> u64 = |_| 100;
    const GROWS: fn(u64) -> f64 = |second| 0.001 * (1.0 + second as f64);

    #[test]
    fn a_list_that_every_request_walks_and_a_timer_extends_is_found() {
        let finding = service(STEADY, GROWS, GROWS).found("growing_cpu").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        assert!(
            finding.statement.starts_with("shop (pid 7) computes longer and longer: "),
            "{}",
            finding.statement
        );
    }

    #[test]
    fn a_load_that_grows_and_a_time_that_varies_are_healthy() {
        assert_eq!(service(|second| 50 + 20 * second, GROWS, GROWS).found("growing_cpu"), None);
        let varies: fn(u64) -> f64 = |second| if second % 3 == 0 { 0.003 } else { 0.001 };
        assert_eq!(service(STEADY, varies, varies).found("growing_cpu"), None);
        assert_eq!(service(STEADY, GROWS, |_| 0.001).found("growing_cpu"), None, "something else is slower");
    }
}
