//! Counters by label, of which the largest have a series each, and the others one together.
//!
//! Pure. A label that is shown once is shown until the end, and what it counted before stays with the others: no counter
//! falls.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use knee_core::unit::Nanos;

use crate::figures::{Count, Counter, Figures, figure};

/// Most labels that have a series.
const SHOWN_MAX: usize = 64;

/// The label of all others.
pub(super) const OTHERS: &str = "(other)";

/// A label is shown from so many samples on, and from this share of all samples on.
const SAMPLES_MIN: u64 = 5;
const SHARE_MIN: u64 = 100;

/// Most labels that are counted before they are shown.
const HIDDEN_MAX: usize = 20_000;

/// Samples by label.
#[derive(Debug, Default)]
pub(super) struct Largest {
    shown: BTreeMap<String, u64>,
    others: u64,
    /// What the labels that are not shown have counted.
    hidden: BTreeMap<String, u64>,
    all: u64,
    /// Labels that are shown since the last reading.
    new: Vec<String>,
}

impl Largest {
    /// Adds what was sampled since the last reading.
    pub(super) fn add(&mut self, samples: BTreeMap<String, u64>) {
        self.all += samples.values().sum::<u64>();
        for (label, count) in &samples {
            if self.shown.contains_key(label) {
                continue;
            }
            if self.hidden.len() < HIDDEN_MAX || self.hidden.contains_key(label) {
                *self.hidden.entry(label.clone()).or_default() += count;
            }
        }
        self.show(&samples);
        for (label, count) in samples {
            match self.shown.get_mut(&label) {
                Some(shown) => *shown += count,
                None => self.others += count,
            }
        }
    }

    /// Shows those that have become large enough, the largest first.
    fn show(&mut self, samples: &BTreeMap<String, u64>) {
        let least = SAMPLES_MIN.max(self.all / SHARE_MIN);
        let hidden = samples.keys().filter_map(|label| Some((*self.hidden.get(label)?, label)));
        let mut large: Vec<(u64, &String)> = hidden.filter(|(count, _)| *count >= least).collect();
        large.sort_by_key(|(count, label)| (Reverse(*count), *label));
        for (_, label) in large.into_iter().take(SHOWN_MAX.saturating_sub(self.shown.len())) {
            self.hidden.remove(label);
            self.shown.insert(label.clone(), 0);
            self.new.push(label.clone());
        }
    }

    /// Puts the counters. Those that are new begin at zero, at the reading before.
    pub(super) fn put(&mut self, name: &str, before: Option<Nanos>, figures: &mut Figures) {
        let zeros = self.new.drain(..).map(|label| figure(name, &label, Count, Counter, 0.0));
        let zeros: Vec<_> = zeros.collect();
        if let Some(before) = before.filter(|_| !zeros.is_empty()) {
            figures.earlier.push((before, zeros));
        }
        for (label, count) in &self.shown {
            figures.put(name, label, Count, Counter, *count as f64);
        }
        figures.put(name, OTHERS, Count, Counter, self.others as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(label, count)| ((*label).to_owned(), *count)).collect()
    }

    #[test]
    fn a_function_that_becomes_large_gets_a_counter_that_begins_at_zero_and_no_counter_falls() {
        let mut largest = Largest::default();
        largest.add(samples(&[("render", 90), ("rare", 1)]));
        let mut first = Figures::default();
        largest.put("profile.samples", None, &mut first);
        assert_eq!(first.value("profile.samples", "render"), Some(90.0));
        assert_eq!(first.value("profile.samples", OTHERS), Some(1.0));
        assert!(first.earlier.is_empty());
        largest.add(samples(&[("render", 10), ("rare", 9)]));
        let mut second = Figures::default();
        let before = Nanos::from_secs(1);
        largest.put("profile.samples", Some(before), &mut second);
        assert_eq!(second.value("profile.samples", "render"), Some(100.0));
        assert_eq!(second.value("profile.samples", "rare"), Some(9.0));
        assert_eq!(second.value("profile.samples", OTHERS), Some(1.0), "what it had before stays there");
        assert_eq!(second.earlier, [(before, vec![figure("profile.samples", "rare", Count, Counter, 0.0)])]);
    }

    #[test]
    fn at_most_64_functions_are_shown_the_largest_first_and_all_samples_are_counted() {
        let mut largest = Largest::default();
        let labels: Vec<String> = (0..70).map(|number| format!("f{number:02}")).collect();
        for _ in 0..2 {
            let count = |label: &String| if label == "f69" { 20 } else { 10 };
            largest.add(labels.iter().map(|label| (label.clone(), count(label))).collect());
        }
        assert_eq!(largest.shown.len(), SHOWN_MAX);
        assert!(largest.shown.contains_key("f69") && !largest.shown.contains_key("f68"));
        assert_eq!(largest.others, 2 * 6 * 10);
        assert_eq!(largest.shown.values().sum::<u64>() + largest.others, 2 * 710);
    }
}
