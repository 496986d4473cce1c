//! The fields of a point that stands for many samples: those of a metric in one interval.
//!
//! Counters have the field `value`, so that sums over points are right as with single samples. Times have no `value`: a
//! percentile of it would be one of means. Does not write.

use super::super::columns::Column;
use crate::metric::Kind;

/// Bytes of the longest name of a field.
pub const NAME_MAX: usize = 5;
/// The percentiles of times, and the names of their fields.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (90.0, "p90"), (95.0, "p95"), (99.0, "p99")];

/// Name and value of each field.
pub fn of(kind: Kind, column: &Column) -> Vec<(&'static str, f64)> {
    let count = column.samples() as f64;
    let sum: f64 = column.runs().map(|(value, count)| value * count as f64).sum();
    match kind {
        Kind::Counter => vec![("value", sum)],
        Kind::Gauge => column.runs().last().map(|(value, _)| ("value", value)).into_iter().collect(),
        Kind::Rate => {
            let nonzero: u64 = column.runs().filter(|(value, _)| *value != 0.0).map(|run| run.1).sum();
            vec![("count", count), ("value", nonzero as f64 / count.max(1.0))]
        }
        Kind::Trend => {
            let mut runs: Vec<(f64, u64)> = column.runs().collect();
            runs.sort_by(|one, other| one.0.total_cmp(&other.0));
            let ends = [runs.first(), runs.last()].map(|run| run.map_or(0.0, |run| run.0));
            let mut fields = vec![("count", count), ("max", ends[1]), ("mean", sum / count.max(1.0))];
            fields.push(("min", ends[0]));
            fields
                .extend(PERCENTILES.map(|(percent, name)| (name, at_rank(&runs, percent, column.samples()))));
            fields
        }
    }
}

/// The value that this percentage of `count` sorted ones do not exceed.
fn at_rank(runs: &[(f64, u64)], percent: f64, count: u64) -> f64 {
    let rank = ((percent / 100.0 * count as f64).ceil() as u64).max(1);
    let mut reached = 0;
    let found = runs.iter().find(|(_, count)| {
        reached += count;
        reached >= rank
    });
    found.or(runs.last()).map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use knee_core::unit::Nanos;

    use super::super::super::batch::TagList;
    use super::super::super::columns::Columns;
    use super::*;
    use crate::metric::BuiltIn;

    /// The fields of a metric with these values, as text.
    fn shown(metric: BuiltIn, runs: &[(f64, u64)]) -> String {
        let mut columns = Columns::default();
        let tags = columns.list(Arc::new(TagList::default()));
        for run in runs {
            columns.push_many(Nanos(1), tags, metric.id(), *run);
        }
        let fields = of(metric.kind(), &columns.blocks()[0].columns[0]);
        assert!(fields.iter().all(|(name, _)| name.len() <= NAME_MAX));
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn sums_are_values_and_times_are_percentiles_of_the_interval() {
        assert_eq!(shown(BuiltIn::HttpReqs, &[(1.0, 40), (2.0, 1)]), "value=42");
        assert_eq!(shown(BuiltIn::HttpReqFailed, &[(0.0, 3), (1.0, 1)]), "count=4,value=0.25");
        assert_eq!(shown(BuiltIn::Vus, &[(5.0, 1), (3.0, 1)]), "value=3");
        let times = [(7.0, 9), (1.0, 90), (50.0, 1)];
        let expected = "count=100,max=50,mean=2.03,min=1,p50=1,p90=1,p95=7,p99=7";
        assert_eq!(shown(BuiltIn::HttpReqDuration, &times), expected);
    }
}
