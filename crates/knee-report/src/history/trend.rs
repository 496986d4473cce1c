//! The trend of runs that can be compared: same plan, same target, same machine.
//!
//! Invalid runs do not count. Does not find changes itself.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::change_point::{ChangePoint, SIDE_LEAST, change_points};

use super::Entry;

/// Seed of the random orders: the same history has the same changes every time.
const SEED: u64 = 1;

/// A figure whose trend is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrendMetric {
    /// OK responses per second.
    Goodput,
    /// Response time at 50 %.
    P50,
    /// Response time at 99 %.
    P99,
}

impl TrendMetric {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::Goodput, Self::P50, Self::P99];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput",
            Self::P50 => "p50",
            Self::P99 => "p99",
        }
    }

    /// The figure of a run.
    const fn of(self, entry: &Entry) -> Option<f64> {
        match self {
            Self::Goodput => entry.figures.goodput,
            Self::P50 => entry.figures.p50_s,
            Self::P99 => entry.figures.p99_s,
        }
    }
}

/// The trend of one figure of runs that can be compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Trend {
    /// The newest run.
    pub newest: Entry,
    /// The figure.
    pub metric: TrendMetric,
    /// Records and figures, oldest first.
    pub points: Vec<(String, f64)>,
    /// Runs that do not count: invalid, or without the figure.
    pub left_out: usize,
    /// Persistent changes, oldest first; `None` if there are too few runs for one.
    pub changes: Option<Vec<ChangePoint>>,
}

impl Trend {
    /// How many runs are missing until a change can be found.
    pub fn missing(&self) -> usize {
        (2 * SIDE_LEAST).saturating_sub(self.points.len())
    }
}

/// Every trend of `entries`, which are newest first. Runs that can be compared with no other one have none.
pub fn trends(entries: &[Entry]) -> Vec<Trend> {
    let mut alike: BTreeMap<(u64, &str), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        if let Some(likeness) = entry.likeness {
            alike.entry((likeness, entry.name.as_str())).or_default().push(entry);
        }
    }
    let mut lines: Vec<Vec<&Entry>> = alike.into_values().filter(|line| line.len() > 1).collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.first().map(|newest| newest.at)));
    lines.iter().flat_map(|line| TrendMetric::ALL.iter().filter_map(|metric| trend(line, *metric))).collect()
}

/// The trend of one figure in runs that can be compared, newest first.
fn trend(line: &[&Entry], metric: TrendMetric) -> Option<Trend> {
    let counted = |entry: &&&Entry| entry.validity != Some(Validity::Invalid);
    let points: Vec<(String, f64)> = line
        .iter()
        .rev()
        .filter(counted)
        .filter_map(|entry| Some((entry.record.clone(), metric.of(entry)?)))
        .collect();
    let values: Vec<f64> = points.iter().map(|(_, value)| *value).collect();
    Some(Trend {
        newest: (*line.first()?).clone(),
        metric,
        left_out: line.len() - points.len(),
        changes: change_points(&values, SEED),
        points,
    })
}
