//! Which request of a batch is sent next: the first one whose host has room.
//!
//! Pure: does not send and knows no time. A batch of n requests takes n steps of almost constant cost, however its
//! hosts are mixed.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::Hash;

/// The requests of a batch that wait, and how many of each host are under way.
#[derive(Debug)]
pub struct BatchQueue<H> {
    places: HashMap<H, usize>,
    hosts: Vec<HostQueue>,
    /// Hosts that have room and something waiting, by the number of their first request.
    ready: BTreeSet<(usize, usize)>,
    under_way: usize,
    limits: BatchLimits,
}

/// How many requests of a batch can be under way.
#[derive(Clone, Copy, Debug)]
pub struct BatchLimits {
    /// In total, at least 1.
    pub total: usize,
    /// To one host; 0 for no limit.
    pub per_host: usize,
}

#[derive(Debug, Default)]
struct HostQueue {
    waiting: VecDeque<usize>,
    under_way: usize,
}

/// A host of a batch, by its place in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostPlace(usize);

impl<H: Eq + Hash> BatchQueue<H> {
    /// The requests of a batch, which go to these hosts. Their numbers are their places here.
    pub fn new(hosts: impl IntoIterator<Item = H>, limits: BatchLimits) -> Self {
        let (places, queues) = (HashMap::new(), Vec::<HostQueue>::new());
        let mut queue = Self { places, hosts: queues, ready: BTreeSet::new(), under_way: 0, limits };
        for (number, host) in hosts.into_iter().enumerate() {
            let next = queue.hosts.len();
            let place = *queue.places.entry(host).or_insert(next);
            if place == next {
                queue.hosts.push(HostQueue::default());
            }
            queue.hosts[place].waiting.push_back(number);
        }
        for place in 0..queue.hosts.len() {
            queue.offer(place);
        }
        queue
    }

    /// The number of the request to be sent now, and its host; `None` if there is none, or no room.
    pub fn begin(&mut self) -> Option<(usize, HostPlace)> {
        if self.under_way >= self.limits.total.max(1) {
            return None;
        }
        let (number, place) = self.ready.pop_first()?;
        let host = &mut self.hosts[place];
        host.waiting.pop_front();
        host.under_way += 1;
        self.under_way += 1;
        self.offer(place);
        Some((number, HostPlace(place)))
    }

    /// A request to this host is done.
    pub fn end(&mut self, HostPlace(place): HostPlace) {
        self.hosts[place].under_way -= 1;
        self.under_way -= 1;
        self.offer(place);
    }

    /// Lists a host as ready if it has room and something waits for it.
    fn offer(&mut self, place: usize) {
        let host = &self.hosts[place];
        let has_room = self.limits.per_host == 0 || host.under_way < self.limits.per_host;
        if let Some(number) = host.waiting.front().filter(|_| has_room) {
            self.ready.insert((*number, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(hosts: &str, total: usize, per_host: usize) -> BatchQueue<char> {
        BatchQueue::new(hosts.chars(), BatchLimits { total, per_host })
    }

    fn begun(queue: &mut BatchQueue<char>) -> Vec<usize> {
        std::iter::from_fn(|| queue.begin().map(|(number, _)| number)).collect()
    }

    #[test]
    fn the_first_request_whose_host_has_room_goes_first() {
        assert_eq!(begun(&mut queue("aaabbc", 20, 2)), [0, 1, 3, 4, 5]);
        assert_eq!(begun(&mut queue("aaabbc", 4, 2)), [0, 1, 3, 4]);
        assert_eq!(begun(&mut queue("aaab", 2, 0)), [0, 1]);
        assert_eq!(begun(&mut queue("ab", 0, 1)), [0]);
    }

    #[test]
    fn a_response_makes_room_for_its_own_host_and_for_one_request_in_total() {
        let mut queue = queue("aaab", 2, 1);
        let (first, host) = queue.begin().unwrap();
        assert_eq!((first, begun(&mut queue)), (0, vec![3]));
        queue.end(host);
        assert_eq!(begun(&mut queue), [1]);
        assert!(begun(&mut queue).is_empty());
    }

    #[test]
    fn every_request_is_sent_once_and_none_beyond_the_limits() {
        let hosts: Vec<usize> = (0..50_000).map(|number| number * number % 7).collect();
        let mut queue = BatchQueue::new(hosts.iter().copied(), BatchLimits { total: 20, per_host: 6 });
        let (mut seen, mut under_way) = (vec![false; hosts.len()], VecDeque::new());
        loop {
            while let Some((number, host)) = queue.begin() {
                assert!(!std::mem::replace(&mut seen[number], true));
                under_way.push_back((hosts[number], host));
            }
            assert!(under_way.len() <= 20);
            let (name, _) = *under_way.front().unwrap_or(&(0, HostPlace(0)));
            assert!(under_way.iter().filter(|(other, _)| *other == name).count() <= 6);
            let Some((_, host)) = under_way.pop_front() else { break };
            queue.end(host);
        }
        assert!(seen.iter().all(|seen| *seen));
    }
}
