//! The samples of one stream of events: those of xk6-sse, with the tags that the stream had when it was opened.
//!
//! Does not decide when there is a sample.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::peer::Peer;

use crate::http::request::{Origins, Request};
use crate::metric::{BuiltIn, MetricId};
use crate::observe::system_tags::SystemTag;
use crate::observe::{Context, Observer};

/// The samples of one stream.
pub struct Session {
    observer: Rc<dyn Observer>,
    origin: Origins,
    tags: RefCell<Vec<(String, String)>>,
    /// The metric that counts events.
    events: MetricId,
    /// When the script asked for it.
    begun: Nanos,
    /// How long the response's head took; `None` before it.
    opened_after: Cell<Option<Nanos>>,
    /// Whether the run ended it, after which k6 takes no samples.
    is_cut: Cell<bool>,
}

impl Session {
    /// The session of a request that begins at `begun`.
    pub fn new(observer: Rc<dyn Observer>, request: &Request, events: MetricId, begun: Nanos) -> Self {
        let mut tags = request.origin.tags.to_vec();
        tags.extend_from_slice(&request.tags);
        let session = Self {
            observer,
            origin: request.origin.clone(),
            tags: RefCell::new(tags),
            events,
            begun,
            opened_after: Cell::new(None),
            is_cut: Cell::default(),
        };
        session.tag(SystemTag::Url, "url", &request.target.written);
        session
    }

    /// When the script asked for the stream.
    pub const fn begun(&self) -> Nanos {
        self.begun
    }

    fn tag(&self, tag: SystemTag, name: &str, value: &str) {
        if self.observer.system_tags().has(tag) {
            self.tags.borrow_mut().push((name.to_owned(), value.to_owned()));
        }
    }

    /// There is a response, or none, at `at`. As in xk6-sse, this time counts as sending.
    pub fn note_opened(&self, status: Option<u16>, peer: Option<Peer>, at: Nanos) {
        if let Some(peer) = peer {
            self.tag(SystemTag::Ip, "ip", &peer.address.ip().to_string());
        }
        if let Some(status) = status {
            self.tag(SystemTag::Status, "status", &status.to_string());
        }
        let span = at.since(self.begun);
        self.opened_after.set(Some(span));
        self.sample(BuiltIn::HttpReqSending.id(), span.as_millis_f64(), self.begun);
    }

    /// The script gets an event at `at`.
    pub fn note_event(&self, at: Nanos) {
        self.sample(self.events, 1.0, at);
    }

    /// The run ended it.
    pub fn cut(&self) {
        self.is_cut.set(true);
    }

    /// The script has done with the stream at `at`.
    pub fn note_end(&self, at: Nanos) {
        let Some(opened_after) = self.opened_after.get() else { return };
        self.sample(BuiltIn::HttpReqs.id(), 1.0, at);
        self.sample(BuiltIn::HttpReqSending.id(), opened_after.as_millis_f64(), at);
        self.sample(BuiltIn::HttpReqDuration.id(), at.since(self.begun).as_millis_f64(), at);
    }

    /// Bytes that were sent and received.
    pub fn note_traffic(&self, sent: u64, received: u64, at: Nanos) {
        self.observer.traffic(sent, received, &self.context(&self.origin.tags, at));
    }

    fn sample(&self, metric: MetricId, value: f64, at: Nanos) {
        if !self.is_cut.get() {
            let tags = self.tags.borrow();
            self.observer.sample(metric.0 as u32, value, &self.context(&tags, at));
        }
    }

    fn context<'a>(&'a self, tags: &'a [(String, String)], at: Nanos) -> Context<'a> {
        let Origins { scenario, group, metadata, .. } = &self.origin;
        Context { scenario, group, tags, metadata, at }
    }
}
