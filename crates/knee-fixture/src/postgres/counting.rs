//! The extension `pg_stat_statements`, which counts and times the statements of a server, and HypoPG beside it.
//!
//! It takes CPU time in each statement, so a cluster has it only if it is asked for. It is created twice: in the database
//! of the services, for observers that connect there, and in the maintenance database, for the fixture's own questions.
//! With HypoPG, observers ask the planner about indexes that do not exist; it takes time only in sessions that call it.
//! Does not decide who asks.

use super::sql;
use crate::placement::Unavailable;

/// The extension, its library and its view.
pub(crate) const EXTENSION: &str = "pg_stat_statements";

/// The extension for indexes that do not exist. Few installations have it.
const HYPOTHETICAL: &str = "hypopg";

/// The schema of both in the database of the services. Tables of a service cannot have the names of its views, and a service
/// that removes the schema `public` does not remove it.
const SCHEMA: &str = "knee_statements";

/// Whether a cluster counts its statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// The study does not ask for it.
    No,
    /// It does.
    Yes,
    /// It was to, and the installation does not have the library.
    Lacks(Unavailable),
}

impl Counting {
    pub(super) const fn of(asked: bool) -> Self {
        if asked { Self::Yes } else { Self::No }
    }

    /// What it was to have and cannot have.
    pub(super) fn lacks(&self) -> Option<Unavailable> {
        match self {
            Self::Lacks(unavailable) => Some(unavailable.clone()),
            Self::No | Self::Yes => None,
        }
    }

    /// The state of a cluster whose installation lacks the library.
    pub(super) fn lacking(who: &str) -> Self {
        Self::Lacks(Unavailable {
            what: format!("query times of {who}"),
            reason: format!("its installation has no {EXTENSION}; install PostgreSQL's contrib modules"),
        })
    }
}

/// Whether a server ended because the library is not there, by its last lines.
pub(super) fn is_missing(last_lines: &[String]) -> bool {
    let said = format!("could not access file \"{EXTENSION}\"");
    last_lines.iter().any(|line| line.contains(&said))
}

/// Creates it in the database of the services.
pub(super) fn create_for_services() -> [String; 2] {
    let schema = sql::name(SCHEMA);
    [format!("CREATE SCHEMA {schema}"), format!("CREATE EXTENSION {} SCHEMA {schema}", sql::name(EXTENSION))]
}

/// Asks whether the installation has HypoPG: a row if so.
pub(super) fn has_hypopg() -> [String; 1] {
    [format!("SELECT name FROM pg_available_extensions WHERE name = '{HYPOTHETICAL}'")]
}

/// Creates HypoPG in the database of the services, unless the study declares it.
pub(super) fn create_hypopg() -> [String; 2] {
    let schema = sql::name(SCHEMA);
    [
        format!("CREATE SCHEMA IF NOT EXISTS {schema}"),
        format!("CREATE EXTENSION IF NOT EXISTS {HYPOTHETICAL} SCHEMA {schema}"),
    ]
}

/// Creates it in the maintenance database.
pub(super) fn create_for_fixture() -> [String; 1] {
    [format!("CREATE EXTENSION {}", sql::name(EXTENSION))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_known_by_what_the_server_says_and_other_failures_are_not() {
        let line =
            "2026-01-01 UTC FATAL:  could not access file \"pg_stat_statements\": No such file or directory";
        assert!(is_missing(&["starting".to_owned(), line.to_owned()]));
        let other = "FATAL:  could not access file \"timescaledb\": No such file or directory";
        assert!(!is_missing(&[other.to_owned()]) && !is_missing(&[]));
        let unavailable = Counting::lacking("PostgreSQL `db`").lacks().unwrap();
        assert_eq!(unavailable.what, "query times of PostgreSQL `db`");
        assert!(Counting::of(true).lacks().is_none());
    }
}
