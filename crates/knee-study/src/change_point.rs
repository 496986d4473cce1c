//! Persistent changes in the history of a figure: where the runs after a moment differ from the runs before it.
//!
//! E-divisive (Matteson and James, A nonparametric approach for multiple change point analysis of multivariate data,
//! Journal of the American Statistical Association 109, 2014), on logarithms: a change is a ratio. Does not know runs;
//! callers choose those that can be compared. Assumes that runs are independent. On a machine that drifts they are not,
//! and then a drift is reported as a change too.

use serde::{Deserialize, Serialize};

use crate::random::Random;
use crate::statistics::location::{mean, variance};
use crate::statistics::student;

/// Fewest runs on each side of a change.
pub const SIDE_LEAST: usize = 6;

/// Most runs that are looked at: the newest ones.
pub const RUNS_MAX: usize = 200;

/// Probability at most with which a change is reported where there is none, for one look at one figure.
pub const ALPHA: f64 = 0.01;

/// Random orders that the observed one is compared with.
const ORDERS: usize = 499;

/// Error probability of the interval of a change.
const INTERVAL_ALPHA: f64 = 0.05;

/// A persistent change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first run after the change.
    pub at: usize,
    /// Geometric mean before it, since the change before.
    pub before: f64,
    /// Geometric mean after it, until the next change.
    pub after: f64,
    /// `after / before - 1`.
    pub change: f64,
    /// Lower end of the interval of `change` at 95 %, by Welch's t (Biometrika 34, 1947) on logarithms. The place was
    /// chosen where the difference is largest, so the interval is somewhat too narrow.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Share of the random orders that have a difference at least as large.
    pub p: f64,
}

/// The changes in a series, oldest first. Values must be above 0 and finite; `None` if one is not, or if there are too
/// few for a change. Only the last [`RUNS_MAX`] values count, and places refer to the whole series.
pub fn change_points(values: &[f64], seed: u64) -> Option<Vec<ChangePoint>> {
    let skipped = values.len().saturating_sub(RUNS_MAX);
    let values = values.get(skipped..)?;
    if values.len() < 2 * SIDE_LEAST || !values.iter().all(|value| value.is_finite() && *value > 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mut random = Random::new(seed);
    let mut found = Vec::new();
    divide(&logarithms, 0, &mut random, &mut found);
    found.sort_by_key(|(at, _)| *at);
    let ends = found.iter().map(|(at, _)| *at).skip(1).chain([logarithms.len()]);
    let mut begin = 0;
    let mut changes = Vec::new();
    for ((at, p), end) in found.iter().copied().zip(ends) {
        changes.push(change(&logarithms[begin..at], &logarithms[at..end], skipped + at, p));
        begin = at;
    }
    Some(changes)
}

/// Finds the changes within a part of a series that begins at `offset`, each with its p.
fn divide(part: &[f64], offset: usize, random: &mut Random, found: &mut Vec<(usize, f64)>) {
    let Some(split) = Distances::of(part).best_split() else { return };
    let p = p_value(part, split.divergence, random);
    if p > ALPHA {
        return;
    }
    found.push((offset + split.at, p));
    divide(&part[..split.at], offset, random, found);
    divide(&part[split.at..], offset + split.at, random, found);
}

/// The share of random orders of `part` that can be split as well or better; the observed order counts as one of them.
fn p_value(part: &[f64], divergence: f64, random: &mut Random) -> f64 {
    let mut order = part.to_vec();
    // More orders than this are too many, so the rest need not be looked at.
    let too_many = (ALPHA * (ORDERS + 1) as f64).floor() as usize;
    let mut as_good = 1;
    for _ in 0..ORDERS {
        random.shuffle(&mut order);
        let best = Distances::of(&order).best_split().map_or(0.0, |split| split.divergence);
        as_good += usize::from(best >= divergence * (1.0 - 1e-12));
        if as_good > too_many {
            return 1.0;
        }
    }
    as_good as f64 / (ORDERS + 1) as f64
}

/// A place where a part is split, and how far apart its sides are.
#[derive(Clone, Copy, Debug)]
struct Split {
    at: usize,
    divergence: f64,
}

/// Sums of the distances between the values of a part.
struct Distances {
    /// `sums[i][j]`: the sum of all distances between one of the first i values and one of the first j.
    sums: Vec<f64>,
    /// Values, plus one.
    width: usize,
}

impl Distances {
    fn of(values: &[f64]) -> Self {
        let width = values.len() + 1;
        let mut sums = vec![0.0; width * width];
        for (i, one) in values.iter().enumerate() {
            let mut row = 0.0;
            for (j, other) in values.iter().enumerate() {
                row += (one - other).abs();
                sums[(i + 1) * width + j + 1] = sums[i * width + j + 1] + row;
            }
        }
        Self { sums, width }
    }

    /// The sum of the distances between the values from `a` to before `b` and those from `c` to before `d`.
    fn between(&self, (a, b): (usize, usize), (c, d): (usize, usize)) -> f64 {
        let sum = |i: usize, j: usize| self.sums[i * self.width + j];
        sum(b, d) - sum(a, d) - sum(b, c) + sum(a, c)
    }

    /// The split whose sides are farthest apart; the right side can end before the part does, so that a change is found
    /// although it was undone later (equation 7 of Matteson and James). `None` if the part is too short.
    fn best_split(&self) -> Option<Split> {
        let length = self.width - 1;
        let mut best: Option<Split> = None;
        for at in SIDE_LEAST..(length + 1).saturating_sub(SIDE_LEAST) {
            for end in at + SIDE_LEAST..=length {
                let divergence = self.divergence(at, end);
                if best.is_none_or(|best| divergence > best.divergence) {
                    best = Some(Split { at, divergence });
                }
            }
        }
        best
    }

    /// The scaled energy distance of the values before `at` and those from `at` to before `end` (equations 5 and 6, with
    /// distances to the power of one).
    fn divergence(&self, at: usize, end: usize) -> f64 {
        let (m, n) = (at as f64, (end - at) as f64);
        let (left, right) = ((0, at), (at, end));
        // Each pair within a side is in the sum twice, as in the number of ordered pairs.
        let energy = 2.0 * self.between(left, right) / (m * n)
            - self.between(left, left) / (m * (m - 1.0))
            - self.between(right, right) / (n * (n - 1.0));
        m * n / (m + n) * energy
    }
}

fn change(before: &[f64], after: &[f64], at: usize, p: f64) -> ChangePoint {
    let (low, high) = (mean(before), mean(after));
    let parts = [before, after].map(|side| (variance(side) / side.len() as f64, side.len() as f64 - 1.0));
    let error = (parts[0].0 + parts[1].0).sqrt();
    // Welch and Satterthwaite, rounded down: fewer degrees of freedom make the interval wider.
    let divisor: f64 = parts.iter().map(|(share, freedom)| share * share / freedom).sum();
    let freedom = if divisor > 0.0 { error.powi(4) / divisor } else { parts[0].1 + parts[1].1 };
    let reach = if error > 0.0 {
        student::quantile(1.0 - INTERVAL_ALPHA / 2.0, (freedom as usize).max(1)) * error
    } else {
        0.0
    };
    let ratio = |logarithm: f64| logarithm.exp() - 1.0;
    ChangePoint {
        at,
        before: low.exp(),
        after: high.exp(),
        change: ratio(high - low),
        low: ratio(high - low - reach),
        high: ratio(high - low + reach),
        p,
    }
}

#[cfg(test)]
mod tests;
