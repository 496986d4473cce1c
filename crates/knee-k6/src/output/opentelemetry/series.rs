//! Adds samples up, one point for each metric and each set of tags, and makes a message of all of them.
//!
//! As k6 does with OpenTelemetry's library: counters and rates are sums, trends are histograms with the library's bounds,
//! and all are of the whole run so far. Does not send.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::batch::Batch;
use super::super::columns::Columns;
use super::super::sums::{SERIES_MAX, TagSet, TagSets};
use super::config::Config;
use super::message::{
    CUMULATIVE, Data, ExportRequest, Gauge, Histogram, HistogramPoint, KeyValue, Metric, Number, NumberPoint,
    Resource, ResourceMetrics, Scope, ScopeMetrics, Sum,
};
use crate::metric::{Contains, Kind, Metric as About, MetricId, Registry};

/// The bounds of buckets that OpenTelemetry specifies for histograms without bounds of their own
/// (<https://opentelemetry.io/docs/specs/otel/metrics/sdk/#explicit-bucket-histogram-aggregation>).
const BOUNDS: [f64; 15] = [
    0.0, 5.0, 10.0, 25.0, 50.0, 75.0, 100.0, 250.0, 500.0, 750.0, 1_000.0, 2_500.0, 5_000.0, 7_500.0,
    10_000.0,
];
/// Bytes of a name that OpenTelemetry permits.
const NAME_MAX: usize = 255;
/// The attribute that says which samples of a rate a counter has.
const CONDITION: &str = "condition";

/// All series.
pub struct SeriesSet {
    metrics: Arc<Registry>,
    resource: Resource,
    prefix: String,
    single_counter: bool,
    /// When sums began, in nanoseconds since the Unix epoch.
    start: u64,
    tags: TagSets,
    series: FxHashMap<(MetricId, TagSet), Total>,
    /// Whether OpenTelemetry permits the name of a metric, by number.
    permitted: FxHashMap<MetricId, bool>,
    /// Samples of series that were too many.
    lost: u64,
    /// Samples of metrics whose names OpenTelemetry does not permit.
    unnamed: u64,
}

/// What a series has summed up.
enum Total {
    Counter(f64),
    Gauge(f64),
    Rate { nonzero: i64, all: i64 },
    Trend(Box<Buckets>),
}

/// Values in buckets.
struct Buckets {
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
    min: f64,
    max: f64,
}

impl SeriesSet {
    /// No series; sums begin at `start`, in nanoseconds since the Unix epoch.
    pub fn new(metrics: Arc<Registry>, config: &Config, start: u64) -> Self {
        let attributes = config.resource.iter().map(|(name, value)| KeyValue::new(name, value)).collect();
        Self {
            metrics,
            resource: Resource { attributes },
            prefix: config.prefix.clone(),
            single_counter: config.single_counter,
            start,
            tags: TagSets::default(),
            series: FxHashMap::default(),
            permitted: FxHashMap::default(),
            lost: 0,
            unnamed: 0,
        }
    }

    /// Samples that belong to no series, because there were too many.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Samples of metrics whose names OpenTelemetry does not permit.
    pub const fn unnamed(&self) -> u64 {
        self.unnamed
    }

    /// Adds samples up.
    pub fn add(&mut self, batch: &Batch) {
        let mut sets = std::mem::take(&mut self.tags);
        sets.each(batch, |tags, samples| match tags {
            Some(tags) => {
                for (metric, value) in samples.values {
                    self.take((*metric, tags), 1, [(*value, 1)]);
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
                    Some(tags) => self.take((column.metric, tags), column.samples(), column.runs()),
                    None => self.lost += column.samples(),
                }
            }
        }
    }

    /// Takes values, and how often each of them came: `samples` together.
    fn take(&mut self, key: (MetricId, TagSet), samples: u64, values: impl IntoIterator<Item = (f64, u64)>) {
        if !self.series.contains_key(&key) {
            if !self.is_permitted(key.0) {
                self.unnamed += samples;
                return;
            }
            if self.series.len() >= SERIES_MAX {
                self.lost += samples;
                return;
            }
            self.series.insert(key, Total::of(self.metrics.catalog().metric(key.0).kind));
        }
        if let Some(total) = self.series.get_mut(&key) {
            for (value, count) in values {
                total.add(value, count);
            }
        }
    }

    fn is_permitted(&mut self, metric: MetricId) -> bool {
        let (prefix, metrics) = (&self.prefix, &self.metrics);
        *self.permitted.entry(metric).or_insert_with(|| is_name(&format!("{prefix}{}", metrics.name(metric))))
    }

    /// All series as they are `at` a moment, in nanoseconds since the Unix epoch; `None` if there are none.
    pub fn message(&self, at: u64) -> Option<ExportRequest> {
        if self.series.is_empty() {
            return None;
        }
        let mut keys: Vec<_> = self.series.keys().copied().collect();
        keys.sort_unstable_by_key(|(metric, tags)| (metric.0, *tags));
        let mut metrics = MetricList::default();
        let catalog = self.metrics.catalog();
        for (metric, tags) in keys {
            if let Some(total) = self.series.get(&(metric, tags)) {
                self.append(&mut metrics, total, (metric, catalog.metric(metric)), tags, at);
            }
        }
        let scope = Some(Scope { name: "k6".to_owned() });
        let scope_metrics = vec![ScopeMetrics { scope, metrics: metrics.0.into_values().collect() }];
        let resource = Some(self.resource.clone());
        Some(ExportRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] })
    }

    /// Appends the points of a series.
    fn append(
        &self,
        metrics: &mut MetricList,
        total: &Total,
        (metric, about): (MetricId, &About),
        tags: TagSet,
        at: u64,
    ) {
        let name = format!("{}{}", self.prefix, about.name);
        let unit = unit(about.contains);
        let start = self.start;
        let point = |attributes, value| NumberPoint { attributes, start, at, value: Some(value) };
        let attributes = || self.attributes(tags);
        match total {
            Total::Counter(sum) => {
                push_sum(metrics.find(metric, &name, "", unit), point(attributes(), Number::Double(*sum)));
            }
            Total::Gauge(last) => {
                push_gauge(metrics.find(metric, &name, "", unit), point(attributes(), Number::Double(*last)));
            }
            Total::Trend(buckets) => {
                push_histogram(metrics.find(metric, &name, "", unit), buckets.point(attributes(), start, at));
            }
            Total::Rate { nonzero, all } if self.single_counter => {
                let counters = metrics.find(metric, &name, ".total", "");
                for (condition, count) in [("nonzero", *nonzero), ("zero", all - nonzero)] {
                    if count > 0 {
                        push_sum(
                            counters,
                            point(with_condition(attributes(), condition), Number::Int(count)),
                        );
                    }
                }
            }
            Total::Rate { nonzero, all } => {
                if *nonzero > 0 {
                    let occurred = metrics.find(metric, &name, ".occurred", "");
                    push_sum(occurred, point(attributes(), Number::Int(*nonzero)));
                }
                push_sum(metrics.find(metric, &name, ".total", ""), point(attributes(), Number::Int(*all)));
            }
        }
    }

    /// The tags of a series, sorted by name.
    fn attributes(&self, tags: TagSet) -> Vec<KeyValue> {
        self.tags.filled(tags).map(|(name, value)| KeyValue::new(name, value)).collect()
    }
}

/// Metrics of a message, by number and by what follows their name.
#[derive(Default)]
struct MetricList(BTreeMap<(usize, &'static str), Metric>);

impl MetricList {
    fn find(&mut self, id: MetricId, name: &str, suffix: &'static str, unit: &str) -> &mut Metric {
        let empty = || Metric { name: format!("{name}{suffix}"), unit: unit.to_owned(), data: None };
        self.0.entry((id.0, suffix)).or_insert_with(empty)
    }
}

/// Attributes with the condition, which overrides a tag of this name.
fn with_condition(mut attributes: Vec<KeyValue>, name: &str) -> Vec<KeyValue> {
    attributes.retain(|one| one.key != CONDITION);
    let place = attributes.partition_point(|one| one.key.as_str() < CONDITION);
    attributes.insert(place, KeyValue::new(CONDITION, name));
    attributes
}

fn push_sum(metric: &mut Metric, point: NumberPoint) {
    let empty = || Data::Sum(Sum { points: Vec::new(), temporality: CUMULATIVE, is_monotonic: true });
    if let Data::Sum(sum) = metric.data.get_or_insert_with(empty) {
        sum.points.push(point);
    }
}

fn push_gauge(metric: &mut Metric, point: NumberPoint) {
    if let Data::Gauge(gauge) = metric.data.get_or_insert_with(|| Data::Gauge(Gauge::default())) {
        gauge.points.push(point);
    }
}

fn push_histogram(metric: &mut Metric, point: HistogramPoint) {
    let empty = || Data::Histogram(Histogram { points: Vec::new(), temporality: CUMULATIVE });
    if let Data::Histogram(histogram) = metric.data.get_or_insert_with(empty) {
        histogram.points.push(point);
    }
}

/// The unit, as OpenTelemetry writes it.
fn unit(contains: Contains) -> &'static str {
    match contains {
        Contains::Time => "ms",
        Contains::Data => "By",
        Contains::Default => "",
    }
}

/// Whether OpenTelemetry permits a name
/// (<https://opentelemetry.io/docs/specs/otel/metrics/api/#instrument-name-syntax>).
fn is_name(name: &str) -> bool {
    name.len() <= NAME_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/'))
}

impl Total {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter(0.0),
            Kind::Gauge => Self::Gauge(0.0),
            Kind::Rate => Self::Rate { nonzero: 0, all: 0 },
            Kind::Trend => {
                let counts = [0; BOUNDS.len() + 1];
                Self::Trend(Box::new(Buckets {
                    counts,
                    sum: 0.0,
                    min: f64::INFINITY,
                    max: f64::NEG_INFINITY,
                }))
            }
        }
    }

    fn add(&mut self, value: f64, count: u64) {
        match self {
            Self::Counter(sum) => *sum += value * count as f64,
            Self::Gauge(last) => *last = value,
            Self::Rate { nonzero, all } => {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                *all += count;
                *nonzero += if value == 0.0 { 0 } else { count };
            }
            Self::Trend(buckets) => buckets.add(value, count),
        }
    }
}

impl Buckets {
    fn add(&mut self, value: f64, count: u64) {
        // A bound belongs to the bucket that it ends.
        self.counts[BOUNDS.partition_point(|bound| *bound < value)] += count;
        self.sum += value * count as f64;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    fn point(&self, attributes: Vec<KeyValue>, start: u64, at: u64) -> HistogramPoint {
        HistogramPoint {
            attributes,
            start,
            at,
            count: self.counts.iter().sum(),
            sum: Some(self.sum),
            counts: self.counts.to_vec(),
            bounds: BOUNDS.to_vec(),
            min: Some(self.min),
            max: Some(self.max),
        }
    }
}
