//! SQLite from outside: what the program `sqlite3` does to its files.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use crate::world::{Beside, last};

/// The program `sqlite3` with a database; none if it is not installed.
fn shell(path: &std::path::Path) -> Option<Child> {
    Command::new("sqlite3").arg(path).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()
}

#[test]
fn the_wal_and_the_locks_of_a_database_are_seen_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let Some(mut child) = shell(&path) else { return };
    let mut input = child.stdin.take().unwrap();
    let script = "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES(1); BEGIN IMMEDIATE; \
                  INSERT INTO t VALUES(2); SELECT 'ready';\n";
    input.write_all(script.as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while lines.next().unwrap().unwrap() != "ready" {}
    let mut beside = Beside::start(&[&format!("sqlite:{}", path.display())]);
    let seen = beside.until("the write lock", |seen| {
        last(seen, "sqlite.lock.held", "write").is_some_and(|looks| looks >= 2.0)
    });
    assert!(last(&seen, "sqlite.wal.bytes", "").unwrap() > 0.0);
    assert!(last(&seen, "sqlite.wal.frames", "").unwrap() >= 2.0);
    assert_eq!(seen.text(0, "setting", "journal_mode"), Some("wal"));
    input.write_all(b"COMMIT;\n").unwrap();
    drop(input);
    child.wait().unwrap();
    drop(beside.stop());
}
