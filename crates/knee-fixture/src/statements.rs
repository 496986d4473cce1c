//! How often PostgreSQL servers of a fixture executed each statement, and how long, as `pg_stat_statements` counts it.
//!
//! Reads numbers while a trial runs, and texts once after it. Resets nothing, does not divide by requests, and does not
//! choose statements. Knows nothing about servers that the user runs.

use std::collections::BTreeMap;

use knee_core::unit::Nanos;

use crate::postgres::sql::Endpoint;

/// Most characters of a text that are read.
const TEXT_MAX: usize = 8 << 10;

/// One statement of one server, as the server numbers it: whatever its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StatementId {
    /// The server, from 0.
    pub server: usize,
    /// Its number there; can be negative.
    pub query: i64,
}

/// Executions of a statement since the server was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executions {
    /// How many ended.
    pub calls: u64,
    /// How long they took together; planning is not part of it.
    pub time: Nanos,
}

/// A statement with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText {
    /// Its number.
    pub id: StatementId,
    /// The server's table in the declaration: `db` of `[postgres.db]`. A replica has that of its primary.
    pub store: String,
    /// Its text with `$1`, `$2` for constants, as far as the server normalizes it.
    pub text: String,
}

/// A server that counts its statements.
#[derive(Clone, Debug)]
pub(crate) struct CountingServer {
    pub(crate) store: String,
    pub(crate) endpoint: Endpoint,
    /// Its major version.
    pub(crate) version: u32,
}

/// Asks the servers for the statements of the database that services use; can be passed to another thread.
#[derive(Clone, Debug)]
pub struct StatementProbe {
    pub(crate) servers: Vec<CountingServer>,
    pub(crate) database: &'static str,
}

impl StatementProbe {
    /// The executions until now, by statement; `None` if a server does not answer.
    pub fn read(&self) -> Option<BTreeMap<StatementId, Executions>> {
        let mut all = BTreeMap::new();
        for (server, counting) in self.servers.iter().enumerate() {
            let answer = counting.ask(&numbers(counting.version, self.database))?;
            all.extend(executions(server, &answer)?);
        }
        Some(all)
    }

    /// The texts of all statements; `None` if a server does not answer.
    pub fn texts(&self) -> Option<Vec<StatementText>> {
        let mut all = Vec::new();
        for (server, counting) in self.servers.iter().enumerate() {
            let answer = counting.ask(&texts(self.database))?;
            let found: BTreeMap<String, String> = serde_json::from_str(&answer).ok()?;
            for (query, text) in found {
                let id = StatementId { server, query: query.parse().ok()? };
                all.push(StatementText { id, store: counting.store.clone(), text });
            }
        }
        Some(all)
    }
}

impl CountingServer {
    fn ask(&self, statement: &str) -> Option<String> {
        self.endpoint.ask("postgres", &[statement.to_owned()]).ok().flatten()
    }
}

/// Number, calls and nanoseconds of each statement, in one text.
fn numbers(version: u32, database: &str) -> String {
    let time = if version >= 13 { "total_exec_time" } else { "total_time" };
    format!(
        "SELECT coalesce(string_agg(work, ' '), '') FROM (\
         SELECT queryid || ' ' || sum(calls) || ' ' || round((sum({time}) * 1000000)::numeric) AS work \
         FROM public.pg_stat_statements(false) WHERE {} GROUP BY queryid) AS each_statement",
        of_database(database)
    )
}

/// Number and text of each statement, as a JSON object.
fn texts(database: &str) -> String {
    format!(
        "SELECT coalesce(json_object_agg(queryid::text, query), '{{}}')::text FROM (\
         SELECT queryid, min(left(query, {TEXT_MAX})) AS query \
         FROM public.pg_stat_statements(true) WHERE query IS NOT NULL AND {} GROUP BY queryid) AS each_statement",
        of_database(database)
    )
}

fn of_database(database: &str) -> String {
    format!("queryid IS NOT NULL AND dbid = (SELECT oid FROM pg_database WHERE datname = '{database}')")
}

/// Reads an answer to [`numbers`].
fn executions(server: usize, answer: &str) -> Option<Vec<(StatementId, Executions)>> {
    let words: Vec<&str> = answer.split_whitespace().collect();
    let read = |words: &[&str]| {
        let [query, calls, nanos] = words else { return None };
        let id = StatementId { server, query: query.parse().ok()? };
        Some((id, Executions { calls: calls.parse().ok()?, time: Nanos(nanos.parse().ok()?) }))
    };
    words.chunks(3).map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_of_a_server_is_read_whole_or_not_at_all() {
        let found = executions(1, "-42 3 1500000 7 0 0").unwrap();
        let id = |query| StatementId { server: 1, query };
        let first = Executions { calls: 3, time: Nanos::from_micros(1_500) };
        assert_eq!(found, [(id(-42), first), (id(7), Executions::default())]);
        assert_eq!(executions(0, ""), Some(Vec::new()));
        for broken in ["1 2", "1 2 x", "1 -2 3"] {
            assert_eq!(executions(0, broken), None, "{broken}");
        }
    }
}
