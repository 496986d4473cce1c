//! Opens the sockets of scripts: the handshake in the record, its samples and its cookies.
//!
//! Does not talk; see [`super::conversation`].

use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::http::websocket::handshake::{HandshakeReply, new_key};
use knee_engine::http::websocket::opening::{OpenError, Opened, Opening, open_socket};
use knee_engine::http::websocket::socket::Socket;
use knee_engine::recorder::Finish;

use super::request::{SocketRequest, SocketTarget};
use super::session::Session;
use super::words;
use crate::flight::{Late, OpenFlight};
use crate::http::compose::seconds_now;
use crate::http::cookie;
use crate::http::send::RequestSender;
use crate::metric::BuiltIn;

/// Time limit of a handshake, as in k6.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// What a handshake came to.
pub struct Dialled {
    /// The socket, or k6's words for why there is none.
    pub result: Result<Socket, String>,
    /// The response, if one came.
    pub reply: Option<HandshakeReply>,
}

/// Does the handshake of `request`. Gives up at `cut`.
pub async fn dial(
    sender: &RequestSender,
    request: &SocketRequest,
    session: &Session,
    late: Late,
    cut: Nanos,
) -> Dialled {
    let key = new_key();
    let prepared = request.target.as_ref().map_err(Clone::clone).and_then(|target| {
        request.prepare(target, &key, &sender.user_agent).map(|prepared| (target, prepared))
    });
    let dialled = match prepared {
        Ok((target, prepared)) => {
            let limit = session.begun().saturating_add(PATIENCE).min(cut);
            let opening = Opening { origin: &target.origin, request: &prepared, key: &key, limit };
            let opened = recorded(sender, request, opening, late, cut).await;
            keep_cookies(request, target, opened.reply.as_ref());
            session.note_handshake(opened.reply.as_ref(), opened.peer);
            session.note_traffic(opened.counts.bytes_sent, opened.counts.bytes_received, opened.done);
            let result = opened.result.map_err(|error| words::of_handshake(&error, &target.origin));
            Dialled { result, reply: opened.reply }
        }
        Err(words) => Dialled { result: Err(words), reply: None },
    };
    let done = sender.network.clock.now();
    if done >= cut {
        // As in k6, what the run ended has no samples.
        return dialled;
    }
    session.sample(BuiltIn::WsSessions, 1.0, done);
    session.sample(BuiltIn::WsConnecting, done.since(session.begun()).as_millis_f64(), done);
    dialled
}

/// The handshake, as a request in the record.
async fn recorded(
    sender: &RequestSender,
    request: &SocketRequest,
    opening: Opening<'_>,
    late: Late,
    cut: Nanos,
) -> Opened {
    let name = request.tags.iter().rev().find(|(name, _)| name == "name").map(|(_, value)| value.clone());
    let name = name.unwrap_or_else(|| format!("GET {}", request.shown));
    let endpoint = sender.endpoints.id(&sender.secrets.masked(&name));
    let now = sender.network.clock.now();
    let flight = OpenFlight::begin(&sender.recorder, sender.network.clock, endpoint, late, now);
    let opened = Box::pin(open_socket(&sender.network, opening, |at| flight.sent(at))).await;
    let is_cut = opened.done >= cut;
    let (outcome, fault) = match &opened.result {
        Ok(_) => (Outcome::Ok, None),
        // The plan ended it, not the server.
        Err(OpenError::Failed(_)) if is_cut => (Outcome::Censored, None),
        Err(OpenError::Failed(failure)) => {
            (failure.fault.outcome(), Some((failure.fault, failure.message.as_deref())))
        }
        Err(OpenError::NoResponse(_)) => {
            let fault = Fault::MalformedHead;
            (fault.outcome(), Some((fault, None)))
        }
        Err(OpenError::Refused(_)) => (Outcome::HttpError, None),
    };
    flight.finish(&Finish {
        outcome,
        done: opened.done,
        status: opened.reply.as_ref().map(|reply| reply.status),
        fault,
        marks: opened.marks,
        counts: opened.counts,
        body: None,
    });
    opened
}

fn keep_cookies(request: &SocketRequest, target: &SocketTarget, reply: Option<&HandshakeReply>) {
    let (Some(jar), Some(reply)) = (&request.jar, reply) else { return };
    let now = seconds_now();
    for value in reply.all("set-cookie") {
        if let Some(cookie) = cookie::parse(&value, &target.url, now) {
            jar.borrow_mut().put(cookie, &target.url, now);
        }
    }
}
