//! A stream on which both sides send at any time, as gRPC has it.
//!
//! Knows no messages: bytes go in and come out. Has no time limits and sends nothing again.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use knee_core::unit::Nanos;

use super::super::prepared::PreparedRequest;
use super::super::response::{ExchangeError, Traffic};
use super::connection::{Http2Connection, Stop};
use crate::recorder::Marks;

/// Names and values of header fields or trailers, in their order.
pub type FieldList = Vec<(String, Vec<u8>)>;

/// The two directions of a stream.
pub struct Duplex {
    /// What this side sends.
    pub outgoing: Outgoing,
    /// What the server sends.
    pub incoming: Incoming,
}

/// The stream takes no more; [`Incoming`] says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakesNoMore;

/// A stream of a connection, for as long as one of its directions is used.
struct Place {
    connection: Rc<Http2Connection>,
    number: u32,
    is_reused: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connection.shared.tap.borrow_mut().take(self.number);
    }
}

impl Place {
    fn stopped(&self, error: h2::Error) -> ExchangeError {
        let moments = self.connection.shared.tap.borrow().moments(self.number);
        self.connection.stopped(Stop::Library(error), moments, self.is_reused)
    }
}

impl Duplex {
    /// Begins a stream on `connection` with the head of `request`, whose body is not sent. Calls `on_sent` when the head
    /// is handed to the connection.
    pub async fn begin(
        connection: &Rc<Http2Connection>,
        request: &PreparedRequest,
        on_sent: impl FnOnce(Nanos),
    ) -> Result<Self, ExchangeError> {
        let is_reused = connection.has_answered();
        let opened = connection.open_stream(request, false, on_sent).await;
        let (response, body) =
            opened.map_err(|stop| connection.stopped(stop, super::tap::Moments::default(), is_reused))?;
        let number = response.stream_id().as_u32();
        let place = Rc::new(Place { connection: connection.clone(), number, is_reused });
        let outgoing = Outgoing { body, place: place.clone() };
        Ok(Self { outgoing, incoming: Incoming { state: State::Head(response), place, taken: 0 } })
    }
}

/// What this side sends on a stream.
pub struct Outgoing {
    body: SendStream<Bytes>,
    /// Keeps the connection open.
    #[expect(dead_code, reason = "it is held, not read")]
    place: Rc<Place>,
}

impl Outgoing {
    /// Sends bytes as far as the server lets this side, and keeps the rest until it does. Ends the direction if they are
    /// the last ones.
    pub fn put(&mut self, bytes: Bytes, is_last: bool) -> Result<(), TakesNoMore> {
        self.body.send_data(bytes, is_last).map_err(|_| TakesNoMore)
    }

    /// Sends bytes; done when the server has let this side send all of them.
    pub async fn send(&mut self, mut bytes: Bytes) -> Result<(), TakesNoMore> {
        while !bytes.is_empty() {
            self.body.reserve_capacity(bytes.len());
            let granted = poll_fn(|ctx| self.body.poll_capacity(ctx)).await;
            let Some(Ok(granted)) = granted else { return Err(TakesNoMore) };
            let now = bytes.split_to(granted.min(bytes.len()));
            if !now.is_empty() {
                self.put(now, false)?;
            }
        }
        Ok(())
    }

    /// Ends the direction.
    pub fn finish(&mut self) -> Result<(), TakesNoMore> {
        self.put(Bytes::new(), true)
    }

    /// Ends the whole stream: the server learns that its answer is not wanted.
    pub fn cancel(&mut self) {
        self.body.send_reset(Reason::CANCEL);
    }
}

/// What the server sends on a stream. Its head comes before its bytes, and its trailers come after them.
pub struct Incoming {
    state: State,
    place: Rc<Place>,
    /// Bytes that were received and not released.
    taken: usize,
}

enum State {
    Head(ResponseFuture),
    Body(RecvStream),
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status of HTTP.
    pub status: u16,
    /// Its header fields.
    pub fields: FieldList,
    /// Whether nothing comes after it.
    pub is_all: bool,
}

impl Incoming {
    /// The head, once; `None` if it was taken before.
    pub async fn head(&mut self) -> Result<Option<Head>, ExchangeError> {
        let State::Head(response) = &mut self.state else { return Ok(None) };
        let answered = poll_fn(|ctx| Pin::new(&mut *response).poll(ctx)).await;
        let (parts, body) = answered.map_err(|error| self.place.stopped(error))?.into_parts();
        let head = Head {
            status: parts.status.as_u16(),
            fields: list_of(&parts.headers),
            is_all: body.is_end_stream(),
        };
        self.state = State::Body(body);
        Ok(Some(head))
    }

    /// The next bytes; `None` after the last ones, and before the head was taken. The bytes before are released: the
    /// server can send as many more.
    pub async fn bytes(&mut self) -> Result<Option<Bytes>, ExchangeError> {
        let State::Body(body) = &mut self.state else { return Ok(None) };
        // On a stream that has ended nothing is released, and nothing needs to be.
        let _ = body.flow_control().release_capacity(std::mem::take(&mut self.taken));
        match poll_fn(|ctx| body.poll_data(ctx)).await {
            None => Ok(None),
            Some(Ok(bytes)) => {
                self.taken = bytes.len();
                Ok(Some(bytes))
            }
            Some(Err(error)) => Err(self.place.stopped(error)),
        }
    }

    /// The trailers, after the last bytes; none if the server sent none.
    pub async fn trailers(&mut self) -> Result<FieldList, ExchangeError> {
        let State::Body(body) = &mut self.state else { return Ok(FieldList::new()) };
        let trailers = poll_fn(|ctx| body.poll_trailers(ctx)).await;
        let trailers = trailers.map_err(|error| self.place.stopped(error))?;
        self.place.connection.note_answered();
        Ok(trailers.as_ref().map(list_of).unwrap_or_default())
    }

    /// Puts the moments of the stream's bytes into `marks`.
    pub fn mark(&self, marks: &mut Marks) {
        let moments = self.place.connection.shared.tap.borrow().moments(self.place.number);
        if moments.sent > Nanos::ZERO {
            if marks.sent == marks.sent_last {
                marks.sent = moments.sent;
            }
            marks.sent_last = moments.sent;
        }
        (marks.sent_all, marks.first_byte) = (moments.sent_all, moments.first_byte);
    }

    /// When the last byte of the response was read; zero before.
    pub fn done(&self) -> Nanos {
        self.place.connection.shared.tap.borrow().moments(self.place.number).done
    }

    /// Bytes of the frames in both directions.
    pub fn traffic(&self) -> Traffic {
        let moments = self.place.connection.shared.tap.borrow().moments(self.place.number);
        Traffic { sent: moments.bytes_sent, received: moments.bytes_received, body: 0 }
    }
}

fn list_of(fields: &http::HeaderMap) -> FieldList {
    fields.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}
