//! What each module does, as checks in scripts that all pass under k6 1.8.1 as well.

use knee_js::program::Limits;

use super::harness::{expectations, run_script, scripts};

#[test]
fn every_check_of_a_module_passes_as_under_k6() {
    for script in scripts("module") {
        let expected = expectations(&script);
        let outcome = run_script(&script, Limits::default());
        let name = script.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(outcome.refused, None, "{name}");
        let passed: u64 = expected["passed"].parse().unwrap();
        assert_eq!(
            outcome.checks,
            (passed, 0),
            "{name} failed {:?} and said {:#?}",
            outcome.failed,
            outcome.lines
        );
    }
}
