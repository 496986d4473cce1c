//! A sweep of one variant of a study: its service and stores are started, on CPUs of their own, and brought back to their
//! first state before the steps that ask for it.
//!
//! What is sent is a workload of the study, at the load of the step. Does not choose steps and runs no trials.

use std::path::{Path, PathBuf};

use knee_core::fixture::Reset;
use knee_core::fixture::division::Division;
use knee_core::unit::Nanos;
use knee_driver::standing::{self, Standing};
use knee_driver::sweep::{StepRun, StepSource};
use knee_driver::{Error, Event};
use knee_engine::control::Control;
use knee_study::definition::{Definition, Load, Request, Workload};
use knee_study::study::{Options, Study};
use knee_study::sweep::Step;

use super::loader::Loader;
use super::script::ScriptLoader;
use super::url::UrlLoader;
use crate::args::{RequestFlags, SweepArgs};
use crate::command::failed::{Failed, driver_failed, load_failed, refused};
use crate::command::progress::Progress;
use crate::command::pushes::Feed;
use crate::command::study;
use crate::problem::{Problem, on_one_line};
use crate::settings::sweep::{self as settings, SweepSettings};
use crate::settings::{Surroundings, observe, target};

/// Stands for the address of a service that does not run yet.
const NO_ADDRESS: &str = "http://127.0.0.1:1";

/// The workload of this name, or the only one.
fn chosen<'a>(definition: &'a Definition, name: Option<&str>) -> Result<&'a Workload, Problem> {
    let names: Vec<&str> = definition.workloads.iter().map(|workload| workload.name.as_str()).collect();
    let known = format!("the study has {}", on_one_line(&names.join(", ")));
    match (name, definition.workloads.as_slice()) {
        (Some(name), _) => definition
            .workload(name)
            .ok_or_else(|| Problem::new(format!("no workload is called `{}`", on_one_line(name)), known)),
        (None, [only]) => Ok(only),
        (None, _) => {
            Err(Problem::new("a sweep sends one workload", format!("choose one with `--workload`: {known}")))
        }
    }
}

/// What is started and loaded.
pub struct Plan<'a> {
    args: &'a SweepArgs,
    folder: PathBuf,
    definition: Definition,
    variant: String,
    workload: Workload,
}

impl<'a> Plan<'a> {
    /// Reads the study that the command line names.
    ///
    /// # Errors
    ///
    /// What is wrong with the study, or with a flag beside it.
    pub fn read(args: &'a SweepArgs) -> Result<Self, Failed> {
        settings::refuse_beside_study(args).map_err(refused)?;
        let given = args.target.as_deref().unwrap_or_default();
        let (folder, text, file) = study::read(Path::new(given)).map_err(refused)?;
        let exists = |path: &str| folder.join(path).is_file();
        let definition = Definition::read_to_start(&text, &file, &exists)
            .map_err(|problems| refused(study::problem_of(&problems)))?;
        let workload = chosen(&definition, args.study.workload.as_deref()).map_err(refused)?.clone();
        let variant = args.study.variant.clone().unwrap_or_else(|| definition.design.baseline.clone());
        Ok(Self { args, folder, definition, variant, workload })
    }

    /// The settings before anything is started.
    ///
    /// # Errors
    ///
    /// The first mistake in what was typed.
    pub fn first_settings(&self) -> Result<SweepSettings, Failed> {
        self.settings(&self.typed(NO_ADDRESS, Vec::new(), &[]).map_err(refused)?)
    }

    /// The command line that loads a service at this address, with these variables of a script and these sources.
    fn typed(&self, address: &str, env: Vec<String>, started: &[String]) -> Result<SweepArgs, Problem> {
        let mut typed = self.args.clone();
        typed.observe = observe::named(&self.args.observe, started);
        match &self.workload.load {
            Load::Request(request) => {
                typed.target = Some(format!("{address}{}", request.path));
                typed.request = flags(request);
            }
            Load::Script { path, .. } => {
                typed.target = Some(self.folder.join(path).display().to_string());
                typed.script.env = env;
            }
            // A study.toml has no such load.
            Load::OfCaller => {
                return Err(Problem::new(format!("`{}` sends nothing", self.workload.name), ""));
            }
        }
        Ok(typed)
    }

    /// The settings of that command line, for the CPUs that the generator has now.
    fn settings(&self, typed: &SweepArgs) -> Result<SweepSettings, Failed> {
        let mut settings = settings::settings(typed, &Surroundings::read()).map_err(refused)?;
        let service = self.definition.fixture.service.get(&self.workload.service);
        settings.config.resets =
            self.is_started() && service.is_some_and(|service| service.reset != Reset::Keep);
        Ok(settings)
    }

    /// Whether knee starts the service that is loaded.
    fn is_started(&self) -> bool {
        let service = self.definition.fixture.service.get(&self.workload.service);
        service.is_some_and(|service| service.address.is_none())
    }

    /// What the study says of the service and its load. Its title, its claims and its other workloads do not matter.
    pub fn declared(&self) -> String {
        let Definition { fixture, switches, .. } = &self.definition;
        format!("{fixture:?} {switches:?} {:?} {:?}", self.definition.variant(&self.variant), self.workload)
    }

    /// The name of the sweep: the study, its variant and its workload.
    pub fn title(&self) -> String {
        let given = self.args.target.as_deref().unwrap_or_default();
        on_one_line(&format!("{given}, variant {}, workload {}", self.variant, self.workload.name))
    }
}

/// The flags of `knee URL` for a request of a study.
fn flags(request: &Request) -> RequestFlags {
    RequestFlags {
        method: Some(request.method.clone()),
        headers: request.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
        body: request.body.clone(),
        timeout: request.timeout.map(|timeout| format!("{}us", timeout.as_nanos().div_ceil(1_000))),
        stream: request.stream,
        until: request.until.clone(),
        ..RequestFlags::default()
    }
}

/// A variant that is up, and what loads it.
pub struct Started<'a> {
    plan: &'a Plan<'a>,
    /// `None` after the end.
    standing: Option<Standing>,
    loader: Box<dyn Loader>,
    /// Whether no step has loaded it yet.
    is_fresh: bool,
    feed: Option<Feed>,
    narrate: fn(&str),
}

impl<'a> Started<'a> {
    /// Starts the variant with its stores.
    ///
    /// # Errors
    ///
    /// What cannot be started, or the end that the user asked for meanwhile.
    pub fn begin(
        plan: &'a Plan<'a>,
        feed: Option<Feed>,
        control: &Control,
        narrate: fn(&str),
    ) -> Result<Self, Failed> {
        let flags = &plan.args.study;
        let observed = observe::names_started(&plan.args.observe);
        let options = Options { share_cpus: flags.share_cpus, observed, ..Options::default() };
        let study = Study::to_start(plan.definition.clone(), options)
            .map_err(|refusal| driver_failed(Error::from(refusal)))?;
        let quiet = plan.args.output.quiet;
        if !quiet {
            narrate(&format!("starting `{}` with its stores", on_one_line(&plan.variant)));
        }
        let mut progress = Progress::new(narrate, quiet, "");
        let mut report = |event: Event<'_>| progress.report(&event);
        let what = (plan.variant.as_str(), Some(plan.workload.name.as_str()));
        let mut standing =
            standing::up(&study, what, &plan.folder, control, &mut report).map_err(driver_failed)?;
        report(Event::Divided { division: standing.division(), size: None });
        let loader = loader(plan, &mut standing, feed.clone(), narrate)?;
        Ok(Self { plan, standing: Some(standing), loader, is_fresh: true, feed, narrate })
    }

    /// Brings the service back to its first state. Its new process can have another address.
    fn restart(&mut self) -> Result<(), Error> {
        let Some(standing) = &mut self.standing else { return Ok(()) };
        self.loader.end().map_err(load_failed)?;
        let mut progress = Progress::new(self.narrate, true, "");
        standing.restart(&self.plan.workload.service, &mut |event| progress.report(&event))?;
        self.loader = loader(self.plan, standing, self.feed.clone(), self.narrate).map_err(load_failed)?;
        Ok(())
    }
}

/// What loads the service where it is now.
fn loader(
    plan: &Plan<'_>,
    standing: &mut Standing,
    feed: Option<Feed>,
    narrate: fn(&str),
) -> Result<Box<dyn Loader>, Failed> {
    let service = &plan.workload.service;
    let address = standing.running(service).map(|running| running.url.clone()).unwrap_or_default();
    let env = variables(plan, standing, &address).map_err(driver_failed)?;
    let typed = plan.typed(&address, env, &standing.observable(service)).map_err(refused)?;
    let settings = plan.settings(&typed)?;
    if typed.target.as_deref().is_some_and(settings::is_script) {
        return Ok(Box::new(ScriptLoader::begin(&typed, &settings, feed, narrate)?));
    }
    let load = settings::load(&typed, &settings, &Surroundings::read()).map_err(refused)?;
    target::probe(&load.targets, &load.http).map_err(refused)?;
    Ok(Box::new(UrlLoader::new(load, &settings, feed).map_err(refused)?))
}

/// The variables of the workload's script, as `NAME=VALUE`; none of a request.
fn variables(plan: &Plan<'_>, standing: &mut Standing, address: &str) -> Result<Vec<String>, Error> {
    let Load::Script { env, .. } = &plan.workload.load else { return Ok(Vec::new()) };
    let lasts: Nanos = plan.definition.lasts(&plan.workload);
    let mut variables = vec![format!("BASE_URL={address}")];
    for (name, text) in env {
        let value = standing.fill(text, &plan.workload.name, name, lasts)?;
        variables.push(format!("{name}={value}"));
    }
    Ok(variables)
}

impl StepSource for Started<'_> {
    fn restarts(&self) -> bool {
        true
    }

    fn prepare(&mut self, step: &Step, _: &Control) -> Result<Option<Vec<u32>>, Error> {
        let is_fresh = std::mem::take(&mut self.is_fresh);
        if step.reset && !is_fresh {
            self.restart()?;
            return Ok(Some(self.pids()));
        }
        // What ended under the step before would not answer any more.
        self.standing.as_ref().map_or(Ok(()), Standing::check)?;
        Ok(None)
    }

    fn run(&mut self, step: &Step, control: &Control) -> Result<StepRun, Error> {
        let taken = self.loader.run(step, control)?;
        if let Some(Err(error)) = self.standing.as_ref().map(Standing::check) {
            (self.narrate)(&format!("warning: {}", on_one_line(&error.to_string())));
        }
        Ok(taken)
    }
}

impl Loader for Started<'_> {
    fn title(&self) -> String {
        self.plan.title()
    }

    fn co_located(&self) -> Option<bool> {
        // A service with an address of its own is the user's, and can be elsewhere.
        if self.plan.is_started() { Some(true) } else { self.loader.co_located() }
    }

    fn division(&self) -> Option<Division> {
        self.standing.as_ref().map(|standing| standing.division().clone())
    }

    fn declared(&self) -> String {
        self.plan.declared()
    }

    fn pids(&self) -> Vec<u32> {
        let running =
            self.standing.as_ref().and_then(|standing| standing.running(&self.plan.workload.service));
        running.and_then(|running| running.pid).into_iter().collect()
    }

    fn end(&mut self) -> Result<(), Failed> {
        let ended = self.loader.end();
        let down = self.standing.take().map_or(Ok(()), Standing::down).map_err(driver_failed);
        ended.and(down)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use knee_driver::Times;
    use knee_study::definition::Arrivals;

    use super::*;
    use crate::settings::declared;

    fn request() -> Request {
        Request {
            path: "/post?a=b".to_owned(),
            method: "POST".to_owned(),
            headers: BTreeMap::from([("X-Mark".to_owned(), "1: 2".to_owned())]),
            body: Some("a=1".to_owned()),
            connections: 20,
            arrival_rate: None,
            arrivals: Arrivals::Poisson,
            timeout: Some(Nanos::from_millis(1_500)),
            stream: false,
            until: None,
        }
    }

    #[test]
    fn a_step_sends_what_a_trial_of_the_study_sends() {
        const ADDRESS: &str = "http://127.0.0.1:9";
        let plain = Request { method: "GET".to_owned(), body: None, timeout: None, ..request() };
        let stream = Request { stream: true, until: Some("[DONE]".to_owned()), ..request() };
        let times = Times { settle: Nanos::ZERO, measure: Nanos::from_secs(1), seed: 1 };
        let surroundings = Surroundings::read();
        for request in [request(), plain, stream] {
            let target = Some(format!("{ADDRESS}{}", request.path));
            let mut args = SweepArgs::default();
            (args.target, args.request) = (target, flags(&request));
            let settings = settings::settings(&args, &surroundings).unwrap();
            let step = settings::load(&args, &settings, &surroundings).unwrap();
            let trial = declared::load(&request, ADDRESS, times, &surroundings).unwrap();
            assert_eq!(format!("{:?}", step.requests), format!("{:?}", trial.requests));
            assert_eq!(step.http.request_timeout, trial.http.request_timeout);
            assert_eq!((step.http.events, step.http.decode), (trial.http.events, trial.http.decode));
        }
    }
}
