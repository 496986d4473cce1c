//! The tables of claims: those that were published, and the study's own goals.
//!
//! The same rows stand in the results and in files that people write. Does not judge.

use knee_study::study::{Basis, ClaimResult, Conclusion, Effect};

use super::block::{Block, Table};
use super::{headline, measuring, value, words};

/// Published claims, one row each.
pub(super) fn published(conclusion: &Conclusion) -> Table {
    let measured = measured_heading(conclusion);
    let columns = ["published statement", "published", &measured, "verdict", "like for like", "valid trials"];
    let mut table = Table::new(columns);
    let claims = conclusion.claims.iter().filter(|claim| !claim.goal);
    table.rows.extend(claims.map(|claim| {
        let [statement, figure, measured, verdict, valid] = cells(conclusion, claim);
        let alike = claim.like_for_like.clone().unwrap_or_else(|| value::UNKNOWN.to_owned());
        vec![statement, figure, measured, verdict, alike, valid]
    }));
    table
}

/// Goals of the study, one row each.
pub(super) fn goals(conclusion: &Conclusion) -> Table {
    let measured = measured_heading(conclusion);
    let mut table = Table::new(["goal", "asked for", &measured, "verdict", "valid trials"]);
    let goals = conclusion.claims.iter().filter(|claim| claim.goal);
    table.rows.extend(goals.map(|claim| cells(conclusion, claim).to_vec()));
    table
}

fn measured_heading(conclusion: &Conclusion) -> String {
    format!("measured [{}]", value::interval_heading(conclusion.confidence()))
}

/// Statement, what was published or asked for, what was measured, verdict, valid trials.
fn cells(conclusion: &Conclusion, claim: &ClaimResult) -> [String; 5] {
    let mark = claim.changed_after.map_or_else(String::new, |began| {
        // An older version stored no times.
        let of = if began.as_nanos() > 0 { format!(" of {}", measuring::date(began)) } else { String::new() };
        format!(" (changed after the data{of})")
    });
    let valid = match claim.test.cells().len() {
        0 => value::UNKNOWN.to_owned(),
        _ => format!("{} of {}", claim.valid, claim.trials),
    };
    [
        format!("{}{mark}", claim.text),
        claim.published.clone().unwrap_or_else(|| words::claimed(&claim.test)),
        words::measured(claim, effect(conclusion, claim)),
        words::judged(claim),
        valid,
    ]
}

/// The comparison that a claim is about.
fn effect<'a>(conclusion: &'a Conclusion, claim: &ClaimResult) -> Option<&'a Effect> {
    let Basis::Change { from, to, metric, .. } = &claim.basis else { return None };
    let is_it = |effect: &&Effect| (&effect.from, &effect.to, effect.metric) == (from, to, *metric);
    conclusion.effects.iter().find(is_it)
}

/// What stands between the markers of a file that people write: the published claims, how far the data can be trusted,
/// and where the results are. `results` is a link from the file.
pub fn summary(conclusion: &Conclusion, results: &str) -> Vec<Block> {
    let table = published(conclusion);
    let claims = if table.rows.is_empty() {
        Block::Paragraph("This study tests no published claim.".to_owned())
    } else {
        Block::Table(table)
    };
    let trust = Block::Paragraph(headline::trust(conclusion));
    let links = vec![(conclusion.title.clone(), results.to_owned())];
    vec![claims, trust, Block::Links { name: "Results".to_owned(), links }]
}
