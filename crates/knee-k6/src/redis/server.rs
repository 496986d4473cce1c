//! One server of a client: its connections, and one command at a time on each.
//!
//! Does not decide which server a command goes to, nor whether it is sent again.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;

use knee_core::unit::Nanos;
use knee_engine::http::network::Network;
use knee_engine::http::settings::{HttpVersion, TlsSettings};
use knee_engine::http::stream::without_protocols;
use knee_engine::http::tls;
use knee_engine::timer::Timer as _;
use tokio::sync::Semaphore;
use tokio_rustls::rustls::ClientConfig;

use super::command::{CommandError, encoded};
use super::connection::{Broken, Connection};
use super::given::{Address, Certificates, Greeting};
use super::options::{Options, Sentinels};
use super::reply::Reply;
use super::traffic::Traffic;
use crate::account::{Account, Charge};
use crate::errand::Errand;

/// How often a connection is tried for one command, and the pause between.
const DIALS: u32 = 5;
const DIAL_PAUSE: Nanos = Nanos::from_millis(100);
/// How long a server that failed is not preferred.
const FAILING: Nanos = Nanos::from_secs(15);

/// What opens the connections of a client.
pub struct Dialler {
    /// The options of the client.
    pub options: Options,
    account: Account,
    /// Configuration of TLS, once it was needed.
    tls: RefCell<Option<Arc<ClientConfig>>>,
}

impl Dialler {
    /// Without connections.
    pub fn new(options: Options, account: &Account) -> Self {
        Self { options, account: account.clone(), tls: RefCell::default() }
    }

    async fn dial(&self, errand: &Errand, to: &Address) -> Result<Connection, Broken> {
        let network = &errand.sender.network;
        let mut tried = 1;
        loop {
            let opened = match &self.options.sentinels {
                Some(sentinels) => match self.master(errand, sentinels).await {
                    Ok(master) => self.open(errand, &master, &self.options.greeting).await,
                    Err(error) => Err(error),
                },
                None => self.open(errand, to, &self.options.greeting).await,
            };
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

    async fn open(&self, errand: &Errand, to: &Address, greeting: &Greeting) -> Result<Connection, Broken> {
        let network = &errand.sender.network;
        let tls = self.tls(network)?;
        Connection::open(network, to, &self.options, greeting, tls.as_ref(), &self.account, errand.cut).await
    }

    /// The server that the sentinels name.
    async fn master(&self, errand: &Errand, sentinels: &Sentinels) -> Result<Address, Broken> {
        let words = ["sentinel", "get-master-addr-by-name", &sentinels.master];
        let question = encoded(&words.map(|word| word.as_bytes().to_vec()));
        let mut errors: Vec<String> = Vec::new();
        for sentinel in &sentinels.at {
            let mut connection = match self.open(errand, sentinel, &sentinels.greeting).await {
                Ok(connection) => connection,
                Err(error) => {
                    errors.push(error.to_string());
                    continue;
                }
            };
            let limit = errand.sender.network.clock.now().saturating_add(self.options.read).min(errand.cut);
            match connection.exchange(&question, limit).await {
                Ok((reply, _)) => match address_of(reply) {
                    Ok(master) => return Ok(master),
                    Err(words) => errors.push(words),
                },
                Err(error) => errors.push(error.to_string()),
            }
        }
        let words = "redis: all sentinels specified in configuration are unreachable";
        Err(Broken::again(&format!("{words}: {}", errors.join("\n"))))
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

/// The address in the answer of a sentinel.
fn address_of(reply: Reply) -> Result<Address, String> {
    let parts = match reply {
        Reply::List(parts) => parts,
        Reply::Error(words) => return Err(words),
        _ => return Err(CommandError::Nothing.to_string()),
    };
    match &parts[..] {
        [Reply::Text(host), Reply::Text(port)] => {
            let port = str::from_utf8(port).ok().and_then(|port| port.parse().ok());
            let host = String::from_utf8_lossy(host).into_owned();
            port.map(|port| Address { host, port }).ok_or_else(|| "invalid port".to_owned())
        }
        _ => Err(CommandError::Nothing.to_string()),
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

/// The connections to one server; with sentinels, to the server that they name.
pub struct Server {
    /// Where it is.
    pub address: Address,
    idle: RefCell<Vec<Connection>>,
    places: Semaphore,
    /// The shortest time that it took to answer; zero before its first answer.
    fastest: Cell<Nanos>,
    failing_until: Cell<Nanos>,
}

impl Server {
    /// Without connections, of which there can be so many.
    pub fn new(address: Address, connections: usize) -> Self {
        Self {
            address,
            idle: RefCell::default(),
            places: Semaphore::new(connections),
            fastest: Cell::default(),
            failing_until: Cell::default(),
        }
    }

    /// The shortest time that it took to answer; zero before its first answer.
    pub fn fastest(&self) -> Nanos {
        self.fastest.get()
    }

    /// It failed now.
    pub fn fail(&self, now: Nanos) {
        self.failing_until.set(now.saturating_add(FAILING));
    }

    /// Whether it failed lately.
    pub fn is_failing(&self, now: Nanos) -> bool {
        now < self.failing_until.get()
    }

    /// Sends a command once. One that is `announced` is about a slot that is on its way here.
    pub async fn attempt(
        &self,
        errand: &Errand,
        dialler: &Dialler,
        command: &[u8],
        is_announced: bool,
        traffic: &Traffic,
    ) -> Result<(Reply, Charge), Broken> {
        // Before it takes a connection, for which others wait.
        errand.sender.hold_to_ceiling(errand.cut).await;
        let network = &errand.sender.network;
        let begun = network.clock.now();
        let waited = {
            let waiting = pin!(self.places.acquire());
            let limit = begun.saturating_add(dialler.options.wait).min(errand.cut);
            network.deadline().limit(limit, waiting).await
        };
        let words = "redis: connection pool timeout";
        let late = || Broken::Failed(CommandError::Failed(words.to_owned()), true);
        // The places are never closed.
        let _place = waited.map_err(|_| late())?.map_err(|_| late())?;
        let mut connection = match self.usable() {
            Some(connection) => connection,
            None => dialler.dial(errand, &self.address).await?,
        };
        let sent = network.clock.now();
        let limit = sent.saturating_add(dialler.options.read).min(errand.cut);
        let exchanged = async {
            if is_announced {
                connection.exchange(&encoded(&[b"asking".to_vec()]), limit).await?;
            }
            connection.exchange(command, limit).await
        };
        let exchanged = exchanged.await;
        let done = network.clock.now();
        traffic.note(connection.take_counts(), done);
        if let Ok((reply, _)) = &exchanged {
            let took = done.since(sent).max(Nanos(1));
            let fastest = self.fastest.get();
            self.fastest.set(if fastest == Nanos::ZERO { took } else { fastest.min(took) });
            // A server that became a replica is not the one that the sentinels name now.
            let is_replica = matches!(reply, Reply::Error(words) if words.starts_with("READONLY "));
            if !is_replica {
                self.idle.borrow_mut().push(connection);
            }
        }
        exchanged
    }

    /// A connection of the pool on which the next command can go; others are closed.
    fn usable(&self) -> Option<Connection> {
        let mut idle = self.idle.borrow_mut();
        std::iter::from_fn(|| idle.pop()).find_map(|mut one| one.is_in_step().then_some(one))
    }
}
