//! The fixture: the running services and stores of a declaration, and the few operations by which a study uses them.
//!
//! Blocks, and can be used inside or outside of a runtime. Does not decide when a trial runs, and does not measure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use knee_core::fixture::division::{self, Division};
use knee_core::fixture::{Declaration, Reset, Service};

use crate::activity::ActivityProbe;
use crate::error::Error;
use crate::exit::Exit;
use crate::folder;
use crate::launcher::Launcher;
use crate::overrides::Overrides;
use crate::placeholder::Placeholders;
use crate::placement::{self, Bounds, Unavailable};
use crate::postgres::Cluster;
use crate::redis::Server;
use crate::registry::Handle;
use crate::service::{ServiceState, StartContext};
use crate::source::Sources;
use crate::statements::{CountingServer, StatementProbe};
use crate::supervisor;
use crate::{declaration, platform, postgres, ready, registry};

mod data;

/// Settings of a fixture.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of the study: where builds and commands are run, unless a variant has a revision.
    pub study: PathBuf,
    /// A folder in which logs are kept after the end. Without one they are removed with the fixture.
    pub logs: Option<PathBuf>,
    /// Parent of the fixture's own folder; the system's folder for temporary files when absent.
    pub temporary: Option<PathBuf>,
    /// The program that takes everything down when this one is killed. Without one, the fixture cleans up when it is
    /// dropped, even in a panic. If the process is killed, the next fixture removes the folder and processes that it
    /// left.
    pub supervisor: Option<supervisor::Program>,
    /// Every wait ends soon after this becomes true.
    pub interrupt: Arc<AtomicBool>,
    /// Number of CPUs of the generator, if the declaration leaves it open; half of the CPUs when absent.
    pub generator_cpus: Option<usize>,
    /// Whether the PostgreSQL servers count and time their statements, with `pg_stat_statements`. That takes CPU time
    /// in each statement. A server whose installation lacks the extension runs without it, and its [`Store`] says so.
    pub statements: bool,
}

impl Options {
    /// Settings for the study in this folder, without a supervisor.
    pub fn new(study: impl Into<PathBuf>) -> Self {
        Self {
            study: study.into(),
            logs: None,
            temporary: None,
            supervisor: None,
            interrupt: Arc::default(),
            generator_cpus: None,
            statements: false,
        }
    }
}

/// A command of a declaration that can take minutes, reported before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation<'a> {
    /// The build of a service.
    Build(&'a str),
    /// The seed of a service's data: program and arguments as declared, with their placeholders.
    Seed(&'a [String]),
}

/// A service that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// Its address, as `http://host:port`.
    pub url: String,
    /// Its process, if the fixture started it.
    pub pid: Option<u32>,
    /// The address of its page of metrics, if it is declared.
    pub metrics: Option<String>,
    /// Its output.
    pub log: Option<PathBuf>,
    /// Declared settings that are unavailable here.
    pub unavailable: Vec<Unavailable>,
}

/// A store of the fixture, with the data that an observer needs to read its figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// `postgres.NAME` or `redis.NAME`.
    pub name: String,
    /// Its address, with its password.
    pub url: String,
    /// That of its replica.
    pub replica_url: Option<String>,
    /// Its processes, the writing one first; empty for a store that the user runs.
    pub pids: Vec<u32>,
    /// What it was to have and cannot have here.
    pub unavailable: Vec<Unavailable>,
}

/// Everything that a study needs, running. Dropping it takes it down.
pub struct Fixture {
    // The order matters: when `up` fails, what is dropped last is what ends all processes.
    declaration: Declaration,
    sources: Sources,
    services: BTreeMap<String, ServiceState>,
    postgres: BTreeMap<String, Cluster>,
    redis: BTreeMap<String, Server>,
    logs: PathBuf,
    study: PathBuf,
    allowed: Vec<usize>,
    division: Division,
    /// Whether the generator was moved and must be moved back.
    placed: bool,
    /// What the generator was to have and cannot have here.
    unavailable: Vec<Unavailable>,
    launcher: Launcher,
}

/// Where a declaration says on which CPUs the generator runs.
const GENERATOR_CPUS: &str = "generator.cpus";

impl Fixture {
    /// Checks a declaration and brings up its databases and caches. Services are started one by one.
    pub fn up(declaration: &Declaration, options: &Options) -> Result<Self, Error> {
        declaration::check(declaration)?;
        let study = std::fs::canonicalize(&options.study)
            .and_then(|study| std::fs::read_dir(&study).map(|_| study))
            .map_err(|error| Error::folder("read", &options.study, error))?;
        let allowed = platform::allowed_cpus();
        let division = divided(declaration, &allowed, options.generator_cpus.unwrap_or(usual(&allowed)));
        let parent = options.temporary.clone().unwrap_or_else(std::env::temp_dir);
        let weight = declaration.generator.cpu_weight;
        let launcher =
            Launcher::new(options.supervisor.as_ref(), &parent, Arc::clone(&options.interrupt), weight)?;
        let logs = options.logs.clone().unwrap_or_else(|| launcher.root.join("logs"));
        std::fs::create_dir_all(&logs).map_err(|error| Error::folder("create", &logs, error))?;
        // Programs are run elsewhere, so a relative name would be another file to them.
        let logs = std::fs::canonicalize(&logs).map_err(|error| Error::folder("read", &logs, error))?;
        let mut fixture = Self {
            declaration: declaration.clone(),
            sources: Sources::new(study.clone(), allowed.clone()),
            services: BTreeMap::new(),
            postgres: BTreeMap::new(),
            redis: BTreeMap::new(),
            logs,
            study,
            allowed,
            division,
            placed: false,
            unavailable: Vec::new(),
            launcher,
        };
        fixture.check_cpus()?;
        fixture.check_weight();
        fixture.bring_up_stores(options.statements)?;
        fixture.place_generator()?;
        Ok(fixture)
    }

    /// Starts a service with the settings of a variant: builds it once, seeds its data once, starts what it refers to,
    /// and waits until it is ready. A service that already runs is restarted.
    pub fn start(&mut self, name: &str, overrides: &Overrides) -> Result<Running, Error> {
        self.start_reporting(name, overrides, &mut |_| {})
    }

    /// [`Fixture::start`] that calls `report` before each build and each seed.
    pub fn start_reporting(
        &mut self,
        name: &str,
        overrides: &Overrides,
        report: &mut dyn FnMut(Preparation<'_>),
    ) -> Result<Running, Error> {
        let declared = self.declared(name)?.clone();
        if let Some(address) = &declared.address {
            declaration::check_own(name, &declared, overrides)?;
            return reachable(name, address, &declared);
        }
        self.stop(name)?;
        self.apply_settings(name, overrides)?;
        for other in declaration::referred(name, &declared, "service") {
            if self.is_to_start(&other) {
                // Stores keep the settings of the variant.
                let (postgres, redis) = (overrides.postgres.clone(), overrides.redis.clone());
                let overrides = Overrides { postgres, redis, ..Overrides::default() };
                self.start_reporting(&other, &overrides, report)?;
            }
        }
        let folder = self.sources.folder(&self.launcher, overrides.revision.as_deref())?;
        if let Some(build) = &declared.build {
            if !self.sources.is_built(build, &folder) {
                report(Preparation::Build(build));
            }
            self.sources.build(&self.launcher, name, build, &folder, &self.logs)?;
        }
        self.prepare(name, &declared, overrides, &folder, report)?;
        let (group, mut unavailable) = self.group(name, &declared);
        let context = self.context(name, &declared, &folder, group.clone())?;
        let service = service_state(&mut self.services, name)?;
        let process = service.start(&self.launcher, &context, &declared, overrides)?;
        unavailable.extend(placement::outside(
            group.as_deref(),
            process.handle.pid,
            &asks_for_group(name, &declared),
        ));
        let url = format!("http://127.0.0.1:{}", process.port);
        Ok(Running {
            metrics: metrics(&url, &declared),
            url,
            pid: Some(process.handle.pid),
            log: Some(process.log),
            unavailable,
        })
    }

    /// Ends a service. Returns how it ended, unless it had to be killed or was not running.
    pub fn stop(&mut self, name: &str) -> Result<Option<Exit>, Error> {
        let declared = self.declared(name)?.clone();
        self.services.get_mut(name).map_or(Ok(None), |service| service.stop(&self.launcher, &declared))
    }

    /// Ends a service and starts it with the settings of a variant.
    pub fn restart(&mut self, name: &str, overrides: &Overrides) -> Result<Running, Error> {
        self.start(name, overrides)
    }

    /// Ends a service and resets its data to the seeded state, as its declaration says. Leaves the data of a service
    /// alone that was never started, because its first start seeds it.
    pub fn reset(&mut self, name: &str) -> Result<(), Error> {
        let declared = self.declared(name)?.clone();
        self.stop(name)?;
        let Some(service) = self.services.get(name) else { return Ok(()) };
        match (declared.reset, service.seeded.clone()) {
            (Reset::Keep, _) | (_, None) => Ok(()),
            (Reset::Copy | Reset::Stores, Some(key)) => self.restore(name, &declared, &key),
            (Reset::Seed, Some(_)) => {
                self.empty(name, &declared)?;
                service_state(&mut self.services, name)?.seeded = None;
                Ok(())
            }
        }
    }

    /// An error if a started service or a store has ended; a trial checks this at its end.
    pub fn check(&self) -> Result<(), Error> {
        self.services.values().try_for_each(|service| service.check(&self.launcher))?;
        self.postgres.values().try_for_each(|cluster| cluster.check(&self.launcher))?;
        self.redis.values().try_for_each(|server| server.check(&self.launcher))
    }

    /// A text of the study, such as a script's environment, with its placeholders filled in. Services that it names
    /// are started if they do not run, after `report` of their builds and seeds. `at` names the text in an error.
    pub fn fill(
        &mut self,
        text: &str,
        at: &str,
        report: &mut dyn FnMut(Preparation<'_>),
    ) -> Result<String, Error> {
        self.fill_with(text, at, &[], report)
    }

    /// The same with further placeholders and their values, which the caller knows.
    pub fn fill_with(
        &mut self,
        text: &str,
        at: &str,
        own: &[(&str, &str)],
        report: &mut dyn FnMut(Preparation<'_>),
    ) -> Result<String, Error> {
        for name in declaration::named_in(text, "service") {
            if self.is_to_start(&name) {
                self.start_reporting(&name, &Overrides::default(), report)?;
            }
        }
        let mut placeholders = self.placeholders();
        placeholders.extend(own.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        crate::placeholder::fill(text, &placeholders, at)
    }

    /// Refuses a text with a placeholder that [`Fixture::fill_with`] will not know if it gets those in `own`.
    pub fn check_text(&self, text: &str, at: &str, own: &[&str]) -> Result<(), Error> {
        let mut known = declaration::known(&self.declaration);
        known.extend(own.iter().map(|name| ((*name).to_owned(), String::new())));
        crate::placeholder::fill(text, &known, at).map(drop)
    }

    /// The declared CPU weight of the generator. Each start reports whether it is in effect.
    pub fn generator_weight(&self) -> Option<u32> {
        self.launcher.generator_weight
    }

    /// How the CPUs are divided between the generator and everything else.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// The CPUs that can be divided, if there are several ways to divide them: the declaration names none.
    pub fn divisible(&self) -> Option<usize> {
        division::is_free(&self.declaration, &self.allowed).then_some(self.allowed.len())
    }

    /// Ends all services and gives the generator this many CPUs, or a few more so that cores are not shared.
    pub fn divide(&mut self, generator_cpus: usize) -> Result<(), Error> {
        for name in self.dependants_first() {
            self.stop(&name)?;
        }
        self.division = divided(&self.declaration, &self.allowed, generator_cpus);
        self.place_stores();
        self.place_generator()
    }

    /// What the generator was to have and cannot have here.
    pub fn unavailable(&self) -> &[Unavailable] {
        &self.unavailable
    }

    /// Databases and caches, those of the user's own included.
    pub fn stores(&self) -> Vec<Store> {
        let placeholders = self.placeholders();
        let store = |name: String, processes: Vec<Handle>, unavailable: Vec<Unavailable>| {
            let url = placeholders.get(&format!("{name}.url")).cloned().unwrap_or_default();
            let replica_url = placeholders.get(&format!("{name}.replica_url")).cloned();
            let pids = processes.iter().map(|process| process.pid).collect();
            Store { name, url, replica_url, pids, unavailable }
        };
        let postgres = self.declaration.postgres.keys().map(|name| {
            let cluster = self.postgres.get(name);
            let processes = cluster.map(Cluster::processes).unwrap_or_default();
            let unavailable = cluster.map(Cluster::unavailable).unwrap_or_default();
            store(format!("postgres.{name}"), processes, unavailable)
        });
        let redis = self.declaration.redis.keys().map(|name| {
            let process = self.redis.get(name).and_then(Server::process);
            store(format!("redis.{name}"), process.into_iter().collect(), Vec::new())
        });
        postgres.chain(redis).collect()
    }

    /// How to ask the PostgreSQL servers that the fixture started for the work that they have done.
    pub fn activity(&self) -> ActivityProbe {
        let servers = self.postgres.values().map(Cluster::writer).collect();
        ActivityProbe { servers, database: postgres::DATABASE }
    }

    /// How to ask the PostgreSQL servers that the fixture started for their statements; `None` if none counts them.
    pub fn statements(&self) -> Option<StatementProbe> {
        let counting = self.postgres.iter().filter(|(_, cluster)| cluster.counts());
        let servers: Vec<CountingServer> = counting
            .flat_map(|(store, cluster)| {
                let version = cluster.version();
                let servers = cluster.servers().into_iter();
                servers.map(move |endpoint| CountingServer { store: store.clone(), endpoint, version })
            })
            .collect();
        (!servers.is_empty()).then_some(StatementProbe { servers, database: postgres::DATABASE })
    }

    /// The folder of the study, as an absolute path.
    pub fn study(&self) -> &Path {
        &self.study
    }

    /// The fixture's own folder, which is gone when the fixture is.
    pub fn folder(&self) -> &Path {
        &self.launcher.root
    }

    /// Takes everything down: services before the ones that they refer to, then databases, then folders. Fails if a
    /// folder could not be removed.
    pub fn down(mut self) -> Result<(), Error> {
        self.take_down();
        let root = self.launcher.root.clone();
        drop(self);
        folder::remove(&root)
    }

    fn take_down(&mut self) {
        if std::mem::take(&mut self.placed) {
            // What could be set can be set back.
            let _ = platform::pin_process(&self.allowed);
        }
        for name in self.dependants_first() {
            let _ = self.stop(&name);
        }
        // Databases end with the launcher: their data goes, so they need not write it down first.
    }

    /// Services, each before those that it refers to.
    fn dependants_first(&self) -> Vec<String> {
        fn visit(declaration: &Declaration, name: &str, order: &mut Vec<String>) {
            if order.iter().any(|other| other == name) {
                return;
            }
            if let Some(service) = declaration.service.get(name) {
                for other in declaration::referred(name, service, "service") {
                    visit(declaration, &other, order);
                }
                order.push(name.to_owned());
            }
        }
        let mut order = Vec::new();
        self.declaration.service.keys().for_each(|name| visit(&self.declaration, name, &mut order));
        order.reverse();
        order
    }

    fn declared(&self, name: &str) -> Result<&Service, Error> {
        let missing = || Error::declared(format!("service.{name}"), "is not declared");
        self.declaration.service.get(name).ok_or_else(missing)
    }

    fn check_cpus(&self) -> Result<(), Error> {
        let services =
            self.declaration.service.iter().map(|(name, s)| (format!("service.{name}.cpus"), &s.cpus));
        let postgres =
            self.declaration.postgres.iter().map(|(name, p)| (format!("postgres.{name}.cpus"), &p.cpus));
        let redis = self.declaration.redis.iter().map(|(name, r)| (format!("redis.{name}.cpus"), &r.cpus));
        let generator = [(GENERATOR_CPUS.to_owned(), &self.declaration.generator.cpus)];
        for (at, cpus) in services.chain(postgres).chain(redis).chain(generator) {
            self.cpus_of(cpus.as_deref(), &at)?;
        }
        Ok(())
    }

    /// The CPUs that the entry `at` names, or those of everything but the generator.
    fn cpus_of(&self, named: Option<&str>, at: &str) -> Result<Vec<usize>, Error> {
        match named {
            Some(text) => placement::chosen(text, &self.allowed, at),
            None => Ok(division::parse(&self.division.others).unwrap_or_default()),
        }
    }

    /// Whether something refers to a service that is not running and that the fixture must start.
    fn is_to_start(&self, name: &str) -> bool {
        self.services.get(name).is_none_or(|service| service.process.is_none())
    }

    /// Restricts this process, the load generator, to its CPUs until the fixture is down.
    fn place_generator(&mut self) -> Result<(), Error> {
        let chosen = match self.declaration.generator.cpus.as_deref() {
            Some(text) => placement::chosen(text, &self.allowed, GENERATOR_CPUS)?,
            None if self.division.shared.is_some() => return Ok(()),
            None => division::parse(&self.division.generator).unwrap_or_default(),
        };
        match platform::pin_process(&chosen) {
            Ok(()) => self.placed = true,
            Err(error) => {
                let reason = crate::error::reason(&error);
                self.unavailable.push(Unavailable { what: GENERATOR_CPUS.to_owned(), reason });
            }
        }
        Ok(())
    }

    /// Notes that a weight of the generator has no effect without anything that competes with it.
    fn check_weight(&mut self) {
        if self.launcher.generator_weight.is_some() && !division::starts_something(&self.declaration) {
            let reason = "knee starts no process that competes with the generator".to_owned();
            self.unavailable.push(Unavailable { what: declaration::GENERATOR_WEIGHT.to_owned(), reason });
        }
    }

    /// Moves stores that run to the CPUs of everything but the generator.
    fn place_stores(&mut self) {
        let others = division::parse(&self.division.others).unwrap_or_default();
        for cluster in self.postgres.values_mut() {
            cluster.place(&others);
        }
        for server in self.redis.values_mut() {
            server.place(&others);
        }
    }

    /// `counts` says whether PostgreSQL servers count their statements.
    fn bring_up_stores(&mut self, counts: bool) -> Result<(), Error> {
        for (name, declared) in self.declaration.postgres.clone() {
            if declared.address.is_none() {
                let cpus = self.cpus_of(declared.cpus.as_deref(), "")?;
                let cluster = Cluster::up(&self.launcher, &name, &declared, counts, cpus, &self.logs)?;
                self.postgres.insert(name, cluster);
            }
        }
        for (name, declared) in self.declaration.redis.clone() {
            if declared.address.is_none() {
                let cpus = self.cpus_of(declared.cpus.as_deref(), "")?;
                let server = Server::up(&self.launcher, &name, &declared, cpus, &self.logs)?;
                self.redis.insert(name, server);
            }
        }
        Ok(())
    }

    /// The placeholders of texts, without those that only one service knows.
    fn placeholders(&self) -> Placeholders {
        let mut placeholders = Placeholders::new();
        placeholders.insert("study".to_owned(), self.study.display().to_string());
        for (name, declared) in &self.declaration.postgres {
            if let Some(address) = &declared.address {
                placeholders.insert(format!("postgres.{name}.url"), address.clone());
            }
        }
        for (name, declared) in &self.declaration.redis {
            if let Some(address) = &declared.address {
                placeholders.insert(format!("redis.{name}.url"), address.clone());
            }
        }
        self.postgres.values().for_each(|cluster| cluster.placeholders(&mut placeholders));
        self.redis.values().for_each(|server| server.placeholders(&mut placeholders));
        for (name, declared) in &self.declaration.service {
            let process = self.services.get(name).and_then(|service| service.process.as_ref());
            let own = process.map(|process| format!("http://127.0.0.1:{}", process.port));
            if let Some(url) = declared.address.clone().or(own) {
                let port = ready::authority(&url).and_then(|at| Some(at.rsplit_once(':')?.1.to_owned()));
                placeholders.extend(port.map(|port| (format!("service.{name}.port"), port)));
                placeholders.insert(format!("service.{name}.url"), url);
            }
        }
        placeholders
    }

    fn context(
        &self,
        name: &str,
        declared: &Service,
        folder: &Path,
        group: Option<PathBuf>,
    ) -> Result<StartContext, Error> {
        let cpus = self.cpus_of(declared.cpus.as_deref(), &format!("service.{name}.cpus"))?;
        let (folder, logs) = (folder.to_owned(), self.logs.clone());
        Ok(StartContext { placeholders: self.placeholders(), folder, logs, cpus, group })
    }

    /// A cgroup for one start of a service with a CPU limit, or over which the generator has precedence; or the reason
    /// why there is none.
    fn group(&self, name: &str, declared: &Service) -> (Option<PathBuf>, Vec<Unavailable>) {
        let bounds = Bounds { share: declared.cpu_limit, generator_weight: self.launcher.generator_weight };
        if bounds == Bounds::default() {
            return (None, Vec::new());
        }
        match platform::create_group(&registry::group_of(&self.launcher.root, name), bounds) {
            Ok(path) => (Some(path), Vec::new()),
            Err(reason) => (None, vec![Unavailable { what: asks_for_group(name, declared), reason }]),
        }
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        self.take_down();
    }
}

/// Number of CPUs of the generator before a pilot has found a better one.
pub(crate) fn usual(allowed: &[usize]) -> usize {
    allowed.len() / 2
}

/// The division with this many CPUs for the generator, and the rest of its last core if something else is left.
pub(crate) fn divided(declaration: &Declaration, allowed: &[usize], generator_cpus: usize) -> Division {
    let mut count = generator_cpus.max(1);
    let core = |position: usize| allowed.get(position).map(|cpu| platform::core_of(*cpu));
    while count + 1 < allowed.len() && core(count) == core(count - 1) {
        count += 1;
    }
    Division::of(declaration, allowed, count)
}

/// The declared entry that puts a service into a cgroup.
fn asks_for_group(name: &str, declared: &Service) -> String {
    match declared.cpu_limit {
        Some(_) => format!("service.{name}.cpu_limit"),
        None => declaration::GENERATOR_WEIGHT.to_owned(),
    }
}

fn service_state<'a>(
    services: &'a mut BTreeMap<String, ServiceState>,
    name: &str,
) -> Result<&'a mut ServiceState, Error> {
    services.get_mut(name).ok_or_else(|| Error::declared(format!("service.{name}"), "was not prepared"))
}

/// A service that the user runs, if it is ready.
fn reachable(name: &str, address: &str, declared: &Service) -> Result<Running, Error> {
    let authority = ready::authority(address).unwrap_or_default();
    ready::ask(&authority, declared.ready.path.as_deref()).map_err(|reason| Error::Unreachable {
        who: format!("service `{name}`"),
        address: address.to_owned(),
        reason,
    })?;
    let metrics = metrics(address, declared);
    Ok(Running { url: address.to_owned(), pid: None, metrics, log: None, unavailable: Vec::new() })
}

/// The page of metrics of the service at this address.
fn metrics(url: &str, declared: &Service) -> Option<String> {
    declared.metrics.as_ref().map(|path| format!("{}{path}", url.trim_end_matches('/')))
}
