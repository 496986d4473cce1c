//! Runs one script as the program would, and tells what came of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use knee_core::plan::{Plan, Scenario};
use knee_core::record::{Build, Head, Run};
use knee_core::share::Share;
use knee_core::unit::Nanos;
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::http::request::Defaults;
use knee_engine::http::settings::Settings;
use knee_engine::run::{self, HttpConfig, Listeners};
use knee_js::loader::remote::RemoteSettings;
use knee_js::program::files::Reach;
use knee_js::program::{HttpDefaults, Limits, LogLine, Surroundings};
use knee_js::session::Session;
use knee_js::workload::{Load, Part};
use knee_k6::duration::SignedDuration;
use knee_k6::http::pace::Pace;
use knee_k6::metric::{BuiltIn, Catalog, Meter, Metric, MetricId, Sink};
use knee_k6::observe::metered::Total;
use knee_k6::observe::system_tags::SystemTags;
use knee_k6::observe::view::View;
use knee_k6::options::Options;
use knee_k6::options::resolve::{Layers, resolve};
use knee_k6::secrets::Secrets;
use knee_k6::threshold;

use super::server::Server;

/// What came of a script.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was wrong with it while it was loaded.
    pub refused: Option<String>,
    /// Lines it wrote, and lines about it.
    pub lines: Vec<String>,
    /// Requests the server saw.
    pub requests: Vec<String>,
    /// Checks that held and that did not.
    pub checks: (u64, u64),
    /// Names of those that did not.
    pub failed: Vec<String>,
    /// Whole iterations.
    pub iterations: f64,
    /// Sums of all counters, by name.
    pub counters: BTreeMap<String, f64>,
    /// Metrics whose thresholds do not hold.
    pub crossed: Vec<String>,
    /// The run as the engine counted it.
    pub run: Option<Run>,
}

/// The files of one folder of tests, sorted.
pub fn scripts(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "js")).collect();
    scripts.sort();
    scripts
}

/// A message, and what belongs to it unless that is only the place it is from.
fn written(line: &LogLine<'_>) -> String {
    let fields = line.fields.iter().filter(|(name, _)| *name != "source");
    fields.fold(line.message.to_owned(), |text, (name, value)| format!("{text} {name}={value:?}"))
}

/// What the first lines of a script expect: `// name: value`.
pub fn expectations(script: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(script).unwrap();
    let head = text.lines().map_while(|line| line.strip_prefix("// "));
    head.filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Runs a script.
pub fn run_script(script: &Path, limits: Limits) -> Outcome {
    run_against(&Server::start(), script, limits, &[])
}

/// Runs a script that is no file of the tests.
pub fn run_text(source: &str, limits: Limits) -> Outcome {
    run_text_against(&Server::start(), source, limits)
}

/// The same, against a server.
pub fn run_text_against(server: &Server, source: &str, limits: Limits) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, source).unwrap();
    run_against(server, &script, limits, &[])
}

/// Runs a script that can ask for these secrets, each as NAME=VALUE.
pub fn run_text_with_secrets(source: &str, secrets: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, source).unwrap();
    let read = |name: &str| panic!("nothing reads {name}");
    let secrets = Secrets::configured(&[format!("mock={secrets}")], &read).unwrap();
    run_with(
        &Server::start(),
        &script,
        Limits::default(),
        &[],
        Own { secrets: secrets.into(), ceiling: None },
    )
}

/// Runs a script against a server, with variables for its `__ENV` besides `BASE`.
pub fn run_against(server: &Server, script: &Path, limits: Limits, environment: &[(&str, &str)]) -> Outcome {
    run_with(server, script, limits, environment, Own::default())
}

/// Runs a script that an agent with this ceiling runs. Its folder has `echo.proto` with these services.
pub fn run_held(server: &Server, (source, proto): (&str, &str), ceiling: &Arc<Pace>) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.js");
    std::fs::write(&script, source).unwrap();
    std::fs::write(folder.path().join("echo.proto"), proto).unwrap();
    let own = Own { ceiling: Some(ceiling.clone()), ..Own::default() };
    run_with(server, &script, Limits::default(), &[], own)
}

/// What only few runs have.
#[derive(Default)]
struct Own {
    secrets: Arc<Secrets>,
    ceiling: Option<Arc<Pace>>,
}

fn run_with(
    server: &Server,
    script: &Path,
    limits: Limits,
    environment: &[(&str, &str)],
    Own { secrets, ceiling }: Own,
) -> Outcome {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = lines.clone();
    let mut environment = owned(environment);
    environment.push(("BASE".into(), server.base.clone()));
    let surroundings = Surroundings {
        environment,
        reach: Reach::default(),
        limits,
        narrator: Arc::new(move |line| told.lock().unwrap().push(written(line))),
        console: None,
        remote: RemoteSettings::default(),
        secrets,
    };
    let mut outcome = match Session::load(script, surroundings) {
        Ok(session) => load(&session, ceiling),
        Err(error) => Outcome { refused: Some(error.to_string()), ..Outcome::default() },
    };
    outcome.lines = lines.lock().unwrap().clone();
    outcome.requests = server.journal.lock().unwrap().clone();
    outcome
}

/// What a script asks for with these variables, without running it.
pub fn options_of(script: &Path, environment: &[(&str, &str)]) -> Options {
    let surroundings = Surroundings {
        environment: owned(environment),
        reach: Reach::default(),
        limits: Limits::default(),
        narrator: Arc::new(|_| {}),
        console: None,
        remote: RemoteSettings::default(),
        secrets: Arc::default(),
    };
    options(&Session::load(script, surroundings).unwrap())
}

fn owned(environment: &[(&str, &str)]) -> Vec<(String, String)> {
    environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn options(session: &Session) -> Options {
    let script = session.description.options.as_deref().map(|json| serde_json::from_str(json).unwrap());
    let layers = Layers { script: script.unwrap_or_default(), ..Layers::default() };
    resolve(layers, |name| session.exports(name)).unwrap()
}

fn load(session: &Session, ceiling: Option<Arc<Pace>>) -> Outcome {
    let options = options(session);
    let metrics = session.program.metrics.clone();
    let total = Total::new(&metrics.catalog(), false);
    let scenarios = options.planned();
    let parts = options.scenarios.iter().zip(&scenarios).map(|(spec, scenario)| Part {
        name: spec.name.clone(),
        executor: spec.executor.clone(),
        export: spec.exec.clone(),
        tags: Vec::new(),
        environment: Vec::new(),
        begins: Nanos::ZERO,
        lasts: None,
        iterations: scenario.requests(),
        turns: scenario.part.as_ref().map(|part| part.turns.clone()),
    });
    let control = Control::new();
    let load = Arc::new(Load {
        program: session.program.clone(),
        parts: parts.collect(),
        data: None,
        http: HttpDefaults { throw: options.http.throw, ceiling, ..HttpDefaults::default() },
        options: options.exported.to_string().into(),
        tally: Arc::default(),
        observers: View::plain(metrics, total.clone()).observers(),
        control: control.clone(),
        stopped: Mutex::default(),
        min_iteration: Nanos::ZERO,
        tags: Vec::new(),
        system_tags: SystemTags::default(),
        counts: scenarios.iter().map(|_| Arc::default()).collect(),
        vus: options.share.as_ref().map(Share::stripe),
    });
    let way = HttpConfig {
        settings: Arc::new(Settings::default()),
        defaults: Defaults::default(),
        tls: None,
        http2: None,
    };
    let listeners = Listeners { journal: None, events: Vec::new(), observer: None, metrics: None };
    let run = run::run(head(scenarios), &load, &way, &control, listeners).unwrap();
    let total = total.meter();
    let crossed = crossed(&options, &total, &session.program.metrics.catalog());
    Outcome { crossed, run: Some(run), ..outcome_of(&total, &session.program.metrics.catalog()) }
}

fn crossed(options: &Options, total: &Meter, catalog: &Catalog) -> Vec<String> {
    let kind_of = |name: &str| {
        let metric = catalog.metric(catalog.find(name)?);
        Some((metric.kind, metric.contains))
    };
    let guards = threshold::compile(&options.thresholds, kind_of).unwrap();
    // No threshold of the scripts here counts by the second.
    let (_, verdict) =
        threshold::judge(&guards, |name| total.find(name).cloned(), SignedDuration::default(), true);
    verdict.crossed
}

fn outcome_of(total: &Meter, catalog: &Catalog) -> Outcome {
    let checks = match total.sink(BuiltIn::Checks.id()) {
        Some(Sink::Rate(rate)) => (rate.hits(), rate.misses()),
        _ => (0, 0),
    };
    let iterations = match total.sink(BuiltIn::Iterations.id()) {
        Some(Sink::Counter(counter)) => counter.sum(),
        _ => 0.0,
    };
    let failed = total.groups().all_checks().into_iter().filter(|check| check.fails > 0);
    let failed = failed.map(|check| check.name).collect();
    let sum = |(id, metric): (MetricId, &Metric)| match total.sink(id) {
        Some(Sink::Counter(counter)) => Some((metric.name.clone(), counter.sum())),
        _ => None,
    };
    let counters = catalog.metrics().filter_map(sum).collect();
    Outcome { checks, failed, iterations, counters, ..Outcome::default() }
}

fn head(scenarios: Vec<Scenario>) -> Head {
    let plan = Plan {
        scenarios,
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: Nanos::from_secs(1),
        request_timeout: None,
        connect_timeout: Nanos::from_secs(5),
        workers: 1,
        interval: Nanos::from_secs(1),
    };
    Head {
        measured_from: Nanos::ZERO,
        plan,
        title: "a test".into(),
        started: Nanos::ZERO,
        build: Build { version: String::new(), commit: None, optimized: true },
        machine: host::machine(),
        co_located: Some(true),
        segment: None,
        fleet: None,
        http2_streams: None,
    }
}
