//! What a user sees of a search: findings, what was not looked at, the proof, and the sentence at the end.
//!
//! Does not search; `knee find` does.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_findings::{Confidence, NotRun};
use knee_report::find::{self, Considered, Proof, Search, Tried};
use knee_report::page_data::{self, Carried};
use knee_report::text::Style;
use knee_report::{View, html, kept};
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::proof::{self, Change, Extent};
use knee_study::study::{Conclusion, Measured, Options, Placement, Study, Trial, TrialResult};

use super::finding::{finding, view};
use super::page::Page;

const STUDY: &str = r#"title = "tasks"

[postgres.db]

[service.main]
command = ["server", "{port}", "{postgres.db.url}"]

[variants.stock]

[variants.other]

[workloads.list]
path = "/tasks"

[design]
kind = "pairs"
"#;

/// The conclusion of a proof in which the remedy makes the mean this many times as long.
fn conclusion(factor: f64) -> Conclusion {
    conclusion_of(&|trial| {
        let noise = 1.0 + 0.01 * (trial.block % 3) as f64;
        TrialResult::Measured(measured(if trial.variant == "stock" { 84e6 } else { 84e6 * factor * noise }))
    })
}

/// The conclusion of a proof with these results of its trials.
fn conclusion_of(result: &dyn Fn(&Trial) -> TrialResult) -> Conclusion {
    let study = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let part = proof::part(&study, "stock", "list").unwrap();
    let change = Change::Sql { server: "db".into(), statement: "CREATE INDEX ON tasks (a)".into() };
    let changed = proof::changed(&part.variants[0], "index", "an index", &change);
    let extent = Extent {
        blocks: 8,
        warm_up: Nanos::from_secs(1),
        measure: Nanos::from_secs(4),
        metrics: vec![Metric::P95, Metric::Mean],
        takes: Nanos::from_secs(100),
    };
    let mut study = Study::new(proof::definition(&part, changed, &extent), Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let result = result(&trial);
        study.record_result(&trial, result).unwrap();
    }
    study.conclude()
}

fn measured(mean: f64) -> Measured {
    Measured {
        figures: [(Metric::Mean, mean.into())].into(),
        requests: 100,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: Some(true),
        kept_up: None,
        host_busy: None,
        record: None,
        placement: Placement::default(),
    }
}

fn search(look: View, proof: Proof) -> Search {
    let (notes, remedies) = (Vec::new(), Vec::new());
    Search { title: "labs/tasks: stock under list".into(), look, notes, remedies, proof }
}

fn tried(factor: f64) -> Search {
    concluded(conclusion(factor))
}

fn concluded(conclusion: Conclusion) -> Search {
    let change = "CREATE INDEX ON tasks (a) in postgres.db".into();
    let tried = Tried { finding: 0, change, conclusion, after: Some(view(Vec::new())) };
    search(view(vec![finding("missing_index", Confidence::Strong)]), Proof::Tried(Box::new(tried)))
}

fn untried(look: View, why: &str, by_hand: &[&str]) -> Search {
    let by_hand = by_hand.iter().map(|line| (*line).to_owned()).collect();
    search(look, Proof::NotTried { why: why.into(), by_hand })
}

#[test]
fn the_answer_names_the_cause_its_evidence_and_what_the_remedy_changes_with_its_interval() {
    let sentence = find::sentence(&tried(0.07));
    let begins = "missing index on public.tasks (organization_id): found by blocks read per row returned and rows \
                  per sequential scan of public.tasks; with the remedy, mean falls from 84.0 ms to 5.94 ms, -92.9 % \
                  (95 % CI ";
    assert!(sentence.starts_with(begins), "{sentence}");
    assert!(sentence.ends_with(", 8 blocks), faster"), "{sentence}");
    let slower = find::sentence(&tried(1.5));
    assert!(slower.contains("with the remedy, mean rises from 84.0 ms to "), "{slower}");
    assert!(slower.ends_with("slower"), "{slower}");
    let same = find::sentence(&tried(0.999));
    assert!(same.contains("the remedy changes nothing: mean from 84.0 ms to "), "{same}");
}

#[test]
fn trials_that_cannot_be_used_end_in_a_sentence_that_says_why() {
    let invalid =
        |_: &Trial| TrialResult::Measured(Measured { validity: Validity::Invalid, ..measured(84e6) });
    let sentence = find::sentence(&concluded(conclusion_of(&invalid)));
    let why = "; not proven: undecided: no block measured both sides; 16 trials cannot be used, the first is one of `stock";
    assert!(sentence.contains(why), "{sentence}");
    assert!(sentence.ends_with(": the measurement is invalid"), "{sentence}");
    let dies = |trial: &Trial| match trial.variant.as_str() {
        "stock" => TrialResult::Measured(measured(84e6)),
        _ => TrialResult::NeverReady { reason: "no such column".into() },
    };
    let sentence = find::sentence(&concluded(conclusion_of(&dies)));
    let why = "1 trial cannot be used, the first is one of `stock + index`: the service did not become ready: no such column";
    assert!(sentence.contains("; not proven: ") && sentence.ends_with(why), "{sentence}");
}

#[test]
fn a_remedy_that_was_left_out_is_named_with_the_reason() {
    let mut search = tried(0.07);
    search.look.findings.findings.push(finding("sort_mismatch", Confidence::Likely));
    let change = Some("CREATE INDEX ON tasks (b) in postgres.db".to_owned());
    search.remedies = vec![
        Considered {
            finding: 0,
            change: Some("CREATE INDEX ON tasks (a) in postgres.db".into()),
            why_not: None,
        },
        Considered { finding: 1, change, why_not: Some("a search tries one remedy".into()) },
    ];
    let said = "not tried: CREATE INDEX ON tasks (b) in postgres.db [sort_mismatch], because a search tries one remedy";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&find::text(&search, &Style::default())).contains(said));
    assert!(html::search(&search, &Style::default()).contains(said));
    let document: serde_json::Value = serde_json::from_str(&find::json(&search)).unwrap();
    assert_eq!(document["remedies"][0]["why_not"], serde_json::Value::Null);
    assert_eq!(document["remedies"][1]["change"], "CREATE INDEX ON tasks (b) in postgres.db");
}

#[test]
fn without_a_proof_the_answer_says_why() {
    let firm = || view(vec![finding("missing_index", Confidence::Likely)]);
    let why = "knee does not write to a database that it did not start";
    let sentence = find::sentence(&untried(firm(), why, &[]));
    assert!(sentence.ends_with(&format!("; not proven: {why}")), "{sentence}");
    let hint = view(vec![finding("missing_index", Confidence::Hint)]);
    let sentence = find::sentence(&untried(hint, "a hint rests on one figure", &[]));
    assert!(sentence.starts_with("only a hint: a statement scans"), "{sentence}");
    let nothing = find::sentence(&untried(view(Vec::new()), "", &[]));
    assert_eq!(nothing, "nothing found that stops it: 2 rules ran, 1 could not");
    let mut invalid = firm();
    invalid.validity.validity = Validity::Invalid;
    let sentence = find::sentence(&untried(invalid, "", &[]));
    assert!(sentence.starts_with("no answer, because the load is invalid"), "{sentence}");
}

#[test]
fn the_text_has_the_findings_what_was_not_looked_at_the_proof_and_the_answer_last() {
    let mut search = tried(0.07);
    let lacks = "a Redis or Valkey server";
    search.look.findings.could_not_run.push(NotRun { code: "redis_command", lacks: lacks.into() });
    let text = find::text(&search, &Style::default());
    let blocks: Vec<&str> = text.trim_end().split("\n\n").collect();
    let firsts: Vec<&str> = blocks.iter().map(|block| block.lines().next().unwrap()).collect();
    assert_eq!(
        firsts[..5],
        [
            "labs/tasks: stock under list",
            "What stops it",
            "Not looked at (rules, by what they lack)",
            "Proof trials with and without the remedy, in random order",
            "With the remedy what stops it now",
        ]
    );
    assert!(blocks[2].ends_with(&format!("{lacks}: redis_thread, redis_command")), "{text}");
    assert!(blocks[3].contains("CREATE INDEX ON tasks (a) in postgres.db"), "{text}");
    assert!(blocks[3].contains("mean: 84.0 ms to 5.94 ms, "), "{text}");
    assert!(blocks[5].starts_with("missing index on public.tasks") && blocks.len() == 6, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn lines_to_be_copied_are_not_wrapped() {
    let long = format!("sql = {{ db = [{}] }}", "\"CREATE INDEX\", ".repeat(9));
    let firm = view(vec![finding("missing_index", Confidence::Likely)]);
    let text = find::text(
        &untried(firm, "--no-proof", &["# in study.toml:", &long, "", "knee study x"]),
        &Style::default(),
    );
    assert!(
        text.contains(&format!("To prove it by hand\n  # in study.toml:\n  {long}\n\n  knee study x\n")),
        "{text}"
    );
}

#[test]
fn the_document_is_as_its_schema_says_and_hostile_names_reach_no_terminal() {
    let schema = include_str!("../../../../docs/reference/find.schema.json");
    let validator = jsonschema::draft202012::new(&serde_json::from_str(schema).unwrap()).unwrap();
    let bite = "\x1b]0;owned\x07\x1b[2J\u{9b}31m\r\n\u{202e}gnp";
    let mut hostile = finding("missing_index", Confidence::Likely);
    hostile.statement = bite.into();
    hostile.remedy = knee_findings::Remedy::Index { table: bite.into(), columns: vec![bite.into()] };
    let assert_document = |search: &Search| {
        let json = find::json(search);
        let document: serde_json::Value = serde_json::from_str(&json).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(document["sentence"], find::sentence(search));
        for shown in [json, find::text(search, &Style::default())] {
            assert!(
                !shown.chars().any(|c| c.is_control() && c != '\n') && !shown.contains('\u{202e}'),
                "{shown}"
            );
        }
    };
    assert_document(&tried(0.07));
    assert_document(&untried(view(Vec::new()), "", &[]));
    let trigrams = knee_findings::Remedy::Trigrams { table: bite.into(), column: bite.into() };
    let of_trigrams = knee_findings::Finding { remedy: trigrams, ..hostile.clone() };
    let mut hostile = untried(view(vec![hostile, of_trigrams]), "knee does not", &[bite, "knee study x"]);
    hostile.remedies = vec![Considered { finding: 0, change: Some(bite.into()), why_not: Some(bite.into()) }];
    assert_document(&hostile);
}

#[test]
fn a_search_is_a_page_that_begins_with_its_answer_and_has_the_proof() {
    let search = tried(0.07);
    let page = html::search(&search, &Style::default());
    let read = Page::read(&page);
    assert_eq!(read.faults, [""; 0]);
    let answer = &read.of_class("answer")[0].text;
    assert_eq!(*answer, find::sentence(&search));
    let headings: Vec<&str> = read.headings().into_iter().map(|(_, text)| text).collect();
    for heading in ["labs/tasks: stock under list", "Proof", "With the remedy"] {
        assert!(headings.iter().any(|text| text.starts_with(heading)), "{heading}: {headings:?}");
    }
    let kept = kept::search(&search, &Style::default());
    assert_eq!(
        page_data::read(page.as_bytes()).unwrap(),
        Carried::Result(kept.pack()),
        "`knee report` reads it back"
    );
}

#[test]
fn the_page_of_a_search_without_a_proof_has_the_lines_that_try_it_by_hand() {
    let search = untried(view(Vec::new()), "", &["psql -c 'CREATE INDEX <b>'", "knee compare A B"]);
    let page = Page::read(&html::search(&search, &Style::default()));
    assert_eq!(page.faults, [""; 0]);
    assert_eq!(page.all("pre")[0].text, "psql -c 'CREATE INDEX <b>'\nknee compare A B");
}
