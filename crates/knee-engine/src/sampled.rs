//! Adds up how sampled responses looked, over all workers of a run.
//!
//! Searches the bodies that workers copied for what they repeat, after the load. Does not look at responses;
//! [`crate::http::sampling`] does.

use std::collections::{BTreeMap, BTreeSet};

use knee_core::plan::EndpointId;
use knee_core::sampled::{BODIES_MAX, CONNECTIONS_MAX, ConnectionTimes, Looks, Sampled};

use crate::http::sampling::copies::BodyCopy;
use crate::http::sampling::{ServerId, Traits};
use crate::recorder::SampledResponse;

mod parts;

/// The sampled responses of a run so far.
#[derive(Debug, Default)]
pub struct CollectedLooks {
    sampled: Sampled,
    /// The names of the servers that each worker met.
    servers: Vec<Vec<String>>,
    /// Where the connections of each worker are in the list of all.
    connections: BTreeMap<(usize, u32), usize>,
    /// Checksums of the different bodies of each endpoint.
    bodies: BTreeMap<EndpointId, BTreeSet<u32>>,
    /// Endpoints of the responses whose bodies were copied, by worker and number of the copy.
    copied: BTreeMap<(usize, u32), EndpointId>,
    /// The copies of each worker.
    copies: Vec<(usize, BodyCopy)>,
}

impl CollectedLooks {
    /// Nothing, of so many workers.
    pub fn new(workers: usize) -> Self {
        Self { servers: vec![Vec::new(); workers], ..Self::default() }
    }

    /// Adds what a worker looked at. Servers that it met for the first time come with it, in the order of their numbers.
    pub fn add(&mut self, worker: usize, new_servers: Vec<String>, responses: &[SampledResponse]) {
        if let Some(servers) = self.servers.get_mut(worker) {
            servers.extend(new_servers);
        }
        for response in responses {
            self.add_response(worker, response);
        }
    }

    /// Keeps the copies that a worker made, until the load has ended.
    pub fn keep(&mut self, worker: usize, copies: Vec<BodyCopy>) {
        self.copies.extend(copies.into_iter().map(|copy| (worker, copy)));
    }

    /// All of them. Searches the copies, which takes milliseconds: for the time after the load.
    pub fn finish(mut self) -> Sampled {
        for (worker, copy) in &self.copies {
            // Not that of a response that does not count, such as one of the warm-up.
            let Some(endpoint) = self.copied.get(&(*worker, copy.number)) else { continue };
            let Some(looks) = self.sampled.looks_of(*endpoint) else { continue };
            looks.searched += 1;
            looks.searched_bytes += copy.bytes.len() as u64;
            looks.repeated_bytes += parts::repeated_bytes(&copy.bytes);
        }
        self.sampled
    }

    fn add_response(&mut self, worker: usize, response: &SampledResponse) {
        if let Some(looks) = self.sampled.looks_of(response.endpoint) {
            note(looks, response);
            if response.bytes > 0 {
                let known = self.bodies.entry(response.endpoint).or_default();
                looks.repeated += u64::from(known.contains(&response.seen.body));
                if known.len() < BODIES_MAX {
                    known.insert(response.seen.body);
                }
            }
        }
        if let Some(number) = response.seen.copy {
            self.copied.insert((worker, number), response.endpoint);
        }
        let name = |server: ServerId| self.servers.get(worker)?.get(usize::from(server.0));
        match response.seen.server.map(name) {
            Some(Some(name)) => self.sampled.add_server(response.endpoint, name, response.service),
            // Beyond the limit of its worker.
            Some(None) => self.sampled.other_servers += 1,
            None => {}
        }
        if let Some(times) = self.connection(worker, response.seen.connection) {
            times.add(response.service);
        }
    }

    fn connection(&mut self, worker: usize, number: u32) -> Option<&mut ConnectionTimes> {
        let all = &mut self.sampled.connections;
        let place = match self.connections.get(&(worker, number)) {
            Some(place) => *place,
            None if all.len() == CONNECTIONS_MAX => return None,
            None => {
                all.push(ConnectionTimes::default());
                self.connections.insert((worker, number), all.len() - 1);
                all.len() - 1
            }
        };
        all.get_mut(place)
    }
}

fn note(looks: &mut Looks, response: &SampledResponse) {
    let SampledResponse { bytes, seen, .. } = *response;
    let Traits {
        is_get,
        is_write,
        is_post,
        offered,
        not_modified,
        is_text,
        compressed,
        is_kept,
        is_validated,
        is_closing,
    } = seen.traits;
    let has_body = bytes > 0;
    let (is_text, is_kept) = (is_text && has_body, is_kept && has_body);
    for (count, counts) in [
        (&mut looks.responses, true),
        (&mut looks.gets, is_get),
        (&mut looks.writes, is_write),
        (&mut looks.posts, is_post),
        (&mut looks.not_modified, not_modified),
        (&mut looks.texts, is_text),
        (&mut looks.offered, is_text && offered),
        (&mut looks.compressed, is_text && offered && compressed),
        (&mut looks.kept, is_kept),
        (&mut looks.validated, is_kept && is_validated),
        (&mut looks.closing, is_closing),
    ] {
        *count += u64::from(counts);
    }
    looks.plain_bytes += if is_text && offered && !compressed { bytes } else { 0 };
    looks.body_bytes += bytes;
    looks.sent_bytes += seen.sent;
    looks.cookie_least = Some(looks.cookie_least.map_or(seen.cookie, |least| least.min(seen.cookie)));
    looks.cookie_most = looks.cookie_most.max(seen.cookie);
    if has_body {
        looks.bodies_differ |= *looks.body.get_or_insert(seen.body) != seen.body;
    }
}

#[cfg(test)]
mod tests {
    use knee_core::unit::Nanos;

    use super::*;
    use crate::http::sampling::Seen;

    fn response(server: u8, connection: u32, body: u32) -> SampledResponse {
        let traits = Traits { is_get: true, is_text: true, offered: true, ..Traits::default() };
        let seen = Seen {
            traits,
            server: Some(ServerId(server)),
            connection,
            body,
            sent: 0,
            cookie: 40,
            copy: None,
        };
        SampledResponse { endpoint: EndpointId(3), service: Nanos::from_millis(2), bytes: 5_000, seen }
    }

    #[test]
    fn servers_of_two_workers_are_the_same_by_name_and_their_connections_are_not() {
        let mut all = CollectedLooks::new(2);
        all.add(0, vec!["a".into(), "b".into()], &[response(0, 0, 1), response(1, 1, 1)]);
        all.add(1, vec!["b".into()], &[response(0, 0, 1)]);
        all.add(1, Vec::new(), &[response(0, 0, 1), response(7, 0, 1)]);
        let sampled = all.finish();
        let counts: Vec<_> = sampled.servers[&EndpointId(3)]
            .iter()
            .map(|(name, times)| (name.as_str(), times.count()))
            .collect();
        assert_eq!(counts, [("a", 1), ("b", 3)]);
        assert_eq!(sampled.other_servers, 1, "one that its worker has no name for");
        let connections: Vec<u64> = sampled.connections.iter().map(|times| times.responses).collect();
        assert_eq!(connections, [1, 1, 3]);
        let looks = &sampled.endpoints[&EndpointId(3)];
        assert_eq!((looks.responses, looks.offered, looks.compressed, looks.plain_bytes), (5, 5, 0, 25_000));
        assert!(!looks.bodies_differ);
    }

    #[test]
    fn bodies_that_come_again_are_counted_among_the_first_different_ones_of_their_endpoint() {
        let mut all = CollectedLooks::new(2);
        let other = SampledResponse { endpoint: EndpointId(5), ..response(0, 0, 1) };
        let empty = SampledResponse { bytes: 0, ..response(0, 0, 1) };
        all.add(0, Vec::new(), &[response(0, 0, 1), response(0, 0, 2), other, empty]);
        assert_eq!(all.sampled.endpoints[&EndpointId(3)].repeated, 0);
        all.add(1, Vec::new(), &[response(0, 0, 2), response(0, 0, 1)]);
        assert_eq!(all.sampled.endpoints[&EndpointId(3)].repeated, 2);
        let many: Vec<_> = (10..10 + 2 * BODIES_MAX as u32).map(|body| response(0, 0, body)).collect();
        all.add(0, Vec::new(), &many);
        all.add(0, Vec::new(), &many);
        let known = BODIES_MAX as u64 - 2;
        assert_eq!(all.sampled.endpoints[&EndpointId(3)].repeated, 2 + known);
        assert_eq!(all.sampled.endpoints[&EndpointId(5)].repeated, 0);
    }

    #[test]
    fn bodies_that_differ_are_noticed_and_empty_ones_are_no_text() {
        let mut all = CollectedLooks::new(1);
        let empty = SampledResponse { bytes: 0, ..response(0, 0, 0) };
        all.add(0, vec!["a".into()], &[response(0, 0, 1), empty]);
        assert!(!all.sampled.endpoints[&EndpointId(3)].bodies_differ);
        assert_eq!(all.sampled.endpoints[&EndpointId(3)].texts, 1);
        let mut longer = response(0, 0, 1);
        longer.seen.cookie = 900;
        all.add(0, Vec::new(), &[longer]);
        let looks = &all.sampled.endpoints[&EndpointId(3)];
        assert_eq!((looks.cookie_least, looks.cookie_most), (Some(40), 900));
        all.add(0, Vec::new(), &[response(0, 0, 2)]);
        assert!(all.sampled.endpoints[&EndpointId(3)].bodies_differ);
    }
    #[test]
    fn copies_are_searched_at_the_end_and_those_of_responses_that_do_not_count_are_left_out() {
        let copy = |number, bytes: &[u8]| BodyCopy { number, bytes: bytes.to_vec() };
        let copied = |number| {
            let seen = Seen { copy: Some(number), ..response(0, 0, 1).seen };
            SampledResponse { seen, ..response(0, 0, 1) }
        };
        let mut state = 7_u64;
        let letters = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        });
        let once: Vec<u8> = letters.take(100_000).collect();
        let mut all = CollectedLooks::new(2);
        all.add(0, Vec::new(), &[copied(0)]);
        all.add(1, Vec::new(), &[copied(1)]);
        all.keep(0, vec![copy(0, &once), copy(1, &once)]);
        all.keep(1, vec![copy(1, &once.repeat(2))]);
        assert_eq!(all.sampled.endpoints[&EndpointId(3)].searched, 0, "not while the load runs");
        let looks = all.finish().endpoints[&EndpointId(3)];
        assert_eq!((looks.searched, looks.searched_bytes), (2, 300_000));
        assert_eq!(looks.repeated_bytes, 100_000);
    }
}
