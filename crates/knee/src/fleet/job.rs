//! A load as bytes: what the controller sends, and the part of it that an agent makes.
//!
//! Everything is resolved: an agent reads no files and no environment of its own for it. Host names are looked up by each
//! agent, because each machine can find other addresses.

use std::path::PathBuf;

use knee_core::plan::{Executor, Plan};
use knee_core::record::AgentOf;
use knee_core::share::{Segment, Sequence, Share};
use knee_core::unit::Nanos;
use knee_engine::http::settings::Settings;
use knee_engine::requests::RequestTemplate;
use knee_fleet::policy::{Destination, Extent, METADATA};
use knee_fleet::wire::Part;
use serde::{Deserialize, Serialize};

use crate::args::Format;
use crate::problem::Problem;
use crate::settings::output::{Output, Progress};
use crate::settings::{Load, Surroundings, target};

/// The version of a job's layout.
const VERSION: u32 = 1;

/// A load on a URL.
#[derive(Debug, Serialize, Deserialize)]
pub struct Job {
    version: u32,
    plan: Plan,
    http: Settings,
    requests: Vec<RequestTemplate>,
    seed: u64,
    title: String,
    allowed_hosts: Vec<String>,
}

impl Job {
    /// The job of a load.
    ///
    /// # Errors
    ///
    /// If it has something that only this machine can do.
    pub fn of(load: &Load) -> Result<Self, Problem> {
        let alone = [
            (load.http.unix_socket.is_some(), "`--unix-socket`", "agents reach a service over the network"),
            (load.http.proxy.is_some(), "a proxy", "let the agents reach the service themselves"),
            (load.share.is_some(), "`--execution-segment`", "a fleet divides the load among its agents"),
            (
                !load.observe.is_empty(),
                "`--observe`",
                "run `knee find` or a load of one machine beside the fleet",
            ),
            (!load.output.pushes.is_empty(), "`--out`", "leave it out; the record has the figures"),
        ];
        if let Some((_, what, hint)) = alone.iter().find(|(is, ..)| *is) {
            return Err(Problem::new(format!("{what} does not work with a fleet"), *hint));
        }
        Ok(Self {
            version: VERSION,
            plan: load.plan.clone(),
            http: load.http.clone(),
            requests: load.requests.clone(),
            seed: load.seed,
            title: load.title.clone(),
            allowed_hosts: load.allowed_hosts.clone(),
        })
    }

    /// As bytes.
    ///
    /// # Errors
    ///
    /// Never for a job of a load.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Problem> {
        rmp_serde::to_vec_named(self).map_err(|error| Problem::new(format!("the load as a job: {error}"), ""))
    }

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// If they are no job of this version.
    pub fn read(bytes: &[u8]) -> Result<Self, Problem> {
        let hint = "use the same build of knee everywhere";
        let job: Self = rmp_serde::from_slice(bytes)
            .map_err(|error| Problem::new(format!("the job cannot be read: {error}"), hint))?;
        if job.version != VERSION {
            return Err(Problem::new(format!("the job has version {} of its layout", job.version), hint));
        }
        Ok(job)
    }

    /// The part of it that this machine makes, for `agent`; its record goes to `record`.
    ///
    /// # Errors
    ///
    /// If the part is none, has nothing to do, or a name does not resolve.
    pub fn part(
        self,
        part: &Part,
        agent: AgentOf,
        record: PathBuf,
        surroundings: &Surroundings,
    ) -> Result<Load, Problem> {
        let share = share(part)?;
        let scenarios = self.plan.scenarios.into_iter().map(|scenario| scenario.shared(&share)).collect();
        let mut plan = Plan { scenarios, ..self.plan };
        if !plan.scenarios.iter().any(knee_core::plan::Scenario::has_work) {
            let what = format!("the part {} of this load has nothing to do", share.segment());
            return Err(Problem::new(what, "take fewer agents, or give more connections or requests"));
        }
        let levels = plan.scenarios.iter().map(|scenario| match &scenario.executor {
            Executor::Open { rate, .. } => rate.peak(),
            Executor::Closed { vus } => vus.peak(),
        });
        let sane = levels.clone().all(|level| level.is_finite() && level >= 0.0);
        if plan.scenarios.len() != 1 || !sane || plan.interval == Nanos::ZERO {
            return Err(Problem::new("the plan of the job is not one of a load on a URL", ""));
        }
        plan.workers = u64::from(surroundings.cpus).min(plan.users_max()).max(1) as u16;
        let mut http = self.http;
        // Whatever a name means when the connection is made.
        http.host_rules.blocked_networks = METADATA.iter().filter_map(|text| text.parse().ok()).collect();
        let targets = target::targets(&self.requests, &http, surroundings.resolve)?;
        target::refuse_public(&targets, &plan, &self.allowed_hosts)?;
        Ok(Load {
            plan,
            http,
            requests: self.requests,
            seed: self.seed,
            share: Some(share),
            agent: Some(agent),
            fleet: None,
            title: self.title,
            targets,
            // Redirects stay with the targets that the agent allowed.
            allowed_hosts: Vec::new(),
            observe: Vec::new(),
            output: Output {
                format: Format::Quiet,
                file: None,
                record: Some(record),
                name: None,
                time_unit: None,
                color: false,
                progress: Progress::None,
                pushes: Vec::new(),
            },
            notes: Vec::new(),
        })
    }
}

fn share(part: &Part) -> Result<Share, Problem> {
    let wrong =
        |error: knee_core::share::ShareError| Problem::new(format!("the part of the job: {error}"), "");
    let segment: Segment = part.segment.parse().map_err(wrong)?;
    let sequence: Sequence = part.sequence.parse().map_err(wrong)?;
    Share::new(Some(segment), Some(&sequence)).map_err(wrong)
}

/// What a part would load, for the ceilings of the agent.
pub fn extent(load: &Load) -> Extent {
    let destination = |target: &target::Target| Destination {
        host: target.host.clone(),
        port: target.port,
        addresses: target.addresses.iter().map(std::net::SocketAddr::ip).collect(),
    };
    let whole_users: u64 =
        load.plan.scenarios.iter().map(|scenario| u64::from(scenario.whole_users_max())).sum();
    let users = load.plan.users_max();
    // Arrivals are divided as the users are.
    let part = if whole_users == 0 { 1.0 } else { users as f64 / whole_users as f64 };
    let rate = load.plan.scenarios.iter().map(|scenario| match &scenario.executor {
        Executor::Open { rate, .. } => rate.peak() * part,
        Executor::Closed { .. } => 0.0,
    });
    Extent {
        destinations: load.targets.iter().map(destination).collect(),
        rate: rate.sum(),
        users,
        duration: load.plan.duration(),
    }
}
