//! About how many seconds a sweep still takes: the steps of the phases ahead, as far as the steps so far foresee them.
//!
//! Does not choose a step.

use super::super::{Ladder, LoadKind, Purpose, knee, search};
use super::{BREAK_PRECISION, FAILS, PASSES, Phase, Sweep, warm_up};

/// Rungs of an automatic ladder from its first to the first that fails.
const RUNGS: f64 = 8.0;
/// Connections at which the probes of most services end.
const PROBED: f64 = 16.0;
/// Levels that are repeated near a knee.
const REPEATED: f64 = 5.0;

impl Sweep {
    /// About how many seconds are left. A sweep that meets nothing unusual takes as long; levels that fail and pass in turn
    /// take longer.
    pub fn left(&self) -> f64 {
        let planned: f64 = self.trials.iter().map(|trial| trial.step.warm_up + trial.step.seconds).sum();
        // Resets, starts of loads and slow responses, as so far.
        let overhead = if planned > 0.0 { (self.spent / planned).max(1.0) } else { 1.0 };
        let most = self.config.seconds_max.map_or(f64::INFINITY, |max| max - self.spent);
        (self.seconds_ahead() * overhead).min(most).max(0.0)
    }

    /// The seconds of the phase under way and of those after it.
    fn seconds_ahead(&self) -> f64 {
        let parts: [(bool, f64); 8] = [
            (self.is_before(0), self.probes_left()),
            (self.is_before(1), self.rungs_left()),
            (self.is_before(2), self.bisections_left()),
            (self.is_before(3), self.passes_left()),
            (self.is_before(4), self.failures_left()),
            (self.is_before(5), self.breaks_left()),
            (self.is_before(6), self.repeats_left()),
            (self.is_before(7), self.overload_left()),
        ];
        parts.into_iter().filter(|(ahead, _)| *ahead).map(|(_, seconds)| seconds).sum()
    }

    /// Whether the phase under way is not after the phase with this place.
    fn is_before(&self, place: usize) -> bool {
        let now = match self.phase {
            Phase::Probe(_) => 0,
            Phase::Climb(_) | Phase::Lower(_) => 1,
            Phase::Bisect(_) => 2,
            Phase::Lowest(_) => 3,
            Phase::Highest(_) => 4,
            Phase::Break(_) | Phase::Before(_) => 5,
            Phase::Repeat(_) => 6,
            Phase::Surge(_) | Phase::Descend(_) | Phase::Recheck => 7,
            Phase::Done => 8,
        };
        now <= place
    }

    /// One step, with its warm-up.
    fn step_seconds(&self, purpose: Purpose, level: f64) -> f64 {
        let seconds = self.seconds(purpose, level);
        seconds + warm_up(seconds)
    }

    /// The level near which the capacity is expected.
    fn expected(&self) -> f64 {
        let climbs = matches!(self.phase, Phase::Probe(_) | Phase::Climb(_));
        let passed = self.low.filter(|low| !climbs || *low > self.reached);
        passed.or(Some(self.reached).filter(|reached| *reached > 0.0)).or(self.high).unwrap_or(f64::MAX)
    }

    fn probes_left(&self) -> f64 {
        let Phase::Probe(connections) = self.phase else { return 0.0 };
        let doublings = (PROBED / f64::from(connections)).log2().max(0.0);
        (doublings + 1.0) * self.step_seconds(Purpose::Probe, f64::from(connections))
    }

    fn rungs_left(&self) -> f64 {
        let rungs = match (&self.config.ladder, self.phase) {
            (Ladder::List(levels), Phase::Climb(level)) => {
                levels.iter().filter(|one| **one >= level).count() as f64
            }
            (Ladder::Geometric { to: Some(to), factor, .. }, Phase::Climb(level)) => {
                rungs(level, *to, *factor)
            }
            (_, Phase::Climb(level)) if self.reached > 0.0 => rungs(level, self.reached, search::FACTOR),
            (_, Phase::Climb(_) | Phase::Lower(_)) => RUNGS / 2.0,
            _ => RUNGS,
        };
        rungs * self.step_seconds(Purpose::Climb, self.expected())
    }

    fn bisections_left(&self) -> f64 {
        let unknown = if self.config.kind == LoadKind::Connections { 2.0 } else { search::FACTOR };
        let ratio = self.low.zip(self.high).map_or(unknown, |(low, high)| high / low);
        halvings(ratio, self.config.precision) * self.step_seconds(Purpose::Bisect, self.expected())
    }

    fn passes_left(&self) -> f64 {
        // The ladder or the search for the level tries it once.
        let done = self.low.filter(|_| !self.is_before(2)).map_or(1, |low| self.count(low).0);
        PASSES.saturating_sub(done) as f64 * self.step_seconds(Purpose::Confirm, self.expected())
    }

    fn failures_left(&self) -> f64 {
        let done = match self.phase {
            Phase::Highest(level) => self.count(level).1,
            _ => 0,
        };
        FAILS.saturating_sub(done) as f64 * self.step_seconds(Purpose::Confirm, self.expected())
    }

    fn breaks_left(&self) -> f64 {
        let steps = match (self.phase, self.breaking()) {
            (Phase::Before(_), _) => 1.0,
            (Phase::Break(_), (Some(held), Some(broke))) => halvings(broke / held, BREAK_PRECISION),
            // Most services break where they fail.
            _ => 0.0,
        };
        steps * self.step_seconds(Purpose::Break, self.expected())
    }

    fn repeats_left(&self) -> f64 {
        let steps = match (self.phase, &self.repeats) {
            (Phase::Repeat(place), Some(all)) => all.len().saturating_sub(place) as f64,
            (_, Some(_)) => 0.0,
            (_, None) => knee::REPEATS as f64 * REPEATED,
        };
        steps * self.step_seconds(Purpose::Repeat, self.expected() * 0.7)
    }

    fn overload_left(&self) -> f64 {
        let steps = if matches!(self.phase, Phase::Descend(_) | Phase::Recheck) { 1.0 } else { 2.0 };
        steps * self.step_seconds(Purpose::Surge, self.expected())
    }
}

/// Rungs from one level until the first above another.
fn rungs(from: f64, to: f64, factor: f64) -> f64 {
    ((to / from).ln() / factor.ln()).ceil().max(0.0) + 1.0
}

/// How often a bracket is halved, in proportion, until its ends are near enough.
fn halvings(ratio: f64, precision: f64) -> f64 {
    (ratio.ln() / precision.ln_1p()).log2().ceil().max(0.0)
}
