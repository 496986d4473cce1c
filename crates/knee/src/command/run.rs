//! `knee run script.js`: run a k6 script, show it live, keep the record, print the result.
//!
//! The order matters: the script is loaded and its options are judged before the first request.

use std::fmt::Write as _;
use std::io::Read as _;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use knee_core::clock;
use knee_core::plan::{Plan, Scenario};
use knee_core::record::{Ending, Head, Run};
use knee_core::truth::State;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::{Settings, TlsSettings};
use knee_engine::http::tls;
use knee_engine::run::{self, Listeners, Way};
use knee_script::loader::remote::RemoteSettings;
use knee_script::metric::{BuiltIn, Catalog, Sink};
use knee_script::observe::metered::{self, Total};
use knee_script::op::{Ended, Stage};
use knee_script::options::layer::Layer;
use knee_script::options::resolve::{Layers, resolve};
use knee_script::options::{HttpOptions, Options};
use knee_script::program::files::Script;
use knee_script::program::{HttpDefaults, Level, Surroundings};
use knee_script::session::{Session, SessionError, StageSettings};
use knee_script::state::{Story, Tally};
use knee_script::vu::LoadError;
use knee_script::workload::{Load, Part};

use super::journal::FileJournal;
use super::{build, render};
use crate::args::{Format, RunArgs};
use crate::exit::Exit;
use crate::fetch::Network;
use crate::live::{self, Live};
use crate::problem::{Problem, printable};
use crate::settings::output::{Progress, Sink as ResultSink};
use crate::settings::{Surroundings as Terminal, amount};
use crate::signals;
use crate::store::{self, Store};

/// A run that failed: with the code to end with.
type Failed = (Problem, Exit);

/// Does it.
///
/// # Errors
///
/// What is wrong with the script or its options, or what failed on this machine.
pub fn run(args: &RunArgs, narrate: fn(&str)) -> Result<Exit, Failed> {
    let session = load(args, narrate)?;
    let options = options(args, &session)?;
    options.warnings.iter().for_each(|warning| narrate(&format!("warning: {}", printable(warning))));
    let job = Job::new(args, &session, &options, narrate)?;
    job.run(narrate)
}

fn load(args: &RunArgs, narrate: fn(&str)) -> Result<Session, Failed> {
    let mut environment: Vec<(String, String)> = std::env::vars().collect();
    for pair in &args.env {
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (pair.clone(), std::env::var(pair).unwrap_or_default()),
        };
        environment.retain(|(known, _)| *known != name);
        environment.push((name, value));
    }
    let surroundings = Surroundings {
        environment,
        allow_read: args.allow_read.clone(),
        limits: knee_script::program::Limits::default(),
        narrator: Arc::new(move |level, line| say(narrate, level, line)),
        remote: remote(args),
    };
    let script = script(args).map_err(|error| unreadable(args, &error))?;
    let session = Session::load(script, surroundings).map_err(|error| match error {
        SessionError::Script(LoadError::Script(thrown)) => {
            (Problem::new(format!("the script threw while it was loaded: {thrown}"), ""), Exit::Script)
        }
        SessionError::Module(trouble) => (Problem::new(trouble.what, trouble.hint), Exit::Script),
        SessionError::Io(error) => unreadable(args, &error),
        SessionError::Script(error) => failed(Problem::new(error.to_string(), "")),
    })?;
    session.program.notes().iter().for_each(|note| narrate(&format!("note: {}", printable(note))));
    Ok(session)
}

fn unreadable(args: &RunArgs, error: &std::io::Error) -> Failed {
    let what = format!("`{}` cannot be read: {error}", args.script);
    refused(Problem::new(what, "give the path of a script, or - for standard input"))
}

/// The script that was asked for; `-` is standard input, and its imports begin in the working folder.
fn script(args: &RunArgs) -> std::io::Result<Script> {
    if args.script != "-" {
        return Ok(Script::File(args.script.clone().into()));
    }
    let mut source = Vec::new();
    std::io::stdin().lock().read_to_end(&mut source)?;
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

/// A line of the script, or about it.
fn say(narrate: fn(&str), level: Level, line: &str) {
    let level = match level {
        Level::Debug => return,
        Level::Info => "INFO",
        Level::Warn => "WARN",
        Level::Error => "ERRO",
    };
    narrate(&format!("{level} {}", printable(line)));
}

fn options(args: &RunArgs, session: &Session) -> Result<Options, Failed> {
    let wrong =
        |error: &dyn std::fmt::Display| refused(Problem::new(error.to_string(), "see the script's options"));
    let script = match &session.description.options {
        Some(json) => serde_json::from_str(json).map_err(|error| wrong(&error))?,
        None => serde_json::Value::Null,
    };
    let typed = serde_json::json!({
        "vus": args.vus,
        "duration": args.duration,
        "iterations": args.iterations,
    });
    let (cli, _) = Layer::from_value(&typed).map_err(|error| wrong(&error))?;
    let layers = Layers { script, cli, ..Layers::default() };
    resolve(layers, |name| session.exports(name)).map_err(|error| wrong(&error))
}

/// A script with its options, ready to run.
struct Job<'a> {
    args: &'a RunArgs,
    session: &'a Session,
    options: &'a Options,
    http: HttpDefaults,
    way: Way,
    catalog: Arc<Catalog>,
    total: Total,
    tally: Arc<Tally>,
    exported: Arc<str>,
}

impl<'a> Job<'a> {
    fn new(
        args: &'a RunArgs,
        session: &'a Session,
        options: &'a Options,
        _narrate: fn(&str),
    ) -> Result<Self, Failed> {
        let catalog = Arc::new(Catalog::new());
        Ok(Self {
            args,
            session,
            options,
            http: http(&options.http),
            way: way(&options.http).map_err(refused)?,
            total: Total::new(&catalog, false),
            catalog,
            tally: Arc::default(),
            exported: options.exported.to_string().into(),
        })
    }

    fn run(&self, narrate: fn(&str)) -> Result<Exit, Failed> {
        let data = self.setup(narrate)?;
        let control = Control::new();
        let load = Arc::new(self.load(data.clone(), &control));
        let run = self.measure(&load, &control, narrate)?;
        self.teardown(data.as_deref())?;
        let terminal = Terminal::read();
        let color = !terminal.no_color && terminal.stdout_terminal;
        let mut text = render(&run, self.args.format.unwrap_or(Format::Text), color, None);
        if self.args.format.is_none() {
            text.push_str(&self.summary());
        }
        ResultSink::Stdout.write(text.as_bytes()).map_err(failed)?;
        if let Some(words) = load.abort_reason() {
            return Err((Problem::new(words, ""), Exit::Abort));
        }
        Ok(exit_of(&run))
    }

    /// JSON of what `setup` returns.
    fn setup(&self, narrate: fn(&str)) -> Result<Option<Arc<str>>, Failed> {
        if self.options.run.no_setup || !self.session.exports("setup") {
            return Ok(None);
        }
        let _ = narrate;
        let timeout = self.options.run.setup_timeout.to_nanos();
        Ok(self.stage("setup", Stage::Setup, None, timeout)?.map(Into::into))
    }

    fn teardown(&self, data: Option<&str>) -> Result<(), Failed> {
        if self.options.run.no_teardown || !self.session.exports("teardown") {
            return Ok(());
        }
        let timeout = self.options.run.teardown_timeout.to_nanos();
        self.stage("teardown", Stage::Teardown, data, timeout).map(drop)
    }

    fn stage(
        &self,
        export: &str,
        stage: Stage,
        argument: Option<&str>,
        timeout: Nanos,
    ) -> Result<Option<String>, Failed> {
        let observers = metered::observers(self.catalog.clone(), false, self.total.clone());
        let story = Story { tally: self.tally.clone(), options: self.exported.clone(), ..Story::default() };
        let settings = StageSettings {
            way: self.way.clone(),
            http: self.http.clone(),
            timeout,
            observer: observers(),
            story: Rc::new(story),
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
                Err((Problem::new(words, hint), Exit::Script))
            }
        }
    }

    fn load(&self, data: Option<Arc<str>>, control: &Control) -> Load {
        let scenarios = &self.options.scenarios;
        let part = |spec: &knee_script::options::scenario::ScenarioSpec| {
            let plan = Scenario::from(spec);
            Part {
                name: spec.name.clone(),
                executor: spec.executor.name().to_owned(),
                export: spec.exec.clone(),
                tags: spec
                    .tags
                    .iter()
                    .chain(&self.options.tags)
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect(),
                environment: spec.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
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
            observers: metered::observers(self.catalog.clone(), false, self.total.clone()),
            control: control.clone(),
            aborted: Mutex::default(),
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
                .workers
                .map_or_else(|| cores.min(users).max(1) as u16, |workers| workers.get().into()),
            interval: amount::INTERVAL,
        }
    }

    fn measure(&self, load: &Arc<Load>, control: &Control, narrate: fn(&str)) -> Result<Run, Failed> {
        let unable = |error: &dyn std::fmt::Display| failed(Problem::new(error.to_string(), ""));
        let plan = self.plan();
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
        let record = store::open_record(None, store.as_ref(), head.started, "script").map_err(refused)?;
        let journal = record.ok().and_then(|record| {
            let journal = FileJournal::begin(record.file, &head).ok()?;
            narrate(&format!("record: {}", record.path.display()));
            Some(Box::new(journal) as Box<_>)
        });
        let _signals = signals::watch(control.clone()).map_err(|error| unable(&error))?;
        let (sender, events) = sync_channel(live::BACKLOG);
        let progress = if self.args.quiet { Progress::None } else { Progress::Lines };
        let live = Live::start(progress, None, events, control.clone()).map_err(|error| unable(&error))?;
        let listeners = Listeners { journal, events: vec![sender] };
        let run = run::run(head, load, &self.way, control, listeners);
        live.finish().iter().for_each(|warning| narrate(&format!("warning: {warning}")));
        run.map_err(|error| unable(&error))
    }

    /// Checks and counts, as k6 names them.
    fn summary(&self) -> String {
        let total = self.total.meter();
        let mut text = String::new();
        for metric in [BuiltIn::Checks, BuiltIn::HttpReqs, BuiltIn::Iterations] {
            let shown = match total.sink(metric.id()) {
                Some(Sink::Rate(rate)) => format!("{} of {} passed", rate.hits(), rate.total()),
                Some(Sink::Counter(counter)) => counter.sum().to_string(),
                _ => continue,
            };
            let _ = writeln!(text, "{}: {shown}", metric.name());
        }
        text
    }
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
    }
}

/// How requests travel. TLS is made ready whatever the script asks for: it says so only later.
fn way(options: &HttpOptions) -> Result<Way, Problem> {
    let tls = TlsSettings { insecure: options.insecure_skip_tls_verify, ..TlsSettings::default() };
    let config = tls::configure(&tls).map_err(|error| Problem::new(error.to_string(), ""))?;
    let settings = Settings {
        connect_timeout: Nanos::from_secs(30),
        keep_alive: !options.no_connection_reuse,
        tls,
        ..Settings::default()
    };
    Ok(Way { settings: Arc::new(settings), defaults: Defaults::default(), tls: Some(config) })
}

/// How a run ends the program.
fn exit_of(run: &Run) -> Exit {
    match (&run.ending, run.truth.state) {
        (_, State::Invalid) => Exit::Invalid,
        (Ending::Interrupted | Ending::Aborted, _) => Exit::Interrupted,
        _ => Exit::Ok,
    }
}

fn refused(problem: Problem) -> Failed {
    (problem, Exit::Configuration)
}

fn failed(problem: Problem) -> Failed {
    (problem, Exit::Failure)
}
