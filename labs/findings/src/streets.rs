//! Streets, of which a form asks for those that begin with a text, in the file of SQLite.
//!
//! The file is that of [`crate::views`], which makes it. Does not use the other stores.

use std::path::Path;
use std::sync::Arc;

use knee_sqlite::Watch;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::connections::Connections;
use crate::defect::Defect;
use crate::refusal::Refusal;

/// Streets that there are, and beginnings of their names.
const STREETS: u32 = 60_000;
const BEGINNINGS: u32 = 4096;

/// What a connection executes first: commits wait for no disk.
const SETUP: &str = "PRAGMA synchronous = NORMAL";
const TABLE: &str = "CREATE TABLE streets (number INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT";
const FILL: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT ?1) \
                    INSERT INTO streets (number, name) \
                    SELECT n, printf('%05X Street', n * 7919 % 1048576) FROM n";
/// The index of a healthy shop, which does not tell small letters from large ones, as LIKE does not.
const INDEX: &str = "CREATE INDEX streets_name ON streets (name COLLATE NOCASE)";
/// The index by default, which tells them apart, so that it does not serve LIKE.
const INDEX_BINARY: &str = "CREATE INDEX streets_name ON streets (name)";
/// Empties the log of changes, which has all rows once.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";
const BEGIN_WITH: &str = "SELECT number, name FROM streets WHERE name LIKE ?1 \
                          ORDER BY name COLLATE NOCASE LIMIT 20";

/// The streets and their connections.
pub struct Streets {
    connections: Arc<Connections>,
}

impl Streets {
    /// Streets in this file. Only the healthy shop and its defect have them, so that the file of the others has no more
    /// to keep.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn open(path: &Path, defect: Defect, watch: &Watch) -> Result<Self, Refusal> {
        let connections = Connections::new(path, SETUP, watch);
        if matches!(defect, Defect::None | Defect::LikeCollation) {
            let connection = connections.open()?;
            connection.execute_batch(TABLE)?;
            connection.execute(FILL, [STREETS])?;
            let index = if defect == Defect::LikeCollation { INDEX_BINARY } else { INDEX };
            connection.execute_batch(index)?;
            connection.execute_batch(CHECKPOINT)?;
        }
        Ok(Self { connections })
    }

    /// The first streets whose names begin with the three digits of a number.
    ///
    /// # Errors
    /// SQLite fails.
    pub async fn that_begin(&self, number: u32) -> Result<Value, Refusal> {
        let pattern = pattern(number);
        let connections = Arc::clone(&self.connections);
        connections.run(move |connection: &Connection| Ok(that_begin(connection, &pattern)?)).await
    }
}

/// As a form sends it: in small letters.
fn pattern(number: u32) -> String {
    format!("{:03x}%", number % BEGINNINGS)
}

fn that_begin(connection: &Connection, pattern: &str) -> rusqlite::Result<Value> {
    let mut statement = connection.prepare_cached(BEGIN_WITH)?;
    let rows = statement.query_map([pattern], |row| {
        let (number, name): (i64, String) = (row.get(0)?, row.get(1)?);
        Ok(json!([number, name]))
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Views;

    #[tokio::test(flavor = "multi_thread")]
    async fn an_index_finds_streets_by_their_beginning_only_without_the_defect() {
        let mut found = Vec::new();
        for (defect, is_found) in [(Defect::None, true), (Defect::LikeCollation, false)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("views.sqlite3");
            let watch = Watch::new();
            let _views = Views::open(&path, defect, &watch).unwrap();
            let streets = Streets::open(&path, defect, &watch).unwrap();
            let begin = streets.that_begin(0xab7).await.unwrap();
            let names = begin.as_array().unwrap();
            assert!((1..=20).contains(&names.len()), "{begin}");
            assert!(names.iter().all(|street| street[1].as_str().unwrap().starts_with("AB7")), "{begin}");
            found.push(begin);
            let file = Connection::open(streets.connections.path()).unwrap();
            let sql = BEGIN_WITH.replace("?1", &format!("'{}'", pattern(0xab7)));
            let mut plan = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
            let steps: Vec<String> = steps.map(Result::unwrap).collect();
            assert_eq!(steps.iter().any(|step| step.starts_with("SEARCH")), is_found, "{steps:?}");
        }
        assert_eq!(found[0], found[1]);
    }
}
