//! The universal scalability law, if the steps support it.
//!
//! ```text
//! X(N) = γ N / (1 + σ (N - 1) + κ N (N - 1))         (Gunther, Guerrilla Capacity Planning, 2007)
//! ```
//!
//! N is the number in flight by Little's law, not a number of users. Claims no more than was measured: no peak beyond
//! the greatest N, none if κ might be zero, and no model if it does not fit.

use crate::statistics::student;

/// Fewest steps.
pub const STEPS_MIN: usize = 6;
/// Share of the variance that the model must explain.
pub const R2_MIN: f64 = 0.98;
/// The steps must reach this many times the number in flight at the knee.
pub const REACH_MIN: f64 = 2.0;
/// A peak counts if the throughput where the steps end is at most this share of the maximum.
const FALL_MAX: f64 = 0.97;

/// A fitted law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// Throughput per second at one in flight.
    pub gamma: f64,
    /// Contention, 0 or more.
    pub sigma: f64,
    /// Crosstalk, 0 or more.
    pub kappa: f64,
    /// Share of the variance of the throughput that the law explains.
    pub r2: f64,
    /// Greatest number in flight that was measured.
    pub reach: f64,
    /// Number in flight and throughput at the peak; `None` if no decline was seen. No decline: the 95 % interval of κ
    /// touches zero, or the throughput of the step with the most in flight is less than 3 % below the maximum. The
    /// second condition is needed because a service with a hard limit bends so sharply that the fit needs κ for the
    /// bend.
    pub peak: Option<(f64, f64)>,
}

/// Why the law is not fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfit {
    /// Too few steps.
    Steps(usize),
    /// The steps do not reach far enough beyond the knee.
    Reach {
        /// Greatest number in flight.
        reached: f64,
        /// The number that is needed.
        needed: f64,
    },
    /// The law does not explain the measurements.
    R2(f64),
    /// The residuals have a pattern: the curve has another shape.
    Pattern,
    /// The steps do not determine it (they are all alike).
    Degenerate,
}

impl Law {
    /// Throughput at `n` in flight.
    pub fn throughput(&self, n: f64) -> f64 {
        self.gamma * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }
}

/// Fits the law to (number in flight, throughput per second) of steady steps. `knee` is the number in
/// flight at the knee.
///
/// # Errors
///
/// Why it cannot be fitted.
pub fn fit(steps: &[(f64, f64)], knee: Option<f64>) -> Result<Law, Unfit> {
    if steps.len() < STEPS_MIN {
        return Err(Unfit::Steps(steps.len()));
    }
    let reach = steps.iter().map(|(n, _)| *n).fold(0.0, f64::max);
    let needed = REACH_MIN * knee.unwrap_or(f64::INFINITY);
    if reach < needed {
        return Err(Unfit::Reach { reached: reach, needed });
    }
    let start = non_negative(steps).ok_or(Unfit::Degenerate)?;
    let abc = refine(steps, start);
    let r2 = explained(steps, abc);
    if r2 < R2_MIN {
        return Err(Unfit::R2(r2));
    }
    // What explains all but a ten-thousandth is good enough, whatever shape that has.
    if r2 < 0.9999 && has_pattern(steps, abc) {
        return Err(Unfit::Pattern);
    }
    let [a, b, c] = abc;
    let mut law = Law { gamma: 1.0 / a, sigma: b / a, kappa: c / a, r2, reach, peak: None };
    if kappa_is_above_zero(steps, abc) {
        let n = ((1.0 - law.sigma).max(0.0) / law.kappa).sqrt();
        law.peak = (n > 1.0 && n < reach && has_fallen(steps)).then(|| (n, law.throughput(n)));
    }
    Ok(law)
}

/// Whether the step with the most in flight had less throughput than the best step.
fn has_fallen(steps: &[(f64, f64)]) -> bool {
    let most = steps.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    let last = steps.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    last.is_some_and(|(_, x)| *x < FALL_MAX * most)
}

/// The law is linear in a = 1/γ, b = σ/γ, c = κ/γ: N/X = a + b (N - 1) + c N (N - 1).
fn terms(n: f64) -> [f64; 3] {
    [1.0, n - 1.0, n * (n - 1.0)]
}

fn model(abc: [f64; 3], n: f64) -> f64 {
    n / terms(n).iter().zip(abc).map(|(term, coefficient)| term * coefficient).sum::<f64>()
}

/// Least squares of N/X with no coefficient below zero, weighted by (X²/N)², so that errors count as errors of X.
/// Tries every set of zero coefficients; for three coefficients these are few.
fn non_negative(steps: &[(f64, f64)]) -> Option<[f64; 3]> {
    let sets = [[true, true, true], [true, true, false], [true, false, true], [true, false, false]];
    let solved = sets.into_iter().filter_map(|set| {
        let abc = solve_set(steps, set, |n, x| ((x * x / n).powi(2), n / x, terms(n)))?;
        (abc[0] > 0.0 && abc[1] >= 0.0 && abc[2] >= 0.0).then_some(abc)
    });
    solved.min_by(|one, other| squares(steps, *one).total_cmp(&squares(steps, *other)))
}

/// Sum of the squared errors of X.
fn squares(steps: &[(f64, f64)], abc: [f64; 3]) -> f64 {
    steps.iter().map(|(n, x)| (x - model(abc, *n)).powi(2)).sum()
}

/// Five Gauss-Newton steps on X itself; a step that would make it worse, or a coefficient negative,
/// is not taken.
fn refine(steps: &[(f64, f64)], start: [f64; 3]) -> [f64; 3] {
    let mut abc = start;
    for _ in 0..5 {
        let free = abc.map(|coefficient| coefficient > 0.0);
        let residual = |n: f64, x: f64| (1.0, x - model(abc, n), gradient(abc, n));
        let Some(step) = solve_set(steps, free, residual) else { break };
        let mut next = abc;
        next.iter_mut().zip(step).for_each(|(coefficient, by)| *coefficient += by);
        let allowed = next[0] > 0.0 && next[1] >= 0.0 && next[2] >= 0.0;
        if !allowed || squares(steps, next) >= squares(steps, abc) {
            break;
        }
        abc = next;
    }
    abc
}

/// dX/da, dX/db, dX/dc.
fn gradient(abc: [f64; 3], n: f64) -> [f64; 3] {
    let x = model(abc, n);
    terms(n).map(|term| -x * x / n * term)
}

/// Weighted least squares over the coefficients that `set` leaves free; the others are zero.
/// `row` gives weight, target and terms of a step.
fn solve_set(
    steps: &[(f64, f64)],
    set: [bool; 3],
    row: impl Fn(f64, f64) -> (f64, f64, [f64; 3]),
) -> Option<[f64; 3]> {
    let (matrix, right) = normal(steps, set, row);
    solve(matrix, right)
}

/// The normal equations; a coefficient that is not free has the equation x = 0.
fn normal(
    steps: &[(f64, f64)],
    set: [bool; 3],
    row: impl Fn(f64, f64) -> (f64, f64, [f64; 3]),
) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (n, x) in steps {
        let (weight, target, terms) = row(*n, *x);
        for i in (0..3).filter(|i| set[*i]) {
            right[i] += weight * terms[i] * target;
            for j in (0..3).filter(|j| set[*j]) {
                matrix[i][j] += weight * terms[i] * terms[j];
            }
        }
    }
    for i in (0..3).filter(|i| !set[*i]) {
        matrix[i][i] = 1.0;
    }
    (matrix, right)
}

/// Gauss's elimination with pivots, after scaling rows and columns to a unit diagonal.
fn solve(mut matrix: [[f64; 3]; 3], mut right: [f64; 3]) -> Option<[f64; 3]> {
    let scale = [0, 1, 2].map(|i| matrix[i][i].max(0.0).sqrt());
    if scale.iter().any(|scale| *scale <= 0.0 || !scale.is_finite()) {
        return None;
    }
    for i in 0..3 {
        right[i] /= scale[i];
        for j in 0..3 {
            matrix[i][j] /= scale[i] * scale[j];
        }
    }
    for column in 0..3 {
        let pivot =
            (column..3).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        if matrix[pivot][column].abs() < 1e-10 {
            return None;
        }
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        for below in column + 1..3 {
            let factor = matrix[below][column] / matrix[column][column];
            let upper = matrix[column];
            matrix[below].iter_mut().zip(upper).for_each(|(value, upper)| *value -= factor * upper);
            right[below] -= factor * right[column];
        }
    }
    for i in (0..3).rev() {
        let known: f64 = (i + 1..3).map(|j| matrix[i][j] * right[j]).sum();
        right[i] = (right[i] - known) / matrix[i][i];
    }
    Some([0, 1, 2].map(|i| right[i] / scale[i]))
}

fn explained(steps: &[(f64, f64)], abc: [f64; 3]) -> f64 {
    let mean = steps.iter().map(|(_, x)| x).sum::<f64>() / steps.len() as f64;
    let total: f64 = steps.iter().map(|(_, x)| (x - mean).powi(2)).sum();
    if total > 0.0 { 1.0 - squares(steps, abc) / total } else { 0.0 }
}

/// Wald and Wolfowitz's test of runs (1940) on the signs of the residuals, by the normal approximation: too few runs
/// at 2.5 % mean that the curve has another shape.
fn has_pattern(steps: &[(f64, f64)], abc: [f64; 3]) -> bool {
    let mut sorted = steps.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let above: Vec<bool> = sorted.iter().map(|(n, x)| *x > model(abc, *n)).collect();
    let p = above.iter().filter(|above| **above).count() as f64;
    let m = above.len() as f64 - p;
    if p < 3.0 || m < 3.0 {
        return false;
    }
    let runs = 1.0 + above.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let mean = 1.0 + 2.0 * p * m / (p + m);
    let variance = (mean - 1.0) * (mean - 2.0) / (p + m - 1.0);
    (runs - mean) / variance.sqrt() < -1.96
}

/// Whether the 95 % interval of c = κ/γ, from the curvature of the sum of squares, lies above zero.
fn kappa_is_above_zero(steps: &[(f64, f64)], abc: [f64; 3]) -> bool {
    let free = abc.map(|coefficient| coefficient > 0.0);
    let count = free.iter().filter(|free| **free).count();
    if !free[2] || steps.len() <= count {
        return false;
    }
    let freedom = steps.len() - count;
    let variance = squares(steps, abc) / freedom as f64;
    let (matrix, _) = normal(steps, free, |n, _| (1.0, 0.0, gradient(abc, n)));
    // The last column of the inverse: its last entry is the variance of c in units of the noise's.
    let Some(column) = solve(matrix, [0.0, 0.0, 1.0]) else { return false };
    abc[2] - student::quantile(0.975, freedom.max(1)) * (variance * column[2]).max(0.0).sqrt() > 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn law(gamma: f64, sigma: f64, kappa: f64) -> Law {
        Law { gamma, sigma, kappa, r2: 1.0, reach: 0.0, peak: None }
    }

    /// The law at these numbers in flight, with an error that alternates.
    fn steps(law: Law, error: f64) -> Vec<(f64, f64)> {
        let sign = |position: usize| if position.is_multiple_of(2) { 1.0 } else { -1.0 };
        let at = |(position, n): (usize, &f64)| (*n, law.throughput(*n) * (1.0 + error * sign(position)));
        [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0].iter().enumerate().map(at).collect()
    }

    #[test]
    fn a_retrograde_service_has_its_peak_where_the_law_says() {
        let fitted = fit(&steps(law(1_000.0, 0.05, 0.0005), 0.001), Some(10.0)).unwrap();
        // N* = sqrt((1 - 0.05) / 0.0005) = 43.6
        let (n, x) = fitted.peak.unwrap();
        assert!((n - 43.6).abs() < 1.5, "{fitted:?}");
        assert!((x / law(1_000.0, 0.05, 0.0005).throughput(43.6) - 1.0).abs() < 0.01, "{fitted:?}");
    }

    #[test]
    fn a_hard_limit_is_no_peak() {
        // M/M/1: N = ρ / (1 - ρ), and the throughput only rises.
        let loads = [0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98];
        let steps: Vec<_> = loads.iter().map(|rho| (rho / (1.0 - rho), 1_000.0 * rho)).collect();
        assert_eq!(fit(&steps, Some(1.0)).ok().and_then(|law| law.peak), None);
    }

    #[test]
    fn without_crosstalk_no_peak_is_named() {
        let fitted = fit(&steps(law(1_000.0, 0.05, 0.0), 0.005), Some(10.0)).unwrap();
        assert_eq!(fitted.peak, None);
        assert!((fitted.sigma - 0.05).abs() < 0.005, "{fitted:?}");
    }

    #[test]
    fn no_law_is_named_that_the_steps_do_not_carry() {
        let all = steps(law(1_000.0, 0.05, 0.0005), 0.001);
        assert_eq!(fit(&all[..5], Some(1.0)), Err(Unfit::Steps(5)));
        assert_eq!(fit(&all, Some(100.0)), Err(Unfit::Reach { reached: 128.0, needed: 200.0 }));
        assert!(
            matches!(fit(&all, None), Err(Unfit::Reach { .. })),
            "without a knee nothing is known of the reach"
        );
        // A sawtooth is no law.
        let saw: Vec<_> = (1..10).map(|n| (f64::from(n), if n % 2 == 0 { 100.0 } else { 500.0 })).collect();
        assert!(matches!(fit(&saw, Some(1.0)), Err(Unfit::R2(_))));
    }

    proptest! {
        #[test]
        fn the_law_is_found_again_from_its_own_curve(
            gamma in 1.0f64..1e5, sigma in 0.0f64..0.5, kappa in 0.0f64..0.01,
        ) {
            let truth = law(gamma, sigma, kappa);
            let fitted = fit(&steps(truth, 0.0), Some(10.0)).unwrap();
            for n in [1.0, 10.0, 100.0] {
                prop_assert!((fitted.throughput(n) / truth.throughput(n) - 1.0).abs() < 1e-3, "{fitted:?}");
            }
        }
    }
}
