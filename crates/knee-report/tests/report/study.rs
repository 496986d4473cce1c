//! What a study's conclusion reads like, in a terminal and in Markdown.

use std::collections::BTreeMap;

use knee_core::truth::State;
use knee_report::study::{Document, markdown, text};
use knee_report::text::Palette;
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::study::{Conclusion, Figure, Measured, Options, Study, Told};

const STUDY: &str = r#"title = "Is it the lock?"
question = "What did the lock cost?"

[service.main]
address = "http://127.0.0.1:1"

[switches.lock]
default = "coarse"
env = "LOCK"

[arms.stock]
text = "as it comes"

[arms.fine]
text = "a lock for each | post"
on = "stock"
switches = { lock = "fine" }

[workloads.list]
text = "the newest posts"
path = "/posts"

[design]
kind = "ladder"
blocks = 8
metrics = ["rate", "p50", "errors"]

[claims.C1]
text = "the lock was the problem"
workload = "list"
metric = "p50"
arm = "fine"
against = "stock"
expect = "faster"

[claims.C2]
text = "it doubles the rate"
workload = "list"
metric = "rate"
arm = "fine"
against = "stock"
expect = "faster"
at_least = "2x"

[claims.C3]
text = "the runtime did the rest"
untestable = "there is no other runtime here"

[[published]]
arm = "stock"
workload = "list"
figures = { p50 = "87.5ms" }

[[published]]
arm = "fine"
workload = "list"
figures = { p50 = "80.2ms" }
"#;

/// Eight blocks whose noise repeats, and one round that is lost.
fn conclusion() -> Conclusion {
    let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let noise = [0.0, 0.01, -0.02, 0.015, 0.005, -0.01, 0.02, -0.005][trial.block];
        let millis = if trial.arm == "fine" { 8.0 * (1.0 + noise) } else { 10.0 };
        let lost = trial.block == 5 && trial.arm == "stock";
        let figures = [(Metric::Rate, 20_000.0 / millis), (Metric::P50, millis * 1e6), (Metric::Errors, 0.0)];
        let measured = Measured {
            figures: BTreeMap::from(figures.map(|(metric, value)| (metric, Figure::from(value)))),
            requests: 10_000,
            state: if lost { State::Invalid } else { State::Valid },
            reasons: if lost { vec!["the generator\nwas late".to_owned()] } else { Vec::new() },
            steady: Some(true),
            record: None,
        };
        study.tell(&trial, Told::Measured(measured)).unwrap();
    }
    study.conclude()
}

#[test]
fn a_terminal_shows_claims_first_then_what_they_rest_on() {
    let document = Document::of(&conclusion());
    insta::assert_snapshot!(text(&document, 100, Palette::None));
}

#[test]
fn markdown_has_the_same_and_every_trial() {
    let document = Document::of(&conclusion());
    let text = markdown(&document);
    insta::assert_snapshot!(text);
    assert!(!text.contains("each | post"), "a cell does not end early");
}

#[test]
fn no_line_is_wider_than_asked_for() {
    let document = Document::of(&conclusion());
    for columns in [60, 80, 120] {
        let wide = text(&document, columns, Palette::None);
        let widest = wide.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns, "{widest} of {columns}:\n{wide}");
    }
}

#[test]
fn a_study_that_measured_nothing_says_so() {
    let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let study = Study::new(definition, Options::default(), None).unwrap();
    let shown = text(&Document::of(&study.conclude()), 100, Palette::None);
    assert!(shown.contains("2 undecided, 1 cannot be tested here"), "{shown}");
    assert!(shown.contains("the study is not over: 16 trials left"), "{shown}");
}
