//! Words that no identifier contains, because they hide a distinction that matters here.
//!
//! Looks at identifiers in `crates/` only: prose can explain why a word is not used, and strings can
//! quote other tools.

use super::Violation;
use super::tokens;
use super::tree::Tree;

/// The word always hides whether service time or response time is meant (docs/concept/time.md).
const FORBIDDEN: &str = "latency";

/// Names that other tools chose and that `knee` accepts or prints unchanged, with where they can occur.
const ALLOWED: &[(&str, &str)] = &[
    // oha's flag `--latency-correction`.
    ("crates/knee/src/", "latency_correction"),
    // Keys of oha's JSON: `latencyPercentiles`, `metrics.latency_ms`.
    ("crates/knee-report/src/oha_json", "latency_percentiles"),
    ("crates/knee-report/src/oha_json", "latency_ms"),
];

pub fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust()
        .filter(|(path, _)| path.starts_with("crates/"))
        .flat_map(|(path, text)| {
            let forbidden =
                tokens::of(text).into_iter().filter(|token| token.is_name && is_forbidden(path, &token.text));
            forbidden.map(move |token| {
                let text = format!("`{}`: say service time or response time", token.text);
                Violation::new(path, token.line, text)
            })
        })
        .collect()
}

fn is_forbidden(path: &str, name: &str) -> bool {
    let allowed = ALLOWED.iter().any(|(place, allowed)| path.starts_with(place) && name == *allowed);
    name.to_ascii_lowercase().contains(FORBIDDEN) && !allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found_in(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).into_iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn an_identifier_with_the_word_is_found_in_any_case() {
        let text = "struct Latency;\nfn f() {\n    let p99_latency_ms = LATENCY;\n}\n";
        assert_eq!(found_in("crates/a/src/lib.rs", text), [1, 3, 3]);
    }

    #[test]
    fn prose_and_strings_are_not_meant_and_other_directories_are_not_read() {
        let text = "/// Not latency.\nfn f() -> &'static str { \"latency\" }\n";
        assert_eq!(found_in("crates/a/src/lib.rs", text), [] as [usize; 0]);
        assert_eq!(found_in("xtask/src/lib.rs", "fn latency() {}"), [] as [usize; 0]);
    }

    #[test]
    fn a_name_of_another_tool_is_allowed_only_where_that_tool_is_met() {
        let text = "struct Oha {\n    latency_ms: u64,\n}\n";
        assert_eq!(found_in("crates/knee-report/src/oha_json.rs", text), [] as [usize; 0]);
        assert_eq!(found_in("crates/knee-report/src/json.rs", text), [2]);
    }
}
