//! From figures to a verdict: one rule, one function.
//!
//! Does not measure or collect; a rule sees [`Figures`] and nothing else. A figure that this
//! platform cannot tell (`None`) fires no rule.

use super::note::notes;
use super::{Figures, Reason, State, TruthBlock};
use crate::unit::Nanos;

/// Every rule, in the order in which reasons of the same weight are shown: first what makes
/// numbers wrong, then what bends them.
const RULES: &[fn(&Figures) -> Option<Reason>] = &[
    books,
    intervals,
    area,
    nothing_measured,
    no_answer,
    debug_build,
    lag,
    stall,
    generator_faults,
    rate,
    worker_cpu,
    run_delay,
    throttled,
    steal,
    clock,
    suspended,
    descriptors,
    ports,
    littles_law,
    truncated,
];

/// The verdict over a run: the worst of what the rules say, or valid.
pub fn judge(figures: Figures) -> TruthBlock {
    let reasons = RULES.iter().filter_map(|rule| rule(&figures)).collect();
    verdict(reasons, notes(&figures), figures)
}

/// Puts reasons in order, worst first, and draws the conclusion.
pub(crate) fn verdict(mut reasons: Vec<Reason>, notes: Vec<String>, figures: Figures) -> TruthBlock {
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    let state = reasons.first().map_or(State::Valid, |reason| reason.state);
    TruthBlock { state, reasons, notes, figures }
}

fn reason(code: &str, state: State, text: String, advice: &str) -> Reason {
    Reason { code: code.to_owned(), state, text, advice: advice.to_owned() }
}

/// What a figure with two limits makes of the result; both are exclusive.
fn above(value: f64, suspect: f64, invalid: f64) -> Option<State> {
    if value > invalid {
        Some(State::Invalid)
    } else if value > suspect {
        Some(State::Suspect)
    } else {
        None
    }
}

/// A share as text, with enough digits for the limits used here.
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    if value < 10.0 { format!("{value:.2} %") } else { format!("{value:.0} %") }
}

const OUR_FAULT: &str = "this is a fault of knee, not of the target: keep the record and report it";

/// Every request that came due must have ended exactly once.
fn books(figures: &Figures) -> Option<Reason> {
    if figures.books_off == 0 {
        return None;
    }
    let (planned, ended) = (figures.books.planned, figures.books.ended());
    let off = figures.books_off;
    let text = format!("the books do not balance: {planned} requests came due, {ended} ended, {off} differ");
    Some(reason("books", State::Invalid, text, OUR_FAULT))
}

/// The tail says how many intervals there were.
fn intervals(figures: &Figures) -> Option<Reason> {
    let lost = figures.intervals_lost;
    let text = format!("{lost} intervals of the record are missing");
    let advice = "the file was changed after it was written: restore it, or measure again";
    (lost > 0).then(|| reason("intervals", State::Invalid, text, advice))
}

/// Largest difference allowed between the two ways to compute the same integral.
const AREA: f64 = 0.001;

/// The number in flight, counted at starts and ends, against each request's own times.
fn area(figures: &Figures) -> Option<Reason> {
    let residual = figures.area_residual.filter(|residual| *residual > AREA)?;
    let text = format!("requests in flight and their times disagree by {}", percent(residual));
    Some(reason("area", State::Invalid, text, OUR_FAULT))
}

fn nothing_measured(figures: &Figures) -> Option<Reason> {
    if figures.books.planned > 0 {
        return None;
    }
    let text = "no request came due in the measured part".to_owned();
    Some(reason("nothing_measured", State::Invalid, text, "let the run last longer than its warm-up"))
}

fn no_answer(figures: &Figures) -> Option<Reason> {
    let [ok, http_error, ..] = figures.books.by_outcome;
    if figures.books.planned == 0 || ok > 0 || http_error > 0 {
        return None;
    }
    let text = format!("none of {} requests was answered", figures.books.planned);
    let advice = "look at the errors: is the address right, and is the service up";
    Some(reason("no_answer", State::Invalid, text, advice))
}

fn debug_build(figures: &Figures) -> Option<Reason> {
    if !figures.debug_build {
        return None;
    }
    let text = "this knee was built without optimizations: it measures itself".to_owned();
    Some(reason("debug_build", State::Invalid, text, "build with `cargo build --release`"))
}

/// Below this no lag makes a result suspect: an ordinary kernel wakes a thread that late now and
/// then, and a tenth of the median of a fast server (50 us) would be 5 us, which nobody keeps.
const LAG_FLOOR: Nanos = Nanos::from_millis(1);

/// Above this the instrument was not on time, whatever the target did.
const LAG_CEILING: Nanos = Nanos::from_millis(100);

/// Own lag at the 99th percentile against the times it is part of.
///
/// Response time contains the lag, so a lag matters by its share: suspect above a tenth of the
/// median, invalid above a quarter of the 99th percentile, both not below [`LAG_FLOOR`].
fn lag(figures: &Figures) -> Option<Reason> {
    let (_, lag, _) = figures.own_lag?;
    let (p50, p99) = figures.response.unwrap_or_default();
    let state = if lag > LAG_CEILING || lag > LAG_FLOOR.max(Nanos(p99.0 / 4)) {
        State::Invalid
    } else if lag > LAG_FLOOR.max(Nanos(p50.0 / 10)) {
        State::Suspect
    } else {
        return None;
    };
    let text = format!(
        "requests went out late by {lag} at p99 through knee's own doing (response time p50 {p50}, p99 {p99})"
    );
    Some(reason("lag", state, text, "give knee more CPU, use more workers, or ask for a lower rate"))
}

/// An interval is late by this much only if the whole program did not run.
const STALL_SUSPECT: Nanos = Nanos::from_millis(100);
const STALL_INVALID: Nanos = Nanos::from_secs(1);

/// The instrument stood still: stopped, swapped out, or starved.
fn stall(figures: &Figures) -> Option<Reason> {
    let stall = figures.stall;
    let state = above(stall.0 as f64, STALL_SUSPECT.0 as f64, STALL_INVALID.0 as f64)?;
    let text = format!("knee itself stood still for {stall}");
    Some(reason("stall", state, text, "was it stopped (Ctrl-Z), or the machine out of memory? Measure again"))
}

/// Shares of the planned requests.
const GENERATOR_SUSPECT: f64 = 0.001;
const GENERATOR_INVALID: f64 = 0.01;

/// Requests that failed on this side say nothing about the target.
fn generator_faults(figures: &Figures) -> Option<Reason> {
    let faults = figures.generator_faults;
    let share = faults as f64 / figures.books.planned.max(1) as f64;
    let state = above(share, GENERATOR_SUSPECT, GENERATOR_INVALID)?;
    let text = format!("{faults} requests ({}) failed on this machine, not on the target", percent(share));
    let advice =
        "the errors name what ran out: raise that limit (`ulimit -n`, port range), or use fewer connections";
    Some(reason("generator_faults", state, text, advice))
}

/// Shares of the planned requests that were sent in time.
const RATE_SUSPECT: f64 = 0.995;
const RATE_INVALID: f64 = 0.98;

/// In open mode: whether the planned load was applied at all, and whose doing it was if not.
fn rate(figures: &Figures) -> Option<Reason> {
    let share = figures.sent_share.filter(|share| *share < RATE_SUSPECT)?;
    let sent = percent(share);
    if is_exhausted(figures) {
        let state = if share < RATE_INVALID { State::Invalid } else { State::Suspect };
        let text = format!("only {sent} of the planned requests were sent in time: knee had no CPU left");
        let advice = "ask for a lower rate, use more workers, or a machine of their own";
        return Some(reason("rate", state, text, advice));
    }
    let text = format!("only {sent} of the planned requests were sent in time: every connection was busy");
    let advice = "the target does not keep up, and response times grow with the length of the run: \
                  ask for a lower rate, or allow more connections";
    Some(reason("rate", State::Suspect, text, advice))
}

/// Whether the generator's CPU is a likely cause of requests not sent.
fn is_exhausted(figures: &Figures) -> bool {
    figures.worker_cpu_saturated.is_some_and(|share| share >= CPU_SATURATED_SHARE)
        || figures.run_delay.is_some_and(|share| share > RUN_DELAY_INVALID)
        || figures.throttled.is_some_and(|pair| throttled_share(pair) >= THROTTLED_INVALID)
}

/// Share of a CPU.
const CPU_SUSPECT: f64 = 0.7;
/// Share of the intervals in which a worker is saturated.
const CPU_SATURATED_SHARE: f64 = 0.1;

/// A worker near the limit of its CPU makes answers wait to be read.
fn worker_cpu(figures: &Figures) -> Option<Reason> {
    let busiest = percent(figures.worker_cpu_max?);
    let saturated = figures.worker_cpu_saturated.unwrap_or(0.0);
    let advice = "use more workers if there are cores to spare, or a faster machine, or ask for less load";
    if saturated >= CPU_SATURATED_SHARE {
        let intervals = percent(saturated);
        let text = format!(
            "a worker of knee used over 90 % of its CPU in {intervals} of the intervals ({busiest} at most): \
             the numbers show its limit, not the target's"
        );
        return Some(reason("worker_cpu", State::Invalid, text, advice));
    }
    if figures.worker_cpu_max? > CPU_SUSPECT {
        let text = format!("a worker of knee used up to {busiest} of its CPU");
        return Some(reason("worker_cpu", State::Suspect, text, advice));
    }
    None
}

/// Shares of the run.
const RUN_DELAY_SUSPECT: f64 = 0.01;
const RUN_DELAY_INVALID: f64 = 0.05;

/// A worker that is ready to run and has no CPU adds its wait to every time it measures.
///
/// With closed load against a target on the same machine the two share its CPUs by design: each
/// takes what the other leaves, and what comes out is what the pair reaches. That bends the times
/// and does not make them false, so it is suspect at most.
fn run_delay(figures: &Figures) -> Option<Reason> {
    let delay = figures.run_delay?;
    let state = above(delay, RUN_DELAY_SUSPECT, RUN_DELAY_INVALID)?;
    let waited = format!("a worker of knee waited for a CPU during {} of the run", percent(delay));
    if figures.co_located != Some(true) {
        let advice = "stop what else runs on this machine, or use fewer workers than there are cores";
        return Some(reason("run_delay", state, waited, advice));
    }
    let advice = "the target shares this machine's CPUs: keep them apart (`taskset`), or load it from another machine; \
         use fewer workers than there are cores";
    if figures.closed {
        let text = format!(
            "{waited}: the times contain that wait, and the rate is what knee and the target reach together"
        );
        return Some(reason("run_delay", State::Suspect, text, advice));
    }
    Some(reason("run_delay", state, waited, advice))
}

/// Share of the scheduling periods.
const THROTTLED_INVALID: f64 = 0.05;

fn throttled_share((throttled, periods): (u64, u64)) -> f64 {
    throttled as f64 / periods.max(1) as f64
}

fn throttled(figures: &Figures) -> Option<Reason> {
    let (throttled, periods) = figures.throttled.filter(|(throttled, _)| *throttled > 0)?;
    let share = throttled_share((throttled, periods));
    let state = if share >= THROTTLED_INVALID { State::Invalid } else { State::Suspect };
    let text = format!(
        "a CPU quota stopped knee in {throttled} of {periods} scheduling periods ({})",
        percent(share)
    );
    Some(reason("throttled", state, text, "raise or remove the CPU limit of this container or cgroup"))
}

/// Shares of the run.
const STEAL_SUSPECT: f64 = 0.01;
const STEAL_INVALID: f64 = 0.05;

fn steal(figures: &Figures) -> Option<Reason> {
    let steal = figures.steal?;
    let state = above(steal, STEAL_SUSPECT, STEAL_INVALID)?;
    let text = format!("other virtual machines took {} of this machine's CPU time", percent(steal));
    Some(reason("steal", state, text, "measure at another time, or on a machine that is not shared"))
}

/// A step of the wall clock that is more than its reading can be late.
const WALL_STEP: Nanos = Nanos::from_millis(50);

fn clock(figures: &Figures) -> Option<Reason> {
    let step = Nanos(figures.wall_drift_ns.unsigned_abs());
    if step <= WALL_STEP {
        return None;
    }
    let direction = if figures.wall_drift_ns > 0 { "forward" } else { "back" };
    let text = format!("the wall clock was set {direction} by {step} during the run");
    let advice = "times are unaffected, but what other programs logged does not line up: let the clock settle, measure again";
    Some(reason("clock", State::Suspect, text, advice))
}

/// Two clocks that stop differently are read one after the other; this is the noise between.
const SUSPENDED: Nanos = Nanos::from_millis(10);

fn suspended(figures: &Figures) -> Option<Reason> {
    let suspended = figures.suspended.filter(|span| *span > SUSPENDED)?;
    let text = format!("the machine was suspended for {suspended} during the run");
    Some(reason("suspended", State::Suspect, text, "keep the machine awake, and measure again"))
}

/// Shares of the limit.
const DESCRIPTORS: f64 = 0.8;
const PORTS: f64 = 0.7;

fn descriptors(figures: &Figures) -> Option<Reason> {
    let (open, limit) = figures.descriptors.filter(|pair| is_fuller_than(*pair, DESCRIPTORS))?;
    let text = format!("{open} of {limit} file descriptors were in use");
    Some(reason(
        "descriptors",
        State::Suspect,
        text,
        "raise the limit (`ulimit -n`), or use fewer connections",
    ))
}

fn ports(figures: &Figures) -> Option<Reason> {
    let (taken, all) = figures.ports.filter(|pair| is_fuller_than(*pair, PORTS))?;
    let text = format!("{taken} of {all} local ports towards one address were taken");
    let advice = "keep connections alive, lower the rate, or widen net.ipv4.ip_local_port_range";
    Some(reason("ports", State::Suspect, text, advice))
}

fn is_fuller_than((used, limit): (u64, u64), share: f64) -> bool {
    limit > 0 && used as f64 / limit as f64 > share
}

/// Largest deviation from Little's law in steady state, beyond what the edges explain.
const LITTLE: f64 = 0.02;

/// In steady state throughput x service time is the number in flight (Little, 1961). Where that
/// fails the load was not steady: what was in flight grew, or a stall cut the end off.
fn littles_law(figures: &Figures) -> Option<Reason> {
    let residual =
        figures.little_residual.filter(|residual| *residual > LITTLE + figures.little_allowance)?;
    let text = format!(
        "requests in flight differ by {} from throughput x service time (Little's law): \
         the run was not in a steady state",
        percent(residual)
    );
    let advice =
        "look at the lines over time: leave a warm-up out, lower the rate, or let the run last longer";
    Some(reason("littles_law", State::Suspect, text, advice))
}

fn truncated(figures: &Figures) -> Option<Reason> {
    if !figures.truncated {
        return None;
    }
    let text = "the record has no end: knee was killed, and what was in flight is lost".to_owned();
    Some(reason(
        "truncated",
        State::Suspect,
        text,
        "the numbers hold up to the last whole interval; measure again",
    ))
}

#[cfg(test)]
mod tests;
