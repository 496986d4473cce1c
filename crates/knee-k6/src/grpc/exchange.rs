//! One exchange of gRPC on its way: its place in the record, its stream, and the messages of the server.
//!
//! Knows no protobuf and no JavaScript; [`super::call`] and [`super::stream`] do what differs between calls and streams.

use std::rc::Rc;

use bytes::Bytes;
use knee_core::outcome::{Fault, Outcome};
use knee_core::unit::Nanos;
use knee_engine::http::failure::Failure;
use knee_engine::http::http2::duplex::{Duplex, FieldList, Incoming, Outgoing};
use knee_engine::http::prepared::{PreparedRequest, RequestWriter};
use knee_engine::recorder::{Counts, Finish, Marks};

use super::connection::Connection;
use super::frame::Assembler;
use super::metadata::{field, is_own, written};
use super::session::Session;
use super::status::{self, Code, Status};
use crate::errand::Errand;
use crate::flight::OpenFlight;
use crate::http::send::RequestSender;

/// What an exchange is begun with.
pub struct Asked {
    /// Where it goes, such as `/a.Service/Method`.
    pub path: String,
    /// What the script adds to the head.
    pub metadata: FieldList,
    /// When it must be done, on the run's clock; `MAX` for no limit.
    pub limit: Nanos,
}

/// How an exchange ended.
#[derive(Debug)]
pub struct Ended {
    /// The status.
    pub status: Status,
    /// The fields of the head; `None` if there was no head, or nothing but it.
    pub headers: Option<FieldList>,
    /// The trailers.
    pub trailers: FieldList,
}

/// An exchange in the record.
pub struct Exchange<'a> {
    sender: &'a RequestSender,
    flight: OpenFlight<'a>,
    /// When it began.
    pub begun: Nanos,
    limit: Nanos,
    cut: Nanos,
    marks: Marks,
    counts: Counts,
    failure: Option<Failure>,
    http_status: Option<u16>,
    /// When the last byte of the response was read, if it was.
    done: Option<Nanos>,
    /// Whether this side has left it: it has no sample then.
    is_left: bool,
}

impl<'a> Exchange<'a> {
    /// Begins an exchange now.
    pub fn begin(errand: &'a Errand, session: &Session, limit: Nanos) -> Self {
        let sender = &*errand.sender;
        let begun = sender.network.clock.now();
        let endpoint = sender.endpoints.id(&sender.secrets.masked(session.name()));
        let flight =
            OpenFlight::begin(&sender.recorder, sender.network.clock, endpoint, errand.late.take(), begun);
        Self {
            sender,
            flight,
            begun,
            limit: limit.min(errand.cut),
            cut: errand.cut,
            marks: Marks::default(),
            counts: Counts::default(),
            failure: None,
            http_status: None,
            done: None,
            is_left: false,
        }
    }

    /// Its request in the record.
    pub const fn flight(&self) -> &OpenFlight<'a> {
        &self.flight
    }

    /// Opens the stream of the exchange. One that the server surely did not process is opened again once, as in grpc-go.
    pub async fn open(
        &mut self,
        connection: &Connection,
        session: &Session,
        asked: &Asked,
    ) -> Result<Duplex, Status> {
        loop {
            let usable = connection.usable(&self.sender.network, self.limit).await;
            let usable = usable.map_err(|failure| self.failed(failure, connection))?;
            if let Some(opened) = usable.opened {
                self.counts.connections += 1;
                (self.marks.dns, self.marks.connect, self.marks.tls) =
                    (opened.dns, opened.connect, opened.tls);
            }
            session.note_peer(usable.http2.peer());
            let request = self.request(connection, asked);
            let mut sent = Nanos::ZERO;
            let begun = Duplex::begin(&usable.http2, &request, |at| sent = at).await;
            if sent > Nanos::ZERO {
                self.flight.sent(sent);
                (self.marks.sent, self.marks.sent_last) = (sent, sent);
            }
            match begun {
                Ok(duplex) => return Ok(duplex),
                Err(error) if self.may_repeat(error.unprocessed.allows(false)) => {}
                Err(error) => return Err(self.failed(error.failure, connection)),
            }
        }
    }

    /// Whether an exchange of which nothing was processed can be begun again, which it can once.
    pub const fn may_repeat(&mut self, is_unprocessed: bool) -> bool {
        let may = is_unprocessed && self.counts.resent == 0;
        if may {
            self.counts.resent += 1;
        }
        may
    }

    fn request(&self, connection: &Connection, asked: &Asked) -> PreparedRequest {
        let destination = &connection.destination;
        let mut writer = RequestWriter::new("POST", asked.path.as_bytes(), 256);
        let authority = destination.authority.as_deref().unwrap_or(&destination.address);
        writer.field("host", authority.as_bytes());
        writer.field("content-type", b"application/grpc");
        writer.field("user-agent", self.sender.user_agent.as_bytes());
        writer.field("te", b"trailers");
        writer.field("grpc-accept-encoding", b"gzip");
        if self.limit < Nanos::MAX {
            let left = self.limit.since(self.sender.network.clock.now());
            writer.field("grpc-timeout", timeout(left).as_bytes());
        }
        for (name, value) in asked.metadata.iter().filter(|(name, _)| is_own(name)) {
            writer.field(name, &written(name, value));
        }
        writer.finish(b"", false)
    }

    /// Keeps why it failed.
    pub fn failed(&mut self, failure: Failure, connection: &Connection) -> Status {
        let status = Status::of_failure(&failure, &connection.destination.origin);
        self.failure = Some(failure);
        status
    }

    /// Keeps what the stream says of itself.
    pub fn note(&mut self, receiver: &Receiver) {
        receiver.incoming.mark(&mut self.marks);
        let traffic = receiver.incoming.traffic();
        self.counts.bytes_sent = traffic.sent;
        self.counts.bytes_received = traffic.received;
        self.counts.bytes_body = receiver.body;
        self.http_status = receiver.http_status;
        self.done = Some(receiver.incoming.done()).filter(|done| *done > Nanos::ZERO);
    }

    /// It was not done within its time.
    pub fn note_late(&mut self) -> Status {
        self.is_left = true;
        self.failure = Some(Fault::RequestTimeout.into());
        Status::new(Code::DeadlineExceeded, "context deadline exceeded")
    }

    /// Ends it in the record, and reports it to k6's view unless the plan ended it. It is over `now`, if not before.
    pub fn finish(self, session: &Session, status: &Status, now: Nanos) {
        let is_success = status.is_ok();
        self.close(session, status, now, is_success);
    }

    /// The same for one that this side has left because it had all that it wanted: a success in the record. As in k6, it
    /// has no sample.
    pub fn leave(mut self, session: &Session, now: Nanos) {
        self.is_left = true;
        self.close(session, &Status::new(Code::Canceled, "context canceled"), now, true);
    }

    fn close(self, session: &Session, status: &Status, now: Nanos, is_success: bool) {
        let done = self.done.unwrap_or(now).min(now);
        let is_left = self.is_left;
        let is_cut = is_left && done >= self.cut;
        let words = status.shown();
        let fault = match &self.failure {
            _ if is_cut || is_success => None,
            Some(failure) => Some((failure.fault, failure.message.as_deref())),
            None => Some((Fault::GrpcStatus, Some(&*words))),
        };
        let outcome = match fault {
            _ if is_cut => Outcome::Censored,
            Some((fault, _)) => fault.outcome(),
            None => Outcome::Ok,
        };
        let status_code = self.http_status.filter(|_| self.failure.is_none());
        let Counts { bytes_sent, bytes_received, .. } = self.counts;
        let begun = self.begun;
        self.flight.finish(&Finish {
            outcome,
            done,
            status: status_code,
            fault,
            marks: self.marks,
            counts: self.counts,
            body: None,
        });
        if is_cut {
            return;
        }
        session.note_traffic(bytes_sent, bytes_received, done);
        // As in k6, what its own time limit ended has no sample.
        if !is_left {
            session.note_end(status, begun, done);
        }
    }
}

/// The value of `grpc-timeout`: at most eight digits, in the finest unit that does.
fn timeout(left: Nanos) -> String {
    const UNITS: [(u64, char); 6] = [
        (1, 'n'),
        (1_000, 'u'),
        (1_000_000, 'm'),
        (1_000_000_000, 'S'),
        (60_000_000_000, 'M'),
        (3_600_000_000_000, 'H'),
    ];
    for (size, unit) in UNITS {
        let count = left.0.div_ceil(size);
        if count < 100_000_000 {
            return format!("{count}{unit}");
        }
    }
    "99999999H".to_owned()
}

/// The messages of the server, and how they ended.
pub struct Receiver {
    incoming: Incoming,
    connection: Rc<Connection>,
    assembler: Assembler,
    headers: Option<FieldList>,
    trailers: FieldList,
    http_status: Option<u16>,
    body: u64,
    state: State,
}

/// How far the messages are.
enum State {
    Head,
    Messages,
    Over(Status),
}

/// What comes after a message.
pub enum Next {
    /// Another one.
    Message(Bytes),
    /// The end; [`Receiver::ended`] says how.
    End,
    /// The stream broke. Whether the server surely has not processed it.
    Broken(Failure, bool),
}

impl Receiver {
    /// Of a stream on this connection.
    pub fn new(incoming: Incoming, connection: Rc<Connection>) -> Self {
        let assembler = Assembler::new(connection.destination.receive_max, false);
        Self {
            incoming,
            connection,
            assembler,
            headers: None,
            trailers: FieldList::new(),
            http_status: None,
            body: 0,
            state: State::Head,
        }
    }

    /// The next message.
    pub async fn next(&mut self) -> Next {
        if matches!(self.state, State::Head) {
            match self.incoming.head().await {
                Ok(Some(head)) => self.take_head(head.status, head.fields, head.is_all),
                Ok(None) => {}
                Err(error) => return Next::Broken(error.failure, error.unprocessed.allows(false)),
            }
        }
        loop {
            if matches!(self.state, State::Over(_)) {
                return Next::End;
            }
            match self.assembler.take() {
                Ok(Some(message)) => return Next::Message(message),
                Ok(None) => {}
                Err(status) => return self.end(status),
            }
            match self.incoming.bytes().await {
                Ok(Some(bytes)) => {
                    self.body += bytes.len() as u64;
                    self.assembler.feed(&bytes);
                }
                Ok(None) => match self.incoming.trailers().await {
                    Ok(trailers) => return self.take_trailers(trailers),
                    Err(error) => return Next::Broken(error.failure, false),
                },
                Err(error) => return Next::Broken(error.failure, false),
            }
        }
    }

    fn take_head(&mut self, http_status: u16, fields: FieldList, is_all: bool) {
        self.http_status = Some(http_status);
        let kind = field(&fields, "content-type").map(<[u8]>::to_vec);
        let is_grpc = kind.as_ref().is_some_and(|kind| kind.starts_with(b"application/grpc"));
        self.state = match Status::of_fields(&fields).filter(|_| is_all) {
            Some(status) => State::Over(status),
            None if http_status != 200 => State::Over(Status::of_http(http_status, kind.as_deref())),
            None if !is_grpc => {
                State::Over(Status::new(Code::Unknown, status::wrong_content_type(kind.as_deref())))
            }
            None if is_all => State::Over(without_trailers()),
            None => State::Messages,
        };
        if is_all {
            self.trailers = fields;
            return;
        }
        let is_gzip = field(&fields, "grpc-encoding") == Some(b"gzip");
        self.assembler = Assembler::new(self.connection.destination.receive_max, is_gzip);
        self.headers = Some(fields);
    }

    fn take_trailers(&mut self, trailers: FieldList) -> Next {
        let status = Status::of_fields(&trailers).unwrap_or_else(without_trailers);
        self.trailers = trailers;
        // A message that was cut off can have no status of success.
        let is_cut_off = status.is_ok() && !self.assembler.is_empty();
        self.end(if is_cut_off { Status::new(Code::Internal, "unexpected EOF") } else { status })
    }

    fn end(&mut self, status: Status) -> Next {
        self.state = State::Over(status);
        Next::End
    }

    /// Its status so far.
    pub fn status(&self) -> Status {
        match &self.state {
            State::Over(status) => status.clone(),
            State::Head | State::Messages => without_trailers(),
        }
    }

    /// The connection that it comes over.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// How it ended. `status` if the end was not the server's.
    pub fn ended(self, status: Option<Status>) -> Ended {
        Ended {
            status: status.unwrap_or_else(|| self.status()),
            headers: self.headers,
            trailers: self.trailers,
        }
    }
}

fn without_trailers() -> Status {
    Status::new(Code::Internal, "server closed the stream without sending trailers")
}

/// Sends the only message of an exchange. The server says why if it takes none.
pub fn send_only(outgoing: &mut Outgoing, framed: Bytes) {
    let _ = outgoing.put(framed, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_has_at_most_eight_digits() {
        for (left, expected) in [
            (Nanos(0), "0n"),
            (Nanos(99_999_999), "99999999n"),
            (Nanos::from_millis(100), "100000u"),
            (Nanos::from_secs(120), "120000m"),
            (Nanos::MAX, "5124096H"),
        ] {
            assert_eq!(timeout(left), expected);
        }
    }
}
