//! Verdicts in worlds of which the truth is known: how often they are wrong, what they find, and how wide intervals are.
//!
//! The ordinary tests run a small part. `KNEE_SIMULATION=2000 cargo test --release -p knee-study --test simulation --
//! --nocapture --test-threads=1` runs that many studies per row of the tables in BENCHMARKS.md, prints the tables and
//! holds the limits exactly. All seeds are fixed: a failure is the same on every machine.

#![allow(clippy::print_stdout, reason = "the long form prints its tables")]

mod power;

mod world;

use knee_study::metric::Metric;
use world::{CALM, Outcome, Outcomes, Tail, Truth, World, studies};

/// Studies per row: those that the long form asks for, or a few.
fn count(few: usize) -> (usize, bool) {
    let asked = std::env::var("KNEE_SIMULATION").ok().and_then(|text| text.parse().ok());
    (asked.unwrap_or(few), asked.is_some())
}

/// In the long form the limit itself; in the short one, what a share with this limit exceeds in one of a thousand samples.
fn limit(rate: f64, samples: usize, long: bool) -> f64 {
    if long { rate } else { rate + 3.1 * (rate * (1.0 - rate) / samples as f64).sqrt() }
}

const FALSE_MAX: f64 = 0.055;
const COVERED_MIN: f64 = 0.935;

const TIMES: [Metric; 4] = [Metric::Goodput, Metric::P50, Metric::P95, Metric::Errors];

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// What is wrong with a row: false verdicts of equal services, and coverage of the intervals of every metric.
fn equal(name: &str, world: &World, metrics: &[Metric], few: usize, seed: u64) -> Vec<String> {
    let (count, long) = count(few);
    let found = studies(world, Truth::default(), metrics, count, seed);
    if long {
        print_row(name, &found);
    }
    let any = found.share(found.any);
    let mut wrong = covered(name, &found, long);
    if any > limit(FALSE_MAX, count, long) {
        wrong.push(format!("{name}, seed {seed}: {any} false"));
    }
    wrong
}

/// The metrics whose intervals miss the truth too often.
fn covered(name: &str, found: &Outcomes, long: bool) -> Vec<String> {
    found.by.iter().filter_map(|(metric, outcome)| misses(name, *metric, outcome, long)).collect()
}

fn misses(name: &str, metric: Metric, outcome: &Outcome, long: bool) -> Option<String> {
    if outcome.measured == 0 {
        return None;
    }
    let missed = 1.0 - outcome.coverage();
    let most = limit(1.0 - COVERED_MIN, outcome.measured, long);
    (missed > most).then(|| format!("{name}: {metric} missed {missed} of {}", outcome.measured))
}

fn none(wrong: &[String]) {
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn print_row(name: &str, found: &Outcomes) {
    let by = found.by.iter().map(|(metric, outcome)| {
        let unit = if *metric == Metric::Errors { "points" } else { "%" };
        let same = found.share(outcome.same);
        format!(
            "{metric} {} ± {:.2} {unit} ({} same)",
            percent(outcome.coverage()),
            outcome.mean_width() * 50.0,
            percent(same)
        )
    });
    println!("| {name} | {} | {} |", percent(found.share(found.any)), by.collect::<Vec<_>>().join(", "));
}

/// The alternative to merged percentiles, for the record of the decision; only in the long form, and without limits.
#[test]
fn percentiles_of_single_trials_beside_merged_ones() {
    let (count, long) = count(0);
    if !long {
        return;
    }
    for (name, world) in [
        ("1,000 requests per trial", World { requests: 1_000, ..CALM }),
        (
            "the same, waves, runs 4 %, drift 2 %",
            World { requests: 1_000, phi: 0.9, run: 0.04, drift: 0.02, ..CALM },
        ),
        ("the same, Pareto", World { requests: 1_000, tail: Tail::Pareto, ..CALM }),
        ("a tenth of the runs stalls", World { requests: 1_000, stalls: 0.1, run: 0.02, ..CALM }),
    ] {
        for per_trial in [false, true] {
            let found = studies(
                &World { per_trial, ..world },
                Truth::default(),
                &[Metric::P50, Metric::P95, Metric::P99],
                count,
                500,
            );
            print_row(&format!("{name}, {}", if per_trial { "single trials" } else { "merged" }), &found);
        }
    }
}

/// The corners of the grid of noise.
fn corners() -> Vec<(&'static str, World)> {
    vec![
        ("calm, 10 blocks", CALM),
        ("slow waves, runs 4 %, drift 2 %", World { phi: 0.98, run: 0.04, drift: 0.02, ..CALM }),
        ("waves, drift 2 %, Pareto", World { phi: 0.9, drift: 0.02, tail: Tail::Pareto, ..CALM }),
        (
            "waves, runs 4 %, Pareto, 20 blocks",
            World { phi: 0.9, run: 0.04, blocks: 20, tail: Tail::Pareto, ..CALM },
        ),
        ("slow waves, 6 blocks", World { phi: 0.98, run: 0.0, blocks: 6, ..CALM }),
        ("waves, runs 4 %, 8 blocks", World { phi: 0.9, run: 0.04, blocks: 8, ..CALM }),
        ("waves, runs 4 %, 8 to 16 blocks", World { phi: 0.9, run: 0.04, blocks: 8, extend: true, ..CALM }),
    ]
}

#[test]
fn equal_services_are_rarely_called_different_and_intervals_hold_the_truth() {
    let rows = corners().into_iter().enumerate();
    none(
        &rows
            .flat_map(|(seed, (name, world))| equal(name, &world, &TIMES, 60, seed as u64))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn equal_shares_of_errors_are_rarely_called_different_whatever_the_level() {
    let mut wrong = Vec::new();
    for (seed, errors) in [0.0, 0.001, 0.01, 0.1, 0.5].into_iter().enumerate() {
        for (kind, bursts) in [("independent", 0.0), ("in bursts", 0.5)] {
            let world = World { errors, bursts, requests: 2_000, ..CALM };
            let name = format!("errors {} {kind}", percent(errors));
            wrong.extend(equal(&name, &world, &[Metric::Errors, Metric::P50], 24, 40 + seed as u64));
        }
    }
    none(&wrong);
}

#[test]
fn merged_percentiles_hold_the_truth_where_runs_stall_and_single_trials_are_too_short() {
    let metrics = [Metric::P50, Metric::P95, Metric::P99];
    let mut wrong = Vec::new();
    for (seed, (name, world)) in [
        ("p99 of 1,000 requests per trial", World { requests: 1_000, ..CALM }),
        (
            "the same, waves, runs 4 %, drift 2 %",
            World { requests: 1_000, phi: 0.9, run: 0.04, drift: 0.02, ..CALM },
        ),
        ("the same, Pareto", World { requests: 1_000, tail: Tail::Pareto, ..CALM }),
        ("a tenth of the runs stalls", World { requests: 1_000, stalls: 0.1, run: 0.02, ..CALM }),
        ("the same, 8 blocks", World { requests: 1_250, stalls: 0.1, run: 0.02, blocks: 8, ..CALM }),
    ]
    .into_iter()
    .enumerate()
    {
        wrong.extend(equal(name, &world, &metrics, 40, 60 + seed as u64));
    }
    none(&wrong);
}

/// Worlds in which slow requests run into a time limit: far above the 95th percentile, at it, below it, and at the median.
fn limited() -> [(&'static str, World); 4] {
    let limited = |limit: f64| World { limit, requests: 1_000, ..CALM };
    [
        (
            "time limit at 2.5 medians, drift 2 %, Pareto",
            World { drift: 0.02, tail: Tail::Pareto, ..limited(2.5) },
        ),
        ("time limit at 1.8 medians", limited(1.8)),
        ("time limit at 1.5 medians, waves, runs 4 %", World { phi: 0.9, run: 0.04, ..limited(1.5) }),
        ("time limit at the median", limited(1.0)),
    ]
}

/// Worlds of services that turn away what they cannot serve.
fn shedding() -> [(&'static str, World); 4] {
    let shedding = |load: f64| World { load, requests: 1_000, ..CALM };
    [
        ("a fifth is turned away", shedding(1.25)),
        (
            "a fifth is turned away, waves, runs 4 %, drift 2 %",
            World { phi: 0.9, run: 0.04, drift: 0.02, ..shedding(1.25) },
        ),
        ("half is turned away", shedding(2.0)),
        ("a tenth is turned away, 8 blocks", World { blocks: 8, ..shedding(1.0 / 0.9) }),
    ]
}

#[test]
fn equal_services_with_a_time_limit_are_rarely_called_different_and_intervals_hold_the_truth() {
    let rows = limited().into_iter().enumerate();
    none(
        &rows
            .flat_map(|(seed, (name, world))| equal(name, &world, &TIMES, 24, 600 + seed as u64))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn equal_services_that_shed_load_are_rarely_called_different_and_intervals_hold_the_truth() {
    let rows = shedding().into_iter().enumerate();
    none(
        &rows
            .flat_map(|(seed, (name, world))| equal(name, &world, &TIMES, 24, 620 + seed as u64))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn intervals_hold_a_true_change_where_requests_run_into_a_time_limit_or_are_turned_away() {
    let (count, long) = count(24);
    let truth = Truth { slower: 0.05, errors: 0.0 };
    // A time limit leaves the percentiles as they are, and a service that sheds load the share that it serves.
    let (times, shares) = ([Metric::P50, Metric::P95], [Metric::Goodput, Metric::Errors]);
    let limited = limited().into_iter().map(|row| (row, &times));
    let rows = limited.chain(shedding().into_iter().map(|row| (row, &shares)));
    let mut wrong = Vec::new();
    for (seed, ((name, world), metrics)) in rows.enumerate() {
        let found = studies(&world, truth, metrics, count, 640 + seed as u64);
        if long {
            print_row(&format!("{name}, 5 % slower"), &found);
        }
        wrong.extend(covered(name, &found, long));
    }
    none(&wrong);
}

#[test]
fn intervals_hold_a_true_change() {
    let (count, long) = count(60);
    let mut wrong = Vec::new();
    for (seed, (name, world)) in corners().into_iter().enumerate().filter(|(_, (_, world))| !world.extend) {
        let truth = Truth { slower: 0.05, errors: 0.0 };
        let found = studies(&world, truth, &TIMES, count, 100 + seed as u64);
        if long {
            print_row(&format!("{name}, 5 % slower"), &found);
        }
        wrong.extend(covered(name, &found, long));
    }
    for (seed, errors) in [0.0, 0.001, 0.01, 0.1, 0.5].into_iter().enumerate() {
        let world = World { errors, bursts: 0.3, requests: 2_000, ..CALM };
        let truth = Truth { slower: 0.0, errors: 0.01 };
        let found = studies(&world, truth, &[Metric::Errors], count, 120 + seed as u64);
        if long {
            print_row(&format!("errors {} in bursts, 1 point more", percent(errors)), &found);
        }
        wrong.extend(covered(&format!("errors {errors}"), &found, long));
    }
    none(&wrong);
}

#[test]
fn a_planted_point_of_errors_is_found_and_is_not_the_same() {
    for errors in [0.0, 0.001, 0.01] {
        let world = World { errors, requests: 2_000, ..CALM };
        let found = studies(&world, Truth { slower: 0.0, errors: 0.01 }, &TIMES, 20, 140);
        assert_eq!(found.by[&Metric::Errors].worse, 20, "{errors}: {found:?}");
    }
}

#[test]
fn a_difference_beyond_the_margin_is_not_called_the_same() {
    let (count, long) = count(60);
    for (seed, (name, world)) in corners().into_iter().enumerate() {
        let found =
            studies(&world, Truth { slower: 0.075, errors: 0.0 }, &TIMES[..3], count, 200 + seed as u64);
        for (metric, outcome) in &found.by {
            let same = found.share(outcome.same);
            assert!(same <= limit(0.01, count, long), "{name}: {metric} {same}");
        }
    }
    for (seed, errors) in [0.0, 0.01, 0.1, 0.5].into_iter().enumerate() {
        let world = World { errors, requests: 2_000, ..CALM };
        let truth = Truth { slower: 0.0, errors: 0.0015 };
        let found = studies(&world, truth, &[Metric::Errors], count, 220 + seed as u64);
        let same = found.share(found.by[&Metric::Errors].same);
        assert!(same <= limit(0.05, count, long), "errors {errors}: {same}");
    }
}

#[test]
fn no_errors_in_few_requests_are_not_the_same() {
    // 3 / 10 / 200 is far above 0.1 points; 3 / 10 / 1,000 is below.
    let few = studies(&World { requests: 200, ..CALM }, Truth::default(), &[Metric::Errors], 5, 240);
    assert_eq!(few.by[&Metric::Errors].same, 0);
    let many = studies(&World { requests: 1_000, ..CALM }, Truth::default(), &[Metric::Errors], 5, 240);
    assert_eq!(many.by[&Metric::Errors].same, 5);
}

#[test]
fn percentiles_at_the_time_limit_are_not_called_the_same() {
    let world = World { censored: 0.2, requests: 1_000, ..CALM };
    let found = studies(&world, Truth::default(), &[Metric::P50, Metric::P95], 10, 250);
    let limited = found.by[&Metric::P95];
    assert_eq!((limited.measured, limited.same, limited.different), (10, 0, 0), "{limited:?}");
    assert!(found.by[&Metric::P50].same > 0, "the median is exact: {found:?}");
}

#[test]
fn percentiles_beyond_a_time_limit_are_lower_bounds_and_get_no_verdict() {
    let world = World { limit: 1.5, requests: 1_000, ..CALM };
    let truth = Truth { slower: 0.2, errors: 0.0 };
    let found = studies(&world, truth, &[Metric::P50, Metric::P95, Metric::Errors], 10, 660);
    let (p50, p95, errors) = (found.by[&Metric::P50], found.by[&Metric::P95], found.by[&Metric::Errors]);
    assert_eq!((p95.measured, p95.different, p95.same), (10, 0, 0), "{p95:?}");
    assert_eq!((p50.worse, errors.worse), (10, 10), "what is below the limit is found: {found:?}");
}

#[test]
fn a_service_that_sheds_load_is_not_faster_for_it() {
    let world = World { requests: 1_000, ..CALM };
    let found = studies(&world, Truth { slower: 0.0, errors: 0.4 }, &[Metric::P50, Metric::Errors], 10, 260);
    let (p50, errors) = (found.by[&Metric::P50], found.by[&Metric::Errors]);
    assert_eq!((p50.worse, errors.worse), (10, 10), "requests that fail rank slowest: {found:?}");
}
