//! Estimands: verdicts by the rule, intervals of shares, bounds, power.

use super::*;
use crate::statistics::verdict::{ALPHA, ALPHA_OF_TWO};

const RULE: Rule = Rule { level: Level { alpha: ALPHA, tests: 1 }, margin: 0.048_79 };

/// Ten blocks around `mean` that vary by about `spread`.
fn blocks(metric: Metric, mean: f64, spread: f64) -> Estimand {
    let shape = [-1.3, 0.4, 1.1, -0.2, 0.9, -1.0, 0.3, -0.6, 1.2, -0.8];
    let contributions = shape.iter().map(|position| mean + spread * position).collect();
    Estimand::new(metric, Contrast::PerBlock, (0..10).collect(), contributions).unwrap()
}

fn verdict(estimand: &Estimand) -> Verdict {
    estimand.verdict(estimand.p(), estimand.exact_p(0), &RULE)
}

#[test]
fn a_verdict_has_the_direction_of_its_metric() {
    for (metric, mean, spread, expected) in [
        (Metric::P50, 0.10, 0.03, Verdict::Worse),
        (Metric::P50, -0.10, 0.03, Verdict::Better),
        (Metric::Goodput, 0.10, 0.03, Verdict::Better),
        (Metric::Memory, 0.10, 0.03, Verdict::Worse),
        (Metric::Throughput, 0.10, 0.03, Verdict::More),
        (Metric::GeneratorCpuPerRequest, -0.10, 0.03, Verdict::Less),
        (Metric::P50, 0.002, 0.02, Verdict::Same),
        (Metric::P50, 0.03, 0.10, Verdict::Undecided),
        // Certain, and within the margin: by its direction.
        (Metric::P50, 0.02, 0.002, Verdict::Worse),
    ] {
        assert_eq!(verdict(&blocks(metric, mean, spread)), expected, "{metric} {mean} {spread}");
    }
}

#[test]
fn a_p_that_does_not_survive_the_correction_decides_nothing() {
    let found = blocks(Metric::P50, 0.10, 0.03);
    assert_eq!(found.verdict(0.06, 0.001, &RULE), Verdict::Undecided);
    assert_eq!(found.verdict(0.001, 0.06, &RULE), Verdict::Undecided, "nor one of the exact test");
}

/// A block of each kind: bit by bit of `pattern` no difference, or one of twice the margin.
fn halves(n_blocks: usize, pattern: u32) -> Estimand {
    let difference = |block: usize| if (pattern >> block) & 1 == 0 { 0.0 } else { 2.0 * RULE.margin };
    let contributions = (0..n_blocks).map(difference).collect();
    Estimand::new(Metric::P50, Contrast::PerBlock, (0..n_blocks).collect(), contributions).unwrap()
}

#[test]
fn few_blocks_that_agree_by_chance_are_not_called_the_same() {
    // The services differ by the margin: half of all blocks show nothing, the other half twice as much. Without a least
    // number of blocks, `same` would be wrong in a quarter of the studies of two blocks, and in an eighth of three.
    for n_blocks in 1..=6 {
        let patterns = 1_u32 << n_blocks;
        let wrong = (0..patterns).filter(|pattern| verdict(&halves(n_blocks, *pattern)) == Verdict::Same);
        let share = wrong.count() as f64 / f64::from(patterns);
        assert!(share <= ALPHA, "{n_blocks} blocks: {share}");
    }
    assert_eq!(verdict(&halves(5, 0)), Verdict::Undecided, "as a difference needs six");
    assert_eq!(verdict(&halves(6, 0)), Verdict::Same);
    let twice = Rule { level: Level { alpha: ALPHA_OF_TWO, tests: 1 }, ..RULE };
    assert_eq!(
        halves(6, 0).verdict(1.0, 1.0, &twice),
        Verdict::Undecided,
        "seven, if the study can be extended"
    );
}

#[test]
fn a_lower_bound_on_one_side_leaves_the_interval_open_there() {
    let slow = blocks(Metric::P95, 0.10, 0.03).censored_by(Censored::To);
    assert!(slow.interval(ALPHA).high.is_infinite());
    assert_eq!(verdict(&slow), Verdict::Worse, "it is this slow at least");
    assert_eq!(verdict(&blocks(Metric::P95, -0.10, 0.03).censored_by(Censored::To)), Verdict::Undecided);
    assert_eq!(verdict(&blocks(Metric::P95, -0.10, 0.03).censored_by(Censored::From)), Verdict::Better);
    assert_eq!(verdict(&blocks(Metric::P95, 0.0, 0.001).censored_by(Censored::Both)), Verdict::Undecided);
}

/// Blocks of 1,000 requests per side without any error.
fn clean(n_blocks: usize) -> Estimand {
    let counted = Counted { failed: 0, of: 1_000 * n_blocks as u64 };
    let found =
        Estimand::new(Metric::Errors, Contrast::PerBlock, (0..n_blocks).collect(), vec![0.0; n_blocks]);
    found.unwrap().counted(Counts::Change { from: counted, to: counted })
}

#[test]
fn blocks_without_errors_bound_the_change_of_their_share_by_their_requests() {
    let margin = Rule { margin: 0.001, ..RULE };
    let ten = clean(10);
    // 1 - 0.025^(1/10,000) = 0.0369 %; one-sided 0.03 %, which is within the margin of 0.1 points.
    let interval = ten.interval(ALPHA);
    assert!(
        (interval.high - 3.688e-4).abs() < 1e-6 && (interval.low + 3.688e-4).abs() < 1e-6,
        "{interval:?}"
    );
    assert_eq!(ten.verdict(1.0, 1.0, &margin), Verdict::Same);
    assert_eq!(clean(2).verdict(1.0, 1.0, &margin), Verdict::Undecided, "3 in 2,000 are above 0.1 points");
}

#[test]
fn errors_that_were_never_seen_have_a_minimum_detectable_effect() {
    let mde = clean(10).mde(&Rule { margin: 0.001, ..RULE }).unwrap();
    // About an error per block of 1,000.
    assert!((0.0005..0.003).contains(&mde), "{mde}");
    assert_eq!(clean(5).mde(&RULE), None, "five blocks decide nothing");
}

/// Ten blocks of 10,000 requests of each service, 1 % of which fail, and whose differences scatter by so many times what
/// chance explains.
fn failing(scatter: f64) -> Estimand {
    let counted = Counted { failed: 1_000, of: 100_000 };
    let by_chance = (2.0 * 0.01 * 0.99 / 10_000.0_f64).sqrt();
    // Five up and five down: their measured deviation is a little larger than the step.
    let step = scatter * by_chance * (9.0 / 10.0_f64).sqrt();
    let contributions = (0..10).map(|block| if block % 2 == 0 { step } else { -step }).collect();
    let found = Estimand::new(Metric::Errors, Contrast::PerBlock, (0..10).collect(), contributions);
    found.unwrap().counted(Counts::Change { from: counted, to: counted })
}

#[test]
fn the_minimum_detectable_effect_of_errors_is_that_of_their_scatter_and_not_below_what_chance_leaves() {
    let mde = |scatter: f64| failing(scatter).mde(&RULE).unwrap();
    // By hand: 1.031 standard deviations, of 0.1407 points each, with half of 1.031^2 / 10,000 for the change itself.
    assert!((mde(1.0) - 0.001_502).abs() < 0.000_03, "{}", mde(1.0));
    assert!((3.8..4.0).contains(&(mde(4.0) / mde(1.0))), "{} {}", mde(4.0), mde(1.0));
    assert!((mde(0.1) - mde(0.3)).abs() < 1e-12, "both scatter less than chance explains");
    assert!((0.55..0.65).contains(&(mde(0.1) / mde(1.0))), "{} {}", mde(0.1), mde(1.0));
    let needed = |scatter: f64| failing(scatter).blocks_needed(&Rule { margin: 0.001, ..RULE });
    assert!(needed(1.0) < needed(4.0) && needed(1.0) > Some(15), "{:?} {:?}", needed(1.0), needed(4.0));
}

#[test]
fn the_minimum_detectable_effect_grows_with_the_number_of_tests() {
    let found = blocks(Metric::P50, 0.0, 0.05);
    let of = |tests: usize| found.mde(&Rule { level: Level { tests, ..RULE.level }, ..RULE }).unwrap();
    assert!(of(1) < of(4) && of(4) < of(20), "{} {} {}", of(1), of(4), of(20));
}

#[test]
fn blocks_needed_are_more_than_there_are_or_unknown() {
    let noisy = blocks(Metric::P50, 0.03, 0.10);
    assert!(noisy.blocks_needed(&RULE).is_some_and(|needed| needed > 10));
    assert_eq!(
        blocks(Metric::P50, 0.04, 0.02).blocks_needed(&RULE),
        None,
        "these are enough, and it is close"
    );
}

#[test]
fn a_block_that_carries_the_effect_alone_is_named() {
    let mut contributions = vec![0.10, 0.11, 0.09, 0.10, 0.12, 0.11, 0.10, 0.09];
    contributions[3] = -0.35;
    let found = Estimand::new(Metric::P50, Contrast::PerBlock, (10..18).collect(), contributions).unwrap();
    assert_eq!(found.moved_by(&RULE), [13]);
}
