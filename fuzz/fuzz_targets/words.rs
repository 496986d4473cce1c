//! Any text as a duration, a stage, a threshold or the name of a metric with tags.
//!
//! Looks for panics, and for durations that are not read back as they are written.

#![no_main]

use knee_k6::duration::SignedDuration;
use knee_k6::metric::Key;
use knee_k6::options::stage::Stage;
use knee_k6::threshold::Expression;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    if let Ok(duration) = SignedDuration::parse(input) {
        assert_eq!(SignedDuration::parse(&duration.to_string()), Ok(duration), "{input:?}");
    }
    let _ = (SignedDuration::parse_flag(input), Stage::parse(input), Key::parse(input));
    let _ = input.parse::<Expression>();
});
