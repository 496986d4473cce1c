//! What a run does, in one line.
//!
//! Does not list every stage of a curve that has many.

use knee_core::amendment::Amendment;
use knee_core::plan::{Executor, Plan, Scenario, Stop};
use knee_core::record::{Head, SegmentOf};
use knee_core::schedule::{Arrivals, Curve};

use crate::{clean, number};

/// Most levels of a curve that are written out.
const LEVELS_MAX: usize = 4;
/// Most changes of the rate that are written out.
const CHANGES_MAX: usize = 4;

/// The plan in pieces: `closed`, `50 connections`, `10.0 s`, `2 workers`. If this machine does a part of the load, the
/// plan is that of the whole, so the part is named too. `amendments`: how the rate was changed during the run.
pub fn pieces(head: &Head, amendments: &[Amendment]) -> Vec<String> {
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
    pieces.extend(steered(amendments));
    pieces
}

/// How the rate was changed: `steered by hand to 200/s from 5.0 s on`, `then to 50/s from 9.0 s on`.
fn steered(amendments: &[Amendment]) -> Vec<String> {
    let one = |amendment: &Amendment| {
        let within = if amendment.over.0 > 0 { format!(" within {}", amendment.over) } else { String::new() };
        format!("to {}/s from {} on{within}", level(amendment.to), amendment.at)
    };
    let words = std::iter::once("steered by hand").chain(std::iter::repeat("then"));
    let first = amendments.iter().take(CHANGES_MAX);
    let mut changes: Vec<String> =
        words.zip(first).map(|(word, change)| format!("{word} {}", one(change))).collect();
    if amendments.len() > CHANGES_MAX {
        changes.push(format!("then {} more", amendments.len() - CHANGES_MAX));
    }
    changes
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
        format!("at most {}", number::counted(plan.users_max(), "user")),
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
    let joined = levels.iter().copied().map(level).collect::<Vec<_>>().join(" to ");
    if more { format!("{joined} …") } else { joined }
}

fn level(level: f64) -> String {
    number::fixed(level, usize::from(level.fract() != 0.0))
}

fn plural(number: &str, word: &str) -> String {
    if number == "1" { format!("1 {word}") } else { format!("{number} {word}s") }
}
