//! One stream of a script, between its VU and the task that waits for the network.
//!
//! The VU puts messages into [`Line`] and goes on; [`serve`] sends them, and turns what arrives into events. Calls no
//! handlers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use knee_core::unit::Nanos;
use knee_engine::http::http2::duplex::{Duplex, Outgoing};

use super::call::JSON_MAX;
use super::connection::{Connection, closing};
use super::descriptors::{Method, RpcStatus, Schema};
use super::event::StreamEvent;
use super::exchange::{Asked, Ended, Exchange, Next, Receiver};
use super::frame::too_large;
use super::metadata::check;
use super::session::{Session, StreamMetrics};
use super::status::{Code, Status};
use crate::account::{Account, Charge};
use crate::errand::Errand;
use crate::flight::OpenFlight;
use crate::http::send::RequestSender;
use crate::inbox::{Happening, Inbox};

/// Bytes of messages that wait for the script before no more are read. The server is slowed down by then.
const UNHEARD_MAX: usize = 1 << 20;
/// Bytes that are added for each waiting message, for its place in the queue.
const MESSAGE_BYTES: usize = 128;
/// The message of the error that ends a stream from this side, as in k6.
const CANCELLED: &str = "canceled by client (k6)";

/// Something to be sent.
enum Item {
    /// A message, framed, and the memory that it takes.
    Message(Bytes, Charge),
    /// A message that could not be made: the stream fails.
    Broken(Status),
    /// Nothing comes after it.
    End,
}

/// One stream, as the VU and its task share it.
pub struct Line {
    number: u64,
    inbox: Rc<Inbox>,
    account: Account,
    queue: RefCell<VecDeque<Item>>,
    /// The task that serves it.
    waker: RefCell<Option<Waker>>,
    /// Bytes of messages that the script has not seen.
    unheard: Cell<usize>,
    metrics: StreamMetrics,
    messages: Messages,
}

/// What the messages of a stream are.
pub struct Messages {
    /// The method.
    pub method: Method,
    /// Everything that its client knows: details of errors can be of any type.
    pub schema: Schema,
    /// Whether the script does not want messages of the server.
    pub is_discarding: bool,
}

impl Line {
    /// A stream whose events go to `inbox` under `number`.
    pub fn new(
        number: u64,
        inbox: Rc<Inbox>,
        account: &Account,
        metrics: StreamMetrics,
        messages: Messages,
    ) -> Self {
        Self {
            number,
            inbox,
            account: account.clone(),
            queue: RefCell::default(),
            waker: RefCell::default(),
            unheard: Cell::default(),
            metrics,
            messages,
        }
    }

    /// What its messages are.
    pub const fn method(&self) -> &Method {
        &self.messages.method
    }

    /// Sends a message, framed, which the VU has `memory` for.
    pub fn write(&self, framed: Bytes, memory: Charge) {
        self.put(Item::Message(framed, memory));
    }

    /// A message could not be made: the stream fails, as in k6.
    pub fn fail(&self, status: Status) {
        self.put(Item::Broken(status));
    }

    /// Nothing more is sent.
    pub fn end(&self) {
        self.put(Item::End);
    }

    fn put(&self, item: Item) {
        self.queue.borrow_mut().push_back(item);
        self.wake();
    }

    /// The script has taken an event: there is room for more.
    pub fn heard(&self, event: &StreamEvent) {
        if let StreamEvent::Data { json, .. } = event {
            let was_full = self.unheard.get() > UNHEARD_MAX;
            self.unheard.set(self.unheard.get().saturating_sub(json.len() + MESSAGE_BYTES));
            if was_full {
                self.wake();
            }
        }
    }

    fn wake(&self) {
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn push(&self, event: StreamEvent) {
        if let StreamEvent::Data { json, .. } = &event {
            self.unheard.set(self.unheard.get() + json.len() + MESSAGE_BYTES);
        }
        self.inbox.push(self.number, Happening::Stream(event));
    }

    /// The next thing to be sent.
    async fn next(&self) -> Item {
        poll_fn(|ctx| {
            if let Some(item) = self.queue.borrow_mut().pop_front() {
                return Poll::Ready(item);
            }
            self.waker.replace(Some(ctx.waker().clone()));
            Poll::Pending
        })
        .await
    }

    /// Ready when the script has seen enough.
    async fn has_room(&self) {
        poll_fn(|ctx| {
            if self.unheard.get() <= UNHEARD_MAX {
                return Poll::Ready(());
            }
            self.waker.replace(Some(ctx.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

/// A stream to be opened.
pub struct Opening {
    /// The client's connection.
    pub connection: Rc<Connection>,
    /// Its samples.
    pub session: Session,
    /// Its head.
    pub asked: Asked,
    /// What the VU and its task share.
    pub line: Rc<Line>,
}

/// Opens a stream and serves it until it ends. `tell` hears whether it could be opened.
pub async fn serve(errand: Errand, opening: Opening, tell: impl FnOnce(Result<(), Status>)) {
    let Opening { connection, session, asked, line } = opening;
    if let Err(words) = check(&asked.metadata) {
        return tell(Err(Status::new(Code::Internal, words)));
    }
    let limit = asked.limit.min(errand.cut);
    errand.sender.hold_to_ceiling(limit).await;
    let mut exchange = Exchange::begin(&errand, &session, asked.limit);
    let network = errand.sender.network.clone();
    let deadline = network.deadline();
    let opened = deadline.limit(limit, pin!(exchange.open(&connection, &session, &asked))).await;
    let duplex = opened.unwrap_or_else(|_| Err(exchange.note_late()));
    let duplex = match duplex {
        Ok(duplex) => duplex,
        Err(status) => {
            exchange.finish(&session, &status, network.clock.now().min(limit));
            return tell(Err(status));
        }
    };
    session.sample(line.metrics.streams, 1.0, network.clock.now());
    tell(Ok(()));
    let Duplex { outgoing, incoming } = duplex;
    let mut receiver = Receiver::new(incoming, connection.clone());
    let ended = {
        let now = || network.clock.now();
        let watched = line.messages.method.is_server_stream().then(|| exchange.flight());
        if let Some(flight) = watched {
            flight.expect_events();
        }
        let pace = (&*errand.sender, limit);
        let talk = Talk { line: &line, session: &session, watched, pace, now: &now };
        let talking = talk.both(outgoing, &mut receiver, connection.destination.send_max);
        deadline.limit(limit, pin!(connection.unless_closed(talking))).await
    };
    let mut now = network.clock.now();
    exchange.note(&receiver);
    let Ended { status, .. } = match ended {
        Ok(Some(End::Server)) => receiver.ended(None),
        Ok(Some(End::Own(status))) => receiver.ended(Some(status)),
        Ok(Some(End::Broken(failure))) => receiver.ended(Some(exchange.failed(failure, &connection))),
        Ok(None) => receiver.ended(Some(closing())),
        Err(_) => {
            now = limit;
            receiver.ended(Some(exchange.note_late()))
        }
    };
    exchange.finish(&session, &status, now);
    tell_end(&line, status);
}

fn tell_end(line: &Line, status: Status) {
    if !status.is_ok() {
        let status = match status.code {
            // As in k6, an end that looks like one of this side is called so.
            1 => Status::new(Code::Unknown, CANCELLED),
            _ => status,
        };
        let Status { code, message, details } = &status;
        let received = RpcStatus::received(code.cast_signed(), message, details.as_deref());
        let json = received.json(&line.messages.schema);
        line.push(StreamEvent::Error { status, json });
    }
    line.push(StreamEvent::End);
}

/// Why nothing more comes.
enum End {
    /// The server has ended the stream.
    Server,
    /// This side has.
    Own(Status),
    /// The stream broke.
    Broken(knee_engine::http::failure::Failure),
}

/// Both directions of an open stream.
struct Talk<'a> {
    line: &'a Line,
    session: &'a Session,
    /// The request whose events the messages of the server are; `None` if it sends one message only.
    watched: Option<&'a OpenFlight<'a>>,
    /// What holds messages to the ceiling of an agent, and until when at most.
    pace: (&'a RequestSender, Nanos),
    now: &'a dyn Fn() -> Nanos,
}

impl Talk<'_> {
    async fn both(&self, outgoing: Outgoing, receiver: &mut Receiver, send_max: usize) -> End {
        let mut writing = pin!(self.write(outgoing, send_max));
        let mut is_written = false;
        let mut reading = pin!(self.read(receiver));
        poll_fn(|ctx| {
            if !is_written && let Poll::Ready(written) = writing.as_mut().poll(ctx) {
                is_written = true;
                if let Err(status) = written {
                    return Poll::Ready(End::Own(status));
                }
            }
            reading.as_mut().poll(ctx)
        })
        .await
    }

    /// Sends until nothing more is to be sent, or the server takes no more.
    async fn write(&self, mut outgoing: Outgoing, send_max: usize) -> Result<Outgoing, Status> {
        loop {
            let sent = match self.line.next().await {
                Item::Message(framed, _) if framed.len() - 5 > send_max => {
                    return Err(too_large("send", framed.len() - 5, send_max));
                }
                Item::Message(framed, _memory) => {
                    let (sender, limit) = self.pace;
                    sender.hold_to_ceiling(limit).await;
                    outgoing.send(framed).await
                }
                Item::Broken(status) => return Err(status),
                Item::End => {
                    // The server says why if it takes no end.
                    let _ = outgoing.finish();
                    return Ok(outgoing);
                }
            };
            if sent.is_err() {
                return Ok(outgoing);
            }
            self.session.sample(self.line.metrics.sent, 1.0, (self.now)());
        }
    }

    async fn read(&self, receiver: &mut Receiver) -> End {
        loop {
            self.line.has_room().await;
            match receiver.next().await {
                Next::Message(message) => {
                    let at = (self.now)();
                    if let Some(flight) = self.watched {
                        flight.event(at);
                    }
                    let json = if self.line.messages.is_discarding {
                        Ok("{}".to_owned())
                    } else {
                        self.line
                            .messages
                            .method
                            .decode(&message, JSON_MAX)
                            .map_err(|error| error.to_string())
                    };
                    match json {
                        Ok(json) => {
                            self.session.sample(self.line.metrics.received, 1.0, at);
                            let memory = self.line.account.note(json.len());
                            self.line.push(StreamEvent::Data { json, at, memory });
                        }
                        Err(words) => return End::Own(Status::new(Code::Internal, words)),
                    }
                }
                Next::End => return End::Server,
                Next::Broken(failure, _) => return End::Broken(failure),
            }
        }
    }
}
