//! How figures grow with the amount of data, in words and as a table.
//!
//! Does not calculate; exponents come with the conclusion.

use knee_study::metric::Unit;
use knee_study::study::{Conclusion, GrowthResult};

use super::block::Table;
use super::value;
use crate::number;

/// How the first metric grows in each variant, under the first workload.
pub(super) fn in_short(conclusion: &Conclusion) -> Option<String> {
    let first = conclusion.growth.first()?;
    let ends = [first.points.first()?, first.points.last()?].map(|(size, _)| number::count(*size));
    let alike = |growth: &&GrowthResult| growth.workload == first.workload && growth.metric == first.metric;
    let variant = |growth: &GrowthResult| {
        format!(
            "{} {} ({})",
            growth.variant,
            growth_class(growth),
            number::fixed(growth.exponent.estimate, 2)
        )
    };
    let variants: Vec<String> = conclusion.growth.iter().filter(alike).map(variant).collect();
    let (metric, workload) = (first.metric, &first.workload);
    let figure = if metric.unit() == Unit::PerSecond {
        format!("time per request (1 / {metric})")
    } else {
        metric.to_string()
    };
    Some(format!(
        "Growth of {figure}, {workload}, from {} to {} (exponent): {}.",
        ends[0],
        ends[1],
        variants.join(", ")
    ))
}

/// The meaning of an exponent, with a question mark if other meanings lie within its interval.
fn growth_class(growth: &GrowthResult) -> String {
    format!("{}{}", growth.class.name(), if growth.sure { "" } else { "?" })
}

/// Every variant by every metric.
pub(super) fn table(conclusion: &Conclusion) -> Table {
    let mut table =
        Table::new(["variant", "workload", "metric", "figures", "exponent", "last step", "class"]);
    table.rows.extend(conclusion.growth.iter().map(|growth| {
        let points: Vec<String> = growth
            .points
            .iter()
            .map(|(size, value)| {
                format!("{}: {}", number::count(*size), value::figure(growth.metric, *value))
            })
            .collect();
        let end = |end: Option<f64>| end.map_or("?".to_owned(), |end| number::fixed(end, 2));
        let exponent = &growth.exponent;
        let range = format!(
            "{} ({} to {})",
            number::fixed(exponent.estimate, 2),
            end(exponent.low),
            end(exponent.high)
        );
        vec![
            growth.variant.clone(),
            growth.workload.clone(),
            growth.metric.to_string(),
            points.join(", "),
            range,
            number::fixed(growth.last, 2),
            growth_class(growth),
        ]
    }));
    table
}
