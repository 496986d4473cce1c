//! Pauses that come back at a regular pace, in a series of one figure per interval.
//!
//! Works on numbers in order; does not know what they are.

/// A regular pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rhythm {
    /// Intervals from pause to pause, as a mean.
    pub period: f64,
    /// How many pauses there were.
    pub pauses: usize,
    /// Coefficient of variation of the spacing: 0 is a clock, 1 is chance.
    pub variation: f64,
    /// How many times the [`usual`] figure the typical pause is.
    pub height: f64,
}

/// The figure of an interval without a pause: the lower quartile, because every other interval can have one. `None` of
/// nothing.
pub(crate) fn usual(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 4).copied()
}

/// Indices of the intervals whose figure is at least `factor` times the [`usual`] one, neighbours joined into one.
pub(crate) fn spikes(figures: &[f64], factor: f64) -> Vec<usize> {
    let Some(usual) = usual(figures) else { return Vec::new() };
    let high = |figure: &f64| *figure >= factor * usual && usual > 0.0;
    let mut spikes: Vec<usize> = Vec::new();
    let mut last = None;
    for (place, _) in figures.iter().enumerate().filter(|(_, figure)| high(figure)) {
        if last != place.checked_sub(1) || place == 0 {
            spikes.push(place);
        }
        last = Some(place);
    }
    spikes
}

/// The pace of pauses that are at least `factor` times the [`usual`] figure; `None` if there are fewer than `least`, or if they
/// are not apart from each other.
pub(crate) fn rhythm(figures: &[f64], factor: f64, least: usize) -> Option<Rhythm> {
    let spikes = spikes(figures, factor);
    if spikes.len() < least.max(3) {
        return None;
    }
    let gaps: Vec<f64> = spikes.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let period = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let squares: f64 = gaps.iter().map(|gap| (gap - period).powi(2)).sum();
    let variation = (squares / (gaps.len() - 1) as f64).sqrt() / period;
    let heights: Vec<f64> = spikes.iter().map(|place| figures[*place]).collect();
    let height = median(&heights)? / usual(figures)?;
    Some(Rhythm { period, pauses: spikes.len(), variation, height })
}

/// The median; `None` of nothing.
pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    #[test]
    fn a_pause_every_ten_intervals_is_a_rhythm() {
        let figures: Vec<f64> = (0..60)
            .map(|second| if second % 10 == 4 { 250.0 } else { 20.0 + f64::from(second % 3) })
            .collect();
        let rhythm = rhythm(&figures, 3.0, 4).unwrap();
        assert!((rhythm.period - 10.0).abs() < 1e-9 && rhythm.variation < 1e-9 && rhythm.pauses == 6);
        assert!((rhythm.height - 250.0 / 20.0).abs() < 0.1);
    }

    #[test]
    fn pauses_by_chance_vary_as_chance_does() {
        for share in [0.1, 0.3, 0.5, 0.7] {
            let mut regular = 0;
            for seed in 1..=200 {
                let mut dice = Dice(seed);
                let paused = |dice: &mut Dice| if dice.share() < share { 250.0 } else { 20.0 };
                let figures: Vec<f64> = (0..30).map(|_| paused(&mut dice)).collect();
                regular += usize::from(rhythm(&figures, 3.0, 5).is_some_and(|found| found.variation <= 0.15));
            }
            assert!(regular <= 2, "{regular} of 200 with pauses in {share} of the intervals");
        }
    }

    #[test]
    fn a_pause_in_every_other_interval_is_a_rhythm() {
        let figures: Vec<f64> = (0..30).map(|second| if second % 2 == 1 { 160.0 } else { 8.0 }).collect();
        let rhythm = rhythm(&figures, 3.0, 5).unwrap();
        assert!((rhythm.period - 2.0).abs() < 1e-9 && rhythm.pauses == 15);
    }

    #[test]
    fn a_pause_that_spans_two_intervals_is_one() {
        assert_eq!(spikes(&[1.0, 9.0, 9.0, 1.0, 1.0, 9.0, 1.0, 1.0, 1.0], 3.0), [1, 5]);
        assert_eq!(spikes(&[], 3.0), [] as [usize; 0]);
        assert_eq!(spikes(&[0.0, 0.0], 3.0), [] as [usize; 0]);
    }
}
