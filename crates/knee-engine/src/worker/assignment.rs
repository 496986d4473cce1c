//! What each worker of a run is to do, worked out once for all of them.
//!
//! Does not start anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use knee_core::allocation::Allocation;
use knee_core::plan::{Overflow, Plan, Scenario};

use crate::control::Control;
use crate::executor::pool::Pool;

/// Whom a user works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserId {
    /// Index of the scenario in the plan.
    pub scenario: usize,
    /// Number of the virtual user in the run, from 0; `None` for one that only records unsent iterations.
    pub vu: Option<u32>,
}

/// What all workers of a run share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The whole plan.
    pub plan: Arc<Plan>,
    /// Which VUs do the work.
    pub allocation: Arc<Allocation>,
    /// Requests left of each scenario that limits them.
    pub budgets: Vec<Option<Arc<AtomicU64>>>,
    /// The users of each scenario that drops arrivals: an arrival is dropped only if no worker has a free user.
    pub pools: Vec<Option<Arc<Pool>>>,
    /// The stop signal.
    pub control: Control,
}

impl Shared {
    /// What the workers of this plan share.
    pub fn new(plan: Plan, control: Control) -> Self {
        control.steering().plan(&plan);
        let allocation = Allocation::of(&plan);
        let made = Arc::new(AtomicU32::new(allocation.made_first));
        let budget = |requests: Option<u64>| requests.map(|requests| Arc::new(AtomicU64::new(requests)));
        let pool = |scenario: &Scenario| {
            let (most, first) = (scenario.users_max(), scenario.users_first());
            let drops = scenario.terms.overflow == Overflow::Drop;
            drops.then(|| Arc::new(Pool::new(usize::from(plan.workers), most - first, made.clone())))
        };
        Self {
            budgets: plan.scenarios.iter().map(|scenario| budget(scenario.requests())).collect(),
            pools: plan.scenarios.iter().map(pool).collect(),
            allocation: Arc::new(allocation),
            plan: Arc::new(plan),
            control,
        }
    }
}

/// A worker's share of the run.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// What it shares with the others.
    pub shared: Shared,
    /// This worker's number, from 0.
    pub index: u32,
}

impl Assignment {
    /// Numbers of the VUs that this worker has when the run begins.
    pub fn vus(&self) -> Vec<u32> {
        let workers = usize::from(self.shared.plan.workers.max(1));
        (self.index..self.shared.allocation.made_first).step_by(workers).collect()
    }
}
