//! What a service sees on the page of its SQLite connections, with real files.
//!
//! The texts of statements and the states of transactions have tests in their modules.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use knee_sqlite::Watch;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};

/// How long connections wait for a lock, unless a test says otherwise.
const WAIT_MAX: Duration = Duration::from_secs(20);
const TABLE: &str = "PRAGMA journal_mode = WAL; CREATE TABLE posts (id INTEGER, author INTEGER, title TEXT)";
const POST: &str = "INSERT INTO posts (id, author, title) VALUES (1, 2, 'hunter2')";

fn connection(watch: &Watch, path: &Path, wait_max: Duration) -> Connection {
    let mut connection = Connection::open(path).unwrap();
    watch.connection(&mut connection, wait_max).unwrap();
    connection
}

/// A watch of two connections to one new file.
fn two(folder: &tempfile::TempDir, wait_max: Duration) -> (Watch, Connection, Connection) {
    let path = folder.path().join("posts.db");
    Connection::open(&path).unwrap().execute_batch(TABLE).unwrap();
    let watch = Watch::new();
    let (one, other) = (connection(&watch, &path, wait_max), connection(&watch, &path, wait_max));
    (watch, one, other)
}

/// The figure of a line of the page; 0 if there is none.
fn figure(page: &str, series: &str) -> f64 {
    let values = page.lines().filter_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    values.map(|value| value.parse::<f64>().unwrap()).sum()
}

fn of_statement(page: &str, name: &str, statement: &str) -> f64 {
    figure(page, &format!("knee_sqlite_statement_{name}{{statement=\"{statement}\"}}"))
}

#[expect(clippy::disallowed_methods, reason = "a limit of this test")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_writer_that_waits_for_another_one_is_counted_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, mut one, other) = two(&folder, WAIT_MAX);
    let transaction = one.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let waiting = thread::spawn(move || other.execute(POST, []));
    let begun = now();
    while figure(&watch.page(), "knee_sqlite_busy_wait_seconds_total") < 0.01 {
        assert!(now() - begun < WAIT_MAX, "{}", watch.page());
        thread::sleep(Duration::from_millis(1));
    }
    transaction.commit().unwrap();
    assert_eq!(waiting.join().unwrap().unwrap(), 1);
    let page = watch.page();
    assert_eq!(figure(&page, "knee_sqlite_busy_total") as u64, 1, "{page}");
    assert_eq!(figure(&page, "knee_sqlite_busy_timeouts_total") as u64, 0, "{page}");
    assert!(figure(&page, "knee_sqlite_busy_wait_seconds_total") < 20.0, "{page}");
    assert!(figure(&page, "knee_sqlite_write_transactions_total") >= 2.0, "{page}");
    assert!(figure(&page, "knee_sqlite_write_seconds_total") >= 0.01, "one held the lock meanwhile: {page}");
}

#[test]
fn a_user_sees_how_much_each_connection_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, one, other) = two(&folder, WAIT_MAX);
    for connection in [&one, &one, &other] {
        connection.execute(POST, []).unwrap();
    }
    drop(other);
    let page = watch.page();
    let calls = |number: u32| {
        figure(&page, &format!("knee_sqlite_connection_calls_total{{connection=\"{number}\"}}")) as u64
    };
    assert_eq!([calls(1), calls(2), calls(3)], [2, 1, 0], "{page}");
}

#[test]
fn a_user_sees_that_a_file_that_is_written_again_is_locked_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, one, _other) = two(&folder, WAIT_MAX);
    one.execute(POST, []).unwrap();
    let writes = || figure(&watch.page(), "knee_sqlite_write_transactions_total") as u64;
    assert_eq!(writes(), 1);
    one.execute_batch("VACUUM").unwrap();
    assert_eq!(writes(), 2);
    one.execute("VACUUM INTO ?1", [folder.path().join("copy.db").to_str().unwrap()]).unwrap();
    assert_eq!(writes(), 2, "the copy is another file");
}

#[test]
fn a_wait_ends_at_its_limit_with_an_error_that_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, mut one, mut other) = two(&folder, Duration::from_millis(30));
    let _held = one.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let refused = other.transaction_with_behavior(TransactionBehavior::Immediate).map(drop).unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    let page = watch.page();
    let counted = ["busy_total", "busy_timeouts_total", "write_transactions_total"]
        .map(|name| figure(&page, &format!("knee_sqlite_{name}")) as u64);
    assert_eq!(counted, [1, 1, 0], "{page}");
    let waited = figure(&page, "knee_sqlite_busy_wait_seconds_total");
    assert!((0.015..10.0).contains(&waited), "{waited}");
    let in_vain = figure(&page, "knee_sqlite_busy_timeout_wait_seconds_total");
    assert!((waited - in_vain).abs() < 1e-6, "all of it was in vain: {page}");
}

#[test]
fn a_connection_that_does_not_wait_is_refused_at_once_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, mut one, mut other) = two(&folder, Duration::ZERO);
    let _held = one.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    for _ in 0..3 {
        let refused = other.transaction_with_behavior(TransactionBehavior::Immediate).map(drop).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    }
    let page = watch.page();
    let counted = ["busy_total", "busy_timeouts_total", "upgrades_refused_total"]
        .map(|name| figure(&page, &format!("knee_sqlite_{name}")) as u64);
    assert_eq!(counted, [3, 3, 0], "{page}");
    for name in ["busy_wait_seconds_total", "busy_timeout_wait_seconds_total"] {
        assert!(figure(&page, &format!("knee_sqlite_{name}")) < 1e-9, "{page}");
    }
}

#[test]
fn statements_that_differ_in_their_literals_are_counted_as_one_without_the_literals() {
    let watch = Watch::new();
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLE).unwrap();
    watch.connection(&mut connection, WAIT_MAX).unwrap();
    for id in 0..5 {
        let sql = format!("INSERT INTO posts (id, title) VALUES ({id}, 'secret of {id}')");
        connection.execute(&sql, []).unwrap();
        connection.prepare_cached("SELECT title FROM posts WHERE id = :id").unwrap().exists([id]).unwrap();
    }
    let page = watch.page();
    for statement in ["INSERT INTO posts (id, title) VALUES (?, ?)", "SELECT title FROM posts WHERE id = ?"] {
        assert_eq!(of_statement(&page, "calls_total", statement) as u64, 5, "{page}");
    }
    assert!(!page.contains("secret"), "{page}");
}

#[test]
fn a_prepared_statement_is_counted_per_call_whatever_others_ran_in_between() {
    let watch = Watch::new();
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLE).unwrap();
    connection.execute_batch("INSERT INTO posts (id) VALUES (1), (2), (3), (4), (5)").unwrap();
    watch.connection(&mut connection, WAIT_MAX).unwrap();
    let mut scan = connection.prepare("SELECT count(*) FROM posts WHERE title IS NULL").unwrap();
    for round in 0..40 {
        scan.query_row([], |_| Ok(())).unwrap();
        // Each is prepared and forgotten: its text can lie where that of another one did.
        connection.execute(&format!("UPDATE posts SET author = {round} WHERE id = 3"), []).unwrap();
    }
    let page = watch.page();
    for statement in
        ["SELECT count(*) FROM posts WHERE title IS NULL", "UPDATE posts SET author = ? WHERE id = ?"]
    {
        assert_eq!(of_statement(&page, "calls_total", statement) as u64, 40, "{page}");
        let scanned = of_statement(&page, "fullscan_steps_total", statement);
        assert!((40.0 * 4.0..=40.0 * 5.0).contains(&scanned), "{page}");
    }
}

#[test]
fn statements_beyond_the_first_200_are_counted_together() {
    let watch = Watch::new();
    let mut connection = Connection::open_in_memory().unwrap();
    watch.connection(&mut connection, WAIT_MAX).unwrap();
    for number in 0..210 {
        connection.execute(&format!("CREATE TABLE table_{number} (id INTEGER)"), []).unwrap();
    }
    let page = watch.page();
    assert_eq!(of_statement(&page, "calls_total", "CREATE TABLE table_199 (id INTEGER)") as u64, 1);
    assert_eq!(of_statement(&page, "calls_total", "(other)") as u64, 10);
    assert_eq!(page.matches("knee_sqlite_statement_calls_total{").count(), 201);
}

#[test]
fn scans_sorts_and_automatic_indexes_are_counted_once_per_call_of_a_prepared_statement() {
    let watch = Watch::new();
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(TABLE).unwrap();
    let fill = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 500) \
                INSERT INTO posts (id, author, title) SELECT n, n, 'post ' || n FROM n";
    connection.execute(fill, []).unwrap();
    watch.connection(&mut connection, WAIT_MAX).unwrap();
    let find = "SELECT title FROM posts WHERE author = ?";
    let sort = "SELECT title FROM posts ORDER BY author LIMIT ?";
    let join = "SELECT max(one.title) FROM posts AS one JOIN posts AS other ON one.author = other.id";
    for author in [700, 701, 702] {
        assert!(!connection.prepare_cached(find).unwrap().exists([author]).unwrap());
        assert!(connection.prepare_cached(sort).unwrap().exists([1]).unwrap());
        connection.prepare_cached(join).unwrap().query_row([], |_| Ok(())).unwrap();
    }
    let page = watch.page();
    let steps = of_statement(&page, "fullscan_steps_total", find);
    assert!((3.0 * 499.0..=3.0 * 500.0).contains(&steps), "{page}");
    assert_eq!(of_statement(&page, "sorts_total", sort) as u64, 3, "{page}");
    assert_eq!(of_statement(&page, "sorts_total", find) as u64, 0, "{page}");
    assert!(of_statement(&page, "autoindex_rows_total", join) > 3.0 * 400.0, "{page}");
}

#[test]
fn a_transaction_that_reads_first_and_is_refused_its_write_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, mut one, other) = two(&folder, WAIT_MAX);
    let count = "SELECT count(*) FROM posts";
    let mut write_after_read = |between: &str| -> rusqlite::Result<()> {
        let transaction = one.transaction_with_behavior(TransactionBehavior::Deferred)?;
        transaction.query_row(count, [], |_| Ok(()))?;
        other.execute_batch(between)?;
        transaction.execute(POST, [])?;
        transaction.commit()
    };
    write_after_read("").unwrap();
    // Another one has written since the read, and another one holds the lock now.
    for between in ["DELETE FROM posts", "BEGIN IMMEDIATE"] {
        let refused = write_after_read(between).unwrap_err();
        assert_eq!(refused.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{between}");
    }
    let page = watch.page();
    let counted = ["upgrades_total", "upgrades_refused_total", "upgrades_rolled_back_total", "busy_total"]
        .map(|name| figure(&page, &format!("knee_sqlite_{name}")) as u64);
    assert_eq!(counted, [3, 2, 2, 0], "{page}");
}

#[test]
fn a_transaction_holds_the_write_lock_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, mut one, _other) = two(&folder, WAIT_MAX);
    let transaction = one.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute(POST, []).unwrap();
    thread::sleep(Duration::from_millis(30));
    transaction.commit().unwrap();
    let page = watch.page();
    assert!(figure(&page, "knee_sqlite_write_seconds_total") >= 0.03, "{page}");
    assert_eq!(figure(&page, "knee_sqlite_write_transactions_total") as u64, 1, "{page}");
}

#[test]
fn the_counts_of_a_closed_connection_stay_on_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let (watch, one, other) = two(&folder, WAIT_MAX);
    one.execute(POST, []).unwrap();
    other.execute(POST, []).unwrap();
    assert_eq!(figure(&watch.page(), "knee_sqlite_connections") as u64, 2);
    drop(one);
    other.close().unwrap();
    let page = watch.page();
    assert_eq!(figure(&page, "knee_sqlite_connections") as u64, 0, "{page}");
    let statement = "INSERT INTO posts (id, author, title) VALUES (?, ?, ?)";
    assert_eq!(of_statement(&page, "calls_total", statement) as u64, 2, "{page}");
}
