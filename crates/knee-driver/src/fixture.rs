//! The fixture of a study. Its waits end soon after the study is asked to stop.
//!
//! Does not decide when a service starts; the [`crate::TrialRunner`] does.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use knee_core::fixture::{Declaration, placeholder};
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_fixture::{Fixture, Options, Preparation, supervisor};
use knee_study::definition::{Load, Workload};

use crate::error::Error;

/// Services and stores of a study.
pub struct StudyFixture {
    /// The services and stores.
    pub fixture: Fixture,
    forwarder: InterruptForwarder,
}

impl StudyFixture {
    /// Starts the databases and caches of a declaration, whose relative paths are relative to `folder`. `statements`
    /// says whether databases count and time their statements.
    ///
    /// # Errors
    ///
    /// What is wrong with the declaration, or cannot be started.
    pub fn up(
        declaration: &Declaration,
        statements: bool,
        folder: &Path,
        control: &Control,
    ) -> Result<Self, Error> {
        let interrupt = Arc::new(AtomicBool::new(false));
        let forwarder =
            InterruptForwarder::start(control.clone(), interrupt.clone()).map_err(Error::System)?;
        let supervisor = Some(supervisor::Program::this().map_err(Error::System)?);
        let options = Options { supervisor, interrupt, statements, ..Options::new(folder) };
        Ok(Self { fixture: Fixture::up(declaration, &options)?, forwarder })
    }

    /// Refuses workloads whose environment has an unknown placeholder.
    ///
    /// # Errors
    ///
    /// The placeholder, and where it is.
    pub fn check(&self, workloads: &[Workload]) -> Result<(), Error> {
        for workload in workloads {
            let Load::Script { env, .. } = &workload.load else { continue };
            for (name, text) in env {
                self.fixture.check_text(text, &variable(&workload.name, name), &[placeholder::DURATION])?;
            }
        }
        Ok(())
    }

    /// A variable of a workload's script with its placeholders filled in, after `report` of the builds and seeds of
    /// services that it names. The trial lasts so long, warm-up included.
    pub(crate) fn fill(
        &mut self,
        text: &str,
        (workload, name): (&str, &str),
        lasts: Nanos,
        report: &mut dyn FnMut(Preparation<'_>),
    ) -> Result<String, knee_fixture::Error> {
        let lasts = of_script(lasts);
        let own = [(placeholder::DURATION, lasts.as_str())];
        self.fixture.fill_with(text, &variable(workload, name), &own, report)
    }

    /// Stops everything.
    ///
    /// # Errors
    ///
    /// What could not be removed.
    pub fn down(self) -> Result<(), Error> {
        let Self { fixture, forwarder: _until_it_is_down } = self;
        Ok(fixture.down()?)
    }
}

/// Dotted path of a variable of a workload's script.
fn variable(workload: &str, name: &str) -> String {
    format!("workloads.{workload}.env.{name}")
}

/// A duration as scripts take it: `14s`, or `13500ms`.
fn of_script(duration: Nanos) -> String {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

/// Sets a flag for the fixture soon after a stop is requested.
struct InterruptForwarder {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl InterruptForwarder {
    /// Longest delay until a request to stop is noticed.
    const PERIOD: Duration = Duration::from_millis(50);

    fn start(control: Control, interrupt: Arc<AtomicBool>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let watch = move || {
            while !ends.load(Ordering::Relaxed) {
                if control.request() != Request::Run {
                    interrupt.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(Self::PERIOD);
            }
        };
        let thread = thread::Builder::new().name("interrupt".to_owned()).spawn(watch)?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for InterruptForwarder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot panic, and if it did there is nothing left for it to do.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_gets_its_duration_as_k6_writes_durations() {
        for (nanos, expected) in
            [(14_000_000_000, "14s"), (13_500_000_000, "13500ms"), (1_500_000, "2ms"), (0, "0s")]
        {
            assert_eq!(of_script(Nanos(nanos)), expected);
        }
    }
}
