//! Opens a connection that speaks HTTP/2 and belongs to one client, as gRPC has it.
//!
//! Keeps no pool (see [`super::super::transport`]) and sends no request.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use rustls::ClientConfig;

use super::super::failure::Failure;
use super::super::network::Network;
use super::super::opening::open;
use super::super::origin::Origin;
use super::super::tls::Session;
use super::connection::Http2Connection;
use crate::recorder::Marks;

/// What opening a connection came to.
pub struct Dialled {
    /// The connection, on which the server has said that it speaks HTTP/2; or why there is none.
    pub result: Result<Rc<Http2Connection>, Failure>,
    /// Durations of its phases.
    pub marks: Marks,
    /// When it ended.
    pub done: Nanos,
}

/// TLS of a connection.
#[derive(Clone, Debug)]
pub struct DialTls {
    /// The configuration.
    pub config: Arc<ClientConfig>,
    /// The name that the server's certificate must have.
    pub name: String,
}

/// Opens a connection to `origin`, with `tls` if the origin has it. Gives up at `limit`.
pub async fn dial(
    network: &Rc<Network>,
    origin: &Arc<Origin>,
    tls: Option<&DialTls>,
    limit: Nanos,
) -> Dialled {
    let mut marks = Marks::default();
    let late = Cell::new(Fault::ConnectTimeout);
    let deadline = network.deadlines.add_user();
    let ended = {
        let working = pin!(connect(network, origin, tls, &mut marks, &late));
        deadline.limit(limit, working).await
    };
    let mut done = network.clock.now();
    let result = ended.unwrap_or_else(|_| {
        done = limit;
        Err(late.get().into())
    });
    Dialled { result, marks, done }
}

async fn connect(
    network: &Rc<Network>,
    origin: &Arc<Origin>,
    tls: Option<&DialTls>,
    marks: &mut Marks,
    late: &Cell<Fault>,
) -> Result<Rc<Http2Connection>, Failure> {
    let number = network.resolver.next_client();
    // The certificate can be for another name than that of the address, so TLS comes afterwards.
    let plain = Origin { tls: false, ..(**origin).clone() };
    let mut channel = open(network, &plain, None, number, marks, late).await?;
    if origin.tls {
        let begun = network.clock.now();
        let DialTls { config, name } = tls.ok_or(Fault::TlsHandshake)?;
        channel.secure(Session::new(config.clone(), name)?, network.worker_io()).await?;
        marks.tls += network.clock.now().since(begun);
        if channel.protocol() != Some(b"h2") {
            return Err(Fault::H2NotSpoken.into());
        }
    }
    let place = network.count_opened(channel.peer().map(|peer| peer.address.ip()));
    let settings = &network.settings;
    let begun =
        Http2Connection::begin(settings, network.clock, network.scratch(), channel, origin, place).await?;
    // A server of HTTP/2 says so at once (RFC 9113, 3.4).
    poll_fn(|ctx| begun.shared.poll_heard(ctx)).await;
    if begun.shared.is_http1.get() {
        return Err(Fault::H2NotSpoken.into());
    }
    if begun.is_usable() {
        return Ok(begun);
    }
    let known = begun.shared.broken.borrow().clone();
    Err(known.unwrap_or_else(|| Fault::ClosedEarly.into()))
}
