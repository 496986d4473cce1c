//! Axes of charts: which values they hold, where a value is on them, and their ticks.
//!
//! Does not draw.

use super::tick;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What is on it, with its unit; empty if the ticks say so.
    pub name: String,
    /// The value at its beginning.
    pub from: f64,
    /// The value at its end.
    pub to: f64,
    /// Whether equal distances are equal ratios.
    pub by_ratio: bool,
    /// Its ticks, with what is written at them.
    pub ticks: Vec<(f64, String)>,
    /// Whether it holds the seconds since the start of a run. Charts with such an axis share a cursor.
    pub of_run: bool,
}

/// A value that no picture shows: less than a nanosecond, less than one request in years.
const NEXT_TO_NOTHING: f64 = 1e-9;

impl Axis {
    /// An axis from 0 to a little above `most`.
    pub fn amounts(name: &str, most: f64) -> Self {
        let to = if most > 0.0 && most.is_finite() { most * 1.05 } else { 1.0 };
        let ticks = tick::linear(0.0, to).into_iter().map(|tick| (tick, tick::short(tick))).collect();
        Self { name: name.to_owned(), from: 0.0, to, by_ratio: false, ticks, of_run: false }
    }

    /// An axis of shares of 0 to 1, in per cent.
    pub fn shares(name: &str) -> Self {
        let ticks =
            [0.0, 0.25, 0.5, 0.75, 1.0].map(|tick| (tick, format!("{} %", tick::short(tick * 100.0))));
        Self {
            name: name.to_owned(),
            from: 0.0,
            to: 1.0,
            by_ratio: false,
            ticks: ticks.to_vec(),
            of_run: false,
        }
    }

    /// An axis of times in nanoseconds from `least` to `most`, both above 0, by ratio.
    pub fn times(name: &str, least: f64, most: f64) -> Self {
        let least = least.max(1.0);
        let (from, to) = (least * 0.8, most.max(least) * 1.25);
        let ticks = tick::logarithmic(from, to).into_iter().map(|tick| (tick, tick::time(tick))).collect();
        Self { name: name.to_owned(), from, to, by_ratio: true, ticks, of_run: false }
    }

    /// An axis of the seconds since the start of a run.
    pub fn since_start(to: f64) -> Self {
        let to = if to > 0.0 && to.is_finite() { to } else { 1.0 };
        let ticks = tick::seconds(to).into_iter().map(|tick| (tick, tick::since_start(tick))).collect();
        Self { name: String::new(), from: 0.0, to, by_ratio: false, ticks, of_run: true }
    }

    /// An axis of percentiles by their nines, from 0 to the share `most`, less than 1. Equal distances are equal ratios of
    /// the requests above a percentile; values are those of [`nines`].
    pub fn percentiles(name: &str, most: f64) -> Self {
        const MARKS: [(f64, &str); 8] = [
            (0.0, "0"),
            (0.5, "p50"),
            (0.9, "p90"),
            (0.99, "p99"),
            (0.999, "p99.9"),
            (0.999_9, "p99.99"),
            (0.999_99, "p99.999"),
            (0.999_999, "p99.9999"),
        ];
        let to = nines(most).max(0.1);
        let marks = MARKS.iter().map(|(share, text)| (nines(*share), (*text).to_owned()));
        let ticks = marks.filter(|(place, _)| *place <= to + 1e-9).collect();
        Self { name: name.to_owned(), from: 0.0, to, by_ratio: false, ticks, of_run: false }
    }

    /// An axis of load levels.
    pub fn levels(name: &str, (from, to): (f64, f64), by_ratio: bool) -> Self {
        let (from, to) = if by_ratio { (from * 0.9, to * 1.1) } else { (from, to * 1.03) };
        let round = if by_ratio { tick::logarithmic(from, to) } else { tick::linear(from, to) };
        let ticks = round.into_iter().map(|tick| (tick, tick::short(tick))).collect();
        Self { name: name.to_owned(), from, to, by_ratio, ticks, of_run: false }
    }

    /// The same axis with whole numbers at its ticks, for what is counted.
    #[must_use]
    pub fn of_counts(mut self) -> Self {
        self.ticks.retain(|(at, _)| at.fract() == 0.0);
        self
    }

    /// An axis of things in order, from the first to the `last`.
    pub fn places(name: &str, last: usize) -> Self {
        let (from, to) = (0.5, last.max(1) as f64 + 0.5);
        let ticks = tick::linear(from, to).into_iter().map(|tick| (tick, tick::short(tick))).collect();
        Self { name: name.to_owned(), from, to, by_ratio: false, ticks, of_run: false }.of_counts()
    }

    /// Where a value is, 0 at the beginning and 1 at the end; values beyond an end are at that end.
    pub fn share(&self, value: f64) -> f64 {
        let share = if self.by_ratio {
            (value.max(NEXT_TO_NOTHING) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// The place of a share on an axis of percentiles: 1 for 90 %, 2 for 99 %.
pub fn nines(share: f64) -> f64 {
    -(1.0 - share).max(NEXT_TO_NOTHING).log10()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn a_value_is_placed_by_its_amount_or_by_its_ratio() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        let amounts = Axis::amounts("requests/s", 100.0 / 1.05);
        assert!(close(amounts.share(25.0), 0.25) && close(amounts.share(-3.0), 0.0));
        assert!(close(amounts.share(f64::NAN), 0.0) && close(amounts.share(1e9), 1.0));
        let times = Axis::times("response time", 1e6 / 0.8, 1e8 / 1.25);
        assert!(close(times.share(1e7), 0.5) && close(times.share(0.0), 0.0));
    }

    #[test]
    fn percentiles_are_placed_by_their_nines() {
        let axis = Axis::percentiles("percentile", 0.999);
        assert_eq!(labels(&axis), ["0", "p50", "p90", "p99", "p99.9"]);
        assert!((axis.share(nines(0.9)) * 3.0 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_counted_has_whole_numbers_at_its_ticks() {
        assert_eq!(labels(&Axis::amounts("requests", 1.0).of_counts()), ["0", "1"]);
        assert_eq!(labels(&Axis::levels("connections", (0.0, 2.0), false).of_counts()), ["0", "1", "2"]);
        assert_eq!(labels(&Axis::places("runs, oldest first", 2)), ["1", "2"]);
        assert_eq!(labels(&Axis::places("runs, oldest first", 24)), ["5", "10", "15", "20"]);
    }

    #[test]
    fn ticks_are_within_their_axis_and_none_is_written_twice() {
        let axes = [
            Axis::amounts("requests/s", 12_345.0),
            Axis::amounts("requests/s", 0.0),
            Axis::amounts("requests/s", 1e300),
            Axis::times("time", 1.0, 3.6e12),
            Axis::times("time", 0.0, 0.0),
            Axis::times("time", 1.1e6, 1.2e6),
            Axis::since_start(0.0),
            Axis::since_start(86_400.0),
            Axis::levels("requests/s", (0.0, 4_860.0), false),
            Axis::levels("requests/s", (10.0, 4_860.0), true),
        ];
        for axis in axes {
            assert!(axis.ticks.len() <= 10, "{axis:?}");
            assert!(axis.ticks.iter().all(|(at, _)| (axis.from..=axis.to).contains(at)), "{axis:?}");
            assert!(axis.ticks.windows(2).all(|pair| pair[0].1 != pair[1].1), "{axis:?}");
        }
    }
}
