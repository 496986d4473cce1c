//! Steps of a sweep with a script: an arrival is one call of its default function.

use knee_core::plan::Plan;
use knee_core::unit::Nanos;
use knee_driver::Error;
use knee_driver::sweep::{StepRun, StepSource};
use knee_engine::control::Control;
use knee_k6::options::scenario::ExecutorSpec;
use knee_k6::output::interval::About;
use knee_study::sweep::{Config, Step, StepLoad};

use super::loader::{self, Loader};
use crate::args::{RunArgs, RunHttpFlags, RunScriptFlags, SweepArgs};
use crate::command::failed::{Failed, failed, load_failed};
use crate::command::pushes::Feed;
use crate::command::run::steps::{ScriptStep, Steps};
use crate::problem::{Problem, on_one_line};
use crate::settings::sweep::{SweepSettings, step_plan};

/// Runs a script step by step.
pub struct ScriptLoader {
    title: String,
    config: Config,
    workers: u16,
    steps: Steps,
    /// What the figures of steps go to, if anything.
    feed: Option<Feed>,
}

impl ScriptLoader {
    /// Loads the script and runs its `setup`.
    ///
    /// # Errors
    ///
    /// What is wrong with the script.
    pub fn begin(
        args: &SweepArgs,
        settings: &SweepSettings,
        feed: Option<Feed>,
        narrate: fn(&str),
    ) -> Result<Self, Failed> {
        let title = args.target.clone().unwrap_or_default();
        let steps = Steps::begin(run_args(args, &title), narrate)?;
        Ok(Self { title, config: settings.config.clone(), workers: settings.workers, steps, feed })
    }
}

/// The equivalent flags of `knee run`.
fn run_args(args: &SweepArgs, script: &str) -> RunArgs {
    let mut run = RunArgs::of(script);
    run.script_flags = RunScriptFlags {
        env: args.script.env.clone(),
        allow_read: args.script.allow_read.clone(),
        root: args.script.root.clone(),
        ..RunScriptFlags::default()
    };
    run.modules = args.modules;
    run.observe = args.observe.clone();
    run.fleet = args.fleet.clone();
    run.http = RunHttpFlags {
        max_redirects: args.request.redirects.clone(),
        user_agent: args.request.user_agent.clone(),
        insecure_skip_tls_verify: args.connection.insecure.then(|| "true".to_owned()),
        no_connection_reuse: args.connection.disable_keepalive.then(|| "true".to_owned()),
        ..RunHttpFlags::default()
    };
    run.report.quiet = true;
    run
}

/// The scenario of a step, as scripts see it; the engine gets the exact plan.
fn executor(step: &Step, config: &Config) -> ExecutorSpec {
    let duration = Nanos::from_secs_f64(step.warm_up + step.seconds);
    match step.load {
        StepLoad::Connections(vus) => ExecutorSpec::ConstantVus { vus, duration },
        StepLoad::ArrivalRate(rate) => ExecutorSpec::ConstantArrivalRate {
            rate: (rate.round() as u32).max(1),
            time_unit: Nanos::from_secs(1),
            duration,
            pre_allocated_vus: config.in_flight_max,
            max_vus: config.in_flight_max,
        },
    }
}

impl StepSource for ScriptLoader {
    fn run(&mut self, step: &Step, control: &Control) -> Result<StepRun, Error> {
        let (config, workers) = (&self.config, self.workers);
        let shape = |plan: Plan| {
            let mut shaped = step_plan(&Plan { workers, ..plan.clone() }, config, step);
            for (scenario, own) in shaped.scenarios.iter_mut().zip(&plan.scenarios) {
                scenario.terms = own.terms;
            }
            shaped
        };
        let about = || About { iterates: false, ..loader::about(step) };
        let feed = self.feed.as_ref().map(|feed| feed.about(about()));
        let ScriptStep { run, record, iterations } =
            self.steps.take(executor(step, config), shape, feed, control).map_err(load_failed)?;
        let requests = run.warm_up.accounting().planned + run.measured.accounting().planned;
        if requests == 0 && iterations > 0 {
            let hint = "a sweep measures requests, so the default function must send some";
            return Err(load_failed(failed(Problem::new("the script sent no request", hint))));
        }
        let requests_per_arrival = if iterations == 0 { 1.0 } else { requests as f64 / iterations as f64 };
        let shown = record.as_ref().map(|path| on_one_line(&path.display().to_string()));
        Ok(StepRun { run, record: shown, file: record, requests_per_arrival })
    }
}

impl Loader for ScriptLoader {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn co_located(&self) -> Option<bool> {
        None
    }

    fn end(&mut self) -> Result<(), Failed> {
        self.steps.end()
    }
}
