//! Behind which blocking commands others wait on the same connection, counted at each look.
//!
//! Pure. A counter divided by the number of looks is the share of the time, as far as chance allows. Counts looks, not
//! clients.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::unit::Nanos;

use crate::figures::{Count, Counter, Figures, figure};

/// The counters: looks, and those of them at which a command waited behind the one that is the label.
const SAMPLES: &str = "redis.clients.samples";
const BEHIND: &str = "redis.clients.samples.behind";

/// Most commands that have a counter.
const COMMANDS_MAX: usize = 64;

/// What all looks have seen.
#[derive(Debug, Default)]
pub(super) struct Waits {
    samples: f64,
    behind: BTreeMap<String, f64>,
    /// Commands that are counted since the last reading.
    new: Vec<String>,
}

impl Waits {
    /// Counts a look at which others waited behind these commands.
    pub(super) fn count(&mut self, behind: BTreeSet<String>) {
        self.samples += 1.0;
        for command in behind {
            if let Some(count) = self.behind.get_mut(&command) {
                *count += 1.0;
                continue;
            }
            if self.behind.len() < COMMANDS_MAX {
                self.new.push(command.clone());
                self.behind.insert(command, 1.0);
            }
        }
    }

    /// Puts the counters. Those that are new begin at zero, at the reading before.
    pub(super) fn put(&mut self, before: Option<Nanos>, figures: &mut Figures) {
        figures.counter(SAMPLES, Count, self.samples);
        let zeros = self.new.drain(..).map(|command| figure(BEHIND, &command, Count, Counter, 0.0));
        let zeros: Vec<_> = zeros.collect();
        if let Some(before) = before.filter(|_| !zeros.is_empty()) {
            figures.earlier.push((before, zeros));
        }
        for (command, count) in &self.behind {
            figures.put(BEHIND, command, Count, Counter, *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_counted_and_a_command_behind_which_others_wait_begins_at_zero() {
        let of = |command: &str| BTreeSet::from([command.to_owned()]);
        let mut waits = Waits::default();
        waits.count(BTreeSet::new());
        let mut first = Figures::default();
        waits.put(None, &mut first);
        assert_eq!(first.value(SAMPLES, ""), Some(1.0));
        assert_eq!((first.value(BEHIND, "blpop"), first.earlier.len()), (None, 0));
        for command in ["blpop", "blpop", "xread"] {
            waits.count(of(command));
        }
        let mut second = Figures::default();
        let before = Nanos::from_secs(1);
        waits.put(Some(before), &mut second);
        assert_eq!(second.value(SAMPLES, ""), Some(4.0));
        assert_eq!(second.value(BEHIND, "blpop"), Some(2.0));
        assert_eq!(second.value(BEHIND, "xread"), Some(1.0));
        let zeros = ["blpop", "xread"].map(|command| figure(BEHIND, command, Count, Counter, 0.0));
        assert_eq!(second.earlier, [(before, Vec::from(zeros))]);
        let mut third = Figures::default();
        waits.put(Some(before), &mut third);
        assert!(third.earlier.is_empty(), "only once");
    }

    #[test]
    fn commands_without_end_are_bounded() {
        let mut waits = Waits::default();
        for number in 0..1_000 {
            waits.count(BTreeSet::from([format!("module.command{number}")]));
        }
        assert_eq!(waits.behind.len(), COMMANDS_MAX);
    }
}
