//! Any JSON as the `options` of a script.
//!
//! Looks for panics in reading, merging and translating them into a plan, and in working out its virtual users.

#![no_main]

use knee_core::plan::Scenario;
use knee_k6::options::resolve::{Layers, resolve};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(script) = serde_json::from_slice(input) else { return };
    let Ok(options) = resolve(Layers { script, ..Layers::default() }, |_| true) else { return };
    for spec in &options.scenarios {
        let scenario = Scenario::from(spec);
        let _ = (scenario.ends(), scenario.users_max());
    }
});
