//! The samples of one call or stream: k6's metrics, with the tags that it had when it was begun.
//!
//! Does not decide when there is a sample.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::peer::Peer;

use super::status::Status;
use crate::http::request::Origins;
use crate::metric::{BuiltIn, MetricId};
use crate::observe::system_tags::SystemTag;
use crate::observe::{Context, Observer};

/// The metrics of streams, which exist once a script imports the module.
#[derive(Clone, Copy, Debug)]
pub struct StreamMetrics {
    /// `grpc_streams`.
    pub streams: MetricId,
    /// `grpc_streams_msgs_sent`.
    pub sent: MetricId,
    /// `grpc_streams_msgs_received`.
    pub received: MetricId,
}

/// The samples of one call or stream.
pub struct Session {
    observer: Rc<dyn Observer>,
    origin: Origins,
    tags: RefCell<Vec<(String, String)>>,
    /// Its name in the record.
    name: String,
    peer: Cell<Option<Peer>>,
}

impl Session {
    /// Of a call of `path`, such as `/a.Service/Method`, on a client that is connected to `address`. `own` are the tags
    /// that the script gives it.
    pub fn of_call(
        observer: Rc<dyn Observer>,
        origin: Origins,
        own: Vec<(String, String)>,
        address: &str,
        path: &str,
    ) -> Self {
        let mut tags = origin.tags.to_vec();
        tags.retain(|(name, _)| own.iter().all(|(known, _)| known != name));
        tags.extend(own);
        let given = tags.iter().rev().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
        let session = Self {
            observer,
            origin,
            tags: RefCell::new(tags),
            name: given.clone().unwrap_or_else(|| path.to_owned()),
            peer: Cell::default(),
        };
        session.tag(SystemTag::Url, "url", &format!("{address}{path}"));
        let (service, method) = path.trim_start_matches('/').split_once('/').unwrap_or((path, ""));
        session.tag(SystemTag::Service, "service", service);
        session.tag(SystemTag::Method, "method", method);
        if given.is_none() {
            session.tag(SystemTag::Name, "name", path);
        }
        session
    }

    /// Of a call that the module makes by itself, as for the health of a service. As in k6 it has only the tags of the
    /// VU.
    pub fn of_module(observer: Rc<dyn Observer>, origin: Origins, path: &str) -> Self {
        let tags = RefCell::new(origin.tags.to_vec());
        Self { observer, origin, tags, name: path.to_owned(), peer: Cell::default() }
    }

    /// Its name in the record.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server is known.
    pub fn note_peer(&self, peer: Option<Peer>) {
        self.peer.set(peer);
    }

    /// It was begun at `begun` and ended at `done`.
    pub fn note_end(&self, status: &Status, begun: Nanos, done: Nanos) {
        if let Some(peer) = self.peer.get() {
            self.tag(SystemTag::Ip, "ip", &peer.address.ip().to_string());
        }
        self.tag(SystemTag::Status, "status", &status.code.to_string());
        let span = done.since(begun).as_millis_f64();
        self.sample(BuiltIn::GrpcReqDuration.id(), span, done);
    }

    /// A sample of a metric.
    pub fn sample(&self, metric: MetricId, value: f64, at: Nanos) {
        let tags = self.tags.borrow();
        self.observer.sample(metric.0 as u32, value, &self.context(&tags, at));
    }

    /// Bytes that were sent and received.
    pub fn note_traffic(&self, sent: u64, received: u64, at: Nanos) {
        self.observer.traffic(sent, received, &self.context(&self.origin.tags, at));
    }

    fn tag(&self, tag: SystemTag, name: &str, value: &str) {
        if self.observer.system_tags().has(tag) {
            self.tags.borrow_mut().push((name.to_owned(), value.to_owned()));
        }
    }

    fn context<'a>(&'a self, tags: &'a [(String, String)], at: Nanos) -> Context<'a> {
        let Origins { scenario, group, metadata, .. } = &self.origin;
        Context { scenario, group, tags, metadata, at }
    }
}
