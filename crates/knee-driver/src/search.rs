//! A search for what stops a variant: its service and stores are up, are loaded for a look, and stay for the proof.
//!
//! The caller reads the run and chooses the remedy; a proof is an ordinary study. Does not find anything, does not
//! conclude, and saves nothing.

use std::path::Path;

use knee_engine::control::Control;
use knee_study::study::{Study, Trial};

use crate::error::Error;
use crate::fixture::StudyFixture;
use crate::pilot;
use crate::runner::{LoadSource, Loaded, Times, TrialRunner};
use crate::study::{check, counts, declared};
use crate::trials::{Event, Trials, reporting};

/// Services and stores of a search.
pub struct Search {
    runner: TrialRunner,
}

impl Search {
    /// Starts the databases and caches of a study, and divides the CPUs as for its trials. `source` sends the loads of
    /// looks, and gets the folder of the study.
    ///
    /// # Errors
    ///
    /// What is wrong with the study, or cannot be started.
    pub fn up(
        study: &mut Study,
        folder: &Path,
        source: impl FnOnce(&Path) -> Box<dyn LoadSource>,
        control: &Control,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, Error> {
        check(study)?;
        observe(Event::FixtureStarts);
        let fixture = StudyFixture::up(&declared(study), counts(study), folder, control)?;
        fixture.check(&study.definition().workloads)?;
        let source = source(fixture.fixture.study());
        let mut runner = TrialRunner::new(Some(fixture), source, control.clone());
        pilot::divide(study, &mut runner, observe)?;
        Ok(Self { runner })
    }

    /// Loads a variant of `study` under its first workload, with the seeded data and a fresh process.
    ///
    /// # Errors
    ///
    /// What cannot be started or loaded.
    pub fn look(
        &mut self,
        study: &Study,
        variant: &str,
        times: Times,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Loaded, Error> {
        let workload = study.definition().workloads.first().ok_or(Error::Missing("workload"))?;
        let trial = Trial {
            number: 0,
            block: 0,
            attempt: 1,
            variant: variant.to_owned(),
            workload: workload.name.clone(),
            arrival_seed: times.seed,
            restart: true,
            reset: true,
        };
        self.runner.look(study, &trial, times, &mut reporting(observe))
    }

    /// Databases and caches with their addresses, which contain their passwords, and what they lack here.
    pub fn stores(&mut self) -> Vec<knee_fixture::Store> {
        self.runner.fixture().map(|fixture| fixture.stores()).unwrap_or_default()
    }

    /// Runs the trials of `study`, which are those of a proof, with loads of `source`; then stops everything. Returns the
    /// error that ended them early, if any.
    ///
    /// # Errors
    ///
    /// What failed before the first trial, or so that nothing can be concluded.
    pub fn prove(
        mut self,
        study: &mut Study,
        source: Box<dyn LoadSource>,
        control: &Control,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Error>, Error> {
        self.runner.send_with(source);
        pilot::divide(study, &mut self.runner, observe)?;
        Trials { control, observe, save: &mut |_, _| Ok(()) }.run(study, self.runner)
    }

    /// Stops everything.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub fn down(self) -> Result<(), Error> {
        self.runner.down()
    }
}
