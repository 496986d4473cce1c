//! The figures of an interval of requests as k6's metrics, for the load on a URL, which has no script and no samples.
//!
//! Times come from the histograms of the interval, each bucket as so many samples in its middle. k6 has no metric for
//! `response_time`, which counts from when a request was due. Pure.

use std::collections::HashMap;
use std::sync::Arc;

use knee_core::histogram::Histogram;
use knee_core::interval::Interval;
use knee_core::outcome::Outcome;
use knee_core::plan::{Endpoint, EndpointId};
use knee_core::tally::{EndpointTally, Phase};
use knee_core::unit::Nanos;

use super::batch::{Batch, ListId, TagList};
use crate::metric::{BuiltIn, Contains, DeclareError, Kind, MetricId, Registry};

/// The phases that are metrics of k6.
const PHASES: [(Phase, BuiltIn); 5] = [
    (Phase::Connect, BuiltIn::HttpReqConnecting),
    (Phase::Tls, BuiltIn::HttpReqTlsHandshaking),
    (Phase::Send, BuiltIn::HttpReqSending),
    (Phase::Wait, BuiltIn::HttpReqWaiting),
    (Phase::Receive, BuiltIn::HttpReqReceiving),
];

/// The outcomes of requests that were sent and have ended.
const ENDED: [Outcome; 4] = [Outcome::Ok, Outcome::HttpError, Outcome::TransportError, Outcome::Timeout];

/// Makes samples of intervals.
pub struct IntervalSamples {
    endpoints: Vec<Endpoint>,
    /// knee's own metric.
    response_time: MetricId,
    /// Lists of tags that were made, so that outputs recognize them.
    lists: HashMap<Vec<(String, String)>, Arc<TagList>>,
}

impl IntervalSamples {
    /// For requests of these endpoints. Declares the metric `response_time`.
    ///
    /// # Errors
    /// A metric of this name is another one.
    pub fn new(endpoints: Vec<Endpoint>, metrics: &Registry) -> Result<Self, DeclareError> {
        let response_time = metrics.declare("response_time", Kind::Trend, Contains::Time)?;
        Ok(Self { endpoints, response_time, lists: HashMap::new() })
    }

    /// The samples of an interval that ended `at`, since the Unix epoch. Those of the warm-up are among them, as they are
    /// under k6.
    pub fn batch(&mut self, interval: &Interval, at: Nanos) -> Batch {
        for (id, endpoint) in &interval.endpoints_met {
            let place = id.0 as usize;
            if place >= self.endpoints.len() {
                self.endpoints.resize(place + 1, Endpoint { name: String::new() });
            }
            self.endpoints[place] = endpoint.clone();
        }
        let mut batch = Batch::default();
        for tally in [&interval.warm_up, &interval.measured] {
            for (place, endpoint) in tally.endpoints.iter().enumerate() {
                self.add(&mut batch, EndpointId(place as u32), endpoint, at);
            }
        }
        batch
    }

    fn add(&mut self, batch: &mut Batch, id: EndpointId, tally: &EndpointTally, at: Nanos) {
        let name = self.endpoints.get(id.0 as usize).map_or_else(String::new, |one| one.name.clone());
        let plain = self.list(batch, &name, &[]);
        for (status, count) in &tally.status {
            let tags = self.list(batch, &name, &[("status", &status.to_string())]);
            batch.push_many(at, tags, *count, [(BuiltIn::HttpReqs.id(), 1.0)]);
        }
        for fault in tally.faults.iter().filter(|one| one.fault.outcome() != Outcome::HttpError) {
            let tags = self.list(batch, &name, &[("status", "0"), ("error", fault.fault.name())]);
            batch.push_many(at, tags, fault.count, [(BuiltIn::HttpReqs.id(), 1.0)]);
        }
        for outcome in ENDED {
            let times = &tally.outcomes[outcome as usize];
            let is_ok = outcome == Outcome::Ok;
            let tags =
                self.list(batch, &name, &[("expected_response", if is_ok { "true" } else { "false" })]);
            add_times(batch, at, tags, BuiltIn::HttpReqDuration.id(), &times.service);
            add_times(batch, at, tags, self.response_time, &times.response);
            let failed = f64::from(u8::from(!is_ok));
            batch.push_many(at, plain, times.response.count(), [(BuiltIn::HttpReqFailed.id(), failed)]);
            batch.push_many(at, plain, times.response.count(), [(BuiltIn::Iterations.id(), 1.0)]);
        }
        for (phase, metric) in PHASES {
            add_times(batch, at, plain, metric.id(), &tally.phases[phase as usize]);
        }
        let dropped = tally.count(Outcome::Unsent);
        batch.push_many(at, plain, dropped, [(BuiltIn::DroppedIterations.id(), 1.0)]);
        for (metric, bytes) in
            [(BuiltIn::DataSent, tally.bytes_sent), (BuiltIn::DataReceived, tally.bytes_received)]
        {
            batch.push_many(at, plain, u64::from(bytes > 0), [(metric.id(), bytes as f64)]);
        }
    }

    /// The tags of an endpoint's samples, and these, sorted by name.
    fn list(&mut self, batch: &mut Batch, name: &str, more: &[(&str, &str)]) -> ListId {
        let (method, url) = name.split_once(' ').unwrap_or(("", name));
        let always = [("scenario", "default"), ("name", url), ("url", url), ("method", method)];
        let tags = always.iter().chain(more).filter(|(_, value)| !value.is_empty());
        let mut tags: Vec<(String, String)> =
            tags.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        tags.sort();
        let known = self.lists.entry(tags);
        let list = known.or_insert_with_key(|tags| Arc::new(TagList::new(tags.clone()))).clone();
        batch.list(list)
    }
}

/// The times of a histogram in milliseconds, bucket by bucket.
fn add_times(batch: &mut Batch, at: Nanos, tags: ListId, metric: MetricId, times: &Histogram) {
    for (low, high, count) in times.iter() {
        let middle = low.as_millis_f64() / 2.0 + high.as_millis_f64() / 2.0;
        batch.push_many(at, tags, count, [(metric, middle)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "GET http://h/a";

    fn interval() -> Interval {
        let mut interval = Interval::default();
        let tally = interval.measured.endpoint_mut(EndpointId(0));
        for (outcome, millis, count) in
            [(Outcome::Ok, 10, 7), (Outcome::HttpError, 20, 2), (Outcome::Timeout, 99, 1)]
        {
            let times = &mut tally.outcomes[outcome as usize];
            times.service.record_many(Nanos::from_millis(millis), count);
            times.response.record_many(Nanos::from_millis(millis + 5), count);
        }
        tally.note_status(200, 7);
        tally.note_status(500, 2);
        tally.note_fault(knee_core::outcome::Fault::RequestTimeout, 1, None);
        tally.bytes_sent = 1_000;
        interval
    }

    /// All samples of a metric: how many, their sum, and their tags.
    fn of(batch: &Batch, metric: MetricId) -> Vec<(u64, f64, String)> {
        let mut found = Vec::new();
        for samples in batch.moments() {
            for (known, value) in samples.values.iter().filter(|(known, _)| *known == metric) {
                let tags: Vec<String> =
                    samples.tags.pairs().iter().map(|(name, value)| format!("{name}={value}")).collect();
                assert_eq!(*known, metric);
                found.push((samples.count, *value, tags.join(",")));
            }
        }
        found
    }

    fn batch() -> (Batch, MetricId) {
        let metrics = Registry::default();
        let endpoints = vec![Endpoint { name: NAME.to_owned() }];
        let mut samples = IntervalSamples::new(endpoints, &metrics).unwrap();
        let batch = samples.batch(&interval(), Nanos::from_secs(1));
        (batch, metrics.catalog().find("response_time").unwrap())
    }

    #[test]
    fn each_request_counts_once_by_its_status_or_its_fault() {
        let (batch, _) = batch();
        let requests = of(&batch, BuiltIn::HttpReqs.id());
        let counts: Vec<(u64, bool)> =
            requests.iter().map(|(count, _, tags)| (*count, tags.contains("status=0"))).collect();
        assert_eq!(counts, [(7, false), (2, false), (1, true)]);
        assert!(
            requests[0].2.contains("method=GET,name=http://h/a,scenario=default,status=200"),
            "{requests:?}"
        );
        assert!(requests[2].2.contains("error=request_timeout"));
        let failed: u64 =
            of(&batch, BuiltIn::HttpReqFailed.id()).iter().filter(|one| one.1 > 0.0).map(|one| one.0).sum();
        assert_eq!(failed, 3);
    }

    #[test]
    fn times_are_those_of_the_histograms_in_milliseconds_and_the_response_time_begins_when_a_request_is_due()
    {
        let (batch, response_time) = batch();
        let durations = of(&batch, BuiltIn::HttpReqDuration.id());
        assert_eq!(durations.iter().map(|one| one.0).collect::<Vec<_>>(), [7, 2, 1]);
        assert!((durations[0].1 - 10.0).abs() < 0.01 && durations[0].2.contains("expected_response=true"));
        let responses = of(&batch, response_time);
        assert!((responses[0].1 - 15.0).abs() < 0.02, "{responses:?}");
        assert_eq!(of(&batch, BuiltIn::DataSent.id())[0].1.to_bits(), 1_000.0_f64.to_bits());
        assert_eq!(of(&batch, BuiltIn::DataReceived.id()), []);
    }
}
