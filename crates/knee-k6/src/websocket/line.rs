//! One socket of a script, between its VU and the task that waits for the network.
//!
//! The VU sends through it at once; what the kernel does not take, and everything that arrives, is for the task
//! ([`super::conversation`]). Does not open the socket.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use knee_engine::http::websocket::assembler::Incoming;
use knee_engine::http::websocket::close;
use knee_engine::http::websocket::frame::Opcode;
use knee_engine::http::websocket::handshake::HandshakeReply;
use knee_engine::http::websocket::socket::{ReceiveError, SendError, Socket, SocketTraffic};

use super::event::{Ending, Event};
use super::held::Held;
use super::request::Dialect;
use super::session::Session;
use super::words;
use crate::account::{Account, Charge};
use crate::http::pace::Pace;
use crate::inbox::{Happening, Inbox};
use crate::metric::BuiltIn;

/// Bytes of messages that wait for the script before no more are read. The server is slowed down by then.
const UNHEARD_MAX: usize = 1 << 20;
/// Bytes that each waiting message counts for besides its own.
const MESSAGE_BYTES: usize = 128;
/// Most things that are taken from the network before other tasks run.
const BURST: usize = 64;
/// How long a script's close waits for that of the server.
const CLOSE_PATIENCE: Nanos = Nanos::from_secs(10);
/// The code by which k6 ends sockets of `k6/ws` when the run ends them.
const GOING_AWAY: u16 = 1001;
/// The same for `k6/websockets`.
pub const NORMAL: u16 = 1000;

/// How far a socket is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The handshake is under way.
    Connecting,
    /// Messages can be sent and received.
    Open,
    /// This side has sent a close.
    Closing,
    /// Nothing is received any more.
    Ended,
}

/// Why a message was not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The VU has no memory for it.
    OutOfMemory,
    /// k6's words for anything else.
    Because(String),
}

/// What the task of a socket must wake up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// When a server that does not answer a close is given up.
    pub close_by: Nanos,
    /// When the ceiling of an agent lets the next message out.
    pub held: Nanos,
}

/// What waits for the kernel.
struct Unwritten {
    /// Bytes of the payload.
    bytes: usize,
    /// Whether the script is shown that they were written.
    is_message: bool,
}

/// One socket of a script.
pub struct Line {
    id: u64,
    session: Session,
    clock: MonotonicClock,
    account: Account,
    inbox: Rc<Inbox>,
    phase: Cell<Phase>,
    is_muted: Cell<bool>,
    socket: RefCell<Option<Socket>>,
    /// The task that waits for the network.
    waker: RefCell<Option<Waker>>,
    /// Bytes of messages that the script has not seen.
    unheard: Cell<usize>,
    unwritten: RefCell<VecDeque<Unwritten>>,
    /// Bytes of messages that the script has sent, and does not know to be written.
    buffered: Cell<usize>,
    /// What waits for the ceiling of an agent.
    held: RefCell<Held>,
    /// The memory of what waits for the kernel or the ceiling.
    memory: RefCell<Charge>,
    /// The close that the script asked for before the handshake was done.
    early_close: RefCell<Option<Vec<u8>>>,
    /// When a server that does not answer a close is given up.
    close_by: Cell<Nanos>,
    /// Why nothing can be sent any more.
    broken: RefCell<Option<String>>,
    /// When each ping was sent that has no pong yet.
    pings: RefCell<HashMap<u64, Nanos>>,
    next_ping: Cell<u64>,
    /// Bytes that were reported.
    reported: Cell<SocketTraffic>,
}

impl Line {
    /// A socket whose handshake is about to begin.
    pub fn new(
        id: u64,
        session: Session,
        clock: MonotonicClock,
        account: &Account,
        inbox: Rc<Inbox>,
    ) -> Self {
        Self {
            id,
            session,
            clock,
            account: account.clone(),
            inbox,
            phase: Cell::new(Phase::Connecting),
            is_muted: Cell::default(),
            socket: RefCell::default(),
            waker: RefCell::default(),
            unheard: Cell::default(),
            unwritten: RefCell::default(),
            buffered: Cell::default(),
            held: RefCell::default(),
            memory: RefCell::new(account.empty()),
            early_close: RefCell::default(),
            close_by: Cell::new(Nanos::MAX),
            broken: RefCell::default(),
            pings: RefCell::default(),
            next_ping: Cell::default(),
            reported: Cell::default(),
        }
    }

    /// Its number.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Whether the handshake is under way.
    pub fn is_connecting(&self) -> bool {
        self.phase.get() == Phase::Connecting
    }

    /// Its samples.
    pub const fn session(&self) -> &Session {
        &self.session
    }

    /// What the task must wake up for.
    pub fn limits(&self) -> Limits {
        Limits { close_by: self.close_by.get(), held: self.held.borrow().next() }
    }

    /// What the script sends from now on counts for the ceiling of an agent.
    pub fn hold_to(&self, ceiling: Option<Arc<Pace>>) {
        self.held.borrow_mut().limit(ceiling);
    }

    /// Whether the script has closed it and sees no more messages.
    pub fn is_muted(&self) -> bool {
        self.is_muted.get()
    }

    /// The script gets a message that arrived at `at`.
    pub fn note_received(&self, at: Nanos) {
        self.session.sample(BuiltIn::WsMsgsReceived, 1.0, at);
    }

    /// Bytes of messages that the script has sent, and does not know to be written.
    pub fn buffered(&self) -> usize {
        self.buffered.get()
    }

    /// The script sends a message of so many bytes.
    pub fn note_buffered(&self, bytes: usize) {
        self.buffered.set(self.buffered.get() + bytes);
    }

    /// The script learns that a message of so many bytes was written.
    pub fn note_written(&self, bytes: usize) {
        self.buffered.set(self.buffered.get().saturating_sub(bytes));
    }

    /// The script has done with the socket. The duration of one of `k6/ws` is counted here, and includes its handlers.
    pub fn finish(&self) {
        // As in k6, a socket of `k6/websockets` whose handler has thrown has no sample of its duration.
        if !self.is_eventful() {
            self.session.note_duration(self.clock.now());
        }
    }

    /// Whether nothing is received any more.
    pub fn is_over(&self) -> bool {
        self.phase.get() == Phase::Ended
    }

    /// Whether the script does not wait for its messages to be written, but sees events about it.
    fn is_eventful(&self) -> bool {
        self.session.dialect() == Dialect::WebSockets
    }

    fn push(&self, event: Event) {
        if let Event::Message { bytes, .. } = &event {
            self.unheard.set(self.unheard.get() + bytes.len() + MESSAGE_BYTES);
        }
        self.inbox.push(self.id, Happening::Socket(event));
    }

    /// The script has taken an event: there is room for more.
    pub fn heard(&self, event: &Event) {
        if let Event::Message { bytes, .. } = event {
            let was_full = self.unheard.get() > UNHEARD_MAX;
            self.unheard.set(self.unheard.get().saturating_sub(bytes.len() + MESSAGE_BYTES));
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

    /// The handshake failed.
    pub fn refuse(&self, error: String, reply: Option<HandshakeReply>) {
        self.phase.set(Phase::Ended);
        self.push(Event::Refused { error, reply: reply.map(Box::new) });
    }

    /// The handshake is done.
    pub fn open(&self, socket: Socket, reply: HandshakeReply) {
        self.socket.replace(Some(socket));
        let early = self.early_close.borrow_mut().take();
        if let Some(payload) = early {
            // k6 shows no open socket that was closed before.
            self.phase.set(Phase::Open);
            let _ = self.close(&payload);
            return;
        }
        self.phase.set(Phase::Open);
        self.push(Event::Opened(Box::new(reply)));
    }

    /// Sends a message. With `k6/ws` it counts as sent even if that fails.
    pub fn send(&self, opcode: Opcode, payload: &[u8]) -> Result<(), Unsent> {
        let sent = self.put(opcode, payload, true);
        if !self.is_eventful() && sent != Err(Unsent::OutOfMemory) {
            self.session.sample(BuiltIn::WsMsgsSent, 1.0, self.clock.now());
        }
        sent
    }

    /// Sends a ping; its payload is its number.
    pub fn ping(&self) -> Result<(), Unsent> {
        let number = self.next_ping.get();
        self.put(Opcode::Ping, number.to_string().as_bytes(), true)?;
        self.next_ping.set(number + 1);
        Ok(())
    }

    /// Sends a close with this payload. From then on the script sees no messages.
    pub fn close(&self, payload: &[u8]) -> Result<(), Unsent> {
        self.is_muted.set(true);
        match self.phase.get() {
            Phase::Connecting => {
                self.early_close.replace(Some(payload.to_vec()));
                return Ok(());
            }
            Phase::Open => self.phase.set(Phase::Closing),
            Phase::Closing | Phase::Ended => {}
        }
        // One that waits for the ceiling is given its time when it is sent.
        self.close_by.set(Nanos::MAX);
        let closed = self.put(Opcode::Close, payload, true);
        if self.held.borrow().is_empty() {
            self.close_by.set(self.clock.now().saturating_add(CLOSE_PATIENCE));
        }
        // The task must know the new limit.
        self.wake();
        closed
    }

    /// Sends a frame; `is_counted` if it is one of the script's.
    fn put(&self, opcode: Opcode, payload: &[u8], is_counted: bool) -> Result<(), Unsent> {
        let because = |words: &str| Err(Unsent::Because(words.to_owned()));
        if let Some(words) = &*self.broken.borrow() {
            return because(words);
        }
        if self.socket.borrow().is_some() && payload.len() > self.account.left() {
            return Err(Unsent::OutOfMemory);
        }
        // What the other side asks for, such as a pong, goes out at once. So does what is written to an ended socket, for
        // which no task waits any more.
        if is_counted && self.phase.get() != Phase::Ended {
            let mut held = self.held.borrow_mut();
            if held.is_closing() {
                return because(words::CLOSE_SENT);
            }
            if !held.passes(self.clock.now(), opcode, payload) {
                drop(held);
                self.note_memory();
                self.wake();
                return Ok(());
            }
        }
        self.write(opcode, payload, is_counted)
    }

    /// Sends a frame that nothing holds back.
    fn write(&self, opcode: Opcode, payload: &[u8], is_counted: bool) -> Result<(), Unsent> {
        let because = |words: &str| Err(Unsent::Because(words.to_owned()));
        let sent = match &mut *self.socket.borrow_mut() {
            Some(socket) => socket.send(opcode, payload).map_err(|error| (error, socket.ends())),
            None => return because(words::CLOSE_SENT),
        };
        match sent {
            Ok(()) => {}
            Err((SendError::Closing, _)) => return because(words::CLOSE_SENT),
            Err((SendError::Broken(failure), ends)) => return because(&words::of_broken(&failure, ends)),
        }
        let is_message = matches!(opcode, Opcode::Text | Opcode::Binary);
        if opcode == Opcode::Ping && is_counted {
            // The time that it waited for the ceiling is no part of the round trip.
            let number = str::from_utf8(payload).ok().and_then(|number| number.parse().ok());
            self.pings.borrow_mut().extend(number.map(|number| (number, self.clock.now())));
        }
        if is_counted {
            self.unwritten.borrow_mut().push_back(Unwritten { bytes: payload.len(), is_message });
        }
        // Most messages fit into the buffer of the kernel at once.
        match self.flush(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Ok(()),
            Poll::Ready(Err(words)) => {
                self.wake();
                because(&words)
            }
            Poll::Pending => {
                self.note_memory();
                self.wake();
                Ok(())
            }
        }
    }

    fn note_memory(&self) {
        let waiting = self.socket.borrow().as_ref().map_or(0, Socket::waiting);
        self.memory.borrow_mut().note(waiting + self.held.borrow().bytes());
    }

    /// Sends what the ceiling lets out by now.
    fn release(&self) {
        loop {
            let due = self.held.borrow_mut().due(self.clock.now());
            let Some((opcode, payload)) = due else { return };
            if opcode == Opcode::Close {
                self.close_by.set(self.clock.now().saturating_add(CLOSE_PATIENCE));
            }
            if let Err(Unsent::Because(words)) = self.write(opcode, &payload, true) {
                self.broken.borrow_mut().get_or_insert(words);
                self.held.borrow_mut().clear();
                if self.phase.get() == Phase::Closing {
                    self.close_by.set(self.clock.now().saturating_add(CLOSE_PATIENCE));
                }
                self.inbox.wake();
            }
        }
    }

    /// Hands what waits to the kernel.
    fn flush(&self, ctx: &mut Context<'_>) -> Poll<Result<(), String>> {
        let flushed = match &mut *self.socket.borrow_mut() {
            Some(socket) => match socket.poll_flush(ctx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => Ok(()),
                Poll::Ready(Err(failure)) => Err(words::of_broken(&failure, socket.ends())),
            },
            None => return Poll::Ready(Ok(())),
        };
        if let Err(words) = flushed {
            self.broken.replace(Some(words.clone()));
            self.inbox.wake();
            return Poll::Ready(Err(words));
        }
        self.note_memory();
        let written = std::mem::take(&mut *self.unwritten.borrow_mut());
        if written.is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.inbox.wake();
        if self.is_eventful() {
            let now = self.clock.now();
            for Unwritten { bytes, is_message } in written {
                self.session.sample(BuiltIn::WsMsgsSent, 1.0, now);
                if is_message {
                    self.push(Event::Written(bytes));
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Whether nothing waits for the ceiling or the kernel any more, or never will be taken.
    pub fn is_flushed(&self) -> bool {
        let is_flushed = |socket: &Socket| socket.is_flushed();
        let is_out = || self.held.borrow().is_empty() && self.socket.borrow().as_ref().is_none_or(is_flushed);
        self.broken.borrow().is_some() || is_out()
    }

    /// Why nothing can be sent any more.
    pub fn broken(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    /// Sends and receives; ready when the socket has ended, or when [`Self::limits`] are not `limits` any more.
    pub fn poll(&self, ctx: &mut Context<'_>, limits: Limits) -> Poll<()> {
        self.waker.replace(Some(ctx.waker().clone()));
        self.release();
        if self.phase.get() == Phase::Ended || self.limits() != limits {
            return Poll::Ready(());
        }
        // What does not fit into the buffer of the kernel now wakes this task later.
        let _ = self.flush(ctx);
        if let Some(words) = self.broken()
            && self.is_eventful()
        {
            self.end(Ending { error: Some(words), ..Ending::default() });
            return Poll::Ready(());
        }
        for _ in 0..BURST {
            if self.unheard.get() > UNHEARD_MAX {
                return Poll::Pending;
            }
            let next = match &mut *self.socket.borrow_mut() {
                Some(socket) => socket.poll_next(ctx),
                None => return Poll::Ready(()),
            };
            match next {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(incoming)) => self.take(incoming),
                Poll::Ready(Err(error)) => self.end(ending_of(&error)),
            }
            if self.phase.get() == Phase::Ended || self.limits() != limits {
                return Poll::Ready(());
            }
        }
        ctx.waker().wake_by_ref();
        Poll::Pending
    }

    fn take(&self, incoming: Incoming) {
        let at = self.clock.now();
        match incoming {
            Incoming::Message { is_text, bytes } => {
                let memory = self.account.note(bytes.len());
                self.push(Event::Message { is_text, bytes, at, memory });
            }
            Incoming::Ping(payload) => {
                let answered = self.put(Opcode::Pong, &payload, false);
                let wrong = match answered {
                    Err(Unsent::Because(words)) => Some(words),
                    Ok(()) | Err(Unsent::OutOfMemory) => None,
                };
                self.push(Event::Ping(wrong));
            }
            Incoming::Pong(payload) => {
                let payload = String::from_utf8_lossy(&payload).into_owned();
                let sent =
                    payload.parse().ok().and_then(|number: u64| self.pings.borrow_mut().remove(&number));
                if let Some(sent) = sent {
                    self.session.sample(BuiltIn::WsPing, at.since(sent).as_millis_f64(), at);
                }
                self.push(Event::Pong(sent.is_none().then_some(payload)));
            }
            Incoming::Close { code, reason } => {
                if self.is_eventful() {
                    // Once closed by this side, the server's close is the response.
                    let _ = self.put(Opcode::Close, &close::payload(code, ""), false);
                }
                self.end(closed(code, reason));
            }
        }
    }

    /// Nothing is received any more. A socket of `k6/ws` can still be written to.
    fn end(&self, ending: Ending) {
        self.phase.set(Phase::Ended);
        self.held.borrow_mut().clear();
        self.note_memory();
        if self.is_eventful() {
            let now = self.clock.now();
            self.session.note_duration(now);
            self.drop_socket();
        }
        self.push(Event::Ended(ending));
    }

    /// The server did not answer a close in time, or the script gave the socket up.
    pub fn give_up(&self) {
        if !matches!(self.phase.get(), Phase::Ended | Phase::Connecting) {
            self.end(Ending::default());
        }
    }

    /// Closes the connection.
    pub fn drop_socket(&self) {
        self.phase.set(Phase::Ended);
        self.report_traffic();
        drop(self.socket.borrow_mut().take());
        self.held.borrow_mut().clear();
        self.note_memory();
        self.wake();
    }

    fn report_traffic(&self) {
        let Some(now) = self.socket.borrow().as_ref().map(Socket::traffic) else { return };
        let before = self.reported.replace(now);
        let (sent, received) = (now.sent - before.sent, now.received - before.received);
        self.session.note_traffic(sent, received, self.clock.now());
    }

    /// The run ends the socket: it is closed as k6 closes it then, and the script sees nothing of it.
    pub fn cut(&self) {
        let code = if self.is_eventful() { NORMAL } else { GOING_AWAY };
        if matches!(self.phase.get(), Phase::Open | Phase::Closing) {
            let _ = self.put(Opcode::Close, &close::payload(code, ""), false);
        }
        self.drop_socket();
    }
}

/// The end by a close of the server, or by the code that stands for none. Usual codes are no errors.
fn closed(code: u16, reason: String) -> Ending {
    let error = (!matches!(code, 1000 | 1001)).then(|| words::of_close(code, &reason));
    Ending { code: Some(code), reason, error }
}

/// The end by what broke a socket.
fn ending_of(error: &ReceiveError) -> Ending {
    match error {
        ReceiveError::Ended => closed(words::ABNORMAL, words::UNEXPECTED_EOF.to_owned()),
        // k6 shows none of these errors, but the ones that come when it sends its close.
        ReceiveError::Protocol(_) | ReceiveError::Inflate(_) | ReceiveError::Broken(_) => Ending::default(),
    }
}
