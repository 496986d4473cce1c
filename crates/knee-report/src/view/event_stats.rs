//! The events of responses: how many there were, and how far apart.
//!
//! Counts and does not choose a unit.

use knee_core::tally::Phase;

use super::request_stats::RequestStats;
use super::time_summary::TimeSummary;

/// The events of a set of responses.
#[derive(Clone, Copy, Debug)]
pub struct EventStats<'v> {
    /// Responses with at least one event.
    pub responses: u64,
    /// Events of all of them.
    pub events: u64,
    /// From the scheduled send to the first event; lower bounds of those that had none in time.
    pub first: &'v TimeSummary,
    /// From an event to the next.
    pub gap: &'v TimeSummary,
    /// The longest time without an event of each response.
    pub longest: &'v TimeSummary,
}

impl<'v> EventStats<'v> {
    /// The events of the responses to these requests; `None` if they are no streams of events.
    pub fn of(stats: &'v RequestStats) -> Option<Self> {
        let [known, gap, longest] = [Phase::FirstEvent, Phase::EventGap, Phase::LongestGap]
            .map(|phase| &stats.phases[phase as usize]);
        let (responses, first) = (known.count, &stats.first_event);
        let events = responses.saturating_add(gap.count);
        (first.count > 0).then_some(Self { responses, events, first, gap, longest })
    }

    /// The three times, by the names of a table.
    pub const fn rows(&self) -> [(&'static str, &'v TimeSummary); 3] {
        [("first event", self.first), ("between events", self.gap), ("longest gap", self.longest)]
    }

    /// Events for each response that has one.
    pub fn per_response(&self) -> f64 {
        self.events as f64 / self.responses.max(1) as f64
    }
}
