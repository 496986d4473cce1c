//! Scripts that do what they do under k6.

use knee_script::program::Limits;

use super::harness::{expectations, run_script, scripts};

#[test]
fn every_script_asks_and_checks_what_it_did_under_k6() {
    for script in scripts("compat") {
        let expected = expectations(&script);
        let outcome = run_script(&script, Limits::default());
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(outcome.refused, None, "{name}");
        let found = [
            ("requests", outcome.requests.join(", ")),
            ("passed", outcome.checks.0.to_string()),
            ("failed", outcome.checks.1.to_string()),
            ("iterations", outcome.iterations.to_string()),
        ];
        for (what, found) in found {
            let expected = expected.get(what).unwrap_or_else(|| panic!("{name} does not say its {what}"));
            // Requests sent side by side arrive in any order.
            let order = |text: &str| {
                let mut parts: Vec<&str> = text.split(", ").collect();
                parts.sort_unstable();
                parts.join(", ")
            };
            let same = if name == "batch" { order(&found) == order(expected) } else { &found == expected };
            assert!(same, "{what} of {name}: {found}, not {expected}; it said {:#?}", outcome.lines);
        }
    }
}
