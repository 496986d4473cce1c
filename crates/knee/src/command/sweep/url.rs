//! Steps of a sweep against a URL: each is a run of the one-liner with its own plan.

use knee_driver::Error;
use knee_driver::sweep::{StepRun, StepSource};
use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::run::HttpConfig;
use knee_study::sweep::{Config, Step};

use super::loader::{self, Loader};
use crate::command::failed::load_failed;
use crate::command::load;
use crate::command::pushes::Feed;
use crate::problem::{Problem, on_one_line};
use crate::settings::Load;
use crate::settings::sweep::{SweepSettings, step_plan};

/// Loads a URL step by step.
pub struct UrlLoader {
    load: Load,
    config: Config,
    way: HttpConfig,
    /// What the figures of steps go to, if anything.
    feed: Option<Feed>,
}

impl UrlLoader {
    /// Ready to load.
    ///
    /// # Errors
    ///
    /// When the TLS settings cannot be used.
    pub fn new(load: Load, settings: &SweepSettings, feed: Option<Feed>) -> Result<Self, Problem> {
        let way = load::way(&load)?;
        Ok(Self { load, config: settings.config.clone(), way, feed })
    }
}

impl StepSource for UrlLoader {
    fn run(&mut self, step: &Step, control: &Control) -> Result<StepRun, Error> {
        let plan = step_plan(&self.load.plan, &self.config, step);
        let load = Load { plan, seed: step.seed, ..self.load.clone() };
        let feed = self.feed.as_ref().map(|feed| feed.about(loader::about(step)));
        let (run, file) = load::take(&load, &self.way, feed, control).map_err(load_failed)?;
        let record = file.as_ref().map(|path| on_one_line(&path.display().to_string()));
        Ok(StepRun { run, record, file, requests_per_arrival: 1.0 })
    }
}

impl Loader for UrlLoader {
    fn title(&self) -> String {
        self.load.title.clone()
    }

    fn again(&self) -> Option<String> {
        // A title hides credentials, and stands for several URLs.
        let [only] = self.load.requests.as_slice() else { return None };
        let url = only.url.as_str();
        let url = shlex::try_quote(url).ok().filter(|_| url == self.load.title)?;
        Some(format!("knee {url}"))
    }

    fn co_located(&self) -> Option<bool> {
        let addresses = self.load.targets.iter().flat_map(|target| &target.addresses);
        let local: Vec<Option<bool>> = addresses.map(|address| host::is_local(address.ip())).collect();
        if local.is_empty() || local.contains(&Some(true)) { Some(true) } else { local.first().copied()? }
    }
}
