//! The points of a run, for charts over time: one per interval, up to a limit.
//!
//! Beyond it, neighbouring intervals share a point, so that a run of any length takes bounded memory. Does not compute
//! points; see [`super::total`].

use super::super::{GeneratorPoint, Point};
use crate::unit::Nanos;

/// Most points, an even number: a day of intervals of one second, and some.
pub const POINTS_MAX: usize = 100_000;

/// The points so far.
#[derive(Clone, Debug)]
pub(super) struct Series {
    points: Vec<Point>,
    /// How many intervals share a point.
    shared: u64,
    /// How many intervals the last point has.
    last: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), shared: 1, last: 1 }
    }
}

impl Series {
    /// Adds the next interval.
    pub(super) fn push(&mut self, point: Point) {
        if self.points.len() == POINTS_MAX && self.last == self.shared {
            self.halve();
        }
        match self.points.last_mut() {
            Some(last) if self.last < self.shared => {
                last.join(&point);
                self.last += 1;
            }
            _ => {
                self.points.push(point);
                self.last = 1;
            }
        }
    }

    /// How many points there are.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    pub(super) fn into_points(self) -> Vec<Point> {
        self.points
    }

    fn halve(&mut self) {
        self.points = halve(&self.points);
        self.shared *= 2;
        self.last = self.shared;
    }
}

/// Joins each point with its neighbour; the last one stays alone if there is none.
pub fn halve(points: &[Point]) -> Vec<Point> {
    let join = |pair: &[Point]| {
        let mut joined = pair[0].clone();
        pair[1..].iter().for_each(|next| joined.join(next));
        joined
    };
    points.chunks(2).map(join).collect()
}

impl Point {
    /// Adds the interval that follows. Counts add up. Of times and of the busiest worker's CPU use the higher remain,
    /// because quantiles cannot be added.
    fn join(&mut self, next: &Self) {
        let widths = [self.to.since(self.from), next.to.since(next.from)];
        self.generator.join(&next.generator, widths);
        self.to = next.to;
        self.warm_up &= next.warm_up;
        self.planned = self.planned.saturating_add(next.planned);
        for (mine, theirs) in self.by_outcome.iter_mut().zip(next.by_outcome) {
            *mine = mine.saturating_add(theirs);
        }
        self.unknown = self.unknown.saturating_add(next.unknown);
        self.response = higher(self.response, next.response);
        self.service = higher(self.service, next.service);
        self.generator_lag_p99 = self.generator_lag_p99.max(next.generator_lag_p99);
        (self.in_flight, self.backlog) = (next.in_flight, next.backlog);
        self.bytes_received = self.bytes_received.saturating_add(next.bytes_received);
        self.bytes_sent = self.bytes_sent.saturating_add(next.bytes_sent);
    }
}

impl GeneratorPoint {
    fn join(&mut self, next: &Self, widths: [Nanos; 2]) {
        self.workers = self.workers.max(next.workers);
        self.worker_cpu = [self.worker_cpu, next.worker_cpu].into_iter().flatten().reduce(f64::max);
        self.host_busy = mean([self.host_busy, next.host_busy], widths);
        self.steal = mean([self.steal, next.steal], widths);
        self.resident_bytes = self.resident_bytes.max(next.resident_bytes);
    }
}

fn higher(one: Option<[Nanos; 4]>, other: Option<[Nanos; 4]>) -> Option<[Nanos; 4]> {
    let both = one.zip(other).map(|(one, other)| std::array::from_fn(|place| one[place].max(other[place])));
    both.or(one).or(other)
}

/// The mean of what is known, weighted by the widths of the intervals.
fn mean(shares: [Option<f64>; 2], widths: [Nanos; 2]) -> Option<f64> {
    let [Some(one), Some(other)] = shares else { return shares.into_iter().flatten().next() };
    let [first, second] = widths.map(Nanos::as_secs_f64);
    Some(if first + second > 0.0 { (one * first + other * second) / (first + second) } else { one })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Point {
        let time = Nanos::from_micros(number);
        Point {
            from: Nanos::from_secs(number),
            to: Nanos::from_secs(number + 1),
            planned: 10,
            by_outcome: [9, 1, 0, 0, 0, 0],
            response: Some([time; 4]),
            in_flight: number,
            generator: GeneratorPoint { host_busy: Some(0.5), ..GeneratorPoint::default() },
            ..Point::default()
        }
    }

    fn series(seconds: u64) -> Vec<Point> {
        let mut series = Series::default();
        (0..seconds).for_each(|number| series.push(second(number)));
        series.into_points()
    }

    #[test]
    fn a_day_of_seconds_has_a_point_for_each() {
        let points = series(86_400);
        assert_eq!((points.len(), points.last()), (86_400, Some(&second(86_399))));
    }

    #[test]
    fn in_a_longer_run_neighbouring_intervals_share_points_without_gap_or_loss() {
        for days in [2_u64, 7] {
            let seconds = days * 86_400 + 1;
            let points = series(seconds);
            assert!((POINTS_MAX / 2..=POINTS_MAX).contains(&points.len()), "{}", points.len());
            assert!(points.windows(2).all(|pair| pair[0].to == pair[1].from));
            assert_eq!(points.iter().map(|point| point.planned).sum::<u64>(), 10 * seconds);
            assert_eq!(points.iter().map(Point::ended).sum::<u64>(), 10 * seconds);
            let last = points.last().unwrap();
            assert_eq!((last.to, last.in_flight), (Nanos::from_secs(seconds), seconds - 1));
            assert_eq!(
                last.response,
                Some([Nanos::from_micros(seconds - 1); 4]),
                "the highest of those joined"
            );
            assert_eq!(last.generator.host_busy, Some(0.5));
        }
    }
}
