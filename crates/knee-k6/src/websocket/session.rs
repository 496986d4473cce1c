//! The samples of one socket: k6's metrics, with the tags that the socket had when it was opened.
//!
//! Does not decide when there is a sample.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::http::peer::Peer;
use knee_engine::http::websocket::handshake::HandshakeReply;

use super::request::{Dialect, SocketRequest};
use crate::http::request::Origins;
use crate::metric::BuiltIn;
use crate::observe::system_tags::SystemTag;
use crate::observe::{Context, Observer};

/// The samples of one socket.
pub struct Session {
    observer: Rc<dyn Observer>,
    dialect: Dialect,
    origin: Origins,
    tags: RefCell<Vec<(String, String)>>,
    /// When the script asked for it.
    begun: Cell<Nanos>,
}

impl Session {
    /// The session of a handshake that begins at `begun`.
    pub fn new(observer: Rc<dyn Observer>, request: &SocketRequest, begun: Nanos) -> Self {
        let mut tags = request.origin.tags.to_vec();
        tags.extend_from_slice(&request.tags);
        let session = Self {
            observer,
            dialect: request.dialect,
            origin: request.origin.clone(),
            tags: RefCell::new(tags),
            begun: Cell::new(begun),
        };
        let name = session.tag_of("name");
        match (request.dialect, name) {
            (Dialect::Ws, _) => session.tag(SystemTag::Url, "url", &request.shown),
            (Dialect::WebSockets, Some(name)) => session.tag(SystemTag::Url, "url", &name),
            (Dialect::WebSockets, None) => {
                session.tag(SystemTag::Url, "url", &request.shown);
                session.tag(SystemTag::Name, "name", &request.shown);
            }
        }
        session
    }

    /// The module that the socket belongs to.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// When the script asked for the socket.
    pub fn begun(&self) -> Nanos {
        self.begun.get()
    }

    fn tag_of(&self, name: &str) -> Option<String> {
        let tags = self.tags.borrow();
        tags.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn tag(&self, tag: SystemTag, name: &str, value: &str) {
        if self.observer.system_tags().has(tag) {
            self.tags.borrow_mut().push((name.to_owned(), value.to_owned()));
        }
    }

    /// Adds what the handshake says.
    pub fn note_handshake(&self, reply: Option<&HandshakeReply>, peer: Option<Peer>) {
        if let Some(peer) = peer {
            self.tag(SystemTag::Ip, "ip", &peer.address.ip().to_string());
        }
        if let Some(reply) = reply {
            self.tag(SystemTag::Status, "status", &reply.status.to_string());
            let protocol = reply.get("sec-websocket-protocol").unwrap_or_default();
            self.tag(SystemTag::Subproto, "subproto", protocol);
        }
    }

    /// A sample of one of k6's metrics.
    pub fn sample(&self, metric: BuiltIn, value: f64, at: Nanos) {
        let tags = self.tags.borrow();
        self.observer.sample(metric.id().0 as u32, value, &self.context(&tags, at));
    }

    /// The time that a socket took, opening included, that is over at `at`.
    pub fn note_duration(&self, at: Nanos) {
        self.sample(BuiltIn::WsSessionDuration, at.since(self.begun()).as_millis_f64(), at);
    }

    /// Bytes that were sent and received.
    pub fn note_traffic(&self, sent: u64, received: u64, at: Nanos) {
        self.observer.traffic(sent, received, &self.context(&self.origin.tags, at));
    }

    fn context<'a>(&'a self, tags: &'a [(String, String)], at: Nanos) -> Context<'a> {
        let Origins { scenario, group, metadata, .. } = &self.origin;
        Context { scenario, group, tags, metadata, at }
    }
}
