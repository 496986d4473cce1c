//! Quantiles of Student's t distribution, for intervals and for power.
//!
//! Does not test anything by itself.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The value below which a t-distributed variable with `freedom` degrees of freedom stays with probability
/// `probability` (above 0, below 1). Infinite without a degree of freedom: one block says nothing about the spread.
pub fn quantile(probability: f64, freedom: usize) -> f64 {
    if freedom == 0 {
        return f64::INFINITY.copysign(probability - 0.5);
    }
    match StudentsT::new(0.0, 1.0, freedom as f64) {
        Ok(distribution) => distribution.inverse_cdf(probability),
        Err(_) => f64::NAN,
    }
}

/// Probability that a t-distributed variable is as far from 0 as `t`, on either side. 0 for an infinite `t`, 1 without
/// a degree of freedom.
pub fn two_sided_p(t: f64, freedom: usize) -> f64 {
    if t.is_infinite() && freedom > 0 {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(1.0, |distribution| 2.0 * distribution.cdf(-t.abs()))
}

/// The value below which a standard normal variable stays with probability `probability` (above 0, below 1).
pub fn normal_quantile(probability: f64) -> f64 {
    Normal::new(0.0, 1.0).map_or(f64::NAN, |distribution| distribution.inverse_cdf(probability))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        // Table 12 of Pearson and Hartley, Biometrika Tables for Statisticians.
        let table =
            [(0.975, 9, 2.262), (0.975, 5, 2.571), (0.975, 19, 2.093), (0.8, 9, 0.883), (0.95, 9, 1.833)];
        for (probability, freedom, expected) in table {
            let found = quantile(probability, freedom);
            assert!((found - expected).abs() < 6e-4, "t({probability}, {freedom}) = {found}, not {expected}");
        }
    }

    #[test]
    fn a_quantile_has_its_own_probability_beyond_it() {
        for freedom in [1, 5, 9, 40] {
            let p = two_sided_p(-quantile(0.975, freedom), freedom);
            assert!((p - 0.05).abs() < 1e-9, "{freedom}: {p}");
        }
        assert!(two_sided_p(f64::INFINITY, 7) <= 0.0);
        assert!((two_sided_p(3.0, 0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_normal_quantile_is_that_of_the_printed_tables() {
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-6);
    }

    #[test]
    fn one_block_bounds_nothing() {
        assert!(quantile(0.975, 0) > f64::MAX);
        assert!(quantile(0.025, 0) < f64::MIN);
    }
}
