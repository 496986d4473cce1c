//! Sends a script's request: cookies, authentication and redirects as k6 does them, each hop a
//! request of its own in the record.
//!
//! Does not know the VU; a VU calls it and waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Outcome;
use knee_core::unit::Nanos;
use knee_engine::endpoints::Endpoints;
use knee_engine::http::client::{Client, ClientRequest, Network};
use knee_engine::http::decode::output::BodyBuffer;
use knee_engine::recorder::{Counts, Finish, Recorder};
use knee_engine::timer::{Timer as _, WorkerTimer};

use super::answer::{Answer, Timings};
use super::auth::{Credentials, Scheme};
use super::collect::Collected;
use super::compose::{prepare, seconds_now};
use super::cookie;
use super::handshake::{Handshake, Step};
use super::hop::Hop;
use super::pace::Pace;
use super::request::{Request, Target, Unsendable};
use crate::flight::{Late, OpenFlight};
use crate::observe::{Context, Exchange, Observer};
use crate::secrets::Secrets;

/// Sends requests of all VUs of one worker.
pub struct RequestSender {
    /// The connections of the worker.
    pub network: Rc<Network>,
    /// Request accounting.
    pub recorder: Rc<RefCell<Recorder>>,
    /// Endpoints met on the way.
    pub endpoints: Endpoints,
    /// For waiting.
    pub timer: WorkerTimer,
    /// k6's view of the run.
    pub observer: Rc<dyn Observer>,
    /// Value of `User-Agent`.
    pub user_agent: Rc<str>,
    /// Limit of requests per second: the option `rps`, which counts requests of `k6/http` alone.
    pub pace: Option<Arc<Pace>>,
    /// The ceiling of an agent, which counts everything that is opened, called or sent.
    pub ceiling: Option<Arc<Pace>>,
    /// What endpoints must not show.
    pub secrets: Arc<Secrets>,
}

/// The time that one request can take.
struct Window {
    begun: Nanos,
    limit: Nanos,
    /// When the iteration is ended, whatever the request has left.
    cut: Nanos,
}

impl RequestSender {
    /// Sends `request` with `client` and follows redirects; the response of the last hop. Gives up at `cut` even if
    /// the request's time limit is later.
    pub async fn send(
        &self,
        client: &mut Client,
        request: &Rc<Request>,
        late: Late,
        cut: Nanos,
    ) -> Box<Answer> {
        let mut begun = self.network.clock.now();
        let limit = begun.saturating_add(request.timeout).min(cut);
        let mut hop = Hop::first(request, first_target(request));
        let mut handshake = Handshake::of(request, &hop);
        let mut late = late;
        let mut left = request.redirects;
        loop {
            hop.is_reticent |= handshake.is_some();
            // On the heap: each future around this one would otherwise be several kilobytes larger, and be copied as a
            // whole when it begins. That took longer than the allocation.
            let sent = Box::pin(self.hop(client, request, &hop, late, Window { begun, limit, cut }));
            let (answer, next) = sent.await;
            let step = match (challenge(request, &hop, &answer), handshake.take()) {
                (Some(authorization), _) => Err(authorization),
                (None, None) => Ok(answer),
                (None, Some(begun)) => match begun.after(answer) {
                    Step::Again(going, authorization) => {
                        handshake = Some(going);
                        Err(authorization)
                    }
                    Step::Done(answer) => Ok(answer),
                },
            };
            match (step, next) {
                (Err(authorization), _) => hop.authorization = Some(authorization),
                (Ok(_), Some(next)) if left > 0 => {
                    left -= 1;
                    hop = next;
                    handshake = Handshake::of(request, &hop);
                }
                (Ok(answer), _) => return answer,
            }
            begun = self.network.clock.now();
            late = Late::default();
        }
    }

    /// Waits until the ceiling of an agent lets a request, a call, a command or a message out, or a stream or socket begin,
    /// at most until `limit`. Says whether that took time.
    pub async fn hold_to_ceiling(&self, limit: Nanos) -> bool {
        self.hold_back(self.ceiling.as_deref(), limit).await
    }

    async fn hold_back(&self, pace: Option<&Pace>, limit: Nanos) -> bool {
        let Some(pace) = pace else { return false };
        let now = self.network.clock.now();
        let slot = pace.take(now, limit).min(limit);
        if slot <= now {
            return false;
        }
        self.timer.sleep_until(slot).await;
        true
    }

    /// One request and its response, in the record; and where the response redirects to.
    async fn hop(
        &self,
        client: &mut Client,
        request: &Rc<Request>,
        hop: &Hop,
        late: Late,
        Window { mut begun, limit, cut }: Window,
    ) -> (Box<Answer>, Option<Hop>) {
        if self.hold_back(self.pace.as_deref(), limit).await | self.hold_to_ceiling(limit).await {
            begun = self.network.clock.now();
        }
        let origin = match &hop.target.origin {
            Ok(origin) => origin,
            Err(why) => return (self.not_sent(request, hop, why), None),
        };
        let prepared = prepare(request, hop, &self.user_agent);
        let endpoint = self.endpoint(request, hop);
        let flight = OpenFlight::begin(&self.recorder, self.network.clock, endpoint, late, begun);
        let errand = ClientRequest { origin, request: &prepared, follow: None };
        let mut sink = Collected::new(request, self.network.memory());
        client.set_request_limit(Some(limit));
        let fetched = client.fetch(errand, &mut sink, |at| flight.sent(at)).await;
        let mut answer = sink.into_answer(request, hop, &fetched, begun, self.network.decoders());
        let next = hop.next(&request.target.url, &answer).unwrap_or_else(|words| {
            answer.fail(words);
            None
        });
        let expected = match answer.status {
            0 => Some(false),
            // Digest authentication begins with a challenge.
            401 if challenge(request, hop, &answer).is_some() => Some(true),
            // NTLM does too. As in k6, the first request of all can be refused, and no other one.
            401 if request.is_ntlm && hop.is_first && hop.authorization.is_none() => {
                request.expected.holds(401).map(|_| true)
            }
            status => request.expected.holds(status),
        };
        let outcome = match (fetched.outcome(), expected) {
            (Outcome::Ok | Outcome::HttpError, Some(true) | None) => Outcome::Ok,
            (Outcome::Ok, Some(false)) => Outcome::HttpError,
            (outcome, _) => outcome,
        };
        // The plan ended it, not the server and not its own limit: k6 drops such samples.
        let ended = fetched.outcome() == Outcome::Timeout && fetched.done >= cut;
        let outcome = if ended { Outcome::Censored } else { outcome };
        let fault = fetched.result.as_ref().err().filter(|_| !ended);
        flight.finish(&Finish {
            outcome,
            done: fetched.done,
            status: fetched.result.as_ref().ok().copied(),
            fault: fault.map(|failure| (failure.fault, failure.message.as_deref())),
            marks: fetched.marks,
            counts: fetched.counts,
            // Scripts ask for many bodies by one name; that they differ says nothing.
            body: None,
        });
        if !ended {
            let Counts { bytes_sent, bytes_received, .. } = fetched.counts;
            self.observe(hop, &answer, expected, fetched.done, (bytes_sent, bytes_received));
            Self::keep_cookies(request, hop, &answer);
        }
        (answer, next)
    }

    /// A request that cannot be sent: k6 counts it, the record does not.
    fn not_sent(&self, request: &Rc<Request>, hop: &Hop, why: &Unsendable) -> Box<Answer> {
        let body = BodyBuffer::new(self.network.memory().clone(), 0);
        let mut answer = Answer::new(request, &hop.target, Timings::default(), body);
        answer.error = Some((why.words.clone(), why.code));
        self.observe(hop, &answer, request.expected.holds(0), self.network.clock.now(), (0, 0));
        answer
    }

    /// Reports a request that has ended to k6's view; `bytes` are sent and received ones.
    fn observe(&self, hop: &Hop, answer: &Answer, expected: Option<bool>, at: Nanos, bytes: (u64, u64)) {
        let request = &answer.request;
        let (bytes_sent, bytes_received) = bytes;
        let exchange =
            Exchange { request, answer, method: &hop.method, expected, at, bytes_sent, bytes_received };
        let origin = &request.origin;
        let context = Context {
            scenario: &origin.scenario,
            group: &origin.group,
            tags: &origin.tags,
            metadata: &origin.metadata,
            at,
        };
        self.observer.request(&exchange, &context);
    }

    /// Where a request is counted.
    pub(crate) fn endpoint(&self, request: &Request, hop: &Hop) -> knee_core::plan::EndpointId {
        if let Some(name) = &request.name {
            return self.endpoints.id(&self.secrets.masked(name));
        }
        let is_get = &*hop.method == "GET";
        if let Some(id) = hop.target.get_endpoint.get().filter(|_| is_get) {
            return id;
        }
        let id = self.endpoints.id(&self.secrets.masked(&format!("{} {}", hop.method, hop.target.shown)));
        if is_get {
            hop.target.get_endpoint.set(Some(id));
        }
        id
    }

    /// Keeps the cookies of a response in the jar of its request.
    pub(crate) fn keep_cookies(request: &Request, hop: &Hop, answer: &Answer) {
        let Some(jar) = &request.jar else { return };
        let url = &hop.target.url;
        for (name, value) in answer.headers.iter() {
            if name.len() == 10 && name.eq_ignore_ascii_case(b"set-cookie") {
                let now = seconds_now();
                if let Some(cookie) = cookie::parse(&String::from_utf8_lossy(value), url, now) {
                    jar.borrow_mut().put(cookie, url, now);
                }
            }
        }
    }
}

/// Where the first request goes. Digest authentication takes its credentials out of the URL.
fn first_target(request: &Request) -> Rc<Target> {
    let target = &request.target;
    match &request.credentials {
        Some(Credentials { scheme: Scheme::Digest, .. }) => {
            Rc::new(Target::new(target.url.without_user(), &target.written, target.proxies.as_ref()))
        }
        _ => target.clone(),
    }
}

/// The reply to a digest challenge, unless it was answered before.
fn challenge(request: &Request, hop: &Hop, answer: &Answer) -> Option<String> {
    let credentials = request.credentials.as_ref().filter(|one| one.scheme == Scheme::Digest)?;
    if answer.status != 401 || hop.authorization.is_some() {
        return None;
    }
    let header = String::from_utf8_lossy(answer.headers.get("www-authenticate")?).into_owned();
    let uri = hop.target.url.request_uri();
    let uri = String::from_utf8_lossy(&uri);
    let nonce = format!("{:016x}", rand::random::<u64>());
    credentials.digest(&header, &hop.method, &uri, &nonce)
}
