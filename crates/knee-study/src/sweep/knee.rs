//! The knee of the curve: the load beyond which waiting grows faster than throughput.
//!
//! Kleinrock's power (Kleinrock, 1979, "Power and deterministic rules of thumb for probabilistic
//! problems in computer communications"): throughput over response time. Its maximum is where the
//! elasticity of the response time, d ln R / d ln X, passes 1. For M/M/1 that is half of the
//! capacity; the more workers share the load, the nearer it is to the capacity. Kneedle (Satopää et
//! al., 2011) depends on the range that was measured and is a cross-check only. Does not judge
//! steps.

use super::LevelRange;

mod point;

mod repeats;

pub use point::{Basis, Point};
pub use repeats::{REPEATS, levels_near};

/// Fewest levels from which a knee is named.
pub const LEVELS_MIN: usize = 5;

/// A knee.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    /// The level of the greatest power.
    pub level: f64,
    /// Where it lies, as `basis` says.
    pub interval: LevelRange,
    /// What that rests on.
    pub basis: Basis,
    /// How often each level near it was tried, in random order; 1 without repeats.
    pub repeats: usize,
    /// Whether the greatest power is at the highest level tried: the knee can be above it.
    pub at_the_end: bool,
    /// Whether it is at the lowest level tried: the knee can be below it.
    pub at_the_start: bool,
    /// Kneedle's result for the same curve.
    pub kneedle: f64,
}

/// Finds it; `None` with fewer than [`LEVELS_MIN`] levels. `blocks` are repeats of the levels near it, each with every
/// level once; none if they were not tried.
pub fn find(points: &[Point], blocks: &[Vec<Point>]) -> Option<Knee> {
    let curve = fit(points);
    if curve.len() < LEVELS_MIN {
        return None;
    }
    let (position, level) = greatest_power(&curve)?;
    let (at_the_start, at_the_end) = (position == 0, position + 1 == curve.len());
    let place = |at: usize| curve.get(at).map_or(level, |point| point.level);
    let interval = LevelRange {
        low: place(position.saturating_sub(1)).min(level),
        high: place(position + 1).max(level),
    };
    let ladder = Knee {
        level,
        interval,
        basis: Basis::Ladder,
        repeats: 1,
        at_the_end,
        at_the_start,
        kneedle: kneedle(&curve),
    };
    let tested: Vec<f64> = curve.iter().map(|point| point.level).collect();
    let repeated = repeats::find(blocks, &tested).filter(|_| !at_the_start && !at_the_end);
    Some(repeated.map_or(ladder, |found| Knee {
        level: found.level,
        interval: found.interval,
        basis: found.basis,
        repeats: blocks.len(),
        ..ladder
    }))
}

/// One point per level, ascending, with monotone response times.
fn fit(points: &[Point]) -> Vec<Point> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.level.total_cmp(&b.level));
    let mut curve: Vec<(Point, f64)> = Vec::new();
    for point in sorted {
        match curve.last_mut() {
            Some((last, n)) if last.level.to_bits() == point.level.to_bits() => {
                // Means of repeats: of times in logarithms, which is how they are fitted.
                let mean = |old: f64, new: f64| old + (new - old) / (*n + 1.0);
                last.throughput = mean(last.throughput, point.throughput);
                last.response = mean(last.response.ln(), point.response.ln()).exp();
                *n += 1.0;
            }
            _ => curve.push((point, 1.0)),
        }
    }
    isotonic(curve)
}

/// The nearest curve in logarithms that never falls: pool adjacent violators (Ayer et al., 1955).
fn isotonic(curve: Vec<(Point, f64)>) -> Vec<Point> {
    // Blocks of (sum of weights, mean logarithm, how many points).
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (point, weight) in &curve {
        blocks.push((*weight, point.response.ln(), 1));
        while let [.., (w1, y1, n1), (w2, y2, n2)] = blocks[..]
            && y1 > y2
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((w1 + w2, (w1 * y1 + w2 * y2) / (w1 + w2), n1 + n2));
        }
    }
    let fitted = blocks.into_iter().flat_map(|(_, y, n)| std::iter::repeat_n(y.exp(), n));
    curve.into_iter().zip(fitted).map(|((point, _), response)| Point { response, ..point }).collect()
}

/// Where in an ascending curve throughput over response time is greatest, and the level of the
/// greatest value of the parabola through it and its neighbours (in logarithms), which stays
/// between them.
fn greatest_power(curve: &[Point]) -> Option<(usize, f64)> {
    let power = |point: &Point| (point.throughput / point.response).ln();
    let (position, _) = curve.iter().enumerate().max_by(|(_, a), (_, b)| power(a).total_cmp(&power(b)))?;
    let level = curve[position].level;
    let (Some(left), Some(right)) = (position.checked_sub(1).map(|at| &curve[at]), curve.get(position + 1))
    else {
        return Some((position, level));
    };
    let (x, y) =
        ([left, &curve[position], right].map(|p| p.level.ln()), [left, &curve[position], right].map(power));
    let (d1, d2) = ((y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1]));
    let bend = (d2 - d1) / (x[2] - x[0]);
    if bend >= 0.0 || !bend.is_finite() {
        return Some((position, level));
    }
    let top = x[0].midpoint(x[1]) - d1 / (2.0 * bend);
    Some((position, top.clamp(x[0].midpoint(x[1]), x[1].midpoint(x[2])).exp()))
}

/// Kneedle for a curve that rises ever faster: the point furthest below the diagonal, with both axes
/// scaled to 0 to 1.
fn kneedle(curve: &[Point]) -> f64 {
    let (Some(first), Some(last)) = (curve.first(), curve.last()) else { return 0.0 };
    let x = |point: &Point| (point.level - first.level) / (last.level - first.level);
    let y = |point: &Point| (point.response - first.response) / (last.response - first.response).max(1e-12);
    let below = |point: &Point| x(point) - y(point);
    curve.iter().max_by(|a, b| below(a).total_cmp(&below(b))).map_or(0.0, |point| point.level)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// M/M/1 with a service time of 1 ms at so many parts of its capacity.
    fn mm1(loads: &[f64]) -> Vec<Point> {
        let point = |rho: &f64| Point {
            level: 1_000.0 * rho,
            throughput: 1_000.0 * rho,
            response: 1e-3 / (1.0 - rho),
        };
        loads.iter().map(point).collect()
    }

    #[test]
    fn the_knee_of_mm1_is_half_of_its_capacity() {
        let knee = find(&mm1(&[0.15, 0.2, 0.27, 0.37, 0.5, 0.67, 0.91]), &[]).unwrap();
        assert!((knee.level - 500.0).abs() < 25.0, "{knee:?}");
        assert!(knee.interval.low <= 500.0 && knee.interval.high >= 500.0, "{knee:?}");
        assert!(!knee.at_the_end);
        assert!(knee.kneedle > 500.0, "a straight start pushes it up: {knee:?}");
    }

    #[test]
    fn a_curve_that_has_not_bent_has_its_knee_at_its_end() {
        assert!(find(&mm1(&[0.01, 0.02, 0.03, 0.04, 0.05]), &[]).unwrap().at_the_end);
        assert_eq!(find(&mm1(&[0.1, 0.2, 0.3, 0.4]), &[]), None);
        assert!(find(&mm1(&[0.6, 0.7, 0.8, 0.9, 0.95]), &[]).unwrap().at_the_start);
    }

    #[test]
    fn the_fit_pools_what_falls() {
        // Weights are equal: 2 and 1 become their geometric mean.
        let point = |level: f64, response: f64| Point { level, throughput: level, response };
        let fitted = fit(&[point(1.0, 2.0), point(2.0, 1.0), point(3.0, 4.0)]);
        let root = 2f64.sqrt();
        let responses: Vec<f64> = fitted.iter().map(|point| point.response).collect();
        for (seen, truth) in responses.iter().zip([root, root, 4.0]) {
            assert!((seen - truth).abs() < 1e-12, "{responses:?}");
        }
    }

    proptest! {
        #[test]
        fn the_knee_lies_in_its_interval_among_the_levels_and_scales_with_them(
            responses in prop::collection::vec(0.001f64..10.0, 5..20),
            scale in 0.1f64..1e4,
        ) {
            let points = |scale: f64| -> Vec<Point> {
                let level = |position: usize| scale * 1.3f64.powi(position as i32);
                responses.iter().enumerate()
                    .map(|(position, response)| Point { level: level(position), throughput: level(position), response: *response })
                    .collect()
            };
            let knee = find(&points(1.0), &[]).unwrap();
            prop_assert!(knee.interval.low <= knee.level && knee.level <= knee.interval.high);
            prop_assert!(knee.interval.low >= 1.0 - 1e-9);
            let scaled = find(&points(scale), &[]).unwrap();
            prop_assert!((scaled.level / scale / knee.level - 1.0).abs() < 1e-6);
        }
    }
}
