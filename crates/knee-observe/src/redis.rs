//! A Redis or Valkey server: `INFO`, `SLOWLOG` and `LATENCY LATEST`, once per interval; what its clients wait for, up to
//! ten times per second.
//!
//! Never resets statistics and never monitors commands. [`info`] understands the texts, [`waits`] counts what was seen
//! of clients, [`own`] leaves out the observer's own work. A command that the user must not call is left out, and that is
//! reported. [`encrypted`] is a connection over TLS.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use knee_core::unit::Nanos;
use redis::{Client, Cmd, ConnectionLike, ErrorKind, FromRedisValue, RedisError, RedisResult, Value};
use rustls::ClientConfig;
use url::Url;

use crate::figures::{Count, Figures, Gauge, Seconds};
use crate::pace;
use crate::sampler::{About, Depth, Sampler, Unreadable};
use crate::tls;

mod encrypted;
mod info;
mod own;
mod waits;

use encrypted::Encrypted;
use own::Own;
use waits::Waits;

/// Time limits for connecting and for an answer. One of ten looks per second meets each pause of the server, and such a
/// pause is what is to be observed: it must not end the connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);

/// Newest slow commands that are asked for, and most that are kept of a run. Where every command counts as slow, the
/// observer's own ones are up to 23 per second.
const SLOW_AT_ONCE: usize = 32;
const SLOW_MAX: usize = 128;

/// What the server is asked while a client is blocked, and some times after one was, and how many clients it has at most
/// then: the answer has a line for each of them, which costs the thread of the server 1 to 2 us.
const CLIENTS: &str = "CLIENT LIST";
const CLIENTS_MAX: f64 = 200.0;

/// What is missing of a server with more clients.
const CROWDED: &str =
    "CLIENT LIST while there are more than 200 clients: its answer has a line for each of them";

/// A server.
pub(crate) struct Redis {
    address: Result<Address, String>,
    connection: Option<Box<dyn ConnectionLike + Send>>,
    about: About,
    /// Commands that the user must not call.
    denied: BTreeSet<&'static str>,
    /// The newest slow command that is known; -1 if there is none.
    newest: Option<i64>,
    slow: usize,
    waits: Waits,
    own: Own,
    /// When it was read last.
    last: Option<Nanos>,
}

/// Where the server is.
struct Address {
    client: Client,
    /// How its server is verified; `None` without TLS.
    tls: Option<Arc<ClientConfig>>,
}

impl Address {
    fn new(url: &Url) -> Result<Self, String> {
        let (bare, settings) = tls::of_cache(url)?;
        let tls = if url.scheme() == "rediss" { Some(Arc::new(settings.client_config()?)) } else { None };
        // The client is built without TLS; the connection adds it.
        let plain = bare.as_str().replacen("rediss://", "redis://", 1);
        let client = Client::open(plain).map_err(|error| error.to_string())?;
        Ok(Self { client, tls })
    }

    fn connect(&self) -> RedisResult<Box<dyn ConnectionLike + Send>> {
        if let Some(tls) = &self.tls {
            let connection = Encrypted::open(self.client.get_connection_info(), tls, CONNECT_WITHIN)?;
            connection.limit(ANSWER_WITHIN)?;
            return Ok(Box::new(connection));
        }
        let connection = self.client.get_connection_with_timeout(CONNECT_WITHIN)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN))?;
        connection.set_write_timeout(Some(ANSWER_WITHIN))?;
        Ok(Box::new(connection))
    }

    /// Why there is no connection. A server that is asked in the wrong way closes the connection, answers something
    /// that cannot be understood, or waits for more.
    fn refused(&self, error: &RedisError) -> String {
        let is_cut = error.is_connection_dropped() && !error.is_connection_refusal();
        let late = "it did not answer within 2 s";
        match &self.tls {
            Some(_) if error.is_timeout() => format!("{late}: if it does not speak TLS, write redis://"),
            None if error.is_timeout() => late.to_owned(),
            Some(_) if is_cut => format!(
                "{}: a server that wants a certificate of the client (sslcert, sslkey) does this",
                reason(error)
            ),
            None if is_cut || error.kind() == ErrorKind::Parse => {
                format!("{}: if it speaks TLS, write rediss://", reason(error))
            }
            _ => reason(error),
        }
    }
}

/// What a command had no answer for.
enum Refusal {
    /// The user must not call it, or the server does not know it.
    Denied(String),
    /// The connection is over, or the server does not answer.
    Over(String),
}

impl Redis {
    /// The server at this URL.
    pub(crate) fn new(url: &Url) -> Self {
        Self {
            address: Address::new(url),
            connection: None,
            about: About::default(),
            denied: BTreeSet::new(),
            newest: None,
            slow: 0,
            waits: Waits::default(),
            own: Own::default(),
            last: None,
        }
    }

    /// Asks, unless the command was denied before.
    fn ask<T: FromRedisValue>(&mut self, what: &'static str, command: &Cmd) -> Result<Option<T>, Unreadable> {
        let Some(connection) = self.connection.as_mut().filter(|_| !self.denied.contains(what)) else {
            return Ok(None);
        };
        match command.query(&mut **connection).map_err(|error| refusal(&error)) {
            Ok(answer) => Ok(Some(answer)),
            Err(Refusal::Denied(reason)) => {
                self.denied.insert(what);
                self.about.without.push(format!("{what}: {reason}"));
                Ok(None)
            }
            Err(Refusal::Over(reason)) => Err(Unreadable(reason)),
        }
    }

    /// Asks for a text.
    fn ask_text(&mut self, what: &'static str, command: &Cmd) -> Result<Option<String>, Unreadable> {
        let Some(text) = self.ask::<Vec<u8>>(what, command)? else { return Ok(None) };
        self.own.add(command, text.len());
        Ok(Some(String::from_utf8_lossy(&text).into_owned()))
    }

    fn read_slow(&mut self, figures: &mut Figures) -> Result<(), Unreadable> {
        let mut command = redis::cmd("SLOWLOG");
        command.arg("GET").arg(SLOW_AT_ONCE);
        let Some(entries) = self.ask::<Vec<Value>>("SLOWLOG", &command)? else { return Ok(()) };
        self.own.add(&command, entries.iter().map(own::size).sum());
        let entries: Vec<info::Slow> = entries.iter().filter_map(info::slow).collect();
        // Ids begin at 0 and rise by 1, so the newest one counts all.
        let newest = entries.iter().map(|entry| entry.id).max().unwrap_or(-1);
        let before = *self.newest.get_or_insert(newest);
        for entry in entries.iter().filter(|entry| entry.id > before && !entry.is_own) {
            if self.slow < SLOW_MAX {
                self.slow += 1;
                figures.text("redis.slow", entry.id.to_string(), entry.to_string());
            }
        }
        self.newest = Some(newest.max(before));
        figures.counter("redis.slow", Count, self.newest.map(|newest| newest as f64 + 1.0));
        Ok(())
    }

    fn read_events(&mut self, figures: &mut Figures) -> Result<(), Unreadable> {
        let mut command = redis::cmd("LATENCY");
        command.arg("LATEST");
        let Some(events) = self.ask::<Vec<Value>>("LATENCY", &command)? else { return Ok(()) };
        self.own.add(&command, events.iter().map(own::size).sum());
        for info::Event { name, latest, most } in events.iter().filter_map(info::event) {
            figures.put("redis.latency", &name, Seconds, Gauge, latest);
            figures.put("redis.latency.max", &name, Seconds, Gauge, most);
        }
        Ok(())
    }
}

impl Sampler for Redis {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let address = self.address.as_ref().map_err(|reason| Unreadable(reason.clone()))?;
        let connection = address.connect().map_err(|error| Unreadable(address.refused(&error)))?;
        self.connection = Some(connection);
        self.waits.forget_clients();
        self.about.without.clear();
        self.denied.clear();
        Ok(())
    }

    fn look_pace(&self, planned: Option<Nanos>) -> Option<Duration> {
        Some(pace::of_looks_at_a_server(planned).into())
    }

    fn look(&mut self) -> Result<(), Unreadable> {
        if self.denied.contains(CLIENTS) {
            return Ok(());
        }
        let mut command = redis::cmd("INFO");
        command.arg("clients");
        let Some(text) = self.ask_text("INFO", &command)? else { return Ok(()) };
        let Some((clients, blocked)) = info::clients(&text) else { return Ok(()) };
        if clients > CLIENTS_MAX {
            // With none blocked it would be known that none waits, but then only such looks would count.
            if blocked > 0.0 && !self.about.without.iter().any(|words| words == CROWDED) {
                self.about.without.push(CROWDED.to_owned());
            }
            return Ok(());
        }
        if blocked < 1.0 && !self.waits.is_list_needed() {
            self.waits.count(BTreeSet::new());
            return Ok(());
        }
        let mut command = redis::cmd("CLIENT");
        command.arg("LIST");
        if let Some(list) = self.ask_text(CLIENTS, &command)? {
            let clients = info::listed(&list);
            self.waits.count(info::held_up(&clients));
            self.waits.see(&clients);
        }
        Ok(())
    }

    fn read(&mut self, now: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let mut command = redis::cmd("INFO");
        command.arg("all");
        let before = self.own;
        let Some(text) = self.ask_text("INFO", &command)? else {
            let reason = self.about.without.first().cloned().unwrap_or_default();
            return Err(Unreadable(reason));
        };
        self.about.version = info::version(&text);
        info::put(&text, figures);
        self.own.leave_out(before, figures);
        self.read_slow(figures)?;
        self.read_events(figures)?;
        // After everything that can fail: the beginning of a new counter is given only once.
        self.waits.put(self.last, figures);
        self.last = Some(now);
        Ok(())
    }

    fn about(&self) -> About {
        self.about.clone()
    }

    fn disconnect(&mut self) {
        self.connection = None;
    }
}

fn refusal(error: &RedisError) -> Refusal {
    let reason = reason(error);
    let is_over = error.is_io_error() || error.is_connection_dropped() || error.is_timeout();
    if is_over || matches!(error.code(), Some("LOADING" | "NOAUTH" | "BUSY")) {
        return Refusal::Over(reason);
    }
    Refusal::Denied(reason)
}

fn reason(error: &RedisError) -> String {
    if error.is_timeout() {
        return "it did not answer within 1.5 s".to_owned();
    }
    tls::explained(error, "redis://").unwrap_or_else(|| error.to_string())
}
