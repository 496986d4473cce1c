//! What observers have seen of the run in progress, in bounded memory.
//!
//! Pure. A batch counts from those before it: after one that was lost on the way here, nothing is shown any more, rather
//! than something wrong. The record has all of them.

use knee_core::observation::{Batch, ObservationBuilder, Observations};

/// Most points of all series: an hour of a hundred series that are read every second, half of it later.
const POINTS_MAX: usize = 200_000;

/// What observers have seen so far.
#[derive(Clone, Debug)]
pub struct Observed {
    builder: ObservationBuilder,
    taken: u64,
    is_broken: bool,
}

impl Default for Observed {
    fn default() -> Self {
        Self { builder: ObservationBuilder::with_points_max(POINTS_MAX), taken: 0, is_broken: false }
    }
}

impl Observed {
    /// Takes the batch of this number.
    pub fn add(&mut self, batch: &Batch, number: u64) {
        if self.taken != number {
            *self = Self { is_broken: true, ..Self::default() };
        }
        if self.is_broken {
            return;
        }
        self.taken += 1;
        self.builder.add(batch);
    }

    /// How many batches were taken.
    pub const fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether a batch was lost: nothing is shown since.
    pub const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// What they have seen.
    pub const fn observations(&self) -> &Observations {
        self.builder.so_far()
    }
}

#[cfg(test)]
mod tests {
    use knee_core::observation::{Source, SourceChange, SourceKind, SourceState};

    use super::*;

    fn batch() -> Batch {
        let source = Source {
            name: "this machine".to_owned(),
            kind: SourceKind::Host,
            version: None,
            state: SourceState::Read,
            without: Vec::new(),
            left_out: 0,
        };
        Batch { sources: vec![SourceChange { index: 0, source }], ..Batch::default() }
    }

    #[test]
    fn after_a_lost_batch_nothing_is_shown() {
        let mut observed = Observed::default();
        observed.add(&batch(), 0);
        assert_eq!(observed.observations().sources.len(), 1);
        observed.add(&batch(), 2);
        observed.add(&batch(), 3);
        assert!(observed.is_broken());
        assert_eq!(observed.observations().sources.len(), 0);
    }
}
