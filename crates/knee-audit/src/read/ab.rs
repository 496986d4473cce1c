//! The text of `ApacheBench` (`ab`).
//!
//! Its table of connection times is in whole milliseconds. Does not check figures.

use crate::measurement::{Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Range, Rounding, number, plain, time};

use super::line::Line;

/// Reads every output.
pub fn read(lines: &[Line<'_>]) -> Vec<Measurement> {
    let is_start = |line: &str| line.trim_start().starts_with("Concurrency Level:");
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_start(lines[*at].1)).collect();
    let mut found = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        found.push(one(&lines[*start..end]));
    }
    found
}

fn one(lines: &[Line<'_>]) -> Measurement {
    let mut result = Measurement::new(Tool::Ab, lines.first().map_or(0, |(line, _)| *line));
    result.load = Load::Closed;
    let mut failed_parts = Vec::new();
    for (_, line) in lines {
        let line = line.trim();
        if line.starts_with("```") {
            break;
        }
        if line.starts_with("(Connect:") {
            failed_parts = parts(line);
        } else if let Some(row) = line.strip_prefix("Total:").filter(|_| result.max.is_none()) {
            total_row(row, &mut result);
        } else if let Some((key, value)) = line.split_once(':') {
            let figure = || plain(value, Rounding::Nearest).map(|(figure, _)| figure);
            match key {
                "Concurrency Level" => result.connections = figure(),
                "Time taken for tests" => {
                    result.duration = time(value, Rounding::Nearest).map(|(one, _)| one);
                }
                "Complete requests" => result.requests = figure(),
                "Failed requests" => result.failed = figure(),
                "Non-2xx responses" => result.not_success = figure().map_or(0, |count| count.value as u64),
                "Requests per second" => result.rate = figure(),
                "Time per request" => time_per_request(value, &mut result),
                _ => {}
            }
        } else if let Some(one) = percentile(line) {
            result.percentiles.push(one);
        }
    }
    if let (false, Some(failed)) = (failed_parts.is_empty(), &result.failed) {
        let whole = Named::new("failed requests", failed.clone());
        result.relations.push(Relation::Sum { parts: failed_parts, whole });
    }
    result
}

/// `(Connect: 0, Receive: 0, Length: 5, Exceptions: 0)`
fn parts(line: &str) -> Vec<Named> {
    let inside = line.trim_matches(['(', ')']);
    let named = inside.split(',').filter_map(|part| {
        let (name, count) = part.split_once(':')?;
        Some(Named::new(name.trim(), Figure::count(count.trim().parse().ok()?)))
    });
    named.collect()
}

/// Minimum, mean, deviation, median and maximum, in ms.
fn total_row(row: &str, result: &mut Measurement) {
    let figures: Vec<Figure> = row
        .split_whitespace()
        .filter_map(|word| {
            let (figure, _) = plain(word, Rounding::Any)?;
            Some(figure.scaled(1e-3).named(format!("{word} ms")))
        })
        .collect();
    if let [min, mean, deviation, _, max] = figures.as_slice() {
        result.min = Some(min.clone());
        result.mean = Some(mean.clone());
        result.deviation = Some(deviation.clone());
        result.max = Some(max.clone());
    }
}

/// ab calculates both from the duration; the first also from the concurrency.
fn time_per_request(value: &str, result: &mut Measurement) {
    let (Some((each, _)), Some(requests), Some(duration)) =
        (plain(value, Rounding::Nearest), &result.requests, &result.duration)
    else {
        return;
    };
    let mut total = duration.clone();
    let mut name = "time taken for tests".to_owned();
    if !value.contains("across") {
        let Some(connections) = &result.connections else { return };
        total.range = total.range.times(connections.range);
        total.text = format!("{} x {}", total.text, connections.text);
        name.push_str(" x concurrency level");
    }
    let each = each.scaled(1e-3).named(value.trim());
    let relation = Relation::Product {
        first: Named::new("complete requests", requests.clone()),
        second: Named::new("time per request", each),
        product: Named::new(name, total),
    };
    result.relations.push(relation);
}

/// `95%      5`
fn percentile(line: &str) -> Option<Percentile> {
    let (share, rest) = line.split_once('%')?;
    let share = number(share).filter(|share| share.rest.is_empty())?;
    let (figure, _) = plain(rest, Rounding::Any)?;
    let text = format!("{} ms", figure.text);
    let mut figure = figure.scaled(1e-3).named(text);
    figure.range = Range::new(figure.range.low.max(0.0), figure.range.high);
    Some(Percentile { name: format!("p{}", share.value), share: share.value / 100.0, time: figure })
}
