//! Round numbers for the ticks of an axis, and how they are written.
//!
//! Does not know axes, units or pictures.

use crate::number::{self, Unit};

/// Most ticks of an axis: more would touch in a narrow panel.
pub(crate) const TICKS: usize = 5;

/// At most [`TICKS`] round numbers from `from` to `to`, both above 0, evenly spread by ratio.
pub(crate) fn logarithmic(from: f64, to: f64) -> Vec<f64> {
    let (first, last) = (from.log10().floor() as i32, to.log10().ceil() as i32);
    let within = |digits: &[f64], step: usize| {
        let decades = (first..=last).step_by(step);
        let all = decades.flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
        all.filter(|tick| (from..=to).contains(tick)).collect::<Vec<f64>>()
    };
    let ways: [(&[f64], usize); 5] =
        [(&[1.0, 2.0, 5.0], 1), (&[1.0, 3.0], 1), (&[1.0], 1), (&[1.0], 2), (&[1.0], 3)];
    let found = ways.iter().map(|(digits, step)| within(digits, *step)).find(|ticks| ticks.len() <= TICKS);
    match found {
        Some(ticks) if ticks.len() >= 3 => ticks,
        _ => linear(from, to).into_iter().filter(|tick| *tick > 0.0).collect(),
    }
}

/// Three to [`TICKS`] round numbers from `from` to `to`, evenly spread.
pub(crate) fn linear(from: f64, to: f64) -> Vec<f64> {
    let power = 10_f64.powi(((to - from) / TICKS as f64).log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|digit| digit * power);
    let count = |step: &f64| ((to / step).floor() - (from / step).ceil()) as i64 + 1;
    let step = steps.into_iter().find(|step| count(step) <= TICKS as i64).unwrap_or(steps[4]);
    let first = (from / step).ceil() as i64;
    (0..count(&step)).map(|position| (first + position) as f64 * step).collect()
}

/// A number of at most four signs, for ticks.
pub(crate) fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 10_000.0 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = (0..4).find(|decimals| {
        let step = 10_f64.powi(*decimals);
        ((scaled * step).round() / step - scaled).abs() <= scaled.abs() * 1e-3
    });
    format!("{}{unit}", number::fixed(scaled, decimals.unwrap_or(4) as usize))
}

/// A time in its unit, as short as it can be: `500 us`, `2 ms`, `1.5 s`.
pub(crate) fn time(nanos: f64) -> String {
    let fits = |unit: &&Unit| nanos >= unit.nanos() * 0.999_999;
    let unit = Unit::ALL[..4].iter().rev().find(fits).copied().unwrap_or(Unit::Ns);
    format!("{} {unit}", short(nanos / unit.nanos()))
}

/// A time since the start of a run, in seconds: `0.5 s`, `90 s`, `15 min`, `2 h`.
pub(crate) fn since_start(seconds: f64) -> String {
    match seconds {
        s if s >= 7_200.0 && s % 3_600.0 == 0.0 => format!("{} h", short(s / 3_600.0)),
        s if s >= 120.0 && s % 60.0 == 0.0 => format!("{} min", short(s / 60.0)),
        s => format!("{} s", short(s)),
    }
}

/// Steps of an axis of time, in seconds: those that people count in.
const STEPS: [f64; 24] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0,
    1_800.0, 3_600.0, 7_200.0, 14_400.0, 21_600.0, 43_200.0, 86_400.0,
];

/// Ticks of an axis of so many seconds that begins at 0.
pub(crate) fn seconds(to: f64) -> Vec<f64> {
    let step = STEPS.iter().copied().find(|step| to / step <= 8.0).unwrap_or_else(|| (to / 4.0).max(1.0));
    (0..=(to / step + 1e-9) as u32).map(|count| f64::from(count) * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_time_has_ticks_that_people_count_in() {
        let written = |to: f64| seconds(to).into_iter().map(since_start).collect::<Vec<_>>();
        assert_eq!(written(0.2), ["0 s", "0.05 s", "0.1 s", "0.15 s", "0.2 s"]);
        assert_eq!(written(10.0), ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]);
        assert_eq!(written(600.0), ["0 s", "2 min", "4 min", "6 min", "8 min", "10 min"]);
        assert_eq!(written(86_400.0)[..3], ["0 s", "4 h", "8 h"]);
        assert!(seconds(1e9).len() < 10 && seconds(0.0).len() == 1);
    }

    #[test]
    fn a_time_is_written_in_its_unit() {
        for (nanos, text) in
            [(500e3, "500 us"), (2e6, "2 ms"), (1.5e9, "1.5 s"), (200.0, "200 ns"), (0.0, "0 ns")]
        {
            assert_eq!(time(nanos), text);
        }
    }
}
