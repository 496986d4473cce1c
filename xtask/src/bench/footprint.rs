//! Memory, lag and the start: what `knee` takes besides CPU.

use std::io::Read;
use std::net::TcpListener;
use std::time::Instant;

use anyhow::{Context, Result};

use super::figure::{Figure, median};
use super::nginx::Nginx;
use crate::process::{self, GENERATOR_CPU};
use crate::program::{Knee, words};
use crate::truth::row::millis;

const MIB: f64 = 1_048_576.0;

/// Resident memory with 10,000 connections.
pub fn connections(knee: &Knee, nginx: &Nginx) -> Result<Figure> {
    let measured = knee.measure(&words(&format!("{} -c 10000 -z 10s", nginx.url(false))))?;
    let ok = measured.count("/requests/ok")?;
    let opened = measured.count("/diagnostics/connections_opened")?;
    let resident = measured.resident_peak as f64 / MIB;
    Ok(Figure {
        name: "resident memory at 10,000 connections".to_owned(),
        goal: "64 MiB".to_owned(),
        measured: format!("{resident:.1} MiB ({opened} connections opened, {ok} requests ok)"),
        met: resident <= 64.0 && opened >= 10_000,
        values: vec![resident],
    })
}

/// Resident memory after many requests against a million.
pub fn requests(knee: &Knee, nginx: &Nginx, long: bool) -> Result<Figure> {
    let (many, name) = if long { (100_000_000, "10^8") } else { (10_000_000, "10^7") };
    let resident = |requests: u64| -> Result<f64> {
        let run = words(&format!("{} -c 64 -n {requests}", nginx.url(false)));
        Ok(knee.measure(&run)?.resident_peak as f64 / MIB)
    };
    let (few, many) = (resident(1_000_000)?, resident(many)?);
    Ok(Figure {
        name: format!("memory after {name} requests against 10^6"),
        goal: "the same, within 2 MiB".to_owned(),
        measured: format!("{many:.1} MiB against {few:.1} MiB"),
        met: (many - few).abs() <= 2.0,
        values: vec![few, many],
    })
}

/// The generator lag in an open run.
pub fn lag(knee: &Knee, nginx: &Nginx, rate: u32, goal_ms: f64) -> Result<Figure> {
    let measured = knee.measure(&words(&format!("{} -c 64 -q {rate} -z 15s", nginx.url(false))))?;
    let (p50, p99) = (measured.figure("/generator_lag_ms/p50")?, measured.figure("/generator_lag_ms/p99")?);
    let unsent = measured.count("/requests/unsent")?;
    Ok(Figure {
        name: format!("lag p99 at {rate} requests/s"),
        goal: format!("{}, nothing unsent", millis(goal_ms)),
        measured: format!("{} (p50 {}), {unsent} unsent; {}", millis(p99), millis(p50), measured.says()),
        met: p99 <= goal_ms && unsent == 0,
        values: vec![p50, p99, unsent as f64],
    })
}

/// From the start of the process to the first byte of its first request.
pub fn start(knee: &Knee) -> Result<Figure> {
    const STARTS: usize = 21;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let load = words(&format!("http://{} -n 1 -c 1 -t 1s", listener.local_addr()?));
    let mut spans = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        let _running = process::spawn_on(GENERATOR_CPU, knee.command(&load).arg("--no-tui"))?;
        // Readiness checks connect and send nothing.
        loop {
            let (mut stream, _) = listener.accept().context("no connection arrived")?;
            if matches!(stream.read(&mut [0; 1]), Ok(1)) {
                break;
            }
        }
        spans.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    let most = spans.iter().copied().fold(0.0, f64::max);
    Ok(Figure {
        name: "start to first request sent".to_owned(),
        goal: "20 ms".to_owned(),
        measured: format!("{} (median of {STARTS}, at most {})", millis(median(&spans)), millis(most)),
        met: median(&spans) <= 20.0,
        values: spans,
    })
}
