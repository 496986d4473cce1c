//! Statements to a PostgreSQL server, one connection each, and their answers as text.
//!
//! Works whether or not the caller is inside of a runtime: each call has a thread and a runtime of its own.
//! Does not know what the statements are for.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use knee_core::clock::MonotonicClock;
use knee_core::unit::Nanos;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Connection, NoTls, SimpleQueryMessage, Socket};

/// How long connecting can take. A statement takes as long as it takes.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// How long a free place is waited for. A backend whose client is gone finishes its statement before it notices, so a
/// service that took every place keeps them for a while after its end.
const PLACE_WITHIN: Nanos = Nanos::from_secs(60);

/// How often a place is asked for.
const PLACE_PACE: Duration = Duration::from_millis(50);

/// Where a server of the fixture is asked: through its socket, which wants no password.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) sockets: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: &'static str,
}

impl Endpoint {
    /// Has `statements` done in `database`, one after another, and returns the first column of the first row of
    /// the last one. An error is what the server said.
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

/// A connection, as soon as there is a place for one.
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

/// What a server said, or what kept us from asking it.
fn reason(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said.message().to_owned();
    }
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.unwrap_or_else(|| error.to_string())
}

/// A name as SQL writes it.
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
