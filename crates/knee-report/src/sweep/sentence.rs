//! The findings of a sweep, in words.
//!
//! Does not lay anything out.

use knee_core::estimate::samples_needed;
use knee_core::unit::Nanos;
use knee_study::sweep::bound::Queue;
use knee_study::sweep::conclusion::{LevelEstimate, Recovery, Saturation};
use knee_study::sweep::cost::Worth;
use knee_study::sweep::course::Ended;
use knee_study::sweep::knee::{Basis, Knee};
use knee_study::sweep::rule::{ACHIEVED_MIN, Judged, Miss, Outcome};
use knee_study::sweep::shedding::Shedding;
use knee_study::sweep::slo::Statistic;
use knee_study::sweep::tried::Tried;
use knee_study::sweep::usl::{Law, Unfit};
use knee_study::sweep::{FinishedStep, LevelRange, LoadKind, Purpose, Report};

use super::{cpu, resource};
use crate::number::{self, level};

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Its name.
    pub name: &'static str,
    /// Its value with its unit.
    pub value: String,
    /// A caveat or an explanation; empty if there is none.
    pub remark: String,
}

/// A group of sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What they are about.
    pub heading: &'static str,
    /// A sentence each.
    pub sentences: Vec<String>,
}

/// The settings of the sweep.
pub fn terms(report: &Report) -> Vec<String> {
    let config = &report.config;
    let load = match config.kind {
        LoadKind::Connections => "closed: each connection waits for its response".to_owned(),
        _ => format!("open: Poisson arrivals, seed {}", config.seed),
    };
    let spent: f64 = report.trials.iter().map(|trial| trial.result.took).sum();
    let ended = match report.ended {
        Ended::Complete => None,
        Ended::Interrupted => Some("interrupted".to_owned()),
        Ended::OutOfTime => Some("out of time".to_owned()),
        Ended::Early => Some("not finished".to_owned()),
        Ended::GeneratorLimit => Some("ended early, the load generator was the limit".to_owned()),
    };
    let mut terms = vec![
        load,
        format!("{} per step", seconds(config.seconds)),
        format!("{} in {}", number::counted(report.trials.len() as u64, "step"), seconds(spent)),
    ];
    terms.extend(ended);
    terms
}

/// A span in a fitting unit.
fn seconds(seconds: f64) -> String {
    Nanos::from_secs_f64(seconds).to_string()
}

/// The pass criteria, in words.
fn rules(report: &Report) -> String {
    let mut rules: Vec<String> = report.config.slos.iter().map(ToString::to_string).collect();
    rules.push(format!("errors ≤ {}", number::percent(report.config.errors_max)));
    rules.join(" and ")
}

/// The result in one to three sentences.
pub fn headline(report: &Report) -> String {
    let mut sentences = vec![capacity(report)];
    sentences.extend(failed_below(report));
    sentences.extend(report.shedding.as_ref().map(|found| sheds(found, report)));
    sentences.join(" ")
}

/// That levels below the capacity failed too; `None` if none did.
fn failed_below(report: &Report) -> Option<String> {
    let below = report.failed_below();
    let (highest, failed) = (below.last()?, below.iter().map(|tried| tried.failed.len()).sum::<usize>());
    let steps = number::counted(below.iter().map(Tried::steps).sum::<usize>() as u64, "step");
    let reason = why(&highest.failed.last()?.judged);
    let unit = report.unit();
    Some(match below.as_slice() {
        [only] => format!(
            "Not always: at {} {unit}, below it, {failed} of {steps} failed ({reason}).",
            level(only.level)
        ),
        _ => format!(
            "Not always: at {} levels below it, from {} to {} {unit}, {failed} of {steps} failed ({reason}).",
            below.len(),
            level(below[0].level),
            level(highest.level)
        ),
    })
}

/// What a service that sheds load does beyond its capacity.
fn sheds(found: &Shedding, report: &Report) -> String {
    let beyond = match &report.capacity {
        LevelEstimate::Between { interval, .. } => format!("{} {}", level(interval.low), report.unit()),
        _ => "its capacity".to_owned(),
    };
    format!(
        "The service sheds load beyond {beyond}: at {} {} it rejects {} and keeps serving {} {}.",
        level(found.at),
        report.unit(),
        number::percent(found.rejected),
        level(found.keeps),
        rate_unit(report),
    )
}

/// The unit of throughput.
const fn rate_unit(report: &Report) -> &'static str {
    if matches!(report.config.kind, LoadKind::Iterations) { "iterations/s" } else { "requests/s" }
}

fn capacity(report: &Report) -> String {
    let unit = report.unit();
    let rules = rules(report);
    match &report.capacity {
        LevelEstimate::Between { interval: LevelRange { low, high }, .. } => {
            let (low, high) = (level(*low), level(*high));
            let why = upper_why(report);
            format!("Capacity: {low} {unit} with {rules}. {high} fails{why}.")
        }
        LevelEstimate::AtLeast(low) => {
            let none = if report.failed_below().is_empty() { " No level failed." } else { "" };
            format!("Capacity: at least {} {unit} with {rules}.{none}", level(*low))
        }
        LevelEstimate::Below(high) => {
            format!("Every level failed, down to {} {unit}{}.", level(*high), upper_why(report))
        }
        LevelEstimate::Refused { at_least, .. } => {
            let known =
                at_least.map_or("no level passed".to_owned(), |low| format!("{} {unit} passed", level(low)));
            let full = report.cpu.as_ref().and_then(cpu::full).unwrap_or_default();
            format!("Capacity unknown: the load generator might be the limit; {known}.{full}")
        }
        LevelEstimate::Unknown => "Capacity unknown: no usable step.".to_owned(),
    }
}

/// Why the upper end of the capacity failed.
fn upper_why(report: &Report) -> String {
    let high = match &report.capacity {
        LevelEstimate::Between { interval, .. } => interval.high,
        LevelEstimate::Below(high) => *high,
        _ => return String::new(),
    };
    let at = |trial: &&FinishedStep| {
        (trial.step.load.level() - high).abs() <= 1e-9 * high && trial.judged.outcome == Outcome::Fail
    };
    let why = report.ladder().find(at).map(|trial| why(&trial.judged)).unwrap_or_default();
    if why.is_empty() { why } else { format!(": {why}") }
}

/// Why a step did not pass, in a few words.
pub fn why(judged: &Judged) -> String {
    if judged.outcome == Outcome::Void {
        return judged.void.join("; ");
    }
    let mut words: Vec<String> = judged.misses.iter().map(miss).collect();
    if words.is_empty()
        && let Some(broken) = judged.broken
    {
        words.push(broken.words().to_owned());
    }
    words.join(", ")
}

/// The first reason why a step did not pass, for a narrow column.
pub fn brief(judged: &Judged) -> String {
    match judged.misses.first() {
        _ if judged.outcome == Outcome::Void => "generator".to_owned(),
        Some(Miss::Achieved { share }) => {
            // In whole per cent, unless the limit itself would be shown.
            let whole = format!("{:.0} %", share * 100.0);
            let limit = format!("{:.0} %", ACHIEVED_MIN * 100.0);
            let share = if whole == limit { number::percent_apart(*share, ACHIEVED_MIN) } else { whole };
            format!("{share} answered")
        }
        Some(Miss::Backlog { per_second }) => format!("backlog +{}/s", level(*per_second)),
        Some(other) => miss(other),
        None if judged.broken.is_some() => "collapse".to_owned(),
        None => String::new(),
    }
}

fn miss(miss: &Miss) -> String {
    match miss {
        Miss::Achieved { share } => {
            format!("{} answered in time", number::percent_apart(*share, ACHIEVED_MIN))
        }
        Miss::Errors { share, max } => format!("{} failed", number::percent_apart(*share, *max)),
        // A percentile that no report shows is no reason: what was counted is.
        Miss::Slo { slo, held } if !held.enough => {
            let (over, n) = (number::count(held.over), number::count(held.n));
            format!("{over} of {n} over {}", slo.limit)
        }
        Miss::Slo { slo, held } => {
            let limit = slo.limit.0 as f64;
            format!("{} {}", slo.measured(), number::time_apart(held.seconds * 1e9, limit))
        }
        Miss::NoEvents => "no events".to_owned(),
        Miss::Backlog { per_second } => format!("backlog grows by {}/s", level(*per_second)),
        Miss::Silence => "no response".to_owned(),
    }
}

/// The findings, one per line.
pub fn findings(report: &Report) -> Vec<Finding> {
    let mut findings = vec![Finding {
        name: "capacity",
        value: named(&report.capacity, report.unit()),
        remark: capacity_remark(report),
    }];
    findings.extend(report.saturation.map(|found| saturation(&found, report)));
    findings.extend(match &report.knee {
        Some(found) => Some(knee(found, report)),
        None if report.shedding.is_some() => None,
        None => Some(Finding { name: "knee", value: "–".to_owned(), remark: "too few levels".to_owned() }),
    });
    let manner = report.broken.map_or("", |broken| broken.words());
    findings.push(Finding {
        name: "breaking point",
        value: named(&report.breaking, report.unit()),
        remark: manner.to_owned(),
    });
    findings.extend(report.shedding.as_ref().map(|found| shedding(found, report)));
    findings.extend(recovery(report));
    findings
}

fn named(named: &LevelEstimate, unit: &str) -> String {
    match named {
        LevelEstimate::Between { interval, .. } => {
            format!("{} to {} {unit}", level(interval.low), level(interval.high))
        }
        LevelEstimate::AtLeast(low) => format!("at least {} {unit}", level(*low)),
        LevelEstimate::Below(high) => format!("below {} {unit}", level(*high)),
        LevelEstimate::Refused { at_least: Some(low), .. } => {
            format!("unknown; {} {unit} passed", level(*low))
        }
        LevelEstimate::Refused { at_least: None, .. } => "unknown".to_owned(),
        LevelEstimate::Unknown => "–".to_owned(),
    }
}

fn capacity_remark(report: &Report) -> String {
    match &report.capacity {
        LevelEstimate::Between { interval, confirmed } => {
            let (low, high) = (report.tried(interval.low), report.tried(interval.high));
            let tried = format!(
                "low end: {} of {} passed; high end: {} of {} failed",
                low.passed,
                low.steps(),
                high.failed.len(),
                high.steps()
            );
            if *confirmed { tried } else { format!("{tried}; not confirmed") }
        }
        LevelEstimate::Refused { why, .. } => why.join("; "),
        _ => String::new(),
    }
}

fn saturation(found: &Saturation, report: &Report) -> Finding {
    let unit = rate_unit(report);
    let LevelRange { low, high } = found.interval;
    let (value, remark) = if !found.reached {
        (format!("at least {} {unit}", level(found.rate)), not_reached(report))
    } else if high > low {
        (format!("{} to {} {unit}", level(low), level(high)), "highest sustained goodput, 95 % CI".to_owned())
    } else {
        (format!("{} {unit}", level(found.rate)), "highest goodput; one step, no interval".to_owned())
    };
    Finding { name: "saturation", value, remark }
}

/// Why the saturation is only bounded: nothing was overloaded, or only steps below levels that held.
fn not_reached(report: &Report) -> String {
    match report.overloaded().as_slice() {
        [] => "no step was overloaded".to_owned(),
        [only] => format!(
            "only step {} at {} {} fell behind, and more was served in others",
            only.step.number,
            level(only.step.load.level()),
            report.unit()
        ),
        more => format!("{} steps fell behind, and more was served in others", more.len()),
    }
}

fn knee(found: &Knee, report: &Report) -> Finding {
    let LevelRange { low, high } = found.interval;
    let remark = if found.at_the_end {
        "at the highest level tried; the true knee can be higher".to_owned()
    } else if found.at_the_start {
        "at the lowest level tried; the true knee can be lower".to_owned()
    } else {
        let basis = match found.basis {
            Basis::Ladder => "between two tested levels, each tried once".to_owned(),
            Basis::Grid => format!("between two tested levels; {}", repeated(found, report)),
            Basis::Repeats => format!("95 % CI; {}", repeated(found, report)),
        };
        format!("{basis}; above it, waiting grows faster than throughput; Kneedle: {}", level(found.kneedle))
    };
    let value = format!("{} to {} {}", level(low), level(high), report.unit());
    Finding { name: "knee", value, remark }
}

/// Which levels were tried how often for the knee.
fn repeated(found: &Knee, report: &Report) -> String {
    let repeats = || report.trials.iter().filter(|trial| trial.step.purpose == Purpose::Repeat);
    let mut levels: Vec<f64> = repeats().map(|trial| trial.step.load.level()).collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let count = levels.len();
    let (low, high) = (levels.first().copied().unwrap_or(0.0), levels.last().copied().unwrap_or(0.0));
    let times = number::counted(found.repeats as u64, "time");
    match count {
        1 => format!("level {} was tried {times}", level(low)),
        _ => format!("{count} levels from {} to {} were each tried {times}", level(low), level(high)),
    }
}

fn shedding(found: &Shedding, report: &Report) -> Finding {
    let (keeps, at) = (level(found.keeps), level(found.at));
    Finding {
        name: "under overload",
        value: format!("sheds load, keeps serving {keeps} {}", rate_unit(report)),
        remark: format!("{} rejected at {at} {}", number::percent(found.rejected), report.unit()),
    }
}

fn recovery(report: &Report) -> Option<Finding> {
    let unit = report.unit();
    let (value, remark) = match report.recovery {
        Recovery::AtOnce(at) => (format!("recovers at once at {} {unit}", level(at)), String::new()),
        Recovery::After(at, spent) => {
            (format!("recovers at {} {unit}", level(at)), format!("after about {}", seconds(spent)))
        }
        Recovery::Metastable { at, lower } => (
            "metastable".to_owned(),
            format!(
                "{} {unit} passed before the overload, failed for 30 s after it, and passed again after a reset; {}",
                level(at),
                by_itself(lower)
            ),
        ),
        Recovery::Changed { at, lower, after_reset } => {
            let cause = if after_reset {
                "it fails after a reset too, so the service changed with time"
            } else {
                "the service changed with time or data, or does not recover"
            };
            (
                format!("{} {unit} fails, which passed before", level(at)),
                format!("it fails for 30 s after the overload: {cause}; {}", by_itself(lower)),
            )
        }
        Recovery::NotTried => return None,
    };
    Some(Finding { name: "after overload", value, remark })
}

/// The lower level that passes after an overload.
fn by_itself(lower: Option<f64>) -> String {
    lower
        .map_or("no lower level that was tried passes".to_owned(), |lower| format!("{} passes", level(lower)))
}

/// Results of the models, and the users and cost that the capacity supports.
pub fn remarks(report: &Report) -> Vec<Remark> {
    let mut models: Vec<String> = Vec::new();
    models.extend(report.cpu.as_ref().into_iter().flat_map(cpu::sentences));
    models.extend(report.queue.as_ref().map(queue));
    models.push(law(&report.law, report.config.kind));
    let mut remarks = Vec::new();
    let missing = missing(report);
    if !missing.is_empty() {
        remarks.push(Remark { heading: "Percentiles", sentences: missing });
    }
    let resources = resource::sentences(report);
    if !resources.is_empty() {
        remarks.push(Remark { heading: "Resources", sentences: resources });
    }
    remarks.push(Remark { heading: "Models", sentences: models });
    remarks.extend(report.worth.as_ref().map(|found| Remark { heading: "Worth", sentences: worth(found) }));
    remarks
}

/// The percentiles for which the steps behind the result have too few requests: how long a step must be, and how a
/// limit on them is judged.
fn missing(report: &Report) -> Vec<String> {
    let steps = deciding(report);
    let mut statistics: Vec<Statistic> = Vec::new();
    let limited = report.config.slos.iter().map(|slo| slo.statistic);
    for statistic in limited.chain([Statistic::Quantile(0.99)]) {
        // Several limits can be on one percentile.
        if !statistics.contains(&statistic) {
            statistics.push(statistic);
        }
    }
    let mut sentences = Vec::new();
    for statistic in statistics {
        let Statistic::Quantile(q) = statistic else { continue };
        let needed = samples_needed(q);
        let few = steps.iter().filter(|trial| trial.result.response.n() < needed);
        let rates = few.map(|trial| trial.result.response.n() as f64 / trial.result.seconds);
        let Some(slowest) = rates.filter(|rate| *rate > 0.0).reduce(f64::min) else { continue };
        let (requests, rate) = (number::count(needed), level(slowest));
        let seconds = (needed as f64 / slowest).ceil();
        let step = format!("`--step {seconds:.0}s` at {rate} requests/s");
        sentences.push(format!("{statistic} needs {requests} requests per step: {step}."));
        for slo in report.config.slos.iter().filter(|slo| slo.statistic == statistic) {
            let share = number::percent(1.0 - q);
            sentences.push(format!(
                "A step with fewer requests meets {slo} if at most {share} of its requests took longer."
            ));
        }
    }
    sentences
}

/// The steps at the ends of the capacity; the one at the highest level if it has none.
fn deciding(report: &Report) -> Vec<&FinishedStep> {
    let ends = match &report.capacity {
        LevelEstimate::Between { interval, .. } => vec![interval.low, interval.high],
        LevelEstimate::AtLeast(low) => vec![*low],
        _ => report.ladder().map(|trial| trial.step.load.level()).reduce(f64::max).into_iter().collect(),
    };
    let is_end = |level: f64| ends.iter().any(|end| (level - end).abs() <= 1e-9 * end);
    report.ladder().filter(|trial| is_end(trial.step.load.level())).collect()
}

/// If the measured time is more than this multiple of M/M/c's prediction, or less than its inverse, the report
/// explains it.
const FAR: f64 = 2.0;

fn queue(queue: &Queue) -> String {
    let places = match queue.workers {
        1 => "1 request".to_owned(),
        more => format!("{} requests", number::count(more.into())),
    };
    let meaning = match queue.ratio() {
        ratio if ratio > FAR => "far more than the model: work is serialized, or requests arrive in bursts",
        ratio if ratio < 1.0 / FAR => "far less than the model: requests share work (batches, a cache)",
        _ => "close to the model",
    };
    format!(
        "Queue model: as if {places} at a time took {} each, others waiting. At {}/s the mean response time is {}, \
         M/M/{} predicts {}: {meaning}.",
        seconds(queue.service),
        level(queue.at),
        seconds(queue.measured),
        queue.workers,
        seconds(queue.predicted)
    )
}

fn law(law: &Result<Law, Unfit>, kind: LoadKind) -> String {
    const NAME: &str = "Universal scalability law";
    let unit = if kind == LoadKind::Iterations { "iterations/s" } else { "requests/s" };
    match law {
        Ok(law) => {
            let peak = law.peak.map_or("no decline seen".to_owned(), |(n, x)| {
                format!("the peak is {} {unit} at {} in flight", level(x), level(n))
            });
            format!(
                "{NAME}: contention {}, crosstalk {:.2e} (R² {:.3}, up to {} in flight); {peak}.",
                number::percent(law.sigma),
                law.kappa,
                law.r2,
                level(law.reach)
            )
        }
        Err(Unfit::Steps(count)) => format!("{NAME}: not fitted, {count} steady steps (6 needed)."),
        Err(Unfit::Reach { needed, .. }) if !needed.is_finite() => {
            format!("{NAME}: not fitted, the knee is unknown.")
        }
        Err(Unfit::Reach { reached, needed }) => format!(
            "{NAME}: not fitted, steady steps reach {} in flight ({} needed, twice the knee).",
            level(*reached),
            level(*needed)
        ),
        Err(Unfit::R2(r2)) => format!("{NAME}: no fit (R² {r2:.3}, below 0.98)."),
        Err(Unfit::Pattern) => {
            format!("{NAME}: no fit (residuals have a pattern).")
        }
        Err(Unfit::Degenerate) => format!("{NAME}: undecided by these steps."),
    }
}

fn worth(worth: &Worth) -> Vec<String> {
    let assumed = &worth.assumptions;
    let mut sentences = Vec::new();
    if let (Some(users), Some(each)) = (worth.users, assumed.per_user) {
        sentences.push(format!(
            "Supports {} users at {} requests per month each.",
            number::fixed(three(users), 0),
            number::fixed(each.per_month(), 0)
        ));
    }
    if let (Some(million), Some(host)) = (worth.per_million, assumed.host) {
        let user = worth.per_user.map_or(String::new(), |user| format!(", {} per user", money(user)));
        sentences.push(format!(
            "A host at {} per month costs {} per million requests{user}.",
            money(host.per_month()),
            money(million)
        ));
    }
    sentences.push(format!(
        "Assumes: peak load is {} times the mean and equals {} requests/s; one host, no reserve; 30.44 days per month.",
        level(assumed.peak_factor),
        level(worth.peak)
    ));
    sentences
}

/// Three significant digits: a capacity has no more.
fn three(value: f64) -> f64 {
    if value <= 0.0 {
        return value;
    }
    let magnitude = 10f64.powf(value.log10().floor() - 2.0);
    (value / magnitude).round() * magnitude
}

/// An amount without its currency.
fn money(amount: f64) -> String {
    let decimals =
        if amount >= 1.0 { 2 } else { (2 - amount.max(1e-9).log10().floor() as i32).clamp(3, 9) as usize };
    number::fixed(amount, decimals)
}
