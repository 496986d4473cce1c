//! How a figure grows with the amount of data: the exponent.
//!
//! Does not separate the fixed cost of a request (parsing, the network). A figure with a large fixed part grows more
//! slowly than the work behind it; the exponent of the last step then says more than that of all steps.

use serde::{Deserialize, Serialize};

use super::lineup::Series;
use super::usable::UsableTrials;
use super::{Estimate, Study};
use crate::definition::Cell;
use crate::metric::{Metric, Unit};
use crate::statistics::paired::Paired;
use crate::statistics::verdict::ALPHA;
use crate::statistics::{location, trend};

/// What an exponent means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrowthClass {
    /// Up to 0.15: the amount of data hardly matters, as with an index.
    Constant,
    /// Up to 0.8: grows more slowly than the data.
    Sublinear,
    /// Up to 1.2: grows as fast as the data, as with a scan.
    Linear,
    /// Grows faster than the data.
    Superlinear,
}

impl GrowthClass {
    /// The word of an exponent.
    pub fn of(exponent: f64) -> Self {
        match exponent {
            e if e <= 0.15 => Self::Constant,
            e if e < 0.8 => Self::Sublinear,
            e if e <= 1.2 => Self::Linear,
            _ => Self::Superlinear,
        }
    }

    /// The word shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Sublinear => "sublinear",
            Self::Linear => "linear",
            Self::Superlinear => "superlinear",
        }
    }
}

/// One figure of one variant at growing amounts of data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrowthResult {
    /// The variant without an amount.
    pub variant: String,
    /// The workload.
    pub workload: String,
    /// The figure.
    pub metric: Metric,
    /// Amount, and median of the figure's blocks.
    pub points: Vec<(u64, f64)>,
    /// Blocks that have every amount.
    pub n_blocks: usize,
    /// The exponent b of `figure ~ amount^b` with its interval; for throughput, that of the time per request.
    pub exponent: Estimate,
    /// The same between the two largest amounts alone.
    pub last: f64,
    /// What the exponent means.
    pub class: GrowthClass,
    /// Whether both ends of the interval mean the same.
    pub sure: bool,
}

/// Every figure of every series that was measured.
pub(super) fn all(study: &Study) -> Vec<GrowthResult> {
    let usable = UsableTrials::of(study);
    let mut results = Vec::new();
    for series in &study.lineup.series {
        for workload in &study.definition.workloads {
            let metrics = study.definition.design.metrics.iter();
            results.extend(metrics.filter_map(|metric| of(&usable, series, &workload.name, *metric)));
        }
    }
    results
}

/// Slopes of logarithms, one per block; blocks are the sample, as in all statistics here.
fn of(usable: &UsableTrials<'_>, series: &Series, workload: &str, metric: Metric) -> Option<GrowthResult> {
    if metric.unit() == Unit::Share {
        return None;
    }
    let cell = |variant: &String| Cell::new(variant, workload);
    let point = |block: usize, (size, variant): &(u64, String)| {
        let figure = usable.figure(block, &cell(variant), metric)?;
        Some(((*size as f64).ln(), metric.scaled(figure.value)?))
    };
    let sign = if metric.unit() == Unit::PerSecond { -1.0 } else { 1.0 };
    let (mut slopes, mut lasts) = (Vec::new(), Vec::new());
    for block in usable.blocks(&cell(&series.members.first()?.1)) {
        let Some(points) =
            series.members.iter().map(|member| point(block, member)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        slopes.push(sign * trend::least_squares(&points)?);
        lasts.push(sign * trend::least_squares(&points[points.len() - 2..])?);
    }
    let paired = Paired::new(slopes)?;
    let interval = paired.interval(ALPHA);
    let median =
        |(size, variant): &(u64, String)| Some((*size, usable.spread(&cell(variant), metric)?.median));
    let bounded = |end: f64| end.is_finite().then_some(end);
    Some(GrowthResult {
        variant: series.variant.clone(),
        workload: workload.to_owned(),
        metric,
        points: series.members.iter().filter_map(median).collect(),
        n_blocks: paired.n_blocks(),
        exponent: Estimate {
            estimate: paired.mean(),
            low: bounded(interval.low),
            high: bounded(interval.high),
        },
        last: location::mean(&lasts),
        class: GrowthClass::of(paired.mean()),
        sure: GrowthClass::of(interval.low) == GrowthClass::of(interval.high),
    })
}
