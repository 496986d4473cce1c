//! Any page and any selector, as `parseHTML` and `res.html` take them.
//!
//! The first line of the input is the selector, the rest the page. Looks for panics and for selections that lie outside
//! of their page.

#![no_main]

use knee_k6::html::{Bounds, Selection, Target};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let (selector, page) = input.split_once('\n').unwrap_or((input, "<p>a</p>"));
    let Ok(page) = Selection::parse(page, "http://localhost/", &Bounds::default()) else { return };
    let target = Target::of_selector(selector);
    let found = page.find(&target);
    assert_eq!(found.filter(&target, true).len(), found.len());
    let _ = (found.text(), found.html(), found.attrs(), found.name(), found.end().len());
    let _ = (found.closest(&target).len(), found.has(&target).len());
});
