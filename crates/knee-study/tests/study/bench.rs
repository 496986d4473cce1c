//! A bench for studies: services with prescribed responses and noise of a known size.
//!
//! Does not send anything; a trial is arithmetic on its seed.

#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up fails its test")]

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::{Definition, Variant, Workload};
use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::study::{
    Calibration, Conclusion, Effect, Figure, Measured, Options, Placement, ResponseTimes, Study, Trial,
    TrialResult, TrialWarning,
};

/// Switches, variants and workloads that most tests use; a design is put behind it.
pub const HEAD: &str = r#"title = "Bench"

[service.main]
command = ["server", "{port}"]

[switches.lock]
values = ["coarse", "fine"]
default = "coarse"
env = "LOCK"

[switches.cache]
values = ["off", "on"]
default = "off"
env = "CACHE"

[switches.rows]
default = 1000
env = "ROWS"

[variants.stock]

[variants.fine]
extends = "stock"
switches = { lock = "fine" }

[variants.cached]
extends = "fine"
switches = { cache = "on" }

[workloads.list]
path = "/list"

[workloads.create]
path = "/create"
method = "POST"
"#;

/// The definition of [`HEAD`] with what follows.
pub fn definition(rest: &str) -> Definition {
    let text = format!("{HEAD}{rest}");
    Definition::read(&text, "study.toml", &|_| true).unwrap_or_else(|problems| panic!("{problems}"))
}

/// A study of [`HEAD`] with what follows.
pub fn study(rest: &str) -> Study {
    Study::new(definition(rest), Options::default(), None).unwrap()
}

/// A study with options and a noise floor.
pub fn study_with(rest: &str, options: Options, calibration: Option<Calibration>) -> Study {
    Study::new(definition(rest), options, calibration).unwrap()
}

/// Runs a study to its end.
pub fn run(mut study: Study, service: impl Fn(&Trial, &Variant, &Workload) -> TrialResult) -> Conclusion {
    while let Some(trial) = study.next() {
        let result = service(&trial, study.variant_of(&trial).unwrap(), study.workload_of(&trial).unwrap());
        study.record_result(&trial, result).unwrap();
    }
    study.conclude()
}

/// A measurement around a response time in milliseconds, with noise of `spread` a round.
pub fn around(trial: &Trial, millis: f64, spread: f64) -> TrialResult {
    // The block has its own noise, which both sides share, and each trial its own.
    let seed = trial.number as u64 + 1_000 * u64::from(trial.attempt);
    let own = Random::for_purpose(trial.arrival_seed, seed).normal();
    let shared = Random::new(trial.block as u64).normal();
    let time = millis * (spread * own + 0.1 * shared).exp();
    result(&[(Metric::P50, time * 1e6), (Metric::Goodput, 20_000.0 / time), (Metric::Errors, 0.0)])
}

/// A valid measurement of these figures.
pub fn result(figures: &[(Metric, f64)]) -> TrialResult {
    let figures: BTreeMap<Metric, Figure> =
        figures.iter().map(|(metric, value)| (*metric, Figure::from(*value))).collect();
    TrialResult::Measured(Measured {
        figures,
        requests: 10_000,
        validity: Validity::Valid,
        warnings: Vec::new(),
        steady: Some(true),
        kept_up: None,
        host_busy: None,
        times: None,
        responses: None,
        endpoints: BTreeMap::new(),
        statements: BTreeMap::new(),
        resources: BTreeMap::new(),
        record: None,
        placement: Placement::default(),
    })
}

/// A ladder of all variants of [`HEAD`].
pub const LADDER: &str = "[design]\nkind = \"ladder\"\nmetrics = [\"p50\", \"goodput\", \"errors\"]\n";

/// One pair, by its 95th percentile.
pub const PERCENTILES: &str =
    "[design]\nkind = \"pairs\"\npairs = [[\"stock\", \"fine\"]]\nmetrics = [\"p95\"]\nblocks = 8\n";

/// Milliseconds: a fine lock saves 20 %, a cache does nothing.
pub fn planted(variant: &Variant) -> f64 {
    if variant.switches["lock"] == "fine" { 8.0 } else { 10.0 }
}

/// The change by a metric under the workload `list`.
pub fn effect<'a>(conclusion: &'a Conclusion, from: &str, to: &str, metric: Metric) -> &'a Effect {
    let mut effects = conclusion.effects.iter();
    let found = effects.find(|effect| {
        (effect.from.variant.as_str(), effect.to.variant.as_str(), effect.metric) == (from, to, metric)
            && effect.to.workload == "list"
    });
    found.unwrap_or_else(|| panic!("no effect {from} -> {to} by {metric}"))
}

/// A valid trial with these response times in milliseconds, and this many requests that failed at once.
pub fn with_times(millis: &[f64], failed: u64) -> TrialResult {
    let nanos: Vec<f64> = millis.iter().map(|millis| millis * 1e6).collect();
    let greatest = nanos.iter().copied().fold(0.0, f64::max);
    let TrialResult::Measured(mut measured) = result(&[(Metric::Max, greatest)]) else { panic!() };
    measured.requests = nanos.len() as u64 + failed;
    measured.times = Some(ResponseTimes::of_values(&nanos, failed));
    TrialResult::Measured(measured)
}

/// A measurement that cannot be used.
pub fn invalid(reason: &str) -> TrialResult {
    let TrialResult::Measured(measured) = result(&[]) else { panic!() };
    TrialResult::Measured(Measured {
        validity: Validity::Invalid,
        warnings: vec![TrialWarning::new("lag", reason)],
        ..measured
    })
}
