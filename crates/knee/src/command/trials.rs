//! The trials of a study, one after the other: what `knee study`, `knee compare` and `knee calibrate` have in common.
//!
//! Which trial comes next is decided by `knee_study`; what stands while it runs is on a [`Bench`]. Does not
//! conclude and does not know where trials are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::fixture::Declaration;
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_fixture::{Fixture, Options as FixtureOptions, supervisor};
use knee_study::definition::{Load, Workload};
use knee_study::study::{Refusal, Study, Trial, TrialResult};

use super::run;
use super::study::result;
use crate::args::{RunArgs, RunReportFlags, RunScriptFlags};
use crate::exit::Exit;
use crate::problem::{Problem, printable};

mod arm;

mod bench;

mod place;

mod spending;

pub use bench::{Bench, Driver, Taken, Times};

/// What failed: with the code to end with.
pub type Failed = (Problem, Exit);

/// How trials are run and told about.
pub struct Course<'a> {
    /// Ends them early.
    pub control: &'a Control,
    /// No line a trial.
    pub quiet: bool,
    /// A paragraph on stderr.
    pub narrate: fn(&str),
    /// Said when they are ended early.
    pub interrupted: &'a str,
    /// Keeps what came of a trial before the next one begins.
    pub keep: &'a mut dyn FnMut(&Trial, &TrialResult) -> Result<(), Problem>,
}

impl Course<'_> {
    /// Runs all trials that are left and takes the bench down; what ended them before their time is returned.
    ///
    /// # Errors
    ///
    /// What failed so that nothing can be concluded from what was measured.
    pub fn run(mut self, study: &mut Study, mut bench: Bench) -> Result<Option<Failed>, Failed> {
        let fault = self.take_all(study, &mut bench)?;
        if self.control.request() != Request::Run {
            (self.narrate)(self.interrupted);
        }
        if let Some((problem, _)) = &fault {
            (self.narrate)(&problem.to_string());
        }
        bench.down().map_err(|error| broken(&error))?;
        Ok(fault)
    }

    fn take_all(&mut self, study: &mut Study, bench: &mut Bench) -> Result<Option<Failed>, Failed> {
        let clock = MonotonicClock::start();
        let mut pace = Pace::default();
        while self.control.request() == Request::Run
            && let Some(next) = study.next()
        {
            match bench.take(study, &next) {
                Ok(result) => {
                    (self.keep)(&next, &result).map_err(failed)?;
                    pace.ended(clock.now());
                    self.report(study, &next, &result, &pace);
                    // The trial is the one that was asked for.
                    study.record_result(&next, result).map_err(|refusal| failed(refusal_of(&refusal)))?;
                }
                Err(_) if self.control.request() != Request::Run => return Ok(None),
                Err(failure) => return Ok(Some(failure)),
            }
        }
        Ok(None)
    }

    /// A line on what came of a trial, with what is left.
    fn report(&self, study: &Study, trial: &Trial, result: &TrialResult, pace: &Pace) {
        if self.quiet {
            return;
        }
        let left = study.remaining().saturating_sub(1);
        (self.narrate)(&result::line(trial, result, left, pace.of(left)));
    }
}

/// How long trials take. The first one also builds and fills databases, so it does not count.
#[derive(Default)]
struct Pace {
    ended: u32,
    first: Nanos,
    last: Nanos,
}

impl Pace {
    /// One more trial has ended, so long after the first one began.
    fn ended(&mut self, at: Nanos) {
        self.ended += 1;
        self.last = at;
        if self.ended == 1 {
            self.first = at;
        }
    }

    /// How long so many more will take; `None` before two have ended.
    fn of(&self, trials: usize) -> Option<Nanos> {
        let ended = self.ended.checked_sub(1).filter(|ended| *ended > 0)?;
        let each = self.last.since(self.first).as_secs_f64() / f64::from(ended);
        Some(Nanos::from_secs_f64(each * trials as f64))
    }
}

/// What a study declares, standing; it gives up soon after somebody wants to stop.
pub struct Standing {
    /// What stands.
    pub fixture: Fixture,
    /// Tells the fixture, as long as this is kept.
    pub bridge: Bridge,
}

impl Standing {
    /// Brings up the databases and caches of a declaration, whose relative names are meant from `folder`.
    ///
    /// # Errors
    ///
    /// What is wrong with the declaration, or cannot be brought up.
    pub fn up(
        declaration: &Declaration,
        folder: &std::path::Path,
        control: &Control,
    ) -> Result<Self, Failed> {
        let unable = |error: std::io::Error| failed(Problem::new(error.to_string(), ""));
        let interrupt = Arc::new(AtomicBool::new(false));
        let bridge = Bridge::between(control.clone(), interrupt.clone()).map_err(unable)?;
        let supervisor = Some(supervisor::Program::this().map_err(unable)?);
        let options = FixtureOptions { supervisor, interrupt, ..FixtureOptions::new(folder) };
        Ok(Self { fixture: Fixture::up(declaration, &options).map_err(|error| broken(&error))?, bridge })
    }

    /// Refuses workloads whose environment has a place that will not be there.
    ///
    /// # Errors
    ///
    /// The place, and where it stands.
    pub fn check(&self, workloads: &[Workload]) -> Result<(), Failed> {
        for workload in workloads {
            let Load::Script { env, .. } = &workload.load else { continue };
            for (name, text) in env {
                let checked = self.fixture.check_text(text, &variable(&workload.name, name));
                checked.map_err(|error| broken(&error))?;
            }
        }
        Ok(())
    }
}

/// Where a variable of a workload's script stands.
fn variable(workload: &str, name: &str) -> String {
    format!("workloads.{workload}.env.{name}")
}

/// Tells whoever waits for the fixture that somebody wants to stop.
pub struct Bridge {
    over: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Bridge {
    /// How late a wish to stop may reach the fixture.
    const PERIOD: Duration = Duration::from_millis(50);

    fn between(control: Control, interrupt: Arc<AtomicBool>) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let ends = over.clone();
        let watch = move || {
            while !ends.load(Ordering::Relaxed) {
                if control.request() != Request::Run {
                    interrupt.store(true, Ordering::Relaxed);
                }
                std::thread::park_timeout(Self::PERIOD);
            }
        };
        let thread = std::thread::Builder::new().name("interrupt".to_owned()).spawn(watch)?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot panic, and if it did there is nothing left for it to do.
            let _ = thread.join();
        }
    }
}

/// Runs a k6 script against `url`, which it finds as `__ENV.BASE_URL`; `flags` say what else it is given.
///
/// # Errors
///
/// What is wrong with the script, or what ended it.
pub fn script(
    path: &str,
    url: &str,
    mut flags: RunScriptFlags,
    times: Times,
    control: &Control,
) -> Result<Taken, Failed> {
    flags.env.insert(0, format!("BASE_URL={url}"));
    let mut args = RunArgs::of(path);
    args.script_flags = flags;
    args.report = RunReportFlags { quiet: true, ..RunReportFlags::default() };
    run::whole::measure(&args, url, times.settle, control, |_| {})
}

/// Why a study cannot be had, for a person.
pub fn refusal_of(refusal: &Refusal) -> Problem {
    let hint = match refusal {
        Refusal::OtherStudy(_) => "leave --resume and --report-only out to begin anew",
        Refusal::MarginWithinNoise { .. } => "ask for more blocks, or a wider margin",
        _ => "",
    };
    Problem::new(refusal.to_string(), hint)
}

/// What the fixture could not do.
pub fn broken(error: &knee_fixture::Error) -> Failed {
    let exit = match error {
        knee_fixture::Error::Interrupted(_) => Exit::Interrupted,
        knee_fixture::Error::Declaration { .. }
        | knee_fixture::Error::Placeholder { .. }
        | knee_fixture::Error::Cycle { .. } => Exit::Configuration,
        _ => Exit::Failure,
    };
    (Problem::new(printable_lines(&error.to_string()), error.hint()), exit)
}

/// A text of somebody else's in several lines, without what would steer a terminal.
fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_trial_that_waits_for_a_build_does_not_lengthen_the_time_that_is_left() {
        let mut pace = Pace::default();
        pace.ended(Nanos::from_secs(90));
        assert_eq!(pace.of(2), None, "how much of it was the build is not known");
        pace.ended(Nanos::from_secs(97));
        pace.ended(Nanos::from_secs(104));
        assert_eq!(pace.of(10), Some(Nanos::from_secs(70)));
    }
}
