//! Intervals of values, and how to calculate with them.
//!
//! Does not read or print numbers.

/// Relative error of calculations with floating-point numbers.
const SLACK: f64 = 1e-9;

/// Values from `low` to `high`, both included. Values of figures are not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Range {
    /// One value.
    pub const fn exact(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// Values between two ends, in either order.
    pub const fn new(one: f64, other: f64) -> Self {
        Self { low: one.min(other), high: one.max(other) }
    }

    /// Every product of a value of each.
    #[must_use]
    pub const fn times(self, other: Self) -> Self {
        Self { low: self.low * other.low, high: self.high * other.high }
    }

    /// Every quotient of a value of each; `None` if the divisor can be zero.
    pub fn over(self, other: Self) -> Option<Self> {
        (other.low > 0.0).then(|| Self { low: self.low / other.high, high: self.high / other.low })
    }

    /// Every sum of a value of each.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }

    /// Every difference of a value of each.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { low: self.low - other.high, high: self.high - other.low }
    }

    /// Every value times `factor`, which is not negative.
    #[must_use]
    pub const fn scaled(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// The interval with a tolerance on both sides, as a share of its ends.
    #[must_use]
    pub fn widened(self, share: f64) -> Self {
        Self { low: self.low - self.low.abs() * share, high: self.high + self.high.abs() * share }
    }

    /// The smallest interval that contains both.
    #[must_use]
    pub const fn hull(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether every value of this is less than every value of `other`.
    pub fn is_below(self, other: Self) -> bool {
        let slack = SLACK * self.high.abs().max(other.low.abs());
        self.high + slack < other.low
    }

    /// Whether the two have no value in common.
    pub fn excludes(self, other: Self) -> bool {
        self.is_below(other) || other.is_below(self)
    }

    /// The middle of the interval.
    pub const fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_exclude_one_another_only_without_a_common_value() {
        let (a, b) = (Range::new(1.0, 2.0), Range::new(2.0, 3.0));
        assert!(!a.excludes(b) && a.excludes(Range::new(2.1, 3.0)));
        assert!(!Range::exact(0.1 + 0.2).excludes(Range::exact(0.3)));
        assert_eq!(a.over(Range::new(0.0, 1.0)), None);
    }
}
