//! The text that oha and hey print at the end, which have nearly the same layout.
//!
//! A block with a success rate is oha's. Does not check figures.

use crate::measurement::{Bar, Load, Measurement, Named, Percentile, Relation, Tool};
use crate::number::{Figure, Rounding, number, percent, plain, size, time};

use super::line::Line;

/// Reads every summary.
pub fn read(lines: &[Line<'_>]) -> Vec<Measurement> {
    let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].1.trim() == "Summary:").collect();
    let mut found = Vec::new();
    for (index, start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(lines.len());
        found.extend(one(&lines[*start..end]));
    }
    found
}

/// A part of the summary.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Summary,
    Bars,
    Percentiles,
    Statuses,
    Errors,
    Other,
}

fn section(line: &str) -> Option<Section> {
    Some(match line {
        "Summary:" => Section::Summary,
        "Response time histogram:" => Section::Bars,
        "Response time distribution:" | "Latency distribution:" => Section::Percentiles,
        "Status code distribution:" => Section::Statuses,
        "Error distribution:" => Section::Errors,
        _ if line.starts_with("Response time") || line.starts_with("Details") => Section::Other,
        _ => return None,
    })
}

fn one(lines: &[Line<'_>]) -> Option<Measurement> {
    let is_oha = lines.iter().take(4).any(|(_, line)| line.trim().starts_with("Success rate:"));
    let tool = if is_oha { Tool::Oha } else { Tool::Hey };
    let mut result = Measurement::new(tool, lines.first()?.0);
    let mut bytes = None;
    let mut current = Section::Summary;
    for (_, line) in lines {
        let line = line.trim();
        if line.starts_with("```") {
            break;
        }
        if let Some(next) = section(line) {
            current = next;
            continue;
        }
        match current {
            Section::Summary => summary_line(line, &mut result, &mut bytes),
            Section::Bars => result.bars.extend(bar(line)),
            Section::Percentiles => result.percentiles.extend(percentile(line)),
            Section::Statuses => result.statuses.extend(status(line)),
            Section::Errors => error(line, &mut result),
            Section::Other => {}
        }
    }
    // Other texts have a heading of this name, too.
    result.duration.as_ref().or(result.rate.as_ref())?;
    finish(&mut result, bytes);
    Some(result)
}

fn summary_line(line: &str, result: &mut Measurement, bytes: &mut Option<Figure>) {
    let Some((key, value)) = line.split_once(':') else { return };
    let seconds = || time(value, Rounding::Nearest).map(|(figure, _)| figure);
    match key {
        "Success rate" => {
            let ratio = || plain(value, Rounding::Nearest);
            result.success_share = percent(value, Rounding::Nearest).or_else(ratio).map(|(share, _)| share);
        }
        "Total" => result.duration = seconds(),
        "Slowest" => result.max = seconds(),
        "Fastest" => result.min = seconds(),
        "Average" => result.mean = seconds(),
        "Requests/sec" => result.rate = plain(value, Rounding::Nearest).map(|(rate, _)| rate),
        "Total data" => *bytes = size(value, 1024.0, Rounding::Nearest).map(|(bytes, _)| bytes),
        "Size/request" => result.response_size = size(value, 1024.0, Rounding::Any).map(|(bytes, _)| bytes),
        _ => {}
    }
}

/// `0.022 [1]   |■`
fn bar(line: &str) -> Option<Bar> {
    let (before, rest) = line.split_once('[')?;
    let count = rest.split(']').next()?.trim().parse().ok()?;
    let before = before.trim();
    let with_unit = time(before, Rounding::Nearest).map(|(figure, _)| figure);
    let time = with_unit.or_else(|| plain(before, Rounding::Nearest).map(|(figure, _)| figure))?;
    Some(Bar { time, count })
}

/// `95.00% in 0.1963 secs`
fn percentile(line: &str) -> Option<Percentile> {
    let (share, rest) = line.split_once('%')?;
    let share = number(share)?;
    let (figure, _) =
        time(rest.trim_start_matches('%').trim_start().strip_prefix("in ")?, Rounding::Nearest)?;
    Some(Percentile { name: format!("p{}", share.value), share: share.value / 100.0, time: figure })
}

/// `[200] 379 responses`
fn status(line: &str) -> Option<(u16, u64)> {
    let (code, rest) = line.strip_prefix('[')?.split_once(']')?;
    Some((code.trim().parse().ok()?, rest.split_whitespace().next()?.parse().ok()?))
}

/// `[20] aborted due to deadline`
fn error(line: &str, result: &mut Measurement) {
    let Some((count, words)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) else { return };
    let Ok(count) = count.trim().parse::<u64>() else { return };
    result.unanswered = result.unanswered.saturating_add(count);
    let words = words.to_ascii_lowercase();
    if words.contains("aborted due to deadline") {
        result.cut_off = result.cut_off.saturating_add(count);
    } else if words.contains("timeout") || words.contains("timed out") || words.contains("deadline exceeded")
    {
        result.timed_out = result.timed_out.saturating_add(count);
    }
}

fn finish(result: &mut Measurement, bytes: Option<Figure>) {
    result.load = Load::Unknown;
    let total = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0u64, u64::saturating_add);
    let responses = total(&mut result.statuses.iter().map(|(_, count)| *count));
    if responses == 0 {
        return;
    }
    result.samples = Some(responses);
    let words = format!("{} (sum of the status codes)", crate::number::group(responses));
    result.requests = Some(Figure::exact(responses as f64, words));
    let in_bars = total(&mut result.bars.iter().map(|bar| bar.count));
    if in_bars > 0 {
        let parts = result.bars.iter().map(|bar| Named::new(bar.time.text.clone(), Figure::count(bar.count)));
        let whole = Named::new("responses", Figure::count(responses));
        result.relations.push(Relation::Sum { parts: parts.collect(), whole });
    }
    if let (Some(bytes), Some(each)) = (bytes, &result.response_size) {
        // oha has divided by the responses, or by all requests, in different versions.
        let mut count = Figure::count(responses);
        count.range.high += result.unanswered as f64;
        result.relations.push(Relation::Product {
            first: Named::new("responses", count),
            second: Named::new("size/request", each.clone()),
            product: Named::new("total data", bytes),
        });
    }
}
