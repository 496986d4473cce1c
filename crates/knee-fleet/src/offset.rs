//! How far the controller's clock is from the agent's: an interval that contains the truth.
//!
//! A question and its answer say it without any assumption about the way of either: the answer cannot have been written
//! before the question was sent, nor after the answer was received. Does not read clocks.

use knee_core::unit::Nanos;
use serde::{Deserialize, Serialize};

/// How much two clocks drift apart at most, in parts per million: five times what the worst quartz does.
const DRIFT_PPM: u64 = 100;

/// The controller's clock minus the agent's lies from `low` to `high`, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// The least.
    pub low: i64,
    /// The most.
    pub high: i64,
}

impl Offset {
    /// The middle: the best guess, no more.
    pub const fn centre(self) -> i64 {
        self.low + (self.high - self.low) / 2
    }

    /// Whether it is one that two clocks can have; messages can say anything.
    pub const fn is_sane(self) -> bool {
        self.low <= self.high && is_sane(self.low) && is_sane(self.high)
    }

    /// Half of its width: how wrong the middle can be.
    pub const fn bound(self) -> Nanos {
        Nanos((self.high - self.low) as u64 / 2)
    }

    const fn widened(self, span: Nanos) -> Self {
        let more = (span.0 / (1_000_000 / DRIFT_PPM)) as i64 + 1;
        Self { low: self.low - more, high: self.high + more }
    }
}

/// No clock is further away: 73 years. Beyond that, sums of times could overflow.
const FAR: u64 = 1 << 61;

const fn is_sane(offset: i64) -> bool {
    offset.unsigned_abs() < FAR
}

/// A question for the time, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The agent asked, on its clock.
    pub sent: Nanos,
    /// The controller received the question, on its clock.
    pub noted: Nanos,
    /// The controller answered, on its clock.
    pub replied: Nanos,
    /// The agent received the answer, on its clock.
    pub received: Nanos,
}

impl Exchange {
    /// What it says; `None` if its times are in no order that clocks can produce.
    pub fn offset(&self) -> Option<Offset> {
        let difference = |one: Nanos, other: Nanos| one.0.cast_signed().checked_sub(other.0.cast_signed());
        let (low, high) = (difference(self.replied, self.received)?, difference(self.noted, self.sent)?);
        (low <= high && is_sane(low) && is_sane(high)).then_some(Offset { low, high })
    }
}

/// What all exchanges so far say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clocks {
    known: Option<(Offset, Nanos)>,
    jumped: bool,
}

impl Clocks {
    /// Takes one exchange more.
    pub fn add(&mut self, exchange: &Exchange) {
        let Some(new) = exchange.offset() else { return };
        let at = exchange.received;
        // Its first times are as old as it took.
        let new = new.widened(at.since(exchange.sent));
        let both = self.known.map_or(new, |(known, then)| {
            let known = known.widened(at.since(then));
            Offset { low: known.low.max(new.low), high: known.high.min(new.high) }
        });
        if both.low <= both.high {
            self.known = Some((both, at));
        } else {
            self.jumped = true;
            self.known = Some((new, at));
        }
    }

    /// The interval at `at` on the agent's clock; `None` before the first exchange.
    pub fn at(&self, at: Nanos) -> Option<Offset> {
        self.known.map(|(known, then)| known.widened(at.since(then)))
    }

    /// Whether two exchanges contradicted each other: a clock was set, or a machine was suspended.
    pub const fn jumped(&self) -> bool {
        self.jumped
    }
}

/// The time of the agent's clock that is `at` on the controller's; `None` if the agent's clock cannot show it.
pub fn to_agent(at: Nanos, offset: i64) -> Option<Nanos> {
    let time = at.0.cast_signed().checked_sub(offset)?;
    u64::try_from(time).ok().map(Nanos)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_interval_contains_the_truth_however_long_each_way_takes(
            truth in -2_000_000_000_000_i64..2_000_000_000_000,
            ways in proptest::collection::vec((1_000_u64..50_000_000, 1_000_u64..50_000_000), 1..40),
            drift in -90_i64..90,
        ) {
            // The agent's clock runs `drift` ppm fast; the controller's is the reference.
            let mut clocks = Clocks::default();
            let mut now = 5_000_000_000_000_i64;
            let agent = |now: i64| {
                let agent = now - truth + (now - 5_000_000_000_000) / 1_000_000 * drift;
                Nanos(agent.cast_unsigned())
            };
            for (there, back) in ways {
                let sent = agent(now);
                now += there.cast_signed();
                let noted = Nanos(now.cast_unsigned());
                now += 20_000;
                let replied = Nanos(now.cast_unsigned());
                now += back.cast_signed();
                clocks.add(&Exchange { sent, noted, replied, received: agent(now) });
                let offset = clocks.at(agent(now)).unwrap();
                let true_now = now - agent(now).0.cast_signed();
                prop_assert!(offset.low <= true_now && true_now <= offset.high, "{offset:?}: {true_now}");
                prop_assert!(!clocks.jumped());
                now += 40_000_000;
            }
        }
    }

    #[test]
    fn a_clock_that_was_set_is_noticed() {
        let mut clocks = Clocks::default();
        let exchange = |base: u64, ahead: u64| Exchange {
            sent: Nanos(base),
            noted: Nanos(base + ahead + 100),
            replied: Nanos(base + ahead + 110),
            received: Nanos(base + 200),
        };
        clocks.add(&exchange(1_000, 50_000));
        assert!(!clocks.jumped());
        clocks.add(&exchange(10_000, 5_000_000));
        assert!(clocks.jumped());
    }

    #[test]
    fn a_slow_way_there_moves_the_centre_and_the_bound_says_how_wrong_it_can_be() {
        let exchange = Exchange {
            sent: Nanos(0),
            noted: Nanos(1_000_000_000 + 30_000_000),
            replied: Nanos(1_000_000_000 + 30_000_000),
            received: Nanos(30_100_000),
        };
        let offset = exchange.offset().unwrap();
        assert_eq!(offset.centre(), 1_014_950_000);
        assert_eq!(offset.bound(), Nanos(15_050_000));
    }
}
