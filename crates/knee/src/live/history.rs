//! The course of a run in bounded memory: moments that grow wider as the run grows longer.
//!
//! Does not average times: two moments made one keep the greater of each, so that a peak
//! stays visible for ever.

use knee_core::record::Point;
use knee_core::unit::Nanos;
use knee_report::view::moment;
use knee_report::view::reading::Reading;

/// Most moments kept; two hours of seconds.
pub const MOMENTS_MAX: usize = 7_200;

/// Some time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moment {
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
    /// Whether all of it belongs to the warm-up.
    pub warm_up: bool,
    /// Requests that came due.
    pub scheduled: u64,
    /// Requests that ended.
    pub ended: u64,
    /// Requests that ended ok.
    pub ok: u64,
    /// Median, 99th percentile and maximum of the response time, the worst of the intervals within. A percentile of too
    /// few requests is `None`, as in the report.
    pub response: [Option<Nanos>; 3],
    /// Service time, likewise.
    pub service: [Option<Nanos>; 3],
    /// Whether the times are lower bounds, because some requests did not end in time.
    pub bounded: bool,
    /// Requests in flight at the end of an interval, the most of the intervals within.
    pub in_flight: u64,
    /// Arrivals that waited for a connection, likewise.
    pub backlog: u64,
    /// Generator lag at 99 %, the worst of the intervals within.
    pub lag: Option<Nanos>,
    /// Share of a CPU that the busiest worker used, 0 to 1, likewise.
    pub worker_cpu: Option<f64>,
    /// Share of all CPUs of this machine that was busy, 0 to 1, likewise.
    pub host_busy: Option<f64>,
}

impl Moment {
    /// What is kept of a point.
    pub fn of(point: &Point) -> Self {
        let three = |[p50, _, p99, max]: [Reading; 4]| [p50, p99, max].map(Reading::time);
        let shown = moment::Moment::of(point);
        Self {
            from: point.from,
            to: point.to,
            warm_up: point.warm_up,
            scheduled: point.planned,
            ended: point.ended(),
            ok: shown.ok,
            response: three(shown.response),
            service: three(shown.service),
            bounded: shown.response.iter().any(|reading| reading.is_lower_bound()),
            in_flight: point.in_flight,
            backlog: point.backlog,
            lag: point.generator_lag_p99,
            worker_cpu: shown.worker_cpu,
            host_busy: point.generator.host_busy,
        }
    }

    fn join(self, next: Self) -> Self {
        // `None` is less than every time.
        let worse = |one: [Option<Nanos>; 3], other: [Option<Nanos>; 3]| {
            std::array::from_fn(|place| one[place].max(other[place]))
        };
        Self {
            from: self.from,
            to: next.to,
            warm_up: self.warm_up && next.warm_up,
            scheduled: self.scheduled + next.scheduled,
            ended: self.ended + next.ended,
            ok: self.ok + next.ok,
            response: worse(self.response, next.response),
            service: worse(self.service, next.service),
            bounded: self.bounded || next.bounded,
            in_flight: self.in_flight.max(next.in_flight),
            backlog: self.backlog.max(next.backlog),
            lag: self.lag.max(next.lag),
            worker_cpu: greater(self.worker_cpu, next.worker_cpu),
            host_busy: greater(self.host_busy, next.host_busy),
        }
    }
}

/// The greater of two shares, of which either can be unknown.
fn greater(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

/// The moments of a run, in order.
#[derive(Clone, Debug)]
pub struct History {
    moments: Vec<Moment>,
    most: usize,
    halvings: u32,
}

impl Default for History {
    fn default() -> Self {
        Self::with_most(MOMENTS_MAX)
    }
}

impl History {
    /// A history of at most `most` moments, 2 or more.
    pub fn with_most(most: usize) -> Self {
        Self { moments: Vec::new(), most: most.max(2), halvings: 0 }
    }

    /// Adds what came next.
    pub fn push(&mut self, moment: Moment) {
        if self.moments.len() >= self.most {
            self.halvings += 1;
            self.moments = self
                .moments
                .chunks(2)
                .map(|pair| pair.iter().copied().reduce(Moment::join).unwrap_or_default())
                .collect();
        }
        self.moments.push(moment);
    }

    /// All moments, oldest first.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// How often two neighbouring moments became one, to make room.
    pub fn halvings(&self) -> u32 {
        self.halvings
    }

    /// The end of the last moment.
    pub fn end(&self) -> Nanos {
        self.moments.last().map_or(Nanos::ZERO, |moment| moment.to)
    }

    /// Requests ended a second in each of the last `count` spans of `width` (above zero), oldest
    /// first; `None` for spans before the run. Spans are whole multiples of `width` from the start, so that
    /// a bar does not change once it is past. A moment wider than a span counts evenly in each.
    pub fn rates(&self, width: Nanos, count: usize) -> Vec<Option<f64>> {
        let spans = self.end().0.div_ceil(width.0.max(1));
        let first = spans.saturating_sub(count as u64);
        let mut bars = vec![(0.0, 0u64); count];
        let shift = count as u64 - (spans - first);
        for moment in self.moments.iter().rev() {
            if moment.to.0 <= first * width.0 {
                break;
            }
            let long = moment.to.since(moment.from).0.max(1);
            for span in (moment.from.0 / width.0).max(first)..moment.to.0.div_ceil(width.0) {
                let start = moment.from.0.max(span * width.0);
                let end = moment.to.0.min((span + 1) * width.0);
                let bar = &mut bars[(span - first + shift) as usize];
                bar.0 += moment.ended as f64 * (end - start) as f64 / long as f64;
                bar.1 += end - start;
            }
        }
        bars.into_iter()
            .map(|(ended, nanos)| (nanos > 0).then(|| ended / Nanos(nanos).as_secs_f64()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64, ended: u64, max: u64) -> Moment {
        let times = [Some(Nanos(1)), None, Some(Nanos(max))];
        Moment {
            from: Nanos::from_secs(number),
            to: Nanos::from_secs(number + 1),
            ended,
            response: times,
            service: times,
            ..Moment::default()
        }
    }

    #[test]
    fn a_long_run_keeps_its_requests_and_its_peaks_in_bounded_memory() {
        let mut history = History::with_most(10);
        for number in 0..1_000 {
            history.push(second(number, 3, if number == 17 { 99 } else { 5 }));
        }
        assert!(history.moments().len() <= 10);
        assert_eq!(history.moments().iter().map(|moment| moment.ended).sum::<u64>(), 3_000);
        assert_eq!(history.moments()[0].response, [Some(Nanos(1)), None, Some(Nanos(99))]);
        assert!(history.moments().windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(history.end(), Nanos::from_secs(1_000));
    }

    #[test]
    fn a_median_of_few_requests_is_left_out_and_their_maximum_is_kept() {
        let times = Some([1, 2, 3, 4].map(Nanos));
        let of = |ok: u64| {
            Moment::of(&Point { by_outcome: [ok, 0, 0, 0, 0, 0], response: times, ..Point::default() })
        };
        assert_eq!(of(199).response, [None, None, Some(Nanos(4))]);
        assert_eq!(of(200).response, [Some(Nanos(1)), None, Some(Nanos(4))]);
        assert_eq!(of(10_000).response, [1, 3, 4].map(|nanos| Some(Nanos(nanos))));
        assert_eq!(of(199).join(of(200)).response, [Some(Nanos(1)), None, Some(Nanos(4))]);
    }

    #[test]
    fn rates_stand_at_the_right_and_are_empty_before_the_run() {
        let mut history = History::default();
        (0..3).for_each(|number| history.push(second(number, 10 * (number + 1), 5)));
        assert_eq!(history.rates(Nanos::from_secs(1), 5), [None, None, Some(10.0), Some(20.0), Some(30.0)]);
        assert_eq!(history.rates(Nanos::from_secs(1), 2), [Some(20.0), Some(30.0)]);
        // Two seconds of 10 and 20, then the one second so far of the next span.
        assert_eq!(history.rates(Nanos::from_secs(2), 3), [None, Some(15.0), Some(30.0)]);
        assert_eq!(history.rates(Nanos::from_secs(1), 0), []);
        assert_eq!(History::default().rates(Nanos::from_secs(1), 2), [None, None]);
    }

    #[test]
    fn a_moment_wider_than_a_bar_counts_evenly_in_each() {
        let mut history = History::default();
        history.push(Moment { to: Nanos::from_secs(4), ended: 40, ..Moment::default() });
        assert_eq!(history.rates(Nanos::from_secs(2), 2), [Some(10.0), Some(10.0)]);
    }
}
