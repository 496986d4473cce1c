//! A part of a script's load, made for an agent of a fleet.
//!
//! `setup`, `teardown`, thresholds and the summary are the controller's. Prints nothing; lines of the script go to stderr,
//! which the agent keeps in a file.

use std::path::PathBuf;
use std::sync::Arc;

use knee_core::plan::{Plan, Scenario};
use knee_core::record::{AgentOf, Ending};
use knee_core::share::Share;
use knee_engine::control::Control;
use knee_engine::http::host_rules::{IpNetwork, NamePattern, Target, TargetPlace};
use knee_engine::run::HttpConfig;
use knee_fleet::policy::{METADATA, Place, TargetRule};
use knee_fleet::wire::{Part, Said, Stopped};
use knee_js::workload::Stop;
use knee_k6::http::pace::Pace;
use knee_k6::options::{Layer, Options};
use serde_json::Value;

use super::course::{Keep, Taken};
use super::job::Job;
use super::log::Lines;
use super::source::{load_bundle, options};
use super::steps::scenario;
use crate::args::RunArgs;
use crate::command::failed::{Failed, failed, refused};
use crate::fleet::job::{ScriptJob, idle, share};
use crate::problem::Problem;
use crate::settings::Surroundings as Terminal;
use crate::settings::output::Progress;
use crate::settings::script::{Asked, Log, Mode, asked};

/// What only the agent knows.
pub struct Own {
    /// Its part.
    pub part: Part,
    /// The agent, for the record.
    pub agent: AgentOf,
    /// The file of the record.
    pub record: PathBuf,
    /// Where requests can go.
    pub targets: Vec<String>,
    /// Most requests per second.
    pub rate_max: f64,
}

/// Makes a part. Returns what the user should know, and what the script said of the test.
///
/// # Errors
///
/// What is wrong with the job, or failed on this machine before the load began.
pub fn make(job: &ScriptJob, own: Own, control: &Control) -> Result<(Option<String>, Said), Failed> {
    // What this machine's environment says of proxies was not asked for.
    let terminal = Terminal { proxies: None, ..Terminal::read() };
    let args = job.args_of(&own.part);
    let mut asked = asked_for(job, &args, true)?;
    let numbers = [("KNEE_AGENT", own.part.index), ("KNEE_AGENTS", own.part.of)];
    asked.environment.extend(numbers.map(|(name, number)| (name.to_owned(), number.to_string())));
    let lines = Lines::open(&asked.log, crate::stderr::say).map_err(refused)?;
    let session = load_bundle(&args, &asked, &lines, job.bundle.clone())?;
    let mut options = options(&asked, &session)?;
    match &job.step {
        Some(executor) => options.scenarios = vec![scenario(executor.clone())],
        None => refuse_other(&options, job).map_err(refused)?,
    }
    let script = Job::new(&args, &asked, &session, &options, terminal, &lines)?;
    let share = share(&own.part).map_err(refused)?;
    // Of the rate of the whole load, this agent has its share.
    let part = share.stripe().count(1_000_000) as f64 / 1e6;
    let ceiling = Arc::new(Pace::ceiling(own.rate_max));
    let mut script = Job { way: within(&script.way, &own.targets)?, ..script };
    script.http.pace = options.http.rps.map(|rate| Arc::new(Pace::per_second(f64::from(rate) * part)));
    script.http.ceiling = Some(ceiling.clone());
    let view = script.view(None);
    let plan = part_of(job, script.plan(), &share);
    if !plan.scenarios.iter().any(Scenario::has_work) {
        return Err(refused(idle(&share)));
    }
    let load = Arc::new(script.load(job.data.as_deref().map(Into::into), control, &view));
    let keep = Keep::Part { record: own.record, agent: own.agent, share };
    let Taken { run, record } =
        script.take_as(&keep, plan, Progress::None, &load, control, crate::stderr::say)?;
    let Some(record) = record else {
        return Err(failed(Problem::new("the record cannot be written", "")));
    };
    let held_up = ceiling.held_up() && run.ending == Ending::Completed;
    let held_up = held_up.then(|| {
        let rate = own.rate_max;
        format!("what the script sends waited for the agent's `max_rate` of {rate} per second")
    });
    let warning = record.problem("").map(|problem| problem.what).or(held_up);
    let said = Said {
        stopped: load.why_stopped().map(words_of),
        failed: script.tally.has_failed(),
        iterations: script.tally.completed() + script.tally.interrupted(),
    };
    Ok((warning, said))
}

/// Refuses a script whose options are others here than on the controller.
pub(super) fn refuse_other(options: &Options, job: &ScriptJob) -> Result<(), Problem> {
    let whole: Vec<Scenario> = options.scenarios.iter().map(Into::into).collect();
    if whole == job.plan.scenarios {
        return Ok(());
    }
    let hint = "options must not depend on the machine, on the time or on chance";
    Err(Problem::new("the script has other options on this machine", hint))
}

/// This machine's part of the plan: its own workers, and the times of the whole. A step of a sweep has exactly the
/// arrivals that the controller planned.
fn part_of(job: &ScriptJob, own: Plan, share: &Share) -> Plan {
    let Plan { warm_up, grace, interval, .. } = job.plan;
    let scenarios = match &job.step {
        Some(_) => job.plan.scenarios.iter().map(|scenario| scenario.clone().shared(share)).collect(),
        None => own.scenarios,
    };
    Plan { scenarios, warm_up, grace, interval, ..own }
}

fn words_of(stop: Stop) -> Stopped {
    match stop {
        Stop::Asked(words) => Stopped::Asked(words),
        Stop::Threw(words) => Stopped::Threw(words),
        Stop::Failed(words) => Stopped::Failed(words),
    }
}

/// What was typed and set on the controller.
pub(super) fn asked_for(job: &ScriptJob, args: &RunArgs, no_color: bool) -> Result<Asked, Failed> {
    // Others could name files of this machine.
    let known = Layer::variables();
    let variable = |name: &str| job.variables.get(name).filter(|_| known.contains(&name)).cloned();
    let mut asked = asked(args, &variable, no_color).map_err(refused)?;
    let config = job.config.as_deref().map(serde_json::from_str).transpose();
    asked.file = config
        .map_err(|error| refused(Problem::new(format!("the configuration file: {error}"), "")))?
        .unwrap_or(Value::Null);
    asked.system_environment = false;
    (asked.log, asked.outputs, asked.secret_sources) = (Log::default(), Vec::new(), Vec::new());
    asked.summary.export = None;
    asked.environment.clone_from(&job.environment);
    asked.thresholds = job.thresholds;
    asked.summary.mode = if job.full { Mode::Full } else { Mode::Compact };
    Ok(asked)
}

/// The same way, to the agent's targets only.
fn within(way: &HttpConfig, targets: &[String]) -> Result<HttpConfig, Failed> {
    let wrong = |what: String| refused(Problem::new(what, "check `targets` in the agent's file"));
    let target = |text: &String| {
        let rule: TargetRule = text.parse().map_err(|_| wrong(format!("`{text}` is not a target")))?;
        let place = match rule.place {
            Place::Name(name) => TargetPlace::Host(NamePattern::new(&name)),
            Place::Network(address, bits) => {
                let network = format!("{address}/{bits}").parse();
                TargetPlace::Network(network.map_err(|()| wrong(format!("`{text}` is not a network")))?)
            }
        };
        Ok(Target { place, port: rule.port })
    };
    let mut settings = (*way.settings).clone();
    settings.host_rules.only = Some(targets.iter().map(target).collect::<Result<_, Failed>>()?);
    let metadata = METADATA.iter().filter_map(|text| text.parse::<IpNetwork>().ok());
    settings.host_rules.blocked_networks.extend(metadata);
    Ok(HttpConfig { settings: settings.into(), ..way.clone() })
}
