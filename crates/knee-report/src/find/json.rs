//! A search as JSON: the layout of `docs/reference/find.schema.json`.

use knee_findings::Report;
use knee_study::statistics::verdict::Verdict;
use knee_study::study::{CpuUse, Effect, Entry, Totals};
use serde::Serialize;
use serde_json::Value;

use super::sentence::{decisive, word};
use super::{Considered, Proof, Search, Tried, VERSION, sentence};
use crate::View;
use crate::json::{self, pretty};
use crate::study::row_of;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    title: &'a str,
    sentence: String,
    findings: &'a Report,
    run: Value,
    notes: &'a [String],
    remedies: &'a [Considered],
    proof: Proven<'a>,
}

#[derive(Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum Proven<'a> {
    NotTried { why: &'a str, by_hand: &'a [String] },
    Tried(Trials<'a>),
}

#[derive(Serialize)]
struct Trials<'a> {
    /// Index of the finding.
    finding: usize,
    change: &'a str,
    verdict: Option<Verdict>,
    word: Option<&'static str>,
    metrics: Vec<Line<'a>>,
    blocks: usize,
    alpha: f64,
    totals: Totals,
    cpus: Option<&'a CpuUse>,
    after: Option<After<'a>>,
    #[serde(rename = "trials")]
    entries: &'a [Entry],
}

#[derive(Serialize)]
struct Line<'a> {
    without: Option<f64>,
    with: Option<f64>,
    #[serde(flatten)]
    effect: &'a Effect,
}

#[derive(Serialize)]
struct After<'a> {
    findings: &'a Report,
    run: Value,
}

/// The document, indented, with a line feed at the end.
pub fn render(search: &Search) -> String {
    let proof = match &search.proof {
        Proof::NotTried { why, by_hand } => Proven::NotTried { why, by_hand },
        Proof::Tried(tried) => Proven::Tried(trials(tried)),
    };
    pretty(&Document {
        format: "knee-find",
        version: VERSION,
        title: &search.title,
        sentence: sentence(search),
        findings: &search.look.findings,
        run: run(&search.look),
        notes: &search.notes,
        remedies: &search.remedies,
        proof,
    })
}

/// A run without its intervals and without what is beside it: its record has them.
fn run(view: &View) -> Value {
    let mut value = json::summary(view);
    if let Some(members) = value.as_object_mut() {
        members.remove("observations");
        members.remove("findings");
    }
    value
}

fn trials(tried: &Tried) -> Trials<'_> {
    let conclusion = &tried.conclusion;
    let line = |effect: &'_ Effect| {
        let middle = |cell| row_of(conclusion, cell, effect.metric);
        (middle(&effect.from), middle(&effect.to))
    };
    Trials {
        finding: tried.finding,
        change: &tried.change,
        verdict: decisive(conclusion).map(|effect| effect.verdict),
        word: word(conclusion),
        metrics: conclusion
            .effects
            .iter()
            .map(|effect| {
                let (without, with) = line(effect);
                Line { without, with, effect }
            })
            .collect(),
        blocks: conclusion.blocks,
        alpha: conclusion.alpha,
        totals: conclusion.totals,
        cpus: conclusion.cpus.as_ref(),
        after: tried.after.as_ref().map(|view| After { findings: &view.findings, run: run(view) }),
        entries: &conclusion.trials,
    }
}
