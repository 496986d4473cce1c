//! The load of a study's trials: the requests of its workloads, which the one-liner and the script runner send.
//!
//! Does not start anything.

use std::path::{Path, PathBuf};

use knee_driver::{Error, LoadSource, Loaded, Subject, Times};
use knee_engine::control::Control;
use knee_study::definition::{Load, Request, Workload};

use crate::args::{ObserveFlags, RunScriptFlags};
use crate::command::failed::{Failed, load_failed, refused};
use crate::command::load;
use crate::command::pushes::{self, Feed};
use crate::command::run::whole::{self, Beside};
use crate::problem::Problem;
use crate::settings::fleet::Remote;
use crate::settings::{self, Surroundings, declared, observe, target};

/// Sends what the workloads of a study declare.
pub struct Declared {
    /// The folder of the study, to which paths of scripts are relative.
    pub folder: PathBuf,
    /// What is watched beside each trial.
    pub observe: ObserveFlags,
    /// The machines that make the loads; `None` if this one does.
    pub remote: Option<Remote>,
    /// What the figures of trials go to, if anything.
    pub feed: Option<Feed>,
}

impl LoadSource for Declared {
    fn load(
        &self,
        workload: &Workload,
        subject: &Subject<'_>,
        times: Times,
        control: &Control,
    ) -> Result<Loaded, Error> {
        let observe =
            observe::of_trial(&self.observe, subject.started).map_err(refused).map_err(load_failed)?;
        let remote = self.remote.as_ref();
        let seen = remote.map(|remote| remote.seen(subject.url)).transpose();
        let seen = seen.map_err(refused).map_err(load_failed)?;
        let url = seen.as_deref().unwrap_or(subject.url);
        let choice = remote.map(|remote| &remote.choice);
        let is_script = matches!(workload.load, Load::Script { .. });
        let feed = pushes::of_trial(self.feed.as_ref(), subject, is_script);
        let beside = Beside { observe, choice, feed };
        let loaded = match &workload.load {
            Load::Request(request) => send(request, url, beside, times, control),
            Load::Script { path, env } => {
                let env = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
                let flags = RunScriptFlags { env, ..RunScriptFlags::default() };
                let script = self.folder.join(path).display().to_string();
                whole::against(&script, url, (flags, beside), times, control)
            }
            // A study.toml has no such load.
            Load::OfCaller => Err(refused(Problem::new(format!("`{}` sends nothing", workload.name), ""))),
        };
        // The trials of a study are read on other machines, where the folder of its records does not exist.
        loaded.map(without_folder).map_err(load_failed)
    }
}

/// Names the record without its folder; `knee report` finds it by its name.
fn without_folder(loaded: Loaded) -> Loaded {
    let name =
        |record: String| Path::new(&record).file_name().map(|name| name.to_string_lossy().into_owned());
    Loaded { record: loaded.record.and_then(name), ..loaded }
}

/// Repeats one request, as the one-liner does.
fn send(
    request: &Request,
    url: &str,
    Beside { observe, choice, feed }: Beside<'_>,
    times: Times,
    control: &Control,
) -> Result<Loaded, Failed> {
    let load = declared::load(request, url, times, &Surroundings::read()).map_err(refused)?;
    let load = settings::Load { observe, fleet: choice.cloned(), ..load };
    if choice.is_none() {
        target::probe(&load.targets, &load.http).map_err(refused)?;
    }
    let way = load::way(&load).map_err(refused)?;
    load::loaded(&load, &way, feed, control)
}
