//! Two oracles of capacity: servers with c workers, which do at most c / S requests per second.
//!
//! The truth is arithmetic. Whether the server kept to it is what it states itself, and a row of its
//! own, because an oracle that is wrong proves nothing.

use anyhow::{Context, Result};

use super::Laboratory;
use super::delay::punctual;
use super::law::Law;
use super::row::Row;
use super::server::OracleServer;
use crate::program::{Measured, words};

/// How far the middle of the capacity can be off, as a share of the truth.
const LIMIT: f64 = 0.07;

/// Workers, the mean time of a request in microseconds, and whether times are exponential.
const SERVERS: [(usize, u64, bool); 4] =
    [(1, 1_000, false), (1, 1_000, true), (4, 2_000, false), (4, 2_000, true)];

fn law(workers: usize, micros: u64, exponential: bool) -> Law {
    Law::Workers { workers, mean: micros * 1_000, seed: exponential.then_some(1) }
}

fn name(workers: usize, micros: u64, exponential: bool) -> String {
    let kind = if exponential { "exponential" } else { "fixed" };
    format!("{workers} x {kind} {} ms", micros as f64 / 1e3)
}

/// Known limits are found.
pub fn limits(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "known limits";
    let (step, servers) = laboratory.pick((2, 4), (1, 2));
    let mut rows = Vec::new();
    for (workers, micros, exponential) in SERVERS.into_iter().take(servers) {
        let server = OracleServer::start(law(workers, micros, exponential))?;
        let measured = laboratory.knee.sweep(&words(&format!("{} --step {step}s", server.url)))?;
        let statement = server.end()?;
        let truth = workers as f64 / (micros as f64 / 1e6);
        let what = name(workers, micros, exponential);
        rows.push(punctual(NAME, &what, &statement));
        rows.push(capacity(NAME, &what, truth, &measured));
        let saturation = measured.figure("/saturation/goodput")?;
        rows.push(share(NAME, format!("saturation, {what}"), truth, saturation).under(measured.says()));
    }
    Ok(rows)
}

/// One service, ten sweeps with ten seeds: every two of the intervals overlap.
pub fn repeat(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "capacity, repeated";
    let (step, times) = laboratory.pick((1, 10), (1, 2));
    let (workers, micros, exponential) = SERVERS[3];
    let mut found: Vec<(f64, f64)> = Vec::new();
    let mut unnamed = Vec::new();
    for seed in 1..=times {
        let server = OracleServer::start(law(workers, micros, exponential))?;
        let measured =
            laboratory.knee.sweep(&words(&format!("{} --step {step}s --seed {seed}", server.url)))?;
        server.end()?;
        match ends(&measured) {
            Ok(interval) => found.push(interval),
            Err(_) => unnamed.push(format!("seed {seed} named none ({})", measured.says())),
        }
    }
    let overlaps = |one: &(f64, f64)| found.iter().all(|other| one.0 <= other.1 && other.0 <= one.1);
    let agree = found.iter().filter(|one| overlaps(one)).count();
    let low = found.iter().map(|(low, _)| *low).fold(f64::INFINITY, f64::min);
    let high = found.iter().map(|(_, high)| *high).fold(0.0, f64::max);
    let figure = format!("capacity, {}, {times} sweeps", name(workers, micros, exponential));
    let seen = format!("{agree} of {times} overlap with all others; all lie in {low:.0} to {high:.0}/s");
    Ok(vec![Row::fact(NAME, figure, "all overlap", seen, agree == times).under(unnamed.join("; "))])
}

fn ends(measured: &Measured) -> Result<(f64, f64)> {
    Ok((measured.figure("/capacity/low")?, measured.figure("/capacity/high")?))
}

fn capacity(oracle: &'static str, what: &str, truth: f64, measured: &Measured) -> Row {
    let figure = format!("capacity, {what}");
    match ends(measured).context("no capacity was named") {
        Ok((low, high)) => {
            let row = share(oracle, figure, truth, low.midpoint(high));
            Row { measured: format!("{low:.0} to {high:.0}/s"), ..row }.under(measured.says())
        }
        Err(error) => Row::fact(oracle, figure, format!("{truth:.0}/s"), error.to_string(), false)
            .under(measured.says()),
    }
}

/// A rate against the truth.
fn share(oracle: &'static str, figure: String, truth: f64, measured: f64) -> Row {
    let off = measured / truth - 1.0;
    let row =
        Row::fact(oracle, figure, format!("{truth:.0}/s"), format!("{measured:.0}/s"), off.abs() <= LIMIT);
    Row {
        error: format!("{:+.1} %, at most {:.0} %", off * 100.0, LIMIT * 100.0),
        error_share: Some(off),
        ..row
    }
}
