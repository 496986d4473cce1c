//! Oracles of the load generator itself: when it was stopped, starved or overcharged, it must say so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::Laboratory;
use super::law::Law;
use super::row::Row;
use super::server::OracleServer;
use crate::process::{self, GENERATOR_CPU};
use crate::program::words;

/// The generator stands still for two seconds: the result is invalid, and one reason is lag.
pub fn pause(laboratory: &Laboratory) -> Result<Vec<Row>> {
    let seconds = laboratory.pick(20, 5);
    let server = OracleServer::start(Law::Fixed { span: 0 })?;
    let running = laboratory.knee.start(&words(&format!("{} -c 64 -q 1000 -z {seconds}s", server.url)))?;
    thread::sleep(Duration::from_secs(1));
    running.freeze(Duration::from_secs(2))?;
    let measured = laboratory.knee.result(running)?;
    let (state, reasons) = measured.verdict();
    let pass = state == "invalid" && reasons.iter().any(|reason| reason == "lag");
    let figure = format!("validity, knee stopped for 2 s of {seconds} s");
    Ok(vec![Row::fact("own pause", figure, "invalid, names lag", measured.says(), pass)])
}

/// A program that never rests shares the generator's CPU: the result is not valid.
pub fn hog(laboratory: &Laboratory) -> Result<Vec<Row>> {
    /// Reasons that name the want of a CPU.
    const NAMED: [&str; 4] = ["run_delay", "lag", "worker_cpu", "stall"];
    let seconds = laboratory.pick(20, 4);
    let server = OracleServer::start(Law::Fixed { span: 0 })?;
    let stop = AtomicBool::new(false);
    let measured = thread::scope(|scope| {
        scope.spawn(|| {
            process::pin_thread(GENERATOR_CPU);
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let measured =
            laboratory.knee.measure(&words(&format!("{} -c 64 -q 2000 -z {seconds}s", server.url)));
        stop.store(true, Ordering::Relaxed);
        measured
    })?;
    let (state, reasons) = measured.verdict();
    let named = reasons.iter().any(|reason| NAMED.contains(&reason.as_str()));
    let pass = named && matches!(state.as_str(), "suspect" | "invalid");
    let figure = "validity, another program never rests on the same CPU";
    Ok(vec![Row::fact("CPU hog", figure, "suspect or invalid, names the CPU", measured.says(), pass)])
}

/// Twice as much is asked of a server as it can do: every planned request is accounted for.
pub fn overload(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "overload";
    /// Requests per second that are planned; the server can do half.
    const RATE: u64 = 2_000;
    let seconds = laboratory.pick(20, 4);
    let server = OracleServer::start(Law::QueueFixed { span: 2 * 1_000_000_000 / RATE })?;
    let load = format!("{} -c 20 -q {RATE} -z {seconds}s -t 1s", server.url);
    let measured = laboratory.knee.measure(&words(&load))?;
    let answered = server.end()?.answered;
    let count = |name: &str| measured.count(&format!("/requests/{name}"));
    let (planned, ok, unsent, censored) =
        (count("planned")?, count("ok")?, count("unsent")?, count("censored")?);
    let failed = count("http_error")? + count("transport_error")? + count("timeout")?;
    let owed = RATE * seconds;
    let sum = format!("{ok} ok + {failed} failed + {unsent} unsent + {censored} censored");
    let balanced = planned == owed && ok + failed + unsent + censored == planned;
    let seen = format!("{planned} planned = {sum}");
    Ok(vec![
        Row::fact(
            NAME,
            "request accounting at twice the capacity",
            format!("{owed}, to the request"),
            seen,
            balanced,
        ),
        // What was answered after its time limit is not ok, and cannot be less than nothing.
        Row::fact(
            NAME,
            "answers counted as ok",
            format!("{answered} answered by the server, at most"),
            ok.to_string(),
            ok <= answered && ok > 0 && unsent > 0,
        ),
    ])
}
