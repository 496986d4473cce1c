//! The closed model: each user waits for its answer before it goes on.
//!
//! A user's next request is due when its last one is done, so its response time equals its
//! service time plus the instrument's own lag.

use knee_core::unit::Nanos;

use super::budget::Budget;
use super::{Gate, Iteration, User};
use crate::timer::Timer;

/// When one user works, and for how long.
#[derive(Clone, Debug)]
pub struct UserSchedule {
    /// When it is active, ascending, on the run's clock.
    pub spans: Vec<(Nanos, Nanos)>,
    /// Most iterations it takes.
    pub iterations: u64,
    /// Turns that all users share.
    pub budget: Budget,
    /// Whether arrivals are still wanted.
    pub gate: Gate,
    /// When iterations of the scenario must be over.
    pub cut: Nanos,
    /// How long a iteration may outlast its span.
    pub ramp_down: Option<Nanos>,
}

impl UserSchedule {
    /// When a iteration that begins in a span ending at `until` must be over.
    fn cut(&self, until: Nanos) -> Nanos {
        let leaves = self.ramp_down.map_or(Nanos::MAX, |span| until.saturating_add(span));
        self.cut.min(leaves)
    }
}

/// Lets `user` act, one iteration after the other, while it is active, the gate is open and the
/// budget lasts.
pub async fn run_user<T: Timer, U: User>(timer: T, mut user: U, schedule: UserSchedule) {
    let mut left = schedule.iterations;
    for (from, until) in &schedule.spans {
        if *from >= schedule.gate.closes() {
            return;
        }
        timer.sleep_until(*from).await;
        // An active user that was started late is due when it could first act.
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
