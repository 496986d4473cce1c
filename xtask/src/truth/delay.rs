//! Two oracles of time alone: a fixed delay, and a rare long one.
//!
//! The server says at which moments it really answered; that is the truth. Whether it kept to
//! its law is a row of its own, because an oracle that is wrong proves nothing. Response time
//! contains the generator lag, which knee reports and which is subtracted here.

use anyhow::Result;

use super::Laboratory;
use super::law::Law;
use super::row::{Limit, Row, millis};
use super::server::OracleServer;
use super::statement::Statement;
use crate::program::words;

/// Share of the truth, and milliseconds, that a percentile can be off.
const LIMIT: Limit = Limit::ShareOr(0.01, 0.05);

/// By how much a server can answer late at the median, in milliseconds, to count as an oracle.
const LATE: f64 = 0.02;

/// A delay in microseconds, and the rate at which it is asked for.
const DELAYS: [(u64, u32); 4] = [(200, 1_000), (1_000, 1_000), (10_000, 500), (100_000, 500)];

/// The fixed delays.
pub fn fixed(laboratory: &Laboratory) -> Result<Vec<Row>> {
    let seconds = laboratory.pick(10, 2);
    let mut rows = Vec::new();
    for (delay, rate) in DELAYS {
        let server = OracleServer::start(Law::Fixed { span: delay * 1_000 })?;
        let load = format!("{} -c 128 -q {rate} -z {seconds}s", server.url);
        let measured = laboratory.knee.measure(&words(&load))?;
        let statement = server.end()?;
        let delay = millis(delay as f64 / 1e3);
        rows.push(punctual("fixed delay", &delay, &statement));
        let service = measured.figure("/service_time_ms/p50")?;
        let response =
            measured.figure("/response_time_ms/p50")? - measured.figure("/generator_lag_ms/p50")?;
        for (figure, value) in
            [("service time p50", service), ("response time p50 less generator lag", response)]
        {
            let figure = format!("{figure}, {delay} at {rate}/s");
            let row = Row::times("fixed delay", figure, statement.held_p50, value, LIMIT);
            rows.push(row.under(measured.says()));
        }
    }
    Ok(rows)
}

/// One request in a hundred takes 50 ms.
pub fn bimodal(laboratory: &Laboratory) -> Result<Vec<Row>> {
    const NAME: &str = "bimodal";
    // p99.9 needs 100 requests above it: 100,000 altogether.
    let (rate, seconds) = laboratory.pick((10_000, 30), (20_000, 6));
    let server = OracleServer::start(Law::Bimodal { fast: 0, slow: 50_000_000, every: 100 })?;
    let load = format!("{} -c 128 -q {rate} -z {seconds}s", server.url);
    let measured = laboratory.knee.measure(&words(&load))?;
    let statement = server.end()?;
    let (p95, p99_9) =
        (measured.figure("/response_time_ms/p95")?, measured.figure("/response_time_ms/p99.9")?);
    let figure = format!("response time p99.9, 1 in 100 takes 50 ms, {rate}/s");
    Ok(vec![
        punctual(NAME, "1 in 100 takes 50 ms", &statement),
        Row::times(NAME, figure, statement.held_p99_9, p99_9, LIMIT).under(measured.says()),
        Row::fact(NAME, "response time p95", "not among the slow (5 ms)", millis(p95), p95 < 5.0),
    ])
}

/// Whether the server did what its law says.
pub fn punctual(oracle: &'static str, law: &str, statement: &Statement) -> Row {
    let figure = format!("the server itself, {law}: late at p50");
    let says = format!(
        "{} (p99 {}, max {}; longest not running {})",
        millis(statement.late_p50),
        millis(statement.late_p99),
        millis(statement.late_max),
        millis(statement.gap_max)
    );
    Row::fact(oracle, figure, format!("{} at most", millis(LATE)), says, statement.late_p50 <= LATE)
}
