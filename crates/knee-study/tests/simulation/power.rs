//! Power: how often a difference of the size that studies say they detect is found, and the table of the exact test.

use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::statistics::power::{self, Level};
use knee_study::statistics::sign_flip;

use crate::world::{CALM, Outcome, Truth, UNTOUCHED, World, studies};
use crate::{count, percent};

/// Power at the minimum detectable effect that studies print.
const POWER: std::ops::RangeInclusive<f64> = 0.75..=0.85;

/// How often studies find what they say they find, by one metric among others that do not change.
fn found(world: &World, metrics: &[Metric], few: usize, seed: u64) -> (f64, f64, usize, bool) {
    let (count, long) = count(few);
    let metric = metrics[0];
    let printed = |outcome: &Outcome| outcome.mde / outcome.measured.max(1) as f64;
    let mut mde = printed(&studies(world, Truth::default(), metrics, count.min(400), seed).by[&metric]);
    // The minimum detectable effect of errors depends on how many there are.
    let truth = |mde: f64| match metric {
        Metric::Errors => Truth { slower: 0.0, errors: mde },
        _ => Truth { slower: mde.exp_m1(), errors: 0.0 },
    };
    if metric == Metric::Errors && world.errors == 0.0 {
        mde = printed(&studies(world, Truth::default(), metrics, 20, seed + 1).by[&metric]);
    }
    let outcomes = studies(world, truth(mde), metrics, count, seed + 2);
    (outcomes.share(outcomes.by[&metric].worse), mde, count, long)
}

#[test]
fn a_difference_of_the_minimum_detectable_effect_is_found_four_times_in_five() {
    let mut rows = Vec::new();
    for blocks in [6, 8, 10, 20] {
        for others in [0, 3] {
            let world = World { blocks, run: 0.03, ..CALM };
            let metrics = [&[Metric::P50], &UNTOUCHED[..others]].concat();
            let name = format!("p50, {blocks} blocks, {} tests", metrics.len());
            rows.push((name, world, metrics));
        }
    }
    for errors in [0.0, 0.001, 0.01, 0.1, 0.5] {
        let world = World { errors, requests: 2_000, ..CALM };
        let metrics = [&[Metric::Errors], &UNTOUCHED[..]].concat();
        rows.push((format!("errors at {}, 10 blocks, 4 tests", percent(errors)), world, metrics));
    }
    for (metric, blocks) in [(Metric::P95, 10), (Metric::P95, 20), (Metric::Goodput, 10)] {
        for others in [0, 3] {
            let world = World { blocks, run: 0.03, requests: 1_000, ..CALM };
            let metrics = [&[metric], &UNTOUCHED[..others]].concat();
            rows.push((format!("{metric}, {blocks} blocks, {} tests", metrics.len()), world, metrics));
        }
    }
    let mut wrong = Vec::new();
    for (seed, (name, world, metrics)) in rows.into_iter().enumerate() {
        let (power, mde, count, long) = found(&world, &metrics, 60, 300 + 10 * seed as u64);
        if long {
            println!("| {name} | {:.2} | {} |", mde * 100.0, percent(power));
        }
        let scatter = if long { 0.0 } else { 3.1 * (0.16 / count as f64).sqrt() };
        let held = (POWER.start() - scatter..=POWER.end() + scatter).contains(&power);
        if !held {
            wrong.push(format!("{name}: power {power} at {mde}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The difference, in standard deviations, that the exact test finds in 80 % of `samples` studies.
fn by_exact_test(n_blocks: usize, alpha: f64, samples: usize, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let noise: Vec<Vec<f64>> =
        (0..samples).map(|_| (0..n_blocks).map(|_| random.normal()).collect()).collect();
    let power = |difference: f64| {
        let found = noise.iter().filter(|noise| {
            let shifted: Vec<f64> = noise.iter().map(|noise| noise + difference).collect();
            sign_flip::p_value(&shifted, 0) < alpha
        });
        found.count() as f64 / samples as f64
    };
    let (mut low, mut high) = (0.3, 3.0);
    for _ in 0..12 {
        let middle = f64::midpoint(low, high);
        if power(middle) < power::POWER { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

#[test]
fn the_table_of_the_exact_test_is_what_it_finds() {
    let (_, long) = count(0);
    let mut wrong = Vec::new();
    for alpha in [0.05, 0.0294] {
        let level = Level { alpha, tests: 1 };
        for n_blocks in if long { vec![6, 7, 8, 9, 10, 11, 12, 13, 14] } else { vec![7, 8, 10] } {
            let samples = if long { 20_000 } else { 1_500 };
            let found = by_exact_test(n_blocks, alpha, samples, 400 + n_blocks as u64);
            if long {
                println!("exact test, level {alpha}, {n_blocks} blocks: {found:.3}");
            }
            if n_blocks >= level.least_blocks() {
                let known = power::mde(n_blocks, level) * power::mean_deviation(n_blocks);
                if (found / known - 1.0).abs() > if long { 0.02 } else { 0.06 } {
                    wrong.push(format!("{alpha}, {n_blocks}: {found}, not {known}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
