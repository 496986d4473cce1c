//! Rows of a table that contradict each other or their labels.
//!
//! Two rows with the same figures, a fix that made it worse, and rows under different conditions.

use crate::finding::{Finding, Grade};
use crate::measurement::{Document, Measurement, Tool};
use crate::number::{Figure, amount, show_share};

/// Name of the check.
pub const NAME: &str = "row";

/// Words of a label that promise an improvement.
const PROMISES: [&str; 6] = ["fixed", "fix ", "optimi", "improved", "faster", "speed"];

/// Checks every table.
pub fn check(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    for rows in document.tables() {
        found.extend(rows.windows(2).filter_map(|pair| same(pair[0], pair[1])));
        found.extend(rows.windows(2).filter_map(|pair| worse(pair[0], pair[1])));
        found.extend(conditions(&rows));
    }
    found.extend(bases(document));
    found.extend(slower_at_less(document));
    found
}

/// Times of a row, as printed.
fn times(one: &Measurement) -> Vec<&Figure> {
    let single = [&one.mean, &one.min, &one.max].into_iter().flatten();
    single.chain(one.percentiles.iter().map(|each| &each.time)).collect()
}

/// Digits of a figure, zeros at its ends left out.
fn n_digits(figure: &Figure) -> usize {
    let digits: String = figure.text.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').len()
}

fn same(one: &Measurement, other: &Measurement) -> Option<Finding> {
    let (first, second) = (times(one), times(other));
    let is_same = !first.is_empty()
        && first.len() == second.len()
        && first.iter().zip(&second).all(|(a, b)| a.value.to_bits() == b.value.to_bits());
    let n: usize = first.iter().map(|figure| n_digits(figure)).sum();
    let is_rate_same = one.rate.as_ref().map(|rate| rate.value) == other.rate.as_ref().map(|rate| rate.value);
    // Three digits that agree by chance: one pair in a thousand.
    if !is_same || !is_rate_same || n < 3 || one.label == other.label {
        return None;
    }
    let shown: Vec<&str> =
        one.rate.iter().map(|rate| rate.text.as_str()).chain(first.iter().map(|f| f.text.as_str())).collect();
    let says = format!("the same figures as the row before ({})", one.label);
    Some(
        Finding::new(NAME, Grade::Misleading, other, says)
            .step(format!("both rows: {}", shown.join(", ")))
            .cause("one measurement for two changes, or a change without any effect"),
    )
}

fn worse(before: &Measurement, after: &Measurement) -> Option<Finding> {
    let label = after.label.to_lowercase();
    if !PROMISES.iter().any(|promise| label.contains(promise)) {
        return None;
    }
    let rate = |one: &Measurement| one.rate.as_ref().map(|rate| rate.value);
    let old = before.percentiles.first()?;
    let new = after.percentiles.iter().find(|each| each.name == old.name)?;
    if rate(before) != rate(after) || new.time.range.low < 1.5 * old.time.range.high {
        return None;
    }
    let factor = new.time.value / old.time.value.max(f64::MIN_POSITIVE);
    let says = format!(
        "{} rose from {} to {}, although the label is \"{}\"",
        new.name, old.time.text, new.time.text, after.label
    );
    Some(
        Finding::new(NAME, Grade::Misleading, after, says)
            .step(format!(
                "{} / {} = {} times as long at the same rate",
                new.time.text,
                old.time.text,
                amount(factor)
            ))
            .cause("the row is the state before the fix, or data grew between the rows"),
    )
}

/// Rows that stand for changes, measured at different arrival rates.
fn conditions(rows: &[&Measurement]) -> Option<Finding> {
    let steps = rows.iter().filter(|one| one.label.starts_with('+')).count();
    let mut rates: Vec<(f64, &str)> = rows
        .iter()
        .filter_map(|one| one.rate.as_ref())
        .map(|rate| (rate.value, rate.text.as_str()))
        .collect();
    rates.dedup_by(|a, b| a.0.to_bits() == b.0.to_bits());
    // A rate that all rows could choose is round; a measured one is not.
    let is_chosen =
        rows.iter().filter_map(|one| one.rate.as_ref()).all(|rate| (rate.value as u64).is_multiple_of(10));
    if steps < 3 || rates.len() < 3 || !is_chosen || rows.iter().any(|one| one.percentiles.is_empty()) {
        return None;
    }
    let shown: Vec<&str> = rates.iter().map(|(_, text)| *text).collect();
    Some(
        Finding::new(NAME, Grade::Misleading, rows[0], "the rows were measured at different arrival rates")
            .step(format!("rates in order: {}", shown.join(", ")))
            .cause("a change of the times between two rows is that of the step and of the rate together"),
    )
}

/// Rows of one label in two tables, of which the lower rate has much longer times: the conditions differ.
fn slower_at_less(document: &Document) -> Vec<Finding> {
    let is_meant =
        |one: &&Measurement| one.tool == Tool::Unknown && one.table.is_some() && !one.label.is_empty();
    let rows: Vec<&Measurement> = document.measurements.iter().filter(is_meant).collect();
    let pairs = rows.iter().flat_map(|one| rows.iter().map(move |other| (*one, *other)));
    pairs.filter_map(|(fast, slow)| slower(fast, slow)).take(1).collect()
}

fn slower(fast: &Measurement, slow: &Measurement) -> Option<Finding> {
    if fast.label != slow.label || fast.table == slow.table {
        return None;
    }
    let (high, low) = (fast.rate.as_ref()?, slow.rate.as_ref()?);
    let short = fast.percentiles.first()?;
    let long = slow.percentiles.iter().find(|each| each.name == short.name)?;
    if !low.range.is_below(high.range) || long.time.range.low < 2.0 * short.time.range.high {
        return None;
    }
    let says = format!(
        "{} is {} at {} requests/s here, but {} at {} requests/s at line {}",
        long.name, long.time.text, low.text, short.time.text, high.text, fast.line
    );
    let factor = long.time.value / short.time.value.max(f64::MIN_POSITIVE);
    Some(
        Finding::new(NAME, Grade::Misleading, slow, says)
            .step(format!(
                "{} / {} = {} times as long at less load",
                long.time.text,
                short.time.text,
                amount(factor)
            ))
            .cause("length of the run or amount of data differ; the higher rate is not a capacity"),
    )
}

/// Tables of the same endpoint whose responses or durations differ.
fn bases(document: &Document) -> Vec<Finding> {
    let mut found = Vec::new();
    let rows: Vec<&Measurement> =
        document.measurements.iter().filter(|one| one.table.is_some() && !one.is_total).collect();
    for (at, one) in rows.iter().enumerate() {
        let same = rows[..at]
            .iter()
            .find(|other| !one.label.is_empty() && other.label == one.label && other.table != one.table);
        let Some((first, size, old)) =
            same.and_then(|first| Some((first, one.response_size.as_ref()?, first.response_size.as_ref()?)))
        else {
            continue;
        };
        let change = size.value / old.value.max(f64::MIN_POSITIVE) - 1.0;
        if change.abs() > 0.05 && rows[..at].iter().filter(|other| other.label == one.label).count() > 0 {
            let says = format!("responses are {} as large as in the first table", show_share(1.0 + change));
            found.push(
                Finding::new(NAME, Grade::Misleading, one, says)
                    .step(format!(
                        "{} / {} (line {}) = {}",
                        amount(size.value),
                        amount(old.value),
                        first.line,
                        amount(1.0 + change)
                    ))
                    .cause("the requests of the two tables do not do the same work"),
            );
        }
    }
    found
}
