//! The load of a plan in a few words, for titles.
//!
//! Does not describe stages; the report does.

use knee_core::plan::{Executor, Plan};
use knee_core::schedule::Arrivals;
use knee_report::number;

use super::figure::{rate, short};

/// The load in words: `open, 1,000/s over 50 connections`.
pub fn load(plan: &Plan) -> String {
    let [scenario] = &plan.scenarios[..] else { return format!("{} scenarios", plan.scenarios.len()) };
    match &scenario.executor {
        Executor::Closed { vus: users } if users.stages.is_empty() => {
            format!("closed, {}", number::counted(u64::from(scenario.users_max()), "connection"))
        }
        Executor::Closed { vus: users } => format!("closed, up to {} connections", short(users.peak())),
        Executor::Open { rate: curve, arrivals, users_max } => {
            let upto = if curve.stages.is_empty() { "" } else { "up to " };
            let kind = match arrivals {
                Arrivals::Uniform | Arrivals::Numbered { .. } => "",
                Arrivals::Poisson { .. } => " Poisson",
            };
            let connections = number::counted(u64::from(*users_max), "connection");
            format!("open, {upto}{}{kind} over {connections}", rate(curve.peak()))
        }
    }
}
