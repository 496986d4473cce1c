//! What to do after a sweep, in words: the end of every report.
//!
//! Does not judge.

use knee_core::unit::Nanos;
use knee_study::sweep::conclusion::{Facts, LevelEstimate, Recovery};
use knee_study::sweep::course::Ended;
use knee_study::sweep::{LoadKind, Report, search};

use super::cpu::cpus;
use crate::clean;
use crate::number::level;

/// That service and load generator share CPUs, and what gives each its own: a sweep does not start the service, so it
/// cannot divide them. `None` if they share none, or if that is unknown.
pub fn sharing(facts: Facts, co_located: Option<bool>) -> Option<String> {
    facts.shared_cpus.filter(|count| *count > 0 && co_located != Some(false)).map(apart)
}

/// What gives service and load generator, which share so many CPUs, CPUs of their own.
fn apart(count: usize) -> String {
    let service = match count {
        ..=1 => {
            return "service and load generator share 1 CPU. Run knee on another machine, or on a CPU of its own"
                .to_owned();
        }
        2 => "1".to_owned(),
        _ => format!("1-{}", count - 1),
    };
    format!(
        "service and load generator share {}. Give each its own: `taskset -c 0 knee sweep ...`, and start the service \
         with `taskset -c {service} ...`",
        cpus(count)
    )
}

/// What makes more steps usable, if a late generator made some void.
pub fn advice(report: &Report, co_located: Option<bool>) -> Option<String> {
    let least = Nanos::from_secs_f64(report.resolution?);
    let here = co_located != Some(false);
    let remedy = match report.shared_cpus {
        Some(count @ 1..) if here => apart(count),
        _ => "the load generator had too little CPU time. Stop other programs on its machine".to_owned(),
    };
    Some(format!("Failures with response times below {least} cannot be judged: {remedy}."))
}

/// Whether connections no longer bring goodput.
fn no_more(report: &Report) -> bool {
    report.config.kind == LoadKind::Connections && report.saturation.is_some_and(|found| found.reached)
}

/// The next steps; never empty. `again` is the command that loads the target once, and whether it also needs options that
/// the sweep had.
pub fn steps(report: &Report, co_located: Option<bool>, again: (Option<&str>, bool)) -> Vec<String> {
    let mut next: Vec<String> = advice(report, co_located).into_iter().collect();
    let raise = if report.config.kind == LoadKind::Connections { "--connections" } else { "--to" };
    match &report.capacity {
        LevelEstimate::Between { confirmed: false, .. } => {
            next.push("Confirm the capacity: leave out `--max-time`, or use a longer `--step`.".to_owned());
        }
        LevelEstimate::Between { interval, .. } => next.push(hold(report, interval.low, again)),
        LevelEstimate::AtLeast(_) if no_more(report) => {
            let most = report.saturation.map_or(0.0, |found| found.rate);
            next.push(format!(
                "More connections bring no more than {} requests/s, only longer response times. For a capacity, say which are \
                 acceptable: `--slo 'p95<100ms'`.",
                level(most)
            ));
        }
        LevelEstimate::AtLeast(_) if report.ended == Ended::Complete => {
            next.push(format!("To find the limit, allow more load with `{raise}`."));
        }
        LevelEstimate::Below(low) => next.push(format!(
            "No level passed. Begin below {} with `--from`, or allow more with `--slo` and `--errors`.",
            level(*low)
        )),
        LevelEstimate::Refused { why, .. } if next.is_empty() => {
            next.push(format!(
                "Remove the limit of the load generator ({}), then sweep again.",
                why.join("; ")
            ));
        }
        _ if next.is_empty() => next.push("Run the sweep to its end for a capacity.".to_owned()),
        _ => {}
    }
    if matches!(report.recovery, Recovery::Changed { .. }) && !report.config.resets {
        next.push(
            "To tell an overload's harm from growing data, reset the service: `--reset COMMAND`.".to_owned(),
        );
    }
    if report.cpu.as_ref().is_some_and(|used| used.bound.is_none()) {
        next.push("To see whether its CPUs limit the service, name its process with `--pid PID`.".to_owned());
    }
    next
}

/// A longer run at a load that leaves headroom.
fn hold(report: &Report, low: f64, (again, with_options): (Option<&str>, bool)) -> String {
    let kind = report.config.kind;
    let knee = report.knee.as_ref().filter(|knee| !knee.at_the_end && !knee.at_the_start);
    let knee = knee.map(|knee| knee.level).filter(|level| *level <= low);
    let at = search::round(kind, knee.unwrap_or(low * 0.8));
    let from = if knee.is_some() { "the knee" } else { "80 % of the capacity" };
    let what = format!("Check a load with headroom for longer, {} {}, {from}", level(at), report.unit());
    let flag = if kind == LoadKind::Connections { "-c" } else { "-q" };
    let Some(again) = again else { return format!("{what}.") };
    let options = if with_options { " with the same options" } else { "" };
    format!("{what}: `{} {flag} {} -z 5m`{options}.", clean::line(again), level(at).replace(',', ""))
}
