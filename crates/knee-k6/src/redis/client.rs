//! A client: which server its commands go to, and when they are sent again, as the Go client does it.
//!
//! Several addresses are those of a cluster, whose slots are asked for when the first command needs them. Does not read
//! options and knows no JavaScript.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use knee_core::unit::Nanos;
use knee_engine::timer::Timer as _;
use tokio::sync::Semaphore;

use super::cluster::{self, Range};
use super::command::{Answer, CommandError, Shape, encoded};
use super::connection::Broken;
use super::given::Address;
use super::options::{Cluster, Options, Readers};
use super::reply::Reply;
use super::server::{Dialler, Server};
use super::traffic::Traffic;
use crate::account::{Account, Charge};
use crate::errand::Errand;

/// Errors of servers that cannot serve now.
const NOT_NOW: [&str; 6] = [
    "LOADING ",
    "READONLY ",
    "MASTERDOWN ",
    "CLUSTERDOWN ",
    "TRYAGAIN ",
    "ERR max number of clients reached",
];
/// For so long, slots are not asked for again.
const SLOTS_KEPT: Nanos = Nanos::from_millis(200);

/// Most servers and moved slots that are remembered, whatever a server says.
const KNOWN_MAX: usize = 1_000;

/// A client of a script.
pub struct RedisClient {
    dialler: Dialler,
    servers: RefCell<BTreeMap<Address, Rc<Server>>>,
    slots: RefCell<Slots>,
    /// One command at a time asks for the slots.
    asking: Semaphore,
    is_connected: Cell<bool>,
}

/// Who has which slots of a cluster.
#[derive(Default)]
struct Slots {
    ranges: Vec<Range>,
    /// Slots that have moved since.
    moved: BTreeMap<u16, Address>,
    asked_at: Option<Nanos>,
    is_stale: bool,
    /// The memory that the ranges take in the VU.
    _memory: Option<Charge>,
}

/// A command that a script waits for.
struct Call<'a> {
    errand: &'a Errand,
    command: Vec<u8>,
    shape: Shape,
    traffic: &'a Traffic,
}

/// An answer with the memory that it takes; or an error, and whether another try can help.
type Tried = Result<(Answer, Charge), (CommandError, bool)>;

impl RedisClient {
    /// A client without connections.
    pub fn new(options: Options, account: &Account) -> Self {
        Self {
            dialler: Dialler::new(options, account),
            servers: RefCell::default(),
            slots: RefCell::default(),
            asking: Semaphore::new(1),
            is_connected: Cell::new(false),
        }
    }

    /// Whether a command was called.
    pub const fn is_connected(&self) -> bool {
        self.is_connected.get()
    }

    /// A command was called.
    pub fn connect(&self) {
        self.is_connected.set(true);
    }

    /// Sends a command and waits for its answer, which comes with the memory that it takes.
    pub async fn call(
        &self,
        errand: &Errand,
        words: &[Vec<u8>],
        shape: Shape,
        traffic: &Traffic,
    ) -> Result<(Answer, Charge), CommandError> {
        let options = &self.dialler.options;
        if let Some(path) = &options.socket {
            // k6 takes the path for a host without a port.
            return Err(CommandError::Failed(format!("address {path}: missing port in address")));
        }
        let call = Call { errand, command: encoded(words), shape, traffic };
        match &options.cluster {
            None => {
                let server = self.server(&options.address);
                self.retried(&call, &server, false).await.map_err(|(error, _)| error)
            }
            Some(cluster) => self.routed(&call, words, cluster).await,
        }
    }

    /// The connections to a server.
    fn server(&self, address: &Address) -> Rc<Server> {
        let mut servers = self.servers.borrow_mut();
        if let Some(known) = servers.get(address) {
            return known.clone();
        }
        if servers.len() >= KNOWN_MAX {
            servers.retain(|_, server| Rc::strong_count(server) > 1);
        }
        let server = Rc::new(Server::new(address.clone(), self.dialler.options.connections));
        servers.insert(address.clone(), server.clone());
        server
    }

    /// Sends a command to one server, again and again where that can help.
    async fn retried(&self, call: &Call<'_>, server: &Server, is_announced: bool) -> Tried {
        let mut tried = 0;
        loop {
            let sent = server.attempt(call.errand, &self.dialler, &call.command, is_announced, call.traffic);
            let (error, is_hopeful) = match sent.await {
                Ok((reply, memory)) => match call.shape.of(reply) {
                    Ok(answer) => return Ok((answer, memory)),
                    Err(error) => {
                        let is_not_now = matches!(&error, CommandError::Refused(words)
                            if NOT_NOW.iter().any(|start| words.starts_with(start)));
                        (error, is_not_now)
                    }
                },
                Err(Broken::Refused(words)) => (CommandError::Refused(words), false),
                Err(Broken::Failed(error, is_hopeful)) => (error, is_hopeful),
            };
            let options = &self.dialler.options;
            let now = call.errand.sender.network.clock.now();
            if !is_hopeful || tried >= options.retries || now >= call.errand.cut {
                return Err((error, is_hopeful));
            }
            self.pause(call.errand, tried).await;
            tried += 1;
        }
    }

    /// The pause before a command is sent again: twice as long each time, and by chance up to twice that.
    async fn pause(&self, errand: &Errand, tried: u32) {
        let (least, most) = self.dialler.options.pauses;
        let base = least.0.saturating_mul(1_u64.checked_shl(tried + 1).unwrap_or(u64::MAX));
        let pause = if base == 0 { 0 } else { base.saturating_add(rand::random_range(0..base)) };
        let now = errand.sender.network.clock.now();
        let until = now.saturating_add(Nanos(pause.min(most.0))).min(errand.cut);
        errand.sender.timer.sleep_until(until).await;
    }

    /// Sends a command to the server of a cluster that has its slot, and on to where that one says.
    async fn routed(
        &self,
        call: &Call<'_>,
        words: &[Vec<u8>],
        cluster: &Cluster,
    ) -> Result<(Answer, Charge), CommandError> {
        let slot = cluster::slot_of(words).unwrap_or_else(|| rand::random_range(0..cluster::SLOTS));
        let readers = cluster.readers.filter(|_| cluster::is_reading(words));
        let clock = call.errand.sender.network.clock;
        let mut next: Option<(Rc<Server>, bool)> = None;
        let mut tries = 0;
        loop {
            let (server, is_announced) = match next.take() {
                Some(next) => next,
                None => (self.server_of(call, slot, readers, cluster).await?, false),
            };
            let (error, is_hopeful) = match self.retried(call, &server, is_announced).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let words = error.to_string();
            let redirect = match &error {
                CommandError::Refused(words) => cluster::redirect(words, &server.address),
                _ => None,
            };
            let now = clock.now();
            if tries >= cluster.redirects || now >= call.errand.cut || !(is_hopeful || redirect.is_some()) {
                return Err(error);
            }
            if let Some(redirect) = redirect {
                next = Some((self.server(&redirect.to), redirect.is_once));
                self.note_moved(redirect);
            } else {
                if words.starts_with("READONLY ") {
                    self.slots.borrow_mut().is_stale = true;
                } else if tries == 0 {
                    next = Some((server, false));
                } else {
                    server.fail(now);
                    self.slots.borrow_mut().is_stale = true;
                }
                self.pause(call.errand, tries).await;
            }
            tries += 1;
        }
    }

    /// A slot is elsewhere, and others can be too.
    fn note_moved(&self, redirect: cluster::Redirect) {
        let mut slots = self.slots.borrow_mut();
        slots.is_stale = true;
        if slots.moved.len() >= KNOWN_MAX {
            slots.moved.clear();
        }
        if !redirect.is_once {
            slots.moved.insert(redirect.slot, redirect.to);
        }
    }

    /// The server of a slot that a command goes to.
    async fn server_of(
        &self,
        call: &Call<'_>,
        slot: u16,
        readers: Option<Readers>,
        cluster: &Cluster,
    ) -> Result<Rc<Server>, CommandError> {
        // It is never closed.
        let place = self.asking.acquire().await;
        let now = call.errand.sender.network.clock.now();
        if self.slots.borrow().is_due(now) {
            let asked = self.ask_for_slots(call, cluster).await;
            // Those that are known are better than none.
            if let (Err(error), true) = (asked, self.slots.borrow().ranges.is_empty()) {
                return Err(error);
            }
        }
        drop(place);
        let addresses = self.slots.borrow().servers_of(slot);
        let servers: Vec<Rc<Server>> = addresses.iter().map(|address| self.server(address)).collect();
        Ok(choose(&servers, readers, now).unwrap_or_else(|| self.server(&self.dialler.options.address)))
    }

    /// Asks the servers of a cluster, in an order of chance, until one says who has which slots.
    async fn ask_for_slots(&self, call: &Call<'_>, cluster: &Cluster) -> Result<(), CommandError> {
        let command = encoded(&[b"cluster".to_vec(), b"slots".to_vec()]);
        let mut left: Vec<Address> = self.slots.borrow().all();
        if left.is_empty() {
            left.clone_from(&cluster.nodes);
        }
        let mut first = None;
        while !left.is_empty() && call.errand.sender.network.clock.now() < call.errand.cut {
            let address = left.swap_remove(rand::random_range(0..left.len()));
            let server = self.server(&address);
            let asked = server.attempt(call.errand, &self.dialler, &command, false, call.traffic).await;
            let error = match asked {
                Ok((Reply::Error(words), _)) | Err(Broken::Refused(words)) => CommandError::Refused(words),
                Ok((reply, memory)) => match cluster::ranges(reply, &address) {
                    Some(ranges) => {
                        let asked_at = Some(call.errand.sender.network.clock.now());
                        let slots = Slots { ranges, asked_at, _memory: Some(memory), ..Slots::default() };
                        self.slots.replace(slots);
                        return Ok(());
                    }
                    None => CommandError::Kind("no list of slots".to_owned()),
                },
                Err(Broken::Failed(error, _)) => error,
            };
            first = first.or(Some(error));
        }
        // The names of the servers can lead elsewhere now.
        let mut slots = self.slots.borrow_mut();
        *slots = Slots { ranges: Vec::new(), ..Slots::default() };
        Err(first.unwrap_or(CommandError::Nothing))
    }
}

impl Slots {
    fn is_due(&self, now: Nanos) -> bool {
        self.asked_at.is_none_or(|at| self.is_stale && now.since(at) >= SLOTS_KEPT)
    }

    fn servers_of(&self, slot: u16) -> Vec<Address> {
        if let Some(moved) = self.moved.get(&slot) {
            return vec![moved.clone()];
        }
        let range = self.ranges.iter().find(|range| (range.from..=range.to).contains(&slot));
        range.map(|range| range.servers.clone()).unwrap_or_default()
    }

    fn all(&self) -> Vec<Address> {
        let mut all: Vec<Address> = self.ranges.iter().flat_map(|range| range.servers.clone()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The server of a slot that a command goes to, of `servers` whose first one takes changes. `readers` says which others can
/// answer it.
fn choose(servers: &[Rc<Server>], readers: Option<Readers>, now: Nanos) -> Option<Rc<Server>> {
    let (first, replicas) = servers.split_first()?;
    let among = |servers: &[Rc<Server>]| {
        let well: Vec<&Rc<Server>> = servers.iter().filter(|server| !server.is_failing(now)).collect();
        (!well.is_empty()).then(|| well[rand::random_range(0..well.len())].clone())
    };
    let chosen = match readers {
        None => None,
        Some(Readers::Replicas) => among(replicas),
        Some(Readers::Any) => among(servers),
        Some(Readers::Fastest) => {
            let well = servers.iter().filter(|server| !server.is_failing(now));
            well.min_by_key(|server| server.fastest()).cloned()
        }
    };
    Some(chosen.unwrap_or_else(|| first.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(count: u16) -> Vec<Rc<Server>> {
        let server = |port| Rc::new(Server::new(Address { host: "h".into(), port }, 1));
        (1..=count).map(server).collect()
    }

    #[test]
    fn changes_go_to_the_first_server_and_questions_to_those_that_were_asked_for() {
        let all = servers(3);
        let port = |readers| choose(&all, readers, Nanos::ZERO).map(|server| server.address.port);
        assert_eq!(port(None), Some(1));
        for _ in 0..20 {
            assert!(matches!(port(Some(Readers::Replicas)), Some(2 | 3)));
            assert!(matches!(port(Some(Readers::Any)), Some(1..=3)));
        }
        all[1].fail(Nanos::ZERO);
        assert_eq!(port(Some(Readers::Replicas)), Some(3));
        all[2].fail(Nanos::ZERO);
        assert_eq!(port(Some(Readers::Replicas)), Some(1));
        let later = choose(&all, Some(Readers::Replicas), Nanos::from_secs(16)).unwrap();
        assert_ne!(later.address.port, 1);
        let alone = servers(1);
        assert_eq!(choose(&alone, Some(Readers::Replicas), Nanos::ZERO).unwrap().address.port, 1);
        assert!(choose(&[], None, Nanos::ZERO).is_none());
    }

    #[test]
    fn a_slot_that_has_moved_is_where_it_was_last_seen() {
        let address = |port| Address { host: "h".into(), port };
        let range = Range { from: 0, to: 9, servers: vec![address(1), address(2)] };
        let mut slots = Slots { ranges: vec![range], asked_at: Some(Nanos::ZERO), ..Slots::default() };
        slots.moved.insert(3, address(7));
        assert_eq!(slots.servers_of(3), [address(7)]);
        assert_eq!(slots.servers_of(4), [address(1), address(2)]);
        assert!(slots.servers_of(10).is_empty());
        assert!(!slots.is_due(Nanos::from_secs(1)));
        slots.is_stale = true;
        assert!(slots.is_due(Nanos::from_secs(1)) && !slots.is_due(Nanos::from_millis(100)));
    }
}
