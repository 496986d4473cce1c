//! Any text as JSON: the scanner that words k6's errors against serde_json.
//!
//! Looks for texts that one of the two takes and the other refuses.

#![no_main]

use knee_k6::json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let ours = json::fault(input).is_none();
    assert_eq!(ours, json::is_valid(input));
    // serde_json refuses deep nesting and lone surrogates, Go does not.
    let theirs = serde_json::from_str::<serde::de::IgnoredAny>(input).is_ok();
    let differs_by_intent = input.contains("\\u") || depth(input) > 100;
    assert!(ours == theirs || differs_by_intent, "{input:?}");
});

fn depth(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count()
}
