//! Effects of the store's switches on one connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::hooks::{AuthContext, Authorization};
use tempfile::TempDir;

use super::read::{PostSelection, Table};
use super::*;
use crate::config::{BusyWait, Synchronous, TxMode};

fn board() -> (TempDir, StoreOptions) {
    let folder = TempDir::new().unwrap();
    let options = StoreOptions {
        path: database_path(folder.path()),
        tx_mode: TxMode::Immediate,
        busy_wait: BusyWait::Yielding60us,
        statement_cache: true,
        synchronous: Synchronous::Normal,
        transaction_cost: 0,
        checkpointer: None,
        counters: Arc::new(Counters::default()),
    };
    prepare(&options).unwrap();
    (folder, options)
}

fn user(name: &str) -> Write {
    Write::CreateUser { screen_name: name.into(), password_digest: "".into(), about: "".into() }
}

fn post(title: &str) -> Write {
    Write::CreatePost { user: 1, title: title.into(), description: "text".into() }
}

/// Number of statements prepared while `work` ran: SQLite calls the authorizer exactly then.
fn prepared(store: &mut Store, work: impl Fn(&mut Store)) -> usize {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let count = move |_: AuthContext<'_>| {
        counter.fetch_add(1, Ordering::Relaxed);
        Authorization::Allow
    };
    store.conn.authorizer(Some(count)).unwrap();
    work(store);
    store.conn.authorizer(None::<fn(AuthContext<'_>) -> Authorization>).unwrap();
    asked.load(Ordering::Relaxed)
}

#[test]
fn a_cached_statement_is_not_prepared_again_and_an_uncached_one_is() {
    let (_folder, options) = board();
    for (statement_cache, again) in [(true, false), (false, true)] {
        let mut store =
            Store::open(&StoreOptions { statement_cache, ..options.clone() }, Access::Write).unwrap();
        store.write(&user(if statement_cache { "one" } else { "two" })).unwrap();
        let look = |store: &mut Store| {
            store.posts(PostSelection::From(1)).unwrap();
            store.comments(1).unwrap();
            store.random_id(Table::Users).unwrap();
        };
        // Setting the authorizer expires all statements, so the first round always prepares.
        let one = prepared(&mut store, look);
        let two = prepared(&mut store, |store| {
            look(store);
            look(store);
        });
        assert!(one > 0);
        assert_eq!(two, if again { 2 * one } else { one });
    }
}

#[test]
fn a_read_only_connection_cannot_write() {
    let (_folder, options) = board();
    let mut store = Store::open(&options, Access::Read).unwrap();
    assert!(matches!(store.write(&user("ada")), Err(Failure::Sql(_))));
    assert_eq!(store.random_user().unwrap(), None);
}

#[test]
fn reads_of_a_snapshot_are_consistent_during_writes() {
    let (_folder, options) = board();
    let mut writer = Store::open(&options, Access::Write).unwrap();
    writer.write(&user("ada")).unwrap();
    let reader = Store::open(&options, Access::Read).unwrap();
    let mut add = |title: &str| assert!(matches!(writer.write(&post(title)), Ok(WriteOutcome::New(_))));
    reader
        .in_snapshot(|store| {
            let before = store.versions(PostSelection::From(0))?;
            add("In between");
            assert_eq!(store.versions(PostSelection::From(0))?, before);
            Ok(())
        })
        .unwrap();
    assert_eq!(reader.versions(PostSelection::From(0)).unwrap().len(), 1, "afterwards it is there");
}

#[test]
fn a_commit_waits_for_the_disk_when_synchronous_is_full() {
    let (_folder, options) = board();
    for (synchronous, pragma) in [(Synchronous::Normal, 1), (Synchronous::Full, 2)] {
        let store = Store::open(&StoreOptions { synchronous, ..options.clone() }, Access::Write).unwrap();
        let found: i64 = store.conn.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
        assert_eq!(found, pragma);
    }
}

#[test]
fn changes_that_share_a_transaction_are_applied_all_or_none() {
    let (_folder, options) = board();
    let mut store = Store::open(&options, Access::Write).unwrap();
    store.write(&user("ada")).unwrap();
    let nobody = Write::CreateComment { post: 1, user: 99, body: "A comment".into() };
    let failed = store.write_all([post("A first title"), nobody].iter());
    assert!(failed.is_err(), "a comment of nobody breaks a foreign key");
    assert_eq!(store.versions(PostSelection::From(0)).unwrap(), []);
}

#[test]
fn a_failed_request_does_not_fail_its_group() {
    let (_folder, options) = board();
    let counters = Arc::clone(&options.counters);
    let mut store = Store::open(&options, Access::Write).unwrap();
    store.write(&user("ada")).unwrap();
    let lock_holder = Connection::open(&options.path).unwrap();
    lock_holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (writer, thread) = group::GroupWriter::start(store, counters).unwrap();
    let first = writer.submit(vec![post("A first title")]);
    let nobody = Write::CreateComment { post: 1, user: 99, body: "A comment".into() };
    let bad = writer.submit(vec![post("A second title"), nobody]);
    let last = writer.submit(vec![post("A third title")]);
    lock_holder.execute_batch("COMMIT").unwrap();
    assert!(first.blocking_recv().unwrap().is_ok());
    assert!(bad.blocking_recv().unwrap().is_err());
    assert!(last.blocking_recv().unwrap().is_ok());
    drop(writer);
    thread.join().unwrap();
    let reader = Store::open(&options, Access::Read).unwrap();
    let titles: Vec<_> =
        reader.posts(PostSelection::From(0)).unwrap().into_iter().map(|post| post.title).collect();
    assert_eq!(titles, ["A first title", "A third title"]);
}

#[test]
fn a_file_of_a_newer_program_is_not_changed() {
    let (_folder, options) = board();
    let store = Store::open(&options, Access::Write).unwrap();
    store.conn.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(prepare(&options), Err(Failure::Schema { found: 99, .. })));
}

#[test]
fn the_versions_of_a_list_are_read_from_a_covering_index() {
    let (_folder, options) = board();
    let store = Store::open(&options, Access::Write).unwrap();
    for (sql, index) in [
        (
            "SELECT id, revision FROM posts INDEXED BY posts_versions WHERE id >= ?1 ORDER BY id",
            "posts_versions",
        ),
        (
            "SELECT id, revision FROM posts INDEXED BY posts_user_id WHERE user_id = ?1 ORDER BY id DESC",
            "posts_user_id",
        ),
    ] {
        let plan: Vec<String> = store
            .conn
            .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
            .unwrap()
            .query_map([1], |row| row.get("detail"))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(plan.len(), 1, "no sorting: {plan:?}");
        assert!(plan[0].contains(&format!("COVERING INDEX {index}")), "{plan:?}");
    }
}
