//! Rules for hosts: fixed addresses of names, blocked names and networks, the choice among the
//! addresses of a name.
//!
//! Pure. Does not resolve names and does not connect.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::str::FromStr;

use knee_core::outcome::Fault;

use super::failure::{Blocked, Failure};

/// The rules of a run; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRules {
    /// Names with a fixed address, for which no DNS server is asked.
    pub overrides: Vec<Override>,
    /// Names that must not receive requests.
    pub blocked_names: Vec<NamePattern>,
    /// Networks that must not receive requests.
    pub blocked_networks: Vec<IpNetwork>,
    /// The only targets that can receive requests; any if `None`.
    pub only: Option<Vec<Target>>,
    /// Which addresses of a name can be used.
    pub policy: Policy,
    /// Which of them is tried first.
    pub select: Select,
}

/// Which addresses of a name can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// All.
    #[default]
    Any,
    /// IPv4 addresses, or others if there are none.
    PreferV4,
    /// IPv6 addresses, or others if there are none.
    PreferV6,
    /// IPv4 addresses only.
    OnlyV4,
    /// IPv6 addresses only.
    OnlyV6,
}

/// Which address a new connection tries first; if it fails, the others follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Select {
    /// The first one, or the one that last accepted a connection after others failed.
    #[default]
    First,
    /// Each in turn.
    RoundRobin,
    /// A random one.
    Random,
}

/// A host name, or all names with the same ending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamePattern {
    /// The pattern in lower case.
    text: String,
}

impl NamePattern {
    /// A pattern from a name; a leading `*` matches any beginning.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_ascii_lowercase() }
    }

    /// Whether the pattern matches `host`.
    pub fn fits(&self, host: &str) -> bool {
        let host = host.as_bytes();
        match self.text.strip_prefix('*') {
            Some(end) => {
                host.len() > end.len() && host[host.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes())
            }
            None => host.eq_ignore_ascii_case(self.text.as_bytes()),
        }
    }

    /// How specific the pattern is: longer ones more, whole names most.
    fn weight(&self) -> usize {
        if self.text.starts_with('*') { self.text.len() } else { usize::MAX }
    }
}

/// A host or a network that can receive requests, on one port or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which.
    pub place: TargetPlace,
    /// The port; all if `None`.
    pub port: Option<u16>,
}

/// Where a target is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetPlace {
    /// A host, at whatever addresses its name has.
    Host(NamePattern),
    /// Addresses.
    Network(IpNetwork),
}

/// The fixed address of a name, for one port or all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    name: NamePattern,
    port: Option<u16>,
    to: IpAddr,
    to_port: Option<u16>,
}

impl Override {
    /// From `name` or `name:port` to `address` or `address:port`; `None` if either is malformed.
    pub fn new(from: &str, to: &str) -> Option<Self> {
        let (name, port) = match from.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') => (name, Some(port.parse().ok()?)),
            _ => (from.trim_matches(['[', ']']), None),
        };
        let (to, to_port) = match (to.trim_matches(['[', ']']).parse(), SocketAddr::from_str(to)) {
            (Ok(address), _) => (address, None),
            (_, Ok(socket)) => (socket.ip(), Some(socket.port())),
            _ => return None,
        };
        Some(Self { name: NamePattern::new(name), port, to, to_port })
    }
}

/// A range of addresses, written `10.0.0.0/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    bits: u8,
}

impl FromStr for IpNetwork {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(drop)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(most), str::parse).map_err(drop)?;
        if bits <= most { Ok(Self { address, bits }) } else { Err(()) }
    }
}

impl From<IpAddr> for IpNetwork {
    fn from(address: IpAddr) -> Self {
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }
}

impl IpNetwork {
    /// Whether `address` is in this range.
    pub fn contains(self, address: IpAddr) -> bool {
        let shift = |width: u8| u32::from(width - self.bits);
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()).checked_shr(shift(128)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

impl HostRules {
    /// Fails for a blocked host name.
    pub fn check_name(&self, host: &str) -> Result<(), Failure> {
        match self.blocked_names.iter().find(|pattern| pattern.fits(host)) {
            Some(pattern) => {
                let words = format!("hostname ({host}) is in a blocked pattern ({})", pattern.text);
                Err(Failure::blocked(Blocked::Name, words))
            }
            None => Ok(()),
        }
    }

    /// The address of a host by the most specific override that matches.
    pub fn address_for(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let fitting =
            self.overrides.iter().filter(|one| one.name.fits(host) && one.port.is_none_or(|own| own == port));
        let best = fitting.max_by_key(|one| (one.port.is_some(), one.name.weight()))?;
        Some(SocketAddr::new(best.to, best.to_port.unwrap_or(port)))
    }

    /// The addresses of a host that can receive requests, if only some targets can. A name counts only if its addresses
    /// were looked up: an override of the run could name any address.
    pub fn within_targets(
        &self,
        host: &str,
        looked_up: bool,
        all: Rc<[SocketAddr]>,
    ) -> Result<Rc<[SocketAddr]>, Failure> {
        let Some(only) = &self.only else { return Ok(all) };
        let is_target = |address: &&SocketAddr| {
            only.iter().filter(|target| target.port.is_none_or(|port| port == address.port())).any(|target| {
                match &target.place {
                    TargetPlace::Host(name) => looked_up && name.fits(host),
                    TargetPlace::Network(network) => network.contains(address.ip()),
                }
            })
        };
        let left: Rc<[SocketAddr]> = all.iter().filter(is_target).copied().collect();
        if left.is_empty() {
            let words = format!("{host} is not among the targets that this agent loads");
            return Err(Failure::blocked(Blocked::Address, words));
        }
        Ok(left)
    }

    /// The addresses to try, in order, among `all` addresses of a name.
    pub fn choose(
        &self,
        all: Rc<[SocketAddr]>,
        connection_index: usize,
    ) -> Result<Rc<[SocketAddr]>, Failure> {
        if self.policy == Policy::Any && self.select == Select::First && self.blocked_networks.is_empty() {
            return Ok(all);
        }
        let mut chosen = self.family(&all);
        if chosen.is_empty() {
            return Err(Failure::new(Fault::DnsNotFound, "the host has no address of the requested family"));
        }
        let first = match self.select {
            Select::First => 0,
            Select::RoundRobin => connection_index % chosen.len(),
            // Spreads consecutive numbers (Knuth's multiplicative hash).
            Select::Random => {
                ((connection_index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize % chosen.len()
            }
        };
        chosen.rotate_left(first);
        let blocked = |address: &SocketAddr| {
            self.blocked_networks.iter().find(|network| network.contains(address.ip()))
        };
        if let Some(network) = blocked(&chosen[0]) {
            let (ip, IpNetwork { address, bits }) = (chosen[0].ip(), *network);
            let words = format!("IP ({ip}) is in a blacklisted range ({address}/{bits})");
            return Err(Failure::blocked(Blocked::Address, words));
        }
        chosen.retain(|address| blocked(address).is_none());
        Ok(chosen.into())
    }

    fn family(&self, all: &[SocketAddr]) -> Vec<SocketAddr> {
        let of = |wanted: bool| all.iter().copied().filter(move |address| address.is_ipv4() == wanted);
        let preferred = |wanted: bool| {
            let found: Vec<_> = of(wanted).collect();
            if found.is_empty() { all.to_vec() } else { found }
        };
        match self.policy {
            Policy::Any => all.to_vec(),
            Policy::PreferV4 => preferred(true),
            Policy::PreferV6 => preferred(false),
            Policy::OnlyV4 => of(true).collect(),
            Policy::OnlyV6 => of(false).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Rc<[SocketAddr]> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn with_targets_all_other_addresses_are_blocked_and_an_override_is_no_name() {
        let target = |place, port| Target { place, port };
        let only = Some(vec![
            target(TargetPlace::Host(NamePattern::new("shop")), Some(80)),
            target(TargetPlace::Network("10.0.0.0/8".parse().unwrap()), None),
        ]);
        let rules = HostRules { only, ..HostRules::default() };
        let left = |host: &str, looked_up, texts: &[&str]| {
            let found = rules.within_targets(host, looked_up, addresses(texts));
            found.map(|found| found.len()).map_err(|failure| failure.blocked)
        };
        assert_eq!(left("Shop", true, &["1.1.1.1:80"]), Ok(1));
        assert_eq!(left("other", true, &["10.1.1.1:9", "1.1.1.1:9"]), Ok(1));
        for (host, looked_up, address) in
            [("shop", true, "1.1.1.1:81"), ("shop", false, "1.1.1.1:80"), ("other", true, "1.1.1.1:80")]
        {
            assert_eq!(left(host, looked_up, &[address]), Err(Some(Blocked::Address)), "{host} {address}");
        }
    }

    #[test]
    fn the_most_specific_override_wins() {
        let overrides = [
            ("h", "1.1.1.1"),
            ("*.h", "2.2.2.2"),
            ("*.b.h", "3.3.3.3"),
            ("h:81", "4.4.4.4:5"),
            ("::1", "[::2]:6"),
        ];
        let overrides = overrides.map(|(from, to)| Override::new(from, to).unwrap()).to_vec();
        let host_rules = HostRules { overrides, ..HostRules::default() };
        for (host, port, found) in [
            ("h", 80, Some("1.1.1.1:80")),
            ("H", 80, Some("1.1.1.1:80")),
            ("h", 81, Some("4.4.4.4:5")),
            ("a.h", 80, Some("2.2.2.2:80")),
            ("a.b.h", 80, Some("3.3.3.3:80")),
            ("::1", 80, Some("[::2]:6")),
            (".h", 80, None),
            ("other", 80, None),
        ] {
            assert_eq!(
                host_rules.address_for(host, port),
                found.map(|found| found.parse().unwrap()),
                "{host}:{port}"
            );
        }
        assert_eq!(Override::new("h", "not an address"), None);
    }

    #[test]
    fn networks_contain_their_addresses_and_no_others() {
        for (network, address, contains) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "1.2.3.4", true),
            ("127.0.0.7/32", "127.0.0.7", true),
            ("127.0.0.7", "127.0.0.8", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("::/0", "::1", true),
            ("fe80::/10", "fe80::1", true),
            ("fe80::/10", "::1", false),
        ] {
            assert_eq!(
                network.parse::<IpNetwork>().unwrap().contains(address.parse().unwrap()),
                contains,
                "{network} {address}"
            );
        }
        assert!("10.0.0.0/33".parse::<IpNetwork>().is_err());
    }

    #[test]
    fn blocked_names_and_addresses_fail_with_a_reason() {
        let host_rules = HostRules {
            blocked_names: vec![NamePattern::new("*.bad")],
            blocked_networks: vec!["10.0.0.0/8".parse().unwrap()],
            ..HostRules::default()
        };
        assert_eq!(host_rules.check_name("x.bad").unwrap_err().blocked, Some(Blocked::Name));
        assert!(host_rules.check_name("bad").is_ok());
        let failure = host_rules.choose(addresses(&["10.0.0.1:1", "1.1.1.1:1"]), 0).unwrap_err();
        assert_eq!(failure.message.unwrap(), "IP (10.0.0.1) is in a blacklisted range (10.0.0.0/8)");
        let left = host_rules.choose(addresses(&["1.1.1.1:1", "10.0.0.1:1"]), 0).unwrap();
        assert_eq!(left, addresses(&["1.1.1.1:1"]));
    }

    #[test]
    fn family_and_connection_index_decide_which_address_is_first() {
        let all = addresses(&["[::1]:1", "1.1.1.1:1", "2.2.2.2:1"]);
        let choose = |policy, select, connection_index| {
            HostRules { policy, select, ..HostRules::default() }.choose(all.clone(), connection_index)
        };
        assert_eq!(choose(Policy::Any, Select::First, 5).unwrap(), all);
        assert_eq!(
            choose(Policy::PreferV4, Select::RoundRobin, 1).unwrap(),
            addresses(&["2.2.2.2:1", "1.1.1.1:1"])
        );
        assert_eq!(choose(Policy::OnlyV6, Select::Random, 1).unwrap(), addresses(&["[::1]:1"]));
        let v4 = addresses(&["1.1.1.1:1"]);
        assert!(HostRules { policy: Policy::OnlyV6, ..HostRules::default() }.choose(v4, 0).is_err());
    }
}
