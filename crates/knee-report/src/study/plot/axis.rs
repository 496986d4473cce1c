//! Axes: where a figure is placed, which ticks an axis has, and how they are written.
//!
//! Figures and ratios are placed by their logarithm, so that equal ratios are equal distances; shares and their changes as
//! they are. Round numbers come from [`crate::chart::tick`]. Does not draw.

use std::ops::Range;

use knee_study::metric::{Metric, Unit};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::chart::tick::{TICKS, linear, logarithmic, short};
use crate::number;
use crate::study::value;

/// The least distance of two ticks with a unit, as a share of the axis: nearer ones would touch in a narrow panel.
const APART: f64 = 0.22;

/// The largest ratio to 1 that still has a position of its own: 1,000 times.
const FAR: f64 = 6.908;

/// An axis: its ends, and its ticks with what is written at them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub from: f64,
    pub to: f64,
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// An axis that holds all of `places`, with a little room at its ends.
    fn around(positions: &[f64], ticks: impl Fn(f64, f64) -> Vec<(f64, String)>) -> Option<Self> {
        let known = || positions.iter().copied().filter(|position| position.is_finite());
        let (least, most) = (known().reduce(f64::min)?, known().reduce(f64::max)?);
        let room = ((most - least) * 0.06).max(1e-3 * most.abs()).max(1e-6);
        let (from, to) = (least - room, most + room);
        Some(Self { from, to, ticks: ticks(from, to) })
    }

    /// A place within the ends, and whether it had to be moved there.
    pub fn held(&self, position: f64) -> (f64, bool) {
        (position.clamp(self.from, self.to), !(self.from..=self.to).contains(&position))
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, position: &f64, (low, high): (i32, i32)) -> i32 {
        let share = (position - self.from) / (self.to - self.from);
        low + (share * f64::from(high - low)).round() as i32
    }

    /// Rules are drawn at ticks and nowhere else.
    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(position, _)| *position).collect()
    }

    fn range(&self) -> Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, position: &f64) -> String {
        let away = |tick: &&(f64, String)| (tick.0 - position).abs();
        let near = self.ticks.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
        near.map(|(_, text)| text.clone()).unwrap_or_default()
    }
}

/// The place of a figure; `None` if it has none.
pub(super) fn position(metric: Metric, value: f64) -> Option<f64> {
    match metric.unit() {
        Unit::Share => Some(value),
        _ => (value > 0.0 && value.is_finite()).then(|| value.ln()),
    }
}

/// The place of a change; what is further than an axis reaches is at its end.
pub(in crate::study) fn place_of_change(metric: Metric, change: f64) -> f64 {
    match metric.unit() {
        Unit::Share => change,
        _ => (1.0 + change).max(f64::MIN_POSITIVE).ln().clamp(-FAR, FAR),
    }
}

/// An axis of figures.
pub(super) fn of_figures(metric: Metric, positions: &[f64]) -> Option<Axis> {
    let written = |value: f64| match metric.unit() {
        Unit::PerSecond => short(value),
        _ => value::figure(metric, value),
    };
    Axis::around(positions, |from, to| match metric.unit() {
        Unit::Share => linear(from, to).into_iter().map(|tick| (tick, written(tick))).collect(),
        Unit::PerSecond => {
            logarithmic(from.exp(), to.exp()).into_iter().map(|tick| (tick.ln(), written(tick))).collect()
        }
        _ => {
            let mut ticks: Vec<(f64, String)> = Vec::new();
            for tick in logarithmic(from.exp(), to.exp()) {
                let place = tick.ln();
                if ticks.last().is_none_or(|(last, _)| place - last >= APART * (to - from)) {
                    ticks.push((place, written(tick)));
                }
            }
            ticks
        }
    })
}

/// An axis of amounts of data: a tick at each, as far as there is room.
pub(super) fn of_amounts(amounts: &[u64]) -> Option<Axis> {
    let every = amounts.len().div_ceil(TICKS).max(1);
    let ticks: Vec<(f64, String)> =
        amounts.iter().step_by(every).map(|amount| ((*amount as f64).ln(), number::count(*amount))).collect();
    let positions: Vec<f64> = amounts.iter().map(|amount| (*amount as f64).ln()).collect();
    Axis::around(&positions, |_, _| ticks.clone())
}

/// An axis of changes.
pub(super) fn of_changes(metric: Metric, positions: &[f64]) -> Option<Axis> {
    if metric.unit() == Unit::Share {
        let written = |tick: f64| format!("{} pt", signed(tick * 100.0));
        return Axis::around(positions, |from, to| {
            linear(from, to).into_iter().map(|tick| (tick, written(tick))).collect()
        });
    }
    Axis::around(positions, |from, to| {
        // Small changes are read as per cent, large ones as factors.
        if from > -0.6 && to < 0.7 {
            let ticks = linear(from.exp_m1(), to.exp_m1());
            return ticks
                .into_iter()
                .map(|tick| (tick.ln_1p(), format!("{} %", signed(tick * 100.0))))
                .collect();
        }
        let ticks = logarithmic(from.exp(), to.exp());
        ticks.into_iter().map(|tick| (tick.ln(), format!("×{}", short(tick)))).collect()
    })
}

/// A round number with its sign.
fn signed(value: f64) -> String {
    let text = short(value);
    if value > 0.0 { format!("+{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_few_and_within_the_axis() {
        for (from, to) in [(40.0, 12_000.0), (1.0, 1.2), (0.001, 900.0), (421.0, 422.0), (95.0, 1_100.0)] {
            let positions = [f64::ln(from), f64::ln(to)];
            let axis = of_figures(Metric::Goodput, &positions).unwrap();
            assert!((2..=TICKS).contains(&axis.ticks.len()), "{from} to {to}: {:?}", labels(&axis));
            assert!(axis.ticks.iter().all(|(position, _)| (axis.from..=axis.to).contains(position)));
            assert!(axis.ticks.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        }
        let wide = of_figures(Metric::Goodput, &[50_f64.ln(), 12_000_f64.ln()]).unwrap();
        assert_eq!(labels(&wide), ["100", "300", "1,000", "3,000", "10k"]);
    }

    #[test]
    fn ticks_with_a_unit_do_not_touch() {
        for (from, to) in [(9e6, 16.6e6), (1e6, 900e6), (10e6, 10.4e6)] {
            let axis = of_figures(Metric::P50, &[f64::ln(from), f64::ln(to)]).unwrap();
            let apart = |pair: &[(f64, String)]| pair[1].0 - pair[0].0 >= APART * (axis.to - axis.from);
            assert!(axis.ticks.len() >= 2 && axis.ticks.windows(2).all(apart), "{:?}", labels(&axis));
        }
    }

    #[test]
    fn small_changes_are_per_cent_and_large_ones_factors() {
        let position = |change: f64| place_of_change(Metric::P50, change);
        let small = of_changes(Metric::P50, &[position(-0.2), position(0.0), position(0.1)]).unwrap();
        assert_eq!(labels(&small), ["-20 %", "-10 %", "0 %", "+10 %"]);
        let large = of_changes(Metric::P50, &[position(-0.9), position(9.0)]).unwrap();
        assert_eq!(labels(&large), ["×0.1", "×0.3", "×1", "×3", "×10"]);
    }

    #[test]
    fn a_change_without_an_end_is_at_the_end_of_the_axis() {
        let axis = of_changes(Metric::P50, &[0.0, 1.0]).unwrap();
        assert_eq!(axis.held(place_of_change(Metric::P50, -1.0)), (axis.from, true));
        assert_eq!(axis.held(0.5), (0.5, false));
    }
}
