//! When a source is looked at: once per pace, at a moment of the pace that chance decides.
//!
//! At even intervals, looks fall into step with a load that repeats itself: at 10 arrivals per second, ten looks per second
//! see the same moment of each, and a lock that is held for a third of the time is never seen. Does not look.

use knee_core::unit::Nanos;

use crate::pace::slower;

/// The looks at one source.
#[derive(Debug)]
pub(super) struct Looks {
    pace: Nanos,
    /// When the pace began that has the next look.
    from: Nanos,
    number: u64,
}

impl Looks {
    /// Looks once per `pace` from `now` on.
    pub(super) const fn new(pace: Nanos, now: Nanos) -> Self {
        Self { pace, from: now, number: 0 }
    }

    /// When the next look is due.
    pub(super) fn due(&self) -> Nanos {
        self.from.saturating_add(Nanos::from_secs_f64(self.pace.as_secs_f64() * share(self.number)))
    }

    /// Goes on to the next look, after one that ended `now` and took this long.
    pub(super) fn advance(&mut self, now: Nanos, took: Nanos) {
        self.number += 1;
        let next = self.from.saturating_add(slower(self.pace, took));
        // Looks that were missed are not made up for.
        self.from = if next.saturating_add(self.pace) < now { now } else { next };
    }
}

/// A share of the pace that looks random and is the same in every run (`splitmix64`). A sequence that fills the pace evenly,
/// such as the multiples of the golden ratio, would fall into step with some periods again.
fn share(number: u64) -> f64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Nanos = Nanos::from_millis(100);

    #[test]
    fn a_lock_that_is_held_for_a_third_of_each_period_is_seen_in_about_a_third_of_the_looks() {
        // Round periods, and those of the golden ratio.
        let periods = (10..=1_000).step_by(10).chain([62, 162, 262, 424, 38, 97, 101, 333]);
        for period in periods.map(Nanos::from_millis) {
            for phase in 0..10 {
                let mut looks = Looks::new(PACE, Nanos::from_secs(7));
                let mut seen = 0;
                for _ in 0..300 {
                    let at = looks.due();
                    let moment = at.saturating_add(Nanos(period.0 * phase / 10)).0 % period.0;
                    seen += u32::from(moment < period.0 / 3);
                    looks.advance(at.saturating_add(Nanos::from_micros(300)), Nanos::from_micros(300));
                }
                // 100, and four times the standard deviation of chance.
                assert!((67..=133).contains(&seen), "{seen} of 300, {period:?}, phase {phase}");
            }
        }
    }

    #[test]
    fn there_is_one_look_per_pace_and_a_slow_source_is_looked_at_more_rarely() {
        let looks_in_a_minute = |took: Nanos| {
            let mut looks = Looks::new(PACE, Nanos::ZERO);
            let mut count = 0;
            while looks.due() < Nanos::from_secs(60) {
                count += 1;
                looks.advance(looks.due().saturating_add(took), took);
            }
            count
        };
        assert_eq!(looks_in_a_minute(Nanos::from_micros(300)), 600);
        assert_eq!(looks_in_a_minute(Nanos::from_millis(10)), 300);
        assert_eq!(looks_in_a_minute(Nanos::from_millis(400)), 120);
    }

    #[test]
    fn after_a_pause_of_the_thread_looks_go_on_from_now() {
        let mut looks = Looks::new(PACE, Nanos::ZERO);
        looks.advance(Nanos::from_secs(10), Nanos::from_micros(300));
        assert!(looks.due() >= Nanos::from_secs(10) && looks.due() < Nanos::from_millis(10_100));
    }
}
