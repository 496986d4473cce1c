//! A search as text: findings, what could not be looked at, the trials of the remedy, and the sentence at the end.

use std::collections::BTreeMap;

use knee_findings::Report;
use knee_study::study::Effect;

use super::{Proof, Search, Tried, sentence};
use crate::clean;
use crate::study::{figure, result, row_of, trust};
use crate::text::ink::{Tone, wrap_words};
use crate::text::{Style, answer, breakdown, finding, heading, join, title, validity};

/// The whole report; every line ends in a line feed.
pub fn render(search: &Search, style: &Style) -> String {
    let style = &Style { width: style.width.max(60), ..*style };
    let view = &search.look;
    let mut head = wrap_words("", &clean::line(&search.title), style.width);
    head.extend(title(view, style).into_iter().skip(1));
    head.extend(validity::answer(view, style));
    head.extend(answer::lines(view, style));
    head.extend(search.notes.iter().flat_map(|note| {
        let note = clean::line(note);
        wrap_words("note: ", &note, style.width)
    }));
    let everything = Style { all_findings: true, ..*style };
    let times = breakdown::lines(view.findings.breakdown.as_ref(), &everything);
    let mut blocks = vec![head, found(&view.findings, style), times, not_looked_at(&view.findings, style)];
    match &search.proof {
        Proof::NotTried { by_hand, .. } => blocks.push(by_hand_lines(by_hand, style)),
        Proof::Tried(tried) => {
            let mut lines = proof(tried, style);
            let left_out = search.left_out();
            lines.extend(left_out.iter().flat_map(|line| wrap_words("  ", &clean::line(line), style.width)));
            blocks.push(lines);
            blocks.push(after(tried, style));
        }
    }
    let last = wrap_words("", &clean::line(&sentence(search)), style.width);
    blocks.push(last.iter().map(|line| style.palette.paint(Tone::Strong, line)).collect());
    join(&blocks)
}

fn found(report: &Report, style: &Style) -> Vec<String> {
    let mut lines = vec![heading("What stops it", "", style)];
    lines.extend(finding::found(report, style));
    lines
}

/// Rules that could not run, by what they lack.
fn not_looked_at(report: &Report, style: &Style) -> Vec<String> {
    let mut lacks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for rule in &report.could_not_run {
        lacks.entry(&rule.lacks).or_default().push(rule.code);
    }
    if lacks.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("Not looked at", "(rules, by what they lack)", style)];
    for (lack, codes) in lacks {
        lines.extend(wrap_words("  ", &format!("{}: {}", clean::line(lack), codes.join(", ")), style.width));
    }
    lines
}

/// Lines to be copied: they are not wrapped.
fn by_hand_lines(by_hand: &[String], style: &Style) -> Vec<String> {
    if by_hand.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![heading("To prove it by hand", "", style)];
    lines.extend(by_hand.iter().map(|line| match clean::line(line).as_ref() {
        "" => String::new(),
        line => format!("  {line}"),
    }));
    lines
}

fn proof(tried: &Tried, style: &Style) -> Vec<String> {
    let mut lines = vec![heading("Proof", "trials with and without the remedy, in random order", style)];
    lines.extend(wrap_words("  ", &clean::line(&tried.change), style.width));
    lines.extend(
        tried
            .conclusion
            .effects
            .iter()
            .flat_map(|effect| wrap_words("  ", &effect_line(tried, effect), style.width)),
    );
    lines.extend(wrap_words("  ", &trust(&tried.conclusion), style.width));
    lines
}

/// `p95: 84.1ms to 6.02ms, -92.8 % (95 % CI …, 8 blocks), faster`.
fn effect_line(tried: &Tried, effect: &Effect) -> String {
    let conclusion = &tried.conclusion;
    let middle = |cell| row_of(conclusion, cell, effect.metric).map(|value| figure(effect.metric, value));
    let ends = match (middle(&effect.from), middle(&effect.to)) {
        (Some(from), Some(to)) => format!("{from} to {to}, "),
        _ => String::new(),
    };
    format!("{}: {ends}{}", effect.metric, result(effect, conclusion.confidence()))
}

/// What bounds the service with the remedy.
fn after(tried: &Tried, style: &Style) -> Vec<String> {
    let Some(view) = &tried.after else { return Vec::new() };
    let mut lines = vec![heading("With the remedy", "what stops it now", style)];
    let pieces = answer::pieces(view, style.unit);
    lines.extend(wrap_words("  ", &pieces.join(", "), style.width));
    lines.extend(finding::found(&view.findings, style));
    lines
}
