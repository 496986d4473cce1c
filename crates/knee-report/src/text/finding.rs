//! What stops the service: findings with their figures beside the limits, and what to change.
//!
//! Of a run, shows nothing if nothing was found, and ten lines at most unless all findings are asked for. Of a sweep,
//! says at which level the findings are, and what could not be looked for. Does not judge.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use knee_findings::{Bound, Finding, Gain, Limit, Report, Signal, Unit};

use super::ink::{Tone, wrap, wrap_words};
use super::style::{Style, heading};
use crate::clean;
use crate::number::{bytes, counted, level, percent, time};

/// The heading of the section.
pub(crate) const HEADING: &str = "What stops it";

/// Most lines of the short form, the heading included.
const LINES_MAX: usize = 10;

/// Most characters of the name of a subject.
const NAME_MAX: usize = 300;

/// Kinds of missing evidence that are named where nothing was found.
const LACKS_MAX: usize = 4;

/// Where findings were measured, if not in the one run of the report.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct At<'a> {
    /// What stands beside the heading; empty in the report of a run.
    pub remark: &'a str,
    /// What belongs to each finding, in their order; empty where there is nothing.
    pub notes: &'a [String],
}

impl At<'_> {
    fn note(&self, finding: usize, style: &Style) -> Vec<String> {
        let note = self.notes.get(finding).filter(|note| !note.is_empty());
        note.map_or_else(Vec::new, |note| wrap_words("    ", note, style.width))
    }
}

/// The section; nothing if nothing was found and not everything was asked for.
pub fn lines(report: &Report, style: &Style) -> Vec<String> {
    let at = At::default();
    if style.all_findings { all(report, at, style) } else { short(report, at, style) }
}

/// The section of a sweep, which is there also if nothing was found.
pub(crate) fn lines_at(report: &Report, at: At<'_>, style: &Style) -> Vec<String> {
    if style.all_findings {
        return all(report, at, style);
    }
    if report.findings.is_empty() {
        let mut lines = vec![heading(HEADING, at.remark, style)];
        lines.extend(wrap_words("  ", &nothing_words(report), style.width));
        return lines;
    }
    short(report, at, style)
}

/// That nothing was found, and for want of what rules could not run: what most of them lack comes first.
pub(crate) fn nothing_words(report: &Report) -> String {
    let mut lacks: BTreeMap<&str, usize> = BTreeMap::new();
    for rule in &report.could_not_run {
        *lacks.entry(&rule.lacks).or_default() += 1;
    }
    let mut lacks: Vec<(&str, usize)> = lacks.into_iter().collect();
    lacks.sort_by_key(|(_, rules)| Reverse(*rules));
    let named = lacks.iter().take(LACKS_MAX).map(|(lack, _)| clean::line(lack).into_owned());
    let more = lacks.len().saturating_sub(LACKS_MAX);
    let more = (more > 0).then(|| format!("{more} more"));
    let named: Vec<String> = named.chain(more).collect();
    if named.is_empty() {
        return "nothing found".to_owned();
    }
    let rules = counted(report.could_not_run.len() as u64, "rule");
    format!("nothing found; {rules} could not run for want of {}", named.join(", "))
}

/// The first finding, and of the others as many first lines as fit.
fn short(report: &Report, at: At<'_>, style: &Style) -> Vec<String> {
    let Some((first, others)) = report.findings.split_first() else { return Vec::new() };
    // One line is the heading, and one says where there is more.
    let room = LINES_MAX - 2;
    let head_of =
        |place: usize, finding: &Finding| [headline(finding, style), at.note(place, style)].concat();
    let (head, mut change) = (head_of(0, first), remedy(first, style));
    change.extend(gain(first, style));
    let most = room.saturating_sub(head.len() + change.len()).max(1);
    let mut body = [head, evidence_within(first, most, style), change].concat();
    body.truncate(room);
    let mut left = others.len();
    for (place, other) in others.iter().enumerate() {
        let next = head_of(place + 1, other);
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
    let mut lines = vec![heading(HEADING, at.remark, style)];
    lines.extend(body);
    lines.push(style.palette.paint(Tone::Faint, &format!("  {hint}")));
    lines
}

/// Every finding with all of its evidence, the bounds of resources, and what could not be looked for.
fn all(report: &Report, at: At<'_>, style: &Style) -> Vec<String> {
    let mut lines = vec![heading(HEADING, at.remark, style)];
    lines.extend(found_at(report, at, style));
    lines.extend(wrap("  Rules that ran: ", report.ran.iter().copied(), ", ", style.width));
    for rule in &report.could_not_run {
        let text = format!("{} could not run: it needs {}", rule.code, clean::line(&rule.lacks));
        lines.extend(wrap_words("  ", &text, style.width));
    }
    lines
}

/// Every finding with all of its evidence, and the bounds of resources.
pub(crate) fn found(report: &Report, style: &Style) -> Vec<String> {
    found_at(report, At::default(), style)
}

fn found_at(report: &Report, at: At<'_>, style: &Style) -> Vec<String> {
    let mut lines = Vec::new();
    for (place, finding) in report.findings.iter().enumerate() {
        lines.extend(headline(finding, style));
        lines.extend(at.note(place, style));
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
