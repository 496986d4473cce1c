//! How much load and when: `-n`, `-c`, `-z`, `-q`, stages, warm-up, workers.
//!
//! Does not know what is sent. Durations typed count from the end of the warm-up; the plan's clock
//! counts from its start.

use knee_core::plan::{Executor, Scenario, Stop};
use knee_core::schedule::{Arrivals, Curve, Stage};
use knee_core::share::{Segment, Sequence, Share, ShareError};
use knee_core::unit::Nanos;
use knee_report::number::{count, counted};

use super::number::{rate, span, span_above_zero, whole};
use crate::args::{AmountFlags, ArrivalKind};
use crate::problem::Problem;

/// Requests of a load without number or duration; oha's and hey's default.
pub const REQUESTS: u64 = 200;
/// Connections when none are given; oha's and hey's default.
pub const CONNECTIONS: u32 = 50;
/// Grace period when none is given.
pub const GRACE: Nanos = Nanos::from_secs(5);
/// Width of the intervals of a record.
pub const INTERVAL: Nanos = Nanos::from_secs(1);
/// Most connections; far more than a machine has local ports towards one address.
const CONNECTIONS_MAX: u64 = 1_000_000;
/// Most requests at a time on one connection; servers usually take 100 or 128.
const STREAMS_MAX: u64 = 10_000;
/// Most requests: at a million a second, 31 years.
const REQUESTS_MAX: u64 = 1_000_000_000_000_000;
/// Most worker threads.
const WORKERS_MAX: u64 = 1_024;
/// Highest seed: the largest integer that a JSON reader with doubles holds exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// The resolved amount of load.
#[derive(Clone, Debug, PartialEq)]
pub struct Amount {
    /// The scenario.
    pub scenario: Scenario,
    /// Users that share a connection.
    pub streams: u32,
    /// Warm-up, which is not in the totals.
    pub warm_up: Nanos,
    /// Time for requests in flight at the end; [`Nanos::MAX`] for as long as it takes.
    pub grace: Nanos,
    /// Worker threads.
    pub workers: u16,
    /// Seed of everything random.
    pub seed: u64,
    /// The part of the load that this machine does; all of it if `None`.
    pub share: Option<Share>,
}

/// Resolves the flags on a machine with `cpus` CPUs.
///
/// # Errors
///
/// When a value is out of range or flags contradict each other.
pub fn amount(flags: &AmountFlags, cpus: u16, notes: &mut Vec<String>) -> Result<Amount, Problem> {
    refuse_contradictions(flags)?;
    let typed_connections = flags
        .connections
        .as_deref()
        .map(|text| whole("-c", text, 1..=CONNECTIONS_MAX).map(|count| count as u32))
        .transpose()?;
    let typed_rate = flags.rate.as_deref().map(|text| rate("-q", text)).transpose()?;
    let warm_up = flags.warm_up.as_deref().map_or(Ok(Nanos::ZERO), |text| span("--warm-up", text))?;
    let mut stages = stages(&flags.stages, typed_rate.is_some())?;
    let seed = flags.seed.as_deref().map_or(Ok(1), |text| whole("--seed", text, 0..=SEED_MAX))?;

    let stop = stop(flags, &stages, warm_up)?;
    let streams = flags.streams.as_deref().map_or(Ok(1), |text| whole("-p", text, 1..=STREAMS_MAX))? as u32;
    let connections = typed_connections.unwrap_or(CONNECTIONS).saturating_mul(streams);
    let connections = fewer_if_useless(connections, typed_connections.is_some(), stop, notes);
    let executor = match typed_rate {
        Some(start) => Executor::Open {
            rate: curve(start, stages, warm_up, "-q")?,
            arrivals: arrivals(flags.arrivals, seed),
            users_max: connections,
        },
        None if stages.is_empty() => Executor::Closed { vus: Curve::constant(f64::from(connections)) },
        None => {
            for stage in &mut stages {
                stage.target *= f64::from(streams);
            }
            let start = typed_connections.map_or(0.0, |count| f64::from(count) * f64::from(streams));
            Executor::Closed { vus: curve(start, stages, warm_up, "-c")? }
        }
    };
    let whole = Scenario::new("default", executor, stop);
    let share = share(flags)?;
    let scenario = match &share {
        Some(share) => of_part(whole, share)?,
        None => whole,
    };
    let workers = workers(flags.workers.as_deref(), cpus, scenario.users_max(), notes)?;
    Ok(Amount { scenario, streams, warm_up, grace: grace(flags)?, workers, seed, share })
}

/// The part of the load that this machine does.
fn share(flags: &AmountFlags) -> Result<Option<Share>, Problem> {
    let (segment, sequence) = (&flags.execution_segment, &flags.execution_segment_sequence);
    let wrong = |flag: &str| {
        let flag = flag.to_owned();
        move |error: ShareError| {
            let hint = "write parts as fractions, as in `--execution-segment 0:1/4 --execution-segment-sequence 0,1/4,1/2,3/4,1`";
            Problem::new(format!("`{flag}`: {error}"), hint)
        }
    };
    let of_segment = wrong("--execution-segment");
    let segment: Option<Segment> =
        segment.as_ref().map(|text| text.parse()).transpose().map_err(&of_segment)?;
    let sequence: Option<Sequence> = sequence
        .as_ref()
        .map(|text| text.parse())
        .transpose()
        .map_err(wrong("--execution-segment-sequence"))?;
    if segment.is_none() && sequence.is_none() {
        return Ok(None);
    }
    let share = Share::new(segment, sequence.as_ref()).map_err(of_segment)?;
    Ok((!share.is_whole()).then_some(share))
}

/// The part of a scenario that a share has.
fn of_part(whole: Scenario, share: &Share) -> Result<Scenario, Problem> {
    let part = whole.shared(share);
    if part.has_work() {
        return Ok(part);
    }
    let what = format!("the part {} of this load has nothing to do", share.segment());
    Err(Problem::new(what, "give more connections or requests than there are parts"))
}

fn refuse_contradictions(flags: &AmountFlags) -> Result<(), Problem> {
    let refuse = |what: &str, hint: &str| Err(Problem::new(what, hint));
    if flags.requests.is_some() && flags.duration.is_some() {
        return refuse("`-n` and `-z` exclude each other", "give either a number of requests or a duration");
    }
    if flags.requests.is_some() && !flags.stages.is_empty() {
        return refuse(
            "`-n` and `--stage` exclude each other",
            "leave `-n` out: the stages set the duration",
        );
    }
    if flags.arrivals.is_some() && flags.rate.is_none() {
        return refuse("`--arrivals` needs `-q`", "give an arrival rate, as in `-q 100`");
    }
    if flags.warm_up.is_some() && flags.duration.is_none() && flags.stages.is_empty() {
        return refuse(
            "`--warm-up` needs `-z` or `--stage`",
            "give the measured time too, as in `--warm-up 5s -z 30s`",
        );
    }
    Ok(())
}

/// What ends the load.
fn stop(flags: &AmountFlags, stages: &[Stage], warm_up: Nanos) -> Result<Stop, Problem> {
    let ramped = stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.duration));
    if let Some(text) = &flags.duration {
        let duration = span_above_zero("-z", text)?;
        if duration < ramped {
            return Err(Problem::new(
                format!("`-z {text}` is shorter than the stages, which take {ramped}"),
                "leave `-z` out, or give a longer duration; knee then holds the last level until the end",
            ));
        }
        return Ok(Stop::At(warm_up + duration));
    }
    if !stages.is_empty() {
        if ramped == Nanos::ZERO {
            return Err(Problem::new(
                "the stages take no time",
                "give a stage a duration above zero, or add `-z`",
            ));
        }
        return Ok(Stop::At(warm_up + ramped));
    }
    let requests =
        flags.requests.as_deref().map_or(Ok(REQUESTS), |text| whole("-n", text, 1..=REQUESTS_MAX))?;
    Ok(Stop::Requests(requests))
}

/// Reads `TIME:TARGET` stages; targets are a rate, or whole connections.
fn stages(texts: &[String], of_rate: bool) -> Result<Vec<Stage>, Problem> {
    let mut total = Nanos::ZERO;
    let mut stages = Vec::with_capacity(texts.len());
    for text in texts {
        let (duration, target) = text.split_once(':').ok_or_else(|| {
            Problem::new(
                format!("`--stage {text}` is not a stage"),
                "write stages as TIME:TARGET, as in `--stage 30s:100,1m:100`",
            )
        })?;
        let within =
            |problem: Problem| Problem::new(format!("{}, in `--stage {text}`", problem.what), problem.hint);
        let duration = span("--stage", duration.trim()).map_err(within)?;
        let target = if of_rate {
            rate("--stage", target.trim()).map_err(within)?
        } else {
            whole("--stage", target.trim(), 0..=CONNECTIONS_MAX).map_err(within)? as f64
        };
        total = total.saturating_add(duration);
        stages.push(Stage { duration, target });
    }
    if total > super::number::SPAN_MAX {
        return Err(Problem::new("the stages take longer than a year", "shorten them"));
    }
    Ok(stages)
}

/// The level: constant during the warm-up, then by the stages.
fn curve(start: f64, stages: Vec<Stage>, warm_up: Nanos, flag: &str) -> Result<Curve, Problem> {
    if start <= 0.0 && stages.iter().all(|stage| stage.target <= 0.0) {
        let what = if stages.is_empty() {
            format!("`{flag} 0` sends nothing")
        } else {
            "the stages never rise above 0".to_owned()
        };
        return Err(Problem::new(what, format!("give a level above zero, as in `{flag} 100`")));
    }
    if warm_up > Nanos::ZERO && start <= 0.0 {
        return Err(Problem::new(
            "the warm-up sends nothing: the stages begin at 0",
            format!("give a level for the warm-up, as in `{flag} 10`, or leave `--warm-up` out"),
        ));
    }
    let mut curve = Curve { start, stages };
    if warm_up > Nanos::ZERO && !curve.stages.is_empty() {
        curve.stages.insert(0, Stage { duration: warm_up, target: start });
    }
    Ok(curve)
}

fn arrivals(kind: Option<ArrivalKind>, seed: u64) -> Arrivals {
    match kind {
        Some(ArrivalKind::Poisson) => Arrivals::Poisson { seed },
        Some(ArrivalKind::Uniform) | None => Arrivals::Uniform,
    }
}

/// Limits connections to the number of requests, because others would never send one.
fn fewer_if_useless(connections: u32, typed: bool, stop: Stop, notes: &mut Vec<String>) -> u32 {
    let Some(requests) = stop.requests() else { return connections };
    if requests >= u64::from(connections) {
        return connections;
    }
    if typed {
        notes.push(format!(
            "{} instead of {}: there {} only {}",
            counted(requests, "connection"),
            count(u64::from(connections)),
            if requests == 1 { "is" } else { "are" },
            counted(requests, "request")
        ));
    }
    requests as u32
}

/// Most workers that a load can use: each connection has one worker.
fn workers_max(users_max: u32) -> u16 {
    users_max.clamp(1, WORKERS_MAX as u32) as u16
}

/// Workers of a load if their number is not given: one per CPU, at most one per connection.
pub fn workers_for(users_max: u32, cpus: u16) -> u16 {
    cpus.clamp(1, workers_max(users_max))
}

fn workers(typed: Option<&str>, cpus: u16, users_max: u32, notes: &mut Vec<String>) -> Result<u16, Problem> {
    let Some(text) = typed else { return Ok(workers_for(users_max, cpus)) };
    let most = workers_max(users_max);
    let wanted = whole("--workers", text, 1..=WORKERS_MAX)? as u16;
    if wanted > most {
        notes.push(format!(
            "{} instead of {wanted}: each connection has one worker",
            counted(u64::from(most), "worker")
        ));
    }
    Ok(wanted.min(most))
}

fn grace(flags: &AmountFlags) -> Result<Nanos, Problem> {
    if flags.wait {
        return Ok(Nanos::MAX);
    }
    flags.grace.as_deref().map_or(Ok(GRACE), |text| span("--grace", text))
}
