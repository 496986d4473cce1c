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
    fn the_normal_quantile_is_that_of_the_printed_tables() {
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-6);
    }

    #[test]
    fn one_block_bounds_nothing() {
        assert!(quantile(0.975, 0) > f64::MAX);
        assert!(quantile(0.025, 0) < f64::MIN);
    }
}
