//! A run over time in a limited number of columns, for pictures and short tables.
//!
//! Counts of intervals that share a column are added. Their percentiles cannot be, so the greatest stands for all:
//! a column shows the worst of its intervals. Does not draw.

use knee_core::outcome::Outcome;
use knee_core::record::Point;
use knee_core::unit::Nanos;

use super::moment::Moment;
use super::reading::Reading;

/// One or more intervals beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Start of the first interval.
    pub from: Nanos,
    /// End of the last one.
    pub to: Nanos,
    /// Whether all of it is warm-up.
    pub warm_up: bool,
    /// Requests that came due.
    pub planned: u64,
    /// Requests that ended, by outcome, in the order of [`Outcome::ALL`].
    pub by_outcome: [u64; 6],
    /// Requests that ended in a way that this version does not know.
    pub unknown: u64,
    /// Response time at 50, 90, 99 % and the maximum: the greatest of any interval.
    pub response: [Reading; 4],
    /// Service time, likewise.
    pub service: [Reading; 4],
    /// The greatest p99 of the generator lag.
    pub generator_lag_p99: Option<Nanos>,
    /// Most requests in flight at the end of an interval.
    pub in_flight: u64,
    /// Most requests that waited for a connection at the end of an interval.
    pub backlog: u64,
    /// The greatest share of a CPU that a worker used, 0 to 1.
    pub worker_cpu: Option<f64>,
    /// The greatest share of all CPUs that was busy, 0 to 1.
    pub host_busy: Option<f64>,
    /// The greatest share that a hypervisor took, 0 to 1.
    pub steal: Option<f64>,
}

/// The columns of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Intervals per column; 1 if every interval has its own.
    pub merged: usize,
    /// The columns, in order.
    pub columns: Vec<Column>,
}

/// An interval shorter than this share of the longest joins the one before it. The interval of the last responses
/// can take a few microseconds: as a column of its own, it would show rates that never were.
const STUB: f64 = 0.1;

impl Columns {
    /// At most `most` columns of a series.
    pub fn of(series: &[Point], most: usize) -> Self {
        let merged = series.len().div_ceil(most.max(1)).max(1);
        let width = |point: &Point| point.to.since(point.from);
        let longest = series.iter().map(width).max().unwrap_or_default().as_secs_f64();
        let mut columns: Vec<Column> = Vec::with_capacity(series.len().min(most));
        let mut room = 0;
        for point in series {
            let column = Column::of(&Moment::of(point));
            let stub = width(point).as_secs_f64() < STUB * longest;
            match columns.last_mut() {
                Some(last) if room > 0 || stub => last.join(&column),
                _ => {
                    columns.push(column);
                    room = merged;
                }
            }
            room = room.saturating_sub(1);
        }
        Self { merged, columns }
    }
}

impl Column {
    fn of(moment: &Moment) -> Self {
        let point = &moment.point;
        Self {
            from: point.from,
            to: point.to,
            warm_up: point.warm_up,
            planned: point.planned,
            by_outcome: point.by_outcome,
            unknown: point.unknown,
            response: moment.response,
            service: moment.service,
            generator_lag_p99: point.generator_lag_p99,
            in_flight: point.in_flight,
            backlog: point.backlog,
            worker_cpu: moment.worker_cpu,
            host_busy: point.generator.host_busy,
            steal: point.generator.steal,
        }
    }

    fn join(&mut self, next: &Self) {
        self.to = next.to;
        self.warm_up &= next.warm_up;
        self.planned = self.planned.saturating_add(next.planned);
        self.unknown = self.unknown.saturating_add(next.unknown);
        for (sum, count) in self.by_outcome.iter_mut().zip(next.by_outcome) {
            *sum = sum.saturating_add(count);
        }
        for (worst, other) in self.response.iter_mut().zip(next.response) {
            *worst = greater(*worst, other);
        }
        for (worst, other) in self.service.iter_mut().zip(next.service) {
            *worst = greater(*worst, other);
        }
        self.generator_lag_p99 = self.generator_lag_p99.max(next.generator_lag_p99);
        self.in_flight = self.in_flight.max(next.in_flight);
        self.backlog = self.backlog.max(next.backlog);
        self.worker_cpu = greatest(self.worker_cpu, next.worker_cpu);
        self.host_busy = greatest(self.host_busy, next.host_busy);
        self.steal = greatest(self.steal, next.steal);
    }

    /// Its middle, in seconds since the start.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.from.as_secs_f64(), self.to.as_secs_f64())
    }

    /// Requests per second that came due; `None` if the column has no width.
    pub fn offered(&self) -> Option<f64> {
        self.per_second(self.planned)
    }

    /// Requests per second that ended with this outcome.
    pub fn rate(&self, outcome: Outcome) -> Option<f64> {
        self.per_second(self.by_outcome[outcome as usize])
    }

    /// Requests that ended other than ok.
    pub fn not_ok(&self) -> u64 {
        let all = self.by_outcome.iter().fold(self.unknown, |sum, count| sum.saturating_add(*count));
        all.saturating_sub(self.by_outcome[Outcome::Ok as usize])
    }

    /// Requests per second that ended other than ok.
    pub fn not_ok_rate(&self) -> Option<f64> {
        self.per_second(self.not_ok())
    }

    fn per_second(&self, count: u64) -> Option<f64> {
        let seconds = self.to.since(self.from).as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }
}

/// The greater of two figures; of equal ones, the lower bound.
fn greater(one: Reading, other: Reading) -> Reading {
    match (one.time(), other.time()) {
        (Some(a), Some(b)) if b > a || (b == a && other.is_lower_bound()) => other,
        (None, Some(_)) => other,
        _ => one,
    }
}

fn greatest(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (known, None) | (None, known) => known,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn point(from: u64, to: u64, ok: u64, max: u64) -> Point {
        let times = Some([Nanos(max); 4]);
        let by_outcome = [ok, 0, 0, 0, 0, 0];
        let (from, to) = (Nanos::from_millis(from), Nanos::from_millis(to));
        Point { from, to, planned: ok, by_outcome, response: times, service: times, ..Point::default() }
    }

    #[test]
    fn a_column_adds_counts_and_shows_the_worst_time() {
        let series = [point(0, 1_000, 10, 5), point(1_000, 2_000, 30, 9), point(2_000, 3_000, 20, 7)];
        let found = Columns::of(&series, 2);
        assert_eq!((found.merged, found.columns.len()), (2, 2));
        assert_eq!(found.columns[0].rate(Outcome::Ok), Some(20.0));
        assert_eq!(found.columns[0].response[3], Reading::Exactly(Nanos(9)));
        assert_eq!(found.columns[1].response[3], Reading::Exactly(Nanos(7)));
    }

    #[test]
    fn the_last_responses_are_no_column_with_a_rate_that_never_was() {
        let series = [point(0, 1_000, 100, 5), point(1_000, 1_001, 4, 8)];
        let found = Columns::of(&series, 300);
        assert_eq!(found.columns.len(), 1);
        let rate = found.columns[0].rate(Outcome::Ok).unwrap();
        assert!((103.0..104.0).contains(&rate), "{rate}");
        assert_eq!(found.columns[0].response[3], Reading::Exactly(Nanos(8)));
    }

    #[test]
    fn a_run_without_intervals_has_no_columns() {
        assert_eq!(Columns::of(&[], 300), Columns { merged: 1, columns: Vec::new() });
    }

    proptest! {
        #[test]
        fn no_request_is_lost_and_no_column_is_too_many(
            counts in prop::collection::vec(0u64..1_000, 0..500),
            most in 1usize..100,
        ) {
            let series: Vec<Point> = counts
                .iter()
                .enumerate()
                .map(|(n, ok)| point(n as u64 * 1_000, (n as u64 + 1) * 1_000, *ok, *ok))
                .collect();
            let found = Columns::of(&series, most);
            prop_assert!(found.columns.len() <= most);
            prop_assert_eq!(found.columns.iter().map(|column| column.planned).sum::<u64>(), counts.iter().sum::<u64>());
        }
    }
}
