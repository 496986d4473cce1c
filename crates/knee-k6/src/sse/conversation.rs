//! The task of one stream of events: its request, redirects, and then what arrives, until it ends or is closed.
//!
//! Calls no handlers: the VU takes the events when its script has time for them.

use std::rc::Rc;
use std::task::{Context, Poll};

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::http::client::{Client, ClientRequest, Fetched};
use knee_engine::http::decode::Decoder;
use knee_engine::http::decode::output::Output;
use knee_engine::http::events::{self, EventForm};
use knee_engine::http::peer::Peer;
use knee_engine::http::response::{ResponseHead, Sink};
use knee_engine::http::transport::UserPool;
use knee_engine::recorder::Finish;

use super::event::StreamNews;
use super::reader::{EventReader, Found};
use super::stream::{EVENT_BYTES, EventStream};
use crate::errand::Errand;
use crate::flight::{Late, OpenFlight};
use crate::go_quote::quoted;
use crate::go_text;
use crate::http::answer::Answer;
use crate::http::collect::Collected;
use crate::http::compose::prepare;
use crate::http::error_code;
use crate::http::hop::Hop;
use crate::http::proxy_error;
use crate::http::request::Request;
use crate::http::send::RequestSender;

/// Sends the request of `stream` and passes on what arrives. As in xk6-sse, it has a connection of its own, which speaks
/// HTTP/1.1. `decodes` says whether Go's client would decode the response: if it was not the script that asked for it.
pub async fn converse(errand: Errand, request: Rc<Request>, decodes: bool, stream: Rc<EventStream>) {
    let Errand { sender, late, cut } = errand;
    let limit = stream.session().begun().saturating_add(request.timeout).min(cut);
    sender.hold_to_ceiling(limit).await;
    let mut client = Client::new(Rc::new(UserPool::of_http1(sender.network.clone())));
    client.set_request_limit(Some(limit));
    let mut hop = Hop::first(&request, request.target.clone());
    let (mut left, mut late) = (request.redirects, late.take());
    loop {
        let follows = left > 0;
        let sent = Box::pin(send(
            &sender,
            &mut client,
            &request,
            &hop,
            &stream,
            Leg { late, follows, decodes, cut },
        ));
        match sent.await {
            Ok(None) => break,
            Ok(Some(next)) => hop = next,
            Err(words) => {
                stream.push(StreamNews::Refused(words));
                return;
            }
        }
        (left, late) = (left - 1, Late::default());
    }
    stream.push(StreamNews::Ended);
}

/// Go's words for what went wrong with `request` at `url`.
fn failed(request: &Request, url: &[u8], words: &str) -> String {
    let mut letters = request.method.chars();
    let first = letters.next();
    let rest = letters.as_str().to_ascii_lowercase();
    let method: String = first.into_iter().chain(rest.chars()).collect();
    format!("{method} {}: {words}", quoted(url))
}

/// How one request of a chain of redirects is sent.
#[derive(Clone, Copy)]
struct Leg {
    late: Late,
    /// Whether a redirect is followed.
    follows: bool,
    /// Whether a response is decoded.
    decodes: bool,
    /// When the iteration is ended.
    cut: Nanos,
}

/// One request, in the record. Returns where it redirects to; or Go's words for why there was no response.
async fn send(
    sender: &RequestSender,
    client: &mut Client,
    request: &Rc<Request>,
    hop: &Hop,
    stream: &Rc<EventStream>,
    leg: Leg,
) -> Result<Option<Hop>, String> {
    let begun = sender.network.clock.now();
    let origin = match &hop.target.origin {
        Ok(origin) => origin,
        Err(why) => {
            stream.session().note_opened(None, None, begun);
            return Err(failed(request, hop.target.shown.as_bytes(), &why.words));
        }
    };
    let prepared = prepare(request, hop, &sender.user_agent);
    let endpoint = sender.endpoint(request, hop);
    let flight = OpenFlight::begin(&sender.recorder, sender.network.clock, endpoint, leg.late, begun);
    flight.expect_events();
    let mut sink = StreamSink::new(sender, request, stream, &flight, leg);
    let errand = ClientRequest { origin, request: &prepared, follow: None };
    let fetched = client.fetch(errand, &mut sink, |at| flight.sent(at)).await;
    let Seen { is_open, refused_redirect, collected } = sink.seen();
    let answer = collected.into_answer(request, hop, &fetched, begun, sender.network.decoders());
    let is_cut = fetched.outcome() == Outcome::Timeout && fetched.done >= leg.cut;
    finish(flight, &fetched, request, is_cut);
    if is_cut {
        stream.session().cut();
    }
    stream.session().note_traffic(fetched.counts.bytes_sent, fetched.counts.bytes_received, fetched.done);
    RequestSender::keep_cookies(request, hop, &answer);
    if let Some(location) = refused_redirect {
        stream.session().note_opened(None, fetched.peer, fetched.done);
        let words = format!("stopped after {} redirects", REDIRECTS_MAX + 1);
        return Err(failed(request, &location, &words));
    }
    after(hop, request, stream, &fetched, &answer, is_open)
}

/// What comes after a request that has ended.
fn after(
    hop: &Hop,
    request: &Request,
    stream: &EventStream,
    fetched: &Fetched,
    answer: &Answer,
    is_open: bool,
) -> Result<Option<Hop>, String> {
    match &fetched.result {
        Ok(_) if is_open => Ok(None),
        Ok(_) => {
            let url = hop.target.shown.as_bytes();
            hop.next(&request.target.url, answer).map_err(|words| failed(request, url, &words))
        }
        Err(failure) => {
            let detail = answer.detail.clone();
            let words = match failure.fault {
                Fault::RequestTimeout if is_open => READING_TOO_LONG.to_owned(),
                Fault::RequestTimeout => WAITING_TOO_LONG.to_owned(),
                _ if failure.proxy.is_some() => proxy_error::of_failure(failure).0,
                _ => detail.unwrap_or_else(|| error_code::of_failure(failure).0),
            };
            if is_open {
                stream.push(StreamNews::Wrong(words, stream.account().empty()));
                return Ok(None);
            }
            stream.session().note_opened(None, fetched.peer, fetched.done);
            Err(failed(request, hop.target.shown.as_bytes(), &words))
        }
    }
}

/// How many redirects Go's client follows: it stops at the tenth.
pub const REDIRECTS_MAX: u32 = 9;
/// Go's words for a time limit that is over before the response's head.
const WAITING_TOO_LONG: &str = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
/// The same after it.
const READING_TOO_LONG: &str =
    "context deadline exceeded (Client.Timeout or context cancellation while reading body)";

fn finish(flight: OpenFlight<'_>, fetched: &Fetched, request: &Request, is_cut: bool) {
    let status = fetched.result.as_ref().ok().copied();
    let outcome = match fetched.outcome() {
        _ if is_cut => Outcome::Censored,
        Outcome::Ok | Outcome::HttpError
            if status.and_then(|status| request.expected.holds(status)) == Some(false) =>
        {
            Outcome::HttpError
        }
        Outcome::HttpError => Outcome::Ok,
        outcome => outcome,
    };
    let fault = fetched.result.as_ref().err().filter(|_| !is_cut);
    flight.finish(&Finish {
        outcome,
        done: fetched.done,
        status,
        fault: fault.map(|failure| (failure.fault, failure.message.as_deref())),
        marks: fetched.marks,
        counts: fetched.counts,
        body: None,
    });
}

/// Reads a response and passes its events on.
struct StreamSink<'a> {
    sender: &'a RequestSender,
    stream: &'a EventStream,
    /// The head.
    collected: Collected,
    follows: bool,
    decodes: bool,
    /// Where a redirect leads that is not followed.
    refused_redirect: Option<Vec<u8>>,
    /// Whether the response is the one that the script sees.
    is_open: bool,
    body: Body<'a>,
    peer: Option<Peer>,
}

/// What was seen of a response, apart from its events.
struct Seen {
    collected: Collected,
    refused_redirect: Option<Vec<u8>>,
    is_open: bool,
}

/// How a body becomes events.
enum Body<'a> {
    Plain(Box<Parser<'a>>),
    Coded(Box<Decoder<Parser<'a>>>),
    /// Nothing more is read.
    Over,
}

impl<'a> Body<'a> {
    fn parser(&mut self) -> Option<&mut Parser<'a>> {
        match self {
            Self::Plain(parser) => Some(parser),
            Self::Coded(decoder) => Some(decoder.output()),
            Self::Over => None,
        }
    }
}

impl<'a> StreamSink<'a> {
    fn new(
        sender: &'a RequestSender,
        request: &Request,
        stream: &'a EventStream,
        flight: &'a OpenFlight<'a>,
        Leg { follows, decodes, .. }: Leg,
    ) -> Self {
        let standard = events::EventReader::new(EventForm::ServerSent, None);
        let reader = EventReader::default();
        let parser = Parser { reader, standard, stream, flight, now: Nanos::ZERO };
        Self {
            sender,
            stream,
            collected: Collected::new(request, sender.network.memory()),
            follows,
            decodes,
            refused_redirect: None,
            is_open: false,
            body: Body::Plain(Box::new(parser)),
            peer: None,
        }
    }

    /// What was seen.
    fn seen(self) -> Seen {
        let Self { collected, refused_redirect, is_open, .. } = self;
        Seen { collected, refused_redirect, is_open }
    }

    /// Decodes the body from now on, if the head names a coding that Go's client decodes.
    fn decode(&mut self, head: &ResponseHead<'_>) {
        let coding = head.fields.get("content-encoding").filter(|_| self.decodes);
        let Some(coding) = coding.filter(|value| value.eq_ignore_ascii_case(b"gzip")) else { return };
        let decoders = self.sender.network.decoders();
        self.body = match std::mem::replace(&mut self.body, Body::Over) {
            Body::Plain(parser) => match decoders.decoder_into(coding, *parser) {
                Some(decoder) => Body::Coded(Box::new(decoder)),
                None => Body::Over,
            },
            other => other,
        };
    }
}

/// Makes events of bytes.
struct Parser<'a> {
    reader: EventReader,
    /// What the record counts.
    standard: events::EventReader,
    stream: &'a EventStream,
    flight: &'a OpenFlight<'a>,
    /// When what is read now has arrived.
    now: Nanos,
}

impl Output for Parser<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Self { reader, standard, stream, flight, now } = self;
        standard.feed(bytes, |_| flight.event(*now));
        let mut is_full = false;
        reader.feed(bytes, |found| match found {
            Found::Event(event) => match stream.account().charge(event.bytes() + EVENT_BYTES) {
                Ok(memory) => stream.push(StreamNews::Event(Box::new(event), memory)),
                Err(_) => is_full = true,
            },
            Found::Unknown(line) => {
                let words = format!("unknown event: {}", go_text::text(&line));
                match stream.account().charge(words.len() + EVENT_BYTES) {
                    Ok(memory) => stream.push(StreamNews::Wrong(words, memory)),
                    Err(_) => is_full = true,
                }
            }
        })?;
        if is_full { Err(Fault::BodyLimit) } else { Ok(()) }
    }
}

impl Sink for StreamSink<'_> {
    fn head(&mut self, head: &ResponseHead<'_>) -> Result<(), Fault> {
        self.collected.head(head)?;
        let is_redirect = matches!(head.status, 301 | 302 | 303 | 307 | 308);
        let location = head.fields.get("location").filter(|value| is_redirect && !value.is_empty());
        if let Some(location) = location {
            self.refused_redirect = (!self.follows).then(|| location.to_vec());
            return Ok(());
        }
        self.is_open = true;
        self.decode(head);
        let now = self.body.parser().map_or(Nanos::ZERO, |parser| parser.now);
        self.stream.session().note_opened(Some(head.status), self.peer, now);
        let is_decoded = matches!(self.body, Body::Coded(_));
        let headers = Box::new(self.collected.shown_headers(is_decoded));
        self.stream.push(StreamNews::Opened { status: head.status, headers });
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match &mut self.body {
            Body::Plain(parser) if self.is_open => parser.take(bytes),
            Body::Coded(decoder) => decoder.feed(bytes),
            Body::Plain(_) | Body::Over => Ok(()),
        }
    }

    fn end(&mut self) -> Result<(), Fault> {
        match std::mem::replace(&mut self.body, Body::Over) {
            Body::Coded(decoder) => decoder.finish(),
            Body::Plain(_) | Body::Over => Ok(()),
        }
    }

    fn read_at(&mut self, at: Nanos) {
        if let Some(parser) = self.body.parser() {
            parser.now = at;
        }
    }

    fn reached(&mut self, peer: Option<Peer>) {
        self.peer = peer;
    }

    fn poll_wants(&mut self, ctx: &mut Context<'_>) -> Poll<bool> {
        self.stream.poll_wants(ctx)
    }
}
