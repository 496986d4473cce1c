//! What can be seen in the text of a script, and its results without what differs from run to run.
//!
//! Reads texts; does not evaluate anything.

use super::super::outcome::Outcome;

/// A host that the scripts are given; like all hosts it is the server.
const HOST: &str = "http://service.test";

/// Whether a file is a script to be run, and no module of one.
pub fn is_entry(text: &str) -> bool {
    let imports_k6 = ["'k6", "\"k6"].iter().any(|word| text.contains(word));
    imports_k6 && has_default(text)
}

fn has_default(text: &str) -> bool {
    ["export default", "as default", "module.exports", "exports.default"]
        .iter()
        .any(|word| text.contains(word))
}

/// Why a script cannot be compared, if it cannot.
pub fn unsuitable(text: &str) -> Option<&'static str> {
    if !has_default(text) {
        return Some("it has no default function");
    }
    // It could reach hosts other than the server.
    let sets_hosts = ["hosts:", "\"hosts\"", "'hosts'"].iter().any(|word| text.contains(word));
    sets_hosts.then_some("it says itself where hosts are")
}

/// Variables that a script reads, with values of the kind that their names suggest; none for other names.
pub fn variables(text: &str) -> Vec<(String, &'static str)> {
    let mut names: Vec<&str> = text.split("__ENV").skip(1).filter_map(name_of).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter_map(|name| Some((name.to_owned(), value_of(name)?))).collect()
}

/// The name after `__ENV`: `.NAME` or `['NAME']`.
fn name_of(rest: &str) -> Option<&str> {
    let rest =
        rest.strip_prefix('.').or_else(|| rest.strip_prefix("['")).or_else(|| rest.strip_prefix("[\""))?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| !name.is_empty())
}

fn value_of(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["URL", "URI", "HOST", "ENDPOINT", "ORIGIN"]) {
        Some(HOST)
    } else if has(&["TOKEN", "KEY", "SECRET", "PASSWORD", "JWT"]) {
        Some("value-of-a-variable")
    } else {
        has(&["USER", "LOGIN", "EMAIL"]).then_some("user")
    }
}

/// An outcome without numbers, ids and times within its lines, in an order of its own.
pub fn masked(outcome: Outcome) -> Outcome {
    let mut masked = Outcome::default();
    for (part, lines) in outcome.0 {
        let exact = matches!(part.as_str(), "exit" | "metrics" | "checks" | "thresholds");
        let mut lines: Vec<String> =
            lines.into_iter().map(|line| if exact { line } else { plain(&line) }).collect();
        lines.sort();
        masked.add(&part, lines);
    }
    masked
}

/// A line in which each word with a digit in it is `#`.
fn plain(line: &str) -> String {
    let mut text = String::new();
    let mut word = String::new();
    let close = |word: &mut String, text: &mut String| {
        // Ids are long words of letters and digits; the digits of short ones are numbers.
        let is_id = word.len() >= 10 && word.contains(|c: char| c.is_ascii_digit());
        if is_id {
            text.push('#');
        } else {
            numbers(word, text);
        }
        word.clear();
    };
    for letter in line.chars() {
        if letter.is_alphanumeric() || matches!(letter, '-' | '_') {
            word.push(letter);
        } else {
            close(&mut word, &mut text);
            text.push(letter);
        }
    }
    close(&mut word, &mut text);
    text
}

/// Adds `word` with each of its numbers as `#`.
fn numbers(word: &str, text: &mut String) {
    for letter in word.chars() {
        if !letter.is_ascii_digit() {
            text.push(letter);
        } else if !text.ends_with('#') {
            text.push('#');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ids_are_masked_and_words_are_not() {
        let cases = [
            ("GET /users/17?page=2 [A: b]", "GET /users/#?page=# [A: b]"),
            ("id 3f0c1a52-7d5e-4b1c-9a63-0c2f5be1d001 done", "id # done"),
            ("took 12.5 ms", "took #.# ms"),
            ("user42 logged in", "user# logged in"),
            ("a-long-word-without-any", "a-long-word-without-any"),
        ];
        for (line, expected) in cases {
            assert_eq!(plain(line), expected);
        }
    }

    #[test]
    fn variables_get_values_of_the_kind_that_their_names_suggest() {
        let text =
            "const a = __ENV.BASE_URL || 'x'; const b = __ENV['API_TOKEN'] + __ENV.BASE_URL + __ENV.COUNT;";
        assert_eq!(
            variables(text),
            [("API_TOKEN".to_owned(), "value-of-a-variable"), ("BASE_URL".to_owned(), HOST)]
        );
    }

    #[test]
    fn only_scripts_with_a_default_function_that_leave_hosts_alone_are_compared() {
        assert_eq!(unsuitable("export default function () {}"), None);
        assert!(unsuitable("export function a() {}").is_some());
        assert!(unsuitable("export const options = { hosts: {} }; export default () => {};").is_some());
        assert!(is_entry("import http from 'k6/http'; export default () => {}"));
        assert!(!is_entry("export default { url: 'x' }"));
    }
}
