//! The series and texts of one observed source, as rules ask for them.
//!
//! Does not know what a figure means. Every figure is finite, whatever the record holds. While tests run, a figure that no
//! observer writes is no missing one, but a failure (`observed`).

use std::collections::{BTreeMap, BTreeSet};

use knee_core::observation::{Observations, Series, SeriesKind, Source, SourceKind};
use knee_core::unit::Nanos;

/// By source, name and label.
type Labelled<'a, T> = BTreeMap<usize, BTreeMap<&'a str, BTreeMap<&'a str, T>>>;

/// Series and texts by source, name and label.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    series: Labelled<'a, &'a Series>,
    texts: Labelled<'a, &'a str>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(observations: &'a Observations) -> Self {
        let mut index = Self::default();
        for one in &observations.series {
            let names = index.series.entry(one.source).or_default();
            names.entry(one.name.as_str()).or_default().insert(one.label.as_str(), one);
        }
        for one in &observations.texts {
            let names = index.texts.entry(one.source).or_default();
            names.entry(one.name.as_str()).or_default().insert(one.label.as_str(), one.text.as_str());
        }
        index
    }
}

/// How much a counter rose, and over which span of time: readings seldom fall on the edges of the measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rise {
    pub amount: f64,
    pub from: Nanos,
    pub to: Nanos,
}

impl Rise {
    /// Per second of its span; `None` if that has no width.
    pub(crate) fn per_second(self) -> Option<f64> {
        let seconds = self.to.since(self.from).as_secs_f64();
        (seconds > 0.0).then(|| self.amount / seconds)
    }
}

/// One source during the measured time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watched<'a> {
    pub source: &'a Source,
    place: usize,
    index: &'a Index<'a>,
    from: Nanos,
    to: Nanos,
}

impl<'a> Watched<'a> {
    /// The sources of one kind. `from` and `to` are the measured time.
    pub(crate) fn all(
        observations: &'a Observations,
        index: &'a Index<'a>,
        kind: SourceKind,
        (from, to): (Nanos, Nanos),
    ) -> Vec<Self> {
        let sources = observations.sources.iter().enumerate().filter(|(_, source)| source.kind == kind);
        sources.map(|(place, source)| Self { source, place, index, from, to }).collect()
    }

    /// The same source in the second half of the measured time: without what a service does once, such as filling its
    /// pool.
    pub(crate) fn second_half(self) -> Self {
        Self { from: Nanos(self.from.as_nanos().midpoint(self.to.as_nanos())), ..self }
    }

    /// The same source in the first third of the measured time.
    pub(crate) fn first_third(self) -> Self {
        let third = Nanos(self.to.since(self.from).0 / 3);
        Self { to: self.from.saturating_add(third), ..self }
    }

    /// The same source in the last third of the measured time: without most of what fills a cache.
    pub(crate) fn last_third(self) -> Self {
        let third = Nanos(self.to.since(self.from).0 / 3);
        Self { from: self.to.since(third), ..self }
    }

    /// The same source between the readings that a rise spans.
    pub(crate) fn spanning(self, rise: Rise) -> Self {
        Self { from: rise.from, to: rise.to, ..self }
    }

    /// How it is called in reports.
    pub(crate) fn name(&self) -> String {
        self.source.name.clone()
    }

    /// The series of this name and label.
    pub(crate) fn series(&self, name: &str, label: &str) -> Option<&'a Series> {
        self.index.series.get(&self.place)?.get(name)?.get(label).copied()
    }

    /// How much the counter rose in the measured time.
    pub(crate) fn rise(&self, name: &str, label: &str) -> Option<Rise> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Counter);
        rise(self.series(name, label)?, self.from, self.to)
    }

    /// How much the counter rose per second.
    pub(crate) fn per_second(&self, name: &str, label: &str) -> Option<f64> {
        self.rise(name, label)?.per_second()
    }

    /// How much the counters of this name rose between two moments, all labels together: by the readings nearest to
    /// both. `None` if there are no two readings.
    pub(crate) fn within(&self, name: &str, from: Nanos, to: Nanos) -> Option<f64> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Counter);
        let rises = self.labelled(name).filter_map(|series| between(series, from, to));
        rises.reduce(|sum, rise| sum + rise)
    }

    /// How much the counter of one label rose between two moments, likewise.
    pub(crate) fn rose(&self, name: &str, label: &str, from: Nanos, to: Nanos) -> Option<f64> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Counter);
        between(self.series(name, label)?, from, to)
    }

    /// The labels of this name with the rises of their counters, the largest first.
    pub(crate) fn rises(&self, name: &str) -> Vec<(&'a str, Rise)> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Counter);
        let mut rises: Vec<_> = self
            .labelled(name)
            .filter_map(|series| Some((series.label.as_str(), rise(series, self.from, self.to)?)))
            .collect();
        rises.sort_by(|(_, one), (_, other)| other.amount.total_cmp(&one.amount));
        rises
    }

    /// Between how many readings in the measured time a counter of this name rose whose label is `wanted`.
    pub(crate) fn readings(&self, name: &str, wanted: impl Fn(&str) -> bool) -> usize {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Counter);
        let series = self.labelled(name).filter(|series| wanted(&series.label));
        let rises = series.flat_map(|series| series.points.windows(2)).filter(|pair| pair[1].1 > pair[0].1);
        let ends: BTreeSet<Nanos> =
            rises.map(|pair| pair[1].0).filter(|end| *end > self.from && *end <= self.to).collect();
        ends.len()
    }

    /// The labels of this name with the means of their gauges, the largest first.
    pub(crate) fn means(&self, name: &str) -> Vec<(&'a str, f64)> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Gauge);
        let labels = self.labelled(name).map(|series| series.label.as_str());
        let mut means: Vec<_> = labels.filter_map(|label| Some((label, self.mean(name, label)?))).collect();
        means.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        means
    }

    /// The mean of the gauge in the measured time.
    pub(crate) fn mean(&self, name: &str, label: &str) -> Option<f64> {
        let levels = self.levels(name, label);
        (!levels.is_empty()).then(|| levels.iter().sum::<f64>() / levels.len() as f64)
    }

    /// The greatest level of the gauge in the measured time.
    pub(crate) fn most(&self, name: &str, label: &str) -> Option<f64> {
        self.levels(name, label).into_iter().reduce(f64::max)
    }

    /// The levels of the gauge in the measured time; the nearest one before it if there are none.
    pub(crate) fn levels(&self, name: &str, label: &str) -> Vec<f64> {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Gauge);
        let Some(series) = self.series(name, label).filter(|series| series.kind == SeriesKind::Gauge) else {
            return Vec::new();
        };
        let finite = || series.points.iter().filter(|(_, level)| level.is_finite());
        let inside = finite().filter(|(at, _)| *at >= self.from && *at <= self.to);
        let inside: Vec<f64> = inside.map(|(_, level)| *level).collect();
        if inside.is_empty() {
            finite().next_back().map(|(_, level)| *level).into_iter().collect()
        } else {
            inside
        }
    }

    /// By how much the gauges of this name grew between two moments, all labels together: from the last level at or
    /// before the first moment to the greatest one until the second. A label without a level before it began at zero.
    pub(crate) fn growth(&self, name: &str, from: Nanos, to: Nanos) -> f64 {
        #[cfg(test)]
        crate::observed::asks(name, SeriesKind::Gauge);
        let gauges = self.labelled(name).filter(|series| series.kind == SeriesKind::Gauge);
        gauges.map(|series| growth(series, from, to)).sum()
    }

    /// The text of this name and label.
    pub(crate) fn text(&self, name: &str, label: &str) -> Option<&'a str> {
        #[cfg(test)]
        crate::observed::asks_text(name);
        self.index.texts.get(&self.place)?.get(name)?.get(label).copied()
    }

    /// The texts of this name, with their labels.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        #[cfg(test)]
        crate::observed::asks_text(name);
        let texts = self.index.texts.get(&self.place).and_then(|names| names.get(name));
        texts.into_iter().flatten().map(|(label, text)| (*label, *text))
    }

    /// The series of this name, in the order of their labels.
    fn labelled(&self, name: &str) -> impl Iterator<Item = &'a Series> {
        let series = self.index.series.get(&self.place).and_then(|names| names.get(name));
        series.into_iter().flat_map(|labels| labels.values().copied())
    }
}

/// The rise of a counter between the readings that are nearest to two moments.
fn between(series: &Series, from: Nanos, to: Nanos) -> Option<f64> {
    let level = |at: Nanos| {
        let behind = series.points.partition_point(|(moment, _)| *moment < at);
        let around = series.points[behind.saturating_sub(1)..].iter().take(2);
        let distance = |(moment, _): &&(Nanos, f64)| moment.max(&at).since(*moment.min(&at));
        around.min_by_key(distance).map(|(_, level)| *level)
    };
    Some((level(to)? - level(from)?).max(0.0)).filter(|rise| rise.is_finite())
}

/// How far a gauge rose above its last level at or before `from`, until `to`.
fn growth(series: &Series, from: Nanos, to: Nanos) -> f64 {
    let finite = || series.points.iter().filter(|(_, level)| level.is_finite());
    let before = finite().take_while(|(at, _)| *at <= from).last().map_or(0.0, |(_, level)| *level);
    let within = finite().filter(|(at, _)| *at > from && *at <= to);
    within.map(|(_, level)| *level).fold(before, f64::max) - before
}

/// The rise of a counter from the last reading at or before `from` to the first at or after `to`, as far as there are
/// such readings. A fall counts as a start from zero. `None` for a gauge, or without two readings.
fn rise(series: &Series, from: Nanos, to: Nanos) -> Option<Rise> {
    if series.kind != SeriesKind::Counter {
        return None;
    }
    let points = &series.points;
    let first = points.iter().rposition(|(at, _)| *at <= from).unwrap_or(0);
    let last = points.iter().position(|(at, _)| *at >= to).unwrap_or(points.len().checked_sub(1)?);
    if last <= first {
        return None;
    }
    let steps = points[first..=last].windows(2);
    let amount: f64 =
        steps.map(|pair| if pair[1].1 >= pair[0].1 { pair[1].1 - pair[0].1 } else { pair[1].1 }).sum();
    let rise = Rise { amount, from: points[first].0, to: points[last].0 };
    amount.is_finite().then_some(rise)
}

#[cfg(test)]
mod tests {
    use knee_core::observation::FigureUnit;

    use super::*;

    fn counter(points: &[(u64, f64)]) -> Series {
        Series {
            source: 0,
            name: "statement.calls".into(),
            label: "1".into(),
            unit: FigureUnit::Count,
            kind: SeriesKind::Counter,
            points: points.iter().map(|(second, value)| (Nanos::from_secs(*second), *value)).collect(),
        }
    }

    #[test]
    fn a_rise_spans_the_measured_time_and_says_which_time_it_spans() {
        let series = counter(&[(0, 10.0), (5, 60.0), (11, 120.0), (16, 120.0)]);
        let rise = rise(&series, Nanos::from_secs(2), Nanos::from_secs(10)).unwrap();
        assert_eq!(rise, Rise { amount: 110.0, from: Nanos::ZERO, to: Nanos::from_secs(11) });
        assert_eq!(rise.per_second(), Some(10.0));
    }

    #[test]
    fn a_rise_between_two_moments_is_that_of_the_readings_nearest_to_them() {
        let series = counter(&[(0, 10.0), (5, 60.0), (11, 120.0), (16, 121.0)]);
        let of = |from, to| between(&series, Nanos::from_secs(from), Nanos::from_secs(to));
        assert_eq!(of(1, 6), Some(50.0));
        assert_eq!(of(4, 12), Some(60.0));
        assert_eq!(of(20, 30), Some(0.0));
        assert_eq!(between(&counter(&[]), Nanos::ZERO, Nanos::from_secs(9)), None);
    }

    #[test]
    fn a_gauge_grows_from_its_level_before_to_its_greatest_one_and_from_zero_if_it_had_none() {
        let levels = [(2, 10.0), (5, 30.0), (9, 20.0), (12, 90.0)];
        let gauge = Series { kind: SeriesKind::Gauge, ..counter(&levels) };
        let of = |from, to| growth(&gauge, Nanos::from_secs(from), Nanos::from_secs(to)).round() as i64;
        assert_eq!([of(3, 10), of(5, 10), of(0, 4), of(20, 30)], [20, 0, 10, 0]);
    }

    #[test]
    fn a_counter_that_was_reset_or_that_has_one_reading_is_no_surprise() {
        let reset = counter(&[(0, 100.0), (1, 110.0), (2, 5.0)]);
        assert_eq!(rise(&reset, Nanos::ZERO, Nanos::from_secs(2)).unwrap().amount.to_bits(), 15f64.to_bits());
        assert_eq!(rise(&counter(&[(3, 1.0)]), Nanos::ZERO, Nanos::from_secs(9)), None);
        assert_eq!(rise(&counter(&[]), Nanos::ZERO, Nanos::from_secs(9)), None);
        let hostile = counter(&[(0, 0.0), (1, f64::INFINITY)]);
        assert_eq!(rise(&hostile, Nanos::ZERO, Nanos::from_secs(9)), None);
    }
}
