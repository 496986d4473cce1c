//! What a watch costs: the same statements on connections with it and without, alternately.
//!
//! Prints a line per pair: what the statements are, their nanoseconds with a watch, and those without, with tabs
//! between them. `cargo xtask observers --only sqlite` runs it on a CPU of its own, and makes a table of the lines. The
//! file is in the cache and nothing waits for the disk, so that the share of the watch is larger here than in services.
//! Judges nothing.
//!
//! ```sh
//! cargo run --release -p knee-sqlite --example cost -- 12
//! ```

use std::error::Error;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use knee_sqlite::Watch;
use rusqlite::{Connection, TransactionBehavior};

/// Pairs if none are asked for.
const PAIRS: u32 = 12;
const BUSY_WAIT_MAX: Duration = Duration::from_secs(5);
/// Calls before a lap is timed: they fill the cache of pages and of statements.
const WARM_UP: u32 = 1_000;

const ROWS: u32 = 10_000;
const TABLE: &str = "PRAGMA journal_mode = WAL;
    CREATE TABLE entries (id INTEGER PRIMARY KEY, changes INTEGER NOT NULL, text TEXT NOT NULL);
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 10000)
    INSERT INTO entries (changes, text) SELECT 0, 'entry ' || n FROM n;";
const FIND: &str = "SELECT text FROM entries WHERE id = ?1";
const CHANGE: &str = "UPDATE entries SET changes = changes + 1 WHERE id = ?1";

/// What is done in a lap.
struct Work {
    name: &'static str,
    calls: u32,
    /// Statements per call.
    statements: u32,
    run: fn(&mut Connection, u32) -> rusqlite::Result<()>,
}

const WORKS: [Work; 3] = [
    Work { name: "a row by its key, prepared once", calls: 40_000, statements: 1, run: find },
    Work { name: "a row by its key, prepared each time", calls: 20_000, statements: 1, run: find_unprepared },
    Work { name: "BEGIN, UPDATE of a row, COMMIT", calls: 5_000, statements: 3, run: change },
];

fn main() -> Result<(), Box<dyn Error>> {
    let pairs = std::env::args().nth(1).map_or(Ok(PAIRS), |text| text.parse::<u32>())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("entries.db");
    Connection::open(&path)?.execute_batch(TABLE)?;
    let watch = Watch::new();
    for pair in 0..pairs {
        // Which of a pair comes first alternates, so that a drift of the machine costs both alike.
        let begins = pair.is_multiple_of(2);
        for work in &WORKS {
            let first = lap(&path, begins.then_some(&watch), work)?;
            let second = lap(&path, (!begins).then_some(&watch), work)?;
            let (with, without) = if begins { (first, second) } else { (second, first) };
            writeln!(io::stdout(), "{}\t{with:.1}\t{without:.1}", work.name)?;
        }
    }
    Ok(())
}

/// Nanoseconds per statement, on a connection of its own.
fn lap(path: &Path, watch: Option<&Watch>, work: &Work) -> rusqlite::Result<f64> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "synchronous", "OFF")?;
    if let Some(watch) = watch {
        watch.connection(&mut connection, BUSY_WAIT_MAX)?;
    }
    (work.run)(&mut connection, WARM_UP)?;
    let begun = now();
    (work.run)(&mut connection, work.calls)?;
    let took = now().saturating_duration_since(begun);
    Ok(took.as_secs_f64() * 1e9 / f64::from(work.calls * work.statements))
}

#[expect(clippy::disallowed_methods, reason = "this program measures itself")]
fn now() -> Instant {
    Instant::now()
}

fn find(connection: &mut Connection, calls: u32) -> rusqlite::Result<()> {
    for call in 0..calls {
        let mut statement = connection.prepare_cached(FIND)?;
        statement.query_row([1 + call % ROWS], |row| row.get::<_, String>(0))?;
    }
    Ok(())
}

fn find_unprepared(connection: &mut Connection, calls: u32) -> rusqlite::Result<()> {
    for call in 0..calls {
        connection.query_row(FIND, [1 + call % ROWS], |row| row.get::<_, String>(0))?;
    }
    Ok(())
}

fn change(connection: &mut Connection, calls: u32) -> rusqlite::Result<()> {
    for call in 0..calls {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.prepare_cached(CHANGE)?.execute([1 + call % ROWS])?;
        transaction.commit()?;
    }
    Ok(())
}
