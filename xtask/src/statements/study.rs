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
    /// What the study says of its claims; empty until it has run with the present rules.
    rows: Vec<Row>,
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
    published: Option<String>,
    like_for_like: Option<String>,
    expect: Option<String>,
    change: Option<String>,
    at_least: Option<String>,
    untestable: Option<String>,
    testable: Option<String>,
    below: Option<toml::Value>,
    above: Option<toml::Value>,
}

/// How results begin that were measured before the present rules.
const OLDER: &str = "> Measured on ";

/// How the mark begins that results put behind a claim whose test was changed after its data were taken.
const CHANGED: &str = " (changed after the data";

/// A row of a table of claims.
#[derive(Debug)]
struct Row {
    /// What the claim says, without a mark.
    text: String,
    /// The published figure.
    published: String,
    /// The verdict with the measured figure, as Markdown, and with the mark.
    said: String,
}

impl Row {
    /// Reads a row: text, published, measured, verdict and more.
    fn read(row: &str) -> Option<Self> {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [text, published, measured, verdict, ..] = cells[..] else { return None };
        let unmarked =
            text.rsplit_once(CHANGED).filter(|_| text.ends_with(')')).map_or(text, |(text, _)| text);
        let mark = text.strip_prefix(unmarked).unwrap_or_default();
        let plain = |cell: &str| cell.replace('\\', "");
        let said = said(measured, verdict) + mark;
        Some(Self { text: plain(unmarked), published: plain(published), said })
    }
}

/// A verdict with what was measured, in one pair of parentheses.
fn said(measured: &str, verdict: &str) -> String {
    match verdict.strip_suffix(')').filter(|verdict| verdict.contains(" (asked: ")) {
        _ if measured == "–" => verdict.to_owned(),
        Some(asked) => format!("{asked}; {measured})"),
        None => format!("{verdict} ({measured})"),
    }
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
        Ok(Self { name: name.to_owned(), claims: file.claims, rows: Vec::new() })
    }

    /// The same with what its results say, a `RESULTS.md`.
    pub(super) fn with_results(self, results: &str) -> Self {
        let is_older = results.starts_with(OLDER);
        let lines = results.lines().filter(|line| !is_older && line.starts_with("| "));
        Self { rows: lines.filter_map(Row::read).collect(), ..self }
    }

    /// What the study found of a claim, as Markdown for a cell; `None` without a result by the present rules. Results
    /// have no ids: a row is that of a claim by its text, and of several with one text by its published figure, too.
    pub(super) fn verdict(&self, claim: &Claim) -> Option<&str> {
        let alike = || self.rows.iter().filter(|row| row.text == claim.text.trim());
        let published = claim.published.as_deref().map(str::trim);
        let same = alike().find(|row| published.is_some_and(|published| row.published == published));
        same.or_else(|| alike().next()).map(|row| row.said.as_str())
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

    /// What is missing for its result to be one about what was published; empty if nothing can test it here.
    pub(super) fn unlike(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.untestable.is_some() {
            return found;
        }
        let alike = self.like_for_like.as_deref().unwrap_or_default();
        if alike.trim().is_empty() {
            found.push("does not say in `like_for_like` whether it tests what was published".to_owned());
        }
        let Some(size) = self.published.as_deref().and_then(size) else { return found };
        match &self.change {
            Some(change) if spaceless(change) != size => {
                found.push(format!("tests a change of {change}, and {size} was published"));
            }
            None if self.is_direction() && !alike.starts_with("direction only") => {
                found
                    .push(format!("tests a direction, and a change of {size} was published; write `change`"));
            }
            _ => {}
        }
        found
    }

    /// Whether it has no more than a direction. `same` and a least factor are sizes.
    fn is_direction(&self) -> bool {
        self.expect.as_deref().is_some_and(|expect| expect != "same") && self.at_least.is_none()
    }

    /// Whether it tests responses like for like although its statement is about something else: it has neither the
    /// time of statements nor that of databases.
    pub(super) fn takes_responses_for_queries(&self) -> bool {
        let of_database = |metric: &str| metric.starts_with("statement_") || metric.starts_with("store_");
        let of_responses = self.metric.as_deref().is_some_and(|metric| !of_database(metric));
        let is_alike = self.like_for_like.as_deref().is_some_and(|alike| !alike.starts_with("no"));
        of_responses && is_alike
    }
}

/// The size of a change in parentheses at the end of a published figure, as `change` has it: `+34.4%` of `624 to 839/s
/// (+34.4 %)`.
fn size(published: &str) -> Option<String> {
    let (_, rest) = published.rsplit_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let size = spaceless(inside);
    let number = size.strip_suffix('%').or_else(|| size.strip_suffix('x'))?;
    number.parse::<f64>().is_ok().then_some(size)
}

fn spaceless(text: &str) -> String {
    text.split_whitespace().collect()
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
        let asked = table.replace("| confirmed |", "| confirmed (asked: below 2.00 ms) |");
        assert_eq!(
            of(&asked).as_deref(),
            Some("confirmed (asked: below 2.00 ms; p95: -40 % \\[-50 % to -30 %\\], faster)"),
            "in one pair of parentheses"
        );
        assert_eq!(of(&format!("> Measured on 2026-11-22 by knee\n\n{table}")), None);
        assert_eq!(of(""), None);
    }

    #[test]
    fn a_claim_that_was_changed_after_its_data_has_the_verdict_and_the_mark_of_its_row() {
        for mark in ["", " (changed after the data)", " (changed after the data of 2026-11-30)"] {
            let study = Study::read("a", "[claims.b]\ntext = \"40 do (of 100)\"").expect("it is TOML");
            let row =
                format!("| 40 do (of 100){mark} | 40 | goodput: -15 % | confirmed | yes | 16 of 16 |\n");
            let study = study.with_results(&row);
            let found = study.claim("a/b").and_then(|claim| study.verdict(claim));
            let expected = format!("confirmed (goodput: -15 %){mark}");
            assert_eq!(found, Some(expected.as_str()), "{mark}");
        }
    }

    #[test]
    fn claims_with_one_text_have_the_verdicts_of_their_published_figures() {
        let claims = "[claims.b]\ntext = \"it is fast\"\npublished = \"2x\"\n\
                      [claims.c]\ntext = \"it is fast\"\npublished = \"3x\"\n";
        let rows = "| it is fast | 2x | – | confirmed | yes |\n| it is fast | 3x | – | refuted | yes |\n";
        let study = Study::read("a", claims).expect("it is TOML").with_results(rows);
        let found = ["a/b", "a/c"].map(|id| study.claim(id).and_then(|claim| study.verdict(claim)));
        assert_eq!(found, [Some("confirmed"), Some("refuted")]);
    }

    fn unlike(claim: &str) -> Vec<String> {
        let study = Study::read("a", &format!("[claims.b]\n{claim}")).expect("the test's study is TOML");
        study.claim("a/b").expect("the study has the claim").unlike()
    }

    #[test]
    fn a_published_claim_says_whether_it_is_like_for_like_unless_nothing_can_test_it() {
        let expected = ["does not say in `like_for_like` whether it tests what was published"];
        assert_eq!(unlike("expect = \"faster\""), expected);
        assert_eq!(unlike("expect = \"faster\"\nlike_for_like = \" \""), expected);
        assert_eq!(unlike("expect = \"faster\"\nlike_for_like = \"no: one CPU\""), [""; 0]);
        assert_eq!(unlike("untestable = \"a price\""), [""; 0]);
    }

    #[test]
    fn a_published_size_is_not_tested_as_a_direction_and_not_as_another_size() {
        let of = |published: &str, lines: &str| {
            unlike(&format!("like_for_like = \"yes\"\npublished = \"{published}\"\n{lines}"))
        };
        let rate = "624.3 to 839.3/s (+34.4 %)";
        let direction = "tests a direction, and a change of +34.4% was published; write `change`";
        assert_eq!(of(rate, "expect = \"faster\""), [direction]);
        assert_eq!(of(rate, "expect = \"not-slower\""), [direction]);
        assert_eq!(of(rate, "change = \"+71%\""), ["tests a change of +71%, and +34.4% was published"]);
        assert_eq!(of("2,335 to 2,375 ms (+1.7 %); 13/s", "change = \"1.017x\"").len(), 1);
        for (published, lines) in [
            (rate, "change = \"+34.4 %\""),
            ("65 to 0.13 ms (500x)", "expect = \"faster\"\nat_least = \"100x\""),
            ("21.96 to 21.95/s (-0.06 %)", "expect = \"same\""),
            ("77.5 % (2,925 of 3,774)", "expect = \"faster\""),
            ("(+3.3 % with the check)", "expect = \"faster\""),
        ] {
            assert_eq!(of(published, lines), [""; 0], "{published}, {lines}");
        }
        let said =
            "published = \"1 to 2/s (2x)\"\nlike_for_like = \"direction only: one CPU\"\nexpect = \"faster\"";
        assert_eq!(unlike(said), [""; 0]);
    }

    #[test]
    fn a_claim_without_a_test_gives_its_reason() {
        assert_eq!(
            not_testable("untestable = \"there is no container\""),
            Some("there is no container".to_owned())
        );
    }
}
