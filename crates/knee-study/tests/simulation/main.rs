//! Verdicts in worlds of which the truth is known: how often they are wrong, and what they find.
//!
//! A part of the grid, small enough for every build; `cargo run --release -p knee-study --example simulation` runs all
//! of it with 2,000 studies per cell, and BENCHMARKS.md has the results. All seeds are fixed: a
//! failure is the same on every machine.

mod world;

use world::{METRICS, Outcome, Tail, World};

/// Studies of a cell.
const STUDIES: usize = 250;

const QUIET: World = World { phi: 0.0, run: 0.01, drift: 0.0, tail: Tail::Light, blocks: 10, extend: false };

/// The corners of the grid.
fn corners() -> Vec<World> {
    vec![
        QUIET,
        World { phi: 0.98, run: 0.04, drift: 0.02, ..QUIET },
        World { phi: 0.9, drift: 0.02, tail: Tail::Pareto, ..QUIET },
        World { phi: 0.9, run: 0.04, blocks: 20, tail: Tail::Pareto, ..QUIET },
        World { phi: 0.98, run: 0.0, blocks: 6, ..QUIET },
    ]
}

/// Studies of a world in which the second service is slower by this share.
fn studies(world: &World, slower: f64, seed: u64) -> Outcome {
    world::studies(world, &[slower], STUDIES, seed)[0]
}

/// A share that is 5 % in truth is below this in all but one of a thousand such samples.
fn limit(rate: f64, samples: usize) -> f64 {
    rate + 3.1 * (rate * (1.0 - rate) / samples as f64).sqrt()
}

#[test]
fn two_identical_services_are_rarely_called_different() {
    for (seed, world) in corners().into_iter().enumerate() {
        let outcome = studies(&world, 0.0, seed as u64);
        // The metrics of one study depend on each other: they count as one sample.
        let each = outcome.rejected as f64 / (STUDIES * METRICS) as f64;
        assert!(each <= limit(0.05, STUDIES), "{world:?}, seed {seed}: {each} a metric");
        let any = outcome.share(outcome.any);
        assert!(any <= limit(0.05, STUDIES), "{world:?}, seed {seed}: {any} of all metrics together");
    }
}

#[test]
fn intervals_hold_the_truth_nineteen_times_in_twenty() {
    for (seed, world) in corners().into_iter().enumerate() {
        let outcome = studies(&world, 0.05, 100 + seed as u64);
        let missed = 1.0 - outcome.share(outcome.covered);
        assert!(missed <= limit(0.05, STUDIES), "{world:?}, seed {seed}: {missed} missed");
        assert!(
            missed >= 0.05 - (limit(0.05, STUDIES) - 0.05),
            "{world:?}, seed {seed}: only {missed} missed"
        );
    }
}

#[test]
fn five_and_ten_per_cent_are_found_where_blocks_vary_by_four() {
    let world = World { drift: 0.005, ..QUIET };
    for (slower, least) in [(0.05, 0.80), (0.10, 0.99)] {
        let outcome = studies(&world, slower, 7);
        let deviation = outcome.deviation / STUDIES as f64;
        assert!((0.03..0.05).contains(&deviation), "the world is one of those: {deviation}");
        assert!(outcome.share(outcome.found) >= least, "{slower}: {outcome:?}");
        assert_eq!(outcome.wrong_way, 0);
    }
}

#[test]
fn a_difference_beyond_the_margin_is_not_called_the_same() {
    for (seed, world) in corners().into_iter().enumerate() {
        let outcome = studies(&world, 0.075, 200 + seed as u64);
        assert!(outcome.share(outcome.same) <= limit(0.01, STUDIES), "{world:?}: {outcome:?}");
    }
}

#[test]
fn going_on_once_when_undecided_does_not_make_chance_a_verdict() {
    let world = World { phi: 0.9, run: 0.04, extend: true, ..QUIET };
    let outcome = studies(&world, 0.0, 11);
    assert!(outcome.blocks > STUDIES * 12, "some went on: {outcome:?}");
    assert!(outcome.share(outcome.any) <= limit(0.05, STUDIES), "{outcome:?}");
}
