//! Levels of load: which are tried, and which lie between two of them.
//!
//! Only arithmetic; does not know which levels passed.

use super::LoadKind;

/// Factor between two rungs of an automatic ladder.
pub const FACTOR: f64 = 1.35;
/// The first rung of an automatic ladder, as a share of what closed probes reached.
pub const FIRST: f64 = 0.15;
/// A ladder without an end stops at this multiple of what closed probes reached.
pub const LAST: f64 = 8.0;
/// Requests that a step near the limit should have: with fewer, an overloaded service whose queue is still filling
/// looks as if it kept up.
pub const SAMPLES: u64 = 3_000;

/// The nearest level that can be asked for: three significant digits of a rate, whole connections.
/// Never zero.
pub fn round(kind: LoadKind, level: f64) -> f64 {
    if kind == LoadKind::Connections {
        return level.round().max(1.0);
    }
    if level <= 0.0 || !level.is_finite() {
        return 1.0;
    }
    let magnitude = 10f64.powf(level.log10().floor() - 2.0);
    // Through text, so that 3 880 is not 3 880.000 000 000 000 5.
    format!("{:.12e}", (level / magnitude).round() * magnitude).parse().unwrap_or(level)
}

/// The level between two, half way in proportion; `None` when they are near enough: the upper at
/// most `1 + precision` times the lower, or nothing in between.
pub fn between(kind: LoadKind, low: f64, high: f64, precision: f64) -> Option<f64> {
    if high <= low * (1.0 + precision) {
        return None;
    }
    let middle = round(kind, (low * high).sqrt());
    (middle > low && middle < high).then_some(middle)
}

/// The level a tenth above another.
pub fn tenth_above(kind: LoadKind, level: f64) -> f64 {
    match kind {
        LoadKind::Connections => (level * 1.1).ceil().max(level + 1.0),
        _ => round(kind, level * 1.1),
    }
}

/// The level `share` (below 1) of another.
pub fn below(kind: LoadKind, level: f64, share: f64) -> f64 {
    let lower = round(kind, level * share);
    if kind == LoadKind::Connections { lower.min(level - 1.0).max(1.0) } else { lower }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn levels_are_numbers_that_people_can_read() {
        let rounded = |level| round(LoadKind::Requests, level);
        for (level, readable) in [(3_876.4, 3_880.0), (0.123_45, 0.123), (99_950.0, 100_000.0), (7.0, 7.0)] {
            assert_eq!(rounded(level).to_bits(), f64::to_bits(readable), "{level}");
        }
        assert_eq!(round(LoadKind::Connections, 0.2).to_bits(), 1f64.to_bits());
    }

    #[test]
    fn nothing_lies_between_neighbours() {
        assert_eq!(between(LoadKind::Connections, 9.0, 10.0, 0.05), None);
        assert_eq!(between(LoadKind::Connections, 8.0, 10.0, 0.05), Some(9.0));
        assert_eq!(between(LoadKind::Requests, 1_000.0, 1_050.0, 0.05), None);
    }

    proptest! {
        #[test]
        fn halving_ends_soon_and_stays_inside(low in 0.01f64..1e6, factor in 1.01f64..10.0, left in any::<u32>()) {
            let (mut low, mut high) = (round(LoadKind::Requests, low), round(LoadKind::Requests, low * factor));
            let mut steps = 0;
            while let Some(middle) = between(LoadKind::Requests, low, high, 0.05) {
                prop_assert!(low < middle && middle < high);
                if left >> steps & 1 == 0 { low = middle } else { high = middle }
                steps += 1;
                prop_assert!(steps <= 8, "{low} {high}");
            }
            prop_assert!(high <= low * 1.05 + 1e-9);
        }
    }
}
