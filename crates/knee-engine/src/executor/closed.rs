//! The closed model: each user waits for its response before it sends again.
//!
//! A user's next request is due when its last one is done. Its response time is therefore its
//! service time plus the generator lag.

use knee_core::unit::Nanos;

use super::budget::Budget;
use super::{Gate, Iteration, User};
use crate::timer::Timer;

/// When one user is active, and its limits.
#[derive(Clone, Debug)]
pub struct UserSchedule {
    /// Active spans on the run's clock, ascending.
    pub spans: Vec<(Nanos, Nanos)>,
    /// Maximum number of iterations of this user.
    pub iterations: u64,
    /// Iterations that all users share.
    pub budget: Budget,
    /// Whether new iterations can start.
    pub gate: Gate,
    /// When iterations of the scenario must be over.
    pub cut: Nanos,
    /// How long an iteration can outlast its span; `None` for no limit.
    pub ramp_down: Option<Nanos>,
}

impl UserSchedule {
    /// When an iteration that starts in a span ending at `until` must be over.
    fn cut(&self, until: Nanos) -> Nanos {
        let leaves = self.ramp_down.map_or(Nanos::MAX, |span| until.saturating_add(span));
        self.cut.min(leaves)
    }
}

/// Runs iterations of a user in sequence while it is active, the gate is open and the budget lasts. `make` makes the
/// user when its first span begins.
pub async fn run_user<T: Timer, U: User>(timer: T, make: impl FnOnce() -> U, schedule: UserSchedule) {
    let Some((first, _)) = schedule.spans.first() else { return };
    if *first >= schedule.gate.closes() {
        return;
    }
    timer.sleep_until(*first).await;
    let mut user = make();
    let mut left = schedule.iterations;
    for (from, until) in &schedule.spans {
        if *from >= schedule.gate.closes() {
            return;
        }
        timer.sleep_until(*from).await;
        // A user that starts late is due when it can first send.
        let mut due = timer.now();
        let cut = schedule.cut(*until);
        while due < *until && due < schedule.gate.closes() {
            if left == 0 {
                return;
            }
            if !schedule.budget.take() {
                schedule.gate.exhaust();
                return;
            }
            left -= 1;
            due = user.iterate(Iteration { due, earliest: due, cut }).await;
        }
    }
}
