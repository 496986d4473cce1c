//! Comparisons as rows of a forest table: where the change, its interval and the margin are on one scale, with their
//! words.
//!
//! Does not judge and does not draw. Ratios are placed by their logarithm, differences of shares as they are; each of
//! the two has a scale of its own.

use knee_study::metric::{Metric, Unit};
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{Conclusion, Effect};

use super::plot::axis::place_of_change;
use super::{value, words};

/// A row. Places are between -1 and 1, and 0 is no change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ForestRow {
    /// What is compared.
    pub sides: String,
    /// By what.
    pub metric: String,
    /// The change, written.
    pub change: String,
    /// Its interval, written.
    pub interval: String,
    /// The verdict, in words.
    pub verdict: String,
    /// The verdict.
    pub kind: Verdict,
    /// Where the change is.
    pub estimate: f64,
    /// Where its interval begins; `None` if it has no lower end.
    pub low: Option<f64>,
    /// Where it ends; `None` if it has no upper end.
    pub high: Option<f64>,
    /// Where changes begin and end that are too small to matter.
    pub margin: (f64, f64),
}

/// A scale is at least this wide: 1 %.
const NARROWEST: f64 = 0.01;

/// The rows of those effects that have a change and are `wanted`, in the order of the conclusion.
pub(crate) fn rows(conclusion: &Conclusion, wanted: impl Fn(&Effect) -> bool) -> Vec<ForestRow> {
    let shown: Vec<&Effect> =
        conclusion.effects.iter().filter(|effect| effect.change.is_some() && wanted(effect)).collect();
    let far = |of_shares: bool| {
        let alike = shown.iter().filter(|effect| is_share(effect.metric) == of_shares);
        alike.flat_map(|effect| places(effect)).map(f64::abs).fold(NARROWEST, f64::max)
    };
    let (of_ratios, of_shares) = (far(false), far(true));
    shown
        .iter()
        .map(|effect| row(effect, if is_share(effect.metric) { of_shares } else { of_ratios }))
        .collect()
}

/// The heading of the column of intervals.
pub(crate) fn interval_heading(conclusion: &Conclusion) -> String {
    value::interval_heading(conclusion.confidence())
}

fn is_share(metric: Metric) -> bool {
    metric.unit() == Unit::Share
}

/// The places of the change, of the ends that it has, and of the margin.
fn places(effect: &Effect) -> Vec<f64> {
    let ends = effect.change.map(|change| [Some(change.estimate), change.low, change.high]);
    let known = ends.into_iter().flatten().flatten().chain([effect.margin]);
    known.map(|change| place_of_change(effect.metric, change)).filter(|place| place.is_finite()).collect()
}

fn row(effect: &Effect, far: f64) -> ForestRow {
    let metric = effect.metric;
    let at = |change: f64| place_of_change(metric, change) / far;
    let change = effect.change;
    let least = if is_share(metric) { -effect.margin } else { (1.0 + effect.margin).recip() - 1.0 };
    ForestRow {
        sides: words::sides(&effect.from, &effect.to),
        metric: metric.to_string(),
        change: change
            .map_or_else(|| value::UNKNOWN.to_owned(), |change| value::change(metric, change.estimate)),
        interval: value::interval(metric, change.as_ref()),
        verdict: words::explained(effect),
        kind: effect.verdict,
        estimate: change.map_or(0.0, |change| at(change.estimate)),
        low: change.and_then(|change| change.low).map(at),
        high: change.and_then(|change| change.high).map(at),
        margin: (at(least), at(effect.margin)),
    }
}
