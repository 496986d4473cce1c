//! The claims of a `study.toml`, as far as statements need them.
//!
//! `knee` checks the file itself; this reads only the claims, and does not judge them.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Deserialize;

/// Metrics whose figures hardly depend on the machine: shares, and counts per request.
const OF_ANY_MACHINE: &[&str] = &["errors", "blocks_per_request", "statement_calls_per_request"];

/// The claims of one study.
#[derive(Debug)]
pub(super) struct Study {
    /// The folder in the lab; empty for the lab's own study.
    pub name: String,
    /// The claims by id.
    pub claims: BTreeMap<String, Claim>,
    /// What the study says of its claims, by their text; empty until it has run with the present rules.
    verdicts: BTreeMap<String, String>,
}

/// A claim.
#[derive(Debug, Deserialize)]
pub(super) struct Claim {
    /// Whether it is the study's own; otherwise it was published.
    #[serde(default)]
    pub goal: bool,
    /// What it says.
    #[serde(default)]
    text: String,
    metric: Option<String>,
    untestable: Option<String>,
    testable: Option<String>,
    below: Option<toml::Value>,
    above: Option<toml::Value>,
}

/// How results begin that were measured before the present rules.
const OLDER: &str = "> Measured on ";

/// The text of a claim, and its verdict with the measured figure, from a row of a table of claims: text, published,
/// measured, verdict and more.
fn verdict_of_row(row: &str) -> Option<(String, String)> {
    let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
    let [text, _, measured, verdict, ..] = cells[..] else { return None };
    let said = if measured == "–" { verdict.to_owned() } else { format!("{verdict} ({measured})") };
    Some((text.replace('\\', ""), said))
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    claims: BTreeMap<String, Claim>,
}

impl Study {
    /// Reads the claims of a study in the folder `name` of its lab.
    ///
    /// # Errors
    /// If the text is not TOML, or its claims have another form.
    pub(super) fn read(name: &str, text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)?;
        Ok(Self { name: name.to_owned(), claims: file.claims, verdicts: BTreeMap::new() })
    }

    /// The same with what its results say, a `RESULTS.md`.
    pub(super) fn with_results(self, results: &str) -> Self {
        let is_older = results.starts_with(OLDER);
        let rows =
            results.lines().filter(|line| !is_older && line.starts_with("| ")).filter_map(verdict_of_row);
        Self { verdicts: rows.collect(), ..self }
    }

    /// What the study found of a claim, as Markdown for a cell; `None` without a result by the present rules.
    pub(super) fn verdict(&self, claim: &Claim) -> Option<&str> {
        self.verdicts.get(claim.text.trim()).map(String::as_str)
    }

    /// How statements name a claim of this study.
    pub(super) fn reference(&self, id: &str) -> String {
        if self.name.is_empty() { id.to_owned() } else { format!("{}/{id}", self.name) }
    }

    /// The claim that statements name so, if it belongs to this study.
    pub(super) fn claim(&self, reference: &str) -> Option<&Claim> {
        let (name, id) = reference.split_once('/').unwrap_or(("", reference));
        if name == self.name { self.claims.get(id) } else { None }
    }
}

impl Claim {
    /// Why no measurement on this machine decides the claim, by the rules of `study.toml`; `None` if one does.
    pub(super) fn not_testable(&self) -> Option<&str> {
        let is_bound = self.below.is_some() || self.above.is_some();
        let is_of_hardware = self.metric.as_deref().is_some_and(|metric| !OF_ANY_MACHINE.contains(&metric));
        match &self.untestable {
            Some(reason) => Some(reason),
            None if is_bound && is_of_hardware && self.testable.is_none() && !self.goal => {
                Some("a figure of other hardware")
            }
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_testable(claim: &str) -> Option<String> {
        let study = Study::read("a", &format!("[claims.b]\n{claim}")).expect("the test's study is TOML");
        let claim = study.claim("a/b").expect("the study has the claim");
        claim.not_testable().map(str::to_owned)
    }

    #[test]
    fn a_claim_is_named_by_the_folder_of_its_study() {
        let study = |name: &str| Study::read(name, "[claims.b]\n").expect("the test's study is TOML");
        assert_eq!(study("").reference("b"), "b");
        assert_eq!(study("a").reference("b"), "a/b");
        assert!(study("").claim("b").is_some() && study("a").claim("b").is_none());
    }

    #[test]
    fn a_published_time_or_rate_is_not_testable_unless_the_claim_says_why_it_is() {
        let figure = Some("a figure of other hardware".to_owned());
        assert_eq!(not_testable("metric = \"p95\"\nbelow = \"15ms\""), figure);
        assert_eq!(not_testable("metric = \"goodput\"\nabove = 20000"), figure);
        for testable in ["testable = \"the wait is a setting\"", "goal = true"] {
            assert_eq!(not_testable(&format!("metric = \"max\"\nbelow = \"1s\"\n{testable}")), None);
        }
        assert_eq!(not_testable("metric = \"errors\"\nbelow = \"0.1%\""), None);
        assert_eq!(not_testable("metric = \"p95\"\nexpect = \"faster\""), None);
    }

    #[test]
    fn a_verdict_is_that_of_the_row_with_the_text_of_the_claim_unless_the_results_are_older() {
        let study = || Study::read("a", "[claims.b]\ntext = \"lists <b> are fast\"").expect("it is TOML");
        let table = "| published statement | published | measured | verdict | like for like |\n|---|---|---|---|---|\n\
                     | lists \\<b> are fast | 2x | p95: -40 % \\[-50 % to -30 %\\], faster | confirmed | yes |\n";
        let of = |results: &str| {
            let study = study().with_results(results);
            study.claim("a/b").and_then(|claim| study.verdict(claim)).map(str::to_owned)
        };
        assert_eq!(of(table).as_deref(), Some("confirmed (p95: -40 % \\[-50 % to -30 %\\], faster)"));
        assert_eq!(of(&format!("> Measured on 2026-11-22 by knee\n\n{table}")), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn a_claim_without_a_test_gives_its_reason() {
        assert_eq!(
            not_testable("untestable = \"there is no container\""),
            Some("there is no container".to_owned())
        );
    }
}
