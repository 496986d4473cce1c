//! A service of a running fixture: its process, its folder, and the state of its data.
//!
//! Starts and stops the process and knows when it is up. Does not build it and does not fill its data.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use knee_core::fixture::Service;

use crate::error::{Error, is_full_disk};
use crate::exit::Exit;
use crate::folder;
use crate::launcher::{Launcher, QUOTED};
use crate::overrides::Overrides;
use crate::placeholder::{self, Placeholders};
use crate::ready;
use crate::registry::{Handle, Launch, StopSignal};

/// Default time limit for a service to end by itself, in seconds.
const STOP_WITHIN_S: f64 = 10.0;

/// The state of a service, beside its declaration.
#[derive(Debug)]
pub(crate) struct ServiceState {
    pub(crate) name: String,
    /// Its data: `{data}` of its texts.
    pub(crate) data: PathBuf,
    /// Where its temporary files go.
    temporary: PathBuf,
    pub(crate) process: Option<Process>,
    /// Which seed its data comes from; nothing before the first one.
    pub(crate) seeded: Option<SeedKey>,
    /// Whether a seed ever began; the data is then not known to be empty.
    pub(crate) touched: bool,
    /// Saved seeds, by the keys under which they are saved.
    pub(crate) saved: BTreeMap<SeedKey, usize>,
    /// Number of starts; numbers the logs.
    starts: usize,
}

/// All that a seed's result depends on. The placeholders in its texts have the same values in the whole study.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeedKey {
    revision: Option<String>,
    command: Vec<String>,
    env: BTreeMap<String, String>,
    /// Statements that run after the seed, by PostgreSQL cluster.
    sql: BTreeMap<String, Vec<String>>,
}

impl SeedKey {
    /// What the seed of `declared` gets under these changes; without a seed, environments make no difference.
    pub(crate) fn of(declared: &Service, overrides: &Overrides) -> Self {
        let mut env = BTreeMap::new();
        if !declared.seed.is_empty() {
            env.extend(declared.env.clone());
            env.extend(seed_env(declared, overrides));
        }
        let sql = overrides.sql.clone();
        Self { revision: overrides.revision.clone(), command: declared.seed.clone(), env, sql }
    }

    /// The seed alone, without statements.
    pub(crate) fn without_sql(&self) -> Self {
        Self { sql: BTreeMap::new(), ..self.clone() }
    }
}

/// The variables of switches and variants that the seed gets.
fn seed_env(declared: &Service, overrides: &Overrides) -> BTreeMap<String, String> {
    let passed =
        |name: &String| declared.seed_env.as_ref().is_none_or(|passed| passed.iter().any(|one| one == name));
    overrides
        .env
        .iter()
        .filter(|(name, _)| passed(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A process that answers.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) handle: Handle,
    pub(crate) port: u16,
    pub(crate) log: PathBuf,
}

/// Inputs of a start from the rest of the fixture.
#[derive(Clone)]
pub(crate) struct StartContext {
    /// The placeholders of texts, without those that only this start knows.
    pub(crate) placeholders: Placeholders,
    /// Where the command is run.
    pub(crate) folder: PathBuf,
    pub(crate) logs: PathBuf,
    pub(crate) cpus: Vec<usize>,
    pub(crate) group: Option<PathBuf>,
}

impl ServiceState {
    pub(crate) fn new(launcher: &Launcher, name: &str) -> Result<Self, Error> {
        let data = launcher.root.join(format!("data-{name}"));
        let temporary = launcher.root.join(format!("tmp-{name}"));
        folder::create(&data, None)?;
        folder::create(&temporary, None)?;
        let (process, seeded, saved) = (None, None, BTreeMap::new());
        Ok(Self { name: name.to_owned(), data, temporary, process, seeded, touched: false, saved, starts: 0 })
    }

    /// Starts the service and waits until it is ready.
    pub(crate) fn start(
        &mut self,
        launcher: &Launcher,
        context: &StartContext,
        declared: &Service,
        overrides: &Overrides,
    ) -> Result<Process, Error> {
        const TRIES: usize = 3;
        for _ in 1..TRIES {
            match self.try_port(launcher, context, declared, overrides) {
                // Another program took the port between our choice and its use.
                Err(Error::Died { last_lines, .. }) if declared.port.is_none() && in_use(&last_lines) => {}
                other => return other,
            }
        }
        self.try_port(launcher, context, declared, overrides)
    }

    /// Ends the service. Returns how it ended, unless it had to be killed or was not running.
    pub(crate) fn stop(&mut self, launcher: &Launcher, declared: &Service) -> Result<Option<Exit>, Error> {
        let Some(process) = self.process.take() else { return Ok(None) };
        launcher.stop(process.handle, StopSignal::Terminate, declared.stop_within_s.unwrap_or(STOP_WITHIN_S))
    }

    /// An error if the service was started and has ended.
    pub(crate) fn check(&self, launcher: &Launcher) -> Result<(), Error> {
        self.process.as_ref().map_or(Ok(()), |process| self.alive(launcher, process, false))
    }

    /// Runs the seed to its end.
    pub(crate) fn seed(
        &mut self,
        launcher: &Launcher,
        context: &StartContext,
        declared: &Service,
        overrides: &Overrides,
    ) -> Result<(), Error> {
        if declared.seed.is_empty() {
            return Ok(());
        }
        self.starts += 1;
        let log = context.logs.join(format!("{}-seed-{}.log", self.name, self.starts));
        let seed = (declared.seed.as_slice(), format!("service.{}.seed", self.name));
        let passed = Overrides { env: seed_env(declared, overrides), ..overrides.clone() };
        let launch = self.launch(context, seed, declared, &passed, log)?;
        launcher.run_well(&launch, &format!("the seed of `{}`", self.name))
    }

    fn try_port(
        &mut self,
        launcher: &Launcher,
        context: &StartContext,
        declared: &Service,
        overrides: &Overrides,
    ) -> Result<Process, Error> {
        let who = self.who();
        let port = match declared.port {
            Some(port) if !ready::is_free(port) => return Err(Error::PortTaken { port, who }),
            Some(port) => port,
            None => ready::free_port().map_err(|error| Error::folder("listen in", &self.data, error))?,
        };
        self.starts += 1;
        let log = context.logs.join(format!("{}-{}.log", self.name, self.starts));
        let mut command = overrides.command.clone().unwrap_or_else(|| declared.command.clone());
        command.extend(overrides.args.iter().cloned());
        let mut placeholders = context.placeholders.clone();
        placeholders.insert("port".to_owned(), port.to_string());
        let context = StartContext { placeholders, ..context.clone() };
        let command = (command.as_slice(), format!("service.{}.command", self.name));
        let launch = self.launch(&context, command, declared, overrides, log.clone())?;
        let handle = launcher.launch(&launch)?;
        let process = Process { handle, port, log };
        self.wait(launcher, declared, &process).inspect_err(|_| launcher.kill(handle))?;
        self.process = Some(process.clone());
        Ok(process)
    }

    fn wait(&self, launcher: &Launcher, declared: &Service, process: &Process) -> Result<(), Error> {
        let authority = format!("127.0.0.1:{}", process.port);
        let mut died = Ok(());
        let mut refused = String::new();
        let up =
            launcher.wait_until(&format!("waiting for {}", self.who()), declared.ready.within_s, || {
                let asked = ready::ask(&authority, declared.ready.path.as_deref());
                died = self.alive(launcher, process, true);
                refused = asked.as_ref().err().cloned().unwrap_or_default();
                died.is_err() || asked.is_ok()
            })?;
        died?;
        if up {
            return Ok(());
        }
        let last_lines = folder::last_lines(&process.log, QUOTED);
        Err(Error::NeverReady {
            who: self.who(),
            within_s: declared.ready.within_s,
            waited_for: refused,
            last_lines,
        })
    }

    fn alive(&self, launcher: &Launcher, process: &Process, at_start: bool) -> Result<(), Error> {
        let Some(exit) = launcher.poll(process.handle)? else { return Ok(()) };
        let last_lines = folder::last_lines(&process.log, QUOTED);
        if is_full_disk(&last_lines, &self.data) {
            return Err(Error::DiskFull { what: self.who(), path: self.data.clone() });
        }
        Err(Error::Died { who: self.who(), at_start, exit, log: process.log.clone(), last_lines })
    }

    /// What is started for `command`, whose texts are filled in.
    fn launch(
        &self,
        context: &StartContext,
        (command, at): (&[String], String),
        declared: &Service,
        overrides: &Overrides,
        log: PathBuf,
    ) -> Result<Launch, Error> {
        let mut placeholders = context.placeholders.clone();
        placeholders.insert("data".to_owned(), self.data.display().to_string());
        let filled: Result<Vec<String>, Error> =
            command.iter().map(|text| placeholder::fill(text, &placeholders, &at)).collect();
        let mut args = filled?;
        if args.is_empty() {
            return Err(Error::declared(at, "is empty"));
        }
        let program = program(&args.remove(0), &context.folder);
        let mut env: BTreeMap<String, String> = ["PATH", "HOME", "LANG"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)))
            .collect();
        env.insert("TMPDIR".to_owned(), self.temporary.display().to_string());
        for (name, text) in declared.env.iter().chain(&overrides.env) {
            let at = format!("service.{}.env.{name}", self.name);
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                return Err(Error::declared(at, "is not the name of an environment variable"));
            }
            env.insert(name.clone(), placeholder::fill(text, &placeholders, &at)?);
        }
        Ok(Launch {
            program,
            args,
            env: env.into_iter().collect(),
            folder: context.folder.clone(),
            log,
            user: None,
            cpus: context.cpus.clone(),
            group: context.group.clone(),
            stop_signal: StopSignal::Terminate,
        })
    }

    fn who(&self) -> String {
        format!("service `{}`", self.name)
    }
}

/// A program with a path is relative to the folder in which it runs; one without is looked up on PATH.
fn program(word: &str, folder: &Path) -> PathBuf {
    if word.contains('/') { folder.join(word) } else { PathBuf::from(word) }
}

/// Whether a program ended because its port was taken.
fn in_use(lines: &[String]) -> bool {
    let says = |line: &String| {
        let line = line.to_lowercase();
        line.contains("address already in use")
            || line.contains("eaddrinuse")
            || line.contains("address in use")
    };
    lines.iter().any(says)
}
