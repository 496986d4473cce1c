//! SQLite from outside: what another process does to its files, and plans of statements that a page has.
//!
//! The other process is this test program once more: the observer opens the same files, and closing them would give back
//! the locks of its own process. Where a plan is asked for, the service is in this process: it has the only connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use knee_core::observation::SourceState;
use knee_sqlite::Watch;
use rusqlite::Connection;

use crate::world::{Beside, last, words};

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

/// Serves the page of a watch, and returns its address. Ends with the test program.
fn serve(watch: Watch) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/metrics", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            // One read has the whole of such a short question.
            if connection.read(&mut [0; 4_096]).unwrap() == 0 {
                continue;
            }
            let page = watch.page();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", page.len());
            connection.write_all(format!("{head}{page}").as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn a_statement_has_its_plan_beside_it_after_the_run_and_its_literals_are_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("posts.db");
    let watch = Watch::new();
    let mut service = Connection::open(&path).unwrap();
    watch.connection(&mut service, Duration::from_secs(1)).unwrap();
    let script = "PRAGMA journal_mode=WAL; CREATE TABLE posts (id INTEGER PRIMARY KEY, author, title)";
    service.execute_batch(script).unwrap();
    let find = "SELECT title FROM posts WHERE author = 471147114711 AND title <> 'hunter2' ORDER BY title";
    assert!(!service.prepare(find).unwrap().exists([]).unwrap());
    let targets = [format!("sqlite:{}", path.display()), format!("prometheus:{}", serve(watch))];
    let beside = Beside::start(&targets.each_ref().map(String::as_str));
    assert!(!service.prepare(find).unwrap().exists([]).unwrap());
    let seen = beside.ask(|_| Vec::new());
    assert!(seen.sources.iter().all(|source| source.state == SourceState::Read), "{:?}", seen.sources);
    let label = "statement=\"SELECT title FROM posts WHERE author = ? AND title <> ? ORDER BY title\"";
    let plan = seen.text(1, "statement.plan", label);
    assert_eq!(plan, Some("SCAN posts\nUSE TEMP B-TREE FOR ORDER BY"), "{:?}", seen.sources);
    let said = words(&seen);
    assert!(!said.contains("hunter2") && !said.contains("471147114711"), "{said}");
    let rows: i64 = service.query_row("SELECT count(*) FROM posts", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0, "the service goes on");
}
