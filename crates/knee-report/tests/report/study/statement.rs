//! Claims about statements of a database, wherever they are shown.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;
use knee_core::validity::Validity;
use knee_report::study::{Document, markdown, plot};
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::study::{Conclusion, Figure, Measured, OfStatement, Options, Placement, Study, TrialResult};

const STUDY: &str = r#"title = "Is it the index?"

[postgres.db]

[service.main]
command = ["server", "{port}", "{postgres.db.url}"]

[switches.index]
default = "off"
env = "INDEX"

[statements.list]
like = "select % from tasks % order by %"

[statements.count]
like = "select count(*) from tasks %"

[variants.stock]

[variants.indexed]
extends = "stock"
switches = { index = "on" }

[workloads.list]
path = "/tasks"

[design]
kind = "ladder"
blocks = 8
metrics = ["goodput"]

[claims.list]
text = "the list takes a tenth"
workload = "list"
statement = "list"
metric = "statement_time"
variant = "indexed"
against = "stock"
change = "0.1x"

[claims.calls]
text = "there is one list per request"
workload = "list"
statement = "list"
metric = "statement_calls_per_request"
variant = "indexed"
below = 1.1

[claims.count]
text = "counting is fast"
goal = true
workload = "list"
statement = "count"
metric = "statement_time"
variant = "indexed"
below = "1ms"
"#;

/// A list that gets faster, and a count that is never executed.
fn conclusion() -> Conclusion {
    let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let noise = 1.0 + 0.01 * trial.block as f64;
        let micros = if trial.variant == "indexed" { 500.0 } else { 5_000.0 };
        let of = |calls: u64| OfStatement {
            calls,
            time: Nanos((calls as f64 * micros * noise * 1e3) as u64),
            requests: 1_000.0,
        };
        let measured = Measured {
            figures: BTreeMap::from([(Metric::Goodput, Figure::from(100.0 * noise))]),
            requests: 1_000,
            times: None,
            responses: None,
            endpoints: BTreeMap::new(),
            statements: [("list", of(1_000)), ("count", of(0))]
                .map(|(name, of)| (name.to_owned(), of))
                .into(),
            resources: BTreeMap::new(),
            validity: Validity::Valid,
            warnings: Vec::new(),
            steady: None,
            kept_up: None,
            host_busy: None,
            record: None,
            placement: Placement::default(),
        };
        study.record_result(&trial, TrialResult::Measured(measured)).unwrap();
    }
    study.conclude()
}

#[test]
fn whatever_shows_a_claim_names_its_statement() {
    let conclusion = conclusion();
    let written = markdown(&Document::of(&conclusion, &super::made(), &[]));
    for row in [
        "| the list takes a tenth | statement_time of statement list: -90.0 % | statement_time of statement list, indexed vs stock: -90.0 % \\[",
        "| there is one list per request | statement_calls_per_request of statement list: below 1.1",
        "open: indexed, list, statement count: not executed in 8 valid trials",
    ] {
        assert!(written.contains(row), "{row}\n{written}");
    }
    let effects: String = plot::all(&conclusion).iter().map(|plot| plot.svg.as_str()).collect();
    assert!(effects.contains("statement list: stock → indexed"));
}
