//! One variant of a study with its services and stores, for a person to look at or for a sweep to load.
//!
//! Sends no load and measures nothing. Trials of a study start theirs in the runner, which decides for each trial whether
//! it needs a fresh process.

use std::path::Path;

use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_fixture::Running;
use knee_study::definition::{Definition, Variant};
use knee_study::study::{Refusal, Study};

use crate::error::Error;
use crate::fixture::StudyFixture;
use crate::runner::started;
use crate::study::{check, counts, declared};
use crate::trials::{Event, reporting};
use crate::variant::{others, overrides};

/// Services and stores of one variant that are up, without load.
pub struct Standing {
    fixture: StudyFixture,
    definition: Definition,
    variant: Variant,
    /// Services that were asked for, by name.
    pub services: Vec<(String, Running)>,
}

/// Starts the services of all workloads, or of the named one, as `variant` has them, in the folder of the study, with its
/// stores.
///
/// # Errors
///
/// An unknown variant, or what cannot be started.
pub fn up(
    study: &Study,
    (variant, workload): (&str, Option<&str>),
    folder: &Path,
    control: &Control,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Standing, Error> {
    let all = study.variants();
    let variant = all.iter().find(|known| known.name == variant).cloned().ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|known| known.name.as_str()).collect();
        Refusal::UnknownVariant(variant.to_owned(), names.join(", "))
    })?;
    check(study)?;
    let definition = study.definition().clone();
    let fixture = StudyFixture::up(&declared(study), counts(study), folder, control)?;
    let mut standing = Standing { fixture, definition, variant: variant.clone(), services: Vec::new() };
    let loaded = study.definition().workloads.iter();
    for workload in loaded.filter(|known| workload.is_none_or(|name| name == known.name)) {
        let others = others(study.definition(), &variant, &workload.service);
        for name in others.iter().chain([&workload.service]) {
            if standing.running(name).is_none() {
                standing.start(name, observe)?;
            }
        }
    }
    Ok(standing)
}

impl Standing {
    /// A service that was asked for.
    pub fn running(&self, service: &str) -> Option<&Running> {
        self.services.iter().find(|(name, _)| name == service).map(|(_, running)| running)
    }

    /// Ends a service, brings its data back to the seeded state and starts it again, as before a trial of the study. Its
    /// address can be another one then.
    ///
    /// # Errors
    ///
    /// What cannot be reset or started.
    pub fn restart(&mut self, service: &str, observe: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        self.fixture.fixture.reset(service)?;
        for other in others(&self.definition, &self.variant, service) {
            self.start(&other, observe)?;
        }
        self.start(service, observe)
    }

    fn start(&mut self, service: &str, observe: &mut dyn FnMut(Event<'_>)) -> Result<(), Error> {
        let overrides = overrides(&self.definition, &self.variant, service);
        let report = &mut reporting(observe);
        let running = self.fixture.fixture.start_reporting(service, &overrides, report)?;
        self.services.retain(|(name, _)| name != service);
        self.services.push((service.to_owned(), running));
        Ok(())
    }

    /// A service and the stores, as `--observe` takes them: its process, its page of metrics and the stores. Contains
    /// passwords.
    pub fn observable(&self, service: &str) -> Vec<String> {
        let stores = self.fixture.fixture.stores();
        self.running(service).map(|running| started(running, &stores)).unwrap_or_default()
    }

    /// How the CPUs are divided between the load generator and everything else.
    pub fn division(&self) -> &Division {
        self.fixture.fixture.division()
    }

    /// Databases, their replicas and caches with their addresses, which contain their passwords.
    pub fn stores(&self) -> Vec<(String, String)> {
        let servers = self.fixture.fixture.stores().into_iter().flat_map(|store| {
            let replica = store.replica_url.map(|url| (format!("{}, its replica,", store.name), url));
            std::iter::once((store.name, store.url)).chain(replica)
        });
        servers.collect()
    }

    /// A variable of a workload's script with its placeholders filled in; services that it names are started. The load
    /// `lasts` so long.
    ///
    /// # Errors
    ///
    /// An unknown placeholder, or a service that cannot be started.
    pub fn fill(&mut self, text: &str, workload: &str, name: &str, lasts: Nanos) -> Result<String, Error> {
        Ok(self.fixture.fill(text, (workload, name), lasts, &mut |_| {})?)
    }

    /// An error if a service or a store has ended.
    ///
    /// # Errors
    ///
    /// What ended, and its last lines.
    pub fn check(&self) -> Result<(), Error> {
        Ok(self.fixture.fixture.check()?)
    }

    /// Stops everything.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub fn down(self) -> Result<(), Error> {
        self.fixture.down()
    }
}
