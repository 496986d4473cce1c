//! A service whose computing per response grows over the run: a list in memory to which something adds without end, or
//! timers that never stop.
//!
//! Needs a process of the service. What timers compute need not slow the median response: where that does not grow, the
//! CPU time must grow in each quarter of the run, because background work that begins during the run is a single step,
//! and the bytes per response must not change, because other requests are other work. Responses that grow themselves are `growing_responses`.

use knee_core::observation::SourceKind;
use knee_core::record::Point;
use knee_core::unit::Nanos;

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
    limits: "the CPU time per response grows by 50 % over the run, with a Mann-Kendall score of 2.58 (1 % by chance); the process takes 50 ms of CPU time per interval. And likewise by 50 %: the median response time; or, if the CPU time grows from each quarter of the run to the next by a tenth of its whole growth at least, and the bytes sent and received per response do not change by 10 %, the response time at 90 %, or the times that threads of the process waited for something (voluntary context switches) per response. CPU time and one of these, or nothing; nothing if the throughput grows or falls by 10 %",
    source: "The slope is Theil and Sen's; Mann and Kendall's test needs no distribution. Neighbours on the same core slow a process by up to a half. Work that begins once grows in one quarter, and what piles up grows in each. Linux counts CPU time in ticks of 10 ms, so that 50 ms are known to a fifth.",
    cause: "Each request, or a timer, adds to something that every request walks: routes, middleware, listeners, a cache without a limit, a list that is searched from its beginning. Or each request starts a timer or a task that never ends.",
    remedy: "Find what grows with a profile or a heap dump at the beginning and at the end of the load. Replace it instead of adding to it, limit it, search it by key, or stop it at the end of the request.",
    explains: &["cpu_per_request"],
    check,
};

const RESPONSES_MIN: u64 = 10;
const GROWTH: f64 = 0.5;
const SCORE: f64 = 2.58;
/// Growth from each quarter of the run to the next, of the growth from the first to the last.
const STEP: f64 = 0.1;
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
    let computes = Signal::at_least(
        "growth of the CPU time per response",
        Unit::Share,
        growth(&each),
        GROWTH,
        "/proc/PID/stat",
    )?;
    let signals: Vec<Signal> = match slower(points, 0, "growth of the median response time") {
        Some(slower) => vec![computes, slower],
        None if !grows_steadily(&each) || asks_for_other_things(points) => return None,
        None => {
            let slower = slower(points, 1, "growth of the response time at 90 %");
            [Some(computes), slower, waits_more(process, points)].into_iter().flatten().collect()
        }
    };
    if signals.len() < 2 {
        return None;
    }
    Some(Draft {
        subject: Subject::of(SubjectKind::Process, process.name(), Some(&process.source.name)),
        statement: format!(
            "{} computes longer and longer: {} per response at the beginning of the run, {} at its end (a growth of {})",
            process.source.name,
            seconds(first),
            seconds(last),
            percent(signals[0].figure)
        ),
        signals,
        remedy: Remedy::advice(
            "find what grows with a profile at the beginning and at the end of the load, and replace it instead of adding to \
             it, or stop it at the end of the request",
        ),
        gain: None,
    })
}

/// Whether the response time at this place of [`Point::response`] grows.
fn slower(points: &[&Point], place: usize, what: &str) -> Option<Signal> {
    let time = |point: &&Point| {
        point.response.and_then(|times| times.get(place).copied()).map_or(0.0, Nanos::as_secs_f64)
    };
    let times: Vec<f64> = points.iter().map(time).collect();
    Signal::at_least(what, Unit::Share, growth(&times), GROWTH, "the run: response time")
}

/// Whether the threads of a process wait for something more often per response: what wakes them up are requests, whose
/// number does not grow, and timers.
fn waits_more(process: &Watched<'_>, points: &[&Point]) -> Option<Signal> {
    let waits = |point: &&Point| {
        let rise = process.within("process.switches.voluntary", point.from, point.to)?;
        Some(rise / answered(point) as f64)
    };
    let waits = points.iter().map(waits).collect::<Option<Vec<f64>>>()?;
    Signal::at_least(
        "growth of the voluntary context switches per response",
        Unit::Share,
        growth(&waits),
        GROWTH,
        "/proc/PID/status",
    )
}

/// Whether the bytes per response grow or shrink, because the load asks for other things than at its beginning.
fn asks_for_other_things(points: &[&Point]) -> bool {
    let changes = |bytes: fn(&Point) -> u64| {
        let each = points.iter().map(|point| bytes(point) as f64 / answered(point) as f64);
        let trend = trend(&each.collect::<Vec<f64>>()).filter(|trend| trend.score.abs() >= SCORE);
        trend.is_some_and(|trend| trend.growth.abs() >= OTHER)
    };
    changes(|point| point.bytes_received) || changes(|point| point.bytes_sent)
}

/// Whether figures grow from each quarter to the next, and not in one step.
fn grows_steadily(figures: &[f64]) -> bool {
    let edge = |quarter: usize| figures.len() * quarter / 4;
    let of_quarter = |quarter: usize| median(figures.get(edge(quarter)..edge(quarter + 1))?);
    let Some(medians) = (0..4).map(of_quarter).collect::<Option<Vec<f64>>>() else { return false };
    let whole = medians[3] - medians[0];
    whole > 0.0 && medians.windows(2).all(|pair| pair[1] - pair[0] >= STEP * whole)
}

/// The growth of a figure, if it has a trend.
fn growth(figures: &[f64]) -> Option<f64> {
    trend(figures).filter(|trend| trend.score >= SCORE).map(|trend: Trend| trend.growth)
}

#[cfg(test)]
mod tests {
    use knee_core::schedule::Curve;

    use crate::testing::Scene;

    /// 100 responses per second for 12 s; a response takes this long in this second, and the process computes for most
    /// of it.
    fn service(rate: fn(u64) -> u64, time: fn(u64) -> f64, cpu: fn(u64) -> f64) -> Scene {
        let mut scene = Scene::sized(12, rate, Curve::constant(10.0), move |sample, second, dice| {
            sample.wait = time(second) * (0.9 + 0.2 * dice.share());
        });
        let process = scene.process("shop (pid 7)");
        scene.stepped(process, "process.cpu.user", "", move |second| rate(second) as f64 * cpu(second));
        scene
    }

    /// 100 responses per second of about 2 ms, for which a process computes and waits this often in this second.
    fn beside(cpu: fn(u64) -> f64, waits: fn(u64) -> f64) -> Scene {
        let mut scene = service(STEADY, |_| 0.002, cpu);
        scene.stepped(0, "process.switches.voluntary", "", move |second| 100.0 * waits(second));
        scene
    }

    const STEADY: fn(u64) -> u64 = |_| 100;
    const BEGINS: fn(u64) -> f64 = |second| {
        let work = if second < 6 { 0.001 } else { 0.004 };
        work + 0.000_01 * second as f64
    };
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
    fn timers_that_pile_up_are_found_although_the_median_response_does_not_wait_for_them() {
        let finding = beside(GROWS, |second| 4.0 + second as f64).found("growing_cpu").unwrap();
        assert_eq!(finding.evidence.len(), 2);
        let what = &finding.evidence[1].what;
        assert_eq!(what, "growth of the voluntary context switches per response");
    }

    #[test]
    fn responses_of_which_the_slow_ones_wait_longer_and_longer_are_found_beside_growing_cpu_time() {
        let mut scene = Scene::sized(12, STEADY, Curve::constant(10.0), |sample, second, dice| {
            let is_slow = dice.share() < 0.3;
            sample.wait = if is_slow { 0.004 * (1.0 + second as f64) } else { 0.002 };
        });
        let process = scene.process("shop (pid 7)");
        scene.stepped(process, "process.cpu.user", "", |second| 100.0 * GROWS(second));
        let finding = scene.found("growing_cpu").unwrap();
        assert_eq!(finding.evidence[1].what, "growth of the response time at 90 %");
    }

    #[test]
    fn background_work_that_begins_during_the_run_is_healthy_and_so_is_growth_of_cpu_time_alone() {
        assert_eq!(beside(BEGINS, |second| 1_000.0 * BEGINS(second)).found("growing_cpu"), None);
        assert_eq!(beside(GROWS, |_| 4.0).found("growing_cpu"), None, "one figure is not enough");
        let mut other = beside(GROWS, |second| 4.0 + second as f64);
        for (second, point) in (0..).zip(&mut other.run.series) {
            point.bytes_received += 20_000 * second;
        }
        assert_eq!(other.found("growing_cpu"), None, "the load asks for more and more");
    }

    #[test]
    fn a_load_that_grows_and_a_time_that_varies_are_healthy() {
        assert_eq!(service(|second| 50 + 20 * second, GROWS, GROWS).found("growing_cpu"), None);
        let varies: fn(u64) -> f64 = |second| if second % 3 == 0 { 0.003 } else { 0.001 };
        assert_eq!(service(STEADY, varies, varies).found("growing_cpu"), None);
        assert_eq!(service(STEADY, GROWS, |_| 0.001).found("growing_cpu"), None, "something else is slower");
    }
}
