//! The course of a run that a fleet makes: `setup` here, the load on the agents, `teardown` here.
//!
//! What the agents count is merged here while it arrives, and thresholds judge the whole. Does not print the result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use knee_core::clock::{self, MonotonicClock};
use knee_core::plan::{Plan, Scenario};
use knee_core::record::Run;
use knee_core::record::merge::Watched;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::secret::shown_script;
use knee_fleet::nats::JOB_MAX;
use knee_fleet::wire::{Said, Stopped};
use knee_js::workload::Stop;
use knee_k6::observe::view::View;
use knee_k6::options::Layer;
use knee_k6::options::scenario::ExecutorSpec;
use serde_json::Value;

use super::course::{Course, stopped};
use super::job::Job;
use super::watch::ends_early;
use crate::command::failed::{Failed, failed, refused};
use crate::fleet::job::{Before, ScriptFlags, ScriptJob, Work};
use crate::fleet::run::{self as fleet, About, Done, LoadOf, NoRun, Place};
use crate::problem::{Problem, on_one_line};
use crate::settings::fleet::FleetChoice;
use crate::settings::output::Progress;
use crate::settings::script::Mode;
use crate::signals;
use crate::store::{self, Kind, Store};

/// A trial or step that a fleet made.
pub(super) struct Trial {
    pub run: Run,
    /// Its record, if it is saved.
    pub record: Option<PathBuf>,
    /// Iterations that all agents began.
    pub iterations: u64,
}

/// Between two judgements of the thresholds, on the clock of the load.
const JUDGED_EVERY: Nanos = Nanos::from_secs(2);

/// What `setup` gave.
type SetUp = Result<Option<Arc<str>>, Failed>;

/// The job as bytes, or why there is none.
type Made = Result<Vec<u8>, String>;

impl Job<'_> {
    /// Runs `setup`, has the agents make the load, and runs `teardown`.
    pub(super) fn course_of_fleet(&self, choice: &FleetChoice, narrate: fn(&str)) -> Result<Course, Failed> {
        self.fits_a_fleet().map_err(refused)?;
        let unable = |error: std::io::Error| failed(Problem::new(error.to_string(), ""));
        let (control, view) = (Control::new(), self.view(None));
        let signals = signals::watch_script(control.clone(), self.signals.clone()).map_err(unable)?;
        let mut course = Course { signals: Some(signals), ..Course::default() };
        let setting_up = SettingUp::default();
        let taken = thread::scope(|scope| {
            let (ask, asked) = channel();
            let (tell, made) = channel();
            let (view, setting_up) = (&view, &setting_up);
            // The sender goes with its thread, so that nothing waits for a thread that is gone.
            scope.spawn(move || self.set_up(view, &asked, &tell, setting_up));
            self.load_of_fleet(choice, &control, narrate, (ask, made, setting_up.1.clone()))
        });
        let SetUpDone { data, before } = setting_up.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        match data {
            Some(Ok(data)) => course.data = data,
            Some(Err(fault)) => {
                (course.fault, course.elapsed) = (Some(fault), before.span);
                return Ok(self.ended(course));
            }
            None => return Ok(taken.map(|_| course)?),
        }
        if let Err(NoRun { failed, load: LoadOf::Another }) = taken {
            // That one runs `teardown`, and says how the test ended.
            return Err(failed);
        }
        Ok(self.closed(course, taken.map_err(Into::into), &before, &view, narrate))
    }

    /// The course with what the agents made of the load, and what they said; runs `teardown`. `before` is what `setup` did.
    pub(super) fn closed(
        &self,
        mut course: Course,
        taken: Result<(Done, bool), Failed>,
        before: &Before,
        view: &View,
        narrate: fn(&str),
    ) -> Course {
        course.elapsed = before.span;
        match taken {
            Ok((done, aborted)) => {
                if done.merged_again {
                    // What was counted while the load ran lacks what came late.
                    self.total.clear();
                    self.total.absorb(&before.metrics, &self.session.program.metrics);
                    self.total.absorb(&done.run.metrics, &self.session.program.metrics);
                }
                course.aborted = aborted;
                course.fault = self.said(done.said);
                course.elapsed += done.run.ended;
                course.run = Some(done.run);
                self.name_record(done.path.as_deref(), narrate);
            }
            Err(fault) => course.fault = Some(fault),
        }
        let begun = MonotonicClock::start();
        let after = self.teardown(course.data.as_deref(), view);
        course.elapsed += begun.now();
        course.fault = course.fault.or(after.err());
        self.ended(course)
    }

    fn ended(&self, course: Course) -> Course {
        Course { interrupted: self.signals.get() > 0, ..course }
    }

    fn name_record(&self, path: Option<&std::path::Path>, narrate: fn(&str)) {
        if let Some(path) = path.filter(|_| !self.args.report.quiet) {
            narrate(&format!("record: {}", on_one_line(&path.display().to_string())));
        }
    }

    /// Has the agents make the load of a trial or of a step of a sweep; `setup` has run. `step` is its scenario, if it is not
    /// one of the script's own.
    pub(super) fn trial_of_fleet(
        &self,
        choice: &FleetChoice,
        (plan, step): (Plan, Option<ExecutorSpec>),
        data: Option<&str>,
        control: &Control,
    ) -> Result<Trial, Failed> {
        self.fits_a_fleet().map_err(refused)?;
        let started = clock::wall();
        let store = Store::of_process().map(|store| store.of_kind(Kind::Trial));
        let record = store::open_record(None, store.as_ref(), started, "script").map_err(refused)?.ok();
        let about = About { title: shown_script(&self.args.script), started, name: "script".to_owned() };
        let place = Place { record, progress: Progress::None, unit: None, keeps_copies: false };
        let lasts = plan.duration().map(|lasts| lasts.saturating_add(plan.grace));
        let before = Before::default();
        let mut job = Some(self.job_of_fleet((data, before), plan, step).to_bytes().map_err(refused)?);
        let job = Box::new(move || job.take().map(Ok));
        let load = fleet::Load { lasts, job, keeps_job: false, listener: None };
        let Done { run, path, said, warnings, .. } =
            fleet::take(load, choice, &about, place, control, |_| {})?;
        if let Some(warning) = warnings.first() {
            // What an agent held back or did not write would be taken for the service's doing.
            let hint = "raise `max_rate` in the agent's file, or load less; `log` in its folder says more";
            return Err(failed(Problem::new(on_one_line(warning), hint)));
        }
        let iterations = said.iter().map(|said| said.iterations).sum();
        match self.said(said) {
            Some(fault) => Err(fault),
            None => Ok(Trial { run, record: path, iterations }),
        }
    }

    /// What only this machine can do.
    pub(super) fn fits_a_fleet(&self) -> Result<(), Problem> {
        let http = &self.options.http;
        let alone = [
            (!self.asked.outputs.is_empty(), "`--out`", "leave it out; the record has the figures"),
            (
                !self.asked.observe.is_empty(),
                "`--observe`",
                "run `knee find` or a load of one machine beside the fleet",
            ),
            (
                self.options.share.is_some(),
                "`--execution-segment`",
                "a fleet divides the load among its agents",
            ),
            (http.local_ips.is_some(), "`--local-ips`", "agents have addresses of their own"),
            (self.args.load.workers.is_some(), "`--workers`", "each agent has a worker for each of its CPUs"),
            (
                !self.asked.secret_sources.is_empty(),
                "`--secret-source`",
                "secrets do not travel; give each agent's target what it needs otherwise",
            ),
        ];
        if let Some((_, what, hint)) = alone.iter().find(|(is, ..)| *is) {
            return Err(Problem::new(format!("{what} does not work with a fleet"), *hint));
        }
        let bytes = self.session.program.bundle().bytes();
        if bytes > JOB_MAX {
            let what =
                format!("the script and its files have {} MiB, a fleet takes {}", bytes >> 20, JOB_MAX >> 20);
            return Err(Problem::new(what, "put large files where each agent's target has them"));
        }
        Ok(())
    }

    /// On a thread of its own, because signs of life go on meanwhile: runs `setup` as soon as there are agents, and makes
    /// the job.
    fn set_up(&self, view: &View, asked: &Receiver<()>, tell: &Sender<Made>, done: &SettingUp) {
        if asked.recv().is_err() {
            // There are no agents.
            return;
        }
        let clock = MonotonicClock::start();
        let data = self.setup(view);
        let before = Before { metrics: self.total.take_news().metrics(), span: clock.now() };
        done.1.store(before.span.as_nanos(), Ordering::Relaxed);
        let job = match &data {
            Ok(data) => {
                let job = self.job_of_fleet((data.as_deref(), before.clone()), self.whole(self.plan()), None);
                job.to_bytes().map_err(|problem| problem.to_string())
            }
            Err((problem, _)) => Err(problem.what.clone()),
        };
        *done.0.lock().unwrap_or_else(PoisonError::into_inner) = SetUpDone { data: Some(data), before };
        // If the run has failed meanwhile, there is no receiver.
        let _ = tell.send(job);
    }

    fn load_of_fleet(
        &self,
        choice: &FleetChoice,
        control: &Control,
        narrate: fn(&str),
        (ask, made, set_up): (Sender<()>, Receiver<Made>, Arc<AtomicU64>),
    ) -> Result<(Done, bool), NoRun> {
        let started = clock::wall();
        let store = Store::of_process().map(|store| store.of_kind(Kind::Run));
        let (named, name) = (self.args.report.record.as_deref(), self.args.report.name.as_deref());
        let name = name.unwrap_or("script");
        let record = match store::open_record(named, store.as_ref(), started, name).map_err(refused)? {
            Ok(record) => Some(record),
            Err(warning) => {
                narrate(&format!("warning: {}", on_one_line(&warning)));
                None
            }
        };
        let plan = self.whole(self.plan());
        let about = About { title: shown_script(&self.args.script), started, name: name.to_owned() };
        let place = Place { record, progress: self.progress(), unit: None, keeps_copies: true };
        let aborted = Arc::new(AtomicBool::new(false));
        let mut ask = Some(ask);
        let load = fleet::Load {
            lasts: plan.duration().map(|lasts| lasts.saturating_add(plan.grace)),
            job: Box::new(move || {
                if let Some(ask) = ask.take() {
                    // The other thread waits for it.
                    let _ = ask.send(());
                }
                made.try_recv().ok()
            }),
            keeps_job: true,
            listener: Some(self.listener(control.clone(), aborted.clone(), set_up)),
        };
        let done = fleet::take(load, choice, &about, place, control, narrate)?;
        Ok((done, aborted.load(Ordering::Relaxed)))
    }

    /// Adds what the agents count, and ends the load if a threshold demands it.
    pub(super) fn listener(
        &self,
        control: Control,
        aborted: Arc<AtomicBool>,
        set_up: Arc<AtomicU64>,
    ) -> fleet::Listener {
        let (total, registry) = (self.total.clone(), self.session.program.metrics.clone());
        let guards = self.guards.clone();
        let mut judged = Nanos::ZERO;
        Box::new(move |seen| match seen {
            Watched::Metrics(metrics) => total.absorb(metrics, &registry),
            Watched::Interval(interval) if interval.to.since(judged) >= JUDGED_EVERY => {
                judged = interval.to;
                // As in k6, the test begins with `setup`.
                let elapsed = interval.to.saturating_add(Nanos(set_up.load(Ordering::Relaxed)));
                if !aborted.load(Ordering::Relaxed) && ends_early(&guards, &total, elapsed, &control) {
                    aborted.store(true, Ordering::Relaxed);
                }
            }
            Watched::Interval(_) | Watched::Begun(_) => {}
        })
    }

    /// A plan with the scenarios of the whole load.
    pub(super) fn whole(&self, plan: Plan) -> Plan {
        let scenarios: Vec<Scenario> = self.options.scenarios.iter().map(Into::into).collect();
        Plan { scenarios, ..plan }
    }

    fn job_of_fleet(
        &self,
        (data, before): (Option<&str>, Before),
        plan: Plan,
        step: Option<ExecutorSpec>,
    ) -> Work {
        let program = &self.session.program;
        let bundle = program.bundle();
        let typed: Vec<&str> = self.asked.environment.iter().map(|(name, _)| name.as_str()).collect();
        // Of the environment of this process only what the script can ask for by name.
        let environment = program.surroundings.environment.iter();
        let environment = environment
            .filter(|(name, _)| typed.contains(&name.as_str()) || bundle.speaks_of(name))
            .cloned()
            .collect();
        Work::Script(Box::new(ScriptJob {
            title: shown_script(&self.args.script),
            flags: ScriptFlags {
                load: self.args.load.clone(),
                http: self.args.http.clone(),
                tags: self.args.report.tags.clone(),
                system_tags: self.args.report.system_tags.clone(),
                no_replacements: self.args.modules.no_replacements,
            },
            environment,
            variables: variables(),
            config: config(&self.asked.file),
            full: self.asked.summary.mode == Mode::Full,
            thresholds: self.asked.thresholds,
            data: data.map(str::to_owned),
            before,
            plan,
            step,
            bundle,
        }))
    }

    /// What the scripts of the agents said of the test: the first that ended it counts.
    fn said(&self, all: Vec<Said>) -> Option<Failed> {
        if all.iter().any(|said| said.failed) {
            self.tally.fail();
        }
        let first = all.into_iter().find_map(|said| said.stopped)?;
        Some(stopped(match first {
            Stopped::Asked(words) => Stop::Asked(words),
            Stopped::Threw(words) => Stop::Threw(words),
            Stopped::Failed(words) => Stop::Failed(words),
        }))
    }
}

/// What `setup` gave, for the thread that waits for it, and how long it took in nanoseconds.
#[derive(Default)]
struct SettingUp(Mutex<SetUpDone>, Arc<AtomicU64>);

#[derive(Default)]
struct SetUpDone {
    /// `None` if it never began.
    data: Option<SetUp>,
    before: Before,
}

/// Variables of this process that set options, and nothing else of it.
fn variables() -> BTreeMap<String, String> {
    let known = Layer::variables().into_iter();
    known.filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?))).collect()
}

/// The configuration file without what concerns services of k6 and their accounts.
fn config(file: &Value) -> Option<String> {
    const NOT: [&str; 3] = ["cloud", "collectors", "ext"];
    let mut file = file.as_object()?.clone();
    file.retain(|name, _| !NOT.contains(&name.as_str()));
    Some(Value::Object(file).to_string())
}
