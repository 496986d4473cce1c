//! The layout that programs written for oha read.

use knee_report::{View, oha_json};
use serde_json::{Value, json};

use super::fixture;

fn document(run: &knee_core::record::Run) -> Value {
    serde_json::from_str(&oha_json::render(&View::of(run))).unwrap()
}

const SHARES: [&str; 9] = ["p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99"];

#[test]
fn a_program_that_reads_oha_finds_every_member_as_a_number() {
    let document = document(&fixture::healthy_open());
    for member in [
        "total",
        "slowest",
        "fastest",
        "average",
        "requestsPerSec",
        "totalData",
        "sizePerRequest",
        "sizePerSec",
    ] {
        assert!(document["summary"][member].is_number(), "{member}");
    }
    assert_eq!(document["summary"]["successRate"], json!(1.0));
    assert_eq!(document["summary"]["sizePerRequest"], json!(612));
    for share in &SHARES[..8] {
        assert!(document["latencyPercentiles"][share].is_number(), "{share}");
        assert!(document["firstBytePercentiles"][share].is_number(), "{share}");
    }
    for member in ["DNSDialup", "DNSLookup", "firstByte"] {
        assert!(document["details"][member].is_object(), "{member}");
    }
    for member in ["mean", "stddev", "max", "min", "percentiles"] {
        assert!(document["rps"].get(member).is_some(), "{member}");
    }
    assert_eq!(document["statusCodeDistribution"], json!({"200": 120_000}));
    assert_eq!(document["errorDistribution"], json!({}));
    assert!((document["latencyPercentiles"]["p99"].as_f64().unwrap() - 0.003_529).abs() < 1e-5);
}

#[test]
fn a_histogram_counts_every_request_once_and_ascends() {
    let text = oha_json::render(&View::of(&fixture::overload()));
    let document: Value = serde_json::from_str(&text).unwrap();
    let rows = document["responseTimeHistogram"].as_object().unwrap();
    assert_eq!(rows.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 20_000);
    let text = &text[text.find("latencyPercentiles").unwrap()..];
    let positions: Vec<_> = SHARES.iter().map(|share| text.find(&format!("\"{share}\":")).unwrap()).collect();
    assert!(positions.is_sorted());
}

#[test]
fn errors_and_what_was_given_up_lower_the_success_rate() {
    assert_eq!(document(&fixture::overload())["summary"]["successRate"], json!(0.65));
    let refused = document(&fixture::all_refused());
    assert_eq!(refused["summary"]["successRate"], json!(0.0));
    assert_eq!(refused["errorDistribution"], json!({"the server refused the connection": 500}));
}

#[test]
fn a_percentile_the_sample_cannot_carry_is_null() {
    let small = document(&fixture::small_closed());
    assert!(small["latencyPercentiles"]["p50"].is_number());
    assert!(small["latencyPercentiles"]["p90"].is_null());
    assert!(document(&fixture::empty())["summary"]["successRate"].is_null());
}
