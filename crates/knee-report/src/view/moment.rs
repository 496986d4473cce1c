//! One interval of a run, for charts over time.
//!
//! Does not lay out lines; see [`crate::text::interval`].

use knee_core::estimate::samples_needed;
use knee_core::outcome::Outcome;
use knee_core::record::Point;
use knee_core::unit::Nanos;

use super::reading::Reading;

/// The shares at which the times of a [`Point`] are given; the last is the maximum.
const SHARES: [f64; 3] = [0.5, 0.9, 0.99];

/// Shortest interval for a share of a CPU: a tenth of the usual width.
const CPU_WIDTH_MIN: Nanos = Nanos::from_millis(100);

/// One interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// What was measured.
    pub point: Point,
    /// Requests that ended.
    pub ended: u64,
    /// Requests that ended ok.
    pub ok: u64,
    /// Requests that ended otherwise.
    pub not_ok: u64,
    /// Requests per second that came due; `None` if the interval has no width.
    pub offered: Option<f64>,
    /// Requests per second that ended ok.
    pub achieved: Option<f64>,
    /// Response time at 50, 90, 99 % and the maximum.
    pub response: [Reading; 4],
    /// Service time, likewise.
    pub service: [Reading; 4],
    /// Share of a CPU that the busiest worker used, 0 to 1; see [`worker_cpu`].
    pub worker_cpu: Option<f64>,
}

impl Moment {
    /// Sums up one interval.
    pub fn of(point: &Point) -> Self {
        let count = |outcome: Outcome| point.by_outcome[outcome as usize];
        let ended = point.ended();
        let is_bound = |outcome: &Outcome| outcome.is_lower_bound() && count(*outcome) > 0;
        // Of outcomes that are not known, a point does not say whether their times are lower bounds.
        let bounded = point.unknown > 0 || Outcome::ALL.iter().any(is_bound);
        let sent = ended.saturating_sub(count(Outcome::Unsent));
        let ok = count(Outcome::Ok);
        Self {
            ended,
            ok,
            not_ok: ended.saturating_sub(ok),
            offered: point.per_second(point.planned),
            achieved: point.per_second(ok),
            response: readings(point.response, ended, bounded),
            service: readings(point.service, sent, bounded),
            worker_cpu: worker_cpu(point),
            point: point.clone(),
        }
    }
}

/// Share of a CPU that the busiest worker used, 0 to 1. `None` if it is unknown, or if the interval is shorter than 100 ms,
/// like that of the last responses: its CPU times are read some milliseconds earlier or later than it begins and ends.
pub fn worker_cpu(point: &Point) -> Option<f64> {
    point.generator.worker_cpu.filter(|_| point.to.since(point.from) >= CPU_WIDTH_MIN)
}

/// An interval does not show whether a lower bound lies below a percentile. If it has any, all its figures count as
/// lower bounds.
fn readings(times: Option<[Nanos; 4]>, count: u64, bounded: bool) -> [Reading; 4] {
    std::array::from_fn(|position| match (times, SHARES.get(position)) {
        (None, _) => Reading::Nothing,
        (Some(_), Some(q)) if count < samples_needed(*q) => Reading::TooFew { needed: samples_needed(*q) },
        (Some(times), _) => Reading::new(Some(times[position]), bounded),
    })
}

/// The sum of `figure` over all intervals from `from` to `to`. An interval that lies partly
/// outside counts with the share of it that lies inside.
pub fn within(series: &[Point], from: Nanos, to: Nanos, figure: impl Fn(&Point) -> u64) -> f64 {
    series.iter().map(|point| figure(point) as f64 * share_inside(point, from, to)).sum()
}

/// The share of an interval, 0 to 1, that lies between `from` and `to`.
pub fn share_inside(point: &Point, from: Nanos, to: Nanos) -> f64 {
    let width = point.to.since(point.from);
    let inside = point.to.min(to).since(point.from.max(from));
    if width == Nanos::ZERO { 0.0 } else { inside.as_secs_f64() / width.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(from: u64, to: u64, ok: u64) -> Point {
        let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
        Point { from, to, by_outcome: [ok, 0, 0, 0, 0, 0], ..Point::default() }
    }

    #[test]
    fn an_interval_of_a_few_milliseconds_has_no_share_of_a_cpu() {
        let cpu = |from, to| {
            let mut point = point(from, to, 1);
            point.generator.worker_cpu = Some(1.7);
            Moment::of(&point).worker_cpu
        };
        assert_eq!(cpu(2_000, 2_003), None);
        assert_eq!(cpu(1_000, 2_000), Some(1.7));
    }

    #[test]
    fn an_interval_that_reaches_beyond_the_window_counts_in_part() {
        let series = [point(0, 1_000, 100), point(1_000, 2_000, 60), point(2_000, 2_000, 5)];
        let second = |secs: f64| Nanos::from_secs_f64(secs);
        let ok = |from, to| {
            within(&series, second(from), second(to), |point| point.by_outcome[Outcome::Ok as usize])
        };
        assert!((ok(0.0, 2.0) - 160.0).abs() < 1e-9);
        assert!((ok(0.0, 1.5) - 130.0).abs() < 1e-9);
        assert!((ok(0.5, 1.5) - 80.0).abs() < 1e-9);
        assert!(ok(3.0, 4.0).abs() < 1e-9);
    }
}
