//! From a connection to a proxy to a connection through it.
//!
//! Connects to no proxy; see [`super::super::opening`]. Has no time limit.

use std::net::SocketAddr;
use std::sync::Arc;

use knee_core::outcome::Fault;
use rustls::ClientConfig;

use super::super::channel::{Channel, WorkerIo};
use super::super::failure::{Failure, ProxyProblem};
use super::super::origin::Origin;
use super::super::tls::Session;
use super::nested::Nested;
use super::wire::Wire;
use super::{Proxy, ProxyKind, Via, connect, socks};

/// Makes of a channel to the proxy one to `origin`, or one that requests to be forwarded are sent on. `tls` is used with
/// the proxy itself.
///
/// # Errors
///
/// If the proxy does not speak TLS as it must, or gives no way to the server.
pub async fn pass(
    mut channel: Channel,
    via: &Via,
    origin: &Origin,
    tls: Option<&Arc<ClientConfig>>,
    worker_io: WorkerIo<'_>,
) -> Result<Channel, Failure> {
    let proxy = &**via.proxy();
    let address = channel.peer().map(|peer| peer.address);
    if proxy.kind == ProxyKind::Https {
        let secured = secure(&mut channel, proxy, tls, worker_io).await;
        secured.map_err(|failure| unreached(failure, address))?;
    }
    let Via::Tunnel(_) = via else { return Ok(channel) };
    let mut wire = Wire::new(&mut channel, worker_io);
    match proxy.kind {
        ProxyKind::Socks => socks::connect(&mut wire, proxy, origin).await?,
        ProxyKind::Http | ProxyKind::Https => connect::connect(&mut wire, proxy, origin).await?,
    }
    if !wire.input.is_empty() {
        // The server speaks only when it is spoken to.
        return Err(Failure::new(Fault::Unsolicited, "the proxy sent more than its answer"));
    }
    Ok(match (proxy.kind, address) {
        (ProxyKind::Https, Some(address)) => Channel::over(address, Box::new(Nested::new(channel))),
        _ => channel,
    })
}

/// A failure before the proxy could be spoken to.
pub fn unreached(failure: Failure, address: Option<SocketAddr>) -> Failure {
    Failure { proxy: Some(Box::new(ProxyProblem::Unreached(address))), ..failure }
}

async fn secure(
    channel: &mut Channel,
    proxy: &Proxy,
    tls: Option<&Arc<ClientConfig>>,
    worker_io: WorkerIo<'_>,
) -> Result<(), Failure> {
    let config = tls.cloned().ok_or(Fault::TlsHandshake)?;
    channel.secure(Session::new(config, &proxy.host)?, worker_io).await
}
