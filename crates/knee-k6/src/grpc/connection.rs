//! The connection of one client: opened by `connect`, and again when a call finds it closed.
//!
//! Sends nothing. A connection that could not be opened again is left alone for a while, as grpc-go leaves it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use knee_core::unit::Nanos;
use knee_engine::http::failure::Failure;
use knee_engine::http::http2::connection::Http2Connection;
use knee_engine::http::http2::dialling::{DialTls, dial};
use knee_engine::http::network::Network;
use knee_engine::http::origin::Origin;
use knee_engine::recorder::Marks;

use super::status::{Code, Status};

/// How long a connection is left alone after it could not be opened: at first, and at most. Each time it is longer by
/// the factor (gRPC's "Connection Backoff").
const PAUSE: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_secs(120));
const FACTOR: f64 = 1.6;

/// Where a client is connected to, and how.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Host and port.
    pub origin: Arc<Origin>,
    /// TLS, if it is used.
    pub tls: Option<DialTls>,
    /// The address as the script gives it.
    pub address: Rc<str>,
    /// What is sent as `:authority`; the address if there is none.
    pub authority: Option<String>,
    /// Most bytes of a message that is received.
    pub receive_max: usize,
    /// Most bytes of a message that is sent.
    pub send_max: usize,
}

/// The connection of one client.
pub struct Connection {
    /// Where it leads.
    pub destination: Destination,
    current: RefCell<Option<Rc<Http2Connection>>>,
    /// Held while it is opened, so that it is opened once.
    opening: tokio::sync::Mutex<()>,
    /// Why it could not be opened, and until when that counts.
    refused: RefCell<Option<(Failure, Nanos)>>,
    pause: Cell<Nanos>,
    is_closed: Cell<bool>,
    /// Wakes what waits for its end.
    closed: tokio::sync::Notify,
}

/// The status of calls and streams that are open when the script closes the client.
pub fn closing() -> Status {
    Status::new(Code::Canceled, "grpc: the client connection is closing")
}

/// A connection that a call can use.
pub struct Usable {
    /// The connection.
    pub http2: Rc<Http2Connection>,
    /// Whether it was opened for the call, and the durations of its phases.
    pub opened: Option<Marks>,
}

impl Connection {
    /// Connects; gives up at `limit`.
    pub async fn open(
        network: &Rc<Network>,
        destination: Destination,
        limit: Nanos,
    ) -> Result<Self, Failure> {
        let connection = Self {
            destination,
            current: RefCell::default(),
            opening: tokio::sync::Mutex::default(),
            refused: RefCell::default(),
            pause: Cell::new(PAUSE.0),
            is_closed: Cell::new(false),
            closed: tokio::sync::Notify::new(),
        };
        connection.usable(network, limit).await?;
        Ok(connection)
    }

    /// The connection, opened again if it was closed.
    pub async fn usable(&self, network: &Rc<Network>, limit: Nanos) -> Result<Usable, Failure> {
        if let Some(http2) = self.open_one() {
            return Ok(Usable { http2, opened: None });
        }
        let _opening = self.opening.lock().await;
        if let Some(http2) = self.open_one() {
            return Ok(Usable { http2, opened: None });
        }
        if let Some((failure, until)) = &*self.refused.borrow()
            && network.clock.now() < *until
        {
            return Err(failure.clone());
        }
        let Destination { origin, tls, .. } = &self.destination;
        let dialled = Box::pin(dial(network, origin, tls.as_ref(), limit)).await;
        match dialled.result {
            Ok(http2) => {
                self.current.replace(Some(http2.clone()));
                self.refused.replace(None);
                self.pause.set(PAUSE.0);
                Ok(Usable { http2, opened: Some(dialled.marks) })
            }
            Err(failure) => {
                let pause = self.pause.get();
                self.refused.replace(Some((failure.clone(), dialled.done.saturating_add(pause))));
                let next = Nanos::from_secs_f64(pause.as_secs_f64() * FACTOR);
                self.pause.set(next.min(PAUSE.1));
                Err(failure)
            }
        }
    }

    /// The script closes the client: what is under way ends.
    pub fn close(&self) {
        self.is_closed.set(true);
        self.current.replace(None);
        self.closed.notify_waiters();
    }

    /// Does work; `None` if the script closes the client before it is done.
    pub async fn unless_closed<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut closed = pin!(self.closed.notified());
        closed.as_mut().enable();
        if self.is_closed.get() {
            return None;
        }
        let mut work = pin!(work);
        poll_fn(|ctx| {
            if let Poll::Ready(done) = work.as_mut().poll(ctx) {
                return Poll::Ready(Some(done));
            }
            closed.as_mut().poll(ctx).map(|()| None)
        })
        .await
    }

    fn open_one(&self) -> Option<Rc<Http2Connection>> {
        self.current.borrow().clone().filter(|http2| http2.is_usable())
    }
}
