//! The load of a URL as a job.
//!
//! Host names are looked up by each agent, because each machine can find other addresses.

use std::path::PathBuf;

use knee_core::plan::{Executor, Plan};
use knee_core::record::AgentOf;
use knee_core::unit::Nanos;
use knee_engine::http::settings::Settings;
use knee_engine::requests::RequestTemplate;
use knee_fleet::policy::{Destination, Extent, METADATA};
use knee_fleet::wire::Part;
use serde::{Deserialize, Serialize};

use super::share::{extent_of, idle, share};
use crate::args::Format;
use crate::problem::Problem;
use crate::settings::output::{Output, Progress};
use crate::settings::{Load, Surroundings, target};

/// A load on a URL.
#[derive(Debug, Serialize, Deserialize)]
pub struct UrlJob {
    plan: Plan,
    http: Settings,
    requests: Vec<RequestTemplate>,
    seed: u64,
    title: String,
    allowed_hosts: Vec<String>,
}

impl UrlJob {
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
            plan: load.plan.clone(),
            http: load.http.clone(),
            requests: load.requests.clone(),
            seed: load.seed,
            title: load.title.clone(),
            allowed_hosts: load.allowed_hosts.clone(),
        })
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
            return Err(idle(&share));
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

/// What a part would load, for the ceilings of the agent.
pub(super) fn extent(load: &Load) -> Extent {
    let destination = |target: &target::Target| Destination {
        host: target.host.clone(),
        port: target.port,
        addresses: target.addresses.iter().map(std::net::SocketAddr::ip).collect(),
    };
    Extent { destinations: load.targets.iter().map(destination).collect(), ..extent_of(&load.plan) }
}
