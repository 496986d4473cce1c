//! The steps of a sweep, one after the other.
//!
//! `knee_study::sweep` decides which step comes next and what the steps show. Does not send load and does not show
//! anything.

use std::path::PathBuf;

use knee_core::clock::MonotonicClock;
use knee_core::record::Run;
use knee_engine::control::{Control, Request};
use knee_study::sweep::{Config, Step, StepResult, Sweep};

use crate::cpu_use::CpuWatch;
use crate::error::Error;
use crate::saved_steps::SavedSteps;
use crate::{process, reset, resource};

/// Sends the load of a step.
pub trait StepSource {
    /// Runs one step, and returns what was measured.
    ///
    /// # Errors
    ///
    /// What cannot be sent, or failed on this machine.
    fn run(&mut self, step: &Step, control: &Control) -> Result<StepRun, Error>;
}

/// The run of a step.
pub struct StepRun {
    /// What was measured.
    pub run: Run,
    /// The shown name of its record; `None` if it was not saved.
    pub record: Option<String>,
    /// The file of its record.
    pub file: Option<PathBuf>,
    /// Requests per arrival.
    pub requests_per_arrival: f64,
}

/// What surrounds the steps.
pub struct Surroundings<'a> {
    /// Processes of the service; the CPU time is theirs and that of their descendants.
    pub pids: &'a [u32],
    /// The programs of this machine; `None` if the service is elsewhere.
    pub watch: Option<&'a CpuWatch>,
    /// The command that resets the service, run before each step that asks for it.
    pub reset: Option<&'a str>,
    /// The steps of an earlier process, and where those of this one are saved; `None` if they are not.
    pub saved: Option<&'a mut SavedSteps>,
}

/// Runs step after step until none is left, the user interrupts, or one fails. `observe` is called after each step.
pub fn climb(
    config: &Config,
    mut around: Surroundings<'_>,
    source: &mut dyn StepSource,
    control: &Control,
    observe: &mut dyn FnMut(&Sweep),
) -> (Sweep, Option<Error>) {
    let mut sweep = Sweep::new(config.clone());
    if let Some(Err(error)) = around.saved.as_ref().map(|saved| saved.replay(&mut sweep)) {
        return (sweep, Some(error));
    }
    while control.request() == Request::Run
        && let Some(step) = sweep.next()
    {
        match measure(&mut around, source, &step, control, sweep.trials().is_empty()) {
            Ok(result) => {
                sweep.record_result(result);
            }
            Err(Error::Interrupted) => break,
            // What ended because of the user is no failure.
            Err(_) if control.request() != Request::Run => break,
            Err(error) => return (sweep, Some(error)),
        }
        if control.request() == Request::Run {
            observe(&sweep);
        }
    }
    // Here and not in the loop, because it can also be left between two steps.
    if control.request() != Request::Run {
        sweep.interrupt();
    }
    (sweep, None)
}

fn measure(
    around: &mut Surroundings<'_>,
    source: &mut dyn StepSource,
    step: &Step,
    control: &Control,
    first: bool,
) -> Result<StepResult, Error> {
    if let Some(command) = around.reset.filter(|_| step.reset) {
        reset::run(command, step.number, control)?;
    }
    let clock = MonotonicClock::start();
    let programs = around.watch.map(|watch| (watch, watch.look()));
    let before = process::used_by_all(around.pids);
    let StepRun { run, record, file, requests_per_arrival } = source.run(step, control)?;
    let after = process::used_by_all(around.pids);
    let used = programs.map(|(watch, before)| watch.used(&before, &watch.look())).unwrap_or_default();
    if first {
        Error::if_no_success(&run, "the first step")?;
    }
    let mut result = StepResult::of(&run, requests_per_arrival);
    result.took = clock.now().as_secs_f64();
    result.cpu = before.zip(after).map(|(before, after)| after.cpu.since(before.cpu).as_secs_f64());
    result.programs = used.programs;
    result.resources = resource::of(&run);
    result.host_busy = used.busy.or(result.host_busy);
    result.record = record;
    if let Some(saved) = around.saved.as_mut().filter(|_| !result.interrupted) {
        saved.add(step, file.as_deref(), &result)?;
    }
    Ok(result)
}
