//! How the sides of a comparison are loaded: with the one-liner, or with a script.
//!
//! Does not start anything and does not choose the next side.

use std::path::PathBuf;

use knee_core::unit::Nanos;
use knee_driver::{Error, LoadSource, Loaded, Subject, Times};
use knee_engine::control::Control;
use knee_study::compare::B;
use knee_study::definition::{Variant, Workload};
use knee_study::record_pair;

use crate::args::{
    CalibrateArgs, CompareArgs, LoadArgs, LoadFlags, ObserveFlags, RunScriptFlags, SweepScriptFlags,
};
use crate::command::failed::{load_failed, refused};
use crate::command::load;
use crate::command::pushes::{self, Feed};
use crate::command::run::whole::{self, Beside};
use crate::fleet::job::UrlJob;
use crate::problem::{Problem, on_one_line};
use crate::settings::compare::{self as settings, Side};
use crate::settings::fleet::Remote;
use crate::settings::output::Progress;
use crate::settings::{self as resolved, Load, Surroundings, observe, target};

/// Loads the sides of a comparison.
pub struct Sides {
    /// Targets of A and B; `None` for a side that is started.
    addresses: [Option<String>; 2],
    way: Way,
    /// What is watched beside each trial.
    observe: ObserveFlags,
    /// The machines that load the sides; `None` if this one does.
    remote: Option<Remote>,
    /// What the figures of trials go to, if anything.
    feed: Option<Feed>,
}

/// What is sent.
enum Way {
    /// The flags of the one-liner.
    Request {
        flags: Box<LoadFlags>,
        /// The path to request from a started side.
        path: String,
    },
    /// A k6 script.
    Script { path: PathBuf, flags: SweepScriptFlags },
}

/// Times for checking the flags before there is a trial.
const ANY: Times = Times { settle: Nanos::from_secs(1), measure: Nanos::from_secs(1), seed: 1 };

impl Sides {
    /// Resolves the sides as typed; finds all errors of their requests.
    ///
    /// # Errors
    ///
    /// The first mistake found, including a URL where no server responds.
    pub fn new(args: &CompareArgs, sides: [Side; 2]) -> Result<Self, Problem> {
        let addresses = sides.map(|side| match side {
            Side::Url(url) => Some(url),
            Side::Record(_) | Side::Command { .. } => None,
        });
        let way = match &args.script {
            Some(path) => Way::Script { path: path.clone(), flags: args.script_flags.clone() },
            None => Way::Request {
                flags: Box::new(settings::load(&args.trial, &args.request, &args.connection)),
                path: settings::path(&args.command)?,
            },
        };
        let observe = args.observe.clone();
        observe::of_trial(&observe, &[])?;
        let remote = Remote::of(&args.fleet, &args.service_host)?;
        if remote.is_some() && args.trial.workers.is_some() {
            let hint = "each agent has a worker for each of its CPUs";
            return Err(Problem::new("`--workers` does not work with a fleet", hint));
        }
        Remote::refuse_observers(remote.as_ref(), &observe)?;
        let sides = Self { addresses, way, observe, remote, feed: None };
        sides.check()?;
        Ok(sides)
    }

    /// A service against itself, for an A/A test: at an address, or started for each trial.
    ///
    /// # Errors
    ///
    /// As [`Sides::new`].
    pub fn itself(url: Option<&str>, args: &CalibrateArgs) -> Result<Self, Problem> {
        let flags = Box::new(settings::load(&args.trial, &args.request, &args.connection));
        let addresses = [url.map(str::to_owned), url.map(str::to_owned)];
        let way = Way::Request { flags, path: "/".to_owned() };
        let sides = Self { addresses, way, observe: ObserveFlags::default(), remote: None, feed: None };
        sides.check()?;
        Ok(sides)
    }

    /// The same with figures that go to `feed`, if there is one.
    #[must_use]
    pub fn with_feed(self, feed: Option<Feed>) -> Self {
        Self { feed, ..self }
    }

    fn check(&self) -> Result<(), Problem> {
        let Way::Request { path, .. } = &self.way else { return Ok(()) };
        for address in &self.addresses {
            let started = format!("http://127.0.0.1:1{path}");
            let load = self.resolve(address.as_deref().unwrap_or(&started), ANY)?;
            // The agents of a fleet can reach what this machine cannot.
            match (&self.remote, address) {
                (Some(_), _) => drop(UrlJob::of(&load)?),
                (None, Some(_)) => target::probe(&load.targets, &load.http)?,
                (None, None) => {}
            }
        }
        Ok(())
    }

    /// The load of both sides, in words.
    ///
    /// # Errors
    ///
    /// The first mistake found.
    pub fn words(&self, measure: Nanos, settle: Nanos) -> Result<String, Problem> {
        match &self.way {
            Way::Script { path, .. } => Ok(format!("script {}", on_one_line(&path.display().to_string()))),
            Way::Request { .. } => {
                let any = self.addresses[0].as_deref().unwrap_or("http://127.0.0.1:1/");
                let load = self.resolve(any, Times { settle, measure, ..ANY })?;
                let method = load.requests.first().map_or_else(String::new, |request| request.method.clone());
                Ok(format!("{method} from {}", record_pair::load(&load.plan)))
            }
        }
    }

    /// The load of a trial, as the one-liner resolves it.
    fn resolve(&self, url: &str, times: Times) -> Result<Load, Problem> {
        let Way::Request { flags, .. } = &self.way else {
            return Err(Problem::new("the script defines its requests", ""));
        };
        let span = |time: Nanos| format!("{}ms", time.as_nanos() / 1_000_000);
        let mut flags = flags.as_ref().clone();
        flags.amount.duration = Some(span(times.measure));
        flags.amount.warm_up = Some(span(times.settle));
        flags.amount.seed = Some(times.seed.to_string());
        let mut load = resolved::resolve(
            &LoadArgs { url: Some(url.to_owned()), flags, ..LoadArgs::default() },
            &Surroundings::read(),
        )?;
        load.output.progress = Progress::None;
        load.fleet = self.remote.as_ref().map(|remote| remote.choice.clone());
        Ok(load)
    }
}

impl LoadSource for Sides {
    fn address(&self, variant: &Variant) -> Option<String> {
        // Of a variant against itself both are the same.
        self.addresses[usize::from(variant.name == B)].clone()
    }

    fn load(
        &self,
        _workload: &Workload,
        subject: &Subject<'_>,
        times: Times,
        control: &Control,
    ) -> Result<Loaded, Error> {
        let started = !self.addresses.iter().flatten().any(|address| address == subject.url);
        let seen = self.remote.as_ref().filter(|_| started).map(|remote| remote.seen(subject.url));
        let seen = seen.transpose().map_err(refused).map_err(load_failed)?;
        let url = seen.as_deref().unwrap_or(subject.url);
        let observe =
            observe::of_trial(&self.observe, subject.started).map_err(refused).map_err(load_failed)?;
        let feed = pushes::of_trial(self.feed.as_ref(), subject, matches!(self.way, Way::Script { .. }));
        let loaded = match &self.way {
            Way::Script { path, flags } => {
                let flags = RunScriptFlags {
                    env: flags.env.clone(),
                    allow_read: flags.allow_read.clone(),
                    root: flags.root.clone(),
                    ..RunScriptFlags::default()
                };
                let script = path.display().to_string();
                let choice = self.remote.as_ref().map(|remote| &remote.choice);
                whole::against(&script, url, (flags, Beside { observe, choice, feed }), times, control)
            }
            Way::Request { path, .. } => {
                let whole = if started { format!("{url}{path}") } else { url.to_owned() };
                self.resolve(&whole, times)
                    .and_then(|load| load::way(&load).map(|way| (load, way)))
                    .map_err(refused)
                    .and_then(|(load, way)| load::loaded(&Load { observe, ..load }, &way, feed, control))
            }
        };
        loaded.map_err(load_failed)
    }
}
