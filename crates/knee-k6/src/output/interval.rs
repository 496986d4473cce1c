//! The figures of an interval of requests as k6's metrics, for loads that have no samples: those on a URL, and the steps
//! and trials of commands that make several.
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

use super::batch::{ListId, TagList};
use super::columns::Columns;
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

/// What is said of all samples of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Tags that are added to those of the requests.
    pub tags: Vec<(String, String)>,
    /// What URLs begin with and tags leave out: the address of a service that gets another one with each start.
    pub base: Option<String>,
    /// Whether each request is an iteration: a script can send any number of them.
    pub iterates: bool,
}

impl Default for About {
    fn default() -> Self {
        Self { tags: Vec::new(), base: None, iterates: true }
    }
}

/// Makes samples of intervals.
pub struct IntervalSamples {
    about: About,
    endpoints: Vec<Endpoint>,
    /// knee's own metric.
    response_time: MetricId,
    /// Lists of tags that were made.
    lists: HashMap<Vec<(String, String)>, Known>,
    /// Number of the interval.
    interval: u64,
}

/// A list of tags, and its place in the last interval that has it.
struct Known {
    list: Arc<TagList>,
    interval: u64,
    id: ListId,
}

impl IntervalSamples {
    /// For requests of these endpoints. Declares the metric `response_time`.
    ///
    /// # Errors
    /// A metric of this name is another one.
    pub fn new(about: About, endpoints: Vec<Endpoint>, metrics: &Registry) -> Result<Self, DeclareError> {
        let response_time = metrics.declare("response_time", Kind::Trend, Contains::Time)?;
        Ok(Self { about, endpoints, response_time, lists: HashMap::new(), interval: 0 })
    }

    /// The samples of an interval that ended `at`, since the Unix epoch. Those of the warm-up are among them, as they are
    /// under k6.
    pub fn columns(&mut self, interval: &Interval, at: Nanos) -> Columns {
        for (id, endpoint) in &interval.endpoints_met {
            let place = id.0 as usize;
            if place >= self.endpoints.len() {
                self.endpoints.resize(place + 1, Endpoint { name: String::new() });
            }
            self.endpoints[place] = endpoint.clone();
        }
        self.interval += 1;
        let mut columns = Columns::default();
        for tally in [&interval.warm_up, &interval.measured] {
            for (place, endpoint) in tally.endpoints.iter().enumerate() {
                self.add(&mut columns, EndpointId(place as u32), endpoint, at);
            }
        }
        columns
    }

    fn add(&mut self, columns: &mut Columns, id: EndpointId, tally: &EndpointTally, at: Nanos) {
        let name = self.endpoints.get(id.0 as usize).map_or_else(String::new, |one| one.name.clone());
        let plain = self.list(columns, &name, &[]);
        for (status, count) in &tally.status {
            let tags = self.list(columns, &name, &[("status", &status.to_string())]);
            columns.push_many(at, tags, BuiltIn::HttpReqs.id(), (1.0, *count));
        }
        for fault in tally.faults.iter().filter(|one| one.fault.outcome() != Outcome::HttpError) {
            let tags = self.list(columns, &name, &[("status", "0"), ("error", fault.fault.name())]);
            columns.push_many(at, tags, BuiltIn::HttpReqs.id(), (1.0, fault.count));
        }
        for outcome in ENDED {
            let times = &tally.outcomes[outcome as usize];
            let is_ok = outcome == Outcome::Ok;
            let tags =
                self.list(columns, &name, &[("expected_response", if is_ok { "true" } else { "false" })]);
            add_times(columns, at, tags, BuiltIn::HttpReqDuration.id(), &times.service);
            add_times(columns, at, tags, self.response_time, &times.response);
            let (failed, count) = (f64::from(u8::from(!is_ok)), times.response.count());
            columns.push_many(at, plain, BuiltIn::HttpReqFailed.id(), (failed, count));
            if self.about.iterates {
                columns.push_many(at, plain, BuiltIn::Iterations.id(), (1.0, count));
            }
        }
        for (phase, metric) in PHASES {
            add_times(columns, at, plain, metric.id(), &tally.phases[phase as usize]);
        }
        let dropped = tally.count(Outcome::Unsent);
        columns.push_many(at, plain, BuiltIn::DroppedIterations.id(), (1.0, dropped));
        for (metric, bytes) in
            [(BuiltIn::DataSent, tally.bytes_sent), (BuiltIn::DataReceived, tally.bytes_received)]
        {
            columns.push_many(at, plain, metric.id(), (bytes as f64, u64::from(bytes > 0)));
        }
    }

    /// The tags of an endpoint's samples, and these, sorted by name. Of two with one name that of the load counts.
    fn list(&mut self, columns: &mut Columns, name: &str, more: &[(&str, &str)]) -> ListId {
        let (method, url) = name.split_once(' ').unwrap_or(("", name));
        let url = self.about.base.as_ref().and_then(|base| url.strip_prefix(base.as_str())).unwrap_or(url);
        let of_load = &self.about.tags;
        let always = [("scenario", "default"), ("name", url), ("url", url), ("method", method)];
        let own = always
            .iter()
            .chain(more)
            .filter(|(name, value)| !value.is_empty() && !of_load.iter().any(|(known, _)| known == name));
        let own = own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut tags: Vec<(String, String)> = own.chain(of_load.iter().cloned()).collect();
        tags.sort();
        let known = self.lists.entry(tags).or_insert_with_key(|tags| {
            let list = Arc::new(TagList::new(tags.clone()));
            Known { list, interval: 0, id: ListId::at(0) }
        });
        if known.interval != self.interval {
            (known.interval, known.id) = (self.interval, columns.list(known.list.clone()));
        }
        known.id
    }
}

/// The times of a histogram in milliseconds, bucket by bucket.
fn add_times(columns: &mut Columns, at: Nanos, tags: ListId, metric: MetricId, times: &Histogram) {
    for (low, high, count) in times.iter() {
        let middle = low.as_millis_f64() / 2.0 + high.as_millis_f64() / 2.0;
        columns.push_many(at, tags, metric, (middle, count));
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

    /// All samples of a metric: how many, their value, and their tags.
    fn of(columns: &Columns, metric: MetricId) -> Vec<(u64, f64, String)> {
        let mut found = Vec::new();
        for block in columns.blocks() {
            let tags: Vec<String> =
                block.tags.pairs().iter().map(|(name, value)| format!("{name}={value}")).collect();
            for column in block.columns.iter().filter(|column| column.metric == metric) {
                found.extend(column.runs().map(|(value, count)| (count, value, tags.join(","))));
            }
        }
        found
    }

    fn columns_about(about: About) -> (Columns, MetricId) {
        let metrics = Registry::default();
        let endpoints = vec![Endpoint { name: NAME.to_owned() }];
        let mut samples = IntervalSamples::new(about, endpoints, &metrics).unwrap();
        let columns = samples.columns(&interval(), Nanos::from_secs(1));
        (columns, metrics.catalog().find("response_time").unwrap())
    }

    fn columns() -> (Columns, MetricId) {
        columns_about(About::default())
    }

    #[test]
    fn each_request_counts_once_by_its_status_or_its_fault() {
        let (columns, _) = columns();
        let requests = of(&columns, BuiltIn::HttpReqs.id());
        let counts: Vec<(u64, bool)> =
            requests.iter().map(|(count, _, tags)| (*count, tags.contains("status=0"))).collect();
        assert_eq!(counts, [(7, false), (2, false), (1, true)]);
        assert!(
            requests[0].2.contains("method=GET,name=http://h/a,scenario=default,status=200"),
            "{requests:?}"
        );
        assert!(requests[2].2.contains("error=request_timeout"));
        let failed: u64 =
            of(&columns, BuiltIn::HttpReqFailed.id()).iter().filter(|one| one.1 > 0.0).map(|one| one.0).sum();
        assert_eq!(failed, 3);
    }

    #[test]
    fn times_are_those_of_the_histograms_in_milliseconds_and_the_response_time_begins_when_a_request_is_due()
    {
        let (columns, response_time) = columns();
        let durations = of(&columns, BuiltIn::HttpReqDuration.id());
        assert_eq!(durations.iter().map(|one| one.0).collect::<Vec<_>>(), [7, 2, 1]);
        assert!((durations[0].1 - 10.0).abs() < 0.01 && durations[0].2.contains("expected_response=true"));
        let responses = of(&columns, response_time);
        assert!((responses[0].1 - 15.0).abs() < 0.02, "{responses:?}");
        assert_eq!(of(&columns, BuiltIn::DataSent.id())[0].1.to_bits(), 1_000.0_f64.to_bits());
        assert_eq!(of(&columns, BuiltIn::DataReceived.id()), []);
    }

    #[test]
    fn the_load_has_its_own_tags_and_the_address_that_changes_with_each_start_is_left_out() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let about = About {
            tags: vec![pair("variant", "B"), pair("scenario", "mine")],
            base: Some("http://h".to_owned()),
            iterates: false,
        };
        let (columns, _) = columns_about(about);
        let tags = "method=GET,name=/a,scenario=mine,url=/a,variant=B";
        assert_eq!(of(&columns, BuiltIn::DataSent.id())[0].2, tags);
        assert_eq!(of(&columns, BuiltIn::Iterations.id()), []);
    }

    #[test]
    fn each_set_of_tags_is_there_once_so_that_no_point_takes_the_place_of_another() {
        let (columns, _) = columns();
        let mut lists: Vec<_> = columns.blocks().iter().map(|block| block.tags.pairs()).collect();
        let all = lists.len();
        lists.sort();
        lists.dedup();
        assert_eq!(lists.len(), all);
    }
}
