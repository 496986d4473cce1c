//! The course of a run: `setup`, the load, `teardown`.
//!
//! Whether a stage runs depends on the result of the previous one. Does not print the result.

use std::fs::File;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use knee_core::clock::{self, MonotonicClock};
use knee_core::metric::SamplesSoFar;
use knee_core::plan::{Plan, Scenario};
use knee_core::record::{AgentOf, Head, Run, SegmentOf};
use knee_core::share::Share;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::journal::FileJournal;
use knee_engine::run::{self, Listeners};
use knee_engine::secret::{in_text, shown_script};
use knee_js::op::{Ended, Stage};
use knee_js::session::StageSettings;
use knee_js::state::ExecutionInfo;
use knee_js::workload::{Load, Part, Stop};
use knee_k6::metric::BuiltIn;
use knee_k6::observe::view::View;
use knee_k6::options::scenario::ScenarioSpec;
use knee_k6::output::batch::TagList;
use knee_k6::output::{self, Outlet, Writer};
use knee_k6::threshold::Guarded;

use super::counted::Counted;
use super::job::{Job, pairs};
use super::watch::{Watch, Watched};
use crate::args::RunReportFlags;
use crate::command::build;
use crate::command::failed::{Failed, failed, refused};
use crate::command::journal::{self, Record};
use crate::command::observe;
use crate::command::{INCOMPLETE, INCOMPLETE_TRIAL};
use crate::exit::Exit;
use crate::live::{self, Live};
use crate::other_load;
use crate::problem::{Problem, on_one_line, reason};
use crate::settings::amount;
use crate::settings::output::{FPS, Progress};
use crate::settings::script::Mode;
use crate::signals;
use crate::store::{self, Kind, Store};

/// Results of `setup`, the load and `teardown`.
#[derive(Default)]
pub struct Course {
    /// The load; `None` if `setup` did not let it begin.
    pub run: Option<Run>,
    /// JSON of what `setup` returned.
    pub data: Option<Arc<str>>,
    /// What ended it early, or failed.
    pub fault: Option<Failed>,
    /// Why the record is incomplete, if it is.
    pub incomplete: Option<Problem>,
    /// Whether a threshold ended it.
    pub aborted: bool,
    /// Whether a signal came at any time.
    pub interrupted: bool,
    /// Watches signals until everything is printed, because `handleSummary` can take long too.
    #[allow(dead_code, reason = "it works as long as it lives")]
    pub signals: Option<signals::Watch>,
    /// From the begin of `setup` to the end of `teardown`.
    pub elapsed: Nanos,
}

/// A run and its record.
pub(super) struct Taken {
    pub(super) run: Run,
    /// `None` if the run is not saved.
    pub(super) record: Option<Record>,
}

/// Where the record of a run goes.
pub(super) enum Keep {
    /// To the saved ones, unless a file was named.
    Saved(Kind),
    /// To the file of an agent, which sends it away.
    Part {
        /// The file.
        record: PathBuf,
        /// The agent.
        agent: AgentOf,
        /// Its share of the load, also if that is all of it.
        share: Share,
    },
}

impl Job<'_> {
    /// Runs `setup`, the load and `teardown`; samples go to their outputs meanwhile.
    pub(super) fn course(&self, narrate: fn(&str)) -> Result<Course, Failed> {
        let (writer, outlet) = self.writer(narrate)?.unzip();
        let course = self.stages(&self.view(outlet), narrate);
        // All workers are done, and with them all ways to the writer.
        let complaint = writer.and_then(Writer::finish);
        if let Some(words) = complaint {
            narrate(&format!("warning: {}", on_one_line(&words)));
        }
        course
    }

    fn stages(&self, view: &View, narrate: fn(&str)) -> Result<Course, Failed> {
        let unable = |error: std::io::Error| failed(Problem::new(error.to_string(), ""));
        let clock = MonotonicClock::start();
        let control = Control::new();
        let signals = signals::watch_script(control.clone(), self.signals.clone()).map_err(unable)?;
        let watch = Watch::start(Watched {
            total: self.total.clone(),
            guards: self.guards.clone(),
            tally: self.tally.clone(),
            control: control.clone(),
            clock,
            outlet: view.outlet.clone(),
            tags: Arc::new(TagList::new(pairs(&self.options.tags))),
        })
        .map_err(unable)?;
        let mut course = Course { signals: Some(signals), ..Course::default() };
        match self.setup(view) {
            Ok(data) => {
                // The record is that of the load.
                drop(self.total.take_news());
                let load = Arc::new(self.load(data.clone(), &control, view));
                let Taken { run, record } = self.measure(&load, &control, narrate)?;
                course.incomplete = record.and_then(|record| record.problem(INCOMPLETE));
                course.run = Some(run);
                course.fault = load.why_stopped().map(stopped);
                let after = self.teardown(data.as_deref(), view);
                course.fault = course.fault.or(after.err());
                course.data = data;
            }
            Err(fault) => course.fault = Some(fault),
        }
        course.elapsed = clock.now();
        course.interrupted = self.signals.get() > 0;
        course.aborted = watch.end();
        Ok(course)
    }

    /// JSON of what `setup` returns.
    pub(super) fn setup(&self, view: &View) -> Result<Option<Arc<str>>, Failed> {
        if self.options.run.no_setup || !self.session.exports("setup") {
            return Ok(None);
        }
        let timeout = self.options.run.setup_timeout.to_nanos();
        Ok(self.stage("setup", Stage::Setup, None, timeout, view)?.map(Into::into))
    }

    pub(super) fn teardown(&self, data: Option<&str>, view: &View) -> Result<(), Failed> {
        if self.options.run.no_teardown || !self.session.exports("teardown") {
            return Ok(());
        }
        let timeout = self.options.run.teardown_timeout.to_nanos();
        self.stage("teardown", Stage::Teardown, data, timeout, view).map(drop)
    }

    /// The parts of k6's view of the run.
    pub(super) fn view(&self, outlet: Option<Outlet>) -> View {
        View {
            metrics: self.session.program.metrics.clone(),
            by_part: self.asked.summary.mode == Mode::Full,
            total: self.total.clone(),
            system_tags: self.system_tags,
            outlet,
            iterations: None,
        }
    }

    /// Opens the files that every sample goes to.
    fn writer(&self, narrate: fn(&str)) -> Result<Option<(Writer, Outlet)>, Failed> {
        if self.asked.outputs.is_empty() {
            return Ok(None);
        }
        let sources = |guard: &Guarded| {
            (guard.name.clone(), guard.thresholds.iter().map(|one| one.source.clone()).collect())
        };
        let settings = output::Settings {
            targets: self.asked.outputs.clone(),
            metrics: self.session.program.metrics.clone(),
            thresholds: self.guards.iter().map(sources).collect(),
            system_tags: self.system_tags,
            say: Arc::new(move |words| narrate(&format!("warning: {}", on_one_line(words)))),
        };
        Writer::start(&settings).map(Some).map_err(|error| {
            let hint = "check the folder, its permissions and the space left";
            refused(Problem::new(format!("samples cannot be written, for `--out`: {}", reason(&error)), hint))
        })
    }

    pub(super) fn stage(
        &self,
        export: &str,
        stage: Stage,
        argument: Option<&str>,
        timeout: Nanos,
        view: &View,
    ) -> Result<Option<String>, Failed> {
        let execution_info = ExecutionInfo {
            tally: self.tally.clone(),
            options: self.exported.clone(),
            ..ExecutionInfo::default()
        };
        let settings = StageSettings {
            way: self.way.clone(),
            http: self.http.clone(),
            timeout,
            observer: view.observer(),
            is_over: self.patience(stage),
            execution_info: Rc::new(execution_info),
            tags: pairs(&self.options.tags).into(),
            system_tags: self.system_tags,
        };
        let ended = self.session.stage(export, stage, argument, settings);
        if matches!(stage, Stage::Setup | Stage::Teardown) {
            // What passed is counted already, if anything did; that nothing did is a sample too.
            for metric in [BuiltIn::DataSent, BuiltIn::DataReceived] {
                self.total.add(metric, 0.0, Nanos::ZERO);
            }
        }
        let secrets = &self.session.program.surroundings.secrets;
        match ended.map_err(|error| failed(Problem::new(error.to_string(), "")))? {
            Ended::Returned(json) => Ok(json),
            Ended::Thrown(thrown) => {
                let words = in_text(&secrets.masked(&thrown.to_string()));
                Err((Problem::new(format!("{export}() threw: {words}"), ""), Exit::Script))
            }
            Ended::Aborted(words) => Err((Problem::new(secrets.masked(&words), ""), Exit::Abort)),
            Ended::Cut if self.patience(stage)() => {
                Err((Problem::new(format!("{export}() was interrupted"), ""), Exit::Interrupted))
            }
            Ended::Cut => {
                let words = format!("{export}() took longer than {} s", timeout.as_secs_f64());
                let hint = format!("raise the option `{export}Timeout`");
                let exit = match stage {
                    Stage::Setup => Exit::SetupTimeout,
                    Stage::Teardown => Exit::TeardownTimeout,
                    Stage::Iteration | Stage::Summary => Exit::Script,
                };
                Err((Problem::new(words, hint), exit))
            }
        }
    }

    /// When a stage must end early: `setup` with the first signal, others with the second.
    fn patience(&self, stage: Stage) -> Rc<dyn Fn() -> bool> {
        let signals = self.signals.clone();
        let most = usize::from(stage != Stage::Setup);
        Rc::new(move || signals.get() > most)
    }

    pub(super) fn load(&self, data: Option<Arc<str>>, control: &Control, view: &View) -> Load {
        let scenarios = &self.options.scenarios;
        let part = |(spec, plan): (&ScenarioSpec, Scenario)| {
            Part {
                name: spec.name.clone(),
                executor: spec.executor.clone(),
                export: spec.exec.clone(),
                // Of two tags with one name the later wins: that of the scenario.
                tags: pairs(self.options.tags.iter().chain(&spec.tags)),
                environment: pairs(&spec.env),
                begins: plan.terms.start,
                lasts: plan.ends().map(|ends| ends.since(plan.terms.start)),
                iterations: plan.requests(),
                turns: plan.part.map(|part| part.turns),
            }
        };
        Load {
            program: self.session.program.clone(),
            parts: scenarios.iter().zip(self.options.planned()).map(part).collect(),
            data,
            http: self.http.clone(),
            options: self.exported.clone(),
            tally: self.tally.clone(),
            observers: view.clone().observers(),
            control: control.clone(),
            stopped: Mutex::default(),
            tags: pairs(&self.options.tags),
            system_tags: self.system_tags,
            min_iteration: self.options.run.min_iteration_duration.to_nanos(),
            counts: scenarios.iter().map(|_| Arc::default()).collect(),
            vus: self.options.share.as_ref().map(Share::stripe),
        }
    }

    pub(super) fn plan(&self) -> Plan {
        let scenarios = self.options.planned();
        let users: u64 = scenarios.iter().map(|scenario| u64::from(scenario.users_max())).sum();
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
        Plan {
            scenarios,
            endpoints: Vec::new(),
            warm_up: Nanos::ZERO,
            grace: Nanos::from_secs(30),
            request_timeout: None,
            connect_timeout: self.way.settings.connect_timeout,
            workers: self
                .args
                .load
                .workers
                .map_or_else(|| cores.min(users).max(1) as u16, |workers| workers.get().into()),
            interval: amount::INTERVAL,
        }
    }

    /// Progress: the live screen if both streams are a terminal.
    pub(super) fn progress(&self) -> Progress {
        let terminal = self.terminal.stdout_terminal && self.terminal.stderr_terminal;
        match self.args.report {
            RunReportFlags { quiet: true, .. } => Progress::None,
            RunReportFlags { no_tui: false, .. } if terminal => {
                Progress::Screen { fps: FPS, color: self.asked.color }
            }
            _ => Progress::Lines,
        }
    }

    fn measure(&self, load: &Arc<Load>, control: &Control, narrate: fn(&str)) -> Result<Taken, Failed> {
        self.take_as(&Keep::Saved(Kind::Run), self.plan(), self.progress(), load, control, narrate)
    }

    /// Makes the run of a trial and saves its record, whose name is returned.
    pub(super) fn take(
        &self,
        plan: Plan,
        progress: Progress,
        load: &Arc<Load>,
        control: &Control,
        narrate: fn(&str),
    ) -> Result<(Run, Option<PathBuf>), Failed> {
        let Taken { run, record } =
            self.take_as(&Keep::Saved(Kind::Trial), plan, progress, load, control, narrate)?;
        if let Some(problem) = record.as_ref().and_then(|record| record.problem(INCOMPLETE_TRIAL)) {
            return Err(failed(problem));
        }
        Ok((run, record.map(|record| record.path)))
    }

    /// The record, begun; none when it cannot be saved and no file was named for it.
    fn journal(
        &self,
        keep: &Keep,
        head: &Head,
        narrate: fn(&str),
    ) -> Result<Option<(FileJournal<File>, Record)>, Failed> {
        let kind = match keep {
            Keep::Saved(kind) => *kind,
            Keep::Part { record, .. } => {
                let opened = store::open_record(Some(record), None, head.started, "").map_err(refused)?;
                let opened = opened.map_err(|why| failed(Problem::new(why, "")))?;
                return Ok(Some(journal::waiting(opened, head)));
            }
        };
        let store = Store::of_process().map(|store| store.of_kind(kind));
        let named = self.args.report.record.as_deref();
        let name = self.args.report.name.as_deref().unwrap_or("script");
        let record = store::open_record(named, store.as_ref(), head.started, name).map_err(refused)?;
        Ok(journal::begin(record, head, narrate))
    }

    /// Makes the run of a plan and saves its record.
    pub(super) fn take_as(
        &self,
        keep: &Keep,
        plan: Plan,
        progress: Progress,
        load: &Arc<Load>,
        control: &Control,
        narrate: fn(&str),
    ) -> Result<Taken, Failed> {
        let unable = |error: &dyn std::fmt::Display| failed(Problem::new(error.to_string(), ""));
        let observer = observe::start(&self.asked.observe, plan.duration(), narrate)?;
        let head = Head {
            measured_from: plan.warm_up,
            plan,
            title: shown_script(&self.args.script),
            started: clock::wall(),
            build: build(),
            machine: host::machine(),
            co_located: self.co_located,
            segment: keep.segment(self.options.share.as_ref()),
            fleet: None,
            http2_streams: None,
        };
        let (journal, record) = self.journal(keep, &head, narrate)?.unzip();
        if let Some(record) = record.as_ref().filter(|_| !self.args.report.quiet) {
            narrate(&format!("record: {}", on_one_line(&record.path.display().to_string())));
        }
        let (sender, events) = sync_channel(live::BACKLOG);
        if matches!(progress, Progress::Screen { .. }) {
            self.lines.hold();
        }
        let live = Live::start(progress, None, events, control.clone()).map_err(|error| unable(&error))?;
        let journal = journal.map(|journal| Box::new(journal) as Box<_>);
        let is_whole = self.options.share.is_none() && matches!(keep, Keep::Saved(_));
        let metrics = Counted {
            total: self.total.clone(),
            guards: if is_whole { self.guards.clone() } else { Arc::default() },
            load: load.clone(),
            samples: SamplesSoFar::default(),
            users_at: Nanos::ZERO,
            control: control.clone(),
        };
        let metrics = Some(Box::new(metrics) as Box<_>);
        let feed = self.feed.as_ref().map(|feed| feed.listen(head.plan.endpoints.clone())).transpose()?;
        let (listening, listener) = feed.unzip();
        let events = std::iter::once(sender).chain(listener).collect();
        let listeners = Listeners { journal, events, observer, metrics };
        if let Some(note) = other_load::note() {
            control.note(note);
        }
        self.lines.detach(control);
        let run = run::run(head, load, &self.way, control, listeners);
        if let Some(listening) = listening {
            listening.end();
        }
        self.lines.attach(narrate);
        let warnings = live.finish(run.as_ref().ok());
        self.lines.release(narrate);
        for warning in warnings {
            narrate(&format!("warning: {}", on_one_line(&warning)));
        }
        run.map(|run| Taken { run, record }).map_err(|error| unable(&error))
    }
}

impl Keep {
    /// The part of a load that the record is of.
    fn segment(&self, asked: Option<&Share>) -> Option<SegmentOf> {
        match self {
            Self::Part { agent, share, .. } => Some(SegmentOf { agent: Some(agent.clone()), ..share.into() }),
            Self::Saved(_) => asked.map(Into::into),
        }
    }
}

/// The error if the script, or a VU that could not be made, ended the run.
pub(super) fn stopped(why: Stop) -> Failed {
    match why {
        Stop::Asked(words) => (Problem::new(words, ""), Exit::Abort),
        Stop::Threw(words) => (
            Problem::new(format!("the script threw an error while knee created a VU: {words}"), ""),
            Exit::Script,
        ),
        Stop::Failed(words) => {
            failed(Problem::new(words, "use fewer VUs, or allow more memory (`ulimit -v`)"))
        }
    }
}
