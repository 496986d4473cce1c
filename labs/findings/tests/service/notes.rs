//! The defects of the notes.

use std::time::Duration;

use reqwest::Method;
use tokio::time::Instant;

use crate::fixture::Service;
use crate::stores::Stores;
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_note_costs_a_connection_a_log_and_the_clients_connection_only_with_the_defects() {
    let stores = Stores::seeded().await;
    for (defect, connections, lines, is_closed) in [
        ("none", 0, 0, false),
        ("connection-per-request", 3, 0, false),
        ("debug-log", 0, 120, false),
        ("no-keep-alive", 0, 0, true),
    ] {
        let service = Service::with(&stores, defect).await;
        // Their computation takes a connection, so that a request at the same time opens another one.
        let is_computed = async || stores.redis.command::<i64>(&["EXISTS", "top"]).await == 1;
        wait("the best sellers are computed", is_computed).await;
        service.get("/notes/9").await;
        let (before, lines_before) = (service.logged("connection authorized"), service.lines());
        for id in 1..=3 {
            let response = service.get(&format!("/notes/{id}")).await;
            assert_eq!(response.json()["title"], format!("Note {id}"));
            assert_eq!(response.headers.contains_key("connection"), is_closed, "{defect}");
        }
        assert_eq!(service.logged("connection authorized") - before, connections, "{defect}");
        assert_eq!(service.lines() - lines_before, lines, "{defect}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_delete_finds_rows_by_an_index_and_an_update_returns_little_only_without_the_defects() {
    let stores = Stores::seeded().await;
    let of_key = "SELECT 1 FROM notes WHERE list = 7";
    for (defect, is_scanned) in [("none", false), ("no-foreign-key-index", true)] {
        let service = Service::with(&stores, defect).await;
        let plan = service.plan(of_key, "").await;
        assert_eq!(plan.contains("Seq Scan on notes"), is_scanned, "{plan}");
        assert_eq!(service.send(Method::DELETE, "/lists/7").await.status, 204);
        assert_eq!(service.send(Method::DELETE, "/lists/7").await.status, 404);
        assert_eq!(service.number("SELECT count(*) FROM notes WHERE list = 7").await, 0);
    }
    for (defect, is_wide) in [("none", false), ("wide-rows", true)] {
        let service = Service::with(&stores, defect).await;
        let response = service.send(Method::PUT, "/documents/7").await;
        assert_eq!(response.json()["changes"], 1, "{defect}");
        assert_eq!(response.body.len() > 60_000, is_wide, "{defect}: {} bytes", response.body.len());
    }
}

/// The delay is a constant of the kernel, not a speed: 40 ms until an acknowledgement that nothing else carries.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_second_piece_of_a_response_waits_for_an_acknowledgement_only_with_the_defect() {
    let stores = Stores::seeded().await;
    let delay = Duration::from_millis(35);
    for (defect, is_delayed) in [("none", false), ("nagle", true)] {
        let service = Service::with(&stores, defect).await;
        let mut times = Vec::new();
        for id in 1..=40 {
            let start = Instant::now();
            let response = service.get(&format!("/notes/{id}/text")).await;
            times.push(start.elapsed());
            assert!(response.body.starts_with(&format!("note {id}\n")), "{response:?}");
        }
        times.sort();
        // A busy machine makes responses slow, but not all of them.
        let is_slow = if is_delayed { times[30] >= delay } else { times[0] >= delay };
        assert_eq!(is_slow, is_delayed, "{defect}: {times:?}");
    }
}
