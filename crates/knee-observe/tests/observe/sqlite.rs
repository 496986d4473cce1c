//! SQLite from outside: what another process does to its files.
//!
//! The other process is this test program once more: the observer opens the same files, and closing them would give back
//! the locks of its own process.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rusqlite::Connection;

use crate::world::{Beside, last};

/// Names the database that the other process writes to.
const DATABASE: &str = "KNEE_TEST_DATABASE";

/// What the other process prints when it holds the write lock.
const LOCKED: &str = "locked";

/// The other process: it holds the write lock until stdin has a line.
fn hold(path: &Path) {
    let database = Connection::open(path).unwrap();
    let script = "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1); BEGIN IMMEDIATE; \
                  INSERT INTO t VALUES(2)";
    database.execute_batch(script).unwrap();
    std::io::stdout().write_all(format!("\n{LOCKED}\n").as_bytes()).unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    database.execute_batch("COMMIT").unwrap();
}

fn writer(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "sqlite::the_wal_and_the_locks_of_a_database_are_seen_from_outside", "--nocapture"])
        .env(DATABASE, path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn the_wal_and_the_locks_of_a_database_are_seen_from_outside() {
    if let Some(path) = std::env::var_os(DATABASE) {
        return hold(Path::new(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let mut writer = writer(&path);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == LOCKED), "the writer ended");
    let mut beside = Beside::start(&[&format!("sqlite:{}", path.display())]);
    let seen = beside.until("the write lock", |seen| {
        last(seen, "sqlite.lock.held", "write").is_some_and(|looks| looks >= 2.0)
    });
    assert!(last(&seen, "sqlite.wal.bytes", "").unwrap() > 0.0);
    assert!(last(&seen, "sqlite.wal.frames", "").unwrap() >= 2.0);
    assert!(last(&seen, "sqlite.transactions", "").unwrap() >= 2.0, "a table and a row");
    assert_eq!(seen.text(0, "setting", "journal_mode"), Some("wal"));
    writer.stdin.take().unwrap().write_all(b"\n").unwrap();
    // Read to the end, so that it is not stopped by a full pipe.
    lines.for_each(drop);
    assert!(writer.wait().unwrap().success());
    drop(beside.stop());
}
