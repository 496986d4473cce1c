//! What every test starts from: servers of a fixture, observers, and what they have seen so far.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::fixture::Declaration;
use knee_core::observation::{ObservationBuilder, Observations, Observer as _, SourceState};
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
        let mut observers = Observers::start(&targets, Nanos::from_millis(100)).unwrap();
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
