//! `knee doctor`: the answer, the exit code, and the document.
//!
//! Whether the CPUs are those of a study is tested in `knee-fixture`. What it finds depends on the machine and the build, so the exit code is compared with the document.

use knee_core::clock;
use knee_core::record::Build;
use knee_core::unit::Nanos;
use knee_driver::calibration::{CalibrationStore, SavedCalibration};
use knee_engine::host;
use knee_study::metric::Metric;
use knee_study::study::Calibration;
use serde_json::Value;

use crate::program::{Finished, Home};

const SCHEMA: &str = include_str!("../../../../docs/reference/doctor.schema.json");

/// The document, if it is as its schema says.
fn parsed(finished: &Finished) -> Value {
    let document: Value = serde_json::from_str(&finished.stdout).unwrap_or_else(|_| panic!("{finished:?}"));
    let schema = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    document
}

fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    let checks = document["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}: {document:#}"))
}

#[test]
fn the_exit_code_says_whether_the_machine_is_fit_and_the_document_says_why() {
    let home = Home::new();
    let finished = home.knee("doctor --json").run();
    let document = parsed(&finished);
    let fit = document["fit"].as_bool().unwrap();
    assert_eq!(finished.code, Some(if fit { 0 } else { 120 }), "{finished:?}");
    let checks = document["checks"].as_array().unwrap();
    let unfit: Vec<&Value> = checks.iter().filter(|check| check["grade"] == "unfit").collect();
    assert_eq!(fit, unfit.is_empty(), "{document:#}");
    let start = if fit { "Fit to measure" } else { "Not fit to measure: " };
    assert!(document["answer"].as_str().unwrap().starts_with(start), "{document:#}");
    if cfg!(debug_assertions) {
        assert!(unfit.iter().any(|check| check["name"] == "build"), "{document:#}");
    }
}

#[test]
fn the_text_begins_with_the_answer_and_nothing_is_saved() {
    let home = Home::new();
    let finished = home.knee("doctor").run();
    let answers = ["Fit to measure", "Not fit to measure: "];
    assert!(answers.iter().any(|start| finished.stdout.starts_with(start)), "{}", finished.stdout);
    for heading in ["\n\nMachine\n", "\n\nNoise\n", "\n\nFeatures\n", "\n\nPrograms\n"] {
        assert_eq!(finished.stdout.matches(heading).count(), 1, "{heading:?}: {}", finished.stdout);
    }
    assert_eq!(home.files(), Vec::<std::path::PathBuf>::new());
    assert_eq!(home.knee("doctor --format quiet").run().stdout, "");
}

#[test]
fn a_machine_without_any_optional_program_can_be_fit() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("empty")).unwrap();
    let finished = home.knee("doctor --json").env("PATH", home.path("empty")).run();
    let document = parsed(&finished);
    for name in ["k6", "nginx", "nats-server"] {
        let check = check(&document, name);
        assert_eq!((&check["grade"], &check["found"]), (&"off".into(), &"not found".into()), "{check:#}");
        assert!(check["remedy"].as_str().unwrap().contains(&format!("the package `{name}`")), "{check:#}");
    }
    let unfit = document["checks"].as_array().unwrap().iter().filter(|check| check["grade"] == "unfit");
    let areas: Vec<&Value> = unfit.map(|check| &check["area"]).collect();
    assert!(areas.iter().all(|area| *area == "machine" || *area == "noise"), "{document:#}");
    assert_eq!(document["fit"].as_bool().unwrap(), areas.is_empty(), "{document:#}");
}

#[test]
fn the_text_names_the_cpus_of_studies_and_the_command_that_measures_the_noise_floor() {
    let home = Home::new();
    let document = parsed(&home.knee("doctor --json").run());
    let division = &document["division"];
    let cpus = check(&document, "cpus")["found"].as_str().unwrap();
    if division["shared"].is_null() {
        for side in ["generator", "others"] {
            let named = format!(" {} to ", division[side].as_str().unwrap());
            assert!(cpus.contains(&named), "{named}: {cpus}");
        }
    }
    let noise = check(&document, "noise");
    let expected = ("off", "no noise floor is saved", "run `knee calibrate`");
    let found = ["grade", "found", "remedy"].map(|part| noise[part].as_str().unwrap());
    assert_eq!(found, <[&str; 3]>::from(expected));
}

/// Saves a noise floor for this machine, measured so many days ago.
fn calibrate(home: &Home, days: u64) {
    let noise = Calibration {
        of: "a service".to_owned(),
        blocks: 10,
        deviations: [(Metric::Goodput, 0.02), (Metric::P50, 0.05)].into(),
        suspicious: Vec::new(),
    };
    let made = Nanos(clock::wall().0 - days * 86_400 * 1_000_000_000);
    let build = Build { version: "0.1.0".to_owned(), commit: None, optimized: true };
    let saved = SavedCalibration::new(made, build, host::machine(), noise);
    // The folder in which `Home` makes knee save everything.
    CalibrationStore::below(&home.path(".")).keep(&saved).unwrap();
}

#[test]
fn a_saved_noise_floor_is_shown_beside_what_was_measured_and_an_old_one_is_ignored() {
    let home = Home::new();
    calibrate(&home, 0);
    let document = parsed(&home.knee("doctor --json").run());
    let noise = check(&document, "noise");
    let found = noise["found"].as_str().unwrap();
    assert_eq!(noise["grade"], "ok", "{noise:#}");
    // Half the width of a 95 % interval of 10 blocks: 2.262 * 2 % / sqrt(10).
    assert!(found.starts_with("goodput ± 1.4 %, p50 ± 3.6 % over 10 blocks; saved on 2"), "{found}");
    calibrate(&home, 40);
    let document = parsed(&home.knee("doctor --json").run());
    let noise = check(&document, "noise");
    assert_eq!((&noise["grade"], &noise["remedy"]), (&"off".into(), &"run `knee calibrate`".into()));
    assert!(noise["found"].as_str().unwrap().ends_with("is ignored: it is 40 days old"), "{noise:#}");
}
