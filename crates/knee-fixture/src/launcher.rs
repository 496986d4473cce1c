//! The fixture's launcher: starts, asks and ends processes, through the supervisor where there is one.
//!
//! Waits, with a limit, and stops waiting when the user interrupts. Does not know services from databases.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;

use crate::error::Error;
use crate::exit::Exit;
use crate::folder;
use crate::registry::{Handle, Launch, ProcessRegistry, StopSignal};
use crate::supervisor::{Program, Supervisor};

/// Interval of checks while waiting.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// How many lines of a log an error quotes.
pub(crate) const QUOTED: usize = 12;

enum Backend {
    /// Through the supervisor. If the supervisor is gone, these processes must be ended.
    Supervisor(Supervisor, Vec<Handle>),
    /// In this process.
    Own(ProcessRegistry),
}

/// Starts and ends processes. Dropping it ends all of them and removes the fixture's folder.
pub(crate) struct Launcher {
    backend: Mutex<Backend>,
    interrupt: Arc<AtomicBool>,
    pub(crate) root: PathBuf,
    /// CPU weight of the generator relative to everything that is started, if it is preferred.
    pub(crate) generator_weight: Option<u32>,
}

impl Launcher {
    /// A launcher with its own folder inside of `parent`.
    pub(crate) fn new(
        supervisor: Option<&Program>,
        parent: &Path,
        interrupt: Arc<AtomicBool>,
        generator_weight: Option<u32>,
    ) -> Result<Self, Error> {
        let unmade = |error| Error::folder("create a folder in", parent, error);
        let (backend, root) = if let Some(program) = supervisor {
            let mut supervisor = Supervisor::start(program)
                .map_err(|source| Error::Unrunnable { program: program.path.clone(), source })?;
            let root = supervisor.root(parent).map_err(|error| failed(error, unmade))?;
            (Backend::Supervisor(supervisor, Vec::new()), root)
        } else {
            let mut registry = ProcessRegistry::default();
            let root = registry.root(parent).map_err(unmade)?;
            (Backend::Own(registry), root)
        };
        Ok(Self { backend: Mutex::new(backend), interrupt, root, generator_weight })
    }

    /// Starts a process.
    pub(crate) fn launch(&self, launch: &Launch) -> Result<Handle, Error> {
        let started = match &mut *self.backend() {
            Backend::Own(registry) => registry.launch(launch),
            Backend::Supervisor(supervisor, known) => {
                supervisor.launch(launch).inspect(|handle| known.push(*handle))
            }
        };
        started.map_err(|error| failed(error, |source| unrunnable(launch, source)))
    }

    /// Runs a command to its end; returns how it ended and the last lines of its output.
    pub(crate) fn run(&self, launch: &Launch, what: &str) -> Result<(Exit, Vec<String>), Error> {
        let handle = self.launch(launch)?;
        let mut ended = Ok(None);
        let waited = self.wait_until(what, f64::INFINITY, || {
            ended = self.poll(handle);
            !matches!(ended, Ok(None))
        });
        self.kill(handle);
        waited?;
        let exit = ended?.unwrap_or(Exit::Code(0));
        Ok((exit, folder::last_lines(&launch.log, QUOTED)))
    }

    /// As [`Self::run`], for a command that must succeed.
    pub(crate) fn run_well(&self, launch: &Launch, what: &str) -> Result<(), Error> {
        let (exit, last_lines) = self.run(launch, what)?;
        if exit.is_success() {
            return Ok(());
        }
        if crate::error::is_full_disk(&last_lines, &self.root) {
            return Err(Error::DiskFull { what: what.to_owned(), path: self.root.clone() });
        }
        Err(Error::CommandFailed { what: what.to_owned(), exit, last_lines })
    }

    /// How a process ended, or nothing while it runs.
    pub(crate) fn poll(&self, handle: Handle) -> Result<Option<Exit>, Error> {
        let polled = match &mut *self.backend() {
            Backend::Own(registry) => registry.poll(handle.id),
            Backend::Supervisor(supervisor, _) => supervisor.poll(handle.id),
        };
        polled.map_err(|error| Error::Supervisor(error.to_string()))
    }

    /// Asks a process to end, waits until its time limit, then ends it and everything that it started. Returns how it
    /// ended, if it did so by itself.
    pub(crate) fn stop(
        &self,
        handle: Handle,
        stop_signal: StopSignal,
        within_s: f64,
    ) -> Result<Option<Exit>, Error> {
        let asked = match &mut *self.backend() {
            Backend::Own(registry) => {
                registry.terminate(handle.id, stop_signal);
                Ok(())
            }
            Backend::Supervisor(supervisor, _) => supervisor.terminate(handle.id, stop_signal),
        };
        asked.map_err(|error| Error::Supervisor(error.to_string()))?;
        let clock = MonotonicClock::start();
        let mut exit = self.poll(handle)?;
        while exit.is_none() && clock.now().as_secs_f64() < within_s {
            thread::sleep(PAUSE);
            exit = self.poll(handle)?;
        }
        self.kill(handle);
        Ok(exit)
    }

    /// Ends a process and all that it started, at once.
    pub(crate) fn kill(&self, handle: Handle) {
        match &mut *self.backend() {
            Backend::Own(registry) => registry.kill(handle.id),
            Backend::Supervisor(supervisor, known) => {
                if supervisor.kill(handle.id).is_ok() {
                    known.retain(|other| *other != handle);
                }
            }
        }
    }

    /// Records the shared memory of a process, in case something else kills it.
    pub(crate) fn remember(&self, handle: Handle) {
        match &mut *self.backend() {
            Backend::Own(registry) => registry.remember(handle.id),
            Backend::Supervisor(supervisor, _) => drop(supervisor.remember(handle.id)),
        }
    }

    /// Waits until `is` returns true or the time is over; returns whether it did.
    pub(crate) fn wait_until(
        &self,
        what: &str,
        within_s: f64,
        mut is: impl FnMut() -> bool,
    ) -> Result<bool, Error> {
        let clock = MonotonicClock::start();
        loop {
            if is() {
                return Ok(true);
            }
            if self.interrupt.load(Ordering::Relaxed) {
                return Err(Error::Interrupted(what.to_owned()));
            }
            if clock.now().as_secs_f64() >= within_s {
                return Ok(false);
            }
            thread::sleep(PAUSE);
        }
    }

    fn backend(&self) -> MutexGuard<'_, Backend> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        match &mut *self.backend() {
            Backend::Own(registry) => registry.end(),
            Backend::Supervisor(supervisor, known) => {
                supervisor.end();
                if self.root.exists() {
                    crate::registry::remove_leftover(&self.root, known);
                }
            }
        }
    }
}

/// An error of the supervisor itself, or of the requested operation.
fn failed(error: io::Error, otherwise: impl FnOnce(io::Error) -> Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Error::Supervisor(error.to_string());
    }
    otherwise(error)
}

fn unrunnable(launch: &Launch, source: io::Error) -> Error {
    if crate::error::is_full(&source) {
        return Error::DiskFull { what: "a log".to_owned(), path: launch.log.clone() };
    }
    Error::Unrunnable { program: launch.program.clone(), source }
}
