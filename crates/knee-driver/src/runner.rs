//! One trial: the service as the variant wants it, loaded as the source does, and what was measured.
//!
//! Does not decide what comes next, and does not interpret what was measured.

use knee_core::record::{Ending, Run};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_fixture::{Fixture, Running, Store};
use knee_study::definition::{Load, Variant, Workload};
use knee_study::study::{CUT_SHORT, Measured, Placement, Spent, Study, Trial, TrialResult, TrialWarning};

use crate::cost::{Observed, Watch};
use crate::error::Error;
use crate::fixture::{StudyFixture, variable};
use crate::placement;
use crate::process::used;
use crate::variant::{others, overrides};

/// The run of a trial.
pub struct Loaded {
    /// What was measured.
    pub run: Run,
    /// The name of its record, as it is shown; `None` if it was not saved.
    pub record: Option<String>,
}

/// Sends the load of a trial.
pub trait LoadSource {
    /// Where a variant answers already; without an address its service is started.
    fn address(&self, _variant: &Variant) -> Option<String> {
        None
    }

    /// Loads `url` as the workload says, and returns what was measured.
    ///
    /// # Errors
    ///
    /// What cannot be sent, or what failed on this machine.
    fn load(&self, workload: &Workload, url: &str, times: Times, control: &Control) -> Result<Loaded, Error>;
}

/// How long a trial loads, and with which arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Load that is not measured, at the beginning.
    pub settle: Nanos,
    /// Load that is measured.
    pub measure: Nanos,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// Runs trials, and keeps the service of the last one for the next if the next does not need a fresh one.
pub struct TrialRunner {
    /// `None` when nothing must be started.
    fixture: Option<StudyFixture>,
    source: Box<dyn LoadSource>,
    control: Control,
    /// The variant whose service runs, the service, and where it answers.
    running: Option<(String, String, Running)>,
}

/// What a trial ended with.
pub(crate) struct Outcome {
    /// For the study.
    pub(crate) result: TrialResult,
    /// The last lines of a service that ended or did not come up.
    pub(crate) output: Vec<String>,
    /// The error that it is if no trial of the workload has a success.
    pub(crate) no_success: Option<Error>,
}

/// Why no service can be had.
enum Absent {
    /// The fixture says so.
    Fixture(knee_fixture::Error),
    /// There is no fixture.
    Undeclared,
}

impl From<knee_fixture::Error> for Absent {
    fn from(error: knee_fixture::Error) -> Self {
        Self::Fixture(error)
    }
}

impl TrialRunner {
    /// A runner without a running service.
    pub fn new(fixture: Option<StudyFixture>, source: Box<dyn LoadSource>, control: Control) -> Self {
        Self { fixture, source, control, running: None }
    }

    /// Runs a trial. What the service does wrong is a result, not an error.
    pub(crate) fn run(&mut self, study: &Study, trial: &Trial) -> Result<Outcome, Error> {
        let variant = study.variant_of(trial).cloned().ok_or(Error::Missing("variant"))?;
        let workload = study.workload_of(trial).cloned().ok_or(Error::Missing("workload"))?;
        let (running, fresh) = match self.service(study, trial, &variant, &workload.service) {
            Ok(found) => found,
            Err(Absent::Fixture(error)) => return result_of(error),
            Err(Absent::Undeclared) => return Err(Error::Missing("service")),
        };
        let workload = match self.filled(workload) {
            Ok(workload) => workload,
            Err(error) => return result_of(error),
        };
        let times =
            Times { settle: study.settle(fresh), measure: study.measure(trial), seed: trial.arrival_seed };
        let place = self.place(&workload, &running);
        let (Loaded { run, record }, spent) = self.load(&workload, &running, times)?;
        if let Some(Err(error)) = self.fixture.as_ref().map(|fixture| fixture.fixture.check()) {
            self.running = None;
            return result_of(error);
        }
        if matches!(run.ending, Ending::Interrupted | Ending::Aborted) {
            return Err(Error::Interrupted);
        }
        let mut measured = Measured { placement: place, ..Measured::of(&run, spent, record) };
        measured.warnings.extend(cut_short(run.window(), times.measure));
        let what = format!("the first trial of `{}`", workload.name);
        let no_success = Error::if_no_success(&run, &what).err();
        Ok(Outcome { result: TrialResult::Measured(measured), output: Vec::new(), no_success })
    }

    /// Sends the load, and measures meanwhile what it costs.
    fn load(&self, workload: &Workload, running: &Running, times: Times) -> Result<(Loaded, Spent), Error> {
        let pids: Vec<u32> = running.pid.into_iter().collect();
        let stores = self.stores().into_iter().flat_map(|store| store.pids).collect();
        // That of another run, if this one should never begin.
        let _ = self.control.take_clock();
        let watch = Watch::start(pids.clone(), stores);
        let loaded = self.source.load(workload, &running.url, times, &self.control);
        let observed = watch.end(self.control.take_clock());
        let loaded = loaded?;
        let memory = used(&pids).map(|used| used.memory);
        let spent = Spent { memory, ..spent(&loaded.run, &observed) };
        Ok((loaded, spent))
    }

    fn stores(&self) -> Vec<Store> {
        self.fixture.as_ref().map(|fixture| fixture.fixture.stores()).unwrap_or_default()
    }

    /// On which CPUs the trial runs.
    fn place(&self, workload: &Workload, running: &Running) -> Placement {
        let fixture = self.fixture.as_ref().map(|fixture| &fixture.fixture);
        let unavailable = fixture.map_or(&[][..], Fixture::unavailable);
        let weight = fixture.and_then(Fixture::generator_weight);
        placement::of(&workload.service, running, &self.stores(), unavailable, weight)
    }

    /// The service as the trial wants it, and whether its process is fresh.
    fn service(
        &mut self,
        study: &Study,
        trial: &Trial,
        variant: &Variant,
        name: &str,
    ) -> Result<(Running, bool), Absent> {
        if let Some(url) = self.source.address(variant) {
            return Ok((Running { url, pid: None, log: None, unavailable: Vec::new() }, false));
        }
        let fixture = &mut self.fixture.as_mut().ok_or(Absent::Undeclared)?.fixture;
        if trial.reset {
            self.running = None;
            fixture.reset(name)?;
        }
        let known = self.running.take().filter(|(of, service, _)| *of == variant.name && service == name);
        let (running, fresh) = if let Some((_, _, running)) = known.filter(|_| !trial.restart) {
            (running, false)
        } else {
            let definition = study.definition();
            for other in others(definition, variant, name) {
                fixture.start(&other, &overrides(definition, variant, &other))?;
            }
            (fixture.start(name, &overrides(definition, variant, name))?, true)
        };
        self.running = Some((variant.name.clone(), name.to_owned(), running.clone()));
        Ok((running, fresh))
    }

    /// A workload with the places in its environment filled in, and what they name running.
    fn filled(&mut self, mut workload: Workload) -> Result<Workload, knee_fixture::Error> {
        if let (Some(fixture), Load::Script { env, .. }) = (&mut self.fixture, &mut workload.load) {
            for (name, text) in env {
                *text = fixture.fixture.fill(text, &variable(&workload.name, name))?;
            }
        }
        Ok(workload)
    }

    /// Stops everything.
    pub(crate) fn down(self) -> Result<(), Error> {
        self.fixture.map_or(Ok(()), StudyFixture::down)
    }
}

/// What the measured requests cost. Where the window was too short to look into, what the whole trial cost is shared
/// out between those requests and the others.
fn spent(run: &Run, observed: &Observed) -> Spent {
    let from = run.head.measured_from;
    let [service, stores, generator] =
        observed.between(from, from.saturating_add(run.window())).unwrap_or_else(|| {
            let measured = run.measured.accounting().planned as f64;
            let share = measured / (measured + run.warm_up.accounting().planned as f64).max(1.0);
            observed.whole().map(|cpu| Some(Nanos((cpu?.as_nanos() as f64 * share) as u64)))
        });
    Spent { service, stores, generator, memory: None }
}

/// What to say of a script whose own options end it before the time that the study declares.
fn cut_short(window: Nanos, measure: Nanos) -> Option<TrialWarning> {
    let (window, measure) = (window.as_secs_f64(), measure.as_secs_f64());
    (window < measure * 0.95).then(|| {
        let message = format!(
            "the script's options end it after {window:.1} s of measuring, `measure` is {measure:.1} s"
        );
        TrialWarning::new(CUT_SHORT.code, message)
    })
}

/// The result of a trial whose service failed; other errors are failures of the machine or of the study.
fn result_of(error: knee_fixture::Error) -> Result<Outcome, Error> {
    // One line for the report; all lines go with the event.
    let last = error.last_lines().last().map(|line| format!(": {line}")).unwrap_or_default();
    let reason = error.summary() + &last;
    let result = match &error {
        knee_fixture::Error::NeverReady { .. } | knee_fixture::Error::Died { at_start: true, .. } => {
            TrialResult::NeverReady { reason }
        }
        knee_fixture::Error::Died { .. } => TrialResult::Died { reason },
        _ => return Err(error.into()),
    };
    Ok(Outcome { result, output: error.last_lines().to_vec(), no_success: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_ends_before_the_declared_time_is_reported_and_one_that_ends_with_it_is_not() {
        let warning = cut_short(Nanos::from_secs(3), Nanos::from_secs(5)).unwrap();
        assert_eq!(
            warning.message,
            "the script's options end it after 3.0 s of measuring, `measure` is 5.0 s"
        );
        assert_eq!(cut_short(Nanos::from_millis(4_900), Nanos::from_secs(5)), None);
    }
}
