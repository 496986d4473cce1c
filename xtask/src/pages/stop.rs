//! How long requests still arrive after the button "Stop the load" was pressed.
//!
//! The press is timed in the browser, the last arrival is in the record: arrivals are evenly spaced, so their number
//! says when the last one was. Both are times of this machine's clock. Asserts nothing.

use anyhow::{Context, Result};
use serde_json::Value;

use super::browser::Browser;
use super::make::Workshop;
use crate::bench::figure::median;

/// Loads that are stopped.
const ROUNDS: usize = 5;
/// Requests per second of each.
const RATE: f64 = 1_000.0;

/// Measures it and prints a row.
pub fn measure(workshop: &Workshop, browser: &Browser) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let (mut running, url) = workshop.stoppable(RATE)?;
        let pressed_s: f64 = browser.stop(&url)?.trim().parse().context("the press has no time")?;
        running.child().wait()?;
        // A result that is invalid because the machine is busy has its arrivals too.
        let report = workshop.knee("report last --format json").output()?;
        let json: Value = serde_json::from_slice(&report.stdout).context("`knee report` printed no JSON")?;
        let figure = |pointer: &str| {
            let figure = json.pointer(pointer).and_then(Value::as_f64);
            figure.with_context(|| format!("the result has no {pointer}"))
        };
        let last_s = figure("/started_unix_s")? + (figure("/requests/planned")? - 1.0) / RATE;
        times.push((last_s - pressed_s) * 1_000.0);
    }
    let most = times.iter().copied().fold(f64::MIN, f64::max);
    let middle = median(&times);
    println!(
        "| from pressing Stop to the last arrival, {ROUNDS} loads: median; max | {middle:.0} ms; {most:.0} ms |"
    );
    Ok(())
}
