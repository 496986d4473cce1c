//! At most so many requests per second, all VUs of a run together: the option `rps`.
//!
//! Arithmetic on an agreed time; does not wait.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use knee_core::unit::Nanos;

/// Slots in time for one request each.
#[derive(Debug)]
pub struct Pace {
    every: Nanos,
    /// Slots of so long before can still be taken.
    saved: Nanos,
    next: AtomicU64,
    waited: AtomicBool,
}

impl Pace {
    /// `rate` slots per second, at least one in a day.
    pub fn per_second(rate: f64) -> Self {
        let every = Nanos((1e9 / rate.max(1.0 / 86_400.0)) as u64);
        Self { every, saved: Nanos::ZERO, next: AtomicU64::new(0), waited: AtomicBool::new(false) }
    }

    /// The same for a ceiling: slots of the last second can still be taken, so that only who exceeds the rate waits.
    pub fn ceiling(rate: f64) -> Self {
        Self { saved: Nanos::from_secs(1), ..Self::per_second(rate) }
    }

    /// Whether any request was held up.
    pub fn held_up(&self) -> bool {
        self.waited.load(Ordering::Relaxed)
    }

    /// Takes the next slot, not before `now`. One after `limit` is not taken, so that others can have it.
    pub fn take(&self, now: Nanos, limit: Nanos) -> Nanos {
        let place = |next: u64| next.max(now.since(self.saved).as_nanos());
        let then = |next: u64| {
            (place(next) <= limit.as_nanos()).then(|| place(next).saturating_add(self.every.as_nanos()))
        };
        // Both cases hold what was there before.
        let before = match self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, then) {
            Ok(before) | Err(before) => before,
        };
        if before > now.as_nanos() {
            self.waited.store(true, Ordering::Relaxed);
        }
        Nanos(place(before)).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_holds_up_only_who_exceeds_it() {
        let (pace, ms) = (Pace::ceiling(2.0), Nanos::from_millis);
        let taken: Vec<Nanos> = (0..4).map(|_| pace.take(ms(5_000), Nanos::MAX)).collect();
        assert_eq!(taken, [ms(5_000), ms(5_000), ms(5_000), ms(5_500)]);
        assert!(pace.held_up());
        assert_eq!(pace.take(ms(5_000), ms(5_500)), ms(6_000));
        assert_eq!(pace.take(ms(5_000), Nanos::MAX), ms(6_000), "who cannot wait leaves the slot to others");
        let slow = Pace::ceiling(2.0);
        assert!((0..9_u64).all(|second| slow.take(ms(1_000 * second), Nanos::MAX) == ms(1_000 * second)));
        assert!(!slow.held_up());
    }

    #[test]
    fn places_are_as_far_apart_as_asked_for_and_are_not_saved_up() {
        let pace = Pace::per_second(4.0);
        let ms = Nanos::from_millis;
        assert_eq!(
            [pace.take(ms(0), Nanos::MAX), pace.take(ms(0), Nanos::MAX), pace.take(ms(10), Nanos::MAX)],
            [ms(0), ms(250), ms(500)]
        );
        assert_eq!(
            [pace.take(ms(9_000), Nanos::MAX), pace.take(ms(9_000), Nanos::MAX)],
            [ms(9_000), ms(9_250)]
        );
    }
}
