//! What a sample of the responses of a run looked like: encodings, validators, and who answered how fast.
//!
//! A load generator looks at some responses per second more closely than at all others. The counts here are those of the
//! sample, not of the run. Times of servers are kept by endpoint, because what one server answers can be more work than what
//! another one does. Does not look at responses itself, and does not judge.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::plan::EndpointId;
use crate::unit::Nanos;

/// Most servers of an endpoint whose times are kept apart. A header with more values names no servers.
pub const SERVERS_MAX: usize = 32;

/// Most endpoints that are described; later ones are left out.
pub const ENDPOINTS_MAX: usize = 1_000;

/// Most endpoints whose servers are kept apart; those of later ones are left out.
pub const SERVED_MAX: usize = 64;

/// Most connections whose times are kept apart; later ones are left out.
pub const CONNECTIONS_MAX: usize = 512;

/// Most different bodies of an endpoint that are known again.
pub const BODIES_MAX: usize = 64;

/// The sampled responses of a run whose requests came due after the warm-up. Only those whose outcome is good.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sampled {
    /// By endpoint.
    pub endpoints: BTreeMap<EndpointId, Looks>,
    /// Service times by endpoint, and by the server that answered: its address, or what a header of its responses calls it.
    pub servers: BTreeMap<EndpointId, BTreeMap<String, Histogram>>,
    /// Responses of servers beyond [`SERVERS_MAX`].
    pub other_servers: u64,
    /// Service times by connection, in the order in which the connections were first sampled.
    pub connections: Vec<ConnectionTimes>,
}

/// How the sampled responses of an endpoint looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Looks {
    /// All of them.
    pub responses: u64,
    /// To requests with the method GET.
    pub gets: u64,
    /// To PUT and PATCH, which change something.
    pub writes: u64,
    /// To POST, which changes something, or asks with a body.
    pub posts: u64,
    /// With status 304: the client has the body already.
    pub not_modified: u64,
    /// With a body of text: pages, scripts, styles, JSON, XML.
    pub texts: u64,
    /// Of the texts, those whose request accepted compression.
    pub offered: u64,
    /// Of the offered, those that were compressed.
    pub compressed: u64,
    /// Bytes of the bodies that were offered and not compressed.
    pub plain_bytes: u64,
    /// To GET, with a body that is no data, so that a client could keep it: pages, scripts, styles, images, files.
    pub kept: u64,
    /// Of these, those with `ETag`, `Last-Modified` or a time for which they are fresh, and those that must not be stored.
    pub validated: u64,
    /// After which the server closes the connection, as it says, although the request did not ask for that.
    pub closing: u64,
    /// Bytes of all bodies, before content decoding.
    pub body_bytes: u64,
    /// Bytes of the bodies of the requests.
    pub sent_bytes: u64,
    /// Bytes of the shortest cookies that a request sent, 0 without any. `None` in records of earlier versions.
    pub cookie_least: Option<u64>,
    /// Bytes of the longest cookies that a request sent.
    pub cookie_most: u64,
    /// Responses with a body of 32 KiB and more that was searched for long parts that it has more than once.
    pub searched: u64,
    /// Bytes of these bodies, of the first 256 KiB of each.
    pub searched_bytes: u64,
    /// Of these, those in such parts, without the first of each.
    pub repeated_bytes: u64,
    /// CRC-32 of the first 64 KiB of the first body, and of its length as eight bytes, least significant first.
    pub body: Option<u32>,
    /// Whether another body differed from the first.
    pub bodies_differ: bool,
    /// Responses with a body whose checksum, as in `body`, an earlier one had, among the first [`BODIES_MAX`] checksums
    /// of a load generator. Zero in records of earlier versions.
    pub repeated: u64,
}

/// How fast the responses on one connection were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionTimes {
    /// Sampled responses.
    pub responses: u64,
    /// Their service times together.
    pub sum: Nanos,
    /// The shortest of them.
    pub least: Nanos,
}

impl ConnectionTimes {
    /// Adds a response.
    pub fn add(&mut self, service: Nanos) {
        self.least = if self.responses == 0 { service } else { self.least.min(service) };
        self.responses += 1;
        self.sum = self.sum.saturating_add(service);
    }

    /// The mean service time in seconds; `None` without a response.
    pub fn mean(&self) -> Option<f64> {
        (self.responses > 0).then(|| self.sum.as_secs_f64() / self.responses as f64)
    }
}

impl Sampled {
    /// Whether nothing was sampled.
    pub fn is_empty(&self) -> bool {
        self.endpoints.is_empty()
    }

    /// Adds the service time of a response of this server.
    pub fn add_server(&mut self, endpoint: EndpointId, name: &str, service: Nanos) {
        if !self.has_room_for(endpoint) {
            return;
        }
        match self.times_of(endpoint, name) {
            Some(times) => times.record(service),
            None => self.other_servers += 1,
        }
    }

    /// How the responses of an endpoint looked; `None` beyond [`ENDPOINTS_MAX`].
    pub fn looks_of(&mut self, endpoint: EndpointId) -> Option<&mut Looks> {
        let is_room = self.endpoints.len() < ENDPOINTS_MAX || self.endpoints.contains_key(&endpoint);
        is_room.then(|| self.endpoints.entry(endpoint).or_default())
    }

    /// Whether the servers of an endpoint are kept apart.
    fn has_room_for(&self, endpoint: EndpointId) -> bool {
        self.servers.len() < SERVED_MAX || self.servers.contains_key(&endpoint)
    }

    /// The times of a server; `None` beyond [`SERVERS_MAX`].
    fn times_of(&mut self, endpoint: EndpointId, name: &str) -> Option<&mut Histogram> {
        let servers = self.servers.entry(endpoint).or_default();
        if !servers.contains_key(name) {
            if servers.len() == SERVERS_MAX {
                return None;
            }
            servers.insert(name.to_owned(), Histogram::default());
        }
        servers.get_mut(name)
    }

    /// Adds what another load generator sampled of the same load. Its endpoint `id` is `known(id)` here; one without is
    /// left out.
    pub fn merge(&mut self, other: &Self, known: impl Fn(EndpointId) -> Option<EndpointId>) {
        for (id, looks) in &other.endpoints {
            if let Some(mine) = known(*id).and_then(|id| self.looks_of(id)) {
                mine.merge(looks);
            }
        }
        for (id, servers) in &other.servers {
            let Some(id) = known(*id).filter(|id| self.has_room_for(*id)) else { continue };
            for (name, times) in servers {
                match self.times_of(id, name) {
                    Some(mine) => mine.merge(times),
                    None => self.other_servers = self.other_servers.saturating_add(times.count()),
                }
            }
        }
        self.other_servers = self.other_servers.saturating_add(other.other_servers);
        let room = CONNECTIONS_MAX.saturating_sub(self.connections.len());
        self.connections.extend(other.connections.iter().take(room));
    }
}

impl Looks {
    fn merge(&mut self, other: &Self) {
        let differ = self.body.is_some() && other.body.is_some() && self.body != other.body;
        self.bodies_differ |= other.bodies_differ || differ;
        self.body = self.body.or(other.body);
        self.cookie_least = [self.cookie_least, other.cookie_least].into_iter().flatten().min();
        self.cookie_most = self.cookie_most.max(other.cookie_most);
        for (sum, more) in [
            (&mut self.responses, other.responses),
            (&mut self.gets, other.gets),
            (&mut self.writes, other.writes),
            (&mut self.posts, other.posts),
            (&mut self.not_modified, other.not_modified),
            (&mut self.texts, other.texts),
            (&mut self.offered, other.offered),
            (&mut self.compressed, other.compressed),
            (&mut self.plain_bytes, other.plain_bytes),
            (&mut self.kept, other.kept),
            (&mut self.validated, other.validated),
            (&mut self.closing, other.closing),
            (&mut self.body_bytes, other.body_bytes),
            (&mut self.sent_bytes, other.sent_bytes),
            (&mut self.repeated, other.repeated),
            (&mut self.searched, other.searched),
            (&mut self.searched_bytes, other.searched_bytes),
            (&mut self.repeated_bytes, other.repeated_bytes),
        ] {
            // A damaged record can contain any count.
            *sum = sum.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(server: &str, body: u32) -> Sampled {
        let mut sampled = Sampled::default();
        let cookie = u64::from(body);
        let looks = Looks {
            responses: 2,
            texts: 2,
            body: Some(body),
            repeated: 1,
            cookie_least: Some(cookie),
            cookie_most: cookie,
            ..Looks::default()
        };
        sampled.endpoints.insert(EndpointId(0), looks);
        sampled.add_server(EndpointId(0), server, Nanos::from_millis(3));
        let mut times = ConnectionTimes::default();
        times.add(Nanos::from_millis(3));
        sampled.connections.push(times);
        sampled
    }

    #[test]
    fn what_two_load_generators_sampled_is_added_by_endpoint_and_server() {
        let mut both = sampled("10.0.0.1:80", 1);
        both.merge(&sampled("10.0.0.2:80", 1), Some);
        both.merge(&sampled("10.0.0.1:80", 2), |_| Some(EndpointId(4)));
        both.merge(&sampled("10.0.0.1:80", 2), |_| None);
        assert_eq!(both.endpoints[&EndpointId(0)].responses, 4);
        assert_eq!(both.endpoints[&EndpointId(0)].repeated, 2);
        assert!(!both.endpoints[&EndpointId(0)].bodies_differ);
        assert_eq!(both.endpoints[&EndpointId(4)].responses, 2);
        assert_eq!(both.servers[&EndpointId(0)]["10.0.0.1:80"].count(), 1);
        assert_eq!(both.servers[&EndpointId(4)]["10.0.0.1:80"].count(), 1);
        assert_eq!((both.servers[&EndpointId(0)].len(), both.connections.len()), (2, 4));
        both.merge(&sampled("10.0.0.1:80", 9), Some);
        let looks = &both.endpoints[&EndpointId(0)];
        assert!(looks.bodies_differ);
        assert_eq!((looks.cookie_least, looks.cookie_most), (Some(1), 9));
    }

    #[test]
    fn servers_and_connections_beyond_the_limits_are_counted_or_left_out() {
        let mut all = Sampled::default();
        for number in 0..2 * SERVERS_MAX {
            all.merge(&sampled(&format!("10.0.0.{number}:80"), 1), Some);
        }
        assert_eq!((all.servers[&EndpointId(0)].len(), all.other_servers), (SERVERS_MAX, SERVERS_MAX as u64));
        for number in 0..2 * ENDPOINTS_MAX as u32 {
            all.merge(&sampled("a", 1), |_| Some(EndpointId(number)));
        }
        assert_eq!((all.servers.len(), all.endpoints.len()), (SERVED_MAX, ENDPOINTS_MAX));
        // The first endpoint had all its servers before.
        assert_eq!(all.other_servers, SERVERS_MAX as u64 + 1, "an endpoint too many is no server too many");
        all.connections.clear();
        let many = Sampled { connections: vec![ConnectionTimes::default(); 400], ..Sampled::default() };
        all.merge(&many, Some);
        all.merge(&many, Some);
        assert_eq!(all.connections.len(), CONNECTIONS_MAX);
    }
}
