//! The aggregate of each kind of metric; its memory does not grow with the number of samples.
//!
//! Does not know names or tags.

use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::trend::Trend;

/// The samples of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sink {
    /// A sum.
    Counter(Counter),
    /// The last value.
    Gauge(Gauge),
    /// A share.
    Rate(Rate),
    /// A distribution.
    Trend(Trend),
}

impl Sink {
    /// An empty sink.
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter(Counter::default()),
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate(Rate::default()),
            Kind::Trend => Self::Trend(Trend::default()),
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Rate(_) => Kind::Rate,
            Self::Trend(_) => Kind::Trend,
        }
    }

    /// Whether it is empty.
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::Counter(counter) => !counter.seen,
            Self::Gauge(gauge) => gauge.is_empty(),
            Self::Rate(rate) => rate.total() == 0,
            Self::Trend(trend) => trend.count() == 0,
        }
    }

    /// Takes one sample. `at` is its time on the run's clock, which decides which value is the last one
    /// when workers are merged. The code that takes values from a script refuses NaN.
    pub fn add(&mut self, value: f64, at: u64) {
        match self {
            Self::Counter(counter) => {
                counter.sum += value;
                counter.seen = true;
            }
            Self::Gauge(gauge) => gauge.add(value, at),
            Self::Rate(rate) => rate.add(value != 0.0),
            Self::Trend(trend) => trend.add(value),
        }
    }

    /// Merges another sink of the same kind; one of another kind is left out, because a metric has one kind.
    pub fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Counter(counter), Self::Counter(other)) => {
                counter.sum += other.sum;
                counter.seen |= other.seen;
            }
            (Self::Gauge(gauge), Self::Gauge(other)) => gauge.merge(other),
            (Self::Rate(rate), Self::Rate(other)) => {
                rate.hits = rate.hits.saturating_add(other.hits);
                rate.total = rate.total.saturating_add(other.total);
            }
            (Self::Trend(trend), Self::Trend(other)) => trend.merge(other),
            _ => {}
        }
    }

    /// Brings a distribution into the form that records have.
    pub(super) fn shorten(&mut self) {
        if let Self::Trend(trend) = self {
            trend.shorten();
        }
    }

    /// Merges what another machine counted in the same interval. Values that each machine has of its own add up: those of
    /// a gauge too, if it `adds` up.
    pub fn merge_beside(&mut self, other: &Self, adds: bool) {
        match (self, other) {
            (Self::Gauge(gauge), Self::Gauge(other)) if adds => gauge.add_up(other),
            (own, other) => own.merge(other),
        }
    }
}

/// A sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    sum: f64,
    seen: bool,
}

impl Counter {
    /// The sum of all samples.
    pub const fn sum(&self) -> f64 {
        self.sum
    }

    /// The sum per second of a run that took `seconds`; zero for no time at all.
    pub fn per_second(&self, seconds: f64) -> f64 {
        if seconds <= 0.0 { 0.0 } else { self.sum / seconds }
    }
}

/// The last value, with the extremes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    seen: Option<Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Seen {
    value: f64,
    min: f64,
    max: f64,
    at: u64,
}

impl Gauge {
    fn add(&mut self, value: f64, at: u64) {
        self.merge(&Self { seen: Some(Seen { value, min: value, max: value, at }) });
    }

    fn merge(&mut self, other: &Self) {
        let Some(other) = other.seen else { return };
        self.seen = Some(match self.seen {
            None => other,
            Some(seen) => {
                let last = if other.at >= seen.at { other } else { seen };
                Seen { min: seen.min.min(other.min), max: seen.max.max(other.max), ..last }
            }
        });
    }

    fn add_up(&mut self, other: &Self) {
        self.seen = match (self.seen, other.seen) {
            (Some(own), Some(other)) => Some(Seen {
                value: own.value + other.value,
                min: own.min + other.min,
                max: own.max + other.max,
                at: own.at.max(other.at),
            }),
            (own, other) => own.or(other),
        };
    }

    /// Whether it has never been set.
    pub const fn is_empty(&self) -> bool {
        self.seen.is_none()
    }

    /// The value set last; zero if none was.
    pub fn value(&self) -> f64 {
        self.seen.map_or(0.0, |seen| seen.value)
    }

    /// The smallest value; zero if none was set.
    pub fn min(&self) -> f64 {
        self.seen.map_or(0.0, |seen| seen.min)
    }

    /// The largest value, zero at the least: k6 counts every gauge from zero upwards.
    pub fn max(&self) -> f64 {
        self.seen.map_or(0.0, |seen| seen.max.max(0.0))
    }
}

/// Number of samples that were not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    hits: u64,
    total: u64,
}

impl Rate {
    fn add(&mut self, is_hit: bool) {
        self.total += 1;
        self.hits += u64::from(is_hit);
    }

    /// Samples that were not zero.
    pub const fn hits(&self) -> u64 {
        self.hits
    }

    /// Samples that were zero.
    pub const fn misses(&self) -> u64 {
        self.total.saturating_sub(self.hits)
    }

    /// All samples.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The share of hits, 0 to 1; zero if there is no sample.
    pub fn share(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.hits as f64 / self.total as f64 }
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "sums and ranks of these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_gauge_is_the_latest_of_all_workers() {
        let mut first = Sink::new(Kind::Gauge);
        let mut second = Sink::new(Kind::Gauge);
        first.add(1.0, 10);
        first.add(7.0, 30);
        second.add(-3.0, 20);
        second.merge(&first);
        let Sink::Gauge(gauge) = second else { unreachable!() };
        assert_eq!((gauge.value(), gauge.min(), gauge.max()), (7.0, -3.0, 7.0));
    }

    #[test]
    fn a_rate_counts_what_is_not_zero() {
        let mut sink = Sink::new(Kind::Rate);
        for value in [0.0, 1.0, 2.0, -1.0] {
            sink.add(value, 0);
        }
        let Sink::Rate(rate) = sink else { unreachable!() };
        assert_eq!((rate.hits(), rate.misses(), rate.share()), (3, 1, 0.75));
    }

    #[test]
    fn a_counter_per_second_of_no_time_is_zero() {
        let mut counter = Counter::default();
        counter.sum += 5.0;
        assert_eq!(counter.per_second(0.0), 0.0);
        assert_eq!(counter.per_second(2.0), 2.5);
    }
}
