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
    /// Requests that ended.
    pub ended: u64,
    /// Median and maximum of the response time, the worst of the intervals within. A median of too few requests is
    /// `None`, as in the report.
    pub response: [Option<Nanos>; 2],
    /// Service time, likewise.
    pub service: [Option<Nanos>; 2],
}

impl Moment {
    /// What is kept of a point.
    pub fn of(point: &Point) -> Self {
        let two = |[p50, _, _, max]: [Reading; 4]| [p50, max].map(Reading::time);
        let shown = moment::Moment::of(point);
        Self {
            from: point.from,
            to: point.to,
            ended: point.ended(),
            response: two(shown.response),
            service: two(shown.service),
        }
    }

    fn join(self, next: Self) -> Self {
        // `None` is less than every time.
        let worse = |[a, b]: [Option<Nanos>; 2], [c, d]: [Option<Nanos>; 2]| [a.max(c), b.max(d)];
        Self {
            from: self.from,
            to: next.to,
            ended: self.ended + next.ended,
            response: worse(self.response, next.response),
            service: worse(self.service, next.service),
        }
    }
}

/// The moments of a run, in order.
#[derive(Clone, Debug)]
pub struct History {
    moments: Vec<Moment>,
    most: usize,
}

impl Default for History {
    fn default() -> Self {
        Self::with_most(MOMENTS_MAX)
    }
}

impl History {
    /// A history of at most `most` moments, 2 or more.
    pub fn with_most(most: usize) -> Self {
        Self { moments: Vec::new(), most: most.max(2) }
    }

    /// Adds what came next.
    pub fn push(&mut self, moment: Moment) {
        if self.moments.len() >= self.most {
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
        let times = [Some(Nanos(1)), Some(Nanos(max))];
        Moment {
            from: Nanos::from_secs(number),
            to: Nanos::from_secs(number + 1),
            ended,
            response: times,
            service: times,
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
        assert_eq!(history.moments()[0].response, [Some(Nanos(1)), Some(Nanos(99))]);
        assert!(history.moments().windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(history.end(), Nanos::from_secs(1_000));
    }

    #[test]
    fn a_median_of_few_requests_is_left_out_and_their_maximum_is_kept() {
        let times = Some([1, 2, 3, 4].map(Nanos));
        let of = |ok: u64| {
            Moment::of(&Point { by_outcome: [ok, 0, 0, 0, 0, 0], response: times, ..Point::default() })
        };
        assert_eq!(of(199).response, [None, Some(Nanos(4))]);
        assert_eq!(of(200).response, [Some(Nanos(1)), Some(Nanos(4))]);
        assert_eq!(of(199).join(of(200)).response, [Some(Nanos(1)), Some(Nanos(4))]);
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
