//! The queueing oracles: a single server with a queue, loaded by Poisson arrivals.
//!
//! The mean wait is known from theory (Pollaczek and Khinchine): for a service time of mean S at a
//! utilisation r it is r S / (2 (1 - r)) when all are equal (M/D/1) and r S / (1 - r) when
//! they are exponential (M/M/1). It is also known for the very arrivals that came, because the
//! server keeps its own count; that comparison has no noise of sampling in it.
//!
//! What is measured is by how much longer responses take on the mean than those of the same server at
//! the same rate with even arrivals and no queue: the way there and back is in both.

use anyhow::Result;

use super::Laboratory;
use super::delay::punctual;
use super::law::Law;
use super::row::{Limit, Row};
use super::server::OracleServer;
use super::statement::Statement;
use crate::program::{Measured, words};

/// Share of the mean wait that a measurement can be off.
const LIMIT: f64 = 0.05;

/// Standard errors that a short run can be off instead.
const ERRORS: f64 = 3.0;

/// One load. The service time falls with the utilisation, so that mean waits stay near half a
/// millisecond and every load is about as sensitive to generator lag; the number of requests
/// grows with it, because waits are the more alike the busier the server is.
#[derive(Clone, Copy, Debug)]
struct Case {
    exponential: bool,
    /// Mean service time in microseconds.
    service: u64,
    /// Utilisation in percent.
    busy: u32,
    seconds: u32,
}

impl Case {
    const fn new(exponential: bool, busy: u32, service: u64, seconds: u32) -> Self {
        Self { exponential, service, busy, seconds }
    }

    fn utilisation(self) -> f64 {
        f64::from(self.busy) / 100.0
    }

    /// Arrivals per second.
    fn rate(self) -> f64 {
        self.utilisation() * 1e6 / self.service as f64
    }

    fn name(self) -> &'static str {
        if self.exponential { "M/M/1" } else { "M/D/1" }
    }

    fn law(self) -> Law {
        let span = self.service * 1_000;
        if self.exponential {
            Law::QueueExponential { mean: span, seed: 1 }
        } else {
            Law::QueueFixed { span }
        }
    }

    /// Mean wait in milliseconds.
    fn wait(self) -> f64 {
        let r = self.utilisation();
        let exponential = r * self.service as f64 / 1e3 / (1.0 - r);
        if self.exponential { exponential } else { exponential / 2.0 }
    }

    /// The standard error of the mean wait of all requests of the run, as a share of it.
    ///
    /// For M/M/1 the variance of the sum of n waits is n times r (2 + 5r - 4r^2 + r^3) / (1 - r)^4 in
    /// units of S^2 (Daley, "The serial correlation coefficients of waiting times in a stationary
    /// single server queue", 1968), as n grows. For M/D/1 the same is used as an upper bound:
    /// its waits vary less, by about half in heavy traffic.
    fn standard_error(self) -> f64 {
        let r = self.utilisation();
        let variance = r * (2.0 + 5.0 * r - 4.0 * r.powi(2) + r.powi(3)) / (1.0 - r).powi(4);
        let count = self.rate() * f64::from(self.seconds);
        (variance / count).sqrt() / (r / (1.0 - r))
    }
}

const LONG: [Case; 6] = [
    Case::new(false, 50, 1_000, 60),
    Case::new(false, 80, 250, 60),
    Case::new(false, 90, 100, 112),
    Case::new(true, 50, 1_000, 60),
    Case::new(true, 80, 250, 60),
    Case::new(true, 90, 100, 112),
];

const SHORT: [Case; 2] = [Case::new(false, 50, 1_000, 6), Case::new(true, 80, 250, 7)];

/// Runs them.
pub fn run(laboratory: &Laboratory) -> Result<Vec<Row>> {
    let cases: &[Case] = if laboratory.short { &SHORT } else { &LONG };
    let rows: Result<Vec<_>> = cases.iter().map(|case| measure(laboratory, *case)).collect();
    Ok(rows?.concat())
}

fn measure(laboratory: &Laboratory, case: Case) -> Result<Vec<Row>> {
    let span = case.service * 1_000;
    let even = laboratory.pick(10, 2);
    let (alone, _) = response(laboratory, case, Law::QueueFixed { span }, &format!("-z {even}s"))?;
    let seconds = case.seconds;
    let arrivals = format!("-z {seconds}s --arrivals poisson --seed 1");
    let (queued, statement) = response(laboratory, case, case.law(), &arrivals)?;
    // Drawn service times have a mean that is a little off.
    let drawn = statement.service_mean - case.service as f64 / 1e3;
    let wait = queued.figure("/response_time_ms/mean")? - alone.figure("/response_time_ms/p50")? - drawn;
    let load = format!("{} % busy, {:.0}/s for {seconds} s", case.busy, case.rate());
    let limit = LIMIT.max(if laboratory.short { ERRORS * case.standard_error() } else { 0.0 });
    let row = |against, truth, limit| {
        let figure = format!("mean wait, {load}; {against}");
        Row::times(case.name(), figure, truth, wait, Limit::Share(limit)).under(queued.says())
    };
    Ok(vec![
        punctual(case.name(), &load, &statement),
        row("theory", case.wait(), limit),
        row("the server's count", statement.wait_mean, LIMIT),
    ])
}

/// A run at the rate of `case` against a server with `law`.
fn response(laboratory: &Laboratory, case: Case, law: Law, how: &str) -> Result<(Measured, Statement)> {
    let server = OracleServer::start(law)?;
    let load = format!("{} -c 512 -q {} {how}", server.url, case.rate());
    let measured = laboratory.knee.measure(&words(&load))?;
    Ok((measured, server.end()?))
}

#[cfg(test)]
mod tests {
    use super::super::law::Service;
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// Mean waits of `runs` simulated runs of a case, in milliseconds.
    fn simulated(case: Case, runs: u64) -> Vec<f64> {
        let count = (case.rate() * f64::from(case.seconds)) as u64;
        let run = |seed| {
            let mut random = StdRng::seed_from_u64(seed);
            let law = match case.law() {
                Law::QueueExponential { mean, .. } => Law::QueueExponential { mean, seed: seed + 1_000 },
                law => law,
            };
            let mut service = Service::new(law);
            let (mut at, mut waited) = (0.0, 0.0);
            for _ in 0..count {
                let uniform: f64 = random.random();
                at += -(1.0 - uniform).ln() / case.rate() * 1e9;
                waited += (service.admit(at as u64).begins - at as u64) as f64;
            }
            waited / count as f64 / 1e6
        };
        (0..runs).map(run).collect()
    }

    #[test]
    fn simulated_queues_wait_as_long_as_theory_says_and_vary_as_much() {
        for case in SHORT {
            let waits = simulated(case, 40);
            let mean = waits.iter().sum::<f64>() / 40.0;
            let share = (mean - case.wait()).abs() / case.wait();
            // The mean of 40 runs has a sixth of the standard error of one.
            assert!(share < 4.0 * case.standard_error() / 40_f64.sqrt() + 0.01, "{case:?}: {share}");
            let deviation =
                (waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / 39.0).sqrt() / mean;
            let expected = case.standard_error();
            assert!(deviation < 1.5 * expected, "{case:?}: {deviation} against {expected}");
            assert!(!case.exponential || deviation > expected / 1.5, "{case:?}: {deviation}");
        }
    }
}
