//! Claims about one endpoint of a script: what decides them, and what leaves them open.

use std::collections::BTreeMap;

use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::statistics::share::Counted;
use knee_study::study::{
    Absence, Basis, ClaimVerdict, Conclusion, Entry, Figure, Measured, OfEndpoint, Options, Reason, Refusal,
    Relation, ResponseTimes, Study, Trial, TrialResult,
};

use crate::bench::{definition, result, run, study};

/// Lists and orders in one script; the lock makes orders faster and lists slower.
const SHOP: &str = r#"
[workloads.shop]
script = "shop.js"

[design]
kind = "ladder"
order = ["stock", "fine"]
metrics = ["p50", "goodput", "errors"]
"#;

/// A claim about `endpoint`, with more lines.
fn claim(id: &str, endpoint: &str, lines: &str) -> String {
    let of = "workload = \"shop\"\nvariant = \"fine\"";
    format!("\n[claims.{id}]\ntext = \"{id}\"\n{of}\nendpoint = \"{endpoint}\"\n{lines}\n")
}

/// 1,000 times around `millis`, and requests that failed.
fn of_endpoint(seed: u64, millis: f64, failed: u64, bytes: u64) -> OfEndpoint {
    let mut random = Random::new(seed);
    let times: Vec<f64> = (0..1_000).map(|_| millis * 1e6 * (0.05 * random.normal()).exp()).collect();
    OfEndpoint {
        times: ResponseTimes::of_values(&times, failed),
        responses: Counted { failed, of: 1_000 + failed },
        body_bytes: 1_000 * bytes,
    }
}

fn measured(trial: &Trial) -> Measured {
    let TrialResult::Measured(measured) =
        result(&[(Metric::P50, 20e6), (Metric::Goodput, 2_000.0), (Metric::Throughput, 2_000.0)])
    else {
        panic!()
    };
    if trial.workload != "shop" {
        return measured;
    }
    let fine = trial.variant == "fine";
    let (list, order) = if fine { (24.0, 10.0) } else { (20.0, 20.0) };
    let failed = if fine { 0 } else { 90 + 2 * trial.block as u64 };
    let seed = 2 * trial.number as u64;
    let endpoints = BTreeMap::from([
        ("GET /items".to_owned(), of_endpoint(seed, list, 0, 2_000)),
        ("POST /orders".to_owned(), of_endpoint(seed + 1, order, failed, 90)),
    ]);
    Measured { requests: 2_000, endpoints, ..measured }
}

/// The study with claims, after all its trials.
fn shop(claims: &str, result: impl Fn(&Trial) -> Measured) -> Conclusion {
    run(study(&format!("{SHOP}{claims}")), |trial, _, _| TrialResult::Measured(result(trial)))
}

#[test]
fn a_claim_about_an_endpoint_is_decided_by_its_requests_alone() {
    let faster = "metric = \"p50\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let claims = [
        claim("orders", "POST /orders", faster),
        claim("lists", "GET /items", faster),
        claim("p95", "POST /orders", "metric = \"p95\"\nbelow = \"12ms\"\ngoal = true"),
        claim("errors", "POST /orders", "metric = \"errors\"\nbelow = \"1%\""),
        claim("fewer", "POST /orders", "metric = \"errors\"\nagainst = \"stock\"\nexpect = \"less\""),
        claim("size", "GET /items", "metric = \"response_size\"\nbelow = 1990\ngoal = true"),
        claim("share", "GET /items", "metric = \"goodput\"\nabove = 990\nbelow = 1010\ngoal = true"),
        claim("longest", "GET /items", "metric = \"max\"\nbelow = \"60ms\"\ngoal = true"),
        claim(
            "apart",
            "POST /orders",
            "metric = \"p50\"\nagainst_endpoint = \"GET /items\"\nchange = \"0.42x\"",
        ),
    ];
    let conclusion = shop(&claims.concat(), measured);
    let found: Vec<_> = conclusion.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect();
    let expected = [
        ("orders", ClaimVerdict::Confirmed),
        ("lists", ClaimVerdict::Refuted),
        ("p95", ClaimVerdict::Confirmed),
        ("errors", ClaimVerdict::Confirmed),
        ("fewer", ClaimVerdict::Confirmed),
        ("size", ClaimVerdict::Refuted),
        ("share", ClaimVerdict::Confirmed),
        ("longest", ClaimVerdict::Confirmed),
        ("apart", ClaimVerdict::Confirmed),
    ];
    assert_eq!(found, expected, "{:#?}", conclusion.claims);
    let effect = conclusion.effects.iter().find(|effect| effect.relation == Relation::Claim).unwrap();
    assert_eq!(effect.to.endpoint.as_deref(), Some("POST /orders"));
    let not_merged = effect.reasons.contains(&Reason::NotMerged);
    assert!(!not_merged && !effect.primary, "{effect:?}");
    assert!(conclusion.timeline.iter().all(|row| row.cell.endpoint.is_none()));
}

#[test]
fn a_lower_bound_of_an_endpoint_decides_only_what_it_can() {
    // The orders of `stock` fail now and then, and some failures have no body.
    let size = "metric = \"response_size\"\nagainst = \"stock\"\nexpect = \"same\"";
    let conclusion = shop(&claim("size", "POST /orders", size), measured);
    assert_eq!(conclusion.claims[0].verdict, ClaimVerdict::Undecided, "{:#?}", conclusion.claims[0]);
}

#[test]
fn trials_that_stored_nothing_by_endpoint_leave_a_claim_open() {
    let faster = "metric = \"p50\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let old = |trial: &Trial| Measured { endpoints: BTreeMap::new(), ..measured(trial) };
    let claims = claim("orders", "POST /orders", faster);
    let conclusion = shop(&claims, old);
    let claim = &conclusion.claims[0];
    assert_eq!((claim.verdict, claim.valid, claim.trials), (ClaimVerdict::Open, 20, 20));
    let Basis::NoValidTrial { cell, absence } = &claim.basis else { panic!("{claim:?}") };
    assert_eq!(cell.endpoint.as_deref(), Some("POST /orders"));
    assert_eq!(*absence, Absence::NoEndpoints { trials: 10 });
    // Together with trials of today, those decide.
    let mixed = shop(&claims, |trial| if trial.block < 2 { old(trial) } else { measured(trial) });
    assert_eq!(mixed.claims[0].verdict, ClaimVerdict::Confirmed);
    assert!(matches!(mixed.claims[0].basis, Basis::Change { n_blocks: 8, .. }), "{:?}", mixed.claims[0]);
}

#[test]
fn a_claim_about_an_endpoint_that_no_trial_has_is_refused_with_those_that_there_are() {
    let claims = claim("orders", "POST /order", "metric = \"p50\"\nbelow = \"20ms\"\ngoal = true");
    let rest = format!("{SHOP}{claims}");
    let conclusion = shop(&claims, measured);
    let known = vec!["GET /items".to_owned(), "POST /orders".to_owned()];
    let Basis::NoValidTrial { absence, .. } = &conclusion.claims[0].basis else { panic!() };
    assert_eq!(*absence, Absence::UnknownEndpoint { known }, "a study under way keeps its trials");
    let resumed = |entries: Vec<Entry>| Study::resume(definition(&rest), Options::default(), None, entries);
    let refused = resumed(conclusion.trials.clone()).unwrap_err();
    assert!(matches!(refused, Refusal::UnknownEndpoint { .. }));
    assert_eq!(
        refused.to_string(),
        "claim `orders` is about the endpoint `POST /order`, which no trial has; endpoints: GET /items, POST /orders"
    );
    let old = |entry: &Entry| match entry.result.clone() {
        TrialResult::Measured(measured) => {
            let measured = Measured { endpoints: BTreeMap::new(), ..measured };
            Entry { result: TrialResult::Measured(measured), ..entry.clone() }
        }
        _ => entry.clone(),
    };
    assert!(resumed(conclusion.trials.iter().map(old).collect()).is_ok(), "nobody knows");
    assert!(resumed(Vec::new()).is_ok());
}

#[test]
fn a_claim_about_all_requests_is_not_decided_by_those_of_an_endpoint() {
    let p50 = "metric = \"p50\"\nagainst = \"stock\"\nexpect = \"faster\"";
    let both = claim("orders", "POST /orders", p50) + &claim("all", "", p50).replace("endpoint = \"\"\n", "");
    let conclusion = shop(&both, measured);
    let verdicts: Vec<_> = conclusion.claims.iter().map(|claim| claim.verdict).collect();
    assert_eq!(verdicts, [ClaimVerdict::Confirmed, ClaimVerdict::Refuted], "{:#?}", conclusion.claims);
    let whole = Figure::from(20e6);
    let row = conclusion.timeline.iter().find(|row| row.metric == Metric::P50 && row.cell.workload == "shop");
    assert!((row.unwrap().spread.median - whole.value).abs() < 1.0);
}
