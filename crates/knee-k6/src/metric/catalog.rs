//! The metrics that exist: k6's own, and those a script declares while it is loaded.
//!
//! Complete before the first iteration and never changed afterwards, so that workers can share it. Does
//! not hold samples.

use std::collections::HashMap;

use super::key::Key;
use super::{Contains, Kind};

/// A metric's place in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricId(pub usize);

/// One metric.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// Unit of its values.
    pub contains: Contains,
    /// Filters whose samples are kept apart as well, in the order they were asked for.
    pub submetrics: Vec<Key>,
}

/// Why a script cannot declare a metric. Reads as k6 says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclareError {
    /// A name with other characters, too short or too long.
    #[error(
        "Invalid metric name: '{0}'. Metric names must only include up to 128 ASCII letters, numbers, or underscores and start with a letter or an underscore."
    )]
    Name(String),
    /// The name is taken by another kind of metric.
    #[error("metric '{name}' already exists but with type {existing}, instead of {wanted}")]
    Kind {
        /// The name.
        name: String,
        /// Its kind so far.
        existing: Kind,
        /// The kind declared now.
        wanted: Kind,
    },
    /// The name is taken by a metric of other values.
    #[error("metric '{name}' already exists but with a value type {existing}, instead of {wanted}")]
    Contains {
        /// The name.
        name: String,
        /// Its meaning so far.
        existing: Contains,
        /// The meaning declared now.
        wanted: Contains,
    },
}

/// All metrics of a run.
#[derive(Clone, Debug)]
pub struct Catalog {
    metrics: Vec<Metric>,
    by_name: HashMap<String, MetricId>,
}

impl Default for Catalog {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalog {
    /// The metrics that k6 always has, with the one sub-metric that it always shows.
    pub fn new() -> Self {
        let mut catalog = Self { metrics: Vec::new(), by_name: HashMap::new() };
        for built_in in BuiltIn::ALL {
            catalog.insert(built_in.name(), built_in.kind(), built_in.contains());
        }
        let expected = Key {
            metric: "http_req_duration".to_owned(),
            suffix: "expected_response:true".to_owned(),
            tags: vec![("expected_response".to_owned(), "true".to_owned())],
        };
        catalog.metrics[BuiltIn::HttpReqDuration as usize].submetrics.push(expected);
        catalog
    }

    fn insert(&mut self, name: &str, kind: Kind, contains: Contains) -> MetricId {
        let id = MetricId(self.metrics.len());
        self.metrics.push(Metric { name: name.to_owned(), kind, contains, submetrics: Vec::new() });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// Declares a metric. Declaring one again is fine as long as nothing about it changes, also for k6's own.
    pub fn declare(&mut self, name: &str, kind: Kind, contains: Contains) -> Result<MetricId, DeclareError> {
        if !is_name(name) {
            return Err(DeclareError::Name(name.to_owned()));
        }
        let Some(id) = self.find(name) else { return Ok(self.insert(name, kind, contains)) };
        let metric = &self.metrics[id.0];
        if metric.kind != kind {
            return Err(DeclareError::Kind { name: name.to_owned(), existing: metric.kind, wanted: kind });
        }
        if metric.contains != contains {
            return Err(DeclareError::Contains {
                name: name.to_owned(),
                existing: metric.contains,
                wanted: contains,
            });
        }
        Ok(id)
    }

    /// Keeps the samples that match `key` apart. A key without tags, one that is known already, or one of
    /// a metric that does not exist changes nothing.
    pub fn keep_apart(&mut self, key: &Key) {
        let Some(id) = self.find(&key.metric) else { return };
        let known = &mut self.metrics[id.0].submetrics;
        if !key.tags.is_empty() && known.iter().all(|other| other.suffix != key.suffix) {
            known.push(key.clone());
        }
    }

    /// Leaves out the sub-metric that k6 always shows, for runs without the tag that it asks for.
    pub fn leave_out_expected(&mut self) {
        self.metrics[BuiltIn::HttpReqDuration as usize].submetrics.clear();
    }

    /// The metric of this name.
    pub fn find(&self, name: &str) -> Option<MetricId> {
        self.by_name.get(name).copied()
    }

    /// What is known of a metric; `id` must come from this catalogue.
    pub fn metric(&self, id: MetricId) -> &Metric {
        &self.metrics[id.0]
    }

    /// Every metric, k6's own first, then in the order of declaration.
    pub fn metrics(&self) -> impl Iterator<Item = (MetricId, &Metric)> {
        self.metrics.iter().enumerate().map(|(index, metric)| (MetricId(index), metric))
    }

    /// The number of metrics.
    pub fn len(&self) -> usize {
        self.metrics.len()
    }

    /// Never: k6's own metrics are always there.
    pub fn is_empty(&self) -> bool {
        self.metrics.is_empty()
    }
}

/// Two to 129 letters, digits and underscores, not starting with a digit: what k6 in fact accepts.
fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (2..=129).contains(&name.len())
        && name.chars().all(is_word)
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Writes the enum of k6's own metrics with its table, so that neither can lack a line of the other.
macro_rules! built_in {
    ($($variant:ident $name:literal $kind:ident $contains:ident;)*) => {
        /// k6's own metrics; the number of a variant is its [`MetricId`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum BuiltIn {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl BuiltIn {
            /// All of them, in the order of their ids.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Its kind.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind),* }
            }

            /// Unit of its values.
            pub const fn contains(self) -> Contains {
                match self { $(Self::$variant => Contains::$contains),* }
            }

            /// Its place in every catalogue.
            pub const fn id(self) -> MetricId {
                MetricId(self as usize)
            }
        }
    };
}

built_in! {
    Vus "vus" Gauge Default;
    VusMax "vus_max" Gauge Default;
    Iterations "iterations" Counter Default;
    IterationDuration "iteration_duration" Trend Time;
    DroppedIterations "dropped_iterations" Counter Default;
    Checks "checks" Rate Default;
    GroupDuration "group_duration" Trend Time;
    HttpReqs "http_reqs" Counter Default;
    HttpReqFailed "http_req_failed" Rate Default;
    HttpReqDuration "http_req_duration" Trend Time;
    HttpReqBlocked "http_req_blocked" Trend Time;
    HttpReqConnecting "http_req_connecting" Trend Time;
    HttpReqTlsHandshaking "http_req_tls_handshaking" Trend Time;
    HttpReqSending "http_req_sending" Trend Time;
    HttpReqWaiting "http_req_waiting" Trend Time;
    HttpReqReceiving "http_req_receiving" Trend Time;
    WsSessions "ws_sessions" Counter Default;
    WsMsgsSent "ws_msgs_sent" Counter Default;
    WsMsgsReceived "ws_msgs_received" Counter Default;
    WsPing "ws_ping" Trend Time;
    WsSessionDuration "ws_session_duration" Trend Time;
    WsConnecting "ws_connecting" Trend Time;
    GrpcReqDuration "grpc_req_duration" Trend Time;
    DataSent "data_sent" Counter Data;
    DataReceived "data_received" Counter Data;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_can_declare_a_metric_again_but_not_change_it() {
        // The messages were recorded from k6 v1.8.1.
        let mut catalog = Catalog::new();
        let own = catalog.declare("http_reqs", Kind::Counter, Contains::Default);
        assert_eq!(own, Ok(BuiltIn::HttpReqs.id()));
        let mut refused =
            |name, kind, contains| catalog.declare(name, kind, contains).unwrap_err().to_string();
        assert_eq!(
            refused("http_reqs", Kind::Trend, Contains::Default),
            "metric 'http_reqs' already exists but with type counter, instead of trend"
        );
        assert_eq!(
            refused("data_sent", Kind::Counter, Contains::Default),
            "metric 'data_sent' already exists but with a value type data, instead of default"
        );
        assert!(refused("a-b", Kind::Trend, Contains::Default).starts_with("Invalid metric name: 'a-b'. "));
    }

    #[test]
    fn names_are_words_of_at_least_two_characters() {
        for name in ["aa", "_a", "A1_", &"a".repeat(129)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "t", "9abc", "my metric", "ä1", &"a".repeat(130)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_filter_is_kept_once() {
        let mut catalog = Catalog::new();
        let key = Key::parse("http_req_duration{expected_response:true}").unwrap();
        catalog.keep_apart(&key);
        catalog.keep_apart(&Key::parse("http_req_duration{a:b}").unwrap());
        catalog.keep_apart(&Key::parse("http_req_duration").unwrap());
        let suffixes: Vec<_> =
            catalog.metric(BuiltIn::HttpReqDuration.id()).submetrics.iter().map(|key| &*key.suffix).collect();
        assert_eq!(suffixes, ["expected_response:true", "a:b"]);
    }
}
