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
    /// Whether the processes of the service change from step to step.
    fn restarts(&self) -> bool {
        false
    }

    /// Makes the service ready for a step, outside of its measured time. Returns the processes of the service if they are
    /// others now.
    ///
    /// # Errors
    ///
    /// What cannot be started or reset.
    fn prepare(&mut self, _step: &Step, _control: &Control) -> Result<Option<Vec<u32>>, Error> {
        Ok(None)
    }

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
    pub pids: Vec<u32>,
    /// The programs of this machine; `None` if the service is elsewhere.
    pub watch: Option<CpuWatch>,
    /// The command that resets the service, run before each step that asks for it.
    pub reset: Option<&'a str>,
    /// The steps of an earlier process, and where those of this one are saved; `None` if they are not.
    pub saved: Option<&'a mut SavedSteps>,
    /// Gets the run of each step, of those of an earlier process too, before its result counts.
    pub look: &'a mut dyn FnMut(&Step, &Run),
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
    let Surroundings { saved, look, .. } = &mut around;
    let replayed = saved.as_ref().map(|saved| saved.replay(&mut sweep, look));
    if let Some(Err(error)) = replayed {
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
    if let Some(pids) = source.prepare(step, control)? {
        around.watch = around.watch.is_some().then(|| CpuWatch::new(&pids));
        around.pids = pids;
    }
    let clock = MonotonicClock::start();
    let programs = around.watch.as_ref().map(|watch| (watch, watch.look()));
    let before = process::used_by_all(&around.pids);
    let StepRun { run, record, file, requests_per_arrival } = source.run(step, control)?;
    let after = process::used_by_all(&around.pids);
    let used = programs.map(|(watch, before)| watch.used(&before, &watch.look())).unwrap_or_default();
    if first {
        Error::if_no_success(&run, "the first step")?;
    }
    let mut result = StepResult::of(&run, requests_per_arrival);
    result.took = clock.now().as_secs_f64();
    result.cpu = before.zip(after).map(|(before, after)| after.cpu.since(before.cpu).as_secs_f64());
    result.programs = used.programs;
    result.resources = if source.restarts() { resource::of_restarted(&run) } else { resource::of(&run) };
    result.host_busy = used.busy.or(result.host_busy);
    result.record = record;
    // After the time of the step was taken.
    (around.look)(step, &run);
    if let Some(saved) = around.saved.as_mut().filter(|_| !result.interrupted) {
        saved.add(step, file.as_deref(), &result)?;
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use knee_core::interval::Interval;
    use knee_core::outcome::Outcome;
    use knee_core::plan::{Endpoint, EndpointId, Executor, Plan, Scenario, Stop};
    use knee_core::record::run::RunBuilder;
    use knee_core::record::{Build, Ending, Head, Machine};
    use knee_core::schedule::Curve;
    use knee_core::unit::Nanos;
    use knee_study::sweep::{Ladder, LoadKind};

    use super::*;

    /// Answers every request of a step with one status: the first step with the first status, and so on.
    struct Answers {
        statuses: Vec<u16>,
        steps: usize,
    }

    impl StepSource for Answers {
        fn run(&mut self, _: &Step, _: &Control) -> Result<StepRun, Error> {
            let status = self.statuses[self.steps];
            self.steps += 1;
            Ok(StepRun { run: answered(status), record: None, file: None, requests_per_arrival: 1.0 })
        }
    }

    /// A second in which 100 requests are answered with this status after 2 ms.
    fn answered(status: u16) -> Run {
        let mut second = Interval { to: Nanos::from_secs(1), ..Interval::default() };
        let endpoint = second.measured.endpoint_mut(EndpointId(0));
        endpoint.planned = 100;
        endpoint.status = vec![(status, 100)];
        let outcome = if status < 400 { Outcome::Ok } else { Outcome::HttpError };
        let times = &mut endpoint.outcomes[outcome as usize];
        times.response.record_many(Nanos::from_millis(2), 100);
        times.service.record_many(Nanos::from_millis(2), 100);
        let mut builder = RunBuilder::new(head());
        builder.add(&second);
        builder.end(Ending::Completed)
    }

    fn head() -> Head {
        let users = Executor::Closed { vus: Curve::constant(1.0) };
        let plan = Plan {
            scenarios: vec![Scenario::new("default", users, Stop::At(Nanos::from_secs(1)))],
            endpoints: vec![Endpoint { name: "GET /".into() }],
            warm_up: Nanos::ZERO,
            grace: Nanos::from_secs(30),
            request_timeout: None,
            connect_timeout: Nanos::from_secs(5),
            workers: 1,
            interval: Nanos::from_secs(1),
        };
        let build = Build { version: "0".into(), commit: None, optimized: true };
        let machine =
            Machine { system: String::new(), arch: String::new(), cpu: None, cores: 2, memory_bytes: None };
        Head {
            measured_from: plan.warm_up,
            plan,
            title: "status".into(),
            started: Nanos::ZERO,
            build,
            machine,
            co_located: Some(true),
            segment: None,
            fleet: None,
            http2_streams: None,
        }
    }

    /// Sweeps a service until as many steps are finished as there are statuses: the finished ones, those that were sent,
    /// and the error.
    fn swept(statuses: Vec<u16>) -> (usize, usize, Option<Error>) {
        let config = Config {
            kind: LoadKind::Connections,
            ladder: Ladder::List(vec![1.0, 2.0, 4.0]),
            ceiling: None,
            seconds: 1.0,
            slos: Vec::new(),
            errors_max: 0.001,
            precision: 0.05,
            in_flight_max: 100,
            connections_min: 1,
            resets: false,
            seconds_max: None,
            seed: 1,
        };
        let (control, wanted) = (Control::new(), statuses.len());
        let mut source = Answers { statuses, steps: 0 };
        let mut look = |_: &Step, _: &Run| {};
        let around =
            Surroundings { pids: Vec::new(), watch: None, reset: None, saved: None, look: &mut look };
        let mut observe = |sweep: &Sweep| {
            if sweep.trials().len() == wanted {
                control.stop();
            }
        };
        let (sweep, error) = climb(&config, around, &mut source, &control, &mut observe);
        (sweep.trials().len(), source.steps, error)
    }

    #[test]
    fn a_sweep_of_a_path_that_does_not_exist_stops_at_its_first_step_and_says_what_it_got() {
        let (finished, sent, error) = swept(vec![404, 404, 404]);
        assert_eq!((finished, sent), (0, 1), "{error:?}");
        assert!(matches!(error, Some(Error::NoSuccess { status: 404, count: 100, .. })), "{error:?}");
    }

    #[test]
    fn a_service_that_only_fails_under_more_load_is_swept_on() {
        let (finished, sent, error) = swept(vec![200, 503]);
        assert_eq!((finished, sent), (2, 2), "{error:?}");
        assert!(error.is_none(), "{error:?}");
    }
}
