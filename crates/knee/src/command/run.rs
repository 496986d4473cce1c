//! `knee run script.js`: run a k6 script, show it live, keep the record, print the result.
//!
//! The order matters: the script is loaded and its options are judged before the first request, and
//! whatever was measured is kept before anything is printed. What is printed is [`ending`]'s.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use knee_core::clock::{self, MonotonicClock};
use knee_core::plan::{Plan, Scenario};
use knee_core::record::{Head, Run};
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::http::request::Defaults;
use knee_engine::http::tls;
use knee_engine::run::{self, Listeners, Way};
use knee_script::http::pace::Pace;
use knee_script::loader::remote::RemoteSettings;
use knee_script::metric::Key;
use knee_script::observe::metered::{Total, View};
use knee_script::observe::tags::SystemTags;
use knee_script::op::{Ended, Stage};
use knee_script::options::resolve::{Layers, resolve};
use knee_script::options::scenario::ScenarioSpec;
use knee_script::options::{HttpOptions, Options, describe};
use knee_script::output::{self, Outlet, Writer};
use knee_script::program::files::{Script, bounded};
use knee_script::program::{HttpDefaults, Surroundings};
use knee_script::session::{Session, SessionError, StageSettings};
use knee_script::state::{Story, Tally};
use knee_script::threshold::{self, Guarded};
use knee_script::vu::LoadError;
use knee_script::workload::{Load, Part};

use super::journal::FileJournal;
use super::{build, render};
use crate::args::RunArgs;
use crate::exit::Exit;
use crate::fetch::Network;
use crate::live::{self, Live};
use crate::problem::{Problem, printable, reason};
use crate::settings::output::Progress;
use crate::settings::script::{Asked, Mode, asked};
use crate::settings::{Surroundings as Terminal, amount, network};
use crate::signals;
use crate::store::{self, Store};

mod ending;
mod log;
pub(super) mod steps;
mod watch;

use ending::Course;
use log::Lines;
use watch::{Watch, Watched};

/// A run that failed: with the code to end with.
type Failed = (Problem, Exit);

/// Does it.
///
/// # Errors
///
/// What is wrong with the script or its options, or what failed on this machine.
pub fn run(args: &RunArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let terminal = Terminal::read();
    let env = |name: &str| std::env::var(name).ok();
    let asked = asked(args, &env, terminal.no_color).map_err(refused)?;
    asked.notes.iter().for_each(|note| narrate(&format!("note: {}", printable(note))));
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load(args, &asked, &lines)?;
    session.program.notes().iter().for_each(|note| narrate(&format!("note: {}", printable(note))));
    let options = options(&asked, &session)?;
    let warnings = options.warnings.iter().cloned().chain(unsupported(&options));
    warnings.for_each(|warning| narrate(&format!("warning: {}", printable(&warning))));
    let job = Job::new(args, &asked, &session, &options, terminal)?;
    if !args.report.quiet {
        job.introduce(narrate);
    }
    job.run(narrate)
}

fn load(args: &RunArgs, asked: &Asked, lines: &Arc<Lines>) -> Result<Session, Failed> {
    let mut environment: Vec<(String, String)> = Vec::new();
    if asked.system_environment {
        // What is not UTF-8 cannot be a text of a script.
        let readable = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        environment.extend(std::env::vars_os().filter_map(readable));
    }
    for (name, value) in &asked.environment {
        environment.retain(|(known, _)| known != name);
        environment.push((name.clone(), value.clone()));
    }
    let surroundings = Surroundings {
        environment,
        allow_read: args.script_flags.allow_read.clone(),
        limits: knee_script::program::Limits::default(),
        narrator: lines.narrator(),
        console: Some(lines.console()),
        remote: remote(args),
    };
    let script = script(args).map_err(|error| unreadable(args, &error))?;
    Session::load(script, surroundings).map_err(|error| match error {
        SessionError::Script(LoadError::Script(thrown)) => {
            let exit = if thrown.message.contains("test aborted") { Exit::Abort } else { Exit::Script };
            (Problem::new(format!("the script threw while it was loaded: {thrown}"), ""), exit)
        }
        SessionError::Module(trouble) => (Problem::new(trouble.what, trouble.hint), Exit::Script),
        SessionError::Io(error) => unreadable(args, &error),
        SessionError::Script(error) => failed(Problem::new(error.to_string(), "")),
    })
}

fn unreadable(args: &RunArgs, error: &std::io::Error) -> Failed {
    let what = format!("`{}` cannot be read: {error}", args.script);
    refused(Problem::new(what, "give the path of a script, or - for standard input"))
}

/// The script that was asked for; `-` is standard input, and its imports begin in the working folder.
fn script(args: &RunArgs) -> std::io::Result<Script> {
    if args.script.starts_with("https://") {
        return Ok(Script::Url { address: args.script.clone(), folder: std::env::current_dir()? });
    }
    if args.script != "-" {
        return Ok(Script::File(args.script.clone().into()));
    }
    let source = bounded(std::io::stdin().lock())?;
    Ok(Script::Text { folder: std::env::current_dir()?, source })
}

/// Where modules come from that are not files.
fn remote(args: &RunArgs) -> RemoteSettings {
    let home = store::home(|name| std::env::var_os(name));
    RemoteSettings {
        fetch: (!args.modules.offline).then(|| Arc::new(Network::default()) as Arc<_>),
        cache: home.map(|home| home.join("modules")),
        reload: args.modules.reload,
        replacements: !args.modules.no_replacements,
    }
}

fn options(asked: &Asked, session: &Session) -> Result<Options, Failed> {
    let wrong = |error: &dyn std::fmt::Display| {
        refused(Problem::new(error.to_string(), "see the script's options, the flags and the variables K6_*"))
    };
    let script = match &session.description.options {
        Some(json) => serde_json::from_str(json).map_err(|error| wrong(&error))?,
        None => serde_json::Value::Null,
    };
    let layers = Layers { file: asked.file.clone(), script, env: asked.env.clone(), cli: asked.cli.clone() };
    resolve(layers, |name| session.exports(name)).map_err(|error| wrong(&error))
}

/// What the options ask for and this version does not do, a sentence each.
fn unsupported(options: &Options) -> Vec<String> {
    let (http, run) = (&options.http, &options.run);
    let asked = [
        (http.debug.is_some(), "httpDebug"),
        (run.paused, "paused"),
        (run.execution_segment.is_some(), "executionSegment"),
    ];
    let sentence = |name: &str| format!("the option `{name}` has no effect in this version");
    let ineffective = asked.into_iter().filter(|(given, _)| *given).map(|(_, name)| sentence(name));
    ineffective.chain(network::warnings(http)).collect()
}

/// A script with its options, ready to run.
struct Job<'a> {
    args: &'a RunArgs,
    asked: &'a Asked,
    session: &'a Session,
    options: &'a Options,
    terminal: Terminal,
    http: HttpDefaults,
    way: Way,
    guards: Arc<[Guarded]>,
    total: Total,
    tally: Arc<Tally>,
    system_tags: SystemTags,
    exported: Arc<str>,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a RunArgs,
        asked: &'a Asked,
        session: &'a Session,
        options: &'a Options,
        terminal: Terminal,
    ) -> Result<Self, Failed> {
        let guards = guards(asked, session, options)?;
        let metrics = &session.program.metrics;
        Ok(Self {
            args,
            asked,
            session,
            options,
            terminal,
            http: http(&options.http),
            way: way(&options.http).map_err(refused)?,
            guards,
            total: Total::new(&metrics.catalog(), asked.summary.mode == Mode::Full),
            tally: Arc::default(),
            system_tags: SystemTags::of(&options.system_tags),
            exported: options.exported.to_string().into(),
        })
    }

    /// What is about to run, in k6's words.
    fn introduce(&self, narrate: fn(&str)) {
        let scenarios = &self.options.scenarios;
        narrate(&format!("   script: {}", printable(&self.args.script)));
        narrate(&format!("scenarios: {}", describe::headline(scenarios)));
        for line in describe::lines(scenarios) {
            narrate(&format!("         * {}", printable(&line)));
        }
    }

    fn run(&self, narrate: fn(&str)) -> Result<Exit, Failed> {
        let course = self.course(narrate)?;
        ending::end(self, &course, narrate)
    }

    /// `setup`, the load, `teardown`, with every sample on its way to where it is to go.
    fn course(&self, narrate: fn(&str)) -> Result<Course, Failed> {
        let (writer, outlet) = self.writer()?.unzip();
        let course = self.stages(&self.view(outlet), narrate);
        // All workers are done, and with them all ways to the writer.
        let complaint = writer.and_then(Writer::finish);
        if let Some(words) = complaint {
            narrate(&format!("warning: {}", printable(&words)));
        }
        course
    }

    fn stages(&self, view: &View, narrate: fn(&str)) -> Result<Course, Failed> {
        let unable = |error: std::io::Error| failed(Problem::new(error.to_string(), ""));
        let clock = MonotonicClock::start();
        let control = Control::new();
        let watch = Watch::start(Watched {
            total: self.total.clone(),
            guards: self.guards.clone(),
            tally: self.tally.clone(),
            control: control.clone(),
            clock,
            outlet: view.outlet.clone(),
            tags: pairs(&self.options.tags).into(),
        })
        .map_err(unable)?;
        let mut course = Course::default();
        match self.setup(view) {
            Ok(data) => {
                let load = Arc::new(self.load(data.clone(), &control, view));
                course.run = Some(self.measure(&load, &control, narrate)?);
                course.fault = load.abort_reason().map(|words| (Problem::new(words, ""), Exit::Abort));
                let after = self.teardown(data.as_deref(), view);
                course.fault = course.fault.or(after.err());
                course.data = data;
            }
            Err(fault) => course.fault = Some(fault),
        }
        course.elapsed = clock.now();
        course.aborted = watch.end();
        Ok(course)
    }

    /// JSON of what `setup` returns.
    fn setup(&self, view: &View) -> Result<Option<Arc<str>>, Failed> {
        if self.options.run.no_setup || !self.session.exports("setup") {
            return Ok(None);
        }
        let timeout = self.options.run.setup_timeout.to_nanos();
        Ok(self.stage("setup", Stage::Setup, None, timeout, view)?.map(Into::into))
    }

    fn teardown(&self, data: Option<&str>, view: &View) -> Result<(), Failed> {
        if self.options.run.no_teardown || !self.session.exports("teardown") {
            return Ok(());
        }
        let timeout = self.options.run.teardown_timeout.to_nanos();
        self.stage("teardown", Stage::Teardown, data, timeout, view).map(drop)
    }

    /// How k6's view of the run comes about.
    fn view(&self, outlet: Option<Outlet>) -> View {
        View {
            metrics: self.session.program.metrics.clone(),
            by_part: self.asked.summary.mode == Mode::Full,
            total: self.total.clone(),
            system_tags: self.system_tags,
            outlet,
        }
    }

    /// Opens the files that every sample goes to.
    fn writer(&self) -> Result<Option<(Writer, Outlet)>, Failed> {
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
        };
        Writer::start(settings).map(Some).map_err(|error| {
            let hint = "check the folder, its permissions and the space left";
            refused(Problem::new(format!("samples cannot be written, for `--out`: {}", reason(&error)), hint))
        })
    }

    fn stage(
        &self,
        export: &str,
        stage: Stage,
        argument: Option<&str>,
        timeout: Nanos,
        view: &View,
    ) -> Result<Option<String>, Failed> {
        let story = Story { tally: self.tally.clone(), options: self.exported.clone(), ..Story::default() };
        let settings = StageSettings {
            way: self.way.clone(),
            http: self.http.clone(),
            timeout,
            observer: view.observer(),
            story: Rc::new(story),
            tags: pairs(&self.options.tags).into(),
        };
        let ended = self.session.stage(export, stage, argument, settings);
        match ended.map_err(|error| failed(Problem::new(error.to_string(), "")))? {
            Ended::Returned(json) => Ok(json),
            Ended::Thrown(thrown) => {
                Err((Problem::new(format!("{export}() threw: {thrown}"), ""), Exit::Script))
            }
            Ended::Aborted(words) => Err((Problem::new(words, ""), Exit::Abort)),
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

    fn load(&self, data: Option<Arc<str>>, control: &Control, view: &View) -> Load {
        let scenarios = &self.options.scenarios;
        let part = |spec: &ScenarioSpec| {
            let plan = Scenario::from(spec);
            Part {
                name: spec.name.clone(),
                executor: spec.executor.name().to_owned(),
                export: spec.exec.clone(),
                // Of two tags with one name the later wins: that of the scenario.
                tags: pairs(self.options.tags.iter().chain(&spec.tags)),
                environment: pairs(&spec.env),
                users_max: plan.users_max(),
                begins: plan.terms.start,
                lasts: plan.ends().map(|ends| ends.since(plan.terms.start)),
                iterations: plan.stop.requests(),
            }
        };
        Load {
            program: self.session.program.clone(),
            parts: scenarios.iter().map(part).collect(),
            data,
            http: self.http.clone(),
            options: self.exported.clone(),
            tally: self.tally.clone(),
            observers: view.clone().observers(),
            control: control.clone(),
            aborted: Mutex::default(),
            min_iteration: self.options.run.min_iteration_duration.to_nanos(),
            begun: scenarios.iter().map(|_| 0.into()).collect(),
        }
    }

    fn plan(&self) -> Plan {
        let scenarios: Vec<Scenario> = self.options.scenarios.iter().map(Scenario::from).collect();
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

    fn measure(&self, load: &Arc<Load>, control: &Control, narrate: fn(&str)) -> Result<Run, Failed> {
        let unable = |error: std::io::Error| failed(Problem::new(error.to_string(), ""));
        let _signals = signals::watch(control.clone()).map_err(unable)?;
        let progress = if self.args.report.quiet { Progress::None } else { Progress::Lines };
        self.take(self.plan(), progress, load, control, narrate).map(|(run, _)| run)
    }

    /// Makes the run of a plan and keeps its record, whose name is returned.
    fn take(
        &self,
        plan: Plan,
        progress: Progress,
        load: &Arc<Load>,
        control: &Control,
        narrate: fn(&str),
    ) -> Result<(Run, Option<PathBuf>), Failed> {
        let unable = |error: &dyn std::fmt::Display| failed(Problem::new(error.to_string(), ""));
        let head = Head {
            measured_from: plan.warm_up,
            plan,
            title: self.args.script.clone(),
            started: clock::wall(),
            build: build(),
            machine: host::machine(),
            co_located: None,
        };
        let store = Store::of_process();
        let named = self.args.report.record.as_deref();
        let record = store::open_record(named, store.as_ref(), head.started, "script").map_err(refused)?;
        let kept = record.ok().and_then(|record| {
            let journal = FileJournal::begin(record.file, &head).ok()?;
            narrate(&format!("record: {}", record.path.display()));
            Some((Box::new(journal) as Box<_>, record.path))
        });
        let (journal, path) = kept.unzip();
        let (sender, events) = sync_channel(live::BACKLOG);
        let live = Live::start(progress, None, events, control.clone()).map_err(|error| unable(&error))?;
        let listeners = Listeners { journal, events: vec![sender] };
        let run = run::run(head, load, &self.way, control, listeners);
        live.finish().iter().for_each(|warning| narrate(&format!("warning: {warning}")));
        run.map(|run| (run, path)).map_err(|error| unable(&error))
    }
}

/// The thresholds, parsed, with the metrics that they ask for.
fn guards(asked: &Asked, session: &Session, options: &Options) -> Result<Arc<[Guarded]>, Failed> {
    if !asked.thresholds {
        return Ok(Arc::new([]));
    }
    let metrics = &session.program.metrics;
    let catalog = metrics.catalog();
    let known = |name: &str| {
        let metric = catalog.metric(catalog.find(name)?);
        Some((metric.kind, metric.contains))
    };
    let guards = threshold::compile(&options.thresholds, known).map_err(|error| {
        refused(Problem::new(error.to_string(), "see `thresholds` in the script's options"))
    })?;
    // All names were found to be keys above.
    guards.iter().filter_map(|guard| Key::parse(&guard.name).ok()).for_each(|key| metrics.keep_apart(&key));
    Ok(guards.into())
}

fn http(options: &HttpOptions) -> HttpDefaults {
    let own = HttpDefaults::default();
    HttpDefaults {
        redirects: options.max_redirects,
        discard_bodies: options.discard_response_bodies,
        throw: options.throw,
        batch: options.batch as usize,
        batch_per_host: options.batch_per_host as usize,
        keep_cookies: options.no_cookies_reset,
        fresh_connections: options.no_vu_connection_reuse,
        user_agent: options.user_agent.clone().unwrap_or(own.user_agent),
        pace: options.rps.map(|rate| Arc::new(Pace::per_second(rate))),
    }
}

/// How requests travel. TLS is made ready whatever the script asks for: it says so only later.
fn way(options: &HttpOptions) -> Result<Way, Problem> {
    let settings = network::settings(options)?;
    let config = tls::configure(&settings.tls).map_err(|error| Problem::new(error.to_string(), ""))?;
    Ok(Way { settings: Arc::new(settings), defaults: Defaults::default(), tls: Some(config) })
}

fn pairs<'a>(entries: impl IntoIterator<Item = (&'a String, &'a String)>) -> Vec<(String, String)> {
    entries.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}
