//! A client: its connections, and its commands, which are sent again where the Go client sends them again.
//!
//! Opens connections when commands need them. Does not read options and knows no JavaScript.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_engine::http::network::Network;
use knee_engine::http::settings::{HttpVersion, TlsSettings};
use knee_engine::http::stream::without_protocols;
use knee_engine::http::tls;
use knee_engine::timer::Timer as _;
use tokio::sync::Semaphore;
use tokio_rustls::rustls::ClientConfig;

use super::command::{Answer, CommandError, Shape, encoded};
use super::connection::{Broken, Connection};
use super::given::Certificates;
use super::options::Options;
use super::reply::Reply;
use crate::account::{Account, Charge};
use crate::errand::Errand;
use crate::http::request::Origins;
use crate::observe::{Context, Observer};

/// How often a connection is tried for one command, and the pause between.
const DIALS: u32 = 5;
const DIAL_PAUSE: Nanos = Nanos::from_millis(100);
/// Errors of servers that cannot serve now.
const NOT_NOW: [&str; 6] = [
    "LOADING ",
    "READONLY ",
    "MASTERDOWN ",
    "CLUSTERDOWN ",
    "TRYAGAIN ",
    "ERR max number of clients reached",
];

/// A client of a script.
pub struct RedisClient {
    options: Options,
    account: Account,
    idle: RefCell<Vec<Connection>>,
    places: Semaphore,
    /// Configuration of TLS, once it was needed.
    tls: RefCell<Option<Arc<ClientConfig>>>,
    is_connected: Cell<bool>,
}

/// What the bytes of a command count for.
pub struct Traffic {
    /// Where samples go.
    pub observer: Rc<dyn Observer>,
    /// Where in the script the command stands.
    pub origin: Origins,
}

impl Traffic {
    fn note(&self, (sent, received): (u64, u64), at: Nanos) {
        let Origins { scenario, group, tags, metadata } = &self.origin;
        self.observer.traffic(sent, received, &Context { scenario, group, tags, metadata, at });
    }
}

impl RedisClient {
    /// A client without connections.
    pub fn new(options: Options, account: &Account) -> Self {
        let places = Semaphore::new(options.connections);
        Self {
            options,
            account: account.clone(),
            idle: RefCell::default(),
            places,
            tls: RefCell::default(),
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
        if self.options.socket.is_some() {
            return Err(CommandError::Failed("Unix sockets are not supported: name a host".to_owned()));
        }
        let command = encoded(words);
        let mut tried = 0;
        loop {
            let (error, is_hopeful) = match self.attempt(errand, &command, traffic).await {
                Ok((reply, memory)) => match shape.of(reply) {
                    Err(CommandError::Refused(words)) => {
                        let is_not_now = NOT_NOW.iter().any(|start| words.starts_with(start));
                        (CommandError::Refused(words), is_not_now)
                    }
                    answer => return answer.map(|answer| (answer, memory)),
                },
                Err(Broken::Refused(words)) => (CommandError::Refused(words), false),
                Err(Broken::Failed(error, is_hopeful)) => (error, is_hopeful),
            };
            let now = errand.sender.network.clock.now();
            if !is_hopeful || tried >= self.options.retries || now >= errand.cut {
                return Err(error);
            }
            errand.sender.timer.sleep_until(now.saturating_add(self.pause(tried)).min(errand.cut)).await;
            tried += 1;
        }
    }

    /// The pause before a command is sent again: twice as long each time, and by chance up to twice that.
    fn pause(&self, tried: u32) -> Nanos {
        let (least, most) = self.options.pauses;
        let base = least.0.saturating_mul(1_u64.checked_shl(tried + 1).unwrap_or(u64::MAX));
        let pause = if base == 0 { 0 } else { base.saturating_add(rand::random_range(0..base)) };
        Nanos(pause.min(most.0))
    }

    /// Sends a command once.
    async fn attempt(
        &self,
        errand: &Errand,
        command: &[u8],
        traffic: &Traffic,
    ) -> Result<(Reply, Charge), Broken> {
        let network = &errand.sender.network;
        let begun = network.clock.now();
        let waited = {
            let waiting = pin!(self.places.acquire());
            let limit = begun.saturating_add(self.options.wait).min(errand.cut);
            network.deadline().limit(limit, waiting).await
        };
        let words = "redis: connection pool timeout";
        let late = || Broken::Failed(CommandError::Failed(words.to_owned()), true);
        // The places are never closed.
        let _place = waited.map_err(|_| late())?.map_err(|_| late())?;
        let mut connection = match self.usable() {
            Some(connection) => connection,
            None => self.dial(errand).await?,
        };
        let limit = network.clock.now().saturating_add(self.options.read).min(errand.cut);
        let exchanged = connection.exchange(command, limit).await;
        traffic.note(connection.take_counts(), network.clock.now());
        if exchanged.is_ok() {
            self.idle.borrow_mut().push(connection);
        }
        exchanged
    }

    /// A connection of the pool on which the next command can go; others are closed.
    fn usable(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        std::iter::from_fn(|| idle.pop()).find_map(|mut one| one.is_in_step().then_some(one))
    }

    async fn dial(&self, errand: &Errand) -> Result<Connection, Broken> {
        let network = &errand.sender.network;
        let tls = self.tls(network)?;
        let mut tried = 1;
        loop {
            let opened =
                Connection::open(network, &self.options, tls.as_ref(), &self.account, errand.cut).await;
            match opened {
                Err(Broken::Failed(_, true)) if tried < DIALS && network.clock.now() < errand.cut => {
                    let pause = network.clock.now().saturating_add(DIAL_PAUSE).min(errand.cut);
                    errand.sender.timer.sleep_until(pause).await;
                    tried += 1;
                }
                opened => return opened,
            }
        }
    }

    /// The configuration of TLS; `None` without.
    fn tls(&self, network: &Network) -> Result<Option<Arc<ClientConfig>>, Broken> {
        let Some(certificates) = &self.options.tls else { return Ok(None) };
        if let Some(known) = &*self.tls.borrow() {
            return Ok(Some(known.clone()));
        }
        let settings = over(network.tls_settings(), certificates);
        let config = tls::configure(&settings, HttpVersion::One)
            .map_err(|error| Broken::Failed(CommandError::Failed(error.to_string()), false))?;
        let config = without_protocols(&config);
        self.tls.replace(Some(config.clone()));
        Ok(Some(config))
    }
}

/// The settings of the run with the certificates of a client.
fn over(settings: &TlsSettings, certificates: &Certificates) -> TlsSettings {
    let bytes = |text: &String| text.clone().into_bytes();
    let own = certificates.own.as_ref().map(|(own, key)| (bytes(own), bytes(key)));
    TlsSettings {
        client: own.or_else(|| settings.client.clone()),
        authorities: settings
            .authorities
            .iter()
            .cloned()
            .chain(certificates.authorities.iter().map(bytes))
            .collect(),
        insecure: settings.insecure || certificates.is_lenient,
        ..settings.clone()
    }
}
