//! What one interval of a run measured: the tallies, and the load generator's samples of itself.
//!
//! Does not sum intervals up; see [`crate::record::run`].

use serde::Serialize;

use crate::generator::GeneratorSample;
use crate::plan::{Endpoint, EndpointId};
use crate::tally::{Concurrency, Tally};
use crate::unit::Nanos;

/// What one interval measured, all workers together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Interval {
    /// Start and end on the run's clock.
    pub from: Nanos,
    /// End; the next interval starts here.
    pub to: Nanos,
    /// Requests due during the warm-up that came due or ended in this interval.
    pub warm_up: Tally,
    /// All other requests that came due or ended in this interval.
    pub measured: Tally,
    /// Requests in flight.
    pub concurrency: Concurrency,
    /// Arrivals that were due and waited for a free connection when the interval ended.
    pub backlog: u64,
    /// Connections open when the interval ended.
    pub connections_open: u64,
    /// What the load generator saw of itself.
    #[serde(rename = "instrument")]
    pub generator: GeneratorSample,
    /// Names of endpoints first met in this interval, with their ids.
    pub endpoints_met: Vec<(EndpointId, Endpoint)>,
}

impl Interval {
    /// Clears everything and keeps the memory for a later interval.
    pub fn clear(&mut self) {
        let (mut warm_up, mut measured) =
            (std::mem::take(&mut self.warm_up), std::mem::take(&mut self.measured));
        warm_up.clear();
        measured.clear();
        *self = Self { warm_up, measured, ..Self::default() };
    }
}
