//! Table cells and short texts of a study, in the words of [`knee_study::study::wording`].
//!
//! Does not calculate and does not choose what is shown.

use knee_study::metric::Metric;
use knee_study::statistics::verdict::Verdict;
pub(super) use knee_study::study::wording::{change, count as counted, figure};
use knee_study::study::{Effect, Estimate, Spread, wording};

/// What a cell shows for something unknown.
pub(super) const UNKNOWN: &str = "–";

/// The median of blocks, with the lowest and the highest.
pub(super) fn spread(metric: Metric, spread: &Spread) -> String {
    let least = if spread.at_least { "≥ " } else { "" };
    let median = figure(metric, spread.median);
    if spread.n_blocks < 2 {
        return format!("{least}{median}");
    }
    format!("{least}{median} ({} – {})", figure(metric, spread.low), figure(metric, spread.high))
}

/// The interval of a change; a single block has none.
pub(super) fn interval(metric: Metric, estimate: &Estimate) -> String {
    wording::ends(metric, estimate).unwrap_or_else(|| UNKNOWN.to_owned())
}

/// The verdict as a cell.
pub(super) fn verdict(effect: &Effect, quick: bool) -> String {
    match effect.verdict {
        Verdict::Same if quick => {
            format!("< {} change", change(effect.metric, effect.margin).trim_start_matches('+'))
        }
        verdict => verdict.name().to_owned(),
    }
}

/// The heading of a column of confidence intervals.
pub(super) fn interval_heading(level: Option<f64>) -> String {
    level.map_or_else(|| "CI".to_owned(), |level| format!("{:.0} % CI", level * 100.0))
}

/// About how many blocks an undecided effect needs.
pub(super) fn needed(blocks: Option<usize>) -> String {
    blocks.map_or_else(|| UNKNOWN.to_owned(), |blocks| format!("~{blocks}"))
}
