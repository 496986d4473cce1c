//! What to do after a sweep, in words: the end of every report.
//!
//! Does not judge.

use knee_core::fixture::division::{self, Division, Shared};
use knee_core::unit::Nanos;
use knee_study::sweep::conclusion::{Facts, LevelEstimate, Recovery};
use knee_study::sweep::course::Ended;
use knee_study::sweep::{LoadKind, Report, search};

use super::cpu::cpus;
use crate::clean;
use crate::number::level;

/// Where service and load generator run.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Whether the service runs on this machine; `None` if unknown.
    pub co_located: Option<bool>,
    /// The CPUs that both can use; empty if unknown.
    pub cpus: &'a [usize],
    /// How they were divided; `None` if the service was not started for the sweep.
    pub division: Option<&'a Division>,
}

/// That service and load generator share CPUs, and what gives each its own: a sweep divides them only if it starts the
/// service. `None` if they share none, or if that is unknown.
pub fn sharing(facts: Facts, place: Place<'_>) -> Option<String> {
    let count = facts.shared_cpus.filter(|count| *count > 0 && place.co_located != Some(false))?;
    Some(apart(count, place))
}

/// What gives service and load generator, which share so many CPUs, CPUs of their own: of those that both can use,
/// because the first CPU of the machine can be out of reach.
fn apart(count: usize, place: Place<'_>) -> String {
    match (place.division.and_then(|division| division.shared), place.cpus) {
        _ if count <= 1 => {
            "service and load generator share 1 CPU. Run knee on another machine, or on a CPU of its own"
                .to_owned()
        }
        (Some(Shared::Asked), _) => format!(
            "service and load generator share {}, as asked for. Give each its own: leave out `--share-cpus`, and \
             `share_cpus` in study.toml",
            cpus(count)
        ),
        (Some(Shared::Declared), _) => format!(
            "service and load generator share {}. Give each its own: change `cpus` in study.toml",
            cpus(count)
        ),
        (_, [first, rest @ ..]) if !rest.is_empty() => format!(
            "service and load generator share {}. Give each its own: `taskset -c {first} knee sweep ...`, and start \
             the service with `taskset -c {} ...`",
            cpus(count),
            division::list(rest)
        ),
        _ => format!("service and load generator share {}. Give each its own with `taskset`", cpus(count)),
    }
}

/// What makes more steps usable, if a late generator made some void.
pub fn advice(report: &Report, place: Place<'_>) -> Option<String> {
    let least = Nanos::from_secs_f64(report.resolution?);
    let here = place.co_located != Some(false);
    let remedy = match report.shared_cpus {
        Some(count @ 1..) if here => apart(count, place),
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
pub fn steps(report: &Report, place: Place<'_>, again: (Option<&str>, bool)) -> Vec<String> {
    let mut next: Vec<String> = advice(report, place).into_iter().collect();
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
        // The flags are refused beside a study.
        let how = place.division.map_or("`--reset COMMAND`", |_| "declare its `reset` in study.toml");
        next.push(format!("To tell an overload's harm from growing data, reset the service: {how}."));
    }
    if place.division.is_none() && report.cpu.as_ref().is_some_and(|used| used.bound.is_none()) {
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
