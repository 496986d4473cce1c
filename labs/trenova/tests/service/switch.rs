//! Each remaining switch has its documented effect.

use std::process::Stdio;

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::{OPTIONS, Service, Stores, send};
use testbed::wait;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn workers_index_creates_and_drops_the_indexes() {
    let stores = Stores::empty().await;
    let there = "SELECT coalesce(sum(CASE indexname WHEN 'workers_tenant' THEN 1 WHEN 'workers_tenant_newest' THEN 2 \
                 ELSE 0 END), 0)::bigint FROM pg_indexes";
    for (value, sum) in [("tenant", 1), ("newest", 2), ("none", 0), ("newest", 2), ("tenant", 1)] {
        let _yard = Service::open(&stores, &["--workers-index", value]);
        assert_eq!(stores.cluster.number(there).await, sum, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn http_buffers_bounds_request_headers_and_write_sizes() {
    let stores = Stores::empty().await;
    let long = "x".repeat(5000);
    // The OpenAPI document takes 9, 5 and 1 writes; the last can be counted just after it was read.
    for (value, status, writes) in [("4096", 431, 7..40), ("8192", 200, 3..7), ("65536", 200, 0..3)] {
        let service = Service::open(&stores, &["--http-buffers", value]);
        let answer = send(service.request(Method::GET, "/health").header("x-long", &long)).await;
        assert_eq!(answer.status, status, "{value}");
        let before = service.figure("trenova_socket_writes_total").await;
        assert!(service.get("/openapi.json").await.json().is_object());
        // The first metrics response was written after the metrics were read.
        let written = service.figure("trenova_socket_writes_total").await - before - 1;
        assert!(writes.contains(&written), "{value}: {written}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn server_concurrency_rejects_connections_over_the_limit() {
    let stores = Stores::empty().await;
    let service = Service::open(&stores, &["--server-concurrency", "2"]);
    let address = service.url.strip_prefix("http://").unwrap().to_owned();
    let call = async || {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        let mut head = vec![0; 400];
        // A rejected client can find the connection closed before it has written.
        let read = stream.read(&mut head).await.unwrap_or(0);
        (stream, String::from_utf8_lossy(&head[..read]).into_owned())
    };
    let (one, answer) = call().await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_other, answer) = call().await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("try again\"}}"), "{answer}");
    drop(one);
    wait("a place is free", async || call().await.1.starts_with("HTTP/1.1 200")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn log_level_debug_logs_each_request_and_statement_and_error_logs_none() {
    let stores = Stores::seeded().await;
    for (value, format, lines) in [("error", "text", 0), ("debug", "text", 5), ("debug", "json", 5)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let flags = ["--log-level", value, "--log-format", format, "--query-call", "each"];
        let mut command = Service::command(&stores, &flags);
        let service = Service::start(command.stderr(Stdio::from(file.reopen().unwrap())));
        let person = service.sign_in(1).await;
        for _ in 0..5 {
            person.page().await;
        }
        let log = std::fs::read_to_string(file.path()).unwrap();
        let count = |part: &str| log.lines().filter(|line| line.contains(part)).count();
        let of_options =
            log.lines().filter(|line| line.contains("answered") && line.contains(OPTIONS)).count();
        assert_eq!((of_options, count("selected")), (lines, lines), "{value} {format}: {log}");
        assert!(!log.contains(&person.session), "a session's secret is no news");
        if format == "json" {
            for line in log.lines() {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn redis_call_sets_the_number_of_redis_round_trips() {
    let stores = Stores::seeded().await;
    for (value, trips, calls) in [("each", 4, 0), ("script", 1, 1), ("batch", 1, 1)] {
        let service = Service::open(&stores, &["--redis-call", value, "--session-refresh", "off"]);
        let person = service.sign_in(1).await;
        person.page().await;
        let before = (
            service.figure("trenova_redis_round_trips_total").await,
            service.figure("trenova_pass_calls_total").await,
        );
        for _ in 0..10 {
            person.page().await;
        }
        let spent = service.figure("trenova_redis_round_trips_total").await - before.0;
        assert_eq!(spent, 10 * trips, "{value}");
        assert_eq!(service.figure("trenova_pass_calls_total").await - before.1, 10 * calls, "{value}");
    }
    // Requests that arrive while Redis is busy share one call; each has its own count in the window.
    let service = Service::open(&stores, &["--redis-call", "batch", "--rate-limit", "1000"]);
    let person = service.sign_in(1).await;
    let before = service.figure("trenova_pass_calls_total").await;
    stores.redis.command::<()>(&["CLIENT", "PAUSE", "300", "ALL"]).await;
    let answers = person.many(30).await;
    let mut left: Vec<u64> = answers.iter().map(|answer| answer.number("x-ratelimit-remaining")).collect();
    left.sort_unstable();
    assert!(service.figure("trenova_pass_calls_total").await - before < 10);
    left.dedup();
    assert_eq!(left.len(), 30, "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn count_query_sets_the_statements_per_page_and_whether_it_is_counted() {
    let stores = Stores::seeded().await;
    for (value, statements, count) in
        [("parallel", 2, Some(30)), ("window", 1, Some(30)), ("kept", 1, Some(30)), ("off", 1, None)]
    {
        for call in ["each", "batch"] {
            let service = Service::open(&stores, &["--count-query", value, "--query-call", call]);
            let person = service.sign_in(1).await;
            assert_eq!(person.page().await["count"].as_i64(), count, "{value} {call}");
            assert_eq!(service.figure("trenova_statements_total").await, statements, "{value} {call}");
        }
    }
    // The kept count is correct after any change.
    let service = Service::open(&stores, &["--count-query", "kept"]);
    let (one, other) = (service.sign_in(1).await, service.sign_in(2).await);
    one.make("Zoe", "Quist").await;
    let from = one.page().await["results"][0]["value"].as_str().unwrap().to_owned();
    stores
        .cluster
        .execute("DELETE FROM workers WHERE organization_id LIKE '%2' AND created_at < 1700000600")
        .await;
    let counts = (one.page().await["count"].clone(), other.page().await["count"].clone());
    assert_eq!((counts.0.as_i64(), counts.1.as_i64()), (Some(31), Some(21)), "{from}");
    stores.cluster.execute("UPDATE workers SET first_name = first_name || 'a'").await;
    assert_eq!(one.page().await["count"].as_i64(), Some(31));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn columns_sets_how_much_of_each_worker_is_read() {
    let stores = Stores::seeded().await;
    for (value, columns) in [("all", 20 * 10), ("needed", 3 * 10)] {
        let service = Service::open(&stores, &["--columns", value, "--count-query", "off"]);
        service.sign_in(1).await.page().await;
        assert_eq!(service.figure("trenova_columns_total").await, columns, "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn statement_cache_keeps_prepared_statements() {
    let stores = Stores::seeded().await;
    for (value, named) in [("on", 10), ("off", 0)] {
        let service = Service::open(&stores, &["--statement-cache", value]);
        let person = service.sign_in(1).await;
        let of_options = || {
            let all = stores.cluster.statements("trenova").into_iter();
            all.filter(|line| line.contains("FROM workers WHERE")).collect::<Vec<_>>()
        };
        let before = of_options().len();
        for _ in 0..10 {
            person.page().await;
        }
        let lines = of_options().split_off(before);
        assert_eq!(lines.len(), 10, "{value}");
        let unnamed = lines.iter().filter(|line| line.contains("execute <unnamed>")).count();
        assert_eq!(10 - unnamed, named, "{value}: {lines:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn json_standard_builds_a_tree_per_response() {
    let stores = Stores::seeded().await;
    let mut bodies = Vec::new();
    for (value, nodes) in [("standard", 5 + 3 * 10), ("fast", 0)] {
        let service = Service::open(&stores, &["--json", value]);
        bodies.push(service.sign_in(1).await.options().await.body);
        assert_eq!(service.figure("trenova_json_nodes_total").await, nodes, "{value}");
    }
    assert_eq!(bodies[0], bodies[1]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn answer_cache_serves_from_memory_for_its_time_and_sees_changes_of_this_process() {
    let stores = Stores::seeded().await;
    let newest = async |person: &crate::world::Person<'_>| person.options().await.ids()[0].clone();
    for call in ["each", "batch"] {
        for (value, hits) in [("0", 0), ("60000", 5)] {
            let flags = ["--answer-cache-ms", value, "--query-call", call];
            let (service, elsewhere) = (Service::open(&stores, &flags), Service::open(&stores, &[]));
            let person = service.sign_in(1).await;
            let other = service.sign_in(2).await;
            for _ in 0..6 {
                person.page().await;
            }
            assert_eq!(service.figure("trenova_answer_hits_total").await, hits, "{value} {call}");
            assert_ne!(
                newest(&person).await,
                newest(&other).await,
                "{value} {call}: each tenant has its own"
            );
            let mine = person.make("Zoe", "Quist").await;
            // Not the first of the list: workers created in the same second can precede it.
            assert!(person.options().await.ids().contains(&mine), "{value} {call}");
            let theirs = elsewhere.person(&person.session).make("Zoe", "Quist").await;
            let is_seen = person.options().await.ids().contains(&theirs);
            assert_eq!(
                is_seen,
                value == "0",
                "{value} {call}: others' changes are seen when the time is over"
            );
            assert_eq!(person.delete(&format!("/api/v1/workers/{mine}")).await.status, 204);
            assert!(!person.options().await.ids().contains(&mine), "{value} {call}");
        }
    }
    let (service, elsewhere) =
        (Service::open(&stores, &["--answer-cache-ms", "50"]), Service::open(&stores, &[]));
    let person = service.sign_in(1).await;
    person.page().await;
    let theirs = elsewhere.person(&person.session).make("Zoe", "Quist").await;
    wait("it is seen", async || person.options().await.ids().contains(&theirs)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn rows_sets_the_number_of_workers_of_every_tenant() {
    let stores = Stores::seeded().await;
    let rows =
        [("off", 30, 30), ("80", 80, 80), ("12", 12, 80), ("40", 40, 80), ("12", 12, 80), ("80", 80, 80)];
    for (value, count, newest) in rows {
        let service = Service::open(&stores, &["--rows", value]);
        for tenant in [1, 2] {
            let page = service.sign_in(tenant).await.page().await;
            assert_eq!(page["count"], count, "{value}");
            let label = page["results"][0]["label"].as_str().unwrap();
            assert!(label.ends_with(&format!(" {newest}")), "{value}: the oldest go, {label}");
        }
    }
    // Fills gaps in the numbers.
    stores.cluster.execute("DELETE FROM workers WHERE created_at % 7 < 3").await;
    let service = Service::open(&stores, &["--rows", "80"]);
    assert_eq!(service.sign_in(2).await.page().await["count"], 80);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM workers").await, 160);
}
