//! A unary call: one message out, one message back.
//!
//! Does not wait for its place in the script; see [`crate::errand`].

use std::pin::pin;
use std::rc::Rc;

use bytes::Bytes;
use knee_engine::http::failure::Failure;

use super::connection::{Connection, closing};
use super::descriptors::Method;
use super::exchange::{Asked, Ended, Exchange, Next, Receiver, send_only};
use super::frame::too_large;
use super::metadata::check;
use super::session::Session;
use super::status::{Code, Status};
use crate::errand::Errand;

/// Most bytes of the JSON of a message: few bytes can need much of it.
pub const JSON_MAX: usize = 64 << 20;

/// A call to be made.
pub struct Call {
    /// The client's connection.
    pub connection: Rc<Connection>,
    /// Its samples.
    pub session: Session,
    /// Its head.
    pub asked: Asked,
    /// The message, framed.
    pub message: Bytes,
    /// What the response is, if the script wants it as JSON.
    pub method: Option<Method>,
}

/// What a call came to.
#[derive(Debug)]
pub struct Called {
    /// How it ended.
    pub ended: Ended,
    /// The message of the server, if it sent one.
    pub message: Option<Bytes>,
    /// The JSON of the message, if it is wanted.
    pub json: Option<String>,
}

/// Makes a call.
pub async fn call(errand: Errand, call: Call) -> Called {
    let Call { connection, session, asked, message, method } = call;
    if let Err(words) = check(&asked.metadata) {
        return failed(Status::new(Code::Internal, words));
    }
    let limit = asked.limit.min(errand.cut);
    errand.sender.hold_to_ceiling(limit).await;
    let mut exchange = Exchange::begin(&errand, &session, asked.limit);
    let network = &errand.sender.network;
    let deadline = network.deadline();
    let mut now = network.clock.now();
    let most = connection.destination.send_max;
    let mut called = if now >= limit {
        failed(exchange.note_late())
    } else if message.len() - 5 > most {
        failed(too_large("send", message.len() - 5, most))
    } else {
        let working = exchange_one(&mut exchange, &connection, &session, &asked, message);
        let ended = deadline.limit(limit, pin!(connection.unless_closed(working))).await;
        now = network.clock.now();
        match ended {
            Ok(Some(called)) => called,
            Ok(None) => failed(closing()),
            Err(_) => {
                now = limit;
                failed(exchange.note_late())
            }
        }
    };
    if let Some(method) = method {
        called.read(&method);
    }
    exchange.finish(&session, &called.ended.status, now);
    called
}

fn failed(status: Status) -> Called {
    Called { ended: Ended { status, headers: None, trailers: Vec::new() }, message: None, json: None }
}

impl Called {
    /// Makes the JSON of the message. As in grpc-go, a message that cannot be read makes the call fail.
    fn read(&mut self, method: &Method) {
        let Some(bytes) = &self.message else { return };
        match method.decode(bytes, JSON_MAX) {
            Ok(json) => self.json = Some(json),
            Err(error) => {
                let words = format!("grpc: failed to unmarshal the received message: {error}");
                self.ended.status = Status::new(Code::Internal, words);
            }
        }
    }
}

async fn exchange_one(
    exchange: &mut Exchange<'_>,
    connection: &Rc<Connection>,
    session: &Session,
    asked: &Asked,
    message: Bytes,
) -> Called {
    loop {
        let mut duplex = match exchange.open(connection, session, asked).await {
            Ok(duplex) => duplex,
            Err(status) => return failed(status),
        };
        send_only(&mut duplex.outgoing, message.clone());
        let mut receiver = Receiver::new(duplex.incoming, connection.clone());
        let outcome = receive_only(&mut receiver).await;
        exchange.note(&receiver);
        match outcome {
            Received::Message(message) => {
                let mut ended = receiver.ended(None);
                if ended.status.is_ok() && message.is_none() {
                    let words =
                        "cardinality violation: received no response message from non-server-streaming RPC";
                    ended.status = Status::new(Code::Internal, words);
                }
                return Called { ended, message, json: None };
            }
            Received::Surplus(message) => {
                let words = "cardinality violation: expected <EOF> for non server-streaming RPCs, but received \
                             another message";
                let status = Status::new(Code::Internal, words);
                let ended = receiver.ended(Some(status));
                return Called { ended, message: Some(message), json: None };
            }
            Received::Broken(_, is_unprocessed) if exchange.may_repeat(is_unprocessed) => {}
            Received::Broken(failure, _) => {
                let status = exchange.failed(failure, connection);
                return Called { ended: receiver.ended(Some(status)), message: None, json: None };
            }
        }
    }
}

/// What came back.
enum Received {
    /// A message, or none, and the end.
    Message(Option<Bytes>),
    /// A message too many, which is what k6 shows.
    Surplus(Bytes),
    /// The stream broke. Whether the server surely has not processed it.
    Broken(Failure, bool),
}

async fn receive_only(receiver: &mut Receiver) -> Received {
    let mut kept = None;
    loop {
        match receiver.next().await {
            Next::Message(message) if kept.is_some() => return Received::Surplus(message),
            Next::Message(message) => kept = Some(message),
            Next::End => return Received::Message(kept),
            Next::Broken(failure, is_unprocessed) => return Received::Broken(failure, is_unprocessed),
        }
    }
}
