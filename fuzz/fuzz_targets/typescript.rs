//! Any text as a TypeScript module.
//!
//! Looks for panics and for sources that exhaust the stack.

#![no_main]

use knee_js::loader::typescript::transform;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let _ = transform(input);
});
