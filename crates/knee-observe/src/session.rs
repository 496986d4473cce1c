//! A session with a server that speaks the protocol of PostgreSQL: bounded and read-only.
//!
//! Has its own runtime, so that it works in a plain thread. Knows no statement. Session parameters are sent when the
//! session begins: with `SET`, a pooler could pass them on to the sessions of an application.

use std::cell::Cell;
use std::time::Duration;

use futures_util::stream::{FuturesOrdered, StreamExt as _};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, SimpleQueryMessage, SimpleQueryRow, Statement};

use crate::address::{Address, reason};
use crate::sampler::Unreadable;

/// Time limit for connecting.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// How long an answer can take. The server ends a statement earlier, unless it does not answer at all.
const ANSWER_WITHIN: Duration = Duration::from_millis(1_500);

/// How the session is named; it is left out of all counts by this name.
pub(crate) const OWN_NAME: &str = "knee-observe";

/// Session parameters: read only, short, and quiet. Plans are generic: they are asked for without values.
pub(crate) const PARAMETERS: &str = "-c default_transaction_read_only=on -c statement_timeout=500 -c lock_timeout=100 \
                                     -c idle_in_transaction_session_timeout=5000 -c jit=off \
                                     -c plan_cache_mode=force_generic_plan";

/// Why a statement has no answer.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server refuses it, and would do so again.
    Never(String),
    /// It took too long, or a lock was in the way.
    Now(String),
    /// The session is over.
    Over(String),
}

/// What a statement answered.
pub(crate) type Answer<T> = Result<T, Refusal>;

/// A session.
pub(crate) struct Session {
    client: Client,
    runtime: Runtime,
    /// How often it was asked since [`Session::take_asked`].
    asked: Cell<f64>,
}

impl Session {
    /// Begins a session, within two seconds.
    pub(crate) fn begin(address: &Address) -> Result<Self, Unreadable> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Unreadable(error.to_string()))?;
        let connected = runtime.block_on(async { timeout(CONNECT_WITHIN, address.connect()).await });
        let connected = connected.map_err(|_| Unreadable("it did not answer within 2 s".to_owned()))?;
        let client = connected.map_err(Unreadable)?;
        Ok(Self { client, runtime, asked: Cell::new(0.0) })
    }

    /// Prepares a statement.
    pub(crate) fn prepare(&self, sql: &str) -> Result<Statement, Refusal> {
        self.ask(self.client.prepare(sql))
    }

    /// The rows of a prepared statement without parameters.
    pub(crate) fn rows(&self, statement: &Statement) -> Result<Vec<Row>, Refusal> {
        self.rows_with(statement, &[])
    }

    /// The rows of a prepared statement with these parameters.
    pub(crate) fn rows_with(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Refusal> {
        self.ask(self.client.query(statement, parameters))
    }

    /// The rows of several prepared statements, in their order; the last one is of the statement at which the session
    /// ended, if it did. They are sent together: a server that sleeps until it is asked wakes up once for all of them,
    /// and waking up costs it more than a short statement.
    pub(crate) fn rows_of_all(&self, statements: &[Statement]) -> Vec<Result<Vec<Row>, Refusal>> {
        let mut asked: FuturesOrdered<_> =
            statements.iter().map(|statement| self.client.query(statement, &[])).collect();
        let mut answers = Vec::new();
        self.runtime.block_on(async {
            while answers.len() < statements.len() {
                // The server answers one after another, so that each has the time of one.
                let rows = match timeout(ANSWER_WITHIN, asked.next()).await {
                    Ok(Some(answer)) => answer.map_err(|error| refusal(&error)),
                    Ok(None) => break,
                    Err(_) => Err(late()),
                };
                self.asked.set(self.asked.get() + 1.0);
                let is_over = matches!(rows, Err(Refusal::Over(_)));
                answers.push(rows);
                if is_over {
                    break;
                }
            }
        });
        answers
    }

    /// The rows of a statement, as text.
    pub(crate) fn texts(&self, sql: &str) -> Result<Vec<SimpleQueryRow>, Refusal> {
        let messages = self.ask(self.client.simple_query(sql))?;
        let row = |message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    /// How often it was asked since the last call: each time is a transaction for the server.
    pub(crate) fn take_asked(&self) -> f64 {
        self.asked.take()
    }

    fn ask<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Refusal> {
        self.asked.set(self.asked.get() + 1.0);
        // A late answer would be taken for that of the next statement only if the session went on; it does not.
        let answered = self.runtime.block_on(async { timeout(ANSWER_WITHIN, answer).await });
        answered.map_err(|_| late())?.map_err(|error| refusal(&error))
    }
}

fn late() -> Refusal {
    Refusal::Over("it did not answer within 1.5 s".to_owned())
}

fn refusal(error: &tokio_postgres::Error) -> Refusal {
    let reason = reason(error);
    let Some(code) = error.code().filter(|_| !error.is_closed()) else { return Refusal::Over(reason) };
    if *code == SqlState::QUERY_CANCELED || *code == SqlState::LOCK_NOT_AVAILABLE {
        return Refusal::Now(reason);
    }
    match &code.code()[..2] {
        // The server stops, or has no room.
        "57" | "08" => Refusal::Over(reason),
        "53" | "40" => Refusal::Now(reason),
        _ => Refusal::Never(reason),
    }
}
