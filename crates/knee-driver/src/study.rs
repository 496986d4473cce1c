//! Runs a study from its first trial, or from where it was stopped, to its last.
//!
//! Saves each trial before the next begins, if the study has a folder. Does not read arguments, and does not
//! conclude.

use std::path::Path;

use knee_core::clock;
use knee_core::fixture::Declaration;
use knee_core::record::Build;
use knee_engine::control::Control;
use knee_engine::host;
use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Calibration, Options, Study, Trial, TrialResult};

use crate::error::Error;
use crate::fixture::StudyFixture;
use crate::lock::Lock;
use crate::pilot;
use crate::runner::{LoadSource, TrialRunner};
use crate::saved::{Packed, SavedTrials};
use crate::trials::{Event, Trials};
use crate::variant::{others, overrides};

/// The trials that a study begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// None.
    New,
    /// The saved ones, which must have been run with the same options.
    Resumed,
    /// The saved ones with their options, which replace the current options.
    Saved,
}

/// The study in `folder` before its next trial, and its sessions until then. A new study gets `noise`; another one keeps
/// the noise that was saved with it, because margins and verdicts depend on it.
///
/// # Errors
///
/// What the study refuses, or why there are no saved trials of it.
pub fn begin(
    definition: &Definition,
    options: Options,
    start: Start,
    noise: Option<Calibration>,
    folder: &Path,
) -> Result<(Study, Vec<Session>), Error> {
    let saved = SavedTrials::at(folder);
    let stored = match start {
        Start::New => return Ok((Study::new(definition.clone(), options, noise)?, Vec::new())),
        Start::Resumed => saved.resumed(definition, &options)?,
        Start::Saved => saved.read(definition)?,
    };
    // The noise of the day on which it began: margins and verdicts do not depend on who reads them, and where.
    let mut study = Study::resume(definition.clone(), stored.options, stored.calibration, stored.entries)?;
    study.divide(stored.division);
    Ok((study.with_changed_claims(stored.changed_claims), stored.sessions))
}

/// Keeps other studies out of `folder` while the lock is held. Take it before [`begin`], so that the saved trials are
/// those that are there when the next one begins.
///
/// # Errors
///
/// When another process runs a study in it.
pub fn lock(folder: &Path) -> Result<Lock, Error> {
    SavedTrials::at(folder).lock()
}

/// What is started for a study: its declaration with its options.
pub(crate) fn declared(study: &Study) -> Declaration {
    let mut declaration = study.definition().fixture.clone();
    let options = study.options();
    declaration.generator.share_cpus |= options.share_cpus;
    declaration.generator.is_elsewhere = !options.fleet.is_empty();
    declaration
}

/// Whether its databases count their statements: only where the study asks for that, because it costs CPU time.
pub(crate) fn counts(study: &Study) -> bool {
    study.options().observed || !study.definition().statements.is_empty()
}

/// Refuses a study whose services cannot be started, before anything starts.
///
/// # Errors
///
/// The first wrong entry, and its mistake.
pub fn check(study: &Study) -> Result<(), Error> {
    let definition = study.definition();
    for variant in study.variants() {
        for workload in &definition.workloads {
            let services = others(definition, variant, &workload.service);
            for service in services.iter().chain([&workload.service]) {
                let overrides = overrides(definition, variant, service);
                knee_fixture::check_start(&definition.fixture, service, &overrides)?;
            }
        }
    }
    Ok(())
}

/// Runs the trials that are left of the study in `folder`, which the caller has locked, and adds a session of `build`.
/// Returns the error that ended them early, if any.
///
/// # Errors
///
/// What failed before the first trial, or so that nothing can be concluded.
pub fn run(
    study: &mut Study,
    sessions: &mut Vec<Session>,
    folder: &Path,
    build: Build,
    source: impl FnOnce(&Path) -> Box<dyn LoadSource>,
    control: &Control,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Error>, Error> {
    check(study)?;
    let saved = SavedTrials::at(folder);
    let (started, machine) = (clock::wall(), host::machine());
    sessions.push(Session { started, first_trial: study.entries().len(), build, machine });
    observe(Event::FixtureStarts);
    let fixture = StudyFixture::up(&declared(study), counts(study), folder, control)?;
    fixture.check(&study.definition().workloads)?;
    let source = source(fixture.fixture.study());
    let mut runner = TrialRunner::new(Some(fixture), source, control.clone());
    pilot::divide(study, &mut runner, observe)?;
    // Not before: it replaces the trials that were saved.
    let mut journal = saved.open(study, sessions)?;
    let mut save = |trial: &Trial, result: &TrialResult| journal.add(trial, result);
    Trials { control, observe, save: &mut save }.run(study, runner)
}

/// Runs the trials of a study that has no folder: a comparison, a calibration. Returns the error that ended them
/// early, if any.
///
/// # Errors
///
/// What failed before the first trial, or so that nothing can be concluded.
pub fn run_unsaved(
    study: &mut Study,
    source: Box<dyn LoadSource>,
    control: &Control,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Error>, Error> {
    check(study)?;
    let declared = declared(study);
    let starts = !declared.service.is_empty();
    let fixture =
        starts.then(|| StudyFixture::up(&declared, counts(study), Path::new("."), control)).transpose()?;
    let mut runner = TrialRunner::new(fixture, source, control.clone());
    pilot::divide(study, &mut runner, observe)?;
    Trials { control, observe, save: &mut |_, _| Ok(()) }.run(study, runner)
}

/// Packs the trials of the study in `folder` at the end of a session, so that its documents can be made again elsewhere.
/// Takes the lock of the folder unless it is `held` already.
///
/// # Errors
///
/// When the file cannot be written, or another process runs the study.
pub fn pack(
    study: &Study,
    sessions: &[Session],
    folder: &Path,
    held: Option<&Lock>,
) -> Result<Packed, Error> {
    SavedTrials::at(folder).pack(study, sessions, held)
}

#[cfg(test)]
mod tests {
    use knee_study::metric::Metric;

    use super::*;

    const STUDY: &str = r#"title = "noise"

[service.main]
command = ["server", "{port}"]

[variants.one]

[variants.two]

[workloads.list]
path = "/"

[design]
kind = "ladder"
"#;

    fn noise(deviation: f64) -> Calibration {
        let deviations = [(Metric::P50, deviation)].into();
        Calibration { of: "a server".to_owned(), blocks: 10, deviations, suspicious: Vec::new() }
    }

    #[test]
    fn a_saved_study_has_the_noise_that_was_known_when_it_began_and_a_new_one_that_of_today() {
        let folder = tempfile::tempdir().unwrap();
        let definition = Definition::read(STUDY, "study.toml", &|_| true).unwrap();
        for then in [Some(noise(0.01)), None] {
            let begun = Study::new(definition.clone(), Options::default(), then.clone()).unwrap();
            SavedTrials::at(folder.path()).open(&begun, &[]).unwrap();
            let of = |start: Start| {
                let today = Some(noise(0.9));
                let (study, _) = begin(&definition, Options::default(), start, today, folder.path()).unwrap();
                study.calibration().cloned()
            };
            assert_eq!([of(Start::Resumed), of(Start::Saved)], [then.clone(), then]);
            assert_eq!(of(Start::New), Some(noise(0.9)));
        }
    }
}
