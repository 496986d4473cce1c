//! Facts worth knowing that do not touch the verdict, one function each.
//!
//! Does not judge; see [`super::judge`].

use super::Figures;
use crate::unit::Nanos;

const NOTES: &[fn(&Figures) -> Option<String>] = &[
    interrupted,
    co_located,
    own_lag,
    too_short,
    censored,
    from_warm_up,
    churn,
    resent,
    surplus,
    different_bodies,
    different_lengths,
    empty_bodies,
];

/// Every note that the figures call for.
pub(super) fn notes(figures: &Figures) -> Vec<String> {
    NOTES.iter().filter_map(|note| note(figures)).collect()
}

fn interrupted(figures: &Figures) -> Option<String> {
    figures.interrupted.then(|| "the run was interrupted before its plan ended".to_owned())
}

fn co_located(figures: &Figures) -> Option<String> {
    let shared = figures.co_located == Some(true);
    shared.then(|| {
        "the target runs on this machine: both share its CPUs, so the result is about the pair".to_owned()
    })
}

/// Below this a lag is not worth a word.
const LAG_NOTED: Nanos = Nanos::from_micros(100);

/// A lag too small for the verdict may still be much of a very fast answer, or hit a few alone.
fn own_lag(figures: &Figures) -> Option<String> {
    let ((_, lag, most), (_, p99)) = (figures.own_lag?, figures.response?);
    if lag > LAG_NOTED && lag.0 > p99.0 / 4 {
        return Some(format!(
            "knee's own lag, {lag} at p99, is much of the response time's {p99}: service time leaves it out"
        ));
    }
    let rare = most > Nanos::from_millis(100) && most > p99;
    rare.then(|| format!("single requests went out late by up to {most} through knee's own doing"))
}

fn too_short(figures: &Figures) -> Option<String> {
    let short = figures.intervals == 0 && figures.books.planned > 0;
    short.then(|| "the run was too short to look at knee's own CPU use".to_owned())
}

fn censored(figures: &Figures) -> Option<String> {
    let (count, oldest) = figures.censored?;
    let text = format!("{count} requests were still open at the end, the oldest for {oldest}");
    Some(match (figures.censored_stuck, figures.answered_p99) {
        (stuck @ 1.., Some(p99)) => {
            format!("{text}; {stuck} of them for over twice the p99 of all answered ({p99})")
        }
        _ => text,
    })
}

fn from_warm_up(figures: &Figures) -> Option<String> {
    let count = figures.from_warm_up;
    (count > 0).then(|| {
        format!(
            "{count} requests came due in the warm-up and were open all through the measured time: they count as \
             measured, because their users sent nothing else"
        )
    })
}

/// Share of the requests that opened a connection beyond the first of each user.
const CHURN: f64 = 0.01;

/// The plan does not say whether connections were to be kept, so this is a note and no reason.
fn churn(figures: &Figures) -> Option<String> {
    let opened = figures.connections_opened;
    let share = opened.saturating_sub(figures.users_max) as f64 / figures.books.planned.max(1) as f64;
    (share > CHURN).then(|| {
        format!("{opened} connections were opened for {} requests: unless keep-alive is off, somebody closes them", figures.books.planned)
    })
}

fn resent(figures: &Figures) -> Option<String> {
    let count = figures.resent;
    (count > 0).then(|| {
        format!("{count} requests were sent once more after the target had closed an idle connection")
    })
}

fn surplus(figures: &Figures) -> Option<String> {
    let count = figures.surplus;
    (count > 0).then(|| format!("{count} answers had bytes behind their end, which nothing asked for"))
}

/// More different bodies than a page that varies a little.
const BODIES: u64 = 16;

fn different_bodies(figures: &Figures) -> Option<String> {
    let (count, more) = figures.bodies;
    let at_least = if more { "more than " } else { "" };
    (more || count > BODIES).then(|| format!("{at_least}{count} different bodies came back"))
}

fn different_lengths(figures: &Figures) -> Option<String> {
    let endpoints = figures.endpoints_of_many_lengths;
    (endpoints > 0).then(|| {
        format!("bodies of different lengths came back from {endpoints} of the endpoints: is every answer what was asked for?")
    })
}

fn empty_bodies(figures: &Figures) -> Option<String> {
    let endpoints = figures.endpoints_of_empty_bodies;
    (endpoints > 0).then(|| format!("empty bodies came back from {endpoints} of the endpoints"))
}
