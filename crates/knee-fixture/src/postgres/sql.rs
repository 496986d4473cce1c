//! Statements to a PostgreSQL server, one connection each, and their answers as text.
//!
//! Works inside and outside of a runtime: each call has its own thread and runtime.
//! Does not know what the statements are for.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Connection, NoTls, SimpleQueryMessage, Socket};

/// Time limit for connecting. Statements have none.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How long to wait for a free connection slot. A backend whose client is gone finishes its statement before it
/// notices. So a service that used every slot occupies them for a while after its end.
const PLACE_WITHIN: Nanos = Nanos::from_secs(60);

/// Interval between attempts to connect.
const PLACE_PACE: Duration = Duration::from_millis(50);

/// Address of a server of the fixture: its socket, which needs no password.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) sockets: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: &'static str,
}

impl Endpoint {
    /// Runs `statements` in `database`, one after another, and returns the first column of the first row of
    /// the last one. An error is the server's message.
    pub(crate) fn ask(&self, database: &str, statements: &[String]) -> Result<Option<String>, String> {
        let mut config = Config::new();
        config.host_path(&self.sockets).port(self.port).user(self.user).dbname(database);
        config.application_name("knee fixture").connect_timeout(CONNECT_WITHIN);
        let done = thread::scope(|scope| scope.spawn(|| on_a_runtime(&config, statements)).join());
        done.unwrap_or_else(|_| Err("the client panicked".to_owned()))
    }
}

fn on_a_runtime(config: &Config, statements: &[String]) -> Result<Option<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let (client, connection) = connected(config).await.map_err(|error| reason(&error))?;
        // Ends when the client is dropped; its error is also the statement's.
        let driver = tokio::spawn(connection);
        let mut last = None;
        for statement in statements {
            let rows = client.simple_query(statement).await.map_err(|error| reason(&error))?;
            last = rows.iter().find_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            });
        }
        drop(client);
        let _ = driver.await;
        Ok(last)
    })
}

/// A connection, as soon as a slot is free.
async fn connected(
    config: &Config,
) -> Result<(Client, Connection<Socket, tokio_postgres::tls::NoTlsStream>), tokio_postgres::Error> {
    let clock = MonotonicClock::start();
    loop {
        match config.connect(NoTls).await {
            Err(error)
                if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) && clock.now() < PLACE_WITHIN =>
            {
                tokio::time::sleep(PLACE_PACE).await;
            }
            other => return other,
        }
    }
}

/// The server's message, or the error of the connection.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

/// A quoted SQL identifier.
pub(crate) fn name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_become_a_statement() {
        assert_eq!(name("a\"; DROP"), "\"a\"\"; DROP\"");
    }
}
