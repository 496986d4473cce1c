//! What every test starts from: servers of a fixture, observers, and what they have seen so far.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::fixture::Declaration;
use knee_core::observation::{ObservationBuilder, Observations, Observer as _, Proposal, SourceState};
use knee_core::plan::{Executor, Plan, Scenario, Stop};
use knee_core::record::run::RunBuilder;
use knee_core::record::{Build, Ending, Head, Machine, Run};
use knee_core::schedule::Curve;
use knee_core::unit::Nanos;
use knee_fixture::{Fixture, Options, Store};
use knee_observe::{Observers, Target};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Servers, running.
pub struct World {
    // Goes down before its folders.
    pub fixture: Fixture,
    _study: TempDir,
    _temporary: TempDir,
}

impl World {
    /// The servers of a declaration as a `study.toml` has it.
    pub fn up(declaration: &str) -> Self {
        let open = |folder: TempDir| {
            // PostgreSQL must pass through when the tests are run by root.
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
            folder
        };
        let memory = Path::new("/dev/shm");
        let fixtures = if memory.is_dir() { TempDir::new_in(memory) } else { tempfile::tempdir() };
        let (study, temporary) = (open(tempfile::tempdir().unwrap()), open(fixtures.unwrap()));
        let mut options = Options::new(study.path());
        options.temporary = Some(temporary.path().to_owned());
        let mut declaration: Declaration = toml::from_str(declaration).unwrap();
        declaration.generator.share_cpus = true;
        let fixture = Fixture::up(&declaration, &options);
        let fixture = fixture.unwrap_or_else(|error| panic!("{error}\n{}", error.hint()));
        Self { fixture, _study: study, _temporary: temporary }
    }

    pub fn store(&self) -> Store {
        self.fixture.stores().remove(0)
    }
}

/// Observers and what they have seen so far.
pub struct Beside {
    observers: Option<Observers>,
    seen: ObservationBuilder,
}

impl Beside {
    pub fn start(targets: &[&str]) -> Self {
        let targets: Vec<Target> = targets.iter().map(|text| Target::parse(text).unwrap()).collect();
        let mut observers = Observers::start(&targets, Nanos::from_millis(100), None).unwrap();
        observers.begin(MonotonicClock::start());
        Self { observers: Some(observers), seen: ObservationBuilder::default() }
    }

    /// Watches until `done`, within half a minute.
    pub fn until(&mut self, what: &str, done: impl Fn(&Observations) -> bool) -> Observations {
        for _ in 0..1_500 {
            let batch = self.observers.as_mut().unwrap().take();
            self.seen.add(&batch);
            let seen = self.seen.clone().finish();
            if done(&seen) {
                return seen;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let seen = self.seen.clone().finish();
        let names: Vec<_> = seen.series.iter().map(|one| format!("{} {}", one.name, one.label)).collect();
        panic!("never seen: {what}; sources {:?}; series {names:?}", seen.sources);
    }

    pub fn stop(mut self) -> Observations {
        let batch = self.observers.take().unwrap().end();
        self.seen.add(&batch);
        self.seen.finish()
    }

    /// Stops, and asks about the indexes that `proposals` makes of the run.
    pub fn ask(mut self, proposals: fn(&Run) -> Vec<Proposal>) -> Observations {
        let mut observers = self.observers.take().unwrap().with_proposals(proposals);
        self.seen.add(&observers.end());
        let mut run = RunBuilder::new(head()).end(Ending::Completed);
        run.observations = self.seen.clone().finish();
        self.seen.add(&observers.ask(&run));
        self.seen.finish()
    }
}

/// The head of a run that sends nothing.
fn head() -> Head {
    let executor = Executor::Closed { vus: Curve::constant(1.0) };
    let plan = Plan {
        scenarios: vec![Scenario::new("default", executor, Stop::At(Nanos::from_secs(1)))],
        endpoints: Vec::new(),
        warm_up: Nanos::ZERO,
        grace: Nanos::ZERO,
        request_timeout: None,
        connect_timeout: Nanos::from_secs(1),
        workers: 1,
        interval: Nanos::from_secs(1),
    };
    Head {
        plan,
        title: "http://service/".to_owned(),
        started: Nanos::ZERO,
        build: Build::default(),
        machine: Machine::default(),
        co_located: None,
        segment: None,
        fleet: None,
        http2_streams: None,
        measured_from: Nanos::ZERO,
    }
}

/// The last figure of a series of the first source.
pub fn last(seen: &Observations, name: &str, label: &str) -> Option<f64> {
    seen.series(0, name, label)?.points.last().map(|point| point.1)
}

pub fn is_read(seen: &Observations) -> bool {
    seen.sources[0].state == SourceState::Read
}

pub fn is_lost(seen: &Observations) -> bool {
    matches!(seen.sources[0].state, SourceState::Lost { .. })
}

pub fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Everything that a source has named or said.
pub fn words(seen: &Observations) -> String {
    let series = seen.series.iter().map(|one| format!("{} {}", one.name, one.label));
    let texts = seen.texts.iter().map(|one| format!("{} {} {}", one.name, one.label, one.text));
    let sources = seen.sources.iter().map(|one| format!("{one:?}"));
    series.chain(texts).chain(sources).collect::<Vec<_>>().join("\u{0}")
}
