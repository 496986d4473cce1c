//! The steps of a sweep, one after the other.
//!
//! `knee_study::sweep` decides which step comes next and what the steps show. Does not send load and does not show
//! anything.

use knee_core::clock::MonotonicClock;
use knee_core::record::Run;
use knee_engine::control::{Control, Request};
use knee_study::sweep::{Config, Step, StepResult, Sweep};

use crate::error::Error;
use crate::process;

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
    /// Requests per arrival.
    pub requests_per_arrival: f64,
}

/// Runs step after step until none is left, the user interrupts, or one fails. `observe` is called after each step.
/// CPU time is that of `pids` and their descendants.
pub fn climb(
    config: &Config,
    pids: &[u32],
    source: &mut dyn StepSource,
    control: &Control,
    observe: &mut dyn FnMut(&Sweep),
) -> (Sweep, Option<Error>) {
    let mut sweep = Sweep::new(config.clone());
    while control.request() == Request::Run
        && let Some(step) = sweep.next()
    {
        match measure(pids, source, &step, control, sweep.trials().is_empty()) {
            Ok(result) => {
                sweep.record_result(result);
            }
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
    pids: &[u32],
    source: &mut dyn StepSource,
    step: &Step,
    control: &Control,
    first: bool,
) -> Result<StepResult, Error> {
    let clock = MonotonicClock::start();
    let before = process::used_by_all(pids);
    let StepRun { run, record, requests_per_arrival } = source.run(step, control)?;
    let after = process::used_by_all(pids);
    if first {
        Error::if_no_success(&run, "the first step")?;
    }
    let mut result = StepResult::of(&run, requests_per_arrival);
    result.took = clock.now().as_secs_f64();
    result.cpu = before.zip(after).map(|(before, after)| after.cpu.since(before.cpu).as_secs_f64());
    result.record = record;
    Ok(result)
}
