//! What the one-liner sends: a set of prepared requests. An iteration sends one of them.
//!
//! Does not decide when a request is due (see [`crate::executor`]) and does not send bytes (see
//! [`crate::http`]).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use knee_core::outcome::{Fault, Outcome};
use knee_core::plan::EndpointId;
use knee_core::unit::Nanos;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::executor::{Iteration, User};
use crate::http::client::{Client, ClientRequest, Fetched};
use crate::http::decode::{Decoder, Decoders};
use crate::http::origin::{Origin, RedirectScope};
use crate::http::prepared::PreparedRequest;
use crate::http::redirect::FollowRedirects;
use crate::http::request::{Defaults, prepare};
use crate::http::response::{ResponseHead, Sink};
use crate::http::settings::Settings;
use crate::http::transport::UserPool;
use crate::recorder::{Finish, FlightId, Recorder};
use crate::worker::{UserContext, UserId, Workload};

use self::event_watch::EventWatch;

mod event_watch;

/// One kind of request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestTemplate {
    /// Method, in upper case by convention; any token is allowed.
    pub method: String,
    /// Target; `http` or `https`, with a host. User and password in it are sent as basic
    /// authentication unless `headers` has an `authorization`.
    pub url: Url,
    /// Headers as given. By name, ignoring case, they replace those that are sent by default
    /// (`host`, `user-agent`, `accept`, `accept-encoding`, `content-length`).
    pub headers: Vec<(String, Vec<u8>)>,
    /// Body.
    pub body: RequestBody,
    /// How often it is chosen relative to the others; above zero.
    pub weight: f64,
    /// Endpoint that counts it.
    pub endpoint: EndpointId,
}

/// The body of a [`RequestTemplate`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum RequestBody {
    /// None, and no `content-length` unless the method usually has a body.
    Empty,
    /// The same every time.
    Fixed(Vec<u8>),
    /// One of these, at random; never an empty list.
    Choice(Vec<Vec<u8>>),
}

impl RequestTemplate {
    /// This request, once for each body it can have.
    fn prepare(&self, defaults: &Defaults) -> Vec<PreparedRequest> {
        let prepare = |body| prepare(&self.method, &self.url, &self.headers, body, defaults);
        match &self.body {
            RequestBody::Empty => vec![prepare(None)],
            RequestBody::Fixed(body) => vec![prepare(Some(body.as_slice()))],
            RequestBody::Choice(bodies) => bodies.iter().map(|body| prepare(Some(body.as_slice()))).collect(),
        }
    }
}

/// Requests that any number of users can send.
pub struct RequestSet {
    requests: Vec<ReadyRequest>,
    /// Running sums of the weights: each includes its own request.
    weights: Vec<f64>,
    scope: RedirectScope,
    seed: u64,
    /// Whether a user that cannot connect waits before its next request. False in open plans:
    /// arrivals are due at their time whatever happened before.
    backs_off: bool,
}

struct ReadyRequest {
    template: RequestTemplate,
    origin: Arc<Origin>,
    /// One for each body it can have.
    prepared: Vec<PreparedRequest>,
}

impl RequestSet {
    /// Prepares `templates`. `seed` decides which user sends which request and body. With
    /// `backs_off`, for closed plans, a user that cannot connect waits a little longer each time,
    /// 100 ms at most. Redirects are followed to the hosts and ports of the templates, and to the usual
    /// ports of the hosts in `also`.
    /// `None` if there is no template, or one with a URL that is not http or https.
    pub fn prepare(
        templates: Vec<RequestTemplate>,
        defaults: &Defaults,
        seed: u64,
        backs_off: bool,
        also: &[String],
    ) -> Option<Self> {
        let mut sum = 0.0;
        let mut weights = Vec::with_capacity(templates.len());
        let mut requests = Vec::with_capacity(templates.len());
        let mut scope = RedirectScope::new(also);
        for template in templates {
            sum += template.weight;
            weights.push(sum);
            let origin = Origin::of(&template.url)?;
            scope.add(&origin);
            let origin = Arc::new(defaults.route(origin));
            let prepared = template.prepare(defaults);
            requests.push(ReadyRequest { template, origin, prepared });
        }
        (!requests.is_empty()).then_some(Self { requests, weights, scope, seed, backs_off })
    }

    /// Origins of all requests.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.requests.iter().map(|request| &*request.origin)
    }

    fn choose(&self, random: &mut SmallRng) -> &ReadyRequest {
        let Some(sum) = self.weights.last().filter(|_| self.requests.len() > 1) else {
            return &self.requests[0]; // `prepare` refuses to make an empty set
        };
        let point = random.random::<f64>() * sum;
        let place = self.weights.partition_point(|weight| *weight <= point);
        &self.requests[place.min(self.requests.len() - 1)]
    }
}

impl Workload for RequestSet {
    type User = HttpUser;
    type Prepared = ();

    fn prepare(self: &Arc<Self>, _vus: &[u32]) {}

    fn user(self: &Arc<Self>, context: &UserContext, (): &(), id: UserId) -> HttpUser {
        HttpUser::new(self.clone(), context.sharing.pool(&context.network), context.recorder.clone(), id)
    }
}

/// A user that sends one request per iteration.
pub struct HttpUser {
    set: Arc<RequestSet>,
    client: Client,
    recorder: Rc<RefCell<Recorder>>,
    random: SmallRng,
    /// Consecutive failures to connect.
    failures: u32,
}

impl User for HttpUser {
    async fn iterate(&mut self, iteration: Iteration) -> Nanos {
        // Field by field: a clone of the set would be counted in memory that all workers share.
        let Self { set, client, recorder, random, .. } = self;
        let ready = set.choose(random);
        let body = match ready.prepared.len() {
            1 => 0,
            several => random.random_range(0..several),
        };
        let endpoint = ready.template.endpoint;
        let flight = recorder.borrow_mut().begin(endpoint, iteration.due, iteration.earliest);
        let request = ClientRequest {
            origin: &ready.origin,
            request: &ready.prepared[body],
            follow: Some(ready.follow(body, &set.scope)),
        };
        let mut sink = Verifier::new(client.settings(), client.decoders().clone());
        if let Some(events) = &client.settings().events {
            sink.events = Some(EventWatch::new(recorder.clone(), flight, events.clone()));
        }
        let mut fetched = client.fetch(request, &mut sink, |at| recorder.borrow_mut().sent(flight, at)).await;
        if sink.events.is_some() && matches!(fetched.result, Ok(300..=399)) {
            // What was not followed is no stream either.
            fetched.result = Err(Fault::NoEvents.into());
        }
        self.record(flight, &fetched, &sink);
        // A time limit is noticed a little after it has passed. Until then the user was not free.
        let free = if fetched.outcome() == Outcome::Timeout { self.client.now() } else { fetched.done };
        if fetched.failed_to_connect() {
            return self.back_off(free).await;
        }
        self.failures = 0;
        free
    }

    fn give_up(&mut self, due: Nanos, at: Nanos) {
        let endpoint = self.set.choose(&mut self.random).template.endpoint;
        self.recorder.borrow_mut().unsent(endpoint, due, at);
    }
}

impl HttpUser {
    /// The user with this number, on the connections of `pool`.
    pub fn new(
        set: Arc<RequestSet>,
        pool: Rc<UserPool>,
        recorder: Rc<RefCell<Recorder>>,
        id: UserId,
    ) -> Self {
        let number = (id.scenario as u64) << 32 | u64::from(id.vu.unwrap_or(u32::MAX));
        let random = SmallRng::seed_from_u64(set.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Self { set, client: Client::new(pool), recorder, random, failures: 0 }
    }

    fn record(&self, flight: FlightId, fetched: &Fetched, sink: &Verifier) {
        let fault = fetched.result.as_ref().err();
        let finish = Finish {
            outcome: fetched.outcome(),
            done: fetched.done,
            status: fetched.result.as_ref().ok().copied(),
            fault: fault.map(|failure| (failure.fault, failure.message.as_deref())),
            marks: fetched.marks,
            counts: fetched.counts,
            // Streams of events differ from each other, and that says nothing.
            body: (fetched.result.is_ok() && sink.events.is_none()).then(|| sink.body()),
        };
        self.recorder.borrow_mut().finish(flight, &finish);
    }

    /// After a failure to connect: lets other tasks run and, in a closed plan, waits 1 ms, then
    /// twice as long each time up to 100 ms. Otherwise a server that refuses connections would be
    /// hit as fast as the kernel reports the refusals. Returns when the user is free again; it was at `free` without
    /// the wait.
    async fn back_off(&mut self, free: Nanos) -> Nanos {
        tokio::task::yield_now().await;
        if !self.set.backs_off {
            return free;
        }
        let span = Nanos::from_millis(1 << self.failures.min(6)).min(Nanos::from_millis(100));
        self.failures += 1;
        self.client.pause(span).await
    }
}

impl ReadyRequest {
    /// What following a redirect needs; `body` is the index of the body that was sent.
    fn follow<'a>(&'a self, body: usize, scope: &'a RedirectScope) -> FollowRedirects<'a> {
        let body = match &self.template.body {
            RequestBody::Empty => None,
            RequestBody::Fixed(body) => Some(body.as_slice()),
            RequestBody::Choice(bodies) => bodies.get(body).map(Vec::as_slice),
        };
        let RequestTemplate { method, url, headers, .. } = &self.template;
        FollowRedirects { method, url, headers, body, scope }
    }
}

/// Checks a response without knowing its expected content: the body must decode, a checksum distinguishes it from other
/// bodies, and where the plan says so it must be a stream of events.
struct Verifier {
    checksum: crc32fast::Hasher,
    length: u64,
    decode: bool,
    decoded_max: u64,
    decoders: Rc<Decoders>,
    decoder: Option<Decoder>,
    events: Option<EventWatch>,
}

impl Verifier {
    fn new(settings: &Settings, decoders: Rc<Decoders>) -> Self {
        Self {
            checksum: crc32fast::Hasher::new(),
            length: 0,
            decode: settings.decode,
            decoded_max: settings.decoded_max,
            decoders,
            decoder: None,
            events: None,
        }
    }

    fn body(&self) -> (u32, u64) {
        (self.checksum.clone().finalize(), self.length)
    }
}

impl Sink for Verifier {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        // The response of a redirect might have been read before.
        (self.checksum, self.length, self.decoder) = (crc32fast::Hasher::new(), 0, None);
        if self.decode {
            let encoding = head.fields.get("content-encoding");
            self.decoder = encoding.and_then(|value| self.decoders.decoder(value, self.decoded_max));
        }
        self.events.as_mut().map_or(Ok(()), |events| events.head(head))
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.checksum.update(bytes);
        self.length += bytes.len() as u64;
        if let Some(events) = &mut self.events {
            events.body(bytes);
        }
        self.decoder.as_mut().map_or(Ok(()), |decoder| decoder.feed(bytes))
    }

    fn end(&mut self) -> Result<(), Fault> {
        // Responses to HEAD, and 304, name an encoding and have no body.
        self.decoder.take().filter(|_| self.length > 0).map_or(Ok(()), Decoder::finish)?;
        self.events.as_mut().map_or(Ok(()), EventWatch::end)
    }

    fn read_at(&mut self, at: Nanos) {
        if let Some(events) = &mut self.events {
            events.read_at(at);
        }
    }

    fn poll_wants(&mut self, _ctx: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(!self.events.as_ref().is_some_and(EventWatch::is_over))
    }
}
