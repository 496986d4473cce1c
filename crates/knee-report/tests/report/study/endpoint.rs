//! Claims about endpoints, wherever they are shown.

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_report::study::plot;
use knee_report::study::{Document, markdown, text};
use knee_report::text::Palette;
use knee_study::definition::Definition;
use knee_study::metric::Metric;
use knee_study::statistics::share::Counted;
use knee_study::study::{
    Conclusion, Figure, Measured, OfEndpoint, Options, Placement, ResponseTimes, Study, TrialResult,
};

const STUDY: &str = r#"title = "Who got faster?"

[service.main]
command = ["server", "{port}"]

[switches.lock]
default = "coarse"
env = "LOCK"

[variants.stock]

[variants.fine]
extends = "stock"
switches = { lock = "fine" }

[workloads.shop]
script = "shop.js"

[design]
kind = "ladder"
blocks = 8
metrics = ["goodput"]

[claims.orders]
text = "orders are twice as fast"
workload = "shop"
endpoint = "POST /orders"
metric = "p50"
variant = "fine"
against = "stock"
change = "0.5x"

[claims.apart]
text = "orders take as long as lists"
workload = "shop"
endpoint = "POST /orders"
against_endpoint = "GET /items"
metric = "p50"
variant = "fine"
expect = "same"

[claims.size]
text = "a list has less than 2 KB"
goal = true
workload = "shop"
endpoint = "GET /items"
metric = "response_size"
variant = "fine"
below = 2000

[claims.longest]
text = "no list takes a second"
goal = true
workload = "shop"
endpoint = "GET /items"
metric = "max"
variant = "fine"
below = "1s"

[claims.tail]
text = "the slowest orders are fast"
goal = true
workload = "shop"
endpoint = "POST /orders"
metric = "p99.9"
variant = "fine"
below = "1s"

[claims.nowhere]
text = "items are removed quickly"
goal = true
workload = "shop"
endpoint = "DELETE /items"
metric = "p50"
variant = "fine"
below = "1s"
"#;

/// Orders that get faster and lists that stay as they are.
pub(super) fn conclusion() -> Conclusion {
    let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
    let mut study = Study::new(definition, Options::default(), None).unwrap();
    while let Some(trial) = study.next() {
        let noise = 1.0 + 0.01 * trial.block as f64;
        let order = if trial.variant == "fine" { 10.0 } else { 20.0 };
        let of = |millis: f64, bytes: u64| OfEndpoint {
            times: ResponseTimes::of_values(&[millis * noise * 1e6; 500], 0),
            responses: Counted { failed: 0, of: 500 },
            body_bytes: 500 * bytes,
        };
        let endpoints = [("GET /items", of(10.0, 1_500)), ("POST /orders", of(order, 90))];
        let measured = Measured {
            figures: BTreeMap::from([(Metric::Goodput, Figure::from(100.0 * noise))]),
            requests: 1_000,
            times: None,
            responses: None,
            endpoints: endpoints.map(|(name, of)| (name.to_owned(), of)).into(),
            statements: BTreeMap::new(),
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
fn whatever_shows_a_claim_names_its_endpoint() {
    let conclusion = conclusion();
    let document = Document::of(&conclusion, &super::made(), &[]);
    let written = markdown(&document);
    for row in [
        "| orders are twice as fast | p50 of POST /orders: -50.0 % | p50 of POST /orders, fine vs stock: -50.0 % \\[",
        "| orders take as long as lists | p50 of POST /orders vs GET /items: same |",
        "| a list has less than 2 KB | response_size of GET /items: below ",
        "none of 4,000 requests of GET /items above 1.00 s \\[at most",
        "undecided: POST /orders: p99.9 needs",
        "open: fine, shop, DELETE /items: no valid trial has this endpoint; endpoints: GET /items, POST /orders",
    ] {
        assert!(written.contains(row), "{row}\n{written}");
    }
    let terminal = text(&document, 400, Palette::None);
    for row in ["p50 of POST /orders, fine vs stock: -50.0 %", "fine, GET /items", "fine, POST /orders"] {
        assert!(terminal.contains(row), "{row}\n{terminal}");
    }
}

#[test]
fn pictures_of_effects_name_the_endpoints_that_claims_compare() {
    let drawn = plot::all(&conclusion());
    let effects: String = drawn.iter().map(|plot| plot.svg.as_str()).collect();
    for name in ["POST /orders: stock → fine", "POST /orders vs GET /items"] {
        assert!(effects.contains(name), "{name}");
    }
}
