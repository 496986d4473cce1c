//! The stall oracle: a server that stands still in the middle of an open run.
//!
//! Of a run of D seconds at an even rate, a server that otherwise answers at once stands still for
//! T. A request due x before it goes on takes x, so response times above x make up a share
//! (T - x) / D, and the p-quantile is T - (1 - p) D for 1 - p < T / D. Closed users, who wait
//! for their answers, send next to nothing meanwhile; what they see is shown beside it.

use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::Laboratory;
use super::law::Law;
use super::row::{Limit, Row, millis};
use super::server::OracleServer;
use crate::program::{Measured, words};

const NAME: &str = "stall";

/// Share of the truth that p95 and p99 can be off.
const LIMIT: f64 = 0.02;

/// Runs it.
pub fn run(laboratory: &Laboratory) -> Result<Vec<Row>> {
    let (seconds, stall) = laboratory.pick((60, 6.0), (10, 2.0));
    let rate = laboratory.pick(500, 1_000);
    let load = format!("-c 64 -q {rate} -z {seconds}s");
    let (measured, frozen) = stalled(laboratory, &load, f64::from(seconds), stall)?;
    let mut rows = Vec::new();
    for (name, p) in [("p95", 0.95), ("p99", 0.99)] {
        let truth = quantile(frozen * 1e3, f64::from(seconds) * 1e3, p);
        let figure = format!("response time {name}, {rate}/s for {seconds} s, {frozen:.2} s still");
        let value = measured.figure(&format!("/response_time_ms/{name}"))?;
        rows.push(Row::times(NAME, figure, truth, value, Limit::Share(LIMIT)).under(measured.says()));
    }
    let p50 = measured.figure("/response_time_ms/p50")?;
    rows.push(Row::fact(NAME, "response time p50", "next to nothing (2 ms)", millis(p50), p50 < 2.0));
    if !laboratory.short {
        let (closed, _) = stalled(laboratory, &format!("-c 10 -z {seconds}s"), f64::from(seconds), stall)?;
        let says = format!(
            "p95 {}, p99 {}, max {}",
            millis(closed.figure("/response_time_ms/p95")?),
            millis(closed.figure("/response_time_ms/p99")?),
            millis(closed.figure("/response_time_ms/max")?)
        );
        rows.push(Row::note(NAME, "the same seen by 10 closed users", says));
    }
    Ok(rows)
}

/// A run of `load` in the middle of which the server stands still for about `stall` seconds;
/// returns for how long it really did.
fn stalled(laboratory: &Laboratory, load: &str, seconds: f64, stall: f64) -> Result<(Measured, f64)> {
    let server = OracleServer::start(Law::Fixed { span: 0 })?;
    let running = laboratory.knee.start(&words(&format!("{} {load}", server.url)))?;
    thread::sleep(Duration::from_secs_f64((seconds - stall) / 2.0));
    let frozen = server.freeze(Duration::from_secs_f64(stall))?;
    Ok((laboratory.knee.result(running)?, frozen.as_secs_f64()))
}

/// The p-quantile of response time after a stall of `stall` in a run of `length`.
fn quantile(stall: f64, length: f64, p: f64) -> f64 {
    (stall - (1.0 - p) * length).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_stall_are_those_of_its_arrivals() {
        // 60 arrivals, one a second; those at 27..33 s wait until 33 s.
        let mut waits: Vec<f64> = (0..6_000)
            .map(|k| f64::from(k) / 100.0)
            .map(|due| if (27.0..33.0).contains(&due) { 33.0 - due } else { 0.0 })
            .collect();
        waits.sort_by(f64::total_cmp);
        for p in [0.5, 0.89, 0.95, 0.99] {
            let seen = waits[(p * 6_000.0) as usize];
            assert!((seen - quantile(6.0, 60.0, p)).abs() < 0.02, "{p}: {seen}");
        }
    }
}
