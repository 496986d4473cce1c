//! What a record counts under names that this version does not know: outcomes, phases and faults of later versions.
//!
//! Nothing of it is lost: every count stays under the name that the record gives it, and takes part in all sums. Does
//! not guess what a name means.

use super::examples;
use super::times::OutcomeTally;
use crate::histogram::Histogram;
use crate::outcome::Blame;

/// Most unknown outcomes that are kept apart; the same for phases.
pub const UNKNOWN_TIMES_MAX: usize = 8;

/// Most unknown faults that are kept apart.
pub const UNKNOWN_FAULTS_MAX: usize = 32;

/// The name under which everything counts that is more than what is kept apart.
pub const UNKNOWN_REST: &str = "others";

/// What was counted for one endpoint under names that this version does not know; each list ascends by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// Outcomes. Each of their requests has only this one.
    pub outcomes: Vec<UnknownOutcome>,
    /// Phases.
    pub phases: Vec<UnknownPhase>,
    /// Faults.
    pub faults: Vec<UnknownFault>,
}

/// An outcome that this version does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownOutcome {
    /// Its name in the record.
    pub name: String,
    /// Whether the record says that its times are lower bounds.
    pub lower_bound: bool,
    /// Its times.
    pub times: OutcomeTally,
}

/// A phase that this version does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownPhase {
    /// Its name in the record.
    pub name: String,
    /// Its times.
    pub times: Histogram,
}

/// A fault that this version does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFault {
    /// Its name in the record.
    pub name: String,
    /// Who caused it, as the record says; `None` if it names a party that this version does not know.
    pub blame: Option<Blame>,
    /// How often.
    pub count: u64,
    /// Different messages, as many as of a known fault.
    pub examples: Vec<String>,
}

/// Something that is found by its name.
trait Named: Default {
    fn name(&mut self) -> &mut String;
}

impl Named for UnknownOutcome {
    fn name(&mut self) -> &mut String {
        &mut self.name
    }
}

impl Named for UnknownPhase {
    fn name(&mut self) -> &mut String {
        &mut self.name
    }
}

impl Named for UnknownFault {
    fn name(&mut self) -> &mut String {
        &mut self.name
    }
}

/// The entry of this name, made if it is new. If the list is full, that of [`UNKNOWN_REST`].
fn entry<'l, T: Named>(list: &'l mut Vec<T>, name: &str, most: usize) -> &'l mut T {
    let found = |list: &mut Vec<T>, name: &str| list.iter_mut().position(|entry| entry.name() == name);
    if let Some(place) = found(list, name) {
        return &mut list[place];
    }
    // The last place is kept for all the others.
    let name = if list.len() + 1 < most { name } else { UNKNOWN_REST };
    let place = found(list, name).unwrap_or_else(|| {
        let place = list.iter_mut().position(|entry| entry.name().as_str() > name).unwrap_or(list.len());
        let mut new = T::default();
        name.clone_into(new.name());
        list.insert(place, new);
        place
    });
    &mut list[place]
}

impl Unknown {
    /// The outcome of this name, made if it is new.
    pub fn outcome_mut(&mut self, name: &str) -> &mut UnknownOutcome {
        entry(&mut self.outcomes, name, UNKNOWN_TIMES_MAX)
    }

    /// The phase of this name, made if it is new.
    pub fn phase_mut(&mut self, name: &str) -> &mut UnknownPhase {
        entry(&mut self.phases, name, UNKNOWN_TIMES_MAX)
    }

    /// Counts a fault; keeps `example` if it is new and there is room.
    pub fn note_fault(&mut self, name: &str, blame: Option<Blame>, count: u64, example: Option<&str>) {
        let fault = entry(&mut self.faults, name, UNKNOWN_FAULTS_MAX);
        // Of those that count together, the first names its party, unless another one differs.
        let first = fault.count == 0 && fault.examples.is_empty();
        fault.blame = if first || fault.blame == blame { blame } else { None };
        fault.count = fault.count.saturating_add(count);
        examples::keep(&mut fault.examples, example);
    }

    /// Requests with outcomes that this version does not know.
    pub fn requests(&self) -> u64 {
        self.outcomes.iter().fold(0, |sum, outcome| outcome.times.response.count().saturating_add(sum))
    }

    /// Whether there is nothing that this version does not know.
    pub const fn is_empty(&self) -> bool {
        self.outcomes.is_empty() && self.phases.is_empty() && self.faults.is_empty()
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for theirs in &other.outcomes {
            let mine = self.outcome_mut(&theirs.name);
            mine.lower_bound |= theirs.lower_bound;
            mine.times.response.merge(&theirs.times.response);
            mine.times.service.merge(&theirs.times.service);
        }
        for theirs in &other.phases {
            self.phase_mut(&theirs.name).times.merge(&theirs.times);
        }
        for theirs in &other.faults {
            self.note_fault(&theirs.name, theirs.blame, theirs.count, None);
            theirs
                .examples
                .iter()
                .for_each(|example| self.note_fault(&theirs.name, theirs.blame, 0, Some(example)));
        }
    }

    /// Every histogram.
    pub(super) fn histograms(&self) -> impl Iterator<Item = &Histogram> {
        let outcomes = self.outcomes.iter().flat_map(|one| [&one.times.response, &one.times.service]);
        outcomes.chain(self.phases.iter().map(|one| &one.times))
    }

    /// Every histogram.
    pub(super) fn histograms_mut(&mut self) -> impl Iterator<Item = &mut Histogram> {
        let outcomes =
            self.outcomes.iter_mut().flat_map(|one| [&mut one.times.response, &mut one.times.service]);
        outcomes.chain(self.phases.iter_mut().map(|one| &mut one.times))
    }

    /// Bytes of its lists.
    pub(super) const fn heap_bytes(&self) -> usize {
        self.outcomes.capacity() * size_of::<UnknownOutcome>()
            + self.phases.capacity() * size_of::<UnknownPhase>()
            + self.faults.capacity() * size_of::<UnknownFault>()
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.outcomes.clear();
        self.phases.clear();
        self.faults.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::Nanos;

    fn of(names: &[&str]) -> Unknown {
        let mut unknown = Unknown::default();
        for name in names {
            unknown.outcome_mut(name).times.response.record(Nanos(5));
            unknown.phase_mut(name).times.record(Nanos(7));
            unknown.note_fault(name, Some(Blame::Server), 1, Some("example"));
        }
        unknown
    }

    #[test]
    fn unknown_names_keep_their_counts_and_their_order_whatever_was_merged_first() {
        let (mut one, mut other) = (of(&["shed", "early"]), of(&["late", "shed"]));
        let copy = one.clone();
        one.merge(&other);
        other.merge(&copy);
        assert_eq!(one, other);
        let counts: Vec<_> =
            one.outcomes.iter().map(|one| (one.name.as_str(), one.times.response.count())).collect();
        assert_eq!(counts, [("early", 1), ("late", 1), ("shed", 2)]);
        assert_eq!((one.faults[2].count, one.faults[2].examples.len()), (2, 1));
    }

    #[test]
    fn more_names_than_are_kept_apart_lose_no_request() {
        let names: Vec<String> = (0..1_000).map(|number| format!("outcome_{number:03}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let unknown = of(&names);
        assert_eq!(unknown.requests(), 1_000);
        assert_eq!((unknown.outcomes.len(), unknown.phases.len()), (UNKNOWN_TIMES_MAX, UNKNOWN_TIMES_MAX));
        assert_eq!(unknown.faults.len(), UNKNOWN_FAULTS_MAX);
        assert_eq!(unknown.faults.iter().map(|fault| fault.count).sum::<u64>(), 1_000);
        assert_eq!(unknown.outcomes.iter().filter(|one| one.name == UNKNOWN_REST).count(), 1);
    }

    #[test]
    fn parties_that_differ_are_no_party() {
        let mut unknown = Unknown::default();
        unknown.note_fault("a", Some(Blame::Server), 1, None);
        unknown.note_fault("a", Some(Blame::Server), 1, None);
        assert_eq!(unknown.faults[0].blame, Some(Blame::Server));
        unknown.note_fault("a", Some(Blame::Generator), 1, None);
        assert_eq!(unknown.faults[0].blame, None);
    }
}
