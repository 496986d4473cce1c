//! The events of responses: how many there were, and how far apart.
//!
//! Counts and does not choose a unit.

use knee_core::tally::Phase;

use super::reading::Reading;
use super::request_stats::RequestStats;
use super::time_summary::TimeSummary;

/// The figures of a table of these times.
pub const COLUMNS: [&str; 5] = ["average", "p50", "p90", "p99", "max"];

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
    /// The longest time between two events of each response.
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

    /// The times that there are, by the names of a table.
    pub fn times(&self) -> impl Iterator<Item = (&'static str, &'v TimeSummary)> {
        let all = [("first event", self.first), ("between events", self.gap), ("longest gap", self.longest)];
        all.into_iter().filter(|(_, times)| times.count > 0)
    }

    /// The same with the figures of [`COLUMNS`].
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, [Reading; 5])> {
        let percentile = TimeSummary::percentile;
        let figures = move |times: &TimeSummary| {
            [
                times.mean,
                percentile(times, "p50"),
                percentile(times, "p90"),
                percentile(times, "p99"),
                times.max,
            ]
        };
        self.times().map(move |(name, times)| (name, figures(times)))
    }

    /// Events for each response that has one.
    pub fn per_response(&self) -> f64 {
        self.events as f64 / self.responses.max(1) as f64
    }
}
