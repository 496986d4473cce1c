//! Series with a planted step, without one, and with anything.

use proptest::prelude::*;

use super::*;

/// Figures around `level` with a spread of 2 %.
fn around(level: f64, runs: usize, random: &mut Random) -> Vec<f64> {
    (0..runs).map(|_| level * (0.02 * random.normal()).exp()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_step_is_found_where_it_is_with_its_size(
        seed in any::<u64>(), before in 8_usize..30, after in 8_usize..30, step in 0.15_f64..0.5, rises in any::<bool>(),
    ) {
        let mut random = Random::new(seed);
        let factor = if rises { 1.0 + step } else { 1.0 / (1.0 + step) };
        let mut values = around(500.0, before, &mut random);
        values.extend(around(500.0 * factor, after, &mut random));
        let found = change_points(&values, 1).unwrap();
        let nearest = found.iter().min_by_key(|change| change.at.abs_diff(before));
        let change = nearest.ok_or_else(|| TestCaseError::fail("nothing was found"))?;
        prop_assert!(change.at.abs_diff(before) <= 1, "{found:?}, planted at {before}");
        prop_assert!((change.change - (factor - 1.0)).abs() < 0.05, "{change:?}, planted {factor}");
        prop_assert!(change.low <= change.change && change.change <= change.high);
        prop_assert!(change.low > 0.0 || change.high < 0.0, "{change:?} does not exclude zero");
    }

    #[test]
    fn no_series_breaks_it(values in prop::collection::vec(any::<f64>(), 0..40), seed in any::<u64>()) {
        if let Some(found) = change_points(&values, seed) {
            for change in found {
                prop_assert!(change.at >= SIDE_LEAST && change.at + SIDE_LEAST <= values.len());
            }
        }
    }
}

#[test]
fn without_a_step_hardly_any_series_has_a_change() {
    let mut found = 0;
    let series = 300;
    for seed in 0..series {
        let mut random = Random::new(seed);
        let values = around(500.0, 12 + (seed as usize % 24), &mut random);
        found += usize::from(!change_points(&values, 1).unwrap().is_empty());
    }
    // Of 300 with a probability of 0.01 each, more than 9 are found once in a thousand times.
    assert!(found <= 9, "{found} of {series}");
}

#[test]
fn a_step_that_was_undone_is_two_changes() {
    let mut random = Random::new(3);
    let mut values = around(100.0, 12, &mut random);
    values.extend(around(140.0, 10, &mut random));
    values.extend(around(100.0, 12, &mut random));
    let found = change_points(&values, 1).unwrap();
    let places: Vec<usize> = found.iter().map(|change| change.at).collect();
    assert_eq!(places, [12, 22]);
    assert!(found[0].change > 0.3 && found[1].change < -0.2, "{found:?}");
}

#[test]
fn too_few_runs_and_figures_that_are_not_above_zero_have_no_answer() {
    assert_eq!(change_points(&[1.0; 11], 1), None);
    assert_eq!(change_points(&[1.0; 12], 1), Some(Vec::new()), "what never changes has no change");
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut values = [1.0; 20];
        values[7] = wrong;
        assert_eq!(change_points(&values, 1), None, "{wrong}");
    }
}

#[test]
fn of_a_long_history_the_newest_runs_count() {
    let mut random = Random::new(8);
    let mut values = around(900.0, 300, &mut random);
    values.extend(around(100.0, 100, &mut random));
    values.extend(around(150.0, 100, &mut random));
    let found = change_points(&values, 1).unwrap();
    assert_eq!(found.iter().map(|change| change.at).collect::<Vec<_>>(), [400]);
}

#[test]
fn the_energy_distance_is_that_of_the_formula() {
    let values = [1.0, 2.0, 4.0, 7.0, 11.0];
    let (left, right) = values.split_at(2);
    let pairs = |one: &[f64], other: &[f64]| -> f64 {
        one.iter().flat_map(|a| other.iter().map(move |b| (a - b).abs())).sum()
    };
    // 2/(mn) of the pairs across, less the mean distance of the pairs within each side: m = 2, n = 3.
    let energy = 2.0 / 6.0 * pairs(left, right) - pairs(left, left) / 2.0 - pairs(right, right) / 6.0;
    let found = Distances::of(&values).divergence(2, 5);
    assert!((found - 6.0 / 5.0 * energy).abs() < 1e-12, "{found}");
}
