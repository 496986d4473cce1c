//! Check 1, and what of the others simulation shows: tests of this repository, with their counts.
//!
//! Runs `cargo test`; states no result of its own.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Setting, report};
use crate::program::cargo;

/// Runs tests of a package, and how many passed. Fails if one fails, or if none is found.
pub(super) fn tests(root: &Path, line: &str, variables: &[(&str, String)]) -> Result<u64> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut command = cargo(root, &["test", "--locked", "--offline"]);
    let output = command.args(&words).envs(variables.iter().cloned()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    let last = error.lines().rfind(|line| line.starts_with("error")).unwrap_or_default();
    ensure!(output.status.success(), "`cargo test {line}` failed: {last}");
    let passed = text.lines().filter_map(passed_in).sum();
    ensure!(passed > 0, "`cargo test {line}` finds no test");
    Ok(passed)
}

/// How many passed by a line such as `test result: ok. 3 passed; 0 failed; …`.
fn passed_in(line: &str) -> Option<u64> {
    line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse().ok()
}

/// The row of check 1.
pub(super) fn union(setting: &Setting) -> Vec<bool> {
    let fleets = setting.options.simulated;
    let proved = || {
        let runs = [("KNEE_SIM_RUNS", fleets.to_string())];
        tests(setting.root, "-p knee-engine --test sim random_fleets", &runs)?;
        let shares = tests(setting.root, "-p knee-core --lib share::", &[])?;
        let measured =
            format!("{fleets} random fleets; {shares} tests of shares, one of them with k6's indexes");
        Ok((measured, true))
    };
    vec![report(
        "1",
        "random plans on random machines (`cargo test`)",
        "the union over agents is the single plan, for every executor; indexes as in k6",
        proved(),
    )]
}

#[cfg(test)]
mod tests {
    use super::passed_in;

    #[test]
    fn the_count_is_read_from_the_last_line_of_a_test_program() {
        assert_eq!(passed_in("test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured"), Some(12));
        assert_eq!(passed_in("test result: FAILED. 11 passed; 1 failed"), None);
        assert_eq!(passed_in("running 12 tests"), None);
    }
}
