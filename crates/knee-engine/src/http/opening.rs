//! Opening a channel: name, TCP or Unix socket, proxy, TLS.
//!
//! Has no time limit and keeps nothing open; see [`super::client`] and [`super::transport`].

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use rustls::ClientConfig;

use super::channel::Channel;
use super::dial::race;
use super::failure::Failure;
use super::network::Network;
use super::origin::{Origin, destination};
use super::proxy::Via;
use super::proxy::tunnel::{pass, unreached};
use super::tls::Session;
use crate::recorder::Marks;

/// Opens a channel: name, TCP or Unix socket, the way through a proxy, TLS with the given configuration. Adds the
/// duration of each to `marks` and keeps in `late` the fault that a timeout would be now. The proxy is part of
/// connecting.
pub async fn open(
    network: &Network,
    origin: &Origin,
    tls: Option<&Arc<ClientConfig>>,
    connection_index: usize,
    marks: &mut Marks,
    late: &Cell<Fault>,
) -> Result<Channel, Failure> {
    let (mut channel, begun) = if let Some(path) = &network.settings.unix_socket {
        let begun = network.clock.now();
        (Channel::unix(path).await?, begun)
    } else {
        reach(network, origin, connection_index, marks, late).await?
    };
    if let Some(via) = &origin.via {
        // On the heap: a proxy is rare, and the state is large.
        let passing = pass(channel, via, origin, network.tls_http1(), network.worker_io());
        channel = Box::pin(passing).await?;
    }
    let connected = network.clock.now();
    marks.connect += connected.since(begun).max(Nanos(1));
    if origin.tls {
        let config = tls.cloned().ok_or(Fault::TlsHandshake)?;
        let session = Session::new(config, &origin.host)?;
        channel.secure(session, network.worker_io()).await?;
        marks.tls += network.clock.now().since(connected);
    }
    Ok(channel)
}

/// Connects to the first machine on the way: the server, or its proxy, to which the rules for hosts then apply. Returns
/// when connecting began too.
async fn reach(
    network: &Network,
    origin: &Origin,
    connection_index: usize,
    marks: &mut Marks,
    late: &Cell<Fault>,
) -> Result<(Channel, Nanos), Failure> {
    let settings = &*network.settings;
    let mut begun = network.clock.now();
    let proxy = origin.via.as_ref().map(Via::proxy);
    let failed = |failure, addresses: &[SocketAddr]| {
        if proxy.is_none() { failure } else { unreached(failure, addresses.first().copied()) }
    };
    settings
        .host_rules
        .check_name(proxy.map_or(&origin.host, |proxy| &proxy.host))
        .map_err(|one| failed(one, &[]))?;
    let (host, port) = match proxy {
        Some(proxy) => (&*proxy.host, proxy.port),
        None => destination(settings, origin, connection_index),
    };
    let fixed = settings.host_rules.address_for(host, port);
    let addresses = if let Some(address) = fixed {
        Rc::new([address])
    } else if let Some(known) = network.addresses.borrow().find(host, port) {
        known
    } else {
        late.set(Fault::DnsTimeout);
        let found = look_up(network, host, port).await.map_err(|one| failed(one, &[]))?;
        let looked_up = network.clock.now();
        marks.dns += looked_up.since(begun);
        begun = looked_up;
        found
    };
    let addresses = settings.host_rules.within_targets(host, fixed.is_none(), addresses);
    let addresses = addresses.map_err(|one| failed(one, &[]))?;
    let addresses =
        settings.host_rules.choose(addresses, connection_index).map_err(|one| failed(one, &[]))?;
    late.set(Fault::ConnectTimeout);
    let connected = connect_any(network, host, port, &addresses).await;
    Ok((connected.map_err(|one| failed(one, &addresses))?, begun))
}

/// Looks up a name on a thread that can block, once for all clients of the worker.
async fn look_up(network: &Network, host: &str, port: u16) -> Result<Rc<[SocketAddr]>, Failure> {
    let _guard = network.lookup.lock().await;
    // Another client can have looked it up meanwhile.
    if let Some(known) = network.addresses.borrow().find(host, port) {
        return Ok(known);
    }
    let (resolver, family) = (network.resolver.clone(), network.settings.family);
    let name = host.to_owned();
    let found = tokio::task::spawn_blocking(move || resolver.resolve(&name, port, family))
        .await
        .map_err(|error| Failure::new(Fault::GeneratorOther, error))??;
    let found: Rc<[SocketAddr]> = found.iter().copied().collect();
    network.addresses.borrow_mut().keep(host, port, found.clone());
    Ok(found)
}

/// Connects to one of `addresses`; if that is not the first one, it is tried first from then on.
async fn connect_any(
    network: &Network,
    host: &str,
    port: u16,
    addresses: &[SocketAddr],
) -> Result<Channel, Failure> {
    if let [address] = addresses {
        return connect(network, *address).await;
    }
    let (address, channel) = race(addresses, &network.timer, |address| connect(network, address)).await?;
    if addresses.first() != Some(&address) {
        network.addresses.borrow_mut().prefer(host, port, address);
    }
    Ok(channel)
}

/// Connects to an address, through the network of the system unless another one was given.
async fn connect(network: &Network, address: SocketAddr) -> Result<Channel, Failure> {
    let Some(dialer) = &network.dialer else { return Channel::tcp(address).await };
    let stream = dialer.dial(address).await.map_err(|error| Failure::opening(&error))?;
    Ok(Channel::over(address, stream))
}
