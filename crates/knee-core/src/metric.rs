//! What scripts count: series of samples with names, and checks in groups. k6's metrics are such series.
//!
//! Adding up what several machines counted beside each other, and what was counted in one interval after another, gives what
//! the whole load counted.
//! Does not know which series there are, nor filter by tags: the code that runs scripts does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

pub mod kind;
pub mod samples;
pub mod sink;
pub mod trend;

pub use kind::{Contains, Kind};
pub use samples::SamplesSoFar;
pub use sink::{Counter, Gauge, Rate, Sink};
pub use trend::Trend;

/// Most series of a run, with those of its scenarios and groups; what is over is left out and counted.
pub const SERIES_MAX: usize = 50_000;
/// Most checks of a run, likewise.
pub const CHECKS_MAX: usize = 50_000;
/// About how many bytes all series of a run take at most.
pub const BYTES_MAX: usize = 96 << 20;
/// Most thresholds of a run that are kept.
pub const THRESHOLDS_MAX: usize = 1_000;
/// Most series of one frame of a record, and most values of them: far fewer than a reader takes.
const SERIES_OF_FRAME: usize = 64;
const VALUES_OF_FRAME: usize = 1 << 16;
/// Most checks of one frame of a record, and most bytes of their names.
const CHECKS_OF_FRAME: usize = 5_000;
const NAMES_OF_FRAME: usize = 2 << 20;

/// The name of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The metric.
    pub metric: String,
    /// Which of its samples, such as `expected_response:true`; all of them if empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
    /// The scenario; `None` for the whole load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The path of the group, `::outer::inner`; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Samples of one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Unit of its values.
    pub contains: Contains,
    /// Whether each machine has values of its own, whose sum is that of the whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds: Option<Adds>,
    /// The samples.
    pub sink: Sink,
}

/// A gauge of which each machine has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Adds {
    /// What a machine has now, and nothing when it has ended: users at work.
    Now,
    /// What a machine has got, which stays: users that were made.
    Kept,
}

/// Where checks are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The scenario, empty for `setup` and `teardown`; `None` for the whole load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The path of the group, `::outer::inner`; empty outside of groups.
    pub group: String,
}

/// A group and the checks in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// When it was first entered, in nanoseconds of the run's clock: groups are listed in this order.
    pub first: u64,
    /// Its checks, by name.
    pub checks: BTreeMap<String, Check>,
}

/// How often a check passed and failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// When it was first made, in nanoseconds of the run's clock: checks are listed in this order.
    pub first: u64,
    /// Passes.
    pub passes: u64,
    /// Failures.
    pub fails: u64,
}

/// A limit that a script sets for a metric, judged over the whole load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// The metric, or `metric{tag:value}`.
    pub metric: String,
    /// The limit as the script has it, such as `p(95)<200`.
    pub expression: String,
    /// The figure that it limits, in the unit of the metric.
    pub value: f64,
    /// Whether it held.
    pub holds: bool,
}

/// What was counted in an interval, or in a whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Metrics {
    /// The series.
    pub series: BTreeMap<Key, Series>,
    /// The groups.
    pub groups: BTreeMap<Place, Group>,
    /// Thresholds, in the last piece of a load that one machine made. A part of a load has none: only the whole can be
    /// judged.
    pub thresholds: Vec<Threshold>,
    /// How many samples and checks were left out, because there were too many series or names.
    pub left_out: u64,
}

/// What gives the metrics of each interval.
pub trait MetricSource: Send {
    /// What was counted since the last call. `last`: the load has ended, and this is all that is still to come.
    fn take(&mut self, at: Nanos, last: bool) -> Metrics;
}

impl Metrics {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.groups.is_empty() && self.thresholds.is_empty() && self.left_out == 0
    }

    /// Adds what another machine counted in the same interval. Thresholds of a part say nothing of the whole.
    pub fn merge_beside(&mut self, other: &Self) {
        self.add(other, Sink::merge_beside);
    }

    /// Adds what was counted later.
    pub fn merge_after(&mut self, later: &Self) {
        self.add(later, |own, later, _| own.merge(later));
        if !later.thresholds.is_empty() {
            self.thresholds = later.thresholds.iter().take(THRESHOLDS_MAX).cloned().collect();
        }
    }

    fn add(&mut self, other: &Self, merge: impl Fn(&mut Sink, &Sink, bool)) {
        self.left_out = self.left_out.saturating_add(other.left_out);
        let mut bytes = self.bytes();
        for (key, series) in &other.series {
            // At most; slots that both have are counted twice until the next call.
            bytes = bytes.saturating_add(series_bytes(key, series));
            if let Some(own) = self.series.get_mut(key) {
                if bytes <= BYTES_MAX || !matches!(own.sink, Sink::Trend(_)) {
                    merge(&mut own.sink, &series.sink, series.adds.is_some());
                    own.sink.shorten();
                } else {
                    self.left_out = self.left_out.saturating_add(1);
                }
                continue;
            }
            if self.series.len() < SERIES_MAX && bytes <= BYTES_MAX {
                let mut series = series.clone();
                series.sink.shorten();
                self.series.insert(key.clone(), series);
            } else {
                self.left_out = self.left_out.saturating_add(1);
            }
        }
        let mut checks: usize = self.groups.values().map(|group| group.checks.len() + 1).sum();
        for (place, group) in &other.groups {
            bytes = bytes.saturating_add(place.group.len() + 96);
            if (checks >= CHECKS_MAX || bytes > BYTES_MAX) && !self.groups.contains_key(place) {
                self.left_out = self.left_out.saturating_add(1);
                continue;
            }
            let new = || Group { first: group.first, checks: BTreeMap::new() };
            let own = self.groups.entry(place.clone()).or_insert_with(new);
            own.first = own.first.min(group.first);
            for (name, check) in &group.checks {
                if let Some(own) = own.checks.get_mut(name) {
                    own.add(check);
                } else if checks < CHECKS_MAX && bytes <= BYTES_MAX {
                    bytes = bytes.saturating_add(name.len() + size_of::<Check>() + 48);
                    own.checks.insert(name.clone(), *check);
                    checks += 1;
                } else {
                    self.left_out = self.left_out.saturating_add(1);
                }
            }
        }
    }

    /// About how many bytes they take.
    pub fn bytes(&self) -> usize {
        let series: usize = self.series.iter().map(|(key, series)| series_bytes(key, series)).sum();
        let group = |(place, group): (&Place, &Group)| {
            let names: usize = group.checks.keys().map(|name| name.len() + size_of::<Check>() + 48).sum();
            place.group.len() + names + 96
        };
        series + self.groups.iter().map(group).sum::<usize>()
    }

    /// The same in pieces that each fit into a frame of a record; none if nothing was counted.
    pub fn into_frames(self) -> Vec<Self> {
        let mut frames = Vec::new();
        let mut thresholds = self.thresholds;
        thresholds.truncate(THRESHOLDS_MAX);
        let mut next = Self { left_out: self.left_out, thresholds, ..Self::default() };
        let mut values = 0;
        for (key, series) in self.series {
            let more = match &series.sink {
                Sink::Trend(trend) => trend.values(),
                Sink::Counter(_) | Sink::Gauge(_) | Sink::Rate(_) => 0,
            };
            values += more;
            if next.series.len() >= SERIES_OF_FRAME || values > VALUES_OF_FRAME {
                frames.push(std::mem::take(&mut next));
                values = more;
            }
            next.series.insert(key, series);
        }
        let (mut checks, mut text) = (0, 0);
        for (place, group) in self.groups {
            let Group { first, checks: named } = group;
            let mut part = Group { first, checks: BTreeMap::new() };
            for (name, check) in named {
                text += name.len();
                if checks >= CHECKS_OF_FRAME || text > NAMES_OF_FRAME {
                    let full = std::mem::replace(&mut part, Group { first, checks: BTreeMap::new() });
                    next.groups.insert(place.clone(), full);
                    frames.push(std::mem::take(&mut next));
                    (checks, text) = (0, name.len());
                }
                part.checks.insert(name, check);
                checks += 1;
            }
            next.groups.insert(place, part);
            checks += 1;
        }
        if !next.is_empty() {
            frames.push(next);
        }
        frames
    }
}

impl Check {
    fn add(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
        self.passes = self.passes.saturating_add(other.passes);
        self.fails = self.fails.saturating_add(other.fails);
    }
}

fn series_bytes(key: &Key, series: &Series) -> usize {
    let texts = [Some(&key.metric), Some(&key.filter), key.scenario.as_ref(), key.group.as_ref()];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let samples = match &series.sink {
        Sink::Trend(trend) => trend.bytes(),
        Sink::Counter(_) | Sink::Gauge(_) | Sink::Rate(_) => 0,
    };
    texts + samples + size_of::<(Key, Series)>()
}

/// The form in records: maps whose keys are no texts are lists there.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default, deserialize_with = "few")]
    series: Vec<(Key, Series)>,
    #[serde(default)]
    groups: Vec<(Place, Group)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    thresholds: Vec<Threshold>,
    #[serde(default, skip_serializing_if = "is_none")]
    left_out: u64,
}

/// As many series as a frame can have: a trend takes up to a thousand times its bytes in memory.
fn few<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<(Key, Series)>, D::Error> {
    struct Few;
    impl<'de> serde::de::Visitor<'de> for Few {
        type Value = Vec<(Key, Series)>;

        fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(to, "at most {SERIES_OF_FRAME} series")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut series = Vec::new();
            while let Some(one) = list.next_element()? {
                if series.len() == SERIES_OF_FRAME {
                    return Err(serde::de::Error::custom("a frame has too many series"));
                }
                series.push(one);
            }
            Ok(series)
        }
    }
    deserializer.deserialize_seq(Few)
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

impl From<Stored> for Metrics {
    fn from(stored: Stored) -> Self {
        let Stored { series, groups, thresholds, left_out } = stored;
        let (series, groups) = (series.into_iter().collect(), groups.into_iter().collect());
        Self { series, groups, thresholds, left_out }
    }
}

impl From<Metrics> for Stored {
    fn from(metrics: Metrics) -> Self {
        let Metrics { series, groups, thresholds, left_out } = metrics;
        let (series, groups) = (series.into_iter().collect(), groups.into_iter().collect());
        Self { series, groups, thresholds, left_out }
    }
}

#[cfg(test)]
mod tests;
