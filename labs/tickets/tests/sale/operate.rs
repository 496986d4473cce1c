//! Operation: health, graceful shutdown, clear errors, and recovery from a store outage.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::fixture::{Counts, Service, Stores, body};
use testbed::{signal, succeed, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn ready_names_the_store_that_is_down_and_sales_resume_when_it_is_back() {
    let mut stores = Stores::seeded(10, 5).await;
    let service = Service::open(&stores, &[]);
    assert_eq!(service.get("ready").await.status, 200);
    stores.redis.kill();
    wait("not ready", async || service.get("ready").await.status == 503).await;
    assert_eq!(service.get("ready").await.body, "Redis does not answer");
    assert_eq!(service.get("health").await.status, 200);
    let response = service.order("complex-redis-decrement", &[("a", 1)]).await;
    assert_eq!((response.status, response.code().as_str()), (503, "store_unavailable"));
    assert_eq!(
        service.order("pg-reserve-ticket", &[("a", 1)]).await.status,
        200,
        "the other store still sells"
    );

    stores.redis.restart().await;
    wait("ready", async || service.get("ready").await.status == 200).await;
    let response = service.order("complex-redis-decrement", &[("a", 1)]).await;
    assert_eq!(response.status, 503, "Redis lost its counters, so nothing may be sold: {response:?}");
    stores.redis.command::<()>(&["SET", "ticket:a", "1"]).await;
    assert_eq!(service.order("complex-redis-decrement", &[("a", 1)]).await.status, 200);
    assert_eq!(service.order("complex-redis-decrement", &[("a", 1)]).await.status, 409);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_shutdown_finishes_the_open_order() {
    let stores = Stores::seeded(10, 0).await;
    let mut service = Service::open(&stores, &[]);
    // Another transaction locks the row, so the order waits.
    let mut blocking_client = stores.cluster.connect().await;
    let blocking_transaction = blocking_client.transaction().await.unwrap();
    blocking_transaction.execute("UPDATE tickets SET stock = stock - 1 WHERE id = 'a'", &[]).await.unwrap();
    let process = service.process.id();
    let url = service.url.clone();
    let (response, ()) = tokio::join!(service.order("pg-decrement-ticket", &[("a", 1)]), async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        wait("the order waits", async || stores.cluster.number(waits).await == 1).await;
        signal(process, "TERM");
        wait("no new buyers", async || reqwest::get(format!("{url}/health")).await.is_err()).await;
        blocking_transaction.commit().await.unwrap();
    });
    assert_eq!(response.status, 200);
    let ended = tokio::task::spawn_blocking(move || service.process.0.wait().unwrap());
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap().unwrap();
    assert!(ended.success());
    assert_eq!(stores.cluster.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await, 8);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn startup_errors_have_a_hint_and_do_not_show_the_password() {
    let stores = Stores::empty().await;
    let stderr = |command: &str, flags: &[&str]| {
        let output = stores.command(command, flags).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let error = stderr("serve", &["--listen", "127.0.0.1:0"]);
    assert!(error.contains("lacks 1 of the steps") && error.contains("hint: tickets migrate"), "{error}");
    let secret =
        stores.cluster.url().replace("postgres@", "postgres:geheim@").replace("/postgres", "/missing");
    let error = stderr("serve", &["--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("error: ") && !error.contains("geheim"), "{error}");
    assert!(error.contains("hint: start PostgreSQL, then make tickets"), "{error}");
    let secret = format!("{}?password=geheim", stores.cluster.url().replace("/postgres", "/missing"));
    let error = stderr("serve", &["--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("error: ") && !error.contains("geheim"), "{error}");
    stores.seed(&["--units-per-ticket", "1"]);
    let error = stderr("seed", &["--units-per-ticket", "1"]);
    assert!(error.contains("holds tickets already") && error.contains("hint: --replace"), "{error}");
    stores.seed(&["--units-per-ticket", "2", "--replace"]);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units").await, 20);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = stderr("serve", &["--listen", &taken.local_addr().unwrap().to_string()]);
    assert!(error.contains("cannot listen on"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_seed_in_the_middle_of_a_sale_leaves_only_the_units_that_are_not_sold() {
    let stores = Stores::empty().await;
    stores.seed(&["--tickets", "2", "--units-per-ticket", "10", "--units-sold", "7"]);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await, 14);
    let service = Service::open(&stores, &[]);
    assert_eq!(service.order("pg-reserve-ticket", &[("a", 3), ("b", 2)]).await.status, 200);
    assert_eq!(service.order("pg-reserve-ticket", &[("b", 2)]).await.status, 409);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE NOT reserved").await, 1);
    stores.seed(&["--tickets", "1", "--units-per-ticket", "10", "--units-sold", "11", "--replace"]);
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE NOT reserved").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn no_hint_about_tables_of_another_version_deletes_sales() {
    let stores = Stores::seeded(10, 1).await;
    let service = Service::open(&stores, &["--record", "each"]);
    assert_eq!(service.order("redis-decrement", &[("a", 2)]).await.status, 200);
    drop(service);
    stores
        .cluster
        .connect()
        .await
        .batch_execute("ALTER TABLE stock_epoch RENAME TO epoch_of_another_version")
        .await
        .unwrap();
    let output = stores.command("serve", &["--listen", "127.0.0.1:0", "--record", "each"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(error.contains("error: ") && error.contains("hint: "), "{error}");
    assert!(!error.contains("seed") && !error.contains("replace"), "{error}");
    assert_eq!(stores.cluster.number("SELECT count(*) FROM sales").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn more_clients_than_the_default_limit_of_open_files_are_served_concurrently() {
    let stores = Stores::seeded(1, 0).await;
    let service = Service::open_with_files(&stores, 40);
    let address = service.url.strip_prefix("http://").unwrap();
    let buyers = async {
        // All stay connected until the last one is served.
        let mut buyers = Vec::new();
        for _ in 0..200 {
            let mut buyer = TcpStream::connect(address).await.unwrap();
            buyer.write_all(b"GET /health HTTP/1.1\r\nHost: sale\r\n\r\n").await.unwrap();
            buyers.push(buyer);
        }
        for buyer in &mut buyers {
            let mut response = [0; 12];
            buyer.read_exact(&mut response).await.unwrap();
            assert_eq!(&response, b"HTTP/1.1 200");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), buyers).await.expect("buyers wait for ever");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn migrate_makes_empty_tables_once_and_takes_over_older_ones_with_their_sales() {
    let stores = Stores::empty().await;
    // As another program has it that shares the database.
    stores.cluster.execute("CREATE TABLE schema_migrations AS SELECT 2 AS version").await;
    let migrate = || succeed(&mut stores.command("migrate", &[]));
    assert_eq!((migrate().trim(), migrate().trim()), ("1 steps applied", "0 steps applied"));
    let service = Service::open(&stores, &[]);
    assert_eq!(service.get("tickets").await.body, r#"{"tickets":[]}"#);
    assert_eq!(service.order("pg-reserve-ticket", &[("a", 1)]).await.code(), "unknown_ticket");
    drop(service);

    stores.seed(&["--tickets", "2", "--stock", "10", "--units-per-ticket", "10"]);
    // As an earlier version of the program made them.
    stores.cluster.execute("DROP TABLE tickets_migrations").await;
    let service = Service::open(&stores, &[]);
    assert_eq!(service.get("tickets").await.body, r#"{"tickets":["a","b"]}"#);
    assert_eq!(service.order("pg-reserve-ticket", &[("a", 3)]).await.status, 200);
    assert_eq!(migrate().trim(), "0 steps applied");
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await, 3);
    drop(service);
    stores.seed(&["--tickets", "2", "--units-per-ticket", "10", "--replace"]);
    let others = stores.cluster.number("SELECT count(*) FROM schema_migrations").await;
    assert_eq!(others, 1, "those of another program stay");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_flags_no_order_of_five_hundred_users_fails() {
    let stores = Stores::start(&["max_connections=100"]).await;
    stores.seed(&["--tickets", "3", "--stock", "5000", "--units-per-ticket", "5000"]);
    let service = Service::open(&stores, &[]);
    for route in ["complex-redis-decrement", "redis-decrement", "pg-reserve-ticket"] {
        let counts = service.send_concurrently(route, vec![body(&[("a", 2), ("b", 1)]); 500]).await;
        assert_eq!(counts, Counts { sold: 500, refused: 0, failed: 0 }, "{route}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn metrics_count_orders_by_route_and_status_and_batches_by_kind() {
    let stores = Stores::seeded(10, 5).await;
    let service = Service::open(&stores, &["--record", "grouped", "--order-age", "1"]);
    for status in [200, 200, 409] {
        assert_eq!(service.order("pg-reserve-ticket", &[("a", 2)]).await.status, status);
    }
    assert_eq!(service.order("redis-decrement", &[("b", 1)]).await.status, 200);
    assert_eq!(service.order("orders", &[("c", 3)]).await.status, 201);
    let expired = "tickets_expired_tickets_total 3";
    wait("the order expires", async || service.get("metrics").await.body.contains(expired)).await;
    let text = service.get("metrics").await.body;
    for line in [
        r#"tickets_requests_total{route="/pg-reserve-ticket",method="POST",status="200"} 2"#,
        r#"tickets_requests_total{route="/pg-reserve-ticket",method="POST",status="409"} 1"#,
        r#"tickets_requests_total{route="/redis-decrement",method="POST",status="200"} 1"#,
        r#"tickets_requests_total{route="/orders",method="POST",status="201"} 1"#,
        r#"tickets_requests_total{route="/pg-decrement-ticket",method="POST",status="200"} 0"#,
        r#"tickets_batches_total{kind="counters"} 1"#,
        r#"tickets_batches_total{kind="units"} 3"#,
        r#"tickets_batched_total{kind="record"} 1"#,
        // That of the start.
        "tickets_counter_rebuilds_total 1",
        "tickets_db_waiting 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_body_that_arrives_too_slowly_is_refused_and_sells_nothing() {
    let stores = Stores::seeded(0, 5).await;
    let service = Service::open(&stores, &["--body-timeout-ms", "2000"]);
    let address = service.url.strip_prefix("http://").unwrap();
    let order = body(&[("a", 1)]);
    let (first, rest) = order.split_at(order.len() / 2);
    let length = order.len();
    let head = format!("POST /pg-reserve-ticket HTTP/1.1\r\nHost: sale\r\nContent-Length: {length}\r\n\r\n");
    for (has_rest, status) in [(true, "HTTP/1.1 200"), (false, "HTTP/1.1 408")] {
        let mut buyer = TcpStream::connect(address).await.unwrap();
        buyer.write_all(format!("{head}{first}").as_bytes()).await.unwrap();
        if has_rest {
            tokio::time::sleep(Duration::from_millis(100)).await;
            buyer.write_all(rest.as_bytes()).await.unwrap();
        }
        let mut response = [0; 12];
        buyer.read_exact(&mut response).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&response), status);
    }
    assert_eq!(stores.cluster.number("SELECT count(*) FROM ticket_units WHERE reserved").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn people_get_a_page_and_unknown_paths_a_reason() {
    let stores = Stores::seeded(1, 1).await;
    let service = Service::open(&stores, &[]);
    let page = service.get("").await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<title>Tickets</title>"), "{page:?}");
    let unknown = service.get("no/such/path").await;
    assert_eq!((unknown.status, unknown.code().as_str()), (404, "unknown_path"));
    let method = service.delete("orders").await;
    assert_eq!((method.status, method.code().as_str()), (405, "bad_method"));
}
