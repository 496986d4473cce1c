//! Sends a script's request: cookies, authentication and redirects as k6 does them, each hop a
//! request of its own in the record.
//!
//! Does not know the VU; a VU calls it and waits.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::clock;
use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::endpoints::Endpoints;
use knee_engine::http::client::{Client, ClientRequest, Fetched, Network};
use knee_engine::http::request::Prepared;
use knee_engine::http::response::{ResponseHead, Sink};
use knee_engine::recorder::{Counts, Finish, FlightId, Recorder};
use knee_engine::timer::{Timer as _, WorkerTimer};
use rustc_hash::FxHashMap;

use super::answer::{Answer, Headers, Timings};
use super::auth::{Credentials, Scheme};
use super::cookie;
use super::decode;
use super::error_code;
use super::go_url::GoUrl;
use super::hop::Hop;
use super::pace::Pace;
use super::request::{Keep, Line, Request, Target, Unsendable, canonical, serialize};
use crate::observe::{Context, Exchange, Observer};

/// Most bytes of a decoded body; k6 has no limit and can run out of memory.
const DECODED_MAX: u64 = 1 << 30;
/// Most URLs that a worker caches; scripts that generate URLs fill it repeatedly.
const TARGETS_MAX: usize = 1_024;

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
    /// Limit of requests per second.
    pub pace: Option<Arc<Pace>>,
}

/// URLs a worker has met.
#[derive(Default)]
pub struct Targets {
    known: RefCell<FxHashMap<Box<str>, Rc<Target>>>,
}

impl Targets {
    /// The target of a URL as the script wrote it.
    pub fn find(&self, written: &str) -> Result<Rc<Target>, Unsendable> {
        if let Some(known) = self.known.borrow().get(written) {
            return Ok(known.clone());
        }
        let wrong = |error| Unsendable { words: format!("invalid URL: {error}"), code: 1020 };
        let url = GoUrl::parse(written.as_bytes()).map_err(wrong)?;
        let target = Rc::new(Target::new(url, written));
        let mut known = self.known.borrow_mut();
        if known.len() >= TARGETS_MAX {
            known.clear();
        }
        known.insert(written.into(), target.clone());
        Ok(target)
    }
}

/// Scheduled and earliest possible send time of a request.
#[derive(Clone, Copy, Debug)]
pub struct CallTimes {
    /// By the plan for the first request of an iteration, otherwise when the script asked.
    pub due: Nanos,
    /// See [`knee_engine::executor::Iteration`].
    pub earliest: Nanos,
}

/// A request in the record. If it is given up before it has ended, as when the iteration ends that began it, it ends
/// here.
struct OpenFlight<'a> {
    sender: &'a RequestSender,
    id: FlightId,
}

impl Drop for OpenFlight<'_> {
    fn drop(&mut self) {
        self.sender.recorder.borrow_mut().censor(self.id, self.sender.network.clock.now());
    }
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
        times: CallTimes,
        cut: Nanos,
    ) -> Box<Answer> {
        let mut begun = self.network.clock.now();
        let limit = begun.saturating_add(request.timeout).min(cut);
        let mut hop = Hop::first(request, first_target(request));
        let mut times = times;
        let mut left = request.redirects;
        loop {
            // On the heap: each future around this one would otherwise be several kilobytes larger, and be copied as a
            // whole when it begins. That took longer than the allocation.
            let sent = Box::pin(self.hop(client, request, &hop, times, Window { begun, limit, cut }));
            let (answer, next) = sent.await;
            if let Some(authorization) = challenge(request, &hop, &answer) {
                hop.authorization = Some(authorization);
            } else {
                match next {
                    Some(next) if left > 0 => {
                        left -= 1;
                        hop = next;
                    }
                    _ => return answer,
                }
            }
            begun = self.network.clock.now();
            times = CallTimes { due: begun, earliest: begun };
        }
    }

    /// One request and its response, in the record; and where the response redirects to.
    async fn hop(
        &self,
        client: &mut Client,
        request: &Rc<Request>,
        hop: &Hop,
        times: CallTimes,
        Window { mut begun, limit, cut }: Window,
    ) -> (Box<Answer>, Option<Hop>) {
        if let Some(pace) = &self.pace {
            let place = pace.take(begun).min(limit);
            if place > begun {
                self.timer.sleep_until(place).await;
                begun = self.network.clock.now();
            }
        }
        let origin = match &hop.target.origin {
            Ok(origin) => origin,
            Err(why) => return (self.not_sent(request, hop, why), None),
        };
        let prepared = self.prepare(request, hop);
        let endpoint = self.endpoint(request, hop);
        let id = self.recorder.borrow_mut().begin(endpoint, times.due, times.earliest);
        let flight = OpenFlight { sender: self, id };
        let errand = ClientRequest { origin, prepared: &prepared, follow: None };
        let mut sink = Collected { keep: request.keep, ..Collected::default() };
        client.set_request_limit(Some(limit));
        let fetched = client.fetch(errand, &mut sink, |at| self.recorder.borrow_mut().sent(id, at)).await;
        let mut answer = Self::answer(request, hop, &fetched, sink, begun);
        let next = hop.next(&request.target.url, &answer).unwrap_or_else(|words| {
            answer.fail(words);
            None
        });
        let expected = match answer.status {
            0 => Some(false),
            // Digest authentication begins with a challenge.
            401 if challenge(request, hop, &answer).is_some() => Some(true),
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
        self.recorder.borrow_mut().finish(
            id,
            &Finish {
                outcome,
                done: fetched.done,
                status: fetched.result.as_ref().ok().copied(),
                fault: fault.map(|failure| (failure.fault, failure.message.as_deref())),
                marks: fetched.marks,
                counts: fetched.counts,
                // Scripts ask for many bodies by one name; that they differ says nothing.
                body: None,
            },
        );
        drop(flight);
        if !ended {
            let Counts { bytes_sent, bytes_received, .. } = fetched.counts;
            self.observe(hop, &answer, expected, fetched.done, (bytes_sent, bytes_received));
            Self::keep_cookies(request, hop, &answer);
        }
        (answer, next)
    }

    /// A request that cannot be sent: k6 counts it, the record does not.
    fn not_sent(&self, request: &Rc<Request>, hop: &Hop, why: &Unsendable) -> Box<Answer> {
        let mut answer = Answer::new(request, hop, Timings::default());
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

    fn endpoint(&self, request: &Request, hop: &Hop) -> knee_core::plan::EndpointId {
        if let Some(name) = &request.name {
            return self.endpoints.id(name);
        }
        let is_get = &*hop.method == "GET";
        if let Some(id) = hop.target.get_endpoint.get().filter(|_| is_get) {
            return id;
        }
        let id = self.endpoints.id(&format!("{} {}", hop.method, hop.target.shown));
        if is_get {
            hop.target.get_endpoint.set(Some(id));
        }
        id
    }

    fn prepare(&self, request: &Request, hop: &Hop) -> Rc<Prepared> {
        let cookies = Self::cookies(request, hop);
        let plain = hop.is_first && cookies.is_none() && request.is_plain_get();
        if plain && hop.target.url.user().is_none() {
            let build = || Rc::new(serialize("GET", &hop.target.url, &[], &[], None, &self.user_agent));
            return hop.target.plain_get.get_or_init(build).clone();
        }
        let body = hop.body(request);
        let authorization = hop.authorization.clone().or_else(|| first_authorization(request, hop));
        let mut extra: Vec<Line<'_>> = Vec::new();
        if let Some(cookies) = &cookies {
            extra.push(("Cookie", cookies.as_bytes()));
        }
        if let Some(authorization) = &authorization {
            extra.push(("Authorization", authorization.as_bytes()));
        }
        let own_referer = request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("referer"));
        if let Some(referer) = hop.referer.as_ref().filter(|_| !own_referer) {
            extra.push(("Referer", referer.as_bytes()));
        }
        let encodings: Vec<&str> = request.compression.iter().map(|coding| coding.name()).collect();
        let encodings = encodings.join(", ");
        if !encodings.is_empty() && body.is_some() {
            extra.push(("Content-Encoding", encodings.as_bytes()));
        }
        let mut headers: Vec<_> =
            request.headers.iter().filter(|(name, _)| hop.takes(name)).cloned().collect();
        // A header that was written by hand is joined by what the jar has.
        let by_hand = headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        if let (Some((_, own)), Some(cookies)) = (by_hand, &cookies) {
            own.extend_from_slice(b"; ");
            own.extend_from_slice(cookies.as_bytes());
        }
        Rc::new(serialize(&hop.method, &hop.target.url, &headers, &extra, body, &self.user_agent))
    }

    /// The value of `Cookie`: the request's own, and what the jar has.
    fn cookies(request: &Request, hop: &Hop) -> Option<String> {
        let jar = request.jar.as_ref().filter(|jar| !jar.borrow().is_empty());
        if jar.is_none() && request.cookies.is_empty() {
            return None;
        }
        let own = &request.cookies;
        let mut pairs: Vec<(String, String)> =
            own.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect();
        if let Some(jar) = jar {
            let jar = jar.borrow();
            let found = jar.of(&hop.target.url, seconds_now()).into_iter();
            let replaced = |name: &str| own.iter().any(|(known, _, replace)| *replace && known == name);
            let found = found.filter(|cookie| !replaced(&cookie.name));
            pairs.extend(found.map(|cookie| (cookie.name.clone(), cookie.value.clone())));
        }
        let quoted = |value: &str| value.contains([' ', ',']);
        let shown: Vec<String> = pairs
            .iter()
            .map(
                |(name, value)| {
                    if quoted(value) { format!("{name}=\"{value}\"") } else { format!("{name}={value}") }
                },
            )
            .collect();
        (!shown.is_empty()).then(|| shown.join("; "))
    }

    fn keep_cookies(request: &Request, hop: &Hop, answer: &Answer) {
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

    fn answer(
        request: &Rc<Request>,
        hop: &Hop,
        fetched: &Fetched,
        sink: Collected,
        begun: Nanos,
    ) -> Box<Answer> {
        let mut answer = Answer::new(request, hop, Timings::of(&fetched.marks, begun, fetched.done));
        answer.peer = fetched.peer.filter(|_| fetched.result.is_ok());
        match &fetched.result {
            Ok(status) => {
                answer.status = *status;
                answer.reason = sink.reason;
                let encoding = sink.headers.get("content-encoding").map(<[u8]>::to_vec);
                answer.headers = sink.headers;
                answer.body = sink.body;
                if let Some(encoding) = encoding {
                    answer.decode(&String::from_utf8_lossy(&encoding));
                }
            }
            Err(failure) => {
                answer.take_start(sink);
                let (words, code) = error_code::of_failure(failure);
                answer.error = Some((words, code));
                answer.detail =
                    hop.target.origin.as_ref().ok().and_then(|origin| error_code::detail_of(failure, origin));
            }
        }
        answer
    }
}

impl Answer {
    fn new(request: &Rc<Request>, hop: &Hop, timings: Timings) -> Box<Self> {
        Box::new(Self {
            request: request.clone(),
            target: hop.target.clone(),
            status: 0,
            reason: String::new(),
            headers: Headers::default(),
            body: Vec::new(),
            is_cut: false,
            keep: request.keep,
            error: None,
            timings,
            peer: None,
            detail: None,
        })
    }

    /// Makes it a failure although a response came.
    fn fail(&mut self, words: String) {
        self.status = 0;
        self.headers.clear();
        self.body.clear();
        self.peer = None;
        self.error = Some((words, 1000));
    }

    /// Takes over the start of a body of which the rest did not come.
    fn take_start(&mut self, sink: Collected) {
        self.is_cut = sink.has_head;
        self.body = match sink.headers.get("content-encoding") {
            Some(encoding) => {
                decode::decode_start(&String::from_utf8_lossy(encoding), sink.body, DECODED_MAX)
            }
            None => sink.body,
        };
    }

    fn decode(&mut self, encoding: &str) {
        match decode::decode_all(encoding, std::mem::take(&mut self.body), DECODED_MAX) {
            Ok(body) => self.body = body,
            Err(error) => {
                self.status = 0;
                self.error = Some((format!("error decompressing response body ({error})"), 1701));
            }
        }
    }
}

/// Seconds since the Unix epoch, which is what cookies count in.
pub fn seconds_now() -> i64 {
    i64::try_from(clock::wall().as_nanos() / 1_000_000_000).unwrap_or(i64::MAX)
}

/// Where the first request goes. Digest authentication takes its credentials out of the URL.
fn first_target(request: &Request) -> Rc<Target> {
    let target = &request.target;
    match &request.credentials {
        Some(Credentials { scheme: Scheme::Digest, .. }) => {
            Rc::new(Target::new(target.url.without_user(), &target.written))
        }
        _ => target.clone(),
    }
}

/// Basic credentials go along unasked: those of the URL, and those for a digest with the first request.
fn first_authorization(request: &Request, hop: &Hop) -> Option<String> {
    let of_url = || Credentials::of_url(&hop.target.url, Scheme::Basic);
    let given = request.credentials.clone().filter(|_| hop.is_first);
    given.or_else(of_url).map(|credentials| credentials.basic())
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

/// Collects a response.
#[derive(Default)]
struct Collected {
    keep: Keep,
    has_head: bool,
    reason: String,
    headers: Headers,
    body: Vec<u8>,
}

impl Sink for Collected {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        self.reason.clear();
        self.reason.push_str(head.reason);
        self.headers.clear();
        let bytes = head.headers.iter().map(|line| line.name.len() + line.value.len()).sum();
        self.headers.reserve(head.headers.len(), bytes);
        let is_chunked = head.headers.iter().any(|line| is_coding(line.name));
        let lines = head.headers.iter().filter(|line| !is_framing(line.name, line.value, is_chunked));
        lines.for_each(|line| self.headers.push(line.name.as_bytes(), line.value));
        self.body.clear();
        self.has_head = true;
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if self.keep != Keep::Nothing {
            self.body.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// Whether a header says that a body comes in chunks.
fn is_coding(name: &str) -> bool {
    name.len() == 17 && name.eq_ignore_ascii_case("transfer-encoding")
}

/// Whether Go's client keeps a header to itself.
fn is_framing(name: &str, value: &[u8], is_chunked: bool) -> bool {
    match name.len() {
        7 => is_chunked && name.eq_ignore_ascii_case("trailer"),
        10 => name.eq_ignore_ascii_case("connection") && has_close(value),
        14 => is_chunked && name.eq_ignore_ascii_case("content-length"),
        _ => is_coding(name),
    }
}

/// Whether a list of tokens has `close`.
fn has_close(value: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|token| token.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// A header name of a response as scripts see it.
pub fn shown_name(name: &[u8]) -> String {
    canonical(&String::from_utf8_lossy(name))
}
