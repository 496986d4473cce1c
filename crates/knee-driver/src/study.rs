//! Runs a study from its first trial, or from where it was stopped, to its last.
//!
//! Saves each trial before the next begins, if the study has a folder. Does not read arguments, and does not
//! conclude.

use std::path::Path;

use knee_core::clock;
use knee_core::record::Build;
use knee_engine::control::Control;
use knee_engine::host;
use knee_report::study::Session;
use knee_study::definition::Definition;
use knee_study::study::{Calibration, Options, Study, Trial, TrialResult};

use crate::error::Error;
use crate::fixture::StudyFixture;
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

/// The study in `folder` before its next trial, and its sessions until then. `noise` is that of this machine now; a
/// study that continues has its own.
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
    let study = Study::resume(definition.clone(), stored.options, stored.calibration, stored.entries)?;
    Ok((study.with_changed_claims(stored.changed_claims), stored.sessions))
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

/// Runs the trials that are left of the study in `folder`, and adds a session of `build`. Returns the error that
/// ended them early, if any.
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
    let _lock = saved.lock()?;
    let (started, machine) = (clock::wall(), host::machine());
    sessions.push(Session { started, first_trial: study.entries().len(), build, machine });
    observe(Event::FixtureStarts);
    let fixture = StudyFixture::up(&study.definition().fixture, folder, control)?;
    fixture.check(&study.definition().workloads)?;
    // Not before: it replaces the trials that were saved.
    let mut journal = saved.open(study, sessions)?;
    let source = source(fixture.fixture.study());
    let runner = TrialRunner::new(Some(fixture), source, control.clone());
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
    let declared = &study.definition().fixture;
    let starts = !declared.service.is_empty();
    let fixture = starts.then(|| StudyFixture::up(declared, Path::new("."), control)).transpose()?;
    let runner = TrialRunner::new(fixture, source, control.clone());
    Trials { control, observe, save: &mut |_, _| Ok(()) }.run(study, runner)
}

/// Packs the trials of the study in `folder` at the end of a session, so that its documents can be made again elsewhere.
///
/// # Errors
///
/// When the file cannot be written, or another process runs the study.
pub fn pack(study: &Study, sessions: &[Session], folder: &Path) -> Result<Packed, Error> {
    SavedTrials::at(folder).pack(study, sessions)
}
