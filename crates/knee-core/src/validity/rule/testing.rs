//! Fixture of the tests of all rules: a healthy run in which a test changes one figure.

use super::super::Validity;
use super::super::diagnostics::{Circumstances, Diagnostics, Generator, Load, Quantiles, Requests};
use super::super::judge::judge;
use crate::tally::Accounting;
use crate::unit::Nanos;

pub(in super::super) const SUSPECT: Option<Validity> = Some(Validity::Suspect);
pub(in super::super) const INVALID: Option<Validity> = Some(Validity::Invalid);

/// Quantiles in microseconds.
pub(in super::super) const fn micros([p50, p90, p99, max]: [u64; 4]) -> Quantiles {
    let us = Nanos::from_micros;
    Quantiles { p50: us(p50), p90: us(p90), p99: us(p99), max: us(max) }
}

/// A minute at 1,000/s against a target that answers in 20 ms, on a machine with nothing wrong.
pub(in super::super) fn healthy() -> Diagnostics {
    Diagnostics {
        requests: Requests {
            accounting: Accounting { planned: 60_000, by_outcome: [60_000, 0, 0, 0, 0, 0], unknown: 0 },
            response: Some(micros([20_000, 30_000, 40_000, 50_000])),
            service: Some(micros([20_000, 30_000, 40_000, 50_000])),
            answered_p99: Some(Nanos::from_millis(40)),
            connections_opened: 64,
            bodies: (1, false),
            ..Requests::default()
        },
        load: Load {
            area_residual: Some(0.0),
            little_residual: Some(0.001),
            little_allowance: 0.001,
            sent_share: Some(1.0),
            due_per_s: Some(1_000.0),
            taken_per_s: Some(1_000.0),
            in_flight_mean: Some(20.0),
            in_flight_max: 40,
            vus_max: 64,
            ..Load::default()
        },
        generator: Generator {
            lag: Some(micros([10, 30, 60, 1_000])),
            loop_lag: Some(micros([20, 60, 150, 2_000])),
            measured: Nanos::from_secs(60),
            worker_cpu_max: Some(0.3),
            worker_cpu_saturated: Some(0.0),
            run_delay: Some(0.002),
            throttled: Some((0, 600)),
            steal: Some(0.0),
            descriptors: Some((70, 1_024)),
            ports: Some((64, 28_232)),
            suspended: Some(Nanos::ZERO),
            ..Generator::default()
        },
        run: Circumstances { intervals: 60, co_located: Some(false), ..Circumstances::default() },
    }
}

/// Judges a healthy run after `change`; what the rule `code` says of it.
pub(in super::super) fn changed(code: &str, change: impl Fn(&mut Diagnostics)) -> Option<Validity> {
    let mut diagnostics = healthy();
    change(&mut diagnostics);
    let report = judge(diagnostics);
    for warning in &report.warnings {
        assert!(warning.validity != Validity::Valid && warning.validity <= report.validity);
        let (message, hint) = (&warning.message, &warning.hint);
        assert!(!message.is_empty() && !hint.is_empty(), "{}", warning.code);
        assert!(!message.ends_with('.') && !message.contains("  "), "{message}");
        // A number and its unit are one word to a reader.
        let units = ["%", "us", "ms", "s", "min"];
        let words =
            message.split_whitespace().filter(|word| !units.contains(&word.trim_end_matches(','))).count();
        assert!(words <= 12, "{words} words: {message}");
    }
    report.warnings.iter().find(|warning| warning.code == code).map(|warning| warning.validity)
}

/// The message of the rule `code` about a healthy run after `change`.
pub(in super::super) fn message(code: &str, change: impl Fn(&mut Diagnostics)) -> String {
    let mut diagnostics = healthy();
    change(&mut diagnostics);
    let warnings = judge(diagnostics).warnings;
    warnings.into_iter().find(|warning| warning.code == code).map_or_else(String::new, |one| one.message)
}
