//! When each arrival is due, and how many users are active, as arithmetic on the plan.
//!
//! Does not wait, count, or know what an arrival does; see `knee_engine::pacer`.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::unit::Nanos;

/// A level over time: starts at `start`, then moves in straight lines, and then stays at the last target. The unit is
/// requests per second or users; the owner knows which.
///
/// ```text
/// level   start ──╮stage 1 (duration, target)╭── stage 2 ──
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Level at time zero; 0 or more.
    pub start: f64,
    /// Straight pieces, in order.
    pub stages: Vec<Stage>,
}

/// One straight piece of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How long the piece takes; zero is a jump.
    pub duration: Nanos,
    /// Level at its end; 0 or more.
    pub target: f64,
}

impl Curve {
    /// The same level for ever.
    pub const fn constant(level: f64) -> Self {
        Self { start: level, stages: Vec::new() }
    }

    /// The time at which the last stage ends.
    pub fn duration(&self) -> Nanos {
        self.stages.iter().fold(Nanos::ZERO, |sum, stage| sum.saturating_add(stage.duration))
    }

    /// The level at time `at`. At a jump, the level after it.
    pub fn at(&self, at: Nanos) -> f64 {
        let mut level = self.start;
        let mut from = Nanos::ZERO;
        for stage in &self.stages {
            let to = from.saturating_add(stage.duration);
            if at < to {
                let share = at.since(from).as_secs_f64() / stage.duration.as_secs_f64();
                return level + (stage.target - level) * share;
            }
            (level, from) = (stage.target, to);
        }
        level
    }

    /// The highest level that is ever reached.
    pub fn peak(&self) -> f64 {
        self.stages.iter().fold(self.start, |peak, stage| peak.max(stage.target))
    }

    /// When user `index` (0-based) is active. It starts when the level has risen to `index + 1`, so that there are
    /// never more users than the level allows. It stops when the level has fallen to `index`, as in k6 (ramping-vus).
    /// The last span can end at [`Nanos::MAX`].
    pub fn active(&self, index: u32) -> Vec<(Nanos, Nanos)> {
        let (floor, number) = (f64::from(index), f64::from(index) + 1.0);
        let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
        let mut open = (self.start >= number).then_some(Nanos::ZERO);
        let mut level = self.start;
        let mut from = Nanos::ZERO;
        for stage in &self.stages {
            let to = from.saturating_add(stage.duration);
            let crossing = |height: f64| {
                let share = (height - level) / (stage.target - level);
                from + Nanos::from_secs_f64(stage.duration.as_secs_f64() * share.clamp(0.0, 1.0))
            };
            match open {
                None if stage.target >= number => open = Some(crossing(number)),
                Some(since) if stage.target <= floor => {
                    let until = crossing(floor);
                    if since < until {
                        spans.push((since, until));
                    }
                    open = None;
                }
                _ => {}
            }
            (level, from) = (stage.target, to);
        }
        spans.extend(open.map(|since| (since, Nanos::MAX)));
        spans
    }

    /// The area (level x seconds) under the curve until `until`.
    fn area(&self, until: Nanos) -> f64 {
        let (mut area, mut level, mut from) = (0.0, self.start, Nanos::ZERO);
        for stage in &self.stages {
            let to = from.saturating_add(stage.duration);
            if until < to {
                return area + level.midpoint(self.at(until)) * until.since(from).as_secs_f64();
            }
            area += level.midpoint(stage.target) * stage.duration.as_secs_f64();
            (level, from) = (stage.target, to);
        }
        area + level * until.since(from).as_secs_f64()
    }

    /// Of evenly spaced arrivals, the first of which is due after the area `first`: the area between `at` and the first
    /// one that is due then or later.
    pub fn area_to_next(&self, first: f64, at: Nanos) -> f64 {
        let area = self.area(at);
        let mut next = first + (area - first - 1.0).floor().max(0.0);
        // The times themselves decide, because the other arrivals are those that are due before `at`. Rounding can cost two
        // steps; beyond 2^53 arrivals a step changes nothing any more.
        for _ in 0..3 {
            let mut cursor = Cursor { level: self.start, ..Cursor::default() };
            if self.time_of_area(next, &mut cursor).is_none_or(|due| due >= at) {
                break;
            }
            next += 1.0;
        }
        (next - area).max(0.0)
    }

    /// The time at which `area` (level x seconds) has passed under the curve; `None` if never.
    /// `cursor` remembers the piece of the last result, so `area` must not decrease.
    fn time_of_area(&self, area: f64, cursor: &mut Cursor) -> Option<Nanos> {
        while let Some(stage) = self.stages.get(cursor.stage) {
            let seconds = stage.duration.as_secs_f64();
            let piece = cursor.level.midpoint(stage.target) * seconds;
            if area < cursor.area + piece {
                let slope = (stage.target - cursor.level) / seconds;
                let inside = time_under_line(cursor.level, slope, area - cursor.area);
                return Some(cursor.from + Nanos::from_secs_f64(inside.min(seconds)));
            }
            cursor.area += piece;
            cursor.level = stage.target;
            cursor.from += stage.duration;
            cursor.stage += 1;
        }
        if cursor.level <= 0.0 {
            return None;
        }
        Some(cursor.from.saturating_add(Nanos::from_secs_f64((area - cursor.area) / cursor.level)))
    }
}

/// Position of the last arrival in a curve.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    stage: usize,
    from: Nanos,
    level: f64,
    area: f64,
}

/// Solves `level * t + slope * t^2 / 2 = area` for the first `t >= 0`. Written with the root in
/// the denominator, which stays exact when the slope is near zero.
fn time_under_line(level: f64, slope: f64, area: f64) -> f64 {
    let root = (level * level + 2.0 * slope * area).max(0.0).sqrt();
    if level + root > 0.0 { 2.0 * area / (level + root) } else { 0.0 }
}

/// How arrivals are spread at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly spaced: the k-th arrival is due when the planned area reaches k.
    Uniform,
    /// Evenly spaced as k6 does it: due when the planned area reaches `first`, `first` + 1, and so on, `count` in all.
    /// The last can be due at the very end, which the other kinds leave out.
    Numbered {
        /// 0 if there is an arrival at the start.
        first: u32,
        /// How many there are.
        count: u64,
    },
    /// A Poisson process: independent users. The same seed gives the same arrivals.
    Poisson {
        /// Seed of the gaps.
        seed: u64,
    },
}

/// The planned arrivals of one scenario, in order; an iterator over due times.
///
/// Invariant: due times never decrease, and depend on nothing but the plan. For uniform
/// arrivals the first is due at zero (unless the rate is zero there).
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: Curve,
    cursor: Cursor,
    gaps: Option<ChaCha8Rng>,
    /// Area under the rate curve at the next arrival: 0, 1, 2, … or a sum of exponential gaps.
    area: f64,
    end: Nanos,
    left: u64,
    /// Whether one can be due at `end`.
    with_end: bool,
    /// Added to every due time.
    start: Nanos,
}

impl Schedule {
    /// Arrivals at `rate` (per second) until `end`, `count` at the most.
    pub fn new(rate: Curve, arrivals: Arrivals, end: Nanos, count: u64) -> Self {
        let cursor = Cursor { level: rate.start, ..Cursor::default() };
        let plain = Self {
            rate,
            cursor,
            gaps: None,
            area: 0.0,
            end,
            left: count,
            with_end: false,
            start: Nanos::ZERO,
        };
        match arrivals {
            Arrivals::Uniform => plain,
            Arrivals::Numbered { first, count: all } => {
                Self { area: f64::from(first), left: count.min(all), with_end: true, ..plain }
            }
            Arrivals::Poisson { seed } => {
                let mut gaps = ChaCha8Rng::seed_from_u64(seed);
                Self { area: exponential(&mut gaps), gaps: Some(gaps), ..plain }
            }
        }
    }

    /// The same, but the first of evenly spaced arrivals is due after this area.
    #[must_use]
    pub fn beginning_at(self, area: f64) -> Self {
        Self { area, ..self }
    }

    /// The same arrivals, all later by `start`.
    #[must_use]
    pub fn starting(self, start: Nanos) -> Self {
        Self { start, ..self }
    }
}

impl Iterator for Schedule {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        if self.left == 0 {
            return None;
        }
        let reached = self.rate.time_of_area(self.area, &mut self.cursor);
        let due = if self.with_end {
            // Their number decides, not the last digit of a sum.
            Some(reached.map_or(self.end, |due| due.min(self.end)))
        } else {
            reached.filter(|due| *due < self.end)
        };
        match due {
            Some(_) => {
                self.left -= 1;
                self.area += self.gaps.as_mut().map_or(1.0, exponential);
            }
            None => self.left = 0,
        }
        due.map(|due| due.saturating_add(self.start))
    }
}

/// One gap of a Poisson process of rate 1, by inversion of the exponential distribution.
fn exponential(random: &mut ChaCha8Rng) -> f64 {
    // 53 random bits make a uniform number in (0, 1]; its logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(schedule: Schedule) -> Vec<u64> {
        schedule.map(|due| due.0 / 1_000_000).collect()
    }

    fn stage(secs: u64, target: f64) -> Stage {
        Stage { duration: Nanos::from_secs(secs), target }
    }

    #[test]
    fn uniform_arrivals_are_multiples_of_the_gap() {
        // 4 per second for 1 s: 0, 250, 500, 750; the one at 1,000 is past the end.
        let schedule = Schedule::new(Curve::constant(4.0), Arrivals::Uniform, Nanos::from_secs(1), u64::MAX);
        assert_eq!(millis(schedule), [0, 250, 500, 750]);
    }

    #[test]
    fn a_rising_rate_packs_arrivals_by_the_area_under_it() {
        // 0 to 8 per second over 2 s has area 2 t^2: arrival k is due at sqrt(k / 2) s.
        let curve = Curve { start: 0.0, stages: vec![stage(2, 8.0)] };
        let schedule = Schedule::new(curve, Arrivals::Uniform, Nanos::from_secs(2), u64::MAX);
        assert_eq!(millis(schedule), [0, 707, 1_000, 1_224, 1_414, 1_581, 1_732, 1_870]);
    }

    #[test]
    fn a_rate_that_falls_to_zero_ends_the_arrivals() {
        let curve = Curve { start: 4.0, stages: vec![stage(1, 0.0)] };
        let schedule = Schedule::new(curve, Arrivals::Uniform, Nanos::MAX, u64::MAX);
        // Area 4t - 2t^2 reaches 1 at 0.2929 s; 2 only at the very end, where the rate is zero.
        assert_eq!(millis(schedule), [0, 292]);
    }

    #[test]
    fn numbered_arrivals_include_the_end_and_begin_at_their_first_area() {
        let numbered = |curve, first, count| {
            let arrivals = Arrivals::Numbered { first, count };
            millis(Schedule::new(curve, arrivals, Nanos::from_secs(2), u64::MAX))
        };
        assert_eq!(numbered(Curve::constant(2.0), 0, 5), [0, 500, 1_000, 1_500, 2_000]);
        assert_eq!(numbered(Curve::constant(2.0), 1, 4), [500, 1_000, 1_500, 2_000]);
        // Area 4t - t^2 reaches 4 where the rate is zero: at the very end.
        let falling = Curve { start: 4.0, stages: vec![stage(2, 0.0)] };
        assert_eq!(numbered(falling, 1, 4), [267, 585, 1_000, 2_000]);
    }

    #[test]
    fn a_count_limits_arrivals_before_time_does() {
        let schedule = Schedule::new(Curve::constant(10.0), Arrivals::Uniform, Nanos::MAX, 3);
        assert_eq!(millis(schedule), [0, 100, 200]);
    }

    #[test]
    fn poisson_arrivals_have_the_planned_rate_and_repeat_with_their_seed() {
        let plan = |seed| {
            Schedule::new(
                Curve::constant(1_000.0),
                Arrivals::Poisson { seed },
                Nanos::from_secs(100),
                u64::MAX,
            )
        };
        let count = plan(7).count() as f64;
        // 100,000 expected, standard deviation 316: five of them.
        assert!((count - 100_000.0).abs() < 1_600.0, "{count}");
        assert!(plan(7).eq(plan(7)));
        assert!(!plan(7).eq(plan(8)));
    }

    #[test]
    fn users_come_when_the_level_has_reached_their_number_and_go_when_it_has_fallen_below() {
        // Up to 2 in 2 s, stay 1 s, down to 0 in 2 s.
        let curve = Curve { start: 0.0, stages: vec![stage(2, 2.0), stage(1, 2.0), stage(2, 0.0)] };
        assert_eq!(curve.active(0), [(Nanos::from_secs(1), Nanos::from_secs(5))]);
        assert_eq!(curve.active(1), [(Nanos::from_secs(2), Nanos::from_secs(4))]);
        assert_eq!(curve.active(2), []);
        assert_eq!(Curve::constant(3.0).active(2), [(Nanos::ZERO, Nanos::MAX)]);
        assert_eq!(Curve::constant(3.0).active(3), []);
    }

    #[test]
    fn the_level_between_two_stages_is_on_the_line() {
        let curve = Curve { start: 10.0, stages: vec![stage(10, 20.0), stage(0, 5.0)] };
        assert!((curve.at(Nanos::from_secs(5)) - 15.0).abs() < 1e-9);
        assert!((curve.at(Nanos::from_secs(10)) - 5.0).abs() < 1e-9);
        assert!((curve.peak() - 20.0).abs() < 1e-9);
    }
}
