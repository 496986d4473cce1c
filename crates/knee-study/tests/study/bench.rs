//! A bench for studies: services that answer as they are told to, with noise of a known size.
//!
//! Does not send anything; a trial is arithmetic on its seed.

#![allow(clippy::unwrap_used, reason = "a bench that cannot be set up fails its test")]

use std::collections::BTreeMap;

use knee_core::validity::Validity;
use knee_study::definition::{Arm, Definition, Workload};
use knee_study::metric::Metric;
use knee_study::random::Random;
use knee_study::study::{Calibration, Conclusion, Figure, Measured, Options, Place, Study, Told, Trial};

/// Switches, arms and workloads that most tests use; a design is put behind it.
pub const HEAD: &str = r#"title = "Bench"

[service.main]
address = "http://127.0.0.1:1"

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

[arms.stock]

[arms.fine]
on = "stock"
switches = { lock = "fine" }

[arms.cached]
on = "fine"
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
pub fn run(mut study: Study, service: impl Fn(&Trial, &Arm, &Workload) -> Told) -> Conclusion {
    while let Some(trial) = study.next() {
        let told = service(&trial, study.arm_of(&trial).unwrap(), study.workload_of(&trial).unwrap());
        study.tell(&trial, told).unwrap();
    }
    study.conclude()
}

/// A measurement around a response time in milliseconds, with noise of `spread` a round.
pub fn around(trial: &Trial, millis: f64, spread: f64) -> Told {
    // The block has its own noise, which both sides share, and each trial its own.
    let seed = trial.number as u64 + 1_000 * u64::from(trial.attempt);
    let own = Random::for_purpose(trial.arrival_seed, seed).normal();
    let shared = Random::new(trial.block as u64).normal();
    let time = millis * (spread * own + 0.1 * shared).exp();
    told(&[(Metric::P50, time * 1e6), (Metric::Rate, 20_000.0 / time), (Metric::Errors, 0.0)])
}

/// A valid measurement of these figures.
pub fn told(figures: &[(Metric, f64)]) -> Told {
    let figures: BTreeMap<Metric, Figure> =
        figures.iter().map(|(metric, value)| (*metric, Figure::from(*value))).collect();
    Told::Measured(Measured {
        figures,
        requests: 10_000,
        state: Validity::Valid,
        reasons: Vec::new(),
        steady: Some(true),
        kept_up: None,
        record: None,
        place: Place::default(),
    })
}

/// A measurement that cannot be used.
pub fn invalid(reason: &str) -> Told {
    let Told::Measured(measured) = told(&[]) else { panic!() };
    Told::Measured(Measured { state: Validity::Invalid, reasons: vec![reason.to_owned()], ..measured })
}
