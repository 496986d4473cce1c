//! The text of wrk and wrk2.
//!
//! Does not check figures. wrk changes its own histogram before it prints; the checks know that.

use crate::measurement::{Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Rounding, number, plain, size, time};

use super::line::Line;

/// Reads every output.
pub fn read(lines: &[Line<'_>]) -> Vec<Measurement> {
    let is_start = |line: &str| line.trim_start().starts_with("Running ") && line.contains(" test @ ");
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_start(lines[*at].1)).collect();
    let mut found = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        found.push(one(&lines[*start..end]));
    }
    found
}

fn one(lines: &[Line<'_>]) -> Measurement {
    let is_wrk2 = lines.iter().any(|(_, line)| {
        line.contains("HdrHistogram") || line.trim_start().starts_with("Thread calibration")
    });
    let tool = if is_wrk2 { Tool::Wrk2 } else { Tool::Wrk };
    let mut result = Measurement::new(tool, lines.first().map_or(0, |(line, _)| *line));
    result.load = if is_wrk2 { Load::Open } else { Load::Closed };
    let mut bytes = None;
    for (_, line) in lines {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("Detailed Percentile") {
            // Below it the same percentiles follow in another layout; only the last lines matter then.
            if line.starts_with("```") {
                break;
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix("Latency ").filter(|_| result.mean.is_none()) {
            statistics(rest, &mut result);
        } else if line.contains(" threads and ") && line.ends_with("connections") {
            let count = line.split(" and ").nth(1).and_then(|text| plain(text, Rounding::Nearest));
            result.connections = count.map(|(figure, _)| figure);
        } else if line.contains(" requests in ") {
            bytes = total(line, &mut result);
        } else if let Some(value) = line.strip_prefix("Requests/sec:") {
            result.rate = plain(value, Rounding::Nearest).map(|(figure, _)| figure);
        } else if let Some(value) = line.strip_prefix("Transfer/sec:") {
            transfer(value, bytes.as_ref(), &mut result);
        } else if let Some(value) = line.strip_prefix("Socket errors:") {
            errors(value, &mut result);
        } else if let Some(value) = line.strip_prefix("Non-2xx or 3xx responses:") {
            result.failed = plain(value, Rounding::Nearest).map(|(figure, _)| figure);
        } else if let Some(one) = percentile(line) {
            result.percentiles.push(one);
        }
    }
    result
}

/// Mean, deviation and maximum after `Latency`.
fn statistics(rest: &str, result: &mut Measurement) {
    let mut words = rest.split_whitespace().map(|word| time(word, Rounding::Any).map(|(figure, _)| figure));
    result.mean = words.next().flatten();
    result.deviation = words.next().flatten();
    result.max = words.next().flatten();
}

/// `22464657 requests in 30.00s, 17.76GB read`
fn total(line: &str, result: &mut Measurement) -> Option<Figure> {
    let (requests, rest) = line.split_once(" requests in ")?;
    result.requests = plain(requests, Rounding::Nearest).map(|(figure, _)| figure);
    let (duration, rest) = time(rest, Rounding::Nearest)?;
    result.duration = Some(duration);
    size(rest.trim_start_matches([',', ' ']), 1024.0, Rounding::Any).map(|(bytes, _)| bytes)
}

fn transfer(value: &str, bytes: Option<&Figure>, result: &mut Measurement) {
    let speed = size(value, 1024.0, Rounding::Any).map(|(figure, _)| figure);
    if let (Some(speed), Some(bytes), Some(duration)) = (speed, bytes, &result.duration) {
        result.relations.push(Relation::Product {
            first: Named::new("transfer/sec", speed),
            second: Named::new("duration", duration.clone()),
            product: Named::new("bytes read", bytes.clone()),
        });
    }
}

/// `connect 0, read 0, write 0, timeout 5`
fn errors(value: &str, result: &mut Measurement) {
    for part in value.split(',') {
        let mut words = part.split_whitespace();
        let (name, count) = (words.next(), words.next().and_then(|word| word.parse::<u64>().ok()));
        match (name, count) {
            (Some("timeout"), Some(count)) => result.timed_out = count,
            (Some(_), Some(count)) => result.lost = result.lost.saturating_add(count),
            _ => {}
        }
    }
}

/// `99%    1.16ms`
fn percentile(line: &str) -> Option<Percentile> {
    let (share, rest) = line.split_once('%')?;
    let share = number(share).filter(|share| share.rest.trim().is_empty())?;
    let (figure, after) = time(rest, Rounding::Any)?;
    after.trim().is_empty().then(|| Percentile {
        name: format!("p{}", share.value),
        share: share.value / 100.0,
        time: figure,
    })
}
