//! Where connections go: looks names up, limits the load on public hosts, connects once.
//!
//! Does not send requests. A host counts as public unless all its addresses are loopback, private,
//! link-local, unique-local or shared (carrier-grade NAT).

use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::mpsc;

use knee_core::plan::{Executor, Plan};
use knee_core::unit::Nanos;
use knee_engine::http::settings::{AddressFamily, Settings};
use knee_engine::requests::RequestTemplate;

use crate::args::meant_command;
use crate::problem::{Problem, reason};

/// Finds the addresses of a host within a time limit.
pub type Resolve = fn(&str, u16, Nanos) -> std::io::Result<Vec<SocketAddr>>;

/// Limits for a public host without `--allow-host`: connections,
const PUBLIC_CONNECTIONS: u64 = 20;
/// planned requests per second,
const PUBLIC_RATE: f64 = 50.0;
/// or total requests.
const PUBLIC_REQUESTS: u64 = 2_000;

/// Most targets that are probed before a load; the others show in the errors of the run.
const PROBES_MAX: usize = 16;

/// A host that will be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Name or address, in lower case and without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Its addresses of the family wanted, in the resolver's order; none for a server that only a proxy can resolve.
    pub addresses: Vec<SocketAddr>,
}

impl Target {
    /// Host and port as in a URL.
    pub fn place(&self) -> String {
        if self.host.contains(':') {
            return format!("[{}]:{}", self.host, self.port);
        }
        format!("{}:{}", self.host, self.port)
    }
}

/// Every host that is connected to, each once: the proxy, or all that the requests are for; none when a Unix socket takes
/// them all.
///
/// # Errors
///
/// When a name has no address, or none of the family wanted.
pub fn targets(
    requests: &[RequestTemplate],
    settings: &Settings,
    resolve: Resolve,
) -> Result<Vec<Target>, Problem> {
    if settings.unix_socket.is_some() {
        return Ok(Vec::new());
    }
    if let Some(proxy) = &settings.proxy {
        return Ok(vec![look_up(proxy.host.clone(), proxy.port, settings, resolve)?]);
    }
    let mut targets: Vec<Target> = Vec::new();
    for request in requests {
        for (host, port) in destinations(request, settings) {
            if !targets.iter().any(|known| known.host == host && known.port == port) {
                targets.push(look_up(host, port, settings, resolve)?);
            }
        }
    }
    Ok(targets)
}

/// Every host that a proxy sends the requests to, each once; `None` without a proxy. A name that only the proxy can
/// resolve has no address.
pub fn servers(requests: &[RequestTemplate], settings: &Settings, resolve: Resolve) -> Option<Vec<Target>> {
    settings.proxy.as_ref()?;
    let mut servers: Vec<Target> = Vec::new();
    for (host, port) in requests.iter().flat_map(|request| destinations(request, settings)) {
        if !servers.iter().any(|known| known.host == host && known.port == port) {
            let addresses = resolve(&host, port, settings.connect_timeout).unwrap_or_default();
            servers.push(Target { host, port, addresses });
        }
    }
    Some(servers)
}

/// Destination of a request's connections: its own host, or the one that `--connect-to` names.
fn destinations(request: &RequestTemplate, settings: &Settings) -> Vec<(String, u16)> {
    let host = request.url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let own = (host, request.url.port_or_known_default().unwrap_or(80));
    let elsewhere: Vec<_> =
        settings.connect_to.iter().filter(|entry| entry.from == own).map(|entry| entry.to.clone()).collect();
    if elsewhere.is_empty() { vec![own] } else { elsewhere }
}

fn look_up(host: String, port: u16, settings: &Settings, resolve: Resolve) -> Result<Target, Problem> {
    let found = resolve(&host, port, settings.connect_timeout).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => Problem::new(
            format!("the name `{host}` was not resolved within {}", settings.connect_timeout),
            "check the network and the name server, or use an IP address",
        ),
        _ => Problem::new(format!("the name `{host}` does not resolve"), spelling(&host)),
    })?;
    let wanted = |address: &SocketAddr| match settings.family {
        AddressFamily::Any => true,
        AddressFamily::V4 => address.is_ipv4(),
        AddressFamily::V6 => address.is_ipv6(),
    };
    let addresses: Vec<_> = found.into_iter().filter(wanted).collect();
    if addresses.is_empty() {
        let (family, flag) = match settings.family {
            AddressFamily::V4 => ("IPv4 ", "--ipv4"),
            AddressFamily::V6 => ("IPv6 ", "--ipv6"),
            AddressFamily::Any => ("", "the flag"),
        };
        return Err(Problem::new(format!("`{host}` has no {family}address"), format!("leave out `{flag}`")));
    }
    Ok(Target { host, port, addresses })
}

/// What to do about a name that does not resolve.
fn spelling(host: &str) -> String {
    if [".js", ".mjs", ".ts"].iter().any(|ending| host.ends_with(ending)) {
        return format!("to run a script write `knee run {host}`");
    }
    if let Some(name) = (!host.contains(['.', ':'])).then(|| meant_command(host)).flatten() {
        return format!("check the spelling; did you mean the command `knee {name}`?");
    }
    "check the spelling, or use an IP address".to_owned()
}

/// Asks the system's resolver, and waits at most `limit`.
///
/// # Errors
///
/// The resolver's, or [`ErrorKind::TimedOut`].
pub fn resolve(host: &str, port: u16, limit: Nanos) -> std::io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    // The resolver blocks and cannot be cancelled; a thread that outlives its welcome does no harm.
    let (sender, receiver) = mpsc::channel();
    let host = host.to_owned();
    std::thread::spawn(move || {
        let answer = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        // The receiver is gone when the limit has passed.
        let _ = sender.send(answer);
    });
    receiver.recv_timeout(limit.into()).map_err(|_| Error::from(ErrorKind::TimedOut))?
}

/// Refuses a load above the limit on a public host that `allowed` does not name.
///
/// # Errors
///
/// When a target is public, not named, and the plan is above the limit.
pub fn refuse_public(targets: &[Target], plan: &Plan, allowed: &[String]) -> Result<(), Problem> {
    let is_allowed =
        |host: &str| allowed.iter().any(|named| named.trim_matches(['[', ']']).eq_ignore_ascii_case(host));
    let public = targets.iter().find(|target| {
        // What only a proxy can resolve is rather far away.
        let is_unknown = target.addresses.is_empty();
        let is_public = is_unknown || target.addresses.iter().any(|address| is_public(address.ip()));
        is_public && !is_allowed(&target.host)
    });
    match public {
        Some(target) if !is_little(plan) => Err(Problem::new(
            format!("this load is above the limit for a public host, `{}`", target.host),
            format!(
                "if you have permission, add `--allow-host {}`; the limit is {PUBLIC_CONNECTIONS} connections with \
                 `-q {PUBLIC_RATE}` or `-n {PUBLIC_REQUESTS}`",
                target.host
            ),
        )),
        _ => Ok(()),
    }
}

/// Whether a plan is within the limit for public hosts.
fn is_little(plan: &Plan) -> bool {
    let slow = plan.scenarios.iter().all(|scenario| match &scenario.executor {
        Executor::Open { rate, .. } => rate.peak() <= PUBLIC_RATE,
        Executor::Closed { .. } => false,
    });
    let few = plan.requests().is_some_and(|requests| requests <= PUBLIC_REQUESTS);
    plan.users_max() <= PUBLIC_CONNECTIONS && (slow || few)
}

/// Whether an address is public.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let shared = first == 100 && (64..128).contains(&second);
            !(first == 0 || shared || v4.is_loopback() || v4.is_private() || v4.is_link_local())
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped() {
                return is_public(IpAddr::V4(v4));
            }
            let local = v6.is_unique_local() || v6.is_unicast_link_local();
            !(local || v6.is_loopback() || v6.is_unspecified())
        }
    }
}

/// Opens one connection to each target (the first sixteen) or to the Unix socket and closes it, so that an unreachable
/// server is reported before any load. Sends nothing.
///
/// # Errors
///
/// When a connection is refused, times out or cannot be made.
pub fn probe(targets: &[Target], settings: &Settings) -> Result<(), Problem> {
    if let Some(path) = &settings.unix_socket {
        return probe_unix(path);
    }
    targets.iter().take(PROBES_MAX).try_for_each(|target| probe_tcp(target, settings.connect_timeout))
}

fn probe_tcp(target: &Target, limit: Nanos) -> Result<(), Problem> {
    let mut last = Error::from(ErrorKind::AddrNotAvailable);
    for address in &target.addresses {
        match TcpStream::connect_timeout(address, limit.into()) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    let place = target.place();
    Err(match last.kind() {
        ErrorKind::ConnectionRefused => {
            Problem::new(format!("`{place}` refused the connection"), "start the server, or check the port")
        }
        ErrorKind::TimedOut => Problem::new(
            format!("`{place}` did not answer within {limit}"),
            "check the address and the firewall, or give more time with `--connect-timeout`",
        ),
        _ => Problem::new(
            format!("`{place}` cannot be reached: {}", reason(&last)),
            "check the address and the network",
        ),
    })
}

fn probe_unix(path: &Path) -> Result<(), Problem> {
    std::os::unix::net::UnixStream::connect(path).map(drop).map_err(|error| {
        Problem::new(
            format!("`{}` cannot be connected to: {}", path.display(), reason(&error)),
            "start the server, or check the permissions of its socket",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_and_of_private_networks_are_not_public() {
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.1.1",
            "100.64.0.1",
            "0.0.0.0",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
            "::",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in
            ["1.1.1.1", "172.32.0.1", "100.128.0.1", "192.0.2.1", "2606:4700::1111", "::ffff:8.8.8.8"]
        {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_refused_connection_is_reported_with_its_address() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let target = Target { host: "127.0.0.1".to_owned(), port: address.port(), addresses: vec![address] };
        let settings = Settings::default();
        assert_eq!(probe(std::slice::from_ref(&target), &settings), Ok(()));
        drop(listener);
        let problem = probe(&[target], &settings).unwrap_err();
        assert_eq!(problem.what, format!("`{address}` refused the connection"));
    }
}
