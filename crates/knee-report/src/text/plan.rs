//! What a run does, in one line.
//!
//! Does not list every stage of a curve that has many.

use knee_core::plan::{Executor, Plan, Scenario, Stop};
use knee_core::record::{Head, SegmentOf};
use knee_core::schedule::{Arrivals, Curve};

use crate::{clean, number};

/// Most levels of a curve that are written out.
const LEVELS_MAX: usize = 4;

/// The plan in pieces: `closed`, `50 connections`, `10.0 s`, `2 workers`. If this machine does a part of the load, the
/// plan is that of the whole, so the part is named too.
pub fn pieces(head: &Head) -> Vec<String> {
    let plan = &head.plan;
    let mut pieces = match plan.scenarios.as_slice() {
        [scenario] => one(scenario, head.http2_streams),
        scenarios => several(plan, scenarios),
    };
    pieces.extend(part(head));
    if plan.warm_up.0 > 0 {
        pieces.push(format!("warm-up {}", plan.warm_up));
    }
    pieces.push(match plan.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    });
    pieces
}

/// The part of the load that this machine did: `part 0:1/4 of this load`. `None` if it did all of it.
pub fn part(head: &Head) -> Option<String> {
    if let Some(fleet) = &head.fleet {
        return Some(plural(&fleet.members.len().to_string(), "machine"));
    }
    let SegmentOf { segment, .. } = head.segment.as_ref()?;
    Some(format!("part {} of this load", clean::line(segment)))
}

/// `http2_streams`: users that share each connection, with HTTP/2.
fn one(scenario: &Scenario, http2_streams: Option<u32>) -> Vec<String> {
    let mut pieces = match (&scenario.executor, http2_streams) {
        (Executor::Closed { vus: users }, None) => {
            vec!["closed".to_owned(), plural(&levels(users), "connection")]
        }
        (Executor::Closed { vus: users }, Some(1)) => {
            vec!["closed".to_owned(), plural(&levels(users), "HTTP/2 connection")]
        }
        (Executor::Closed { vus: users }, Some(streams)) => {
            let requests =
                format!("{} at a time on each HTTP/2 connection", number::count(u64::from(streams)));
            vec!["closed".to_owned(), plural(&levels(users), "user"), requests]
        }
        (Executor::Open { rate, arrivals, users_max }, _) => vec![
            "open".to_owned(),
            format!("{}/s {}", levels(rate), spacing(*arrivals)),
            format!("at most {} in flight", number::count(u64::from(*users_max))),
        ],
    };
    if let (Executor::Open { .. }, Some(_)) = (&scenario.executor, http2_streams) {
        pieces.push("HTTP/2".to_owned());
    }
    pieces.push(match scenario.stop {
        Stop::Requests(requests) => plural(&number::count(requests), "request"),
        Stop::At(end) => end.to_string(),
    });
    pieces
}

fn several(plan: &Plan, scenarios: &[Scenario]) -> Vec<String> {
    let names: Vec<_> = scenarios.iter().map(|scenario| clean::line(&scenario.name)).collect();
    let mut pieces = vec![
        if plan.is_open() { "open" } else { "closed" }.to_owned(),
        format!("{} scenarios ({})", scenarios.len(), names.join(", ")),
        format!("at most {} users", number::count(plan.users_max())),
    ];
    pieces.extend(plan.duration().map(|end| end.to_string()));
    pieces
}

fn spacing(arrivals: Arrivals) -> String {
    match arrivals {
        Arrivals::Uniform | Arrivals::Numbered { .. } => "evenly spaced".to_owned(),
        Arrivals::Poisson { seed } => format!("Poisson, seed {seed}"),
    }
}

/// `50`, `1 to 50`, `1 to 50 to 50 …`.
fn levels(curve: &Curve) -> String {
    let mut levels = vec![curve.start];
    levels.extend(curve.stages.iter().map(|stage| stage.target));
    levels.dedup();
    let more = levels.len() > LEVELS_MAX;
    levels.truncate(LEVELS_MAX);
    let text = |level: &f64| number::fixed(*level, usize::from(level.fract() != 0.0));
    let joined = levels.iter().map(text).collect::<Vec<_>>().join(" to ");
    if more { format!("{joined} …") } else { joined }
}

fn plural(number: &str, word: &str) -> String {
    if number == "1" { format!("1 {word}") } else { format!("{number} {word}s") }
}
