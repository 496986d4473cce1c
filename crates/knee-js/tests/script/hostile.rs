//! Scripts that mean harm, or are merely wrong: each ends without harm to other VUs.

use knee_js::program::Limits;

use super::harness::{expectations, run_script, scripts};

#[test]
fn every_hostile_script_ends_and_says_why() {
    for script in scripts("hostile") {
        let expected = expectations(&script);
        let limits = Limits { memory: 32 << 20, ..Limits::default() };
        let outcome = run_script(&script, limits);
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        let said = outcome.refused.iter().chain(&outcome.lines).cloned().collect::<Vec<_>>().join("\n");
        if let Some(words) = expected.get("says") {
            assert!(said.contains(words.as_str()), "{name} should say {words:?} and says {said:?}");
        }
        if let Some(iterations) = expected.get("iterations") {
            assert_eq!(&outcome.iterations.to_string(), iterations, "{name}: {said}");
        }
        if let Some(least) = expected.get("requests at least") {
            let least: usize = least.parse().unwrap();
            assert!(outcome.requests.len() >= least, "{name}: {} requests", outcome.requests.len());
        }
    }
}
