//! Any text as a `study.toml`.
//!
//! Looks for panics, and for mistakes whose message is empty.

#![no_main]

use knee_study::definition::Definition;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    if let Err(problems) = Definition::read(input, "study.toml", &|_| true) {
        assert!(!problems.to_string().is_empty());
    }
});
