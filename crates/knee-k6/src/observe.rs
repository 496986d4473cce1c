//! Events that k6's view of a run is made of: VUs report them to one observer per worker.
//!
//! The record is kept by the engine and needs none of this. Does not compute metrics.

use std::rc::Rc;
use std::sync::Arc;

use knee_core::unit::Nanos;

use crate::http::answer::Answer;
use crate::http::request::Request;
use system_tags::SystemTags;

pub mod iterations;

pub mod metered;

pub mod streamed;

pub mod system_tags;

mod tag_key;

mod tag_lists;

pub mod tags;

pub mod view;

/// One request and its response; every hop of a redirect is one.
pub struct Exchange<'a> {
    /// The script's request, with its tags.
    pub request: &'a Request,
    /// The response: status, error, timings, URL.
    pub answer: &'a Answer,
    /// Method of this hop.
    pub method: &'a Rc<str>,
    /// Whether its status was expected; `None` if the script asked for none.
    pub expected: Option<bool>,
    /// End time, on the run's clock.
    pub at: Nanos,
    /// Bytes sent, heads included.
    pub bytes_sent: u64,
    /// Bytes received, heads included.
    pub bytes_received: u64,
}

/// Tags of samples: those of the VU and of the call, and where in the script it stands.
pub struct Context<'a> {
    /// The scenario; empty outside of scenarios.
    pub scenario: &'a str,
    /// Names of the groups, outermost first, each after `::`; empty outside of groups.
    pub group: &'a str,
    /// Name and value of every other tag.
    pub tags: &'a [(String, String)],
    /// Metadata of samples, never filtered by: numbers of VU and iteration, and what the script adds.
    pub metadata: &'a [(String, String)],
    /// When, on the run's clock.
    pub at: Nanos,
}

/// Listens to the VUs of one worker.
pub trait Observer {
    /// A request has ended. Tags of the request itself stand in `exchange`.
    fn request(&self, exchange: &Exchange<'_>, context: &Context<'_>);

    /// A check was made.
    fn check(&self, name: &str, passed: bool, context: &Context<'_>);

    /// A group has ended after `span`.
    fn group(&self, span: Nanos, context: &Context<'_>);

    /// An iteration has ended after `span`; `whole` unless it was cut off.
    fn iteration(&self, span: Nanos, whole: bool, context: &Context<'_>);

    /// So many iterations were dropped, because no VU was free for them or there was no time left.
    fn dropped(&self, count: u64, context: &Context<'_>);

    /// A script has put `value` into a metric of its own, declared under this number; or k6 has put it into one of its
    /// metrics of sockets.
    fn sample(&self, metric: u32, value: f64, context: &Context<'_>);

    /// A socket has sent and received so many bytes.
    fn traffic(&self, _sent: u64, _received: u64, _context: &Context<'_>) {}

    /// Which tags samples get by themselves.
    fn system_tags(&self) -> SystemTags {
        SystemTags::default()
    }
}

/// Makes the observer of one worker.
pub type Observers = Arc<dyn Fn() -> Rc<dyn Observer> + Send + Sync>;

/// Listens to nothing.
pub struct Nobody;

impl Observer for Nobody {
    fn request(&self, _: &Exchange<'_>, _: &Context<'_>) {}
    fn check(&self, _: &str, _: bool, _: &Context<'_>) {}
    fn group(&self, _: Nanos, _: &Context<'_>) {}
    fn iteration(&self, _: Nanos, _: bool, _: &Context<'_>) {}
    fn dropped(&self, _: u64, _: &Context<'_>) {}
    fn sample(&self, _: u32, _: f64, _: &Context<'_>) {}
}

/// Two observers that get the same events.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn request(&self, exchange: &Exchange<'_>, context: &Context<'_>) {
        self.0.request(exchange, context);
        self.1.request(exchange, context);
    }

    fn check(&self, name: &str, passed: bool, context: &Context<'_>) {
        self.0.check(name, passed, context);
        self.1.check(name, passed, context);
    }

    fn group(&self, span: Nanos, context: &Context<'_>) {
        self.0.group(span, context);
        self.1.group(span, context);
    }

    fn iteration(&self, span: Nanos, whole: bool, context: &Context<'_>) {
        self.0.iteration(span, whole, context);
        self.1.iteration(span, whole, context);
    }

    fn dropped(&self, count: u64, context: &Context<'_>) {
        self.0.dropped(count, context);
        self.1.dropped(count, context);
    }

    fn sample(&self, metric: u32, value: f64, context: &Context<'_>) {
        self.0.sample(metric, value, context);
        self.1.sample(metric, value, context);
    }

    fn traffic(&self, sent: u64, received: u64, context: &Context<'_>) {
        self.0.traffic(sent, received, context);
        self.1.traffic(sent, received, context);
    }

    fn system_tags(&self) -> SystemTags {
        self.0.system_tags()
    }
}
