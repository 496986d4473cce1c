//! The interval of a knee from repeated levels.
//!
//! Levels on both sides of the knee are tried several times, in blocks of random order, so that neither the order nor
//! what changes with time decides. A parabola is fitted to the power over the level, which it is for M/M/1, and the
//! interval holds the levels at which its slope can be zero (Fieller, "Some problems in interval estimation", JRSS B
//! 16(2), 1954). A parabola is not every curve: between two tested levels it says nothing, so the interval reaches at
//! least from one tested level beside the best to the other. Does not choose when levels are repeated.

use super::point::{Basis, Point};
use crate::statistics::student;
use crate::sweep::{LevelRange, LoadKind, search};

/// How often each level is tried.
pub const REPEATS: usize = 3;

/// Levels that are tried.
const LEVELS: usize = 5;

/// They reach this factor below and above the knee.
const REACH: f64 = 1.35;

/// The levels near `knee`, ascending, none above `most`: the service must withstand them. Fewer than three are none.
pub fn levels_near(kind: LoadKind, knee: f64, most: f64) -> Vec<f64> {
    let (low, high) = ((knee / REACH).ln(), (knee * REACH).min(most).ln());
    let place = |position: usize| low + (high - low) * position as f64 / (LEVELS - 1) as f64;
    let mut levels: Vec<f64> = (0..LEVELS)
        .map(|position| search::round(kind, place(position).exp()))
        .filter(|level| *level <= most)
        .collect();
    levels.dedup();
    if levels.len() < 3 { Vec::new() } else { levels }
}

/// A knee from repeats.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub level: f64,
    pub interval: LevelRange,
    pub basis: Basis,
}

/// Finds it; `None` with fewer than two blocks or three levels. `tested` are the other levels that were tried.
pub(super) fn find(blocks: &[Vec<Point>], tested: &[f64]) -> Option<Found> {
    let design = Design::of(blocks)?;
    let best = design.best();
    let at = design.x[best];
    // Beside the first and the last of these levels lie levels that were tried once. A level of the design and the same
    // level of the ladder differ by rounding.
    let own = |place: Option<usize>| place.and_then(|place| design.x.get(place)).copied();
    let lower = tested.iter().copied().filter(|level| *level < at * (1.0 - 1e-6)).reduce(f64::max);
    let higher = tested.iter().copied().filter(|level| *level > at * (1.0 + 1e-6)).reduce(f64::min);
    let below = own(best.checked_sub(1)).or(lower).unwrap_or(at);
    let above = own(Some(best + 1)).or(higher).unwrap_or(at);
    let (first, last) = (design.x[0], design.x[design.x.len() - 1]);
    let parabola = design.parabola();
    let (low, high) = parabola.summit().unwrap_or((first, last));
    let interval = LevelRange { low: low.max(first).min(below), high: high.min(last).max(above) };
    let by_noise = low.max(first) < below || high.min(last) > above;
    let level = parabola.summit().and(parabola.vertex()).unwrap_or(interval.middle());
    let level = level.clamp(interval.low, interval.high);
    Some(Found { level, interval, basis: if by_noise { Basis::Repeats } else { Basis::Grid } })
}

/// Levels, the mean power at each as a share of the mean of all, and the noise of such a mean.
struct Design {
    x: Vec<f64>,
    y: Vec<f64>,
    /// Variance of a mean.
    variance: f64,
    freedom: usize,
}

impl Design {
    /// Levels and blocks are two factors: what a whole block has in common, such as an hour, is no noise.
    fn of(blocks: &[Vec<Point>]) -> Option<Self> {
        let sorted = |block: &Vec<Point>| {
            let mut block = block.clone();
            block.sort_by(|a, b| a.level.total_cmp(&b.level));
            block
        };
        let blocks: Vec<Vec<Point>> = blocks.iter().map(sorted).collect();
        let x: Vec<f64> = blocks.first()?.iter().map(|point| point.level).collect();
        let whole = blocks.iter().all(|block| block.len() == x.len());
        if !whole || blocks.len() < 2 || x.len() < 3 {
            return None;
        }
        let raw = |point: &Point| point.throughput / point.response;
        let scale = blocks.iter().flatten().map(raw).sum::<f64>() / (blocks.len() * x.len()) as f64;
        let power = |point: &Point| raw(point) / scale;
        let mean = |values: &mut dyn Iterator<Item = f64>, n: usize| values.sum::<f64>() / n as f64;
        let y: Vec<f64> = (0..x.len())
            .map(|at| mean(&mut blocks.iter().map(|block| power(&block[at])), blocks.len()))
            .collect();
        let all = mean(&mut y.iter().copied(), y.len());
        let squares: f64 = blocks
            .iter()
            .map(|block| {
                let own = mean(&mut block.iter().map(power), block.len()) - all;
                let rest = |(point, y): (&Point, &f64)| (power(point) - y - own).powi(2);
                block.iter().zip(&y).map(rest).sum::<f64>()
            })
            .sum();
        let freedom = (x.len() - 1) * (blocks.len() - 1);
        Some(Self { variance: squares / freedom as f64 / blocks.len() as f64, x, y, freedom })
    }

    /// The place of the greatest mean.
    fn best(&self) -> usize {
        let places = self.y.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        places.map_or(0, |(place, _)| place)
    }

    /// Least squares with polynomials that are orthogonal on these levels, so that slope and bend are independent.
    fn parabola(&self) -> Parabola {
        let n = self.x.len() as f64;
        let centre = self.x.iter().sum::<f64>() / n;
        let z: Vec<f64> = self.x.iter().map(|x| x - centre).collect();
        let sum = |term: &dyn Fn(f64) -> f64| z.iter().map(|z| term(*z)).sum::<f64>();
        let (second, third) = (sum(&|z| z * z), sum(&|z| z.powi(3)));
        let skew = third / second;
        let bend = |z: f64| z * z - second / n - skew * z;
        let of = |term: &dyn Fn(f64) -> f64| {
            let weight = sum(&|z| term(z).powi(2));
            let value = z.iter().zip(&self.y).map(|(z, y)| term(*z) * y).sum::<f64>() / weight;
            (value, self.variance / weight)
        };
        let (slope, bend) = (of(&|z| z), of(&bend));
        Parabola { centre, skew, slope, bend, reach: student::quantile(0.975, self.freedom) }
    }
}

/// A parabola whose slope at x is `slope + bend (2 (x - centre) - skew)`; both with the variance of their estimate.
struct Parabola {
    centre: f64,
    skew: f64,
    slope: (f64, f64),
    bend: (f64, f64),
    /// Quantile of Student's t.
    reach: f64,
}

impl Parabola {
    fn place(&self, u: f64) -> f64 {
        self.centre + u.midpoint(self.skew)
    }

    /// Where it is highest; `None` if it bends up.
    fn vertex(&self) -> Option<f64> {
        (self.bend.0 < 0.0).then(|| self.place(-self.slope.0 / self.bend.0))
    }

    /// Where its slope can be zero; `None` if the noise hides that it bends down.
    fn summit(&self) -> Option<(f64, f64)> {
        let ((b, b_variance), (c, c_variance)) = (self.slope, self.bend);
        let square = self.reach.powi(2);
        let lead = c * c - square * c_variance;
        if lead <= 0.0 || c >= 0.0 {
            return None;
        }
        // Zero at the least in exact arithmetic, because lead is above zero.
        let root = ((b * c).powi(2) - lead * (b * b - square * b_variance)).max(0.0).sqrt();
        Some((self.place((-b * c - root) / lead), self.place((-b * c + root) / lead)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Blocks of M/M/1 with a limit of 1,000/s, whose mean response times have an error of `noise` (in logarithms).
    fn blocks(levels: &[f64], noise: f64, seed: u64) -> Vec<Vec<Point>> {
        let mut random = Random::new(seed);
        let mut point = |level: &f64| Point {
            level: *level,
            throughput: *level,
            response: 1.0 / (1_000.0 - level) * (noise * random.normal()).exp(),
        };
        (0..REPEATS).map(|_| levels.iter().map(&mut point).collect()).collect()
    }

    #[test]
    fn without_noise_only_the_distance_of_levels_is_left() {
        let levels = levels_near(LoadKind::Requests, 470.0, 950.0);
        let found = find(&blocks(&levels, 0.0, 1), &[]).unwrap();
        assert_eq!(found.basis, Basis::Grid);
        assert!(found.interval.low < 500.0 && found.interval.high > 500.0, "{found:?}");
        assert!(found.interval.high / found.interval.low < 1.4, "{found:?}");
        assert!((found.level / 500.0 - 1.0).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn the_interval_holds_the_knee_in_95_of_100_designs() {
        let mut random = Random::new(7);
        let (mut held, mut by_noise) = (0, 0);
        for seed in 0..400 {
            // Where the ladder put it is off by up to 15 %.
            let centre = 500.0 * (1.0 + 0.3 * (random.fraction() - 0.5));
            let found =
                find(&blocks(&levels_near(LoadKind::Requests, centre, 950.0), 0.08, seed), &[]).unwrap();
            held += u32::from(found.interval.low <= 500.0 && found.interval.high >= 500.0);
            by_noise += u32::from(found.basis == Basis::Repeats);
        }
        assert!(held >= 380, "{held} of 400");
        assert!(by_noise >= 100, "the noise decides in {by_noise} of 400");
    }

    #[test]
    fn noise_that_hides_the_bend_leaves_the_whole_range() {
        let levels = [300.0, 400.0, 500.0, 600.0, 700.0];
        let wide = (0..20).filter(|seed| {
            let found = find(&blocks(&levels, 1.0, *seed), &[]).unwrap();
            found.interval.low <= 300.0 + 1e-6 && found.interval.high >= 700.0 - 1e-6
        });
        assert!(wide.count() >= 15);
    }

    #[test]
    fn levels_stay_where_the_service_withstands_them() {
        let levels = levels_near(LoadKind::Requests, 900.0, 950.0);
        assert_eq!((levels.len(), levels.last().copied()), (5, Some(950.0)));
        assert_eq!(levels_near(LoadKind::Connections, 2.0, 64.0), [1.0, 2.0, 3.0], "no level twice");
        assert_eq!(levels_near(LoadKind::Connections, 1.0, 64.0), [] as [f64; 0], "too few");
        assert_eq!(levels_near(LoadKind::Connections, 20.0, 64.0), [15.0, 17.0, 20.0, 23.0, 27.0]);
        assert_eq!(find(&[], &[]), None);
    }
}
