//! The load of a script as a job: the script with everything that it read, its options and what its `setup` returned.
//!
//! `setup` and `teardown` are the controller's. Requests are checked against the agent's targets when connections are
//! opened, because only the script knows where they go.

use std::collections::BTreeMap;

use knee_core::metric::Metrics;
use knee_core::plan::Plan;
use knee_core::unit::Nanos;
use knee_fleet::policy::Extent;
use knee_fleet::wire::Part;
use knee_js::program::bundle::Bundle;
use knee_k6::options::scenario::ExecutorSpec;
use serde::{Deserialize, Serialize};

use super::share::{extent_of, idle, share};
use crate::args::{RunArgs, RunHttpFlags, RunLoadFlags};
use crate::problem::Problem;

/// The flags of a script that its parts need.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScriptFlags {
    /// How much, and when.
    pub load: RunLoadFlags,
    /// How requests are made.
    pub http: RunHttpFlags,
    /// Tags of all samples.
    pub tags: Vec<String>,
    /// Tags that samples get by themselves.
    pub system_tags: Option<String>,
    /// Whether well-known libraries are those that the script names.
    pub no_replacements: bool,
}

/// The load of a script.
#[derive(Debug, Serialize, Deserialize)]
pub struct ScriptJob {
    /// The script.
    pub bundle: Bundle,
    /// What it is called.
    pub title: String,
    /// Flags.
    pub flags: ScriptFlags,
    /// `__ENV`.
    pub environment: Vec<(String, String)>,
    /// Variables of the controller that set options.
    pub variables: BTreeMap<String, String>,
    /// The configuration file.
    pub config: Option<String>,
    /// Whether scenarios and groups are kept apart.
    pub full: bool,
    /// Whether samples that thresholds ask for are kept apart.
    pub thresholds: bool,
    /// JSON of what `setup` returned.
    pub data: Option<String>,
    /// What it did, for a controller that takes the run over.
    pub before: Before,
    /// The plan of the whole load. Without a step, the script's options must give its scenarios on every machine.
    pub plan: Plan,
    /// The executor of a step of a sweep, as the script sees it: it stands for the scenarios of the script.
    pub step: Option<ExecutorSpec>,
}

/// What the script did before the load: `setup`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Before {
    /// What it counted.
    pub metrics: Metrics,
    /// How long it took.
    pub span: Nanos,
}

impl ScriptJob {
    /// What was typed, for the whole.
    pub fn args(&self) -> RunArgs {
        let mut args = RunArgs::of(&self.title);
        let ScriptFlags { load, http, tags, system_tags, no_replacements } = self.flags.clone();
        (args.load, args.http) = (load, http);
        args.modules.no_replacements = no_replacements;
        (args.report.tags, args.report.system_tags) = (tags, system_tags);
        args
    }

    /// What was typed, for the part that this machine makes.
    pub fn args_of(&self, part: &Part) -> RunArgs {
        let mut args = self.args();
        // As many as this machine has CPUs.
        args.load.workers = None;
        args.load.execution_segment = Some(part.segment.clone());
        args.load.execution_segment_sequence = Some(part.sequence.clone());
        (args.report.quiet, args.report.no_tui) = (true, true);
        args
    }

    /// What a part would load.
    pub(super) fn extent(self, part: &Part) -> Result<Extent, Problem> {
        let share = share(part)?;
        let scenarios = self.plan.scenarios.into_iter().map(|scenario| scenario.shared(&share)).collect();
        let plan = Plan { scenarios, ..self.plan };
        if !plan.scenarios.iter().any(knee_core::plan::Scenario::has_work) {
            return Err(idle(&share));
        }
        Ok(Extent { scripted: true, ..extent_of(&plan) })
    }
}
