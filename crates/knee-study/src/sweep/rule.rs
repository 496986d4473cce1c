//! Whether a step passes: one rule, one function.
//!
//! Does not decide what is tried next; [`super::course`] does.

use knee_core::validity::{Validity, Warning};

use super::measured::StepResult;
use super::slo::{Held, Slo, Timed};
use super::{Config, LoadKind};
use crate::statistics::trend::theil_sen;

/// Share of the arrivals that must be answered in the time in which they came due.
pub const ACHIEVED_MIN: f64 = 0.99;
/// This many arrivals can always be left over: with fewer arrivals than this divided by 1 %, the noise of a healthy
/// queue exceeds 1 % of them.
pub const LEFT_OVER_MIN: f64 = 30.0;
/// A backlog counts as growing if it grows significantly, and by more than this share of the offered rate. The second
/// condition is needed because queues near their limit wander, and ten points of a random walk often look like a
/// trend.
pub const GROWTH_MIN: f64 = 0.005;
/// Two-sided level of the interval of that growth; its lower end alone errs half as often, in 5 % of cases.
const RISE_ALPHA: f64 = 0.1;
/// Above this share of failures, the service counts as broken.
pub const BROKEN_ERRORS: f64 = 0.05;
/// Goodput below this share of the highest goodput, under more load, is a collapse.
pub const COLLAPSE: f64 = 0.9;

/// One reason why a step does not pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Miss {
    /// Fewer requests were answered than came due.
    Achieved {
        /// Share answered.
        share: f64,
    },
    /// Too many requests failed.
    Errors {
        /// Share that failed.
        share: f64,
        /// Largest share that can fail.
        max: f64,
    },
    /// A limit on response time was not met.
    Slo {
        /// The limit.
        slo: Slo,
        /// What was measured.
        held: Held,
    },
    /// The number of requests in flight and waiting grew during the step.
    Backlog {
        /// Lower bound of the growth per second.
        per_second: f64,
    },
    /// No response had an event, although there is a limit on the times of events.
    NoEvents,
    /// Nothing was answered at all.
    Silence,
}

/// How a service is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It does not keep up: the backlog grows during the step.
    Backlog,
    /// More than 5 % of the requests fail.
    Errors,
    /// The service turns away more than 5 % of the requests, and serves as many as under lower load.
    Rejects,
    /// It does less than under lower load.
    Collapse,
}

impl Broken {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Backlog => "the backlog grows during the step",
            Self::Errors => "over 5 % of requests fail",
            Self::Rejects => "over 5 % of requests are rejected",
            Self::Collapse => "goodput falls under more load",
        }
    }
}

/// Outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step met all rules.
    Pass,
    /// The service broke a rule.
    Fail,
    /// Unknown: the generator might have been the cause.
    Void,
}

/// The rules' result for a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// What came of it.
    pub outcome: Outcome,
    /// Rules that the step broke.
    pub misses: Vec<Miss>,
    /// How the service is broken at this level; `None` if it is not, or if that is unknown.
    pub broken: Option<Broken>,
    /// Why the step is void, if it is; sentences.
    pub void: Vec<String>,
}

/// Results of other steps that some rules need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Context {
    /// Highest goodput under less load than this step's.
    pub goodput_below: f64,
    /// Median service time in seconds at the lowest load so far.
    pub service_p50: Option<f64>,
}

/// Applies the rules.
pub fn judge(config: &Config, result: &StepResult, context: Context) -> Judged {
    let misses: Vec<Miss> = [achieved(config.kind, result), backlog(config.kind, result)]
        .into_iter()
        .chain([errors(config, result), silence(result)])
        .flatten()
        .chain(config.slos.iter().filter_map(|slo| limit(*slo, result)))
        .collect();
    let collapse = result.goodput < COLLAPSE * context.goodput_below;
    let broken = broken(&misses, collapse, result.failed_by_rejection());
    let failed = !misses.is_empty() || collapse;
    let void = void(result, context, failed);
    let outcome = match (void.is_empty(), failed) {
        (false, _) => Outcome::Void,
        (true, true) => Outcome::Fail,
        (true, false) => Outcome::Pass,
    };
    Judged { outcome, misses, broken: broken.filter(|_| void.is_empty()), void }
}

fn achieved(kind: LoadKind, result: &StepResult) -> Option<Miss> {
    let share = result.share();
    let left_over = (result.offered - result.achieved) * result.seconds;
    let missed = kind.is_open() && share < ACHIEVED_MIN && left_over > LEFT_OVER_MIN;
    missed.then_some(Miss::Achieved { share })
}

fn backlog(kind: LoadKind, result: &StepResult) -> Option<Miss> {
    let trend = theil_sen(&result.waiting, RISE_ALPHA).filter(|_| kind.is_open())?;
    let added = trend.slope * result.seconds;
    let grows = trend.low > 0.0 && trend.slope > GROWTH_MIN * result.offered && added > LEFT_OVER_MIN;
    grows.then_some(Miss::Backlog { per_second: trend.low })
}

fn errors(config: &Config, result: &StepResult) -> Option<Miss> {
    let share = result.failed();
    (share > config.errors_max).then_some(Miss::Errors { share, max: config.errors_max })
}

fn silence(result: &StepResult) -> Option<Miss> {
    (result.achieved <= 0.0).then_some(Miss::Silence)
}

fn limit(slo: Slo, result: &StepResult) -> Option<Miss> {
    let Some(held) = slo.judge(result.times(slo.of)) else {
        return (slo.of != Timed::Response && result.achieved > 0.0).then_some(Miss::NoEvents);
    };
    (!held.kept).then_some(Miss::Slo { slo, held })
}

fn broken(misses: &[Miss], collapse: bool, by_rejection: bool) -> Option<Broken> {
    let is = |test: fn(&Miss) -> bool| misses.iter().any(test);
    if is(|miss| matches!(miss, Miss::Errors { share, .. } if *share > BROKEN_ERRORS)) {
        Some(if by_rejection && !collapse { Broken::Rejects } else { Broken::Errors })
    } else if collapse {
        Some(Broken::Collapse)
    } else if is(|miss| matches!(miss, Miss::Achieved { .. } | Miss::Backlog { .. } | Miss::Silence)) {
        Some(Broken::Backlog)
    } else {
        None
    }
}

/// Validity rules that make a step void, whatever it shows.
const WORTHLESS: [&str; 3] = ["books", "area", "intervals"];
/// Validity rules about the target or the whole sweep, not about lateness of the generator.
const NOT_OF_THE_STEP: [&str; 5] = ["damaged", "debug_build", "no_answer", "nothing_measured", "truncated"];

/// Validity rules about a late generator.
const LATE: [&str; 5] = ["lag", "loop_lag", "rate", "run_delay", "worker_cpu"];

/// Why a step is void.
///
/// A late generator makes response times longer and never shorter, because they count from when a request was due. So
/// a step that passes despite a late generator has passed. If it fails, the generator might be the cause, unless
/// responses took ten times as long as the generator was late.
fn void(result: &StepResult, context: Context, failed: bool) -> Vec<String> {
    let explains = |code: &str| !(LATE.contains(&code) && result.is_slow_by_itself());
    let counts = |reason: &&Warning| {
        let code = reason.code.as_str();
        let of_step = failed && !NOT_OF_THE_STEP.contains(&code) && explains(code);
        reason.validity == Validity::Invalid && (WORTHLESS.contains(&code) || of_step)
    };
    let mut why: Vec<String> =
        result.reasons.iter().filter(counts).map(|reason| reason.message.clone()).collect();
    why.extend(capped(result, context).filter(|_| failed));
    why
}

/// Whether a step is void because the generator was late.
pub fn is_void_by_lateness(judged: &Judged, result: &StepResult) -> bool {
    let late =
        |reason: &Warning| reason.validity == Validity::Invalid && LATE.contains(&reason.code.as_str());
    judged.outcome == Outcome::Void && result.reasons.iter().any(late)
}

/// Up to this multiple of the service time at the lowest load, the service counts as equally fast.
const NO_SLOWER: f64 = 1.5;

/// Arrivals waited for a free connection or VU although the service was as fast as at low load: the load generator is
/// the limit.
fn capped(result: &StepResult, context: Context) -> Option<String> {
    let base = context.service_p50?;
    let service = result.service.all().quantile(0.5)?.as_secs_f64();
    (result.queued > 0 && service <= NO_SLOWER * base).then(|| {
        format!(
            "the limit of {} requests in flight was reached although the service was fast: raise `--in-flight`",
            result.in_flight_cap
        )
    })
}
