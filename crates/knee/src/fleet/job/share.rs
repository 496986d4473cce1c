//! The part of a load that an agent makes, and how much that is.
//!
//! Does not know what is loaded.

use knee_core::plan::{Executor, Plan};
use knee_core::share::{Segment, Sequence, Share};
use knee_fleet::policy::Extent;
use knee_fleet::wire::Part;

use crate::problem::Problem;

/// The share of a load that a part is.
///
/// # Errors
///
/// If the part is none.
pub fn share(part: &Part) -> Result<Share, Problem> {
    let wrong =
        |error: knee_core::share::ShareError| Problem::new(format!("the part of the job: {error}"), "");
    let segment: Segment = part.segment.parse().map_err(wrong)?;
    let sequence: Sequence = part.sequence.parse().map_err(wrong)?;
    Share::new(Some(segment), Some(&sequence)).map_err(wrong)
}

/// The error for a part without any work.
pub fn idle(share: &Share) -> Problem {
    let what = format!("the part {} of this load has nothing to do", share.segment());
    Problem::new(what, "take fewer agents, or give more users, connections or requests")
}

/// How much a part loads, by its plan.
pub fn extent_of(plan: &Plan) -> Extent {
    let whole_users: u64 = plan.scenarios.iter().map(|scenario| u64::from(scenario.whole_users_max())).sum();
    let users = plan.users_max();
    // Arrivals are divided as the users are.
    let part = if whole_users == 0 { 1.0 } else { users as f64 / whole_users as f64 };
    let rate = plan.scenarios.iter().map(|scenario| match &scenario.executor {
        Executor::Open { rate, .. } => rate.peak() * part,
        Executor::Closed { .. } => 0.0,
    });
    Extent { rate: rate.sum(), users, duration: plan.duration(), ..Extent::default() }
}
