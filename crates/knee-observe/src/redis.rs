//! A Redis or Valkey server: `INFO`, `SLOWLOG` and `LATENCY LATEST`, once per interval.
//!
//! Never resets statistics and never monitors commands. [`info`] understands the texts. A command that the user must
//! not call is left out, and that is reported.

use std::collections::BTreeSet;
use std::time::Duration;

use knee_core::unit::Nanos;
use redis::{Client, Cmd, Connection, FromRedisValue, RedisError, Value};
use url::Url;

use crate::figures::{Count, Figures, Gauge, Seconds};
use crate::sampler::{About, Depth, Sampler, Unreadable};

mod info;

/// Time limits for connecting and for an answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_millis(500);

/// Newest slow commands that are asked for, and most that are kept of a run.
const SLOW_AT_ONCE: usize = 16;
const SLOW_MAX: usize = 128;

/// A server.
pub(crate) struct Redis {
    url: String,
    connection: Option<Connection>,
    about: About,
    /// Commands that the user must not call.
    denied: BTreeSet<&'static str>,
    /// The newest slow command that is known; -1 if there is none.
    newest: Option<i64>,
    slow: usize,
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
            url: url.to_string(),
            connection: None,
            about: About::default(),
            denied: BTreeSet::new(),
            newest: None,
            slow: 0,
        }
    }

    /// Asks, unless the command was denied before.
    fn ask<T: FromRedisValue>(&mut self, what: &'static str, command: &Cmd) -> Result<Option<T>, Unreadable> {
        let Some(connection) = self.connection.as_mut().filter(|_| !self.denied.contains(what)) else {
            return Ok(None);
        };
        match command.query(connection).map_err(|error| refusal(&error)) {
            Ok(answer) => Ok(Some(answer)),
            Err(Refusal::Denied(reason)) => {
                self.denied.insert(what);
                self.about.without.push(format!("{what}: {reason}"));
                Ok(None)
            }
            Err(Refusal::Over(reason)) => Err(Unreadable(reason)),
        }
    }

    fn read_slow(&mut self, figures: &mut Figures) -> Result<(), Unreadable> {
        let mut command = redis::cmd("SLOWLOG");
        command.arg("GET").arg(SLOW_AT_ONCE);
        let Some(entries) = self.ask::<Vec<Value>>("SLOWLOG", &command)? else { return Ok(()) };
        let entries: Vec<info::Slow> = entries.iter().filter_map(info::slow).collect();
        // Ids begin at 0 and rise by 1, so the newest one counts all.
        let newest = entries.iter().map(|entry| entry.id).max().unwrap_or(-1);
        let before = *self.newest.get_or_insert(newest);
        for entry in entries.iter().filter(|entry| entry.id > before) {
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
        let events = self.ask::<Vec<Value>>("LATENCY", &command)?.unwrap_or_default();
        for info::Event { name, latest, most } in events.iter().filter_map(info::event) {
            figures.put("redis.latency", &name, Seconds, Gauge, latest);
            figures.put("redis.latency.max", &name, Seconds, Gauge, most);
        }
        Ok(())
    }
}

impl Sampler for Redis {
    fn connect(&mut self) -> Result<(), Unreadable> {
        let over = |error: RedisError| Unreadable(reason(&error));
        let client = Client::open(self.url.as_str()).map_err(over)?;
        let connection = client.get_connection_with_timeout(CONNECT_WITHIN).map_err(over)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN)).map_err(over)?;
        connection.set_write_timeout(Some(ANSWER_WITHIN)).map_err(over)?;
        self.connection = Some(connection);
        self.about.without.clear();
        self.denied.clear();
        Ok(())
    }

    fn read(&mut self, _: Nanos, _: Depth, figures: &mut Figures) -> Result<(), Unreadable> {
        let mut command = redis::cmd("INFO");
        command.arg("all");
        let Some(text) = self.ask::<Vec<u8>>("INFO", &command)? else {
            let reason = self.about.without.first().cloned().unwrap_or_default();
            return Err(Unreadable(reason));
        };
        let text = String::from_utf8_lossy(&text);
        self.about.version = info::version(&text);
        info::put(&text, figures);
        self.read_slow(figures)?;
        self.read_events(figures)
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
    if is_over || matches!(error.code(), Some("LOADING" | "NOAUTH")) {
        return Refusal::Over(reason);
    }
    Refusal::Denied(reason)
}

fn reason(error: &RedisError) -> String {
    if error.is_timeout() {
        return "it did not answer within 500 ms".to_owned();
    }
    error.to_string()
}
