//! One connection to a server: its first commands, then one command at a time.
//!
//! Does not decide whether a command is sent again.

use std::rc::Rc;
use std::sync::Arc;

use knee_core::outcome::Fault;
use knee_core::unit::Nanos;
use knee_engine::http::failure::Failure;
use knee_engine::http::network::Network;
use knee_engine::http::origin::Origin;
use knee_engine::http::stream::ByteStream;
use tokio_rustls::rustls::ClientConfig;

use super::command::{CommandError, encoded};
use super::given::{Address, Greeting};
use super::options::Options;
use super::reply::{Reply, ReplyError, ReplyReader};
use crate::account::{Account, Charge};
use crate::http::error_code::{detail_of, of_failure};

/// Why there is no reply.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Broken {
    /// The network; whether another try can help.
    #[error("{0}")]
    Failed(CommandError, bool),
    /// The server refused one of the first commands.
    #[error("{0}")]
    Refused(String),
}

impl Broken {
    /// Another try can help.
    pub fn again(words: &str) -> Self {
        Self::Failed(CommandError::Failed(words.to_owned()), true)
    }
}

/// A connection.
pub struct Connection {
    stream: ByteStream,
    reader: ReplyReader,
}

impl Connection {
    /// Connects, and says who asks.
    pub async fn open(
        network: &Rc<Network>,
        to: &Address,
        options: &Options,
        greeting: &Greeting,
        tls: Option<&Arc<ClientConfig>>,
        account: &Account,
        limit: Nanos,
    ) -> Result<Self, Broken> {
        let origin = Origin { tls: tls.is_some(), host: to.host.clone(), port: to.port, via: None };
        let dial = network.clock.now().saturating_add(options.dial).min(limit);
        let opened = Box::pin(ByteStream::open(network, &origin, tls, dial)).await;
        let stream = opened.map_err(|failure| {
            let words = detail_of(&failure, &origin).unwrap_or_else(|| of_failure(&failure).0);
            Broken::Failed(CommandError::Failed(words), failure.blocked.is_none())
        })?;
        let mut connection = Self { stream, reader: ReplyReader::new(account) };
        connection.greet(network, options, greeting, limit).await?;
        Ok(connection)
    }

    /// The first commands, as the Go client sends them.
    async fn greet(
        &mut self,
        network: &Rc<Network>,
        options: &Options,
        greeting: &Greeting,
        limit: Nanos,
    ) -> Result<(), Broken> {
        let Greeting { user, password, name, database, is_reader } = greeting;
        let words =
            |words: &[&str]| -> Vec<Vec<u8>> { words.iter().map(|word| word.as_bytes().to_vec()).collect() };
        let mut hello = vec!["hello", "2"];
        if !password.is_empty() {
            hello.extend(["auth", if user.is_empty() { "default" } else { user }, password]);
        }
        if !name.is_empty() {
            hello.extend(["setname", name]);
        }
        let until = |network: &Network| network.clock.now().saturating_add(options.read).min(limit);
        let refused = self.ask(&words(&hello), until(network)).await?;
        // Servers that do not know the command are asked in the older way.
        if matches!(refused, Reply::Error(_)) && !password.is_empty() {
            let auth = if user.is_empty() { vec!["auth", password] } else { vec!["auth", user, password] };
            self.must(&words(&auth), until(network)).await?;
        }
        if *database > 0 {
            self.must(&words(&["select", &database.to_string()]), until(network)).await?;
        }
        if *is_reader {
            self.must(&words(&["readonly"]), until(network)).await?;
        }
        Ok(())
    }

    async fn must(&mut self, words: &[Vec<u8>], limit: Nanos) -> Result<(), Broken> {
        match self.ask(words, limit).await? {
            Reply::Error(words) => Err(Broken::Refused(words)),
            _ => Ok(()),
        }
    }

    async fn ask(&mut self, words: &[Vec<u8>], limit: Nanos) -> Result<Reply, Broken> {
        self.exchange(&encoded(words), limit).await.map(|(reply, _)| reply)
    }

    /// Sends a command; its reply, with the memory that it takes.
    pub async fn exchange(&mut self, command: &[u8], limit: Nanos) -> Result<(Reply, Charge), Broken> {
        self.stream.send(command, limit).await.map_err(|failure| self.failed(&failure, "write"))?;
        loop {
            if let Some(reply) = self.reader.read().map_err(|error| unread(&error))? {
                return Ok(reply);
            }
            let count = self.stream.receive(self.reader.buffer(), limit).await;
            if count.map_err(|failure| self.failed(&failure, "read"))? == 0 {
                return Err(Broken::again("EOF"));
            }
        }
    }

    /// Whether the next reply will be that of the next command: the server has neither closed the connection nor sent
    /// more than was asked for.
    pub fn is_in_step(&mut self) -> bool {
        self.reader.is_empty() && self.stream.is_quiet()
    }

    /// Bytes sent and received since this was asked last.
    pub const fn take_counts(&mut self) -> (u64, u64) {
        self.stream.take_counts()
    }

    /// Go's words for what went wrong with the connection.
    fn failed(&self, failure: &Failure, during: &str) -> Broken {
        let address = self.stream.peer().map(|peer| format!(" {}", peer.address)).unwrap_or_default();
        let words = match failure.fault {
            Fault::RequestTimeout => "i/o timeout".to_owned(),
            _ => of_failure(failure).0,
        };
        Broken::again(&format!("{during} tcp{address}: {words}"))
    }
}

fn unread(error: &ReplyError) -> Broken {
    let error = match error {
        ReplyError::Memory => CommandError::Memory,
        ReplyError::Invalid(_) => CommandError::Failed(error.to_string()),
    };
    Broken::Failed(error, false)
}
