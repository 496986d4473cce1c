//! What the people who run it get: health, a graceful stop, clear errors, and a store that went away.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::world::{Office, Stores, signal, wait};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn ready_says_which_store_is_away_and_sales_go_on_when_it_is_back() {
    let mut stores = Stores::seeded(10, 5).await;
    let office = Office::open(&stores, &[]);
    assert_eq!(office.get("ready").await.status, 200);
    stores.kill_redis();
    wait("not ready", async || office.get("ready").await.status == 503).await;
    assert_eq!(office.get("ready").await.body, "Redis does not answer");
    assert_eq!(office.get("health").await.status, 200);
    let answer = office.order("complex-redis-decrement", &[("a", 1)]).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "store_unavailable"));
    assert_eq!(
        office.order("pg-reserve-ticket", &[("a", 1)]).await.status,
        200,
        "the other store still sells"
    );

    stores.restart_redis().await;
    wait("ready", async || office.get("ready").await.status == 200).await;
    let answer = office.order("complex-redis-decrement", &[("a", 1)]).await;
    assert_eq!(answer.status, 503, "Redis lost its counters, so nothing may be sold: {answer:?}");
    let _: String = stores.ask_redis(&["SET", "ticket:a", "1"]).await.unwrap();
    assert_eq!(office.order("complex-redis-decrement", &[("a", 1)]).await.status, 200);
    assert_eq!(office.order("complex-redis-decrement", &[("a", 1)]).await.status, 409);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_stop_finishes_the_order_that_is_open() {
    let stores = Stores::seeded(10, 0).await;
    let mut office = Office::open(&stores, &[]);
    // Another buyer holds the row, so the order has to wait.
    let mut holder = stores.connect().await;
    let held = holder.transaction().await.unwrap();
    held.execute("UPDATE tickets SET stock = stock - 1 WHERE id = 'a'", &[]).await.unwrap();
    let process = office.process.0.id();
    let url = office.url.clone();
    let (answer, ()) = tokio::join!(office.order("pg-decrement-ticket", &[("a", 1)]), async {
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        wait("the order waits", async || stores.number(waits).await == 1).await;
        signal(process, "TERM");
        wait("no new buyers", async || reqwest::get(format!("{url}/health")).await.is_err()).await;
        held.commit().await.unwrap();
    });
    assert_eq!(answer.status, 200);
    let ended = tokio::task::spawn_blocking(move || office.process.0.wait().unwrap());
    let ended = tokio::time::timeout(Duration::from_secs(30), ended).await.unwrap().unwrap();
    assert!(ended.success());
    assert_eq!(stores.number("SELECT stock::bigint FROM tickets WHERE id = 'a'").await, 8);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn what_is_wrong_at_the_start_is_said_with_a_hint_and_without_the_password() {
    let stores = Stores::empty().await;
    let said = |command: &str, flags: &[&str]| {
        let output = stores.command(command, flags).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let error = said("serve", &["--listen", "127.0.0.1:0"]);
    assert!(
        error.contains("error: ") && error.contains("hint: start PostgreSQL, then make tickets"),
        "{error}"
    );
    let secret = stores.postgres.replace("postgres@", "postgres:geheim@").replace("/postgres", "/missing");
    let error = said("serve", &["--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("error: ") && !error.contains("geheim"), "{error}");
    let secret = format!("{}?password=geheim", stores.postgres.replace("/postgres", "/missing"));
    let error = said("serve", &["--listen", "127.0.0.1:0", "--postgres", &secret]);
    assert!(error.contains("error: ") && !error.contains("geheim"), "{error}");
    stores.seed(&["--units-per-ticket", "1"]);
    let error = said("seed", &["--units-per-ticket", "1"]);
    assert!(error.contains("holds tickets already") && error.contains("hint: --replace"), "{error}");
    stores.seed(&["--units-per-ticket", "2", "--replace"]);
    assert_eq!(stores.number("SELECT count(*) FROM ticket_units").await, 20);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let error = said("serve", &["--listen", &taken.local_addr().unwrap().to_string()]);
    assert!(error.contains("cannot listen on"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn more_buyers_than_the_usual_limit_of_open_files_are_served_at_a_time() {
    let stores = Stores::seeded(1, 0).await;
    let office = Office::open_with_files(&stores, 40);
    let address = office.url.strip_prefix("http://").unwrap();
    let buyers = async {
        // All stay connected while the last ones come.
        let mut buyers = Vec::new();
        for _ in 0..200 {
            let mut buyer = TcpStream::connect(address).await.unwrap();
            buyer.write_all(b"GET /health HTTP/1.1\r\nHost: sale\r\n\r\n").await.unwrap();
            buyers.push(buyer);
        }
        for buyer in &mut buyers {
            let mut answer = [0; 12];
            buyer.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 200");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), buyers).await.expect("buyers wait for ever");
}
