//! Runs one trial: starts the service of the variant, loads it, and measures.
//!
//! Does not choose trials and does not interpret measurements.

use std::collections::BTreeMap;

use knee_core::clock::MonotonicClock;
use knee_core::record::{Ending, Run};
use knee_core::unit::Nanos;
use knee_engine::control::{Control, Request};
use knee_fixture::{Fixture, Preparation, Running, Store};
use knee_study::definition::{Definition, Load, Variant, Workload};
use knee_study::metric::Metric;
use knee_study::study::{
    CUT_SHORT, Figure, Measured, Placement, Spent, StatementWork, Study, Trial, TrialResult, TrialWarning,
};

use crate::cost::{Observed, Probes, Watch, Watched};
use crate::error::Error;
use crate::fixture::StudyFixture;
use crate::variant::{others, overrides};
use crate::{placement, resource};

/// The run of a trial.
pub struct Loaded {
    /// What was measured.
    pub run: Run,
    /// The name of its record, as it is shown; `None` if it was not saved.
    pub record: Option<String>,
    /// Mean duration of the script's iterations after the warm-up; `None` without a script or an iteration.
    pub iteration: Option<Nanos>,
}

/// Sends the load of a trial.
pub trait LoadSource {
    /// The address of a variant that is already running; without one, its service is started.
    fn address(&self, _variant: &Variant) -> Option<String> {
        None
    }

    /// Loads the subject as the workload says, and returns what was measured.
    ///
    /// # Errors
    ///
    /// What cannot be sent, or what failed on this machine.
    fn load(
        &self,
        workload: &Workload,
        subject: &Subject<'_>,
        times: Times,
        control: &Control,
    ) -> Result<Loaded, Error>;
}

/// What a trial loads.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The trial; `None` if it is none of the study, such as a pilot.
    pub trial: Option<&'a Trial>,
    /// Its address.
    pub url: &'a str,
    /// What was started for it, as `--observe` takes it: its process, its page of metrics and the stores. Contains
    /// passwords.
    pub started: &'a [String],
}

/// The durations and the arrival seed of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Warm-up at the beginning.
    pub settle: Nanos,
    /// Measured time.
    pub measure: Nanos,
    /// Seed of the arrivals.
    pub seed: u64,
}

/// Runs trials, and keeps the service for the next trial if that one does not need a fresh process.
pub struct TrialRunner {
    /// `None` if nothing must be started.
    fixture: Option<StudyFixture>,
    source: Box<dyn LoadSource>,
    control: Control,
    /// The variant whose service runs, the service, and its address.
    running: Option<(String, String, Running)>,
    spans: Spans,
}

/// What the time of a study was spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Until the first service was ready: builds and seeds.
    pub first_start: Nanos,
    /// Resets and starts of services, after the first one.
    pub starts: Nanos,
    /// Before and after the load of trials: virtual users are created, the last responses are waited for.
    pub around: Nanos,
    /// Under load, warm-ups included.
    pub load: Nanos,
}

impl Spans {
    /// The share of the time without load, 0 to 1, not counting the first start; `None` before the first load.
    pub fn overhead(&self) -> Option<f64> {
        let idle = self.starts.as_secs_f64() + self.around.as_secs_f64();
        let load = self.load.as_secs_f64();
        (load > 0.0).then(|| idle / (idle + load))
    }

    fn started(&mut self, took: Nanos) {
        let span = if self.load == Nanos::ZERO { &mut self.first_start } else { &mut self.starts };
        *span += took;
    }

    fn loaded(&mut self, took: Nanos, planned: Nanos) {
        let load = planned.min(took);
        self.load += load;
        self.around += took.since(load);
    }
}

/// The result of a trial.
pub(crate) struct Outcome {
    /// For the study.
    pub(crate) result: TrialResult,
    /// The last lines of a service that ended or did not come up.
    pub(crate) output: Vec<String>,
    /// The error to report if no trial of the workload has a success.
    pub(crate) no_success: Option<Error>,
}

/// Gets each build and each seed before it runs.
type Report<'a> = &'a mut dyn FnMut(Preparation<'_>);

/// Why there is no service.
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
        Self { fixture, source, control, running: None, spans: Spans::default() }
    }

    /// Runs a trial. A failure of the service is a result, not an error.
    pub(crate) fn run(&mut self, study: &Study, trial: &Trial, report: Report<'_>) -> Result<Outcome, Error> {
        let variant = study.variant_of(trial).cloned().ok_or(Error::Missing("variant"))?;
        let workload = study.workload_of(trial).cloned().ok_or(Error::Missing("workload"))?;
        let clock = MonotonicClock::start();
        let service = self.service(study, trial, (&variant, &workload.service), report);
        self.spans.started(clock.now());
        let (running, fresh) = match service {
            Ok(found) => found,
            Err(Absent::Fixture(error)) => return result_of(error),
            Err(Absent::Undeclared) => return Err(Error::Missing("service")),
        };
        let times =
            Times { settle: study.settle(fresh), measure: study.measure(trial), seed: trial.arrival_seed };
        let workload = match self.filled(workload, times, report) {
            Ok(workload) => workload,
            Err(error) => return result_of(error),
        };
        let place = self.place(&workload, &running);
        let probes = self.probes(study);
        let clock = MonotonicClock::start();
        let (Loaded { run, record, iteration }, observed) =
            self.load((&workload, Some(trial)), &running, times, probes)?;
        let spent =
            Spent { statements: statements(study.definition(), &run, &observed), ..spent(&run, &observed) };
        self.spans.loaded(clock.now(), run.head.measured_from.saturating_add(run.window()));
        if let Some(Err(error)) = self.fixture.as_ref().map(|fixture| fixture.fixture.check()) {
            self.running = None;
            return result_of(error);
        }
        if matches!(run.ending, Ending::Interrupted | Ending::Aborted) {
            return Err(Error::Interrupted);
        }
        let mut measured = Measured { placement: place, ..Measured::of(&run, &spent, record) };
        measured.resources = resource::of_trial(&run);
        let iteration = iteration.map(|mean| Figure::from(mean.as_nanos() as f64));
        measured.figures.extend(iteration.map(|mean| (Metric::IterationTime, mean)));
        measured.warnings.extend(cut_short(run.window(), times.measure));
        let what = format!("the first trial of `{}`", workload.name);
        let no_success = Error::if_no_success(&run, &what).err();
        Ok(Outcome { result: TrialResult::Measured(measured), output: Vec::new(), no_success })
    }

    /// Measures a trial that is not part of the study; `None` if its service does not survive it.
    pub(crate) fn pilot(
        &mut self,
        study: &Study,
        trial: &Trial,
        times: Times,
        report: Report<'_>,
    ) -> Result<Option<Measured>, Error> {
        let variant = study.variant_of(trial).cloned().ok_or(Error::Missing("variant"))?;
        let workload = study.workload_of(trial).cloned().ok_or(Error::Missing("workload"))?;
        let service = workload.service.clone();
        let Ok((running, _)) = self.service(study, trial, (&variant, &service), report) else {
            return Ok(None);
        };
        let Ok(workload) = self.filled(workload, times, report) else { return Ok(None) };
        let loaded = self.load((&workload, None), &running, times, Probes::default());
        self.running = None;
        let Some(fixture) = &mut self.fixture else { return Ok(None) };
        let survived = fixture.fixture.check().is_ok();
        fixture.fixture.reset(&service)?;
        let (Loaded { run, record, .. }, observed) = loaded?;
        Ok(survived.then(|| Measured::of(&run, &spent(&run, &observed), record)))
    }

    /// Loads a variant outside of any trial and returns the whole run; its service has ended afterwards.
    pub(crate) fn look(
        &mut self,
        study: &Study,
        trial: &Trial,
        times: Times,
        report: Report<'_>,
    ) -> Result<Loaded, Error> {
        let variant = study.variant_of(trial).cloned().ok_or(Error::Missing("variant"))?;
        let workload = study.workload_of(trial).cloned().ok_or(Error::Missing("workload"))?;
        let service = workload.service.clone();
        let (running, _) = match self.service(study, trial, (&variant, &service), report) {
            Ok(found) => found,
            Err(Absent::Fixture(error)) => return Err(error.into()),
            Err(Absent::Undeclared) => return Err(Error::Missing("service")),
        };
        let workload = self.filled(workload, times, report)?;
        let loaded = self.load((&workload, None), &running, times, Probes::default());
        self.running = None;
        let (loaded, _) = loaded?;
        if let Some(fixture) = &mut self.fixture {
            fixture.fixture.check()?;
            fixture.fixture.stop(&service)?;
        }
        if matches!(loaded.run.ending, Ending::Interrupted | Ending::Aborted) {
            return Err(Error::Interrupted);
        }
        Error::if_no_success(&loaded.run, &format!("`{}`", workload.name))?;
        Ok(loaded)
    }

    /// Sends the load of the following trials with `source`.
    pub(crate) fn send_with(&mut self, source: Box<dyn LoadSource>) {
        self.source = source;
    }

    /// What the time was spent on until now.
    pub(crate) const fn spans(&self) -> Spans {
        self.spans
    }

    /// Whether the user asked for a stop.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.control.request() != Request::Run
    }

    /// The services and stores, if any are started.
    pub(crate) fn fixture(&mut self) -> Option<&mut Fixture> {
        self.fixture.as_mut().map(|fixture| &mut fixture.fixture)
    }

    /// Sends the load, and looks meanwhile at what it costs.
    fn load(
        &self,
        (workload, trial): (&Workload, Option<&Trial>),
        running: &Running,
        times: Times,
        probes: Probes,
    ) -> Result<(Loaded, Observed), Error> {
        let service: Vec<u32> = running.pid.into_iter().collect();
        let started = started(running, &self.stores());
        let subject = Subject { trial, url: &running.url, started: &started };
        let stores = self.stores().into_iter().flat_map(|store| store.pids).collect();
        // That of another run, if this one should never begin.
        let _ = self.control.take_clock();
        let watch = Watch::start(Watched { service, stores, probes });
        let loaded = self.source.load(workload, &subject, times, &self.control);
        let observed = watch.end(self.control.take_clock());
        Ok((loaded?, observed))
    }

    /// How to ask the databases for what the study wants to know.
    fn probes(&self, study: &Study) -> Probes {
        let Some(fixture) = self.fixture.as_ref().map(|fixture| &fixture.fixture) else {
            return Probes::default();
        };
        let named = !study.definition().statements.is_empty();
        Probes {
            activity: study.asks_for(Metric::is_of_postgres).then(|| fixture.activity()),
            statements: named.then(|| fixture.statements()).flatten(),
        }
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

    /// The service that the trial needs, and whether its process is fresh.
    fn service(
        &mut self,
        study: &Study,
        trial: &Trial,
        (variant, name): (&Variant, &str),
        report: Report<'_>,
    ) -> Result<(Running, bool), Absent> {
        if let Some(url) = self.source.address(variant) {
            let running = Running { url, pid: None, metrics: None, log: None, unavailable: Vec::new() };
            return Ok((running, false));
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
                fixture.start_reporting(&other, &overrides(definition, variant, &other), report)?;
            }
            (fixture.start_reporting(name, &overrides(definition, variant, name), report)?, true)
        };
        self.running = Some((variant.name.clone(), name.to_owned(), running.clone()));
        Ok((running, fresh))
    }

    /// A workload with the placeholders of its environment filled in; the services that these name are running.
    fn filled(
        &mut self,
        mut workload: Workload,
        times: Times,
        report: Report<'_>,
    ) -> Result<Workload, knee_fixture::Error> {
        let lasts = times.settle.saturating_add(times.measure);
        if let (Some(fixture), Load::Script { env, .. }) = (&mut self.fixture, &mut workload.load) {
            for (name, text) in env {
                *text = fixture.fill(text, (workload.name.as_str(), name.as_str()), lasts, report)?;
            }
        }
        Ok(workload)
    }

    /// Stops everything.
    pub(crate) fn down(self) -> Result<(), Error> {
        self.fixture.map_or(Ok(()), StudyFixture::down)
    }
}

/// What was started, as `--observe` takes it.
pub(crate) fn started(running: &Running, stores: &[Store]) -> Vec<String> {
    let process = running.pid.map(|pid| format!("pid:{pid}"));
    let page = running.metrics.as_ref().map(|url| format!("prometheus:{url}"));
    let servers = stores.iter().flat_map(|store| [Some(store.url.clone()), store.replica_url.clone()]);
    [process, page].into_iter().chain(servers).flatten().collect()
}

/// Cost of the measured requests. If the window was too short for samples, the CPU time of the whole trial is divided
/// between those requests and the others, and the work of databases is unknown.
fn spent(run: &Run, observed: &Observed) -> Spent {
    let from = run.head.measured_from;
    let to = from.saturating_add(run.window());
    let [service, stores, generator] = observed.between(from, to).unwrap_or_else(|| {
        let measured = run.measured.accounting().planned as f64;
        let share = measured / (measured + run.warm_up.accounting().planned as f64).max(1.0);
        observed.whole().map(|cpu| Some(Nanos((cpu?.as_nanos() as f64 * share) as u64)))
    });
    let activity = observed.activity(from, to);
    Spent {
        service,
        stores,
        generator,
        memory: observed.memory(),
        blocks: activity.map(|activity| activity.blocks),
        wal_bytes: activity.map(|activity| activity.wal_bytes),
        statements: BTreeMap::new(),
    }
}

/// Executions of the statements that the study names, by these names; nothing if the databases did not count them.
fn statements(definition: &Definition, run: &Run, observed: &Observed) -> BTreeMap<String, StatementWork> {
    let from = run.head.measured_from;
    let Some(executed) = observed.executed(from, from.saturating_add(run.window())) else {
        return BTreeMap::new();
    };
    let named = definition.statements.iter().map(|(name, statement)| {
        let matching =
            executed.statements.iter().filter(|(known, _)| statement.is(&known.store, &known.text));
        let nothing = StatementWork { calls: 0, time: Nanos::ZERO, share: executed.share };
        let work = matching.fold(nothing, |sum, (_, work)| StatementWork {
            calls: sum.calls + work.calls,
            time: sum.time + work.time,
            ..sum
        });
        (name.clone(), work)
    });
    named.collect()
}

/// The warning if a script's own options end it before the time that the study declares.
fn cut_short(window: Nanos, measure: Nanos) -> Option<TrialWarning> {
    let (window, measure) = (window.as_secs_f64(), measure.as_secs_f64());
    (window < measure * 0.95).then(|| {
        let message = format!(
            "the script's options end the script after {window:.1} s, but `measure` is {measure:.1} s"
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
    fn the_overhead_is_the_time_without_load_after_the_first_start() {
        let mut spans = Spans::default();
        assert_eq!(spans.overhead(), None);
        // A build of a minute, then trials of 8 s that take 9 s, each after a start of 1 s.
        spans.started(Nanos::from_secs(60));
        spans.loaded(Nanos::from_secs(9), Nanos::from_secs(8));
        spans.started(Nanos::from_secs(1));
        spans.loaded(Nanos::from_secs(9), Nanos::from_secs(8));
        let expected = Spans {
            first_start: Nanos::from_secs(60),
            starts: Nanos::from_secs(1),
            around: Nanos::from_secs(2),
            load: Nanos::from_secs(16),
        };
        assert_eq!(spans, expected);
        assert!((spans.overhead().unwrap() - 3.0 / 19.0).abs() < 1e-9);
        // A trial that was cut off had less load than planned.
        spans.loaded(Nanos::from_secs(2), Nanos::from_secs(8));
        assert_eq!((spans.load, spans.around), (Nanos::from_secs(18), Nanos::from_secs(2)));
    }

    #[test]
    fn the_declared_page_of_metrics_is_observed_with_the_process_and_the_stores() {
        let running = |metrics: Option<&str>| Running {
            url: "http://127.0.0.1:4000".to_owned(),
            pid: Some(7),
            metrics: metrics.map(str::to_owned),
            log: None,
            unavailable: Vec::new(),
        };
        let store = Store {
            name: "redis.cache".to_owned(),
            url: "redis://127.0.0.1:6400".to_owned(),
            replica_url: None,
            pids: Vec::new(),
            unavailable: Vec::new(),
        };
        let page = "http://127.0.0.1:4000/metrics";
        let all = ["pid:7", "prometheus:http://127.0.0.1:4000/metrics", "redis://127.0.0.1:6400"];
        assert_eq!(started(&running(Some(page)), std::slice::from_ref(&store)), all);
        assert_eq!(started(&running(None), &[store]), ["pid:7", "redis://127.0.0.1:6400"]);
    }

    #[test]
    fn a_script_that_ends_before_the_declared_time_is_reported_and_one_that_ends_with_it_is_not() {
        let warning = cut_short(Nanos::from_secs(3), Nanos::from_secs(5)).unwrap();
        assert_eq!(
            warning.message,
            "the script's options end the script after 3.0 s, but `measure` is 5.0 s"
        );
        assert_eq!(cut_short(Nanos::from_millis(4_900), Nanos::from_secs(5)), None);
    }
}
