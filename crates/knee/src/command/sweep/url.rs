//! Steps of a sweep against a URL: each is a run of the one-liner with a plan of its own.

use knee_engine::control::Control;
use knee_engine::host;
use knee_engine::run::HttpConfig;
use knee_study::sweep::{Config, Step};

use super::{Failed, Loader, Taken};
use crate::command::load;
use crate::problem::Problem;
use crate::settings::Load;
use crate::settings::sweep::{SweepSettings, step_plan};

/// Loads a URL step by step.
pub struct UrlLoader {
    load: Load,
    config: Config,
    way: HttpConfig,
}

impl UrlLoader {
    /// Ready to load.
    ///
    /// # Errors
    ///
    /// When the TLS settings cannot be used.
    pub fn new(load: Load, settings: &SweepSettings) -> Result<Self, Problem> {
        let way = load::way(&load)?;
        Ok(Self { load, config: settings.config.clone(), way })
    }
}

impl Loader for UrlLoader {
    fn take(&mut self, step: &Step, control: &Control, narrate: fn(&str)) -> Result<Taken, Failed> {
        let plan = step_plan(&self.load.plan, &self.config, step);
        let load = Load { plan, seed: step.seed, ..self.load.clone() };
        let (run, record) = load::take(&load, &self.way, control, narrate)?;
        Ok(Taken { run, record, requests_per_arrival: 1.0 })
    }

    fn title(&self) -> String {
        self.load.title.clone()
    }

    fn co_located(&self) -> Option<bool> {
        let addresses = self.load.targets.iter().flat_map(|target| &target.addresses);
        let local: Vec<Option<bool>> = addresses.map(|address| host::is_local(address.ip())).collect();
        if local.is_empty() || local.contains(&Some(true)) { Some(true) } else { local.first().copied()? }
    }
}
