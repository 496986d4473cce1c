//! A script that is run once, with all its scenarios: what a trial of a study needs.
//!
//! `setup` and `teardown` run around it; its thresholds do not count. Prints nothing.

use std::path::PathBuf;
use std::sync::Arc;

use knee_core::record::Run;
use knee_core::unit::Nanos;
use knee_driver::{Loaded, Times};
use knee_engine::control::Control;
use knee_engine::host;
use knee_k6::observe::iterations::Iterations;
use knee_k6::observe::view::View;
use knee_observe::Target;
use url::Url;

use super::course::stopped;
use super::fleet::Trial;
use super::job::Job;
use super::log::Lines;
use super::source::{load, options};
use crate::args::{RunArgs, RunReportFlags, RunScriptFlags};
use crate::command::failed::{Failed, refused};
use crate::command::pushes::Feed;
use crate::problem::on_one_line;
use crate::settings::Surroundings as Terminal;
use crate::settings::fleet::FleetChoice;
use crate::settings::output::Progress;
use crate::settings::script::asked;

/// Runs a script against `url`, which it finds as `__ENV.BASE_URL`; `flags` are its other inputs.
///
/// # Errors
///
/// What is wrong with the script, or what ended it.
pub fn against(
    path: &str,
    url: &str,
    (mut flags, beside): (RunScriptFlags, Beside<'_>),
    times: Times,
    control: &Control,
) -> Result<Loaded, Failed> {
    flags.env.insert(0, format!("BASE_URL={url}"));
    let mut args = RunArgs::of(path);
    args.script_flags = flags;
    args.report = RunReportFlags { quiet: true, ..RunReportFlags::default() };
    let iterations = Iterations::since(times.settle);
    let (run, record) = measure(&args, url, beside, &iterations, (times.settle, control))?;
    let record = record.map(|path| on_one_line(&path.display().to_string()));
    Ok(Loaded { run, record, iteration: iterations.mean() })
}

/// Who makes the load of a trial, and what happens beside it.
pub struct Beside<'a> {
    /// What is watched.
    pub observe: Vec<Target>,
    /// The machines that make the load; this one if there are none.
    pub choice: Option<&'a FleetChoice>,
    /// What its figures go to, if anything.
    pub feed: Option<Feed>,
}

/// Runs the script, which loads `target`. Requests due in the first `warm_up` are kept outside of the totals. Its
/// iterations are added to `iterations`.
///
/// # Errors
///
/// What is wrong with the script, or what ended it.
fn measure(
    args: &RunArgs,
    target: &str,
    by: Beside<'_>,
    iterations: &Iterations,
    (warm_up, control): (Nanos, &Control),
) -> Result<(Run, Option<PathBuf>), Failed> {
    let (terminal, narrate): (_, fn(&str)) = (Terminal::read(), |_| {});
    let env = |name: &str| std::env::var(name).ok();
    let mut asked = asked(args, &env, terminal.no_color).map_err(refused)?;
    asked.thresholds = false;
    asked.observe = by.observe;
    let lines = Lines::open(&asked.log, narrate).map_err(refused)?;
    let session = load(args, &asked, &lines)?;
    let options = options(&asked, &session)?;
    let job = Job::new(args, &asked, &session, &options, terminal, &lines)?;
    let job = Job { co_located: place(target), feed: by.feed, ..job };
    let view = View { iterations: Some(iterations.clone()), ..job.view(None) };
    let data = job.setup(&view)?;
    let mut plan = job.plan();
    plan.warm_up = warm_up;
    let taken = if let Some(choice) = by.choice {
        let whole = (job.whole(plan), None);
        let Trial { run, record, .. } = job.trial_of_fleet(choice, whole, data.as_deref(), control)?;
        (run, record)
    } else {
        let load = Arc::new(job.load(data.clone(), control, &view));
        let taken = job.take(plan, Progress::None, &load, control, narrate)?;
        if let Some(why) = load.why_stopped() {
            return Err(stopped(why));
        }
        taken
    };
    job.teardown(data.as_deref(), &view)?;
    Ok(taken)
}

/// Whether a target is on this machine; `None` if its address is unknown.
fn place(target: &str) -> Option<bool> {
    let addresses = Url::parse(target).ok()?.socket_addrs(|| None).ok()?;
    host::is_local(addresses.first()?.ip())
}
