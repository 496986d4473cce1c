//! The rate limit: per user, and exact over all processes.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::world::{OPTIONS, Service, Stores};
use testbed::TIMEOUT;

/// Requests per window in the test of many windows.
const LIMIT: u64 = 100;
/// Number of windows that must exceed the limit, and of users that send requests.
const WINDOWS: usize = 10;
const USERS: usize = 16;

/// Per window: responses, and how many of them were successes.
type Windows = Mutex<BTreeMap<u64, (u64, u64)>>;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn a_user_has_a_limit_per_window_and_sees_how_many_requests_are_left() {
    let stores = Stores::seeded().await;
    for call in ["each", "script", "batch"] {
        for cache in ["0", "60000"] {
            // Long enough for the test to fit into one window; otherwise it starts again.
            let flags = [
                "--rate-limit",
                "5",
                "--rate-window-ms",
                "30000",
                "--redis-call",
                call,
                "--session-cache-ms",
                cache,
            ];
            loop {
                stores.redis.command::<()>(&["FLUSHALL"]).await;
                let service = Service::open(&stores, &flags);
                let (one, other) = (service.sign_in(1).await, service.sign_in(2).await);
                let mut answers = Vec::new();
                for _ in 0..7 {
                    answers.push(one.options().await);
                }
                let (first, last) = (&answers[0], &answers[6]);
                if first.number("x-ratelimit-reset") != last.number("x-ratelimit-reset") {
                    continue;
                }
                let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
                assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429], "{flags:?}");
                let left: Vec<u64> =
                    answers.iter().map(|answer| answer.number("x-ratelimit-remaining")).collect();
                assert_eq!(left, [4, 3, 2, 1, 0, 0, 0], "{flags:?}");
                assert_eq!(first.number("x-ratelimit-limit"), 5);
                assert_eq!(first.headers["x-ratelimit-strategy"], "fixed_window");
                assert!(last.code() == "rate_limited" && last.number("retry-after") <= 30, "{last:?}");
                assert_eq!(
                    other.options().await.status,
                    200,
                    "{flags:?}: another user has a limit of their own"
                );
                assert_eq!(one.get("/api/v1/auth/me").await.status, 200, "{flags:?}: so has another route");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn without_a_limit_nothing_is_counted() {
    let stores = Stores::seeded().await;
    for call in ["each", "batch"] {
        let service =
            Service::open(&stores, &["--rate-limit", "off", "--rate-window-ms", "10", "--redis-call", call]);
        let person = service.sign_in(1).await;
        let answer = person.options().await;
        assert!(answer.status == 200 && !answer.headers.contains_key("x-ratelimit-limit"), "{answer:?}");
        let keys: Vec<String> = stores.redis.command(&["KEYS", "rate:*"]).await;
        assert!(keys.is_empty(), "{keys:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn sign_ins_of_an_address_are_limited_too() {
    let stores = Stores::seeded().await;
    let service = Service::open(&stores, &["--rate-limit", "3", "--rate-window-ms", "86400000"]);
    let mut statuses = Vec::new();
    for _ in 0..5 {
        statuses.push(service.try_sign_in("user1@org1.example", "a guess").await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 429, 429]);
    assert_eq!(service.try_sign_in("user1@org1.example", "password").await.status, 429);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn blocked_users_and_addresses_are_refused() {
    let stores = Stores::seeded().await;
    for call in ["each", "script", "batch"] {
        let service = Service::open(&stores, &["--redis-call", call, "--session-cache-ms", "60000"]);
        let (one, other) = (service.sign_in(1).await, service.sign_in(2).await);
        let user = one.get("/api/v1/auth/me").await.json()["userId"].as_str().unwrap().to_owned();
        let key = format!("blocked:{user}");
        stores.redis.command::<()>(&["SET", &key, "1"]).await;
        let answer = one.options().await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "blocked"), "{call}");
        assert_eq!(other.options().await.status, 200, "{call}");
        stores.redis.command::<()>(&["DEL", &key]).await;
        stores.redis.command::<()>(&["SET", "blocked:127.0.0.1", "1"]).await;
        assert_eq!((one.options().await.status, other.options().await.status), (403, 403), "{call}");
        assert_eq!(service.try_sign_in("user1@org1.example", "password").await.status, 403, "{call}");
        stores.redis.command::<()>(&["DEL", "blocked:127.0.0.1"]).await;
        assert_eq!(one.options().await.status, 200, "{call}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(feature = "store-tests"), ignore = "needs PostgreSQL and Redis: --features store-tests")]
async fn the_limit_holds_within_one_percent_over_ten_windows_and_four_processes() {
    let stores = Stores::seeded().await;
    for call in ["each", "batch"] {
        let limit = LIMIT.to_string();
        let flags =
            ["--rate-limit", &limit, "--rate-window-ms", "1000", "--redis-call", call, "--prefork", "4"];
        // The window can be one of those before.
        stores.redis.command::<()>(&["FLUSHALL"]).await;
        let service = Service::open(&stores, &flags);
        let session = service.sign_in(1).await.session;
        // One connection each, so that all four processes get some.
        let windows = Windows::default();
        let clients = join_all((0..USERS).map(|_| user(&service.url, &session, &windows))).await;
        let windows = windows.into_inner();
        let full = windows.values().filter(|(all, _)| *all >= LIMIT).count();
        assert!(full >= WINDOWS, "{call}: in too few more was asked for than the limit allows: {windows:?}");
        for (all, passed) in windows.values() {
            assert!(passed.abs_diff(LIMIT.min(*all)) <= LIMIT / 100, "{call}: {windows:?}");
        }
        // Metrics are per process: one process with all connections would report all of them.
        let callers = join_all(clients.iter().map(|client| callers(client, &service.url))).await;
        assert!(callers.iter().any(|there| *there < USERS), "{call}: one process served all: {callers:?}");
    }
}

/// Sends requests until enough windows are full; returns the open connection.
async fn user(url: &str, session: &str, windows: &Windows) -> reqwest::Client {
    let (client, end) = (reqwest::Client::new(), Instant::now() + TIMEOUT);
    let is_enough = || windows.lock().values().filter(|(all, _)| *all >= LIMIT).count() >= WINDOWS;
    while !is_enough() && Instant::now() < end {
        let request =
            client.get(format!("{url}{OPTIONS}")).header("cookie", format!("trenova_session={session}"));
        let answer = crate::world::send(request).await;
        assert!([200, 429].contains(&answer.status), "{answer:?}");
        {
            let mut windows = windows.lock();
            let (all, passed) = windows.entry(answer.number("x-ratelimit-reset")).or_default();
            *all += 1;
            *passed += u64::from(answer.status == 200);
        }
        // All users together send about three times the limit.
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    client
}

/// Open connections of the process that serves this client.
async fn callers(client: &reqwest::Client, url: &str) -> usize {
    let figures = crate::world::send(client.get(format!("{url}/metrics"))).await.body;
    let line = figures.lines().find_map(|line| line.strip_prefix("trenova_callers "));
    line.unwrap().parse().unwrap()
}
