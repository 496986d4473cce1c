//! Adds samples up, one series for each metric and each set of tags, and makes messages of those that changed.
//!
//! As in k6: counters and rates are of the whole run so far, trends too; a series is sent with the time of its last
//! sample. Does not send.

use std::sync::Arc;

use knee_core::unit::Nanos;
use rustc_hash::FxHashMap;

use super::super::batch::Batch;
use super::super::columns::Columns;
use super::super::sums::{SERIES_MAX, TagSet, TagSets};
use super::config::Stat;
use super::message::{Label, Sample, TimeSeries, WriteRequest};
use super::native::NativeHistogram;
use crate::metric::{Contains, Kind, MetricId, Registry, Trend};

/// The value that marks a series as ended.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// All series.
pub struct SeriesSet {
    metrics: Arc<Registry>,
    stats: Vec<Stat>,
    native: bool,
    tags: TagSets,
    series: FxHashMap<(MetricId, TagSet), Series>,
    /// Those that changed since the last message, in the order in which they did.
    changed: Vec<(MetricId, TagSet)>,
    /// Samples of series that were too many.
    lost: u64,
}

struct Series {
    total: Total,
    /// Whether values are in milliseconds.
    is_time: bool,
    /// Milliseconds since the Unix epoch.
    latest: i64,
    is_changed: bool,
}

/// What a series has summed up.
enum Total {
    Counter(f64),
    Gauge(f64),
    Rate { passed: u64, all: u64 },
    Trend(Box<Trend>, u64),
    Native(Box<NativeHistogram>),
}

impl SeriesSet {
    /// No series. `native`: trends are native histograms, else what `stats` says.
    pub fn new(metrics: Arc<Registry>, stats: Vec<Stat>, native: bool) -> Self {
        Self {
            metrics,
            stats,
            native,
            tags: TagSets::default(),
            series: FxHashMap::default(),
            changed: Vec::new(),
            lost: 0,
        }
    }

    /// Samples that belong to no series, because there were too many.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Adds samples up.
    pub fn add(&mut self, batch: &Batch) {
        let mut sets = std::mem::take(&mut self.tags);
        sets.each(batch, |tags, samples| match tags {
            Some(tags) => {
                for (metric, value) in samples.values {
                    self.take((*metric, tags), samples.at, 1, [(*value, 1)]);
                }
            }
            None => self.lost += samples.values.len() as u64,
        });
        self.tags = sets;
    }

    /// Adds samples up.
    pub fn add_columns(&mut self, columns: &Columns) {
        for block in columns.blocks() {
            let tags = self.tags.number(block.tags.pairs());
            for column in &block.columns {
                match tags {
                    Some(tags) => {
                        self.take((column.metric, tags), column.latest, column.samples(), column.runs());
                    }
                    None => self.lost += column.samples(),
                }
            }
        }
    }

    /// Takes values, and how often each of them came. They are `samples` together, of which the last one came `at`.
    fn take(
        &mut self,
        key: (MetricId, TagSet),
        at: Nanos,
        samples: u64,
        values: impl IntoIterator<Item = (f64, u64)>,
    ) {
        if !self.series.contains_key(&key) {
            if self.series.len() >= SERIES_MAX {
                self.lost += samples;
                return;
            }
            let catalog = self.metrics.catalog();
            let metric = catalog.metric(key.0);
            let is_time = metric.contains == Contains::Time;
            let total = Total::of(metric.kind, self.native);
            self.series.insert(key, Series { total, is_time, latest: i64::MIN, is_changed: false });
        }
        let Some(series) = self.series.get_mut(&key) else { return };
        for (value, count) in values {
            series.total.add(value, count, series.is_time);
        }
        let at = i64::try_from(at.as_nanos() / 1_000_000).unwrap_or(i64::MAX);
        if series.is_changed {
            series.latest = series.latest.max(at);
        } else {
            // A sum that was sent stands at its moment; another one of the same moment is refused.
            series.latest = at.max(series.latest.saturating_add(1));
            series.is_changed = true;
            self.changed.push(key);
        }
    }

    /// The series that changed since the last call; `None` if none did.
    pub fn message(&mut self) -> Option<WriteRequest> {
        let changed = std::mem::take(&mut self.changed);
        if changed.is_empty() {
            return None;
        }
        let mut message = WriteRequest::default();
        for key in changed {
            if let Some(series) = self.series.get_mut(&key) {
                series.is_changed = false;
            }
            self.append(&mut message, key);
        }
        Some(message)
    }

    /// Makes the next message one of all series: one that was left out or refused can have had the last sums of a series
    /// that does not change any more. They still hold at `now`, in milliseconds; samples of an hour ago are refused, and
    /// with them the whole message.
    pub fn repeat(&mut self, now: i64) {
        let unchanged = self.series.iter_mut().filter(|(_, series)| !series.is_changed);
        for (key, series) in unchanged {
            series.is_changed = true;
            series.latest = now.max(series.latest.saturating_add(1));
            self.changed.push(*key);
        }
    }

    /// All series, marked as ended a millisecond after `at`, in milliseconds; `None` if there are none.
    pub fn stale(&self, at: i64) -> Option<WriteRequest> {
        let mut message = WriteRequest::default();
        let mut keys: Vec<_> = self.series.keys().copied().collect();
        keys.sort_unstable_by_key(|(metric, tags)| (metric.0, *tags));
        for key in keys {
            self.append(&mut message, key);
        }
        for series in &mut message.series {
            series.samples = vec![Sample { value: f64::from_bits(STALE), timestamp: at + 1 }];
            series.histograms.clear();
        }
        (!message.series.is_empty()).then_some(message)
    }

    /// Appends a series to a message.
    fn append(&self, message: &mut WriteRequest, (metric, tags): (MetricId, TagSet)) {
        let Some(series) = self.series.get(&(metric, tags)) else { return };
        let catalog = self.metrics.catalog();
        let about = catalog.metric(metric);
        let labels = |suffix: &str| self.labels(&about.name, suffix, tags);
        let timestamp = series.latest;
        let mut one = |suffix: &str, value: f64| {
            let samples = vec![Sample { value, timestamp }];
            message.series.push(TimeSeries { labels: labels(suffix), samples, histograms: Vec::new() });
        };
        match &series.total {
            Total::Counter(sum) => one("total", *sum),
            Total::Gauge(last) => one("", *last),
            Total::Rate { passed, all } => one("rate", *passed as f64 / (*all).max(1) as f64),
            Total::Trend(trend, count) => {
                let scale = if about.contains == Contains::Time { 1_000.0 } else { 1.0 };
                for stat in &self.stats {
                    one(&stat.suffix(), value_of(stat, trend, scale, *count));
                }
            }
            Total::Native(histogram) => {
                let suffix = match about.contains {
                    Contains::Time => "seconds",
                    Contains::Data => "bytes",
                    Contains::Default => "",
                };
                let histograms = vec![histogram.message(timestamp)];
                message.series.push(TimeSeries { labels: labels(suffix), samples: Vec::new(), histograms });
            }
        }
    }

    /// The labels of a series, sorted by name.
    fn labels(&self, name: &str, suffix: &str, tags: TagSet) -> Vec<Label> {
        let name = if suffix.is_empty() { format!("k6_{name}") } else { format!("k6_{name}_{suffix}") };
        let mut labels = vec![Label { name: "__name__".to_owned(), value: name }];
        let filled = self.tags.filled(tags);
        labels.extend(filled.map(|(name, value)| Label { name: name.to_owned(), value: value.to_owned() }));
        labels.sort_by(|one, other| one.name.cmp(&other.name));
        labels
    }
}

/// A figure of a trend, divided by `scale`. Only the number of its values has no unit, which k6 overlooks.
fn value_of(stat: &Stat, trend: &Trend, scale: f64, count: u64) -> f64 {
    let value = match stat {
        Stat::Count => return count as f64,
        Stat::Avg => trend.avg(),
        Stat::Min => trend.min(),
        Stat::Med => trend.percentile(50.0),
        Stat::Max => trend.max(),
        Stat::Sum => trend.sum(),
        Stat::Percentile(number) => trend.percentile(number.parse().unwrap_or_default()),
    };
    value / scale
}

impl Total {
    fn of(kind: Kind, native: bool) -> Self {
        match kind {
            Kind::Counter => Self::Counter(0.0),
            Kind::Gauge => Self::Gauge(0.0),
            Kind::Rate => Self::Rate { passed: 0, all: 0 },
            Kind::Trend if native => Self::Native(Box::default()),
            Kind::Trend => Self::Trend(Box::default(), 0),
        }
    }

    /// Adds a value `count` times; `is_time` says whether it is in milliseconds.
    fn add(&mut self, value: f64, count: u64, is_time: bool) {
        match self {
            Self::Counter(sum) => *sum += value * count as f64,
            Self::Gauge(last) => *last = value,
            Self::Rate { passed, all } => {
                *all += count;
                *passed += if value == 0.0 { 0 } else { count };
            }
            Self::Trend(trend, all) => {
                trend.add_many(value, count);
                *all += count;
            }
            Self::Native(histogram) => {
                histogram.add(if is_time { value / 1_000.0 } else { value }, count);
            }
        }
    }
}
