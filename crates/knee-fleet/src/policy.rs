//! What an agent lets itself be used for, for every signer: which targets, and how much.
//!
//! Does not look names up; it judges the addresses that were found.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use knee_core::unit::Nanos;

/// Networks in which clouds hand out credentials: never a target. Link-local addresses whole, and those that providers chose
/// elsewhere; some through the prefix that stands for IPv4 behind NAT64.
pub const METADATA: [&str; 9] = [
    "169.254.0.0/16",
    "fe80::/10",
    "fd00:ec2::/32",
    "fd20:ce::254",
    "100.100.100.200",
    "192.0.0.192",
    "168.63.129.16",
    "64:ff9b::a9fe:0/112",
    "64:ff9b::6464:64c8",
];

/// What a job would load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extent {
    /// Where requests would go.
    pub destinations: Vec<Destination>,
    /// Whether a script chooses where requests go: they are checked when connections are opened.
    pub scripted: bool,
    /// Highest arrival rate of this agent, requests per second; 0 if requests wait for responses.
    pub rate: f64,
    /// Most users of this agent at a time.
    pub users: u64,
    /// How long; `None` without an end in time.
    pub duration: Option<Nanos>,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Name or address, without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The addresses of the name.
    pub addresses: Vec<IpAddr>,
}

/// Which destinations a rule allows: a host name, an address or a network, with a port or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRule {
    /// Where.
    pub place: Place,
    /// Which port; all if `None`.
    pub port: Option<u16>,
}

/// A host, or a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host's name, in lower case.
    Name(String),
    /// An address, and the length of the prefix that counts.
    Network(IpAddr, u8),
}

impl fmt::Display for TargetRule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, self.port) {
            (Place::Name(name), None) => to.write_str(name),
            (Place::Name(name), Some(port)) => write!(to, "{name}:{port}"),
            (Place::Network(address, length), None) => write!(to, "{address}/{length}"),
            (Place::Network(address, length), Some(port)) => write!(to, "[{address}/{length}]:{port}"),
        }
    }
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a target: write a host, an address or a network, as in `service:8080`, `10.0.0.0/8` or `[::1]:80`"
)]
pub struct RuleError(String);

impl FromStr for TargetRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError(text.to_owned());
        if let Some(network) = network(text) {
            return Ok(Self { place: network, port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Some(network) = network(bare) {
            return Ok(Self { place: network, port });
        }
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        if host.is_empty() || !host.bytes().all(fits) {
            return Err(wrong());
        }
        Ok(Self { place: Place::Name(host.to_ascii_lowercase()), port })
    }
}

/// An address, or a network as address and length of its prefix.
fn network(text: &str) -> Option<Place> {
    let (address, length) = match text.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u8>().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = length.unwrap_or(bits);
    (length <= bits).then_some(Place::Network(address, length))
}

fn is_within(address: IpAddr, network: IpAddr, length: u8) -> bool {
    let same = |one: u128, other: u128, bits: u32| {
        let shift = bits.saturating_sub(u32::from(length));
        shift >= bits || one >> shift == other >> shift
    };
    match (address.to_canonical(), network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            same(u128::from(one.to_bits()), u128::from(other.to_bits()), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => same(one.to_bits(), other.to_bits(), 128),
        _ => false,
    }
}

impl TargetRule {
    fn allows(&self, to: &Destination) -> bool {
        let port = self.port.is_none_or(|port| port == to.port);
        port && match &self.place {
            Place::Name(name) => to.host.eq_ignore_ascii_case(name),
            Place::Network(network, length) => {
                let within = |address: &IpAddr| is_within(*address, *network, *length);
                !to.addresses.is_empty() && to.addresses.iter().all(within)
            }
        }
    }
}

/// The ceilings of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Where it sends requests; nowhere if empty.
    pub targets: Vec<TargetRule>,
    /// Most arrivals per second.
    pub rate_max: f64,
    /// Most users.
    pub users_max: u64,
    /// Longest load.
    pub duration_max: Nanos,
}

/// Why an agent does not do its part of a job.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Forbidden {
    /// A destination that no rule allows.
    #[error("{0} is not among the `targets` of the agent")]
    Target(String),
    /// An address of a cloud's metadata service.
    #[error("{0} is the address of a cloud's metadata service, which is never loaded")]
    Metadata(IpAddr),
    /// Nothing is known about where requests go.
    #[error("the job names no target")]
    NoTarget,
    /// Too many arrivals.
    #[error("{asked} requests/s are above the agent's `max_rate` of {allowed}")]
    Rate {
        /// Those of the job.
        asked: f64,
        /// The ceiling.
        allowed: f64,
    },
    /// Too many users.
    #[error("{asked} users are above the agent's `max_users` of {allowed}")]
    Users {
        /// Those of the job.
        asked: u64,
        /// The ceiling.
        allowed: u64,
    },
    /// Too long.
    #[error("{asked} is longer than the agent's `max_duration` of {allowed}")]
    Duration {
        /// That of the job.
        asked: Nanos,
        /// The ceiling.
        allowed: Nanos,
    },
}

impl Policy {
    /// Whether a job is allowed.
    ///
    /// # Errors
    /// The first reason why not.
    pub fn check(&self, extent: &Extent) -> Result<(), Forbidden> {
        if extent.destinations.is_empty() && (!extent.scripted || self.targets.is_empty()) {
            return Err(Forbidden::NoTarget);
        }
        for to in &extent.destinations {
            self.check_destination(to)?;
        }
        // A rate that is no number is above every ceiling.
        if extent.rate.is_nan() || extent.rate > self.rate_max {
            return Err(Forbidden::Rate { asked: extent.rate, allowed: self.rate_max });
        }
        if extent.users > self.users_max {
            return Err(Forbidden::Users { asked: extent.users, allowed: self.users_max });
        }
        match extent.duration {
            Some(asked) if asked > self.duration_max => {
                Err(Forbidden::Duration { asked, allowed: self.duration_max })
            }
            _ => Ok(()),
        }
    }

    /// When a load that begins at `start` ends at the latest.
    pub fn ends(&self, start: Nanos) -> Nanos {
        start.saturating_add(self.duration_max)
    }

    fn check_destination(&self, to: &Destination) -> Result<(), Forbidden> {
        let written = to.host.parse::<IpAddr>().ok();
        for address in to.addresses.iter().chain(&written).map(IpAddr::to_canonical) {
            let within = |text: &str| matches!(network(text), Some(Place::Network(known, length)) if is_within(address, known, length));
            if METADATA.iter().any(|text| within(text)) {
                return Err(Forbidden::Metadata(address));
            }
        }
        if self.targets.iter().any(|rule| rule.allows(to)) {
            return Ok(());
        }
        let host = if to.host.contains(':') { format!("[{}]", to.host) } else { to.host.clone() };
        Err(Forbidden::Target(format!("{host}:{}", to.port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(targets: &[&str]) -> Policy {
        Policy {
            targets: targets.iter().map(|text| text.parse().unwrap()).collect(),
            rate_max: 1_000.0,
            users_max: 100,
            duration_max: Nanos::from_secs(60),
        }
    }

    fn extent(host: &str, port: u16, addresses: &[&str]) -> Extent {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let destinations = vec![Destination { host: host.to_owned(), port, addresses }];
        Extent { destinations, scripted: false, rate: 10.0, users: 5, duration: Some(Nanos::from_secs(10)) }
    }

    #[test]
    fn a_target_is_allowed_by_name_address_or_network_and_by_port() {
        let allowed = policy(&["service:8080", "10.0.0.0/8", "[fd12::1]:443", "127.0.0.1:80"]);
        for (host, port, addresses) in [
            ("service", 8080, vec!["192.0.2.1"]),
            ("SERVICE", 8080, vec!["192.0.2.1"]),
            ("other", 1234, vec!["10.1.2.3", "10.255.0.1"]),
            ("10.0.0.1", 1, vec!["10.0.0.1"]),
            ("fd12::1", 443, vec!["fd12::1"]),
            ("localhost", 80, vec!["127.0.0.1"]),
        ] {
            assert_eq!(allowed.check(&extent(host, port, &addresses)), Ok(()), "{host}:{port}");
        }
        for (host, port, addresses) in [
            ("service", 8081, vec!["192.0.2.1"]),
            ("service.evil", 8080, vec!["192.0.2.1"]),
            ("other", 1234, vec!["10.1.2.3", "192.0.2.1"]),
            ("other", 1234, vec![]),
            ("fd12::1", 80, vec!["fd12::1"]),
            ("127.0.0.1", 8080, vec!["127.0.0.1"]),
        ] {
            let refused = allowed.check(&extent(host, port, &addresses));
            assert!(matches!(refused, Err(Forbidden::Target(_))), "{host}:{port}: {refused:?}");
        }
    }

    #[test]
    fn an_agent_without_targets_loads_nothing() {
        assert!(policy(&[]).check(&extent("service", 80, &["10.0.0.1"])).is_err());
        let nowhere = Extent { destinations: Vec::new(), ..extent("a", 1, &[]) };
        assert_eq!(policy(&["0.0.0.0/0"]).check(&nowhere), Err(Forbidden::NoTarget));
    }

    #[test]
    fn metadata_services_are_never_loaded_under_any_name() {
        let all = policy(&["0.0.0.0/0", "::/0", "service", "169.254.169.254"]);
        for (host, addresses) in [
            ("169.254.169.254", vec![]),
            ("service", vec!["10.0.0.1", "169.254.169.254"]),
            ("service", vec!["::ffff:169.254.169.254"]),
            ("fd00:ec2::254", vec!["fd00:ec2::254"]),
            ("service", vec!["169.254.170.23"]),
            ("service", vec!["64:ff9b::169.254.169.254"]),
        ] {
            let refused = all.check(&extent(host, 80, &addresses));
            assert!(matches!(refused, Err(Forbidden::Metadata(_))), "{host}: {refused:?}");
        }
    }

    #[test]
    fn every_ceiling_holds() {
        let allowed = policy(&["service"]);
        let fits = extent("service", 80, &["10.0.0.1"]);
        assert_eq!(allowed.check(&Extent { rate: 1_000.0, users: 100, ..fits.clone() }), Ok(()));
        for (extent, word) in [
            (Extent { rate: 1_000.1, ..fits.clone() }, "max_rate"),
            (Extent { rate: f64::NAN, ..fits.clone() }, "max_rate"),
            (Extent { users: 101, ..fits.clone() }, "max_users"),
            (Extent { duration: Some(Nanos::from_secs(61)), ..fits.clone() }, "max_duration"),
        ] {
            let refused = allowed.check(&extent).unwrap_err().to_string();
            assert!(refused.contains(word), "{refused}");
        }
    }

    #[test]
    fn texts_that_are_no_targets_are_refused() {
        for text in ["", ":80", "a:b", "10.0.0.0/33", "a b", "http://a", "*"] {
            assert!(text.parse::<TargetRule>().is_err(), "{text}");
        }
    }
}
