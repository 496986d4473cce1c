//! What stops the service: findings with their figures beside the limits, and what to change.
//!
//! Shows nothing if nothing was found, and ten lines at most unless all findings are asked for. Does not judge.

use knee_findings::{Bound, Finding, Gain, Limit, Report, Signal, Unit};

use super::ink::{Tone, wrap, wrap_words};
use super::style::{Style, heading};
use crate::clean;
use crate::number::{bytes, level, percent, time};

/// Most lines of the short form, the heading included.
const LINES_MAX: usize = 10;

/// Most characters of the name of a subject.
const NAME_MAX: usize = 300;

/// The section; nothing if nothing was found and not everything was asked for.
pub fn lines(report: &Report, style: &Style) -> Vec<String> {
    if style.all_findings { all(report, style) } else { short(report, style) }
}

/// The first finding, and of the others as many first lines as fit.
fn short(report: &Report, style: &Style) -> Vec<String> {
    let Some((first, others)) = report.findings.split_first() else { return Vec::new() };
    // One line is the heading, and one says where there is more.
    let room = LINES_MAX - 2;
    let (head, mut change) = (headline(first, style), remedy(first, style));
    change.extend(gain(first, style));
    let most = room.saturating_sub(head.len() + change.len()).max(1);
    let mut body = [head, evidence_within(first, most, style), change].concat();
    body.truncate(room);
    let mut left = others.len();
    for other in others {
        let next = headline(other, style);
        if body.len() + next.len() > room {
            break;
        }
        body.extend(next);
        left -= 1;
    }
    let hint = if left > 0 {
        format!("{left} more: `knee report --all-findings`")
    } else {
        format!("`knee explain {}` has the limits", first.code)
    };
    let mut lines = vec![heading("What stops it", "", style)];
    lines.extend(body);
    lines.push(style.palette.paint(Tone::Faint, &format!("  {hint}")));
    lines
}

/// Every finding with all of its evidence, the bounds of resources, and what could not be looked for.
fn all(report: &Report, style: &Style) -> Vec<String> {
    let mut lines = vec![heading("What stops it", "", style)];
    lines.extend(found(report, style));
    lines.extend(wrap("  Rules that ran: ", report.ran.iter().copied(), ", ", style.width));
    for rule in &report.could_not_run {
        let text = format!("{} could not run: it needs {}", rule.code, clean::line(&rule.lacks));
        lines.extend(wrap_words("  ", &text, style.width));
    }
    lines
}

/// Every finding with all of its evidence, and the bounds of resources.
pub(crate) fn found(report: &Report, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in &report.findings {
        lines.extend(headline(finding, style));
        lines.extend(subject(finding, style));
        lines.extend(evidence(finding, style));
        lines.extend(remedy(finding, style));
        lines.extend(gain(finding, style));
    }
    if report.findings.is_empty() {
        lines.push("  nothing found".to_owned());
    }
    lines.extend(report.bounds.iter().flat_map(|bound| bound_lines(bound, style)));
    lines
}

fn headline(finding: &Finding, style: &Style) -> Vec<String> {
    let first = if finding.is_hint() { "  hint: " } else { "  " };
    let tone = if finding.is_hint() { Tone::Plain } else { Tone::Warn };
    let lines = wrap_words(first, &statement(finding), style.width);
    lines.iter().map(|line| style.palette.paint(tone, line)).collect()
}

/// What is the matter, with the code of the rule.
fn statement(finding: &Finding) -> String {
    format!("{} [{}]", clean::line(&finding.statement), finding.code)
}

/// The same in one line; a hint says so.
pub(crate) fn headline_words(finding: &Finding) -> String {
    format!("{}{}", if finding.is_hint() { "hint: " } else { "" }, statement(finding))
}

fn subject(finding: &Finding, style: &Style) -> Vec<String> {
    let name: String = finding.subject.name.chars().take(NAME_MAX).collect();
    // A process is its own source.
    let source = finding
        .subject
        .source
        .iter()
        .filter(|source| **source != finding.subject.name)
        .map(|source| format!(" ({})", clean::line(source)));
    let text = format!("{}{}", clean::line(&name), source.collect::<String>());
    wrap_words("    of: ", &text, style.width)
}

fn evidence(finding: &Finding, style: &Style) -> Vec<String> {
    let pieces: Vec<String> = finding.evidence.iter().map(|signal| figure_words(signal, style)).collect();
    wrap_words("    ", &pieces.join("; "), style.width)
}

/// As many signals as fit into so many lines, but at least the first.
fn evidence_within(finding: &Finding, most: usize, style: &Style) -> Vec<String> {
    let mut shown = finding.clone();
    loop {
        let lines = evidence(&shown, style);
        if lines.len() <= most || shown.evidence.len() < 2 {
            return lines;
        }
        shown.evidence.pop();
    }
}

/// `rows per sequential scan 240,000 (limit 10,000)`.
pub(crate) fn figure_words(signal: &Signal, style: &Style) -> String {
    let (Limit::AtLeast(limit) | Limit::AtMost(limit)) = signal.limit;
    let figure = |value| figure(value, signal.unit, style);
    format!("{} {} (limit {})", clean::line(&signal.what), figure(signal.figure), figure(limit))
}

fn figure(value: f64, unit: Unit, style: &Style) -> String {
    match unit {
        Unit::Count => level(value),
        Unit::Seconds => time(value * 1e9, style.unit),
        Unit::Bytes => bytes(value),
        Unit::Share => percent(value),
    }
}

fn remedy(finding: &Finding, style: &Style) -> Vec<String> {
    wrap_words("    remedy: ", &clean::line(&finding.remedy.to_string()), style.width)
}

fn gain(finding: &Finding, style: &Style) -> Vec<String> {
    let text = gain_words(finding, style);
    text.map_or_else(Vec::new, |text| wrap_words("    predicted: ", &clean::line(&text), style.width))
}

/// What the change gains by the measured times alone, in one line; `None` if that is unknown.
pub(crate) fn gain_words(finding: &Finding, style: &Style) -> Option<String> {
    Some(match finding.gain.as_ref()? {
        Gain::MeanResponse { from, to, bound } => {
            let (from, to) = (time(from * 1e9, style.unit), time(to * 1e9, style.unit));
            format!("mean response time {from} to {to}: {bound}")
        }
        Gain::Throughput { from, to, bound } => {
            format!("throughput {}/s to {}/s: {bound}", level(*from), level(*to))
        }
    })
}

fn bound_lines(bound: &Bound, style: &Style) -> Vec<String> {
    wrap_words("  Bound: ", &bound_words(bound, style), style.width)
}

/// What a resource allows, in one line.
pub(crate) fn bound_words(bound: &Bound, style: &Style) -> String {
    let confirmed = if bound.is_confirmed() { ": this is the limit" } else { "" };
    format!(
        "{}: {} per response allow {}/s, {} reached{confirmed}",
        clean::line(&bound.resource),
        time(bound.demand_s * 1e9, style.unit),
        level(bound.limit_per_s),
        percent(bound.reached)
    )
}
