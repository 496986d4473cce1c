//! Any path into any JSON, as `res.json(path)` takes it.
//!
//! The first line of the input is the path, the rest the document. Looks for panics, and for answers that are no JSON.

#![no_main]

use knee_k6::{gjson, json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (path, document) = input.split_once('\n').unwrap_or((input, "{}"));
    if !json::is_valid(document) {
        return;
    }
    if let Some(found) = gjson::get(document, path) {
        // Literals in a path (`!"text"`) are passed on as they are written.
        assert!(json::is_valid(&found) || path.contains('!') || path.contains('@') || path.is_empty());
    }
});
