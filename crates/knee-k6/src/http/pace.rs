//! At most so many requests per second, all VUs of a run together: the option `rps`.
//!
//! Arithmetic on an agreed time; does not wait.

use std::sync::atomic::{AtomicU64, Ordering};

use knee_core::unit::Nanos;

/// Slots in time for one request each.
#[derive(Debug)]
pub struct Pace {
    every: Nanos,
    next: AtomicU64,
}

impl Pace {
    /// `rate` slots per second, at least one.
    pub fn per_second(rate: u32) -> Self {
        Self { every: Nanos(1_000_000_000 / u64::from(rate.max(1))), next: AtomicU64::new(0) }
    }

    /// Takes the next slot; not before `now`.
    pub fn take(&self, now: Nanos) -> Nanos {
        let place = |next: u64| next.max(now.as_nanos());
        let then = |next: u64| Some(place(next).saturating_add(self.every.as_nanos()));
        // The closure always returns a value, so both cases hold what was there before.
        let before = match self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, then) {
            Ok(before) | Err(before) => before,
        };
        Nanos(place(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_as_far_apart_as_asked_for_and_are_not_saved_up() {
        let pace = Pace::per_second(4);
        let ms = Nanos::from_millis;
        assert_eq!([pace.take(ms(0)), pace.take(ms(0)), pace.take(ms(10))], [ms(0), ms(250), ms(500)]);
        assert_eq!([pace.take(ms(9_000)), pace.take(ms(9_000))], [ms(9_000), ms(9_250)]);
    }
}
