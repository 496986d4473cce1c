//! The rig's hands: starts, asks and ends processes, through the guard where there is one.
//!
//! Waits, with a limit and with an ear for somebody who wants to stop. Does not know services from databases.

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
use crate::guard::{Guard, Program};
use crate::keeper::{Handle, Keeper, Launch, Polite};

/// How often something that is waited for is looked at.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// How many lines of a log an error quotes.
pub(crate) const QUOTED: usize = 12;

enum Side {
    /// The guard does it, and these are the processes to be ended should it be gone.
    Guard(Guard, Vec<Handle>),
    /// This process does it.
    Own(Keeper),
}

/// Starts and ends processes. Dropping it ends all of them and removes the rig's folder.
pub(crate) struct Hands {
    side: Mutex<Side>,
    interrupt: Arc<AtomicBool>,
    pub(crate) root: PathBuf,
    /// How many times more CPU the generator gets than anything that is started, if it is preferred.
    pub(crate) outweighed: Option<u32>,
}

impl Hands {
    /// With a folder of the rig's own inside of `parent`.
    pub(crate) fn new(
        guard: Option<&Program>,
        parent: &Path,
        interrupt: Arc<AtomicBool>,
        outweighed: Option<u32>,
    ) -> Result<Self, Error> {
        let unmade = |error| Error::folder("create a folder in", parent, error);
        let (side, root) = if let Some(program) = guard {
            let mut guard = Guard::start(program)
                .map_err(|source| Error::Unrunnable { program: program.path.clone(), source })?;
            let root = guard.root(parent).map_err(|error| failed(error, unmade))?;
            (Side::Guard(guard, Vec::new()), root)
        } else {
            let mut keeper = Keeper::default();
            let root = keeper.root(parent).map_err(unmade)?;
            (Side::Own(keeper), root)
        };
        Ok(Self { side: Mutex::new(side), interrupt, root, outweighed })
    }

    /// Starts a process.
    pub(crate) fn launch(&self, launch: &Launch) -> Result<Handle, Error> {
        let started = match &mut *self.side() {
            Side::Own(keeper) => keeper.launch(launch),
            Side::Guard(guard, known) => guard.launch(launch).inspect(|handle| known.push(*handle)),
        };
        started.map_err(|error| failed(error, |source| unrunnable(launch, source)))
    }

    /// Runs a command to its end and returns how it ended, and the last lines that it said.
    pub(crate) fn run(&self, launch: &Launch, what: &str) -> Result<(Exit, Vec<String>), Error> {
        let handle = self.launch(launch)?;
        let mut ended = Ok(None);
        let waited = self.wait_until(what, f64::INFINITY, || {
            ended = self.poll(handle);
            !matches!(ended, Ok(None))
        });
        self.bury(handle);
        waited?;
        let exit = ended?.unwrap_or(Exit::Code(0));
        Ok((exit, folder::last_lines(&launch.log, QUOTED)))
    }

    /// As [`Self::run`], for a command that has to come to a good end.
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
        let polled = match &mut *self.side() {
            Side::Own(keeper) => keeper.poll(handle.id),
            Side::Guard(guard, _) => guard.poll(handle.id),
        };
        polled.map_err(|error| Error::Guard(error.to_string()))
    }

    /// Asks a process to end, waits for as long as it may take, then ends it and all that it started. Says
    /// how it ended, if it did so by itself.
    pub(crate) fn stop(&self, handle: Handle, polite: Polite, within_s: f64) -> Result<Option<Exit>, Error> {
        let asked = match &mut *self.side() {
            Side::Own(keeper) => {
                keeper.ask(handle.id, polite);
                Ok(())
            }
            Side::Guard(guard, _) => guard.ask(handle.id, polite),
        };
        asked.map_err(|error| Error::Guard(error.to_string()))?;
        let clock = MonotonicClock::start();
        let mut exit = self.poll(handle)?;
        while exit.is_none() && clock.now().as_secs_f64() < within_s {
            thread::sleep(PAUSE);
            exit = self.poll(handle)?;
        }
        self.bury(handle);
        Ok(exit)
    }

    /// Ends a process and all that it started, at once.
    pub(crate) fn bury(&self, handle: Handle) {
        match &mut *self.side() {
            Side::Own(keeper) => keeper.bury(handle.id),
            Side::Guard(guard, known) => {
                if guard.bury(handle.id).is_ok() {
                    known.retain(|other| *other != handle);
                }
            }
        }
    }

    /// Remembers what shared memory a process has, for the case that others kill it.
    pub(crate) fn remember(&self, handle: Handle) {
        match &mut *self.side() {
            Side::Own(keeper) => keeper.remember(handle.id),
            Side::Guard(guard, _) => drop(guard.remember(handle.id)),
        }
    }

    /// Looks until `is` or until the time is over, and says whether it came to be.
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

    fn side(&self) -> MutexGuard<'_, Side> {
        self.side.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        match &mut *self.side() {
            Side::Own(keeper) => keeper.end(),
            Side::Guard(guard, known) => {
                guard.end();
                if self.root.exists() {
                    crate::keeper::rescue(&self.root, known);
                }
            }
        }
    }
}

/// An error of the guard itself, or of what it was asked to do.
fn failed(error: io::Error, otherwise: impl FnOnce(io::Error) -> Error) -> Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Error::Guard(error.to_string());
    }
    otherwise(error)
}

fn unrunnable(launch: &Launch, source: io::Error) -> Error {
    if crate::error::is_full(&source) {
        return Error::DiskFull { what: "a log".to_owned(), path: launch.log.clone() };
    }
    Error::Unrunnable { program: launch.program.clone(), source }
}
