//! A script that is run step by step, each with a load of its own: what a sweep needs.
//!
//! `setup` runs once before the first step and `teardown` once after the last. The scenarios and
//! thresholds of the script do not count: an arrival is one call of its default function. Does not
//! decide how much load there is.

use std::path::PathBuf;
use std::sync::Arc;

use knee_core::plan::{Overflow, Plan, Scenario};
use knee_core::record::Run;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_js::session::Session;
use knee_k6::options::Options;
use knee_k6::options::scenario::{ExecutorSpec, ScenarioSpec};

use super::course::stopped;
use super::fleet::Trial;
use super::job::Job;
use super::log::Lines;
use super::source::{load, options};
use crate::args::RunArgs;
use crate::command::failed::{Failed, refused};
use crate::command::pushes::Feed;
use crate::problem::{Problem, on_one_line};
use crate::settings::Surroundings as Terminal;
use crate::settings::fleet::{self as fleets, FleetChoice};
use crate::settings::output::Progress;
use crate::settings::script::{Asked, asked};

/// A script between steps.
pub struct Steps {
    args: RunArgs,
    asked: Asked,
    session: Session,
    options: Options,
    terminal: Terminal,
    lines: Arc<Lines>,
    /// JSON of what `setup` returned.
    data: Option<Arc<str>>,
    /// The machines that make the load; `None` if this one does.
    fleet: Option<FleetChoice>,
}

/// A step of a script.
pub struct ScriptStep {
    /// What was measured.
    pub run: Run,
    /// Its record.
    pub record: Option<PathBuf>,
    /// Number of iterations.
    pub iterations: u64,
}

impl Steps {
    /// Loads the script and runs its `setup`.
    ///
    /// # Errors
    ///
    /// Errors of the script or of its `setup`.
    pub fn begin(args: RunArgs, narrate: fn(&str)) -> Result<Self, Failed> {
        let terminal = Terminal::read();
        let env = |name: &str| std::env::var(name).ok();
        let mut asked = asked(&args, &env, terminal.no_color).map_err(refused)?;
        asked.thresholds = false;
        let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
        let session = load(&args, &asked, &lines)?;
        if !session.exports("default") {
            let hint = "export a default function: a sweep calls it once per arrival";
            return Err(refused(Problem::new(format!("`{}` has no default function", args.script), hint)));
        }
        let options = options(&asked, &session)?;
        let warnings = options.warnings.iter();
        warnings.for_each(|warning| narrate(&format!("warning: {}", on_one_line(warning))));
        let fleet = fleets::choice(&args.fleet).map_err(refused)?;
        let mut steps = Self { args, asked, session, options, terminal, lines, data: None, fleet };
        let job = steps.job()?;
        if steps.fleet.is_some() {
            job.fits_a_fleet().map_err(refused)?;
        }
        let data = job.setup(&job.view(None))?;
        drop(job);
        steps.data = data;
        Ok(steps)
    }

    /// Makes one step. `shape` makes the engine's plan of the script's own, with the scenario that
    /// stands for `executor`. Its figures go to `feed` meanwhile.
    ///
    /// # Errors
    ///
    /// What failed on this machine, and a script that ends itself.
    pub fn take(
        &mut self,
        executor: ExecutorSpec,
        shape: impl FnOnce(Plan) -> Plan,
        feed: Option<Feed>,
        control: &Control,
    ) -> Result<ScriptStep, Failed> {
        self.options.scenarios = vec![scenario(executor.clone())];
        let job = Job { feed, ..self.job()? };
        let mut plan = job.plan();
        plan.scenarios.iter_mut().for_each(waits);
        if let Some(choice) = &self.fleet {
            let step = (shape(plan), Some(executor));
            let Trial { run, record, iterations } =
                job.trial_of_fleet(choice, step, self.data.as_deref(), control)?;
            return Ok(ScriptStep { run, record, iterations });
        }
        let load = Arc::new(job.load(self.data.clone(), control, &job.view(None)));
        let (run, record) = job.take(shape(plan), Progress::None, &load, control, |_| {})?;
        if let Some(why) = load.why_stopped() {
            return Err(stopped(why));
        }
        let iterations = job.tally.completed() + job.tally.interrupted();
        Ok(ScriptStep { run, record, iterations })
    }

    /// Runs `teardown`.
    ///
    /// # Errors
    ///
    /// What it came to.
    pub fn end(&self) -> Result<(), Failed> {
        let job = self.job()?;
        job.teardown(self.data.as_deref(), &job.view(None))
    }

    fn job(&self) -> Result<Job<'_>, Failed> {
        Job::new(&self.args, &self.asked, &self.session, &self.options, self.terminal.clone(), &self.lines)
    }
}

/// The scenario of a step, as the script sees it.
pub(super) fn scenario(executor: ExecutorSpec) -> ScenarioSpec {
    ScenarioSpec {
        name: "default".to_owned(),
        start_time: Nanos::ZERO,
        graceful_stop: crate::settings::sweep::GRACE,
        exec: "default".to_owned(),
        env: std::collections::BTreeMap::new(),
        tags: std::collections::BTreeMap::new(),
        executor,
    }
}

/// An arrival that finds no VU waits for one, so that the wait is measured; k6 would drop it.
fn waits(scenario: &mut Scenario) {
    scenario.terms.overflow = Overflow::Wait;
}
